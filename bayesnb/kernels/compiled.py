"""Compile loops: the only module that imports numba, and only when a table is large enough for a compiled loop."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numba
from numba.extending import intrinsic, overload, typeof_impl

from bayesnb.kernels.blocks import Loop
from bayesnb.kernels.two_floats import rounded_once


@cache
def in_machine_code(function: Callable) -> Callable:
    """The loop in machine code, cached on disk where a folder can be written.

    It is compiled for the types of the arguments at the first call.
    """
    try:
        return numba.njit(nogil=True, error_model="numpy", cache=True)(function)
    except RuntimeError:
        # No cache folder can be written, so each process compiles the loop once.
        return numba.njit(nogil=True, error_model="numpy")(function)


@typeof_impl.register(Loop)
def _type_of_loop(called: Loop, context: Any) -> Any:
    """The type of a loop that another loop calls."""
    return typeof_impl(called.machine, context)


@intrinsic
def _fused(context: Any, a: Any, b: Any, c: Any) -> Any:
    real = numba.float64
    return real(real, real, real), lambda context, builder, signature, numbers: builder.fma(*numbers)


overload(rounded_once)(lambda a, b, c: lambda a, b, c: _fused(a, b, c))
