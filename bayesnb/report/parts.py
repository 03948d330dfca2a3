"""Building blocks of reports and screens, such as sections and tables, and functions that format numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bayesnb.data.amounts import with_other_mark
from bayesnb.inference.questions import QUESTIONS
from bayesnb.wording import FROM_0, Message

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bayesnb.numerics import Array

DIGITS = 3
"""Decimal places of a score or a probability."""

NUMBER = re.compile(r"[-+−]?[\d∞—](?:[-+−±–\d∞—.,:%() e]| to )*")
"""A right-aligned cell: a number, or a number with its interval or its standard error."""


@dataclass(frozen=True, eq=False)
class Bars:
    """Bars with intervals in the last column of a table, one bar per row (NaN: no bar)."""

    sizes: Array
    lower: Array
    upper: Array
    label: str  # Bars to the right favour this class.
    against: str  # Bars to the left favour this class.


@dataclass(frozen=True, eq=False)
class TablePart:
    """A table with row headings in its index."""

    frame: pd.DataFrame
    caption: str
    folded: bool = False  # Whether the table is collapsed in HTML.
    bars: Bars | None = None  # With bars, the last row is the total of the other rows.
    cut: bool = False  # Whether it is only the first rows or columns of a larger table.


@dataclass(frozen=True, eq=False)
class Picture:
    """A picture with a description for readers who cannot see it."""

    figure: Callable[[], Figure]
    caption: str
    says: str


@dataclass(frozen=True, eq=False)
class FindingList:
    """Sentences, each with the title of a section that gives details, or None."""

    items: Sequence[tuple[Sentence, str | None]]


type Sentence = str | Message
"""A text for people; the writer formats the cures of a message."""

type Part = Sentence | TablePart | Picture | FindingList


@dataclass(frozen=True, eq=False)
class Section:
    """A heading and its content."""

    title: str
    parts: Sequence[Part]  # Each string is a paragraph.
    lead: Sentence = ""  # The first sentence.
    finding: Sentence = ""  # A sentence for the list of findings.
    folded: bool = False  # Whether the section is collapsed in HTML.


def one_line(value: Any, most: int = 200) -> str:
    """Write a value as one line, with unprintable characters replaced."""
    text = f"{value:.10g}" if isinstance(value, float) else str(value)
    text = re.sub(r"\r\n|[\r\n\v\f\u0085\u2028\u2029]", " ↵ ", text)
    text = "".join("\ufffd" if not c.isprintable() and c not in "\t\u00a0" else c for c in text)
    return text if len(text) <= most else text[: most - 1] + "…"


def row_text(row: Mapping[Any, Any], decimals: Mapping[str, str]) -> str:
    """Format a row as text, without its missing cells, and with decimal points also in numbers with a comma."""
    held = {name: value for name, value in row.items() if pd.isna(value) is not True}
    held |= {k: with_other_mark(v, ",") for k, v in held.items() if decimals.get(str(k)) == "," and isinstance(v, str)}
    return ", ".join(f"{name}={one_line(value, 100)}" for name, value in held.items())


def written(value: Any, digits: int | None = DIGITS) -> Any:
    """Write a number with ``digits`` decimal places (None: four significant digits)."""
    if value is None or value is pd.NA or value is pd.NaT:
        return "—"
    if not isinstance(value, float | np.floating):
        return value
    if np.isnan(value):
        return "—"
    if np.isinf(value):
        return "−∞" if value < 0 else "∞"
    if digits is None:
        return f"{value:.4g}"
    return f"{value:.1g}" if 1e-9 < abs(value) < 0.5 * 10.0**-digits else f"{value:z.{digits}f}"


def with_interval(value: Any, lower: Any, upper: Any, digits: int | None = None) -> str:
    """Write a number or date with its interval, by default with decimal places that suit the largest of the numbers."""
    numbers = [number for number in (value, lower, upper) if number is not None]
    if isinstance(value, str):
        return f"{value} ({lower} to {upper})" if isinstance(lower, str) else value
    if any(np.isnan(numbers)) or lower == upper == value:
        return "—" if value is None or np.isnan(value) else str(written(value))
    digits = digits_of(pd.Series(numbers)) if digits is None else digits
    *first, low, high = (written(float(number), digits) for number in numbers)
    if low == high and lower != upper:  # Ends that differ are shown to differ.
        *first, low, high = (written(float(number), (digits or 0) + 2) for number in numbers)
    ends = f"{low} to {high}" if lower < 0 else f"{low}–{high}"
    return f"{first[0]} ({ends})" if first else ends


def with_error(value: float, error: float, digits: int = DIGITS, sign: str = "") -> str:
    """Write a number with its standard error."""
    return "∞" if np.isinf(value) else "—" if np.isnan(value) else f"{value:{sign}z.{digits}f} ±{error:.{digits}f}"


def digits_of(column: pd.Series) -> int | None:
    """Number of decimal places for a column of numbers, None for other columns."""
    if not all(v is None or (isinstance(v, int | float | np.number) and not isinstance(v, bool)) for v in column):
        return None
    values = np.array([0.0 if v is None else float(v) for v in column])
    values = values[np.isfinite(values)]
    if not len(values):
        return DIGITS
    if (values == np.rint(values)).all():
        return 0
    return int(np.clip(4 - np.floor(np.log10(np.abs(values).max())), 1, DIGITS))


@dataclass(frozen=True)
class CellTexts:
    """The cells of a frame as texts, without empty columns."""

    names: list[str]  # The names of the index levels, then of the columns.
    rows: list[list[str]]
    numbers: list[bool]  # Whether each column contains numbers.
    heads: int  # Number of index levels.


def cells_of(frame: pd.DataFrame) -> CellTexts:
    """Format a frame as strings."""
    heads = frame.index.nlevels
    names = ["" if name is None else name for name in frame.index.names] + list(frame.columns)
    columns = [list(frame.index.get_level_values(k)) for k in range(heads)]
    columns = [[str(written(value, None)) for value in values] for values in columns]
    for k in range(frame.shape[1]):
        digits = digits_of(frame.iloc[:, k])
        columns.append([str(written(value, digits)) for value in frame.iloc[:, k]])
    kept = [k for k, texts in enumerate(columns) if k < heads or not len(frame) or any(texts)]
    numbers = [all(map(NUMBER.fullmatch, filter(None, columns[k]))) for k in kept]
    rows = [list(texts) for texts in zip(*(columns[k] for k in kept), strict=True)]
    return CellTexts([str(names[k]) for k in kept], rows, numbers, heads)


def spoken(name: Any) -> str:
    """The readable name of a result column, such as "log Bayes factor"."""
    own = name in ("log_odds", "log_e", "log_largest") or any(name in each.columns for each in QUESTIONS.values())
    return name.replace("_", " ").replace("bayes", "Bayes") if own else str(name)


def readable(frame: pd.DataFrame) -> pd.DataFrame:
    """Format a table for people, with each number and its interval or standard error in one cell."""
    # ``lower`` and ``upper`` are the interval of the column ``median`` or, without it, of the preceding column. A
    # column ``se`` or ``x_se`` is the standard error of the preceding column.
    names = [name if isinstance(name, tuple) else (name,) for name in frame.columns]
    cells = {name: frame.iloc[:, k].tolist() for k, name in enumerate(names)}
    shown: dict[str, list[Any]] = {}
    for name in names:
        *group, what = [str(word) for word in name if word != ""] or [""]
        title = ": ".join([*group, spoken(what)])
        ends = [cells.get((*name[:-1], end)) for end in ("lower", "upper")]
        if what == "lower" and all(ends):
            between = cells.get((*name[:-1], "median"))
            earlier = [each for each in names[: names.index(name)] if each[-1] != "sd"]
            before = earlier[-1] if earlier and between is None and not group else None
            numbers = between or (cells[before] if before else [None] * len(frame))
            title = spoken(before[-1]) if before else ": ".join([*group, *(["median"] if between else [])])
            shown[title] = [with_interval(*line) for line in zip(numbers, *ends, strict=True)]
        elif what == "se" or what.endswith("_se"):
            before = next(reversed(shown))
            pairs = zip(cells[names[names.index(name) - 1]], cells[name], strict=True)
            shown[before] = [with_error(*pair, sign="+") for pair in pairs]
        elif not (what in ("upper", "median") and all(ends)):
            shown[title] = cells[name]
    heads = ["row" if name is None else spoken(name) for name in frame.index.names]
    return pd.DataFrame(shown, index=frame.index.set_names(heads))


def by_position(sections: Iterable[Section]) -> Iterator[Section]:
    """Add "Rows are counted from 0." to sections with a table of rows."""
    for section in sections:
        tables = [part.frame.index.names for part in section.parts if isinstance(part, TablePart)]
        note = [f"{FROM_0.capitalize()}."] if any("row" in names for names in tables) else []
        yield replace(section, parts=[*section.parts, *note])


def count_of(counts: Mapping[Any, float], most: int = 12) -> str:
    """List the counts of up to ``most`` classes as text."""
    each = [f"{label} {n:,.10g}" for label, n in counts.items()]
    return ", ".join(each[:most]) + (f", and {len(each) - most:,} more" if len(each) > most else "")
