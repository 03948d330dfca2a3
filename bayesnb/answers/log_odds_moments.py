"""Mean and variance of the log-odds of all pairs of classes: exact, and without a draw.

``offset``, (row, class), is added to log p(class, row): it holds the class priors of rows that have their own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import softmax

from bayesnb.families.sampled import Draws, Sampled
from bayesnb.families.strata import Strata
from bayesnb.model import Data, Posterior, normalize
from bayesnb.priors import Array


def log_odds_moments(
    posterior: Posterior, data: Data, n_rows: int, offset: Array = 0.0, power: int = 0
) -> tuple[Array, Array]:
    """Posterior mean and variance of ln p(a | x, θ) / p(b | x, θ) for all pairs, (row, a, b) each: exact.

    They are sums of the first two derivatives at 0 of the log moments of the factors; for sampled factors, of averages
    over draws. The mean is infinite if one of the two classes is impossible, and NaN if both are. Given the row too
    (``power`` 1), the posterior is a mixture with one component for each class c that the row may have, in which the
    derivatives of class c are those at 1; the means of the components vary, which adds to the variance.
    """
    if not power:
        return _component(posterior, data, n_rows, offset, None)
    weights = np.exp(normalize(posterior.log_predictive(data, n_rows) + offset))
    classes = range(len(posterior.labels))
    each = [_component(posterior, data, n_rows, offset, c) for c in classes]
    # A class that the row cannot have is no component.
    weights = [np.where(weights[:, c] > 0, weights[:, c], np.nan)[:, None, None] for c in classes]

    def average(values: list[Array]) -> Array:
        with np.errstate(invalid="ignore"):
            return sum(np.where(np.isnan(w), 0.0, w * v) for w, v in zip(weights, values, strict=True))

    mean = average([mean for mean, _ in each])
    with np.errstate(invalid="ignore"):
        apart = [np.where(np.isfinite(mean), (own - mean) ** 2, 0.0) for own, _ in each]
    return mean, average([variance + away for (_, variance), away in zip(each, apart, strict=True)])


def _component(posterior: Posterior, data: Data, n_rows: int, offset: Array, c: int | None) -> tuple[Array, Array]:
    """The moments given the data (``c`` is None), or given them and the row as one of class ``c``."""
    mean, variance = np.zeros((2, n_rows, len(posterior.labels)))
    shared = np.zeros((n_rows, len(posterior.labels), len(posterior.labels)))
    t = np.zeros(len(posterior.labels))
    if c is not None:
        t[c] = 1.0
    for name, family in posterior.model.features.items():
        believed, x = posterior.features[name], data[name]
        if family.exact:
            slopes = family.log_moment_slopes(believed, x, t)
            mean += slopes[0]
            variance += slopes[1]
            continue
        own_mean, covariance = _of_draws(family, believed, x, c)
        mean += own_mean
        variance += np.diagonal(covariance, axis1=1, axis2=2)
        shared += covariance
    _, first, second = posterior.label.log_powers(t)
    mean += first
    variance += second
    mean = mean + offset
    with np.errstate(invalid="ignore"):
        difference, between = (
            mean[:, :, None] - mean[:, None, :],
            variance[:, :, None] + variance[:, None, :] - 2 * shared,
        )
    classes = np.arange(len(posterior.labels))
    difference[:, classes, classes] = between[:, classes, classes] = 0.0
    return difference, between


def _of_draws(family: Sampled, believed: Draws, x: Any, c: int | None) -> tuple[Array, Array]:
    """Mean (row, class) and covariance (row, class, class) of log p(x | θ) over draws, given the row as one of class c.

    The columns of a stratum are independent, so their moments add; the strata are a mixture.
    """
    n_classes, whole = believed.proper().shape[0], c is None
    strata = Strata.of(None, len(believed)) if whole else family.strata(believed)
    mean = np.zeros((len(strata), len(x), n_classes))
    covariance, says = np.zeros((*mean.shape, n_classes)), np.zeros((*mean.shape[:2], 1))
    columns = family.paired(believed, x) if whole else (part[1:] for part in family.by_column(believed, x))
    for rows, value in columns:
        log_weight = np.zeros((*value.shape[:2], 1)) if whole else value[..., [c]]
        says[:, rows] += strata.averages(log_weight)
        for k, members in enumerate(strata.members):
            weight, own = softmax(log_weight[members], axis=0), value[members]
            centre = (weight * own).sum(0)
            mean[k, rows] += centre
            covariance[k, rows] += np.einsum("dri,drj->rij", weight * (own - centre), own - centre)
    share = softmax(says + strata.log_share[:, None, None], axis=0)
    total = (share * mean).sum(0)
    away = mean - total
    return total, (share[..., None] * (covariance + away[..., :, None] * away[..., None, :])).sum(0)
