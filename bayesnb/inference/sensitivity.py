"""How predictions change if a prior or the likelihood is raised to a power.

See ``docs/how-to/how-much-the-prior-matters.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, Literal

import numpy as np
import pandas as pd

from bayesnb import priors
from bayesnb.data.schema import ALL, CLASS
from bayesnb.families.conjugate import Conjugate
from bayesnb.inference.believed import PREDICTIVE
from bayesnb.inference.classifier import Classifier
from bayesnb.inference.questions import Shown, question
from bayesnb.inference.sample import rows_to_ask
from bayesnb.model import Data, Estimate, EstimateRule, Posterior, estimate_rule, normalize
from bayesnb.numerics import Array, log
from bayesnb.wording import Cure, RefusedError

type Scaling = Literal["density", "rows"]


PARTS = ("prior", "likelihood")


STEP = 0.01
"""The step of the central difference, in ln s."""


FLAT: Mapping[type, Mapping[str, float]] = {
    priors.Dirichlet: {"alpha": 1.0},
    priors.Beta: {"alpha": 1.0, "beta": 1.0},
    priors.Gamma: {"alpha": 1.0, "beta": 0.0},
    priors.NormalGamma: {"kappa": 0.0, "a": 0.5, "b": 0.0},
    priors.NormalWishart: {"kappa": 0.0, "dof": 1.0, "scale": 0.0},
    priors.Normal: {"v": np.inf},
    priors.FixedProbabilities: {},
}
"""The parameters that make the density of each prior constant; the log density is linear in the finite ones."""


def powered[P: priors.Prior | priors.FixedProbabilities](prior: P, s: float, scaling: Scaling = "density") -> P:
    """A prior raised to the power s and normalized; ``ImproperError`` if the power is improper."""
    # scaling="rows": the imaginary rows of the prior are counted s times
    # The log density is linear in the parameters of the prior, and constant at the parameters of the flat prior. So the
    # power s multiplies the distance from the flat parameters by s. Counting the imaginary rows s times is the power of
    # the density of the log-odds, of the log rate, or of (μ, √τ); for a Normal-Wishart, of the density times (det
    # Λ)^(1/2).
    if isinstance(prior, priors.Normal | priors.FixedProbabilities):
        return prior._with(v=prior.v / s) if isinstance(prior, priors.Normal) else prior
    made = {}
    for name, flat in _flat(prior).items():
        own = np.asarray(getattr(prior, name), float)
        start = flat if scaling == "density" else 0.0
        value = start + s * (own - start)
        if isinstance(prior, priors.Dirichlet | priors.Beta):
            # An impossible level does not enter the density.
            value = np.where(own == 0, 0.0, value)
        if (lost := (own > 0) & (value <= 0)).any():
            where = tuple(int(i) for i in np.argwhere(lost)[0])
            raise priors.ImproperError(
                f"the power {s:g} of a prior with {name}={own[where]:g} would have {name}={value[where]:g}, and is no "
                f'density; use a smaller power, or scaling="rows"',
                where,
            )
        made[name] = value
    return prior._with(**made)


def _flat(prior: priors.Prior | priors.FixedProbabilities) -> Mapping[str, float]:
    if type(prior) not in FLAT:
        raise ValueError(f"a {type(prior).__name__} has no powers, so the question cannot be asked about it")
    return FLAT[type(prior)]


def largest_power(prior: priors.Prior | priors.FixedProbabilities, scaling: Scaling = "density") -> float:
    """The power below which the prior stays proper; infinite for most priors."""
    ends = [np.inf]
    for name, flat in _flat(prior).items() if scaling == "density" else ():
        own = np.asarray(getattr(prior, name), float)
        below = own[(own > 0) & (own < flat) & np.isfinite(flat)]
        ends.extend(flat / (flat - below))
    return float(min(ends))


@dataclass(frozen=True, eq=False)
class Factor:
    """A factor of the joint probability: one feature, or the class probabilities (then ``family`` is None)."""

    # ``s`` is the statistic of the learned rows. ``x`` are the cells of the rows to predict.

    prior: Any
    s: Any
    family: Conjugate | None
    x: Any
    rule: EstimateRule
    scaling: Scaling

    def log_term(self, of_prior: float, of_likelihood: float) -> Array:
        """Contribution of the factor to log p(class, row): (row, class), or (class,) for the class probabilities."""
        before = powered(self.prior, of_prior, self.scaling)
        if self.family is None:
            return log(getattr(before.plus(self.s, t=of_likelihood), self.rule.point)())
        believed = before.plus(*self.family.added(self.s), t=of_likelihood)
        if self.rule.plugs_in:
            return self.family.log_likelihood(self.family.plug_in(believed, self.rule.point), self.x)
        return self.family.log_predictive(believed, self.x)

    def log_evidence(self, of_prior: float, of_likelihood: float) -> float:
        """The log evidence of the factor, NaN if the prior is improper."""
        before = powered(self.prior, of_prior, self.scaling)
        if isinstance(before, priors.FixedProbabilities):
            return of_likelihood * before.log_evidence(self.s)
        if not before.proper().all():
            return np.nan
        d = (self.s,) if self.family is None else self.family.added(self.s)
        log_h = before.peak(self.s) if self.family is None else self.family.log_h(self.s)
        return float((before.along(*d, t=of_likelihood) + of_likelihood * log_h).sum())

    @property
    def most(self) -> float:
        """The power below which the prior of the factor stays proper."""
        return largest_power(self.prior, self.scaling)

    @property
    def flat(self) -> bool:
        """Whether raising the prior of the factor to a power does not change it."""
        twice = powered(self.prior, min(1.01, 0.5 + self.most / 2), self.scaling)
        return all(np.array_equal(getattr(self.prior, name), getattr(twice, name)) for name in _flat(self.prior))


def slope(f: Callable[[float], Any], step: float) -> Any:
    """The derivative of f(s) with respect to log2(s), at s = 1."""
    # The error of this five-point central difference in ln s is step⁴ / 30 times the fifth derivative.
    at = {k: f(float(np.exp(k * step))) for k in (-2, -1, 1, 2)}
    with np.errstate(invalid="ignore"):
        return np.log(2) * (8 * (at[1] - at[-1]) - (at[2] - at[-2])) / (12 * step)


def changes(
    posterior: Posterior, data: Data, n_rows: int, estimate: Estimate, scaling: Scaling = "density"
) -> tuple[Array, pd.DataFrame]:
    """Changes of class probabilities and log evidence per doubling of a prior's or likelihood's power."""
    # The changes of p(class | row) are an array (part, factor, row, class), with the sum over all factors last. The
    # changes of the log evidence, in nats, are a DataFrame (factor, part); the column ``flat`` is true for priors
    # unchanged by any power.
    # If one term of log p(c, x) changes by d_c, the probability of class c changes by p_c (d_c - Σ_k p_k d_k). To first
    # order, the changes by several powers add.
    every, fixed = factors(posterior, data, estimate, scaling)
    log_joint = np.zeros((n_rows, len(posterior.labels)))
    for term in (*(factor.log_term(1.0, 1.0) for parts in every.values() for factor in parts), *fixed.values()):
        log_joint += term
    p = np.exp(normalize(log_joint))
    change, evidence = np.zeros((2, len(every) + 1, *p.shape)), np.zeros((len(every) + 1, 2))
    for k, parts in enumerate(every.values()):
        # The evidence is strongly curved near the largest power, so the step is small compared with the distance to it.
        steps = min(STEP, 0.02 * np.log(min(factor.most for factor in parts))), STEP
        for part, step in enumerate(steps):

            def at(s: float, ask: Callable[..., Any], part: int = part, parts: Sequence[Factor] = parts) -> Any:
                return sum(ask(factor, *((1.0, s) if part else (s, 1.0))) for factor in parts)

            # The mode may give a class probability 0 under every power, and ln 0 has no slope.
            term = np.where(p > 0, slope(partial(at, ask=Factor.log_term), step), 0.0)
            change[part, k] = p * (term - (p * term).sum(axis=1, keepdims=True))
            evidence[k, part] = slope(partial(at, ask=Factor.log_evidence), step)
    change[:, -1], evidence[-1] = change[:, :-1].sum(axis=1), evidence[:-1].sum(axis=0)
    flat = [all(factor.flat for factor in parts) for parts in every.values()]
    table = pd.DataFrame(evidence, index=[*every, ALL], columns=list(PARTS)).assign(flat=[*flat, all(flat)])
    table.attrs["left_out"] = [*fixed]
    return change, table


def factors(
    posterior: Posterior, data: Data, estimate: Estimate, scaling: Scaling
) -> tuple[dict[Any, list[Factor]], dict[Any, Array]]:
    """The factors of the joint probability: of the classes and of each feature, by name."""
    rule = estimate_rule(estimate)

    def found(family: Any, prior: Any, s: Any, x: Any) -> list[Factor] | None:
        if type(prior) in FLAT:
            return [Factor(prior, s, family, x, rule, scaling)]
        # A feature such as ``Hurdle`` has two factors. If a prior cannot be raised to a power, such as a mixture,
        # ``fixed`` holds the log density of the rows, (row, class).
        if not isinstance(prior, priors.AllOf):
            return None
        each = [found(*own, seen) for own, seen in zip(family.each(prior, s), family.seen_by(x), strict=True)]
        return None if None in each else list(chain.from_iterable(each))

    every, fixed = {CLASS: [Factor(posterior.label_prior, posterior.statistics.rows, None, None, rule, scaling)]}, {}
    for name, family in posterior.model.features.items():
        if parts := found(family, posterior.prior[name], posterior.statistics.features[name], data[name]):
            every[name] = parts
        elif rule.plugs_in:
            theta = family.plug_in(posterior.features[name], rule.point)
            fixed[name] = family.log_likelihood(theta, data[name])
        else:
            fixed[name] = family.log_predictive(posterior.features[name], data[name])
    return every, fixed


ROWS = 200
"""Rows that are drawn from the model if none are given."""


def _largest(found: pd.DataFrame) -> str:
    worst, left_out = found["prior", "largest"].iloc[:-1], found.attrs["left_out"]
    note = f" Left out, because their priors have no powers: {', '.join(map(repr, left_out))}." if left_out else ""
    return (
        "To count the imaginary rows of a prior twice changes a class probability by at most about "
        f"{worst.max():.3g}: most by the prior of {worst.idxmax()!r}.{note}"
    )


@question(
    "to know how much the priors matter", "is the model right", "checks",
    Shown(
        "How much the priors matter", lines=lambda found: found["prior"].drop(columns="flat"), says=_largest,
        plot="sensitivity", asks={"scaling": "rows"}, finding=False,
    ),
    {
        "mean": "mean over the rows of the largest change of a class probability",
        "largest": "largest change of a class probability in any row",
        "log_evidence": "change of the log evidence, in nats",
    },
)  # fmt: skip
def sensitivity(
    classifier: Classifier, X: Any = None, scaling: Scaling = "density", by: Literal["factor", "row"] = "factor"
) -> pd.DataFrame:
    """How much each prior matters: the change of class probabilities if the prior's power is doubled.

    Parameters
    ----------
    X : table, optional
        Rows to predict; by default, 200 rows drawn from the model.
    scaling : {"density", "rows"}
        The meaning of a power s of the prior. "density" raises the density of the parameters to the power s, so
        Dirichlet(α) becomes Dirichlet(1 + s (α - 1)). "rows" multiplies the number of imaginary rows by s, so
        Dirichlet(α) becomes Dirichlet(s α).
    by : {"factor", "row"}
        Whether a row of the result is a factor of the model or a row of ``X``.

    Returns
    -------
    DataFrame (factor, ...)
        A factor is "(class)", a feature, or "(all)". Each column shows what changes if the ``prior`` or the
        ``likelihood`` is raised to a power. ``mean`` is the mean over the rows of the largest change of a class
        probability. ``largest`` is the largest change of a class probability in any row. ``log_evidence`` is the change
        of the log evidence in nats (NaN under an improper prior). ``flat`` is True if no power changes the prior.

        With ``by="row"``, each column is labelled by a pair: "prior" or "likelihood", and a factor. The values are
        signed changes of the probability of the predicted class. All changes are derivatives with respect to log2(s) at
        s = 1, where s is the power of the prior or likelihood.

        ``attrs["left_out"]`` lists the features whose priors cannot be raised to a power (``Ordinal``, ``PolyaTree``,
        ``Mixture``, ``Rounded``). These features have no row in the table, and "(all)" keeps their priors.

    Raises
    ------
    ValueError
        If the model has a feature sampled by MCMC, learned rows without a label, a ``dependence``, an estimate without
        a prior ("mle"), or a class prior for each row.

    Notes
    -----
    Prior scales computed from data stay fixed when a power changes.

    Examples
    --------
    >>> from bayesnb import BayesianNB, Dirichlet, checks, datasets
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB(class_prior=Dirichlet(3)).fit(X, y)
    >>> checks.sensitivity(clf, X, scaling="rows")["prior"][["mean", "largest", "log_evidence"]].round(2)
                 mean  largest  log_evidence
    factor
    (class)      0.02     0.02          0.17
    outlook      0.03     0.11          0.63
    temperature  0.01     0.02          1.09
    humidity     0.02     0.04          0.42
    wind         0.01     0.02          0.60
    (all)        0.04     0.09          2.92
    """
    classifier.require_one_class_prior("the sensitivity to a prior")
    classifier.require_counted("powers are of the likelihood of rows that were counted")
    classifier.posterior.require_exact("a power of its prior", "fit it again under another prior")
    classifier.believed.require_naive("the exponents were learned under these priors and would change with them")
    if estimate_rule(classifier.estimate).flat:
        raise RefusedError(
            "{estimate} has no prior: {cure}", estimate=Cure("estimate", classifier.estimate), cure=PREDICTIVE
        )
    data, n, index = rows_to_ask(classifier, X, ROWS)
    change, evidence = changes(classifier.posterior, data, n, classifier.estimate, scaling)
    if by == "row":
        top = classifier.believed.log_joint(data, n).argmax(axis=1)
        own = change[..., np.arange(n), top].reshape(-1, n).T
        columns = pd.MultiIndex.from_product([PARTS, evidence.index], names=["part", "factor"])
        of_each = pd.DataFrame(own, index=index, columns=columns)
        of_each.attrs = evidence.attrs
        return of_each
    of_row = np.abs(change).max(axis=-1)
    found: dict[tuple[str, str], Any] = {}
    for part, size in zip(PARTS, of_row, strict=True):
        found[part, "mean"], found[part, "largest"] = size.mean(axis=1), size.max(axis=1)
        found[part, "log_evidence"] = evidence[part].to_numpy()
        if part == "prior":
            found[part, "flat"] = evidence["flat"].to_numpy()
    table = pd.DataFrame(found, index=pd.Index(evidence.index, name="factor"))
    table.attrs = evidence.attrs
    return table
