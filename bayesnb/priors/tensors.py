"""How the numbers of priors and data enter a PyMC model: start with :func:`shared`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from bayesnb.numerics import Array

_CONSTANT: ContextVar[bool] = ContextVar("constant", default=False)


@contextmanager
def constant() -> Iterator[None]:
    """Let :func:`shared` make constants.

    ``pymc.sample_posterior_predictive`` takes a shared variable for one that may have changed since the draws were
    taken. It then warns, or in older versions draws the parameters again from their prior.
    """
    token = _CONSTANT.set(True)
    try:
        yield
    finally:
        _CONSTANT.reset(token)


def shared(value: Array) -> Any:
    """An array as a shared variable of PyTensor, not a constant, so that compiled code serves other data too."""
    import pytensor
    from pytensor import tensor as pt

    if _CONSTANT.get():
        return pt.constant(np.asarray(value, float))
    if (whole := _PACKED.get()) is not None:
        return whole.add(np.asarray(value, float))
    return pytensor.shared(np.asarray(value, float), shape=np.shape(value))


class _Packed:
    """Arrays one after the other in one shared vector."""

    def __init__(self) -> None:
        import pytensor

        self.vector, self.parts, self.length = pytensor.shared(np.zeros(0), name="data"), [np.zeros(0)], 0

    def add(self, value: Array) -> Any:
        start, self.length = self.length, self.length + value.size
        self.parts.append(value.ravel())
        return self.vector[start : self.length].reshape(value.shape)


_PACKED: ContextVar[_Packed | None] = ContextVar("packed", default=None)


@contextmanager
def packed() -> Iterator[None]:
    """Let :func:`shared` make pieces of one shared vector, which has its values at the end of the block.

    A compiled function of one vector is called faster than one of ten arrays, and all such functions have one type.
    """
    token = _PACKED.set(own := _Packed())
    try:
        yield
        own.vector.set_value(np.concatenate(own.parts))
    finally:
        _PACKED.reset(token)
