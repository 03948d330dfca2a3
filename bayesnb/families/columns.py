"""Encoded columns, and tables of distinct values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.random import Generator
from scipy import sparse

from bayesnb.kernels import reading
from bayesnb.numerics import Array
from bayesnb.statistics.statistic import Column, Labels, Statistic

type SupportKind = Literal["reals", "positive", "nonnegative", "counts", "zero_one", "levels", "bag"]


@dataclass(frozen=True)
class Support:
    """The values that a family can read."""

    kind: SupportKind
    name: str
    needs: str
    """The values in words, for error messages."""
    others: tuple[str, ...]
    """Names of families that read other values."""
    contains: Callable[[Array], Array]
    """For each number, whether it is one of the values."""

    def __str__(self) -> str:
        return self.name

    def invalid(self, x: Array) -> Array:
        """Mask of the numbers outside the support; missing cells (NaN) are not marked."""
        return ~(self.contains(x) | np.isnan(x)) if x.dtype.kind == "f" else ~self.contains(x)


REALS = Support("reals", "reals", "a finite number", (), np.isfinite)
"""Finite numbers."""

POSITIVE = Support("positive", "positive reals", "a positive number", ("Gaussian",), lambda x: (x > 0) & np.isfinite(x))
"""Finite numbers above 0."""

NONNEGATIVE = Support(
    "nonnegative", "0 and positive reals", "0 or a positive number", ("Gaussian",), lambda x: (x >= 0) & np.isfinite(x)
)
"""Finite numbers from 0 on."""

COUNTS = Support("counts", "counts", "a count", ("Gaussian",), lambda x: (x >= 0) & (x == np.floor(x)) & (x <= 2.0**53))
"""Whole numbers from 0 to 2^53; above it, floats skip whole numbers and sums lose small counts."""

ZEROS_AND_ONES = Support(
    "zero_one", "zeros and ones", "0 or 1", ("Categorical", "Gaussian"), lambda x: (x == 0) | (x == 1)
)
"""0 and 1."""

LEVELS = Support("levels", "levels", "a level", ("Categorical",), lambda x: x >= -1)
"""Codes of the levels of a column; -1 is missing."""

BAG = Support(
    "bag", "vector of counts", "a count that is not negative", ("Gaussian",), lambda x: (x >= 0) & np.isfinite(x)
)
"""All columns of a row together: how often each word occurs, or fractions such as tf-idf weights."""


def dense(x: Column) -> Column:
    """Convert a sparse matrix to a dense array."""
    return x.toarray() if sparse.issparse(x) else x


def column_of(x: Column, k: int) -> Array:
    """Column ``k`` as floats, (row,), NaN if missing."""
    return dense_cells(columns_of(x, [k]))[:, 0]


def columns_of(x: Column, index: Sequence[int]) -> Column:
    """The columns of ``x`` at the positions ``index``."""
    return x.columns(index) if hasattr(x, "columns") else x[:, list(index)]


def without_columns(x: Column, index: Sequence[int]) -> Column:
    """Set all cells of the columns at the positions ``index`` to missing."""
    if sparse.issparse(x):
        row, column = (each.ravel() for each in np.meshgrid(np.arange(x.shape[0]), index))
        blank = sparse.csr_array((np.full(len(row), np.nan), (row, column)), shape=x.shape)
        return sparse.csr_array(x) + blank
    found = np.array(x, float if x.dtype.kind in "bu" else None)
    found[:, list(index)] = -1 if found.dtype.kind == "i" else np.nan
    return found


def known_cells(x: Column) -> Array:
    """Mask of the cells that are not missing, (row, 1, column), or just True if cells cannot be missing."""
    if hasattr(x, "missing"):
        return ~x.missing()[:, None]
    if sparse.issparse(x) or x.dtype.kind in "bu":
        return np.True_
    return ((x >= 0) if x.dtype.kind == "i" else ~np.isnan(x))[:, None]


def present(x: Column) -> Array:
    """Mask of the cells that are not missing, (row, column)."""
    return np.broadcast_to(known_cells(x), (x.shape[0], 1, x.shape[1]))[:, 0]


def dense_cells(x: Column) -> Array:
    """Convert columns to dense floats, NaN if missing; the exposures of counts are dropped."""
    if hasattr(x, "codes"):
        return np.where(x.codes < 0, np.nan, x.codes)
    x = getattr(x, "counts", x)
    return np.asarray(x.toarray() if sparse.issparse(x) else x, float)


# A column with few distinct values is stored as codes into a table of these values. Formulas are evaluated once per
# line of the table, and each row looks up its result.


@dataclass(frozen=True, eq=False)
class Tabulated:
    """Distinct ``values``, and ``codes`` (row, column): the index of each cell's value, -1 if missing."""

    codes: Array
    values: Column


FEW = 256
"""If all numbers are whole and below this bound, the table holds 0, 1, ... up to the largest; otherwise it holds
the values that occur."""

FEWER = 4
"""Least number of rows per value. With fewer, a table would not be much shorter than the rows."""


def tabulated(x: Column) -> Tabulated | None:
    """A table of each column's distinct values; ``None`` if there are fewer than ``FEWER`` rows per distinct value."""
    if sparse.issparse(x):
        return Tabulated(x, np.repeat([[0.0], [1.0]], x.shape[1], axis=1))
    if isinstance(x, Coded):
        n = x.n_levels
        level = np.arange(n)[:, None]
        table = replace(x, codes=np.where(level < [len(names) for names in x.levels], level, -1))
        return None if FEWER * n > len(x.codes) else Tabulated(x.codes, table)
    if not isinstance(x, np.ndarray | reading.Bits):
        return None
    if x.dtype == np.uint8:
        found = x, 1  # Bytes hold 0 and 1.
    else:
        found = reading.whole_numbers(x) if x.dtype.kind == "f" else (x, int(x.max(initial=0)))
    if found is None or found[1] >= FEW:
        return _distinct(x)
    codes, top = found
    if FEWER * (top + 1) > len(x):
        return None
    return Tabulated(codes, np.repeat(np.arange(top + 1, dtype=x.dtype)[:, None], x.shape[1], axis=1))


def _distinct(x: Array) -> Tabulated | None:
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
"""Size of a temporary array that stays in the second-level cache, in numbers."""


def over_columns(density: Callable[..., Array], x: Array, *parameters: Array) -> Array:
    """Sum ``density`` over each row's cells that are not missing, (..., row, class)."""
    shape = np.broadcast_shapes(*(p.shape for p in parameters))
    total = np.zeros((*shape[:-2], len(x), shape[-2]))
    step = max(1, NEAR // max(1, total.size))
    for start in range(0, x.shape[1], step):
        cut = slice(start, start + step)
        cells = np.asarray(x[:, cut], order="F" if len(x) > x.shape[1] else "C")[:, None]
        # ``density`` takes x as (row, 1, column), and each parameter as (..., 1, class, column).
        value = density(cells, *(p[..., None, :, cut] for p in parameters))
        gaps = np.isnan(cells)
        total += (np.where(gaps, 0.0, value) if gaps.any() else value).sum(-1)
    return total


def of_each_column(name: str, value: Any, n_columns: int) -> Array:
    """Check a known positive parameter, such as a variance, and expand it to one value per column."""
    value = np.asarray(value, float)
    if value.shape not in ((), (n_columns,)) or not (np.isfinite(value) & (value > 0)).all():
        raise ValueError(
            f"Expected {name} to be one positive number, or one for each of {n_columns} columns; got {value.tolist()!r}"
        )
    return np.array(np.broadcast_to(value, (n_columns,)))


def gathered_columns(cells: Sequence[tuple[Any, int]]) -> Array:
    """Join the values of a known parameter, such as a variance; entries of ``cells`` are (values, column position)."""
    of_each = [(np.ravel(value), k) for value, k in cells]
    return np.array([value[k if len(value) > 1 else 0] for value, k in of_each])


@dataclass(frozen=True, eq=False)
class Coded:
    """Categorical columns: ``codes`` (row, column), -1 if missing, and the ``levels`` of each column."""

    codes: Array
    levels: tuple[tuple[Any, ...], ...]

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.codes.shape

    def __getitem__(self, rows: Any) -> Coded:
        return replace(self, codes=self.codes[rows])

    @property
    def n_levels(self) -> int:
        """The largest number of levels in any column, at least 1."""
        return widest(self.levels)

    def missing(self) -> Array:
        return self.codes < 0

    def columns(self, index: Sequence[int]) -> Coded:
        return replace(self, codes=self.codes[:, index], levels=tuple(self.levels[k] for k in index))


@dataclass(frozen=True, eq=False)
class CategoryCounts(Statistic):
    """The ``levels`` of each column, and ``counts``, the weight of each level in each class, (class, column, level)."""

    counts: Array
    levels: tuple[tuple[Any, ...], ...]

    def __add__(self, other: CategoryCounts) -> CategoryCounts:
        if self.levels == other.levels:
            return CategoryCounts(self.counts + other.counts, self.levels)
        if len(self.levels) != len(other.levels):
            raise ValueError(f"Expected {len(self.levels)} columns; got {len(other.levels)}")
        levels = tuple(united(*pair) for pair in zip(self.levels, other.levels, strict=True))
        return CategoryCounts(self.with_levels(levels).counts + other.with_levels(levels).counts, levels)

    def with_levels(self, levels: tuple[tuple[Any, ...], ...]) -> CategoryCounts:
        counts = np.zeros((*self.counts.shape[:2], widest(levels)))
        for column, (mine, wanted) in enumerate(zip(self.levels, levels, strict=True)):
            place = {name: k for k, name in enumerate(mine)}
            kept = [k for k, name in enumerate(wanted) if name in place]
            counts[:, column, kept] = self.counts[:, column, [place[wanted[k]] for k in kept]]
        return CategoryCounts(counts, levels)

    def named_as(self, other: CategoryCounts) -> CategoryCounts:
        return self.with_levels(other.levels)

    def columns(self, index: Sequence[int]) -> CategoryCounts:
        picked = super().columns(index)
        return replace(picked, counts=picked.counts[..., : widest(picked.levels)])

    def seen(self) -> Array:
        return self.counts.sum(-1)

    def numbers(self) -> Array:
        """The levels (numbers) of each column, (column, level), padded with NaN."""
        found = np.full(self.counts.shape[1:], np.nan)
        for k, own in enumerate(self.levels):
            found[k, : len(own)] = own
        return found

    def drawn(self, theta: Mapping[str, Array], n: Array, rng: Generator) -> CategoryCounts | None:
        if "log_theta" not in theta:
            return None
        p = np.exp(theta["log_theta"])
        return replace(self, counts=rng.multinomial(n, p / p.sum(-1, keepdims=True)).astype(float))

    def contradiction(self) -> str:
        beyond = np.arange(self.counts.shape[-1]) >= np.array([[len(names)] for names in self.levels])
        return "levels were counted that it does not have" if self.counts[:, beyond].any() else ""


def distinct_counts(x: Array, members: Labels) -> CategoryCounts:
    """The total weight of each distinct number in each class and column."""
    codes, levels = np.full(np.shape(x), -1, np.intp), []
    for k, column in enumerate(np.asarray(x, float).T):
        known = ~np.isnan(column)
        values, codes[known, k] = np.unique(column[known], return_inverse=True)
        levels.append(tuple(values.tolist()))
    return CategoryCounts(members.table(codes, widest(tuple(levels))), tuple(levels))


def at_levels(table: Array, codes: Array) -> Array:
    """Entries of ``table`` (..., class, column, level) at ``codes`` (row, column): (..., row, class, column)."""
    return np.swapaxes(table[..., np.arange(codes.shape[1]), np.maximum(codes, 0).astype(np.intp)], -3, -2)


def pymc_at_levels(table: Any, codes: Array) -> Any:
    """Look up codes (row, column) in a tensor (class, column, level); return the sums over columns, (row, class)."""
    from pytensor import tensor as pt

    picked = table[:, np.arange(codes.shape[1]), np.maximum(codes, 0)]
    return pt.switch(codes >= 0, picked, 0.0).sum(-1).T


def widest(levels: tuple[tuple[Any, ...], ...]) -> int:
    """The largest number of levels, at least 1."""
    return max([1, *map(len, levels)])


def united(mine: tuple[Any, ...], theirs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Unite two tuples of names: ``mine``, then the further names in ``theirs``."""
    return tuple(dict.fromkeys((*mine, *theirs)))


@dataclass(frozen=True, eq=False)
class Tally:
    """Cells with weights, and methods that sum over the rows of each class."""

    x: Column
    """The cells of rows, or distinct values."""
    members: Labels | None
    """Classes and weights of the rows."""
    counts: Array | None
    """Weights of the distinct values, (class, column, value)."""

    def totals(self, value: Array) -> Array:
        """Weighted sums of ``value``, (class, column), over the rows of each class; ``value`` is 0 at missing cells."""
        return self.members.totals(value) if self.counts is None else np.einsum("cjv,vj->cj", self.counts, value)

    def costs(self, cost: Callable[[Any], Array]) -> Array:
        """Weighted sums of the function ``cost`` (of class codes) over the rows of each class."""
        if self.counts is None:
            return self.members.totals(cost(self.members.codes))
        return np.stack([(own.T * cost(c)).sum(0) for c, own in enumerate(self.counts)])
