"""The section of the page about doubtful labels: the expected number of wrong ones, and the most doubtful rows."""

from __future__ import annotations

from typing import Any

import pandas as pd

from bayesnb.data.tables import Table
from bayesnb.estimator import BayesianNB
from bayesnb.report.parts import Grid, Section

TITLE = "Labels to doubt"

MOST_LABELS = 10
"""Rows that are shown."""


def labels_to_doubt(clf: BayesianNB, table: Table, y: Any, rows: pd.Index) -> Section:
    """How many labels are expected to be wrong, and the rows whose label is the least probable."""
    found = clf.suspicious_labels(table, y)
    number = f"{found.attrs['expected']:.1f} ± {found.attrs['sd']:.1f} of {len(found)} labels are expected to be wrong"
    if "note" in found.attrs:
        says = f"{number}, and more may be: {found.attrs['note']}."
    else:
        says = (
            f"{number}, as far as the columns are independent given the class; where they depend on each other, naive "
            "Bayes is too sure, and the number is too large."
        )
    text = (
        "probability is that of the row's label by the model that has learned all the other rows; suggested is the "
        "most probable class; wrong is the probability that the label is wrong, where a share of all labels is taken "
        "as replaced by another class. Where classes overlap, right labels are improbable at times."
    )
    top = found.head(MOST_LABELS)
    top.index = rows[top.index].rename("row")
    return Section(TITLE, [says, text, Grid(top, "Labels that are the least probable")], finding=says)
