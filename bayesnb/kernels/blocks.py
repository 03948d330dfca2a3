"""When a compiled loop is worth its start, into which blocks rows are cut, and how many threads work on them.

The blocks follow from the shape of a table alone, and what they give is joined in their order: so any number of
threads gives the same answer, to the last bit.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from threading import Lock, current_thread
from typing import Any

import numpy as np

type Array = np.ndarray

COMPILED_FROM = 2**19
"""From how many cells on a compiled loop answers: below, importing the compiler takes longer than the work."""

PART = 2**16
"""Cells of one feature of a large table from which on a compiled loop is quicker than numpy, once it is there."""

_table: ContextVar[float] = ContextVar("cells of the table", default=0.0)

ROWS = 65_536
"""Sums of more rows than this lose digits that a sum of partial sums keeps."""

CELLS = 2**20
"""Cells of a block: few enough for a temporary of its size to stay in the cache."""


WORKER = "bayesnb"
"""What the threads are called; one of them does not start others."""


def worth(cells: float) -> bool:
    """Whether a compiled loop over this many cells is worth its start."""
    return cells >= COMPILED_FROM or (cells >= PART and _table.get() >= COMPILED_FROM)


@contextmanager
def table(cells: float) -> Iterator[None]:
    """What is worth it within is told by the size of the whole table, whose columns are summed one by one."""
    token = _table.set(cells)
    try:
        yield
    finally:
        _table.reset(token)


def slices(n_rows: int, size: int = ROWS) -> list[slice]:
    """Slices of at most ``size`` rows that cover the table exactly; one empty slice if it has no rows."""
    return [slice(start, min(start + size, n_rows)) for start in range(0, max(n_rows, 1), size)]


def cuts(n_rows: int, columns: int, least: int = 1) -> list[slice]:
    """Slices that cover the rows, if only an empty one.

    A slice has about ``CELLS`` cells, at least ``least`` rows, and at most ``ROWS``.
    """
    return slices(n_rows, max(least, 64, min(ROWS, CELLS // max(1, columns))))


def each[T](work: Callable[[slice], T], parts: list[slice]) -> Iterator[T]:
    """``work`` of each slice in their order, on as many threads as :func:`threads` allows."""
    if len(parts) < 2:
        yield from map(work, parts)
        return
    n = min(threads(), len(parts))
    # A product of matrices within a block is one thread's: threads of threads wait for each other.
    with _one_thread_each():
        if n < 2:
            yield from map(work, parts)
            return
        found: list[Any] = [None] * len(parts)
        left = iter(range(len(parts)))

        def some() -> None:
            # Each takes the next one that is left: to hand every block to a thread takes longer than many a sum.
            for k in left:
                found[k] = work(parts[k])

        for thread in [_workers(os.getpid(), n).submit(some) for _ in range(n)]:
            thread.result()
        yield from found


_limits: list[Any] = []
_limited = Lock()


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """The matrix library on one thread; the first of several that want it so sets it, and the last sets it back."""
    with _limited:
        _limits.append(None if _limits else _pools().limit(limits=1, user_api="blas"))
    try:
        yield
    finally:
        with _limited:
            if len(_limits) == 1:
                _limits[0].restore_original_limits()
                _limits.clear()
            else:
                _limits.pop()


@cache
def _workers(process: int, n: int) -> ThreadPoolExecutor:
    """Threads that wait for work, as starting them takes long too. A forked process has its own."""
    return ThreadPoolExecutor(n, WORKER)


def threads() -> int:
    """How many threads work: as many as ``numba.set_num_threads`` and ``threadpoolctl.threadpool_limits`` allow."""
    if current_thread().name.startswith(WORKER):
        return 1
    import numba

    limits = [library["num_threads"] for library in _pools().info()]
    return max(1, min([numba.get_num_threads(), *limits]))


@cache
def _pools() -> Any:
    """The thread pools of the libraries that are loaded; to look for them takes long, to ask them does not."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def contiguous(x: Array, dtype: Any = None) -> Array:
    """The block as the loops read it, without a copy where it is so already."""
    return np.ascontiguousarray(x, dtype)


def cells(x: Array) -> Array:
    """A block of numbers in one of the two types that the loops read them in."""
    return contiguous(x, np.uint8 if x.dtype in (np.uint8, np.bool_) else np.float64)


def fours(table: Array, filler: float = 0.0) -> Array:
    """A table (class, column) as (column, class) with a multiple of four classes, so that four of them are a vector."""
    wide = np.full((table.shape[1], -(-len(table) // 4) * 4), filler)
    wide[:, : len(table)] = table.T
    return wide
