"""Naive Bayes averaged with every forest of edges between columns, beside sums over all forests, one after another."""

import copy
from dataclasses import replace
from functools import cache
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.special import gammaln, logsumexp
from scipy.stats import chisquare

import bayesnb as nb
from bayesnb.dependence.forests import ROOTS, STRENGTHS, Forests
from bayesnb.dependence.pairs import PairCounts
from bayesnb.kernels import forests as kernel
from bayesnb.priors.common_draws import CommonDraws
from bayesnb.statistics.statistic import Labels


def of(codes: np.ndarray, sizes: list[int], labels: Labels, shared: bool = True) -> Forests:
    """The forests of rows; the strength and β are those of the class."""
    columns, pairs = np.ascontiguousarray(codes.T), [*combinations(range(len(sizes)), 2)]
    whole, alone = np.vstack([columns, np.zeros_like(columns[:1])]), [(k, len(sizes)) for k in range(len(sizes))]
    counts = PairCounts.of(columns, sizes, pairs, labels), PairCounts.of(whole, [*sizes, 1], alone, labels)
    return Forests(*counts, shared=shared)


CASES = [(4, True), (4, False), (5, True), (5, False)]


def table(n_columns: int, seed: int = 0, n: int = 30) -> tuple[np.ndarray, list[int], np.ndarray]:
    """Dependent columns of two or three levels, two classes."""
    rng = np.random.default_rng(seed)
    sizes = [2, 3, 2, 2, 3][:n_columns]
    y = rng.integers(2, size=n)
    common = rng.integers(6, size=n)
    codes = np.stack([(common + rng.integers(2 + k, size=n) * (y + 1)) % size for k, size in enumerate(sizes)], axis=1)
    return codes, sizes, y


@cache
def every_forest(n_columns: int) -> np.ndarray:
    """Each rooted forest by the parent of each column, -1 for roots, (forest, column)."""
    found = []
    for parents in product(*([k for k in range(-1, n_columns) if k != own] for own in range(n_columns))):
        seen = range(n_columns)
        for _ in range(n_columns):
            seen = [parents[k] if k >= 0 else -1 for k in seen]
        if all(k == -1 for k in seen):
            found.append(parents)
    return np.array(found)


def log_families(codes: np.ndarray, sizes: list[int], a: float) -> np.ndarray:
    """ln of the evidence of each column's table of cells given each cell of each parent, (column, parent or -1)."""
    found = np.zeros((len(sizes), len(sizes) + 1))
    for own, parent in product(range(len(sizes)), range(-1, len(sizes))):
        above = np.zeros(len(codes), int) if parent < 0 else codes[:, parent]
        counts = np.zeros((1 if parent < 0 else sizes[parent], sizes[own]))
        np.add.at(counts, (above, codes[:, own]), 1.0)
        alpha = a / counts.size
        found[own, parent] = (gammaln(counts + alpha) - gammaln(alpha)).sum()
        found[own, parent] -= (gammaln(counts.sum(1) + alpha * sizes[own]) - gammaln(alpha * sizes[own])).sum()
    return found


def log_evidence(codes: np.ndarray, sizes: list[int], parents: np.ndarray, a: float) -> np.ndarray:
    """ln p(rows | forest) of forests (forest, column), table by table."""
    return log_families(codes, sizes, a)[np.arange(len(sizes)), parents].sum(-1)


def log_sums(codes: np.ndarray, y: np.ndarray, forests: Forests) -> dict:
    """The forests, ln of their prior, and ln of the evidence of each in each class."""
    sizes = list(forests.counts.sizes)
    every = every_forest(len(sizes))
    prior = np.log(forests.beta) * (every < 0).sum(1)
    each = np.stack([log_evidence(codes[y == c], sizes, every, forests.strength) for c in range(2)])
    return {"every": every, "prior": prior - logsumexp(prior), "each": each}


def log_p(codes: np.ndarray, y: np.ndarray, forests: Forests) -> float:
    """ln p(rows | their classes), all forests averaged."""
    found = log_sums(codes, y, forests)
    if forests.shared:
        return logsumexp(found["prior"] + found["each"].sum(0))
    return logsumexp(found["prior"] + found["each"], axis=1).sum()


def margins(codes: np.ndarray, sizes: list[int], y: np.ndarray, a: float) -> list[np.ndarray]:
    """ln p(cell | c) of each column under the margins that all forests share."""
    found = []
    for column, size in enumerate(sizes):
        counts = np.stack([np.bincount(codes[y == c, column], minlength=size) for c in range(2)])
        found.append(np.log((counts + a / size) / (counts.sum(1, keepdims=True) + a)))
    return found


@pytest.fixture(params=CASES, ids=lambda case: f"{case[0]} columns, {'shared' if case[1] else 'by class'}")
def case(request):
    n_columns, shared = request.param
    codes, sizes, y = table(n_columns)
    forests = of(codes, sizes, Labels.of(y, 2), shared)
    return codes, sizes, y, replace(forests, strength=3.0, beta=0.7)


def test_the_evidence_is_the_sum_over_all_forests(case):
    codes, sizes, y, forests = case
    alone = np.full(len(sizes), -1)
    naive = sum(log_evidence(codes[y == c], sizes, alone, forests.strength) for c in range(2))
    assert_allclose(forests.log_gain, log_p(codes, y, forests) - naive, rtol=1e-12, atol=1e-12)


def test_edges_and_naive_bayes_have_the_probability_of_the_forests_that_have_them(case):
    codes, sizes, y, forests = case
    found = log_sums(codes, y, forests)
    each = np.repeat(found["each"].sum(0, keepdims=True), 2, axis=0) if forests.shared else found["each"]
    probability = np.exp(found["prior"] + each - logsumexp(found["prior"] + each, axis=1, keepdims=True))
    naive = (found["every"] < 0).all(1)
    assert_allclose(np.exp(forests.log_naive), probability @ naive, rtol=1e-12)
    for u, v in combinations(range(len(sizes)), 2):
        has = (found["every"][:, u] == v) | (found["every"][:, v] == u)
        assert_allclose(forests.edges[:, u, v], probability @ has, rtol=1e-12)


def test_the_predictive_is_a_ratio_of_evidences(case):
    codes, sizes, y, forests = case
    rows = table(len(sizes), seed=1, n=4)[0]
    log_margins = margins(codes, sizes, y, forests.strength)
    found = forests.term(rows)
    found += sum(m[:, rows[:, k]].T for k, m in enumerate(log_margins))
    before = log_p(codes, y, forests)
    for row, c in product(range(len(rows)), range(2)):
        after = log_p(np.vstack([codes, rows[row]]), np.append(y, c), forests)
        assert_allclose(found[row, c], after - before, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("gaps", [[1], [0, 3]])
def test_a_gap_is_summed_over_the_cells_of_its_column(case, gaps):
    codes, sizes, y, forests = case
    row = table(len(sizes), seed=1, n=1)[0]
    log_margins = margins(codes, sizes, y, forests.strength)
    filled = np.repeat(row, int(np.prod([sizes[k] for k in gaps])), axis=0)
    filled[:, gaps] = [*product(*(range(sizes[k]) for k in gaps))]
    row[0, gaps] = -1
    found = forests.term(row)[0]
    found += sum(m[:, row[0, k]] for k, m in enumerate(log_margins) if k not in gaps)
    before = log_p(codes, y, forests)
    for c in range(2):
        each = [log_p(np.vstack([codes, x]), np.append(y, c), forests) - before for x in filled]
        assert_allclose(found[c], logsumexp(each), rtol=1e-12, atol=1e-12)


def test_leaving_a_row_out_is_a_fit_without_it(case):
    codes, sizes, y, forests = case
    labels = Labels.of(y, 2)
    for row in range(5):
        rest = np.arange(len(y)) != row
        refit = replace(of(codes[rest], sizes, labels[rest], forests.shared), strength=3.0, beta=0.7)
        expected = refit.term(codes[[row]])
        found = forests.term(codes[[row]], labels[[row]])
        assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
        gap = codes[[row]].copy()
        gap[0, 1] = -1
        of_gap = Labels.of(np.append(y[rest], y[row]), 2)
        learned = of(np.vstack([codes[rest], gap]), sizes, of_gap, forests.shared)
        learned = replace(learned, strength=3.0, beta=0.7)
        assert_allclose(learned.term(gap, labels[[row]]), refit.term(gap), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("weight", [0.5, 1.0])
def test_a_row_of_weight_below_one_is_left_out_as_such(case, weight):
    codes, sizes, y, forests = case
    weights = np.where(np.arange(len(y)) == 3, weight, 1.0)
    rest = np.arange(len(y)) != 3
    each = of(codes, sizes, Labels(y, weights, 2)), of(codes[rest], sizes, Labels.of(y[rest], 2))
    whole, refit = (replace(one, strength=3.0, beta=0.7, shared=forests.shared) for one in each)
    found = whole.term(codes[[3]], Labels(y[[3]], weights[[3]], 2))
    assert_allclose(found, refit.term(codes[[3]]), rtol=1e-10, atol=1e-10)


def test_the_strength_and_the_prior_of_roots_have_the_largest_evidence(case):
    *_, forests = case
    chosen = forests.chosen()
    every = [replace(forests, strength=a, beta=b).log_gain for a in STRENGTHS for b in ROOTS]
    assert chosen.log_gain >= max(every) - 1e-6


def test_gaps_in_more_ways_than_are_summed_leave_out_what_is_beyond_them(monkeypatch, case):
    from bayesnb.dependence import forests as module

    codes, _, _, forests = case
    row = codes[:1].copy()
    row[0, :3] = -1
    exact = forests.term(row)
    monkeypatch.setattr(module, "COMPLETIONS", 3)
    found = forests.term(row)
    assert np.isfinite(found).all()
    assert np.abs(found - exact).max() < 0.3
    monkeypatch.setattr(module, "COMPLETIONS", 1)
    row[0, 3:] = -1
    assert_allclose(forests.term(row), 0, atol=1e-12)


def test_counts_of_parts_add_to_those_of_the_whole_and_are_forgotten_exactly():
    codes, sizes, y = table(5)
    labels, first = Labels.of(y, 2), np.arange(len(y)) < 11
    one, other, whole = (of(codes[rows], sizes, labels[rows]).counts for rows in (first, ~first, first | True))
    assert_allclose((one + other).counts, whole.counts, atol=0)
    assert_allclose((whole - one).counts, other.counts, atol=0)


def test_the_compiled_sum_is_that_of_numpy_and_keeps_its_digits_at_any_weights(monkeypatch):
    rng = np.random.default_rng(0)
    log_w = rng.normal(size=(7, 6, 6), scale=400)
    log_w = log_w + log_w.swapaxes(1, 2)
    log_g = rng.normal(size=(7, 6), scale=300)
    by_numpy = kernel.log_forests(log_w, log_g)
    monkeypatch.setattr(kernel, "COMPILED_FROM", 0)
    assert_allclose(kernel.log_forests(log_w, log_g), by_numpy, rtol=1e-13)
    order = rng.permutation(6)
    assert_allclose(kernel.log_forests(log_w[:, order][:, :, order], log_g[:, order]), by_numpy, rtol=1e-13)


@pytest.mark.parametrize("shared", ["shared", "class"])
def test_the_estimator_is_naive_bayes_times_what_the_forests_add(shared):
    codes, _, y = table(5, n=60)
    X = {f"c{k}": np.array(["x", "y", "z"])[column] for k, column in enumerate(codes.T)}
    clf = nb.BayesianNB(dependence=nb.Exponents(shapes=False, offsets="class", forests=shared)).fit(X, y)
    forests = clf.classifier_.dependence.terms.forests
    naive = nb.BayesianNB().fit(X, y)
    log_p = naive.predict_joint_log_proba(X) + forests.term(codes)
    assert_allclose(clf.predict_log_proba(X), log_p - logsumexp(log_p, axis=1, keepdims=True), atol=1e-12)
    # Leave-one-out, the strength, the prior of roots and the cells held, is a fit without the row.
    loo = nb.checks.forests(clf)
    assert_allclose(loo.attrs["log_gain"], forests.log_gain)
    assert loo["probability"].between(0, 1).all()


def test_independent_columns_are_naive_bayes_and_copies_have_an_edge():
    rng = np.random.default_rng(3)
    y, a, b = rng.integers(2, size=400), rng.integers(3, size=400), rng.integers(2, size=400)
    X = {"a": np.array(list("uvw"))[a], "b": np.array(list("xy"))[b], "copy": np.array(list("klm"))[a]}
    found = nb.checks.forests(nb.BayesianNB(dependence="forests").fit(X, y))
    edges = found.set_index(["first", "second"])["probability"]
    assert edges["a", "copy"] > 0.999
    assert edges["a", "b"] + edges["b", "copy"] < 0.2
    assert nb.plots.forest(found).axes[0].get_title().startswith("1 edge")
    alone = nb.BayesianNB(dependence="forests").fit({"a": X["a"]}, y)
    assert_allclose(
        alone.predict_proba({"a": X["a"]}), nb.BayesianNB().fit({"a": X["a"]}, y).predict_proba({"a": X["a"]})
    )


def test_parts_merged_and_forgotten_rows_and_files_give_the_same_model(tmp_path):
    codes, _, y = table(4, n=80)
    X = pd.DataFrame({f"c{k}": np.array(["x", "y", "z"])[column] for k, column in enumerate(codes.T)})
    X.loc[[3, 70], "c1"] = X.loc[70, "c2"] = None
    whole = nb.BayesianNB(dependence="forests").fit(X, y)
    first = nb.BayesianNB(dependence="forests").fit(X[:50], y[:50])
    parts = copy.deepcopy(first).partial_fit(X[50:], y[50:])
    assert_allclose(parts.predict_proba(X), whole.predict_proba(X), atol=1e-12)
    found, of_parts = (nb.checks.forests(clf).attrs for clf in (whole, parts))
    low, high = found["log_gain_bounds"]
    assert low < found["log_gain"] < high
    assert_allclose(of_parts["log_gain_bounds"], (low, high), rtol=1e-12)
    assert_allclose(copy.deepcopy(parts).forget(X[50:], y[50:]).predict_proba(X), first.predict_proba(X), atol=1e-12)
    rest = copy.deepcopy(first).discount(0).partial_fit(X[50:], y[50:])
    assert_allclose(copy.deepcopy(first).merge(rest).predict_proba(X), whole.predict_proba(X), atol=1e-12)
    whole.save(tmp_path / "model.bayesnb")
    assert_allclose(nb.load(tmp_path / "model.bayesnb").predict_proba(X), whole.predict_proba(X), atol=0)


def test_real_columns_keep_the_cells_of_the_first_part_and_are_counted_exactly():
    X, y = nb.datasets.penguins()
    first = nb.BayesianNB(dependence="forests").fit(X[::2], y[::2])
    parts = copy.deepcopy(first).partial_fit(X[1::2], y[1::2])
    assert_allclose(copy.deepcopy(parts).forget(X[1::2], y[1::2]).predict_proba(X), first.predict_proba(X), atol=1e-12)
    rest = copy.deepcopy(first).discount(0).partial_fit(X[1::2], y[1::2])
    assert_allclose(first.merge(rest).predict_proba(X), parts.predict_proba(X), atol=1e-12)


def with_gaps(codes: np.ndarray, sizes: list[int], gaps: list[tuple[int, int]]) -> tuple[np.ndarray, list[np.ndarray]]:
    """The rows with gaps at these (row, column), and all their completions."""
    known, every = codes.copy(), []
    for cells in product(*(range(sizes[column]) for _, column in gaps)):
        every.append(codes.copy())
        every[-1][tuple(np.transpose(gaps))] = cells
    known[tuple(np.transpose(gaps))] = -1
    return known, every


def log_naive(codes: np.ndarray, sizes: list[int], y: np.ndarray, a: float) -> float:
    """ln of the evidence of the known cells under naive Bayes."""
    each = [(codes[(y == c) & (codes[:, k] >= 0)][:, [k]], size) for c in range(2) for k, size in enumerate(sizes)]
    return sum(log_evidence(of_class, [size], np.array([-1]), a) for of_class, size in each)


def test_gaps_of_learned_rows_are_exact_in_forests_without_a_missing_parent_of_a_known_cell():
    codes, sizes, y = table(4)
    known, every = with_gaps(codes, sizes, [(7, 2), (9, 2), (9, 3), (12, 0), (14, 2)])
    forests, parents = replace(of(known, sizes, Labels.of(y, 2)), strength=3.0), every_forest(4)
    exact = logsumexp(
        [sum(log_evidence(each[y == c], sizes, parents, 3.0) for c in range(2)) for each in every], axis=0
    )
    counted = np.where(parents >= 0, forests.log_w.sum(0)[np.arange(4), parents], 0.0).sum(1)
    counted += log_naive(known, sizes, y, 3.0)
    lost = (known[:, None] >= 0) & (np.append(known, np.zeros((len(y), 1), int), axis=1)[:, parents] < 0)
    without = ~lost.any((0, 2))
    assert 10 < without.sum() < len(parents) / 2
    assert_allclose(exact[without], counted[without], rtol=1e-12)
    assert np.abs(exact - counted).max() > 0.01


@pytest.mark.parametrize("shared", [True, False])
def test_gaps_in_one_of_two_columns_are_exact(shared):
    codes, sizes, y = table(2)
    known, every = with_gaps(codes, sizes, [(7, 1), (9, 1), (12, 1), (14, 1)])
    forests = replace(of(known, sizes, Labels.of(y, 2), shared), strength=3.0, beta=0.7)
    before = logsumexp([log_p(each, y, forests) for each in every])
    assert_allclose(forests.log_gain, before - log_naive(known, sizes, y, 3.0), rtol=1e-12)
    rows = np.array([[0, 1], [1, 2], [0, -1], [-1, 1]])
    found = forests.term(rows)
    for k, row in enumerate(rows):
        summed = [row[None]] if (row >= 0).all() else with_gaps(row[None], sizes, [(0, int(np.argmin(row)))])[1]
        for c in range(2):
            after = [log_p(np.vstack([each, x]), np.append(y, c), forests) for each in every for x in summed]
            alone = sum(forests._log_margins[u][c, cell] for u, cell in enumerate(row) if cell >= 0)
            assert_allclose(found[k, c] + alone, logsumexp(after) - before, rtol=1e-12)


@pytest.mark.parametrize("shared", [True, False])
def test_the_evidence_with_gaps_summed_over_is_within_its_bounds(shared):
    widths = []
    for seed in range(4):
        codes, sizes, y = table(4, seed=seed)
        gaps = np.random.default_rng(seed).choice(codes.size, 4, replace=False)
        known, every = with_gaps(codes, sizes, [divmod(int(gap), 4) for gap in gaps])
        forests = replace(of(known, sizes, Labels.of(y, 2), shared), strength=3.0, beta=0.7)
        exact = logsumexp([log_p(each, y, forests) for each in every]) - log_naive(known, sizes, y, 3.0)
        low, high = forests.log_gain_bounds
        assert low <= exact <= high
        widths.append(high - low)
        complete = of(codes, sizes, Labels.of(y, 2), shared)
        assert_allclose(complete.log_gain_bounds, complete.log_gain, rtol=1e-12)
    # One gap moves the bounds by less than a nat.
    assert max(widths) < 4


def test_other_questions_answer_or_say_why_not():
    X, y = nb.datasets.penguins()
    clf = nb.BayesianNB(dependence="forests").fit(X, y)
    interval = clf.predict_interval(X[:2])
    assert (interval.xs("lower", axis=1, level=1) <= interval.xs("upper", axis=1, level=1)).all(axis=None)
    assert len(nb.draws.sample(clf, 3)) == 3
    assert not hasattr(clf, "exponents_")
    for ask in (
        lambda: clf.to_pymc(X, y, stage="exponents"),
        lambda: clf.verify(learned=(X, y), stage="exponents"),
        lambda: nb.deploy.to_sql(clf),
    ):
        with pytest.raises(ValueError, match="dependence"):
            ask()
    with pytest.raises(ValueError, match="no other term"):
        nb.Exponents(forests="shared")
    with pytest.raises(ValueError, match="forests"):
        nb.checks.forests(nb.BayesianNB().fit(X, y))


def test_a_forest_is_drawn_with_its_probability(case):
    codes, sizes, y, forests = case
    n = len(sizes)
    uniforms = np.random.default_rng(0).random((20_000, n * (n + 1) // 2))
    which = np.arange(len(uniforms)) % 2
    ground = np.full((2, n), np.log(forests.beta))
    drawn = kernel.drawn_forests(forests._log_weights, ground, uniforms, which)
    found = log_sums(codes, y, forests)
    every = np.where(found["every"] < 0, n, found["every"]) @ (n + 1) ** np.arange(n)
    each = np.repeat(found["each"].sum(0, keepdims=True), 2, axis=0) if forests.shared else found["each"]
    for c, log_p in enumerate(found["prior"] + each):
        p = np.exp(log_p - logsumexp(log_p))
        place = np.searchsorted(np.sort(every), drawn[which == c] @ (n + 1) ** np.arange(n))
        seen, expected = np.bincount(place, minlength=len(every)), p[np.argsort(every)] * (which == c).sum()
        many = expected > 5
        assert many.sum() > 20
        assert chisquare(seen[many], expected[many] / expected[many].sum() * seen[many].sum()).pvalue > 1e-3
        assert seen[~many].sum() < expected[~many].sum() + 5 * np.sqrt(expected[~many].sum()) + 1


def test_compiled_draws_of_forests_are_those_of_numpy(monkeypatch):
    rng = np.random.default_rng(0)
    log_w = rng.normal(size=(3, 6, 6), scale=3)
    asked = log_w + log_w.swapaxes(1, 2), rng.normal(size=(3, 6)), rng.random((200, 21)), rng.integers(3, size=200)
    by_numpy = kernel.drawn_forests(*asked)
    monkeypatch.setattr(kernel, "COMPILED_FROM", 0)
    np.testing.assert_array_equal(kernel.drawn_forests(*asked), by_numpy)


def test_a_forest_is_drawn_whatever_the_size_of_the_weights():
    rng = np.random.default_rng(0)
    log_w = rng.normal(size=(1, 5, 5), scale=400)
    log_w, log_g = log_w + log_w.swapaxes(1, 2), rng.normal(size=(1, 5))
    drawn = kernel.drawn_forests(log_w, log_g, rng.random((50, 15)), np.zeros(50, int))
    sums = [sum(log_g[0, i] if j < 0 else log_w[0, i, j] for i, j in enumerate(each)) for each in every_forest(5)]
    # Edges have no direction, so any column of a tree can be its root; the best forest without directions is unique.
    best = {frozenset((i, j)) for i, j in enumerate(every_forest(5)[np.argmax(sums)]) if j >= 0}
    assert all({frozenset((i, j)) for i, j in enumerate(each) if j < 5} == best for each in drawn.tolist())
    p = kernel.edge_probabilities(log_w, log_g)[0]
    assert_allclose(p, [[frozenset((i, j)) in best for j in range(5)] for i in range(5)], atol=1e-12)


def some_rows(n_columns: int) -> np.ndarray:
    """Rows with no gap, one gap, and two gaps."""
    rows = table(n_columns, seed=1, n=3)[0]
    rows[1, 1] = rows[2, 0] = rows[2, 3] = -1
    return rows


def test_the_contributions_of_edges_add_up_to_the_term(case):
    _, sizes, _, forests = case
    ground = np.full(forests._log_weights.shape[:-1], np.log(forests.beta))
    assert_allclose(kernel.edge_probabilities(forests._log_weights, ground), forests.edges, atol=1e-12)
    rows = some_rows(len(sizes))
    assert_allclose(np.triu(forests.shares(rows)).sum((-1, -2)), forests.term(rows), atol=1e-12)


def test_the_mean_over_draws_is_the_predictive(case):
    _, sizes, _, forests = case
    rows = some_rows(len(sizes))
    exact, common = np.exp(forests.term(rows)), CommonDraws(2000, (0,))
    with_row = [[*forests.drawn(rows, common.within(7), np.full((2000, len(rows)), c))] for c in range(2)]
    for row, drawn in enumerate(forests.drawn(rows, common)):
        r = np.exp(drawn.edges.sum(-1) + drawn.gaps)
        assert (np.abs(r.mean(0) - exact[row]) < 5 * r.std(0) / np.sqrt(len(r))).all()
        # Given the row too, with the class c, draws have the density of the draws given the data times r_c / E[r_c].
        for c in range(2):
            given_row = with_row[c][row]
            for one, other in ((drawn.parents, given_row.parents), (drawn.edges, given_row.edges)):
                values, weighed = (x[:, c] < np.median(other[:, c], axis=0) + 1e-9 for x in (one, other))
                weight = r[:, c] / r[:, c].mean()
                error = (weight[:, None] * (values - weighed.mean(0))).std(0) + weighed.std(0)
                apart = (weight[:, None] * (values - weighed.mean(0))).mean(0)
                assert (np.abs(apart) <= 5 * error / np.sqrt(len(r)) + 1e-9).all()


def test_draws_do_not_depend_on_the_order_of_columns(case):
    codes, sizes, y, forests = case
    order = np.random.default_rng(2).permutation(len(sizes))
    other = of(codes[::-1, order], [sizes[k] for k in order], Labels.of(y[::-1], 2), forests.shared)
    other, rows = replace(other, strength=forests.strength, beta=forests.beta), some_rows(len(sizes))
    chosen = np.random.default_rng(0).integers(2, size=(50, len(rows)))
    for labels in (None, chosen):
        asked = CommonDraws(50, (3,)), labels
        for one, two in zip(forests.drawn(rows, *asked), other.drawn(rows[:, order], *asked), strict=True):
            assert_allclose(two.edges, one.edges[..., order], atol=1e-9)
            assert_allclose(two.gaps, one.gaps, atol=1e-9)


@pytest.mark.parametrize("shared", ["shared", "class"])
def test_answers_given_the_row_have_predict_proba_as_their_mean_and_explanations_add_up(shared):
    codes, _, y = table(4, n=60)
    X = pd.DataFrame({f"c{k}": np.array(["x", "y", "z"])[column] for k, column in enumerate(codes.T)})
    X["length"] = np.random.default_rng(0).normal(y + codes[:, 0])
    clf = nb.BayesianNB(dependence=nb.Exponents(shapes=False, offsets="class", forests=shared)).fit(X, y)
    some = X[:3].copy()
    some.loc[1, "c1"] = some.loc[2, "length"] = None
    p = nb.draws.sample_proba(clf, some, draws=2000)
    exact = clf.predict_proba(some)
    assert (np.abs(p.mean(0) - exact) < 5 * p.std(0) / np.sqrt(len(p))).all()
    assert clf.predict_interval(some, draws=9).attrs["given"] == "row"
    found = clf.uncertainty(some, draws=500)
    assert_allclose(found["total"], -(exact * np.log(exact)).sum(1), rtol=1e-9)
    assert found["epistemic"].between(0, found["total"]).all()
    odds = nb.odds.log_odds(clf, some)
    drawn = np.log(p[..., 0]) - np.log(p[..., 1])
    assert (np.abs(odds[0, 1]["mean"] - drawn.mean(0)) < 5 * (drawn.std(0) / np.sqrt(2000) + odds.attrs["mcse"])).all()
    lines = clf.explain(some)
    for _, each in lines["log_odds"].groupby(level=0):
        assert_allclose(each.iloc[:-1].sum(), each.iloc[-1], atol=1e-9)
    edge = lines.loc[0].filter(like=" × ", axis=0)
    probability = nb.checks.forests(clf).groupby(["first", "second"])["probability"].max()
    assert len(edge) == (probability >= 0.1).sum()
    for name, value in edge["value"].items():
        assert_allclose(value, probability[tuple(name.split(" × "))], atol=1e-3)


def test_the_interval_given_the_row_is_that_of_all_tables_of_cells_drawn_together():
    rng, sizes = np.random.default_rng(0), [2, 3, 2]
    y, first, second, noise = (rng.integers(k, size=60) for k in (2, 2, 3, 5))
    codes = np.stack([first, second, np.where(noise == 0, 1 - first, (first + y * (second == 1)) % 2)], axis=1)
    X = {f"c{k}": np.array(["x", "y", "z"])[column] for k, column in enumerate(codes.T)}
    strength = nb.BayesianNB(dependence="forests").fit(X, y).classifier_.dependence.terms.forests.strength
    features = {f"c{k}": nb.Categorical(nb.Dirichlet(strength / size)) for k, size in enumerate(sizes)}
    clf = nb.BayesianNB(features, dependence="forests").fit(X, y)
    forests, n = clf.classifier_.dependence.terms.forests, 20_000
    every = every_forest(3)
    log_p = log_sums(codes, y, forests)
    log_p = log_p["prior"] + log_p["each"].sum(0)
    # The table of a column given its parent, for each class, in each draw.
    drawn = every[rng.choice(len(every), n, p=np.exp(log_p - logsumexp(log_p)))]
    p = rng.dirichlet(np.bincount(y) + 1.0, n)
    row = codes[3]
    for c in range(2):
        of_class, a = codes[y == c], forests.strength
        for own, size in enumerate(sizes):
            for parent in range(-1, 3):
                some = drawn[:, own] == parent
                at = of_class if parent < 0 else of_class[of_class[:, parent] == row[parent]]
                alpha = np.bincount(at[:, own], minlength=size) + a / size / (1 if parent < 0 else sizes[parent])
                p[some, c] *= rng.dirichlet(alpha, some.sum())[:, row[own]]
    weight, q = p.sum(1), p[:, 0] / p.sum(1)
    found = clf.predict_interval({name: x[3:4] for name, x in X.items()}, 0.8, draws=4000)[0].iloc[0]
    assert found["upper"] - found["lower"] > 0.1
    for end, share in zip(found, (0.1, 0.5, 0.9), strict=True):
        assert abs(weight[q <= end].sum() / weight.sum() - share) < 0.03


@pytest.mark.parametrize("shared", ["shared", "class"])
def test_rows_are_drawn_with_the_probability_of_their_cells(shared):
    codes, sizes, y = table(3, n=60)
    X = {f"c{k}": np.array(["x", "y", "z"])[column] for k, column in enumerate(codes.T)}
    settings = {"dependence": nb.Exponents(shapes=False, offsets="class", forests=shared), "random_state": 0}
    strength = nb.BayesianNB(**settings).fit(X, y).classifier_.dependence.terms.forests.strength
    features = {f"c{k}": nb.Categorical(nb.Dirichlet(strength / size)) for k, size in enumerate(sizes)}
    clf = nb.BayesianNB(features, **settings).fit(X, y)
    terms, n = clf.classifier_.dependence.terms, 20_000
    every = np.array([*product(*(np.unique(column) for column in X.values()))])
    cells = dict(zip(X, every.T, strict=True))
    p = np.exp(
        nb.BayesianNB(features).fit(X, y).predict_joint_log_proba(cells)
        + terms.forests.term(np.stack([np.searchsorted(["x", "y", "z"], column) for column in every.T], axis=1))
    )
    assert_allclose(p.sum(), 1, rtol=1e-12)
    drawn = nb.draws.sample(clf, n)
    seen = drawn.groupby([*X, "y"]).size()
    expected = pd.Series(p.ravel() * n, pd.MultiIndex.from_tuples([(*row, c) for row in every for c in range(2)]))
    many = expected[expected > 5]
    assert (
        chisquare(seen.reindex(many.index).fillna(0), many / many.sum() * seen.reindex(many.index).sum()).pvalue > 1e-3
    )


def test_drawn_tables_have_the_dependence_of_the_rows():
    rng = np.random.default_rng(0)
    y, a = rng.integers(2, size=200), rng.integers(2, size=200)
    X = pd.DataFrame({"size": rng.normal(3.0 * a), "kind": np.where(a == 1, "big", "small")})
    made = []
    for dependence in (None, "forests"):
        clf = nb.BayesianNB(dependence=dependence).fit(X, y)
        found = nb.checks.predictive_checks(clf, X, y, draws=20).table
        made.append(found.loc[found["statistic"] == "correlation ratio", "expected"].min())
    assert made[0] < 0.15
    assert made[1] > 0.4
    drawn = nb.draws.sample(clf, 500)
    assert drawn.groupby("kind")["size"].mean().diff().abs().iloc[1] > 1


def test_of_many_columns_the_most_dependent_ones_have_edges(monkeypatch):
    monkeypatch.setattr("bayesnb.dependence.columns.MOST_OF_FORESTS", 12)
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=120)
    X = pd.DataFrame(rng.integers(2, size=(120, 16)), columns=[f"c{k}" for k in range(16)]).assign(
        copy=lambda t: t["c7"]
    )
    found = nb.checks.forests(nb.BayesianNB(dependence="forests").fit(X, y))
    assert len(found) == 12 * 11 // 2
    assert set(found[["first", "second"]].iloc[0]) == {"c7", "copy"}
