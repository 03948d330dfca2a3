"""Categorical features whose classes shrink towards shares that they have in common: how far is learned."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy.special import logsumexp

from bayesnb.chains import Convergence
from bayesnb.families.categorical import Categorical
from bayesnb.families.levels import CategoryCounts, Coded
from bayesnb.families.membership import Membership
from bayesnb.families.sampled import Declared, Draws, Sampled
from bayesnb.families.support import LEVELS
from bayesnb.priors import Array, Dirichlet, Theta, log, spread


@dataclass(frozen=True, eq=False, repr=False)
class LearnedShares(Declared):
    """The prior of what the classes of a column share: the pooled shares of its levels, and the strength.

    The pooled shares have a Dirichlet(alpha). Of the strength, strength / (strength + median) is uniform on (0, 1): a
    class with as many rows as the median takes between none and all of its shares from the others, each amount equally
    likely (the uniform shrinkage prior of Daniels 1999).

    Parameters
    ----------
    alpha : float, array (column, level) or {level: float}
        Positive. The concentration of each level in the shares that classes have in common.
    strength : float or array (column,), optional
        The median of the strength, in rows, positive. ``None`` is the number of levels of the column: with equal
        shares, Laplace's rule.
    """

    alpha: Any = 1.0
    strength: Any = None

    def __post_init__(self) -> None:
        Dirichlet(self.alpha)
        self._require_positive("strength")
        self._as_arrays("strength")

    def over(self, levels: tuple[tuple[Any, ...], ...], n_classes: int) -> LearnedShares:
        """The prior at its full shape: alpha (class, column, level), strength (class, column)."""
        alpha = Dirichlet(self.alpha).over(levels, n_classes).alpha
        if ((alpha > 0).sum(-1) < [max(1, len(names)) for names in levels]).any():
            raise ValueError(f"Expected a concentration above 0 for every level; got {self.alpha!r}")
        strength = (alpha > 0).sum(-1) if self.strength is None else self.strength
        return LearnedShares(alpha, spread(np.asarray(strength, float), alpha.shape[:2]))

    def proper(self) -> Array:
        return np.ones(np.shape(self.strength), bool)


@dataclass(frozen=True, eq=False, init=False)
class HierarchicalCategorical(Sampled[LearnedShares, CategoryCounts]):
    """x | θ ~ Categorical(θ), θ ~ Dirichlet(strength × pooled) for each class, with pooled shares and strength learned.

    The levels of each class shrink towards shares that the classes have in common, the more the less the classes differ
    (BDA3 5.3, with counts of K levels). Only the shares and the strength are sampled with NUTS; θ is integrated out, so
    that the counts have a Dirichlet-multinomial likelihood, and no strength is hard to reach. θ is then drawn exactly,
    given these two and the counts.

    Parameters
    ----------
    alpha : float, array (column, level) or {level: float}
        The concentration of the prior of the pooled shares.
    strength : float or array (column,), optional
        The prior median of the strength, in rows: so many imaginary rows with the pooled shares are seen in each class.
        By default, the number of levels of the column.
    **sampler
        ``draws``, ``tune``, ``chains``, ``random_seed``, ``target_accept``: see ``bayesnb.chains.Sampler``.

    Examples
    --------
    >>> from bayesnb.families.categorical import Coded
    >>> from bayesnb.families.membership import Labels
    >>> family, x = HierarchicalCategorical(), Coded(np.array([[0], [1], [1]]), (("no", "yes"),))
    >>> s = family.statistic(x, Labels(np.array([0, 0, 1]), np.ones(3), 2))
    >>> family.priors(s, ["a", "b"]).strength
    array([[2.],
           [2.]])
    """

    conjugate = LearnedShares
    support = LEVELS

    def __init__(self, alpha: Any = 1.0, strength: Any = None, **sampler: Any) -> None:
        self._set_fields(LearnedShares(alpha, strength), sampler)

    def statistic(self, x: Coded, members: Membership) -> CategoryCounts:
        return Categorical().statistic(x, members)

    def resolve_prior(self, prior: LearnedShares, s: CategoryCounts) -> LearnedShares:
        return prior.over(s.levels, s.counts.shape[0])

    def sampled(self, prior: LearnedShares, s: CategoryCounts) -> tuple[Theta, Convergence]:
        import pymc as pm

        # Columns with as many levels share variables, as in the whole model. A single level has the probability 1.
        widths = (prior.alpha[0] > 0).sum(-1)
        groups = {int(k): np.flatnonzero(widths == k) for k in np.unique(widths) if k > 1}
        with pm.Model() as model:
            made = []
            for k, columns in groups.items():
                levels = prior.alpha[0, columns] > 0
                alpha = prior.alpha[0, columns][levels].reshape(len(columns), k)
                counts = s.counts[:, columns][:, levels].reshape(-1, len(columns), k)
                pooled, strength = _shares(alpha, prior.strength[0, columns], f"{{}}_{k}".format, {})
                pm.Potential(f"rows_{k}", _dirichlet_multinomial(counts, strength[:, None] * pooled))
                made += [pooled.name, strength.name]
        if made:
            drawn, convergence = self.sampler.run(model, made, type(self).__name__)
        else:
            n = self.sampler.draws * self.sampler.chains
            drawn, convergence = {"strength": np.ones((n, 0))}, Convergence(1.0, 1.0, float(n), 0, "nothing moves")
        shape = (len(next(iter(drawn.values()))), *prior.alpha.shape[1:])
        pooled, strength = np.zeros(shape), np.ones(shape[:2])
        pooled[:, widths == 1] = prior.alpha[0, widths == 1] > 0
        for k, columns in groups.items():
            column, level = np.nonzero(prior.alpha[0, columns] > 0)
            pooled[:, columns[column], level] = drawn[f"pooled_{k}"].reshape(shape[0], -1)
            strength[:, columns] = drawn[f"strength_{k}"]
        return self._drawn(prior, s, pooled, strength), convergence

    def _drawn(self, prior: LearnedShares, s: CategoryCounts, pooled: Array, strength: Array) -> Theta:
        """θ given the shares and the strength, (draw, class, column, level)."""
        posterior = Dirichlet((strength[..., None] * pooled)[:, None] + s.counts)
        log_theta = posterior.log_draw(np.random.default_rng(self.sampler.random_seed))
        return self.theta({"theta": np.exp(log_theta), "pooled": pooled, "strength": strength}) | {
            "log_theta": log_theta
        }

    def pymc_prior(
        self, prior: LearnedShares, name: Callable[[str], str], dims: Mapping[str, tuple[str, ...]]
    ) -> dict[str, Any]:
        """The variables of columns with as many levels."""
        import pymc as pm

        pooled, strength = _shares(prior.alpha[0], prior.strength[0], name, dims)
        theta = pm.Dirichlet(
            name("theta"), a=(strength[:, None] * pooled)[None], shape=prior.alpha.shape, dims=dims.get("theta")
        )
        return {"theta": theta, "pooled": pooled, "strength": strength}

    def pymc_statistic(self, theta: Mapping[str, Any], s: CategoryCounts) -> Any:
        return Categorical().pymc_statistic({"theta": theta["theta"]}, s)

    def pymc_rows(self, name: str, theta: Mapping[str, Any], x: Coded, y: Any) -> None:
        Categorical().pymc_rows(name, theta, x, y)

    def pymc_log_likelihood(self, theta: Mapping[str, Any], x: Coded) -> Any:
        return Categorical().pymc_log_likelihood(theta, x)

    def log_prior(self, prior: LearnedShares, variables: Mapping[str, Array]) -> dict[str, Array]:
        pooled, strength, median = variables["pooled"], variables["strength"], prior.strength[0]
        of_theta = Dirichlet((strength[..., None] * pooled)[..., None, :, :])
        return {
            "theta": of_theta.log_prob(variables["theta"]),
            "pooled": Dirichlet(prior.alpha[0]).log_prob(pooled),
            "strength": np.log(median) - 2 * np.log(median + strength),
        }

    def density(self) -> Callable[[Theta, Coded], Array]:
        return Categorical().log_likelihood

    def mean(self, posterior: Draws) -> Theta:
        log_theta = logsumexp(posterior.theta["log_theta"], axis=0) - np.log(len(posterior))
        return {**posterior.mean(), "log_theta": log_theta}

    def axes(self, variables: Mapping[str, Array]) -> dict[str, tuple[str, ...]]:
        return {"theta": ("class", "column", "level"), "pooled": ("column", "level"), "strength": ("column",)}

    def variables(self, theta: Theta) -> dict[str, Array]:
        pooled, strength = theta["pooled"][..., 0, :, :], theta["strength"][..., 0, :]
        return {"theta": np.exp(theta["log_theta"]), "pooled": pooled, "strength": strength}

    def theta(self, variables: Mapping[str, Array]) -> Theta:
        log_theta = log(variables["theta"])
        pooled = np.broadcast_to(variables["pooled"][..., None, :, :], log_theta.shape)
        strength = np.broadcast_to(variables["strength"][..., None, :], log_theta.shape[:-1])
        return {"log_theta": log_theta, "pooled": np.array(pooled), "strength": np.array(strength)}

    def sample(self, theta: Theta, rng: Generator, s: CategoryCounts) -> Array:
        return Categorical().sample(theta, rng, s)

    def linear(self, theta: Theta) -> tuple[Array, Array]:
        return Categorical().linear(theta)


def _shares(
    alpha: Array, median: Array, name: Callable[[str], str], dims: Mapping[str, tuple[str, ...]]
) -> tuple[Any, Any]:
    """The pooled shares (column, level) and the strength (column,) in the open model."""
    import pymc as pm

    pooled = pm.Dirichlet(name("pooled"), a=alpha, dims=dims.get("pooled"))
    # The odds of a uniform have a standard logistic logarithm.
    log_strength = pm.Logistic(name("log_strength"), mu=np.log(median), s=1.0)
    return pooled, pm.Deterministic(name("strength"), pm.math.exp(log_strength), dims=dims.get("strength"))


def _dirichlet_multinomial(counts: Array, alpha: Any) -> Any:
    """Σ log p(counts | α), where θ is integrated out; counts are (class, column, level) and α (column, level)."""
    from pytensor import tensor as pt

    total = alpha.sum(-1)
    whole = pt.gammaln(total) - pt.gammaln(total + counts.sum(-1))
    c, column, level = np.nonzero(counts > 0)
    own = alpha[column, level]
    return whole.sum() + (pt.gammaln(own + counts[c, column, level]) - pt.gammaln(own)).sum()
