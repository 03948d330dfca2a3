"""Sparse matrices of real numbers: moments and log densities from the values that are stored and a count of zeros.

A cell that is not stored is 0, and a stored NaN is missing. No function here makes more than a block of cells dense.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import sparse

from bayesnb.families.columns import over_columns
from bayesnb.kernels.blocks import CELLS, ROWS, slices
from bayesnb.numerics import Array
from bayesnb.statistics.membership import Labels, Membership
from bayesnb.statistics.moments import EXACT, Moments


def moments(x: Array | sparse.csr_array, members: Membership) -> Moments:
    """The moments of a dense table or of a sparse matrix.

    A stored value is taken as a row of its own, whose class is its column. So the sums of the stored values are as
    exact as those of a dense table. The cells that are not stored are added as so many zeros.
    """
    if not sparse.issparse(x):
        return Moments.of(x, members)
    x, d = sparse.csr_array(x), x.shape[1]
    parts = []
    at = 0
    for c, rows, weight in members.each_class():
        parts += [_nothing(c - at, d)] if c > at else []
        parts.append(_of_class(x[rows], weight))
        at = c + 1
    parts += [_nothing(members.n - at, d)] if members.n > at else []
    return _beside(parts, 0)


def _of_class(x: sparse.csr_array, weight: Array) -> Moments:
    """The moments of rows of one class, (1, column)."""
    d = x.shape[1]
    weights = np.repeat(np.asarray(weight, float), np.diff(x.indptr))
    order = np.argsort(x.indices, kind="stable")
    column, value, weights = x.indices[order], np.asarray(x.data, float)[order], weights[order]
    found = []
    for low, high, cut in _blocks(column, d):
        labels = Labels(column[cut] - low, weights[cut], high - low)
        s = Moments.of(value[cut, None], labels)
        found.append(Moments(**{name: v.swapaxes(0, 1) for name, v in s.for_file().items()}))
    stored = _beside(found, 1)
    held = np.bincount(column, weights, d)
    empty = len(weight) - np.bincount(column, minlength=d)
    rest = np.where(empty > 0, np.maximum(np.sum(weight) - held, 0.0), 0.0)[None]
    zeros = np.zeros_like(rest)
    return stored + Moments(rest, zeros, zeros, zeros)


def _blocks(column: Array, d: int) -> Iterator[tuple[int, int, slice]]:
    """Ranges of columns, and where their stored values are among all, sorted by column.

    A range has so few values that they are summed without rounding, all columns at once, or is a single column.
    """
    low = 0
    while low < d:
        first = int(np.searchsorted(column, low))
        last = min(first + EXACT, len(column))
        high = d if last == len(column) else max(low + 1, int(column[last]))
        high = min(high, low + EXACT)
        yield low, high, slice(first, int(np.searchsorted(column, high)))
        low = high


def _nothing(classes: int, d: int) -> Moments:
    """Classes that have seen nothing."""
    return Moments(*np.zeros((4, classes, d)))


def _beside(parts: list[Moments], axis: int) -> Moments:
    """Moments of other classes (axis 0), or of other columns (axis 1), side by side."""
    each = [s.for_file() for s in parts]
    return Moments(**{name: np.concatenate([s[name] for s in each], axis) for name in each[0]})


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
