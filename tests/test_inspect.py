"""Findings about a table in Python: the same as those of the command line, and settings that can be fitted."""

import json
import re
import shlex
from operator import attrgetter

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose

import bayesnb as nb
from bayesnb.data.improving import derived
from bayesnb.statistics.statistic import Labels
from bayesnb.wording import RefusedError
from tests.conftest import run


def shop(n=200):
    rng = np.random.default_rng(3)
    y = rng.choice(["ja", "nein"], n)
    return pd.DataFrame(
        {
            "id": rng.permutation(n) + 5000,
            "since": [
                f"{d:02d}.{m:02d}.2024" for d, m in zip(rng.integers(1, 29, n), rng.integers(1, 13, n), strict=True)
            ],
            "paid": [f"{v:.2f} €" for v in rng.lognormal(4, 1.2, n)],
            "sex": rng.choice(["f", "F", "m"], n),
            "age": np.where(rng.random(n) < 0.1, -999, rng.integers(18, 90, n)),
            "calls": np.minimum(rng.poisson(2, n), 4),
            "mood": rng.choice(["?", "good", "bad"], n),
            "y": y,
        }
    )


def test_the_findings_are_those_of_the_command_in_any_container(tmp_path, capsys):
    frame = shop()
    frame.to_csv(tmp_path / "t.csv", index=False)
    code, out, _ = run(capsys, "inspect", tmp_path / "t.csv", "--target", "y", "--format", "json")
    assert code == 0
    expected = [line["column"] for line in json.loads(out)["remarks"]]
    labels = frame["y"]
    tables = [
        (frame.drop(columns="y"), labels),
        (pl.from_pandas(frame), "y"),
        (frame.to_dict("list"), "y"),
    ]
    said = str(nb.inspect(frame, "y"))
    for table, y in tables:
        found = nb.inspect(table, y)
        assert found.table["column"].tolist() == expected
        assert str(found) == said
    assert "--" not in str(found)
    assert found._repr_html_().count("<tr>") == len(expected) + 1


def test_the_advised_settings_can_be_fitted_and_leave_nothing_serious():
    frame = shop()
    found = nb.inspect(frame, "y")
    assert found.drop == ["id"]
    assert set(found.features) == {"paid", "sex", "calls"}
    mended = found.mended(frame)
    assert mended["age"].isna().sum() == (frame["age"] == -999).sum()
    assert mended["mood"].isna().sum() == (frame["mood"] == "?").sum()
    clf = nb.BayesianNB(found.features).fit(mended, "y")
    assert clf.describe().loc["paid", "family"] == "LogNormal"
    assert not nb.inspect(mended, "y").table.query("serious and column != 'sex'").size


@pytest.mark.parametrize(
    "typed",
    [
        lambda d: pd.Series(d), lambda d: pd.Series(d).astype("category"),
        lambda d: pd.Series(pd.Categorical(d, ordered=True)), pl.Series, lambda d: pl.Series(d, dtype=pl.Categorical),
        lambda d: pl.Series(d, dtype=pl.Enum(sorted(set(d)))),
    ],
    ids=["text", "categories", "ordered categories", "polars", "polars Categorical", "polars Enum"],
)  # fmt: skip
def test_dates_are_found_where_the_fit_reads_dates_and_not_where_their_type_declares_levels(typed):
    days = typed([f"2024-{k % 12 + 1:02d}-{k % 28 + 1:02d}" for k in range(60)])
    frame, y = (pl.DataFrame if isinstance(days, pl.Series) else pd.DataFrame)({"d": days}), ["p", "q", "q"] * 20
    read = nb.BayesianNB().fit(frame, y).describe().index.tolist() == ["elapsed of d"]
    assert ("read as days" in str(nb.inspect(frame, y))) == read


def test_advised_levels_that_hold_commas_and_quotes_stay_whole_in_python_and_in_the_command(tmp_path, capsys):
    mood = ["stimme zu", "teils, teils", "stimme nicht zu"] * 40
    name = ["Smith, John"] * 60 + ["Smith, Jon"] * 2 + ['Ann "Annie" Lee'] * 57 + ['Ann "Anni" Lee']
    y = ["p", "q"] * 60
    frame = pd.DataFrame({"mood": mood, "name": name, "y": y}).sample(frac=1, random_state=0)
    features = nb.inspect(frame, "y").features
    assert features["mood"].order == ("stimme nicht zu", "teils, teils", "stimme zu")
    assert dict(features["name"].pairs) == {"Smith, Jon": "Smith, John", 'Ann "Anni" Lee': 'Ann "Annie" Lee'}
    frame.to_csv(tmp_path / "t.csv", index=False)
    fit = json.loads(run(capsys, "inspect", tmp_path / "t.csv", "--target", "y", "--format", "json")[1])["fit"]
    code, _, err = run(capsys, *shlex.split(fit)[1:], "--dependence", "none", "-o", tmp_path / "m.bayesnb", "--force")
    assert code == 0, err
    schema = nb.load(tmp_path / "m.bayesnb").classifier_.schema
    assert schema.features["mood"].family.order_of(0) is not None
    assert schema.features["name"].levels == (('Ann "Annie" Lee', "Smith, John"),)


def test_a_table_without_faults_has_no_findings_and_a_missing_column_is_named():
    X, y = nb.datasets.heights()
    assert str(nb.inspect(X, y)) == "nothing deserves attention"
    with pytest.raises(RefusedError, match="X has no column 'hight'") as error:
        nb.inspect(X, "hight")
    assert error.value.column == "hight"


def test_bounds_are_counted_and_the_command_that_is_printed_reads_them(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    n, y = 300, np.repeat(["ill", "well"], 150)
    x = rng.lognormal(2 + (y == "ill"), 1.4)
    crp = [f"{v:.1f}" if 5 <= v < 200 else "<5" if v < 5 else ">200" for v in x]
    lost = rng.choice(["clot", "late", "lost", "spilt"], n)
    pct = [lost[k] if k % 20 == 0 else "<0.2" if v < 4 else f"{v:.2f}" for k, v in enumerate(x)]
    frame = pd.DataFrame({"crp": crp, "pct": pct, "y": y})
    frame.loc[rng.random(n) < np.where(y == "ill", 0.02, 0.4), "crp"] = None
    frame.loc[frame.index[5], "crp"] = "hemolyzed"
    found = nb.inspect(frame, "y")
    counts = frame["crp"].value_counts()
    said = f"{counts['<5']} of {frame['crp'].count()} are '<5', {counts['>200']} '>200', 1 'hemolyzed', read as"
    assert said in str(found)
    assert {"crp", "number of crp", "pct"} == set(found.features)
    for table in (frame, frame.sample(frac=1, random_state=0)):
        assert str(nb.inspect(table, "y")) == str(found)
    clf = nb.BayesianNB(found.features).fit(found.mended(frame), "y")
    frame.to_csv("t.csv", index=False)
    fit = json.loads(run(capsys, "inspect", "t.csv", "--target", "y", "--format", "json")[1])["fit"]
    for advice in ("crp=missing", "'number of crp=log-normal'", "pct=bounded"):
        assert advice in fit
    code, _, err = run(capsys, *shlex.split(fit)[1:], "--dependence", "none")
    assert code == 0, err
    model = nb.load("t.bayesnb")
    assert model.describe().equals(clf.describe())
    rows = frame.drop(columns="y")
    assert np.abs(model.predict_proba(rows) - clf.predict_proba(rows)).max() < 1e-12
    again = json.loads(run(capsys, *shlex.split(fit.replace("fit", "inspect", 1))[1:-2], "--format", "json")[1])["fit"]
    assert shlex.split(again)[1:-2] == shlex.split(fit)[1:-2]


def test_words_that_may_mean_missing_are_proposed_per_column_and_country_codes_are_not(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    n = 200

    def put(cells, word, p=0.3):
        return [word if gone else cell for cell, gone in zip(cells, rng.random(n) < p, strict=True)]

    days = [f"{d}.01.2024" for d in rng.integers(13, 29, n)]
    frame = pd.DataFrame({
        "pct": put([f"{v:.1f}" for v in rng.normal(50, 9, n)], "not done"), "day": put(days, "unbekannt"),
        "price": put([f"{v:.1f} €" for v in rng.normal(50, 9, n)], "k.A."), "mood": put(["up", "down"] * 100, "—"),
        "crp": put(put([f"{v:.1f}" for v in rng.normal(50, 9, n)], "<30"), "Not tested"),
        "land": rng.choice(["NA", "DE", "FR", "US", "ZA"], n), "y": ["a", "b"] * 100,
    })  # fmt: skip
    found = nb.inspect(frame, "y")
    marks = {"pct": "not done", "day": "unbekannt", "price": "k.A.", "mood": "—", "crp": "Not tested"}
    assert {r.option for r in found.remarks if r.option} == {("--na", f"{c}={word}") for c, word in marks.items()}
    clf = nb.BayesianNB(found.features).fit(found.mended(frame), "y")
    families = clf.describe()["family"]
    assert (families[["pct", "elapsed of day", "price", "number of crp"]] == "Gaussian").all()
    assert "NA" in clf.classifier_.schema.features["land"].levels[0]
    frame.to_csv("t.csv", index=False)
    said = json.loads(run(capsys, "inspect", "t.csv", "--target", "y", "--format", "json")[1])
    assert "add --keep-na land=NA" in next(r["remark"] for r in said["remarks"] if r["column"] == "land")
    code, _, err = run(capsys, *shlex.split(said["fit"])[1:], "--dependence", "none", "--keep-na", "land=NA")
    assert code == 0, err
    assert nb.load("t.bayesnb").describe().equals(clf.describe())


def prices(n: int = 400) -> pd.DataFrame:
    """The class depends only on which of two prices is higher."""
    rng = np.random.default_rng(0)
    opening = rng.lognormal(2, 1, n)
    closing = opening * np.exp(rng.normal(0, 0.3, n))
    y = np.where(closing > opening, "up", "down")
    return pd.DataFrame({"open": opening, "close": closing, "fee": rng.normal(size=n), "y": y})


def test_a_ratio_that_shows_the_class_is_proposed_and_the_proposed_line_can_be_pasted():
    X = prices()
    found = nb.inspect(X, "y").table
    (said,) = found["finding"][found["finding"].str.contains("as a further column")]
    line = said.split("rows: ")[1]
    assert line == "X['log(open / close)'] = np.log(X['open'] / X['close'])"
    y, further = X.pop("y"), X.copy()
    exec(line, {"np": np, "X": further})
    losses = [nb.evaluate(nb.BayesianNB(), Z, y)["log_loss"] for Z in (X, further)]
    assert losses[1] < losses[0] - 0.2


@pytest.mark.parametrize("form", ["%d.%m.%Y", "%Y-%m-%d", None])
def test_a_difference_of_two_dates_that_shows_the_class_is_proposed_and_the_proposed_line_can_be_pasted(form):
    rng = np.random.default_rng(0)
    sown = pd.Timestamp("2022-09-01") + pd.to_timedelta(rng.integers(0, 60, 400), "D")
    days = rng.integers(280, 320, 400)
    cut = sown + pd.to_timedelta(days, "D")
    X = pd.DataFrame({"sown": sown, "cut": cut, "fee": rng.normal(size=400) + 19_000})
    X["cut"] = X["cut"].mask(X.index == 3)
    if form:
        X[["sown", "cut"]] = X[["sown", "cut"]].apply(lambda dates: dates.dt.strftime(form))
    y = np.where(days > 300, "late", "early")
    (said,) = (said for said in nb.inspect(X, y).table["finding"] if "as a further column" in said)
    line = said.split("rows: ")[1]
    day = "pd.to_datetime(X[{!r}], dayfirst=True)" if form == "%d.%m.%Y" else "pd.to_datetime(X[{!r}])"
    assert line == f"X['sown - cut'] = {day.format('sown')} - {day.format('cut')}"
    further = X.copy()
    exec(line, {"pd": pd, "X": further})
    losses = [nb.evaluate(nb.BayesianNB(), Z, y)["log_loss"] for Z in (X, further)]
    assert losses[1] < losses[0] - 0.2


def test_a_derived_column_does_not_depend_on_the_order_of_rows_or_on_the_unit_of_a_ratio():
    X = prices()
    y = X.pop("y").to_numpy()
    labels = Labels.of((y == "up").astype(int))
    x = {name: X[name].to_numpy() for name in X}
    (one,) = derived(x, labels)
    turn = np.random.default_rng(1).permutation(len(y))
    (again,) = derived({name: values[turn] for name, values in x.items()}, labels[turn])
    assert (again.first, again.second, again.ratio) == (one.first, one.second, one.ratio) == ("open", "close", True)
    assert_allclose(again.gain, one.gain, rtol=1e-9)
    (other,) = derived(x | {"open": 100 * x["open"], "close": x["close"]}, labels)
    assert other.ratio
    assert_allclose(other.gain, one.gain, rtol=1e-6)
    (last,) = derived(dict(reversed(x.items())), labels)
    assert {last.first, last.second} == {"open", "close"}
    assert_allclose(last.gain, one.gain, rtol=1e-9)


def test_no_derived_column_is_proposed_if_naive_bayes_is_right():
    for seed in range(5):
        rng = np.random.default_rng(seed)
        y = rng.integers(3, size=500)
        x = {name: rng.normal(slope * y, 1) + 20 for name, slope in zip("abcd", (1, -1, 0.5, 0), strict=True)}
        x["gaps"] = np.where(rng.random(500) < 0.3, np.nan, rng.normal(y))
        assert derived(x, Labels.of(y)) == []
    assert derived({}, Labels.of(y)) == derived({"one": np.ones(500)}, Labels.of(y)) == []


def test_columns_that_no_gaussian_can_read_are_examined_without_an_error():
    X = prices()
    labels = Labels.of((X["y"] == "up").astype(int).to_numpy())
    x = {"open": X["open"].to_numpy(), "close": X["close"].to_numpy()}
    x |= {"infinite": np.where(X["fee"] > 0, np.inf, X["fee"]), "huge": 1e200 * X["fee"], "tiny": 1e-200 * X["fee"]}
    (one,) = derived({name: np.asarray(values) for name, values in x.items()}, labels)
    assert str(one) == "log(open / close)"
    found = nb.inspect(X.assign(infinite=x["infinite"], huge=x["huge"], tiny=x["tiny"]), "y")
    assert "log(open / close)" in str(found)


@pytest.mark.parametrize(
    "order",
    [
        "never|rarely|sometimes|often|always", "Never|Almost never|Often|Almost always", "low|medium|high",
        "low|normal|high", "none|mild|moderate|severe", "S|M|L|XL", "bad|ok|good", "monthly|weekly|daily",
        "strongly_disagree|disagree|agree|strongly_agree", "keine|leicht|mittel|schwer", "jamais|parfois|souvent",
        "bad|poor|fair|good|very good", "terrible|bad|ok|good|excellent", "none|a little|some|a lot|a great deal",
        "never|rarely|once in a while|usually|always", "strongly disagree|disagree|neither|agree|strongly agree",
        "Disagree|Somewhat disagree|Neither agree nor disagree|Mostly agree|Completely agree",
        "not at all likely|somewhat likely|very likely|extremely likely", "definitely not|probably not|probably",
        "tiny|small|medium|large|huge", "very_easy|easy|difficult|very_difficult", "minimal|mild|moderate|severe",
        "slight|serious|fatal", "much worse|worse|about the same|better", "below average|average|above average",
        "not confident|rather confident|confident|very confident",
        "<18|18-25|26-40|41-65|>65", "0-5 km|5-10 km|10-20 km", "18 to 25|26 to 40|41+",
    ],
)  # fmt: skip
def test_ordered_answers_in_words_and_ranges_are_proposed_in_their_order(order):
    rng, order = np.random.default_rng(0), order.split("|")
    (cure,) = [cure for remark in nb.inspect({"x": rng.choice(order, 300)}).remarks for cure in remark.cures]
    assert cure.value == ("Ordinal", tuple(order))


@pytest.mark.parametrize(
    "levels",
    [
        "good|bad", "good|bad|unknown", "red|green|blue", "light blue|blue|dark blue", "fair|red|brown", "Jan|Feb|Mar",
        "January|February|March|May", "north|south|east", "new|used|refurbished", "rare|medium rare|well done",
        "light|heavy|dark", "yes|no|unsure", "primary|high|middle", "medium|normal|average", "not asked|not known",
    ],
)  # fmt: skip
def test_levels_that_share_a_word_with_a_scale_have_no_order(levels):
    found = nb.inspect({"x": np.random.default_rng(0).choice(levels.split("|"), 300)})
    assert "ordered answers" not in str(found)


def test_a_column_that_counts_the_cases_of_each_row_is_asked_about_whatever_its_name_and_no_other_is(tmp_path, capsys):
    rng = np.random.default_rng(0)
    cases = pd.DataFrame({name: rng.integers(0, k, 2000) for name, k in [("cabin", 4), ("sex", 2), ("y", 2)]})
    said = "no two rows are equal without it, as in a table of counts"
    for name in ("n_obs", "age"):
        table = cases.value_counts().rename(name).reset_index()
        table["y"] = table["y"].map({0: "no", 1: "yes"})
        for held in (table, table[::-1], table[table.columns[::-1]], table.to_dict("list")):
            of_counts = [remark.column for remark in nb.inspect(held, "y").remarks if said in str(remark.said)]
            assert of_counts == [name]
    # Rows of cases, of cases with a weight called so, and of a full factorial design whose factors are whole numbers.
    weighted = cases.assign(weight=rng.integers(1, 9, 2000))
    design = pd.DataFrame([(a, b, c) for a in range(1, 4) for b in range(1, 5) for c in range(6)], columns=[*"abc"])
    numbers = weighted.assign(x=rng.normal(size=2000), y=rng.integers(0, 300, 2000))
    for other in (
        cases,
        weighted,
        weighted[:50],
        numbers,
        numbers[["x", "weight", "y"]],
        design.assign(y=design.a > 2),
    ):
        assert said not in str(nb.inspect(other, "y"))
    table.to_csv(tmp_path / "t.csv", index=False)
    asked = ("inspect", tmp_path / "t.csv", "--target", "y")
    out = " ".join(run(capsys, *asked)[1].split())
    assert f"age: {said}: if a number is how many cases its row stands for, --weight age" in out
    for answer in (("--weight", "age"), ("--feature", "age=poisson")):
        assert said not in " ".join(run(capsys, *asked, *answer)[1].split())


def test_equal_remarks_about_several_columns_are_one_line_of_the_screens_and_stay_one_row_each_in_the_table(
    tmp_path, capsys
):
    answers = ["strongly disagree", "disagree", "agree", "strongly agree"]
    rng = np.random.default_rng(0)
    X = pd.DataFrame({f"Q{k}": rng.choice(answers, 60) for k in range(7)} | {"one": np.ones(60)})
    X["y"] = rng.choice(["a", "b"], 60)
    found = nb.inspect(X, "y")
    assert len(found.table) == 8
    assert set(found.features) == {f"Q{k}" for k in range(7)}
    first, last = str(found).splitlines()
    assert first.startswith("Q0, Q1, Q2, Q3 and 3 more: ordered answers: features={'Q0': nb.families.Ordinal(")
    assert first.endswith("; in the same way for the other columns")
    assert last.startswith("one: ")
    X.to_csv(tmp_path / "t.csv", index=False)
    _, out, _ = run(capsys, "inspect", tmp_path / "t.csv", "--target", "y")
    assert out.count("ordered answers") == 1
    assert all(f"--feature 'Q{k}=ordinal:" in out for k in range(7))


def test_an_order_is_asked_about_for_few_steps_such_as_grades_and_not_for_codes_of_places():
    rng = np.random.default_rng(0)
    levels = {
        "condition": [*"ABCDE"], "grade": [*"ABCDF"], "quarter": ["Q1", "Q2", "Q3", "Q4"],
        "site": [f"S{k:02d}" for k in range(1, 41)], "arm": ["f", "m", "x"], "type": [*"ABD"],
    }  # fmt: skip
    X = pd.DataFrame({name: rng.choice(each, 600) for name, each in levels.items()})
    found = nb.inspect(X, rng.choice(["a", "b"], 600))
    asked = {remark.column: remark.cures[0].value[1] for remark in found.remarks}
    assert asked == {name: tuple(levels[name]) for name in ("condition", "grade", "quarter")}
    assert not found.features


def test_numbers_of_a_categorical_type_that_may_be_steps_of_a_scale_are_told_a_family_that_reads_them():
    stars = pd.Series(np.resize([1, 2, 3, 4, 5, 4, 2], 210), dtype="category")
    frame = pd.DataFrame({"stars": stars, "y": np.resize(["a", "b", "a"], 210)})
    (remark,) = nb.inspect(frame, "y").remarks
    assert (
        str(remark.said)
        == "levels from 1 to 5. If they are steps of a scale: features={'stars': nb.families.Ordinal()}"
    )
    clf = nb.BayesianNB({"stars": nb.families.Ordinal()}).fit(frame[["stars"]], frame["y"])
    assert clf.classifier_.schema.features["stars"].levels == ((1, 2, 3, 4, 5),)
    mixed = stars.astype(object).where(np.arange(210) % 3 > 0, stars.astype(str))
    assert "scale" not in str(nb.inspect(frame.assign(stars=mixed), "y"))


def test_texts_of_several_words_that_repeat_are_proposed_as_words():
    parts = ["brake pads are worn", "the chain skips", "tyre is flat again", "rear brake squeals loudly", "gears slip"]
    notes = [f"{a}; {b}" for a in parts for b in parts]
    frame = pd.DataFrame({"note": np.resize([*notes, *map(str.capitalize, notes)], 200)})
    frame["y"] = np.where(frame["note"].str.contains("brake", case=False), "p", "q")
    found = nb.inspect(frame, "y")
    assert "Text()" in str(found)
    clf = nb.BayesianNB(found.features).fit(frame[["note"]], frame["y"])
    assert clf.classifier_.schema.features["note"].text is not None
    # If the words tell nothing about the class, they are a question.
    found = nb.inspect(frame.assign(y=np.random.default_rng(0).permutation(frame["y"])), "y")
    assert "Text()" in str(found)
    assert not found.features


def test_notes_with_capitals_are_words_if_that_predicts_better_and_names_and_addresses_are_not():
    rng = np.random.default_rng(0)
    n, y = 400, np.repeat(["gut", "schlecht"], 200)

    def drawn(*parts):
        return [" ".join(words) for words in zip(*(rng.choice(each, n) for each in parts), strict=True)]

    given, family = [f"Name{k}" for k in range(20)], [f"Vom{k}" for k in range(40)]
    frost, dense = (np.where(rng.random(n) < p, word, "") for p, word in
                    ((np.where(y == "gut", 0.2, 0.5), "Auswinterung nach Frost,"),
                     (np.where(y == "gut", 0.6, 0.3), "Bestand schön,")))  # fmt: skip
    others = [" ".join(rng.choice(["Lager", "Hagel", "Rand", "Nässe", "Mäuse"], rng.integers(1, 4))) for _ in range(n)]
    frame = pd.DataFrame({
        "note": [f"{a} {b} {c}".strip() for a, b, c in zip(frost, dense, others, strict=True)],
        "name": drawn(given, family), "place": drawn(family, ["Straße"], [*map(str, range(1, 99))], given),
        "code": drawn(["A1", "B2"], [*map(str, range(100, 999))]),
        "product": drawn(given[:5], ["Herd", "Mixer"], family, ["rot", "blau"]), "y": y,
    })  # fmt: skip
    found = nb.inspect(frame, "y")
    assert {name: type(spec).__name__ for name, spec in found.features.items()} == {"note": "Text"}
    assert "note" not in found.drop
    assert "which predict better as a bag of words than as levels" in str(found)
    assert {*found.table["column"]} == {*frame} - {"y"}
    assert not nb.inspect(frame.drop(columns="y")).features


def answered():
    """Columns with a remark that only the family of the column answers, and the remark's first words."""
    rng = np.random.default_rng(0)
    words = ["Hagel", "Lager", "Frost", "Mäuse", "Bestand", "Vogelfraß"]
    notes = [" ".join(rng.choice(words, rng.integers(1, 5))) for _ in range(240)]
    months, days = rng.integers(1, 13, (2, 240))
    crp = rng.lognormal(2, 0.5, 240).round(1)
    return {
        "notes": (notes, "levels, ", "text"),
        "names": ([f"n{k}" for k in range(240)], "looks like an identifier", "categorical"),
        "units": ([f"{k} {'kg' if k % 3 else 'lb'}" for k in range(240)], "numbers in several units", "categorical"),
        "odd": ([*map(str, rng.normal(0, 1, 238)), "broken", "lost"], "numbers except", "categorical"),
        "gaps": (["k.A.", *map(str, rng.normal(0, 1, 239))], "so all cells are read as levels", "categorical"),
        "days": ([f"2024-01-{k % 28 + 1:02d}" for k in range(239)] + ["soon"], "dates except", "categorical"),
        "spelled": (["Ja", "ja", "nein"] * 80, "levels in several spellings", "categorical"),
        "scale": (rng.integers(0, 9, 240) % 5, "whole numbers from 0", "poisson"),
        "counts": (rng.geometric(0.1, 240) - 1, "", "gaussian"),
        "skewed": (rng.lognormal(0, 1.5, 240).round(4), "skewed", "gaussian"),
        "answers": (["often", "never", "always", "often"] * 60, "ordered answers", "categorical"),
        "row": (range(1, 241), "counts the rows", "gaussian"),
        "order_id": (rng.permutation(240) * 7 + 1000, "looks like an identifier", "gaussian"),
        "weight": (rng.permutation(10**6)[:240], "how many cases its row stands for", "gaussian"),
        "sown": ([f"2024-{a:02d}-{b:02d}" for a, b in zip(months, days, strict=True)], "read as days", "date:month"),
        "cut": ([f"{a:02d}/{b:02d}/2024" for a, b in zip(months, days, strict=True)], "open", "date:elapsed,mdy"),
        "clock": ([f"{a:02d}:{b:02d}" for a, b in zip(months, days, strict=True)], "times of day", "categorical"),
        "price": ([f"{v} €" for v in np.roll(crp, 7)], "numbers in €", "categorical"),
        "share": ([f"{v} %" for v in crp[::-1]], "percent signs", "log-normal"),
        "crp": ([f"{v}" if v > 5 else "<5" for v in crp], "a column of kinds", "bounded"),
        "bounds": ([f"{v}" if v > 5 else f"<{v}" for v in crp], "all read as levels", "bounded"),
        "tags": (np.resize(["a;b", "b", "c;a", "c", "b;c"], 240), "several choices", "categorical"),
        "said": ([f"we {a} the {b} again {k}" for k, (a, b) in enumerate(zip(months, words * 40, strict=True))],
                 "sentences", "text"),
        "quarter": ([f"Q{k}" for k in rng.integers(1, 6, 240)], "steps of a scale", "categorical"),
        "zeros": (np.where(rng.random(240) < 0.4, 0, crp), "are 0, the others positive", "gaussian"),
    }  # fmt: skip


@pytest.mark.slow
def test_a_remark_about_the_family_is_silent_once_the_family_is_stated(tmp_path, capsys):
    cells = answered()
    frame = pd.DataFrame({name: values for name, (values, *_) in cells.items()})
    frame.assign(y=["a", "b"] * 120).to_csv(tmp_path / "t.csv", index=False)

    def remarks(*options):
        code, out, _ = run(capsys, "inspect", tmp_path / "t.csv", "--target", "y", "--format", "json", *options)
        assert code == 0
        said = [(one["column"], one["remark"]) for one in json.loads(out)["remarks"]]
        return {name: " ".join(remark for column, remark in said if column == name) for name, _ in said}

    before = remarks()
    assert {name: said for name, (_, said, _) in cells.items() if said not in before.get(name, "no remark")} == {}
    stated = [word for name, (_, _, family) in cells.items() for word in ("--feature", f"{name}={family}")]
    assert remarks(*stated) == {}
    # A family chosen by rows answers none of the serious findings.
    chosen = remarks("--feature", "best")
    assert {"names", "row", "order_id", "spelled", "bounds", "cut"} <= chosen.keys()
    assert not {"scale", "skewed", "zeros"} & chosen.keys()


def test_copies_of_rows_are_reported_unless_equal_rows_are_no_surprise():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"x": rng.normal(size=200), "k": rng.integers(0, 3, 200), "y": rng.choice(["a", "b"], 200)})
    assert "repeat" not in str(nb.inspect(frame, "y"))
    twice = pd.concat([frame, frame.iloc[[3, 3, 7]]])
    assert "the table: 3 rows repeat an earlier row in all columns" in str(nb.inspect(twice, "y"))
    assert "the table: 3 rows repeat" in str(nb.inspect(twice.drop(columns="y"), twice["y"]))
    other = twice.assign(y=["a" if label == "b" and k >= 200 else "b" if k >= 200 else label
                            for k, label in enumerate(twice["y"])])  # fmt: skip
    assert "repeat" not in str(nb.inspect(other, "y"))
    few = pd.DataFrame(rng.integers(0, 2, (200, 4)).astype(str), columns=list("abcd")).assign(y=frame["y"])
    assert "repeat" not in str(nb.inspect(few, "y"))
    # Rounded numbers are equal by chance.
    rounded = pd.DataFrame({"x": rng.normal(0, 40, 200).round(), "y": frame["y"]})
    assert rounded["x"].nunique() > 80
    assert "repeat" not in str(nb.inspect(rounded, "y"))
    # The same height in two units is one coincidence, not two.
    tall = rng.normal(170, 40, 600)
    heights = pd.DataFrame({"cm": tall.round(1), "inches": (tall / 2.54).round(1), "y": rng.choice(["a", "b"], 600)})
    assert heights.duplicated().sum() > 10
    assert "repeat" not in str(nb.inspect(heights, "y"))
    more = pd.concat([heights.assign(z=rng.normal(size=600).round(2))] * 2)[:700]
    assert "the table: 100 rows repeat an earlier row" in str(nb.inspect(more, "y"))


def test_a_family_is_recommended_only_if_the_column_predicts_no_worse_than_as_a_number():
    rng = np.random.default_rng(2)
    y = np.repeat(["a", "b"], 300)
    table = pd.DataFrame({
        "weeds": rng.geometric(np.where(y == "a", 0.1, 0.2)) - 1,
        "score": np.clip(rng.normal(np.where(y == "a", 3, 6), 1.7).round(), 0, 9),
        "noise": rng.integers(0, 10, 600),
        "code": np.where((y == "a") == (np.arange(600) % 20 > 0), rng.choice([1, 3], 600), rng.choice([2, 4], 600)),
        "amount": rng.geometric(np.where(y == "a", 0.01, 0.02)) + 250,  # An amount of money is no count.
    })  # fmt: skip
    found = nb.inspect(table, y)
    families = {name: type(spec).__name__ for name, spec in found.features.items()}
    assert families == {"weeds": "NegativeBinomial", "code": "Categorical", "amount": "LogNormal"}
    assert "which predict better as counts" in found.table.set_index("column").loc["weeds", "finding"]
    # As numbers, they predict as well as in any other way.
    assert not {"score", "noise"} & {*found.table["column"]}


@pytest.mark.parametrize("seeds", [range(1), pytest.param(range(1, 4), marks=pytest.mark.slow)])
def test_counts_are_not_read_as_levels_that_predict_no_better_because_the_next_count_may_be_larger(seeds):
    for seed in seeds:
        rng = np.random.default_rng(seed)
        y = rng.choice(["stays", "leaves"], 1400, p=[0.8, 0.2])
        rate = np.where(y == "leaves", 1.6, 0.7)
        X = pd.DataFrame({"overspread": rng.poisson(rate * rng.gamma(2, 0.5, 1400)), "rare": rng.poisson(rate / 3)})
        few = pd.DataFrame({"failed": np.repeat([0, 1, 2, 3, 5], [33, 18, 4, 4, 1])})
        for table, labels in ((X, y), (X, None), (few, rng.choice(["stays", "leaves"], 60)), (few, None)):
            features = nb.inspect(table, labels).features
            assert set(features) == set(table)
            for name, family in features.items():
                assert isinstance(family, nb.Poisson | nb.families.NegativeBinomial | nb.families.Hurdle)
                clf = nb.BayesianNB({name: family}).fit(table[[name]], y[: len(table)])
                clf.partial_fit(pd.DataFrame({name: [table[name].max() + 3]}), ["leaves"])
        # Answers on a scale, and codes, are no counts.
        answers = np.clip(np.rint(rng.normal(2.2 + (y == "leaves"), 1.1, 1400)), 0, 4).astype(int)
        found = nb.inspect(pd.DataFrame({"answers": answers, "codes": rng.integers(0, 5, 1400)}), y)
        assert {type(family) for family in found.features.values()} <= {nb.Categorical, nb.families.Ordinal}


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_whole_numbers_with_many_zeros_get_a_family_that_predicts_better_than_no_column(seed):
    rng = np.random.default_rng(seed)
    n = 800
    y = rng.choice(["a", "b"], n)
    zero = rng.random(n) < np.where(y == "a", 0.4, 0.65)
    table = pd.DataFrame({
        "days": np.where(zero, 0, np.ceil(rng.lognormal(np.where(y == "a", 2.5, 2.1), 0.9))),
        "visits": np.where(zero, 0, rng.poisson(12, n) + 1),
    })  # fmt: skip
    features = nb.inspect(table, y).features
    assert set(features) == {"days", "visits"}
    frequencies = -(pd.Series(y).value_counts(normalize=True).map(np.log)[y]).mean()
    for name, family in features.items():
        losses = [
            nb.evaluate(nb.BayesianNB({name: each}), table[[name]], y)["log_loss"] for each in (family, nb.Gaussian())
        ]
        assert losses[0] < min(losses[1], frequencies) - 0.005
    assert str(nb.inspect(table[::-1], y[::-1])) == str(nb.inspect(table, y))


def test_a_column_without_use_is_not_said_to_predict_best_and_the_recommended_family_does_no_harm():
    # Codes that have nothing to do with the class: one of them is far from the others, which misleads a Gaussian.
    shares = {"wide": [0.14] * 7 + [0.02], "narrow": [0.125] * 8}
    for seed in range(3):
        rng = np.random.default_rng(seed)
        y = rng.choice(["a", "b"], 400)
        X = pd.DataFrame({name: rng.choice([*range(11, 18), 900], 400, p=p) for name, p in shares.items()})
        X["days"] = np.where(rng.random(400) < 0.5, 0, np.ceil(rng.lognormal(2, 1, 400)))
        found = nb.inspect(X, y)
        said = dict(zip(found.table["column"], found.table["finding"], strict=True))
        assert "neither predicts clearly better than the class frequencies" in said["wide"]
        assert "best" not in str(found)
        with_family, without = (
            nb.evaluate(nb.BayesianNB(features), X, y)["log_loss"] for features in (found.features, None)
        )
        assert with_family < without + 0.005


def test_a_family_that_is_said_to_predict_better_than_a_gaussian_is_recommended():
    for seed in range(4):
        rng = np.random.default_rng(seed)
        y = rng.choice(["kept", "cancelled", "no-show"], 800, p=[0.66, 0.3, 0.04])
        X = pd.DataFrame({"children": rng.choice(4, 800, p=[0.8, 0.1, 0.07, 0.03]), "nights": 1 + rng.poisson(2, 800)})
        found = nb.inspect(X, y)
        for column, said in zip(found.table["column"], found.table["finding"], strict=True):
            assert ("than as a number" in said or "than a Gaussian" in said) <= (column in found.features)


@pytest.mark.parametrize("seeds", [range(4), pytest.param(range(4, 10), marks=pytest.mark.slow)])
def test_many_whole_numbers_are_proposed_as_codes_only_if_neighbours_are_not_alike(seeds):
    codes = alike = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        k = int(rng.integers(16, 45))
        code, year = 101 + rng.integers(0, k, 2000), rng.integers(1968, 2013, 2000)
        age = np.clip(np.round(rng.normal(45, 10, 2000)), 25, 70)
        chances = {
            "code": rng.permutation(np.where(np.arange(k) < k / 4, 0.45, 0.06))[code - 101],
            "year": np.where(year > 1995, 0.7, 0.3), "age": 1 / (1 + np.exp(-(np.abs(age - 45) - 12) / 4)),
        }  # fmt: skip
        for name, x in {"code": code, "year": year, "age": age}.items():
            found = nb.inspect(pd.DataFrame({name: x}), np.where(rng.random(2000) < chances[name], "yes", "no"))
            as_codes = isinstance(found.features.get(name), nb.families.Categorical)
            codes, alike = codes + (as_codes and name == "code"), alike + (as_codes and name != "code")
    assert codes >= 0.75 * len(seeds)
    assert alike <= 1


def test_zeros_far_from_narrow_or_negative_numbers_are_gaps_and_no_amounts():
    rng = np.random.default_rng(0)
    gap = rng.random(800) < 0.16
    columns = {
        "year": rng.integers(1968, 2013, 800),
        "lon": rng.normal(35, 1, 800),
        "lat": rng.uniform(-9.9, -2.2, 800),
    }
    X = pd.DataFrame({name: np.where(gap, 0, x) for name, x in columns.items()})
    found = nb.inspect(X, rng.choice(["a", "b"], 800))
    for name, end in {
        "year": "smallest other value is 1968",
        "lon": "smallest",
        "lat": "largest other value is -2.2",
    }.items():
        said = [text for text in found.table[found.table.column == name].finding if "if 0 means missing" in text]
        assert len(said) == 1
        assert end in said[0]
    assert not {*X} & {*found.features}
    mended = found.mended(X)
    assert mended["year"].isna().equals(pd.Series(gap))
    assert mended["lon"].isna().equals(pd.Series(gap))


def test_levels_that_mostly_tell_the_class_are_asked_about_and_stay_in_the_table():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(1200) < 0.13, "yes", "no")
    late = np.where(rng.random(1200) < 0.99, y, np.where(y == "yes", "no", "yes"))
    only = np.where((y == "yes") & (rng.random(1200) < 0.7), "ordered", rng.choice(["none", "checked"], 1200))
    # A good test is right in 90 % of ill rows and in 97 % of the others.
    honest = np.where(rng.random(1200) < np.where(y == "yes", 0.9, 0.03), "pos", "neg")
    found = nb.inspect(pd.DataFrame({"late": late, "only": only, "honest": honest}), y)
    asked = dict(zip(found.table.column, found.table.finding, strict=True))
    assert [*asked] == ["late", "only"]
    assert "in all but" in asked["late"]
    assert "'ordered' occurs only in class 'yes'" in asked["only"]
    assert dict(zip(found.table.column, found.table.serious, strict=True)) == {"late": True, "only": False}
    assert all("is it known when a class is to be predicted?" in text for text in asked.values())
    assert not found.drop
    assert "is it known" not in str(nb.inspect(*nb.datasets.penguins()))


def test_gaps_are_not_compared_in_classes_of_a_few_rows():
    gap = np.r_[np.arange(400) < 30, np.arange(400) < 160, False, True, False, True]
    y = [*"a" * 400, *"b" * 400, *"AABB"]
    said = str(nb.inspect(pd.DataFrame({"x": np.where(gap, np.nan, np.arange(804) % 7)}), y))
    assert "missing in 8 % of the rows of class 'a' and 40 % of class 'b'" in said


def test_a_long_tail_of_low_numbers_is_proposed_as_a_tree_only_if_it_predicts():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2000)
    year = 2012 - np.floor(rng.gamma(1.2, np.where(y, 14, 5)))
    found = nb.inspect(pd.DataFrame({"year": year}), y)
    assert isinstance(found.features["year"], nb.families.PolyaTree)
    assert not nb.inspect(pd.DataFrame({"year": year}), rng.permutation(y)).features


def test_the_recommended_command_states_what_it_assumes(tmp_path, capsys):
    rng = np.random.default_rng(0)
    code, fee = 101 + rng.integers(0, 9, 600), rng.uniform(100, 180, 600)
    mood = rng.choice(["good", "bad", "unknown"], 600)
    y = rng.choice(["a", "b"], 600)
    X = pd.DataFrame({"code": np.where(rng.random(600) < 0.1, 999, code), "mood": mood, "y": y})
    X.assign(fee=np.where(rng.random(600) < 0.3, 0, fee)).to_csv(tmp_path / "t.csv", index=False)
    _, out, _ = run(capsys, "inspect", tmp_path / "t.csv", "--target", "y")
    said = " ".join(out.split())
    assert "assumes that code=999 means missing and that 0 is an amount in fee, and reads all other cells as" in said
    command = out.strip().splitlines()[-1]
    assert "--na code=999" in command
    assert "fee=hurdle" in command
    found = nb.inspect(pd.read_csv(tmp_path / "t.csv"), "y")
    said = (
        "features and mended(X) assume that code=999 means missing and that 0 is an amount in fee, and read all other "
    )
    assert str(found).endswith(f"{said}cells as values: change them where this is wrong.")
    assert said in found._repr_html_()
    assert "assume that" not in f"{nb.inspect(X[['mood', 'y']], 'y')}"
    X[["mood", "y"]].to_csv(tmp_path / "u.csv", index=False)
    assert "assumes that" not in run(capsys, "inspect", tmp_path / "u.csv", "--target", "y")[1]


def test_the_recommended_command_states_that_a_column_that_predicts_the_class_is_known(tmp_path, capsys):
    rng = np.random.default_rng(0)
    y = rng.choice(["a", "b"], 600)
    X = pd.DataFrame({"price": rng.uniform(1, 2, 600) + 3 * (y == "a"), "size": rng.normal(size=600), "y": y})
    X["late"] = np.where(rng.random(600) < 0.97, y, "other")
    X.to_csv(tmp_path / "t.csv", index=False)
    _, out, _ = run(capsys, "inspect", tmp_path / "t.csv", "--target", "y")
    said = "price and late are known when a class is to be predicted: change"
    assert f"The last line assumes that {said} it where this is wrong." in " ".join(out.split())
    found = nb.inspect(X, "y")
    assert f"features and mended(X) assume that {said} them where" in str(found)
    for remark in found.remarks:
        assert remark.tells == (remark.column in ("price", "late"))
    assert "assume that" not in str(nb.inspect(X[["size", "y"]], "y"))


def test_near_copies_zeros_apart_weights_and_keys_of_several_rows_are_reported_but_not_left_out():
    rng = np.random.default_rng(0)
    n = 600
    amount = rng.lognormal(8, 1, n).round(2)
    frame = pd.DataFrame({
        "amount": amount, "in thousands": (amount / 1000).round(1),
        "age": np.where(rng.random(n) < 0.1, 0, rng.integers(18, 85, n)),
        "weight": rng.choice(np.arange(50, 200) / 100, n), "weight of the case": rng.normal(70, 9, n),
        "policy id": [f"P{k}" for k in rng.integers(0, 250, n)], "town": [f"T{k}" for k in rng.integers(0, 250, n)],
        "size": rng.normal(size=n), "y": rng.choice(["a", "b"], n),
    })  # fmt: skip
    found = nb.inspect(frame, "y")
    said = dict(zip(found.table["column"], found.table["finding"], strict=True))
    assert "nearly a linear function of column 'amount'" in " ".join(found.table["finding"])
    assert "are 0, and the smallest other value is 18" in said["age"]
    assert "a weight of the row?" in said["weight"]
    assert "levels" in said["policy id"]
    assert not {"weight of the case", "size"} & {*found.table["column"]}
    assert found.drop == ["weight"]


@pytest.mark.parametrize(("name", "mean"), [("weight", 1.0), ("survey_wt", 1.0), ("Gewicht", 7.25)])
def test_a_weight_of_the_rows_is_no_predictor_of_the_recommended_command(tmp_path, capsys, monkeypatch, name, mean):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = pd.DataFrame({name: (mean * rng.lognormal(0, 0.5, 600)).round(3), "age": rng.normal(50, 9, 600).round(1)})
    y = rng.choice(["a", "b"], 600)
    found = nb.inspect(X, y)
    assert "sample_weight; rescale weights of a survey before, by nb.model.reliability_weights" in str(found)
    said = "leave it out, or pass it as sample_weight"
    assert found.drop == ([name] if mean == 1 else [])
    assert (name not in found.mended(X)) == (mean == 1) == (said not in str(found))
    X.assign(y=y).to_csv("t.csv", index=False)
    out = json.loads(run(capsys, "inspect", "t.csv", "--target", "y", "--format", "json")[1])
    assert f"--weight {name}" in out["remarks"][0]["remark"]
    command = shlex.split(out["fit"]) if mean == 1 else [*shlex.split(out["fit"]), "--drop", name]
    assert run(capsys, *command[1:], "--dependence", "none")[0] == 0
    X[["age"]].to_csv("new.csv", index=False)
    assert run(capsys, "predict", "t.bayesnb", "new.csv")[0] == 0
    # A user may keep the column, or use it as the weight.
    for option, word in (("--weight", name), ("--feature", f"{name}=log-normal")):
        again = json.loads(run(capsys, "inspect", "t.csv", "--target", "y", option, word, "--format", "json")[1])
        assert not any(remark["column"] == name for remark in again["remarks"])
        assert f"--drop {name}" not in again["fit"]


@pytest.mark.parametrize(
    ("first", "factor", "wrong"),
    [("cm", 0.01, 3), ("cm", 10, 1), ("inches", 2.54, 2), ("inches", -1, 4)],
)
def test_near_copies_are_found_in_spite_of_a_few_wrong_cells(first, factor, wrong):
    rng = np.random.default_rng(0)
    tall = rng.normal(172, 9, 400).round()
    X = pd.DataFrame({"cm": tall, "inches": (tall / 2.54).round(1), "weight": tall / 2 + rng.normal(0, 3, 400)})
    X[first] = X[first].where(np.arange(400) >= wrong, X[first] * factor)
    y = rng.choice(["a", "b"], 400)
    found = str(nb.inspect(X, y))
    lines = [line for line in found.splitlines() if "nearly" in line]
    assert len(lines) == 1
    assert f"inches: nearly a linear function of column 'cm', except in {wrong} row" in lines[0]
    assert "nearly" not in str(nb.inspect(X.drop(columns="cm"), y))
    for other in (X * 1000, -X, X[::-1], pl.from_pandas(X)):
        assert lines[0] in str(nb.inspect(other, y))


def test_of_two_equal_columns_none_is_left_out_while_the_class_is_unknown_and_one_row_leaves_no_column_out():
    frame = pd.DataFrame({"x": np.arange(40.0) % 7, "decision": ["paid", "denied"] * 20, "y": ["a", "b"] * 20})
    assert nb.inspect(frame, "y").drop == ["decision"]
    without = nb.inspect(frame)
    assert not without.drop
    assert "leave one of them out, unless it is the class" in str(without)
    assert not nb.inspect(frame[:1], "y").drop


def said_of(table, y=None):
    """The findings of each column, which must be the same for other orders of rows and columns, and in polars."""
    found = str(nb.inspect(table, y))
    turned = table.iloc[::-1, ::-1]
    for other in (turned, pl.from_pandas(turned)):
        assert sorted(str(nb.inspect(other, y)).splitlines()) == sorted(found.splitlines())
    return dict(line.split(": ", 1) for line in found.splitlines())


def test_cells_in_another_unit_are_asked_about_and_get_no_family():
    rng = np.random.default_rng(5)
    fahrenheit = np.arange(400) < 24
    celsius = rng.normal(38, 0.7, 400)
    temp = np.where(fahrenheit, celsius * 9 / 5 + 32, celsius).round(1)
    both = pd.DataFrame({"temp": temp, "height": np.where(fahrenheit, 170.0, 1.7) * rng.lognormal(0, 0.05, 400)})
    for unit in (1, 1000):
        said = said_of(both * unit)
        assert set(said) == {"temp", "height"}
        assert all(text.startswith("6 % of the cells (") for text in said.values())
        assert not nb.inspect(both * unit).features
    low, high = temp[~fahrenheit], temp[fahrenheit]
    between = f"({high.min():g} to {high.max():g}) lie far from the others ({low.min():g} to {low.max():g})"
    assert between in said_of(both)["temp"]


@pytest.mark.slow
def test_skewed_heavy_tailed_and_bimodal_columns_have_no_cells_in_another_unit():
    rng = np.random.default_rng(8)
    for n in (30, 100, 1000):
        draw = {
            "amount": rng.lognormal(3, 2, (60, n)), "wealth": rng.pareto(0.5, (60, n)) + 1,
            "cauchy": rng.standard_cauchy((60, n)), "t": rng.standard_t(1.5, (60, n)),
            "wait": rng.exponential(1, (60, n)),
            "two peaks": rng.normal(size=(60, n)) + 6 * (rng.random((60, n)) < 0.1),
            "claims": rng.lognormal(5, 1, (60, n)) * (rng.random((60, n)) < 0.1), "rare": rng.poisson(0.05, (60, n)),
        }  # fmt: skip
        columns = {f"{name} {k}": x for name, rows in draw.items() for k, x in enumerate(rows)}
        assert "far from the others" not in str(nb.inspect(pd.DataFrame(columns)))


def test_whole_numbers_that_look_drawn_for_identification_are_asked_about_whatever_their_name():
    rng = np.random.default_rng(6)
    n = 600
    patients = rng.choice(np.arange(100_000, 1_000_000), n, replace=False)
    seen = {
        "patient": np.where(np.arange(n) < 60, np.resize(patients[-60:], n), patients),
        "case": rng.choice(np.arange(20_300, 24_000), n, replace=False),
    }
    other = {
        "salary": rng.lognormal(10.8, 0.3, n).round(), "size": rng.normal(40_000, 6_000, n).round(),
        "price": rng.integers(100, 999, n) * 1000, "year": rng.integers(1000, 9999, n),
        "people": rng.pareto(1, n).round(4) * 1e4 // 1, "steps": rng.integers(10_000, 20_000, n),
        "paid": [f"{k} €" for k in seen["case"]],
    }  # fmt: skip
    frame = pd.DataFrame(seen | other)
    for unit in (1, 10):
        said = said_of(frame.assign(patient=frame["patient"] * unit, case=frame["case"] * unit))
        assert "540 different whole numbers of 6 digits in 600 rows, spread evenly, and rows" in said["patient"]
        assert said["patient"].endswith(": if it is an identifier, leave it out")
        assert said["case"].startswith("no two of 600 whole numbers are equal, as in an identifier")
        assert "identifier" not in "".join(text for name, text in said.items() if name not in seen)
    assert not nb.inspect(frame).drop


def test_two_numbers_in_one_cell_are_named_and_a_column_that_is_dropped_needs_no_marker(tmp_path, capsys):
    rng = np.random.default_rng(7)
    pressure = [f"{a}/{b}" for a, b in zip(rng.integers(90, 190, 300), rng.integers(50, 110, 300), strict=True)]
    frame = pd.DataFrame({"bp": pressure, "x": rng.normal(size=300), "y": rng.choice(["a", "b"], 300)})
    frame.loc[rng.random(300) < 0.05, "bp"] = "-"
    found = nb.inspect(frame, "y")
    assert f"two numbers in one cell, such as {min(set(pressure) & {*frame['bp']})!r}" in str(found)
    assert found.drop == ["bp"]
    assert sorted(nb.inspect(frame[::-1], "y").table["finding"]) == sorted(found.table["finding"])
    frame.to_csv(tmp_path / "t.csv", index=False)
    fit = json.loads(run(capsys, "inspect", tmp_path / "t.csv", "--target", "y", "--format", "json")[1])["fit"]
    assert "--drop bp" in fit
    assert "--na" not in fit


@pytest.mark.parametrize("pattern", ["{}-{}", "{} - {} m", "{} m – {} m", "{} to {}", "{},5-{},5"])
def test_ranges_are_named_and_codes_with_a_hyphen_are_not(pattern):
    rng = np.random.default_rng(5)
    low = rng.integers(8, 20, 400) * 100
    high = low + rng.integers(1, 4, 400) * 100
    codes = [f"{a:03d}-{b}" for a, b in rng.integers([20, 1000], [90, 99_999], (40, 2))]
    frame = pd.DataFrame(
        {
            "altitude": [pattern.format(a, b) for a, b in zip(low, high, strict=True)],
            "score": [f"{a}-{b}" for a, b in rng.integers(0, 6, (400, 2))],
            "phone": rng.choice(codes, 400),
        }
    )
    said = said_of(frame)
    assert "levels without an order: replace each by its middle" in said["altitude"]
    assert "ranges" not in said.get("score", "") + said.get("phone", "")


@pytest.mark.slow
def test_a_table_of_small_counts_with_many_zeros_is_told_of_multinomial_unless_columns_predict_better(tmp_path, capsys):
    rng = np.random.default_rng(9)
    y = rng.choice(["good", "bad"], 200)
    share = rng.dirichlet(np.full(15, 8), 2)[(y == "bad").astype(int)]
    words = pd.DataFrame([rng.multinomial(k, p) for k, p in zip(rng.integers(3, 12, 200), share, strict=True)])
    words = words.set_axis([f"word {k}" for k in range(15)], axis=1)
    told = "% of them 0: if a row counts words, features=nb.Multinomial()"
    for table, labels in ((words, None), (words, list(y)), (words.assign(y=y), "y"), (words.astype("Int64"), list(y))):
        assert told in str(nb.inspect(table, labels))
    found, turned = (nb.inspect(table, list(y)).table for table in (words, words.iloc[:, ::-1]))
    assert {*found.itertuples(index=False)} == {*turned.itertuples(index=False)}
    yes = pd.DataFrame(rng.random((200, 15)) < 0.2).astype(int)
    for other in (yes, words.assign(amount=rng.normal(size=200)), words + 1, words.where(words > 0)):
        assert "Multinomial" not in str(nb.inspect(other, list(y)))
    # Numbers of symptoms from 0 to 3, where nearly all of one class have none.
    ill = np.where((y == "bad")[:, None], rng.poisson(0.9, (200, 12)), rng.poisson(0.05, (200, 12)))
    assert "Multinomial" not in str(nb.inspect(pd.DataFrame(ill), list(y)))
    words.assign(y=y).to_csv(tmp_path / "t.csv", index=False)
    option = ("--feature", f"counts=multinomial:{','.join(words)}")
    for given, expected in (((), 1), (option, 0)):
        out = run(capsys, "inspect", tmp_path / "t.csv", "--target", "y", "--format", "json", *given)[1]
        assert sum("counts=multinomial:COL" in each["remark"] for each in json.loads(out)["remarks"]) == expected


@pytest.mark.parametrize("cell", [[1], {"a": 1}, {1, 2}, np.array([1, 2])], ids=["list", "dict", "set", "array"])
def test_cells_that_are_no_values_are_refused_with_the_column_as_by_a_fit(cell):
    said = f"column 'tags' holds .* of type {type(cell).__name__}.*leave the column out"
    for ask in (nb.inspect, nb.BayesianNB().fit):
        with pytest.raises(TypeError, match=said):
            ask(pd.DataFrame({"x": [1.0, 2.0], "tags": [cell, None]}), ["a", "b"])


def test_copies_and_linear_functions_of_dates_are_found():
    rng = np.random.default_rng(0)
    signed = pd.Series(pd.date_range("2019-01-01", periods=300)).sample(frac=1, random_state=0, ignore_index=True)
    X = pd.DataFrame({"signed": signed.dt.strftime("%Y-%m-%d"), "again": signed, "other": rng.permutation(300) + 0.5})
    X["days"] = (pd.Timestamp("2020-06-01") - signed).dt.days + 0.5
    said = str(nb.inspect(X, pd.Series(rng.choice(["a", "b"], 300))))
    assert "signed and again: nearly a linear function of column 'days'" in said
    assert "other: nearly" not in said


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ([127.0], "127 lies far from the other cells"),
        ([0.9], "0.9 lies far from the other cells"),
        ([1270.0, 1310.0], "1270, 1310 lie far from the other cells"),
        ([21.0], ""),
    ],
)
def test_a_number_far_from_all_others_is_a_question_and_not_a_skewed_column(wrong, said):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    mass = rng.normal(12 + y, 1).round(1)
    mass[: len(wrong)] = wrong
    for unit in (1.0, 1000.0):
        found = nb.inspect({"mass": np.round(mass * unit, 4)}, y)
        lines = [str(remark.said) for remark in found.remarks]
        assert [line for line in lines if "far from" in line] == [line for line in lines if said]
        assert not found.features
        if unit == 1 and said:
            assert said in lines[0]
    # Amounts with a long tail are no errors.
    assert "far from" not in str(nb.inspect({"mass": np.exp(rng.standard_t(4, 300) * 2)}, y))


@pytest.mark.parametrize("wrong", [[300.0], [500.0, 510.0], [800.0], [0.5, 300.0]])
def test_ages_with_typing_errors_are_not_skewed_and_their_other_findings_are_named_too(wrong):
    rng = np.random.default_rng(1)
    y = rng.choice(["a", "b"], 600)
    age = rng.normal(52, 15, 600).clip(18, 90).round()
    age[: len(wrong)] = wrong
    visits = rng.poisson(np.where(y == "a", 3, 8))
    visits[0] = 4000
    X = pd.DataFrame({"age": age, "visits": visits, "income": rng.lognormal(0, 1.2, 600)})
    found = nb.inspect(X, y)
    said = found.table.groupby("column")["finding"].agg(" ".join)
    assert said["age"].count("far from") == (2 if min(wrong) < 18 else 1)
    assert all(f"{value:g}" in said["age"] for value in wrong)
    assert "skewed" not in said["age"]
    assert "may be a typing error" in said["visits"]
    assert "counts" in said["visits"]
    assert "skewed" in said["income"]
    assert {*found.features} == {"income"}  # The families of the other columns wait for the corrections.
    said_of(X.assign(y=y), "y")
    assert str(nb.inspect(X * 1000, y)).count("far from") == str(found).count("far from")


@pytest.mark.parametrize("wrong", [9999, -500])
def test_a_family_of_a_column_with_typing_errors_is_recommended_or_waits_for_the_correction(wrong):
    rng = np.random.default_rng(1)
    y = rng.choice(["a", "b"], 600)
    X = pd.DataFrame({
        "depth": 30 + rng.lognormal(np.where(y == "a", 4, 4.3), 0.7, 600).round(),
        "visits": rng.poisson(np.where(y == "a", 3, 5)),
        "left": 100 - rng.lognormal(np.where(y == "a", 2, 2.6), 0.9, 600),
    })  # fmt: skip
    clean = nb.inspect(X, y)
    assert {*clean.features} == {*X}
    X.loc[7] = wrong
    found = nb.inspect(X, y)
    assert any(remark.far for remark in found.remarks)
    for remark in found.remarks:
        waits = str(remark.said).startswith("once the far numbers are corrected: ")
        assert remark.far or waits == (remark.column not in found.features)
    nb.BayesianNB(found.features).fit(found.mended(X), y)
    assert "visits" not in found.features  # Counts do not fit the errors.
    assert ("depth" in found.features) == (wrong > 0)
    assert "left" in found.features


def test_errors_and_other_units_in_skewed_columns_are_asked_about_before_a_family_is_proposed():
    rng = np.random.default_rng(0)
    celsius, minutes = rng.normal(46, 6, 900).round(1), np.maximum(5, 5 * rng.lognormal(1.7, 0.65, 900).round())
    tail = rng.lognormal(0.7, 0.6, 900).round(2)
    lost, weekly = tail.copy(), rng.gamma(2, 6.5, 900).round(1)
    lost[:2], weekly[0] = [403, 255], 1400
    for wrong in (999, 2000, 99999):
        said = str(nb.inspect({"minutes": np.r_[minutes, wrong, wrong], "hours": np.r_[weekly, 8, 9]}))
        assert f"minutes: {wrong} lies far from the other cells ({minutes.min():g} to {minutes.max():g})" in said
        assert "hours: 1400 lies far" in said
    found = nb.inspect({"lost": lost})
    assert "255, 403 lie far from the other cells" in str(found)
    assert not found.features
    for k in (20, 60, 120):
        fahrenheit = np.where(np.arange(900) < k, celsius * 1.8 + 32, celsius).round(1)
        found = nb.inspect({"heat": fahrenheit})
        assert "they may be in another unit" in str(found)
        assert not found.features


@pytest.mark.parametrize("n", [100, 1000])
@pytest.mark.parametrize("k", [12, pytest.param(40, marks=pytest.mark.slow)])
def test_tails_of_skewed_columns_and_of_counts_are_no_errors(n, k):
    rng = np.random.default_rng(2)
    draws = {
        "log-normal": rng.lognormal(3, 0.65, (k, n)), "wide": rng.lognormal(0, 1.2, (k, n)),
        "waits": rng.exponential(2, (k, n)), "later": 10 + rng.exponential(2, (k, n)),
        "Pareto": rng.pareto(2, (k, n)), "from 1": 1 + rng.pareto(2, (k, n)), "counts": rng.poisson(5, (k, n)),
        "many": rng.poisson(8 * rng.gamma(0.7, 1 / 0.7, (k, n))), "zeros": rng.lognormal(0, 1, (k, n)).round(1),
    }  # fmt: skip
    X = pd.DataFrame({f"{name} {i}": cells for name, rows in draws.items() for i, cells in enumerate(rows)})
    said = nb.inspect(X).table["finding"]
    assert said.str.contains("far from").sum() <= max(1, X.shape[1] / 100)


@pytest.mark.parametrize("wrong", [99, 150, 200, 400])
def test_one_typing_error_makes_no_column_skewed_whatever_its_unit_sign_and_origin(wrong):
    rng = np.random.default_rng(4)
    y, age = rng.choice(["a", "b"], 600), rng.integers(2, 31, 600).astype(float)
    age[7] = wrong
    for scale, start in ((1, 0), (0.3048, 0), (1000, 0), (-1, 0), (1, -16), (1, 273)):
        said, *others = nb.inspect({"age": start + scale * age}, y).remarks
        assert f"{start + scale * wrong:g} lies far from the other cells (" in str(said.said), (scale, start)
        assert not others, (scale, start)


def test_heavy_tails_on_both_sides_and_negative_amounts_are_no_errors():
    rng = np.random.default_rng(6)
    draws = {
        "balance": rng.standard_t(2, (30, 200)), "debt": -rng.lognormal(3, 1, (30, 200)),
        "change": rng.lognormal(0, 1, (30, 200)) - 3, "noise": rng.laplace(0, 5, (30, 200)),
    }  # fmt: skip
    X = pd.DataFrame({f"{name} {i}": cells for name, rows in draws.items() for i, cells in enumerate(rows)})
    assert nb.inspect(X).table["finding"].str.contains("far from").sum() <= 2


@pytest.mark.parametrize("mark", ["unknown", "none", "?"])
def test_a_text_that_may_mean_missing_hides_no_other_finding_of_its_column(mark):
    cells = ["yes", "no", mark, "no"] * 50 + ["Yes", "yes ", "no", mark]
    found = nb.inspect({"smoker": cells}, ["p", "q"] * 102)
    said = str(found)
    assert f"are {mark!r}" in said
    assert "levels in several spellings" in said
    clf = nb.BayesianNB(found.features).fit(found.mended({"smoker": cells}), ["p", "q"] * 102)
    assert clf.tables()["smoker"].columns.tolist() == sorted(["yes", "no", *[mark] * (mark != "?")])


def test_what_inspect_advises_in_python_are_names_of_the_package():
    r = np.random.default_rng(0)
    n, y = 600, r.integers(0, 2, 600)
    X = pd.DataFrame({
        "skewed": np.exp(r.normal(3 + y * 0.5, 1.2)).round(2),
        "counts": r.negative_binomial(1, 0.1 + 0.1 * y),
        "zeros": np.where(r.random(n) < 0.4, 0.0, np.exp(r.normal(2 + y, 1))),
        "scale": np.clip(np.rint(r.normal(3 + y, 1.2)), 1, 5).astype(int),
        "when": pd.date_range("2020-01-01", periods=n).astype(str),
        "several": r.choice(["a; b", "b; c", "a; c", "a", "b", "c"], n),
        "bound": np.where(r.random(n) < 0.1, "<5", r.integers(5, 90, n).astype(str)),
        "spelled": r.choice(["north", "North", "south", "east"], n, p=[0.3, 0.1, 0.3, 0.3]),
        "note": [" ".join(r.choice(["late", "paid", "good", "bad", "call", "again"], 7)) for _ in range(n)],
        "gone": np.where((r.random(n) < 0.5) & (y == 1), np.nan, r.normal(size=n)),
    })  # fmt: skip
    pattern = r"\b((?:families\.)?[A-Z]\w+)\("
    named = {name for remark in nb.inspect(X, y).remarks for name in re.findall(pattern, str(remark.said))}
    assert len(named) >= 6
    assert all(callable(attrgetter(name)(nb)) for name in named)


def wells() -> tuple[pd.DataFrame, np.ndarray]:
    rng, y = np.random.default_rng(4), np.repeat(["clean", "dirty"], 150)
    boron = np.exp(rng.normal(np.repeat([2.0, 3.0], 150), 0.7))
    texts = np.where(boron < 5, "<5", np.round(boron, 1).astype(str))
    texts[[10, 160, 170]] = ["0.013", "0.021", "0.04"]
    boron = pd.Series(texts, dtype=object).mask(rng.random(300) < 0.05)
    colour = pd.Categorical(rng.choice(["none", "slight", "strong"], 300), ["none", "slight", "strong"], ordered=True)
    return pd.DataFrame({"well_id": [f"W{k}" for k in rng.integers(0, 90, 300)], "boron": boron, "colour": colour}), y


def test_numbers_below_the_bound_of_their_column_are_asked_about():
    found = nb.inspect(*wells()).table
    said = " ".join(found.loc[found["column"] == "boron", "finding"])
    assert "3 numbers, such as 0.021, are below the bound 5 of other cells; they may be in another unit" in said


def test_an_ordered_type_proposes_ordered_levels_and_repeated_keys_may_be_left_out():
    found = nb.inspect(*wells()).table.set_index("column")["finding"]
    assert found["colour"].startswith("ordered answers, as their type says: features={'colour': ")
    assert "new rows may be about others: leave it out" in found["well_id"]


def test_a_bound_is_not_a_missing_cell():
    X, y = wells()
    found = nb.BayesianNB().fit(X, y).describe().loc[["kind of boron", "number of boron"]]
    bounds = (X["boron"] == "<5").mean()
    np.testing.assert_allclose(found["missing"].astype(float), X["boron"].isna().mean())
    assert found.loc["number of boron", "chosen"].endswith(f", {100 * bounds:.0f} % bounds or texts")


def test_a_hurdle_for_whole_numbers_is_said_to_have_other_draws():
    rng, y = np.random.default_rng(4), np.repeat(["clean", "dirty"], 300)
    each = rng.gamma(0.35, np.repeat([4.0, 600.0], 300) / 0.35) * rng.gamma(1.0, 1.0, 600)
    amounts = np.where(rng.random(600) < np.repeat([0.7, 0.2], 300), 0.0, each)
    for cells, end in (
        (np.round(amounts), "Rows sampled from the model then hold fractions in this column: round them"),
        (amounts, "nb.families.Hurdle()}"),
    ):
        (said, *_) = nb.inspect(pd.DataFrame({"ecoli": cells}), y).table["finding"]
        assert "are 0, the others positive" in said
        assert said.endswith(end)


def test_dates_that_a_gaussian_does_not_fit_get_a_family_that_does_and_the_printed_command_runs(tmp_path, capsys):
    # Those who leave began in the last months or long ago: a Gaussian of the days does not show it.
    rng, y = np.random.default_rng(1), np.repeat(["stays", "leaves"], 300)
    days = np.where(y == "stays", rng.integers(2920, 8030, 600), rng.choice([0, 9490], 600) + rng.integers(0, 730, 600))
    began = (pd.Timestamp("1995-01-01") + pd.to_timedelta(days, "D")).strftime("%Y-%m-%d").to_numpy(object)
    began[rng.random(600) < np.where(y == "stays", 0.02, 0.4)] = ""
    path, model = tmp_path / "staff.csv", tmp_path / "staff.bayesnb"
    pd.DataFrame({"began": began, "level": rng.normal(size=600).round(1), "y": y}).to_csv(path, index=False)
    code, out, _ = run(capsys, "inspect", path, "--target", "y")
    assert code == 0
    said = "elapsed of began: a histogram of any shape predicts the class better than a Gaussian"
    assert said in " ".join(out.split())
    command = shlex.split(out.strip().splitlines()[-1])
    assert "elapsed of began=missing:polya-tree" in command
    assert run(capsys, *command[1:-1], model, "--dependence", "none")[0] == 0
    for stated in ("began=date:month", "began=date:elapsed", "began=missing", "elapsed of began=missing:polya-tree"):
        assert "histogram of any shape" not in run(capsys, "inspect", path, "--target", "y", "--feature", stated)[1]
    assert "elapsed of" not in run(capsys, "inspect", path, "--target", "y", "--drop", "began")[1]
    gained = run(capsys, "ask", "column-gains", model, path)[1]
    assert "informative by themselves, under their families: elapsed of began" in " ".join(gained.split())


def test_a_part_that_is_equal_in_all_known_dates_is_not_proposed_because_other_cells_are_missing():
    rng, y = np.random.default_rng(1), np.repeat(["stays", "leaves"], 300)
    days = np.where(y == "stays", rng.integers(2000, 8000, 600), rng.choice([0, 9500], 600) + rng.integers(0, 500, 600))
    began = (pd.Timestamp("1995-01-01") + pd.to_timedelta(days, "D")).strftime("%Y-%m-%d").to_numpy(object)
    began[rng.random(600) < 0.2] = None
    assert "hour" not in str(nb.inspect({"began": began}, y).table["finding"].tolist())


@pytest.mark.parametrize("scale", [1.0, 3600.0])
def test_the_one_negative_number_of_a_column_may_mean_missing_and_the_other_cells_are_examined_without_it(scale):
    rng = np.random.default_rng(0)
    y = np.repeat(["no", "yes"], 300)
    hours = np.where(rng.random(600) < 0.15, 0.0, np.exp(rng.normal(size=600) + (y == "yes")) * scale)
    hours[[7, 300, 512]] = -1.0
    found = nb.inspect(pd.DataFrame({"hours": hours}), y)
    assert "are -1, and all other numbers are 0 or more: if it means missing" in str(found)
    assert "are 0, the others positive" in str(found)
    # Degrees below 0 are numbers like the others.
    degrees = pd.DataFrame({"degrees": np.r_[-1, -1, rng.integers(0, 30, 598)]})
    assert "means missing" not in str(nb.inspect(degrees, y))
    assert "means missing" not in str(nb.inspect(pd.DataFrame({"x": rng.normal(2, 1, 600)}), y))


@pytest.mark.parametrize("wrong", [0, 1])
def test_columns_that_by_themselves_predict_the_class_of_nearly_every_row_are_asked_about(wrong):
    rng = np.random.default_rng(0)
    y = rng.choice(["ill", "well", "healed"], 800, p=[0.2, 0.6, 0.2])
    finer = {"ill": ["A41", "J18"], "well": ["Z00"], "healed": ["Z86", "Z87", "Z88"]}
    diagnosis = np.array([rng.choice(finer[label]) for label in y])
    score = rng.normal(0, 1, 800) + np.select([y == "ill", y == "well"], [-10, 0], 10)
    refund = np.where(y == "ill", rng.lognormal(3, 1, 800), np.nan)
    for column, other in ((diagnosis, "Z00"), (score, 0.0), (refund, np.nan)):
        column[np.flatnonzero(y == "ill")[:wrong]] = other
    honest = rng.normal(0, 1, 800) + 2 * (y == "ill")
    X = pd.DataFrame({"diagnosis": diagnosis, "score": score, "refund": refund, "honest": honest})
    X["gappy"] = np.where(rng.random(800) < np.where(y == "ill", 0.8, 0.2), np.nan, honest)
    found = nb.inspect(X, y)
    serious = found.table.query("serious").set_index("column")["finding"]
    assert {*serious.index} == {"diagnosis", "score", "refund"}
    assert serious.str.contains("not known when a class is to be predicted").all()
    assert found.drop == ["diagnosis", "refund"][wrong:]
    assert {*found.features} == {"gappy"}
    if wrong:
        assert "in all but 1 of 800 rows" in serious["diagnosis"]
    # In another order of rows, and in another unit, the findings are the same.
    again = nb.inspect(X.assign(score=1000 * X["score"])[::-1], y[::-1])
    assert sorted(map(str, again.table["finding"])) == sorted(map(str, found.table["finding"]))


@pytest.mark.parametrize("seeds", [range(5), pytest.param(range(5, 25), marks=pytest.mark.slow)])
def test_honest_columns_do_not_tell_the_class(seeds):
    for seed in seeds:
        rng = np.random.default_rng(seed)
        n, k = int(rng.choice([60, 300, 2000])), int(rng.integers(2, 5))
        y = rng.choice(k, n, p=rng.dirichlet(np.full(k, 2.0)))
        levels = {f"of {m}": rng.dirichlet(np.full(m, 1.0), k) for m in (2, 5, 20)}
        X = pd.DataFrame({name: [f"L{rng.choice(len(q[c]), p=q[c])}" for c in y] for name, q in levels.items()})
        X["near"], X["count"] = rng.normal(y), rng.poisson(1 + y)
        X["gappy"] = np.where(rng.random(n) < 0.1 + 0.2 * y, np.nan, rng.normal(size=n))
        assert "when a class is to be predicted, leave" not in (said := str(nb.inspect(X, y)))
        assert "tell" not in said


@pytest.mark.parametrize("zeros", [1, 9, 60])
def test_zeros_far_below_all_other_numbers_are_asked_about_however_few_they_are(zeros):
    rng = np.random.default_rng(0)
    y = rng.choice(["ill", "well"], 1200)
    X = pd.DataFrame({"celsius": rng.normal(37, 0.6, 1200).round(1), "pulse": rng.normal(85 + 15 * (y == "ill"), 12)})
    X.loc[: zeros - 1, "celsius"] = X.loc[zeros : 2 * zeros - 1, "pulse"] = 0
    X["hours"] = rng.normal(0, 1, 1200)
    found = nb.inspect(X, y)
    said = found.table.set_index("column")["finding"]
    assert found.table["column"].tolist() == ["celsius", "pulse"]  # One finding per column.
    assert said.str.contains("are 0, and the smallest other value is").all()
    # Nothing is as far from the others as 0 degrees, which are read as missing; a pulse of 0 remains a question.
    gone = found.mended(X).isna().sum()
    assert (gone["celsius"], gone["pulse"]) == (zeros, 0)
    assert ("if it is an amount, features={'pulse': nb.families.Hurdle()}" in said["pulse"]) == (
        "pulse" in found.features
    )
    p = nb.BayesianNB(found.features).fit(found.mended(X), y).predict_proba(X[2 * zeros :])
    right = nb.BayesianNB().fit(X[2 * zeros :], y[2 * zeros :]).predict_proba(X[2 * zeros :])
    assert np.abs(p - right).max() < 0.15


def test_no_wrong_code_of_a_column_hides_another():
    rng = np.random.default_rng(0)
    n = 2400
    y, age = rng.choice(["kept", "returned"], n), rng.normal(36, 9, n).clip(18, 80).round()
    codes = {0: 74, -1: 4, 125: 4, 199: 2, 1985: 7}
    age[: sum(codes.values())] = np.repeat([*codes], [*codes.values()])
    for some in ((0, -1, 125, 199, 1985), (0, -1), (-1, 1985), (0, 1985), (125, 199)):
        kept = ~np.isin(age, [*{*codes} - {*some}])
        said = " ".join(nb.inspect({"age": age[kept]}, y[kept]).table["finding"])
        assert ("are -1" in said, "are 0, and" in said) == (-1 in some, 0 in some)
        assert all(str(code) in said for code in some)
    # One number in many cells beside whole numbers that spread to it is no code.
    assert "far from" not in str(nb.inspect({"x": np.r_[rng.integers(0, 60, 500), np.repeat(80, 30)]}, y[:530]))


def test_a_moderately_skewed_column_is_tried_as_log_normal_and_one_without_use_is_not():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2000)
    X = {"days": rng.lognormal(1 + 0.3 * y, 0.45).round(1), "other": rng.lognormal(1, 0.45, 2000).round(1)}
    assert max(pd.DataFrame(X).skew()) < 2
    assert {name: type(each).__name__ for name, each in nb.inspect(X, y).features.items()} == {"days": "LogNormal"}


def test_the_weight_of_a_thing_is_no_weight_of_the_row():
    rng = np.random.default_rng(0)
    y = rng.choice(["kept", "returned"], 900)
    X = {name: rng.integers(1000, 4000, 900) for name in ("weight_g", "Gewicht (kg)", "birth weight")}
    assert str(nb.inspect(X, y)) == "nothing deserves attention"
    said = str(nb.inspect({"weight": rng.integers(1000, 9000, 900)}, y))
    assert "if a number is how many cases its row stands for, pass it as sample_weight" in said
    assert "identifier" not in said


def test_an_identifier_of_several_rows_and_an_order_of_levels_say_what_to_mind():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 600)
    X = pd.DataFrame({"patient": [f"P{k}" for k in rng.choice(1000, 600)], "row": [f"R{k}" for k in range(600)]})
    X["coma"] = np.clip(15 - rng.poisson(0.5 + 2.5 * y * rng.random(600)), 10, 15)
    said = nb.inspect(X, y).table.set_index("column")["finding"]
    assert "score by folds that keep them together" in said["patient"]
    assert "folds" not in said["row"]
    assert "Any other number in new rows counts as missing, so add numbers that may still come" in said["coma"]


@pytest.mark.parametrize("marker", [None, "-"])
def test_mended_reads_new_rows_as_it_read_the_inspected_table(marker):
    rng = np.random.default_rng(0)
    x = np.exp(rng.normal(0.7, 0.5, 300)).round(2)
    X, y = (
        pd.DataFrame({"vib": [f"{v:.2f}".replace(".", ",") for v in x]}),
        np.where(rng.random(300) < 0.3, "yes", "no"),
    )
    if marker:
        X.loc[0, "vib"] = marker
    found = nb.inspect(X, y)
    # The new rows hold no marker, and a cell such as 1,234 alone would be ambiguous.
    new = found.mended(X[5:8])["vib"]
    assert new.tolist() == x[5:8].tolist()
    for features in (found.features, {"vib": nb.families.LogNormal()}):
        clf = nb.BayesianNB(features).fit(found.mended(X), y)
        numbers = nb.BayesianNB({} if features == found.features else features).fit(found.mended(X), y)
        assert_allclose(clf.predict_proba(found.mended(X[5:8])), numbers.predict_proba(pd.DataFrame({"vib": x[5:8]})))


@pytest.mark.parametrize("decimal", [".", ",", None])
def test_a_column_that_holds_numbers_may_be_read_as_numbers(decimal):
    x, y = {"a": [1.5, 2.5, 7.0, 8.5]}, ["low", "low", "high", "high"]
    clf = nb.BayesianNB({"a": nb.Number(decimal=decimal)}).fit(x, y)
    assert_allclose(clf.predict_proba(x), nb.BayesianNB().fit(x, y).predict_proba(x))


@pytest.mark.parametrize("letters", ["abcdefgh", "123", "!?-", "日本語"])
@pytest.mark.parametrize("unlabelled", [None, "a word in a row without a label"])
def test_texts_of_single_letters_are_examined_and_no_words_of_them_are_proposed(letters, unlabelled):
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice([*letters], 12)) for _ in range(60)]
    labels = pd.Series(rng.choice(["yes", "no"], 60), dtype=object)
    if unlabelled:
        texts[7], labels[7] = unlabelled, None
    found = str(nb.inspect(pd.DataFrame({"t": texts}), labels))
    assert "looks like an identifier or free text" in found
    assert ("Text(" in found) == bool(unlabelled)


def test_few_numbers_in_levels_and_numbers_with_bounds_are_no_amounts_with_a_unit():
    rng = np.random.default_rng(0)
    y = rng.choice(["a", "b"], 240)
    X = pd.DataFrame({"children": rng.choice(["0 to 2", "3 or more"], 240), "floor": rng.choice(["attic", "2nd"], 240)})
    assert str(nb.inspect(X, y)) == "nothing deserves attention"
    x = rng.gamma(2, 2, 240).round(1)
    bounds = pd.DataFrame({"crp": [f"<{v}" if k % 5 == 0 else str(v) for k, v in enumerate(x)]})
    assert list(nb.inspect(bounds, y).features) == ["crp"]
    assert isinstance(nb.inspect(bounds, y).features["crp"], nb.Bounded)


@pytest.mark.parametrize("west", [(0, 2), (8, 1), (-122, 0.3)], ids=["both signs", "near 0", "negative"])
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_coordinates_that_are_0_in_the_same_rows_are_read_alike(west, seed):
    rng, y = np.random.default_rng(seed), np.resize(["a", "b", "b"], 600)
    none = rng.random(600) < 0.05
    X = pd.DataFrame({"lat": rng.normal(47, 1, 600), "lon": rng.normal(*west, 600)})
    X[none] = 0.0
    X["other"] = rng.normal(size=600)
    for table in (X, X[["other", "lon", "lat"]]):
        found = {remark.column: remark for remark in nb.inspect(table, y).remarks}
        assert {name: remark.option[1] for name, remark in found.items()} == {"lat": "lat=0", "lon": "lon=0"}
    # Zeros in other rows are no evidence.
    X["lon"] = rng.normal(*west, 600)
    X.loc[rng.permutation(none), "lon"] = 0.0
    assert all("in the same rows" not in str(remark.said) for remark in nb.inspect(X, y).remarks)


def test_a_zero_beside_one_of_a_column_with_both_signs_is_no_amount():
    rng, y = np.random.default_rng(0), np.resize(["a", "b", "b"], 600)
    X = pd.DataFrame({"lat": rng.normal(0, 10, 600), "lon": rng.normal(35, 6, 600)})
    X[rng.random(600) < 0.05] = 0.0
    lat, lon = (remark for remark in nb.inspect(X, y).remarks if remark.column in X)
    assert "in the same rows as column 'lon': if 0 means missing" in str(lat.said)
    assert "in the same rows as column 'lat': if 0 means missing" in str(lon.said)
    assert lat.option == lat.cures == lon.option == lon.cures == ()


def test_every_marker_of_a_column_is_named_at_once_and_unknown_stays_a_level():
    cells = ["Carnica", "Buckfast", "Ligustica", "unknown", "Carnica", "?", "unbekannt", "none"] * 20
    found = nb.inspect(pd.DataFrame({"breed": cells, "y": list("uvvuuvuv") * 20}), "y")
    marks = {remark.mark: bool(remark.option) for remark in found.remarks if remark.mark}
    assert marks == {"unknown": False, "none": False, "?": True, "unbekannt": True}


@pytest.mark.parametrize(("sign", "side"), [(1, "above 3"), (-1, "below -3")])
def test_a_number_that_arises_in_one_of_three_classes_only_is_questioned(sign, side):
    rng = np.random.default_rng(0)
    y = np.repeat(["no", "suspected", "yes"], [350, 150, 100])
    cost = np.where(y == "yes", 4 + rng.gamma(2, 80, 600), 0.0)
    cost[[5, 400]] = 3.0
    later = np.where(rng.random(600) < 0.1, cost[::-1], cost)  # It also arises in other classes.
    normal = rng.normal(np.where(y == "yes", 50.0, 0.0))  # It separates the class, but varies in the others, too.
    X = pd.DataFrame({"cost": sign * cost, "later": later, "normal": normal})
    (remark,) = (each for each in nb.inspect(X, y).remarks if each.tells)
    assert remark.column == "cost"
    assert f"is {side} only in class 'yes', in all rows: is it known" in remark.sentence
    cost[7] = np.nan
    cost[-1] = 0
    (remark,) = (each for each in nb.inspect(X.assign(cost=sign * cost), y).remarks if each.tells)
    assert f"is {side} only in class 'yes', in all but 1 of 600 rows" in remark.sentence


@pytest.mark.parametrize("option", ["NA", "c=NA"])
def test_a_marker_that_is_kept_as_a_value_is_a_value_in_every_remark(option, tmp_path, capsys):
    x = np.arange(60)
    frame = pd.DataFrame({"c": ["DE", "DE", "NA"] * 20, "x": x % 7 + x / 60, "y": ["p", "q", "p"] * 20})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.replace({"NA": "FR"}).to_csv(tmp_path / "u.csv", index=False)
    asked = ("--target", "y", "--format", "json")
    kept, other = (
        json.loads(run(capsys, "inspect", tmp_path / name, *asked, *more)[1])["remarks"]
        for name, more in (("t.csv", ["--keep-na", option]), ("u.csv", []))
    )
    assert kept == other
