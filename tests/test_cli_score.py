"""``bayesnb score`` and the scores of ``bayesnb compare`` stand beside their yardsticks, on any width."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from conftest import run

from bayesnb import BayesianNB, datasets

X, Y = datasets.penguins()
TRAIN = np.arange(len(X)) % 3 > 0


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A model of two thirds of the penguins, and the others as a table."""
    folder = tmp_path_factory.mktemp("score")
    whole = X.assign(species=Y)
    whole[~TRAIN].to_csv(folder / "test.csv", index=False)
    for name, rows in {"model": TRAIN, "two": TRAIN & (Y != "Gentoo")}.items():
        whole[rows].to_csv(folder / f"{name}.csv", index=False)
        BayesianNB().fit(str(folder / f"{name}.csv"), "species").save(folder / f"{name}.bayesnb")
    return folder


def words(text: str) -> str:
    return " ".join(text.split())


def require_narrow(out: str, width: int) -> None:
    """Check that no line is wider than the terminal and no word is cut; a command is one line, to be copied."""
    assert max(len(line) for line in out.splitlines() if not line.startswith("bayesnb ")) <= width
    assert "balanced accuracy" in words(out)


@pytest.mark.parametrize("width", [60, 120])
def test_no_line_is_wider_than_the_terminal_and_no_word_is_cut(capsys, files, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    code, out, _ = run(capsys, "score", files / "model.bayesnb", files / "test.csv")
    assert code == 0
    require_narrow(out, width)


def test_a_test_table_without_the_class_is_refused_with_the_cure(capsys, files, tmp_path):
    X[~TRAIN].to_csv(tmp_path / "bare.csv", index=False)
    code, out, err = run(capsys, "score", files / "model.bayesnb", tmp_path / "bare.csv")
    assert (code, out) == (1, "")
    assert "has no column 'species', so there is no true class to score against" in err
    X[~TRAIN].assign(Species=Y).to_csv(tmp_path / "named.csv", index=False)
    code, _, err = run(capsys, "score", files / "model.bayesnb", tmp_path / "named.csv")
    assert code == 1
    assert "did you mean --target Species?" in err
    assert run(capsys, "score", files / "model.bayesnb", tmp_path / "named.csv", "--target", "Species")[0] == 0


def test_classes_that_were_never_learned_are_said_and_counted(capsys, files):
    code, out, _ = run(capsys, "score", files / "two.bayesnb", files / "test.csv")
    n = int((Y[~TRAIN] == "Gentoo").sum())
    assert code == 0
    assert f"{n} more rows have a class that the model has not learned ('Gentoo' {n})" in words(out)
    _, out, _ = run(capsys, "score", files / "two.bayesnb", files / "test.csv", "--format", "json")
    assert json.loads(out)["never_learned"] == {"Gentoo": n}


def test_labels_that_differ_only_in_type_are_the_classes_that_were_learned(capsys, tmp_path):
    table = pd.DataFrame({"x": 1.5 * np.arange(40.0), "y": np.arange(40) // 20})
    BayesianNB().fit(table[["x"]], table["y"].astype(str)).save(tmp_path / "m.bayesnb")
    table.to_csv(tmp_path / "t.csv", index=False)
    code, out, _ = run(capsys, "score", tmp_path / "m.bayesnb", tmp_path / "t.csv", "--target", "y", "--format", "json")
    assert code == 0
    assert json.loads(out)["rows"] == 40
    assert json.loads(out)["never_learned"] == {}


def test_levels_that_were_never_seen_are_said(capsys, files, tmp_path):
    X[~TRAIN].assign(species=Y, island="Elba").to_csv(tmp_path / "t.csv", index=False)
    code, _, err = run(capsys, "score", files / "model.bayesnb", tmp_path / "t.csv")
    assert code == 0
    assert "'Elba'" in err
    assert "UserWarning" not in err


def test_many_classes_are_printed_as_the_pairs_that_are_confused_most(capsys, tmp_path):
    rng = np.random.default_rng(0)
    y = np.repeat([f"c{k:02}" for k in range(20)], 20)
    table = pd.DataFrame({"x": np.repeat(np.arange(20.0), 20) + rng.normal(0, 0.5, 400), "y": y})
    table.to_csv(tmp_path / "t.csv", index=False)
    BayesianNB().fit(str(tmp_path / "t.csv"), "y").save(tmp_path / "m.bayesnb")
    code, out, _ = run(capsys, "score", tmp_path / "m.bayesnb", tmp_path / "t.csv")
    assert code == 0
    assert "│ true │ predicted │ rows" in out.replace("┃", "│")
    assert max(map(len, out.splitlines())) <= 120


def test_compare_says_on_narrow_lines_first_what_fourteen_days_can_tell_then_what_each_estimate_says(
    capsys, monkeypatch
):
    monkeypatch.setenv("COLUMNS", "60")
    _, out, _ = run(capsys, "compare", "play-tennis", "--all")
    require_narrow(out, 60)
    assert re.search(r"map\s+│\s+0\.795", out)
    assert re.search(r"predictive\s+│\s+0\.735", out)
    assert words(out).startswith("Keep --dependence auto: no model scored here is clearly better")
    assert "With 14 rows, the model is not measurably better than the class frequencies (0.65)." in words(out)
    assert "* worse than" in out
    assert "behind the best: mean difference in log loss" in words(out)


def test_compare_computes_all_probabilities_of_the_held_out_row_without_the_row(capsys):
    X, y = datasets.penguins()
    args = ("compare", "penguins", "--dependence", "weighted")
    row = json.loads(run(capsys, *args, "--format", "json")[1])["rows"][0]
    held_out = row["held_out"]
    rest = X.drop(index=held_out), y.drop(index=held_out)
    assert row["class"] == y[held_out]
    plain, weighted = (row["estimates"][name]["Chinstrap"] for name in ("predictive", "weighted"))
    for settings, p in (({}, plain), ({"dependence": "weighted"}, weighted)):
        fitted = BayesianNB(**settings).fit(*rest)
        expected = fitted.predict_proba(X.loc[[held_out]])[0, 1]
        assert p == pytest.approx(expected, rel=1e-6)
    ends = BayesianNB().fit(*rest).predict_interval(X.loc[[held_out]], draws=4000)["Chinstrap"].iloc[0]
    assert row["interval"]["Chinstrap"] == pytest.approx(ends.to_dict(), rel=0.1)
    _, out, _ = run(capsys, *args, "--all")
    assert f"Row {held_out} (counted from 0), left out of each fit: island=" in words(out)
    assert f"{plain:.3f} " in out
    assert f"{weighted:.3f} " in out
    # What the shorter screen prints is in the longer one, too: the contributions, the row number and the class.
    assert f"Naive Bayes on row {held_out} (counted from 0), left out of the fit: Adelie" in words(out)
    assert f"It is {y[held_out]}." in words(out)
    assert "│ bill_length_mm = 40.9" in out
    # A row that somebody describes was not learned, so all rows are.
    described = ",".join(f"{name}={value}" for name, value in X.loc[held_out].items())
    _, out, _ = run(capsys, *args[:2], "--dependence", "none", "--row", described, "--format", "json")
    (asked,) = json.loads(out)["rows"]
    assert "held_out" not in asked
    everything = BayesianNB().fit(X, y).predict_proba(X.loc[[held_out]])[0, 1]
    assert asked["estimates"]["predictive"]["Chinstrap"] == pytest.approx(everything)


def test_compare_with_levels_fits_a_screen_of_forty_lines(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    _, out, _ = run(capsys, "compare", "penguins", "--dependence", "none")
    assert "Log loss beside full Bayes: mle" in out
    # The table of the default has two more lines, and its lead fewer.
    assert len(out.splitlines()) <= 39


def test_compare_fits_a_screen_of_forty_lines_and_explains_the_row_that_surprises_most(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    _, out, _ = run(capsys, "compare", "heights", "--dependence", "none")
    assert max(len(line) for line in out.splitlines()) <= 80
    lines = out.splitlines()
    assert len(lines) <= 40
    assert lines[-1] == "bayesnb fit heights --target gender --dependence none -o heights.bayesnb"
    X, y = datasets.heights()
    # Each row is left out by refitting.
    left_out = {row: (X.drop(index=row), y.drop(index=row)) for row in X.index}
    given = {row: BayesianNB().fit(*rest).predict_proba(X.loc[[row]])[0] for row, rest in left_out.items()}
    worst = min(given, key=lambda row: given[row][int(y[row] == "male")])
    proba = given[worst]
    predicted = ("female", "male")[proba.argmax()]
    row = f"on row {worst} (counted from 0), left out of the fit"
    said = f"{row}: {predicted}: probability {proba.max():.3f} (89% interval: "
    assert said in words(out)
    assert f"It is {y[worst]}." in words(out)
    assert "│██" in out


def test_compare_scores_a_sample_of_rows(capsys):
    arguments = ("compare", "penguins", "--dependence", "tempered", "--rows", "60", "--seed", "3", "--format", "json")
    said = json.loads(run(capsys, *arguments)[1])
    assert said["scored_by"] == "exact leave-one-out of 60 rows drawn at random"
    assert said["scorecard"]["rows"] == 60
    assert "one fit without them" in said["scores"][-1]["note"]
    assert said == json.loads(run(capsys, *arguments)[1])
    assert run(capsys, "compare", "penguins", "--rows", "0")[0] == 2


def test_score_says_only_that_a_column_of_numbers_holds_text_if_it_refuses_the_table(files, capsys):
    table = pd.read_csv(files / "test.csv", dtype={"year": str})
    table.to_parquet(files / "numbers.parquet")
    table.assign(year="y" + table["year"]).to_parquet(files / "texts.parquet")
    BayesianNB({"year": "categorical"}).fit(str(files / "model.csv"), "species").save(files / "levels.bayesnb")
    code, _, err = run(capsys, "score", files / "levels.bayesnb", files / "texts.parquet")
    assert code == 1
    assert "column 'year' holds text and was fitted with numbers" in err
    assert "never seen" not in err
    # Text of numbers is read as the model has learned the column.
    both = [run(capsys, "score", files / "levels.bayesnb", files / name) for name in ("test.csv", "numbers.parquet")]
    assert both[0][1].replace("test.csv", "numbers.parquet") == both[1][1]


def test_compare_all_says_once_what_is_true_of_several_estimates(capsys):
    _, out, _ = run(capsys, "compare", "penguins", "--dependence", "none", "--all")
    assert words(out).count("give some values probability 0") == 1
    assert words(out).count("mean has a higher log loss than full Bayes") == 1
    _, out, _ = run(capsys, "compare", "play-tennis", "--dependence", "none", "--all")
    assert words(out).count("mle and map gave probability 0 to the class of 1 of 14 held-out rows") == 1
