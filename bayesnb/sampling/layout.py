"""Names of the variables of the PyMC model, and the columns that share a variable.

In a table of at most 24 columns, each column has separate variables, such as ``mu_size[ant]``; in larger tables,
columns with the same family share variables, such as ``mu_gaussian``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np

from bayesnb.families.family import Family
from bayesnb.model import NaiveBayes, Parameters, Posterior, Statistics
from bayesnb.priors import Array, Belief, Theta
from bayesnb.priors.beta_tree import NODES
from bayesnb.priors.compound import completed
from bayesnb.statistics.statistic import arrays_of, joined
from bayesnb.wording import dashed

APART = 24
"""Largest number of columns with separate variables. PyMC compiles many variables slowly."""


@dataclass(frozen=True, eq=False)
class Block:
    """Columns that share their PyMC variables, or a single column with its own variables."""

    name: str  # the ending of the variables' names
    family: Family
    members: tuple[tuple[Any, int], ...]  # of each column: its feature, and its position there
    columns: tuple[str, ...]  # names of the columns
    categories: tuple[str, ...] | None  # levels, or nodes of a tree
    axes: Mapping[str, tuple[str, ...]]  # of each parameter
    whole: bool  # the columns share parameters: the words of a bag, or the columns of a vector
    lengths: Mapping[str, int] = field(default_factory=dict)  # of axes other than "class", "column" and "level"
    n_levels: int | None = None
    apart: bool = False  # a single column, whose variables have no column axis

    @property
    def of_words(self) -> bool:
        return self.family.support.kind == "bag"

    def variable(self, name: str) -> str:
        return f"{name}_{self.name}"

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(self.axes)

    def dims(self, key: str) -> tuple[str, ...]:
        axes = [axis for axis in self.axes[key] if not (self.apart and axis == "column")]
        return tuple("class_label" if axis == "class" else self.dim(axis) for axis in axes)

    def dim(self, axis: str) -> str:
        level = "node" if self.family.conjugate.node_names else "category"
        named = {"column": "feature", "column_2": "feature_2", "level": level}
        return f"{self.name}_{named.get(axis, axis)}"

    def coords(self) -> dict[str, list[Any]]:
        found: dict[str, list[Any]] = {}
        if not (self.of_words or self.apart):
            found[self.dim("column")] = list(self.columns)
        if self.categories:
            found[self.dim("level")] = list(self.categories)
        elif self.family.whole_rows:
            # Dimensions need distinct names.
            found[self.dim("column_2")] = list(self.columns)
        return found | {self.dim(axis): list(range(length)) for axis, length in self.lengths.items()}

    def place(self, where: tuple[int, ...]) -> tuple[Any, tuple[int, ...]]:
        """Convert a position in a block's array: return the feature, and the position in the feature's array."""
        if self.whole or len(where) < 2:
            return self.members[0][0], where
        if self.apart:
            feature, column = self.members[0]
            return feature, (where[0], column, *where[1:])
        feature, column = self.members[where[1]]
        return feature, (where[0], column, *where[2:])

    def cells(self, by_feature: Mapping[Any, Array]) -> Array:
        """Join the columns of the block in one array, along the last axis."""
        if self.whole:
            return by_feature[self.members[0][0]]
        return self.joined([by_feature[feature][..., k] for feature, k in self.members], -1)

    def joined(self, of_columns: Sequence[Array], axis: int) -> Array:
        return of_columns[0] if self.apart else np.stack(of_columns, axis=axis)

    def gather(self, parts: Mapping[Any, Any]) -> Any:
        """Concatenate priors, posteriors or statistics of the block's features along the column axis."""
        if self.whole:
            return parts[self.members[0][0]]
        found = joined([self._levels_of(parts[feature].columns([k])) for feature, k in self.members])
        return found.columns(0) if self.apart and isinstance(found, Belief) else found

    def _levels_of(self, part: Any) -> Any:
        if self.n_levels is None or (self.family.conjugate.node_names and isinstance(part, Belief)):
            return part
        by_level = {name: v for name, v in arrays_of(part).items() if v.ndim > 2}
        return replace(part, **{name: v[:, :, : self.n_levels] for name, v in by_level.items()})


def blocks(posterior: Posterior, apart: bool = True) -> list[Block]:
    """Group the columns of a model into blocks; the columns of one block share their PyMC variables."""
    model, sampled = posterior.model, posterior.model.sampled
    for name, family in model.features.items():
        if not family.classes_apart:
            raise ValueError(
                f"feature {name!r}: {type(family).__name__} shares parameters between classes, and is not written in "
                "PyMC; predict_interval and sample_proba draw from its posterior"
            )
    cells = list(_cells(model, posterior.statistics))
    small = apart and sum(feature not in sampled for feature, _, _ in cells) <= APART
    grouped: dict[Any, list[tuple[Any, int]]] = {}
    for feature, k, n_levels in cells:
        family = model.features[feature]
        alone = family.one_term or (small and feature not in sampled)
        kind = family.kind, n_levels, feature if feature in sampled else None
        grouped.setdefault((feature, k) if alone else kind, []).append((feature, k))
    made: list[Block] = []
    for members in grouped.values():
        named = small and members[0][0] not in sampled
        made.append(_block(members, posterior, named, {block.name for block in made}))
    return made


def _axes(family: Family) -> Mapping[str, tuple[str, ...]]:
    axes = family.variable_axes()
    if family.parts:
        return axes
    # The nodes of a tree are treated as categories.
    return {key: tuple("level" if axis == "node" else axis for axis in own) for key, own in axes.items()}


def _lengths(posterior: Posterior, feature: Any) -> Mapping[str, int]:
    family = posterior.model.features[feature]
    if family.exact:
        return {axis: NODES for own in _axes(family).values() for axis in own if axis.startswith("node")}
    point = family.variables(family.draw(posterior.features[feature], np.random.default_rng(0)))
    axes = family.variable_axes().items()
    each = {axis: n for key, own in axes for axis, n in zip(own, point[key].shape, strict=True)}
    return {axis: n for axis, n in each.items() if axis not in ("class", "column", "level")}


def _cells(model: NaiveBayes, statistics: Statistics) -> Iterator[tuple[Any, int, int | None]]:
    """Yield (feature, column, number of levels or None) of each column that has PyMC variables."""
    for feature, family in model.features.items():
        s = statistics.features[feature]
        if family.one_term:
            yield feature, 0, None
            continue
        for k in range(s.seen().shape[1]):
            n_levels = len(s.levels[k]) if family.support.kind == "levels" else None
            if n_levels != 1:
                yield feature, k, n_levels


def _block(members: list[tuple[Any, int]], posterior: Posterior, named: bool, taken: set[str]) -> Block:
    model, statistics, first = posterior.model, posterior.statistics, members[0][0]
    family, s = model.features[first], statistics.features[first]
    columns = [str(_columns(model, statistics, feature)[k]) for feature, k in members]
    categories, n_levels = None, None
    if family.support.kind == "levels" and not family.one_term:
        n_levels = len(s.levels[members[0][1]])
    if named:
        stem = _plain(str(first) if family.one_term else columns[0])
    else:
        stem = dashed(family.kind).replace("-", "_") + ("" if n_levels is None else f"_{n_levels}")
    if names := family.conjugate.node_names:
        categories = names
    elif family.support.kind == "levels":
        of_levels = members if n_levels is not None else [(first, k) for k in range(len(s.levels))]
        levels = [statistics.features[feature].levels[k] for feature, k in of_levels]
        widest = max(map(len, levels))
        categories = tuple(_joined([str(own[i]) for own in levels if i < len(own)], i) for i in range(widest))
    elif family.support.kind == "bag":
        categories = _unique([str(word) for word in s.words])
    name = stem if stem not in taken else next(n for i in range(2, 10**6) if (n := f"{stem}_{i}") not in taken)
    shown = _unique(categories) if categories else None
    whole, axes, lengths = family.one_term, _axes(family), _lengths(posterior, first)
    if whole and family.support.kind != "bag":
        columns = [str(column) for column in _columns(model, statistics, first)]
    else:
        family = family.gathered([(model.features[feature], k) for feature, k in members])
    apart = named and not whole
    return Block(name, family, tuple(members), _unique(columns), shown, axes, whole, lengths, n_levels, apart)


def _columns(model: NaiveBayes, statistics: Statistics, feature: Any) -> Sequence[Any]:
    if feature in model.columns:
        return model.columns[feature]
    family, s = model.features[feature], statistics.features[feature]
    # A vector counts whole rows, so its number of columns comes from the mean.
    n = s.mean.shape[1] if family.whole_rows and family.support.kind != "bag" else s.seen().shape[1]
    return [str(feature)] if n == 1 else [f"{feature}[{k}]" for k in range(n)]


def _plain(name: str) -> str:
    plain = re.sub(r"\W+", "_", name).strip("_")
    return plain if plain and not plain[0].isdigit() else f"column_{plain}".rstrip("_")


def _joined(names: list[str], position: int) -> str:
    distinct = list(dict.fromkeys(names))
    return "|".join(distinct) if len(distinct) <= 3 else str(position)


def _unique(names: Sequence[str]) -> tuple[str, ...]:
    seen: dict[str, int] = {}
    numbered = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        numbered.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return tuple(numbered)


def variables(parameters: Parameters, blocks: Sequence[Block]) -> dict[str, Array]:
    """Convert draws of parameters to PyMC variables."""
    named = {name: family.variables(parameters.features[name]) for name, family in parameters.model.features.items()}
    lead = parameters.log_pi.ndim - 1
    arrays = {"pi": np.exp(parameters.log_pi)}
    for block in blocks:
        for key in block.keys:
            if block.whole:
                arrays[block.variable(key)] = named[block.members[0][0]][key]
                continue
            column = lead + block.axes[key].index("column")
            cells = [np.take(named[feature][key], k, axis=column) for feature, k in block.members]
            if "level" in block.axes[key]:
                cells = [cell[..., : len(block.categories)] for cell in cells]
            arrays[block.variable(key)] = block.joined(cells, column)
    return arrays


def with_columns(variables: Mapping[str, Any], blocks: Sequence[Block], lead: int = 0) -> dict[str, Any]:
    """Insert a column axis of length 1 into variables without a column axis, after ``lead`` axes of draws."""
    full = dict(variables)
    for block in blocks:
        if block.apart:
            for key in block.keys:
                place = lead + block.axes[key].index("column")
                full[block.variable(key)] = variables[block.variable(key)][(*[slice(None)] * place, None)]
    return full


def from_variables(values: Mapping[str, Array], blocks: Sequence[Block], posterior: Posterior) -> Parameters:
    """Convert PyMC variables to parameters: the inverse of :func:`variables`."""
    lead = values["pi"].shape[:-1]
    values = with_columns(values, blocks, len(lead))
    features: dict[Any, Theta] = {}
    place: dict[tuple[Any, int], tuple[Block, int]] = {
        cell: (block, i) for block in blocks for i, cell in enumerate(block.members)
    }
    for name, family in posterior.model.features.items():
        # A point of θ, for the shapes of its variables.
        like = family.variables(family.draw(posterior.features[name], np.random.default_rng(0)))
        each = _axes(family)
        theta = {}
        for key, value in like.items():
            if family.one_term:
                block, _ = place[name, 0]
                theta[key] = values[block.variable(key)]
                continue
            # A column in no block has a single level, of probability 1.
            full = np.zeros((*lead, *value.shape))
            axes = each[key]
            column = len(lead) + axes.index("column")
            for k in range(full.shape[column]):
                block, i = place.get((name, k), (None, 0))
                width = 1 if block is None or not block.categories else len(block.categories)
                at = [k if axis == "column" else slice(width if axis == "level" else None) for axis in axes]
                cell = 1.0 if block is None else np.take(values[block.variable(key)], i, axis=column)
                full[(..., *at)] = cell
            theta[key] = full
        features[name] = completed(family.theta(theta), posterior.features[name])
    with np.errstate(divide="ignore"):
        return Parameters(posterior.model, np.log(values["pi"]), features)


def coords(labels: Sequence[Any], blocks: Sequence[Block]) -> dict[str, list[Any]]:
    """The coordinates of each dimension of the PyMC variables."""
    names: dict[str, list[Any]] = {"class_label": list(_unique([str(label) for label in labels]))}
    for block in blocks:
        names |= block.coords()
    return names


def cell_names(labels: Sequence[Any], blocks: Sequence[Block]) -> dict[str, list[str]]:
    """The names of all entries of each variable, such as ``mu_gaussian[ant, size]``."""
    names = coords(labels, blocks)
    return {
        variable: [f"{variable}[{', '.join(map(str, at))}]" for at in product(*(names[axis] for axis in axes))]
        for variable, axes in dims(blocks).items()
    }


def dims(blocks: Sequence[Block]) -> dict[str, list[str]]:
    """The names of the dimensions of each PyMC variable."""
    axes = {"pi": ["class_label"]}
    for block in blocks:
        axes |= {block.variable(key): list(block.dims(key)) for key in block.keys}
    return axes
