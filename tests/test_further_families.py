"""The further families beside their neighbours; ``references.json`` has their numbers by scipy and sixty digits."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bayesnb import BayesianNB, Gaussian, NormalGamma
from bayesnb.families import Exponential, GammaKnownShape, LogNormal, NegativeBinomial

Y = ["a"] * 4 + ["b"] * 2
AMOUNTS = {"v": [0.5, 3.0, 12.0, 1.5, 700.0, 90.0]}


def fitted(family, table):
    return BayesianNB({"v": family}).fit(table, Y)


def test_the_evidence_of_a_log_normal_is_that_of_the_logarithms_less_their_sum():
    prior = NormalGamma(1.0, 0.5, 2.0, 3.0)
    logs = {"v": np.log(AMOUNTS["v"])}
    found, of_logs = (fitted(f(prior), t).log_evidence_ for f, t in ((LogNormal, AMOUNTS), (Gaussian, logs)))
    assert_allclose(found.conditional, of_logs.conditional - logs["v"].sum(), rtol=1e-12)


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
