"""Events in a stretch of time or space: Poisson features with a Gamma prior, exposure allowed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy.special import gammaln, xlogy

from bayesnb.families.columns import over_columns
from bayesnb.families.conjugate import Added, Cells, Conjugate
from bayesnb.families.events import Events, pooled_rates
from bayesnb.families.support import COUNTS
from bayesnb.kernels.blocks import slices
from bayesnb.numerics import Array, deviance, log_peak, rate_deviance
from bayesnb.priors import Gamma, Theta
from bayesnb.statistics.membership import Membership


@dataclass(frozen=True, eq=False)
class Exposed:
    """Counts (row, column) with the exposure (row,) in which they were seen, both NaN where missing."""

    counts: Array
    exposure: Array

    def __len__(self) -> int:
        return len(self.counts)

    def __getitem__(self, rows: Any) -> Exposed:
        return Exposed(self.counts[rows], self.exposure[rows])

    def missing(self) -> Array:
        """Which counts, or their exposures, are missing."""
        return np.isnan(self.counts) | np.isnan(self.exposure)[:, None]

    def columns(self, index: Sequence[int]) -> Exposed:
        """Some of the columns."""
        return Exposed(self.counts[:, index], self.exposure)


@dataclass(frozen=True, eq=False)
class Poisson(Conjugate[Gamma, Events]):
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
    support = COUNTS

    def statistic(self, x: Array | Exposed, members: Membership) -> Events:
        return reduce(add, (self._statistic(x[cut], members[cut]) for cut in slices(len(members))))

    def _statistic(self, x: Array | Exposed, members: Membership) -> Events:
        """The statistic of a block of rows, which is small enough to be copied."""
        counts, exposure = _counts_and_exposure(x)
        seen = ~np.isnan(counts)
        k, e = np.where(seen, counts, 0.0), np.where(seen, exposure, 0.0)
        events, exposed = members.totals(k), members.totals(e)
        rate = np.where(events > 0, events / np.where(exposed > 0, exposed, 1.0), 0.0)

        def cost(rate: Array) -> Array:
            return np.where(rate > 0, deviance(k, e * rate, k - e * rate), 0.0)

        return Events(exposed, events, members.totals(seen), members.totals(log_peak(k)) - members.costs(cost, rate))

    def resolve_prior(self, prior: Gamma, s: Events) -> Gamma:
        return prior.over(pooled_rates(s.events.sum(0), s.exposure.sum(0)), len(s.events))

    def added(self, s: Events) -> Added:
        return (s.events, s.exposure), s.log_peak

    def cells(self, posterior: Gamma, x: Array | Exposed) -> Cells:
        counts, exposure = (v[:, None] for v in _counts_and_exposure(x))
        return posterior, (counts, exposure), log_peak(counts)

    def log_likelihood(self, theta: Theta, x: Array | Exposed) -> Array:
        # The exposure of a row as (row, 1, 1); where it is missing, so is the count.
        e = np.nan_to_num(x.exposure, nan=1.0)[:, None, None] if isinstance(x, Exposed) else 1.0

        def density(k: Array, log_rate: Array, rate: Array) -> Array:
            return log_peak(k) - rate_deviance(k, e, log_rate, rate)

        return over_columns(density, _counts_and_exposure(x)[0], theta["log_rate"], theta["rate"])

    def sample(self, theta: Theta, rng: Generator, s: Events) -> Array:
        return rng.poisson(theta["rate"]).astype(float)

    def linear(self, theta: Theta) -> tuple[Array, Array]:
        if self.exposure is not None:
            raise ValueError("its exposure multiplies the rates, so the log-odds are not linear in the counts")
        return theta["log_rate"], -theta["rate"].sum(-1)

    def pymc_rows(self, name: str, theta: Mapping[str, Any], x: Array | Exposed, y: Any) -> None:
        import pymc as pm

        counts, exposure = _counts_and_exposure(x)
        row, column = np.nonzero(~np.isnan(counts))
        mean = theta["rate"][y[row], column] * exposure[row, column]
        pm.Poisson(name, mu=mean, observed=counts[row, column].astype(int))

    def pymc_log_likelihood(self, theta: Mapping[str, Any], x: Array | Exposed) -> Any:
        from pytensor import tensor as pt

        counts, exposure = _counts_and_exposure(x)
        seen = ~np.isnan(counts)
        k, e = np.where(seen, counts, 0.0), np.where(seen, exposure, 0.0)
        base = np.where(seen, xlogy(k, np.where(seen, exposure, 1.0)) - gammaln(k + 1), 0.0).sum(-1)
        return pt.dot(k, pt.log(theta["rate"]).T) - pt.dot(e, theta["rate"].T) + base[:, None]


def _counts_and_exposure(x: Array | Exposed) -> tuple[Array, Array]:
    """Counts and exposure, both (row, column); a count without its exposure is missing."""
    if not isinstance(x, Exposed):
        counts = np.asarray(x, float)
        return counts, np.ones(counts.shape)
    exposure = np.broadcast_to(np.asarray(x.exposure, float)[:, None], x.counts.shape)
    return np.where(np.isnan(exposure), np.nan, x.counts), exposure
