"""The prior of independent parts, all of which tell of a cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.random import Generator

from bayesnb.numerics import Array, Size
from bayesnb.priors.belief import Theta, parts_of
from bayesnb.priors.common_draws import CommonDraws
from bayesnb.priors.compound import Compound, fourth_moments, numbered, of_part


@dataclass(frozen=True, eq=False, repr=False)
class AllOf(Compound):
    """Independent parts, all of which tell of a cell: its log density is the sum of theirs.

    Parameters
    ----------
    parts : tuple of Prior

    Examples
    --------
    >>> from bayesnb import Beta, Gamma
    >>> both = AllOf((Beta(1.0, 1.0), Gamma(2.0, 1.0)))
    >>> [round(float(mean), 2) for mean in both.plus((1.0, 0.0, 1.0, 0.0), (1.0, 0.0, 3.0, 1.0)).mean()]
    [0.67, 2.5]
    """

    def joined(self, parts: tuple[Any, ...]) -> AllOf:
        return AllOf(parts)

    def mean(self) -> tuple[Array, ...]:
        return tuple(self.moments_of_parts("mean"))

    def variance(self) -> tuple[Array, ...]:
        return tuple(self.moments_of_parts("variance"))

    def mode(self) -> tuple[Array, ...]:
        return tuple(self.moments_of_parts("mode"))

    def draw(self, rng: Generator, size: Size = ()) -> tuple[Array, ...]:
        return tuple(value for part in self.parts for value in parts_of(part.draw(rng, size)))

    def log_prob(self, *theta: Array) -> Array:
        points = self.points_of_parts(theta)
        return sum(part.log_prob(*point) for part, point in zip(self.parts, points, strict=True))

    def log_prob_of_each(self, *theta: Array) -> tuple[Array, ...]:
        points = zip(self.parts, self.points_of_parts(theta), strict=True)
        return tuple(value for part, point in points for value in part.log_prob_of_each(*point))

    def log_jacobian(self, *theta: Array) -> Array:
        points = self.points_of_parts(theta)
        return sum(part.log_jacobian(*point) for part, point in zip(self.parts, points, strict=True))

    def size_of_point(self) -> int:
        return sum(part.size_of_point() for part in self.parts)

    def fourth_moments(self) -> tuple[Any, ...]:
        return fourth_moments(self.parts)

    def log_normalizer(self) -> Array:
        return sum(part.log_normalizer() for part in self.parts)

    def plus(self, *d: Any, t: float | Array = 1.0) -> AllOf:
        return AllOf(self.plus_in_parts(d, t))

    def along(self, *d: Any, t: float | Array = 1.0) -> Array:
        return sum(self.terms(d, t))

    def slopes(self, *d: Any, t: float | Array = 0.0) -> tuple[Array, Array]:
        first, second = zip(*self.slopes_of_parts(d, t), strict=True)
        return sum(first), sum(second)

    def drawn_along(self, *d: Any, common: CommonDraws) -> Array:
        return sum(self.drawn_in_parts(d, common))

    def log_kernel(self, theta: Theta, *d: Any) -> Array:
        return sum(self.kernels_of_parts(theta, d))

    def point(self, theta: Theta) -> tuple[Array, ...]:
        return tuple(value for k, part in enumerate(self.parts) for value in part.point(of_part(k, theta)))

    def mean_theta(self) -> Theta:
        return self._theta("mean_theta")

    def mode_theta(self) -> Theta:
        return self._theta("mode_theta")

    def _theta(self, which: str) -> Theta:
        return {key: v for k, part in enumerate(self.parts) for key, v in numbered(k, getattr(part, which)()).items()}

    def draw_theta(self, rng: Generator, size: Size = ()) -> Theta:
        drawn = [numbered(k, part.draw_theta(rng, size)) for k, part in enumerate(self.parts)]
        return {name: value for each in drawn for name, value in each.items()}
