"""Files: CSV and Parquet as one table, with what is wrong with them said; any file written whole or not at all."""

from __future__ import annotations

import csv
import gzip
import os
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import Any

import pandas as pd

LINE = 2**23
"""Characters of a line of a CSV file at most."""


@contextmanager
def replacing(path: str | os.PathLike) -> Iterator[Path]:
    """A path beside this one to write to; this one is at every moment the old file or the whole new one.

    Where the block ends without an error the new file is flushed to disk and takes the old one's place.

    Raises
    ------
    OSError
        If the folder does not exist or cannot be written; the old file is then as it was.
    """
    path = Path(os.path.realpath(path))
    if path.is_dir():
        raise IsADirectoryError(f"{path}: is a folder")
    if path.exists() and not path.is_file():
        # A pipe or a device cannot be replaced.
        yield path
        return
    part = path.with_name(f".{path.name}.{os.getpid()}.{token_hex(4)}.part")
    try:
        yield part
        with part.open("rb") as file:
            os.fsync(file.fileno())
        if path.exists():
            part.chmod(path.stat().st_mode & 0o777)
        part.replace(path)
        _flush_folder(path.parent)
    finally:
        part.unlink(missing_ok=True)


def _flush_folder(folder: Path) -> None:
    """The new name itself is only on disk once its folder is. (Windows has no such call, and needs none.)"""
    if os.name == "posix":
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def write(frames: Iterable[pd.DataFrame], path: str | os.PathLike) -> int:
    """Frames as one Parquet or CSV file, one after the other; whole or not at all. Returns the number of rows.

    Raises
    ------
    ValueError
        For a file of another kind.
    OSError
        If the disk is full or the folder cannot be written; an old file is then as it was.
    """
    kind = Path(path).suffix.lower()
    if kind not in (".parquet", ".pq", ".csv", ".tsv"):
        raise ValueError(f"{path}: Expected a file that ends in .parquet, .csv or .tsv")
    with replacing(path) as part:
        if kind in (".csv", ".tsv"):
            with part.open("w", encoding="utf-8", newline="") as file:
                return write_csv(frames, file, "\t" if kind == ".tsv" else ",")
        return _write_parquet(frames, part)


def write_csv(frames: Iterable[pd.DataFrame], file: Any, separator: str = ",") -> int:
    """Frames as CSV, one after the other, under one header."""
    rows, header = 0, True
    for frame in frames:
        frame.to_csv(file, sep=separator, index=False, header=header, lineterminator="\n")
        rows, header = rows + len(frame), False
    return rows


def _write_parquet(frames: Iterable[pd.DataFrame], path: Path) -> int:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise ValueError(f"{path}: Parquet needs pyarrow; install bayesnb[arrow]") from error
    rows, writer = 0, None
    try:
        for frame in frames:
            table = pa.Table.from_pandas(frame, writer and writer.schema, preserve_index=False)
            writer = writer or parquet.ParquetWriter(path, table.schema)
            writer.write_table(table)
            rows += len(frame)
    finally:
        if writer is not None:
            writer.close()
    if writer is None:
        raise ValueError(f"{path}: there are no rows to write")
    return rows


def read(path: str | Path) -> pd.DataFrame:
    """A CSV, TSV or Parquet file as a frame; an empty cell or NA is missing.

    Raises
    ------
    ValueError
        If the file is empty, ragged, not UTF-8, has two columns of one name, or is of another kind.
    """
    path = Path(path)
    if path.is_dir() or not path.exists():
        raise FileNotFoundError(f"{path}: {'is a folder' if path.is_dir() else 'no such file'}")
    kind = path.name.lower().removesuffix(".gz")
    if kind.endswith((".parquet", ".pq")):
        return _parquet(path)
    if not kind.endswith((".csv", ".tsv", ".txt")):
        raise ValueError(f"{path}: is neither CSV (.csv, .tsv) nor Parquet (.parquet)")
    separator = "\t" if kind.endswith(".tsv") else ","
    _check_text(path, separator)
    return pd.read_csv(path, sep=separator, encoding="utf-8")


def _parquet(path: Path) -> pd.DataFrame:
    try:
        return pd.read_parquet(path, engine="pyarrow", page_checksum_verification=True)
    except ImportError as error:
        raise ValueError(f"{path}: Parquet needs pyarrow; install bayesnb[arrow]") from error
    except Exception as error:
        raise ValueError(f"{path}: is not readable as Parquet ({error})") from error


def _check_text(path: Path, separator: str) -> None:
    """What pandas would mend without a word: short rows and columns of one name."""
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8-sig", newline="") as lines:
            rows = csv.reader(_bounded(path, lines), delimiter=separator)
            header = next(rows, None)
            if not header:
                raise ValueError(f"{path}: is empty")
            name, times = Counter(header).most_common(1)[0]
            if times > 1:
                raise ValueError(f"{path}: column names must be unique; {name!r} stands {times} times")
            filled = 0
            for row in rows:
                filled += bool(row)
                if row and len(row) != len(header):
                    raise ValueError(
                        f"{path}: line {rows.line_num} has {len(row)} cells where the header has {len(header)}"
                    )
            if not filled:
                raise ValueError(f"{path}: has a header and no rows")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path}: is not UTF-8 (byte {error.object[error.start]:#x} at {error.start}); save it as UTF-8"
        ) from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{path}: is not gzip, or not all of it ({error})") from error
    except csv.Error as error:
        raise ValueError(f"{path}: is not CSV ({error})") from error


def _bounded(path: Path, lines: Any) -> Iterator[str]:
    """The lines of a file, none of them so long that it would not fit in memory."""
    number = 0
    while line := lines.readline(LINE + 1):
        number += 1
        if len(line) > LINE:
            raise ValueError(f"{path}: line {number} is longer than {LINE:,} characters, so this is not CSV")
        yield line
