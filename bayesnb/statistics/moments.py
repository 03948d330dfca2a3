"""Mean and scatter of real numbers by class, such that what was added can be taken away again.

Why not a mean and a sum of squares about it, updated as Chan, Golub and LeVeque (1983) do? One value of a thousand
spreads makes that sum a million times larger, and when the value is taken away again the digits that it displaced do
not come back. So :class:`Moments` carries Σ w, Σ w x and Σ w x² with about 150 bits each (see
``bayesnb.kernels.expansions``). These add and subtract without rounding, in any order, and 150 bits are enough to take
the mean out of the squares afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any, ClassVar, Self

import numpy as np

from bayesnb.kernels.expansions import distilled, power_sums, two_product, two_sum
from bayesnb.numerics import Array
from bayesnb.statistics.errors import UnlearnedError, first
from bayesnb.statistics.membership import Labels, Membership
from bayesnb.statistics.statistic import Statistic, per

ORDINARY = 300
"""Numbers between 2^-300 and 2^300 need no unit: their squares, and sums of their squares, are ordinary floats."""

EXACT = 2**13
"""Up to how many cells a table is summed without rounding; in larger ones only the cells with outliers are."""

OUTLYING = 1e4
"""A column has outliers if its variance is more than so many typical squared distances of two rows."""

PARTS = (
    *("weight", "weight, rest", "weight, rest of the rest"),
    *("sum", "sum, rest", "sum, rest of the rest"),
    *("squares", "squares, rest", "squares, rest of the rest"),
    "rounding of the scatter",
    "lost of the squares",
)
"""What the moments of a cell follow from."""

FEW = 8
"""With fewer pairs of rows of one class than this, a sample does not say what a typical distance is."""

KEPT = 1e-9
"""The largest share of a scatter that may be lost to rounding when rows are unlearned."""


@dataclass(frozen=True, eq=False)
class Moments(Statistic):
    """Weight, mean and scatter Σ w (x - mean)², all (class, column).

    Parameters
    ----------
    n, mean, low, scatter : arrays (class, column)
        Weight; mean, as the sum of a float and a far smaller one; scatter.
    unit : array (class, column), optional
        What the mean and the root of the scatter are measured in: 1, or a power of two where the square of a value
        would be no ordinary float.
    parts : array (class, column, PARTS), optional
        What the others follow from: Σ w, Σ w x and Σ w x² as expansions of three floats, the size of the rounding error
        of the scatter where it was summed with rounding, and what the expansion of Σ w x² lacks.
        ``None`` where the others say as much, as for one row and for rows that were summed with rounding.
    """

    n: Array = per("column")
    mean: Array = per("column")
    low: Array = per("column")
    scatter: Array = per("column")
    unit: Any = per("column", default=None)
    parts: Any = per("column", parts=PARTS, default=None)

    group = "gaussian"

    signed: ClassVar[frozenset[str]] = frozenset({"mean", "low", "scatter", "parts"})

    def __post_init__(self) -> None:
        if self.unit is None:
            object.__setattr__(self, "unit", np.ones_like(self.n))

    @classmethod
    def of(cls, x: Array, members: Membership) -> Moments:
        """Moments of the rows."""
        with np.errstate(all="ignore"):
            s = _measured(x, members)
            # A mean square of ordinary numbers is ordinary. One that is not may be too small, too large, or 0.
            square = s.mean * s.mean + s.scatter / s.n
            odd = (s.n > 0) & ~((square > 4.0**-ORDINARY) & (square < 4.0**ORDINARY))
            for column in np.flatnonzero(odd.any(axis=0)):
                exponent = np.where(odd[:, column], _exponents(x[:, column], members), 0)
                for power in np.unique(exponent[np.abs(exponent) > ORDINARY]):
                    mine = np.flatnonzero(exponent == power)
                    cells = _measured(np.ldexp(x[:, [column]], -power), members).take(mine)
                    s = s.with_cells(replace(cells, unit=np.full(cells.n.shape, np.ldexp(1.0, power))), mine, [column])
        return s

    @classmethod
    def from_parts(cls, parts: Array, unit: Any = None) -> Moments:
        """The moments that follow from the sums of powers."""
        with np.errstate(all="ignore"):
            return cls(*_moments(parts), unit, parts)

    def sums(self) -> Array:
        """``parts``, or what they are where there are none."""
        return _parts_from(self.n, self.mean, self.low, self.scatter) if self.parts is None else self.parts

    def for_file(self) -> dict[str, Array]:
        return self.arrays() | {"parts": self.sums()}

    def with_cells(self, cells: Moments, classes: Array, columns: Array) -> Moments:
        """The same with other moments at these classes and columns."""
        found = {name: value.copy() for name, value in self.for_file().items()}
        for name, value in cells.for_file().items():
            found[name][np.ix_(classes, columns)] = value
        return Moments(**found)

    def __add__(self, other: Moments) -> Moments:
        if other.parts is None and not other.n.any():
            return self
        unit = _common_unit(self, other)
        parts = _summed([self.measured_in(unit).sums(), other.measured_in(unit).sums()])
        return Moments.from_parts(parts, unit)

    def __mul__(self, factor: float) -> Moments:
        n, mean, low, scatter = self.n * factor, self.mean, self.low, self.scatter * factor
        if factor == 0.0:
            return Moments(n, 0.0 * mean, 0.0 * low, scatter, self.unit)
        parts = self.parts
        if parts is not None:
            with np.errstate(all="ignore"):
                parts = _together(two_product(_expansions(parts), np.float64(factor)), parts[..., 9:] * abs(factor))
        return Moments(n, mean, low, scatter, self.unit, parts)

    def contradiction(self) -> str:
        return "" if self.consistent() else "its sums are not those of its mean and scatter"

    def consistent(self) -> bool:
        """True if all numbers are finite, and weight, mean and scatter follow from ``parts``."""
        parts = self.sums()
        if parts.shape != (*self.n.shape, len(PARTS)) or self.unit.shape != self.n.shape:
            return False
        if not (np.isfinite(parts).all() and (parts[..., 9:] >= 0).all() and (self.unit > 0).all()):
            return False
        if not (np.frexp(self.unit)[0] == 0.5).all() or (self.scatter < 0).any():
            return False
        implied = Moments.from_parts(parts, self.unit)
        close = (np.abs(implied.n - self.n) <= 1e-9 * self.n) & (
            np.abs(implied.mean - self.mean) <= 1e-9 * np.abs(self.mean)
        )
        return bool((close & (np.abs(implied.scatter - self.scatter) <= 1e-9 * self.scatter)).all())

    def measured_in(self, unit: Array) -> Moments:
        """The same in another unit, a power of two."""
        if (unit == self.unit).all():
            return self
        power = (np.frexp(self.unit)[1] - np.frexp(unit)[1])[..., None]
        shift = power * np.r_[[0] * 3, [1] * 3, [2] * 5]
        with np.errstate(all="ignore"):
            return Moments.from_parts(np.ldexp(self.sums(), shift), np.array(np.broadcast_to(unit, self.n.shape)))

    def seen(self) -> Array:
        return self.n

    def take(self, classes: Any) -> Self:
        taken = super().take(classes)
        taken.unit[np.asarray(classes, np.intp) < 0] = 1.0
        return taken

    def rounded(self, before: Moments) -> Moments:
        """The same statistic, without what is left of a class that has no row left.

        Raises
        ------
        UnlearnedError
            Where what is left is below the rounding of what was taken, or negative.
        """
        left, parts = self.n > 1e-12 * np.abs(before.n), self.sums()
        lost = parts[..., 10]
        # If all values that are left are equal, their mean is one float, and its low part is 0 up to rounding.
        doubt = np.sqrt(lost) * 2.0**-76
        equal = (np.abs(self.scatter) <= 8 * lost) & (
            np.maximum(doubt, np.abs(self.low)) <= 2.0**-70 * np.abs(self.mean)
        )
        spoilt = left & ~equal & (lost > KEPT * np.abs(self.scatter))
        if spoilt.any():
            raise UnlearnedError(
                "these rows cannot be unlearned: they are so far out that what the other rows said is below their "
                "rounding; fit the other rows anew",
                first(spoilt),
            )
        whole = before.measured_in(self.unit).scatter
        wrong = left & (self.scatter < -1e-9 * whole)
        if wrong.any():
            raise UnlearnedError(
                f"rows that were never learned cannot be unlearned; scatter would fall to {self.scatter[wrong][0]:g}",
                first(wrong),
            )
        none, again = self.n == 0, equal & left & (lost > 0)
        n, mean = self.n, np.where(none, 0.0, self.mean)
        low, scatter = np.where(none | again, 0.0, self.low), np.where(none | again, 0.0, np.maximum(self.scatter, 0.0))
        if again.any():
            parts = np.where(again[..., None], _parts_from(n, mean, low, scatter), parts)
        parts = np.where(none[..., None], 0.0, parts)
        return Moments(n, mean, low, scatter, np.where(none, 1.0, self.unit), parts)

    def pooled(self) -> Moments:
        """All classes together, as one."""
        unit = np.where(self.n == 0, 0.0, self.unit).max(axis=0, initial=0.0)
        unit = np.where(unit == 0, 1.0, unit)
        s = self.measured_in(np.broadcast_to(unit, self.n.shape))
        n = s.n.sum(axis=0)
        with np.errstate(all="ignore"):
            share = np.where(n == 0, 0.0, s.n / n)
            # The means are counted from one near them, so that their low parts are not lost to rounding.
            near = (share * s.mean).sum(axis=0)
            away = (s.mean - near) + s.low
            step = (share * away).sum(axis=0)
            scatter = (s.scatter + s.n * (away - step) ** 2).sum(axis=0)
        return Moments(n[None], *(v[None] for v in (*two_sum(near, step), scatter, unit)))


def _expansions(parts: Array) -> Array:
    """The three sums of powers, (class, column, power, part)."""
    return parts[..., :9].reshape(*parts.shape[:-1], 3, 3)


def _together(each: Iterable[Array], doubts: Array) -> Array:
    """The sum of several sums of powers, (class, column, power, part) each; ``doubts`` are sizes of their errors."""
    terms = [expansion[..., part] for part in range(3) for expansion in each]
    sums, lost = distilled(terms, terms[0].shape)
    doubts[..., 1] += lost[..., 2]
    return np.concatenate([sums.reshape(*doubts.shape[:2], 9), doubts], axis=-1)


def _summed(each: Sequence[Array]) -> Array:
    """The sums of powers of several sets of rows together, all measured in one unit."""
    with np.errstate(all="ignore"):
        # Rounding errors are independent, so their squares add.
        rounding = reduce(np.hypot, [parts[..., 9] for parts in each])
        lost = sum(parts[..., 10] for parts in each)
        return _together([_expansions(parts) for parts in each], np.stack([rounding, lost], axis=-1))


def _common_unit(a: Moments, b: Moments) -> Array:
    """The larger unit, of those that have seen something."""
    return np.where(b.n == 0, a.unit, np.where(a.n == 0, b.unit, np.maximum(a.unit, b.unit)))


def _moments(parts: Array) -> tuple[Array, Array, Array, Array]:
    """Weight, mean in two parts, and scatter, of sums of powers; 0 where there is no weight.

    Let m be the mean as one float, F = Σ w x and S = Σ w x². Then a = F - m Σ w is what the mean lacks, times the
    weight; Σ w (x - m)² is S - m F - m a; and the scatter is less than that by a² / Σ w. The products are expanded into
    floats. Each line adds those of one size, the largest of which cancel without rounding.
    """
    n, n1, n2, f, f1, f2, s, s1, s2 = np.moveaxis(parts[..., :9], -1, 0)
    empty = n == 0
    over = np.where(empty, 1.0, n)
    mean = np.where(empty, 0.0, f / over)
    high, low = two_product(mean, n)
    mean = mean + np.where(empty, 0.0, ((f - high) + (f1 - low)) / over)

    (g, g1, g2), (h, h1, h2) = two_product(mean, np.stack([n, n1, n2]))
    a, a1 = two_sum(f1, -h)
    b, b1 = two_sum(a, -g1)
    away, rest = two_sum(f - g, b)
    rest = rest + (a1 + b1 + f2 - h1 - g2)

    (g, g1, g2), (h, h1, h2) = two_product(mean, np.stack([f, f1, away]))
    a, a1 = two_sum(s, -g)
    b, b1 = two_sum(s1, -h)
    c, c1 = two_sum(g1, g2)
    b, b2 = two_sum(b, -c)
    about, about1 = two_sum(a, b)
    about = about + (about1 + a1 + b2 + b1 - c1 + s2 - h1 - h2 - mean * f2 - mean * rest)

    away = np.where(empty, 0.0, away + rest)
    scatter = about - away * (away / over)
    mean, low = two_sum(mean, away / over)
    return n, mean, low, np.where(empty | (np.abs(scatter) <= parts[..., 9]), 0.0, scatter)


def _parts_from(n: Array, mean: Array, low: Array, scatter: Array) -> Array:
    """The sums of powers of moments that were taken with rounding."""
    parts = np.zeros((*n.shape, len(PARTS)))
    with np.errstate(all="ignore"):
        parts[..., 0] = n
        (f, g), (f1, g1) = two_product(n, np.stack([mean, low]))
        parts[..., 3:6], _ = distilled([f, f1, g, g1], n.shape)
        f, f1, f2 = np.moveaxis(parts[..., 3:6], -1, 0)
        (s, t, u), (s1, t1, u1) = two_product(np.stack([mean, mean, low]), np.stack([f, f1, f]))
        parts[..., 6:9], _ = distilled([s, scatter, s1, t, u, t1, u1, mean * f2, low * f1], n.shape)
        parts[..., 9] = 2.0**-50 * np.abs(scatter)
    return parts


def _measured(x: Array, members: Membership) -> Moments:
    """The moments of the rows, measured in 1."""
    if not isinstance(members, Labels):
        return Moments(*reduce(_joined, members.moments(x)))
    if x.size <= EXACT:
        return _exact(x, members)
    s = Moments(*reduce(_joined, members.moments(x)))
    outlying = s.scatter > OUTLYING * _typical_gap(x, members.codes) ** 2 * s.n
    if not outlying.any():
        return s
    found = s.for_file()
    # The outlying classes of a column together, since a table may have as many classes as rows; and together with the
    # columns in which the same classes are outlying.
    patterns, group = np.unique(outlying, axis=1, return_inverse=True)
    for k in np.flatnonzero(patterns.any(axis=0)):
        classes, columns = np.flatnonzero(patterns[:, k]), np.flatnonzero(group == k)
        rows = np.flatnonzero(patterns[members.codes, k])
        rows = rows[np.argsort(members.codes[rows], kind="stable")]
        own = Labels(np.searchsorted(classes, members.codes[rows]), members.weight[rows], len(classes))
        cuts = np.array_split(np.arange(len(rows)), max(1, -(-len(rows) * len(columns) // 2**16)))
        each = (_exact(x[np.ix_(rows[cut], columns)], own[cut]) for cut in cuts)
        for name, value in reduce(add, each).for_file().items():
            found[name][np.ix_(classes, columns)] = value
    return Moments(**found)


def _exact(x: Array, labels: Labels) -> Moments:
    """The moments of the rows without rounding."""
    if len(x) == 1:
        # One row is exact as it is.
        n = np.zeros((labels.n, x.shape[1]))
        n[labels.codes] = np.where(np.isnan(x), 0.0, labels.weight[0])
        return Moments(n, np.where(n > 0, x, 0.0), 0.0 * n, 0.0 * n)
    sums, lost = power_sums(x, labels.codes, labels.weight, labels.n)
    return Moments.from_parts(np.dstack([sums.reshape(*lost.shape, 9), np.zeros_like(lost), lost]))


def _typical_gap(x: Array, codes: Array) -> Array:
    """The median distance of two rows of one class in a sample of 64 rows, (column,), that are not equal; else 0."""
    sample = np.unique(np.linspace(0, len(x) - 1, 64).astype(int))
    sample = sample[np.argsort(codes[sample], kind="stable")]
    pair = np.flatnonzero(np.diff(codes[sample]) == 0)
    if len(pair) < FEW:
        # Among many classes, a sample of rows holds hardly two of one; neighbours in the order of classes do.
        sample = np.argsort(codes, kind="stable")
        pair = np.flatnonzero(np.diff(codes[sample]) == 0)
        pair = pair[np.linspace(0, len(pair) - 1, min(64, len(pair))).astype(int)]
    gap = np.abs(x[sample[pair + 1]] - np.asarray(x[sample[pair]], float))
    gap[~(gap > 0)] = np.inf
    gap.sort(axis=0)
    known = np.isfinite(gap).sum(axis=0)
    if not len(gap):
        return np.zeros(x.shape[1])
    return np.where(known > 0, np.take_along_axis(gap, (known // 2)[None].clip(max=len(gap) - 1), 0)[0], 0.0)


def _joined(one: Array, more: Array) -> Array:
    """The moments (4, class, column) of two blocks of rows (Chan, Golub and LeVeque 1983), the mean in two parts."""
    n = one[0] + more[0]
    share = more[0] / np.where(n != 0, n, 1.0)
    gap = (more[1] - one[1]) + (more[2] - one[2])
    # The larger side is the one to move from: its mean is nearly the answer.
    here = one[0] >= more[0]
    base, base_low = np.where(here, one[1:3], more[1:3])
    step = np.where(here, gap * share, -gap * (one[0] / np.where(n != 0, n, 1.0)))
    return np.stack([n, *two_sum(base, base_low + step), one[3] + more[3] + gap * (gap * (one[0] * share))])


def _exponents(x: Array, members: Membership) -> Array:
    """The binary exponent of the largest finite number of each class, (class,); 0 where all are 0."""
    size = np.where(np.isfinite(x), np.abs(x), 0.0)
    top = np.zeros(members.n)
    if isinstance(members, Labels):
        np.maximum.at(top, members.codes, size)
    else:
        top[:] = size.max(initial=0.0)
    return np.where(top > 0, np.frexp(top)[1] - 1, 0)
