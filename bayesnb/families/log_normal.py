"""Positive numbers that vary by factors: LogNormal features, which are Gaussian features of the logarithm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.random import Generator

from bayesnb.families import normals
from bayesnb.families.conjugate import Added, Conjugate
from bayesnb.families.gaussian import Gaussian
from bayesnb.families.support import POSITIVE
from bayesnb.numerics import Array
from bayesnb.priors import NormalGamma, Theta
from bayesnb.statistics.membership import Labels, Membership
from bayesnb.statistics.moments import Moments

_LOGARITHM = Gaussian()
"""The family of ln x. Its prior is not used."""


@dataclass(frozen=True, eq=False)
class LogNormal(Conjugate[NormalGamma, Moments]):
    """ln x | μ, τ ~ Normal(μ, 1/τ) with (μ, τ) ~ Normal-Gamma, for positive numbers such as incomes or areas.

    The density is per unit of x, so it is that of ln x divided by x. The predictive of ln x is a Student-t. Tables of
    parameters show the median of x, exp(μ), and the standard deviation of ln x.

    Parameters
    ----------
    prior : NormalGamma
        Of the mean and precision of ln x.

    Examples
    --------
    >>> from bayesnb import BayesianNB
    >>> clf = BayesianNB({"income": LogNormal(NormalGamma(m=10, kappa=1, a=1, b=1))})
    >>> clf.fit({"income": [20_000, 45_000, 30_000]}, ["rents", "owns", "rents"]).tables()["income"].round(1)
            median  sd of the logarithm
    class
    owns   31483.2                  0.9
    rents  23642.8                  0.7
    """

    prior: Any = field(default_factory=NormalGamma)

    conjugate = NormalGamma
    support = POSITIVE

    def statistic(self, x: Array, members: Membership) -> Moments:
        return Moments.of(np.log(x), members)

    def resolve_prior(self, prior: NormalGamma, s: Moments) -> NormalGamma:
        return _LOGARITHM.resolve_prior(prior, s)

    def of_columns(self, s: Moments) -> dict[str, Array]:
        of_logarithm = normals.mean_and_sd(s)
        return {"median": np.exp(of_logarithm["mean"]), "sd of the logarithm": of_logarithm["sd"]}

    def readable(self, theta: Theta) -> dict[str, Array]:
        mu, tau = NormalGamma.point(theta)
        return {"median": np.exp(mu), "sd of the logarithm": 1 / np.sqrt(tau)}

    def added(self, s: Moments) -> Added:
        d, log_h = _LOGARITHM.added(s)
        return d, log_h - s.total

    def read(self, x: Array) -> tuple[Array, Array]:
        logarithm = np.log(x)
        # The logarithm of the Jacobian, with which a density of ln x becomes one of x.
        return logarithm, -np.nan_to_num(logarithm)

    def said(self, x: Array) -> Added:
        return _LOGARITHM.said(x)

    def of_reals(self, posterior: NormalGamma, x: Array, labels: Labels | None = None) -> Array | None:
        return _LOGARITHM.of_reals(posterior, x, labels)

    def log_likelihood(self, theta: Theta, x: Array) -> Array:
        logarithm, within = self.read(x)
        return _LOGARITHM.log_likelihood(theta, logarithm) + within.sum(-1, keepdims=True)

    def sample(self, theta: Theta, rng: Generator, s: Moments) -> Array:
        return np.exp(_LOGARITHM.sample(theta, rng, s))

    def pymc_cells(self, name: str, theta: Mapping[str, Any], x: Array, row: Array, column: Array) -> None:
        import pymc as pm

        pm.Normal(name, mu=theta["mu"], tau=theta["tau"], observed=x[row, column])
