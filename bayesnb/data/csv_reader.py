"""Read CSV files as Arrow batches."""

from __future__ import annotations

import csv
import os
import re
import zlib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import IntFlag
from functools import cache, cached_property
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any, Literal

from bayesnb.data import decoding
from bayesnb.data.amounts import FRACTIONS, GAPS, MOST_SEEN, Marks, marks_among, measured, with_other_mark
from bayesnb.data.arrow import batch_rows, marks_in, message_of, spelled
from bayesnb.data.decoding import Workspace

QUOTE = '"'
"""The quotation mark around cells. Apostrophes are not quotation marks, because most belong to words."""

HOW = f"hive_partitioning=false, quote='{QUOTE}'"
"""Options of DuckDB. Without ``hive_partitioning=false``, a folder named c1=x would become column c1."""

HEAD = 20_480
"""Number of rows in which the texts of a first row are searched."""


@dataclass(frozen=True)
class Format:
    """The user's settings for reading a file.

    Parameters
    ----------
    sep : str, optional
        Separator of the cells of a CSV file; detected by default.
    decimal : {".", ","}, optional
        Decimal mark; detected by default.
    encoding : str, optional
        Encoding, such as cp1252 or utf-16; detected by default.
    header : bool, optional
        Whether the first line holds column names; detected by default.
    skip : int, optional
        Number of lines to skip before the header; by default title lines are detected and skipped.
    na : tuple of str
        Additional text to read as missing, such as ?, or ``COL=TEXT`` for one column.
    keep_na : tuple of str
        Text to read as a level, not as missing, such as NA for Namibia, or ``COL=TEXT`` for one column; no effect in a
        column of numbers.
    sheet : str, optional
        Sheet of an Excel file, by name or by position from 1; by default the first sheet that is not hidden.
    names : tuple of str
        Names that identify the header, such as the class column.
    text : tuple of str
        Columns that are always read as text.
    decimals : {str: str}
        Decimal mark of each text column in which a model has learned numbers.
    """

    sep: str | None = None
    decimal: Literal[".", ","] | None = None
    encoding: str | None = field(default=None, metadata={"metavar": "NAME"})
    header: bool | None = None
    skip: int | None = field(default=None, metadata={"metavar": "N"})
    na: tuple[str, ...] = ()
    keep_na: tuple[str, ...] = ()
    sheet: str | None = field(default=None, metadata={"metavar": "NAME|N"})
    names: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    decimals: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class CsvLayout:
    """The layout of a CSV file, and the types of its columns."""

    name: str
    file: Path  # The file, or its copy in UTF-8.
    encoding: str  # The encoding of the original file.
    sep: str
    escape: str
    skip: int
    header: bool
    names: tuple[str, ...]
    na: tuple[str, ...]
    keep_na: tuple[str, ...]
    space: Workspace = field(repr=False)
    types: Mapping[str, Types] = field(default_factory=dict)  # The types that fit all cells of a column in this file.
    gaps: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # Counts of texts for missing, numbers only.
    rows: int = 0
    kinds: Mapping[str, str] = field(default_factory=dict)  # For all files: empty, integer, real, boolean or text.
    marks: Mapping[str, str] = field(default_factory=dict)  # The decimal mark of a column; "" if it has none.
    rewritten: Mapping[str, str] = field(default_factory=dict)  # Decimal marks that differ from ``Format.decimals``.
    of_texts: Marks | None = None  # The decimal marks of the texts in a sheet; None for a CSV file.

    @cached_property
    def known(self) -> Marks:
        """The decimal marks that the texts of this file need."""
        return marks_among(_texts(self).values()) if self.of_texts is None else self.of_texts

    @property
    def elsewhere(self) -> str:
        """The decimal mark of a learned column whose texts fit both marks: the mark that other columns need."""
        both = self.known.needed | self.known.few
        return min(both) if len(both) == 1 and self.of_texts is None else self.known.settled


def look(name: Any, file: Path, format: Format, space: Workspace) -> CsvLayout:
    """Detect the layout of a CSV file, and the types that fit each column."""
    file, failure = space.plain(file), None
    with _about(name):
        told = format.encoding or decoding.encoding_of(file)
    for encoding in [told] if told else ["utf-8", *decoding.GUESSES]:
        try:
            return _look(name, decoding.decoded(name, file, encoding, space), format, encoding, space)
        except UnicodeError as error:
            failure = failure or error
    raise failure


def _look(name: Any, file: Path, format: Format, encoding: str, space: Workspace) -> CsvLayout:
    with _connection(name) as connection:
        layout = _layout(connection, name, file, format, encoding, space)
        # Stack the cells of all columns, with their column's name: one query serves a table of thousands of columns.
        cells = (
            f"SELECT k, v, CASE WHEN v IS NOT NULL THEN {_types_of('v')} END AS t "
            f"FROM ({_query(layout)}) UNPIVOT INCLUDE NULLS (v FOR k IN (COLUMNS(*)))"
        )
        gap = f"CASE WHEN t & {int(Types.GAP)} > 0 THEN trim(v) END"
        found = connection.execute(f"SELECT k, t, {gap} AS gap, count(*) FROM ({cells}) GROUP BY ALL").fetchall()
    if not found:
        raise ValueError(f"{name}: has a header and no rows" if layout.header else f"{name}: is empty")
    types: dict[str, Types] = {}
    gaps: dict[str, dict[str, int]] = {}
    # The order of groups depends on the threads of the database.
    for k, held, text, n in sorted(found, key=lambda group: (int(group[0][1:]), group[2] or "")):
        column = layout.names[int(k[1:])]
        if held is not None:
            types[column] = Types(held) & types.get(column, ANY)
        if text is not None:
            gaps.setdefault(column, {})[text] = n
    rows = sum(n for k, *_, n in found if k == "c0")
    return replace(layout, types=types, gaps=gaps, rows=rows)


def read_alike(layouts: Sequence[CsvLayout], format: Format) -> list[CsvLayout]:
    """Choose for each column one type that fits all files."""
    marks = _marks(layouts, format)
    held: dict[str, set[str]] = {column: set() for layout in layouts for column in layout.names}
    for layout, own in zip(layouts, marks, strict=True):
        for column, types in layout.types.items():
            held[column].add("text" if column in format.text else _kind(types, own[column]))
    kinds = {column: _joint(found) for column, found in held.items()}
    found = []
    for layout, own in zip(layouts, marks, strict=True):
        gaps = {column: texts for column, texts in layout.gaps.items() if kinds[column] != "text"}
        other = _rewritten(layout, format)
        found.append(replace(layout, kinds=kinds, marks=own, gaps=gaps, rewritten=other))
    return found


def batches(layout: CsvLayout) -> Iterator[Any]:
    """Yield the rows as Arrow batches."""
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
                else _text_of(batch.column(k), layout.rewritten.get(layout.names[k]))
                if kind == "text"
                else batch.column(k)
                for k, kind in enumerate(kinds)
            ]
            yield pa.RecordBatch.from_arrays(columns, names=list(layout.names))


def _text_of(cells: Any, decimal: str | None) -> Any:
    found = cells.dictionary_encode()
    if decimal is None:
        return found
    import pyarrow as pa

    texts = [with_other_mark(text, decimal) for text in found.dictionary.to_pylist()]
    return pa.array(texts, cells.type).take(found.indices).dictionary_encode()


# The layout of a file


def _layout(connection: Any, name: Any, file: Path, format: Format, encoding: str, space: Workspace) -> CsvLayout:
    if decoding.is_empty(file):
        raise ValueError(f"{name}: is empty")
    said = "" if format.sep is None else f", delim={_text(format.sep)}"
    sep, escape, skip, sniffed, types = connection.execute(
        "SELECT Delimiter, Escape, SkipRows, HasHeader, [c.type FOR c IN Columns] FROM "
        f"sniff_csv({_path(file)}, {HOW}, compression='{decoding.compression(file)}', "
        f"max_line_size={decoding.LINE}{said})"
    ).fetchone()
    escape = QUOTE if escape == "(empty)" else escape
    lines = [line.rstrip("\r\n") for line in islice(decoding.lines_of(file), skip + 1)]
    common = max((",", ";", "\t", "|"), key=lines[0].count)
    if format.sep is None and common != sep and all(common in line for line in lines if line):
        # A last line with more of another separator, as in 4,341,061, misleads detection; so do lines of two lengths.
        sep, skip = common, 0
    elif any(sep in line and not line.startswith(("#", "sep=")) for line in lines[:skip]):
        skip = 0  # Only a title or a comment may come before the header, never a row.
    skip = max(skip, _titles(file, sep, escape, format.names)) if format.skip is None else format.skip
    if skip and not sniffed:
        types, sniffed = (), True  # Detection has taken a title for the first row.
    first = _first_row(decoding.lines_of(file, skip), sep, escape)
    names = tuple(f"column{k}" for k in range(len(first)))
    layout = CsvLayout(str(name), file, encoding, sep, escape, skip, False, names, format.na, format.keep_na, space)
    header = format.header
    if header is None:
        header = bool(set(format.names) & set(first)) or (sniffed and not _is_row(connection, layout, first, types))
    return replace(layout, header=True, names=_names(name, first)) if header else layout


TITLED = 200
"""Number of rows from which the usual number of filled cells per row is computed."""


def _titles(file: Path, sep: str, escape: str, names: Collection[str]) -> int:
    if len(sep) > 1:
        return 0
    reader = _split(decoding.lines_of(file), sep, escape)
    rows, starts, start = [], [], 0
    for row in islice(reader, TITLED):
        rows.append([cell.strip() for cell in row])
        starts.append(start)
        start = reader.line_num
    k = titles_above(rows)
    cells = rows[k] if k < len(rows) else []
    header = all(cells) and len(set(cells)) == len(cells) and not any(map(NUMERIC.fullmatch, cells))
    return starts[k] if k and header and not set(names) & set(rows[0]) else 0


NUMERIC = re.compile(r"[+-]?[\d.,]+(\s*%)?")


def titles_above(rows: Sequence[Sequence[Any]]) -> int:
    """The number of title rows above the header."""
    filled = [sum(cell not in ("", None) for cell in row) for row in rows]
    usual = median(filter(None, filled)) if any(filled) else 0
    return next((k for k, n in enumerate(filled) if 2 * n > usual), 0)


def _first_row(lines: Iterator[str], sep: str, escape: str) -> list[str]:
    if len(sep) > 1:
        return next(line.rstrip("\r\n").split(sep) for line in lines if line.strip())
    return next(filter(None, _split(lines, sep, escape)), [""])


def _split(lines: Iterator[str], sep: str, escape: str) -> Any:
    csv.field_size_limit(max(decoding.LINE, csv.field_size_limit()))
    return csv.reader(lines, delimiter=sep, quotechar=QUOTE, escapechar=None if escape == QUOTE else escape)


def _is_row(connection: Any, layout: CsvLayout, first: Sequence[str], types: Sequence[str]) -> bool:
    """Whether the first row is data rather than column names."""
    if any(kind != "VARCHAR" for kind in types):
        return False
    again = ", ".join(f"count_if(c{k} = {_text(cell)}) > 1" for k, cell in enumerate(first))
    found = connection.execute(f"SELECT {again} FROM (FROM {_table(layout)} LIMIT {HEAD})").fetchone()
    return sum(map(bool, found)) > len(first) / 2


def _names(name: Any, first: Sequence[str]) -> tuple[str, ...]:
    names = [cell if cell.strip() else f"Unnamed: {k}" for k, cell in enumerate(first)]
    twice, times = Counter(names).most_common(1)[0]
    if times > 1:
        raise ValueError(
            f"{name}: column names must be unique; {twice!r} stands {times} times (if the first line is a row, say so "
            "with --no-header)"
        )
    return tuple(names)


# The types of cells


MISSING = ["", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A",
           "NA", "NULL", "NaN", "None", "n/a", "nan", "null"]  # fmt: skip
"""The texts of missing values, as in pandas."""


class Types(IntFlag):
    """The types (integer, decimal number, boolean, …) that fit a cell, or all cells of a column."""

    INTEGER = 1
    DOTTED = 2
    "A whole number, perhaps with points between thousands: 1, 1.234, 1.234.567."
    POINT = 4
    "A number whose decimal mark is a point, perhaps with commas between thousands: 1, 1.5, 1.234, 1,234."
    COMMA = 8
    "A number whose decimal mark is a comma, perhaps with points between thousands: 1, 1,5, 1.234, 1,234."
    WITH_COMMA = 16
    "A number that contains a comma."
    BOOLEAN = 32
    GROUPS = 64
    "Three or more groups of digits with points: 1.234.567. A column of only such cells holds versions or addresses."
    GAP = 128
    "A missing-value marker, which fits every type."
    WHOLE = 256
    "A number without a mark: 1, inf."


ANY = Types(511)
EITHER = Types.POINT | Types.COMMA
PATTERNS = {
    r"[+-]?(0|[1-9]\d{0,17})": Types.INTEGER | Types.WHOLE | Types.DOTTED | EITHER,
    r"[+-]?[1-9]\d{0,2}\.\d{3}": Types.DOTTED | EITHER,
    r"[+-]?((0|[1-9]\d*|\d+\.\d*|\.\d+)([eE][+-]?\d+)?)": Types.POINT,
    r"[+-]?(?i:inf|infinity)": Types.WHOLE | Types.DOTTED | EITHER,
    r"[+-]?[1-9]\d{0,2},\d{3}": EITHER | Types.WITH_COMMA,
    r"[+-]?[1-9]\d{0,2}((,\d{3})+\.\d*|(,\d{3}){2,})": Types.POINT,
    r"[+-]?[1-9]\d{0,2}(\.\d{3}){2,}": Types.DOTTED | Types.COMMA | Types.GROUPS,
    r"[+-]?([1-9]\d{0,2}(\.\d{3})+,\d*|\d*,\d+|\d+,)([eE][+-]?\d+)?": Types.COMMA | Types.WITH_COMMA,
}
"""The types that fit a cell, by pattern. The first pattern that matches the cell without surrounding spaces counts."""


def _types_of(cell: str) -> str:
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
        f"THEN CASE {words} ELSE 0 END {' '.join(numbers[:4])} {words} {' '.join(numbers[4:])} ELSE 0 END"
    )


def _marks(layouts: Sequence[CsvLayout], format: Format) -> list[dict[str, str]]:
    clear = [{column: _clear_mark(types, layout.sep) for column, types in layout.types.items()} for layout in layouts]
    found = []
    for layout, own in zip(layouts, clear, strict=True):
        marks = {}
        for column, mark in own.items():
            if mark is None and format.decimal is None and column not in format.text:
                elsewhere = frozenset({other.get(column) for other in clear} - {"", None})
                mark = _unclear_mark(layout, column, Marks(elsewhere, frozenset()) if elsewhere else layout.known)
            elif mark is None or (mark == "," and format.decimal == "."):
                mark = format.decimal or "."
            marks[column] = "" if mark == "." and Types.POINT not in layout.types[column] else mark
        found.append(marks)
    return found


def _clear_mark(types: Types, sep: str) -> str | None:
    """The decimal mark of the cells; "" if no mark is needed, ``None`` if both marks fit."""
    if not types & EITHER or types & (Types.INTEGER | Types.GROUPS | Types.GAP):
        return ""
    if Types.WHOLE in types:
        return "."
    if EITHER in types or Types.DOTTED in types:
        return None
    if Types.POINT in types:
        return "."
    # Some cells such as "1,5" among whole numbers of a comma-separated file may be pairs.
    return "," if sep != "," or Types.WITH_COMMA in types else None


def _unclear_mark(layout: CsvLayout, column: str, marks: Marks) -> str:
    types, sep, known = layout.types[column], layout.sep, marks.needed | marks.few
    if layout.of_texts is not None and EITHER in types:
        return marks.settled  # The separator is not that of the sheet, so such texts may stay texts.
    if Types.POINT not in types:
        # Examples: 950 and 1.234.567; or 7 and "1,5" in a comma-separated file.
        return "," if known == {","} and sep != "," else "."
    dotted = Types.DOTTED in types
    if sep == "," and ("," not in known or (dotted and marks.settled != ",")):
        return "."
    opposite = [other for other in layout.types.values() if EITHER in other and (Types.DOTTED in other) != dotted]
    if sep == "," or len(known) > 1 or (not known and opposite):
        shown = "1.234" if dotted else "1,234"
        raise ValueError(
            f"{layout.name}: column {column!r} holds numbers such as {shown}, and nothing tells whether its decimal "
            "mark is a comma or a point: say it with --decimal"
        )
    return min(known, default="," if sep == ";" and not dotted else ".")


def _texts(layout: CsvLayout) -> dict[str, list[str]]:
    """The first different texts of each column, in alphabetical order."""
    cells = f"SELECT k, trim(v) AS v FROM ({_query(layout)}) UNPIVOT (v FOR k IN (COLUMNS(*)))"
    first = f"QUALIFY row_number() OVER (PARTITION BY k ORDER BY v) <= {MOST_SEEN + len(GAPS)}"
    with _connection(layout.name) as connection:
        rows = connection.execute(f"SELECT k, v FROM (SELECT DISTINCT * FROM ({cells})) {first}").fetchall()
    found: dict[str, list[str]] = {}
    for k, text in rows:
        found.setdefault(k, []).append(text)
    return found


def _rewritten(layout: CsvLayout, format: Format) -> dict[str, str]:
    found = {}
    for k, column in enumerate(layout.names):
        if (learned := format.decimals.get(column)) is None:
            continue
        fitting = {*FRACTIONS}
        with _connection(layout.name) as connection:
            texts = f"SELECT DISTINCT c{k} FROM ({_query(layout)}) WHERE regexp_matches(c{k}, '[.,]')"
            cells = connection.execute(texts)
            while (cell := cells.fetchone()) is not None:
                fitting &= {*(number.values if (number := measured(cell[0])) else FRACTIONS)}
        elsewhere = layout.elsewhere or learned if len(fitting) > 1 else learned
        mark = fitting.pop() if len(fitting) == 1 else format.decimal or elsewhere
        if mark != learned:
            found[column] = mark
    return found


def _kind(types: Types, mark: str) -> str:
    if mark:
        return "real"
    names = {Types.GAP: "empty", Types.INTEGER: "integer", Types.BOOLEAN: "boolean"}
    return next((name for one, name in names.items() if one in types), "text")


def _joint(kinds: set[str]) -> str:
    held = kinds - {"empty"}
    if not held:
        return "text" if kinds else "empty"
    return "real" if held == {"integer", "real"} else held.pop() if len(held) == 1 else "text"


def _value(cell: str, kind: str, mark: str) -> str:
    match kind:
        case "integer":
            return f"try_cast(trim({cell}) AS BIGINT)"
        case "boolean":
            return f"try_cast(trim({cell}) AS BOOLEAN)"
        case "real":
            point = f"replace(trim({cell}), '{'.' if mark == ',' else ','}', '')"
            return f"try_cast(replace({point}, ',', '.') AS DOUBLE)"
    return cell


# Queries for DuckDB


def _table(layout: CsvLayout) -> str:
    columns = ", ".join(f"c{k}: 'VARCHAR'" for k in range(len(layout.names)))
    kept = {text for texts in _kept(layout).values() for text in texts}
    missing = ", ".join(_text(text) for text in MISSING if layout.sep not in text and text not in kept)
    return (
        f"read_csv({_path(layout.file)}, auto_detect=false, columns={{{columns}}}, header={layout.header}, "
        f"skip={layout.skip}, delim={_text(layout.sep)}, escape={_text(layout.escape)}, "
        f"comment='', nullstr=[{missing}], strict_mode=true, null_padding=false, {HOW}, max_line_size={decoding.LINE}, "
        f"compression='{decoding.compression(layout.file)}')"
    )


def _cells(layout: CsvLayout) -> list[str]:
    found = []
    kept = _kept(layout)
    of_others = {text for texts in kept.values() for text in texts} & {*MISSING}
    for k, column in enumerate(layout.names):
        marks = marks_in(column, layout.na, layout.names)
        missing = {f"trim(c{k})": spelled(marks), f"c{k}": sorted(of_others - {*kept[column]})}
        gone = " OR ".join(f"{c} IN ({', '.join(map(_text, texts))})" for c, texts in missing.items() if texts)
        found.append(f"(CASE WHEN {gone} THEN NULL ELSE c{k} END)" if gone else f"c{k}")
    return found


def _kept(layout: CsvLayout) -> dict[str, list[str]]:
    return {column: marks_in(column, layout.keep_na, layout.names) for column in layout.names}


def _query(layout: CsvLayout) -> str:
    return f"SELECT {', '.join(f'{cell} AS c{k}' for k, cell in enumerate(_cells(layout)))} FROM {_table(layout)}"


def _text(value: Any) -> str:
    return "'" + str(value).replace("'", "''") + "'"


def _path(file: Path) -> str:
    """The path as an SQL literal, with escaped wildcards."""
    # DuckDB reads paths as globs.
    return _text(re.sub(r"([*?\[])", r"[\1]", str(file.absolute())))


@contextmanager
def _connection(name: Any) -> Iterator[Any]:
    with _about(name), _database(os.getpid()).cursor() as connection:
        yield connection


@cache
def _database(process: int) -> Any:
    import duckdb

    return duckdb.connect(config={"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"})


FAULTS = {
    r"Expected Number of Columns: (?P<expected>\d+) Found: (?P<found>\d+)": (
        "{line} has {found} cells where the header has {expected}: mend the line, or name the separator with --sep"
    ),
    "unterminated quote|quote should be followed": "{line} is not CSV: a quote is left open, or stands within a cell",
    "Error when sniffing[^$]*?Delimiter Candidates: (?P<sep>.*)": (
        "its lines have different numbers of cells with the separator {sep}, or a quote is left open: name the "
        "separator with --sep"
    ),
    "Maximum line size": "a line is longer than {longest:,} bytes, so this is not CSV",
    "(?i)gzip|compressed file": "is not gzip, or not all of it ({said})",
}
"""Our error messages, by pattern in DuckDB's or Python's error message."""


@contextmanager
def _about(name: Any) -> Iterator[None]:
    import duckdb

    try:
        yield
    except (duckdb.Error, OSError, EOFError, zlib.error, csv.Error, RuntimeError) as error:
        text = str(error)
        if text == "Query interrupted":  # While DuckDB reads, it catches Ctrl-C first.
            raise KeyboardInterrupt from error
        at = re.search(r"Line: (\d+)", text)
        line = f"line {at[1]}" if at else "a line"
        if "not utf-8" in text:
            raise UnicodeError(f"{name}: {line} is not UTF-8: name its encoding with --encoding") from error
        for pattern, said in FAULTS.items():
            if found := re.search(pattern, text):
                said = said.format(line=line, longest=decoding.LINE, said=message_of(error), **found.groupdict())
                raise ValueError(f"{name}: {said}") from error
        if isinstance(error, OSError | RuntimeError):
            raise
        raise ValueError(f"{name}: cannot be read as CSV ({message_of(text.partition(chr(10))[0])})") from error
