"""Categorical features whose classes shrink towards shares that they have in common: how far is learned."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy import stats
from scipy.special import logsumexp

from bayesnb.chains import Convergence
from bayesnb.families.categorical import Categorical
from bayesnb.families.levels import CategoryCounts, Coded
from bayesnb.families.sampled import Declared, Draws, Sampled
from bayesnb.families.support import LEVELS
from bayesnb.priors import Array, Dirichlet, Theta, log, spread
from bayesnb.statistics.membership import Membership


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

    together: bool = False

    conjugate = LearnedShares
    support = LEVELS

    def __init__(self, alpha: Any = 1.0, strength: Any = None, together: bool = False, **sampler: Any) -> None:
        self._set_fields(LearnedShares(alpha, strength), sampler, together=bool(together))

    @property
    def one_term(self) -> bool:
        return self.together

    @property
    def _shared(self) -> tuple[str, ...]:
        """The names of the numbers that columns share."""
        return ("location", "scale") if self.together else ()

    def shared(self, theta: Theta) -> Array | None:
        return np.stack([theta[key][:, 0, 0] for key in self._shared], axis=1) if self.together else None

    def statistic(self, x: Coded, members: Membership) -> CategoryCounts:
        return Categorical().statistic(x, members)

    def resolve_prior(self, prior: LearnedShares, s: CategoryCounts) -> LearnedShares:
        return prior.over(s.levels, s.counts.shape[0])

    def sampled(self, prior: LearnedShares, s: CategoryCounts) -> tuple[Theta, Convergence]:
        import pymc as pm

        if prior.alpha.shape[-1] == 1 and not self.together:
            # A single level has the probability 1.
            n = self.sampler.draws * self.sampler.chains
            certain = Convergence(1.0, 1.0, float(n), 0, "nothing moves")
            pooled, strength = np.ones((n, *prior.alpha.shape[1:])), np.ones((n, prior.alpha.shape[1]))
            return self._drawn(prior, s, {"pooled": pooled, "strength": strength}), certain
        with pm.Model() as model:
            made = self._shares(prior, str, {})
            pm.Potential("rows", _dirichlet_multinomial(s.counts, made["strength"][:, None] * made["pooled"]))
        drawn, convergence = self.sampler.run(model, list(made), type(self).__name__)
        return self._drawn(prior, s, drawn), convergence

    def _drawn(self, prior: LearnedShares, s: CategoryCounts, drawn: Mapping[str, Array]) -> Theta:
        """θ given the shares and the strength, (draw, class, column, level)."""
        posterior = Dirichlet((drawn["strength"][..., None] * drawn["pooled"])[:, None] + s.counts)
        log_theta = posterior.log_draw(np.random.default_rng(self.sampler.random_seed))
        return self.theta({"theta": np.exp(log_theta), **drawn}) | {"log_theta": log_theta}

    def pymc_prior(
        self, prior: LearnedShares, name: Callable[[str], str], dims: Mapping[str, tuple[str, ...]]
    ) -> dict[str, Any]:
        from pytensor import tensor as pt

        made = self._shares(prior, name, dims)
        alpha = pt.broadcast_to(made["strength"][:, None] * made["pooled"], prior.alpha.shape)
        theta = _dirichlets("theta", alpha, (prior.alpha[0] > 0).sum(-1), prior.alpha.shape, name, dims)
        return {"theta": theta, **made}

    def _shares(
        self, prior: LearnedShares, name: Callable[[str], str], dims: Mapping[str, tuple[str, ...]]
    ) -> dict[str, Any]:
        """The pooled shares (column, level), the strength (column,), and what the strengths share, in the open model.

        Logarithms of strengths are written as location + scale × z, because the strengths of columns with few rows
        would otherwise make a funnel with the scale that they share.
        """
        import pymc as pm

        alpha, median, shared = prior.alpha[0], prior.strength[0], {}
        if self.together:
            shared["location"] = pm.Logistic(name("location"), 0.0, 1.0)
            shared["scale"] = pm.HalfNormal(name("scale"), 1.0)
        pooled = _dirichlets("pooled", alpha, (alpha > 0).sum(-1), alpha.shape, name, dims)
        # The odds of a uniform have a standard logistic logarithm.
        away = pm.Logistic(name("standard_strength"), 0.0, 1.0, shape=median.shape)
        log_strength = np.log(median) + shared.get("location", 0.0) + shared.get("scale", 1.0) * away
        strength = pm.Deterministic(name("strength"), pm.math.exp(log_strength), dims=dims.get("strength"))
        return {"pooled": pooled, "strength": strength, **shared}

    def pymc_statistic(self, theta: Mapping[str, Any], s: CategoryCounts) -> Any:
        # The logarithm of a level that a column does not have is never needed, and is taken of 1.
        absent = np.arange(s.counts.shape[-1]) >= np.array([len(names) for names in s.levels])[:, None]
        return Categorical().pymc_statistic({"theta": theta["theta"] + absent}, s)

    def pymc_rows(self, name: str, theta: Mapping[str, Any], x: Coded, y: Any) -> None:
        Categorical().pymc_rows(name, {"theta": theta["theta"]}, x, y)

    def pymc_log_likelihood(self, theta: Mapping[str, Any], x: Coded) -> Any:
        return Categorical().pymc_log_likelihood(theta, x)

    def log_prior(self, prior: LearnedShares, variables: Mapping[str, Array]) -> dict[str, Array]:
        pooled, strength = variables["pooled"], variables["strength"]
        of_theta = Dirichlet((strength[..., None] * pooled)[..., None, :, :])
        shared = {key: variables[key] for key in self._shared}
        location, scale = (shared[key][..., None] for key in self._shared) if shared else (0.0, 1.0)
        away = (np.log(strength / prior.strength[0]) - location) / scale
        found = {
            "theta": of_theta.log_prob(variables["theta"]),
            "pooled": Dirichlet(prior.alpha[0]).log_prob(pooled),
            "strength": stats.logistic.logpdf(away) - np.log(scale * strength),
        }
        if shared:
            found["location"] = stats.logistic.logpdf(shared["location"])
            found["scale"] = stats.halfnorm.logpdf(shared["scale"])
        return found

    def density(self) -> Callable[[Theta, Coded], Array]:
        return Categorical().log_likelihood

    def mean(self, posterior: Draws) -> Theta:
        log_theta = logsumexp(posterior.theta["log_theta"], axis=0) - np.log(len(posterior))
        return {**posterior.mean(), "log_theta": log_theta}

    def axes(self, variables: Mapping[str, Array]) -> dict[str, tuple[str, ...]]:
        own = {"theta": ("class", "column", "level"), "pooled": ("column", "level"), "strength": ("column",)}
        return own | dict.fromkeys(self._shared, ())

    def variables(self, theta: Theta) -> dict[str, Array]:
        pooled, strength = theta["pooled"][..., 0, :, :], theta["strength"][..., 0, :]
        shared = {key: theta[key][..., 0, 0] for key in self._shared}
        return {"theta": np.exp(theta["log_theta"]), "pooled": pooled, "strength": strength, **shared}

    def theta(self, variables: Mapping[str, Array]) -> Theta:
        log_theta = log(variables["theta"])
        pooled = np.broadcast_to(variables["pooled"][..., None, :, :], log_theta.shape)
        strength = np.broadcast_to(variables["strength"][..., None, :], log_theta.shape[:-1])
        found = {"log_theta": log_theta, "pooled": np.array(pooled), "strength": np.array(strength)}
        for key in self._shared:
            found[key] = np.array(np.broadcast_to(variables[key][..., None, None], strength.shape))
        return found

    def sample(self, theta: Theta, rng: Generator, s: CategoryCounts) -> Array:
        return Categorical().sample(theta, rng, s)

    def linear(self, theta: Theta) -> tuple[Array, Array]:
        return Categorical().linear(theta)


def _dirichlets(
    key: str,
    alpha: Any,
    widths: Array,
    shape: tuple[int, ...],
    name: Callable[[str], str],
    dims: Mapping[str, tuple[str, ...]],
) -> Any:
    """Dirichlet variables (..., column, level) in the open model; 0 where a column has no such level.

    Columns with as many levels share a variable. If all have as many, it is the only one.
    """
    import pymc as pm
    from pytensor import tensor as pt

    if (widths == shape[-1]).all() and shape[-1] > 1:
        return pm.Dirichlet(name(key), a=alpha, shape=shape, dims=dims.get(key))
    found = pt.zeros(shape)
    for k in np.unique(widths):
        columns = np.flatnonzero(widths == k)
        own = (*shape[:-2], len(columns), int(k))
        made = pt.ones(own) if k == 1 else pm.Dirichlet(name(f"{key}_{k}"), a=alpha[..., columns, :k], shape=own)
        found = pt.set_subtensor(found[..., columns, :k], made)
    return pm.Deterministic(name(key), found, dims=dims.get(key))


def _dirichlet_multinomial(counts: Array, alpha: Any) -> Any:
    """Σ log p(counts | α), where θ is integrated out; counts are (class, column, level) and α (column, level)."""
    from pytensor import tensor as pt

    total = alpha.sum(-1)
    whole = pt.gammaln(total) - pt.gammaln(total + counts.sum(-1))
    c, column, level = np.nonzero(counts > 0)
    own = alpha[column, level]
    return whole.sum() + (pt.gammaln(own + counts[c, column, level]) - pt.gammaln(own)).sum()
