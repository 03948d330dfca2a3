"""How the comparison on real tables scores and ranks, without its tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.random import default_rng
from numpy.testing import assert_allclose

from benchmarks import prediction
from benchmarks.predictors import METHODS, coded, named


def test_the_calibration_error_is_how_far_the_top_probability_is_from_the_share_that_is_right():
    p = np.array([[0.7, 0.3]] * 10)
    assert_allclose(prediction.calibration_error(p, np.repeat([0, 1], [7, 3])), 0.0, atol=1e-12)
    assert_allclose(prediction.calibration_error(p, np.zeros(10, int)), 0.3)
    assert_allclose(prediction.calibration_error(np.eye(2)[[0, 1]], np.array([0, 1])), 0.0)


def test_means_and_ranks_are_over_the_tables_that_every_method_answered():
    def of(*losses: float) -> dict:
        return {f"t{k}": dict.fromkeys(prediction.COLUMNS, loss) for k, loss in enumerate(losses)}

    # "b" did not end on the third table.
    scores = {"a": of(0.1, 0.4, 9.0), "b": of(0.2, 0.3, np.nan)}
    found = prediction.summary(scores, ["t0", "t1", "t2"], ["a", "b"])
    assert found.attrs["tables"] == 2
    assert_allclose(found["log_loss"], 0.25)
    assert_allclose(found["rank"], 1.5)
    assert_allclose(found.loc[["a", "b"], "tail_true"], [0.5, 0.5])


def even(x: pd.DataFrame, y: np.ndarray):
    return lambda new: np.full((len(new), 2), 0.5)


def test_the_tail_counts_how_many_small_probabilities_came_true_and_how_many_were_expected():
    y = np.arange(100) % 2
    found = prediction.score(
        lambda x, y: lambda new: np.tile([0.9995, 0.0005], (len(new), 1)), pd.DataFrame({"x": y}), y
    )
    assert (found["tail_cells"], found["tail_true"]) == (100, 50)
    assert_allclose(found["tail_expected"], 0.05)


@pytest.mark.slow
def test_a_method_that_needs_more_time_than_it_is_given_did_not_end():
    def endless(x: pd.DataFrame, y: np.ndarray):
        while True:
            pass

    x, y = pd.DataFrame({"x": np.arange(20.0)}), np.arange(20) % 2
    assert np.isnan(prediction.score_within(1, endless, x, y)["log_loss"])
    assert_allclose(prediction.score_within(60, even, x, y)["log_loss"], np.log(2))


@pytest.mark.parametrize(
    "name",
    [
        "naive Bayes",
        "naive Bayes of best families",
        "pairwise",
        "scikit-learn naive Bayes",
        "logistic regression, tuned",
        "support vectors, tuned",
    ],
)
def test_a_method_gives_probabilities_of_mixed_rows_with_unseen_levels(name):
    rng = default_rng(0)
    y = rng.integers(3, size=90)
    x = pd.DataFrame({"x": rng.normal(y), "c": np.where(rng.random(90) < 0.5, "a", np.array(list("bcd"))[y])})
    new = pd.DataFrame({"x": [0.0, 1.0], "c": np.array(["a", "never"], object)})
    x["c"] = x["c"].astype(object)
    p = METHODS[name](x, y)(new)
    assert p.shape == (2, 3)
    assert_allclose(p.sum(1), 1.0)
    assert coded(new, named(x)).ravel().tolist() == [0, -1]


@pytest.mark.slow
def test_the_forest_is_never_certain_and_its_temperature_is_that_of_out_of_bag_rows():
    rng = default_rng(0)
    y = rng.integers(2, size=300)
    x = pd.DataFrame({"x": rng.normal(y)})
    plain, tempered = (METHODS[f"random forest, {name}"](x, y)(x.iloc[:50]) for name in ("defaults", "tempered"))
    assert (plain == 0).any()
    assert (tempered > 0).all()
    # Trees that are grown to the last row are much too sure of a column that says little.
    assert tempered.max() < 0.95


def test_what_is_in_the_file_of_scores_is_not_computed_again(tmp_path, monkeypatch):
    calls = []
    monkeypatch.setattr(prediction, "load", lambda name: (pd.DataFrame({"x": np.arange(20.0)}), np.arange(20) % 2))
    monkeypatch.setitem(prediction.METHODS, "even", lambda x, y: calls.append(1) or even(x, y))
    for _ in range(2):
        scores = prediction.computed(["t"], ["even"], tmp_path / "scores.csv")
    assert len(calls) == 5
    assert_allclose(scores["even"]["t"]["log_loss"], np.log(2), rtol=1e-5)  # the file keeps six digits
    assert prediction.read_scores(tmp_path / "scores.csv") == scores
