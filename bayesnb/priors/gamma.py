"""The prior of a rate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from scipy.special import gammaln, xlogy

from bayesnb.numerics import (
    Array,
    Size,
    deviance,
    disagreement,
    log,
    log_gamma_draw,
    log_root,
    log_root_slopes,
    rate_deviance,
)
from bayesnb.priors import elicitation
from bayesnb.priors.belief import NOT_NEGATIVE, ROUNDING, Prior, Theta, require_mode, shared, spread
from bayesnb.priors.common_draws import CommonDraws


@dataclass(frozen=True, eq=False, repr=False)
class Gamma(Prior):
    """λ ~ Gamma(shape α, rate β), the prior of a rate λ (BDA3 2.6), worth α events in β units of exposure.

    Parameters
    ----------
    alpha : float or array (class, column)
        Shape, as a number of events.
    beta : float, array (class, column) or None
        Rate, in units of exposure. ``None`` is α divided by the event rate of the whole column, or α if the column has
        no events.
    tuned : bool, optional
        Whether to multiply α and β by the factor that maximizes the evidence; see :meth:`learned`.

    Examples
    --------
    >>> Gamma(6, 2).mean(), Gamma(6, 2).mode()
    (np.float64(3.0), np.float64(2.5))
    """

    _where_none = "pooled"
    parameters = ("rate",)
    by_name = ("unit_information", "learned", "jeffreys", "flat")
    _ranges: ClassVar = {"alpha": NOT_NEGATIVE, "beta": NOT_NEGATIVE}
    strengths: ClassVar[Mapping[str, tuple[str, ...]]] = {"alpha, beta": ("alpha", "beta")}

    alpha: float | Array = 1.0
    beta: float | Array | None = None
    tuned: bool | None = field(default=None, repr=False)

    @classmethod
    def unit_information(cls, events: float = 1.0) -> Gamma:
        """A prior worth ``events`` events at the rate of the whole column."""
        return cls(events, None)

    @classmethod
    def learned(cls) -> Gamma:
        """A prior worth α events at the column's pooled rate, with α estimated from the evidence.

        All columns of a feature share α. The hyperprior is ``ln α ~ Normal(0, 1)``.
        """
        return cls(1.0, None, True)

    @classmethod
    def from_quantiles(cls, low: float, high: float, share: float = 0.9) -> Gamma:
        """The prior whose central interval from ``low`` to ``high`` contains λ with probability ``share``.

        >>> Gamma.from_quantiles(2.0, 5.0)
        Gamma(alpha=13.3125, beta=3.96532)
        """
        return cls(*elicitation.gamma_between(low, high, share))

    @classmethod
    def from_rows(cls, n: float, rows: Any) -> Gamma:
        """A prior worth ``n`` rows of exposure 1, with the mean count of ``rows``.

        For n waiting times, use Gamma(n, n × mean).
        """
        return cls(n * float(elicitation.rows_like("counts", rows, n).mean()), n)

    @classmethod
    def jeffreys(cls) -> Gamma:
        """The improper prior Gamma(1/2, 0), whose posterior is proper for classes with positive exposure."""
        return cls(0.5, 0.0)

    @classmethod
    def flat(cls) -> Gamma:
        """The improper prior Gamma(1, 0): the posterior mode is events / exposure."""
        return cls(1.0, 0.0)

    def over(self, pooled_rate: Array, n_classes: int) -> Gamma:
        shape = (n_classes, len(pooled_rate))
        alpha = spread(self.alpha, shape)
        if self.beta is not None:
            return Gamma(alpha, spread(self.beta, shape))
        usable = np.isfinite(pooled_rate) & (pooled_rate > 0)
        return Gamma(alpha, alpha / np.where(usable, pooled_rate, 1.0))

    def proper(self) -> Array:
        return (self.alpha > 0) & (self.beta > 0)

    def mean(self) -> Array:
        self.require_proper("A mean")
        return self.alpha / self.beta

    def variance(self) -> Array:
        self.require_proper("A variance")
        return self.alpha / self.beta**2

    def mode(self) -> Array:
        self.require_proper("A mode")
        # Adding an event to 1 and subtracting it may leave slightly less than 1.
        require_mode(self.alpha, self.alpha < 1 - ROUNDING, "shape", "events")
        return np.maximum(self.alpha - 1, 0.0) / self.beta

    def log_prob_of_each(self, theta: Theta) -> tuple[Array]:
        rate = theta["rate"]
        return (xlogy(self.alpha - 1, rate) - self.beta * rate - self.log_normalizer(),)

    def log_jacobian(self, theta: Theta) -> Array:
        return theta["log_rate"]

    def log_normalizer(self) -> Array:
        self.require_proper("A density")
        return gammaln(self.alpha) - self.alpha * np.log(self.beta)

    def plus(self, events: Array, exposure: Array, t: float | Array = 1.0) -> Gamma:
        return self._with(alpha=self.alpha + t * events, beta=self.beta + t * exposure)

    def along(self, events: Array, exposure: Array, t: float | Array = 1.0) -> Array:
        """Log moment ln E[(L(λ) / max L)^t] of the likelihood L(λ) = λ^events exp(-exposure λ)."""
        k, e = t * events, t * exposure
        value = log_root(self.alpha, self.alpha + k) - disagreement(self.alpha, k, self.beta, e)
        return np.where((self.alpha + k > 0) & (self.beta + e > 0), value, np.inf)

    def slopes(self, events: Array, exposure: Array, t: float | Array = 0.0) -> tuple[Array, Array]:
        alpha, beta = self.alpha + t * events, self.beta + t * exposure
        with np.errstate(all="ignore"):
            expected = exposure * (alpha / beta)
            gap = events * (self.beta / beta) - exposure * (self.alpha / beta)
            first, second = log_root_slopes(alpha)
            return events * first - deviance(events, expected, gap), events**2 * second + gap**2 / alpha

    def floor(self, events: Array, exposure: Array) -> Array:
        with np.errstate(all="ignore"):
            by_events = np.where(events > 0, self.alpha / events, np.inf)
            return -np.minimum(by_events, np.where(exposure > 0, self.beta / exposure, np.inf))

    def drawn_along(self, events: Array, exposure: Array, *, common: CommonDraws) -> Array:
        log_rate = common.log_gamma(self.alpha) - np.log(self.beta)
        return -rate_deviance(events, exposure, log_rate, np.exp(log_rate))

    @staticmethod
    def peak(events: Array, exposure: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.where(events == 0, 0.0, events * (np.log(np.abs(events / exposure)) - 1.0))

    @classmethod
    def best(cls, events: Array, exposure: Array) -> Theta:
        return cls.theta(np.where(events > 0, events / np.where(exposure > 0, exposure, 1.0), 0.0))

    @classmethod
    def theta(cls, *point: Array) -> Theta:
        """The rate and its logarithm as a dict, {"log_rate": array, "rate": array}."""
        (rate,) = point
        return {"log_rate": log(rate), "rate": rate}

    def draw_theta(self, rng: Generator, size: Size = ()) -> Theta:
        self.require_proper("A draw")
        log_rate = log_gamma_draw(self.alpha, rng, size) - np.log(self.beta)
        return {"log_rate": log_rate, "rate": np.exp(log_rate)}

    @staticmethod
    def log_kernel(theta: Theta, events: Array, exposure: Array) -> Array:
        return -rate_deviance(events, exposure, theta["log_rate"], theta["rate"])

    @staticmethod
    def pymc_likelihood(theta: Mapping[str, Any], events: Any, exposure: Any) -> Any:
        from pytensor import tensor as pt

        return events * pt.log(theta["rate"]) - exposure * theta["rate"]

    def pymc(self, name: Callable[[str], str], dims: tuple[str, ...]) -> Any:
        import pymc as pm

        return pm.Gamma(name("rate"), alpha=shared(self.alpha), beta=shared(self.beta), dims=dims)
