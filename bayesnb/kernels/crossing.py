"""Counts of pairs of cells by class, for many pairs of columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesnb.kernels.blocks import Array, large_enough, slices


def counted(codes: Array, sizes: Array, pairs: Array, labels: Any) -> Array:
    """Weight of each pair of cells by class, (class, cell), one pair after the other.

    Parameters
    ----------
    codes : int array (column, row)
        The cell of each row; -1 is missing, and counts nowhere.
    sizes : int array (column,)
        How many cells each column has.
    pairs : int array (pair, 2)
        The columns of each pair.
    labels : Labels
    """
    widths = sizes[pairs[:, 0]] * sizes[pairs[:, 1]]
    starts = np.concatenate([[0], np.cumsum(widths)]).astype(np.intp)
    if large_enough(codes.shape[1] * len(pairs)):
        from bayesnb.kernels.compiled import crossing

        found = np.zeros((starts[-1], labels.n))
        narrow = np.int8 if sizes.max(initial=0) <= np.iinfo(np.int8).max else np.int32
        # Rows are taken a block at a time, so that the codes of a block stay in the cache for all its pairs.
        for cut in slices(codes.shape[1], 2**13):
            block = np.ascontiguousarray(codes[:, cut], narrow)
            weight = np.ascontiguousarray(labels.weight[cut], float)
            crossing.count(block, labels.codes[cut].astype(np.intp), weight, pairs, sizes, starts, found)
        return np.ascontiguousarray(found.T)
    found = np.zeros((labels.n, starts[-1]))
    for k, (i, j) in enumerate(pairs):
        known = (codes[i] >= 0) & (codes[j] >= 0)
        cell = labels.codes[known] * widths[k] + codes[i][known] * sizes[j] + codes[j][known]
        each = np.bincount(cell, labels.weight[known], minlength=labels.n * widths[k])
        found[:, starts[k] : starts[k + 1]] = each.reshape(labels.n, -1)
    return found
