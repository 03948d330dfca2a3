"""The section of the page about doubtful labels: the expected number of wrong ones, and the most doubtful rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

from bayesnb.data.tables import Table
from bayesnb.dependence.audit import Independence
from bayesnb.estimator import BayesianNB
from bayesnb.inference.label_noise import sentence
from bayesnb.learning import as_advised
from bayesnb.report.parts import Grid, Section

TITLE = "Labels to doubt"

MOST_LABELS = 10
"""Rows that are shown."""


def labels_to_doubt(
    clf: BayesianNB, table: Table, y: Any, rows: pd.Index, found: Callable[[], Independence]
) -> Section:
    """How many labels are expected to be wrong, and the rows whose label is the least probable.

    ``found`` gives the audit. What it advises judges the labels, since naive Bayes is then too sure.
    """
    try:
        advice = found().advice
    except ValueError:
        # The section of the audit says why there is none.
        advice = None
    judge = as_advised(clf, advice, table, y)
    doubts = judge.suspicious_labels(table, y)
    says = sentence(n=len(doubts), **doubts.attrs)
    if judge is not clf.classifier_:
        says += f' Labels are judged with dependence="{advice}", which the audit of the columns advises.'
    text = (
        "probability is that of the row's label by the model that has learned all the other rows; suggested is the "
        "most probable class; wrong is the probability that the label is wrong, where a share of all labels is taken "
        "as replaced by another class. Where classes overlap, right labels are improbable at times."
    )
    top = doubts.head(MOST_LABELS)
    top.index = rows[top.index].rename("row")
    return Section(TITLE, [says, text, Grid(top, "Labels that are the least probable")], finding=says)
