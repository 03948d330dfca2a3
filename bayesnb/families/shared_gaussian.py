"""Several columns of real numbers as one vector, with one covariance for all classes: linear discriminant analysis."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn, Self

import numpy as np
from numpy.random import Generator

from bayesnb.families.columns import rows_of
from bayesnb.families.conjugate import ROUNDED, Point
from bayesnb.families.multivariate_gaussian import (
    MultivariateGaussian,
    distances,
    log_student,
    log_student_without_square,
)
from bayesnb.kernels.blocks import CELLS, slices
from bayesnb.numerics import Array, Size
from bayesnb.priors import ImproperError, NormalWishart, Theta, matrices
from bayesnb.priors.common_draws import CommonDraws
from bayesnb.statistics.membership import Labels
from bayesnb.statistics.scatter import Scatter, require_whole

DRAWS = 4000
"""Draws of the parameters of all classes, where an answer needs those of two classes together."""


@dataclass(frozen=True, eq=False)
class SharedGaussian(MultivariateGaussian):
    """x | c, μ, Λ ~ Normal(μ_c, Λ⁻¹), a vector, with one Λ ~ Wishart(ν, Ψ⁻¹) and each μ_c | Λ ~ Normal(m, (κΛ)⁻¹).

    All classes have the same covariance, so the log-odds of a plug-in are linear in the columns: this is linear
    discriminant analysis with its parameters integrated out (BDA3 3.6; Murphy 2022, PML1 9.2). With S_c and x̄_c of the
    rows of each class, Ψ' = Ψ + Σ_c [S_c + κ n_c / (κ + n_c) (x̄_c - m)(x̄_c - m)ᵀ] and ν' = ν + Σ_c n_c. The predictive
    of a class is a multivariate Student-t of this Ψ' and ν'. With ``"gaussian"`` (each column by itself) and
    ``"multivariate-gaussian"`` (a covariance for each class) it is the textbook's choice of a covariance: diagonal,
    shared or full.

    What a row says changes the belief about every class, since they share Λ. So intervals are made of draws, rows are
    left out exactly, and what needs the classes to be independent is refused by name: moments of the log-odds, EM,
    exponents, full conformal sets, and PyMC.

    Parameters
    ----------
    prior : NormalWishart
        One for all classes.

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
        """The prior at its full shape. Where means have no prior (κ = 0), each but one takes a degree of freedom.

        So the mode under the flat prior has the divisor N, and that under the reference prior N - 1.
        """
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
        """log p(rows of a class | rows of the classes before it), (class,)."""
        super().log_evidence(prior, s)
        d, log_h = self.added(s)
        found, held = [], prior.at([0])
        for c in range(len(log_h)):
            own = tuple(v[c : c + 1] for v in d)
            found.append(held.along(*own))
            after = held.plus(*own)
            held = prior.at([0])._with(scale=after.scale, dof=after.dof)
        return np.concatenate(found) + log_h

    def mode(self, posterior: NormalWishart) -> Theta:
        # The density of each mean is a root of det Λ, of which a class by itself has one.
        return posterior._with(dof=posterior.dof + (len(posterior.dof) - 1)).mode_theta()

    def draw(self, posterior: NormalWishart, rng: Generator, size: Size = ()) -> Theta:
        precision = posterior.at([0]).draw_theta(rng, size)["precision"]
        inverse = matrices.root(precision)[1]
        z = rng.standard_normal((*precision.shape[:-3], *posterior.m.shape)) / np.sqrt(posterior.kappa)[:, None]
        low = posterior.low + (z[..., None, :] @ inverse)[..., 0, :]
        mu = np.broadcast_to(posterior.m, low.shape)
        return {"mu": mu, "low": low, "precision": np.broadcast_to(precision, (*low.shape, low.shape[-1]))}

    def paired(self, posterior: NormalWishart, x: Array) -> Iterator[tuple[slice, Array]]:
        """log p(x | θ) at draws of θ of all classes together, (draw, row, class), a few rows at a time."""
        theta = self.draw(posterior, np.random.default_rng(0), (DRAWS,))
        for cut in slices(rows_of(x), max(1, CELLS // (DRAWS * len(posterior.kappa)))):
            yield cut, self.log_likelihood(theta, x[cut])

    def log_likelihood_given_row(
        self, posterior: NormalWishart, theta: Theta, x: Array, chosen: Array, common: CommonDraws
    ) -> Array:
        # The draws are chosen anew, each with a probability proportional to what it says of the row in its class.
        found = self.log_likelihood(theta, x)
        uniform = common.generator().random(len(found))
        weight = np.exp(found - found.max(axis=0))
        below = weight.cumsum(axis=0) / weight.sum(axis=0)
        for row in range(rows_of(x)):
            for c in np.unique(chosen[:, row]):
                own = chosen[:, row] == c
                again = np.searchsorted(below[:-1, row, c], uniform[own])
                weight[own, row] = found[again, row]
        return weight

    def log_left_out(self, posterior: NormalWishart, x: Array, labels: Labels, point: Point | None = None) -> Array:
        if point is not None:
            raise ValueError(
                "no row is left out of a covariance that all classes share where it is plugged in; use "
                'estimate="predictive", or cross-validation'
            )
        return self._left_out(posterior, x, labels)[np.arange(len(labels)), labels.codes]

    def shared_left_out(self, posterior: NormalWishart, s: Scatter, x: Array, labels: Labels) -> Array:
        return self._left_out(posterior, x, labels)

    def _left_out(self, posterior: NormalWishart, x: Array, labels: Labels) -> Array:
        """log p(x_i | c, all rows but i) of every class c, (row, class).

        Without a row of weight w of class k, Ψ has lost w κ_k / (κ_k - w) g gᵀ, where g is its distance from m_k, and ν
        has lost w, in every class; its own class has lost w of κ_k too.
        """
        require_whole(x)
        total = np.zeros((len(x), labels.n))
        for k in np.unique(labels.codes):
            rows = np.flatnonzero((labels.codes == k) & ~np.isnan(x[:, 0]))
            own, weight, part = posterior.at(k), labels.weight[rows], x[rows]
            with np.errstate(all="ignore"):
                square = own.kappa * weight / (own.kappa - weight)
            gap = (part - own.m) - own.low
            for c in range(labels.n):
                other = posterior.at(c)._with(dof=own.dof - weight, share=1.0)
                total[rows, c] = (
                    log_student(own, distances(own, part), weight)
                    if c == k
                    else log_student_without_square(other, part, gap, square, np.zeros(len(rows)))
                )
        if (lost := np.isnan(total)).any():
            raise ImproperError(ROUNDED, (int(labels.codes[lost.any(1)][0]),))
        return total

    def pymc_prior(self, *_: Any) -> NoReturn:
        raise ValueError("SharedGaussian, whose classes share a covariance, is not written in PyMC")
