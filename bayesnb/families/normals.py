"""Log densities of Normals and Student-t's, summed over columns, as the Gaussian families need them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from bayesnb.families.columns import over_columns
from bayesnb.families.stored import in_blocks, over_stored
from bayesnb.kernels import densities
from bayesnb.kernels.blocks import large_enough, slices
from bayesnb.numerics import Array, log, log_rising
from bayesnb.priors import NormalGamma, Theta
from bayesnb.priors.locations import ordinary
from bayesnb.statistics.membership import Column
from bayesnb.statistics.moments import Moments

LOG_2PI = float(np.log(2 * np.pi))


def pooled(s: Moments) -> tuple[Array, Array, Array, Array]:
    """Mean and variance (divisor: the weight) of each whole column, NaN where nothing was seen.

    The third array is what the mean has beyond one float, and the fourth is the unit of the others.
    """
    whole = s.pooled()
    n = whole.n[0]
    none = n <= 0
    weight = np.where(none, 1.0, n)
    mean, variance = np.where(none, np.nan, whole.mean[0]), np.where(none, np.nan, whole.scatter[0] / weight)
    return mean, variance, whole.low[0], whole.unit[0]


def mean_and_sd(s: Moments) -> dict[str, Array]:
    """Mean and standard deviation of each whole column, (column,), in units of the column."""
    mean, variance, _, unit = pooled(s)
    return {"mean": mean * unit, "sd": np.sqrt(variance) * unit}


def _away(x: Array, m: Array, low: Array | float, unit: Array | float) -> Array:
    """How far x is from m + low, in units of ``unit``."""
    return (x / unit - m) - low


def _log_away(x: Array, m: Array, low: Array | float, unit: Array | float) -> Array:
    """The logarithm of the size of that, where it may be beyond all floats."""
    away = np.abs(_away(x, m, low, unit))
    far = np.isinf(away)
    return np.where(far, np.log(np.abs(x)) - np.log(unit), np.log(away)) if far.any() else np.log(away)


def log_normal(x: Array, mu: Array, root_tau: Array, low: Array | float = 0.0, unit: Array | float = 1.0) -> Array:
    """ln Normal(x | μ, 1/τ) of each cell, where μ is (mu + low) unit and τ is (root_tau / unit)²."""
    with np.errstate(divide="ignore", over="ignore"):
        square = (_away(x, mu, low, unit) * root_tau) ** 2
        return np.log(root_tau) - np.log(unit) - 0.5 * LOG_2PI - 0.5 * square


def log_normals(x: Column, theta: Theta, root_tau: Array) -> Array:
    """Σ_j ln Normal(x_j | μ_j, 1/τ_j) as (..., row, class), where NaN adds nothing."""
    mu = theta["mu"]
    low, unit = (np.broadcast_to(theta.get(name, none), mu.shape) for name, none in (("low", 0.0), ("unit", 1.0)))
    if sparse.issparse(x):
        return _log_normals_stored(x, theta, mu, root_tau, low, unit)
    near = ordinary(low * root_tau, unit)
    if near.all():
        total = _near_log_normals(x, mu, root_tau)
    else:
        cells = (v[..., ~near] for v in (mu, root_tau, low, unit))
        total = _near_log_normals(x[:, near], mu[..., near], root_tau[..., near])
        total += over_columns(log_normal, x[:, ~near], *cells)
    return _within_floats(total, x, mu, root_tau, low, unit)


def _log_normals_stored(
    x: sparse.csr_array, theta: Theta, mu: Array, root_tau: Array, low: Array, unit: Array
) -> Array:
    """``log_normals`` of a sparse matrix; many draws of θ, and rows below all floats, take dense blocks."""
    if mu.ndim > 2:
        return in_blocks(lambda block: log_normals(block, theta, root_tau), x)
    total = over_stored(log_normal, x, mu, np.broadcast_to(root_tau, mu.shape), low, unit)
    if len(odd := np.flatnonzero(~np.isfinite(total).all(axis=1))):
        total[odd] = in_blocks(lambda block: log_normals(block, theta, root_tau), sparse.csr_array(x)[odd])
    return total


def _near_log_normals(x: Array, mu: Array, root_tau: Array) -> Array:
    """``log_normals`` of columns with the unit 1 and locations of one float."""
    if mu.ndim > 2 and len(x) * mu.size >= _DRAWN_FROM:
        return _log_normals_drawn(x, mu, root_tau)
    if mu.ndim == 2 and large_enough(x.size * len(mu)):
        return densities.normal(x, mu, root_tau, log(root_tau) - 0.5 * LOG_2PI)
    return over_columns(log_normal, x, mu, root_tau)


LOWEST = -1e300
"""The log density that is given for a row so far out that its own log density is below all floats."""


def _within_floats(total: Array, x: Array, mu: Array, root_tau: Array, low: Array, unit: Array) -> Array:
    """The log densities, with ``LOWEST`` at the likeliest class of a row that is below all floats under every class.

    Log densities of -1e310 and of -1e309 are both -inf as floats, and still the second class is certain. The likeliest
    class is the one with the smallest Σ z², because all other terms are negligible beside it; the sums are compared by
    their logarithms. Classes with equal sums are all likeliest.
    """
    if total.min(initial=0.0) > -np.inf:
        return total
    beyond = np.isneginf(total).all(axis=-1)
    # A row that holds an infinite number stays impossible.
    beyond &= ~np.isinf(x).any(axis=-1)
    rows = np.flatnonzero(beyond.reshape(-1, len(x)).any(axis=0))

    def log_square(x: Array, mu: Array, root_tau: Array, low: Array, unit: Array) -> Array:
        with np.errstate(all="ignore"):
            return 2 * (_log_away(x, mu, low, unit) + np.log(root_tau))

    missing = np.isnan(x[rows])[:, None]
    squares = log_square(x[rows][:, None], *(v[..., None, :, :] for v in (mu, root_tau, low, unit)))
    size = np.logaddexp.reduce(np.where(missing, -np.inf, squares), axis=-1)
    likeliest = size <= size.min(axis=-1, keepdims=True) + 1e-12
    floats = np.where(likeliest, LOWEST, -np.inf)
    total[..., rows, :] = np.where(beyond[..., rows, None], floats, total[..., rows, :])
    return total


_DRAWN_FROM = 2**16
"""From this many cells times draws on, the densities are computed as products of matrices."""


def _log_normals_drawn(x: Array, mu: Array, root_tau: Array) -> Array:
    """``log_normals`` of many draws, as a product of matrices: it is linear in x² and x.

    To expand (x - μ)² is inaccurate where its terms are large and cancel. So x and μ are first centred at the mean of
    the draws of the class, and divided by their spread. Then the terms are either small, or the result is as large as
    they are.
    """
    lead, (n_classes, columns) = mu.shape[:-2], mu.shape[-2:]
    mu, root_tau = mu.reshape(-1, n_classes, columns), root_tau.reshape(-1, n_classes, columns)
    total = np.empty((len(mu), len(x), n_classes))
    with np.errstate(all="ignore"):
        unit = np.exp(np.log(root_tau).mean(axis=0))
        centre = (mu / len(mu)).sum(axis=0)
        away, root = (mu - centre) * unit, root_tau / unit
        level = np.log(root_tau) - 0.5 * (LOG_2PI + (root * away) ** 2)
        weights = np.concatenate([-0.5 * root**2, root * (root * away), level], axis=-1)
        for cut in slices(len(x), max(64, 2**20 // (3 * max(1, columns)))):
            missing = np.isnan(x[cut])
            gaps = bool(missing.any())
            for c in range(n_classes):
                z = (x[cut] - centre[c]) * unit[c]
                if gaps:
                    terms = np.concatenate([z * z, z, np.ones(z.shape)], axis=1)
                    terms[np.tile(missing, 3)] = 0.0
                    total[:, cut, c] = weights[:, c] @ terms.T
                else:
                    total[:, cut, c] = weights[:, c, : 2 * columns] @ np.concatenate([z * z, z], axis=1).T
                    total[:, cut, c] += level[:, c].sum(axis=-1)[:, None]
    total = total.reshape(*lead, len(x), n_classes)
    # One sum is quicker than a test of each number: it is finite if all are.
    if not np.isfinite(total.sum()):
        odd = np.flatnonzero(~np.isfinite(total).all(axis=(*range(len(lead)), -1)))
        drawn = (v.reshape(*lead, n_classes, columns) for v in (mu, root_tau))
        total[..., odd, :] = over_columns(log_normal, x[odd], *drawn)
    return total


def log_students(x: Array, m: Array, scale: Array, exponent: Array, log_height: Array) -> Array:
    """Σ_j of the Student-t log density as (row, class), where NaN adds nothing."""
    return densities.students(x, m, scale, exponent, log_height)


def _near_log_student(x: Array, m: Array, scale: Array, exponent: Array, log_height: Array) -> Array:
    """``log_student`` where z² is a float, with one logarithm for each cell instead of three."""
    z = (x - m) * scale
    return log_height - exponent * np.log1p(z * z)


def without_row(posterior: NormalGamma) -> tuple[Array, Array, Array, Array]:
    """Location, scale, exponent and log height of the predictive of a learned row without that row.

    Its log density is log_height + exponent ln(1 - ((x - location) scale)²), the ratio of two evidences. The log height
    is NaN where nothing proper is left without the row.
    """
    m, kappa, a, b = posterior.m, posterior.kappa, posterior.a, posterior.b
    with np.errstate(all="ignore"):
        less, exponent = np.where(kappa > 1, kappa - 1, np.nan), np.where(a > 0.5, a - 0.5, np.nan)
        scale = np.sqrt(kappa / less / 2) / np.sqrt(b)
        log_height = log_rising(exponent, 0.5) + 0.5 * (np.log(less / kappa) - np.log(b) - LOG_2PI)
    return m, scale, exponent, np.where(np.isnan(exponent + less), np.nan, log_height)


def log_student(
    x: Array,
    m: Array,
    scale: Array,
    exponent: Array,
    log_height: Array,
    low: Array | float = 0.0,
    unit: Array | float = 1.0,
) -> Array:
    """The Student-t log density of each cell, log_height - exponent ln(1 + z²) with z = (x - m) scale."""
    # log1p(z²) as a sum of logarithms: z² overflows where a column of tiny scale is asked far out.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        log_z = _log_away(x, m, low, unit) + np.log(scale)
        return log_height - exponent * np.logaddexp(0.0, 2.0 * log_z)


def pymc_log_normal(mu: Any, tau: Any, x: Array) -> Any:
    """Σ_j ln Normal(x_j | μ_j, 1/τ_j) as a (row, class) tensor, where NaN adds nothing."""
    from pytensor import tensor as pt

    seen = ~np.isnan(x)[:, None, :]
    away = np.nan_to_num(x)[:, None, :] - mu[None]
    return (seen * 0.5 * (pt.log(tau) - LOG_2PI - tau * away**2)).sum(-1)
