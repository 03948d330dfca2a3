"""The classifier handles numbers that are far away, tiny, huge, constant or missing, and empty tables."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from fractions import Fraction
from functools import cache, partial

import numpy as np
import pandas as pd
import pytest
from conftest import FEATURES, mixed
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.random import default_rng
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse, stats

import bayesnb as nb
from bayesnb import (
    BayesianNB,
    Bernoulli,
    Beta,
    Binned,
    Categorical,
    Dirichlet,
    Gamma,
    Gaussian,
    Multinomial,
    Normal,
    NormalGamma,
    Poisson,
    load,
)
from bayesnb.errors import ImpossibleRowError, ImproperError
from bayesnb.families import (
    Exponential,
    GammaKnownShape,
    GaussianKnownVariance,
    Hurdle,
    LogNormal,
    Mixture,
    MultivariateGaussian,
    NegativeBinomial,
    Ordinal,
    PolyaTree,
)
from bayesnb.model import ESTIMATES, normalize
from bayesnb.statistics.moments import Moments
from bayesnb.statistics.statistic import Labels

SMOOTHED = ("predictive", "mean", "map")

both_roads = pytest.mark.usefixtures("road")
"""Tries what reaches a loop in both of its forms, that of numpy and the compiled one."""

HALVES = np.repeat([0, 1], 10)


def two_clouds(n_columns: int = 2, seed: int = 0) -> np.ndarray:
    """Twenty rows, ten around 0 and ten around 3."""
    return default_rng(seed).standard_normal((20, n_columns)) + 3.0 * HALVES[:, None]


def assert_probabilities(proba: np.ndarray) -> None:
    """Finite, between 0 and 1, and each row sums to one."""
    assert np.isfinite(proba).all()
    assert ((proba >= 0) & (proba <= 1)).all()
    assert_allclose(proba.sum(-1), 1.0, rtol=0, atol=1e-9)


def exact_moments(values: Sequence[float], weights: Sequence[float] | None = None) -> tuple[Fraction, Fraction]:
    """Mean and scatter of the floats in exact arithmetic."""
    x = [Fraction(float(value)) for value in values]
    w = [Fraction(1)] * len(x) if weights is None else [Fraction(float(weight)) for weight in weights]
    mean = sum((a * b for a, b in zip(w, x, strict=True)), Fraction(0)) / sum(w)
    return mean, sum((a * (b - mean) ** 2 for a, b in zip(w, x, strict=True)), Fraction(0))


@cache
def drawn_exactly(centre: float, spread: float, n: int) -> tuple[np.ndarray, Fraction, Fraction]:
    """Normal numbers with their exact mean and scatter, computed once for both roads."""
    x = centre + spread * default_rng(2).standard_normal(n)
    return x, *exact_moments(x)


def relative_error(value: float, exact: Fraction) -> float:
    return abs(float(Fraction(float(value)) / exact - 1))


# --- Many features ---


@pytest.mark.parametrize(
    "family",
    [Bernoulli(), Multinomial(), Poisson(), Gaussian(), GaussianKnownVariance(variance=2.0), Categorical()],
    ids=lambda family: type(family).__name__,
)
def test_two_thousand_features_do_not_underflow(family):
    X = default_rng(1).poisson(0.5 + HALVES[:, None], (20, 2_000)).clip(max=1).astype(float)
    fitted = BayesianNB(family).fit(X, HALVES).classifier_
    for estimate in ("predictive",) if isinstance(family, Categorical) else SMOOTHED:
        joint = fitted.with_estimate(estimate).predict_joint_log_proba(X)
        assert (joint.max(axis=1) < np.log(np.finfo(float).tiny)).all(), "the densities themselves would underflow"
        assert np.isfinite(joint.max(axis=1)).all()
        assert_array_equal(joint.argmax(axis=1), HALVES)
        assert_probabilities(np.exp(normalize(joint)))


@pytest.mark.filterwarnings("ignore::bayesnb.errors.ManyClassesWarning")
def test_hundreds_of_classes_have_the_student_t_of_their_own_two_rows():
    y = np.repeat([f"class {k:03}" for k in range(400)], 2)
    centre, pooled = np.arange(400.0), np.repeat(np.arange(400.0), 2) + np.tile([-0.25, 0.25], 400)
    clf = BayesianNB().fit({"x": pooled}, y)
    # One imaginary row like the whole column, then two rows around the centre.
    m, b = (pooled.mean() + 2 * centre) / 3, pooled.var() / 2 + 0.0625
    b = b + (centre - pooled.mean()) ** 2 / 3
    density = stats.t(3, m, np.sqrt(b * 4 / (1.5 * 3))).pdf(pooled[::160, None])
    assert_allclose(clf.predict_proba({"x": pooled[::160]}), density / density.sum(1, keepdims=True), rtol=1e-9)
    assert len(clf.loo({"x": pooled}, y)) == 800


# --- Far means and small spreads ---


@both_roads
@pytest.mark.parametrize(
    ("centre", "spread", "n"),
    [(1e12, 1e-3, 5000), (-1e12, 1e-3, 7), (1e-150, 1e-150, 100), (1e150, 1e150, 100), (1e-3, 1e-150, 100)],
)
def test_mean_and_scatter_are_those_of_exact_arithmetic(centre: float, spread: float, n: int):
    x, mean, scatter = drawn_exactly(centre, spread, n)
    s = Moments.of(x[:, None], Labels.of(np.zeros(n, int)))
    assert abs(Fraction(s.mean[0, 0]) + Fraction(s.centre.low[0, 0]) - mean) <= Fraction(1e-15) * Fraction(spread)
    assert abs(Fraction(s.scatter[0, 0]) - scatter) <= Fraction(5e-15) * scatter


@both_roads
def test_weights_and_missing_values_keep_mean_and_scatter_exact():
    rng = default_rng(3)
    x = 1e12 + 1e-3 * rng.standard_normal((600, 2))
    weight, codes = rng.choice([0.5, 1.0, 3.0, 1e6], 600), rng.integers(0, 3, 600)
    gone = rng.random(x.shape) < 0.3
    s = Moments.of(np.where(gone, np.nan, x), Labels(codes, weight, 3))
    for c, j in itertools.product(range(3), range(2)):
        own = (codes == c) & ~gone[:, j]
        mean, scatter = exact_moments(x[own, j], weight[own])
        assert abs(Fraction(s.mean[c, j]) + Fraction(s.centre.low[c, j]) - mean) <= Fraction(1e-12)
        assert relative_error(s.scatter[c, j], scatter) <= 1e-9
        assert s.n[c, j] == weight[own].sum()


@both_roads
@pytest.mark.parametrize("weights", [[1.0], [0.5, 1.0, 3.0]])
def test_columns_with_any_ratio_of_mean_to_spread_keep_mean_and_scatter_exact_beside_each_other(weights: list[float]):
    rng = default_rng(4)
    x = 10.0 ** np.arange(-2, 12) + rng.standard_normal((300, 14))
    codes, weight = rng.integers(0, 3, 300), rng.choice(weights, 300)
    codes[:5] = 3, 3, 3, 3, 4
    x[:4] = x[0]
    if len(weights) > 1:
        x[rng.random(x.shape) < 0.1] = np.nan
    s = Moments.of(x, Labels(codes, weight, 5))
    assert not s.scatter[3:].any(), "equal values have no scatter"
    for c, j in itertools.product(range(3), range(14)):
        own = (codes == c) & ~np.isnan(x[:, j])
        mean, scatter = exact_moments(x[own, j], weight[own])
        assert abs(Fraction(s.mean[c, j]) + Fraction(s.centre.low[c, j]) - mean) <= Fraction(1e-15)
        assert relative_error(s.scatter[c, j], scatter) <= 5e-15


@pytest.mark.parametrize("weight", [1e-300, 5e-305, 1e-308])
def test_rows_of_a_tiny_weight_keep_their_mean_and_scatter(weight: float):
    # One divided by such a weight is not a float. EM gives a class such a weight if no row can be of it.
    x = np.array([[1.0, 5.0], [2.0, np.nan], [4.0, 7.0], [3.0, 1.0]])
    s = Moments.of(x, Labels(np.array([0, 0, 1, 1]), np.array([weight, weight, 1.0, 1.0]), 2))
    assert_allclose(s.mean, [[1.5, 5.0], [3.5, 4.0]], rtol=1e-14)
    assert_allclose(s.scatter[0] / weight, [0.5, 0.0], rtol=1e-6)
    assert_allclose(s.scatter[1], [0.5, 18.0], rtol=1e-14)
    clf = BayesianNB().fit(x, [0, 0, 1, 1], sample_weight=[weight, weight, 1.0, 1.0])
    assert np.isfinite(clf.predict_proba(x)).all()


def test_eighty_partial_fits_and_merges_with_mean_1e9_equal_one_fit():
    rng = default_rng(5)
    y = np.tile([0, 1], 400)
    X = (1e9 + rng.uniform(-1, 1, 800) + 0.5 * y)[:, None]
    cuts = np.split(np.arange(800), 80)
    step, whole = BayesianNB(), BayesianNB().fit(X[cuts[0]], y[cuts[0]])
    for cut in cuts:
        step.partial_fit(X[cut], y[cut])
    for cut in cuts[1:]:
        whole.merge(BayesianNB().fit(X[cut], y[cut]))
    for clf in (step, whole):
        for c in (0, 1):
            _, scatter = exact_moments(X[y == c, 0])
            assert relative_error(clf.classifier_.statistics.features["x"].scatter[c, 0], scatter) <= 5e-15
        assert_allclose(clf.predict_proba(X), BayesianNB().fit(X, y).predict_proba(X), rtol=1e-9)


# --- Large counts ---


@pytest.mark.parametrize("family", [Multinomial(), Poisson()], ids=lambda f: type(f).__name__)
def test_large_counts_learned_in_parts_have_the_evidence_of_all(family):
    rng = np.random.default_rng(0)
    X = np.round(1e15 + 3e7 * rng.standard_normal((12, 3)))
    whole, parts, less = (BayesianNB(family) for _ in range(3))
    whole.fit(X, np.arange(12) % 2)
    for rows in np.split(np.arange(12), 4):
        parts.partial_fit(X[rows], rows % 2)
    less.fit(np.r_[X, X[:2] + 1e9], [*np.arange(12) % 2, 0, 1]).forget(X[:2] + 1e9, [0, 1])
    for clf in (parts, less):
        assert_allclose(clf.log_evidence_.conditional, whole.log_evidence_.conditional, rtol=1e-9)


@pytest.mark.parametrize("alpha", [1e-17, 1e-12, 1e-300])
def test_the_variances_of_two_very_unequal_probabilities_are_equal(alpha: float):
    a = Fraction(alpha)
    exact = float(a / (1 + a) ** 2 / (2 + a))
    assert_allclose(Dirichlet([alpha, 1.0]).variance(), [exact] * 2, rtol=1e-15)
    assert_allclose(Beta(1.0, alpha).variance(), exact, rtol=1e-15)


@pytest.mark.parametrize("rows", [1, 300_000])
def test_the_log_probability_of_a_row_that_is_all_but_certain_keeps_its_digits(rows: int):
    log_proba = normalize(np.tile([-30.0, 0.0], (rows, 1)))
    assert_allclose(log_proba[-1], [-30 - 9.357622968839737e-14, -9.357622968839737e-14], rtol=1e-14)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_fractions_of_words_have_no_evidence_and_copies_of_rows_have_one(form):
    counts, y = np.array([[2.0, 1.0], [1.0, 4.0], [3.0, 0.0]]), [0, 1, 1]
    clf = BayesianNB(Multinomial()).fit(form(counts), y, sample_weight=[0.5, 1.0, 2.0])
    assert np.isfinite(clf.log_evidence_.conditional)
    clf = clf.partial_fit(form(counts / 2), y)
    with pytest.raises(AttributeError, match=r"class 0: fractions of words.* have no probability") as refused:
        _ = clf.log_evidence_
    assert isinstance(refused.value.__cause__, ImproperError)
    assert np.isfinite(clf.forget(form(counts / 2), y).log_evidence_.conditional)


@both_roads
@pytest.mark.parametrize(
    ("family", "x"),
    [(Poisson(), [[1e15]]), (Multinomial(), [[1e15, 1e15]]), (Gaussian(), [[1e9]]), (Gaussian(), [[1e100]])],
    ids=["Poisson", "Multinomial", "Gaussian", "Gaussian, very far"],
)
@pytest.mark.parametrize("estimate", ESTIMATES)
def test_a_row_equally_improbable_under_two_equal_classes_has_probability_one_half(family, x, estimate: str):
    X = np.repeat([[1.0], [2.0], [1.0], [2.0]], np.shape(x)[1], axis=1)
    clf = BayesianNB(family, estimate=estimate).fit(X, [0, 0, 1, 1])
    assert_allclose(clf.predict_proba(x), [[0.5, 0.5]], rtol=1e-12)


@pytest.mark.parametrize("estimate", SMOOTHED)
def test_one_row_per_class_is_enough_and_the_probabilities_keep_the_symmetry_of_the_data(estimate: str):
    clf = BayesianNB(estimate=estimate).fit([[0.0], [1.0], [10.0], [11.0]], [0, 1, 2, 3])
    ask = np.array([[-3.0], [0.0], [4.0], [5.5], [30.0]])
    proba = clf.predict_proba(ask)
    assert_probabilities(proba)
    assert_allclose(proba, clf.predict_proba(11.0 - ask)[:, ::-1], rtol=1e-9)
    assert proba[0].argmax() in (0, 1)


# --- Little to learn from ---


@pytest.mark.parametrize("value", [0.0, 5.0, -1e-150, 1e12, 1e150])
@pytest.mark.parametrize("estimate", SMOOTHED)
def test_a_constant_column_does_not_change_the_probabilities(estimate: str, value: float):
    X, ask = two_clouds(1), np.linspace(-3, 6, 7)[:, None]
    alone = BayesianNB(estimate=estimate).fit(X, HALVES)
    both = BayesianNB(estimate=estimate).fit(np.c_[X, np.full(20, value)], HALVES)
    assert_allclose(both.predict_proba(np.c_[ask, np.full(7, value)]), alone.predict_proba(ask), rtol=1e-7)


@pytest.mark.parametrize("family", [Gaussian(), LogNormal(), Gaussian(NormalGamma.learned())], ids=str)
@pytest.mark.parametrize("estimate", SMOOTHED)
def test_a_constant_column_says_nothing_beside_a_rare_class(estimate: str, family):
    """Each class would take its own rows for evidence of a small variance, and the larger class would win."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(300, 1)), np.arange(300) < 6
    table = pd.DataFrame(np.exp(x), columns=["x"]).assign(one=0.1, two=7.0)
    names = ["x", "one", "two"]
    alone = BayesianNB({"v": (family, ["x"])}, estimate=estimate).fit(table[["x"]], y)
    clf = BayesianNB({"v": (family, names)}, estimate=estimate).fit(table, y)
    assert_allclose(clf.predict_proba(table), alone.predict_proba(table[["x"]]), rtol=1e-9)
    in_parts = BayesianNB({"v": (family, names)}, estimate=estimate).fit(table[:3], y[:3])
    for part in (slice(3, 100), slice(100, 300)):
        in_parts.partial_fit(table[part], y[part])
    assert_allclose(in_parts.predict_proba(table), clf.predict_proba(table), rtol=1e-9)


@pytest.mark.parametrize("estimate", SMOOTHED)
def test_a_column_that_is_constant_in_one_class_only_still_gives_probabilities(estimate: str):
    X = np.array([[5.0], [5.0], [5.0], [1.0], [9.0], [30.0]])
    clf = BayesianNB(estimate=estimate).fit(X, [0, 0, 0, 1, 1, 1])
    assert_probabilities(clf.predict_proba([[5.0], [5.1], [-100.0], [31.0]]))
    assert_array_equal(clf.predict([[5.0], [31.0]]), [0, 1])


def test_a_class_that_has_only_missing_values_is_predicted_by_the_prior():
    X = np.array([[np.nan], [np.nan], [1.0], [3.0], [8.0]])
    clf = BayesianNB().fit(X, [0, 0, 1, 1, 1])
    x = np.array([-20.0, 4.0, 5.5, 1e6])
    seen = X[2:, 0]
    # One imaginary row like the whole column: 2a = 1 degree of freedom, squared scale b (1+1) / (a 1).
    prior = stats.t(1, loc=seen.mean(), scale=np.sqrt(2 * seen.var()))
    joint = clf.predict_joint_log_proba(x[:, None])
    assert_allclose(joint[:, 0], np.log(3 / 7) + prior.logpdf(x), rtol=1e-12)
    assert_probabilities(clf.predict_proba(x[:, None]))


def test_a_class_without_a_known_level_gives_all_levels_equal_probability():
    X = pd.DataFrame({"t": [None, None, "u", "v", "w"]})
    clf = BayesianNB().fit(X, [0, 0, 1, 1, 1])
    joint = clf.predict_joint_log_proba(pd.DataFrame({"t": ["u", None]}))
    assert_allclose(np.exp(joint[:, 0]), [3 / 7 / 3, 3 / 7], rtol=1e-12)


@pytest.mark.parametrize("estimate", ESTIMATES)
def test_a_single_class_has_probability_1(estimate: str):
    X = pd.DataFrame({"a": [0.0, 1.0, 10.0], "t": list("uvu")})
    clf = BayesianNB(estimate=estimate, random_state=0).fit(X, ["only"] * 3)
    ask = pd.DataFrame({"a": [5.0, 1e9, np.nan], "t": ["u", "v", None]})
    assert_array_equal(clf.predict_log_proba(ask), np.zeros((3, 1)))
    assert clf.predict(ask).tolist() == ["only"] * 3
    assert_array_equal(nb.draws.sample_proba(clf, ask, 10), np.ones((10, 3, 1)))
    assert np.isfinite(clf.log_evidence_.joint)


# --- No rows at all ---


@pytest.mark.parametrize("estimate", ESTIMATES)
@pytest.mark.parametrize("framed", [True, False])
def test_predicting_no_rows_gives_no_rows(estimate: str, framed: bool):
    X = pd.DataFrame(two_clouds(), columns=["a", "b"])
    X = X.assign(t=np.tile(["u", "v"], 10)) if framed else X.to_numpy()
    clf = BayesianNB(estimate=estimate).fit(X, HALVES)
    none = X[:0]
    assert clf.predict_proba(none).shape == (0, 2)
    assert clf.predict_log_proba(none).shape == (0, 2)
    assert clf.predict_joint_log_proba(none).shape == (0, 2)
    assert clf.predict(none).shape == (0,)
    assert nb.draws.sample_proba(clf, none, 3).shape == (3, 0, 2)


# --- Outliers ---

OUTLIERS = np.array([[39.0], [40.0], [50.0], [1e3], [1e6]])
TWO_NORMALS = np.array([[0.0], [2.0], [10.0], [12.0]])  # N(1, 1) and N(11, 1), divisor N


@both_roads
def test_the_nearer_class_wins_however_far_the_row_is():
    clf = BayesianNB(estimate="mle", class_prior="uniform").fit(TWO_NORMALS, [0, 0, 1, 1])
    farther = np.r_[OUTLIERS, [[1e9], [1e12]]]
    assert_array_equal(clf.predict(farther), np.ones(7))
    assert_array_equal(clf.predict(12.0 - farther), np.zeros(7))
    log_proba = clf.predict_log_proba(OUTLIERS)
    # ln p(0|x) - ln p(1|x) = [(x-11)² - (x-1)²] / 2 = 60 - 10 x.
    assert_allclose(log_proba[:, 0] - log_proba[:, 1], 60 - 10 * OUTLIERS[:, 0], rtol=1e-9)


@both_roads
@pytest.mark.parametrize("estimate", ["predictive", "mean", "map"])
def test_log_odds_of_outliers_under_a_known_variance_are_the_exact_formula(estimate: str):
    # mu ~ Normal(6, 1), two rows of variance 1: mean (6 + 2·1) / 3 and (6 + 2·11) / 3, variance 1/3.
    family = GaussianKnownVariance(variance=1.0, prior=Normal(6.0, 1.0))
    clf = BayesianNB(family, estimate=estimate).fit(TWO_NORMALS, [0, 0, 1, 1])
    variance = 1 + Fraction(1, 3) if estimate == "predictive" else Fraction(1)
    log_proba = clf.predict_log_proba(OUTLIERS)
    for x, row in zip(OUTLIERS[:, 0], log_proba, strict=True):
        odds = ((Fraction(x) - Fraction(28, 3)) ** 2 - (Fraction(x) - Fraction(8, 3)) ** 2) / (2 * variance)
        assert_allclose(row[0] - row[1], float(odds), rtol=1e-9)


# --- Impossible rows ---


def impossible_table() -> tuple[pd.DataFrame, list[str], pd.DataFrame]:
    """Two classes that share no level; of the three asked rows the last is impossible under both."""
    X = pd.DataFrame({"s": list("uuvv"), "t": list("wwzz")})
    return X, list("aabb"), pd.DataFrame({"s": list("uvu"), "t": list("wzz")})


def test_a_row_that_is_impossible_under_every_class_is_named():
    X, y, ask = impossible_table()
    clf = BayesianNB(estimate="mle").fit(X, y)
    for verb in (clf.predict, clf.predict_proba, clf.predict_log_proba):
        with pytest.raises(ImpossibleRowError, match=r"row 2 has probability 0 under every class.*predictive") as error:
            verb(ask)
        assert error.value.rows.tolist() == [2]
    with pytest.raises(ImpossibleRowError, match=r"row 0 \(and 1 more\)") as error:
        clf.predict(ask.iloc[[2, 0, 2]])
    assert error.value.rows.tolist() == [0, 2]


@both_roads
@pytest.mark.parametrize("family", [Bernoulli(), Multinomial(), Poisson()], ids=lambda f: type(f).__name__)
def test_a_row_that_is_impossible_is_named_in_every_discrete_family(family):
    X = np.array([[1.0, 0.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [0.0, 1.0, 0.0]])
    clf = BayesianNB(family, estimate="mle").fit(X, [0, 0, 1, 1])
    ask = [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]]
    with pytest.raises(ImpossibleRowError, match="row 1 has probability 0"):
        clf.predict(ask)
    assert np.isneginf(clf.predict_joint_log_proba(ask)[1]).all()


# --- Unlearning down to nothing ---


def test_forgetting_every_row_gives_the_prior_again():
    X, y = mixed(12, "uvw")
    X["g"] += 1e9
    clf = BayesianNB(FEATURES, class_prior=Dirichlet([1.0, 2.0, 5.0])).fit(X, y)
    for i in default_rng(8).permutation(len(X)):
        clf.forget(X.iloc[[i]], y[[i]])
    assert_array_equal(clf.class_count_, np.zeros(3))
    for name, s in clf.classifier_.statistics.features.items():
        assert_array_equal(s.seen(), np.zeros_like(s.seen()), err_msg=name)
    # At the rows themselves, 1e9 spreads from what is believed now, the joint has no digit for the class prior.
    ask = X.assign(g=X["h"])
    assert_allclose(clf.predict_proba(ask), np.tile([1 / 8, 2 / 8, 5 / 8], (len(X), 1)), rtol=1e-12)


@pytest.mark.parametrize("family", [Categorical(), Bernoulli()], ids=lambda f: type(f).__name__)
def test_one_row_is_left_after_a_weight_of_1e15_is_forgotten(family):
    clf = BayesianNB(family).fit([[1], [1], [0]], [0, 0, 1], [1e15, 1.0, 1.0])
    clf.forget([[1]], [0], [1e15])
    assert_array_equal(clf.class_count_, [1.0, 1.0])
    assert_allclose(clf.predict_proba([[1]]), [[2 / 3, 1 / 3]], rtol=1e-12)


def test_learning_after_forgetting_everything_equals_a_first_fit():
    X, y = mixed(24, "uvw")
    X["g"] += 1e9
    clf = BayesianNB(FEATURES).partial_fit(X, y, classes=list("uvw")).forget(X, y).partial_fit(X.iloc[::-1], y[::-1])
    assert_allclose(clf.predict_proba(X), BayesianNB(FEATURES).fit(X, y).predict_proba(X), rtol=1e-9)


# --- Any numbers ---


def hostile(limit: float) -> st.SearchStrategy[float]:
    """0, NaN, numbers close to each other, and any between 1/limit and limit, to six binary digits."""
    top = int(np.log2(limit))
    tame = st.builds(lambda m, e: m * 2.0**e, st.integers(-64, 64), st.integers(-top, top - 6))
    odd = [0.0, -0.0, np.nan, 1.0, np.nextafter(1.0, 2.0), 1e12, 1e12 + 0.001, limit, -limit, 1 / limit, -1 / limit]
    return st.one_of(tame, st.sampled_from(odd))


@st.composite
def any_tables(draw: st.DrawFn, limit: float) -> tuple[np.ndarray, list[int], np.ndarray]:
    """Rows to learn from, their classes, rows to predict."""
    n, asked = draw(st.integers(1, 6)), draw(st.integers(1, 3))
    rows = [draw(st.tuples(hostile(limit), hostile(limit))) for _ in range(n + asked)]
    y = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    return np.array(rows[:n]), y, np.array(rows[n:])


@given(
    st.sampled_from(["predictive", "mean", "mle"]).flatmap(
        lambda estimate: st.tuples(st.just(estimate), any_tables(1e150 if estimate == "predictive" else 1e70))
    )
)
@example(("predictive", (np.array([[0.0, 1e-150], [0.0, -1e-150]]), [0, 1], np.array([[1e150, 1e150]]))))
@example(("mean", (np.array([[5.0, 0.0], [5.0, 0.0]]), [0, 1], np.array([[1e9, 0.0]]))))
def test_any_numbers_have_probabilities_or_maximum_likelihood_refuses_them_by_their_feature(asked):
    estimate, (X, y, ask) = asked
    try:
        clf = BayesianNB(Gaussian(), estimate=estimate).fit(X, y)
    except ImproperError as error:
        assert estimate == "mle"
        assert str(error).startswith("feature 'x', class ")  # noqa: PT017 - both outcomes are right
        return
    log_proba = clf.predict_log_proba(np.r_[X, ask])
    assert not np.isnan(log_proba).any()
    assert_allclose(np.exp(log_proba).sum(axis=1), 1.0, rtol=0, atol=1e-9)
    if estimate == "predictive":
        assert np.isfinite(clf.log_evidence_.joint)


# --- Unlearning an outlier ---


@pytest.mark.parametrize("outlier", [1e6, -1e7, 1e9])
@pytest.mark.parametrize("n", [4, 1001])
@pytest.mark.parametrize(("centre", "spread"), [(0.3, 1.0), (50.0, 10.0), (1e9, 1.0)])
def test_an_outlier_that_was_unlearned_was_never_learned(centre: float, spread: float, n: int, outlier: float):
    x = centre + spread * default_rng(11).standard_normal((n, 1))
    far, y = np.array([[centre + outlier * spread]]), np.arange(n) % 2
    clf = BayesianNB().fit(np.r_[x, far, far * 3], [*y, 0, 0]).forget(far, [0]).forget(far * 3, [0])
    fresh = BayesianNB().fit(x, y)
    for c in (0, 1):
        _, scatter = exact_moments(x[y == c, 0])
        found = clf.classifier_.statistics.features["x"].scatter[c, 0]
        assert (found == 0) if scatter == 0 else relative_error(found, scatter) <= 1e-9
    assert_allclose(clf.predict_log_proba(x), fresh.predict_log_proba(x), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("outlier", [1e15, 1e30, 1e150])
def test_an_outlier_of_any_size_is_unlearned_or_refused_and_never_spoils_its_column(outlier: float):
    X = pd.DataFrame({"size": default_rng(14).standard_normal(20), "rest": np.arange(20.0)})
    bad, y = pd.DataFrame({"size": [outlier, -0.7 * outlier], "rest": [3.0, 4.0]}), [0, 1] * 10
    clf = BayesianNB().fit(pd.concat([X, bad]), [*y, 0, 0])
    before = clf.predict_log_proba(X)
    try:
        clf.forget(bad, [0, 0])
    except ValueError as error:
        assert re.match("feature 'size', class 0: .*so far out.*fit the other rows anew", str(error))  # noqa: PT017
        assert_array_equal(clf.predict_log_proba(X), before)
        assert clf.class_count_.tolist() == [12.0, 10.0]
    else:
        assert_allclose(clf.predict_log_proba(X), BayesianNB().fit(X, y).predict_log_proba(X), rtol=1e-9)


# --- Numbers that are not read ---

EXTREME = [1.7e308, -1e200, 1.1e150, 0.9e-150, -1e-200, 5e-324]
OF_REALS = {
    "Gaussian": Gaussian(), "GaussianKnownVariance": GaussianKnownVariance(variance=2.0), "LogNormal": LogNormal(),
    "Exponential": Exponential(), "PolyaTree": PolyaTree(), "Binned": Binned(3), "Mixture": Mixture(),
    "Hurdle": Hurdle(), "GammaKnownShape": GammaKnownShape(shape=2.0), "Multinomial": Multinomial(),
}  # fmt: skip


@pytest.mark.parametrize(("name", "value"), list(zip(OF_REALS, itertools.cycle(EXTREME))))
def test_a_number_too_large_or_too_small_to_be_squared_is_refused_by_column_wherever_it_is_read(name: str, value):
    x, y = np.array([1.0, 2.0, 3.0, 4.0, 2.5, 0.5]), list("ababab")
    if value < 0 and name not in ("Gaussian", "GaussianKnownVariance", "PolyaTree", "Binned", "Mixture"):
        value = -value
    X, odd = pd.DataFrame({"size": x, "rest": x[::-1]}), pd.DataFrame({"size": with_one(value, x), "rest": x})
    features = {"f": (OF_REALS[name], ["size", "rest"])} if name == "Multinomial" else OF_REALS[name]
    clf = BayesianNB(features, random_state=0).fit(X, y)
    before = clf.predict_proba(X)
    asked = [clf.predict_proba, clf.predict_interval, clf.uncertainty, clf.explain, partial(nb.draws.sample_proba, clf)]
    checks = partial(nb.checks.predictive_checks, clf)
    learned = [clf.fit, clf.partial_fit, clf.forget, clf.loo, checks, BayesianNB(features).fit]
    said = rf"column 'size' holds {re.escape(f'{value:g}')} in row 3, and .*: divide the column by a constant"
    for verb in asked:
        with pytest.raises(ValueError, match=said):
            verb(odd)
    for verb in learned:
        with pytest.raises(ValueError, match=said):
            verb(odd, y)
    assert_array_equal(clf.predict_proba(X), before)


@pytest.mark.parametrize("value", [1.1e150, -1e-200])
def test_extreme_numbers_of_other_tables_are_refused_by_column_too(value: float):
    x, y = np.array([1.0, 2.0, 3.0, 4.0, 2.5, 0.5]), list("ababab")
    odd = with_one(value, x)
    with pytest.raises(ValueError, match=r"column 'x1' holds .* in row 3, and .*: divide the column"):
        BayesianNB().fit(np.c_[x, odd], y)
    with pytest.raises(ValueError, match=r"column 'x1' of the sparse matrix holds .* in row 3, .*: divide the column"):
        BayesianNB(Gaussian()).fit(sparse.csr_array(np.c_[x, odd]), y)
    with pytest.raises(ValueError, match=r"column 'x1' holds .* in row 3, and .*: divide the column"):
        BayesianNB(dependence="pairwise").fit(np.c_[x, odd, x], y)
    with pytest.raises(ValueError, match=r"column 'hours' holds .* in row 3, and .*: divide the column"):
        BayesianNB({"n": Poisson(exposure="hours")}).fit({"n": np.arange(6), "hours": abs(odd)}, y)
    with pytest.raises(ValueError, match=r"column 'x' holds .* in row 0, and .*: divide the column"):
        BayesianNB().fit(pd.DataFrame({"x": [value, 1.0, 2.0, 3.0]}), pd.Series([1, 1, 2, None], dtype="Int64"))


def test_a_wide_float_beyond_all_floats_is_refused_as_infinite():
    wide = np.array([1, 2, np.longdouble("1e400"), 3])
    for table in (wide[:, None], {"x": wide}, pd.DataFrame({"x": wide})):
        with pytest.raises(ValueError, match=r"column 'x0?' is infinite in row 2"):
            BayesianNB().fit(table, [0, 1, 0, 1])


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_every_verb_answers_at_the_ends_of_what_is_read(scale: float):
    x = default_rng(0).normal(size=(60, 3)) * scale
    X = pd.DataFrame(np.sign(x) * np.abs(x).clip(1e-150, 1e150), columns=list("abc"))
    y = np.where(np.arange(60) % 2, "p", "q")
    clf = BayesianNB(random_state=0).fit(X, y)
    nb.checks.predictive_checks(clf, X, y, draws=20)
    assert len(nb.checks.independence(clf, X, y).pairs) == 3
    assert np.isfinite(nb.draws.sample(clf, 50)[list("abc")]).all(axis=None)
    assert np.isfinite(clf.loo(X, y).to_numpy(float)).all()
    assert_probabilities(BayesianNB(dependence="pairwise", random_state=0).fit(X, y).predict_proba(X))
    some = pd.Series(np.where(np.arange(60) < 50, y, None))
    assert_probabilities(BayesianNB(random_state=0).fit(X, some).predict_proba(X))
    for estimate in ESTIMATES:
        assert_probabilities(BayesianNB(estimate=estimate).fit(X, y).predict_proba(X))


@pytest.mark.parametrize("c", [1e-151, 5e-324])
def test_concentrations_below_1e_150_are_refused_with_a_cure(c: float):
    X, y = {"x": [1, 1, 0]}, list("aab")
    said = rf"column 'x': Expected %s of its prior to be 0 or at least 1e-150; got {c:g}: write 1e-150"
    for family in (
        Bernoulli(Beta(c, 1.0)), Categorical(Dirichlet(c)), Categorical(Dirichlet({0: 1.0, 1: c})), Poisson(Gamma(c)),
        Bernoulli({"a": Beta(c, 1.0), "b": Beta()}), Hurdle(Poisson(), zero=Beta(c, 1.0)),
        Hurdle(Poisson(Gamma(c))), Mixture([Poisson(Gamma(c)), Poisson()]),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=said % "alpha"):
            BayesianNB({"x": family}).fit(X, y)
    with pytest.raises(ValueError, match=said % "beta"):
        BayesianNB({"x": Bernoulli(Beta(1.0, c))}).fit(X, y)


@pytest.mark.parametrize(
    ("family", "name"),
    [
        (lambda v: Gaussian(NormalGamma(0.0, 1.0, 1.0, v)), "b"),
        (lambda v: Gaussian(NormalGamma(0.0, v, 1.0, 1.0)), "kappa"),
        (lambda v: Gaussian(NormalGamma(0.0, 1.0, v, 1.0)), "a"),
        (lambda v: Gaussian({"a": NormalGamma(), "b": NormalGamma(0.0, 1.0, 1.0, v)}), "b"),
        (lambda v: GaussianKnownVariance(nb.Normal(0.0, v), variance=1.0), "v"),
        (lambda v: MultivariateGaussian(nb.NormalWishart([0.0], 1.0, 3.0, [[v]])), "scale"),
        (lambda v: Poisson(Gamma(1.0, v)), "beta"),
        (lambda v: Exponential(Gamma(1.0, v)), "beta"),
        (lambda v: Hurdle(Poisson(Gamma(1.0, v))), "beta"),
        (lambda v: PolyaTree(nb.priors.BetaTree(strength=v), edges=[0.5]), "strength"),
    ],
)
def test_parameters_of_every_prior_are_of_the_sizes_that_are_read(family, name: str):
    for value in (1e-310, 1e-151, 1e151):
        with pytest.raises(ValueError, match=re.escape(f"; got {value:g}: write 1e")) as said:
            BayesianNB({"x": family(value)}).fit({"x": [1.0, 1.0, 0.0, 2.0]}, list("abab"))
        assert f"column 'x': Expected {name} of its prior to be 0 or at " in str(said.value)


# --- Intervals far out ---

FAR_OUT = {
    "Gaussian": Gaussian(), "two columns": Gaussian(),
    "GaussianKnownVariance": GaussianKnownVariance(variance=1.0), "LogNormal": LogNormal(), "Poisson": Poisson(),
    "Exponential": Exponential(), "PolyaTree": PolyaTree(), "Binned": Binned(3), "Multinomial": Multinomial(),
}  # fmt: skip


@pytest.mark.parametrize(("given_what", "classes"), [("row", 3), ("data", 2)])
@pytest.mark.parametrize("name", FAR_OUT)
def test_intervals_of_rows_far_out_are_never_missing_and_hold_what_is_certain(name: str, given_what, classes: int):
    rng, y = default_rng(3), np.arange(60) % classes
    x = rng.poisson(3.0 + y) + 1.0 if name in ("Poisson", "Multinomial") else np.abs(rng.normal(3.0 + y, 1.0 + y))
    X = pd.DataFrame({"x": x, "z": x[::-1] if name in ("two columns", "Multinomial") else 0})
    features = {"f": (FAR_OUT[name], ["x", "z"])} if name == "Multinomial" else {"x": FAR_OUT[name], "z": Gaussian()}
    clf = BayesianNB(features, random_state=0).fit(X, y)
    most = 15 if name in ("Poisson", "Multinomial") else 150
    sizes = 10.0 ** np.array([0, 1, 2, 4, 7, 8, 9, 12, 15, 16, 30, 50, 76, 78, 100, 140, 149, 150])
    ask = pd.DataFrame({"x": sizes[sizes <= 10.0**most], "z": 0.0})
    found = clf.predict_interval(ask, draws=200, given=given_what)
    assert found.notna().all(axis=None)
    for c in range(classes):
        ends = found[c].to_numpy()
        assert ((ends >= 0) & (ends <= 1) & (np.diff(ends, prepend=0.0, axis=1) >= 0)).all()
    uncertain = clf.uncertainty(ask, draws=200, given=given_what)
    assert uncertain.notna().all(axis=None)
    proba = clf.predict_proba(ask)
    certain = proba.max(axis=1) > 1 - 1e-9
    if given_what == "row":
        # What is all but certain in the mean is certain at the median.
        medians = found.xs("median", axis=1, level=1).to_numpy()
        assert_allclose(medians[certain], proba[certain], atol=1e-6)
    assert (uncertain["top"] >= 0).all()


@pytest.mark.parametrize("given_what", ["row", "data"])
def test_the_saddlepoint_and_draws_agree_where_the_one_hands_over_to_the_other(given_what: str):
    x, y = default_rng(3).normal(50, 10, (1000, 1)), default_rng(4).integers(0, 2, 1000)
    x[y == 1] *= 1.1
    clf = BayesianNB(random_state=0).fit(x, y)
    ask = 10.0 ** np.arange(1, 150, 4)[:, None]
    auto, drawn = (clf.predict_interval(ask, method=method, given=given_what) for method in ("auto", "draws"))
    assert_allclose(auto[0]["median"], drawn[0]["median"], atol=0.05)
    assert_allclose(auto[0]["lower"], drawn[0]["lower"], atol=0.05)


@both_roads
@pytest.mark.parametrize(("spread", "far"), [(1e-100, 1e60), (1e-100, -1e149), (1e-10, 1e149)])
def test_a_row_whose_squared_distance_is_no_float_is_called_far_and_not_impossible(spread: float, far: float):
    x = np.random.default_rng(0).normal(size=40)
    y = np.repeat(["u", "v"], 20)
    clf = BayesianNB().fit(pd.DataFrame({"a": spread * (x + (y == "v"))}), y)
    row = pd.DataFrame({"a": [0.0, far]})
    assert np.isfinite(clf.predict_log_proba(row)).all()
    message = r"^row 1 lies more than 1e150 standard deviations.*predict_proba answers"
    for verb in (partial(nb.odds.log_odds, clf), clf.explain):
        with pytest.raises(ValueError, match=message):
            verb(row)
    # Draws given the row lie near it, so most of them have floats for what it says.
    for verb in (clf.predict_interval, partial(nb.draws.sample_proba, clf), clf.uncertainty):
        try:
            assert pd.DataFrame(np.reshape(verb(row), (2, -1))).notna().all(axis=None)
        except ValueError as error:
            assert re.search(message, str(error))  # noqa: PT017


# --- Columns beyond the scales of their squares ---

SCALES = [1e-149, 1e-120, 1e148]


@pytest.mark.parametrize(
    ("estimate", "scale"),
    [("predictive", scale) for scale in SCALES]
    + [(point, SCALES[k]) for point in ("mean", "map", "mle") for k in (0, -1)],
)
def test_a_column_of_any_scale_gives_the_probabilities_of_a_column_of_scale_one(estimate: str, scale: float):
    # As floats, they are not in the ratio of 1 to 3.5 exactly.
    x = np.array([scale * k for k in (1, 2, 3, -1, -2, -3.5)])
    one = np.array([float(Fraction(v) / Fraction(scale)) for v in x])
    clf = BayesianNB(estimate=estimate, random_state=0).fit({"x": x}, list("aaabbb"))
    like = BayesianNB(estimate=estimate, random_state=0).fit({"x": one}, list("aaabbb"))
    assert_allclose(clf.predict_proba({"x": x}), like.predict_proba({"x": one}), rtol=1e-9)
    assert_allclose(nb.draws.sample_proba(clf, {"x": x}, 20), nb.draws.sample_proba(like, {"x": one}, 20), rtol=1e-9)
    left = clf.loo({"x": x}, list("aaabbb"))["probability"]
    assert_allclose(left, like.loo({"x": one}, list("aaabbb"))["probability"], rtol=1e-9)
    shift = 6 * np.log(scale)
    assert_allclose(clf.log_evidence_.conditional, like.log_evidence_.conditional - shift, rtol=1e-9)


@pytest.mark.parametrize("scale", [1e-149, 1e149])
def test_a_model_of_any_scale_is_saved_and_loaded_unlearned_and_merged(scale: float, tmp_path):
    x, y = scale * np.array([[1.0], [2.0], [3.0], [-1.0], [-2.0], [-3.5]]), list("aaabbb")
    BayesianNB().fit(x[:4], y[:4]).save(tmp_path / "model.bayesnb")
    found = load(tmp_path / "model.bayesnb").partial_fit(x, y).forget(x[:4], y[:4])
    assert_allclose(found.predict_proba(x), BayesianNB().fit(x, y).predict_proba(x), rtol=1e-12)
    merged = BayesianNB().fit(x[::2], y[::2]).merge(BayesianNB().fit(x[1::2], y[1::2]))
    assert_allclose(merged.predict_proba(x), BayesianNB().fit(x, y).predict_proba(x), rtol=1e-12)


# --- Locations that one float does not say ---


@both_roads
@pytest.mark.parametrize("estimate", ESTIMATES)
@pytest.mark.parametrize("family", [Gaussian(), GaussianKnownVariance(variance=4.0)], ids=lambda f: type(f).__name__)
def test_probabilities_far_from_zero_are_those_near_it(family, estimate: str):
    # Multiples of 1/8, which are floats there too.
    x, y = np.round(8 * two_clouds(1)) / 8, HALVES
    near = BayesianNB(family, estimate=estimate, random_state=0).fit(x, y)
    for centre in (1e12, 2.0**49, -(2.0**49)):
        far = BayesianNB(family, estimate=estimate, random_state=0).fit(x + centre, y)
        assert_allclose(far.predict_proba(x + centre), near.predict_proba(x), rtol=1e-9)
        assert_allclose(nb.draws.sample_proba(far, x + centre, 20), nb.draws.sample_proba(near, x, 20), rtol=1e-9)
        left = far.loo(x + centre, y)["probability"]
        assert_allclose(left, near.loo(x, y)["probability"], rtol=1e-9)
        assert_allclose(far.log_evidence_.conditional, near.log_evidence_.conditional, rtol=1e-9)


# --- Weights with fractions ---


@both_roads
@pytest.mark.parametrize(
    "features",
    [FEATURES, (MultivariateGaussian(), ["g", "h"]), LogNormal(), Exponential(), PolyaTree(), Hurdle(), Binned()],
    ids=["many", "multivariate", "log-normal", "exponential", "Pólya tree", "hurdle", "binned"],
)  # fmt: skip
def test_a_model_of_rows_with_fractional_weights_can_be_saved_and_read_after_every_step(features, tmp_path):
    X, y = mixed(1000, "uv", seed=5)
    if not isinstance(features, dict):
        X = X[["g", "h"]].abs().fillna(1.0)
        features = {"x": features if isinstance(features, tuple) else (features, ["g", "h"])}
    weight = default_rng(5).lognormal(0.0, 0.4, len(X))
    clf = BayesianNB(features).fit(X, y, sample_weight=weight)

    def stored(clf: BayesianNB) -> None:
        clf.save(tmp_path / "m.bayesnb")
        assert_array_equal(load(tmp_path / "m.bayesnb").predict_proba(X), clf.predict_proba(X))

    stored(clf)
    stored(clf.partial_fit(X[:300], y[:300], sample_weight=weight[300:600]))
    stored(clf.forget(X[:200], y[:200], sample_weight=weight[:200]))
    stored(clf.merge(load(tmp_path / "m.bayesnb")))


# --- Weights beyond counting ---


@pytest.mark.parametrize("prior", [NormalGamma(), NormalGamma(0.0, 1.0, 1.0, 1.0)], ids=["pooled", "given"])
@pytest.mark.parametrize("family", ["unknown", "known"])
def test_weights_that_no_float_can_square_are_refused(family: str, prior):
    made = Gaussian(prior) if family == "unknown" else GaussianKnownVariance(variance=1.0)
    x, y = {"size": [1.0, 1.0 + 1e-9, 2.0, 2.0 - 1e-9]}, [0, 0, 1, 1]
    clf = BayesianNB({"size": made}).fit(x, y)
    before = clf.predict_proba(x)
    for verb in (clf.fit, clf.partial_fit):
        with pytest.raises(ValueError, match=r"the weights of the rows of a class add up to 2e\+300.*sample_weight"):
            verb(x, y, sample_weight=[1e300] * 4)
    assert_array_equal(clf.predict_proba(x), before)


# --- The families of later pages ---

AMOUNTS = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 2.0, 1.0, 3.0])
WHOLE = np.array([1.0, 0.0, 3.0, 2.0, 3.0, 0.0, 1.0, 3.0])
CLASSES = np.array([0, 0, 0, 1, 1, 1, 1, 0])
OF_AMOUNTS = {
    "LogNormal": LogNormal(), "Exponential": Exponential(), "GammaKnownShape": GammaKnownShape(shape=2.5),
    "PolyaTree": PolyaTree(), "Hurdle": Hurdle(), "Hurdle of a tree": Hurdle(PolyaTree()),
    "Mixture": Mixture([Gaussian(), PolyaTree()]), "Mixture of positive": Mixture([LogNormal(), Exponential()]),
}  # fmt: skip
OF_COUNTS = {
    "NegativeBinomial": NegativeBinomial(r=3), "Ordinal": Ordinal(order=[0, 1, 2, 3]),
    "Hurdle of counts": Hurdle(Poisson()), "Mixture of counts": Mixture([Poisson(), NegativeBinomial()]),
}  # fmt: skip
LATER = OF_AMOUNTS | OF_COUNTS | {"MultivariateGaussian": MultivariateGaussian()}


def with_one(value: float, x: np.ndarray) -> np.ndarray:
    return np.where(np.arange(len(x)) == 3, value, x)


def hostile_tables(name: str) -> dict[str, tuple[np.ndarray, np.ndarray | None]]:
    """Columns with the weights of their rows, by what is odd about them."""
    plain, ones = WHOLE if name in OF_COUNTS else AMOUNTS, np.ones(8)
    found: dict[str, tuple[np.ndarray, np.ndarray | None]] = {
        "constant": (np.full(8, 3.0), None),
        "a class without a value": (np.where(CLASSES == 0, np.nan, plain), None),
        "weights of 1e-300": (plain, 1e-300 * ones),
        "one weight of 1e-300": (plain, with_one(1e-300, ones)),
        "weights of 1e12": (plain, 1e12 * ones),
    }
    if name in OF_AMOUNTS:
        found |= {"an outlier": (with_one(1e150, plain), None), "a tiny one": (with_one(1e-140, plain), None)}
        found |= {"the smallest": (with_one(1e-150, plain), None), "far": (1e12 + 1e-3 * plain, None)}
    elif name not in ("Ordinal", "MultivariateGaussian"):
        found |= {"an outlier": (with_one(1e15, plain), None), "zeros": (np.zeros(8), None)}
    return found


@pytest.mark.parametrize("name", LATER)
def test_later_families_give_finite_answers_for_hostile_columns(name: str):
    names = ["x", "z"] if name == "MultivariateGaussian" else ["x"]
    for column, weight in hostile_tables(name).values():
        x = {"x": column, "z": column[[0, 2, 1, 4, 3, 6, 5, 7]]}
        X = {key: x[key] for key in names}
        clf = BayesianNB({"feature": (LATER[name], names)}).fit(X, CLASSES, weight)
        assert_probabilities(clf.predict_proba(X))
        assert np.isfinite(clf.loo(X, CLASSES, weight).to_numpy()).all()
        assert np.isfinite(clf.log_evidence_.conditional)
        assert_probabilities(nb.draws.sample_proba(clf, X, 5))
        without = clf.forget({key: v[:1] for key, v in X.items()}, CLASSES[:1], None if weight is None else weight[:1])
        assert_probabilities(without.predict_proba(X))


def test_a_count_that_is_no_exact_float_is_refused_by_row():
    for name in ("NegativeBinomial", "Hurdle of counts", "Mixture of counts"):
        with pytest.raises(ValueError, match=r"column 'x' holds 1e\+16 in row 3, where \w+ needs a count"):
            BayesianNB({"x": OF_COUNTS[name]}).fit({"x": with_one(1e16, WHOLE)}, CLASSES)


def test_a_row_beside_which_no_prior_is_left_cannot_be_left_out():
    clf, weight = BayesianNB({"x": Hurdle(Poisson())}), np.full(8, 1e17)
    clf.fit({"x": WHOLE}, CLASSES, weight)
    assert_probabilities(clf.predict_proba({"x": WHOLE}))
    with pytest.raises(ValueError, match=r"a row has the weight 1e\+17, beside which no digit of the prior is left"):
        clf.loo({"x": WHOLE}, CLASSES, weight)
    # Without their row of weight 1e15, the other rows of its class lie on a line.
    X, weight = {"x": AMOUNTS, "z": AMOUNTS[::-1].copy()}, np.full(8, 1e15)
    clf = BayesianNB({"block": (MultivariateGaussian(), ["x", "z"])}).fit(X, CLASSES, weight)
    with pytest.raises(
        ImproperError, match="feature 'block', class 1: without one of its rows, rounding leaves nothing"
    ):
        clf.loo(X, CLASSES, weight)


@both_roads
@pytest.mark.parametrize("size", [1e50, 1e100, 1e145, 1e150])
def test_a_row_far_beyond_the_data_gets_the_class_with_the_heavier_tail(size: float):
    clf = BayesianNB(Gaussian(NormalGamma(0.0, 1.0, 1.0, 1.0))).fit(
        [[0.0], [0.0], [0.0], [0.0], [8.0]], [0, 0, 0, 1, 1]
    )
    proba = clf.predict_proba([[size], [-size]])
    assert_probabilities(proba)
    assert_array_equal(proba.argmax(axis=1), [1, 1])


@pytest.mark.parametrize("given", ["data", "row"])
def test_the_formula_reads_a_column_through_the_transformation_of_its_family(given):
    rng = np.random.default_rng(0)
    x, y = np.exp(rng.normal(size=60)) * 3000, np.arange(60) % 3 > 0
    logs, as_are = BayesianNB(Gaussian()).fit(np.log(x)[:, None], y), BayesianNB(LogNormal()).fit(x[:, None], y)
    expected = logs.predict_interval(np.log(x)[:9, None], method="saddlepoint", given=given)
    found = as_are.predict_interval(x[:9, None], method="saddlepoint", given=given)
    assert_allclose(found.to_numpy(), expected.to_numpy(), rtol=1e-6)
