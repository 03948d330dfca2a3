"""The compiled loops, each over the rows of one block; nothing else here knows the compiler.

Start with the verbs in ``bayesnb.kernels.sums``, ``densities`` and ``reading``, which cut a table into blocks, hand
them to threads and join what comes back; the loops of each stand in the module of that name. A loop lets go of the
interpreter's lock, is handed contiguous arrays, keeps the rules of IEEE arithmetic (a NaN is a missing value, and must
stay one), and is kept on disk once compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba.extending import intrinsic


def compiled(loop: Callable, rules: set[str] | bool = False) -> Callable:
    """The loop in machine code, kept on disk where there is a place to keep it.

    ``rules`` are those of arithmetic that the compiler may bend. It is compiled for the types of the arguments at the
    first call.
    """
    try:
        return numba.njit(nogil=True, error_model="numpy", fastmath=rules, cache=True)(loop)
    except RuntimeError:
        # No folder to keep it in can be written: it is compiled once a process.
        return numba.njit(nogil=True, error_model="numpy", fastmath=rules)(loop)


def compiled_sum(loop: Callable) -> Callable:
    """A loop that may add in any order, though never as if a NaN or an infinity could not be."""
    return compiled(loop, {"reassoc", "contract"})


@intrinsic
def rounded_once(context: Any, a: Any, b: Any, c: Any) -> Any:
    """a b + c, rounded once (a fused multiply-add), so that ``rounded_once(a, b, -(a * b))`` is what a b lost."""
    real = numba.float64
    return real(real, real, real), lambda context, builder, signature, numbers: builder.fma(*numbers)
