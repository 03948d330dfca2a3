"""Mean vector and scatter matrix of rows of real numbers by class, as a block of columns needs them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from bayesnb.kernels.blocks import cuts
from bayesnb.kernels.two_floats import TwoFloat
from bayesnb.numerics import Array
from bayesnb.statistics.membership import Labels
from bayesnb.statistics.moments import Centred

PLAIN = 2.0**-50
"""The rounding error of products of matrices, relative to the squares that they add up."""


@dataclass(frozen=True, eq=False)
class Scatter(Centred):
    """Weight (class, 1), total (class, column) and scatter Σ w (x - mean)(x - mean)ᵀ (class, column, column)."""

    @classmethod
    def of(cls, x: Array, members: Labels) -> Scatter:
        """The scatter of the rows; a row with a missing cell says nothing."""
        return reduce(add, (cls._of_block(x[cut], members[cut]) for cut in cuts(len(x), x.shape[1])))

    @classmethod
    def _of_block(cls, x: Array, members: Labels) -> Scatter:
        """The sums of a block about the mean of each class as one float.

        It is found from a value of the class: so equal rows have sums of exactly 0.
        """
        d, known = x.shape[1], ~np.isnan(x).any(1)
        n, mean, one, nonzero, two = (np.zeros((members.n, *shape)) for shape in ((1,), (d,), (d,), (d,), (d, d)))
        for c, rows, weight in members.each_class():
            counts = known[rows] & (weight > 0)
            own, w = x[rows][counts], weight[counts]
            if not len(own):
                continue
            n[c], nonzero[c] = w.sum(), w @ (own != 0)
            mean[c] = own[0] + w @ (own - own[0]) / n[c]
            away = own - mean[c]
            one[c] = w @ away
            away *= np.sqrt(w)[:, None]
            two[c] = away.T @ away
        return cls.about(TwoFloat.of(n), mean, TwoFloat.of(one), TwoFloat.of(two), nonzero, PLAIN)

    @staticmethod
    def squared(share: TwoFloat, gap: TwoFloat) -> TwoFloat:
        return gap.at((..., None)) * gap.at((slice(None), None)) * share.at((..., None))

    @staticmethod
    def own(scatter: Array) -> Array:
        return np.diagonal(scatter, axis1=1, axis2=2)

    @staticmethod
    def within(some: Array) -> Array:
        return some[:, :, None] & some[:, None, :]

    def contradiction(self) -> str:
        size = np.sqrt(np.maximum(self.own(self.scatter), np.finfo(float).tiny))
        standard = self.scatter / size[:, :, None] / size[:, None, :]
        symmetric = (np.abs(standard - standard.swapaxes(1, 2)) <= 1e-6).all()
        possible = symmetric and np.linalg.eigvalsh(standard).min(initial=0.0) >= -1e-6
        return super().contradiction() or ("" if possible else "its scatter is not that of any rows")


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
