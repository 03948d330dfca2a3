"""The prior of a probability."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from bayesnb.numerics import Array, log_rising, log_sum, rate_deviance
from bayesnb.priors import elicitation
from bayesnb.priors.belief import NOT_NEGATIVE, Theta, shared, spread
from bayesnb.priors.common_draws import CommonDraws
from bayesnb.priors.dirichlet import SimplexPrior

ONE, NONE = np.ones(()), np.zeros(())


@dataclass(frozen=True, eq=False, repr=False)
class Beta(SimplexPrior):
    """θ ~ Beta(α, β), the prior of a probability (BDA3 2.4), worth α imaginary rows with the value 1, and β with 0.

    Parameters
    ----------
    alpha, beta : float or array (class, column)
    per : {"class", "feature", "pooled"}
        "class": each class has the concentrations α and β. "feature": α and β are divided equally among the classes.
        "pooled": each class has α + β imaginary rows, distributed like the whole column.
    tuned : bool, optional
        Whether to multiply the concentrations by the factor that maximizes the evidence; see :meth:`learned`.

    Examples
    --------
    >>> Beta(3, 1).mean(), Beta.m_estimate(4, 0.25)
    (array(0.75), Beta(alpha=1, beta=3))
    """

    alpha: float | Array = 1.0
    beta: float | Array = 1.0
    per: Literal["class", "feature", "pooled"] = "class"
    tuned: bool | None = field(default=None, repr=False)

    _ranges: ClassVar = {"alpha": NOT_NEGATIVE, "beta": NOT_NEGATIVE}
    strengths: ClassVar[Mapping[str, tuple[str, ...]]] = {"alpha, beta": ("alpha", "beta")}

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.per not in ("class", "feature", "pooled"):
            raise ValueError(f"Expected per to be 'class', 'feature' or 'pooled'; got {self.per!r}")

    @classmethod
    def laplace(cls, alpha: float = 1.0) -> Beta:
        """A prior worth α rows with the value 1, and α rows with the value 0."""
        return cls(alpha, alpha)

    @classmethod
    def imaginary(cls, rows: float, per: Any, tuned: bool | None = None) -> Beta:
        return cls(rows / 2, rows / 2, per, tuned)

    @classmethod
    def m_estimate(cls, m: float, p: float | Array = 0.5) -> Beta:
        """A prior worth ``m`` rows with mean ``p``.

        If n of N rows have the value 1, the posterior mean is (n + m p) / (N + m).
        """
        p = np.asarray(p, float)
        if not np.all((p >= 0) & (p <= 1)):
            raise ValueError(f"Expected p between 0 and 1; got {p!r}")
        return cls(m * p, m * (1 - p))

    @classmethod
    def from_quantiles(cls, low: float, high: float, share: float = 0.9) -> Beta:
        """The prior whose central interval from ``low`` to ``high`` contains θ with probability ``share``.

        >>> Beta.from_quantiles(0.2, 0.6)
        Beta(alpha=5.93521, beta=9.22091)
        """
        return cls(*elicitation.beta_between(low, high, share))

    @classmethod
    def from_rows(cls, n: float, rows: Any) -> Beta:
        """A prior worth ``n`` rows, whose mean is the share of the value 1 in ``rows``."""
        return cls.m_estimate(n, float(elicitation.rows_like("zeros and ones", rows, n).mean()))

    def over(self, n_columns: int, n_classes: int, pooled: Array | None = None) -> Beta:
        """Expand the prior to arrays (class, column); ``pooled`` is the share of the value 1 in each column."""
        if self.per == "pooled":
            if pooled is None:
                raise ValueError("a Beta around the pooled share of ones is a prior of columns of zeros and ones")
            rows = spread(self.alpha + self.beta, (n_classes, n_columns))
            return Beta(rows * pooled, rows * (1 - pooled))
        share = n_classes if self.per == "feature" else 1
        return Beta(*(spread(v / share, (n_classes, n_columns)) for v in (self.alpha, self.beta)))

    # The outcomes are 0 and 1; users see the probability of a 1. Data are counts of ones and zeros; the default is a
    # single 1.

    @property
    def concentrations(self) -> Array:
        return self.counted(self.alpha, self.beta)

    @cached_property
    def total(self) -> Array:
        return self.alpha + self.beta

    @staticmethod
    def counted(ones: Array = ONE, zeros: Array = NONE) -> Array:
        return np.stack(np.broadcast_arrays(zeros, ones), axis=-1)

    @staticmethod
    def shown(each: Array) -> Array:
        return each[..., 1]

    def plus(self, ones: Array = ONE, zeros: Array = NONE, t: float | Array = 1.0) -> Beta:
        return self._with(alpha=self.alpha + t * ones, beta=self.beta + t * zeros)

    def drawn_along(self, ones: Array = ONE, zeros: Array = NONE, *, common: CommonDraws, kind: int = 0) -> Array:
        # If only one outcome was counted, the two arrays differ in shape.
        both = np.broadcast_arrays(common.log_gamma(self.beta, kind + 1), common.log_gamma(self.alpha, kind))
        log_theta = np.stack(both, axis=-1) - log_sum(both)[..., None]
        return self.log_kernel({"log_theta": log_theta}, ones, zeros)

    @classmethod
    def theta(cls, *point: Array) -> Theta:
        (p,) = point
        with np.errstate(divide="ignore"):
            return {"log_theta": np.stack([np.log1p(-p), np.log(p)], axis=-1)}

    @staticmethod
    def log_kernel(theta: Theta, ones: Array = ONE, zeros: Array = NONE) -> Array:
        log_zero, log_one, n = theta["log_theta"][..., 0], theta["log_theta"][..., 1], ones + zeros
        zero, one = np.exp(log_zero), np.exp(log_one)
        gap = zeros * one - ones * zero
        return -rate_deviance(zeros, n, log_zero, zero, gap) - rate_deviance(ones, n, log_one, one, -gap)

    @staticmethod
    def pymc_likelihood(theta: Mapping[str, Any], ones: Any, zeros: Any) -> Any:
        from pytensor import tensor as pt

        return ones * pt.log(theta["theta"]) + zeros * pt.log1p(-theta["theta"])

    def pymc(self, name: Callable[[str], str], dims: tuple[str, ...]) -> Any:
        import pymc as pm

        return pm.Beta(name("theta"), alpha=shared(self.alpha), beta=shared(self.beta), dims=dims)


@dataclass(frozen=True, eq=False, repr=False)
class Outcome(Beta):
    """θ ~ Beta(α, β), the probability of one outcome; β is the total concentration of the other outcomes."""

    outcomes: Any = 2  # The number of outcomes with a positive concentration.

    @classmethod
    def of(cls, whole: SimplexPrior, own: Array) -> Outcome:
        return OUTCOME._with(alpha=own, beta=np.maximum(whole.total - own, 0.0), outcomes=whole.outcomes)

    def along(self, ones: Array = ONE, zeros: Array = NONE, t: float | Array = 1.0) -> Array:
        """ln E[θ^(t n)]."""
        own, whole = log_rising(self.alpha, t * ones), log_rising(self.total, t * ones)
        return np.where(np.isposinf(own), np.inf, own - np.where(np.isposinf(whole), 0.0, whole))

    def drawn_along(self, ones: Array = ONE, zeros: Array = NONE, *, common: CommonDraws, kind: int = 0) -> Array:
        return ones * common.log_beta(self.alpha, self.beta, kind)

    @staticmethod
    def log_kernel(theta: Theta, ones: Array = ONE, zeros: Array = NONE) -> Array:
        return ones * theta["log_theta"][..., 1]


OUTCOME = Outcome()
"""The fields that :meth:`Outcome.of` does not set."""
