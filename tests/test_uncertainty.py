"""The distribution of p(class | row, θ): saddlepoint, draws, entropies, and views under another class prior."""

from __future__ import annotations

import copy
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from conftest import FEATURES, mixed
from numpy.random import default_rng
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.special import expit, logit, logsumexp
from sklearn.datasets import load_breast_cancer

import bayesnb as nb
from bayesnb import BayesianNB, Multinomial, datasets
from bayesnb.errors import ImpossibleRowError, UnseenLevelWarning
from bayesnb.families import (
    Exponential,
    GaussianKnownVariance,
    HierarchicalCategorical,
    PolyaTree,
    Rounded,
    StudentT,
    conjugate,
)
from bayesnb.families.gaussian import Gaussian
from bayesnb.families.trials import Bernoulli, Categorical
from bayesnb.inference.believed import Believed
from bayesnb.inference.draws import PosteriorDraws
from bayesnb.inference.law import Law
from bayesnb.inference.saddlepoint import LogOdds, close
from bayesnb.model import normalize
from bayesnb.model.naive_bayes import chosen_classes
from bayesnb.priors import Beta, Dirichlet, FixedProbabilities, Gamma, Normal, NormalGamma, Outcome
from bayesnb.priors.common_draws import CommonDraws
from bayesnb.statistics.statistic import Labels
from benchmarks import intervals as coverage


def fitted(n: int = 60, classes: str = "uv", **told) -> tuple[BayesianNB, pd.DataFrame, np.ndarray]:
    X, y = mixed(n, classes)
    return BayesianNB(FEATURES, random_state=3, **told).fit(X, y), X, y


def log_odds(clf: BayesianNB, X: pd.DataFrame) -> LogOdds:
    return LogOdds.of(clf.posterior_, *clf.classifier_.read(X))


def drawn_log_odds(clf: BayesianNB, X: pd.DataFrame, draws: int, seed: int = 1) -> np.ndarray:
    data, n = clf.classifier_.read(X)
    rng, parts = default_rng(seed), []
    for _ in range(draws // 20_000):
        joint = clf.posterior_.draw(rng, (20_000,)).log_joint(data, n)
        parts.append(joint[..., 0] - joint[..., 1])
    return np.concatenate(parts)


def assert_distributed(exact: LogOdds, drawn: np.ndarray, error: float) -> None:
    """Check that the distribution function is off by no more than the error and four standard errors of the draws."""
    for q in np.linspace(0.005, 0.995, 23):
        allowed = error + 4 * np.sqrt(q * (1 - q) / len(drawn))
        assert_allclose(exact.cdf(np.quantile(drawn, q, axis=0)), q, atol=allowed)


# The saddlepoint


@pytest.mark.parametrize(("n", "seed"), [(6, 1), (20, 2)])
def test_the_saddlepoint_agrees_with_draws_on_mixed_tables(n, seed):
    X, y = mixed(n, seed=seed)
    clf, some = BayesianNB(FEATURES).fit(X, y), X.iloc[:5]
    assert_distributed(log_odds(clf, some), drawn_log_odds(clf, some, 20_000), 0.005 if n >= 20 else 0.02)


def test_mean_and_variance_of_the_log_odds_are_exact():
    clf, X, _ = fitted()
    drawn, exact = drawn_log_odds(clf, X[:8], 60_000), log_odds(clf, X[:8])
    error = np.sqrt(exact.variance / len(drawn))
    assert (np.abs(drawn.mean(axis=0) - exact.mean) < 5 * error).all()
    spread = (drawn - exact.mean) ** 2
    assert (np.abs(spread.mean(axis=0) - exact.variance) < 5 * spread.std(axis=0) / np.sqrt(len(drawn))).all()


def test_log_odds_of_two_of_many_classes_equal_those_of_the_two_classes_alone():
    clf, X, _ = fitted(classes="uvw")
    frame = nb.odds.log_odds(clf, X[:7], given="data")
    data, n = clf.classifier_.read(X[:7])
    assert list(frame.columns.droplevel(2).unique()) == [("u", "v"), ("u", "w"), ("v", "w")]
    for a, b in ((0, 1), (0, 2), (1, 2)):
        alone = LogOdds.of(clf.posterior_, data, n, a, b)
        pair = frame[clf.classes_[a], clf.classes_[b]]
        assert_allclose(pair["mean"], alone.mean, rtol=1e-10)
        assert_allclose(pair["variance"], alone.variance, rtol=1e-10)


@pytest.mark.parametrize("prior", [None, NormalGamma(0, 0.01, 0.01, 0.01)])
def test_quantiles_hit_their_probability_and_never_cross_however_few_rows_were_learned(prior):
    X = np.array([[0.0], [1.0]])
    clf = BayesianNB(Gaussian(prior) if prior else Gaussian()).fit(X, ["a", "b"])
    exact = log_odds(clf, np.linspace(-3, 4, 8)[:, None])
    shares = np.r_[0.005:0.05:0.01, 0.05:0.95:0.05, 0.95:0.996:0.01]
    z = np.array([exact.quantile(q) for q in shares])
    assert_allclose([exact.cdf(row) for row in z], np.repeat(shares[:, None], 8, axis=1), atol=1e-6)
    assert (np.diff(z, axis=0) > 0).all()


HARD = {
    "a row of a class": (Gaussian(), np.r_[np.linspace(-1.5, 1.5, 19), 1.9], ["a"] * 19 + ["b"], -1.0, 0.03),
    "two rows under a reference prior": (
        Gaussian(NormalGamma.reference()), np.r_[np.linspace(-1.5, 1.5, 30), 1.0, 1.1], ["a"] * 30 + ["b"] * 2, 1.5,
        0.05,
    ),
    "tiny concentrations": (Categorical(Dirichlet(0.01)), np.array(["u", "v", "w"]), list("aba"), "w", 0.03),
    "the edge of what is close": (
        Gaussian(NormalGamma.reference()), np.r_[-0.5:0.5:5j, 1.0:1.4:5j], list("aaaaabbbbb"), 1.0, 0.012,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", HARD)
def test_the_saddlepoint_stays_within_its_stated_error_and_where_it_is_not_close_draws_answer(name):
    family, x, y, asked, allowed = HARD[name]
    clf = BayesianNB(family, random_state=0).fit(x[:, None], y)
    X = np.array([[asked]], dtype=x.dtype)
    drawn, exact = drawn_log_odds(clf, X, 100_000), log_odds(clf, X)
    for q in np.linspace(0.01, 0.99, 33):
        assert_allclose(exact.cdf(np.quantile(drawn, q, axis=0)), q, atol=allowed)
    by_default, by_draws = clf.predict_interval(X), clf.predict_interval(X, method="draws")
    assert close(clf.posterior_) == (name == "the edge of what is close")
    assert ("mcse" in by_default.attrs) == (name != "the edge of what is close")
    if name != "the edge of what is close":
        pd.testing.assert_frame_equal(by_default, by_draws)


@pytest.mark.slow
def test_answers_from_draws_carry_their_monte_carlo_error():
    clf, X, _ = fitted(classes="uvw")
    some, draws = X[:2], 400
    seeded = [copy.deepcopy(clf).set_params(random_state=seed) for seed in range(30)]
    answers = [(c.predict_interval(some, draws=draws), c.uncertainty(some, draws=draws)) for c in seeded]
    said = np.mean([interval.attrs["mcse"] for interval, _ in answers])
    assert {frame.attrs["mcse"]["total"] for _, frame in answers} == {0.0}
    assert_allclose(np.std([interval for interval, _ in answers], axis=0).max(), said, rtol=0.4)
    for column in ("lower", "upper", "top", "aleatoric", "epistemic"):
        spread = np.std([frame[column] for _, frame in answers], axis=0).max()
        assert_allclose(spread, np.mean([frame.attrs["mcse"][column] for _, frame in answers]), rtol=0.4)


def test_a_row_without_values_has_a_certain_probability_under_a_known_class_prior():
    X, y = mixed(20)
    clf = BayesianNB({"c": Categorical()}, class_prior={"u": 0.3, "v": 0.7}).fit(X[["c"]], y)
    blank = pd.DataFrame({"c": [None, "a"]})
    interval = clf.predict_interval(blank)["u"]
    assert_allclose(interval.loc[0], 0.3)
    assert interval.loc[1, "upper"] - interval.loc[1, "lower"] > 0.1
    assert_allclose(clf.uncertainty(blank)["top"].iloc[0], 1.0)


def test_an_impossible_class_has_probability_0_with_certainty():
    X = pd.DataFrame({"c": ["a", "b", "a", "a"]})
    prior = {"u": Dirichlet(1.0), "v": Dirichlet({"a": 1.0, "b": 0.0})}
    clf = BayesianNB({"c": Categorical(prior)}).fit(X, ["u", "u", "v", "v"])
    interval = clf.predict_interval(pd.DataFrame({"c": ["b", "a"]}))
    assert_array_equal(interval.loc[0], [1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    assert_array_equal(clf.predict_interval(pd.DataFrame({"c": ["b"]}), method="draws").loc[0], [1.0] * 3 + [0.0] * 3)
    assert clf.uncertainty(pd.DataFrame({"c": ["b"]}))["top"].iloc[0] == 1.0
    never = {"u": Dirichlet({"a": 1.0, "b": 0.0}), "v": Dirichlet({"a": 1.0, "b": 0.0})}
    clf = BayesianNB({"c": Categorical(never)}).fit(
        pd.DataFrame({"c": pd.Categorical(["a"] * 4, ["a", "b"])}), list("uuvv")
    )
    with pytest.raises(ImpossibleRowError):
        clf.predict_interval(pd.DataFrame({"c": ["b"]}))


# Given the row

REALS = default_rng(0).normal(size=(6, 3))
NAMED = Dirichlet({"a": 1, "b": 1, "c": 1})
SETTINGS = {
    "two classes": lambda: (BayesianNB(FEATURES), *mixed(8)),
    "three classes": lambda: (BayesianNB(FEATURES), *mixed(12, "uvw")),
    "a known class prior": lambda: (BayesianNB(FEATURES, class_prior={"u": 0.9, "v": 0.1}), *mixed(8)),
    "words": lambda: (BayesianNB(Multinomial()), default_rng(0).poisson(1, (6, 5)), list("aabbcc")),
    "waiting times": lambda: (BayesianNB(Exponential()), np.exp(REALS), list("aabbcc")),
    "known variances": lambda: (BayesianNB(GaussianKnownVariance()), REALS, list("aabbcc")),
    "tiny concentrations": lambda: (BayesianNB(Categorical(Dirichlet(0.01))), np.array([list("uvw")]).T, list("aba")),
    "a density without a shape": lambda: (
        BayesianNB(PolyaTree()),
        default_rng(0).normal(size=(12, 2)),
        list("aabbcc") * 2,
    ),
    "one row of a class": lambda: (BayesianNB(Gaussian()), REALS, list("aaaaab")),
    "a class without rows": lambda: (BayesianNB(Gaussian(), class_prior=NAMED), REALS, list("aaaabb")),
    "one class": lambda: (BayesianNB(), REALS, list("aaaaaa")),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_given_the_row_the_mean_of_the_class_probability_is_predict_proba(name):
    clf, X, y = SETTINGS[name]()
    clf = clf.set_params(random_state=4).fit(X, y)
    some = X[:6]
    p = nb.draws.sample_proba(clf, some, 3_000)
    assert (np.abs(p.mean(0) - clf.predict_proba(some)) <= 5 * p.std(0) / np.sqrt(len(p)) + 1e-9).all()


@pytest.mark.parametrize("classes", ["uv", "uvw"])
def test_given_the_row_is_the_mixture_of_the_posteriors_that_have_learned_it_with_each_label(classes):
    clf, X, _ = fitted(12, classes)
    one, proba = X.iloc[[2]], clf.predict_proba(X.iloc[[2]])[0]
    believed, (data, _) = clf.posterior_, clf.classifier_.read(one)
    parts = []
    for c, share in enumerate(proba):
        # Under the same prior: one that is scaled by the data would be another after one more row.
        row = believed.model.statistics(data, Labels.of([c], len(classes)), believed.labels)
        theta = believed.given(believed.statistics + row).draw(default_rng(c), (round(12_000 * share),))
        parts.append(np.exp(normalize(theta.log_joint(data, 1)))[:, 0])
    expected = np.concatenate(parts)
    shares = [0.055, 0.3, 0.5, 0.8, 0.945]
    found = np.quantile(nb.draws.sample_proba(clf, one, 12_000)[:, 0], shares, axis=0)
    for c in range(len(classes)):
        below = (expected[:, c, None] < found[:, c]).mean(0)
        assert_allclose(below, shares, atol=0.02)
    if classes == "uv":
        exact = LogOdds.of(clf.posterior_, *clf.classifier_.read(one), power=1)
        for q in shares:
            assert_allclose((logit(expected[:, 0]) < exact.quantile(q)).mean(), q, atol=0.02)


def test_the_moments_of_the_log_odds_given_the_row_are_those_of_the_draws():
    clf, X, _ = fitted(12, "uvw")
    frame, odds = nb.odds.log_odds(clf, X[:4]), np.log(nb.draws.sample_proba(clf, X[:4], 10_000))
    for a, b in ((0, 1), (0, 2), (1, 2)):
        drawn, pair = odds[..., a] - odds[..., b], frame[clf.classes_[a], clf.classes_[b]]
        assert (np.abs(drawn.mean(0) - pair["mean"]) < 5 * drawn.std(0) / 100).all()
        assert_allclose(drawn.var(0), pair["variance"], rtol=0.1)
    two, X, _ = fitted(12)
    exact = LogOdds.of(two.posterior_, *two.classifier_.read(X), power=1)
    assert_allclose(nb.odds.log_odds(two, X)["u", "v"]["mean"], exact.mean)
    assert_allclose(nb.odds.log_odds(two, X)["u", "v"]["variance"], exact.variance)


def test_the_interval_of_mitchells_day_given_the_row():
    X, y = datasets.play_tennis()
    clf = BayesianNB(random_state=0).fit(X, y)
    today = X.iloc[[0]].assign(temperature="cool", wind="strong")
    for method in ("saddlepoint", "draws"):
        interval = clf.predict_interval(today, method=method, draws=40_000)
        assert interval.attrs["given"] == "row"
        assert_allclose(interval["no"].to_numpy()[0], [0.26, 0.81, 0.98], atol=0.01)
    assert_allclose(nb.draws.sample_proba(clf, today, 40_000)[:, 0, 0].mean(), 0.7353, atol=0.005)
    before = clf.predict_interval(today, given="data")
    assert before.attrs["given"] == "data"
    assert_allclose(before["no"].to_numpy()[0], [0.22034967, 0.73724079, 0.96317638], atol=1e-7)
    assert_allclose(clf.uncertainty(today, given="data")["top"], 0.76878759, atol=1e-7)


def test_with_a_dependence_the_answers_are_given_the_data_and_given_the_row_is_refused():
    X, y = mixed(30)
    clf = BayesianNB(FEATURES, random_state=0, dependence="tempered").fit(X, y)
    assert clf.predict_interval(X[:2]).attrs["given"] == clf.uncertainty(X[:2], draws=50).attrs["given"] == "data"
    assert_array_equal(nb.draws.sample_proba(clf, X[:2], 5), nb.draws.sample_proba(clf, X[:2], 5, given="data"))
    for ask in (
        clf.predict_interval,
        clf.uncertainty,
        partial(nb.odds.log_odds, clf),
        partial(nb.draws.sample_proba, clf),
    ):
        with pytest.raises(ValueError, match='given="row" is for naive Bayes, and here terms have exponents'):
            ask(X, given="row")


def test_the_draws_of_a_generating_function_have_its_mean_and_variance():
    rng = default_rng(3)
    shape, common = (1, 2), CommonDraws(40_000, (1,))
    cells = [
        (Dirichlet(rng.gamma(2.0, size=(*shape, 4))), (np.array([2.0, 0.0, 1.0, 0.0]),)),
        (Beta(np.full(shape, 2.0), np.full(shape, 3.0)), (np.array([3.0]), np.array([1.0]))),
        (Outcome.of(Dirichlet(np.full((*shape, 2), 2.5)), np.full(shape, 2.0)), ()),
        (Gamma(np.full(shape, 2.0), np.full(shape, 3.0)), (np.array([4.0]), np.array([2.0]))),
        (Normal(np.zeros(shape), np.full(shape, 2.0)), (np.array([0.5]), np.array([1.0]), np.array([0.0]))),
        (NormalGamma(0.0, 2.0, 3.0, 1.5).over(*np.zeros((2, 2)), 1), (3.0, np.array([1.0]), 0.0, 0.0)),
    ]
    for believed, d in cells:
        drawn = believed.drawn_along(*d, common=common)
        drawn = drawn.reshape(len(drawn), -1)
        mean, variance = (np.ravel(v) for v in believed.slopes(*d))
        assert_allclose(drawn.mean(0), mean, atol=6 * np.sqrt(variance.max() / len(drawn)))
        assert_allclose(drawn.var(0), variance, rtol=0.1)
        assert_allclose(np.log(np.exp(drawn).mean(0)), np.ravel(believed.along(*d)), atol=0.05)


def test_the_draws_of_columns_that_are_computed_together_are_those_of_each_column_alone():
    rng, n = default_rng(4), 60
    cells = {f"real {k}": rng.normal(k, 1.0, n) for k in range(3)}
    cells |= {f"level {k}": rng.choice(["a", "b"], n) for k in range(2)}
    cells |= {f"tree {k}": rng.normal(k, 1.0, n) for k in range(2)}
    cells |= {f"rounded {k}": np.round(rng.normal(0.0, 3.0, n)) for k in range(2)}
    X = pd.DataFrame(cells)
    special = {"tree": PolyaTree(), "rounded": Rounded()}
    families = {name: special[name[:-2]] for name in X if name[:-2] in special}
    clf = BayesianNB(families, random_state=0).fit(X, rng.choice(list("uvw"), n))
    posterior, (data, rows) = clf.posterior_, clf.classifier_.read(X[:5])
    common, theta = CommonDraws(30, (7, 0)), posterior.draw(default_rng(5), (30,), posterior.by_cells)
    chosen = chosen_classes(posterior.log_predictive(data, rows), common.generator(0).random(30))
    expected = posterior.log_classes_at(theta, common, chosen)
    for k, (name, family) in enumerate(posterior.model.features.items()):
        believed, here = posterior.features[name], common.within(2 + k)
        if name in posterior.by_cells:
            expected += family.drawn_by_cells(believed, data[name], chosen, here)
        else:
            own = theta.features[name]
            expected += family.log_likelihood_given_row(believed, own, data[name], chosen, here)
    assert posterior.by_cells
    assert max(len(stack.names) for stack in posterior._stacks) == 3
    assert_allclose(posterior.log_joint_at(theta, 1, common, data, rows), expected, rtol=1e-12)


# Intervals


def test_intervals_by_saddlepoint_and_by_draws_agree():
    clf, X, _ = fitted(40)
    by_formula, by_draws = (clf.predict_interval(X[:4], method=m, draws=40_000) for m in ("auto", "draws"))
    assert list(by_formula.columns) == list(by_draws.columns)
    assert_allclose(by_formula, by_draws, atol=0.01)
    assert_allclose(by_formula["u", "lower"], 1 - by_formula["v", "upper"], atol=1e-12)
    assert (by_formula["u", "lower"] < by_formula["u", "median"]).all()
    assert (by_formula["u", "median"] < by_formula["u", "upper"]).all()


@pytest.mark.parametrize("classes", ["uv", "uvw"])
def test_the_interval_of_a_row_does_not_depend_on_its_batch_or_on_earlier_calls(classes):
    clf, X, _ = fitted(20, classes)
    X = X[:6].copy()
    X.index = [f"row {i}" for i in range(len(X))]
    together = clf.predict_interval(X)
    apart = pd.concat([clf.predict_interval(X[:1]), clf.predict_interval(X[1:])])
    pd.testing.assert_frame_equal(together, apart, rtol=1e-10)
    seeded = copy.deepcopy(clf).set_params(random_state=default_rng(4))
    pd.testing.assert_frame_equal(seeded.predict_interval(X), seeded.predict_interval(X))


def test_more_rows_make_the_interval_narrower():
    X, y = mixed(2000)
    widths = []
    for n in (20, 200, 2000):
        interval = BayesianNB(FEATURES).fit(X[:n], y[:n]).predict_interval(X[:10])["u"]
        widths.append((logit(interval["upper"]) - logit(interval["lower"])).mean())
    assert widths[0] > 2 * widths[1] > 4 * widths[2]


@pytest.mark.parametrize(
    ("kind", "columns", "n_classes"), [("categorical", 10, 2), ("Gaussian", 1, 2), ("Gaussian", 2, 3)]
)
@pytest.mark.slow
def test_the_interval_given_the_row_covers_the_true_probability_as_often_as_stated(kind, columns, n_classes):
    found = coverage.coverage(kind, columns, n_rows=8, simulations=100, n_classes=n_classes, seed=1)
    assert abs(found - 0.89) < 3 * np.sqrt(0.89 * 0.11 / 100)


# The most probable class


@pytest.mark.parametrize("classes", ["uv", "uvw"])
def test_top_is_the_share_of_draws_in_which_the_predicted_class_is_most_probable(classes):
    clf, X, _ = fitted(20, classes)
    X = X[:3]
    codes = np.searchsorted(clf.classes_, clf.predict(X))
    drawn = nb.draws.sample_proba(copy.deepcopy(clf).set_params(random_state=9), X, 3_000).argmax(-1) == codes
    # Three standard errors of a difference of two shares of 3,000 draws.
    assert_allclose(clf.uncertainty(X, draws=3_000)["top"], drawn.mean(0), atol=3 * np.sqrt(2 * 0.25 / 3_000))


# Entropies


def test_the_entropies_add_up_and_epistemic_uncertainty_falls_with_more_rows():
    clf, X, y = fitted(30, "uvw")
    given_row = clf.uncertainty(X, (X, y), draws=800)
    assert_allclose(given_row["total"], stats.entropy(clf.predict_proba(X), axis=1), rtol=1e-12)
    found = clf.uncertainty(X, (X, y), given="data", draws=800)
    for frame in (found, given_row):
        assert_allclose(frame["total"], frame["aleatoric"] + frame["epistemic"])
        assert (frame["epistemic"] >= 0).all()
    data, n = clf.classifier_.read(X)
    whole = {"p": lambda p, rows: np.moveaxis(p, 0, 1)}
    answers = PosteriorDraws(Believed(clf.posterior_, given="data"), 800, 3)
    draws = np.moveaxis(answers.answers(whole, data, n)["p"], 0, 1)
    assert_allclose(found["total"], stats.entropy(draws.mean(0), axis=-1), atol=1e-9)
    assert_allclose(found["aleatoric"], stats.entropy(draws, axis=-1).mean(0), atol=1e-9)
    much, large = mixed(900, "uvw", seed=5), BayesianNB(FEATURES, random_state=3)
    assert large.fit(*much).uncertainty(X, draws=800)["epistemic"].mean() < 0.1 * found["epistemic"].mean()


def test_the_frame_of_uncertainty_has_the_values_of_the_single_methods():
    clf, X, _ = fitted(30, "uvw")
    X = X[:8].copy()
    X.index += 100
    found, interval = clf.uncertainty(X, prob=0.5), clf.predict_interval(X, 0.5)
    assert_array_equal(found["prediction"], clf.predict(X))
    assert_allclose(found["probability"], clf.predict_proba(X).max(axis=1))
    for i in X.index[::7]:
        assert_allclose(
            found.loc[i, ["lower", "upper"]].astype(float),
            interval.loc[i, found.loc[i, "prediction"]][["lower", "upper"]],
        )
    assert "novelty_rank" not in found
    assert_array_equal(found.index, X.index)


def test_a_row_unlike_all_learned_rows_has_the_highest_novelty():
    clf, X, y = fitted()
    odd = X.iloc[[5]].assign(g=40.0, h=-60.0)
    found = clf.uncertainty(pd.concat([X[:20], odd]), (X, y))
    assert found["novelty"].iloc[-1] > found["novelty"].iloc[:-1].max()
    assert found["novelty_rank"].iloc[-1] == 1.0
    assert found["novelty_rank"].between(0, 1).all()
    joint = clf.predict_joint_log_proba(X[:1])
    assert_allclose(clf.uncertainty(X[:1])["novelty"], -np.logaddexp(*joint[0]))


def test_the_rank_of_novelty_compares_the_known_cells_with_learned_rows_that_know_them():
    rng = default_rng(0)
    y = rng.integers(3, size=90)
    X = pd.DataFrame(
        {"g": rng.normal(y), "h": rng.normal(size=90), "c": np.array(list("abcd"))[rng.integers(4, size=90)]}
    )
    some = X.mask(rng.random(X.shape) < 0.1)
    new = X[:12].copy()
    new.loc[:3, ["g", "h"]] = np.nan
    new.loc[4:7, "c"] = "never seen"
    with pytest.warns(UnseenLevelWarning):
        rank = BayesianNB().fit(some, y).uncertainty(new, (some, y))["novelty_rank"]
    for row, known in enumerate([["c"]] * 4 + [["g", "h"]] * 4 + [["g", "h", "c"]] * 4):
        # A model of the known columns alone, from which each learned row is left out.
        alone = BayesianNB().fit(some[known], y).classifier_
        left_out = -logsumexp(alone.log_left_out(some[known], y)[0], axis=1)[some[known].notna().all(axis=1)]
        novelty = alone.uncertainty(new.loc[[row], known])["novelty"].item()
        assert rank[row] == pytest.approx((left_out < novelty).mean())
    apart = some.assign(g=some["g"].where(y > 0), h=some["h"].where(y == 0))
    assert BayesianNB().fit(apart, y).uncertainty(X[:3], (apart, y))["novelty_rank"].isna().all()


# Views


def test_a_view_predicts_under_another_class_prior_and_does_not_change_the_estimator():
    clf, X, y = fitted()
    before = clf.predict_proba(X)
    for estimate in ("predictive", "mean", "map"):
        told = BayesianNB(FEATURES, class_prior={"u": 0.9, "v": 0.1}, estimate=estimate).fit(X, y)
        view = nb.deploy.with_class_prior(BayesianNB(FEATURES, estimate=estimate).fit(X, y), {"u": 0.9, "v": 0.1})
        assert_allclose(view.predict_joint_log_proba(X), told.predict_joint_log_proba(X), rtol=1e-12)
    assert_array_equal(clf.predict_proba(X), before)
    assert_allclose(
        nb.deploy.with_class_prior(clf, FixedProbabilities({"u": 0.9, "v": 0.1}).p).predict_interval(X),
        view.predict_interval(X),
    )


def test_a_class_prior_for_each_row_is_used_in_every_answer():
    clf, X, _ = fitted(12)
    X = X[:6]
    p = default_rng(0).dirichlet([2.0, 3.0], len(X))
    by_row = nb.deploy.with_class_prior(clf, pd.DataFrame(p, columns=["u", "v"]))
    joint, interval, sampled = (
        by_row.predict_joint_log_proba(X),
        by_row.predict_interval(X),
        nb.draws.sample_proba(by_row, X, 50),
    )
    log_odds = nb.odds.log_odds(by_row, X)
    entropies, ledger = by_row.uncertainty(X, draws=100), by_row.explain(X, "u", "v")
    for i in (0, 5):
        alone, one = nb.deploy.with_class_prior(clf, {"u": p[i, 0], "v": p[i, 1]}), X.iloc[[i]]
        assert_allclose(joint[i], alone.predict_joint_log_proba(one)[0], rtol=1e-12)
        assert_allclose(interval.iloc[i], alone.predict_interval(one).iloc[0], rtol=1e-9)
        assert_allclose(sampled[:, i], nb.draws.sample_proba(alone, one, 50)[:, 0], rtol=1e-9)
        assert_allclose(log_odds.iloc[i], nb.odds.log_odds(alone, one).iloc[0], rtol=1e-9)
        pd.testing.assert_frame_equal(entropies.iloc[[i]], alone.uncertainty(one, draws=100), rtol=1e-9)
        pd.testing.assert_frame_equal(ledger.loc[i], alone.explain(one, "u", "v").loc[i], rtol=1e-9)
    with pytest.raises(ValueError, match="class prior for each of 6 rows; got 3 rows"):
        by_row.predict(X[:3])


def test_leave_one_out_and_samples_of_a_view_keep_its_class_prior():
    X, y = mixed(12)
    p = {"u": 0.9, "v": 0.1}
    for estimate in ("predictive", "mle"):
        told = BayesianNB(FEATURES, class_prior=p, estimate=estimate, random_state=0).fit(X, y)
        view = nb.deploy.with_class_prior(BayesianNB(FEATURES, estimate=estimate, random_state=0).fit(X, y), p)
        pd.testing.assert_frame_equal(view.loo(X, y), told.loo(X, y))
        pd.testing.assert_frame_equal(view.uncertainty(X, (X, y), draws=100), told.uncertainty(X, (X, y), draws=100))
        assert view.log_evidence_.joint == pytest.approx(told.log_evidence_.joint)
        pd.testing.assert_frame_equal(nb.draws.sample(view, 5), nb.draws.sample(told, 5))


def test_a_classifier_answers_and_does_not_learn():
    clf, X, y = fitted(12)
    view = nb.deploy.with_class_prior(clf, [0.2, 0.8])
    assert not any(hasattr(view, verb) for verb in ("fit", "partial_fit", "forget", "merge", "discount", "save"))
    assert clf.partial_fit(X, y).class_count_.sum() == 24
    assert view.statistics.rows.sum() == 12


@pytest.mark.parametrize("classes", ["uv", "uvw"])
def test_a_class_of_probability_0_is_ruled_out_and_not_nan(classes):
    clf, X, _ = fitted(10, classes)
    X = X[:4]
    p = [1.0, 0.0] if classes == "uv" else [0.6, 0.4, 0.0]
    for view in (nb.deploy.with_class_prior(clf, p), nb.deploy.with_class_prior(clf, np.tile(p, (len(X), 1)))):
        interval = view.predict_interval(X)
        assert (interval[clf.classes_[-1]] == 0).all(axis=None)
        uncertain = view.uncertainty(X, draws=200)
        assert uncertain.notna().all(axis=None)
        assert (uncertain["top"] == 1).all() == (classes == "uv")
        assert (nb.odds.log_odds(view, X)[clf.classes_[0], clf.classes_[-1]]["mean"] == np.inf).all()
        ledger = view.explain(X, clf.classes_[0], clf.classes_[-1])
        for entry in ("(prior)", "(total)"):
            assert (ledger.xs(entry, level="entry")[["log_odds", "lower", "upper"]] == np.inf).all(axis=None)
        inner = ledger.drop(["(prior)", "(total)"], level="entry")
        assert np.isfinite(inner[["log_odds", "lower", "upper"]]).all(axis=None)


def test_a_level_that_is_impossible_in_a_class_has_infinite_log_odds():
    X = pd.DataFrame({"c": ["a", "b", "a"], "g": [0.0, 1.0, 2.0]})
    never = {"u": Dirichlet({"a": 1.0, "b": 1.0}), "v": Dirichlet({"a": 1.0, "b": 0.0})}
    clf = BayesianNB({"c": Categorical(never)}).fit(X, ["u", "u", "v"])
    one = pd.DataFrame({"c": ["b"], "g": [1.0]})
    assert nb.odds.log_odds(clf, one)["u", "v"]["mean"].item() == np.inf
    assert clf.explain(one, "u", "v").loc[0].loc["c", ["log_odds", "lower"]].tolist() == [np.inf, np.inf]


def test_a_row_counts_with_its_weight_in_ranks_of_novelty():
    X, y = mixed(30, missing=0)
    weight = np.arange(30) % 3 + 1.0
    heavy = BayesianNB(FEATURES, random_state=0).fit(X, y, weight)
    rank = heavy.uncertainty(X, (X, y, weight))["novelty_rank"]
    assert rank.between(0, 1).all()
    joint = heavy.classifier_.log_left_out(X, y, weight)[0]
    novelty, left_out = heavy.uncertainty(X)["novelty"], -np.logaddexp.reduce(joint, axis=1)
    expected = [weight[left_out < value].sum() / weight.sum() for value in novelty]
    assert_allclose(rank, expected)


@pytest.fixture(scope="module", params=["learned concentration", "learned tails"])
def sampled(request):
    """A sampled feature together with conjugate ones; a shared parameter makes its classes dependent."""
    if request.param == "learned tails":
        X, y = mixed(40)
        return BayesianNB({"g": StudentT()}, random_state=0).fit(X[["g", "c"]], y), X[["g", "c"]][:4]
    X = pd.DataFrame({"t": ["a"] * 10 + ["b"] + ["a"] * 12, "z": np.arange(23.0) % 5})
    clf = BayesianNB({"t": HierarchicalCategorical()}, random_state=0).fit(X, ["p"] * 11 + ["q"] * 12)
    return clf, pd.DataFrame({"t": ["b", "a", None], "z": [1.0, 2.0, 3.0]})


@pytest.mark.nuts
def test_the_uncertainty_of_sampled_features_comes_from_their_draws(sampled):
    clf, X = sampled
    a, b = clf.classes_
    joint = clf.posterior_.draw(default_rng(5), (20_000,)).log_joint(*clf.classifier_.read(X))
    odds = joint[..., 0] - joint[..., 1]
    draws = np.stack([expit(odds), expit(-odds)], axis=-1)
    interval = clf.predict_interval(X, 0.8, draws=20_000, given="data")
    p = nb.draws.sample_proba(clf, X, 20_000)
    assert_allclose(p.mean(0), clf.predict_proba(X), atol=0.02)
    given_row = np.log(p[..., 0]) - np.log(p[..., 1])
    assert_allclose(nb.odds.log_odds(clf, X)[a, b]["mean"], given_row.mean(0), atol=5 * given_row.std() / np.sqrt(4000))
    assert_allclose(interval[a].to_numpy().T, np.quantile(draws[..., 0], [0.1, 0.5, 0.9], axis=0), atol=0.02)
    assert_allclose(
        clf.uncertainty(X, given="data")["top"],
        (draws.argmax(-1) == np.searchsorted(clf.classes_, clf.predict(X))).mean(0),
        atol=0.02,
    )
    error = odds.std(0) * np.sqrt(2 / 4000) * 4
    moments = nb.odds.log_odds(clf, X, given="data")[a, b]
    assert (np.abs(moments["mean"] - odds.mean(0)) < error).all()
    assert_allclose(moments["variance"], odds.var(0), rtol=0.15)
    whole = clf.explain(X, a, b, prob=0.8).xs("(total)", level="entry")
    for end, share in (("lower", 0.1), ("upper", 0.9)):
        assert_allclose(expit(whole[end]), expit(np.quantile(odds, share, axis=0)), atol=0.03)
    with pytest.raises(
        ValueError, match='is sampled and has no closed form for the saddlepoint formula; use method="dr'
    ):
        clf.predict_interval(X, method="saddlepoint")


@pytest.mark.parametrize("classes", ["uv", "uvw"])
def test_without_rows_there_are_no_intervals(classes):
    clf, X, _ = fitted(classes=classes)
    assert clf.predict_interval(X[:0]).shape == (0, 3 * len(classes))
    assert list(clf.uncertainty(X[:0]).columns) == list(clf.uncertainty(X[:1]).columns)
    assert len(clf.uncertainty(X[:0])["top"]) == len(nb.odds.log_odds(clf, X[:0])) == 0


def test_a_probability_far_in_the_tail_is_not_rounded_to_0():
    rng = default_rng(0)
    X = pd.DataFrame({"g": np.concatenate([rng.normal(0, 1, 500), rng.normal(30, 1, 500)])})
    clf = BayesianNB().fit(X, np.repeat(["u", "v"], 500))
    tail = clf.predict_interval(pd.DataFrame({"g": [0.0]}))["v"].loc[0]
    assert 0 < tail["lower"] < tail["median"] < tail["upper"] < 1e-80


def test_the_search_for_a_quantile_far_out_overflows_without_a_warning():
    # Thirty dependent columns give log-odds of hundreds of nats: the slope of the first steps is infinite.
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    found = BayesianNB(random_state=0).fit(X, y).uncertainty(X[:1], draws=4)
    assert 0 <= found["lower"].iloc[0] <= found["upper"].iloc[0] <= 1


@pytest.mark.parametrize("given_what", ["row", "data"])
def test_trees_drawn_cell_by_cell_have_the_distribution_of_draws_of_whole_trees(given_what, monkeypatch):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    x = rng.normal(y[:, None], 1.0, (60, 2))
    clf = BayesianNB(PolyaTree()).fit(x, y).classifier_
    data, rows = clf.read(np.vstack([x[:3], [[np.nan, 0.3]]]))
    believed, shares = clf.believed.when_given(given_what), (0.055, 0.5, 0.945)
    assert believed.by_cells
    by_cells = PosteriorDraws(believed, 5_000, 1).intervals(data, rows, shares)[0]
    monkeypatch.setattr(conjugate, "MANY_NUMBERS", 10**9)
    whole = PosteriorDraws(replace(believed, posterior=replace(believed.posterior)), 5_000, 1)
    assert not whole.believed.by_cells
    drawn = np.exp(normalize(whole.log_joint(data, np.arange(rows))))
    ranks = (drawn[..., None] < by_cells).mean(0)
    # Four standard errors of a difference of two shares of 5,000 draws.
    error = np.sqrt(2 * np.multiply(shares, np.subtract(1, shares)) / 5_000)
    assert (np.abs(ranks - shares) <= 4 * error).all()


def test_a_law_answers_all_rows_in_their_order_and_knows_which_ones_were_drawn():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 2))
    x[:, 1] = np.abs(x[:, 1]) > 0.7
    y = (x[:, 0] > 0).astype(int)
    x[:, 1] *= y
    zeros = Beta(0.0, 1.0)
    clf = BayesianNB({"0": Gaussian(), "1": Bernoulli({0: zeros, 1: Beta()})}).fit(
        pd.DataFrame(x, columns=["0", "1"]), y
    )
    asked = pd.DataFrame({"0": [0.3, 1e12, 0.1, -0.5, 1e12], "1": [0.0, 0.0, 1.0, 0.0, 1.0]})
    data, n = clf.classifier_.read(asked)
    law = Law.of(PosteriorDraws(Believed(clf.posterior_), 500, 0), data, n)
    assert_array_equal(law.drawn, [False, True, False, False, False])
    assert_array_equal(np.isneginf(law.certain), [False, False, True, False, True])
    q = np.array([0.1, 0.5, 0.9])
    for order in (np.arange(n), np.array([3, 1, 4, 0, 2])):
        some = law[order]
        assert_array_equal(some.quantile(q), law.quantile(q)[order])
        assert_array_equal(some.quantile(0.5), law.quantile(q)[order, 1])
        assert_array_equal(some.cdf(0.0), law.cdf(0.0)[order])
        assert_array_equal(some.mean, law.mean[order])
        assert_array_equal(some.variance, law.variance[order])
    near = np.array([0, 3])
    assert_allclose(law.cdf(law.quantile(0.1)[0])[0], 0.1, atol=1e-5)
    exact = LogOdds.of(clf.posterior_, *clf.classifier_.read(asked.iloc[near]), power=1)
    assert_allclose(law.mean[near], exact.mean, rtol=1e-12)
    assert_allclose(law.variance[near], exact.variance, rtol=1e-12)


@pytest.mark.slow
def test_one_row_of_a_model_of_thousands_of_parameters_is_answered_as_by_exact_draws():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(40), 12)
    x = rng.normal(size=(len(y), 60))
    clf = BayesianNB(random_state=0).fit(x, y)
    auto, exact = (clf.predict_interval(x[:1], method=method) for method in ("auto", "draws"))
    largest = exact.xs("upper", axis=1, level=1).iloc[0].idxmax()
    assert exact[largest].iloc[0]["upper"] - exact[largest].iloc[0]["lower"] > 0.1
    assert_allclose(auto[largest], exact[largest], atol=0.06)
    assert auto.attrs["mcse"] == pytest.approx(exact.attrs["mcse"], rel=0.3)
    assert clf.uncertainty(x[:1])["epistemic"][0] > 0


@pytest.mark.slow
def test_rows_far_out_of_a_model_of_thousands_of_parameters_are_answered_as_by_exact_draws():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(40), 6)
    x = rng.normal(size=(len(y), 60))
    clf = BayesianNB(random_state=0).fit(x, y)
    asked = x[:4].copy()
    asked[1, 5], asked[2, 5], asked[3] = 1e9, 1e149, np.nan
    auto, exact = (clf.predict_interval(asked, method=method) for method in ("auto", "draws"))
    assert auto.notna().all(axis=None)
    assert_allclose(auto.to_numpy(), exact.to_numpy(), atol=0.1)
