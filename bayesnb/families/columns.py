"""Encoded columns: their rows, their missing cells, and their values as codes into a small table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from bayesnb.kernels import reading
from bayesnb.numerics import Array
from bayesnb.statistics.membership import Column


def rows_of(x: Column) -> int:
    """How many rows encoded data have."""
    return x.shape[0] if sparse.issparse(x) else len(x)


def columns_in(x: Column) -> int:
    """How many columns encoded data have."""
    return next(v.shape[1] for v in (x, getattr(x, "codes", None), getattr(x, "counts", None)) if hasattr(v, "shape"))


def dense(x: Column) -> Column:
    """The same columns, no sparse matrix."""
    return x.toarray() if sparse.issparse(x) else x


def columns_of(x: Column, index: Sequence[int]) -> Column:
    """Some columns of encoded data."""
    return x.columns(index) if hasattr(x, "columns") else x[:, list(index)]


def known_cells(x: Column) -> Array:
    """Which cells are not missing, (row, 1, column), or True if none can be."""
    if hasattr(x, "missing"):
        return ~x.missing()[:, None]
    if sparse.issparse(x) or x.dtype.kind in "bu":
        return np.True_
    return ((x >= 0) if x.dtype.kind == "i" else ~np.isnan(x))[:, None]


def dense_cells(x: Column) -> Array:
    """The cells as a dense array of floats, NaN if missing: numbers, codes of levels, or counts without exposure."""
    if hasattr(x, "codes"):
        return np.where(x.codes < 0, np.nan, x.codes)
    x = getattr(x, "counts", x)
    return np.asarray(x.toarray() if sparse.issparse(x) else x, float)


# A column of few different values is codes into a table of these values. Formulas are evaluated for the table, in which
# each line stands where a row would stand, and rows only look up what they need.


@dataclass(frozen=True, eq=False)
class Tabulated:
    """Columns as codes into a table of their values.

    Parameters
    ----------
    codes : int array or CSR matrix (row, column)
        The line of each cell in the table, -1 where it is missing.
    values : encoded columns
        The table, as a family reads rows: line k of a column holds its value of code k.
    """

    codes: Array
    values: Column

    def columns(self, index: Sequence[int]) -> Tabulated:
        """Some of the columns."""
        return Tabulated(self.codes[:, list(index)], columns_of(self.values, index))

    def rows(self, rows: Any) -> Tabulated:
        """Some of the rows, with the same table."""
        return replace(self, codes=self.codes[rows])


FEW = 256
"""Up to this many whole numbers from 0 on, all of them stand in the table; of larger numbers, those that occur."""

FEWER = 4
"""How many rows a value must have on average; otherwise a table is not much shorter than the rows."""


def tabulated(x: Column) -> Tabulated | None:
    """Columns of levels or of whole numbers as a table of their values; ``None`` if it would be nearly as long as they.

    Parameters
    ----------
    x : encoded columns
        Codes of levels; numbers, NaN if missing; integers, -1 if missing; or zeros and ones as a CSR matrix.
    """
    if sparse.issparse(x):
        return Tabulated(x, np.repeat([[0.0], [1.0]], x.shape[1], axis=1))
    if hasattr(x, "tabulated"):
        return x.tabulated()
    if x.dtype.kind == "f":
        found = reading.whole_numbers(x)
        if found is None or found[1] >= FEW:
            return _distinct(x)
        codes, top = found[0], max(found[1], 0)
        kind: Any = float
    else:
        codes, top, kind = x, int(x.max(initial=0)), x.dtype
        if top >= FEW:
            return _distinct(x)
    if FEWER * (top + 1) > len(x):
        return None
    return Tabulated(codes, np.repeat(np.arange(top + 1, dtype=kind)[:, None], x.shape[1], axis=1))


def _distinct(x: Array) -> Tabulated | None:
    """Columns as a table of the values that occur in each."""
    codes, each, most = np.empty(x.shape, np.int32), [], len(x) // FEWER
    for k, column in enumerate(x.T):
        values, code = np.unique(column, return_inverse=True)
        if np.isnan(values[-1:]).any():
            values = values[:-1]
        if len(values) > most:
            return None
        codes[:, k] = np.where(code < len(values), code, -1)
        each.append(values)
    table = np.zeros((max(map(len, each), default=0), x.shape[1]), x.dtype)
    for k, values in enumerate(each):
        table[: len(values), k] = values
    return Tabulated(codes, table)


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
