"""Sums that keep about 150 bits, where the 53 bits of one float would cancel.

A number is carried as an *expansion*: the unevaluated sum of three floats, the largest first, along the last axis.
Start with :func:`distilled`, which makes one of any number of terms. Everything here rests on two facts: the rounding
error of a sum and that of a product of two floats are floats themselves (Knuth, TAOCP 4.2.2; Dekker 1971).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from bayesnb.kernels.blocks import Array

PARTS = 3
"""Floats of an expansion."""

TINY, HUGE = 2.0**-450, 2.0**450
"""The squares of floats between these have rounding errors that are floats too, and so have their sums."""


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """a + b as its rounded sum and the rounding error (Knuth, TAOCP 4.2.2)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """a b as its rounded product and the rounding error (Dekker 1971); a and b are below 2^990."""
    product = a * b
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def _halves(a: Array) -> tuple[Array, Array]:
    """A float as the sum of two of at most 26 bits (Veltkamp 1968)."""
    scaled = 134_217_729.0 * a
    high = scaled - (scaled - a)
    return high, a - high


def distilled(terms: Iterable[Array], shape: tuple[int, ...]) -> tuple[Array, Array]:
    """The sum of terms of one shape as an expansion (..., part), and the size of what it lacks.

    A pass replaces each two neighbours by their sum and its rounding error, from the last to the first, and so changes
    nothing in the sum of them all (Ogita, Rump and Oishi 2005). Where the terms cancel, the first pass leaves a small
    number before large ones. The second pass puts the first float right, the third the second, the fourth the third.
    """
    found = [term for term in terms if term.any()]
    for done in (0, 0, 1, 2):
        for k in range(len(found) - 1, done, -1):
            found[k - 1], found[k] = two_sum(found[k - 1], found[k])
    expansion, lost = np.zeros((*shape, PARTS)), np.zeros(shape)
    for k, term in enumerate(found):
        if k < PARTS:
            expansion[..., k] = term
        else:
            lost += np.abs(term)
    return expansion, lost


def power_sums(x: Array, codes: Array, weight: Array, n: int) -> tuple[Array, Array]:
    """Σ w, Σ w x and Σ w x² of each class, (class, column, power, part), without rounding.

    Each term is cut into slices of so few bits that any sum of them is exact: added to and taken from a large power of
    two, a float keeps only the bits above the last one of that power (Rump, Ogita and Oishi 2008).

    Parameters
    ----------
    x : array (row, column)
        NaN adds nothing. Sums with a number above 2^450 are NaN; of one below 2^-450 some digits are lost.
    codes : int array (row,)
    weight : array (row,)
    n : int
        Number of classes.

    Returns
    -------
    sums : array (class, column, 3, part)
    lost : array (class, column)
        The size of what the expansion of Σ w x² lacks: 0 where it is exact.
    """
    order = np.argsort(codes, kind="stable")
    x, weight, first = x[order], weight[order, None], np.flatnonzero(np.diff(codes[order], prepend=-1))
    present = codes[order[first]]

    def by_class(cells: Array) -> Array:
        total = np.zeros((n, cells.shape[1]))
        total[present] = np.add.reduceat(cells, first, axis=0)
        return total

    known = ~np.isnan(x)
    v, w = np.where(known, x, 0.0), np.where(known, weight, 0.0)
    huge = np.abs(v) > HUGE
    v[huge] = 0.0
    powers = [[w], [v], two_product(v, v)]
    if not (weight == 1).all():
        powers = [[w], *([part for term in terms for part in two_product(term, w)] for terms in powers[1:])]
    rest, bits, slices = np.concatenate([term for terms in powers for term in terms], axis=1), len(x).bit_length(), []
    while (top := np.abs(rest).max(axis=0, initial=0.0)).any():
        grid = np.ldexp(1.0, np.frexp(top)[1] + bits + 1)
        cut = (rest + grid) - grid
        slices.append(by_class(cut).reshape(n, -1, x.shape[1]))
        rest = rest - cut
    found, lost, start = np.zeros((n, x.shape[1], 3, PARTS)), np.zeros((n, x.shape[1])), 0
    for power, terms in enumerate(powers):
        own = (cut[:, start + k] for cut in slices for k in range(len(terms)))
        found[:, :, power], lost = distilled(own, lost.shape)
        start += len(terms)
    # The rounding error of a square below 2^-900 may be too small for a float.
    tiny = (v != 0) & (np.abs(v) < TINY)
    if tiny.any():
        lost += TINY**2 * by_class(tiny.astype(float))
    if huge.any():
        found[by_class(huge.astype(float)) > 0, 1:] = np.nan
    return found, lost
