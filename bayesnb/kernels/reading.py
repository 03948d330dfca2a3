"""Cells to what the sums take: tests for extreme cells, for 0 and 1, for counts, and codes of integers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bayesnb.kernels import blocks
from bayesnb.kernels.blocks import Array

SPAN = 2**17
"""Integers are coded by a lookup table if they span at most this many values."""

LEAST, MOST = np.float64(1e-150), np.float64(1e150)
"""Numbers other than 0 are read if their size is between these, so that their squares and sums of them are floats."""

SMALL = 2**14
"""Cells from which on the compiled look at them is faster than numpy's, where the compiler is loaded already."""

SIDE = 64
"""Cells in a row from which on a loop over its columns is long enough to be fast."""


def extreme(x: Array) -> bool:
    """Whether some cell of a table, (row, column), is infinite, or is too large or too small to be squared."""
    if x.dtype.kind != "f" or not x.size:
        return False
    if not blocks.worthwhile(x.size, SMALL):
        size = np.abs(x)
        # A table without 0 and NaN needs no look at each cell.
        return not (size.min() >= LEAST and size.max() <= MOST) and bool(extremes(x).any())
    from bayesnb.kernels.compiled import reading as loops

    x = x.T if x.flags.f_contiguous else x
    return any(blocks.each(lambda cut: loops.extreme(x[cut].ravel(), LEAST, MOST), _parts(x)))


def extremes(x: Array) -> Array:
    """Which cells these are."""
    size = np.abs(x)
    return (size > MOST) | ((size < LEAST) & (size > 0))


class Whole(NamedTuple):
    """Which whole numbers the columns of a table hold: ``low`` (column,) and up, where ``held`` (column, place)."""

    low: Array
    held: Array

    def values(self, column: int) -> Array:
        """The numbers of a column, sorted."""
        return self.low[column] + np.flatnonzero(self.held[column])


def whole(x: Array) -> Whole | None:
    """Which numbers the columns hold; ``None`` where one of them spans more than ``SPAN``, or there is no row."""
    from bayesnb.kernels.compiled import reading as loops

    if not len(x):
        return None
    parts = _parts(x)
    masks, few = zip(*blocks.each(lambda cut: _bits(_wide(x[cut])), parts), strict=True)
    if all(few):
        held = np.bitwise_or.reduce(masks)[:, None] >> np.arange(64) & 1 == 1
        return Whole(np.zeros(x.shape[1], np.int64), held)
    lows, highs = zip(*blocks.each(lambda cut: loops.bounds(_wide(x[cut])), parts), strict=True)
    low, high = np.min(lows, axis=0), np.max(highs, axis=0)
    span = max(int(b) - int(a) for a, b in zip(low, high, strict=True)) + 1
    if span > SPAN:
        return None

    def marked(cut: slice) -> Array:
        found = np.zeros((x.shape[1], span), bool)
        loops.marks(_wide(x[cut]), low, found)
        return found

    return Whole(low, np.any(list(blocks.each(marked, parts)), axis=0))


def _bits(x: Array) -> tuple[Array, bool]:
    """One bit for each value from 0 to 63 that a column holds, and whether all its values are such."""
    from bayesnb.kernels.compiled import reading as loops

    # If there are few columns, several rows are joined into one, because long rows use vector instructions.
    columns = x.shape[1]
    side = max(1, SIDE // columns)
    whole = len(x) // side * side
    folded, few = loops.bits(x[:whole].reshape(-1, side * columns))
    rest, few_left = loops.bits(x[whole:])
    return np.bitwise_or.reduce(folded.reshape(side, columns)) | rest, few and few_left


def codes(x: Array, held: Whole, table: Array) -> Array:
    """The code of each cell, in the type of ``table`` (column, place), whose places are those of ``held``.

    Where all numbers that are held are their own codes, the answer is the cells themselves, and no copy of them.
    """
    from bayesnb.kernels.compiled import reading as loops

    low, same = held.low, table == np.arange(table.shape[1])
    if not low.any() and x.dtype == np.int64 and (same | ~held.held).all():
        return x
    found = np.empty(x.shape, table.dtype)
    parts = _parts(x)
    list(blocks.each(lambda cut: loops.places(_wide(x[cut]), low, table, found[cut]), parts))
    return found


def intervals(x: Array, edges: Array, paths: Array) -> Array:
    """The entry of ``paths`` (edge + 1,) for each number, by how many of the edges are not above it; -1 for NaN."""
    if not blocks.worthwhile(x.size, 1):
        return np.where(np.isnan(x), -1, paths[np.searchsorted(edges, x, side="right")])
    from bayesnb.kernels.compiled import reading as loops

    found = np.empty(len(x), paths.dtype)
    parts = blocks.slices(len(x))
    list(blocks.each(lambda cut: loops.intervals(np.asarray(x[cut], float), edges, paths, found[cut]), parts))
    return found


def _wide(x: Array) -> Array:
    return blocks.contiguous(x, np.int64)


def _parts(x: Array) -> list[slice]:
    """Blocks for loops that add nothing up, and so may be long without losing digits."""
    return blocks.cuts(len(x), x.shape[1], blocks.CELLS // max(1, x.shape[1]))
