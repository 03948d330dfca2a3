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

SMALL = 1024
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


def student(x: Array, location: Array, low: Array, scale: Array, power: Array, top: Array) -> tuple[Array, Array]:
    """Σ_j top - power ln(1 + ((x - location - low) scale)²), (row, class), NaN adding nothing; and where it fails.

    Parameters
    ----------
    x : array (row, column)
    location, low, scale, power, top : arrays (class, column)

    Returns
    -------
    total : array (row, class)
    beyond : int array
        Rows with a value so far out that a product of their cells is beyond all floats.
    """
    from bayesnb.kernels.compiled import densities as loops

    order, run, powers = runs(power)
    cells = [np.take_along_axis(v, order, axis=1) for v in (location, low, scale, top)]
    total = np.empty((len(x), len(location)))

    def part(cut: slice) -> Array:
        lead = total[cut]
        product = np.zeros((len(lead), *powers.shape))
        loops.excess(blocks.contiguous(x[cut], float), order, run, *cells, product, lead)
        # The sum is finite if all are, and it is quicker than a test of each.
        far = np.empty(0, np.intp)
        if not np.isfinite(product.sum()):
            far = np.flatnonzero(~np.isfinite(product).all(axis=(1, 2)))
        np.log1p(product, out=product)
        product *= powers
        for place in range(len(powers)):
            lead -= product[:, place]
        return cut.start + far

    parts = blocks.cuts(len(x), max(x.shape[1], powers.size))
    return total, np.concatenate(list(blocks.each(part, parts)))


def left_out(x: Array, codes: Array, location: Array, low: Array, scale: Array, power: Array, top: Array) -> Array:
    """Σ_j top + power ln(1 - ((x - location - low) scale)²) at a row's own class, (row,), NaN adding nothing.

    NaN where such a square is 1 or more.
    """
    from bayesnb.kernels.compiled import densities as loops

    order, run, powers = runs(power)
    cells = [np.take_along_axis(v, order, axis=1) for v in (location, low, scale, top)]
    total = np.empty(len(x))

    def part(cut: slice) -> None:
        own, lead = codes[cut], total[cut]
        product = np.zeros((len(lead), len(powers)))
        loops.shortfall(blocks.contiguous(x[cut], float), own, order, run, *cells, product, lead)
        product[product <= -1] = np.nan
        np.log1p(product, out=product)
        for place, of_class in enumerate(powers):
            lead += product[:, place] * of_class[own]

    list(blocks.each(part, blocks.cuts(len(x), max(x.shape[1], len(powers)))))
    return total


def looked_up(levels: Array, table: Array, codes: Array | None = None) -> Array:
    """Σ_j table_j at the level of a row, (row, class), or (row,) at its own class; a level of -1 adds nothing.

    Parameters
    ----------
    levels : int array (row, column)
    table : array (class, column, level)
    codes : int array (row,), optional
        The class of each row.
    """
    from bayesnb.kernels.compiled import densities as loops

    n, columns, n_levels = table.shape
    flat = np.zeros((columns, n_levels + 1, -(-n // 4) * 4))
    flat[:, 1:, :n] = np.moveaxis(table, 0, -1)
    flat, starts = flat.reshape(-1, flat.shape[-1]), np.arange(columns) * (n_levels + 1)
    total = np.zeros((len(levels), n) if codes is None else len(levels))

    def part(cut: slice) -> None:
        if codes is None:
            loops.gather(blocks.contiguous(levels[cut]), starts, flat, total[cut])
        else:
            loops.gather_own(blocks.contiguous(levels[cut]), codes[cut], starts, flat, total[cut])

    list(blocks.each(part, blocks.cuts(len(levels), columns * n)))
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


def products(x: Array, table: Array) -> Array:
    """Σ_j x_j table_j, (row, class); ``table`` is (class, column)."""
    from bayesnb.kernels.compiled import densities as loops

    table, total = blocks.contiguous(table, float), np.empty((len(x), len(table)))

    def part(cut: slice) -> None:
        loops.products(blocks.cells(x[cut]), table, total[cut])

    list(blocks.each(part, blocks.cuts(len(x), x.shape[1])))
    return total


def chosen(x: Array, table: Array) -> Array | None:
    """As :func:`products`, of cells that are 0 or 1; ``None`` where one of them is not."""
    from bayesnb.kernels.compiled import densities as loops

    table, total = blocks.contiguous(table, float), np.empty((len(x), len(table)))

    def part(cut: slice) -> bool:
        return loops.chosen(blocks.contiguous(x[cut], float), table, total[cut])

    return total if all(blocks.each(part, blocks.cuts(len(x), x.shape[1]))) else None


def stored_products(x: sparse.csr_array, table: Array) -> Array:
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

    data, small = blocks.contiguous(x.data, float), gammaln(np.arange(SMALL) + 1.0)
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
