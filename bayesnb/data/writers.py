"""Write files completely or not at all."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import Any

import pandas as pd

from bayesnb.wording import warn


@contextmanager
def replacing(path: str | os.PathLike) -> Iterator[Path]:
    """Yield a temporary path, which replaces ``path`` after the block unless the block raises an error."""
    path = Path(os.path.realpath(path))
    if path.is_dir():
        raise IsADirectoryError(f"{path}: is a folder")
    require_folder(path)
    if path.exists() and not path.is_file():
        # A pipe or a device cannot be replaced.
        yield path
        return
    part = path.with_name(f".{path.name}.{os.getpid()}.{token_hex(4)}.part")
    try:
        with naming(path, part):
            yield part
            with part.open("rb") as file:
                os.fsync(file.fileno())
            if path.exists():
                part.chmod(path.stat().st_mode & 0o777)
            part.replace(path)
        _flush_folder(path.parent)
    finally:
        part.unlink(missing_ok=True)


def require_folder(path: Path) -> None:
    """Raise ``FileNotFoundError`` if the output folder does not exist."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path}: there is no folder {path.parent}")


@contextmanager
def naming(path: Path, beside: Path) -> Iterator[None]:
    """In errors, replace the name of the temporary file by ``path``."""
    try:
        yield
    except OSError as error:
        if error.filename is None or Path(os.fsdecode(error.filename)) != beside:
            raise
        raise OSError(error.errno, f"{error.strerror}: its folder takes no new file", str(path)) from error


def _flush_folder(folder: Path) -> None:
    if os.name == "posix":
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


SEPARATORS = {".csv": ",", ".tsv": "\t"}


def write(frames: Iterable[pd.DataFrame], path: str | os.PathLike) -> int:
    """Write frames as one Parquet or CSV file, completely or not at all; return the number of rows."""
    kind = Path(path).suffix.lower()
    if kind not in (".parquet", ".pq", *SEPARATORS):
        raise ValueError(f"{path}: Expected a file that ends in .parquet, .csv or .tsv")
    frames = map(_with_names, frames)
    with replacing(path) as part:
        if kind in SEPARATORS:
            marked: set[Any] = set()
            with part.open("w", encoding="utf-8", newline="") as file:
                rows = write_csv((_without_formulas(frame, marked) for frame in frames), file, SEPARATORS[kind])
            if marked:
                warn(
                    f"{path}: an apostrophe stands before cells of {', '.join(sorted(map(repr, marked)))} that a "
                    "spreadsheet would run as formulas; Parquet keeps cells as they are"
                )
            return rows
        return _write_parquet(frames, part)


def write_csv(frames: Iterable[pd.DataFrame], file: Any, separator: str = ",") -> int:
    """Write frames as CSV under one header; return the number of rows."""
    rows, header = 0, True
    for frame in map(_with_names, frames):
        frame.to_csv(file, sep=separator, index=False, header=header, lineterminator="\n")
        rows, header = rows + len(frame), False
    return rows


def _with_names(frame: pd.DataFrame) -> pd.DataFrame:
    return frame if frame.index.name is None or frame.index.name in frame else frame.reset_index()


FORMULA = r"(?=[=@\t\r]|[+-](?![\d\s.,()/-]*$))"
"""Pattern of the beginning of cells that spreadsheets run as formulas. Numbers and telephone numbers do not match."""


def _without_formulas(frame: pd.DataFrame, marked: set[Any]) -> pd.DataFrame:
    """Put an apostrophe before texts that look like formulas, and add the names of changed columns to ``marked``."""
    found = {}
    for k, name in enumerate(frame.columns):
        column = frame.iloc[:, k]
        if pd.api.types.is_numeric_dtype(column.dtype):
            continue
        safe = [re.sub(rf"\A{FORMULA}", "'", cell) if isinstance(cell, str) else cell for cell in column]
        if any(new is not old and new != old for new, old in zip(safe, column, strict=True)):
            found[k] = safe
            marked.add(name)
    heads = [re.sub(rf"\A{FORMULA}", "'", name) if isinstance(name, str) else name for name in frame.columns]
    marked |= {old for new, old in zip(heads, frame.columns, strict=True) if new != old}
    if found or heads != [*frame.columns]:
        frame = frame.set_axis(heads, axis=1)
        for k, safe in found.items():
            frame.isetitem(k, pd.Series(safe, frame.index, dtype=object))
    return frame


def _write_parquet(frames: Iterable[pd.DataFrame], path: Path) -> int:
    import pyarrow as pa
    from pyarrow import parquet

    rows, writer = 0, None
    try:
        for frame in frames:
            table = pa.Table.from_pandas(frame, writer and writer.schema, preserve_index=False)
            if writer is None:
                # Probabilities hardly repeat, and looking them up in a dictionary would dominate the time of writing.
                repeating = [field.name for field in table.schema if not pa.types.is_floating(field.type)]
                writer = parquet.ParquetWriter(path, table.schema, use_dictionary=repeating)
            writer.write_table(table)
            rows += len(frame)
    finally:
        if writer is not None:
            writer.close()
    if writer is None:
        raise ValueError(f"{path}: there are no rows to write")
    return rows
