"""Loops that sum over rows by class."""

from __future__ import annotations

import numpy as np

from bayesnb.kernels.blocks import Array
from bayesnb.kernels.compiled import NEAR, compiled
from bayesnb.kernels.compiled.reading import binary


@compiled
def moments(x: Array, codes: Array, weight: Array, n_classes: int, chunk: int) -> Array:
    """Weight, mean as high and low part, and scatter, as (4, class, column), from one reading of memory.

    Rows are taken ``chunk`` at a time. A chunk is summed about the mean of what came before it, so its squares lose no
    digit that the whole has; a class of which little came before is first given the mean of its own chunk, which is
    then read again, from the cache. Chan, Golub and LeVeque (1983) join the chunks.
    """
    rows, columns = x.shape
    whole = np.zeros((4, n_classes, columns))
    # Centre, weight, sum and sum of squares of the chunk.
    part = np.zeros((n_classes, 4, columns))
    total = np.empty(n_classes)
    thin = np.empty(n_classes, np.bool_)
    gaps = False
    for start in range(0, rows, chunk):
        stop = min(start + chunk, rows)
        total[:] = 0.0
        for i in range(start, stop):
            total[codes[i]] += weight[i]
        some_thin = False
        for c in range(n_classes):
            thin[c] = False
            for j in range(columns):
                part[c, 0, j] = whole[1, c, j]
                thin[c] |= total[c] > 8.0 * whole[0, c, j]
            some_thin |= thin[c]
        if some_thin:
            _centre(x, codes, weight, start, stop, thin, part)
        # Where one cell is missing, others usually are: the later chunks are summed by the slower loop at once.
        gaps = gaps or not _all_known(x, codes, weight, start, stop, total, part)
        if gaps:
            _known(x, codes, weight, start, stop, part)
        _join(whole, part)
    return whole


@compiled
def _all_known(x: Array, codes: Array, weight: Array, start: int, stop: int, total: Array, part: Array) -> bool:
    """The sums of a chunk of which no cell is missing; whether that is so."""
    for c in range(len(part)):
        part[c, 1] = total[c]
        part[c, 2:] = 0.0
    for i in range(start, stop):
        cells, w = part[codes[i]], weight[i]
        centre, first, second = cells[0], cells[2], cells[3]
        for j in range(len(centre)):
            away = x[i, j] - centre[j]
            first[j] += w * away
            second[j] += w * away * away
    for c in range(len(part)):
        for j in range(part.shape[2]):
            if np.isnan(part[c, 2, j]):
                return False
    return True


@compiled
def _known(x: Array, codes: Array, weight: Array, start: int, stop: int, part: Array) -> None:
    """The sums of a chunk over the cells that are not missing."""
    part[:, 1:] = 0.0
    for i in range(start, stop):
        cells, w = part[codes[i]], weight[i]
        centre, n, first, second = cells
        for j in range(len(centre)):
            v = x[i, j]
            known = v == v
            away = v - centre[j] if known else 0.0
            here = w if known else 0.0
            n[j] += here
            first[j] += here * away
            second[j] += here * away * away


@compiled
def _centre(x: Array, codes: Array, weight: Array, start: int, stop: int, thin: Array, part: Array) -> None:
    """The mean of a chunk as its centre, for classes of which too little came before."""
    part[:, 1:] = 0.0
    for i in range(start, stop):
        if thin[codes[i]]:
            cells, w = part[codes[i]], weight[i]
            for j in range(x.shape[1]):
                v = x[i, j]
                if v == v:
                    if cells[1, j] == 0.0:
                        cells[0, j] = v
                    cells[1, j] += w
                    cells[2, j] += w * (v - cells[0, j])
    for c in range(len(part)):
        if thin[c]:
            for j in range(x.shape[1]):
                if part[c, 1, j] > 0.0:
                    part[c, 0, j] += part[c, 2, j] / part[c, 1, j]


@compiled
def _join(whole: Array, part: Array) -> None:
    """Add a chunk to what came before, the mean in two parts."""
    for c in range(len(part)):
        for j in range(part.shape[2]):
            more = part[c, 1, j]
            if more == 0.0:
                continue
            n, mean, low = whole[0, c, j], whole[1, c, j], whole[2, c, j]
            step = part[c, 2, j] / more
            gap = (part[c, 0, j] - mean) + (step - low)
            both = n + more
            if n >= more:
                base, rest = mean, low + gap * (more / both)
            else:
                base, rest = part[c, 0, j], step - gap * (n / both)
            # The rounded sum and its rounding error (Knuth, TAOCP 4.2.2).
            high = base + rest
            left = high - base
            whole[0, c, j] = both
            whole[1, c, j] = high
            whole[2, c, j] = (base - (high - left)) + (rest - left)
            scatter = part[c, 3, j] - part[c, 2, j] * step
            whole[3, c, j] += max(scatter, 0.0) + gap * (gap * (n * (more / both)))


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
def ones(x: Array, codes: Array, weight: Array, found: Array) -> bool:
    """As :func:`totals`, of cells that are 0 or 1; whether all of them are."""
    step = max(1, NEAR // x.shape[1])
    for start in range(0, len(x), step):
        stop = start + step
        if not binary(x[start:stop]):
            return False
        totals(x[start:stop], codes[start:stop], weight[start:stop], found)
    return True


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
