"""Compile loops: the only module that imports numba, and only when a table is large enough for a compiled loop."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numba
from numba.extending import intrinsic, overload, typeof_impl

from bayesnb.kernels.two_floats import rounded_once


@cache
def in_machine_code(function: Callable, kind: type) -> Callable:
    """The loop in machine code, cached on disk where a folder can be written.

    It is compiled for the types of the arguments at the first call. Loops are of one ``kind``, an object whose
    ``machine`` is such a function; one loop may call another.
    """
    _called(kind)
    try:
        return numba.njit(nogil=True, error_model="numpy", cache=True)(function)
    except RuntimeError:
        # No cache folder can be written, so each process compiles the loop once.
        return numba.njit(nogil=True, error_model="numpy")(function)


@cache
def _called(kind: type) -> None:
    """Let the compiler see an object of this kind, when a loop calls it, as its function in machine code."""
    typeof_impl.register(kind)(lambda loop, context: typeof_impl(loop.machine, context))


@intrinsic
def _fused(context: Any, a: Any, b: Any, c: Any) -> Any:
    real = numba.float64
    return real(real, real, real), lambda context, builder, signature, numbers: builder.fma(*numbers)


overload(rounded_once)(lambda a, b, c: lambda a, b, c: _fused(a, b, c))
