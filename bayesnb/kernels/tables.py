"""Coded columns: how often each value occurs in each class, and tables of values added up at the cells of rows.

A column of levels, or of whole numbers, is codes into a small table of values. What is learned of it is how often each
value occurs in each class (:func:`count`). Every formula is evaluated once for each value, class and column, and the
resulting table is added up at the cells of each row (:func:`gather`), or at those of its own class alone
(:func:`gather_own`). Each of the three is a loop in machine code for large tables, and a few lines of numpy for small
ones. Both add in the same order, so both give the same bits.
"""

from __future__ import annotations

from functools import reduce
from operator import iadd

import numpy as np
from scipy import sparse

from bayesnb.kernels import blocks, sums
from bayesnb.kernels.blocks import Array

SMALL = 2**14
"""Cells from which on a compiled loop is faster than numpy, where the compiler is loaded already."""


def count(codes: Array, labels: Array, weight: Array, n_classes: int, n_values: int) -> Array:
    """Weight of each value, (class, column, value).

    Parameters
    ----------
    codes : int array or CSR matrix (row, column)
        -1 counts nowhere. The stored cells of a sparse matrix are ones, and the others are zeros.
    labels, weight : arrays (row,)
        The class of each row, and its weight.
    n_classes, n_values : int
    """
    if sparse.issparse(codes):
        ones = sums.totals(codes, labels, weight, n_classes)
        return np.stack([sums.weights(labels, weight, n_classes)[:, None] - ones, ones], axis=-1)
    shape = (n_classes, codes.shape[1], n_values)
    compiled = blocks.worthwhile(codes.size, SMALL)

    def part(cut: slice) -> Array:
        found = np.zeros(shape)
        rows, own, w = (blocks.contiguous(v[cut]) for v in (codes, labels, weight))
        if compiled:
            from bayesnb.kernels.compiled import sums as loops

            loops.tally(rows, own, w, found)
            return found
        for column, code in enumerate(rows.T):
            known = (code >= 0) & (code < n_values)
            cell = own[known] * n_values + code[known]
            found[:, column] = np.bincount(cell, w[known], n_classes * n_values).reshape(n_classes, n_values)
        return found

    return reduce(iadd, blocks.each(part, blocks.cuts(len(codes), codes.shape[1], 4 * n_classes * n_values)))


def gather(codes: Array | None, table: Array) -> Array:
    """Σ_j table_j at the value of each row, (..., row, class).

    Parameters
    ----------
    codes : int array or CSR matrix (row, column), or None
        -1 adds nothing. The stored cells of a sparse matrix are ones, and the others are zeros. ``None`` means that
        each row has a value of its own: the table is then already one of rows.
    table : array (..., value, class, column)
    """
    if codes is None:
        # A running sum adds in the order of the columns, as the loops below do.
        return np.add.accumulate(table, axis=-1)[..., -1] if table.shape[-1] else np.zeros(table.shape[:-1])
    if sparse.issparse(codes):
        return _gather_stored(codes, table)
    if table.ndim == 3 and blocks.worthwhile(codes.size * table.shape[1], SMALL):
        return _gathered(codes, table, None)
    *lead, _, n_classes, columns = table.shape
    total = np.zeros((*lead, len(codes), n_classes))
    for column in range(columns):
        # The code of a missing value is -1, which reads the last line: nothing.
        own = np.concatenate([table[..., column], np.zeros((*lead, 1, n_classes))], axis=-2)
        total += own[..., codes[:, column], :]
    return total


def gather_own(codes: Array, table: Array, labels: Array) -> Array:
    """As :func:`gather`, at a row's own class alone, (row,); ``table`` is (value, class, column)."""
    if sparse.issparse(codes):
        total = np.zeros(codes.shape[0])
        for c in np.unique(labels):
            rows = np.flatnonzero(labels == c)
            total[rows] = _gather_stored(codes[rows], table[:, [c]])[:, 0]
        return total
    if blocks.worthwhile(codes.size, SMALL):
        return _gathered(codes, table, labels)
    total = np.zeros(len(codes))
    for column in range(table.shape[2]):
        code = codes[:, column]
        total += np.where(code >= 0, table[code, labels, column], 0.0)
    return total


def _gathered(codes: Array, table: Array, labels: Array | None) -> Array:
    """:func:`gather` and :func:`gather_own` in machine code."""
    from bayesnb.kernels.compiled import densities as loops

    n_values, n, columns = table.shape
    flat = np.zeros((columns, n_values + 1, -(-n // 4) * 4))
    flat[:, 1:, :n] = np.moveaxis(table, -1, 0)
    flat, starts = flat.reshape(-1, flat.shape[-1]), np.arange(columns) * (n_values + 1)
    total = np.zeros((len(codes), n) if labels is None else len(codes))

    def part(cut: slice) -> None:
        if labels is None:
            loops.gather(blocks.contiguous(codes[cut]), starts, flat, total[cut])
        else:
            loops.gather_own(blocks.contiguous(codes[cut]), labels[cut], starts, flat, total[cut])

    list(blocks.each(part, blocks.cuts(len(codes), columns * n)))
    return total


def _gather_stored(codes: sparse.csr_array, table: Array) -> Array:
    """:func:`gather` of zeros and ones: that of zeros everywhere, and what the stored cells change.

    A difference of infinite numbers would be NaN, so infinite ones, such as the logarithm of what a class cannot have,
    are counted by themselves.
    """
    from bayesnb.kernels.densities import products

    zero, one = table[..., 0, :, :], table[..., 1, :, :]
    finite = np.isfinite(zero) & np.isfinite(one)
    total = products(codes, np.where(finite, one - zero, 0.0)) + np.where(finite, zero, 0.0).sum(-1)[..., None, :]
    for infinite in (-np.inf, np.inf):
        by_zero, by_one = zero == infinite, one == infinite
        if by_zero.any() or by_one.any():
            # The finite half of such a column has not been added yet, and is, where no cell is infinite.
            times = by_zero.sum(-1)[..., None, :] + products(codes, by_one.astype(float) - by_zero)
            rest = products(codes, np.where(by_zero & ~by_one, one, 0.0) - np.where(by_one & ~by_zero, zero, 0.0))
            rest = rest + np.where(by_one & ~by_zero, zero, 0.0).sum(-1)[..., None, :]
            total = np.where(times > 0, infinite, total + rest)
    return total


def whole_numbers(x: Array) -> tuple[Array, int] | None:
    """The cells of a table of floats as codes, -1 where NaN, and the largest; ``None`` if one is no small whole number.

    "Small" is up to 32,766, so that a code takes two bytes.
    """
    if blocks.worthwhile(x.size, SMALL):
        from bayesnb.kernels.compiled import reading as loops

        codes = np.empty(x.shape, np.int16)
        parts = blocks.cuts(len(x), x.shape[1], blocks.CELLS // max(1, x.shape[1]))
        tops = list(blocks.each(lambda cut: loops.whole_numbers(blocks.contiguous(x[cut], float), codes[cut]), parts))
        return None if min(tops) < -1 else (codes, max(tops))
    with np.errstate(invalid="ignore"):
        codes = np.where(np.isnan(x), -1, x)
        if not ((codes >= -1) & (codes <= 32_766) & (codes == np.floor(codes))).all() or (x < 0).any():
            return None
    codes = codes.astype(np.int16)
    return codes, int(codes.max(initial=-1))
