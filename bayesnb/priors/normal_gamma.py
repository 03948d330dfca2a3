"""The prior of the mean and precision of a Normal."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from scipy.special import digamma, gammaln, stdtrit, zeta

from bayesnb.kernels.densities import Students
from bayesnb.numerics import LOG_2PI, Array, Size, log, log_gamma_draw, log_rising
from bayesnb.priors import elicitation
from bayesnb.priors.belief import (
    FINITE,
    NOT_NEGATIVE,
    Located,
    Theta,
    first,
    positive_scale,
    shared,
    spread,
    without_mode,
)
from bayesnb.priors.common_draws import CommonDraws


class UnknownPrecision(Located):
    """A prior of the mean and the precision of a Normal: Λ ~ Wishart(ν, Ψ⁻¹), μ | Λ ~ Normal(m, (κΛ)⁻¹).

    For one column, the prior is τ ~ Gamma(a, rate b), μ | τ ~ Normal(m, 1/(κτ)), with a = ν / 2 and b = Ψ / 2. Data
    are (n, mean, low, scatter): the total weight of rows, their mean (stored as mean + low), and their scatter about
    the mean (``None`` for a single row).
    """

    kappa: Any
    scale: Any
    """Ψ."""
    dof: Any
    """The degrees of freedom of the predictive Student-t, ν - d + 1."""
    size: int
    """d, the number of columns of a row."""
    log_rate: Any
    """ln det(Ψ/2)."""
    _rows_of_precision: ClassVar[tuple[str, str]]
    """The parameter for the strength of Λ, and its lower bound for a mode of Λ."""

    @abstractmethod
    def distance(self, mean: Array, low: Array) -> Array:
        """The distance of ``mean`` + ``low`` from the prior location: √(gapᵀ (Ψ/2)⁻¹ gap)."""

    @abstractmethod
    def growth(self, n: Array, mean: Array, low: Array, scatter: Any, t: Array) -> tuple[Array, Array, Array]:
        """Add ``t`` times the data; return (increase of ln det(Ψ/2), its new value, whether Ψ is positive definite)."""

    @abstractmethod
    def precision(self, times: Array) -> Array:
        """The matrix ``times`` Ψ⁻¹."""

    @staticmethod
    @abstractmethod
    def log_determinant(precision: Array) -> Array:
        """ln det Λ."""

    @staticmethod
    @abstractmethod
    def squares(precision: Array, gap: Array, n: Array, scatter: Any) -> Array:
        """Sum of (x - μ)ᵀ Λ (x - μ) over rows x; ``n`` is their total weight, and ``gap`` is their mean minus μ."""

    @property
    def nu(self) -> Array:
        return self.dof + (self.size - 1)

    def halves(self, more: Array | float = 0.0) -> list[Array]:
        """Shape parameters of the Gamma draws from which a Wishart draw is computed, with ``more`` added to ν."""
        return [(self.nu + more - k) / 2 for k in range(self.size)]

    def mean(self) -> tuple[Array, Array]:
        self.require_proper("A mean")
        return self.m, self.precision(self.nu)

    def mode(self) -> tuple[Array, Array]:
        self.require_proper("A mode")
        outside, (name, least) = self.dof <= 1, self._rows_of_precision
        if outside.any():
            where = first(outside)
            why = "the mode of the precision is 0, where {name} is {value:g} <= {least} (no row was seen)"
            value = getattr(self, name)[where]
            raise without_mode(why, where, " or a larger {name}", name=name, value=value, least=least)
        return self.m, self.precision(self.dof - 1)

    def log_prob_of_each(self, theta: Theta) -> tuple[Array, ...]:
        precision = theta[self.parameters[1]]
        gap, level = self.gap(theta["mu"], theta["low"]), self.log_determinant(precision)
        away = self.squares(precision, gap, self.kappa, 0.0 * self.scale)
        of_mu = 0.5 * (self.size * np.log(self.kappa / (2 * np.pi)) + level - away)
        whole = 0.5 * ((self.dof - 1) * level - self.squares(precision, gap, self.kappa, self.scale))
        return of_mu, whole - self.log_normalizer() - of_mu

    def log_jacobian(self, theta: Theta) -> Array:
        return 0.5 * self.size * self.log_determinant(theta[self.parameters[1]])

    def log_normalizer(self) -> Array:
        self.require_proper("A density")
        d, gammas = self.size, sum(map(gammaln, self.halves()))
        constant = d * (d - 1) / 4 * np.log(np.pi)
        return gammas + constant + 0.5 * (d * np.log(2 * np.pi / self.kappa) - self.nu * self.log_rate)

    def along(self, n: Array, mean: Array, low: Array, scatter: Any, t: float | Array = 1.0) -> Array:
        """Log moment ln E[L^t] of the likelihood L of the data (not divided by its maximum)."""
        rows = np.asarray(t * n)
        with np.errstate(all="ignore"):
            kappa = self.kappa + rows
            growth, after, exists = self.growth(n, mean, low, scatter, np.asarray(t))
            value = sum(log_rising(half, rows / 2) for half in self.halves()) - 0.5 * rows * after
            value = value - 0.5 * (self.nu * growth + self.size * np.log1p(rows / self.kappa))
        exists = exists & (kappa > 0) & (self.dof + rows > 0)
        return np.where(rows == 0, 0.0, np.where(exists, value, np.inf))

    def slopes(self, n: Array, mean: Array, low: Array, scatter: Any, t: float | Array = 0.0) -> tuple[Array, Array]:
        """First two derivatives of :meth:`along` with respect to ``t``; the ``scatter`` of the data must be 0."""
        d, wide, count = self.size, self.kappa + t * n, self.nu + t * n
        with np.errstate(all="ignore"):
            # det Ψ is multiplied by 1 + z; growth and curvature are the first two derivatives of its logarithm.
            squared = (self.kappa * self.distance(mean, low)) ** 2 / 2
            z = t * n * squared / (self.kappa * wide)
            growth = n * squared / wide**2 / (1 + z)
            curvature = -2 * n**2 * squared / wide**3 / (1 + z) - growth**2
            halves = self.halves(t * n)
            level = 0.5 * (sum(map(digamma, halves)) - self.log_rate - np.log1p(z) - d / wide)
            second = 0.25 * n**2 * sum(zeta(2.0, half) for half in halves) + 0.5 * d * n**2 / wide**2 - n * growth
        return n * level - 0.5 * count * growth, second - 0.5 * count * curvature

    def floor(self, n: Array, mean: Array, low: Array, scatter: Any) -> Array:
        with np.errstate(all="ignore"):
            squared = self.distance(mean, low) ** 2 / 2
            return -np.minimum(self.dof, self.kappa / (1 + self.kappa * squared)) / n

    def drawn_along(self, n: Array, mean: Array, low: Array, scatter: Any, *, common: CommonDraws) -> Array:
        # Rotate the axes so that the first axis is parallel to the gap. Then L depends on Λ only through the diagonal
        # of Bartlett's decomposition, which consists of roots of independent Gamma variates.
        d, distance = self.size, self.distance(mean, low)
        # Rows of equal weight have equal shapes and share their draws.
        shapes = [
            np.broadcast_to(half, np.broadcast_shapes(np.shape(half), np.shape(distance)[-2:]))
            for half in self.halves()
        ]
        diagonals = [common.log_gamma(shape, 3 + k) for k, shape in enumerate(shapes)]
        normals = [common.normal(*shapes[0].shape[-2:], kind=3 + d + k) / np.sqrt(self.kappa) for k in range(d)]
        with np.errstate(over="ignore"):
            along = np.exp(0.5 * diagonals[0]) * distance - normals[0]
            squares = along**2 + sum(np.square(each) for each in normals[1:])
            return 0.5 * n * (sum(diagonals) - self.log_rate - squares)

    @classmethod
    def log_kernel(cls, theta: Theta, n: Array, mean: Array, low: Array, scatter: Any) -> Array:
        precision = theta[cls.parameters[1]]
        squares = cls.squares(precision, (mean - theta["mu"]) + (low - theta["low"]), n, scatter)
        return 0.5 * (n * cls.log_determinant(precision) - squares)


@dataclass(frozen=True, eq=False, repr=False)
class NormalGamma(UnknownPrecision):
    """The conjugate prior of the mean μ and precision τ of a Normal: τ ~ Gamma(a, rate b), μ | τ ~ Normal(m, 1/(κτ)).

    See Murphy 2007, section 3, and BDA3 3.3.

    Parameters
    ----------
    m : float, array (class, column) or None
        Prior location, in units of the column; ``None`` for the pooled mean.
    kappa : float or array
        The strength of ``m``, in rows.
    a : float or array
        Half the strength of the prior variance, in rows.
    b : float, array or None
        ``a`` times the prior variance. ``None`` uses the pooled variance. If the pooled variance is 0 or unknown, it is
        replaced by the squared pooled mean, or by 1 if the pooled mean is 0 too.
    tuned : bool, optional
        Whether to multiply κ, a and b by the factors of :meth:`learned`, which maximize the evidence.
    low : array, optional
        The rounding error of ``m``: the prior location is m + low.

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
    _rows_of_precision = ("a", "1/2")
    _ranges: ClassVar = {"m": FINITE, "kappa": NOT_NEGATIVE, "a": FINITE, "b": NOT_NEGATIVE, "low": FINITE}
    parameters = ("mu", "tau")
    size = 1
    by_name = ("unit_information", "learned", "reference", "jeffreys", "flat")
    strengths: ClassVar[Mapping[str, tuple[str, ...]]] = {"kappa": ("kappa",), "a": ("a", "b"), "b": ("b",)}

    m: float | Array | None = None
    kappa: float | Array = 1.0
    a: float | Array = 0.5
    b: float | Array | None = None
    low: float | Array = field(default=0.0, repr=False)
    tuned: bool | None = field(default=None, repr=False)

    @classmethod
    def unit_information(cls, rows: float = 1.0) -> NormalGamma:
        """A prior with the mean and variance of the whole column, worth ``rows`` rows."""
        return cls(None, rows, rows / 2, None)

    @classmethod
    def learned(cls) -> NormalGamma:
        """The unit information prior with three factors, which maximize the evidence times a hyperprior.

        The first factor multiplies κ, the second multiplies a and b, and the third multiplies only b. All columns of a
        feature share the factors. The hyperprior of the logarithm of each factor is Normal(0, 1).
        """
        return cls(None, 1.0, 0.5, None, tuned=True)

    @classmethod
    def from_quantiles(cls, low: float, high: float, share: float = 0.9, rows: float = 1.0) -> NormalGamma:
        """A prior worth ``rows`` rows, under which a value is between ``low`` and ``high`` with probability ``share``.

        >>> NormalGamma.from_quantiles(155.0, 185.0, rows=10)
        NormalGamma(m=170, kappa=10, a=5, b=311.331)
        """
        up_to = elicitation.tails(low, high, share)[1]
        squared = ((high - low) / 2 / stdtrit(rows, up_to)) ** 2
        return cls((low + high) / 2, rows, rows / 2, squared * rows / 2 * rows / (rows + 1))

    @classmethod
    def from_rows(cls, n: float, rows: Any) -> NormalGamma:
        """A prior worth ``n`` rows with the mean and the variance of ``rows``."""
        x = elicitation.rows_like("values", rows, n)
        return cls(float(x.mean()), n, n / 2, n / 2 * float(x.var()))

    @classmethod
    def reference(cls) -> NormalGamma:
        """The improper prior κ=0, a=-1/2, b=0: the posterior mean of τ is 1 / (variance with divisor N-1)."""
        return cls(0.0, 0.0, -0.5, 0.0)

    @classmethod
    def jeffreys(cls) -> NormalGamma:
        """The improper prior p(μ, τ) ∝ 1/τ (Jeffreys' rule for μ and τ separately), as in :meth:`reference`."""
        return cls.reference()

    @classmethod
    def flat(cls) -> NormalGamma:
        """The improper prior κ=0, a=1/2, b=0: the posterior mode of τ is 1 / (variance with divisor N)."""
        return cls(0.0, 0.0, 0.5, 0.0)

    def over(
        self, pooled_mean: Array, pooled_variance: Array, n_classes: int, pooled_low: float | Array = 0.0
    ) -> NormalGamma:
        shape = (n_classes, len(pooled_mean))
        centre = np.where(np.isfinite(pooled_mean), pooled_mean, 0.0)
        a, kappa = spread(self.a, shape), spread(self.kappa, shape)
        m, low = (centre, pooled_low) if self.m is None else (self.m, self.low)
        b = a * positive_scale(centre, pooled_variance) if self.b is None else self.b
        return NormalGamma(spread(m, shape), kappa, a, spread(b, shape), spread(low, shape))

    def proper(self) -> Array:
        return (self.kappa > 0) & (self.a > 0) & (self.b > 0)

    @property
    def dof(self) -> Array:
        return 2 * self.a

    @property
    def scale(self) -> Array:
        return 2 * self.b

    @property
    def log_rate(self) -> Array:
        return np.log(self.b)

    def precision(self, times: Array) -> Array:
        return times / 2 / self.b

    @staticmethod
    def log_determinant(precision: Array) -> Array:
        return log(precision)

    @staticmethod
    def squares(precision: Array, gap: Array, n: Array, scatter: Any) -> Array:
        return precision * scatter + n * (np.sqrt(precision) * gap) ** 2

    def variance(self) -> tuple[Array, Array]:
        self.require_proper("A variance")
        finite = self.a > 1
        of_mu = np.where(finite, self.b / self.kappa / np.where(finite, self.a - 1, 1.0), np.inf)
        return of_mu, self.a / self.b**2

    def draw_away(self, rng: Generator, size: Size = ()) -> tuple[Array, Array]:
        self.require_proper("A draw")
        tau = np.exp(log_gamma_draw(self.a, rng, size) - np.log(self.b))
        return self.low + rng.standard_normal(tau.shape) / np.sqrt(self.kappa) / np.sqrt(tau), tau

    def curve(self, t: int = 1) -> tuple[Array, ...]:
        """The numbers in the Student-t log density of x, log_height - exponent ln(1 + ((x - m - low) scale)²).

        For t = -1, return the numbers in the leave-one-out log density, log_height + exponent ln(1 - ((x - m - low)
        scale)²).

        Returns
        -------
        m, low, scale, exponent, log_height : arrays (class, column)
            For t = 1, ``scale`` is 1 / sqrt(2b(κ+1)/κ), ``exponent`` is a + 1/2, and ``log_height`` is the log density
            at m.
        """
        proper = (self.kappa > max(0, -t)) & (self.a > max(0, -t / 2))
        with np.errstate(all="ignore"):
            scale = np.sqrt(self.kappa / (self.kappa + t) / 2) / np.sqrt(self.b)
            rise = t * (log_rising(self.a, t / 2) - 0.5 * np.log1p(t / self.kappa))
            log_height = rise - 0.5 * (np.log(self.b) + LOG_2PI)
        values = self.m, np.broadcast_to(self.low, self.m.shape), scale, self.a + t / 2, log_height
        return tuple(np.where(proper, value, np.nan) for value in values)

    @cached_property
    def students(self) -> Students:
        return Students.of(*self.curve())

    # A cell is d = (1, x, 0, 0).

    def plus(self, n: Array, mean: Array, low: Array, scatter: Array, t: float | Array = 1.0) -> NormalGamma:
        rows, gap = t * n, self.gap(mean, low)
        kappa = self.kappa + rows
        share = rows / np.where(kappa > 0, kappa, 1.0)
        b = self.b + t * scatter / 2 + gap * (gap * (self.kappa * share / 2))
        return self._with(kappa=kappa, a=self.a + rows / 2, b=b, **self.moved(mean, low, share))

    def distance(self, mean: Array, low: Array) -> Array:
        return np.abs(self.gap(mean, low)) / np.sqrt(self.b)

    def growth(self, n: Array, mean: Array, low: Array, scatter: Array, t: Array) -> tuple[Array, Array, Array]:
        rows, gap = t * n, self.gap(mean, low)
        gain = t * scatter / 2 + gap * (gap * (self.kappa * rows / (self.kappa + rows) / 2))
        after = np.log(gain + self.b)
        # If b is tiny, the ratio may overflow.
        return np.where(gain > 1e8 * self.b, after - np.log(self.b), np.log1p(gain / self.b)), after, ~(gain <= -self.b)

    @staticmethod
    def pymc_likelihood(theta: Mapping[str, Any], n: Any, mean: Any, low: Any, scatter: Any) -> Any:
        from pytensor import tensor as pt

        away = (mean - theta["mu"]) + low
        return 0.5 * (n * pt.log(theta["tau"]) - theta["tau"] * (scatter + n * away**2))

    def pymc(self, name: Callable[[str], str], dims: tuple[str, ...]) -> Any:
        import pymc as pm

        tau = pm.Gamma(name("tau"), alpha=shared(self.a), beta=shared(self.b), dims=dims)
        return pm.Normal(name("mu"), mu=shared(self.m), tau=shared(self.kappa) * tau, dims=dims), tau
