"""The prior of the mean and the precision matrix of a multivariate Normal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from scipy.special import digamma, gammaln, polygamma

from bayesnb.numerics import Array, Size, log_gamma_draw, log_rising
from bayesnb.priors import elicitation, matrices
from bayesnb.priors.belief import BoundaryError, Prior, Theta, first, require_nonnegative
from bayesnb.priors.common_draws import CommonDraws
from bayesnb.priors.covariances import Target, resolved
from bayesnb.priors.locations import between
from bayesnb.priors.tensors import shared


@dataclass(frozen=True, eq=False, repr=False)
class NormalWishart(Prior):
    """(μ, Λ) of a multivariate Normal, Λ the precision matrix: Λ ~ Wishart(ν, Ψ⁻¹), μ | Λ ~ Normal(m, (κΛ)⁻¹).

    The conjugate prior of a vector of d numbers with mean and covariance unknown (BDA3 3.6; Murphy 2007, section 8).
    The degrees of freedom are given as dof = ν - d + 1, those of the predictive Student-t. Some of the columns by
    themselves have the same ``dof``, and one column has the prior NormalGamma(m, κ, dof / 2, Ψ / 2).

    Parameters
    ----------
    m : array (column,) or (class, column), or None
        Prior location. ``None`` is the pooled mean of each column.
    kappa : float or array (class,)
        The number of rows that ``m`` counts as.
    dof : float, array (class,) or None
        The number of rows that the covariance counts as. ``None`` is the number under which the classes have the
        largest evidence; it needs ``scale="shared"``.
    scale : array (column, column) or (class, column, column), "shared" or None
        Ψ, the sum of squares and products of these rows. ``None`` is dof × the pooled variance of each column, without
        correlations; "shared" is dof × the covariance within classes (see :meth:`shared`).
    low : array, optional
        The rest of the location, which is m + low: far from 0, one float is not exact enough.

    share : array (class,), optional
        How much Ψ holds of the square of each learned row about the mean of its class: 0, but for ``scale="shared"``.

    Examples
    --------
    >>> NormalWishart([0.0, 0.0], kappa=1, dof=3, scale=[[3.0, 0.0], [0.0, 12.0]]).mean()[1]  # of Λ
    array([[1.33333333, 0.        ],
           [0.        , 0.33333333]])
    """

    parameters = ("mu", "precision")
    axes: ClassVar[Mapping[str, int]] = {"mu": 2, "precision": 3}

    m: float | Array | None = None
    kappa: float | Array = 1.0
    dof: float | Array | None = 1.0
    scale: float | Array | Target | None = None
    low: float | Array = field(default=0.0, repr=False)
    share: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for f in fields(self):
            value = getattr(self, f.name)
            if value is None or isinstance(value, str):
                continue
            value = np.asarray(value, float)
            if f.name in ("kappa", "dof"):
                require_nonnegative(f.name, value)
            elif not np.isfinite(value).all():
                raise ValueError(f"Expected {f.name} to be finite; got {value!r}")
            object.__setattr__(self, f.name, value)
        if isinstance(self.scale, str) and self.scale != "shared":
            raise ValueError(f'Expected scale to be a matrix, "shared" or None; got {self.scale!r}')
        if isinstance(self.scale, np.ndarray):
            matrices.require_covariance("scale", self.scale)
        if self.dof is None and self.scale != "shared":
            raise ValueError(f'dof=None is learned around the shared covariance: scale="shared"; got {self.scale!r}')

    @classmethod
    def unit_information(cls, rows: float = 1.0) -> NormalWishart:
        """One imaginary row (or ``rows`` of them) that looks like each whole column, and says nothing of correlations.

        Each column by itself has the prior ``NormalGamma.unit_information(rows)``.
        """
        return cls(None, rows, rows, None)

    @classmethod
    def shared(cls, dof: float | None = None) -> NormalWishart:
        """The covariance of each class is drawn to the one within all classes, which counts as ``dof`` rows.

        Few rows lead to quadratic, many to linear discriminant analysis (Friedman 1989; Greene and Rayens 1989). The
        covariance within classes is that of the rows about the means of their classes, and of d / 2 imaginary rows
        that have the variances of the whole columns and no correlations. By default, ``dof`` is learned: it maximizes
        the evidence of all classes, times a log-normal hyperprior with median d and standard deviation 2 of ln dof.
        """
        return cls(None, 1.0, dof, "shared")

    @classmethod
    def from_rows(cls, n: float, rows: Any) -> NormalWishart:
        """The belief worth ``n`` rows like these, an array (row, column)."""
        x = elicitation.rows_like("rows", rows, n)
        return cls(x.mean(0), n, n, n * np.cov(x, rowvar=False, ddof=0).reshape(x.shape[1], x.shape[1]))

    @classmethod
    def reference(cls) -> NormalWishart:
        """Improper, κ=0, dof=0, Ψ=0: the posterior mode is the inverse of the covariance with divisor N-1."""
        return cls(0.0, 0.0, 0.0, 0.0)

    @classmethod
    def flat(cls) -> NormalWishart:
        """Improper, κ=0, dof=1, Ψ=0: the posterior mode is the inverse of the covariance with divisor N."""
        return cls(0.0, 0.0, 1.0, 0.0)

    def over(self, n: Array, mean: Array, low: Array, scatter: Array) -> NormalWishart:
        """The prior at its full shape, (class, column[, column]).

        Parameters
        ----------
        n : array (class,)
            Weight of the rows.
        mean, low : arrays (class, column)
            Mean of the rows, as the sum of a float and a far smaller one.
        scatter : array (class, column, column)
            Sum of squares and products about the mean.
        """
        return NormalWishart(*resolved(self.m, self.kappa, self.dof, self.scale, (n, mean, low, scatter)))

    @property
    def size(self) -> int:
        """d, the number of columns."""
        return np.shape(self.scale)[-1]

    @property
    def nu(self) -> Array:
        """ν, the degrees of freedom of the Wishart distribution."""
        return self.dof + (self.size - 1)

    @cached_property
    def root(self) -> tuple[Array, Array, Array]:
        """The lower root of Ψ, its inverse, and ln det Ψ; NaN where Ψ is singular."""
        return matrices.root(self.scale)

    @property
    def cell_size(self) -> int:
        return self.size**2

    def as_cells(self) -> NormalWishart:
        """The same with an axis of length 1 for the column: a vector is one cell."""
        return self._picked((slice(None), None))

    def marginal(self, index: Array) -> NormalWishart:
        """The belief about some of the columns."""
        low = self.low[..., index]
        return self._with(m=self.m[..., index], scale=self.scale[..., index[:, None], index], low=low)

    def proper(self) -> Array:
        return (self.kappa > 0) & (self.dof > 0) & ~np.isnan(self.root[2])

    def fault(self, where: tuple[int, ...]) -> str:
        if (self.kappa > 0)[where] and (self.dof > 0)[where]:
            return "a singular scale: a column follows from the others, or there are fewer rows than columns"
        return ""

    def mean(self) -> tuple[Array, Array]:
        self.require_proper("A mean")
        return self.m + self.low, self._precision(self.nu)

    def _precision(self, times: Array) -> Array:
        """``times`` Ψ⁻¹."""
        inverse = self.root[1]
        return times[..., None, None] * (np.swapaxes(inverse, -1, -2) @ inverse)

    def variance(self) -> tuple[Array, Array]:
        self.require_proper("A variance")
        finite, inverse = self.dof > 2, self._precision(np.ones(np.shape(self.nu)))
        per = np.where(finite, 1 / self.kappa / np.where(finite, self.dof - 2, 1.0), np.inf)
        diagonal = np.diagonal(inverse, axis1=-2, axis2=-1)
        of_precision = self.nu[..., None, None] * (inverse**2 + diagonal[..., :, None] * diagonal[..., None, :])
        return per[..., None] * np.diagonal(self.scale, axis1=-2, axis2=-1), of_precision

    def mode(self) -> tuple[Array, Array]:
        self.require_proper("A mode")
        outside = self.dof <= 1
        if outside.any():
            where = first(outside)
            raise BoundaryError(
                f"the mode of the precision is 0, where dof is {self.dof[where]:g} <= 1 (no row was seen); "
                'use the mean (estimate="mean") or a larger dof',
                where,
            )
        return self.m + self.low, self._precision(self.dof - 1)

    def draw_theta(self, rng: Generator, size: Size = ()) -> Theta:
        """Draws by Bartlett's decomposition: Ψ = L Lᵀ and Λ = L⁻ᵀ A Aᵀ L⁻¹, A lower with independent cells."""
        self.require_proper("A draw")
        d, (root, inverse, _) = self.size, self.root
        shape = (self.nu[..., None] - np.arange(d)) / 2
        squares = 2 * np.exp(log_gamma_draw(shape, rng, size))
        factor = np.tril(rng.standard_normal((*squares.shape, d)), -1)
        factor[..., np.arange(d), np.arange(d)] = np.sqrt(squares)
        away = rng.standard_normal(squares.shape) / np.sqrt(self.kappa)[..., None]
        away = root @ np.linalg.solve(np.swapaxes(factor, -1, -2), away[..., None])
        half = np.swapaxes(inverse, -1, -2) @ factor
        return self.theta(self.m + (self.low + away[..., 0]), half @ np.swapaxes(half, -1, -2))

    def log_prob(self, *theta: Array) -> Array:
        mu, precision = theta
        gap, level = (mu - self.m) - self.low, matrices.root(precision)[2]
        squares = (self.scale * precision).sum((-2, -1)) + self.kappa * matrices.square(precision, gap)
        return 0.5 * ((self.dof - 1) * level - squares) - self.log_normalizer()

    def log_prob_of_each(self, *theta: Array) -> tuple[Array, ...]:
        mu, precision = theta
        away = self.kappa * matrices.square(precision, (mu - self.m) - self.low)
        of_mu = 0.5 * (self.size * np.log(self.kappa / (2 * np.pi)) + matrices.root(precision)[2] - away)
        return of_mu, self.log_prob(*theta) - of_mu

    def log_jacobian(self, *theta: Array) -> Array:
        return 0.5 * self.size * matrices.root(theta[1])[2]

    def log_normalizer(self) -> Array:
        self.require_proper("A density")
        d, nu = self.size, self.nu
        gammas = gammaln((nu[..., None] - np.arange(d)) / 2).sum(-1) + d * (d - 1) / 4 * np.log(np.pi)
        return 0.5 * (nu * (d * np.log(2) - self.root[2]) + d * np.log(2 * np.pi / self.kappa)) + gammas

    # A row is d = (1, x, 0, None): its scatter is 0.

    def gap(self, mean: Array, low: Array) -> Array:
        """How far a mean is from the location, (..., column)."""
        return (mean - self.m) + (low - self.low)

    def distance(self, mean: Array, low: Array) -> Array:
        """gapᵀ Ψ⁻¹ gap."""
        return np.square(self.root[1] @ self.gap(mean, low)[..., None]).sum((-2, -1))

    def plus(self, n: Array, mean: Array, low: Array, scatter: Any, t: float | Array = 1.0) -> NormalWishart:
        rows, gap = t * n, self.gap(mean, low)
        kappa = self.kappa + rows
        share = rows / np.where(kappa > 0, kappa, 1.0)
        m, rest = between(self.m, self.low, mean, low, gap, share[..., None])
        scale = self.scale + (self.kappa * share)[..., None, None] * (gap[..., :, None] * gap[..., None, :])
        if scatter is not None:
            scale = scale + np.asarray(t)[..., None, None] * scatter
        return self._with(m=m, kappa=kappa, dof=self.dof + rows, scale=scale, low=rest)

    def along(self, n: Array, mean: Array, low: Array, scatter: Any, t: float | Array = 1.0) -> Array:
        """ln E[L^t], where L is det Λ^(n/2) exp(-tr(Λ [scatter + n gap gapᵀ]) / 2), which is not divided by a maximum.

        The normalizers are far larger than their difference, so it is written without them. By the determinant lemma,
        a row multiplies det Ψ by 1 + κt/(κ+t) gapᵀ Ψ⁻¹ gap, so no matrix is decomposed for each row.
        """
        rows = t * n
        with np.errstate(all="ignore"):
            kappa = self.kappa + rows
            if scatter is None:
                z = self.kappa * rows / kappa * self.distance(mean, low)
                growth, exists = np.log1p(z), z > -1
            else:
                growth, exists = matrices.log_growth(
                    self.root[1], self.plus(n, mean, low, scatter, t).scale - self.scale
                )
            gammas = log_rising((self.nu[..., None] - np.arange(self.size)) / 2, np.asarray(rows)[..., None] / 2).sum(
                -1
            )
            level = 0.5 * rows * (self.size * np.log(2) - self.root[2] - growth)
            value = gammas + level - 0.5 * (self.nu * growth + self.size * np.log1p(rows / self.kappa))
        exists = exists & (kappa > 0) & (self.dof + rows > 0)
        return np.where(rows == 0, 0.0, np.where(exists, value, np.inf))

    def slopes(self, n: Array, mean: Array, low: Array, scatter: Any, t: float | Array = 0.0) -> tuple[Array, Array]:
        """The slopes along rows, whose scatter is ``None``."""
        d, wide, count = self.size, self.kappa + t * n, self.nu + t * n
        with np.errstate(all="ignore"):
            squared = self.kappa**2 * self.distance(mean, low)
            z = 1 + t * n * squared / (self.kappa * wide)
            growth = n * squared / wide**2 / z
            curvature = -2 * n**2 * squared / wide**3 / z - growth**2
            each = (count[..., None] - np.arange(d)) / 2
            level = 0.5 * (digamma(each).sum(-1) + d * np.log(2) - self.root[2] - np.log(z) - d / wide)
            second = 0.25 * n**2 * polygamma(1, each).sum(-1) + 0.5 * d * n**2 / wide**2 - n * growth
        return n * level - 0.5 * count * growth, second - 0.5 * count * curvature

    def floor(self, n: Array, mean: Array, low: Array, scatter: Any) -> Array:
        """The floor of rows, whose scatter is ``None``."""
        return -np.minimum(self.dof, self.kappa / (1 + self.kappa * self.distance(mean, low))) / n

    def drawn_along(self, n: Array, mean: Array, low: Array, scatter: Any, *, common: CommonDraws) -> Array:
        """Draws of ln L of rows, whose scatter is ``None``.

        L depends on the direction of the gap by its length alone: so the first axis may be put there, and then only the
        diagonal of Bartlett's decomposition is needed, whose squares are independent Gamma variates.
        """
        d, logs = self.size, 0.0
        shapes = [np.broadcast_to((self.nu - k) / 2, np.shape(self.distance(mean, low))) for k in range(d)]
        diagonals = [common.log_gamma(shape, 3 + k) + np.log(2) for k, shape in enumerate(shapes)]
        logs = sum(diagonals) - self.root[2]
        normals = [common.normal(*shapes[0].shape[-2:], kind=3 + d + k) / np.sqrt(self.kappa) for k in range(d)]
        with np.errstate(over="ignore"):
            along = np.exp(0.5 * diagonals[0]) * np.sqrt(self.distance(mean, low)) - normals[0]
            return 0.5 * n * (logs - along**2 - sum(np.square(each) for each in normals[1:]))

    @staticmethod
    def peak(n: Array, mean: Array, low: Array, scatter: Any) -> Array:
        """0, because the likelihood has no maximum if there are no more rows than columns."""
        return np.zeros(np.shape(n))

    @staticmethod
    def log_kernel(theta: Theta, n: Array, mean: Array, low: Array, scatter: Any) -> Array:
        precision, gap = theta["precision"], (mean - theta["mu"]) + low
        squares = n * matrices.square(precision, gap)
        if scatter is not None:
            squares = squares + (precision * scatter).sum((-2, -1))
        return 0.5 * (n * matrices.root(precision)[2] - squares)

    @staticmethod
    def pymc_likelihood(theta: Mapping[str, Any], n: Any, mean: Any, low: Any, scatter: Any) -> Any:
        from pytensor import tensor as pt

        gap, precision = (mean - theta["mu"]) + low, theta["precision"]
        spread = scatter + n[:, None, None] * gap[:, :, None] * gap[:, None, :]
        return 0.5 * ((n * matrices.pymc_log_determinant(precision)).sum() - pt.sum(precision * spread))

    def pymc(self, name: Callable[[str], str], dims: tuple[str, ...]) -> Any:
        import pymc as pm

        self.require_sampled()
        precision = matrices.pymc_wishart(
            name("precision"), shared(self.nu), shared(self._precision(np.ones(self.nu.shape))), dims
        )
        root = matrices.pymc_root(shared(self.kappa)[:, None, None] * precision)
        mu = pm.MvNormal(name("mu"), mu=shared(self.m + self.low), chol=root, dims=dims[:2])
        return mu, precision
