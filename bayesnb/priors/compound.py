"""Distributions of θ of compound families; names of parameters end with the number of the part, such as ``mu_1``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy.special import logsumexp

from bayesnb.numerics import Array, Size
from bayesnb.priors.belief import Belief, Theta, parts_of


def numbered(k: int, named: Mapping[str, Any]) -> dict[str, Any]:
    """Append the number ``k`` of the part to the parameter names."""
    return {f"{name}_{k + 1}": value for name, value in named.items()}


def all_numbered(each: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Merge the parts' parameters."""
    return {name: value for k, named in enumerate(each) for name, value in numbered(k, named).items()}


def of_part(k: int, named: Mapping[str, Any]) -> dict[str, Any]:
    """The inverse of :func:`numbered`."""
    end = f"_{k + 1}"
    return {name.removesuffix(end): value for name, value in named.items() if name.endswith(end)}


@dataclass(frozen=True, eq=False, repr=False)
class Compound(Belief):
    """The distribution of θ of a compound family: one distribution per part."""

    parts: tuple[Any, ...]

    def proper(self) -> Array:
        return reduce(np.logical_and, [part.proper() for part in self.parts])

    def _fault(self, where: tuple[int, ...]) -> str:
        wrong = next(part for part in self.parts if not part.proper()[where])
        return f"an improper part, a {type(wrong).__name__}"


@dataclass(frozen=True, eq=False, repr=False)
class AllOf(Compound):
    """The distribution of θ of a family such as Hurdle, in which independent parts together generate each cell.

    Examples
    --------
    >>> from bayesnb import Beta, Gamma
    >>> [float(mean) for mean in AllOf((Beta(1.0, 1.0), Gamma(2.0, 1.0))).mean()]
    [0.5, 2.0]
    """

    def mean(self) -> tuple[Array, ...]:
        return self._of_each("mean")

    def variance(self) -> tuple[Array, ...]:
        return self._of_each("variance")

    def _of_each(self, what: str) -> tuple[Any, ...]:
        return tuple(value for part in self.parts for value in parts_of(getattr(part, what)()))

    def log_prob_of_each(self, theta: Theta) -> tuple[Array, ...]:
        return densities_of_each(self.parts, theta)

    def log_jacobian(self, theta: Theta) -> Array:
        return sum(part.log_jacobian(of_part(k, theta)) for k, part in enumerate(self.parts))

    def log_normalizer(self) -> Array:
        return sum(part.log_normalizer() for part in self.parts)


@dataclass(frozen=True, eq=False, repr=False)
class OneOf(Compound):
    """The distribution of θ if a single, unknown part generates all values of a class and column.

    Parameters
    ----------
    parts : tuple of Belief
        Distribution of θ of each part, if this part generates the values.
    log_weight : array (class, column, part)
        ln of the probability of each part.
    before : tuple of Belief
        Prior of θ of each part, which applies if another part generates the values.

    Examples
    --------
    >>> from bayesnb import Gamma
    >>> few, many = Gamma(1.0, 1.0), Gamma(100.0, 10.0)
    >>> either = OneOf((few, many), np.log([0.5, 0.5]), (few, many))
    >>> either.learned((few.plus(2.0, 1.0), many.plus(2.0, 1.0)), np.log([0.125, 0.003])).log_weight.round(2)
    array([-0.02, -3.75])
    """

    log_weight: Array
    before: tuple[Any, ...] = ()

    def learned(self, parts: tuple[Any, ...], log_evidence: Array) -> OneOf:
        """Combine the posteriors of the parts and their ``log_evidence``, (class, column, part), into one posterior."""
        terms = self.log_weight + log_evidence
        whole = logsumexp(terms, axis=-1, keepdims=True)
        # If no part can have generated the data, the weights do not change.
        return replace(self, parts=parts, log_weight=np.where(np.isneginf(whole), self.log_weight, terms - whole))

    def mean(self) -> tuple[Array, ...]:
        return tuple(mean for mean, _ in self._moments())

    def variance(self) -> tuple[Array, ...]:
        return tuple(variance for _, variance in self._moments())

    def _moments(self) -> Iterator[tuple[Array, Array]]:
        for k, both in enumerate(zip(self.parts, self.before, strict=True)):
            here, there = ([parts_of(part.mean()), parts_of(part.variance())] for part in both)
            for mean, variance, other_mean, other_variance in zip(*here, *there, strict=True):
                w = np.exp(self.log_weight[..., k]).reshape(*self.log_weight.shape[:-1], *[1] * (np.ndim(mean) - 2))
                with np.errstate(invalid="ignore"):
                    spread = w * variance + (1 - w) * other_variance + w * (1 - w) * (mean - other_mean) ** 2
                yield w * mean + (1 - w) * other_mean, np.where(np.isnan(spread), np.inf, spread)

    def drawn_choice(self, rng: Generator, size: Size = ()) -> Array:
        below = np.cumsum(np.exp(self.log_weight), axis=-1)
        place = (rng.random((*size, *below.shape[:-1]))[..., None] >= below / below[..., -1:]).sum(-1)
        return (place[..., None] == np.arange(below.shape[-1])).astype(float)

    def log_prob_of_each(self, theta: Theta) -> tuple[Array, ...]:
        return densities_of_each(self.before, theta)

    def log_choice(self, theta: Theta) -> Array:
        """Log probability of each part given the data and the parameters of all parts, (..., class, column, part)."""
        after, before = (
            [sum(part.log_prob_of_each(of_part(k, theta))) for k, part in enumerate(parts)]
            for parts in (self.parts, self.before)
        )
        terms = [each - own for each, own in zip(after, before, strict=True)]
        stacked = self.log_weight + np.stack(np.broadcast_arrays(*terms), axis=-1)
        return stacked - logsumexp(stacked, axis=-1, keepdims=True)

    def log_jacobian(self, theta: Theta) -> Array:
        """Raise ``ValueError``: EM, which needs the Jacobian, does not support a choice among families."""
        raise ValueError(
            "a choice among families has no point that EM can move to; use one family in tables with unlabelled rows"
        )


def completed(theta: Theta, believed: Belief) -> Theta:
    """A copy of θ, with the log probability of each family (``log_choice``) if one of several families is chosen."""
    if isinstance(believed, OneOf):
        return dict(theta) | {"log_choice": believed.log_choice(theta)}
    if isinstance(believed, AllOf):
        parts = enumerate(believed.parts)
        return all_numbered(completed(of_part(k, theta), part) for k, part in parts)
    return theta


def densities_of_each(parts: tuple[Any, ...], theta: Theta) -> tuple[Array, ...]:
    """Log density per variable."""
    return tuple(value for k, part in enumerate(parts) for value in part.log_prob_of_each(of_part(k, theta)))
