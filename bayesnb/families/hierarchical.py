"""Categorical features whose smoothing is learned: the classes share the concentration, which is sampled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import Generator
from scipy.special import logsumexp

from bayesnb.families.categorical import Categorical
from bayesnb.families.levels import CategoryCounts, Coded
from bayesnb.families.membership import Membership
from bayesnb.families.sampled import Declared, Draws, Sampled
from bayesnb.families.support import LEVELS
from bayesnb.priors import Array, Dirichlet, Theta, log, spread

if TYPE_CHECKING:
    import pymc as pm


@dataclass(frozen=True, eq=False, repr=False)
class LearnedConcentration(Declared):
    """α ~ Gamma(shape, rate), the concentration of every level; one α a column, that all classes share.

    Parameters
    ----------
    shape, rate : float or array (column,)
        Positive. The prior mean of α is shape / rate; Dirichlet(1), Laplace's rule, is α = 1.
    """

    shape: float | Array = 1.0
    rate: float | Array = 1.0

    def __post_init__(self) -> None:
        for name in ("shape", "rate"):
            value = np.asarray(getattr(self, name), float)
            if not (np.isfinite(value) & (value > 0)).all():
                raise ValueError(f"Expected {name} to be positive and finite; got {getattr(self, name)!r}")
            object.__setattr__(self, name, value)

    def over(self, n_classes: int, n_columns: int) -> LearnedConcentration:
        """The prior at its full shape (class, column)."""
        return LearnedConcentration(*(spread(v, (n_classes, n_columns)) for v in (self.shape, self.rate)))

    def proper(self) -> Array:
        return np.ones(np.shape(self.shape), bool)


@dataclass(frozen=True, eq=False, init=False)
class HierarchicalCategorical(Sampled[LearnedConcentration]):
    """x | θ ~ Categorical(θ), θ | α ~ Dirichlet(α) for each class, α ~ Gamma(shape, rate) for all of them.

    The amount of smoothing is learned from how much the classes differ (BDA3 5.3, with counts of K levels). Only α is
    sampled with NUTS; θ is integrated out, so the counts have a Dirichlet-multinomial likelihood. θ is then drawn
    exactly, given α and the counts.

    Parameters
    ----------
    shape, rate : float or array (column,)
        The parameters of the prior of α, the concentration of each level.
    **sampler
        ``draws``, ``tune``, ``chains``, ``random_seed``, ``target_accept``: see :class:`Sampler`.

    Examples
    --------
    >>> from bayesnb.families.categorical import Coded
    >>> from bayesnb.families.membership import Labels
    >>> family, x = HierarchicalCategorical(shape=2, rate=1), Coded(np.array([[0], [1], [1]]), (("no", "yes"),))
    >>> s = family.statistic(x, Labels(np.array([0, 0, 1]), np.ones(3), 2))
    >>> [variable.name for variable in family.pymc_model(family.priors(s, ["a", "b"]), s).free_RVs]
    ['alpha']
    """

    conjugate = LearnedConcentration
    support = LEVELS

    def __init__(self, shape: Any = 1.0, rate: Any = 1.0, **sampler: Any) -> None:
        self._set_fields(LearnedConcentration(shape, rate), sampler)

    def statistic(self, x: Coded, members: Membership) -> CategoryCounts:
        return Categorical().statistic(x, members)

    def resolve_prior(self, prior: LearnedConcentration, s: CategoryCounts) -> LearnedConcentration:
        return prior.over(*s.counts.shape[:2])

    def pymc_model(self, prior: LearnedConcentration, s: CategoryCounts) -> pm.Model:
        import pymc as pm
        from pytensor import tensor as pt

        with pm.Model() as model:
            alpha = pm.Gamma("alpha", alpha=prior.shape[0], beta=prior.rate[0])
            c, column, level = np.nonzero(s.counts > 0)
            if len(c):
                # A Dirichlet-multinomial for each class and column.
                n, own, total = s.counts[c, column, level], alpha[column], alpha * _levels(s).sum(-1)
                whole = pt.gammaln(total) - pt.gammaln(total + s.counts.sum(-1))
                pm.Potential("rows", (pt.gammaln(own + n) - pt.gammaln(own)).sum() + whole.sum())
        return model

    def from_variables(self, drawn: Mapping[str, Array], prior: LearnedConcentration, s: CategoryCounts) -> Theta:
        alpha = drawn["alpha"][:, None, :]
        posterior = Dirichlet(alpha[..., None] * _levels(s) + s.counts)
        log_theta = posterior.log_draw(np.random.default_rng(self.sampler.random_seed))
        return {"log_theta": log_theta, "alpha": np.array(np.broadcast_to(alpha, log_theta.shape[:-1]))}

    def density(self) -> Callable[[Theta, Coded], Array]:
        return Categorical().log_likelihood

    def mean(self, posterior: Draws) -> Theta:
        log_theta = logsumexp(posterior.theta["log_theta"], axis=0) - np.log(len(posterior))
        return {"log_theta": log_theta, "alpha": posterior.theta["alpha"].mean(0)}

    def variables(self, theta: Theta) -> dict[str, Array]:
        return {"theta": np.exp(theta["log_theta"]), "alpha": theta["alpha"]}

    def theta(self, variables: Mapping[str, Array]) -> Theta:
        return {"log_theta": log(variables["theta"]), "alpha": variables["alpha"]}

    def sample(self, theta: Theta, rng: Generator, s: CategoryCounts) -> Array:
        return Categorical().sample(theta, rng, s)

    def linear(self, theta: Theta) -> tuple[Array, Array]:
        return Categorical().linear(theta)


def _levels(s: CategoryCounts) -> Array:
    """1 for each level of a column, and 0 for the padding of columns with fewer levels, (column, level)."""
    return Dirichlet(1.0).over(s.levels, 1).alpha[0]
