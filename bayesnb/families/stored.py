"""Sparse matrices of real numbers: moments and log densities from the values that are stored and a count of zeros.

A cell that is not stored is 0, and a stored NaN is missing. Only columns of which more than half is stored are made
dense.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from bayesnb.families.columns import over_columns
from bayesnb.kernels.blocks import CELLS, slices
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
    codes, values, weights = [np.empty(0, np.intp)], [np.empty(0)], [np.empty(0)]
    for c, rows, weight in members.each_class():
        part = x[rows]
        codes.append(c * shape[1] + part.indices.astype(np.intp))
        values.append(np.asarray(part.data, float))
        weights.append(np.repeat(np.asarray(weight, float), np.diff(part.indptr)))
    cells = Labels(np.concatenate(codes), np.concatenate(weights), shape[0] * shape[1])
    whole, held = members.weights()[:, None], cells.weights().reshape(shape)
    zeros = np.where(whole - held > 1e-12 * whole, whole - held, 0.0)
    stored = Moments.of(np.concatenate(values)[:, None], cells).arrays()
    nothing = dict.fromkeys(stored, np.zeros(shape))
    return Moments(**{name: v.reshape(shape) for name, v in stored.items()}) + Moments(**nothing | {"n": zeros})


def over_stored(density: Callable[..., Array], x: sparse.csr_array, *parameters: Array) -> Array:
    """Σ_j density(x_j, parameters_j) as (..., row, class), for parameters (..., class, column).

    It is the sum over zeros everywhere, changed where a value is stored. A column of which more than half is stored is
    summed as a dense one: zeros may be very improbable there, and what is taken away again should not be large.
    """
    x, lead = sparse.csr_array(x), parameters[0].shape[:-1]
    often = np.bincount(x.indices, minlength=x.shape[1]) > x.shape[0] / 2
    dense, x = x[:, np.flatnonzero(often)].toarray(), x[:, np.flatnonzero(~often)]
    parameters = tuple(v.reshape(-1, len(often)) for v in parameters)
    total = over_columns(density, dense, *(v[:, often] for v in parameters))
    parameters = tuple(v[:, ~often] for v in parameters)
    none = density(np.zeros(()), *parameters)
    total += none.sum(1)
    row = np.repeat(np.arange(len(total)), np.diff(x.indptr))
    for cut in slices(x.nnz, max(1, CELLS // total.shape[1])) if x.nnz else []:
        here, column, value = row[cut], x.indices[cut], x.data[cut]
        own = np.where(np.isnan(value), 0.0, density(value, *(v[:, column] for v in parameters)))
        for c, change in enumerate(own - none[:, column]):
            found = np.bincount(here - row[cut.start], change)
            total[row[cut.start] : row[cut.start] + len(found), c] += found
    return np.moveaxis(total.reshape(-1, *lead), 0, -2)
