"""Evaluate predicted probabilities on held-out rows."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from bayesnb import wording
from bayesnb.data.new_rows import far_numbers
from bayesnb.data.rows import given_beside
from bayesnb.data.tables import Table, in_memory
from bayesnb.evaluation.compared import Comparison, minus, standard_error
from bayesnb.evaluation.estimates import compare_estimates, comparison
from bayesnb.evaluation.folds import Folds, answers_of, few_folds, folds_of, learned_or_unknown, selected, true_classes
from bayesnb.inference import scoring
from bayesnb.inference.class_prior import with_class_prior
from bayesnb.inference.methods import FittedModel
from bayesnb.inference.scorecard import LEARNED_ROWS, HeldOut, Scorecard, scorecard_of
from bayesnb.model import Posterior, about
from bayesnb.priors import Array
from bayesnb.wording import Cure, some, warn

__all__ = [
    "Comparison", "Scorecard", "compare", "compare_estimates", "comparison",
    "evaluate", "few_folds", "held_out", "scorecard",
]  # fmt: skip


def evaluate(clf: Any, X: Any, y: Any, cv: Folds = "loo") -> pd.Series:
    """Score a classifier on rows that it has not learned.

    Parameters
    ----------
    clf : BayesianNB, or any scikit-learn classifier with ``predict_proba``
    X : table (row, column)
    y : array (row,)
        True classes.
    cv : "loo", int or None
        "loo" is exact leave-one-out, for BayesianNB only. An int is the number of stratified folds. With "loo" or an
        int, clones of ``clf`` are fitted. If ``cv`` is None, ``clf`` must already be fitted, and ``X`` and ``y`` must
        be held-out rows. A warning is issued if ``X`` seems to hold learned rows.

    Returns
    -------
    Series
        ``accuracy``, ``balanced_accuracy``, ``log_loss``, ``brier``, ``ece`` and ``auc`` are as in :func:`scores`.
        ``reliability``, ``resolution`` and ``uncertainty`` are as in :func:`brier_decomposition`. ``rows`` is the
        number of rows.

    Raises
    ------
    TypeError
        If the classifier has no ``predict_proba``.
    ValueError
        If ``X`` and ``y`` are empty or differ in length, if a label is missing or was never learned, or if a class has
        fewer rows than there are folds. If ``cv`` is "loo" and the classifier is not a BayesianNB, or its
        ``dependence`` has exponents. If ``clf`` comes from ``with_class_prior`` and ``cv`` is not None.
    NotFittedError
        If ``cv`` is None and ``clf`` is not fitted.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> from bayesnb.evaluation import evaluate
    >>> evaluate(BayesianNB(), *datasets.penguins(), cv="loo").round(3)
    accuracy               0.983
    balanced_accuracy      0.973
    log_loss               0.062
    brier                  0.036
    reliability            0.010
    resolution             0.610
    uncertainty            0.636
    ece                    0.015
    auc                    0.998
    rows                 344.000
    dtype: float64
    """
    y, X = given_beside(X, {"y": y})
    log_joint, codes = answers_of(*folds_of(clf, X, y, cv))
    if cv is None and _has_learned(clf, X, y):
        warn(str(LEARNED_ROWS))
    score = scoring.scores(log_joint, codes)
    parts = scoring.brier_decomposition(np.exp(scoring.log_proba_of(log_joint)), codes)
    first = {name: score[name] for name in ("accuracy", "balanced_accuracy", "log_loss", "brier")}
    last = {"ece": score["ece"], "auc": score["auc"], "rows": len(codes)}
    return pd.Series(first | parts | last, dtype=float)


def scorecard(
    clf: Any, X: Any, y: Any, cv: Folds = "loo", prob: float | None = None, random_state: int = 0
) -> Scorecard:
    """Scores with intervals, next to the scores that the model expects and the scores of predicting class frequencies.

    Parameters
    ----------
    clf, X, y, cv
        As in :func:`evaluate`. With ``cv=None``, rows of a class that was not learned are counted but not scored.
    prob : float, optional
        Probability of the intervals; ArviZ's ``stats.ci_prob`` (0.89) by default.
    random_state : int
        Seed of the simulated intervals.

    Returns
    -------
    Scorecard
        ``print`` shows one sentence, the table of scores and the confusion matrix.

    Raises
    ------
    TypeError, ValueError, NotFittedError
        As in :func:`evaluate`, or if no row has a learned class.

    See Also
    --------
    bayesnb.inference.scorecard.scorecard_of : A scorecard from log joint probabilities.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets, scorecard
    >>> card = scorecard(BayesianNB(), *datasets.play_tennis())
    >>> print(card.sentence)
    50% of 14 rows are predicted correctly (89% interval: 30% to 70%; the model expected 68%). Always guessing 'yes'
    gets 64%. Log loss 0.74 (0.52 to 1.04); the model expected 0.58: it is not measurably over- or underconfident. With
    14 rows, the model is not measurably better than the class frequencies (0.65).
    >>> card.table[["value", "lower", "upper", "claimed", "frequencies"]].round(2)
                       value  lower  upper  claimed  frequencies
    score
    accuracy            0.50   0.30   0.70     0.68         0.64
    balanced_accuracy   0.43   0.29   0.64      NaN         0.50
    log_loss            0.74   0.52   1.04     0.58         0.65
    brier               0.50   0.34   0.70     0.40         0.46
    ece                 0.33   0.00   0.48     0.20         0.00
    auc                 0.53   0.29   0.75      NaN         0.50
    """
    never, kept = dict[Any, int](), None
    y, X = given_beside(X, {"y": y})
    if cv is None:
        X, y, never, kept = _learned_classes(clf, X, y)
    with wording.rows_at(kept):
        folds, target = folds_of(clf, X, y, cv)
        log_joint, codes = answers_of(folds, target)
    fitted = folds[0].fitted
    how = HeldOut(cv) if cv is not None else HeldOut("learned" if _has_learned(fitted, X, y) else "given")
    # Other classifiers have no dependence; if pairs already have terms, none is suggested.
    dependence = fitted.classifier_.dependence if isinstance(fitted, FittedModel) else None
    ours = isinstance(fitted, FittedModel)
    pairs = not ours or (dependence is not None and dependence.spec.pairs > 0)
    cure = None if pairs else Cure("dependence", "auto")
    own = fitted.classifier_ if ours else None
    learned = own.statistics.rows if ours else None
    far = _far_from_learned(own, X) if ours and how.by == "given" else None
    replaced = ours and isinstance(own.posterior, Posterior) and np.ndim(own.believed.offset) == 0
    prior = np.exp(own.believed.log_pi) if replaced else None

    def under(shares: Array) -> Array:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # The rows have been read before.
            return answers_of(folds, target, lambda _: with_class_prior(own, shares / shares.sum()))[0]

    found = never, how, cure, learned, far, prior, under
    return scorecard_of(log_joint, codes, fitted.classes_, prob, random_state, *found)


def _far_from_learned(clf: Any, X: Any) -> dict[Any, Array]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # The rows have been read before.
        return far_numbers(clf.schema, clf.statistics, clf.schema.through(Table.of(X)))


def _has_learned(clf: Any, X: Any, y: Any) -> bool:
    if not isinstance(clf, FittedModel):
        return False
    fitted, known = clf.classifier_, clf.classifier_.statistics
    rows = fitted.rows(X, y).labelled()
    if not (fitted.posterior.exact and len(rows.weight) == known.rows.sum()):
        return False
    data, labels = fitted.encoded(rows, fitted.absent)
    return fitted.posterior.model.statistics(data, labels, known.labels).close_to(known)


def _learned_classes(clf: Any, X: Any, y: Any) -> tuple[Any, Any, dict[Any, int], Array | None]:
    """The rows with a learned class, their labels, the number of other rows by class, and the positions of the rows."""
    learned = getattr(clf, "classes_", None)
    if learned is None or y is None:
        return X, y, {}, None
    table: Any = X if hasattr(X := in_memory(X), "shape") and not isinstance(X, Mapping) else Table.of(X)
    target = learned_or_unknown(clf, true_classes(clf, y, table.n_rows if isinstance(table, Table) else table.shape[0]))
    known = {*np.asarray(learned).tolist()}
    counts = np.bincount(target.codes, minlength=len(target.classes))
    labels = target.classes.tolist()
    never = {label: int(n) for label, n in zip(labels, counts, strict=True) if label not in known}
    if not never:
        return X, target.classes[target.codes], {}, None
    if len(never) == len(labels):
        raise ValueError(
            f"no row has a class that was learned: the classes are {some(known)}, and y has {some(labels)}"
        )
    keep = np.flatnonzero(np.isin(target.codes, [c for c, label in enumerate(labels) if label in known]))
    return selected(table, keep), target.classes[target.codes[keep]], never, keep


def held_out(clf: Any, X: Any, y: Any, cv: Folds = "loo") -> tuple[Array, Array]:
    """Class probabilities of held-out rows, (row, class), and the codes of their true classes."""
    log_joint, codes = answers_of(*folds_of(clf, X, y, cv))
    return np.exp(scoring.log_proba_of(log_joint)), codes


def compare(estimators: Mapping[Any, Any], X: Any, y: Any, cv: Folds = "loo") -> pd.DataFrame:
    """Rank classifiers on the same held-out rows, in the layout of ``arviz.compare``.

    Parameters
    ----------
    estimators : {name: classifier}
    X, y, cv
        As in :func:`evaluate`.

    Returns
    -------
    DataFrame (estimator, ...)
        ``rank`` is 0 for the best estimator. ``log_score`` is Σ log p(true class) over the rows, in nats, and ``se`` is
        the standard error. ``difference`` is the best log score minus the estimator's log score, and ``se_difference``
        is the standard error from paired rows. ``accuracy``, ``brier`` and ``ece`` are as in :func:`scores`. A
        classifier that gives probability 0 to a true class has the log score -inf.

    Raises
    ------
    TypeError, ValueError
        As :func:`evaluate`; the message names the estimator.

    References
    ----------
    Vehtari, Gelman and Gabry (2017), Practical Bayesian model evaluation, section 5.

    Examples
    --------
    >>> from bayesnb import BayesianNB, Binned, datasets
    >>> models = {"Gaussian": BayesianNB(), "binned": BayesianNB({"both": (Binned(4), ["height_cm", "weight_kg"])})}
    >>> compare(models, *datasets.heights())[["log_score", "difference", "accuracy"]].round(2)
               log_score  difference  accuracy
    estimator
    Gaussian      -18.45        0.00      0.78
    binned        -20.60        2.15      0.68
    """
    if not isinstance(estimators, Mapping) or not estimators:
        raise TypeError(f"Expected estimators as {{name: classifier}}, at least one; got {estimators!r}")
    y, X = given_beside(X, {"y": y})
    rows, pointwise = {}, {}
    for name, clf in estimators.items():
        with about(f"estimator {name!r}"):
            log_joint, codes = answers_of(*folds_of(clf, X, y, cv))
        pointwise[name] = scoring.own(scoring.log_proba_of(log_joint), codes)
        score = scoring.scores(log_joint, codes)
        rows[name] = {key: score[key] for key in ("accuracy", "brier", "ece")}
    total = {name: float(log_p.sum()) for name, log_p in pointwise.items()}
    order = sorted(rows, key=lambda name: (-total[name], rows[name]["brier"]))
    best = order[0]
    for rank, name in enumerate(order):
        gap = minus(pointwise[best], pointwise[name])
        rows[name] = {
            "rank": rank,
            "log_score": total[name],
            "se": standard_error(pointwise[name]),
            "difference": float(minus(total[best], total[name])),
            "se_difference": standard_error(gap),
        } | rows[name]
    return pd.DataFrame([rows[name] for name in order], index=pd.Index(order, name="estimator"))
