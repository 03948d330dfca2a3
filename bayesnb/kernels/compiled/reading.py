"""Loops that look at cells and code them."""

from __future__ import annotations

import numpy as np

from bayesnb.kernels.blocks import Array
from bayesnb.kernels.compiled import compiled, compiled_sum


@compiled
def extreme(x: Array, least: float, most: float) -> bool:
    """Whether the size of some cell other than 0 is not between these."""
    odd = 0
    for i in range(len(x)):
        size = abs(x[i])
        odd += (size > most) | ((size < least) & (size > 0.0))
    return odd > 0


@compiled_sum
def binary(x: Array) -> bool:
    """Whether all cells are 0 or 1."""
    odd = 0.0
    for i in range(len(x)):
        row = x[i]
        for j in range(len(row)):
            odd += abs(row[j] * row[j] - row[j])
    return odd == 0.0


@compiled
def zeros_and_ones(x: Array, found: Array) -> bool:
    """The cells as bytes, and whether all of them are 0 or 1."""
    odd = 0
    for i in range(len(x)):
        row, out = x[i], found[i]
        for j in range(len(row)):
            one = 1.0 if row[j] == 1.0 else 0.0
            odd += row[j] != one
            out[j] = np.uint8(one)
    return odd == 0


@compiled
def bits(x: Array) -> tuple[Array, bool]:
    """One bit for each value from 0 to 63 that a column holds, and whether all its values are such."""
    found, other = np.zeros(x.shape[1], np.int64), np.int64(0)
    for i in range(len(x)):
        for j in range(x.shape[1]):
            v = x[i, j]
            found[j] |= np.int64(1) << (v & 63)
            other |= v & ~63
    return found, other == 0


@compiled
def bounds(x: Array) -> tuple[Array, Array]:
    """Smallest and largest of each column of whole numbers."""
    low, high = x[0].copy(), x[0].copy()
    for i in range(1, len(x)):
        for j in range(x.shape[1]):
            v = x[i, j]
            low[j] = min(low[j], v)
            high[j] = max(high[j], v)
    return low, high


@compiled
def marks(x: Array, low: Array, found: Array) -> None:
    """Mark in ``found`` (column, place) which values a column holds, counted from its smallest."""
    for i in range(len(x)):
        for j in range(x.shape[1]):
            found[j, x[i, j] - low[j]] = True


@compiled
def places(x: Array, low: Array, table: Array, found: Array) -> None:
    """The code of each cell, as ``table`` (column, place) has it; a value off the table has code -1."""
    for i in range(len(x)):
        for j in range(x.shape[1]):
            place = x[i, j] - low[j]
            found[i, j] = table[j, place] if 0 <= place < table.shape[1] else -1


PIECE = 512
"""Numbers that are compared with all edges while they and their counts stay in the first-level cache."""


@compiled
def intervals(x: Array, edges: Array, paths: Array, found: Array) -> None:
    """The entry of ``paths`` for each number, by how many of the edges are not above it; -1 for NaN.

    A search by halves takes five or six steps that wait for each other. To compare with each of some 60 edges takes
    more comparisons, but of four numbers and more at once, and so a fifth of the time.
    """
    piece, below = np.empty(PIECE), np.empty(PIECE, np.int64)
    for start in range(0, len(x), PIECE):
        n = min(PIECE, len(x) - start)
        for i in range(n):
            piece[i], below[i] = x[start + i], 0
        for edge in edges:
            for i in range(n):
                below[i] += np.int64(piece[i] >= edge)
        for i in range(n):
            found[start + i] = -1 if np.isnan(piece[i]) else paths[below[i]]
