"""The prior of a Normal's mean and precision."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy.special import digamma, gammaln, zeta

from bayesnb.numerics import Array, Size, log, log_gamma_draw, log_rising
from bayesnb.priors.belief import (
    BoundaryError,
    Prior,
    Theta,
    first,
    positive_scale,
    require_nonnegative,
    shared,
    spread,
)


@dataclass(frozen=True, eq=False, repr=False)
class NormalGamma(Prior):
    """(μ, τ) of a Normal, τ the precision: τ ~ Gamma(a, rate b), μ | τ ~ Normal(m, 1/(κτ)).

    The conjugate prior of a Normal with both parameters unknown (Murphy 2007, section 3; BDA3 3.3).

    Parameters
    ----------
    m : float, array (class, column) or None
        Prior location, in units of the column. ``None`` is the pooled mean of the column.
    kappa : float or array
        Rows that ``m`` is worth.
    a : float or array
        Half the rows that the variance is worth.
    b : float, array or None
        Half their sum of squares. ``None`` is a × pooled variance. Where that variance is 0 or unknown,
        the square of the pooled mean stands for it, and 1 where that is 0 too.

    Examples
    --------
    >>> NormalGamma(m=170, kappa=5, a=3, b=100).mean()  # of μ and of τ
    (array(170.), np.float64(0.03))
    >>> NormalGamma.unit_information().over(np.array([10.0]), np.array([4.0]), n_classes=2)
    NormalGamma(m=[[10.],
     [10.]], kappa=[[1.],
     [1.]], a=[[0.5],
     [0.5]], b=[[2.],
     [2.]])
    """

    _where_none = "pooled"
    parameters = ("mu", "tau")

    m: float | Array | None = None
    kappa: float | Array = 1.0
    a: float | Array = 0.5
    b: float | Array | None = None

    def __post_init__(self) -> None:
        for f in fields(self):
            if (value := getattr(self, f.name)) is not None:
                value = np.asarray(value, float)
                if f.name in ("kappa", "b"):
                    require_nonnegative(f.name, value)
                elif not np.isfinite(value).all():
                    raise ValueError(f"Expected {f.name} to be finite; got {value!r}")
                object.__setattr__(self, f.name, value)

    @classmethod
    def unit_information(cls, rows: float = 1.0) -> NormalGamma:
        """One imaginary row (or ``rows`` of them) that looks like the whole column."""
        return cls(None, rows, rows / 2, None)

    @classmethod
    def reference(cls) -> NormalGamma:
        """Improper, κ=0, a=-1/2, b=0: the posterior mean of τ is 1 / (variance with divisor N-1)."""
        return cls(0.0, 0.0, -0.5, 0.0)

    @classmethod
    def flat(cls) -> NormalGamma:
        """Improper, κ=0, a=1/2, b=0: the posterior mode of τ is 1 / (variance with divisor N)."""
        return cls(0.0, 0.0, 0.5, 0.0)

    def over(self, pooled_mean: Array, pooled_variance: Array, n_classes: int) -> NormalGamma:
        """The prior at its full shape (class, column); the pooled moments are (column,)."""
        shape = (n_classes, len(pooled_mean))
        centre = np.where(np.isfinite(pooled_mean), pooled_mean, 0.0)
        a = spread(self.a, shape)
        b = a * positive_scale(centre, pooled_variance) if self.b is None else spread(self.b, shape)
        m = centre if self.m is None else self.m
        return NormalGamma(spread(m, shape), spread(self.kappa, shape), a, b)

    def proper(self) -> Array:
        return (self.kappa > 0) & (self.a > 0) & (self.b > 0)

    def mean(self) -> tuple[Array, Array]:
        self.require_proper("A mean")
        return self.m, self.a / self.b

    def variance(self) -> tuple[Array, Array]:
        self.require_proper("A variance")
        finite = self.a > 1
        of_mu = np.where(finite, self.b / self.kappa / np.where(finite, self.a - 1, 1.0), np.inf)
        return of_mu, self.a / self.b**2

    def mode(self) -> tuple[Array, Array]:
        self.require_proper("A mode")
        outside = self.a <= 0.5
        if outside.any():
            where = first(outside)
            raise BoundaryError(
                f"the mode of the precision is 0, where a is {self.a[where]:g} <= 1/2 (no row was seen); "
                'use the mean (estimate="mean") or a larger a',
                where,
            )
        return self.m, (self.a - 0.5) / self.b

    def draw(self, rng: Generator, size: Size = ()) -> tuple[Array, Array]:
        self.require_proper("A draw")
        tau = np.exp(log_gamma_draw(self.a, rng, size) - np.log(self.b))
        mu = self.m + rng.standard_normal(tau.shape) / np.sqrt(self.kappa) / np.sqrt(tau)
        return mu, tau

    def log_prob(self, *theta: Array) -> Array:
        mu, tau = theta
        distance = np.sqrt(self.kappa * tau) * (mu - self.m)
        return (self.a - 0.5) * np.log(tau) - self.b * tau - distance**2 / 2 - self.log_normalizer()

    def log_jacobian(self, *theta: Array) -> Array:
        _, tau = theta
        return 0.5 * log(tau)

    def log_normalizer(self) -> Array:
        self.require_proper("A density")
        return gammaln(self.a) - self.a * np.log(self.b) + 0.5 * np.log(2 * np.pi / self.kappa)

    @cached_property
    def marginal(self) -> tuple[Array, Array, Array, Array]:
        """The Student-t of a number x ~ Normal(μ, 1/τ), as top - power ln(1 + ((x - m) scale)²) (BDA3 3.3).

        Returns
        -------
        m, scale, power, top : arrays (class, column)
            ``scale`` is 1 / sqrt(2b(κ+1)/κ), ``power`` a + 1/2, and ``top`` the log density at m.
        """
        self.require_proper("A predictive")
        scale = np.sqrt(self.kappa / (self.kappa + 1) / 2) / np.sqrt(self.b)
        return self.m, scale, self.a + 0.5, log_rising(self.a, 0.5) - 0.5 * np.log(np.pi) + np.log(scale)

    def plus(self, n: Array, mean: Array, low: Array, scatter: Array, t: float | Array = 1.0) -> NormalGamma:
        weight = t * n
        kappa = self.kappa + weight
        share = weight / np.where(kappa > 0, kappa, 1.0)
        gap = (mean - self.m) + low
        return self._with(
            m=np.where(share == 1.0, mean, self.m + gap * share),
            kappa=kappa,
            a=self.a + weight / 2,
            b=self.b + t * scatter / 2 + gap * (gap * (self.kappa * share / 2)),
        )

    def along(self, n: Array, mean: Array, low: Array, scatter: Array, t: float | Array = 1.0) -> Array:
        weight = t * n
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            root = np.sqrt(self.b)
            z = weight * self.kappa / (2 * (self.kappa + weight)) * (((mean - self.m) + low) / root) ** 2
            z = z + t * (scatter / 2 / self.b)
            value = (
                log_rising(self.a, weight / 2)
                - 0.5 * weight * np.log(self.b)
                - 0.5 * np.log1p(weight / self.kappa)
                - (self.a + weight / 2) * np.log1p(z)
            )
        exists = (self.kappa + weight > 0) & (self.a + weight / 2 > 0) & (z > -1)
        return np.where(exists, value, np.inf)

    def slopes(self, n: Array, mean: Array, low: Array, scatter: Array, t: float | Array = 0.0) -> tuple[Array, Array]:
        with np.errstate(all="ignore"):
            # 1 + z is the scatter over b; its slopes over itself.
            squared, wide = (((mean - self.m) + low) * self.kappa) ** 2 / (2 * self.b), self.kappa + t * n
            z = t * (n * squared / (self.kappa * wide) + scatter / 2 / self.b)
            growth = (n * squared / wide**2 + scatter / 2 / self.b) / (1 + z)
            bend = -2 * n**2 * squared / wide**3 / (1 + z) - growth**2
            a = self.a + t * n / 2
            first = 0.5 * n * (digamma(a) - np.log(self.b) - 1 / wide - np.log1p(z)) - a * growth
            second = 0.5 * n**2 / wide**2 + 0.25 * n**2 * zeta(2.0, a) - n * growth - a * bend
        return first, second

    def floor(self, n: Array, mean: Array, low: Array, scatter: Array) -> Array:
        """Of one row, whose scatter is 0."""
        with np.errstate(all="ignore"):
            square = ((mean - self.m) + low) ** 2 / (2 * self.b)
            return -np.minimum(2 * self.a, self.kappa / (1 + self.kappa * square)) / n

    @staticmethod
    def peak(n: Array, mean: Array, low: Array, scatter: Array) -> Array:
        """0: the likelihood has no maximum where all rows are equal."""
        return np.zeros(np.shape(n))

    @classmethod
    def theta(cls, *point: Array) -> Theta:
        return dict(zip(cls.parameters, point, strict=True))

    @classmethod
    def point(cls, theta: Theta) -> tuple[Array, ...]:
        return theta["mu"], theta["tau"]

    def draw_theta(self, rng: Generator, size: Size = ()) -> Theta:
        return self.theta(*self.draw(rng, size))

    @staticmethod
    def pymc_likelihood(theta: Mapping[str, Any], n: Any, mean: Any, low: Any, scatter: Any) -> Any:
        from pytensor import tensor as pt

        return 0.5 * (n * pt.log(theta["tau"]) - theta["tau"] * (scatter + n * ((mean - theta["mu"]) + low) ** 2)).sum()

    def pymc(self, name: Callable[[str], str], dims: tuple[str, ...]) -> Any:
        import pymc as pm

        self.require_sampled()
        tau = pm.Gamma(name("tau"), alpha=shared(self.a), beta=shared(self.b), dims=dims)
        return pm.Normal(name("mu"), mu=shared(self.m), tau=shared(self.kappa) * tau, dims=dims), tau
