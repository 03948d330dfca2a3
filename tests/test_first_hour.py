"""The first hour with a table of repairs: dates, prices, gaps, notes of several words; each screen says what is true."""

import numpy as np
import pandas as pd
import pytest
from conftest import run

from bayesnb import BayesianNB
from bayesnb.evaluation import comparison


def repairs(n: int = 120) -> pd.DataFrame:
    rng = np.random.default_rng(7)
    dear = rng.integers(2, size=n)
    days = pd.Timestamp("2023-01-03") + pd.to_timedelta(rng.integers(0, 900, n) - 200 * dear, unit="D")
    return pd.DataFrame({
        "brought in": days.strftime("%d.%m.%Y"),
        "price": [f"€ {x:.2f}".replace(".", ",") for x in np.exp(rng.normal(6 - dear, 0.6))],
        "age": np.round(np.abs(rng.normal(3 + 3 * dear, 2.5)), 1),
        "outcome": np.where(dear, "overhaul", "cheap fix"),
    })  # fmt: skip


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = repairs()
    frame.to_csv("repairs.csv", index=False)
    return frame


def test_a_kept_model_names_the_model_that_is_ahead_and_how_far():
    X = repairs().drop(columns="outcome")
    found = comparison(BayesianNB(dependence="weighted"), X, repairs()["outcome"], dependence=("weighted",))
    ahead = {name: found.table["difference"][name] - found.table["difference"].min() for name in found.table.index}
    for name in found.table.index:
        kept = type(found)(**{**vars(found), "default": name})
        said = str(kept.recommendation)
        assert said.startswith(("Keep", "Recommended"))
        if said.startswith("Keep"):
            assert ("is ahead by" in said) == (ahead[name] >= 0.0005)


@pytest.mark.parametrize("family", ["polya-tree", "mixture:gaussian,log-normal", "rounded:0.1"])
def test_a_page_of_the_command_names_options_of_the_command(capsys, table, family):
    asked = ("--target", "outcome", "--feature", f"age={family}", "--dependence", "none", "--explain", "0")
    assert run(capsys, "report", "repairs.csv", *asked, "-o", "page.md")[0] == 0
    with open("page.md", encoding="utf-8") as file:
        page = file.read()
    assert "map has no score: feature 'age'" in page
    assert "use the mean (--estimate mean)" in page
    assert 'estimate="' not in page
