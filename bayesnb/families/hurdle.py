"""Numbers of which many are 0: whether a cell is 0, and how large it is if not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.random import Generator

from bayesnb.families.bernoulli import Bernoulli
from bayesnb.families.compound import CompoundFamily, Parts, require_part
from bayesnb.families.conjugate import Conjugate, Point
from bayesnb.families.log_normal import LogNormal
from bayesnb.families.support import COUNTS, NONNEGATIVE, POSITIVE, Support
from bayesnb.numerics import Array
from bayesnb.priors import AllOf, Beta, Theta
from bayesnb.priors.compound import of_part
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
    def parts(self) -> tuple[Conjugate, ...]:
        return Bernoulli(self.zero), self.family

    @property
    def kind(self) -> str:
        return f"Hurdle{self.family.kind}"

    @property
    def title(self) -> str:
        return f"Hurdle({self.family.title})"

    def part_names(self) -> list[str]:
        return ["0", self.family.title]

    def with_parts(self, parts: Sequence[Conjugate]) -> Hurdle:
        return replace(self, family=parts[1], zero=parts[0].prior)

    def joined(self, priors: tuple[Any, ...]) -> AllOf:
        return AllOf(priors)

    def flat(self) -> Hurdle:
        return self.with_parts([part.flat() for part in self.parts])

    def atoms(self) -> tuple[float, ...]:
        return () if self.support is COUNTS else (0.0,)

    def seen_by(self, x: Array) -> list[Array]:
        zero = x == 0
        return [
            np.where(np.isnan(x), np.int8(-1), zero),
            np.where(zero, np.nan, x - 1 if self.support is COUNTS else x),
        ]

    def learned(self, s: ZerosAndOthers) -> str:
        return self.family.learned(s.parts[1])

    def readable(self, theta: Theta) -> dict[str, Array]:
        zero = np.exp(of_part(0, theta)["log_theta"][..., 1])
        return {"P(0)": zero} | self.family.readable(of_part(1, theta))

    def log_likelihood(self, theta: Theta, x: Array) -> Array:
        parts = enumerate(zip(self.parts, self.seen_by(x), strict=True))
        return sum(part.log_likelihood(of_part(k, theta), own) for k, (part, own) in parts)

    def completed(self, theta: Theta, believed: AllOf) -> Theta:
        amounts = self.family.completed(of_part(1, theta), believed.parts[1])
        return dict(theta) | {f"{name}_2": value for name, value in amounts.items()}

    def log_predictive(self, posterior: AllOf, x: Array) -> Array:
        parts = zip(self.parts, posterior.parts, self.seen_by(x), strict=True)
        return sum(part.log_predictive(believed, own) for part, believed, own in parts)

    def log_moment(self, posterior: AllOf, x: Array, t: float | Array) -> Array:
        parts = zip(self.parts, posterior.parts, self.seen_by(x), strict=True)
        return sum(part.log_moment(believed, own, t) for part, believed, own in parts)

    def log_left_out(self, posterior: AllOf, x: Array, labels: Labels, point: Point | None = None) -> Array:
        parts = zip(self.parts, posterior.parts, self.seen_by(x), strict=True)
        return sum(part.log_left_out(believed, own, labels, point) for part, believed, own in parts)

    def sample(self, theta: Theta, rng: Generator, s: ZerosAndOthers | None) -> Array:
        zero, others = self.samples(theta, rng, s)
        return np.where(zero == 1, 0.0, others + (self.support is COUNTS))

    def pymc_statistic(self, theta: Mapping[str, Any], s: ZerosAndOthers) -> Any:
        parts = enumerate(zip(self.parts, s.parts, strict=True))
        return sum(part.pymc_statistic(of_part(k, theta), own) for k, (part, own) in parts)

    def pymc_rows(self, name: str, theta: Mapping[str, Any], x: Array, y: Any) -> None:
        zero, others = self.seen_by(x)
        self.parts[0].pymc_rows(f"{name} is 0", of_part(0, theta), zero, y)
        self.family.pymc_rows(name, of_part(1, theta), others, y)

    def pymc_log_likelihood(self, theta: Mapping[str, Any], x: Array) -> Any:
        parts = enumerate(zip(self.parts, self.seen_by(x), strict=True))
        return sum(part.pymc_log_likelihood(of_part(k, theta), own) for k, (part, own) in parts)
