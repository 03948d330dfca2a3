"""Whether the model fits: predictive checks of its families and of independence.

Every function here is a method of :class:`bayesnb.classifier.Classifier`, its ``self``. The formulas are in
``answers.checks``.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesnb.answers import checks
from bayesnb.answers.uncertainty import probability_of_interval
from bayesnb.data.rows import Rows

if TYPE_CHECKING:
    from bayesnb.classifier import Classifier


def predictive_checks(
    self: Classifier, X: Any, y: Any, draws: int = 200, prob: float | None = None
) -> checks.PredictiveChecks:
    """Check whether tables that the model makes look like this one: each column, and each pair of columns.

    Parameters
    ----------
    X, y : table and labels
        The rows that were learned, or others of the same kind.
    draws : int
        The number of replicated tables, at least 20. Each has its own draw of the parameters, and the classes, the
        missing cells and the rounding of the rows.
    prob : float, optional
        Probability of the intervals; ArviZ's ``stats.ci_prob`` (0.89) by default.

    Returns
    -------
    PredictiveChecks
        As text, one sentence. ``table`` is a DataFrame with a line for each check, the worst first, ``failed`` the
        lines that speak against the model, and ``fits`` is True if there are none.
        :func:`bayesnb.plots.predictive_checks` draws it.

    Raises
    ------
    ValueError
        If a row has no label, rows without a label were learned, a posterior is improper, or there are more than 200
        columns.

    Notes
    -----
    Within each class, columns of reals are checked by mean, standard deviation, skewness, kurtosis, the largest
    distance from the mean, and how often the most frequent value occurs; positive reals and counts by similar numbers;
    pairs of columns by their correlation, correlation ratio or mutual information. A table of the model itself is said
    not to fit in at most about one of twenty cases: p-values are adjusted for the number of checks. On the rows that
    were learned it happens less often, since the parameters have adapted to them: such p-values are conservative
    (BDA3 6.3). With a dependence, its naive Bayes part is checked. Of more than 4,096 rows, 4,096 are drawn at random.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesnb import BayesianNB
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(2, size=300)
    >>> X = {"wait": rng.exponential(1.0 + y), "size": rng.normal(y)}
    >>> found = BayesianNB().fit(X, y).predictive_checks(X, y)
    >>> found.fits
    False
    >>> found.failed["first"].unique()
    array(['wait'], dtype=object)
    >>> found.table[["statistic", "class", "observed", "expected"]].head(2).round(1)
      statistic  class  observed  expected
    0  kurtosis      0      14.2       3.0
    1  kurtosis      1       9.9       3.0
    """
    self.require_one_class_prior("a predictive check")
    self.require_counted("predictive checks need a posterior of rows that were counted")
    if not isinstance(draws, int | np.integer) or draws < 20:
        raise ValueError(f"Expected draws to be an integer of at least 20; got {draws!r}")
    rows = Rows.of(X, y, None, self.unlabelled, self.schema).labelled()
    seed = 0 if self.seed is None else copy.deepcopy(self.seed)
    return checks.predictive_checks(
        self.posterior, *self.encoded(rows), int(draws), probability_of_interval(prob), np.random.default_rng(seed)
    )
