"""How NUTS is run: trajectories in machine code beside those of PyMC, number by number."""

from collections import namedtuple

import numpy as np
import pymc as pm
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bayesnb.chains import _compiled_start, compile_trajectories, run_nuts
from bayesnb.priors import packed, shared


@pytest.fixture(scope="module")
def funnel():
    """Neal's funnel: it diverges, turns, and reaches the largest depth."""
    with pm.Model() as model, packed():
        scale = pm.Normal("scale", shared(np.zeros(1)), 3.0)
        pm.Normal("x", shared(np.zeros(2)), pm.math.exp(scale[0] / 2))
    return model


def drawn(model, compiled, **settings):
    """Draws of one chain, and what its sampler says of each of them."""
    with model:
        step = pm.NUTS(max_treedepth=4, **settings)
    if compiled:
        compile_trajectories(step)
    # The last digit of a sum differs, and adaptation makes the difference grow: after many tuning steps, chains part.
    tree = run_nuts(model, 60, 1, step=step, nuts_sampler="pymc", tune=8, random_seed=3)
    stats = tree["sample_stats"].dataset
    names = [name for name, v in stats.items() if v.dtype != object and not name.startswith(("perf", "process"))]
    return tree["posterior"].dataset, stats[names]


@pytest.mark.nuts
@pytest.mark.parametrize("settings", [{"Emax": 1.0}, {"scaling": np.diag([2.0, 1.0, 1.0]), "is_cov": True}])
def test_compiled_trajectories_give_the_draws_and_statistics_of_pymc(funnel, settings):
    ours, theirs = drawn(funnel, True, **settings), drawn(funnel, False, **settings)
    for own, other in zip(ours, theirs, strict=True):
        assert list(own) == list(other)
        for name in other:
            assert_allclose(own[name], other[name], rtol=1e-8, atol=1e-10, err_msg=name)
    stats = ours[1]
    assert stats["diverging"].any() or "Emax" not in settings
    assert stats["reached_max_treedepth"].any()
    assert np.unique(stats["tree_depth"]).size > 2


@pytest.mark.nuts
def test_a_step_is_compiled_where_it_can_be(funnel):
    with funnel:
        by_numba, by_python = pm.NUTS(), pm.NUTS(compile_kwargs={"mode": "FAST_COMPILE"})
    for step in (by_numba, by_python):
        compile_trajectories(step)
    assert "_hamiltonian_step" in vars(by_numba)
    assert "_hamiltonian_step" not in vars(by_python)


@pytest.mark.nuts
@pytest.mark.parametrize(
    "other", [("Proposal", namedtuple("Proposal", "q energy")), ("Proposal", None)], ids=["other fields", "gone"]
)
def test_another_version_of_pymc_walks_its_own_trajectories(funnel, other, monkeypatch):
    name, value = other
    module = "pymc.step_methods.hmc.nuts"
    if value is None:
        monkeypatch.delattr(f"{module}.{name}")
    else:
        monkeypatch.setattr(f"{module}.{name}", value)
    with funnel:
        assert "_hamiltonian_step" not in vars(_compiled_start(1, 0, 0.8)["step"])


def test_packed_arrays_are_pieces_of_one_shared_vector():
    arrays = [np.arange(6.0).reshape(2, 3), np.array(7.0), np.zeros((0, 2)), np.array([8.0, 9.0])]
    with packed():
        pieces = [shared(value) for value in arrays]
    assert shared(arrays[0]).owner is None
    for piece, value in zip(pieces, arrays, strict=True):
        assert piece.type.shape == value.shape
        assert_array_equal(piece.eval(mode="FAST_COMPILE"), value)
