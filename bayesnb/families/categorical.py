"""Columns with one of K levels: categorical features with a Dirichlet prior, which smooths them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.random import Generator

from bayesnb.families.conjugate import Added, Cells, Conjugate
from bayesnb.families.levels import CategoryCounts, Coded, log_less_one, looked_up, widest
from bayesnb.families.support import LEVELS
from bayesnb.kernels import densities
from bayesnb.numerics import Array
from bayesnb.priors import Chance, Dirichlet, Theta
from bayesnb.statistics.membership import Labels, Membership


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
        # A missing cell, of code -1, stands for level 0: every column has one.
        column, code = np.arange(x.codes.shape[1]), np.maximum(x.codes[:, None], 0).astype(np.intp)
        own = posterior.alpha[np.arange(len(posterior.alpha))[:, None], column, code]
        return Chance(own, posterior.total, posterior.outcomes), (), 0.0

    def log_likelihood(self, theta: Theta, x: Coded) -> Array:
        return looked_up(x.codes, theta["log_theta"])

    def quick_predictive(self, posterior: Dirichlet, x: Coded) -> Array:
        # One trial: E[θ] is the predictive probability.
        return self.log_likelihood(self.mean(posterior), x)

    def quick_left_out(self, posterior: Dirichlet, x: Coded, labels: Labels) -> Array | None:
        if not labels.unweighted_and_large(x.codes.size):
            return None
        return densities.looked_up(x.codes, log_less_one(posterior), labels.codes)

    def sample(self, theta: Theta, rng: Generator, s: CategoryCounts) -> Array:
        # The largest of log θ plus Gumbel noise falls on a level with its probability θ.
        noisy = theta["log_theta"] + rng.gumbel(size=theta["log_theta"].shape)
        return noisy.argmax(-1)

    def linear(self, theta: Theta) -> tuple[Array, Array]:
        table = theta["log_theta"]
        return table.reshape(len(table), -1), np.zeros(len(table))

    def pymc_rows(self, name: str, theta: Mapping[str, Any], x: Coded, y: Any) -> None:
        import pymc as pm

        row, column = np.nonzero(x.codes >= 0)
        pm.Categorical(name, p=theta["theta"][y[row], column], observed=x.codes[row, column])

    def pymc_log_likelihood(self, theta: Mapping[str, Any], x: Coded) -> Any:
        from pytensor import tensor as pt

        # Missing cells read level 0 and are masked.
        picked = pt.log(theta["theta"])[:, np.arange(x.codes.shape[1]), np.maximum(x.codes, 0)]
        return (picked * (x.codes >= 0)).sum(-1).T
