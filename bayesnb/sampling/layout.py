"""The variables of the whole model: which columns share a vector variable, and what it is called.

Features of one kind stand in one vector variable, so a table of 200 columns has a handful of variables: PyMC compiles
them much faster. Variables are named after the kind (``theta_categorical_3``, ``mu_gaussian``). Columns appear only as
coordinates, so their names cannot collide with those of variables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from bayesnb.families.family import Family, Theta
from bayesnb.model import NaiveBayes, Parameters, Posterior, Statistics
from bayesnb.priors import Array


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
        categories = unique([str(word) for word in s.words])
    name = stem if stem not in taken else next(n for i in range(2, 10**6) if (n := f"{stem}_{i}") not in taken)
    labels = unique([str(_columns(model, statistics, feature)[k]) for feature, k in cells])
    family = family.gathered([(model.features[feature], k) for feature, k in cells])
    return Block(name, family, tuple(cells), labels, unique(categories) if categories else None, family.reads == "bag")


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


def unique(names: Sequence[str]) -> tuple[str, ...]:
    """The names, a number behind any that stood before."""
    seen: dict[str, int] = {}
    unique = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        unique.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return tuple(unique)


def variables(parameters: Parameters, layout: Sequence[Block]) -> dict[str, Array]:
    """Draws of the parameters as the variables of the layout, the axes of the draws in front."""
    named = {name: family.variables(parameters.features[name]) for name, family in parameters.model.features.items()}
    lead = parameters.log_pi.ndim - 1
    arrays = {"pi": np.exp(parameters.log_pi)}
    for block in layout:
        for key in named[block.cells[0][0]]:
            if block.whole:
                arrays[block.variable(key)] = named[block.cells[0][0]][key]
                continue
            cells = [np.take(named[feature][key], k, axis=lead + 1) for feature, k in block.cells]
            if block.categories:
                cells = [cell[..., : len(block.categories)] for cell in cells]
            arrays[block.variable(key)] = np.stack(cells, axis=lead + 1)
    return arrays


def from_variables(values: Mapping[str, Array], layout: Sequence[Block], posterior: Posterior) -> Parameters:
    """The parameters from the variables of the layout: the inverse of :func:`variables`."""
    lead = values["pi"].shape[:-1]
    features: dict[Any, Theta] = {}
    place: dict[tuple[Any, int], tuple[Block, int]] = {
        cell: (block, i) for block in layout for i, cell in enumerate(block.cells)
    }
    for name, family in posterior.model.features.items():
        like = family.variables(_any_theta(family, posterior.features[name]))
        theta = {}
        for key, value in like.items():
            if family.reads == "bag":
                block, _ = place[name, 0]
                theta[key] = values[block.variable(key)]
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
            theta[key] = full
        features[name] = family.theta(theta)
    with np.errstate(divide="ignore"):
        return Parameters(posterior.model, np.log(values["pi"]), features)


def _any_theta(family: Family, posterior: Any) -> Theta:
    """A point of θ, for its names and shapes."""
    return family.draw(posterior, np.random.default_rng(0))


def coords(labels: Sequence[Any], layout: Sequence[Block]) -> dict[str, list[Any]]:
    """Coordinates of all variables of a layout."""
    names: dict[str, list[Any]] = {"class_label": list(unique([str(label) for label in labels]))}
    for block in layout:
        names |= block.coords()
    return names


def dims(layout: Sequence[Block], names: Callable[[Block], Sequence[str]]) -> dict[str, list[str]]:
    """Dimensions of all variables of a layout; ``names`` gives those of a block."""
    axes = {"pi": ["class_label"]}
    for block in layout:
        axes |= {block.variable(key): list(block.dims) for key in names(block)}
    return axes


def keys_of(block: Block, posterior: Posterior) -> list[str]:
    """The names of the parameters of a block, such as mu and tau."""
    feature = block.cells[0][0]
    return list(block.family.variables(_any_theta(block.family, posterior.features[feature])))
