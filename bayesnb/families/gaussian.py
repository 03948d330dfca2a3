"""Real numbers: Normal features, with the variance unknown (Normal-Gamma prior) or known (Normal prior)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy.special import digamma, zeta

from bayesnb.families.family import Family, Statistic, Theta, over_columns, per, require_left
from bayesnb.families.membership import Labels, Membership, two_sum
from bayesnb.kernels import densities
from bayesnb.kernels.blocks import slices, worth
from bayesnb.priors import Array, Normal, NormalGamma, Size, log, log_rising, shared

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
class Gaussian(Family[NormalGamma, Moments]):
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

    def flat(self) -> Gaussian:
        return Gaussian(NormalGamma.flat())

    def statistic(self, x: Array, members: Membership) -> Moments:
        return Moments.of(x, members)

    def complete(self, prior: NormalGamma, s: Moments) -> NormalGamma:
        mean, variance = _pooled(s)
        return prior.over(mean, variance, len(s.n))

    def update(self, prior: NormalGamma, s: Moments) -> NormalGamma:
        kappa = prior.kappa + s.n
        share = s.n / np.where(kappa > 0, kappa, 1.0)
        gap = s.away_from(prior.m)
        return NormalGamma(
            np.where(share == 1.0, s.mean, prior.m + gap * share),
            kappa,
            prior.a + s.n / 2,
            prior.b + s.scatter / 2 + gap * (gap * (prior.kappa * share / 2)),
        )

    def log_base(self, prior: NormalGamma, s: Moments) -> Array:
        return -0.5 * LOG_2PI * s.n

    def mean(self, posterior: NormalGamma) -> Theta:
        mu, tau = posterior.mean()
        return {"mu": mu, "tau": tau}

    def mode(self, posterior: NormalGamma) -> Theta:
        mu, tau = posterior.mode()
        return {"mu": mu, "tau": tau}

    def draw(self, posterior: NormalGamma, rng: Generator, size: Size = ()) -> Theta:
        mu, tau = posterior.draw(rng, size)
        return {"mu": mu, "tau": tau}

    def log_likelihood(self, theta: Theta, x: Array) -> Array:
        return _log_normals(x, theta["mu"], np.sqrt(theta["tau"]))

    def log_predictive(self, posterior: NormalGamma, x: Array) -> Array:
        return _log_students(x, *posterior.marginal)

    def log_moment(self, posterior: NormalGamma, x: Array, t: float | Array) -> Array:
        t = np.asarray(t, float)[..., None]

        def density(x: Array, m: Array, kappa: Array, a: Array, b: Array) -> Array:
            with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
                z = t * kappa / (2 * (kappa + t)) * ((x - m) / np.sqrt(b)) ** 2
                value = (
                    log_rising(a, t / 2)
                    - 0.5 * t * (LOG_2PI + np.log(b))
                    - 0.5 * np.log1p(t / kappa)
                    - (a + t / 2) * np.log1p(z)
                )
            exists = (kappa + t > 0) & (a + t / 2 > 0) & (z > -1)
            return np.where(exists | np.isnan(x), value, np.inf)

        return over_columns(density, x, posterior.m, posterior.kappa, posterior.a, posterior.b)

    def log_moment_slopes(self, posterior: NormalGamma, x: Array, t: float | Array) -> tuple[Array, Array]:
        t = np.asarray(t, float)[..., None]

        def parts(x: Array, m: Array, kappa: Array, b: Array) -> tuple[Array, Array, Array]:
            # 1 + z is the scatter over b; its slopes over itself.
            squared, wide = ((x - m) * kappa) ** 2 / (2 * b), kappa + t
            z = t * squared / (kappa * wide)
            first = squared / wide**2 / (1 + z)
            return np.log1p(z), first, -2 * squared / wide**3 / (1 + z) - first**2

        def mean(x: Array, m: Array, kappa: Array, a: Array, b: Array) -> Array:
            log_z, first, _ = parts(x, m, kappa, b)
            level = 0.5 * (digamma(a + t / 2) - LOG_2PI - np.log(b) - 1 / (kappa + t))
            return level - 0.5 * log_z - (a + t / 2) * first

        def variance(x: Array, m: Array, kappa: Array, a: Array, b: Array) -> Array:
            _, first, second = parts(x, m, kappa, b)
            return 0.5 / (kappa + t) ** 2 + 0.25 * zeta(2.0, a + t / 2) - first - (a + t / 2) * second

        cells = posterior.m, posterior.kappa, posterior.a, posterior.b
        with np.errstate(all="ignore"):
            return over_columns(mean, x, *cells), over_columns(variance, x, *cells)

    def moment_floor(self, posterior: NormalGamma, x: Array) -> Array:
        lowest = np.full((len(x), len(posterior.m)), np.inf)
        for column, values in enumerate(x.T):
            m, kappa, a, b = (v[:, column] for v in (posterior.m, posterior.kappa, posterior.a, posterior.b))
            own = np.minimum(2 * a, kappa / (1 + kappa * (values[:, None] - m) ** 2 / (2 * b)))
            lowest = np.fmin(lowest, own)
        return -lowest

    def log_left_out(self, posterior: NormalGamma, x: Array, labels: Labels) -> Array:
        if not labels.worth_counting(x.size):
            return self._log_left_out(posterior, x, labels)
        total = densities.left_out(x, labels.codes, *_less_a_row(posterior))
        # What is no number has nothing proper left of it, or nearly so: there the formula below says what it is.
        odd = np.flatnonzero(np.isnan(total))
        total[odd] = self._log_left_out(posterior, x[odd], labels[odd])
        return total

    def _log_left_out(self, posterior: NormalGamma, x: Array, labels: Labels) -> Array:
        c, w = labels.codes, labels.weight[:, None]
        m, kappa, a, b = (v[c] for v in (posterior.m, posterior.kappa, posterior.a, posterior.b))
        missing = np.isnan(x)
        w, x = np.where(missing, 0.0, w), np.where(missing, m, x)
        less, gap = kappa - w, x - m
        require_left(np.minimum(less, a - w / 2), labels)
        rest = b - gap * (gap * (w * kappa / less / 2))
        require_left(rest, labels)
        left = NormalGamma(m - gap * (w / less), less, a - w / 2, rest)
        return np.where(missing, 0.0, _log_student(x, *left.marginal)).sum(-1)

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

    def variables(self, theta: Theta) -> dict[str, Array]:
        return dict(theta)

    def theta(self, variables: Mapping[str, Array]) -> Theta:
        return dict(variables)

    def pymc_prior(self, prior: NormalGamma, name: Callable[[str], str], dims: tuple[str, ...]) -> dict[str, Any]:
        mu, tau = prior.pymc(name, dims)
        return {"mu": mu, "tau": tau}

    def pymc_statistic(self, theta: Mapping[str, Any], s: Moments) -> Any:
        return _pymc_moments(theta["mu"], theta["tau"], s)

    def pymc_rows(self, name: str, theta: Mapping[str, Any], x: Array, y: Any) -> None:
        import pymc as pm

        row, column = np.nonzero(~np.isnan(x))
        cell = y[row], column
        pm.Normal(name, mu=theta["mu"][cell], tau=theta["tau"][cell], observed=x[row, column])

    def pymc_log_likelihood(self, theta: Mapping[str, Any], x: Array) -> Any:
        return _pymc_log_normal(theta["mu"], theta["tau"], x)


@dataclass(frozen=True, eq=False)
class GaussianKnownVariance(Family[Normal, Moments]):
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

    def flat(self) -> GaussianKnownVariance:
        return GaussianKnownVariance(Normal.flat(), self.variance)

    def statistic(self, x: Array, members: Membership) -> Moments:
        return Moments.of(x, members)

    def complete(self, prior: Normal, s: Moments) -> Normal:
        return prior.over(_pooled(s)[0], self._row_variance(s.n.shape[1]), len(s.n))

    def update(self, prior: Normal, s: Moments) -> Normal:
        one = self._row_variance(s.n.shape[1])
        # Written so that neither an infinite v nor an empty class divides by zero.
        known = s.n > 0
        ratio = one / np.where(known, s.n, 1.0) / np.where(prior.v > 0, prior.v, 1.0)
        share = np.where(known & (prior.v > 0), 1 / (1 + ratio), 0.0)
        v = np.where(share > 0, share * one / np.where(known, s.n, 1.0), prior.v)
        return Normal(np.where(share == 1.0, s.mean, prior.m + s.away_from(prior.m) * share), v)

    def log_base(self, prior: Normal, s: Moments) -> Array:
        one = self._row_variance(s.n.shape[1])
        gap = s.away_from(prior.m)
        exponent = s.scatter / one + gap * (gap * (s.n / (one + s.n * prior.v)))
        return -0.5 * (s.n * (LOG_2PI + np.log(one)) + exponent)

    def mean(self, posterior: Normal) -> Theta:
        return {"mu": posterior.mean()}

    def mode(self, posterior: Normal) -> Theta:
        return {"mu": posterior.mode()}

    def draw(self, posterior: Normal, rng: Generator, size: Size = ()) -> Theta:
        return {"mu": posterior.draw(rng, size)}

    def log_likelihood(self, theta: Theta, x: Array) -> Array:
        scale = 1 / np.sqrt(self._row_variance(x.shape[1]))
        return _log_normals(x, theta["mu"], np.broadcast_to(scale, theta["mu"].shape))

    def log_predictive(self, posterior: Normal, x: Array) -> Array:
        posterior.require_proper("A predictive")
        return _log_normals(x, posterior.m, 1 / np.sqrt(self._row_variance(x.shape[1]) + posterior.v))

    def log_moment(self, posterior: Normal, x: Array, t: float | Array) -> Array:
        t = np.asarray(t, float)[..., None]

        def density(x: Array, m: Array, v: Array, one: Array) -> Array:
            wide = one + t * v
            with np.errstate(invalid="ignore", divide="ignore"):
                value = -0.5 * (
                    t * (LOG_2PI + np.log(one)) + np.log1p(t * v / one) + t * ((x - m) / np.sqrt(wide)) ** 2
                )
            return np.where((wide > 0) | np.isnan(x), value, np.inf)

        one = np.broadcast_to(self._row_variance(x.shape[1]), posterior.m.shape)
        return over_columns(density, x, posterior.m, posterior.v, one)

    def log_moment_slopes(self, posterior: Normal, x: Array, t: float | Array) -> tuple[Array, Array]:
        t = np.asarray(t, float)[..., None]

        def mean(x: Array, m: Array, v: Array, one: Array) -> Array:
            wide = one + t * v
            return -0.5 * (LOG_2PI + np.log(one) + v / wide + one * ((x - m) / wide) ** 2)

        def variance(x: Array, m: Array, v: Array, one: Array) -> Array:
            share = v / (one + t * v)
            return share * (0.5 * share + one * ((x - m) / (one + t * v)) ** 2)

        one = np.broadcast_to(self._row_variance(x.shape[1]), posterior.m.shape)
        with np.errstate(all="ignore"):
            cells = posterior.m, posterior.v, one
            return over_columns(mean, x, *cells), over_columns(variance, x, *cells)

    def moment_floor(self, posterior: Normal, x: Array) -> Array:
        with np.errstate(divide="ignore"):
            own = self._row_variance(x.shape[1]) / posterior.v
        return -np.where(np.isnan(x)[:, None], np.inf, own).min(-1, initial=np.inf)

    def log_left_out(self, posterior: Normal, x: Array, labels: Labels) -> Array:
        c, one = labels.codes, self._row_variance(x.shape[1])
        missing = np.isnan(x)
        m, v = posterior.m[c], posterior.v[c]
        w, x = np.where(missing, 0.0, labels.weight[:, None]), np.where(missing, m, x)
        left = 1 - w * v / one
        require_left(left, labels)
        rest = Normal(m - (x - m) * (w * v / one) / left, v / left)
        return np.where(missing, 0.0, _log_normal(x, rest.m, 1 / np.sqrt(one + rest.v))).sum(-1)

    def sample(self, theta: Theta, rng: Generator, s: Moments) -> Array:
        return rng.normal(theta["mu"], np.sqrt(self._row_variance(theta["mu"].shape[-1])))

    def linear(self, theta: Theta) -> tuple[Array, Array]:
        mu, one = theta["mu"], self._row_variance(theta["mu"].shape[-1])
        return mu / one, -0.5 * (mu**2 / one).sum(-1)

    def variables(self, theta: Theta) -> dict[str, Array]:
        return dict(theta)

    def theta(self, variables: Mapping[str, Array]) -> Theta:
        return dict(variables)

    def pymc_prior(self, prior: Normal, name: Callable[[str], str], dims: tuple[str, ...]) -> dict[str, Any]:
        return {"mu": prior.pymc(name, dims)}

    def pymc_statistic(self, theta: Mapping[str, Any], s: Moments) -> Any:
        return _pymc_moments(theta["mu"], shared(1 / np.asarray(self.variance, float)), s)

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


def _pymc_moments(mu: Any, tau: Any, s: Moments) -> Any:
    from pytensor import tensor as pt

    away = (s.mean - mu) + s.low
    return 0.5 * (s.n * (pt.log(tau) - LOG_2PI) - tau * (s.scatter + s.n * away**2)).sum()


def _pymc_log_normal(mu: Any, tau: Any, x: Array) -> Any:
    from pytensor import tensor as pt

    seen = ~np.isnan(x)[:, None, :]
    away = np.nan_to_num(x)[:, None, :] - mu[None]
    return (seen * 0.5 * (pt.log(tau) - LOG_2PI - tau * away**2)).sum(-1)
