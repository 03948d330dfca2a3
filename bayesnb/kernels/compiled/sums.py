"""Loops that sum over rows by class."""

from __future__ import annotations

import numpy as np

from bayesnb.kernels.blocks import Array
from bayesnb.kernels.compiled import compiled, rounded_once

# Each sum is carried as two floats: the second gathers what rounding takes from the first (Ogita, Rump, Oishi 2005). So
# the squares of ordinary rows keep their digits beside that of a row 1e9 spreads out, which may be unlearned later. All
# is summed about one value of the class, where the digits of the location are out of the way, and where a column of
# equal values has sums of exactly 0. A loop makes the array that it adds to, because only then the compiler knows that
# it overlaps no other, and adds several columns at once.


@compiled
def moments(x: Array, codes: Array, weight: Array, n_classes: int) -> Array:
    """Σ w, a value v, Σ w (x - v) and Σ w (x - v)² of each class, (class, 8, column).

    The parts stand in the order weight, rest of it, v, first sum, rest of it, second sum, rest of it, and last is the
    weight of the values other than 0.
    """
    near = _values(x, codes, weight, n_classes)
    whole, found = _of_whole_rows(x, codes, weight, near)
    return found if whole else _of_weighed_cells(x, codes, weight, near)


@compiled
def _values(x: Array, codes: Array, weight: Array, n_classes: int) -> Array:
    """A value of each class that counts, (class, column); 0 where there is none."""
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


@compiled
def _of_whole_rows(x: Array, codes: Array, weight: Array, near: Array) -> tuple[bool, Array]:
    """The sums of rows of weight 1 without a missing cell, and whether the rows are all of this kind."""
    found = np.zeros((len(near), 8, x.shape[1]))
    for i in range(len(x)):
        if weight[i] != 1.0:
            return False, found
        c = codes[i]
        n, _, _, first, first_rest, second, second_rest, nonzero = found[c]
        centre = near[c]
        n[0] += 1.0
        for j in range(x.shape[1]):
            nonzero[j] += 1.0 if x[i, j] != 0.0 else 0.0
            away, low = _two_sum(x[i, j], -centre[j])
            square = away * away
            first[j], error = _two_sum(first[j], away)
            first_rest[j] += error + low
            second[j], error = _two_sum(second[j], square)
            second_rest[j] += error + (rounded_once(away, away, -square) + 2.0 * away * low)
    whole = True
    for c in range(len(near)):
        found[c, 0] = found[c, 0, 0]
        found[c, 2] = near[c]
        for j in range(x.shape[1]):
            whole &= not np.isnan(found[c, 3, j])
    return whole, found


@compiled
def _of_weighed_cells(x: Array, codes: Array, weight: Array, near: Array) -> Array:
    """The same of any weights; a missing cell adds nothing."""
    found = np.zeros((len(near), 8, x.shape[1]))
    for i in range(len(x)):
        c, w = codes[i], weight[i]
        n, n_rest, _, first, first_rest, second, second_rest, nonzero = found[c]
        centre = near[c]
        for j in range(x.shape[1]):
            v = x[i, j]
            known = v == v
            away, low = _two_sum(v if known else centre[j], -centre[j])
            pull = w * away
            pull_low = rounded_once(w, away, -pull) + w * low
            square = pull * away
            rest = rounded_once(pull, away, -square)
            n[j], error = _two_sum(n[j], w if known else 0.0)
            n_rest[j] += error
            nonzero[j] += w if known and v != 0.0 else 0.0
            first[j], error = _two_sum(first[j], pull)
            first_rest[j] += error + pull_low
            second[j], error = _two_sum(second[j], square)
            second_rest[j] += error + (rest + (pull * low + pull_low * away))
    found[:, 2] = near
    return found


@compiled
def _two_sum(a: float, b: float) -> tuple[float, float]:
    """a + b as its rounded sum and the rounding error (Knuth, TAOCP 4.2.2)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


@compiled
def weights(codes: Array, weight: Array, found: Array) -> None:
    """Weight of each class, added to ``found`` (4, class).

    Every fourth row is added to a sum of its own, so that an addition need not wait for the one before it.
    """
    for i in range(len(codes)):
        found[i & 3, codes[i]] += weight[i]


@compiled
def totals(x: Array, codes: Array, weight: Array, found: Array) -> None:
    """Σ w x of each class, added to ``found`` (class, column)."""
    for i in range(len(x)):
        row, w = found[codes[i]], weight[i]
        for j in range(x.shape[1]):
            row[j] += w * x[i, j]


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
    """Weight of each level, added to ``found`` (class, column, level); a code of -1 adds nothing."""
    n_levels = np.uintp(found.shape[2])
    for i in range(len(levels)):
        table, w = found[codes[i]], weight[i]
        for j in range(levels.shape[1]):
            # As an unsigned number -1 is larger than every level, and no index can count from the end.
            level = np.uintp(levels[i, j])
            if level < n_levels:
                table[j, level] += w
