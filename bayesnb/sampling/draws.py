"""Draws of the parameters as an ArviZ ``DataTree``, and back.

Exact draws and draws by NUTS give the same tree: its variables are those of the PyMC model, as ``layout`` names them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bayesnb.families.columns import dense_cells
from bayesnb.families.support import LEVELS
from bayesnb.model import Data, Parameters, Posterior, Statistics
from bayesnb.priors import Array, Dirichlet, Gamma, NormalGamma
from bayesnb.sampling import layout
from bayesnb.sampling.layout import Block

if TYPE_CHECKING:
    from xarray import DataTree


def parameters(tree: DataTree, posterior: Posterior, group: str = "posterior") -> Parameters:
    """The draws of a tree as ``Parameters``, with the axes (chain, draw) in front.

    Predictions work with them as with exact draws.

    Parameters
    ----------
    tree : DataTree
        From ``sample_posterior``, or from ``pymc.sample`` of the same model.
    posterior : Posterior
        The fitted model, ``clf.posterior_``.
    group : {"posterior", "prior"}

    Raises
    ------
    ValueError
        If the tree was drawn from a model with other classes, columns or levels. Their order does not matter.
    """
    blocks = layout.blocks(posterior.model, posterior.statistics)
    drawn = tree[group].dataset
    wanted = layout.dims(blocks)
    missing = [name for name in wanted if name not in drawn]
    if missing:
        raise ValueError(f"group {group!r} was drawn from another model: it has no variable {missing[0]!r}")
    for name, expected in layout.coords(posterior.labels, blocks).items():
        given = [str(value) for value in drawn[name].to_numpy()]
        if sorted(given) != sorted(expected):
            raise ValueError(
                f"group {group!r} was drawn from another model: Expected {name} to be {list(expected)}; got {given}"
            )
        drawn = drawn.isel({name: [given.index(value) for value in expected]})
    values = {name: drawn[name].transpose("chain", "draw", *axes).to_numpy() for name, axes in wanted.items()}
    return layout.from_variables(values, blocks, posterior)


def exact(
    posterior: Posterior,
    rng: np.random.Generator,
    shape: tuple[int, int],
) -> dict[str, dict[str, Array]]:
    """Independent draws of prior and posterior, (chain, draw) in front, by group and variable.

    There is no prior group if a prior is improper.
    """
    blocks = layout.blocks(posterior.model, posterior.statistics)
    groups = {"posterior": layout.variables(posterior.draw(rng, shape), blocks)}
    before = posterior.before()
    if all(np.all(prior.proper()) for prior in [before.label, *before.features.values()]):
        groups["prior"] = layout.variables(before.draw(rng, shape), blocks)
    return groups


def log_prior(drawn: Mapping[str, Array], posterior: Posterior) -> dict[str, Array]:
    """The log prior density of every variable at its draws, (chain, draw, class[, feature]), as PyMC computes it.

    The density of (μ, τ) is taken apart into that of τ and that of μ given τ. Fixed class probabilities have none.

    Raises
    ------
    ImproperError
        If a prior is improper.
    """
    found = {}
    if isinstance(posterior.label_prior, Dirichlet):
        found["pi"] = posterior.label_prior.log_prob(drawn["pi"])
    for block in layout.blocks(posterior.model, posterior.statistics):
        prior = block.gather(posterior.prior)
        names = [block.variable(key) for key in block.keys]
        density = prior.log_prob(*(drawn[name] for name in names))
        if isinstance(prior, NormalGamma):
            of_tau = Gamma(prior.a, prior.b).log_prob(drawn[names[1]])
            found |= {names[0]: density - of_tau, names[1]: of_tau}
        else:
            found[names[0]] = density
    return found


def observed(data: Data, blocks: Sequence[Block]) -> dict[str, Array]:
    """The rows as one array for each block, ``x_…`` (row, feature): codes of levels, NaN if missing."""
    arrays = {}
    for block in blocks:
        if block.whole:
            arrays[block.variable("x")] = dense_cells(data[block.members[0][0]])
            continue
        cells = [dense_cells(data[feature])[:, k] for feature, k in block.members]
        arrays[block.variable("x")] = np.stack(cells, axis=1)
    return arrays


def predictive(
    drawn: Parameters, statistics: Statistics, n_rows: int, rng: np.random.Generator, blocks: Sequence[Block]
) -> dict[str, Array]:
    """New rows from every draw: ``y`` (chain, draw, row) as class codes, ``x_…`` (chain, draw, row, feature).

    The model takes the length of a bag of words and the exposure of a count as given; new rows have the average length
    and the exposure 1.
    """
    chains, n_draws, _ = drawn.log_pi.shape
    flat = drawn.flattened()
    parts = []
    # A few draws at a time, because each row gets its own copy of the parameters of its class.
    for start in range(0, chains * n_draws, 64):
        some = flat.at(slice(start, start + 64)).repeated_rows(n_rows)
        noisy = some.log_pi + rng.gumbel(size=some.log_pi.shape)
        y = noisy.argmax(-1)
        own = some.at((np.arange(len(y)), y))
        cells = {
            name: np.asarray(family.sample(own.features[name], rng, statistics.features[name]), float)
            for name, family in drawn.model.features.items()
        }
        one = {"y": y} | {
            block.variable("x"): cells[block.members[0][0]]
            if block.whole
            else np.stack([cells[feature][:, k] for feature, k in block.members], axis=1)
            for block in blocks
        }
        parts.append(one)
    joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return {name: v.reshape(chains, n_draws, n_rows, *v.shape[1:]) for name, v in joined.items()}


def row_dims(blocks: Sequence[Block]) -> dict[str, list[str]]:
    """Dimensions of rows, observed or predicted."""
    return {"y": ["row"]} | {b.variable("x"): ["row", *b.dims[1:2]] for b in blocks}


def tree(groups: Mapping[str, Mapping[str, Array]], posterior: Posterior) -> DataTree:
    """Groups of variables as a ``DataTree`` with named coordinates.

    ``observed_data`` holds only what the predictive groups replicate, because ArviZ's predictive checks pair the two by
    name. ``constant_data`` holds the weight of the rows of each class (``rows``), the weight of the values seen in each
    column (``seen_…``), and the names of the levels of each column (``level_…``).
    """
    from arviz_base import from_dict

    blocks = layout.blocks(posterior.model, posterior.statistics)
    names = layout.coords(posterior.labels, blocks)
    constant = {"rows": posterior.statistics.rows}
    constant |= {f"seen_{b.name}": _seen(b, posterior.statistics) for b in blocks}
    constant |= {f"level_{b.name}": _levels(b, posterior.statistics) for b in blocks if b.family.support == LEVELS}
    shapes = layout.dims(blocks)
    shapes |= {"rows": ["class_label"]} | {f"seen_{b.name}": list(b.dims[: 1 if b.whole else 2]) for b in blocks}
    shapes |= {f"level_{b.name}": list(b.dims[1:]) for b in blocks}
    shapes |= row_dims(blocks)
    others = {name: group for name, group in groups.items() if name != "log_prior"}
    made = from_dict({**others, "constant_data": constant}, coords=names, dims=shapes)
    if "log_prior" in groups:
        # A vector of probabilities has one density, so its last dimension is not there.
        lead = {name: shapes[name][: value.ndim - 2] for name, value in groups["log_prior"].items()}
        made["log_prior"] = from_dict({"log_prior": groups["log_prior"]}, coords=names, dims=lead)["log_prior"]
    return made


def _seen(block: Block, statistics: Statistics) -> Array:
    if block.whole:
        return statistics.features[block.members[0][0]].seen()[:, 0]
    return np.stack([statistics.features[feature].seen()[:, k] for feature, k in block.members], axis=1)


def _levels(block: Block, statistics: Statistics) -> Array:
    return np.array([[str(level) for level in statistics.features[feature].levels[k]] for feature, k in block.members])
