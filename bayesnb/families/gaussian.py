"""Families of independent Normal columns, with unknown or known variance."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from scipy import sparse

from bayesnb.families.columns import POSITIVE, of_each_column, over_columns
from bayesnb.families.conjugate import Added, Conjugate
from bayesnb.kernels import densities
from bayesnb.kernels.blocks import CELLS, slices
from bayesnb.numerics import LOG_2PI, Array, log
from bayesnb.priors import Normal, NormalGamma, Prior, Theta
from bayesnb.statistics.moments import EQUAL, Moments
from bayesnb.statistics.statistic import Column, Labels


def over_stored(density: Callable[..., Array], x: sparse.csr_array, *parameters: Array) -> Array:
    """Sum ``density`` over the columns of a sparse table, (..., row, class); parameters are (..., class, column)."""
    # Columns with more than half of their cells stored are summed as dense columns, because large corrections would
    # cancel.
    x, lead = sparse.csr_array(x), parameters[0].shape[:-1]
    often = np.bincount(x.indices, minlength=x.shape[1]) > x.shape[0] / 2
    dense, x = x[:, np.flatnonzero(often)].toarray(), x[:, np.flatnonzero(~often)]
    parameters = tuple(v.reshape(-1, len(often)) for v in parameters)
    total = over_columns(density, dense, *(v[:, often] for v in parameters))
    parameters = tuple(v[:, ~often] for v in parameters)
    none = density(np.zeros(()), *parameters)
    total += none.sum(1)
    row = np.repeat(np.arange(len(total)), np.diff(x.indptr))
    for cut in slices(x.nnz, max(1, CELLS // total.shape[1])) if x.nnz else []:
        here, column, value = row[cut], x.indices[cut], x.data[cut]
        own = np.where(np.isnan(value), 0.0, density(value, *(v[:, column] for v in parameters)))
        for c, change in enumerate(own - none[:, column]):
            found = np.bincount(here - row[cut.start], change)
            total[row[cut.start] : row[cut.start] + len(found), c] += found
    return np.moveaxis(total.reshape(-1, *lead), 0, -2)


def log_normal(x: Array, m: Array, low: Array, root_tau: Array) -> Array:
    """Normal log density with standard deviation 1 / root_tau and mean m + low; low is the rounding error of m."""
    with np.errstate(divide="ignore", over="ignore"):
        return np.log(root_tau) - 0.5 * LOG_2PI - 0.5 * (((x - m) - low) * root_tau) ** 2


def log_normals(x: Column, m: Array, low: Array, root_tau: Array) -> Array:
    """Sum :func:`log_normal` over the columns that are not missing, (..., row, class)."""
    low, root_tau = (np.broadcast_to(v, m.shape) for v in (low, root_tau))
    if sparse.issparse(x):
        return over_stored(log_normal, x, m, low, root_tau)
    if m.ndim > 2 and len(x) * m.size >= _DRAWN_FROM:
        return _log_normals_drawn(x, m, low, root_tau)
    if m.ndim == 2:
        return densities.normal(x, m, low, root_tau, log(root_tau) - 0.5 * LOG_2PI)
    return over_columns(log_normal, x, m, low, root_tau)


_DRAWN_FROM = 2**16
"""Number of cells times draws from which densities are computed as matrix products."""


def _log_normals_drawn(x: Array, m: Array, low: Array, root_tau: Array) -> Array:
    # The log density is linear in x² and x, but expanding (x - μ)² is inaccurate if large terms cancel. So the mean of
    # the draws of μ in the class is first subtracted from x and μ. The differences are divided by the typical standard
    # deviation of the class.
    lead, (n_classes, columns) = m.shape[:-2], m.shape[-2:]
    m, low, root_tau = (v.reshape(-1, n_classes, columns) for v in (m, low, root_tau))
    total = np.empty((len(m), len(x), n_classes))
    with np.errstate(all="ignore"):
        unit = np.exp(np.log(root_tau).mean(axis=0))
        centre = (m / len(m)).sum(axis=0)
        away, root = ((m - centre) + low) * unit, root_tau / unit
        level = np.log(root_tau) - 0.5 * (LOG_2PI + (root * away) ** 2)
        weights = np.concatenate([-0.5 * root**2, root * (root * away), level], axis=-1)
        for cut in slices(len(x), max(64, 2**20 // (3 * max(1, columns)))):
            missing = np.isnan(x[cut])
            gaps = bool(missing.any())
            for c in range(n_classes):
                z = (x[cut] - centre[c]) * unit[c]
                if gaps:
                    terms = np.concatenate([z * z, z, np.ones(z.shape)], axis=1)
                    terms[np.tile(missing, 3)] = 0.0
                    total[:, cut, c] = weights[:, c] @ terms.T
                else:
                    total[:, cut, c] = weights[:, c, : 2 * columns] @ np.concatenate([z * z, z], axis=1).T
                    total[:, cut, c] += level[:, c].sum(axis=-1)[:, None]
    # One sum is quicker than testing each number, and is finite only if all numbers are.
    if not np.isfinite(total.sum()):
        odd = np.flatnonzero(~np.isfinite(total).all(axis=(0, -1)))
        total[:, odd] = over_columns(log_normal, x[odd], m, low, root_tau)
    return total.reshape(*lead, len(x), n_classes)


@dataclass(frozen=True, eq=False)
class OfNormals[P: Prior](Conjugate[P, Moments]):
    """A likelihood of columns that are Normal after the transformation :meth:`read`, such as the logarithm."""

    @abstractmethod
    def root_precision(self, theta: Theta) -> Array:
        """The reciprocal of the standard deviation within a class."""

    def statistic(self, x: Column, members: Labels) -> Moments:
        return Moments.of(self.read(x)[0], members)

    def log_likelihood(self, theta: Theta, x: Column) -> Array:
        x, within = self.read(x)
        total = log_normals(x, theta["mu"], theta["low"], self.root_precision(theta))
        return total if within is None else total + within.sum(-1, keepdims=True)

    def sample(self, theta: Theta, rng: Generator, s: Moments) -> Array:
        return rng.normal(theta["mu"] + theta["low"], 1 / self.root_precision(theta))


@dataclass(frozen=True, eq=False)
class OfUnknownVariance(OfNormals[NormalGamma]):
    """A Normal likelihood with unknown variance per class; the predictive distribution is a Student-t."""

    prior: Any = field(default_factory=NormalGamma)
    var_smoothing: ClassVar[float | None] = None

    @abstractmethod
    def readable(self, theta: Theta) -> dict[str, Array]:
        """θ in units of the data."""

    def root_precision(self, theta: Theta) -> Array:
        return np.sqrt(theta["tau"])

    def resolve_prior(self, prior: NormalGamma, s: Moments) -> NormalGamma:
        mean, low, variance = s.of_columns()
        full = prior.over(mean, variance, len(s.n), low)
        if not self.var_smoothing:
            return full
        # Noise of variance ε adds n ε to the expected scatter S of n rows. So it adds n ε / 2 to b, which contains S
        # / 2. Under a flat prior, the plug-in variance S / n becomes S / n + ε, as in scikit-learn. Leaving out a row
        # does not change the increment of b.
        added = self.var_smoothing * np.max(variance[np.isfinite(variance)], initial=0.0)
        return replace(full, b=full.b + added * s.n / 2)

    def priors(self, s: Moments, labels: Sequence[Any]) -> NormalGamma:
        """The prior of each class and column, which in a constant column also counts the rows of all other classes."""
        full, constant = super().priors(s, labels), self.constant(s)
        if not len(constant):
            return full
        # Otherwise, a constant column favours the largest class, which has the most evidence for a small variance.
        others = np.zeros_like(s.n)
        others[:, constant] = (s.n.sum(0) - s.n)[:, constant]
        return replace(full, kappa=full.kappa + others, a=full.a + others / 2)

    def constant(self, s: Moments) -> Array:
        left_open = not isinstance(self.prior, Mapping) and self.prior.m is None and self.prior.b is None
        # In the usual case each column varies in a class, and the rest, which is slow, is not needed.
        if not left_open or not (s.scatter * s.n <= (EQUAL * s.total) ** 2).all(0).any():
            return np.zeros(0, np.intp)
        return np.flatnonzero(~(s.of_columns()[2] > 0))

    def taught(self, s: Moments) -> Added:
        # A constant column would shift the learned prior of all columns towards tiny variances.
        (n, *rest), log_h = super().taught(s)
        varies = s.of_columns()[2] > 0
        return (n * varies, *rest), log_h * varies

    def added(self, s: Moments) -> tuple[Array, ...]:
        return s.n, *s.centre, s.scatter

    def log_h(self, s: Moments) -> Array:
        return -0.5 * LOG_2PI * s.n

    def said(self, x: Array) -> Added:
        return (1.0, x[:, None], 0.0, 0.0), -0.5 * LOG_2PI

    def of_reals(self, posterior: NormalGamma, x: Column, labels: Labels | None = None) -> Array | None:
        if labels is None:
            if sparse.issparse(x):
                return over_stored(densities.student, x, *posterior.curve())
            return posterior.students.summed(x)
        return densities.Students.of(*posterior.curve(-1)).summed(x, labels.codes) if labels.unweighted else None

    @staticmethod
    def of_cells(posterior: NormalGamma, x: Array, labels: Labels | None = None) -> Array | None:
        """Log predictive density of each cell in each class, (row, class, column); 0 for a missing cell.

        If ``labels`` are given, each row is left out of the predictive density in its own class. Return ``None`` if row
        weights differ, or if a class has too few rows; then columns are predicted one by one.
        """
        if labels is not None and not labels.unweighted:
            return None
        with np.errstate(all="ignore"):
            found = densities.student(x[:, None], *posterior.curve())
            if labels is not None:
                m, low, scale, power, top = (each[labels.codes] for each in posterior.curve(-1))
                own = top + power * np.log1p(-((((x - m) - low) * scale) ** 2))
                found[np.arange(len(x)), labels.codes] = own
        found = np.where(np.isnan(x)[:, None], 0.0, found)
        return None if np.isnan(found).any() else found

    def linear(self, theta: Theta) -> tuple[Array, Array]:
        mu, tau = (self.variables(theta)[name] for name in ("mu", "tau"))
        if not np.allclose(tau, tau[:1], rtol=1e-12):
            raise ValueError(
                "its variance differs between classes, so the log-odds are quadratic; "
                "GaussianKnownVariance shares one variance, and quadratic=True writes the squares too"
            )
        return mu * tau, -0.5 * (mu**2 * tau).sum(-1)

    def quadratic(self, theta: Theta) -> tuple[Array, Array, Array]:
        mu, tau = (self.variables(theta)[name] for name in ("mu", "tau"))
        return -0.5 * tau[..., None] * np.eye(tau.shape[1]), mu * tau, 0.5 * (np.log(tau) - mu**2 * tau)

    def pymc_cells(self, name: str, theta: Mapping[str, Any], x: Array, row: Array, column: Array) -> None:
        import pymc as pm

        pm.Normal(name, mu=theta["mu"], tau=theta["tau"], observed=x[row, column])


@dataclass(frozen=True, eq=False)
class Gaussian(OfUnknownVariance):
    """x | μ, τ ~ Normal(μ, 1/τ) with (μ, τ) ~ Normal-Gamma (Murphy 2007, section 3; BDA3 3.3).

    The predictive distribution is a Student-t with 2a degrees of freedom, location m and squared scale b(κ+1)/(aκ).
    Sparse matrices stay sparse.

    Parameters
    ----------
    prior : NormalGamma
    var_smoothing : float, optional
        Add this fraction of the largest column variance to the variance of each class and column, as in scikit-learn's
        ``GaussianNB``. With ``var_smoothing``, the columns form one feature.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> prior = NormalGamma(m=170, kappa=1, a=1, b=49)
    >>> clf = BayesianNB({"height_cm": Gaussian(prior)}).fit(*datasets.heights())
    >>> clf.tables()["height_cm"].round(1)
             mean   sd
    class
    female  166.2  6.9
    male    176.7  7.0
    """

    # Hidden from the dataclass, so that older model files can be read, and files without it stay the same.
    var_smoothing: float | None = field(default=None, repr=False)

    reads_sparse = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.var_smoothing is not None and not 0 <= self.var_smoothing < np.inf:
            raise ValueError(f"Expected var_smoothing to be a number of 0 or more, or None; got {self.var_smoothing!r}")

    def __repr__(self) -> str:
        smoothing = "" if self.var_smoothing is None else f", var_smoothing={self.var_smoothing!r}"
        return f"{type(self).__name__}(prior={self.prior!r}{smoothing})"

    @property
    def reads_together(self) -> bool:
        return bool(self.var_smoothing) or super().reads_together

    def readable(self, theta: Theta) -> dict[str, Array]:
        return {"mean": theta["mu"], "sd": 1 / np.sqrt(theta["tau"])}


@dataclass(frozen=True, eq=False)
class GaussianKnownVariance(OfNormals[Normal]):
    """x | μ ~ Normal(μ, variance) with μ ~ Normal(m, v) and a known variance (BDA3 2.5).

    Parameters
    ----------
    prior : Normal
    variance : float or array (column,)
        Variance of a cell within a class, in squared units of the column.

    Examples
    --------
    >>> from bayesnb import BayesianNB
    >>> scale = GaussianKnownVariance(Normal(0, 100), variance=4.0)
    >>> BayesianNB({"x": scale}).fit({"x": [1.0, 3.0, 8.0]}, ["a", "a", "b"]).tables()["x"].round(2)
           mean
    class
    a      1.96
    b      7.69
    """

    prior: Any = field(default_factory=Normal)
    variance: Any = 1.0

    by_column = ("variance",)
    reads_sparse = True

    def root_precision(self, theta: Theta) -> Array:
        return np.broadcast_to(1 / np.sqrt(self._row_variance(theta["mu"].shape[-1])), theta["mu"].shape)

    def resolve_prior(self, prior: Normal, s: Moments) -> Normal:
        mean, low, _ = s.of_columns()
        return prior.over(mean, self._row_variance(s.n.shape[1]), len(s.n), low)

    def added(self, s: Moments) -> tuple[Array, ...]:
        return s.n / self._row_variance(s.n.shape[1]), *s.centre

    def log_h(self, s: Moments) -> Array:
        one = self._row_variance(s.n.shape[1])
        return -0.5 * (s.n * (LOG_2PI + np.log(one)) + s.scatter / one)

    def said(self, x: Array) -> Added:
        one = self._row_variance(x.shape[1])
        return (1 / one, x[:, None], 0.0), -0.5 * (LOG_2PI + np.log(one))

    def of_reals(self, posterior: Normal, x: Column, labels: Labels | None = None) -> Array | None:
        one = self._row_variance(x.shape[1])
        if labels is None:
            return log_normals(x, posterior.m, posterior.low, 1 / np.sqrt(one + posterior.v))
        if not labels.unweighted or sparse.issparse(x):
            return None
        # Without the row, the posterior variance is v / kept with kept = 1 - v / variance, and the distance of the row
        # from the mean is divided by kept. So the predictive is Normal with precision kept / variance in terms of this
        # distance, and 1 / (variance kept) in terms of the distance from the mean of all rows.
        kept = 1 - posterior.v / one
        # If kept is tiny, the difference 1 - v / variance has lost digits. NaN sends such rows to the row-wise formula.
        kept = np.where(kept > 1e-3, kept, np.nan)
        total = log_normals(x, posterior.m, posterior.low, 1 / np.sqrt(one * kept))
        total += (~np.isnan(x)) @ np.log(kept).T
        return total[np.arange(len(x)), labels.codes]

    def linear(self, theta: Theta) -> tuple[Array, Array]:
        mu, one = theta["mu"], self._row_variance(theta["mu"].shape[-1])
        return mu / one, -0.5 * (mu**2 / one).sum(-1)

    def pymc_cells(self, name: str, theta: Mapping[str, Any], x: Array, row: Array, column: Array) -> None:
        import pymc as pm

        sigma = np.sqrt(self._row_variance(x.shape[1]))[column]
        pm.Normal(name, mu=theta["mu"], sigma=sigma, observed=x[row, column])

    def _row_variance(self, n_columns: int) -> Array:
        return of_each_column("variance", self.variance, n_columns)


@dataclass(frozen=True, eq=False)
class LogNormal(OfUnknownVariance):
    """ln x | μ, τ ~ Normal(μ, 1/τ) with (μ, τ) ~ Normal-Gamma, for positive numbers such as incomes or areas.

    The density refers to x, not to ln x. Tables show the median of x (exp(μ)) and the standard deviation of ln x.

    Parameters
    ----------
    prior : NormalGamma
        The prior of the mean and the precision of ln x.

    Examples
    --------
    >>> from bayesnb import BayesianNB, NormalGamma
    >>> clf = BayesianNB({"income": LogNormal(NormalGamma(m=10, kappa=1, a=1, b=1))})
    >>> clf.fit({"income": [20_000, 45_000, 30_000]}, ["rents", "owns", "rents"]).tables()["income"].round(1)
            median  sd of the logarithm
    class
    owns   31483.2                  0.9
    rents  23642.8                  0.7
    """

    support = POSITIVE
    argument = "ln"

    def read(self, x: Array) -> tuple[Array, Array]:
        logarithm = np.log(x)
        # The log Jacobian, which turns the density of ln x into a density of x.
        within = -logarithm
        if np.isnan(within.sum()):
            within[np.isnan(within)] = 0.0
        return logarithm, within

    def log_h(self, s: Moments) -> Array:
        return super().log_h(s) - s.total

    def readable(self, theta: Theta) -> dict[str, Array]:
        return {"median": np.exp(theta["mu"]), "sd of the logarithm": 1 / np.sqrt(theta["tau"])}

    def sample(self, theta: Theta, rng: Generator, s: Moments) -> Array:
        with np.errstate(over="ignore"):  # A wide prior can draw values above the largest float.
            return np.exp(super().sample(theta, rng, s))

    def pymc_read(self, x: Array) -> tuple[Array, None]:
        return x, None

    def pymc_cells(self, name: str, theta: Mapping[str, Any], x: Array, row: Array, column: Array) -> None:
        import pymc as pm

        pm.LogNormal(name, mu=theta["mu"], tau=theta["tau"], observed=x[row, column])
