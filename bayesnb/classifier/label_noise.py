"""Which labels are doubtful: those that are improbable by a model that has learned all rows but their own.

Every function here is a method of :class:`bayesnb.classifier.Classifier`, its ``self``. The formulas are in
``answers.label_noise``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bayesnb.answers import label_noise
from bayesnb.classifier.leaving_out import learned_rows
from bayesnb.classifier.tabular import index_of
from bayesnb.model import Data, normalize
from bayesnb.priors import Array, ImproperError
from bayesnb.statistics.membership import Labels

if TYPE_CHECKING:
    from bayesnb.classifier import Classifier

EXPONENTS_KNOW = (
    "the exponents have learned from all labels, wrong ones too, so the class probabilities expect some wrong labels "
    "already; the order of the rows is meant"
)
"""What is to be said of the number of wrong labels where there is a dependence."""

HELD = (
    "{reason}, so right labels are not drawn together with the parameters; these are held, and they have learned from "
    "wrong labels too"
)
"""What is to be said where the model cannot be drawn."""


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
        and ``attrs["sd"]`` its standard deviation; a row of weight 2 counts as two. Where there is ``attrs["note"]``,
        the number is a rough lower bound, ``sd`` is NaN, and the note says why.

    Raises
    ------
    ValueError
        If there is one class, a label is missing, or rows without a label were learned.

    Notes
    -----
    Where classes overlap, right labels are improbable at times. ``wrong`` counts what is beyond that: a share ε of
    the labels, with a uniform prior from 0 to 1/2, is taken as replaced by any other class. The right labels, ε and the
    parameters are uncertain together, and a Gibbs sampler draws them together, always alike for the same
    ``random_state`` (see ``bayesnb.answers.label_noise``); the parameters are integrated out, whatever the estimate. So
    wrong labels do not hide each other, as they do in ``probability``: there they stay in D for each other's rows.

    The expected number is that of this model. Where columns depend on each other given the class, naive Bayes is too
    sure, and takes many right labels as wrong: the number is then too large, by much if there are many columns.
    :meth:`independence` says whether they do.

    With a ``dependence``, the order of the rows is as good or better, and the number means little: the exponents have
    learned from the wrong labels too, so the class probabilities expect them already, and few are left to be beyond
    that. The exponents are held, and have seen the label of each row. ``attrs["note"]`` says so. It also says so where
    a prior is improper or a feature is sampled: then the labels cannot be drawn.

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
    (1.4, 0.7)
    """
    log_joint, codes = self.log_left_out(X, y, sample_weight)
    log_proba, row = normalize(log_joint), np.arange(len(codes))
    best = log_proba.argmax(axis=1)
    log_own = log_proba[row, codes]
    data, labels = learned_rows(self, X, y, sample_weight)
    found, note = _wrong(self, data, labels, np.exp(log_own))
    columns = {
        "label": self.classes[codes],
        "probability": np.exp(log_own),
        "suggested": self.classes[best],
        "suggested_probability": np.exp(log_proba[row, best]),
        "wrong": found.each,
    }
    frame = pd.DataFrame(columns, index=index_of(X)).iloc[np.argsort(log_own, kind="stable")]
    frame.attrs |= {"expected": found.expected, "sd": np.nan if note else found.sd} | ({"note": note} if note else {})
    return frame


def _wrong(self: Classifier, data: Data, labels: Labels, own: Array) -> tuple[label_noise.WrongLabels, str]:
    """Which labels are wrong; and what is to be said if the number is but a lower bound, since labels are not drawn."""
    if labels.n < 2 or self.dependence is not None:
        return label_noise.wrong_labels(own, labels.n, labels.weight), EXPONENTS_KNOW
    if self.posterior.model.sampled:
        reason = f"feature {self.posterior.model.sampled[0]!r} is sampled"
    elif labels.weight.sum() > label_noise.MOST_ROWS:
        reason = f"there are more than {label_noise.MOST_ROWS:,} rows"
    else:
        try:
            seed = 0 if self.seed is None else self.seed
            return label_noise.drawn_wrong_labels(self.posterior.before(), data, labels, seed), ""
        except ImproperError:
            reason = "a prior is improper"
    return label_noise.wrong_labels(own, labels.n, labels.weight), HELD.format(reason=reason)
