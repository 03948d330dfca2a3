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
