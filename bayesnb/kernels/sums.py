"""Sums over rows by class."""

from __future__ import annotations

from functools import reduce
from operator import iadd
from typing import Any

import numpy as np
from scipy import sparse

from bayesnb.kernels import blocks
from bayesnb.kernels.blocks import Array, loop
from bayesnb.kernels.reading import EACH_BYTE, SPREADING, Bits, fours
from bayesnb.kernels.two_floats import TwoFloat, rounded_once, two_product, two_sum

WIDE = 5, 16
"""Number of columns from which rows are padded to a multiple of eight numbers: without weights, and with weights."""

STEP = 64
"""Number of rows whose zeros are looked for at once, while the rows are in the cache."""


def weights(codes: Array, weight: Array, n: int) -> Array:
    """The total weight Σ w of the rows of each class, (class,)."""
    # If all rows share a weight, its array may occupy the memory of one number.
    if weight.strides == (0,) and len(weight):
        if n > 8:
            return np.bincount(codes, minlength=n) * weight[0]
        # For few codes, comparisons are faster: bincount finishes each addition to a number before the next one.
        rows = [np.count_nonzero(codes == c) for c in range(n - 1)]
        return np.array([*rows, len(codes) - sum(rows)]) * weight[0]
    parts = blocks.slices(len(codes))
    return reduce(iadd, (np.bincount(codes[cut], weight[cut], n) for cut in parts), np.zeros(n))


def totals(x: Any, codes: Array, weight: Array, n: int) -> Array:
    """The weighted sum Σ w x over the rows of each class, (class, column), for dense or sparse ``x`` without NaN."""
    (rows, columns), stored = x.shape, sparse.issparse(x)
    if stored:
        x = sparse.csr_array(x, dtype=float)
        # Use few blocks, so that their tables stay small compared with the matrix.
        several = max(1, min(4, x.nnz // max(1, 4 * n * columns)))
    parts = blocks.slices(rows, max(1, -(-rows // several))) if stored else blocks.cuts(rows, columns, 16 * n)
    compiled = blocks.worthwhile(x.nnz if stored else x.size)

    def part(cut: slice) -> Array:
        own, w = blocks.contiguous(codes[cut]), blocks.contiguous(weight[cut])
        if not compiled:
            members = sparse.csr_array((w, (own, np.arange(len(own)))), shape=(n, len(own)))
            product = members @ x[cut]
            return product.toarray() if stored else np.asarray(product, float)
        found = np.zeros((n, columns))
        if stored:
            _add_stored(x.data, x.indices, x.indptr, own, w, cut.start, found)
        elif x.dtype in (np.uint8, np.bool_) and (w == 1).all():
            _add_fours(x.fours[cut] if isinstance(x, Bits) else fours(blocks.cells(x[cut])), own, found)
        else:
            _add(blocks.cells(x[cut]), own, w, found)
        return found

    return reduce(iadd, blocks.each(part, parts))


@loop
def _add(x: Array, codes: Array, weight: Array, found: Array) -> None:
    for i in range(len(x)):
        row, w = found[codes[i]], weight[i]
        for j in range(x.shape[1]):
            row[j] += w * x[i, j]


@loop
def _add_fours(x: Array, codes: Array, found: Array) -> None:
    # Each byte of a sum counts up to 255 rows.
    few = np.zeros((len(found), x.shape[1]), np.uint32)
    counts = few.view(np.uint8)
    for start in range(0, len(x), 255):
        for i in range(start, min(start + 255, len(x))):
            row = few[codes[i]]
            for k in range(x.shape[1]):
                row[k] += np.uint32(x[i, k]) * SPREADING & EACH_BYTE
        for c in range(len(found)):
            for j in range(found.shape[1]):
                found[c, j] += counts[c, j]
        few[:] = 0


@loop
def _add_stored(
    data: Array, indices: Array, indptr: Array, codes: Array, weight: Array, start: int, found: Array
) -> None:
    for i in range(len(codes)):
        row, w = found[np.uintp(codes[i])], weight[i]
        for k in range(np.uintp(indptr[start + i]), np.uintp(indptr[start + i + 1])):
            row[np.uintp(indices[k])] += w * data[k]


# Columns of few distinct values are codes into a table of these values.


def count(codes: Any, labels: Array, weight: Array, n_classes: int, n_values: int) -> Array:
    """Total weight of the rows with each value, (class, column, value), from value codes (row, column)."""
    # A code of -1 is not counted. In a sparse matrix, stored cells have the value 1, and all other cells the value 0.
    # Bytes hold 0 and 1. Their zeros are exact differences if no row has a fraction as its weight.
    if sparse.issparse(codes) or (codes.dtype == np.uint8 and n_values == 2 and (weight == 1).all()):
        ones = totals(codes, labels, weight, n_classes)
        return np.stack([weights(labels, weight, n_classes)[:, None] - ones, ones], axis=-1)
    shape = (n_classes, codes.shape[1], n_values)
    form = _count if blocks.worthwhile(codes.size) else _count_in_numpy

    def part(cut: slice) -> Array:
        found = np.zeros(shape)
        form(*(blocks.contiguous(x[cut]) for x in (codes, labels, weight)), found)
        return found

    return reduce(iadd, blocks.each(part, blocks.cuts(len(codes), codes.shape[1], 4 * n_classes * n_values)))


def _count_in_numpy(codes: Array, labels: Array, weight: Array, found: Array) -> None:
    n_classes, _, n_values = found.shape
    for column, code in enumerate(codes.T):
        known = (code >= 0) & (code < n_values)
        cell = labels[known] * n_values + code[known]
        found[:, column] = np.bincount(cell, weight[known], n_classes * n_values).reshape(n_classes, n_values)


@loop
def _count(codes: Array, labels: Array, weight: Array, found: Array) -> None:
    n_values, flat = np.uintp(found.shape[2]), found.reshape(len(found), -1)
    for i in range(len(codes)):
        table, w, first = flat[labels[i]], weight[i], np.uintp(0)
        for j in range(codes.shape[1]):
            # As an unsigned number, -1 is larger than every code, and no index counts from the end.
            code = np.uintp(codes[i, j])
            if code < n_values:
                table[first + code] += w
            first += n_values


def pairs(codes: Array, sizes: Array, columns: Array, labels: Any) -> Array:
    """For each pair of columns, the weight of each combination of their codes, (class, combination), concatenated."""
    # codes, (column, row): -1 is ignored; sizes: number of codes per column; columns, (pair, 2): pairs of columns
    cells = sizes[columns].prod(axis=1)
    # In numpy, each pair takes as long as some thousand cells more.
    form = _count_pairs if blocks.worthwhile(len(columns) * (codes.shape[1] + 4096.0)) else _count_pairs_in_numpy

    def part(cut: slice) -> Array:
        first = np.cumsum(cells[cut]) - cells[cut]
        found = np.zeros((labels.n, cells[cut].sum()))
        form(codes, sizes, columns[cut], first, labels.codes, labels.weight, found)
        return found

    return np.concatenate([*blocks.each(part, blocks.cuts(len(columns), codes.shape[1]))], axis=1)


def _count_pairs_in_numpy(
    codes: Array, sizes: Array, columns: Array, first: Array, labels: Array, weight: Array, found: Array
) -> None:
    for (i, j), start in zip(columns, first, strict=True):
        known, cells = (codes[i] >= 0) & (codes[j] >= 0), sizes[i] * sizes[j]
        cell = labels[known] * cells + codes[i, known] * sizes[j] + codes[j, known]
        found[:, start : start + cells] = np.bincount(cell, weight[known], len(found) * cells).reshape(-1, cells)


@loop
def _count_pairs(
    codes: Array, sizes: Array, columns: Array, first: Array, labels: Array, weight: Array, found: Array
) -> None:
    for k in range(len(columns)):
        one, other, size = codes[columns[k, 0]], codes[columns[k, 1]], sizes[columns[k, 1]]
        for row in range(len(labels)):
            if one[row] >= 0 and other[row] >= 0:
                found[labels[row], first[k] + one[row] * size + other[row]] += weight[row]


# Each sum of moments is carried as two floats: the second collects the rounding errors of the first (Ogita, Rump, Oishi
# 2005). So the squares of ordinary rows keep their digits next to a row 1e9 spreads away, which may be unlearned later.
# Sums of differences from one value of the class lose no digits by the location, and are exactly 0 for equal values.
# They take a third longer than sums of the values.


def moments(x: Array, codes: Array, weight: Array, n: int, centred: bool) -> Array:
    """For each block of rows, weighted sums of x and x² about a value v, (block, class, 8, column)."""
    # The eight numbers are, in this order: Σ w and its rounding error; v; Σ w (x - v) and its rounding error; Σ w (x -
    # v)² and its rounding error; the weight of the nonzero values. NaN adds nothing. If ``centred`` is true, v is the
    # first value of the class in the block; otherwise, v is 0.
    # In numpy a cell takes about four times as long as one of the loops below.
    compiled = blocks.worthwhile(4 * x.size, 4 * blocks.SMALL)

    def part(cut: slice) -> Array:
        rows = blocks.contiguous(x[cut], float), blocks.contiguous(codes[cut]), blocks.contiguous(weight[cut])
        if not compiled:
            return _moments_in_numpy(*rows, n, centred)
        near = _first_values(*rows, n) if centred else None
        # Where a gap is among the first rows, the quicker loop would only find NaN.
        full = (rows[2] == 1).all() and not np.isnan(rows[0][:64]).any()
        last = np.zeros(-(-x.shape[1] // 8) * 8)
        if full:
            found = _moments(*rows[:2], None, near, last if x.shape[1] >= WIDE[0] else None, n)
            if not np.isnan(found).any():
                return found
        return _moments(*rows, near, last if x.shape[1] >= WIDE[1] else None, n)

    parts = blocks.cuts(len(x), x.shape[1], 16 * n)
    return np.stack([*(blocks.each(part, parts) if compiled else map(part, parts))])


_two_sum = loop(two_sum)


@loop
def _first_values(x: Array, codes: Array, weight: Array, n_classes: int) -> Array:
    columns = x.shape[1]
    near, held = np.zeros((n_classes, columns)), np.zeros((n_classes, columns), np.bool_)
    left, classes_left = np.full(n_classes, columns), n_classes
    for i in range(len(x)):
        c = codes[i]
        if left[c] and weight[i] > 0.0:
            for j in range(columns):
                if not held[c, j] and x[i, j] == x[i, j]:
                    held[c, j] = True
                    near[c, j] = x[i, j]
                    left[c] -= 1
            if left[c] == 0:
                classes_left -= 1
                if classes_left == 0:
                    break
    return near


@loop
def _moments(
    x: Array, codes: Array, weight: Array | None, near: Array | None, last: Array | None, n_classes: int
) -> Array:
    """The weighted sums of :func:`moments` for one block of rows, about the values ``near`` (class, column), or 0."""
    # If ``weight`` is ``None``, all rows have weight 1, and a missing cell makes the sums NaN. If the buffer ``last``
    # is given, each row is extended to its length; the sums of the added cells have no meaning.
    columns = x.shape[1]
    # The loop creates its output array: the compiler then knows that the output overlaps no other array.
    wide = columns if last is None else len(last)
    found, cells = np.zeros((n_classes, 8, wide)), x.reshape(-1)
    if near is not None:
        for c in range(n_classes):
            for j in range(columns):
                found[c, 2, j] = near[c, j]
    for start in range(0, len(x), STEP):
        stop = min(start + STEP, len(x))
        for i in range(start, stop):
            n, n_rest, centre, first, first_rest, second, second_rest, nonzero = found[codes[i]]
            if weight is None:
                n[0] += 1.0
            # A padded row ends with cells of the next row, whose sums are dropped; only the last rows are copied.
            if last is None:
                row = x[i]
            elif i * columns + wide <= len(cells):
                row = cells[i * columns : i * columns + wide]
            else:
                for j in range(columns):
                    last[j] = x[i, j]
                row = last
            for j in range(wide):
                v, w = row[j], 1.0
                known = v == v
                if near is None:
                    away, low = v if weight is None or known else 0.0, 0.0
                else:
                    away, low = _two_sum(v if weight is None or known else centre[j], -centre[j])
                pull, pull_low = away, low
                if weight is not None:
                    w = weight[i] if known else 0.0
                    pull = w * away
                    pull_low = rounded_once(w, away, -pull) + w * low
                    n[j], error = _two_sum(n[j], w)
                    n_rest[j] += error
                if weight is not None or last is None:
                    nonzero[j] += w if v != 0.0 else 0.0
                square = pull * away
                rest = rounded_once(pull, away, -square)
                if near is not None or weight is not None:
                    rest += pull * low + pull_low * away
                first[j], error = _two_sum(first[j], pull)
                first_rest[j] += error + pull_low
                second[j], error = _two_sum(second[j], square)
                second_rest[j] += error + rest
        # The cells of these rows are still in the cache; their zeros are subtracted from the number of all rows.
        if weight is None and last is not None and _zeros(cells[start * columns : stop * columns]):
            for i in range(start, stop):
                nonzero = found[codes[i], 7]
                for j in range(columns):
                    nonzero[j] -= 1.0 if x[i, j] == 0.0 else 0.0
    if weight is None:
        for c in range(n_classes):
            if last is not None:
                found[c, 7] += found[c, 0, 0]
            found[c, 0] = found[c, 0, 0]
    return found[:, :, :columns]


@loop
def _zeros(cells: Array) -> int:
    zeros = 0
    for k in range(len(cells)):
        zeros += cells[k] == 0.0
    return zeros


def _moments_in_numpy(x: Array, codes: Array, weight: Array, n: int, centred: bool) -> Array:
    """The bit-identical result of :func:`_moments`: both functions add the rows in the same order."""
    found, counts = np.zeros((n, 8, x.shape[1])), np.bincount(codes, minlength=n)
    order, ends = np.argsort(codes, kind="stable"), np.cumsum(counts)
    # Classes with few rows or similar numbers of rows are summed together, padded with rows of weight 0.
    digits = np.frexp(np.maximum(counts, blocks.SMALL // n))[1]
    for many in {*digits[counts > 0].tolist()}:
        own = np.flatnonzero(digits == many)
        rank = np.arange(counts[own].max())
        there = rank < counts[own][:, None]
        row = order[np.where(there, (ends - counts)[own][:, None] + rank, 0)]
        weights = np.where(there, weight[row], 0.0)
        # Few columns at once, so that temporary arrays stay in the cache.
        for columns in blocks.slices(x.shape[1], max(1, blocks.SMALL // row.size)):
            sums = _cumulated(x.T[columns][:, row], weights, centred)
            found[own, :, columns] = np.moveaxis(sums, -1, 0)
    return found


def _cumulated(x: Array, weight: Array, centred: bool) -> Array:
    w, near = np.where(np.isnan(x), 0.0, weight), np.zeros((*x.shape[:-1], 1))
    if centred:
        near = np.take_along_axis(np.where(w > 0, x, 0.0), np.argmax(w > 0, axis=-1)[..., None], axis=-1)
    away, low = two_sum(np.where(np.isnan(x), near, x), -near)
    pull, pull_low = two_product(w, away)
    pull_low += w * low
    square, rest = two_product(pull, away)
    rest += pull * low + pull_low * away
    nonzero = np.cumsum(np.where(x != 0, w, 0.0), axis=-1)[..., -1]
    high, low = TwoFloat(np.stack([w, pull, square]), np.stack([np.zeros_like(w), pull_low, rest])).sum(-1)
    return np.stack([high[0], low[0], near[..., 0], high[1], low[1], high[2], low[2], nonzero])
