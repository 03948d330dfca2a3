"""Rows by class, from log joint densities to class probabilities."""

from __future__ import annotations

from functools import reduce
from math import exp, log

import numpy as np

from bayesnb.kernels import blocks
from bayesnb.kernels.blocks import Array, loop, loop_in_any_order


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
    """Probabilities along the last axis, or with ``logs`` their logarithms; ``None`` where all of a row is -inf.

    ``joint`` holds their logarithms, up to a constant for each row. The largest is subtracted first: beside a joint of
    -1e17, the logarithm of the sum would be lost to rounding. Then log1p of the sum of the other powers keeps the
    digits of a row that is all but certain.
    """
    if not blocks.large_enough(joint.size):
        top = over_last(np.maximum, joint)
        if np.isneginf(top).any():
            return None
        below = joint - top
        powers = np.exp(below)
        if not logs:
            return powers / over_last(np.add, powers)
        np.put_along_axis(powers, below.argmax(-1)[..., None], 0.0, -1)
        return below - np.log1p(over_last(np.add, powers))
    rows = joint.reshape(-1, joint.shape[-1])
    found = np.empty(rows.shape)

    def part(cut: slice) -> bool:
        below = found[cut]
        if not _below_top(blocks.contiguous(rows[cut]), below):
            return False
        powers = np.exp(below, out=None if logs else below)
        if logs:
            below -= np.log1p(_sums_of_others(powers))[:, None]
        else:
            _shares(powers)
        return True

    possible = all(blocks.each(part, blocks.cuts(*rows.shape)))
    return found.reshape(joint.shape) if possible else None


@loop
def _below_top(joint: Array, found: Array) -> bool:
    """Write each row less its largest; whether every row has one above -inf."""
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


@loop_in_any_order
def _shares(powers: Array) -> None:
    """Divide each row by its sum."""
    for i in range(len(powers)):
        row, total = powers[i], 0.0
        for c in range(len(row)):
            total += row[c]
        for c in range(len(row)):
            row[c] /= total


@loop_in_any_order
def _sums_of_others(powers: Array) -> Array:
    """Sum of each row without one of its largest, which are 1."""
    found = np.empty(len(powers))
    for i in range(len(powers)):
        row, total, tops = powers[i], 0.0, -1
        for c in range(len(row)):
            total += 0.0 if row[c] == 1.0 else row[c]
            tops += row[c] == 1.0
        found[i] = total + tops
    return found


def averaged(terms: Array, offset: Array, cells: Array | None, v: Array) -> Array:
    """ln of the mean over draws of p(c | row, draw), (row, class).

    A probability below about 1e-308 is given as 0, whose logarithm is -inf.

    Parameters
    ----------
    terms : array (row, class, term)
    offset : array (row, class)
    cells : int array (row, column), optional
    v : array (draw, class, term + cell + 1)
    """
    cells = np.empty((len(terms), 0), np.intp) if cells is None else cells
    draws_last = blocks.contiguous(np.moveaxis(v, 0, -1))

    def part(cut: slice, found: Array) -> None:
        own = (terms[cut], offset[cut], cells[cut])
        _averaged(*map(blocks.contiguous, own), draws_last, found)

    return blocks.written(np.empty(offset.shape), part, blocks.cuts(len(terms), v[0].size))


@loop_in_any_order
def _averaged(terms: Array, offset: Array, cells: Array, v: Array, found: Array) -> None:
    """Write ln of the mean over draws of p(c | row, draw) ∝ exp(o_c + Σ_t v_ct s_ct + Σ_k b_ck + b_c).

    The draws of one row lie side by side, so that each term of it is one step of vector instructions, and nothing that
    has a number for each row and draw is ever in memory.

    Parameters
    ----------
    terms : array (row, class, term)
    offset : array (row, class)
    cells : int array (row, column)
        Which of the b_ck are added; -1 adds none.
    v : array (class, term + cell + 1, draw)
        The exponents v_ct, behind them b_ck, and last b_c.
    found : array (row, class)
    """
    rows, classes, n = terms.shape
    draws = v.shape[2]
    joint, total = np.empty((classes, draws)), np.empty(classes)
    for r in range(rows):
        for c in range(classes):
            own, last = joint[c], v[c, -1]
            for d in range(draws):
                own[d] = offset[r, c] + last[d]
            for t in range(n):
                s, power = terms[r, c, t], v[c, t]
                for d in range(draws):
                    own[d] += s * power[d]
            for k in range(cells.shape[1]):
                if cells[r, k] >= 0:
                    added = v[c, n + cells[r, k]]
                    for d in range(draws):
                        own[d] += added[d]
            total[c] = 0.0
        for d in range(draws):
            top = joint[0, d]
            for c in range(1, classes):
                top = max(top, joint[c, d])
            size = 0.0
            for c in range(classes):
                joint[c, d] = exp(joint[c, d] - top)
                size += joint[c, d]
            for c in range(classes):
                total[c] += joint[c, d] / size
        for c in range(classes):
            found[r, c] = log(total[c] / draws)
