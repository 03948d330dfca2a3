"""Compile loops. Only this module imports numba."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numba
from numba.extending import intrinsic, overload, typeof_impl

from bayesnb.kernels.two_floats import rounded_once


@cache
def in_machine_code(function: Callable, kind: type) -> Callable:
    """Compile a loop for the argument types of its first call; cache the machine code on disk if possible."""
    _called(kind)
    # Without ``fastmath``, because NaN marks a missing value.
    try:
        return numba.njit(nogil=True, error_model="numpy", cache=True)(function)
    except RuntimeError:
        # No cache folder is writable, so each process compiles the loop once.
        return numba.njit(nogil=True, error_model="numpy")(function)


@cache
def _called(kind: type) -> None:
    typeof_impl.register(kind)(lambda loop, context: typeof_impl(loop.machine, context))


@intrinsic
def _fused(context: Any, a: Any, b: Any, c: Any) -> Any:
    real = numba.float64
    return real(real, real, real), lambda context, builder, signature, numbers: builder.fma(*numbers)


overload(rounded_once)(lambda a, b, c: lambda a, b, c: _fused(a, b, c))
