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

from bayesnb.families.columns import gathered_columns, of_each_column
from bayesnb.families.conjugate import Added, Conjugate
from bayesnb.families.events import Events, pooled_rates, waits
from bayesnb.families.support import POSITIVE
from bayesnb.families.tally import Tally
from bayesnb.numerics import Array, log_peak
from bayesnb.priors import Gamma, Theta
from bayesnb.statistics.membership import Labels, Membership


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
        parts = ((t, t.seen()) for t in self.tallies(x, members))
        return reduce(add, (self._of_part(t, seen) for t, seen in parts))

    def _of_part(self, t: Tally, seen: Array) -> Events:
        """The statistic of some rows. Σ ln x says how much they disagree about the rate, by their mean."""
        shape, n, total = self._shape(t.x.shape[1]), t.totals(seen), t.totals(np.where(seen, t.x, 0.0))
        logs = t.totals(np.where(seen, np.log(t.x), 0.0))
        mean = np.where(n > 0, total / np.where(n > 0, n, 1.0), 1.0)
        best = n * (log_peak(shape) + np.log(shape)) - logs - shape * (n * np.log(mean) - logs)
        return Events(total, shape * n, n, best)

    def resolve_prior(self, prior: Gamma, s: Events) -> Gamma:
        with np.errstate(over="ignore"):
            return prior.over(pooled_rates(s.events.sum(0), s.exposure.sum(0)), len(s.rows))

    def readable(self, theta: Theta) -> dict[str, Array]:
        return {"mean": self._shape(theta["rate"].shape[-1]) / theta["rate"]}

    def added(self, s: Events) -> Added:
        return (s.events, s.exposure), s.log_peak

    def said(self, x: Array) -> Added:
        shape, x = self._shape(x.shape[1]), x[:, None]
        # The log density of x at the rate that fits it best, shape / x.
        return (shape, x), log_peak(shape) + np.log(shape) - np.log(x)

    def of_reals(self, posterior: Gamma, x: Array, labels: Labels | None = None) -> Array | None:
        shape = self._shape(x.shape[1])
        known = ~np.isnan(x)
        base = np.where(known, np.log(x), 0.0) @ (shape - 1) - known @ gammaln(shape)
        total = waits(posterior, x, shape, labels)
        return None if total is None else total + (base if labels is not None else base[:, None])

    def sample(self, theta: Theta, rng: Generator, s: Events) -> Array:
        return rng.standard_gamma(self._shape(theta["rate"].shape[-1]), theta["rate"].shape) / theta["rate"]

    def linear(self, theta: Theta) -> tuple[Array, Array]:
        return -theta["rate"], (self._shape(theta["rate"].shape[-1]) * theta["log_rate"]).sum(-1)

    def gathered(self, cells: Sequence[tuple[GammaKnownShape, int]]) -> GammaKnownShape:
        return replace(self, shape=gathered_columns([(family.shape, k) for family, k in cells]))

    def pymc_cells(self, name: str, theta: Mapping[str, Any], x: Array, row: Array, column: Array) -> None:
        import pymc as pm

        pm.Gamma(name, alpha=self._shape(x.shape[1])[column], beta=theta["rate"], observed=x[row, column])

    def _shape(self, n_columns: int) -> Array:
        return of_each_column("shape", self.shape, n_columns)
