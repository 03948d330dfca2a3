"""Log densities of Normals and Student-t's, summed over columns, as the Gaussian families need them.

A location is m + low, the sum of a float and a far smaller one: at 1e12 spreads from 0, one float is not exact enough.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from bayesnb.families.columns import over_columns
from bayesnb.families.stored import over_stored
from bayesnb.kernels import densities
from bayesnb.kernels.blocks import slices
from bayesnb.numerics import LOG_2PI, Array, log
from bayesnb.statistics.membership import Column


def log_normal(x: Array, m: Array, low: Array, root_tau: Array) -> Array:
    """ln Normal(x | m + low, 1/root_tau²) of each cell."""
    with np.errstate(divide="ignore", over="ignore"):
        return np.log(root_tau) - 0.5 * LOG_2PI - 0.5 * (((x - m) - low) * root_tau) ** 2


def log_normals(x: Column, m: Array, low: Array, root_tau: Array) -> Array:
    """Σ_j ln Normal(x_j | m_j + low_j, 1/root_tau_j²) as (..., row, class), where NaN adds nothing."""
    low, root_tau = (np.broadcast_to(v, m.shape) for v in (low, root_tau))
    if sparse.issparse(x):
        return over_stored(log_normal, x, m, low, root_tau)
    if m.ndim > 2 and len(x) * m.size >= _DRAWN_FROM:
        return _log_normals_drawn(x, m, low, root_tau)
    if m.ndim == 2:
        return densities.normal(x, m, low, root_tau, log(root_tau) - 0.5 * LOG_2PI)
    return over_columns(log_normal, x, m, low, root_tau)


_DRAWN_FROM = 2**16
"""From this many cells times draws on, the densities are computed as products of matrices."""


def _log_normals_drawn(x: Array, m: Array, low: Array, root_tau: Array) -> Array:
    """``log_normals`` of many draws, as a product of matrices: it is linear in x² and x.

    To expand (x - μ)² is inaccurate where its terms are large and cancel. So x and μ are first centred at the mean of
    the draws of the class, and divided by their spread. Then the terms are either small, or the result is as large as
    they are.
    """
    lead, (n_classes, columns) = m.shape[:-2], m.shape[-2:]
    m, low, root_tau = (v.reshape(-1, n_classes, columns) for v in (m, low, root_tau))
    total = np.empty((len(m), len(x), n_classes))
    with np.errstate(all="ignore"):
        unit = np.exp(np.log(root_tau).mean(axis=0))
        centre = (m / len(m)).sum(axis=0)
        away, root = ((m - centre) + low) * unit, root_tau / unit
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
    # One sum is quicker than a test of each number: it is finite if all are.
    if not np.isfinite(total.sum()):
        odd = np.flatnonzero(~np.isfinite(total).all(axis=(0, -1)))
        total[:, odd] = over_columns(log_normal, x[odd], m, low, root_tau)
    return total.reshape(*lead, len(x), n_classes)


def log_students(x: Column, m: Array, low: Array, scale: Array, exponent: Array, log_height: Array) -> Array:
    """Σ_j of the Student-t log density as (row, class), where NaN adds nothing."""
    curve = m, low, scale, exponent, log_height
    if sparse.issparse(x):
        return over_stored(log_student, x, *curve)
    return densities.students(x, *curve)


def log_student(x: Array, m: Array, low: Array, scale: Array, exponent: Array, log_height: Array) -> Array:
    """The Student-t log density of each cell, log_height - exponent ln(1 + z²) with z = (x - m - low) scale."""
    away = (x - m) - low
    with np.errstate(over="ignore", divide="ignore"):
        growth = np.log1p((away * scale) ** 2)
        # In a column of tiny scale, the square may be above all floats.
        if np.isinf(growth).any():
            growth = np.where(np.isinf(growth), 2 * (np.log(np.abs(away)) + np.log(scale)), growth)
    return log_height - exponent * growth
