"""Small runs of simulation-based calibration and of Geweke's joint test; ``benchmarks/sbc.py`` has the large ones."""

import numpy as np
import pytest
from scipy import stats

from bayesnb.families.gaussian import Gaussian
from bayesnb.priors import NormalGamma
from benchmarks import sbc


def test_true_parameters_rank_uniformly_among_exact_draws():
    p = sbc.uniformity(sbc.ranks("exact", simulations=300, seed=1))
    assert len(p) >= 24
    assert p.min() > 1e-4


def test_a_wrong_update_makes_the_ranks_not_uniform(monkeypatch):
    right = Gaussian.update

    def half_a_row_too_much(self, prior, s):
        believed = right(self, prior, s)
        return NormalGamma(believed.m, believed.kappa, believed.a + s.n / 2, believed.b)

    monkeypatch.setattr(Gaussian, "update", half_a_row_too_much)
    p = sbc.uniformity(sbc.ranks("exact", simulations=300, seed=1))
    assert p[[name for name in p.index if name.startswith("tau")]].min() < 1e-4


def test_alternating_sampling_and_fitting_keeps_the_prior_distribution():
    z = sbc.geweke(steps=1000, seed=2)
    assert len(z) >= 24
    assert z.abs().max() < stats.norm.isf(1e-4 / len(z))


@pytest.mark.nuts
def test_true_parameters_rank_uniformly_among_nuts_draws():
    ranks = sbc.ranks("nuts", simulations=6, seed=3)
    # Few simulations, so all parameters are judged together. Their 144 ranks have a mean that is known to 0.024 of the
    # range and a spread that is known to 7%.
    centred = (ranks.to_numpy() + 0.5) / 100 - 0.5
    z = centred.mean() / np.sqrt(1 / 12 / centred.size)
    assert centred.shape == (6, 24)
    assert abs(z) < 4
    spread = (centred**2).mean() / (1 / 12)
    assert 0.6 < spread < 1.4
