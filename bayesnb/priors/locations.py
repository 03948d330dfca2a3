"""Locations of real numbers, kept as two floats, so that no distance from 0 loses digits."""

from __future__ import annotations

import numpy as np

from bayesnb.numerics import Array
from bayesnb.statistics.two_floats import two_sum


def between(m: Array, low: Array, mean: Array, mean_low: Array, gap: Array, share: Array) -> tuple[Array, Array]:
    """The location m + low + share · gap, as two floats; it is computed from the nearer one of m + low and the mean."""
    near = share > 0.5
    step = np.where(near, mean_low - gap * (1 - share), low + gap * share)
    return two_sum(np.where(near, mean, m), step)
