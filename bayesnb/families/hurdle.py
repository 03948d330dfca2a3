"""Numbers of which many are 0: whether a cell is 0, and how large it is if not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.random import Generator

from bayesnb.families.bernoulli import Bernoulli
from bayesnb.families.compound import CompoundFamily, Parts, require_part
from bayesnb.families.conjugate import Point
from bayesnb.families.family import Family
from bayesnb.families.log_normal import LogNormal
from bayesnb.families.support import COUNTS, NONNEGATIVE, POSITIVE, Support
from bayesnb.numerics import Array, Size
from bayesnb.priors import AllOf, Beta, Theta
from bayesnb.priors.common_draws import CommonDraws
from bayesnb.priors.compound import numbered, of_part
from bayesnb.statistics.membership import Labels


@dataclass(frozen=True, eq=False)
class ZerosAndOthers(Parts):
    """How many values were 0, and the statistic of the others."""

    def of_same_rows(self) -> bool:
        zeros, others = self.parts
        return bool(np.allclose(zeros.n - zeros.ones, others.seen(), rtol=1e-6, atol=1e-6))


@dataclass(frozen=True, eq=False)
class Hurdle(CompoundFamily[AllOf, ZerosAndOthers]):
    """x = 0 with probability θ ~ Beta; otherwise x, or x - 1 if it is a count, is of another family.

    It is for amounts with many zeros (rain, spending, claims), and for counts with more or fewer zeros than their
    family expects. The two parts are independent given the class, so everything stays in closed form. A zero comes from
    the first part only. This is what econometrics calls a two-part or hurdle model (Cragg 1971; Mullahy 1986); in a
    *zero-inflated* model (Lambert 1992) the second part generates zeros, too, which has no closed form. Counts above 0
    are shifted by one, where the hurdle models of PyMC truncate their distribution.

    Zeros have a probability and other amounts a density, so evidence can be compared only between families that both
    give 0 a probability.

    Parameters
    ----------
    family : Family
        Of the values that are not 0: positive numbers (LogNormal, GammaKnownShape, Exponential), any numbers
        (PolyaTree, Gaussian), or counts (Poisson, NegativeBinomial), which it reads less one. LogNormal if not given.
    zero : Beta
        Of the probability of 0.

    Examples
    --------
    >>> from bayesnb import BayesianNB
    >>> rain = {"mm": [0.0, 0.0, 4.2, 0.0, 6.5, 12.0, 3.1, 0.0]}
    >>> clf = BayesianNB({"mm": Hurdle()}).fit(rain, ["summer"] * 4 + ["autumn"] * 4)
    >>> clf.tables()["mm"].round(2)
            P(0)  median  sd of the logarithm
    class
    autumn  0.33    6.08                 0.54
    summer  0.67    4.87                 0.39
    """

    family: Any = field(default_factory=LogNormal)
    zero: Any = field(default_factory=Beta)

    conjugate = AllOf

    def __post_init__(self) -> None:
        require_part(self.family, "Hurdle")
        if isinstance(self.family, Hurdle) or self.family.atoms():
            raise ValueError("a Hurdle has one 0: give the family of the values that are not 0, such as LogNormal()")
        Bernoulli(self.zero)

    @property
    def support(self) -> Support:
        return NONNEGATIVE if self.family.support is POSITIVE else self.family.support

    @property
    def parts(self) -> tuple[Family, ...]:
        return Bernoulli(self.zero), self.family

    @property
    def kind(self) -> str:
        return f"Hurdle{self.family.kind}"

    @property
    def title(self) -> str:
        return f"Hurdle({self.family.title})"

    def part_names(self) -> list[str]:
        return ["0", self.family.title]

    def with_parts(self, parts: Sequence[Family]) -> Hurdle:
        return replace(self, family=parts[1], zero=parts[0].prior)

    def joined(self, priors: tuple[Any, ...]) -> AllOf:
        return AllOf(priors)

    def flat(self) -> Hurdle:
        return self.with_parts([part.flat() for part in self.parts])

    def atoms(self) -> tuple[float, ...]:
        return () if self.support is COUNTS else (0.0,)

    def seen_by(self, x: Array) -> list[Array]:
        zero = x == 0
        told = zero.view(np.int8) - np.isnan(x)
        return [told, np.where(zero, np.nan, x - 1 if self.support is COUNTS else x)]

    def learned(self, s: ZerosAndOthers) -> str:
        return self.family.learned(s.parts[1])

    def readable(self, theta: Theta) -> dict[str, Array]:
        zero = np.exp(of_part(0, theta)["log_theta"][..., 1])
        return {"P(0)": zero} | self.family.readable(of_part(1, theta))

    # The parts are independent given the class, so everything is a sum over both.

    def update(self, prior: AllOf, s: ZerosAndOthers) -> AllOf:
        return AllOf(self.updated(prior, s))

    def log_evidence(self, prior: AllOf, s: ZerosAndOthers) -> Array:
        """log p(data | class) as (class, column)."""
        return sum(self.evidences(prior, s))

    def log_base(self, s: ZerosAndOthers) -> Array:
        """The log base measure of all rows, (class, column)."""
        return sum(part.log_base(own) for part, own in zip(self.parts, s.parts, strict=True))

    def mean(self, posterior: AllOf) -> Theta:
        return self._points(part.mean(own) for part, own in zip(self.parts, posterior.parts, strict=True))

    def mode(self, posterior: AllOf) -> Theta:
        """The posterior mode of the parameters."""
        return self._points(part.mode(own) for part, own in zip(self.parts, posterior.parts, strict=True))

    def draw(self, posterior: AllOf, rng: Generator, size: Size = ()) -> Theta:
        return self._points(part.draw(own, rng, size) for part, own in zip(self.parts, posterior.parts, strict=True))

    @staticmethod
    def _points(each: Iterable[Theta]) -> Theta:
        return {name: value for k, theta in enumerate(each) for name, value in numbered(k, theta).items()}

    def completed(self, theta: Theta, believed: AllOf) -> Theta:
        each = enumerate(zip(self.parts, believed.parts, strict=True))
        return self._points(part.completed(of_part(k, theta), own) for k, (part, own) in each)

    def _each(self, by_part: Sequence[Any], x: Array) -> Iterator[tuple[Any, Any, Array]]:
        """Each part, what is its own of two things, and what it reads of the cells."""
        return zip(self.parts, by_part, self.seen_by(x), strict=True)

    def log_likelihood(self, theta: Theta, x: Array) -> Array:
        return sum(part.log_likelihood(own, seen) for part, own, seen in self._each(_of_parts(theta), x))

    def log_predictive(self, posterior: AllOf, x: Array) -> Array:
        return sum(part.log_predictive(own, seen) for part, own, seen in self._each(posterior.parts, x))

    def log_moment(self, posterior: AllOf, x: Array, t: float | Array) -> Array:
        """log E[p(x | θ)^t] as (row, class)."""
        return sum(part.log_moment(own, seen, t) for part, own, seen in self._each(posterior.parts, x))

    def log_moment_slopes(self, posterior: AllOf, x: Array, t: float | Array) -> tuple[Array, Array]:
        """First and second derivative of ``log_moment`` in t, (row, class) each."""
        each = (part.log_moment_slopes(own, seen, t) for part, own, seen in self._each(posterior.parts, x))
        first, second = zip(*each, strict=True)
        return sum(first), sum(second)

    def moment_floor(self, posterior: AllOf, x: Array) -> Array:
        """The t < 0 above which ``log_moment`` exists, (row, class)."""
        return np.maximum(*(part.moment_floor(own, seen) for part, own, seen in self._each(posterior.parts, x)))

    def log_likelihood_given_row(
        self, posterior: AllOf, theta: Theta, x: Array, chosen: Array, common: CommonDraws
    ) -> Array:
        each = zip(_of_parts(theta), (common.within(k) for k in (0, 1)), self._each(posterior.parts, x), strict=True)
        return sum(
            part.log_likelihood_given_row(own, point, seen, chosen, draws) for point, draws, (part, own, seen) in each
        )

    def log_left_out(self, posterior: AllOf, x: Array, labels: Labels, point: Point | None = None) -> Array:
        """log p(x_i | class of i, all rows but i) as (row,)."""
        return sum(part.log_left_out(own, seen, labels, point) for part, own, seen in self._each(posterior.parts, x))

    def sample(self, theta: Theta, rng: Generator, s: ZerosAndOthers | None) -> Array:
        zero, others = self.samples(theta, rng, s)
        return np.where(zero == 1, 0.0, others + (self.support is COUNTS))

    def pymc_statistic(self, theta: Mapping[str, Any], s: ZerosAndOthers) -> Any:
        """log p(data | θ) as a scalar tensor."""
        each = zip(self.parts, _of_parts(theta), s.parts, strict=True)
        return sum(part.pymc_statistic(own, seen) for part, own, seen in each)

    def pymc_rows(self, name: str, theta: Mapping[str, Any], x: Array, y: Any) -> None:
        """Add x ~ p(x | θ[y]) to the open model, every row an observation."""
        for title, (part, own, seen) in zip((f"{name} is 0", name), self._each(_of_parts(theta), x), strict=True):
            part.pymc_rows(title, own, seen, y)

    def pymc_log_likelihood(self, theta: Mapping[str, Any], x: Array) -> Any:
        """log p(x | θ) as a (row, class) tensor."""
        return sum(part.pymc_log_likelihood(own, seen) for part, own, seen in self._each(_of_parts(theta), x))


def _of_parts(theta: Mapping[str, Any]) -> list[dict[str, Any]]:
    """θ of the zeros, and of the others."""
    return [of_part(0, theta), of_part(1, theta)]
