"""Log moments ln E[p(x | θ)^t] of the likelihood of cells x, with two derivatives in the exponent t."""

from __future__ import annotations

from math import log, log1p
from typing import Any

import numpy as np

from bayesnb.kernels.blocks import Array, contiguous, loop

SHIFT = 8.0
"""Least argument at which the asymptotic series of ln Γ and its derivatives are accurate to the last digits."""


@loop
def _far(z: Any, w: Any) -> tuple[Any, Any, Any]:
    """For z >= ``SHIFT``: the remainder of Stirling's formula, ψ(z) - ln z, and ψ'(z)."""
    # Abramowitz and Stegun, 6.1.41, 6.3.18 and 6.4.12.
    r = 1.0 / z
    series = r * (1 / 12 - w * (1 / 360 - w * (1 / 1260 - w * (1 / 1680 - w * (1 / 1188 - w * (691 / 360360))))))
    tail = 1 / 240 - w * (1 / 132 - w * (691 / 32760))
    first = -0.5 * r - w * (1 / 12 - w * (1 / 120 - w * (1 / 252 - w * tail)))
    tail = 1 / 30 - w * (5 / 66 - w * (691 / 2730))
    second = r + 0.5 * w + w * r * (1 / 6 - w * (1 / 30 - w * (1 / 42 - w * tail)))
    return series, first, second


@loop
def _gamma_ratio(a: float, log_a: float, rest: float, s: float) -> tuple[float, float, float]:
    """ln Γ(a + s) - ln Γ(a), and the first two derivatives of ln Γ at a + s."""
    # Let R be the remainder of Stirling's formula; ``rest`` is R(a). The first number is (a - 1/2) ln(1 + s/a) + s
    # (ln(a + s) - 1) + R(a + s) - R(a). These terms do not cancel if a is large. If a + s is small, it is first raised
    # to ``SHIFT`` by Γ(z + 1) = z Γ(z).
    z, product, first, second = a + s, 1.0, 0.0, 0.0
    while z < SHIFT:
        r = 1.0 / z
        product *= z
        first -= r
        second += r * r
        z += 1.0
    series, more, tail = _far(z, 1.0 / (z * z))
    if product == 1.0:
        ratio = log1p(s / a)
        log_z = log_a + ratio
        level = (a - 0.5) * ratio + s * (log_z - 1.0) + series - rest
    else:
        log_z = log(z)
        level = (z - 0.5) * log_z - z + series - log(product) - (a - 0.5) * log_a + a - rest
    return level, first + log_z + more, second + tail


def _gamma_ratios(a: Array, s: Array) -> tuple[Array, Array, Array]:
    a, log_a, rest = np.moveaxis(a, -1, 0)
    z = start = a + s
    product, first, second = np.ones(z.shape), np.zeros(z.shape), np.zeros(z.shape)
    while (low := z < SHIFT).any():
        r = np.where(low, 1.0 / z, 0.0)
        product, first, second = np.where(low, product * z, product), first - r, second + r * r
        z = z + low
    series, more, tail = _far.function(z, 1.0 / (z * z))
    ratio = np.log1p(s / a)
    log_z = np.where(product == 1.0, log_a + ratio, np.log(z))
    near = (z - 0.5) * log_z - z - np.log(product) - (a - 0.5) * log_a + a
    level = np.where(z == start, (a - 0.5) * ratio + s * (log_z - 1.0), near)
    return level + series - rest, first + log_z + more, second + tail


def chances(own: Array, total: Array, t: Array, compiled: bool) -> Array:
    """Log moments of probabilities θ_f, Σ_f ln E[θ_f^t], and their first two derivatives in t, (3, row, class)."""
    if not compiled:
        with np.errstate(all="ignore"):
            mine, whole = (_gamma_ratios(a, t[..., None]) for a in (own, total))
            return np.array([np.nansum(one - all_, axis=-1) for one, all_ in zip(mine, whole, strict=True)])
    found = np.zeros((3, *t.shape))
    _chances(contiguous(own), contiguous(total), contiguous(t), found)
    return found


@loop
def _chances(own: Array, total: Array, t: Array, found: Array) -> None:
    """Add Σ_f ln E[θ_f^t] and its derivatives to ``found`` (3, row, class), where θ_f ~ Beta(own, total - own)."""
    # The last axis of ``own`` (row, class, column, 3) and ``total`` (class, column, 3) holds a number α, ln α, and the
    # remainder of Stirling's formula at α. ``own`` is NaN if a cell is missing.
    for i in range(len(t)):
        for c in range(t.shape[1]):
            s, before = t[i, c], -1.0
            whole = (0.0, 0.0, 0.0)
            sums = (0.0, 0.0, 0.0)
            for f in range(own.shape[2]):
                a = own[i, c, f, 0]
                if a != a:
                    continue
                mine = _gamma_ratio(a, own[i, c, f, 1], own[i, c, f, 2], s)
                if total[c, f, 0] != before:
                    before = total[c, f, 0]
                    whole = _gamma_ratio(before, total[c, f, 1], total[c, f, 2], s)
                sums = (sums[0] + mine[0] - whole[0], sums[1] + mine[1] - whole[1], sums[2] + mine[2] - whole[2])
            for k in range(3):
                found[k, i, c] += sums[k]


def normal_gammas(away: Array, shape: Array, kappa: Array, base: Array, t: Array, compiled: bool) -> Array:
    """Log moments of Normal densities, Σ_f ln E[p(x_f | μ, τ)^t], with two derivatives in t, (3, row, class)."""
    if not compiled:
        with np.errstate(all="ignore"):
            s = t[..., None]
            level, first, second = _gamma_ratios(shape, 0.5 * s)
            wide = 1.0 / (kappa + s)
            gain = s * away * kappa * wide
            growth, ratio = np.log1p(gain), away * (kappa * wide) ** 2 / (1.0 + gain)
            curvature, a = -2.0 * ratio * wide - ratio * ratio, shape[..., 0] + 0.5 * s
            cells = (
                level + s * base - a * growth - 0.5 * np.log1p(s / kappa),
                0.5 * (first - wide - growth) + base - a * ratio,
                0.5 * wide * wide + 0.25 * second - ratio - a * curvature,
            )
            return np.array([np.nansum(cell, axis=-1) for cell in cells])
    found = np.zeros((3, *t.shape))
    _normal_gammas(*map(contiguous, (away, shape, kappa, base, t)), found)
    return found


@loop
def _normal_gammas(away: Array, shape: Array, kappa: Array, base: Array, t: Array, found: Array) -> None:
    """Add Σ_f ln E[p(x_f | μ, τ)^t] and its derivatives to ``found`` (3, row, class)."""
    # The Normal-Gamma posterior has the parameters m, κ, a and b. away, (row, class, column): (x - m)² / (2b), NaN if
    # missing; shape, (class, column, 3): a, ln a and the remainder of Stirling's formula; base, (class, column): -(ln
    # 2πb)/2.
    for i in range(len(t)):
        for c in range(t.shape[1]):
            s, before, last = t[i, c], -1.0, -1.0
            gamma, wide, lead = (0.0, 0.0, 0.0), 1.0, 0.0
            level = first = second = 0.0
            for f in range(away.shape[2]):
                q = away[i, c, f]
                if q != q:
                    continue
                if shape[c, f, 0] != before:
                    before = shape[c, f, 0]
                    gamma = _gamma_ratio(before, shape[c, f, 1], shape[c, f, 2], 0.5 * s)
                k = kappa[c, f]
                if k != last:
                    last = k
                    wide, lead = 1.0 / (k + s), log1p(s / k)
                gain = s * q * k * wide
                growth, ratio = log1p(gain), q * (k * wide) * (k * wide) / (1.0 + gain)
                curvature = -2.0 * ratio * wide - ratio * ratio
                a = before + 0.5 * s
                level += gamma[0] + s * base[c, f] - a * growth - 0.5 * lead
                first += 0.5 * (gamma[1] - wide - growth) + base[c, f] - a * ratio
                second += 0.5 * wide * wide + 0.25 * gamma[2] - ratio - a * curvature
            found[0, i, c] += level
            found[1, i, c] += first
            found[2, i, c] += second
