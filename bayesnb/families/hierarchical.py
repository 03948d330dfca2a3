"""Families whose classes shrink towards common parameters, by an amount that is learned.

Start with :class:`Hierarchical`, of which there is one with levels and one with real numbers.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from scipy.special import logsumexp

from bayesnb.families.columns import LEVELS, CategoryCounts, Coded
from bayesnb.families.conjugate import Conjugate
from bayesnb.families.family import Dims, Name
from bayesnb.families.gaussian import Gaussian, log_normals
from bayesnb.families.sampled import Declared, Draws, Sampled, Strata
from bayesnb.families.trials import Categorical
from bayesnb.priors import Array, Dirichlet, Theta, log, positive_scale, spread
from bayesnb.priors.belief import FINITE, POSITIVE, Point
from bayesnb.statistics.membership import Column, Labels
from bayesnb.statistics.moments import Moments
from bayesnb.statistics.statistic import Statistic


@dataclass(frozen=True, eq=False, init=False)
class Hierarchical[P: Declared, S: Statistic](Sampled[P, S]):
    """The likelihood of a conjugate family, the prior of whose parameters is learned from all classes.

    NUTS samples only what the classes have in common (and what has no conjugate prior). The other parameters of each
    class are integrated out of the likelihood, and then drawn exactly, given all else and the statistic.

    Columns of a kind may share a hyperprior: with ``together``, one scale (and perhaps a location) is learned for all
    columns of the feature. The columns are dependent through it, so they are one term of the model, as the columns of a
    vector are.
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

    def strata(self, posterior: Draws) -> Strata:
        shared = [posterior.theta[key][:, 0, 0] for key, axes in self.variable_axes().items() if not axes]
        return Strata.of(np.stack(shared, axis=1) if shared else None, len(posterior))

    def statistic(self, x: Column, members: Labels) -> S:
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

    _ranges: ClassVar = {"strength": POSITIVE}

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
    >>> from bayesnb.families.trials import Coded
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
        from scipy import stats

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

    def plug_in(self, posterior: Draws, point: Point) -> Theta:
        log_theta = logsumexp(posterior.theta["log_theta"], axis=0) - np.log(len(posterior))
        return {**super().plug_in(posterior, point), "log_theta": log_theta}

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


@dataclass(frozen=True, eq=False, repr=False)
class LearnedCentre(Declared):
    """centre ~ Normal(m, reach²), between ~ HalfNormal of its own scale, and 1/σ ~ HalfNormal(10/s).

    It is weak on the scale of the column: the means of classes rarely lie further apart than the rows of a column, and
    with probability 0.9, σ lies between s/20 and 1.6 s, with a long tail above.

    Parameters
    ----------
    m : float, array (column,) or None
        In units of the column. ``None`` is the mean of the column, of all classes together.
    s : float, array (column,) or None
        In units of the column, positive. ``None`` is the pooled standard deviation; if that is 0 or unknown, the
        absolute value of m, or 1 if m is 0.
    reach : float, array (column,) or None
        In units of the column, positive. ``None`` is 10 s.
    between : float, array (column,) or None
        The scale of the prior of the standard deviation between classes, in units of the column, positive. ``None`` is
        s.
    """

    m: Any = None
    s: Any = None
    reach: Any = None
    between: Any = None

    _ranges: ClassVar = {"m": FINITE, "s": POSITIVE, "reach": POSITIVE, "between": POSITIVE}

    def over(self, moments: Moments) -> LearnedCentre:
        """The prior at its full shape (class, column)."""
        mean, _, variance = moments.of_columns()
        centre = np.where(np.isfinite(mean), mean, 0.0)
        m = centre if self.m is None else self.m
        s = np.sqrt(positive_scale(centre, variance)) if self.s is None else self.s
        reach = 10 * s if self.reach is None else self.reach
        between = s if self.between is None else self.between
        return LearnedCentre(*(spread(value, moments.n.shape) for value in (m, s, reach, between)))


@dataclass(frozen=True, eq=False, init=False)
class HierarchicalGaussian(Hierarchical[LearnedCentre, Moments]):
    """x | μ, σ ~ Normal(μ, σ²) for each class, and μ ~ Normal(centre, between²), both of which are learned.

    The means of the classes shrink towards their centre, the more the fewer rows a class has and the less the classes
    differ (BDA3 5.4). Only the centre, the spread between classes and the σ are sampled with NUTS. The μ are integrated
    out, so a small spread between classes is not hard to reach; they are then drawn exactly, given all else. In the
    whole model they are written as centre + between × z, z ~ Normal(0, 1) (the non-centred form).

    Columns of a kind may share what is believed of their spreads: with ``together``, the prior of each spread between
    classes is HalfNormal(scale × its own scale), with one scale ~ HalfNormal(1) for all columns of the feature. Where
    most columns differ little between classes, all are then drawn together more. The columns are dependent through the
    scale, so they are one term of the model, as the columns of a vector are.

    Parameters
    ----------
    m, s, reach, between : float or array (column,), optional
        Numbers of the prior, in units of the column: see ``LearnedCentre``.
    together : bool
        Whether the columns of the feature share the scale of their spreads.
    **sampler
        ``draws``, ``tune``, ``chains``, ``random_seed``, ``target_accept``: see ``bayesnb.chains.Sampler``.

    Examples
    --------
    >>> from bayesnb.statistics.membership import Labels
    >>> family, x = HierarchicalGaussian(), np.array([[1.0], [2.0], [6.0], [3.0]])
    >>> prior = family.priors(family.statistic(x, Labels(np.array([0, 0, 0, 1]), np.ones(4), 2)), ["a", "b"])
    >>> prior.m[0], prior.s[0].round(2)
    (array([3.]), array([1.87]))
    """

    conjugate = LearnedCentre
    likelihood = Gaussian()

    def __init__(
        self,
        m: Any = None,
        s: Any = None,
        reach: Any = None,
        between: Any = None,
        together: bool = False,
        **sampler: Any,
    ) -> None:
        self._set_fields(LearnedCentre(m, s, reach, between), sampler, together=bool(together))

    def resolve_prior(self, prior: LearnedCentre, s: Moments) -> LearnedCentre:
        return prior.over(s)

    def common(self, prior: LearnedCentre, name: Name, dims: Dims) -> dict[str, Any]:
        """Centre and spread between classes, (column,), σ, (class, column), and the scale that columns share.

        The free variables are in units of (x - m) / s, so that NUTS does not depend on the units of the column. A
        spread is written as a multiple of its prior scale, because the spreads of columns with few rows would otherwise
        make a funnel with the scale that they share.
        """
        import pymc as pm

        m, s, reach, between = (value[0] for value in (prior.m, prior.s, prior.reach, prior.between))
        shared = {"scale": pm.HalfNormal(name("scale"), 1.0)} if self.together else {}
        away = pm.HalfNormal(name("standard_between"), 1.0, shape=between.shape)
        found = {
            "centre": m + s * pm.Normal(name("standard_centre"), 0.0, reach / s),
            "between": between * shared.get("scale", 1.0) * away,
            "sigma": prior.s / pm.HalfNormal(name("inverse_sigma"), 10.0, shape=prior.s.shape),
        }
        return {key: pm.Deterministic(name(key), value, dims=dims.get(key)) for key, value in found.items()} | shared

    def of_classes(self, prior: LearnedCentre, common: Mapping[str, Any], name: Name, dims: Dims) -> dict[str, Any]:
        import pymc as pm

        mu = common["centre"] + common["between"] * pm.Normal(name("standard_mu"), shape=prior.m.shape)
        return {"mu": pm.Deterministic(name("mu"), mu, dims=dims.get("mu"))}

    def log_marginal(self, common: Mapping[str, Any], s: Moments) -> Any:
        """A class mean of n rows has the variance between² + σ²/n around the centre (BDA3 5.11).

        The rows around it have the density σ^(1-n) exp(-scatter / 2σ²).
        """
        from pytensor import tensor as pt

        c, column = np.nonzero(s.n > 0)
        n, mean, low, scatter = (value[c, column] for value in (s.n, s.mean, s.low, s.scatter))
        sigma = common["sigma"][c, column]
        variance = common["between"][column] ** 2 + sigma**2 / n
        away = ((mean - common["centre"][column]) + low) ** 2 / variance
        return -(0.5 * (pt.log(variance) + away) + (n - 1) * pt.log(sigma) + scatter / (2 * sigma**2)).sum()

    def draw_of_classes(
        self, prior: LearnedCentre, common: Mapping[str, Array], s: Moments, rng: Generator
    ) -> dict[str, Array]:
        # μ given the rest is Normal. Both formulas hold for between = 0 and for n = 0.
        centre, between, sigma = common["centre"][:, None], common["between"][:, None], common["sigma"]
        variance = s.n * between**2 + sigma**2
        away = np.where(s.n > 0, (s.mean - centre) + s.low, 0.0)
        spread = between * sigma / np.sqrt(variance)
        return {"mu": centre + s.n * between**2 / variance * away + spread * rng.standard_normal(sigma.shape)}

    def point(self, theta: Mapping[str, Any]) -> dict[str, Any]:
        return {"mu": theta["mu"], "tau": 1 / theta["sigma"] ** 2}

    def log_prior(self, prior: LearnedCentre, variables: Mapping[str, Array]) -> dict[str, Array]:
        from scipy import stats

        sigma, centre, between = (variables[key] for key in ("sigma", "centre", "between"))
        scale = variables.get("scale", np.ones(between.shape[:-1]))
        found = {
            "mu": stats.norm.logpdf(variables["mu"], centre[..., None, :], between[..., None, :]),
            # The density of 1/σ, and the Jacobian 1/σ².
            "sigma": stats.halfnorm.logpdf(1 / sigma, scale=10 / prior.s) - 2 * np.log(sigma),
            "centre": stats.norm.logpdf(centre, prior.m[0], prior.reach[0]),
            "between": stats.halfnorm.logpdf(between, scale=scale[..., None] * prior.between[0]),
        }
        return found | ({"scale": stats.halfnorm.logpdf(scale)} if self.together else {})

    def log_likelihood(self, theta: Theta, x: Array) -> Array:
        return log_normals(x, theta["mu"], 0.0, 1 / theta["sigma"])

    def variable_axes(self) -> dict[str, tuple[str, ...]]:
        own = {"mu": ("class", "column"), "sigma": ("class", "column"), "centre": ("column",), "between": ("column",)}
        return own | ({"scale": ()} if self.together else {})

    def sample(self, theta: Theta, rng: Generator, s: Moments) -> Array:
        return rng.normal(theta["mu"], theta["sigma"])
