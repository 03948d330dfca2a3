"""Simulation-based calibration finds a wrong update, and finds none; ``benchmarks/sbc.py`` has the large runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bayesnb import BayesianNB, Bernoulli, Beta, Dirichlet, Gaussian, NormalGamma, datasets
from bayesnb.model import Posterior
from bayesnb.sampling import agreement
from bayesnb.sampling.calibration import Calibration, Simulator
from benchmarks import sbc

# The test of uniform ranks


def test_uniform_ranks_are_called_uniform_as_often_as_the_level_says():
    found = Calibration(pd.DataFrame(np.random.default_rng(0).integers(0, 20, (200, 2000))), 19, "exact")
    # Twice as often in arviz-stats 1.3.0.
    assert 0.03 < (found.p_values < 0.05).mean() < 0.08
    assert 0.002 < (found.p_values < 0.01).mean() < 0.02
    assert found.calibrated


@pytest.mark.parametrize("ranks", [np.full(100, 50), np.repeat([0, 99], 50), np.arange(100) // 2])
def test_ranks_that_pile_up_anywhere_are_not_uniform(ranks):
    found = Calibration(pd.DataFrame({"bad": ranks, "good": np.arange(100)}), 99, "exact").p_values
    assert found["bad"] < 1e-6
    assert found["good"] > 0.4


# The calibration of a model


def test_a_model_with_every_family_is_calibrated_on_the_exact_road():
    found = agreement.calibrate(sbc.model(), rows=12, simulations=120, random_seed=1)
    assert found.calibrated, str(found)
    assert found.ranks.shape == (120, 27)
    assert found.ranks.to_numpy().min() >= 0
    assert found.ranks.to_numpy().max() <= 99
    assert str(found).startswith("calibrated: 27 quantities in 120 simulations")


def test_a_wrong_update_is_found_and_named(monkeypatch):
    right = Gaussian.update

    def half_a_row_too_much(self, prior, s):
        believed = right(self, prior, s)
        return NormalGamma(believed.m, believed.kappa, believed.a + s.n / 2, believed.b)

    monkeypatch.setattr(Gaussian, "update", half_a_row_too_much)
    found = agreement.calibrate(sbc.model(), rows=12, simulations=80, random_seed=1)
    assert not found.calibrated
    assert found.p_values.index[0].startswith("tau_")
    assert found.to_frame().loc[found.p_values.index[0], "centre"] < 0.4  # the draws of τ are too high
    assert str(found).startswith("NOT CALIBRATED")


def test_a_posterior_that_ignores_the_data_is_found_by_the_log_likelihood(monkeypatch):
    monkeypatch.setattr(Posterior, "given", lambda self, statistics: self.before())
    found = agreement.calibrate(sbc.model(), rows=12, simulations=100, random_seed=1)
    assert not found.calibrated
    assert found.p_values.index[0] == "log likelihood"
    assert found.p_values.drop("log likelihood").min() > 1e-4


@pytest.mark.parametrize(("factor", "spread"), [(0.5, 1.2), (2.0, 0.8)])
def test_spread_says_whether_a_posterior_is_too_narrow_or_too_wide(monkeypatch, factor, spread):
    right = Simulator.given

    def scaled(self, data, labels):
        believed = right(self, data, labels)
        wrong = {name: replace(p, kappa=p.kappa / factor**2) for name, p in believed.features.items()}
        return replace(believed, features=wrong)

    monkeypatch.setattr(Simulator, "given", scaled)
    clf = BayesianNB(Gaussian(NormalGamma(0, 1, 3, 3))).fit([[0.0], [1.0]], ["a", "b"])
    table = agreement.calibrate(clf, rows=10, simulations=200).to_frame()
    means = table.loc[[name for name in table.index if name.startswith("mu")], "spread"]
    assert ((means > spread) if factor < 1 else (means < spread)).all()


def test_a_model_as_fitted_is_calibrated_with_the_scale_that_its_priors_took_from_the_data():
    found = agreement.calibrate(BayesianNB().fit(*datasets.penguins()), rows=10, simulations=100)
    assert found.calibrated, str(found)


@pytest.mark.slow
def test_the_gibbs_sampler_is_calibrated():
    found = agreement.calibrate(sbc.model(), rows=8, simulations=25, sampler="gibbs", draws=39, tune=25, random_seed=2)
    assert found.calibrated, str(found)
    assert found.ranks.shape == (25, 27)


def test_a_gibbs_sampler_that_takes_labels_at_random_is_found(monkeypatch):
    from bayesnb.sampling import gibbs

    monkeypatch.setattr(gibbs, "normalize", lambda log_joint: np.full_like(log_joint, -np.log(2)))
    clf = BayesianNB(Gaussian(NormalGamma(0, 0.1, 5, 5))).fit([[0.0], [1.0]], ["a", "b"])
    found = agreement.calibrate(clf, rows=12, simulations=60, sampler="gibbs", tune=5)
    assert not found.calibrated


def test_the_picture_has_a_panel_for_each_quantity():
    rng = np.random.default_rng(0)
    ranks = pd.DataFrame({"good": rng.integers(0, 100, 200), "shifted[a, b]": rng.integers(0, 70, 200)})
    figure = Calibration(ranks, 99, "exact").plot()
    titles = [axes.get_title() for axes in figure.axes if axes.get_title()]
    assert [title.split("\n")[0] for title in titles] == ["good", "shifted[a, b]"]


# Geweke


@pytest.mark.slow
def test_alternating_sampling_and_fitting_keeps_the_prior_distribution():
    z = sbc.geweke(steps=600, seed=2)
    assert len(z) == 26
    assert z.abs().max() < stats.norm.isf(1e-4 / len(z))


@pytest.mark.nuts
def test_true_parameters_rank_uniformly_among_nuts_draws():
    # Two families: `test_agreement` holds NUTS against the closed form of each. A simulation builds and compiles a
    # model, so there are few, each with two columns of a family.
    features = {
        "yes": (Bernoulli(Beta(2.0, 1.5)), ["a", "b"]),
        "real": (Gaussian(NormalGamma(m=1.0, kappa=0.5, a=3.0, b=2.0)), ["c", "d"]),
    }
    clf = BayesianNB(features, class_prior=Dirichlet([2.0, 3.0]), random_state=0)
    clf = clf.fit(pd.DataFrame({"a": [0, 1], "b": [1, 0], "c": [0.0, 1.0], "d": [1.0, 0.0]}), ["a", "b"])
    found = agreement.calibrate(clf, rows=12, simulations=5, sampler="nuts", random_seed=3)
    assert found.calibrated
    # Few simulations: all parameters together, by the mean rank of each simulation's parameters.
    centred = (found.ranks.to_numpy() + 0.5) / 100 - 0.5
    assert centred.size > 70
    assert abs(centred.mean() / np.sqrt(1 / 12 / centred.size)) < 4
    assert 0.6 < (centred**2).mean() / (1 / 12) < 1.4
