"""Rules that convert cells, such as dates, to columns of numbers or levels."""

from __future__ import annotations

import re
import unicodedata
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import chain, islice
from typing import Any, Literal, Self, get_args

import numpy as np
import pandas as pd

from bayesnb.data import amounts
from bayesnb.data.columns import Column, Names, culprit, number_word, to_mend
from bayesnb.priors import Array
from bayesnb.wording import Cure, RefusedError, Spelled, items_of, listed, require_choice, warn


class UnreadCellWarning(UserWarning):
    """Some cells, such as "soon" in a column of dates, count as missing, because they could not be read.

    To silence the warning: ``warnings.simplefilter("ignore", bayesnb.errors.UnreadCellWarning)``.

    Examples
    --------
    >>> import warnings
    >>> import bayesnb as nb
    >>> clf = nb.BayesianNB().fit({"paid": ["12.50 €", "8 €", "9.99 €", "40 €"]}, ["a", "a", "b", "b"])
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always")
    ...     proba = clf.predict_proba({"paid": ["free", "10 €"]})
    >>> print(said[0].message)
    column 'paid': 1 of 2 cells are no numbers in €, such as 'free', and count as missing
    """


@dataclass(frozen=True)
class Reading(ABC):
    """A rule that converts the cells of a column to feature columns."""

    def names(self, column: Any) -> Names:
        """Names of the feature columns. A missing cell of ``column`` is also missing in the first feature column."""
        return (column,)

    @abstractmethod
    def read(self, column: Column) -> dict[Any, Any]:
        """Make the feature columns. Cells that do not fit are read as missing, with a warning."""

    @abstractmethod
    def resolved(self, column: Column, mark: Callable[[], str]) -> Reading:
        """Infer unspecified settings from the cells. Raise ``ValueError`` if the cells are ambiguous.

        ``mark()`` returns the decimal mark that the texts of other columns need, or "" (see :func:`of_mark`).
        """

    @property
    def resolves(self) -> bool:
        return all(getattr(self, each.name) is not None for each in fields(self))

    @classmethod
    def parsed(cls, text: str) -> Self:
        return cls(text or None)

    @property
    @abstractmethod
    def spelled(self) -> Spelled:
        """How to specify this reading: as Python code, and as text after "COL=" on the command line."""

    @property
    @abstractmethod
    def said(self) -> str:
        """A plural noun for the cells in messages, such as "dates"."""

    def read_as(self, column: Any) -> str:
        """A description, for ``inspect``, of a column that is read in this way."""
        return self.said

    def left_open(self, texts: Iterable[str], readings: Sequence[Any]) -> str:
        """The name of the setting that the texts do not determine, such as "the decimal mark"; "" if there is none."""
        return "the decimal mark"

    def numbers(self, column: Column) -> tuple[Any, Any]:
        """Return (numbers in a column, kind of each cell, such as "<5"); (``None``, ``None``) for most readings."""
        return None, None

    def applies(self, column: Column) -> bool:
        return True

    def shown(self, column: Any, name: Any, cells: Sequence[Any]) -> Sequence[Any]:
        """Format the cells of the feature column ``name`` for display; by default, return them unchanged."""
        return cells


def may_be_of(name: str, column: str) -> bool:
    """Whether ``name`` may be ``column`` or a feature column made from it, such as "month of date"."""
    return name == column or name.endswith(f" of {column}") or name.startswith(f"{column}=")


# Numbers with marks


@dataclass(frozen=True)
class OfNumbers(Reading):
    """Base class of readings of numbers that share one decimal mark and one unit."""

    decimal: Literal[".", ","] | None = None
    unit: str | None = None

    def __post_init__(self) -> None:
        if self.decimal is not None:
            require_choice("decimal", self.decimal, (".", ","))
        object.__setattr__(self, "unit", self.unit and amounts.one_unit(self.unit))

    def _written(self, text: str) -> str:
        found = amounts.measured(text)
        other = found is not None and self.unit and found.unit not in ("", self.unit)
        if other and not amounts.is_currency(found.unit):
            return f"the number of {self.unit}"  # 7.2 cm is not 7.2 mm, but $ may be the mark of several currencies.
        if found is None or found.unit not in ("", self.unit) or self.decimal in found.values:
            return amounts.number_in(text, self.decimal or ".")
        mark = "comma" if self.decimal == "," else "point"
        return f"{amounts.with_other_mark(text.strip(), *found.values)} with a decimal {mark}"


def of_mark[R: OfNumbers](found: Sequence[R], mark: Callable[[], str]) -> list[R]:
    """The reading with the decimal mark ``mark()``, if there is exactly one in ``found``; otherwise all of them."""
    own = [one for one in found if one.decimal == mark()] if len(found) > 1 else []
    return own if len(own) == 1 else [*found]


@dataclass(frozen=True)
class Number(OfNumbers):
    """A column of numbers with a unit, such as "12.50 €", "$5", "12 %" or "3 kg".

    ``Number`` is the default if all cells have the same unit. An ambiguous decimal mark, as in 1.234 €, must be
    specified. Numbers are not rescaled: 12 % is 12.

    Parameters
    ----------
    decimal : {".", ","}, optional
        The decimal mark; inferred from the cells by default.
    unit : str, optional
        The unit; inferred from the first table by default. Cells with another unit count as missing.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X = {"price": ["1.234 €", "8.999 €", "2.500 €", "7.100 €"]}
    >>> clf = nb.BayesianNB({"price": nb.Number(decimal=",")}).fit(X, ["cheap", "dear", "cheap", "dear"])
    >>> clf.predict({"price": ["€ 8.000"]}).tolist()
    ['dear']
    """

    @property
    def spelled(self) -> Spelled:
        return number_word(self.decimal)

    @property
    def said(self) -> str:
        return f"numbers in {self.unit}" if self.unit else "numbers"

    def read_as(self, column: Any) -> str:
        return "percent signs, read as the numbers before them" if self.unit == "%" else self.said

    def numbers(self, column: Column) -> tuple[Any, Any]:
        return self.read(column)[column.name], None

    def applies(self, column: Column) -> bool:
        return column.kind == "text" or self.unit == "%"

    def resolved(self, column: Column, mark: Callable[[], str]) -> Number:
        texts, others, _ = _texts_and_others(column) if column.kind == "text" else ([], [], False)
        if not texts:
            return self if self.resolves else Number(self.decimal or ".", self.unit or "")
        plain = ["1"] if others else []
        found = _numbers_of_one_unit([*texts, *plain], self.unit or "") or ([Number(".", "")] if others else [])
        fitting = [one for one in found if self.decimal in (None, one.decimal) and self.unit in (None, one.unit)]
        fitting = of_mark(fitting, mark)
        if len(fitting) == 1:
            return fitting[0]
        said = "which has another value with a decimal point than with a decimal comma: say which, as {cure}"
        rows, decimals = column.first_rows(texts), [self.decimal] if self.decimal else [*amounts.FRACTIONS]
        values, write = {text: {*cell.values.values()} for text in rows if (cell := amounts.measured(text))}, ""
        value = next((text for text in rows if len(values.get(text, ())) > 1), "")
        if not fitting:
            said = (
                "and not all of its cells are numbers with one unit and one decimal mark: {write}, or read it as levels"
            )
            odd = ([t for t in rows if d not in getattr(amounts.measured(t), "values", {})] for d in decimals)
            value = next(iter(min(odd, key=len)), "")
            value, write = (value, to_mend(column.name, value)) if value else culprit(column.name, [*rows])
        cures = (Cure("features", Number(decimal).spelled, column.name) for decimal in amounts.FRACTIONS)
        said = "column {column!r} holds {value!r} in row {row}, " + said
        raise RefusedError(said, column=column.name, value=value, row=rows[value], write=write, cure=(*cures,))

    def read(self, column: Column) -> dict[Any, Any]:
        numbers = converted(column, self._value, self.said, self._written)
        held = numbers[~np.isnan(numbers)]
        if self.unit == "%" and 0 < np.abs(held).max(initial=0) <= 1 and "%" not in "".join(map(str, column.coded[1])):
            said = f"its numbers have no percent sign, and {held[0]:g} is read as {held[0]:g} %"
            warn(
                f"column {column.name!r}: {said}: multiply fractions, as a sheet holds them, by 100", UnreadCellWarning
            )
        return {column.name: numbers}

    def _value(self, cell: Any) -> float | None:
        if not isinstance(cell, str):
            return float(cell)
        found = amounts.measured(cell)
        if found is None or found.unit not in ("", self.unit):
            found = amounts.labelled(cell)
        fits = found is not None and not found.bound and found.unit in ("", self.unit)
        return found.values.get(self.decimal) if fits else None  # type: ignore[union-attr, arg-type]


def _numbers_in(
    texts: Collection[str], plain: bool = False, unit: str | None = None,
    parse: Callable[[str], amounts.Measured | None] = amounts.measured,
) -> Iterable[Number]:  # fmt: skip
    """The ``Number`` readings that fit all texts; the texts may lack the unit ``unit``, or any unit if it is ""."""
    units, decimals, once = set[str](), set(amounts.FRACTIONS), True
    for text in texts:
        found = parse(text)
        if found is None or found.bound or not (found.unit or plain):
            return
        units.add(found.unit)
        named = units - {""}
        if len(units) > 1 and (unit is None or len(named) > 1 or unit not in ("", *named) or "%" in named):
            return
        decimals, once = decimals & {*found.values}, once and len({*found.values.values()}) == 1
    if units:
        yield from (Number(d, max(units)) for d in ((".",) if once and "." in decimals else sorted(decimals)))


def _numbers_of_one_unit(texts: Collection[str], unit: str = "") -> tuple[Number, ...]:
    for parse in (amounts.measured, amounts.labelled):
        if found := tuple(_numbers_in(texts, True, unit, parse)):
            return found
    return ()


def amounts_in(cells: Collection[Any], identifying: bool = False) -> tuple[Number, ...]:
    """The ``Number`` readings that fit numbers with a unit, or with other text before or after."""
    texts = [cell if isinstance(cell, str) else "1" for cell in cells]
    some = [text for text, _ in zip(texts, range(LOOKED_AT), strict=False)]
    if not all(map(HAS_DIGIT, some)) or not _numbers_of_one_unit(some):
        return ()
    usual = any(True for _ in _numbers_in(some, True, ""))
    if not usual and (len(texts) <= FEWEST_NUMBERS or amounts.may_be_codes(texts, identifying)):
        return ()
    return tuple(own for own in _numbers_of_one_unit(texts) if own.unit)


# Numbers and bounds


MOST_BOUNDS, MOST_TEXTS, FEWEST_NUMBERS = 10, 3, 10
"""Largest numbers of distinct bounds and other texts, and least number of numbers, in a column read as ``Bounded``."""


@dataclass(frozen=True)
class Bounded(OfNumbers):
    """A column of numbers and of bounds such as "<5", read as a column of levels and a column of numbers.

    The levels of "kind of COLUMN" are "number", the bounds, and other texts such as "hemolyzed". The column "number of
    COLUMN" is NaN for cells without a number. See ``docs/how-to/what-is-read.md``.

    Parameters
    ----------
    decimal : {".", ","}, optional
        The decimal mark; inferred from the cells by default.
    unit : str, optional
        The unit of all numbers, such as "mg/L", or "" for no unit; inferred from the cells by default.

    Notes
    -----
    The likelihood of a cell is p(kind | class), times p(number | class) if the cell has a number. No distribution is
    assumed for numbers beyond a bound.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X = {"crp": ["<5", "<5", "12", "7.5", "< 5", "80", ">300", "140", "> 300", "65"]}
    >>> clf = nb.BayesianNB({"crp": nb.Bounded()}).fit(X, ["well"] * 5 + ["ill"] * 5)
    >>> clf.tables()["kind of crp"].columns.tolist()
    ['<5', '>300', 'number']
    >>> clf.predict({"crp": ["<5.0", "> 300", "100"]}).tolist()
    ['well', 'ill', 'ill']
    """

    def names(self, column: Any) -> Names:
        return f"kind of {column}", f"number of {column}"

    @property
    def spelled(self) -> Spelled:
        code, word = (f'decimal="{self.decimal}"', f":{self.decimal}") if self.decimal else ("", "")
        return Spelled(f"nb.Bounded({code})", f"bounded{word}")

    @property
    def said(self) -> str:
        return "numbers and bounds"

    def numbers(self, column: Column) -> tuple[Any, Any]:
        kinds, numbers = self.read(column).values()
        return numbers, kinds

    def resolved(self, column: Column, mark: Callable[[], str]) -> Bounded:
        if self.resolves:
            return self
        texts = _texts_and_others(column)[0] if column.kind == "text" else []
        found = [own for own in _bounds_in(texts) if self.unit in (None, own.unit)]
        fitting = of_mark([own for own in found if self.decimal in (None, own.decimal)], mark)
        if len(fitting) == 1:
            return fitting[0]
        said = "which is another value with a decimal point than with a decimal comma: say which, as {cure}"
        if not fitting:
            said = "and not all of its numbers have one unit and one decimal mark: convert them, or read it as levels"
        rows = column.first_rows(texts)
        cells = ((text, cell) for text in rows if (cell := amounts.measured(text)) is not None)
        value = next((t for t, cell in cells if not fitting or len({*cell.values.values()}) > 1), self.unit)
        cures = tuple(Cure("features", own.spelled, column.name) for own in fitting)
        said = "column {column!r} holds {value!r}" + " in row {row}" * (value in rows) + ", " + said
        raise RefusedError(said, column=column.name, value=value, row=rows.get(value), cure=cures)

    def read(self, column: Column) -> dict[Any, Any]:
        if column.kind == "text":
            codes, distinct = column.coded
            cells = [self._cell(cell) for cell in distinct]
            unread = [kind is None for _, kind in cells]
            warn_of_unread(column.name, self.said, codes, [*map(str, distinct)], unread, write=self._written)
            numbers = np.array([*(number for number, _ in cells), np.nan])[codes]
            kinds = np.array([*(kind for _, kind in cells), None], object)[codes]
        else:
            numbers = column.reals()
            kinds = np.where(np.isnan(numbers), None, "number")
        return dict(zip(self.names(column.name), (kinds, numbers), strict=True))

    def _cell(self, cell: Any) -> tuple[float, str | None]:
        text = cell.strip() if isinstance(cell, str) else ""
        if not text or text.lower() in amounts.GAPS:
            return (np.nan, None) if isinstance(cell, str) else (float(cell), "number")
        found = amounts.measured(text)
        if found is None or found.unit not in ("", self.unit):
            return np.nan, "'number'" if text == "number" else text
        if self.decimal not in found.values:
            return np.nan, None
        value = found.values[self.decimal]
        return (np.nan, f"{found.bound}{value:.15g}") if found.bound else (value, "number")


def _bounds_in(texts: Collection[str]) -> Iterable[Bounded]:
    cells = [found for text in texts if (found := amounts.measured(text)) is not None]
    units = {cell.unit for cell in cells} or {""}
    decimals = [d for d in amounts.FRACTIONS if all(d in cell.values for cell in cells)]
    if len(units) == 1:
        once = all(len({*cell.values.values()}) == 1 for cell in cells)
        yield from (Bounded(d, *units) for d in (decimals[:1] if once else decimals))


def _bounded_in(texts: Collection[str], numbers: int = 0) -> Iterable[Bounded]:
    held = _counted(texts, numbers)
    if 0 < held["bounds"] <= MOST_BOUNDS and held["texts"] <= MOST_TEXTS and held["numbers"] >= FEWEST_NUMBERS:
        yield from _bounds_in(texts)


def _counted(texts: Collection[str], numbers: int) -> dict[str, int]:
    cells = [amounts.measured(text) for text in texts]
    bounds = sum(cell is not None and cell.bound != "" for cell in cells)
    return {
        "numbers": numbers + len(cells) - cells.count(None) - bounds, "bounds": bounds, "texts": cells.count(None)
    }  # fmt: skip


def nearly_bounded(column: Column) -> dict[str, int]:
    """Counts of numbers, bounds and other texts, if a column holds mostly numbers and some bounds; otherwise {}."""
    texts, others, _ = _texts_and_others(column)
    held = _counted(texts, len(others))
    prevail = held["numbers"] >= max(FEWEST_NUMBERS, 2 * (held["bounds"] + held["texts"]))
    return held if held["bounds"] and prevail and len([*_bounds_in(texts)]) == 1 else {}


# Dates and times


type Part = Literal["elapsed", "month", "weekday", "hour"]
type DateFormat = Literal["iso", "dmy", "mdy", "time"]
PARTS: tuple[Part, ...] = get_args(Part.__value__)
FORMATS: tuple[DateFormat, ...] = get_args(DateFormat.__value__)

MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
          "December")  # fmt: skip
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
LEVELS_OF: Mapping[str, tuple[Any, ...]] = {"month": MONTHS, "weekday": WEEKDAYS, "hour": tuple(range(24))}

CLOCK = r"(?P<H>\d{1,2}):(?P<M>[0-5]\d)(?::(?P<S>[0-5]\d(?:[.,]\d+)?))?\s*(?P<half>[AaPp]\.?[Mm]\.?)?"
ZONE = r"\s*(?P<zone>Z|[+-]\d\d:?(?:\d\d)?)?"
SHAPES: Mapping[str, re.Pattern[str]] = {
    "iso": re.compile(rf"(?P<y>\d{{4}})([-/.])(?P<m>\d{{1,2}})\2(?P<d>\d{{1,2}})(?:[T ]\s*{CLOCK}{ZONE})?"),
    "dmy": re.compile(
        rf"(?P<d>\d{{1,2}})([./-])\s?(?P<m>\d{{1,2}})\2\s?(?P<y>\d{{4}}|\d{{2}})(?:,?[T ]\s*{CLOCK}{ZONE})?"
    ),
    "mdy": re.compile(rf"(?P<m>\d{{1,2}})([/-])(?P<d>\d{{1,2}})\2(?P<y>\d{{4}}|\d{{2}})(?:,?[T ]\s*{CLOCK}{ZONE})?"),
    "time": re.compile(CLOCK),
}
"""Patterns of dates and times of day. In dates with points, the month is never first."""

ORDERS: Mapping[str, str] = {"iso": "year-month-day", "dmy": "day-month-year", "mdy": "month-day-year"}

EPOCH = datetime(1970, 1, 1)
DAY = timedelta(days=1)
HOUR = timedelta(hours=1)


def _moment(text: str, form: str) -> tuple[timedelta, timedelta] | None:
    found = SHAPES[form].fullmatch(text.strip())
    if found is None:  # A date such as 2025-11-20 is clear beside dates of any order; a sheet holds typed dates so.
        return _moment(text, "iso") if form in ("dmy", "mdy") else None
    own = found.groupdict()
    hour, half = int(own["H"] or 0), (own["half"] or "").lower().replace(".", "")
    if half and not 1 <= hour <= 12:
        return None
    hour = hour % 12 + 12 * (half == "pm") if half else hour
    seconds = float((own["S"] or "0").replace(",", "."))
    clock = timedelta(hours=hour, minutes=int(own["M"] or 0), seconds=seconds)
    if form == "time":
        return clock, timedelta(0)
    if hour > 23:
        return None
    year = int(own["y"])
    if len(own["y"]) == 2:
        year += 1900 if year >= 69 else 2000
    try:
        day = datetime(year, int(own["m"]), int(own["d"]))
    except ValueError:
        return None
    zone = own["zone"]
    ahead = timedelta(0)
    if zone and zone != "Z":
        ahead = timedelta(hours=int(zone[1:3]), minutes=int(zone[3:].strip(":") or 0)) * (-1 if zone[0] == "-" else 1)
    return day - EPOCH + clock, ahead


@dataclass(frozen=True, init=False)
class Date(Reading):
    """A column of dates or times, read as one feature column per part.

    ``Date`` is the default for columns of a date or time type, and for text if exactly one format fits all cells
    (``docs/how-to/what-is-read.md``).

    Parameters
    ----------
    *parts : {"elapsed", "month", "weekday", "hour"}
        "elapsed", the default, is a number: days since 1970-01-01 for dates, hours for times of day and durations.
        "month", "weekday" and "hour" are categorical. A feature column is named "month of COLUMN", for example.
    format : {"iso", "dmy", "mdy", "time"}, optional
        The format of text: year-month-day, day-month-year, month-day-year, or a time of day. Ambiguous cells, such as
        03/04/2025, require a format. Years of two digits mean 1969 to 2068.
    zone : str, optional
        Time zone, such as "Europe/Zurich", to which columns with a time zone are converted.

    Raises
    ------
    ValueError
        For an unknown part or format, or in ``fit`` if the cells are ambiguous.

    Notes
    -----
    Month, weekday and hour are computed in the time zone that a text names, otherwise in ``zone`` (by default, the zone
    of the first learned column). Elapsed time is computed from UTC. Cells without a time zone are read as UTC.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X = {"since": ["2024-01-05", "2024-07-01", "2025-01-09", "2025-07-20"]}
    >>> clf = nb.BayesianNB({"since": nb.Date("month")}).fit(X, ["skis", "tent", "skis", "tent"])
    >>> clf.predict({"since": ["2026-07-11"]}).tolist()
    ['tent']
    >>> clf.describe().index.tolist()
    ['month of since']
    """

    parts: tuple[Part, ...]
    format: DateFormat | None = None
    zone: str | None = field(default=None, repr=False)

    def __init__(self, *parts: Part, format: DateFormat | None = None, zone: str | None = None) -> None:
        for part in parts:
            require_choice("part", part, PARTS)
        if format is not None:
            require_choice("format", format, FORMATS)
        if zone is not None:
            try:
                pd.Timestamp(0, tz=zone)
            except Exception as error:  # The type depends on pandas and on the library of time zones.
                raise ValueError(f"no time zone is called {zone!r}, such as 'Europe/Zurich' or 'UTC'") from error
        if len(set(parts)) < len(parts):
            raise ValueError(f"Expected different parts; got {parts}")
        object.__setattr__(self, "parts", tuple(sorted(parts or ("elapsed",), key=PARTS.index)))
        object.__setattr__(self, "format", format)
        object.__setattr__(self, "zone", zone)

    @classmethod
    def of_fields(cls, parts: tuple[Part, ...], format: DateFormat | None, zone: str | None = None) -> Date:
        return cls(*parts, format=format, zone=zone)

    @property
    def resolves(self) -> bool:
        return self.format is not None

    def names(self, column: Any) -> Names:
        return tuple(f"{part} of {column}" for part in self.parts)

    @classmethod
    def parsed(cls, text: str) -> Date:
        words = items_of(text)
        forms = [word for word in words if word in FORMATS]
        return cls(*(word for word in words if word not in forms[:1]), format=forms[0] if forms else None)

    @property
    def spelled(self) -> Spelled:
        form = self.format if self.format in ("dmy", "mdy") else None
        code = ", ".join([*(f'"{part}"' for part in self.parts), *([f'format="{form}"'] if form else [])])
        return Spelled(f"nb.Date({code})", f"date:{','.join([*self.parts, *([form] if form else [])])}")

    @property
    def said(self) -> str:
        return "times of day" if self.format == "time" else "dates"

    def read_as(self, column: Any) -> str:
        return f"{self.said}, read as {self.unit}{' since 1970-01-01' * (self.format != 'time')}"

    @property
    def unit(self) -> str:
        return "hours" if self.format == "time" else "days"

    def left_open(self, texts: Iterable[str], readings: Sequence[Any]) -> str:
        of_day = "the order of day and month"
        return of_day if len(readings) > 1 else "the century" if any(map(_is_short, texts)) else ""

    def shown(self, column: Any, name: Any, cells: Sequence[Any]) -> Sequence[Any]:
        elapsed = "elapsed" in self.parts and name == self.names(column)[0]
        if not elapsed or np.asarray(cells).dtype.kind != "f":  # binned cells are shown as intervals
            return cells
        return [None if np.isnan(cell) else self._text(cell) for cell in cells]

    def rounded(self, cells: Any, fine: bool) -> Any:
        """Round times of day to minutes, and dates to days (to minutes if ``fine``)."""
        unit = 60 if self.format == "time" else 1440 if fine else 1
        return (cells * unit).round() / unit

    def written(self, cells: Sequence[Any]) -> list[str | None]:
        """Format elapsed times as text that :meth:`read` accepts."""
        order = {"dmy": (r"\3.\2.\1"), "mdy": r"\2/\3/\1"}.get(str(self.format), r"\1-\2-\3")
        return [None if np.isnan(cell) else re.sub(r"^(\d+)-(\d+)-(\d+)", order, self._text(cell)) for cell in cells]

    def _text(self, number: float) -> str:
        if self.format == "time":
            seconds = round(abs(number) * 3600)
            text = f"{'-' if number < 0 else ''}{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
        else:
            # Unlike Python's dates, those of numpy reach beyond the year 9999.
            text = str(np.datetime64(round(number * 86400), "s")).replace("T", " ").removesuffix(" 00:00:00")
        return text.removesuffix(":00") if text.count(":") == 2 else text

    def resolved(self, column: Column, mark: Callable[[], str]) -> Date:
        if column.temporal:
            return self.of_fields(
                self.parts, _format_of_type(column.values), self.zone or _zone_of(column.values.dtype)
            )
        texts = texts_of(column) if column.kind == "text" else []
        if self.resolves:
            return self
        forms = formats_of(texts)
        if len(forms) == 1 and not any(map(_is_short, texts)):
            return self.of_fields(self.parts, forms[0])
        said = "which {open} leaves open: say how to read it, as {cure}"
        if not forms:
            said = "and not all of its cells are dates or times of one format: {write}, or read it as levels"
        cures = (Cure("features", self.of_fields(self.parts, form).spelled, column.name) for form in forms)
        rows = column.first_rows(texts) if texts else {}
        value = next((t for t in rows if not (forms or formats_of([t]))), [*rows, column.dtype][0])
        said = "column {column!r} holds {value!r}" + " in row {row}" * bool(rows) + ", " + said
        raise RefusedError(
            said, column=column.name, value=value, row=rows.get(value), cure=(*cures,),
            open=self.left_open(texts, forms), write=to_mend(column.name, value),
        )  # fmt: skip

    def read(self, column: Column) -> dict[Any, Any]:
        codes, distinct = codes_of(column)
        if column.temporal:
            clock, elapsed = _typed_moments(column.values, self.zone)
            each = {part: _part(part, clock, elapsed) for part in self.parts}
        else:
            form: Any = self.format
            texts = [str(text) for text in distinct]
            moments = [_moment(text, form) for text in texts] if column.kind != "empty" else []
            self._require_order(column.name, codes, texts, moments)
            said = f"dates of the form {ORDERS[form]}" if form in ORDERS else self.said
            warn_of_unread(column.name, said, codes, texts, [moment is None for moment in moments])
            clock = np.array([np.nan if m is None else m[0] / HOUR for m in moments] + [np.nan])
            ahead = np.array([0.0 if m is None else m[1] / HOUR for m in moments] + [0.0])
            elapsed = (clock - ahead) / (1 if form == "time" else 24)
            each = {part: _part(part, clock, elapsed)[codes] for part in self.parts}
        return {
            name: cells if part == "elapsed" else _levels(cells, LEVELS_OF[part])
            for (part, cells), name in zip(each.items(), self.names(column.name), strict=True)
        }

    def _require_order(self, column: Any, codes: Array, texts: Sequence[str], moments: Sequence[Any]) -> None:
        # A cell is judged alone, so that neither the order of rows nor the parts of a table matter.
        other = {"dmy": "mdy", "mdy": "dmy"}.get(str(self.format), "iso")
        shaped = [SHAPES["mdy"].fullmatch(text.strip()) for text in texts]
        swapped = [k for k, moment in enumerate(moments) if not moment and shaped[k] and _moment(texts[k], other)]
        for row in np.flatnonzero(np.isin(codes, swapped))[:1]:
            said = (
                "column {column!r} holds {value!r} in row {row}, a date of the form {found}, but its dates are read as "
            )
            said += "{expected}, so that others would be misread: write {write}, and all other dates in this order"
            value = texts[codes[row]]
            raise RefusedError(
                said, column=column, value=value, row=int(row), found=ORDERS[other], expected=ORDERS[str(self.format)],
                write=re.sub(r"(\d+)([/-])(\d+)", r"\3\2\1", value, count=1),
            )  # fmt: skip


def _part(part: str, clock: Array, elapsed: Array) -> Array:
    if part == "elapsed":
        return elapsed
    if part == "hour":
        return np.floor(clock + 1e-9) % 24
    days = np.floor(clock / 24 + 1e-12)
    if part == "weekday":
        return (days + 3) % 7
    held = ~np.isnan(days)
    months = days[held].astype("datetime64[D]").astype("datetime64[M]").astype(int) % 12
    found = np.full(len(days), np.nan)
    found[held] = months
    return found


def _levels(places: Array, levels: tuple[Any, ...]) -> Any:
    codes = np.where(np.isnan(places), -1, np.nan_to_num(places)).astype(np.int8)
    return pd.Categorical.from_codes(codes, pd.Index(levels))


def _format_of_type(values: Any) -> DateFormat:
    dtype = values.dtype
    if isinstance(dtype, pd.ArrowDtype):
        from pyarrow import types

        return "time" if types.is_time(dtype.pyarrow_dtype) or types.is_duration(dtype.pyarrow_dtype) else "iso"
    if pd.api.types.is_object_dtype(dtype):
        of_time = ("time", "timedelta", "timedelta64")
        return "time" if pd.api.types.infer_dtype(values, skipna=True) in of_time else "iso"
    return "time" if getattr(dtype, "kind", "") == "m" else "iso"


def _zone_of(dtype: Any) -> str | None:
    zone = getattr(getattr(dtype, "pyarrow_dtype", dtype), "tz", None)
    return None if zone is None else str(zone)


def _typed_moments(values: Any, zone: str | None) -> tuple[Array, Array]:
    series = pd.Series(values).reset_index(drop=True)
    if isinstance(series.dtype, pd.ArrowDtype):
        series = pd.Series(pd.array(series).__arrow_array__().to_pandas())
    if isinstance(series.dtype, pd.PeriodDtype):
        series = series.dt.to_timestamp()
    if series.dtype == object:
        kind = pd.api.types.infer_dtype(series, skipna=True)
        if kind == "time":
            series = pd.Series(pd.to_timedelta([None if pd.isna(t) else str(t) for t in series]))
        elif kind.startswith("timedelta"):
            series = pd.Series(pd.to_timedelta(series))
        elif kind == "period":
            series = pd.Series(pd.PeriodIndex(series)).dt.to_timestamp()
        else:
            return _of_objects(series, zone)
    if series.dtype.kind == "m":
        hours = (series / pd.Timedelta(hours=1)).to_numpy(float, na_value=np.nan)
        return hours, hours
    if getattr(series.dtype, "tz", None) is not None:
        local = series if zone is None else series.dt.tz_convert(zone)
        return _hours(local.dt.tz_localize(None)), _hours(series.dt.tz_convert("UTC").dt.tz_localize(None)) / 24
    clock = _hours(series)
    return clock, clock / 24


def _hours(series: pd.Series) -> Array:
    unit = np.datetime_data(series.dtype)[0]
    ticks = series.to_numpy().astype(np.int64)
    per_hour = np.timedelta64(1, "h") / np.timedelta64(1, unit)
    return np.where(series.isna(), np.nan, ticks / per_hour)


def _of_objects(series: pd.Series, zone: str | None) -> tuple[Array, Array]:
    clock, elapsed = np.full(len(series), np.nan), np.full(len(series), np.nan)
    for k, cell in enumerate(series):
        if not pd.isna(cell):
            moment = cell if isinstance(cell, datetime) else datetime(cell.year, cell.month, cell.day)
            moment = moment if zone is None or moment.tzinfo is None else pd.Timestamp(moment).tz_convert(zone)
            clock[k] = (moment.replace(tzinfo=None) - EPOCH) / HOUR
            elapsed[k] = (moment.replace(tzinfo=moment.tzinfo or UTC) - EPOCH.replace(tzinfo=UTC)) / DAY
    return clock, elapsed


def formats_of(texts: Collection[str]) -> list[str]:
    """The date and time formats that fit all texts."""
    forms = [form for form in FORMATS if texts and all(_moment(text, form) is not None for text in texts)]
    return forms[:1] if "iso" in forms else forms


def _is_short(text: str) -> bool:
    found = SHAPES["dmy"].fullmatch(text.strip()) or SHAPES["mdy"].fullmatch(text.strip())
    return found is not None and len(found["y"]) == 2


# Several choices in one cell


SEPARATORS = (";", "|", "\n", ",")
MOST_OPTIONS = 64


@dataclass(frozen=True)
class Choices(Reading):
    """A column whose cells list options, such as "email; phone", read as one column of 0 and 1 per option.

    ``Choices`` is the default if ``;``, ``|``, ``,`` or a line break separates options that recur in other cells, and
    the number of options per cell varies. The feature columns are called "COLUMN=OPTION".

    Parameters
    ----------
    separator : str, optional
        The text that separates two options; inferred from the cells by default.
    options : sequence of str, optional
        The options; by default the options in the rows of the first fit. Other options are ignored. A cell that lists
        only other options counts as missing, because these may be other spellings of known options. An empty text means
        that no option was chosen.

    Notes
    -----
    The model treats options as independent given the class. If only one option can be chosen, read the column as
    levels.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X = {"contact": ["Email; Chat", "Email", "Phone; Chat; Email", "Phone", "Phone; Chat", "Chat"]}
    >>> clf = nb.BayesianNB().fit(X, ["new", "new", "new", "old", "old", "old"])
    >>> clf.describe().index.tolist()
    ['contact=Chat', 'contact=Email', 'contact=Phone']
    """

    separator: str | None = None
    options: Any = None

    def __post_init__(self) -> None:
        if self.options is not None:
            object.__setattr__(self, "options", tuple(self.options))
            if len(set(self.options)) < len(self.options) or not self.options:
                raise ValueError(f"Expected at least one option and different ones; got {self.options}")

    def names(self, column: Any) -> Names:
        return tuple(f"{column}={option}" for option in self.options)

    @property
    def spelled(self) -> Spelled:
        return Spelled(f'nb.Choices("{self.separator}")', f"choices:{self.separator}")

    @property
    def said(self) -> str:
        return "choices"

    def read_as(self, column: Any) -> str:
        first = f"{column}={self.options[0]}"
        return f"several choices per cell, read as {len(self.options)} columns of 0 and 1, such as {first!r}"

    def resolved(self, column: Column, mark: Callable[[], str]) -> Choices:
        if self.resolves:
            return self
        texts = texts_of(column) if column.kind == "text" else []
        seps = [self.separator] if self.separator else [s for s in SEPARATORS if any(s in text for text in texts)][:1]
        if not texts or (not seps and self.options is None):
            said = "column {column!r} holds no cell with several choices: name what separates them, as "
            raise RefusedError(said + 'Choices(separator=";")', column=column.name)
        sep = seps[0] if seps else SEPARATORS[0]
        return Choices(sep, self.options or tuple(sorted({*chain(*(_split(text, sep) for text in texts))})))

    def read(self, column: Column) -> dict[Any, Any]:
        codes, distinct = codes_of(column)
        place = {option: k for k, option in enumerate(self.options)}
        held = np.full((len(distinct) + 1, len(place)), np.nan)
        # A single choice may be a number, and be stored as a float.
        texts = [f"{cell:.15g}" if isinstance(cell, float) else str(cell) for cell in distinct]
        unread, partly = [], []
        for row, text in zip(held, texts, strict=False):
            chosen = _split(text, self.separator)
            known = [place[one] for one in chosen if one in place]
            unread.append(not known and bool(chosen) and text.strip().lower() not in amounts.GAPS)
            partly.append(0 < len(known) < len(chosen))
            if not unread[-1]:  # Otherwise, an option in another spelling would be evidence of no option.
                row[:] = 0.0
                row[known] = 1.0
        warn_of_unread(column.name, "choices among its options", codes, texts, unread, write=self._written)
        warn_of_unread(column.name, "choices among its options alone", codes, texts, partly, OTHERS_IGNORED)
        return {name: held[codes, k] for k, name in enumerate(self.names(column.name))}

    def _written(self, text: str) -> str:
        known = {folded(option): option for option in self.options}
        for sep in SEPARATORS:
            chosen = [known.get(folded(one)) for one in _split(text, sep)]
            if None not in chosen:
                return repr(f"{self.separator} ".join(chosen))
        return ""


OTHERS_IGNORED = "options that were not learned are ignored"


def _split(text: str, separator: str) -> list[str]:
    return [part for part in map(str.strip, text.split(separator)) if part]


def _choices_in(texts: Collection[str]) -> Iterable[Choices]:
    for sep in SEPARATORS:
        if sum(sep in text for text in texts) < 2:
            continue
        cells = [_split(text, sep) for text in texts]
        counts = Counter(chain(*cells))
        varies = len({len(cell) for cell in cells}) > 1
        recur = sum(n > 1 for n in counts.values()) >= 0.8 * len(counts)
        once = all(len(set(cell)) == len(cell) for cell in cells)
        several = [(text, cell) for text, cell in zip(texts, cells, strict=True) if sep in text]
        of_numbers = (all(part.replace(".", "").isdecimal() for part in cell) for _, cell in several)
        numbers = all(
            of or amounts.measured(t) or amounts.labelled(t) for of, (t, _) in zip(of_numbers, several, strict=True)
        )
        words = sep != "," or not numbers
        if varies and recur and once and words and 2 <= len(counts) <= MOST_OPTIONS and len(counts) < len(texts):
            yield Choices(sep, tuple(sorted(counts)))
            return


# Sentences


def are_sentences(texts: Collection[Any], rows: float = 0.0) -> bool:
    """Whether most distinct values of a column are sentences: texts with at least three uncapitalized words."""
    # Sentences seldom recur, so there are more than half as many as rows (``rows``: total weight of rows with a value).
    of_text = len(texts) * 2 > rows and all(isinstance(text, str) for text in texts)
    return of_text and 2 * sum(map(_is_sentence, texts)) > len(texts)


def _is_sentence(text: str) -> bool:
    return text.count(" ") >= 2 and sum(not word[0].isupper() for word in words_of_letters().findall(text)) >= 3


@cache
def words_of_letters() -> re.Pattern[str]:
    """A pattern for words of at least two letters, without digits."""
    return re.compile(rf"[^\W\d_](?:[^\W\d_]|[{marks()}])+")


@cache
def marks() -> str:
    """Unicode's combining marks (category M), as a character class for a regular expression."""
    points = [p for p in [*range(0x20000), *range(0xE0100, 0xE01F0)] if unicodedata.category(chr(p))[0] == "M"]
    gaps = np.flatnonzero(np.diff(points) > 1)
    first, last = (np.take(points, ends).tolist() for ends in (np.r_[0, gaps + 1], np.r_[gaps, len(points) - 1]))
    return "".join(f"{chr(a)}-{chr(b)}" for a, b in zip(first, last, strict=True))


# Spellings of one level


def folded(text: str) -> str:
    """Fold a text: normalize its case, spaces and Unicode form."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def by_spelling(texts: Iterable[str]) -> dict[str, list[str]]:
    """Group texts that differ only in case, spaces and Unicode form; the keys are the folded texts."""
    found: dict[str, list[str]] = {}
    for text in sorted(texts):
        found.setdefault(folded(text), []).append(text)
    return found


def spellings(texts: Iterable[str]) -> dict[str, list[str]]:
    """Group texts that differ only in case, spaces and Unicode form; the keys are the preferred spellings."""
    groups = by_spelling(texts).values()
    return {max((" ".join(text.split()) for text in group), key=_naturally): group for group in groups}


def _naturally(text: str) -> tuple[bool, str]:
    # "Kassel" before "kassel" and "KASSEL". Counts of spellings would depend on how a table is cut into parts.
    return text not in (text.lower(), text.upper()), text


MOST_SPELLED = 500
"""Columns with more levels than this number are not searched for misspelled levels."""


def slips_in(counts: Mapping[str, int]) -> dict[str, str]:
    """Find rare misspelled levels and synonyms ("y", "yes"); map them to more frequent levels."""
    if len(counts) > MOST_SPELLED:
        return {}
    groups = [(sum(counts[text] for text in own), most_frequent(own, counts)) for own in spellings(counts).values()]
    groups.sort(key=lambda group: (-group[0], group[1]))
    found = {}
    for n, slip in groups:
        a = folded(slip)
        if len(a) >= 4 and not any(letter.isdigit() for letter in a):
            common = ((of_level, level, folded(level)) for of_level, level in groups if of_level >= max(20, n))
            near = (level for of_level, level, b in common if of_level >= n * _least_ratio(a, b))
            if (level := next(near, None)) is not None:
                found[slip] = level
    return found | _synonyms_in(counts)


def most_frequent(texts: Sequence[str], counts: Mapping[str, int]) -> str:
    """The most frequent spelling in ``texts``, without extra spaces; in a tie, "Word" before "WORD" and "word"."""
    totals = Counter[str]()
    for text in texts:
        totals[" ".join(text.split())] += counts[text]
    return max(totals, key=lambda text: (totals[text], *_naturally(text)))


def _least_ratio(slip: str, level: str) -> float:
    """The least ratio of frequencies at which ``slip`` counts as a misspelling of ``level``; may be infinite."""
    # Among 3,484 columns of 2,294 public tables, no two levels differ by two exchanged letters within a word, and only
    # other villages by one letter less. Other letters tell wards A and W apart, and places I, II and IV.
    words, long = (slip.split(), level.split()), len(slip) >= 5
    if len(words[0]) == len(words[1]):
        differ = [pair for pair in zip(*words, strict=True) if pair[0] != pair[1]]
        if len(differ) != 1:
            return np.inf
        ((slip, level),) = differ
    start = next((k for k, (p, q) in enumerate(zip(slip, level, strict=False)) if p != q), min(len(slip), len(level)))
    rest, other = slip[start:], level[start:]
    doubled = any(level[:k] + level[k + 1 :] == slip for k in range(1, len(level)) if level[k] == level[k - 1])
    swapped = rest[:2] == other[:2][::-1] and rest[2:] == other[2:]
    further = rest[1:] == other or rest == other[1:]
    if len(slip) >= 4 and (doubled or level == f"{slip}s"):
        return 10
    if not long or min(len(slip), len(level)) < 3 or not (swapped or further or rest[1:] == other[1:]):
        return np.inf
    # Christian and Christina, Gabriel and Gabriela, mother and other are no errors.
    within = len(slip) >= 6 and start > 0 and (len(rest) > 2 if swapped else min(len(rest), len(other)) > 0)
    return 20 if not within else 3 if swapped else 10 if further else 20


ANSWERS = [
    ["y", "yes"], ["n", "no"], ["j", "ja"], ["n", "nein"], ["o", "oui"], ["n", "non"], ["s", "sí"], ["t", "true"],
    ["f", "false"], ["m", "male", "man"], ["f", "female", "woman"], ["m", "männlich"], ["w", "weiblich"],
    ["€", "eur", "euro"], ["£", "gbp"], ["us$", "usd"], ["chf", "sfr", "sfr."],
]  # fmt: skip
"""Synonyms: each list holds words for one answer or one currency."""


def _synonyms_in(counts: Mapping[str, int]) -> dict[str, str]:
    held, known = by_spelling(counts), {*amounts.MARKS, *chain(*ANSWERS)}
    if not all(word in known or amounts.is_currency(word) for word in held):
        return {}  # N and NO are points of the compass beside SO.
    found = {}
    for words in ANSWERS:
        here = [text for word in words for text in held.get(word, ())]
        if here:
            best = min(here, key=lambda text: (-counts[text], text))
            found |= {max(held[word]): best for word in words if word in held and word != folded(best)}
    return found


@dataclass(frozen=True)
class Joined(Reading):
    """A column of levels whose different spellings are joined.

    Levels that differ only by case, spaces or Unicode form become one level. The level gets the spelling in ``pairs``,
    if given. Otherwise, a spelling with both capitals and small letters is preferred, even if it is rare, because the
    most frequent spelling may differ between parts of a table. ``inspect`` finds the most frequent spelling in the
    whole table, and proposes ``pairs``.

    Parameters
    ----------
    pairs : {spelling: level}, optional
        Further spellings, such as typing errors, and the level that each spelling means.
    order : sequence of levels, optional
        All levels from the lowest to the highest. The joined column then gets the family ``Ordinal(order=order)``.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X = {"sex": ["f", "F", "f ", "m", "M", "male"]}
    >>> clf = nb.BayesianNB({"sex": nb.Joined({"male": "m"})}).fit(X, ["a", "a", "b", "b", "b", "b"])
    >>> clf.tables()["sex"].columns.tolist()
    ['f', 'm']
    """

    pairs: Any = ()
    order: Any = ()
    levels: tuple[tuple[str, str], ...] | None = None

    def __post_init__(self) -> None:
        pairs = self.pairs.items() if isinstance(self.pairs, Mapping) else self.pairs
        object.__setattr__(self, "pairs", tuple(sorted((str(a), str(b)) for a, b in pairs)))
        object.__setattr__(self, "order", tuple(map(str, self.order)))

    @classmethod
    def parsed(cls, text: str) -> Joined:
        items = items_of(text)
        orders = [item.split(" < " if " < " in item else "<") for item in items if ">" not in item]
        if len(orders) > 1 or any(len(order) < 2 for order in orders):
            raise ValueError(f"Expected pairs SPELLING>LEVEL, and at most one order LOWEST<…<HIGHEST; got {text!r}")
        pairs = (pair.partition(">") for pair in items if ">" in pair)
        return cls({a.strip(): b.strip() for a, _, b in pairs}, [level.strip() for level in chain(*orders)])

    @property
    def spelled(self) -> Spelled:
        code = [f"{dict(self.pairs)!r}"] * bool(self.pairs) + [f"order={[*self.order]!r}"] * bool(self.order)
        shown = listed([*(f"{a}>{b}" for a, b in self.pairs), *[" < ".join(self.order)] * bool(self.order)])
        return Spelled(f"nb.Joined({', '.join(code)})", f"joined:{shown}" if shown else "joined")

    @property
    def said(self) -> str:
        return "levels in several spellings"

    def applies(self, column: Column) -> bool:
        return column.kind == "text"

    def resolved(self, column: Column, mark: Callable[[], str] = str) -> Joined:
        if column.kind not in ("text", "empty"):
            said = "column {column!r} holds {value}, and spellings of text are joined"
            raise RefusedError(said, column=column.name, value=column.kind)
        codes, distinct = column.coded
        texts = {str(distinct[k]) for k in np.unique(codes[codes >= 0])}
        return self._over({folded(level): level for level in spellings(texts)})

    def _over(self, levels: Mapping[str, str]) -> Joined:
        levels = {**levels, **{folded(b): b for b in (*dict(self.pairs).values(), *self.order)}}
        meant = {folded(a): levels[folded(b)] for a, b in self.pairs}
        return replace(self, levels=tuple(sorted({**levels, **meant}.items())))

    def lacks(self, advised: Joined) -> bool:
        """Whether ``advised`` has corrected spellings, or an order of levels, that this object lacks."""
        if advised.order and not self.order:
            return True
        joins = {folded(a) for a, _ in self.pairs}
        return any(folded(a) not in {*joins, folded(b)} for a, b in advised.pairs)

    def united(self, other: Joined) -> Joined:
        """Combine the spellings found in two tables, with one spelling for each level."""
        levels: dict[str, str] = {}
        for key, level in (*(self.levels or ()), *(other.levels or ())):
            levels[key] = max(levels.get(key, level), level, key=_naturally)
        return self._over(levels)

    def respelled(self, names: Iterable[Any]) -> tuple[Any, ...]:
        """Return the levels ``names``, each in its preferred spelling, such as "Yes" for "yes"."""
        levels, found = dict(self.levels or ()), list[Any]()
        for name in names:
            level = levels.get(folded(name), name) if isinstance(name, str) else name
            found.append(name if level in found else level)
        return tuple(found)

    def read(self, column: Column) -> dict[Any, Any]:
        codes, distinct = column.coded
        levels = dict(self.levels or ())
        joined = [levels.get(folded(str(text)), " ".join(str(text).split())) for text in distinct]
        return {column.name: np.array([*joined, None], object)[codes]}


# All readings


HAS_DIGIT = re.compile(r"\d|(?i:\binf)").search

LOOKED_AT = 40
"""Number of texts that are tried first, which excludes most columns of text quickly."""


def recognised(texts: Collection[str], plain: bool = False) -> tuple[Reading, ...]:
    """The readings, such as ``Number`` or ``Date``, that fit all texts; if ``plain`` is true, numbers need no unit."""
    if len(texts) < 2 - plain:
        return ()
    some = [text for text, _ in zip(texts, range(LOOKED_AT), strict=False)]
    if all(map(HAS_DIGIT, some)):  # Otherwise, the texts are neither numbers nor dates.
        if numbers := list(_numbers_in(some, plain)) and list(_numbers_in(texts, plain)):
            return tuple(numbers)
        if forms := formats_of(some) and formats_of(texts):
            return tuple(Date(format=form) for form in forms)
    if any(map(amounts.BOUND.match, map(str.strip, texts))) and (bounded := tuple(_bounded_in(texts))):
        return bounded
    return tuple(_choices_in(texts)) if any(sep in text for text in some for sep in SEPARATORS) else ()


def nearly_recognised(texts: Collection[str]) -> tuple[Reading, list[str]] | None:
    """The only reading that fits all except one to three texts, and the exceptions; ``None`` if none or several fit."""
    if recognised(texts):
        return None  # To look at each text alone takes long.
    alone = [*islice((text for text in texts if not recognised((text, text))), 4)]
    rest = [text for text in texts if text not in {*alone}] if 0 < len(alone) < 4 else []
    found = recognised(rest) if len(rest) >= 10 else ()
    if not found and not rest and (units := Counter(cell.unit for cell in map(amounts.labelled, texts) if cell)):
        fitting = {"", max(units, key=lambda unit: (units[unit], unit))}
        alone = [text for text in texts if not (cell := amounts.labelled(text)) or cell.unit not in fitting]
        rest = [text for text in texts if text not in {*alone}] if 0 < len(alone) < 4 else []
        found = amounts_in(rest)[:1] if len(rest) >= FEWEST_NUMBERS else ()
    return (found[0], alone) if len(found) == 1 else None


def recognised_in(column: Column) -> tuple[Reading, ...]:
    """The readings, such as ``Date``, that fit the dtype or the texts of a column."""
    if column.temporal:
        return (Date(format=_format_of_type(column.values)),)
    if column.kind != "text" or column.declared is not None:
        return ()
    texts, others, gaps = _texts_and_others(column)
    if not others:
        return recognised(texts, plain=gaps)
    if gaps and not any(isinstance(cell, bool | np.bool_) for cell in others):
        # Without the markers of missing cells, the column would hold numbers, as in a file.
        found = Number(".", "")
        if found in (*_numbers_in(texts, plain=True), *([] if texts else [found])):
            return (found,)
    return tuple(_bounded_in(texts, len(others)))


def default_reading(column: Column, found: Sequence[Reading] | None = None) -> Reading | None:
    """The only reading (such as ``Date``) that fits a column; ``None`` if none or several fit."""
    found = recognised_in(column) if found is None else found
    if len(found) != 1:
        return None
    by_day = found[0] in (Date(format="dmy"), Date(format="mdy"))
    return None if by_day and any(map(_is_short, texts_of(column))) else found[0]


def numbers_for_a_family(column: Column, only_money: bool, mark: Callable[[], str]) -> Number | None:
    """The ``Number`` reading of a text column for which the user named a family; ``None`` unless exactly one fits."""
    texts = texts_of(column)
    # If ``only_money`` is true, numbers without a currency are not read, and ``mark`` settles no decimal mark.
    of_any = not only_money and all(map(amounts.unit_of, texts))
    found = [own for own in amounts_in(texts) if of_any or amounts.is_currency(own.unit)]
    if not (found or only_money):
        found = [own for own in _numbers_in(texts, True, "") if not own.unit]
    found = found if only_money else of_mark(found, mark)
    return found[0] if len(found) == 1 else None


def texts_of(column: Column) -> list[str]:
    """The sorted distinct texts, without missing-value markers; [] if any cell is not text."""
    texts, others, _ = _texts_and_others(column)
    return [] if others else texts


def _texts_and_others(column: Column) -> tuple[list[str], list[Any], bool]:
    """Distinct texts without missing-value markers, distinct non-text cells, and whether markers occur."""
    codes, distinct = column.coded
    used = np.bincount(codes[codes >= 0], minlength=len(distinct)) > 0
    cells = {distinct[k] for k in np.flatnonzero(used)}
    texts = {cell for cell in cells if isinstance(cell, str)}
    held = sorted(text for text in texts if text.strip().lower() not in amounts.GAPS)
    return held, [cell for cell in cells if cell not in texts], len(held) < len(texts)


def codes_of(column: Column) -> tuple[Array, list[Any]]:
    """The code of each cell (-1 for missing cells and dates), (row,), and the distinct values."""
    if column.temporal:
        return np.full(len(column.values), -1), []
    return column.coded


def converted(column: Column, value: Any, said: str, write: Callable[[str], str] = lambda _: "") -> Array:
    """The number ``value(cell)`` of each cell, (row,); warn of cells without a number, which become missing."""
    codes, distinct = column.coded
    texts = [str(text) for text in distinct]
    found = [value(cell) for cell in distinct]
    warn_of_unread(column.name, said, codes, texts, [number is None for number in found], write=write)
    return np.array([np.nan if number is None else number for number in found] + [np.nan])[codes]


def warn_of_unread(
    column: Any, said: str, codes: Array, texts: Sequence[str], unread: Sequence[bool], then: str = "count as missing",
    write: Callable[[str], str] = lambda _: "",
) -> None:  # fmt: skip
    """Warn of cells that could not be read, such as "soon" in a column of dates, and suggest replacements
    ``write(text)``.
    """
    wrong = [k for k, odd in enumerate(unread) if odd and texts[k].strip().lower() not in amounts.GAPS]
    if not wrong or not (rows := np.isin(codes, wrong)).any():
        return
    shown = texts[codes[np.flatnonzero(rows)[0]]]
    effect = then + (f": if it is one, write {cure}" if (cure := write(shown)) else "")
    cells = f"{int(rows.sum()):,} of {len(codes):,} cells are no {said}, such as {shown!r}"
    warn(f"column {column!r}: {cells}, and {effect}", UnreadCellWarning)


def numbers_among(levels: Collection[Any]) -> tuple[list[Number], list[str]]:
    """The ``Number`` readings that fit the numeric levels, and a list of the other levels."""
    texts = [level for level in levels if isinstance(level, str)]
    odd = [text for text in texts if not amounts.is_finite(text)]
    numbers = [*_numbers_in({*texts} - {*odd}, plain=True)]
    return numbers, odd if odd or numbers else [text for text in texts if not amounts.is_float(text)]


def written_as_text(levels: Collection[Any]) -> list[Number]:
    """The ``Number`` readings that fit all levels, unless all levels may be codes: whole numbers such as 7 or (7)."""
    texts = [level for level in levels if isinstance(level, str)]
    coded = len(texts) < len(levels) or all(re.sub(r"[()]|-$", "", text.strip()).isdecimal() for text in texts)
    return [] if coded else [*_numbers_in(texts, plain=True)]


def no_numbers_in(levels: Sequence[Any]) -> list[str]:
    """The levels that are not numbers; [] if more than about a fifth of the levels are not numbers."""
    some = [str(level) for level in levels[:: max(1, len(levels) // 25)]]
    whole, odd = sum(text.strip().isdecimal() for text in some), 0
    for text in some:
        odd += not amounts.is_finite(text)
        if odd > 0.2 * len(some):
            return []
    found = numbers_among(levels)[1]
    markers = all(text.strip().lower() in amounts.MARKS for text in found)
    texts = all(isinstance(level, str) for level in levels)
    return found if odd + whole <= 0.2 * len(some) or markers or not texts else []


READINGS: Mapping[str, type[Reading]] = {
    "number": Number, "bounded": Bounded, "date": Date, "choices": Choices, "joined": Joined,
}  # fmt: skip
"""The readings by their names on the command line."""
