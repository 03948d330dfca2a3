"""Sampled families agree with quadrature and with conjugate pairs, and refuse what needs a closed form."""

import pickle
import warnings
from functools import cache

import numpy as np
import pandas as pd
import pymc as pm
import pytest
from conftest import made_up, mixed
from numpy.random import default_rng
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.special import logsumexp
from sklearn.base import clone

import bayesnb as nb
from bayesnb import BayesianNB, Gaussian
from bayesnb.chains import Convergence, Sampler
from bayesnb.families import FromPyMC, HierarchicalCategorical, HierarchicalGaussian, StudentT
from bayesnb.families.columns import LEVELS
from bayesnb.families.sampled import Draws, WeightedValues
from bayesnb.sampling import draws
from bayesnb.statistics.statistic import Labels

EXPONENTIAL = FromPyMC(pm.Exponential, {"lam": (pm.Gamma, {"alpha": 2.0, "beta": 1.5})})
FAMILIES = {
    "student": StudentT(),
    "hierarchical": HierarchicalCategorical(),
    "hierarchical real": HierarchicalGaussian(),
    "levels together": HierarchicalCategorical(together=True),
    "numbers together": HierarchicalGaussian(together=True),
    "from pymc": FromPyMC(pm.Normal, {"mu": (pm.Normal, {"sigma": 5.0}), "sigma": (pm.HalfNormal, {"sigma": 5.0})}),
}
CURES = {"verify": "whether its chains converged", "log_evidence_": "held-out rows"}


def table(family):
    column = "levels" if family.support == LEVELS else "real"
    return mixed(40, columns={"x": column, "z": "noise"}, missing=0.0)


@pytest.fixture
def unsampled(monkeypatch):
    monkeypatch.setattr(Sampler, "run", made_up)


@cache
def fitted(name):
    """A classifier and its rows, which no test changes. Its draws are those of ``unsampled``."""
    X, y = table(FAMILIES[name])
    return BayesianNB({"x": FAMILIES[name], "z": Gaussian()}).fit(X, y), X, y


@pytest.fixture
def never_sampled(monkeypatch):
    def run(sampler, model, names, what):
        raise AssertionError("nothing should have been sampled")

    monkeypatch.setattr(Sampler, "run", run)


def close(sampled, exact, convergence, spread):
    """Check agreement within five Monte Carlo errors, for averages over draws of the given standard deviation."""
    assert_array_equal(np.abs(sampled - exact) < 5 * spread / np.sqrt(convergence.ess), True)


def predicted(family, believed, x, exact):
    """The predictive of one class is within five Monte Carlo errors of the exact log density."""
    found = np.exp(family.log_predictive(believed, x)[:, 0] - exact)
    draws = np.exp(family.log_likelihood(believed.theta, x)[:, :, 0] - exact)
    close(found, 1.0, believed.convergence, draws.std(0))


def believed_of(family, x, n_classes=1):
    s = family.statistic(x, Labels.of(np.zeros(len(x), int), n_classes))
    return family.update(family.priors(s, tuple(range(n_classes))), s)


# Its draws as a tree


@pytest.mark.parametrize("name", FAMILIES)
def test_the_tree_of_a_sampled_feature_has_the_draws_of_its_chains(name, unsampled):
    family, (clf, X, y) = FAMILIES[name], fitted(name)
    tree = clf.sample_posterior(25, 2, random_seed=0, X=X, y=y, include=["log_likelihood", "columns"])
    drawn, own = clf.posterior_.features["x"], tree["posterior"].dataset
    # 400 made-up draws stand for 4 chains of 100, of which every fourth is taken.
    for key, value in family.variables(drawn.theta).items():
        (found,) = [v for n, v in own.data_vars.items() if n.startswith(f"{key}_") and not n.endswith("_z")]
        expected = value.reshape(4, 100, *value.shape[1:])[:2, ::4]
        assert_allclose(found, expected)
        shared = key in ("nu", "pooled", "strength", "centre", "between", "location", "scale")
        assert ("class_label" in found.dims) is not shared
    assert {"mu_z", "tau_z", "pi"} < set(own.data_vars)
    ends = (
        "student_t",
        "hierarchical_categorical",
        "hierarchical_categorical_3",
        "hierarchical_gaussian",
        "pymc_normal",
    )
    assert any(n.endswith(tuple(f"_{end}" for end in ends)) for n in own.data_vars)
    parameters = draws.parameters(tree, clf.posterior_)
    data, n = clf.classifier_.read(X)
    codes = (y == "v").astype(int)
    assert_allclose(tree["joint/log_likelihood"]["y"], parameters.log_joint(data, n)[..., np.arange(n), codes])
    cells = tree["columns/log_likelihood"].dataset
    cells = sum(v.sum(v.dims[3:]) for v in cells.data_vars.values())
    cells = cells + np.log(own["pi"]).isel(class_label=tree["observed_data"]["y"])
    assert_allclose(tree["joint/log_likelihood"]["y"], cells.transpose("chain", "draw", "row"))


@pytest.mark.parametrize("name", FAMILIES)
def test_a_sampled_feature_has_a_prior_in_the_tree_and_its_density(name, unsampled):
    clf, X, y = fitted(name)
    tree = clf.sample_posterior(300, 2, random_seed=0, X=X, y=y)
    assert set(tree["prior"].data_vars) == set(tree["posterior"].data_vars)
    assert "prior_predictive" in tree.children
    assert set(tree["log_prior"].data_vars) == set(tree["posterior"].data_vars)
    prior = tree["prior"].dataset
    if name == "student":
        assert_allclose(np.quantile(prior["nu_student_t"], 0.5), stats.gamma(2, scale=10).median(), rtol=0.2)
    if name == "hierarchical":
        assert_allclose(np.log(prior["strength_hierarchical_categorical_3"]).mean(), np.log(3.0), atol=0.3)
        assert_allclose(prior["theta_hierarchical_categorical_3"].sum("hierarchical_categorical_3_category"), 1.0)


QUESTIONS = {
    "predict_proba": lambda clf, X, y: clf.predict_proba(X),
    "sample_posterior": lambda clf, X, y: clf.sample_posterior(5, 2),
    "loo": lambda clf, X, y: clf.loo(X, y),
    "explain": lambda clf, X, y: clf.explain(X[:1]),
    "tables": lambda clf, X, y: clf.tables(),
    "sample": lambda clf, X, y: nb.draws.sample(clf, 2),
    "another class prior": lambda clf, X, y: nb.deploy.with_class_prior(clf, "uniform").predict(X),
}


@pytest.fixture
def unconverged(monkeypatch):
    def run(sampler, model, names, what):
        return made_up(sampler, model, names, what)[0], Convergence(1.7, 1.0, 12, 3, "mu")

    monkeypatch.setattr(Sampler, "run", run)
    X, y = table(StudentT())
    with pytest.warns(UserWarning, match="feature 'x': the chains of StudentT did not converge"):
        return BayesianNB({"x": StudentT(), "z": Gaussian()}, random_state=0).fit(X, y), X, y


@pytest.mark.parametrize("question", QUESTIONS)
def test_chains_that_did_not_converge_are_said_once_by_each_question_that_uses_them(question, unconverged):
    clf, X, y = unconverged
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        QUESTIONS[question](clf, X, y)
    said = [str(each.message) for each in said if "converge" in str(each.message)]
    assert len(said) == 1
    assert "'x': the chains of StudentT did not converge (largest r_hat 1.7000 (mu)" in said[0]
    assert "tune=" in said[0]


# What is added up


def test_the_statistic_counts_distinct_values_so_that_rows_can_be_added_and_forgotten():
    family, x = StudentT(), np.array([[1.5, np.nan], [2.5, 0.0], [1.5, 4.0]])
    whole = family.statistic(x, Labels.of([0, 1, 0]))
    parts = family.statistic(x[:1], Labels.of([0], 2)) + family.statistic(x[1:], Labels.of([1, 0]))
    a, b = WeightedValues.of(whole), WeightedValues.of(parts)
    for name in ("value", "code", "column", "weight"):
        assert_array_equal(getattr(a, name), getattr(b, name))
    assert_array_equal(a.value, [1.5, 2.5, 0.0, 4.0])
    assert_array_equal(a.weight, [2.0, 1.0, 1.0, 1.0])
    rest = (parts - family.statistic(x[:1], Labels.of([0], 2))).settled(parts)
    assert_array_equal(WeightedValues.of(rest).weight, [1.0, 1.0, 1.0, 1.0])
    with pytest.raises(ValueError, match="unlearned"):
        (whole - family.statistic(np.array([[9.0, 9.0]]), Labels.of([0], 2))).settled(whole)


def test_a_weighted_row_is_learned_like_repeated_rows_and_a_missing_cell_not_at_all():
    rng = default_rng(6)
    x, y = rng.standard_t(3, (60, 1)).round(1), rng.integers(0, 2, 60)
    x[10:15] = np.nan
    seen, weight = ~np.isnan(x[:, 0]), rng.integers(1, 3, 60)
    twice = np.repeat(np.arange(60), weight)
    family = StudentT()
    # NUTS gets only the distinct values and their weights, and has a seed: equal statistics give equal draws.
    for one, other in (
        (family.statistic(x, Labels.of(y, weight=weight)), family.statistic(x[twice], Labels.of(y[twice]))),
        (family.statistic(x, Labels.of(y)), family.statistic(x[seen], Labels.of(y[seen]))),
    ):
        a, b = WeightedValues.of(one), WeightedValues.of(other)
        for name in ("value", "code", "column", "weight"):
            assert_array_equal(getattr(a, name), getattr(b, name))


def test_a_weight_counts_as_that_many_rows_in_quantiles():
    rng = default_rng(3)
    x, weight = rng.normal(size=(30, 2)), rng.integers(1, 4, 30)
    weighed = WeightedValues.of(StudentT().statistic(x, Labels.of(np.zeros(30, int), weight=weight)))
    rows = np.repeat(x, weight, axis=0)
    assert_array_equal(weighed.quantiles((0.25, 0.5), 2), np.quantile(rows, (0.25, 0.5), axis=0, method="inverted_cdf"))
    assert_allclose(weighed.variance(2), rows.var(axis=0))


def test_outliers_do_not_change_the_scale_of_the_prior():
    x = np.append(np.linspace(-1, 1, 99), 1e9)[:, None]
    s = StudentT().statistic(x, Labels.of(np.zeros(100, int)))
    prior = StudentT().priors(s, ("a",))
    assert_allclose([prior.m[0, 0], prior.s[0, 0]], [0.0, 1 / 1.349], atol=0.05)
    assert prior.reach[0, 0] > 1e8


# Densities


def test_the_student_density_is_that_of_scipy():
    rng = default_rng(0)
    theta = {"mu": rng.normal(size=(5, 2, 1)), "sigma": rng.uniform(0.1, 3, (5, 2, 1)), "nu": np.full((5, 2, 1), 3.0)}
    x = np.array([[0.3], [np.nan], [1e8]])
    found = StudentT().log_likelihood(theta, x)
    right = stats.t.logpdf(x[None, :, :], 3.0, *(theta[k][:, None, :, 0] for k in ("mu", "sigma")))
    assert_allclose(found[:, [0, 2]], right[:, [0, 2]], rtol=1e-12)
    assert_array_equal(found[:, 1], 0.0)


@pytest.mark.parametrize(
    ("dist", "theta", "reads", "right"),
    [
        (pm.Gamma, {"alpha": 2.0, "beta": 3.0}, "reals", lambda x: stats.gamma.logpdf(x, 2.0, scale=1 / 3)),
        (pm.Poisson, {"mu": 2.0}, "counts", lambda x: stats.poisson.logpmf(x, 2.0)),
    ],
    ids=["gamma", "poisson"],
)
def test_a_density_from_pymc_is_that_of_scipy(dist, theta, reads, right):
    family = FromPyMC(dist, {name: (pm.HalfNormal, {}) for name in theta}, reads=reads)
    x = np.array([[1.0], [4.0], [np.nan], [-1.0]])
    found = family.log_likelihood({name: np.full((3, 2, 1), value) for name, value in theta.items()}, x)
    assert found.shape == (3, 4, 2)
    assert_allclose(found[1, :2, 1], right(x[:2, 0]))
    assert_array_equal(found[:, 2], 0.0)
    assert_array_equal(found[:, 3], -np.inf)


def test_parameters_fixed_at_a_number_are_not_learned():
    family = FromPyMC(pm.Binomial, {"n": 5, "p": (pm.Beta, {"alpha": 1, "beta": 1})}, reads="counts")
    found = family.log_likelihood({"p": np.full((1, 1), 0.3)}, np.array([[2.0]]))
    assert_allclose(found, [[stats.binom.logpmf(2, 5, 0.3)]])


def test_the_predictive_averages_the_joint_over_draws(unsampled):
    family = FAMILIES["from pymc"]
    X, y = table(family)
    clf = BayesianNB({"x": family, "z": Gaussian()}).fit(X, y)
    believed, x = clf.posterior_.features["x"], X[["x"]].to_numpy()
    averaged = logsumexp(family.log_likelihood(believed.theta, x), axis=0) - np.log(len(believed))
    alone = BayesianNB({"z": Gaussian()}).fit(X[["z"]], y)
    assert_allclose(
        clf.predict_joint_log_proba(X), alone.predict_joint_log_proba(X[["z"]]) + averaged, rtol=1e-9, atol=1e-9
    )


def test_log_moments_of_several_columns_add(unsampled):
    family, x = StudentT(), default_rng(1).normal(size=(200, 2))
    both = believed_of(family, x, 2)
    one = [Draws({k: v[:, :, [j]] for k, v in both.theta.items()}, both.convergence) for j in (0, 1)]
    t = np.linspace(0.5, 1.5, 400).reshape(200, 2)
    parts = [family.log_moment(part, x[:, [j]], t) for j, part in enumerate(one)]
    assert_allclose(family.log_moment(both, x, t), parts[0] + parts[1])


# What is refused


@pytest.mark.parametrize("name", ["student", "levels together"])
@pytest.mark.parametrize("what", CURES)
def test_a_call_that_needs_a_closed_form_is_refused_with_the_feature_and_the_cure(name, what, unsampled):
    family = FAMILIES[name]
    X, y = table(family)
    clf = BayesianNB({"x": family}).fit(X[["x"]], y)
    # An attribute that does not exist raises AttributeError, so that hasattr and dir work; a method raises ValueError.
    error = AttributeError if what == "log_evidence_" else ValueError
    with pytest.raises(error, match=f"feature 'x': {type(family).__name__} is sampled.*{CURES[what]}"):
        clf.verify() if what == "verify" else clf.log_evidence_


BOTH = r"feature 'heavy': StudentT is sampled, feature 'wait': FromPyMC is sampled and have no closed form for "
REFUSED = {
    "map": (lambda clf, X, y: BayesianNB(clf.features, estimate="map").fit(X, y), 'use estimate="predictive" or'),
    "evidence": (lambda clf, X, y: clf.posterior_.log_evidence(), "held-out rows, by loo or evaluate"),
    "mode": (lambda clf, X, y: clf.posterior_.point("mode"), 'use estimate="predictive" or'),
    "EM": (
        lambda clf, X, y: clf.fit(X, np.where(np.arange(len(y)) < 5, None, y)),
        "leave the rows without a label out",
    ),
    "credal": (
        lambda clf, X, y: nb.sets.predict_credal(clf, X[:2]),
        "leave the column out, or give it a family that has one",
    ),
    "sensitivity": (lambda clf, X, y: nb.checks.sensitivity(clf, X[:2]), "fit it again under another prior"),
    "conformal": (lambda clf, X, y: nb.sets.conformal(clf, X, y), 'method="split"'),
    "audit": (lambda clf, X, y: nb.checks.independence(clf, X, y), "or leave it out"),
    "dependence": (lambda clf, X, y: BayesianNB(clf.features, dependence="weighted").fit(X, y), "dependence=None"),
    "gibbs": (lambda clf, X, y: clf.sample_posterior(sampler="gibbs", X=X, y=y), 'use sampler="exact"'),
}


@pytest.fixture(scope="module")
def two_sampled():
    X, y = mixed(40, columns={"size": "real", "heavy": "outliers", "wait": "wait"}, missing=0.0)
    gamma = {"alpha": (pm.HalfNormal, {"sigma": 5.0}), "beta": (pm.HalfNormal, {"sigma": 5.0})}
    features = {"size": Gaussian(), "heavy": StudentT(), "wait": FromPyMC(pm.Gamma, gamma, "positive reals")}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Sampler, "run", made_up)
        return BayesianNB(features, random_state=0).fit(X, y), X, y


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused_names_every_sampled_column_and_a_cure(what, two_sampled, never_sampled):
    ask, cure = REFUSED[what]
    with pytest.raises(ValueError, match=f"{BOTH}.*{cure}"):
        ask(*two_sampled)


@pytest.mark.parametrize(
    ("family", "said"),
    [
        (FromPyMC(pm.Dirichlet, {"a": (pm.HalfNormal, {})}), "feature 'x': Expected a univariate distribution"),
        pytest.param(EXPONENTIAL, "feature 'x': NUTS cannot start", marks=pytest.mark.nuts),
    ],
    ids=["not univariate", "impossible value"],
)
def test_an_error_of_pymc_names_the_feature(family, said):
    with pytest.raises(ValueError, match=said):
        BayesianNB({"x": family}).fit({"x": [1.0, -2.0, 0.5]}, [0, 0, 1])


# The estimator


@pytest.mark.parametrize("name", FAMILIES)
def test_an_estimator_with_sampled_features_can_be_cloned_pickled_sampled_and_described(name, unsampled):
    family = FAMILIES[name]
    X, y = table(family)
    clf = clone(BayesianNB({"x": family, "z": Gaussian()}, random_state=0)).fit(X, y)
    again = pickle.loads(pickle.dumps(clf))
    assert_array_equal(again.predict_proba(X), clf.predict_proba(X))
    assert clf.describe().loc["x", "family"] == type(family).__name__
    assert list(nb.draws.sample(clf, 7).columns) == ["y", "x", "z"]
    assert nb.draws.sample(clf, 3, label="u")["x"].notna().all()
    assert nb.draws.sample_proba(clf, X[:5], draws=30).shape == (30, 5, 2)
    assert_allclose(nb.draws.sample_proba(clf, X[:5], draws=30).sum(-1), 1.0)
    mean = BayesianNB({"x": family, "z": Gaussian()}, estimate="mean").fit(X, y)
    assert_allclose(mean.predict_proba(X).sum(1), 1.0)
    shown = clf.tables()["x"]
    assert list(shown.index) == ["u", "v"]
    wanted = {"student": ["mu", "sigma", "nu"], "hierarchical": ["a", "b", "c"]}
    wanted["levels together"] = wanted["hierarchical"]
    wanted["hierarchical real"] = ["mu", "sigma", "centre", "between"]
    wanted["numbers together"] = [*wanted["hierarchical real"], "scale"]
    assert list(shown.columns) == wanted.get(name, ["mu", "sigma"])


def test_a_learned_smoothing_has_a_linear_form(unsampled):
    X, y = table(FAMILIES["hierarchical"])
    clf = BayesianNB({"x": HierarchicalCategorical()}).fit(X[["x"]], y)
    weights, intercept = nb.odds.linear_form(clf)
    scores = weights.loc[[("x", level) for level in X["x"]]].to_numpy() + intercept.to_numpy()
    assert_allclose(scores, clf.predict_joint_log_proba(X[["x"]]))


# NUTS

SHORT = {"draws": 500, "tune": 500, "chains": 2}
"""Enough for an average to be known to 5% of a standard deviation."""


@pytest.mark.nuts
def test_student_t_agrees_with_quadrature():
    rng = default_rng(4)
    family, x = StudentT(nu=3.0, m=0.0, s=1.0, reach=10.0), np.append(rng.standard_t(3, 24) + 1.0, 30.0)[:, None]
    believed = believed_of(family, x)
    mu, log_sigma = np.linspace(-3, 5, 401)[:, None, None], np.linspace(-3, 3, 301)[:, None]
    sigma = np.exp(log_sigma)

    def density(v):
        return stats.t.logpdf(v, 3.0, mu, sigma)

    # 1/σ is half normal; the Jacobian of 1/σ on the scale of ln σ is 1/σ.
    log_posterior = (
        density(x[:, 0]).sum(-1, keepdims=True)
        + stats.norm.logpdf(mu, 0, 10)
        + stats.halfnorm.logpdf(1 / sigma, scale=10)
        - log_sigma
    )
    weight = np.exp(log_posterior - logsumexp(log_posterior))
    asked = np.array([-4.0, 0.0, 1.0, 3.0, 12.0])
    predicted(family, believed, asked[:, None], logsumexp(density(asked), b=weight, axis=(0, 1)))
    for name, value in (("mu", mu), ("sigma", sigma)):
        drawn = believed.theta[name][:, 0, 0]
        close(drawn.mean(), (weight * value).sum(), believed.convergence, drawn.std())
        # A standard deviation is told to 1/√(2 draws) of itself, or to twice that where tails are long.
        exact = np.sqrt((weight * value**2).sum() - (weight * value).sum() ** 2)
        assert_allclose(drawn.std(), exact, rtol=5 * np.sqrt(2 / believed.convergence.ess))


@pytest.mark.nuts
def test_a_conjugate_pair_from_pymc_agrees_with_its_closed_form():
    x = default_rng(2).exponential(0.5, (25, 1))
    believed = believed_of(EXPONENTIAL, x)
    a, b = 2.0 + len(x), 1.5 + x.sum()
    drawn = believed.theta["lam"][:, 0, 0]
    close(drawn.mean(), a / b, believed.convergence, drawn.std())
    asked = np.array([0.01, 0.5, 2.0, 4.0])
    predicted(EXPONENTIAL, believed, asked[:, None], stats.lomax.logpdf(asked, a, scale=b))


@pytest.mark.nuts
def test_predictions_do_not_depend_on_the_order_and_the_parts_of_the_rows():
    rng = default_rng(6)
    y = rng.integers(0, 2, 60)
    X = pd.DataFrame({"x": rng.standard_t(3, 60).round(1) + y, "z": rng.normal(size=60)})
    X.loc[10:14, "x"] = np.nan

    def fitted():
        return BayesianNB({"x": StudentT(**SHORT)})

    once = fitted().fit(X, y)
    whole = once.predict_proba(X)
    parts = fitted().partial_fit(X[30:], y[30:]).partial_fit(X[:30], y[:30])
    assert_allclose(parts.predict_proba(X), whole, rtol=1e-10)
    weight = rng.integers(1, 3, 60)
    weighed = fitted().fit(X, y, sample_weight=weight)
    rest = weighed.forget(X, y, sample_weight=weight - 1.0)
    assert_allclose(rest.predict_proba(X), whole, rtol=1e-10)
    # A missing value says nothing in predicting.
    seen = X["x"].notna()
    without = BayesianNB().fit(X[["z"]], y).predict_proba(X[["z"]])
    assert_allclose(whole[~seen], without[~seen], rtol=1e-12)


@pytest.mark.parametrize("value", [-1.0, 0.0, np.inf])
@pytest.mark.parametrize("rows", [5, pytest.param(1_000_000, marks=pytest.mark.slow)], ids=["small", "large"])
def test_a_family_of_positive_numbers_refuses_others_by_name(value, rows):
    family = FromPyMC(pm.LogNormal, {"mu": (pm.Normal, {"mu": 0, "sigma": 1}), "sigma": 1.0}, reads="positive reals")
    x = np.full((rows, 1), 2.0)
    x[3, 0] = value
    for table in (x, pd.DataFrame({"x0": x[:, 0]})):
        said = (
            "is infinite in row 3"
            if np.isinf(value)
            else f"holds {value:g} in row 3, where FromPyMC needs a positive number"
        )
        with pytest.raises(ValueError, match=f"column 'x0' {said}"):
            BayesianNB(family).fit(table, np.arange(rows) % 2)
