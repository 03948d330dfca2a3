"""Families of several columns that are jointly Normal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn, Self

import numpy as np
from numpy.random import Generator

from bayesnb.families.columns import NEAR
from bayesnb.families.conjugate import ROUNDED, Added, Conjugate, alike
from bayesnb.kernels.blocks import CELLS, slices, written
from bayesnb.numerics import LOG_2PI, Array, Size, log_rising
from bayesnb.priors import ImproperError, NormalWishart, Theta, matrices
from bayesnb.priors.belief import Point
from bayesnb.priors.common_draws import CommonDraws
from bayesnb.statistics.moments import Scatter, gap_in_a_row, patterns
from bayesnb.statistics.statistic import Labels


@dataclass(frozen=True, eq=False)
class MultivariateGaussian(Conjugate[NormalWishart, Scatter]):
    """x | μ, Λ ~ Normal(μ, Λ⁻¹), a vector of columns, with (μ, Λ) ~ Normal-Wishart (BDA3 3.6; Murphy 2007, section 8).

    The model is quadratic discriminant analysis with the parameters integrated out: one covariance per class, and a
    multivariate Student-t as the predictive distribution. The default prior is :meth:`NormalWishart.shared`. In rows to
    predict, missing cells are integrated out. A learned row must have values in all columns, or in no column.

    Parameters
    ----------
    prior : NormalWishart

    Examples
    --------
    >>> from bayesnb import BayesianNB
    >>> X = {"x": [1.0, 2.0, 3.0, 1.0, 2.0, 3.0], "y": [1.1, 1.9, 3.0, 3.1, 2.0, 1.2]}
    >>> clf = BayesianNB({"both": (MultivariateGaussian(), ["x", "y"])}).fit(X, ["up"] * 3 + ["down"] * 3)
    >>> clf.predict({"x": [1.5, 1.5], "y": [1.4, 2.6]})  # each column by itself says nothing
    array(['up', 'down'], dtype='<U4')
    """

    prior: Any = field(default_factory=NormalWishart.shared)

    term = "vector"

    def statistic(self, x: Array, members: Labels) -> Scatter:
        _require_whole(x)
        return Scatter.of(x, members)

    def resolve_prior(self, prior: NormalWishart, s: Scatter) -> NormalWishart:
        return prior.over(s)

    def priors(self, s: Scatter, labels: Sequence[Any]) -> NormalWishart:
        """The prior of each class.

        If all rows of a class are equal, its default prior is computed from the rows of all classes.
        """
        full = super().priors(s, labels)
        given = (
            isinstance(self.prior, Mapping) or self.prior.m is not None or not isinstance(self.prior.scale, str | None)
        )
        if given or s.scatter.any() or s.of_columns()[2].any():
            return full
        others = s.n[:, 0].sum() - s.n[:, 0]
        return full._with(kappa=full.kappa + others, dof=full.dof + self.classes_apart * others)

    def added(self, s: Scatter) -> tuple[Array, ...]:
        return s.n[:, 0], *s.centre, s.scatter

    def log_h(self, s: Scatter) -> Array:
        return -0.5 * LOG_2PI * s.n[:, 0] * s.mean.shape[1]

    def said(self, x: Array) -> Added:
        return (1.0, x[:, None, None], 0.0, None), -0.5 * LOG_2PI * x.shape[1]

    def of_reals(self, posterior: NormalWishart, x: Array, labels: Labels | None = None) -> Array:
        if labels is None:
            total = np.zeros((len(x), len(posterior.kappa)))
            for rows, believed, part in alike(posterior, x):
                total[rows] = log_student(believed, distances(believed, part))
            return total
        _require_whole(x)
        total, known = np.zeros(len(x)), ~np.isnan(x[:, 0])
        for c in np.unique(labels.codes[known]):
            own, believed = np.flatnonzero(known & (labels.codes == c)), posterior.at(c)
            squares = distances(believed, x[own])
            total[own] = log_student(believed, squares, labels.weight[own])
        return total

    def shared_left_out(self, posterior: NormalWishart, s: Scatter, x: Array, labels: Labels) -> Array | None:
        """Leave-one-out log predictive densities (row, class); ``None`` unless classes share a prior scatter."""
        # The pooled scatter loses w n / (n - w) g gᵀ, where g is the distance of the row from the mean of its class. So
        # det Ψ is multiplied by 1 - b gᵀ Ψ⁻¹ g, and squared distances increase by the Sherman-Morrison formula.
        if posterior.share is None or not posterior.share.any():
            return None
        _require_whole(x)

        def part(rows: slice, found: Array) -> None:
            codes, weight, cells = labels.codes[rows], labels.weight[rows], x[rows]
            n = s.n[codes, 0]
            with np.errstate(all="ignore"):
                square = np.where(n > weight * (1 + 1e-9), weight * n / (n - weight), 0.0)
                own_gap = (cells - s.mean[codes]) - s.centre.low[codes]
            for c in range(labels.n):
                found[:, c] = log_student_without_square(posterior.at(c), cells, own_gap, square, weight * (codes == c))

        total = written(np.zeros((len(x), labels.n)), part, _blocks(x))
        return _kept(np.where(np.isnan(x[:, :1]), 0.0, total), labels)

    def log_likelihood(self, theta: Theta, x: Array) -> Array:
        mu, low, precision = theta["mu"], np.broadcast_to(theta["low"], theta["mu"].shape), theta["precision"]
        lead = mu.shape[:-1]
        total = np.zeros((*lead[:-1], len(x), lead[-1]))
        for rows, columns in patterns(x):
            part, centre, rest, own = x[rows], mu, low, precision
            if columns is not None:
                cells = (..., columns[:, None], columns)
                part, centre, rest = part[:, columns], mu[..., columns], low[..., columns]
                own = np.linalg.inv(np.linalg.inv(precision)[cells])
            root, _, level = matrices.root(own)
            for at in np.ndindex(lead):
                z = ((part - centre[at]) - rest[at]) @ root[at]
                squares = np.einsum("ij,ij->i", z, z)
                total[(*at[:-1], rows, at[-1])] = 0.5 * (level[at] - squares - part.shape[1] * LOG_2PI)
        return total

    def sample(self, theta: Theta, rng: Generator, s: Scatter) -> Array:
        inverse = matrices.root(theta["precision"])[1]
        z = rng.standard_normal(theta["mu"].shape)
        return theta["mu"] + (theta["low"] + (z[..., None, :] @ inverse)[..., 0, :])

    def readable(self, theta: Theta) -> dict[str, Array]:
        covariance = np.linalg.inv(theta["precision"])
        sd = np.sqrt(np.diagonal(covariance, axis1=-2, axis2=-1))
        return {"mean": theta["mu"], "sd": sd, "correlation": covariance / sd[..., :, None] / sd[..., None, :]}

    def linear(self, theta: Theta) -> tuple[Array, Array]:
        mu, precision = theta["mu"], theta["precision"]
        if not np.allclose(precision, precision[:1], rtol=1e-9, atol=0):
            raise ValueError(
                "its covariance differs between classes, so the log-odds are quadratic; SharedGaussian shares one, and "
                "quadratic=True writes the squares and products too"
            )
        weights = (precision @ mu[..., None])[..., 0]
        return weights, -0.5 * (weights * mu).sum(-1)

    def quadratic(self, theta: Theta) -> tuple[Array, Array, Array]:
        mu, precision = theta["mu"] + theta["low"], theta["precision"]
        weights = (precision @ mu[..., None])[..., 0]
        offset = 0.5 * (matrices.root(precision)[2] - (weights * mu).sum(-1))
        return -0.5 * precision, weights, offset[:, None]

    def variable_axes(self) -> dict[str, tuple[str, ...]]:
        return {"mu": ("class", "column"), "precision": ("class", "column", "column_2")}

    def pymc_cells(self, name: str, theta: Mapping[str, Any], x: Array, row: Array, column: Array) -> None:
        import pymc as pm

        _require_whole(x)
        pm.MvNormal(name, mu=theta["mu"], chol=matrices.pymc_root(theta["precision"]), observed=x[row])

    def pymc_log_likelihood(self, theta: Mapping[str, Any], x: Array) -> Any:
        from pytensor import tensor as pt

        _require_whole(x)
        precision, seen = theta["precision"], ~np.isnan(x[:, 0])
        away = np.nan_to_num(x)[None] - theta["mu"][:, None]
        squares = ((away @ precision) * away).sum(-1)
        level = matrices.pymc_log_determinant(precision)[:, None] - x.shape[1] * LOG_2PI
        return pt.switch(seen[:, None], 0.5 * (level - squares).T, 0.0)


# Log densities of many rows under the multivariate Student-t of one class.


def log_student(believed: NormalWishart, squares: Array, weight: Array | float = 0.0) -> Array:
    """Log predictive density of each row, (row,), given all other learned rows; NaN if their posterior is improper."""
    # Removing a row of weight w multiplies det Ψ by 1 - κw/(κ-w) h (matrix determinant lemma). The squared distance
    # becomes (κ/(κ-w))² h divided by 1 - κw/(κ-w) h.
    # ``squares`` come from :func:`distances`; the weight of new rows is 0.
    d = believed.size
    with np.errstate(all="ignore"):
        kappa, nu, dof = believed.kappa - weight, believed.nu - weight, believed.dof - weight
        rest = 1 - believed.kappa * weight / kappa * squares
        share = kappa / (kappa + 1)
        away = share * (believed.kappa / kappa) ** 2 * squares / rest
        left = np.minimum(np.minimum(kappa, dof), rest) > 1e-8
        height = log_rising(dof / 2, d / 2) + 0.5 * (d * np.log(share / np.pi) - believed.root[2] - np.log(rest))
        return np.where(left | (weight == 0), height - (nu + 1) / 2 * np.log1p(away), np.nan)


def log_student_without_square(
    believed: NormalWishart, x: Array, own_gap: Array, square: Array, weight: Array
) -> Array:
    """Like ``log_student``, but each row is also left out of the pooled scatter that determines the prior's Ψ."""
    # ``own_gap`` (row, column) is each row's deviation from the mean of its class. ``weight`` (row,) is 0 for rows of
    # other classes.
    inverse = believed.root[1].T
    with np.errstate(all="ignore"):
        g, v = own_gap @ inverse, ((x - believed.m) - believed.low) @ inverse
        b = believed.share * square
        lost = 1 - b * (g * g).sum(1)
        squares = (v * v).sum(1) + b * (g * v).sum(1) ** 2 / lost
        return log_student(believed, squares, weight) - 0.5 * np.log(lost)


def distances(believed: NormalWishart, x: Array) -> Array:
    """Squared distance (x - m)ᵀ Ψ⁻¹ (x - m) of each row from the location m, (row, ...)."""
    lead, inverse = believed.m.shape[:-1], believed.root[1]

    def part(rows: slice, found: Array) -> None:
        for c in np.ndindex(lead):
            z = ((x[rows] - believed.m[c]) - believed.low[c]) @ inverse[c].T
            found[:, *c] = np.einsum("ij,ij->i", z, z)

    return written(np.empty((len(x), *lead)), part, _blocks(x))


def _blocks(x: Array) -> list[slice]:
    return slices(len(x), max(1, NEAR // max(1, x.shape[1])))


DRAWS = 4000
"""Number of joint draws of all classes' parameters, for results that depend on several classes."""


@dataclass(frozen=True, eq=False)
class SharedGaussian(MultivariateGaussian):
    """x | c, μ, Λ ~ Normal(μ_c, Λ⁻¹), with one Λ ~ Wishart(ν, Ψ⁻¹) for all classes, and μ_c | Λ ~ Normal(m, (κΛ)⁻¹).

    The model is linear discriminant analysis with its parameters integrated out (BDA3 3.6 and Murphy 2022, PML1 9.2).
    ``docs/theory/three-covariances.md`` compares three Gaussian families.

    Intervals are computed from draws. Leave-one-out is exact. Moments of the log-odds, EM, learned exponents, full
    conformal sets and PyMC are not supported.

    Parameters
    ----------
    prior : NormalWishart
        One prior for all classes.

    Examples
    --------
    >>> from bayesnb import BayesianNB, odds
    >>> X = {"x": [1.0, 2.0, 3.0, 1.0, 2.0, 3.0], "y": [1.1, 1.9, 3.0, 2.1, 3.0, 4.2]}
    >>> clf = BayesianNB("shared-gaussian", estimate="mean").fit(X, ["low"] * 3 + ["high"] * 3)
    >>> clf.predict({"x": [1.5, 1.5], "y": [1.4, 2.6]})
    array(['low', 'high'], dtype='<U4')
    """

    prior: Any = field(default_factory=NormalWishart)

    classes_apart = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.prior, Mapping) or isinstance(self.prior.scale, str):
            raise ValueError(
                "Expected one prior of the covariance that all classes share, such as NormalWishart(); got "
                f"{self.prior!r}"
            )

    def resolve_prior(self, prior: NormalWishart, s: Scatter) -> NormalWishart:
        """Broadcast the prior over classes; a flat prior of the class means (κ = 0) decreases ν by (classes - 1)."""
        full = super().resolve_prior(prior, s)
        return full._with(dof=full.dof - (len(full.dof) - 1) * (full.kappa == 0))

    def flat(self) -> Self:
        return replace(self, prior=NormalWishart.flat())

    def update(self, prior: NormalWishart, s: Scatter) -> NormalWishart:
        each = super().update(prior, s)
        scale = prior.scale[:1] + (each.scale - prior.scale).sum(0)
        dof = prior.dof[:1] + (each.dof - prior.dof).sum()
        return each._with(scale=np.repeat(scale, len(dof := np.repeat(dof, len(each.dof))), axis=0), dof=dof)

    def log_evidence(self, prior: NormalWishart, s: Scatter) -> Array:
        """Log marginal likelihood of each class's rows, (class,), given the rows of all classes with a lower index."""
        super().log_evidence(prior, s)
        d, found, held = self.added(s), [], prior
        for c in range(len(prior.dof)):
            own, each = tuple(v[c : c + 1] for v in d), prior.at([c])._with(scale=held.scale[:1], dof=held.dof[:1])
            found.append(each.along(*own))
            held = each.plus(*own)
        return np.concatenate(found) + self.log_h(s)

    def plug_in(self, posterior: NormalWishart, point: Point) -> Theta:
        # In the joint mode, the density of each class mean contributes a factor √det Λ; the formula for a single class
        # includes one of them.
        more = len(posterior.dof) - 1 if point == "mode" else 0
        return posterior._with(dof=posterior.dof + more).plug_in(point)

    def draw(self, posterior: NormalWishart, rng: Generator, size: Size = ()) -> Theta:
        precision = posterior.at([0]).draw_theta(rng, size)["precision"]
        inverse = matrices.root(precision)[1]
        z = rng.standard_normal((*precision.shape[:-3], *posterior.m.shape)) / np.sqrt(posterior.kappa)[:, None]
        low = posterior.low + (z[..., None, :] @ inverse)[..., 0, :]
        mu = np.broadcast_to(posterior.m, low.shape)
        return {"mu": mu, "low": low, "precision": np.broadcast_to(precision, (*low.shape, low.shape[-1]))}

    def paired(self, posterior: NormalWishart, x: Array) -> Iterator[tuple[slice, Array]]:
        """Yield blocks of rows, and log p(x | θ), (draw, row, class). Each draw θ has the parameters of all classes."""
        theta = self.draw(posterior, np.random.default_rng(0), (DRAWS,))
        for cut in slices(x.shape[0], max(1, CELLS // (DRAWS * len(posterior.kappa)))):
            yield cut, self.log_likelihood(theta, x[cut])

    def log_likelihood_given_row(
        self, posterior: NormalWishart, theta: Theta, x: Array, chosen: Array, common: CommonDraws
    ) -> Array:
        # Resample the draws with probabilities proportional to the density of the row in its class.
        found = self.log_likelihood(theta, x)
        uniform = common.generator().random(len(found))
        weight = np.exp(found - found.max(axis=0))
        below = weight.cumsum(axis=0) / weight.sum(axis=0)
        for row in range(x.shape[0]):
            for c in np.unique(chosen[:, row]):
                own = chosen[:, row] == c
                again = np.searchsorted(below[:-1, row, c], uniform[own])
                weight[own, row] = found[again, row]
        return weight

    def log_left_out(self, posterior: NormalWishart, x: Array, labels: Labels, point: Point | None = None) -> Array:
        if point is not None:
            raise ValueError(
                "leave-one-out is not available for a plugged-in covariance that all classes share; use "
                'estimate="predictive", or cross-validation'
            )
        return self.shared_left_out(posterior, None, x, labels)[np.arange(len(labels)), labels.codes]

    def shared_left_out(self, posterior: NormalWishart, s: Scatter | None, x: Array, labels: Labels) -> Array:
        # Leaving out a row of class k and weight w subtracts w from κ_k. In every class, it subtracts w from ν, and w
        # κ_k / (κ_k - w) g gᵀ from Ψ, where g is the distance of the row from m_k.
        _require_whole(x)
        total = np.zeros((len(x), labels.n))
        for k in np.unique(labels.codes):
            rows = np.flatnonzero((labels.codes == k) & ~np.isnan(x[:, 0]))
            own, weight, part = posterior.at(k), labels.weight[rows], x[rows]
            with np.errstate(all="ignore"):
                square = own.kappa * weight / (own.kappa - weight)
            gap = (part - own.m) - own.low
            total[rows, k] = log_student(own, distances(own, part), weight)
            for c in {*range(labels.n)} - {int(k)}:
                other = posterior.at(c)._with(dof=own.dof - weight, share=1.0)
                total[rows, c] = log_student_without_square(other, part, gap, square, np.zeros(len(rows)))
        return _kept(total, labels)

    def pymc_prior(self, *_: Any) -> NoReturn:
        raise ValueError("SharedGaussian, whose classes share a covariance, is not written in PyMC")


def _require_whole(x: Array) -> None:
    """Raise ``ValueError`` if only some cells of a row are missing: the posterior would have no closed form."""
    if (gap := gap_in_a_row(x)) is not None:
        row, column = gap
        raise ValueError(f"row {row} has no value in column {column} of its block: a block learns only from whole rows")


def _kept(log_p: Array, labels: Labels) -> Array:
    """The densities ``log_p``, (row, class); raise an error if rounding has destroyed one."""
    if (lost := np.isnan(log_p)).any():
        raise ImproperError(ROUNDED, (int(labels.codes[lost.any(1)][0]),))
    return log_p
