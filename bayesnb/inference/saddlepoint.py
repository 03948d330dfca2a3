"""The posterior distribution of the log-odds of two classes for each row, by the saddlepoint formula."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import ndtr, ndtri, softmax

from bayesnb.families.columns import LEVELS, ZEROS_AND_ONES, known_cells
from bayesnb.families.conjugate import Conjugate
from bayesnb.families.family import Family
from bayesnb.kernels import cumulants
from bayesnb.kernels.blocks import COMPILED_FROM
from bayesnb.model import Data, Posterior
from bayesnb.model.stacks import whole_parts
from bayesnb.numerics import Array, stirling
from bayesnb.priors import Beta, Dirichlet, FixedProbabilities, Gamma, Normal, NormalGamma, Prior

WIDE = 1e20
"""Largest variance of the log-odds for the saddlepoint formula."""


LARGE = 1e12
"""Largest abs(N) for the saddlepoint formula: differences of 1 matter, and floats have 16 digits."""


NEAR = 0.05
"""Distance from the mean, in standard deviations, below which the two terms of the saddlepoint formula cancel."""


@dataclass(frozen=True, eq=False)
class LogOdds:
    """The posterior distribution of the log-odds of classes a and b of each row (``docs/theory/saddlepoint.md``)."""

    # ``power`` is 1 if the posterior is conditioned on data and row, 0 if only on data. A factor is a tuple of a
    # family, the posterior of the parameters of both classes, and the cells. ``label`` is the posterior of the two
    # class probabilities, or None to leave these probabilities out. ``offset``, (row,), is added to the log-odds.

    # Let J_c = π_c ∏ p(x_f | θ_cf). With s = power, N(t) = ln E[J_a^t J_b^(s - t)] is a sum of log moments of the
    # factors. N(t) exists on the open interval ``bounds``, where N' takes every real value. With s = 0, N is the
    # cumulant generating function of the log-odds. With s = 1, the posterior is a mixture over the row's class, and N
    # determines the weights and components of the mixture. All components share one saddlepoint, the t with N'(t) = z.

    factors: Sequence[tuple[Family, Prior, Any]]
    label: Dirichlet | FixedProbabilities | None
    offset: Array
    power: int = 0

    @classmethod
    def of(
        cls, posterior: Posterior, data: Data, n_rows: int, a: int = 0, b: int = 1, offset: Array | float = 0.0,
        power: int = 0,
    ) -> LogOdds:  # fmt: skip
        posterior.require_exact("the moments of the log-odds", 'use method="draws"')
        features, believed = posterior.model.features.items(), dict(posterior.features)
        data = posterior.without_constant(data)
        factors = [(family, believed[name].at([a, b]), data[name]) for name, family in features]
        return replace(cls.of_classes(posterior, n_rows, a, b, offset), factors=factors, power=power)

    @classmethod
    def of_classes(cls, posterior: Posterior, n_rows: int, a: int, b: int, offset: Array | float = 0.0) -> LogOdds:
        """The log-odds of two classes before any feature is seen, from the class prior."""
        offset = np.broadcast_to(offset, (n_rows, len(posterior.labels)))
        with np.errstate(invalid="ignore"):
            offset = offset[:, a] - offset[:, b]
        return cls((), posterior.label.at([a, b]), offset)

    def prepared(self) -> LogOdds:
        return replace(self, factors=prepared(self.factors, self.n_rows))

    @property
    def n_rows(self) -> int:
        return len(self.offset)

    def __getitem__(self, rows: Any) -> LogOdds:
        factors = [(family, believed, x[rows]) for family, believed, x in self.factors]
        return LogOdds(factors, self.label, self.offset[rows], self.power)

    @cached_property
    def bounds(self) -> tuple[Array, Array]:
        """The ends of the open interval of ``t`` on which :meth:`cumulants` exist: two arrays (row,)."""
        floor = np.full((self.n_rows, 2), -np.inf)
        for family, believed, x in self.factors:
            floor = np.maximum(floor, family.moment_floor(believed, x))
        if self.label is not None:
            floor = np.maximum(floor, self.label.log_power_floor())
        return floor[:, 0], self.power - floor[:, 1]

    def cumulants(self, t: Array) -> tuple[Array, Array, Array]:
        """The log moment function of the log-odds at ``t``, with its first two derivatives: three arrays (row,)."""
        both = np.stack([t, self.power - t], axis=1)
        level, first, second = found = np.zeros((3, self.n_rows, 2))
        for family, believed, x in self.factors:
            found += family.cumulants(believed, x, both)
        if self.label is not None:
            found += np.stack(self.label.log_powers(both))
        with np.errstate(invalid="ignore"):
            return level.sum(1) + t * self.offset, first[:, 0] - first[:, 1] + self.offset, second.sum(1)

    def _cumulants_at(self, t: Array) -> Array:
        repeated = self[np.tile(np.arange(self.n_rows), len(t))] if len(t) > 1 else self
        return np.reshape(repeated.cumulants(t.ravel()), (3, *t.shape))

    @property
    def _origins(self) -> Array:
        # The t of each component, (component, 1), at which N'(t) is the component's mean.
        return np.arange(self.power + 1.0)[:, None]

    @cached_property
    def _at_origins(self) -> Array:
        return self._cumulants_at(np.broadcast_to(self._origins, (self.power + 1, self.n_rows)))

    @property
    def too_wide(self) -> Array:
        """Whether the saddlepoint of a row cannot be resolved in double precision, (row,)."""
        level, mean, variance = self._at_origins
        return ~(np.isfinite(mean) & (variance < WIDE) & (np.abs(level) < LARGE)).all(0)

    @cached_property
    def weights(self) -> Array:
        """The probability of each mixture component, (component, row)."""
        level = self._at_origins[0]
        return softmax(level, axis=0) if self.power else np.ones(level.shape)

    @property
    def mean(self) -> Array:
        """Exact mean of the log-odds, (row,); infinite if one class is impossible, NaN if both are impossible."""
        return (self.weights * self._at_origins[1]).sum(0)

    @property
    def variance(self) -> Array:
        """Exact variance of the log-odds, (row,)."""
        _, mean, variance = self._at_origins
        between = (self.weights * (mean - self.mean) ** 2).sum(0) if self.power else 0.0
        return (self.weights * variance).sum(0) + between

    @cached_property
    def _moving(self) -> tuple[Array, LogOdds]:
        _, mean, variance = self._at_origins
        varies = (variance > 0) & np.isfinite(variance) & np.isfinite(mean)
        rows = np.flatnonzero(varies.all(0))
        return rows, self if len(rows) == self.n_rows else self[rows]

    @cached_property
    def _formula(self) -> Array:
        """Seven coefficients of the saddlepoint formula for each mixture component, (coefficient, component, row)."""
        # In order: N at the origin; the weight; h; w and its correction at -h; w and its correction at h. Between -h
        # and h the correction is interpolated linearly, because at the origin it is a difference of two infinite terms.
        level, _, variance = self._at_origins
        with np.errstate(divide="ignore", invalid="ignore"):
            h = NEAR / np.sqrt(variance)
        reached, z, curvature = self._cumulants_at(np.concatenate([self._origins - h, self._origins + h]))
        found = [level, self.weights, h]
        for away, part in zip((-h, h), np.split(np.stack([reached, z, curvature]), 2, axis=1), strict=True):
            found += _signed_root(away, part[0] - level, part[1], part[2])
        return np.stack(found)

    def _below(self, t: Array, rows: Array) -> tuple[Array, Array, Array, Array]:
        # Return p = P(log-odds < z), z = N'(t), N''(t) and dz / dΦ⁻¹(p).
        (level, weights, h, _, left, _, right), away = self._formula[..., rows], t - self._origins
        reached, z, curvature = self[rows].cumulants(t)
        w, correction = _signed_root(away, reached - level, z, curvature)
        line = ((h - away) * left + (h + away) * right) / (2 * h)
        each = _lugannani_rice(w, np.where(np.abs(away) < h, line, correction))
        below = (weights * each).sum(0)
        # The density of the saddlepoint formula at z, without the factor of its nearest component.
        nearest = (w**2).min(0)
        density = (weights * np.exp(0.5 * (nearest - w**2))).sum(0)
        with np.errstate(over="ignore"):
            # The slope may overflow in the tails. The search then bisects its bracket.
            slope = np.sqrt(curvature) * np.exp(0.5 * (nearest - ndtri(below) ** 2)) / density
        return below, z, curvature, slope

    def cdf(self, z: float | Array) -> Array:
        below, (moving, part) = (self.mean < z).astype(float), self._moving
        z = np.broadcast_to(np.asarray(z, float), (self.n_rows,))[moving]
        below[moving] = part._found((z - part.mean)[None] / np.sqrt(part.variance), z[None])[0]
        return below

    def quantile(self, q: float | Array) -> Array:
        """The ``q`` quantiles of the log-odds, (row, quantile), or (row,) if ``q`` is a single number, 0 < q < 1."""
        # The distribution function at the result differs from ``q`` by at most 1e-6.
        shares = np.atleast_1d(q)
        found, (moving, part) = np.repeat(self.mean[:, None], len(shares), axis=1), self._moving
        found[moving] = part._found(np.repeat(ndtri(shares)[:, None], len(moving), axis=1)).T
        return found if np.ndim(q) else found[:, 0]

    def _found(self, aim: Array, at: Array | None = None) -> Array:
        """Quantiles of the log-odds or, if points ``at`` are given, the distribution function at them, (point, row)."""
        # The quantiles are at the levels Φ(aim).
        # Both are functions of t, at z = N'(t). Newton's method finds the t of all rows and points together, within a
        # bracket. Φ⁻¹ of the distribution function of one component is nearly linear in t, which gives the start. If a
        # step leaves the bracket or does not halve the miss, the middle of the bracket is used instead, or about 2t if
        # it is infinite.
        (floor, ceiling), (points, n) = self.bounds, aim.shape
        _, _, h, *ends = self._formula[..., None, :]
        before, after = (ndtri(_lugannani_rice(*end)) for end in (ends[:2], ends[2:]))
        t = self._origins[..., None] + h * (2 * aim - before - after) / (after - before)
        # A quantile of a mixture lies between the quantiles of its components.
        t = np.clip(t, 0.7 * floor, self.power + 0.7 * (ceiling - self.power))
        t = (self.weights[:, None] * t).sum(0).ravel()
        low, high, aim = np.tile(floor, points), np.tile(ceiling, points), aim.ravel()
        found, last, rest = np.empty(points * n), np.full(points * n, np.inf), np.arange(points * n)
        for _ in range(200):
            if not len(rest):
                break
            here = t[rest]
            with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
                below, z, curvature, slope = self._below(here, rest % n)
                if at is None:
                    miss = aim[rest] - ndtri(below)
                    found[rest], step = z + miss * slope, miss * slope / curvature
                    near = (np.abs(below - ndtr(aim[rest])) <= 1e-7) & (np.abs(miss) <= 0.01)
                else:
                    miss = at.ravel()[rest] - z
                    found[rest], step, near = below, miss / curvature, np.abs(miss) <= 1e-9 * np.sqrt(curvature)
                low[rest], high[rest] = np.where(miss > 0, here, low[rest]), np.where(miss > 0, high[rest], here)
                middle, step = (low[rest] + high[rest]) / 2, here + step
                middle = np.where(np.isfinite(middle), middle, 2 * here + np.sign(miss))
            inside = (low[rest] < step) & (step < high[rest]) & (np.abs(miss) <= last[rest] / 2)
            t[rest], last[rest] = np.where(inside, step, middle), np.abs(miss)
            rest = rest[~near]
        return found.reshape(points, n)


def _signed_root(away: Array, rise: Array, z: Array, curvature: Array) -> tuple[Array, Array]:
    # w = sign(away) √(2 (away z - rise)), and 1/w - 1/u with u = away √curvature.
    w = np.sign(away) * np.sqrt(np.maximum(2 * (away * z - rise), 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        return w, 1 / w - 1 / (away * np.sqrt(curvature))


def _lugannani_rice(w: Array, correction: Array) -> Array:
    below = ndtr(w) + np.exp(-0.5 * w**2) / np.sqrt(2 * np.pi) * correction
    return np.clip(below, np.finfo(float).tiny, 1 - np.finfo(float).epsneg)


TRIED = (Beta, Dirichlet, FixedProbabilities, Gamma, Normal, NormalGamma)
"""Distributions for which the saddlepoint formula was compared with exact draws."""


def close(posterior: Posterior) -> bool:
    """Whether the saddlepoint formula is accurate: if all posteriors are exact, short-tailed and of a tested type."""
    # In tests, errors of probabilities were below 0.011 if the function returned True, otherwise up to 0.05. A tail is
    # long if a Normal-Gamma has fewer than 4 degrees of freedom (2a < 4), or if a concentration is below 1/2.
    if not posterior.exact:
        return False
    columns = posterior.features
    for feature, constant in posterior.constant.items():
        kept = np.setdiff1d(np.arange(posterior.statistics.features[feature].seen().shape[1]), constant)
        columns = {**columns, feature: columns[feature].columns(kept)}
    believed = [posterior.label, *(part for _, part in whole_parts(columns))]
    if not all(isinstance(prior, TRIED) for prior in believed):
        return False
    a = [np.min(prior.a, initial=np.inf) for prior in believed if isinstance(prior, NormalGamma)]
    dirichlet = [getattr(prior, name) for prior in believed for name in ("alpha", "beta") if hasattr(prior, name)]
    # The probability of an outcome with concentration 0 has no distribution.
    concentrations = [np.min(value[value > 0], initial=np.inf) for value in dirichlet]
    return min(a, default=np.inf) >= 2 and min(concentrations, default=np.inf) >= 0.5


# Log moments of the same cells are computed at many exponents. So the terms without the exponent are computed once, and
# columns of one kind (levels or zeros and ones; real numbers) are joined, for one loop over all of them. Chances and
# Reals below replace families.

EVALUATIONS = 32
"""Approximate number of evaluations per cell for an interval, which make compiled loops pay off at fewer rows."""


@dataclass(frozen=True, eq=False)
class Chances:
    """Moments of the likelihood of categorical and binary cells."""

    # ``own`` and ``total`` are the posterior concentrations of the cell's outcome and of all outcomes.

    compiled: bool

    def cumulants(self, total: Array, own: Array, t: Array) -> Array:
        """ln E[θ^t] with its first two derivatives, (3, row, class)."""
        return cumulants.chances(own, total, t, self.compiled)

    def moment_floor(self, total: Array, own: Array) -> Array:
        return -np.fmin.reduce(own[..., 0], axis=-1, initial=np.inf)


@dataclass(frozen=True, eq=False)
class Reals:
    """Moments of the Normal likelihood of numeric cells under a Normal-Gamma posterior."""

    # ``away`` is (x - m)² / (2b).

    compiled: bool

    def cumulants(self, believed: tuple[Array, Array, Array], away: Array, t: Array) -> Array:
        """ln E[p(x | θ)^t] with its first two derivatives, (3, row, class)."""
        return cumulants.normal_gammas(away, *believed, t, self.compiled)

    def moment_floor(self, believed: tuple[Array, Array, Array], away: Array) -> Array:
        shape, kappa, _ = believed
        each = -np.minimum(2 * shape[..., 0], kappa / (1 + kappa * away))
        return np.fmax.reduce(each, axis=-1, initial=-np.inf)


def prepared(factors: Sequence[tuple[Any, Prior, Any]], n_rows: int) -> list[tuple[Any, Any, Any]]:
    """Join categorical and binary columns into one factor of the likelihood, and Normal columns into another factor."""
    others: list[tuple[Any, Any, Any]] = []
    trials: list[tuple[Array, Array]] = []
    reals: list[tuple[Array, ...]] = []
    for family, believed, x in factors:
        trial = isinstance(believed, Beta | Dirichlet) and getattr(family, "support", None) in (ZEROS_AND_ONES, LEVELS)
        apart = isinstance(family, Conjugate) and not family.whole_rows and not sparse.issparse(x)
        if not apart or not (trial or isinstance(believed, NormalGamma)):
            others.append((family, believed, x))
            continue
        # The loops do not support a base measure that differs between cells, as that of LogNormal.
        cells, within = family.read(x)
        if within is not None:
            others.append((family, believed, x))
            continue
        belief, d, log_h = family.cells(believed, cells)
        known = np.broadcast_to(known_cells(cells), (len(x), 1, believed.batch_shape[1]))
        if trial:
            # Only columns of zeros and ones have increments d: d[0] is 1 or 0. For levels, alpha is that of the level.
            own = np.where(d[0] == 1, belief.alpha, belief.beta) if d else belief.alpha
            own = np.where(known, own, np.nan)
            if not (own == 0).any():
                trials.append((own, believed.total))
                continue
        else:
            with np.errstate(all="ignore"):
                away = np.where(known, belief.gap(*d[1:3]) ** 2 / (2 * belief.b), np.nan)
                base = log_h - 0.5 * np.log(belief.b)
            if base.ndim == 2 and not np.isinf(away).any():
                reals.append((away, belief.a, belief.kappa, base))
                continue
        others.append((family, believed, x))
    cells = [each[0] for each in (*trials, *reals)]
    compiled = EVALUATIONS * n_rows * sum(each.shape[-1] for each in cells) >= COMPILED_FROM
    if trials:
        own, total = (np.concatenate(each, axis=-1) for each in zip(*trials, strict=True))
        others.append((Chances(compiled), _for_gamma(total), _for_gamma(own)))
    if reals:
        away, a, kappa, base = (np.concatenate(each, axis=-1) for each in zip(*reals, strict=True))
        others.append((Reals(compiled), (_for_gamma(a), kappa, base), away))
    return others


def _for_gamma(a: Array) -> Array:
    with np.errstate(all="ignore"):
        return np.stack([a, np.log(a), stirling(a)], axis=-1)
