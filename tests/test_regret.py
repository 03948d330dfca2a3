"""What MAP costs beside full Bayes, and what further rows are worth."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.random import default_rng
from numpy.testing import assert_allclose
from scipy.special import rel_entr

import bayesnb as nb
from bayesnb.cli import main
from bayesnb.evaluation import comparison
from bayesnb.inference.further_rows import drawn_statistic, rows_needed
from bayesnb.model import normalize
from bayesnb.priors import Beta, Dirichlet, Gamma, NormalGamma
from bayesnb.statistics.statistic import Labels

COSTS = pd.DataFrame({"play": [10.0, 0.0], "stay": [0.0, 4.0]}, index=["no", "yes"])


@pytest.fixture(scope="module")
def tennis() -> tuple[Any, pd.DataFrame, pd.Series]:
    X, y = nb.datasets.play_tennis()
    return nb.BayesianNB({"outlook": nb.Categorical(Dirichlet.laplace(2.0))}, random_state=0).fit(X, y), X, y


def by_estimate(clf: Any, estimate: str, X: Any) -> Any:
    return clf.classifier_.with_estimate(estimate).predict_proba(X)


def test_the_regret_in_log_loss_is_the_divergence_of_the_plug_in_from_the_predictive() -> None:
    X, y = nb.datasets.heights()
    clf = nb.BayesianNB().fit(X, y)
    found = nb.design.plug_in_regret(clf, X)
    for estimate in ("mle", "map", "mean"):
        expected = rel_entr(clf.predict_proba(X), by_estimate(clf, estimate, X)).sum(1)
        assert_allclose(found[estimate], expected, atol=1e-14)
    assert (found.to_numpy() >= 0).all()


def test_the_regret_by_costs_is_how_much_more_the_decision_is_expected_to_cost(tennis: Any) -> None:
    clf, X, _ = tennis
    found = nb.design.plug_in_regret(clf, X, COSTS)
    p, cost = clf.predict_proba(X), COSTS.to_numpy()
    for estimate in found:
        decision = (by_estimate(clf, estimate, X) @ cost).argmin(1)
        assert_allclose(found[estimate], (p @ cost)[np.arange(len(p)), decision] - (p @ cost).min(1), atol=1e-14)


def test_where_a_plug_in_says_that_a_possible_class_is_impossible_it_costs_infinitely_much(tennis: Any) -> None:
    clf, X, _ = tennis
    overcast = X[X["outlook"] == "overcast"]
    assert np.isinf(nb.design.plug_in_regret(clf, overcast)["mle"]).all()
    assert (nb.design.plug_in_regret(clf, overcast, "accuracy")["mle"] < 1).all()


@pytest.fixture(scope="module")
def far() -> tuple[pd.DataFrame, np.ndarray]:
    """Rows far from all other classes, and a row with a wrong label: most probabilities underflow."""
    y = np.repeat([0, 1], 200)
    X = pd.DataFrame(default_rng(0).normal(y[:, None], 0.01, (400, 12)), columns=list("abcdefghijkl"))
    X.iloc[0] = 1.0
    return X, y


def test_a_probability_that_is_too_small_for_a_float_is_not_0(far: Any) -> None:
    X, y = far
    clf = nb.BayesianNB(random_state=0).fit(X, y)
    log_p, log_q = clf.predict_log_proba(X), clf.classifier_.with_estimate("mean").predict_log_proba(X)
    assert (np.exp(log_q) == 0).any()
    found = nb.design.plug_in_regret(clf, X)
    assert_allclose(found["mean"], (np.exp(log_p) * (log_p - log_q)).sum(1), atol=1e-14)
    assert np.isfinite(nb.design.worth_of_rows(clf, [0, 400], X, y, draws=5)).all(axis=None)
    compared = comparison(nb.BayesianNB(), X, y, dependence=())
    assert compared.table.loc["mean", "regret"] < 1e-9
    assert "probability 0" not in str(compared.regret("mean"))


def test_a_plug_in_that_excludes_a_class_has_infinite_regret_even_if_the_class_is_very_improbable(far: Any) -> None:
    X, y = far
    X = X.assign(m=np.where(y == 1, "red", "blue"))
    clf = nb.BayesianNB(random_state=0).fit(X, y)
    X = X[(clf.predict_proba(X) == 0).any(axis=1)]
    assert len(X)
    assert np.isinf(nb.design.plug_in_regret(clf, X)[["mle", "map"]]).all(axis=None)


@pytest.mark.parametrize("dependence", ["none", "tempered"])
def test_the_log_loss_that_a_model_file_holds_is_finite_if_probabilities_underflow(
    dependence: str, far: Any, tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    X, y = far
    X.assign(y=y).to_csv(tmp_path / "far.csv", index=False)
    model = str(tmp_path / "far.bayesnb")
    for command in (
        ["fit", str(tmp_path / "far.csv"), "--target", "y", "--dependence", dependence, "-o", model],
        ["inspect", model],
    ):
        with pytest.raises(SystemExit, match="0"):
            main(command)
    loss = nb.evaluate(nb.BayesianNB(), X, y)["log_loss"]
    said = " ".join(capsys.readouterr().out.split())
    assert "log loss inf" not in said
    assert f"log loss {loss:.2f}" in said or dependence != "none"


def test_a_plug_in_that_does_not_exist_is_left_out_with_the_reason() -> None:
    X, y = nb.datasets.play_tennis()
    clf = nb.BayesianNB(nb.Categorical(Dirichlet.jeffreys())).fit(X, y)
    found = nb.design.plug_in_regret(clf, X)
    assert "map" not in found
    assert "boundary" in found.attrs["absent"]["map"]


FAMILIES = {
    "zeros and ones": nb.Bernoulli(Beta(1.0, 2.0)),
    "levels": nb.Categorical(Dirichlet({"a": 1.0, "b": 2.0, "c": 1.5})),
    "numbers": nb.Gaussian(NormalGamma(0.0, 1.0, 3.0, 3.0)),
    "waits": nb.families.Exponential(Gamma(3.0, 2.0)),
    "counts": nb.Poisson(Gamma(3.0, 1.0)),
}


def column_of(family: str, y: np.ndarray, rng: np.random.Generator) -> pd.DataFrame:
    cells = {
        "zeros and ones": lambda: rng.binomial(1, 0.3 + 0.4 * y),
        "levels": lambda: np.array(list("abc"))[rng.binomial(2, 0.3 + 0.4 * y)],
        "numbers": lambda: rng.normal(y, 1.0),
        "waits": lambda: rng.exponential(1.0 + y),
        "counts": lambda: rng.poisson(1.0 + 2 * y),
    }[family]
    return pd.DataFrame({family: cells()})


@pytest.mark.slow
def test_loss_and_regret_after_further_rows_are_those_of_refits_to_rows_drawn_from_the_model() -> None:
    rng = default_rng(1)
    y = rng.integers(2, size=12)
    X = pd.concat([column_of(family, y, rng) for family in FAMILIES], axis=1)
    clf = nb.BayesianNB(FAMILIES, class_prior=Dirichlet({0: 1.0, 1: 1.0}), random_state=0).fit(X, y)
    found = nb.design.worth_of_rows(clf, [0, 10], draws=60, rows=20)
    losses, costs = [], []
    for k in range(30):
        theta = clf.posterior_.draw(rng, (1,)).at(0)
        believed = replace(clf.classifier_.believed, estimate="mean", plug_in=theta)
        world = replace(clf.classifier_, believed=believed, seed=k)
        rows = nb.draws.sample(world, 30)
        codes = rows.pop("y").to_numpy()
        again = nb.BayesianNB(**clf.get_params(deep=False)).fit(pd.concat([X, rows[:10]]), np.append(y, codes[:10]))
        truth, stated = world.predict_proba(rows[10:]), again.predict_log_proba(rows[10:])
        losses.append(-(truth * stated).sum(1).mean())
        costs.append(nb.design.plug_in_regret(again, rows[10:])["mean"].mean())
    regret_error = np.std(costs) * np.sqrt(1 / len(costs) + 1 / 60)
    assert abs(found.loc[10, "regret of mean"] - np.mean(costs)) < 4 * regret_error
    error = np.std(losses) * np.sqrt(1 / len(losses) + 1 / 60)
    assert abs(found.loc[10, "loss"] - np.mean(losses)) < 4 * error
    assert found.loc[10, "saving"] > error


def test_without_further_rows_the_expected_loss_is_the_mean_entropy_of_the_predictive() -> None:
    X, y = nb.datasets.heights()
    clf = nb.BayesianNB(random_state=0).fit(X, y)
    found = nb.design.worth_of_rows(clf, [0], draws=100, rows=50)
    rows = nb.draws.sample(clf, 2000)[clf.feature_names_in_]
    p = clf.predict_proba(rows)
    assert_allclose(found.loc[0, "loss"], -(p * np.log(p)).sum(1).mean(), atol=0.04)


def test_the_regret_of_a_plug_in_falls_with_further_rows_and_the_band_holds_the_loss() -> None:
    X, y = nb.datasets.heights()
    found = nb.design.worth_of_rows(nb.BayesianNB(random_state=0).fit(X, y), [0, 40, 160], draws=40)
    assert (found[[c for c in found if c.startswith("regret")]].diff().dropna() < 0).all(axis=None)
    assert found["loss"].between(found["lower"], found["upper"]).all()


@pytest.mark.parametrize(
    ("regret", "bound", "needed"),
    [
        ([0.1, 0.01, 0.001], 0.01, 90),
        ([0.1, 0.001, 0.0], 0.01, 22),
        ([0.005, 0.004, 0.001], 0.01, 0),
        ([0.3, 0.2, 0.1], 0.01, np.inf),
    ],
)
def test_rows_needed_lie_between_two_sizes_as_a_regret_falls_with_the_rows(
    regret: list[float], bound: float, needed: float
) -> None:
    assert rows_needed(10, np.array([0, 90, 990]), np.array(regret), bound) == needed


def test_compare_sets_the_regret_beside_what_left_out_rows_say() -> None:
    X, y = nb.datasets.heights()
    compared = comparison(nb.BayesianNB(), X, y, dependence=())
    p, q = (np.exp(normalize(compared.answers[name])) for name in ("predictive", "map"))
    assert_allclose(compared.table.loc["map", "regret"], rel_entr(p, q).sum(1).mean())
    gap = np.log(p / q)[np.arange(40), compared.codes]
    said = f"on held-out rows, by {abs(gap.mean()):.3f} ± {gap.std() / np.sqrt(40):.3f};"
    assert said in str(compared.regret("map"))


@pytest.mark.usefixtures("few_drawn_rows")
def test_the_command_says_what_more_rows_are_worth(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["compare", "heights", "--dependence", "none", "--more", "40", "--format", "json"])
    found = json.loads(capsys.readouterr().out)["more"]
    X, y = nb.datasets.heights()
    clf = nb.BayesianNB(random_state=0).fit(X, y)
    expected = nb.design.worth_of_rows(clf, [0, 40], X, y, prob=0.89)
    assert [line["more"] for line in found["table"]] == [0, 40]
    assert_allclose([line["loss"] for line in found["table"]], expected["loss"])
    assert found["rows_needed"] == expected.attrs["rows_needed"]


def test_the_picture_shows_the_loss_and_the_regrets_over_all_rows() -> None:
    X, y = nb.datasets.heights()
    found = nb.design.worth_of_rows(nb.BayesianNB(random_state=0).fit(X, y), [0, 40], draws=5)
    left, right = nb.plots.worth_of_rows(found).axes
    assert_allclose(left.lines[0].get_xdata(), [40, 80])
    assert_allclose(right.lines[1].get_ydata(), found["regret of map"])


REFUSED = {
    "a regret of unknown costs": (
        lambda clf, X, y: nb.design.plug_in_regret(clf, X, "hinge"),
        "'log loss', 'accuracy'",
    ),
    "rows of a number below 0": (
        lambda clf, X, y: nb.design.worth_of_rows(clf, [-1]),
        "more to hold numbers of rows, 0 or more",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_has_no_answer_is_refused_with_the_cure(case: str, tennis: Any) -> None:
    ask, words = REFUSED[case]
    with pytest.raises(ValueError, match=words):
        ask(*tennis)


def test_with_a_dependence_rows_to_ask_about_must_be_given() -> None:
    X, y = nb.datasets.heights()
    clf = nb.BayesianNB(dependence="tempered", random_state=0).fit(X, y)
    for ask in (nb.design.plug_in_regret, nb.design.worth_of_rows):
        with pytest.raises(ValueError, match="pass X"):
            ask(clf)
    assert list(nb.design.plug_in_regret(clf, X)) == ["map", "mean"]
    found = nb.design.worth_of_rows(clf, [0, 40, 400], X, y, draws=20)
    assert found["loss"].is_monotonic_decreasing


def test_the_loss_of_learned_rows_is_that_of_leave_one_out_though_the_model_is_wrong() -> None:
    rng = default_rng(0)
    y = rng.integers(2, size=60)
    x = rng.normal(y)
    X = pd.DataFrame({f"copy {k}": x for k in range(4)})
    clf = nb.BayesianNB(random_state=0).fit(X, y)
    found = nb.design.worth_of_rows(clf, [0], X, y, draws=60)
    left_out = nb.evaluate(nb.BayesianNB(), X, y)["log_loss"]
    assert found.loc[0, "loss"] == pytest.approx(left_out, abs=1e-12)
    more = nb.design.worth_of_rows(clf, [0, 30], X, y, draws=5)
    assert more.loc[0, "loss"] == pytest.approx(left_out, abs=1e-12)
    assert more.loc[30, "loss"] == pytest.approx(left_out - more.loc[30, "saving"], abs=1e-12)
    assert found.loc[0, "lower"] < left_out < found.loc[0, "upper"]
    # The model itself expects far less, because it takes the copies as independent.
    assert nb.design.worth_of_rows(clf, [0], draws=40).loc[0, "upper"] < left_out


def test_the_regret_of_a_plug_in_on_learned_rows_is_that_of_rows_left_out() -> None:
    # Without its row, the level "c" has probability 0 in every class.
    X = pd.DataFrame({"level": ["a", "a", "b", "a", "b", "b", "c", "a"], "x": [0.0, 1, 2, 3, 2, 4, 5, 1]})
    y = ["no", "no", "yes", "no", "yes", "yes", "yes", "yes"]
    clf = nb.BayesianNB({"level": nb.Categorical()}, random_state=0).fit(X, y)
    assert np.isfinite(nb.design.plug_in_regret(clf, X[X["level"] == "a"])).any(axis=None)
    found = nb.design.worth_of_rows(clf, [0, 8], X, y, draws=20)
    assert found.loc[0, "regret of map"] == found.attrs["rows_needed"]["map"] == np.inf
    assert (
        nb.evaluation.compare_estimates(nb.BayesianNB({"level": nb.Categorical()}), X, y).loc["map", "regret"] == np.inf
    )


def test_a_plug_in_that_does_not_exist_needs_no_number_of_rows_and_says_why() -> None:
    rng = default_rng(0)
    y = np.repeat(["no", "yes"], 30)
    X = pd.DataFrame({"pain": rng.binomial(10, np.where(y == "no", 0.3, 0.6))})
    clf = nb.BayesianNB({"pain": nb.families.Ordinal()}, random_state=0)
    found = nb.design.worth_of_rows(clf.fit(X, y), [0, 60], X, y, draws=3)
    assert np.isnan(found["regret of map"]).all()
    assert np.isnan(found.attrs["rows_needed"]["map"])
    compared = nb.evaluation.comparison(clf, X, y, dependence=())
    assert "map is not scored: feature 'pain'" in str(compared)
    assert "map is not scored: feature &#x27;pain" in compared._repr_html_()
    with pytest.raises(ValueError, match="no closed form"):
        compared.regret("map")


@pytest.mark.parametrize("family", FAMILIES)
def test_statistics_that_are_drawn_have_the_mean_and_the_spread_of_those_of_rows(family: str) -> None:
    rng = default_rng(2)
    y, codes = np.repeat([0, 1], 6), np.repeat([0, 1], [9, 4])
    clf = nb.BayesianNB({family: FAMILIES[family]}).fit(column_of(family, y, rng), y).classifier_
    theta, model = clf.posterior.draw(rng, (1,)).at(0).features[family], clf.posterior.model.features[family]
    s, read = clf.statistics.features[family], clf.schema.features[family].read

    def numbers(found: Any) -> np.ndarray:
        return np.concatenate([found.arrays()[name].ravel() for name in found.arrays() if "log" not in name])

    by_rows, drawn = [], []
    for _ in range(400):
        cells = model.sample({name: value[codes] for name, value in theta.items()}, rng, s)
        by_rows.append(numbers(model.statistic(read(cells), Labels.of(codes, 2))))
        drawn.append(numbers(drawn_statistic(model, theta, s, np.array([9, 4]), np.ones(1), rng, read)))
    a, b = np.array(by_rows), np.array(drawn)
    error = np.sqrt((a.var(0) + b.var(0)) / len(a))
    assert (np.abs(a.mean(0) - b.mean(0)) <= 4 * error + 1e-12).all()
    assert_allclose(a.std(0), b.std(0), rtol=0.25, atol=1e-6)


def test_rows_left_out_of_the_exponents_are_nearer_to_refits_than_with_the_exponents_held() -> None:
    X, y = nb.datasets.heights()
    prior = nb.Gaussian(NormalGamma(120.0, 0.1, 1.0, 400.0))
    spec = {"features": dict.fromkeys(X, prior), "dependence": "weighted", "class_prior": "uniform"}
    clf = nb.BayesianNB(**spec).fit(X, y).classifier_
    left_out = clf.dependence.rows(clf.posterior, *clf.learned(X, y, None))
    held, without, codes = clf.dependence.left_out_of_exponents(left_out, 2)
    refits = []
    rows = np.arange(0, len(X), 2)
    for i in rows:
        rest = np.arange(len(X)) != i
        refits.append(nb.BayesianNB(**spec).fit(X[rest], y[rest]).predict_proba(X[i : i + 1])[0])
    each = without[rows], held[rows], np.log(refits)
    loss, optimistic, refit = (-log_p[np.arange(len(log_p)), codes[rows]].mean() for log_p in each)
    assert_allclose(np.exp(without).sum(1), 1)
    assert optimistic < refit
    assert abs(loss - refit) < abs(optimistic - refit)
