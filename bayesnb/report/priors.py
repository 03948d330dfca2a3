"""The section of the page about the priors: how much each of them matters, and what holds under all of a set."""

from __future__ import annotations

import numpy as np

from bayesnb import plots
from bayesnb.data.tables import Table
from bayesnb.estimator import BayesianNB
from bayesnb.evaluation import rows_at
from bayesnb.report.parts import Grid, Part, Picture, Section

PRIORS = "How much the priors matter"

MOST_ROWS = 200
"""Rows that are asked about; of more, so many that are spread evenly over the table."""


def priors(clf: BayesianNB, table: Table) -> Section:
    """What a stronger prior would change, and how many rows have an answer that no prior would change."""
    some = np.unique(np.linspace(0, table.n_rows - 1, min(table.n_rows, MOST_ROWS)).astype(int))
    rows = rows_at(table, some)
    found = clf.sensitivity(rows, scaling="rows")
    parts: list[Part] = [
        "The imaginary rows that a prior counts as are counted s times. The table shows the change of class "
        "probabilities with each doubling of s, at s = 1: the largest change of a class probability, its mean and its "
        "largest value over the rows. likelihood is the same for the learned rows. log_evidence is the change of the "
        "log evidence, in nats: above 0, a stronger prior describes the rows better."
    ]
    worst = found["prior", "largest"].iloc[:-1]
    says = f"Change of class probabilities by factor. Largest: {worst.max():.3g}, by the prior of {worst.idxmax()!r}."
    parts.append(Picture(plots.sensitivity(found), "How much each prior matters", says))
    flat = found.set_axis([f"{part}: {name}" for part, name in found.columns], axis=1).drop(columns="prior: flat")
    caption = "Change with each doubling" + (", the first 40 factors" if len(flat) > 40 else "")
    parts.append(Grid(flat.iloc[:40], caption, folded=True))
    said = ""
    if clf.estimate == "predictive":
        sure = clf.predict_credal(rows).xs("undominated", axis=1, level=1).sum(axis=1) == 1
        said = (
            f"Under all priors of the imprecise Dirichlet model (s = 1) for nominal columns and the classes, "
            f"{int(sure.sum())} of {len(sure)} rows have one class that is more probable than any other."
            + ("" if sure.all() else " The choice of the prior can decide the others.")
        )
        parts.append(said)
    return Section(PRIORS, parts, finding=said)
