"""The section about the evidence of each column, which needs a second fit: with one class for all rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bayesnb import learning
from bayesnb.report.parts import Section
from bayesnb.report.questions import shortened

if TYPE_CHECKING:
    from bayesnb.data.tables import Table
    from bayesnb.estimator import BayesianNB

EVIDENCE = "Evidence"

LONGEST = 40
"""Columns that are written out."""


def evidence(clf: BayesianNB, table: Table) -> Section:
    """The marginal likelihood of each column, and whether the classes differ in it."""
    found = clf.classifier_.log_evidence()
    frame = pd.DataFrame({"log evidence": {name: float(value) for name, value in found.features.items()}})
    text = (
        f"log p(column | classes), all parameters integrated out, in nats. With log p(classes) = {found.label:.4g} "
        f"they make log p(data) = {found.joint:.6g}."
    )
    try:
        asked = learning.Parameters.of(clf, class_prior=None, estimate="predictive", dependence=None)
        pooled = learning.fitted(asked, table, np.zeros(table.n_rows, int)).log_evidence().features
    except ValueError:
        # A prior that is given by class has no counterpart for one class.
        pooled = None
    if pooled is not None:
        frame["Bayes factor"] = frame["log evidence"] - frame.index.map(dict(pooled))
        text += (
            " Bayes factor: its logarithm for a distribution in each class against one for all; above 0, the column "
            "tells classes apart; below 0, it does not on these rows."
        )
        frame = frame.sort_values("Bayes factor", ascending=False, kind="stable")
    return Section(
        EVIDENCE, [text, *shortened(frame.rename_axis("column"), "Evidence of each column", LONGEST)], folded=True
    )
