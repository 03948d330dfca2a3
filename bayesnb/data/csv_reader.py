"""CSV files as Arrow batches, in blocks of bounded size: the one reader of CSV for every verb.

Arrow cuts a file into cells of text. What a column holds is then decided here, block by block, as pandas would decide
it: :func:`batches` yields each block with the types of its cells, and whoever adds the blocks decides for all of them.
(A reader that settles the types in the first block fails in a later one.)
"""

from __future__ import annotations

import csv
import gzip
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bayesnb.data.arrow import about_source, message_of, until_broken

BLOCK = 2**23
"""The number of bytes that are read at a time. A row must be shorter."""

MISSING = ["", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A",
           "NA", "NULL", "NaN", "None", "n/a", "nan", "null"]  # fmt: skip
"""The texts of a missing cell, the same as in pandas."""

COLUMNS = 2**14
"""The number of columns that Arrow reads as text."""


def batches_of_file(file: Path) -> Iterator[Any]:
    """The blocks of a file; tabs separate the cells where its name says so.

    Raises
    ------
    ValueError
        If the file is not CSV in UTF-8, with the line that is wrong where one is.
    """
    import pyarrow as pa

    separator = "\t" if file.name.lower().removesuffix(".gz").endswith(".tsv") else ","
    try:
        yield from batches(file, pa.input_stream(str(file), compression="detect"), separator)
    except (pa.ArrowException, OSError, ValueError) as error:
        # The error of Arrow may be hard to understand, so the text is read again for an error that names the line.
        _require_text(file, separator)
        if isinstance(error, ValueError) and not isinstance(error, pa.ArrowException):
            raise
        raise ValueError(f"{file}: cannot be read ({message_of(error)})") from error


def batches(name: Any, source: Any, separator: str = ",") -> Iterator[Any]:
    """The blocks of an open file or stream, each column of the type that its cells in that block have."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    with about_source(name, 0):
        # Without a header the names are cells of the first row, and every cell is text.
        reader = arrow_csv.open_csv(
            source,
            read_options=arrow_csv.ReadOptions(autogenerate_column_names=True, block_size=BLOCK),
            parse_options=arrow_csv.ParseOptions(delimiter=separator, newlines_in_values=True),
            convert_options=arrow_csv.ConvertOptions(
                column_types={f"f{k}": pa.string() for k in range(COLUMNS)},
                strings_can_be_null=True,
                null_values=MISSING,
            ),
        )
    names: list[str] | None = None
    rows = 0
    for block in until_broken(name, reader):
        if names is None:
            names, block = _header(name, block), block.slice(1)
        rows += block.num_rows
        if block.num_rows:
            yield pa.RecordBatch.from_arrays([typed(block.column(k)) for k in range(len(names))], names=names)
    if not rows:
        raise ValueError(f"{name}: has a header and no rows")


def _header(name: Any, block: Any) -> list[str]:
    names = [block.column(k)[0].as_py() for k in range(block.num_columns)]
    if None in names:
        raise ValueError(f"{name}: column {names.index(None) + 1} has no name, or one that stands for a missing value")
    twice, times = Counter(names).most_common(1)[0]
    if times > 1:
        raise ValueError(f"{name}: column names must be unique; {twice!r} stands {times} times")
    return names


def typed(cells: Any) -> Any:
    """Cells of text as what all of them can be read as: nothing, whole numbers, numbers, true and false, or text.

    The rules are those of pandas: blanks around a number and a plus before it do not matter, "0x1A" is text, and so is
    a column in which numbers stand beside true and false.
    """
    import pyarrow as pa
    from pyarrow import compute

    if cells.null_count == len(cells):
        return pa.nulls(len(cells))
    if not _may_be_a_value(cells[compute.index(cells.is_valid(), True).as_py()].as_py()):
        return cells.dictionary_encode()
    if not _any(compute.match_substring(cells, "x", ignore_case=True)):
        plain = compute.ascii_trim_whitespace(cells)
        if _any(compute.starts_with(plain, "+")):
            plain = compute.replace_substring_regex(plain, r"^\+([0-9.])", r"\1")
        for kind in (pa.int64(), pa.float64()):
            try:
                return plain.cast(kind)
            except pa.ArrowInvalid:
                continue
    if not _any(compute.match_substring_regex(cells, "[0-9]")):
        try:
            return cells.cast(pa.bool_())
        except pa.ArrowInvalid:
            pass
    return cells.dictionary_encode()


def _any(flags: Any) -> bool:
    from pyarrow import compute

    return bool(compute.any(flags).as_py())


def _may_be_a_value(cell: str) -> bool:
    """Whether a cell may be a number, or true or false; a column that begins with another is text."""
    try:
        float(cell)
    except ValueError:
        return cell.lower() in ("true", "false")
    return True


def _require_text(path: Path, separator: str) -> None:
    """Raise ``ValueError`` with the line that is wrong, if one is; a line may be no longer than a block."""
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8-sig", newline="") as lines:
            rows = csv.reader(_bounded(path, lines), delimiter=separator, strict=True)
            header = next(rows, None)
            if not header:
                raise ValueError(f"{path}: is empty")
            for row in rows:
                if row and len(row) != len(header):
                    raise ValueError(
                        f"{path}: line {rows.line_num} has {len(row)} cells where the header has {len(header)}"
                    )
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path}: is not UTF-8 (byte {error.object[error.start]:#x} at {error.start}); save it as UTF-8"
        ) from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{path}: is not gzip, or not all of it ({error})") from error
    except csv.Error as error:
        raise ValueError(f"{path}: line {rows.line_num} is not CSV ({error})") from error


def _bounded(path: Path, lines: Any) -> Iterator[str]:
    """The lines of a file, none of them so long that it would fill the memory."""
    number = 0
    while line := lines.readline(BLOCK + 1):
        number += 1
        if len(line) > BLOCK:
            raise ValueError(f"{path}: line {number} is longer than {BLOCK:,} characters, so this is not CSV")
        yield line
