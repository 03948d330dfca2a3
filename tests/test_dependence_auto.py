"""dependence="auto": an average over models of different freedom, with a kernel and random partitions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import bayesnb as nb
from bayesnb import BayesianNB, datasets
from bayesnb.dependence.columns import Cells
from bayesnb.dependence.exponents import named
from bayesnb.dependence.learning import NAIVE, SHARES, weights
from bayesnb.dependence.near import NearCounts, NearTerm
from bayesnb.dependence.pairs import Axis
from bayesnb.dependence.partitions import Partitions, PartitionTerm
from bayesnb.model import NaiveBayes
from bayesnb.model.order import Order
from bayesnb.statistics.statistic import Labels

X, Y = datasets.penguins()
X, Y = X[::3].reset_index(drop=True), Y[::3].reset_index(drop=True)


@pytest.fixture(scope="module")
def auto() -> BayesianNB:
    return BayesianNB(dependence="auto").fit(X, Y)


def renamed(column: pd.Series) -> pd.Series:
    """The same levels, under names that sort the other way."""
    levels = sorted(column.dropna().unique())
    return column.map({level: f"name {99 - k}" for k, level in enumerate(levels)})


def test_an_average_is_the_mean_of_its_members_with_their_weights(auto):
    learned = auto.classifier_.dependence.exponents
    assert_allclose(sum(learned.average.values()), 1.0)
    assert set(learned.average) == {"class frequencies", "naive Bayes", "weighted", "trees", "linear", "all terms"}
    naive = BayesianNB().fit(X, Y).predict_proba(X[:20])
    shares = auto.classifier_.posterior.label.mean()
    lowest = learned.average[NAIVE] * naive + learned.average[SHARES] * shares
    mean = shares * (auto.predict_proba(X[:20]) / shares) ** (1 / learned.power)  # without its power
    assert (mean / mean.sum(1, keepdims=True) >= lowest - 1e-9).all()


@pytest.mark.slow
def test_columns_that_are_called_like_terms_change_no_probability(auto):
    called = ["kernel", "joint", "partitions", "shape of kernel", "kernel × joint", "trees", "shape of joint"]
    table = X.set_axis(called, axis=1)
    found = BayesianNB(dependence="auto").fit(table, Y).predict_proba(table)
    assert_allclose(found, auto.predict_proba(X), rtol=1e-9, atol=1e-12)


def test_weights_follow_what_members_say_of_rows_and_few_rows_leave_them_near_the_prior():
    rng = np.random.default_rng(0)
    wrong_and_right = rng.uniform([[0.1], [0.6]], [[0.5], [0.9]], (2, 2000))
    of_all, of_one = weights(wrong_and_right, np.ones(2), 1.0 * np.stack([np.ones(2000), np.arange(2000) == 0]))
    assert of_all[1] > 0.99
    assert of_one[1] < 0.8
    assert_allclose([of_all.sum(), of_one.sum()], 1.0)


def test_contributions_of_an_average_add_up_to_its_log_odds_and_columns_carry_the_terms_of_all_columns(auto):
    found = auto.explain(X[:4])["log_odds"]
    by_row = found.drop("(total)", level="entry").groupby("row").sum()
    assert_allclose(by_row, found.xs("(total)", level="entry"), atol=1e-9)
    assert not {"kernel", "partitions"} & set(found.index.get_level_values("entry"))
    dependence = auto.classifier_.dependence
    data = auto.classifier_.encoded_table(nb.data.tables.Table.of(X))
    beside = dependence.terms.beside(auto.classifier_.posterior, data, len(X))
    for name, share in dependence.terms.shares(data, len(X)).items():
        k = dependence.terms.names_of_all.index(name) - len(dependence.terms.names_of_all)
        assert_allclose(share.sum(-1), beside[..., k], atol=1e-9)


def test_an_average_is_saved_loaded_updated_and_unlearned(auto, tmp_path):
    auto.save(tmp_path / "m.bayesnb")
    loaded = nb.load(tmp_path / "m.bayesnb")
    assert_allclose(loaded.predict_proba(X), auto.predict_proba(X), rtol=1e-12)
    changed = loaded.partial_fit(X[:9], Y[:9]).forget(X[:9], Y[:9])
    assert_allclose(changed.predict_proba(X), auto.predict_proba(X), atol=1e-9)
    with pytest.raises(ValueError, match="never learned"):
        changed.forget(X[:9].assign(bill_length_mm=99.0), Y[:9])


def test_no_row_is_forgotten_where_cells_are_counted_in_a_sample_of_the_rows(tmp_path):
    pd.concat([X.assign(species=Y)] * 2).to_csv(tmp_path / "t.csv", index=False)
    clf = nb.BayesianNB(dependence=nb.Exponents(pairs=4, rows=100)).fit(str(tmp_path / "t.csv"), "species")
    before = clf.predict_proba(X[:3])
    with pytest.raises(
        ValueError, match=f"cells of columns in 100 of {2 * len(Y)} rows, and which rows these are is not kept"
    ):
        clf.forget(X[:9], Y[:9])
    assert (clf.predict_proba(X[:3]) == before).all()


def test_a_kernel_is_the_share_of_near_rows():
    codes, y = np.array([[0, 3, 31], [0, 1, 1]]), np.array([0, 1, 1])
    term = NearTerm(NearCounts.of(codes, Labels.of(y)), (Axis(5, 2), Axis(1, 2)))
    vars(term)["chosen"] = 2, 0.3
    new = np.array([[2], [1]])
    rank = np.array([1 / 6, 1 / 2, 5 / 6])  # the middle of each third; the new cell lies between the first two
    spread = 2 * np.var(rank) * 12 + 2 * 2 * (2 / 3) * (1 / 3)
    d = 12 * (rank - 1 / 3) ** 2 + 2 * (codes[1] != 1)
    near = np.bincount(y, np.exp(-4 * d / (2 * spread))) + 0.3 * np.array([2, 3]) / 5
    assert_allclose(term.term(new)[0], np.log(near / near.sum() / (np.array([2, 3]) / 5)))


def test_a_partition_multiplies_the_shares_of_its_steps_and_stops_where_a_cell_is_missing():
    partitions = Partitions(np.array([[0, 1]]), np.array([[1, 2]]))
    codes = np.array([[0, 1, 1, 0, 1], [2, 2, 0, 1, -1]])
    places = partitions.places(np.array([True, False]), codes)
    assert places.tolist() == [[5], [7], [6], [4], [3]]
    counts = np.zeros((2, 1, 8))
    np.add.at(counts, ([0, 0, 1, 1, 1], 0, places[:, 0]), 1)
    found = PartitionTerm(partitions, counts, counts.sum(0)).term(np.array([[7], [3]]))
    first, second = (1 + 0.6) / ((2 + 1) * 0.6), (1 + 0.5) / ((1 + 1) * 0.5)
    assert_allclose(np.exp(found[:, 0]), [first * second, first])


def test_what_only_three_columns_say_together_is_found():
    bits = np.random.default_rng(0).integers(2, size=(500, 3))
    table, y = pd.DataFrame(bits.astype(str)), bits.sum(1) % 2
    clf = BayesianNB(dependence="auto").fit(table[:300], y[:300])
    assert clf.predict_proba(table[300:])[np.arange(200), y[300:]].min() > 0.9


def test_columns_that_are_too_many_for_all_pairs_are_averaged_without_pairs():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    x, labels = {"x": rng.normal(y[:, None], 3.0, (40, 205))}, Labels.of(y)
    model = NaiveBayes({"x": nb.Gaussian()})
    posterior = model.posterior(model.statistics(x, labels, [0, 1]))
    assert not Cells.chosen(named("auto"), posterior, x, labels, Order.under(posterior.model, x, labels)).pairs


def test_partitions_differ_and_ask_only_what_splits_rows():
    codes = np.random.default_rng(0).integers(4, size=(3, 50))
    order = Order.of([codes.T.astype(float)], Labels.of(np.arange(50) % 2))
    drawn = Partitions.drawn(np.array([True, True, False]), codes, np.ones(50), order, 20, 0)
    assert len(np.unique(np.hstack([drawn.columns, drawn.cells]), axis=0)) == 20
    assert ((drawn.cells > 0) | (drawn.columns == 2)).all()
