"""Real numbers with outliers: Student-t features, sampled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from scipy import stats
from scipy.special import gammaln

from bayesnb.families.columns import over_columns
from bayesnb.families.levels import CategoryCounts
from bayesnb.families.sampled import Declared, Dims, Name, Pointwise, WeightedValues
from bayesnb.priors import Array, Theta, positive_scale, spread
from bayesnb.priors.belief import FINITE, POSITIVE


@dataclass(frozen=True, eq=False, repr=False)
class LocationScale(Declared):
    """μ ~ Normal(m, reach²), 1/σ ~ HalfNormal(10/s), and ν ~ Gamma(2, rate 0.1) unless it is given.

    It is weak on the scale of the column: with probability 0.9, σ lies between s/20 and 1.6 s, with a long tail above.
    Outliers do not move m or s. The density of σ is 0 at σ = 0, so the posterior is proper even for a class of equal
    values; with a flat prior it is not (Fernández and Steel 1999). The prior of ν is that of Juárez and Steel (2010).

    Parameters
    ----------
    nu : float or None
        Degrees of freedom; ``None`` learns them, one number a column that all classes share.
    m : float, array (column,) or None
        In units of the column. ``None`` is the median of the column, of all classes together.
    s : float, array (column,) or None
        In units of the column, positive. ``None`` is the interquartile range / 1.349, which is the standard deviation
        of a Normal; if it is 0, the pooled standard deviation; if that is 0 or unknown too, the absolute value of m, or
        1 if m is 0.
    reach : float, array (column,) or None
        In units of the column, positive. ``None`` is 10 pooled standard deviations, or 10 s if that is more.
    """

    nu: float | None = None
    m: float | Array | None = None
    s: float | Array | None = None
    reach: float | Array | None = None

    _ranges: ClassVar = {"nu": POSITIVE, "m": FINITE, "s": POSITIVE, "reach": POSITIVE}

    def over(self, cells: WeightedValues, n_classes: int, n_columns: int) -> LocationScale:
        """The prior at its full shape (class, column)."""
        shape = (n_classes, n_columns)
        low, median, high = cells.quantiles((0.25, 0.5, 0.75), n_columns)
        m = np.where(np.isfinite(median), median, 0.0) if self.m is None else self.m
        deviation = np.sqrt(positive_scale(np.broadcast_to(m, n_columns), cells.variance(n_columns)))
        s = np.where(high > low, (high - low) / 1.349, deviation) if self.s is None else self.s
        reach = 10 * np.maximum(deviation, s) if self.reach is None else self.reach
        return LocationScale(self.nu, *(spread(v, shape) for v in (m, s, reach)))


@dataclass(frozen=True, eq=False, init=False)
class StudentT(Pointwise[LocationScale]):
    """x | μ, σ, ν ~ Student-t with ν degrees of freedom, location μ and scale σ: a Gaussian that expects outliers.

    It has no conjugate prior, so it is sampled with NUTS (Lange, Little and Taylor 1989; BDA3 17.2).

    Parameters
    ----------
    nu : float, optional
        Degrees of freedom; learned where not given, one number a column that all classes share.
    m, s, reach : float or array (column,), optional
        Numbers of the prior, in units of the column: see :class:`LocationScale`.
    **sampler
        ``draws``, ``tune``, ``chains``, ``random_seed``, ``target_accept``: see :class:`Sampler`.

    Examples
    --------
    >>> from bayesnb.statistics.membership import Labels
    >>> family, x = StudentT(), np.array([[1.0], [2.0], [90.0], [3.0]])
    >>> s = family.statistic(x, Labels(np.array([0, 0, 0, 1]), np.ones(4), 2))
    >>> prior = family.priors(s, ["a", "b"])
    >>> prior.m[0], prior.s[0].round(2)
    (array([2.]), array([1.48]))
    """

    conjugate = LocationScale

    def __init__(
        self, nu: float | None = None, m: Any = None, s: Any = None, reach: Any = None, **sampler: Any
    ) -> None:
        self._set_fields(LocationScale(nu, m, s, reach), sampler)

    def resolve_prior(self, prior: LocationScale, s: CategoryCounts) -> LocationScale:
        return prior.over(WeightedValues.of(s), *s.counts.shape[:2])

    def pymc_prior(self, prior: LocationScale, name: Name, dims: Dims) -> dict[str, Any]:
        """The free variables are in units of (x - m) / s, so that NUTS does not depend on the units of the column."""
        import pymc as pm

        shape = prior.m.shape
        away = pm.Normal(name("standard_mu"), 0.0, prior.reach / prior.s, shape=shape)
        inverse = pm.HalfNormal(name("inverse_sigma"), 10.0, shape=shape)
        mu = pm.Deterministic(name("mu"), prior.m + prior.s * away, dims=dims.get("mu"))
        sigma = pm.Deterministic(name("sigma"), prior.s / inverse, dims=dims.get("sigma"))
        if prior.nu is None:
            nu = pm.Gamma(name("nu"), 2.0, 0.1, shape=shape[1], dims=dims.get("nu"))
        else:
            nu = pm.Deterministic(name("nu"), pm.math.constant(np.full(shape[1], prior.nu)), dims=dims.get("nu"))
        return {"mu": mu, "sigma": sigma, "nu": nu}

    def given(self, theta: Mapping[str, Any]) -> Any:
        import pymc as pm

        return pm.StudentT.dist(**theta)

    def variable_axes(self) -> dict[str, tuple[str, ...]]:
        return {"mu": ("class", "column"), "sigma": ("class", "column"), "nu": ("column",)}

    def log_prior(self, prior: LocationScale, variables: Mapping[str, Array]) -> dict[str, Array]:
        sigma = variables["sigma"]
        found = {
            "mu": stats.norm.logpdf(variables["mu"], prior.m, prior.reach),
            # The density of 1/σ, and the Jacobian 1/σ².
            "sigma": stats.halfnorm.logpdf(1 / sigma, scale=10 / prior.s) - 2 * np.log(sigma),
        }
        return found if prior.nu is not None else found | {"nu": stats.gamma.logpdf(variables["nu"], 2.0, scale=10.0)}

    def log_likelihood(self, theta: Theta, x: Array) -> Array:
        return over_columns(_log_student, x, theta["mu"], theta["sigma"], theta["nu"])

    def sample(self, theta: Theta, rng: Generator, s: CategoryCounts) -> Array:
        return theta["mu"] + theta["sigma"] * rng.standard_t(theta["nu"])


def _log_student(x: Array, mu: Array, sigma: Array, nu: Array) -> Array:
    log_height = gammaln((nu + 1) / 2) - gammaln(nu / 2) - 0.5 * np.log(nu * np.pi) - np.log(sigma)
    return log_height - (nu + 1) / 2 * np.log1p(((x - mu) / sigma) ** 2 / nu)
