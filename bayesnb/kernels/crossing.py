"""Counts of pairs of cells by class, for many pairs of columns."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from bayesnb.kernels.blocks import Array, large_enough, slices

PRODUCT = 100
"""Multiplications that take as long as counting one row in one pair."""


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
    if large_enough(codes.shape[1] * len(pairs)) and sizes.sum() ** 2 < PRODUCT * len(pairs):
        every = _every_pair(codes, sizes, labels)
        cells = [slice(first, last) for first, last in pairwise([0, *np.cumsum(sizes)])]
        return np.concatenate([every[:, cells[i], cells[j]].reshape(labels.n, -1) for i, j in pairs], axis=1)
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


def _every_pair(codes: Array, sizes: Array, labels: Any) -> Array:
    """Weight of each pair of cells of all columns by class, (class, cell, cell), by products of matrices.

    Let z be the indicators of the cells that a row lies in, 1 or 0. The weights of all pairs of cells are Σ w z zᵀ over
    the rows of a class. With a few cells a column the library of matrices has these sums in a fifth of the time that a
    loop over rows and pairs takes. Sums of ones over the rows of a block are exact in single precision.
    """
    starts, n = np.cumsum([0, *sizes])[:-1, None], int(sizes.sum())
    found = np.zeros((labels.n, n, n))
    for c, rows, weight in labels.each_class():
        alike = bool((weight == 1).all())
        for cut in slices(len(rows), 2**13):
            block, w = codes[:, rows[cut]], weight[cut, None]
            inside = np.zeros((len(w), n + 1), np.float32 if alike else float)
            # What is missing goes into a last cell, which is then left out.
            inside[np.arange(len(w)), np.where(block >= 0, block + starts, n)] = 1.0
            inside = inside[:, :n]
            found[c] += inside.T @ (inside if alike else inside * w)
    return found
