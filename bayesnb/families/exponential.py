"""Waiting times: Exponential features with a Gamma prior."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.random import Generator

from bayesnb.families.columns import over_columns
from bayesnb.families.conjugate import Added, Cells, Conjugate
from bayesnb.families.events import pooled_rates
from bayesnb.families.support import POSITIVE
from bayesnb.kernels.blocks import slices
from bayesnb.numerics import Array
from bayesnb.priors import Gamma, Theta
from bayesnb.statistics.membership import Membership
from bayesnb.statistics.statistic import Statistic, per


@dataclass(frozen=True, eq=False)
class Waits(Statistic):
    """The number of waits and the sum of their lengths, both (class, column)."""

    n: Array = per("column")
    total: Array = per("column")

    def seen(self) -> Array:
        return self.n


@dataclass(frozen=True, eq=False)
class Exponential(Conjugate[Gamma, Waits]):
    """x | λ ~ Exponential(rate λ) with λ ~ Gamma(α, rate β), for positive numbers such as waiting times (BDA3 2.6).

    A wait of length x is one event in x units of exposure. The predictive is a Lomax (Pareto II) distribution.

    Examples
    --------
    >>> from bayesnb import BayesianNB
    >>> waits = {"minutes": [1.0, 3.0, 10.0]}
    >>> clf = BayesianNB({"minutes": Exponential(Gamma(2, 4))}).fit(waits, ["express", "express", "local"])
    >>> clf.tables()["minutes"].round(2)  # events a minute
             rate
    class
    express  0.50
    local    0.21
    """

    prior: Any = field(default_factory=Gamma)

    conjugate = Gamma
    support = POSITIVE

    def statistic(self, x: Array, members: Membership) -> Waits:
        return reduce(add, (self._statistic(x[cut], members[cut]) for cut in slices(len(members))))

    def _statistic(self, x: Array, members: Membership) -> Waits:
        """The statistic of a block of rows, which is small enough to be copied."""
        seen = ~np.isnan(x)
        with np.errstate(over="ignore"):  # A sum that is no float is refused when rates are asked for.
            return Waits(members.totals(seen), members.totals(np.where(seen, x, 0.0)))

    def resolve_prior(self, prior: Gamma, s: Waits) -> Gamma:
        with np.errstate(over="ignore"):
            return prior.over(pooled_rates(s.n.sum(0), s.total.sum(0)), len(s.n))

    def added(self, s: Waits) -> Added:
        return (s.n, s.total), Gamma.peak(s.n, s.total)

    def cells(self, posterior: Gamma, x: Array) -> Cells:
        one, x = np.ones(()), x[:, None]
        return posterior, (one, x), Gamma.peak(one, x)

    def log_likelihood(self, theta: Theta, x: Array) -> Array:
        return over_columns(lambda x, log_rate, rate: log_rate - rate * x, x, theta["log_rate"], theta["rate"])

    def sample(self, theta: Theta, rng: Generator, s: Waits) -> Array:
        return rng.standard_exponential(theta["rate"].shape) / theta["rate"]

    def linear(self, theta: Theta) -> tuple[Array, Array]:
        return -theta["rate"], theta["log_rate"].sum(-1)

    def pymc_rows(self, name: str, theta: Mapping[str, Any], x: Array, y: Any) -> None:
        import pymc as pm

        row, column = np.nonzero(~np.isnan(x))
        pm.Exponential(name, lam=theta["rate"][y[row], column], observed=x[row, column])

    def pymc_log_likelihood(self, theta: Mapping[str, Any], x: Array) -> Any:
        from pytensor import tensor as pt

        seen = ~np.isnan(x)
        rate = theta["rate"].T
        return pt.dot(seen.astype(float), pt.log(rate)) - pt.dot(np.where(seen, x, 0.0), rate)
