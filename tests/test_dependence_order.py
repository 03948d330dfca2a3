"""Answers under a dependence are functions of the content of the table, and of nothing else."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesnb as nb
from bayesnb.dependence.partitions import Partitions
from bayesnb.families.dyadic import Dyadic
from bayesnb.families.rates import Exposed
from bayesnb.model.order import Order
from bayesnb.statistics.statistic import Labels


def table(seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Columns of several kinds, some of them with gaps, and labels."""
    rng = np.random.default_rng(seed)
    n, y = 70, rng.integers(3, size=70)
    X = pd.DataFrame(
        {
            "real": rng.normal(y, 1.5),
            "whole": rng.integers(9, size=n) + 1.0 * y,
            "level": rng.choice(list("uvwx"), n),
            "like the label": np.where(rng.random(n) < 0.6, y, rng.integers(3, size=n)).astype(str),
        }
    )
    X["sum"] = X["real"] + rng.normal(size=n)
    if seed % 2:
        X.loc[rng.random(n) < 0.15, "real"] = np.nan
        X.loc[rng.random(n) < 0.1, "level"] = None
    return X, np.array(list("abc"))[y]


def probabilities(dependence: str, X: pd.DataFrame, y: np.ndarray, asked: pd.DataFrame, weight=None) -> pd.DataFrame:
    clf = nb.BayesianNB(dependence=dependence).fit(X, y, sample_weight=weight)
    return pd.DataFrame(clf.predict_proba(asked), columns=clf.classes_)


@cache
def as_it_is(dependence: str, seed: int) -> pd.DataFrame:
    X, y = table(seed)
    return probabilities(dependence, X, y, X)


@pytest.mark.parametrize(
    ("dependence", "seed"),
    # The relations of test_relations.py hold "auto" on another table.
    [("pairwise", 0), ("pairwise", 1), *(pytest.param("auto", seed, marks=pytest.mark.slow) for seed in (0, 1))],
)
def test_rows_columns_names_and_units_change_nothing(dependence: str, seed: int):
    X, y = table(seed)
    found = as_it_is(dependence, seed)
    order = np.random.default_rng(seed).permutation(len(X))
    rows = probabilities(dependence, X.iloc[order], y[order], X)
    assert_allclose(rows, found, rtol=0, atol=1e-9, err_msg="rows")
    other = X[X.columns[::-1]].rename(columns={"real": "zz", "level": "aa"})
    other = other.assign(aa=other["aa"].map(dict(zip("uvwx", "zaqb", strict=True))))
    other = other.assign(zz=-2.5 * other["zz"] + 7, whole=3 - other["whole"])
    called = {"a": "q", "b": "p", "c": "o"}
    renamed = probabilities(dependence, other, np.array([called[label] for label in y]), other)
    assert_allclose(renamed[list("qpo")], found, rtol=0, atol=1e-6, err_msg="columns, names and units")


@pytest.mark.parametrize("dependence", ["weighted", pytest.param("auto", marks=pytest.mark.slow)])
def test_a_row_of_whole_weight_is_so_many_rows(dependence: str):
    X, y = table(1)
    weight = np.random.default_rng(0).integers(0, 4, len(X))
    places = np.random.default_rng(1).permutation(np.repeat(np.arange(len(X)), weight))
    copies = probabilities(dependence, X.iloc[places], y[places], X)
    assert_allclose(probabilities(dependence, X, y, X, weight.astype(float)), copies, rtol=0, atol=1e-9)


def order(x: np.ndarray, labels: Labels) -> Order:
    return Order.of([x], labels)


def test_the_key_of_a_row_depends_on_what_the_table_holds_and_not_on_how_it_is_written():
    rng = np.random.default_rng(0)
    x, labels = np.column_stack([rng.normal(size=80), rng.integers(6, size=80)]), Labels.of(rng.integers(2, size=80))
    keys, places = order(x, labels).keys, rng.permutation(80)
    assert len(set(keys)) > 70
    assert_array_equal(order(x[places], labels[places]).keys, keys[places])
    assert_array_equal(order(x[:, ::-1] * [-2.0, 1e3] + 5, Labels.of(1 - labels.codes)).keys, keys)
    constant = np.column_stack([x, np.ones(80), np.full(80, np.nan)])
    assert_array_equal(order(constant, labels).keys, keys)
    assert (order(x + rng.normal(size=x.shape), labels).keys != keys).all()


@pytest.mark.parametrize("most", [10, 50, 1000])
def test_a_sample_is_the_same_in_any_order_and_holds_copies_as_rows(most: int):
    rng = np.random.default_rng(3)
    x, weight = rng.normal(size=(60, 2)), rng.integers(0, 4, size=60)
    labels = Labels(rng.integers(2, size=60), weight.astype(float), 2)
    some, own = order(x, labels).drawn(labels, most, 0)
    assert own.weight.sum() == min(most, weight.sum())
    assert (own.weight <= labels.weight[some]).all()
    places = rng.permutation(np.repeat(np.arange(60), weight))
    copies = Labels.of(labels.codes[places])
    again, others = order(x[places], copies).drawn(copies, most, 0)
    of_rows = np.bincount(np.arange(60)[some], own.weight, minlength=60)
    assert_array_equal(np.bincount(places[again], others.weight, minlength=60), of_rows)


def test_columns_of_different_numbers_have_different_splits_though_each_of_their_cells_holds_one_row():
    rng = np.random.default_rng(0)
    x, labels = rng.normal(size=(20, 3)), Labels.of(rng.integers(2, size=20))
    codes = x.argsort(0).argsort(0).T
    real, weight = np.ones(3, bool), np.ones(20)
    found = Partitions.drawn(real, codes, weight, order(x, labels), 60, 0)
    assert np.bincount(found.columns.ravel()).min() > 60  # of 300 splits
    other = Partitions.drawn(real, codes[::-1], weight, order(x[:, ::-1], labels), 60, 0)
    assert_array_equal(2 - other.columns, found.columns)
    assert_array_equal(other.cells, found.cells)


@pytest.mark.parametrize("seed", range(20))
def test_the_cells_of_a_negated_column_are_the_same_cells(seed: int):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 12, size=rng.integers(3, 40)) ** 2.0
    asked = (rng.choice(x, 60) + rng.choice(x, 60)) / 2  # often half way between two values
    there, back = Dyadic.of(x, 4).codes(asked), Dyadic.of(7 - 2.5 * x, 4).codes(7 - 2.5 * asked)
    assert_array_equal(np.equal.outer(there, there), np.equal.outer(back, back))


@pytest.mark.parametrize("dependence", ["weighted", "auto"])
def test_a_column_without_information_changes_nothing(dependence: str):
    X, y = table(1)
    found = as_it_is(dependence, 1)
    columns = {"number": 1.5, "gap": np.nan, "text": "level"}
    # All at once under "auto", which takes longest.
    for several in [columns] if dependence == "auto" else [{name: column} for name, column in columns.items()]:
        more = X.assign(**several)
        assert_allclose(probabilities(dependence, more, y, more), found, rtol=0, atol=1e-9, err_msg=str(several))


@pytest.mark.parametrize("dependence", ["weighted", "forests", pytest.param("auto", marks=pytest.mark.slow)])
def test_a_column_of_two_values_says_the_same_as_numbers_flags_texts_and_levels(dependence: str):
    X, y = table(1)
    rng = np.random.default_rng(2)
    bits = [None if gap else int(bit) for gap, bit in zip(rng.random(70) < 0.1, rng.random(70) < 0.4, strict=True)]
    flags = [None if bit is None else bool(bit) for bit in bits]
    texts = [None if bit is None else ["no", "ja"][bit] for bit in bits]
    read = [({}, bits), ({}, flags), ({}, texts), ({"flag": "categorical"}, bits)]
    found = [
        nb.BayesianNB(features, dependence=dependence).fit(of := X.assign(flag=cells), y).predict_proba(of)
        for features, cells in read
    ]
    for other in found[1:]:
        assert_allclose(other, found[0], rtol=0, atol=1e-9)


def test_the_seed_changes_no_probability_beyond_the_choice_of_folds_and_partitions():
    X, y = nb.datasets.penguins()
    some = np.random.default_rng(0).permutation(len(X))[:150]
    one, other = (
        nb.BayesianNB(dependence=nb.Exponents(pairs=10, random_seed=seed)).fit(X.iloc[some], y.iloc[some])
        for seed in (0, 1)
    )
    assert_allclose(one.predict_proba(X), other.predict_proba(X), rtol=0, atol=1e-12)


def test_rows_at_mirrored_ranks_have_different_keys_if_their_neighbours_differ():
    """Of 1 to 8, the second and the seventh value are equally far from an end; only one stands beside other labels."""
    labels = Labels.of([0, 0, 1, 1, 1, 1, 0, 1], 2)
    x = np.arange(8.0)[:, None]
    keys, reversed_keys = (Order.of([column], labels).keys for column in (x, -x))
    assert_array_equal(keys, reversed_keys)
    assert len(np.unique(keys)) == 8


def test_rows_of_whole_weights_are_drawn_as_their_copies_beside_equal_rows_of_other_weights():
    codes, y, weight = np.array([0.0, 0, 1, 1, 1]), [0, 0, 1, 1, 0], np.array([1.0, 3, 2, 1, 2])
    copies = np.repeat(np.arange(5), weight.astype(int))
    weighted, copied = Labels.of(y, 2), Labels.of(np.take(y, copies), 2)
    weighted = Labels(weighted.codes, weight, 2)
    of_rows = Order.of([codes[:, None]], weighted).copies(weighted, 100, 0)
    of_copies = Order.of([codes[copies, None]], copied).copies(copied, 100, 0)
    assert_array_equal(codes[of_rows[0]], codes[copies[of_copies[0]]])
    assert_array_equal(np.take(y, of_rows[0]), np.take(y, copies[of_copies[0]]))
    assert_array_equal(of_rows[2], of_copies[2])


def test_rows_that_only_names_tell_apart_have_one_turn():
    """Both levels and both classes may change places, so either row must be treated as the other."""
    labels = Labels.of([0, 1, 0, 1], 2)
    rows, _, turn = Order.of([np.array([[0.0], [1], [0], [1]])], labels).copies(labels, 10, 0)
    assert [sorted(labels.codes[rows[turn == k]]) for k in (0, 1)] == [[0, 1], [0, 1]]


def test_rows_of_equal_counts_and_different_exposures_have_different_keys():
    counts, hours, labels = np.array([[1.0], [1], [2], [2]]), np.array([0.5, 0.7, 1.1, 2.0]), Labels.of([0, 0, 1, 0])
    keys, order = Order.of([Exposed(counts, hours)], labels).keys, [2, 0, 3, 1]
    assert len(np.unique(keys)) == 4
    assert_array_equal(Order.of([Exposed(counts, hours)[order]], labels[order]).keys, keys[order])
