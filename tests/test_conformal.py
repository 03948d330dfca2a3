"""Conformal sets: their ranks beside refits, their guarantee, ties, classes, weights, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from conftest import FEATURES, mixed
from numpy.testing import assert_allclose, assert_array_equal

import bayesnb as nb
from bayesnb import BayesianNB, Categorical, Poisson, datasets
from bayesnb.families import Exponential, StudentT
from bayesnb.families.gaussian import Gaussian
from bayesnb.inference import conformal


def table(n: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Three classes, with columns of most families, the levels declared; some cells are missing."""
    X, y = mixed(n, "uvw", seed=seed)
    X = X.drop(columns=["known"])
    X["c"] = pd.Categorical(X["c"], list("abc"))
    return X, y


TABLE_FEATURES = {name: family for name, family in FEATURES.items() if name != "known"}


def copies(n: int, rng: np.random.Generator) -> tuple[pd.DataFrame, np.ndarray]:
    """Two classes that overlap much, and one column eight times: naive Bayes is far too sure of it."""
    y = rng.integers(2, size=n)
    x = rng.normal(0.5 * y)
    return pd.DataFrame({f"x{k}": x for k in range(8)}), y


def inside(sets: pd.DataFrame, y) -> np.ndarray:
    """Whether each set holds the class of its row."""
    return np.array([sets.loc[row, label] for row, label in zip(sets.index, y, strict=True)])


# The ranks


@pytest.mark.parametrize("by_class", [False, True])
def test_full_conformal_prediction_ranks_as_leave_one_out_of_the_joined_table_does(by_class):
    X, y = table(24)
    found = nb.sets.conformal(BayesianNB(TABLE_FEATURES).fit(X[:21], y[:21]), X[:21], y[:21], by_class=by_class)
    p = found.p_values(X[21:])
    for row in X.index[21:]:
        for c in "uvw":
            joined, labels = pd.concat([X[:21], X.loc[[row]]]), np.append(y[:21], c)
            log_joint, codes = BayesianNB(TABLE_FEATURES).fit(joined, labels).classifier_.log_left_out(joined, labels)
            scores = conformal.nonconformity(log_joint, codes)
            of = labels == c if by_class else np.full(len(labels), True)
            assert p.loc[row, c] == pytest.approx((scores[of] >= scores[-1] - 1e-9).mean(), rel=1e-12)


def test_each_row_in_turn_as_the_new_one_gets_each_rank_once():
    """This is the guarantee: the row that is new is any of n + 1 rows with equal probability."""
    X, y = table(16, seed=3)
    p = []
    for i in range(16):
        rest, labels = X.drop(index=i), np.delete(y, i)
        clf = BayesianNB(TABLE_FEATURES).fit(rest, labels)
        p.append(nb.sets.conformal(clf, rest, labels).p_values(X.loc[[i]]).loc[i, y[i]])
    assert_allclose(np.sort(p), np.arange(1, 17) / 16, rtol=1e-12)


def test_leave_one_out_and_split_ranks_are_counts_of_scores():
    X, y = table(60)
    clf = BayesianNB(TABLE_FEATURES).fit(X[:30], y[:30])
    new = conformal.of_every_class(clf.predict_joint_log_proba(X[45:]))
    left_out = conformal.nonconformity(*clf.classifier_.log_left_out(X[:30], y[:30]))
    known = conformal.of_every_class(clf.predict_joint_log_proba(X[30:45]))
    codes = np.searchsorted(["u", "v", "w"], y[30:45])
    for found, scores in (
        (nb.sets.conformal(clf, X[:30], y[:30], method="loo"), left_out),
        (nb.sets.conformal(clf, X[30:45], y[30:45], method="split"), known[np.arange(15), codes]),
    ):
        p = found.p_values(X[45:]).to_numpy()
        for i, c in np.ndindex(p.shape):
            assert p[i, c] == pytest.approx(((scores >= new[i, c]).sum() + 1) / (len(scores) + 1))


def test_the_score_ranks_as_the_class_probability_and_does_not_round_to_1():
    log_joint = np.array([[0.0, -50.0, -60.0], [0.0, -80.0, -90.0], [-3.0, -1.0, -np.inf]])
    scores = conformal.of_every_class(log_joint)
    assert_allclose(scores[0], [-50 + np.log1p(np.exp(-10)), 50 + np.exp(-60), 60], rtol=1e-12)
    assert scores[1, 0] < scores[0, 0]
    assert scores[2, 2] == np.inf
    assert (np.argsort(scores, axis=1) == np.argsort(-log_joint, axis=1)).all()


def test_the_new_row_among_equal_rows_is_as_strange_as_they_are():
    X, y = pd.DataFrame({"c": ["a", "b"] * 20}), np.array(["u", "v"] * 20)
    X, y = pd.concat([X, X[:10]], ignore_index=True), np.append(y, ["v", "u"] * 5)
    clf = BayesianNB({"c": Categorical()}, random_state=0).fit(X, y)
    full = nb.sets.conformal(clf, X, y)
    assert_allclose(full.p_values(X[:1])["u"], 1.0)
    u = np.random.default_rng(0).random()
    assert_allclose(full.p_values(X[:1], smoothed=True)["u"], (30 + u * 21) / 51)  # 30 of 50 are stranger


# The guarantee


@pytest.mark.parametrize("method", ["full", "split"])
@pytest.mark.slow
def test_sets_of_a_wrong_model_hold_the_class_as_often_as_they_say(method):
    rng, hits, sums = np.random.default_rng(1), [], []
    for _ in range(25 if method == "full" else 60):
        X, y = copies(19 + 10 + 4, rng)
        y[:2] = [0, 1]  # each class has a row
        clf = BayesianNB().fit(X[:19], y[:19])
        known = slice(0, 19) if method == "full" else slice(19, 29)
        found = nb.sets.conformal(clf, X[known], y[known], method=method)
        hits.append(inside(found.predict_set(X[29:], coverage=0.8), y[29:]).mean())
        sums.append(inside(nb.sets.credible_set(clf, X[29:], mass=0.8), y[29:]).mean())
    error = np.std(hits) / np.sqrt(len(hits))
    assert np.mean(hits) > 0.8 - 3 * error
    assert np.mean(sums) < 0.8


@pytest.mark.slow
def test_smoothed_p_values_are_uniform_even_where_scores_are_equal():
    rng, p = np.random.default_rng(2), []
    for seed in range(120):
        y = rng.integers(2, size=16)
        X = pd.DataFrame({"b": (rng.random(16) < 0.3 + 0.4 * y).astype(float)})
        y[:2] = [0, 1]
        clf = BayesianNB(random_state=seed).fit(X[:8], y[:8])
        found = nb.sets.conformal(clf, X[8:15], y[8:15], method="split").p_values(X[15:], smoothed=True)
        p.append(found.loc[15, y[15]])
    below = (np.array(p)[:, None] < [0.1, 0.3, 0.5, 0.7, 0.9]).mean(0)
    assert_allclose(below, [0.1, 0.3, 0.5, 0.7, 0.9], atol=0.15)
    assert len(np.unique(np.round(p, 6))) > 110


def test_by_class_a_rare_class_is_held_as_often_as_a_frequent_one():
    rng = np.random.default_rng(4)
    y = (rng.random(3000) < 0.1).astype(int)
    X = pd.DataFrame({"x": rng.normal(1.5 * y)})
    clf = BayesianNB().fit(X[:1000], y[:1000])
    marginal, by_class = (
        inside(
            nb.sets.conformal(clf, X[1000:2000], y[1000:2000], by_class=b, method="split").predict_set(X[2000:]),
            y[2000:],
        )
        for b in (False, True)
    )
    rare = y[2000:] == 1
    assert marginal.mean() == pytest.approx(0.9, abs=0.03)
    assert marginal[rare].mean() < 0.6
    assert by_class[rare].mean() == pytest.approx(0.9, abs=0.08)
    assert by_class[~rare].mean() == pytest.approx(0.9, abs=0.03)


def test_too_few_rows_rule_out_no_class():
    X, y = datasets.heights()
    found = nb.sets.conformal(BayesianNB().fit(X, y), X[:8], y[:8], method="split")
    assert found.predict_set(X, coverage=0.9).all(axis=None)
    assert not found.predict_set(X, coverage=0.88).all(axis=None)


def test_a_p_value_of_one_minus_the_coverage_is_not_in_the_set():
    assert (0.0 + 1.0) / (9.0 + 1.0) > 1 - 0.9  # by rounding alone
    X = pd.DataFrame({"x": np.r_[np.zeros(5), np.ones(4)]})
    y = np.array([0] * 5 + [1] * 4)
    clf = BayesianNB({"x": Gaussian()}).fit(X, y)
    found, new = nb.sets.conformal(clf, X, y, method="split"), pd.DataFrame({"x": [1.5]})
    assert found.p_values(new)[0][0] == 0.1
    found = found.predict_set(new, coverage=0.9)
    assert found.to_numpy().tolist() == [[False, True]]


# Weights, indices, and other models


def test_a_weight_of_two_is_two_rows():
    X, y = table(20)
    twice = pd.concat([X, X[:5]], ignore_index=True)
    labels, weight = np.append(y, y[:5]), np.ones(20)
    weight[:5] = 2.0
    for method in ("full", "loo", "split"):
        a = nb.sets.conformal(BayesianNB(TABLE_FEATURES).fit(X, y, weight), X, y, weight, method=method).p_values(X[:3])
        b = nb.sets.conformal(BayesianNB(TABLE_FEATURES).fit(twice, labels), twice, labels, method=method).p_values(
            X[:3]
        )
        assert_allclose(a, b, rtol=1e-12)


def test_rows_of_weight_0_do_not_count_and_the_index_is_kept():
    X, y = datasets.penguins()
    X, y, weight = X[100:200], y[100:200], np.ones(100)
    weight[::7] = 0.0
    clf = BayesianNB().fit(X, y, weight)
    found = nb.sets.conformal(clf, X, y, weight)
    assert repr(found) == "Conformal(method='full', 85 rows)"
    assert_array_equal(found.predict_set(X[:3]).index, X.index[:3])


def test_split_takes_any_model():
    X, y = datasets.penguins()
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X.iloc[order].reset_index(drop=True), y.iloc[order].reset_index(drop=True)
    unlabelled = y[:100].mask(y.index[:100] % 3 == 0)
    for clf in (
        BayesianNB(dependence="tempered").fit(X[:100], y[:100]),
        BayesianNB(estimate="map").fit(X[:100], y[:100]),
        BayesianNB().fit(X[:100], unlabelled),
    ):
        sets = nb.sets.conformal(clf, X[100:220], y[100:220], method="split").predict_set(X[220:])
        assert inside(sets, y[220:]).mean() == pytest.approx(0.9, abs=0.08)


def test_what_was_calibrated_stays_when_the_estimator_learns_more():
    X, y = datasets.play_tennis()
    clf = BayesianNB().fit(X[:10], y[:10])
    found = nb.sets.conformal(clf, X[:10], y[:10])
    before = found.p_values(X)
    clf.partial_fit(X[10:], y[10:])
    pd.testing.assert_frame_equal(found.p_values(X), before)
    assert "at least the requested coverage" in found.guarantee
    assert "within each class" in nb.sets.conformal(clf, X, y, by_class=True).guarantee
    assert "no bound" in nb.sets.conformal(clf, X, y, method="loo").guarantee


def test_positive_numbers_and_counts_are_left_out_by_their_moments():
    rng = np.random.default_rng(0)
    y = np.arange(12) % 2
    X = pd.DataFrame({"wait": rng.exponential(1.0 + y), "n": rng.poisson(2 + y).astype(float)})
    features = {"wait": Exponential(), "n": Poisson()}
    p = nb.sets.conformal(BayesianNB(features).fit(X[:11], y[:11]), X[:11], y[:11]).p_values(X[11:])
    joined = BayesianNB(features).fit(X, y)
    scores = conformal.nonconformity(*joined.classifier_.log_left_out(X, y))
    assert p.loc[11, y[11]] == pytest.approx((scores >= scores[-1] - 1e-9).mean())


# What is refused


@pytest.mark.nuts
def test_a_sampled_feature_is_told_to_split():
    X, y = datasets.heights()
    X = X[["height_cm"]]
    clf = BayesianNB({"height_cm": StudentT()}, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r'StudentT is sampled.*method="split"'):
        nb.sets.conformal(clf, X, y)
    assert nb.sets.conformal(clf, X, y, method="split").predict_set(X).any(axis=None)
