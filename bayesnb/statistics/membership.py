"""The classes of rows, as families see them: sums over the rows of each class.

:class:`Labels` has a class and a weight for each row. :class:`Responsibilities` has a distribution over classes for
each row, as in EM. Both have the same methods, so a family need not know which of the two it is given.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from bayesnb.kernels import sums, tables
from bayesnb.kernels.blocks import large_enough, slices
from bayesnb.kernels.expansions import two_sum
from bayesnb.numerics import Array

type Column = Any


class Membership(ABC):
    """The class of each row, or the probability of each class; families only sum over it."""

    n: int

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def __getitem__(self, rows: Any) -> Membership: ...

    @abstractmethod
    def weights(self) -> Array:
        """Σ_i w_ic as (class,)."""

    @abstractmethod
    def totals(self, x: Column) -> Array:
        """Σ_i w_ic x_ij as (class, column); x dense or sparse, without NaN."""

    @abstractmethod
    def table(self, codes: Array, n_levels: int) -> Array:
        """Weight of each level as (class, column, level); a code of -1 is not counted."""

    @abstractmethod
    def costs(self, cost: Callable[[Array], Array], centre: Array) -> Array:
        """Σ_i w_ic cost(centre_c)_ij as (class, column).

        ``cost`` takes the ``centre`` of the class of each row, (row, column), and returns an array of that shape.
        """

    @abstractmethod
    def each_class(self) -> Iterator[tuple[int, Any, Array]]:
        """Yield each class that has rows: its position, these rows, and their weights (row,)."""

    @abstractmethod
    def moments(self, x: Array) -> Iterator[Array]:
        """Yield the weight, the mean in two parts, and the scatter of each block of rows, (4, class, column).

        NaN adds nothing.
        """


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
        weight = every_row(len(codes)) if weight is None else np.asarray(weight, float)
        return cls(codes, weight, int(codes.max(initial=-1)) + 1 if n is None else n)

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Any) -> Labels:
        return Labels(self.codes[rows], self.weight[rows], self.n)

    @property
    def unweighted(self) -> bool:
        """Whether every row counts once."""
        return bool((self.weight == 1).all())

    def weights(self) -> Array:
        return sums.weights(self.codes, self.weight, self.n)

    def totals(self, x: Column) -> Array:
        return sums.totals(x, self.codes, self.weight, self.n)

    def table(self, codes: Array, n_levels: int) -> Array:
        return tables.count(codes, self.codes, self.weight, self.n, n_levels)

    def costs(self, cost: Callable[[Array], Array], centre: Array) -> Array:
        return self.totals(cost(centre[self.codes]))

    def each_class(self) -> Iterator[tuple[int, Any, Array]]:
        order = np.argsort(self.codes, kind="stable")
        ends = np.searchsorted(self.codes[order], np.arange(self.n + 1))
        for c in np.flatnonzero(np.diff(ends)):
            rows = order[ends[c] : ends[c + 1]]
            yield int(c), rows, self.weight[rows]

    def moments(self, x: Array) -> Iterator[Array]:
        if large_enough(x.size):
            return sums.moments(x, self.codes, self.weight, self.n)
        return (_two_passes(x[cut], self[cut], self[cut]._a_value(x[cut])) for cut in slices(len(self)))

    def _a_value(self, x: Array) -> Array:
        """Some value of each class and column that is not NaN, or 0 where there is none."""
        near = np.full((self.n, x.shape[1]), np.nan)
        # The first rows hold a value of nearly every class.
        for rows in (slice(64 * self.n), slice(None)):
            row, column = np.nonzero(~np.isnan(x[rows]))
            near[self.codes[row], column] = x[row, column]
            if not np.isnan(near).any():
                break
        return np.nan_to_num(near, nan=0.0)

    def deviations(self, x: Array, centre: Array) -> tuple[Array, Array]:
        """Sums of x - centre_c and of its square, as (class, column); NaN adds nothing."""
        away = x - centre[self.codes]
        away[np.isnan(away)] = 0.0
        return self.totals(away), self.totals(away * away)


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

    def weights(self) -> Array:
        return sum(self.r[cut].sum(axis=0) for cut in slices(len(self)))

    def totals(self, x: Column) -> Array:
        if not sparse.issparse(x):
            x = np.asarray(x, float)
        return sum(dense(self.r[cut].T @ x[cut]) for cut in slices(len(self)))

    def table(self, codes: Array, n_levels: int) -> Array:
        tables = np.zeros((self.n, codes.shape[1], n_levels))
        for column, code in enumerate(codes.T):
            known = np.flatnonzero(code >= 0)
            hot = sparse.csr_array((np.ones(len(known)), (known, code[known])), shape=(len(code), n_levels))
            tables[:, column] = dense(self.r.T @ hot)
        return tables

    def costs(self, cost: Callable[[Array], Array], centre: Array) -> Array:
        each = (cost(np.broadcast_to(of_class, (len(self), centre.shape[1]))) for of_class in centre)
        return np.stack([self.r[:, c] @ value for c, value in enumerate(each)])

    def each_class(self) -> Iterator[tuple[int, Any, Array]]:
        for c in range(self.n):
            yield c, slice(None), self.r[:, c]

    def moments(self, x: Array) -> Iterator[Array]:
        one_class = Labels.of(np.zeros(len(x), int), 1)
        for cut in slices(len(self)):
            near = np.repeat(one_class[cut]._a_value(x[cut]), self.n, axis=0)
            yield _two_passes(x[cut], self[cut], near)

    def deviations(self, x: Array, centre: Array) -> tuple[Array, Array]:
        """Sums of x - centre_c and of its square, as (class, column); NaN adds nothing."""
        first, second = np.zeros_like(centre), np.zeros_like(centre)
        for c in range(self.n):
            away = x - centre[c]
            away[np.isnan(away)] = 0.0
            first[c], second[c] = self.r[:, c] @ away, self.r[:, c] @ (away * away)
        return first, second


def every_row(n: int) -> Array:
    """Weight 1 for each row, (row,), in the memory of one number; it cannot be written to."""
    return np.broadcast_to(1.0, n)


def _two_passes(x: Array, members: Any, near: Array) -> Array:
    """The moments of one block: the mean, from a value nearby, and then the scatter about it."""
    n = members.totals(~np.isnan(x))
    weight = np.where(n > 0, n, 1.0)
    mean = near + members.deviations(x, near)[0] / weight
    away, squares = members.deviations(x, mean)
    low = away / weight
    return np.stack([n, *two_sum(mean, low), np.maximum(squares - away * low, 0.0)])


def dense(x: Any) -> Array:
    """A small product as a dense array, also if one of its factors was sparse."""
    return x.toarray() if sparse.issparse(x) else np.asarray(x)
