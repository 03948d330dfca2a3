"""Counts and concentrations up to 1e15 against sixty digits: nothing is lost where large terms nearly cancel."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from mpmath import loggamma, mpf
from numpy.testing import assert_allclose
from scipy import sparse

from bayesnb import BayesianNB, Bernoulli, Beta, Categorical, Dirichlet, Gamma, Multinomial, Poisson
from bayesnb.errors import ImproperError
from bayesnb.model import normalize

SIZES = [1.0, 1e4, 1e8, 1e12, 1e15]


@pytest.fixture(autouse=True)
def _sixty_digits():
    with mpmath.workdps(60):
        yield


def rising(a, n):
    return loggamma(a + n) - loggamma(a)


def dirichlet_multinomial(alpha, counts):
    """ln ∫ ∏ θ^n p(θ) dθ."""
    alpha, counts = [mpf(a) for a in alpha], [mpf(n) for n in counts]
    return sum(map(rising, alpha, counts)) - rising(sum(alpha), sum(counts))


def orders(counts):
    """ln N! / ∏ n!."""
    return loggamma(sum(map(mpf, counts)) + 1) - sum(loggamma(mpf(n) + 1) for n in counts)


def negative_binomial(alpha, beta, counts):
    """ln ∫ ∏ Poisson(k; λ) Gamma(λ) dλ, the exposure of each count being 1."""
    alpha, beta, total = mpf(alpha), mpf(beta), sum(map(mpf, counts))
    value = alpha * mpmath.log(beta) - (alpha + total) * mpmath.log(beta + len(counts)) + rising(alpha, total)
    return value - sum(loggamma(mpf(k) + 1) for k in counts)


# --- The evidence ---


@pytest.mark.parametrize("c", [*SIZES, 1e-8, 0.3])
def test_the_evidence_keeps_its_digits_under_concentrations_of_any_size(c: float):
    y, x = ["a"] * 10 + ["b"] * 4, list("uuuuuuuuuv") + list("vvww")
    prior = Categorical(Dirichlet({"u": c, "v": 2 * c, "w": c}))
    clf = BayesianNB({"x": prior}, class_prior=Dirichlet(c)).fit({"x": x}, y)
    exact = dirichlet_multinomial([c, 2 * c, c], [9, 1, 0]) + dirichlet_multinomial([c, 2 * c, c], [0, 2, 2])
    assert_allclose(clf.log_evidence_.conditional, float(exact), rtol=1e-13)
    assert_allclose(clf.log_evidence_.label, float(dirichlet_multinomial([c, c], [10, 4])), rtol=1e-13)
    clf = BayesianNB({"x": Bernoulli(Beta(c, 3 * c))}).fit({"x": [1, 1, 0, 1, 0]}, ["a"] * 5)
    assert_allclose(clf.log_evidence_.conditional, float(dirichlet_multinomial([c, 3 * c], [3, 2])), rtol=1e-13)
    clf = BayesianNB({"x": Poisson(Gamma(c, c))}).fit({"x": [1, 1, 0, 4, 0]}, ["a"] * 5)
    assert_allclose(clf.log_evidence_.conditional, float(negative_binomial(c, c, [1, 1, 0, 4, 0])), rtol=1e-13)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_the_evidence_of_bags_keeps_its_digits_at_any_count(n: float, form):
    rows = np.array([[n, n, n], [n + np.round(np.sqrt(n)), n + 2, n], [1.0, 0.0, 2.0]])
    clf = BayesianNB(Multinomial(Dirichlet([1.0, 0.5, 3.0]))).fit(form(rows), [0, 0, 0])
    exact = dirichlet_multinomial([1, 0.5, 3], rows.sum(0)) + sum(orders(row) for row in rows.tolist())
    assert_allclose(clf.log_evidence_.conditional, float(exact), rtol=1e-10)


@pytest.mark.parametrize("n", SIZES)
def test_the_evidence_of_events_keeps_its_digits_at_any_count(n: float):
    x = [n, np.round(n + np.sqrt(n)), n + 3, np.round(n - np.sqrt(n) / 2)]
    clf = BayesianNB({"x": Poisson(Gamma(2.0, 1e-3))}).fit({"x": x}, [0] * 4)
    assert_allclose(clf.log_evidence_.conditional, float(negative_binomial(2, 1e-3, x)), rtol=1e-12)


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


# --- Predictions ---


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_the_probability_of_a_bag_keeps_its_digits_at_any_count(n: float, form):
    rows = np.array([[n, 2 * n, n], [n, n, 0.0]])
    clf = BayesianNB(Multinomial()).fit(form(rows), [0, 1])
    few = np.array([[n, np.round(2 * n + np.sqrt(n)), n + 3], [0.0, n, 5.0], [1.0, 0.0, 1.0]])
    joint = clf.predict_joint_log_proba(form(few)) - np.log(0.5)
    exact = [
        [float(dirichlet_multinomial(1 + row, ask.tolist()) + orders(ask.tolist())) for row in rows] for ask in few
    ]
    assert_allclose(joint, exact, rtol=1e-9)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("estimate", ["predictive", "mean", "map", "mle"])
def test_the_probability_of_a_count_keeps_its_digits_at_any_size(n: float, estimate: str):
    spread = np.sqrt(n)
    x = np.round(n + spread * np.array([0.0, 1.0, -0.5, 0.25]))
    clf = BayesianNB({"x": Poisson(Gamma(1.0, 1e-9))}, estimate=estimate).fit({"x": x}, [0] * 4)
    ask = np.round(n + spread * np.array([0.0, 0.5, 3.0, -0.9]))
    total = mpf(1) + sum(map(mpf, x))
    rate = {"mean": total / (4 + mpf(1e-9)), "map": (total - 1) / (4 + mpf(1e-9)), "mle": (total - 1) / 4}
    for value, found in zip(ask, clf.predict_joint_log_proba({"x": ask})[:, 0], strict=True):
        if estimate == "predictive":
            exact = negative_binomial(1, 1e-9, [*x, value]) - negative_binomial(1, 1e-9, x)
        else:
            exact = value * mpmath.log(rate[estimate]) - rate[estimate] - loggamma(mpf(value) + 1)
        assert_allclose(found, float(exact), rtol=1e-9)


def test_the_class_of_a_count_of_a_trillion_is_the_right_one():
    n, spread = 1e12, 1e6
    x = [n, n + spread, n - spread, n + spread, n + 2 * spread, n]
    clf = BayesianNB({"n": Poisson(Gamma(1, 1e-9))}).fit({"n": x}, list("aaabbb"))
    assert_allclose(clf.predict_proba({"n": [n + spread / 2]}), [[0.499937517578, 0.500062482422]], rtol=1e-10)


def test_moments_of_large_counts_are_those_of_the_exact_gamma_function():
    clf = BayesianNB({"x": Poisson(Gamma(1.0, 1e-9))}).fit({"x": [1e12, 1e12 + 1e6]}, [0, 0])
    family, posterior = clf.posterior_.model.features["x"], clf.posterior_.features["x"]
    alpha, beta, k = mpf(posterior.alpha[0, 0]), mpf(posterior.beta[0, 0]), mpf(1e12)
    for t in (-0.5, 0.25, 1.0, 3.0):
        exact = alpha * mpmath.log(beta) - (alpha + t * k) * mpmath.log(beta + t) + rising(alpha, t * k)
        exact -= t * loggamma(k + 1)
        assert_allclose(family.log_moment(posterior, np.array([[1e12]]), t), [[float(exact)]], rtol=1e-9)


# --- Fractions of words ---


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_a_bag_of_fractions_is_the_dirichlet_multinomial_of_real_counts(form, road):
    rows = np.array([[0.5, 0.0, 1.25], [2.75, 1e-3, 0.0], [3.0, 0.2, 7.5]])
    clf = BayesianNB(Multinomial(Dirichlet([1.0, 0.5, 2.0]))).fit(form(rows), [0, 0, 0])
    ask, believed = [0.3, 0.0, 4.5], np.array([1, 0.5, 2]) + rows.sum(0)
    exact = dirichlet_multinomial(believed, ask) + orders(ask)
    assert_allclose(clf.predict_joint_log_proba(form(np.array([ask])))[0, 0], float(exact), rtol=1e-12)


@pytest.mark.parametrize("alpha", [1e-17, 1e-12, 1e-300])
def test_the_variances_of_two_very_unequal_probabilities_are_equal(alpha: float):
    exact = mpf(alpha) / (1 + mpf(alpha)) ** 2 / (2 + mpf(alpha))
    assert_allclose(Dirichlet([alpha, 1.0]).variance(), [float(exact)] * 2, rtol=1e-15)
    assert_allclose(Beta(1.0, alpha).variance(), float(exact), rtol=1e-15)


# --- Last digits ---


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
