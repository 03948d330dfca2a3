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

from bayesnb.kernels.expansions import two_sum
from bayesnb.numerics import Array, Size, log, log_gamma_draw, log_rising
from bayesnb.priors import elicitation
from bayesnb.priors.belief import (
    BoundaryError,
    ImproperError,
    Prior,
    Theta,
    first,
    positive_scale,
    require_nonnegative,
    spread,
)
from bayesnb.priors.common_draws import CommonDraws
from bayesnb.priors.locations import between, ordinary, unit_of
from bayesnb.priors.tensors import shared


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
    unit : array, optional
        The unit of m, low and √b: 1, or a power of two in columns whose squares are no ordinary floats.

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
    low: Any = field(default=None, repr=False)
    unit: Any = field(default=None, repr=False)
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
        unit: float | Array = 1.0,
    ) -> NormalGamma:
        """The prior at its full shape (class, column).

        Parameters
        ----------
        pooled_mean, pooled_variance : arrays (column,)
            Mean and variance of each column, in units of ``unit``.
        n_classes : int
        pooled_low : float or array (column,)
            The rest of the pooled mean, beyond one float.
        unit : float or array (column,)
        """
        shape = (n_classes, len(pooled_mean))
        centre = np.where(np.isfinite(pooled_mean), pooled_mean, 0.0)
        a, kappa, pooled_unit = spread(self.a, shape), spread(self.kappa, shape), spread(unit, shape)
        m, b = (None if value is None else spread(value, shape) for value in (self.m, self.b))
        # Given parameters have the unit 1. The larger of two units is taken, in which neither overflows.
        size = np.maximum(0.0 if m is None else np.abs(m), 0.0 if b is None else np.sqrt(b))
        own = unit_of(np.broadcast_to(size, shape))
        joint = (
            own if m is not None and b is not None else np.where(size > 0, np.maximum(own, pooled_unit), pooled_unit)
        )
        ratio = pooled_unit / joint
        low = spread(pooled_low, shape) * ratio if m is None else np.zeros(shape)
        m = centre * ratio if m is None else m / joint
        b = a * positive_scale(centre, pooled_variance) * ratio * ratio if b is None else b / joint / joint
        return NormalGamma(m, kappa, a, b, low, joint)

    def measured_in(self, unit: Array) -> NormalGamma:
        """The same belief in another unit."""
        if self.unit is not None and (unit == self.unit).all():
            return self
        low, own = self.placed()
        power = np.frexp(own)[1] - np.frexp(unit)[1]
        with np.errstate(all="ignore"):
            m, low, b = np.ldexp(self.m, power), np.ldexp(low, power), np.ldexp(self.b, 2 * power)
        return NormalGamma(m, self.kappa, self.a, b, low, unit)

    def placed(self) -> tuple[Array, Array]:
        """``low`` and ``unit``, 0 and 1 where they were not given."""
        low = np.zeros_like(self.m) if self.low is None else self.low
        return low, np.ones_like(self.m) if self.unit is None else self.unit

    def proper(self) -> Array:
        return (self.kappa > 0) & (self.a > 0) & (self.b > 0)

    def mean(self) -> tuple[Array, Array]:
        self.require_proper("A mean")
        return self._in_units(self.m, self.a / self.b)

    def _in_units(self, mu: Array, tau: Array) -> tuple[Array, Array]:
        """A location and a precision in units of the column."""
        if self.unit is None or (self.unit == 1).all():
            return mu, tau
        with np.errstate(over="ignore"):
            return mu * self.unit, tau / self.unit / self.unit

    def variance(self) -> tuple[Array, Array]:
        self.require_proper("A variance")
        finite = self.a > 1
        with np.errstate(over="ignore"):
            of_mu = np.where(finite, self.b / self.kappa / np.where(finite, self.a - 1, 1.0), np.inf)
            if self.unit is None or (self.unit == 1).all():
                return of_mu, self.a / self.b**2
            return of_mu * self.unit * self.unit, self.a / self.b**2 / self.unit**4

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
        return self._in_units(self.m, (self.a - 0.5) / self.b)

    def draw_away(self, rng: Generator, size: Size = ()) -> tuple[Array, Array]:
        """Draws of μ - m and of τ, in terms of ``unit``."""
        self.require_proper("A draw")
        tau = np.exp(log_gamma_draw(self.a, rng, size) - np.log(self.b))
        return self.placed()[0] + rng.standard_normal(tau.shape) / np.sqrt(self.kappa) / np.sqrt(tau), tau

    def draw(self, rng: Generator, size: Size = ()) -> tuple[Array, Array]:
        away, tau = self.draw_away(rng, size)
        return self._in_units(self.m + away, tau)

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
    def marginal(self) -> tuple[Array, Array, Array, Array]:
        """The Student-t of a number x ~ Normal(μ, 1/τ), as log_height - exponent ln(1 + ((x - m) scale)²) (BDA3 3.3).

        Returns
        -------
        m, scale, exponent, log_height : arrays (class, column)
            ``scale`` is 1 / sqrt(2b(κ+1)/κ), ``exponent`` is a + 1/2, and ``log_height`` is the log density at m.
            The unit of x is ``unit``.
        """
        self.require_proper("A predictive")
        scale = np.sqrt(self.kappa / (self.kappa + 1) / 2) / np.sqrt(self.b)
        return self.m, scale, self.a + 0.5, log_rising(self.a, 0.5) - 0.5 * np.log(np.pi) + np.log(scale)

    # A cell is d = (1, x, 0, 0, None). Its number has the unit 1, and is converted to the unit of the prior.

    def plus(self, n: Array, mean: Array, low: Array, scatter: Array, unit: Any, t: float | Array = 1.0) -> NormalGamma:
        rows = t * n
        own, scatter, gap, unit, where = self.in_one_unit(rows, mean, low, scatter, unit)
        kappa = own.kappa + rows
        share = rows / np.where(kappa > 0, kappa, 1.0)
        m, low = between(own.m, own.placed()[0], *where, gap, share)
        b = own.b + t * scatter / 2 + gap * (gap * (own.kappa * share / 2))
        return self._with(m=m, kappa=kappa, a=own.a + rows / 2, b=b, low=low, unit=unit)

    def along(self, n: Array, mean: Array, low: Array, scatter: Array, unit: Any, t: float | Array = 1.0) -> Array:
        """ln E[L^t], where L(μ, τ) = τ^(n/2) exp(-τ [scatter + n (mean - μ)²] / 2), which is not divided by a maximum.

        If a is large, the logarithms of the two normalizers are far larger than their difference. So the difference is
        written without them; ``gain`` is what the rows add to b.
        """
        rows = t * n
        with np.errstate(all="ignore"):
            own, scatter, gap, unit, _ = self.in_one_unit(rows, mean, low, scatter, unit)
            gain = t * scatter / 2 + gap * (gap * (own.kappa * rows / (own.kappa + rows) / 2))
            shift = 2 * (np.log(self.placed()[1]) - np.log(unit))
            b = self.b * np.exp(shift)
            far = np.log(gain) - np.log(self.b) - shift
            growth = np.where(far >= 500, far, np.log1p(gain / b))
            value = log_rising(self.a, rows / 2) - rows * (0.5 * np.log(b + gain) + np.log(unit)) - self.a * growth
            value = value - 0.5 * np.log1p(rows / self.kappa)
        exists = (self.kappa + rows > 0) & (self.a + rows / 2 > 0) & ~(gain <= -b)
        return np.where(rows == 0, 0.0, np.where(exists, value, np.inf))

    def slopes(
        self, n: Array, mean: Array, low: Array, scatter: Array, unit: Any, t: float | Array = 0.0
    ) -> tuple[Array, Array]:
        with np.errstate(all="ignore"):
            own, scatter, gap, unit, _ = self.in_one_unit(n, mean, low, scatter, unit)
            # With b(t) = b (1 + z), growth is b'(t) / b(t), and curvature is the derivative of growth.
            squared, wide = (gap * own.kappa) ** 2 / (2 * own.b), own.kappa + t * n
            spread = scatter / 2 / own.b
            z = t * (n * squared / (own.kappa * wide) + spread)
            growth = (n * squared / wide**2 + spread) / (1 + z)
            curvature = -2 * n**2 * squared / wide**3 / (1 + z) - growth**2
            a = own.a + t * n / 2
            level = 0.5 * (digamma(a) - np.log(own.b) - 1 / wide - np.log1p(z)) - np.log(unit)
            second = 0.5 * n**2 / wide**2 + 0.25 * n**2 * zeta(2.0, a) - n * growth - a * curvature
        return n * level - a * growth, second

    def floor(self, n: Array, mean: Array, low: Array, scatter: Array, unit: Any) -> Array:
        """The floor of a single row, whose scatter is 0."""
        with np.errstate(all="ignore"):
            own, _, gap, _, _ = self.in_one_unit(n, mean, low, scatter, unit)
            return -np.minimum(2 * own.a, own.kappa / (1 + own.kappa * gap**2 / (2 * own.b))) / n

    def drawn_along(
        self, n: Array, mean: Array, low: Array, scatter: Array, unit: Any, *, common: CommonDraws
    ) -> Array:
        own, scatter, gap, unit, _ = self.in_one_unit(n, mean, low, scatter, unit)
        log_tau = common.log_gamma(own.a) - np.log(own.b)
        with np.errstate(over="ignore"):
            root = np.exp(0.5 * log_tau)
            away = root * gap - common.normal(*own.a.shape[-2:]) / np.sqrt(own.kappa)
            return n * (0.5 * log_tau - np.log(unit)) - 0.5 * (root * (root * scatter) + n * away**2)

    def in_one_unit(self, rows: Array, mean: Array, low: Array, scatter: Array, unit: Any) -> tuple[Any, ...]:
        """The prior and d in one unit: the prior, scatter, distance of the means, unit, and the mean in two parts."""
        own_low, own_unit = self.placed()
        if unit is None:
            mean = mean / own_unit
            return self, scatter, (mean - self.m) - own_low, own_unit, (mean, low)
        # Under a flat prior, only the rows determine a unit.
        nothing = (self.kappa == 0) & (self.b == 0)
        joint = np.where(rows == 0, own_unit, np.where(nothing, unit, np.maximum(own_unit, unit)))
        own, power = self.measured_in(joint), np.frexp(unit)[1] - np.frexp(joint)[1]
        with np.errstate(all="ignore"):
            mean, low, scatter = np.ldexp(mean, power), np.ldexp(low, power), np.ldexp(scatter, 2 * power)
        return own, scatter, (mean - own.m) + (low - own.placed()[0]), joint, (mean, low)

    @staticmethod
    def peak(n: Array, mean: Array, low: Array, scatter: Array, unit: Any) -> Array:
        """0, because the likelihood has no maximum if all rows are equal."""
        return np.zeros(np.shape(n))

    @classmethod
    def point(cls, theta: Theta) -> tuple[Array, ...]:
        with np.errstate(over="ignore"):
            unit = theta.get("unit", 1.0)
            return theta["mu"] * unit, theta["tau"] / unit / unit

    def mean_theta(self) -> Theta:
        self.require_proper("A mean")
        return self._theta(self.a / self.b)

    def mode_theta(self) -> Theta:
        self.mode()
        return self._theta((self.a - 0.5) / self.b)

    def draw_theta(self, rng: Generator, size: Size = ()) -> Theta:
        away, tau = self.draw_away(rng, size)
        return self._theta(tau, away)

    def _theta(self, tau: Array, away: Array | None = None) -> Theta:
        """θ at the location m + away and a precision; with a second part and a unit if one float is not enough."""
        low, unit = self.placed()
        if ordinary(low * np.sqrt(self.a / self.b), unit).all():
            return {"mu": self.m if away is None else self.m + away, "tau": tau}
        mu, low = two_sum(self.m, low if away is None else away)
        return {"mu": mu, "tau": tau, "low": low, "unit": np.broadcast_to(unit, mu.shape)}

    @staticmethod
    def log_kernel(theta: Theta, n: Array, mean: Array, low: Array, scatter: Array, unit: Any) -> Array:
        own = theta.get("unit", 1.0)
        with np.errstate(over="ignore"):
            if unit is not None:
                mean, low, scatter = mean * unit, low * unit, scatter * unit * unit
            gap = (mean / own - theta["mu"]) + (low / own - theta.get("low", 0.0))
            squares = theta["tau"] * (scatter / own / own + n * gap**2)
        return n * (0.5 * log(theta["tau"]) - np.log(own)) - 0.5 * squares

    @staticmethod
    def pymc_likelihood(theta: Mapping[str, Any], n: Any, mean: Any, low: Any, scatter: Any, unit: Any) -> Any:
        from pytensor import tensor as pt

        unit = 1.0 if unit is None else unit
        away = (mean * unit - theta["mu"]) + low * unit
        return 0.5 * (n * pt.log(theta["tau"]) - theta["tau"] * (scatter * unit**2 + n * away**2))

    def pymc(self, name: Callable[[str], str], dims: tuple[str, ...]) -> Any:
        import pymc as pm

        self.require_sampled()
        if self.unit is not None and (self.unit != 1).any():
            raise ImproperError(
                "its numbers are too large or too small for PyMC, which takes their squares; divide the column by a "
                "constant",
                first(self.unit != 1),
            )
        tau = pm.Gamma(name("tau"), alpha=shared(self.a), beta=shared(self.b), dims=dims)
        return pm.Normal(name("mu"), mu=shared(self.m), tau=shared(self.kappa) * tau, dims=dims), tau
