"""``bayesnb split``: the same rows whatever their order, and the same share of each class."""

import numpy as np
import pandas as pd
import pytest

from bayesnb.cli.writing import drawn_by_content
from tests.conftest import run

ROWS = pd.DataFrame(
    {
        "a": [f"{k % 17},5" for k in range(200)],
        "code": [f"{k % 9:03d}" for k in range(200)],
        "y": ["p", "q", "p", "p"] * 50,
    }
)


def drawn(frame, share=0.25, seed=0):
    return frame[drawn_by_content(frame, frame["y"], share, seed)].sort_values([*ROWS]).to_numpy().tolist()


def test_the_rows_depend_on_content_and_seed_and_not_on_order():
    rng = np.random.default_rng(0)
    expected = drawn(ROWS)
    for _ in range(5):
        assert drawn(ROWS.iloc[rng.permutation(200)]) == expected
    assert drawn(ROWS[["y", "code", "a"]][[*ROWS]]) == expected
    assert drawn(ROWS, seed=1) != expected


@pytest.mark.parametrize("share", [0.1, 0.25, 0.5])
def test_each_class_gives_its_share(share):
    mask = drawn_by_content(ROWS, ROWS["y"], share, 0)
    assert mask[ROWS["y"] == "p"].sum() == round(150 * share)
    assert mask[ROWS["y"] == "q"].sum() == np.floor(50 * share + 0.5)


def test_split_fit_and_score_work_in_three_lines_and_keep_the_cells(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ROWS.to_csv("shop.csv", sep=";", index=False)
    for line in (
        "split shop.csv --target y",
        "fit shop-train.csv --target y --dependence none -o shop.bayesnb",
        "score shop.bayesnb shop-test.csv",
    ):
        code, _, err = run(capsys, *line.split())
        assert code == 0, err
    parts = [pd.read_csv(f"shop-{part}.csv", sep=";", dtype=str) for part in ("train", "test")]
    both = pd.concat(parts).sort_values([*ROWS]).to_numpy().tolist()
    assert both == ROWS.sort_values([*ROWS]).to_numpy().tolist()
    code, _, err = run(capsys, "split", "shop.csv", "--target", "y")
    assert code == 2
    assert "exists" in err


def test_split_warns_of_copies_of_cases_and_counts_those_on_both_sides(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=200), "b": rng.integers(9, size=200), "y": ["p", "q"] * 100})
    twice = pd.concat([table, table[:12]])
    twice.to_csv("t.csv", index=False)
    code, _, err = run(capsys, "split", "t.csv", "--target", "y")
    assert code == 0
    learned, scored = (pd.read_csv(f"t-{part}.csv") for part in ("train", "test"))
    both = scored["a"].isin(learned["a"]).sum()
    assert both > 1
    assert "12 rows repeat an earlier row in all columns: drop copies of the same case" in err
    assert f"; {both} rows of t-test.csv also occur in t-train.csv" in err
    # Without copies, and with equal rows of few levels, there is nothing to warn of.
    table.to_csv("unique.csv", index=False)
    ROWS.to_csv("levels.csv", index=False)
    for name in ("unique", "levels"):
        _, _, err = run(capsys, "split", f"{name}.csv", "--target", "y")
        assert "repeat" not in err
    assert ROWS.duplicated().any()


def test_split_keeps_the_texts_for_missing_values(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cells = np.resize(["n/a", "NA", "", "?", "1,5", "null"], len(ROWS))
    table = ROWS.assign(asked=cells, y=np.where(np.arange(len(ROWS)) % 7, ROWS["y"], "n/a"))
    table.to_csv("shop.csv", sep=";", index=False)
    code, _, err = run(capsys, "split", "shop.csv", "--target", "y", "--na", "?")
    assert code == 0, err
    parts = [pd.read_csv(f"shop-{part}.csv", sep=";", dtype=str, keep_default_na=False) for part in ("train", "test")]
    labelled = table[table["y"] != "n/a"].astype(str)
    assert sorted(pd.concat(parts).to_numpy().tolist()) == sorted(labelled.to_numpy().tolist())
