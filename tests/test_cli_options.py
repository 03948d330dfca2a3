"""Every option of every command has an effect or is refused by its name, and every refusal names options that exist."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
import pytest
from conftest import run

from bayesnb import BayesianNB, load
from bayesnb.cli import cli, options

pytestmark = pytest.mark.usefixtures("examined_once", "few_drawn_labels", "few_drawn_rows")


def commands() -> Iterator[tuple[str, click.Command]]:
    """Each command by its words, such as "ask loo"."""
    for name, command in cli.commands.items():
        if isinstance(command, click.Group):
            inner = click.Context(command)
            yield from ((f"{name} {each}", command.get_command(inner, each)) for each in command.list_commands(inner))
        else:
            yield name, command


def options_of(command: click.Command) -> list[click.Option]:
    # A command remembers its option for help, whose names are those of the program.
    context = click.Context(command, click.Context(cli, **cli.context_settings))
    return [each for each in command.get_params(context) if isinstance(each, click.Option)]


COMMANDS = dict(commands())
FLAGS = {
    name: {flag for each in options_of(c) for flag in (*each.opts, *each.secondary_opts)}
    for name, c in COMMANDS.items()
}


def command_of(words: list[str]) -> str:
    return " ".join(words[:2]) if words[0] == "ask" else words[0]


# Commands beside which every option is tried.
TRIED = [
    "inspect t.csv --target y", "inspect t.parquet --target y", "inspect M", "split t.csv --target y -o s",
    "compare few.csv --target y --dependence none --row size=2", "fit t.csv --target y --dependence none -o o.bayesnb",
    "score M t.csv", "predict M t.csv", "predict M t.csv --interval", "predict M t.csv -o o.parquet",
    "explain t.csv --target y --dependence none", "explain M t.csv --row 0", "explain M --row size=2",
    "report few.csv --target y --dependence none -o page --format md", "audit t.csv --target y",
    "update M t.csv -o o.bayesnb", "inspect play-tennis --drop wind --all",
    "forget M few.csv --keep-na NA -o o.bayesnb", "merge M W -o o.bayesnb", "export M", "sample M -n 3",
    "watch M t.csv --learned t.csv --format json",
    *(f"{name} M t.csv" for name in COMMANDS if name.startswith("ask ") and name != "ask fill-in"),
    "ask fill-in M gaps.csv",
]  # fmt: skip

VALUES: dict[str, tuple[str, ...]] = {
    "target": ("extra",), "sep": (";",), "encoding": ("utf-16",), "skip": ("1",), "na": ("red",), "keep_na": ("NA",),
    "sheet": ("S",), "drop": ("colour",), "feature": ("size=log-normal",), "m": ("5",), "class_prior": ("uniform",),
    "weight": ("w",), "unknown": ("q",), "values": ("size=9",), "row": ("3", "size=9"), "asked": ("size=1",),
    "label": ("u", "v"), "against": ("u", "v", "z"), "keep": ("extra",), "title": ("A",), "table": ("a",),
    "learned": ("few.csv",), "decimal": (",",), "top": ("1",), "tol": ("0.5",), "max_iter": ("1",), "by": ("colour",),
    "answer": ("mean",), "more": ("50",), "explain": ("0",), "draws": ("150",), "n": ("2",), "split_seed": ("3",),
    "random_state": ("3",), "digits": ("2",), "test_share": ("0.5",), "rows": ("20",), "level": ("0.9",),
    "mass": ("0.4",), "s": ("3",), "prob": ("0.4",), "cv": ("3",),
}  # fmt: skip
"""Values of each option with which answers differ."""

SILENT = {
    "--absent": "no column is absent", "--columns": "no column joins", "--decimal": "no cell has a comma",
    "--refit": "no family is sampled", "--all": "a table shows all columns",
}  # fmt: skip
"""Options that change nothing about this table, and why."""

SLOW = ("report", "audit", "compare")
"""Commands that take long. They make models as ``explain`` does, so only the options of their answers are tried."""

WRITTEN = ("o.bayesnb", "page", "o.parquet", "s-train.csv", "s-test.csv")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("options")
    rng, n = np.random.default_rng(1), 60
    y = np.arange(n) % 3
    rows = pd.DataFrame({
        "colour": np.take(["red", "NA", "blue"], np.where(rng.random(n) < 0.5, y, rng.integers(3, size=n))),
        "size": rng.lognormal(y / 2, 0.5).round(2), "count": rng.poisson(1 + y), "extra": rng.integers(50, size=n),
        "w": rng.integers(1, 3, size=n), "y": np.take(["u", "v", "z"], y),
    })  # fmt: skip
    learned = rows[["colour", "size", "count", "y"]]
    tables = {"t": rows, "few": learned[:30], "lacks": learned[["colour", "y"]], "bare": learned[["colour"]]}
    tables |= {"new": learned.assign(colour="green"), "wide": learned.assign(more=range(n)),
              "gaps": learned.mask(rng.random(learned.shape) < 0.1).assign(y=learned["y"])}  # fmt: skip
    for name, table in tables.items():
        table.to_csv(folder / f"{name}.csv", index=False)
    learned.to_parquet(folder / "t.parquet")
    X, labels = learned.drop(columns="y"), learned["y"]
    for name, given in {
        "M": {}, "W": {"dependence": "weighted"}, "U": {"unseen": "error"},
        "G": {"dependence": "weighted", "columns": "grow"},
    }.items():  # fmt: skip
        BayesianNB(**given).fit(X, labels).save(folder / name)
    BayesianNB().fit(X[["colour"]], labels).save(folder / "N")
    return folder


@pytest.fixture
def answer(folder: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run a command; return its exit code, what it prints, and what it writes."""
    monkeypatch.chdir(folder)

    def command(*words: str) -> tuple[int, str, str, dict[str, Any]]:
        for path in WRITTEN:
            Path(path).unlink(missing_ok=True)
        printed = run(capsys, *words)
        return *printed, {path: content(Path(path)) for path in WRITTEN if Path(path).exists()}

    return command


def content(path: Path) -> Any:
    if path.suffix != ".bayesnb":
        return path.read_bytes()
    clf = load(path)
    return repr(clf.get_params()), str(clf.classifier_.reading), clf.describe().to_csv(), repr(clf.classifier_.schema)


def tried(option: click.Option) -> list[list[str]]:
    if isinstance(option.type, click.Choice):
        return [[option.opts[0], each] for each in option.type.choices]
    if option.is_flag:
        return [[flag] for flag in (*option.opts, *option.secondary_opts)]
    return [[option.opts[0], value] for value in VALUES[option.name or ""]]


@pytest.mark.parametrize(
    "command",
    [
        # A table in Parquet, a table to explain and one more form of a prediction enter the code of the others.
        pytest.param(
            each,
            marks=[pytest.mark.slow]
            * each.startswith(
                (
                    "report",
                    "compare",
                    "audit",
                    "ask",
                    "inspect t.parquet",
                    "predict M t.csv --interval",
                    "explain t.csv",
                )
            ),
        )
        for each in TRIED
    ],
)
def test_an_option_that_is_given_has_an_effect_or_is_refused_by_its_name(command: str, answer: Any) -> None:
    words = command.split()
    name, base, silent = command_of(words), answer(*words), set()
    assert base[0] == 0, base[2]
    for option in options_of(COMMANDS[name]):
        if not isinstance(option, options.Option) or {*option.opts} & {*words, "--output", "--force", "--nuts"}:
            continue
        if {*words} & {"t.csv", "few.csv", "gaps.csv", "t.parquet"}:
            apart = option.group == options.READING and name not in ("predict", "fit") and "t.parquet" not in words
            if apart or {*option.opts} & {*SILENT} or (option.group == options.MODEL and name in SLOW):
                continue
        for given in tried(option):
            code, _, err, _ = found = answer(*words, *given)
            if found != base and (code != 2 or given[0] in err):
                break
        else:
            silent.add(option.opts[0])
    assert not silent


OF_MODELS = [command.replace("t.csv", "lacks.csv") for command in TRIED if re.search(" M (t|few).csv", command)]


@pytest.mark.parametrize("command", OF_MODELS)
def test_the_option_for_a_missing_column_that_a_refusal_names_lets_the_command_run(command: str, answer: Any) -> None:
    words = (
        command.replace("few.csv", "lacks.csv").replace(" --learned lacks.csv", "").replace(" --keep-na NA", "").split()
    )
    if (name := command_of(words)) == "ask fill-in":
        assert answer(*words)[0] == 0
        return
    code, _, err, _ = answer(*words)
    assert (code, "columns ['size', 'count'] were fitted" in err) == (1, True)
    assert ("--absent missing" in err) == ("--absent" in FLAGS[name])
    if "--absent" in FLAGS[name]:
        assert answer(*words, "--absent", "missing")[0] == 0


REFUSED = [
    *OF_MODELS, "merge M N -o o.bayesnb", "export W", "explain W t.csv --row 0 --flip", "explain M --row q=1",
    "explain t.csv --target y --dependence weighted --flip", "explain M", "explain bare.csv",
    "fit t.csv --target y --unknown q --dependence auto -o o.bayesnb", "fit t.csv -o o.bayesnb", "update M bare.csv",
    "score M bare.csv", "ask loo M bare.csv", "watch M bare.csv --learned bare.csv", "update G wide.csv",
    "predict U new.csv", "ask uncertainty U new.csv", "score U new.csv", "explain U new.csv --row 0",
    "watch U new.csv", "ask predict-interval W t.csv --given row", "ask fill-in W t.csv", "merge W M -o o.bayesnb",
    "ask loo M few.csv", "sample M --label q", "predict M t.csv --keep q", "predict M t.csv --prob 0.5",
    "split bare.csv", "audit bare.csv", "report bare.csv -o o.md", "compare bare.csv", "inspect bare.csv --target y",
    "explain M bare.csv --row 99", "inspect M --columns grow", "explain M t.csv --row 0 --dependence none",
]  # fmt: skip


@pytest.mark.parametrize("command", REFUSED)
def test_a_refusal_names_options_of_its_command_or_a_command_that_has_them(command: str, answer: Any) -> None:
    words = command.split()
    _, _, err, _ = answer(*words)
    known, given = FLAGS[command_of(words)], {word for word in words if word.startswith("--")}
    if words[0] == "explain" and words[1] in "MWU":
        known = known - {flag for each in options_of(COMMANDS["fit"]) for flag in each.opts} | {"--absent", "--target"}
    said = " ".join(err.split()).partition("Try 'bayesnb")
    said = said[0] + said[2].partition("--help' for help.")[2]
    for found in re.finditer(r"(?:bayesnb (?P<command>[a-z]+(?: [a-z-]+)?) )?(?P<flag>--[a-z-]+)", said):
        named, flag = found["command"], found["flag"]
        assert flag in (FLAGS.get(named) or FLAGS[named.split()[0]] if named else known | given), said


SOME = [f"--dependence {name}" for name in ("auto", "weighted", "none")]


@pytest.mark.parametrize(
    ("dependence", "more"),
    [
        # An average takes the time of all others.
        pytest.param(
            dependence, more, marks=[pytest.mark.slow] * ("auto" in dependence and more[:5] in ("--col", "--est"))
        )
        for dependence in ("", *SOME)
        for more in ("", "--columns grow", "--estimate map", "--unknown q")
    ],
)
def test_a_dependence_that_is_named_is_fitted_or_refused_and_the_default_says_why_there_is_none(
    dependence: str, more: str, answer: Any
) -> None:
    code, _, err, _ = answer(*f"fit few.csv --target y {dependence} {more} -o o.bayesnb".split())
    named = dependence.partition(" ")[2]
    if more == "--unknown q" and named not in ("", "none"):
        assert (code, "use --dependence none" in err) == (1, True)
        return
    assert code == 0, err
    assert load("o.bayesnb").dependence == {"none": None, "": None if more else "auto"}.get(named, named)
    assert ("no dependence was added" in err) == (not named and more != "")


def test_a_model_whose_columns_may_grow_learns_rows_as_the_refusal_of_another_model_says(answer: Any) -> None:
    said = answer("update", "M", "lacks.csv")[2]
    assert "let columns join with bayesnb fit --columns grow" in said
    for dependence, joins in (("", True), ("--dependence weighted", False)):
        fit = f"fit t.csv --target y --drop extra --drop w --columns grow {dependence} -o g.bayesnb"
        assert answer(*fit.split())[0] == 0
        assert answer("update", "g.bayesnb", "lacks.csv")[0] == 0
        code, _, err, _ = answer("update", "g.bayesnb", "wide.csv")
        assert ((code == 0), "not fitted" in err) == (joins, False)


def test_rows_with_more_gaps_than_the_learned_rows_are_not_forgotten(answer: Any, folder: Path) -> None:
    before = (folder / "M").read_bytes()
    code, _, err, _ = answer("forget", "M", "few.csv", "--na", "colour=red", "--na", "colour=blue")
    assert (code, "rows with as many missing cells were never learned" in err) == (1, True)
    assert (folder / "M").read_bytes() == before
