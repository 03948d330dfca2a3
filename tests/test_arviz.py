"""ArviZ works at its defaults on the tree of every sampler, without being told which variable is meant."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import arviz as az
import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from conftest import mixed
from matplotlib import pyplot as plt
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from xarray import DataTree

import bayesnb as nb
from bayesnb import BayesianNB, Exponents
from bayesnb.families import FromPyMC

mpl.use("Agg")


def table() -> tuple[pd.DataFrame, np.ndarray]:
    """One column, so that ArviZ draws all pairs of parameters, and no outlier, so that it can leave out each row."""
    delay = np.tile(np.linspace(-1.5, 1.5, 12), 2) + np.repeat([0.0, 2.0], 12)
    return pd.DataFrame({"delay": delay}), np.repeat(np.array(["early", "late"], object), 12)


def exact() -> DataTree:
    X, y = table()
    return BayesianNB(random_state=0).fit(X, y).sample_posterior(500, 2, X=X, y=y)


def gibbs() -> DataTree:
    X, y = table()
    y[[2, 15]] = None
    return BayesianNB(random_state=0).fit(X, y).sample_posterior(500, 2, "gibbs", X=X, y=y)


def nuts() -> DataTree:
    X, y = table()
    return BayesianNB(random_state=0).fit(X, y).sample_posterior(500, 2, "nuts", X=X, y=y)


def sampled() -> DataTree:
    import pymc as pm

    X, y = table()
    family = FromPyMC(pm.Normal, {"mu": (pm.Normal, {"sigma": 5.0}), "sigma": 1.0}, draws=500, tune=300, chains=2)
    return BayesianNB({"delay": family}, random_state=0).fit(X, y).sample_posterior(500, 2, X=X, y=y)


def exponents(sampler: str = "exact") -> DataTree:
    X, y = mixed(120, ["early", "late"], {"delay": "real", "other": "noise"}, missing=0.0)
    clf = BayesianNB(random_state=0, dependence=Exponents(shapes=False, offsets="class")).fit(X, y)
    return clf.sample_posterior(1000, 4, sampler, X=X, y=y, stage="exponents")


SAMPLERS: dict[str, Callable[[], DataTree]] = {
    "exact": exact,
    "gibbs": gibbs,
    "nuts": nuts,
    "sampled family": sampled,
    "exponents": exponents,
    "exponents, nuts": partial(exponents, "nuts"),
}
PARAMETERS = [
    pytest.param(name, marks=pytest.mark.nuts if "nuts" in name or name == "sampled family" else ())
    for name in SAMPLERS
]


@cache
def drawn(name: str) -> DataTree:
    return SAMPLERS[name]()


@pytest.fixture(scope="module", params=PARAMETERS)
def tree(request) -> DataTree:
    """The tree of a sampler, which is drawn once, and which ArviZ does not change."""
    return drawn(request.param)


PLOTS = (
    "plot_ppc_dist",
    "plot_ppc_pava",
    "plot_loo_pit",
    "plot_prior_posterior",
    "plot_forest",
    "plot_trace_dist",
    "plot_rank",
    "plot_pair",
)


# The trees of all samplers have one layout. So the plots that read the posterior alone, as plot_rank does, are tried on
# one tree, and most pictures show nothing new.
OF_ONE_TREE = ("plot_forest", "plot_trace_dist", "plot_pair")
ORDINARY = [
    *(("exact", name) for name in ("plot_ppc_dist", "plot_loo_pit", "plot_prior_posterior", "plot_rank")),
    ("gibbs", "plot_rank"), ("exponents", "plot_rank"),
]  # fmt: skip
PICTURES = [
    pytest.param(sampler, name, marks=() if (sampler, name) in ORDINARY else pytest.mark.slow)
    for sampler in ("exact", "gibbs", "exponents")
    for name in PLOTS
    if sampler == "exact" or name not in OF_ONE_TREE
]


@pytest.mark.parametrize(("tree", "name"), PICTURES, indirect=["tree"])
def test_a_plot_needs_nothing_but_the_tree(name, tree):
    plt.close("all")
    with warnings.catch_warnings():
        # ArviZ advises another plot where a variable has few values.
        warnings.filterwarnings("ignore", message=r"Variables .* look (binary|discrete)")
        getattr(az, name)(tree)
    figure = plt.figure(plt.get_fignums()[-1])
    figure.canvas.draw()
    pixels = np.asarray(figure.canvas.buffer_rgba())[..., :3]
    plt.close("all")
    assert pixels.std() > 5


def test_a_summary_needs_nothing_but_the_tree(tree):
    found = az.summary(tree)
    assert len(found) == sum(v[0, 0].size for v in tree["posterior"].data_vars.values())


def test_leave_one_out_needs_nothing_but_the_tree(tree):
    found: Any = az.loo(tree)
    assert found.n_data_points == tree["observed_data"].sizes["row"]
    assert np.isfinite(found.elpd)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Estimated shape parameter of Pareto:UserWarning")
def test_a_comparison_ranks_classifiers_by_how_well_they_predict_the_class():
    """The density of all columns prefers a column of noise to two that know the class."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=300)
    X = pd.DataFrame({"a": rng.normal(1.5 * y), "b": rng.normal(1.5 * y), "noise": rng.normal(size=300)})
    columns = {"two": ["a", "b"], "noise": ["noise"]}
    models = {name: BayesianNB(random_state=0).fit(X[only], y) for name, only in columns.items()}
    trees = {name: clf.sample_posterior(500, 2, X=X[columns[name]], y=y) for name, clf in models.items()}
    of_all = {
        name: make_pipeline(
            make_column_transformer(("passthrough", only), verbose_feature_names_out=False), models[name]
        )
        for name, only in columns.items()
    }
    assert list(az.compare(trees).index) == list(nb.compare(of_all, X, y, cv=5).index) == ["two", "noise"]
    for name, clf in models.items():
        own = np.log(clf.loo(X[columns[name]], y)["probability"].to_numpy()[np.arange(300), y])
        assert float(az.loo(trees[name]).elpd) == pytest.approx(own.sum(), abs=0.3)
    assert list(az.compare({name: tree["joint"] for name, tree in trees.items()}).index) == ["noise", "two"]


def test_a_comparison_needs_nothing_but_the_trees(tree):
    found = az.compare({"one": tree, "other": tree})
    assert set(found.index) == {"one", "other"}


def test_power_scaling_needs_nothing_but_the_tree(tree):
    found = az.psense_summary(tree.get("joint", tree))
    assert np.isfinite(found[["prior", "likelihood"]].astype(float)).all().all()


CALLS: dict[str, Callable[[DataTree], Any]] = {
    "summary": az.summary,
    "rhat": az.rhat,
    "ess": az.ess,
    "loo": az.loo,
    "compare": lambda tree: az.compare({"a": tree, "b": tree}),
    "psense": az.psense,
    "psense_summary": lambda tree: az.psense_summary(tree["joint"]),
    "plot_pair": az.plot_pair,
    "plot_trace_dist": az.plot_trace_dist,
    "plot_rank": az.plot_rank,
    "plot_prior_posterior": az.plot_prior_posterior,
    "plot_ppc_pava": partial(az.plot_ppc_pava, data_type="binary"),
    "plot_ppc_dist": lambda tree: az.plot_ppc_dist(tree["columns"], kind="kde"),
}
"""Every function of ArviZ that a page, a notebook or a docstring names, called as it is there."""


def test_every_function_of_arviz_that_a_page_names_is_called_here():
    root = Path(__file__).parent.parent
    pages = [root / "README.md", *(root / "docs").rglob("*.md"), *(root / "notebooks").glob("*.ipynb")]
    pages = [path for path in pages if "_build" not in path.parts] + [*(root / "bayesnb").rglob("*.py")]
    named = {name for path in pages for name in re.findall(r"\b(?:az|arviz)\.([a-z]\w+)\(?", path.read_text("utf-8"))}
    assert named & {*dir(az)} == {*CALLS}


@pytest.mark.nuts
@pytest.mark.parametrize("name", CALLS)
def test_a_function_that_a_page_names_works_on_the_tree_of_nuts(name, tree_of_nuts):
    plt.close("all")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Variables .* look (binary|discrete)")
        assert CALLS[name](tree_of_nuts) is not None
    plt.close("all")


@pytest.fixture(scope="module")
def tree_of_nuts() -> DataTree:
    X, y = table()
    clf = BayesianNB(random_state=0).fit(X, y)
    return clf.sample_posterior(500, 2, "nuts", X=X, y=y, include=["columns"])


@pytest.mark.filterwarnings("ignore:Number of tail draws:UserWarning")
@pytest.mark.parametrize("concentration", [1.0, 2.0])
def test_power_scaling_needs_a_prior_whose_density_is_not_constant(concentration):
    """Dirichlet(1), the default of levels, has a constant density, which no power changes."""
    X, y = nb.datasets.play_tennis()
    prior = nb.Dirichlet(concentration)
    clf = BayesianNB(nb.Categorical(prior), class_prior=prior, random_state=0).fit(X, y)
    joint = clf.sample_posterior(500, 2, X=X, y=y)["joint"]
    if concentration == 1:
        assert np.ptp(sum(v.values.sum(tuple(range(2, v.ndim))) for v in joint["log_prior"].data_vars.values())) < 1e-9
        with pytest.raises(ValueError, match="tail values are the same"):
            az.psense_summary(joint)
        assert nb.checks.sensitivity(clf, X, scaling="rows")["prior"]["mean"].max() > 0.01
    else:
        found = az.psense_summary(joint)
        assert np.isfinite(found[["prior", "likelihood"]].astype(float)).all().all()


def test_the_tree_has_every_group_and_the_attributes(tree):
    assert set(tree.children) - {"unlabelled", "log_prior", "joint"} == {
        "posterior", "prior", "log_likelihood", "posterior_predictive", "prior_predictive",
        "observed_data", "constant_data", "sample_stats",
    }  # fmt: skip
    assert set(tree["observed_data"].data_vars) == set(tree["log_likelihood"].data_vars) == {"y"}
    assert {"inference_library", "inference_library_version", "sampler", "seed", "sampling_time"} <= set(tree.attrs)
