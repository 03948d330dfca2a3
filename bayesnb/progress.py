"""Progress bars on stderr, shown only on a terminal, and only for jobs that take more than two seconds."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any, Self

PATIENCE = 2.0
"""Seconds after which a job is shown."""

PAUSE = 0.1
"""Least number of seconds between two drawings."""


class Progress:
    """A job of the main thread, such as "reading", whose progress a terminal shows."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.begin = time.monotonic()
        self.done = 0
        self.of: int | None = None
        self.unit = "rows"

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            _TERMINAL.jobs.append(self)
        tick()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        _TERMINAL.end(self)

    def total(self, total: int | None, unit: str = "rows") -> None:
        self.of, self.unit = total, unit

    def add(self, done: int) -> None:
        self.done += done
        tick()

    def said(self) -> str:
        """The finished work, and the rate or the remaining time."""
        seconds = time.monotonic() - self.begin
        if not self.of:
            return f"{self.done:,} {self.unit}, {self.done / max(seconds, 1e-9):,.0f} a second"
        left = f", about {seconds / self.done * (self.of - self.done):,.0f} s left" if self.done else ""
        return f"{self.done:,} of {self.of:,} {self.unit}{left}"


def counted[Item](what: str, items: Sequence[Item], unit: str) -> Iterator[Item]:
    """Yield items and report progress."""
    with Progress(what) as progress:
        progress.total(len(items), unit)
        for item in items:
            yield item
            progress.add(1)


def tick() -> None:
    """Draw the bars again, at most once per ``PAUSE`` seconds."""
    if threading.current_thread() is threading.main_thread():
        _TERMINAL.draw()


def hide() -> None:
    """Remove the bars before something is printed; the next :func:`tick` draws them again."""
    if threading.current_thread() is threading.main_thread():
        _TERMINAL.clear()


class _Terminal:
    def __init__(self) -> None:
        self.jobs: list[Progress] = []
        self.bars: Any = None
        self.tasks: dict[int, Any] = {}
        self.drawn = 0.0

    def draw(self) -> None:
        now = time.monotonic()
        if not self.jobs or now - self.jobs[0].begin < PATIENCE or (self.bars is not None and now < self.drawn + PAUSE):
            return
        if self.bars is None:
            self.bars = _bars()
            self.bars.start()
        for job in self.jobs:
            if id(job) not in self.tasks:
                self.tasks[id(job)] = self.bars.add_task(job.what, total=job.of, said="")
            self.bars.update(
                self.tasks[id(job)], description=job.what, total=job.of, completed=job.done, said=job.said()
            )
        self.bars.refresh()
        self.drawn = now

    def end(self, job: Progress) -> None:
        """Remove a job and the jobs within it, and the bars if no job is left."""
        ids = [id(each) for each in self.jobs]
        if id(job) not in ids:
            return
        for each in ids[ids.index(id(job)) :]:
            if each in self.tasks:
                self.bars.remove_task(self.tasks.pop(each))
        self.jobs = self.jobs[: ids.index(id(job))]
        if not self.jobs:
            self.clear()

    def clear(self) -> None:
        if self.bars is not None:
            self.bars.stop()
        self.bars, self.tasks = None, {}


_TERMINAL = _Terminal()


def _bars() -> Any:
    from rich import progress
    from rich.console import Console

    console = Console(stderr=True)
    # rich would send all that is printed meanwhile to stderr, a table in a pipe too.
    return progress.Progress(
        progress.TextColumn("{task.description}", markup=False), progress.BarColumn(),
        progress.TextColumn("{task.fields[said]}", markup=False), console=console, transient=True, auto_refresh=False,
        redirect_stdout=False, redirect_stderr=False, disable=not console.is_interactive,
    )  # fmt: skip
