"""The first hour with a table of repairs, which has dates, prices and gaps: each screen says what is true."""

import io
import json
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import run
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression

from bayesnb import BayesianNB, Binned, Date, Gaussian, Number, cli, datasets, deploy, draws, inspect
from bayesnb.checks import column_gains
from bayesnb.data.specifications import families_by_name
from bayesnb.data.tables import Table
from bayesnb.errors import ClassSpellingsWarning, NumbersAsLevelsWarning, UnreadCellWarning, UnseenLevelWarning
from bayesnb.evaluation import compare, comparison, evaluate, held_out, scorecard
from bayesnb.families import LogNormal, Mixture, PolyaTree, Rounded
from bayesnb.report import questions, report, scores
from bayesnb.report.questions import Asking
from bayesnb.wording import Message, RefusedError, written

pytestmark = pytest.mark.usefixtures("examined_once", "few_drawn_labels")


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


@pytest.mark.parametrize("family", [PolyaTree(), Mixture([Gaussian(), LogNormal()]), Rounded(unit=0.1)])
def test_an_estimate_without_a_score_says_why_in_options_of_the_command(family):
    X = repairs()[["age"]].clip(lower=0.1)
    found = comparison(BayesianNB({"age": family}), X, repairs()["outcome"], dependence=())
    notes = [written(part, "command") for part in scores.estimates(found).parts if isinstance(part, Message)]
    without = [note for note in notes if note.startswith("map has no score: feature 'age'")]
    assert len(without) == ("map" in found.absent)
    assert all("use the mean (--estimate mean)" in note and 'estimate="' not in note for note in without)


REFUSED = [
    ("explain", "--row", "999"), ("explain", "--row", "size=3"), ("explain", "--set", "size=3"),
    ("explain", "--label", "stolen"), ("explain", "--against", "stolen"),
    ("explain", "--label", "overhaul", "--against", "overhaul"), ("explain", "--class-prior", "stolen=1"),
    ("compare", "--row", "size=3"), ("compare", "--set", "age=old"), ("compare", "--cv", "100"),
    ("report", "--cv", "100", "-o", "page.html"), ("report", "-o", "page.csv"), ("fit", "-o", "model.csv"),
    ("fit", "--feature", "size=gaussian", "-o", "m.bayesnb"), ("audit", "-o", "picture.gif"),
]  # fmt: skip


@pytest.mark.parametrize("asked", REFUSED, ids=" ".join)
def test_a_request_is_checked_before_anything_is_learned(capsys, table, monkeypatch, asked):
    def learn(*_, **__):
        raise AssertionError("learned before the request was checked")

    for module in (cli.models, cli.learning):
        monkeypatch.setattr(module, "with_dependence", learn)
    command, *options = asked
    code, out, err = run(capsys, command, "repairs.csv", "--target", "outcome", *options)
    assert (code in (1, 2), out) == (True, "")
    assert "learned before" not in err


def test_no_line_of_a_page_ends_within_an_option(capsys, table, monkeypatch):
    monkeypatch.setattr("bayesnb.report.writer.svg", lambda figure: ("<svg></svg>", 1, 1))  # Its letters are outlines.
    table[:60].to_csv("repairs.csv", index=False)
    asked = ("--target", "outcome", "--dependence", "weighted", "--explain", "0", "--draws", "20")
    assert run(capsys, "report", "repairs.csv", *asked, "-o", "page.html")[0] == 0
    page = re.sub(
        r"(?s)<style>.*?</style>|<[^>]*>(?<!option\">)(?<!</span>)", "", Path("page.html").read_text(encoding="utf-8")
    )
    whole = re.findall(r'<span class="option">(.*?)</span>', page)
    assert {"--dependence weighted", "--dependence none."} <= {each.strip("();:,") for each in whole}
    assert "--" not in re.sub(r'<span class="option">.*?</span>', "", page)
    assert re.search(r"\.option \{[^}]*nowrap", Path("page.html").read_text(encoding="utf-8"))


AMOUNTS = {
    "$": "${:,.2f}", "US$": "US$ {:,.2f}", "€": "€{:,.2f}", "£": "{:,.2f} £", "CHF": "CHF {:,.2f}", "": "{:,.2f}"
}  # fmt: skip


@pytest.mark.parametrize("written_in", AMOUNTS)
@pytest.mark.parametrize("learned_in", ["plain", "kr"])
def test_every_currency_is_refused_alike_with_the_column_the_cell_and_what_to_write(learned_in, written_in):
    y = repairs()["outcome"]
    price = 1000 + 7 * np.arange(len(y))
    learned = price if learned_in == "plain" else [f"{x} kr" for x in price]
    clf = BayesianNB().fit({"price": learned}, y)
    cells = [AMOUNTS[written_in].format(x + 0.25) for x in price]
    if learned_in == "plain":
        with pytest.raises(
            ValueError,
            match=re.escape(
                f"column 'price' holds text ({cells[0]!r}) where numbers are needed, in row 0: write 1000.25"
            ),
        ):
            clf.predict({"price": cells})
    elif written_in:
        with pytest.warns(
            UserWarning, match=re.escape(f"column 'price': 120 of 120 cells are no numbers in kr, such as {cells[0]!r}")
        ) as said:
            clf.predict({"price": cells})
        assert "write 1000.25" in str(said[0].message)
    else:
        assert len(clf.predict({"price": cells})) == 120


def test_a_date_is_explained_as_a_date_and_the_sum_has_the_digits_of_the_table(capsys, table):
    code, out, _ = run(capsys, "explain", "repairs.csv", "--target", "outcome", "--dependence", "none", "--row", "0")
    day, month, year = table["brought in"][0].split(".")
    assert code == 0
    assert f"elapsed of brought in = {year}-{month}-{day}" in out
    total = re.search(r"log-odds \+?(-?[\d.]+) nats in all", out)
    assert re.search(rf"\(total\)\s*│\s*{re.escape(total[1])} \(", out)


@pytest.mark.parametrize(
    ("cells", "shown"),
    [
        (["2024-02-29", "2024-03-01"], "2024-02-29"), (["29.02.2024 14:05", "31.03.2024 1:00"], "2024-02-29 14:05"),
        (["14:05", "9:30"], "14:05"), (pd.to_datetime(["1960-01-02", "2024-01-01"]), "1960-01-02"),
        (pd.to_timedelta(["-90min", "2h"]), "-01:30"),
        (np.array(["12000-01-01", "-0500-05-01"], "datetime64[s]"), "12000-01-01"),
    ],
)  # fmt: skip
def test_every_kind_of_date_is_explained_as_people_write_it(cells, shown):
    clf = BayesianNB().fit({"when": [*cells] * 3}, ["a", "b"] * 3)
    value = clf.explain({"when": [cells[0]]})["value"].droplevel("row")
    assert value["elapsed of when"] == shown


@pytest.mark.parametrize("label", ["stolen", "cheap fix"])
def test_a_class_that_only_an_option_names_may_be_explained(capsys, table, label):
    named = ("--dependence", "none") if label == "cheap fix" else ("--dependence", "none", "--unknown", "stolen")
    code, out, _ = run(capsys, "explain", "repairs.csv", "--target", "outcome", "--label", label, *named)
    assert code == 0
    assert f"{label} against" in out


def test_an_error_about_a_class_names_each_class_once(capsys, table):
    prior = ("--class-prior", "cheap fix=0.5,overhaul=0.5", "--unknown", "stolen")
    code, _, err = run(capsys, "explain", "repairs.csv", "--target", "outcome", "--label", "lost", *prior)
    assert code == 2
    assert "the classes are ['cheap fix', 'overhaul', 'stolen']" in " ".join(err.split())


def test_a_date_in_bins_is_explained_as_an_interval():
    X = repairs()[["brought in"]]
    clf = BayesianNB({"elapsed of brought in": Binned(edges=[19_400.0, 19_600.0])}).fit(X, repairs()["outcome"])
    assert isinstance(clf.explain(X[:1])["value"].dropna().iloc[0], str)


@pytest.mark.parametrize(
    ("cells", "shown", "write"),
    [
        (["5.0"] * 59 + ["abc"], "'abc'", "convert it"),
        (["12345678901234567"] * 59 + ["n. d."], "'n. d.'", "convert it"),
        (["1e3", "+5", " 5 "] * 20 + ["1.234,50 kg"], "'1.234,50 kg'", "write 1234.5"),
        (["9" * 400 + "e3"] * 3 + ["q"], "'q'", "convert it"),
    ],
)  # fmt: skip
def test_text_among_numbers_is_refused_at_the_cell_that_is_no_number(cells, shown, write):
    X = pd.DataFrame({"size": cells})
    with pytest.raises(RefusedError) as refused:
        BayesianNB({"size": Gaussian()}).fit(X, ["a", "b"] * (len(X) // 2) + ["a"] * (len(X) % 2))
    assert shown in str(refused.value)
    assert write in str(refused.value)


def test_a_typing_error_in_the_class_is_found(capsys, table):
    table.loc[0, "outcome"] = "cheap fxi"
    table.to_csv("repairs.csv", index=False)
    code, out, _ = run(capsys, "inspect", "repairs.csv", "--target", "outcome")
    assert code == 0
    assert "the class 'cheap fxi' (1) looks like 'cheap fix'" in " ".join(out.split())
    table[::-1].to_csv("repairs.csv", index=False)
    assert run(capsys, "inspect", "repairs.csv", "--target", "outcome")[1] == out


@pytest.mark.filterwarnings("always")
def test_a_warning_is_printed_once(capsys, table):
    row = ("--row", "price=five,age=3", "--dependence", "none")
    code, _, err = run(capsys, "explain", "repairs.csv", "--target", "outcome", *row)
    assert (code, err.count("such as 'five'")) == (0, 1)


def test_the_mean_of_dates_and_times_is_a_date_or_a_time_on_every_screen(capsys, table):
    table["at"] = np.resize(["14:05", "09:30", "12:00"], len(table))
    table.to_csv("repairs.csv", index=False)
    days = pd.to_datetime(table["brought in"], format="%d.%m.%Y")
    _, out, _ = run(capsys, "inspect", "repairs.csv", "--target", "outcome")
    mean = re.search(r"elapsed of brought in │ Gaussian .*?([\d-]{10}) │", out)
    assert mean is not None
    assert mean[1] == str(days.mean().round("D").date())
    assert re.search(r"elapsed of at .*? 11:52 │", out)
    clf = BayesianNB().fit(table.drop(columns="outcome"), table["outcome"])
    section = Asking(clf.classifier_, Table.of(table.drop(columns="outcome")), table["outcome"]).section("tables")
    (held,) = [part.frame for part in section.parts if getattr(part, "caption", "") == "elapsed of brought in"]
    for label, mean in days.groupby(table["outcome"]).mean().items():
        # The mean is drawn to the mean of all rows, which has the weight of one row.
        assert abs((pd.Timestamp(held["mean"][label]) - mean).days) <= 4
        assert len(held["mean"][label]) == 10
    assert clf.tables()["elapsed of brought in"]["mean"].dtype == float


@pytest.mark.parametrize("group", [(), ("ask",)])
def test_the_help_shows_the_whole_summary_of_every_command(capsys, monkeypatch, group):
    monkeypatch.setenv("COLUMNS", "80")
    _, out, _ = run(capsys, *group, "--help")
    commands = out.split("Commands:")[1].split("Exit codes")[0]
    assert len(commands.splitlines()) > 10
    assert "..." not in commands.replace("(MAP, full Bayes, ...)", "")
    assert all(len(line) <= 80 for line in commands.splitlines())


@pytest.mark.parametrize("command", ["fit", "inspect", "compare", "report"])
def test_the_help_lists_every_family_by_the_kind_of_column(capsys, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "80")
    _, out, _ = run(capsys, command, "--help")
    _, _, listed = out.partition("\nFamilies of --feature")
    assert {*families_by_name()} <= {*re.findall(r"[a-z][a-z-]+[a-z]", listed)}
    assert max(map(len, out.splitlines())) <= 80


def test_classes_that_differ_by_case_or_blanks_are_told_once_with_what_to_write(capsys, table):
    y = table["outcome"].mask(table.index < 5, " Overhaul")
    X = table.drop(columns="outcome")
    with pytest.warns(ClassSpellingsWarning) as said:
        BayesianNB(dependence="weighted").fit(X, y)
    cure = "correct them in y, as with pd.Series(y).str.strip().str.lower()"
    expected = f"the classes ' Overhaul', 'overhaul' differ only by case or blanks: {cure}"
    assert [str(each.message) for each in said] == [expected]
    assert f"the class: {expected}" in str(inspect(X, y))
    assert BayesianNB().fit(X, y.str.strip().str.lower()).classes_.tolist() == ["cheap fix", "overhaul"]
    X.assign(outcome=y).to_csv("repairs.csv", index=False)
    for command in (("inspect",), ("fit", "-o", "m.bayesnb", "--dependence", "none")):
        _, out, err = run(capsys, command[0], "repairs.csv", "--target", "outcome", *command[1:])
        cure = "correct them in the table, because joined is for other columns; until then, each spelling is a class"
        assert " ".join((out + err).split()).count(cure) == 1
        assert "Name the class column" not in out
    out = " ".join(run(capsys, "inspect", "repairs.csv")[1].split())
    assert "--feature 'outcome=joined:Overhaul>overhaul'" in out
    assert "Name the class column with --target: its labels are then examined, and no option is for it." in out
    _, _, err = run(capsys, "inspect", "repairs.csv", "--target", "outcome", "--feature", "outcome=joined")
    assert "'outcome', which the table does not have beside its class" in err


def test_compare_names_every_estimate_that_gave_probability_0_to_a_class(capsys, table):
    # No cheap fix but one is green, so without this row, mle and the mode under Dirichlet(1) count 0.
    table["colour"] = np.where(table["outcome"] == "overhaul", "green", "blue")
    table.loc[table.index[table["outcome"] == "cheap fix"][0], "colour"] = "green"
    table.to_csv("repairs.csv", index=False)
    asked = ("--target", "outcome", "--dependence", "none")
    out = " ".join(run(capsys, "compare", "repairs.csv", *asked)[1].split())
    scores = dict(re.findall(r"│ (mle|map|mean|predictive) +│[^│]*│[^│]*│ +(\S+) │", out))
    assert [name for name, loss in scores.items() if loss == "∞"] == ["mle", "map"]
    assert "mle and map gave probability 0 to the class of 1 of 120 held-out rows" in out


@pytest.mark.parametrize("dependence", ["weighted", "auto"])
def test_an_entry_without_an_interval_shows_none(capsys, table, dependence):
    X, y = table.drop(columns="outcome").assign(gap=None), table["outcome"]
    clf = BayesianNB(dependence=dependence, random_state=0).fit(X, y)
    found = clf.explain(X[:4])
    spread = found["upper"] - found["lower"]
    assert found.loc[spread.isna()].index.get_level_values("entry").isin(["(averaging)", "trees", "linear"]).all()
    assert spread.xs("(averaging)", level="entry").isna().all()
    assert (spread[~found["missing"]].dropna() > 0).all()
    asked = ("--target", "outcome", "--dependence", dependence, "--row", "0")
    _, out, _ = run(capsys, "explain", "repairs.csv", *asked)
    assert re.search(r"│ \(averaging\) +│ +-?\d\.\d+ │", out)


def test_every_screen_that_shows_a_number_of_a_row_says_that_rows_are_counted_from_0(capsys, table):
    asked = ("repairs.csv", "--target", "outcome", "--dependence", "none")
    assert run(capsys, "fit", *asked, "--feature", "age=log-normal", "--na", "age=0.0", "-o", "m.bayesnb")[0] == 0
    for question in ("suspicious-labels", "loo", "surprise"):
        _, out, _ = run(capsys, "ask", question, "m.bayesnb", "repairs.csv")
        assert ("┃ row ┃" in out, out.count("Rows are counted from 0.")) == (True, 1)
    assert "Row 3 (counted from 0): " in run(capsys, "explain", *asked, "--row", "3")[1]
    assert re.search(r"Naive Bayes on row \d+ \(counted from 0\)", run(capsys, "compare", *asked)[1])
    table.assign(age=table["age"].where(table.index != 4, -1)).to_csv("new.csv", index=False)
    for command in ("predict", "score"):
        _, _, err = run(capsys, command, "m.bayesnb", "new.csv")
        assert re.search(r"column 'age' holds -1 in row 4, .* \(rows are counted from 0\)$", err.strip())
    table.rename(columns={"age": "w"}).assign(w=-2).to_csv("new.csv", index=False)
    _, _, err = run(capsys, "fit", "new.csv", "--target", "outcome", "--weight", "w", "-o", "m.bayesnb")
    assert "in row 0: a weight is a number and not negative (rows are counted from 0)" in err


def test_every_command_counts_the_rows_of_the_file_also_rows_without_a_class(capsys, table):
    odd = 77
    table.loc[:19, "outcome"] = None
    table.loc[50:52, "outcome"] = None
    table.loc[odd, ["age", "outcome"]] = [14.25, "cheap fix"]  # The row that contradicts every model.
    table.loc[0, "age"] = 9.75
    table.to_csv("repairs.csv", index=False)
    read = ("repairs.csv", "--target", "outcome", "--drop", "price")
    asked = (*read, "--dependence", "none")
    assert run(capsys, "fit", *asked, "-o", "m.bayesnb")[0] == 0
    found = {
        "audit": json.loads(run(capsys, "audit", *read, "--format", "json")[1])["labels"]["rows"][0]["row"],
        "compare": json.loads(run(capsys, "compare", *asked, "--format", "json")[1])["rows"][0]["held_out"],
        "the table of compare": re.search(r"on row (\d+) \(counted from 0\)", run(capsys, "compare", *asked)[1])[1],
    }
    for question, by in (("suspicious-labels", "probability"), ("loo", "log_density"), ("surprise", "age")):
        answer = run(capsys, "ask", question, "m.bayesnb", "repairs.csv", "--format", "csv")[1]
        answer = pd.read_csv(io.StringIO(answer), index_col="row")
        found[question] = answer[by].idxmax() if question == "surprise" else answer[by].idxmin()
    assert run(capsys, "report", *asked, "--draws", "50", "-o", "page.md")[0] == 0
    page = Path("page.md").read_text(encoding="utf-8")
    found["report"] = re.search(r"## Labels to doubt.*?\n\| (\d+) \|", page, re.DOTALL)[1]
    uncertain = re.search(
        r"most uncertain row is (\d+) \(rows are counted from 0\): '(.*?)' with probability (\S+)", page
    )
    row, label, probability = uncertain.groups()
    assert f"{label}: probability {probability} (" in run(capsys, "explain", *asked, "--row", row)[1]
    assert {command: int(row) for command, row in found.items()} == dict.fromkeys(found, odd)
    for row, age in ((odd, "14.25"), (0, "9.75"), (50, f"{table['age'][50]:.10g}")):
        of_model = ("m.bayesnb", "repairs.csv", "--row", str(row))
        for where in ((*asked, "--row", str(row)), of_model):
            out = run(capsys, "explain", *where)[1]
            assert re.search(rf"Row {row} \(counted from 0\): .*\bage={re.escape(age)}\b", out), where
    for where in (asked, ("m.bayesnb", "repairs.csv")):
        assert "there is no row 120 in repairs.csv: it has 120" in run(capsys, "explain", *where, "--row", "120")[2]


def test_errors_count_the_rows_of_the_file_also_rows_without_a_class(capsys, table):
    table.loc[:9, "outcome"] = None
    table["age"] += 0.1
    table.to_csv("repairs.csv", index=False)
    named = ("--target", "outcome", "--feature", "age=log-normal", "--drop", "price")
    assert run(capsys, "fit", "repairs.csv", *named, "--dependence", "none", "-o", "m.bayesnb")[0] == 0
    table.loc[60:62, "outcome"] = "sold"  # This class was not learned.
    table.assign(age=table["age"].where(table.index != 77, -1)).to_csv("new.csv", index=False)
    of_model, of_table = ("m.bayesnb", "new.csv"), ("new.csv", *named)
    commands = [
        ("predict", *of_model), ("score", *of_model), ("explain", *of_model, "--row", "77"), ("watch", *of_model),
        ("watch", "m.bayesnb", "repairs.csv", "--learned", "new.csv"), ("update", *of_model), ("forget", *of_model),
        ("ask", "loo", *of_model), ("ask", "surprise", *of_model), ("fit", *of_table, "-o", "other.bayesnb"),
        ("compare", *of_table), ("audit", *of_table), ("explain", *of_table), ("report", *of_table, "-o", "page.md"),
    ]  # fmt: skip
    for command in commands:
        code, _, err = run(capsys, *command)
        assert (code, "in row 77" in err, "counted from 0" in err) == (1, True, True), (command, err)


def test_an_impossible_row_has_its_number_in_the_file(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    known = pd.DataFrame(
        {"a": ["", "x", "x", "y", "y"], "b": ["", "x", "x", "y", "y"], "c": [None, "u", "u", "v", "v"]}
    )
    known.to_csv("old.csv", index=False)
    known.assign(b=["", "x", "x", "y", "x"]).to_csv("new.csv", index=False)
    assert run(capsys, "fit", "old.csv", "--target", "c", "--estimate", "mle", "-o", "m.bayesnb")[0] == 0
    of_model = ("m.bayesnb", "new.csv")
    for command in (("predict", *of_model), ("explain", *of_model, "--row", "4"), ("ask", "credible-set", *of_model)):
        code, _, err = run(capsys, *command)
        assert (code, "row 4 has probability 0" in err, "counted from 0" in err) == (1, True, True), (command, err)


def test_a_report_says_how_rows_are_counted_unless_the_table_names_them(table):
    X, y = table[["age"]], table["outcome"]
    clf = BayesianNB().fit(X, y)
    by_place, by_name = (report(clf, frame, y, format="md", draws=50) for frame in (X, X.set_index(X.index + 5000)))
    assert re.search(r"The most uncertain row is \d+ \(rows are counted from 0\): ", by_place)
    assert by_place.count("Rows are counted from 0.") == 2
    assert re.search(r"The most uncertain row is 5\d{3}: ", by_name)
    assert "counted from 0" not in by_name


@pytest.mark.parametrize("command", ["predict", "score", "explain"])
def test_a_cell_that_the_named_family_cannot_read_is_answered_with_two_ways_out(capsys, table, command):
    asked = ("repairs.csv", "--target", "outcome", "--dependence", "none", "--na", "age=0.0", "-o", "m.bayesnb")
    assert run(capsys, "fit", *asked, "--feature", "age=log-normal")[0] == 0
    table.assign(age=table["age"].where(table.index != 4, -1.5)).to_csv("new.csv", index=False)
    more = ("--row", "4") if command == "explain" else ()
    code, _, err = run(capsys, command, "m.bayesnb", "new.csv", *more)
    assert code == 1
    assert "use bayesnb fit --feature age=gaussian, or --na age=-1.5 to read it as missing" in err
    assert "in row 4," in err
    assert run(capsys, command, "m.bayesnb", "new.csv", *more, "--na", "age=-1.5")[0] == 0


def test_a_cell_that_an_inferred_family_cannot_read_stops_no_prediction(capsys, table):
    table["age"] += 0.1
    table.to_csv("repairs.csv", index=False)
    asked = ("repairs.csv", "--target", "outcome", "--dependence", "none", "-o", "m.bayesnb")
    assert run(capsys, "fit", *asked, "--feature", "age=best:log-normal")[0] == 0
    table.assign(age=table["age"].where(table.index != 4, 0)).to_csv("new.csv", index=False)
    code, out, err = run(capsys, "predict", "m.bayesnb", "new.csv")
    assert (code, len(out.splitlines())) == (0, 121)
    assert "column 'age': 1 of 120 rows holds a number that cannot occur under LogNormal (0), counted as missing" in err


def test_a_page_explains_each_kind_of_entry_of_uncertain_rows_once(table):
    X, y = table.drop(columns="outcome"), table["outcome"]
    page = report(BayesianNB(dependence="weighted", random_state=0).fit(X, y), X, y, format="md", explain=8)
    assert [page.count(f"{kind}: ") for kind in ("(offset)", "shape of")] == [1, 1]


@pytest.mark.parametrize("cell", [str, float, int])
@pytest.mark.parametrize("decimals", [0, 1])
def test_a_word_among_numbers_is_named_with_what_to_write(table, cell, decimals):
    X, y = table.drop(columns="outcome"), table["outcome"]
    sizes = np.random.default_rng(0).normal(40, 9, len(X)).round(decimals)
    sizes = [cell(size) if cell is not str or decimals else str(int(size)) for size in sizes]
    X["size"] = pd.Series([*sizes[:-2], "unknown", "missing"], dtype=object if cell is not str else str)
    with pytest.warns(NumbersAsLevelsWarning, match="column 'size': most of its .* levels are numbers") as said:
        BayesianNB().fit(X, y)
    cure = "X['size'] = pd.to_numeric(X['size'], errors='coerce')"
    assert all(part in str(said[0].message) for part in ("'missing'", cure))
    assert cure in str(inspect(X, y))
    exec(cure, {"X": X, "pd": pd})
    assert BayesianNB().fit(X, y).describe()["missing"]["size"] == pytest.approx(2 / len(X))


def as_texts(numbers, mark, word=None):
    texts = [f"{number:.2f}".replace(".", mark) for number in numbers]
    return texts if word is None else [*texts[:-3], *[word] * 3]


HELD = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "dict": dict, "arrow": lambda X: pa.table(X)}


@pytest.mark.parametrize("container", HELD)
@pytest.mark.parametrize("word", [None, "k.A.", "-"])
@pytest.mark.parametrize("mark", [".", ","])
def test_numbers_written_as_text_become_numbers_as_in_a_file_whatever_the_decimal_mark(table, container, word, mark):
    y, sizes = table["outcome"], np.random.default_rng(0).normal(40, 9, len(table))
    X = HELD[container]({"size": as_texts(sizes, mark, word)})
    cells = [float(size.replace(",", ".")) if size[0].isdigit() else None for size in as_texts(sizes, mark, word)]
    expected = BayesianNB().fit({"size": cells}, y)
    found = inspect(X, y)
    assert "numbers" in str(found) or "all cells are read as levels" in str(found)
    clf = BayesianNB(found.features).fit(found.mended(X), y)
    assert clf.describe()["family"].tolist() == ["Gaussian"]
    assert_allclose(clf.predict_proba(found.mended(X)), expected.predict_proba({"size": cells}), atol=1e-9)
    if word != "k.A.":
        named = BayesianNB({"size": Number(mark)}).fit(X, y)
        assert_allclose(named.predict_proba(X), expected.predict_proba({"size": cells}), atol=1e-9)
        return
    for features, write in (({"size": Number(mark)}, "'k.A.'"), ({"size": Gaussian()}, "'k.A.'")):
        with pytest.raises(RefusedError, match="if it means missing, ") as refused:
            BayesianNB(features).fit(X, y)
        assert refused.value.value == "k.A."
        assert write in str(refused.value)


@pytest.mark.parametrize("word", [None, "abc"])
@pytest.mark.parametrize("mark", [".", ","])
def test_a_warning_about_numbers_read_as_levels_names_the_remedy_or_a_finding_of_inspect(table, mark, word):
    y, sizes = table["outcome"], np.random.default_rng(0).normal(40, 9, len(table))
    X = {"size": as_texts(sizes, mark, word)}
    with pytest.warns(NumbersAsLevelsWarning) as said:
        BayesianNB().fit(X, y)
    message, found = str(said[0].message), inspect(X, y)
    assert ("to_numeric" in message) == (mark == "." and word is not None)
    assert (f"features={{'size': nb.Number(decimal=\"{mark}\")}}" in message) == (word is None)
    assert ("'abc'" in message) == (word is not None)
    assert {remark.column for remark in found.remarks} == {"size"}
    assert BayesianNB(found.features).fit(found.mended(X), y).describe()["family"].tolist() == ["Gaussian"]


def test_a_number_with_an_unknown_decimal_mark_is_asked_about_and_whole_numbers_may_be_codes(table):
    y, sizes = table["outcome"], np.random.default_rng(0).permutation(len(table)) + 1000
    for texts, cures in (([f"{size:,}" for size in sizes], 2), ([str(size) for size in sizes], 1)):
        (remark,) = inspect({"size": texts}, y).remarks
        assert remark.asks
        assert len(remark.cures) == cures
        assert inspect({"size": texts}, y).features == {}


@pytest.mark.parametrize(("word", "said"), [("k.A.", "if it means missing, --na pH=k.A."), ("abc", "convert it")])
def test_the_cell_that_prevents_numbers_is_named_and_not_a_decimal_comma(capsys, table, word, said):
    sizes = np.random.default_rng(0).normal(7, 1, len(table))
    Path("v.csv").write_text(
        "\n".join(["pH;y", *(f"{s};{c}" for s, c in zip(as_texts(sizes, ",", word), table["outcome"], strict=True))])
    )
    code, _, error = run(capsys, "fit", "v.csv", "--target", "y", "--feature", "pH=gaussian", "-o", "m.bayesnb")
    assert code
    assert f"column 'pH' holds text ('{word}') where numbers are needed" in (error := " ".join(error.split()))
    assert said in error
    capsys.readouterr()
    cured = ("--na", word, "--feature", "pH=gaussian", "--dependence", "none")
    run(capsys, "fit", "v.csv", "--target", "y", *cured, "-o", "m.bayesnb")
    assert Path("m.bayesnb").exists()


def test_new_cells_that_cannot_be_read_are_told_without_a_guess_that_makes_no_sense(table):
    X = pd.DataFrame({"day": table["brought in"], "rooms": np.resize([1, 2, 3], len(table))})
    clf = BayesianNB({"rooms": "categorical"}).fit(X, table["outcome"])
    new = pd.DataFrame({"day": ["2024-13-04", "05.03.2024"], "rooms": [12, 1]})
    with pytest.warns((UnreadCellWarning, UnseenLevelWarning)) as said:
        clf.predict(new)
    assert [str(each.message) for each in said] == [
        "column 'day': 1 of 2 cells are no dates of the form day-month-year, such as '2024-13-04', and count as "
        "missing",
        "column 'rooms': 1 of 2 rows holds a level never seen (12), counted as missing",
    ]


def test_an_unseen_whole_number_is_shown_as_it_was_written_and_few_numbers_with_a_comma_are_numbers(table):
    X, y = {"rooms": np.resize([1.0, 2.0, 3.0, None], len(table)).astype(float)}, table["outcome"]
    clf = BayesianNB({"rooms": "categorical"}).fit(X, y)
    with pytest.warns(UnseenLevelWarning, match=r"a level never seen \(6\), "):
        clf.predict({"rooms": [6.0, np.nan]})
    hours = pd.DataFrame({
        "hours": np.resize(["19,25", "20", "38,5", "38,5"], len(table)),
        "code": np.resize(["10", "20", "30"], len(table)),
        "picked": np.resize(["1,2", "2,3", "1,3"], len(table)),
    })  # fmt: skip
    features = inspect(hours, y).features
    assert BayesianNB(features).fit(hours, y).describe()["family"]["hours"] == "Gaussian"
    assert not {"code", "picked"} & {name for name, spec in features.items() if isinstance(spec, Number)}
    assert isinstance(features["hours"], Number)


def test_a_few_cells_far_beyond_all_others_are_named_as_a_code_for_missing_instead_of_as_a_skewed_column():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.normal(51, 12, 600).round().clip(18, 90)})
    y = np.where(X["age"] > 51, "no", "yes")
    X.loc[rng.choice(600, 5, replace=False), "age"] = 999
    said = str(inspect(X, y))
    assert "are 999: if it means missing" in said
    assert "log-normal" not in said.lower()
    assert "lognormal" not in said.lower()


def test_the_most_surprising_row_is_that_of_full_bayes_even_if_a_plug_in_gives_probability_0():
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"x": rng.normal(size=80), "level": ["rare", *["common"] * 79]})
    y = (X["x"] + 0.5 * rng.normal(size=80) > 0).map({True: "b", False: "a"})
    compared = comparison(BayesianNB(), X, y)
    assert compared.table.loc["mle", "log_loss"] == np.inf
    own = [
        BayesianNB().fit(X.drop(index=i), y.drop(index=i)).predict_proba(X.loc[[i]])[0, int(y[i] == "b")]
        for i in range(80)
    ]
    assert compared.most_surprising == np.argmin(own) != 0


def test_compare_leaves_identifiers_out_of_the_command_it_ends_with_and_says_so(capsys, table):
    table.insert(0, "order id", [f"R{k:04}" for k in np.random.default_rng(0).permutation(len(table))])
    table.to_csv("repairs.csv", index=False)
    asked = ("compare", "repairs.csv", "--target", "outcome", "--dependence", "none")
    _, out, err = run(capsys, *asked)
    assert "--drop 'order id'" in out.splitlines()[-1]
    assert "the last line adds options that inspect advises and these scores do not use" in " ".join(err.split())
    _, out, err = run(capsys, *asked, "--drop", "order id")
    assert out.splitlines()[-1].count("--drop") == 1
    assert "add --feature price=log-normal" in " ".join(err.split())


@pytest.mark.parametrize("width", ["40", "80", None])
def test_no_line_ends_within_an_option_however_long_it_is(capsys, table, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", width) if width else monkeypatch.delenv("COLUMNS", raising=False)
    name = "how satisfied were you, on the whole, with the repair and with the people who did it"
    table[name] = np.resize(["Very Satisfied", "satisfied", "neutral", "dissatisfied"], len(table))
    table.to_csv("repairs.csv", index=False)
    _, out, _ = run(capsys, "inspect", "repairs.csv", "--target", "outcome")
    assert f"--feature '{name}=ordinal:dissatisfied,neutral,satisfied,Very Satisfied'" in out.splitlines()


@pytest.mark.parametrize(("bound", "unit", "family"), [("<", "", ("--feature", "use=bounded")), ("", " l", ())])
def test_the_numbers_of_a_row_have_one_decimal_mark_however_the_file_writes_them(capsys, tmp_path, bound, unit, family):
    rng = np.random.default_rng(0)
    use = [f"{bound * (k % 9 == 0)}{x:.1f}{unit}".replace(".", ",") for k, x in enumerate(rng.uniform(100, 900, 120))]
    billed = [f"{x:.2f}" for x in rng.normal(80, 9, 120)]
    pd.DataFrame({"use": use, "billed": billed, "y": np.resize(["hi", "lo"], 120)}).to_csv(tmp_path / "t.csv")
    given = (tmp_path / "t.csv", "--target", "y", "--dependence", "none", *family)
    assert run(capsys, "fit", *given, "-o", tmp_path / "m.bayesnb")[0] == 0
    value = f"use=245,5{unit}"
    for words in (
        ("explain", *given, "--row", "3"), ("explain", *given, "--row", "3", "--set", value),
        ("explain", tmp_path / "m.bayesnb", tmp_path / "t.csv", "--row", "4"),
        ("explain", tmp_path / "m.bayesnb", "--set", value), ("compare", *given, "--set", value),
        ("compare", *given, "--all"),
    ):  # fmt: skip
        code, out, _ = run(capsys, *words)
        assert (words[0], code) == (words[0], 0)
        assert re.search(r"use ?= ?\d+\.\d", out)
        assert not re.search(r"\d,\d\b", out)


def test_a_message_shows_all_blanks_of_a_level(capsys, table):
    table["wood"] = np.resize(["red  oak", "red oak", "elm"], len(table))
    table.to_csv("repairs.csv", index=False)
    _, _, err = run(capsys, "fit", "repairs.csv", "--target", "outcome", "--dependence", "none", "-o", "m.bayesnb")
    assert "'red  oak' for 'red oak'" in err


@pytest.mark.parametrize(
    ("held", "pairs"),
    [
        (["y", "yes", "Yes ", "n", "no"], {"yes": "y", "n": "no"}),
        (["ja", "J", "nein", "n", "unbekannt"], {"J": "ja", "n": "nein"}),
        (["EUR", "€", "Euro", "USD"], {"€": "EUR", "Euro": "EUR"}),
        (["m", "male", "F", "female"], {"m": "male", "F": "female"}),
        (["N", "NO", "O", "SO"], {}), (["S", "Si", "Y", "Yes"], {}), (["y", "n"], {}), (["$", "USD", "CAD"], {}),
    ],
)  # fmt: skip
def test_words_for_one_answer_are_joined_if_all_levels_are_answers(table, held, pairs):
    X, y = table.drop(columns="outcome"), table["outcome"]
    X["asked"] = np.resize([*held, *pairs.values(), *pairs.values()], len(X))
    found = inspect(X, y)
    assert ("levels in several spellings" in str(found)) == bool(pairs)
    spec = found.features.get("asked")
    assert dict(spec.pairs if pairs else ()) == pairs
    levels = BayesianNB(found.features).fit(X, y).classifier_.schema.features["asked"].levels[0]
    assert len(levels) == len({text.strip().casefold() for text in held} - {text.casefold() for text in pairs})


@pytest.mark.parametrize(
    ("one", "other"), [("{} €", "EUR {}"), ("£{}", "{} GBP"), ("US$ {}", "{} USD"), ("CHF {}", "{} sFr.")]
)
def test_a_price_in_two_words_for_one_currency_is_a_number(table, one, other):
    X, y = table[["age"]].copy(), table["outcome"]
    X["fee"] = [(one if k % 3 else other).format(10 + 7 * k % 60) for k in range(len(X))]
    numbers = X.assign(fee=[float(10 + 7 * k % 60) for k in range(len(X))])
    assert "fee: numbers in " in str(inspect(X, y))
    assert np.allclose(BayesianNB().fit(X, y).predict_proba(X), BayesianNB().fit(numbers, y).predict_proba(numbers))


def test_ordered_answers_in_several_spellings_are_joined_in_their_order_and_the_advice_can_be_fitted(table):
    X, y = table.drop(columns="outcome"), table["outcome"]
    X["effort"] = np.resize(["low", "Low", "high ", "medium", "high"], len(X))
    found = inspect(X, y)
    assert "effort: ordered answers in several spellings, 'low' for 'Low'" in str(found)
    assert BayesianNB(found.features).fit(found.mended(X), y).describe()["levels"]["effort"] == "Low, medium, high"
    X["effort"] = X["effort"].str.strip().str.lower()
    assert inspect(X, y).features["effort"].order == ("low", "medium", "high")


FORMS = {"dmy": "%d.%m.%Y", "mdy": "%m/%d/%Y", "iso": "%Y-%m-%d", "clock": "%d.%m.%Y %H:%M", "typed": ""}


@pytest.mark.parametrize("form", FORMS)
def test_dates_that_are_filled_in_or_drawn_are_written_as_in_the_table(table, form):
    X, y = table[["age"]].copy(), table["outcome"]
    days = pd.to_datetime(table["brought in"], format="%d.%m.%Y")
    days = pd.Timestamp("2024-05-01") + (days - days.min()) / 2000 if form == "clock" else days
    X["day"] = days.dt.strftime(FORMS[form]) if form != "typed" else days
    clf = BayesianNB({"day": Date("elapsed", "month")}, random_state=0).fit(X, y)
    filled = deploy.fill_in(clf, X[:3].drop(columns="day")).xs("elapsed of day", level="column")
    drawn = draws.sample(clf, 50)
    assert drawn.columns.tolist() == ["outcome", "age", "day"]
    written = pd.to_datetime(
        pd.concat([filled["value"], filled["lower"], drawn["day"]]), format=FORMS[form] or "%Y-%m-%d"
    )
    span = days.max() - days.min()
    assert written.between(days.min() - span, days.max() + span).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(clf.predict(drawn[["age", "day"]])) == 50
        clf.predict(X[:3].assign(day=filled["value"].to_numpy()))


def test_a_screen_shows_a_filled_date_with_its_interval(capsys, table):
    asked = ("--target", "outcome", "--dependence", "none", "-o", "m.bayesnb")
    assert run(capsys, "fit", "repairs.csv", *asked)[0] == 0
    table.assign(**{"brought in": None})[:2].to_csv("new.csv", index=False)
    _, out, _ = run(capsys, "ask", "fill-in", "m.bayesnb", "new.csv")
    day = r"\d\d\.\d\d\.202\d"
    assert re.search(rf"elapsed of brought in │ {day} \({day} to {day}\)", out)


@pytest.mark.parametrize("question", [evaluate, scorecard, held_out, lambda clf, *rows: compare({"a": clf}, *rows)])
@pytest.mark.parametrize("clf", [BayesianNB(), BayesianNB(dependence="weighted"), LogisticRegression()])
def test_a_fitted_model_on_new_rows_is_told_to_be_scored_by_cv_none(clf, question):
    X, y = repairs()[["age"]], repairs()["outcome"]
    clf = clf.fit(X[:90], y[:90])
    for cv in ("loo", 90):
        # A model without a dependence can be fitted anew by leave-one-out, so it only warns.
        refits = isinstance(clf, BayesianNB) and clf.dependence is None and cv == "loo"
        told = "to score it on rows that it has not learned, write cv=None"
        with pytest.warns(UserWarning, match=told) if refits else pytest.raises(ValueError, match=told):
            question(clf, X[90:], y[90:], cv)
    question(clf, X, y, 5)


@pytest.mark.parametrize("whole", [(20, 21, 22), (-3, -4, 1)])
def test_numbers_with_commas_beside_a_word_are_no_lists_of_choices(whole):
    """All parts between the commas recur, as options do."""
    X, y = {"size": [*(f"{k},{tenth}" for k in whole for tenth in (5, 7)), "k.A."] * 3}, ["a", "b", "c"] * 7
    assert "choices" not in str(inspect(X, y))
    assert [*BayesianNB().fit(X, y).describe().index] == ["size"]


def test_the_number_of_further_levels_in_several_spellings_is_a_number_of_levels(table):
    X, y = table.drop(columns="outcome"), table["outcome"]
    X["town"] = np.resize(["Ulm", "Ulm", "ULM", "ulm ", "Jena", "Jena", "jena", "Fulda", "fulda", "Kassel", "KASSEL",
                           "Fürth", "fürth"], len(X))  # fmt: skip
    assert ", and of 2 more levels: features={'town': nb.Joined()}" in str(inspect(X, y))


@pytest.mark.parametrize("unit", [1.0, 1e-4, 1e4])
def test_the_most_surprising_cell_of_all_columns_comes_first_in_every_unit(capsys, tmp_path, unit):
    rng = np.random.default_rng(3)
    rows = pd.DataFrame({"cost": rng.normal(5, 1, 60).round(2) * unit, "kind": ["a", "b"] * 30, "class": [*"uv"] * 30})
    rows.to_csv(tmp_path / "learned.csv", index=False)
    model, new = tmp_path / "m.bayesnb", tmp_path / "new.csv"
    asked = ("--target", "class", "--dependence", "none")
    assert run(capsys, "fit", tmp_path / "learned.csv", *asked, "-o", model)[0] == 0
    odd = rows.drop(columns="class")
    odd.loc[41, "cost"] = 12 * unit
    odd.loc[7, "kind"] = None
    odd.to_csv(new, index=False)
    _, out, _ = run(capsys, "ask", "surprise", model, new, "--format", "table")
    lines = re.findall(r"│ +(\d+) │ (\w+) +│ +(-?[\d.]+) │ +([\d.]+) │", out)
    assert lines[0][:2] == ("41", "cost")
    above = [float(line[3]) for line in lines]
    assert above == sorted(above, reverse=True)
    assert len(lines) == 10
    assert ("7", "kind") not in {line[:2] for line in lines}


def test_a_long_explanation_names_the_entries_that_matter_and_adds_up():
    X, y = datasets.penguins()  # Only two cells of row 3 are known.
    found = BayesianNB(dependence="pairwise").fit(X, y).explain(X[3:4]).droplevel("row")
    shown = questions.by_size(found)
    sizes = shown["log_odds"].abs()[:-1]
    assert len(found) > questions.MOST_ENTRIES
    assert (sizes[:-1] >= 0.005 * sizes.max()).all()
    assert_allclose(shown["log_odds"][:-1].sum(), found["log_odds"].iloc[-1], atol=1e-9)


def test_gains_of_columns_are_said_to_be_those_of_naive_bayes_if_the_model_has_a_dependence(table):
    X, y = table[["price", "age"]], table["outcome"]
    for dependence in (None, "weighted"):
        said = str(column_gains(BayesianNB(dependence=dependence).fit(X, y), X, y).attrs["says"])
        assert ("permutation_importance" in said) is (dependence is not None)


@pytest.mark.parametrize("question", ["column-gains", "loo", "suspicious-labels"])
def test_help_says_that_a_question_is_about_the_learned_rows(capsys, question):
    assert "MODEL LEARNED\n" in run(capsys, "ask", question, "--help")[1]


@pytest.mark.slow
def test_a_report_of_naive_bayes_recommends_one_dependence_which_its_scores_chose(table):
    X, y = table[["age"]].assign(again=table["age"], thrice=table["age"]), table["outcome"]
    page = report(BayesianNB().fit(X, y), X, y, format="md", cv=5)
    found = page.partition("## What to look at")[2].partition("\n## ")[0]
    audited = next(line for line in found.splitlines() if "given the class" in line and "pairs" in line)
    assert "dependence=" not in audited
    assert "too large" in audited
    assert len({*re.findall(r"Recommended: dependence=\"(\w+)\"", page)}) == 1


@pytest.mark.parametrize("dependence", [None, "tempered"])
def test_gains_of_columns_of_weighted_rows_are_those_of_their_copies(table, dependence):
    X, y = table[["price", "age"]], table["outcome"]
    weight = np.random.default_rng(0).integers(0, 4, len(X))
    copies = np.repeat(np.arange(len(X)), weight)
    copied = X.iloc[copies].reset_index(drop=True), y.iloc[copies].reset_index(drop=True)
    clf = BayesianNB(dependence=dependence)
    found = column_gains(clf.fit(X, y, sample_weight=weight), X, y, sample_weight=weight)
    assert_allclose(found, column_gains(clf.fit(*copied), *copied), rtol=1e-9, atol=1e-12)
