"""The variables of the whole model: which columns share a vector variable, and what it is called.

Features of one kind stand in one vector variable, so a table of 200 columns has a handful of variables: PyMC compiles
them much faster. Variables are named after the kind (``theta_categorical_3``, ``mu_gaussian``). Columns appear only as
coordinates, so their names cannot collide with those of variables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import product
from typing import Any

import numpy as np

from bayesnb.families.family import Family
from bayesnb.families.support import BAG, LEVELS
from bayesnb.model import NaiveBayes, Parameters, Posterior, Statistics
from bayesnb.priors import Array, Theta


@dataclass(frozen=True, eq=False)
class Block:
    """Columns of several features that share one vector variable.

    Parameters
    ----------
    name : str
        Ending of the names of its variables.
    family : Family
        Likelihood at all its positions.
    members : tuple of (feature, column)
        The feature, and the column of it, at each position.
    columns : tuple of str
        Coordinate names of the positions.
    categories : tuple of str or None
        Coordinate names of the levels.
    whole : bool
        Whether it is one feature whose columns share one θ: the words of a bag, or the columns of a vector.
    drawn : {parameter: number of axes}, optional
        The parameters of a sampled family, and whether each has axes for class and column (2), or for levels too (3).
    """

    name: str
    family: Family
    members: tuple[tuple[Any, int], ...]
    columns: tuple[str, ...]
    categories: tuple[str, ...] | None
    whole: bool
    drawn: Mapping[str, int] | None = None

    def variable(self, name: str) -> str:
        """The full name of one of its variables."""
        return f"{name}_{self.name}"

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of its parameters, such as mu and tau."""
        return self.family.conjugate.parameters if self.drawn is None else tuple(self.drawn)

    def axes(self, key: str) -> tuple[str, ...]:
        """Dimensions of the variable of a parameter."""
        return self.dims if self.drawn is None else self.dims[: self.drawn[key]]

    @property
    def dims(self) -> tuple[str, ...]:
        """Dimensions of its variables: class, column, and level or other column."""
        return ("class_label", *self.coords())

    def coords(self) -> dict[str, list[str]]:
        """Coordinates of its dimensions, besides the label."""
        levels = {f"{self.name}_category": list(self.categories)} if self.categories else {}
        if self.whole and self.categories:
            return levels
        columns = {f"{self.name}_feature": list(self.columns)}
        # No two dimensions may have one name.
        return columns | ({f"{self.name}_feature_2": list(self.columns)} if self.whole else levels)

    def place(self, where: tuple[int, ...]) -> tuple[Any, tuple[int, ...]]:
        """The feature, and the index in its arrays, that an index (class, position, ...) of the block stands for."""
        if self.whole or len(where) < 2:
            return self.members[0][0], where
        feature, column = self.members[where[1]]
        return feature, (where[0], column, *where[2:])

    def gather(self, parts: Mapping[Any, Any]) -> Any:
        """The prior, posterior or statistic of the block, put together from those of the features.

        ``parts`` are data classes. The second axis of their arrays is the column.
        """
        if self.whole:
            return parts[self.members[0][0]]
        picked: dict[str, Any] = {}
        example = parts[self.members[0][0]]
        for f in fields(example):
            values = [getattr(parts[feature], f.name) for feature, _ in self.members]
            if isinstance(values[0], np.ndarray):
                one = [v[:, k] for v, (_, k) in zip(values, self.members, strict=True)]
                if self.family.support == LEVELS:
                    one = [v[:, : len(self.categories)] for v in one]
                picked[f.name] = np.stack(one, axis=1)
            elif f.name == "levels":
                picked[f.name] = tuple(v[k] for v, (_, k) in zip(values, self.members, strict=True))
            else:
                picked[f.name] = values[0]
        return type(example)(**picked)


def blocks(model: NaiveBayes, statistics: Statistics) -> list[Block]:
    """Group the columns of a model into blocks: one for each family and number of levels.

    Parameters
    ----------
    model : NaiveBayes
    statistics : Statistics
        Its levels and words name the categories.

    Notes
    -----
    A categorical column with a single level has θ = 1, so it needs no variable and is in no block.
    """
    model.require_exact(
        "the joint PyMC model, or a check against its draws",
        "leave the feature out of it; sample_posterior has its draws, and "
        "posterior_.features[...].convergence says how sampling went",
    )
    return _grouped(model, statistics, {})


def blocks_of(posterior: Posterior) -> list[Block]:
    """The blocks of a posterior, those of sampled features included: each of these has blocks of its own.

    Parameters
    ----------
    posterior : Posterior
    """
    sampled = {}
    for name, family in posterior.model.features.items():
        if not family.exact:
            point = family.variables(family.draw(posterior.features[name], np.random.default_rng(0)))
            sampled[name] = {key: value.ndim for key, value in point.items()}
    return _grouped(posterior.model, posterior.statistics, sampled)


def _grouped(model: NaiveBayes, statistics: Statistics, sampled: Mapping[Any, Mapping[str, int]]) -> list[Block]:
    grouped: dict[tuple[Any, ...], list[tuple[Any, int]]] = {}
    for name, family in model.features.items():
        s, kind = statistics.features[name], family.kind
        if family.whole_rows:
            grouped[kind, name] = [(name, 0)]
            continue
        for k in range(s.seen().shape[1]):
            own = (kind, name) if name in sampled else (kind,)
            levels = s.levels if family.support == LEVELS else None
            if levels is None:
                grouped.setdefault(own, []).append((name, k))
            elif len(levels[k]) > 1:
                grouped.setdefault((*own, len(levels[k])), []).append((name, k))
    made: list[Block] = []
    for key, members in grouped.items():
        block = _block(key, members, model, statistics, {block.name for block in made})
        drawn = block.family.conjugate.axes if block.whole and not block.categories else sampled.get(members[0][0])
        made.append(replace(block, drawn=drawn))
    return made


def _block(
    key: tuple[Any, ...],
    members: list[tuple[Any, int]],
    model: NaiveBayes,
    statistics: Statistics,
    taken: set[str],
) -> Block:
    first = members[0][0]
    family, s = model.features[first], statistics.features[first]
    stem = _snake(key[0])
    categories = None
    if family.support == LEVELS:
        stem += f"_{key[-1]}"
        names = [statistics.features[feature].levels[k] for feature, k in members]
        categories = tuple(_joined([str(levels[i]) for levels in names], i) for i in range(key[-1]))
    elif family.support == BAG:
        categories = _unique([str(word) for word in s.words])
    elif names := family.node_names():
        categories = names
    name = stem if stem not in taken else next(n for i in range(2, 10**6) if (n := f"{stem}_{i}") not in taken)
    if family.whole_rows and not categories:
        names = model.columns.get(first) or [f"{first}[{k}]" for k in range(s.mean.shape[1])]
        return Block(name, family, tuple(members), _unique([str(name) for name in names]), None, True)
    labels = _unique([str(_columns(model, statistics, feature)[k]) for feature, k in members])
    family = family.gathered([(model.features[feature], k) for feature, k in members])
    return Block(name, family, tuple(members), labels, _unique(categories) if categories else None, family.whole_rows)


def _columns(model: NaiveBayes, statistics: Statistics, feature: Any) -> Sequence[Any]:
    if feature in model.columns:
        return model.columns[feature]
    n = statistics.features[feature].seen().shape[1]
    return [str(feature)] if n == 1 else [f"{feature}[{k}]" for k in range(n)]


def _snake(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() and i else c.lower() for i, c in enumerate(name))


def _joined(names: list[str], position: int) -> str:
    """One name for the level at a position of several columns: up to three names joined, or the position."""
    distinct = list(dict.fromkeys(names))
    return "|".join(distinct) if len(distinct) <= 3 else str(position)


def _unique(names: Sequence[str]) -> tuple[str, ...]:
    """The names, with a number added to each repetition."""
    seen: dict[str, int] = {}
    numbered = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        numbered.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return tuple(numbered)


def variables(parameters: Parameters, blocks: Sequence[Block]) -> dict[str, Array]:
    """Draws of the parameters as the variables of the blocks, (draw, class, ...)."""
    named = {name: family.variables(parameters.features[name]) for name, family in parameters.model.features.items()}
    lead = parameters.log_pi.ndim - 1
    arrays = {"pi": np.exp(parameters.log_pi)}
    for block in blocks:
        for key in block.keys:
            if block.whole:
                arrays[block.variable(key)] = named[block.members[0][0]][key]
                continue
            cells = [np.take(named[feature][key], k, axis=lead + 1) for feature, k in block.members]
            if len(block.axes(key)) == 3:
                cells = [cell[..., : len(block.categories)] for cell in cells]
            arrays[block.variable(key)] = np.stack(cells, axis=lead + 1)
    return arrays


def from_variables(values: Mapping[str, Array], blocks: Sequence[Block], posterior: Posterior) -> Parameters:
    """The parameters from the variables of the blocks: the inverse of :func:`variables`."""
    lead = values["pi"].shape[:-1]
    features: dict[Any, Theta] = {}
    place: dict[tuple[Any, int], tuple[Block, int]] = {
        cell: (block, i) for block in blocks for i, cell in enumerate(block.members)
    }
    for name, family in posterior.model.features.items():
        # A point of θ, for the shapes of its variables.
        like = family.variables(family.draw(posterior.features[name], np.random.default_rng(0)))
        theta = {}
        for key, value in like.items():
            if family.whole_rows:
                block, _ = place[name, 0]
                theta[key] = values[block.variable(key)]
                continue
            # What no block holds is a column of one level, of probability 1.
            full = np.zeros((*lead, *value.shape))
            for k in range(value.shape[1]):
                if (name, k) not in place:
                    full[(..., k, 0) if value.ndim == 3 else (..., k)] = 1.0
                    continue
                block, i = place[name, k]
                cell = np.take(values[block.variable(key)], i, axis=len(lead) + 1)
                if len(block.axes(key)) == 3:
                    full[..., k, : len(block.categories)] = cell
                else:
                    full[..., k] = cell
            theta[key] = full
        features[name] = family.theta(theta)
    with np.errstate(divide="ignore"):
        return Parameters(posterior.model, np.log(values["pi"]), features)


def coords(labels: Sequence[Any], blocks: Sequence[Block]) -> dict[str, list[Any]]:
    """Coordinates of all variables."""
    names: dict[str, list[Any]] = {"class_label": list(_unique([str(label) for label in labels]))}
    for block in blocks:
        names |= block.coords()
    return names


def cell_names(labels: Sequence[Any], blocks: Sequence[Block]) -> dict[str, list[str]]:
    """The names of all cells of each variable, such as ``mu_gaussian[ant, size]``, in the order of ``ravel``."""
    names = coords(labels, blocks)
    return {
        variable: [f"{variable}[{', '.join(map(str, at))}]" for at in product(*(names[axis] for axis in axes))]
        for variable, axes in dims(blocks).items()
    }


def dims(blocks: Sequence[Block]) -> dict[str, list[str]]:
    """Dimensions of all variables."""
    axes = {"pi": ["class_label"]}
    for block in blocks:
        axes |= {block.variable(key): list(block.axes(key)) for key in block.keys}
    return axes
