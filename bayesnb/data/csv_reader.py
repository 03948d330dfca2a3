"""CSV files as Arrow batches: the one reader of CSV for every verb.

DuckDB finds the separator, the header and the lines before it, and reads the cells as text. The rules of this module
are few. A cell stands in double quotes or in none. Texts such as NA are missing everywhere, and marks such as "?" in
columns of numbers. A column holds numbers if each of its cells is one; a cell such as 05123 is none, because its zeros
would be lost. Each column of a file has its decimal mark: a comma where cells such as "1,5" allow nothing else, and for
1.234 and 1,234, which may be either, the mark of the other columns. A first row of text is a header unless most of its
cells occur again in their columns.

A file is read twice. :func:`look` goes through all of it once and notes what the cells of each column can be read as,
:func:`read_alike` says what they are read as, and :func:`batches` reads them. So the type of a column never depends on
the rows that happen to come first, and a table may be larger than memory.
"""

from __future__ import annotations

import csv
import os
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import IntFlag
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from bayesnb.data.arrow import batch_rows, marks_in, message_of
from bayesnb.data.decoding import GUESSES, LINE, Workspace, compression, decoded, encoding_of, is_empty, lines_of

QUOTE = '"'
"""What stands around cells. An apostrophe does not, since it is more often a cell, or a letter of one."""

HOW = f"hive_partitioning=false, quote='{QUOTE}'"
"""What DuckDB is told of every file. It would read a folder called c1=x as the second column of the files in it."""

HEAD = 20_480
"""The number of rows in which the cells of a first row of text are looked for again."""


@dataclass(frozen=True)
class Format:
    """What the user says of a file; what is ``None`` is found out.

    Parameters
    ----------
    sep : str, optional
        Separator of the cells of a CSV file; by default it is detected.
    decimal : {".", ","}, optional
        Decimal mark; by default it is detected.
    encoding : str, optional
        Encoding, such as cp1252 or utf-16; by default it is detected.
    header : bool, optional
        Whether the first line holds the names of columns; by default this is detected.
    na : tuple of str
        A further text that means missing, such as ?, or ``COL=TEXT`` for one column.
    sheet : str, optional
        Sheet of an Excel file, by its name or its position from 1; the first by default.
    names : tuple of str
        Names that some columns are expected to have, such as that of the class. They make a line a header.
    text : tuple of str
        Columns that are read as text, whatever their cells look like: a model has learned their levels as text.
    """

    sep: str | None = None
    decimal: Literal[".", ","] | None = None
    encoding: str | None = field(default=None, metadata={"metavar": "NAME"})
    header: bool | None = None
    na: tuple[str, ...] = ()
    sheet: str | None = field(default=None, metadata={"metavar": "NAME|N"})
    names: tuple[str, ...] = ()
    text: tuple[str, ...] = ()


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
    na : tuple of str
    space : Workspace
        Where ``file`` is, if it is a copy.
    types : {column: Types}
        What the cells of each column can be read as, for columns with a value.
    gaps : {column: {text: count}}
        Cells that are missing if the column holds numbers; once it is known, only those of columns that do.
    rows : int
    kinds : {column: kind}
        What each column is read as, in this file and in others that are read with it: "empty", "integer", "real",
        "percent", "boolean" or "text".
    marks : {column: mark}
        The decimal mark of each column, "." or ","; "" where it needs none.
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
    types: Mapping[str, Types] = field(default_factory=dict)
    gaps: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    rows: int = 0
    kinds: Mapping[str, str] = field(default_factory=dict)
    marks: Mapping[str, str] = field(default_factory=dict)


def look(name: Any, file: Path, format: Format, space: Workspace) -> Layout:
    """Go through a file once: its layout, and what the cells of each column can be read as.

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
        cells = (
            f"SELECT k, v, {_types_of('v')} AS t FROM (UNPIVOT ({_query(layout)}) ON COLUMNS(*) INTO NAME k VALUE v)"
        )
        found = connection.execute(
            f"SELECT k, bit_and(t), histogram(trim(v)) FILTER (t & {int(Types.GAP)} > 0) FROM ({cells}) GROUP BY k"
        ).fetchall()
        (rows,) = connection.execute(f"SELECT count(*) FROM {_table(layout)}").fetchone()
        if not rows:
            raise ValueError(f"{name}: has a header and no rows" if layout.header else f"{name}: is empty")
    names = {f"c{k}": column for k, column in enumerate(layout.names)}
    types = {names[k]: Types(held) for k, held, _ in found}
    return replace(layout, types=types, gaps={names[k]: texts for k, _, texts in found if texts}, rows=rows)


def read_alike(layouts: Sequence[Layout], format: Format) -> list[Layout]:
    """The layouts with what each column is read as, so that a column has one type in all files."""
    marks = _marks(layouts, format)
    held: dict[str, set[str]] = {column: set() for layout in layouts for column in layout.names}
    for layout, own in zip(layouts, marks, strict=True):
        for column, types in layout.types.items():
            held[column].add("text" if column in format.text else _kind(types, own[column]))
    kinds = {column: _joint(found) for column, found in held.items()}
    found = []
    for layout, own in zip(layouts, marks, strict=True):
        gaps = {column: texts for column, texts in layout.gaps.items() if kinds[column] != "text"}
        found.append(replace(layout, kinds=kinds, marks=own, gaps=gaps))
    return found


def batches(layout: Layout) -> Iterator[Any]:
    """The rows of a file as Arrow batches, each cell read as the kind of its column, by its decimal mark."""
    import pyarrow as pa

    kinds = [layout.kinds[column] for column in layout.names]
    values = ", ".join(
        f"{_value(cell, kind, layout.marks.get(column, ''))} AS v{k}"
        for k, (column, cell, kind) in enumerate(zip(layout.names, _cells(layout), kinds, strict=True))
    )
    with _connection(layout.name) as connection:
        relation = connection.sql(f"SELECT {values} FROM {_table(layout)}")
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
    said = "" if format.sep is None else f", delim={_text(format.sep)}"
    sep, escape, skip, sniffed, types = connection.execute(
        "SELECT Delimiter, Escape, SkipRows, HasHeader, [c.type FOR c IN Columns] FROM "
        f"sniff_csv({_path(file)}, {HOW}, compression='{compression(file)}', max_line_size={LINE}{said})"
    ).fetchone()
    escape = QUOTE if escape == "(empty)" else escape
    lines = [line.rstrip("\r\n") for line in islice(lines_of(file), skip + 1)]
    common = max((",", ";", "\t", "|"), key=lines[0].count)
    if format.sep is None and common != sep and all(common in line for line in lines if line):
        # A last line with more of another separator, as in 4,341,061, hides all others, and so do lines of two lengths.
        sep, skip = common, 0
    elif any(sep in line and not line.startswith(("#", "sep=")) for line in lines[:skip]):
        skip = 0  # Only a title or a comment may stand before the header, and no row.
    first = _first_row(lines_of(file, skip), sep, escape)
    names = tuple(f"column{k}" for k in range(len(first)))
    layout = Layout(str(name), file, encoding, sep, escape, skip, False, names, format.na, space)
    header = format.header
    if header is None:
        header = bool(set(format.names) & set(first)) or (sniffed and not _is_row(connection, layout, first, types))
    return replace(layout, header=True, names=_names(name, first)) if header else layout


def _first_row(lines: Iterator[str], sep: str, escape: str) -> list[str]:
    """The cells of the first line that is not blank."""
    if len(sep) > 1:
        return next(line.rstrip("\r\n").split(sep) for line in lines if line.strip())
    csv.field_size_limit(max(LINE, csv.field_size_limit()))
    escape = None if escape == QUOTE else escape
    return next(filter(None, csv.reader(lines, delimiter=sep, quotechar=QUOTE, escapechar=escape)), [""])


def _is_row(connection: Any, layout: Layout, first: Sequence[str], types: Sequence[str]) -> bool:
    """Whether a first row of text, in a file of nothing but text, is no header: most cells occur again in its column.

    Where a column holds anything else, its type has told.
    """
    if any(kind != "VARCHAR" for kind in types):
        return False
    again = ", ".join(f"count_if(c{k} = {_text(cell)}) > 1" for k, cell in enumerate(first))
    found = connection.execute(f"SELECT {again} FROM (FROM {_table(layout)} LIMIT {HEAD})").fetchone()
    return sum(map(bool, found)) > len(first) / 2


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


# What cells can be read as


MISSING = ["", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A",
           "NA", "NULL", "NaN", "None", "n/a", "nan", "null"]  # fmt: skip
"""The texts of a missing cell, the same as in pandas."""

GAPS = ("", "?", "-", "--", ".", "na", "n/a", "nan", "null", "none", "#n/a", "<na>")
"""Texts that stand for a missing cell in a column of numbers, in small letters and without blanks around them.

In a column of text they are levels like all others, because there they may mean something."""


class Types(IntFlag):
    """What a cell can be read as; of a column, what all of its cells can be read as."""

    INTEGER = 1
    DOTTED = 2
    "Digits, perhaps in groups with points: 1, 1.234, 1.234.567."
    POINT = 4
    "A number whose decimal mark is a point, perhaps in groups with commas: 1, 1.5, 1.234, 1,234."
    COMMA = 8
    "A number whose decimal mark is a comma, perhaps in groups with points: 1, 1,5, 1.234, 1,234."
    WITH_COMMA = 16
    "There is a comma in it."
    BOOLEAN = 32
    PERCENT = 64
    GROUPS = 128
    "Three groups or more with points, such as 1.234.567. A column of nothing else holds versions or addresses."
    GAP = 256
    "It stands for a missing cell. So it can be read as all others, too."


ANY = Types(511)
EITHER = Types.POINT | Types.COMMA
PATTERNS = {
    r"[+-]?(0|[1-9]\d{0,17})": Types.INTEGER | Types.DOTTED | EITHER,
    r"[+-]?[1-9]\d{0,2}\.\d{3}": Types.DOTTED | EITHER,
    r"[+-]?((0|[1-9]\d*|\d+\.\d*|\.\d+)([eE][+-]?\d+)?|(?i:inf|infinity))": Types.POINT,
    r"[+-]?(\d+([.,]\d*)?|[.,]\d+)\s*%": Types.PERCENT,
    r"[+-]?[1-9]\d{0,2},\d{3}": EITHER | Types.WITH_COMMA,
    r"[+-]?[1-9]\d{0,2}((,\d{3})+\.\d*|(,\d{3}){2,})": Types.POINT,
    r"[+-]?[1-9]\d{0,2}(\.\d{3}){2,}": Types.DOTTED | Types.COMMA | Types.GROUPS,
    r"[+-]?([1-9]\d{0,2}(\.\d{3})+,\d*|\d*,\d+|\d+,)([eE][+-]?\d+)?": Types.COMMA | Types.WITH_COMMA,
}
"""The patterns of cells, without the blanks around them. The first that a cell matches says what it can be read as."""


def _types_of(cell: str) -> str:
    """What a cell can be read as, as SQL. What begins with a letter is settled first, because patterns take longer."""
    words = (
        f"WHEN lower({cell}) IN ('true', 'false') THEN {int(Types.BOOLEAN)} "
        f"WHEN lower(trim({cell})) IN ({', '.join(map(_text, GAPS))}) THEN {int(ANY)}"
    )
    numbers = [
        f"WHEN regexp_full_match({cell}, {_text(rf'\s*({pattern})\s*')}) THEN {int(types)}"
        for pattern, types in PATTERNS.items()
    ]
    return (
        f"CASE WHEN ascii({cell}) > ascii('9') AND NOT regexp_matches({cell}, '^(?i:inf)') "
        f"THEN CASE {words} ELSE 0 END {' '.join(numbers[:3])} {words} {' '.join(numbers[3:])} ELSE 0 END"
    )


def _marks(layouts: Sequence[Layout], format: Format) -> list[dict[str, str]]:
    """For each file, the decimal marks of its columns; "" where a column needs none."""
    clear = [{column: _clear_mark(types, layout.sep) for column, types in layout.types.items()} for layout in layouts]
    found = []
    for layout, own in zip(layouts, clear, strict=True):
        marks = {}
        for column, mark in own.items():
            if mark is None and format.decimal is None and column not in format.text:
                elsewhere = {other.get(column) for other in clear} - {"", None}
                mark = _unclear_mark(layout, column, elsewhere or set(own.values()) - {"", None})
            elif mark is None or (mark == "," and format.decimal == "."):
                mark = format.decimal or "."
            marks[column] = "" if mark == "." and Types.POINT not in layout.types[column] else mark
        found.append(marks)
    return found


def _clear_mark(types: Types, sep: str) -> str | None:
    """The decimal mark that the cells of a column tell themselves; "" if there is none, None if they do not tell."""
    if not types & EITHER or types & (Types.INTEGER | Types.GROUPS | Types.GAP):
        return ""
    if EITHER in types or Types.DOTTED in types:
        return None
    if Types.POINT in types:
        return "."
    # A few cells such as "1,5" among whole numbers of a file of commas may be pairs.
    return "," if sep != "," or Types.WITH_COMMA in types else None


def _unclear_mark(layout: Layout, column: str, known: set[str]) -> str:
    """The decimal mark of a column whose cells do not tell it, by the marks of other columns.

    Raises
    ------
    ValueError
        If they do not tell it either.
    """
    types, sep = layout.types[column], layout.sep
    if Types.POINT not in types:
        # Such as 950 and 1.234.567; or 7 and "1,5" in a file of commas.
        return "," if known == {","} and sep != "," else "."
    dotted = Types.DOTTED in types
    if sep == "," and (dotted or "," not in known):
        return "."
    opposite = [other for other in layout.types.values() if EITHER in other and (Types.DOTTED in other) != dotted]
    if sep == "," or len(known) > 1 or (not known and opposite):
        shown = "1.234" if dotted else "1,234"
        raise ValueError(
            f"{layout.name}: column {column!r} holds numbers such as {shown}, and nothing tells whether its decimal "
            "mark is a comma or a point: say it with --decimal"
        )
    return min(known, default="," if sep == ";" and not dotted else ".")


def _kind(types: Types, mark: str) -> str:
    """What a column of one file is read as; "empty" if all of its cells stand for missing ones."""
    if mark:
        return "real"
    names = {Types.GAP: "empty", Types.INTEGER: "integer", Types.BOOLEAN: "boolean", Types.PERCENT: "percent"}
    return next((name for one, name in names.items() if one in types), "text")


def _joint(kinds: set[str]) -> str:
    """What a column is read as in all files."""
    held = kinds - {"empty"}
    if not held:
        return "text" if kinds else "empty"
    return "real" if held == {"integer", "real"} else held.pop() if len(held) == 1 else "text"


def _value(cell: str, kind: str, mark: str) -> str:
    """A cell as SQL, read as the kind of its column. A mark of a missing cell cannot be cast, and becomes null."""
    match kind:
        case "integer":
            return f"try_cast(trim({cell}) AS BIGINT)"
        case "boolean":
            return f"try_cast(trim({cell}) AS BOOLEAN)"
        case "percent":
            return f"try_cast(replace(rtrim(trim({cell}), '% '), ',', '.') AS DOUBLE)"
        case "real":
            point = f"replace(trim({cell}), '{'.' if mark == ',' else ','}', '')"
            return f"try_cast(replace({point}, ',', '.') AS DOUBLE)"
    return cell


# What DuckDB is asked


def _table(layout: Layout) -> str:
    """The file as a table of texts, whose columns are called c0, c1, …"""
    columns = ", ".join(f"c{k}: 'VARCHAR'" for k in range(len(layout.names)))
    missing = ", ".join(_text(text) for text in MISSING if layout.sep not in text)
    return (
        f"read_csv({_path(layout.file)}, auto_detect=false, columns={{{columns}}}, header={layout.header}, "
        f"skip={layout.skip}, delim={_text(layout.sep)}, escape={_text(layout.escape)}, "
        f"comment='', nullstr=[{missing}], strict_mode=true, null_padding=false, {HOW}, max_line_size={LINE}, "
        f"compression='{compression(layout.file)}')"
    )


def _cells(layout: Layout) -> list[str]:
    """The cells of each column as SQL; those that the user calls missing are null also with blanks around them."""
    found = []
    for k, column in enumerate(layout.names):
        marks = marks_in(column, layout.na, layout.names)
        # A column of numbers may write 99 as 99.0.
        zeros = (mark + zero for mark in marks if mark.lstrip("-").isdecimal() for zero in (".0", ".00", ",0", ",00"))
        missing = ", ".join(map(_text, [*marks, *zeros]))
        found.append(f"(CASE WHEN trim(c{k}) IN ({missing}) THEN NULL ELSE c{k} END)" if missing else f"c{k}")
    return found


def _query(layout: Layout) -> str:
    """The file as SQL, in columns that are called c0, c1, …"""
    return f"SELECT {', '.join(f'{cell} AS c{k}' for k, cell in enumerate(_cells(layout)))} FROM {_table(layout)}"


def _text(value: Any) -> str:
    """A text as SQL."""
    return "'" + str(value).replace("'", "''") + "'"


def _path(file: Path) -> str:
    """The path as SQL; DuckDB would take it for a glob."""
    return _text(re.sub(r"([*?\[])", r"[\1]", str(file.absolute())))


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


FAULTS = {
    r"Expected Number of Columns: (?P<expected>\d+) Found: (?P<found>\d+)": (
        "{line} has {found} cells where the header has {expected}: mend the line, or name the separator with --sep"
    ),
    "unterminated quote|quote should be followed|Error when sniffing": (
        "{line} is not CSV: a quote is left open, or stands within a cell"
    ),
    "Maximum line size": "a line is longer than {longest:,} bytes, so this is not CSV",
    "(?i)gzip|compressed file": "is not gzip, or not all of it ({said})",
}
"""What errors of reading a file say, and what it means."""


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
        text = str(error)
        if text == "Query interrupted":  # While DuckDB reads, Ctrl-C reaches it first.
            raise KeyboardInterrupt from error
        at = re.search(r"Line: (\d+)", text)
        line = f"line {at[1]}" if at else "a line"
        if "not utf-8" in text:
            raise UnicodeError(f"{name}: {line} is not UTF-8: name its encoding with --encoding") from error
        for pattern, said in FAULTS.items():
            if found := re.search(pattern, text):
                said = said.format(line=line, longest=LINE, said=message_of(error), **found.groupdict())
                raise ValueError(f"{name}: {said}") from error
        if isinstance(error, OSError | RuntimeError):
            raise
        raise ValueError(f"{name}: cannot be read as CSV ({message_of(text.partition(chr(10))[0])})") from error
