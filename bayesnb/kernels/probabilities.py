"""Rows by class, from log joint densities to class probabilities."""

from __future__ import annotations

from functools import reduce

import numpy as np

from bayesnb.kernels import blocks
from bayesnb.kernels.blocks import Array

NEAR = 2**16
"""Numbers of a temporary array that stays in the second-level cache."""


def over_last(combine: np.ufunc, x: Array) -> Array:
    """``combine.reduce`` over the last axis, which stays with length 1.

    Few items are combined one by one: numpy is slow at short rows, and adds up to eight of them in this order too.
    """
    if 0 < x.shape[-1] < 8:
        return reduce(combine, (x[..., k : k + 1] for k in range(x.shape[-1])))
    return combine.reduce(x, axis=-1, keepdims=True)


def add_row(joint: Array, row: Array) -> Array:
    """``row`` (class,) added to every row of ``joint`` (row, class), in place."""
    if len(row) >= 64:
        joint += row
        return joint
    # Class by class: numpy is slow at short rows.
    for c, value in enumerate(row):
        joint[:, c] += value
    return joint


def normalized(joint: Array, logs: bool = True) -> Array | None:
    """Probabilities along the last axis, or with ``logs`` their logarithms; ``None`` where all of a row is -inf.

    ``joint`` holds their logarithms, up to a constant for each row. The largest is subtracted first: beside a joint of
    -1e17, the logarithm of the sum would be lost to rounding. Then log1p of the sum of the other powers keeps the
    digits of a row that is all but certain.
    """
    rows = joint.reshape(-1, joint.shape[-1])
    found = np.empty(rows.shape)

    def part(cut: slice) -> bool:
        # Rows lie side by side, because numpy is slow at short rows. It is a copy also of a single row or class.
        below = np.array(rows[cut].T, order="C")
        top = below.max(axis=0)
        if np.isneginf(top).any():
            return False
        below -= top
        powers = np.exp(below)
        if logs:
            tops = below == 0
            powers[tops] = 0.0
            below -= np.log1p(powers.sum(axis=0) + (tops.sum(axis=0) - 1.0))
        else:
            np.divide(powers, powers.sum(axis=0), out=below)
        found[cut] = below.T
        return True

    parts = blocks.slices(len(rows), max(1, NEAR // max(1, rows.shape[1])))
    return found.reshape(joint.shape) if all(blocks.each(part, parts)) else None
