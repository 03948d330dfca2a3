"""The sections that hold a model against its rows: dependence, predictive checks, doubtful labels, and the priors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bayesnb import checks, plots, sets
from bayesnb.report.parts import Grid, Part, Picture, Section, with_error, with_interval

if TYPE_CHECKING:
    from bayesnb.data.tables import Table
    from bayesnb.dependence.audit import Independence
    from bayesnb.estimator import BayesianNB
    from bayesnb.inference.checks import PredictiveChecks

DEPENDENCE = "Dependence between columns"
FIT = "Does the model fit"
LABELS = "Labels to doubt"
PRIORS = "How much the priors matter"

MOST_ROWS = 200
"""Rows that are asked about priors; of more, so many that are spread evenly over the table."""


def dependence(found: Independence, prob: float, top: int = 10, of: str | None = None) -> Section:
    """Which columns depend on each other given the class, and what to do about it; ``of`` is what the model has."""
    if found.pairs.empty:
        return Section(DEPENDENCE, [], str(found), folded=True)
    lead = str(found)
    if of is not None:
        lead = f"{lead.rpartition(';')[0]}; the model has dependence={of!r}, which learns exponents against that."
    w, pairs, best = found.exponent, found.pairs.head(top), found.pairs.iloc[0]
    frame = pd.DataFrame({
        "pair": pairs["first"].map(str) + " × " + pairs["second"].map(str),
        "log BF": pairs["log_bayes_factor"].map("{:.1f}".format),
        "information": list(map(with_interval, pairs["information"], pairs["lower"], pairs["upper"])),
        "gain": [with_error(*both, sign="+") for both in zip(pairs["gain"], pairs["se"], strict=True)],
        "score": pairs["score"].map("{:+.1f}".format),
    }).set_index("pair")  # fmt: skip
    shown = f"The {len(pairs)} most dependent of {len(found.pairs)} pairs. " if len(pairs) < len(found.pairs) else ""
    says = (
        f"Mutual information of {len(found.pairs)} pairs of {len(found.columns)} columns given the class. The most "
        f"dependent: {best['first']!r} and {best['second']!r}, {best['information']:.2f} nats."
    )
    parts: list[Part] = [
        f"One exponent for all columns: {w['mean']:.2f}, {prob:.0%} interval {w['lower']:.2f} to {w['upper']:.2f} "
        "(1 is naive Bayes).",
        Picture(lambda: plots.independence(found), "Mutual information given the class", says),
        Grid(frame, "Dependence of pairs of columns"),
        f"{shown}log BF: log Bayes factor of dependence given the class; chance hardly gives more than "
        f"{found.threshold:.1f}. information: mutual information given the class, adjusted for what chance gives, with "
        f"its {prob:.0%} interval. gain: by how much the log loss of left-out rows falls when the pair is modelled. "
        "All in nats. score: by how many standard errors the labels speak for the pair on top of "
        'dependence="weighted".',
    ]
    return Section(DEPENDENCE, parts, lead, lead, folded=True)


def fit(found: PredictiveChecks, prob: float, top: int = 10) -> Section:
    """Whether tables that the model makes look like the one that it has learned."""
    if found.table.empty:
        return Section(FIT, [], str(found), folded=True)
    worst = found.table.iloc[0]
    says = f"The checks that are farthest away, first the {worst['statistic']} of {worst['first']!r}."
    parts: list[Part] = [Picture(lambda: plots.predictive_checks(found), "Predictive checks", says)]
    if not found.fits:
        lines = found.failed.head(top)
        pairs = zip(lines["first"], lines["second"], strict=True)
        frame = pd.DataFrame({
            "column": [str(a) if b is None else f"{a} × {b}" for a, b in pairs],
            "class": lines["class"].map(str),
            "statistic": lines["statistic"],
            "observed": lines["observed"].map("{:.3g}".format),
            "from the model": lines["lower"].map("{:.3g}".format) + " to " + lines["upper"].map("{:.3g}".format),
            "p adjusted": lines["p_adjusted"],
        }).set_index("column")  # fmt: skip
        shown = f"The {len(lines)} worst of {len(found.failed)}. " if len(lines) < len(found.failed) else ""
        parts += [
            Grid(frame, "Checks that speak against the model"),
            f"{shown}from the model: the {prob:.0%} interval in {found.draws} tables that it makes, each with its own "
            "draw of the parameters. p adjusted: the share of these tables in which any check is as far away.",
        ]
    return Section(FIT, parts, str(found), str(found), folded=True)


def labels(found: pd.DataFrame, top: int = 10, judged_with: str | None = None) -> Section:
    """How many labels are expected to be wrong, and the rows whose label is the least probable.

    ``judged_with`` is the dependence that judges them because the audit of the columns advises it.
    """
    from bayesnb.inference.label_noise import sentence

    says = sentence(n=len(found), **found.attrs)
    if judged_with is not None:
        says += f' Labels are judged with dependence="{judged_with}", which the audit of the columns advises.'
    frame = found.head(top).rename(columns={"suggested_probability": "its probability"}).rename_axis("row")
    text = (
        "probability: of the label, by the model of all other rows. suggested: the most probable class, and its "
        "probability. wrong: the probability that the label is wrong, if a share of all labels was replaced by another "
        "class. Where classes overlap, right labels are improbable at times."
    )
    return Section(LABELS, [Grid(frame, "Labels that are the least probable"), text], says, says, folded=True)


def priors(clf: BayesianNB, table: Table) -> Section:
    """What a stronger prior would change, and how many rows have an answer that no prior would change."""
    from bayesnb.evaluation import rows_at

    some = np.unique(np.linspace(0, table.n_rows - 1, min(table.n_rows, MOST_ROWS)).astype(int))
    rows = rows_at(table, some)
    found = checks.sensitivity(clf, rows, scaling="rows")
    worst = found["prior", "largest"].iloc[:-1]
    says = f"Change of class probabilities by factor. Largest: {worst.max():.3g}, by the prior of {worst.idxmax()!r}."
    parts: list[Part] = [
        "The imaginary rows that a prior counts as are counted s times. The picture shows the change of class "
        "probabilities with each doubling of s, at s = 1, over the rows.",
        Picture(lambda: plots.sensitivity(found), PRIORS, says),
    ]
    if clf.estimate != "predictive":
        return Section(PRIORS, parts, folded=True)
    sure = sets.predict_credal(clf, rows).xs("undominated", axis=1, level=1).sum(axis=1) == 1
    said = (
        f"Under all priors of the imprecise Dirichlet model (s = 1) for nominal columns and the classes, "
        f"{int(sure.sum())} of {len(sure)} rows have one class that is more probable than any other."
        + ("" if sure.all() else " The choice of the prior can decide the others.")
    )
    return Section(PRIORS, parts, said, said, folded=True)


def doubts(clf: BayesianNB, X: Any, y: Any, advice: str | None) -> tuple[pd.DataFrame, str | None]:
    """The labels to doubt, judged with the dependence that an audit advises, and its name if the model has not it."""
    from bayesnb.learning import as_advised

    judge = as_advised(clf.classifier_, advice, X, y)
    return checks.suspicious_labels(judge, X, y), None if judge is clf.classifier_ else advice
