"""Columns of 0 and 1: Bernoulli features with a Beta prior, such as whether a word occurs in a text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy import sparse

from bayesnb.families.columns import dense_cells
from bayesnb.families.conjugate import Added, Cells, Conjugate
from bayesnb.families.support import ZEROS_AND_ONES
from bayesnb.kernels.two_floats import TwoFloat
from bayesnb.numerics import Array
from bayesnb.priors import Beta, Chance, Theta
from bayesnb.statistics.membership import Column, Membership
from bayesnb.statistics.moments import Moments
from bayesnb.statistics.statistic import Statistic


@dataclass(frozen=True, eq=False)
class BinaryCounts(Statistic):
    """Rows seen and rows that were 1, both (class, column)."""

    n: Array
    ones: Array

    def seen(self) -> Array:
        return self.n

    def converted(self, kind: type[Statistic]) -> Statistic | None:
        if kind is not Moments:
            return None
        n, ones = TwoFloat.of(self.n), TwoFloat.of(self.ones)
        return Moments.about(n, np.zeros_like(self.ones), ones, ones, self.ones)

    def contradiction(self) -> str:
        return "more ones were seen than values" if (self.ones > self.n * (1 + 1e-6)).any() else ""


@dataclass(frozen=True, eq=False)
class Bernoulli(Conjugate[Beta, BinaryCounts]):
    """x | θ ~ Bernoulli(θ) with θ ~ Beta(α, β) (Murphy, PML1, 4.6.2).

    Columns hold 0, 1 or NaN, dense, or 0 and 1 in a sparse matrix.

    Examples
    --------
    >>> from bayesnb import BayesianNB
    >>> clf = BayesianNB({"fever": Bernoulli(Beta(2, 8))}).fit({"fever": [1, 1, 0, 0]}, ["ill", "ill", "ill", "well"])
    >>> clf.tables()["fever"].round(2)
              0     1
    class
    ill    0.69  0.31
    well   0.82  0.18
    """

    prior: Any = field(default_factory=Beta)

    conjugate = Beta
    support = ZEROS_AND_ONES

    def statistic(self, x: Column, members: Membership) -> BinaryCounts:
        if sparse.issparse(x):
            ones = members.totals(x)
            return BinaryCounts(np.repeat(members.weights()[:, None], ones.shape[1], axis=1), ones)
        parts = (BinaryCounts(t.totals(t.seen()), t.totals(t.x == 1)) for t in self.tallies(x, members))
        return reduce(add, parts)

    def resolve_prior(self, prior: Beta, s: BinaryCounts) -> Beta:
        # A row for each outcome, so that none is impossible.
        return prior.over(s.n.shape[1], s.n.shape[0], (s.ones.sum(0) + 1) / (s.n.sum(0) + 2))

    def added(self, s: BinaryCounts) -> Added:
        d = s.ones, s.n - s.ones
        return d, Beta.peak(*d)

    def cells(self, posterior: Beta, x: Column) -> Cells:
        own = np.where(x[:, None] == 1, posterior.alpha, posterior.beta)
        return Chance(own, posterior.total, posterior.outcomes), *self.said(x)

    def said(self, x: Column) -> Added:
        # One trial says which outcome it had, and nothing else.
        return (), 0.0

    def log_density(self, theta: Theta, x: Column) -> Array:
        no, yes = (theta["log_theta"][..., None, :, :, k] for k in (0, 1))
        return np.where(x[:, None] == 1, yes, no)

    def sample(self, theta: Theta, rng: Generator, s: BinaryCounts) -> Array:
        yes = theta["log_theta"][..., 1]
        return (np.log(rng.random(yes.shape)) < yes).astype(float)

    def linear(self, theta: Theta) -> tuple[Array, Array]:
        no, yes = theta["log_theta"][..., 0], theta["log_theta"][..., 1]
        return yes - no, no.sum(-1)

    def pymc_cells(self, name: str, theta: Mapping[str, Any], x: Column, row: Array, column: Array) -> None:
        import pymc as pm

        pm.Bernoulli(name, p=theta["theta"], observed=x[row, column].astype(int))

    def pymc_log_likelihood(self, theta: Mapping[str, Any], x: Column) -> Any:
        from pytensor import tensor as pt

        p, x = theta["theta"].T, dense_cells(x)
        return pt.dot(np.where(x == 1, 1.0, 0.0), pt.log(p)) + pt.dot(np.where(x == 0, 1.0, 0.0), pt.log1p(-p))
