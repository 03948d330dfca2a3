"""Cells of text: which of them are numbers, true or false, or missing, as questions in SQL.

A cell has one kind of ``Cells``. The kinds of all cells of a column decide what the column is read as.
"""

from __future__ import annotations

from collections.abc import Iterable
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
    "1.234, a real number; or whole, where the comma is the decimal mark."
    REAL = 4
    BOOLEAN = 8
    GAP = 16
    PERCENT = 32
    THOUSANDS = 64
    "1,234, a whole number; or real, where the comma is the decimal mark."
    GROUPED = 128
    "1,234.5"
    COMMA = 256
    "1,5 or 1.234,5"
    TEXT = 512


NUMBER = Cells.INTEGER | Cells.THOUSANDTHS | Cells.REAL
WITH_COMMA = Cells.INTEGER | Cells.THOUSANDTHS | Cells.THOUSANDS | Cells.COMMA

PATTERNS = {
    Cells.INTEGER: r"[+-]?\d{1,18}",
    Cells.THOUSANDTHS: r"[+-]?\d{1,3}\.\d{3}",
    Cells.REAL: r"[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|(?i:inf|infinity))",
    Cells.PERCENT: r"[+-]?(\d+([.,]\d*)?|[.,]\d+)\s*%",
    Cells.THOUSANDS: r"[+-]?\d{1,3}(,\d{3})+",
    Cells.GROUPED: r"[+-]?\d{1,3}(,\d{3})+\.\d*",
    Cells.COMMA: r"[+-]?(\d{1,3}(\.\d{3})+(,\d*)?|\d*,\d+|\d+,)([eE][+-]?\d+)?",
}
"""The patterns of cells, without the blanks around them."""


def kind_of(cell: str) -> str:
    """The kind of a cell as SQL. What begins with a letter is settled first, because patterns take longer."""

    def matches(kind: Cells) -> str:
        return f"WHEN regexp_full_match({cell}, {sql_text(rf'\s*({PATTERNS[kind]})\s*')}) THEN {int(kind)}"

    numbers = [matches(kind) for kind in (Cells.INTEGER, Cells.THOUSANDTHS, Cells.REAL)]
    others = [matches(kind) for kind in (Cells.PERCENT, Cells.THOUSANDS, Cells.GROUPED, Cells.COMMA)]
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


def decimal_mark(columns: Iterable[Cells], sep: str) -> str:
    """The decimal mark of a file: a comma where a column can only be read with one."""
    held = [found & ~Cells.GAP for found in columns]
    if any(found and found in WITH_COMMA and Cells.COMMA in found for found in held):
        return ","
    maybe = any(Cells.THOUSANDS in found and found in Cells.INTEGER | Cells.THOUSANDS for found in held)
    points = any(Cells.REAL in found and found in NUMBER for found in held)
    return "," if sep == ";" and maybe and not points else "."


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
    with_point = held in NUMBER | Cells.THOUSANDS | Cells.GROUPED and decimal == "."
    return "real" if held in NUMBER or with_point or (held in WITH_COMMA and decimal == ",") else "text"


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
