"""The audit of independence: which columns depend on each other given the class. Formulas: ``dependence.audit``."""

from __future__ import annotations

from typing import Any

from bayesnb.dependence import audit
from bayesnb.inference.classifier import Classifier
from bayesnb.inference.draws import probability_of_interval
from bayesnb.inference.questions import Shown, question


def _notes(found: audit.Independence) -> str:
    """The exponent of all columns together, and what chance gives, for those who read the table of pairs."""
    one = found.exponent
    return (
        f"One exponent for all columns: {one['mean']:.2f} ({one['lower']:.2f} to {one['upper']:.2f}), where 1 is naive "
        f"Bayes. Chance hardly gives a log Bayes factor above {found.threshold:.1f}."
    )


@question(
    "to know which columns depend on each other", "is the model right", "checks",
    Shown(
        "Dependence between columns", lines=lambda found: found.pairs.set_index(["first", "second"]),
        notes=_notes, plot="independence",
    ),
)  # fmt: skip
def independence(
    classifier: Classifier, X: Any, y: Any, sample_weight: Any = None, prob: float | None = None
) -> audit.Independence:
    """Which columns depend on each other given the class, how strongly, and what to do about it.

    Naive Bayes takes the columns as independent given the class. Here this is tested for every pair of columns.

    Parameters
    ----------
    X, y, sample_weight
        The rows, exactly as they were learned. The estimator keeps no rows, so it needs them again.
    prob : float, optional
        Probability of the intervals; ArviZ's ``stats.ci_prob`` (0.89) by default.

    Returns
    -------
    Independence
        As text, one sentence of advice. ``pairs`` is a DataFrame with a row for each pair of columns, the most
        dependent first: the log Bayes factor of dependence given the class, the mutual information given the
        class with its interval, and ``gain``, by how much the exact leave-one-out log loss of the class falls when the
        pair is modelled, all in nats. :func:`bayesnb.plots.independence` draws it.

    Raises
    ------
    ValueError
        If a feature is sampled, a prior is improper without a row, rows without a label were learned, or there are
        more than 200 columns.

    Notes
    -----
    F columns have F (F - 1) / 2 pairs, and the time grows with their number: 30 columns take about two seconds. Bags
    of words, counts with an exposure, and columns of more than 64 levels are not compared. Gains are those of 4,096
    rows, drawn at random, where there are more.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesnb import BayesianNB, checks
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(2, size=500)
    >>> x = rng.normal(y)
    >>> X = {"x": x, "copy": x, "other": rng.normal(y)}
    >>> found = checks.independence(BayesianNB().fit(X, y), X, y)
    >>> print(found)
    1 of 3 pairs of columns depends on each other given the class: 'x' and 'copy'; log-odds are 1.5 times too large;
    use dependence="weighted".
    >>> found.pairs[["first", "second", "log_bayes_factor", "information"]].round(2)
      first second  log_bayes_factor  information
    0     x   copy            580.26          1.3
    1     x  other             -3.47          0.0
    2  copy  other             -3.47          0.0
    """
    classifier.require_one_class_prior("the audit of independence")
    classifier.require_counted("the audit leaves rows out, which is exact for rows that were counted")
    rows = classifier.rows(X, y, sample_weight).labelled()
    return audit.independence(classifier.posterior, *classifier.encoded(rows), probability_of_interval(prob))
