"""The posterior distribution of the log-odds of two classes, row by row and without a draw.

Start with :class:`LogOdds`. Its cumulant generating function is exact, a sum of closed forms; the saddlepoint formula
makes probabilities and quantiles of it, and :func:`close` says where that is accurate. Of more classes,
:func:`drawn_log_joint` draws the log density of a row in each class in the same way.

``offset``, (row, class), is added to log p(class, row): it holds the class priors of rows that have their own.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri, softmax

from bayesnb.families.columns import LEVELS, ZEROS_AND_ONES, known_cells
from bayesnb.families.conjugate import Conjugate
from bayesnb.families.family import Family
from bayesnb.inference.believed import Believed, chosen_classes
from bayesnb.kernels import cumulants
from bayesnb.model import Data, Posterior
from bayesnb.numerics import Array, stirling
from bayesnb.priors import Beta, Dirichlet, FixedProbabilities, Gamma, Normal, NormalGamma, Prior

WIDE = 1e20
"""The variance of log-odds from which on the saddlepoint formula is not used."""


LARGE = 1e12
"""The size of N from which on it is not: differences of about 1 decide, and a float has 16 digits."""


NEAR = 0.05
"""Standard deviations around the mean within which the two terms of the saddlepoint formula cancel."""


@dataclass(frozen=True, eq=False)
class LogOdds:
    """The posterior distribution of ln J_a(θ)/J_b(θ) of each row, where J_c = π_c ∏ p(x_f | θ_cf).

    N(t) = ln E[J_a^t J_b^(s - t)] is a sum of the log moments of the factors, where s is ``power``. It is exact for t
    between ``bounds``; outside, some factor has no moment. Inside, N' takes every real value.

    With s = 0, N is the cumulant generating function of the log-odds under p(θ | D), the posterior given the data. With
    s = 1 it serves p(θ | D, x), the posterior given the row too. That is a mixture of two posteriors: the row has class
    b with probability proportional to e^N(0), and the log-odds then have the cumulant generating function N(t) - N(0);
    or class a, with e^N(1) and N(1 + t) - N(1). So the components, at the origins 0 to s, share one N, and therefore
    one saddlepoint: the t with N'(t) = z.

    The distribution function of each component is that of Lugannani and Rice (1980; Butler 2007, Saddlepoint
    Approximations, 1.2.1). It is an approximation; :func:`close` says how good it is.

    Parameters
    ----------
    factors : sequence of (Family, Prior, encoded column)
        The family, the belief about θ_a and θ_b, and the rows.
    label : Dirichlet, FixedProbabilities or None
        The belief about the probabilities of the two classes; None if they are left out.
    offset : array (row,)
        Added to the log-odds.
    power : {0, 1}
        How often the row itself counts: 0 is given the data, 1 is given the row too.
    """

    factors: Sequence[tuple[Family, Prior, Any]]
    label: Dirichlet | FixedProbabilities | None
    offset: Array
    power: int = 0

    @classmethod
    def of(
        cls,
        posterior: Posterior,
        data: Data,
        n_rows: int,
        a: int = 0,
        b: int = 1,
        offset: Array | float = 0.0,
        power: int = 0,
    ) -> LogOdds:
        """The log-odds of the classes at two positions; ``offset`` spreads to (row, class)."""
        posterior.model.require_exact("the moments of the log-odds", 'use method="draws"')
        features = posterior.model.features.items()
        factors = [(family, posterior.features[name].at([a, b]), data[name]) for name, family in features]
        return replace(cls.of_classes(posterior, n_rows, a, b, offset), factors=factors, power=power)

    @classmethod
    def of_classes(cls, posterior: Posterior, n_rows: int, a: int, b: int, offset: Array | float = 0.0) -> LogOdds:
        """The log-odds of two classes by the class prior alone."""
        offset = np.broadcast_to(offset, (n_rows, len(posterior.labels)))
        with np.errstate(invalid="ignore"):
            offset = offset[:, a] - offset[:, b]
        return cls((), posterior.label.at([a, b]), offset)

    def prepared(self) -> LogOdds:
        """The same factors in arrays for compiled loops, which are faster for many rows."""
        return replace(self, factors=prepared(self.factors))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.offset)

    def __getitem__(self, rows: Array) -> LogOdds:
        factors = [(family, believed, x[rows]) for family, believed, x in self.factors]
        return LogOdds(factors, self.label, self.offset[rows], self.power)

    @cached_property
    def bounds(self) -> tuple[Array, Array]:
        """The open interval of t on which N exists, two arrays (row,)."""
        floor = np.full((self.n_rows, 2), -np.inf)
        for family, believed, x in self.factors:
            floor = np.maximum(floor, family.moment_floor(believed, x))
        if self.label is not None:
            floor = np.maximum(floor, self.label.log_power_floor())
        return floor[:, 0], self.power - floor[:, 1]

    def cumulants(self, t: Array) -> tuple[Array, Array, Array]:
        """N(t), N'(t) and N''(t), (row,) each."""
        both = np.stack([t, self.power - t], axis=1)
        level, first, second = found = np.zeros((3, self.n_rows, 2))
        for family, believed, x in self.factors:
            found += family.cumulants(believed, x, both)
        if self.label is not None:
            found += np.stack(self.label.log_powers(both))
        with np.errstate(invalid="ignore"):
            return level.sum(1) + t * self.offset, first[:, 0] - first[:, 1] + self.offset, second.sum(1)

    @property
    def _origins(self) -> Array:
        """The t at which the components have their own mean, (component, 1)."""
        return np.arange(self.power + 1.0)[:, None]

    @cached_property
    def _at_origins(self) -> tuple[Array, Array, Array]:
        """N, N' and N'' at the origins, (component, row) each."""
        found = [self.cumulants(np.full(self.n_rows, origin)) for origin in self._origins[:, 0]]
        level, mean, variance = (np.stack(each) for each in zip(*found, strict=True))
        return level, mean, variance

    @property
    def too_wide(self) -> Array:
        """The rows, as booleans, whose log-odds vary so much that floats near 1 do not tell their saddlepoints apart.

        An example is a row a hundred thousand standard deviations away. N may have lost its digits there; the log-odds,
        or their variance, may be no floats.
        """
        level, mean, variance = self._at_origins
        return ~(np.isfinite(mean) & (variance < WIDE) & (np.abs(level) < LARGE)).all(0)

    @cached_property
    def weights(self) -> Array:
        """The probability of each component, (component, row)."""
        level = self._at_origins[0]
        return softmax(level, axis=0) if self.power else np.ones(level.shape)

    @property
    def mean(self) -> Array:
        """E[log-odds], (row,), exact. Infinite if one class is impossible, NaN if both are."""
        return (self.weights * self._at_origins[1]).sum(0)

    @property
    def variance(self) -> Array:
        """Var[log-odds], (row,): exact."""
        _, mean, variance = self._at_origins
        between = (self.weights * (mean - self.mean) ** 2).sum(0) if self.power else 0.0
        return (self.weights * variance).sum(0) + between

    @cached_property
    def _moving(self) -> tuple[Array, LogOdds]:
        """The rows whose log-odds vary, and their distribution; the others have one certain value."""
        _, mean, variance = self._at_origins
        varies = (variance > 0) & np.isfinite(variance) & np.isfinite(mean)
        rows = np.flatnonzero(varies.all(0))
        return rows, self if len(rows) == self.n_rows else self[rows]

    @cached_property
    def _formula(self) -> Array:
        """N at the origin of each component, its weight, h, and w and its correction at -h and at h, in this order.

        At the origin of a component its correction is the difference of two infinite terms. It is smooth, so between
        -h and h around the origin it is interpolated by a straight line. The array is (quantity, component, row).
        """
        level, _, variance = self._at_origins
        with np.errstate(divide="ignore", invalid="ignore"):
            h = NEAR / np.sqrt(variance)
        found = [level, self.weights, h]
        for away in (-h, h):
            reached, z, curvature = np.stack([self.cumulants(t) for t in self._origins + away], axis=1)
            found += _signed_root(away, reached - level, z, curvature)
        return np.stack(found)

    def _below(self, t: Array, rows: Array) -> tuple[Array, Array, Array, Array]:
        """P(log-odds < z) of some rows at z = N'(t), then z, N''(t) and the slope of z in Φ⁻¹ of that probability."""
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
            # Far out the slope may be infinite. A search that meets it takes the middle of its bracket.
            slope = np.sqrt(curvature) * np.exp(0.5 * (nearest - ndtri(below) ** 2)) / density
        return below, z, curvature, slope

    def cdf(self, z: float | Array) -> Array:
        """P(log-odds < z), (row,)."""
        below, (moving, part) = (self.mean < z).astype(float), self._moving
        z = np.broadcast_to(np.asarray(z, float), (self.n_rows,))[moving]

        def ask(rows: Array, t: Array) -> tuple[Array, Array, Array]:
            below[moving[rows]], slope, curvature, _ = part._below(t, rows)
            miss = z[rows] - slope
            return miss, miss / curvature, np.abs(miss) <= 1e-9 * np.sqrt(curvature)

        part._search((z - part.mean) / np.sqrt(part.variance), ask)
        return below

    def quantile(self, q: float) -> Array:
        """z with P(log-odds < z) = q, (row,); ``q`` strictly between 0 and 1.

        The distribution function there is within 1e-6 of ``q``.
        """
        quantiles, (moving, part), aim = self.mean.copy(), self._moving, ndtri(q)

        def ask(rows: Array, t: Array) -> tuple[Array, Array, Array]:
            below, z, curvature, slope = part._below(t, rows)
            miss = aim - ndtri(below)
            quantiles[moving[rows]] = z + miss * slope
            return miss, miss * slope / curvature, (np.abs(below - q) <= 1e-7) & (np.abs(miss) <= 0.01)

        part._search(aim, ask)
        return quantiles

    def _search(self, aim: float | Array, ask: Callable[[Array, Array], tuple[Array, Array, Array]]) -> None:
        """Search the t of each row at which a function of t is near enough to 0, by Newton's method within a bracket.

        The search begins where P(log-odds < N'(t)) is about Φ(aim): Φ⁻¹ of the distribution function of one component
        is nearly a straight line in t. ``ask`` takes some rows and their t. It returns the function, which is positive
        where t is too small, Newton's step, and whether the function is near enough to 0. A step may leave the bracket,
        or fail to halve the function; then the middle of the bracket is next, or if it has no end, twice the t.
        """
        low, high = (bound.copy() for bound in self.bounds)
        _, _, h, *ends = self._formula
        before, after = (ndtri(_lugannani_rice(*end)) for end in (ends[:2], ends[2:]))
        t = self._origins + h * (2 * aim - before - after) / (after - before)
        # A quantile of a mixture lies between those of its components.
        t = (self.weights * np.clip(t, 0.7 * low, self.power + 0.7 * (high - self.power))).sum(0)
        rest, last = np.arange(self.n_rows), np.full(self.n_rows, np.inf)
        for _ in range(200):
            if not len(rest):
                break
            here = t[rest]
            with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
                miss, step, near = ask(rest, here)
                low[rest], high[rest] = np.where(miss > 0, here, low[rest]), np.where(miss > 0, high[rest], here)
                middle, step = (low[rest] + high[rest]) / 2, here + step
                middle = np.where(np.isfinite(middle), middle, 2 * here + np.sign(miss))
            inside = (low[rest] < step) & (step < high[rest]) & (np.abs(miss) <= last[rest] / 2)
            t[rest], last[rest] = np.where(inside, step, middle), np.abs(miss)
            rest = rest[~near]


def _signed_root(away: Array, rise: Array, z: Array, curvature: Array) -> tuple[Array, Array]:
    """w, the signed root of 2 (away z - rise), and its correction 1/w - 1/u, where N has risen from an origin."""
    w = np.sign(away) * np.sqrt(np.maximum(2 * (away * z - rise), 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        return w, 1 / w - 1 / (away * np.sqrt(curvature))


def _lugannani_rice(w: Array, correction: Array) -> Array:
    """Φ(w) + φ(w) (1/w - 1/u), kept inside (0, 1)."""
    below = ndtr(w) + np.exp(-0.5 * w**2) / np.sqrt(2 * np.pi) * correction
    return np.clip(below, np.finfo(float).tiny, 1 - np.finfo(float).epsneg)


TRIED = (Beta, Dirichlet, FixedProbabilities, Gamma, Normal, NormalGamma)
"""The beliefs beside whose exact draws the saddlepoint formula was tried."""


def close(posterior: Posterior) -> bool:
    """Whether the saddlepoint formula of :class:`LogOdds` had an error below 0.011 in all tables that were tried.

    It was tried beside exact draws on more than a hundred small tables (1 + 1 to 200 + 1 rows, one and ten columns,
    Gaussian, categorical and Poisson, priors from the defaults to 0.01) given the data, and on thirty of them given the
    row too, where the largest error was 0.0084. Without this condition it was off by up to 0.05 either way. Its error
    is larger if a factor of some class has a long tail: a Normal-Gamma with fewer than 4 degrees of freedom
    (2a < 4, as after one or two rows), or a concentration below 1/2.
    """
    believed = [posterior.label, *posterior.features.values()]
    if not all(isinstance(prior, TRIED) for prior in believed):
        return False
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
        # Between infinite draws nothing can be interpolated, and a certain value needs no second draw.
        return self.draws[0] if len(self.draws) == 1 else np.quantile(self.draws, q, axis=0)

    def cdf(self, z: float) -> Array:
        """P(log-odds < z | D), (row,)."""
        return (self.draws < z).mean(0)


# Log moments are computed at many exponents of the same cells. So the terms without the exponent are computed once, and
# the columns of levels, of zeros and ones, and of real numbers stand side by side, for compiled loops that give a log
# moment with its two derivatives. What comes back is read in the same way as the families and their encoded columns.


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


# Draws of ln p(row | class, θ) without draws of θ, for models of many thousand parameters. ln p(row | θ) of a class is
# a sum over columns of independent terms, so its cumulant generating function K is the sum of their log moments, which
# are closed forms. With t such that K'(t) = z, let w be the signed root of 2 (t z - K(t)) and u = t √K''(t). Then
#
#     P(ln p(row | θ) < z) ≈ Φ(w + ln(u / w) / w)
#
# (Barndorff-Nielsen 1986; Butler 2007, "Saddlepoint Approximations", 1.2.4 and 1.5). The error falls with the number of
# columns. So a draw is the z whose normal score, the argument of Φ, is a standard normal variate.

SCORES = np.linspace(-6.0, 6.0, 24)
"""About the normal scores at which z is computed; between them it is interpolated. None is 0, where u / w is 0 / 0."""


def drawn_log_joint(
    believed: Believed, draws: int, seed: Any, data: Data, n_rows: int, offset: Array | float = 0.0
) -> Array:
    """Draws of log p(c, x | θ), (draw, row, class), for a posterior in closed form.

    They are NaN for rows so far out that floats do not tell the saddlepoints apart.

    Parameters
    ----------
    believed : Believed
    draws : int
    seed : Any
        As ``numpy.random.default_rng`` takes it; a Generator is copied, so its state does not change.
    data, n_rows
    offset : array that spreads to (row, class)
    """
    rng, posterior = np.random.default_rng(copy.deepcopy(seed)), believed.posterior
    classes = np.arange(len(posterior.labels))
    log_pi, score = posterior.label.log_draw(rng, (draws,)), rng.standard_normal((draws, len(classes)))
    features = posterior.model.features.items()
    factors = prepared([(family, posterior.features[name], data[name]) for name, family in features])
    predictive = posterior.log_predictive(data, n_rows) + offset
    impossible = np.isneginf(predictive)
    joint = log_pi[:, None] + _sums(factors, impossible, 0.0, score)
    if believed.power:
        chosen = chosen_classes(predictive, rng.random(draws))[..., None]
        counted = posterior.label.log_counted(log_pi, rng)[:, None] + _sums(factors, impossible, 1.0, score)
        joint = np.where(chosen == classes, counted, joint)
    return joint + offset


def _sums(factors: Sequence[tuple[Any, Any, Any]], impossible: Array, origin: float, score: Array) -> Array:
    """ln p(row | θ_c) at normal scores (draw, class), (draw, row, class).

    ``impossible`` (row, class) says which classes cannot have a row. ``origin`` is 0 for θ given the data, and 1 for θ
    given the data and the row as one of class c: the cumulant generating function is then K(1 + t) - K(1).
    """
    shape = impossible.shape

    def cumulants(t: Array) -> Array:
        return sum((family.cumulants(believed, x, t) for family, believed, x in factors), np.zeros((3, *shape)))

    floor = np.full(shape, -np.inf)
    for family, believed, x in factors:
        floor = np.maximum(floor, family.moment_floor(believed, x))
    with np.errstate(all="ignore"):
        level, mean, variance = cumulants(np.full(shape, origin))
        nodes = []
        for about in SCORES:
            away = about / np.sqrt(variance)
            # K has no value below the floor, and its slope falls without end there.
            away = np.where(away < 0, away / (1 + away / (0.95 * (floor - origin))), away)
            found, z, curvature = cumulants(origin + away)
            w = np.sign(away) * np.sqrt(2 * (away * z - (found - level)))
            nodes.append((w + np.log(away * np.sqrt(curvature) / w) / w, z))
        scores, values = np.moveaxis(np.array(nodes), 1, 0)
        near = (variance < WIDE) & (np.abs(level) < LARGE) & (np.diff(scores, axis=0) > 0).all(axis=0)
    from scipy.interpolate import PchipInterpolator

    total = np.empty((len(score), *shape))
    for row, c in np.ndindex(shape):
        if impossible[row, c]:
            total[:, row, c] = -np.inf
        elif variance[row, c] == 0:
            total[:, row, c] = mean[row, c]
        elif near[row, c]:
            total[:, row, c] = PchipInterpolator(scores[:, row, c], values[:, row, c])(score[:, c])
        else:
            total[:, row, c] = np.nan
    return total
