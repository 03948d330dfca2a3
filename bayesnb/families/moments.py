"""Mean and scatter of real numbers by class, such that what was added can be taken away again.

Why not a mean and a sum of squares about it, updated as Chan, Golub and LeVeque (1983) do? One value of a thousand
spreads makes that sum a million times larger, and when the value is taken away again the digits that it displaced do
not come back. So :class:`Moments` carries Σ w, Σ w x and Σ w x² with about 150 bits each (see
``bayesnb.kernels.expansions``). These add and subtract without rounding, in any order, and 150 bits are enough to take
the mean out of the squares afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar, Self

import numpy as np

from bayesnb.families.membership import Labels, Membership
from bayesnb.families.statistic import Statistic, per
from bayesnb.kernels.expansions import distilled, evaluated, parts_of, power_sums, products, two_product, two_sum
from bayesnb.numerics import Array
from bayesnb.priors import UnlearnedError, first
from bayesnb.priors.locations import ORDINARY

EXACT = 2**13
"""Up to how many cells a table is summed without rounding; in larger ones only the cells with outliers are."""

OUTLYING = 1e4
"""A column has outliers if its variance is more than so many typical squared distances of two rows."""

MOST = 1e100
"""The largest sum of weights."""

PARTS = (
    *("weight", "weight, rest", "weight, rest of the rest"),
    *("sum", "sum, rest", "sum, rest of the rest"),
    *("squares", "squares, rest", "squares, rest of the rest"),
    "rounding of the scatter",
    "lost of the squares",
)
"""What the moments of a cell follow from."""

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
        if self.parts is None:
            object.__setattr__(self, "parts", _parts_from(self.n, self.mean, self.low, self.scatter))

    @classmethod
    def of(cls, x: Array, members: Membership) -> Moments:
        """Moments of the rows."""
        with np.errstate(all="ignore"):
            parts = _parts(x, members)
            unit = np.ones(parts.shape[:2])
            n, squares = parts[..., 0], parts[..., 6]
            # A sum of ordinary squares is ordinary. What is not may be too small, too large, or a column of zeros.
            odd = (n > 0) & ~((squares > n * 4.0**-ORDINARY) & (squares < n * 4.0**ORDINARY))
            for column in np.flatnonzero(odd.any(axis=0)):
                exponent = np.where(odd[:, column], _exponents(x[:, column], members), 0)
                for power in np.unique(exponent[np.abs(exponent) > ORDINARY]):
                    mine = exponent == power
                    parts[mine, column] = _parts(np.ldexp(x[:, [column]], -power), members)[mine, 0]
                    unit[mine, column] = np.ldexp(1.0, power)
        _require_weight(n)
        return cls.from_parts(parts, unit)

    @classmethod
    def from_parts(cls, parts: Array, unit: Array) -> Moments:
        """The moments that follow from the sums of powers."""
        with np.errstate(all="ignore"):
            return cls(*_moments(parts), unit, parts)

    def __add__(self, other: Moments) -> Moments:
        unit = _common_unit(self, other)
        parts = _summed([self.measured_in(unit).parts, other.measured_in(unit).parts])
        return Moments.from_parts(parts, unit)

    def __mul__(self, factor: float) -> Moments:
        if abs(factor) == 1.0 or factor == 0.0:
            parts = self.parts * np.r_[np.full(9, factor), [abs(factor)] * 2]
        else:
            sums = _expansions(self.parts)
            with np.errstate(all="ignore"):
                scaled, lost = distilled([0.0 * sums[..., 0], *products(sums, np.asarray(factor, float))])
            parts = self.parts * abs(factor)
            parts[..., :9] = scaled.reshape(*scaled.shape[:-2], 9)
            parts[..., 10] += lost[..., 2]
        return Moments.from_parts(parts, self.unit)

    def contradiction(self) -> str:
        return "" if self.consistent() else "its sums are not those of its mean and scatter"

    def consistent(self) -> bool:
        """True if all numbers are finite and those of people follow from ``parts``."""
        if self.parts.shape != (*self.n.shape, len(PARTS)) or self.unit.shape != self.n.shape:
            return False
        if not (np.isfinite(self.parts).all() and (self.parts[..., 9:] >= 0).all() and (self.unit > 0).all()):
            return False
        if not (np.frexp(self.unit)[0] == 0.5).all() or (self.scatter < 0).any():
            return False
        told = Moments.from_parts(self.parts, self.unit)
        close = (np.abs(told.n - self.n) <= 1e-9 * self.n) & (np.abs(told.mean - self.mean) <= 1e-9 * np.abs(self.mean))
        return bool((close & (np.abs(told.scatter - self.scatter) <= 1e-9 * self.scatter)).all())

    def measured_in(self, unit: Array) -> Moments:
        """The same in another unit, a power of two."""
        if (unit == self.unit).all():
            return self
        power = (np.frexp(self.unit)[1] - np.frexp(unit)[1])[..., None]
        shift = power * np.r_[[0] * 3, [1] * 3, [2] * 5]
        with np.errstate(all="ignore"):
            return Moments.from_parts(np.ldexp(self.parts, shift), np.array(np.broadcast_to(unit, self.n.shape)))

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
        left = self.n > 1e-12 * np.abs(before.n)
        lost = self.parts[..., 10]
        # Equal values have a mean that is a float, where a mean is known so well that this can be told.
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
        parts = np.where((self.n == 0)[..., None], 0.0, self.parts)
        again = equal & left & (lost > 0)
        parts[again] = _parts_from(self.n, self.mean, 0.0 * self.low, 0.0 * self.scatter)[again]
        s = Moments.from_parts(parts, np.where(self.n == 0, 1.0, self.unit))
        return Moments(s.n, s.mean, s.low, np.maximum(s.scatter, 0.0), s.unit, s.parts)

    def pooled(self) -> Moments:
        """All classes together, as one."""
        unit = np.where(self.n == 0, 0.0, self.unit).max(axis=0, initial=0.0, keepdims=True)
        unit = np.where(unit == 0, 1.0, unit)
        parts = self.measured_in(np.broadcast_to(unit, self.n.shape)).parts
        return Moments.from_parts(_summed([self.take([-1]).parts, *(each[None] for each in parts)]), unit)


def _expansions(parts: Array) -> Array:
    """The three sums of powers, (class, column, power, part)."""
    return parts[..., :9].reshape(*parts.shape[:-1], 3, 3)


def _summed(each: Sequence[Array]) -> Array:
    """The sums of powers of several sets of rows together, all measured in one unit."""
    with np.errstate(all="ignore"):
        sums, lost = distilled([term for parts in each for term in parts_of(_expansions(parts))])
    total = np.empty(each[0].shape)
    total[..., :9] = sums.reshape(*sums.shape[:-2], 9)
    # Rounding errors are independent, so their squares add.
    total[..., 9] = reduce(np.hypot, [parts[..., 9] for parts in each])
    total[..., 10] = sum(parts[..., 10] for parts in each) + lost[..., 2]
    return total


def _common_unit(a: Moments, b: Moments) -> Array:
    """The larger unit, of those that have seen something."""
    return np.where(b.n == 0, a.unit, np.where(a.n == 0, b.unit, np.maximum(a.unit, b.unit)))


def _require_weight(n: Array) -> None:
    """Refuse weights whose sums of squares would overflow."""
    if (np.abs(n) > MOST).any():
        raise ValueError(
            f"the weights of its rows add up to {np.abs(n).max():g}, and at most {MOST:g} can be counted: divide the "
            "sample_weight of all rows by the same number, as a weight of 2 is a row seen twice"
        )


def _moments(parts: Array) -> tuple[Array, Array, Array, Array]:
    """Weight, mean in two parts, and scatter, of sums of powers; 0 where there is no weight.

    The scatter is Σ w (x - m)² less n (mean - m)², where m is the mean as one float. The first is multiplied out, its
    terms cancel exactly in the expansion, and what is left is at least of the size of the second.
    """
    total, firsts, seconds = (parts[..., k : k + 3] for k in (0, 3, 6))
    n = total[..., 0]
    empty = n == 0
    over = np.where(empty, 1.0, n)
    guess = np.where(empty, 0.0, firsts[..., 0] / over)
    away = evaluated([*parts_of(firsts), *products(total, -guess), np.zeros_like(n)])
    mean = guess + np.where(empty, 0.0, away / over)
    away = evaluated([*parts_of(firsts), *products(total, -mean), np.zeros_like(n)])
    mean, low = two_sum(mean, np.where(empty, 0.0, away / over))
    away = evaluated([*parts_of(firsts), *products(total, -mean), np.zeros_like(n)])
    square = [term for part in two_product(mean, mean) for term in products(total, part)]
    about = evaluated([*parts_of(seconds), *products(firsts, -2.0 * mean), *square])
    scatter = about - away * (away / over)
    return n, mean, low, np.where(empty | (np.abs(scatter) <= parts[..., 9]), 0.0, scatter)


def _parts_from(n: Array, mean: Array, low: Array, scatter: Array) -> Array:
    """The sums of powers of moments that were taken with rounding."""
    parts = np.zeros((*n.shape, len(PARTS)))
    with np.errstate(all="ignore"):
        parts[..., 0] = n
        parts[..., 3:6], _ = distilled([*two_product(n, mean), *two_product(n, low)])
        square = [*two_product(mean, mean), *two_product(2.0 * mean, low), low * low]
        parts[..., 6:9], _ = distilled([scatter, *(term for part in square for term in two_product(n, part))])
        parts[..., 9] = 2.0**-50 * np.abs(scatter)
    return parts


def _parts(x: Array, members: Membership) -> Array:
    """The sums of powers of the rows, (class, column, PARTS)."""
    if isinstance(members, Labels) and x.size <= EXACT:
        return _exact(x, members)
    parts = _parts_from(*reduce(_joined, members.moments(x)))
    if isinstance(members, Labels):
        _, _, _, scatter = _moments(parts)
        typical = _typical_gap(x, members.codes)
        outlying = scatter > OUTLYING * typical**2 * parts[..., 0]
        for c in np.flatnonzero(outlying.any(axis=1)):
            rows, columns = np.flatnonzero(members.codes == c), np.flatnonzero(outlying[c])
            own = Labels.of(np.zeros(len(rows), int), 1, members.weight[rows])
            cuts = np.array_split(np.arange(len(rows)), max(1, -(-len(rows) * len(columns) // 2**16)))
            each = (_exact(x[np.ix_(rows[cut], columns)], own[cut]) for cut in cuts)
            parts[c, columns] = _summed(list(each))[0]
    return parts


def _exact(x: Array, labels: Labels) -> Array:
    """The sums of powers of the rows without rounding."""
    sums, lost = power_sums(x, labels.codes, labels.weight, labels.n)
    parts = np.zeros((*lost.shape, len(PARTS)))
    parts[..., :9], parts[..., 10] = sums.reshape(*lost.shape, 9), lost
    return parts


def _typical_gap(x: Array, codes: Array) -> Array:
    """The median distance of two rows of one class in a sample of 64 rows, (column,), that are not equal; else 0."""
    sample = np.unique(np.linspace(0, len(x) - 1, 64).astype(int))
    sample = sample[np.argsort(codes[sample], kind="stable")]
    same = np.diff(codes[sample]) == 0
    gap = np.abs(np.diff(np.asarray(x[sample], float), axis=0))[same]
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
