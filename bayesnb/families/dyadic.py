"""Intervals of real columns, made by repeated halving."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from bayesnb.kernels import blocks, reading
from bayesnb.numerics import Array

BESIDE = 2.0**-32
"""Distance of an edge from the middle between two values, relative to half of their distance."""

MANY = 2**16
"""Number of rows from which the values are counted in groups before they are sorted."""

GROUPS = 2**16


@dataclass(frozen=True, eq=False)
class Dyadic:
    """Intervals of a real column, made by halving the column ``depth`` times.

    Each cut lies half way between two observed values, and divides the rows into halves that are as equal as possible.
    Negating the column only reverses the order of the intervals.

    Parameters
    ----------
    edges : array (edge,)
        Increasing inner edges, in units of the column. An interval includes its lower edge.
    paths : int array (edge + 1,)
        The code of each interval: its highest bit is 1 above the first cut, and lower bits describe later cuts.
    depth : int

    Examples
    --------
    >>> half = Dyadic.of(np.array([0.0, 0, 0, 0, 1, 2, 3, np.nan]), depth=2)
    >>> half.edges, half.codes(np.array([0.0, 1.0, 2.0, 9.0, np.nan]))
    (array([0.5, 1.5]), array([ 0,  2,  3,  3, -1]))
    """

    edges: Array
    paths: Array
    depth: int

    def __post_init__(self) -> None:
        if self.depth not in range(33):
            raise ValueError(f"Expected a column to be halved from 0 to 32 times; got {self.depth!r}")

    @classmethod
    def of(
        cls, x: Array, depth: int, weight: Array | None = None, head: Literal["low", "high"] | None = None
    ) -> Dyadic:
        """Make intervals from ``x`` (row,), the values of one column with NaN for missing cells."""
        seen = ~np.isnan(x) if weight is None else ~np.isnan(x) & (weight > 0)
        equal = weight is None or bool((weight == weight.max(initial=0.0)).all())
        x, weight = x[seen], None if equal else weight[seen]
        # If two cuts are equally good, the cut nearer to ``head`` is used. So the cuts of -x are those of x, negated.
        if head is None:
            head = "low" if _mean_is_low(x, weight) else "high"
        if equal and len(x) >= MANY:
            paths, low, high = _halved_groups(x, depth, head)
        else:
            if equal:
                # Counts need no order of the rows, which would take most of the time.
                values, mass = np.unique(x, return_counts=True)
            else:
                values, place = np.unique(x, return_inverse=True)
                mass = np.bincount(place, weight, minlength=len(values))
            paths, cuts, _ = _halved_entries(mass, depth, head)
            low, high = values[cuts - 1], values[cuts]
        # A change of unit may round the middle to either side, so an edge is slightly beside it.
        edges = low / 2 + high / 2 + (high / 2 - low / 2) * (-BESIDE if head == "low" else BESIDE)
        # Two neighbouring floats have no middle.
        return cls(np.where((edges > low) & (edges <= high), edges, high), np.array(paths, np.intp), depth)

    @classmethod
    def given(cls, edges: Sequence[float], depth: int) -> Dyadic:
        """Make intervals from given edges, by splitting repeatedly at the middle edge."""
        inner = np.asarray(edges, float)
        if inner.ndim != 1 or not np.isfinite(inner).all() or not (np.diff(inner) > 0).all():
            raise ValueError(f"Expected edges that are finite and increase; got {edges!r}")
        if len(inner) >= 2**depth:
            raise ValueError(f"Expected at most {2**depth - 1} edges; got {len(inner)}")

        paths, _ = _halved(0, len(inner) + 1, depth, lambda first, last: (first + last + 1) // 2)
        return cls(inner, np.array(paths, np.intp), depth)

    @property
    def n(self) -> int:
        return 2**self.depth

    def codes(self, x: Array) -> Array:
        return reading.intervals(x, self.edges, self.paths)

    def names(self, column: Any, depth: int) -> list[str]:
        """Names of the intervals after ``depth`` halvings, such as "2.5 ≤ length < 4"."""
        places = self.paths >> self.coarser(depth)
        low, high = np.append(-np.inf, self.edges), np.append(self.edges, np.inf)
        found = []
        for k in range(2 ** min(depth, self.depth)):
            inside = np.flatnonzero(places == k)
            if not inside.size:
                found.append(f"no value of {column}")
                continue
            below, above = low[inside[0]], high[inside[-1]]
            text = f"{column}" if np.isneginf(below) else f"{below:g} ≤ {column}"
            found.append(text if np.isposinf(above) else f"{text} < {above:g}")
        return found

    def coarser(self, depth: int) -> int:
        return max(0, self.depth - depth)


def _mean_is_low(x: Array, weight: Array | None) -> bool:
    if not len(x):
        return True
    middle, half = x.min() / 2 + x.max() / 2, x.max() / 2 - x.min() / 2
    # Integers have the same sum in any order of the rows.
    offsets = np.rint((x - middle) / (half or 1.0) * 2.0**34).astype(np.int64)
    total, rows = (offsets.sum(), len(x)) if weight is None else (weight @ offsets, weight.sum())
    return bool(total <= 1e-9 * 2.0**34 * rows)


def _halved_entries(mass: Array, depth: int, head: str) -> tuple[list[int], Array, Array]:
    """Halve sorted entries repeatedly by weight; return the codes, the first entry above each cut, and the halved
    entries.
    """
    below, used = np.concatenate([[0.0], np.cumsum(mass)]), np.zeros(len(mass), bool)

    # An entry that an exact halving would divide is marked as used: its single values matter.
    def middle(first: int, last: int) -> int:
        target = 0.5 * (below[first] + below[last])
        cut = bisect_left(below, target, first + 1, last)
        used[cut - 1] = True
        if cut in (first + 1, last):
            return min(cut, last - 1)
        nearer = (target - below[cut - 1]) - (below[cut] - target)
        tied = abs(nearer) <= 1e-9 * (below[last] - below[first])
        return cut - 1 if ((head == "low") if tied else nearer < 0) else cut

    paths, found = _halved(0, len(mass), depth, middle)
    cuts, ends = np.array(found, np.intp), np.array([0, *found, len(mass)], np.intp)
    used[cuts] = used[cuts - 1] = used[ends[:-1][np.diff(ends) == 1]] = True
    return paths, cuts, used


def _halved_groups(x: Array, depth: int, head: str) -> tuple[list[int], Array, Array]:
    """Halve the values ``x`` repeatedly; return the interval codes, and the values just below and above each cut."""
    # The width follows from some of the rows, so that a few large values do not put all others into one group. It has
    # no influence on the result.
    # Sorting all values would take most of the time of a fit. Instead, groups of equal width are counted. As long as a
    # cut depends on a group with several values, the group is replaced by its sorted values. The cuts are those of the
    # sorted values, because every other group lies on one side of each cut.
    some = np.sort(x[:: len(x) // 1024])
    low, high = some[len(some) // 20], some[-len(some) // 20]
    unit = (high / 2 - low / 2) or 1.0

    def group_of(x: Array) -> Array:
        with np.errstate(over="ignore"):
            return np.clip(((x / 2 - low / 2) / unit + 1.0) * (GROUPS / 3), 0, GROUPS - 1).astype(np.intp)

    group = group_of(x)
    mass, value, several = np.bincount(group), np.empty(GROUPS), np.zeros(GROUPS, bool)
    value[group] = x
    several[group[x != value[group]]] = True
    entry = np.flatnonzero(mass)
    mass, values = mass[entry], np.where(several, np.nan, value)[entry]
    while True:
        paths, cuts, used = _halved_entries(mass, depth, head)
        opened = np.zeros(GROUPS, bool)
        opened[entry[used & np.isnan(values)]] = True
        if not opened.any():
            return paths, values[cuts - 1], values[cuts]
        found, count = np.unique(x[opened[group]], return_counts=True)
        kept = ~opened[entry]
        entry = np.concatenate([entry[kept], group_of(found)])
        order = np.argsort(entry, kind="stable")
        entry, mass = entry[order], np.concatenate([mass[kept], count])[order]
        values = np.concatenate([values[kept], found])[order]


def _halved(
    first: int, last: int, depth: int, middle: Callable[[int, int], int], path: int = 0
) -> tuple[list[int], list[int]]:
    if depth == 0 or last - first < 2:
        return [path << depth], []
    cut = middle(first, last)
    paths, cuts = _halved(first, cut, depth - 1, middle, 2 * path)
    above, more = _halved(cut, last, depth - 1, middle, 2 * path + 1)
    return paths + above, [*cuts, cut, *more]


@dataclass(frozen=True, eq=False)
class Boxes:
    """Intervals (:class:`Dyadic`) of several columns, with a fixed density within each interval."""

    # The density of an inner interval is uniform. The density of an outer interval is w / (w + u)² at the distance u
    # from the finite edge, where w is the width of the neighbouring interval.
    cuts: tuple[Dyadic, ...]
    low: Array
    """The lower edge of each interval, (column, interval)."""
    high: Array
    """The upper edge of each interval, (column, interval)."""
    width: Array
    """The width of each inner interval, or of the neighbour of an outer interval, (column, interval)."""
    exists: Array
    """1 if the column has the interval, otherwise 0, (column, interval)."""

    @classmethod
    def of(cls, cuts: tuple[Dyadic, ...]) -> Boxes:
        low, high, exists = np.zeros((3, len(cuts), cuts[0].n))
        width = np.ones(low.shape)
        for k, cut in enumerate(cuts):
            edges, inner = np.concatenate([[-np.inf], cut.edges, [np.inf]]), np.diff(cut.edges)
            low[k, cut.paths], high[k, cut.paths], exists[k, cut.paths] = edges[:-1], edges[1:], 1.0
            # Without an inner interval, the unit is the absolute value of the only edge, or 1.
            unit = (float(abs(cut.edges[0])) or 1.0) if len(cut.edges) else 1.0
            first, last = (inner[0], inner[-1]) if len(inner) else (unit, unit)
            width[k, cut.paths] = np.concatenate([[first], inner, [last]])[: len(cut.paths)]
        return cls(cuts, low, high, width, exists)

    def read(self, x: Array) -> tuple[Array, Array]:
        """Return the interval of each value (-1 if missing), and the log density within the interval (0 if missing)."""
        codes, within = np.empty(x.shape, np.int16, order="F"), np.empty(x.shape, order="F")
        list(blocks.each(lambda rows: self._read(x[rows], codes[rows], within[rows]), blocks.slices(len(x), 2**14)))
        return codes, within

    def _read(self, x: Array, codes: Array, within: Array) -> None:
        log_width = -np.log(self.width)
        for k, cut in enumerate(self.cuts):
            value = np.ascontiguousarray(x[:, k])
            codes[:, k] = code = cut.codes(value)
            # A missing value reads the last entry.
            found = np.append(log_width[k], 0.0)[code]
            for end in {int(cut.paths[0]), int(cut.paths[-1])}:
                rows, width = np.flatnonzero(code == end), self.width[k, end]
                low, high = self.low[k, end], self.high[k, end]
                both = np.isinf(low) and np.isinf(high)
                beyond = np.abs(value[rows]) if both else high - value[rows] if np.isinf(low) else value[rows] - low
                found[rows] += 2 * (np.log(width) - np.log(width + beyond)) - (np.log(2.0) if both else 0.0)
            within[:, k] = found

    def of_columns(self, index: Array) -> Boxes:
        return Boxes(
            tuple(self.cuts[k] for k in index), *(v[index] for v in (self.low, self.high, self.width, self.exists))
        )

    def pymc_log_density(self, value: Any, p: Any) -> Any:
        """Log density of the tensor ``value``, (column,), given interval probabilities ``p``, (column, interval)."""
        from pytensor import tensor as pt

        value, lowest, highest = value[:, None], np.isinf(self.low), np.isinf(self.high)
        beyond = (lowest | highest) * pt.abs(value - np.where(lowest, np.where(highest, 0.0, self.high), self.low))
        within = -np.log(self.width) - 2 * pt.log1p(beyond / self.width) - np.log(2.0) * (lowest & highest)
        inside = (value >= self.low) & (value < self.high)
        return pt.log((inside * p).sum(-1)) + (inside * within).sum(-1)

    def inside(self, code: Array, share: Array) -> Array:
        """The ``share`` quantile of the density within the interval ``code``, (..., column)."""
        low, high, width = (v[np.arange(code.shape[-1]), code] for v in (self.low, self.high, self.width))
        lowest, highest = np.isinf(low), np.isinf(high)
        with np.errstate(invalid="ignore", divide="ignore"):
            down = width * (1 / np.where(highest, np.minimum(2 * share, 1), share) - 1)
            up = width * (1 / np.where(lowest, np.minimum(2 * (1 - share), 1), 1 - share) - 1)
            values = [up - down, high - down, low + up]
            return np.select([lowest & highest, lowest, highest], values, low + share * (high - low))
