"""A progress bar on stderr that appears after two seconds."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any, Self

PATIENCE = 2.0


class Progress:
    """A progress bar with rows per second and remaining time, shown only on a terminal.

    ``what`` describes the job.
    """

    def __init__(self, what: str) -> None:
        self.what = what
        self.begin = time.monotonic()
        self.done = 0
        self.of: int | None = None
        self.unit = "rows"
        self.bar: Any = None
        self.task: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.bar is not None:
            self.bar.stop()

    def total(self, total: int | None, unit: str = "rows") -> None:
        self.of, self.unit = total, unit

    def add(self, done: int) -> None:
        self.done += done
        seconds = time.monotonic() - self.begin
        if seconds < PATIENCE:
            return
        if self.bar is None:
            self.bar = _bar()
            self.task = self.bar.add_task(self.what, total=self.of, speed="")
            self.bar.start()
        speed = f"{self.done:,} {self.unit}, {self.done / seconds:,.0f} a second"
        self.bar.update(self.task, completed=self.done, speed=speed)


def _bar() -> Any:
    from rich import progress
    from rich.console import Console

    console = Console(stderr=True)
    return progress.Progress(
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.TextColumn("{task.fields[speed]}"),
        progress.TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
