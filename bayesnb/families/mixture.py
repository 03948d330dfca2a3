"""Columns of which it is not known which family they have: an average of several, by their evidence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.random import Generator

from bayesnb.families.alternatives import (
    SeenByEach,
    averaged,
    averaged_over_rows,
    log_sum,
    positive_weights,
    require_alternatives,
    summed_over_cells,
    summed_over_rows,
)
from bayesnb.families.compound import CompoundFamily
from bayesnb.families.conjugate import Point
from bayesnb.families.family import Family
from bayesnb.families.gaussian import Gaussian
from bayesnb.families.polya_tree import PolyaTree
from bayesnb.families.support import NONNEGATIVE, POSITIVE, Support
from bayesnb.numerics import Array, Size
from bayesnb.priors import BoundaryError, OneOf, Theta
from bayesnb.priors.beta_tree import mixed
from bayesnb.priors.common_draws import CommonDraws
from bayesnb.priors.compound import numbered, of_part
from bayesnb.statistics.membership import Labels

NO_MODE = (
    "a mixture of families has no mode in closed form, and no maximum of the likelihood; use the mean "
    '(estimate="mean" or "predictive")'
)


@dataclass(frozen=True, eq=False)
class Mixture(CompoundFamily[OneOf, SeenByEach]):
    """One of several families generates the values of a class and column; which one is learned by evidence.

    The posterior weight of a family is its prior weight times its evidence in that class and column. Predictive,
    leave-one-out, evidence, moments and draws are those of the average over families, without approximation (Bayesian
    model averaging: Hoeting, Madigan, Raftery and Volinsky 1999). All rows of a class share the choice, so this is not
    a mixture distribution, whose rows choose one by one.

    Each class and column has a choice of its own, as it has parameters of its own, so that leaving out a row, or a new
    class, changes one class only. A class with few rows does not learn its family from the others.

    A PolyaTree that takes its cells from the first table has seen its rows before it competes, so its weight is too
    large; with given ``edges`` it is not. All priors must be proper.

    Parameters
    ----------
    families : sequence of Family
        Two or more that read the same kind of cells: numbers, or counts. Gaussian and PolyaTree if not given.
    weights : sequence of float, optional
        The prior probability of each family, positive; divided by their sum. Equal by default.

    Examples
    --------
    >>> from bayesnb import BayesianNB, NegativeBinomial, Poisson
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

    conjugate = OneOf

    def __post_init__(self) -> None:
        families = tuple(self.families) if isinstance(self.families, Sequence) else (self.families,)
        object.__setattr__(self, "families", families)
        require_alternatives(families, "Mixture")
        if any(isinstance(family, Mixture) for family in families):
            raise ValueError("a Mixture cannot be a part of a Mixture; write all families in one list")
        positive_weights(self.weights, len(families))

    @property
    def log_weights(self) -> Array:
        """ln of the prior probability of each family."""
        return np.log(positive_weights(self.weights, len(self.families)))

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
        shape = (*priors[0].proper().shape, len(priors))
        return OneOf(priors, np.array(np.broadcast_to(self.log_weights, shape)), priors)

    def flat(self) -> Mixture:
        """Refuse: no prior has its mode at the maximum of the likelihood."""
        raise BoundaryError(NO_MODE)

    def atoms(self) -> tuple[float, ...]:
        return self.families[0].atoms()

    def seen_by(self, x: Array) -> list[Array]:
        return [x] * len(self.parts)

    def part_names(self) -> list[str]:
        kinds = [part.title for part in self.parts]
        return [f"{kind} {k + 1}" if kinds.count(kind) > 1 else kind for k, kind in enumerate(kinds)]

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
        """log p(data | class) as (class, column)."""
        return averaged(self.evidences(prior, s), prior.log_weight)

    def mean(self, posterior: OneOf) -> Theta:
        """The probability of each family, and the mean of its θ if it is the one."""
        found = {"log_choice": posterior.log_weight}
        for k, (part, own) in enumerate(zip(self.parts, posterior.parts, strict=True)):
            found |= numbered(k, part.mean(own))
        return found

    def mode(self, posterior: OneOf) -> Theta:
        """Refuse: there is no formula for it."""
        raise BoundaryError(NO_MODE, (0, 0))

    def draw(self, posterior: OneOf, rng: Generator, size: Size = ()) -> Theta:
        chosen = posterior.drawn_choice(rng, size)
        with np.errstate(divide="ignore"):
            found = {"log_choice": np.log(chosen)}
        for k, (part, *both) in enumerate(zip(self.parts, posterior.parts, posterior.before, strict=True)):
            here, there = (part.draw(own, rng, size) for own in both)
            found |= numbered(k, {name: _where(chosen[..., k], here[name], there[name]) for name in here})
        return found

    def completed(self, theta: Theta, believed: OneOf) -> Theta:
        return dict(theta) | {"log_choice": believed.log_choice(theta)}

    # Each column has a choice of its own, so the average over families is taken column by column.

    def of_columns_alone(self, n: int) -> list[list[Family]]:
        """The parts as the families of each of n columns alone."""
        return [[part.gathered([(part, k)]) for part in self.parts] for k in range(n)]

    def _columns(self, posterior: OneOf, x: Array) -> Iterator[tuple[Array, Array, list[tuple[Any, Any]]]]:
        """Yield the cells of each column, (row, 1), the log weights of the families, and each with its belief."""
        for k, (parts, cells) in enumerate(zip(self.of_columns_alone(x.shape[1]), np.array(x.T), strict=True)):
            each = [(part, own.columns([k])) for part, own in zip(parts, posterior.parts, strict=True)]
            yield cells[:, None], posterior.log_weight[None, :, k], each

    def log_likelihood(self, theta: Theta, x: Array) -> Array:
        total = 0.0
        for k, parts in enumerate(self.of_columns_alone(x.shape[1])):
            own = _of_column(theta, k)
            each = [part.log_likelihood(of_part(m, own), x[:, [k]]) for m, part in enumerate(parts)]
            total = total + averaged_over_rows(each, own["log_choice"], x[:, k])
        return total

    def log_predictive(self, posterior: OneOf, x: Array) -> Array:
        return sum(
            averaged_over_rows([part.log_predictive(own, cells) for part, own in each], weight, cells[:, 0])
            for cells, weight, each in self._columns(posterior, x)
        )

    def log_moment(self, posterior: OneOf, x: Array, t: float | Array) -> Array:
        """log E[p(x | θ)^t] as (row, class)."""
        return sum(
            averaged_over_rows([part.log_moment(own, cells, t) for part, own in each], weight, cells[:, 0])
            for cells, weight, each in self._columns(posterior, x)
        )

    def log_moment_slopes(self, posterior: OneOf, x: Array, t: float | Array) -> tuple[Array, Array]:
        """First and second derivative of ``log_moment`` in t, (row, class) each."""
        total = np.zeros((2, len(x), len(posterior.log_weight)))
        for cells, weight, each in self._columns(posterior, x):
            terms = [(part.log_moment(own, cells, t), *part.log_moment_slopes(own, cells, t)) for part, own in each]
            total += mixed(weight[0].T, terms)[1:]
        return total[0], total[1]

    def moment_floor(self, posterior: OneOf, x: Array) -> Array:
        """The t < 0 above which ``log_moment`` exists, (row, class)."""
        each = zip(self.parts, posterior.parts, strict=True)
        return np.maximum.reduce([part.moment_floor(own, x) for part, own in each])

    def log_likelihood_given_row(
        self, posterior: OneOf, theta: Theta, x: Array, chosen: Array, common: CommonDraws
    ) -> Array:
        """Families are weighed by what they say of the row where it is of the class, and one of them is drawn."""
        classes = np.arange(len(posterior.log_weight))
        total = 0.0
        for k, (cells, weight, each) in enumerate(self._columns(posterior, x)):
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
        """log p(x_i | class of i, all rows but i) as (row,).

        Without the row, the weight of a family is divided by what the family then says of the row: by its density, if
        the row counts once. A row of the weight w is one cell to the power w, and E[p^w] without the row is 1 / E[p^-w]
        with it.
        """
        if point == "mode":
            return self.mode(posterior)
        own_class = np.arange(len(labels)), labels.codes
        total = np.zeros(len(labels))
        for cells, weight, each in self._columns(posterior, x):
            said = [part.log_left_out(own, cells, labels) for part, own in each]
            power = said
            if not labels.unweighted:
                power = [-part.log_moment(own, cells, -labels.weight[:, None])[own_class] for part, own in each]
            if point is not None:
                said = [part.log_left_out(own, cells, labels, point) for part, own in each]
            left = [log_weight - value for log_weight, value in zip(weight[0, labels.codes].T, power, strict=True)]
            joint = [log_weight + value for log_weight, value in zip(left, said, strict=True)]
            total += np.where(np.isnan(cells[:, 0]), 0.0, log_sum(joint) - log_sum(left))
        return total

    def sample(self, theta: Theta, rng: Generator, s: SeenByEach | None) -> Array:
        choice = theta["log_choice"]
        place = (choice + rng.gumbel(size=choice.shape)).argmax(-1)
        return np.choose(place, self.samples(theta, rng, s))

    # In PyMC the choice is summed out: only the parameters of all families are variables.

    def pymc_statistic(self, theta: Mapping[str, Any], s: SeenByEach) -> Any:
        """log p(data | θ) as a scalar tensor."""
        return summed_over_cells(self.of_columns_alone(s.seen().shape[1]), self.log_weights, theta, s.parts)

    def pymc_rows(self, name: str, theta: Mapping[str, Any], x: Array, y: Any) -> None:
        """Add log p(x | θ[y]) to the open model."""
        import pymc as pm

        pm.Potential(name, summed_over_rows(self.of_columns_alone(x.shape[1]), self.log_weights, theta, x, y))

    def pymc_log_likelihood(self, theta: Mapping[str, Any], x: Array) -> Any:
        """Refuse: rows share the choice."""
        raise ValueError(
            "all rows of a class share the choice of a Mixture, so with the choice summed out no row has a likelihood "
            'of its own: use likelihood="rows" or "sufficient"'
        )


def _of_column(theta: Theta, k: int) -> dict[str, Array]:
    """θ of one column alone; the choice has an axis for rows."""
    lead = (slice(None),) * (theta["log_choice"].ndim - 2)
    found = {name: value[*lead, [k]] for name, value in theta.items()}
    return found | {"log_choice": theta["log_choice"][*lead, k][..., None, :, :]}


def _where(chosen: Array, here: Array, there: Array) -> Array:
    """The values of one part where it was chosen, else the others; values may have further axes behind."""
    return np.where(chosen.reshape(*chosen.shape, *[1] * (here.ndim - chosen.ndim)) > 0, here, there)
