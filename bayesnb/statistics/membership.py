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
from bayesnb.kernels.blocks import COMPILED_FROM, slices, worthwhile
from bayesnb.numerics import Array
from bayesnb.statistics.two_floats import TwoFloat, two_sum

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
    def costs(self, cost: Callable[[Any], Array]) -> Array:
        """Σ_i w_ic cost(c)_ij as (class, column).

        ``cost`` takes one class, or the class of each row, and returns an array (row, column).
        """

    @abstractmethod
    def each_class(self) -> Iterator[tuple[int, Any, Array]]:
        """Yield each class that has rows: its position, these rows, and their weights (row,)."""

    @abstractmethod
    def moments(self, x: Array) -> Iterator[Array]:
        """Yield the sums of each block of rows about a number v of each class and column, (class, 8, column).

        They are Σ w, v, Σ w (x - v) and Σ w (x - v)², each sum followed by what one float lacks of it, and the weight
        of the values other than 0. NaN adds nothing.
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

    def costs(self, cost: Callable[[Any], Array]) -> Array:
        return self.totals(cost(self.codes))

    def each_class(self) -> Iterator[tuple[int, Any, Array]]:
        order = np.argsort(self.codes, kind="stable")
        ends = np.searchsorted(self.codes[order], np.arange(self.n + 1))
        for c in np.flatnonzero(np.diff(ends)):
            rows = order[ends[c] : ends[c + 1]]
            yield int(c), rows, self.weight[rows]

    def _blocks(self, columns: int) -> list[slice]:
        """Blocks of rows whose sums stay in the cache, and have fewer cells than the table, however many classes."""
        return slices(len(self), max(4 * self.n, 2**14 // max(1, columns)))

    def moments(self, x: Array) -> Iterator[Array]:
        if worthwhile(x.size, COMPILED_FROM):
            return sums.moments(x, self.codes, self.weight, self.n)
        return (_about_a_value(x[cut], self.codes[cut], self.weight[cut], self.n) for cut in self._blocks(x.shape[1]))


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

    def costs(self, cost: Callable[[Any], Array]) -> Array:
        return np.stack([self.r[:, c] @ cost(c) for c in range(self.n)])

    def each_class(self) -> Iterator[tuple[int, Any, Array]]:
        for c in range(self.n):
            yield c, slice(None), self.r[:, c]

    def moments(self, x: Array) -> Iterator[Array]:
        """The sums about the mean of each class, in plain floats: EM does not unlearn."""
        for cut in slices(len(self)):
            part, known = x[cut], ~np.isnan(x[cut])
            n, nothing = self[cut].totals(known), np.zeros((self.n, x.shape[1]))
            row, column = np.nonzero(known)
            near = nothing.copy()
            near[:, column] = part[row, column]
            near = near + self[cut]._deviations(part, near)[0] / np.where(n > 0, n, 1.0)
            first, second = self[cut]._deviations(part, near)
            other = self[cut].totals(known & (part != 0))
            yield np.stack([n, nothing, near, first, nothing, second, nothing, other], axis=1)

    def _deviations(self, x: Array, centre: Array) -> tuple[Array, Array]:
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


# The sums are taken about a value of the class, where the digits of the location are out of the way. Rows are sorted by
# class and added in pairs, as two floats, until one row of each class is left: so n rows take n additions however many
# classes they have, and no addition costs a digit that unlearning a far row could need. A pair of two classes is not
# added: its first row is put aside, and what was put aside is added in the same way, by its place within its class.


def _about_a_value(x: Array, codes: Array, weight: Array, n: int) -> Array:
    """The sums of the rows of each class about one of its values, (class, 8, column)."""
    order = np.argsort(codes, kind="stable")
    x, codes, weight = np.ascontiguousarray(np.asarray(x, float)[order].T), codes[order], weight[order]
    counts = ~np.isnan(x) & (weight > 0)
    found = np.zeros((n, 8, len(x)))
    found[:, 7] = sums.totals((counts & (x != 0)).T, codes, weight, n)
    column, row = np.nonzero(counts)
    found[codes[row[::-1]], 2, column[::-1]] = x[column, row][::-1]
    near = found[codes, 2].T
    first = away = TwoFloat(*two_sum(np.where(counts, x, near), -near))
    w = TwoFloat.of(counts * weight)
    if not (weight == 1).all():
        first = away * w
    high, low = (np.concatenate(parts) for parts in zip(w, first, first * away, strict=True))
    aside = []
    while len(codes) > 1:
        if len(codes) % 2:
            aside.append((codes[-1:], high[:, -1:], low[:, -1:]))
            codes, high, low = codes[:-1], high[:, :-1], low[:, :-1]
        apart = np.flatnonzero(codes[0::2] != codes[1::2])
        aside.append((codes[2 * apart], high[:, 2 * apart], low[:, 2 * apart]))
        high[:, 2 * apart] = low[:, 2 * apart] = 0.0
        codes, (high, low) = codes[1::2], _pairs(high, low)
    codes, high, low = (np.concatenate(parts, axis=-1) for parts in zip(*aside, (codes, high, low), strict=True))
    order = np.argsort(codes, kind="stable")
    codes, high, low = codes[order], high[:, order], low[:, order]
    while (codes[1:] == codes[:-1]).any():
        starts = np.flatnonzero(np.diff(codes, prepend=-1))
        odd = (np.arange(len(codes)) - np.repeat(starts, np.diff(starts, append=len(codes)))) % 2 == 1
        right = np.flatnonzero(odd)
        pair = right[:, None] + [-1, 0]
        high[:, right - 1], low[:, right - 1] = _pairs(high[:, pair.ravel()], low[:, pair.ravel()])
        codes, high, low = codes[~odd], high[:, ~odd], low[:, ~odd]
    for part, places in ((high, [0, 3, 5]), (low, [1, 4, 6])):
        found[np.ix_(codes, places)] = np.moveaxis(part.reshape(3, len(x), len(codes)), -1, 0)
    return found


def _pairs(high: Array, low: Array) -> tuple[Array, Array]:
    """Each two neighbours along the last axis added."""
    total, error = two_sum(high[:, 0::2], high[:, 1::2])
    return total, (low[:, 0::2] + low[:, 1::2]) + error


def dense(x: Any) -> Array:
    """A small product as a dense array, also if one of its factors was sparse."""
    return x.toarray() if sparse.issparse(x) else np.asarray(x)
