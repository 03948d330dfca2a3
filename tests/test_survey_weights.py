"""Weights of a survey: the effective number of rows, and weights that are reliabilities."""

import numpy as np
import pytest
from conftest import FEATURES, mixed
from numpy.random import default_rng
from numpy.testing import assert_allclose

import bayesnb as nb
from bayesnb import BayesianNB
from bayesnb.model import reliability_weights


def kish(weight: np.ndarray) -> float:
    return weight.sum() ** 2 / (weight**2).sum()


def test_the_effective_number_of_rows_follows_every_verb(tmp_path):
    X, y = mixed(60, "uvw")
    weight = default_rng(0).gamma(1.0, 1.5, 60)
    clf = BayesianNB(FEATURES).fit(X[:40], y[:40], sample_weight=weight[:40])
    assert clf.describe().attrs["effective_rows"] == pytest.approx(kish(weight[:40]))
    clf.partial_fit(X[40:], y[40:], sample_weight=weight[40:])
    assert clf.describe().attrs["effective_rows"] == pytest.approx(kish(weight))
    other = BayesianNB(FEATURES).fit(X[40:], y[40:], sample_weight=weight[40:])
    merged = BayesianNB(FEATURES).fit(X[:40], y[:40], sample_weight=weight[:40]).merge(other)
    assert merged.describe().attrs == pytest.approx(clf.describe().attrs)
    clf.save(tmp_path / "model.bayesnb")
    assert nb.describe(tmp_path / "model.bayesnb")["effective_rows"] == pytest.approx(kish(weight))
    assert nb.load(tmp_path / "model.bayesnb").describe().attrs == pytest.approx(clf.describe().attrs)
    clf.forget(X[40:], y[40:], sample_weight=weight[40:])
    assert clf.describe().attrs["effective_rows"] == pytest.approx(kish(weight[:40]))
    assert clf.discount(0.5).describe().attrs["effective_rows"] == pytest.approx(kish(weight[:40]))
    assert BayesianNB(FEATURES).fit(X, y).describe().attrs == {"rows": 60.0, "effective_rows": 60.0}


def test_reliabilities_count_as_the_effective_number_of_rows_in_any_unit():
    X, y = mixed(60, "uv")
    weight = default_rng(0).gamma(1.0, 3.0, 60)
    one, other = (
        BayesianNB(FEATURES).fit(X, y, sample_weight=reliability_weights(unit * weight)) for unit in (1.0, 1e6)
    )
    assert one.class_count_.sum() == pytest.approx(kish(weight))
    assert one.describe().attrs["effective_rows"] == pytest.approx(one.describe().attrs["rows"])
    assert_allclose(one.predict_proba(X), other.predict_proba(X), rtol=1e-9)
    assert_allclose(reliability_weights(np.full(7, 0.1)), 1.0)


def test_a_mean_of_weighted_rows_is_as_well_known_as_that_of_so_many_rows():
    rng, n = default_rng(0), 50
    weight = rng.gamma(1.0, 1.0, n)
    means = (rng.normal(size=(20_000, n)) * weight).sum(axis=1) / weight.sum()
    assert 1 / means.var() == pytest.approx(kish(weight), rel=0.05)


def test_weights_that_inflate_the_number_of_rows_are_warned_of():
    X, y = mixed(60, "uv")
    weight = default_rng(0).lognormal(5.0, 1.0, 60)
    with pytest.warns(UserWarning, match="sample_weight has fractions and counts 60 rows as .*reliability_weights"):
        BayesianNB(FEATURES).fit(X, y, sample_weight=weight)
    # Counts of equal rows, and reliabilities, are as they should be.
    BayesianNB(FEATURES).fit(X, y, sample_weight=np.floor(weight))
    BayesianNB(FEATURES).fit(X, y, sample_weight=nb.model.reliability_weights(weight))


def test_weights_that_count_people_are_warned_of_and_weights_of_rows_or_classes_are_not():
    X, y = mixed(60, "uv")
    rng = default_rng(0)
    with pytest.warns(UserWarning, match="sample_weight has fractions and counts 60 rows as 4.*reliability_weights"):
        BayesianNB(FEATURES).fit(X, y, sample_weight=7.25 * rng.lognormal(0, 0.25, 60))
    balance = np.where(np.array(y) == "u", 10.5, 1.3)
    propensity = rng.uniform(0.2, 0.8, 60)
    for weight in (balance, 0.97 ** np.arange(60), 1 / propensity):
        BayesianNB(FEATURES).fit(X, y, sample_weight=weight)
