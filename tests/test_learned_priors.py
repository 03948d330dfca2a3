"""Priors whose strength is learned from columns, priors around pooled frequencies, and priors from what one knows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.random import default_rng
from numpy.testing import assert_allclose
from scipy import stats

from bayesnb import (
    BayesianNB,
    Bernoulli,
    Beta,
    ByType,
    Categorical,
    Dirichlet,
    Gamma,
    Gaussian,
    Multinomial,
    Normal,
    NormalGamma,
    NormalWishart,
    Poisson,
    load,
)
from bayesnb.families import Exponential, LogNormal
from bayesnb.priors.elicitation import SPREAD, learned_strengths, strengthened

RNG = default_rng(3)
Y = np.repeat([0, 1, 2], 12)
NUMBERS = RNG.normal(Y[:, None] * [0.0, 1.0, 3.0, 0.2], [1.0, 2.0, 3.0, 40.0], (36, 4))
LEARNED = {
    "Gaussian": (Gaussian(NormalGamma.learned()), NUMBERS),
    "LogNormal": (LogNormal(NormalGamma.learned()), np.exp(NUMBERS / 10)),
    "Poisson": (Poisson(Gamma.learned()), np.floor(np.abs(NUMBERS))),
    "Exponential": (Exponential(Gamma.learned()), np.abs(NUMBERS) + 0.1),
    "Bernoulli": (Bernoulli(Beta.learned()), (NUMBERS > 1.0).astype(float)),
    "Categorical": (Categorical(Dirichlet.learned()), np.clip(np.floor(NUMBERS), -2, 3)),
    "Multinomial": (Multinomial(Dirichlet.learned()), np.floor(np.abs(NUMBERS))),
}


def learned(name):
    """A fitted model, the prior that it learned, and the same prior with its strengths at 1."""
    family, X = LEARNED[name]
    clf = BayesianNB(family).fit(X, Y)
    s, given = clf.classifier_.statistics.features["x"], clf.posterior_.prior["x"]
    return clf, s, given, family.resolve_prior(family.prior, s)


@pytest.mark.parametrize("name", LEARNED)
def test_the_learned_strengths_maximize_the_evidence_times_the_hyperprior(name):
    clf, s, given, plain = learned(name)
    family = LEARNED[name][0]
    factors = np.array(list(learned_strengths(plain, *family.taught(s)).values()))

    def score(factors):
        evidence = family.log_evidence(strengthened(plain, factors), s).sum()
        return evidence - 0.5 * (np.log(factors) ** 2).sum() / SPREAD**2

    best = score(factors)
    for k in range(len(factors)):
        for factor in (0.5, 0.97, 1.03, 2.0):
            other = factors.copy()
            other[k] *= factor
            assert score(other) < best
    assert_allclose(family.log_evidence(given, s).sum(), clf.log_evidence_.features["x"])
    assert clf.log_evidence_.features["x"] > family.log_evidence(plain, s).sum()


@pytest.mark.parametrize("name", LEARNED)
def test_a_learned_prior_does_not_depend_on_the_parts_in_which_rows_are_learned(name, tmp_path):
    family, X = LEARNED[name]
    whole = BayesianNB(family).fit(X, Y)
    parts = [BayesianNB(family).fit(X[k::2], Y[k::2]) for k in range(2)]
    merged = parts[0].merge(parts[1])
    assert_allclose(merged.predict_log_proba(X), whole.predict_log_proba(X), rtol=1e-7, atol=1e-7)
    whole.save(tmp_path / "model.bayesnb")
    again = load(tmp_path / "model.bayesnb")
    assert_allclose(again.predict_log_proba(X), whole.predict_log_proba(X), rtol=1e-12)
    assert again.describe()["prior"].iloc[0] == whole.describe()["prior"].iloc[0]


def test_what_was_learned_is_shown():
    clf = BayesianNB(LEARNED["Gaussian"][0]).fit(NUMBERS, Y)
    text = clf.describe()["prior"].iloc[0]
    assert text.startswith("NormalGamma(m=pooled, kappa=1, a=0.5, b=pooled, tuned=True), learned: kappa × ")
    factors = [part.split(" × ")[1] for part in text.split("learned: ")[1].split("; ")]
    prior = clf.posterior_.prior["x"]
    assert_allclose(prior.kappa, float(factors[0]), rtol=5e-3)
    assert_allclose(prior.a, 0.5 * float(factors[1]), rtol=5e-3)


def test_without_rows_that_tell_a_learned_prior_is_the_usual_one():
    found = BayesianNB(Gaussian(NormalGamma.learned())).fit(np.full((4, 2), np.nan), [0, 0, 1, 1])
    usual = BayesianNB(Gaussian()).fit(np.full((4, 2), np.nan), [0, 0, 1, 1])
    for a, b in zip(("m", "kappa", "a", "b"), ("m", "kappa", "a", "b"), strict=True):
        assert_allclose(getattr(found.posterior_.prior["x"], a), getattr(usual.posterior_.prior["x"], b), rtol=1e-6)


def test_many_columns_of_a_table_teach_one_strength():
    rng, n = default_rng(5), 30
    y = np.arange(n) % 2
    # The classes hardly differ in any column, so a class is best described by all rows together.
    X = pd.DataFrame(rng.choice(["a", "b", "c", "d"], p=[0.7, 0.2, 0.07, 0.03], size=(n, 40)))
    X.columns = [f"c{k}" for k in range(40)]
    clf = BayesianNB(ByType(text=Categorical(Dirichlet.learned()))).fit(X, y)
    assert list(clf.classifier_.schema.features) == ["levels"]
    many = clf.posterior_.prior["levels"].total
    assert_allclose(many, many[0, 0])
    one = BayesianNB({"c0": Categorical(Dirichlet.learned())}).fit(X[["c0"]], y).posterior_.prior["c0"].total
    assert many[0, 0] > 2 * one[0, 0] > 2.0


@pytest.mark.slow
def test_evidence_keeps_small_tables_of_real_columns_safe():
    # Nine rows of wine and six of breast cancer, where tuned Gaussian priors without a hyperprior did harm.
    from sklearn import datasets
    from sklearn.metrics import log_loss

    gaps = {}
    for name in ("wine", "breast_cancer"):
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        gaps[name] = []
        for seed in range(5):
            mixed = default_rng(seed).permutation(len(y))
            some = np.concatenate([mixed[y[mixed] == c][:3] for c in np.unique(y)])
            scores = [
                log_loss(y, BayesianNB(family).fit(X[some], y[some]).predict_proba(X))
                for family in (Gaussian(), Gaussian(NormalGamma.learned()))
            ]
            gaps[name].append(scores[1] - scores[0])
    assert np.mean(gaps["wine"]) < 0.03
    assert np.mean(gaps["breast_cancer"]) < 0.0


def test_a_pooled_prior_shrinks_a_class_towards_the_whole_column():
    X, y = {"x": ["a", "a", "b", "c", "a", "b"]}, [0, 0, 0, 0, 1, 1]
    clf = BayesianNB({"x": Categorical(Dirichlet.pooled(9.0))}).fit(X, y)
    whole = np.array([3, 2, 1]) + 1
    assert_allclose(clf.posterior_.prior["x"].alpha[1, 0], 9 * whole / whole.sum())
    assert_allclose(clf.tables()["x"].loc[1], (np.array([1, 1, 0]) + whole) / 11)
    clf = BayesianNB({"x": Bernoulli(Beta.pooled(6.0))}).fit({"x": [1, 1, 0, 0, 0]}, [0, 0, 0, 1, 1])
    assert_allclose(clf.posterior_.prior["x"].alpha, 6 * 3 / 7)
    assert_allclose(clf.tables()["x"].loc[1, 1], 6 * 3 / 7 / 8)


# From what one knows


def student(prior: NormalGamma):
    return stats.t(2 * prior.a, prior.m, np.sqrt(prior.b * (prior.kappa + 1) / (prior.a * prior.kappa)))


@pytest.mark.parametrize(
    ("make", "of", "ends", "share"),
    [
        *((Beta.from_quantiles, lambda p: stats.beta(p.alpha, p.beta), ends, 0.8)
          for ends in ((0.2, 0.6), (0.001, 0.01), (0.4, 0.45), (0.05, 0.95))),
        *((Gamma.from_quantiles, lambda p: stats.gamma(p.alpha, scale=1 / p.beta), ends, 0.9)
          for ends in ((2.0, 5.0), (1e-3, 10.0), (900.0, 1000.0))),
        (Normal.from_quantiles, lambda p: stats.norm(p.m, np.sqrt(p.v)), (160.0, 180.0), 0.9),
        (lambda *ends: NormalGamma.from_quantiles(*ends, rows=4), student, (155.0, 185.0), 0.9),
    ],
)  # fmt: skip
def test_a_prior_has_the_interval_that_it_was_given(make, of, ends, share):
    assert_allclose(of(make(*ends, share)).ppf([(1 - share) / 2, (1 + share) / 2]), ends, rtol=1e-6)


def test_priors_from_rows_have_the_mean_of_the_rows_and_are_worth_n_of_them():
    assert Dirichlet.from_rows(8, ["a", "b", "a", "a"]).alpha == {"a": 6.0, "b": 2.0}
    beta = Beta.from_rows(8, [1, 0, 0, 0])
    assert (float(beta.alpha), float(beta.beta)) == (2.0, 6.0)
    gamma = Gamma.from_rows(5, [2, 4])
    assert (float(gamma.alpha), float(gamma.beta)) == (15.0, 5.0)
    x = default_rng(1).normal(5, 2, (30, 2))
    single, block = NormalGamma.from_rows(6, x[:, 0]), NormalWishart.from_rows(6, x)
    assert_allclose([single.m, single.b / single.a], [x[:, 0].mean(), x[:, 0].var()])
    assert_allclose(block.scale / block.dof, np.cov(x.T, ddof=0))
    assert_allclose([block.scale[0, 0] / 2, block.dof / 2], [single.b, single.a])
