"""What a NormalWishart leaves to the data: locations, variances, the covariance within classes, and its weight."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy.special import digamma

from bayesnb.kernels.two_floats import two_sum
from bayesnb.numerics import Array, highest, log_rising
from bayesnb.priors import matrices
from bayesnb.priors.belief import positive_scale, spread

type Target = Literal["shared"]

type Seen = tuple[Array, Array, Array, Array]
"""Weight (class,), mean in two parts (class, column) and scatter (class, column, column) of the rows."""

SPREAD = 2.0
"""The standard deviation of the hyperprior of ln dof."""

MOST = 1e6
"""The largest ``dof`` that is learned: more rows make no difference that can be measured."""


def resolved(m: Any, kappa: Array, dof: Any, scale: Any, seen: Seen) -> tuple[Array, ...]:
    """Location, κ, dof, Ψ, the low part of the location, and the share of each row in Ψ, each at its full shape."""
    n, d = seen[0], seen[1].shape[1]
    shape = (len(n), d)
    centre, rest, variance = _pooled(*seen)
    rest = spread(rest, shape) if m is None else np.zeros(shape)
    m, kappa = spread(centre if m is None else m, shape), spread(kappa, (len(n),))
    if not isinstance(scale, str):
        dof = spread(dof, (len(n),))
        if scale is None:
            return m, kappa, dof, dof[:, None, None] * np.diag(variance), rest, np.zeros(len(n))
        return m, kappa, dof, spread(scale, (*shape, d)), rest, np.zeros(len(n))
    target = _within(n, seen[3], variance)
    dof = spread(_learned(m, rest, kappa, target, seen) if dof is None else dof, (len(n),))
    return m, kappa, dof, dof[:, None, None] * target, rest, dof / (n.sum() + d / 2)


def _pooled(n: Array, mean: Array, low: Array, scatter: Array) -> tuple[Array, Array, Array]:
    """Mean in two parts and variance (divisor: the weight) of each whole column, with fallbacks where unknown."""
    total = n.sum()
    share = n / total if total > 0 else np.zeros_like(n)
    near = share @ mean
    away = (mean - near) + low
    step = share @ away
    centre, rest = two_sum(near, step)
    squares = np.diagonal(scatter, axis1=-2, axis2=-1).sum(0) + n @ (away - step) ** 2
    return centre, rest, positive_scale(centre, squares / total if total > 0 else np.full(centre.shape, np.nan))


def _within(n: Array, scatter: Array, variance: Array) -> Array:
    """The covariance within classes, of the rows and of d / 2 imaginary ones that have the pooled variances.

    The imaginary rows have no correlations. Without them, the covariance of d columns in fewer rows is singular, and
    the evidence would trust it all the more.
    """
    imaginary = len(variance) / 2
    return (scatter.sum(0) + imaginary * np.diag(variance)) / (n.sum() + imaginary)


def _learned(m: Array, rest: Array, kappa: Array, target: Array, seen: Seen) -> float:
    """The ``dof`` with the largest evidence times its hyperprior, ln dof ~ Normal(ln d, ``SPREAD``²).

    With Ψ = dof T, the evidence follows from the eigenvalues, relative to T, of S and the shift of the mean: so a value
    of ``dof`` costs O(d) operations.
    """
    n, mean, low, scatter = seen
    d = len(target)
    gap = (mean - m) + (low - rest)
    with np.errstate(invalid="ignore"):
        weight = np.where(n > 0, kappa * n / np.where(n > 0, kappa + n, 1.0), 0.0)
    spreads = scatter + weight[:, None, None] * gap[:, :, None] * gap[:, None, :]
    inverse = matrices.root(target)[1]
    values = np.maximum(np.linalg.eigvalsh(inverse @ spreads @ inverse.T), 0.0)

    def score(log_dof: Array) -> tuple[Array, Array]:
        """The logarithm of evidence times hyperprior, and its slope."""
        dof, away = np.exp(log_dof)[:, None], (log_dof - np.log(d)) / SPREAD
        share, each = values / dof[..., None], (dof[..., None] + np.arange(d)) / 2
        growth, more = np.log1p(share).sum(-1), (share / (1 + share)).sum(-1)
        gammas, rising = log_rising(each, n[:, None] / 2), digamma(each + n[:, None] / 2) - digamma(each)
        value = gammas.sum(-1) - 0.5 * (n * d * np.log(dof) + (dof + d - 1 + n) * growth)
        slope = dof * (rising.sum(-1) - growth) - n * d + (dof + d - 1 + n) * more
        return value.sum(-1) - away**2 / 2, slope.sum(-1) / 2 - away / SPREAD

    return float(np.exp(highest(score, np.log(0.5), np.log(MOST))))
