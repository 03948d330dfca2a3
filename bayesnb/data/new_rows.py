"""Warnings about new rows, or models to merge, that differ from the learned rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import bdtrc

from bayesnb.data.amounts import is_float
from bayesnb.data.arrow import marks_in
from bayesnb.data.encoders import Feature
from bayesnb.data.schema import Schema
from bayesnb.data.tables import Table
from bayesnb.data.text import warn_of_most
from bayesnb.data.warned import telling_gaps
from bayesnb.families.gaussian import Gaussian
from bayesnb.model import Data, Statistics
from bayesnb.priors import Array
from bayesnb.statistics.moments import Centred
from bayesnb.wording import nearest, warn


class UnseenLevelWarning(UserWarning):
    """Cells with a level not seen during fitting are treated as missing.

    Numbers that are impossible under a family chosen from the first rows, such as 2 in a column of 0 and 1, also count
    as missing.

    To silence the warning: ``warnings.simplefilter("ignore", bayesnb.errors.UnseenLevelWarning)``. ``unseen="error"``
    makes an unseen level an error.

    Examples
    --------
    >>> import warnings
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.play_tennis()
    >>> clf = nb.BayesianNB().fit(X, y)
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always")
    ...     proba = clf.predict_proba(X[:3].assign(outlook=["sunny", "Sunny", "fog"]))
    >>> print(said[0].message)
    column 'outlook': 2 of 3 rows hold a level never seen ('Sunny', did you mean 'sunny'?; 'fog'), counted as missing
    """


def unseen_levels(schema: Schema, table: Table) -> dict[Any, Counter[Any]]:
    """The number of rows with each unseen level or impossible number, by column."""
    found: dict[Any, Counter[Any]] = {}
    for feature, levels in schema.watched:
        if feature.guessed:
            found |= _impossible_numbers(feature, table)
        for name, known in levels.items():
            if name not in table.place or known.issuperset(table.distinct(name)):
                continue
            codes, distinct = table.column(name).coded
            rows = np.bincount(codes[codes >= 0], minlength=len(distinct))
            unseen = {v: int(n) for v, n in zip(distinct, rows, strict=False) if n and v not in known}
            if unseen:
                found[name] = Counter(unseen)
    return found


def _impossible_numbers(feature: Feature, table: Table) -> dict[Any, Counter[Any]]:
    found = {}
    for name in feature.columns:
        if name in table.place:
            x = table.column(name).reals()
            if (wrong := feature.impossible(x)).any():
                found[name] = Counter(x[wrong].tolist())
    return found


def said_of(found: Mapping[Any, Counter[Any]], n_rows: int, schema: Schema) -> Iterator[str]:
    """Yield a sentence about each column with unseen levels or impossible numbers."""
    levels = {name: names for feature in schema.features.values() for name, names in feature.values.items()}
    flagged = {name for feature in schema.features.values() for name in feature.indicates}
    families = {name: feature.family.title for feature in schema.features.values() for name in feature.columns}
    for name, counts in found.items():
        known = levels.get(name)
        what = "a level never seen" if known is not None else f"a number that cannot occur under {families[name]}"
        top = [value for value, _ in counts.most_common(3)]
        shown = [_with_nearest(value, known or ()) if known is not None else f"{value:g}" for value in top]
        more = f"; and {len(counts) - 3:,} more" if len(counts) > 3 else ""
        rows = sum(counts.values())
        yield (
            f"column {name!r}: {rows:,} of {n_rows:,} row{'s' * (n_rows != 1)} hold{'s' * (rows == 1)} {what} "
            f"({'; '.join(shown)}{more}), "
            + ("whose value is ignored; the cell counts as not missing" if name in flagged else "counted as missing")
        )


def _with_nearest(value: Any, levels: Iterable[Any]) -> str:
    if isinstance(value, float) and value.is_integer():
        return f"{value:.0f}"  # A file with missing cells holds the whole number 6 as 6.0.
    close = nearest(value, levels) if isinstance(value, str) else None
    # A different number is another value or key; only its leading zeros may be lost.
    alike = close is not None and _numbers_in(value) == _numbers_in(close)
    return f"{value!r}, did you mean {close!r}?" if alike else repr(value)


def _numbers_in(text: str) -> list[int]:
    return [int(digits) for digits in re.findall(r"\d+", text)]


def warn_of_rows(
    schema: Schema, table: Table, data: Data, reading: Mapping[str, Sequence[str]], learned: Statistics | None,
    telling: bool,
) -> None:  # fmt: skip
    """Warn of unseen levels, of texts without known words, and of cells that the fit would have read differently."""
    if found := unseen_levels(schema, table):
        warn("; ".join(said_of(found, table.n_rows, schema)), UnseenLevelWarning)
    # The model treats missing cells as evidence.
    if telling:
        _warn_of_absent(schema, learned, table)
    # ``reading`` holds the options with which the fit read its table.
    _warn_of_marks(reading.get("na") or (), table)
    if kept := reading.get("keep_na"):
        _warn_of_kept(kept, schema, learned, table)
    for name, feature in schema.features.items():
        if feature.text is not None and feature.source[0] in table.place:
            some = np.asarray(data[name].counts.sum(axis=1)).ravel() > 0
            warn_of_most(table.column(feature.source[0]), some, "known word")


def _warn_of_marks(marks: Iterable[str], table: Table) -> None:
    """Warn if numbers in this table are among the ``marks`` that the fit read as missing (``--na``)."""
    marks = [mark for mark in marks if is_float(mark.rpartition("=")[2])]
    for name in table.names if marks else ():
        codes = [float(text) for text in marks_in(str(name), marks, table.names) if is_float(text)]
        if not codes or table.column(name).kind_of_values not in ("number", "zero_one"):
            continue
        if rows := int(np.isin(table.column(name).reals(), codes).sum()):
            held = " or ".join(f"{code:g}" for code in codes)
            warn(
                f"column {name!r} holds {held} in {rows:,} of {table.n_rows:,} rows, read as a number here; --na at "
                "the fit read it as missing: replace it by None"
            )


def _warn_of_kept(kept: Iterable[str], schema: Schema, learned: Statistics, table: Table) -> None:
    """Warn of missing cells in columns in which the fit read texts such as NA as levels (``--keep-na``)."""
    found: dict[Any, tuple[int, str]] = {}
    for name, feature in schema.features.items():
        seen = learned.features[name].seen().sum(axis=0)
        for column, n in zip(feature.columns, seen, strict=False) if feature.text is None else ():
            owner = schema.owner.get(column, column)
            if (
                column in table.place
                and n >= (1 - 1e-9) * learned.rows.sum()
                and (texts := marks_in(str(owner), kept, schema.raw))
            ):
                found[owner] = int(table.column(column).missing().sum()), texts[0]
    for owner, (rows, text) in found.items():
        if 0 < rows < table.n_rows:
            warn(
                f"column {owner!r} is missing in {rows:,} of {table.n_rows:,} rows, and in no learned row, because "
                f"--keep-na at the fit read {text!r} as a value: if these cells mean {text!r}, write it there"
            )


def _warn_of_absent(schema: Schema, statistics: Statistics, table: Table) -> None:
    """Warn of absent columns whose absence a ``dependence`` treats as evidence for a class."""
    if not (schema.named and table.named):
        return
    for name, shares in telling_gaps(schema, statistics):
        if name not in table.place:
            own = schema.owner.get(name, name)
            warn(
                f"column {own!r} is absent; it was missing in {shares} when the dependence was learned, so its "
                "absence counts as evidence, and probabilities are wrong unless it is absent for the same reasons: fit "
                "the model without the column"
            )


FAR = 20
"""Numbers farther from the mean of a Gaussian column than this number of standard deviations are reported."""

FEWEST_KNOWN = 10
"""Fewest learned numbers of such a column. Among fewer, a small standard deviation may be chance."""

OUTSIDE, FEWEST_COMPARED, CHANCE = 5, 20, 1e-6
"""If most numbers of a new table are on one side of every class mean, at least this number of standard deviations away,
they are reported if at least this number of numbers was learned, and if chance has at most this probability."""
# A share of at most 1 / (1 + k²) of any distribution lies more than k standard deviations above its mean (Cantelli
# 1928), so the number of such cells has at most the tail of a binomial distribution, also if the classes of the new
# rows have other frequencies. In 50,000 columns of random parts of 35 tables, no column was reported; in second
# halves of tables, 2 % in the order of the file, which is often time, and 0.6 % if sorted by another column.


class LearnedNumbers(NamedTuple):
    """A column of a Normal family: its feature, and the number, mean and standard deviation of its learned numbers."""

    feature: Any
    name: Any
    n: float
    mean: float
    sd: float
    # Numbers below ``low`` or above ``high`` are at least ``OUTSIDE`` standard deviations from each class mean.
    low: float
    high: float

    def outside(self, x: Array) -> Array:
        """A mask of the numbers that are far from the learned numbers of every class, or from their overall mean."""
        return (x < self.low) | (x > self.high) | (np.abs(x - self.mean) > FAR * self.sd)

    def far(self, x: Array, times: Array | int, known: int, trend: bool) -> tuple[Array, str]:
        """A mask of unusually distant numbers in ``x``, (number,), and words on how far away they are."""
        # ``x[k]`` occurs ``times[k]`` times among ``known`` numbers. In a trend (``trend``), all numbers may be far
        # away, as later dates are.
        for side, mask in () if trend else (("below", x < self.low), ("above", x > self.high)):
            if self.most_are_outside(int((mask * times).sum()), known):
                return mask, f"{OUTSIDE} standard deviations {side} the learned mean of every class"
        return np.abs(x - self.mean) > FAR * self.sd, f"{FAR} standard deviations from the learned mean"

    def most_are_outside(self, n: int, known: int) -> bool:
        """Whether ``n`` of ``known`` new numbers are more than chance explains on one side of the learned numbers."""
        if self.n < FEWEST_COMPARED or 2 * n <= known:
            return False
        return bool(bdtrc(n - 1, known, 1 / (1 + OUTSIDE**2)) <= CHANCE)

    def excludes(self, other: LearnedNumbers) -> bool:
        """Whether most of the numbers that another model has learned must be far from the numbers learned here."""
        # At least the share t² / (1 + t²) of any distribution lies below its mean plus t standard deviations.
        t = max(self.low - other.mean, other.mean - self.high) / other.sd
        return t > 0 and self.most_are_outside(int(other.n * t**2 / (1 + t**2)), int(other.n))


def normal_columns(
    schema: Schema, statistics: Statistics, columns: Collection[Any], families: type | tuple[type, ...] = Gaussian
) -> list[LearnedNumbers]:
    """Those of ``columns`` that have one of the Normal ``families`` and enough different learned numbers."""
    held = [
        (name, feature.columns, moments)
        for name, feature in schema.features.items()
        if isinstance(feature.family, families)
        and isinstance(moments := statistics.features[name], Centred)
        and any(column in columns for column in feature.columns)
    ]
    if not held:
        return []
    # Plain floats suffice for these thresholds; the exact sums of of_columns take half as long as learning 100 rows.
    names = [(name, column) for name, columns, _ in held for column in columns]
    n = np.concatenate([s.n if s.n.shape == s.total.shape else s.n + 0 * s.total for *_, s in held], axis=1)
    total, scatter = (
        np.concatenate(each, axis=1) for each in zip(*((s.total, s.own(s.scatter)) for *_, s in held), strict=True)
    )
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        known = n.sum(axis=0)
        each, mean, within = np.where(n > 0, total / n, 0.0), total.sum(axis=0) / known, scatter.sum(axis=0) / known
        variance = (n * (each - mean) ** 2).sum(axis=0) / known + within
        # The variance of a class with few rows may be small by chance.
        own = np.fmax(scatter / n, np.where(within > 0, within, variance))
        away = np.where(n > 0, OUTSIDE * np.sqrt(own), -np.inf)
        found = known, mean, np.sqrt(variance), (each - away).min(axis=0), (each + away).max(axis=0)
    # The mean of a constant column is rounded, so its standard deviation may not be 0.
    every = (LearnedNumbers(*name, *of) for name, *of in zip(names, *(x.tolist() for x in found), strict=True))
    return [own for own in every if own.name in columns and own.n >= FEWEST_KNOWN and own.sd > 1e-13 * abs(own.mean)]


def far_numbers(schema: Schema, statistics: Statistics, table: Table) -> dict[Any, Array]:
    """A mask of the rows with a number far from the learned ones, for each Gaussian column with such numbers."""
    trends, found = schema.parts_of_dates, {}
    for column in normal_columns(schema, statistics, table.place):
        x = table.column(column.name).reals()
        found[schema.owner.get(column.name, column.name)], _ = column.far(
            x, 1, int((~np.isnan(x)).sum()), column.name in trends
        )
    return {name: mask for name, mask in found.items() if mask.any()}


def unlike_numbers(one: tuple[Schema, Statistics], other: tuple[Schema, Statistics]) -> Iterator[str]:
    """Yield a sentence about each column whose numbers in two models are too far apart to be of the same kind."""
    both = [{own.name: own for own in normal_columns(*each, each[0].names)} for each in (one, other)]
    schema = one[0]
    for name, mine in both[0].items():
        theirs, column = both[1].get(name), schema.owner.get(name, name)
        percents = [getattr(each.readings.get(column), "unit", None) == "%" for each, _ in (one, other)]
        if theirs is None or name in schema.parts_of_dates:
            continue
        plain = theirs if percents[0] else mine
        if percents[0] != percents[1] and np.hypot(plain.mean, plain.sd) <= 1:
            yield (
                f"column {column!r}: the numbers of one model have no percent sign (mean {plain.mean:.4g}), and they "
                "are counted as percents: multiply fractions, as a sheet holds them, by 100"
            )
        elif mine.excludes(theirs) or theirs.excludes(mine):
            means = " and ".join(mean_and_sd(schema, name, own.mean, own.sd) for own in (mine, theirs))
            yield (
                f"column {column!r}: the numbers of the two models are far apart (means {means}), and are counted as "
                "they are: they may be in different units"
            )


def mean_and_sd(schema: Schema, name: Any, mean: float, sd: float) -> str:
    """The mean and the standard deviation of a column as text: two numbers, or a date and a number of days."""
    if (date := schema.dates.get(name)) is None:
        return f"{mean:.4g}, sd {sd:.2g}"
    return f"{date.written(date.rounded(np.array([mean]), sd < 1))[0]}, sd {float(f'{sd:.2g}'):g} {date.unit}"


class UnseenCounter:
    """Count unseen levels in the parts of a table."""

    def __init__(self, schema: Schema) -> None:
        self.schema, self.rows = schema, 0
        self.found: dict[Any, Counter[Any]] = {}

    def counted(self, tables: Iterable[Table]) -> Iterator[Table]:
        for table in tables:
            self.rows += table.n_rows
            for name, counts in unseen_levels(self.schema, self.schema.through(table)).items():
                self.found.setdefault(name, Counter()).update(counts)
            yield table

    def sentences(self) -> Iterator[str]:
        yield from said_of(self.found, self.rows, self.schema)


class FarCounter:
    """Count numbers far from the learned ones in the parts of a table of new rows."""

    def __init__(self, schema: Schema, statistics: Statistics) -> None:
        self.schema, self.statistics, self.rows = schema, statistics, 0
        self.found: dict[Any, tuple[LearnedNumbers, Counter[Any]]] = {}
        self.known: Counter[Any] = Counter()

    def count(self, table: Table) -> None:
        self.rows += table.n_rows
        table = self.schema.through(table)
        for column in normal_columns(self.schema, self.statistics, table.place):
            x = table.column(column.name).reals()
            self.known[column.name] += int((~np.isnan(x)).sum())
            if (outside := column.outside(x)).any():
                self.found.setdefault(column.name, (column, Counter()))[1].update(x[outside].tolist())

    def sentences(self) -> Iterator[str]:
        """Yield a sentence about each column with numbers far from the learned ones."""
        for name, (column, counts) in self.found.items():
            x, times = np.array([*counts]), np.array([*counts.values()])
            mask, away = column.far(x, times, self.known[name], name in self.schema.parts_of_dates)
            if not (rows := int(times[mask].sum())):
                continue
            date = self.schema.dates.get(name)
            values = [
                value
                for value, _ in Counter(dict(zip(x[mask].tolist(), times[mask].tolist(), strict=True))).most_common(3)
            ]
            texts = [f"{value:g}" for value in values] if date is None else map(str, date.written(values))
            shown = ", ".join(texts) + ", …" * (len(x[mask]) > 3)
            yield (
                f"column {self.schema.owner.get(name, name)!r}: {rows:,} of {self.rows:,} row{'s' * (self.rows != 1)} "
                f"hold{'s' * (rows == 1)} {'a number' if date is None else 'a date or time'} more than {away} "
                f"({shown}; mean {mean_and_sd(self.schema, name, column.mean, column.sd)}), used as it is: it may be "
                "in another unit, or mean that the value is missing"
            )
