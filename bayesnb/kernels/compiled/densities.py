"""Loops that answer rows by class."""

from __future__ import annotations

from math import lgamma, log, log1p

import numpy as np

from bayesnb.kernels.blocks import Array
from bayesnb.kernels.compiled import compiled, compiled_sum

TILE = 64
"""Rows that one step of a loop over columns takes at once, side by side in the processor's vector."""


@compiled
def excess(
    x: Array, order: Array, run: Array, location: Array, low: Array, scale: Array, top: Array, product: Array,
    lead: Array,
) -> None:  # fmt: skip
    """∏ (1 + z²) - 1 over the columns of each run, and Σ top over all, of columns that are not missing.

    The product is carried less 1, which keeps every digit where z is small; a logarithm of it replaces one a cell.

    Parameters
    ----------
    x : array (row, column)
    order, run : int arrays (class, column)
        The columns of each class by run, and the run of each.
    location, low, scale, top : arrays (class, column)
        In that order. z is (x - location - low) scale.
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
                cells, m, rest, s, t = tile[order[c, k]], location[c, k], low[c, k], scale[c, k], top[c, k]
                if gaps:
                    for r in range(TILE):
                        v = cells[r]
                        known = v == v
                        z = ((v - m) - rest) * s if known else 0.0
                        carried[r] += z * z * (1.0 + carried[r])
                        summed[r] += t if known else 0.0
                else:
                    whole += t
                    for r in range(TILE):
                        z = ((cells[r] - m) - rest) * s
                        carried[r] += z * z * (1.0 + carried[r])
                if k + 1 == columns or run[c, k + 1] != run[c, k]:
                    for r in range(width):
                        product[start + r, run[c, k], c] = carried[r]
                    carried[:] = 0.0
            for r in range(width):
                lead[start + r, c] = summed[r] + whole


@compiled
def shortfall(
    x: Array, codes: Array, order: Array, run: Array, location: Array, low: Array, scale: Array, top: Array,
    product: Array, lead: Array,
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
                z = ((v - location[c, k]) - low[c, k]) * scale[c, k]
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
def squares(x: Array, location: Array, low: Array, scale: Array, top: Array, found: Array) -> None:
    """Σ_j top - z²/2, (row, class), of columns that are not missing, with z = (x - location - low) scale."""
    for i in range(len(x)):
        for c in range(len(location)):
            summed = 0.0
            for j in range(x.shape[1]):
                v = x[i, j]
                if v == v:
                    z = ((v - location[c, j]) - low[c, j]) * scale[c, j]
                    summed += top[c, j] - 0.5 * z * z
            found[i, c] = summed


@compiled_sum
def products(x: Array, table: Array, found: Array) -> None:
    """Σ_j x_j table_j, (row, class); ``table`` is (class, column).

    Four rows at a time share what is read of the table, which need not fit in the cache.
    """
    last = len(x) - 1
    for i in range(0, len(x), 4):
        r0, r1, r2, r3 = x[i], x[min(i + 1, last)], x[min(i + 2, last)], x[min(i + 3, last)]
        for c in range(len(table)):
            weights = table[c]
            s0 = s1 = s2 = s3 = 0.0
            for j in range(len(weights)):
                w = weights[j]
                s0 += r0[j] * w
                s1 += r1[j] * w
                s2 += r2[j] * w
                s3 += r3[j] * w
            found[i, c] = s0
            # Past the last row these are the last row's again.
            found[min(i + 1, last), c] = s1
            found[min(i + 2, last), c] = s2
            found[min(i + 3, last), c] = s3


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
                if place >= 0 and place + 1 == n:
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
    if 0.0 < t <= 16.0 and t == np.floor(t) and 1e-150 < a < 1e12:
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
    """Σ ln n! of each row of a CSR matrix, and Σ n; ``small`` holds ln n! of the first whole numbers.

    Of a row with a number that is negative or not finite, NaN. As ln n! = ln 2 + … + ln n, the sum follows for most
    rows from how many words come at least twice, three and four times, which needs no look-up.
    """
    for i in range(len(found)):
        row = data[indptr[start + i] : indptr[start + i + 1]]
        lengths[i], twos, threes, fours, more, fractions, odd = _at_least(row)
        if fractions:
            summed = 0.0
            for k in range(len(row)):
                summed += lgamma(row[k] + 1.0)
            found[i] = np.nan if odd else summed
            continue
        summed = twos * small[2] + threes * (small[3] - small[2]) + fours * (small[4] - small[3])
        if more:
            for k in range(len(row)):
                n = row[k]
                if n > 4.0:
                    summed += (small[np.uintp(n)] if n < len(small) else lgamma(n + 1.0)) - small[4]
        found[i] = np.nan if odd else summed


@compiled_sum
def _at_least(row: Array) -> tuple[float, float, float, float, bool, bool, bool]:
    """Σ n; how many are 2, 3 and 4 or more; whether one is more than 4, one a fraction, one negative or not finite."""
    length = twos = threes = fours = more = fractions = odd = 0.0
    for k in range(len(row)):
        n = row[k]
        length += n
        twos += 1.0 if n >= 2.0 else 0.0
        threes += 1.0 if n >= 3.0 else 0.0
        fours += 1.0 if n >= 4.0 else 0.0
        more += 1.0 if n > 4.0 else 0.0
        fractions += 0.0 if n == np.floor(n) else 1.0
        odd += 0.0 if (n >= 0.0) & (n < np.inf) else 1.0
    return length, twos, threes, fours, more > 0.0, fractions > 0.0, odd > 0.0


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


@compiled_sum
def shares(powers: Array) -> None:
    """Divide each row by its sum."""
    for i in range(len(powers)):
        row, total = powers[i], 0.0
        for c in range(len(row)):
            total += row[c]
        for c in range(len(row)):
            row[c] /= total


@compiled_sum
def others(powers: Array, found: Array) -> None:
    """Sum of each row without one of its largest, which are 1."""
    for i in range(len(powers)):
        row, total, tops = powers[i], 0.0, -1
        for c in range(len(row)):
            total += 0.0 if row[c] == 1.0 else row[c]
            tops += row[c] == 1.0
        found[i] = total + tops
