"""The parts of a page: sections with paragraphs, tables and pictures; and the way names and numbers are written."""

from __future__ import annotations

import re
from collections.abc import Sequence
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


type Part = str | Grid | Picture


@dataclass(frozen=True, eq=False)
class Section:
    """A heading, and the paragraphs, tables and pictures under it."""

    title: str
    parts: Sequence[Part]


def one_line(value: Any, most: int = 200) -> str:
    """Write a name or a value as one line; a character that cannot be shown becomes a replacement character."""
    text = re.sub(r"\r\n|[\r\n\v\f\u0085\u2028\u2029]", " ↵ ", str(value))
    text = "".join("\ufffd" if not c.isprintable() and c not in "\t\u00a0" else c for c in text)
    return text if len(text) <= most else text[: most - 1] + "…"


def _shown(value: Any, decimals: int | None = None) -> str:
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


def cells_of(frame: pd.DataFrame) -> tuple[list[str], list[str], list[tuple[list[str], list[str]]], list[bool]]:
    """Write a frame as texts: names of the index, names of the columns, and each row as its heads and its cells.

    The last item says which columns hold numbers.
    """
    heads = [one_line(name) if name is not None else "" for name in frame.index.names]
    decimals = [_decimals(frame.iloc[:, k]) for k in range(frame.shape[1])]
    rows = []
    for k, label in enumerate(frame.index):
        labels = label if frame.index.nlevels > 1 else (label,)
        cells = [_shown(frame.iat[k, c], digits) for c, digits in enumerate(decimals)]
        rows.append(([_shown(part) for part in labels], cells))
    return heads, [one_line(name) for name in frame.columns], rows, [digits is not None for digits in decimals]
