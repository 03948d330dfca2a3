"""How NUTS is run, and how the numbers of a model enter it."""

import numpy as np
import pymc as pm
import pytest
from numpy.testing import assert_array_equal

from bayesnb import progress
from bayesnb.chains import run_nuts
from bayesnb.priors import packed, shared


@pytest.mark.nuts
def test_nuts_says_nothing_outside_a_terminal(capfd, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with pm.Model() as model:
        pm.Normal("x", 0.0, 1.0)
    assert run_nuts(model, 20, 2, tune=20, random_seed=3)["posterior"]["x"].shape == (2, 20)
    assert capfd.readouterr() == ("", "")


def test_packed_arrays_are_pieces_of_one_shared_vector():
    arrays = [np.arange(6.0).reshape(2, 3), np.array(7.0), np.zeros((0, 2)), np.array([8.0, 9.0])]
    with packed():
        pieces = [shared(value) for value in arrays]
    assert shared(arrays[0]).owner is None
    for piece, value in zip(pieces, arrays, strict=True):
        assert piece.type.shape == value.shape
        assert_array_equal(piece.eval(mode="FAST_COMPILE"), value)
