"""The prior of a probability, and the belief about the outcome of one trial."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.random import Generator

from bayesnb.numerics import Array, Size, log, log1p, log_gamma_slopes, log_rising
from bayesnb.priors import elicitation
from bayesnb.priors.belief import BoundaryError, Prior, Theta, require_concentration, spread
from bayesnb.priors.common_draws import CommonDraws
from bayesnb.priors.dirichlet import ROUNDING, Dirichlet
from bayesnb.priors.tensors import shared


@dataclass(frozen=True, eq=False, repr=False)
class Beta(Prior):
    """θ ~ Beta(α, β), the prior of a probability: α counts ones, β zeros (BDA3 2.4).

    Parameters
    ----------
    alpha, beta : float or array (class, column)
    per : {"class", "feature", "pooled"}
        Whether the concentrations are those of each class, are shared equally among all classes, or are a number of
        rows, α + β for each class, that look like the whole column.
    tuned : bool, optional
        Whether they are multiplied by the factor with the largest evidence; see :meth:`learned`.

    Examples
    --------
    >>> Beta(3, 1).mean(), Beta.m_estimate(4, 0.25)
    (array(0.75), Beta(alpha=1, beta=3))
    """

    alpha: float | Array = 1.0
    beta: float | Array = 1.0
    per: Literal["class", "feature", "pooled"] = "class"
    tuned: bool | None = field(default=None, repr=False)

    parameters = ("theta",)
    strengths: ClassVar[Mapping[str, tuple[str, ...]]] = {"alpha, beta": ("alpha", "beta")}

    def __post_init__(self) -> None:
        for name in ("alpha", "beta"):
            value = np.asarray(getattr(self, name), float)
            require_concentration(name, value)
            object.__setattr__(self, name, value)
        if self.per not in ("class", "feature", "pooled"):
            raise ValueError(f"Expected per to be 'class', 'feature' or 'pooled'; got {self.per!r}")

    @classmethod
    def laplace(cls, alpha: float = 1.0) -> Beta:
        """α imaginary ones and as many zeros."""
        return cls(alpha, alpha)

    @classmethod
    def m_estimate(cls, m: float, p: float | Array = 0.5) -> Beta:
        """m imaginary rows, of which a share ``p`` are ones: the mean is (n + m p) / (N + m)."""
        p = np.asarray(p, float)
        if not np.all((p >= 0) & (p <= 1)):
            raise ValueError(f"Expected p between 0 and 1; got {p!r}")
        return cls(m * p, m * (1 - p))

    @classmethod
    def jeffreys(cls) -> Beta:
        """Beta(1/2, 1/2)."""
        return cls(0.5, 0.5)

    @classmethod
    def perks(cls) -> Beta:
        """1/K for each of the K = 2 outcomes, which is Jeffreys' prior."""
        return cls(0.5, 0.5)

    @classmethod
    def bdeu(cls, ess: float) -> Beta:
        """ess / (classes × 2) for each outcome."""
        return cls(ess / 2, ess / 2, per="feature")

    @classmethod
    def pooled(cls, m: float) -> Beta:
        """m imaginary rows, of which as many are ones as in the whole column, all classes together."""
        return cls(m / 2, m / 2, per="pooled")

    @classmethod
    def learned(cls) -> Beta:
        """Imaginary rows like the whole column, as many as the evidence says.

        The columns of a feature share their number, so many columns teach it. ``ln m ~ Normal(ln 2, 1)`` beforehand.
        """
        return cls(1.0, 1.0, "pooled", True)

    @classmethod
    def from_quantiles(cls, low: float, high: float, share: float = 0.9) -> Beta:
        """The belief that θ is between two numbers with a probability of ``share``, and beyond each with the same one.

        >>> Beta.from_quantiles(0.2, 0.6)
        Beta(alpha=5.93521, beta=9.22091)
        """
        return cls(*elicitation.beta_between(low, high, share))

    @classmethod
    def from_rows(cls, n: float, rows: Any) -> Beta:
        """The belief worth ``n`` rows like these zeros and ones."""
        return cls.m_estimate(n, float(elicitation.rows_like("zeros and ones", rows, n).mean()))

    @classmethod
    def flat(cls) -> Beta:
        """The uniform density, whose mode is plain counting."""
        return cls(1.0, 1.0)

    def over(self, n_columns: int, n_classes: int, pooled: Array | None = None) -> Beta:
        """The prior at its full shape (class, column); ``pooled`` is the share of ones of each whole column."""
        if self.per == "pooled":
            if pooled is None:
                raise ValueError("a Beta around the pooled share of ones is a prior of columns of zeros and ones")
            rows = spread(self.alpha + self.beta, (n_classes, n_columns))
            return Beta(rows * pooled, rows * (1 - pooled))
        share = n_classes if self.per == "feature" else 1
        return Beta(*(spread(v / share, (n_classes, n_columns)) for v in (self.alpha, self.beta)))

    def pair(self) -> Dirichlet:
        """The same belief about (1 - θ, θ), which keeps the digits of 1 - θ if θ is close to 1."""
        # Not validated: without a row that a class does not have, a concentration may be negative.
        return Dirichlet()._with(alpha=np.stack(np.broadcast_arrays(self.beta, self.alpha), axis=-1))

    def proper(self) -> Array:
        return self.alpha + self.beta > 0

    def zeros(self) -> Array:
        return np.asarray((self.alpha == 0) | (self.beta == 0))

    def mean(self) -> Array:
        return self.pair().mean()[..., 1]

    def variance(self) -> Array:
        return self.pair().variance()[..., 1]

    def mode(self) -> Array:
        return self.pair().mode()[..., 1]

    def draw(self, rng: Generator, size: Size = ()) -> Array:
        return self.pair().draw(rng, size)[..., 1]

    def log_prob(self, *theta: Array) -> Array:
        (theta,) = theta
        return self.pair().log_prob(np.stack([1 - theta, theta], axis=-1))

    def log_jacobian(self, *theta: Array) -> Array:
        (theta,) = theta
        return self.pair().log_jacobian(np.stack([1 - theta, theta], axis=-1))

    def log_normalizer(self) -> Array:
        return self.pair().log_normalizer()

    def plus(self, ones: Array, zeros: Array, t: float | Array = 1.0) -> Beta:
        return self._with(alpha=self.alpha + t * ones, beta=self.beta + t * zeros)

    def along(self, ones: Array, zeros: Array, t: float | Array = 1.0) -> Array:
        return self.pair().along(_paired(ones, zeros), t)

    def slopes(self, ones: Array, zeros: Array, t: float | Array = 0.0) -> tuple[Array, Array]:
        return self.pair().slopes(_paired(ones, zeros), t)

    def floor(self, ones: Array, zeros: Array) -> Array:
        return self.pair().floor(_paired(ones, zeros))

    def drawn_along(self, ones: Array, zeros: Array, *, common: CommonDraws) -> Array:
        return self.pair().drawn_along(_paired(ones, zeros), common=common)

    @staticmethod
    def peak(ones: Array, zeros: Array) -> Array:
        return Dirichlet.peak(_paired(ones, zeros))

    @classmethod
    def theta(cls, *point: Array) -> Theta:
        (p,) = point
        return {"log_theta": np.stack([log1p(-p), log(p)], axis=-1)}

    @classmethod
    def point(cls, theta: Theta) -> tuple[Array, ...]:
        return (np.exp(theta["log_theta"][..., 1]),)

    def draw_theta(self, rng: Generator, size: Size = ()) -> Theta:
        return self.pair().draw_theta(rng, size)

    def canonical(self) -> Dirichlet:
        return self.pair()

    @staticmethod
    def log_kernel(theta: Theta, ones: Array, zeros: Array) -> Array:
        return Dirichlet.log_kernel(theta, _paired(ones, zeros))

    @staticmethod
    def pymc_likelihood(theta: Mapping[str, Any], ones: Any, zeros: Any) -> Any:
        from pytensor import tensor as pt

        return (ones * pt.log(theta["theta"]) + zeros * pt.log1p(-theta["theta"])).sum()

    def pymc(self, name: Callable[[str], str], dims: tuple[str, ...]) -> Any:
        import pymc as pm

        self.require_sampled()
        return pm.Beta(name("theta"), alpha=shared(self.alpha), beta=shared(self.beta), dims=dims)


def _paired(ones: Array, zeros: Array) -> Array:
    """The counts of both outcomes, in the order of :meth:`Beta.pair`."""
    return np.stack(np.broadcast_arrays(zeros, ones), axis=-1)


@dataclass(frozen=True, eq=False)
class Chance:
    """The belief about the probability of one outcome, whose concentration is a part of a Dirichlet or a Beta.

    It has the methods that a :class:`Prior` has for the data d of one trial with this outcome. They are ratios of Γ,
    which lose no digits because one trial is small beside any concentration.

    Parameters
    ----------
    own : array
        Concentration of the outcome.
    total : array
        Concentration of all outcomes.
    outcomes : int or array
        How many outcomes have a positive concentration.
    """

    own: Array
    total: Array
    outcomes: int | Array

    def proper(self) -> Array:
        return self.total > 0

    def plus(self, t: float | Array = 1.0) -> Chance:
        return Chance(self.own + t, self.total + t, self.outcomes)

    def mean_theta(self) -> Theta:
        return {"log_theta": log(self.own) - log(self.total)}

    def mode_theta(self) -> Theta:
        """The mode of all outcomes together, at this one; the concentrations of the others are at least 1."""
        alone = self.outcomes == 1
        # A weight that is added to 1 and taken away again may leave a little less or more than 1.
        outside = (self.own < 1 - ROUNDING) & ~alone
        if outside.any():
            raise BoundaryError.of_concentration(self.own, outside)
        excess = np.where(alone, 1.0, np.where(self.own > 1 + ROUNDING, self.own - 1, 0.0))
        whole = np.where(alone, 1.0, np.where(self.total > self.outcomes + ROUNDING, self.total - self.outcomes, 0.0))
        # A flat density has no single mode, so its centre is taken.
        flat = whole <= 0
        return {"log_theta": np.where(flat, -np.log(self.outcomes), log(excess) - log(np.where(flat, 1.0, whole)))}

    @staticmethod
    def log_kernel(theta: Theta) -> Array:
        return theta["log_theta"]

    def along(self, t: float | Array = 1.0) -> Array:
        own, whole = log_rising(self.own, t), log_rising(self.total, t)
        return np.where(np.isposinf(own), np.inf, own - np.where(np.isposinf(whole), 0.0, whole))

    def slopes(self, t: float | Array = 0.0) -> tuple[Array, Array]:
        own, whole = log_gamma_slopes(self.own + t), log_gamma_slopes(self.total + t)
        return own[0] - whole[0], own[1] - whole[1]

    def floor(self) -> Array:
        return -self.own

    def drawn_along(self, *, common: CommonDraws) -> Array:
        own, others = common.log_gamma(self.own), common.log_gamma(np.maximum(self.total - self.own, 0.0), kind=1)
        return own - np.logaddexp(own, others)
