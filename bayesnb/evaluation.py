"""How good the probabilities are: scores of predictions for rows that were not learned.

Start with :func:`evaluate`, for one classifier, and :func:`compare`, for several. :func:`compare_estimates` sets
the four estimates of one naive Bayes model side by side, and what exponents and pairs make of it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, check_is_fitted

from bayesnb.answers.scoring import brier_decomposition, log_proba_of, own, scores
from bayesnb.classifier import Classifier
from bayesnb.data.schema import Schema
from bayesnb.data.tables import Table
from bayesnb.data.targets import Target, read_target
from bayesnb.data.unseen import UnseenLevelWarning
from bayesnb.estimator import BayesianNB
from bayesnb.model import ESTIMATES, Estimate, about
from bayesnb.priors import Array, BoundaryError, Dirichlet, ImproperError, first

type Folds = Literal["loo"] | int | None


def evaluate(clf: Any, X: Any, y: Any, cv: Folds = "loo") -> pd.Series:
    """Scores of a classifier on rows that it has not learned.

    Parameters
    ----------
    clf : BayesianNB, or any scikit-learn classifier with ``predict_proba``
    X : table (row, column)
        Any table that the classifier takes, with missing values if it takes them.
    y : array (row,)
        True classes.
    cv : "loo", int or None
        Exact leave-one-out, of BayesianNB only; the number of stratified folds, shuffled and always the same; or
        None, where ``clf`` is fitted and ``X`` and ``y`` are rows held out from it. Unless None, a clone is fitted.

    Returns
    -------
    Series
        ``accuracy``, ``log_loss``, ``brier`` and ``ece`` as in :func:`scores`, ``reliability``, ``resolution`` and
        ``uncertainty`` as in :func:`brier_decomposition`, and ``rows``, their number.

    Raises
    ------
    TypeError
        If the classifier has no ``predict_proba``.
    ValueError
        If there are no rows, ``X`` and ``y`` differ in length, a label is missing or was never learned, a class has
        fewer rows than there are folds, or "loo" is asked of another classifier or of a ``dependence``; if what
        ``with_class_prior`` returned would have to be fitted anew.
    NotFittedError
        If ``cv`` is None and ``clf`` is not fitted.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> from bayesnb.evaluation import evaluate
    >>> evaluate(BayesianNB(), *datasets.penguins(), cv="loo").round(3)
    accuracy         0.983
    log_loss         0.062
    brier            0.036
    reliability      0.010
    resolution       0.610
    uncertainty      0.636
    ece              0.015
    rows           344.000
    dtype: float64
    """
    log_joint, codes = _answers(*_folds(clf, X, y, cv))
    score = scores(log_joint, codes)
    parts = brier_decomposition(np.exp(log_proba_of(log_joint)), codes)
    first = {name: score[name] for name in ("accuracy", "log_loss", "brier")}
    return pd.Series(first | parts | {"ece": score["ece"], "rows": len(codes)}, dtype=float)


def held_out(clf: Any, X: Any, y: Any, cv: Folds = "loo") -> tuple[Array, Array]:
    """The class probabilities of rows by a classifier that has not learned them: what :func:`evaluate` scores.

    Parameters
    ----------
    clf, X, y, cv
        As in :func:`evaluate`.

    Returns
    -------
    proba : array (row, class)
    codes : int array (row,)
        The position of each row's class.
    """
    log_joint, codes = _answers(*_folds(clf, X, y, cv))
    return np.exp(log_proba_of(log_joint)), codes


def compare(estimators: Mapping[Any, Any], X: Any, y: Any, cv: Folds = "loo") -> pd.DataFrame:
    """Several classifiers on the same held-out rows, the best first, as ``arviz.compare`` has it.

    Parameters
    ----------
    estimators : {name: classifier}
    X, y, cv
        As in :func:`evaluate`; the folds are the same for all.

    Returns
    -------
    DataFrame (estimator, ...)
        ``rank``, 0 for the best; ``log_score``, Σ_i log p(true class of row i) in nats, and its standard error
        ``se``; ``difference``, by how much the best has more, and ``se_difference``, the standard error of the paired
        differences, √(n var); ``accuracy``, ``brier`` and ``ece`` as in :func:`scores`. A classifier that gives a
        true class probability 0 has a log score of -inf, and no finite error; of equal log scores the smaller Brier
        score comes first.

    Raises
    ------
    TypeError, ValueError
        As :func:`evaluate`, naming the estimator; where there are none.

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
    rows, pointwise = {}, {}
    for name, clf in estimators.items():
        with about(f"estimator {name!r}"):
            log_joint, codes = _answers(*_folds(clf, X, y, cv))
        pointwise[name] = own(log_proba_of(log_joint), codes)
        score = scores(log_joint, codes)
        rows[name] = {key: score[key] for key in ("accuracy", "brier", "ece")}
    total = {name: float(log_p.sum()) for name, log_p in pointwise.items()}
    order = sorted(rows, key=lambda name: (-total[name], rows[name]["brier"]))
    best = order[0]
    for rank, name in enumerate(order):
        gap = _minus(pointwise[best], pointwise[name])
        rows[name] = {
            "rank": rank,
            "log_score": total[name],
            "se": _standard_error(pointwise[name]),
            "difference": float(_minus(total[best], total[name])),
            "se_difference": _standard_error(gap),
        } | rows[name]
    return pd.DataFrame([rows[name] for name in order], index=pd.Index(order, name="estimator"))


def _minus(a: Any, b: Any) -> Array:
    """a - b, and 0 where both are the same infinity."""
    return np.subtract(a, b, out=np.zeros(np.shape(a)), where=np.not_equal(a, b))


def _standard_error(terms: Array) -> float:
    """The standard error of a sum of terms over rows, √(n var); infinite if a term is."""
    return float(np.sqrt(len(terms) * np.var(terms))) if np.isfinite(terms).all() else np.inf


@dataclass(frozen=True, eq=False)
class Fold:
    """A classifier, some rows that it has not learned, and a function that asks the classifier about them.

    Parameters
    ----------
    fitted : classifier
    rows : int array or slice
        Their positions in the whole table.
    ask : function of a classifier
        log p(c, x) of these rows, up to a constant a row, as (row, class).
    """

    fitted: Any
    rows: Any
    ask: Callable[[Any], Array]


def _folds(clf: Any, X: Any, y: Any, cv: Folds) -> tuple[list[Fold], Target]:
    """The folds of a table, with each row in one of them, and the true classes of all rows."""
    if not hasattr(clf, "predict_proba"):
        raise TypeError(
            f"Expected a classifier with predict_proba; got {clf!r}, which has none: scikit-learn's "
            "CalibratedClassifierCV gives it one"
        )
    ours = isinstance(clf, BayesianNB | Classifier)
    if isinstance(X, Mapping) and not ours:
        X = pd.DataFrame(X)
    target = _true_classes(clf, y, Table.of(X).n_rows if ours else _num_samples(X))
    if cv is None:
        if not isinstance(clf, Classifier):
            check_is_fitted(clf)
        return [Fold(clf, slice(None), lambda fitted: _log_joint(fitted, X))], target
    if isinstance(clf, Classifier):
        raise ValueError(
            "a Classifier is fitted and cannot be fitted anew: score held-out rows with cv=None, or give "
            "BayesianNB the class_prior"
        )
    codes, y = target.codes, target.classes[target.codes]
    if isinstance(cv, str) and cv == "loo":
        if not ours or clf.dependence is not None:
            what = type(clf).__name__ if not ours else f"a BayesianNB with dependence={clf.dependence!r}"
            why = (
                "is exact, and cheap, for BayesianNB alone"
                if not ours
                else "would leave a row out of the columns and not out of the exponents, which have learned its label"
            )
            raise ValueError(
                f'Expected a number of folds for {what}, such as cv={few_folds(codes)}; got cv="loo", which {why}'
            )
        # A sampled family has no leave-one-out; refuse it before it is sampled, which takes long.
        Schema.infer(Table.of(X, min_rows=1), clf.features, clf.unseen).model(Dirichlet()).require_left_out()
        fitted = clone(clf).fit(X, y).classifier_
        return [Fold(fitted, slice(None), lambda fitted: fitted.log_left_out(X, y)[0])], target
    X = Table.of(X) if ours else X
    # scikit-learn's cross_val_predict would rename the classes to 0, 1, ..., which breaks classifiers that name them.
    return [
        Fold(
            clone(clf).fit(rows_at(X, train), y[train]),
            test,
            lambda fitted, test=test: _log_joint(fitted, rows_at(X, test)),
        )
        for train, test in _splits(codes, cv)
    ], target


def _answers(folds: Sequence[Fold], target: Target, of: Callable[[Any], Any] = lambda fitted: fitted) -> Any:
    """log p(c, x) of all rows by classifiers that have not learned them, (row, class), and the codes of the classes.

    ``of`` says which variant of the classifier of a fold to ask.
    """
    # Every fold knows the same classes: those of all rows, and those that priors name.
    classes = folds[0].fitted.classes_
    log_joint = np.full((len(target), len(classes)), np.nan)
    for fold in folds:
        log_joint[fold.rows] = fold.ask(of(fold.fitted))
    return log_joint, target.among(classes)


def _true_classes(clf: Any, y: Any, n: int) -> Target:
    """The labels of ``n`` rows; a missing one is an error."""
    if y is None:
        raise ValueError("Expected y, the true class of each row; got None")
    if _num_samples(y) != n:
        raise ValueError(f"X has {n} rows and y has {_num_samples(y)}")
    if n == 0:
        raise ValueError("Expected at least one row to score; got a table of none")
    target = read_target(y, getattr(clf, "unlabelled", None))
    target.require_labels("a score needs the true class")
    return target


def rows_at(X: Any, rows: Array) -> Any:
    """The rows at these positions, in their order."""
    return X.rows(np.isin(np.arange(X.n_rows), rows)) if isinstance(X, Table) else _safe_indexing(X, rows)


def _log_joint(clf: Any, X: Any) -> Array:
    """log p(c, x), up to a constant a row, by a fitted classifier: by the method that rounds least."""
    with np.errstate(divide="ignore"), warnings.catch_warnings():
        # A rare level is often missing in the rows that a fold learns from.
        warnings.simplefilter("ignore", UnseenLevelWarning)
        if hasattr(clf, "predict_joint_log_proba"):
            log_p = clf.predict_joint_log_proba(X)
        elif hasattr(clf, "predict_log_proba"):
            log_p = clf.predict_log_proba(X)
        else:
            log_p = np.log(clf.predict_proba(X))
    log_p = np.asarray(log_p, float)
    if np.isnan(log_p).any():
        row = first(np.isnan(log_p))[0]
        raise ValueError(f"Expected probabilities from {type(clf).__name__}; got NaN in row {row} of those held out")
    return log_p


def _splits(codes: Array, cv: Any) -> Iterator[tuple[Array, Array]]:
    """Positions of the rows to learn from and of those to score, sorted, fold by fold."""
    if not isinstance(cv, Integral) or isinstance(cv, bool):
        raise ValueError(f'Expected cv to be "loo", a number of folds, or None for a held-out table; got {cv!r}')
    smallest = int(np.bincount(codes).min())
    if not 2 <= cv <= smallest:
        raise ValueError(
            f"Expected between 2 folds and as many as the smallest class has rows ({smallest}); got {cv}. "
            "Leave-one-out has no such limit"
        )
    return StratifiedKFold(int(cv), shuffle=True, random_state=0).split(codes, codes)


def few_folds(codes: Array) -> int:
    """Five folds, or as many as the smallest class has rows; at least two."""
    return max(2, min(5, int(np.bincount(codes).min())))


def compare_estimates(
    clf: BayesianNB,
    X: Any,
    y: Any,
    cv: int | Literal["loo"] = "loo",
    dependence: Sequence[str] = ("weighted", "pairwise"),
) -> pd.DataFrame:
    """One row an estimate of naive Bayes, and one a dependence: its scores on held-out rows.

    Parameters
    ----------
    clf : BayesianNB
        Only its parameters count, and of these not ``estimate`` and ``dependence``.
    X, y, cv
        As in :func:`evaluate`.
    dependence : sequence of {"tempered", "weighted", "pairwise"}
        Which of them to set beside the estimates. With "loo" they are scored by five folds, because exponents learn
        from the labels. Each costs five fits: with 569 rows of 30 columns two seconds for "weighted", eight for
        "pairwise".

    Returns
    -------
    DataFrame (estimate, ...)
        The columns of :func:`scores`; ``from_predictive``, the largest difference of a class probability
        from the fully Bayesian one of naive Bayes; ``note``, why an estimate does not exist on these data.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesnb import BayesianNB
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(2, size=300)
    >>> x = rng.normal(y)
    >>> copies = {f"copy {k}": x for k in range(5)}
    >>> found = compare_estimates(BayesianNB(), copies, y, dependence=("tempered",))
    >>> found["log_loss"].astype(float).round(2)
    estimate
    mle           1.14
    map           1.12
    mean          1.13
    predictive    1.11
    tempered      0.54
    Name: log_loss, dtype: float64
    """
    plain = clone(clf).set_params(estimate="predictive", dependence=None)
    folds, target = _folds(plain, X, y, cv)
    answers: dict[str, Array | str] = {}
    for estimate in ESTIMATES:
        try:
            answers[estimate], codes = _answers(folds, target, lambda fitted, name=estimate: _by_estimate(fitted, name))
        except (BoundaryError, ImproperError) as error:
            answers[estimate] = str(error)
    by = few_folds(target.codes) if cv == "loo" else cv
    for name in dependence:
        try:
            answers[name], codes = _answers(*_folds(clone(plain).set_params(dependence=name), X, y, by))
        except ValueError as error:
            answers[name] = str(error)
    found = pd.DataFrame({name: _one(name, answers, codes) for name in answers}).T.rename_axis("estimate")
    if by != cv:
        scored = [name for name in dependence if not found.loc[name, "note"]]
        found.loc[scored, "note"] = f"scored by {by} folds, because exponents learn from the labels"
    return found


def _by_estimate(fitted: BayesianNB | Classifier, estimate: Estimate) -> Classifier:
    """The fitted classifier with another estimate."""
    return (fitted if isinstance(fitted, Classifier) else fitted.classifier_).with_estimate(estimate)


def _one(name: str, answers: Mapping[str, Array | str], codes: Array) -> dict[str, Any]:
    answer, predictive = answers[name], answers["predictive"]
    if isinstance(answer, str):
        return {"note": answer}
    columns: dict[str, Any] = dict(scores(answer, codes))
    if not isinstance(predictive, str):
        gap = np.exp(log_proba_of(answer)) - np.exp(log_proba_of(predictive))
        columns["from_predictive"] = float(np.abs(gap).max())
    return columns | {"note": ""}
