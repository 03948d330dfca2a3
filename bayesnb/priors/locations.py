"""Locations of real numbers, kept in two parts and in a unit of their size, so that no scale loses digits."""

from __future__ import annotations

import numpy as np

from bayesnb.kernels.expansions import two_sum
from bayesnb.numerics import Array
from bayesnb.statistics.moments import ORDINARY


def unit_of(size: Array) -> Array:
    """The unit for numbers of this size: 1, or the power of two below them if they are not ordinary."""
    power = np.frexp(size)[1] - 1
    odd = (size > 0) & np.isfinite(size) & (np.abs(power) > ORDINARY)
    return np.ldexp(1.0, np.where(odd, power, 0))


def between(m: Array, low: Array, mean: Array, mean_low: Array, gap: Array, share: Array) -> tuple[Array, Array]:
    """The location m + low + share · gap, as two floats; it is computed from the nearer one of m + low and the mean."""
    near = share > 0.5
    step = np.where(near, mean_low - gap * (1 - share), low + gap * share)
    return two_sum(np.where(near, mean, m), step)


def ordinary(shift: Array, unit: Array | float) -> Array:
    """Which columns, (column,), need neither a unit nor a second float.

    ``shift`` is what a location of one float would lack, in units of the spread.
    """
    return ((np.abs(shift) <= 1e-12) & (unit == 1)).all(axis=tuple(range(np.ndim(shift) - 1)))
