"""ArviZ works at its defaults on the tree of every sampler, without being told which variable is meant."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import arviz as az
import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from conftest import mixed
from matplotlib import pyplot as plt
from xarray import DataTree

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


@pytest.fixture(scope="module", params=PARAMETERS)
def tree(request) -> DataTree:
    return SAMPLERS[request.param]()


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


# The trees of all samplers have one layout, so most pictures of those beside "exact" show nothing new.
PICTURES = [
    pytest.param(sampler, name, marks=() if sampler == "exact" or name == "plot_rank" else pytest.mark.slow)
    for sampler in ("exact", "gibbs", "exponents")
    for name in PLOTS
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


def test_a_comparison_needs_nothing_but_the_trees(tree):
    found = az.compare({"one": tree, "other": tree})
    assert set(found.index) == {"one", "other"}


def test_power_scaling_needs_nothing_but_the_tree(tree):
    found = az.psense_summary(tree)
    assert np.isfinite(found[["prior", "likelihood"]].astype(float)).all().all()


def test_the_tree_has_every_group_and_the_attributes(tree):
    assert set(tree.children) - {"unlabelled", "log_prior"} == {
        "posterior", "prior", "log_likelihood", "posterior_predictive", "prior_predictive",
        "observed_data", "constant_data", "sample_stats",
    }  # fmt: skip
    assert set(tree["observed_data"].data_vars) == set(tree["log_likelihood"].data_vars) == {"y"}
    assert {"inference_library", "inference_library_version", "sampler", "seed", "sampling_time"} <= set(tree.attrs)
