"""How rows become a classifier: each function here makes a new one, and changes nothing.

Start with :func:`believed`, in which all of them end: it works out everything that follows from statistics.
``settings`` is a :class:`bayesnb.BayesianNB`, of which only the parameters are read; ``before`` is what was learned
before, or ``None``.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate
from weakref import WeakKeyDictionary, WeakSet

import numpy as np
from sklearn.utils import column_or_1d

from bayesnb import class_prior, em
from bayesnb.classifier import Classifier
from bayesnb.data import engines
from bayesnb.data.rows import Rows
from bayesnb.data.schema import Schema
from bayesnb.data.summary import Summary
from bayesnb.data.targets import NO_LABEL, classes_of, labels_of, with_named
from bayesnb.model import Statistics, estimate_rule
from bayesnb.priors import Array, Dirichlet, FixedProbabilities

_LOCKS: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
_LEARNING: WeakSet[Any] = WeakSet()


def _without_locks() -> None:
    """Forget the locks in a forked process, in which the threads that held them do not run."""
    _LOCKS.clear()
    _LEARNING.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_without_locks)


def one_at_a_time[**P, R](verb: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """Let one thread at a time learn into an estimator: the next one waits, and adds to what the first has learned.

    Rows that come from an iterator cannot be read again, so a verb that finds the estimator changed could not start
    over; hence a lock. The locks stand beside the estimators, which can so still be copied and pickled.

    Raises
    ------
    RuntimeError
        If rows are learned while the same thread learns into the same estimator, as an iterator of frames might: they
        would be lost.
    """

    @wraps(verb)
    def learn(estimator: Any, *args: P.args, **kwargs: P.kwargs) -> R:
        with _LOCKS.setdefault(estimator, threading.RLock()):
            if estimator in _LEARNING:
                raise RuntimeError(
                    f"{verb.__name__} was called while this thread was learning into the same estimator: call it "
                    "before or after"
                )
            _LEARNING.add(estimator)
            try:
                return verb(estimator, *args, **kwargs)
            finally:
                _LEARNING.discard(estimator)

    return learn


def fitted(settings: Any, X: Any, y: Any, sample_weight: Any = None) -> Classifier:
    """What a table says, whatever was learned before."""
    if engines.streams(X):
        return of_summary(settings, None, _summary(settings, X, y, sample_weight), y)
    name = getattr(y, "name", None)
    target = name if isinstance(name, str | int) and name != "" else None
    rows = Rows.of(X, y, sample_weight, settings.unlabelled)
    em.require_settings(settings.unlabelled_weight, settings.em_starts)
    rows = rows.weighing_unlabelled(settings.unlabelled_weight)
    if not rows.weight.any():
        raise ValueError(NO_LABEL)
    rows = rows.counted()
    if not rows.target.complete:
        return _by_em(settings, rows, target)
    schema, statistics = rows.statistics(None, settings.features, settings.unseen)
    return believed(settings, None, schema, statistics, rows.target.classes, rows.target.declared, target=target)


def _by_em(settings: Any, rows: Rows, target: Any) -> Classifier:
    """What rows say of which some have no label; the weights of those have λ in them."""
    schema = Schema.infer(rows.table, settings.features, settings.unseen, rows.weight)
    schema, data = schema.read(rows.table, learn=True)
    rule, model, seen = estimate_rule(settings.estimate), schema.model(_label_prior(settings)), rows.target.classes
    classes = with_named(seen, [*rows.target.declared, *model.named_classes(labels_of(seen))])
    if not len(seen) and len(classes) < 2:
        raise ValueError(f"{NO_LABEL}; label some rows, or give a feature priors that differ, as {{class: prior}}")
    labelled, data, weight = rows.split(model, data, classes)
    result = em.em(
        model.flat() if rule.flat else model,
        labelled,
        data,
        len(weight),
        row_weight=weight,
        at=rule.point,
        starts=settings.em_starts,
        rng=np.random.default_rng(settings.random_state),
    )
    others = {"target": target, "em": result, "expected": True}
    return believed(settings, None, schema, result.statistics, classes, rows.target.declared, **others)


def with_rows(
    settings: Any, before: Classifier | None, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
) -> Classifier:
    """What was learned and what further rows say; ``classes`` are named by the user."""
    schema = None if before is None else before.schema
    named = () if classes is None else labels_of(column_or_1d(classes))
    if engines.streams(X):
        return of_summary(settings, before, _summary(settings, X, y, sample_weight, schema), y, named)
    rows = Rows.of(X, y, sample_weight, settings.unlabelled, schema).labelled().counted()
    schema, statistics = rows.statistics(schema, settings.features, settings.unseen)
    return _added(settings, before, schema, statistics, rows.target.classes, (*rows.target.declared, *named))


def without_rows(settings: Any, before: Classifier, X: Any, y: Any, sample_weight: Any = None) -> Classifier:
    """What would have been learned without some of the rows. A class whose last row goes is gone, unless it is named.

    Raises
    ------
    ValueError
        Where it can be seen that the rows were never learned, or if no class would be left.
    """
    before.require_counted("forget is exact for rows that were counted")
    if engines.streams(X):
        statistics = _summary(settings, X, y, sample_weight, before.schema).statistics
    else:
        rows = Rows.of(X, y, sample_weight, settings.unlabelled, before.schema).labelled().counted()
        _, statistics = rows.statistics(before.schema)
    rest, labels = before.statistics.without(statistics), labels_of(before.classes)
    named = {*before.declared, *before.posterior.model.named_classes(labels)}
    stays = (rest.rows > 0) | (before.statistics.rows == 0) | [label in named for label in labels]
    if not stays.any():
        raise ValueError(
            f"these are all rows of all classes, {list(labels)}, and a classifier needs a class: name the classes "
            "that are to stay, with partial_fit(..., classes=[...]) or class_prior={label: probability}"
        )
    return believed(settings, before, before.schema, rest, before.classes[stays], before.declared)


def merged(settings: Any, before: Classifier, other: Classifier) -> Classifier:
    """What two classifiers have learned of different rows."""
    schema, expected = before.schema.merged(other.schema), before.expected or other.expected
    return _added(settings, before, schema, other.statistics, other.classes, other.declared, expected=expected)


def discounted(settings: Any, before: Classifier, factor: float) -> Classifier:
    """What was learned, each row weighed by a factor between 0 and 1."""
    if not 0 <= factor <= 1:
        raise ValueError(f"Expected a factor between 0 and 1; got {factor!r}")
    return believed(settings, before, before.schema, before.statistics * factor, before.classes, before.declared)


def _summary(settings: Any, X: Any, y: Any, sample_weight: Any, schema: Schema | None = None) -> Summary:
    """The summary of a table that is read in parts, and names its own columns."""
    for what, name in (("y", y), ("sample_weight", sample_weight)):
        if not isinstance(name, str | int | None) or (what == "y" and name is None):
            raise TypeError(
                f"X is no 2-dimensional table in memory, but read in parts, so {what} is the name of one of its "
                f"columns; got {name!r}"
            )
    return engines.summary(settings, X, y, sample_weight, schema)


def of_summary(
    settings: Any, before: Classifier | None, summary: Summary, target: Any, named: tuple[Any, ...] = ()
) -> Classifier:
    """What a summary says, together with what was learned before; ``named`` are classes that the user names."""
    declared = (*(summary.declared.get(target) or ()), *named)
    others = {"target": target} if before is None else {}
    return _added(settings, before, summary.schema, summary.statistics, summary.classes, declared, **others)


def of_contents(settings: Any, contents: Any) -> Classifier:
    """What the contents of a model file say."""
    others = {"target": contents.target, "expected": contents.expected}
    learned = contents.schema, contents.statistics, contents.classes, contents.declared
    return believed(settings, None, *learned, **others)


def _added(
    settings: Any,
    before: Classifier | None,
    schema: Schema,
    statistics: Statistics,
    classes: Array,
    declared: tuple[Any, ...],
    **others: Any,
) -> Classifier:
    """What statistics say, together with what was learned before."""
    if before is not None:
        statistics, classes = before.statistics + statistics, classes_of(before.classes, classes)
        declared = (*before.declared, *declared)
    return believed(settings, before, schema, statistics, classes, declared, **others)


def believed(
    settings: Any,
    before: Classifier | None,
    schema: Schema,
    statistics: Statistics,
    classes: Array,
    declared: tuple[Any, ...],
    **others: Any,
) -> Classifier:
    """Everything that follows from statistics, under the priors and the estimate of the settings.

    Parameters
    ----------
    settings : BayesianNB
    before : Classifier or None
        Whose target and EM are kept.
    schema, statistics
    classes : array (class,)
        Those that rows have or had. Classes that the class prior or the prior of a feature names are added.
    declared : tuple
        Classes that the type of the labels or the user names; they are added too.
    **others
        Further fields of the classifier.

    Raises
    ------
    ValueError
        For a setting that is none, or a posterior that the estimate cannot use, naming feature and class.
    """
    if settings.absent not in ("error", "missing"):
        raise ValueError(f"Expected absent to be 'error' or 'missing'; got {settings.absent!r}")
    label, declared = _label_prior(settings), tuple(dict.fromkeys(declared))
    classes = with_named(classes, [*declared, *schema.model(label).named_classes(labels_of(classes))])
    if before is not None:
        others = {"target": before.target, "em": before.em, "expected": before.expected} | others
    statistics = statistics.over(labels_of(classes))
    return Classifier.of(schema, statistics, classes, label, settings.estimate, declared=declared, **others)


def _label_prior(settings: Any) -> Dirichlet | FixedProbabilities:
    return Dirichlet() if settings.class_prior is None else class_prior.read(settings.class_prior)
