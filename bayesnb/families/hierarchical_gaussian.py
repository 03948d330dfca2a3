"""Real features whose class means shrink towards each other: how far is learned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy import stats

from bayesnb.families import normals
from bayesnb.families.gaussian import Gaussian
from bayesnb.families.hierarchical import Hierarchical
from bayesnb.families.sampled import Declared, Dims, Name
from bayesnb.priors import Array, Theta, positive_scale, spread
from bayesnb.statistics.moments import Moments


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

    finite = ("m",)
    positive = ("s", "reach", "between")

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
        return normals.log_normals(x, theta["mu"], 0.0, 1 / theta["sigma"])

    def variable_axes(self) -> dict[str, tuple[str, ...]]:
        own = {"mu": ("class", "column"), "sigma": ("class", "column"), "centre": ("column",), "between": ("column",)}
        return own | ({"scale": ()} if self.together else {})

    def sample(self, theta: Theta, rng: Generator, s: Moments) -> Array:
        return rng.normal(theta["mu"], theta["sigma"])
