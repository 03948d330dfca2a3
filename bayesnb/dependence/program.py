"""The exponents as a PyMC model, to check their posterior by NUTS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import ndtr

from bayesnb.chains import Convergence, Sampler
from bayesnb.dependence.likelihood import Rows, log_posterior_of_classes
from bayesnb.dependence.posterior import LearnedExponents
from bayesnb.numerics import Array

if TYPE_CHECKING:
    import pymc as pm


def pymc_model(rows: Rows, learned: LearnedExponents) -> pm.Model:
    """A PyMC model of the exponents; ``learned`` holds their prior, and ``rows`` the terms that they multiply."""
    # The variables have the same names as in sample_posterior().
    import pymc as pm
    from pytensor import tensor as pt

    learned = learned.largest
    layout, n = learned.layout, learned.layout.terms
    # The posterior is cut (Plummer 2015): the labels change the exponents, but not the terms.
    rows = rows.first(n, layout.cells)
    deviations = layout.own[layout.own < n]
    mean, every = learned.prior
    sd = every[n:].reshape(layout.classes, -1)
    with pm.Model() as model:
        w = pm.Normal("w", mean[:n], every[:n], shape=n)
        b = pm.Normal("b", 0.0, sd[:, -1], shape=layout.classes)
        joint = rows.offset + rows.alike[:, -1:] * b + pt.tensordot(rows.terms, w, axes=1)
        if len(deviations):
            d = pm.Normal("d", 0.0, sd[:, : len(deviations)], shape=(layout.classes, len(deviations)))
            joint += (rows.terms[:, :, deviations] * d).sum(-1)
        if layout.cells:
            b_cell = pm.Normal("b_cell", 0.0, sd[:, len(deviations) : -1], shape=(layout.classes, layout.cells))
            joint += pt.dot(rows.alike[:, :-1], b_cell.T)
        own = joint[np.arange(len(rows.codes)), rows.codes]
        pm.Potential("labels", (rows.weight * (own - pt.logsumexp(joint, axis=1))).sum())
    return model


def parameters_of(drawn: dict[str, Array]) -> Array:
    """Convert draws of the PyMC variables to an array of parameters, (draw, parameter)."""
    own = [drawn[name] for name in ("d", "b_cell") if name in drawn]
    own = np.concatenate([*own, drawn["b"][..., None]], axis=-1)
    return np.concatenate([drawn["w"], own.reshape(len(own), -1)], axis=-1)


LEVEL = 1e-4
"""Upper bound of the false-alarm rate of the comparison."""

SKEW = 0.2
"""Tolerance of the difference of means, in posterior standard deviations."""


@dataclass(frozen=True, eq=False)
class Verdict:
    """Comparison of the learned posterior with the posterior sampled by NUTS.

    Parameters
    ----------
    parameters : DataFrame
        One row per exponent and offset. ``mean`` and ``sd`` are from the variational Gaussian approximation;
        ``nuts_mean`` and ``nuts_sd`` are from NUTS. ``off`` is the difference of the means in units of ``nuts_sd``.
        ``mcse`` is the Monte Carlo standard error of ``nuts_mean``. ``z`` is the z-score of the difference of the means
        beyond the tolerance ``SKEW`` × ``nuts_sd``.
    probability : float
        The largest difference between a learned class probability and its average over the draws of NUTS.
    convergence : Convergence
    """

    parameters: pd.DataFrame
    probability: float
    convergence: Convergence

    @property
    def p_value(self) -> float:
        """The p-value of the largest absolute z-score of all parameters, with Bonferroni's correction."""
        return min(1.0, 2 * float(ndtr(-self.parameters["z"].abs().max())) * len(self.parameters))

    @property
    def agrees(self) -> bool:
        """Whether the chains converged, and all means differ by at most ``SKEW`` sd, apart from Monte Carlo error."""
        return self.convergence.converged and self.p_value >= LEVEL

    def __str__(self) -> str:
        worst, ratio = self.parameters["off"].abs().max(), self.parameters["sd"] / self.parameters["nuts_sd"]
        said = "agree" if self.agrees else "do not agree" if self.convergence.converged else "cannot be compared"
        return (
            f"the exponents as learned and as sampled {said}: their means differ by at most {worst:.2f} posterior "
            f"standard deviations (largest |z| {self.parameters['z'].abs().max():.1f}, p {self.p_value:.2g}), the "
            f"standard deviations are {ratio.min():.2f} to {ratio.max():.2f} times the sampled ones, and class "
            f"probabilities differ by at most {self.probability:.3f}; {self.convergence}"
        )


def verify(
    rows: Rows, learned: LearnedExponents, classes: Sequence[Any], cells: Sequence[str], **sampler: Any
) -> Verdict:
    """Sample the exponents with NUTS, given the same rows, and compare the draws with the learned exponents."""
    from arviz_stats.base import array_stats

    learned = learned.largest
    rows = rows.first(learned.layout.terms, learned.layout.cells)
    model, judge = pymc_model(rows, learned), Sampler(**sampler)
    names = [variable.name for variable in model.free_RVs]
    drawn, convergence = judge.run(model, names, "the exponents")
    points = parameters_of(drawn)
    ours, v = np.exp(learned.log_proba(rows.terms, rows.offset, rows.alike)), learned.layout.exponents(points)
    theirs = np.exp(log_posterior_of_classes(rows.terms, rows.offset, v, rows.alike)).mean(-1).T
    mean, sd = points.mean(0), points.std(0)
    own_mean, covariance = learned.moments()
    own_sd = np.sqrt(np.diag(covariance))
    error = array_stats.mcse(points.T.reshape(points.shape[1], judge.chains, -1), chain_axis=1, draw_axis=2)
    columns = {"mean": own_mean, "sd": own_sd, "nuts_mean": mean, "nuts_sd": sd, "off": (own_mean - mean) / sd}
    away, known = own_mean - mean, SKEW * sd
    columns |= {"mcse": error, "z": np.sign(away) * np.maximum(np.abs(away) - known, 0.0) / error}
    names = [*map(str, learned.names), *cells, "offset"]
    index = names[: learned.layout.terms] + [f"{names[t]}, class {c}" for c in classes for t in learned.layout.own]
    return Verdict(pd.DataFrame(columns, pd.Index(index)), float(np.abs(ours - theirs).max()), convergence)
