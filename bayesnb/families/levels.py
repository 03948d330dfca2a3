"""Columns of levels: their codes, and the counts of the levels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayesnb.families.columns import FEWER, Tabulated
from bayesnb.numerics import Array
from bayesnb.statistics.statistic import Statistic


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

    def tabulated(self) -> Tabulated | None:
        """The levels of each column as a table; ``None`` if it would be nearly as long as the rows."""
        n = widest(self.levels)
        if FEWER * n > len(self):
            return None
        level = np.arange(n)[:, None]
        return Tabulated(self.codes, replace(self, codes=np.where(level < [len(v) for v in self.levels], level, -1)))

    def columns(self, index: Sequence[int]) -> Coded:
        """Some of the columns."""
        return replace(self, codes=self.codes[:, index], levels=tuple(self.levels[k] for k in index))


@dataclass(frozen=True, eq=False)
class CategoryCounts(Statistic):
    """Weight of each level, ``counts`` (class, column, level), and what the levels are called."""

    counts: Array
    levels: tuple[tuple[Any, ...], ...]

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

    def contradiction(self) -> str:
        beyond = np.arange(self.counts.shape[-1]) >= np.array([[len(names)] for names in self.levels])
        return "levels were counted that it does not have" if self.counts[:, beyond].any() else ""


def at_levels(table: Array, codes: Array) -> Array:
    """The numbers of a table (..., class, column, level) at codes (row, column), as (..., row, class, column).

    A missing cell, of code -1, stands for level 0: every column has one.
    """
    return np.swapaxes(table[..., np.arange(codes.shape[1]), np.maximum(codes, 0).astype(np.intp)], -3, -2)


def pymc_at_levels(table: Any, codes: Array) -> Any:
    """Σ_j of a tensor (class, column, level) at codes (row, column), (row, class); a missing cell adds nothing."""
    from pytensor import tensor as pt

    picked = table[:, np.arange(codes.shape[1]), np.maximum(codes, 0)]
    return pt.switch(codes >= 0, picked, 0.0).sum(-1).T


def widest(levels: tuple[tuple[Any, ...], ...]) -> int:
    """The largest number of levels of a column, at least 1."""
    return max([1, *map(len, levels)])


def united(mine: tuple[Any, ...], theirs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Both lists of names: mine in their order, then what is new."""
    return tuple(dict.fromkeys((*mine, *theirs)))
