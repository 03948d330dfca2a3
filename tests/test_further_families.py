"""The further families against scipy, quadrature and sixty digits."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from mpmath import loggamma, mpf
from numpy.testing import assert_allclose
from scipy import integrate, stats

from bayesnb import BayesianNB, Beta, Gamma, Gaussian, NormalGamma
from bayesnb.families import Exponential, GammaKnownShape, LogNormal, NegativeBinomial

Y = ["a"] * 4 + ["b"] * 2
AMOUNTS = {"v": [0.5, 3.0, 12.0, 1.5, 700.0, 90.0]}
COUNTS = {"v": [0, 3, 12, 1, 700, 90]}


def fitted(family, table):
    return BayesianNB({"v": family}).fit(table, Y)


def predictive(clf, values):
    """log p(v | class), (row, class)."""
    rows = {"v": values}
    return clf.predict_joint_log_proba(rows) - np.log(clf.tables()["(class)"]["probability"].to_numpy())


def test_the_predictive_of_a_log_normal_is_a_student_t_of_the_logarithm_over_x():
    clf = fitted(LogNormal(NormalGamma(1.0, 0.5, 2.0, 3.0)), AMOUNTS)
    post, x = clf.posterior_.features["v"], np.array([0.01, 1.0, 40.0, 1e6])
    student = stats.t(2 * post.a[:, 0], post.m[:, 0], np.sqrt(post.b * (post.kappa + 1) / (post.a * post.kappa))[:, 0])
    assert_allclose(predictive(clf, x), student.logpdf(np.log(x)[:, None]) - np.log(x)[:, None], rtol=1e-10)


def test_the_evidence_of_a_log_normal_is_that_of_the_logarithms_less_their_sum():
    prior = NormalGamma(1.0, 0.5, 2.0, 3.0)
    logs = {"v": np.log(AMOUNTS["v"])}
    found, of_logs = (fitted(f(prior), t).log_evidence_ for f, t in ((LogNormal, AMOUNTS), (Gaussian, logs)))
    assert_allclose(found.conditional, of_logs.conditional - logs["v"].sum(), rtol=1e-12)


def test_the_predictive_of_a_gamma_is_a_beta_prime():
    clf = fitted(GammaKnownShape(Gamma(2.0, 3.0), shape=2.5), AMOUNTS)
    post, x = clf.posterior_.features["v"], np.array([0.01, 1.0, 40.0, 1e6])
    exact = stats.betaprime(2.5, post.alpha[:, 0], scale=post.beta[:, 0])
    assert_allclose(predictive(clf, x), exact.logpdf(x[:, None]), rtol=1e-10)


def test_the_evidence_of_a_gamma_is_the_integral_over_the_rate():
    x = np.array(AMOUNTS["v"][:4])
    clf = BayesianNB({"v": GammaKnownShape(Gamma(2.0, 3.0), shape=2.5)}).fit({"v": x}, Y[:4])

    def joint(rate):
        return np.exp(stats.gamma(2.5, scale=1 / rate).logpdf(x).sum() + stats.gamma(2.0, scale=1 / 3).logpdf(rate))

    exact = np.log(integrate.quad(joint, 0, 20, epsabs=0, epsrel=1e-12, limit=200, points=[0.3, 1.0])[0])
    assert_allclose(clf.log_evidence_.conditional, exact, rtol=1e-10)


@pytest.mark.parametrize("r", [1, 4])
def test_the_predictive_of_a_negative_binomial_is_a_beta_negative_binomial(r):
    clf = fitted(NegativeBinomial(Beta(2.0, 1.5), r=r), COUNTS)
    post, x = clf.posterior_.features["v"], np.array([0, 1, 40, 10_000])
    exact = stats.betanbinom(r, post.alpha[:, 0], post.beta[:, 0])
    assert_allclose(predictive(clf, x), exact.logpmf(x[:, None]), rtol=1e-9)
    theta = clf.posterior_.mean().features["v"]
    plug_in = stats.nbinom(r, np.exp(theta["log_theta"][:, 0, 1])).logpmf(x[:, None])
    family = clf.posterior_.model.features["v"]
    assert_allclose(family.log_likelihood(theta, x[:, None].astype(float)), plug_in, rtol=1e-9)


@pytest.mark.parametrize("size", [1, 10**4, 10**8, 10**12])
@pytest.mark.parametrize("r", [0.5, 1.0, 1e6, 1e12])
def test_the_evidence_of_a_negative_binomial_keeps_its_digits_at_counts_of_any_size(size, r):
    counts = [size, 2 * size, 0, size + 3]
    clf = BayesianNB({"v": NegativeBinomial(Beta(2.0, 1.5), r=r)}).fit({"v": counts}, Y[:4])
    with mpmath.workdps(60):
        total, trials = mpf(sum(counts)), mpf(r) * 4
        exact = sum(loggamma(mpf(k) + r) - loggamma(mpf(r)) - loggamma(mpf(k) + 1) for k in counts)
        exact += loggamma(2 + trials) + loggamma(mpf(1.5) + total) - loggamma(mpf(3.5) + trials + total)
        exact -= loggamma(mpf(2)) + loggamma(mpf(1.5)) - loggamma(mpf(3.5))
    assert_allclose(clf.log_evidence_.conditional, float(exact), rtol=1e-11)


def test_a_gamma_of_shape_1_is_an_exponential():
    one, other = fitted(GammaKnownShape(), AMOUNTS), fitted(Exponential(), AMOUNTS)
    assert_allclose(one.predict_proba(AMOUNTS), other.predict_proba(AMOUNTS), rtol=1e-12)
    assert_allclose(one.log_evidence_.joint, other.log_evidence_.joint, rtol=1e-12)
    assert_allclose(one.loo(AMOUNTS, Y), other.loo(AMOUNTS, Y), rtol=1e-12)


@pytest.mark.parametrize("family", [LogNormal(), GammaKnownShape(shape=2.0), NegativeBinomial()])
def test_a_table_of_parameters_is_in_the_terms_of_the_data(family):
    x = {"v": np.array([8.0, 9.0, 10.0, 11.0, 12.0, 10.0])}
    shown = BayesianNB({"v": family}, estimate="mle").fit(x, ["a"] * 6).tables()["v"].loc["a"]
    assert_allclose(shown.iloc[0], np.exp(np.log(x["v"]).mean()) if isinstance(family, LogNormal) else 10.0, rtol=1e-9)
