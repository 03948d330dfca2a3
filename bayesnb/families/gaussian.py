"""Real numbers: Normal features, with the variance unknown (Normal-Gamma prior) or known (Normal prior)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.random import Generator

from bayesnb.families.columns import over_columns
from bayesnb.families.family import Added, Cells, Conjugate
from bayesnb.families.membership import Labels, Membership, two_sum
from bayesnb.families.statistic import Statistic, per
from bayesnb.kernels import densities
from bayesnb.kernels.blocks import slices, worth
from bayesnb.numerics import Array, log, log_rising
from bayesnb.priors import Normal, NormalGamma, Theta

LOG_2PI = float(np.log(2 * np.pi))


@dataclass(frozen=True, eq=False)
class Moments(Statistic):
    """Weight, mean and scatter Σ w (x - mean)², all (class, column).

    Never raw sums of squares: at a mean of 1e9 they have no digit left. The mean is carried as a high
    and a low part, without which a merge of many parts loses what each of them still knew.
    """

    n: Array = per("column")
    mean: Array = per("column")
    low: Array = per("column")
    scatter: Array = per("column")

    group = "gaussian"
    signed = frozenset({"mean", "low"})

    @classmethod
    def of(cls, x: Array, members: Membership) -> Moments:
        """Moments of the rows, blocks of them joined by ``+``."""
        return reduce(add, (cls(*block) for block in members.moments(x)))

    def __add__(self, other: Moments) -> Moments:
        """Chan, Golub and LeVeque (1983), with the mean in two parts."""
        n = self.n + other.n
        share = other.n / np.where(n != 0, n, 1.0)
        gap = (other.mean - self.mean) + (other.low - self.low)
        scatter = self.scatter + other.scatter + gap * (gap * (self.n * share))
        # The larger side is the one to move from: its mean is nearly the answer.
        here = np.abs(self.n) >= np.abs(other.n)
        base, base_low = np.where(here, self.mean, other.mean), np.where(here, self.low, other.low)
        step = np.where(here, gap * share, -gap * (self.n / np.where(n != 0, n, 1.0)))
        mean, low = two_sum(base, base_low + step)
        empty = n == 0
        return Moments(n, *(np.where(empty, 0.0, v) for v in (mean, low, scatter)))

    def __mul__(self, factor: float) -> Moments:
        return Moments(self.n * factor, self.mean, self.low, self.scatter * factor)

    def seen(self) -> Array:
        return self.n

    def rounded(self, before: Moments) -> Moments:
        spread = np.sqrt(before.scatter / np.where(before.n > 0, before.n, 1.0))
        none = np.abs(self.mean) <= 1e-12 * (np.abs(before.mean) + spread)
        # A mean that is off in its last digits leaves its square in the scatter.
        square = before.n * (1e-7 * (np.abs(before.mean) + np.abs(self.mean))) ** 2
        nothing = (self.scatter <= 1e-12 * before.scatter) & (self.scatter >= -1e-9 * before.scatter - square)
        return Moments(
            self.n,
            np.where(none, 0.0, self.mean),
            np.where(none, 0.0, self.low),
            np.where(nothing, 0.0, self.scatter),
        )

    def away_from(self, m: Array) -> Array:
        """mean - m, with both parts of the mean."""
        return (self.mean - m) + self.low

    def pooled(self) -> Moments:
        """All classes together, as one."""
        return reduce(add, (self.take([c]) for c in range(len(self.n))), self.take([-1]))


@dataclass(frozen=True, eq=False)
class Gaussian(Conjugate[NormalGamma, Moments]):
    """x | μ, τ ~ Normal(μ, 1/τ) with (μ, τ) ~ Normal-Gamma (Murphy 2007, section 3; BDA3 3.3).

    The predictive is a Student-t with 2a degrees of freedom, location m and squared scale b(κ+1)/(aκ).

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

    prior: Any = field(default_factory=NormalGamma)

    conjugate = NormalGamma
    notices = True

    def statistic(self, x: Array, members: Membership) -> Moments:
        return Moments.of(x, members)

    def resolve_prior(self, prior: NormalGamma, s: Moments) -> NormalGamma:
        mean, variance = _pooled(s)
        return prior.over(mean, variance, len(s.n))

    def added(self, s: Moments) -> Added:
        return (s.n, s.mean, s.low, s.scatter), -0.5 * LOG_2PI * s.n

    def cells(self, posterior: NormalGamma, x: Array) -> Cells:
        return posterior, (1.0, x[:, None], 0.0, 0.0), -0.5 * LOG_2PI

    def log_likelihood(self, theta: Theta, x: Array) -> Array:
        return _log_normals(x, theta["mu"], np.sqrt(theta["tau"]))

    def quick_predictive(self, posterior: NormalGamma, x: Array) -> Array:
        return _log_students(x, *posterior.marginal)

    def quick_left_out(self, posterior: NormalGamma, x: Array, labels: Labels) -> Array | None:
        if not labels.worth_counting(x.size):
            return None
        # NaN where nothing proper is left of a cell, or nearly so.
        return densities.left_out(x, labels.codes, *_less_a_row(posterior))

    def sample(self, theta: Theta, rng: Generator, s: Moments) -> Array:
        return rng.normal(theta["mu"], 1 / np.sqrt(theta["tau"]))

    def linear(self, theta: Theta) -> tuple[Array, Array]:
        mu, tau = theta["mu"], theta["tau"]
        if not np.allclose(tau, tau[:1], rtol=1e-12):
            raise ValueError(
                "its variance differs between classes, so the log-odds are quadratic; "
                "GaussianKnownVariance shares one variance"
            )
        return mu * tau, -0.5 * (mu**2 * tau).sum(-1)

    def pymc_rows(self, name: str, theta: Mapping[str, Any], x: Array, y: Any) -> None:
        import pymc as pm

        row, column = np.nonzero(~np.isnan(x))
        cell = y[row], column
        pm.Normal(name, mu=theta["mu"][cell], tau=theta["tau"][cell], observed=x[row, column])

    def pymc_log_likelihood(self, theta: Mapping[str, Any], x: Array) -> Any:
        return _pymc_log_normal(theta["mu"], theta["tau"], x)


@dataclass(frozen=True, eq=False)
class GaussianKnownVariance(Conjugate[Normal, Moments]):
    """x | μ ~ Normal(μ, variance) with μ ~ Normal(m, v), the variance given (BDA3 2.5).

    Parameters
    ----------
    prior : Normal
    variance : float or array (column,)
        Variance of one row within a class, in squared units of the column.

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

    conjugate = Normal
    notices = True

    def statistic(self, x: Array, members: Membership) -> Moments:
        return Moments.of(x, members)

    def resolve_prior(self, prior: Normal, s: Moments) -> Normal:
        return prior.over(_pooled(s)[0], self._row_variance(s.n.shape[1]), len(s.n))

    def added(self, s: Moments) -> Added:
        one = self._row_variance(s.n.shape[1])
        return (s.n / one, s.mean, s.low), -0.5 * (s.n * (LOG_2PI + np.log(one)) + s.scatter / one)

    def cells(self, posterior: Normal, x: Array) -> Cells:
        one = self._row_variance(x.shape[1])
        return posterior, (1 / one, x[:, None], 0.0), -0.5 * (LOG_2PI + np.log(one))

    def log_likelihood(self, theta: Theta, x: Array) -> Array:
        scale = 1 / np.sqrt(self._row_variance(x.shape[1]))
        return _log_normals(x, theta["mu"], np.broadcast_to(scale, theta["mu"].shape))

    def quick_predictive(self, posterior: Normal, x: Array) -> Array:
        return _log_normals(x, posterior.m, 1 / np.sqrt(self._row_variance(x.shape[1]) + posterior.v))

    def sample(self, theta: Theta, rng: Generator, s: Moments) -> Array:
        return rng.normal(theta["mu"], np.sqrt(self._row_variance(theta["mu"].shape[-1])))

    def linear(self, theta: Theta) -> tuple[Array, Array]:
        mu, one = theta["mu"], self._row_variance(theta["mu"].shape[-1])
        return mu / one, -0.5 * (mu**2 / one).sum(-1)

    def pymc_rows(self, name: str, theta: Mapping[str, Any], x: Array, y: Any) -> None:
        import pymc as pm

        row, column = np.nonzero(~np.isnan(x))
        sigma = np.sqrt(self._row_variance(x.shape[1]))[column]
        pm.Normal(name, mu=theta["mu"][y[row], column], sigma=sigma, observed=x[row, column])

    def pymc_log_likelihood(self, theta: Mapping[str, Any], x: Array) -> Any:
        return _pymc_log_normal(theta["mu"], 1 / self._row_variance(x.shape[1]), x)

    def gathered(self, cells: Sequence[tuple[GaussianKnownVariance, int]]) -> GaussianKnownVariance:
        of_each = [np.ravel(family.variance) for family, _ in cells]
        return replace(
            self, variance=np.array([v[k if len(v) > 1 else 0] for v, (_, k) in zip(of_each, cells, strict=True)])
        )

    def _row_variance(self, n_columns: int) -> Array:
        variance = np.asarray(self.variance, float)
        if variance.shape not in ((), (n_columns,)) or not (np.isfinite(variance) & (variance > 0)).all():
            raise ValueError(
                f"Expected variance to be one positive number, or one for each of {n_columns} columns; "
                f"got {self.variance!r}"
            )
        return np.array(np.broadcast_to(variance, (n_columns,)))


def _pooled(s: Moments) -> tuple[Array, Array]:
    """Mean and variance (divisor: the weight) of each whole column; NaN where nothing was seen."""
    whole = s.pooled()
    n = whole.n[0]
    none = n <= 0
    weight = np.where(none, 1.0, n)
    return np.where(none, np.nan, whole.mean[0]), np.where(none, np.nan, whole.scatter[0] / weight)


def _log_normal(x: Array, mu: Array, root_tau: Array) -> Array:
    with np.errstate(divide="ignore", over="ignore"):
        return np.log(root_tau) - 0.5 * LOG_2PI - 0.5 * ((x - mu) * root_tau) ** 2


def _log_normals(x: Array, mu: Array, root_tau: Array) -> Array:
    """Σ_j ln Normal(x_j | μ_j, 1/τ_j) as (..., row, class), where NaN adds nothing."""
    if mu.ndim > 2 and len(x) * mu.size >= _DRAWN_FROM:
        return _log_normals_drawn(x, mu, root_tau)
    if mu.ndim == 2 and worth(x.size * len(mu)):
        return densities.normal(x, mu, root_tau, log(root_tau) - 0.5 * LOG_2PI)
    return over_columns(_log_normal, x, mu, root_tau)


_DRAWN_FROM = 2**16
"""From how many draws of cells on they are answered by products of matrices."""


def _log_normals_drawn(x: Array, mu: Array, root_tau: Array) -> Array:
    """``_log_normals`` of many draws, as a product of matrices: it is linear in x² and x.

    The numbers are taken from the mean of the draws of their class, in units of its spread. So where the square that
    is multiplied out is small nothing cancels, and where it is large so is the answer.
    """
    lead, (n_classes, columns) = mu.shape[:-2], mu.shape[-2:]
    mu, root_tau = mu.reshape(-1, n_classes, columns), root_tau.reshape(-1, n_classes, columns)
    total = np.empty((len(mu), len(x), n_classes))
    with np.errstate(all="ignore"):
        unit = np.exp(np.log(root_tau).mean(axis=0))
        centre = (mu / len(mu)).sum(axis=0)
        away, root = (mu - centre) * unit, root_tau / unit
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
    total = total.reshape(*lead, len(x), n_classes)
    # One sum is quicker than a look at each: it is finite where all are.
    if not np.isfinite(total.sum()):
        odd = np.flatnonzero(~np.isfinite(total).all(axis=(*range(len(lead)), -1)))
        drawn = (v.reshape(*lead, n_classes, columns) for v in (mu, root_tau))
        total[..., odd, :] = over_columns(_log_normal, x[odd], *drawn)
    return total


def _log_students(x: Array, m: Array, scale: Array, power: Array, top: Array) -> Array:
    """Σ_j of the Student-t log density as (row, class), where NaN adds nothing."""
    if not worth(x.size * len(m)):
        return over_columns(_log_student, x, m, scale, power, top)
    total, beyond = densities.student(x, m, scale, power, top)
    total[beyond] = over_columns(_log_student, x[beyond], m, scale, power, top)
    return total


def _less_a_row(posterior: NormalGamma) -> tuple[Array, Array, Array, Array]:
    """What the predictive of one of its rows, left out, is made of: location, scale, power and top of a cell.

    It is top + power ln(1 - ((x - location) scale)²), the ratio of two evidences; NaN where nothing proper is left.
    """
    m, kappa, a, b = posterior.m, posterior.kappa, posterior.a, posterior.b
    with np.errstate(all="ignore"):
        less, power = np.where(kappa > 1, kappa - 1, np.nan), np.where(a > 0.5, a - 0.5, np.nan)
        scale = np.sqrt(kappa / less / 2) / np.sqrt(b)
        top = log_rising(power, 0.5) + 0.5 * (np.log(less / kappa) - np.log(b) - LOG_2PI)
    return m, scale, power, np.where(np.isnan(power + less), np.nan, top)


def _log_student(x: Array, m: Array, scale: Array, power: Array, top: Array) -> Array:
    # log1p(z²) as a sum of logarithms: z² overflows where a column of tiny scale is asked far out.
    with np.errstate(divide="ignore", invalid="ignore"):
        far = np.log(np.abs(x - m)) + np.log(scale)
        return top - power * np.logaddexp(0.0, 2.0 * far)


def _pymc_log_normal(mu: Any, tau: Any, x: Array) -> Any:
    from pytensor import tensor as pt

    seen = ~np.isnan(x)[:, None, :]
    away = np.nan_to_num(x)[:, None, :] - mu[None]
    return (seen * 0.5 * (pt.log(tau) - LOG_2PI - tau * away**2)).sum(-1)
