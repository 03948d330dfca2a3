"""Members of an average beside the exponents, trees and a linear model: their draws, and model files."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_equal
from scipy.special import expit, gammaln, logsumexp

import bayesnb as nb
from bayesnb import BayesianNB, datasets
from bayesnb.dependence.exponents import Group, Layout
from bayesnb.dependence.label_trees import STRENGTH, LabelTrees, LabelTreeTerm
from bayesnb.dependence.learning import ALL, FOLDS, LINEAR, NAIVE, SHARES, TREES, WEIGHTED, HeldOutRows, mixed, stacked
from bayesnb.dependence.posterior import tempered
from bayesnb.families.columns import Coded
from bayesnb.model.order import Order
from bayesnb.statistics.statistic import Labels

REAL, SIZES = np.array([True, True, True, False, True]), [32, 32, 32, 4, 32]


def rows(n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """Cells of five columns, of which two decide the class, with gaps in one of these."""
    rng = np.random.default_rng(0)
    codes = rng.integers(32, size=(5, n))
    codes[3] = rng.integers(4, size=n)
    y = ((codes[0] > 12) ^ (codes[3] == 2) ^ (rng.random(n) < 0.1)).astype(int)
    codes[0, rng.random(n) < 0.1] = -1
    return codes, y


def term(codes, labels, real=REAL, sizes=SIZES, n=12) -> LabelTreeTerm:
    """The term of trees that were grown on these rows."""
    columns = [
        np.where(own < 0, np.nan, own)[:, None] if ordered else Coded(own[:, None], (range(4),))
        for own, ordered in zip(codes, real, strict=True)
    ]
    trees = LabelTrees.grown(real, sizes, codes, labels, Order.of(columns, labels), n, 0)
    return LabelTreeTerm(trees, counted(trees, codes, labels, real), real)


def counted(trees, codes, labels, real=REAL):
    """The weight of the rows that stop in each node, (class, tree, node)."""
    counts, places = np.zeros((labels.n, len(trees), trees.nodes)), trees.places(real, codes)
    for tree, place in enumerate(places.T):
        np.add.at(counts, (labels.codes, tree, place), labels.weight)
    return counts


def probabilities(found: LabelTreeTerm, codes) -> np.ndarray:
    """p(class | row) of new rows."""
    share = (found.counts[:, 0].sum(1) + 1) / (found.counts[:, 0].sum() + len(found.counts))
    return np.exp(found.term(codes)) * share


def test_a_tree_is_the_mean_over_all_its_prunings_by_their_evidence():
    # Two questions: the root, and its left child. A tree may be cut at either, with probability one half each.
    columns = np.array([[0, 1, -1, -1, -1]], np.int32)
    cells, left = np.array([[3, 2, -1, -1, -1]], np.int32), np.array([[1, 3, -1, -1, -1]], np.int32)
    trees = LabelTrees(columns, cells, left, np.zeros((2, 5), np.uint64), 0.5, 0)
    codes, y = np.array([[0, 1, 1, 2, 3, 3, 0, 2], [0, 1, 2, 3, 0, 3, 2, 1]]), np.array([0, 0, 1, 1, 1, 1, 1, 0])
    real = np.array([True, True])
    found = LabelTreeTerm(trees, counted(trees, codes, Labels.of(y), real), real)
    alpha = STRENGTH * (np.bincount(y) + 1) / (len(y) + 2)

    def log_evidence(leaf):
        n = np.bincount(y[leaf], minlength=2)
        return (gammaln(n + alpha) - gammaln(alpha)).sum() - gammaln(n.sum() + STRENGTH) + gammaln(STRENGTH)

    at_left, low = codes[0] < 3, codes[1] < 2
    prunings = [
        (0.5, [codes[0] >= 0]),
        (0.25, [at_left, ~at_left]),
        (0.25, [at_left & low, at_left & ~low, ~at_left]),
    ]
    log_weight = np.array([np.log(p) + sum(map(log_evidence, leaves)) for p, leaves in prunings])
    weight = np.exp(log_weight - logsumexp(log_weight))
    for a, b in product([0, 3], [0, 3]):
        inside = [0, int(a >= 3), 2 if a >= 3 else int(b >= 2)]
        expected = 0.0
        for w, (_, leaves), k in zip(weight, prunings, inside, strict=True):
            n = np.bincount(y[leaves[k]], minlength=2)
            expected = expected + w * (n + alpha) / (n.sum() + STRENGTH)
        assert_allclose(probabilities(found, np.array([[a], [b]]))[0], expected, rtol=1e-12)


@pytest.mark.parametrize("weight", [1.0, 0.4])
def test_a_row_is_left_out_of_the_trees_exactly_and_of_those_that_were_grown_on_it(weight):
    codes, y = rows()
    labels = Labels(y, np.full(len(y), weight), 2)
    found = term(codes, labels)
    gap = int(np.flatnonzero(codes[0] < 0)[0])
    held_out = found.term(codes, labels)
    for row in (3, 7, gap):
        others = ~found.trees.bags(codes)[row]
        counts = found.counts.copy()
        counts[y[row], np.arange(len(others)), found.trees.places(REAL, codes)[row]] -= weight
        own = LabelTrees(
            found.trees.columns[others], found.trees.cells[others], found.trees.left[others], found.trees.keys, 0.6, 0
        )
        # The frequencies that the priors of all nodes are around are held.
        held = type("Held", (LabelTreeTerm,), {"_alpha": found._alpha})(own, counts[:, others], REAL)
        assert_allclose(held_out[row], held.term(codes[:, [row]])[0], atol=1e-9)


def test_trees_follow_from_the_content_of_a_table():
    codes, y = rows()
    found = term(codes, Labels.of(y))
    p = probabilities(found, codes)
    order = np.random.default_rng(1).permutation(len(y))
    assert_allclose(probabilities(term(codes[:, order], Labels.of(y[order])), codes), p, rtol=0)
    columns = [4, 2, 3, 0, 1]
    other = term(codes[columns], Labels.of(y), REAL[columns], [SIZES[k] for k in columns])
    assert_allclose(probabilities(other, codes[columns]), p, atol=1e-12)
    mirrored = np.where((codes >= 0) & REAL[:, None], 31 - codes, codes)
    assert_allclose(probabilities(term(mirrored, Labels.of(y)), mirrored), p, atol=1e-12)
    renamed = codes.copy()
    renamed[3] = np.array([2, 0, 3, 1])[codes[3]]
    assert_allclose(probabilities(term(renamed, Labels.of(1 - y)), renamed)[:, ::-1], p, atol=1e-12)
    more = np.vstack([codes, np.zeros_like(codes[:1]), np.full_like(codes[:1], -1)])
    other = term(more, Labels.of(y), np.append(REAL, [False, True]), [*SIZES, 3, 32])
    assert_allclose(probabilities(other, more), p, atol=1e-12)
    twice, weight = np.append(np.arange(len(y)), np.arange(40)), np.ones(len(y))
    weight[:40] = 2.0
    copies, weighed = term(codes[:, twice], Labels.of(y[twice])), term(codes, Labels(y, weight, 2))
    assert_allclose(probabilities(copies, codes), probabilities(weighed, codes), rtol=0)


@pytest.mark.parametrize("seed", range(12))
def test_a_column_of_different_values_may_be_negated(seed: int):
    """Cells at mirrored ranks hold one row each, so only the labels tell the two ends of the column apart."""
    rng = np.random.default_rng(seed)
    n = 9 + seed
    codes, y = rng.permutation(n)[None], rng.integers(3, size=n)
    found, back = (term(x, Labels.of(y, 3), np.array([True]), [n], 40) for x in (codes, n - 1 - codes))
    assert_allclose(probabilities(back, n - 1 - codes), probabilities(found, codes), atol=1e-12)


def test_where_a_column_reads_the_same_from_both_ends_so_do_its_trees():
    x = np.arange(7)[None]
    found = term(x, Labels.of([0, 1, 1, 0, 1, 1, 0]), np.array([True]), [7], 40)
    assert_allclose(probabilities(found, x[:, ::-1]), probabilities(found, x), atol=1e-12)
    levels = np.array([[0, 0, 1, 1, 2, 2]])
    found = term(levels, Labels.of([0, 1] * 3), np.array([False]), [3], 40)
    assert_allclose(np.ptp(probabilities(found, levels[:, ::2]), axis=0), 0.0, atol=1e-12)


def test_points_of_a_layout_stand_at_the_same_exponents_in_a_wider_one():
    groups = [Group("features", 2, 1.0, 1.0, by_class=True), Group("pairs", 1, 0.0, 1.0)]
    for cells in (0, 3):
        layout = Layout.of(groups, 2, cells)
        wider = layout.wider(1, 2)
        points = np.random.default_rng(0).normal(size=(4, layout.size))
        v = wider.exponents(layout.within(points, wider))
        expected = np.zeros((4, 2, 3 + 1 + cells + 2 + 1))
        own = layout.exponents(points)
        expected[..., :3], expected[..., 4 : 4 + cells], expected[..., -1] = own[..., :3], own[..., 3:-1], own[..., -1]
        assert_allclose(v, expected)
        assert_allclose(layout.within(points, wider)[:, layout.places(wider)], points)


def linear(n: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Uniform columns with a linear border."""
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(n, 4))
    return pd.DataFrame(x).add_prefix("x"), (x @ [1.0, -1.0, 1.0, -1.0] + 0.1 * rng.normal(size=n) > 0).astype(int)


def jumps(n: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Two columns of four, in whose corner the class jumps."""
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(n, 4))
    inside = (x[:, 0] > 0.3) & (x[:, 1] > 0.4) & (x[:, 2] < 0.8)
    return pd.DataFrame(x).add_prefix("x"), (rng.random(n) < np.where(inside, 0.95, 0.05)).astype(int)


@pytest.mark.parametrize(("table", "member"), [(linear, LINEAR), (jumps, TREES)])
def test_a_member_that_can_express_the_border_gets_most_of_the_weight_and_lowers_the_loss(table, member):
    X, y = table(700)
    without = nb.Exponents(pairs=150, kernel=True, partitions=100, average=True)
    auto, other = (BayesianNB(dependence=how).fit(X[:200], y[:200]) for how in ("auto", without))
    assert auto.classifier_.dependence.exponents.average[member] > 0.3
    loss, before = (-np.log(clf.predict_proba(X[200:])[np.arange(500), y[200:]]).mean() for clf in (auto, other))
    assert loss < before


def test_the_power_of_an_average_makes_an_underconfident_mean_more_certain():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=3000)
    y = (rng.random(3000) < p).astype(int)
    timid = np.stack([1 - p, p], 1) ** 0.5
    log_p = np.log(timid / timid.sum(1, keepdims=True))
    first, members = np.arange(3000) < 2, {SHARES: np.full((3000, 2), np.log(0.5)), NAIVE: log_p, ALL: log_p}
    (found, power), (_, of_two) = stacked(members, y, 1.0 * np.stack([~first, first]), np.arange(3000) % FOLDS)
    assert 1.7 < power < 2.3
    assert_allclose(sum(found.values()), 1.0)
    assert abs(of_two - 1) < 0.2
    fold = np.arange(2, 3000) % FOLDS
    (alone,) = stacked({name: p[2:] for name, p in members.items()}, y[2:], np.ones((1, 2998)), fold)
    assert_allclose([*alone[0].values(), alone[1]], [*found.values(), power], rtol=1e-9)


def test_the_power_of_an_average_leaves_class_frequencies_and_impossible_classes_as_they_are() -> None:
    log_prior = np.log([[0.9, 0.07, 0.03]])
    assert_allclose(tempered(log_prior, 1.7, log_prior + 3.0), log_prior)
    p = np.exp(tempered(np.log([[0.5, 0.5 - 1e-9, 1e-9]]), 2.0, log_prior))
    assert_allclose(p[0, 0] / p[0, 1], 0.07 / 0.9, rtol=1e-6)  # prior odds times the squared Bayes factor
    with np.errstate(divide="ignore"):
        log_p, never = np.log([[0.5, 0.5, 0.0]]), np.log([[0.9, 0.1, 0.0]])
    assert_allclose(np.exp(tempered(log_p, 1.7, log_prior))[0, 2], 0.0)
    assert_allclose(np.exp(tempered(log_p, 1.7, never)).sum(), 1.0)


def test_the_mean_probability_of_a_rare_class_is_its_frequency_whatever_the_power() -> None:
    """The power was once applied to the probabilities themselves, which took probability from rare classes."""
    rng = np.random.default_rng(0)
    y = (rng.random(4000) < 0.1).astype(int)
    score = np.log(0.1 / 0.9) + 1.5 * (rng.normal(size=4000) + 1.5 * y) - 1.5 * 1.5 / 2  # log-odds given the number
    timid = of_coin(np.log(0.1 / 0.9) + (score - np.log(0.1 / 0.9)) / 1.5)
    shares = np.broadcast_to(np.log([0.9, 0.1]), (4000, 2))
    ((weight, power),) = stacked({SHARES: shares, NAIVE: timid, ALL: timid}, y, np.ones((1, 4000)), np.arange(4000) % 5)
    mean = mixed({SHARES: shares, NAIVE: timid, ALL: timid}, weight)
    true, found, old = expit(score).mean(), *(np.exp(tempered(mean, power, of))[:, 1].mean() for of in (shares, 0.0))
    assert power > 1.2
    assert abs(found - true) < 0.003
    assert old < true - 0.01


def of_coin(score: np.ndarray) -> np.ndarray:
    """The log probabilities of two classes, if the log-odds of the second are ``score``."""
    return -np.logaddexp(0, np.stack([score, -score], 1))


def test_naive_bayes_gets_nearly_all_the_weight_if_it_is_true_and_none_if_it_is_not():
    fold, weight, shares, true, false = np.arange(300) % FOLDS, np.ones((1, 300)), np.full((300, 2), -np.log(2)), [], []
    for seed in range(9):
        rng = np.random.default_rng(seed)
        score = rng.normal(0, 2, 300)
        y = (rng.random(300) < np.exp(of_coin(score)[:, 1])).astype(int)
        wrong = {name: of_coin(score + rng.normal(0, 1.5, 300)) for name in (WEIGHTED, TREES, ALL)}
        true += stacked({SHARES: shares, NAIVE: of_coin(score), **wrong}, y, weight, fold)
        false += stacked({SHARES: shares, NAIVE: of_coin(-score), ALL: of_coin(score)}, y, weight, fold)
    assert np.median([found[NAIVE] for found, _ in true]) > 0.9
    assert min(found[SHARES] for found, _ in true) > 0
    assert max(found[NAIVE] for found, _ in false) < 0.1


@pytest.mark.slow
def test_an_average_has_nearly_the_log_loss_of_naive_bayes_where_naive_bayes_is_true():
    costs = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        y = rng.integers(2, size=2100)
        X = rng.normal(y[:, None] * rng.normal(0, 0.7, 5), 1.0)
        both = (BayesianNB(dependence=how).fit(X[:100], y[:100]).predict_proba(X[100:]) for how in ("auto", None))
        auto, naive = (-np.log(p[np.arange(2000), y[100:]]).mean() for p in both)
        costs.append(auto - naive)
    assert np.mean(costs) < 0.005


@pytest.fixture(scope="module")
def auto() -> BayesianNB:
    X, y = datasets.penguins()
    return BayesianNB(dependence="auto", random_state=0).fit(X[::4], y[::4])


def test_every_draw_of_an_average_is_a_learned_member_mixed_with_the_class_frequencies(auto):
    X, _ = datasets.penguins()
    learned, share = auto.classifier_.dependence.exponents, auto.classifier_.posterior.label.mean()
    p = share * (nb.draws.sample_proba(auto, X[:20], draws=400) / share) ** (1 / learned.power)  # without the power
    p /= p.sum(-1, keepdims=True)
    assert (p.mean(0) >= 0.95 * learned.average["class frequencies"] * share).all()
    # A draw that is the class frequencies would be the same for every row.
    assert not (np.ptp(p, axis=1).max(-1) < 1e-6).any()


def test_the_weight_of_the_class_frequencies_is_drawn_around_the_learned_weight(auto):
    learned, rows, n = auto.classifier_.dependence.exponents, 150.0, 40_000
    drawn, mean = learned.frequencies(np.random.default_rng(0), n, rows), learned.average["class frequencies"]
    variance = mean * (1 - mean) / (rows + len(learned.average) + 1)
    assert_allclose(drawn.mean(), mean, atol=5 * np.sqrt(variance / n))
    assert_allclose(drawn.var(), variance, rtol=0.1)
    # The floor under a probability is not a fixed number: some draws are nearly without the class frequencies.
    assert drawn.min() < 0.1 * mean


def test_a_member_that_is_taken_out_of_an_average_is_drawn_by_its_own_posterior(auto):
    learned, rng = auto.classifier_.dependence.exponents, np.random.default_rng(0)
    point = learned.fixed(learned.points[1])
    assert (point.drawn(rng, 50) == learned.points[1]).all()
    assert_allclose(point.moments()[0], learned.points[1])
    assert_allclose(point.moments()[1], 0.0, atol=1e-12)
    drawn = learned.largest.drawn(rng, 4000)
    assert_allclose(drawn.mean(0), learned.largest.moments()[0], atol=0.3)


def test_an_interval_holds_its_median_and_the_median_is_shown_beside_the_mean(auto):
    X, _ = datasets.penguins()
    found, intervals = auto.uncertainty(X[::9]), auto.predict_interval(X[::9])
    assert ((found["lower"] <= found["median"]) & (found["median"] <= found["upper"])).all()
    for row, prediction in found["prediction"].items():
        assert_allclose(found.loc[row, ["lower", "median", "upper"]].astype(float), intervals.loc[row, prediction])


@pytest.mark.slow
def test_a_model_of_counts_keeps_no_row(tmp_path):
    X, y = datasets.penguins()
    clf = BayesianNB(dependence="auto-counts").fit(X[::4], y[::4])
    statistics = clf.classifier_.dependence.statistics
    assert not statistics.cells.kernel
    assert statistics.near.cells.size == 0
    clf.save(tmp_path / "m.bayesnb")
    assert_allclose(nb.load(tmp_path / "m.bayesnb").predict_proba(X[:9]), clf.predict_proba(X[:9]), rtol=1e-12)


def test_forgotten_rows_are_removed_from_near_rows_and_from_the_nodes_of_trees(auto):
    X, y = datasets.penguins()
    X, y = X[::4].reset_index(drop=True), y[::4].reset_index(drop=True)
    rest = deepcopy(auto).forget(X[:9], y[:9]).classifier_.dependence.statistics
    every = auto.classifier_.dependence.statistics
    data = auto.classifier_.encoded_table(nb.data.tables.Table.of(X[9:]))
    labels = Labels.of(np.searchsorted(auto.classes_, y[9:]), 3)
    expected = every.cells.statistics(auto.classifier_.posterior, data, labels)
    assert_allclose(rest.stops.counts, expected.stops.counts)
    assert_allclose(rest.near.counts.sum(), len(X) - 9)
    assert rest.near.cells.tolist() == expected.near.cells.tolist()


def test_trees_whose_walks_do_not_end_are_refused():
    codes, y = rows()
    found = term(codes, Labels.of(y)).trees
    assert found.sound
    left = found.left.copy()
    left[0, 0] = 0
    assert not replace(found, left=left).sound
    twice = found.left.copy()
    twice[0, 1:] = np.where(found.columns[0, 1:] >= 0, found.left[0, 0], twice[0, 1:])
    assert not replace(found, left=twice).sound


def test_members_of_an_average_are_refused_without_one():
    for settings in ({"trees": 3}, {"linear": True}):
        with pytest.raises(ValueError, match="average=True"):
            nb.Exponents(**settings)


def test_with_a_dependence_the_loss_after_more_rows_has_no_band():
    X, y = datasets.heights()
    found = nb.design.worth_of_rows(BayesianNB(dependence="tempered").fit(X, y), [0, 40], X, y, draws=5)
    assert {"loss", "saving"} < set(found)
    assert not {"lower", "upper"} & set(found)
    assert nb.plots.worth_of_rows(found).axes


def test_a_row_is_predicted_by_weights_that_were_learned_without_its_fold() -> None:
    rng = np.random.default_rng(0)
    n, fold = 50, np.arange(50) % FOLDS
    y = rng.integers(2, size=n)
    log_p = {name: np.log(rng.dirichlet([1.0, 1.0], n)) for name in (SHARES, NAIVE, ALL)}
    of = rng.permutation(n)
    found = HeldOutRows(log_p, Labels.of(y), of, fold).predicted(n)
    assert found is not None
    assert_allclose(np.exp(found).sum(1), 1)
    changed = HeldOutRows(log_p, Labels.of(np.where(fold == 2, 1 - y, y)), of, fold).predicted(n)
    same = (found == changed).all(1)
    assert_equal(np.sort(of[fold == 2]), np.flatnonzero(same))
    assert HeldOutRows(log_p, Labels.of(y), of, fold % 2).predicted(n) is None
    assert HeldOutRows(log_p, Labels.of(y), np.r_[of[:-1], of[0]], fold).predicted(n) is None


def test_a_row_left_out_of_the_exponents_does_not_change_the_weights_of_an_average() -> None:
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1], 40)
    X = rng.normal(y[:, None], 1.0, (80, 3)) @ np.array([[1, 1, 0], [0, 1, 0], [0, 0, 1]])
    clf = nb.BayesianNB(dependence="auto").fit(X, y).classifier_
    left_out = clf.dependence.rows(clf.posterior, *clf.learned(X, y, None))
    _, without, codes = clf.dependence.left_out_of_exponents(left_out, 2)
    exponents, each = clf.dependence.exponents, {}
    for (name, weight), points in zip(exponents.average.items(), exponents.members, strict=True):
        assert_allclose(exponents.weights[points].sum(), weight)
        member = replace(exponents, points=exponents.points[points], average={}, power=1.0)
        member = replace(member, weights=np.full(len(member.points), 1 / len(member.points)))
        each[name] = replace(clf.dependence, exponents=member).left_out_of_exponents(left_out, 2)[1]
    expected = tempered(mixed(each, exponents.average), exponents.power, left_out.offset)
    assert_allclose(without, expected, rtol=1e-9, atol=1e-12)
    # The folds inside the fit give nearly the same score, and every row is in one of them.
    inside = clf.dependence.held_out
    assert inside is not None
    losses = -without[np.arange(80), codes].mean(), -inside[np.arange(80), y].mean()
    assert abs(losses[0] - losses[1]) < 0.1
