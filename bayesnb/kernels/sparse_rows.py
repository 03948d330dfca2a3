"""Sums over the stored cells of sparse rows, such as the counts of words."""

from __future__ import annotations

from math import lgamma, log, log1p
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import gammaln

from bayesnb.kernels import blocks
from bayesnb.kernels.blocks import Array, loop

FACTORIALS = 1024
"""Counts whose ln n! is looked up."""


def stored_cuts(x: Any) -> list[slice]:
    """Blocks of the rows of a sparse matrix."""
    return blocks.cuts(x.shape[0], x.nnz // max(1, x.shape[0]))


def products(x: Any, table: Array) -> Array:
    """Σ_j x_j table_j, (..., row, class); x dense or CSR, without NaN, ``table`` (..., class, column)."""
    if not sparse.issparse(x):
        return np.asarray(x, float) @ np.swapaxes(table, -1, -2)
    return np.moveaxis((x @ table.reshape(-1, table.shape[-1]).T).reshape(-1, *table.shape[:-1]), 0, -2)


def rising(x: sparse.csr_array, alpha: Array, codes: Array | None = None, weight: Array | None = None) -> Array:
    """Σ_k ln Γ(α_k + x_k) - ln Γ(α_k), (row, class); x CSR, ``alpha`` (class, column).

    With ``codes``, at a row's own class, (row,), and α less ``weight`` times the row's own counts.
    """
    data, wide = blocks.contiguous(x.data, float), np.ascontiguousarray(alpha.T)
    # Tables of the smallest counts, where they are small beside the matrix.
    several = min(4, x.nnz // (2 * wide.size)) if codes is None else 0
    with np.errstate(divide="ignore"):
        known = np.cumsum([np.log(wide + n) for n in range(several)], axis=0).reshape(-1, *wide.shape)

    def part(cut: slice, found: Array) -> None:
        if codes is None:
            _rising(data, x.indices, x.indptr, cut.start, wide, known, found)
        else:
            own = codes[cut], blocks.contiguous(weight[cut])
            _rising_own(data, x.indices, x.indptr, cut.start, wide, *own, found)

    shape = (x.shape[0], len(alpha)) if codes is None else x.shape[0]
    return blocks.written(np.zeros(shape), part, stored_cuts(x))


@loop
def _rising(data: Array, indices: Array, indptr: Array, start: int, alpha: Array, known: Array, found: Array) -> None:
    """``known`` (count, column, class) has the terms of the counts 1, 2, …, so that most words need no logarithm."""
    for i in range(len(found)):
        row = found[i]
        for k in range(indptr[start + i], indptr[start + i + 1]):
            n, j = data[k], indices[k]
            place = int(n) - 1 if 1.0 <= n <= len(known) else -1
            seen = place >= 0 and place + 1 == n
            for c in range(len(row)):
                row[c] += known[place, j, c] if seen else _log_rising(alpha[j, c], n)


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
    """ln Γ(a + t) - ln Γ(a), as :func:`bayesnb.numerics.log_rising`."""
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


def log_factorials(x: sparse.csr_array) -> tuple[Array, Array]:
    """Σ_k x_k and Σ_k ln x_k! of each row of a CSR matrix, (row,) each.

    The second is NaN for a row with a number that is negative or not finite.
    """
    data, small = blocks.contiguous(x.data, float), gammaln(np.arange(FACTORIALS) + 1.0)

    def part(cut: slice, found: Array) -> None:
        _log_factorials(data, x.indptr, cut.start, small, found)

    lengths, total = blocks.written(np.empty((x.shape[0], 2)), part, stored_cuts(x)).T
    return lengths, total


@loop
def _log_factorials(data: Array, indptr: Array, start: int, small: Array, found: Array) -> None:
    """``small`` holds ln n! of the first whole numbers."""
    for i in range(len(found)):
        length = summed = 0.0
        for k in range(indptr[start + i], indptr[start + i + 1]):
            n = data[k]
            length += n
            place = int(n) if 0.0 <= n < len(small) else -1
            if place == n:
                summed += small[place]
            else:
                summed += lgamma(n + 1.0) if 0.0 <= n < np.inf else np.nan
        found[i, 0], found[i, 1] = length, summed
