"""An edited PyMC model predicts, by its draws, as a model that is written by hand in PyMC with the same edits."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pymc as pm
import pytest
from numpy.random import default_rng
from pytensor import tensor as pt
from scipy import stats
from test_from_draws import errors_of

import bayesnb as nb

CLASSES = ["child", "man", "woman"]
NEW = pd.DataFrame(
    {"height": [158.0, 170.0, None, None, None, 160.0], "weight": [None, None, 74.0, 60.0, None, 60.0],
     "shoe": [None, None, None, None, 38.0, 37.0]},
    dtype=float,
)  # fmt: skip
"""Rows in which one column is known, so that only its edit matters, and one with all columns."""


def sampled(model: pm.Model, seed: int):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pm.sample(
            1000, tune=700, chains=4, cores=1, model=model, progressbar=False, random_seed=seed, target_accept=0.95,
            compute_convergence_checks=False,
        )  # fmt: skip


@pytest.fixture(scope="module")
def people() -> SimpleNamespace:
    """Few children; heights shrink to a common mean, weights of men were measured twice, shoes grow with the class."""
    rng, k = default_rng(0), np.repeat([0, 1, 2], [5, 12, 12])
    means = {"height": [150.0, 178, 166], "weight": [50.0, 80, 65], "shoe": [36.0, 42, 39]}
    X = pd.DataFrame({name: rng.normal(np.take(mean, k), 0.06 * mean[1]) for name, mean in means.items()}).round(1)
    clf = nb.BayesianNB(random_state=0).fit(X, np.take(CLASSES, k))

    model = clf.to_pymc()
    with model:
        center, between = pm.Normal("center", 165, 20), pm.HalfNormal("between", 15)
        away = pm.Normal("away", dims="class_label")
        pm.Normal("second", model["mu_weight"][1], 3, observed=[84.0, 83.0, 86.0])
        least, step = pm.Normal("least", 36, 5), pm.HalfNormal("step", 5, shape=2)
        shoes = pt.stack([least, least + step.sum(), least + step[0]])
    edited = pm.do(model, {"mu_height": center + between * away, "mu_shoe": shoes})
    drawn = nb.from_draws(clf, sampled(edited, 1))

    prior = {name: clf.posterior_.prior[name] for name in X}
    with pm.Model() as by_hand:
        pi = pm.Dirichlet("pi", np.ones(3))
        pm.Categorical("y", pi, observed=k)
        tau = {name: pm.Gamma(f"tau_{name}", p.a[0, 0], p.b[0, 0], shape=3) for name, p in prior.items()}
        grand, spread = pm.Normal("grand", 165, 20), pm.HalfNormal("spread", 15)
        low, steps = pm.Normal("low", 36, 5), pm.HalfNormal("steps", 5, shape=2)
        m, kappa = prior["weight"].m[0, 0], prior["weight"].kappa[0, 0]
        mu = {
            "height": pm.Deterministic("mu_height", grand + spread * pm.Normal("z", shape=3)),
            "weight": pm.Normal("mu_weight", m, tau=kappa * tau["weight"], shape=3),
            "shoe": pm.Deterministic("mu_shoe", pt.stack([low, low + steps[0] + steps[1], low + steps[0]])),
        }
        for name in X:
            pm.Normal(f"x_{name}", mu[name][k], tau=tau[name][k], observed=X[name])
        pm.Normal("again", mu["weight"][1], 3, observed=[84.0, 83.0, 86.0])
    draws = sampled(by_hand, 2)["posterior"].dataset.stack(sample=("chain", "draw"))
    joint = np.log(draws["pi"].values.T)[:, None]
    for name in X:
        mean, sd = draws[f"mu_{name}"].values.T, draws[f"tau_{name}"].values.T ** -0.5
        cell = stats.norm.logpdf(NEW[name].to_numpy()[:, None], mean[:, None], sd[:, None])
        joint = joint + np.where(np.isnan(NEW[name]).to_numpy()[:, None], 0.0, cell)
    return SimpleNamespace(clf=clf, drawn=drawn, joint=joint)


@pytest.mark.nuts
def test_edited_priors_likelihoods_and_constraints_predict_as_the_model_written_by_hand(people):
    by_hand = np.exp(people.joint).mean(0)
    by_hand /= by_hand.sum(-1, keepdims=True)
    data, n = people.drawn.classifier_.read(NEW)
    error = np.hypot(errors_of(people.joint), errors_of(people.drawn.classifier_.posterior.flat.log_joint(data, n)))
    found = people.drawn.predict_proba(NEW)
    # Draws of chains are worth less than independent draws.
    assert (np.abs(found - by_hand) < 6 * error + 1e-6).all()
    assert error.max() < 0.01
    # Each edit changes predictions by more than this error.
    gap = (np.abs(found - people.clf.predict_proba(NEW)) / error).max(1)
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
