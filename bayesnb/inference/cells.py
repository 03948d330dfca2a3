"""Cells whose log moments are computed at many exponents: terms without the exponent are computed once.

Start with :func:`prepared`, which puts the columns of levels, of zeros and ones, and of real numbers side by side, for
compiled loops that give a log moment with its two derivatives. The other columns stay as they are. What comes back is
read in the same way as the families and their encoded columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesnb.families.columns import LEVELS, ZEROS_AND_ONES, known_cells
from bayesnb.families.conjugate import Conjugate
from bayesnb.kernels import cumulants
from bayesnb.numerics import Array, stirling
from bayesnb.priors import Beta, NormalGamma, Prior


@dataclass(frozen=True, eq=False)
class Chances:
    """The cells of columns of one trial, and the posterior concentration of each outcome, (class, column, 3)."""

    def cumulants(self, total: Array, own: Array, t: Array) -> Array:
        """ln E[θ^t] with its derivatives, (3, row, class)."""
        return cumulants.chances(own, total, t)

    def moment_floor(self, total: Array, own: Array) -> Array:
        """The t above which it exists, (row, class)."""
        return -np.fmin.reduce(own[..., 0], axis=-1, initial=np.inf)


@dataclass(frozen=True, eq=False)
class Reals:
    """The cells of columns of real numbers, (x - m)² / (2b), and the posterior of each."""

    def cumulants(self, believed: tuple[Array, Array, Array], away: Array, t: Array) -> Array:
        """ln E[p(x | μ, τ)^t] with its derivatives, (3, row, class)."""
        return cumulants.normal_gammas(away, *believed, t)

    def moment_floor(self, believed: tuple[Array, Array, Array], away: Array) -> Array:
        """The t above which it exists, (row, class)."""
        shape, kappa, _ = believed
        each = -np.minimum(2 * shape[..., 0], kappa / (1 + kappa * away))
        return np.fmax.reduce(each, axis=-1, initial=-np.inf)


def prepared(factors: Sequence[tuple[Any, Prior, Any]]) -> list[tuple[Any, Any, Any]]:
    """The same factors, with the columns of one kind side by side."""
    others: list[tuple[Any, Any, Any]] = []
    trials: list[tuple[Array, Array]] = []
    reals: list[tuple[Array, ...]] = []
    for family, believed, x in factors:
        if not isinstance(family, Conjugate) or family.whole_rows:
            others.append((family, believed, x))
            continue
        belief, d, log_h = family.cells(believed, x)
        known = np.broadcast_to(known_cells(x), (len(x), 1, believed.proper().shape[1]))
        if isinstance(belief, Beta) and family.support in (ZEROS_AND_ONES, LEVELS):
            # A trial that is not a 1 is a 0, which only zeros and ones have.
            own = np.where(d[0] == 1, belief.alpha, belief.beta) if d else belief.alpha
            trials.append((np.where(known, own, np.nan), believed.total))
            continue
        if isinstance(belief, NormalGamma):
            with np.errstate(all="ignore"):
                away = np.where(known, belief.gap(*d[1:3]) ** 2 / (2 * belief.b), np.nan)
                base = log_h - 0.5 * np.log(belief.b)
            # A base measure of its own for each cell, as that of LogNormal, has no place in the loop.
            if base.ndim == 2 and not np.isinf(away).any():
                reals.append((away, belief.a, belief.kappa, base))
                continue
        others.append((family, believed, x))
    if trials:
        own, total = (np.concatenate(each, axis=-1) for each in zip(*trials, strict=True))
        others.append((Chances(), _for_gamma(total), _for_gamma(own)))
    if reals:
        away, a, kappa, base = (np.concatenate(each, axis=-1) for each in zip(*reals, strict=True))
        others.append((Reals(), (_for_gamma(a), kappa, base), away))
    return others


def _for_gamma(a: Array) -> Array:
    """a, ln a and the remainder of Stirling's formula."""
    with np.errstate(all="ignore"):
        return np.stack([a, np.log(a), stirling(a)], axis=-1)
