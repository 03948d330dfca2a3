"""Before any data: parameters from the priors, and tables from these parameters."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from conftest import FEATURES, mixed
from numpy.testing import assert_allclose
from scipy import stats

from bayesnb import BayesianNB, Beta, Binned, Dirichlet, Gamma, NormalGamma, datasets, prior_model
from bayesnb.data.specifications import EstimatorParameters
from bayesnb.errors import ImproperError, RefusedError
from bayesnb.families import Bernoulli, Categorical, Gaussian, Multinomial, Poisson, StudentT
from bayesnb.statistics.statistic import same

DECLARED = {
    "height": Gaussian(NormalGamma(m=170, kappa=2, a=3, b=200)),
    "colour": Categorical(Dirichlet({"blue": 1.0, "red": 2.0, "white": 5.0})),
    "wet": Bernoulli(Beta(1, 3)),
    "calls": Poisson(Gamma(6, 2)),
}


@pytest.fixture(scope="module")
def tree():
    clf = BayesianNB(DECLARED, class_prior=Dirichlet({"a": 2.0, "b": 6.0}), random_state=3)
    found = clf.sample_prior(classes=["a", "b"], draws=4000, rows=5)
    assert not hasattr(clf, "classes_")
    return found


def test_declared_features_need_no_table_and_their_parameters_have_the_distribution_of_the_prior(tree):
    prior = tree["prior"].dataset
    assert [*prior["class_label"].values] == ["a", "b"]
    laws = {
        "tau_height": stats.gamma(3, scale=1 / 200),
        "mu_height": stats.t(6, 170, np.sqrt(200 / (3 * 2))),
        "theta_wet": stats.beta(1, 3),
        "rate_calls": stats.gamma(6, scale=1 / 2),
    }
    for name, law in laws.items():
        for label in ("a", "b"):
            assert stats.kstest(prior[name].sel(class_label=label).values.ravel(), law.cdf).pvalue > 1e-4, name
    assert (
        stats.kstest(prior["theta_colour"].sel(colour_category="red").values[0, :, 0], stats.beta(2, 6).cdf)[1] > 1e-4
    )
    assert stats.kstest(prior["pi"].sel(class_label="a").values.ravel(), stats.beta(2, 6).cdf).pvalue > 1e-4


def test_each_row_of_a_drawn_table_has_the_prior_predictive_distribution(tree):
    drawn = tree["prior_predictive"].dataset
    first = {name: drawn[name].values[0, :, 0] for name in drawn.data_vars}
    assert first["y"].mean() == pytest.approx(0.75, abs=0.04)
    t = stats.t(6, 170, np.sqrt(200 * 3 / (3 * 2)))
    assert stats.kstest(first["x_height"], t.cdf).pvalue > 1e-4
    assert_allclose(np.bincount(first["x_colour"].astype(int)) / 4000, [1 / 8, 2 / 8, 5 / 8], atol=0.04)
    assert first["x_wet"].mean() == pytest.approx(0.25, abs=0.04)
    counts = stats.nbinom(6, 2 / 3)
    assert_allclose(
        np.bincount(first["x_calls"].astype(int), minlength=8)[:8] / 4000, counts.pmf(np.arange(8)), atol=0.04
    )


def test_rows_of_one_table_share_their_parameters(tree):
    heights = tree["prior_predictive"]["x_height"].values[0]
    y = tree["prior_predictive"]["y"].values[0]
    alike = y[:, 0] == y[:, 1]
    within, across = (np.corrcoef(heights[rows, 0], heights[rows, 1])[0, 1] for rows in (alike, ~alike))
    assert within > 0.15
    assert abs(across) < 0.1


def test_priors_that_are_scaled_to_data_take_their_scale_from_the_table():
    X, y = mixed(40, "uvw", missing=0.2)
    clf = BayesianNB(FEATURES, random_state=0)
    tree = clf.sample_prior(X, y, draws=20, chains=2)
    fitted = BayesianNB(FEATURES, random_state=0).fit(X, y)
    theirs = fitted.sample_posterior(20, 2)["prior"].dataset
    assert {name: v.dims for name, v in tree["prior"].data_vars.items()} == {
        n: v.dims for n, v in theirs.data_vars.items()
    }
    before = prior_model.of_table(EstimatorParameters.of(clf), X, y, (), np.random.default_rng(0), 1).prior
    for name, prior in fitted.posterior_.prior.items():
        assert same(before.prior[name], prior)
    assert tree["prior_predictive"]["y"].shape == (2, 20, 40)
    observed = tree["observed_data"].dataset
    assert_allclose(observed["x_h"], X["h"])
    assert [*observed["class_label"].values[observed["y"].values]] == [*y]
    assert set(observed.data_vars) == set(tree["prior_predictive"].data_vars)


def test_the_labels_do_not_matter_for_the_scale_of_the_whole_column():
    X, y = datasets.penguins()
    with_labels = BayesianNB(random_state=0).sample_prior(X, y, draws=50)["prior"]["mu_body_mass_g"]
    without = BayesianNB(random_state=0).sample_prior(X, classes=sorted(set(y)), draws=50)
    assert "observed_data" not in without.children
    assert_allclose(without["prior"]["mu_body_mass_g"], with_labels, rtol=1e-9)


def test_bags_and_sampled_columns_have_a_prior_predictive_too():
    X, y = mixed(30, "uv", {"cat": "count", "dog": "word", "out": "outliers"}, missing=0.0)
    features = {"words": (Multinomial(), ["cat", "dog"]), "out": StudentT()}
    drawn = BayesianNB(features, random_state=0).sample_prior(X, y, draws=10)
    cells = drawn["prior_predictive"]
    assert cells["x_words"].shape == (1, 10, 30, 2)
    assert (cells["x_words"] >= 0).all()
    assert np.isfinite(cells["x_student_t"].values).all()


def test_fixed_class_probabilities_name_the_classes():
    prior = BayesianNB({"wet": Bernoulli()}, class_prior={"u": 0.3, "v": 0.7}).sample_prior(draws=3)["prior"]
    assert_allclose(prior["pi"].values, np.tile([0.3, 0.7], (1, 3, 1)))


TABLE = pd.DataFrame({"a": [1.0, 2.5, 4.0]})


def asked(features=None, *rows, class_prior=None, **arguments):
    return lambda: BayesianNB(features, class_prior=class_prior).sample_prior(*rows, **arguments)


REFUSED = {
    "scaled": (asked({"a": Gaussian()}, classes="uv"), "'a': its prior is scaled to the column"),
    "no columns": (asked(classes="uv"), "Expected a table X, or features as"),
    "no classes": (asked({"a": Poisson()}), "Expected labels y, or classes"),
    "no levels": (asked({"a": Categorical()}, classes="uv"), "'a': its levels or words are only"),
    "edges": (asked({"a": Binned(3)}, classes="uv"), "'a': its levels or words are only"),
    "labels alone": (asked({"a": Poisson()}, y=["u", "v"]), "labels y belong to the rows"),
    "frequencies": (asked(None, TABLE, class_prior="frequencies", classes="uv"), 'class_prior="frequencies" needs'),
    "improper": (asked(Gaussian("jeffreys"), TABLE, ["u", "v", "u"]), "proper NormalGamma"),
    "draws": (asked({"a": Poisson()}, classes="uv", draws=0), "Expected draws"),
}


@pytest.mark.parametrize("fault", REFUSED)
def test_what_has_no_prior_predictive_is_refused_and_named(fault):
    ask, said = REFUSED[fault]
    with pytest.raises((RefusedError, ImproperError, ValueError), match=said):
        ask()


def test_the_same_seed_gives_the_same_draws_and_a_fitted_model_is_not_changed():
    X, y = datasets.heights()
    clf = BayesianNB(random_state=5).fit(X, y)
    before = clf.predict_proba(X)
    one, other = (clf.sample_prior(X, y, draws=5)["prior_predictive"]["x_height_cm"] for _ in range(2))
    assert_allclose(one, other)
    assert_allclose(clf.predict_proba(X), before)
