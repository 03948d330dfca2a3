"""What was learned is one frozen value: each question asks one, and no verb loses what another has learned."""

from __future__ import annotations

import copy
import os
import pickle
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError, fields

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

import bayesnb as nb
from bayesnb import BayesianNB, Gaussian, NormalGamma, datasets
from bayesnb.data.schema import Schema
from bayesnb.inference.classifier import Classifier

pytestmark = pytest.mark.usefixtures("few_drawn_labels")

X = pd.DataFrame({"size": [1.0, 2.0, 8.0, 9.0], "hue": list("uvuv")})
Y = ["m", "m", "n", "n"]
MORE = pd.DataFrame({"size": [20.0, 21.0], "hue": ["w", "w"]})

QUESTIONS = {
    "predict": lambda clf: clf.predict(X),
    "predict_proba": lambda clf: clf.predict_proba(X),
    "predict_log_proba": lambda clf: clf.predict_log_proba(X),
    "predict_joint_log_proba": lambda clf: clf.predict_joint_log_proba(X),
    "predict_table": lambda clf: nb.deploy.predict_table(clf, X, interval=True),
    "predict_interval": lambda clf: clf.predict_interval(X, method="draws", draws=100),
    "log_odds": lambda clf: nb.odds.log_odds(clf, X),
    "uncertainty": lambda clf: clf.uncertainty(X, draws=100),
    "sample_proba": lambda clf: nb.draws.sample_proba(clf, X, 5),
    "decide": lambda clf: clf.decide(X, pd.DataFrame({"act": [0.0, 1.0], "wait": [2.0, 0.0]}, index=["m", "n"])),
    "credible_set": lambda clf: nb.sets.credible_set(clf, X),
    "explain": lambda clf: clf.explain(X, "m", "n"),
    "estimate_class_prior": lambda clf: nb.deploy.estimate_class_prior(clf, X),
    "loo": lambda clf: clf.loo(X, Y),
    "ask_next": lambda clf: nb.design.ask_next(clf, {"size": [1.0]}),
    "label_next": lambda clf: nb.design.label_next(clf, X, n=1, draws=100),
    "conformal": lambda clf: nb.sets.conformal(clf, X, Y).p_values(X),
    "suspicious_labels": lambda clf: nb.checks.suspicious_labels(clf, X, Y),
    "sensitivity": lambda clf: nb.checks.sensitivity(clf, X),
    "predict_credal": lambda clf: nb.sets.predict_credal(clf, X),
    "predictive_checks": lambda clf: nb.checks.predictive_checks(clf, X, Y, draws=20).table,
}


def told(answer):
    """An answer in a form that can be compared."""
    return answer.to_dict() if isinstance(answer, pd.DataFrame | pd.Series) else np.asarray(answer).tolist()


# One state to a question


@pytest.mark.parametrize("ask", QUESTIONS.values(), ids=QUESTIONS)
def test_a_question_is_answered_by_one_state_even_if_the_estimator_learns_meanwhile(ask, monkeypatch):
    expected = told(ask(BayesianNB(random_state=0).fit(X, Y)))
    clf, read = BayesianNB(random_state=0).fit(X, Y), Schema.read

    def read_and_learn(self, table, learn=False, absent="error"):
        encoded = read(self, table, learn, absent)
        if not learn:
            # A new class that sorts first and a new level, so that an answer of two states would show.
            clf.partial_fit(MORE, ["a", "a"])
        return encoded

    monkeypatch.setattr(Schema, "read", read_and_learn)
    answer = told(ask(clf))
    monkeypatch.undo()
    assert list(clf.classes_) == ["a", "m", "n"]
    assert str(answer) == str(expected)


def test_what_was_learned_is_a_value_that_nothing_changes():
    clf = BayesianNB().fit(X, Y)
    held, before = clf.classifier_, clf.predict_proba(X)
    clf.partial_fit(MORE, ["a", "a"])
    assert isinstance(held, Classifier)
    assert_array_equal(held.predict_proba(X), before)
    assert_array_equal(pickle.loads(pickle.dumps(held)).predict_proba(X), before)
    for field in fields(held):
        with pytest.raises(FrozenInstanceError):
            setattr(held, field.name, None)


def test_the_pickle_of_a_model_does_not_depend_on_the_questions_that_were_asked():
    X, y = datasets.penguins()
    clf = BayesianNB().fit(X, y).classifier_
    before = pickle.dumps(clf)
    clf.predict_proba(X)
    assert pickle.dumps(clf) == before


def test_parameters_that_only_questions_need_count_from_when_they_are_set():
    clf = BayesianNB().fit(X, Y)
    with pytest.raises(ValueError, match="'hue' was fitted and is not in this table"):
        clf.predict(X[["size"]])
    assert len(clf.set_params(absent="missing").predict(X[["size"]])) == 4
    drawn = nb.draws.sample(clf.set_params(random_state=3), 5)
    pd.testing.assert_frame_equal(drawn, nb.draws.sample(BayesianNB(random_state=3).fit(X, Y), 5))


def test_families_that_are_set_between_two_parts_do_not_count_and_a_warning_says_so(tmp_path):
    X, y = nb.datasets.play_tennis()
    clf = BayesianNB({"outlook": "categorical"}).fit(X[:7], y[:7])
    clf.save(tmp_path / "model")
    for each in (clf, nb.load(tmp_path / "model")):
        each.partial_fit(X[7:9], y[7:9]).set_params(features__outlook__prior__alpha=5.0)
        with pytest.warns(
            UserWarning, match="^features was set after the first rows were learned.* fit all rows again$"
        ):
            each.partial_fit(X[9:], y[9:])
        np.testing.assert_allclose(each.predict_proba(X), BayesianNB().fit(X, y).predict_proba(X), rtol=1e-12)
    clf.fit(X[:9], y[:9]).partial_fit(X[9:], y[9:])
    np.testing.assert_allclose(clf.predict_proba(X), clf.fit(X, y).predict_proba(X), rtol=1e-12)


@pytest.mark.parametrize("estimate", ["predictive", "mean", "map", "mle"])
def test_another_estimate_of_the_same_posterior_is_what_a_fit_would_have_given(estimate):
    X, y = datasets.play_tennis()
    asked = BayesianNB().fit(X, y).classifier_.with_estimate(estimate)
    fitted = BayesianNB(estimate=estimate).fit(X, y)
    assert_array_equal(asked.predict_proba(X), fitted.predict_proba(X))
    pd.testing.assert_frame_equal(asked.loo(X, y), fitted.loo(X, y))


# Threads


def test_threads_that_learn_at_once_lose_no_row():
    rng = np.random.default_rng(0)
    parts = [(rng.normal(size=(5, 2)), rng.integers(0, 3, 5)) for _ in range(60)]
    clf, interval = BayesianNB(), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda part: clf.partial_fit(*part), parts))
    finally:
        sys.setswitchinterval(interval)
    whole = BayesianNB().fit(np.concatenate([x for x, _ in parts]), np.concatenate([y for _, y in parts]))
    assert_array_equal(clf.class_count_, whole.class_count_)
    assert_allclose(clf.predict_proba(parts[0][0]), whole.predict_proba(parts[0][0]), rtol=1e-9)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_process_that_is_forked_while_a_thread_learns_can_learn_too():
    clf, reading, go_on = BayesianNB().fit(X, Y), threading.Event(), threading.Event()

    def frames():
        reading.set()
        go_on.wait()
        yield MORE.assign(y="a")

    with ThreadPoolExecutor(1) as pool:
        learning = pool.submit(clf.partial_fit, frames(), "y")
        reading.wait()
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            os._exit(int(clf.partial_fit(X, Y).class_count_.sum()))
        _, status = os.waitpid(child, 0)
        go_on.set()
        assert learning.result().class_count_.sum() == 6
    assert os.waitstatus_to_exitcode(status) == 8


def test_rows_that_are_learned_while_rows_are_read_are_refused_and_not_lost():
    clf = BayesianNB().fit(X, Y)

    def frames():
        clf.partial_fit(MORE, ["a", "a"])
        yield X.assign(y=Y)

    with pytest.raises(RuntimeError, match="partial_fit was called while this thread was learning"):
        clf.partial_fit(frames(), "y")
    assert clf.class_count_.sum() == 4
    assert clf.partial_fit(X, Y).class_count_.sum() == 8


def test_readers_beside_a_learner_get_an_answer_of_some_state():
    # Every new class sorts first and is far away, and the prior is fixed: each row keeps its class in every state.
    clf, wrong = BayesianNB({"size": Gaussian(NormalGamma(5.0, 1.0, 2.0, 2.0))}).fit(X, Y), []
    names, interval = [f"a{k:02d}" for k in range(30, 0, -1)], sys.getswitchinterval()
    done = threading.Event()

    def ask():
        while not done.is_set():
            if list(clf.predict(X)) != Y:
                wrong.append("predict")
            table = nb.deploy.predict_table(clf, X)
            if list(table["prediction"]) != Y or not np.allclose(table.filter(like="p_").sum(axis=1), 1):
                wrong.append("predict_table")

    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(3) as pool:
            asking = [pool.submit(ask) for _ in range(2)]
            for k, name in enumerate(names):
                far = pd.DataFrame({"size": [1e4 * (k + 1), 1e4 * (k + 1) + 1.0], "hue": [name, name]})
                clf.partial_fit(far, [name, name])
            done.set()
            for future in asking:
                future.result()
    finally:
        done.set()
        sys.setswitchinterval(interval)
    assert wrong == []


@pytest.mark.parametrize("dependence", [None, "weighted"])
def test_threads_may_ask_copy_and_pickle_a_model_at_once_and_all_answers_have_the_same_bits(dependence):
    X, y = nb.datasets.penguins()
    X, y = X[:60], y[:60]
    ways = (
        lambda clf: clf.predict_proba(X),
        lambda clf: clf.classifier_.predict_proba(X),
        lambda clf: pickle.loads(pickle.dumps(clf)).predict_proba(X),
        lambda clf: copy.deepcopy(clf).predict_proba(X),
        lambda clf: copy.copy(clf.classifier_).predict_proba(X),
        lambda clf: nb.deploy.with_class_prior(clf, clf.posterior_.label.mean()).predict_proba(X),
    )
    expected = [way(BayesianNB(dependence=dependence).fit(X, y)) for way in ways]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(3):
            # What a model works out when it is first asked is worked out by all threads at once.
            clf, start = BayesianNB(dependence=dependence).fit(X, y), threading.Barrier(len(ways))
            with ThreadPoolExecutor(len(ways)) as pool:
                asked = [
                    pool.submit(lambda way, clf=clf, start=start: (start.wait(), way(clf))[1], way) for way in ways
                ]
            for future, right in zip(asked, expected, strict=True):
                np.testing.assert_array_equal(future.result(), right)
    finally:
        sys.setswitchinterval(interval)


# Looking at an estimator


def by_em():
    return BayesianNB().fit(X, np.array(["m", "n", None, None], object))


def improper():
    return BayesianNB({"size": Gaussian(NormalGamma.flat())}, estimate="mle").fit(X, Y)


@pytest.mark.parametrize(
    "make",
    [
        lambda clf: nb.deploy.with_class_prior(clf, np.tile([0.2, 0.8], (4, 1))),
        lambda clf: nb.deploy.with_class_prior(clf, "uniform"),
    ],
    ids=["one prior a row", "one prior"],
)
def test_a_classifier_can_be_listed_and_shown(make):
    view = make(BayesianNB().fit(X, Y))
    assert "predict" in dir(view)
    assert repr(view) == "Classifier(2 features, classes ['m', 'n'])"
    for name in dir(view):
        hasattr(view, name)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (by_em, "expected counts of unlabelled rows"),
        (improper, "feature 'size'"),
        (
            lambda: nb.deploy.with_class_prior(BayesianNB().fit(X, Y), np.tile([0.2, 0.8], (4, 1))),
            "one for each of 4 rows",
        ),
    ],
    ids=["EM", "improper", "one prior a row"],
)
def test_an_evidence_that_does_not_exist_is_absent_and_says_why(make, why):
    clf = make()
    assert not hasattr(clf, "log_evidence_")
    with pytest.raises(AttributeError, match=f"log_evidence_ does not exist: .*{why}"):
        _ = clf.log_evidence_


def test_before_a_fit_every_fitted_attribute_is_absent():
    clf = BayesianNB()
    for name in ("classes_", "class_count_", "posterior_", "n_features_in_"):
        assert not hasattr(clf, name)
        with pytest.raises(NotFittedError, match="not fitted yet"):
            getattr(clf, name)
    with pytest.raises(NotFittedError):
        check_is_fitted(clf)
    check_is_fitted(clf.fit(X, Y))


def test_a_label_that_stands_for_no_label_is_no_class_of_the_type():
    y = pd.Series([0, 1, 0, -1], dtype=pd.CategoricalDtype([-1, 0, 1]))
    assert BayesianNB(unlabelled=-1).fit(X, y).classes_.tolist() == [0, 1]


# Which classes there are
