"""Which labels are doubtful: those that are improbable by a model that has learned all rows but their own.

Every function here is a method of :class:`bayesnb.classifier.Classifier`, its ``self``. The formulas are in
``answers.label_noise``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bayesnb.answers.label_noise import wrong_labels
from bayesnb.classifier.tabular import index_of
from bayesnb.model import normalize

if TYPE_CHECKING:
    from bayesnb.classifier import Classifier

EXPONENTS_KNOW = (
    "the exponents have learned from all labels, wrong ones too, and are held: the class probabilities expect as many "
    "wrong labels as there were, so the expected number is too small; the order of the rows is meant"
)
"""What is to be said of the number of wrong labels where there is a dependence."""


def suspicious_labels(self: Classifier, X: Any, y: Any, sample_weight: Any = None) -> pd.DataFrame:
    """The labels of learned rows, the most doubtful first: exact leave-one-out p(y_i | x_i, D without row i).

    Parameters
    ----------
    X, y, sample_weight
        The rows, exactly as they were learned. The estimator keeps no rows, so it needs them again.

    Returns
    -------
    DataFrame (row, ...)
        With the index of ``X``, the smallest probability first: ``label``; ``probability``, p(y_i | x_i, D without row
        i), by the chosen estimate; ``suggested``, the most probable class of the row, and ``suggested_probability``;
        ``wrong``, the probability that the label is wrong. ``attrs["expected"]`` is the expected number of wrong labels
        and ``attrs["sd"]`` its standard deviation; a row of weight 2 counts as two.

    Raises
    ------
    ValueError
        If there is one class, a label is missing, or rows without a label were learned.

    Notes
    -----
    Where classes overlap, right labels are improbable at times. ``wrong`` counts what is beyond that: a share ε of
    the labels, with a uniform prior from 0 to 1/2, is taken as replaced by any other class, and averaged out (see
    ``bayesnb.answers.label_noise``). So ``probability`` is exact, and ``wrong`` and the expected number are right as
    far as the class probabilities would be calibrated for right labels. Naive Bayes is too sure where columns depend on
    each other given the class: right labels are then too improbable, and the number is too large. :meth:`independence`
    says whether they do. Wrong labels stay in D for each other's rows; they hide each other if many are alike.

    With a ``dependence``, the order of the rows is as good or better, and the number means little: the exponents have
    learned from the wrong labels too, so the class probabilities expect them already, and few are left to be beyond
    that. The exponents are held, and have seen the label of each row. ``attrs["note"]`` says so.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.penguins()
    >>> y = y.mask(y.index.isin([3, 200]), "Chinstrap")
    >>> found = BayesianNB().fit(X, y).suspicious_labels(X, y)
    >>> found.head(2).round(2)
             label  probability suggested  suggested_probability  wrong
    200  Chinstrap         0.00    Gentoo                   1.00   1.00
    3    Chinstrap         0.02    Adelie                   0.96   0.14
    >>> round(found.attrs["expected"], 1), round(found.attrs["sd"], 1)
    (1.4, 0.6)
    """
    log_joint, codes = self.log_left_out(X, y, sample_weight)
    log_proba, row = normalize(log_joint), np.arange(len(codes))
    weight = np.ones(len(codes)) if sample_weight is None else np.asarray(sample_weight, float)
    best = log_proba.argmax(axis=1)
    log_own = log_proba[row, codes]
    found = wrong_labels(np.exp(log_own), len(self.classes), weight)
    columns = {
        "label": self.classes[codes],
        "probability": np.exp(log_own),
        "suggested": self.classes[best],
        "suggested_probability": np.exp(log_proba[row, best]),
        "wrong": found.each,
    }
    frame = pd.DataFrame(columns, index=index_of(X)).iloc[np.argsort(log_own, kind="stable")]
    frame.attrs |= {"expected": found.expected, "sd": found.sd}
    if self.dependence is not None:
        frame.attrs["note"] = EXPONENTS_KNOW
    return frame
