"""The advice of the command line: who copies what it prints gets the model that it advises."""

import ast
import json
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bayesnb as nb
from bayesnb import BayesianNB, checks, cli, datasets, load, wording
from bayesnb.cli.settings import Settings, fit_command
from bayesnb.data.csv_reader import Format
from bayesnb.data.specifications import parsed
from bayesnb.findings import examine
from bayesnb.statistics.statistic import same
from bayesnb.wording import Cure, Message, written

pytestmark = pytest.mark.usefixtures("examined_once")


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    """Run a command in a folder of its own; return its exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def command(*arguments):
        with pytest.raises(SystemExit) as ended:
            cli.main([str(a) for a in arguments])
        printed = capsys.readouterr()
        return ended.value.code or 0, printed.out, printed.err

    return command


def labels(rng, log_odds, names):
    return np.where(rng.random(len(log_odds)) < 1 / (1 + np.exp(-log_odds)), *names)


def export(rng, n):
    """Customers with decimal commas and dates; turnover, orders and discount follow one hidden cause."""
    cause, tariff = rng.normal(size=n), rng.choice([1, 2, 3], n, p=[0.5, 0.3, 0.2])
    complaints = rng.poisson(np.where(tariff == 2, 1.5, 0.5))
    turnover = np.exp(6.5 + 0.8 * cause + 0.4 * rng.normal(size=n))
    discount = np.where(rng.random(n) < 0.55, 0, 4 * np.exp(0.5 * cause + 0.6 * rng.normal(size=n)))
    table = pd.DataFrame({
        "Kunde seit": pd.date_range("2015-01-01", periods=n).strftime("%d.%m.%Y"),
        "Tarif": tariff,
        "Umsatz": [f"{value:.2f}".replace(".", ",") for value in turnover],
        "Bestellungen": 1 + rng.poisson(np.exp(1 + 0.4 * cause)),
        "Rabatt": [f"{value:.2f}".replace(".", ",") for value in discount],
        "Beschwerden": complaints,
    })  # fmt: skip
    return table.assign(y=labels(rng, -0.9 - 0.5 * cause + 0.9 * (tariff == 2) + 0.6 * complaints, ("ja", "nein")))


def survey(rng, n):
    """Answers from 1 to 5 to questions that ask nearly the same; 99 is no answer."""
    mood = rng.normal(size=n)
    table = pd.DataFrame({f"Q{k}": np.round(3 + 0.9 * mood + 0.8 * rng.normal(size=n)).clip(1, 5) for k in range(6)})
    table["Q3"] = table["Q3"].mask(rng.random(n) < 0.06, 99)
    return table.astype(int).assign(y=labels(rng, 0.9 * mood - 0.9, ("leaves", "stays")))


def laboratory(rng, n):
    """Skewed values that rise together; -999 is no value, and one is measured if somebody looks ill."""
    ill = rng.random(n) < 0.25
    state = rng.normal(size=n) + 0.9 * ill
    lactate = np.exp(0.2 + 0.4 * state + 0.3 * rng.normal(size=n)).round(2)
    table = pd.DataFrame({
        "crp": np.exp(0.8 + 0.9 * state + 0.5 * rng.normal(size=n)).round(2),
        "ferritin": np.exp(4.3 + 0.6 * state + 0.5 * rng.normal(size=n)).round(1),
        "sodium": np.where(rng.random(n) < 0.08, -999, (140 - state + 2 * rng.normal(size=n)).round()),
        "lactate": np.where(rng.random(n) < np.where(ill, 0.25, 0.65), np.nan, lactate),
        "troponin": np.where(rng.random(n) < 0.5, 0, np.exp(1 + 0.8 * state + 0.7 * rng.normal(size=n))).round(2),
    })  # fmt: skip
    return table.assign(y=np.where(ill, "sepsis", "none"))


TABLES = {"export": export, "survey": survey, "laboratory": laboratory}


@pytest.mark.filterwarnings("ignore:columns that were not fitted are ignored")
@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_neither_the_default_nor_the_command_that_inspect_prints_is_behind_the_class_shares_on_new_rows(name, run):
    table = TABLES[name](np.random.default_rng(5), 500)
    kinds = {"sep": ";"} if name == "export" else {}
    table[:350].to_csv("train.csv", index=False, **kinds)
    table[350:].to_csv("test.csv", index=False, **kinds)
    command = run("inspect", "train.csv", "--target", "y")[1].splitlines()[-1]
    assert run(*shlex.split(command)[1:])[0] == 0
    assert run("fit", "train.csv", "--target", "y", "-o", "default.bayesnb")[0] == 0
    losses = {}
    for model in ("train.bayesnb", "default.bayesnb"):
        code, out, err = run("score", model, "test.csv", "--format", "json")
        assert code == 0, err
        losses[model] = next(line for line in json.loads(out)["scores"] if line["score"] == "log_loss")
    for model in losses.values():
        assert model["value"] < model["frequencies"]
    assert losses["train.bayesnb"]["value"] < losses["default.bayesnb"]["value"] + 0.02


def test_the_command_that_inspect_prints_takes_its_own_advice_on_families_and_gaps(run):
    laboratory(np.random.default_rng(0), 600).assign(ward=np.resize([1, 2, 3], 600)).to_csv("t.csv", index=False)
    command = run("inspect", "t.csv", "--target", "y")[1].splitlines()[-1]
    for said in (
        "--na sodium=-999", "crp=log-normal", "troponin=hurdle", "ward=categorical", "--feature lactate=missing",
    ):  # fmt: skip
        assert said in command
    assert run(*shlex.split(command)[1:], "--dependence", "none")[0] == 0
    assert load("t.bayesnb").classifier_.schema.features["ward"].levels == ((1, 2, 3),)


@pytest.mark.slow
def test_fit_averages_by_default_and_says_with_which_weights(run):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=60)
    x = rng.normal(y)
    pd.DataFrame({f"x{k}": x + 0.1 * rng.normal(size=60) for k in range(3)} | {"y": y}).to_csv("t.csv", index=False)
    code, out, err = run("fit", "t.csv", "--target", "y", "-o", "m.bayesnb")
    assert (code, out) == (0, "")
    (line,) = [line for line in err.splitlines() if "average" in line]
    assert line.startswith("--dependence auto: average of 6 models (weights from held-out rows): ")
    assert sum(map(int, re.findall(r"(\d+)%", line))) == pytest.approx(100, abs=3)
    assert load("m.bayesnb").dependence == "auto"
    assert run("report", "t.csv", "--target", "y", "--explain", "0", "-o", "m.md")[0] == 0
    assert "Dependence: auto; average of 6 models (weights from held-out rows): " in Path("m.md").read_text()
    assert "average" not in run("fit", "t.csv", "--target", "y", "--dependence", "none", "-o", "m.bayesnb")[2]
    assert load("m.bayesnb").dependence is None


def test_the_command_keeps_every_option_that_was_given(run):
    table = pd.DataFrame({"a": ["1", "?", "-", "4"] * 20, "b": range(80), "c": [0.5, 1, 2] * 26 + [3, 4]})
    table.assign(y=[0, 1] * 40).to_csv("t.csv", index=False)
    asked = ["--na", "?", "--na", "-", "--drop", "b", "--feature", "c=log-normal", "--m", "2", "--unseen", "new"]
    _, out, _ = run("inspect", "t.csv", "--target", "y", *asked)
    command = shlex.split(out.splitlines()[-1])
    for option, value in zip(asked[::2], asked[1::2], strict=True):
        assert (option, value) in zip(command, [*command[1:], ""][: len(command)], strict=True) or option == "--m"
    assert "--m 2.0" in out.splitlines()[-1]
    assert run(*command[1:], "--dependence", "none")[0] == 0


def test_a_family_that_was_chosen_is_kept_and_gaps_are_counted_on_top_of_it(run):
    laboratory(np.random.default_rng(0), 600).to_csv("t.csv", index=False)
    chosen = ("--feature", "lactate=gaussian", "--feature", "crp=gaussian")
    command = run("inspect", "t.csv", "--target", "y", *chosen)[1].splitlines()[-1]
    assert "--feature lactate=missing:gaussian" in command
    assert "--feature crp=gaussian" in command
    assert "crp=log-normal" not in command


def test_a_mark_of_gaps_hides_nothing_of_the_other_cells():
    rng = np.random.default_rng(0)
    answers = np.where(rng.random(300) < 0.1, 99, rng.integers(1, 6, 300))
    income = np.where(rng.random(300) < 0.1, "n.a.", np.exp(rng.normal(8, 1.3, 300)).round(1).astype(str))
    found = examine(pd.DataFrame({"Q": answers, "income": income}), None, 300)
    said = {(remark.column, *remark.option, *remark.families[:1]) for remark in found}
    assert said == {
        ("Q", "--na", "Q=99"),
        ("Q", "categorical"),
        ("income", "--na", "income=n.a."),
        ("income", "log-normal"),
    }


# Which line of the table to take


def test_compare_says_which_model_to_take_and_its_last_line_fits_it(run):
    code, out, _ = run("compare", "penguins", "--drop", "year", "--dependence", "pairwise")
    assert code == 0
    assert "Recommended: --dependence pairwise; its log loss is 0.0" in " ".join(out.split())
    command = out.splitlines()[-1]
    assert command == "bayesnb fit penguins --target species --drop year --dependence pairwise -o penguins.bayesnb"
    assert run(*shlex.split(command)[1:])[0] == 0
    assert load("penguins.bayesnb").dependence == "pairwise"


# The language of the command line


def test_an_error_names_the_option_that_cures_it(run):
    pd.DataFrame({"the fare": [0.0, 7.25, 71.3, 8.05] * 5, "y": [0, 1] * 10}).to_csv("t.csv", index=False)
    code, _, err = run("fit", "t.csv", "--target", "y", "--feature", "the fare=log-normal", "-o", "m.bayesnb")
    assert code == 1
    assert err.endswith(
        "column 'the fare' holds 0 in row 0, where log-normal needs a positive number; use --feature 'the fare'="
        "hurdle:log-normal or --feature 'the fare'=gaussian, or --na 'the fare=0' to read it as "
        "missing (rows are counted from 0)\n"
    )
    assert run("fit", "t.csv", "--target", "y", "--feature", "the fare=hurdle:log-normal", "-o", "m.bayesnb")[0] == 0


@pytest.mark.parametrize(
    ("cure", "python", "options"),
    [
        (Cure("dependence", "pairwise"), 'dependence="pairwise"', "--dependence pairwise"),
        (Cure("dependence"), "dependence=None", "--dependence none"),
        (Cure("family", "PolyaTree"), "nb.families.PolyaTree()", "polya-tree"),
        (Cure("family", "Gaussian", "a"), "nb.Gaussian()", "--feature a=gaussian"),
        (Cure("features", "Poisson", "my id"), "features={'my id': nb.Poisson()}", "--feature 'my id'=poisson"),
        (Cure("features", column="a"), "features={'a': ...}", "--feature a=FAMILY"),
        (Cure("features", ("Hurdle", "LogNormal"), "a"), "features={'a': nb.families.Hurdle(nb.families.LogNormal())}",
         "--feature a=hurdle:log-normal"),
        (Cure("features", ("Missing", "Binned", (1, 2.5)), "a"),
         "features={'a': nb.Missing(nb.Binned(edges=[1, 2.5]))}",
         "--feature a=missing:binned:1,2.5"),
        (Cure("features", ("Ordinal", ("low", "so so")), "a"),
         "features={'a': nb.families.Ordinal(order=['low', 'so so'])}",
         "--feature 'a=ordinal:low,so so'"),
        (Cure("drop", column="my id"), "leave it out", "leave it out with --drop 'my id'"),
    ],
)  # fmt: skip
def test_a_cure_is_spelled_in_python_and_as_options(cure, python, options):
    said = Message("column {column!r}: {cure}", column="Total() dependence=None {x}", cure=cure)
    assert str(said) == f"column 'Total() dependence=None {{x}}': {python}"
    assert written(said, "command") == f"column 'Total() dependence=None {{x}}': {options}"
    if cure.option == "features" and cure.value is not None:
        # Both spellings are the same specification.
        given = eval(f"dict({python})", {"nb": nb})["features"]
        assert same(given, Settings(feature=tuple(shlex.split(options)[1:])).features())


def test_the_command_line_leaves_names_of_the_user_as_they_are(run):
    name = "Gaussian() dependence=None"
    pd.DataFrame({name: [0.0, 7.25, 71.3, 8.05] * 5, "y": [0, 1] * 10}).to_csv("t.csv", index=False)
    code, _, err = run("fit", "t.csv", "--target", "y", "--feature", f"{name}=log-normal", "-o", "m.bayesnb")
    assert code == 1
    assert f"column {name!r} holds 0 in row 0, where log-normal needs" in err
    assert f"--feature '{name}'=gaussian" in err


def test_audit_and_score_advise_in_options(run):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=300)
    x = rng.normal(y)
    pd.DataFrame({f"x{k}": x for k in range(4)} | {"y": y}).round(4).to_csv("t.csv", index=False)
    assert "use --dependence " in " ".join(run("audit", "t.csv", "--target", "y")[1].split())
    BayesianNB().fit("t.csv", "y").save("m.bayesnb")
    for layout in ("table", "json"):
        assert "overconfident (try --dependence auto)" in " ".join(
            run("score", "m.bayesnb", "t.csv", "--format", layout)[1].split()
        )


def test_a_command_without_a_target_says_what_to_write():
    assert fit_command("a b.csv", None, Format(), Settings()) == "bayesnb fit 'a b.csv' --target COLUMN -o a-b.bayesnb"


def scale(rng, n, polar):
    """Answers from 0 to 10 that many angry customers answer with 0, or that are about normal in both classes."""
    y = rng.choice(["leaves", "stays"], n)
    angry = polar & (rng.random(n) < np.where(y == "leaves", 0.4, 0.1))
    answers = np.where(angry, 0, rng.normal(8 if polar else np.where(y == "stays", 6, 4.5), 2, n).round().clip(0, 10))
    return pd.DataFrame({"recommend": answers.astype(int), "y": y})


def test_a_scale_is_advised_as_ordered_levels_where_they_predict_better(run):
    rng = np.random.default_rng(3)
    table = scale(rng, 600, polar=True)
    table["recommend"] = table["recommend"].where(rng.random(600) > 0.05)
    advised = "--feature recommend=ordinal:0,1,2,3,4,5,6,7,8,9,10"
    assert {str(remark.said): remark.families for remark in examine(table, "y", 600)} == {
        "whole numbers from 0 to 10, which predict best as ordered answers: "
        "features={'recommend': nb.families.Ordinal(order=[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10])}. Any other number in "
        "new rows counts as missing, so add numbers that may still come; MAP does not exist then": (
            advised.partition("=")[2],
        )
    }
    for some in (table.sample(frac=1, random_state=0), pd.concat([table, table]).astype({"recommend": "Int64"})):
        assert [remark.families for remark in examine(some, "y", len(some))] == [(advised.partition("=")[2],)]
    table.to_csv("table.csv", index=False)
    code, out, _ = run("inspect", "table.csv", "--target", "y")
    assert (code, advised in out.splitlines()[-1]) == (0, True)
    assert run(*shlex.split(out.splitlines()[-1])[1:], "--dependence", "none")[0] == 0
    assert load("table.bayesnb").tables()["recommend"].shape == (2, 11)
    assert "ordered answers" not in run("inspect", "table.csv", "--target", "y", *shlex.split(advised))[1]
    for some, target in ((table, None), (scale(rng, 600, polar=False), "y")):
        said = " ".join(str(remark.said) for remark in examine(some, target, 600))
        assert "best as ordered answers" not in said


RATINGS = np.resize([1, 2, 3, 4, 5, 4, 2], 210)


@pytest.mark.parametrize(
    ("cells", "family"),
    [
        (RATINGS, "ordinal"), (RATINGS - 3, "ordinal"), (RATINGS * 1.0, "ordinal"), (RATINGS[RATINGS < 4], "ordinal"),
        ([f"Q{k}" for k in RATINGS], "ordinal:Q1,Q2,Q3,Q4,Q5"), ([f"{k} Sterne" for k in RATINGS], "ordinal"),
        (np.where(RATINGS > 2, 7, RATINGS), None), (RATINGS[:30], None), ([f"Q{k}" for k in RATINGS if k != 3], None),
        ([f"{'PQ'[k % 2]}{k}" for k in RATINGS], None),
    ],
)  # fmt: skip
def test_whole_numbers_that_may_be_steps_of_a_scale_are_told_which_family_is_ordered(run, cells, family):
    pd.DataFrame({"stars": cells, "y": np.resize(["a", "b", "a"], len(cells))}).to_csv("table.csv", index=False)
    _, out, _ = run("inspect", "table.csv", "--target", "y")
    said = re.findall(r"If they are steps of a scale: --feature stars=([\w:,]+)", " ".join(out.split()))
    assert said == [family] * (family is not None)
    assert "ordinal" not in out.splitlines()[-1]
    if family is not None:
        read = run("inspect", "table.csv", "--target", "y", "--feature", f"stars={family}")[1]
        assert re.search(r"stars +│ Ordinal", read)
        assert "scale" not in read


def test_a_column_whose_name_has_a_unit_is_meant_by_its_bare_name(run):
    table = pd.DataFrame({"N (kg/ha)": [1.5, 2, 3, 4] * 5, "TKM [g]": [4.5, 2, 3, 1] * 5, "y": ["a", "b"] * 10})
    table.to_csv("t.csv", index=False)
    for option, meant in (
        ("--feature=n=gaussian", "N (kg/ha)"),
        ("--drop=TKM", "TKM [g]"),
        ("--weight=TKM", "TKM [g]"),
    ):
        code, _, err = run("fit", "t.csv", "--target", "y", option, "-o", "m.bayesnb")
        assert code != 0
        assert f"did you mean '{meant}'?" in err
    for option in ("--na", "--keep-na"):
        err = run("inspect", "t.csv", "--target", "y", option, "TKM=9")[2]
        assert f"{option} TKM=9: no column is called 'TKM'; did you mean {option} 'TKM [g]=9'?" in err
        for text in ("TKM [g]=9", "k=9", "9"):
            err = run("inspect", "t.csv", "--target", "y", option, text)[2]
            assert "did you mean" not in err
            read = "no column is called 'k', so only cells 'k=9' are read as "
            assert (read + ("missing" if option == "--na" else "values") in err) == (text == "k=9")
        asked = (option, "TKM [g]=9", "--drop", "TKM [g]", "--dependence", "none")
        run("fit", "t.csv", "--target", "y", *asked, "-o", f"{option}.bayesnb")
        table.rename(columns={"TKM [g]": "TKM"}).to_csv("new.csv", index=False)
        code, _, err = run("predict", f"./{option}.bayesnb", "new.csv")
        assert code == 0
        assert "did you mean" not in err
    # Two names begin with N: which one is meant is not known.
    assert wording.meant("N", ["N (kg/ha)", "N (g/l)", "pH"]) == ""


def test_a_target_of_continuous_numbers_is_refused_by_its_name(run):
    table = pd.DataFrame({"a": range(20), "TKM (g)": np.linspace(40, 50, 20)})
    table.to_csv("t.csv", index=False)
    code, _, err = run("fit", "t.csv", "--target", "TKM (g)", "-o", "m.bayesnb")
    assert code != 0
    assert "column 'TKM (g)' holds continuous numbers, such as 40.5263" in err
    with pytest.raises(ValueError, match=r"column 'TKM \(g\)' holds continuous .* pd.qcut\(y, 3\)"):
        BayesianNB().fit(table[["a"]], table["TKM (g)"])


def test_a_column_that_was_not_fitted_is_mentioned_as_in_python(run):
    table = pd.DataFrame({"a": [1.5, 2, 3, 4] * 5, "id": range(20), "y": ["a", "b"] * 10})
    table.to_csv("t.csv", index=False)
    assert run("fit", "t.csv", "--target", "y", "--drop", "id", "--dependence", "none", "-o", "m.bayesnb")[0] == 0
    assert "not fitted" not in run("predict", "m.bayesnb", "t.csv")[2]
    clf = load("m.bayesnb")
    clf.predict(table)  # Any warning would be an error.
    checks.column_gains(clf, table, table["y"])
    with pytest.warns(UserWarning, match=r"not fitted are ignored: \['new'\]"):
        clf.predict(table.assign(new=1))
    table.assign(new=1).to_csv("t.csv", index=False)
    assert "columns that were not fitted are ignored: ['new']" in run("predict", "m.bayesnb", "t.csv")[2]
    assert "not fitted" not in run("predict", "m.bayesnb", "t.csv", "--keep", "new")[2]
    # The weights were used, not fitted.
    weighted = ("fit", "t.csv", "--target", "y", "--drop", "id", "--weight", "new", "--dependence", "none")
    assert run(*weighted, "-o", "w.bayesnb")[0] == 0
    assert "not fitted" not in run("predict", "w.bayesnb", "t.csv")[2]


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("export auto.bayesnb", "use bayesnb fit --estimate mean or bayesnb fit --estimate map"),
        ("export weighted.bayesnb", "use bayesnb fit --estimate mean or bayesnb fit --estimate map"),
        ("merge plain.bayesnb other.bayesnb -o m.bayesnb", "let columns join with bayesnb fit --columns grow"),
    ],
)
def test_an_error_about_a_model_names_options_of_the_command_line(run, command, said):
    X, y = datasets.play_tennis()
    for dependence in ("auto", "weighted"):
        if dependence in command:
            BayesianNB(dependence=dependence).fit(X, y).save(f"{dependence}.bayesnb")
    BayesianNB().fit(X, y).save("plain.bayesnb")
    BayesianNB().fit(X.drop(columns="wind"), y).save("other.bayesnb")
    code, _, err = run(*command.split())
    assert code == 1
    assert said in " ".join(err.split())
    assert '="' not in err


def test_the_last_line_of_compare_has_the_options_that_inspect_advises_and_says_which_are_not_scored(run):
    r = np.random.default_rng(1)
    y = r.integers(0, 2, 300)
    amount, visits = np.exp(r.normal(3 + y * 0.5, 1.2)).round(2), r.negative_binomial(1, 0.1 + 0.1 * y)
    age = np.where(np.arange(300) < 40, 999, r.normal(45 + 5 * y, 9).round())
    table = {
        "amount": amount,
        "visits": visits,
        "age": age,
        "key": r.permutation(300) + 5000,
        "y": np.where(y, "u", "v"),
    }
    pd.DataFrame(table).to_csv("t.csv", index=False)
    command = run("inspect", "t.csv", "--target", "y")[1].splitlines()[-1]
    advised = re.findall(r"--(?:na|feature|drop) \S+", command)
    assert [option.split()[0] for option in advised] == ["--na", "--drop", "--feature", "--feature"]
    asked = ("compare", "t.csv", "--target", "y", "--dependence", "none")
    _, out, said = run(*asked)
    assert re.findall(r"--(?:na|feature|drop) \S+", out.splitlines()[-1]) == advised
    assert json.loads(run(*asked, "--format", "json")[1])["fit"] == out.splitlines()[-1]
    expected = f"{advised[1]}, and {' '.join(advised[2:])}, and {advised[0]} if this text means missing"
    assert f"these scores do not use; to score them, add {expected}" in " ".join(said.split())
    _, out, said = run(*asked, *" ".join(advised).split())
    assert re.findall(r"--(?:na|feature|drop) \S+", out.splitlines()[-1]) == advised
    assert "the last line adds" not in said


def test_a_column_cannot_be_specified_and_dropped(run):
    pd.DataFrame({"a": [1, 2], "b": [3, 4], "y": ["u", "v"]}).to_csv("t.csv", index=False)
    code, _, err = run("fit", "t.csv", "--target", "y", "--drop", "a", "--feature", "a=poisson", "-o", "m.bayesnb")
    assert code != 0
    assert "'a', and --drop leaves it out" in err


def test_a_word_that_may_be_a_level_is_not_read_as_missing_by_the_suggested_command(run):
    r = np.random.default_rng(0)
    y = r.random(400) < 0.3
    shop = np.where(r.random(400) < np.where(y, 0.3, 0.1), "none", r.choice(["Ems", "Aar", "Reuss", "Sihl"], 400))
    pd.DataFrame({"shop": shop, "x": r.normal(size=400), "y": np.where(y, "u", "v")}).to_csv("t.csv", index=False)
    out = " ".join(run("inspect", "t.csv", "--target", "y")[1].split())
    assert "shop: 12 % are 'none', a level like any other: if it means missing, --na shop=none" in out
    assert "missing in" not in out
    assert "bayesnb fit t.csv --target y -o t.bayesnb" in out
    # Both options answer the question.
    assert "a level like any other" not in run("inspect", "t.csv", "--target", "y", "--keep-na", "shop=none")[1]
    assert "missing in" in " ".join(run("inspect", "t.csv", "--target", "y", "--na", "shop=none")[1].split())


def test_a_question_about_na_is_not_asked_again_if_it_is_answered(run):
    r = np.random.default_rng(0)
    land = np.where(r.random(400) < 0.05, "", r.choice(["AT", "BR", "DE", "FR", "NA"], 400))
    pd.DataFrame({"land": land, "x": r.normal(size=400), "y": r.choice(["u", "v"], 400)}).to_csv("t.csv", index=False)
    assert "if NA is one of them, add --keep-na land=NA" in " ".join(
        run("inspect", "t.csv", "--target", "y")[1].split()
    )
    for answer in ("land=NA", "NA"):
        assert "if NA is one" not in run("inspect", "t.csv", "--target", "y", "--keep-na", answer)[1]


def test_refusals_lead_to_no_column_word_or_row_that_helps_nobody(run):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"price": rng.random(40), "postcode": range(40), "fee": rng.random(40), "outcome": ["a", "b"] * 20}
    )
    table.to_csv("t.csv", index=False)
    table.drop(columns=["outcome", "fee"]).to_csv("new.csv", index=False)
    assert run("fit", "t.csv", "--target", "outcome", "--drop", "postcode", "--dependence", "none", "-o", "m")[0] == 0
    for command in ("score", "update"):
        code, _, err = run(command, "m", "new.csv")
        assert code
        assert "did you mean" not in err
    code, _, err = run("explain", "m", "new.csv", "--row", "-1")
    assert code
    assert "rows are counted from 0" in err
    code, _, err = run("explain", "m", "new.csv", "--row", "3")
    assert code
    assert "column 'fee' was fitted and is not in this table" in err
    assert "of the source" not in err
    code, _, err = run("compare", "t.csv", "--target", "outcome", "--dependence", "weigthed")
    assert "'None'" not in err


def test_a_leak_is_named_by_each_command_that_fits_and_first_on_the_page(run, few_drawn_labels):
    rng = np.random.default_rng(0)
    y = rng.choice(["home", "ward", "other"], 100)
    cells = {f"day {k}": [f"{1 + d:02}.{m:02}.2025" for d, m in rng.integers(1, 12, (100, 2))] for k in range(3)}
    for k in range(3):
        cells[f"part {k}"] = [f"{a}/{b}" for a, b in rng.integers(10, 20, (100, 2))]
    late = np.where(rng.random(100) < 0.95, y, "other")
    pd.DataFrame({**cells, "late": late, "y": y}).to_csv("t.csv", index=False)
    given, said = (
        ["t.csv", "--target", "y", "--dependence", "none"],
        "column 'late': predicts the class by itself in all",
    )
    for command in (["fit", "-o", "m.bayesnb"], ["compare"], ["report", "--explain", 0, "--draws", 20, "-o", "t.md"]):
        assert f"warning: {said}" in run(command[0], *given, *command[1:])[2]
    look = Path("t.md").read_text().split("## What to look at")[1]
    first = next(line for line in look.splitlines() if line.startswith("- "))
    assert first.lower().startswith(f"- {said}")
    # A stated family answers the question.
    assert "column 'late'" not in run("fit", *given, "--feature", "late=categorical", "-o", "n.bayesnb")[2]


def test_every_family_that_inspect_proposes_can_be_pasted_after_import_bayesnb_as_nb():
    rng, n = np.random.default_rng(0), 400
    y = rng.choice(["a", "b"], n)
    X = pd.DataFrame({
        "visits": rng.poisson(np.where(y == "a", 3, 8)), "spend": rng.lognormal(0, 1.2, n),
        "score": rng.integers(0, 9, n), "paid": np.where(rng.random(n) < 0.4, 0, rng.lognormal(3, 1, n)),
        "part": (rng.normal(2, 0.2, n)).round(1),
        "fee": [f"{k % 37 + 3},50 €" for k in range(n)], "crp": [("<5", str(k % 90 + 5))[k % 3 > 0] for k in range(n)],
        "sex": rng.choice(["f", "F", "m", "female"], n), "agree": rng.choice(["agree", "disagree", "neutral"], n),
        "due": rng.choice(["03/04/2025", "05/06/2025", "07/08/2025"], n), "fruit": rng.choice(["x;y", "y", "x"], n),
        "note": [" ".join(rng.choice(["late", "early", "call", "pay", "not", "ok", "again"], 6)) for _ in range(n)],
        "size": rng.choice(["1.234 €", "5.678 €", "9.876 €"], n),
    })  # fmt: skip
    remarks = nb.inspect(X, y).remarks
    cures = [cure for remark in remarks for cure in remark.cures]
    assert len({cure.word.partition(":")[0] for cure in cures}) >= 7
    for cure in cures:
        pasted = eval(f"dict({cure.written()})", {"nb": nb})["features"]
        assert same(pasted, {cure.column: parsed(cure.word)}), cure


def test_families_in_the_advice_of_messages_are_written_after_nb():
    bare = re.compile(r"(features|unlabelled)=(\{[\w'\"!{}]+: )?(families\.)?[A-Z]\w+\(|(?<![\w.])families\.[A-Z]\w+\(")
    for path in sorted(Path(nb.__file__).parent.rglob("*.py")):
        if not re.search(r"(features|unlabelled)=|families\.[A-Z]", code := path.read_text()):
            continue
        tree = ast.parse(code)
        own = [node for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)]
        docs = {id(node.value) for node in own}
        texts = [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and id(n) not in docs]
        assert not [text for text in texts if isinstance(text, str) and bare.search(text)], path


def test_the_option_that_keeps_a_class_named_like_a_marker_ends_the_question(run):
    pd.DataFrame({"x": np.arange(60) % 7, "harm": np.resize(["none", "some"], 60)}).to_csv("t.csv", index=False)
    _, out, _ = run("inspect", "t.csv", "--target", "harm")
    assert "--na harm=none; if it is a class, --keep-na harm=none, which ends this question" in " ".join(out.split())
    assert "class 'none'" not in run("inspect", "t.csv", "--target", "harm", "--keep-na", "harm=none")[1]


def commas(numbers, form="{:.2f}"):
    return [form.format(x).replace(".", ",") for x in numbers]


AS_TEXT = {
    "skewed": lambda rng, y: rng.lognormal(3 + (y == "b"), 1),
    "a marker": lambda rng, y: np.where(rng.random(len(y)) < 0.1, -999, rng.normal(5, 1, len(y))),
    "zeros": lambda rng, y: np.where(rng.random(len(y)) < 0.3, 0, rng.lognormal(3, 0.2, len(y))),
    "counts the rows": lambda _, y: np.arange(len(y)) + 1.0,
    "a typing error": lambda rng, y: np.append(rng.normal(5, 1, len(y) - 1), 500),
    "plain": lambda rng, y: rng.normal(5, 1, len(y)),
}
"""Columns of numbers, by what deserves attention in them."""


@pytest.mark.parametrize("kind", AS_TEXT)
@pytest.mark.parametrize("container", ["csv", "parquet"])
def test_numbers_written_as_text_are_examined_and_fitted_as_in_a_file(run, kind, container):
    rng = np.random.default_rng(0)
    y = rng.choice(["a", "b"], 300)
    numbers = AS_TEXT[kind](rng, y).round(2)
    as_text = pd.DataFrame({"x": commas(numbers), "z": rng.normal(size=300), "y": y})
    as_numbers = as_text.assign(x=numbers)
    found, expected = nb.inspect(as_text, "y"), nb.inspect(as_numbers, "y")
    said = [str(remark.said) for remark in found.remarks if "numbers written as text" not in remark.said]
    assert said == [str(remark.said) for remark in expected.remarks]
    clf = BayesianNB(found.features, dependence=None).fit(found.mended(as_text).drop(columns="y"), y)
    if container == "csv":
        as_text.assign(z=commas(as_text["z"], "{:.17g}")).to_csv("t.csv", sep=";", index=False)
    else:
        as_text.to_parquet("t.parquet")
    code, out, _ = run("inspect", f"t.{container}", "--target", "y")
    assert code == 0
    code, _, err = run(*shlex.split(out.rpartition("bayesnb ")[2]), "--dependence", "none")
    assert code == 0, err
    mended = found.mended(as_text).drop(columns="y")
    np.testing.assert_allclose(load("t.bayesnb").predict_proba(mended), clf.predict_proba(mended), rtol=1e-9)


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize(
    ("others", "mark"),
    [
        ({"t": ",", "price": ","}, ","),
        ({"t": "."}, "."),
        ({"price": ","}, ","),
        ({"t": ",", "price": "."}, None),
        ({}, None),
    ],
)
def test_other_columns_settle_a_decimal_mark_in_the_advice_only(run, others, mark, order):
    rng = np.random.default_rng(0)
    y, lat = rng.choice(["a", "b"], 200), rng.normal(60, 1, 200)
    table = {"lat": [f"{x:.3f}°".replace(".", ",") for x in lat], "y": y}
    if mark == ".":
        table["lat"] = [f"{x:.3f}°" for x in lat]
    for name, own in others.items():
        table[name] = [f"{x:.1f}{' €' * (name == 'price')}".replace(".", own) for x in rng.normal(7, 1, 200)]
    frame = pd.DataFrame(table)[[*table][::order]]
    frame.to_csv("t.csv", sep=";", index=False)
    found = nb.inspect(frame, "y")
    code, out, _ = run("inspect", "t.csv", "--target", "y")
    assert code == 0
    *screen, command = out.strip().splitlines()
    assumes = " ".join(screen).partition("The last line assumes")[2]
    with pytest.warns(nb.errors.NumbersAsLevelsWarning, match="'lat': its .* levels are numbers with '°'"):
        assert BayesianNB().fit(frame[["lat"]], y).describe()["family"].tolist() == ["Categorical"]
    if mark is None:
        assert "lat" not in found.features
        assert "number:" not in command
        assert not assumes
        return
    assert found.features["lat"] == nb.Number(decimal=mark)
    assert f"lat=number:{mark}" in command
    assert f"the decimal mark of lat is a {'comma' if mark == ',' else 'point'}" in assumes
    assert "the decimal mark of lat is" in str(found)
    stated = run("inspect", "t.csv", "--target", "y", "--feature", "lat=number:.")[1]
    assert "decimal mark" not in stated


@pytest.mark.parametrize(
    ("others", "settled"), [({"t": ","}, True), ({"c": ","}, False), ({"t": ",", "c": "."}, False)]
)
def test_a_few_levels_with_commas_may_be_choices_so_they_settle_no_decimal_mark(others, settled):
    rng = np.random.default_rng(0)
    cells = {"t": [f"{x:.1f}" for x in rng.normal(7, 1, 200)], "c": rng.choice(["1.2", "2.3", "1.3"], 200)}
    table = {name: [cell.replace(".", mark) for cell in cells[name]] for name, mark in others.items()}
    lat = [f"{x:.3f}°".replace(".", ",") for x in rng.normal(60, 1, 200)]
    assert ("lat" in nb.inspect({"lat": lat, **table}).features) == settled
