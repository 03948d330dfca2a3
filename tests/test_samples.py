"""Samples of rows are functions of their content: of no order, container or division, and k copies count k times."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from sklearn.naive_bayes import GaussianNB

import bayesnb as nb
from bayesnb.data.drawing import drawn, few_rows
from bayesnb.data.tables import Table
from bayesnb.data.targets import read_target
from bayesnb.evaluation import scorecard
from bayesnb.evaluation.estimates import compare_estimates
from bayesnb.evaluation.folds import splits
from bayesnb.inference import leave_one_out
from bayesnb.inference.further_rows import worth_of_rows
from bayesnb.report.questions import Asking

RNG = np.random.default_rng(0)
ROWS = pd.DataFrame(
    {
        "x": RNG.normal(size=400).round(1),
        "n": RNG.integers(0, 3, 400),
        "level": RNG.choice(["u", "v", None], 400),
        "day": pd.date_range("2024-01-01", periods=5).to_numpy()[RNG.integers(5, size=400)],
    }
)


def content(frame: pd.DataFrame) -> list[str]:
    return sorted(frame[[*ROWS]].astype({"n": float, "level": object}).map(str).agg("|".join, axis=1))


def in_parts(frame: pd.DataFrame, *cuts: int, most: int = 60, seed: int = 0) -> list[str]:
    """What a sample holds of a table that is cut at these rows."""
    passing, sample = drawn((Table.of(frame.iloc[a:b]) for a, b in pairwise([0, *cuts, len(frame)])), most, seed)
    assert sum(table.n_rows for table in passing) == len(frame)
    return content(sample().source)


def test_a_sample_depends_neither_on_the_order_of_rows_nor_on_how_they_are_cut():
    expected = in_parts(ROWS)
    assert len(expected) == 60
    mixed = ROWS.iloc[np.random.default_rng(1).permutation(400)]
    for cuts in ((), (1,), (200,), (7, 8, 100, 399), tuple(range(10, 400, 10))):
        assert in_parts(ROWS, *cuts) == in_parts(mixed, *cuts) == expected
    assert in_parts(ROWS, seed=1) != expected
    assert content(ROWS.iloc[few_rows(Table.of(ROWS), 60, 0)]) == expected
    assert in_parts(ROWS, 200, most=400) == content(ROWS)


@pytest.mark.parametrize(
    "make",
    [
        lambda X: X[X.columns[::-1]],
        lambda X: X.astype({"n": float, "level": "category"}),
        lambda X: X.convert_dtypes(),
        lambda X: X.convert_dtypes(dtype_backend="pyarrow"),
        lambda X: X.astype({"x": object, "n": object}),
        pl.DataFrame,
    ],
)
def test_a_sample_does_not_depend_on_the_container(make):
    X = ROWS.drop(columns="day")
    assert_array_equal(few_rows(Table.of(make(X)), 60, 0), few_rows(Table.of(X), 60, 0))


def test_each_of_equal_rows_is_drawn_as_often_as_any_row():
    copies = pd.DataFrame({"x": np.append(np.zeros(3000), np.arange(1, 1001))})
    drawn_of = [(copies["x"].to_numpy()[few_rows(Table.of(copies), 400, seed)] == 0).sum() for seed in range(20)]
    assert abs(np.mean(drawn_of) - 300) < 4 * np.sqrt(400 * 0.75 * 0.25 / 20)
    assert np.std(drawn_of) > 3


def test_a_table_of_zeros_and_numbers_is_sampled_alike_dense_and_sparse():
    from scipy import sparse

    x = np.random.default_rng(2).poisson(0.5, size=(300, 6)) * 1.0
    x = x[np.random.default_rng(3).permutation(300)]
    some, turned = few_rows(Table.of(sparse.csr_array(x)), 40, 0), few_rows(Table.of(sparse.csr_array(x[::-1])), 40, 0)
    assert sorted(map(tuple, x[some])) == sorted(map(tuple, x[::-1][turned]))


def test_a_comparison_on_a_sample_of_rows_does_not_depend_on_their_order():
    X, y = nb.datasets.penguins()
    order = np.random.default_rng(0).permutation(len(X))
    one, other = (
        compare_estimates(nb.BayesianNB(), X.iloc[k], y.iloc[k], dependence=(), rows=50) for k in (slice(None), order)
    )
    pd.testing.assert_frame_equal(one, other, rtol=1e-9)


@pytest.mark.parametrize("clf", [nb.BayesianNB(), GaussianNB(var_smoothing=0.1)])
def test_folds_scores_and_their_intervals_do_not_depend_on_the_order_of_rows(clf):
    X, y = nb.datasets.penguins()
    X, y = (frame.iloc[::5] for frame in (X.select_dtypes("number").fillna(40.0), y))
    order = np.random.default_rng(0).permutation(len(X))
    one, other = (scorecard(clf, X.iloc[k], y.iloc[k], cv=3) for k in (slice(None), order))
    pd.testing.assert_frame_equal(one.table, other.table, rtol=1e-9)
    _, codes = np.unique(y, return_inverse=True)
    folds = [test for _, test in splits(X, read_target(y), 3, np.arange(len(X)))]
    assert_array_equal(np.sort(np.concatenate(folds)), np.arange(len(X)))
    counts = np.array([np.bincount(codes[fold], minlength=3) for fold in folds])
    assert (np.ptp(counts, axis=0) <= 1).all()
    assert np.ptp(counts.sum(axis=1)) <= 1


def test_folds_of_equal_rows_in_classes_of_equal_size_depend_on_neither_order_nor_names():
    rng = np.random.default_rng(0)
    X, y = pd.DataFrame({"a": rng.choice([*"uvw"], 60), "b": rng.integers(2, size=60)}), np.repeat(["p", "q"], 30)
    expected = nb.evaluate(nb.BayesianNB(), X, y, cv=3)["log_loss"]
    order = rng.permutation(60)
    turned = np.where(y == "p", "z", "a")
    for rows, labels in ((X.iloc[order], y[order]), (X, turned), (X.iloc[order], turned[order])):
        assert nb.evaluate(nb.BayesianNB(), rows, labels, cv=3)["log_loss"] == pytest.approx(expected, rel=1e-9)


def test_scores_do_not_depend_on_names_types_units_and_columns_that_say_nothing(monkeypatch):
    monkeypatch.setattr(leave_one_out, "SCORED", 50)
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, 90)
    day = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 400, 90) + 60 * codes, "D")
    X = pd.DataFrame({"a": rng.normal(codes, 1.5), "day": day.strftime("%Y-%m-%d"), "flag": rng.random(90) < 0.3})
    X["level"] = rng.choice(["u", "v", "w"], 90)
    tables = [X, X.assign(day=day), X.assign(day=day.strftime("%d.%m.%Y")), X.assign(flag=X["flag"].astype(str))]
    tables += [X.assign(a=7 - 2 * X["a"]), X.assign(more=1, none=None), X.add_suffix("_")[[f"{c}_" for c in X][::-1]]]
    tables += [X.replace({"level": {"u": "z", "v": "k"}})]

    def scores(X: pd.DataFrame, y: np.ndarray) -> list[float]:
        clf = nb.BayesianNB()
        sampled = compare_estimates(clf, X, y, dependence=(), rows=50).loc[["mean", "predictive"], "log_loss"]
        fitted = clf.fit(X, y).classifier_
        left_out = leave_one_out.left_out_scores(fitted, fitted.rows(X, y))["log_loss"]
        return [nb.evaluate(clf, X, y, cv=3)["log_loss"], *sampled, left_out]

    y = np.array(["u", "v"])[codes]
    expected = scores(X, y)
    for table in tables[1:]:
        np.testing.assert_allclose(scores(table, y), expected, rtol=1e-6)
    np.testing.assert_allclose(scores(X, np.array(["z", "b"])[codes]), expected, rtol=1e-6)


@pytest.mark.parametrize("cv", ["loo", 3])
def test_intervals_of_scores_depend_neither_on_the_order_of_rows_nor_on_names_of_classes(cv):
    X, y = nb.datasets.penguins()
    X, y = X[::5], y[::5]
    names = {"Adelie": "z", "Chinstrap": "y", "Gentoo": "x"}
    one, turned, renamed = (
        scorecard(nb.BayesianNB(), X_, y_, cv=cv).table for X_, y_ in ((X, y), (X[::-1], y[::-1]), (X, y.map(names)))
    )
    pd.testing.assert_frame_equal(one, turned, rtol=1e-9)
    pd.testing.assert_frame_equal(one, renamed, rtol=1e-9)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_answers_from_random_tables_labels_and_rows_do_not_depend_on_the_order_of_rows():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, 60)
    X, y = pd.DataFrame({"a": rng.normal(codes), "b": np.exp(rng.normal(0.5 * codes))}), pd.Series([*"uv"])[codes]
    X["level"], y = rng.choice([*"pqr"], 60), y.reset_index(drop=True)
    some = y.mask(y.index % 4 == 0)

    def answers(order: np.ndarray) -> list[np.ndarray]:
        X_, y_ = X.iloc[order], y.iloc[order]
        clf = nb.BayesianNB(random_state=0).fit(X_, y_)
        checked = nb.checks.predictive_checks(clf, X_, y_, draws=50).table
        worth = worth_of_rows(clf.classifier_, [0, 30], X=X_, y=y_, draws=5)
        partly = nb.BayesianNB(random_state=0).fit(X_, some.iloc[order])
        tree = partly.sample_posterior(X=X_, y=some.iloc[order], sampler="gibbs", draws=20, chains=2)
        wrong = nb.checks.suspicious_labels(clf, X_, y_)["wrong"].sort_index()
        drawn = tree["unlabelled"]["p"]
        drawn = drawn.assign_coords(row=order[drawn["row"]]).sortby("row").to_numpy()
        return [checked[["expected", "lower", "p_adjusted"]].to_numpy(), worth.to_numpy(float), wrong, drawn]

    expected = answers(np.arange(60))
    for found, own in zip(answers(rng.permutation(60)), expected, strict=True):
        np.testing.assert_allclose(found, own, rtol=1e-6, atol=1e-9)


def test_a_report_shows_the_same_rows_of_a_long_table_in_any_order():
    X, y = ROWS.drop(columns="day"), ROWS["x"] + ROWS["n"] > 1
    model = nb.BayesianNB().fit(X, y).classifier_
    asked = (Asking(model, Table.of(X.iloc[k]), None) for k in (slice(None), slice(None, None, -1)))
    one, other = (asking.answer("uncertainty").select_dtypes("number").to_numpy() for asking in asked)
    assert len(one) == 200
    np.testing.assert_allclose(np.sort(one, axis=0), np.sort(other, axis=0), rtol=1e-9)
