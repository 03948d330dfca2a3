"""How sure the class probabilities are: the posterior distribution of p(class | row, θ), row by row.

Start with :func:`intervals`. The class probability is a function of the parameters θ, and θ has a posterior; so the
probability has a distribution, of which ``predict_proba`` tells nothing. With two classes it follows from the
cumulant generating function of the log-odds, without a draw (:class:`LogOdds`); with more, from exact draws.

``offset`` is what is added to log p(class, row), (row, class): the class prior of a view that has one a row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit, ndtr, ndtri
from scipy.stats import entropy

from bayesnb.families.membership import blocks
from bayesnb.model import Data, Parameters, Posterior, normalize
from bayesnb.priors import Array, Known, log, log_gamma_slopes, log_rising

NEAR = 0.05
"""Standard deviations around the mean within which the two terms of the saddlepoint formula cancel."""

CHUNK = 2**21
"""Numbers of a temporary array, about 16 MiB."""


@dataclass(frozen=True, eq=False)
class LogOdds:
    """The posterior distribution of ln J_a(θ)/J_b(θ) of each row, where J_c = π_c ∏ p(x_f | θ_cf).

    K(t) = ln E[(J_a/J_b)^t] is a sum of the log moments of the factors, and exact for t between ``bounds``; outside,
    some factor has no moment. Inside, K' takes every real value, so every value of the log-odds has its saddlepoint.
    The distribution function is Lugannani and Rice's (1980; Butler 2007, Saddlepoint Approximations, 1.2.1).

    Parameters
    ----------
    pair : Posterior
        Of two classes, a and b.
    data : {name: encoded column}
    n_rows : int
    offset : array (row,)
        Added to the log-odds.
    """

    pair: Posterior
    data: Data
    n_rows: int
    offset: Array

    @classmethod
    def of(cls, posterior: Posterior, data: Data, n_rows: int, a: int = 0, b: int = 1, offset: Array = 0.0) -> LogOdds:
        """The log-odds of the classes at two positions; ``offset`` spreads to (row, class)."""
        offset = np.broadcast_to(offset, (n_rows, len(posterior.labels)))
        return cls(posterior.classes([a, b]), data, n_rows, offset[:, a] - offset[:, b])

    def __getitem__(self, rows: Array) -> LogOdds:
        return LogOdds(self.pair, {name: x[rows] for name, x in self.data.items()}, len(rows), self.offset[rows])

    @cached_property
    def bounds(self) -> tuple[Array, Array]:
        """The open interval of t on which K exists, two arrays (row,)."""
        floor = np.full((self.n_rows, 2), -np.inf)
        for name, family in self.pair.model.features.items():
            floor = np.maximum(floor, family.moment_floor(self.pair.features[name], self.data[name]))
        if not isinstance(self.pair.label, Known):
            floor = np.maximum(floor, -self.pair.label.alpha)
        return floor[:, 0], -floor[:, 1]

    def cumulants(self, t: Array) -> tuple[Array, Array, Array]:
        """K(t), K'(t) and K''(t), (row,) each."""
        both = np.stack([t, -t], axis=1)
        level, first, second = (np.zeros((self.n_rows, 2)) for _ in range(3))
        for name, family in self.pair.model.features.items():
            believed, x = self.pair.features[name], self.data[name]
            level += family.log_moment(believed, x, both)
            slopes = family.log_moment_slopes(believed, x, both)
            first += slopes[0]
            second += slopes[1]
        if isinstance(self.pair.label, Known):
            level += both * log(self.pair.label.p)
            first += log(self.pair.label.p)
        else:
            slopes = log_gamma_slopes(self.pair.label.alpha + both)
            level += log_rising(self.pair.label.alpha, both)
            first += slopes[0]
            second += slopes[1]
        return level.sum(1) + t * self.offset, first[:, 0] - first[:, 1] + self.offset, second.sum(1)

    @cached_property
    def _at_zero(self) -> tuple[Array, Array]:
        _, mean, variance = self.cumulants(np.zeros(self.n_rows))
        return mean, variance

    @property
    def mean(self) -> Array:
        """E[log-odds], (row,): exact."""
        return self._at_zero[0]

    @property
    def variance(self) -> Array:
        """Var[log-odds], (row,): exact."""
        return self._at_zero[1]

    def _terms(self, t: Array) -> tuple[Array, Array, Array, Array]:
        """K'(t), K''(t), the signed root w and the correction 1/w - 1/u of the saddlepoint t."""
        level, z, bend = self.cumulants(t)
        w = np.sign(t) * np.sqrt(np.maximum(2 * (t * z - level), 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            return z, bend, w, 1 / w - 1 / (t * np.sqrt(bend))

    @cached_property
    def _near_mean(self) -> tuple[Array, Array, Array]:
        """A step h in t, and the correction at -h and h: between them it is a straight line."""
        with np.errstate(divide="ignore"):
            h = np.where(self.variance > 0, NEAR / np.sqrt(self.variance), 1.0)
        return h, self._terms(-h)[3], self._terms(h)[3]

    def _below(self, t: Array, near: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        """K'(t), K''(t) and P(log-odds < K'(t))."""
        h, left, right = near
        z, bend, w, correction = self._terms(t)
        line = ((h - t) * left + (h + t) * right) / (2 * h)
        correction = np.where(np.abs(t) < h, line, correction)
        below = ndtr(w) + np.exp(-0.5 * w**2) / np.sqrt(2 * np.pi) * correction
        return z, bend, np.clip(below, np.finfo(float).tiny, 1 - np.finfo(float).epsneg)

    def cdf(self, z: float | Array) -> Array:
        """P(log-odds < z | D), (row,)."""
        z = np.broadcast_to(np.asarray(z, float), (self.n_rows,))
        fixed = self.variance == 0
        t = self._saddlepoints(np.where(fixed, self.mean, z))
        below = self._below(t, self._near_mean)[2]
        return np.where(fixed, (self.mean < z).astype(float), below)

    def _saddlepoints(self, z: Array) -> Array:
        """t with K'(t) = z, by Newton's steps that never leave the bracket."""
        low, high = (bound.copy() for bound in self.bounds)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.nan_to_num((z - self.mean) / self.variance)
        t = np.clip(t, low / 2, high / 2)
        rest = np.arange(self.n_rows)
        for _ in range(200):
            _, slope, bend = self[rest].cumulants(t[rest])
            off = np.abs(slope - z[rest]) > 1e-9 * np.sqrt(bend)
            rest, miss, bend = rest[off], (slope - z[rest])[off], bend[off]
            if not len(rest):
                break
            here = t[rest]
            low[rest], high[rest] = np.where(miss < 0, here, low[rest]), np.where(miss < 0, high[rest], here)
            with np.errstate(divide="ignore", invalid="ignore"):
                step = np.nan_to_num(here - miss / bend, nan=np.inf)
            inside = (low[rest] < step) & (step < high[rest])
            # Halving the bracket, or doubling where it has no end.
            middle = (low[rest] + high[rest]) / 2
            t[rest] = np.where(inside, step, np.where(np.isfinite(middle), middle, 2 * here - np.sign(miss)))
        return t

    def quantile(self, q: float) -> Array:
        """z with P(log-odds < z | D) = q, (row,); ``q`` strictly between 0 and 1."""
        h, *_ = near = self._near_mean
        aim, (low, high) = ndtri(q), self.bounds
        # Φ⁻¹ of the distribution function is nearly a straight line in t, of slope √K''.
        ends = [ndtri(self._below(s, near)[2]) for s in (-h, h)]
        slope = (ends[1] - ends[0]) / (2 * h)
        t = np.clip((aim - (ends[0] + ends[1]) / 2) / slope, 0.7 * low, 0.7 * high)
        found, rest = self.mean.copy(), np.flatnonzero(self.variance > 0)
        for _ in range(60):
            if not len(rest):
                break
            z, bend, below = self[rest]._below(t[rest], tuple(v[rest] for v in near))
            miss, root = aim - ndtri(below), np.sqrt(bend)
            found[rest] = z + miss * root
            # Never more than half of the way to where K ends.
            t[rest] = np.clip(t[rest] + miss / root, (t[rest] + low[rest]) / 2, (t[rest] + high[rest]) / 2)
            rest = rest[np.abs(miss) > 1e-4]
        return found


def intervals(
    posterior: Posterior, data: Data, n_rows: int, shares: Array, drawn: Parameters | None = None, offset: Array = 0.0
) -> Array:
    """Quantiles of p(class | row, θ) under the posterior of θ, (quantile, row, class).

    Parameters
    ----------
    posterior : Posterior
    data, n_rows
    shares : sequence of float
        Which quantiles.
    drawn : Parameters, optional
        Posterior draws to take them from. Without, the saddlepoint formula, for two classes.
    offset : array that spreads to (row, class)
    """
    if drawn is not None:
        parts = [np.quantile(p, shares, axis=0) for _, p in probabilities(drawn, data, n_rows, offset)]
        return np.concatenate(parts, axis=1)
    found = np.empty((len(shares), n_rows, 2))
    for rows, certain, log_odds in _two_classes(posterior, data, n_rows, offset):
        z = np.array([certain if log_odds is None else log_odds.quantile(q) for q in shares])
        found[:, rows, 0] = expit(z)
        # The lower end of one class is the upper end of the other.
        mirrored = np.array([certain if log_odds is None else log_odds.quantile(1 - q) for q in shares])
        found[:, rows, 1] = expit(-mirrored)
    return found


def prob_top(
    posterior: Posterior, data: Data, codes: Array, drawn: Parameters | None = None, offset: Array = 0.0
) -> Array:
    """P(class ``codes[i]`` of row i is the most probable one under θ | D), (row,)."""
    if drawn is not None:
        parts = [(p.argmax(-1) == codes[rows]).mean(0) for rows, p in probabilities(drawn, data, len(codes), offset)]
        return np.concatenate(parts)
    found = np.empty(len(codes))
    for rows, certain, log_odds in _two_classes(posterior, data, len(codes), offset):
        below = (certain < 0).astype(float) if log_odds is None else log_odds.cdf(0.0)
        found[rows] = np.where(codes[rows] == 0, 1 - below, below)
    return found


def _two_classes(
    posterior: Posterior, data: Data, n_rows: int, offset: Array
) -> Iterator[tuple[Array, Array, LogOdds | None]]:
    """The log-odds of rows, a few at a time; of rows that one class cannot have produced, the infinite ones."""
    offset = np.broadcast_to(offset, (n_rows, 2))
    whole = LogOdds.of(posterior, data, n_rows, offset=offset)
    log_joint = posterior.log_predictive(data, n_rows) + offset
    normalize(log_joint)
    ruled_out = np.isneginf(log_joint)
    if (rows := np.flatnonzero(ruled_out.any(1))).size:
        yield rows, np.where(ruled_out[rows, 0], -np.inf, np.inf), None
    possible = np.flatnonzero(~ruled_out.any(1))
    for cut in blocks(len(possible), 2**14):
        if len(rows := possible[cut]):
            yield rows, np.empty(0), whole[rows]


def probabilities(drawn: Parameters, data: Data, n_rows: int, offset: Array = 0.0) -> Iterator[tuple[slice, Array]]:
    """p(class | row, θ) at every draw, (draw, row, class), a few rows at a time."""
    offset = np.broadcast_to(offset, (n_rows, drawn.log_pi.shape[-1]))
    for cut in blocks(n_rows, max(1, CHUNK // drawn.log_pi.size)):
        part = {name: x[cut] for name, x in data.items()}
        yield cut, np.exp(normalize(drawn.log_joint(part, len(offset[cut])) + offset[cut]))


def entropies(drawn: Parameters, data: Data, n_rows: int, offset: Array = 0.0) -> tuple[Array, Array]:
    """Entropy of the mean of p(class | row, θ) over draws, and mean of its entropy, in nats, (row,) each.

    Their difference is the mutual information of class and parameters (Houlsby et al. 2011; Depeweg et al. 2018),
    never negative. The mean over draws is an average of ratios, and not the predictive.
    """
    total, within = np.empty((2, n_rows))
    for rows, p in probabilities(drawn, data, n_rows, offset):
        total[rows] = entropy(p.mean(0), axis=-1)
        within[rows] = entropy(p, axis=-1).mean(0)
    return total, np.minimum(within, total)


def log_odds_moments(posterior: Posterior, data: Data, n_rows: int, offset: Array = 0.0) -> tuple[Array, Array]:
    """Posterior mean and variance of ln p(a | x, θ) / p(b | x, θ) for all pairs, (row, a, b) each: exact.

    The first two derivatives at 0 of the log moments of the factors.
    """
    mean, variance = np.zeros((2, n_rows, len(posterior.labels)))
    for name, family in posterior.model.features.items():
        slopes = family.log_moment_slopes(posterior.features[name], data[name], 0.0)
        mean += slopes[0]
        variance += slopes[1]
    if isinstance(posterior.label, Known):
        mean += log(posterior.label.p)
    else:
        slopes = log_gamma_slopes(posterior.label.alpha)
        mean += slopes[0]
        variance += slopes[1]
    mean = mean + offset
    between = variance[:, :, None] + variance[:, None, :]
    classes = np.arange(len(posterior.labels))
    between[:, classes, classes] = 0.0
    return mean[:, :, None] - mean[:, None, :], between
