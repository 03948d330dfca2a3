"""The posterior distribution of the log-odds of two classes, row by row and without a draw.

Start with :class:`LogOdds`. Its cumulant generating function is exact, a sum of closed forms; the saddlepoint formula
makes probabilities and quantiles of it, and :func:`close` says where that is accurate.

``offset``, (row, class), is added to log p(class, row): it holds the class priors of rows that have their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from bayesnb.families.family import Family
from bayesnb.model import Data, Posterior
from bayesnb.priors import Array, Dirichlet, FixedProbabilities, NormalGamma, Prior

NEAR = 0.05
"""Standard deviations around the mean within which the two terms of the saddlepoint formula cancel."""


@dataclass(frozen=True, eq=False)
class LogOdds:
    """The posterior distribution of ln J_a(θ)/J_b(θ) of each row, where J_c = π_c ∏ p(x_f | θ_cf).

    K(t) = ln E[(J_a/J_b)^t] is a sum of the log moments of the factors. It is exact for t between ``bounds``; outside,
    some factor has no moment. Inside, K' takes every real value, so every value of the log-odds has its saddlepoint.
    The distribution function is that of Lugannani and Rice (1980; Butler 2007, Saddlepoint Approximations, 1.2.1). It
    is an approximation, whose error depends on the class that has the fewest rows. Beside 400,000 exact draws for each
    of 118 small tables (1 + 1 to 200 + 1 rows, one and ten columns, Gaussian, categorical and Poisson, priors from the
    defaults to 0.01) it was off by up to 0.047, and by up to 0.011 where :func:`close` holds.

    Parameters
    ----------
    factors : sequence of (Family, Prior, encoded column)
        The family, the belief about θ_a and θ_b, and the rows.
    label : Dirichlet, FixedProbabilities or None
        The belief about the probabilities of the two classes; None if they are left out.
    offset : array (row,)
        Added to the log-odds.
    """

    factors: Sequence[tuple[Family, Prior, Any]]
    label: Dirichlet | FixedProbabilities | None
    offset: Array

    @classmethod
    def of(cls, posterior: Posterior, data: Data, n_rows: int, a: int = 0, b: int = 1, offset: Array = 0.0) -> LogOdds:
        """The log-odds of the classes at two positions; ``offset`` spreads to (row, class)."""
        posterior.model.require_exact("the moments of the log-odds", 'use method="draws"')
        features = posterior.model.features.items()
        factors = [(family, posterior.features[name].at([a, b]), data[name]) for name, family in features]
        return replace(cls.of_classes(posterior, n_rows, a, b, offset), factors=factors)

    @classmethod
    def of_classes(cls, posterior: Posterior, n_rows: int, a: int, b: int, offset: Array = 0.0) -> LogOdds:
        """The log-odds of two classes by the class prior alone."""
        offset = np.broadcast_to(offset, (n_rows, len(posterior.labels)))
        with np.errstate(invalid="ignore"):
            offset = offset[:, a] - offset[:, b]
        return cls((), posterior.label.at([a, b]), offset)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.offset)

    def __getitem__(self, rows: Array) -> LogOdds:
        return LogOdds(
            [(family, believed, x[rows]) for family, believed, x in self.factors], self.label, self.offset[rows]
        )

    @cached_property
    def bounds(self) -> tuple[Array, Array]:
        """The open interval of t on which K exists, two arrays (row,)."""
        floor = np.full((self.n_rows, 2), -np.inf)
        for family, believed, x in self.factors:
            floor = np.maximum(floor, family.moment_floor(believed, x))
        if self.label is not None:
            floor = np.maximum(floor, self.label.log_power_floor())
        return floor[:, 0], -floor[:, 1]

    def cumulants(self, t: Array) -> tuple[Array, Array, Array]:
        """K(t), K'(t) and K''(t), (row,) each."""
        both = np.stack([t, -t], axis=1)
        level, first, second = (np.zeros((self.n_rows, 2)) for _ in range(3))
        for family, believed, x in self.factors:
            slopes = family.log_moment_slopes(believed, x, both)
            level += family.log_moment(believed, x, both)
            first += slopes[0]
            second += slopes[1]
        if self.label is not None:
            slopes = self.label.log_power_slopes(both)
            level += self.label.log_powers(both)
            first += slopes[0]
            second += slopes[1]
        with np.errstate(invalid="ignore"):
            return level.sum(1) + t * self.offset, first[:, 0] - first[:, 1] + self.offset, second.sum(1)

    @cached_property
    def _at_zero(self) -> tuple[Array, Array]:
        _, mean, variance = self.cumulants(np.zeros(self.n_rows))
        return mean, variance

    @property
    def mean(self) -> Array:
        """E[log-odds], (row,), exact. Infinite if one class is impossible, NaN if both are."""
        return self._at_zero[0]

    @property
    def variance(self) -> Array:
        """Var[log-odds], (row,): exact."""
        return self._at_zero[1]

    def _terms(self, t: Array) -> tuple[Array, Array, Array, Array]:
        """K'(t), K''(t), the signed root w and the correction 1/w - 1/u of the saddlepoint t."""
        level, z, curvature = self.cumulants(t)
        w = np.sign(t) * np.sqrt(np.maximum(2 * (t * z - level), 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            return z, curvature, w, 1 / w - 1 / (t * np.sqrt(curvature))

    @cached_property
    def _near_mean(self) -> tuple[Array, ...]:
        """A step h in t, then w and the correction at -h and at h.

        At t = 0 the correction is the difference of two infinite terms. It is smooth, so between -h and h it is
        interpolated by a straight line.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            h = NEAR / np.sqrt(self.variance)
        return h, *self._terms(-h)[2:], *self._terms(h)[2:]

    @cached_property
    def _moving(self) -> tuple[Array, LogOdds]:
        """The rows whose log-odds vary, and their distribution; the others have one certain value."""
        rows = np.flatnonzero((self.variance > 0) & np.isfinite(self.variance) & np.isfinite(self.mean))
        return rows, self if len(rows) == self.n_rows else self[rows]

    def _below(self, t: Array, near: tuple[Array, ...]) -> tuple[Array, ...]:
        """K'(t), P(log-odds < K'(t)), K''(t), and the slope of the log-odds in Φ⁻¹ of that probability."""
        h, _, left, _, right = near
        z, curvature, w, correction = self._terms(t)
        line = ((h - t) * left + (h + t) * right) / (2 * h)
        below = _lugannani_rice(w, np.where(np.abs(t) < h, line, correction))
        return z, below, curvature, np.sqrt(curvature) * np.exp(0.5 * (w**2 - ndtri(below) ** 2))

    def cdf(self, z: float | Array) -> Array:
        """P(log-odds < z | D), (row,)."""
        z = np.broadcast_to(np.asarray(z, float), (self.n_rows,))
        below, (moving, part) = (self.mean < z).astype(float), self._moving
        below[moving] = part._below(part._saddlepoints(z[moving]), part._near_mean)[1]
        return below

    def _saddlepoints(self, z: Array) -> Array:
        """The t with K'(t) = z, by Newton's method within a bracket."""
        low, high = (bound.copy() for bound in self.bounds)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.nan_to_num((z - self.mean) / self.variance)
        t = np.clip(t, low / 2, high / 2)
        rest = np.arange(self.n_rows)
        for _ in range(200):
            _, slope, curvature = self[rest].cumulants(t[rest])
            off = np.abs(slope - z[rest]) > 1e-9 * np.sqrt(curvature)
            rest, miss, curvature = rest[off], (slope - z[rest])[off], curvature[off]
            if not len(rest):
                break
            here = t[rest]
            low[rest], high[rest] = np.where(miss < 0, here, low[rest]), np.where(miss < 0, high[rest], here)
            with np.errstate(divide="ignore", invalid="ignore"):
                step = np.nan_to_num(here - miss / curvature, nan=np.inf)
            inside = (low[rest] < step) & (step < high[rest])
            # If Newton's step leaves the bracket, take its middle; if it has no end, double the step.
            middle = (low[rest] + high[rest]) / 2
            t[rest] = np.where(inside, step, np.where(np.isfinite(middle), middle, 2 * here - np.sign(miss)))
        return t

    def quantile(self, q: float) -> Array:
        """z with P(log-odds < z | D) = q, (row,); ``q`` strictly between 0 and 1."""
        quantiles, (moving, part), aim = self.mean.copy(), self._moving, ndtri(q)
        h, *ends = near = part._near_mean
        low, high = part.bounds
        # The start: Φ⁻¹ of the distribution function is nearly a straight line in t.
        below_h, above_h = (ndtri(_lugannani_rice(*end)) for end in (ends[:2], ends[2:]))
        t = np.clip(h * (2 * aim - below_h - above_h) / (above_h - below_h), 0.7 * low, 0.7 * high)
        rest, before = np.arange(len(moving)), np.full(len(moving), np.inf)
        left, right = low.copy(), high.copy()
        for _ in range(100):
            if not len(rest):
                break
            here = t[rest]
            z, below, curvature, slope = part[rest]._below(here, tuple(v[rest] for v in near))
            miss = aim - ndtri(below)
            quantiles[moving[rest]] = z + miss * slope
            left[rest], right[rest] = np.where(miss > 0, here, left[rest]), np.where(miss > 0, right[rest], here)
            # Newton's step, but at most half of the way to the end of the bracket. ``slope`` is not quite the
            # derivative of the formula, so such steps may fail to halve the miss; then the bracket is halved instead.
            step = np.clip(here + miss * slope / curvature, (here + left[rest]) / 2, (here + right[rest]) / 2)
            middle = (left[rest] + right[rest]) / 2
            slow = (np.abs(miss) > before[rest] / 2) & np.isfinite(middle)
            t[rest], before[rest] = np.where(slow, middle, step), np.abs(miss)
            rest = rest[(np.abs(below - q) > 1e-7) | (np.abs(miss) > 0.01)]
        return quantiles


def _lugannani_rice(w: Array, correction: Array) -> Array:
    """Φ(w) + φ(w) (1/w - 1/u), kept inside (0, 1)."""
    below = ndtr(w) + np.exp(-0.5 * w**2) / np.sqrt(2 * np.pi) * correction
    return np.clip(below, np.finfo(float).tiny, 1 - np.finfo(float).epsneg)


def close(posterior: Posterior) -> bool:
    """Whether the saddlepoint formula of :class:`LogOdds` has an error below 0.011, as far as that was tried.

    Its error is larger if a factor of some class has a long tail: a Normal-Gamma with fewer than 4 degrees of freedom
    (2a < 4, as after one or two rows), or a concentration below 1/2.
    """
    believed = [posterior.label, *posterior.features.values()]
    a = [np.min(prior.a) for prior in believed if isinstance(prior, NormalGamma)]
    dirichlet = [getattr(prior, name) for prior in believed for name in ("alpha", "beta") if hasattr(prior, name)]
    # A concentration of 0 is an impossible outcome, and has no distribution.
    concentrations = [np.min(value[value > 0], initial=np.inf) for value in dirichlet]
    return min(a, default=np.inf) >= 2 and min(concentrations, default=np.inf) >= 0.5


@dataclass(frozen=True, eq=False)
class DrawnLogOdds:
    """The distribution of log-odds as draws (draw, row), for models without a formula."""

    draws: Array

    def quantile(self, q: float) -> Array:
        """z with P(log-odds < z | D) = q, (row,)."""
        return np.quantile(self.draws, q, axis=0)


def log_odds_moments(posterior: Posterior, data: Data, n_rows: int, offset: Array = 0.0) -> tuple[Array, Array]:
    """Posterior mean and variance of ln p(a | x, θ) / p(b | x, θ) for all pairs, (row, a, b) each: exact.

    They are sums of the first two derivatives at 0 of the log moments of the factors; for sampled factors, of averages
    over draws. The mean is infinite if one of the two classes is impossible, and NaN if both are.
    """
    mean, variance = np.zeros((2, n_rows, len(posterior.labels)))
    shared = np.zeros((n_rows, len(posterior.labels), len(posterior.labels)))
    for name, family in posterior.model.features.items():
        if not family.exact:
            for rows, value in family.paired(posterior.features[name], data[name]):
                centre = value.mean(0)
                covariance = np.einsum("dri,drj->rij", value - centre, value - centre) / len(value)
                mean[rows] += centre
                variance[rows] += np.diagonal(covariance, axis1=1, axis2=2)
                shared[rows] += covariance
            continue
        slopes = family.log_moment_slopes(posterior.features[name], data[name], 0.0)
        mean += slopes[0]
        variance += slopes[1]
    slopes = posterior.label.log_power_slopes(np.zeros(len(posterior.labels)))
    mean += slopes[0]
    variance += slopes[1]
    mean = mean + offset
    with np.errstate(invalid="ignore"):
        difference, between = (
            mean[:, :, None] - mean[:, None, :],
            variance[:, :, None] + variance[:, None, :] - 2 * shared,
        )
    classes = np.arange(len(posterior.labels))
    difference[:, classes, classes] = between[:, classes, classes] = 0.0
    return difference, between
