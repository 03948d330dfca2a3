"""Predictive checks find what the model cannot make, and are silent about tables that it has made."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from conftest import mixed
from numpy.random import default_rng
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import mutual_info_score

import bayesnb as nb
from bayesnb import BayesianNB, Categorical, Gaussian, Multinomial, Poisson, datasets, plots
from bayesnb.families.sampled import StudentT
from bayesnb.inference.predictive_checks import Checked, _rooted, replicated, statistics
from benchmarks.predictive_checks import FEATURES, columns_named, drawn, pairs_named

KINDS = ("real", "real", "positive", "count", "binary", "levels", "levels")
COLUMNS = [Checked(f"x{j}", "x", j, kind, 3 if kind == "levels" else 0) for j, kind in enumerate(KINDS)]


def tables(n=4, rows=40, missing=0.2, seed=0):
    """Several tables of one column of each kind, of which the same cells are missing."""
    rng = default_rng(seed)
    x = np.stack(
        [
            rng.normal(size=(n, rows)),
            rng.normal(size=(n, rows)).round(1),
            rng.exponential(size=(n, rows)),
            rng.poisson(1.0, size=(n, rows)),
            rng.integers(2, size=(n, rows)),
            rng.integers(3, size=(n, rows)),
            rng.integers(3, size=(n, rows)),
        ],
        axis=-1,
    ).astype(float)
    x[:, rng.random((rows, len(KINDS))) < missing] = np.nan
    return x


def ratio(level, number):
    """The square root of the share of the variance that lies between levels, by a loop over levels."""
    between = sum((level == k).sum() * (number[level == k].mean() - number.mean()) ** 2 for k in np.unique(level))
    return np.sqrt(between / (len(number) * number.var()))


BY_HAND = {
    "mean": np.mean,
    "sd": np.std,
    "skewness": stats.skew,
    "kurtosis": lambda x: stats.kurtosis(x, fisher=False),
    "largest distance / sd": lambda x: np.abs(stats.zscore(x)).max(),
    "share of most frequent value": lambda x: np.unique(x, return_counts=True)[1].max() / len(x),
    "sd / mean": lambda x: x.std() / x.mean(),
    "largest / mean": lambda x: x.max() / x.mean(),
    "variance / mean": lambda x: x.var() / x.mean(),
    "share of zeros": lambda x: (x == 0).mean(),
    "largest": np.max,
    "correlation": lambda x, y: np.corrcoef(x, y)[0, 1],
    "correlation ratio": ratio,
    "mutual information": mutual_info_score,
}


def test_each_test_statistic_is_the_one_of_its_name_in_every_table():
    cells = tables()
    checks, (values, _) = statistics(cells, COLUMNS)
    assert len(checks) == 6 + 6 + 4 + 4 + 1 + 10 + 10 + 1
    assert {check.statistic for check in checks} == set(BY_HAND)
    for table, value in zip(cells, values, strict=True):
        for check, found in zip(checks, value, strict=True):
            own = table[:, [check.first] if check.second < 0 else [check.first, check.second]]
            own = own[~np.isnan(own).any(axis=1)]
            assert_allclose(found, BY_HAND[check.statistic](*own.T), atol=1e-12, err_msg=str(check))


def test_a_class_of_fewer_than_five_rows_is_not_checked():
    assert statistics(tables(rows=4, missing=0), COLUMNS)[0] == []
    found = nb.checks.predictive_checks(
        BayesianNB().fit({"x": [1.0, 2.0, 4.0]}, ["a", "b", "b"]), {"x": [1.0, 2.0]}, ["a", "b"]
    )
    assert found.table.empty
    assert found.fits
    assert str(found).startswith("There is nothing to check")


def test_replicated_tables_are_those_of_the_predictive():
    X, y = mixed(12, columns={"real": "noise", "hue": "levels", "hits": "count"}, missing=0.0)
    clf = BayesianNB({"real": Gaussian(), "hue": Categorical(), "hits": Poisson()}).fit(X, y)
    columns = [Checked(name, name, 0, kind) for name, kind in zip(X, ("real", "levels", "count"), strict=True)]
    made = replicated(clf.posterior_, columns, np.array([0, 1]), 40_000, default_rng(0))
    real, hits = clf.posterior_.features["real"], clf.posterior_.features["hits"]
    for c in range(2):
        student = stats.t(
            2 * real.a[c, 0], real.m[c, 0], np.sqrt(real.b[c, 0] / real.a[c, 0] * (1 + 1 / real.kappa[c, 0]))
        )
        assert stats.kstest(made[:, c, 0], student.cdf).pvalue > 1e-3
        share = np.bincount(made[:, c, 1].astype(int)) / len(made)
        assert_allclose(share, clf.posterior_.features["hue"].mean()[c, 0], atol=0.012)
        assert_allclose(made[:, c, 2].mean(), (hits.alpha / hits.beta)[c, 0], rtol=0.03)


def test_rows_of_one_table_share_their_parameters():
    clf = BayesianNB({"x": Gaussian()}).fit({"x": [0.0, 1.0, 5.0]}, ["a", "a", "a"])
    made = replicated(clf.posterior_, [Checked("x", "x", 0, "real")], np.zeros(50, int), 2000, default_rng(0))[..., 0]
    # With parameters of their own, rows would be uncorrelated.
    assert np.corrcoef(np.arctan(made[:, 0]), np.arctan(made[:, 1]))[0, 1] > 0.15


def test_the_adjusted_p_value_is_the_share_of_tables_whose_farthest_check_is_as_far():
    X, y = datasets.penguins()
    found = nb.checks.predictive_checks(BayesianNB(random_state=0).fit(X, y), X, y, draws=100)
    table = found.table
    assert (table["distance"].abs().diff().dropna() <= 0).all()
    assert (table["p_adjusted"].diff().dropna() >= 0).all()
    assert (table["p_adjusted"] >= 1 / 101).all()
    assert (table["p_adjusted"] >= table["p"]).all()
    assert_array_equal(table["distance"].abs() > found.threshold, table["p_adjusted"] <= 0.05)
    assert (table["lower"] <= table["upper"]).all()
    inside = (table["observed"] >= table["lower"]) & (table["observed"] <= table["upper"])
    assert (table["p"][inside] > 0.05).all()


@pytest.mark.slow
def test_breast_cancer_does_not_fit():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    found = nb.checks.predictive_checks(BayesianNB().fit(X, y), X, y)
    with_dependence = nb.checks.predictive_checks(BayesianNB(dependence="weighted").fit(X, y), X, y)
    scope = " Only the naive Bayes part of the model is checked, without its dependence."
    assert str(with_dependence) == f"{found}{scope}"
    assert not found.fits
    assert len(found.table) == 2 * (30 * 6 + 30 * 29 // 2)
    assert len(found.failed) > 400
    assert pairs_named(found.failed.head(10), "mean radius", "mean area")
    assert (found.failed["statistic"] == "skewness").sum() > 30


def test_a_copy_of_a_column_is_found():
    rng = default_rng(0)
    y = rng.integers(2, size=200)
    x, level = rng.normal(y), rng.choice(list("abc"), 200)
    X = {"x": x, "copy": x, "level": level, "again": level, "other": rng.normal(size=200)}
    failed = nb.checks.predictive_checks(BayesianNB().fit(X, y), X, y).failed
    assert {tuple(pair) for pair in failed[["first", "second"]].to_numpy()} == {("x", "copy"), ("level", "again")}
    assert set(failed["class"]) == {0, 1}


ODD = {
    "zeros and ones": (lambda rng, n: (rng.random(n) < 0.005).astype(int), nb.Bernoulli()),
    "counts": (lambda rng, n: rng.poisson(0.01, n), Poisson()),
    "levels": (lambda rng, n: rng.choice(list("abcdef"), n, p=[0.6, 0.37, 0.01, 0.01, 0.005, 0.005]), Categorical()),
    "heavy tails": (lambda rng, n: np.exp(2 * rng.normal(size=n)), nb.families.LogNormal()),
}


@pytest.mark.parametrize("odd", [*ODD, "all of them"])
def test_rare_values_and_heavy_tails_do_not_hide_a_dependent_pair(odd):
    rng = default_rng(2)
    y, x = np.repeat([0, 1, 2], [100, 350, 150]), rng.normal(7, 2, 600)
    X, features = {"x": x, "near": 0.5 * x + rng.normal(size=600)}, {"x": Gaussian(), "near": Gaussian()}
    for name in ODD if odd == "all of them" else [odd]:
        make, family = ODD[name]
        X |= {f"{name} {k}": make(rng, 600) for k in range(8)}
        features |= {f"{name} {k}": family for k in range(8)}
    found = nb.checks.predictive_checks(BayesianNB(features, random_state=0).fit(X, y), X, y)
    assert pairs_named(found.failed, "x", "near")
    assert len(found.failed) == 3
    # The farthest of thousands of Normal variates is hardly ever farther.
    assert found.threshold < 4.7


def test_a_copy_of_rare_zeros_and_ones_is_found_but_one_coincidence_is_not():
    rng = default_rng(1)
    X = {f"rare {k}": np.isin(np.arange(400), rng.choice(400, 4, replace=False)).astype(int) for k in range(10)}
    X["copy"], X["met"] = X["rare 0"], np.isin(np.arange(400), np.flatnonzero(X["rare 1"])[:1]).astype(int)
    failed = nb.checks.predictive_checks(BayesianNB(random_state=0).fit(X, [0] * 400), X, [0] * 400).failed
    assert failed[["first", "second"]].to_numpy().tolist() == [["rare 0", "copy"]]


@pytest.mark.parametrize("events", [0.001, 0.02, 0.5, 20.0])
def test_a_scaled_coincidence_is_as_rare_as_a_normal_variate_of_this_size(events):
    counts = np.arange(1, 6) + np.ceil(events + 2 * np.sqrt(events))
    scaled = _rooted((counts - events) / np.sqrt(events), np.full(len(counts), events**-0.5))
    # A count is between the probabilities of being exceeded and of being reached.
    assert_allclose(scaled, stats.norm.isf(stats.poisson.sf(counts - 1, events)), atol=0.35)


def test_numbers_without_skewness_and_lighter_tails_stay_as_they_are():
    assert_array_equal(_rooted(np.array([-3.0, 3.0, -3.0]), np.array([0.0, 0.0, 2.0])), [-3.0, 3.0, -3.0])


def test_the_unit_of_a_column_changes_no_p_value():
    rng = default_rng(3)
    X, y = {"x": rng.standard_t(3, 200), "wait": rng.exponential(size=200)}, rng.integers(2, size=200)
    p = []
    for unit in (1.0, 2.0**-80, 2.0**80):
        own = {name: x * unit for name, x in X.items()}
        clf = BayesianNB({"x": Gaussian(), "wait": nb.families.Exponential()}, random_state=0).fit(own, y)
        p.append(nb.checks.predictive_checks(clf, own, y).table["p_adjusted"])
    assert_allclose(p[1], p[0], atol=0.01)
    assert_allclose(p[2], p[0], atol=0.01)


def test_the_sentence_names_the_farthest_check():
    X, y = datasets.penguins()
    found = nb.checks.predictive_checks(BayesianNB(random_state=0).fit(X, y), X, y)
    assert not found.fits
    farthest = found.table.loc[found.table["distance"].abs().idxmax()]
    assert f"worst the {farthest['statistic']} of {farthest['first']!r}" in str(found)


@pytest.mark.parametrize(
    ("name", "values", "statistic"),
    [
        ("real 0", lambda rng, n: np.exp(rng.normal(size=n)), "skewness"),
        ("real 0", lambda rng, n: rng.standard_t(2, n), "kurtosis"),
        ("real 0", lambda rng, n: rng.normal(size=n) * (rng.random(n) < 0.6), "share of most frequent value"),
        ("wait 0", lambda rng, n: rng.gamma(8, size=n), "sd / mean"),
        ("count 0", lambda rng, n: rng.negative_binomial(1, 0.2, n).astype(float), "variance / mean"),
        ("count 0", lambda rng, n: rng.poisson(6, n) * (rng.random(n) < 0.6), "share of zeros"),
    ],
)
def test_a_column_of_another_shape_is_found_by_a_statistic_that_names_it(name, values, statistic):
    rng = default_rng(0)
    X, y = drawn(2, rng)(300)
    X[name] = values(rng, 300)
    failed = nb.checks.predictive_checks(BayesianNB(FEATURES).fit(X, y), X, y).failed
    assert columns_named(failed, name)
    assert statistic in set(failed["statistic"][failed["first"] == name])


def test_rounded_numbers_and_whole_numbers_are_no_reason_to_doubt():
    rng = default_rng(1)
    y = rng.integers(2, size=400)
    X = {"height": rng.normal(170 + 5 * y, 6).round(), "wait": rng.exponential(3.0, 400).round(1) + 0.1}
    X["wait"] = np.maximum(rng.exponential(3.0, 400).round(1), 0.1)
    assert nb.checks.predictive_checks(
        BayesianNB({"height": Gaussian(), "wait": FEATURES["wait 0"]}).fit(X, y), X, y
    ).fits


def test_the_rounding_of_numbers_is_found_even_if_no_two_of_them_are_a_unit_apart():
    rng = default_rng(2)
    hours = rng.choice([19.25, 20.0, 25.0, 30.0, 35.0, 38.5], 400)
    X, y = {"hours": hours, "exact": rng.normal(size=400)}, rng.integers(2, size=400)
    X["thirds"] = rng.choice([1, 3, 4, 9], 400) / 3
    table = nb.checks.predictive_checks(BayesianNB(dict.fromkeys(X, Gaussian())).fit(X, y), X, y).table
    drawn = table[table["statistic"] == "share of most frequent value"].groupby("first")["upper"].max()
    assert 0.01 < drawn["hours"] < 0.1
    assert drawn["thirds"] > 0.04
    assert drawn["exact"] < 0.01


def test_a_table_of_the_model_seldom_raises_an_alarm():
    # Two hundred tables are counted in benchmarks/predictive_checks.py; here are a few.
    alarms = 0
    for k in range(12):
        rng = default_rng([1, k])
        X, y = drawn(2, rng)(100)
        alarms += not nb.checks.predictive_checks(BayesianNB(FEATURES, random_state=k).fit(X, y), X, y, draws=60).fits
    assert alarms <= 3


def test_other_rows_than_those_that_were_learned_can_be_checked():
    X, y = mixed(200, columns={"x": "real", "z": "noise"}, seed=1, missing=0.0)
    clf = BayesianNB().fit(X[:100], y[:100])
    assert nb.checks.predictive_checks(clf, X[100:], y[100:]).fits
    drifted = nb.checks.predictive_checks(clf, X[100:].assign(z=X["z"] + 2), y[100:])
    assert set(drifted.failed["first"]) == {"z"}
    assert "mean" in set(drifted.failed["statistic"])


def test_bags_of_words_and_exposed_counts_are_named_as_not_checked():
    X, y = mixed(60)
    features = {"words": (Multinomial(), ["cat", "dog", "emu"]), "events": Poisson(exposure="hours")}
    found = nb.checks.predictive_checks(BayesianNB(features).fit(X, y), X, y)
    assert set(found.unchecked) == {"words", "events"}
    assert set(found.table["first"]) == {"b", "c", "g", "h", "known"}


def test_a_column_of_many_levels_that_is_not_checked_takes_no_memory_for_each_replicated_row():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"name": [f"level {k}" for k in range(300)], "x": rng.normal(size=300)})
    y = np.arange(300) % 2
    clf = BayesianNB({"name": Categorical()}, random_state=0).fit(X, y)
    tracemalloc.start()
    found = nb.checks.predictive_checks(clf, X, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.unchecked == ("name",)
    # 200 tables of 300 rows; one number of 8 bytes for each level would be 144 million.
    assert peak < 50e6


@pytest.mark.nuts
def test_sampled_columns_are_checked_by_their_draws():
    X, y = mixed(200, columns={"x": "outliers", "z": "noise"}, missing=0.0)
    features = {"x": StudentT(draws=1000, tune=1000, chains=2, random_seed=0), "z": Gaussian()}
    found = nb.checks.predictive_checks(BayesianNB(features).fit(X, y), X, y)
    assert found.fits
    assert {"x", "z"} <= set(found.table["first"])
    assert "kurtosis" in set(nb.checks.predictive_checks(BayesianNB().fit(X, y), X, y).failed["statistic"])


def test_the_same_seed_gives_the_same_checks():
    X, y = datasets.penguins()
    one, two, other = (
        nb.checks.predictive_checks(BayesianNB(random_state=k).fit(X, y), X, y, 30).table for k in (1, 1, 2)
    )
    pd.testing.assert_frame_equal(one, two)
    assert not one["expected"].equals(other["expected"])


def test_the_picture_shows_the_worst_checks_and_the_range_of_chance():
    X, y = datasets.penguins()
    found = nb.checks.predictive_checks(BayesianNB(random_state=0).fit(X, y), X, y)
    figure = plots.predictive_checks(found, most=5)
    (axes,) = figure.axes
    assert len(axes.get_yticks()) == 5
    worst = found.table.iloc[0]
    assert axes.get_yticklabels()[0].get_text() == (
        f"{worst['statistic']}: {worst['first']}, {worst['second']} | {worst['class']}"
    )
    assert axes.get_title().endswith("\nthe 5 that are farthest away")
    points = np.concatenate([line.get_xdata() for line in axes.lines[1:]])
    assert_allclose(sorted(points), sorted(found.table["distance"][:5]))
    with pytest.raises(ValueError, match="Expected most to be a whole number, 1 or more; got 0"):
        plots.predictive_checks(found, most=0)
    with pytest.raises(ValueError, match="Expected at least one check"):
        plots.predictive_checks(
            nb.checks.predictive_checks(BayesianNB().fit({"x": [1.0, 2.0]}, [0, 1]), {"x": [1.0, 2.0]}, [0, 1])
        )
