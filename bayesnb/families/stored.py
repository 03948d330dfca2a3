"""Sparse matrices of real numbers: moments and log densities from the values that are stored and a count of zeros.

A cell that is not stored is 0, and a stored NaN is missing. No function here makes more than a block of cells dense.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from bayesnb.families.columns import over_columns
from bayesnb.kernels.blocks import CELLS, ROWS, slices
from bayesnb.numerics import Array
from bayesnb.statistics.membership import Labels, Membership
from bayesnb.statistics.moments import Moments


def moments(x: Array | sparse.csr_array, members: Membership) -> Moments:
    """The moments of a dense table or of a sparse matrix.

    A stored value is taken as a row of its own, whose class is its class and column together. The cells that are not
    stored are added as so many zeros.
    """
    if not sparse.issparse(x):
        return Moments.of(x, members)
    x, shape = sparse.csr_array(x), (members.n, x.shape[1])
    zeros, codes, values, weights = np.zeros(shape), [np.empty(0, np.intp)], [np.empty(0)], [np.empty(0)]
    for c, rows, weight in members.each_class():
        part = x[rows]
        codes.append(c * shape[1] + part.indices.astype(np.intp))
        values.append(np.asarray(part.data, float))
        weights.append(np.repeat(np.asarray(weight, float), np.diff(part.indptr)))
        empty = len(weight) - np.bincount(part.indices, minlength=shape[1])
        held = np.bincount(part.indices, weights[-1], shape[1])
        zeros[c] = np.where(empty > 0, np.maximum(np.sum(weight) - held, 0.0), 0.0)
    cells = Labels(np.concatenate(codes), np.concatenate(weights), shape[0] * shape[1])
    stored = Moments.of(np.concatenate(values)[:, None], cells).arrays()
    nothing = dict.fromkeys(stored, np.zeros(shape))
    return Moments(**{name: v.reshape(shape) for name, v in stored.items()}) + Moments(**nothing | {"n": zeros})


def in_blocks(ask: Callable[..., Array], x: sparse.csr_array, *others: Array) -> Array:
    """What is asked of a dense table, (..., row, class) or (row,), a block of its rows after the other.

    ``others`` go by row, too.
    """
    x, size = sparse.csr_array(x), max(1, CELLS // max(1, x.shape[1]))
    found = [ask(x[cut].toarray(), *(v[cut] for v in others)) for cut in slices(x.shape[0], size)]
    if not found:
        return ask(np.zeros(x.shape), *others)
    return np.concatenate(found, axis=-2 if found[0].ndim > 1 else 0)


def left_out(ask: Callable[[Any, Array, Labels], Array], posterior: Any, x: sparse.csr_array, labels: Labels) -> Array:
    """Leave-one-out of the rows of a sparse matrix, asked of dense blocks."""
    return in_blocks(
        lambda block, codes, weight: ask(posterior, block, Labels(codes, weight, labels.n)),
        x,
        labels.codes,
        labels.weight,
    )


def over_stored(density: Callable[..., Array], x: sparse.csr_array, *parameters: Array) -> Array:
    """Σ_j density(x_j, parameters_j) as (row, class), for parameters (class, column).

    It is the sum over zeros everywhere, changed where a value is stored. A column of which more than half is stored is
    summed as a dense one: zeros may be very improbable there, and what is taken away again should not be large.
    """
    x = sparse.csr_array(x)
    n, d = x.shape
    often = np.bincount(x.indices, minlength=d) > n / 2
    total = np.zeros((n, len(parameters[0])))
    if often.any():
        dense, own = x[:, np.flatnonzero(often)], [v[:, often] for v in parameters]
        total += in_blocks(lambda block: over_columns(density, block, *own), dense)
        x, parameters = x[:, np.flatnonzero(~often)], tuple(v[:, ~often] for v in parameters)
    none = np.concatenate(
        [density(np.zeros(()), *(v[:, cut] for v in parameters)) for cut in slices(x.shape[1], CELLS)]
        or [np.zeros((total.shape[1], 0))],
        axis=1,
    )
    total += none.sum(1)
    step = max(1, CELLS // total.shape[1])
    for first in range(0, n, ROWS):
        rows = x[first : first + ROWS]
        for start in range(0, rows.nnz, step):
            stored = slice(start, start + step)
            row = np.searchsorted(rows.indptr, np.arange(rows.nnz)[stored], side="right") - 1
            column, value = rows.indices[stored], rows.data[stored]
            own = np.where(np.isnan(value), 0.0, density(value, *(v[:, column] for v in parameters)))
            for c, change in enumerate(own - none[:, column]):
                total[first : first + ROWS, c] += np.bincount(row, change, rows.shape[0])
    return total
