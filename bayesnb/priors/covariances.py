"""What a NormalWishart leaves to the data: locations, variances, the covariance within classes, and its weight."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy.special import digamma

from bayesnb.numerics import Array, highest, log_rising
from bayesnb.priors import matrices
from bayesnb.priors.belief import positive_scale, spread
from bayesnb.statistics.scatter import Scatter

type Target = Literal["shared"]

SPREAD = 2.0
"""The standard deviation of the hyperprior of ln dof."""

MOST = 1e6
"""The largest ``dof`` that is learned: more rows make no difference that can be measured."""


def resolved(m: Any, kappa: Array, dof: Any, scale: Any, s: Scatter) -> tuple[Array, ...]:
    """Location, κ, dof, Ψ, the low part of the location, and the share of each row in Ψ, each at its full shape."""
    (n_classes, d), n = s.mean.shape, s.n[:, 0]
    centre, low, variance = s.of_columns()
    centre = np.where(np.isfinite(centre), centre, 0.0)
    variance = positive_scale(centre, variance)
    m, low = (centre, low) if m is None else (m, 0.0)
    m, low, kappa = spread(m, (n_classes, d)), spread(low, (n_classes, d)), spread(kappa, (n_classes,))
    if isinstance(scale, str):
        target = _within(s, variance)
        dof = spread(_learned(m, low, kappa, target, s) if dof is None else dof, (n_classes,))
        return m, kappa, dof, dof[:, None, None] * target, low, dof / (n.sum() + d / 2)
    dof = spread(dof, (n_classes,))
    scale = dof[:, None, None] * np.diag(variance) if scale is None else spread(scale, (n_classes, d, d))
    return m, kappa, dof, scale, low, np.zeros(n_classes)


def _within(s: Scatter, variance: Array) -> Array:
    """The covariance within classes, of the rows and of d / 2 imaginary ones that have the pooled variances.

    The imaginary rows have no correlations. Without them, the covariance of d columns in fewer rows is singular, and
    the evidence would trust it all the more.
    """
    imaginary = len(variance) / 2
    return (s.scatter.sum(0) + imaginary * np.diag(variance)) / (s.n.sum() + imaginary)


def _learned(m: Array, low: Array, kappa: Array, target: Array, s: Scatter) -> float:
    """The ``dof`` with the largest evidence times its hyperprior, ln dof ~ Normal(ln d, ``SPREAD``²).

    With Ψ = dof T, the evidence follows from the eigenvalues, relative to T, of S and the shift of the mean: so a value
    of ``dof`` costs O(d) operations.
    """
    n, d = s.n[:, 0], len(target)
    gap = (s.mean - m) + (s.low - low)
    with np.errstate(invalid="ignore"):
        weight = np.where(n > 0, kappa * n / np.where(n > 0, kappa + n, 1.0), 0.0)
    spreads = s.scatter + weight[:, None, None] * gap[:, :, None] * gap[:, None, :]
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
