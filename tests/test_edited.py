"""An edited PyMC model is the model written by hand in PyMC with the same edits, and predicts by its draws."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pymc as pm
import pytest
from numpy.random import default_rng
from numpy.testing import assert_allclose
from pymc.model.transform.conditioning import remove_value_transforms
from pytensor import tensor as pt
from scipy import stats
from test_from_draws import errors_of
from test_generative import IN_PYTHON

import bayesnb as nb

CLASSES = ["child", "man", "woman"]
NEW = pd.DataFrame(
    {"height": [158.0, 170.0, None, None, None, 160.0], "weight": [None, None, 74.0, 60.0, None, 60.0],
     "shoe": [None, None, None, None, 42.0, 37.0]},
    dtype=float,
)  # fmt: skip
"""Rows in which one column is known, so that only its edit matters, and one with all columns."""


@pytest.fixture(scope="module")
def people() -> SimpleNamespace:
    """Few children; heights shrink to a common mean, weights of men were measured twice, shoes grow with the class."""
    rng, k = default_rng(0), np.repeat([0, 1, 2], [5, 12, 12])
    means = {"height": [150.0, 178, 166], "weight": [50.0, 80, 65], "shoe": [36.0, 42, 39]}
    X = pd.DataFrame({name: rng.normal(np.take(mean, k), 0.06 * mean[1]) for name, mean in means.items()}).round(1)
    clf = nb.BayesianNB(random_state=0).fit(X, np.take(CLASSES, k))

    model = clf.to_pymc()
    with model:
        # A prior without density at 0, where few classes leave NUTS a funnel.
        center, between = pm.Normal("center", 165, 20), pm.Gamma("between", 3, 0.5)
        away = pm.Normal("away", dims="class_label")
        pm.Normal("second", model["mu_weight"][1], 3, observed=[84.0, 83.0, 86.0])
        least, step = pm.Normal("least", 36, 5), pm.HalfNormal("step", 5, shape=2)
        shoes = pt.stack([least, least + step.sum(), least + step[0]])
    edited = pm.do(model, {"mu_height": center + between * away, "mu_shoe": shoes})

    prior = {name: clf.posterior_.prior[name] for name in X}
    with pm.Model() as by_hand:
        pi = pm.Dirichlet("pi", np.ones(3))
        pm.Categorical("y", pi, observed=k)
        tau = {name: pm.Gamma(f"tau_{name}", p.a[0, 0], p.b[0, 0], shape=3) for name, p in prior.items()}
        grand, spread = pm.Normal("center", 165, 20), pm.Gamma("between", 3, 0.5)
        low, steps = pm.Normal("least", 36, 5), pm.HalfNormal("step", 5, shape=2)
        m, kappa = prior["weight"].m[0, 0], prior["weight"].kappa[0, 0]
        mu = {
            "height": grand + spread * pm.Normal("away", shape=3),
            "weight": pm.Normal("mu_weight", m, tau=kappa * tau["weight"], shape=3),
            "shoe": pt.stack([low, low + steps[0] + steps[1], low + steps[0]]),
        }
        for name in X:
            pm.Normal(f"x_{name}", mu[name][k], tau=tau[name][k], observed=X[name])
        pm.Normal("again", mu["weight"][1], 3, observed=[84.0, 83.0, 86.0])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = pm.sample(
            1000, tune=700, chains=2, cores=1, model=edited, progressbar=False, random_seed=1, target_accept=0.95,
            compute_convergence_checks=False,
        )  # fmt: skip
    return SimpleNamespace(clf=clf, edited=edited, by_hand=by_hand, tree=tree, drawn=nb.from_draws(clf, tree))


@pytest.mark.nuts
def test_an_edited_model_has_the_density_of_the_model_written_by_hand(people):
    at = people.tree["posterior"].dataset.isel(chain=0, draw=slice(0, None, 250))
    found = []
    for model in (remove_value_transforms(people.edited), remove_value_transforms(people.by_hand)):
        log_density, names = model.compile_logp(jacobian=False, mode=IN_PYTHON), [v.name for v in model.value_vars]
        found.append([float(log_density({name: at[name].to_numpy()[i] for name in names})) for i in range(4)])
    assert np.ptp(found[0]) > 1
    assert_allclose(found[0], found[1], rtol=1e-9)


@pytest.mark.nuts
def test_edited_priors_likelihoods_and_constraints_predict_as_the_average_over_their_draws(people):
    draws = people.tree["posterior"].dataset.stack(sample=("chain", "draw"))
    joint = np.log(draws["pi"].values.T)[:, None]
    for name in NEW:
        mean, sd = draws[f"mu_{name}"].values.T, draws[f"tau_{name}"].values.T ** -0.5
        cell = stats.norm.logpdf(NEW[name].to_numpy()[:, None], mean[:, None], sd[:, None])
        joint = joint + np.where(np.isnan(NEW[name]).to_numpy()[:, None], 0.0, cell)
    by_hand = np.exp(joint).mean(0)
    found = people.drawn.predict_proba(NEW)
    assert_allclose(found, by_hand / by_hand.sum(-1, keepdims=True), rtol=1e-9)
    # Each edit changes predictions by more than the error of the draws.
    gap = (np.abs(found - people.clf.predict_proba(NEW)) / errors_of(joint)).max(1)
    assert gap[:2].max() > 3
    assert gap[2:4].max() > 3
    assert gap[4] > 3


@pytest.mark.nuts
def test_an_edited_model_answers_with_intervals_contributions_and_files(people, tmp_path):
    means = people.drawn.tables()
    assert means["shoe"]["mean"].is_monotonic_increasing is False
    assert [*means["shoe"]["mean"].sort_values().index] == ["child", "woman", "man"]
    interval = people.drawn.predict_interval(NEW)
    p = people.drawn.predict_proba(NEW)
    for c, label in enumerate(CLASSES):
        assert (interval[label, "lower"] <= p[:, c] + 1e-6).all()
    rows = people.drawn.explain(NEW)["log_odds"].groupby("row")
    np.testing.assert_allclose(rows.sum() - rows.last(), rows.last(), atol=1e-9)
    people.drawn.save(tmp_path / "edited")
    np.testing.assert_array_equal(nb.load(tmp_path / "edited").predict_proba(NEW), p)
    assert not people.drawn.verify(NEW.dropna()).agrees
