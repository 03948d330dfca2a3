"""Folds for cross-validation."""

from __future__ import annotations

import reprlib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import Any, Literal

import numpy as np
import pandas as pd

from bayesnb import learning
from bayesnb.data.drawing import row_numbers
from bayesnb.data.new_rows import UnseenLevelWarning
from bayesnb.data.rows import given_beside
from bayesnb.data.schema import Schema
from bayesnb.data.specifications import Unlabelled
from bayesnb.data.tables import Table, in_memory
from bayesnb.data.targets import Target, read_target
from bayesnb.dependence.exponents import named
from bayesnb.inference.classifier import Classifier
from bayesnb.inference.methods import FittedModel
from bayesnb.learning import EstimatorParameters
from bayesnb.model.order import Order
from bayesnb.priors import Array, Dirichlet, first
from bayesnb.progress import counted
from bayesnb.statistics.statistic import Labels
from bayesnb.wording import warn

type Folds = Literal["loo"] | int | None

SEED = 2
"""Seed of the assignment of rows to folds."""


@dataclass(frozen=True, eq=False)
class Fold:
    """A fitted classifier, the positions of its held-out rows, and a function that predicts these rows."""

    fitted: Any
    rows: Any
    ask: Callable[[Any], Array]  # returns log p(c, x), (row, class), up to a constant per row


def folds_of(
    clf: Any, X: Any, y: Any, cv: Folds | Literal["once"], scored: Array | None = None
) -> tuple[list[Fold], Target]:
    """Fit a classifier for each fold; return the folds, and the true classes of the scored rows."""
    # ``cv="once"`` makes one fold, which holds out all scored rows.
    ours = isinstance(clf, FittedModel | EstimatorParameters)
    if not ours and not hasattr(clf, "predict_proba"):
        raise TypeError(
            f"Expected a classifier with predict_proba; got {clf!r}, which has none: scikit-learn's "
            "CalibratedClassifierCV gives it one"
        )
    y, X = given_beside(X, {"y": y})
    X = pd.DataFrame(X) if isinstance(X, Mapping) and not ours else in_memory(X)
    if ours:
        n_rows = Table.of(X).n_rows
    else:
        from sklearn.utils.validation import _num_samples

        n_rows = _num_samples(X)
    target = true_classes(clf, y, n_rows)
    if cv is None:
        if not isinstance(clf, Classifier):
            from sklearn.utils.validation import check_is_fitted

            check_is_fitted(clf)
        target = learned_or_unknown(clf, target)
        return [Fold(clf, slice(None), lambda fitted: log_joint_of(fitted, X))], target
    if isinstance(clf, Classifier):
        raise ValueError(
            "a Classifier is fitted and cannot be fitted anew: score held-out rows with cv=None, or give "
            "BayesianNB the class_prior"
        )
    if isinstance(clf, FittedModel) and clf.__sklearn_is_fitted__():
        clf.classifier_.posterior.require_statistics(f"cv={cv!r}")
    codes, y = target.codes, target.classes[target.codes]
    if not (isinstance(cv, str) and cv == "once"):
        require_folds(target, cv, _on_new_rows(clf))
    if isinstance(cv, str) and cv == "loo":
        settings = EstimatorParameters.of(clf) if ours else None
        # Forests learn nothing from labels that could not be left out in closed form.
        if settings is None or not (settings.dependence is None or named(settings.dependence).forests):
            what, why = type(clf).__name__, "is exact, and cheap, for BayesianNB alone"
            if settings is not None:
                what = f"a BayesianNB with dependence={settings.dependence!r}"
                why = "would leave a row out of the columns and not out of the exponents, which have learned its label"
            raise ValueError(
                f"{_on_new_rows(clf)}Expected a number of folds for {what}, such as cv={few_folds(codes)}; got "
                f'cv="loo", which {why}'
            )
        # A table smaller than the learned one is taken to be new.
        said = _on_new_rows(clf)
        if said and clf.classifier_.statistics.rows.sum() > len(codes):
            warn(f'{said}With cv="loo", a copy of it learns these {len(codes):,} rows')
        # Raise the error for an estimate without leave-one-out before the slow sampling of a feature.
        model = _schema(settings, Table.of(X, min_rows=1)).model(Dirichlet())
        model.require_left_out(settings.estimate)
        fitted = learning.fitted(settings, X, y)
        if scored is not None:
            X, y, target = Table.of(X).rows(scored), y[scored], at_rows(target, scored)
        return [Fold(fitted, slice(None), lambda fitted: fitted.log_left_out(X, y)[0])], target
    if ours:
        # A fold may lack the cell that decides the type of a column in the whole table, and the scores of the folds
        # stand for one model.
        settings, X = EstimatorParameters.of(clf), Table.of(X, min_rows=1)
        X, learned = _schema(settings, X).typed(X), partial(learning.fitted, settings)
    else:
        from sklearn.base import clone

        def learned(X: Any, y: Any) -> Any:
            fresh: Any = clone(clf)
            return fresh.fit(X, y)

    scored = np.arange(len(codes)) if scored is None else scored
    # scikit-learn's cross_val_predict would rename the classes to 0, 1, ..., which breaks classifiers that name them.
    return [
        Fold(
            learned(selected(X, train), y[train]),
            np.searchsorted(scored, test),
            lambda fitted, test=test: log_joint_of(fitted, selected(X, test)),
        )
        for train, test in counted("fitting folds", [*splits(X, target, cv, scored)], "folds")
    ], at_rows(target, scored)


def _schema(settings: EstimatorParameters, table: Table) -> Schema:
    return Schema.infer(table, settings.features, settings.unseen)


def answers_of(folds: Sequence[Fold], target: Target, of: Callable[[Any], Any] = lambda fitted: fitted) -> Any:
    """Predict the held-out rows: log p(c, x), (row, class), and the codes of the true classes, (row,)."""
    # Every fold has the classes of all rows and those that priors name.
    classes = folds[0].fitted.classes_
    log_joint = np.full((len(target.codes), len(classes)), np.nan)
    for fold in folds:
        # ``of`` converts the fitted classifier to the classifier that predicts.
        log_joint[fold.rows] = fold.ask(of(fold.fitted))
    return log_joint, target.among(classes)


def true_classes(clf: Any, y: Any, n: int) -> Target:
    """The labels of ``n`` rows, none of which may be missing."""
    if y is None or isinstance(y, str):
        raise ValueError(f"Expected y, the true class of each row; got {y!r}")
    target = read_target(y, Unlabelled.of(getattr(clf, "unlabelled", None)).marker).of_rows(n)
    if n == 0:
        raise ValueError("Expected at least one row to score; got a table of none")
    target.require_labels("a score needs the true class")
    return target


def learned_or_unknown(clf: Any, target: Target) -> Target:
    """Replace labels that were not learned by the unknown class, if the classifier has an unknown class."""
    return target.or_unknown(clf.classes_, clf.classifier_.unknown) if isinstance(clf, FittedModel) else target


def _on_new_rows(clf: Any) -> str:
    """For error messages, the hint to score new rows with cv=None; "" for a BayesianNB or an unfitted classifier."""
    if isinstance(clf, EstimatorParameters):
        return ""  # The import of scikit-learn takes as long as the fit of a small table.
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(clf)
    except (NotFittedError, TypeError):
        return ""
    return "The model is fitted: to score it on rows that it has not learned, write cv=None. "


def selected(X: Any, rows: Array) -> Any:
    """Select rows by position."""
    if isinstance(X, Table):
        return X.rows(rows)
    from sklearn.utils import _safe_indexing

    return _safe_indexing(X, rows)


def log_joint_of(clf: Any, X: Any) -> Array:
    """log p(c, x), up to a constant per row, by the classifier's most precise method."""
    with np.errstate(divide="ignore"), warnings.catch_warnings():
        # A rare level is often absent from the rows that a fold learns.
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


def at_rows(target: Target, rows: Array) -> Target:
    """Select labels by position."""
    return Target(target.codes[rows], target.classes, target.declared)


def splits(X: Any, target: Target, cv: Any, scored: Array) -> Iterator[tuple[Array, Array]]:
    """For each fold, yield the positions of the rows to learn and of the rows to score, both sorted."""
    codes = target.codes
    if cv == "once":
        train = np.delete(np.arange(len(codes)), scored)
        if len(gone := np.setdiff1d(codes, codes[train])):
            label = target.classes.tolist()[gone[0]]
            raise ValueError(
                f"all rows of class {label!r} are among the {len(scored):,} that are scored, so that none is left to "
                "learn from: score fewer rows"
            )
        yield train, scored
        return
    fold = _dealt(X, codes, int(cv))
    for k in range(int(cv)):
        if len(test := scored[fold[scored] == k]):
            yield np.flatnonzero(fold != k), test


def require_folds(target: Target, cv: Any, hint: str = "") -> None:
    """Raise an error unless ``cv`` is "loo" or a number of folds up to the size of the smallest class."""
    if isinstance(cv, str) and cv == "loo":
        return
    if not isinstance(cv, Integral) or isinstance(cv, bool):
        raise ValueError(
            f'Expected cv to be "loo", a number of folds, or None for a held-out table; got {reprlib.repr(cv)}. For '
            "other folds, such as whole groups of rows, use sklearn.model_selection.cross_validate"
        )
    smallest, n = int(np.bincount(target.codes).min()), int(cv)
    if not 2 <= n <= smallest:
        lone = target.classes.tolist()[int(np.bincount(target.codes).argmin())]
        cure = f"Leave out class {lone!r}, or score" if smallest == 1 else "Or score"
        raise ValueError(
            f"{hint}Expected between 2 folds and as many as the smallest class has rows ({smallest}); got {n}. {cure} "
            "by leave-one-out, which has no such limit (and takes no dependence)"
        )


def _dealt(X: Any, codes: Array, n: int) -> Array:
    """The fold number of each row, (row,), such that class frequencies are nearly equal in all folds."""
    size, turn = np.bincount(codes), turns(X, codes, SEED)
    first = np.full(len(size), len(codes) ** 2)
    np.minimum.at(first, codes, turn)
    fold = np.empty(len(codes), int)
    fold[np.lexsort((turn, codes, first[codes], size[codes]))] = np.arange(len(codes)) % n
    return fold


def some_rows(X: Any, codes: Array, most: int, seed: int) -> Array:
    """Sorted positions of at most ``most`` rows, drawn at random by their content and the codes of their classes."""
    n = len(codes)
    return np.arange(n) if n <= most else np.sort(np.argsort(turns(X, codes, seed), kind="stable")[:most])


def turns(X: Any, codes: Array, seed: int) -> Array:
    """The rank of each row in a random order that depends on the content of the table only, int (row,)."""
    # Columns are read by their values, whatever the classifier, so all classifiers have the same folds. Only rows that
    # are equal up to names are ordered by their cells, as are sparse tables, whose columns may be too many to sort.
    # Data that BayesianNB cannot read, such as images, are ordered by position.
    turn = np.zeros(len(codes), int)
    try:
        table = Table.of(X)
        if not table.sparse:
            turn = _turns_as_read(table, codes, seed)
        if turn.max(initial=0) == len(codes) - 1:
            return turn
        cells = np.empty(len(codes), np.uint64)
        for c in range(codes.max() + 1):  # Equal rows are counted within a class.
            cells[codes == c] = row_numbers(table.rows(codes == c), seed)
    except (TypeError, ValueError):
        cells = np.random.default_rng(seed).permutation(len(codes))
    return turn * len(codes) + np.unique(cells, return_inverse=True)[1]


def _turns_as_read(table: Table, codes: Array, seed: int) -> Array:
    """Random ranks of rows, as :func:`turns`, from cells as a schema reads them, so that names have no influence."""
    # If the table cannot be read, all ranks are 0.
    turn, labels = np.zeros(len(codes), int), Labels.of(codes)
    with suppress(TypeError, ValueError), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # The fits of the folds warn.
        schema, data = Schema.infer(table).read(table, learn=True)
        rows, _, ranks = Order.under(schema.model(Dirichlet()), data, labels).copies(labels, len(codes), seed)
        turn[rows] = ranks
    return turn


def few_folds(codes: Array) -> int:
    """A number of folds: the size of the smallest class, but at least 2 and at most 5."""
    return max(2, min(5, int(np.bincount(codes).min())))
