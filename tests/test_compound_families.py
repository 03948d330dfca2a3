"""Mixtures of families and hurdles against quadrature over refits, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.special import betaln

from bayesnb import BayesianNB, Beta, Gamma, Gaussian, NormalGamma, Poisson, load
from bayesnb.errors import ImproperError
from bayesnb.families import Exponential, GammaKnownShape, Hurdle, Mixture, PolyaTree
from bayesnb.priors import BetaTree

Y = np.array(["a"] * 5 + ["b"] * 4)
WAITS = np.array([0.3, 1.2, 0.8, 2.5, np.nan, 3.0, 2.6, 3.4, 2.9])
AMOUNTS = np.array([0.0, 1.2, 0.0, 2.5, np.nan, 3.0, 2.6, 0.0, 2.9])
COUNTS = np.array([0.0, 1.0, 0.0, 4.0, np.nan, 2.0, 3.0, 0.0, 7.0])
ASKED = np.array([0.05, 0.9, 3.0, 11.0])


CUTS = np.r_[0.0, np.geomspace(1e-3, 60.0, 40)]
NODES, STEPS = np.polynomial.legendre.leggauss(30)
RATES = ((CUTS[:-1] + CUTS[1:]) / 2 + np.outer(NODES, np.diff(CUTS) / 2)).ravel()
WEIGHTS = np.outer(STEPS, np.diff(CUTS) / 2).ravel() * stats.gamma(2.0, scale=1 / 1.5).pdf(RATES)


def integral(density, x, power=None):
    """∫ ∏ p(x_i | λ) p(λ) dλ with λ ~ Gamma(2, 1.5); ``power`` is (value, t), which adds p(value | λ)^t."""
    value = WEIGHTS * np.prod(density(x[~np.isnan(x), None], RATES), axis=0)
    return value.sum() if power is None else value @ density(power[0], RATES) ** power[1]


def exponential(x, rate):
    return stats.expon(scale=1 / rate).pdf(x)


def erlang(x, rate):
    return stats.gamma(3.0, scale=1 / rate).pdf(x)


def poisson(x, rate):
    return stats.poisson(rate).pmf(x)


PRIOR = Gamma(2.0, 1.5)
EITHER = Mixture([Exponential(PRIOR), GammaKnownShape(PRIOR, shape=3.0)], weights=[1, 3])


def mixed(x, power=None):
    """The same of the mixture: the sum over both families of the prior weight times the integral."""
    return 0.25 * integral(exponential, x, power) + 0.75 * integral(erlang, x, power)


def fitted(family, column, y=Y):
    return BayesianNB({"v": family}, random_state=0).fit({"v": column}, y)


def predictive(clf, asked):
    """log p(v | class), (row, class)."""
    return clf.predict_joint_log_proba({"v": asked}) - np.log(clf.tables()["(class)"]["probability"].to_numpy())


def of_classes(column):
    return [column[label == Y] for label in ("a", "b")]


def test_the_predictive_and_the_moments_of_a_mixture_are_averages_over_its_families():
    clf = fitted(EITHER, WAITS)
    exact = [[mixed(x, (value, 1.0)) / mixed(x) for x in of_classes(WAITS)] for value in ASKED]
    assert_allclose(predictive(clf, ASKED), np.log(exact), rtol=1e-10)
    family, believed = clf.classifier_.schema.features["v"].family, clf.posterior_.features["v"]
    for t in (-0.4, 0.5, 2.0):
        exact = [[mixed(x, (value, t)) / mixed(x) for x in of_classes(WAITS)] for value in ASKED]
        assert_allclose(family.log_moment(believed, ASKED[:, None], t), np.log(exact), rtol=1e-10, atol=1e-12)


def test_the_weights_and_the_evidence_of_a_mixture_are_those_of_its_families():
    clf = fitted(EITHER, WAITS)
    assert_allclose(clf.log_evidence_.conditional, sum(np.log(mixed(x)) for x in of_classes(WAITS)), rtol=1e-11)
    exact = [0.25 * integral(exponential, x) / mixed(x) for x in of_classes(WAITS)]
    assert 0.1 < exact[0] < 0.9
    assert_allclose(clf.tables()["v"]["P(Exponential)"], exact, rtol=1e-10)


def test_a_hurdle_is_a_bernoulli_of_zero_times_the_other_family():
    clf = fitted(Hurdle(Exponential(PRIOR), zero=Beta(2.0, 3.0)), AMOUNTS)
    evidence, exact = 0.0, np.zeros((5, 2))
    for c, x in enumerate(of_classes(AMOUNTS)):
        zeros, others = (x == 0).sum(), x[x > 0]
        p = (2.0 + zeros) / (5.0 + zeros + len(others))
        exact[0, c] = p
        whole = integral(exponential, others)
        exact[1:, c] = [(1 - p) * integral(exponential, others, (v, 1.0)) / whole for v in ASKED]
        evidence += betaln(2.0 + zeros, 3.0 + len(others)) - betaln(2.0, 3.0) + np.log(whole)
    assert_allclose(predictive(clf, np.r_[0.0, ASKED]), np.log(exact), rtol=1e-10)
    assert_allclose(clf.log_evidence_.conditional, evidence, rtol=1e-11)


def test_a_hurdle_of_counts_reads_counts_above_zero_less_one_and_its_probabilities_add_up_to_one():
    clf = fitted(Hurdle(Poisson(PRIOR)), COUNTS)
    found = np.exp(predictive(clf, np.arange(200.0)))
    assert_allclose(found.sum(0), 1.0, rtol=1e-12)
    for c, x in enumerate(of_classes(COUNTS)):
        above = x[x > 0] - 1
        share = (1 + len(above)) / (2 + len(above) + (x == 0).sum())
        exact = [share * integral(poisson, above, (n, 1.0)) / integral(poisson, above) for n in range(4)]
        assert_allclose(found[1:5, c], exact, rtol=1e-10)


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    features = {"v": EITHER, "w": Hurdle(EITHER), "x": Exponential(PRIOR), "n": Hurdle(Poisson())}
    X = {"v": WAITS, "w": AMOUNTS, "x": WAITS[::-1], "n": COUNTS}
    clf = BayesianNB(features).fit(X, Y)
    path = tmp_path_factory.mktemp("parts") / "model.bayesnb"
    clf.save(path)
    return clf, path, X


def test_a_model_of_families_with_parts_is_read_as_it_was_written_and_learns_on(stored):
    clf, path, X = stored
    found = load(path)
    np.testing.assert_array_equal(found.predict_proba(X), clf.predict_proba(X))
    np.testing.assert_array_equal(found.partial_fit(X, Y).predict_proba(X), load(path).merge(clf).predict_proba(X))


def test_a_file_whose_parts_were_not_seen_in_the_same_rows_is_refused(stored):
    clf, _, _ = stored
    s = clf.classifier_.statistics.features
    assert s["v"].contradiction() == s["w"].contradiction() == ""
    for name in ("v", "n"):
        first, second = s[name].parts
        assert type(s[name])((first, second * 2.0)).contradiction() == "its parts were not seen in the same rows"


def test_what_a_choice_among_families_has_not_is_refused_with_a_cure():
    clf = fitted(EITHER, WAITS)
    with pytest.raises(ValueError, match='use likelihood="rows" or "sufficient"'):
        clf.to_pymc({"v": WAITS}, Y)
    with pytest.raises(ValueError, match="no point that EM can move to"):
        fitted(EITHER, WAITS, np.where(np.arange(len(Y)) % 4 == 1, None, Y))
    with pytest.raises(ImproperError, match="feature 'v', class 'a': A Mixture, which weighs families"):
        fitted(Mixture([Gaussian(NormalGamma.flat()), PolyaTree(BetaTree())]), WAITS)
