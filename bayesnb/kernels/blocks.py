"""Decide whether to compile a loop; divide rows into blocks and among threads.

Results are bit-identical for any number of threads.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from threading import Lock, RLock, current_thread
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy import sparse

type Array = np.ndarray

COMPILED_FROM = 2**19
"""Least number of cells for a compiled loop; below it, importing the compiler takes longer than the work."""

ALONE = 2**25
"""Number of cells that numpy processes before the compiler is loaded for loops whose numpy form gives the same bits:
numpy has then taken about as long as loading takes.
"""

SMALL = 2**14
"""Number of cells from which a compiled loop is faster than numpy, if the compiler is already loaded."""

_answered = 0.0
"""Number of cells that numpy has processed so far."""

ROWS = 65_536
"""Largest number of rows of a block: a sum over more rows loses digits that a sum of partial sums keeps."""

CELLS = 2**20
"""Number of cells of a block, so that a temporary array of this size stays in the cache."""


WORKER = "bayesnb"
"""Name of the worker threads. A worker thread starts no further threads."""


class Loop:
    """A loop over the rows of a block, compiled at its first call."""

    # Compiled loops release the GIL and need contiguous arrays.

    def __init__(self, function: Callable) -> None:
        self.function = function
        self.known: set[tuple[Any, ...]] = set()
        self.__doc__ = function.__doc__

    @property
    def machine(self) -> Callable:
        from bayesnb.kernels.compiled import in_machine_code

        with _compiling:
            return in_machine_code(self.function, type(self))

    def __call__(self, *arguments: Any) -> Any:
        answer = self.machine(*map(_writable, arguments))
        self.known.add(_types(arguments))
        return answer


_compiling = RLock()

loop = Loop


def _types(arguments: Sequence[Any]) -> tuple[Any, ...]:
    return tuple((a.dtype, a.ndim, a.flags.c_contiguous) if isinstance(a, np.ndarray) else type(a) for a in arguments)


def _writable(a: Any) -> Any:
    """A writable view of an array, because numba would compile a loop again for a read-only array."""
    # No loop writes to its input.
    if not isinstance(a, np.ndarray) or a.flags.writeable:
        return a
    interface = a.__array_interface__
    address, _ = interface["data"]
    return np.asarray(SimpleNamespace(array=a, __array_interface__=interface | {"data": (address, False)}))


def worthwhile(cells: float, from_: int = SMALL) -> bool:
    """Whether a table of ``cells`` cells is worth a compiled loop instead of bit-identical numpy code."""
    global _answered
    if cells < from_:
        return False
    # Loading the compiler takes about one second, so it is loaded only after numpy has worked for one second.
    _answered += cells
    return "bayesnb.kernels.compiled" in sys.modules or _answered >= ALONE


def either(loop: Loop, in_numpy: Callable, cells: float, *arguments: Any) -> None:
    """Run a compiled loop or its bit-identical numpy form, whichever is probably faster."""
    if worthwhile(cells):
        loop(*arguments)
    elif _types(arguments) in loop.known:
        loop.machine(*map(_writable, arguments))
    else:
        in_numpy(*arguments)


def slices(n_rows: int, size: int = ROWS) -> list[slice]:
    """Divide rows into slices of at most ``size`` rows; zero rows give one empty slice."""
    return [slice(start, min(start + size, n_rows)) for start in range(0, max(n_rows, 1), size)]


def cuts(n_rows: int, columns: int, least: int = 1) -> list[slice]:
    """Divide rows into slices of about ``CELLS`` cells; each slice has ``least`` to ``ROWS`` rows."""
    return slices(n_rows, max(least, 64, min(ROWS, CELLS // max(1, columns))))


def each[T](work: Callable[[slice], T], parts: list[slice]) -> Iterator[T]:
    """Compute ``work(slice)`` for all ``parts`` in parallel (see :func:`threads`), and yield the results in order."""
    if len(parts) < 2:
        yield from map(work, parts)
        return
    n = min(threads(), len(parts))
    with one_thread_each():
        if n < 2:
            yield from map(work, parts)
            return
        found: list[Any] = [None] * len(parts)
        left = iter(range(len(parts)))

        def some() -> None:
            # Each thread takes the next block itself, which costs less than handing over every block.
            for k in left:
                found[k] = work(parts[k])

        for task in [_workers(os.getpid(), n).submit(some) for _ in range(n)]:
            task.result()
        yield from found


def written(out: Array, work: Callable[[slice, Array], Any], parts: list[slice]) -> Array:
    """Fill ``out`` by calling ``work(slice, out[slice])`` for each slice in ``parts``."""
    for _ in each(lambda cut: work(cut, out[cut]), parts):
        pass
    return out


_limits: list[tuple[list[int], Any]] = []
_limited = Lock()


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Limit the matrix library to one thread while any caller is inside this context."""
    # Further threads would use the processor while they wait for the next product of small matrices.
    with _limited:
        _limits.append(_limits[0] if _limits else (_allowed(), _pools().limit(limits=1, user_api="blas")))
    try:
        yield
    finally:
        with _limited:
            _, limit = _limits.pop()
            if not _limits:
                limit.restore_original_limits()


@cache
def _workers(process: int, n: int) -> ThreadPoolExecutor:
    """A pool of threads; a forked process makes a new pool."""
    return ThreadPoolExecutor(n, WORKER)


def threads() -> int:
    """Number of threads, as allowed by ``numba.set_num_threads`` and ``threadpoolctl.threadpool_limits``."""
    if current_thread().name.startswith(WORKER):
        return 1
    if "numba" in sys.modules:
        import numba

        cores = numba.get_num_threads()
    else:
        import joblib

        cores = joblib.cpu_count()
    allowed, *_ = [allowed for allowed, _ in _limits[:1]] or [_allowed()]
    return max(1, min([cores, *allowed]))


def _allowed() -> list[int]:
    return [library.num_threads for library in _pools().lib_controllers]


@cache
def _pools() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def contiguous(x: Array, dtype: Any = None) -> Array:
    """A dense contiguous array, copied only if needed."""
    return np.ascontiguousarray(x.toarray() if sparse.issparse(x) else x, dtype)


def cells(x: Array) -> Array:
    """Convert a table to a contiguous array of bytes or doubles."""
    return contiguous(x, np.uint8 if x.dtype in (np.uint8, np.bool_) else np.float64)
