"""Convert Arrow batches to small tables, without a Python object per row."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd

from bayesnb.data.amounts import GAPS, MOST_SEEN, is_float

BATCH = 2**22
"""The largest number of cells per batch. Memory use is a small multiple of this number."""


def batch_rows(columns: int) -> int:
    """The number of rows per batch."""
    return int(np.clip(BATCH // max(1, columns), 2**10, 2**18))


def frame_of(batch: Any) -> pd.DataFrame:
    """Convert an Arrow batch or table to a pandas frame, with text as categories."""
    frame = pd.DataFrame({k: array_of(batch.column(k)) for k in range(batch.num_columns)}, copy=False)
    frame.columns = list(batch.schema.names)
    return frame


def coded(batches: Iterable[Any], files: Iterable[Mapping[bytes, bytes] | None]) -> Iterator[Any]:
    """Restore the categorical type of columns that were categorical when their Parquet file was written."""
    import pyarrow as pa

    written = [metadata[b"ARROW:schema"] for metadata in files if metadata and b"ARROW:schema" in metadata]
    schemas = [pa.ipc.read_schema(pa.BufferReader(base64.b64decode(schema))) for schema in written]
    names = {f.name for schema in schemas for f in schema if pa.types.is_dictionary(f.type)}
    for batch in batches:
        for k, f in enumerate(batch.schema):
            if f.name in names and not pa.types.is_dictionary(f.type):
                batch = batch.set_column(k, f.name, batch.column(k).dictionary_encode())
        yield batch


def without_marks(batches: Iterable[Any], na: Sequence[str]) -> Iterator[Any]:
    """Replace the user's missing-value markers with null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kinds = pa.types
    for batch in batches:
        names = batch.schema.names
        for k, name in enumerate(names):
            column, marks = batch.column(k), marks_in(name, na, names)
            if marks and is_ordered(column.type):
                held = column.dictionary.filter(
                    pc.invert(pc.is_in(column.dictionary, pa.array(marks, column.dictionary.type)))
                )
                codes = pc.index_in(column.dictionary_decode(), held)
                batch = batch.set_column(k, name, pa.DictionaryArray.from_arrays(codes, held, ordered=True))
                continue
            if marks and kinds.is_dictionary(column.type):
                column = column.dictionary_decode()
            kind = column.type
            if marks and is_text(kind):
                gone = pc.is_in(pc.utf8_trim_whitespace(column), pa.array(spelled(marks), kind))
            elif marks and (kinds.is_floating(kind) or kinds.is_integer(kind) or kinds.is_decimal(kind)):
                numbers = pa.array(map(float, filter(is_float, marks)), pa.float64())
                gone = pc.is_in(column.cast(pa.float64(), safe=False), numbers)
            else:
                continue
            batch = batch.set_column(k, name, pc.if_else(gone, pa.scalar(None, kind), column))
        yield batch


def marks_in(column: str, na: Iterable[str], names: Iterable[str]) -> list[str]:
    """The markers in ``na`` (TEXT or COL=TEXT) that apply to ``column``."""
    longest = sorted(map(str, names), key=len, reverse=True)
    found = []
    for mark in na:
        named = next((name for name in longest if mark.startswith(f"{name}=")), None)
        if named in (None, str(column)):
            found.append(mark if named is None else mark[len(named) + 1 :])
    return found


def spelled(marks: Sequence[str]) -> list[str]:
    """The markers of missing cells; a whole number such as 99 is also spelled with decimals, such as 99.0."""
    whole = [mark for mark in marks if mark.lstrip("-").isdecimal()]
    return [*marks, *(mark + zero for mark in whole for zero in (".0", ".00", ",0", ",00"))]


@contextmanager
def about_source(name: Any, read: int) -> Iterator[None]:
    """Convert Arrow errors to ``ValueError``, with the source and the last row read."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{name}: cannot be read past row {read} ({message_of(error)})") from error


def until_broken(name: Any, batches: Iterable[Any], read: int = 0) -> Iterator[Any]:
    """Yield the batches; error messages name the file or stream."""
    batches = iter(batches)
    while True:
        with about_source(name, read):
            batch = next(batches, None)
        if batch is None:
            return
        yield batch
        read += batch.num_rows


def message_of(error: BaseException) -> str:
    """The error message on one line."""
    return " ".join(str(error).split())[:300]


def array_of(column: Any) -> Any:
    """Convert an Arrow column to an array for pandas."""
    import pyarrow as pa

    kinds = pa.types
    if isinstance(column, pa.ChunkedArray):
        # One chunk needs no copy; several may stay a chunked array of one.
        column = column if column.num_chunks == 1 else column.combine_chunks()
        column = column.chunk(0) if isinstance(column, pa.ChunkedArray) else column
    if is_text(column.type):
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
    return column.to_pandas() if kinds.is_null(column.type) else pd.array(column, pd.ArrowDtype(column.type))


def plain(schema: Any, ordered: Iterable[str]) -> Any:
    """Convert text columns to plain text, and the text columns named in ``ordered`` to ordered categories."""
    import pyarrow as pa

    levels = dict.fromkeys(ordered, pa.dictionary(pa.int32(), pa.string(), ordered=True))

    def of_text(kind: Any) -> bool:
        return is_text(kind) or (pa.types.is_dictionary(kind) and is_text(kind.value_type))

    return pa.schema([f.with_type(levels.get(f.name, pa.string())) if of_text(f.type) else f for f in schema])


def ordered_in(schemas: Iterable[Any]) -> set[str]:
    """The columns that are ordered categories in every file that has them."""
    kinds = [(f.name, is_ordered(f.type)) for schema in schemas for f in schema]
    return {name for name, _ in kinds} - {name for name, is_so in kinds if not is_so}


def is_text(kind: Any) -> bool:
    """Whether ``kind`` is one of Arrow's text types."""
    from pyarrow import types

    return types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)


def texts_in(dataset: Any) -> Iterator[set[str]]:
    """The first different texts, in alphabetical order, of each column of text."""
    for column in dataset.schema:
        found: set[str] = set()
        if is_text(getattr(column.type, "value_type", column.type)) and not hasattr(column.type, "value_field"):
            for batch in dataset.to_batches(columns=[column.name]):
                found.update(text for text in batch.column(0).unique().to_pylist() if text is not None)
                found = {*sorted(found)[: MOST_SEEN + len(GAPS)]}
        yield found


def is_ordered(kind: Any) -> bool:
    """Whether an Arrow type has ordered text levels, like a polars Enum."""
    from pyarrow import types

    return types.is_dictionary(kind) and kind.ordered and is_text(kind.value_type)


def _categories(column: Any) -> Any:
    import pyarrow as pa

    names = column.dictionary
    if names.null_count or len(names.unique()) < len(names):
        return _categories(column.dictionary_decode().dictionary_encode())
    codes = column.indices.cast(pa.int32()).fill_null(-1).to_numpy(zero_copy_only=False)
    dtype = object if is_text(names.type) or not len(names) else None
    return pd.Categorical.from_codes(codes, pd.Index(names.to_pylist(), dtype=dtype), ordered=column.type.ordered)
