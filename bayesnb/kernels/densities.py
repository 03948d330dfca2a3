"""Log densities of rows by class: sums over columns that would need a logarithm or a temporary a cell."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import gammaln

from bayesnb.kernels import blocks
from bayesnb.kernels.blocks import Array

RUN = 32
"""Columns of one product: 1 + z² of them multiply to a float while z stays below 65,536."""

SMALL = 2**14
"""Cells from which on a compiled loop is faster than numpy, where the compiler is loaded already."""

FACTORIALS = 1024
"""Counts whose ln n! is looked up."""


def runs(power: Array) -> tuple[Array, Array, Array]:
    """Columns of each class grouped by ``power`` (class, column), at most ``RUN`` at once.

    Returns
    -------
    order, run : int arrays (class, column)
        The columns by run, and the run of each.
    powers : array (run, class)
        0 where a class has fewer runs.
    """
    order = np.argsort(power, axis=1, kind="stable")
    ordered = np.take_along_axis(power, order, axis=1)
    new = np.diff(ordered, axis=1, prepend=np.nan) != 0
    place = np.arange(power.shape[1])
    since = place - np.maximum.accumulate(np.where(new, place, 0), axis=1)
    run = np.cumsum(since % RUN == 0, axis=1) - 1
    powers = np.zeros((run.max(initial=-1) + 1, len(power)))
    powers[run, np.arange(len(power))[:, None]] = ordered
    return order, run, powers


def students(x: Array, location: Array, low: Array, scale: Array, power: Array, top: Array) -> Array:
    """Σ_j top - power ln(1 + ((x - location - low) scale)²), (row, class), NaN adding nothing.

    The logarithms of up to ``RUN`` columns of one power are one logarithm, of the product of their 1 + z². The product
    is carried less 1, which keeps every digit where z is small. Where it is beyond all floats, each cell has a
    logarithm of its own.

    Parameters
    ----------
    x : array (row, column)
    location, low, scale, power, top : arrays (class, column)
    """
    order, run, powers = runs(power)
    cells = [np.take_along_axis(v, order, axis=1) for v in (location, low, scale, top)]
    total = np.empty((len(x), len(location)))
    compiled = blocks.worthwhile(x.size * len(location), SMALL)

    def part(cut: slice) -> Array:
        lead = total[cut]
        product = np.zeros((len(lead), *powers.shape))
        if compiled:
            from bayesnb.kernels.compiled import densities as loops

            loops.excess(blocks.contiguous(x[cut], float), order, run, *cells, product, lead)
        else:
            for c in range(len(order)):
                lead[:, c] = _carried(x[cut], order[c], run[c], *(v[c] for v in cells), product[:, :, c], 1.0)
        # The sum is finite if all are, and it is quicker than a test of each.
        far = np.empty(0, np.intp)
        if not np.isfinite(product.sum()):
            far = np.flatnonzero(~np.isfinite(product).all(axis=(1, 2)))
        np.log1p(product, out=product)
        product *= powers
        for place in range(len(powers)):
            lead -= product[:, place]
        return cut.start + far

    with np.errstate(all="ignore"):
        beyond = np.concatenate(list(blocks.each(part, blocks.cuts(len(x), max(x.shape[1], powers.size)))))
        if len(beyond):
            away = np.abs(((x[beyond][:, None] - location) - low) * scale)
            each = top - power * np.where(away > 1e9, 2 * np.log(away), np.log1p(away * away))
            total[beyond] = np.where(np.isnan(away), 0.0, each).sum(-1)
    return total


def _carried(
    x: Array,
    order: Array,
    run: Array,
    location: Array,
    low: Array,
    scale: Array,
    top: Array,
    product: Array,
    sign: float,
) -> Array:  # fmt: skip
    """∏ (1 ± z²) - 1 over the columns of each run, into ``product`` (row, run); Σ top is returned, (row,).

    The columns come in ``order`` (column,), and the other arrays in that order too.
    """
    carried = summed = np.zeros(len(x))
    for k in range(x.shape[1]):
        cells = x[:, order[k]]
        known = cells == cells
        z = np.where(known, ((cells - location[k]) - low[k]) * scale[k], 0.0)
        carried = carried + sign * (z * z * (1.0 + carried))
        summed = summed + np.where(known, top[k], 0.0)
        if k + 1 == x.shape[1] or run[k + 1] != run[k]:
            product[:, run[k]], carried = carried, np.zeros(len(x))
    return summed


def students_left_out(
    x: Array, codes: Array, location: Array, low: Array, scale: Array, power: Array, top: Array
) -> Array:
    """Σ_j top + power ln(1 - ((x - location - low) scale)²) at a row's own class, (row,), NaN adding nothing.

    NaN where such a square is 1 or more. A sparse x is made dense in blocks.
    """
    order, run, powers = runs(power)
    cells = [np.take_along_axis(v, order, axis=1) for v in (location, low, scale, top)]
    total = np.empty(x.shape[0])
    compiled = blocks.worthwhile(np.prod(x.shape), SMALL)

    def part(cut: slice) -> None:
        block, own, lead = blocks.contiguous(x[cut], float), codes[cut], total[cut]
        product = np.zeros((len(lead), len(powers)))
        if compiled:
            from bayesnb.kernels.compiled import densities as loops

            loops.shortfall(block, own, order, run, *cells, product, lead)
        else:
            for c in np.unique(own):
                rows = np.flatnonzero(own == c)
                found = np.zeros((len(rows), len(powers)))
                lead[rows] = _carried(block[rows], order[c], run[c], *(v[c] for v in cells), found, -1.0)
                product[rows] = found
        product[product <= -1] = np.nan
        np.log1p(product, out=product)
        for place, of_class in enumerate(powers):
            lead += product[:, place] * of_class[own]

    with np.errstate(all="ignore"):
        list(blocks.each(part, blocks.cuts(x.shape[0], max(x.shape[1], len(powers)))))
    return total


def normal(x: Array, location: Array, low: Array, scale: Array, top: Array) -> Array:
    """Σ_j top - ((x - location - low) scale)² / 2, (row, class), NaN adding nothing."""
    from bayesnb.kernels.compiled import densities as loops

    cells = [blocks.contiguous(v, float) for v in (location, low, scale, top)]
    total = np.empty((len(x), len(location)))

    def part(cut: slice) -> None:
        loops.squares(blocks.contiguous(x[cut], float), *cells, total[cut])

    list(blocks.each(part, blocks.cuts(len(x), x.shape[1])))
    return total


def products(x: Any, table: Array) -> Array:
    """Σ_j x_j table_j, (..., row, class); x dense or CSR, without NaN, ``table`` (..., class, column)."""
    one_point = table.ndim == 2
    if sparse.issparse(x):
        if one_point and blocks.large_enough(x.nnz):
            return _stored_products(sparse.csr_array(x), table)
        return np.moveaxis((x @ table.reshape(-1, table.shape[-1]).T).reshape(-1, *table.shape[:-1]), 0, -2)
    if not (one_point and blocks.large_enough(x.size)):
        return np.asarray(x, float) @ np.swapaxes(table, -1, -2)
    from bayesnb.kernels.compiled import densities as loops

    table, total = blocks.contiguous(table, float), np.empty((len(x), len(table)))

    def part(cut: slice) -> None:
        loops.products(blocks.cells(x[cut]), table, total[cut])

    list(blocks.each(part, blocks.cuts(len(x), x.shape[1])))
    return total


def _stored_products(x: sparse.csr_array, table: Array) -> Array:
    """Σ_j x_j table_j, (row, class); x CSR, ``table`` (class, column)."""
    from bayesnb.kernels.compiled import densities as loops

    wide, data = blocks.fours(table), blocks.contiguous(x.data, float)
    total = np.empty((x.shape[0], len(table)))

    def part(cut: slice) -> None:
        loops.stored_products(data, x.indices, x.indptr, cut.start, wide, total[cut])

    list(blocks.each(part, stored_cuts(x)))
    return total


def rising(x: sparse.csr_array, alpha: Array, codes: Array | None = None, weight: Array | None = None) -> Array:
    """Σ_k ln Γ(α_k + x_k) - ln Γ(α_k), (row, class); x CSR, ``alpha`` (class, column).

    With ``codes``, at a row's own class, (row,), and α less ``weight`` times the row's own counts.
    """
    from bayesnb.kernels.compiled import densities as loops

    data, wide = blocks.contiguous(x.data, float), blocks.fours(alpha, 1.0)
    total = np.empty((x.shape[0], len(alpha)) if codes is None else x.shape[0])
    # Tables of the smallest counts, where they are small beside the matrix.
    several = min(4, x.nnz // (2 * wide.size)) if codes is None else 0
    known = np.empty((several, *wide.shape))
    for n in range(several):
        with np.errstate(divide="ignore"):
            np.log(wide + n, out=known[n])
        if n:
            known[n] += known[n - 1]

    def part(cut: slice) -> None:
        if codes is None:
            loops.rising(data, x.indices, x.indptr, cut.start, wide, known, total[cut])
        else:
            loops.rising_own(
                data, x.indices, x.indptr, cut.start, wide, codes[cut], blocks.contiguous(weight[cut]), total[cut]
            )

    list(blocks.each(part, stored_cuts(x)))
    return total


def log_factorials(x: sparse.csr_array) -> tuple[Array, Array]:
    """Σ_k x_k and Σ_k ln x_k! of each row, (row,) each; x CSR."""
    from bayesnb.kernels.compiled import densities as loops

    data, small = blocks.contiguous(x.data, float), gammaln(np.arange(FACTORIALS) + 1.0)
    lengths, total = np.empty((2, x.shape[0]))

    def part(cut: slice) -> None:
        loops.log_factorials(data, x.indptr, cut.start, small, lengths[cut], total[cut])

    list(blocks.each(part, stored_cuts(x)))
    return lengths, total


def stored_cuts(x: Any) -> list[slice]:
    """Blocks of the rows of a sparse matrix."""
    return blocks.cuts(x.shape[0], x.nnz // max(1, x.shape[0]))


def over_last(combine: np.ufunc, x: Array) -> Array:
    """``combine.reduce`` over the last axis, which stays with length 1.

    Few items are combined one by one: numpy is slow at short rows, and adds up to eight of them in this order too.
    """
    if 0 < x.shape[-1] < 8:
        return reduce(combine, (x[..., k : k + 1] for k in range(x.shape[-1])))
    return combine.reduce(x, axis=-1, keepdims=True)


def add_row(joint: Array, row: Array) -> Array:
    """``row`` (class,) added to every row of ``joint`` (row, class), in place."""
    if len(row) >= 64:
        joint += row
        return joint
    # Class by class: numpy is slow at short rows.
    for c, value in enumerate(row):
        joint[:, c] += value
    return joint


def normalized(joint: Array, logs: bool = True) -> Array | None:
    """Rows (row, class) as probabilities, or with ``logs`` their logarithms; ``None`` where a row is all -inf.

    ``joint`` holds their logarithms, up to a constant for each row.
    """
    from bayesnb.kernels.compiled import densities as loops

    found = np.empty(joint.shape)

    def part(cut: slice) -> bool:
        below = found[cut]
        if not loops.below_top(blocks.contiguous(joint[cut]), below):
            return False
        powers = np.exp(below, out=None if logs else below)
        if not logs:
            loops.shares(powers)
            return True
        # The largest is 1, and log1p of the others keeps the digits of a row that is all but certain.
        rest = np.empty(len(powers))
        loops.others(powers, rest)
        below -= np.log1p(rest, out=rest)[:, None]
        return True

    return found if all(blocks.each(part, blocks.cuts(len(joint), joint.shape[1]))) else None
