"""Events in a stretch of time or space: Poisson features with a Gamma prior, exposure allowed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy.special import digamma, gammaln, xlogy, zeta

from bayesnb.families.family import Family, Statistic, Theta, added, over_columns, per, require_left, scaled
from bayesnb.families.membership import Labels, Membership
from bayesnb.kernels.blocks import slices
from bayesnb.numerics import deviance, disagreement, log_peak
from bayesnb.priors import Array, Gamma, Size, log


@dataclass(frozen=True, eq=False)
class Exposed:
    """Counts (row, column) with the exposure (row,) in which they were seen, both NaN where missing."""

    counts: Array
    exposure: Array

    def __len__(self) -> int:
        return len(self.counts)

    def __getitem__(self, rows: Any) -> Exposed:
        return Exposed(self.counts[rows], self.exposure[rows])

    def columns(self, index: Sequence[int]) -> Exposed:
        """Some of the columns."""
        return Exposed(self.counts[:, index], self.exposure)


@dataclass(frozen=True, eq=False)
class Events(Statistic):
    """Exposure, events, rows and the largest log-likelihood that one rate can give them, all (class, column).

    The last falls by how much two parts disagree about their rate when they are added. A sum of log base measures
    would be of the size k ln k, and the evidence what is left of it: at counts of 1e15 nothing.
    """

    exposure: Array = per("column")
    events: Array = per("column")
    rows: Array = per("column")
    log_peak: Array = per("column", before="log_base")

    group = "poisson"
    signed = frozenset({"log_peak"})

    def __add__(self, other: Events) -> Events:
        both = added(self, other)
        both["log_peak"] -= disagreement(self.events, other.events, self.exposure, other.exposure)
        return Events(**both)

    def __mul__(self, factor: float) -> Events:
        return Events(**scaled(self, factor))

    def seen(self) -> Array:
        return self.rows

    def of_older_file(self) -> Events:
        return replace(self, log_peak=self.log_peak + self.fitted())

    def fitted(self) -> Array:
        """What the log-likelihood at the best rate has beside the base measure: k ln(k/e) - k of all events."""
        with np.errstate(all="ignore"):
            return np.where(self.events == 0, 0.0, self.events * (np.log(self.events / self.exposure) - 1.0))


@dataclass(frozen=True, eq=False)
class Poisson(Family[Gamma, Events]):
    """x | λ ~ Poisson(exposure × λ) with λ ~ Gamma(α, rate β) (BDA3 2.6).

    The predictive is negative binomial.

    Parameters
    ----------
    prior : Gamma
    exposure : str, optional
        Column that holds the exposure of each row (hours watched, area searched), positive; 1 if not given.

    Examples
    --------
    >>> from bayesnb import BayesianNB
    >>> calls = {"calls": [3, 5, 0], "hours": [1.0, 2.0, 1.0]}
    >>> clf = BayesianNB({"calls": Poisson(Gamma(1, 1), exposure="hours")}).fit(calls, ["day", "day", "night"])
    >>> clf.tables()["calls"]  # events an hour
           rate
    class
    day    2.25
    night  0.50
    """

    prior: Any = field(default_factory=Gamma)
    exposure: Any = None

    conjugate = Gamma
    reads = "counts"

    def flat(self) -> Poisson:
        return Poisson(Gamma.flat(), self.exposure)

    def statistic(self, x: Array | Exposed, members: Membership) -> Events:
        return reduce(add, (self._statistic(x[cut], members[cut]) for cut in slices(len(members))))

    def _statistic(self, x: Array | Exposed, members: Membership) -> Events:
        """The same of rows few enough for some copies of them."""
        counts, exposure = _cells(x)
        seen = ~np.isnan(counts)
        k, e = np.where(seen, counts, 0.0), np.where(seen, exposure, 0.0)
        events, exposed = members.totals(k), members.totals(e)
        rate = np.where(events > 0, events / np.where(exposed > 0, exposed, 1.0), 0.0)

        def cost(rate: Array) -> Array:
            return np.where(rate > 0, deviance(k, e * rate, k - e * rate), 0.0)

        return Events(exposed, events, members.totals(seen), members.totals(log_peak(k)) - members.costs(cost, rate))

    def complete(self, prior: Gamma, s: Events) -> Gamma:
        exposure = s.exposure.sum(0)
        rate = np.where(exposure > 0, s.events.sum(0) / np.where(exposure > 0, exposure, 1.0), np.nan)
        return prior.over(rate, len(s.events))

    def update(self, prior: Gamma, s: Events) -> Gamma:
        return Gamma(prior.alpha + s.events, prior.beta + s.exposure)

    def log_base(self, prior: Gamma, s: Events) -> Array:
        return s.log_peak - s.fitted()

    def log_ratio(self, prior: Gamma, s: Events) -> Array:
        return prior.along(s.events, s.exposure) + s.log_peak

    def mean(self, posterior: Gamma) -> Theta:
        return _theta(posterior.mean())

    def mode(self, posterior: Gamma) -> Theta:
        return _theta(posterior.mode())

    def draw(self, posterior: Gamma, rng: Generator, size: Size = ()) -> Theta:
        log_rate = posterior.log_draw(rng, size)
        return {"log_rate": log_rate, "rate": np.exp(log_rate)}

    def log_likelihood(self, theta: Theta, x: Array | Exposed) -> Array:
        def density(k: Array, log_rate: Array, rate: Array, e: Array) -> Array:
            expected = rate * e
            gap = k - expected
            with np.errstate(all="ignore"):
                # The logarithm of a rate is known where the rate is too small to be a number.
                far = np.where(k == 0, 0.0, k * (np.log(k / e) - log_rate)) - gap
                near = np.abs(gap) < 0.1 * (k + expected)
            return log_peak(k) - np.where(near, deviance(k, expected, gap), far)

        return _over_exposed(density, x, theta["log_rate"], theta["rate"])

    def log_predictive(self, posterior: Gamma, x: Array | Exposed) -> Array:
        posterior.require_proper("A predictive")
        return self.log_moment(posterior, x, 1.0)

    def log_moment(self, posterior: Gamma, x: Array | Exposed, t: float | Array) -> Array:
        t = np.asarray(t, float)[..., None]

        def density(k: Array, alpha: Array, beta: Array, e: Array) -> Array:
            return Gamma(alpha, beta).along(k, e, t) + t * log_peak(k)

        return _over_exposed(density, x, posterior.alpha, posterior.beta)

    def log_moment_slopes(self, posterior: Gamma, x: Array | Exposed, t: float | Array) -> tuple[Array, Array]:
        t = np.asarray(t, float)[..., None]

        def mean(k: Array, alpha: Array, beta: Array, e: Array) -> Array:
            rest = beta + t * e
            log_rate = np.where(k == 0, 0.0, k * (digamma(alpha + t * k) - np.log(rest / e)))
            return log_rate - gammaln(k + 1) - (alpha + t * k) * e / rest

        def variance(k: Array, alpha: Array, beta: Array, e: Array) -> Array:
            share = e / (beta + t * e)
            return k * (k * zeta(2.0, alpha + t * k) - 2 * share) + (alpha + t * k) * share**2

        with np.errstate(all="ignore"):
            cells = posterior.alpha, posterior.beta
            return _over_exposed(mean, x, *cells), _over_exposed(variance, x, *cells)

    def moment_floor(self, posterior: Gamma, x: Array | Exposed) -> Array:
        counts, exposure = (v[:, None] for v in _cells(x))
        with np.errstate(divide="ignore"):
            lowest = np.minimum(posterior.beta / exposure, posterior.alpha / counts)
        return -np.where(np.isnan(counts), np.inf, lowest).min(-1, initial=np.inf)

    def log_left_out(self, posterior: Gamma, x: Array | Exposed, labels: Labels) -> Array:
        counts, exposure = _cells(x)
        seen = ~np.isnan(counts)
        k, e = np.where(seen, counts, 0.0), np.where(seen, exposure, 1.0)
        w = np.where(seen, labels.weight[:, None], 0.0)
        alpha, beta = posterior.alpha[labels.codes] - w * k, posterior.beta[labels.codes] - w * e
        require_left(np.minimum(alpha, beta), labels)
        return np.where(seen, Gamma(alpha, beta).along(k, e) + log_peak(k), 0.0).sum(-1)

    def sample(self, theta: Theta, rng: Generator, s: Events) -> Array:
        return rng.poisson(theta["rate"]).astype(float)

    def linear(self, theta: Theta) -> tuple[Array, Array]:
        if self.exposure is not None:
            raise ValueError("its exposure multiplies the rates, so the log-odds are not linear in the counts")
        return theta["log_rate"], -theta["rate"].sum(-1)

    def variables(self, theta: Theta) -> dict[str, Array]:
        return {"rate": theta["rate"]}

    def theta(self, variables: Mapping[str, Array]) -> Theta:
        return _theta(variables["rate"])

    def pymc_prior(self, prior: Gamma, name: Callable[[str], str], dims: tuple[str, ...]) -> dict[str, Any]:
        return {"rate": prior.pymc(name, dims)}

    def pymc_statistic(self, theta: Mapping[str, Any], s: Events) -> Any:
        from pytensor import tensor as pt

        rate, known = theta["rate"], s.events > 0
        fitted = pt.switch(known, s.events * pt.log(s.events / s.exposure), 0.0) - s.events
        return (s.events * pt.log(rate) - s.exposure * rate - fitted + s.log_peak).sum()

    def pymc_rows(self, name: str, theta: Mapping[str, Any], x: Array | Exposed, y: Any) -> None:
        import pymc as pm

        counts, exposure = _cells(x)
        row, column = np.nonzero(~np.isnan(counts))
        mean = theta["rate"][y[row], column] * exposure[row, column]
        pm.Poisson(name, mu=mean, observed=counts[row, column].astype(int))

    def pymc_log_likelihood(self, theta: Mapping[str, Any], x: Array | Exposed) -> Any:
        from pytensor import tensor as pt

        counts, exposure = _cells(x)
        seen = ~np.isnan(counts)
        k, e = np.where(seen, counts, 0.0), np.where(seen, exposure, 0.0)
        base = np.where(seen, xlogy(k, np.where(seen, exposure, 1.0)) - gammaln(k + 1), 0.0).sum(-1)
        return pt.dot(k, pt.log(theta["rate"]).T) - pt.dot(e, theta["rate"].T) + base[:, None]


def _theta(rate: Array) -> Theta:
    """Rates, and their logarithms: a draw may be too small to be a number, and a large logarithm has no digits left."""
    return {"log_rate": log(rate), "rate": rate}


def _cells(x: Array | Exposed) -> tuple[Array, Array]:
    """Counts and exposure, both (row, column); a count without its exposure is missing."""
    if not isinstance(x, Exposed):
        counts = np.asarray(x, float)
        return counts, np.ones(counts.shape)
    exposure = np.broadcast_to(np.asarray(x.exposure, float)[:, None], x.counts.shape)
    return np.where(np.isnan(exposure), np.nan, x.counts), exposure


def _over_exposed(density: Any, x: Array | Exposed, *parameters: Array) -> Array:
    """``over_columns``, with the exposure of the row as a last argument of ``density``."""
    counts, exposure = _cells(x)
    row_exposure = (
        np.nan_to_num(exposure[:, :1, None], nan=1.0) if exposure.shape[1] else np.ones((len(exposure), 1, 1))
    )
    return over_columns(lambda k, *theta: density(k, *theta, row_exposure), counts, *parameters)
