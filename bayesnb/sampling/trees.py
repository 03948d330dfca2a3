"""Convert the draws of any sampler to an ArviZ ``DataTree``."""

# ArviZ 1 needs a single array in ``log_likelihood``, and looks up every variable of ``observed_data`` in
# ``posterior_predictive``. So these three groups have a single variable, the class ``y``, with the log-likelihood
# log p(y | x, θ). The subtree ``columns`` holds the three groups for each column, and ``joint`` holds log p(x, y | θ).

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bayesnb.__about__ import __version__
from bayesnb.families.columns import columns_of, dense_cells
from bayesnb.kernels.blocks import slices
from bayesnb.model import Data, NaiveBayes, Parameters, Posterior, Statistics, normalize
from bayesnb.numerics import Array, drawn_codes
from bayesnb.priors import ImproperError
from bayesnb.sampling import layout
from bayesnb.sampling.layout import Block

if TYPE_CHECKING:
    from xarray import DataTree

type TreeGroup = Literal["log_prior", "log_likelihood", "posterior_predictive", "prior_predictive", "columns"]

OF_ROWS: tuple[TreeGroup, ...] = ("log_likelihood", "posterior_predictive", "prior_predictive")
"""Groups of a ``DataTree`` that describe rows."""

OPTIONAL: tuple[TreeGroup, ...] = ("log_prior", *OF_ROWS, "columns")
"""Groups that can be requested. All except ``columns`` are also made by default, if possible."""

NUMBERS = 2**22
"""Largest number of numbers in a temporary array."""

type Groups = dict[str, dict[str, Array]]


@dataclass(frozen=True, eq=False)
class RowsOfTree:
    """The rows that a ``DataTree`` describes."""

    data: Data
    codes: Array
    place: Array  # position of each row in the table; the row coordinate of the tree


def attributes_of(sampler: str, seed: Any, start: float, sampled: DataTree | None = None) -> dict[str, Any]:
    """The attributes of a ``DataTree``, such as the sampler; ``start`` is ``time.perf_counter()`` before sampling."""
    said = {"inference_library": "bayesnb", "inference_library_version": __version__}
    if sampled is not None:
        own = {**sampled.attrs, **sampled["posterior"].attrs}
        said = {name: str(own.get(name, other)) for name, other in zip(said, ("pymc", ""), strict=True)}
    found = {"modeling_interface": "bayesnb", "modeling_interface_version": __version__, **said}
    found |= {"sampler": sampler, "sampling_time": time.perf_counter() - start}
    number = isinstance(seed, int | np.integer)
    return found if seed is None else found | {"seed": int(seed) if number else str(seed)}


def build(
    groups: Mapping[str, Mapping[str, Array]], posterior: Posterior, rows: RowsOfTree | None = None,
    attributes: Mapping[str, Any] | None = None,
) -> DataTree:  # fmt: skip
    """Make a ``DataTree`` with named coordinates from groups of draws, (chain, draw, ...)."""
    # Names of groups may include a subtree, as in "columns/log_likelihood".
    blocks = layout.blocks(posterior)
    names: dict[str, Any] = dict(layout.coords(posterior.labels, blocks))
    shapes = layout.dims(blocks)
    made: dict[str, Any] = dict(groups)
    if rows is not None:
        names["row"] = rows.place
        made["observed_data"] = {"y": rows.codes}
    made["constant_data"], of_constants = _constants(posterior, blocks)
    if "predictions" in groups:
        names["row"] = np.arange(groups["predictions"]["y"].shape[-1])
        shapes |= _cell_dims(blocks)
    inner: dict[str, Any] = {}
    for name in [name for name in groups if "/" in name]:
        whole, _, part = name.partition("/")
        inner.setdefault(whole, {})[part] = made.pop(name)
    shapes |= {"y": ["row"]}
    tree = tree_of(made, names, shapes | of_constants, attributes)
    if "joint" in inner:
        both = {name: groups[name] for name in ("posterior", "prior", "log_prior") if name in groups}
        tree["joint"] = tree_of(inner["joint"] | both, names, shapes, attributes)
    if "columns" in inner:
        cells = {"posterior": groups["posterior"], "observed_data": _cells(rows.data, blocks)}
        tree["columns"] = tree_of(inner["columns"] | cells, names, shapes | _cell_dims(blocks), attributes)
    return tree


def tree_of(groups: Groups, names: Any, shapes: Any, attributes: Mapping[str, Any] | None) -> DataTree:
    """Make a ``DataTree`` from groups of arrays, coordinates (``names``) and dimensions (``shapes``)."""
    from arviz import from_dict

    attributes = dict(attributes or {})
    # The density of a vector of probabilities is a single number, so the last dimension is dropped.
    densities = groups.get("log_prior", {})
    lead = {name: list(shapes[name])[: value.ndim - 2] for name, value in densities.items()}
    others = {name: group for name, group in groups.items() if name != "log_prior"}
    described = {group: attributes for group in ("/", "posterior") if group == "/" or group in groups}
    both = {"coords": names, "dims": shapes, "pred_coords": names, "pred_dims": shapes}
    tree = from_dict(others, **both, attrs=described)
    for name in {"observed_data", "posterior_predictive", "prior_predictive", "predictions"} & set(groups):
        if "y" in groups[name]:  # Codes of classes: the coordinate says which is which.
            tree[name] = tree[name].to_dataset().assign_coords(class_label=list(names["class_label"]))
    if densities:
        tree["log_prior"] = from_dict({"log_prior": densities}, coords=names, dims=lead)["log_prior"]
    return tree


def _constants(posterior: Posterior, blocks: Sequence[Block]) -> tuple[dict[str, Array], dict[str, list[str]]]:
    statistics = posterior.statistics
    found, axes = {"rows": statistics.rows}, {"rows": ["class_label"]}
    for block in blocks:
        seen = block.cells({feature: statistics.features[feature].seen() for feature, _ in block.members})
        found[f"seen_{block.name}"] = seen[:, 0] if block.family.whole_rows else seen
        column = [] if block.apart or block.family.whole_rows else [block.dim("column")]
        axes[f"seen_{block.name}"] = ["class_label", *column]
        nodes = bool(block.family.conjugate.node_names)
        if block.family.support.kind == "levels" and (nodes or not block.apart):
            # If the coordinate of a variable is the node of a tree, the levels get a separate coordinate.
            levels = _levels(block, statistics)
            found[f"level_{block.name}"] = levels[0] if block.apart else levels
            axes[f"level_{block.name}"] = [*column, block.dim("order" if nodes else "level")]
    return found, axes


def before_data(
    prior: Posterior, statistics: Statistics, shape: tuple[int, int], n_rows: int, rng: np.random.Generator,
    rows: RowsOfTree | None, attributes: Mapping[str, Any],
) -> DataTree:  # fmt: skip
    """Make a ``DataTree`` of parameters drawn from the prior, and of rows drawn given these parameters."""
    blocks, drawn = layout.blocks(prior), prior.draw(rng, shape)
    y = drawn_codes(np.repeat(drawn.log_pi[:, :, None], n_rows, axis=2), rng)
    cells = _replicates(drawn, statistics, y.reshape(-1, n_rows), rng, blocks)
    groups = {"prior": layout.variables(drawn, blocks), "prior_predictive": {"y": y, **cells}}
    if rows is not None:
        groups["observed_data"] = {"y": rows.codes, **_cells(rows.data, blocks)}
    names = layout.coords(prior.labels, blocks) | {"row": np.arange(n_rows)}
    return tree_of(groups, names, layout.dims(blocks) | {"y": ["row"]} | _cell_dims(blocks), attributes)


def _levels(block: Block, statistics: Statistics) -> Array:
    if block.whole:
        named = statistics.features[block.members[0][0]].levels
    else:
        named = [statistics.features[feature].levels[k] for feature, k in block.members]
    # If the block is one feature, some columns may have fewer levels than others.
    return np.array([[*map(str, levels), *[""] * (len(block.categories) - len(levels))] for levels in named])


def of_rows(
    groups: Mapping[str, Mapping[str, Array]], wanted: Sequence[TreeGroup], posterior: Posterior, rows: RowsOfTree,
    rng: np.random.Generator,
) -> Groups:  # fmt: skip
    """Make the predictive and log-likelihood groups named in ``wanted``, also per column if it contains "columns"."""
    # With log p(y_i | x_i, θ), ArviZ's ``loo`` estimates p(y_i | x_i, all other rows).
    blocks, found = layout.blocks(posterior), {}
    for source in ("posterior", "prior"):
        predicted, likely = f"{source}_predictive" in wanted, source == "posterior" and "log_likelihood" in wanted
        if not (predicted or likely):
            continue
        drawn = layout.from_variables(groups[source], blocks, posterior)
        own, joint, y = _classes(drawn, rows, rng)
        found |= {"log_likelihood": {"y": own}, "joint/log_likelihood": {"y": joint}} if likely else {}
        found |= {f"{source}_predictive": {"y": y}} if predicted else {}
        if "columns" in wanted and likely:
            found["columns/log_likelihood"] = _densities(drawn, rows, blocks)
        if "columns" in wanted and predicted:
            found[f"columns/{source}_predictive"] = _replicates(drawn, posterior.statistics, rows.codes, rng, blocks)
    return found


def predictions(
    posterior: Posterior, drawn: Mapping[str, Array], data: Data, n: int, rng: np.random.Generator
) -> Groups:
    """Draw the classes of new rows from p(y | x, θ); return two groups of the tree: the classes and the rows."""
    blocks = layout.blocks(posterior)
    rows = RowsOfTree(data, np.zeros(n, np.intp), np.arange(n))
    y = _classes(layout.from_variables(drawn, blocks, posterior), rows, rng)[2]
    return {"predictions": {"y": y}, "predictions_constant_data": _cells(data, blocks)}


def _classes(drawn: Parameters, rows: RowsOfTree, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """For each row, log p(y | x, θ), log p(x, y | θ), and drawn classes, as arrays (chain, draw, row)."""
    lead, n = drawn.log_pi.shape[:-1], len(rows.codes)
    flat, each = drawn.flattened(), np.arange(n)
    own, both = np.empty((2, len(flat.log_pi), n))
    y = np.empty(own.shape, np.int64)
    for cut in slices(len(own), max(1, NUMBERS // max(1, n * drawn.log_pi.shape[-1]))):
        joint = flat.at(cut).log_joint(rows.data, n)
        both[cut] = joint[:, each, rows.codes]
        # If a row has probability 0 under every class at a draw, draw its class from π.
        impossible = np.isneginf(joint).all(-1, keepdims=True)
        log_p = normalize(np.where(impossible, flat.log_pi[cut, None, :], joint))
        own[cut] = log_p[:, each, rows.codes]
        y[cut] = drawn_codes(log_p, rng)
    return tuple(array.reshape(*lead, n) for array in (own, both, y))


def _cells(data: Data, blocks: Sequence[Block]) -> dict[str, Array]:
    dense = {feature: dense_cells(x) for feature, x in data.items()}
    return {block.variable("x"): block.cells(dense) for block in blocks}


def _cell_dims(blocks: Sequence[Block]) -> dict[str, list[str]]:
    found = {}
    for block in blocks:
        column = [] if block.apart else [block.dim("level" if block.of_words else "column")]
        found[block.variable("x")] = ["row", *column]
    return found


def _densities(drawn: Parameters, rows: RowsOfTree, blocks: Sequence[Block]) -> dict[str, Array]:
    arrays, each = {}, np.arange(len(rows.codes))
    for block in blocks:
        places, own = block.members, []
        if block.whole and not block.family.whole_rows:
            places = [(places[0][0], k) for k in range(len(block.columns))]
        for feature, k in places:
            family, theta, x = drawn.model.features[feature], drawn.features[feature], rows.data[feature]
            if not family.whole_rows:
                theta, x = {key: value.take([k], 3) for key, value in theta.items()}, columns_of(x, [k])
                family = family if block.whole else family.gathered([(family, k)])
            own.append(family.log_likelihood(theta, x)[..., each, rows.codes])
        arrays[block.variable("x")] = own[0] if block.family.whole_rows else block.joined(own, -1)
    return arrays


def _replicates(
    drawn: Parameters, statistics: Statistics, codes: Array, rng: np.random.Generator, blocks: Sequence[Block]
) -> dict[str, Array]:
    """Draw the cells of rows whose classes are ``codes``, ([draw,] row); return arrays (chain, draw, row[, column])."""
    lead, n = drawn.log_pi.shape[:-1], codes.shape[-1]
    flat, parts = drawn.flattened(), []
    # Use 64 draws at a time, because each row gets a copy of the parameters of its class.
    codes = np.broadcast_to(codes, (len(flat.log_pi), n))
    for cut in slices(len(flat.log_pi), 64):
        some = flat.at(cut)
        own = some.at((np.repeat(np.arange(len(some.log_pi)), n), codes[cut].ravel()))
        cells = {
            name: np.asarray(family.sample(own.features[name], rng, statistics.features[name]), float)
            for name, family in drawn.model.features.items()
        }
        parts.append({block.variable("x"): block.cells(cells) for block in blocks})
    joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]} if parts else {}
    return {name: v.reshape(*lead, n, *v.shape[1:]) for name, v in joined.items()}


def wanted(
    model: NaiveBayes, include: Sequence[TreeGroup] | None, has_rows: bool, proper: bool
) -> tuple[TreeGroup, ...]:
    """The names of the groups that a ``DataTree`` has by default, and of the groups in ``include``."""
    need_proper = {"log_prior", "prior_predictive"}
    named: list[Any] = [include] if isinstance(include, str) else list(include or ())
    if odd := set(named) - set(OPTIONAL):
        raise ValueError(f"Expected include to be of {list(OPTIONAL)}; got {sorted(odd)}")
    if not has_rows and (of_rows := [name for name in named if name in (*OF_ROWS, "columns")]):
        raise ValueError(f"{of_rows[0]} describes rows: pass them as X and y")
    if not proper and (improper := sorted(need_proper & set(named))):
        raise ImproperError(f"{improper[0]} needs a proper prior for every feature and for the classes")
    families = model.features.values()
    known = all(family.exact or family.has_log_prior for family in families)
    possible = ("log_prior", *OF_ROWS) if has_rows else ("log_prior",)
    usual = [name for name in possible if (proper or name not in need_proper) and (name != "log_prior" or known)]
    return tuple(dict.fromkeys([*usual, *named]))
