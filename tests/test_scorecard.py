"""Scores stand beside a yardstick: intervals, what the model claims, and what class shares alone score."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from conftest import run
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import beta
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    balanced_accuracy_score,
    brier_score_loss,
    confusion_matrix,
    log_loss,
    precision_score,
    recall_score,
    roc_auc_score,
)
from sklearn.naive_bayes import GaussianNB

from bayesnb import BayesianNB, Categorical, datasets, deploy, load, scorecard
from bayesnb.evaluation import compare_estimates, comparison, evaluate, held_out
from bayesnb.inference import scorecard as cards
from bayesnb.inference.scorecard import HeldOut, Scorecard, percent, percents, scorecard_of
from bayesnb.inference.scoring import auc_and_influence, scores, share_interval


@st.composite
def forecasts(draw) -> tuple[np.ndarray, np.ndarray]:
    """Random probabilities (row, class) with ties, and true classes, each of which has a row."""
    k = draw(st.integers(2, 5))
    n = draw(st.integers(k, 60))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    proba = rng.dirichlet(np.full(k, draw(st.sampled_from([0.3, 1.0, 20.0]))), n)
    proba[rng.random(n) < 0.3] = 1 / k
    return proba, np.append(np.arange(k), rng.integers(0, k, n - k))


def card_of(proba: Any, codes: Any, **more: Any) -> Scorecard:
    proba = np.asarray(proba, float)
    with np.errstate(divide="ignore"):
        return scorecard_of(np.log(proba), np.asarray(codes), np.array(list("abcdefg"))[: proba.shape[1]], **more)


# Values


@given(forecasts())
def test_the_area_under_the_curve_and_the_balanced_accuracy_are_those_of_scikit_learn(table):
    proba, codes = table
    binary = proba.shape[1] == 2
    expected = roc_auc_score(codes, proba[:, 1]) if binary else roc_auc_score(codes, proba, multi_class="ovo")
    with np.errstate(divide="ignore"):
        found = scores(np.log(proba), codes)
    assert found["auc"] == pytest.approx(expected, abs=1e-12)
    guess = np.log(proba).argmax(axis=1)
    assert found["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(codes, guess))


@given(forecasts())
def test_the_influence_of_a_row_is_the_slope_of_the_area_in_its_weight(table):
    proba, codes = table
    if proba.shape[1] > 2:
        proba, codes = proba[codes < 2][:, :2] + 1e-3, codes[codes < 2]
        proba /= proba.sum(axis=1, keepdims=True)
    auc, influence = auc_and_influence(proba, codes)
    step, row = 1e-6, len(codes) - 1
    weight = np.ones(len(codes))
    weight[row] += step
    moved = roc_auc_score(codes, proba[:, 1], sample_weight=weight)
    assert (moved - auc) / step == pytest.approx(influence[row] / (codes == codes[row]).sum(), abs=1e-4)


def test_one_class_alone_has_no_area_under_the_curve():
    card = card_of([[0.9, 0.1], [0.6, 0.4]], [0, 0])
    assert np.isnan(card.table.loc["auc", ["value", "lower", "upper", "frequencies"]].astype(float)).all()
    assert card.table.loc["balanced_accuracy", "frequencies"] == 1


def test_the_confusion_matrix_with_recall_and_precision_is_that_of_scikit_learn():
    X, y = datasets.penguins()
    card = scorecard(BayesianNB(), X, y)
    proba, codes = held_out(BayesianNB(), X, y)
    guess = proba.argmax(axis=1)
    assert (card.confusion.to_numpy() == confusion_matrix(codes, guess)).all()
    assert_allclose(card.by_class["recall"], recall_score(codes, guess, average=None))
    assert_allclose(card.by_class["precision"], precision_score(codes, guess, average=None))
    assert card.confusion.index.tolist() == card.confusion.columns.tolist() == ["Adelie", "Chinstrap", "Gentoo"]
    assert card.rows == len(y)


def test_the_values_are_those_of_evaluate():
    X, y = datasets.heights()
    found, card = evaluate(BayesianNB(), X, y), scorecard(BayesianNB(), X, y)
    assert_allclose(card.table["value"], found[card.table.index])
    assert str(scorecard(LogisticRegression(), X, y, cv=4).how) == "4-fold cross-validation"


# Yardsticks


@pytest.mark.parametrize(("column", "strategy"), [("frequencies", "prior"), ("majority", "most_frequent")])
def test_the_baselines_are_the_scores_of_dummy_classifiers(column, strategy):
    _, y = datasets.penguins()
    codes = np.unique(y, return_inverse=True)[1]
    dummy = DummyClassifier(strategy=strategy).fit(codes[:, None], codes)
    proba = dummy.predict_proba(codes[:, None])
    found = card_of(np.full((len(codes), 3), 1 / 3), codes).table[column]
    with np.errstate(divide="ignore"):
        expected = pd.Series(scores(np.log(proba), codes))[found.index]
    assert_allclose(found, expected, atol=1e-12)
    assert found["brier"] == pytest.approx(brier_score_loss(codes, proba, scale_by_half=False))


def test_true_probabilities_score_what_they_claim():
    rng = np.random.default_rng(1)
    proba = rng.dirichlet(np.ones(3), 40_000)
    codes = (proba.cumsum(axis=1) < rng.random((len(proba), 1))).sum(axis=1)
    table = card_of(proba, codes).table.drop(["balanced_accuracy", "auc"])
    width = table["upper"] - table["lower"]
    assert ((table["value"] - table["claimed"]).abs() < 2 * width).all()


# Intervals


def test_the_interval_of_a_share_is_that_of_its_beta_posterior_and_closed_at_the_ends():
    lower, upper = share_interval(np.array([0, 3, 10]), 10, 0.9)
    assert lower[0] == 0
    assert upper[2] == 1
    assert (lower[1], upper[1]) == pytest.approx(beta(3.5, 7.5).ppf([0.05, 0.95]))


def test_the_interval_of_a_mean_has_the_width_of_the_bayesian_bootstrap():
    # Rubin (1981): under Dirichlet(1, ..., 1) weights a mean has the variance s² / (n + 1), s² with the divisor n.
    rng = np.random.default_rng(3)
    for n in (400, 60_000):
        p = rng.beta(3, 2, n)
        codes = (rng.random(n) < p).astype(int)
        proba = np.stack([1 - p, p], axis=1)
        lower, upper = card_of(proba, codes, prob=0.9).table.loc["log_loss", ["lower", "upper"]].astype(float)
        terms = -np.log(proba[np.arange(n), codes])
        expected = 2 * 1.6449 * terms.std() / np.sqrt(n + 1)
        assert upper - lower == pytest.approx(expected, rel=0.08)
        assert (upper + lower) / 2 == pytest.approx(log_loss(codes, proba), abs=0.1 * expected)


@pytest.mark.slow
def test_the_interval_of_the_area_is_that_of_weighted_areas():
    rng = np.random.default_rng(4)
    codes = np.repeat([0, 1], [60, 40])
    p = 1 / (1 + np.exp(-rng.normal(codes, 1)))
    drawn = [roc_auc_score(codes, p, sample_weight=rng.standard_exponential(100)) for _ in range(500)]
    found = card_of(np.stack([1 - p, p], axis=1), codes, prob=0.9).table.loc["auc", ["lower", "upper"]].astype(float)
    assert_allclose(found, np.quantile(drawn, [0.05, 0.95]), atol=0.02)


@settings(max_examples=25)
@given(forecasts())
def test_every_interval_includes_its_score_and_stays_in_range(table):
    card = card_of(*table)
    found = card.table[["lower", "value", "upper"]].astype(float)
    assert (found["lower"] <= found["value"]).all()
    assert (found["value"] <= found["upper"]).all()
    assert (found["lower"] >= 0).all()
    assert (found.drop(["log_loss", "brier"])["upper"] <= 1).all()
    assert_allclose(card.table, card_of(*table).table)


@pytest.mark.slow
def test_the_intervals_of_accuracy_and_brier_score_cover_the_truth_about_as_often_as_they_say(monkeypatch):
    monkeypatch.setattr(cards, "DRAWS", 400)
    rng = np.random.default_rng(5)
    # E max(p, 1 - p) and E 2 p (1 - p) under Beta(3, 1), by integration.
    truth = np.array([beta(3, 1).expect(lambda q: max(q, 1 - q)), beta(3, 1).expect(lambda q: 2 * q * (1 - q))])
    inside = np.zeros(2)
    for _ in range(60):
        p = rng.beta(3, 1, 80)
        codes = (rng.random(80) >= p).astype(int)
        found = card_of(np.stack([p, 1 - p], axis=1), codes, prob=0.8).table.loc[["accuracy", "brier"]]
        inside += (found["lower"] <= truth) & (truth <= found["upper"])
    assert_allclose(inside / 60, 0.8, atol=0.15)


def test_an_impossible_row_has_a_column_of_its_own_and_an_infinite_log_loss():
    card = card_of([[0.7, 0.3], [0.0, 0.0], [0.2, 0.8]], [0, 0, 1])
    assert card.confusion.columns.tolist() == ["a", "b", "impossible"]
    assert card.confusion.loc["a"].tolist() == [1, 0, 1]
    assert card.table.loc["log_loss", ["value", "lower", "upper"]].tolist() == [np.inf] * 3
    assert card.by_class["recall"].tolist() == [0.5, 1]
    card = card_of([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], [0, 1, 1])
    assert "Log loss ∞ (∞ to ∞); the model expected 0.000: it is overconfident." in card.sentence
    assert card.sentence.endswith("the model is worse.")


# The sentence


def right_in(share: float, sure: float, n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """Forecasts of two equal classes that are right in a share of the rows, and always say it with one probability."""
    codes = np.arange(n) % 2
    p = np.where(np.arange(n) // 2 % 10 < 10 * share, sure, 1 - sure)
    return np.where(codes[:, None] == np.arange(2), p[:, None], 1 - p[:, None]), codes


def test_a_model_that_expects_more_than_the_interval_holds_is_called_overconfident():
    card = card_of(*right_in(0.7, 0.99))
    assert card.confidence == "overconfident"
    assert card.sentence == (
        "70% of 200 rows are predicted correctly (89% interval: 65% to 75%; the model expected 99%). Always guessing "
        "'a' gets 50%. Log loss 1.39 (1.14 to 1.63); the model expected 0.056: it is overconfident. The class "
        "frequencies alone have a log loss of 0.69: the model is worse."
    )
    assert card_of(*right_in(0.7, 0.55)).confidence == "underconfident"
    assert str(card).startswith(card.sentence)


def test_the_claim_is_judged_by_the_log_loss_where_the_accuracy_is_as_claimed():
    # Half of the rows are surer than they may be, half less sure: on average 80% is claimed, and 80% is true.
    (sure, codes), (unsure, _) = right_in(0.8, 0.9999), right_in(0.8, 0.6001)
    card = card_of(np.concatenate([sure, unsure]), np.concatenate([codes, codes]))
    value, lower, upper, claimed, *_ = card.table.loc["accuracy"]
    assert value == pytest.approx(claimed)
    assert lower < claimed < upper
    assert card.confidence == "overconfident"


@given(forecasts())
def test_a_model_is_called_better_or_worse_than_the_class_frequencies_only_as_the_paired_rows_show(table):
    # Rows are paired, so a difference may be measurable although the interval of the log loss holds the other loss.
    card = card_of(*table)
    loss, (low, high) = card.table.loc["log_loss"], card.gain
    gain = loss["frequencies"] - loss["value"]
    assert ("the model is better" in card.sentence, "the model is worse" in card.sentence) == (low > 0, high < 0)
    assert low <= gain + 1e-12
    assert high >= gain - 1e-12
    assert gain > 0 or "the model is better" not in card.sentence
    assert gain < 0 or "the model is worse" not in card.sentence


def test_an_overconfident_model_gets_advice_and_a_model_with_pairs_or_of_another_library_does_not():
    X, y = copies(200)
    assert 'overconfident (try dependence="auto").' in scorecard(BayesianNB(), X, y, cv=2).sentence
    assert "try" not in scorecard(BayesianNB(dependence="pairwise"), X, y, cv=2).sentence
    assert "overconfident." in scorecard(GaussianNB(), X, y, cv=2).sentence


def test_fourteen_days_of_tennis_cannot_tell_the_model_from_the_class_shares():
    card = scorecard(BayesianNB(), *datasets.play_tennis())
    assert card.confidence == ""
    assert card.sentence.endswith("With 14 rows, the model is not measurably better than the class frequencies (0.65).")
    assert card.table.loc["log_loss", "lower"] < card.table.loc["log_loss", "frequencies"]


@pytest.mark.parametrize(
    ("share", "text"), [(0.0, "0%"), (0.87, "87%"), (0.997, "99.7%"), (0.003, "0.3%"), (1, "100%")]
)
def test_a_share_is_not_rounded_to_certainty(share, text):
    assert percent(share) == text


def test_rows_of_classes_that_were_never_learned_are_counted_and_not_scored():
    X, y = datasets.penguins()
    clf = BayesianNB().fit(X[y != "Gentoo"], y[y != "Gentoo"])
    card = scorecard(clf, X, y, cv=None)
    assert card.never_learned == {"Gentoo": 124}
    alone = scorecard(clf, X[y != "Gentoo"], y[y != "Gentoo"], cv=None)
    assert_allclose(card.table, alone.table)
    right = alone.table.loc["accuracy", "value"] * alone.rows / len(y)
    assert "124 more rows have a class that the model has not learned ('Gentoo' 124)" in card.sentence
    assert f"if they count as wrong, {right:.0%} are correct." in card.sentence
    spelled = scorecard(clf, X, y.replace("Adelie", " adelie"), cv=None).sentence
    assert "(' adelie' 152, did you mean 'Adelie'?, 'Gentoo' 124)" in " ".join(spelled.split())
    with pytest.raises(ValueError, match=r"no row has a class that was learned: the classes are .*, and y has \['x'\]"):
        scorecard(clf, X, ["x"] * len(X), cv=None)


def test_a_scorecard_of_the_learned_rows_says_so_and_one_of_other_rows_does_not():
    X, y = datasets.penguins()
    clf = BayesianNB().fit(X, y)
    backwards = np.arange(len(y))[::-1]
    for card in (scorecard(clf, X, y, cv=None), scorecard(clf, X.iloc[backwards], y.iloc[backwards], cv=None)):
        assert card.how == HeldOut("learned")
        assert card.sentence.startswith("These look like the rows that the model was fitted to")
    other = X.assign(body_mass_g=X["body_mass_g"].sample(frac=1, random_state=0).to_numpy())
    for rows, labels in ((X[:200], y[:200]), (other, y), (X, y.iloc[backwards].to_numpy())):
        card = scorecard(clf, rows, labels, cv=None)
        assert card.how == HeldOut("given")
        assert "fitted" not in card.sentence


def test_different_shares_never_look_equal_where_they_are_compared():
    assert percents(0.146, 0.153) == ["14.6%", "15.3%"]
    assert percents(0.1461, 0.1463) == ["14.61%", "14.63%"]
    assert percents(0.1, 0.2) == ["10%", "20%"]
    assert percents(0.15, 0.15) == ["15%", "15%"]


@pytest.mark.parametrize("misspelt", [0, 12])
def test_overconfidence_in_rows_of_misspelt_classes_is_blamed_on_these_classes(misspelt):
    rng = np.random.default_rng(0)
    y = rng.choice(["home", "ward"], 1200)
    X = pd.DataFrame({"x": rng.normal(10.0 * (y == "home"), 1.0)})
    y = y.astype(object)
    y[:2], y[600 : 600 + misspelt] = "hoome", "hoome"
    card = scorecard(BayesianNB().fit(X[:600], y[:600]), X[600:], y[600:], cv=None)
    assert card.rare == ({"hoome": 2} if misspelt else {})
    if misspelt:
        said = (
            "it is overconfident, mostly in 12 rows of classes that it learned from fewer than 10 rows each ('hoome' 2)"
        )
        assert said in card.sentence
        assert "try" not in card.sentence


@pytest.mark.parametrize(("copies", "far", "blames"), [(0, 14, True), (4, 14, True), (4, 0, False), (0, 0, False)])
def test_overconfidence_in_rows_with_far_numbers_is_blamed_on_these_rows(copies, far, blames):
    rng = np.random.default_rng(0)
    y = rng.choice(["dies", "survives"], 1200)
    kg = rng.normal(33.0 + 2 * (y == "survives"), 3.0)
    X = pd.DataFrame({"kg": kg} | {f"c{k}": kg for k in range(copies)})
    new, labels = X[600:].reset_index(drop=True), y[600:]
    new.loc[: far - 1, "kg"] *= 1000
    clf, order = BayesianNB().fit(X[:600], y[:600]), rng.permutation(600)
    for rows in (np.arange(600), order):
        card = scorecard(clf, new.iloc[rows], labels[rows], cv=None)
        assert card.far == ({"kg": far} if blames else {})
        assert (card.confidence == "overconfident") == bool(copies or far)
        said = f"mostly in rows with numbers far from the learned ones (column 'kg' in {far} rows)"
        assert (said in card.sentence) == blames
        assert ('try dependence="auto"' in card.sentence) == (copies > 0 and not blames)


def test_a_column_in_another_unit_is_named_and_class_frequencies_that_were_learned_are_not_blamed():
    X, y = datasets.penguins()
    mixed = np.random.default_rng(0).permutation(len(y))
    X, y = X.iloc[mixed], y.iloc[mixed]
    new = X[230:].assign(bill_length_mm=X["bill_length_mm"][230:] / 10)
    for dependence in (None, "weighted"):
        clf = BayesianNB(dependence=dependence).fit(X[:230], y[:230])
        card = scorecard(clf, new, y[230:], cv=None)
        assert card.confidence == "overconfident"
        assert card.far == {"bill_length_mm": 113}
        assert "(column 'bill_length_mm' in 113 rows)" in card.sentence
        assert not card.shifted
        assert "class_prior" not in card.sentence


def test_class_frequencies_are_not_blamed_if_the_class_prior_already_has_them():
    # Copies of a column make the model overconfident, and most rows are taken for the rare class: the mean of a column
    # has changed, but it is not far from the learned one.
    rng = np.random.default_rng(0)

    def table(n, moved):
        y = np.where(rng.random(n) < 0.1, "rare", "usual")
        a = rng.normal(2 * (y == "rare"))
        return pd.DataFrame({f"c{k}": a + moved for k in range(4)}), y

    (X, y), (new, labels) = table(1000, 0.0), table(1000, 1.5)
    clf = BayesianNB().fit(X, y)
    card = scorecard(clf, new, labels, cv=None)
    assert card.by_class.loc["rare", "z"] < -4
    assert card.confidence == "overconfident"
    assert not card.shifted
    assert "% of the rows, and a mean predicted probability of" in card.sentence
    # If the frequencies have changed, the model with the new class prior has nothing to correct.
    X, y = X[["c0"]], y
    frequent = np.flatnonzero((y == "rare") | (np.arange(len(y)) < 100))
    before = BayesianNB().fit(X, y)
    card = scorecard(before, X.iloc[frequent], y[frequent], cv=None)
    assert card.shifted == {
        "rare": pytest.approx((y == "rare").mean(), abs=0.01),
        "usual": pytest.approx(0.9, abs=0.02),
    }
    assert "in the class prior of the model, which explains most of this" in card.sentence
    after = deploy.with_class_prior(before, card.by_class["rows"] / card.rows)
    assert not scorecard(after, X.iloc[frequent], y[frequent], cv=None).shifted


# Several estimates


def test_a_scorecard_of_new_rows_says_which_class_is_rarer_than_the_model_expects():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(1000) < 0.3, "ill", "well")
    x = pd.DataFrame({"x": rng.normal(y == "ill")})
    clf = BayesianNB().fit(x[:400], y[:400])
    card = scorecard(clf, x[400:], y[400:], cv=None)
    assert "mean predicted probability" not in card.sentence
    assert_allclose(card.by_class["expected"], clf.predict_proba(x[400:]).sum(axis=0))
    rare = np.flatnonzero(np.arange(1000) >= 400)
    rare = rare[(y[rare] == "well") | (rng.random(600) < 0.25)]
    shifted = scorecard(clf, x.iloc[rare], y[rare], cv=None)
    share, expected = (y[rare] == "ill").mean(), clf.predict_proba(x.iloc[rare])[:, 0].mean()
    said = f"'ill' has {share:.0%} of the rows, and a mean predicted probability of {expected:.0%}."
    assert said in shifted.sentence
    assert shifted.by_class.loc["ill", "z"] < -4


@pytest.mark.parametrize(
    ("copies", "share", "cures"), [(0, 0.5, "prior"), (4, 0.3, "dependence"), (4, 0.5, "dependence")]
)
def test_an_overconfident_model_gets_the_cure_of_its_confidence(copies, share, cures, tmp_path, capsys):
    rng, label = np.random.default_rng(1), "a b"

    def table(n, share):
        y = rng.random(n) < share
        found = pd.DataFrame({"a": rng.normal(y), "b": rng.normal(0.8 * y)})
        return found.assign(**{f"c{k}": found["a"] for k in range(copies)}, y=np.where(y, label, "well"))

    for name, rows in {"t": table(1500, 0.1 if cures == "prior" else 0.3), "new": table(1500, share)}.items():
        rows.to_csv(tmp_path / f"{name}.csv", index=False)
    fit = ("fit", tmp_path / "t.csv", "--target", "y", "--dependence", "none", "-o", tmp_path / "m.bayesnb")
    assert run(capsys, *fit)[0] == 0
    score = ("score", tmp_path / "m.bayesnb", tmp_path / "new.csv")
    said = " ".join(run(capsys, *score)[1].split())
    assert "it is overconfident" in said
    assert ("(try --dependence auto)" in said, "fit the model again with" in said) == (
        cures != "prior",
        cures == "prior",
    )
    learned = pd.read_csv(tmp_path / "t.csv").drop(columns="y"), pd.read_csv(tmp_path / "t.csv")["y"]
    X, y = rows.drop(columns="y"), rows["y"]
    clf = load(tmp_path / "m.bayesnb")
    card = scorecard(clf, X, y, cv=None)
    assert bool(card.shifted) == (cures == "prior")
    assert not scorecard(GaussianNB().fit(*learned), X, y, cv=None).shifted
    if cures == "prior":
        assert 'use nb.deploy.with_class_prior(model, card.by_class["rows"] / card.rows)' in card.sentence
        better = deploy.with_class_prior(clf, card.by_class["rows"] / card.rows)
        (option,) = re.findall(r"--class-prior ('[^']*'|\S*)\.\s", said)
        assert run(capsys, *fit, "--force", "--class-prior", *shlex.split(option))[0] == 0
        assert_allclose(load(tmp_path / "m.bayesnb").predict_proba(X), better.predict_proba(X), atol=1e-3)
        assert "overconfident (" not in run(capsys, *score)[1]


def test_differences_from_the_best_estimate_are_paired_row_by_row():
    X, y = datasets.heights()
    found = comparison(BayesianNB(), X, y, dependence=("tempered",))
    table = found.table
    assert table.loc[found.best, "difference"] == 0
    log_p = {}
    for name in ("mle", "mean"):
        proba, codes = held_out(BayesianNB(estimate=name), X, y)
        log_p[name] = np.log(proba[np.arange(len(codes)), codes])
    gap = table.loc["mle", "difference"] - table.loc["mean", "difference"]
    assert gap == pytest.approx((log_p["mean"] - log_p["mle"]).mean())
    assert table.loc["mle", "se_difference"] > 0


def test_an_infinite_log_loss_is_credibly_worse():
    found = comparison(BayesianNB(), *datasets.play_tennis(), dependence=())
    assert found.table.loc["mle", "log_loss"] == np.inf
    assert "mle" in found.worse
    # Of single-trial families the posterior mean and full Bayes are equal but for rounding.
    assert not {"mean", "predictive"} & {*found.worse}


def test_learned_rows_do_not_show_that_a_model_is_underconfident():
    X, y = np.array([[f"level {k}"] for k in range(60)]), np.arange(60) % 2  # Smoothing gives each row 2/3.
    clf = BayesianNB(Categorical()).fit(X, y)
    for rows in (slice(None), slice(0, 30)):
        card = scorecard(clf, X[rows], y[rows], cv=None)
        learned = card.how == HeldOut("learned")
        assert learned == (rows == slice(None))
        assert card.confidence == ("" if learned else "underconfident")
        assert ("these rows do not show whether it is underconfident" in card.sentence) == learned


def test_a_model_that_is_right_everywhere_and_says_so_is_as_sure_as_rows_can_tell():
    x = np.arange(200) % 2
    card = scorecard(BayesianNB().fit({"x": 100.0 * x}, x), {"x": 100.0 * x}, x, cv=None)
    assert card.table.loc["log_loss", "value"] < 0.0005
    assert not card.confidence
    assert "the model expected 0.000: it is not measurably over- or underconfident." in card.sentence


def test_a_plug_in_that_calls_impossible_what_may_come_is_not_taken_however_well_it_scores():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=400)
    X = pd.DataFrame(
        {f"x{k}": np.where(y == 1, rng.integers(4, size=400), rng.integers(3, size=400)) for k in range(6)}
    )
    found = comparison(BayesianNB(Categorical()), X, y, dependence=())
    assert found.best == "mle"
    assert found.table.loc["mle", "regret"] == np.inf
    assert found.worse == ["mean", "predictive"]
    assert found.recommended == "predictive"
    gap, se = found.table.loc["predictive", ["difference", "se_difference"]].astype(float)
    assert str(found.recommendation) == (
        f'Keep estimate="predictive": estimate="mle" is better by {gap:.3f} ± {se:.3f}, but gives probability 0 to '
        "values not seen so far."
    )
    assert replace(found, default="mle").recommended == "mle"


def copies(n: int = 600) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=n)
    x = rng.normal(y)
    return pd.DataFrame({f"copy {k}": x for k in range(5)}), y


def test_a_comparison_recommends_a_line_of_its_table():
    found = comparison(BayesianNB(), *copies(), dependence=("tempered",))
    right, _, _, claimed, *_ = found.card("tempered").table.loc["accuracy"]
    assert claimed == pytest.approx(right, abs=0.02)
    assert "overconfident" in found.card("predictive").sentence
    gap, se = found.table.loc["predictive", ["difference", "se_difference"]].astype(float)
    assert (
        f'Recommended: dependence="tempered"; its log loss is {gap:.3f} ± {se:.3f} lower than that of '
        'estimate="predictive".'
    ) in found.sentence
    assert found.worse == ["mle", "map", "mean", "predictive"]
    kept = replace(found, default="tempered")
    assert str(kept.recommendation) == 'Keep dependence="tempered": no model scored here is clearly better.'
    # Without a dependence nothing is promised of one.
    alone = comparison(BayesianNB(), *copies(), dependence=())
    assert "dependence" not in alone.sentence
    assert str(alone.recommendation).endswith("Its log loss is no lower than that of the class frequencies.")


@pytest.mark.parametrize("cv", ["loo", 3])
def test_a_sample_of_rows_is_scored_as_all_rows_are(cv):
    X, y = copies()
    found = comparison(BayesianNB(), X, y, cv, (), rows=200, random_state=7)
    which = found.scored
    assert len(np.unique(which)) == 200
    proba, codes = held_out(BayesianNB(), X, y, cv)
    with np.errstate(divide="ignore"):
        expected = scores(np.log(proba[which]), codes[which])
    assert found.table.loc["predictive", "log_loss"] == pytest.approx(expected["log_loss"])
    assert found.table.loc["predictive", "accuracy"] == expected["accuracy"]
    assert found.card().rows == 200
    assert "of 200 rows drawn at random" in str(found.how["predictive"])
    other = compare_estimates(BayesianNB(), X, y, cv, (), rows=200, random_state=8)
    assert other.loc["predictive", "log_loss"] != found.table.loc["predictive", "log_loss"]


def test_a_small_sample_is_held_out_from_exponents_once():
    X, y = copies()
    compared = comparison(BayesianNB(), X, y, "loo", ("tempered",), rows=100)
    found = compare_estimates(BayesianNB(), X, y, "loo", ("tempered",), rows=100)
    assert "one fit without them" in found.loc["tempered", "note"]
    which = compared.scored
    rest = np.delete(np.arange(600), which)
    clf = BayesianNB(dependence="tempered").fit(X.iloc[rest], y[rest])
    expected = evaluate(clf, X.iloc[which], y[which], cv=None)["log_loss"]
    assert found.loc["tempered", "log_loss"] == pytest.approx(expected)


# A comparison for a paper


def test_a_comparison_is_a_flat_frame_with_the_intervals_of_its_scorecards():
    found = comparison(BayesianNB(), *datasets.play_tennis(), dependence=("tempered",))
    frame = found.to_frame()
    assert frame.index.equals(found.table.index)
    assert frame.columns.nlevels == 1
    for name in found.answers:
        card = found.card(name).table
        for score in ("log_loss", "brier", "accuracy"):
            ends = frame.loc[name, [score, f"{score}_lower", f"{score}_upper"]]
            assert_allclose(ends, card.loc[score, ["value", "lower", "upper"]])
    row = np.arange(14)
    never = {name: np.isneginf(each[row, found.codes]).sum() for name, each in found.answers.items()}
    assert frame["impossible"].to_dict() == never
    assert never["mle"] > 0
    assert_allclose(frame["regret"].astype(float), found.table["regret"].astype(float))


def test_a_comparison_prints_as_text_latex_html_and_a_picture():
    found = comparison(BayesianNB(), *datasets.play_tennis(), dependence=("tempered",))
    assert len(str(found).splitlines()) < 12
    assert repr(found) == "<Comparison of mle, map, mean, predictive, tempered on 14 held-out rows>"
    latex = found.to_latex()
    assert latex.count("\\\\\n") == 2 + len(found.table)
    assert latex.isascii()
    assert r"mle & $\infty$ &" in latex
    assert r"\caption{14 held-out rows, with 89\% intervals" in latex
    assert "<table" in found._repr_html_()
    figure = found.plot()
    assert [panel.get_title() for panel in figure.axes] == ["Log loss", "Brier", "Accuracy"]
    named = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert named == [*found.table.index]
    # An infinite log loss is drawn at the edge, and every other score at its value.
    assert sum(text.get_text() == "∞" for text in figure.axes[0].texts) == np.isinf(found.to_frame()["log_loss"]).sum()
    drawn = {x for line in figure.axes[2].lines for x in line.get_xdata()}
    assert set(found.to_frame()["accuracy"]) <= drawn


def test_the_sentence_says_which_score_shows_that_the_model_is_overconfident():
    card = scorecard(BayesianNB(), *datasets.play_tennis())
    table = card.table.copy()
    table.loc["log_loss", ["value", "lower", "upper", "claimed"]] = 0.32, 0.27, 0.38, 0.32
    table.loc["accuracy", ["value", "lower", "upper", "claimed"]] = 0.81, 0.76, 0.84, 0.85
    assert "the model expected 0.32: by its accuracy, it is overconfident" in replace(card, table=table).sentence
    table.loc["log_loss", "claimed"] = 0.2
    assert "the model expected 0.20: it is overconfident" in replace(card, table=table).sentence


@pytest.mark.parametrize(
    ("p", "said"), [(0.24, "the model is better"), (0.16, "the model is worse"), (0.2, "measurably")]
)
def test_a_model_is_compared_with_the_class_frequencies_row_by_row(p: float, said: str) -> None:
    codes = np.repeat([0, 1], [80, 20])
    # Both classes have slightly better (or worse) probabilities than their frequencies; the loss varies far more.
    of_row = np.where(codes == 0, 0.8 + (p - 0.2) / 2, p)
    proba = np.where(np.eye(2)[codes] == 1, of_row[:, None], 1 - of_row[:, None])
    card = scorecard_of(np.log(proba), codes, np.array(["a", "b"]))
    _, lower, upper, _, shares, _ = card.table.loc["log_loss"]
    assert lower < shares < upper
    assert said in card.sentence


@pytest.mark.parametrize("tilt", [1.0, 1.6])
def test_the_interval_of_the_calibration_error_includes_that_of_all_rows(tilt):
    rng = np.random.default_rng(3)
    logit = rng.normal(-2, 1, 100_000)
    y = (rng.random(100_000) < 1 / (1 + np.exp(-logit))).astype(int)
    log_p = np.column_stack([np.zeros(100_000), tilt * logit])
    whole = scores(log_p, y)["ece"]
    inside = 0
    for k in range(20):
        rows = slice(450 * k, 450 * (k + 1))
        _, lower, upper, *_ = scorecard_of(log_p[rows], y[rows], np.array([0, 1])).table.loc["ece"]
        inside += lower <= whole <= upper
    assert inside >= 17
