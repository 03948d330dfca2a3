"""Counts that vary more than a Poisson count does: negative binomial features with a Beta prior."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy.special import gammaln

from bayesnb.families.columns import gathered_columns, of_each_column, over_columns
from bayesnb.families.conjugate import Added, Cells, Conjugate
from bayesnb.families.support import COUNTS
from bayesnb.kernels.blocks import slices
from bayesnb.numerics import Array, deviance, disagreement, log_peak, log_root
from bayesnb.priors import Beta, Theta
from bayesnb.statistics.membership import Membership
from bayesnb.statistics.statistic import Statistic, per


@dataclass(frozen=True, eq=False)
class Trials(Statistic):
    """Successes, failures, rows and the largest log-likelihood that one θ can give them, all (class, column).

    When two parts are added, the largest log-likelihood falls by how much they disagree about θ, as in ``Events``.
    """

    successes: Array = per("column")
    failures: Array = per("column")
    rows: Array = per("column")
    log_peak: Array = per("column")

    signed = frozenset({"log_peak"})

    def __add__(self, other: Trials) -> Trials:
        both = super().__add__(other)
        totals = self.successes + self.failures, other.successes + other.failures
        apart = sum(
            disagreement(getattr(self, what), getattr(other, what), *totals) for what in ("successes", "failures")
        )
        return replace(both, log_peak=both.log_peak - apart)

    def seen(self) -> Array:
        return self.rows


@dataclass(frozen=True, eq=False)
class NegativeBinomial(Conjugate[Beta, Trials]):
    """x | θ ~ NegativeBinomial(r, θ) with θ ~ Beta(α, β): the failures before the r-th success; r is given.

    The mean is μ = r (1 - θ) / θ and the variance μ + μ² / r, more than that of a Poisson count. With r = 1, the
    default, it is the geometric distribution. The predictive is a beta negative binomial (BDA3 2.6; Johnson, Kemp and
    Kotz, *Univariate Discrete Distributions*, 6.2.3).

    Parameters
    ----------
    prior : Beta
        Of θ, the probability of a success.
    r : float or array (column,)
        Positive. The smaller it is, the more do counts of one mean vary.

    Examples
    --------
    >>> from bayesnb import BayesianNB
    >>> visits = {"visits": [0, 3, 1, 14]}
    >>> clf = BayesianNB({"visits": NegativeBinomial(r=2)}).fit(visits, ["well", "well", "well", "ill"])
    >>> clf.tables()["visits"].round(2)
            mean  probability of a success
    class
    ill    10.00                      0.17
    well    1.43                      0.58
    """

    prior: Any = field(default_factory=Beta)
    r: Any = 1.0

    conjugate = Beta
    support = COUNTS

    def statistic(self, x: Array, members: Membership) -> Trials:
        return reduce(add, (self._statistic(x[cut], members[cut]) for cut in slices(len(members))))

    def _statistic(self, x: Array, members: Membership) -> Trials:
        """The statistic of a block of rows, which is small enough to be copied."""
        seen = ~np.isnan(x)
        k, r = np.where(seen, x, 0.0), np.where(seen, self._r(x.shape[1]), 0.0)
        failures, successes = members.totals(k), members.totals(r)
        odds = failures / np.where(successes > 0, successes, 1.0)

        def cost(odds: Array) -> Array:
            n, success, failure = k + r, 1 / (1 + odds), odds / (1 + odds)
            gap = k * success - r * failure
            fails, succeeds = deviance(k, n * failure, gap), deviance(r, n * success, -gap)
            return np.where(seen, np.where(odds > 0, fails, 0.0) + succeeds, 0.0)

        own = np.where(seen, _log_peak(k, self._r(x.shape[1])), 0.0)
        return Trials(successes, failures, members.totals(seen), members.totals(own) - members.costs(cost, odds))

    def resolve_prior(self, prior: Beta, s: Trials) -> Beta:
        return prior.over(s.rows.shape[1], s.rows.shape[0])

    def readable(self, theta: Theta) -> dict[str, Array]:
        log_theta = theta["log_theta"]
        r = self._r(log_theta.shape[-2])
        return {
            "mean": r * np.exp(log_theta[..., 0] - log_theta[..., 1]),
            "probability of a success": np.exp(log_theta[..., 1]),
        }

    def added(self, s: Trials) -> Added:
        return (s.successes, s.failures), s.log_peak

    def cells(self, posterior: Beta, x: Array) -> Cells:
        r = self._r(x.shape[1])
        return posterior, (r, x[:, None]), _log_peak(x[:, None], r)

    def log_likelihood(self, theta: Theta, x: Array) -> Array:
        r = np.broadcast_to(self._r(x.shape[1]), theta["log_theta"].shape[-3:-1])
        return over_columns(_density, x, r, theta["log_theta"][..., 0], theta["log_theta"][..., 1])

    def sample(self, theta: Theta, rng: Generator, s: Trials) -> Array:
        log_theta = theta["log_theta"]
        rate = np.exp(log_theta[..., 0] - log_theta[..., 1])
        # A negative binomial count is a Poisson count whose mean has a Gamma distribution.
        return rng.poisson(rate * rng.standard_gamma(self._r(rate.shape[-1]), rate.shape)).astype(float)

    def linear(self, theta: Theta) -> tuple[Array, Array]:
        log_theta = theta["log_theta"]
        return log_theta[..., 0], (self._r(log_theta.shape[-2]) * log_theta[..., 1]).sum(-1)

    def gathered(self, cells: Sequence[tuple[NegativeBinomial, int]]) -> NegativeBinomial:
        return replace(self, r=gathered_columns([(family.r, k) for family, k in cells]))

    def pymc_rows(self, name: str, theta: Mapping[str, Any], x: Array, y: Any) -> None:
        import pymc as pm

        row, column = np.nonzero(~np.isnan(x))
        r, p = self._r(x.shape[1])[column], theta["theta"][y[row], column]
        pm.NegativeBinomial(name, n=r, p=p, observed=x[row, column].astype(int))

    def pymc_log_likelihood(self, theta: Mapping[str, Any], x: Array) -> Any:
        from pytensor import tensor as pt

        r, seen, p = self._r(x.shape[1]), ~np.isnan(x), theta["theta"].T
        k = np.where(seen, x, 0.0)
        base = np.where(seen, gammaln(k + r) - gammaln(r) - gammaln(k + 1), 0.0).sum(-1, keepdims=True)
        return pt.dot(seen * r, pt.log(p)) + pt.dot(k, pt.log1p(-p)) + base

    def _r(self, n_columns: int) -> Array:
        return of_each_column("r", self.r, n_columns)


def _log_peak(k: Array, r: Array) -> Array:
    """The log probability of k failures at the θ that fits them best, r / (r + k)."""
    return log_root(r, r + k) + log_peak(k)


def _density(k: Array, r: Array, log_failure: Array, log_success: Array) -> Array:
    """The log probability of k failures, as ``_log_peak`` less a deviance; see ``numerics.deviance``."""
    failure, success, n = np.exp(log_failure), np.exp(log_success), k + r
    gap = k * success - r * failure
    with np.errstate(all="ignore"):
        near = np.abs(gap) < 0.1 * np.minimum(k + n * failure, r + n * success)
        close = deviance(k, n * failure, gap) + deviance(r, n * success, -gap)
        far = r * (np.log(r / n) - log_success) + np.where(k == 0, 0.0, k * (np.log(k / n) - log_failure))
    return _log_peak(k, r) - np.where(near, close, far)
