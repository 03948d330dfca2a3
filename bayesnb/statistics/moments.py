"""Mean and scatter (sum of squared deviations) of real numbers per class."""

# Removing rows raises an error if rounding would leave the scatter with fewer than nine correct digits.

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator
from scipy import sparse

from bayesnb.kernels import sums
from bayesnb.kernels.blocks import cuts
from bayesnb.kernels.two_floats import TwoFloat, two_sum
from bayesnb.numerics import Array
from bayesnb.statistics.statistic import Labels, Statistic, UnlearnedError, first

ROUNDING = 2.0**-102
"""Bound of the rounding error of a two-float step, relative to its largest number."""

SHARED = 2.0**-24
"""Smallest ratio of a scatter about the mean to a scatter about 0 that is computed from sums of the values."""

EQUAL = 2.0**-80
"""If the standard deviation is at most this fraction of the mean, all values are equal.

Means of equal values differ by less than 2^-98 of the mean. Two floats differ by at least 2^-53 of the mean, and one of
10^12 such values differs by a standard deviation of 2^-73 of the mean.
"""

KEPT = 1e-9
"""Largest accepted relative rounding error of a scatter when rows are unlearned."""

# Unlearning a row k standard deviations from the mean multiplies the relative rounding error of the scatter by about
# k² / n. With two floats per number, nine digits are left if k is below about 1e10 √n (3e3 √n with plain floats).


@dataclass(frozen=True, eq=False)
class Centred(Statistic):
    """For each class: Σ w, Σ w x, and the scatter about the mean, each stored as the sum of two floats."""

    n: Array
    n_rest: Array
    total: Array
    total_rest: Array
    scatter: Array
    scatter_rest: Array
    lost: Array
    """A bound on the error of the scatter, (class, column)."""
    nonzero: Array
    """The weight of values other than 0, (class, column)."""

    signed: ClassVar[frozenset[str]] = frozenset({"n_rest", "total", "total_rest", "scatter", "scatter_rest", "lost"})

    @classmethod
    def about(
        cls, n: TwoFloat, v: Array, one: TwoFloat, two: TwoFloat, nonzero: Array, rounding: float = ROUNDING
    ) -> Self:
        """Make the statistic from the weight and two sums about a value v, Σ w (x - v) and Σ w (x - v)².

        The relative error of the sum of squares is at most ``rounding``.
        """
        n = TwoFloat(*two_sum(*n))  # A sum of fractions collects errors beyond half a unit of its last digit.
        # n (one / n)² instead of one² / n: the total weight of a class may be so small that 1 / n overflows.
        scatter = two - cls.squared(n, one / n.where(n.high != 0, 1.0))
        scatter = scatter.where(cls.within(cls.own(scatter.high) > 0))
        return cls(*n, *(n * TwoFloat.of(v) + one), *scatter, rounding * cls.own(two.high), nonzero)

    @staticmethod
    @abstractmethod
    def squared(share: TwoFloat, gap: TwoFloat) -> TwoFloat:
        """``share`` (a weight) times the square of ``gap`` (a difference of means)."""

    @staticmethod
    @abstractmethod
    def own(scatter: Array) -> Array:
        """Scatter of each column."""

    @staticmethod
    @abstractmethod
    def within(some: Array) -> Array:
        """A mask of the scatter: true at (i, j) if ``some``, a mask (class, column), is true for both columns."""

    @property
    def weight(self) -> TwoFloat:
        return TwoFloat(self.n, self.n_rest)

    @cached_property
    def centre(self) -> TwoFloat:
        """The mean, (class, column); 0 if the weight is 0."""
        known = self.n != 0
        return TwoFloat(self.total, self.total_rest).where(known) / self.weight.where(known, 1.0)

    @property
    def mean(self) -> Array:
        return self.centre.high

    def __add__(self, other: Self) -> Self:
        n = self.weight + other.weight
        # scatter = scatter_a + scatter_b + (n_a n_b / n) (mean_b - mean_a)² (Chan, Golub and LeVeque 1983).
        gap, left = other.centre - self.centre, n.high != 0
        share = (self.weight * other.weight / n.where(left, 1.0)).where(left)
        total = TwoFloat(self.total, self.total_rest) + TwoFloat(other.total, other.total_rest)
        scatter = TwoFloat(self.scatter, self.scatter_rest) + TwoFloat(other.scatter, other.scatter_rest)
        scatter = scatter + self.squared(share, gap)
        # The absolute error of a gap between means is that of the means.
        size = np.abs(share.high * gap.high) * (np.abs(gap.high) + np.abs(self.mean) + np.abs(other.mean))
        step = ROUNDING * np.where(share.high != 0, size + np.abs(self.own(scatter.high)), 0.0)
        lost = np.where(left, self.lost + other.lost + step, 0.0)
        left = np.broadcast_to(left, lost.shape)
        nonzero = np.where(left, self.nonzero + other.nonzero, 0.0)
        return type(self)(*n, *total.where(left), *scatter.where(self.within(left)), lost, nonzero)

    def __mul__(self, factor: float) -> Self:
        by = TwoFloat.of(np.float64(factor))
        pairs = (self.weight, TwoFloat(self.total, self.total_rest), TwoFloat(self.scatter, self.scatter_rest))
        scaled = (part for pair in pairs for part in (-pair if factor == -1 else pair * by))
        return type(self)(*scaled, self.lost * abs(factor), self.nonzero * factor)

    def seen(self) -> Array:
        return self.n

    def of_columns(self) -> tuple[Array, Array, Array]:
        """Mean (as two floats) and population variance of each column over all classes, or NaN without data."""
        whole = (self if len(self.n) else self.take([-1])).joined(1)
        n = np.where(whole.n[0] > 0, whole.n[0], np.nan)
        variance, mean = whole.own(whole.scatter)[0] / n, whole.mean[0] + 0 * n
        return mean, whole.centre.low[0], np.where(variance <= (EQUAL * mean) ** 2, 0.0, variance)

    def joined(self, n: int) -> Self:
        s = self
        while (rest := len(s.n)) > n:
            half = (rest // n + 1) // 2 * n
            s = s.take(np.arange(half)) + s.take(np.r_[half:rest, np.full(2 * half - rest, -1)])
        return s

    def contradiction(self) -> str:
        wrong = (self.own(self.scatter) < 0).any() or (self.lost < 0).any()
        # The low-order part is at most half a unit of the last digit.
        for high, rest in ((self.n, self.n_rest), (self.total, self.total_rest), (self.scatter, self.scatter_rest)):
            wrong |= bool((np.abs(rest) > 2.0**-52 * np.abs(high)).any())
        empty = np.broadcast_to(self.n == 0, self.total.shape)
        wrong |= bool(self.total[empty].any() or self.own(self.scatter)[empty].any())
        return "its scatter is not that of any rows" if wrong else ""

    def rounded(self, before: Self) -> Self:
        """Remove the rounding errors of a subtraction of rows. ``before`` is the statistic before the subtraction.

        Raises
        ------
        UnlearnedError
            If the remaining scatter is negative, or smaller than the rounding error of the removed rows.
        """
        n, own = np.broadcast_to(self.n, self.total.shape), self.own(self.scatter)
        left = n > 1e-12 * np.abs(np.broadcast_to(before.n, n.shape))
        zeros = self.nonzero <= 1e-12 * np.abs(before.nonzero)
        # If all remaining values are equal, their mean is one float, and its low-order part is 0 up to rounding.
        doubt = np.maximum(np.abs(self.centre.low), np.sqrt(self.lost * ROUNDING / np.where(left, n, 1.0)))
        same_value = (np.abs(own) <= 8 * self.lost) & (doubt <= 2.0**-70 * np.abs(self.mean))
        equal = left & (zeros | same_value)
        spoilt = left & ~equal & (self.lost > KEPT * np.abs(own))
        if spoilt.any():
            raise UnlearnedError(
                "these rows cannot be unlearned: they are so far out that rounding has destroyed the statistic of the "
                "other rows; fit the other rows anew",
                first(spoilt),
            )
        wrong = left & (own < -1e-9 * self.own(before.scatter))
        if wrong.any():
            raise UnlearnedError(
                "rows that were never learned cannot be unlearned; the sum of squared deviations of the other rows "
                f"would be {own[wrong][0]:g}",
                first(wrong),
            )
        kept = self.within(left & ~equal & (own > 0))
        same = self.weight * TwoFloat.of(np.where(zeros, 0.0, self.mean))
        total = TwoFloat(*(np.where(equal, a, b) for a, b in zip(same, (self.total, self.total_rest), strict=True)))
        scatter = TwoFloat(self.scatter, self.scatter_rest).where(kept)
        some = np.where(left.any(axis=1, keepdims=True), 1.0, 0.0) if self.n.shape != n.shape else left
        lost = np.where(left & ~equal, self.lost, 0.0)
        return type(self)(self.n, self.n_rest * some, *total.where(left), *scatter, lost, self.nonzero)


@dataclass(frozen=True, eq=False)
class Moments(Centred):
    """Per class and column: total weight, Σ w x, and scatter Σ w (x - mean)², each stored as two floats."""

    @classmethod
    def of(cls, x: Array | sparse.csr_array, members: Labels) -> Moments:
        if sparse.issparse(x):
            return cls._of_stored(x, members)
        found = np.moveaxis(sums.moments(x, members.codes, members.weight, members.n, centred=False), 2, 0)
        n, one, two = map(TwoFloat, *TwoFloat(found[[0, 3, 5]], found[[1, 4, 6]]).sum(1))
        made = cls.about(n, np.zeros_like(one.high), one, two, found[-1].sum(0))
        # Sums of values lose the digits that values of a class share, which are few unless the values are nearly equal.
        near = made.scatter < SHARED * two.high
        if not near.any():
            return made
        rows, columns = near.any(1)[members.codes], near.any(0)
        again, both = cls._about_first(x[rows][:, columns], members[rows]), {}
        for name, array in made.arrays().items():
            both[name] = np.array(array)
            both[name][near] = getattr(again, name)[near[:, columns]]
        return cls(**both)

    @classmethod
    def _about_first(cls, x: Array, members: Labels) -> Moments:
        parts = np.concatenate([*sums.moments(x, members.codes, members.weight, members.n, centred=True)])
        n, n_rest, v, one, one_rest, two, two_rest, nonzero = np.moveaxis(parts, 1, 0)
        about_v = TwoFloat(one, one_rest), TwoFloat(two, two_rest)
        return cls.about(TwoFloat(n, n_rest), v, *about_v, nonzero).joined(members.n)

    def drawn(self, theta: Mapping[str, Array], n: Array, rng: Generator) -> Moments | None:
        if "tau" not in theta:
            return None
        weight, variance = n.astype(float), 1 / theta["tau"]
        mean = theta["mu"] + theta["low"] + rng.standard_normal(n.shape) * np.sqrt(variance / np.maximum(n, 1))
        scatter = np.where(n > 1, rng.chisquare(np.maximum(n - 1, 1)) * variance, 0.0)
        about_mean = TwoFloat.of(np.zeros_like(weight)), TwoFloat.of(scatter)
        return Moments.about(TwoFloat.of(weight), np.where(n > 0, mean, 0.0), *about_mean, weight)

    @classmethod
    def _of_stored(cls, x: sparse.csr_array, members: Labels) -> Moments:
        x, shape = sparse.csr_array(x), (members.n, x.shape[1])
        codes, values, weights = [np.empty(0, np.intp)], [np.empty(0)], [np.empty(0)]
        for c, rows, weight in members.each_class():
            part = x[rows]
            codes.append(c * shape[1] + part.indices.astype(np.intp))
            values.append(np.asarray(part.data, float))
            weights.append(np.repeat(np.asarray(weight, float), np.diff(part.indptr)))
        cells = Labels(np.concatenate(codes), np.concatenate(weights), shape[0] * shape[1])
        whole, held = members.weights()[:, None], cells.weights().reshape(shape)
        zeros = np.where(whole - held > 1e-12 * whole, whole - held, 0.0)
        stored = cls.of(np.concatenate(values)[:, None], cells).arrays()
        nothing = dict.fromkeys(stored, np.zeros(shape))
        return cls(**{name: v.reshape(shape) for name, v in stored.items()}) + cls(**nothing | {"n": zeros})

    @staticmethod
    def squared(share: TwoFloat, gap: TwoFloat) -> TwoFloat:
        return gap * (gap * share)

    @staticmethod
    def own(scatter: Array) -> Array:
        return scatter

    @staticmethod
    def within(some: Array) -> Array:
        return some


PLAIN = 2.0**-50
"""Relative rounding error of sums of squares that are computed as matrix products."""


@dataclass(frozen=True, eq=False)
class Scatter(Centred):
    """Total weight (class, 1), Σ w x (class, column) and scatter Σ w (x - mean)(x - mean)ᵀ (class, column, column)."""

    @classmethod
    def of(cls, x: Array, members: Labels) -> Scatter:
        """The scatter of the rows without missing cells; other rows are ignored."""
        return reduce(add, (cls._of_block(x[cut], members[cut]) for cut in cuts(len(x), x.shape[1])))

    @classmethod
    def _of_block(cls, x: Array, members: Labels) -> Scatter:
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


def gap_in_a_row(x: Array) -> tuple[int, int] | None:
    """Row and column of the first missing cell in a row with other, known cells; ``None`` if there is no such cell."""
    missing = np.isnan(x)
    partly = missing.any(1) & ~missing.all(1)
    if not partly.any():
        return None
    row, column = np.argwhere(missing & partly[:, None])[0]
    return int(row), int(column)


def patterns(x: Array) -> Iterator[tuple[Any, Array | None]]:
    """Group rows by their known columns; yield the rows and columns of each group (``None``: all columns)."""
    missing = np.isnan(x)
    if not missing.any():
        yield slice(None), None
        return
    kinds, kind = np.unique(missing, axis=0, return_inverse=True)
    for k, gaps in enumerate(kinds):
        if not gaps.all():
            yield np.flatnonzero(kind.ravel() == k), np.flatnonzero(~gaps) if gaps.any() else None
