"""Any column as the question: missing cells and odd cells, beside enumeration and integration of completed rows."""

import numpy as np
import pandas as pd
import pytest
from conftest import FEATURES, mixed
from numpy.testing import assert_allclose
from scipy.integrate import cumulative_trapezoid
from scipy.special import logsumexp

import bayesnb as nb
from bayesnb import BayesianNB, Missing, Poisson


def density(clf, row: pd.DataFrame, column: str, values) -> np.ndarray:
    """p(row with each value of a column, D), the class summed out."""
    rows = row.iloc[np.zeros(len(values), int)].reset_index(drop=True).assign(**{column: values})
    return np.exp(logsumexp(clf.predict_joint_log_proba(rows), axis=1))


@pytest.fixture(scope="module")
def few():
    X, y = mixed(60, "uvw", {"c": "levels", "b": "flag", "g": "spread", "visits": "count", "area": "positive"})
    return X.assign(b=X["b"].astype(int)), y


@pytest.mark.parametrize("how", [{}, {"estimate": "mean"}, {"dependence": "tempered"}])
def test_a_gap_has_the_distribution_of_completed_rows(few, how):
    X, y = few
    clf = BayesianNB({"visits": Poisson(), "area": nb.families.LogNormal()}, **how).fit(X, y)
    row = X.dropna()[4:5]
    for column, values in {"c": list("abc"), "b": [0, 1], "visits": list(range(60))}.items():
        found = nb.deploy.fill_in(clf, row.drop(columns=column)).loc[(row.index[0], column)]
        expected = density(clf, row, column, values)
        gaps = nb.deploy.fill_in(clf, row.drop(columns=column), answer="distribution")["probability"]
        assert_allclose(
            gaps.loc[(row.index[0], column)].reindex(values), expected / expected.sum(), rtol=1e-8, atol=1e-14
        )
        if column != "visits":
            assert found["value"] == values[expected.argmax()]
            assert found["probability"] == pytest.approx(expected.max() / expected.sum(), rel=1e-9)
    for column, grid in {"g": np.linspace(-60, 60, 4_001), "area": np.geomspace(1e-6, 1e4, 2_001)}.items():
        found = nb.deploy.fill_in(clf, row.drop(columns=column), prob=0.8).loc[(row.index[0], column)]
        below = cumulative_trapezoid(density(clf, row, column, grid), grid, initial=0.0)
        expected = np.interp([0.1, 0.5, 0.9], below / below[-1], grid)
        assert_allclose(found[["lower", "value", "upper"]].to_numpy(float), expected, rtol=0.01)


HURDLE = nb.families.Hurdle()


@pytest.mark.parametrize(
    "family", [HURDLE, nb.families.Mixture([HURDLE, nb.families.Hurdle(nb.families.Exponential())])]
)
@pytest.mark.parametrize("zeros", [0.2, 0.45, 0.7])
def test_the_median_of_a_column_with_many_zeros_is_0_if_half_of_its_mass_is_at_0(family, zeros):
    rng, y = np.random.default_rng(1), np.repeat(["u", "v"], 100)
    rain = np.where(rng.random(200) < zeros, 0.0, np.exp(rng.normal(np.repeat([0.0, 1.0], 100), 0.5)))
    X = pd.DataFrame({"rain": rain, "z": rng.normal(size=200)})
    clf = BayesianNB({"rain": family}).fit(X, y)
    row, grid = X[:1], np.geomspace(1e-4, 1e4, 2_001)
    positive = cumulative_trapezoid(density(clf, row, "rain", grid), grid, initial=0.0)
    (none,) = density(clf, row, "rain", [0.0])
    found = nb.deploy.fill_in(clf, row.drop(columns="rain"), prob=0.4).loc[(0, "rain")]
    below = (none + positive) / (none + positive[-1])
    expected = [0.0 if share <= below[0] else np.interp(share, below, grid) for share in (0.3, 0.5, 0.7)]
    assert_allclose(found[["lower", "value", "upper"]].to_numpy(float), expected, rtol=0.01)
    assert (found["value"] == 0) == (below[0] >= 0.5)
    assert_allclose(found["probability"], below[0] if below[0] >= 0.5 else np.nan, rtol=1e-3)


@pytest.mark.parametrize("unit", [1.0, 0.1])
def test_the_median_of_rounded_numbers_is_a_multiple_of_the_unit(unit):
    rng, y = np.random.default_rng(2), np.repeat(["u", "v"], 20)
    X = pd.DataFrame({"k": np.floor(rng.normal(np.repeat([3.0, 5.0], 20), 1.5)) * unit, "z": rng.normal(size=40)})
    clf = BayesianNB({"k": nb.families.Rounded(nb.Gaussian(), unit=unit)}).fit(X, y)
    grid = np.round(np.arange(-20, 31) * unit, 9)
    p = density(clf, X[:1], "k", grid)
    found = nb.deploy.fill_in(clf, X[:1].drop(columns="k"), prob=0.8).loc[(0, "k")]
    expected = grid[np.searchsorted(p.cumsum() / p.sum(), [0.1, 0.5, 0.9])]
    assert found[["lower", "value", "upper"]].tolist() == expected.tolist()
    assert found["probability"] == pytest.approx(p[grid == found["value"]].item() / p.sum(), rel=1e-3)


def test_the_number_of_a_cell_with_bounds_is_predicted_as_if_the_cell_held_a_number():
    rng, y = np.random.default_rng(3), np.repeat(["u", "v"], 60)
    counts = rng.poisson(np.repeat([6.0, 12.0], 60))
    X = pd.DataFrame({"crp": [str(count) if count > 6 else "<7" for count in counts], "z": rng.normal(size=120)})
    clf = BayesianNB({"crp": nb.Bounded(), "number of crp": Poisson()}).fit(X, y)
    found = nb.deploy.fill_in(clf, X[:1].assign(crp=None), answer="distribution").loc[
        (0, "number of crp"), "probability"
    ]
    expected = density(clf, X[:1], "crp", [str(count) for count in range(60)])
    assert_allclose(found[:60], expected / expected.sum(), rtol=1e-8, atol=1e-14)


def test_all_gaps_of_a_table_are_filled_in_and_others_are_named():
    X, y = mixed(50, "uv")
    clf = BayesianNB(FEATURES).fit(X, y)
    rows = X[:12].assign(hours=[np.nan, *X["hours"][1:12]], events=[np.nan, *X["events"][1:12]], cat=np.nan, dog=np.nan,
                         emu=np.nan)  # fmt: skip
    found = nb.deploy.fill_in(clf, rows)
    gaps = rows[["c", "g", "h", "known", "events"]].isna()
    assert set(found.index) == {(r, c) for r, c in zip(*np.nonzero(gaps), strict=True) for c in [gaps.columns[c]]} - {
        (0, "events")
    }
    assert found.attrs["not_filled"] == ["events", "words"]
    assert [row for row, _ in found.index] == sorted(row for row, _ in found.index)
    assert nb.deploy.fill_in(clf, X[:0]).empty
    assert nb.deploy.fill_in(clf, X[:0], answer="distribution").empty
    with pytest.raises(ValueError, match="Expected answer to be 'summary' or 'distribution'; got 'all'"):
        nb.deploy.fill_in(clf, X, answer="all")


def test_a_cell_that_holds_an_unseen_level_is_not_missing():
    X, y = nb.datasets.play_tennis()
    clf = BayesianNB().fit(X, y)
    row = {"outlook": ["snow"], "wind": ["weak"], "humidity": [None], "temperature": ["mild"]}
    assert nb.deploy.fill_in(clf, row).index.get_level_values("column").tolist() == ["humidity"]
    assert nb.design.ask_next(clf, row).index.tolist() == ["humidity"]
    of_numbers = BayesianNB(Poisson()).fit(np.array([[1.0, 2], [3, 1], [0, 2]]), [0, 1, 0])
    assert nb.deploy.fill_in(of_numbers, np.array([[np.nan, 2.0]])).index.tolist() == [(0, "x0")]


def test_rows_whose_index_repeats_each_have_their_distribution():
    X, y = nb.datasets.play_tennis()
    clf, rows = BayesianNB().fit(X, y), X[:2].assign(outlook=None)
    apart, together = (
        nb.deploy.fill_in(clf, rows.set_axis(index), answer="distribution") for index in ([7, 8], [7, 7])
    )
    assert len(together) == 6
    assert_allclose(together["probability"], apart["probability"])
    assert together.index.get_level_values("value").tolist() == apart.index.get_level_values("value").tolist()


def test_the_interval_of_a_gap_follows_the_setting_of_arviz():
    import arviz as az

    X, y = nb.datasets.penguins()
    clf, row = BayesianNB().fit(X, y), X[:1][["island"]]
    with az.rc_context({"stats.ci_prob": 0.5}):
        pd.testing.assert_frame_equal(nb.deploy.fill_in(clf, row), nb.deploy.fill_in(clf, row, prob=0.5))


@pytest.mark.parametrize("how", [{}, {"estimate": "map"}, {"dependence": "tempered"}])
def test_the_surprise_of_a_cell_is_what_the_row_loses_without_it(how):
    X, y = mixed(50, "uv")
    clf = BayesianNB(FEATURES | {"b": Missing()}, **how).fit(X, y)
    found = nb.checks.surprise(clf, X)
    whole = logsumexp(clf.predict_joint_log_proba(X), axis=1)
    for column in ("c", "g", "h", "known"):
        rest = logsumexp(clf.predict_joint_log_proba(X.assign(**{column: None if column == "c" else np.nan})), axis=1)
        assert_allclose(found[column], np.where(X[column].isna(), np.nan, rest - whole), rtol=1e-9)
    rest = logsumexp(clf.predict_joint_log_proba(X.assign(cat=np.nan, dog=np.nan, emu=np.nan)), axis=1)
    known = found["words"].notna().to_numpy()
    assert_allclose(found["words"][known], (rest - whole)[known], rtol=1e-9)


def test_a_value_that_no_class_has_is_infinitely_surprising_and_others_are_not():
    X = pd.DataFrame({"x": list("aabb"), "z": list("cdcd")})
    clf = BayesianNB(estimate="mle").fit(X[:3], ["u", "u", "v"])
    found = nb.checks.surprise(clf, pd.DataFrame({"x": ["b", "a"], "z": ["d", "d"]}))
    assert_allclose(found, [[np.inf, np.inf], [-np.log(1.0), -np.log(0.5)]], atol=1e-12)


def test_answers_of_the_naive_bayes_part_of_a_model_say_so():
    X, y = nb.datasets.penguins()
    for dependence in (None, "weighted"):
        clf = BayesianNB(dependence=dependence).fit(X, y)
        for ask in (nb.deploy.fill_in, nb.checks.surprise):
            assert ("naive Bayes part" in ask(clf, X[:4]).attrs.get("note", "")) is (dependence is not None)


@pytest.mark.parametrize("cells", [[True, False, True, None], [True, False, True, True]])
def test_booleans_are_booleans_wherever_values_of_a_column_are_shown(cells):
    X, y = pd.DataFrame({"job": cells * 6, "age": np.arange(24.0)}), ["a", "b"] * 12
    clf = BayesianNB(random_state=0).fit(X, y)
    assert {*nb.draws.sample(clf, 50)["job"]} == {True, False}
    assert clf.explain(X[:1]).loc[(0, "job"), "value"] is True
    whole = nb.deploy.fill_in(clf, pd.DataFrame({"job": [None], "age": [3.0]}), answer="distribution")
    assert [*whole.index.get_level_values("value")] == [False, True]
    assert nb.deploy.fill_in(clf, pd.DataFrame({"job": [None], "age": [3.0]})).loc[(0, "job"), "value"] in (True, False)
    assert_allclose(clf.predict_proba(nb.draws.sample(clf, 5)[["job", "age"]]).sum(1), 1)


def test_the_distribution_of_a_number_lists_no_values_without_probability():
    X, y = nb.datasets.heights()
    row = X[:1].drop(columns="height_cm")
    clf = nb.BayesianNB().fit(X, y)
    found = nb.deploy.fill_in(clf, row, answer="distribution").xs("height_cm", level="column")["probability"]
    assert found.sum() == pytest.approx(1.0)
    assert found.iloc[[0, -1]].max() < 1e-4
    values = found.index.get_level_values("value").to_numpy()
    median = float(nb.deploy.fill_in(clf, row)["value"].iloc[0])
    assert np.abs(values - median).max() < 2000
    assert np.interp(0.5, found.cumsum() - found / 2, values) == pytest.approx(median, abs=0.1)
