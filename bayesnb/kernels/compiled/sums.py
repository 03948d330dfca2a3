"""Loops that sum over rows by class."""

from __future__ import annotations

import numpy as np

from bayesnb.kernels import two_floats
from bayesnb.kernels.blocks import Array
from bayesnb.kernels.compiled import compiled, rounded_once

_two_sum = compiled(two_floats.two_sum)

# Each sum is carried as two floats: the second gathers what rounding takes from the first (Ogita, Rump, Oishi 2005). So
# the squares of ordinary rows keep their digits beside that of a row 1e9 spreads out, which may be unlearned later. All
# is summed about one value of the class, where the digits of the location are out of the way, and where a column of
# equal values has sums of exactly 0. A loop makes the array that it adds to, because only then the compiler knows that
# it overlaps no other, and adds several columns at once.

WIDE = 16
"""So many columns or more are filled up to a multiple of the eight that are added at once."""


@compiled
def values(x: Array, codes: Array, weight: Array, n_classes: int) -> Array:
    """The first value of each class that counts, (class, column); 0 where there is none."""
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
def moments(x: Array, codes: Array, weight: Array | None, near: Array) -> Array:
    """Σ w, v, Σ w (x - v), Σ w (x - v)² and the weight of values other than 0, of each class, (class, 8, column).

    ``near`` are the values v. Each sum is followed by its rest. Without ``weight``, all rows have the weight 1 and no
    missing cell; a missing cell makes the sums NaN, and with ``weight`` it adds nothing.
    """
    columns = x.shape[1]
    found = np.zeros((len(near), 8, columns if columns < WIDE else -(-columns // 8) * 8))
    found[:, 2, :columns] = near
    line = np.zeros(found.shape[2])
    for i in range(len(x)):
        n, n_rest, centre, first, first_rest, second, second_rest, nonzero = found[codes[i]]
        if weight is None:
            n[0] += 1.0
        for j in range(columns):
            line[j] = x[i, j]
        for j in range(len(line)):
            v, w = line[j], 1.0
            if weight is None:
                away, low = _two_sum(v, -centre[j])
                pull, pull_low = away, low
            else:
                known = v == v
                w = weight[i] if known else 0.0
                away, low = _two_sum(v if known else centre[j], -centre[j])
                pull = w * away
                pull_low = rounded_once(w, away, -pull) + w * low
                n[j], error = _two_sum(n[j], w)
                n_rest[j] += error
            square = pull * away
            rest = rounded_once(pull, away, -square) + (pull * low + pull_low * away)
            first[j], error = _two_sum(first[j], pull)
            first_rest[j] += error + pull_low
            second[j], error = _two_sum(second[j], square)
            second_rest[j] += error + rest
            nonzero[j] += w if v != 0.0 else 0.0
    if weight is None:
        for c in range(len(near)):
            found[c, 0] = found[c, 0, 0]
    return found[:, :, :columns]


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
