"""The scores of one classifier and of several agree with scikit-learn and with hand calculations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from bayesnb import BayesianNB, Categorical, Dirichlet, datasets
from bayesnb.data.targets import read_target
from bayesnb.evaluation import compare, comparison, evaluate
from bayesnb.evaluation.folds import folds_of, splits
from bayesnb.inference.scoring import brier_decomposition, calibration_error, scores

TENNIS, PLAY = datasets.play_tennis()
HEIGHTS, SEX = datasets.heights()
COLUMNS = [
    "accuracy", "balanced_accuracy", "log_loss", "brier", "reliability", "resolution", "uncertainty", "ece", "auc",
    "rows",
]  # fmt: skip


@st.composite
def forecasts(draw) -> tuple[np.ndarray, np.ndarray]:
    """Random probabilities (row, class), some of them equal and some 0 or 1, and true classes."""
    n, k = draw(st.integers(2, 60)), draw(st.integers(2, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    proba = rng.dirichlet(np.full(k, draw(st.sampled_from([0.05, 0.5, 1.0, 20.0]))), n)
    proba[rng.random(n) < 0.2] = np.eye(k)[0]
    proba[rng.random(n) < 0.2] = 1 / k
    return proba, rng.integers(0, k, n)


# The Brier score and its parts


def total(parts: dict[str, float]) -> float:
    return parts["reliability"] - parts["resolution"] + parts["uncertainty"]


@given(forecasts(), st.sampled_from([1, 2, 7, 10, 1000]))
def test_reliability_minus_resolution_plus_uncertainty_is_the_brier_score_of_scikit_learn(table, bins):
    proba, codes = table
    labels = range(proba.shape[1])
    expected = brier_score_loss(codes, proba, labels=labels, scale_by_half=False)
    assert total(brier_decomposition(proba, codes, bins)) == pytest.approx(expected, abs=1e-12)
    with np.errstate(divide="ignore"):
        assert scores(np.log(proba), codes)["brier"] == pytest.approx(expected, abs=1e-12)


def test_the_three_terms_of_murphy_are_those_computed_by_hand():
    # Ten forecasts of 0.8 with 7 successes, ten of 0.2 with 1: nothing varies within a bin.
    p = np.repeat([0.8, 0.2], 10)
    codes = np.repeat([1, 0, 1, 0], [7, 3, 1, 9])
    parts = brier_decomposition(np.stack([1 - p, p], axis=1), codes)
    assert parts == pytest.approx({
        "reliability": 2 * (0.5 * 0.1**2 + 0.5 * 0.1**2),
        "resolution": 2 * (0.5 * 0.3**2 + 0.5 * 0.3**2),
        "uncertainty": 2 * 0.4 * 0.6,
    })  # fmt: skip


def test_the_last_bin_includes_probability_1():
    p, codes = np.array([0.94, 1.0]), np.array([0, 1])
    parts = brier_decomposition(np.stack([1 - p, p], axis=1), codes)
    assert parts["reliability"] == pytest.approx(2 * (0.97 - 0.5) ** 2)
    assert calibration_error(p, codes == 1) == pytest.approx(0.97 - 0.5)


# One classifier


class Reciting(ClassifierMixin, BaseEstimator):
    """Predicts the probabilities it was given for each row, whatever it learns; X is the number of the row."""

    def __init__(self, proba: Any = None) -> None:
        self.proba = proba

    def fit(self, X: Any, y: Any) -> Reciting:
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        return np.asarray(self.proba)[np.asarray(X)[:, 0]]


ROWS, LABELS = np.arange(6)[:, None], list("ababab")
P_TRUE = np.array([0.9, 0.8, 0.4, 0.7, 0.2, 0.95])


def reciting(p_true) -> Reciting:
    """A classifier that gives the true class of each of the six rows these probabilities."""
    p_true, first = np.asarray(p_true, float), np.array(LABELS) == "a"
    p_a = np.where(first, p_true, 1 - p_true)
    return Reciting(np.stack([p_a, 1 - p_a], axis=1))


@pytest.mark.parametrize("cv", [2, 3])
def test_the_scores_are_those_computed_by_hand(cv):
    found = evaluate(reciting(P_TRUE), ROWS, LABELS, cv)
    assert found.index.tolist() == COLUMNS
    assert found["accuracy"] == pytest.approx(4 / 6)
    assert found["log_loss"] == pytest.approx(-np.log(P_TRUE).mean())
    assert found["brier"] == pytest.approx((2 * (1 - P_TRUE) ** 2).mean())
    assert total(found) == pytest.approx(found["brier"], abs=1e-14)
    assert found["uncertainty"] == 0.5
    assert found["rows"] == 6


def test_leave_one_out_equals_refitting_without_each_row():
    prior = Categorical(Dirichlet(0.7))
    clf = BayesianNB(dict.fromkeys(TENNIS, prior), unseen="new", class_prior={"no": 0.4, "yes": 0.6})
    # Levels are declared, so that a model without a row still knows those that only this row has.
    X = TENNIS.astype("category")
    rest = [np.arange(len(X)) != i for i in range(len(X))]
    proba = np.concatenate([clf.fit(X[keep], PLAY[keep]).predict_proba(X[~keep]) for keep in rest])
    found = evaluate(clf, X, PLAY, cv="loo")
    codes = (PLAY == "yes").to_numpy().astype(int)
    assert found["accuracy"] == accuracy_score(codes, proba.argmax(axis=1))
    assert found["log_loss"] == pytest.approx(log_loss(codes, proba), rel=1e-12)
    assert found["brier"] == pytest.approx(brier_score_loss(codes, proba, labels=[0, 1], scale_by_half=False))
    for name, expected in brier_decomposition(proba, codes).items():
        assert found[name] == pytest.approx(expected, abs=1e-12)


SEVERAL = {
    "bayesnb": BayesianNB(),
    "GaussianNB": GaussianNB(),
    "logistic": LogisticRegression(),
    "discriminant": LinearDiscriminantAnalysis(),
    "calibrated": CalibratedClassifierCV(LinearSVC(), cv=3),
    "pipeline": make_pipeline(StandardScaler(), LogisticRegression()),
}


@pytest.mark.parametrize("clf", SEVERAL.values(), ids=SEVERAL)
def test_folds_get_the_scores_of_scikit_learn(clf):
    codes = (SEX == "male").to_numpy().astype(int)
    folds = [*splits(HEIGHTS, read_target(SEX), 5, np.arange(40))]
    proba = cross_val_predict(clf, HEIGHTS, codes, cv=folds, method="predict_proba")
    found = evaluate(clf, HEIGHTS, SEX, cv=5)
    assert found["accuracy"] == accuracy_score(codes, proba.argmax(axis=1))
    assert found["log_loss"] == pytest.approx(log_loss(codes, proba))
    assert found["brier"] == pytest.approx(brier_score_loss(codes, proba, scale_by_half=False))
    assert found["rows"] == 40


@pytest.mark.parametrize("clf", SEVERAL.values(), ids=SEVERAL)
def test_a_fitted_classifier_is_scored_on_the_rows_given(clf):
    held = np.arange(len(HEIGHTS)) % 3 == 0
    clf.fit(HEIGHTS[~held], SEX[~held])
    before = clf.predict_proba(HEIGHTS[held])
    found = evaluate(clf, HEIGHTS[held], SEX[held], cv=None)
    assert found["log_loss"] == pytest.approx(log_loss(SEX[held], before))
    assert found["accuracy"] == accuracy_score(SEX[held], clf.predict(HEIGHTS[held]))
    assert found["brier"] == pytest.approx(brier_score_loss(SEX[held] == "male", before, scale_by_half=False))


@pytest.mark.parametrize("cv", ["loo", 3])
def test_scoring_does_not_change_a_fitted_classifier(cv):
    clf = BayesianNB().fit(TENNIS.iloc[:5], PLAY[:5])
    before = clf.predict_proba(TENNIS)
    evaluate(clf, TENNIS, PLAY, cv)
    assert clf.predict_proba(TENNIS).tolist() == before.tolist()


@pytest.mark.parametrize("wrap", [lambda clf: clf, make_pipeline], ids=["joint", "normalized"])
def test_a_probability_that_underflows_has_a_finite_log_loss(wrap):
    X = np.array([[0.0], [1.0], [1000.0], [1001.0], [999.0], [2.0]])
    y = [0, 0, 1, 1, 0, 0]
    clf = wrap(GaussianNB()).fit(X[:4], y[:4])
    assert clf.predict_proba(X[4:])[0, 0] == 0
    found = evaluate(clf, X[4:], y[4:], cv=None)
    assert 1e3 < found["log_loss"] < np.inf


def test_probability_0_of_the_true_class_gives_an_infinite_log_loss():
    found = evaluate(reciting([1, 1, 1, 1, 1, 0]), ROWS, LABELS, cv=2)
    assert found["log_loss"] == np.inf
    assert found["accuracy"] == pytest.approx(5 / 6)
    assert found.drop("log_loss").notna().all()


@pytest.mark.parametrize("cv", ["loo", 5])
def test_a_row_that_is_impossible_under_every_class_gives_an_infinite_log_loss_and_no_error(cv):
    X = pd.DataFrame({"u": list("abababxaba"), "v": list("aabbaabbay")})
    found = evaluate(BayesianNB(estimate="mle", unseen="new"), X, list("pppppqqqqq"), cv)
    assert found["log_loss"] == np.inf
    assert found.drop("log_loss").notna().all()
    assert total(found) == pytest.approx(found["brier"])


# Several classifiers


def test_differences_are_paired_row_by_row():
    good, bad = P_TRUE, np.array([0.55, 0.7, 0.45, 0.2, 0.3, 0.6])
    found = compare({"bad": reciting(bad), "good": reciting(good)}, ROWS, LABELS, cv=3)
    assert found.index.tolist() == ["good", "bad"]
    assert found.columns.tolist() == [
        "rank", "log_score", "se", "difference", "se_difference", "accuracy", "brier", "ece",
    ]  # fmt: skip
    a, b = np.log(good), np.log(bad)
    assert found["rank"].tolist() == [0, 1]
    assert_allclose(found["log_score"], [a.sum(), b.sum()])
    assert_allclose(found["se"], [np.sqrt(6 * a.var()), np.sqrt(6 * b.var())])
    assert_allclose(found["difference"], [0, (a - b).sum()])
    assert_allclose(found["se_difference"], [0, np.sqrt(6 * (a - b).var())])
    assert_allclose(found["brier"], [2 * ((1 - good) ** 2).mean(), 2 * ((1 - bad) ** 2).mean()])
    assert_allclose(found["accuracy"], [4 / 6, 3 / 6])


def test_compare_scores_all_classifiers_on_the_same_folds():
    found = compare(SEVERAL, HEIGHTS, SEX, cv=5)
    assert found["rank"].tolist() == list(range(len(SEVERAL)))
    assert found["log_score"].is_monotonic_decreasing
    for name, clf in SEVERAL.items():
        alone = evaluate(clf, HEIGHTS, SEX, cv=5)
        assert found.loc[name, "log_score"] == pytest.approx(-40 * alone["log_loss"])
        assert_allclose(
            found.loc[name, ["accuracy", "brier", "ece"]].astype(float), alone[["accuracy", "brier", "ece"]]
        )
    twice = compare({"one": GaussianNB(), "other": GaussianNB()}, HEIGHTS, SEX, cv=5)
    assert twice[["difference", "se_difference"]].to_numpy().tolist() == [[0, 0], [0, 0]]
    assert twice.index.tolist() == ["one", "other"]


def test_compare_uses_exact_leave_one_out_by_default():
    models = {"flat": BayesianNB(class_prior="uniform"), "learned": BayesianNB()}
    found = compare(models, TENNIS, PLAY)
    for name, clf in models.items():
        left_out = clf.fit(TENNIS, PLAY).loo(TENNIS, PLAY)["probability"]
        own = [np.log(p[label]) for (_, p), label in zip(left_out.iterrows(), PLAY, strict=True)]
        assert found.loc[name, "log_score"] == pytest.approx(sum(own), rel=1e-12)
        assert found.loc[name, "se"] == pytest.approx(np.sqrt(14 * np.var(own)), rel=1e-12)


@pytest.mark.slow
def test_a_model_scored_beside_an_average_that_contains_it_scores_as_alone():
    beside, alone = (
        comparison(BayesianNB(), *datasets.penguins(), cv=2, dependence=names)
        for names in (("weighted", "auto-counts"), ("weighted",))
    )
    assert_allclose(beside.answers["weighted"], alone.answers["weighted"], rtol=1e-9, atol=1e-9)


def test_a_classifier_with_probability_0_for_a_true_class_scores_minus_infinity_and_comes_last():
    never, also = reciting([1, 1, 1, 1, 1, 0]), reciting([0, 0.5, 0.5, 0.5, 0.5, 0.5])
    found = compare({"never": never, "also": also, "some": reciting(P_TRUE)}, ROWS, LABELS, cv=2)
    assert found.index.tolist() == ["some", "never", "also"]
    assert found.notna().all(axis=None)
    assert found["log_score"].tolist()[1:] == [-np.inf, -np.inf]
    assert found["difference"].tolist() == [0, np.inf, np.inf]
    assert found["se_difference"].tolist() == [0, np.inf, np.inf]
    assert found["se"].tolist()[1:] == [np.inf, np.inf]


def test_classifiers_that_all_score_minus_infinity_are_ordered_by_brier_score():
    worse, better = reciting([0, 0.5, 0.5, 0.5, 0.5, 0.5]), reciting([1, 1, 1, 1, 1, 0])
    found = compare({"worse": worse, "better": better}, ROWS, LABELS, cv=2)
    assert found.index.tolist() == ["better", "worse"]
    assert found.notna().all(axis=None)
    assert found["difference"].tolist() == [0, 0]
    assert found["se_difference"].tolist() == [0, np.inf]


@pytest.mark.filterwarnings("ignore::bayesnb.errors.NumbersAsLevelsWarning")
@pytest.mark.parametrize(
    "container", [lambda X: X, lambda X: X[["visits", "size"]].to_numpy(float)], ids=["frame", "array"]
)
def test_every_fold_reads_the_columns_as_a_fit_of_all_rows_does(container):
    # One cell of each column decides its type, and all folds but one learn it.
    n, rng = 60, np.random.default_rng(0)
    price = [f"€ {value:.2f}" for value in rng.normal(20, 3, n)]
    remark = [f"parcel {k} was left with the neighbour of house {k}" for k in range(n // 2 + 2)] + ["late"] * (
        n // 2 - 2
    )
    X = pd.DataFrame({"visits": rng.integers(0, 2, n), "size": rng.normal(size=n), "price": price, "remark": remark})
    X.loc[3, "visits"], X.loc[7, "price"] = 2, "€ 1l2.50"
    X, y = container(X), rng.integers(0, 2, n)

    def families(clf):
        return {name: (type(each.family), each.origin.kind) for name, each in clf.schema.features.items()}

    folds, _ = folds_of(BayesianNB(), X, y, 5)
    whole = BayesianNB().fit(X, y).classifier_
    assert [families(fold.fitted) for fold in folds] == [families(whole)] * 5
    assert all(fold.fitted.schema.readings == whole.schema.readings for fold in folds)


@pytest.mark.parametrize("cv", ["loo", 3])
def test_a_class_that_only_the_class_prior_names_takes_part_in_the_scores(cv):
    X, y = datasets.play_tennis()
    named, plain = (
        evaluate(BayesianNB(class_prior=prior), X, y, cv=cv)["log_loss"]
        for prior in ({"no": 0.4, "yes": 0.4, "never": 0.2}, {"no": 0.5, "yes": 0.5})
    )
    assert plain < named < plain + 1


def test_an_error_about_folds_is_short_and_names_the_way_for_groups():
    folds = [(np.arange(1000), np.arange(1000, 2000))] * 50
    with pytest.raises(ValueError, match=r"or None for a held-out table; got .*cross_validate") as refused:
        evaluate(BayesianNB(), TENNIS, PLAY, cv=folds)
    assert len(str(refused.value)) < 700
