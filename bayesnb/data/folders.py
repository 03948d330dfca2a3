"""Read a folder of mail or of text files as a table with one row per text."""

from __future__ import annotations

import email
import email.header
import mailbox
import re
from collections.abc import Iterator, Sequence
from email.errors import HeaderParseError
from html.parser import HTMLParser
from itertools import batched
from pathlib import Path
from typing import Any

import pandas as pd

from bayesnb.data.decoding import GUESSES, encoding_of
from bayesnb.wording import warn

TEXT, CLASS, FILE = "text", "class", "file"
"""The names of the table's two columns and of its index."""

MAIL = {".eml", ".mbox", ".mbx"}
"""The suffixes of files that hold mail. Other files hold mail if they begin with its headers."""

AT_ONCE = 10_000
"""The number of texts per part of a table that is read in parts."""

FIRST_OF_MBOX = re.compile(rb"From \S+ +\w{3} \w{3} +\d")
TWO_HEADERS = re.compile(rb"[!-9;-~]+:[^\n]*\n(?:[ \t][^\n]*\n)*[!-9;-~]+:")
IN_EVERY_MAIL = ("From", "Received", "Message-ID")
BLOCKS = {
    "address", "article", "blockquote", "br", "dd", "div", "dl", "dt", "footer", "h1", "h2", "h3", "h4", "h5", "h6",
    "header", "hr", "li", "ol", "p", "pre", "section", "table", "td", "th", "title", "tr", "ul",
}  # fmt: skip
"""HTML elements that end a word. Other elements may be within a word, as in "V<b>i</b>agra"."""


def are_texts(path: Any, files: Sequence[Path], expected: Sequence[str], tabular: set[str]) -> bool:
    """Whether each file is a text or mail, rather than a part of a table."""
    suffixes = {file.suffix.lower() for file in files}
    if suffixes & MAIL:
        return True
    if not Path(path).is_dir() or suffixes & (tabular - {".txt"}):
        return False
    # A folder of ``.txt`` files holds texts if there is a subfolder per class, or if ``expected`` names the column of
    # texts.
    classes = {label for file in files if (label := _class_of(file, Path(path))) is not None}
    if TEXT not in expected and (len(classes) < 2 or any("=" in label for label in classes)):
        return False
    heads = {_head(file) for file in files if file.suffix.lower() == ".txt"}
    only = next(iter(heads)) if len(heads) == 1 else b""
    return len(heads) != 1 or (len(files) == 1 and TEXT.encode() not in re.split(rb"\W+", only))


def _head(file: Path) -> bytes:
    with file.open("rb") as data:
        return data.read(2**12).lstrip().partition(b"\n")[0].strip()


def _class_of(file: Path, folder: Path) -> str | None:
    within = file.relative_to(folder).parts if folder.is_dir() else ()
    return within[0] if len(within) > 1 else None


def names_of(path: Any, files: Sequence[Path]) -> list[str]:
    """The names of the columns: "text", and "class" if any file is in a subfolder."""
    return [TEXT, CLASS] if any(_class_of(file, Path(path)) is not None for file in files) else [TEXT]


def frames(path: Any, files: Sequence[Path]) -> Iterator[pd.DataFrame]:
    """Yield the texts in small tables; warn of unreadable files."""
    lost: list[str] = []
    columns = names_of(path, files)
    rows = _rows(Path(path), sorted(files, key=lambda file: file.as_posix()), lost)
    for some in batched(rows, AT_ONCE, strict=False):
        names, texts, labels = zip(*some, strict=True)
        cells = {TEXT: texts, CLASS: labels}
        index = pd.Index(names, name=FILE, dtype=object)
        yield pd.DataFrame({name: pd.Series(cells[name], index, dtype="str") for name in columns})
    if lost:
        shown = ", ".join(lost[:10]) + f" and {len(lost) - 10:,} more" * (len(lost) > 10)
        warn(f"{path}: {len(lost):,} {'files are' if len(lost) > 1 else 'file is'} left out: {shown}")


def _rows(path: Path, files: Sequence[Path], lost: list[str]) -> Iterator[tuple[str, str, str | None]]:
    for file in files:
        name = file.relative_to(path).as_posix() if path.is_dir() else file.as_posix()
        try:
            texts = _texts(file)
        except (OSError, ValueError) as error:
            lost.append(f"{name} ({error.strerror or error if isinstance(error, OSError) else error})")
            continue
        for k, text in enumerate(texts, 1):
            yield f"{name}#{k}" if len(texts) > 1 else name, text, _class_of(file, path)


def _texts(file: Path) -> list[str]:
    raw = file.read_bytes()
    if file.suffix.lower() in MAIL - {".eml"} or FIRST_OF_MBOX.match(raw):
        box = mailbox.mbox(file, create=False)
        try:
            texts = [_mail(email.message_from_bytes(box.get_bytes(key))) for key in box.keys()]  # noqa: SIM118
        finally:
            box.close()
        if not texts:
            raise ValueError("no mail in it")
        return texts
    named = file.suffix.lower() == ".eml"
    if named or TWO_HEADERS.match(raw):
        message = email.message_from_bytes(raw)
        if named and not message.keys():
            raise ValueError("no mail in it")
        if named or any(name in message for name in IN_EVERY_MAIL):
            return [_mail(message)]
    encoding = encoding_of(file)
    if encoding is None and b"\0" in raw:
        raise ValueError("not a text")
    return [decoded(raw, encoding)]


def decoded(raw: bytes, encoding: str | None) -> str:
    """Decode a text with the first possible encoding: the given one, UTF-8, cp1252 or latin-1."""
    for each in (encoding, "utf-8-sig", *GUESSES):
        try:
            if each is not None:
                return raw.decode(each)
        except (LookupError, UnicodeError):
            continue
    raise AssertionError("latin-1 accepts all bytes")


def _mail(message: Any) -> str:
    raw_subject = next((value for name, value in message.raw_items() if name.lower() == "subject"), "")
    subject = decoded(raw_subject.encode("utf-8", "surrogateescape"), None)
    try:
        pieces = email.header.decode_header(subject)
    except (HeaderParseError, ValueError):
        pieces = [(subject, None)]
    subject = "".join(decoded(piece, how) if isinstance(piece, bytes) else piece for piece, how in pieces)
    parts = list(_parts(message))
    plain = [_content(part) for part in parts if part.get_content_type() != "text/html"]
    if not any(text.strip() for text in plain):
        plain = [of_html(_content(part)) for part in parts if part.get_content_type() == "text/html"]
    return "\n".join(text for text in (subject, *plain) if text.strip())


def _parts(message: Any) -> Iterator[Any]:
    if message.get_content_disposition() == "attachment" or message.get_content_maintype() == "message":
        return
    if message.is_multipart():
        for part in message.get_payload():
            yield from _parts(part)
    elif message.get_content_maintype() == "text":
        yield message


def _content(part: Any) -> str:
    return decoded(part.get_payload(decode=True) or b"", part.get_content_charset())


def of_html(text: str) -> str:
    """The text of an HTML page, without its scripts and styles."""
    reader = _Page()
    reader.feed(text)
    reader.close()
    return "".join(reader.found)


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []
        self.hidden = False

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.hidden = tag in ("script", "style")
        self._end_word(tag)

    def handle_endtag(self, tag: str) -> None:
        self.hidden = False
        self._end_word(tag)

    def handle_data(self, data: str) -> None:
        if not self.hidden:
            self.found.append(data)

    def _end_word(self, tag: str) -> None:
        if tag in BLOCKS:
            self.found.append("\n")


def whole(path: Any, files: Sequence[Path]) -> pd.DataFrame:
    """Read all files as one table of texts."""
    parts = list(frames(path, files))
    if not parts:
        raise ValueError(f"{path}: no file holds a text")
    return pd.concat(parts)
