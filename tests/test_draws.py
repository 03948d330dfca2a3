"""Draws as an ArviZ tree have the same names for both samplers, and give the same predictions when read back."""

from __future__ import annotations

import warnings
from typing import Any

import arviz as az
import numpy as np
import pandas as pd
import pytest
from conftest import mixed
from numpy.random import default_rng
from numpy.testing import assert_allclose, assert_array_equal
from xarray import DataTree

from bayesnb import BayesianNB, datasets
from bayesnb.draws import sample_proba
from bayesnb.families.gaussian import Gaussian, GaussianKnownVariance
from bayesnb.families.multinomial import Multinomial
from bayesnb.families.rates import Poisson
from bayesnb.families.trials import Bernoulli, Categorical
from bayesnb.priors import Beta, Dirichlet, Gamma, ImproperError, Normal, NormalGamma
from bayesnb.sampling import draws, layout

GROUPS = ("log_prior", "posterior_predictive", "prior_predictive", "log_likelihood", "columns")


def tennis() -> tuple[BayesianNB, pd.DataFrame, pd.Series]:
    X, y = datasets.play_tennis()
    return BayesianNB().fit(X, y), X, y


@pytest.fixture(scope="module")
def tree() -> DataTree:
    clf, X, y = tennis()
    return clf.sample_posterior(500, 4, random_seed=6, X=X, y=y, include=GROUPS)


def fitted(n: int = 20) -> tuple[BayesianNB, pd.DataFrame, np.ndarray]:
    """Every family, columns of one feature with different numbers of levels, one with a single level, and gaps."""
    columns = {
        "yes": "flag", "no": "bit", "colour": "levels", "x": "real", "z": "real", "known": "real", "calls": "events",
        "cat": "count", "dog": "word", "emu": "word", "hours": "hours",
    }  # fmt: skip
    X, y = mixed(n, "abca", columns, missing=0.2)
    X = X.assign(two=np.resize(["p", "q"], n), three=np.resize(["p", "q", "r"], n), one="always")
    X.loc[::6, "three"] = None
    features = {
        "bits": (Bernoulli(Beta(2.0, 1.0)), ["yes", "no"]),
        "levels": (Categorical(Dirichlet(0.5)), ["two", "three", "one"]),
        "colour": Categorical(Dirichlet({"a": 1.0, "b": 2.0, "c": 3.0})),
        "both": (Gaussian(), ["x", "z"]),
        "known": GaussianKnownVariance(variance=1.5),
        "calls": Poisson(Gamma(2.0), exposure="hours"),
        "words": (Multinomial(), ["cat", "dog", "emu"]),
    }
    return BayesianNB(features, random_state=0).fit(X, y), X, y


VARIABLES = {
    "pi": ("class_label",),
    "theta_yes": ("class_label",),
    "theta_no": ("class_label",),
    "theta_two": ("class_label", "two_category"),
    "theta_three": ("class_label", "three_category"),
    "theta_colour": ("class_label", "colour_category"),
    "mu_x": ("class_label",),
    "tau_x": ("class_label",),
    "mu_z": ("class_label",),
    "tau_z": ("class_label",),
    "mu_known": ("class_label",),
    "rate_calls": ("class_label",),
    "theta_words": ("class_label", "words_category"),
}


# The layout


def test_variables_are_named_after_columns_and_levels_are_coordinates():
    clf, *_ = fitted()
    posterior = clf.sample_posterior(7, 3)["posterior"].dataset
    assert {name: v.dims for name, v in posterior.data_vars.items()} == {
        name: ("chain", "draw", *dims) for name, dims in VARIABLES.items()
    }
    assert {name: list(map(str, c.to_numpy())) for name, c in posterior.coords.items() if name != "draw"} == {
        "chain": ["0", "1", "2"],
        "class_label": ["a", "b", "c"],
        "two_category": ["p", "q"],
        "three_category": ["p", "q", "r"],
        "colour_category": ["a", "b", "c"],
        "words_category": ["cat", "dog", "emu"],
    }


@pytest.mark.nuts
def test_draws_of_every_family_have_the_same_layout_whichever_sampler():
    clf, X, _ = fitted()
    exact = clf.sample_posterior(20, 2, random_seed=0)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="NUTS did not converge")
        nuts = clf.sample_posterior(20, 2, "nuts", random_seed=0, tune=30)
    same_layout(exact, nuts)
    data, n = clf.classifier_.read(X)
    assert np.isfinite(draws.parameters(nuts, clf.posterior_).log_joint(data, n)).all()


def same_layout(one: DataTree, other: DataTree) -> None:
    assert set(one.groups) == set(other.groups)
    assert set(one["sample_stats"].data_vars) & set(other["sample_stats"].data_vars) >= {"diverging"}
    for group in set(one.groups) - {"/", "/sample_stats"}:
        a, b = one[group].dataset, other[group].dataset
        assert {name: (v.dims, v.dtype) for name, v in a.data_vars.items()} == {
            name: (v.dims, v.dtype) for name, v in b.data_vars.items()
        }
        assert set(a.coords) == set(b.coords)
        for name in a.coords:
            assert_array_equal(a[name], b[name])


def test_the_tree_has_groups_for_prior_posterior_and_learned_data():
    clf, X, y = fitted()
    tree = clf.sample_posterior(5, 2)
    assert set(tree.children) == {"posterior", "prior", "log_prior", "constant_data", "sample_stats"}
    assert set(tree["prior"].data_vars) == set(tree["posterior"].data_vars) == set(tree["log_prior"].data_vars)
    assert_array_equal(tree["constant_data"]["rows"], pd.Series(y).value_counts().sort_index())
    for name in ("x", "z", "calls"):
        assert_array_equal(tree["constant_data"][f"seen_{name}"], X[name].notna().groupby(y).sum())


def test_the_observed_columns_of_the_pymc_model_have_rows_as_their_dimension():
    clf, X, y = fitted()
    model = clf.to_pymc(X, y, likelihood="rows")
    columns = {"x_yes": "yes", "x_two": "two", "x_three": "three", "x_x": "x", "x_known": "known", "x_calls": "calls"}
    for name, column in columns.items():
        dim, *others = model.named_vars_to_dims[name]
        known = np.flatnonzero(X[column].notna())
        assert not any(others)
        assert dim == ("row" if len(known) == len(X) else f"row_{column}")
        assert_array_equal(model.coords[dim], known)
        assert model[name].type.shape[0] == len(known)
    assert model.named_vars_to_dims["y"] == ("row",)


def test_new_rows_are_groups_of_predictions_and_their_classes_have_the_predictive_distribution():
    clf, X, y = fitted(60)
    new = X[:5]
    tree = clf.sample_posterior(1000, 4, random_seed=2, X=new)
    assert {"predictions", "predictions_constant_data"} <= set(tree.children)
    assert not {"log_likelihood", "observed_data", "posterior_predictive"} & set(tree.children)
    drawn = tree["predictions"]["y"]
    assert drawn.dims == ("chain", "draw", "row")
    assert [*tree["predictions"]["class_label"].values] == ["a", "b", "c"]
    shares = np.stack([np.bincount(row, minlength=3) / 4000 for row in drawn.values.reshape(-1, 5).T])
    # The draws are given the data; the mean of p(y | x, θ) is what sample_proba averages.
    assert_allclose(shares, sample_proba(clf, new, draws=4000, given="data").mean(0), atol=0.04)
    cells = tree["predictions_constant_data"]
    assert_allclose(cells["x_x"], new["x"])
    assert {name: v.dims[0] for name, v in cells.data_vars.items()} == dict.fromkeys(cells.data_vars, "row")
    with pytest.raises(ValueError, match="labels y belong to the rows of a table"):
        clf.sample_posterior(y=y)


def test_a_wide_prior_can_draw_cells_above_every_float_without_a_warning_of_numpy():
    X, y = {"amount": np.exp(np.linspace(-2, 6, 40))}, ["u", "v"] * 20
    clf = BayesianNB({"amount": "log-normal"}, random_state=0).fit(X, y)
    cells = clf.sample_posterior(200, 4, X=X, y=y, include=["columns"])["columns/prior_predictive"]["x_amount"]
    assert np.isinf(cells).any()
    assert (cells >= 0).all()


# There and back


def same_parameters(one: Any, other: Any, clf: BayesianNB, X: pd.DataFrame) -> None:
    data, n = clf.classifier_.read(X)
    assert_allclose(one.log_pi, other.log_pi, atol=1e-12)
    assert_allclose(one.log_joint(data, n), other.log_joint(data, n), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("group", ["posterior", "prior"])
def test_parameters_can_be_read_back_from_the_prior_and_the_posterior_group(group):
    clf, X, _ = fitted()
    rng = default_rng(12)
    tree = clf.sample_posterior(9, 2, random_seed=12)
    drawn = {"posterior": clf.posterior_.draw(rng, (2, 9)), "prior": clf.posterior_.before().draw(rng, (2, 9))}
    same_parameters(draws.parameters(tree, clf.posterior_, group), drawn[group], clf, X)


@pytest.mark.nuts
def test_parameters_can_be_read_from_a_tree_made_by_pymc():
    import pymc as pm

    clf, X, _ = tennis()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sampled = pm.sample(
            200, tune=500, chains=2, cores=1, model=clf.to_pymc(), progressbar=False, random_seed=0,
            compute_convergence_checks=False,
        )  # fmt: skip
    data, n = clf.classifier_.read(X)
    joint = np.exp(draws.parameters(sampled, clf.posterior_).log_joint(data, n)).mean(axis=(0, 1))
    assert_allclose(joint / joint.sum(-1, keepdims=True), clf.predict_proba(X), atol=0.06)


def test_a_draw_that_underflows_is_read_back_as_0():
    X = pd.DataFrame({"c": ["a", "b", "a", "a"]})
    clf = BayesianNB(Categorical(Dirichlet(1e-4))).fit(X, ["u", "u", "v", "v"])
    tree = clf.sample_posterior(200, 2, random_seed=0)
    theta = tree["posterior"]["theta_c"].sel(class_label="v")
    assert (theta == 0).any()
    assert_allclose(theta.sum("c_category"), 1.0)
    log_theta = draws.parameters(tree, clf.posterior_).features["c"]["log_theta"]
    assert_array_equal(np.isneginf(log_theta[:, :, 1, 0]), theta.to_numpy() == 0)


def test_exact_draws_are_independent():
    clf, *_ = fitted()
    posterior = clf.sample_posterior(1000, 4, random_seed=3)["posterior"].dataset
    r_hat, ess = az.rhat(posterior), az.ess(posterior)
    for name in posterior.data_vars:
        assert abs(float(r_hat[name].max()) - 1) < 0.01
        assert float(ess[name].min()) > 0.75 * 4000
        assert float(ess[name].max()) < 1.35 * 4000


# What exact draws are


def test_exact_draws_have_the_moments_of_prior_and_posterior():
    clf, *_ = fitted()
    tree = clf.sample_posterior(4000, 2, random_seed=3)
    blocks = layout.blocks(clf.posterior_)
    for group, belief in {"posterior": clf.posterior_, "prior": clf.posterior_.before()}.items():
        held = tree[group].dataset
        expected = {"pi": (belief.label.mean(), belief.label.variance())}
        for block in blocks:
            mean, variance = (f() for f in (block.gather(belief.features).mean, block.gather(belief.features).variance))
            for key, m, v in zip(block.keys, *map(tupled, (mean, variance)), strict=True):
                expected[block.variable(key)] = m, v
        assert set(expected) == set(held.data_vars)
        for name, (mean, variance) in expected.items():
            moves = np.isfinite(variance)
            error = np.sqrt(np.where(moves, variance, 1.0) / 8000)
            off = (held[name].mean(("chain", "draw")).to_numpy() - mean) / error
            assert (np.abs(off[moves]) < 5).all(), (group, name)


def tupled(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


# The prior group, and improper priors


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("x", Gaussian(NormalGamma.reference())),
        ("x", GaussianKnownVariance(Normal.flat())),
        ("calls", Poisson(Gamma.flat())),
        ("yes", Bernoulli(Beta(0.0, 0.0))),
        ("colour", Categorical(Dirichlet(0.0))),
        ("no", None),
    ],
)
def test_an_improper_prior_leaves_out_the_prior_group(name, family):
    _, X, y = fitted()
    table = X[["z", name]]
    clf = BayesianNB({name: family}) if family else BayesianNB(class_prior=Dirichlet(0.0))
    clf.fit(table, y)
    tree = clf.sample_posterior(5, 2, random_seed=0)
    assert "prior" not in tree.children
    assert all(np.isfinite(v).all() for v in tree["posterior"].data_vars.values())
    with pytest.raises((KeyError, ValueError), match="prior"):
        draws.parameters(tree, clf.posterior_, "prior")
    for group in ("prior_predictive", "log_prior"):
        assert group not in clf.sample_posterior(5, 2, X=table, y=y).children
        with pytest.raises(ImproperError, match=f"{group} needs a proper prior"):
            clf.sample_posterior(5, 2, X=table, y=y, include=[group])


def test_known_class_probabilities_are_equal_in_all_draws():
    _, X, y = fitted()
    clf = BayesianNB(class_prior={"a": 0.5, "b": 0.2, "c": 0.3}).fit(X[["z"]], y)
    tree = clf.sample_posterior(5, 2, random_seed=0)
    for group in ("posterior", "prior"):
        assert_allclose(tree[group]["pi"], np.broadcast_to([0.5, 0.2, 0.3], (2, 5, 3)))


# Rows


def test_the_log_likelihood_of_a_row_is_that_of_its_class_and_of_its_cells(tree):
    codes = tree["observed_data"]["y"]
    assert [tree["observed_data"]["class_label"].to_numpy()[k] for k in codes] == [*tennis()[2]]
    cells = tree["columns/log_likelihood"].dataset
    assert cells["x_outlook"].dims == ("chain", "draw", "row")
    summed = sum(cells[f"x_{name}"] for name in ("outlook", "temperature", "humidity", "wind"))
    own_class = np.log(tree["posterior"]["pi"]).isel(class_label=codes)
    found = tree["joint/log_likelihood"]["y"]
    assert_allclose(found, (summed + own_class).transpose("chain", "draw", "row"), rtol=1e-9)
    clf, X, y = tennis()
    data, n = clf.classifier_.read(X)
    joint = draws.parameters(tree, clf.posterior_).log_joint(data, n)
    own = np.arange(n), (y == "yes").astype(int)
    assert_allclose(found, joint[(..., *own)], rtol=1e-9)
    log_p = joint - np.logaddexp.reduce(joint, axis=-1, keepdims=True)
    assert_allclose(tree["log_likelihood"]["y"], log_p[(..., *own)], rtol=1e-9)


def test_the_class_of_a_row_is_drawn_again_given_its_columns(tree):
    clf, X, _ = tennis()
    data, n = clf.classifier_.read(X)
    for source in ("posterior", "prior"):
        joint = draws.parameters(tree, clf.posterior_, source).log_joint(data, n)
        p = np.exp(joint - np.logaddexp.reduce(joint, axis=-1, keepdims=True))[..., 1]
        y = tree[f"{source}_predictive"]["y"].to_numpy()
        # Draws of NUTS are not independent, but given θ the classes are.
        z = (y - p).sum((0, 1)) / np.sqrt((p * (1 - p)).sum((0, 1)))
        assert np.abs(z).max() < 4.5


def test_the_columns_of_a_row_are_drawn_again_given_its_class(tree):
    codes = tree["observed_data"]["y"]
    for source in ("posterior", "prior"):
        drawn = tree[f"columns/{source}_predictive"]["x_outlook"]
        assert drawn.dims == ("chain", "draw", "row")
        theta = tree[source]["theta_outlook"].isel(class_label=codes)
        for level in range(3):
            p = theta.isel(outlook_category=level)
            z = ((drawn == level) - p).sum(("chain", "draw")) / np.sqrt((p * (1 - p)).sum(("chain", "draw")))
            assert np.abs(z).max() < 4.5
    observed = tree["columns/observed_data"]["x_outlook"].to_numpy()
    _, X, _ = tennis()
    names = np.array(sorted(X["outlook"].unique()))
    assert_array_equal(names[observed.astype(int)], X["outlook"])


def test_rows_without_a_label_are_left_out_and_the_others_keep_their_places():
    X, y = datasets.play_tennis()
    y = y.astype(object)
    y.iloc[[2, 7]] = None
    clf = BayesianNB().fit(X, y)
    tree = clf.sample_posterior(500, 4, "gibbs", random_seed=0, X=X, y=y, tune=20)
    assert_array_equal(tree["log_likelihood"]["row"], np.delete(np.arange(14), [2, 7]))
    assert_array_equal(tree["observed_data"]["y"], (np.delete(y.to_numpy(), [2, 7]) == "yes").astype(int))
    assert_array_equal(tree["unlabelled"]["row"], [2, 7])
    exact = BayesianNB().fit(X[:2], ["no", "yes"]).sample_posterior(5, 2, X=X[:2], y=["no", "yes"])
    assert set(tree.children) == set(exact.children) | {"unlabelled"}
    assert set(exact["sample_stats"].data_vars) <= set(tree["sample_stats"].data_vars)
    with pytest.raises(ValueError, match="y is missing in 2 of 14 rows"):
        clf.sample_posterior(5, 2, X=X, y=y)


def test_by_default_a_tree_has_all_groups_but_those_of_columns():
    clf, X, y = tennis()
    parameters = {"posterior", "prior", "log_prior", "constant_data", "sample_stats"}
    assert set(clf.sample_posterior(5, 2).children) == parameters
    of_rows = {"observed_data", "log_likelihood", "posterior_predictive", "prior_predictive"}
    assert set(clf.sample_posterior(5, 2, X=X, y=y).children) == parameters | of_rows | {"joint"}
    more = clf.sample_posterior(5, 2, X=X, y=y, include="columns")
    assert set(more.children) == parameters | of_rows | {"columns", "joint"}
    assert set(more["columns"].children) == of_rows | {"posterior"}


# Wrong trees


def fitted_to(columns: dict[str, list[str]], y: list[str]) -> BayesianNB:
    return BayesianNB().fit(pd.DataFrame(columns), y)


LEFT = {"sky": ["blue", "grey", "blue", "grey"], "wind": ["weak", "strong", "weak", "weak"]}


@pytest.mark.parametrize(
    ("columns", "y"),
    [
        ({"sky": [0.5, 1.5, 2.5, 3.5]}, ["no", "yes", "no", "yes"]),
        ({**LEFT, "more": [0.5, 1.5, 2.5, 3.5]}, ["no", "yes", "no", "yes"]),
        ({"sky": LEFT["sky"]}, ["no", "yes", "no", "yes"]),
        ({**LEFT, "more": LEFT["sky"]}, ["no", "yes", "no", "yes"]),
        ({"sun": LEFT["sky"], "rain": LEFT["wind"]}, ["no", "yes", "no", "yes"]),
        (LEFT, ["no", "yes", "maybe", "yes"]),
        (LEFT, ["ja", "nein", "ja", "nein"]),
    ],
    ids=[
        "another family", "one more family", "one column less", "one column more",
        "other columns", "one more class", "other classes",
    ],
)  # fmt: skip
def test_draws_of_another_model_are_refused(columns, y):
    clf = fitted_to(LEFT, ["no", "yes", "no", "yes"])
    tree = clf.sample_posterior(5, 2, random_seed=0)
    other = fitted_to(columns, y)
    with pytest.raises(ValueError, match=r"another model|to have the dimensions"):
        draws.parameters(tree, other.posterior_)
    with pytest.raises((KeyError, ValueError), match="posterior"):
        draws.parameters(DataTree(), clf.posterior_)


# ArviZ, and files


@pytest.mark.slow
def test_a_file_of_every_family_keeps_values_and_coordinates(tmp_path):
    clf, X, y = fitted()
    tree = clf.sample_posterior(6, 2, random_seed=0, X=X, y=y, include=("log_likelihood", "columns"))
    path = tmp_path / "tree.nc"
    tree.to_netcdf(path, engine="h5netcdf")
    back = az.from_netcdf(path)
    for group in tree.groups:
        assert back[group].dataset.equals(tree[group].dataset)
    same_parameters(draws.parameters(back, clf.posterior_), draws.parameters(tree, clf.posterior_), clf, X)
    back.close()


def test_a_seed_fixes_the_draws():
    clf, *_ = fitted()
    one, same, other = (clf.sample_posterior(4, 2, random_seed=seed)["posterior"].dataset for seed in (5, 5, 6))
    assert one.equals(same)
    assert not any(one[name].equals(other[name]) for name in one.data_vars)
    clf.set_params(random_state=5)
    assert one.equals(clf.sample_posterior(4, 2)["posterior"].dataset)
    chains = one["mu_x"].to_numpy()
    assert not np.isclose(chains[0], chains[1]).any()


def test_the_layout_is_that_of_the_pymc_model():
    clf, *_ = fitted()
    model, posterior = clf.to_pymc(), clf.sample_posterior(2, 1)["posterior"].dataset
    assert dict(model.named_vars_to_dims) == {name: v.dims[2:] for name, v in posterior.data_vars.items()}
    for name, values in model.coords.items():
        assert [str(v) for v in values] == [str(v) for v in posterior[name].to_numpy()]
