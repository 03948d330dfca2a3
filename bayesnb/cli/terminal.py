r"""Write text to a terminal or a pipe, with control characters escaped, for example as ``\x1b``."""

# A terminal would execute escape sequences.

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
import threading
import unicodedata
import warnings
from collections.abc import Iterator
from contextvars import ContextVar
from numbers import Integral
from types import FrameType
from typing import Any, TextIO

import click

from bayesnb import progress
from bayesnb.wording import FROM_0, Message, written

# Unicode categories: control characters, format characters (such as marks of direction), surrogates, line ends.
ESCAPED = ("Cc", "Cf", "Cs", "Zl", "Zp")
# Two format characters that some scripts and emoji require.
JOINERS = "\u200c\u200d"
LONGEST = 2000
"""Largest length of a message, in characters; longer messages are truncated."""


def visible(text: Any, keep: str = "") -> str:
    """Escape control characters, except those in ``keep``."""
    text = str(text)
    return text if text.isprintable() else "".join(_shown(c) if c not in keep else c for c in text)


def _shown(c: str) -> str:
    hidden = unicodedata.category(c) in ESCAPED and c not in JOINERS
    return c.encode("unicode_escape").decode() if hidden else c


def json_text(document: Any) -> str:
    """Convert a document to JSON with escaped control characters."""
    import json

    text = json.dumps(document, indent=2, ensure_ascii=False, default=str)
    return "".join(json.dumps(c)[1:-1] if c != "\n" and _shown(c) != c else c for c in text)


JOINED = "\ue000"
"""Placeholder for a space at which a line must not end."""

FLAGS: ContextVar[frozenset[str] | None] = ContextVar("FLAGS", default=None)
"""The options of the running command. Messages write other options together with ``bayesnb fit``."""


def one_line(said: Any) -> str:
    """Write a message as one readable line that names parameters as command-line options."""
    line = " ".join(map(str.strip, written(said, "command", JOINED, FLAGS.get()).splitlines()))
    return visible(line if len(line) <= LONGEST else line[:LONGEST] + "…", keep=JOINED)


def wrapped(text: Any, width: int | None) -> str:
    """Break a text into lines without splitting words or options."""
    said = visible(written(text, "command", JOINED), keep="\n" + JOINED)
    if width is None:
        return said.replace(JOINED, " ")
    from rich.cells import cell_len

    lines: list[str] = []
    for paragraph in said.split("\n"):
        line, *words = paragraph.split(" ")
        for word in words:
            if cell_len(f"{line} {word}") > width:
                lines.append(line)
                line = word
            else:
                line = f"{line} {word}"
        lines.append(line)
    return "\n".join(lines).replace(JOINED, " ")


def print_error(text: str | Message) -> None:
    """Print on stderr, with lines broken between words on a terminal."""
    width = None
    if sys.stderr is not None and sys.stderr.isatty():
        from rich.console import Console

        width = Console(stderr=True).width
    click.echo(wrapped(text, width), err=True)


def message_of(error: BaseException) -> str:
    """Write an error as one line, which includes the class name if the error is unexpected."""
    match error:
        case UnicodeEncodeError():
            return one_line(f"{error.object[:200]} is not text in the encoding {error.encoding}: rename it")
        case OSError(filename=str() | bytes() as name, strerror=str() as reason):
            return one_line(f"{name if isinstance(name, str) else name.decode(errors='replace')}: {reason}")
        case MemoryError():
            return one_line(f"out of memory {error}")
        case ValueError() | TypeError() | ArithmeticError() | OSError() if str(error):
            return one_line(error) + f" ({FROM_0})" * isinstance(getattr(error, "row", None), Integral)
    return one_line(Message("{kind}: {error} (--debug shows where)", kind=type(error).__name__, error=error))


def require_text(arguments: list[str]) -> None:
    """Raise an error if an argument, such as a file name, is not text in the encoding of the system."""
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError as error:
            encoding = sys.getfilesystemencoding()
            cure = "rename the file" if encoding == "utf-8" else "set PYTHONUTF8=1, so that it is read as UTF-8"
            raise click.UsageError(f"the argument {argument} is not text in the encoding {encoding}: {cure}") from error


def set_up_streams() -> None:
    """Make pipes UTF-8, escape characters that a terminal cannot encode, and print warnings as one line."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding=None if sys.stdout.isatty() else "utf-8", errors="backslashreplace")
    WARNED.clear()
    warnings.showwarning = lambda message, *_: warn(message)


@contextlib.contextmanager
def ended_by_signals() -> Iterator[list[int]]:
    """Let SIGTERM act like Ctrl-C; yield a list that collects received signals."""
    arrived: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield arrived
        return

    def end(number: int, frame: FrameType | None) -> None:
        arrived.append(number)
        signal.default_int_handler(number, frame)

    # A shell ignores SIGINT for background commands; keep it ignored.
    numbers = [signal.SIGTERM, *([] if signal.getsignal(signal.SIGINT) is signal.SIG_IGN else [signal.SIGINT])]
    before = {number: signal.signal(number, end) for number in numbers}
    try:
        yield arrived
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def discard_stdout() -> None:
    """Discard further output, after the reader of stdout has closed the pipe."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def require_stdin() -> None:
    """Raise an error if stdin is closed."""
    if sys.stdin is None:
        raise click.UsageError("stdin is closed: there is nothing to read from -")


class _Shown(io.TextIOBase):
    def __init__(self, file: TextIO) -> None:
        self.file = file

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        progress.hide()
        return self.file.write(visible(text, keep="\n"))


def stdout() -> TextIO:
    """Standard output, which escapes control characters on a terminal."""
    if sys.stdout is None:
        raise click.UsageError("stdout is closed: there is nothing to write to")
    return _Shown(sys.stdout) if sys.stdout.isatty() else sys.stdout


def say(text: str | Message) -> None:
    """Print a message on stderr."""
    if sys.stderr is not None:
        progress.hide()
        print_error(text)


WARNED: set[str] = set()
"""The warnings that the running command has printed."""


def warn(said: object) -> None:
    """Print a warning on stderr, unless it was printed before."""
    if (text := one_line(said)) not in WARNED:
        WARNED.add(text)
        progress.hide()
        print_error(f"bayesnb: warning: {text}")


def console_of() -> Any:
    """A console on stdout; outside a terminal, its width is the environment variable COLUMNS, or 120."""
    from rich.console import Console

    class Ours(Console):
        def on_broken_pipe(self) -> None:
            """Raise the error again, instead of exiting with code 1 as ``rich`` does by default."""
            raise

    stdout()
    console = Ours(highlight=False)
    known = console.is_terminal or os.environ.get("COLUMNS", "").isdecimal()
    return console if known else Ours(highlight=False, width=120)
