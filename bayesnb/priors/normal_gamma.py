"""The prior of a Normal's mean and precision."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from scipy import stats
from scipy.special import digamma, gammaln, zeta

from bayesnb.numerics import Array, Size, log, log_gamma_draw, log_rising
from bayesnb.priors import elicitation
from bayesnb.priors.belief import (
    BoundaryError,
    Prior,
    Theta,
    first,
    positive_scale,
    require_nonnegative,
    spread,
)
from bayesnb.priors.common_draws import CommonDraws
from bayesnb.priors.locations import between
from bayesnb.priors.tensors import shared
from bayesnb.statistics.two_floats import two_sum


@dataclass(frozen=True, eq=False, repr=False)
class NormalGamma(Prior):
    """(μ, τ) of a Normal, τ the precision: τ ~ Gamma(a, rate b), μ | τ ~ Normal(m, 1/(κτ)).

    The conjugate prior of a Normal with both parameters unknown (Murphy 2007, section 3; BDA3 3.3).

    Parameters
    ----------
    m : float, array (class, column) or None
        Prior location, in units of the column. ``None`` is the pooled mean of the column.
    kappa : float or array
        The number of rows that ``m`` counts as.
    a : float or array
        Half the number of rows that the variance counts as.
    b : float, array or None
        Half the sum of squares of these rows. ``None`` is a × pooled variance; if that variance is 0 or unknown, the
        square of the pooled mean takes its place, or 1 if that is 0 too.
    tuned : bool, optional
        Whether κ, a with b, and b are multiplied by the factors with the largest evidence; see :meth:`learned`.
    low : array, optional
        The rest of the location, which is m + low: far from 0, one float is not exact enough.

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
    strengths: ClassVar[Mapping[str, tuple[str, ...]]] = {"kappa": ("kappa",), "a": ("a", "b"), "b": ("b",)}

    m: float | Array | None = None
    kappa: float | Array = 1.0
    a: float | Array = 0.5
    b: float | Array | None = None
    low: float | Array = field(default=0.0, repr=False)
    tuned: bool | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for f in fields(self):
            if f.name != "tuned" and (value := getattr(self, f.name)) is not None:
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
    def learned(cls) -> NormalGamma:
        """Unit information, of which the evidence says how many rows the mean and the variance count as, and how large
        the variance is beside the pooled one.

        The columns of a feature share these three factors, in units of their pooled variances; so many columns teach
        them. The logarithm of each is Normal(0, 1) beforehand.
        """
        return cls(None, 1.0, 0.5, None, tuned=True)

    @classmethod
    def from_quantiles(cls, low: float, high: float, share: float = 0.9, rows: float = 1.0) -> NormalGamma:
        """The belief, worth ``rows`` rows, that a share of all values is between two numbers, and as many beyond each.

        It is the share of the predictive before any row, a Student-t.

        >>> NormalGamma.from_quantiles(155.0, 185.0, rows=10)
        NormalGamma(m=170, kappa=10, a=5, b=311.331)
        """
        up_to = elicitation.tails(low, high, share)[1]
        squared = ((high - low) / 2 / stats.t(rows).ppf(up_to)) ** 2
        return cls((low + high) / 2, rows, rows / 2, squared * rows / 2 * rows / (rows + 1))

    @classmethod
    def from_rows(cls, n: float, rows: Any) -> NormalGamma:
        """The belief worth ``n`` rows like these numbers."""
        x = elicitation.rows_like("values", rows, n)
        return cls(float(x.mean()), n, n / 2, n / 2 * float(x.var()))

    @classmethod
    def reference(cls) -> NormalGamma:
        """Improper, κ=0, a=-1/2, b=0: the posterior mean of τ is 1 / (variance with divisor N-1)."""
        return cls(0.0, 0.0, -0.5, 0.0)

    @classmethod
    def flat(cls) -> NormalGamma:
        """Improper, κ=0, a=1/2, b=0: the posterior mode of τ is 1 / (variance with divisor N)."""
        return cls(0.0, 0.0, 0.5, 0.0)

    def over(
        self,
        pooled_mean: Array,
        pooled_variance: Array,
        n_classes: int,
        pooled_low: float | Array = 0.0,
    ) -> NormalGamma:
        """The prior at its full shape (class, column).

        Parameters
        ----------
        pooled_mean, pooled_variance : arrays (column,)
            Mean and variance of each column.
        n_classes : int
        pooled_low : float or array (column,)
            The rest of the pooled mean, beyond one float.
        """
        shape = (n_classes, len(pooled_mean))
        centre = np.where(np.isfinite(pooled_mean), pooled_mean, 0.0)
        a, kappa = spread(self.a, shape), spread(self.kappa, shape)
        m, low = (centre, pooled_low) if self.m is None else (self.m, self.low)
        b = a * positive_scale(centre, pooled_variance) if self.b is None else self.b
        return NormalGamma(spread(m, shape), kappa, a, spread(b, shape), spread(low, shape))

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

    def fourth_moments(self) -> tuple[Any, ...]:
        # That of μ, a Student-t, exists above 4 degrees of freedom, 2a.
        return self.a > 2.5, np.ones(self.a.shape, bool)

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

    def _draw_away(self, rng: Generator, size: Size = ()) -> tuple[Array, Array]:
        """Draws of μ - m and of τ."""
        self.require_proper("A draw")
        tau = np.exp(log_gamma_draw(self.a, rng, size) - np.log(self.b))
        return self.low + rng.standard_normal(tau.shape) / np.sqrt(self.kappa) / np.sqrt(tau), tau

    def log_prob(self, *theta: Array) -> Array:
        mu, tau = theta
        distance = np.sqrt(self.kappa * tau) * (mu - self.m)
        return (self.a - 0.5) * np.log(tau) - self.b * tau - distance**2 / 2 - self.log_normalizer()

    def log_prob_of_each(self, *theta: Array) -> tuple[Array, ...]:
        of_tau = self.a * np.log(self.b) - gammaln(self.a) + (self.a - 1) * np.log(theta[1]) - self.b * theta[1]
        return self.log_prob(*theta) - of_tau, of_tau

    def log_jacobian(self, *theta: Array) -> Array:
        _, tau = theta
        return 0.5 * log(tau)

    def log_normalizer(self) -> Array:
        self.require_proper("A density")
        return gammaln(self.a) - self.a * np.log(self.b) + 0.5 * np.log(2 * np.pi / self.kappa)

    @cached_property
    def marginal(self) -> tuple[Array, ...]:
        """The Student-t of x ~ Normal(μ, 1/τ) (BDA3 3.3), log_height - exponent ln(1 + ((x - m - low) scale)²).

        Returns
        -------
        m, low, scale, exponent, log_height : arrays (class, column)
            ``scale`` is 1 / sqrt(2b(κ+1)/κ), ``exponent`` is a + 1/2, and ``log_height`` is the log density at m.
        """
        self.require_proper("A predictive")
        scale = np.sqrt(self.kappa / (self.kappa + 1) / 2) / np.sqrt(self.b)
        log_height = log_rising(self.a, 0.5) - 0.5 * np.log(np.pi) + np.log(scale)
        return self.m, np.broadcast_to(self.low, self.m.shape), scale, self.a + 0.5, log_height

    # A cell is d = (1, x, 0, 0).

    def gap(self, mean: Array, low: Array) -> Array:
        """How far a mean is from the location."""
        return (mean - self.m) + (low - self.low)

    def plus(self, n: Array, mean: Array, low: Array, scatter: Array, t: float | Array = 1.0) -> NormalGamma:
        rows, gap = t * n, self.gap(mean, low)
        kappa = self.kappa + rows
        share = rows / np.where(kappa > 0, kappa, 1.0)
        m, low = between(self.m, self.low, mean, low, gap, share)
        b = self.b + t * scatter / 2 + gap * (gap * (self.kappa * share / 2))
        return self._with(m=m, kappa=kappa, a=self.a + rows / 2, b=b, low=low)

    def along(self, n: Array, mean: Array, low: Array, scatter: Array, t: float | Array = 1.0) -> Array:
        """ln E[L^t], where L(μ, τ) = τ^(n/2) exp(-τ [scatter + n (mean - μ)²] / 2), which is not divided by a maximum.

        If a is large, the logarithms of the two normalizers are far larger than their difference. So the difference is
        written without them; ``gain`` is what the rows add to b.
        """
        rows, gap = t * n, self.gap(mean, low)
        with np.errstate(all="ignore"):
            gain = t * scatter / 2 + gap * (gap * (self.kappa * rows / (self.kappa + rows) / 2))
            # Where b is tiny, the ratio may be above all floats.
            growth = np.where(gain > 1e8 * self.b, np.log(gain + self.b) - np.log(self.b), np.log1p(gain / self.b))
            value = log_rising(self.a, rows / 2) - rows * (0.5 * np.log(self.b + gain)) - self.a * growth
            value = value - 0.5 * np.log1p(rows / self.kappa)
        exists = (self.kappa + rows > 0) & (self.a + rows / 2 > 0) & ~(gain <= -self.b)
        return np.where(rows == 0, 0.0, np.where(exists, value, np.inf))

    def slopes(self, n: Array, mean: Array, low: Array, scatter: Array, t: float | Array = 0.0) -> tuple[Array, Array]:
        with np.errstate(all="ignore"):
            # With b(t) = b (1 + z), growth is b'(t) / b(t), and curvature is the derivative of growth.
            squared, wide = (self.gap(mean, low) * self.kappa) ** 2 / (2 * self.b), self.kappa + t * n
            spread = scatter / 2 / self.b
            z = t * (n * squared / (self.kappa * wide) + spread)
            growth = (n * squared / wide**2 + spread) / (1 + z)
            curvature = -2 * n**2 * squared / wide**3 / (1 + z) - growth**2
            a = self.a + t * n / 2
            level = 0.5 * (digamma(a) - np.log(self.b) - 1 / wide - np.log1p(z))
            second = 0.5 * n**2 / wide**2 + 0.25 * n**2 * zeta(2.0, a) - n * growth - a * curvature
        return n * level - a * growth, second

    def floor(self, n: Array, mean: Array, low: Array, scatter: Array) -> Array:
        """The floor of a single row, whose scatter is 0."""
        with np.errstate(all="ignore"):
            squared = self.gap(mean, low) ** 2 / (2 * self.b)
            return -np.minimum(2 * self.a, self.kappa / (1 + self.kappa * squared)) / n

    def drawn_along(self, n: Array, mean: Array, low: Array, scatter: Array, *, common: CommonDraws) -> Array:
        log_tau = common.log_gamma(self.a) - np.log(self.b)
        with np.errstate(over="ignore"):
            root = np.exp(0.5 * log_tau)
            away = root * self.gap(mean, low) - common.normal(*self.a.shape[-2:]) / np.sqrt(self.kappa)
            return n * (0.5 * log_tau) - 0.5 * (root * (root * scatter) + n * away**2)

    @staticmethod
    def peak(n: Array, mean: Array, low: Array, scatter: Array) -> Array:
        """0, because the likelihood has no maximum if all rows are equal."""
        return np.zeros(np.shape(n))

    @classmethod
    def theta(cls, *point: Array) -> Theta:
        return {"mu": point[0], "tau": point[1], "low": np.zeros_like(point[0])}

    def mean_theta(self) -> Theta:
        return dict(zip(("mu", "tau"), self.mean(), strict=True)) | {"low": self.low}

    def mode_theta(self) -> Theta:
        return dict(zip(("mu", "tau"), self.mode(), strict=True)) | {"low": self.low}

    def draw_theta(self, rng: Generator, size: Size = ()) -> Theta:
        away, tau = self._draw_away(rng, size)
        mu, low = two_sum(self.m, away)
        return {"mu": mu, "tau": tau, "low": low}

    @staticmethod
    def log_kernel(theta: Theta, n: Array, mean: Array, low: Array, scatter: Array) -> Array:
        gap = (mean - theta["mu"]) + (low - theta["low"])
        return 0.5 * (n * log(theta["tau"]) - theta["tau"] * (scatter + n * gap**2))

    @staticmethod
    def pymc_likelihood(theta: Mapping[str, Any], n: Any, mean: Any, low: Any, scatter: Any) -> Any:
        from pytensor import tensor as pt

        away = (mean - theta["mu"]) + low
        return 0.5 * (n * pt.log(theta["tau"]) - theta["tau"] * (scatter + n * away**2))

    def pymc(self, name: Callable[[str], str], dims: tuple[str, ...]) -> Any:
        import pymc as pm

        self.require_sampled()
        tau = pm.Gamma(name("tau"), alpha=shared(self.a), beta=shared(self.b), dims=dims)
        return pm.Normal(name("mu"), mu=shared(self.m), tau=shared(self.kappa) * tau, dims=dims), tau
