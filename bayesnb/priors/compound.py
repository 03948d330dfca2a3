"""Priors that are made of other priors: ``AllOf`` them holds, or ``OneOf`` them. This is what both have in common.

What data add to such a prior, d, has one entry for each part: (told, ln h, *d of the part). ``told`` is 1 where the
part reads the cell and 0 where it does not. ln h belongs to d, because the parts have different base measures.

θ is that of all parts. The names of the k-th part end with _k, counted from 1.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Self

import numpy as np

from bayesnb.numerics import Array
from bayesnb.priors.belief import Prior, Theta, parts_of
from bayesnb.priors.common_draws import CommonDraws


def numbered(k: int, named: Mapping[str, Any]) -> dict[str, Any]:
    """What belongs to the part at this position, under the names that it has in the whole."""
    return {f"{name}_{k + 1}": value for name, value in named.items()}


def of_part(k: int, named: Mapping[str, Any]) -> dict[str, Any]:
    """The inverse of :func:`numbered`: what belongs to the part at this position, under the names that it has there."""
    end = f"_{k + 1}"
    return {name.removesuffix(end): value for name, value in named.items() if name.endswith(end)}


@dataclass(frozen=True, eq=False, repr=False)
class Compound(Prior):
    """A prior of the θ of several parts, each with a prior of its own."""

    parts: tuple[Any, ...]

    parameters = ()

    def _each(self, d: Sequence[Any]) -> Iterator[tuple[Any, Array, Array, tuple[Array, ...]]]:
        """Each part, where it reads the cell, ln h, and its own d."""
        for part, (told, log_h, *own) in zip(self.parts, d, strict=True):
            yield part, told, log_h, tuple(own)

    def terms(self, d: Sequence[Any], t: float | Array) -> list[Array]:
        """ln E[p(data | θ)^t] by each part."""
        return [part.along(*own, t=t * told) + t * log_h for part, told, log_h, own in self._each(d)]

    def slopes_of_parts(self, d: Sequence[Any], t: float | Array) -> list[tuple[Array, Array]]:
        """The first and second derivative of ``terms`` in t."""
        found = []
        for part, told, log_h, own in self._each(d):
            mean, variance = part.slopes(*own, t=t * told)
            found.append((told * mean + log_h, told * variance))
        return found

    def plus_in_parts(self, d: Sequence[Any], t: float | Array) -> tuple[Any, ...]:
        """Each part after t times its data."""
        return tuple(part.plus(*own, t=t * told) for part, told, _, own in self._each(d))

    def drawn_in_parts(self, d: Sequence[Any], common: CommonDraws) -> list[Array]:
        """Draws of ln p(data | θ) by each part, independent of each other."""
        drawn = []
        for k, (part, told, log_h, own) in enumerate(self._each(d)):
            drawn.append(np.where(told, part.drawn_along(*own, common=common.within(k)), 0.0) + log_h)
        return drawn

    def kernels_of_parts(self, theta: Theta, d: Sequence[Any]) -> list[Array]:
        """ln p(data | θ) by each part, at the θ of all."""
        found = []
        for k, (part, told, log_h, own) in enumerate(self._each(d)):
            found.append(np.where(told, part.log_kernel(of_part(k, theta), *own), 0.0) + log_h)
        return found

    def points_of_parts(self, theta: Sequence[Array]) -> list[tuple[Array, ...]]:
        """The variables of each part, of those of all parts in a row."""
        rest, found = list(theta), []
        for part in self.parts:
            n = part.size_of_point()
            found.append(tuple(rest[:n]))
            rest = rest[n:]
        return found

    def moments_of_parts(self, which: str) -> list[Any]:
        """``mean`` or ``variance`` of all parts, one array after the other."""
        return [value for part in self.parts for value in parts_of(getattr(part, which)())]

    def proper(self) -> Array:
        return reduce(np.logical_and, [part.proper() for part in self.parts])

    def fault(self, where: tuple[int, ...]) -> str:
        wrong = next(part for part in self.parts if not part.proper()[where])
        return f"one of its parts, a {type(wrong).__name__}, that is not"

    def floor(self, *d: Any) -> Array:
        each = [np.where(told, part.floor(*own), -np.inf) for part, told, _, own in self._each(d)]
        return reduce(np.maximum, each)

    def canonical(self) -> Self:
        return replace(self, parts=tuple(part.canonical() for part in self.parts))

    def require_sampled(self) -> None:
        for part in self.parts:
            part.require_sampled()

    @staticmethod
    def peak(*d: Any) -> Array:
        return np.zeros(())

    @staticmethod
    def pymc_likelihood(theta: Mapping[str, Any], *d: Any) -> Any:
        raise NotImplementedError("the families of the parts write their likelihoods themselves")

    def pymc(self, name: Any, dims: tuple[str, ...]) -> Any:
        raise NotImplementedError("the families of the parts declare their variables themselves")

    @property
    def cell_size(self) -> int:
        return sum(part.cell_size for part in self.parts)

    @abstractmethod
    def joined(self, parts: tuple[Any, ...]) -> Self:
        """The same belief with other parts."""


def fourth_moments(parts: Sequence[Any]) -> tuple[Any, ...]:
    """Whether the fourth moment of each variable of some parts exists."""
    return tuple(value for part in parts for value in part.fourth_moments())
