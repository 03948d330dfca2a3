"""CSV files as Arrow batches: the one reader of CSV for every verb.

DuckDB finds the separator and the header of a file, and reads it. A file is read twice. :func:`look` goes
through all of it once and notes, for each column, which kinds of cells it holds; :func:`batches` then reads the cells
as what all of them are. So the type of a column never depends on the rows that happen to come first, and a table may be
larger than memory. Where pandas can tell the type of a column, it is the same here.
"""

from __future__ import annotations

import csv
import gzip
import os
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import IntFlag
from functools import cache
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

from bayesnb.data.arrow import batch_rows, message_of
from bayesnb.data.decoding import (
    GUESSES,
    LINE,
    QUOTE,
    Workspace,
    compression,
    decoded,
    encoding_of,
    is_a_row_each,
    is_empty,
    lines_of,
    rows_of,
)
from bayesnb.data.format import Format, marks_in

HOW = f"hive_partitioning=false, quote='{QUOTE}'"
"""What DuckDB is told of every file. It would read a folder called c1=x as the second column of the files in it."""

HEAD = 20_480
"""The number of rows in which the names of columns are looked for again, to tell a header from a row."""


@dataclass(frozen=True, eq=False)
class Layout:
    """How a file of CSV is laid out, and what its columns hold.

    Parameters
    ----------
    name : str
        The file as the user named it.
    file : Path
        The same cells in UTF-8.
    encoding : str
    sep, escape : str
    skip : int
        The number of lines before the header that hold no cells.
    header : bool
    names : tuple of str
    cells : tuple of Cells
        The kinds of cells of each column.
    rows : int
    na : tuple of str
    space : Workspace
        Where ``file`` is, if it is a copy.
    """

    name: str
    file: Path
    encoding: str
    sep: str
    escape: str
    skip: int
    header: bool
    names: tuple[str, ...]
    na: tuple[str, ...]
    space: Workspace = field(repr=False)
    cells: tuple[Cells, ...] = ()
    rows: int = 0


@dataclass(frozen=True)
class Reading:
    """How the columns of one or several files are read.

    Parameters
    ----------
    kinds : {column: kind}
        "empty", "integer", "real", "percent", "boolean" or "text".
    marks : {column: mark}
        The decimal mark, "." or ",".
    gaps : {column: {text: count}}
        Cells of columns of numbers that are read as missing.
    """

    kinds: dict[str, str]
    marks: dict[str, str]
    gaps: dict[str, dict[str, int]]


def look(name: Any, file: Path, format: Format, space: Workspace) -> Layout:
    """Go through a file once: its layout, and the kinds of cells of each column.

    Raises
    ------
    ValueError
        If the file is not CSV, with the line that is wrong and what to do.
    """
    file, failure = space.plain(file), None
    with _about(name):
        told = format.encoding or encoding_of(file)
    for encoding in [told] if told else ["utf-8", *GUESSES]:
        try:
            return _look(name, decoded(name, file, encoding, space), format, encoding, space)
        except UnicodeError as error:
            failure = failure or error
    raise failure


def _look(name: Any, file: Path, format: Format, encoding: str, space: Workspace) -> Layout:
    with _connection(name) as connection:
        layout = _layout(connection, name, file, format, encoding, space)
        # One column of all cells, beside their columns' names: so a table of thousands of columns is one question.
        found = connection.execute(
            f"SELECT k, bit_or({kind_of('v')}) FROM (UNPIVOT ({_query(layout)}) ON COLUMNS(*) INTO NAME k VALUE v) "
            "GROUP BY k"
        ).fetchall()
        (rows,) = connection.execute(f"SELECT count(*) FROM {_table(layout)}").fetchone()
        if not rows:
            raise ValueError(f"{name}: has a header and no rows" if layout.header else f"{name}: is empty")
        _require_all(layout, rows)
    held = dict(found)
    return replace(layout, rows=rows, cells=tuple(Cells(held.get(f"c{k}", 0)) for k in range(len(layout.names))))


def reading(layouts: Sequence[Layout], format: Format) -> Reading:
    """How the columns of files are read, so that a column has one type in all of them."""
    cells: dict[str, Cells] = {}
    for layout in layouts:
        for name, found in zip(layout.names, layout.cells, strict=True):
            cells[name] = cells.get(name, Cells(0)) | found
    marks = _marks(layouts, cells, format)
    kinds = {name: kind_of_column(found, marks[name]) for name, found in cells.items()}
    kinds |= {name: "text" for name in format.text if kinds.get(name, "empty") != "empty"}
    gaps: dict[str, Counter[str]] = {}
    for layout in layouts:
        at = {f"c{k}": name for k, name in enumerate(layout.names) if Cells.GAP in layout.cells[k]}
        at = {column: name for column, name in at.items() if kinds[name] != "text"}
        if at:
            query = (
                f"SELECT k, trim(v), count(*) FROM (UNPIVOT ({_query(layout)}) ON {', '.join(at)} INTO NAME k VALUE v) "
                f"WHERE {is_gap('v')} GROUP BY ALL"
            )
            with _connection(layout.name) as connection:
                for column, text, count in connection.execute(query).fetchall():
                    gaps.setdefault(at[column], Counter())[text] += count
    return Reading(kinds, marks, gaps)


def _marks(layouts: Sequence[Layout], cells: Mapping[str, Cells], format: Format) -> dict[str, str]:
    """The decimal mark of each column, which is one in all files."""
    seen: dict[str, tuple[str, str]] = {}
    for layout in layouts:
        for name, mark in zip(layout.names, decimal_marks(layout.cells, layout.sep, format.decimal), strict=True):
            file, other = seen.setdefault(name, (layout.name, mark)) if mark else ("", mark)
            if mark != other and name not in format.text:
                raise ValueError(
                    f"column {name!r} has the decimal mark {other!r} in {file} and {mark!r} in {layout.name}: write "
                    "both with one mark, or say it with --decimal if both have it"
                )
    marks = dict(zip(cells, decimal_marks(list(cells.values()), layouts[0].sep, format.decimal), strict=True))
    for name in [name for name, mark in marks.items() if mark is None and name not in format.text]:
        unclear = Cells.COMMA | Cells.THOUSANDS | Cells.THOUSANDTHS
        places = [(layout, k) for layout in layouts for k, own in enumerate(layout.names) if own == name]
        layout, k = next((layout, k) for layout, k in places if layout.cells[k] & unclear)
        query = f"SELECT trim(c{k}) FROM ({_query(layout)}) WHERE {kind_of(f'c{k}')} & {int(unclear)} > 0 LIMIT 1"
        with _connection(layout.name) as connection:
            (cell,) = connection.execute(query).fetchone()
        raise ValueError(
            f"{layout.name}: column {name!r} holds {cell!r}, and nothing tells whether its decimal mark is a comma or "
            "a point: say it with --decimal"
        )
    return {name: mark or "." for name, mark in marks.items()}


def batches(layout: Layout, how: Reading) -> Iterator[Any]:
    """The rows of a file as Arrow batches, each cell read as the kind of its column."""
    import pyarrow as pa

    kinds = [how.kinds[name] for name in layout.names]
    cells = zip(_cells(layout), kinds, layout.cells, [how.marks[name] for name in layout.names], strict=True)
    values = (f"{value_of(cell, kind, found, mark)} AS v{k}" for k, (cell, kind, found, mark) in enumerate(cells))
    with _connection(layout.name) as connection:
        relation = connection.sql(f"SELECT {', '.join(values)} FROM {_table(layout)}")
        for batch in relation.to_arrow_reader(batch_rows(len(kinds))):
            columns = [
                pa.nulls(batch.num_rows)
                if kind == "empty"
                else batch.column(k).dictionary_encode()
                if kind == "text"
                else batch.column(k)
                for k, kind in enumerate(kinds)
            ]
            yield pa.RecordBatch.from_arrays(columns, names=list(layout.names))


# The layout of a file


def _layout(connection: Any, name: Any, file: Path, format: Format, encoding: str, space: Workspace) -> Layout:
    if is_empty(file):
        raise ValueError(f"{name}: is empty")
    said = "" if format.sep is None else f", delim={sql_text(format.sep)}"
    sniffed = connection.execute(
        "SELECT Delimiter, Escape, SkipRows, HasHeader, [c.type FOR c IN Columns] FROM "
        f"sniff_csv({_path(file)}, {HOW}, compression='{compression(file)}', max_line_size={LINE}{said})"
    ).fetchone()
    sep, escape, skip, header, types = sniffed
    escape = QUOTE if escape == "(empty)" else escape
    lines = [line.rstrip("\r\n") for line in islice(lines_of(file), skip + 1)]
    if format.sep is None and len(types) == 1:
        # Where lines are not of one length, DuckDB takes each of them for one cell. Then reading it says which line is.
        sep, skip, lines = _commonest_separator(lines[0]) or sep, 0, lines[:1]
    other = _commonest_separator(lines[0]) if format.sep is None and skip else None
    if other not in (None, sep) and all(other in line for line in lines if line):
        sep, skip = other, 0  # A last line with more of another separator, as in 4,341,061, would hide all of them.
    if any(sep in line and not line.startswith(("#", "sep=")) for line in lines[:skip]):
        skip = 0  # Only a title or a comment may stand before the header, and no row.
    layout = Layout(str(name), file, encoding, sep, escape, skip, False, (), format.na, space)
    first = next(rows_of(file, skip, sep, escape), [""])
    layout = replace(layout, names=tuple(f"column{k}" for k in range(len(first))))
    if format.header is None:
        header = set(format.names) & set(first) or _is_header(connection, layout, first, header, types)
    else:
        header = format.header
    return replace(layout, header=True, names=_names(name, first)) if header else layout


def _is_header(connection: Any, layout: Layout, first: Sequence[str], sniffed: bool, types: Sequence[str]) -> bool:
    """Whether the first row holds the names of columns.

    DuckDB tells by types: a header is text where its column holds numbers. Where types do not tell, a first row whose
    cells are found again in their own columns is a row, and one of numbers that count up by one (years, positions) and
    of text that is found nowhere else is a header.
    """
    if sniffed and any(kind != "VARCHAR" for kind in types):
        return True
    numbers = [int(cell) for cell in first if re.fullmatch(r"\d+", cell)]
    text = [k for k, cell in enumerate(first) if not re.fullmatch(PATTERNS[Cells.REAL], cell.strip())]
    count_up = all(b - a == 1 for a, b in pairwise(numbers)) and len(numbers) + len(text) == len(first)
    if not (sniffed or (count_up and (text or len(numbers) > 2))):
        return False
    again = ", ".join(f"count_if(c{k} = {sql_text(first[k])}) > 1" for k in text) or "false"
    rows = connection.execute(f"SELECT {again} FROM (FROM {_table(layout)} LIMIT {HEAD})").fetchone()
    found = sum(map(bool, rows))
    return found <= len(first) / 2 if sniffed else not found


def _require_all(layout: Layout, rows: int) -> None:
    """Refuse a file of which DuckDB reads another number of rows than Python, under the same quote."""
    above = layout.skip + layout.header
    if len(layout.names) == 1 or is_a_row_each(layout.file, above + rows):
        return
    records = sum(1 for _ in rows_of(layout.file, layout.skip, layout.sep, layout.escape)) - layout.header
    if records != rows:
        raise ValueError(
            f"{layout.name}: has {records:,} rows of which {rows:,} can be read: a quote is left open, or stands in a "
            "cell (write it twice there, and quotes around the cell)"
        )


def _names(name: Any, first: Sequence[str]) -> tuple[str, ...]:
    """The names of columns; one without a name gets that which pandas gives it."""
    names = [cell if cell.strip() else f"Unnamed: {k}" for k, cell in enumerate(first)]
    twice, times = Counter(names).most_common(1)[0]
    if times > 1:
        raise ValueError(
            f"{name}: column names must be unique; {twice!r} stands {times} times (if the first line is a row, say so "
            "with --no-header)"
        )
    return tuple(names)


def _commonest_separator(line: str) -> str | None:
    counts = {sep: line.count(sep) for sep in (",", ";", "\t", "|")}
    best = max(counts, key=counts.__getitem__)
    return best if counts[best] else None


# What DuckDB is asked


@contextmanager
def _connection(name: Any) -> Iterator[Any]:
    """A connection of its own to the database of this process."""
    with _about(name), _database(os.getpid()).cursor() as connection:
        yield connection


@cache
def _database(process: int) -> Any:
    """An empty database in memory: to make one takes longer than to read a small file, so each process has its own."""
    import duckdb

    return duckdb.connect(config={"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"})


@contextmanager
def _about(name: Any) -> Iterator[None]:
    """Convert the errors of reading a file to ``ValueError`` with the file, the line, the reason and the cure.

    Raises
    ------
    UnicodeError
        If the file is not UTF-8.
    """
    import duckdb

    try:
        yield
    except (duckdb.Error, OSError, EOFError, zlib.error, csv.Error, RuntimeError) as error:
        said = str(error)
        if said == "Query interrupted":  # While DuckDB reads, Ctrl-C reaches it first.
            raise KeyboardInterrupt from error
        at = re.search(r"Line: (\d+)", said)
        line = f"line {at[1]}" if at else "a line"
        if "not utf-8" in said:
            raise UnicodeError(f"{name}: {line} is not UTF-8: name its encoding with --encoding") from error
        if counted := re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", said):
            raise ValueError(
                f"{name}: {line} has {counted[2]} cells where the header has {counted[1]}: mend the line, or name the "
                "separator with --sep"
            ) from error
        if "unterminated quote" in said or "quote should be followed" in said:
            raise ValueError(f"{name}: {line} is not CSV: a quote is left open, or stands within a cell") from error
        if "Maximum line size" in said:
            raise ValueError(f"{name}: a line is longer than {LINE:,} bytes, so this is not CSV") from error
        if isinstance(error, EOFError | zlib.error | gzip.BadGzipFile) or "GZIP" in said.upper():
            raise ValueError(f"{name}: is not gzip, or not all of it ({message_of(error)})") from error
        if "Error when sniffing" in said:
            raise ValueError(f"{name}: a line is not CSV: a quote is left open, or stands within a cell") from error
        if isinstance(error, OSError | RuntimeError):
            raise
        raise ValueError(f"{name}: cannot be read as CSV ({message_of(said.partition(chr(10))[0])})") from error


def _path(file: Path) -> str:
    """The path as SQL; DuckDB would take it for a glob."""
    return sql_text(re.sub(r"([*?\[])", r"[\1]", str(file.absolute())))


def _table(layout: Layout) -> str:
    """The file as a table of texts, whose columns are called c0, c1, …"""
    columns = ", ".join(f"c{k}: 'VARCHAR'" for k in range(len(layout.names)))
    missing = ", ".join(sql_text(text) for text in MISSING if layout.sep not in text)
    return (
        f"read_csv({_path(layout.file)}, auto_detect=false, columns={{{columns}}}, header={layout.header}, "
        f"skip={layout.skip}, delim={sql_text(layout.sep)}, escape={sql_text(layout.escape)}, "
        f"comment='', nullstr=[{missing}], strict_mode=true, null_padding=false, {HOW}, max_line_size={LINE}, "
        f"compression='{compression(layout.file)}')"
    )


def _cells(layout: Layout) -> list[str]:
    """The cells of each column as SQL; those that the user calls missing are null also with blanks around them."""
    found = []
    for k, column in enumerate(layout.names):
        missing = ", ".join(map(sql_text, marks_in(column, layout.na, layout.names)))
        found.append(f"(CASE WHEN trim(c{k}) IN ({missing}) THEN NULL ELSE c{k} END)" if missing else f"c{k}")
    return found


def _query(layout: Layout) -> str:
    """The file as SQL, in columns that are called c0, c1, …"""
    return f"SELECT {', '.join(f'{cell} AS c{k}' for k, cell in enumerate(_cells(layout)))} FROM {_table(layout)}"


# Cells of text: which of them are numbers, true or false, or missing, as questions in SQL. A cell has one kind of
# ``Cells``, and the kinds of all cells of a column decide what the column is read as.


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
