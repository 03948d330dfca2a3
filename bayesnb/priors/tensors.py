"""How the numbers of priors and data enter a PyMC model: start with :func:`shared`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from bayesnb.numerics import Array


def _alone(value: Array) -> Any:
    import pytensor

    return pytensor.shared(value, shape=value.shape)


_ENTER: ContextVar[Callable[[Array], Any]] = ContextVar("enter", default=_alone)


def shared(value: Array) -> Any:
    """An array as a shared variable of PyTensor, not a constant, so that compiled code serves other data too."""
    return _ENTER.get()(np.asarray(value, float))


@contextmanager
def constant() -> Iterator[None]:
    """Let :func:`shared` make constants.

    ``pymc.sample_posterior_predictive`` takes a shared variable for one that may have changed since the draws were
    taken. It then warns, or in older versions draws the parameters again from their prior.
    """
    from pytensor import tensor as pt

    token = _ENTER.set(pt.constant)
    try:
        yield
    finally:
        _ENTER.reset(token)


@contextmanager
def packed() -> Iterator[None]:
    """Let :func:`shared` make pieces of one shared vector, which has its values at the end of the block.

    A compiled function of one vector is called faster than one of ten arrays, and all such functions have one type.
    """
    import pytensor

    vector, parts = pytensor.shared(np.zeros(0), name="data"), [np.zeros(0)]

    def piece(value: Array) -> Any:
        start = sum(part.size for part in parts)
        parts.append(value.ravel())
        return vector[start : start + value.size].reshape(value.shape)

    token = _ENTER.set(piece)
    try:
        yield
        vector.set_value(np.concatenate(parts))
    finally:
        _ENTER.reset(token)
