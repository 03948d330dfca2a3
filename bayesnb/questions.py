"""Every question that an estimator passes on to the classifier that it holds.

:class:`Questions` is a base class of :class:`bayesnb.BayesianNB`. A question is written, checked and documented once,
as a method of :class:`bayesnb.classifier.Classifier`; here is one line for each.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, Protocol, cast

from sklearn.base import ClassifierMixin

from bayesnb.classifier import Classifier, explaining, exponents
from bayesnb.data.columns import as_objects


class _Asked[**P, R](Protocol):
    """What a type checker knows of a method that a decorator has made: that it is called without its ``self``."""

    def __get__(self, asked: Any, kind: Any = None) -> Callable[P, R]: ...


def _asks[**P, R](verb: Callable[Concatenate[Classifier, P], R]) -> _Asked[P, R]:
    """A method of the classifier as one of the estimator, which asks the classifier that it holds at that moment."""

    @wraps(verb)
    def ask(self: Questions, *args: P.args, **kwargs: P.kwargs) -> R:
        return verb(self.classifier_, *args, **kwargs)

    return cast("_Asked[P, R]", ask)


def _held[T](of: Callable[[Classifier], T]) -> T:
    """A property of the classifier as one of the estimator. Its type is what an estimator has under that name."""
    found: Any = property(lambda self: of(self.classifier_), doc=of.__doc__ or "")
    return found


THEIRS = {
    **dict.fromkeys(("theta_", "var_", "sigma_"), 'tables()[column], which has "mean" and "sd"'),
    **dict.fromkeys(("class_log_prior_", "class_prior_"), 'tables()["(class)"], the probabilities of the classes'),
    "feature_log_prob_": "tables()[column], the probabilities of the levels",
    **dict.fromkeys(("feature_count_", "category_count_"), "statistics_.features[column], or tables()[column]"),
    **dict.fromkeys(("coef_", "intercept_"), "linear_form(), which returns weights and intercept"),
}
"""Attributes of other implementations of naive Bayes, and what to ask here."""


class Questions:
    """The questions of a fitted estimator, and what it has learned, by the names that scikit-learn's users know."""

    classifier_: Classifier

    # Documented in the docstring of the estimator.
    classes_ = _held(lambda c: c.classes)
    class_count_ = _held(lambda c: c.statistics.rows)
    schema_ = _held(lambda c: c.schema)
    choice_ = _held(explaining.choice_)
    statistics_ = _held(lambda c: c.statistics)
    posterior_ = _held(lambda c: c.posterior)
    target_ = _held(lambda c: c.target)
    n_features_in_ = _held(lambda c: c.n_features)
    feature_names_in_ = _held(lambda c: c.feature_names)
    em_ = _held(lambda c: c.em_)
    exponents_ = _held(exponents.exponents_)

    # Every question is the classifier's, and documented there.
    predict = _asks(Classifier.predict)
    predict_proba = _asks(Classifier.predict_proba)
    predict_log_proba = _asks(Classifier.predict_log_proba)
    predict_joint_log_proba = _asks(Classifier.predict_joint_log_proba)
    compile = _asks(Classifier.compile)
    predict_table = _asks(Classifier.predict_table)
    write_predictions = _asks(Classifier.write_predictions)
    with_class_prior = _asks(Classifier.with_class_prior)
    estimate_class_prior = _asks(Classifier.estimate_class_prior)
    decide = _asks(Classifier.decide)
    predict_set = _asks(Classifier.predict_set)
    conformal = _asks(Classifier.conformal)
    ask_next = _asks(Classifier.ask_next)
    label_next = _asks(Classifier.label_next)
    sample_proba = _asks(Classifier.sample_proba)
    predict_interval = _asks(Classifier.predict_interval)
    prob_top = _asks(Classifier.prob_top)
    log_odds = _asks(Classifier.log_odds)
    uncertainty = _asks(Classifier.uncertainty)
    explain = _asks(Classifier.explain)
    tables = _asks(Classifier.tables)
    linear_form = _asks(Classifier.linear_form)
    describe = _asks(Classifier.describe)
    loo = _asks(Classifier.loo)
    independence = _asks(Classifier.independence)
    suspicious_labels = _asks(Classifier.suspicious_labels)
    predictive_checks = _asks(Classifier.predictive_checks)
    sensitivity = _asks(Classifier.sensitivity)
    predict_credal = _asks(Classifier.predict_credal)
    sample = _asks(Classifier.sample)
    to_pymc = _asks(Classifier.to_pymc)
    sample_posterior = _asks(Classifier.sample_posterior)
    verify = _asks(Classifier.verify)

    if not TYPE_CHECKING:  # A checker that sees it takes every name for an attribute.

        def __getattr__(self, name: str) -> Any:
            """Say what stands here for an attribute of other implementations; any other error is what it was."""
            if name in THEIRS:
                raise AttributeError(f"BayesianNB has no {name!r}: ask {THEIRS[name]}", name=name, obj=self)
            return object.__getattribute__(self, name)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows that :meth:`predict` gets right.

        Examples
        --------
        >>> from bayesnb import BayesianNB, datasets
        >>> X, y = datasets.play_tennis()
        >>> round(BayesianNB().fit(X, y).score(X, y), 3)
        0.929
        """
        return ClassifierMixin.score(self, X, as_objects(y), sample_weight)

    def __getstate__(self) -> dict[str, Any]:
        """What copies and pickles hold; it is taken at once, though another thread may be learning."""
        return vars(self).copy()

    log_evidence_ = _held(explaining.log_evidence_)
