"""Waiting times: Exponential features with a Gamma prior."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.random import Generator

from bayesnb.families.conjugate import Added, Conjugate
from bayesnb.families.events import pooled_rates, waits
from bayesnb.families.support import POSITIVE
from bayesnb.numerics import Array
from bayesnb.priors import Gamma, Theta
from bayesnb.statistics.membership import Labels, Membership
from bayesnb.statistics.statistic import Statistic


@dataclass(frozen=True, eq=False)
class Waits(Statistic):
    """The number of waits and the sum of their lengths, both (class, column)."""

    n: Array
    total: Array

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
        parts = (
            Waits(t.totals(seen := t.seen()), t.totals(np.where(seen, t.x, 0.0))) for t in self.tallies(x, members)
        )
        return reduce(add, parts)

    def resolve_prior(self, prior: Gamma, s: Waits) -> Gamma:
        with np.errstate(over="ignore"):
            return prior.over(pooled_rates(s.n.sum(0), s.total.sum(0)), len(s.n))

    def added(self, s: Waits) -> Added:
        return (s.n, s.total), Gamma.peak(s.n, s.total)

    def said(self, x: Array) -> Added:
        one, x = np.ones(()), x[:, None]
        return (one, x), Gamma.peak(one, x)

    def of_reals(self, posterior: Gamma, x: Array, labels: Labels | None = None) -> Array | None:
        return waits(posterior, x, 1.0, labels)

    def sample(self, theta: Theta, rng: Generator, s: Waits) -> Array:
        return rng.standard_exponential(theta["rate"].shape) / theta["rate"]

    def linear(self, theta: Theta) -> tuple[Array, Array]:
        return -theta["rate"], theta["log_rate"].sum(-1)

    def pymc_cells(self, name: str, theta: Mapping[str, Any], x: Array, row: Array, column: Array) -> None:
        import pymc as pm

        pm.Exponential(name, lam=theta["rate"], observed=x[row, column])
