"""Bernoulli, categorical and negative binomial families."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.random import Generator

from bayesnb.families.columns import (
    COUNTS,
    LEVELS,
    ZEROS_AND_ONES,
    CategoryCounts,
    Coded,
    at_levels,
    dense_cells,
    of_each_column,
    present,
    pymc_at_levels,
)
from bayesnb.families.conjugate import Added, Cells, Conjugate
from bayesnb.kernels.two_floats import TwoFloat
from bayesnb.numerics import Array, disagreement, drawn_codes, log_peak, log_root
from bayesnb.priors import Beta, Dirichlet, Outcome, Theta
from bayesnb.statistics.moments import Moments
from bayesnb.statistics.statistic import Column, Labels, Statistic


@dataclass(frozen=True, eq=False)
class BinaryCounts(Statistic):
    """Weight of all rows, and of the rows with the value 1, both (class, column)."""

    n: Array
    ones: Array

    def seen(self) -> Array:
        return self.n

    def converted(self, kind: type[Statistic]) -> Statistic | None:
        if kind is not Moments:
            return None
        n, ones = TwoFloat.of(self.n), TwoFloat.of(self.ones)
        return Moments.about(n, np.zeros_like(self.ones), ones, ones, self.ones)

    def drawn(self, theta: Theta, n: Array, rng: Generator) -> BinaryCounts:
        return BinaryCounts(n.astype(float), rng.binomial(n, np.exp(theta["log_theta"][..., 1])).astype(float))

    def contradiction(self) -> str:
        return "more ones were seen than values" if (self.ones > self.n * (1 + 1e-6)).any() else ""


@dataclass(frozen=True, eq=False)
class Bernoulli(Conjugate[Beta, BinaryCounts]):
    """x | θ ~ Bernoulli(θ) with θ ~ Beta(α, β) (Murphy, PML1, 4.6.2).

    Dense columns hold 0, 1 or NaN; sparse matrices hold 0 and 1.

    Parameters
    ----------
    prior : Beta
    inferred : bool
        Whether the family was inferred from the column's values. If ``inferred`` is true, a column with only one value
        does not change class probabilities.

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
    inferred: bool = field(default=False, repr=False)

    support = ZEROS_AND_ONES

    def statistic(self, x: Column, members: Labels) -> BinaryCounts:
        parts = (BinaryCounts(t.totals(present(t.x)), t.totals(t.x == 1)) for t in self.tallies(x, members))
        return reduce(add, parts)

    def resolve_prior(self, prior: Beta, s: BinaryCounts) -> Beta:
        # Add one row per outcome, so that no outcome gets probability 0.
        full = prior.over(s.n.shape[1], s.n.shape[0], (s.ones.sum(0) + 1) / (s.n.sum(0) + 2))
        if not self.inferred:
            return full
        # With its own rows, each class then counts all rows, (N + 1) / (N + 2); (n + 1) / (n + 2) of its n rows would
        # favour the larger class.
        others = (np.zeros_like(s.ones), np.zeros_like(s.ones))
        constant = self.constant(s)
        for added, own in zip(others, (s.ones, s.n - s.ones), strict=True):
            added[:, constant] = (own.sum(0) - own)[:, constant]
        return full.plus(*others)

    def constant(self, s: BinaryCounts) -> Array:
        return np.flatnonzero(self.inferred & ~(s.ones.any(0) & (s.n - s.ones).any(0)))

    def added(self, s: BinaryCounts) -> tuple[Array, ...]:
        return s.ones, s.n - s.ones

    def said(self, x: Column) -> Added:
        one = x[:, None] == 1
        return (one.astype(float), (~one).astype(float)), 0.0

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

    support = LEVELS

    def statistic(self, x: Coded, members: Labels) -> CategoryCounts:
        return CategoryCounts(members.table(x.codes, x.n_levels), x.levels)

    def resolve_prior(self, prior: Dirichlet, s: CategoryCounts) -> Dirichlet:
        return prior.over(s.levels, s.counts.shape[0], s.counts.sum(0))

    def added(self, s: CategoryCounts) -> tuple[Array, ...]:
        return (s.counts,)

    def cells(self, posterior: Dirichlet, x: Coded) -> Cells:
        return Outcome.of(posterior, at_levels(posterior.alpha, x.codes)), *self.said(x)

    def said(self, x: Coded) -> Added:
        # ``Outcome`` already contains the outcome of the trial, so there is nothing to add.
        return (), 0.0

    def log_density(self, theta: Theta, x: Coded) -> Array:
        return at_levels(theta["log_theta"], x.codes)

    def sample(self, theta: Theta, rng: Generator, s: CategoryCounts) -> Array:
        return drawn_codes(theta["log_theta"], rng)

    def linear(self, theta: Theta) -> tuple[Array, Array]:
        table = theta["log_theta"]
        return table.reshape(len(table), -1), np.zeros(len(table))

    def pymc_cells(self, name: str, theta: Mapping[str, Any], x: Coded, row: Array, column: Array) -> None:
        import pymc as pm

        pm.Categorical(name, p=theta["theta"], observed=x.codes[row, column])

    def pymc_log_likelihood(self, theta: Mapping[str, Any], x: Coded) -> Any:
        from pytensor import tensor as pt

        return pymc_at_levels(pt.log(theta["theta"]), x.codes)


@dataclass(frozen=True, eq=False)
class Trials(Statistic):
    """Numbers of successes, failures and rows, and the maximum log-likelihood, all (class, column)."""

    successes: Array
    failures: Array
    rows: Array
    log_peak: Array

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
    """x | θ ~ NegativeBinomial(r, θ) with θ ~ Beta(α, β) and known r: the number of failures before the r-th success.

    The mean is μ = r (1 - θ) / θ. The variance is μ + μ² / r, which is larger than for a Poisson count. With r = 1, the
    distribution is geometric. The predictive distribution is a beta negative binomial (BDA3 2.6).

    Parameters
    ----------
    prior : Beta
        The prior of the success probability θ.
    r : float or array (column,)
        Positive.

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

    by_column = ("r",)
    support = COUNTS

    def statistic(self, x: Array, members: Labels) -> Trials:
        parts = self.pooled(x, members)
        return reduce(add, (Trials(ones, zeros, rows, peak) for rows, (ones, zeros), peak in parts))

    def resolve_prior(self, prior: Beta, s: Trials) -> Beta:
        # As in Bernoulli, one success and one failure are added.
        successes, failures = s.successes.sum(0) + 1, s.failures.sum(0) + 1
        return prior.over(s.rows.shape[1], s.rows.shape[0], successes / (successes + failures))

    def readable(self, theta: Theta) -> dict[str, Array]:
        log_theta = theta["log_theta"]
        r = self._r(log_theta.shape[-2])
        return {
            "mean": r * np.exp(log_theta[..., 0] - log_theta[..., 1]),
            "probability of a success": np.exp(log_theta[..., 1]),
        }

    def added(self, s: Trials) -> tuple[Array, ...]:
        return s.successes, s.failures

    def log_h(self, s: Trials) -> Array:
        return s.log_peak

    def said(self, x: Array) -> Added:
        r, k = self._r(x.shape[1]), np.asarray(x[:, None], float)
        # The log probability of k failures at its best-fitting θ, which is r / (r + k).
        return (r, k), log_root(r, r + k) + log_peak(k)

    def sample(self, theta: Theta, rng: Generator, s: Trials) -> Array:
        log_theta = theta["log_theta"]
        rate = np.exp(log_theta[..., 0] - log_theta[..., 1])
        # Draw a Poisson count with a mean drawn from a Gamma distribution: it is negative binomial.
        return rng.poisson(rate * rng.standard_gamma(self._r(rate.shape[-1]), rate.shape)).astype(float)

    def linear(self, theta: Theta) -> tuple[Array, Array]:
        log_theta = theta["log_theta"]
        return log_theta[..., 0], (self._r(log_theta.shape[-2]) * log_theta[..., 1]).sum(-1)

    def pymc_cells(self, name: str, theta: Mapping[str, Any], x: Array, row: Array, column: Array) -> None:
        import pymc as pm

        pm.NegativeBinomial(name, n=self._r(x.shape[1])[column], p=theta["theta"], observed=x[row, column].astype(int))

    def _r(self, n_columns: int) -> Array:
        return of_each_column("r", self.r, n_columns)
