"""Files of tables hold no silent errors: a column is what its own cells are, and every row is read or refused."""

import os
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest
from conftest import run

from bayesnb import BayesianNB
from bayesnb.cli import main
from bayesnb.data import readers
from bayesnb.data.csv_reader import Format

SEPARATORS = [",", ";", "\t", "|"]
NUMBERS = ["0.512", "0.734", "1.250", "0.001"]
OTHERS = {
    "addresses": ["192.168.100.101", "192.168.100.102", "192.168.100.103", "192.168.100.104"],
    "pairs in quotes": ['"1,2"', '"52,52"', '"3,4"', '"12,1"'],
    "pairs and codes": ['"1,2"', "52", '"3,4"', "12"],
    "versions": ["1.234.567", "1.234.568", "2.100.100", "1.234.567"],
}


def read(path, **told) -> pd.DataFrame:
    return readers.frame(readers.Source(path, Format(**told)))


def written(path: Path, *lines: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def families_and_levels(clf: BayesianNB) -> dict:
    return {name: (type(f.family).__name__, f.levels) for name, f in clf.classifier_.schema.features.items()}


# The names of folders


@pytest.mark.parametrize("folder", ["c1=zz", "c0=7", "c=3/a=4"])
def test_a_folder_named_like_a_column_does_not_replace_it(folder, tmp_path):
    path = written(tmp_path / folder / "t.csv", "a,c,y", "1.5,u,p", "2.5,v,q")
    found = BayesianNB().fit(path, "y")
    assert families_and_levels(found) == {"a": ("Gaussian", None), "c": ("Categorical", (("u", "v"),))}
    assert read(path)["a"].tolist() == read(tmp_path)["a"].tolist() == [1.5, 2.5]


@pytest.mark.skipif(os.sep != "/", reason="a name has no backslash there")
@pytest.mark.parametrize("name", ["a\\[b.csv", "a\\b/x*.csv", "\\*?.csv", "[a]\\.csv"])
def test_a_file_may_have_a_backslash_and_the_letters_of_a_pattern_in_its_name(name, tmp_path):
    written(tmp_path / name.replace("[", "x").replace("*", "x").replace("?", "x"), "x,y", "9,q", "9,q")
    assert read(written(tmp_path / name, "x,y", "1,p", "2,q"))["x"].tolist() == [1, 2]


# Decimal marks


@pytest.mark.parametrize("other", OTHERS)
def test_three_decimals_stay_decimals_whatever_another_column_holds(other, tmp_path):
    rows = [",".join(row) for row in zip(NUMBERS, OTHERS[other], "pqpq", strict=True)]
    path = written(tmp_path / "t.csv", "x,other,y", *rows)
    found = read(path)
    np.testing.assert_array_equal(found["x"], [float(x) for x in NUMBERS])
    numbers = other == "pairs in quotes"
    assert pd.api.types.is_float_dtype(found["other"]) == numbers
    if not numbers:
        assert found["other"].tolist() == [cell.strip('"') for cell in OTHERS[other]]


@pytest.mark.parametrize("sep", SEPARATORS)
@pytest.mark.parametrize("other", ["addresses", "versions"])
def test_numbers_with_points_between_them_are_no_numbers_in_any_file(other, sep, tmp_path):
    rows = [sep.join(row) for row in zip(NUMBERS, OTHERS[other], "pqpq", strict=True)]
    found = read(written(tmp_path / "t.csv", sep.join(("x", "other", "y")), *rows))
    np.testing.assert_array_equal(found["x"], [float(x) for x in NUMBERS])
    assert found["other"].tolist() == OTHERS[other]


@pytest.mark.parametrize("x", [["0.512", "0", "1", "0.001"], ["1.250", "2.125", "3.500", "4.750"]])
def test_whole_numbers_among_three_decimals_stay_apart(x, tmp_path):
    rows = [f"{cell},{pair},{y}" for cell, pair, y in zip(x, OTHERS["pairs in quotes"], "pqpq", strict=True)]
    found = read(written(tmp_path / "t.csv", "x,pair,y", *rows))
    assert found["x"].tolist() == [float(cell) for cell in x]


def test_groups_of_thousands_are_read_by_the_decimal_commas_beside_them(tmp_path):
    path = written(tmp_path / "t.csv", "people;area;y", "1.234.567;1,5;p", "82.000;12,25;q", "950;0,512;p")
    found = read(path)
    assert found["people"].tolist() == [1234567, 82000, 950]
    assert found["area"].tolist() == [1.5, 12.25, 0.512]


MIXED = {
    "1.234 beside columns of both marks": (["x;a;b;y", "1.234;1,5;1.5;p", "2.345;2,5;2.5;q"], "1.234"),
    "1,234 in quotes beside decimal commas": (['x,a,y', '"1,234","1,5",p', '"2,345","2,5",q'], "1,234"),
    "1.234 beside 1,234": (["x;a;y", "1.234;1,234;p", "2.345;2,345;q"], "1.234"),
}  # fmt: skip


@pytest.mark.parametrize("case", MIXED)
def test_a_column_whose_mark_cannot_be_told_is_refused_with_the_option_that_tells_it(case, tmp_path):
    lines, said = MIXED[case]
    path = written(tmp_path / "t.csv", *lines)
    with pytest.raises(
        ValueError, match=rf"t\.csv: column .x. holds numbers such as {said}, and nothing tells .*--decimal"
    ):
        BayesianNB().fit(path, "y")
    for mark in ".,":
        assert len(read(path, decimal=mark)) == len(lines) - 1


def test_one_decimal_comma_among_whole_numbers_makes_levels_of_them(tmp_path):
    path = written(tmp_path / "t.csv", "x,y", "1,p", "2,q", '"1,5",q')
    assert read(path)["x"].tolist() == ["1", "2", "1,5"]
    assert read(path, decimal=",")["x"].tolist() == [1, 2, 1.5]


@pytest.mark.parametrize("lines", [["x;y", "1,5;p", "2,5;q"], ["x,y", '"1,5",p', '"2,5",q']])
def test_each_file_of_a_folder_has_its_own_decimal_mark(lines, tmp_path):
    written(tmp_path / "one.csv", "x,y", "1.5,p", "2.5,q")
    written(tmp_path / "two.csv", *lines)
    assert read(tmp_path)["x"].tolist() == [1.5, 2.5, 1.5, 2.5]


def test_the_files_of_a_folder_tell_together_what_a_column_is(tmp_path):
    written(tmp_path / "one.csv", "code;people;gap;y", "12;374;?;p", "13;950;NA;q")
    written(tmp_path / "two.csv", "code;people;gap;y", "A1;1.5;7;p", ";?;8;q")
    found = read(tmp_path)
    assert found["code"].tolist() == ["12", "13", "A1", np.nan]
    np.testing.assert_array_equal(found["people"], [374, 950, 1.5, np.nan])
    assert found["gap"].tolist() == [pd.NA, pd.NA, 7, 8]


# Leading zeros


@pytest.mark.parametrize("cells", [["05123", "80331", "01067"], ["00", "10", "07"], ["7", "007", "12"]])
def test_codes_that_begin_with_a_zero_are_levels(cells, tmp_path):
    path = written(tmp_path / "t.csv", "code,x,y", *(f"{c},{k},{'pq'[k % 2]}" for k, c in enumerate(cells)))
    expected = ("Categorical", (tuple(sorted(cells)),))
    assert families_and_levels(BayesianNB().fit(path, "y"))["code"] == expected
    assert read(path)["code"].tolist() == cells


def test_numbers_below_1_begin_with_no_superfluous_zero(tmp_path):
    path = written(tmp_path / "t.csv", "a,b,y", "0,0.5,p", "-0,-0.25,q", "10,00.75,q")
    found = read(path)
    assert found["a"].tolist() == [0, 0, 10]
    assert found["b"].tolist() == [0.5, -0.25, 0.75]


# Quotes, and the number of rows


@pytest.mark.parametrize("sep", SEPARATORS)
def test_a_cell_that_is_an_apostrophe_swallows_no_row(sep, tmp_path):
    words = ["he", "'", "runs", "'", "fast", "'", "she", "'"]
    path = written(
        tmp_path / "t.csv", sep.join("wpy"), *(sep.join((w, "POS", "ab"[k % 2])) for k, w in enumerate(words))
    )
    assert read(path)["w"].tolist() == words
    assert BayesianNB().fit(path, "y").class_count_.sum() == 8


def test_a_last_line_with_commas_hides_no_rows_of_tabs(tmp_path):
    found = read(written(tmp_path / "t.csv", "v\ty", "36\tq", "185\tp", "3\tq", "4,341,061\tq"), names=("y",))
    assert found["v"].tolist() == [36, 185, 3, 4341061]


# Sheets


def sheet(path: Path, *rows: list, beside: str = "Notes") -> Path:
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("python_calamine")
    book = openpyxl.Workbook()
    book.active.title = "Orders"
    for row in rows:
        book.active.append(row)
    book.create_sheet(beside).append(["nothing here"])
    book.save(path)
    return path


def test_titles_above_the_header_of_a_sheet_are_left_out_and_inspect_says_so(tmp_path, capsys):
    rows = [[k, "NS"[k % 2], k + 0.5, "yes" if k % 3 else "no"] for k in range(12)]
    path = sheet(
        tmp_path / "t.xlsx", ["Orders of 2026"], [], ["made by", "me"], ["no", "region", "amount", "back"], *rows
    )
    assert list(read(path)) == ["no", "region", "amount", "back"]
    assert read(path)["amount"].tolist() == [k + 0.5 for k in range(12)]
    with pytest.raises(SystemExit):
        main(["inspect", str(path), "--target", "back"])
    said = capsys.readouterr().out
    assert "sheet 'Orders' (there are also 'Notes': --sheet)" in said
    assert "3 rows before it left out" in said


@pytest.mark.usefixtures("few_drawn_labels", "few_drawn_rows")
def test_inspect_asks_whether_whole_numbers_typed_as_text_in_a_sheet_are_codes(tmp_path, capsys):
    rows = [[f"{11 + k % 7}", 11 + k % 7, f"{k / 8:g}", f"{k + 1000}", "ab"[k % 3 == 0]] for k in range(100)]
    path = sheet(tmp_path / "t.xlsx", ["variety", "typed", "length", "id", "y"], *rows)
    said = " ".join(run(capsys, "inspect", path, "--target", "y")[1].split())
    asked = "whole numbers, typed as text in the sheet and read as numbers. If they are codes: --feature variety=categ"
    assert asked in said
    assert said.count("typed as text") == 1
    said = " ".join(run(capsys, "inspect", path, "--target", "y", "--feature", "variety=categorical")[1].split())
    assert "typed as text" not in said
    # New rows of another kind of file are read as the model has learned the column.
    frame = pd.DataFrame(rows, columns=["variety", "typed", "length", "id", "y"])
    frame.drop(columns="y").to_parquet(tmp_path / "t.parquet")
    for families in ([], ["--feature", "variety=categorical"]):
        fit = ("fit", path, "--target", "y", "--drop", "id", "--dependence", "none", *families, "--force")
        assert run(capsys, *fit, "-o", tmp_path / "m.bayesnb")[0] == 0
        both = [
            run(capsys, "predict", tmp_path / "m.bayesnb", new, "-o", "-") for new in (path, tmp_path / "t.parquet")
        ]
        assert both[0][:2] == both[1][:2]
        assert both[0][0] == 0


def test_commands_name_the_other_sheets_of_a_workbook_once_unless_the_sheet_is_named(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [[k % 7, "yes" if k % 3 else "no"] for k in range(40)]
    sheet(tmp_path / "t.xlsx", ["amount", "back"], *rows)
    commands = {
        "fit": "fit t.xlsx --target back --dependence none -o m.bayesnb",
        "update": "update m.bayesnb t.xlsx -o u.bayesnb",
        "forget": "forget u.bayesnb t.xlsx -o f.bayesnb",
        "score": "score m.bayesnb t.xlsx",
        "predict": "predict m.bayesnb t.xlsx",
        "compare": "compare t.xlsx --target back --dependence none --draws 20",
        "report": "report t.xlsx --target back --dependence none --explain 0 --draws 20 -o r.md",
        "split": "split t.xlsx --target back",
    }
    note = "t.xlsx: sheet 'Orders' is read; there are also 'Notes': --sheet"
    for name, command in commands.items():
        for option, times in (((), 1), (("--sheet", "Orders"), 0)):
            code, _, err = run(capsys, *command.split(), *option, *["--force"] * (name == "split" and times == 0))
            assert code == 0, err
            assert err.count(note) == times, (name, err)


# What inspect proposes


PROPOSED = {
    "customer": (np.random.default_rng(0).permutation(np.arange(100_000, 100_120)), "--drop customer"),
    "asked": (
        ["Strongly agree", "disagree", "Neutral", "disagree"] * 30,
        "--feature 'asked=ordinal:disagree,Neutral,Strongly agree'",
    ),
    "service": (
        ["zufrieden", "sehr unzufrieden", "sehr zufrieden", "zufrieden", "zufrieden"] * 24,
        "--feature 'service=ordinal:sehr unzufrieden,zufrieden,sehr zufrieden'",
    ),
    "used": (["always", "never", "sometimes"] * 40, "--feature used=ordinal:never,sometimes,always"),
}  # fmt: skip


def test_inspect_proposes_to_drop_shuffled_numbers_of_customers_and_to_order_answers(tmp_path, capsys):
    frame = pd.DataFrame({name: cells for name, (cells, _) in PROPOSED.items()})
    frame = frame.assign(
        weight=np.random.default_rng(1).integers(10_000, 900_000, 120), y=["p", "p", "q", "q", "q"] * 24
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(SystemExit):
        main(["inspect", str(tmp_path / "t.csv"), "--target", "y"])
    said = capsys.readouterr().out
    command = said.splitlines()[-1]
    assert [name for name, (_, option) in PROPOSED.items() if option not in command] == []
    assert "if a number is how many cases its row stands for, --weight weight" in said


# What is no file


def test_an_empty_path_is_refused(tmp_path, monkeypatch):
    written(tmp_path / "t.csv", "x,y", "1,p", "2,q")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="the path of the table is empty"):
        BayesianNB().fit("", "y")


def test_an_empty_path_is_refused_by_commands(tmp_path, monkeypatch, capsys):
    model = tmp_path / "m.bayesnb"
    BayesianNB().fit(written(tmp_path / "t.csv", "x,y", "1,p", "2,q"), "y").save(model)
    monkeypatch.chdir(tmp_path)
    for command in (["fit", "", "--target", "y", "-o", "n.bayesnb"], ["inspect", ""], ["predict", str(model), ""]):
        with pytest.raises(SystemExit) as ended:
            main(command)
        assert ended.value.code == 1
        assert "the path of the table is empty" in capsys.readouterr().err
    assert not Path("n.bayesnb").exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
@pytest.mark.parametrize("written_to", [True, False])
def test_a_named_pipe_is_refused_by_its_name_and_does_not_hang(written_to, tmp_path):
    os.mkfifo(pipe := tmp_path / "x.csv")
    said = []

    def fit() -> None:
        with pytest.raises(ValueError, match=r"x\.csv: is a pipe .* send it to -") as refused:
            BayesianNB().fit(pipe, "y")
        said.append(refused)

    reader = threading.Thread(target=fit, daemon=True)
    reader.start()
    writer = os.open(pipe, os.O_RDWR) if written_to else None
    reader.join(300)
    if writer is not None:
        os.close(writer)
    assert said


# One table, one model


def categories() -> pd.DataFrame:
    """Categories of numbers and of text; one of each has no row."""
    n = 30
    return pd.DataFrame(
        {
            "whole": pd.Categorical([1, 2, 5] * 10, categories=[1, 2, 3, 5]),
            "real": pd.Categorical([0.5, 2, 5] * 10),
            "flag": pd.Categorical([True, False, True] * 10),
            "text": pd.Categorical(list("abc") * 10, categories=list("abcd")),
            "number": np.arange(n) / 7,
            "y": list("pqp") * 10,
        }
    )


def parquet(path: Path, frame: pd.DataFrame, *, by_pandas: bool = True) -> Path:
    table = pa.Table.from_pandas(frame)
    pa.parquet.write_table(table if by_pandas else table.replace_schema_metadata(), path, row_group_size=7)
    return path


FORMS = {
    "parquet": lambda at, frame: parquet(at / "t.parquet", frame),
    "parquet of Arrow": lambda at, frame: parquet(at / "t.parquet", frame, by_pandas=False),
    "a folder of parquet": lambda at, frame: parquet(at / "t.parquet", frame).parent,
    "feather": lambda at, frame: frame.to_feather(at / "t.feather") or at / "t.feather",
    "Arrow in memory": lambda at, frame: pa.Table.from_pandas(frame).to_reader(),
    "a dataset": lambda at, frame: pa.dataset.dataset(parquet(at / "t.parquet", frame)),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_category_of_numbers_is_the_same_family_in_every_kind_of_file(form, tmp_path):
    frame = categories()
    expected = BayesianNB().fit(frame.drop(columns="y"), frame["y"])
    found = BayesianNB().fit(FORMS[form](tmp_path, frame), "y")
    families = {name: kind for name, (kind, _) in families_and_levels(found).items()}
    assert families == {name: kind for name, (kind, _) in families_and_levels(expected).items()}
    declared = form == "Arrow in memory"
    assert found.classifier_.schema.features["whole"].levels == ((1, 2, 3, 5) if declared else (1, 2, 5),)
    assert found.classifier_.schema.features["text"].levels == (tuple("abcd" if declared else "abc"),)


def test_parquet_in_memory_has_the_families_that_it_has_in_parts(tmp_path):
    path = parquet(tmp_path / "t.parquet", categories())
    frame, found = readers.frame(path), BayesianNB().fit(path, "y")
    again = BayesianNB().fit(frame.drop(columns="y"), frame["y"])
    assert families_and_levels(again) == families_and_levels(found)
    X = frame.drop(columns="y")
    np.testing.assert_allclose(again.predict_proba(X), found.predict_proba(X), rtol=1e-12)
