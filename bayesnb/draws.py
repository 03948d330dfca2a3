"""Draws of the parameters as an ArviZ ``DataTree`` and back, whoever drew them.

:func:`blocks` is the layout that the PyMC model and the tree share: features of one kind stand in one vector
variable, so that a table of 200 columns has a handful of variables. Variables are called after the kind
(``theta_categorical_3``, ``mu_gaussian``); columns appear only as coordinates, so that no name can collide.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesnb.families.family import Family, Theta
from bayesnb.model import Data, NaiveBayes, Parameters, Posterior, Statistics
from bayesnb.priors import Array

if TYPE_CHECKING:
    from xarray import DataTree


@dataclass(frozen=True, eq=False)
class Block:
    """Columns of several features that share one vector variable.

    Parameters
    ----------
    name : str
        What its variables are called after.
    family : Family
        Likelihood of all its positions.
    cells : tuple of (feature, column)
        Which column of which feature stands at each position.
    columns : tuple of str
        Coordinate names of the positions.
    categories : tuple of str or None
        Coordinate names of the levels.
    whole : bool
        Whether it is one feature without a column axis (a bag of words).
    """

    name: str
    family: Family
    cells: tuple[tuple[Any, int], ...]
    columns: tuple[str, ...]
    categories: tuple[str, ...] | None
    whole: bool

    def variable(self, name: str) -> str:
        """The full name of one of its variables."""
        return f"{name}_{self.name}"

    @property
    def dims(self) -> tuple[str, ...]:
        """Dimensions of its variables."""
        columns = () if self.whole else (f"{self.name}_feature",)
        return ("class_label", *columns, *((f"{self.name}_category",) if self.categories else ()))

    def coords(self) -> dict[str, list[str]]:
        """Coordinates of its dimensions, besides the label."""
        columns = {} if self.whole else {f"{self.name}_feature": list(self.columns)}
        return columns | ({f"{self.name}_category": list(self.categories)} if self.categories else {})

    def place(self, where: tuple[int, ...]) -> tuple[Any, tuple[int, ...]]:
        """Feature, and index within it, of an index (class, position, ...) of the block."""
        if self.whole or len(where) < 2:
            return self.cells[0][0], where
        feature, column = self.cells[where[1]]
        return feature, (where[0], column, *where[2:])

    def gather(self, parts: Mapping[Any, Any]) -> Any:
        """The block's own prior, posterior or statistic, from those of the features.

        ``parts`` are data classes whose arrays have the column as their second axis.
        """
        if self.whole:
            return parts[self.cells[0][0]]
        picked: dict[str, Any] = {}
        example = parts[self.cells[0][0]]
        for f in fields(example):
            values = [getattr(parts[feature], f.name) for feature, _ in self.cells]
            if isinstance(values[0], np.ndarray):
                one = [v[:, k] for v, (_, k) in zip(values, self.cells, strict=True)]
                if self.categories:
                    one = [v[:, : len(self.categories)] for v in one]
                picked[f.name] = np.stack(one, axis=1)
            elif f.name == "levels":
                picked[f.name] = tuple(v[k] for v, (_, k) in zip(values, self.cells, strict=True))
            else:
                picked[f.name] = values[0]
        return type(example)(**picked)


def blocks(model: NaiveBayes, statistics: Statistics) -> list[Block]:
    """The layout of a model's variables.

    Parameters
    ----------
    model : NaiveBayes
    statistics : Statistics
        Whose levels and words name the categories.

    Notes
    -----
    A categorical column with a single level has θ = 1: no variable, and no cell in a block.
    """
    model.require_exact(
        "the joint PyMC model, its draws as one tree, or a check against them",
        "leave the feature out of it; sample_proba has draws of p(class | row), posterior_.draw those of the "
        "parameters, and posterior_.features[...].convergence says how sampling went",
    )
    grouped: dict[tuple[Any, ...], list[tuple[Any, int]]] = {}
    for name, family in model.features.items():
        s, kind = statistics.features[name], type(family).__name__
        if family.reads == "bag":
            grouped[kind, name] = [(name, 0)]
            continue
        for k in range(s.seen().shape[1]):
            levels = getattr(s, "levels", None)
            if levels is None:
                grouped.setdefault((kind,), []).append((name, k))
            elif len(levels[k]) > 1:
                grouped.setdefault((kind, len(levels[k])), []).append((name, k))
    made: list[Block] = []
    for key, cells in grouped.items():
        made.append(_block(key, cells, model, statistics, {block.name for block in made}))
    return made


def _block(
    key: tuple[Any, ...],
    cells: list[tuple[Any, int]],
    model: NaiveBayes,
    statistics: Statistics,
    taken: set[str],
) -> Block:
    first = cells[0][0]
    family, s = model.features[first], statistics.features[first]
    stem = _snake(key[0])
    categories = None
    if family.reads == "levels":
        stem += f"_{key[-1]}"
        names = [statistics.features[feature].levels[k] for feature, k in cells]
        categories = tuple(_joined([str(levels[i]) for levels in names], i) for i in range(key[-1]))
    elif family.reads == "bag":
        categories = _unique([str(word) for word in s.words])
    name = stem if stem not in taken else next(n for i in range(2, 10**6) if (n := f"{stem}_{i}") not in taken)
    labels = _unique([str(_columns(model, statistics, feature)[k]) for feature, k in cells])
    family = family.gathered([(model.features[feature], k) for feature, k in cells])
    return Block(name, family, tuple(cells), labels, _unique(categories) if categories else None, family.reads == "bag")


def _columns(model: NaiveBayes, statistics: Statistics, feature: Any) -> Sequence[Any]:
    if feature in model.columns:
        return model.columns[feature]
    n = statistics.features[feature].seen().shape[1]
    return [str(feature)] if n == 1 else [f"{feature}[{k}]" for k in range(n)]


def _snake(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() and i else c.lower() for i, c in enumerate(name))


def _joined(names: list[str], position: int) -> str:
    """One name for the same level of several columns: what they share, else a few joined, else its number."""
    distinct = list(dict.fromkeys(names))
    return "|".join(distinct) if len(distinct) <= 3 else str(position)


def _unique(names: Sequence[str]) -> tuple[str, ...]:
    """The names, a number behind any that stood before."""
    seen: dict[str, int] = {}
    found = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        found.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return tuple(found)


def variables(parameters: Parameters, layout: Sequence[Block]) -> dict[str, Array]:
    """Draws of the parameters as the variables of the layout, the axes of the draws in front."""
    named = {name: family.variables(parameters.features[name]) for name, family in parameters.model.features.items()}
    lead = parameters.log_pi.ndim - 1
    found = {"pi": np.exp(parameters.log_pi)}
    for block in layout:
        for key in named[block.cells[0][0]]:
            if block.whole:
                found[block.variable(key)] = named[block.cells[0][0]][key]
                continue
            cells = [np.take(named[feature][key], k, axis=lead + 1) for feature, k in block.cells]
            if block.categories:
                cells = [cell[..., : len(block.categories)] for cell in cells]
            found[block.variable(key)] = np.stack(cells, axis=lead + 1)
    return found


def from_variables(values: Mapping[str, Array], layout: Sequence[Block], posterior: Posterior) -> Parameters:
    """The parameters from the variables of the layout: the inverse of :func:`variables`."""
    lead = values["pi"].shape[:-1]
    features: dict[Any, Theta] = {}
    place: dict[tuple[Any, int], tuple[Block, int]] = {
        cell: (block, i) for block in layout for i, cell in enumerate(block.cells)
    }
    for name, family in posterior.model.features.items():
        like = family.variables(_shape_of(family, posterior.features[name]))
        found = {}
        for key, value in like.items():
            if family.reads == "bag":
                block, _ = place[name, 0]
                found[key] = values[block.variable(key)]
                continue
            # What no block holds is a column of one level, of probability 1.
            full = np.zeros((*lead, *value.shape))
            for k in range(value.shape[1]):
                if (name, k) not in place:
                    full[..., k, 0] = 1.0
                    continue
                block, i = place[name, k]
                cell = np.take(values[block.variable(key)], i, axis=len(lead) + 1)
                if block.categories:
                    full[..., k, : len(block.categories)] = cell
                else:
                    full[..., k] = cell
            found[key] = full
        features[name] = family.theta(found)
    with np.errstate(divide="ignore"):
        return Parameters(posterior.model, np.log(values["pi"]), features)


def _shape_of(family: Family, posterior: Any) -> Theta:
    """A point of θ, for its names and shapes."""
    return family.draw(posterior, np.random.default_rng(0))


def coords(labels: Sequence[Any], layout: Sequence[Block]) -> dict[str, list[Any]]:
    """Coordinates of all variables of a layout."""
    found: dict[str, list[Any]] = {"class_label": list(_unique([str(label) for label in labels]))}
    for block in layout:
        found |= block.coords()
    return found


def dims(layout: Sequence[Block], names: Callable[[Block], Sequence[str]]) -> dict[str, list[str]]:
    """Dimensions of all variables of a layout; ``names`` gives those of a block."""
    found = {"pi": ["class_label"]}
    for block in layout:
        found |= {block.variable(key): list(block.dims) for key in names(block)}
    return found


def parameters(tree: DataTree, posterior: Posterior, group: str = "posterior") -> Parameters:
    """The draws of a tree as ``Parameters``, (chain, draw) in front: prediction cannot tell who drew them.

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
        If the tree was drawn from a model of other classes, columns or levels. Their order does not matter.
    """
    layout = blocks(posterior.model, posterior.statistics)
    held = tree[group].dataset
    wanted = dims(layout, lambda block: _keys(block, posterior))
    missing = [name for name in wanted if name not in held]
    if missing:
        raise ValueError(f"group {group!r} was drawn from another model: it has no variable {missing[0]!r}")
    for name, expected in coords(posterior.labels, layout).items():
        found = [str(value) for value in held[name].to_numpy()]
        if sorted(found) != sorted(expected):
            raise ValueError(
                f"group {group!r} was drawn from another model: Expected {name} to be {list(expected)}; got {found}"
            )
        held = held.isel({name: [found.index(value) for value in expected]})
    values = {name: held[name].transpose("chain", "draw", *axes).to_numpy() for name, axes in wanted.items()}
    return from_variables(values, layout, posterior)


def _keys(block: Block, posterior: Posterior) -> list[str]:
    feature = block.cells[0][0]
    return list(block.family.variables(_shape_of(block.family, posterior.features[feature])))


def exact(
    posterior: Posterior,
    rng: np.random.Generator,
    shape: tuple[int, int],
) -> dict[str, dict[str, Array]]:
    """Independent draws of prior and posterior, (chain, draw) in front, by group and variable.

    The prior group is left out where a prior is improper.
    """
    layout = blocks(posterior.model, posterior.statistics)
    groups = {"posterior": variables(posterior.draw(rng, shape), layout)}
    before = posterior.before()
    if all(np.all(prior.proper()) for prior in [before.label, *before.features.values()]):
        groups["prior"] = variables(before.draw(rng, shape), layout)
    return groups


def observed(data: Data, layout: Sequence[Block]) -> dict[str, Array]:
    """Rows as one array a block, ``x_…`` (row, feature), NaN where missing; codes for levels."""
    found = {}
    for block in layout:
        if block.whole:
            counts = data[block.cells[0][0]].counts
            found[block.variable("x")] = counts.toarray() if hasattr(counts, "toarray") else counts
            continue
        cells = [_cells(data[feature])[:, k] for feature, k in block.cells]
        found[block.variable("x")] = np.stack(cells, axis=1)
    return found


def _cells(x: Any) -> Array:
    """Encoded columns as floats, NaN where missing."""
    if hasattr(x, "codes"):
        return np.where(x.codes < 0, np.nan, x.codes)
    x = getattr(x, "counts", x)
    return np.asarray(x.toarray() if hasattr(x, "toarray") else x, float)


def predictive(
    drawn: Parameters, statistics: Statistics, n_rows: int, rng: np.random.Generator, layout: Sequence[Block]
) -> dict[str, Array]:
    """New rows from every draw: ``y`` (chain, draw, row) as class codes, ``x_…`` (chain, draw, row, feature).

    A row of a bag of words has the average length, and a count the exposure 1: the model takes both as given.
    """
    chains, n_draws, _ = drawn.log_pi.shape
    flat = drawn.flattened()
    parts = []
    # A few draws at a time: each row gathers the tables of its own class.
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
            block.variable("x"): cells[block.cells[0][0]]
            if block.whole
            else np.stack([cells[feature][:, k] for feature, k in block.cells], axis=1)
            for block in layout
        }
        parts.append(one)
    joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return {name: v.reshape(chains, n_draws, n_rows, *v.shape[1:]) for name, v in joined.items()}


def row_dims(layout: Sequence[Block]) -> dict[str, list[str]]:
    """Dimensions of rows, observed or predicted."""
    return {"y": ["row"]} | {b.variable("x"): ["row", *b.dims[1:2]] for b in layout}


def tree(groups: Mapping[str, Mapping[str, Array]], posterior: Posterior) -> DataTree:
    """Groups of variables as a ``DataTree`` with named coordinates.

    ``observed_data`` holds only what the predictive groups replicate, because ArviZ's predictive checks pair the two by
    name. ``constant_data`` holds ``rows``, the weight of the rows of each class, the weight of the values seen of each
    column, and what each column calls the categories that it shares with others.
    """
    from arviz_base import from_dict

    layout = blocks(posterior.model, posterior.statistics)
    names = coords(posterior.labels, layout)
    constant = {"rows": posterior.statistics.rows}
    constant |= {f"seen_{b.name}": _seen(b, posterior.statistics) for b in layout}
    constant |= {f"level_{b.name}": _levels(b, posterior.statistics) for b in layout if b.categories and not b.whole}
    shapes = dims(layout, lambda block: _keys(block, posterior))
    shapes |= {"rows": ["class_label"]} | {f"seen_{b.name}": list(b.dims[: 1 if b.whole else 2]) for b in layout}
    shapes |= {f"level_{b.name}": list(b.dims[1:]) for b in layout}
    shapes |= row_dims(layout)
    return from_dict({**groups, "constant_data": constant}, coords=names, dims=shapes)


def _seen(block: Block, statistics: Statistics) -> Array:
    if block.whole:
        return statistics.features[block.cells[0][0]].seen()[:, 0]
    return np.stack([statistics.features[feature].seen()[:, k] for feature, k in block.cells], axis=1)


def _levels(block: Block, statistics: Statistics) -> Array:
    return np.array([[str(level) for level in statistics.features[feature].levels[k]] for feature, k in block.cells])
