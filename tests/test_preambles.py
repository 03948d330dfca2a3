"""Lines above the header of a CSV file, and sheets of an Excel file."""

import json

import openpyxl
import pytest

import bayesnb as nb
from bayesnb.data import readers
from bayesnb.data.csv_reader import Format
from bayesnb.data.readers import Source
from tests.conftest import run as command

ROWS = [f"{k};{k % 7},5;{'ab'[k % 2]};{'pq'[k % 3 == 0]}" for k in range(1, 31)]
HEADER = "Nr;Umsatz;Tarif;Klasse"
PREAMBLES = {
    "none": [],
    "a title and a date with separators": ["Kundenexport;Stand: 01.01.2025;;", ""],
    "a title without separators": ["Kundenexport vom 01.01.2025", "", "vertraulich"],
    "blank lines": ["", ";;;"],
}


@pytest.fixture
def run(capsys):
    return lambda *arguments: command(capsys, *arguments)


def written(path, lines):
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("preamble", PREAMBLES.values(), ids=PREAMBLES)
@pytest.mark.parametrize("told", [False, True])
def test_lines_of_titles_above_the_header_are_left_out(preamble, told, tmp_path):
    path = written(tmp_path / "t.csv", [*preamble, HEADER, *ROWS])
    source = Source(path, Format(skip=len(preamble) if told else None))
    assert source.names == HEADER.split(";")
    assert readers.frame(source)["Umsatz"].iloc[0] == 1.5
    assert len(readers.frame(source)) == len(ROWS)


@pytest.mark.parametrize(
    "lines",
    [
        ["a,b,c,y", "1,,,p", "2,,,q", *(f"{k},2,3,p" for k in range(20))],
        ["a,,b,y", *(f"{k},2,3,p" for k in range(20))],
        ["1,,,p", *(f"{k},2,3,q" for k in range(20))],
        ["x,,,p", *(f"{k},t,u,q" for k in range(20))],
    ],
    ids=["rows with gaps", "a column without a name", "a first row with gaps, numbers", "a first row with gaps, text"],
)
def test_a_header_and_rows_with_gaps_are_no_titles(lines, tmp_path):
    assert sum(layout.skip for layout in Source(written(tmp_path / "t.csv", lines)).layouts) == 0


def test_the_printed_command_keeps_the_lines_to_skip(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "t.csv", ["x;y;z;w", HEADER, *ROWS])
    code, out, _ = run("inspect", "t.csv", "--skip", "1", "--target", "Klasse", "--format", "json")
    assert code == 0
    assert "--skip 1" in json.loads(out)["fit"]


def workbook(path, sheets, hidden=()):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
        if name in hidden:
            sheet.sheet_state = "hidden"
    book.save(path)
    return path


LOANS = [["Amount", "Status"], *[[100 + 7 * k, "paid" if k % 3 else "late"] for k in range(20)]]


def test_hidden_sheets_are_skipped_and_named(run, tmp_path):
    path = workbook(tmp_path / "l.xlsx", {"old": [["a", "y"], [1, "p"]], "Loans": LOANS}, hidden=("old",))
    assert nb.BayesianNB().fit(str(path), "Status").class_count_.sum() == 20
    assert "hidden and skipped: 'old'" in " ".join(run("inspect", str(path))[1].split())
    assert Source(path, Format(sheet="old")).names == ["a", "y"]


@pytest.mark.parametrize("first", [[], [["Bookings of 2026"]], [["about", "this file"]]])
def test_a_first_sheet_without_a_table_names_the_other_sheets(run, tmp_path, first):
    path = workbook(tmp_path / "l.xlsx", {"readme": first, "Loans": LOANS})
    code, _, err = run("inspect", str(path), "--target", "Status")
    assert code == 1
    assert "sheet 'readme' holds no table; its sheets are ['readme', 'Loans']: name one with --sheet" in err
    assert run("inspect", str(path), "--sheet", "Loans", "--target", "Status")[0] == 0


def test_a_missing_target_names_the_sheets_that_have_it(run, tmp_path):
    sheets = {"Read me": [["Quarterly review"], ["of loans"]], "Loans 2025": LOANS, "Pivot": LOANS[:5]}
    code, _, err = run("inspect", str(workbook(tmp_path / "l.xlsx", sheets)), "--target", "Status")
    assert code == 1
    assert "sheet 'Read me' of" in err
    assert "'Loans 2025' and 'Pivot' have it: --sheet 'Loans 2025'" in " ".join(err.split())


def test_formulas_without_a_stored_value_are_counted(run, tmp_path):
    rows = [LOANS[0] + ["Rate"], *[[*row, f"=A{k}/100"] for k, row in enumerate(LOANS[1:], 2)]]
    path = workbook(tmp_path / "l.xlsx", {"Loans": rows})
    assert Source(path).sheets[0].empty == 20
    assert "20 formulas without a stored value" in " ".join(run("inspect", str(path), "--target", "Status")[1].split())
