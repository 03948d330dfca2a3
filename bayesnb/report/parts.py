"""The parts of a page: sections with paragraphs, lists, tables, pictures and ledgers; and how numbers are written."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Grid:
    """A table of the page.

    Parameters
    ----------
    frame : DataFrame
        Its index heads the rows.
    caption : str
    folded : bool
        True if HTML shows it only on demand, as for the numbers behind a picture.
    """

    frame: pd.DataFrame
    caption: str
    folded: bool = False


@dataclass(frozen=True, eq=False)
class Picture:
    """A picture of the page, with a description in words for those who cannot see it."""

    figure: Figure
    caption: str
    says: str


@dataclass(frozen=True, eq=False)
class Ledger:
    """The contributions to the log-odds of a row, as bars with their numbers.

    Parameters
    ----------
    frame : DataFrame (entry, ...)
        ``value``, ``log_odds``, ``lower``, ``upper``; the last entry is the total.
    label, against : str
        The class that bars to the right are for, and that of the bars to the left.
    caption : str
    """

    frame: pd.DataFrame
    label: str
    against: str
    caption: str


@dataclass(frozen=True, eq=False)
class Findings:
    """A list of sentences, each with the title of the section that has more, or with ``None``."""

    items: Sequence[tuple[str, str | None]]


type Part = str | Grid | Picture | Ledger | Findings


@dataclass(frozen=True, eq=False)
class Section:
    """A heading, and what stands under it.

    Parameters
    ----------
    title : str
    parts : sequence of parts
        A text is a paragraph.
    lead : str
        The sentence that stands first, in large letters.
    finding : str
        One sentence for the list of what to look at.
    folded : bool
        True if HTML shows the section only on demand.
    """

    title: str
    parts: Sequence[Part]
    lead: str = ""
    finding: str = ""
    folded: bool = False


@dataclass(frozen=True, eq=False)
class Page:
    """A page: its title, what it is about in one sentence, and its sections."""

    title: str
    about: str
    sections: Sequence[Section]


def one_line(value: Any, most: int = 200) -> str:
    """Write a name or a value as one line; a character that cannot be shown becomes a replacement character."""
    text = re.sub(r"\r\n|[\r\n\v\f\u0085\u2028\u2029]", " ↵ ", str(value))
    text = "".join("\ufffd" if not c.isprintable() and c not in "\t\u00a0" else c for c in text)
    return text if len(text) <= most else text[: most - 1] + "…"


def paragraph(text: Any) -> str:
    """Write a sentence, which may be long, as one line."""
    return one_line(text, 2000)


def shown(value: Any, decimals: int | None = None) -> str:
    """Write a value; a number has so many decimals, or four significant digits."""
    if value is None or value is pd.NA or value is pd.NaT:
        return "—"
    if not isinstance(value, float | np.floating):
        return one_line(value)
    if np.isnan(value):
        return "—"
    if np.isinf(value):
        return "−∞" if value < 0 else "∞"
    if decimals is None or 0 < abs(value) < 0.5 * 10.0**-decimals:
        return f"{value:.4g}"
    return f"{value:.{decimals}f}"


def _decimals(column: pd.Series) -> int | None:
    """Choose the decimals that all numbers of a column are shown with; None for a column that is not of numbers."""
    if not all(v is None or (isinstance(v, int | float | np.number) and not isinstance(v, bool)) for v in column):
        return None
    values = np.array([0.0 if v is None else float(v) for v in column])
    values = values[np.isfinite(values)]
    if (values == np.rint(values)).all():
        return 0
    return int(np.clip(4 - np.floor(np.log10(np.abs(values).max())), 1, 4))


@dataclass(frozen=True)
class Cells:
    """A frame as texts.

    Parameters
    ----------
    heads : list of str
        The names of the index.
    names : list of str
        The names of the columns.
    rows : list of (heads, cells)
    numbers : list of bool
        Which columns hold numbers.
    """

    heads: list[str]
    names: list[str]
    rows: list[tuple[list[str], list[str]]]
    numbers: list[bool]


def cells_of(frame: pd.DataFrame) -> Cells:
    """Write a frame as texts."""
    heads = [one_line(name) if name is not None else "" for name in frame.index.names]
    decimals = [_decimals(frame.iloc[:, k]) for k in range(frame.shape[1])]
    rows = []
    for k, label in enumerate(frame.index):
        labels = label if frame.index.nlevels > 1 else (label,)
        cells = [shown(frame.iat[k, c], digits) for c, digits in enumerate(decimals)]
        rows.append(([shown(part) for part in labels], cells))
    names = [one_line(name) for name in frame.columns]
    return Cells(heads, names, rows, [digits is not None for digits in decimals])


def ledger_frame(ledger: Ledger) -> pd.DataFrame:
    """A ledger as the frame of a table."""
    return ledger.frame[["value", "log_odds", "lower", "upper"]]


def count_of(counts: Mapping[Any, float], most: int = 12) -> str:
    """Write counts of classes as text, the first of many."""
    each = [f"{one_line(label, 60)} {n:,.10g}" for label, n in counts.items()]
    return ", ".join(each[:most]) + (f", and {len(each) - most} more" if len(each) > most else "")
