"""What the priors of Normals share: a location, and a precision that is not known.

Start with :class:`Located`. A location is kept as two floats, so that no distance from 0 loses digits.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import fields
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from scipy.special import digamma, gammaln, zeta

from bayesnb.kernels.two_floats import two_sum
from bayesnb.numerics import Array, Size, log_rising
from bayesnb.priors.belief import BoundaryError, Prior, Theta, first, parts_of, require_nonnegative
from bayesnb.priors.common_draws import CommonDraws


class Located(Prior):
    """A prior of the mean μ of a Normal, and perhaps of more, whose location is m + low."""

    m: Any
    low: Any

    def gap(self, mean: Array, low: Array) -> Array:
        """How far a mean is from the location."""
        return (mean - self.m) + (low - self.low)

    def moved(self, mean: Array, low: Array, share: Array) -> dict[str, Array]:
        """The location that is moved by this share of the gap to a mean, computed from the nearer one of the two."""
        near, gap = share > 0.5, self.gap(mean, low)
        step = np.where(near, low - gap * (1 - share), self.low + gap * share)
        return dict(zip(("m", "low"), two_sum(np.where(near, mean, self.m), step), strict=True))

    @abstractmethod
    def draw_away(self, rng: Generator, size: Size = ()) -> tuple[Array, ...]:
        """Draws of μ - m, and of the other parts of θ."""

    def draw_theta(self, rng: Generator, size: Size = ()) -> Theta:
        away, *others = self.draw_away(rng, size)
        mu, low = two_sum(self.m, away)
        return {**self.theta(mu, *others), "low": low}

    @classmethod
    def theta(cls, *point: Array) -> Theta:
        return {**super().theta(*point), "low": np.zeros_like(point[0])}

    def mean_theta(self) -> Theta:
        return {**self.theta(*parts_of(self.mean())), "low": self.low}

    def mode_theta(self) -> Theta:
        return {**self.theta(*parts_of(self.mode())), "low": self.low}

    @staticmethod
    def peak(*d: Array) -> Array:
        """0, at the mean of the rows; where Λ is not known, equal rows have no largest likelihood."""
        return np.zeros(np.shape(d[0]))


class UnknownPrecision(Located):
    """A prior of the mean and the precision of a Normal: Λ ~ Wishart(ν, Ψ⁻¹), μ | Λ ~ Normal(m, (κΛ)⁻¹).

    Of one column it is τ ~ Gamma(a, rate b), μ | τ ~ Normal(m, 1/(κτ)), with a = ν / 2 and b = Ψ / 2. Formulas that
    are functions of the squared distance gapᵀ (Ψ/2)⁻¹ gap and of ln det(Ψ/2) are written here, for any number of
    columns.

    Data are d = (n, mean, low, scatter): the weight of rows, their mean as two floats, and their scatter about it. One
    row has none.
    """

    kappa: Any
    scale: Any
    """Ψ."""
    dof: Any
    """The degrees of freedom of the predictive Student-t, ν - d + 1."""
    _rows_of_precision: ClassVar[tuple[str, str]]
    """The parameter that counts the rows which Λ is worth, and the value above which Λ has a mode."""
    _not_negative: ClassVar[frozenset[str]]

    def __post_init__(self) -> None:
        for f in fields(self):
            value = getattr(self, f.name)
            if value is None or isinstance(value, str | bool):
                continue
            value = np.asarray(value, float)
            if f.name in self._not_negative:
                require_nonnegative(f.name, value)
            elif not np.isfinite(value).all():
                raise ValueError(f"Expected {f.name} to be finite; got {value!r}")
            object.__setattr__(self, f.name, value)

    @property
    @abstractmethod
    def size(self) -> int:
        """d, the number of columns of a row."""

    @property
    @abstractmethod
    def log_rate(self) -> Array:
        """ln det(Ψ/2)."""

    @abstractmethod
    def distance(self, mean: Array, low: Array) -> Array:
        """The root of gapᵀ (Ψ/2)⁻¹ gap."""

    @abstractmethod
    def growth(self, n: Array, mean: Array, low: Array, scatter: Any, t: Array) -> tuple[Array, Array, Array]:
        """How much ln det(Ψ/2) grows by t times d, what it becomes, and where Ψ stays positive definite."""

    @abstractmethod
    def precision(self, times: Array) -> Array:
        """``times`` Ψ⁻¹."""

    @staticmethod
    @abstractmethod
    def log_determinant(precision: Array) -> Array:
        """ln det Λ."""

    @staticmethod
    @abstractmethod
    def squares(precision: Array, gap: Array, n: Array, scatter: Any) -> Array:
        """tr(Λ [scatter + n gap gapᵀ])."""

    @property
    def nu(self) -> Array:
        """ν, the degrees of freedom of the Wishart distribution."""
        return self.dof + (self.size - 1)

    def halves(self, more: Array | float = 0.0) -> list[Array]:
        """The shapes of the Gamma variates of which a Wishart variate is made: (ν - k) / 2 with ``more`` rows."""
        return [(self.nu + more - k) / 2 for k in range(self.size)]

    def mean(self) -> tuple[Array, Array]:
        self.require_proper("A mean")
        return self.m, self.precision(self.nu)

    def mode(self) -> tuple[Array, Array]:
        self.require_proper("A mode")
        outside, (name, least) = self.dof <= 1, self._rows_of_precision
        if outside.any():
            where = first(outside)
            raise BoundaryError(
                f"the mode of the precision is 0, where {name} is {getattr(self, name)[where]:g} <= {least} (no row "
                f'was seen); use the mean (estimate="mean") or a larger {name}',
                where,
            )
        return self.m, self.precision(self.dof - 1)

    def log_prob(self, *theta: Array) -> Array:
        mu, precision = theta
        squares = self.squares(precision, (mu - self.m) - self.low, self.kappa, self.scale)
        return 0.5 * ((self.dof - 1) * self.log_determinant(precision) - squares) - self.log_normalizer()

    def log_prob_of_each(self, *theta: Array) -> tuple[Array, ...]:
        mu, precision = theta
        level = self.size * np.log(self.kappa / (2 * np.pi)) + self.log_determinant(precision)
        of_mu = 0.5 * (level - self.squares(precision, (mu - self.m) - self.low, self.kappa, 0.0 * self.scale))
        return of_mu, self.log_prob(*theta) - of_mu

    def log_jacobian(self, *theta: Array) -> Array:
        return 0.5 * self.size * self.log_determinant(theta[1])

    def log_normalizer(self) -> Array:
        self.require_proper("A density")
        d, gammas = self.size, sum(map(gammaln, self.halves()))
        constant = d * (d - 1) / 4 * np.log(np.pi)
        return gammas + constant + 0.5 * (d * np.log(2 * np.pi / self.kappa) - self.nu * self.log_rate)

    def along(self, n: Array, mean: Array, low: Array, scatter: Any, t: float | Array = 1.0) -> Array:
        """ln E[L^t], where L is det Λ^(n/2) exp(-tr(Λ [scatter + n gap gapᵀ]) / 2), which is not divided by a maximum.

        The logarithms of the two normalizers are far larger than their difference if ν is large. So the difference is
        written without them.
        """
        rows = np.asarray(t * n)
        with np.errstate(all="ignore"):
            kappa = self.kappa + rows
            growth, after, exists = self.growth(n, mean, low, scatter, np.asarray(t))
            value = sum(log_rising(half, rows / 2) for half in self.halves()) - 0.5 * rows * after
            value = value - 0.5 * (self.nu * growth + self.size * np.log1p(rows / self.kappa))
        exists = exists & (kappa > 0) & (self.dof + rows > 0)
        return np.where(rows == 0, 0.0, np.where(exists, value, np.inf))

    def slopes(self, n: Array, mean: Array, low: Array, scatter: Any, t: float | Array = 0.0) -> tuple[Array, Array]:
        """The slopes along rows without scatter."""
        d, wide, count = self.size, self.kappa + t * n, self.nu + t * n
        with np.errstate(all="ignore"):
            # det Ψ is multiplied by 1 + z; growth is the derivative of its logarithm, and curvature that of growth.
            squared = (self.kappa * self.distance(mean, low)) ** 2 / 2
            z = t * n * squared / (self.kappa * wide)
            growth = n * squared / wide**2 / (1 + z)
            curvature = -2 * n**2 * squared / wide**3 / (1 + z) - growth**2
            halves = self.halves(t * n)
            level = 0.5 * (sum(map(digamma, halves)) - self.log_rate - np.log1p(z) - d / wide)
            second = 0.25 * n**2 * sum(zeta(2.0, half) for half in halves) + 0.5 * d * n**2 / wide**2 - n * growth
        return n * level - 0.5 * count * growth, second - 0.5 * count * curvature

    def floor(self, n: Array, mean: Array, low: Array, scatter: Any) -> Array:
        """The floor of rows without scatter."""
        with np.errstate(all="ignore"):
            squared = self.distance(mean, low) ** 2 / 2
            return -np.minimum(self.dof, self.kappa / (1 + self.kappa * squared)) / n

    def drawn_along(self, n: Array, mean: Array, low: Array, scatter: Any, *, common: CommonDraws) -> Array:
        """Draws of ln L of rows without scatter.

        L depends on the direction of the gap by its length alone: so the first axis may be put there, and then only the
        diagonal of Bartlett's decomposition is needed, whose squares are independent Gamma variates.
        """
        d, distance = self.size, self.distance(mean, low)
        # The rows share a shape, and then its draws, unless they differ in their weight.
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
