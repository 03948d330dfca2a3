"""Sums over the stored cells of sparse rows; a cell may be the count of a word."""

from __future__ import annotations

from math import lgamma, log, log1p
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import gammaln

from bayesnb.kernels import blocks
from bayesnb.kernels.blocks import Array, loop

FACTORIALS = 1024
"""Number of counts whose ln n! is tabulated."""


def stored_cuts(x: Any) -> list[slice]:
    """Divide the rows of a sparse matrix into small blocks, so that all threads finish together."""
    return blocks.cuts(x.shape[0], 8 * (x.nnz // max(1, x.shape[0])))


def products(x: Any, table: Array) -> Array:
    """Compute ``x @ table.T``, (..., row, class); ``x`` is dense or CSR without NaN, ``table`` (..., class, column)."""
    if not sparse.issparse(x):
        return np.asarray(x, float) @ np.swapaxes(table, -1, -2)
    wide = table.reshape(-1, table.shape[-1]).T
    # The loop reads a row once for each four numbers; at many numbers, scipy is faster.
    if wide.shape[1] > 64 or not blocks.worthwhile(x.nnz * wide.shape[1]):
        found = x @ wide
    else:
        cells = blocks.contiguous(x.data, float), x.indices, x.indptr, blocks.contiguous(wide, float)
        found = np.empty((x.shape[0], wide.shape[1]))
        blocks.written(found, lambda cut, out: _products(*cells, cut.start, out), stored_cuts(x))
    return np.moveaxis(found.reshape(-1, *table.shape[:-1]), 0, -2)


@loop
def lanes(c: int, last: int) -> tuple[int, int, int, int]:
    """Four column indices that are computed together: ``c`` to ``c + 3``, but none larger than ``last``."""
    return np.uintp(c), np.uintp(min(c + 1, last)), np.uintp(min(c + 2, last)), np.uintp(min(c + 3, last))


@loop
def _products(data: Array, indices: Array, indptr: Array, table: Array, start: int, found: Array) -> None:
    for i in range(len(found)):
        for c in range(0, found.shape[1], 4):
            p, q, r, s = lanes(c, found.shape[1] - 1)
            more = s != q  # Two classes need only two sums.
            at_p = at_q = at_r = at_s = 0.0
            for k in range(np.uintp(indptr[start + i]), np.uintp(indptr[start + i + 1])):
                n, j = data[k], np.uintp(indices[k])
                at_p += n * table[j, p]
                at_q += n * table[j, q]
                if more:
                    at_r += n * table[j, r]
                    at_s += n * table[j, s]
            found[i, s], found[i, r], found[i, q], found[i, p] = at_s, at_r, at_q, at_p


def rising(x: sparse.csr_array, alpha: Array, codes: Array | None = None, weight: Array | None = None) -> Array:
    """Sum over columns of ln Γ(α_k + x_k) - ln Γ(α_k), (row, class), for CSR ``x`` and ``alpha`` (class, column)."""
    # If ``codes`` holds the class of each row, return only the sum for this class, (row,), with α reduced by ``weight``
    # times the row's counts.
    data, wide = blocks.contiguous(x.data, float), blocks.contiguous(alpha.T, float)
    # Tables of the smallest counts, if they are small compared with the matrix.
    several = min(4, x.nnz // (2 * wide.size)) if codes is None else 0
    known = np.empty((several, *wide.shape))
    with np.errstate(divide="ignore"):
        for n in range(several):
            known[n] = np.log(wide + n) + (known[n - 1] if n else 0.0)

    def part(cut: slice, found: Array) -> None:
        if codes is None:
            _rising(data, x.indices, x.indptr, cut.start, wide, known, found)
        else:
            own = codes[cut], blocks.contiguous(weight[cut])
            _rising_own(data, x.indices, x.indptr, cut.start, wide, *own, found)

    shape = (x.shape[0], wide.shape[1]) if codes is None else x.shape[0]
    return blocks.written(np.empty(shape), part, stored_cuts(x))


@loop
def _rising(data: Array, indices: Array, indptr: Array, start: int, alpha: Array, known: Array, found: Array) -> None:
    several, one = np.uintp(len(known)), np.uintp(1)
    for i in range(len(found)):
        for c in range(0, found.shape[1], 4):
            p, q, r, s = lanes(c, found.shape[1] - 1)
            more = s != q
            at_p = at_q = at_r = at_s = 0.0
            for k in range(np.uintp(indptr[start + i]), np.uintp(indptr[start + i + 1])):
                n, j = data[k], np.uintp(indices[k])
                whole = np.int64(n)
                place = np.uintp(whole) - one
                if place < several and np.float64(whole) == n:
                    at_p += known[place, j, p]
                    at_q += known[place, j, q]
                    if more:
                        at_r += known[place, j, r]
                        at_s += known[place, j, s]
                else:
                    at_p += _log_rising(alpha[j, p], n)
                    at_q += _log_rising(alpha[j, q], n) if q != p else 0.0
                    at_r += _log_rising(alpha[j, r], n) if r != q else 0.0
                    at_s += _log_rising(alpha[j, s], n) if s != r else 0.0
            found[i, s], found[i, r], found[i, q], found[i, p] = at_s, at_r, at_q, at_p


@loop
def _rising_own(
    data: Array, indices: Array, indptr: Array, start: int, alpha: Array, codes: Array, weight: Array, found: Array
) -> None:
    for i in range(len(found)):
        summed = 0.0
        for k in range(indptr[start + i], indptr[start + i + 1]):
            summed += _log_rising(max(alpha[indices[k], codes[i]] - weight[i] * data[k], 0.0), data[k])
        found[i] = summed


@loop
def _log_rising(a: float, t: float) -> float:
    if t == 0.0:
        return 0.0
    z = a + t
    if a == 0.0:
        return -np.inf
    if 0.0 < t <= 16.0 and t == np.floor(t) and 1e-150 < a < 1e12:
        product = a
        for step in range(1, int(t)):
            product *= a + step
        return log(product)
    if a >= 16.0 and z >= 16.0:
        return (a - 0.5) * log1p(t / a) + t * (log(z) - 1.0) + _stirling(z) - _stirling(a)
    return lgamma(z) - lgamma(a)


@loop
def _stirling(z: float) -> float:
    w = 1.0 / (z * z)
    return (1 / 12 - w * (1 / 360 - w * (1 / 1260 - w * (1 / 1680 - w / 1188)))) / z


def log_factorials(x: sparse.csr_array) -> tuple[Array, Array, Array]:
    """For each row of a CSR matrix: Σ_k x_k, Σ_k ln x_k!, and whether the row holds a fraction (1 or 0)."""
    data, small = blocks.contiguous(x.data, float), gammaln(np.arange(FACTORIALS) + 1.0)

    def part(cut: slice, found: Array) -> None:
        _log_factorials(data, x.indptr, cut.start, small, found)

    lengths, total, fractions = blocks.written(np.empty((x.shape[0], 3)), part, stored_cuts(x)).T
    return lengths, total, fractions


@loop
def _log_factorials(data: Array, indptr: Array, start: int, small: Array, found: Array) -> None:
    known = np.uintp(len(small))
    for i in range(len(found)):
        length = summed = fraction = 0.0
        for k in range(np.uintp(indptr[start + i]), np.uintp(indptr[start + i + 1])):
            n = data[k]
            length += n
            whole = np.int64(n)
            place = np.uintp(whole)
            if place < known and np.float64(whole) == n:
                summed += small[place]
            else:
                summed += lgamma(n + 1.0) if 0.0 <= n < np.inf else np.nan
                fraction = 1.0 if n != np.floor(n) else fraction
        found[i, 0], found[i, 1], found[i, 2] = length, summed, fraction
