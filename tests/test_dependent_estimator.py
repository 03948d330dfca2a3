"""The estimator where features may depend on each other: what it learns, answers, keeps and refuses."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.random import default_rng
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp

from bayesnb import BayesianNB, Exponents, Poisson, StudentT

HOW = ["tempered", "weighted", "pairwise", Exponents(by="class", pairs=3)]


def table(n: int = 90, seed: int = 0) -> tuple[pd.DataFrame, pd.Series]:
    """Rows of three classes with every kind of column, two of which say nearly the same."""
    rng = default_rng(seed)
    y = rng.integers(3, size=n)
    x = rng.normal(size=n) + y
    frame = pd.DataFrame(
        {
            "size": x,
            "copy": x + 0.1 * rng.normal(size=n),
            "colour": np.where(rng.random(n) < 0.6, np.array(["red", "blue", "green"])[y], "grey"),
            "calls": rng.poisson(2.0 + y),
            "member": rng.random(n) < 0.3,
        }
    )
    frame.loc[frame.index[::9], "size"] = np.nan
    return frame, pd.Series(np.array(["a", "b", "c"])[y], name="kind")


FEATURES = {"calls": Poisson()}


def fitted(how, n: int = 90, **others) -> BayesianNB:
    return BayesianNB(FEATURES, dependence=how, **others).fit(*table(n))


def test_without_dependence_the_model_is_naive_bayes_to_the_last_bit():
    X, _ = table()
    clf = fitted(None)
    posterior = clf.posterior_
    data, n = clf.classifier_.read(X)
    assert_array_equal(clf.predict_joint_log_proba(X), posterior.log_predictive(data, n))
    assert clf.classifier_.dependence is None
    assert not hasattr(clf, "exponents_")


@pytest.mark.parametrize("how", HOW, ids=str)
def test_probabilities_sum_to_one_and_rows_are_as_probable_as_under_naive_bayes(how):
    X, y = table()
    clf, naive = fitted(how), fitted(None)
    assert_allclose(clf.predict_proba(X).sum(1), 1.0)
    rows, naively = (logsumexp(c.predict_joint_log_proba(X), axis=1) for c in (clf, naive))
    assert_allclose(rows, naively, rtol=1e-12)
    assert clf.score(X, y) > 0.6
    assert np.abs(clf.predict_proba(X) - naive.predict_proba(X)).max() > 0.01


def test_the_table_of_exponents_has_a_row_for_each_term():
    found = fitted("pairwise").exponents_
    assert list(found.columns) == ["mean", "sd", "lower", "upper", "log_bayes_factor"]
    assert list(found.index[:5]) == ["size", "copy", "colour", "calls", "member"]
    assert {"shape of size", "size × copy", "joint"} <= set(found.index)
    assert found.attrs == {"rows": 90.0, "older": False}
    assert ((found["lower"] < found["mean"]) & (found["mean"] < found["upper"])).all()


def test_a_column_that_stands_in_the_table_twice_counts_half_each_time():
    rng = default_rng(0)
    y = rng.integers(2, size=2000)
    x = rng.normal(1.0 * y)
    once, twice = pd.DataFrame({"x": x}), pd.DataFrame({"x": x, "copy": x})
    p, q = (BayesianNB(dependence="weighted").fit(X, y).predict_proba(X) for X in (once, twice))
    assert np.abs(p - q).max() < 0.04
    assert np.abs(p - BayesianNB().fit(twice, y).predict_proba(twice)).max() > 0.1


# Estimates


@pytest.mark.parametrize("how", HOW, ids=str)
def test_a_plug_in_takes_the_mode_or_the_mean_of_the_exponents(how):
    X, _ = table()
    clf = fitted(how, estimate="mean")
    frozen = clf.classifier_
    data, n = frozen.read(X)
    dependence = frozen.dependence
    expected = dependence.log_proba(frozen.posterior, data, n, frozen.plug_in.log_pi, frozen.plug_in, "mean")
    assert_allclose(clf.predict_log_proba(X), expected, atol=1e-12)
    averaged = frozen.with_estimate("predictive").predict_log_proba(X)
    assert np.abs(averaged - expected).max() > 1e-3


def test_maximum_likelihood_of_exponents_is_refused_with_the_cure():
    for ask in (
        lambda: fitted("weighted", estimate="mle"),
        lambda: fitted("weighted").classifier_.with_estimate("mle"),
    ):
        with pytest.raises(ValueError, match='use estimate="map", or dependence=None'):
            ask()


# What cannot be learned


def test_rows_without_a_label_are_refused_with_the_cure():
    X, y = table()
    y = y.astype(object).where(np.arange(len(y)) > 5, None)
    with pytest.raises(ValueError, match="fit the labelled rows alone, or use dependence=None"):
        BayesianNB(FEATURES, dependence="weighted").fit(X, y)


def test_a_sampled_feature_is_refused_before_it_is_sampled():
    with pytest.raises(ValueError, match=r"feature 'x': StudentT.*use dependence=None"):
        BayesianNB({"x": StudentT()}, dependence="weighted").fit({"x": [0.0, 1.0, 2.0]}, [0, 1, 0])


@pytest.mark.parametrize("how", HOW, ids=str)
def test_one_class_leaves_the_exponents_as_their_prior_has_them(how):
    X, _ = table(20)
    clf = BayesianNB(FEATURES, dependence=how).fit(X, ["a"] * 20)
    assert_allclose(clf.predict_proba(X), 1.0)
    assert_allclose(clf.exponents_["log_bayes_factor"], 0.0, atol=1e-9)


@pytest.mark.parametrize("how", HOW, ids=str)
def test_constant_columns_and_a_class_of_one_row_end_well(how):
    X = pd.DataFrame({"x": np.ones(12), "level": ["a"] * 12, "z": np.arange(12.0)})
    clf = BayesianNB(dependence=how).fit(X, [0] * 11 + [1])
    assert np.isfinite(clf.predict_log_proba(X)).all()


def test_no_rows_and_unknown_words_are_refused_and_nothing_is_learned():
    X, y = table()
    for how, rows, message in (
        ("weighted", slice(0), "minimum of 1 is required"),
        ("strong", slice(None), r"'pairwise'.*got 'strong'"),
        (3, slice(None), r"'pairwise'.*got 3"),
        (Exponents(pairs=(("size", "weight"),)), slice(None), "'weight'"),
    ):
        clf = BayesianNB(FEATURES, dependence=how)
        with pytest.raises(ValueError, match=message):
            clf.fit(X[rows], y[rows])
        assert not hasattr(clf, "classes_")


def test_a_class_that_is_impossible_without_one_of_its_rows_is_refused_with_the_cure():
    X, y = table(20)
    with pytest.raises(ValueError, match=r"class 'z'.*Dirichlet\(1\)"):
        BayesianNB(FEATURES, dependence="weighted", class_prior="frequencies").fit(X, ["z", *y[1:]])


def test_two_half_rows_and_a_row_of_weight_two_are_read_as_frequencies():
    X, y = table(40)
    twice = BayesianNB(FEATURES, dependence="weighted").fit(pd.concat([X, X]), pd.concat([y, y]))
    weighted = BayesianNB(FEATURES, dependence="weighted").fit(X, y, sample_weight=np.full(40, 2.0))
    assert_allclose(weighted.predict_proba(X), twice.predict_proba(X), atol=1e-6)
    assert_allclose(weighted.exponents_, twice.exponents_, atol=1e-6)
