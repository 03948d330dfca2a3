"""Counts that vary more than a Poisson count does: negative binomial features with a Beta prior."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.random import Generator

from bayesnb.families.columns import gathered_columns, of_each_column
from bayesnb.families.conjugate import Added, Conjugate
from bayesnb.families.support import COUNTS
from bayesnb.numerics import Array, disagreement, log_peak, log_root
from bayesnb.priors import Beta, Theta
from bayesnb.statistics.membership import Membership
from bayesnb.statistics.statistic import Statistic


@dataclass(frozen=True, eq=False)
class Trials(Statistic):
    """Successes, failures, rows and the largest log-likelihood that one θ can give them, all (class, column).

    When two parts are added, the largest log-likelihood falls by how much they disagree about θ, as in ``Events``.
    """

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
        parts = self.pooled(x, members)
        return reduce(add, (Trials(ones, zeros, rows, peak) for rows, (ones, zeros), peak in parts))

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

    def said(self, x: Array) -> Added:
        r, k = self._r(x.shape[1]), np.asarray(x[:, None], float)
        # The log probability of k failures at the θ that fits them best, r / (r + k).
        return (r, k), log_root(r, r + k) + log_peak(k)

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

    def pymc_cells(self, name: str, theta: Mapping[str, Any], x: Array, row: Array, column: Array) -> None:
        import pymc as pm

        pm.NegativeBinomial(name, n=self._r(x.shape[1])[column], p=theta["theta"], observed=x[row, column].astype(int))

    def _r(self, n_columns: int) -> Array:
        return of_each_column("r", self.r, n_columns)
