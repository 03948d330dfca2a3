"""Families whose class parameters are shrunk towards common values."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

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
from bayesnb.statistics.moments import Moments
from bayesnb.statistics.statistic import Column, Labels, Statistic


@dataclass(frozen=True, eq=False, init=False)
class Hierarchical[P: Declared, S: Statistic](Sampled[P, S]):
    """A family whose likelihood is that of a conjugate family, and whose prior is learned from all classes.

    NUTS samples only the parameters without a conjugate prior. The parameters with a conjugate prior are integrated
    out, and then drawn exactly.
    """

    together: bool = False

    likelihood: ClassVar[Conjugate]
    """The conjugate family with this likelihood; its prior is not used."""

    @property
    def term(self) -> Literal["cell", "block"]:
        return "block" if self.together else "cell"

    @abstractmethod
    def common(self, prior: P, name: Name, dims: Dims) -> dict[str, Any]:
        """Add the variables that NUTS samples to the open PyMC model."""

    @abstractmethod
    def of_classes(self, prior: P, common: Mapping[str, Any], name: Name, dims: Dims) -> dict[str, Any]:
        """Add the variables of each class to the open PyMC model; the variables that the classes share are given."""

    @abstractmethod
    def log_marginal(self, common: Mapping[str, Any], s: S) -> Any:
        """Log-likelihood of the data given the sampled variables, a scalar tensor, up to a constant."""

    @abstractmethod
    def draw_of_classes(self, prior: P, common: Mapping[str, Array], s: S, rng: Generator) -> dict[str, Array]:
        """Draw the variables that NUTS did not sample, given the statistic and the sampled variables."""

    @abstractmethod
    def point(self, theta: Mapping[str, Any]) -> dict[str, Any]:
        """Convert this family's variables to the PyMC variables of the conjugate family ``likelihood``."""

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
    """The prior of the pooled level probabilities of a column, and of the strength of shrinkage.

    The pooled probabilities have the prior Dirichlet(``alpha``). The strength has the uniform shrinkage prior (Daniels
    1999), whose median is ``strength`` rows, by default the number of levels.
    """

    alpha: Any = 1.0
    strength: Any = None

    _ranges: ClassVar = {"strength": POSITIVE}

    def __post_init__(self) -> None:
        Dirichlet(self.alpha)
        super().__post_init__()

    def over(self, levels: tuple[tuple[Any, ...], ...], n_classes: int) -> LearnedShares:
        """Broadcast the prior to alpha (class, column, level) and strength (class, column)."""
        alpha = Dirichlet(self.alpha).over(levels, n_classes).alpha
        if ((alpha > 0).sum(-1) < [max(1, len(names)) for names in levels]).any():
            raise ValueError(f"Expected a concentration above 0 for every level; got {self.alpha!r}")
        strength = (alpha > 0).sum(-1) if self.strength is None else self.strength
        return LearnedShares(alpha, spread(np.asarray(strength, float), alpha.shape[:2]))


@dataclass(frozen=True, eq=False, init=False)
class HierarchicalCategorical(Hierarchical[LearnedShares, CategoryCounts]):
    """x | θ ~ Categorical(θ) and θ ~ Dirichlet(strength × pooled) per class, with learned ``strength`` and ``pooled``.

    The level probabilities of each class are shrunk towards pooled probabilities, more strongly if the classes differ
    little (BDA3 5.3, generalized to K levels).

    Parameters
    ----------
    alpha : float, array (column, level) or {level: float}
        The concentration of the prior of the pooled probabilities.
    strength : float or array (column,), optional
        The prior median of the strength, in imaginary rows per class; by default the number of levels.
    together : bool
        Whether all columns share a prior of ln(strength), with learned location ~ Logistic(0, 1) around the median and
        scale ~ HalfNormal(1). Columns that share a learned prior are dependent and form one likelihood factor.
    **sampler
        Settings of ``bayesnb.chains.Sampler``.

    Examples
    --------
    >>> from bayesnb.families.trials import Coded
    >>> from bayesnb.statistics.statistic import Labels
    >>> family, x = HierarchicalCategorical(), Coded(np.array([[0], [1], [1]]), (("no", "yes"),))
    >>> s = family.statistic(x, Labels(np.array([0, 0, 1]), np.ones(3), 2))
    >>> family.priors(s, ["a", "b"]).strength
    array([[2.],
           [2.]])
    """

    likelihood = Categorical()
    support = LEVELS

    def __init__(self, alpha: Any = 1.0, strength: Any = None, together: bool = False, **sampler: Any) -> None:
        self._set_fields(LearnedShares(alpha, strength), sampler, together=bool(together))

    def resolve_prior(self, prior: LearnedShares, s: CategoryCounts) -> LearnedShares:
        return prior.over(s.levels, s.counts.shape[0])

    def common(self, prior: LearnedShares, name: Name, dims: Dims) -> dict[str, Any]:
        """Add the variables that NUTS samples to the open PyMC model.

        The variables are ``pooled`` (column, level) and ``strength`` (column,). If ``together`` is true, there are also
        the scalars ``location`` and ``scale``.
        """
        import pymc as pm

        alpha, median, shared = prior.alpha[0], prior.strength[0], {}
        if self.together:
            shared["location"] = pm.Logistic(name("location"), 0.0, 1.0)
            shared["scale"] = pm.HalfNormal(name("scale"), 1.0)
        pooled = _dirichlets("pooled", alpha, alpha > 0, name, dims)
        # The log odds of a uniform variable have a standard logistic distribution.
        away = pm.Logistic(name("standard_strength"), 0.0, 1.0, shape=median.shape)
        log_strength = np.log(median) + shared.get("location", 0.0) + shared.get("scale", 1.0) * away
        strength = pm.Deterministic(name("strength"), pm.math.exp(log_strength), dims=dims.get("strength"))
        return {"pooled": pooled, "strength": strength, **shared}

    def of_classes(self, prior: LearnedShares, common: Mapping[str, Any], name: Name, dims: Dims) -> dict[str, Any]:
        from pytensor import tensor as pt

        alpha = pt.broadcast_to(common["strength"][:, None] * common["pooled"], prior.alpha.shape)
        return {"theta": _dirichlets("theta", alpha, prior.alpha > 0, name, dims)}

    def log_marginal(self, common: Mapping[str, Any], s: CategoryCounts) -> Any:
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
        # Levels that a column does not have get θ = 1, so that ln θ is finite. It is never used.
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
    """Add Dirichlet variables to the open model; return them as (..., column, level), padded with 0."""
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
    """The prior of three parameters: the centre of the class means, their standard deviation, and σ within a class.

    centre ~ Normal(m, reach²), standard deviation between classes ~ HalfNormal(between), and 1/σ ~ HalfNormal(10/s).
    All parameters are in units of the column, and positive except m.

    Parameters
    ----------
    m : float, array (column,) or None
        ``None`` is the mean over all classes.
    s : float, array (column,) or None
        ``None`` is the first positive number among: the pooled standard deviation, the absolute value of m, 1.
    reach : float, array (column,) or None
        ``None`` is 10 times s.
    between : float, array (column,) or None
        The prior scale of the standard deviation between classes; ``None`` is s.
    """

    m: Any = None
    s: Any = None
    reach: Any = None
    between: Any = None

    _ranges: ClassVar = {"m": FINITE, "s": POSITIVE, "reach": POSITIVE, "between": POSITIVE}

    def over(self, moments: Moments) -> LearnedCentre:
        mean, _, variance = moments.of_columns()
        centre = np.where(np.isfinite(mean), mean, 0.0)
        m = centre if self.m is None else self.m
        s = np.sqrt(positive_scale(centre, variance)) if self.s is None else self.s
        reach = 10 * s if self.reach is None else self.reach
        between = s if self.between is None else self.between
        return LearnedCentre(*(spread(value, moments.n.shape) for value in (m, s, reach, between)))


@dataclass(frozen=True, eq=False, init=False)
class HierarchicalGaussian(Hierarchical[LearnedCentre, Moments]):
    """x | μ, σ ~ Normal(μ, σ²) and μ ~ Normal(centre, between²) per class, with learned ``centre`` and ``between``.

    Class means are shrunk towards a common centre, more strongly if a class has few rows or if the classes differ
    little (BDA3 5.4).

    Parameters
    ----------
    m, s, reach, between : float or array (column,), optional
        Hyperparameters, in units of the column: see ``LearnedCentre``.
    together : bool
        Whether one learned factor ~ HalfNormal(1) multiplies the prior scale ``between`` of every column. Columns that
        share a learned factor are dependent and form one likelihood factor.
    **sampler
        Settings of ``bayesnb.chains.Sampler``.

    Examples
    --------
    >>> from bayesnb.statistics.statistic import Labels
    >>> family, x = HierarchicalGaussian(), np.array([[1.0], [2.0], [6.0], [3.0]])
    >>> prior = family.priors(family.statistic(x, Labels(np.array([0, 0, 0, 1]), np.ones(4), 2)), ["a", "b"])
    >>> prior.m[0], prior.s[0].round(2)
    (array([3.]), array([1.87]))
    """

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
        """Add the variables ``centre`` and ``between`` (column,), ``sigma`` (class, column) and perhaps ``scale``."""
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
        """Log density of the class means and of the scatter within classes (BDA3 5.11)."""
        # The mean of the n rows of a class has the variance between² + σ²/n around the centre. The rows around this
        # mean have the density σ^(1-n) exp(-scatter / 2σ²).
        from pytensor import tensor as pt

        c, column = np.nonzero(s.n > 0)
        n, mean, low, scatter = (value[c, column] for value in (s.n, *s.centre, s.scatter))
        sigma = common["sigma"][c, column]
        variance = common["between"][column] ** 2 + sigma**2 / n
        away = ((mean - common["centre"][column]) + low) ** 2 / variance
        return -(0.5 * (pt.log(variance) + away) + (n - 1) * pt.log(sigma) + scatter / (2 * sigma**2)).sum()

    def draw_of_classes(
        self, prior: LearnedCentre, common: Mapping[str, Array], s: Moments, rng: Generator
    ) -> dict[str, Array]:
        # μ given the other parameters is Normal. Both formulas hold for between = 0 and for n = 0.
        centre, between, sigma = common["centre"][:, None], common["between"][:, None], common["sigma"]
        variance = s.n * between**2 + sigma**2
        away = np.where(s.n > 0, (s.mean - centre) + s.centre.low, 0.0)
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
            # The density of 1/σ times the Jacobian 1/σ².
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
