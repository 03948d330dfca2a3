"""Families that are made of other families: what :class:`Mixture` and :class:`Hurdle` have in common.

Each part reads the column in its own way, and has its own statistic and prior. A compound family says what each part
reads, how the parts join, and how their densities do.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from numpy.random import Generator

from bayesnb.families.family import Family
from bayesnb.families.support import COUNTS, NONNEGATIVE, POSITIVE, REALS
from bayesnb.numerics import Array
from bayesnb.priors import Compound, Theta
from bayesnb.priors.compound import numbered, of_part
from bayesnb.statistics.membership import Membership
from bayesnb.statistics.statistic import Statistic


@dataclass(frozen=True, eq=False)
class Parts(Statistic):
    """The statistics of all parts, of the same rows."""

    parts: tuple[Statistic, ...]

    def __add__(self, other: Self) -> Self:
        return type(self)(tuple(a + b for a, b in zip(self.parts, other.parts, strict=True)))

    def __mul__(self, factor: float) -> Self:
        return type(self)(tuple(part * factor for part in self.parts))

    def seen(self) -> Array:
        return self.parts[0].seen()

    def arrays(self) -> dict[str, Array]:
        return {name: v for k, part in enumerate(self.parts) for name, v in numbered(k, part.arrays()).items()}

    @property
    def signed(self) -> frozenset[str]:
        return frozenset(name for k, part in enumerate(self.parts) for name in numbered(k, dict.fromkeys(part.signed)))

    def contradiction(self) -> str:
        said = next((said for part in self.parts if (said := part.contradiction())), "")
        return said or ("" if self.of_same_rows() else "its parts were not seen in the same rows")

    @abstractmethod
    def of_same_rows(self) -> bool:
        """Whether the parts can come from the same rows."""

    def take(self, classes: Sequence[int] | Array) -> Self:
        return type(self)(tuple(part.take(classes) for part in self.parts))

    def columns(self, index: Sequence[int]) -> Self:
        return type(self)(tuple(part.columns(index) for part in self.parts))

    def settled(self, before: Self) -> Self:
        return type(self)(tuple(a.settled(b) for a, b in zip(self.parts, before.parts, strict=True)))


@dataclass(frozen=True, eq=False)
class CompoundFamily[P: Compound, S: Parts](Family[P, S]):
    """A likelihood that is made of the likelihoods of other families; they hold the priors, and are asked."""

    prior: Any = field(default=None, init=False, repr=False)

    exact = True

    @abstractmethod
    def with_parts(self, parts: Sequence[Family]) -> Self:
        """The same family of other parts of the same kinds."""

    @abstractmethod
    def seen_by(self, x: Array) -> list[Array]:
        """What each part reads, (row, column) each: NaN, or -1 of integers, where it does not read the cell."""

    @abstractmethod
    def joined(self, priors: tuple[Any, ...]) -> P:
        """The prior of the whole from those of the parts, at their full shapes."""

    def placed(self, columns: Sequence[Array], weight: Array | None) -> Self:
        read = zip(*(self.seen_by(column[:, None]) for column in columns), strict=True)
        own = ([column[:, 0] for column in each] for each in read)
        return self.with_parts([part.placed(each, weight) for part, each in zip(self.parts, own, strict=True)])

    def gathered(self, cells: Sequence[tuple[Self, int]]) -> Self:
        parts = enumerate(self.parts)
        return self.with_parts([part.gathered([(other.parts[m], k) for other, k in cells]) for m, part in parts])

    @property
    def kind(self) -> str:
        return type(self).__name__ + "".join(part.kind for part in self.parts)

    @property
    def title(self) -> str:
        return f"{type(self).__name__}({', '.join(self.part_names())})"

    @abstractmethod
    def part_names(self) -> list[str]:
        """The names of the parts, for people."""

    def prior_text(self) -> str:
        parts = zip(self.part_names(), self.parts, strict=True)
        return "; ".join(f"{name}: {part.prior_text()}" for name, part in parts)

    def statistic(self, x: Array, members: Membership) -> S:
        parts = zip(self.parts, self.seen_by(x), strict=True)
        return self.statistic_class(tuple(part.statistic(own, members) for part, own in parts))

    def priors(self, s: S, labels: Sequence[Any]) -> P:
        parts = zip(self.parts, s.parts, strict=True)
        return self.joined(tuple(part.priors(own, labels) for part, own in parts))

    def resolve_prior(self, prior: P, s: S) -> P:
        return prior

    def updated(self, prior: P, s: S) -> tuple[Any, ...]:
        """The posterior of each part."""
        each = zip(self.parts, prior.parts, s.parts, strict=True)
        return tuple(part.update(own, seen) for part, own, seen in each)

    def evidences(self, prior: P, s: S) -> list[Array]:
        """The log evidence by each part, (class, column) each."""
        each = zip(self.parts, prior.parts, s.parts, strict=True)
        return [part.log_evidence(own, seen) for part, own, seen in each]

    def variables(self, theta: Theta) -> dict[str, Array]:
        parts = enumerate(self.parts)
        return {name: v for k, part in parts for name, v in numbered(k, part.variables(of_part(k, theta))).items()}

    def theta(self, variables: Mapping[str, Array]) -> Theta:
        parts = enumerate(self.parts)
        return {name: v for k, part in parts for name, v in numbered(k, part.theta(of_part(k, variables))).items()}

    def variable_axes(self) -> dict[str, tuple[str, ...]]:
        found = {}
        for k, part in enumerate(self.parts):
            for name, axes in numbered(k, part.variable_axes()).items():
                found[name] = (*axes[:2], *(f"{axis}_{k + 1}" for axis in axes[2:]))
        return found

    def lengths(self) -> dict[str, int]:
        return {axis: n for k, part in enumerate(self.parts) for axis, n in numbered(k, part.lengths()).items()}

    def samples(self, theta: Theta, rng: Generator, s: S | None) -> list[Array]:
        """One value of each part for each θ."""
        seen = [None] * len(self.parts) if s is None else s.parts
        parts = enumerate(zip(self.parts, seen, strict=True))
        return [part.sample(of_part(k, theta), rng, own) for k, (part, own) in parts]

    def pymc_prior(self, prior: P, name: Callable[[str], str], dims: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
        """Add the variables of θ to the open model, as ``Conjugate.pymc_prior`` does."""
        found: dict[str, Any] = {}
        for k, (part, own) in enumerate(zip(self.parts, prior.parts, strict=True)):
            made = part.pymc_prior(own, lambda key, k=k: name(f"{key}_{k + 1}"), of_part(k, dims))
            found |= numbered(k, made)
        return found


def require_part(family: Any, whole: str) -> None:
    """Refuse what cannot be a part: families that are sampled, that read whole rows, levels, or a second column."""
    if not getattr(family, "exact", False):
        raise TypeError(f"Expected the parts of a {whole} to be families with a closed form, such as Gaussian(); "
                        f"got {family!r}")  # fmt: skip
    if family.whole_rows or family.support not in (REALS, POSITIVE, NONNEGATIVE, COUNTS):
        raise ValueError(
            f"a {whole} is of families of numbers or counts; {type(family).__name__} reads {family.support}"
        )
    if getattr(family, "exposure", None) is not None:
        raise ValueError(f"a family with an exposure cannot be a part of a {whole}; got {family!r}")
