"""The prior of several parts, of which one generates all values of a class and column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy.special import logsumexp

from bayesnb.numerics import Array, Size
from bayesnb.priors.belief import BoundaryError, Theta, first, parts_of
from bayesnb.priors.beta_tree import mixed
from bayesnb.priors.common_draws import CommonDraws
from bayesnb.priors.compound import Compound, fourth_moments, numbered

NO_MODE = (
    "a mixture of families has no mode in closed form, and no maximum of the likelihood; use the mean "
    '(estimate="mean" or "predictive")'
)


@dataclass(frozen=True, eq=False, repr=False)
class OneOf(Compound):
    """One of several parts generates all values of a class and column, and it is not known which.

    The choice is summed out: the posterior weight of a part is its prior weight times its evidence, and everything else
    is an average over the parts with these weights (Hoeting, Madigan, Raftery and Volinsky 1999). The θ of a part that
    was not chosen has its prior, since no value tells of it.

    Parameters
    ----------
    parts : tuple of Prior
        What is believed of the θ of each part if it is the one.
    log_weight : array (class, column, part)
        ln of the probability of each part.
    before : tuple of Prior
        What is believed of the θ of each part if it is not the one.

    Examples
    --------
    >>> from bayesnb import Gamma
    >>> few, many = Gamma(1.0, 1.0), Gamma(100.0, 10.0)
    >>> either = OneOf((few, many), np.log([0.5, 0.5]), (few, many))
    >>> two_events = 1.0, Gamma.peak(2.0, 1.0), 2.0, 1.0  # in one unit of time
    >>> np.exp(either.plus(two_events, two_events).log_weight).round(3)
    array([0.976, 0.024])
    """

    log_weight: Array
    before: tuple[Any, ...] = ()

    def joined(self, parts: tuple[Any, ...]) -> OneOf:
        return OneOf(parts, self.log_weight, self.before)

    def _weighed(self, terms: Sequence[Array]) -> list[Array]:
        return [self.log_weight[..., k] + term for k, term in enumerate(terms)]

    # Of the variables that a sampler has. The choice is not one of them.

    def mean(self) -> tuple[Array, ...]:
        return tuple(mean for mean, _ in self._moments())

    def variance(self) -> tuple[Array, ...]:
        return tuple(variance for _, variance in self._moments())

    def _moments(self) -> Iterator[tuple[Array, Array]]:
        """Mean and variance of each variable: as chosen with the weight of its part, else as before."""
        for k, both in enumerate(zip(self.parts, self.before, strict=True)):
            here, there = ([parts_of(part.mean()), parts_of(part.variance())] for part in both)
            for mean, variance, other_mean, other_variance in zip(*here, *there, strict=True):
                w = self.log_weight[..., k].reshape(*self.log_weight.shape[:-1], *[1] * (np.ndim(mean) - 2))
                w = np.exp(w)
                with np.errstate(invalid="ignore"):
                    spread = w * variance + (1 - w) * other_variance + w * (1 - w) * (mean - other_mean) ** 2
                yield w * mean + (1 - w) * other_mean, np.where(np.isnan(spread), np.inf, spread)

    def fourth_moments(self) -> tuple[Any, ...]:
        both = zip(fourth_moments(self.parts), fourth_moments(self.before), strict=True)
        return tuple(here & there for here, there in both)

    def size_of_point(self) -> int:
        return 1 + sum(part.size_of_point() for part in self.parts)

    def log_jacobian(self, *theta: Array) -> Array:
        points = self.points_of_parts(theta[1:])
        return sum(part.log_jacobian(*point) for part, point in zip(self.parts, points, strict=True))

    def mode(self) -> Any:
        raise BoundaryError(NO_MODE, first(np.ones(self.log_weight.shape[:-1], bool)))

    def mode_theta(self) -> Theta:
        return self.mode()

    def draw(self, rng: Generator, size: Size = ()) -> tuple[Array, ...]:
        """The choice as zeros and a one, (..., class, column, part), and the variables of all parts."""
        chosen = self._chosen(rng, size)
        found = [chosen]
        for k, both in enumerate(zip(self.parts, self.before, strict=True)):
            each = zip(*(parts_of(part.draw(rng, size)) for part in both), strict=True)
            found += [_where(chosen[..., k], here, there) for here, there in each]
        return tuple(found)

    def draw_theta(self, rng: Generator, size: Size = ()) -> Theta:
        chosen = self._chosen(rng, size)
        with np.errstate(divide="ignore"):
            found = {"log_choice": np.log(chosen)}
        for k, both in enumerate(zip(self.parts, self.before, strict=True)):
            here, there = (part.draw_theta(rng, size) for part in both)
            found |= numbered(k, {name: _where(chosen[..., k], here[name], there[name]) for name in here})
        return found

    def _chosen(self, rng: Generator, size: Size) -> Array:
        below = np.cumsum(np.exp(self.log_weight), axis=-1)
        below = below / below[..., -1:]
        place = (rng.random((*size, *below.shape[:-1]))[..., None] >= below).sum(-1)
        return (place[..., None] == np.arange(below.shape[-1])).astype(float)

    def log_prob(self, *theta: Array) -> Array:
        """Log density at a choice and the variables of all parts."""
        chosen, *rest = theta
        points = self.points_of_parts(rest)
        total = 0.0
        for k, (part, before, point) in enumerate(zip(self.parts, self.before, points, strict=True)):
            here = self.log_weight[..., k] + part.log_prob(*point)
            total = total + np.where(chosen[..., k] > 0, here, before.log_prob(*point))
        return total

    def log_prob_of_each(self, *theta: Array) -> tuple[Array, ...]:
        """The log density of each variable that a sampler has, before the data; the choice is not one of them."""
        points = zip(self.before, self.points_of_parts(theta), strict=True)
        return tuple(value for before, point in points for value in before.log_prob_of_each(*point))

    def point(self, theta: Theta) -> tuple[Array, ...]:
        raise ValueError(
            "a choice among families has no point that EM can move to; use one family in tables with unlabelled rows"
        )

    def log_choice(self, points: Sequence[tuple[Array, ...]]) -> Array:
        """ln P(part | the variables of all parts, the data), (..., class, column, part).

        The likelihood of the data at the variables of a part is, up to a factor that all parts have in common, their
        density after the data over that before, times the weight of the part.
        """
        each = zip(self.parts, self.before, points, strict=True)
        terms = self._weighed([part.log_prob(*p) - before.log_prob(*p) for part, before, p in each])
        stacked = np.stack(np.broadcast_arrays(*terms), axis=-1)
        return stacked - logsumexp(stacked, axis=-1, keepdims=True)

    def plus(self, *d: Any, t: float | Array = 1.0) -> OneOf:
        terms = np.stack(np.broadcast_arrays(*self._weighed(self.terms(d, t))), axis=-1)
        whole = logsumexp(terms, axis=-1, keepdims=True)
        # Data that no part can have generated tell nothing of which one it was.
        log_weight = np.where(np.isneginf(whole), self.log_weight, terms - whole)
        return OneOf(self.plus_in_parts(d, t), log_weight, self.before)

    def along(self, *d: Any, t: float | Array = 1.0) -> Array:
        return reduce(np.logaddexp, self._weighed(self.terms(d, t)))

    def slopes(self, *d: Any, t: float | Array = 0.0) -> tuple[Array, Array]:
        each = zip(self.terms(d, t), self.slopes_of_parts(d, t), strict=True)
        weights = [self.log_weight[..., k] for k in range(len(self.parts))]
        _, mean, variance = mixed(weights, [(term, *slopes) for term, slopes in each])
        return mean, variance

    def drawn_along(self, *d: Any, common: CommonDraws) -> Array:
        drawn = self.drawn_in_parts(d, common)
        below = np.cumsum(np.exp(self.log_weight), axis=-1)
        columns = range(common.first, common.first + below.shape[-2])
        u = np.stack([common.generator(99, column).random(common.draws) for column in columns], axis=-1)
        place = (u[:, None, None, :, None] >= below / below[..., -1:]).sum(-1)
        return np.choose(place, [np.broadcast_to(each, place.shape) for each in drawn])

    def log_kernel(self, theta: Theta, *d: Any) -> Array:
        each = self.kernels_of_parts(theta, d)
        return reduce(np.logaddexp, [theta["log_choice"][..., k] + value for k, value in enumerate(each)])

    def mean_theta(self) -> Theta:
        """The probability of each part, and the mean of its θ if it is the one."""
        found: dict[str, Array] = {"log_choice": self.log_weight}
        for k, part in enumerate(self.parts):
            found |= numbered(k, part.mean_theta())
        return found


def _where(chosen: Array, here: Array, there: Array) -> Array:
    """The values of one part where it was chosen, else the others; values may have further axes behind."""
    return np.where(chosen.reshape(*chosen.shape, *[1] * (here.ndim - chosen.ndim)) > 0, here, there)
