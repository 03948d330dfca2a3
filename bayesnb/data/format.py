"""What the user says of a CSV or Excel file, as the options of the command line."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Format:
    """What the user says of a file; what is ``None`` is found out.

    Parameters
    ----------
    sep : str, optional
        Separator of the cells of a CSV file; by default it is detected.
    decimal : {".", ","}, optional
        Decimal mark; by default it is detected.
    encoding : NAME
        Encoding, such as cp1252 or utf-16; by default it is detected.
    header : bool, optional
        Whether the first line holds the names of columns; by default this is detected.
    na : tuple of str
        A further text that means missing, such as ?, or ``COL=TEXT`` for one column.
    sheet : NAME|N
        Sheet of an Excel file, by its name or its position from 1; the first by default.
    names : tuple of str
        Names that some columns are expected to have, such as that of the class. They make a line a header.
    text : tuple of str
        Columns that are read as text, whatever their cells look like: a model has learned their levels as text.
    """

    sep: str | None = None
    decimal: Literal[".", ","] | None = None
    encoding: str | None = None
    header: bool | None = None
    na: tuple[str, ...] = ()
    sheet: str | None = None
    names: tuple[str, ...] = ()
    text: tuple[str, ...] = ()


def marks_in(column: str, na: Iterable[str], names: Iterable[str]) -> list[str]:
    """The further texts that stand for a missing cell of a column, where the columns have these names."""
    longest = sorted(map(str, names), key=len, reverse=True)
    found = []
    for mark in na:
        named = next((name for name in longest if mark.startswith(f"{name}=")), None)
        if named in (None, str(column)):
            found.append(mark if named is None else mark[len(named) + 1 :])
    return found
