"""Columns that share a learned scale: by quadrature, beside models written by hand, and in all questions."""

import warnings

import numpy as np
import pandas as pd
import pymc as pm
import pytensor
import pytest
from conftest import made_up, mixed, shown
from numpy.random import default_rng
from numpy.testing import assert_allclose, assert_array_equal
from pytensor import tensor as pt
from scipy import stats
from scipy.special import gammaln, logsumexp

import bayesnb as nb
from bayesnb import BayesianNB, Gaussian
from bayesnb.chains import Sampler
from bayesnb.families import HierarchicalCategorical, HierarchicalGaussian
from bayesnb.families.columns import CategoryCounts, Coded
from bayesnb.families.sampled import Strata
from bayesnb.inference.believed import Believed
from bayesnb.inference.log_odds import moments_of_log_odds
from bayesnb.priors.common_draws import CommonDraws
from bayesnb.statistics.moments import Moments
from bayesnb.statistics.statistic import Labels

REALS, LEVELS = ["a", "b", "c"], ["p", "q", "r"]
FAMILIES = {
    "numbers": (HierarchicalGaussian(together=True), REALS),
    "levels": (HierarchicalCategorical(together=True), LEVELS),
}


SHORT = {"draws": 500, "tune": 500}


def table():
    """Three real columns, three of two, three and one level, and one that is not shared, with missing cells."""
    columns = {"a": "real", "b": "spread", "c": "outliers", "p": "flag", "q": "levels", "z": "real"}
    X, y = mixed(40, ["ant", "bee"], columns, missing=0.0)
    X.loc[1, "a"], X.loc[2, "q"] = np.nan, None
    X.loc[3, REALS] = np.nan
    return X.assign(p=X["p"].map({True: "yes", False: "no"}), r="only"), y


@pytest.fixture(scope="module")
def unsampled():
    """The model with draws from the prior, for what does not depend on their values; and the rows."""
    X, y = table()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Sampler, "run", made_up)
        return BayesianNB(FAMILIES | {"z": Gaussian()}, random_state=0).fit(X, y), X, y


# Strata


def test_an_average_over_strata_of_products_over_columns_is_that_of_the_product():
    # θ_j = h + e_j with Normal h and e, so E[exp Σ a θ_j] is a formula; each class has its own a.
    rng, n_columns, a = default_rng(1), 30, np.array([0.02, -0.04])
    h = rng.normal(size=4000)
    theta = h[:, None] + rng.normal(size=(4000, n_columns))
    strata = Strata.of(h[:, None], 4000)
    found = strata.average(sum(strata.averages(a * theta[:, [j]]) for j in range(n_columns)))
    exact = ((a * n_columns) ** 2 + a**2 * n_columns) / 2
    assert_allclose(found, exact, atol=0.04)
    independent = sum(logsumexp(a * theta[:, [j]], axis=0) - np.log(4000) for j in range(n_columns))
    assert (np.abs(independent - exact) > 0.15).all()


# The whole model


@pytest.mark.parametrize("name", FAMILIES)
def test_the_density_is_the_same_in_numpy_and_in_pymc(name, unsampled):
    clf, X, _ = unsampled
    family, believed = clf.posterior_.model.features[name], clf.posterior_.features[name]
    data, n = clf.classifier_.read(X)
    theta = {key: value[7] for key, value in believed.theta.items()}
    tensors = {key: pt.constant(value) for key, value in family.variables(theta).items()}
    expected = family.log_likelihood(theta, data[name])
    found = pytensor.function([], family.pymc_log_likelihood(tensors, data[name]), mode="FAST_COMPILE")()
    assert_allclose(found, expected, rtol=1e-9)
    labels = Labels.of(default_rng(1).integers(0, 2, n), weight=np.arange(n) % 3 + 1.0)
    total = (labels.weight * expected[np.arange(n), labels.codes]).sum()
    s = family.statistic(data[name], labels)
    assert_allclose(pytensor.function([], family.pymc_statistic(tensors, s), mode="FAST_COMPILE")(), total, rtol=1e-9)


@pytest.mark.slow
def test_all_likelihoods_of_the_whole_model_have_one_density(unsampled):
    clf, X, y = unsampled
    found = []
    for likelihood in ("sufficient", "joint", "rows"):
        model = clf.to_pymc(*(() if likelihood == "sufficient" else (X, y)), likelihood=likelihood)
        assert shown(model)
        logp, rng = model.compile_logp(jacobian=False, mode="FAST_COMPILE"), default_rng(2)
        start = model.initial_point()
        points = [{key: value + rng.normal(0, 0.2, np.shape(value)) for key, value in start.items()} for _ in range(3)]
        found.append([float(logp(point)) for point in points])
    assert np.isfinite(found).all()
    assert_allclose(found[1], found[0], rtol=1e-10)
    assert_allclose(found[2], found[0], rtol=1e-10)


def test_the_tree_has_what_columns_share_without_an_axis_and_the_columns_by_name(unsampled):
    clf, X, y = unsampled
    tree, model = clf.sample_posterior(20, 2, X=X, y=y), clf.to_pymc(X, y)
    for name, drawn in tree["posterior"].dataset.items():
        assert model.named_vars_to_dims.get(name, ()) == drawn.dims[2:]
        assert all(list(model.coords[dim]) == tree["posterior"][dim].to_numpy().tolist() for dim in drawn.dims[2:])
    own = tree["posterior"].dataset
    assert own["scale_hierarchical_gaussian"].dims == own["location_hierarchical_categorical"].dims == ("chain", "draw")
    assert own["mu_hierarchical_gaussian"]["hierarchical_gaussian_feature"].to_numpy().tolist() == REALS
    assert set(tree["log_prior"].data_vars) == set(tree["prior"].data_vars) == set(own.data_vars)
    assert_allclose(own["theta_hierarchical_categorical"].sum("hierarchical_categorical_category"), 1.0)
    seen = tree["constant_data"]["seen_hierarchical_gaussian"].sum("class_label")
    assert_array_equal(seen, [len(X) - 2, len(X) - 1, len(X) - 1])
    parameters = nb.sampling.draws.parameters(tree, clf.posterior_)
    data, n = clf.classifier_.read(X)
    codes = (y == "bee").astype(int)
    assert_allclose(tree["joint/log_likelihood"]["y"], parameters.log_joint(data, n)[..., np.arange(n), codes])


@pytest.fixture(scope="module")
def prior_draws(unsampled):
    """Draws from the prior of each feature that shares, and the logarithms of its density at them."""
    believed = unsampled[0].posterior_
    drawn = {
        name: believed.model.features[name].draw_prior(believed.prior[name], default_rng(3), 1500) for name in FAMILIES
    }
    return {name: (v, believed.model.features[name].log_prior(believed.prior[name], v)) for name, v in drawn.items()}


@pytest.mark.parametrize(("name", "key"), [("numbers", "scale"), ("numbers", "between"), ("levels", "location"),
                                           ("levels", "scale"), ("levels", "strength")])  # fmt: skip
def test_draws_of_the_prior_have_its_density(name, key, prior_draws):
    drawn, density = prior_draws[name][0], prior_draws[name][1][key]
    # E[q(v) / p(v | rest)] = 1 for any density q of one number v given the rest, here of its logarithm or of itself.
    value = drawn[key] if key == "location" else np.log(drawn[key])
    if value.ndim > 1:
        value, density = value[:, 0], density[:, 0]
    q = stats.norm.logpdf(value, np.median(value), 0.5) - (0.0 if key == "location" else value)
    ratio = np.exp(q - density)
    given = {"between": drawn["scale"], "strength": drawn["scale"]}.get(key, np.ones(1500))
    near = (given > np.quantile(given, 0.3)) & (given < np.quantile(given, 0.9)) | (given == 1)
    assert abs(ratio[near].mean() - 1) < 5 * ratio[near].std() / np.sqrt(near.sum())


def test_a_feature_of_columns_that_share_is_one_term_and_the_terms_add_up(unsampled):
    clf, X, y = unsampled
    lines = clf.explain(X[:4], "bee", "ant")
    assert list(lines.loc[0].index) == ["(prior)", "numbers", "levels", "z", "(total)"]
    log_p = clf.predict_joint_log_proba(X[:4])
    assert_allclose(lines.xs("(total)", level="entry")["log_odds"], log_p[:, 1] - log_p[:, 0])
    assert lines.loc[0, "value"].loc["levels"] == tuple(X.loc[0, LEVELS])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows, terms = clf.loo(X, y), clf.loo(X, y, by="feature")
    own = np.array([terms.loc[i, y[i]].sum() for i in range(len(y))])
    assert_allclose(own, rows["log_density"])
    assert list(rows["pareto_k"]) == [*REALS, *LEVELS]


def test_tables_describe_each_column(unsampled):
    clf, *_ = unsampled
    tables = clf.tables()
    assert list(tables["numbers"]) == ["mu", "sigma", "centre", "between", "scale"]
    assert sorted(tables["numbers"].index.get_level_values("column").unique()) == REALS
    assert_allclose(tables["levels"].sum(axis=1), 1.0)


def test_a_loaded_model_answers_the_same(unsampled, tmp_path):
    clf, X, _ = unsampled
    clf.save(tmp_path / "together.bayesnb")
    again = nb.load(tmp_path / "together.bayesnb")
    assert again.features["numbers"][0].together
    assert_array_equal(again.predict_proba(X), clf.predict_proba(X))


# Questions


def test_a_row_with_a_bad_cell_is_left_out_by_sampling_all_columns_again(unsampled, monkeypatch):
    clf, X, y = unsampled
    monkeypatch.setattr(Sampler, "run", made_up)
    posterior = clf.posterior_.only(["numbers"])
    family, believed = posterior.model.features["numbers"], posterior.features["numbers"]
    data, _ = clf.classifier_.read(X)
    labels, x = Labels.of((y == "bee").astype(int))[:12], data["numbers"][:12]
    learned = posterior.prior["numbers"], posterior.statistics.features["numbers"]
    before, after = family.left_out(believed, x, labels), family.left_out(believed, x, labels, learned)
    bad = np.flatnonzero((before.k > 0.7).any(1))
    assert 0 < len(bad) == len(after.again) < len(x)
    assert_array_equal(np.delete(after.log_predictive, bad, 0), np.delete(before.log_predictive, bad, 0))
    rest = (learned[1] - family.statistic(x[bad[:1]], labels[bad[:1]])).settled(learned[1])
    expected = family.log_predictive(family.update(learned[0], rest), x[bad[:1]])
    assert_allclose(after.log_predictive[bad[0], :, 0], expected[0])
    assert (after.k[bad][before.k[bad] > 0.7] == 0).all()


@pytest.mark.parametrize("name", FAMILIES)
def test_moments_of_the_log_odds_given_the_row_are_those_of_draws_given_the_row(name, unsampled):
    clf, X, _ = unsampled
    # Class probabilities that are known add nothing to the log-odds.
    posterior = nb.deploy.with_class_prior(clf.classifier_, "uniform").posterior.only([name])
    family, believed = posterior.model.features[name], posterior.features[name]
    data, n = clf.classifier_.read(X[:5])
    mean, variance = moments_of_log_odds(Believed(posterior), data, n)
    weight = np.exp(posterior.log_predictive(data, n))
    weight /= weight.sum(1, keepdims=True)
    common = CommonDraws(20_000, (0,))
    chosen = (default_rng(4).random((common.draws, 1)) < weight[:, 1]).astype(int)
    found = family.log_likelihood_given_row(believed, believed.theta, data[name], chosen, common)
    log_odds = found[..., 0] - found[..., 1]
    error = log_odds.std(0) / np.sqrt(common.draws)
    assert (np.abs(mean[:, 0, 1] - log_odds.mean(0)) <= 5 * error + 1e-9).all()
    away = (log_odds - log_odds.mean(0)) ** 2
    error = away.std(0) / np.sqrt(common.draws)
    assert (np.abs(variance[:, 0, 1] - log_odds.var(0)) <= 5 * error + 1e-9).all()


# Posteriors


def learned(family, s):
    return family.update(family.priors(s, tuple(range(len(s.seen())))), s)


def within(found, exact, spread, ess):
    """An average over draws with this standard deviation is within five Monte Carlo errors of the exact one."""
    assert_array_equal(np.abs(found - exact) < 5 * spread / np.sqrt(ess), True)


def mixture(log_prior, log_evidence, log_predictive):
    """The posterior of what columns share on its grid, and the log predictive of a row of all columns."""
    log_p = log_prior + sum(log_evidence)
    log_p = log_p - logsumexp(log_p)
    return np.exp(log_p), logsumexp(log_p + sum(log_predictive))


@pytest.fixture(scope="module")
def reals():
    rng = default_rng(5)
    y = np.repeat([0, 1, 2], [6, 4, 3])
    return rng.normal(np.array([[0, 0], [0.3, 1], [-0.2, 2.5]])[y], 1.0), y


def quadrature_of_reals(x, y, row, c, scale):
    """Log evidence, and log predictive of a cell in class c, given the scale that columns share: (scale,) each."""
    centre, between = np.linspace(-6, 7, 79)[:, None, None], np.exp(np.linspace(-6, 2.2, 120))[:, None]
    inverse = np.exp(np.linspace(np.log(0.05), np.log(40.0), 160))
    sigma = 1 / inverse
    log_p = stats.norm.logpdf(centre, 0.5, 3.0)[..., 0] + np.zeros(len(between))
    extra = 0.0
    for k in range(3):
        own = x[y == k]
        n, mean, scatter = len(own), own.mean(), ((own - own.mean()) ** 2).sum()
        log_q = stats.halfnorm.logpdf(inverse, scale=10) + np.log(inverse) + 0.5 * np.log(sigma**2 / n)
        log_q = log_q - n * np.log(sigma) - scatter / (2 * sigma**2)
        log_q = log_q + stats.norm.logpdf(mean, centre, np.sqrt(between**2 + sigma**2 / n))
        total = logsumexp(log_q, axis=-1)
        log_p = log_p + total
        if k == c:
            kept = n * between**2 / (n * between**2 + sigma**2)
            variance = between**2 * sigma**2 / (n * between**2 + sigma**2) + sigma**2
            cell = stats.norm.logpdf(row, centre + kept * (mean - centre), np.sqrt(variance))
            extra = logsumexp(log_q + cell, axis=-1) - total
    # Steps of between are equal in its logarithm.
    of_between = stats.halfnorm.logpdf(between[:, 0], scale=scale[:, None]) + np.log(between[:, 0])
    log_p = log_p + of_between[:, None, :]
    evidence = logsumexp(log_p, axis=(1, 2))
    return evidence, logsumexp(log_p + extra, axis=(1, 2)) - evidence


@pytest.mark.nuts
def test_the_scale_of_real_columns_and_their_predictive_agree_with_quadrature(reals):
    x, y = reals
    family = HierarchicalGaussian(m=0.5, s=1.0, reach=3.0, between=1.0, together=True, **SHORT)
    believed = learned(family, Moments.of(x, Labels.of(y)))
    scale, row = np.exp(np.linspace(-5, 1.6, 80)), np.array([0.4, 2.0])
    log_prior = stats.halfnorm.logpdf(scale) + np.log(scale)
    ess, drawn = believed.convergence.ess, believed.theta["scale"][:, 0, 0]
    for c in range(3):
        evidence, cell = zip(*(quadrature_of_reals(x[:, j], y, row[j], c, scale) for j in (0, 1)), strict=True)
        weight, log_predictive = mixture(log_prior, evidence, cell)
        found = family.log_predictive(believed, row[None])[0, c]
        spread = family.log_likelihood(believed.theta, row[None])[:, 0, c].std()
        within(found, log_predictive, spread, ess)
    within(drawn.mean(), (weight * scale).sum(), drawn.std(), ess)
    within(np.log(drawn).mean(), (weight * np.log(scale)).sum(), np.log(drawn).std(), ess)


def quadrature_of_levels(counts, level, c, location, scale):
    """The same for a column of two levels with counts (class, 2), given location and scale of log strengths."""
    p, log_strength = (np.arange(200) + 0.5)[:, None] / 200, np.linspace(-12, 14, 400)
    strength = np.exp(log_strength)
    log_p = np.zeros((len(p), len(strength)))
    for n in counts:
        log_p += gammaln(strength) - gammaln(strength + n.sum())
        log_p += sum(gammaln(strength * q + k) - gammaln(strength * q) for q, k in zip((p, 1 - p), n, strict=True))
    share = p if level == 0 else 1 - p
    cell = np.log((strength * share + counts[c, level]) / (strength + counts[c].sum()))
    log_p, log_q = logsumexp(log_p, axis=0), logsumexp(log_p + cell, axis=0)
    of_strength = stats.logistic.logpdf((log_strength - np.log(2.0) - location) / scale) - np.log(scale)
    evidence = logsumexp(log_p + of_strength, axis=-1)
    return evidence, logsumexp(log_q + of_strength, axis=-1) - evidence


@pytest.mark.nuts
def test_the_strengths_of_columns_and_their_predictive_agree_with_quadrature():
    counts = np.array([[[9.0, 3.0], [4.0, 8.0]], [[5.0, 4.0], [7.0, 2.0]], [[2.0, 2.0], [0.0, 3.0]]])
    family, s = HierarchicalCategorical(together=True, **SHORT), CategoryCounts(counts, (("p", "q"), ("t", "u")))
    believed = learned(family, s)
    location, scale = np.linspace(-10, 12, 90)[:, None, None], np.exp(np.linspace(-6, 1.6, 50))[:, None]
    log_prior = stats.logistic.logpdf(location[..., 0]) + stats.halfnorm.logpdf(scale[:, 0]) + np.log(scale[:, 0])
    ess, row = believed.convergence.ess, Coded(np.array([[0, 1]]), s.levels)
    for c in range(3):
        parts = (quadrature_of_levels(counts[:, j], row.codes[0, j], c, location, scale) for j in (0, 1))
        weight, log_predictive = mixture(log_prior, *zip(*parts, strict=True))
        found = family.log_predictive(believed, row)[0, c]
        within(found, log_predictive, family.log_likelihood(believed.theta, row)[:, 0, c].std(), ess)
    drawn = believed.theta["location"][:, 0, 0]
    within(drawn.mean(), (weight * location[..., 0]).sum(), drawn.std(), ess)
    drawn = np.log(believed.theta["scale"][:, 0, 0])
    within(drawn.mean(), (weight * np.log(scale[:, 0])).sum(), drawn.std(), ess)


def density(family, s):
    """The log density of the whole model of a family, without Jacobians, and a function that makes points of it."""
    with pm.Model() as model:
        theta = family.pymc_prior(family.priors(s, tuple(range(len(s.seen())))), str, {})
        pm.Potential("rows", family.pymc_statistic(theta, s))
    return log_density(model), model


def log_density(model):
    return model.compile_logp(jacobian=False, mode="FAST_COMPILE")


def points(model, n=4):
    rng, start = default_rng(6), model.initial_point()
    return [{key: value + rng.normal(0, 0.4, np.shape(value)) for key, value in start.items()} for _ in range(n)]


@pytest.mark.parametrize("together", [False, True])
def test_real_columns_have_the_density_of_a_model_written_by_hand(together):
    rng, y = default_rng(6), np.repeat(np.arange(4), [8, 5, 4, 4])
    x = rng.normal(10 + 2 * rng.normal(size=(4, 5))[y], 3.0)
    family = HierarchicalGaussian(m=10, s=3, reach=30, between=4, together=together)
    own, model = density(family, Moments.of(x, Labels.of(y)))
    with pm.Model() as by_hand:
        scale = pm.HalfNormal("scale", 1) if together else 1.0
        centre = 10 + 3 * pm.Normal("standard_centre", 0, 10, shape=5)
        between = 4 * scale * pm.HalfNormal("standard_between", 1, shape=5)
        mu = centre + between * pm.Normal("standard_mu", shape=(4, 5))
        sigma = 3 / pm.HalfNormal("inverse_sigma", 10, shape=(4, 5))
        pm.Normal("x", mu[y], sigma[y], observed=x)
    found = [[float(of(point)) for point in points(model)] for of in (own, log_density(by_hand))]
    assert np.ptp(found[0]) > 1
    assert_allclose(found[0], found[1], rtol=1e-9)


@pytest.mark.parametrize("together", [pytest.param(False, marks=pytest.mark.slow), True])
def test_columns_of_different_numbers_of_levels_have_the_density_of_a_model_written_by_hand(together):
    rng = default_rng(7)
    wide, narrow = rng.multinomial(9, [0.5, 0.3, 0.2], (3, 2)), rng.multinomial(9, [0.4, 0.6], (3, 3))
    counts = np.zeros((3, 5, 3))
    counts[:, :2], counts[:, 2:, :2] = wide, narrow
    names = (("p", "q", "r"),) * 2 + (("t", "u"),) * 3
    own, model = density(HierarchicalCategorical(together=together), CategoryCounts(counts, names))
    with pm.Model() as by_hand:
        location, scale = (pm.Logistic("location", 0, 1), pm.HalfNormal("scale", 1)) if together else (0.0, 1.0)
        log_strength = np.log([3, 3, 2, 2, 2]) + location + scale * pm.Logistic("standard_strength", 0, 1, shape=5)
        for n, columns in ((wide, slice(2)), (narrow, slice(2, 5))):
            k = n.shape[-1]
            pooled = pm.Dirichlet(f"pooled_{k}", np.ones(n.shape[1:]))
            strength = pm.math.exp(log_strength[columns])
            theta = pm.Dirichlet(f"theta_{k}", strength[:, None] * pooled, shape=n.shape)
            pm.Multinomial(f"n {k}", 9, theta, observed=n)
    chosen = points(model)
    found = [[float(of(point)) for point in chosen] for of in (own, log_density(by_hand))]
    assert np.ptp(found[0]) > 1
    # The likelihood by hand also counts the orders in which the rows may come.
    orders = sum((gammaln(n.sum(-1) + 1) - gammaln(n + 1).sum(-1)).sum() for n in (wide, narrow))
    assert_allclose(np.subtract(found[1], found[0]), orders, rtol=1e-7)


@pytest.mark.nuts
def test_a_row_left_out_by_weights_is_the_row_after_a_fit_without_it():
    rng, y = default_rng(8), np.repeat([0, 1], 15)
    X = pd.DataFrame(rng.normal(0.7 * y[:, None], 1.0, (30, 8)), columns=list("abcdefgh"))
    family = HierarchicalGaussian(together=True, target_accept=0.95)
    clf = BayesianNB({"x": (family, list(X))}, random_state=0).fit(X, y)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*change the posterior too much", category=UserWarning)
        found = clf.loo(X, y)
    trusted = np.flatnonzero((found["pareto_k"] < 0.6).all(axis=1))
    i = trusted[found["log_density"].iloc[trusted].argmin()]
    rest = BayesianNB(clf.features, random_state=0).fit(X.drop(index=i), np.delete(y, i))
    assert_allclose(found["log_density"].iloc[i], rest.predict_joint_log_proba(X.iloc[[i]])[0, y[i]], atol=0.15)
    assert clf.predict_joint_log_proba(X.iloc[[i]])[0, y[i]] > found["log_density"].iloc[i] + 0.3
