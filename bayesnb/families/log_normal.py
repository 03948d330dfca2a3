"""Positive numbers that vary by factors: LogNormal features, which are Gaussian features of the logarithm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from bayesnb.families.conjugate import Added
from bayesnb.families.gaussian import OfUnknownVariance
from bayesnb.families.support import POSITIVE
from bayesnb.numerics import Array
from bayesnb.priors import Theta
from bayesnb.statistics.moments import Moments


@dataclass(frozen=True, eq=False)
class LogNormal(OfUnknownVariance):
    """ln x | μ, τ ~ Normal(μ, 1/τ) with (μ, τ) ~ Normal-Gamma, for positive numbers such as incomes or areas.

    The density is per unit of x, so it is that of ln x divided by x. The predictive of ln x is a Student-t. Tables of
    parameters show the median of x, exp(μ), and the standard deviation of ln x.

    Parameters
    ----------
    prior : NormalGamma
        Of the mean and precision of ln x.

    Examples
    --------
    >>> from bayesnb import BayesianNB, NormalGamma
    >>> clf = BayesianNB({"income": LogNormal(NormalGamma(m=10, kappa=1, a=1, b=1))})
    >>> clf.fit({"income": [20_000, 45_000, 30_000]}, ["rents", "owns", "rents"]).tables()["income"].round(1)
            median  sd of the logarithm
    class
    owns   31483.2                  0.9
    rents  23642.8                  0.7
    """

    support = POSITIVE

    def read(self, x: Array) -> tuple[Array, Array]:
        logarithm = np.log(x)
        # The logarithm of the Jacobian, with which a density of ln x becomes one of x.
        within = -logarithm
        if np.isnan(within.sum()):
            within[np.isnan(within)] = 0.0
        return logarithm, within

    def added(self, s: Moments) -> Added:
        d, log_h = super().added(s)
        return d, log_h - s.total

    def of_columns(self, s: Moments) -> dict[str, Array]:
        of_logarithm = super().of_columns(s)
        return {"median": np.exp(of_logarithm["mean"]), "sd of the logarithm": of_logarithm["sd"]}

    def readable(self, theta: Theta) -> dict[str, Array]:
        return {"median": np.exp(theta["mu"]), "sd of the logarithm": 1 / np.sqrt(theta["tau"])}

    def sample(self, theta: Theta, rng: Generator, s: Moments) -> Array:
        return np.exp(super().sample(theta, rng, s))
