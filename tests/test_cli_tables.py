"""Somebody else's table on the command line: what inspect sees, the same options everywhere, and what is warned of."""

import io
import json
import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import run
from numpy.testing import assert_allclose

import bayesnb as nb
from bayesnb import BayesianNB, Categorical, Dirichlet, Poisson, datasets, load
from bayesnb.families import LogNormal
from bayesnb.findings import examine
from bayesnb.wording import written

pytestmark = pytest.mark.usefixtures("examined_once", "few_drawn_labels")

N = 200


@pytest.fixture
def done(capsys):
    """Run a command that must succeed, and return what it prints on stdout and stderr."""

    def command(*arguments):
        code, out, err = run(capsys, *arguments)
        assert code == 0, err
        return out, err

    return command


def credit() -> pd.DataFrame:
    """A table with one fault in each column."""
    rng = np.random.default_rng(0)
    y = rng.choice(["good", "bad"], N)
    purpose = rng.choice(["car", "tv", "business", "school"], N)
    return pd.DataFrame(
        {
            "customer_id": np.arange(1000, 1000 + N),
            "key": [f"k{k}" for k in rng.permutation(N)],
            "since": pd.date_range("2020-01-01", periods=N).strftime("%d.%m.%Y"),
            "country": "DE",
            "nothing": np.nan,
            "age": rng.integers(19, 75, N),
            "purpose": purpose,
            "purpose code": [len(p) * 7 + ord(p[0]) for p in purpose],
            "savings": rng.choice(["low", "high", "?"], N, p=[0.5, 0.3, 0.2]),
            "income": np.where(rng.random(N) < 0.1, "n.a. ", rng.normal(3000, 500, N).round(1).astype(str)),
            "debt": np.where(rng.random(N) < 0.1, -999, rng.normal(30, 5, N).round(1)),
            "amount": np.exp(rng.normal(8, 1, N)).round(1),
            "calls": rng.poisson(np.where(y == "good", 0.05, 1.0)),
            "outcome": np.where(y == "good", 1, 2),
            "class": y,
        }
    )


REMARKS = {
    "customer_id": "looks like an identifier",
    "key": "looks like an identifier or free text",
    "since": "dates, read as",
    "country": "constant: every value is 'DE'",
    "nothing": "no row has a value",
    "purpose code": "the same as column 'purpose'",
    "savings": "are '?', a level like any other: if it means missing, --na 'savings=?'",
    "income": "are 'n.a.', so all cells are read as levels: if it means missing, --na income=n.a.",
    "debt": "are -999: if it means missing, --na debt=-999",
    "amount": "skewed and all positive",
    "calls": "counts: --feature calls=poisson",
    "outcome": "tells the class exactly",
}


def test_each_fault_of_a_column_is_remarked_on_and_no_other():
    said = {remark.column: written(remark.said, "command") for remark in examine(credit(), "class", N)}
    assert said.keys() == REMARKS.keys()
    for column, words in REMARKS.items():
        assert words in said[column]


def test_amounts_of_which_many_are_zero_are_remarked_on():
    amount = np.exp(np.linspace(3, 9, N)).round(1) * (np.arange(N) % 4 > 0)
    (remark,) = examine(pd.DataFrame({"claims": amount}), None, N)
    assert written(remark.said, "command") == "25 % are 0, the others positive: --feature claims=hurdle"


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (["a"] * N, "one class"),
        ([f"c{k}" for k in range(N)], "200 classes"),
        (np.linspace(0, 1, N), "as if it were a number"),
    ],
)
def test_a_target_with_one_class_or_hundreds_is_remarked_on(labels, said):
    (remark,) = examine(pd.DataFrame({"x": np.resize([1.5, 2.0, 7.0], N), "y": labels}), "y", N)
    assert remark.column == "y"
    assert remark.serious
    assert said in written(remark.said)


@pytest.mark.parametrize("name", ["Kundennr.", "kundennummer", "Order No", "order_no.", "caseID", "user id"])
def test_whole_numbers_that_never_repeat_are_identifiers_where_their_name_says_so(name):
    numbers = np.random.default_rng(0).choice(1_000_000, N, replace=False)
    assert [remark.drop for remark in examine(pd.DataFrame({name: numbers}), None, N)] == [True]
    assert not examine(pd.DataFrame({"dinner": numbers, "piano": numbers[::-1]}), None, N)


def test_a_class_that_is_a_number_is_said_once(done, tmp_path):
    pd.DataFrame({"x": np.arange(60) % 7, "price": np.arange(60) * 7}).to_csv(tmp_path / "t.csv", index=False)
    out, err = done("inspect", tmp_path / "t.csv", "--target", "price")
    assert out.count("60 classes in 60 rows") == 1
    assert not err
    _, err = done("fit", tmp_path / "t.csv", "--target", "price", "--dependence", "none", "-o", tmp_path / "m.bayesnb")
    assert err.count("warning") == err.count("60 classes in 60 rows") == 1


def test_codes_with_leading_zeros_and_99_where_few_are_so_old_are_remarked_on_and_left_out_of_the_command(
    done, tmp_path
):
    rng = np.random.default_rng(0)
    age = np.where(rng.random(400) < 0.04, 99, rng.normal(50, 12, 400).round())
    age[0] = 101
    codes = [f"{k:06d}" for k in rng.permutation(400)]
    pd.DataFrame({"case": codes, "age": age, "class": rng.choice(["a", "b"], 400)}).to_csv(tmp_path / "t.csv")
    out, _ = done("inspect", tmp_path / "t.csv", "--target", "class", "--format", "json")
    document = json.loads(out)
    remarks = {remark["column"]: remark["remark"] for remark in document["remarks"]}
    assert remarks["case"] == "looks like an identifier or free text: 400 levels in 400 rows"
    assert remarks["age"].endswith("are 99, far more than any value near it: if it means missing, --na age=99")
    assert "--na age=99 --drop 'Unnamed: 0' --drop case " in document["fit"]


def test_a_clean_table_gets_no_serious_remark():
    for name in datasets.names():
        X, y = datasets.load(name)
        found = examine(X.assign(**{y.name: y}), y.name, len(y))
        assert not [remark.sentence for remark in found if remark.serious]


def test_the_command_that_inspect_prints_runs_and_drops_the_columns_it_advises_to_drop(done, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    credit().to_csv("my credit.csv", index=False)
    out, _ = done("inspect", "my credit.csv", "--target", "class")
    command = out.splitlines()[-1]
    assert command.startswith(
        "bayesnb fit 'my credit.csv' --target class --na 'savings=?' --na income=n.a. --na debt=-999 --drop customer_id"
    )
    done(*shlex.split(command)[1:], "--dependence", "none")
    names = load("my-credit.bayesnb").feature_names_in_
    assert set(names) == {"since", "age", "purpose", "savings", "income", "debt", "amount", "calls"}


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param("--feature best", marks=pytest.mark.slow),
        "--feature year=categorical --feature body_mass_g=lognormal",
    ],
)
def test_the_command_at_the_end_of_inspect_fits_the_families_that_were_asked_for(asked, done, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    out, _ = done("inspect", "penguins", *asked.split())
    command = out.splitlines()[-1]
    assert asked in command
    done(*shlex.split(command)[1:], "--dependence", "none")
    schema = load("penguins.bayesnb").classifier_.schema
    assert type(schema.features["body_mass_g"].family).__name__ in ("NegativeBinomial", "LogNormal")


def test_inspect_gives_its_remarks_as_json(done, tmp_path):
    credit().to_csv(tmp_path / "t.csv", index=False)
    said = json.loads(done("inspect", tmp_path / "t.csv", "--target", "class", "--format", "json")[0])
    assert {r["column"]: r["serious"] for r in said["remarks"]}["customer_id"] is True
    assert said["fit"].startswith("bayesnb fit ")
    assert said["read as"] == "utf-8, cells separated by commas, names in the first line"


@pytest.mark.parametrize("verb", ["fit", "compare", "report"])
def test_serious_remarks_are_warnings_in_the_voice_of_the_tool(verb, done, tmp_path):
    credit().to_csv(tmp_path / "t.csv", index=False)
    quick = {
        "fit": ("--dependence", "none", "-o", tmp_path / "m.bayesnb"),
        "compare": ("--dependence", "none", "--draws", 20, "--format", "csv"),
        "report": ("-o", tmp_path / "r.md", "--explain", 0, "--draws", 20, "--dependence", "none"),
    }[verb]
    kept = [option for name in credit() if name not in ("key", "age", "class") for option in ("--drop", name)]
    _, err = done(verb, tmp_path / "t.csv", "--target", "class", *kept, *quick)
    warned = [line for line in err.splitlines() if "warning" in line]
    assert warned == [
        "bayesnb: warning: column 'key': looks like an identifier or free text: 200 levels in 200 rows (leave it out "
        "with --drop key)"
    ]


def test_every_command_that_learns_gives_the_same_model_for_the_same_options(done, tmp_path):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {"a": rng.choice(["u", "v", "w"], 60), "n": rng.poisson(3, 60), "id": range(60), "w": np.resize([1, 2, 0], 60)}
    ).assign(y=rng.choice(["p", "q"], 60))
    frame.to_csv(tmp_path / "t.csv", index=False)
    options = ("--target", "y", "--drop", "id", "--feature", "n=poisson", "--m", 2, "--class-prior", "p=0.3,q=0.7",
               "--weight", "w", "--unseen", "new", "--absent", "missing")  # fmt: skip
    alone = ("--dependence", "none")
    expected = BayesianNB(
        {"a": Categorical(Dirichlet.m_estimate(2)), "n": Poisson()}, class_prior={"p": 0.3, "q": 0.7}, unseen="new"
    ).fit(frame[["a", "n"]], frame["y"], frame["w"])
    proba = dict(zip("pq", expected.predict_proba(frame[["a", "n"]].iloc[[0]])[0], strict=True))
    path = tmp_path / "t.csv"
    done("fit", path, *options, *alone, "-o", tmp_path / "m.bayesnb")
    fitted = load(tmp_path / "m.bayesnb")
    assert fitted.absent == "missing"
    np.testing.assert_allclose(fitted.predict_proba(frame[["a", "n"]].iloc[[0]])[0], list(proba.values()), rtol=1e-9)
    row = ("--row", "a={},n={}".format(*frame[["a", "n"]].iloc[0]))
    compared = json.loads(done("compare", path, *options, *alone, *row, "--format", "json")[0])
    assert compared["rows"][0]["estimates"]["predictive"] == pytest.approx(proba, rel=1e-9)
    explained = json.loads(done("explain", path, *options, *alone, *row, "--format", "json")[0])
    assert explained["probabilities"] == pytest.approx(proba, rel=1e-9)
    done("audit", path, *options)
    done("report", path, *options, *alone, "-o", tmp_path / "r.md", "--explain", 0, "--draws", 20)


ODD = pd.DataFrame({"a=b": ["x, y", "z"] * 5, "c,d": ["p=1", "q"] * 5, "n": range(10), "class": ["u", "v"] * 5})


@pytest.mark.parametrize(
    "row",
    [
        ("--row", "a=b=x, y,c,d=p=1,n=2"),
        ("--row", '{"a=b": "x, y", "c,d": "p=1", "n": 2}'),
        ("--set", "a=b=x, y", "--set", "c,d=p=1", "--set", "n=2"),
    ],
    ids=["items", "JSON", "set"],
)
def test_names_and_values_of_a_row_may_hold_commas_and_equals_signs(row, done, tmp_path):
    ODD.to_csv(tmp_path / "t.csv", index=False)
    said = json.loads(
        done("explain", tmp_path / "t.csv", "--target", "class", *row, "--dependence", "none", "--format", "json")[0]
    )
    assert said["row"] == {"a=b": "x, y", "c,d": "p=1", "n": 2.0}


def test_predict_says_once_how_many_rows_hold_levels_that_were_never_seen(done, capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("bayesnb.data.csv_reader.batch_rows", lambda columns: 2)
    X, y = datasets.play_tennis()
    X.assign(play=y).to_csv(tmp_path / "t.csv", index=False)
    done("fit", tmp_path / "t.csv", "--target", "play", "--dependence", "none", "-o", tmp_path / "m.bayesnb")
    X.replace({"outlook": {"sunny": "Sunny"}, "wind": {"weak": "calm"}}).to_csv(tmp_path / "new.csv", index=False)
    code, _, err = run(capsys, "predict", tmp_path / "m.bayesnb", tmp_path / "new.csv", "--interval")
    assert code == 0
    assert err.splitlines() == [
        "bayesnb: warning: column 'outlook': 5 of 14 rows hold a level never seen ('Sunny', did you mean 'sunny'?), "
        "counted as missing",
        "bayesnb: warning: column 'wind': 8 of 14 rows hold a level never seen ('calm'), counted as missing",
    ]


@pytest.mark.parametrize("scale", [1.0, 1e-6])
def test_numbers_in_another_unit_than_the_learned_ones_are_reported(done, tmp_path, monkeypatch, scale):
    monkeypatch.chdir(tmp_path)
    r = np.random.default_rng(0)
    y = r.integers(0, 2, 200)
    body, income = r.normal(37 + y / 2, 0.6), np.exp(r.normal(8 + y, 1.2))
    X = pd.DataFrame({"body": body.round(1) * scale, "income": income.round() * scale})
    X.assign(y=np.where(y, "u", "v")).to_csv("t.csv", index=False)
    done("fit", "t.csv", "--target", "y", "--dependence", "none", "-o", "m.bayesnb")
    X.to_csv("as-learned.csv", index=False)
    X.assign(body=X["body"].where(np.arange(200) < 197, X["body"] * 1.8 + 32 * scale)).to_csv("new.csv", index=False)
    assert "standard deviations" not in done("predict", "m.bayesnb", "as-learned.csv", "-o", "-")[1]
    err = done("predict", "m.bayesnb", "new.csv", "-o", "-")[1]
    assert "column 'body': 3 of 200 rows hold a number more than 20 standard deviations from the learned mean" in err
    assert "income" not in err
    compare = "compare", "t.csv", "--target", "y", "--dependence", "none"
    for command in (("explain", "m.bayesnb"), compare):
        err = done(*command, "--row", f"body={98.6 * scale}")[1]
        assert "column 'body': 1 of 1 row holds a number more than 20 standard deviations from the learned mean" in err
    assert "standard deviations from" not in done(*compare)[1]


def in_another_unit(n: int, seed: int, share: float) -> pd.DataFrame:
    """Rows with weights, of which a share is in g and the others are in kg, and with log-normal amounts."""
    r = np.random.default_rng(seed)
    y = r.integers(0, 2, n)
    weight = r.normal(36 - 3 * y, 3).round(1)
    amount = np.exp(r.normal(8 + y, 2)).round(2)
    return pd.DataFrame({
        "weight": np.where(r.random(n) < share, weight * 1000, weight), "amount": amount,
        "fate": np.where(y, "dies", "survives"),
    })  # fmt: skip


FAR = "column 'weight': 14 of 100 rows hold a number more than 20 standard deviations from the learned mean"


def test_every_command_warns_once_of_new_rows_in_another_unit(done, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("bayesnb.data.csv_reader.batch_rows", lambda columns: 30)
    tables = {"kg": in_another_unit(300, 0, 0), "more": in_another_unit(100, 1, 0), "mixed": in_another_unit(100, 1, 0)}
    tables["mixed"].loc[:13, "weight"] *= 1000
    for name, table in tables.items():
        table.to_csv(f"{name}.csv", index=False)
    how = "--target", "fate", "--dependence", "none", "--feature", "amount=log-normal"
    done("fit", "kg.csv", *how, "-o", "m.bayesnb")
    for command in NEW_ROWS:
        for table, times in (("more", 0), ("mixed", 1)):
            err = done(*(f"{table}.csv" if each == "NEW" else each for each in command))[1]
            assert err.count("standard deviations from the learned mean") == times, (command, table)
            assert err.count(FAR) == times, command
    # The row alone is counted.
    assert "1 of 1 row holds a number more than 20" in done("explain", "m.bayesnb", "mixed.csv", "--row", "0")[1]
    assert "more than 20" not in done("explain", "m.bayesnb", "mixed.csv", "--row", "99")[1]
    # Rows that the model has learned are not new.
    shutil.copy("mixed.bayesnb", "both.bayesnb")
    assert "more than 20" not in done("forget", "both.bayesnb", "mixed.csv")[1]


OUTSIDE = (
    "column 'weight': 100 of 100 rows hold a number more than 5 standard deviations {} the learned mean of every class"
)


def test_every_command_warns_once_of_a_column_outside_the_learned_numbers(done, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tables = {"kg": in_another_unit(300, 0, 0), "more": in_another_unit(100, 1, 0)}
    tables["pounds"] = tables["more"].assign(weight=tables["more"]["weight"] * 2.2)
    tables["tons"] = tables["more"].assign(weight=tables["more"]["weight"] / 1000)
    tables["one"], tables["few"] = tables["pounds"][:1], tables["pounds"][:4]
    for name, table in tables.items():
        table.to_csv(f"{name}.csv", index=False)
    how = "--target", "fate", "--dependence", "none", "--feature", "amount=log-normal"
    done("fit", "kg.csv", *how, "-o", "m.bayesnb")
    sides = {"more": "", "pounds": "above", "tons": "below", "one": "", "few": ""}
    for size, some in ((1000, ("pounds", "tons", "few")), (30, ("more", "pounds")), (1, sides)):
        monkeypatch.setattr("bayesnb.data.csv_reader.batch_rows", lambda columns, size=size: size)
        for command in NEW_ROWS if size > 1 else NEW_ROWS[:3]:
            for table, side in ((table, sides[table]) for table in some):
                err = done(*(f"{table}.csv" if each == "NEW" else each for each in command))[1]
                assert err.count("standard deviations") == bool(side), (command, table)
                assert err.count(OUTSIDE.format(side)) == bool(side), (command, table)


@pytest.mark.parametrize("only", ["dies", "survives", None])
def test_rows_that_are_like_the_learned_ones_are_not_outside(only, recwarn):
    r = np.random.default_rng(0)
    for seed in range(20):
        table = in_another_unit(300, seed, 0).assign(cauchy=r.standard_cauchy(300), rare=r.random(300) < 0.02)
        table["rare"] = table["rare"] * 1e6 + r.normal(size=300)
        X, y = table.drop(columns=["amount", "fate"]), table["fate"]
        new = np.arange(300) >= 200
        clf = BayesianNB().fit(X[~new], y[~new])
        new &= (y == only) | (only is None)
        clf.partial_fit(X[new], y[new])
        clf.partial_fit(X[new][:7], y[new][:7])
    assert not [each for each in recwarn if "every class" in str(each.message)]


def test_later_dates_and_times_of_day_outside_the_learned_ones(done, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def timed(n: int, seed: int, unit: float, start: float) -> pd.DataFrame:
        hours = np.random.default_rng(seed).normal(11, 1, n) / unit
        at = pd.Timestamp("2025-01-01") + pd.to_timedelta(hours, "h").round("s")
        return dated(n, seed, 1.0, start, 30).assign(took=at.strftime("%H:%M:%S"))

    timed(200, 0, 1, 0).to_csv("then.csv", index=False)
    timed(100, 1, 60, 1000).to_csv("later.csv", index=False)
    how = "--target", "kind", "--feature", "ordered=date:dmy", "--dependence", "none"
    done("fit", "then.csv", *how, "-o", "m.bayesnb")
    err = done("update", "m.bayesnb", "later.csv")[1]
    # The dates are later by 110 standard deviations.
    assert "column 'ordered': 100 of 100 rows hold a date or time more than 20 standard deviations from" in err
    assert "column 'took': 100 of 100 rows hold a date or time more than 5 standard deviations below" in err
    timed(100, 1, 1, 90).to_csv("next.csv", index=False)
    done("fit", "then.csv", *how, "-o", "m.bayesnb", "--force")
    assert "standard deviations" not in done("update", "m.bayesnb", "next.csv")[1]  # Later by 8 standard deviations.


NEW_ROWS = [
    ("update", "m.bayesnb", "NEW", "-o", "mixed.bayesnb", "--force"), ("score", "m.bayesnb", "NEW"),
    ("predict", "m.bayesnb", "NEW", "-o", "-"), ("predict", "m.bayesnb", "NEW", "-o", "-", "--interval"),
    ("watch", "m.bayesnb", "NEW"), ("watch", "m.bayesnb", "NEW", "--learned", "kg.csv"),
    *(("ask", question, "m.bayesnb", "NEW") for question in ("estimate-class-prior", "uncertainty", "fill-in")),
]  # fmt: skip


def test_update_warns_of_another_unit_before_the_file_is_replaced(done, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    in_another_unit(300, 0, 0).to_csv("kg.csv", index=False)
    in_another_unit(100, 1, 0.2).to_csv("mixed.csv", index=False)
    done("fit", "kg.csv", "--target", "fate", "--dependence", "none", "-o", "m.bayesnb")
    before, seen = Path("m.bayesnb").read_bytes(), []
    monkeypatch.setattr("bayesnb.cli.sources.warn", lambda said: seen.append(Path("m.bayesnb").read_bytes() == before))
    done("update", "m.bayesnb", "mixed.csv")
    assert seen[0]
    assert Path("m.bayesnb").read_bytes() != before


def dated(n: int, seed: int, trend: float, start: float = 0.0, days: float = 730.0) -> pd.DataFrame:
    """Rows in the order of time, whose class changes from "old" to "new" within the first two years."""
    r = np.random.default_rng(seed)
    day = np.sort(r.uniform(start, start + days, n)).round()
    new = r.random(n) < 1 / (1 + np.exp(-trend * (day - 365) / 180))
    dates = pd.Timestamp("2023-01-01") + pd.to_timedelta(day, "D")
    return pd.DataFrame({
        "ordered": dates.strftime("%d.%m.%Y"), "size": r.normal(new, 1).round(3), "kind": np.where(new, "new", "old"),
    })  # fmt: skip


LATER = "more than 2 standard deviations later than the learned mean"


@pytest.mark.parametrize("dependence", ["none", "auto"])
@pytest.mark.parametrize("trend", [0.0, 1.0])
def test_commands_that_predict_warn_once_if_later_dates_change_the_prediction(
    dependence, trend, done, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    dated(400, 0, trend).to_csv("then.csv", index=False)
    dated(120, 1, trend).to_csv("same.csv", index=False)
    dated(120, 2, trend, 1000, 90).to_csv("later.csv", index=False)
    fit = "--target", "kind", "--feature", "ordered=date:dmy", "--dependence", dependence
    done("fit", "then.csv", *fit, "-o", "m.bayesnb")
    said = set()
    for size in (1000, 30):
        monkeypatch.setattr("bayesnb.data.csv_reader.batch_rows", lambda columns, size=size: size)
        for command in NEW_ROWS if dependence == "none" else NEW_ROWS[1:3]:
            words = ["then.csv" if each == "kg.csv" else each for each in command]
            learns = command[0] == "update"
            tables = [("later", 1 if trend and not learns else 0)] * (size == 30 or trend > 0)
            for table, times in tables + [("same", 0)] * (size == 30 and trend > 0):
                err = done(*(f"{table}.csv" if each == "NEW" else each for each in words))[1]
                assert err.count(LATER) == times, (command, table)
                said |= {line for line in err.splitlines() if LATER in line}
    assert len(said) == (trend > 0)  # The same sentence, however the file is cut.
    if trend:
        assert "column 'ordered': 100% of the dates are" in said.pop()
        assert LATER in done("explain", "m.bayesnb", "later.csv", "--row", "3")[1]
        assert LATER in done("explain", "m.bayesnb", "--row", "ordered=03.05.2026")[1]
        assert LATER not in done("explain", "m.bayesnb", "--row", "ordered=03.05.2024")[1]
        assert LATER not in done("explain", "m.bayesnb", "--row", "size=1")[1]


@pytest.mark.parametrize("typed", [False, True])
@pytest.mark.parametrize("dependence", [None, "auto"])
@pytest.mark.parametrize(
    "family", [None, LogNormal(), nb.families.GaussianKnownVariance(nb.priors.Normal(19_700, 1e6), variance=4e4)]
)
def test_predictions_in_python_warn_of_later_dates_too(family, dependence, typed):
    then, same, later = (dated(*each) for each in ((400, 0, 1.0), (120, 1, 1.0), (120, 2, 1.0, 1000, 90)))
    if typed:
        each = ((t, pd.to_datetime(t["ordered"], format="%d.%m.%Y")) for t in (then, same, later))
        then, same, later = (table.assign(ordered=days) for table, days in each)
    features = {"ordered": nb.Date(format="dmy")} | ({} if family is None else {"elapsed of ordered": family})
    clf = BayesianNB(features, dependence=dependence).fit(then, "kind")
    with pytest.warns(nb.errors.LaterDatesWarning, match=f"^column 'ordered': 100% of the dates are {LATER}") as said:
        clf.predict_proba(later)
    assert len(said) == 1
    with pytest.warns(nb.errors.LaterDatesWarning) as again:
        clf.predict(later[::-1].reset_index(drop=True))
    assert str(again[0].message) == str(said[0].message)
    for rows in (same, later[:9], later.assign(ordered=None)):  # Single rows are predicted without the check.
        clf.predict_proba(rows)


def test_numbers_of_days_far_from_the_learned_dates_are_shown_as_dates(done, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    new = dated(50, 1, 0.0)
    new.loc[:1, "ordered"] = "01.01.1900"
    dated(400, 0, 0.0).to_csv("then.csv", index=False)
    new.to_csv("new.csv", index=False)
    how = "--target", "kind", "--feature", "ordered=date:dmy", "--dependence", "none"
    done("fit", "then.csv", *how, "-o", "m.bayesnb")
    err = done("score", "m.bayesnb", "new.csv")[1]
    assert "column 'ordered': 2 of 50 rows hold a date or time more than 20 standard deviations from" in err
    assert re.search(r"\(01\.01\.1900; mean \d\d\.\d\d\.202\d, sd 2\d0 days\)", err)
    assert LATER not in err


def test_rows_in_another_unit_that_are_learned_later_cause_a_warning():
    learned, more = in_another_unit(300, 0, 0), in_another_unit(100, 1, 0)
    mixed = more.assign(weight=more["weight"].where(np.arange(100) >= 14, more["weight"] * 1000))
    features = {"amount": LogNormal()}
    clf = BayesianNB(features=features).fit(learned.drop(columns="fate"), learned["fate"])
    clf.partial_fit(more.drop(columns="fate"), more["fate"])
    with pytest.warns(UserWarning, match=FAR) as said:
        clf.partial_fit(mixed.drop(columns="fate"), mixed["fate"])
    assert len(said) == 1
    # Two equal rows, or nearly equal ones, do not tell how far others lie.
    few = BayesianNB(features=features).partial_fit(more.drop(columns="fate")[:3], more["fate"][:3])
    few.partial_fit(mixed.drop(columns="fate"), mixed["fate"])


@pytest.mark.filterwarnings("always:column .* a level never seen")
def test_explain_says_never_seen_where_a_level_was_never_seen(done):
    out, err = done("explain", "play-tennis", "--dependence", "none", "--row", "outlook=Sunny,wind=weak")
    assert "Sunny (never seen)" in out
    assert "did you mean 'sunny'?" in err


@pytest.mark.filterwarnings("always:column .* a level never seen")
@pytest.mark.parametrize("deposit", ["paid", "Paid"])
def test_a_value_given_by_set_counts_whether_or_not_the_table_holds_it(done, tmp_path, deposit):
    labels = ["no", "yes", "no", "yes", "yes", "no"] * 10
    rows = pd.DataFrame({"deposit": ["none", "paid"] * 30, "age": np.arange(60.0), "kept": labels})
    rows.to_csv(tmp_path / "learned.csv", index=False)
    rows.iloc[::2].drop(columns="kept").to_csv(tmp_path / "new.csv", index=False)
    learned, new, model = (str(tmp_path / name) for name in ("learned.csv", "new.csv", "m.bayesnb"))
    done("fit", learned, "--target", "kept", "--dependence", "none", "-o", model)
    out, err = done("explain", model, new, "--row", "3", "--set", f"deposit={deposit}", "--format", "json")
    found = json.loads(out)
    X = rows.drop(columns="kept")
    asked = X.iloc[[6]].assign(deposit=deposit if deposit == "paid" else None)
    expected = BayesianNB().fit(X, labels).predict_proba(asked)[0]
    assert found["row"]["deposit"] == deposit
    assert_allclose([*found["probabilities"].values()], expected)
    assert ("never seen" in err) is (deposit == "Paid")


@pytest.mark.parametrize("width", [40, pytest.param(80, marks=pytest.mark.slow)])
def test_no_word_of_a_table_is_cut_however_narrow_the_terminal_is(width, done, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    credit().to_csv(tmp_path / "t.csv", index=False)
    inspected, _ = done("inspect", tmp_path / "t.csv", "--target", "class")
    compared, _ = done("compare", "penguins", "--dependence", "none")
    for out, words in ((inspected, ["customer_id", "Categorical"]), (compared, ["flipper_length_mm", "predictive"])):
        assert all(len(line) <= width for line in out.splitlines() if "│" in line)
        assert all(word in out for word in words)


@pytest.mark.parametrize("verb", ["predict", "score", "update", "explain"])
def test_digits_are_read_as_text_where_a_model_has_learned_text(capsys, tmp_path, verb):
    rows = [f"{101 + k % 3},{k},{7 + k % 2}" for k in range(20)]
    (tmp_path / "learned.csv").write_text("\n".join(["code,x,y", *rows, "A7,1,odd"]))
    (tmp_path / "new.csv").write_text("\n".join(["code,x,y", *rows]))
    told = ("--target", "y", "--dependence", "none", "-o", tmp_path / "m.bayesnb")
    assert run(capsys, "fit", tmp_path / "learned.csv", *told)[0] == 0
    options = {"predict": ("--digits", "17"), "explain": ("--row", "0", "--format", "json")}
    more = options.get(verb, ())
    code, out, err = run(capsys, verb, tmp_path / "m.bayesnb", tmp_path / "new.csv", *more)
    assert code == 0, err
    if verb == "update":
        assert load(tmp_path / "m.bayesnb").classes_.tolist() == ["7", "8", "odd"]
    else:
        assert "never seen" not in out + err
    if verb == "predict":
        clf, first = load(tmp_path / "m.bayesnb"), pd.DataFrame({"code": ["101"], "x": [0]})
        assert float(out.splitlines()[1].split(",")[1]) == pytest.approx(clf.predict_proba(first)[0, 0], rel=1e-9)


KINDS = {
    "t.csv": lambda frame, path: frame.to_csv(path, index=False),
    "decimal commas.csv": lambda frame, path: frame.to_csv(path, index=False, sep=";", decimal=","),
    "t.parquet": lambda frame, path: frame.to_parquet(path),
    "categories.parquet": lambda frame, path: frame.astype({"b": "category", "c": "category"}).to_parquet(path),
    "t.feather": lambda frame, path: frame.to_feather(path),
    "t.xlsx": lambda frame, path: frame.to_excel(path, index=False),
}


@pytest.mark.parametrize("name", KINDS)
def test_what_the_user_calls_missing_is_missing_in_every_kind_of_file(done, tmp_path, name):
    rng = np.random.default_rng(0)
    a = np.where(np.arange(60) % 6 == 0, -999.0, rng.normal(size=60).round(2))
    b = np.where(np.arange(60) % 4 == 0, "refused", np.resize(["u", "v", "w"], 60))
    frame = pd.DataFrame({"a": a, "b": b, "c": np.arange(60) % 3, "y": np.resize(["p", "q"], 60)})
    KINDS[name](frame, path := tmp_path / name)
    marks = ("--na", "a=-999", "--na", "b=refused", "--na", "c=2")
    out, _ = done("inspect", path, "--target", "y", *marks, "--format", "json")
    said = json.loads(out)
    missing = {line["feature"]: round(line["missing"], 6) for line in said["features"]}
    assert missing == {"a": round(1 / 6, 6), "b": 0.25, "c": round(1 / 3, 6)}
    assert said["fit"].count("--na") == 3
    done(*shlex.split(said["fit"])[1:-1], tmp_path / "m.bayesnb", "--dependence", "none")
    scored, err = done("score", tmp_path / "m.bayesnb", path, "--format", "csv")
    assert scored.startswith("score")
    assert "never seen" not in err


def test_inspect_leaves_out_columns_of_types_that_no_family_reads(done, capsys, tmp_path):
    table = pd.DataFrame({"the day": pd.date_range("2020-01-01", periods=60), "x": np.arange(60) % 7})
    table.assign(parts=[[1, 2]] * 60, y=np.resize(["p", "q"], 60)).to_parquet(path := tmp_path / "t.parquet")
    said = json.loads(done("inspect", path, "--target", "y", "--format", "json")[0])
    assert [line["feature"] for line in said["features"]] == ["elapsed of the day", "x"]
    remarks = {line["column"]: line["remark"] for line in said["remarks"]}
    assert remarks["the day"] == "dates, read as days since 1970-01-01"
    assert "list" in remarks["parts"]
    done(*shlex.split(said["fit"])[1:-1], tmp_path / "m.bayesnb", "--dependence", "none")
    assert load(tmp_path / "m.bayesnb").feature_names_in_.tolist() == ["the day", "x"]
    done("score", tmp_path / "m.bayesnb", path)
    code, _, err = run(capsys, "fit", path, "--target", "y", "-o", tmp_path / "n.bayesnb")
    assert code == 1
    assert err.endswith("or into categories, or leave it out with --drop parts\n")


def test_a_mark_is_missing_in_embedded_data_too(done):
    said = json.loads(done("inspect", "play-tennis", "--na", "outlook=overcast", "--format", "json")[0])
    assert {line["feature"]: line["missing"] > 0 for line in said["features"]} == {
        "outlook": True, "temperature": False, "humidity": False, "wind": False,
    }  # fmt: skip


def test_a_model_remembers_what_was_left_out_and_what_meant_missing(done, capsys, tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({
        "name": [f"n{k}" for k in range(60)], "a": rng.integers(1, 6, 60), "b": rng.choice(["99", "x", "?"], 60),
        "land": rng.choice(["NA", "None", "DE"], 60), "town": rng.choice(["NA", "Rome"], 60),
        "n": rng.choice(["NA", "1"], 60),
    })  # fmt: skip
    table["y"] = np.where(table["a"] + rng.normal(size=60) > 3, "p", "q")
    table.loc[::7, "a"] = 99
    table.to_csv(tmp_path / "t.csv", index=False)
    told = ("--drop", "name", "--na", "a=99", "--na", "?", "--keep-na", "land=NA", "--feature", "a=categorical")
    done("fit", tmp_path / "t.csv", "--target", "y", *told, "--dependence", "none", "-o", tmp_path / "m.bayesnb")
    clf = load(tmp_path / "m.bayesnb")
    assert clf.classifier_.schema.features["a"].levels == ((1, 2, 3, 4, 5),)
    assert clf.classifier_.schema.features["b"].levels == (("99", "x"),)
    assert clf.classifier_.schema.features["land"].levels == (("DE", "NA"),)
    assert clf.classifier_.schema.features["town"].levels == (("Rome",),)
    assert clf.describe()["missing"].round(9).tolist()[-1] == round((table["n"] == "NA").mean(), 9)
    code, out, _ = run(capsys, "predict", tmp_path / "m.bayesnb", tmp_path / "t.csv", "--keep", "y", "--digits", "17")
    meant = {"a": {99: None}, "b": {"?": None}, "land": {"None": None}, "town": {"NA": None}, "n": {"NA": None, "1": 1}}
    proba = clf.predict_proba(table.replace(meant)[[*meant]])
    assert code == 0
    assert np.abs(pd.read_csv(io.StringIO(out))[["p_p", "p_q"]].to_numpy() - proba).max() < 1e-9
    for verb in ("score", "predict"):
        assert "warning" not in done(verb, tmp_path / "m.bayesnb", tmp_path / "t.csv")[1]
    done("update", tmp_path / "m.bayesnb", tmp_path / "t.csv")
    reading = load(tmp_path / "m.bayesnb").classifier_.reading
    assert reading == {"drop": ("name",), "na": ("a=99", "?"), "keep_na": ("land=NA",)}
    clf.partial_fit(table[["a", "b", "land", "town"]].assign(n=1), table["y"])
    assert clf.classifier_.reading["drop"] == ("name",)


def test_a_column_that_was_left_out_of_the_fit_is_kept_beside_the_predictions(tmp_path, capsys):
    X, y = datasets.penguins()
    X.assign(key=[f"bird {k}" for k in range(len(X))], species=y).to_csv(tmp_path / "t.csv", index=False)
    model = tmp_path / "m.bayesnb"
    told = ("--target", "species", "--drop", "key", "--dependence", "none", "-o", model)
    assert run(capsys, "fit", tmp_path / "t.csv", *told)[0] == 0
    for absent in ((), ("--absent", "missing")):
        code, out, err = run(capsys, "predict", model, tmp_path / "t.csv", "--keep", "key", *absent)
        assert code == 0
        assert "key" not in err
        found = pd.read_csv(io.StringIO(out))
        assert list(found["key"][:2]) == ["bird 0", "bird 1"]
    # A renamed column is named as the likely one, although the model does not know it.
    X.rename(columns={"bill_length_mm": "bill length mm"}).to_csv(tmp_path / "new.csv", index=False)
    code, _, err = run(capsys, "predict", model, tmp_path / "new.csv")
    assert code != 0
    assert "did you mean 'bill length mm'?" in err


def test_a_decimal_comma_in_a_value_is_read_unless_it_may_separate_thousands(capsys):
    asked = ("explain", "heights", "--dependence", "none", "--set")
    assert run(capsys, *asked, "weight_kg=60,5")[:2] == run(capsys, *asked, "weight_kg=60.5")[:2]
    code, _, err = run(capsys, *asked, "weight_kg=60,500")
    assert code != 0
    assert "--set" in err
    assert "write a point for the decimal mark" in err
    missing = [run(capsys, *asked, f"weight_kg={text}")[:2] for text in ("", "n/a", "NA")]
    assert missing[0][0] == 0
    assert missing[1:] == missing[:1] * 2


def test_no_suggestion_for_an_absent_class_column_is_a_learned_column(tmp_path, capsys):
    X, y = datasets.play_tennis()
    X = X.rename(columns={"windy": "plays"}) if "windy" in X else X.rename(columns={X.columns[-1]: "plays"})
    X.to_csv(tmp_path / "new.csv", index=False)
    X.assign(play=y).to_csv(tmp_path / "old.csv", index=False)
    model = tmp_path / "m.bayesnb"
    assert run(capsys, "fit", tmp_path / "old.csv", "--target", "play", "--dependence", "none", "-o", model)[0] == 0
    for command in (("score", model), ("update", model), ("ask", "suspicious-labels", model)):
        code, _, err = run(capsys, *command, tmp_path / "new.csv")
        assert code != 0
        assert "has no column 'play'" in " ".join(err.split())
        assert "did you mean" not in err


def test_a_misspelled_question_gets_a_suggestion(capsys):
    code, _, err = run(capsys, "ask", "suspicous-labels", "m.bayesnb", "t.csv")
    assert code == 2
    assert "did you mean 'suspicious-labels'?" in err
