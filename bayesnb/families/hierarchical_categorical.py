"""Categorical features whose classes shrink towards shares that they have in common: how far is learned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy import stats
from scipy.special import logsumexp

from bayesnb.chains import Convergence
from bayesnb.families.categorical import Categorical
from bayesnb.families.hierarchical import Hierarchical
from bayesnb.families.levels import CategoryCounts, Coded
from bayesnb.families.sampled import Declared, Dims, Draws, Name
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

    positive = ("strength",)

    def __post_init__(self) -> None:
        Dirichlet(self.alpha)
        super().__post_init__()

    def over(self, levels: tuple[tuple[Any, ...], ...], n_classes: int) -> LearnedShares:
        """The prior at its full shape: alpha (class, column, level), strength (class, column)."""
        alpha = Dirichlet(self.alpha).over(levels, n_classes).alpha
        if ((alpha > 0).sum(-1) < [max(1, len(names)) for names in levels]).any():
            raise ValueError(f"Expected a concentration above 0 for every level; got {self.alpha!r}")
        strength = (alpha > 0).sum(-1) if self.strength is None else self.strength
        return LearnedShares(alpha, spread(np.asarray(strength, float), alpha.shape[:2]))


@dataclass(frozen=True, eq=False, init=False)
class HierarchicalCategorical(Hierarchical[LearnedShares, CategoryCounts]):
    """x | θ ~ Categorical(θ), θ ~ Dirichlet(strength × pooled) for each class, with pooled shares and strength learned.

    The levels of each class shrink towards shares that the classes have in common, the more the less the classes differ
    (BDA3 5.3, with counts of K levels). Only the shares and the strength are sampled with NUTS; θ is integrated out, so
    that the counts have a Dirichlet-multinomial likelihood, and no strength is hard to reach. θ is then drawn exactly,
    given these two and the counts.

    Columns of a kind may share what is believed of their strengths: with ``together``, the logarithms of the strengths,
    divided by their medians, have a logistic distribution with a location ~ Logistic(0, 1) and a scale ~ HalfNormal(1)
    for all columns of the feature. Where the classes differ little in most columns, all are then drawn together more.
    The columns are dependent through these two, so they are one term of the model, as the columns of a vector are.

    Parameters
    ----------
    alpha : float, array (column, level) or {level: float}
        The concentration of the prior of the pooled shares.
    strength : float or array (column,), optional
        The prior median of the strength, in rows: so many imaginary rows with the pooled shares are seen in each class.
        By default, the number of levels of the column.
    together : bool
        Whether the columns of the feature share the distribution of their strengths.
    **sampler
        ``draws``, ``tune``, ``chains``, ``random_seed``, ``target_accept``: see ``bayesnb.chains.Sampler``.

    Examples
    --------
    >>> from bayesnb.families.categorical import Coded
    >>> from bayesnb.statistics.membership import Labels
    >>> family, x = HierarchicalCategorical(), Coded(np.array([[0], [1], [1]]), (("no", "yes"),))
    >>> s = family.statistic(x, Labels(np.array([0, 0, 1]), np.ones(3), 2))
    >>> family.priors(s, ["a", "b"]).strength
    array([[2.],
           [2.]])
    """

    conjugate = LearnedShares
    likelihood = Categorical()
    support = LEVELS

    def __init__(self, alpha: Any = 1.0, strength: Any = None, together: bool = False, **sampler: Any) -> None:
        self._set_fields(LearnedShares(alpha, strength), sampler, together=bool(together))

    def resolve_prior(self, prior: LearnedShares, s: CategoryCounts) -> LearnedShares:
        return prior.over(s.levels, s.counts.shape[0])

    def update(self, prior: LearnedShares, s: CategoryCounts) -> Draws:
        if prior.alpha.shape[-1] > 1 or self.together:
            return super().update(prior, s)
        # A single level has the probability 1, so the rows say nothing.
        n = self.sampler.draws * self.sampler.chains
        drawn = self.draw_prior(prior, np.random.default_rng(self.sampler.random_seed), n)
        return Draws(self.theta(drawn), Convergence(1.0, 1.0, float(n), 0, "nothing moves"))

    def common(self, prior: LearnedShares, name: Name, dims: Dims) -> dict[str, Any]:
        """The pooled shares (column, level), the strength (column,), and what the strengths share.

        Logarithms of strengths are written as location + scale × z, because the strengths of columns with few rows
        would otherwise make a funnel with the scale that they share.
        """
        import pymc as pm

        alpha, median, shared = prior.alpha[0], prior.strength[0], {}
        if self.together:
            shared["location"] = pm.Logistic(name("location"), 0.0, 1.0)
            shared["scale"] = pm.HalfNormal(name("scale"), 1.0)
        pooled = _dirichlets("pooled", alpha, alpha > 0, name, dims)
        # The odds of a uniform have a standard logistic logarithm.
        away = pm.Logistic(name("standard_strength"), 0.0, 1.0, shape=median.shape)
        log_strength = np.log(median) + shared.get("location", 0.0) + shared.get("scale", 1.0) * away
        strength = pm.Deterministic(name("strength"), pm.math.exp(log_strength), dims=dims.get("strength"))
        return {"pooled": pooled, "strength": strength, **shared}

    def of_classes(self, prior: LearnedShares, common: Mapping[str, Any], name: Name, dims: Dims) -> dict[str, Any]:
        from pytensor import tensor as pt

        alpha = pt.broadcast_to(common["strength"][:, None] * common["pooled"], prior.alpha.shape)
        return {"theta": _dirichlets("theta", alpha, prior.alpha > 0, name, dims)}

    def log_marginal(self, common: Mapping[str, Any], s: CategoryCounts) -> Any:
        """The Dirichlet-multinomial density of the counts."""
        from pytensor import tensor as pt

        alpha = common["strength"][:, None] * common["pooled"]
        total = alpha.sum(-1)
        whole = pt.gammaln(total) - pt.gammaln(total + s.counts.sum(-1))
        c, column, level = np.nonzero(s.counts > 0)
        own = alpha[column, level]
        return whole.sum() + (pt.gammaln(own + s.counts[c, column, level]) - pt.gammaln(own)).sum()

    def draw_of_classes(
        self, prior: LearnedShares, common: Mapping[str, Array], s: CategoryCounts, rng: Generator
    ) -> dict[str, Array]:
        posterior = Dirichlet((common["strength"][..., None] * common["pooled"])[:, None] + s.counts)
        log_theta = posterior.log_draw(rng)
        return {"theta": np.exp(log_theta), "log_theta": log_theta}

    def point(self, theta: Mapping[str, Any]) -> dict[str, Any]:
        return {"theta": theta["theta"]}

    def pymc_statistic(self, theta: Mapping[str, Any], s: CategoryCounts) -> Any:
        # The logarithm of a level that a column does not have is never needed, and is taken of 1.
        absent = np.arange(s.counts.shape[-1]) >= np.array([len(names) for names in s.levels])[:, None]
        return super().pymc_statistic({"theta": theta["theta"] + absent}, s)

    def log_prior(self, prior: LearnedShares, variables: Mapping[str, Array]) -> dict[str, Array]:
        pooled, strength = variables["pooled"], variables["strength"]
        shared = {key: variables[key] for key in ("location", "scale") if self.together}
        location, scale = (value[..., None] for value in shared.values()) if shared else (0.0, 1.0)
        away = (np.log(strength / prior.strength[0]) - location) / scale
        found = {
            "theta": Dirichlet((strength[..., None] * pooled)[..., None, :, :]).log_prob(variables["theta"]),
            "pooled": Dirichlet(prior.alpha[0]).log_prob(pooled),
            "strength": stats.logistic.logpdf(away) - np.log(scale * strength),
        }
        densities = {"location": stats.logistic.logpdf, "scale": stats.halfnorm.logpdf}
        return found | {key: densities[key](value) for key, value in shared.items()}

    def log_likelihood(self, theta: Theta, x: Coded) -> Array:
        return self.likelihood.log_likelihood(theta, x)

    def mean(self, posterior: Draws) -> Theta:
        log_theta = logsumexp(posterior.theta["log_theta"], axis=0) - np.log(len(posterior))
        return {**posterior.mean(), "log_theta": log_theta}

    def variable_axes(self) -> dict[str, tuple[str, ...]]:
        own = {"theta": ("class", "column", "level"), "pooled": ("column", "level"), "strength": ("column",)}
        return own | ({"location": (), "scale": ()} if self.together else {})

    def variables(self, theta: Theta) -> dict[str, Array]:
        return super().variables({**theta, "theta": np.exp(theta["log_theta"])})

    def theta(self, variables: Mapping[str, Array]) -> Theta:
        found = super().theta(variables)
        log_theta = variables["log_theta"] if "log_theta" in variables else log(found["theta"])
        return {"log_theta": log_theta} | {key: value for key, value in found.items() if key != "theta"}

    def sample(self, theta: Theta, rng: Generator, s: CategoryCounts) -> Array:
        return self.likelihood.sample(theta, rng, s)

    def linear(self, theta: Theta) -> tuple[Array, Array]:
        return self.likelihood.linear(theta)


def _dirichlets(key: str, alpha: Any, exists: Array, name: Name, dims: Dims) -> Any:
    """Dirichlet variables (..., column, level) in the open model; 0 where a column has no such level.

    Columns with as many levels share a variable. If all have as many, it is the only one.
    """
    import pymc as pm
    from pytensor import tensor as pt

    shape, widths = exists.shape, exists.reshape(-1, *exists.shape[-2:])[0].sum(-1)
    if (widths == shape[-1]).all() and shape[-1] > 1:
        return pm.Dirichlet(name(key), a=alpha, shape=shape, dims=dims.get(key))
    found = pt.zeros(shape)
    for k in np.unique(widths):
        columns = np.flatnonzero(widths == k)
        own = (*shape[:-2], len(columns), int(k))
        made = pt.ones(own) if k == 1 else pm.Dirichlet(name(f"{key}_{k}"), a=alpha[..., columns, :k], shape=own)
        found = pt.set_subtensor(found[..., columns, :k], made)
    return pm.Deterministic(name(key), found, dims=dims.get(key))
