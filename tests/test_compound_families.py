"""Mixtures of families and hurdles in files, and what they refuse; ``references.json`` has their numbers."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bayesnb import BayesianNB, Gamma, Gaussian, NormalGamma, Poisson, load
from bayesnb.errors import ImproperError
from bayesnb.families import Exponential, GammaKnownShape, Hurdle, Mixture, PolyaTree
from bayesnb.priors import BetaTree

Y = np.array(["a"] * 5 + ["b"] * 4)
WAITS = np.array([0.3, 1.2, 0.8, 2.5, np.nan, 3.0, 2.6, 3.4, 2.9])
AMOUNTS = np.array([0.0, 1.2, 0.0, 2.5, np.nan, 3.0, 2.6, 0.0, 2.9])
COUNTS = np.array([0.0, 1.0, 0.0, 4.0, np.nan, 2.0, 3.0, 0.0, 7.0])
PRIOR = Gamma(2.0, 1.5)
EITHER = Mixture([Exponential(PRIOR), GammaKnownShape(PRIOR, shape=3.0)], weights=[1, 3])


def fitted(family, column, y=Y):
    return BayesianNB({"v": family}, random_state=0).fit({"v": column}, y)


def predictive(clf, asked):
    """log p(v | class), (row, class)."""
    return clf.predict_joint_log_proba({"v": asked}) - np.log(clf.tables()["(class)"]["probability"].to_numpy())


def test_the_probabilities_of_a_hurdle_of_counts_add_up_to_one():
    clf = fitted(Hurdle(Poisson(PRIOR)), COUNTS)
    assert_allclose(np.exp(predictive(clf, np.arange(200.0))).sum(0), 1.0, rtol=1e-12)


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
