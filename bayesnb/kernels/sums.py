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
    """Sums about one value of each class, (class, 8, column), block by block: see ``compiled.sums.moments``.

    For tables that are :func:`bayesnb.kernels.blocks.large_enough`.
    """
    from bayesnb.kernels.compiled import sums as loops

    def part(cut: slice) -> Array:
        return loops.moments(blocks.contiguous(x[cut], float), *_labels(codes, weight, cut), n)

    return blocks.each(part, blocks.cuts(len(x), x.shape[1], 16 * n))
