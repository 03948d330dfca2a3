"""Cells of text: which of them are numbers, true or false, or missing, as questions in SQL.

A cell has one kind of ``Cells``. The kinds of all cells of a column decide what the column is read as.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntFlag
from typing import Any

MISSING = ["", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A",
           "NA", "NULL", "NaN", "None", "n/a", "nan", "null"]  # fmt: skip
"""The texts of a missing cell, the same as in pandas."""

GAPS = ("", "?", "-", "--", ".", "na", "n/a", "nan", "null", "none", "#n/a", "<na>")
"""Texts that stand for a missing cell in a column of numbers, in small letters and without blanks around them.

In a column of text they are levels like all others, because there they may mean something."""


class Cells(IntFlag):
    """The kinds of cells that a column holds. The order is that in which a cell is tried."""

    INTEGER = 1
    THOUSANDTHS = 2
    "1.234, a real number; or whole, where the comma is the decimal mark. 0.234 is none: no group begins with 0."
    REAL = 4
    BOOLEAN = 8
    GAP = 16
    PERCENT = 32
    THOUSANDS = 64
    "1,234, a whole number; or real, where the comma is the decimal mark."
    GROUPED = 128
    "1,234.5 or 1,234,567"
    COMMA = 256
    "1,5 or 1.234,5"
    DOTTED = 512
    "1.234.567, a whole number where the comma is the decimal mark; or a version, or an address."
    TEXT = 1024


NUMBER = Cells.INTEGER | Cells.THOUSANDTHS | Cells.REAL
WITH_POINT = NUMBER | Cells.THOUSANDS | Cells.GROUPED
WITH_COMMA = Cells.INTEGER | Cells.THOUSANDTHS | Cells.THOUSANDS | Cells.COMMA | Cells.DOTTED

PATTERNS = {
    Cells.INTEGER: r"[+-]?(0|[1-9]\d{0,17})",
    Cells.THOUSANDTHS: r"[+-]?[1-9]\d{0,2}\.\d{3}",
    Cells.REAL: r"[+-]?((0|[1-9]\d*|\d+\.\d*|\.\d+)([eE][+-]?\d+)?|(?i:inf|infinity))",
    Cells.PERCENT: r"[+-]?(\d+([.,]\d*)?|[.,]\d+)\s*%",
    Cells.THOUSANDS: r"[+-]?[1-9]\d{0,2},\d{3}",
    Cells.GROUPED: r"[+-]?[1-9]\d{0,2}((,\d{3})+\.\d*|(,\d{3}){2,})",
    Cells.DOTTED: r"[+-]?[1-9]\d{0,2}(\.\d{3}){2,}",
    Cells.COMMA: r"[+-]?([1-9]\d{0,2}(\.\d{3})+,\d*|\d*,\d+|\d+,)([eE][+-]?\d+)?",
}
"""The patterns of cells, without the blanks around them. No number is 05123: its zeros would be lost."""


def kind_of(cell: str) -> str:
    """The kind of a cell as SQL. What begins with a letter is settled first, because patterns take longer."""

    def matches(kind: Cells) -> str:
        return f"WHEN regexp_full_match({cell}, {sql_text(rf'\s*({PATTERNS[kind]})\s*')}) THEN {int(kind)}"

    numbers = [matches(kind) for kind in (Cells.INTEGER, Cells.THOUSANDTHS, Cells.REAL)]
    others = [matches(kind) for kind in (Cells.PERCENT, Cells.THOUSANDS, Cells.GROUPED, Cells.DOTTED, Cells.COMMA)]
    words = (
        f"WHEN lower({cell}) IN ('true', 'false') THEN {int(Cells.BOOLEAN)} WHEN {is_gap(cell)} THEN {int(Cells.GAP)}"
    )
    return (
        f"CASE WHEN ascii({cell}) > ascii('9') AND NOT regexp_matches({cell}, '^(?i:inf)') "
        f"THEN CASE {words} ELSE {int(Cells.TEXT)} END "
        f"{' '.join(numbers)} {words} {' '.join(others)} ELSE {int(Cells.TEXT)} END"
    )


def is_gap(cell: str) -> str:
    """Whether a cell stands for a missing one in a column of numbers, as SQL."""
    return f"lower(trim({cell})) IN ({', '.join(map(sql_text, GAPS))})"


def decimal_marks(columns: Sequence[Cells], sep: str, told: str | None) -> list[str | None]:
    """The decimal mark of each column of a file, by its own cells.

    It is "" where the cells need none, and ``None`` where they may have either: 1.234 is so beside columns of both
    marks, and whole numbers with one "1,5" in a file of commas. Only 1.234 and 1,234 are read as the other columns are.
    """
    held = [found & ~Cells.GAP for found in columns]
    commas = told == "," if told else any(Cells.COMMA in found and found in WITH_COMMA for found in held)
    points = told == "." if told else any(found in WITH_POINT and found not in WITH_COMMA for found in held)
    either = Cells(0)
    for found in held:
        either |= found if found in WITH_POINT & WITH_COMMA else Cells(0)

    def of_either(found: Cells) -> str | None:
        if commas != points and (told or sep != ","):
            return "," if commas else "."
        if sep == ",":  # Its cells with a comma are in quotes.
            return None if commas and not points and Cells.THOUSANDS in found else "."
        if commas or Cells.THOUSANDS | Cells.THOUSANDTHS in either:
            return None
        return "," if sep == ";" and Cells.THOUSANDS in found else "."

    def of(found: Cells) -> str | None:
        if found not in WITH_POINT | WITH_COMMA or found in Cells.INTEGER:
            return ""
        if found in WITH_POINT:
            return of_either(found) if found in WITH_COMMA else "."
        whole = found & (Cells.INTEGER | Cells.THOUSANDTHS)
        if Cells.COMMA not in found:
            return "," if whole and not points and (told or sep != ",") and found in WITH_COMMA else ""
        if found not in WITH_COMMA or told == ".":
            return ""
        return None if whole and sep == "," and not told else ","

    return [of(found) for found in held]


def kind_of_column(cells: Cells, decimal: str) -> str:
    """What a column with these kinds of cells is read as."""
    held = cells & ~Cells.GAP
    if not cells:
        return "empty"
    if not held:
        return "text"
    if held == Cells.INTEGER:
        return "integer"
    if held == Cells.BOOLEAN:
        return "boolean"
    if held == Cells.PERCENT:
        return "percent"
    return "real" if held in NUMBER or held in (WITH_COMMA if decimal == "," else WITH_POINT) else "text"


def value_of(cell: str, kind: str, cells: Cells, decimal: str) -> str:
    """A cell as SQL, read as the kind of its column. What is a gap there cannot be cast, and is null."""
    if Cells.GAP in cells and kind != "text":
        # A bare cast of a column is done while the file is parsed, where what cannot be cast is an error.
        cell = f"trim({cell})"
    match kind:
        case "integer":
            return f"try_cast({cell} AS BIGINT)"
        case "boolean":
            return f"try_cast({cell} AS BOOLEAN)"
        case "percent":
            return f"try_cast(replace(rtrim(trim({cell}), '% '), ',', '.') AS DOUBLE)"
        case "real":
            if decimal == "," and cells & ~Cells.GAP in WITH_COMMA:
                cell = f"replace(replace({cell}, '.', ''), ',', '.')"
            elif cells & (Cells.THOUSANDS | Cells.GROUPED):
                cell = f"replace({cell}, ',', '')"
            return f"try_cast({cell} AS DOUBLE)"
    return cell


def sql_text(value: Any) -> str:
    """A text as SQL."""
    return "'" + str(value).replace("'", "''") + "'"
