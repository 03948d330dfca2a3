"""Conjugate and sampled columns are one model: in PyMC, in a tree of draws, left out row by row, and in a file."""

import warnings

import arviz as az
import numpy as np
import pandas as pd
import pymc as pm
import pytensor
import pytest
from conftest import made_up, mixed, shown
from numpy.random import default_rng
from numpy.testing import assert_allclose, assert_array_equal
from pymc.distributions.transforms import ordered
from pytensor import tensor as pt
from pytensor.compile.mode import Mode
from scipy import stats
from scipy.special import logsumexp

import bayesnb as nb
from bayesnb import BayesianNB, Gamma
from bayesnb.chains import Convergence, Sampler, weights_without
from bayesnb.families import Exponential, FromPyMC, HierarchicalCategorical, HierarchicalGaussian, StudentT
from bayesnb.families.sampled import Draws
from bayesnb.modelfile import codec
from bayesnb.modelfile.container import ModelFileError
from bayesnb.statistics.statistic import Labels
from tests.model_files import cell, changed

IN_PYTHON = Mode(linker="py", optimizer=None)

SHORT = {"draws": 500, "tune": 500, "chains": 2}


def mixture(**sampler):
    return FromPyMC(
        pm.NormalMixture,
        {
            "w": (pm.Dirichlet, {"a": [2.0, 2.0]}),
            "mu": (pm.Normal, {"mu": [0.0, 5.0], "sigma": 2.0, "transform": ordered, "initval": [0.0, 5.0]}),
            "sigma": (pm.HalfNormal, {"sigma": [2.0, 2.0]}),
        },
        **sampler,
    )


def families(**sampler):
    gamma = {"alpha": (pm.HalfNormal, {"sigma": 5.0}), "beta": (pm.HalfNormal, {"sigma": 5.0})}
    return {
        "student": StudentT(**sampler),
        "gamma": FromPyMC(pm.Gamma, gamma, "positive reals", **sampler),
        "two bumps": mixture(**sampler),
        "levels": HierarchicalCategorical(**sampler),
        "means": HierarchicalGaussian(**sampler),
    }


def table(n=50):
    """A column for each sampled family and two conjugate ones, with missing cells."""
    columns = {"student": "outliers", "gamma": "wait", "two bumps": "bumps", "levels": "levels", "means": "real"}
    return mixed(n, ["ant", "bee"], columns | {"colour": "levels", "size": "real"}, missing=0.05)


@pytest.fixture(scope="module")
def unsampled():
    """The whole model with draws from the prior, for what does not depend on their values; and the rows."""
    X, y = table()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Sampler, "run", made_up)
        return BayesianNB(families(), random_state=0).fit(X, y), X, y


# The model in PyMC


@pytest.mark.parametrize("name", families())
def test_a_sampled_family_has_the_same_density_in_numpy_and_in_pymc(name, unsampled):
    clf, X, _ = unsampled
    family, believed = clf.posterior_.model.features[name], clf.posterior_.features[name]
    data, n = clf.classifier_.read(X)
    theta = {key: value[7] for key, value in believed.theta.items()}
    tensors = {key: pt.constant(value) for key, value in family.variables(theta).items()}
    expected = family.log_likelihood(theta, data[name])
    compiled = pytensor.function([], family.pymc_log_likelihood(tensors, data[name]), mode=IN_PYTHON)
    assert_allclose(compiled(), expected, rtol=1e-9, atol=1e-12)
    codes = default_rng(1).integers(0, 2, n)
    labels = Labels.of(codes, weight=np.arange(n) % 3 + 1.0)
    s = family.statistic(data[name], labels)
    total = (labels.weight * expected[np.arange(n), codes]).sum()
    compiled = pytensor.function([], family.pymc_statistic(tensors, s), mode=IN_PYTHON)
    assert_allclose(compiled(), total, rtol=1e-9)


@pytest.mark.slow
def test_all_likelihoods_of_the_whole_model_have_one_density(unsampled):
    clf, X, y = unsampled
    found = []
    for likelihood in ("sufficient", "joint", "rows"):
        model = clf.to_pymc(*(() if likelihood == "sufficient" else (X, y)), likelihood=likelihood)
        assert shown(model)
        logp = model.compile_logp(jacobian=False, mode=IN_PYTHON)
        rng, start = default_rng(2), model.initial_point()
        points = [{key: value + rng.normal(0, 0.2, value.shape) for key, value in start.items()} for _ in range(3)]
        points = [{key: np.sort(v, -1) if "ordered" in key else v for key, v in point.items()} for point in points]
        found.append([float(logp(point)) for point in points])
    assert_allclose(found[1], found[0], rtol=1e-10)
    assert_allclose(found[2], found[0], rtol=1e-10)
    assert np.ptp(found[0]) > 1


def test_vector_parameters_have_an_axis_of_their_own(unsampled):
    clf, *_ = unsampled
    tree = clf.sample_posterior(20, 2, include=["log_prior"])
    mu = tree["posterior"]["mu_pymc_normal_mixture"]
    assert mu.dims[2:] == ("class_label", "pymc_normal_mixture_feature", "pymc_normal_mixture_mu_0")
    assert tree["log_prior"]["w_pymc_normal_mixture"].dims[2:] == ("class_label", "pymc_normal_mixture_feature")
    assert list(clf.tables()["two bumps"]) == ["w[0]", "w[1]", "mu[0]", "mu[1]", "sigma[0]", "sigma[1]"]
    weights = tree["posterior"]["w_pymc_normal_mixture"]
    expected = stats.dirichlet([2.0, 2.0]).logpdf(np.moveaxis(weights.to_numpy(), -1, 0).reshape(2, -1))
    assert_allclose(tree["log_prior"]["w_pymc_normal_mixture"].to_numpy().ravel(), expected)
    of_mu = stats.norm.logpdf(mu, [0.0, 5.0], 2.0)
    assert_allclose(tree["log_prior"]["mu_pymc_normal_mixture"], of_mu)


def test_a_mixture_has_the_density_of_its_parts():
    theta = {"w": np.array([[[0.3, 0.7]]]), "mu": np.array([[[0.0, 4.0]]]), "sigma": np.array([[[1.0, 2.0]]])}
    x = np.array([[0.5], [3.0], [np.nan]])
    found = mixture().log_likelihood(theta, x)
    expected = np.log(0.3 * stats.norm.pdf(x, 0, 1) + 0.7 * stats.norm.pdf(x, 4, 2))
    assert_allclose(found[:2, 0], expected[:2, 0])
    assert found[2, 0] == 0.0


# Draws


@pytest.mark.parametrize(("name", "key"), [("student", "sigma"), ("means", "between"), ("levels", "strength")])
def test_draws_of_the_prior_have_its_density(name, key, unsampled):
    clf, *_ = unsampled
    family, prior = clf.posterior_.model.features[name], clf.posterior_.prior[name]
    drawn = family.draw_prior(prior, default_rng(3), 4000)
    ends = np.quantile(drawn[key][:, ..., 0].reshape(4000, -1)[:, 0], [0.1, 0.3, 0.7])
    point = {what: value[:1] for what, value in drawn.items()}
    grid = np.exp(np.linspace(np.log(ends[0]), np.log(ends[-1]), 2001))
    many = {what: np.repeat(value, len(grid), 0) for what, value in point.items()}
    many[key] = np.broadcast_to(grid.reshape(-1, *(1 for _ in point[key].shape[1:])), many[key].shape)
    density = np.exp(family.log_prior(prior, many)[key].reshape(len(grid), -1)[:, 0])
    shares = [np.trapezoid(density[grid <= end], grid[grid <= end]) for end in ends]
    # Three standard errors of a share of 4000 draws.
    assert_allclose(shares, [0.0, 0.2, 0.6], atol=0.025)


def test_a_prior_of_further_variables_has_no_density_and_the_tree_does_without(unsampled):
    def prior(name, shape):
        return pm.Normal(name, pm.Normal(f"{name} of all"), shape=shape)

    family = FromPyMC(pm.Normal, {"mu": prior, "sigma": 1.0})
    X, y = table()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Sampler, "run", made_up)
        clf = BayesianNB({"size": family}).fit(X[["size"]], y)
    assert "log_prior" not in clf.sample_posterior(10, 2).children
    with pytest.raises(ValueError, match="leave log_prior out"):
        clf.sample_posterior(10, 2, include=["log_prior"])


# One row left out


def conjugate_draws(x, y, n=4000):
    """A sampled family with exact draws of its posterior, the same family in closed form, and the rows."""
    sampled = FromPyMC(pm.Exponential, {"lam": (pm.Gamma, {"alpha": 2.0, "beta": 1.5})})
    a, b = 2.0 + np.bincount(y), 1.5 + np.bincount(y, x)
    lam = default_rng(0).gamma(a[:, None], 1 / b[:, None], (n, 2, 1))
    exact = BayesianNB({"x": Exponential(Gamma(2.0, 1.5)), "z": nb.Gaussian()})
    return sampled, Draws({"lam": lam}, Convergence(1, 1, float(n), 0, "lam")), exact


def test_leaving_a_row_out_by_weights_agrees_with_the_closed_form(monkeypatch):
    rng = default_rng(1)
    y = rng.integers(0, 2, 30)
    X = pd.DataFrame({"x": rng.exponential(1.0 + y), "z": rng.normal(size=30)})
    sampled, believed, exact = conjugate_draws(X["x"].to_numpy(), y)
    monkeypatch.setattr(FromPyMC, "update", lambda self, prior, s: believed)
    clf, exact = BayesianNB({"x": sampled, "z": nb.Gaussian()}).fit(X, y), exact.fit(X, y)
    found, right = clf.loo(X, y), exact.loo(X, y)
    assert_allclose(found["log_density"], right["log_density"], atol=0.03)
    assert_allclose(found["probability"], right["probability"], atol=0.01)
    assert (found["pareto_k", "x"] < 0.7).all()
    assert "pareto_k" not in right
    by_feature = clf.loo(X, y, by="feature")
    for c, label in enumerate(clf.classes_):
        own = y == c
        assert_allclose(by_feature[label].sum(axis=1)[own], found["log_density"][own])
    assert_allclose(nb.evaluate(clf, X, y)["log_loss"], nb.evaluate(exact, X, y)["log_loss"], atol=0.01)


def test_a_row_that_counts_twice_is_left_out_twice():
    log_p = np.log(default_rng(2).gamma(5.0, 1.0, (2000, 1)))
    once, _ = weights_without(log_p, np.ones(1), 4)
    twice, _ = weights_without(log_p, np.full(1, 2.0), 4)
    assert_allclose(np.exp(once).sum(0), 1.0)
    # E[1/p] over a Gamma(5) is 1/4; without the row p has the shape 4, without two rows the shape 3.
    assert_allclose((np.exp(once + log_p)).sum(), 4.0, atol=0.15)
    assert_allclose((np.exp(twice + log_p)).sum(), 3.0, atol=0.25)
    even, k = weights_without(np.zeros((100, 2)), np.ones(2), 4)
    assert_allclose(np.exp(even), 0.01)
    assert_array_equal(k, -np.inf)


def test_rows_that_cannot_be_left_out_by_weights_are_named_and_can_be_sampled_again(monkeypatch):
    rng = default_rng(3)
    y = np.repeat([0, 1], 6)
    X = pd.DataFrame({"x": np.append(rng.exponential(1.0, 11), 13.0), "z": rng.normal(size=12)})
    sampled, believed, exact = conjugate_draws(X["x"].to_numpy(), y)
    monkeypatch.setattr(FromPyMC, "update", lambda self, prior, s: believed)
    clf, right = BayesianNB({"x": sampled}).fit(X, y), exact.fit(X, y).loo(X, y)
    with pytest.warns(UserWarning, match=r"column 'x': 1 of 12 rows \(11; pareto_k .* in row 11\) .*refit=True.*cv=5"):
        found = clf.loo(X, y)
    assert found["pareto_k", "x"].idxmax() == 11

    def again(self, prior, s):
        (x,) = [np.asarray(s.levels[0])]
        n, total = s.counts[:, 0].sum(-1), s.counts[:, 0] @ x
        lam = default_rng(0).gamma((2.0 + n)[:, None], 1 / (1.5 + total)[:, None], (4000, 2, 1))
        return Draws({"lam": lam}, Convergence(1, 1, 4000.0, 0, "lam"))

    monkeypatch.setattr(FromPyMC, "update", again)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        better = clf.loo(X, y, refit=True)
    assert better["pareto_k", "x"][11] == 0.0
    # So far out, few draws matter: by E[p²], the average over 4000 has an error of a quarter of itself.
    assert_allclose(better["log_density"][11], right["log_density"][11], atol=0.75)
    assert_array_equal(better["log_density"][:11], found["log_density"][:11])


# In a file


def test_a_loaded_model_has_the_same_draws_and_is_not_sampled_again(unsampled, tmp_path, monkeypatch):
    clf, X, y = unsampled

    def run(sampler, model, names, what):
        raise AssertionError("nothing should have been sampled")

    monkeypatch.setattr(Sampler, "run", run)
    assert clf.save(tmp_path / "model.bayesnb") == clf.save(tmp_path / "again.bayesnb")
    found = nb.load(tmp_path / "model.bayesnb")
    assert_array_equal(found.predict_joint_log_proba(X), clf.predict_joint_log_proba(X))
    for name in families():
        mine, theirs = clf.posterior_.features[name], found.posterior_.features[name]
        assert mine.convergence == theirs.convergence
        for key, value in mine.theta.items():
            assert_array_equal(theirs.theta[key], value)
        assert repr(found.classifier_.schema.features[name].family.prior) == repr(
            clf.classifier_.schema.features[name].family.prior
        )
    monkeypatch.setattr(Sampler, "run", made_up)
    learned = found.partial_fit(X[:5], y[:5])
    assert learned.classifier_.statistics.rows.sum() == len(X) + 5


def test_a_prior_that_is_a_function_cannot_be_saved_and_the_error_says_what_can(tmp_path):
    family = FromPyMC(pm.Normal, {"mu": lambda name, shape: pm.Normal(name, shape=shape), "sigma": 1.0})
    X, y = table()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Sampler, "run", made_up)
        clf = BayesianNB({"size": family}).fit(X[["size"]], y)
    with pytest.raises(ValueError, match=r"function cannot be written.*\(pm.HalfNormal, \{'sigma': 2\}\)"):
        clf.save(tmp_path / "model.bayesnb")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["CustomDist", "os", "Model", "draw"])
def test_a_file_can_name_nothing_of_pymc_but_distributions(name):
    assert codec.decode({"pymc": "Gamma"}, {}, 0) is pm.Gamma
    with pytest.raises(ValueError, match="not a value of this format"):
        codec.decode({"pymc": name}, {}, 0)


LIES = {
    "draws of other parameters": (
        lambda content, arrays: arrays.update({"draws.student.theta.mu": arrays["draws.student.theta.mu"][:, :1]}),
        "'student': its draws are not of its parameters",
    ),
    "a draw that is no number": (cell("draws.student.theta.mu", np.nan), "'student': one of its draws is no number"),
    "a value twice": (
        lambda content, arrays: dict(content["statistics"]["features"]["map"])["gamma"]["levels"]["tuple"][0][
            "tuple"
        ].__setitem__(slice(2), [1.0, 1.0]),
        "'gamma': its statistics are not those of its columns",
    ),
    "no draws": (
        lambda content, arrays: content["draws"]["map"].pop(),
        "nothing says what its arrays",
    ),
}


@pytest.mark.parametrize("lie", LIES)
def test_draws_that_do_not_fit_their_feature_are_refused(lie, unsampled, tmp_path):
    change, message = LIES[lie]
    clf, *_ = unsampled
    clf.save(tmp_path / "model.bayesnb")
    with pytest.raises(ModelFileError, match=message):
        nb.load(changed(tmp_path / "model.bayesnb", change))


# NUTS


@pytest.fixture(scope="module")
def fitted():
    X, y = table(60)
    X = X[["student", "two bumps", "colour", "size"]]
    long = {"draws": 1500, "tune": 500, "chains": 2}
    return BayesianNB({"student": StudentT(**long), "two bumps": mixture(**long)}, random_state=0).fit(X, y), X, y


@pytest.mark.nuts
def test_a_mixed_model_is_verified_where_it_has_a_closed_form(fitted):
    clf, X, _ = fitted
    found = clf.verify(X[:3], draws=1000, chains=2, tune=800)
    assert found.agrees
    assert "not judged, because they are sampled: 'student', 'two bumps'" in str(found)
    judged = {quantity.partition("(")[2].partition(" of row")[0] for quantity in found.table["quantity"]}
    assert {"colour", "size"} <= judged
    assert not {"student", "two bumps"} & judged


# Which rows of 60 have large weights depends on the draws, so on the machine and on the version of PyTensor.
@pytest.mark.nuts
@pytest.mark.filterwarnings("ignore:.*change the posterior too much to be left out by weighting its draws")
def test_a_mixed_model_leaves_rows_out_as_arviz_does(fitted):
    clf, X, y = fitted
    tree = clf.sample_posterior(X=X, y=y)
    mine = clf.loo(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = az.loo(tree["joint"], pointwise=True)
    assert_allclose(mine["log_density"].sum(), float(theirs.elpd), atol=1.0)
    scores = nb.evaluate(BayesianNB(clf.features, random_state=0), X, y)
    expected = -np.log([mine.loc[i, ("probability", label)] for i, label in enumerate(y)]).mean()
    assert_allclose(scores["log_loss"], expected, rtol=1e-10)


@pytest.mark.nuts
def test_nuts_on_the_whole_model_agrees_with_chains_of_single_columns(fitted):
    clf, X, y = fitted
    with clf.to_pymc(X, y):
        whole = pm.sample(400, tune=600, chains=2, cores=1, random_seed=1, progressbar=False, nuts_sampler="pymc")
    own = clf.sample_posterior()
    for name in ("mu_student_t", "mu_pymc_normal_mixture", "w_pymc_normal_mixture", "mu_size", "pi"):
        a, b = whole["posterior"][name], own["posterior"][name]
        error = np.hypot(
            az.mcse(whole["posterior"].dataset[[name]])[name], az.mcse(own["posterior"].dataset[[name]])[name]
        )
        gap = np.abs(a.mean(("chain", "draw")).to_numpy() - b.mean(("chain", "draw")).to_numpy())
        assert (gap < 5 * error.to_numpy()).all()


@pytest.mark.nuts
def test_a_mixture_of_known_parts_agrees_with_quadrature():
    rng = default_rng(5)
    x = np.where(rng.random(40) < 0.3, rng.normal(0, 1, 40), rng.normal(5, 1, 40))[:, None]
    prior = {"w": (pm.Dirichlet, {"a": [1.0, 1.0]}), "mu": [0.0, 5.0], "sigma": 1.0}
    family = FromPyMC(pm.NormalMixture, prior, **SHORT)
    s = family.statistic(x, Labels.of(np.zeros(40, int)))
    believed = family.update(family.priors(s, ("a",)), s)
    w = np.linspace(1e-4, 1 - 1e-4, 4001)[:, None]

    def density(v):
        return np.log(w * stats.norm.pdf(v, 0, 1) + (1 - w) * stats.norm.pdf(v, 5, 1))

    log_posterior = density(x[:, 0]).sum(1)
    weight = np.exp(log_posterior - logsumexp(log_posterior))
    drawn = believed.theta["w"][:, 0, 0, 0]
    error = drawn.std() / np.sqrt(believed.convergence.ess)
    assert abs(drawn.mean() - weight @ w[:, 0]) < 5 * error
    asked = np.array([-1.0, 2.5, 5.0])
    found = np.exp(family.log_predictive(believed, asked[:, None])[:, 0])
    assert_allclose(found, weight @ np.exp(density(asked)), rtol=0.03)
