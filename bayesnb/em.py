"""EM for unlabelled rows: find the mode of the posterior."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from bayesnb.model import Data, NaiveBayes, Parameters, Posterior, Statistics, normalize
from bayesnb.model.naive_bayes import EXACT
from bayesnb.priors import Array, Prior, Theta
from bayesnb.priors.belief import Point
from bayesnb.statistics.statistic import arrays_of
from bayesnb.wording import Message


@dataclass(frozen=True, eq=False, repr=False)
class EM:
    """The result of EM from its best starting point.

    Parameters
    ----------
    posterior : Posterior
        The posterior given the labelled rows and the expected statistics of the unlabelled rows.
    objective : array (iteration,)
        Log prior density plus log-likelihood of all rows at each iteration, up to a constant if a prior is improper.
    converged : bool
        Whether the last iteration increased the objective by less than the tolerance.
    responsibilities : array (row, class)
        p(c | x, θ) of each unlabelled row at the last parameters.
    reached : array (start,)
        The final objective from every starting point.
    """

    posterior: Posterior
    objective: Array
    converged: bool
    responsibilities: Array
    reached: Array

    @property
    def statistics(self) -> Statistics:
        return self.posterior.statistics

    @property
    def iterations(self) -> int:
        return len(self.objective)

    def __repr__(self) -> str:
        ended = "converged" if self.converged else "DID NOT CONVERGE"
        starts = f", best of {len(self.reached)} starts" if len(self.reached) > 1 else ""
        return f"EM({ended} after {self.iterations} iterations, objective {self.objective[-1]:.6g}{starts})"


def em(
    model: NaiveBayes, labelled: Statistics, data: Data, n_rows: int, *, row_weight: Array | None = None,
    at: Point = "mode", starts: int = 1, tolerance: float = 1e-10, max_iterations: int = 1000, rng: Any = None,
) -> EM:  # fmt: skip
    """Find the mode of the posterior if some labels are unknown (Nigam et al. 2000).

    The objective, the log posterior density of the parameters, never decreases.

    Parameters
    ----------
    model : NaiveBayes
    labelled : Statistics
        The labelled rows, with all classes.
    data, n_rows : {name: encoded column}, int
        The unlabelled rows.
    row_weight : array (row,), optional
        The weight of each unlabelled row relative to a labelled row of weight 1.
    at : {"mode", "mean"}
        Whether each iteration uses the posterior mode or the posterior mean of the parameters. The posterior mean
        exists under every proper prior. With "mean", the objective is a density of transformed parameters: log-odds,
        log rates, and (μ, 1/σ) of a Normal.
    starts : int
        The number of starting points. The first starting point is the posterior given the labelled rows; each further
        starting point is a draw of the parameters from this posterior.
    tolerance : float
        EM has converged if the objective increases by at most ``tolerance`` per row.
    max_iterations : int
    rng : seed or Generator
        Used for all starting points but the first.

    Raises
    ------
    ValueError
        If two classes cannot be distinguished: neither has a labelled row, and their priors are equal.
    BoundaryError
        If ``at="mode"`` and a posterior has no mode.
    ImproperError
        If the posterior given only the labelled rows is improper.
    """
    said = "leave the rows without a label out, or give the column a family that has one, such as {cure}"
    model.require_exact("EM, which updates it in every iteration", Message(said, cure=EXACT))
    share = np.ones(n_rows) if row_weight is None else np.asarray(row_weight, float)
    labels = labelled.labels
    evenly = np.full((n_rows, len(labels)), 1 / max(1, len(labels)))
    # A prior that is scaled to the data depends on whole columns, not on classes, so any responsibilities determine it.
    fixed = model.posterior(_completed(model, labelled, data, evenly, share))
    every, data = data, fixed.without_constant(data)
    _require_distinct(fixed, labelled)
    alone = fixed.given(labelled)
    rng = np.random.default_rng(rng)
    climbs = []
    for start in range(starts):
        joint = alone.draw(rng).log_joint(data, n_rows) if start else alone.log_predictive(data, n_rows)
        r = np.exp(_log_responsibilities(joint, share))
        climbs.append(_climb(fixed, labelled, data, r, share, at, tolerance, max_iterations))
    reached = np.array([objective[-1] for _, objective, _, _ in climbs])
    posterior, objective, converged, r = climbs[int(reached.argmax())]
    if fixed.constant:
        posterior = fixed.given(_completed(model, labelled, every, r, share))
    return EM(posterior, objective, converged, r, reached)


def _require_distinct(posterior: Posterior, labelled: Statistics) -> None:
    empty = [c for c, rows in enumerate(labelled.rows) if rows <= 0]
    for a, b in combinations(empty, 2):
        if all(np.array_equal(v[a], v[b]) for prior in posterior.prior.values() for v in arrays_of(prior).values()):
            raise ValueError(
                f"classes {labelled.labels[a]!r} and {labelled.labels[b]!r} have no labelled row and the same prior "
                "in every feature, so they cannot be distinguished: label a row of each, or give a feature different "
                "priors, as {class: prior}"
            )


def _completed(model: NaiveBayes, labelled: Statistics, data: Data, r: Array, share: Array) -> Statistics:
    expected = model.expected_statistics(data, r * share[:, None], labelled.labels)
    return (labelled + expected).reindexed(labelled.labels)


def _log_responsibilities(log_joint: Array, share: Array) -> Array:
    ignored = (share == 0) & np.isneginf(log_joint).all(axis=1)
    return normalize(np.where(ignored[:, None], 0.0, log_joint))


def _climb(
    fixed: Posterior, labelled: Statistics, data: Data, r: Array, share: Array, at: Point, tolerance: float,
    max_iterations: int,
) -> tuple[Posterior, Array, bool, Array]:  # fmt: skip
    """Run EM from one starting point; return posterior, objective per iteration, convergence and responsibilities."""
    trace: list[float] = []
    enough = tolerance * max(1.0, float(labelled.rows.sum() + share.sum()))
    converged = False
    while not converged and len(trace) < max_iterations:
        believed = fixed.given(_completed(fixed.model, labelled, data, r, share))
        theta = believed.point(at)
        log_r = _log_responsibilities(theta.log_joint(data, len(share)), share)
        # The density of the expected statistics has Σ_c r_c log p(x, c | θ) per row. The objective has the logarithm
        # of Σ_c p(x, c | θ), which is larger by the cross-entropy (Neal and Hinton 1998).
        # A tiny r (such as 1e-17) may be lost when it is added to the prior. Treat it as 0: 0 · (-inf) would be NaN.
        with np.errstate(invalid="ignore"):
            cross_entropy = -np.where((r > 0) & np.isfinite(log_r), r * log_r, 0.0).sum(axis=1)
        trace.append(_log_density(believed, theta, at) + float(share @ cross_entropy))
        r = np.exp(log_r)
        converged = len(trace) > 1 and trace[-1] - trace[-2] <= enough
    return fixed.given(_completed(fixed.model, labelled, data, r, share)), np.array(trace), converged, r


def _log_density(believed: Posterior, theta: Parameters, at: Point) -> float:
    """Log prior density of ``theta`` plus log-likelihood of the learned rows."""
    label = believed.label
    total = _density(label, {"log_theta": theta.log_pi}, at) + _normalizers(believed.label_prior, label)
    total += label.log_base(believed.statistics.rows)
    for name, family in believed.model.features.items():
        prior, s = believed.prior[name], believed.statistics.features[name]
        posterior = believed.features[name]
        total += _density(posterior, theta.features[name], at)
        evidence = family.log_evidence(prior, s) if prior.proper().all() else np.array(-np.inf)
        if np.isfinite(evidence).all():
            total += float(evidence.sum())
        else:
            # An improper prior has no evidence, and counting a level of concentration 0 makes the evidence 0. Use the
            # integral of the likelihood instead, which differs from the evidence by a constant.
            total += _normalizers(prior, posterior) + float(family.log_base(s).sum())
    return total


def _density(posterior: Prior, theta: Theta, at: Point) -> float:
    """Log posterior density of one feature's parameters or, if ``at`` is "mean", of the transformed parameters."""
    density = sum(float(np.sum(each)) for each in posterior.log_prob_of_each(theta))
    return density + float(np.sum(posterior.log_jacobian(theta))) if at == "mean" else density


def _normalizers(prior: Prior, posterior: Prior) -> float:
    before = float(np.sum(prior.log_normalizer())) if prior.proper().all() else 0.0
    return float(np.sum(posterior.log_normalizer())) - before
