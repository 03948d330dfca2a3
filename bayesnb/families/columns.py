"""Encoded columns: their rows, their missing cells, and sums over them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from bayesnb.families.support import ZEROS_AND_ONES, InvalidCellError
from bayesnb.kernels import densities
from bayesnb.kernels.blocks import large_enough
from bayesnb.numerics import Array
from bayesnb.statistics.membership import Column


def rows_of(x: Column) -> int:
    """How many rows encoded data have."""
    return x.shape[0] if sparse.issparse(x) else len(x)


def columns_of(x: Column, index: Sequence[int]) -> Column:
    """Some columns of encoded data."""
    return x.columns(index) if hasattr(x, "columns") else x[:, list(index)]


def known_cells(x: Column) -> Array:
    """Which cells are not missing, (row, 1, column), or True if none can be."""
    if hasattr(x, "missing"):
        return ~x.missing()[:, None]
    if sparse.issparse(x) or x.dtype.kind != "f":
        return np.True_
    return ~np.isnan(x)[:, None]


def dense_cells(x: Column) -> Array:
    """The cells as a dense array of floats, NaN if missing: numbers, codes of levels, or counts without exposure."""
    if hasattr(x, "codes"):
        return np.where(x.codes < 0, np.nan, x.codes)
    x = getattr(x, "counts", x)
    return np.asarray(x.toarray() if sparse.issparse(x) else x, float)


def seen_cells(x: Column) -> Array | None:
    """Which cells hold a value, as floats; ``None`` where no cell can be missing."""
    if sparse.issparse(x) or np.asarray(x).dtype.kind in "bui":
        return None
    missing = np.isnan(x)
    return (~missing).astype(float) if missing.any() else None


def ones_of(x: Column) -> Column:
    """The cells that are 1, as numbers; a missing cell is not one.

    Raises
    ------
    InvalidCellError
        If a float is neither 0 nor 1 nor missing: its sums would be finite, and wrong.
    """
    if sparse.issparse(x):
        return sparse.csr_array(x, dtype=float)
    if x.dtype.kind in "bu":
        return x
    if ZEROS_AND_ONES.invalid(x).any():
        raise InvalidCellError("a cell is neither 0 nor 1")
    return np.nan_to_num(np.asarray(x, float), nan=0.0)


NEAR = 2**16
"""Numbers of a temporary array that stays in the second-level cache."""


def over_columns(density: Callable[..., Array], x: Array, *parameters: Array) -> Array:
    """Σ_j density(x_j, parameters_j) as (..., row, class), where NaN adds nothing.

    ``density`` gets x as (row, 1, column) and each parameter, (..., class, column), as
    (..., 1, class, column). Columns are taken so few at a time that a temporary stays in the second-level cache. The
    longer of rows and columns lies side by side in memory, because numpy is slow at short loops.
    """
    shape = np.broadcast_shapes(*(p.shape for p in parameters))
    total = np.zeros((*shape[:-2], len(x), shape[-2]))
    step = max(1, NEAR // max(1, total.size))
    for start in range(0, x.shape[1], step):
        cut = slice(start, start + step)
        cells = np.asarray(x[:, cut], order="F" if len(x) > x.shape[1] else "C")[:, None]
        value = density(cells, *(p[..., None, :, cut] for p in parameters))
        gaps = np.isnan(cells)
        total += (np.where(gaps, 0.0, value) if gaps.any() else value).sum(-1)
    return total


def products(x: Column, table: Array) -> Array:
    """Σ_j x_ij table_cj as (..., row, class); x dense or sparse, table (..., class, column)."""
    one_point = table.ndim == 2
    if not sparse.issparse(x):
        if one_point and large_enough(x.size):
            return densities.products(x, table)
        return np.asarray(x, float) @ np.swapaxes(table, -1, -2)
    if one_point and large_enough(x.nnz):
        return densities.stored_products(sparse.csr_array(x), table)
    flat = table.reshape(-1, table.shape[-1])
    return np.moveaxis((x @ flat.T).reshape(-1, *table.shape[:-1]), 0, -2)


def of_each_column(name: str, value: Any, n_columns: int) -> Array:
    """A known positive number of a likelihood, such as a variance, for each column; one number holds for all."""
    value = np.asarray(value, float)
    if value.shape not in ((), (n_columns,)) or not (np.isfinite(value) & (value > 0)).all():
        raise ValueError(
            f"Expected {name} to be one positive number, or one for each of {n_columns} columns; got {value.tolist()!r}"
        )
    return np.array(np.broadcast_to(value, (n_columns,)))


def gathered_columns(cells: Sequence[tuple[Any, int]]) -> Array:
    """Such numbers of picked columns, each given as (the numbers of its family, its position)."""
    of_each = [(np.ravel(value), k) for value, k in cells]
    return np.array([value[k if len(value) > 1 else 0] for value, k in of_each])


def impossible(*hits: Array) -> Array:
    """-inf where a row holds something of probability 0, else 0."""
    return np.where(sum(hits) > 0, -np.inf, 0.0)
