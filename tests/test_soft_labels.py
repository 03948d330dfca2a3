"""Weights in each class, and tables of counts, teach what the rows that they stand for teach."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from conftest import FEATURES, mixed
from numpy.testing import assert_allclose, assert_array_equal

import bayesnb as nb
from bayesnb import BayesianNB


def soft(n: int, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    X, _ = mixed(n, "uvw", seed=seed)
    weights = np.random.default_rng(seed).dirichlet([0.5, 0.5, 0.5], n)
    return X, pd.DataFrame(weights * (weights > 0.05), columns=list("uvw"))


def copies(X: pd.DataFrame, y: pd.DataFrame, weight: float = 1.0) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Each row once in each class, and its weight there."""
    return pd.concat([X] * 3), np.repeat(list("uvw"), len(X)), y.to_numpy().ravel(order="F") * weight


def assert_same(one: BayesianNB, other: BayesianNB, X: pd.DataFrame) -> None:
    assert_array_equal(one.classes_, other.classes_)
    assert_allclose(one.class_count_, other.class_count_, rtol=1e-12)
    assert_allclose(one.predict_proba(X), other.predict_proba(X), rtol=0, atol=1e-9)


@pytest.mark.parametrize("dependence", [None, "weighted"])
def test_soft_labels_are_weighted_copies_of_rows(dependence):
    X, y = soft(60)
    rows, labels, weight = copies(X, y)
    clf = BayesianNB(FEATURES, dependence=dependence).fit(X, y)
    assert_same(clf, BayesianNB(FEATURES, dependence=dependence).fit(rows, labels, sample_weight=weight), X)


def test_soft_labels_are_learned_in_parts_and_forgotten():
    X, y = soft(60)
    clf = BayesianNB(FEATURES).fit(X[:20], y[:20], sample_weight=np.full(20, 2.0))
    clf.partial_fit(X[20:], y[20:])
    weight = np.repeat([2.0, 1.0], [20, 40])
    rows, labels, own = copies(X, y)
    assert_same(clf, BayesianNB(FEATURES).fit(rows, labels, sample_weight=own * np.tile(weight, 3)), X)
    assert_same(clf.forget(X[:20], y[:20], sample_weight=np.full(20, 2.0)), BayesianNB(FEATURES).fit(X[20:], y[20:]), X)


def test_soft_labels_may_be_any_frame_or_an_array():
    X, y = soft(30)
    expected = BayesianNB(FEATURES).fit(X, y)
    assert_same(BayesianNB(FEATURES).fit(X, pl.from_pandas(y)), expected, X)
    of_array = BayesianNB(FEATURES).fit(X, y.to_numpy())
    assert of_array.classes_.tolist() == [0, 1, 2]
    assert_allclose(of_array.predict_proba(X), expected.predict_proba(X), rtol=1e-12)
    hard = pd.get_dummies(pd.Series(["u", "v", "u"] * 10))
    assert_same(BayesianNB(FEATURES).fit(X, hard), BayesianNB(FEATURES).fit(X, ["u", "v", "u"] * 10), X)
    assert BayesianNB().fit(X[["g"]], y.assign(z=0.0)).class_count_[-1] == 0  # A column names a class.


@pytest.mark.parametrize("bad", [-0.1, np.nan, np.inf])
def test_a_weight_that_is_none_is_refused_by_row_and_class(bad):
    X, y = soft(10)
    y.loc[3, "v"] = bad
    with pytest.raises(ValueError, match=f"y holds {bad:g} for class v in row 3"):
        BayesianNB(FEATURES).fit(X, y)
    with pytest.raises(ValueError, match="no row has a weight in any class"):
        BayesianNB(FEATURES).fit(X, y * 0.0 if np.isfinite(bad) else np.zeros((10, 2)))
    with pytest.raises(ValueError, match="X has 10 rows"):
        BayesianNB(FEATURES).fit(X, np.full((9, 2), 0.5))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.from_pandas, dict], ids=["pandas", "polars", "dict"])
def test_a_table_of_counts_teaches_what_its_rows_teach(frame):
    X, y = nb.datasets.play_tennis()
    rows = pd.concat([X, X], ignore_index=True).assign(play=[*y, *y])[["outlook", "wind", "play"]]
    long = rows.value_counts().rename("n").reset_index()
    clf = BayesianNB().fit(frame(long), "play", sample_weight="n")
    expected = BayesianNB().fit(rows[["outlook", "wind"]], rows["play"])
    assert_same(clf, expected, X[["outlook", "wind"]])
    assert clf.classifier_.target == "play"
    wide = pd.crosstab([rows["outlook"], rows["wind"]], rows["play"])
    groups, n = wide.index.to_frame(index=False), wide.sum(axis=1)
    with pytest.warns(nb.errors.SeveralTargetsWarning, match="6 rows count as 28"):
        assert_same(BayesianNB().fit(groups, wide), expected, X[["outlook", "wind"]])
    shares = wide.div(n, axis=0)
    assert_same(BayesianNB().fit(groups, shares, sample_weight=n), expected, X[["outlook", "wind"]])
    clf.partial_fit(frame(long), "play", sample_weight="n")
    assert_allclose(clf.class_count_, 2 * expected.class_count_)
    assert_same(clf.forget(frame(long), "play", sample_weight="n"), expected, X[["outlook", "wind"]])
    with pytest.raises(ValueError, match=r"sample_weight='m' is the name of no column of X, which has .*'n'"):
        BayesianNB().fit(frame(long), "play", sample_weight="m")


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.from_pandas, np.asarray], ids=["pandas", "polars", "array"])
@pytest.mark.parametrize("dtype", [int, float, bool])
def test_several_targets_are_not_taken_for_weights(frame, dtype):
    X, _ = soft(6)
    flags = pd.DataFrame({"a": [1, 1, 0, 0, 1, 0], "b": [1, 0, 0, 1, 0, 1]}).astype(dtype)
    for y, total in ((flags, 6), (1 - flags.astype(int), 6)):
        with pytest.raises(ValueError, match=f"6 rows would count as {total}.*MultiOutputClassifier.*sample_weight"):
            BayesianNB(FEATURES).fit(X, frame(y))
    measured = pd.DataFrame({"height": np.linspace(1.5, 1.9, 6), "weight": np.linspace(50, 90, 6)})
    with pytest.raises(ValueError, match=r"6 rows would count as 430\.2"):
        BayesianNB(FEATURES).fit(X, frame(measured))
    shares = np.linspace(0.1, 1, 12).reshape(6, 2)
    with pytest.warns(nb.errors.SeveralTargetsWarning, match=r"6 rows count as 6\.6"):
        BayesianNB(FEATURES).fit(X, frame(pd.DataFrame(shares, columns=["a", "b"])))
    with pytest.warns(nb.errors.SeveralTargetsWarning, match="6 rows count as 24"):
        assert BayesianNB(FEATURES).fit(X, frame(2 * flags.astype(int) + 1)).class_count_.sum() == 24


def test_soft_labels_in_another_order_are_warned_of_as_labels_are():
    X, y = soft(12)
    with pytest.warns(UserWarning, match="y has the index of X in another order"):
        BayesianNB(FEATURES).fit(X, y[::-1])


def test_columns_that_are_no_weights_of_one_class_each_are_refused():
    X, y = soft(6)
    with pytest.raises(ValueError, match="y has two columns named 'u'"):
        BayesianNB(FEATURES).fit(X, y.set_axis(["u", "u", "w"], axis=1))
    for dates in (
        pd.date_range("2020", periods=6),
        pd.to_timedelta(range(6), "D"),
        pd.date_range("2020", periods=6).date,
    ):
        for frame in (pd.DataFrame, pl.DataFrame):
            with pytest.raises(ValueError, match=r"column 'v' of y holds no numbers"):
                BayesianNB(FEATURES).fit(X, frame({"u": [1.0] * 6, "v": dates}))
