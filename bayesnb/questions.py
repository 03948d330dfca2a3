"""Every question that an estimator passes on to the classifier that it holds.

:class:`Questions` is a base class of :class:`bayesnb.BayesianNB`. A question is written, checked and documented once,
as a method of :class:`bayesnb.classifier.Classifier`; here is one line for each.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from operator import attrgetter
from typing import Concatenate

from bayesnb.classifier import Classifier


def _asks[**P, R](verb: Callable[Concatenate[Classifier, P], R]) -> Callable[Concatenate[Questions, P], R]:
    """A method of the classifier as one of the estimator, which asks the classifier that it holds at that moment."""

    @wraps(verb)
    def ask(self: Questions, *args: P.args, **kwargs: P.kwargs) -> R:
        return verb(self.classifier_, *args, **kwargs)

    return ask


class Questions:
    """The questions of a fitted estimator, and what it has learned, by the names that scikit-learn's users know."""

    classifier_: Classifier

    # Documented in the docstring of the estimator.
    classes_ = property(attrgetter("classifier_.classes"), doc="")
    class_count_ = property(attrgetter("classifier_.statistics.rows"), doc="")
    schema_ = property(attrgetter("classifier_.schema"), doc="")
    choice_ = property(attrgetter("classifier_.choice_"), doc=Classifier.choice_.__doc__)
    statistics_ = property(attrgetter("classifier_.statistics"), doc="")
    posterior_ = property(attrgetter("classifier_.posterior"), doc="")
    target_ = property(attrgetter("classifier_.target"), doc="")
    n_features_in_ = property(attrgetter("classifier_.n_features"), doc="")
    feature_names_in_ = property(attrgetter("classifier_.feature_names"), doc="")
    em_ = property(attrgetter("classifier_.em_"), doc="")
    exponents_ = property(attrgetter("classifier_.exponents_"), doc=Classifier.exponents_.__doc__)

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

    log_evidence_ = property(lambda self: self.classifier_.log_evidence_, doc=Classifier.log_evidence_.__doc__)
