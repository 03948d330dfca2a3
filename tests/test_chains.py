"""How NUTS is run, and how the numbers of a model enter it."""

import pymc as pm
import pytest

from bayesnb import progress
from bayesnb.chains import run_nuts


@pytest.mark.nuts
def test_nuts_says_nothing_outside_a_terminal(capfd, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with pm.Model() as model:
        pm.Normal("x", 0.0, 1.0)
    assert run_nuts(model, 20, 2, tune=20, random_seed=3)["posterior"]["x"].shape == (2, 20)
    assert capfd.readouterr() == ("", "")
