"""Decisions by costs, sets of classes, given class priors and estimated class priors."""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import pandas as pd
import pytest
from conftest import run
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from pandas.testing import assert_frame_equal
from scipy.special import betaincinv, logsumexp
from sklearn.exceptions import ConvergenceWarning

import bayesnb as nb
from bayesnb import BayesianNB, Dirichlet, FixedProbabilities
from bayesnb.inference.class_prior import interval_of_shares
from bayesnb.inference.class_prior import most_probable_shares as estimate_class_prior
from bayesnb.inference.decide import least_expected_cost as decide
from bayesnb.inference.decide import smallest_set
from bayesnb.priors import class_prior

ILL = ["ill", "well"]
# Treating the well costs 1, missing the ill costs 9: treat where p(ill) > 1 / (1 + 9).
COSTS = pd.DataFrame({"treat": [0.0, 1.0], "wait": [9.0, 0.0]}, index=ILL)


def two(p: float) -> list[list[float]]:
    return [[p, 1 - p]]


@st.composite
def tables_of_probabilities(draw) -> np.ndarray:
    """Random probabilities (row, class), some of them 0."""
    shape = draw(st.integers(1, 20)), draw(st.integers(2, 5))
    cells = st.lists(st.integers(0, 50), min_size=shape[1], max_size=shape[1]).filter(any)
    weights = np.array(draw(st.lists(cells, min_size=shape[0], max_size=shape[0])), float)
    return weights / weights.sum(axis=1, keepdims=True)


# Deciding


def test_a_decision_has_three_columns_and_the_index_it_is_given():
    found = decide([[0.5, 0.5], [0.0, 1.0]], ILL, COSTS, index=["ann", "bob"])
    expected = pd.DataFrame(
        {
            "decision": pd.Series(["treat", "wait"], dtype=object, index=["ann", "bob"]),
            "expected_cost": [0.5, 0.0],
            "abstained": [False, False],
        }
    )
    pd.testing.assert_frame_equal(found, expected)


@given(tables_of_probabilities(), st.integers(0, 2**32 - 1), st.floats(-3, 3))
def test_the_decision_has_the_lowest_expected_cost(proba, seed, reject_cost):
    rng, k = np.random.default_rng(seed), proba.shape[1]
    costs = pd.DataFrame(rng.normal(size=(k, 3)), columns=["a", "b", "c"])
    if reject_cost >= costs.to_numpy().max():
        reject_cost = costs.to_numpy().max() - 1e-3
    found = decide(proba, np.arange(k), costs, reject_cost)
    for p, (decision, cost, abstained) in zip(proba, found.itertuples(index=False), strict=True):
        each = {name: sum(p[c] * costs.loc[c, name] for c in range(k)) for name in costs}
        assert abstained == (decision is None)
        assert cost == pytest.approx(reject_cost if abstained else each[decision], abs=1e-12)
        assert cost <= min(reject_cost, *each.values()) + 1e-12


def test_among_decisions_of_equal_cost_the_first_column_is_chosen():
    p = two(0.5)
    flat = pd.DataFrame({"b": [1, 1], "a": [1, 1]}, index=ILL)
    assert decide(p, ILL, flat)["decision"][0] == "b"
    assert decide(p, ILL, flat[["a", "b"]])["decision"][0] == "a"


def test_costs_can_be_in_any_order_of_classes_and_negative():
    proba = [[0.4, 0.6], [0.05, 0.95]]
    pd.testing.assert_frame_equal(decide(proba, ILL, COSTS), decide(proba, ILL, COSTS.loc[::-1]))
    gains = decide(proba, ILL, COSTS - 100)
    assert gains["decision"].tolist() == ["treat", "wait"]
    assert_allclose(gains["expected_cost"], [0.6 - 100, 0.45 - 100])


def test_without_rows_there_are_no_decisions():
    found = decide(np.empty((0, 2)), ILL, COSTS, reject_cost=0.5)
    assert found.shape == (0, 3)
    assert found["abstained"].dtype == bool


# Sets of classes


def test_sets_hold_the_earlier_of_equal_classes_and_no_impossible_class():
    def members(proba, mass):
        found = smallest_set([proba], list("abcd")[: len(proba)], mass)
        return "".join(found.columns[found.iloc[0]])

    assert (members([0.25] * 4, 0.5), members([0.2, 0.4, 0.4], 0.3)) == ("ab", "b")
    assert (members([1 - 1e-15, 0.0, 5e-324, 1e-15], 1), members([1.0, 0.0], 1.0)) == ("acd", "a")
    assert 0.7 + 0.1 + 0.1 < 0.9  # by rounding alone
    assert members([0.7, 0.1, 0.1, 0.1], 0.9) == "abc"


@given(tables_of_probabilities(), st.sampled_from([0.01, 0.3, 0.5, 0.75, 0.9, 0.95, 1.0]))
def test_no_smaller_set_has_the_required_probability(proba, mass):
    found = smallest_set(proba, np.arange(proba.shape[1]), mass).to_numpy()
    for p, inside in zip(proba, found, strict=True):
        assert p[inside].sum() >= mass - 1e-11
        others = [p[np.array(some, bool)].sum() for some in product([0, 1], repeat=len(p)) if sum(some) < inside.sum()]
        assert max(others) < mass - 1e-13


def test_sets_of_a_true_model_contain_the_true_class_as_often_as_stated():
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.ones(4), 20_000)
    truth = (proba.cumsum(axis=1) < rng.random((len(proba), 1))).sum(axis=1)
    inside = smallest_set(proba, np.arange(4), 0.8).to_numpy()
    expected = (proba * inside).sum(axis=1)
    assert expected.min() >= 0.8 - 1e-12
    hits = inside[np.arange(len(truth)), truth]
    assert hits.mean() == pytest.approx(expected.mean(), abs=5 * hits.std() / np.sqrt(len(hits)))


# Class priors that are given


def prior_of(given_prior, classes=ILL) -> list:
    """Class probabilities as a user writes them, in the order of the classes, as the model has them."""
    each = class_prior.of_each_row(given_prior, classes)
    if each is not None:
        return each.tolist()
    rows = np.array([3.0, 1.0] * 2)[: len(classes)]
    return class_prior.read(given_prior).over_classes(classes, rows).plus(rows).mean().tolist()


@pytest.mark.parametrize(
    "given_prior",
    [
        {"well": 0.9, "ill": 0.1},
        pd.Series([0.9, 0.1], index=["well", "ill"]),
        FixedProbabilities(pd.Series([0.9, 0.1], index=["well", "ill"])),
        [0.1, 0.9],
        (0.1, 0.9),
        np.array([0.1, 0.9]),
    ],
    ids=["mapping", "Series", "Known Series", "list", "tuple", "array"],
)
def test_one_prior_is_read_by_label_or_in_the_order_of_the_classes(given_prior):
    assert prior_of(given_prior) == [0.1, 0.9]


@pytest.mark.parametrize(
    ("given_prior", "expected"),
    [
        ("frequencies", [0.75, 0.25]),
        ("uniform", [0.5, 0.5]),
        (Dirichlet(1.0), [4 / 6, 2 / 6]),
        (Dirichlet({"well": 5.0, "ill": 1.0}), [0.4, 0.6]),
        (Dirichlet(pd.Series([5.0, 1.0], index=["well", "ill"])), [0.4, 0.6]),
    ],
    ids=["frequencies", "uniform", "Dirichlet", "Dirichlet by label", "Dirichlet of a Series"],
)
def test_a_prior_that_looks_at_the_labels_is_read_in_the_same_way_everywhere(given_prior, expected):
    assert prior_of(given_prior) == pytest.approx(expected)
    X, y = pd.DataFrame({"x": [1.0, 2.0, 3.0, 2.5]}), ["ill", "ill", "ill", "well"]
    told = BayesianNB(class_prior=given_prior).fit(X, y)
    assert_allclose(told.posterior_.label.mean(), expected)
    later = nb.deploy.with_class_prior(BayesianNB().fit(X, y), given_prior)
    assert_allclose(later.predict_proba(X), told.predict_proba(X), rtol=1e-12)


EACH = [[0.1, 0.9], [0.5, 0.5], [1.0, 0.0]]


@pytest.mark.parametrize(
    "given_prior",
    [pd.DataFrame(EACH, columns=ILL)[["well", "ill"]], pd.DataFrame(EACH, columns=ILL, index=[7, 7, 7]), EACH],
    ids=["DataFrame in another order", "DataFrame with an index", "array"],
)
def test_a_prior_for_each_row_is_read_by_label_or_in_the_order_of_the_classes(given_prior):
    assert prior_of(given_prior) == EACH


@pytest.mark.parametrize("classes", [["no", "yes"], np.array(["no", "yes"], object), np.array([0, 1])])
def test_the_hint_for_nested_costs_works(classes):
    no, yes = np.asarray(classes).tolist()
    frame = pd.DataFrame({"treat": [1.0, 0.0], "wait": [0.0, 20.0]}, index=[no, yes])
    for costs in (frame.to_dict(), frame.T.to_dict()):
        with pytest.raises(TypeError, match="got dict: write ") as refused:
            decide([[0.9, 0.1]], classes, costs)
        hint = str(refused.value).partition(": write ")[2]
        assert_frame_equal(eval(hint, {"pd": pd, "costs": costs}), frame)
    square = {no: {no: 0.0, yes: 1.0}, yes: {no: 20.0, yes: 0.0}}
    with pytest.raises(TypeError, match=r"if its keys are the decisions, or .* if they are the classes"):
        decide([[0.9, 0.1]], classes, square)


def test_labels_need_not_be_text():
    assert prior_of({1: 0.25, 0: 0.75}, [0, 1]) == [0.75, 0.25]
    assert prior_of(pd.Series({True: 0.25, False: 0.75}), [False, True]) == [0.75, 0.25]
    assert prior_of(pd.Series([0.25, 0.75], index=[9, 1]), [1, 9]) == [0.75, 0.25]


# Class priors that are estimated


def objective(prior, log_likelihood) -> float:
    with np.errstate(divide="ignore"):
        return logsumexp(np.log(prior) + log_likelihood, axis=1).sum()


def shifted_rows(rng, n, share):
    """Rows of two classes that overlap in two numbers and one category; a share of ``share`` belongs to the second."""
    second = np.arange(n) < round(share * n)
    frame = pd.DataFrame(rng.normal(second[:, None] * [1.2, -0.8], 1.0, (n, 2)), columns=["u", "v"])
    frame["w"] = np.where(rng.random(n) < np.where(second, 0.7, 0.4), "red", "blue")
    return frame, np.where(second, "b", "a")


def log_likelihood_of(clf, X) -> np.ndarray:
    """log p(x | c, D), (row, class)."""
    return clf.predict_joint_log_proba(X) - np.log(clf.posterior_.label.mean())


@pytest.mark.parametrize("share", [0.1, 0.9, 0.5])
def test_the_class_prior_of_resampled_rows_is_recovered(share):
    rng = np.random.default_rng(3)
    clf = BayesianNB().fit(*shifted_rows(rng, 4000, 0.5))
    new, _ = shifted_rows(rng, 5000, share)
    prior, _ = estimate_class_prior(log_likelihood_of(clf, new))
    assert_allclose(prior, [1 - share, share], atol=0.03)


def test_class_shares_have_the_posterior_that_quadrature_gives():
    rng = np.random.default_rng(5)
    log_likelihood = np.log(rng.dirichlet([1.0, 1.0], 25)) - 300.0
    grid = (np.arange(20_000) + 0.5) / 20_000
    density = np.exp(log_likelihood + 300.0) @ np.stack([grid, 1 - grid])
    log_p = np.log(density).sum(axis=0)
    cdf = np.cumsum(np.exp(log_p - log_p.max()))
    cdf /= cdf[-1]
    (lower, upper), mcse = interval_of_shares(
        log_likelihood, (0.055, 0.945), np.zeros((250, 2)), np.random.default_rng(1)
    )
    assert mcse < 0.02
    assert_allclose([lower[0], upper[0]], np.interp([0.055, 0.945], cdf, grid), atol=4 * mcse)
    assert_allclose([1 - upper[1], 1 - lower[1]], [lower[0], upper[0]], rtol=1e-12)


@pytest.mark.slow
def test_the_interval_of_the_class_shares_covers_them_as_often_as_it_says():
    rng, covered = np.random.default_rng(4), 0
    for share in rng.random(40):
        x = rng.normal(1.5 * (rng.random(50) < share), 1.0)
        log_likelihood = -0.5 * (x[:, None] - [0.0, 1.5]) ** 2
        (lower, upper), _ = interval_of_shares(log_likelihood, (0.1, 0.9), np.zeros((7, 2)), rng)
        covered += lower[1] < share < upper[1]
    assert 24 <= covered <= 39  # a binomial(40, 0.8) leaves this range once in 900 times


def weak_columns(rng, n, share):
    y = rng.random(n) < share
    return pd.DataFrame(rng.normal(0.7 * y[:, None], 1.0, (n, 6)), columns=list("abcdef")), y


@pytest.mark.parametrize(
    ("dependence", "learned", "new"),
    [
        (None, 100, 400),
        pytest.param(None, 600, 100, marks=pytest.mark.slow),
        pytest.param("weighted", 100, 400, marks=pytest.mark.slow),
    ],
)
def test_the_interval_of_the_class_prior_includes_the_errors_of_the_learned_parameters(dependence, learned, new):
    rng, covered = np.random.default_rng(8), 0
    for _ in range(20):
        clf = BayesianNB(dependence=dependence, random_state=0).fit(*weak_columns(rng, learned, 0.3))
        found = nb.deploy.estimate_class_prior(clf, weak_columns(rng, new, 0.6)[0], prob=0.89, draws=300).loc[True]
        covered += found["lower"] < 0.6 < found["upper"]
    # A binomial(20, 0.85) is below 12 once in 750 times; its standard deviation is 1.6.
    assert covered >= 12


@pytest.mark.parametrize("dependence", [None, "weighted"])
def test_the_interval_of_the_class_prior_depends_on_the_rows_not_on_their_order_and_little_on_the_seed(dependence):
    rng = np.random.default_rng(2)
    X, y = weak_columns(rng, 200, 0.3)
    new = weak_columns(rng, 300, 0.6)[0]
    ends = [
        nb.deploy.estimate_class_prior(
            BayesianNB(dependence=dependence, random_state=seed).fit(X, y), rows, prob=0.89, draws=1000
        )
        for seed, rows in ((0, new), (0, new[::-1]), (1, new), (0, new[list("fedcba")]))
    ]
    pd.testing.assert_frame_equal(ends[0], ends[1])
    for other in ends[2:]:
        error = np.hypot(ends[0].attrs["mcse"], other.attrs["mcse"])
        assert_allclose(other, ends[0], atol=4 * error)


def test_the_interval_of_the_class_prior_is_found_if_every_row_has_a_certain_class():
    x = np.repeat([0.0, 1e4], 20) + np.arange(40) % 7
    for dependence in (None, "weighted"):
        clf = BayesianNB(dependence=dependence, random_state=0).fit(pd.DataFrame({"x": x}), x > 100)
        found = nb.deploy.estimate_class_prior(clf, pd.DataFrame({"x": x}), prob=0.89, draws=1000)
        lower, upper = betaincinv(21, 21, [0.055, 0.945])
        assert_allclose(found[["lower", "upper"]], [[lower, upper]] * 2, atol=5 * found.attrs["mcse"])


def test_the_class_prior_with_its_interval_is_a_frame_whose_estimate_is_the_series():
    X, y = shifted_rows(np.random.default_rng(4), 60, 0.5)
    clf = BayesianNB().fit(X, y)
    frame = nb.deploy.estimate_class_prior(clf, X, prob=0.8, draws=200)
    assert frame.columns.tolist() == ["probability", "lower", "upper"]
    assert (frame["lower"] < frame["upper"]).all()
    assert 0 < frame.attrs["mcse"] < 0.1
    pd.testing.assert_series_equal(frame["probability"], nb.deploy.estimate_class_prior(clf, X))
    assert nb.deploy.with_class_prior(clf, frame["probability"]).predict(X).shape == (60,)
    pd.testing.assert_frame_equal(frame, nb.deploy.estimate_class_prior(clf, X, prob=0.8, draws=200))


def test_the_interval_of_the_class_prior_says_when_it_is_too_narrow_and_names_the_next_step(tmp_path, capsys):
    rng = np.random.default_rng(0)
    y = rng.random(120) < 0.1
    table = pd.DataFrame({"x": rng.normal(y), "z": rng.normal(y), "y": np.where(y, "rare", "frequent")})
    X = table[["x", "z"]]
    clf = BayesianNB().fit(X, table["y"])
    found = nb.deploy.estimate_class_prior(clf, X, prob=0.8, draws=200)
    assert "too narrow if the model itself is wrong" in str(found.attrs["note"])
    assert str(found.attrs["says"]).endswith('use nb.deploy.with_class_prior(model, estimate["probability"]).')
    path, model = tmp_path / "t.csv", tmp_path / "m.bayesnb"
    table.to_csv(path, index=False)
    fit = ("fit", path, "--target", "y", "--dependence", "none", "-o", model)
    run(capsys, *fit)
    _, out, err = run(capsys, "ask", "estimate-class-prior", model, path)
    assert str(found.attrs["note"]) in " ".join(err.split())
    # The printed option makes the model that predicts with the estimate.
    option = re.search(r"fit the model again with --class-prior (\S*)\.\s", out)[1]
    assert run(capsys, *fit, "--class-prior", option)[0] == 0
    expected = nb.deploy.with_class_prior(clf, found["probability"])
    assert_allclose(nb.load(model).predict_proba(X), expected.predict_proba(X), atol=2e-4)


def test_the_estimated_class_prior_satisfies_the_conditions_of_a_maximum():
    log_likelihood = np.random.default_rng(1).normal(0, 1.5, (400, 4))
    prior, n_iter = estimate_class_prior(log_likelihood)
    assert n_iter < 1000
    # At the maximum of a concave objective on the simplex, the slope is 1 where π > 0, and not more elsewhere.
    slope = (np.exp(log_likelihood) / (np.exp(log_likelihood) @ prior)[:, None]).mean(axis=0)
    assert_allclose(slope, 1, atol=1e-6)
    rough, _ = estimate_class_prior(log_likelihood, tol=0.5)
    assert 1e-6 < objective(prior, log_likelihood) - objective(rough, log_likelihood) <= 0.5


def test_em_for_similar_classes_does_not_stop_too_early():
    # A step may move no probability by 1e-4, and the end still be far away.
    log_likelihood = np.random.default_rng(4).normal(0, 0.1, (2000, 2))
    prior, n_iter = estimate_class_prior(log_likelihood)
    assert n_iter > 1000
    best = max(objective(np.array([p, 1 - p]), log_likelihood) for p in np.linspace(0, 1, 1001))
    assert objective(prior, log_likelihood) >= best - 1e-6


def test_what_is_added_to_a_row_changes_nothing():
    rng = np.random.default_rng(2)
    log_likelihood = rng.normal(0, 1.5, (300, 3))
    prior, _ = estimate_class_prior(log_likelihood)
    far, _ = estimate_class_prior(log_likelihood + rng.normal(-1e6, 1e5, (300, 1)))
    assert_allclose(far, prior, atol=1e-7)


def test_rows_possible_under_only_one_class_are_counted():
    only = np.where(np.arange(10)[:, None] < [[3, 10]], 0.0, -np.inf)
    only[:3, 1] = -np.inf
    prior, n_iter = estimate_class_prior(only)
    assert_allclose(prior, [0.3, 0.7], rtol=1e-14)
    assert n_iter == 2
    far = np.where(np.isneginf(only), -1e5, only)
    assert_allclose(estimate_class_prior(far)[0], [0.3, 0.7], rtol=1e-14)


def test_a_class_without_matching_rows_gets_probability_0():
    prior, _ = estimate_class_prior(np.array([[0.0, -1.0], [0.0, -2.0], [0.0, -np.inf]]), tol=1e-9)
    assert_allclose(prior, [1, 0], atol=1e-8)


def test_an_estimate_of_the_class_prior_that_did_not_converge_warns():
    log_likelihood = np.random.default_rng(1).normal(0, 0.5, (50, 3))
    with pytest.warns(ConvergenceWarning, match=r"did not converge in 3 steps: .* more than tol=1e-06; raise max_iter"):
        _, n_iter = estimate_class_prior(log_likelihood, max_iter=3)
    assert n_iter == 3


@pytest.mark.parametrize("dependence", [None, "weighted", "pairwise", "auto", "forests"])
def test_the_estimated_class_prior_is_that_of_em_on_the_predictions(dependence):
    rng = np.random.default_rng(0)
    y = rng.random(600) < 0.3
    x = rng.normal(y, 1.2)
    X = pd.DataFrame(
        {"x": x, "copy": x + rng.normal(0, 0.5, 600), "z": rng.normal(0.5 * y), "f": rng.random(600) < 0.2 + 0.3 * y}
    )
    clf = BayesianNB(dependence=dependence, random_state=0).fit(X[:300], y[:300])
    p = clf.predict_proba(X[300:])
    before = np.exp(clf.posterior_.log_label)
    found = before
    for _ in range(3000):
        weighed = p * (found / before)
        found = (weighed / weighed.sum(axis=1, keepdims=True)).mean(axis=0)
    assert_allclose(nb.deploy.estimate_class_prior(clf, X[300:]), found, atol=2e-4)


def test_the_command_with_estimated_class_frequencies_leaves_every_class_possible(tmp_path, capsys):
    rng = np.random.default_rng(0)
    y = np.repeat(["kept", "no-show"], 50)
    table = pd.DataFrame({"x": rng.normal(np.where(y == "kept", 0, 9)), "y": y})
    path, new, model = tmp_path / "t.csv", tmp_path / "new.csv", tmp_path / "m.bayesnb"
    table.to_csv(path, index=False)
    table[y == "kept"].to_csv(new, index=False)
    run(capsys, "fit", path, "--target", "y", "--dependence", "none", "-o", model)
    out = run(capsys, "ask", "estimate-class-prior", model, new)[1]
    assert "--class-prior kept=0.9999,no-show=0.0001" in " ".join(out.split())
