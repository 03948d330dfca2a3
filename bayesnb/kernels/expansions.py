"""Sums that keep about 150 bits, where the 53 bits of one float would cancel.

A number is carried as an *expansion*: the unevaluated sum of three floats, the largest first, along the last axis.
Start with :func:`distilled`, which makes one of any number of terms. Everything here rests on two facts: the rounding
error of a sum and that of a product of two floats are floats themselves (Knuth, TAOCP 4.2.2; Dekker 1971).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bayesnb.kernels import sums
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


def _rounds(terms: Array, n: int) -> list[Array]:
    """The sum of the terms as ``n`` floats, and all that these lack as further terms.

    Each round adds the terms in pairs and keeps the rounding errors, which are the terms of the next round.
    """
    found = []
    for _ in range(n):
        errors = []
        while len(terms) > 1:
            odd = terms[-1:] if len(terms) % 2 else terms[:0]
            even = len(terms) - len(odd)
            total, error = two_sum(terms[:even:2], terms[1:even:2])
            errors.append(error)
            terms = np.concatenate([total, odd])
        found.append(terms[0])
        if not errors:
            return found
        terms = np.concatenate(errors)
    return [*found, *terms]


def distilled(terms: Sequence[Array]) -> tuple[Array, Array]:
    """The sum of the terms as an expansion (..., part), and the size of what it lacks.

    Parameters
    ----------
    terms : sequence of arrays of one shape
        Where they cancel, the first rounds leave small numbers behind large ones: later rounds set them in order.
    """
    terms = np.stack(np.broadcast_arrays(*terms))
    for _ in range(2):
        terms = np.stack(_rounds(terms, PARTS + 2))
    found = []
    for _ in range(PARTS):
        head, *rest = _rounds(terms, 1)
        found.append(head)
        terms = np.stack(rest) if rest else np.zeros((1, *head.shape))
    return np.stack(found, axis=-1), np.abs(terms).sum(axis=0)


def evaluated(terms: Sequence[Array]) -> Array:
    """The sum of the terms as one float: it has all its digits where the terms cancel to 1e-48 of their size."""
    found = _rounds(np.stack(_rounds(np.stack(np.broadcast_arrays(*terms)), PARTS + 1)), PARTS)
    return sum(found[::-1])


def parts_of(expansion: Array) -> list[Array]:
    """The terms of an expansion."""
    return list(np.moveaxis(expansion, -1, 0))


def products(expansion: Array, factor: Array) -> list[Array]:
    """The terms of an expansion times a float."""
    return [term for part in parts_of(expansion) if part.any() for term in two_product(part, factor)]


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
    known = ~np.isnan(x)
    v, w = np.where(known, x, 0.0), np.where(known, weight[:, None], 0.0)
    huge = np.abs(v) > HUGE
    v[huge] = 0.0
    square = two_product(v, v)
    if (weight == 1).all():
        powers = [[w], [v], [*square]]
    else:
        powers = [[w], [*two_product(w, v)], [term for part in square for term in two_product(w, part)]]
    found = np.zeros((n, x.shape[1], len(powers), PARTS))
    lost = np.zeros((n, x.shape[1]))
    for power, terms in enumerate(powers):
        exact = [total for term in terms for total in _sliced(term, codes, n)]
        if exact:
            found[:, :, power], lost = distilled(exact)
    # The rounding error of a square below 2^-900 may be too small for a float.
    tiny = (v != 0) & (np.abs(v) < TINY)
    if tiny.any():
        lost += TINY**2 * sums.totals(tiny.astype(float), codes, np.ones(len(v)), n)
    if huge.any():
        found[sums.totals(huge.astype(float), codes, np.ones(len(v)), n) > 0, 1:] = np.nan
    return found, lost


def _sliced(term: Array, codes: Array, n: int) -> list[Array]:
    """Sums by class, (class, column), that add up to that of a term (row, column) without rounding."""
    if len(term) == 1 and n == 1:
        return [term] if term.any() else []
    found, ones, bits = [], np.ones(len(term)), len(term).bit_length()
    while (top := np.abs(term).max(axis=0, initial=0.0)).any():
        grid = np.ldexp(1.0, np.frexp(top)[1] + bits + 1)
        cut = (term + grid) - grid
        found.append(sums.totals(cut, codes, ones, n))
        term = term - cut
    return found
