"""Mean vector and scatter matrix of rows of real numbers by class, as a block of columns needs them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from bayesnb.kernels.blocks import slices
from bayesnb.kernels.expansions import two_sum
from bayesnb.numerics import Array
from bayesnb.statistics.errors import UnlearnedError, first
from bayesnb.statistics.membership import Membership
from bayesnb.statistics.statistic import Statistic, per

KEPT = 1e-9
"""The largest share of a sum of squares that may be lost to rounding when rows are unlearned."""

SMALLEST, LARGEST = 1e-140, 1e140
"""The sizes between which the numbers of a column have squares that are ordinary floats."""

ROUNDING = 2.0**-50
"""The rounding error of a sum of squares, relative to it."""


@dataclass(frozen=True, eq=False)
class Scatter(Statistic):
    """Weight (class, 1), mean as the sum of a float and a far smaller one, and scatter Σ w (x - mean)(x - mean)ᵀ.

    The mean is (class, column), the scatter (class, column, column). Two parts are added about their common mean (Chan,
    Golub and LeVeque 1983), so that no digits are lost where a mean is far larger than its spread.
    """

    n: Array = per("bag")
    mean: Array = per("column")
    low: Array = per("column")
    scatter: Array = per("pair")

    group = "multivariate_gaussian"
    signed: ClassVar[frozenset[str]] = frozenset({"mean", "low", "scatter"})

    @classmethod
    def of(cls, x: Array, members: Membership) -> Scatter:
        """The scatter of the rows. Rows that are missing as a whole say nothing.

        Raises
        ------
        ValueError
            If a row is missing in part, or if squares of its numbers are no ordinary floats.
        """
        require_whole(x)
        d = x.shape[1]
        empty = np.zeros((members.n, 1)), *np.zeros((2, members.n, d)), np.zeros((members.n, d, d))
        _require_ordinary(x)
        total = cls(*empty)
        for cut in slices(len(x)):
            part = cls(*(v.copy() for v in empty))
            for c, rows, weight in members[cut].each_class():
                for value, found in zip(
                    (part.n, part.mean, part.low, part.scatter), _of_class(x[cut][rows], weight), strict=True
                ):
                    value[c] = found
            total = total + part
        return total

    def __add__(self, other: Scatter) -> Scatter:
        n = self.n + other.n
        with np.errstate(all="ignore"):
            share = np.where(n == 0, 0.0, other.n / n)
            gap = (other.mean - self.mean) + (other.low - self.low)
            # The larger side is the one to move from: its mean is nearly the sum's.
            here = np.abs(self.n) >= np.abs(other.n)
            step = np.where(here, gap * share, -gap * np.where(n == 0, 0.0, self.n / n))
            mean, low = two_sum(np.where(here, self.mean, other.mean), np.where(here, self.low, other.low) + step)
            apart = (self.n * share)[..., None] * (gap[:, :, None] * gap[:, None, :])
        nothing = (n == 0)[..., None]
        scatter = self.scatter + other.scatter + np.where(nothing, 0.0, apart)
        return Scatter(n, np.where(n == 0, 0.0, mean), np.where(n == 0, 0.0, low), scatter)

    def __mul__(self, factor: float) -> Scatter:
        return Scatter(self.n * factor, self.mean, self.low, self.scatter * factor)

    def seen(self) -> Array:
        return self.n

    def rounded(self, before: Scatter) -> Scatter:
        """The same without rounding errors, where it is ``before`` minus some of its rows.

        Raises
        ------
        UnlearnedError
            Where what is left is below the rounding of what was taken, or no sum of squares.
        """
        left = self.n > 1e-12 * np.abs(before.n)
        own, whole = (np.diagonal(s.scatter, axis1=1, axis2=2) for s in (self, before))
        doubt, n = ROUNDING * whole, np.where(left, self.n, 1.0)
        # Squares that are no more than rounding are those of equal numbers, if what is rounded is small in this column.
        size = np.where(left, np.abs(self.mean) + np.sqrt(np.maximum(own, 0.0) / n), 0.0).max(0, initial=0.0)
        equal = (np.abs(own) <= doubt) & (np.sqrt(doubt / n) <= 1e-6 * size)
        lost = left & ~equal & (doubt > KEPT * own)
        if lost.any():
            raise UnlearnedError(
                "these rows cannot be unlearned: they were never learned, or they are so far out that what the other "
                "rows said is below their rounding; fit the other rows anew",
                first(lost),
            )
        kept = left & ~equal
        scatter = np.where(kept[:, :, None] & kept[:, None, :], self.scatter, 0.0)
        return Scatter(self.n, np.where(left, self.mean, 0.0), np.where(left, self.low, 0.0), scatter)

    def contradiction(self) -> str:
        size = np.sqrt(np.maximum(np.diagonal(self.scatter, axis1=1, axis2=2), np.finfo(float).tiny))
        smallest = np.linalg.eigvalsh(self.scatter / size[:, :, None] / size[:, None, :]).min(initial=0.0)
        return "" if smallest >= -1e-6 else "its scatter is not that of any rows"

    # Model files hold each pair of columns once.

    def for_file(self) -> dict[str, Array]:
        row, column = np.tril_indices(self.mean.shape[1])
        return self.arrays() | {"scatter": self.scatter[:, row, column]}

    @classmethod
    def from_file(cls, cells: Mapping[str, Array], columns: tuple[Any, ...], levels: Any) -> Self:
        row, column = np.tril_indices(len(columns))
        scatter = np.zeros((len(cells["n"]), len(columns), len(columns)))
        scatter[:, row, column] = scatter[:, column, row] = cells["scatter"]
        return cls(**{**cells, "scatter": scatter})


def require_whole(x: Array) -> None:
    """Refuse rows that are missing in part: what they say about a covariance has no conjugate form."""
    if (gap := gap_in_a_row(x)) is not None:
        row, column = gap
        raise ValueError(f"row {row} has no value in column {column} of its block: {PARTLY_MISSING}")


def gap_in_a_row(x: Array) -> tuple[int, int] | None:
    """Row and column of the first missing cell in a row that has other values; None if there is no such row."""
    missing = np.isnan(x)
    partly = missing.any(1) & ~missing.all(1)
    if not partly.any():
        return None
    row, column = np.argwhere(missing & partly[:, None])[0]
    return int(row), int(column)


PARTLY_MISSING = (
    "a block of columns learns from rows that are whole, or missing as a whole. Leave such rows out, fill the cell, or "
    "make a feature of its own of that column. (Rows that are asked may have gaps.)"
)


def patterns(x: Array) -> Iterator[tuple[Any, Array | None]]:
    """Yield rows with the same missing cells, and the columns that they have; ``None`` is all columns.

    Rows that are missing as a whole are left out.
    """
    missing = np.isnan(x)
    if not missing.any():
        yield slice(None), None
        return
    kinds, kind = np.unique(missing, axis=0, return_inverse=True)
    for k, gaps in enumerate(kinds):
        if not gaps.all():
            yield np.flatnonzero(kind.ravel() == k), np.flatnonzero(~gaps) if gaps.any() else None


def _of_class(x: Array, weight: Array) -> tuple[Any, ...]:
    """Weight, mean in two parts, and scatter of rows of one class."""
    # Without rows of weight 0, equal rows have a scatter of exactly 0.
    known = ~np.isnan(x[:, 0]) & (weight > 0)
    if not known.all():
        x, weight = x[known], weight[known]
    if not len(x):
        return np.zeros(()), 0.0, 0.0, 0.0
    n = weight.sum()
    near, plain = x[0], bool((weight == 1).all())
    with np.errstate(over="ignore", invalid="ignore"):
        mean, low = two_sum(near, weight @ (x - near) / n)
        away = (x - mean) - low
        rest = weight @ away / n
        if not plain:
            away *= np.sqrt(weight)[:, None]
        mean, low = two_sum(mean, low + rest)
        return n, mean, low, away.T @ away - n * np.outer(rest, rest)


def _require_ordinary(x: Array) -> None:
    """Refuse columns whose squares are no ordinary floats. (Infinite cells are refused by name, by the schema.)"""
    size = np.maximum(np.fmax.reduce(x, axis=0, initial=0.0), -np.fmin.reduce(x, axis=0, initial=0.0))
    odd = (size > 0) & np.isfinite(size) & ~((size > SMALLEST) & (size < LARGEST))
    if odd.any():
        k = int(np.flatnonzero(odd)[0])
        raise ValueError(
            f"its column {k} holds numbers of the size {size[k]:g}, whose squares are no ordinary floats; multiply the "
            "column by a constant"
        )
