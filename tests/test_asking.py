"""What to ask next: the worth of a missing value beside enumeration and fine grids, and rows to label."""

from __future__ import annotations

import io
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from conftest import FEATURES, mixed, run
from numpy.testing import assert_allclose
from scipy.special import entr, logsumexp
from scipy.stats import entropy

import bayesnb as nb
from bayesnb import BayesianNB, Binned, Poisson, datasets
from bayesnb.families import Exponential, Hurdle
from bayesnb.inference import ask as asking

COSTS = pd.DataFrame({"play": [10.0, 0.0], "stay": [0.0, 4.0]}, index=["no", "yes"])


def worth(clf, row: dict, column: str, values, costs=None) -> float:
    """Information or saving of a column of levels, by predicting every completed row."""
    whole = pd.DataFrame([row | {column: value} for value in values])
    weight = np.exp(np.logaddexp.reduce(clf.predict_joint_log_proba(whole), axis=1))
    weight, after = weight / weight.sum(), clf.predict_proba(whole)
    before = weight @ after
    if costs is None:
        return entropy(before) - weight @ entropy(after, axis=1)
    matrix = costs.loc[list(clf.classes_)].to_numpy()
    return (before @ matrix).min() - weight @ (after @ matrix).min(axis=1)


@pytest.mark.parametrize("how", [{}, {"estimate": "map"}, {"dependence": "tempered"}, {"unseen": "new"}])
def test_levels_are_worth_what_enumeration_says(how):
    X, y = datasets.play_tennis()
    clf = BayesianNB(**how).fit(X, y)
    row = dict.fromkeys(X.columns) | {"wind": "strong"}
    found = nb.design.ask_next(clf, pd.DataFrame([row]), COSTS)
    assert set(found.index) == {"outlook", "temperature", "humidity"}
    for column in found.index:
        levels = [*sorted(set(X[column])), *(["never seen"] if "unseen" in how else [])]
        assert found.loc[column, "information"] == pytest.approx(worth(clf, row, column, levels), rel=1e-9, abs=1e-14)
        assert found.loc[column, "saving"] == pytest.approx(worth(clf, row, column, levels, COSTS), rel=1e-9, abs=1e-14)
    assert found["gain"].is_monotonic_decreasing
    assert found.attrs["left_out"] < 1e-12


def test_without_a_dependence_the_entropy_now_is_that_of_the_mean_over_answers():
    X, y = datasets.play_tennis()
    clf = BayesianNB().fit(X, y)
    found = nb.design.ask_next(clf, {"wind": ["strong"]})
    now = clf.set_params(absent="missing").predict_proba({"wind": ["strong"]})[0]
    assert found.attrs["entropy"] == pytest.approx(entropy(now))
    assert found["information"].is_monotonic_decreasing
    assert list(found.columns) == ["information"]


@pytest.mark.parametrize("how", [{}, {"dependence": "tempered"}])
def test_reals_are_worth_what_a_fine_grid_says(how):
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=40)
    X = pd.DataFrame({"x": rng.normal(np.array([0, 3, 3.0])[y], np.array([1, 0.01, 5])[y]), "z": rng.normal(y)})
    clf = BayesianNB(**how).fit(X, y)
    row = pd.DataFrame({"x": [np.nan], "z": [1.2]})
    log_row = np.logaddexp.reduce(clf.predict_joint_log_proba(row)[0])
    # The trapezoid rule of a variable u with x = 3 + sinh(u), which is fine around the narrow class at 3.
    u = np.linspace(-12, 12, 8_001)
    values = pd.DataFrame({"x": 3 + np.sinh(u), "z": 1.2})
    q = np.exp(clf.predict_joint_log_proba(values) - log_row) * (np.cosh(u) * (u[1] - u[0]))[:, None]
    assert q.sum() == pytest.approx(1, abs=1e-6)
    found = nb.design.ask_next(clf, row)
    expected = entropy(q.sum(0)) - q.sum(1) @ entropy(q, axis=1)
    assert found.loc["x", "information"] == pytest.approx(expected, abs=1e-5)
    assert found.attrs["left_out"] < 1e-8


def test_an_amount_that_may_be_zero_is_worth_what_the_zero_and_a_fine_grid_say():
    rng = np.random.default_rng(2)
    y = rng.integers(2, size=60)
    X = pd.DataFrame({"claim": np.where(rng.random(60) < 0.2 + 0.5 * y, 0.0, rng.lognormal(3.0, 1.0, 60))})
    clf = BayesianNB({"claim": Hurdle()}).fit(X, y)
    u = np.linspace(-60, 60, 8_001)
    zero = np.exp(clf.predict_joint_log_proba({"claim": [0.0]}))
    q = np.exp(clf.predict_joint_log_proba({"claim": np.exp(u)}) + u[:, None]) * (u[1] - u[0])
    q = np.concatenate([zero, q])
    assert q.sum() == pytest.approx(1, abs=1e-6)
    found = nb.design.ask_next(clf, {"claim": [np.nan]})
    expected = entropy(q.sum(0)) - q.sum(1) @ entropy(q, axis=1)
    assert found.loc["claim", "information"] == pytest.approx(expected, abs=1e-5)
    assert found.attrs["left_out"] < 1e-6


def test_counts_and_positive_numbers_and_bins_are_worth_what_sums_say():
    rng = np.random.default_rng(1)
    y = rng.integers(2, size=60)
    X = pd.DataFrame({
        "n": rng.poisson(3 + 2 * y).astype(float),
        "wait": rng.exponential(1.0 + 2 * y),
        "binned": rng.normal(y),
        "wet": rng.random(60) < 0.3 + 0.4 * y,
    })  # fmt: skip
    clf = BayesianNB({"n": Poisson(), "wait": Exponential(), "binned": Binned(edges=[0.0, 1.0])}).fit(X, y)
    row = {"n": None, "wait": None, "binned": None, "wet": None}
    found = nb.design.ask_next(clf, pd.DataFrame([row]).astype({"n": float, "wait": float, "binned": float}))
    assert found.loc["wet", "information"] == pytest.approx(worth(clf, row, "wet", [False, True]), rel=1e-9)
    assert found.loc["binned", "information"] == pytest.approx(worth(clf, row, "binned", [-1.0, 0.5, 2.0]), rel=1e-9)
    assert found.loc["n", "information"] == pytest.approx(worth(clf, row, "n", np.arange(200.0)), rel=1e-8)
    # The fine grid of a variable u on (0, 1) with x = u / (1 - u).
    u = (np.arange(20_000) + 0.5) / 20_000
    whole = pd.DataFrame([row] * len(u)).assign(wait=u / (1 - u)).astype({"n": float, "binned": float})
    q = np.exp(clf.predict_joint_log_proba(whole)) / (1 - u[:, None]) ** 2 / len(u)
    assert found.loc["wait", "information"] == pytest.approx(asking.information(q / q.sum()), abs=1e-6)
    assert found.attrs["left_out"] < 1e-8


def test_columns_whose_value_cannot_be_asked_for_are_named():
    X, y = mixed(40)
    clf = BayesianNB(FEATURES).fit(X, y)
    row = X[:1].assign(cat=np.nan, dog=np.nan, emu=np.nan, events=np.nan, hours=np.nan, g=np.nan, b=None)
    found = nb.design.ask_next(clf, row)
    assert found.attrs["not_asked"] == ["events", "words"]
    assert {"g", "b"} <= set(found.index)
    assert (found["information"] >= 0).all()
    with_hours = nb.design.ask_next(clf, row.assign(hours=1.5))
    assert "events" in with_hours.index
    assert with_hours.attrs["not_asked"] == ["words"]


def test_a_bound_is_a_known_cell_whose_number_is_neither_asked_for_nor_filled_in():
    rng = np.random.default_rng(0)
    y, cells = np.repeat(["a", "b"], 40), np.round(rng.gamma(2.0, np.repeat([1.0, 3.0], 40)), 1)
    texts = [f"{cell}" if cell > 1 else "<1" for cell in cells]
    X = pd.DataFrame({"crp": texts, "x": rng.normal(size=80)})
    clf = BayesianNB({"crp": "bounded"}).fit(X, y)
    row = pd.DataFrame({"crp": ["<1", None, "2.5"], "x": [None, 0.5, None]})
    asked = [set(nb.design.ask_next(clf, row[k : k + 1]).index) for k in range(3)]
    assert asked == [{"x"}, {"crp"}, {"x"}]
    filled = nb.deploy.fill_in(clf, row).index
    assert set(filled) == {(0, "x"), (1, "kind of crp"), (1, "number of crp"), (2, "x")}


def test_a_whole_row_has_nothing_to_ask():
    X, y = datasets.play_tennis()
    found = nb.design.ask_next(BayesianNB().fit(X, y), X[:1], COSTS)
    assert list(found.columns) == ["information", "saving", "cost", "gain"]
    assert len(found) == 0


def test_an_answer_that_changes_no_decision_saves_nothing():
    X, y = datasets.play_tennis()
    clf = BayesianNB().fit(X, y)
    always = pd.DataFrame({"play": [1.0, 0.0], "stay": [0.0, 1e6]}, index=["no", "yes"])
    found = nb.design.ask_next(clf, {"wind": ["strong"]}, always, dict.fromkeys(X.columns, 0.5))
    assert_allclose(found["saving"], 0, atol=1e-9)
    assert_allclose(found["gain"], -0.5)
    assert (found["information"] > 0).all()


# Rows to label


def test_the_row_to_label_is_the_one_of_the_largest_epistemic_uncertainty():
    X, y = mixed(60, "uvw")
    clf = BayesianNB(FEATURES, random_state=0).fit(X[:12], y[:12])
    pool = X[12:]
    found = nb.design.label_next(clf, pool)
    epistemic = clf.uncertainty(pool)["epistemic"]
    assert found.index.tolist() == [epistemic.idxmax()]
    assert found["information"].iloc[0] == pytest.approx(epistemic.max())
    assert found["prediction"].iloc[0] == clf.predict(pool.loc[found.index])[0]


def test_the_screen_of_one_row_to_label_names_the_option_for_more(tmp_path, capsys):
    X, y = mixed(60, "uvw")
    X.assign(y=y).to_csv(tmp_path / "t.csv", index=False)
    named = (tmp_path / "t.csv", "--target", "y", "--dependence", "none", "-o", tmp_path / "m.bayesnb")
    assert run(capsys, "fit", *named)[0] == 0
    asked = ("ask", "label-next", tmp_path / "m.bayesnb", tmp_path / "t.csv", "--draws", "50")
    assert "-n 10 chooses ten rows." in run(capsys, *asked)[1]
    assert "-n 10" not in run(capsys, *asked, "-n", "2")[1]


def test_rows_with_a_class_are_left_out_of_the_choice_of_rows_to_label(tmp_path, capsys):
    X, y = mixed(60, "uvw")
    frame = X.assign(y=y)
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.assign(y=frame["y"].where(frame.index < 50)).to_csv(tmp_path / "part.csv", index=False)
    model, fitted = tmp_path / "m.bayesnb", (tmp_path / "t.csv", "--target", "y", "--dependence", "none")
    assert run(capsys, "fit", *fitted, "-o", model)[0] == 0
    asked = ("ask", "label-next", model, tmp_path / "part.csv", "--draws", "50", "-n", "5", "--format", "csv")
    _, out, err = run(capsys, *asked)
    assert "50 rows with a class are left out" in err
    assert pd.read_csv(io.StringIO(out))["row"].min() >= 50


def test_a_batch_is_not_made_of_copies_of_one_row():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"c": list("aabb")})
    clf = BayesianNB(random_state=0).fit(X.astype(pd.CategoricalDtype(list("abcd"))), ["u", "u", "v", "v"])
    pool = pd.DataFrame({"c": ["c"] * 10 + ["d"] * 2}, index=rng.permutation(12) + 100)
    found = nb.design.label_next(clf, pool, n=4)
    chosen = pool.loc[found.index, "c"].tolist()
    assert sorted(chosen) == ["c", "c", "d", "d"]
    assert set(chosen[:2]) == {"c", "d"}
    assert found.index.is_unique
    top = clf.uncertainty(pool)["epistemic"].nlargest(4)
    assert top.max() - top.min() < 0.02  # by themselves, all copies are worth the same


def test_choosing_rows_to_label_leaves_the_model_as_it_was():
    X, y = datasets.play_tennis()
    clf = BayesianNB(random_state=0).fit(X, y)
    before = clf.predict_proba(X)
    assert len(nb.design.label_next(clf, X, n=3, draws=100)) == 3
    assert_allclose(clf.predict_proba(X), before, rtol=0)


@pytest.mark.parametrize("flagged", [False, True])
def test_a_cell_that_becomes_several_columns_is_asked_for_as_a_whole(flagged):
    rng, y = np.random.default_rng(0), np.repeat(["a", "b"], 40)
    counts = rng.poisson(np.repeat([5.0, 9.0], 40))
    cells = pd.Series([str(count) if count > 6 else "<7" for count in counts])
    X = pd.DataFrame({"crp": cells.where(rng.random(80) < np.repeat([0.9, 0.6], 40), None), "x": rng.normal(size=80)})
    clf = BayesianNB({"crp": nb.Missing(nb.Bounded()) if flagged else "bounded", "number of crp": nb.Poisson()}).fit(
        X, y
    )
    row = pd.DataFrame({"x": [0.3]})
    answers = ["<7", *map(str, range(80)), *[None] * flagged]
    table = pd.DataFrame({"crp": answers, "x": 0.3})
    log_joint = clf.predict_joint_log_proba(table)
    joint = np.exp(log_joint - logsumexp(log_joint))
    wanted = entr(joint.sum(0)).sum() + entr(joint.sum(1)).sum() - entr(joint).sum()
    found = nb.design.ask_next(clf, row)
    assert found.index.tolist() == ["crp"]
    assert found.loc["crp", "information"] == pytest.approx(wanted, rel=1e-6)
    costs = pd.DataFrame({"treat": [1.0, 0.0], "wait": [0.0, 2.0]}, index=["a", "b"])
    assert nb.design.ask_next(clf, row, costs, {"crp": 0.1})["cost"].tolist() == [0.1]


def test_a_date_and_several_choices_are_asked_for_by_the_name_of_their_column():
    rng, y = np.random.default_rng(0), np.repeat(["a", "b"], 60)
    tags = [[tag for tag in "pqr" if rng.random() < share] or ["p"] for share in np.repeat([0.3, 0.7], 60)]
    days = pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.integers(0, np.repeat([200, 400], 60)), "D")
    X = pd.DataFrame({"day": days, "tags": [";".join(each) for each in tags], "x": rng.normal(size=120)})
    clf = BayesianNB({"day": nb.Date("elapsed", "month"), "tags": nb.Choices()}).fit(X, y)
    found = nb.design.ask_next(clf, {"x": [0.0]})["information"]
    assert set(found.index) == {"day", "tags"}
    several = [";".join(each) for k in (1, 2, 3) for each in combinations("pqr", k)]
    log_joint = clf.predict_joint_log_proba(pd.DataFrame({"day": None, "tags": several, "x": 0.0}))
    none = clf.predict_joint_log_proba(pd.DataFrame({"day": [None], "tags": [None], "x": [0.0]}))
    joint = np.exp(log_joint - logsumexp(none))
    joint = np.vstack([joint, np.exp(none - logsumexp(none)) - joint.sum(0)])  # No choice at all.
    assert found["tags"] == pytest.approx(entr(joint.sum(0)).sum() + entr(joint.sum(1)).sum() - entr(joint).sum())
    elapsed = BayesianNB({"day": nb.Date("elapsed")}).fit(X, y)
    assert found["day"] > nb.design.ask_next(elapsed, {"x": [0.0]})["information"]["day"]
