"""The test statistics of predictive checks: numbers of a table, within one class, that a model may fail to replicate.

Start with :class:`Checked`, a column that can be checked, and :func:`statistics`, which computes every test statistic
of its columns for many tables at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.special import xlogy

from bayesnb.families.columns import COUNTS, LEVELS, POSITIVE, ZEROS_AND_ONES, dense_cells
from bayesnb.families.family import Family
from bayesnb.numerics import Array
from bayesnb.statistics.membership import Column

type Kind = Literal["real", "positive", "count", "binary", "levels"]


MOST_LEVELS = 64
"""A column of more levels is not checked: its pairs would have a cell for nearly every row."""


FEWEST = 5
"""Rows of a class that a test statistic needs."""


SMALL = 0.25
"""Times 1/√n: a standard deviation that is small for a correlation, and for the logarithm of a ratio, of n rows."""


@dataclass(frozen=True)
class Checked:
    """A column that can be checked.

    Parameters
    ----------
    name : column name
    feature : str
        The feature of the model that the column stands in.
    position : int
        Its position there.
    kind : {"real", "positive", "count", "binary", "levels"}
    levels : int
        The number of its levels; 0 for a column of numbers.
    unit : float
        The unit in which its values were rounded; 0 if they were not.
    origin : float
        One of its values, from which the others are whole numbers of units away.
    """

    name: Any
    feature: str
    position: int
    kind: Kind
    levels: int = 0
    unit: float = 0.0
    origin: float = 0.0

    def rounded(self, x: Array) -> Array:
        """Replicated values as they would have been written down: rounded as the observed ones are."""
        if not self.unit:
            return x
        steps = np.rint((x - self.origin) / self.unit)
        if self.kind == "positive":
            # Rounding may not make a positive number 0 or less, which the column could not hold.
            steps = np.maximum(steps, np.floor(-self.origin / self.unit) + 1)
        return self.origin + steps * self.unit


def kind_of(family: Family) -> Kind | None:
    """What a column of this family holds; ``None`` if its columns are one term, as words are: they are not checked."""
    kinds: dict[Any, Kind] = {COUNTS: "count", POSITIVE: "positive", ZEROS_AND_ONES: "binary", LEVELS: "levels"}
    return None if family.one_term else kinds.get(family.support, "real")


def checked(family: Family, x: Column, feature: str, names: Sequence[Any]) -> Iterator[Checked]:
    """Yield the columns of a feature that can be checked: no words, vectors or exposed counts, and few levels."""
    kind = kind_of(family)
    if kind is None or hasattr(x, "exposure"):
        return
    cells = dense_cells(x)
    for k, name in enumerate(names):
        if kind == "levels":
            if 1 < len(x.levels[k]) <= MOST_LEVELS:
                yield Checked(name, feature, k, kind, len(x.levels[k]))
            continue
        unit, origin = rounding(cells[:, k]) if kind in ("real", "positive") else (0.0, 0.0)
        yield Checked(name, feature, k, kind, 0, unit, origin)


def rounding(x: Array) -> tuple[float, float]:
    """The unit in which numbers were rounded, and one of the numbers; (0, 0) if they were not rounded.

    The unit is the smallest distance of two different numbers, if all of them are whole numbers of it apart.
    """
    values = np.unique(x[~np.isnan(x)])
    if len(values) < 2:
        return 0.0, 0.0
    steps = np.diff(values)
    unit = float(steps.min())
    apart = steps / unit
    # A step of more than a million units says nothing about the last digit of a float.
    whole = (np.abs(apart - np.rint(apart)) < 1e-3) | (apart > 1e6)
    return (unit, float(values[0])) if whole.all() and np.ptp(values) < 1e6 * unit else (0.0, 0.0)


@dataclass(frozen=True)
class Check:
    """A test statistic of one column, or of two columns, within a class.

    Parameters
    ----------
    statistic : str
    first, second : int
        The positions of the columns; ``second`` is -1 for a test statistic of one column.
    scale : function
        Takes the test statistic to a scale on which its distribution is closer to a Normal.
    resolution : float
        The least standard deviation in replicated tables that is believed, on that scale. Where hardly any replicated
        table differs from the others, their standard deviation says nothing.
    """

    statistic: str
    first: int
    second: int
    scale: Callable[[Array], Array]
    resolution: float


def statistics(cells: Array, columns: Sequence[Checked]) -> tuple[list[Check], Array]:
    """Every test statistic of the rows of one class, for many tables at once.

    Parameters
    ----------
    cells : array (table, row, column)
        Numbers, or codes of levels; NaN if missing. The same cells are missing in every table.
    columns : sequence of Checked

    Returns
    -------
    checks : list of Check
    values : array (table, check)
    """
    known = ~np.isnan(cells[0])
    found: list[tuple[Check, Array]] = []
    for j, column in enumerate(columns):
        if (n := int(known[:, j].sum())) >= FEWEST:
            found += [(Check(name, j, -1, scale, step), value)
                      for name, scale, step, value in _of_column(cells[:, known[:, j], j], column.kind, n)]  # fmt: skip
    found += _of_pairs(np.where(known, cells, 0.0), known.astype(float), columns)
    checks = [check for check, _ in found]
    return checks, np.stack([value for _, value in found], axis=1) if found else np.empty((len(cells), 0))


def _same(x: Array) -> Array:
    return x


def _positive_log(x: Array) -> Array:
    return np.log(np.maximum(x, 1e-12))


def _of_column(x: Array, kind: Kind, n: int) -> Iterator[tuple[str, Callable[[Array], Array], float, Array]]:
    """Yield name, scale, resolution and values of each test statistic of a column of numbers, (table, row)."""
    if kind == "levels":
        # A table of probabilities of its own can replicate any frequencies of levels.
        return
    mean, step = x.mean(axis=1), SMALL / np.sqrt(n)
    if kind == "binary":
        yield "mean", _same, 1 / n, mean
        return
    away = x - mean[:, None]
    variance = np.square(away).mean(axis=1)
    sd = np.sqrt(variance)
    per_mean = np.where(mean > 0, mean, 1.0)
    yield "mean", _same, 1 / n if kind == "count" else 0.0, mean
    if kind == "count":
        yield "variance / mean", _positive_log, step, np.where(mean > 0, variance / per_mean, 1.0)
        yield "share of zeros", _same, 1 / n, (x == 0).mean(axis=1)
        yield "largest", np.sqrt, 0.5, x.max(axis=1)
        return
    if kind == "positive":
        yield "sd / mean", _positive_log, step, sd / per_mean
        yield "largest / mean", _positive_log, step, x.max(axis=1) / per_mean
        yield "share of most frequent value", _same, 1 / n, _longest_run(x) / n
        return
    yield "sd", _positive_log, step, sd
    z = away / np.where(sd > 0, sd, 1.0)[:, None]
    square = z * z
    yield "skewness", np.arcsinh, step, (square * z).mean(axis=1)
    yield "kurtosis", _positive_log, step, np.square(square).mean(axis=1)
    yield "largest distance / sd", _positive_log, step, np.sqrt(square.max(axis=1))
    yield "share of most frequent value", _same, 1 / n, _longest_run(x) / n


def _longest_run(x: Array) -> Array:
    """How many values of each table are equal, at most, (table,)."""
    ordered = np.sort(x, axis=1)
    place = np.arange(x.shape[1])
    starts = np.zeros(x.shape, np.intp)
    starts[:, 1:] = np.where(ordered[:, 1:] != ordered[:, :-1], place[1:], 0)
    return (place - np.maximum.accumulate(starts, axis=1)).max(axis=1) + 1


def _of_pairs(cells: Array, known: Array, columns: Sequence[Checked]) -> list[tuple[Check, Array]]:
    """The dependence of every two columns, of the rows in which neither is missing.

    Two columns of numbers have a correlation. Two columns of levels have a mutual information, in nats. A column of
    levels and one of numbers have a correlation ratio: the square root of the share of the variance that lies between
    the levels.
    """
    numbers = [j for j, column in enumerate(columns) if column.kind != "levels"]
    levels = [j for j, column in enumerate(columns) if column.kind == "levels"]
    n = known.T @ known
    found = []

    def add(name: str, first: Sequence[int], second: Sequence[int], value: Array, scale: Any) -> None:
        for a, i in enumerate(first):
            for b, j in enumerate(second):
                if n[i, j] >= FEWEST and (first is not second or i < j):
                    found.append((Check(name, i, j, scale, SMALL / np.sqrt(n[i, j])), value[:, a, b]))

    if numbers:
        add("correlation", numbers, numbers, _correlations(cells[..., numbers], known[:, numbers]), _same)
    if levels:
        sizes = [columns[j].levels for j in levels]
        starts = np.cumsum([0, *sizes[:-1]])
        hot = np.zeros((*cells.shape[:2], sum(sizes)))
        for j, start, size in zip(levels, starts, sizes, strict=True):
            hot[..., start : start + size] = cells[..., j, None] == np.arange(size)
            hot[..., start : start + size] *= known[:, j, None]
        add("mutual information", levels, levels, _informations(hot, starts), np.sqrt)
        if numbers:
            ratios = _correlation_ratios(hot, starts, cells[..., numbers], known[:, numbers])
            add("correlation ratio", levels, numbers, ratios, _same)
    return found


def _correlations(x: Array, known: Array) -> Array:
    """The correlation of every two columns, (table, column, column); 0 where a column is constant."""
    x = (x - (x.sum(axis=1) / np.maximum(known.sum(axis=0), 1))[:, None]) * known
    spread = np.sqrt(np.square(x).sum(axis=1, keepdims=True))
    x = x / np.where(spread > 0, spread, 1.0)
    swapped = np.swapaxes(x, 1, 2)
    n = np.maximum(known.T @ known, 1.0)
    # Sums of the column on axis 1, over the rows in which that on axis 2 is known.
    total, square = swapped @ known, np.square(swapped) @ known
    variance = np.maximum(square - total**2 / n, 0.0)
    covariance = swapped @ x - total * np.swapaxes(total, 1, 2) / n
    scale = np.sqrt(variance * np.swapaxes(variance, 1, 2))
    return np.clip(np.where(scale > 1e-12, covariance / np.where(scale > 1e-12, scale, 1.0), 0.0), -1.0, 1.0)


def _informations(hot: Array, starts: Array) -> Array:
    """The mutual information of every two columns of levels, (table, column, column), from indicators of levels."""
    joint = np.swapaxes(hot, 1, 2) @ hot
    rows = np.add.reduceat(joint, starts, axis=2)  # the counts of each level where the second column is known
    n = np.add.reduceat(rows, starts, axis=1)
    own = np.add.reduceat(xlogy(rows, rows), starts, axis=1)
    cells = np.add.reduceat(np.add.reduceat(xlogy(joint, joint), starts, axis=1), starts, axis=2)
    return np.maximum(cells - own - np.swapaxes(own, 1, 2) + xlogy(n, n), 0.0) / np.maximum(n, 1.0)


def _correlation_ratios(hot: Array, starts: Array, x: Array, known: Array) -> Array:
    """The correlation ratio of columns of levels and columns of numbers, (table, levels, numbers)."""
    x = (x - (x.sum(axis=1) / np.maximum(known.sum(axis=0), 1))[:, None]) * known
    swapped = np.swapaxes(hot, 1, 2)
    count, total, square = swapped @ known, swapped @ x, swapped @ np.square(x)
    n, whole, spread = (np.add.reduceat(v, starts, axis=1) for v in (count, total, square))
    middle = whole**2 / np.maximum(n, 1.0)
    between = np.add.reduceat(total**2 / np.maximum(count, 1.0), starts, axis=1) - middle
    variance = spread - middle
    # Of numbers that are all equal, rounding leaves a variance.
    varies = variance > 1e-10 * spread
    share = np.where(varies, between / np.where(varies, variance, 1.0), 0.0)
    return np.sqrt(np.clip(share, 0.0, 1.0))
