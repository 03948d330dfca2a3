"""Columns of levels: their codes, and the counts of the levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayesnb.kernels import densities
from bayesnb.kernels.blocks import large_enough
from bayesnb.numerics import Array
from bayesnb.priors import Dirichlet
from bayesnb.statistics.statistic import Statistic, per


@dataclass(frozen=True, eq=False)
class Coded:
    """Columns as codes and a dictionary, as Arrow and pandas keep them.

    Parameters
    ----------
    codes : int array (row, column)
        Position of the level in its column's dictionary; -1 is missing.
    levels : tuple of tuples
        The dictionary of each column.
    """

    codes: Array
    levels: tuple[tuple[Any, ...], ...]

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Any) -> Coded:
        return replace(self, codes=self.codes[rows])

    def missing(self) -> Array:
        """Which cells hold no level."""
        return self.codes < 0

    def columns(self, index: Sequence[int]) -> Coded:
        """Some of the columns."""
        return replace(self, codes=self.codes[:, index], levels=tuple(self.levels[k] for k in index))


@dataclass(frozen=True, eq=False)
class CategoryCounts(Statistic):
    """Weight of each level, ``counts`` (class, column, level), and what the levels are called."""

    counts: Array = per("category")
    levels: tuple[tuple[Any, ...], ...]

    group = "categorical"

    def __add__(self, other: CategoryCounts) -> CategoryCounts:
        if self.levels == other.levels:
            return CategoryCounts(self.counts + other.counts, self.levels)
        if len(self.levels) != len(other.levels):
            raise ValueError(f"Expected {len(self.levels)} columns; got {len(other.levels)}")
        levels = tuple(united(*pair) for pair in zip(self.levels, other.levels, strict=True))
        return CategoryCounts(self.with_levels(levels).counts + other.with_levels(levels).counts, levels)

    def with_levels(self, levels: tuple[tuple[Any, ...], ...]) -> CategoryCounts:
        """The same counts for other levels; a level that is not among them is dropped."""
        counts = np.zeros((*self.counts.shape[:2], widest(levels)))
        for column, (mine, wanted) in enumerate(zip(self.levels, levels, strict=True)):
            place = {name: k for k, name in enumerate(mine)}
            kept = [k for k, name in enumerate(wanted) if name in place]
            counts[:, column, kept] = self.counts[:, column, [place[wanted[k]] for k in kept]]
        return CategoryCounts(counts, levels)

    def named_as(self, other: CategoryCounts) -> CategoryCounts:
        return self.with_levels(other.levels)

    def seen(self) -> Array:
        return self.counts.sum(-1)

    def for_file(self) -> dict[str, Array]:
        # Columns with fewer levels are padded in memory, and not in a file.
        return {"counts": np.hstack([self.counts[:, k, : len(names)] for k, names in enumerate(self.levels)])}

    @classmethod
    def from_file(cls, cells: Mapping[str, Array], columns: tuple[Any, ...], levels: Any) -> CategoryCounts:
        counts, start = np.zeros((len(cells["counts"]), len(columns), widest(levels))), 0
        for k, names in enumerate(levels):
            counts[:, k, : len(names)] = cells["counts"][:, start : start + len(names)]
            start += len(names)
        return cls(counts, levels)


def log_less_one(posterior: Dirichlet) -> Array:
    """Log mean of each level without one of its rows, (class, column, level); NaN if nothing is left."""
    with np.errstate(divide="ignore", invalid="ignore"):
        rest = np.log(np.where(posterior.total > 1, posterior.total - 1, np.nan))
        return np.log(posterior.alpha - 1) - rest[..., None]


def looked_up(codes: Array, table: Array) -> Array:
    """Σ_j table_j at the code of each cell, (..., row, class); the table is (..., class, column, code), -1 adds 0."""
    if table.ndim == 3 and large_enough(codes.size * len(table)):
        return densities.looked_up(codes, table)
    # The code of a missing value is -1, which reads the last cell: ln 1.
    table = np.concatenate([table, np.zeros((*table.shape[:-1], 1))], axis=-1)
    total = np.zeros((*table.shape[:-2], len(codes)))
    for column, code in enumerate(codes.T):
        total += table[..., column, :][..., code]
    return np.swapaxes(total, -1, -2)


def widest(levels: tuple[tuple[Any, ...], ...]) -> int:
    """The largest number of levels of a column, at least 1."""
    return max([1, *map(len, levels)])


def united(mine: tuple[Any, ...], theirs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Both lists of names: mine in their order, then what is new."""
    return tuple(dict.fromkeys((*mine, *theirs)))
