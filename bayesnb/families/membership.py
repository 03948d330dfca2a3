"""Who belongs to which class: all that a family ever learns of the labels.

:class:`Labels` is the ordinary case, a code and a weight for each row; :class:`Responsibilities` is the
soft one, a distribution over classes for each row. Both answer the same four questions, all of them
sums over rows, so that no family needs to know which of the two it met.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from bayesnb.priors import Array

type Column = Any

# Sums of more rows than this lose digits that a sum of partial sums keeps.
BLOCK = 65_536


def blocks(n_rows: int, size: int = BLOCK) -> list[slice]:
    """Slices of at most ``size`` rows that cover the table; one empty slice if it has no rows."""
    return [slice(start, start + size) for start in range(0, max(n_rows, 1), size)]


class Membership(ABC):
    """To which class each row belongs, and how strongly. Families only ever sum over it."""

    n: int

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def __getitem__(self, rows: Any) -> Membership: ...

    @abstractmethod
    def totals(self, x: Column) -> Array:
        """Σ_i w_ic x_ij as (class, column); x dense or sparse, without NaN."""

    @abstractmethod
    def table(self, codes: Array, n_levels: int) -> Array:
        """Weight of each level as (class, column, level); a code of -1 counts nowhere."""

    @abstractmethod
    def deviations(self, x: Array, centre: Array) -> tuple[Array, Array]:
        """Sums of x - centre_c and of its square, as (class, column); NaN adds nothing."""

    @abstractmethod
    def a_value(self, x: Array) -> Array:
        """Some value of each class and column that is not NaN, or 0 where there is none."""


@dataclass(frozen=True, eq=False)
class Labels(Membership):
    """Labelled rows: each belongs to one class.

    Parameters
    ----------
    codes : int array (row,)
        Position of the row's class.
    weight : float array (row,)
        Frequency weight: 2 is the row seen twice.
    n : int
        Number of classes.
    """

    codes: Array
    weight: Array
    n: int

    @classmethod
    def of(cls, codes: Any, n: int | None = None, weight: Any = None) -> Labels:
        """Labels from codes alone, every row of weight 1."""
        codes = np.asarray(codes, np.intp)
        weight = np.ones(len(codes)) if weight is None else np.asarray(weight, float)
        return cls(codes, weight, int(codes.max(initial=-1)) + 1 if n is None else n)

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Any) -> Labels:
        return Labels(self.codes[rows], self.weight[rows], self.n)

    def _matrix(self) -> sparse.csr_array:
        row = np.arange(len(self.codes))
        return sparse.csr_array((self.weight, (self.codes, row)), shape=(self.n, len(row)))

    def totals(self, x: Column) -> Array:
        if not sparse.issparse(x):
            x = np.asarray(x, float)
        return sum(dense(self[cut]._matrix() @ x[cut]) for cut in blocks(len(self)))

    def table(self, codes: Array, n_levels: int) -> Array:
        tables = np.zeros((self.n, codes.shape[1], n_levels))
        for column, code in enumerate(codes.T):
            known = code >= 0
            cell = self.codes[known] * n_levels + code[known]
            counts = np.bincount(cell, self.weight[known], minlength=self.n * n_levels)
            tables[:, column] = counts.reshape(self.n, n_levels)
        return tables

    def deviations(self, x: Array, centre: Array) -> tuple[Array, Array]:
        away = x - centre[self.codes]
        away[np.isnan(away)] = 0.0
        return self.totals(away), self.totals(away * away)

    def a_value(self, x: Array) -> Array:
        found = np.zeros((self.n, x.shape[1]))
        row, column = np.nonzero(~np.isnan(x))
        found[self.codes[row], column] = x[row, column]
        return found


@dataclass(frozen=True, eq=False)
class Responsibilities(Membership):
    """Rows whose class is a distribution, as in EM: ``r`` is (row, class), times the row's weight."""

    r: Array

    @property
    def n(self) -> int:
        return self.r.shape[1]

    def __len__(self) -> int:
        return len(self.r)

    def __getitem__(self, rows: Any) -> Responsibilities:
        return Responsibilities(self.r[rows])

    def totals(self, x: Column) -> Array:
        if not sparse.issparse(x):
            x = np.asarray(x, float)
        return sum(dense(self.r[cut].T @ x[cut]) for cut in blocks(len(self)))

    def table(self, codes: Array, n_levels: int) -> Array:
        tables = np.zeros((self.n, codes.shape[1], n_levels))
        for column, code in enumerate(codes.T):
            known = np.flatnonzero(code >= 0)
            hot = sparse.csr_array((np.ones(len(known)), (known, code[known])), shape=(len(code), n_levels))
            tables[:, column] = dense(self.r.T @ hot)
        return tables

    def deviations(self, x: Array, centre: Array) -> tuple[Array, Array]:
        first, second = np.zeros_like(centre), np.zeros_like(centre)
        for c in range(self.n):
            away = x - centre[c]
            away[np.isnan(away)] = 0.0
            first[c], second[c] = self.r[:, c] @ away, self.r[:, c] @ (away * away)
        return first, second

    def a_value(self, x: Array) -> Array:
        one_class = Labels.of(np.zeros(len(x), int), 1).a_value(x)
        return np.repeat(one_class, self.n, axis=0)


def dense(x: Any) -> Array:
    """A small product as an array, whichever of its factors was sparse."""
    return x.toarray() if sparse.issparse(x) else np.asarray(x)
