"""A command that cannot be done ends with 2 (the command) or 1 (the data), prints nothing, and says what to write."""

import pandas as pd
import pytest
from conftest import run

from bayesnb import BayesianNB, datasets

GOOD = "size,n,ok,y\n1.5,1,True,u\n2.5,2,False,v\n3.5,3,True,u\n4.5,4,False,v\n5.0,5,True,u\n"
ODD = pd.DataFrame({"a=b": ["x, y", "z"] * 5, "c,d": ["p=1", "q"] * 5, "n": range(10), "class": ["u", "v"] * 5})
FIT = "fit play-tennis -o x.bayesnb"

WRONG_COMMAND: list[tuple[str, tuple[str, ...]]] = [
    ("", ("Usage: bayesnb",)),
    ("frob", ("Usage: bayesnb",)),
    ("--frob", ("Usage: bayesnb",)),
    ("compare posts --format xml", ("Usage: bayesnb",)),
    ("compare posts --cv 1", ("Usage: bayesnb",)),
    ("compare posts --prob 2", ("Usage: bayesnb",)),
    ("compare good.csv", ("--target", "['size', 'n', 'ok', 'y']")),
    ("compare good.csv --target y --row size", ("--row", "'size'", "column=value")),
    ("compare good.csv --target y --row sise=1", ("--row", "'sise'", "['size', 'n', 'ok']")),
    ("compare good.csv --target y --row size=big", ("--row", "size=big", "numbers")),
    ("compare good.csv --target y --row ok=maybe", ("--row", "ok=maybe", "true and false")),
    ("compare good.csv --target y --row size=1,size=2", ("--row", "size")),
    ("compare good.csv --target y --row size=inf", ("size", "inf")),
    ("explain MODEL", ("name the row",)),
    ("explain MODEL play-tennis --row 14", ("there is no row 14 in play-tennis: it has 14",)),
    ("explain MODEL play-tennis --row wind=weak", ("either one of NEW, by its position",)),
    ("explain MODEL --row sky=blue", ("there is no column 'sky'",)),
    ("explain play-tennis heights", ("is not a model file",)),
    ("explain play-tennis --dependence none --row 99", ("there is no row 99",)),
    ("explain play-tennis --dependence none --label maybe", ("no class 'maybe'", "['no', 'yes']")),
    ("explain play-tennis --dependence none --against maybe", ("--against", "no class 'maybe'")),
    ("explain play-tennis --dependence none --label no --against no", ("against itself",)),
    ("explain play-tennis --unit octaves", ("octaves",)),
    ("explain odd.csv --target class --feature n=ignore", ("To leave the column out, write --drop n",)),
    ("explain odd.csv --target class --feature n=poison", ("did you mean 'poisson'?",)),
    ("explain odd.csv --target class --dependence none --set N=2", ("there is no column 'N'; did you mean 'n'?",)),
    ("explain odd.csv --target class --dependence none --row {n:2}", ("is not JSON",)),
    ("explain odd.csv --target class --drp n", ("No such option",)),
    *(
        (f"{verb} --target y --drop y", ("--target reads column 'y', and --drop leaves it out: keep one",))
        for verb in ("compare good.csv", "inspect good.csv", "fit good.csv -o x.bayesnb", "explain good.csv")
    ),
    (f"{FIT} --drop play", ("--target reads column 'play', and --drop leaves it out: keep one",)),
    ("fit good.csv --target y --weight n --drop n -o x.bayesnb", ("--weight reads column 'n', and --drop leaves it",)),
    ("fit MODEL -o x.bayesnb", ("--target",)),
    (f"{FIT} --feature wind=weibull", ("not COL=FAMILY",)),
    (f"{FIT} --feature wind=poisson --feature wind=poisson", ("named twice",)),
    (f"{FIT} --feature wind=binned:2,1", ("edges that increase",)),
    (f"{FIT} --feature wind=hurdle:poison", ("did you mean 'poisson'?",)),
    (f"{FIT} --dependence pairwse", ("one of 'auto', 'auto-counts', 'none',", "did you mean 'pairwise'?")),
    ("explain play-tennis --unit bit", ("is not one of 'nats', 'bits', 'decibans'; did you mean 'bits'?",)),
    (f"{FIT} --feature wind=missing:poisson,gaussian", ("there is no family",)),
    (f"{FIT} --feature best --feature wind=poisson", ("give it alone",)),
    (f"{FIT} --feature missing --m 2 --columns grow", ("name the columns, as COL=missing",)),
    (f"{FIT} --class-prior often", ("neither laplace",)),
    (f"{FIT} --class-prior a=0.5,b=0.5", ("Expected a probability for each of",)),
    ("merge MODEL -o x.bayesnb", ("two models or more",)),
    ("predict MODEL play-tennis -o x.xlsx", ("Expected a table, which ends in .parquet, .pq, .csv or .tsv",)),
    ("sample MODEL --label maybe", ("there is no class 'maybe'",)),
    ("ask uncertanty MODEL play-tennis", ("Usage: bayesnb ask",)),
    ("report play-tennis", ("-o",)),
    ("report play-tennis -o none/r.html", ("there is no folder",)),
    ("report play-tennis -o .", ("is a folder",)),
    ("inspect t\udcff.csv", (r"t\udcff.csv is not text in the encoding utf-8: rename the file",)),
    *((f"{words} --force", ("got the suffix", "which ends in .")) for words in (
        "fit play-tennis -o x.csv", "fit play-tennis -o x.v2", "merge MODEL MODEL -o x.html",
        "update MODEL play-tennis -o x.parquet", "predict MODEL play-tennis -o x.bayesnb",
        "predict MODEL play-tennis -o x",
        "report play-tennis -o x.csv", "audit play-tennis -o x.csv", "report play-tennis --format md -o x.html",
    )),
]  # fmt: skip
WRONG_DATA: list[tuple[str, tuple[str, ...]]] = [
    ("compare good.csv --target z", ("'z'", "['size', 'n', 'ok', 'y']")),
    ("compare blank.csv --target y", ("'y'", "missing in every row")),
    ("compare good.csv --target y --cv 4", ("4", "smallest class", "(2)")),
    ("compare half.csv --target y --weight w", ("the weight 0.5 in row 0: scores count whole rows", "use --drop 'w'")),
    ("compare none.csv --target y", ("none.csv", "no such file")),
    ("compare empty --target y", ("empty", "is an empty folder")),
    ("compare xyzzy", ("'xyzzy'", "play-tennis, buys")),
    ("predict none.bayesnb play-tennis", ("No such file",)),
    ("predict good.csv play-tennis", ("is not a model file",)),
    ("predict MODEL heights", ("columns ['outlook', 'temperature', 'humidity', 'wind'] were fitted and are not in",)),
    ("update MODEL heights", ("--target: heights has no column 'play'",)),
    ("merge MODEL OTHER -o x.bayesnb", ("OTHER: the two models have different features",)),
    (f"{FIT} --target wnd", ("--target: play-tennis has no column 'wnd'; did you mean 'wind'?",)),
    (f"{FIT} --feature wnd=categorical", ("did you mean 'wind'?",)),
    (f"{FIT} --feature wind=ordinal:calm,weak", ("fit all rows with --feature wind=ordinal:LOWEST,...,HIGHEST",)),
    ("explain odd.csv --target Class", ("has no column 'Class'; did you mean 'class'?",)),
    ("explain odd.csv --target class --drop nn", ("--drop:", "has no column 'nn'; did you mean 'n'?")),
    ("explain odd.csv --target class --weight w", ("--weight:", "has no column 'w'")),
    ("fit play-tenis -o x.bayesnb", ("Did you mean 'play-tennis'?",)),
    ("report none.csv --target y -o x.html --force", ("no such file",)),
    ("inspect none.csv", ("no such file",)),
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with tables, a model, and nothing that a refused command may have written."""
    folder = tmp_path_factory.mktemp("refused")
    (folder / "good.csv").write_text(GOOD)
    (folder / "blank.csv").write_text("a,y\n1,\n2,\n")
    (folder / "half.csv").write_text("a,w,y\nu,0.5,p\nv,1,p\nu,1,q\nv,1,q\n")
    (folder / "empty").mkdir()
    ODD.to_csv(folder / "odd.csv", index=False)
    BayesianNB().fit(*datasets.play_tennis()).save(folder / "MODEL")
    BayesianNB().fit(*datasets.heights()).save(folder / "OTHER")
    return folder


@pytest.mark.parametrize(
    ("command", "words", "code"),
    [(*case, 2) for case in WRONG_COMMAND] + [(*case, 1) for case in WRONG_DATA],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_command_that_cannot_be_done_says_why_prints_nothing_and_writes_nothing(
    command, words, code, folder, capsys, monkeypatch
):
    monkeypatch.chdir(folder)
    before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    found, out, err = run(capsys, *command.split())
    assert (found, out) == (code, ""), err
    assert "Traceback" not in err
    said = " ".join(err.split())
    assert all(word in said for word in words), said
    if code == 2:
        assert "scoring by" not in said  # It is refused before what takes long.
    if code == 1:
        assert err.splitlines()[-1].startswith("bayesnb: ")
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == before
