"""The prior of the mean and the precision matrix of a multivariate Normal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.random import Generator
from scipy.special import digamma

from bayesnb.numerics import Array, Size, log_gamma_draw, log_rising
from bayesnb.priors import elicitation, matrices
from bayesnb.priors.belief import FINITE, NOT_NEGATIVE, positive_scale, shared, spread
from bayesnb.priors.normal_gamma import UnknownPrecision
from bayesnb.statistics.moments import Scatter

type Target = Literal["shared"]

SPREAD = 2.0
"""Standard deviation of the hyperprior of ln dof."""

MOST = 1e6
"""Largest learned ``dof``; more rows make no measurable difference."""


@dataclass(frozen=True, eq=False, repr=False)
class NormalWishart(UnknownPrecision):
    """The conjugate prior of a multivariate Normal: Λ ~ Wishart(ν, Ψ⁻¹) and μ | Λ ~ Normal(m, (κΛ)⁻¹).

    See BDA3 3.6, and Murphy 2007, section 8. For d columns, the predictive Student-t has dof = ν - d + 1 degrees of
    freedom. The marginal prior of a column is NormalGamma(m, κ, dof / 2, Ψ / 2).

    Parameters
    ----------
    m : array (column,) or (class, column), or None
        Prior location; ``None`` for the pooled means.
    kappa : float or array (class,)
        The strength of ``m``, in rows.
    dof : float, array (class,) or None
        The strength of the covariance, in rows. ``None``, which requires ``scale="shared"``, maximizes the evidence of
        all classes.
    scale : array (column, column) or (class, column, column), "shared" or None
        Ψ, which is dof × the prior covariance. ``None`` is dof × the pooled variance of each column, without
        correlations. "shared" is dof × the covariance within classes (see :meth:`shared`).
    low : array, optional
        The rounding error of ``m``: the location is m + low.
    share : array (class,), optional
        The weight of the scatter of all rows in Ψ: computed if ``scale="shared"``, otherwise 0.

    Examples
    --------
    >>> NormalWishart([0.0, 0.0], kappa=1, dof=3, scale=[[3.0, 0.0], [0.0, 12.0]]).mean()[1]  # of Λ
    array([[1.33333333, 0.        ],
           [0.        , 0.33333333]])
    """

    _rows_of_precision = ("dof", "1")
    learned_from_classes = ("dof",)
    _ranges: ClassVar = {
        "m": FINITE,
        "kappa": NOT_NEGATIVE,
        "dof": NOT_NEGATIVE,
        "scale": FINITE,
        "low": FINITE,
        "share": FINITE,
    }
    parameters = ("mu", "precision")
    by_name = ("unit_information", "shared", "reference", "flat")

    m: float | Array | None = None
    kappa: float | Array = 1.0
    dof: float | Array | None = 1.0
    scale: float | Array | Target | None = None
    low: float | Array = field(default=0.0, repr=False)
    share: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.scale, str) and self.scale != "shared":
            raise ValueError(f'Expected scale to be a matrix, "shared" or None; got {self.scale!r}')
        if isinstance(self.scale, np.ndarray):
            matrices.require_covariance(self.scale)
        if self.dof is None and self.scale != "shared":
            raise ValueError(f'dof=None is learned around the shared covariance: scale="shared"; got {self.scale!r}')

    @classmethod
    def unit_information(cls, rows: float = 1.0) -> NormalWishart:
        """A prior of strength ``rows``, with each column's overall mean and variance, without correlations."""
        return cls(None, rows, rows, None)

    @classmethod
    def shared(cls, dof: float | None = None) -> NormalWishart:
        """Shrink the covariance of each class towards the pooled within-class covariance (worth ``dof`` rows).

        A small ``dof`` leads to quadratic discriminant analysis, a large ``dof`` to linear discriminant analysis
        (Friedman 1989; Greene and Rayens 1989). For d columns, the covariance within classes comes from the learned
        rows and d / 2 imaginary rows, which have the overall variances of the columns. By default, ``dof`` maximizes
        the evidence of all classes times a hyperprior ln dof ~ Normal(ln d, 2²).
        """
        return cls(None, 1.0, dof, "shared")

    @classmethod
    def from_rows(cls, n: float, rows: Any) -> NormalWishart:
        """The prior equivalent to ``n`` rows with the means and covariances of ``rows`` (row, column)."""
        x = elicitation.rows_like("rows", rows, n)
        return cls(x.mean(0), n, n, n * np.cov(x, rowvar=False, ddof=0).reshape(x.shape[1], x.shape[1]))

    @classmethod
    def reference(cls) -> NormalWishart:
        """The improper prior κ=0, dof=0, Ψ=0: the posterior mode of Λ is the inverse covariance (divisor N-1)."""
        return cls(0.0, 0.0, 0.0, 0.0)

    @classmethod
    def flat(cls) -> NormalWishart:
        """The improper prior κ=0, dof=1, Ψ=0: the posterior mode of Λ is the inverse covariance (divisor N)."""
        return cls(0.0, 0.0, 1.0, 0.0)

    def over(self, s: Scatter) -> NormalWishart:
        n_classes, d = s.mean.shape
        centre, low, variance = s.of_columns()
        centre = np.where(np.isfinite(centre), centre, 0.0)
        variance, within = positive_scale(centre, variance), isinstance(self.scale, str)
        m, low = (centre, low) if self.m is None else (self.m, 0.0)
        m, low, kappa = spread(m, (n_classes, d)), spread(low, (n_classes, d)), spread(self.kappa, (n_classes,))
        target = _within(s, variance) if within else np.diag(variance)
        dof = spread(_learned(m, low, kappa, target, s) if self.dof is None else self.dof, (n_classes,))
        scale = self.scale if isinstance(self.scale, np.ndarray) else dof[:, None, None] * target
        share = dof / (s.n[:, 0].sum() + d / 2) if within else np.zeros(n_classes)
        return NormalWishart(m, kappa, dof, spread(scale, (n_classes, d, d)), low, share)

    @property
    def size(self) -> int:
        return np.shape(self.scale)[-1]

    @property
    def log_rate(self) -> Array:
        return self.root[2] - self.size * np.log(2)

    @cached_property
    def root(self) -> tuple[Array, Array, Array]:
        return matrices.root(self.scale)

    def marginal(self, index: Array) -> NormalWishart:
        low = self.low[..., index]
        return self._with(m=self.m[..., index], scale=self.scale[..., index[:, None], index], low=low)

    def proper(self) -> Array:
        return (self.kappa > 0) & (self.dof > 0) & ~np.isnan(self.root[2])

    def _fault(self, where: tuple[int, ...]) -> str:
        if (self.kappa > 0)[where] and (self.dof > 0)[where]:
            return "a singular scale: a column follows from the others, or there are fewer rows than columns"
        return ""

    def precision(self, times: Array) -> Array:
        inverse = self.root[1]
        return times[..., None, None] * (np.swapaxes(inverse, -1, -2) @ inverse)

    @staticmethod
    def log_determinant(precision: Array) -> Array:
        return matrices.root(precision)[2]

    @staticmethod
    def squares(precision: Array, gap: Array, n: Array, scatter: Any) -> Array:
        of_gap = n * (gap * (precision @ gap[..., None])[..., 0]).sum(-1)
        return of_gap if scatter is None else of_gap + (precision * scatter).sum((-2, -1))

    def variance(self) -> tuple[Array, Array]:
        self.require_proper("A variance")
        finite, inverse = self.dof > 2, self.precision(np.ones(np.shape(self.nu)))
        per = np.where(finite, 1 / self.kappa / np.where(finite, self.dof - 2, 1.0), np.inf)
        diagonal = np.diagonal(inverse, axis1=-2, axis2=-1)
        of_precision = self.nu[..., None, None] * (inverse**2 + diagonal[..., :, None] * diagonal[..., None, :])
        return per[..., None] * np.diagonal(self.scale, axis1=-2, axis2=-1), of_precision

    def draw_away(self, rng: Generator, size: Size = ()) -> tuple[Array, Array]:
        """Draws of μ - m and of the precision, by Bartlett's decomposition."""
        self.require_proper("A draw")
        d, (root, inverse, _) = self.size, self.root
        shape = (self.nu[..., None] - np.arange(d)) / 2
        squares = 2 * np.exp(log_gamma_draw(shape, rng, size))
        factor = np.tril(rng.standard_normal((*squares.shape, d)), -1)
        factor[..., np.arange(d), np.arange(d)] = np.sqrt(squares)
        away = rng.standard_normal(squares.shape) / np.sqrt(self.kappa)[..., None]
        away = root @ np.linalg.solve(np.swapaxes(factor, -1, -2), away[..., None])
        half = np.swapaxes(inverse, -1, -2) @ factor
        return self.low + away[..., 0], half @ np.swapaxes(half, -1, -2)

    # A row is d = (1, x, 0, None): its scatter is 0.

    def distance(self, mean: Array, low: Array) -> Array:
        return np.linalg.norm(self.root[1] @ self.gap(mean, low)[..., None], axis=(-2, -1)) * np.sqrt(2)

    def plus(self, n: Array, mean: Array, low: Array, scatter: Any, t: float | Array = 1.0) -> NormalWishart:
        rows, gap = t * n, self.gap(mean, low)
        kappa = self.kappa + rows
        share = rows / np.where(kappa > 0, kappa, 1.0)
        scale = self.scale + (self.kappa * share)[..., None, None] * (gap[..., :, None] * gap[..., None, :])
        if scatter is not None:
            scale = scale + np.asarray(t)[..., None, None] * scatter
        return self._with(kappa=kappa, dof=self.dof + rows, scale=scale, **self.moved(mean, low, share[..., None]))

    def growth(self, n: Array, mean: Array, low: Array, scatter: Any, t: Array) -> tuple[Array, Array, Array]:
        if scatter is None:
            # A row multiplies det Ψ by 1 + z (determinant lemma), so no matrix is decomposed per row.
            z = self.kappa * t * n / (self.kappa + t * n) / 2 * self.distance(mean, low) ** 2
            return np.log1p(z), self.log_rate + np.log1p(z), z > -1
        growth, exists = matrices.log_growth(self.root[1], self.plus(n, mean, low, scatter, t).scale - self.scale)
        return growth, self.log_rate + growth, exists

    @staticmethod
    def pymc_likelihood(theta: Mapping[str, Any], n: Any, mean: Any, low: Any, scatter: Any) -> Any:
        from pytensor import tensor as pt

        gap, precision = (mean - theta["mu"]) + low, theta["precision"]
        spread = scatter + n[:, None, None] * gap[:, :, None] * gap[:, None, :]
        return 0.5 * ((n * matrices.pymc_log_determinant(precision)).sum() - pt.sum(precision * spread))

    def pymc(self, name: Callable[[str], str], dims: tuple[str, ...]) -> Any:
        import pymc as pm

        precision = matrices.pymc_wishart(
            name("precision"), shared(self.nu), shared(self.precision(np.ones(self.nu.shape))), dims
        )
        root = matrices.pymc_root(shared(self.kappa)[:, None, None] * precision)
        mu = pm.MvNormal(name("mu"), mu=shared(self.m + self.low), chol=root, dims=dims[:2])
        return mu, precision


def _within(s: Scatter, variance: Array) -> Array:
    imaginary = len(variance) / 2
    return (s.scatter.sum(0) + imaginary * np.diag(variance)) / (s.n.sum() + imaginary)


def _learned(m: Array, low: Array, kappa: Array, target: Array, s: Scatter) -> float:
    """The ``dof`` that maximizes the evidence times the hyperprior."""
    # Let Ψ = dof T, and M the scatter of a class plus the term for the distance of the mean from m. The evidence
    # depends on the data only through the eigenvalues of T⁻¹ M.
    n, d = s.n[:, 0], len(target)
    gap = (s.mean - m) + (s.centre.low - low)
    with np.errstate(invalid="ignore"):
        weight = np.where(n > 0, kappa * n / np.where(n > 0, kappa + n, 1.0), 0.0)
    spreads = s.scatter + weight[:, None, None] * gap[:, :, None] * gap[:, None, :]
    inverse = matrices.root(target)[1]
    values = np.maximum(np.linalg.eigvalsh(inverse @ spreads @ inverse.T), 0.0)

    def score(log_dof: Array) -> tuple[Array, Array]:
        dof, away = np.exp(log_dof)[:, None], (log_dof - np.log(d)) / SPREAD
        share, each = values / dof[..., None], (dof[..., None] + np.arange(d)) / 2
        growth, more = np.log1p(share).sum(-1), (share / (1 + share)).sum(-1)
        gammas, rising = log_rising(each, n[:, None] / 2), digamma(each + n[:, None] / 2) - digamma(each)
        value = gammas.sum(-1) - 0.5 * (n * d * np.log(dof) + (dof + d - 1 + n) * growth)
        slope = dof * (rising.sum(-1) - growth) - n * d + (dof + d - 1 + n) * more
        return value.sum(-1) - away**2 / 2, slope.sum(-1) / 2 - away / SPREAD

    return float(np.exp(_highest(score, np.log(0.5), np.log(MOST))))


def _highest(score: Callable[[Array], tuple[Array, Array]], low: float, high: float) -> float:
    """The argument that maximizes a function of one variable between ``low`` and ``high``."""
    grid = np.linspace(low, high, 61)
    best = int(np.argmax(score(grid)[0]))
    low, high = grid[max(0, best - 1)], grid[min(len(grid) - 1, best + 1)]
    # Near a maximum, function values differ by less than their rounding errors. So bisect on the slope.
    for _ in range(60):
        middle = (low + high) / 2
        rises = score(np.array([middle]))[1][0] > 0
        low, high = (middle, high) if rises else (low, middle)
    return (low + high) / 2
