"""Weka's model of numeric columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np
from numpy.random import Generator

from bayesnb.families.columns import CategoryCounts, over_columns
from bayesnb.families.sampled import Declared, Draws, Pointwise, WeightedValues
from bayesnb.numerics import Array, Size, log_interval
from bayesnb.priors import Theta, spread

ALONE = 0.01
"""The precision in Weka of a column with a single distinct value."""

CONSTANT = 1e-10
"""If their standard deviation is smaller, Weka treats values as equal."""


@dataclass(frozen=True, eq=False, repr=False)
class Precision(Declared):
    """The precision h: values are rounded to multiples of h."""

    h: Any = None


@dataclass(frozen=True, eq=False, init=False)
class RoundedGaussian(Pointwise[Precision]):
    """A normal distribution with Weka's point estimates of mean and standard deviation instead of a posterior.

    The precision h of a column is the mean distance between neighbouring distinct values. The mean and the standard
    deviation (``ddof=0``, at least h / 6) are computed from values rounded to multiples of h. The probability of a
    value is the normal probability of the interval of width h around the rounded value. *Source: the classes
    ``NaiveBayes`` and ``NormalEstimator`` of Weka 3.6 to 3.8.*

    Examples
    --------
    >>> from bayesnb import BayesianNB
    >>> clf = BayesianNB(RoundedGaussian(), estimate="mean")
    >>> clf = clf.fit({"x": [1.0, 2.0, 4.0, 5.0]}, ["a", "a", "b", "b"])
    >>> clf.predict_proba({"x": [3.0]}).round(2)  # h is 4/3, so 3.0 is read as 2.67, and so is 2.0
    array([[0.95, 0.05]])
    """

    prior: Any = field(default_factory=Precision)

    conjugate = Precision

    def __init__(self) -> None:
        self._set_fields(Precision(), {})

    def resolve_prior(self, prior: Precision, s: CategoryCounts) -> Precision:
        h = np.full(s.counts.shape[1], ALONE)
        for k, names in enumerate(s.levels):
            seen = s.counts[:, k, : len(names)].sum(0) > 0
            values = np.sort(np.asarray(names, float)[seen])
            # Sum the gaps one by one, like Weka: a different rounding error of h could round a value differently.
            if len(values) > 1:
                h[k] = np.cumsum(np.diff(values))[-1] / (len(values) - 1)
        return Precision(spread(h, s.counts.shape[:2]))

    def update(self, prior: Precision, s: CategoryCounts) -> Draws:
        """Weka's point estimates, stored as a single draw."""
        cells, shape = WeightedValues.of(s), prior.h.shape
        at = cells.code, cells.column
        rounded = np.rint(cells.value / prior.h[at]) * prior.h[at]

        def mean(x: Array) -> Array:
            totals = np.zeros(shape)
            np.add.at(totals, at, cells.weight * x)
            return totals / np.where(seen > 0, seen, 1.0)

        seen = s.counts.sum(-1)
        mu = mean(rounded)
        sigma = np.sqrt(mean((rounded - mu[at]) ** 2))
        sigma = np.where(sigma > CONSTANT, np.maximum(prior.h / 6, sigma), prior.h / 6)
        theta = {"mu": mu, "sigma": sigma, "h": prior.h}
        return Draws.independent({name: v[None] for name, v in theta.items()})

    def variable_axes(self) -> dict[str, tuple[str, ...]]:
        return dict.fromkeys(("mu", "sigma", "h"), ("class", "column"))

    def log_likelihood(self, theta: Theta, x: Array) -> Array:
        return over_columns(_log_interval, x, theta["mu"], theta["sigma"], theta["h"])

    def draw(self, posterior: Draws, rng: Generator, size: Size = ()) -> NoReturn:
        raise ValueError(
            "Weka's rule gives a single estimate and no posterior, so it has no draws and no intervals; use Gaussian()"
        )

    def sample(self, theta: Theta, rng: Generator, s: CategoryCounts) -> Array:
        return np.rint(rng.normal(theta["mu"], theta["sigma"]) / theta["h"]) * theta["h"]

    def _no_model(self, *_: Any) -> NoReturn:
        raise ValueError("Weka's rule is not a probabilistic model, so it cannot be sampled; use Gaussian()")

    log_prior = pymc_prior = given = _no_model


def _log_interval(x: Array, mu: Array, sigma: Array, h: Array) -> Array:
    return log_interval((np.rint(x / h) * h - mu) / sigma, h / sigma)
