"""The yardstick: methods scored by tables of which the exact law of the class probabilities is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.random import default_rng
from numpy.testing import assert_allclose
from scipy.stats import wasserstein_distance
from sklearn.naive_bayes import GaussianNB

import bayesnb as nb
from bayesnb.evaluation.yardstick import (
    NORMALS,
    WORLDS,
    DrawnTable,
    bootstrap,
    laplace,
    members,
    ours,
    scored,
    venn_abers,
)
from bayesnb.priors import Dirichlet

NUMBERS = {"numbers": WORLDS["numbers"]}


@pytest.fixture(scope="module")
def found() -> pd.DataFrame:
    """Our posterior under the priors of the world, five draws of it, and a bootstrap."""
    right = ours(features=NORMALS, class_prior=Dirichlet({0: 1.0, 1: 1.0}))
    methods = {
        "right": right,
        "five draws": lambda *table: right(*table)[:5],
        "bootstrap": bootstrap(GaussianNB(), 10),
    }
    return nb.yardstick(methods, NUMBERS, tables=12, rows=20).loc["numbers"]


@pytest.mark.parametrize("method", ["exact", "right", "five draws"])
def test_the_exact_law_is_at_no_distance_from_itself_and_holds_the_truth_as_often_as_it_says(
    method: str, found: pd.DataFrame
) -> None:
    line = found.loc[method]
    assert abs(line["distance"]) < 4 * line["se_distance"]
    assert line["se_distance"] < (0.01 if method == "five draws" else 0.002)
    assert line["level"] == pytest.approx(4 / 6 if method == "five draws" else 0.89)
    assert abs(line["coverage"] - line["level"]) < 4 * line["se_coverage"]


def test_a_bootstrap_is_farther_away_and_predicts_the_truth_worse(found: pd.DataFrame) -> None:
    assert found.loc["bootstrap", "distance"] > 5 * found.loc["bootstrap", "se_distance"]
    assert found.loc["bootstrap", "crps"] > found.loc["exact", "crps"]


def test_scores_are_those_of_the_definitions() -> None:
    rng = default_rng(0)
    law, exact, again = rng.beta([2, 5, 1], [3, 2, 1], (3, 400, 3))
    truth = np.array([0.3, 0.6, 0.9])
    table = DrawnTable(pd.DataFrame(), truth, pd.DataFrame(), truth, (exact, again, again))
    got = scored(law, table, 0.8)
    ends = np.quantile(law, [0.1, 0.9], axis=0, method="weibull")
    assert_allclose(got["coverage"], ((ends[0] <= truth) & (truth <= ends[1])).mean())
    assert_allclose(got["width"], np.diff(ends, axis=0).mean())
    apart = np.mean([wasserstein_distance(*pair) for pair in zip(law.T, exact.T, strict=True)])
    noise = np.mean([wasserstein_distance(*pair) for pair in zip(again.T, exact.T, strict=True)])
    assert_allclose(got["distance"], apart - noise, rtol=1e-9)
    crps = np.abs(law - truth).mean(0) - np.abs(law[:, None] - law[None]).sum((0, 1)) / (2 * 400 * 399)
    assert_allclose(got["crps"], crps.mean(), rtol=1e-9)


@pytest.mark.parametrize("draws", [2, 5, 20])
def test_the_exact_law_is_judged_the_same_with_few_draws_as_with_many(draws: int) -> None:
    """A rank of the truth among m + 1 exchangeable draws is uniform, so the best interval covers (m - 1) / (m + 1)."""
    rng, tables = default_rng(draws), []
    for _ in range(200):
        shape = rng.uniform(0.5, 5, (2, 8))
        truth, law, *exact = rng.beta(*shape, (8,)), *rng.beta(*shape[:, None], (3, 400, 8))
        few = scored(law[:draws], DrawnTable(pd.DataFrame(), truth, pd.DataFrame(), truth, (*exact, exact[0])), 0.89)
        many = scored(law, DrawnTable(pd.DataFrame(), truth, pd.DataFrame(), truth, (*exact, exact[0])), 0.89)
        assert few["draws"] == draws
        assert few["level"] == min(0.89, (draws - 1) / (draws + 1))
        level = few["level"] if draws < 20 else 0.89
        tables.append((few["coverage"] - level, few["crps"] - many["crps"], few["distance"]))
    mean, error = np.mean(tables, axis=0), np.std(tables, axis=0) / np.sqrt(len(tables))
    assert_allclose(mean / error, 0, atol=4)
    assert error.max() < 0.014


def test_draws_beyond_those_that_are_compared_are_thinned() -> None:
    rng = default_rng(0)
    truth, law, exact = rng.random(3), rng.random((1300, 3)), rng.random((400, 3))
    table = DrawnTable(pd.DataFrame(), truth, pd.DataFrame(), truth, (exact,) * 3)
    assert scored(law, table, 0.89) == scored(law[np.arange(400) * 1300 // 400], table, 0.89)


def test_an_interval_alone_has_a_coverage_and_a_width() -> None:
    truth = np.array([0.3, 0.6])
    table = DrawnTable(pd.DataFrame(), truth, pd.DataFrame(), truth, (np.zeros((4, 2)),) * 3)
    got = scored(np.array([[0.4, 0.2], [0.7, 0.9]]), table, 0.89)
    assert_allclose([got["coverage"], got["width"], got["level"]], [0.5, 0.2, 0.89])
    assert np.isnan([got["crps"], got["distance"], got["draws"]]).all()


@pytest.mark.parametrize("world", WORLDS)
def test_every_kind_of_method_answers_in_every_world(world: str) -> None:
    methods = {
        "ours": ours(),
        "weighted": ours(dependence="weighted"),
        "bootstrap": bootstrap(GaussianNB(), 3),
        "members": members(GaussianNB(), 2),
        "laplace": laplace(),
        "intervals": venn_abers(GaussianNB()),
    }
    found = nb.yardstick(methods, {world: WORLDS[world]}, tables=1, rows=16, asked=4)
    assert found["coverage"].between(0, 1).all()
    assert (found["true"] == WORLDS[world].true).all()
    assert found["distance"].isna().sum() == 1


def test_the_same_seed_gives_the_same_scores() -> None:
    methods = {"ours": ours(), "bootstrap": bootstrap(GaussianNB(), 3)}
    one, two = (
        nb.yardstick(methods, {"both": WORLDS["both"]}, tables=2, rows=16, asked=4).drop(columns="seconds")
        for _ in range(2)
    )
    pd.testing.assert_frame_equal(one, two)


def test_repeated_columns_leave_the_truth_as_it_is_and_make_naive_bayes_too_sure() -> None:
    found = nb.yardstick(ours(), {"repeated": WORLDS["repeated numbers"]}, tables=6, rows=30).loc["repeated"]
    assert found.loc["method", "coverage"] < 0.75 < found.loc["exact", "coverage"]


def test_an_answer_of_another_shape_is_refused_with_the_name_of_the_method() -> None:
    def wrong(X: Any, y: Any, asked: Any, rng: Any) -> np.ndarray:
        return np.zeros(3)

    with pytest.raises(
        ValueError, match=r"method 'wrong': Expected at least two draws \(draw, 25\) or ends of intervals"
    ):
        nb.yardstick(wrong, NUMBERS, tables=1)


@pytest.mark.parametrize(("methods", "worlds", "said"), [
    ({"a": "text"}, None, "methods as a function"),
    (pd.DataFrame({"x": [1.0]}), None, "methods as a function"),
    (ours(), pd.Series([0, 1]), r"worlds as \{name: World\}"),
])  # fmt: skip
def test_a_yardstick_for_a_table_says_what_it_measures(methods, worlds, said):
    with pytest.raises(TypeError, match=said):
        nb.yardstick(methods, worlds, tables=1)
