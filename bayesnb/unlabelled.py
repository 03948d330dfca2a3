"""Rows without a label: EM to the mode of the posterior.

Start with :func:`em`, the fast road: it climbs to parameters that explain labelled and unlabelled rows together,
and reports the objective it climbed. The PyMC model with the labels summed out is ``sampling.pymc_model.summed_out``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np

from bayesnb.families.family import Discrete, Family, Theta
from bayesnb.families.membership import Responsibilities
from bayesnb.model import Data, NaiveBayes, Parameters, Posterior, Statistics, normalize
from bayesnb.priors import Array, Known, Prior

type Point = Literal["map", "mean"]


@dataclass(frozen=True, eq=False, repr=False)
class EM:
    """Where EM arrived, from the best of its starts.

    Parameters
    ----------
    posterior : Posterior
        What is believed given the expected statistics; its priors are those that EM held.
    objective : array (iteration,)
        What EM increases, at the parameters of each iteration: log prior density + labelled log joint + the
        weighted Σ log Σ_c p(x, c | θ) of the unlabelled rows. (Up to a constant where a prior is improper.)
    converged : bool
        Whether the last step gained less than the tolerance.
    responsibilities : array (row, class)
        p(c | x, θ) of each unlabelled row at the last parameters.
    reached : array (start,)
        The last objective of every start.
    """

    posterior: Posterior
    objective: Array
    converged: bool
    responsibilities: Array
    reached: Array

    @property
    def statistics(self) -> Statistics:
        """Those of the labelled rows, plus the weighted expected ones of the unlabelled rows."""
        return self.posterior.statistics

    @property
    def iterations(self) -> int:
        """Parameters that were tried, by the best start."""
        return len(self.objective)

    def __repr__(self) -> str:
        ended = "converged" if self.converged else "DID NOT CONVERGE"
        starts = f", best of {len(self.reached)} starts" if len(self.reached) > 1 else ""
        return f"EM({ended} after {self.iterations} iterations, objective {self.objective[-1]:.6g}{starts})"


def em(
    model: NaiveBayes,
    labelled: Statistics,
    data: Data,
    n_rows: int,
    *,
    weight: float = 1.0,
    row_weight: Array | None = None,
    at: Point = "map",
    starts: int = 1,
    tolerance: float = 1e-10,
    max_iterations: int = 1000,
    rng: Any = None,
) -> EM:
    """Climb to the mode of the posterior, the labels of some rows unknown (Nigam et al. 2000).

    Each iteration updates the conjugate posteriors with the rows' responsibilities as if they were counts,
    takes its mode, and works out the responsibilities again; so the objective never falls.

    Parameters
    ----------
    model : NaiveBayes
    labelled : Statistics
        Of the labelled rows, with all classes.
    data : {name: encoded column}
        The unlabelled rows.
    n_rows : int
        Their number.
    weight : float
        λ, what an unlabelled row counts beside a labelled one.
    row_weight : array (row,), optional
        Frequency weights of the unlabelled rows.
    at : {"map", "mean"}
        The parameters to plug in: the mode of each conjugate posterior, or its mean. The mean is the mode too,
        of the density on another scale (log-odds of probabilities, logs of rates, (μ, 1/σ) of a Normal), and the
        objective is then of that density. It exists under every proper prior, and it smooths: under Dirichlet(1)
        it is Laplace's rule, as in Nigam et al., where the mode is plain counting.
    starts : int
        The first start has the responsibilities that the labelled rows alone predict, the others those at
        random draws of the labelled rows' posterior. The best is kept.
    tolerance : float
        EM has converged when a step gains no more than this per row.
    max_iterations : int
    rng : seed or Generator
        For further starts.

    Raises
    ------
    ValueError
        If nothing tells two classes apart: neither has a labelled row, and their priors are the same.
    BoundaryError
        If ``at="map"`` and a mode does not exist, naming the cell.
    ImproperError
        If the labelled rows alone make no proper posterior to start from.
    """
    require_settings(weight, starts)
    model.require_exact("EM, which updates it in every iteration", "leave the rows without a label out")
    if at not in ("map", "mean"):
        raise ValueError(f"Expected at to be 'map' or 'mean'; got {at!r}")
    if max_iterations < 1:
        raise ValueError(f"Expected at least one iteration; got {max_iterations!r}")
    share = _shares(weight, row_weight, n_rows)
    labels = labelled.labels
    evenly = np.full((n_rows, len(labels)), 1 / max(1, len(labels)))
    # What a prior leaves to the data depends on whole columns only: any responsibilities give the same.
    held = model.posterior(_completed(model, labelled, data, evenly, share))
    require_told_apart(held, labelled)
    alone = held.given(labelled)
    rng = np.random.default_rng(rng)
    climbs = []
    for start in range(starts):
        joint = alone.draw(rng).log_joint(data, n_rows) if start else alone.log_predictive(data, n_rows)
        r = np.exp(_log_responsibilities(joint, share))
        climbs.append(_climb(held, labelled, data, r, share, at, tolerance, max_iterations))
    reached = np.array([objective[-1] for _, objective, _, _ in climbs])
    posterior, objective, converged, r = climbs[int(reached.argmax())]
    return EM(posterior, objective, converged, r, reached)


def require_settings(weight: float, starts: int) -> None:
    """Refuse a weight that is no weight, and a number of starts that is none."""
    if not isinstance(weight, int | float | np.number) or not (np.isfinite(weight) and weight >= 0):
        raise ValueError(f"Expected the weight of unlabelled rows to be finite and not negative; got {weight!r}")
    if not isinstance(starts, int | np.integer) or isinstance(starts, bool) or starts < 1:
        raise ValueError(f"Expected a whole number of EM starts, at least 1; got {starts!r}")


def require_told_apart(posterior: Posterior, labelled: Statistics) -> None:
    """Refuse two classes that have neither a labelled row nor priors that differ."""
    empty = [c for c, rows in enumerate(labelled.rows) if rows <= 0]
    for a, b in combinations(empty, 2):
        if all(_same(prior, a, b) for prior in posterior.prior.values()):
            raise ValueError(
                f"classes {labelled.labels[a]!r} and {labelled.labels[b]!r} have no labelled row and the same prior "
                "in every feature, so nothing tells them apart: label a row of each, or give a feature priors that "
                "differ, as {class: prior}"
            )


def _same(prior: Prior, a: int, b: int) -> bool:
    arrays = [v for v in vars(prior).values() if isinstance(v, np.ndarray)]
    return all(np.array_equal(v[a], v[b]) for v in arrays)


def _shares(weight: float, row_weight: Array | None, n_rows: int) -> Array:
    """What each unlabelled row counts beside a labelled one."""
    rows = np.ones(n_rows) if row_weight is None else np.asarray(row_weight, float)
    if rows.shape != (n_rows,) or not (np.isfinite(rows) & (rows >= 0)).all():
        raise ValueError(f"Expected {n_rows} row weights, finite and not negative; got {row_weight!r}")
    return weight * rows


def _completed(model: NaiveBayes, labelled: Statistics, data: Data, r: Array, share: Array) -> Statistics:
    """The labelled rows' statistics, plus what the unlabelled rows are expected to add."""
    expected = model.statistics(data, Responsibilities(r * share[:, None]), labelled.labels)
    return (labelled + expected).over(labelled.labels)


def _log_responsibilities(log_joint: Array, share: Array) -> Array:
    """log p(c | x, θ); a row that counts nothing may be impossible."""
    nothing = (share == 0) & np.isneginf(log_joint).all(axis=1)
    return normalize(np.where(nothing[:, None], 0.0, log_joint))


def _climb(
    held: Posterior,
    labelled: Statistics,
    data: Data,
    r: Array,
    share: Array,
    at: Point,
    tolerance: float,
    max_iterations: int,
) -> tuple[Posterior, Array, bool, Array]:
    """EM from one start: the posterior, the trace of the objective, whether it converged, responsibilities."""
    trace: list[float] = []
    enough = tolerance * max(1.0, float(labelled.rows.sum() + share.sum()))
    converged = False
    while not converged and len(trace) < max_iterations:
        believed = held.given(_completed(held.model, labelled, data, r, share))
        theta = believed.mode() if at == "map" else believed.mean()
        log_r = _log_responsibilities(theta.log_joint(data, len(share)), share)
        # With the labels' distribution r, the unlabelled rows add r log p(x, c); what they add to the objective is
        # log Σ_c p(x, c). The difference is the cross-entropy. (A count lost beside its prior, r = 1e-17, is none.)
        with np.errstate(invalid="ignore"):
            surprise = -np.where((r > 0) & np.isfinite(log_r), r * log_r, 0.0).sum(axis=1)
        trace.append(_log_density(believed, theta, at) + float(share @ surprise))
        r = np.exp(log_r)
        converged = len(trace) > 1 and trace[-1] - trace[-2] <= enough
    return held.given(_completed(held.model, labelled, data, r, share)), np.array(trace), converged, r


def _log_density(believed: Posterior, theta: Parameters, at: Point) -> float:
    """log p(θ) + log p(D | θ), D the statistics of ``believed``: by Bayes' rule log p(θ | D) + log p(D)."""
    pi, rows = np.exp(theta.log_pi), believed.statistics.rows
    if isinstance(believed.label, Known):
        total = float((rows[rows > 0] * theta.log_pi[rows > 0]).sum())
    else:
        total = _one_factor(believed.label_prior, believed.label, (pi,), at)
    for name, family in believed.model.features.items():
        prior, s = believed.prior[name], believed.statistics.features[name]
        posterior, point = _terms(family, believed.features[name], theta.features[name])
        before = _terms(family, prior, theta.features[name])[0]
        # A level of concentration 0 that was counted all the same costs a constant, which is infinite: left out.
        base = family.log_base(believed.features[name] if isinstance(family, Discrete) else prior, s)
        total += _one_factor(before, posterior, point, at) + float(base.sum())
    return total


def _one_factor(prior: Prior, posterior: Prior, theta: Sequence[Array], at: Point) -> float:
    total = float((posterior.log_prob(*theta) + posterior.log_normalizer()).sum())
    if prior.proper().all():
        total -= float(np.sum(prior.log_normalizer()))
    return total + (float(np.sum(posterior.log_jacobian(*theta))) if at == "mean" else 0.0)


def _terms(family: Family, prior: Prior, theta: Theta) -> tuple[Prior, Sequence[Array]]:
    """A prior and θ in the terms of its density; all outcomes of a discrete family, so that 1 - θ keeps its digits."""
    if isinstance(family, Discrete):
        return family.simplex(prior), (np.exp(theta["log_theta"]),)
    return prior, tuple(family.variables(theta).values())
