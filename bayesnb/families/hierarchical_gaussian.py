"""Real features whose class means shrink towards each other: how far is learned."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy import stats

from bayesnb.chains import Convergence
from bayesnb.families import normals
from bayesnb.families.sampled import Declared, Draws, Sampled
from bayesnb.numerics import LOG_2PI
from bayesnb.priors import Array, Theta, positive_scale, spread
from bayesnb.statistics.membership import Membership
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

    def __post_init__(self) -> None:
        self._as_arrays("m", "s", "reach", "between")
        if self.m is not None and not np.isfinite(self.m).all():
            raise ValueError(f"Expected m to be finite; got {self.m!r}")
        self._require_positive("s", "reach", "between")

    def over(self, moments: Moments) -> LearnedCentre:
        """The prior at its full shape (class, column)."""
        mean, _, variance = moments.of_columns()
        centre = np.where(np.isfinite(mean), mean, 0.0)
        m = centre if self.m is None else self.m
        s = np.sqrt(positive_scale(centre, variance)) if self.s is None else self.s
        reach = 10 * s if self.reach is None else self.reach
        between = s if self.between is None else self.between
        return LearnedCentre(*(spread(value, moments.n.shape) for value in (m, s, reach, between)))

    def proper(self) -> Array:
        return np.ones(np.shape(self.m), bool)


@dataclass(frozen=True, eq=False, init=False)
class HierarchicalGaussian(Sampled[LearnedCentre, Moments]):
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

    together: bool = False

    conjugate = LearnedCentre

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

    @property
    def one_term(self) -> bool:
        return self.together

    def shared(self, theta: Theta) -> Array | None:
        return theta["scale"][:, 0, :1] if self.together else None

    def statistic(self, x: Array, members: Membership) -> Moments:
        return Moments.of(x, members)

    def resolve_prior(self, prior: LearnedCentre, s: Moments) -> LearnedCentre:
        return prior.over(s)

    def sampled(self, prior: LearnedCentre, s: Moments) -> tuple[Theta, Convergence]:
        """In units of (x - m) / s, so that NUTS does not depend on the units of the column."""
        import pymc as pm

        n, mean, scatter = _measured(s, prior)
        with pm.Model() as model:
            centre, between, sigma, scale = self._spreads(prior, str)
            pm.Potential("rows", _log_marginal(n, mean, scatter, centre, between, sigma))
            pm.Deterministic("sigma", sigma)
            pm.Deterministic("between", between)
        names = ["standard_centre", "between", "sigma", *scale]
        drawn, convergence = self.sampler.run(model, names, type(self).__name__)
        centre, between = (drawn[key][:, None, :] for key in ("standard_centre", "between"))
        sigma = drawn["sigma"]
        # μ given the rest is Normal. Both formulas hold for between = 0 and for n = 0.
        kept = n * between**2 / (n * between**2 + sigma**2)
        spread = between * sigma / np.sqrt(n * between**2 + sigma**2)
        z = np.random.default_rng(self.sampler.random_seed).standard_normal(sigma.shape)
        mu = centre + kept * (mean - centre) + spread * z
        theta = {"mu": prior.m + prior.s * mu, "sigma": prior.s * sigma}
        shared = {"centre": prior.m[0] + prior.s[0] * centre[:, 0], "between": prior.s[0] * between[:, 0]}
        return self.theta(theta | shared | {key: drawn[key] for key in scale}), convergence

    def pymc_prior(
        self, prior: LearnedCentre, name: Callable[[str], str], dims: Mapping[str, tuple[str, ...]]
    ) -> dict[str, Any]:
        import pymc as pm

        centre, between, sigma, scale = self._spreads(prior, name)
        away = pm.Normal(name("standard_mu"), shape=prior.m.shape)
        found = {
            "mu": prior.m + prior.s * (centre + between * away),
            "sigma": prior.s * sigma,
            "centre": prior.m[0] + prior.s[0] * centre,
            "between": prior.s[0] * between,
        }
        return {key: pm.Deterministic(name(key), value, dims=dims.get(key)) for key, value in found.items()} | scale

    def _spreads(self, prior: LearnedCentre, name: Callable[[str], str]) -> tuple[Any, Any, Any, dict[str, Any]]:
        """Centre and spread between classes, (column,), and σ, (class, column), in units of s; and the shared scale.

        They join the open model. A spread is written as a multiple of its prior scale, because the spreads of columns
        with few rows would otherwise make a funnel with the scale that they share.
        """
        import pymc as pm

        own = prior.between[0] / prior.s[0]
        centre = pm.Normal(name("standard_centre"), 0.0, prior.reach[0] / prior.s[0])
        scale = {"scale": pm.HalfNormal(name("scale"), 1.0)} if self.together else {}
        between = scale.get("scale", 1.0) * own * pm.HalfNormal(name("standard_between"), 1.0, shape=own.shape)
        return centre, between, 1 / pm.HalfNormal(name("inverse_sigma"), 10.0, shape=prior.m.shape), scale

    def pymc_statistic(self, theta: Mapping[str, Any], s: Moments) -> Any:
        from pytensor import tensor as pt

        mu, sigma = theta["mu"], theta["sigma"]
        square = s.scatter + s.n * ((s.mean - mu) + s.low) ** 2
        return (-s.n * (0.5 * LOG_2PI + pt.log(sigma)) - square / (2 * sigma**2)).sum()

    def pymc_rows(self, name: str, theta: Mapping[str, Any], x: Array, y: Any) -> None:
        import pymc as pm

        row, column = np.nonzero(~np.isnan(x))
        cell = np.asarray(y)[row], column
        pm.Normal(name, mu=theta["mu"][cell], sigma=theta["sigma"][cell], observed=x[row, column])

    def pymc_log_likelihood(self, theta: Mapping[str, Any], x: Array) -> Any:
        return _log_normal(theta["mu"], 1 / theta["sigma"] ** 2, x)

    def log_prior(self, prior: LearnedCentre, variables: Mapping[str, Array]) -> dict[str, Array]:
        sigma, centre, between = (variables[key] for key in ("sigma", "centre", "between"))
        of_mu = stats.norm.logpdf(variables["mu"], centre[..., None, :], between[..., None, :])
        scale = variables["scale"] if self.together else np.ones(between.shape[:-1])
        found = {
            "mu": of_mu,
            # The density of 1/σ, and the Jacobian 1/σ².
            "sigma": stats.halfnorm.logpdf(1 / sigma, scale=10 / prior.s) - 2 * np.log(sigma),
            "centre": stats.norm.logpdf(centre, prior.m[0], prior.reach[0]),
            "between": stats.halfnorm.logpdf(between, scale=scale[..., None] * prior.between[0]),
        }
        return found | ({"scale": stats.halfnorm.logpdf(scale)} if self.together else {})

    def density(self) -> Callable[[Theta, Array], Array]:
        return lambda theta, x: normals.log_normals(x, theta["mu"], 0.0, 1 / theta["sigma"])

    def mean(self, posterior: Draws) -> Theta:
        return posterior.mean()

    def axes(self, variables: Mapping[str, Array]) -> dict[str, tuple[str, ...]]:
        each, shared = ("class", "column"), ("column",)
        return {"mu": each, "sigma": each, "centre": shared, "between": shared} | (
            {"scale": ()} if self.together else {}
        )

    def variables(self, theta: Theta) -> dict[str, Array]:
        scale = {"scale": theta["scale"][..., 0, 0]} if self.together else {}
        return {**theta, **{key: theta[key][..., 0, :] for key in ("centre", "between")}, **scale}

    def theta(self, variables: Mapping[str, Array]) -> Theta:
        shape = variables["mu"].shape
        shared = {key: np.broadcast_to(variables[key][..., None, :], shape) for key in ("centre", "between")}
        if self.together:
            shared["scale"] = np.broadcast_to(variables["scale"][..., None, None], shape)
        return {**variables, **{key: np.array(value) for key, value in shared.items()}}

    def sample(self, theta: Theta, rng: Generator, s: Moments) -> Array:
        return rng.normal(theta["mu"], theta["sigma"])


def _measured(s: Moments, prior: LearnedCentre) -> tuple[Array, Array, Array]:
    """Weight, mean and scatter of each class, in units of (x - m) / s, (class, column)."""
    mean = (s.mean - prior.m) + s.low
    return s.n, np.where(s.n > 0, mean / prior.s, 0.0), s.scatter / prior.s**2


def _log_marginal(n: Array, mean: Array, scatter: Array, centre: Any, between: Any, sigma: Any) -> Any:
    """Σ log p(rows of a class | centre, between, σ), the means integrated out, up to a constant.

    A class mean of n rows has the variance between² + σ²/n around the centre (BDA3 5.11). The rows around it have the
    density σ^(1-n) exp(-scatter / 2σ²).
    """
    from pytensor import tensor as pt

    c, column = np.nonzero(n > 0)
    n, mean, scatter, own = n[c, column], mean[c, column], scatter[c, column], sigma[c, column]
    variance = between[column] ** 2 + own**2 / n
    away = (mean - centre[column]) ** 2 / variance
    return -(0.5 * (pt.log(variance) + away) + (n - 1) * pt.log(own) + scatter / (2 * own**2)).sum()


def _log_normal(mu: Any, tau: Any, x: Array) -> Any:
    """Σ_j ln Normal(x_j | μ_j, 1/τ_j) as a (row, class) tensor, where NaN adds nothing."""
    from pytensor import tensor as pt

    seen = ~np.isnan(x)[:, None, :]
    away = np.nan_to_num(x)[:, None, :] - mu[None]
    return (seen * 0.5 * (pt.log(tau) - LOG_2PI - tau * away**2)).sum(-1)
