"""Columns with one of K levels: categorical features with a Dirichlet prior, which smooths them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.random import Generator

from bayesnb.families.conjugate import Added, Cells, Conjugate
from bayesnb.families.levels import CategoryCounts, Coded, at_levels, pymc_at_levels, widest
from bayesnb.families.support import LEVELS
from bayesnb.numerics import Array
from bayesnb.priors import Chance, Dirichlet, Theta
from bayesnb.statistics.membership import Membership


@dataclass(frozen=True, eq=False)
class Categorical(Conjugate[Dirichlet, CategoryCounts]):
    """x | θ ~ Categorical(θ) with θ ~ Dirichlet(α) (Murphy, PML1, 4.6.3; Mitchell, 6.9).

    Examples
    --------
    >>> from bayesnb import BayesianNB
    >>> days = {"outlook": ["sunny", "rain", "sunny", "sunny"]}
    >>> laplace = Categorical(Dirichlet({"sunny": 1, "rain": 1, "snow": 1}))
    >>> BayesianNB({"outlook": laplace}).fit(days, ["a", "a", "a", "b"]).tables()["outlook"].round(2)
           rain  sunny  snow
    class
    a      0.33    0.5  0.17
    b      0.25    0.5  0.25
    """

    prior: Any = field(default_factory=Dirichlet)

    conjugate = Dirichlet
    support = LEVELS

    def statistic(self, x: Coded, members: Membership) -> CategoryCounts:
        return CategoryCounts(members.table(x.codes, widest(x.levels)), x.levels)

    def resolve_prior(self, prior: Dirichlet, s: CategoryCounts) -> Dirichlet:
        return prior.over(s.levels, s.counts.shape[0], s.counts.sum(0))

    def added(self, s: CategoryCounts) -> Added:
        return (s.counts,), Dirichlet.peak(s.counts)

    def cells(self, posterior: Dirichlet, x: Coded) -> Cells:
        return Chance(at_levels(posterior.alpha, x.codes), posterior.total, posterior.outcomes), *self.said(x)

    def said(self, x: Coded) -> Added:
        # One trial says which outcome it had, and nothing else.
        return (), 0.0

    def log_density(self, theta: Theta, x: Coded) -> Array:
        return at_levels(theta["log_theta"], x.codes)

    def sample(self, theta: Theta, rng: Generator, s: CategoryCounts) -> Array:
        # The largest of log θ plus Gumbel noise falls on a level with its probability θ.
        noisy = theta["log_theta"] + rng.gumbel(size=theta["log_theta"].shape)
        return noisy.argmax(-1)

    def linear(self, theta: Theta) -> tuple[Array, Array]:
        table = theta["log_theta"]
        return table.reshape(len(table), -1), np.zeros(len(table))

    def pymc_cells(self, name: str, theta: Mapping[str, Any], x: Coded, row: Array, column: Array) -> None:
        import pymc as pm

        pm.Categorical(name, p=theta["theta"], observed=x.codes[row, column])

    def pymc_log_likelihood(self, theta: Mapping[str, Any], x: Coded) -> Any:
        from pytensor import tensor as pt

        return pymc_at_levels(pt.log(theta["theta"]), x.codes)
