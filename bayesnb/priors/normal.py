"""The Normal prior of the mean μ of a Normal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from scipy.special import ndtri

from bayesnb.numerics import Array, Size
from bayesnb.priors import elicitation
from bayesnb.priors.belief import FINITE, Located, Theta, shared, spread
from bayesnb.priors.common_draws import CommonDraws


@dataclass(frozen=True, eq=False, repr=False)
class Normal(Located):
    """μ ~ Normal(m, variance v), the prior of the mean of a Normal with known variance (BDA3 2.5).

    Parameters
    ----------
    m : float, array (class, column) or None
        Location; ``None`` for the pooled mean.
    v : float, array or None
        Variance. ``None`` uses the known variance of a row: one imaginary row.
    low : array, optional
        The rounding error of ``m``: the location is m + low.

    Examples
    --------
    >>> Normal(170, 25).variance()
    array(25.)
    """

    _where_none = "pooled"
    parameters = ("mu",)
    by_name = ("unit_information", "flat")
    _ranges: ClassVar = {"m": FINITE, "low": FINITE}

    m: float | Array | None = None
    v: float | Array | None = None
    low: float | Array = field(default=0.0, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.v is not None:
            object.__setattr__(self, "v", np.asarray(self.v, float))
            if not np.all(self.v >= 0):
                raise ValueError(f"Expected v not to be negative; got {self.v!r}")
        if self.m is not None:
            object.__setattr__(self, "low", np.array(np.broadcast_to(self.low, self.m.shape)))

    @classmethod
    def unit_information(cls) -> Normal:
        """One imaginary row at the mean of the whole column."""
        return cls(None, None)

    @classmethod
    def from_quantiles(cls, low: float, high: float, share: float = 0.9) -> Normal:
        """The prior whose central interval from ``low`` to ``high`` contains μ with probability ``share``.

        >>> Normal.from_quantiles(160.0, 180.0)
        Normal(m=170, v=36.9612)
        """
        up_to = elicitation.tails(low, high, share)[1]
        return cls((low + high) / 2, ((high - low) / 2 / ndtri(up_to)) ** 2)

    @classmethod
    def flat(cls) -> Normal:
        """The improper prior with infinite variance."""
        return cls(0.0, np.inf)

    def over(self, pooled_mean: Array, row_variance: Array, n_classes: int, pooled_low: float | Array = 0.0) -> Normal:
        shape = (n_classes, len(pooled_mean))
        centre = np.where(np.isfinite(pooled_mean), pooled_mean, 0.0)
        m = centre if self.m is None else self.m
        v = row_variance if self.v is None else self.v
        return Normal(spread(m, shape), spread(v, shape), spread(pooled_low if self.m is None else 0.0, shape))

    def proper(self) -> Array:
        return np.isfinite(self.v) & (self.v > 0)

    def mean(self) -> Array:
        self.require_proper("A mean")
        return self.m

    def variance(self) -> Array:
        self.require_proper("A variance")
        return self.v

    def mode(self) -> Array:
        self.require_proper("A mode")
        return self.m

    def draw_away(self, rng: Generator, size: Size = ()) -> tuple[Array]:
        self.require_proper("A draw")
        return (self.low + np.sqrt(self.v) * rng.standard_normal(size + self.m.shape),)

    def log_prob_of_each(self, theta: Theta) -> tuple[Array]:
        gap = self.gap(theta["mu"], theta["low"])
        return (-((gap / np.sqrt(self.v)) ** 2) / 2 - self.log_normalizer(),)

    def log_jacobian(self, theta: Theta) -> Array:
        return np.zeros_like(theta["mu"])

    def log_normalizer(self) -> Array:
        self.require_proper("A density")
        return 0.5 * np.log(2 * np.pi * self.v)

    def plus(self, precision: Array, mean: Array, low: Array, t: float | Array = 1.0) -> Normal:
        precision = t * precision
        # Avoid dividing by zero if v is infinite or a class has no rows.
        known = precision != 0
        ratio = 1 / np.where(known, precision, 1.0) / np.where(self.v > 0, self.v, 1.0)
        share = np.where(known & (self.v > 0), 1 / (1 + ratio), 0.0)
        v = np.where(share != 0, share / np.where(known, precision, 1.0), self.v)
        return self._with(v=v, **self.moved(mean, low, share))

    def along(self, precision: Array, mean: Array, low: Array, t: float | Array = 1.0) -> Array:
        """Log moment ln E[L(μ)^t] of the likelihood L(μ) = exp(-precision (mean - μ)² / 2), whose maximum is 1."""
        precision = t * precision
        with np.errstate(all="ignore"):
            wide, gap = 1 + precision * self.v, self.gap(mean, low)
            value = -0.5 * (np.log1p(precision * self.v) + precision * (gap / np.sqrt(wide)) ** 2)
        return np.where(wide > 0, np.where(precision == 0, 0.0, value), np.inf)

    def slopes(self, precision: Array, mean: Array, low: Array, t: float | Array = 0.0) -> tuple[Array, Array]:
        with np.errstate(all="ignore"):
            wide, gap = 1 + t * precision * self.v, self.gap(mean, low)
            share, squared = precision * self.v / wide, precision * (gap / wide) ** 2
            return -0.5 * (share + squared), share * (0.5 * share + squared)

    def floor(self, precision: Array, mean: Array, low: Array) -> Array:
        with np.errstate(divide="ignore"):
            return np.broadcast_to(-1 / (precision * self.v), np.broadcast_shapes(np.shape(mean), np.shape(self.v)))

    def drawn_along(self, precision: Array, mean: Array, low: Array, *, common: CommonDraws) -> Array:
        gap = self.gap(mean, low)
        with np.errstate(over="ignore"):
            return -0.5 * precision * (gap - np.sqrt(self.v) * common.normal(*self.v.shape[-2:])) ** 2

    @staticmethod
    def log_kernel(theta: Theta, precision: Array, mean: Array, low: Array) -> Array:
        return -0.5 * precision * ((mean - theta["mu"]) + (low - theta["low"])) ** 2

    @staticmethod
    def pymc_likelihood(theta: Mapping[str, Any], precision: Any, mean: Any, low: Any) -> Any:
        return -0.5 * precision * ((mean - theta["mu"]) + low) ** 2

    def pymc(self, name: Callable[[str], str], dims: tuple[str, ...]) -> Any:
        import pymc as pm

        return pm.Normal(name("mu"), mu=shared(self.m), sigma=shared(np.sqrt(self.v)), dims=dims)
