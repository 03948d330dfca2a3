"""The contributions of a row's values sum to its log-odds, and each has an interval."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from conftest import FEATURES, mixed
from numpy.random import default_rng
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from bayesnb import BayesianNB, Binned, datasets
from bayesnb.families.gaussian import Gaussian, GaussianKnownVariance
from bayesnb.families.multinomial import Multinomial
from bayesnb.families.rates import Poisson
from bayesnb.families.trials import Bernoulli, Categorical
from bayesnb.inference import contributions
from bayesnb.priors import Dirichlet

ESTIMATES = ("predictive", "mean", "map")


def fitted(estimate: str = "predictive", n: int = 60, classes: str = "uvw") -> tuple[BayesianNB, pd.DataFrame]:
    X, y = mixed(n, classes)
    return BayesianNB(FEATURES, estimate=estimate, random_state=0).fit(X, y), X


def entries(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.drop([contributions.TOTAL], level="entry")


def total(frame: pd.DataFrame) -> pd.Series:
    return frame.xs(contributions.TOTAL, level="entry")["log_odds"]


@pytest.mark.parametrize("estimate", ESTIMATES)
def test_contributions_sum_to_the_log_odds_of_the_chosen_estimate(estimate):
    clf, X = fitted(estimate)
    X = X[:12]
    joint, frame = clf.predict_joint_log_proba(X), clf.explain(X)
    best = np.sort(joint, axis=1)
    assert_allclose(total(frame), best[:, -1] - best[:, -2], atol=1e-10)
    assert_allclose(entries(frame).groupby("row")["log_odds"].sum(), total(frame), atol=1e-10)
    chosen = clf.explain(X, "v", "w")
    assert_allclose(total(chosen), joint[:, 1] - joint[:, 2], atol=1e-10)


@pytest.mark.parametrize("estimate", ["predictive", "mean", "mle"])
@pytest.mark.parametrize("name", datasets.names())
def test_contributions_sum_to_the_log_odds_on_every_embedded_table(name, estimate):
    X, y = datasets.load(name)
    clf, X = BayesianNB(estimate=estimate).fit(X, y), X[:40]
    joint = clf.predict_joint_log_proba(X)
    possible = np.isfinite(joint[:, :2]).all(axis=1)
    if not possible.any():
        assert (name, estimate) == ("posts", "mle")
        return
    X = X[possible].reset_index(drop=True)
    frame = clf.explain(X, *clf.classes_[:2])
    assert_allclose(total(frame), (joint[:, 0] - joint[:, 1])[possible], atol=1e-10)


def test_each_contribution_is_the_change_when_its_value_is_removed():
    clf, X = fitted()
    row = X.iloc[[8]]
    frame = clf.explain(row, "u", "v").droplevel("row")
    for column in ("c", "b", "g", "h", "known", "events"):
        without = total(
            clf.explain(row.assign(**{column: None}).astype({column: "object" if column == "c" else float}), "u", "v")
        )
        assert_allclose(frame.loc["(total)", "log_odds"] - without.iloc[0], frame.loc[column, "log_odds"], atol=1e-10)


def test_a_missing_value_contributes_0_and_is_marked_as_missing():
    clf, X = fitted()
    frame = clf.explain(X.dropna().assign(g=np.nan, c=None)[:3], "u", "w")
    for column in ("g", "c"):
        entry = frame.xs(column, level="entry")
        assert entry["missing"].all()
        assert (entry[["log_odds", "lower", "upper"]] == 0).all(axis=None)
    assert not frame.drop(["g", "c"], level="entry")["missing"].any()


# Intervals


@pytest.mark.parametrize("estimate", ["predictive", "mean"])
def test_intervals_of_contributions_agree_with_draws(estimate):
    clf, X = fitted(estimate)
    row, (a, b) = X.iloc[[11]], (0, 2)
    frame = clf.explain(row, "u", "w", prob=0.8).droplevel("row")
    data, n = clf.classifier_.read(row)
    drawn = clf.posterior_.draw(default_rng(0), (40_000,))
    parts = {"(prior)": drawn.log_pi[:, a] - drawn.log_pi[:, b]}
    for name in ("c", "b", "known", "events"):
        value = clf.posterior_.model.features[name].log_likelihood(drawn.features[name], data[name])[:, 0]
        parts[name] = value[:, a] - value[:, b]
    for k, column in enumerate(("g", "h")):
        theta = {key: v[:, :, [k]] for key, v in drawn.features["reals"].items()}
        value = Gaussian().log_likelihood(theta, data["reals"][:, [k]])[:, 0]
        parts[column] = value[:, a] - value[:, b]
    for k, word in enumerate(("cat", "dog", "emu")):
        table = drawn.features["words"]["log_theta"][:, :, k]
        parts[word] = row[word].iloc[0] * (table[:, a] - table[:, b])
    joint = drawn.log_joint(data, n)[:, 0]
    parts["(total)"] = joint[:, a] - joint[:, b]
    assert set(frame.index) <= set(parts)
    assert len(frame) >= 9
    for name, entry in frame.iterrows():
        below = [(parts[name] < entry[end]).mean() for end in ("lower", "upper")]
        if not entry["missing"]:
            assert_allclose(below, [0.1, 0.9], atol=0.012, err_msg=str(name))


# Words


@pytest.mark.parametrize("thin", [False, True])
@pytest.mark.parametrize("estimate", ESTIMATES)
def test_each_word_that_occurs_has_a_contribution_and_no_other_word(estimate, thin):
    counts = np.array([[2, 0, 1, 0], [0, 3, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0]])
    X = sparse.csr_array(counts) if thin else counts
    clf = BayesianNB(Multinomial(Dirichlet(1.5)), estimate=estimate).fit(X, [0, 1, 0, 1])
    frame = clf.explain(X, 0, 1)
    joint = clf.predict_joint_log_proba(X)
    assert_allclose(total(frame), joint[:, 0] - joint[:, 1], atol=1e-12)
    for i, row in enumerate(counts):
        assert len(frame.loc[i]) == 2 + (row > 0).sum()
        assert_array_equal(frame.loc[i]["value"].iloc[1:-1].astype(float), row[row > 0])


def test_a_single_word_contributes_the_log_ratio_of_its_probabilities():
    counts = np.array([[2, 0, 1], [0, 3, 0], [1, 1, 0], [0, 1, 2]])
    clf = BayesianNB(Multinomial()).fit(counts, [0, 1, 0, 1])
    frame = clf.explain(np.array([[0, 0, 1]]), 0, 1)
    expected = np.log((1 + 1) / (5 + 3)) - np.log((2 + 1) / (6 + 3))
    assert_allclose(frame["log_odds"].iloc[1], expected)


def test_a_missing_bag_of_words_has_one_contribution_of_0():
    X = pd.DataFrame({"cat": [1.0, 2.0, np.nan], "dog": [0.0, 3.0, np.nan]})
    clf = BayesianNB({"words": (Multinomial(), ["cat", "dog"])}).fit(X, ["u", "v", "v"])
    entry = clf.explain(X, "u", "v").loc[2].loc["words"]
    assert entry["missing"]
    assert entry["log_odds"] == entry["lower"] == entry["upper"] == 0


# Choices


def test_explain_compares_the_two_most_probable_classes_by_default():
    clf, X = fitted()
    X = X[:12]
    frame, order = clf.explain(X), np.argsort(clf.predict_joint_log_proba(X), axis=1)
    first = frame.groupby("row").first()
    assert_array_equal(first["label"], clf.classes_[order[:, -1]])
    assert_array_equal(first["against"], clf.classes_[order[:, -2]])
    one = clf.explain(X, "w").groupby("row").first()
    assert (one["label"] == "w").all()
    best_other = np.where(order[:, -1] == 2, order[:, -2], order[:, -1])
    assert_array_equal(one["against"], clf.classes_[best_other])
    other = clf.explain(X, against="w").groupby("row").first()
    assert_array_equal(other["label"], clf.classes_[best_other])


def test_nats_bits_and_decibans_are_multiples_of_each_other():
    clf, X = fitted()
    nats, bits, decibans = (clf.explain(X[:3], unit=unit) for unit in ("nats", "bits", "decibans"))
    numbers = ["log_odds", "lower", "upper"]
    assert_allclose(bits[numbers], nats[numbers] * 1.4426950408889634)
    assert_allclose(decibans[numbers], nats[numbers] * 4.342944819032518)
    assert decibans.attrs["unit"] == "decibans"


def test_rows_keep_an_index_of_several_levels():
    clf, X = fitted()
    X.index = pd.MultiIndex.from_product([range(30), ["morning", "evening"]], names=["day", None])
    frame = clf.explain(X.iloc[[4, 2]])
    assert frame.index.names == ["day", None, "entry"]
    chosen = frame.index.get_level_values(0) == 2
    assert_allclose(frame[chosen]["log_odds"], clf.explain(X.reset_index(drop=True)[4:5])["log_odds"])
    assert len(clf.explain(X.iloc[[4, 4]])) == 2 * chosen.sum()


def test_zeros_and_ones_of_a_sparse_matrix_both_contribute():
    bits = np.array([[1, 0, 1], [0, 1, 0], [1, 1, 0], [0, 0, 0]])
    dense, thin = (BayesianNB(Bernoulli()).fit(X, [0, 1, 0, 1]) for X in (bits, sparse.csr_array(bits)))
    frames = dense.explain(bits, 0, 1), thin.explain(sparse.csr_array(bits), 0, 1)
    assert_allclose(frames[1]["log_odds"], frames[0]["log_odds"])
    assert (frames[1].groupby("row").size() == 5).all()


def test_a_row_that_is_impossible_under_both_classes_has_nan_log_odds():
    X, y = pd.DataFrame({"c": ["a", "a", "b", "b"], "d": ["x", "y", "x", "z"]}), ["u", "v", "w", "w"]
    clf = BayesianNB(estimate="mle").fit(X, y)
    frame = clf.explain(pd.DataFrame({"c": ["b"], "d": ["z"]}), "u", "v").loc[0]
    assert np.isnan(frame.loc[["c", "d", "(total)"], "log_odds"]).all()
    assert frame.loc["(prior)", "log_odds"] == 0


def test_binned_columns_known_variances_and_exposures_are_explained():
    X, y = mixed(60)
    features = {
        "g": Binned(4),
        "pair": (GaussianKnownVariance(variance=[1.0, 9.0]), ["h", "known"]),
        "events": Poisson(exposure="hours"),
        "c": Categorical(),
    }
    clf = BayesianNB(features).fit(X[["g", "h", "known", "events", "hours", "c"]], y)
    frame = clf.explain(X[["g", "h", "known", "events", "hours", "c"]])
    assert_allclose(entries(frame).groupby("row")["log_odds"].sum(), total(frame), atol=1e-10)
    assert list(frame.loc[0].index) == ["(prior)", "g", "h", "known", "events", "c", "(total)"]
