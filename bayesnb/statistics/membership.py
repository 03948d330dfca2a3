"""Class labels of rows, and sums over the rows of each class."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesnb.kernels import sums
from bayesnb.numerics import Array

type Column = Any


@dataclass(frozen=True, eq=False)
class Labels:
    """Labelled rows: each row belongs to one class.

    Parameters
    ----------
    codes : int array (row,)
        Class of each row.
    weight : float array (row,)
        Frequency weights: 2 means that the row was seen twice.
    n : int
        Number of classes.
    """

    codes: Array
    weight: Array
    n: int

    @classmethod
    def of(cls, codes: Any, n: int | None = None, weight: Any = None) -> Labels:
        codes = np.asarray(codes, np.intp)
        weight = np.broadcast_to(1.0, len(codes)) if weight is None else np.asarray(weight, float)
        return cls(codes, weight, int(codes.max(initial=-1)) + 1 if n is None else n)

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Any) -> Labels:
        return Labels(self.codes[rows], self.weight[rows], self.n)

    @property
    def unweighted(self) -> bool:
        return bool((self.weight == 1).all())

    @property
    def whole(self) -> bool:
        """Whether all weights are whole numbers."""
        return bool((self.weight == np.floor(self.weight)).all())

    @property
    def size(self) -> int:
        """Number of rows; a row of weight w counts w times if all weights are whole numbers."""
        return int(self.weight.sum()) if self.whole else int((self.weight > 0).sum())

    def weights(self) -> Array:
        """Σ_i w_ic, (class,)."""
        return sums.weights(self.codes, self.weight, self.n)

    def squares(self, weights: Array) -> Array:
        """Σ_i w_ic², (class,), for the sums ``weights``."""
        # If all rows share a weight, its array may occupy the memory of one number.
        if self.weight.strides == (0,) and len(self):
            return weights * self.weight[0]
        return sums.weights(self.codes, self.weight**2, self.n)

    def totals(self, x: Column) -> Array:
        """Σ_i w_ic x_ij, (class, column), for dense or sparse x without NaN."""
        return sums.totals(x, self.codes, self.weight, self.n)

    def table(self, codes: Array, n_levels: int) -> Array:
        """Weight of each level, (class, column, level); a code of -1 is not counted."""
        return sums.count(codes, self.codes, self.weight, self.n, n_levels)

    def each_class(self) -> Iterator[tuple[int, Any, Array]]:
        """Yield the position, rows and weights (row,) of each class that has rows."""
        order = np.argsort(self.codes, kind="stable")
        ends = np.searchsorted(self.codes[order], np.arange(self.n + 1))
        for c in np.flatnonzero(np.diff(ends)):
            rows = order[ends[c] : ends[c + 1]]
            yield int(c), rows, self.weight[rows]


def in_every_class(r: Array) -> Iterator[Labels]:
    """For each class c, yield labels that assign every row to c, with the weights ``r[:, c]``."""
    for c, weight in enumerate(r.T):
        yield Labels(np.full(len(r), c), weight, r.shape[1])
