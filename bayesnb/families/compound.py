"""Families made of other families."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import islice
from typing import Any, Self

import numpy as np
from numpy.random import Generator

from bayesnb.families.columns import NEAR, NONNEGATIVE, POSITIVE, Support
from bayesnb.families.family import Dims, Family, Name
from bayesnb.families.gaussian import Gaussian, LogNormal
from bayesnb.families.trees import PolyaTree
from bayesnb.families.trials import Bernoulli
from bayesnb.kernels import blocks
from bayesnb.numerics import Array, Size, drawn_codes, log_sum
from bayesnb.priors import AllOf, Beta, Compound, OneOf, Theta
from bayesnb.priors.belief import Point, without_mode
from bayesnb.priors.beta_tree import mixed
from bayesnb.priors.common_draws import CommonDraws
from bayesnb.priors.compound import all_numbered, numbered, of_part
from bayesnb.statistics.statistic import Labels, Statistic


@dataclass(frozen=True, eq=False)
class Parts(Statistic):
    """The statistic of a compound family: one statistic per part."""

    parts: tuple[Statistic, ...]

    def _of_each(self, change: Callable[..., Statistic], *others: Self) -> Self:
        return type(self)(tuple(map(change, self.parts, *(other.parts for other in others))))

    def __add__(self, other: Self) -> Self:
        return self._of_each(lambda mine, theirs: mine + theirs, other)

    def __mul__(self, factor: float) -> Self:
        return self._of_each(lambda part: part * factor)

    def seen(self) -> Array:
        return self.parts[0].seen()

    def arrays(self) -> dict[str, Array]:
        return all_numbered(part.arrays() for part in self.parts)

    @property
    def signed(self) -> frozenset[str]:
        return frozenset(all_numbered(dict.fromkeys(part.signed) for part in self.parts))

    def contradiction(self) -> str:
        said = next((said for part in self.parts if (said := part.contradiction())), "")
        return said or ("" if self.of_same_rows() else "its parts were not seen in the same rows")

    @abstractmethod
    def of_same_rows(self) -> bool:
        """Whether the statistics of all parts could come from the same rows."""

    def take(self, classes: Sequence[int] | Array) -> Self:
        return self._of_each(lambda part: part.take(classes))

    def columns(self, index: Sequence[int]) -> Self:
        return self._of_each(lambda part: part.columns(index))

    def settled(self, before: Self) -> Self:
        return self._of_each(lambda mine, theirs: mine.settled(theirs), before)


@dataclass(frozen=True, eq=False)
class CompoundFamily[P: Compound, S: Parts](Family[P, S]):
    """A likelihood that combines the likelihoods of other families (its parts); only the parts have priors."""

    prior: Any = field(default=None, init=False, repr=False)

    @property
    def named_parts(self) -> tuple[Family, ...]:
        """The parts that appear in the display name of the compound family."""
        return self.parts

    @property
    def title(self) -> str:
        return f"{type(self).__name__}({', '.join(_titles(self.named_parts))})"

    @property
    def kind(self) -> str:
        return type(self).__name__ + "".join(part.kind for part in self.named_parts)

    @abstractmethod
    def with_parts(self, parts: Sequence[Family]) -> Self:
        """A copy of the family with the given parts."""

    @abstractmethod
    def part_names(self) -> list[str]:
        """The names of the parts."""

    @abstractmethod
    def seen_by(self, x: Array) -> list[Array]:
        """One array (row, column) per part, with the cells that this part reads; other cells are NaN or -1."""

    @abstractmethod
    def joined(self, priors: tuple[Any, ...]) -> P:
        """Combine the priors of the parts into one prior."""

    @abstractmethod
    def joined_rows(self, ask: Callable[[Family, Any, Array], Any], given: P | Theta, x: Array) -> Any:
        """Log density of each row, (..., row, class).

        The function ``ask(part, own, seen)`` returns the log density of cells (``seen``) under one part of the family,
        whose posterior or parameters are ``own``.
        """

    def each(self, *given: Compound | Statistic | Theta) -> Iterator[tuple[Any, ...]]:
        by_part = (
            v.parts if isinstance(v, Compound | Statistic) else [of_part(k, v) for k in range(len(self.parts))]
            for v in given
        )
        return zip(self.parts, *by_part, strict=True)

    def statistic(self, x: Array, members: Labels) -> S:
        parts = zip(self.parts, self.seen_by(x), strict=True)
        return self.statistic_class(tuple(part.statistic(own, members) for part, own in parts))

    def priors(self, s: S, labels: Sequence[Any]) -> P:
        return self.joined(tuple(part.priors(own, labels) for part, own in self.each(s)))

    def resolve_prior(self, prior: P, s: S) -> P:
        return prior

    def updated(self, prior: P, s: S) -> tuple[Any, ...]:
        return tuple(part.update(own, seen) for part, own, seen in self.each(prior, s))

    def evidences(self, prior: P, s: S) -> list[Array]:
        return [part.log_evidence(own, seen) for part, own, seen in self.each(prior, s)]

    def variables(self, theta: Theta) -> dict[str, Array]:
        return all_numbered(part.variables(own) for part, own in self.each(theta))

    def theta(self, variables: Mapping[str, Array]) -> Theta:
        return all_numbered(part.theta(own) for part, own in self.each(variables))

    def variable_axes(self) -> dict[str, tuple[str, ...]]:
        each = enumerate(part.variable_axes().items() for part in self.parts)
        return all_numbered(
            {name: (*axes[:2], *(f"{axis}_{k + 1}" for axis in axes[2:])) for name, axes in own} for k, own in each
        )

    def log_likelihood(self, theta: Theta, x: Array) -> Array:
        return self.joined_rows(lambda part, own, seen: part.log_likelihood(own, seen), theta, x)

    def log_predictive(self, posterior: P, x: Array) -> Array:
        return self.joined_rows(lambda part, own, seen: part.log_predictive(own, seen), posterior, x)

    def log_moment(self, posterior: P, x: Array, t: float | Array) -> Array:
        return self.joined_rows(lambda part, own, seen: part.log_moment(own, seen, t), posterior, x)

    def moment_floor(self, posterior: P, x: Array) -> Array:
        each = zip(self.each(posterior), self.seen_by(x), strict=True)
        return np.maximum.reduce([part.moment_floor(own, seen) for (part, own), seen in each])

    def samples(self, theta: Theta, rng: Generator, s: S | None) -> list[Array]:
        seen = [None] * len(self.parts) if s is None else s.parts
        return [part.sample(own, rng, part_seen) for (part, own), part_seen in zip(self.each(theta), seen, strict=True)]

    def pymc_prior(self, prior: P, name: Name, dims: Dims) -> dict[str, Any]:
        return all_numbered(
            part.pymc_prior(own, lambda key, k=k: name(f"{key}_{k + 1}"), own_dims)
            for k, (part, own, own_dims) in enumerate(self.each(prior, dims))
        )


def require_part(family: Any, whole: str) -> None:
    """Raise an error unless a family has an exact posterior and no exposure, and reads one number per cell."""
    if not getattr(family, "exact", False):
        raise TypeError(f"Expected the parts of a {whole} to be families with a closed form, such as Gaussian(); "
                        f"got {family!r}")  # fmt: skip
    if family.whole_rows or family.support.kind not in ("reals", "positive", "nonnegative", "counts"):
        raise ValueError(
            f"the parts of a {whole} must read numbers or counts; {type(family).__name__} reads {family.support}"
        )
    if getattr(family, "exposure", None) is not None:
        raise ValueError(f"a family with an exposure cannot be a part of a {whole}; got {family!r}")


@dataclass(frozen=True, eq=False)
class SeenByEach(Parts):
    """The statistics of a mixture: one for each family in the mixture, all from the same values."""

    def of_same_rows(self) -> bool:
        first = self.parts[0].seen()
        return all(np.allclose(part.seen(), first, rtol=1e-6, atol=1e-6) for part in self.parts)


def averaged_over_rows(each: Sequence[Array], log_weight: Array, cells: Array) -> Array:
    """Log of the weighted mean of several densities, (..., row, class); 0 for missing cells."""
    # ``each`` holds log densities, (..., row, class); ``log_weight`` is (..., 1, class, number of densities).
    whole = np.zeros(np.broadcast_shapes(each[0].shape, log_weight.shape[:-1]))
    size = min(len(cells), max(1, NEAR * len(cells) // max(1, whole.size)))
    weights = np.repeat(np.moveaxis(log_weight, -1, 0), size, axis=-2)
    for cut in blocks.slices(len(cells), size):
        here = weights[..., : len(cells[cut]), :]
        whole[..., cut, :] = log_sum([w + value[..., cut, :] for w, value in zip(here, each, strict=True)])
    whole[..., np.isnan(cells), :] = 0.0
    return whole


@dataclass(frozen=True, eq=False)
class ZerosAndOthers(Parts):
    """The number of zeros, the number of other values, and a statistic of the other values."""

    def of_same_rows(self) -> bool:
        zeros, others = self.parts
        return bool(np.allclose(zeros.n - zeros.ones, others.seen(), rtol=1e-6, atol=1e-6))


@dataclass(frozen=True, eq=False)
class Hurdle(CompoundFamily[AllOf, ZerosAndOthers]):
    """x = 0 with probability θ ~ Beta; otherwise x, or x - 1 for counts, follows another family.

    Use a Hurdle for amounts with many zeros (rain, spending, claims), and for counts with more or fewer zeros than
    their family predicts. A Hurdle is also called a two-part model (Cragg 1971, Mullahy 1986). PyMC's hurdle models
    differ: their count distributions are truncated at 0. Do not compare the marginal likelihoods of a Hurdle and of a
    family that has a density at 0.

    Parameters
    ----------
    family : Family
        The family of the nonzero values: LogNormal (the default), GammaKnownShape or Exponential for positive numbers;
        PolyaTree or Gaussian for any numbers; Poisson or NegativeBinomial for counts minus 1.
    zero : Beta
        The prior of the probability of 0.

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

    def __post_init__(self) -> None:
        require_part(self.family, "Hurdle")
        if isinstance(self.family, Hurdle) or self.family.atoms:
            raise ValueError("a Hurdle has one 0: give the family of the values that are not 0, such as LogNormal()")
        object.__setattr__(self, "zero", Bernoulli(self.zero).prior)

    @property
    def support(self) -> Support:
        return NONNEGATIVE if self.family.support.kind == "positive" else self.family.support

    @property
    def parts(self) -> tuple[Family, ...]:
        return Bernoulli(self.zero), self.family

    @property
    def named_parts(self) -> tuple[Family, ...]:
        return (self.family,)

    def part_names(self) -> list[str]:
        return ["0", self.family.title]

    def with_parts(self, parts: Sequence[Family]) -> Hurdle:
        return replace(self, family=parts[1], zero=parts[0].prior)

    def joined(self, priors: tuple[Any, ...]) -> AllOf:
        return AllOf(priors)

    def flat(self) -> Hurdle:
        return self.with_parts([part.flat() for part in self.parts])

    @property
    def atoms(self) -> tuple[float, ...]:
        return () if self.support.kind == "counts" else (0.0,)

    def seen_by(self, x: Array) -> list[Array]:
        zero = x == 0
        told = zero.view(np.int8) - np.isnan(x)
        return [told, np.where(zero, np.nan, x - 1 if self.support.kind == "counts" else x)]

    def learned(self, s: ZerosAndOthers) -> str:
        return self.family.learned(s.parts[1])

    def readable(self, theta: Theta) -> dict[str, Array]:
        zero = np.exp(of_part(0, theta)["log_theta"][..., 1])
        return {"P(0)": zero} | self.family.readable(of_part(1, theta))

    # The parts are independent given the class, so every log density is the sum of the two parts.

    def joined_rows(self, ask: Callable[[Family, Any, Array], Any], given: AllOf | Theta, x: Array) -> Any:
        return sum(ask(part, own, seen) for (part, own), seen in zip(self.each(given), self.seen_by(x), strict=True))

    def update(self, prior: AllOf, s: ZerosAndOthers) -> AllOf:
        return AllOf(self.updated(prior, s))

    def log_evidence(self, prior: AllOf, s: ZerosAndOthers) -> Array:
        return sum(self.evidences(prior, s))

    def log_base(self, s: ZerosAndOthers) -> Array:
        return sum(part.log_base(own) for part, own in self.each(s))

    def plug_in(self, posterior: AllOf, point: Point) -> Theta:
        return all_numbered(part.plug_in(own, point) for part, own in self.each(posterior))

    def draw(self, posterior: AllOf, rng: Generator, size: Size = ()) -> Theta:
        return all_numbered(part.draw(own, rng, size) for part, own in self.each(posterior))

    def cumulants(self, posterior: AllOf, x: Array, t: float | Array) -> Array:
        return self.joined_rows(lambda part, own, seen: part.cumulants(own, seen, t), posterior, x)

    def log_likelihood_given_row(
        self, posterior: AllOf, theta: Theta, x: Array, chosen: Array, common: CommonDraws
    ) -> Array:
        each = enumerate(zip(self.each(posterior, theta), self.seen_by(x), strict=True))
        return sum(
            part.log_likelihood_given_row(own, point, seen, chosen, common.within(k))
            for k, ((part, own, point), seen) in each
        )

    def log_left_out(self, posterior: AllOf, x: Array, labels: Labels, point: Point | None = None) -> Array:
        return self.joined_rows(lambda part, own, seen: part.log_left_out(own, seen, labels, point), posterior, x)

    def sample(self, theta: Theta, rng: Generator, s: ZerosAndOthers | None) -> Array:
        zero, others = self.samples(theta, rng, s)
        return np.where(zero == 1, 0.0, others + (self.support.kind == "counts"))

    def pymc_statistic(self, theta: Mapping[str, Any], s: ZerosAndOthers) -> Any:
        return sum(part.pymc_statistic(own, seen) for part, own, seen in self.each(theta, s))

    def pymc_rows(self, name: str, theta: Mapping[str, Any], x: Array, y: Any) -> None:
        titles = f"{name} is 0", f"{name}{' - 1' * (self.support.kind == 'counts')} if not 0"
        for title, (part, own), seen in zip(titles, self.each(theta), self.seen_by(x), strict=True):
            part.pymc_rows(title, own, seen, y)

    def pymc_log_likelihood(self, theta: Mapping[str, Any], x: Array) -> Any:
        return self.joined_rows(lambda part, own, seen: part.pymc_log_likelihood(own, seen), theta, x)


AT_ONCE = 8
"""Columns of a Mixture that are evaluated at the same time, on different threads."""

NO_MODE = "a mixture of families has no mode in closed form, and no maximum of the likelihood"


@dataclass(frozen=True, eq=False)
class Mixture(CompoundFamily[OneOf, SeenByEach]):
    """In each class and column, all values come from a single family, but it is unknown from which one.

    In a mixture distribution, by contrast, each value may come from a different family.

    The posterior weight of a family, per class and column, is proportional to its prior weight times its marginal
    likelihood. Results are exact averages over families (Bayesian model averaging; see Hoeting, Madigan, Raftery and
    Volinsky 1999). All priors must be proper.

    Give each PolyaTree in the mixture its ``edges``; otherwise its posterior weight is too large.

    Parameters
    ----------
    families : sequence of Family
        Two or more families that read the same kind of cells: numbers, or counts. Gaussian and PolyaTree by default.
    weights : sequence of float, optional
        Positive prior weights, normalized to a sum of 1; equal by default.

    Examples
    --------
    >>> from bayesnb import BayesianNB, Poisson
    >>> from bayesnb.families import NegativeBinomial
    >>> calls = {"calls": [4, 5, 3, 4, 5, 4, 0, 13, 0, 1, 9, 0]}
    >>> either = Mixture([Poisson(), NegativeBinomial()])
    >>> clf = BayesianNB({"calls": either}).fit(calls, ["steady"] * 6 + ["in bursts"] * 6)
    >>> clf.tables()["calls"].iloc[:, :2].round(2)
               P(Poisson)  P(NegativeBinomial)
    class
    in bursts        0.00                 1.00
    steady           0.99                 0.01
    """

    families: Any = field(default_factory=lambda: (Gaussian(), PolyaTree()))
    weights: Any = None

    def __post_init__(self) -> None:
        families = tuple(self.families) if isinstance(self.families, Sequence) else (self.families,)
        object.__setattr__(self, "families", families)
        for family in families:
            require_part(family, "Mixture")
        if len(families) < 2:
            raise ValueError(
                "Expected a list of two families or more, such as Mixture([Gaussian(), PolyaTree()]); got "
                f"{list(families)}"
            )
        if any(isinstance(family, Mixture) for family in families):
            raise ValueError("a Mixture cannot be a part of a Mixture; write all families in one list")
        first, *others = families
        for family in others:
            if (first.support.kind == "counts") != (family.support.kind == "counts") or first.atoms != family.atoms:
                raise ValueError(
                    f"{type(first).__name__} reads {first.support} and {type(family).__name__} reads {family.support}, "
                    "and a Mixture cannot compare a probability with a density: put families of numbers together, "
                    "families of counts, or Hurdles of numbers"
                )
        weights = np.ones(len(families)) if self.weights is None else np.asarray(self.weights, float)
        if weights.shape != (len(families),) or not (np.isfinite(weights) & (weights > 0)).all():
            raise ValueError(f"Expected a positive weight for each of {len(families)} families; got {self.weights!r}")

    @property
    def log_weights(self) -> Array:
        weights = np.ones(len(self.families)) if self.weights is None else np.asarray(self.weights, float)
        return np.log(weights / weights.sum())

    @property
    def support(self) -> Support:
        supports = [family.support for family in self.families]
        return next((s for s in (POSITIVE, NONNEGATIVE) if s in supports), supports[0])

    @property
    def parts(self) -> tuple[Family, ...]:
        return self.families

    def with_parts(self, parts: Sequence[Family]) -> Mixture:
        return replace(self, families=tuple(parts))

    def joined(self, priors: tuple[Any, ...]) -> OneOf:
        for prior in priors:
            prior.require_proper("A Mixture, which weighs families by their evidence,")
        shape = (*priors[0].batch_shape, len(priors))
        return OneOf(priors, np.array(np.broadcast_to(self.log_weights, shape)), priors)

    def flat(self) -> Mixture:
        raise without_mode(NO_MODE)

    @property
    def atoms(self) -> tuple[float, ...]:
        return self.families[0].atoms

    def seen_by(self, x: Array) -> list[Array]:
        return [x] * len(self.parts)

    def part_names(self) -> list[str]:
        return _titles(self.families)

    def learned(self, s: SeenByEach) -> str:
        if self.named_classes():
            return ""
        weight = np.exp(self.update(self.priors(s, range(len(s.seen()))), s).log_weight).reshape(-1, len(self.parts))
        each = zip(self.part_names(), weight.min(0), weight.max(0), strict=True)
        return "; ".join(f"P({name}) {low:.2g} to {high:.2g} by class" for name, low, high in each)

    def readable(self, theta: Theta) -> dict[str, Array]:
        names, choice = self.part_names(), np.exp(theta["log_choice"])
        found = {f"P({name})": choice[..., k] for k, name in enumerate(names)}
        for k, (name, part) in enumerate(zip(names, self.parts, strict=True)):
            found |= {f"{what} ({name})": value for what, value in part.readable(of_part(k, theta)).items()}
        return found

    def update(self, prior: OneOf, s: SeenByEach) -> OneOf:
        return prior.learned(self.updated(prior, s), np.stack(self.evidences(prior, s), axis=-1))

    def log_evidence(self, prior: OneOf, s: SeenByEach) -> Array:
        return log_sum([prior.log_weight[..., m] + value for m, value in enumerate(self.evidences(prior, s))])

    def plug_in(self, posterior: OneOf, point: Point) -> Theta:
        """The probability of each family, and the posterior mean of the family's θ."""
        if point == "mode":
            raise without_mode(NO_MODE, (0, 0))
        means = all_numbered(part.plug_in(own, point) for part, own in self.each(posterior))
        return {"log_choice": posterior.log_weight} | means

    def draw(self, posterior: OneOf, rng: Generator, size: Size = ()) -> Theta:
        chosen = posterior.drawn_choice(rng, size)
        with np.errstate(divide="ignore"):
            found = {"log_choice": np.log(chosen)}
        for k, (part, *both) in enumerate(zip(self.parts, posterior.parts, posterior.before, strict=True)):
            here, there = (part.draw(own, rng, size) for own in both)
            found |= numbered(k, {name: _where(chosen[..., k], here[name], there[name]) for name in here})
        return found

    # Each column has its own family, so densities are averaged over families column by column.

    def of_columns_alone(self, n: int) -> list[list[Family]]:
        return [[part.gathered([(part, k)]) for part in self.parts] for k in range(n)]

    def cells_by_column(self, given: OneOf | Theta, x: Array) -> Iterator[tuple[Array, Array, list[tuple[Any, Any]]]]:
        """Yield each column's cells, (row, 1), the log weights of its families, and pairs (family, posterior or θ)."""
        for k, (parts, cells) in enumerate(zip(self.of_columns_alone(x.shape[1]), np.array(x.T), strict=True)):
            if isinstance(given, OneOf):
                weight, own = given.log_weight[None, :, k], [part.columns([k]) for part in given.parts]
            else:
                here = _of_column(given, k)
                weight, own = here["log_choice"], [of_part(m, here) for m in range(len(parts))]
            yield cells[:, None], weight, list(zip(parts, own, strict=True))

    def summed(self, of_column: Callable[..., Array], given: OneOf | Theta, x: Array) -> Any:
        """Sum a function over the items of ``cells_by_column``, in threads."""
        columns, total = self.cells_by_column(given, x), 0.0
        while some := list(islice(columns, AT_ONCE)):
            for value in blocks.each(lambda cut, some=some: of_column(*some[cut.start]), blocks.slices(len(some), 1)):
                total = total + value
        return total

    def joined_rows(self, ask: Callable[[Family, Any, Array], Any], given: OneOf | Theta, x: Array) -> Any:
        def averaged(cells: Array, weight: Array, each: list[tuple[Any, Any]]) -> Array:
            return averaged_over_rows([ask(part, own, cells) for part, own in each], weight, cells[:, 0])

        return self.summed(averaged, given, x)

    def cumulants(self, posterior: OneOf, x: Array, t: float | Array) -> Array:

        def cumulants(cells: Array, weight: Array, each: list[tuple[Any, Any]]) -> Array:
            found = np.stack(mixed(weight[0].T, [tuple(part.cumulants(own, cells, t)) for part, own in each]))
            found[:, np.isnan(cells[:, 0])] = 0.0
            return found

        return self.summed(cumulants, posterior, x)

    def log_likelihood_given_row(
        self, posterior: OneOf, theta: Theta, x: Array, chosen: Array, common: CommonDraws
    ) -> Array:
        """log p(x | θ) at draws of θ given the data; in the class assumed for a row (``chosen``), also given the row.

        In this class, a family is drawn with probability proportional to its weight times its density at the row.
        """
        classes = np.arange(len(posterior.log_weight))
        total = 0.0
        for k, (cells, weight, each) in enumerate(self.cells_by_column(posterior, x)):
            here, draws = _of_column(theta, k), [common.within(m, k) for m in range(len(each))]
            said = [
                part.log_likelihood_given_row(own, of_part(m, here), cells, chosen, draws[m])
                for m, (part, own) in enumerate(each)
            ]
            terms = np.stack([part.log_predictive(own, cells) for part, own in each], axis=-1) + weight
            below = np.cumsum(np.exp(terms - terms.max(-1, keepdims=True)), axis=-1)
            u = np.stack([common.within(c).generator(99, k).random(common.draws) for c in classes], axis=-1)
            place = (u[:, None, :, None] >= below / below[..., -1:]).sum(-1)
            others = averaged_over_rows(said, here["log_choice"], cells[:, 0])
            total = total + np.where(chosen[..., None] == classes, np.choose(place, said), others)
        return total

    def log_left_out(self, posterior: OneOf, x: Array, labels: Labels, point: Point | None = None) -> Array:
        if point == "mode":
            self.plug_in(posterior, point)
        own_class = np.arange(len(labels)), labels.codes

        def left_out(cells: Array, weight: Array, each: list[tuple[Any, Any]]) -> Array:
            said = [part.log_left_out(own, cells, labels) for part, own in each]
            power = said
            # For a row of weight w and density p, the leave-one-out value of E[p^w] is 1 / E[p^-w] given all rows.
            if not labels.unweighted:
                power = [-part.log_moment(own, cells, -labels.weight[:, None])[own_class] for part, own in each]
            if point is not None:
                said = [part.log_left_out(own, cells, labels, point) for part, own in each]
            left = [log_weight - value for log_weight, value in zip(weight[0, labels.codes].T, power, strict=True)]
            joint = [log_weight + value for log_weight, value in zip(left, said, strict=True)]
            return np.where(np.isnan(cells[:, 0]), 0.0, log_sum(joint) - log_sum(left))

        return self.summed(left_out, posterior, x)

    def sample(self, theta: Theta, rng: Generator, s: SeenByEach | None) -> Array:
        return np.choose(drawn_codes(theta["log_choice"], rng), self.samples(theta, rng, s))

    # In PyMC the choice of the family is summed out; the variables are the parameters of all families.

    def pymc_statistic(self, theta: Mapping[str, Any], s: SeenByEach) -> Any:
        def of_cell(parts: Sequence[Family], c: int, k: int) -> Any:
            here = {name: value[c : c + 1, k : k + 1] for name, value in theta.items()}
            seen = [own.take([c]).columns([k]) for own in s.parts]
            return self._pymc_averaged([part.pymc_statistic(of_part(m, here), seen[m]) for m, part in enumerate(parts)])

        n_classes, n_columns = s.seen().shape
        columns = enumerate(self.of_columns_alone(n_columns))
        return sum(of_cell(parts, c, k) for k, parts in columns for c in range(n_classes))

    def pymc_rows(self, name: str, theta: Mapping[str, Any], x: Array, y: Any) -> None:
        import pymc as pm
        from pytensor import tensor as pt

        total = pt.zeros(())
        for k, parts in enumerate(self.of_columns_alone(x.shape[1])):
            here = {key: value[:, k : k + 1] for key, value in theta.items()}
            each = [part.pymc_log_likelihood(of_part(m, here), x[:, [k]]) for m, part in enumerate(parts)]
            own = pt.eq(np.asarray(y)[:, None], pt.arange(each[0].shape[1]))
            total += self._pymc_averaged([(value * own).sum(0) for value in each]).sum()
        pm.Potential(f"log p({name})", total)

    def _pymc_averaged(self, each: Sequence[Any]) -> Any:
        from pytensor import tensor as pt

        return reduce(pt.logaddexp, [w + value for w, value in zip(self.log_weights, each, strict=True)])

    def pymc_log_likelihood(self, theta: Mapping[str, Any], x: Array) -> Any:
        raise ValueError(
            "all rows of a class share the choice of a Mixture, so with the choice summed out no row has a likelihood "
            'of its own: use likelihood="rows" or "sufficient"'
        )


def _of_column(theta: Theta, k: int) -> dict[str, Array]:
    lead = (slice(None),) * (theta["log_choice"].ndim - 2)
    found = {name: value[*lead, [k]] for name, value in theta.items()}
    return found | {"log_choice": theta["log_choice"][*lead, k][..., None, :, :]}


def _where(chosen: Array, here: Array, there: Array) -> Array:
    return np.where(chosen.reshape(*chosen.shape, *[1] * (here.ndim - chosen.ndim)) > 0, here, there)


def _titles(families: Sequence[Family]) -> list[str]:
    """Display names of families; equal names are numbered."""
    each = [family.title for family in families]
    return [f"{title} {k + 1}" if each.count(title) > 1 else title for k, title in enumerate(each)]
