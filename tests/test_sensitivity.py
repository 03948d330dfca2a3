"""Powers of priors and likelihoods are conjugate, and the changes they make are those of refits."""

from __future__ import annotations

from functools import cache

import arviz as az
import numpy as np
import pandas as pd
import pytest
from conftest import mixed
from numpy.random import default_rng
from numpy.testing import assert_allclose
from scipy import stats
from scipy.special import digamma

import bayesnb as nb
from bayesnb import (
    BayesianNB,
    Bernoulli,
    Beta,
    Categorical,
    Dirichlet,
    Gamma,
    Gaussian,
    Multinomial,
    Normal,
    NormalGamma,
    NormalWishart,
    Poisson,
    datasets,
    plots,
)
from bayesnb.errors import ImproperError
from bayesnb.families import Exponential, GaussianKnownVariance
from bayesnb.inference.sensitivity import largest_power, powered

PRIORS = [
    Dirichlet([0.4, 3.0, 2.0]),
    Beta(np.array([[2.5]]), np.array([[0.7]])),
    Gamma(np.array([[3.0]]), np.array([[0.5]])),
    NormalGamma(np.array([[1.0]]), np.array([[0.6]]), np.array([[2.0]]), np.array([[3.0]])),
    Normal(np.array([[1.0]]), np.array([[4.0]])),
    NormalWishart([1.0, 2.0], 0.6, 2.5, [[3.0, 1.0], [1.0, 2.0]]),
]

COLUMNS = {
    "flag": "bit", "hue": "levels", "real": "real", "known": "real", "events": "count", "wait": "wait", "u": "word",
    "v": "count",
}  # fmt: skip
X, Y = mixed(24, [0, 1], COLUMNS, missing=0.0)


def fitted(s=1.0, of=None, scaling="density", weight=None, **options):
    """A model of every family, in which the priors of one feature, or of all, have been raised to a power by hand."""

    def at(name, *parameters):
        power = s if of in (name, "(all)") else 1.0
        start = {"density": [start for _, start in parameters], "rows": [0.0] * len(parameters)}[scaling]
        return [base + power * (own - base) for (own, _), base in zip(parameters, start, strict=True)]

    kappa, a, b = at("real", (0.5, 0), (2.0, 0.5), (3.0, 0))
    features = {
        "flag": Bernoulli(Beta(*at("flag", (2.0, 1), (0.8, 1)))),
        "hue": Categorical(Dirichlet(at("hue", (0.7, 1), (2.0, 1), (1.5, 1)))),
        "real": Gaussian(NormalGamma(0.3, kappa, a, b)),
        "known": GaussianKnownVariance(Normal(0.2, 1 / at("known", (0.5, 0))[0])),
        "events": Poisson(Gamma(*at("events", (3.0, 1), (2.0, 0)))),
        "wait": Exponential(Gamma(*at("wait", (2.0, 1), (3.0, 0)))),
        "words": (Multinomial(Dirichlet(at("words", (2.0, 1), (0.6, 1)))), ["u", "v"]),
    }
    prior = Dirichlet(at("(class)", (3.0, 1), (1.5, 1)))
    return BayesianNB(features, class_prior=prior, **options).fit(X, Y, sample_weight=weight)


@cache
def sensitivities(scaling):
    """For each feature, and for each feature and row."""
    clf = fitted()
    return nb.checks.sensitivity(clf, X, scaling), nb.checks.sensitivity(clf, X, scaling, by="row")


NAMES = ["(class)", "flag", "hue", "real", "known", "events", "wait", "words"]


@pytest.mark.parametrize("prior", PRIORS, ids=lambda prior: type(prior).__name__)
@pytest.mark.parametrize("scaling", ["density", "rows"])
def test_the_density_of_a_power_is_the_power_of_the_density(prior, scaling):
    rng, s = default_rng(1), 1.3
    theta = prior.draw_theta(rng, (6,))
    one, other = (sum(belief.log_prob_of_each(theta)) for belief in (prior, powered(prior, s, scaling)))
    if scaling == "rows":
        # The density of the parameters in which the mode is the mean.
        columns = prior.size if isinstance(prior, NormalWishart) else 1
        more = prior.log_jacobian(theta) / columns
        one, other = one + more, other + more
    apart = np.ravel(other - s * one)
    assert_allclose(apart, apart[0], rtol=1e-9)


@pytest.mark.parametrize("scaling", ["density", "rows"])
@pytest.mark.parametrize("name", [*NAMES, "(all)"])
def test_the_change_of_class_probabilities_and_of_the_evidence_is_that_of_refits(name, scaling):
    clf, h = fitted(), 1e-3
    up, down = (fitted(np.exp(k * h), name, scaling) for k in (1, -1))
    change = (up.predict_proba(X) - down.predict_proba(X)) / (2 * h) * np.log(2)
    evidence = (up.log_evidence_.joint - down.log_evidence_.joint) / (2 * h) * np.log(2)
    found, by_row = sensitivities(scaling)
    line = found.loc[name, "prior"]
    assert_allclose(line["largest"], np.abs(change).max(), rtol=1e-4, atol=1e-9)
    assert_allclose(line["mean"], np.abs(change).max(axis=1).mean(), rtol=1e-4, atol=1e-9)
    assert_allclose(line["log_evidence"], evidence, rtol=1e-4, atol=1e-6)
    top = clf.predict_proba(X).argmax(axis=1)
    assert_allclose(by_row["prior"][name], change[np.arange(24), top], atol=2e-6)


def test_a_power_of_the_likelihood_counts_each_row_so_many_times():
    clf, h = fitted(), 1e-3
    up, down = (fitted(weight=np.full(24, np.exp(k * h))) for k in (1, -1))
    change = (up.predict_proba(X) - down.predict_proba(X)) / (2 * h) * np.log(2)
    line = nb.checks.sensitivity(clf, X).loc["(all)", "likelihood"]
    assert_allclose(line["largest"], np.abs(change).max(), rtol=1e-4, atol=1e-9)
    evidence = (up.log_evidence_.joint - down.log_evidence_.joint) / (2 * h) * np.log(2)
    assert_allclose(line["log_evidence"], evidence, rtol=1e-4)


@pytest.mark.parametrize("alpha", [1e-3, 0.5, 4.0])
def test_the_slope_of_the_evidence_equals_its_formula(alpha):
    n = np.array([3.0, 5.0])
    clf = BayesianNB({"x": Bernoulli()}, class_prior=Dirichlet(alpha)).fit({"x": [0, 1] * 4}, [0] * 3 + [1] * 5)

    def slope(a):
        return ((alpha - 1) * (digamma(a) - digamma(a.sum()))).sum()

    prior = np.full(2, alpha)
    expected = np.log(2) * (slope(prior + n) - slope(prior))
    assert_allclose(nb.checks.sensitivity(clf).loc["(class)", ("prior", "log_evidence")], expected, rtol=1e-5)


def test_a_flat_prior_does_not_change_and_is_called_flat():
    X, y = datasets.play_tennis()
    table = nb.checks.sensitivity(BayesianNB().fit(X, y), X)
    assert table["prior", "flat"].all()
    assert (table["prior"][["mean", "largest", "log_evidence"]] == 0).all(axis=None)
    assert (table["likelihood", "largest"] > 0.01).all()
    counted = nb.checks.sensitivity(BayesianNB().fit(X, y), X, scaling="rows")
    assert not counted["prior", "flat"].any()
    # Of a table of levels only the ratio of imaginary to real rows counts.
    assert_allclose(counted["prior", "largest"], counted["likelihood", "largest"], rtol=1e-6)


def test_known_class_probabilities_have_no_power():
    X, y = datasets.play_tennis()
    table = nb.checks.sensitivity(BayesianNB(class_prior="uniform").fit(X, y), X, "rows")
    assert (table.loc["(class)", "prior"][["mean", "largest", "log_evidence"]] == 0).all()
    assert table.loc["(class)", ("prior", "flat")]


def test_an_improper_prior_changes_probabilities_and_has_no_evidence():
    table = nb.checks.sensitivity(
        BayesianNB({"x": Gaussian(NormalGamma.reference())}).fit({"x": [1.0, 2.0, 4.0, 7.0]}, [0, 0, 1, 1])
    )
    assert np.isnan(table.loc["x", ("prior", "log_evidence")])
    assert table.loc["x", ("prior", "largest")] > 0


def test_a_power_that_is_no_density_is_refused():
    prior = Dirichlet(np.array([[[0.5, 2.0]]]))
    assert largest_power(prior) == 2.0
    assert largest_power(prior, "rows") == np.inf
    assert_allclose(powered(prior, 1.9).alpha, [[[0.05, 2.9]]])
    with pytest.raises(ImproperError, match=r"the power 3 of a prior with alpha=0\.5 would have alpha=-0\.5"):
        powered(prior, 3.0)
    assert_allclose(powered(prior, 3.0, "rows").alpha, [[[1.5, 6.0]]])


@pytest.mark.parametrize("estimate", ["mean", "map"])
def test_the_sensitivity_is_that_of_the_chosen_estimate(estimate):
    X, y = datasets.play_tennis()
    clf, h = BayesianNB(class_prior=Dirichlet(3), estimate=estimate).fit(X, y), 1e-3
    up, down = (BayesianNB(class_prior=Dirichlet(1 + 2 * np.exp(k * h)), estimate=estimate).fit(X, y) for k in (1, -1))
    change = np.log(2) * (up.predict_proba(X) - down.predict_proba(X)) / (2 * h)
    assert_allclose(nb.checks.sensitivity(clf, X).loc["(class)", ("prior", "largest")], np.abs(change).max(), rtol=1e-5)


def test_without_rows_the_model_draws_some():
    X, y = datasets.penguins()
    clf = BayesianNB(random_state=3).fit(X, y)
    pd.testing.assert_frame_equal(nb.checks.sensitivity(clf), nb.checks.sensitivity(clf))
    assert nb.checks.sensitivity(clf, by="row").shape == (200, 2 * 9)


# The sampled road.


def test_log_prior_is_the_density_of_each_variable():
    tree = fitted(random_state=0).sample_posterior(draws=5, chains=2)
    drawn, density = tree["posterior"], tree["log_prior"]
    mu, tau = drawn["mu_real"], drawn["tau_real"]
    assert_allclose(density["tau_real"], stats.gamma.logpdf(tau, 2.0, scale=1 / 3.0))
    assert_allclose(density["mu_real"], stats.norm.logpdf(mu, 0.3, 1 / np.sqrt(0.5 * tau)))
    assert_allclose(density["rate_events"], stats.gamma.logpdf(drawn["rate_events"], 3.0, scale=1 / 2.0))
    assert_allclose(density["theta_flag"], stats.beta.logpdf(drawn["theta_flag"], 2.0, 0.8))
    pi = drawn["pi"].to_numpy().reshape(-1, 2)
    assert_allclose(np.ravel(density["pi"]), [stats.dirichlet.logpdf(p, [3.0, 1.5]) for p in pi])


@pytest.mark.nuts
def test_log_prior_is_what_pymc_computes():
    from pymc.stats import compute_log_prior

    clf = fitted(random_state=0)
    tree = clf.sample_posterior(draws=5, chains=2)
    with clf.to_pymc():
        judge = compute_log_prior(tree, extend_inferencedata=False, progressbar=False)
    assert set(tree["log_prior"].data_vars) == set(tree["posterior"].data_vars)
    for name, density in tree["log_prior"].data_vars.items():
        assert density.dims[:2] == ("chain", "draw")
        assert_allclose(density, judge[name], rtol=1e-9, atol=1e-9, err_msg=name)


def test_weights_from_log_prior_give_the_posterior_under_the_power():
    clf, s = fitted(random_state=0), 1.1
    tree = clf.sample_posterior(draws=20_000, chains=1)
    log_weight = (s - 1) * tree["log_prior"]["rate_events"]
    weight = np.exp(log_weight - log_weight.max())
    rate = tree["posterior"]["rate_events"]
    mean = (rate * weight).sum(("chain", "draw")) / weight.sum(("chain", "draw"))
    again = fitted(s, "events").posterior_.features["events"]
    # Each class has weights of its own, as its rate is independent of all other parameters.
    assert_allclose(mean.to_numpy(), (again.alpha / again.beta)[:, 0], rtol=3e-3)


def test_psense_of_arviz_finds_the_prior_that_matters():
    rng = default_rng(0)
    y = np.zeros(40, int)
    X = {"x": rng.poisson(3.0, 40), "z": rng.poisson(3.0, 40)}
    features = {"x": Poisson(Gamma(200.0, 20.0)), "z": Poisson(Gamma(1.5, 0.5))}
    clf = BayesianNB(features, random_state=0).fit(X, y)
    tree = clf.sample_posterior(2000, X=X, y=y)["joint"]
    rates = ["rate_x", "rate_z"]
    told = az.psense(tree, var_names=rates)
    assert told["rate_x"].item() > 0.05 > told["rate_z"].item()
    by_likelihood = az.psense(tree, var_names=rates, group="likelihood")
    assert all(by_likelihood[name].item() > 0.05 for name in rates)


def test_the_picture_has_a_line_for_each_factor():
    table = nb.checks.sensitivity(fitted(), X)
    (axes,) = plots.sensitivity(table).axes
    assert [label.get_text() for label in axes.get_yticklabels()] == [*NAMES, "(all)"]
    assert_allclose(axes.lines[0].get_xdata(), table["prior", "mean"])
    assert_allclose(axes.lines[3].get_xdata(), table["likelihood", "largest"])
    wide = pd.DataFrame(default_rng(0).normal(size=(30, 40))).add_prefix("x")
    (axes,) = plots.sensitivity(nb.checks.sensitivity(BayesianNB().fit(wide, np.arange(30) % 2))).axes
    assert len(axes.get_yticks()) == 30
    assert axes.get_title().endswith("the 29 of 41 priors that matter most")
    with pytest.raises(ValueError, match="one line for each factor"):
        plots.sensitivity(nb.checks.sensitivity(fitted(), X, by="row"))


def with_zeros() -> tuple[pd.DataFrame, np.ndarray]:
    rng, y = default_rng(5), np.repeat(["dry", "wet"], 30)
    rain = np.where(
        rng.random(60) < np.where(y == "wet", 0.3, 0.7), 0.0, rng.gamma(2.0, np.where(y == "wet", 5.0, 2.0))
    )
    return pd.DataFrame({"rain": rain, "size": np.where(rng.random(60) < 0.5, "s", "m")}), y


@pytest.mark.parametrize("scaling", ["rows", "density"])
def test_the_prior_of_a_hurdle_matters_as_the_priors_of_its_two_columns(scaling) -> None:
    X, y = with_zeros()
    apart = X.assign(none=X["rain"] == 0, rain=X["rain"].where(X["rain"] > 0))
    both, each = (
        nb.checks.sensitivity(BayesianNB(features).fit(table, y), table, scaling, by="row")
        for features, table in (
            ({"rain": nb.families.Hurdle()}, X),
            ({"rain": nb.families.LogNormal(), "none": nb.Bernoulli()}, apart),
        )
    )
    for part in ("prior", "likelihood"):
        assert_allclose(both[part, "rain"], each[part, "rain"] + each[part, "none"], atol=1e-9)
        assert_allclose(both[part, "(all)"], each[part, "(all)"], atol=1e-9)


def test_a_prior_without_powers_is_left_out_by_name() -> None:
    X, y = with_zeros()
    for family in (nb.families.Ordinal(order=["s", "m", "l"]), nb.Categorical()):
        clf = BayesianNB({"size": family, "rain": nb.families.Hurdle()}).fit(X, y)
        found, turned = nb.checks.sensitivity(clf, X, scaling="rows"), nb.checks.flip(clf, X[:1], X, y, limit=60)
        left_out = ["size"] * isinstance(family, nb.families.Ordinal)
        assert found.attrs["left_out"] == left_out
        assert [*found.index] == [name for name in ("(class)", "rain", "size", "(all)") if name not in left_out]
        assert turned.rows
        assert np.isnan(turned.prior_power) or not left_out
    mixed = BayesianNB({"rain": nb.families.Hurdle(nb.families.PolyaTree())}).fit(X[["rain"]], y)
    assert nb.checks.sensitivity(mixed, X[["rain"]], scaling="rows").attrs["left_out"] == ["rain"]
