"""The compiled loops, each over the rows of one block; nothing else here knows the compiler.

Start with the verbs in ``sums`` and ``densities``, which cut a table into blocks, hand them to threads and join what
comes back. A loop lets go of the interpreter's lock, is handed contiguous arrays, keeps the rules of IEEE arithmetic
(a NaN is a missing value, and must stay one), and is kept on disk once compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from math import lgamma, log, log1p

import numba
import numpy as np

from bayesnb.kernels.blocks import Array

TILE = 64
"""Rows that one step of a loop over columns takes at once, side by side in the processor's vector."""


def compiled(loop: Callable, rules: set[str] | bool = False) -> Callable:
    """The loop in machine code, kept on disk where there is a place to keep it.

    ``rules`` are those of arithmetic that the compiler may bend.
    """
    try:
        return numba.njit(nogil=True, error_model="numpy", fastmath=rules, cache=True)(loop)
    except RuntimeError:
        # No folder to keep it in can be written: it is compiled once a process.
        return numba.njit(nogil=True, error_model="numpy", fastmath=rules)(loop)


def compiled_sum(loop: Callable) -> Callable:
    """A loop that may add in any order, though never as if a NaN or an infinity could not be."""
    return compiled(loop, {"reassoc", "contract"})


# Sums


@compiled
def moments(x: Array, codes: Array, weight: Array, n_classes: int, chunk: int) -> Array:
    """Weight, mean as high and low part, and scatter, as (4, class, column), from one reading of memory.

    Rows are taken ``chunk`` at a time. A chunk is summed about the mean of what came before it, so its squares lose no
    digit that the whole has; a class of which little came before is first given the mean of its own chunk, which is
    then read again, from the cache. Chan, Golub and LeVeque (1983) join the chunks.
    """
    rows, columns = x.shape
    whole = np.zeros((4, n_classes, columns))
    # Centre, weight, sum and sum of squares of the chunk, side by side: a cell is one vector.
    part = np.zeros((n_classes, columns, 4))
    total = np.empty(n_classes)
    thin = np.empty(n_classes, np.bool_)
    for start in range(0, rows, chunk):
        stop = min(start + chunk, rows)
        total[:] = 0.0
        for i in range(start, stop):
            total[codes[i]] += weight[i]
        some_thin = False
        for c in range(n_classes):
            thin[c] = False
            for j in range(columns):
                part[c, j, 0] = whole[1, c, j]
                thin[c] |= total[c] > 8.0 * whole[0, c, j]
                part[c, j, 1] = part[c, j, 2] = part[c, j, 3] = 0.0
            some_thin |= thin[c]
        if some_thin:
            _centre(x, codes, weight, start, stop, thin, part)
        for i in range(start, stop):
            cells, w = part[codes[i]], weight[i]
            for j in range(columns):
                v = x[i, j]
                known = v == v
                away = v - cells[j, 0] if known else 0.0
                here = w if known else 0.0
                cells[j, 1] += here
                cells[j, 2] += here * away
                cells[j, 3] += here * away * away
        _join(whole, part)
    return whole


@compiled
def _centre(x: Array, codes: Array, weight: Array, start: int, stop: int, thin: Array, part: Array) -> None:
    """The mean of a chunk as its centre, for classes of which too little came before."""
    for i in range(start, stop):
        if thin[codes[i]]:
            cells, w = part[codes[i]], weight[i]
            for j in range(x.shape[1]):
                v = x[i, j]
                if v == v:
                    if cells[j, 1] == 0.0:
                        cells[j, 0] = v
                    cells[j, 1] += w
                    cells[j, 2] += w * (v - cells[j, 0])
    for c in range(len(part)):
        if thin[c]:
            for j in range(x.shape[1]):
                if part[c, j, 1] > 0.0:
                    part[c, j, 0] += part[c, j, 2] / part[c, j, 1]
                part[c, j, 1] = part[c, j, 2] = 0.0


@compiled
def _join(whole: Array, part: Array) -> None:
    """Add a chunk to what came before, the mean in two parts."""
    for c in range(len(part)):
        for j in range(part.shape[1]):
            more = part[c, j, 1]
            if more == 0.0:
                continue
            n, mean, low = whole[0, c, j], whole[1, c, j], whole[2, c, j]
            step = part[c, j, 2] / more
            gap = (part[c, j, 0] - mean) + (step - low)
            both = n + more
            if n >= more:
                base, rest = mean, low + gap * (more / both)
            else:
                base, rest = part[c, j, 0], step - gap * (n / both)
            # The rounded sum and its rounding error (Knuth, TAOCP 4.2.2).
            high = base + rest
            left = high - base
            whole[0, c, j] = both
            whole[1, c, j] = high
            whole[2, c, j] = (base - (high - left)) + (rest - left)
            scatter = part[c, j, 3] - part[c, j, 2] * step
            whole[3, c, j] += max(scatter, 0.0) + gap * (gap * (n * (more / both)))


@compiled
def totals(x: Array, codes: Array, weight: Array, n_classes: int) -> Array:
    """Σ w x of each class, (class, column)."""
    found = np.zeros((n_classes, x.shape[1]))
    for i in range(len(x)):
        row, w = found[codes[i]], weight[i]
        for j in range(x.shape[1]):
            row[j] += w * x[i, j]
    return found


@compiled
def stored_totals(
    data: Array, indices: Array, indptr: Array, codes: Array, weight: Array, start: int, found: Array
) -> None:
    """Σ w x of each class, (class, column), of rows of a CSR matrix, added to ``found``."""
    for i in range(len(codes)):
        row, w = found[codes[i]], weight[i]
        for k in range(indptr[start + i], indptr[start + i + 1]):
            row[indices[k]] += w * data[k]


@compiled
def tally(levels: Array, codes: Array, weight: Array, found: Array) -> None:
    """Weight of each level, added to ``found`` (class, column, level); a level of -1 counts nowhere."""
    for i in range(len(levels)):
        table, w = found[codes[i]], weight[i]
        for j in range(levels.shape[1]):
            if levels[i, j] >= 0:
                table[j, levels[i, j]] += w


# Densities


@compiled
def excess(
    x: Array, order: Array, run: Array, location: Array, scale: Array, top: Array, product: Array, lead: Array
) -> None:
    """∏ (1 + z²) - 1 over the columns of each run, and Σ top over all, of columns that are not missing.

    The product is carried less 1, which keeps every digit where z is small; a logarithm of it replaces one a cell.

    Parameters
    ----------
    x : array (row, column)
    order, run : int arrays (class, column)
        The columns of each class by run, and the run of each.
    location, scale, top : arrays (class, column)
        In that order. z is (x - location) scale.
    product : array (row, run, class)
    lead : array (row, class)
    """
    rows, columns = x.shape
    tile, carried, summed = np.empty((columns, TILE)), np.empty(TILE), np.empty(TILE)
    for start in range(0, rows, TILE):
        width = min(TILE, rows - start)
        gaps = False
        for j in range(columns):
            for r in range(width):
                v = x[start + r, j]
                tile[j, r] = v
                gaps |= v != v
            tile[j, width:] = 0.0
        for c in range(len(order)):
            carried[:] = 0.0
            summed[:] = 0.0
            whole = 0.0
            for k in range(columns):
                cells, m, s, t = tile[order[c, k]], location[c, k], scale[c, k], top[c, k]
                if gaps:
                    for r in range(TILE):
                        v = cells[r]
                        known = v == v
                        z = (v - m) * s if known else 0.0
                        carried[r] += z * z * (1.0 + carried[r])
                        summed[r] += t if known else 0.0
                else:
                    whole += t
                    for r in range(TILE):
                        z = (cells[r] - m) * s
                        carried[r] += z * z * (1.0 + carried[r])
                if k + 1 == columns or run[c, k + 1] != run[c, k]:
                    for r in range(width):
                        product[start + r, run[c, k], c] = carried[r]
                    carried[:] = 0.0
            for r in range(width):
                lead[start + r, c] = summed[r] + whole


@compiled
def shortfall(
    x: Array, codes: Array, order: Array, run: Array, location: Array, scale: Array, top: Array, product: Array,
    lead: Array,
) -> None:  # fmt: skip
    """∏ (1 - z²) - 1 over the columns of each run, and Σ top, at a row's own class.

    As :func:`excess`; ``product`` is (row, run) and ``lead`` (row,).
    """
    for i in range(len(x)):
        c = codes[i]
        carried = summed = 0.0
        for k in range(x.shape[1]):
            v = x[i, order[c, k]]
            if v == v:
                z = (v - location[c, k]) * scale[c, k]
                carried -= z * z * (1.0 + carried)
                summed += top[c, k]
            if k + 1 == x.shape[1] or run[c, k + 1] != run[c, k]:
                product[i, run[c, k]] = carried
                carried = 0.0
        lead[i] = summed


@compiled
def gather(levels: Array, starts: Array, table: Array, found: Array) -> None:
    """Σ_j table[starts_j + level_j + 1], (row, class); the first row of a column is its missing value.

    ``table`` has a multiple of four classes, so that four sums are one vector.
    """
    columns = levels.shape[1]
    for i in range(len(levels)):
        for c in range(0, found.shape[1], 4):
            s0 = s1 = s2 = s3 = 0.0
            for j in range(columns):
                cell = table[starts[j] + levels[i, j] + 1]
                s0 += cell[c]
                s1 += cell[c + 1]
                s2 += cell[c + 2]
                s3 += cell[c + 3]
            _put(found, i, c, s0, s1, s2, s3)


@compiled
def gather_own(levels: Array, codes: Array, starts: Array, table: Array, found: Array) -> None:
    """As :func:`gather`, at a row's own class alone; ``found`` is (row,)."""
    for i in range(len(levels)):
        for j in range(levels.shape[1]):
            found[i] += table[starts[j] + levels[i, j] + 1, codes[i]]


@compiled
def squares(x: Array, location: Array, scale: Array, top: Array, found: Array) -> None:
    """Σ_j top - z²/2, (row, class), of columns that are not missing, with z = (x - location) scale."""
    for i in range(len(x)):
        for c in range(len(location)):
            summed = 0.0
            for j in range(x.shape[1]):
                v = x[i, j]
                if v == v:
                    z = (v - location[c, j]) * scale[c, j]
                    summed += top[c, j] - 0.5 * z * z
            found[i, c] = summed


@compiled_sum
def products(x: Array, table: Array, found: Array) -> None:
    """Σ_j x_j table_j, (row, class); ``table`` is (class, column)."""
    for i in range(len(x)):
        row = x[i]
        for c in range(len(table)):
            weights, summed = table[c], 0.0
            for j in range(len(row)):
                summed += row[j] * weights[j]
            found[i, c] = summed


@compiled
def stored_products(data: Array, indices: Array, indptr: Array, start: int, table: Array, found: Array) -> None:
    """Σ_j x_j table_j, (row, class), of rows of a CSR matrix; ``table`` is (column, class), classes in fours."""
    for i in range(len(found)):
        for c in range(0, found.shape[1], 4):
            s0 = s1 = s2 = s3 = 0.0
            for k in range(indptr[start + i], indptr[start + i + 1]):
                v, j = data[k], indices[k]
                s0 += v * table[j, c]
                s1 += v * table[j, c + 1]
                s2 += v * table[j, c + 2]
                s3 += v * table[j, c + 3]
            _put(found, i, c, s0, s1, s2, s3)


@compiled
def _put(found: Array, i: int, c: int, s0: float, s1: float, s2: float, s3: float) -> None:
    """Four sums of a row, or as many as there are classes left."""
    classes = found.shape[1]
    found[i, c] = s0
    if c + 1 < classes:
        found[i, c + 1] = s1
    if c + 2 < classes:
        found[i, c + 2] = s2
    if c + 3 < classes:
        found[i, c + 3] = s3


@compiled
def rising(data: Array, indices: Array, indptr: Array, start: int, alpha: Array, known: Array, found: Array) -> None:
    """Σ_k ln Γ(α_k + n_k) - ln Γ(α_k), (row, class), of rows of a CSR matrix.

    ``alpha`` is (column, class) with a multiple of four classes, and ``known`` (count, column, class) what the counts
    1, 2, … add, so that most words need no logarithm.
    """
    for i in range(len(found)):
        for c in range(0, found.shape[1], 4):
            s0 = s1 = s2 = s3 = 0.0
            for k in range(indptr[start + i], indptr[start + i + 1]):
                n, j = data[k], indices[k]
                place = int(n) - 1 if 1.0 <= n <= len(known) else -1
                if place + 1 == n:
                    s0 += known[place, j, c]
                    s1 += known[place, j, c + 1]
                    s2 += known[place, j, c + 2]
                    s3 += known[place, j, c + 3]
                else:
                    s0 += log_rising(alpha[j, c], n)
                    s1 += log_rising(alpha[j, c + 1], n)
                    s2 += log_rising(alpha[j, c + 2], n)
                    s3 += log_rising(alpha[j, c + 3], n)
            _put(found, i, c, s0, s1, s2, s3)


@compiled
def rising_own(
    data: Array, indices: Array, indptr: Array, start: int, alpha: Array, codes: Array, weight: Array, found: Array
) -> None:
    """As :func:`rising` at a row's own class, α less ``weight`` times the row's own counts; ``found`` is (row,)."""
    for i in range(len(found)):
        summed = 0.0
        for k in range(indptr[start + i], indptr[start + i + 1]):
            summed += log_rising(max(alpha[indices[k], codes[i]] - weight[i] * data[k], 0.0), data[k])
        found[i] = summed


@compiled
def log_rising(a: float, t: float) -> float:
    """ln Γ(a + t) - ln Γ(a), as :func:`bayesnb.priors.log_rising`."""
    if t == 0.0:
        return 0.0
    z = a + t
    if a == 0.0:
        return -np.inf
    if t <= 16.0 and t == np.floor(t) and 1e-150 < a < 1e12:
        product = a
        for step in range(1, int(t)):
            product *= a + step
        return log(product)
    if a >= 16.0 and z >= 16.0:
        return (a - 0.5) * log1p(t / a) + t * (log(z) - 1.0) + _stirling(z) - _stirling(a)
    return lgamma(z) - lgamma(a)


@compiled
def _stirling(z: float) -> float:
    w = 1.0 / (z * z)
    return (1 / 12 - w * (1 / 360 - w * (1 / 1260 - w * (1 / 1680 - w / 1188)))) / z


@compiled
def log_factorials(data: Array, indptr: Array, start: int, small: Array, lengths: Array, found: Array) -> None:
    """Σ ln n! of each row of a CSR matrix, and Σ n; ``small`` holds ln n! of the first whole numbers."""
    for i in range(len(found)):
        summed = length = 0.0
        for k in range(indptr[start + i], indptr[start + i + 1]):
            n = data[k]
            length += n
            place = int(n) if n < len(small) else 0
            summed += small[place] if place == n else lgamma(n + 1.0)
        lengths[i], found[i] = length, summed


@compiled
def below_top(joint: Array, found: Array) -> bool:
    """Each row less its largest, and whether every row has one above -inf."""
    possible = True
    for i in range(len(joint)):
        row = joint[i]
        top = row[0]
        for c in range(1, len(row)):
            top = max(top, row[c])
        possible &= top > -np.inf
        for c in range(len(row)):
            found[i, c] = row[c] - top
    return possible


# Reading tables


@compiled
def zeros_and_ones(x: Array, found: Array) -> bool:
    """The cells as bytes, and whether all of them are 0 or 1."""
    odd = 0
    for i in range(len(x)):
        row, out = x[i], found[i]
        for j in range(len(row)):
            one = 1.0 if row[j] == 1.0 else 0.0
            odd += row[j] != one
            out[j] = np.uint8(one)
    return odd == 0


@compiled
def counts(data: Array) -> bool:
    """Whether all are whole numbers, finite and not negative."""
    # Beside 2^52 a float has no fraction left; from there on it never had one.
    top, odd = 4503599627370496.0, 0
    for i in range(len(data)):
        v = data[i]
        whole = ((v + top) - top == v) | (v >= top)
        odd += 0 if whole & (v >= 0.0) & (v < np.inf) else 1
    return odd == 0


@compiled
def bits(x: Array) -> tuple[Array, bool]:
    """One bit for each value from 0 to 63 that a column holds, and whether all its values are such."""
    found, other = np.zeros(x.shape[1], np.int64), np.int64(0)
    for i in range(len(x)):
        for j in range(x.shape[1]):
            v = x[i, j]
            found[j] |= np.int64(1) << (v & 63)
            other |= v & ~63
    return found, other == 0


@compiled
def bounds(x: Array) -> tuple[Array, Array]:
    """Smallest and largest of each column of whole numbers."""
    low, high = x[0].copy(), x[0].copy()
    for i in range(1, len(x)):
        for j in range(x.shape[1]):
            v = x[i, j]
            low[j] = min(low[j], v)
            high[j] = max(high[j], v)
    return low, high


@compiled
def marks(x: Array, low: Array, found: Array) -> None:
    """Mark in ``found`` (column, place) which values a column holds, counted from its smallest."""
    for i in range(len(x)):
        for j in range(x.shape[1]):
            found[j, x[i, j] - low[j]] = True


@compiled
def places(x: Array, low: Array, table: Array, found: Array) -> None:
    """The code of each cell, as ``table`` (column, place) has it; a value off the table has code -1."""
    for i in range(len(x)):
        for j in range(x.shape[1]):
            place = x[i, j] - low[j]
            found[i, j] = table[j, place] if 0 <= place < table.shape[1] else -1
