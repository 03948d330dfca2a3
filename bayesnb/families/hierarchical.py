"""Families whose classes shrink towards what they have in common: start with :class:`Hierarchical`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator

from bayesnb.families.conjugate import Conjugate
from bayesnb.families.sampled import Declared, Dims, Draws, Name, Sampled
from bayesnb.families.strata import Strata
from bayesnb.numerics import Array
from bayesnb.statistics.membership import Column, Membership
from bayesnb.statistics.statistic import Statistic


@dataclass(frozen=True, eq=False, init=False)
class Hierarchical[P: Declared, S: Statistic](Sampled[P, S]):
    """The likelihood of a conjugate family, the prior of whose parameters is learned from all classes.

    NUTS samples only what the classes have in common (and what has no conjugate prior). The other parameters of each
    class are integrated out of the likelihood, and then drawn exactly, given all else and the statistic.

    Columns of a kind may share what is believed of their prior: with ``together``, one scale (and perhaps a location)
    is learned for all columns of the feature. The columns are dependent through it, so they are one term of the model,
    as the columns of a vector are.
    """

    together: bool = False

    likelihood: ClassVar[Conjugate]
    """The conjugate family with this likelihood; its own prior is not used."""

    @abstractmethod
    def common(self, prior: P, name: Name, dims: Dims) -> dict[str, Any]:
        """Add the variables that NUTS samples to the open model."""

    @abstractmethod
    def of_classes(self, prior: P, common: Mapping[str, Any], name: Name, dims: Dims) -> dict[str, Any]:
        """Add the variables of each class that are integrated out while NUTS samples, given the others."""

    @abstractmethod
    def log_marginal(self, common: Mapping[str, Any], s: S) -> Any:
        """log p(data | what NUTS samples) as a scalar tensor, up to a constant: the others are integrated out."""

    @abstractmethod
    def draw_of_classes(self, prior: P, common: Mapping[str, Array], s: S, rng: Generator) -> dict[str, Array]:
        """Draws of the variables that were integrated out, given draws of the others and the statistic."""

    @abstractmethod
    def point(self, theta: Mapping[str, Any]) -> dict[str, Any]:
        """The PyMC variables of ``likelihood``, from those of this family."""

    @property
    def one_term(self) -> bool:
        return self.together

    @property
    def reads_together(self) -> bool:
        return self.together

    def strata(self, posterior: Draws) -> Strata:
        shared = [posterior.theta[key][:, 0, 0] for key, axes in self.variable_axes().items() if not axes]
        return Strata.of(np.stack(shared, axis=1) if shared else None, len(posterior))

    def statistic(self, x: Column, members: Membership) -> S:
        return self.likelihood.statistic(x, members)

    def update(self, prior: P, s: S) -> Draws:
        import pymc as pm

        with pm.Model() as model:
            made = self.common(prior, str, {})
            pm.Potential("rows", self.log_marginal(made, s))
        drawn, convergence = self.sampler.run(model, list(made), type(self).__name__)
        rng = np.random.default_rng(self.sampler.random_seed)
        return Draws(self.theta(drawn | self.draw_of_classes(prior, drawn, s, rng)), convergence)

    def pymc_prior(self, prior: P, name: Name, dims: Dims) -> dict[str, Any]:
        common = self.common(prior, name, dims)
        return {**self.of_classes(prior, common, name, dims), **common}

    def pymc_statistic(self, theta: Mapping[str, Any], s: S) -> Any:
        return self.likelihood.pymc_statistic(self.point(theta), s)

    def pymc_rows(self, name: str, theta: Mapping[str, Any], x: Column, y: Any) -> None:
        self.likelihood.pymc_rows(name, self.point(theta), x, y)

    def pymc_log_likelihood(self, theta: Mapping[str, Any], x: Column) -> Any:
        return self.likelihood.pymc_log_likelihood(self.point(theta), x)
