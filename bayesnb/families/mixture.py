"""Columns of which it is not known which family they have: an average of several, by their evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.random import Generator

from bayesnb.families.alternatives import (
    SeenByEach,
    averaged,
    positive_weights,
    require_alternatives,
    summed_over_cells,
    summed_over_rows,
)
from bayesnb.families.compound import CompoundFamily
from bayesnb.families.conjugate import Conjugate
from bayesnb.families.gaussian import Gaussian
from bayesnb.families.polya_tree import PolyaTree
from bayesnb.families.support import COUNTS, NONNEGATIVE, POSITIVE, Support
from bayesnb.numerics import Array
from bayesnb.priors import BoundaryError, OneOf, Theta
from bayesnb.priors.compound import of_part
from bayesnb.priors.one_of import NO_MODE
from bayesnb.statistics.membership import Labels


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
    def parts(self) -> tuple[Conjugate, ...]:
        return self.families

    def with_parts(self, parts: Sequence[Conjugate]) -> Mixture:
        return replace(self, families=tuple(parts))

    def joined(self, priors: tuple[Any, ...]) -> OneOf:
        for prior in priors:
            prior.require_proper("A Mixture, which weighs families by their evidence,")
        shape = (*priors[0].proper().shape, len(priors))
        return OneOf(priors, np.array(np.broadcast_to(self.log_weights, shape)), priors)

    def flat(self) -> Mixture:
        raise BoundaryError(NO_MODE)

    def atoms(self) -> tuple[float, ...]:
        return self.families[0].atoms()

    def seen_by(self, x: Array) -> list[Array]:
        return [x] * len(self.parts)

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

    def of_columns_alone(self, n: int) -> list[list[Conjugate]]:
        """The parts as the families of each of n columns alone."""
        return [[part.gathered([(part, k)]) for part in self.parts] for k in range(n)]

    def log_likelihood(self, theta: Theta, x: Array) -> Array:
        choice, total = theta["log_choice"], 0.0
        lead = (slice(None),) * (choice.ndim - 2)
        for k, parts in enumerate(self.of_columns_alone(x.shape[1])):
            own = {name: value[*lead, [k]] for name, value in theta.items()}
            each = [part.log_likelihood(of_part(m, own), x[:, [k]]) for m, part in enumerate(parts)]
            total = total + averaged(each, choice[..., None, :, k, :], x[:, k, None])
        return total

    def completed(self, theta: Theta, believed: OneOf) -> Theta:
        points = [tuple(part.variables(of_part(k, theta)).values()) for k, part in enumerate(self.parts)]
        return dict(theta) | {"log_choice": believed.log_choice(points)}

    def of_reals(self, posterior: OneOf, x: Array, labels: Labels | None = None) -> Array | None:
        """With q_m the leave-one-out density by family m, that of the average is 1 / Σ_m P(m | all rows) / q_m."""
        if self.support is COUNTS or not (labels is None or labels.unweighted):
            return None
        total = 0.0
        for k, parts in enumerate(self.of_columns_alone(x.shape[1])):
            own, weight = x[:, [k]], posterior.log_weight[:, k]
            each = [(part, posterior.parts[m].columns([k])) for m, part in enumerate(parts)]
            if labels is None:
                said = [part.log_predictive(believed, own) for part, believed in each]
                total = total + averaged(said, weight, own)
            else:
                said = [-part.log_left_out(believed, own, labels) for part, believed in each]
                total = total - averaged(said, weight[labels.codes], x[:, k])
        return total

    def sample(self, theta: Theta, rng: Generator, s: SeenByEach | None) -> Array:
        choice = theta["log_choice"]
        place = (choice + rng.gumbel(size=choice.shape)).argmax(-1)
        return np.choose(place, self.samples(theta, rng, s))

    # In PyMC the choice is summed out: only the parameters of all families are variables.

    def pymc_statistic(self, theta: Mapping[str, Any], s: SeenByEach) -> Any:
        return summed_over_cells(self.of_columns_alone(s.seen().shape[1]), self.log_weights, theta, s.parts)

    def pymc_rows(self, name: str, theta: Mapping[str, Any], x: Array, y: Any) -> None:
        import pymc as pm

        pm.Potential(name, summed_over_rows(self.of_columns_alone(x.shape[1]), self.log_weights, theta, x, y))

    def pymc_log_likelihood(self, theta: Mapping[str, Any], x: Array) -> Any:
        raise ValueError(
            "all rows of a class share the choice of a Mixture, so with the choice summed out no row has a likelihood "
            'of its own: use likelihood="rows" or "sufficient"'
        )
