"""Files and Arrow streams as tables of bounded size.

A batch of Arrow columns becomes a pandas frame without a Python object a row: text as codes and a dictionary,
whole numbers with a mask where some are missing, so that a column's type does not depend on which rows a batch
happens to hold.
"""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bayesnb.tables import Table

CELLS = 2**22
"""Of one batch at most: what is held in memory at a time is a small multiple of it."""

ROW_GROUP = 2**27
"""Bytes of a row group that is read at once."""

BLOCK = 2**23
"""Bytes of a CSV file that are read at a time."""

# What pandas takes for a missing cell of a CSV file.
MISSING = ["", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A",
           "NA", "NULL", "NaN", "None", "n/a", "nan", "null"]  # fmt: skip
KINDS = {
    ".parquet": "parquet", ".pq": "parquet", ".arrow": "ipc", ".feather": "ipc", ".ipc": "ipc",
    ".csv": "csv", ".tsv": "tsv", ".txt": "csv",
}  # fmt: skip

type Schemas = Mapping[str, tuple[Path, Any]]
"""Of each file, by its full name: what the user calls it, and its Arrow schema."""


def rows_of(columns: int) -> int:
    """How many rows a batch of so many columns has."""
    return int(np.clip(CELLS // max(1, columns), 2**10, 2**18))


def _pyarrow(what: str) -> Any:
    try:
        import pyarrow
        import pyarrow.csv
        import pyarrow.dataset
    except ImportError as error:
        raise ValueError(f"{what} is read with pyarrow; install bayesnb[arrow]") from error
    return pyarrow


def tables(batches: Iterable[Any], declares: bool) -> Iterator[Table]:
    """Arrow batches (or tables) as tables of at most a batch's rows.

    ``declares`` says whether the dictionaries that come with them are their owner's word on which levels there are, or
    the file's way to keep text.
    """
    from pyarrow import types

    for batch in batches:
        told = frozenset(f.name for f in batch.schema if declares and types.is_dictionary(f.type))
        step = rows_of(len(batch.schema.names))
        for start in range(0, batch.num_rows, step):
            part = batch.slice(start, step)
            frame = pd.DataFrame({k: _column(part.column(k)) for k in range(part.num_columns)}, copy=False)
            frame.columns = list(part.schema.names)
            table = Table.of(frame)
            yield replace(table, declares=told)


def of_arrow(source: Any) -> tuple[Iterator[Table], int | None]:
    """A dataset, a scanner, a reader, or whatever streams Arrow."""
    pa = _pyarrow("an Arrow stream")
    if isinstance(source, pa.dataset.Dataset):
        # Its own scan, since it may hold a filter.
        batches = source.to_batches(batch_size=rows_of(len(source.schema)), batch_readahead=2, fragment_readahead=1)
        return tables(_said("the dataset", batches), declares=False), source.count_rows()
    if isinstance(source, pa.dataset.Scanner):
        return tables(_said("the scanner", source.to_batches()), declares=False), None
    reader = source if isinstance(source, pa.RecordBatchReader) else pa.RecordBatchReader.from_stream(source)
    return tables(_said("the stream", reader), declares=True), None


def of_path(path: str | os.PathLike) -> tuple[Iterator[Table], int | None]:
    """A file, a folder or a glob of files of one kind; "-" is stdin.

    Raises
    ------
    FileNotFoundError
    ValueError
        For files of several kinds, or of none that can be read.
    """
    _pyarrow(str(path))
    if str(path) == "-":
        return tables(_of_stdin(), declares=False), None
    files = _files(path)
    kinds = {_kind(file) for file in files}
    if len(kinds) > 1:
        raise ValueError(f"{path}: Expected files of one kind; got {sorted(map(str, kinds))}")
    (kind,) = kinds
    if kind in ("csv", "tsv"):
        batches = (batch for file in files for batch in _csv_file(file, "\t" if kind == "tsv" else ","))
        return tables(batches, declares=False), None
    schemas = {file.absolute().as_posix(): (file, _schema(file, kind)) for file in files}
    dataset = _dataset(path, schemas, kind)
    return tables(_batches(dataset, schemas), declares=False), dataset.count_rows()


def _files(path: str | os.PathLike) -> list[Path]:
    found = Path(path)
    if found.is_dir():
        files = sorted(f for f in found.rglob("*") if f.is_file() and not f.name.startswith(("_", ".")))
        if not files:
            raise FileNotFoundError(f"{path}: is an empty folder")
        return files
    if found.exists():
        return [found]
    files = [Path(name) for name in sorted(glob.glob(os.fspath(path), recursive=True))]  # noqa: PTH207
    if not files:
        raise FileNotFoundError(f"{path}: no such file")
    return [file for name in files for file in (_files(name) if name.is_dir() else [name])]


def _kind(file: Path) -> str:
    kind = KINDS.get(Path(file.name.lower().removesuffix(".gz")).suffix)
    if kind is None:
        raise ValueError(f"{file}: is neither CSV (.csv, .tsv), Parquet (.parquet) nor Arrow (.arrow, .feather)")
    return kind


def _dataset(path: Any, schemas: Schemas, kind: str) -> Any:
    """Files as one dataset, each column of a type that holds the values of all of them; folders k=v are columns."""
    pa = _pyarrow(str(path))
    names, own = list(schemas), [schema for _, schema in schemas.values()]
    base = str(Path(path).absolute()) if Path(path).is_dir() else None
    try:
        found = pa.dataset.dataset(names, format=kind, partitioning="hive" if base else None, partition_base_dir=base)
        schema = pa.unify_schemas([*own, _plain(found.schema)], promote_options="permissive").remove_metadata()
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{path}: cannot be read as {kind} ({_line(error)})") from error
    if len(set(schema.names)) < len(schema.names):
        twice = next(name for name in schema.names if schema.names.count(name) > 1)
        raise ValueError(f"column names must be unique; {twice!r} stands {schema.names.count(twice)} times")
    if kind == "parquet":
        # Parquet keeps text as codes and a dictionary: asked for so, no string is made of it.
        text = {f.name for f in schema if _is_text(f.type)}
        kind = pa.dataset.ParquetFileFormat(
            dictionary_columns=text & {name for one in own for name in one.names},
            default_fragment_scan_options=pa.dataset.ParquetFragmentScanOptions(page_checksum_verification=True),
        )
        for k, name in enumerate(schema.names):
            if name in text:
                schema = schema.set(k, pa.field(name, pa.dictionary(pa.int32(), pa.string())))
    return pa.dataset.dataset(
        names, schema=schema, format=kind, partitioning="hive" if base else None, partition_base_dir=base
    )


def _schema(file: Path, kind: str) -> Any:
    """The columns of a file, text without the way in which it is kept."""
    pa = _pyarrow(str(file))
    from pyarrow import ipc, parquet

    try:
        return _plain(parquet.read_schema(file) if kind == "parquet" else ipc.open_file(file).schema)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{file}: cannot be read as {kind} ({_line(error)})") from error


def _plain(schema: Any) -> Any:
    """A schema in which a dictionary of text is text: whether a file keeps one is its own matter."""
    import pyarrow as pa

    return pa.schema(
        [
            f.with_type(pa.string())
            if _is_text(f.type) or (pa.types.is_dictionary(f.type) and _is_text(f.type.value_type))
            else f
            for f in schema
        ]
    )


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    return types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)


def _batches(dataset: Any, schemas: Schemas) -> Iterator[Any]:
    """The rows of files, one row group after the other, the next being read while the last is looked at.

    Each file gives the columns that it has: so one that lacks a column, or has one more, is refused or not by who
    asked, as in every other table that comes in parts. (Arrow's own read-ahead keeps several files in memory where who
    asks is slower than the disk.)
    """
    import pyarrow as pa

    read = {file: 0 for file, _ in schemas.values()}
    folders = set(dataset.schema.names).difference(*(schema.names for _, schema in schemas.values()))

    def groups() -> Iterator[tuple[Path, Any, Any]]:
        for fragment in dataset.get_fragments():
            file, own = schemas[fragment.path]
            names = folders.union(own.names)
            schema = pa.schema([f for f in dataset.schema if f.name in names])
            with _about_file(file, read[file]):
                parts = fragment.split_by_row_group() if hasattr(fragment, "split_by_row_group") else [fragment]
            yield from ((file, part, schema) for part in parts)

    def batches(file: Path, coming: Future) -> Iterator[Any]:
        with _about_file(file, read[file]):
            found = coming.result()
        for batch in _said(file, found, read[file]):
            read[file] += batch.num_rows
            yield batch

    before = None
    with ThreadPoolExecutor(1) as ahead:
        for file, group, schema in groups():
            coming = ahead.submit(_read, group, schema)
            if before is not None:
                yield from batches(*before)
            before = file, coming
        if before is not None:
            yield from batches(*before)


def _read(group: Any, schema: Any) -> Iterable[Any]:
    """The batches of a row group, read at once unless it is large; of anything else, as they are asked for."""
    groups = getattr(group, "row_groups", None)
    small = groups is not None and sum(g.total_byte_size for g in groups) <= ROW_GROUP
    batches = group.to_batches(schema=schema, batch_size=rows_of(len(schema)), use_threads=small, batch_readahead=1)
    return list(batches) if small else batches


@contextmanager
def _about_file(name: Any, read: int) -> Iterator[None]:
    """Say of which source an error of Arrow is, and how many of its rows were read before."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{name}: cannot be read past row {read} ({_line(error)})") from error


def _said(name: Any, batches: Iterable[Any], read: int = 0) -> Iterator[Any]:
    """The batches; where they break off, an error that says whose they were."""
    batches = iter(batches)
    while True:
        with _about_file(name, read):
            batch = next(batches, None)
        if batch is None:
            return
        yield batch
        read += batch.num_rows


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300]


# CSV


def _csv_file(file: Path, separator: str) -> Iterator[Any]:
    pa = _pyarrow(str(file))
    try:
        source = pa.input_stream(str(file), compression="detect")
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{file}: cannot be read ({_line(error)})") from error
    yield from _csv(file, source, separator)


def _csv(name: Any, source: Any, separator: str) -> Iterator[Any]:
    """The blocks of a CSV file, each column of the type that its cells in that block have.

    What a column is then follows from all blocks: zeros and ones may turn out to be other numbers, whole numbers real
    ones, and an empty column anything. (A reader that settles the types on the first block fails in a later one.)
    """
    pa = _pyarrow(str(name))
    csv, text = pa.csv, pa.string()
    try:
        # Without a header its names are cells of the first row, and every cell is text.
        reader = csv.open_csv(
            source,
            read_options=csv.ReadOptions(autogenerate_column_names=True, block_size=BLOCK),
            parse_options=csv.ParseOptions(delimiter=separator, newlines_in_values=True),
            convert_options=csv.ConvertOptions(
                column_types={f"f{k}": text for k in range(2**14)}, strings_can_be_null=True, null_values=MISSING
            ),
        )
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{name}: is empty, or is not CSV ({_line(error)})") from error
    names: list[str] | None = None
    rows = 0
    for block in _said(name, reader):
        if names is None:
            names, block = _header(name, block), block.slice(1)
        rows += block.num_rows
        if block.num_rows:
            yield pa.RecordBatch.from_arrays([_typed(pa, block.column(k)) for k in range(len(names))], names=names)
    if not rows:
        raise ValueError(f"{name}: has a header and no rows")


def _header(name: Any, block: Any) -> list[str]:
    names = [block.column(k)[0].as_py() for k in range(block.num_columns)]
    if None in names:
        raise ValueError(f"{name}: column {names.index(None) + 1} has no name, or one that stands for a missing value")
    if len(set(names)) < len(names):
        twice = next(n for n in names if names.count(n) > 1)
        raise ValueError(f"{name}: column names must be unique; {twice!r} stands {names.count(twice)} times")
    return names


def _typed(pa: Any, cells: Any) -> Any:
    """Text as what all of it can be read as: nothing, whole numbers, numbers, true and false, or text."""
    if cells.null_count == len(cells):
        return pa.nulls(len(cells))
    if (shown := cells.drop_null()[0].as_py()) != shown.strip():
        from pyarrow import compute

        stripped = compute.utf8_trim_whitespace(cells)
    else:
        stripped = cells
    for kind in (pa.int64(), pa.float64(), pa.bool_()):
        try:
            return stripped.cast(kind)
        except pa.ArrowInvalid:
            continue
    return cells.dictionary_encode()


def _of_stdin() -> Iterator[Any]:
    """Standard input: an Arrow stream or CSV, told apart by the first bytes."""
    pa = _pyarrow("stdin")
    source = sys.stdin.buffer
    if source.peek(4)[:4] == b"\xff\xff\xff\xff":
        from pyarrow import ipc

        try:
            return _said("stdin", ipc.open_stream(source))
        except (pa.ArrowException, OSError) as error:
            raise ValueError(f"stdin: is not an Arrow stream ({_line(error)})") from error
    return _csv("stdin", source, ",")


# Columns


def _column(column: Any) -> Any:
    """An Arrow column as pandas holds it."""
    import pyarrow as pa

    kinds = pa.types
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
        column = column.chunk(0) if isinstance(column, pa.ChunkedArray) else column
    if kinds.is_string(column.type) or kinds.is_large_string(column.type) or kinds.is_string_view(column.type):
        column = (column.cast(pa.string()) if kinds.is_string_view(column.type) else column).dictionary_encode()
    if kinds.is_dictionary(column.type):
        return _categories(column)
    if kinds.is_decimal(column.type) or kinds.is_float16(column.type):
        column = column.cast(pa.float64())
    if kinds.is_floating(column.type):
        return column.to_numpy(zero_copy_only=False)
    if kinds.is_integer(column.type) or kinds.is_boolean(column.type):
        whole = kinds.is_integer(column.type)
        values = (column.fill_null(0 if whole else False) if column.null_count else column).to_numpy(
            zero_copy_only=False
        )
        if not column.null_count:
            return values
        masked = pd.arrays.IntegerArray if whole else pd.arrays.BooleanArray
        return masked(np.array(values), column.is_null().to_numpy(zero_copy_only=False))
    return column.to_pandas()


def _categories(column: Any) -> Any:
    import pyarrow as pa

    names = column.dictionary
    if names.null_count or len(names.unique()) < len(names):
        return _categories(column.dictionary_decode().dictionary_encode())
    codes = column.indices.cast(pa.int32()).fill_null(-1).to_numpy(zero_copy_only=False)
    return pd.Categorical.from_codes(codes, pd.Index(names.to_pylist(), dtype=_dtype(names)))


def _dtype(names: Any) -> Any:
    import pyarrow as pa

    text = pa.types.is_string(names.type) or pa.types.is_large_string(names.type)
    return object if text or not len(names) else None
