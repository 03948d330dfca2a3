"""Positive amounts with a given shape: Gamma features whose rate has a Gamma prior."""

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
from bayesnb.families.events import Events, pooled_rates
from bayesnb.families.support import POSITIVE
from bayesnb.kernels.blocks import slices
from bayesnb.numerics import Array, log_peak, rate_deviance
from bayesnb.priors import Gamma, Theta
from bayesnb.statistics.membership import Membership


@dataclass(frozen=True, eq=False)
class GammaKnownShape(Conjugate[Gamma, Events]):
    """x | λ ~ Gamma(shape, rate λ) with λ ~ Gamma(α, rate β), the shape given (BDA3 2.6 and its exercises).

    A cell x is ``shape`` events in x units of exposure, so its statistic is that of a Poisson count. A shape of 1 is
    the Exponential. The standard deviation within a class is its mean divided by √shape. The predictive is a Lomax
    distribution of this shape (a beta prime distribution).

    Parameters
    ----------
    prior : Gamma
        Of the rate λ.
    shape : float or array (column,)
        Positive; the square of mean / standard deviation within a class.

    Examples
    --------
    >>> from bayesnb import BayesianNB
    >>> delays = {"minutes": [4.0, 6.0, 21.0]}
    >>> clf = BayesianNB({"minutes": GammaKnownShape(Gamma(2, 4), shape=4.0)}).fit(delays, ["bus", "bus", "train"])
    >>> clf.tables()["minutes"].round(2)
           mean
    class
    bus    5.60
    train  16.67
    """

    prior: Any = field(default_factory=Gamma)
    shape: Any = 1.0

    conjugate = Gamma
    support = POSITIVE

    def statistic(self, x: Array, members: Membership) -> Events:
        return reduce(add, (self._statistic(x[cut], members[cut]) for cut in slices(len(members))))

    def _statistic(self, x: Array, members: Membership) -> Events:
        """The statistic of a block of rows, which is small enough to be copied."""
        shape, seen = self._shape(x.shape[1]), ~np.isnan(x)
        k, e = np.where(seen, shape, 0.0), np.where(seen, x, 0.0)
        with np.errstate(over="ignore"):
            events, exposed = members.totals(k), members.totals(e)
            rate = np.where(events > 0, events / np.where(exposed > 0, exposed, 1.0), 0.0)
        # A sum or a rate that is no float is refused when the prior is asked for.
        rate = np.where(np.isfinite(rate) & np.isfinite(exposed), rate, 0.0)

        def cost(rate: Array) -> Array:
            with np.errstate(divide="ignore"):
                return np.where(seen & (rate > 0), rate_deviance(k, e, np.log(rate), rate), 0.0)

        own = np.where(seen, _log_peak(np.where(seen, x, 1.0), shape), 0.0)
        return Events(exposed, events, members.totals(seen), members.totals(own) - members.costs(cost, rate))

    def resolve_prior(self, prior: Gamma, s: Events) -> Gamma:
        with np.errstate(over="ignore"):
            return prior.over(pooled_rates(s.events.sum(0), s.exposure.sum(0)), len(s.rows))

    def readable(self, theta: Theta) -> dict[str, Array]:
        return {"mean": self._shape(theta["rate"].shape[-1]) / theta["rate"]}

    def added(self, s: Events) -> Added:
        return (s.events, s.exposure), s.log_peak

    def cells(self, posterior: Gamma, x: Array) -> Cells:
        shape = self._shape(x.shape[1])
        return posterior, (shape, x[:, None]), _log_peak(x[:, None], shape)

    def log_likelihood(self, theta: Theta, x: Array) -> Array:
        shape = np.broadcast_to(self._shape(x.shape[1]), theta["rate"].shape[-2:])

        def density(x: Array, shape: Array, log_rate: Array, rate: Array) -> Array:
            return _log_peak(x, shape) - rate_deviance(shape, x, log_rate, rate)

        return over_columns(density, x, shape, theta["log_rate"], theta["rate"])

    def sample(self, theta: Theta, rng: Generator, s: Events) -> Array:
        return rng.standard_gamma(self._shape(theta["rate"].shape[-1]), theta["rate"].shape) / theta["rate"]

    def linear(self, theta: Theta) -> tuple[Array, Array]:
        return -theta["rate"], (self._shape(theta["rate"].shape[-1]) * theta["log_rate"]).sum(-1)

    def gathered(self, cells: Sequence[tuple[GammaKnownShape, int]]) -> GammaKnownShape:
        return replace(self, shape=gathered_columns([(family.shape, k) for family, k in cells]))

    def pymc_rows(self, name: str, theta: Mapping[str, Any], x: Array, y: Any) -> None:
        import pymc as pm

        row, column = np.nonzero(~np.isnan(x))
        shape = self._shape(x.shape[1])[column]
        pm.Gamma(name, alpha=shape, beta=theta["rate"][y[row], column], observed=x[row, column])

    def pymc_log_likelihood(self, theta: Mapping[str, Any], x: Array) -> Any:
        from pytensor import tensor as pt

        shape, seen, rate = self._shape(x.shape[1]), ~np.isnan(x), theta["rate"].T
        base = np.where(seen, (shape - 1) * np.log(x) - gammaln(shape), 0.0).sum(-1, keepdims=True)
        return pt.dot(seen * shape, pt.log(rate)) - pt.dot(np.where(seen, x, 0.0), rate) + base

    def _shape(self, n_columns: int) -> Array:
        return of_each_column("shape", self.shape, n_columns)


def _log_peak(x: Array, shape: Array) -> Array:
    """The log density of x at the rate that fits it best, shape / x."""
    return log_peak(shape) + np.log(shape) - np.log(x)
