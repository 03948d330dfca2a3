"""Convert text files and streams to UTF-8."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

GUESSES = ("cp1252", "latin-1")
"""Encodings for files that are not UTF-8. cp1252 rejects five bytes; latin-1 accepts all bytes."""

BLOCK = 2**22
"""Number of characters that are decoded at once."""

LINE = 2**23
"""The largest length of a line, in bytes. A longer line is an error, because it could fill the memory."""

MARKS = {
    codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32", codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}  # fmt: skip
"""Encodings by byte order mark, the longest marks first."""


class Workspace:
    """A temporary folder, created on first use and deleted together with this object."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._files = 0

    def path(self, suffix: str = ".csv") -> Path:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="bayesnb-"))
            weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._files += 1
        return self._folder / f"{self._files}{suffix}"

    def plain(self, file: Path) -> Path:
        if os.sep != "/" or "\\" not in (name := str(file.absolute())) or not set(name) & set("*?["):
            return file
        (link := self.path(file.suffix)).symlink_to(file.absolute())
        return link


def encoding_of(file: Path) -> str | None:
    """The encoding detected from a file's first bytes; ``None`` if none is detected, which usually means UTF-8."""
    with opened(file) as data:
        head = data.read(2**12)
    for mark, encoding in MARKS.items():
        if head.startswith(mark):
            return encoding
    # Without a byte order mark, the zero bytes of ASCII letters distinguish the two forms of UTF-16.
    if head[1::2].count(0) > len(head) // 4 and not head[::2].count(0):
        return "utf-16-le"
    if head[::2].count(0) > len(head) // 4 and not head[1::2].count(0):
        return "utf-16-be"
    return None


def decoded(name: Any, file: Path, encoding: str, space: Workspace) -> Path:
    """Return the path of the file, or of a UTF-8 copy if the file has another encoding."""
    try:
        known = codecs.lookup(encoding)
    except LookupError as error:
        raise ValueError(
            f"there is no encoding {encoding!r}; common ones are utf-8, utf-16, cp1252 and latin-1"
        ) from error
    if known.name in ("utf-8", "ascii"):
        return file
    copy = space.path()
    with (
        io.TextIOWrapper(opened(file), encoding=encoding, newline="") as text,
        copy.open("w", encoding="utf-8", newline="") as out,
    ):
        try:
            shutil.copyfileobj(text, out, BLOCK)
        except UnicodeDecodeError as error:
            byte = f"byte {error.object[error.start]:#x}"
            raise UnicodeError(f"{name}: is not {encoding} ({byte}): name its encoding with --encoding") from error
    return copy


def opened(file: Path) -> Any:
    """Open a file as bytes, decompressed if it is gzip."""
    return gzip.open(file) if compression(file) == "gzip" else file.open("rb")


def compression(file: Path) -> str:
    """The compression of a file in DuckDB's terms: "gzip" or "none"."""
    with file.open("rb") as data:
        return "gzip" if data.read(2) == b"\x1f\x8b" else "none"


def is_empty(file: Path) -> bool:
    """Whether the first 64 KiB of a file hold only white space."""
    with opened(file) as data:
        return not data.read(2**16).strip(b"\xef\xbb\xbf \t\r\n")


def lines_of(file: Path, skip: int = 0) -> Iterator[str]:
    """Yield the lines of a file."""
    with io.TextIOWrapper(opened(file), encoding="utf-8-sig", errors="replace", newline="") as lines:
        yield from islice(lines, skip, None)
