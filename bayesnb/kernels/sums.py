"""Sums over rows by class: weights, totals, tallies and moments."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from operator import iadd
from typing import Any

import numpy as np
from scipy import sparse

from bayesnb.kernels import blocks
from bayesnb.kernels.blocks import Array
from bayesnb.kernels.two_floats import two_product, two_sum

SMALL = 2**14
"""Cells from which on the compiled loop of moments is faster than numpy, where the compiler is loaded already."""

FEW = 4
"""Up to this many columns, counting each is faster than making a matrix of memberships."""


def weights(codes: Array, weight: Array, n: int) -> Array:
    """Σ w of each class, (class,)."""
    parts = blocks.cuts(len(codes), 1)
    if not blocks.large_enough(len(codes)):
        return reduce(iadd, (np.bincount(codes[cut], weight[cut], n) for cut in parts), np.zeros(n))
    from bayesnb.kernels.compiled import sums as loops

    def part(cut: slice) -> Array:
        found = np.zeros((4, n))
        loops.weights(*_labels(codes, weight, cut), found)
        return found.sum(axis=0)

    return reduce(iadd, blocks.each(part, parts))


def _labels(codes: Array, weight: Array, cut: slice) -> tuple[Array, Array]:
    """The labels and weights of a block as contiguous arrays for the loops."""
    return blocks.contiguous(codes[cut]), blocks.contiguous(weight[cut])


def totals(x: Any, codes: Array, weight: Array, n: int) -> Array:
    """Σ w x of each class, (class, column); x dense or sparse, without NaN."""
    if sparse.issparse(x):
        return _stored_totals(sparse.csr_array(x), codes, weight, n)
    if not blocks.large_enough(x.size):
        return _products(np.asarray(x, float), codes, weight, n)
    from bayesnb.kernels.compiled import sums as loops

    def part(cut: slice) -> Array:
        found = np.zeros((n, x.shape[1]))
        loops.totals(blocks.cells(x[cut]), *_labels(codes, weight, cut), found)
        return found

    return reduce(iadd, blocks.each(part, blocks.cuts(len(x), x.shape[1], 16 * n)))


def _products(x: Any, codes: Array, weight: Array, n: int) -> Array:
    if not sparse.issparse(x) and x.shape[1] <= FEW:
        return (
            np.stack([weights(codes, weight * column, n) for column in x.T], axis=1) if x.shape[1] else np.zeros((n, 0))
        )
    total = np.zeros((n, x.shape[1]))
    for cut in blocks.cuts(len(codes), 1):
        row = np.arange(len(codes[cut]))
        members = sparse.csr_array((weight[cut], (codes[cut], row)), shape=(n, len(row)))
        product = members @ x[cut]
        total += product.toarray() if sparse.issparse(product) else product
    return total


def _stored_totals(x: sparse.csr_array, codes: Array, weight: Array, n: int) -> Array:
    if not blocks.large_enough(x.nnz):
        return _products(x, codes, weight, n)
    from bayesnb.kernels.compiled import sums as loops

    data = blocks.contiguous(x.data, float)

    def part(cut: slice) -> Array:
        found = np.zeros((n, x.shape[1]))
        loops.stored_totals(data, x.indices, x.indptr, *_labels(codes, weight, cut), cut.start, found)
        return found

    # So few blocks that their tables stay small beside the matrix.
    several = max(1, min(4, x.nnz // (4 * n * x.shape[1])))
    parts = blocks.slices(x.shape[0], max(1, -(-x.shape[0] // several)))
    return reduce(iadd, blocks.each(part, parts))


def moments(x: Array, codes: Array, weight: Array, n: int) -> Iterator[Array]:
    """The sums of each block of rows about a value v of each class and column, (class, 8, column).

    They are Σ w, v, Σ w (x - v) and Σ w (x - v)², each sum followed by what one float lacks of it, and the weight of
    the values other than 0. NaN adds nothing.
    """
    # In numpy a cell takes about four times as long as one of the other loops.
    compiled = blocks.worthwhile(4 * x.size, 4 * SMALL)

    def part(cut: slice) -> Array:
        rows = blocks.contiguous(x[cut], float), *_labels(codes, weight, cut)
        return _compiled_moments(*rows, n) if compiled else _moments(*rows, n)

    parts = blocks.cuts(len(x), x.shape[1], 16 * n)
    return blocks.each(part, parts) if compiled else map(part, parts)


def _compiled_moments(x: Array, codes: Array, weight: Array, n: int) -> Array:
    from bayesnb.kernels.compiled import sums as loops

    near = loops.values(x, codes, weight, n)
    if (weight == 1).all() and not np.isnan(found := loops.moments(x, codes, None, near)).any():
        return found
    return loops.moments(x, codes, weight, near)


def _moments(x: Array, codes: Array, weight: Array, n: int) -> Array:
    """The same sums to the last bit: a cumulative sum adds row by row.

    Classes of about as many rows are summed side by side, filled up with rows of weight 0.
    """
    found, counts = np.zeros((n, 8, x.shape[1])), np.bincount(codes, minlength=n)
    order, ends, digits = np.argsort(codes, kind="stable"), np.cumsum(counts), np.frexp(counts)[1]
    for many in np.unique(digits[counts > 0]):
        own = np.flatnonzero(digits == many)
        rank = np.arange(counts[own].max())
        there = rank < counts[own][:, None]
        row = order[np.where(there, (ends - counts)[own][:, None] + rank, 0)]
        weights = np.where(there, weight[row], 0.0)
        # So few columns at once that temporary arrays stay in the cache.
        for columns in blocks.slices(x.shape[1], max(1, SMALL // row.size)):
            sums = _cumulated(x.T[columns][:, row], weights)
            found[own, :, columns] = np.moveaxis(sums, -1, 0)
    return found


def _cumulated(x: Array, weight: Array) -> Array:
    """The sums of cells (column, class, row) that have a weight (class, row), (8, column, class)."""
    w = np.where(np.isnan(x), 0.0, weight)
    near = np.take_along_axis(np.where(w > 0, x, 0.0), np.argmax(w > 0, axis=-1)[..., None], axis=-1)
    away, low = two_sum(np.where(np.isnan(x), near, x), -near)
    pull, pull_low = two_product(w, away)
    pull_low += w * low
    square, rest = two_product(pull, away)
    rest += pull * low + pull_low * away
    last = []
    for each, below in ((w, 0.0), (pull, pull_low), (square, rest)):
        total = np.cumsum(each, axis=-1)
        _, error = two_sum(np.concatenate([np.zeros_like(near), total[..., :-1]], axis=-1), each)
        last += [total[..., -1], np.cumsum(error + below, axis=-1)[..., -1]]
    nonzero = np.cumsum(np.where(x != 0, w, 0.0), axis=-1)[..., -1]
    return np.stack([*last[:2], near[..., 0], *last[2:], nonzero])
