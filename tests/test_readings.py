"""Readings: dates, numbers with marks and several choices in one cell, from every container."""

import datetime as dt
import io
import re
import shlex
import warnings
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import run
from numpy.testing import assert_allclose

import bayesnb as nb
from bayesnb import BayesianNB, Missing, deploy, families, load
from bayesnb.data.columns import Column
from bayesnb.data.improving import best_parts
from bayesnb.data.readings import Bounded, Choices, Date, Joined, Number, default_reading, recognised, slips_in
from bayesnb.data.specifications import parsed
from bayesnb.errors import UnreadCellWarning
from bayesnb.findings import examine
from bayesnb.wording import RefusedError

pytestmark = pytest.mark.usefixtures("examined_once")


def euros(value):
    return f"{value:,.2f} €".translate(str.maketrans(",.", ".,"))


def customers(n=120):
    """A table with typed dates, and its classes."""
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, n)
    since = pd.Timestamp("2019-03-01") + pd.to_timedelta(rng.integers(0, 900, n) + 300 * y, unit="D")
    contact = ["Email", "Phone", "Chat"]
    frame = pd.DataFrame(
        {
            "since": since,
            "called": [dt.time(h, m) for h, m in zip(rng.integers(0, 24, n), rng.integers(0, 60, n), strict=True)],
            "paid": [*map(euros, rng.lognormal(6 + y, 1))],
            "discount": [f"{v:.1f} %" for v in rng.gamma(2, 3 + y)],
            "contact": ["; ".join(sorted(rng.choice(contact, rng.integers(1, 4), replace=False))) for _ in range(n)],
            "tier": rng.choice(["a", "b"], n),
        }
    )
    frame.loc[3, ["since", "paid", "contact"]] = None
    return frame, pd.Series(np.where(y, "stays", "leaves"), name="y")


def as_text(frame, form="%d.%m.%Y"):
    return frame.assign(since=frame["since"].dt.strftime(form), called=frame["called"].astype(str))


FEATURES = {"since": Date("elapsed", "month", "weekday"), "called": Date("hour")}


@pytest.mark.parametrize(
    "features", [None, FEATURES, pytest.param({"paid": nb.families.LogNormal()}, marks=pytest.mark.slow), "best"]
)
def test_every_container_is_read_alike_and_so_is_the_saved_model(features, tmp_path):
    X, y = customers()
    clf = BayesianNB(features).fit(X, y)
    expected = clf.predict_proba(X)
    Z = as_text(X)
    whole = {**Z, "y": y}
    Z.assign(y=y).to_csv(tmp_path / "t.csv", index=False, sep=";")
    X.assign(y=y).to_parquet(tmp_path / "t.parquet")
    tables = {
        "text": Z,
        "ISO": as_text(X, "%Y-%m-%d"),
        "slashes": as_text(X, "%d/%m/%Y"),
        "polars": pl.from_pandas(X),
        "arrow": pa.Table.from_pandas(X),
        "Arrow types": X.convert_dtypes(dtype_backend="pyarrow"),
        "dict": {name: Z[name].tolist() for name in Z},
        "time zone": X.assign(since=X["since"].dt.tz_localize("UTC")),
        "objects": X.assign(since=X["since"].astype(object)),
        "polars dates": pl.from_pandas(X).with_columns(pl.col("since").cast(pl.Date)),
        **{kind: X.assign(since=X["since"].astype(f"{kind}[pyarrow]")) for kind in ("date32", "date64")},
    }
    # The search for the best parts takes the time of ten fits; four containers hold every type of cell.
    asked = ("text", "slashes", "arrow", "time zone") if features == "best" else tables
    for name in asked:
        again, table = BayesianNB(features).fit(tables[name], y), tables[name]
        assert again.describe().index.tolist() == clf.describe().index.tolist(), name
        assert np.abs(again.predict_proba(table) - expected).max() < 1e-9, name
        assert again.feature_names_in_.tolist() == X.columns.tolist()
    parts = (pd.DataFrame(whole).iloc[k : k + 7] for k in range(0, 120, 7))
    tables["date32"].assign(y=y).to_parquet(tmp_path / "dates.parquet")
    streams = [(tmp_path / "t.csv", Z), (duckdb.from_df(pd.DataFrame(whole)), Z)]
    streams += [(tmp_path / name, X) for name in ("t.parquet", "dates.parquet")]
    for source, rows in [*streams, *([] if features == "best" else [(parts, Z)])]:
        again = BayesianNB(features).fit(source, "y")
        assert np.abs(again.predict_proba(rows) - expected).max() < 1e-9, source
    clf.save(tmp_path / "m.bayesnb")
    assert (nb.load(tmp_path / "m.bayesnb").predict_proba(X) == expected).all()
    assert np.abs(nb.load(tmp_path / "m.bayesnb").predict_proba(tables["ISO"]) - expected).max() < 1e-9


def test_an_array_of_objects_is_read_like_a_frame():
    X, y = customers()
    clf, same = BayesianNB().fit(as_text(X).to_numpy(object), y), BayesianNB().fit(as_text(X), y)
    assert clf.describe().index.tolist()[0] == "elapsed of x0"
    assert np.abs(clf.predict_proba(as_text(X).to_numpy(object)) - same.predict_proba(as_text(X))).max() < 1e-12


def test_rows_may_come_in_steps_go_again_and_weigh_more():
    X, y = customers()
    whole = BayesianNB(FEATURES).fit(X, y)
    steps = BayesianNB(FEATURES).fit(X, y).partial_fit(as_text(X, "%Y-%m-%d")[:40], y[:40])
    weights = np.r_[np.full(40, 2), np.ones(80)]
    assert np.abs(steps.predict_proba(X) - BayesianNB(FEATURES).fit(X, y, weights).predict_proba(X)).max() < 1e-9
    steps.forget(X[:40], y[:40])
    assert np.abs(steps.predict_proba(X) - whole.predict_proba(X)).max() < 1e-9
    with pytest.raises(ValueError, match="the two models read it differently"):
        whole.merge(
            BayesianNB({**FEATURES, "since": Date("elapsed", "month", "weekday", format="dmy")}).fit(as_text(X), y)
        )


NUMBERS = {
    ("1.234,50 €", "12,00 €"): (1234.5, 12.0, "€"),
    ("€1,234.50", "€ 12.00"): (1234.5, 12.0, "€"),
    ("-$5", "$1,000,000"): (-5.0, 1e6, "$"),
    ("CHF 1'234.50", "CHF 3"): (1234.5, 3.0, "CHF"),
    ("1 234,5 kg", "7 kg"): (1234.5, 7.0, "kg"),
    ("15 U/L", "230.5 U/L"): (15.0, 230.5, "U/L"),
    ("12,5 %", "−7 %"): (12.5, -7.0, "%"),
    ("3 rooms", "12 rooms"): (3.0, 12.0, "rooms"),
}


@pytest.mark.parametrize("texts", NUMBERS)
def test_numbers_with_a_mark_are_read_with_their_unit(texts):
    first, second, unit = NUMBERS[texts]
    (reading,) = recognised(texts)
    assert reading.unit == unit
    assert reading.read(Column("x", pd.Series([*texts, None, "-"])))["x"][:2].tolist() == [first, second]


@pytest.mark.parametrize(
    "texts",
    [
        ("3 kg", "4 lb"), ("12a", "13a"), ("3rd", "4rd"), ("1,234 €", "1.234 €", "1,5 €", "1.5 €"), ("10-12", "13-15"),
        ("1:2", "3:4"), ("007 kg", "008 kg"), ("5", "7"), ("v1.2", "v1.3"), ("192.168.0.1", "10.0.0.1"), ("1 2", "3 4"),
        ("5 €", "7"), ("Room 5", "Room 7"), ("yes", "no"), ("", "?"),
    ],
)  # fmt: skip
def test_codes_ranges_mixed_units_and_numbers_without_a_mark_are_no_numbers_with_marks(texts):
    assert recognised(texts) == ()


def test_an_open_decimal_mark_is_asked_about_and_not_guessed():
    texts, y = ["1.234 €", "2.345 €", "3.999 €", "9.876 €"], ["a", "b", "a", "b"]
    assert {reading.decimal for reading in recognised(texts)} == {".", ","}
    assert BayesianNB().fit({"x": texts}, y).describe()["family"].tolist() == ["Categorical"]
    for decimal, value in ((".", 1.234), (",", 1234.0)):
        clf = BayesianNB({"x": Number(decimal)}).fit({"x": texts}, y)
        assert clf.classifier_.schema.readings["x"].read(Column("x", pd.Series(texts[:1])))["x"] == [value]
    with pytest.raises(RefusedError, match="say which, as features=") as error:
        BayesianNB({"x": Number()}).fit({"x": texts}, y)
    assert error.value.column == "x"
    assert len(error.value.cure) == 2


DATES = {
    "iso": ["2024-02-29", "2023-1-3", "2024-02-29 23:59:59.5", "2024-02-29T10:00Z", "2024/02/29"],
    "dmy": ["29.02.2024", "1.3.2023", "31.12.2024 14:05"],
    "mdy": ["02/29/2024", "3/1/2023 2:05 PM"],
    "time": ["00:04", "23:59:59", "25:10:00"],
}


@pytest.mark.parametrize("form", DATES)
def test_dates_and_times_have_one_recognised_format(form):
    assert recognised(DATES[form]) == (Date(format=form),)


@pytest.mark.parametrize(
    "texts",
    [
        ("2023-02-30", "2023-01-01"), ("13/13/2023", "01/01/2023"), ("02/29/2024", "29/02/2024"), ("12:75", "1:00"),
        ("2024-01", "2024-02"), ("20240229", "20240301"), ("soon", "2024-01-01"),
    ],
)  # fmt: skip
def test_impossible_and_mixed_dates_are_not_read_as_dates(texts):
    assert recognised(texts) == ()


@pytest.mark.parametrize("texts", [("03/04/2024", "05/06/2024"), ("03.04.24", "25.06.24")])
def test_an_open_order_or_century_of_dates_is_asked_about_and_not_guessed(texts):
    X, y = {"d": [*texts, *texts]}, ["a", "b", "b", "a"]
    assert recognised(texts)
    assert default_reading(Column("d", pd.Series(texts))) is None
    assert BayesianNB().fit(X, y).describe()["family"].tolist() == ["Categorical"]
    with pytest.raises(RefusedError, match="leaves open"):
        BayesianNB({"d": "date"}).fit(X, y)
    read = Date("elapsed", format="dmy").read(Column("d", pd.Series(texts[:1])))["elapsed of d"]
    assert read.tolist() == [(dt.date(2024, 4, 3) - dt.date(1970, 1, 1)).days]


def test_parts_of_a_date_follow_its_local_clock_and_elapsed_time_is_measured_in_utc():
    texts = pd.Series(["2024-03-01T00:30+02:00", "2024-02-29 22:30Z", None])
    typed = pd.to_datetime(texts, utc=True, format="ISO8601").dt.tz_convert("Europe/Athens")
    parts = Date("elapsed", "month", "weekday", "hour", format="iso")
    read, of_type = (parts.read(Column("t", values)) for values in (texts, typed))
    assert np.diff(read["elapsed of t"][:2]).tolist() == [0.0]
    assert np.isnan(read["elapsed of t"][2])
    assert [*read["month of t"]][:2] == ["March", "February"]
    assert [*read["hour of t"]][:2] == [0, 22]
    assert [*read["weekday of t"]][:2] == ["Friday", "Thursday"]
    assert [*of_type["hour of t"]][:2] == [0, 0]
    assert np.allclose(of_type["elapsed of t"], read["elapsed of t"], equal_nan=True)


def test_durations_periods_and_dates_of_one_moment_agree():
    days = pd.to_datetime(["2024-01-31", "2023-12-01"])
    for values in (days, days.to_period("D"), [d.date() for d in days], days.strftime("%d.%m.%Y")):
        column = Column("d", pd.Series(values))
        assert default_reading(column).read(column)["elapsed of d"].tolist() == [19753.0, 19692.0]
    column = Column("d", pd.Series(pd.to_timedelta(["90min", "2D"])))
    assert default_reading(column).read(column)["elapsed of d"].tolist() == [1.5, 48.0]


def test_several_choices_become_a_column_of_0_and_1_per_option():
    cells = pd.Series(["Email; Chat", "Email", "Phone;Chat ;Email", "Phone", "Phone; Chat", None])
    (reading,) = recognised(cells.dropna().tolist())
    assert reading == Choices(";", ("Chat", "Email", "Phone"))
    read = pd.DataFrame(reading.read(Column("c", cells)))
    assert read["c=Chat"].tolist()[:5] == [1, 0, 1, 0, 1]
    assert read.loc[5].isna().all()


@pytest.mark.parametrize(
    "texts",
    [
        ("Smith, John", "Smith, Mary", "Jones, John", "Jones, Mary", "Brown, John", "Brown, Mary"),
        ("Paris, France", "Lyon, France", "Paris, Texas", "Austin, Texas"),
        ("1,5", "1,7", "2,5", "2,7", "3"),
        ("teils, teils", "stimme zu", "stimme nicht zu"),
        ("a; b", "a; b; a", "b; a", "a", "b"),
    ],
)
def test_names_places_numbers_and_answers_are_not_several_choices(texts):
    assert recognised(texts) == ()


def test_a_cell_that_does_not_fit_counts_as_missing_with_a_warning():
    X, y = customers()
    clf = BayesianNB(FEATURES).fit(X, y)
    for column, odd in {"since": "soon", "paid": "12 $", "called": "noon", "contact": "Fax"}.items():
        row = as_text(X, "%Y-%m-%d")[:1].assign(**{column: odd})
        with pytest.warns(UnreadCellWarning, match=f"column '{column}'.*{odd.replace('$', '.')}"):
            found = clf.predict_proba(row)
        assert np.abs(found - clf.predict_proba(row.assign(**{column: None}))).max() < 1e-12


@pytest.mark.parametrize(
    ("cell", "like", "said"),
    [
        ("Fax", None, "1 of 1 cells are no choices among its options, such as 'Fax', and count as missing"),
        ("email", None, "count as missing: if it is one, write 'Email'"),
        ("Email, chat", None, "count as missing: if it is one, write 'Email; Chat'"),
        ("Fax; Email", "Email", "options that were not learned are ignored"),
    ],
)
def test_a_cell_without_a_learned_option_is_no_evidence_of_no_option(cell, like, said):
    X = {"contact": ["Email; Chat", "Email", "Phone; Chat; Email", "Phone", "Phone; Chat", "Chat", ""]}
    clf = BayesianNB().fit(X, ["new", "new", "new", "old", "old", "old", "new"])
    with pytest.warns(UnreadCellWarning) as warned:
        found = clf.predict_proba({"contact": [cell]})
    assert said in str(warned[0].message)
    assert_allclose(found, clf.predict_proba({"contact": [like]}))
    none, gap = (clf.predict_proba({"contact": [cell]}) for cell in ("", None))
    assert abs(none - gap).max() > 0.01


ORDERS = {"%d/%m/%Y": "%m/%d/%Y", "%m/%d/%Y": "%d/%m/%Y", "%d.%m.%Y": "%m/%d/%y", "%d-%m-%Y %H:%M": "%m-%d-%Y %H:%M"}


@pytest.mark.parametrize("form", ORDERS)
@pytest.mark.parametrize("specified", [False, True])
def test_a_date_in_the_other_order_of_day_and_month_is_refused_whatever_rows_are_beside_it(
    capsys, form, specified, tmp_path
):
    X, y = customers()
    since = X["since"].dropna()
    X, moved = (since.dt.strftime(order).to_frame() for order in (form, ORDERS[form]))
    y = y[X.index]
    own = "mdy" if form.startswith("%m") else "dmy"
    clf = BayesianNB({"since": Date(format=own)} if specified else None).fit(X, y)
    before = clf.predict_proba(X)
    swapped = [k for k, text in enumerate(moved["since"]) if int(text[3:5] if own == "dmy" else text[:2]) > 12]
    for rows in (range(len(X)), range(len(X))[::-1], swapped[:1], [*swapped[:1], 0]):
        with pytest.raises(RefusedError, match="so that others would be misread: write ") as refused:
            clf.predict(moved.iloc[[*rows]])
        assert refused.value.column == "since"
        assert refused.value.value in {moved["since"].iloc[k] for k in swapped}
        with pytest.raises(RefusedError):
            clf.partial_fit(moved.iloc[[*rows]], y.iloc[[*rows]])
    assert (clf.predict_proba(X) == before).all()
    clf.save(tmp_path / "m.bayesnb")
    moved.to_csv(tmp_path / "new.csv", index=False)
    code, _, said = run(capsys, "predict", tmp_path / "m.bayesnb", tmp_path / "new.csv")
    assert code
    assert "column 'since' holds" in said


def test_a_column_specified_as_levels_is_not_read_otherwise():
    X, y = customers()
    clf = BayesianNB({"paid": "categorical"}).fit(X, y)
    assert type(clf.classifier_.schema.features["paid"].family) is nb.Categorical
    assert BayesianNB(nb.Categorical()).fit(as_text(X)[["since", "paid"]], y).classifier_.schema.readings == {}
    with pytest.raises(RefusedError, match="name one of its feature columns, as 'elapsed of since'"):
        BayesianNB({"since": "gaussian"}).fit(X, y)
    clf = BayesianNB({"elapsed of since": "polya-tree"}).fit(X, y)
    assert type(clf.classifier_.schema.features["elapsed of since"].family) is nb.families.PolyaTree


def test_a_feature_column_whose_name_is_taken_is_refused():
    X, y = customers()
    with pytest.raises(RefusedError, match="would become 'elapsed of since'"):
        BayesianNB().fit(X.assign(**{"elapsed of since": 1.5}), y)


def test_sql_and_compiled_classifiers_refuse_readings_by_name():
    X, y = customers()
    clf = BayesianNB().fit(X, y)
    for refuse in (lambda: deploy.to_sql(clf, "duckdb"), lambda: deploy.compile(clf)):
        with pytest.raises(ValueError, match="column 'since' is read as dates"):
            refuse()


def test_the_parts_of_a_date_that_predict_better_are_found_by_leave_one_out():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    days = pd.to_datetime(
        {"year": rng.integers(2015, 2025, 400), "month": np.where(y, 7, rng.integers(1, 13, 400)), "day": 3}
    )
    column = Column("d", days)
    assert best_parts(column, default_reading(column), pd.Series(y)) == ("month",)
    assert best_parts(column, default_reading(column), pd.Series(rng.permutation(y))) == ("elapsed",)


def test_no_parts_of_a_date_are_proposed_for_labels_that_are_noise():
    # Most rows are recent, so the elapsed time is skewed, and a Gaussian of it predicts worse than the frequencies.
    proposed = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        days = pd.Timestamp("2025-06-01") - pd.to_timedelta(np.round(rng.exponential(150, 800)), "D")
        y = pd.Series(np.where(rng.random(800) < 0.13, "yes", "no"))
        proposed += best_parts(Column("d", pd.Series(days)), Date(format="iso"), y) != ("elapsed",)
    assert proposed <= 1


def test_inspect_names_each_reading_and_asks_only_what_the_cells_leave_open():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "since": [f"{d}.{m}.2024" for d, m in zip(rng.integers(1, 29, 60), rng.integers(1, 13, 60), strict=True)],
            "us": [f"{m}/{d}/2024" for d, m in zip(rng.integers(1, 13, 60), rng.integers(1, 13, 60), strict=True)],
            "price": [f"{k}.{rng.integers(100, 999)} €" for k in rng.integers(1, 9, 60)],
            "weight": [f"{w} {'kg' if w % 3 else 'lb'}" for w in rng.integers(50, 99, 60)],
            "enzyme": [*(f"{u} U/L" for u in rng.permutation(900)[:58] + 20), "hemolyzed", "hemolyzed"],
            "y": ["a", "b"] * 30,
        }
    )
    found = {}
    for remark in examine(frame, "y", 60):
        found.setdefault(remark.column, []).append(remark)
    assert str(found["since"][0].said).startswith("dates, read as days since 1970-01-01")
    assert found["us"][0].asks
    assert found["us"][0].families == ("date:elapsed,dmy", "date:elapsed,mdy")
    assert found["price"][0].asks
    assert found["price"][0].families == ("number:,", "number:.")
    said = str(found["weight"][0].said)
    assert "several units" in said
    assert "one unit, or leave it out" in said
    assert found["weight"][0].serious
    assert found["enzyme"][0].option == ("--na", "enzyme=hemolyzed")


def test_spellings_of_a_level_are_joined_if_asked_for_in_every_container(tmp_path):
    sex = ["f", "F", "f ", "m", "M", " male", None] * 8
    y = ["a", "a", "b", "b", "b", "b", "a"] * 8
    clean = [{"male": "m"}.get(s.strip(), s.strip().lower()) if s else None for s in sex]
    X = pd.DataFrame({"sex": sex})
    expected = BayesianNB().fit({"sex": clean}, y).predict_proba({"sex": clean})
    assert len(BayesianNB().fit(X, y).tables()["sex"].columns) == 6
    features = {"sex": Joined({"male": "m"})}
    X.assign(y=y).to_csv(tmp_path / "t.csv", index=False)
    parts = (X.assign(y=y).iloc[k : k + 5] for k in range(0, 56, 5))
    for source, labels in ((X, y), (pl.from_pandas(X), y), (tmp_path / "t.csv", "y"), (parts, "y")):
        clf = BayesianNB(features).fit(source, labels)
        assert clf.tables()["sex"].columns.tolist() == ["f", "m"]
        assert np.abs(clf.predict_proba(X) - expected).max() < 1e-12
    clf.save(tmp_path / "m.bayesnb")
    assert (nb.load(tmp_path / "m.bayesnb").predict_proba({"sex": ["F  "]}) == clf.predict_proba({"sex": ["f"]})).all()


def test_a_joined_level_is_named_by_its_spelling_with_capitals_and_small_letters():
    towns = ["kassel", "Kassel", "KASSEL", "hanau", "HANAU", "Bad  Hersfeld", "bad hersfeld"]
    clf = BayesianNB({"town": Joined()}).fit({"town": towns}, list("abababa"))
    assert clf.tables()["town"].columns.tolist() == ["Bad Hersfeld", "Kassel", "hanau"]


@pytest.mark.parametrize("pairs", [{}, {"submersibel": "Submersible"}])
@pytest.mark.parametrize("seed", range(3))
def test_models_of_two_parts_of_a_table_merge_whatever_spellings_each_part_holds(pairs, seed, tmp_path):
    rng = np.random.default_rng(seed)
    held = ["Booster", "booster", "BOOSTER", "borehole", "Borehole", "submersible", "submersibel"]
    X = pd.DataFrame({"pump": rng.choice(held, 40), "age": rng.integers(0, 9, 40).astype(float)})
    y, features = rng.permutation(np.resize(["no", "yes"], 40)), {"pump": Joined(pairs)}
    half = rng.permutation(np.resize([True, False], 40))
    for dependence in (None, "tempered"):
        one, other, whole = (
            BayesianNB(features, dependence=how).fit(X[rows], y[rows])
            for rows, how in ((half, dependence), (~half, dependence), (np.full(40, True), dependence))
        )
        merged = one.merge(other)
        assert {*merged.tables()["pump"]} == {*whole.tables()["pump"]}
        if dependence is None:
            assert_allclose(merged.predict_proba(X), whole.predict_proba(X), rtol=1e-12)
        merged.save(tmp_path / "m.bayesnb")
        assert_allclose(load(tmp_path / "m.bayesnb").predict_proba(X), merged.predict_proba(X), rtol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_a_level_that_later_parts_add_in_several_spellings_is_one_level(seed):
    rng = np.random.default_rng(seed)
    first, later = ["Kassel", "kassel", "Hanau"], ["KASSEL", "bonn", "Bonn", "BONN ", "Hanau", "Ulm"]
    X = pd.DataFrame({"town": np.concatenate([rng.choice(first, 30), rng.choice(later, 60)])})
    y, features = rng.choice(["no", "yes"], 90), {"town": Joined()}
    whole = BayesianNB(features).fit(X, y)
    clf = BayesianNB(features).fit(X[:30], y[:30])
    for cut in (slice(30, 50), slice(50, 90)):
        clf.partial_fit(X[cut], y[cut])
    assert {town.lower() for town in clf.tables()["town"]} == {"kassel", "hanau", "bonn", "ulm"}
    assert_allclose(clf.predict_proba(X), whole.predict_proba(X), rtol=1e-12)
    clf.forget(X[50:], y[50:])
    assert_allclose(
        clf.predict_proba(X[:30]), BayesianNB(features).fit(X[:50], y[:50]).predict_proba(X[:30]), rtol=1e-12
    )


@pytest.mark.parametrize("named", ["joined", "Joined", " JOINED", ("Joined", ["sex"]), Joined()])
def test_a_reading_may_be_named_in_any_spelling_as_a_family_may(named):
    clf = BayesianNB({"sex": named}).fit({"sex": ["f", "F", "f ", "m", "M", "m"]}, ["a", "a", "b", "b", "b", "b"])
    assert clf.tables()["sex"].columns.tolist() == ["f", "m"]


def test_inspect_names_spellings_and_typing_errors_but_no_two_real_levels():
    land = ["Germany"] * 60 + ["France"] * 60 + ["Germnay", "Frances"] + ["Iran"] * 30 + ["Iraq"] * 30
    frame = pd.DataFrame({"sex": ["f", "F", "m"] * 60 + ["m", "m"], "land": land, "code": (["AB1", "AB2"] * 91)})
    frame["y"] = np.random.default_rng(0).choice(["neg", "neg ", "pos"], len(frame))
    found = {remark.column: remark for remark in examine(frame, "y", len(frame))}
    assert found["sex"].families == ("joined",)
    assert found["land"].families == ("joined:Frances>France,Germnay>Germany",)
    cure = "correct them in y, as with pd.Series(y).str.strip().str.lower()"
    assert str(found["y"].said) == f"the classes 'neg', 'neg ' differ only by case or blanks: {cure}"
    assert "code" not in found


@pytest.mark.parametrize(
    ("towns", "level"),
    [
        (["KASSEL"] * 30 + ["Kassel"] * 3 + ["kassel "] * 7, "KASSEL"),
        (["kassel"] * 20 + ["kassel "] * 15 + ["Kassel"] * 25, "kassel"),
        (["kassel", "Kassel", "KASSEL"] * 15, "Kassel"),
        (["kassel", "KASSEL"] * 15, "kassel"),
    ],
    ids=["rare", "further spaces", "tie", "tie without both"],
)
def test_the_advised_level_has_the_most_frequent_spelling_in_any_order_of_rows(towns, level):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"town": [*towns, *["hanau"] * 30]})
    y = np.resize(["a", "b"], len(X))
    for rows in (np.arange(len(X)), rng.permutation(len(X)), rng.permutation(len(X))):
        found = nb.inspect(X.iloc[rows], y[rows])
        clf = BayesianNB(found.features).fit(X.iloc[rows], y[rows])
        assert {*clf.tables()["town"]} == {level, "hanau"}


OFTEN = ["never", "rarely", "sometimes", "often", "always"]


def answers(n=400):
    rng = np.random.default_rng(0)
    spelled = [*OFTEN, "Never", "often ", "SOMETIMES"]
    cells = [*rng.choice(spelled, n - 2, p=[0.22, 0.2, 0.2, 0.16, 0.1, 0.05, 0.05, 0.02]), "somtimes", None]
    return pd.DataFrame({"meat": cells, "y": rng.choice(["no", "yes"], n)})


def test_an_ordered_answer_in_several_spellings_is_joined_and_keeps_its_order_in_every_container(tmp_path):
    table = answers()
    X, y = table[["meat"]], table["y"].to_numpy()
    found = nb.inspect(X, y)
    assert found.features == {"meat": Joined({"somtimes": "sometimes"}, order=OFTEN)}
    assert "ordered answers in several spellings" in str(found)
    clean = X["meat"].str.strip().str.lower().replace("somtimes", "sometimes").to_frame()
    p = BayesianNB({"meat": families.Ordinal(order=OFTEN)}).fit(clean, y).predict_proba(clean)
    table.to_csv(tmp_path / "t.csv", index=False)
    parts = (table.iloc[k : k + 57] for k in range(0, 400, 57))
    for source, labels in ((X, y), (pl.from_pandas(X), y), (tmp_path / "t.csv", "y"), (parts, "y")):
        clf = BayesianNB(found.features).fit(source, labels)
        assert clf.tables()["meat"].columns.tolist() == OFTEN
        assert_allclose(clf.predict_proba(X), p, rtol=1e-12)
    one, other = (BayesianNB(found.features).fit(X[cut], y[cut]) for cut in (slice(150), slice(150, None)))
    assert_allclose(one.merge(other).predict_proba(X), p, rtol=1e-12)
    clf.save(tmp_path / "m.bayesnb")
    assert_allclose(load(tmp_path / "m.bayesnb").predict_proba(X), p, rtol=1e-12)
    gaps = BayesianNB({"meat": Missing(found.features["meat"])}).fit(X, y)
    assert [*gaps.tables()] == ["(class)", "meat", "meat is missing"]
    word = found.remarks[0].families[0]
    assert word == "joined:somtimes>sometimes,never < rarely < sometimes < often < always"
    assert parsed(word) == parsed(word.replace(" < ", "<")) == found.features["meat"]


def test_another_spelling_of_an_ordered_level_is_refused_with_the_way_to_join_it():
    table = answers()
    with pytest.raises(RefusedError, match="another spelling of an ordered level: use") as refused:
        BayesianNB({"meat": families.Ordinal(order=OFTEN)}).fit(table[["meat"]], table["y"])
    assert f"features={{'meat': nb.Joined(order={OFTEN})}}" in str(refused.value)


# Numbers and bounds


def laboratory(n=160, decimal="."):
    """A table with bounds and other texts among its numbers, the same by hand as kinds and numbers, and its classes."""
    rng = np.random.default_rng(2)
    y = rng.choice(["ill", "well"], n)
    x = rng.lognormal(2 + (y == "ill"), 1.2).round(1)
    kinds = np.where(x < 5, "<5", np.where(x > 60, "≥60", "number")).astype(object)
    kinds[[3, 9]], kinds[7] = "hemolyzed", None
    numbers = np.where(kinds == "number", x, np.nan)
    spelled = {"<5": ["<5", "< 5", " <5.0"], "≥60": [">=60", "≥ 60"], "hemolyzed": ["hemolyzed "], None: [None, "-"]}
    cells = [f"{v:.1f}" if k == "number" else spelled[k][i % len(spelled[k])] for i, (k, v) in
             enumerate(zip(kinds, x, strict=True))]  # fmt: skip
    cells = [cell and cell.replace(".", decimal) for cell in cells]
    rest = rng.normal(size=n)
    by_hand = pd.DataFrame({"kind of crp": kinds, "number of crp": numbers, "b": rest})
    return pd.DataFrame({"crp": cells, "b": rest}), by_hand, y


@pytest.mark.parametrize(
    "features",
    [None, {"crp": Bounded()}, {"crp": nb.Missing(Bounded()), "number of crp": "log-normal"}, nb.Missing()],
    ids=["default", "specified", "with missing cells", "with all missing cells"],
)
def test_numbers_and_bounds_become_kinds_and_numbers_in_every_container(features, tmp_path):
    X, by_hand, y = laboratory()
    clf = BayesianNB(features).fit(X, y)
    expected = clf.predict_proba(X)
    own = {"kind of crp": "missing", "number of crp": "log-normal"} if isinstance(features, dict) else None
    if features is None or features == {"crp": Bounded()}:
        assert (BayesianNB().fit(by_hand, y).predict_proba(by_hand) == expected).all()
    elif own and len(features) == 2:
        assert np.abs(BayesianNB(own).fit(by_hand, y).predict_proba(by_hand) - expected).max() < 1e-12
    # A worksheet holds numbers as numbers; half of the cells are written so.
    numeric = by_hand["number of crp"].notna() & (np.arange(len(X)) % 2 == 0)
    mixed = X.assign(crp=[float(cell) if number else cell for cell, number in zip(X["crp"], numeric, strict=True)])
    commas = laboratory(decimal=",")[0]
    commas.assign(y=y).to_csv(tmp_path / "t.csv", index=False, sep=";", decimal=",")
    mixed.assign(y=y).to_excel(tmp_path / "t.xlsx", index=False)
    parts = (X.assign(y=y).iloc[k : k + 9] for k in range(0, len(X), 9))
    tables = {"mixed": mixed, "commas": commas, "polars": pl.from_pandas(X), "arrow": pa.Table.from_pandas(X)}
    sources = {"parts": parts, "file": tmp_path / "t.csv", "sheet": tmp_path / "t.xlsx"}
    for name, table in {**tables, **sources}.items():
        again = BayesianNB(features).fit(table, y if name in tables else "y")
        assert again.describe().equals(clf.describe()), name
        asked = {"file": commas}.get(name, table if name in tables else X)
        assert np.abs(again.predict_proba(asked) - expected).max() < 1e-12, name
    numbers = X[by_hand["number of crp"].notna()]
    assert np.abs(clf.predict_proba(numbers.astype({"crp": float})) - clf.predict_proba(numbers)).max() < 1e-12
    clf.save(tmp_path / "m.bayesnb")
    assert (nb.load(tmp_path / "m.bayesnb").predict_proba(X) == expected).all()
    steps = BayesianNB(features).fit(X, y).partial_fit(X[:40], y[:40]).forget(X[:40], y[:40])
    assert np.abs(steps.predict_proba(X) - expected).max() < 1e-9


CELLS = {
    "<5": "<5", " < 5,0": "<5", "<=5": "≤5", "⩽ 5": "≤5", "≥1.234,5": "≥1234.5", ">5 mg/L": ">5", "<1e-3": "<0.001",
    "7,25": 7.25, "7 mg/L": 7.0, "2E3": 2000.0, "−3": -3.0, "hemolyzed ": "hemolyzed", "number": "'number'",
    "12 g/L": "12 g/L", "007": "007", "<b>": "<b>", "n/a": None, "": None,
}  # fmt: skip


def test_a_bound_is_one_level_in_all_its_spellings():
    read = Bounded(",", "mg/L").read(Column("x", pd.Series([*CELLS])))
    numbers, kinds = read["number of x"], read["kind of x"]
    assert [n if k == "number" else k for k, n in zip(kinds, numbers, strict=True)] == [*CELLS.values()]
    assert np.isnan(numbers[kinds != "number"]).all()


def test_numbers_with_a_few_bounds_are_recognised_and_ages_counts_and_codes_are_not():
    numbers = [f"{k}.5" for k in range(12)]
    (found,) = recognised(["<1", *numbers])
    assert found == Bounded(".", "")
    assert recognised([*numbers, "<1", "> 40", "clotted", "lost"]) == (found,)
    assert {one.decimal for one in recognised(["<5", *(f"{k}.{k}00" for k in range(1, 10)), "5.100"])} == {".", ","}
    for texts in (
        numbers, ["<18", "18-25", "26-40", ">40"], ["0", "1", "2", ">2"], [*numbers, *(f">{k}" for k in range(11))],
        [*numbers, "<1", "a", "b", "c", "d"], [*(f"{k} g" for k in range(12)), "<5 mg"],
        [f"0{k}" for k in range(12)] + ["<5"],
    ):  # fmt: skip
        assert not any(isinstance(one, Bounded) for one in recognised(texts)), texts
    with pytest.raises(RefusedError, match="not all of its numbers have one unit") as error:
        BayesianNB({"x": Bounded()}).fit({"x": ["3 g", "<5 mg"]}, ["a", "b"])
    assert error.value.column == "x"
    with pytest.raises(RefusedError, match="say which, as features="):
        BayesianNB({"x": Bounded()}).fit({"x": ["<1.234", "2.345"]}, ["a", "b"])


def test_a_bound_that_no_learned_row_has_is_an_unseen_level_and_a_missing_cell_carries_no_information():
    X, _, y = laboratory()
    clf = BayesianNB().fit(X[["crp"]], y)
    frequencies = clf.predict_proba({"crp": [None]})
    with pytest.warns(nb.errors.UnseenLevelWarning, match=r"column 'kind of crp': 1 of 1 row .*'<3'"):
        assert (clf.predict_proba({"crp": ["<3"]}) == frequencies).all()
    assert clf.explain({"crp": ["<5"]}).loc[(0, "kind of crp"), "value"] == "<5"
    for refuse in (lambda: deploy.to_sql(clf, "duckdb"), lambda: deploy.compile(clf)):
        with pytest.raises(ValueError, match="column 'crp' is read as numbers and bounds"):
            refuse()
    with pytest.raises(RefusedError, match="name one of its feature columns, as 'number of crp'"):
        BayesianNB({"crp": "gaussian"}).fit(X, y)
    with pytest.raises(TypeError, match="Expected features to be a family"):
        BayesianNB(nb.Missing(Bounded())).fit(X, y)
    with pytest.raises(ValueError, match="specifies its missing cells already"):
        BayesianNB({"crp": "missing", "kind of crp": "missing"}).fit(X, y)


@pytest.mark.parametrize(
    ("reading", "name"), [(Date("elapsed", "month"), "elapsed of x"), (Bounded(), "number of x"), (Number(), "x")]
)
def test_the_best_family_of_a_feature_column_is_found_beside_its_specified_reading(reading, name):
    rng = np.random.default_rng(0)
    x = rng.lognormal(3, 1, 60)
    cells = {
        Date: [*pd.Timestamp("2020-01-01") + pd.to_timedelta(x.round(), unit="D")],
        Bounded: [f"{v:.2f}" if v > 10 else "<10" for v in x], Number: [f"{v:.2f} kg" for v in x],
    }[type(reading)]  # fmt: skip
    features = {name: "best"} if name == "x" else {"x": reading, name: "best"}
    clf = BayesianNB(features).fit({"x": cells}, rng.choice(["a", "b"], 60))
    assert clf.classifier_.schema.features[name].tried


def test_missing_cells_are_flagged_once_however_many_columns_a_reading_makes(tmp_path):
    X, y = customers()
    clf = BayesianNB({"since": Date("elapsed", "month", "weekday"), "contact": "missing", "paid": "missing"})
    flags = [name for name in clf.fit(X, y).describe().index if name.endswith("is missing")]
    assert flags == ["paid is missing", "contact=Chat is missing"]
    as_text(X).assign(y=y).to_csv(tmp_path / "t.csv", index=False)
    for features in ({"since": "missing", "contact": "missing"}, nb.Missing()):
        memory, file = BayesianNB(features).fit(as_text(X), y), BayesianNB(features).fit(tmp_path / "t.csv", "y")
        assert memory.describe().equals(file.describe())
        assert np.abs(memory.predict_proba(X) - file.predict_proba(X)).max() < 1e-12


def gappy(n=200):
    """A table with missing cells in columns of each reading, its classes, and fractional weights of the rows."""
    rng = np.random.default_rng(0)
    y = rng.choice(["a", "b"], n)
    chosen = [rng.choice(["mail", "chat", "phone"], k, replace=False) for k in rng.integers(1, 4, n)]
    X = pd.DataFrame({
        "d": (pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 500, n), "D")).astype(str),
        "c": ["; ".join(own) for own in chosen], "b": [f"{v:.1f}" if v > 5 else "<5" for v in rng.uniform(0, 50, n)],
        "p": [f"{v:.2f} €" for v in rng.uniform(1, 50, n)], "x": rng.normal(size=n),
    })  # fmt: skip
    for name in "dcbp":
        X[name] = X[name].where(rng.random(n) < np.where(y == "a", 0.9, 0.6))
    return X, y, rng.uniform(0, 2, n)


# The flags of a table are of different columns, so each is the only one of its column.
FLAGGED = [
    (["elapsed of d", "c=chat", "kind of b", "p"], {}),
    (["month of d", "c=phone", "number of b", "p"], {"d": "date:month,weekday", "p": "number"}),
    (["weekday of d"], {"d": "date:month,weekday"}), (["hour of d"], {"d": "date:hour"}),
]  # fmt: skip


@pytest.mark.parametrize(("names", "readings"), FLAGGED)
def test_missing_flags_the_gaps_of_any_feature_column_in_every_container(names, readings, tmp_path, capsys):
    X, y, weight = gappy()
    said = readings | {name: f"missing:{readings[name]}" if name in readings else "missing" for name in names}
    features = {each: parsed(text) for each, text in said.items()}
    memory = BayesianNB(features).fit(X, y, weight)
    assert {f"{name} is missing" for name in names} <= {*memory.describe().index}
    X.assign(y=y, weight=weight).to_csv(tmp_path / "t.csv", index=False)
    typed = X.assign(d=pd.to_datetime(X["d"]), y=y, weight=weight)
    typed.to_parquet(tmp_path / "t.parquet")
    options = [word for each, text in said.items() for word in ("--feature", f"{each}={text}")]
    others = {}
    for file in ("t.csv", "t.parquet"):
        others[file] = BayesianNB(features).fit(tmp_path / file, "y", sample_weight="weight")
        model = str(tmp_path / f"{file}.bayesnb")
        told = ["--target", "y", "--weight", "weight", "--dependence", "none", "-o", model]
        run(capsys, "fit", str(tmp_path / file), *told, *options)
        others[model] = load(model)
    for where, other in others.items():
        assert other.describe().index.tolist() == memory.describe().index.tolist(), where
        assert_allclose(other.predict_proba(X), memory.predict_proba(X), atol=1e-12, err_msg=where)


def test_features_of_several_feature_columns_work_in_files_or_are_refused(tmp_path):
    X, y, _ = gappy()
    X.assign(y=y).to_csv(tmp_path / "t.csv", index=False)
    gaps = [["c=chat", "c=mail"], ["d", "x"], ["d", "p"], ["elapsed of d", "c=mail", "x"]]
    for features in (
        *({"gaps": (own, columns)} for columns in gaps for own in (nb.Missing(), "missing")),
        {"when": (nb.Gaussian(), ["elapsed of d"])}, {"of c": (nb.Bernoulli(), ["c=chat", "c=mail"])},
    ):  # fmt: skip
        memory, file = BayesianNB(features).fit(X, y), BayesianNB(features).fit(tmp_path / "t.csv", "y")
        assert file.describe().index.tolist() == memory.describe().index.tolist()
        assert_allclose(file.predict_proba(X), memory.predict_proba(X), atol=1e-12)
    with pytest.raises(RefusedError, match="name each column in an entry of its own"):
        BayesianNB({"both": (nb.Gaussian(), ["elapsed of d", "number of b"])}).fit(tmp_path / "t.csv", "y")
    with pytest.raises(ValueError, match="month of d"):
        BayesianNB({"month of d": nb.Missing()}).fit(tmp_path / "t.csv", "y")


def test_a_family_that_the_first_part_chose_may_read_a_column_that_other_parts_lack():
    rng = np.random.default_rng(0)
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(900, size=40), unit="D")
    whole = pd.DataFrame({"x": rng.lognormal(0, 1, 40), "day": days.strftime("%Y-%m-%d"), "y": ["a", "b"] * 20})
    parts = [whole[:20], whole[20:]], [whole[:20], whole[20:].drop(columns="x")]
    both, lacking = (BayesianNB("best", columns="grow").fit(iter(own), "y") for own in parts)
    assert {*both.classifier_.choice.features} == {*lacking.classifier_.choice.features} == {"x", "elapsed of day"}
    assert both.describe()["chosen"]["x"] == lacking.describe()["chosen"]["x"]


# The decimal mark and the types of new tables


def measurements(n=90):
    """A table whose numbers are typed, with a bound among them; and its classes."""
    rng = np.random.default_rng(7)
    y = rng.choice(["ill", "well"], n)
    crp = rng.lognormal(2 + (y == "ill"), 1, n).round(3)
    frame = pd.DataFrame(
        {
            "since": pd.Timestamp("2024-01-01 08:30") + pd.to_timedelta(rng.integers(0, 900, n), unit="D"),
            "temp": (37 + (y == "ill") + rng.normal(size=n)).round(1),
            "crp": crp.astype(object),
            "cost": rng.lognormal(7 + (y == "ill"), 1).round(2),
            "icd": ["; ".join(sorted({*rng.choice(["1", "2", "A3"], 2)})) for _ in range(n)],
        }
    )
    frame.loc[crp < 4, "crp"] = "<4.5"
    return frame, y


def written(frame, decimal, form):
    """The table as a program exports it, with this decimal mark."""
    found = frame.assign(since=frame["since"].dt.strftime(form), temp=frame["temp"].map(str))
    found["crp"] = frame["crp"].map(lambda cell: cell if isinstance(cell, str) else f"{cell:.3f}")
    for name in ("temp", "crp") if decimal == "," else ():
        found[name] = found[name].str.replace(".", ",")
    if "cost" in frame:
        found["cost"] = frame["cost"].map(euros if decimal == "," else "{:,.2f} €".format)
    return found


EXPORTS = {
    "comma.csv": (",", "%d.%m.%Y %H:%M"),
    "point.csv": (".", "%d/%m/%Y %H:%M"),
    "iso.csv": (".", "%Y-%m-%d %H:%M"),
}


def save_as(path, frame):
    """Write the table as this container holds it."""
    if path.name in EXPORTS:
        decimal, form = EXPORTS[path.name]
        written(frame, decimal, form).to_csv(path, index=False, sep=";" if decimal == "," else ",")
        return
    comma = path.name.startswith("comma")
    texts = frame["crp"].map(lambda cell: cell.replace(".", ",") if comma and isinstance(cell, str) else cell)
    frame.assign(crp=texts).to_excel(path, index=False)


@pytest.mark.parametrize("learned", ["comma.csv", pytest.param("point.csv", marks=pytest.mark.slow)])
def test_new_tables_may_have_another_decimal_mark_and_typed_cells(capsys, learned, tmp_path):
    frame, y = measurements()
    save_as(tmp_path / learned, frame)
    decimal, form = EXPORTS[learned]
    X = written(frame, decimal, form).assign(temp=frame["temp"])
    clf = BayesianNB({"since": Date("elapsed", "weekday")}).fit(X, y)
    assert {*clf.classifier_.schema.readings} == {"since", "crp", "cost", "icd"}
    expected = clf.predict_proba(X)
    clf.save(tmp_path / "m.bayesnb")
    for name in ("comma.csv", "point.csv", "iso.csv", "comma.xlsx", "point.xlsx"):
        # Also tables of a few rows, in which a number such as 1.234 decides no decimal mark by itself.
        for rows in (slice(None), slice(0, 3), slice(5, 6))[name == "iso.csv" :]:
            save_as(tmp_path / name, frame[rows])
            told = ["--decimal", "," if name == "comma.csv" else "."]
            for option in [[], told] if rows == slice(5, 6) else [[]]:
                code, out, said = run(capsys, "predict", tmp_path / "m.bayesnb", tmp_path / name, *option)
                assert (code, said) == (0, ""), (name, rows)
                found = pd.read_csv(io.StringIO(out)).filter(like="p_")
                assert np.abs(found - expected[rows]).max(axis=None) < 1e-5, (name, rows, option)
            (found,) = deploy.predict_table(clf, str(tmp_path / name))
            assert np.abs(found.filter(like="p_") - expected[rows]).max(axis=None) < 1e-12, (name, rows)
    bound = "<4,5" if decimal == "," else "<4.5"
    assert np.abs(clf.predict_proba(frame.replace({"crp": {"<4.5": bound}})) - expected).max() < 1e-12


@pytest.mark.parametrize("sheet", ["comma.xlsx", "point.xlsx"])
def test_a_sheet_of_typed_numbers_with_bounds_as_text_is_learned_like_the_file(capsys, sheet, tmp_path):
    frame, y = measurements()
    # A text such as 1.234 decides no decimal mark, but a typed number has none.
    frame["crp"] = frame["crp"].map(lambda cell: cell if isinstance(cell, str) else round(cell, 2) + 0.001)
    X = written(frame, ".", "%Y-%m-%d %H:%M").drop(columns="cost").assign(temp=frame["temp"])
    clf = BayesianNB({"crp": Bounded(".", "")}).fit(X, y)
    save_as(tmp_path / sheet, frame.drop(columns="cost").assign(y=y))
    again = BayesianNB().fit(tmp_path / sheet, "y")
    assert again.classifier_.schema.readings["crp"].decimal == ("," if sheet == "comma.xlsx" else ".")
    (found,) = deploy.predict_table(again, tmp_path / sheet)
    assert np.abs(found.filter(like="p_") - clf.predict_proba(X)).max(axis=None) < 1e-12
    code, out, _ = run(capsys, "inspect", tmp_path / sheet, "--target", "y")
    assert code == 0
    assert f"{(frame['crp'] == '<4.5').sum()} of 90 are '<4.5', read as a column of kinds and one of numbers" in out
    assert "--na" not in out
    assert run(capsys, "split", tmp_path / sheet, "--target", "y", "-o", tmp_path / "part")[0] == 0
    part = BayesianNB().fit(tmp_path / "part-train.csv", "y").classifier_
    assert part.schema.readings["crp"] == again.classifier_.schema.readings["crp"]


def test_values_of_a_row_have_a_decimal_point_and_lost_numbers_are_explained_by_their_mark(capsys, tmp_path):
    frame, y = measurements()
    X = written(frame, ",", "%d.%m.%Y %H:%M").assign(temp=frame["temp"])
    clf = BayesianNB().fit(X, y)
    clf.save(tmp_path / "m.bayesnb")
    for row in ("temp=37.5,crp=5.125", "temp=37.5,crp=5,125", '{"temp": 37.5, "crp": 5.125}'):
        code, out, said = run(capsys, "explain", tmp_path / "m.bayesnb", "--row", row)
        assert (code, said) == (0, "")
        assert "number of crp = 5.125" in out
    typed, text = (clf.predict_proba(X[:2].assign(icd=[one, None])) for one in (1.0, "1"))
    assert (typed == text).all()
    save_as(tmp_path / "iso.csv", frame[:3])
    _, out, _ = run(capsys, "explain", tmp_path / "m.bayesnb", tmp_path / "iso.csv", "--row", "0", "--set", "crp=<4.5")
    assert "kind of crp = <4.5" in out
    with pytest.warns(UnreadCellWarning) as said:
        clf.predict_proba(X[:2].assign(crp=["5.25", "<4.5"], cost=["5.25 €", "7 €"]))
    assert [str(each.message).partition(": ")[2] for each in said] == [
        "2 of 2 cells are no numbers and bounds, such as '5.25', and count as missing: if it is one, write 5,25 with a "
        "decimal comma",
        "1 of 2 cells are no numbers in €, such as '5.25 €', and count as missing: if it is one, write 5,25 € with a "
        "decimal comma",
    ]
    X[:3].assign(temp=["37,1", "soon", "37,2"]).to_csv(tmp_path / "new.csv", index=False, sep=";")
    code, _, said = run(capsys, "predict", tmp_path / "m.bayesnb", tmp_path / "new.csv")
    assert code
    assert "convert it, or, to read it as missing, --na temp=soon, or fit the model with" in " ".join(said.split())
    assert run(capsys, "predict", tmp_path / "m.bayesnb", tmp_path / "new.csv", "--na", "temp=soon")[0] == 0
    with pytest.raises(RefusedError, match="to read it as missing, replace 'soon' by None, or fit the model with"):
        clf.predict(X[:2].assign(temp=["soon", "37,2"]))


@pytest.mark.parametrize(
    "name", ["iso.csv", "comma.csv", "point.csv", "comma.xlsx", pytest.param("point.xlsx", marks=pytest.mark.slow)]
)
def test_every_command_reads_new_tables_with_another_decimal_mark(capsys, name, tmp_path):
    frame, y = measurements()
    X = written(frame, ",", "%d.%m.%Y %H:%M").assign(temp=frame["temp"])
    clf = BayesianNB().fit(X, y)
    more = BayesianNB().fit(X, y).partial_fit(X[:20], y[:20])
    clf.save(tmp_path / "m.bayesnb")
    save_as(tmp_path / name, frame[:20].assign(y=y[:20]))
    code, _, said = run(capsys, "score", tmp_path / "m.bayesnb", tmp_path / name, "--target", "y")
    assert (code, "warning" in said) == (0, False)
    again = nb.load(tmp_path / "m.bayesnb").partial_fit(tmp_path / name, "y")
    assert np.abs(again.predict_proba(X) - more.predict_proba(X)).max() < 1e-12
    assert run(capsys, "update", tmp_path / "m.bayesnb", tmp_path / name, "--target", "y")[0] == 0
    assert np.abs(nb.load(tmp_path / "m.bayesnb").predict_proba(X) - more.predict_proba(X)).max() < 1e-12


@pytest.mark.parametrize("container", ["pandas", "arrow", "objects", "polars", "parquet"])
def test_hours_are_in_the_time_zone_that_was_learned(container, tmp_path):
    rng = np.random.default_rng(0)
    local = pd.Series(pd.date_range("2025-01-01", periods=400, freq="7h", tz="Europe/Zurich"))
    y = np.where(local.dt.hour + rng.normal(0, 4, 400) > 12, "late", "early")
    clf = BayesianNB({"t": Date("elapsed", "hour", "weekday")}).fit(pd.DataFrame({"t": local}), y)
    other = pd.DataFrame({"t": local.dt.tz_convert("UTC")})
    clf.save(tmp_path / "model.bayesnb")
    if container == "arrow":
        other = other.convert_dtypes(dtype_backend="pyarrow")
    elif container == "objects":
        other = pd.DataFrame({"t": pd.Series([cell.to_pydatetime() for cell in other["t"]], dtype=object)})
    elif container == "polars":
        other = pl.from_pandas(other)
    elif container == "parquet":
        other.to_parquet(tmp_path / "t.parquet")
        other = pd.read_parquet(tmp_path / "t.parquet")
    expected = clf.predict_proba(pd.DataFrame({"t": local}))
    for same in (clf, nb.load(tmp_path / "model.bayesnb")):
        np.testing.assert_allclose(same.predict_proba(other), expected, rtol=1e-12)
    stated = BayesianNB({"t": Date("elapsed", "hour", "weekday", zone="Europe/Zurich")}).fit(other, y)
    np.testing.assert_allclose(stated.predict_proba(other), expected, rtol=1e-12)
    with pytest.raises(ValueError, match="no time zone is called 'Europe/Atlantis'"):
        Date(zone="Europe/Atlantis")


def test_percentages_that_a_sheet_holds_as_fractions_are_not_read_as_percent_in_silence(capsys, tmp_path):
    share = np.arange(30) + 0.5
    y = np.where(share > 15, "a", "b")
    clf = BayesianNB().fit({"share": [f"{x} %".replace(".", ",") for x in share]}, y)
    clf.save(tmp_path / "m.bayesnb")
    expected = clf.predict_proba({"share": share})
    assert (clf.predict_proba({"share": [f"{x} %".replace(".", ",") for x in share]}) == expected).all()
    with pytest.warns(
        UnreadCellWarning, match=r"'share': its numbers have no percent sign, and 0.005 is read as 0.005 %"
    ):
        clf.predict_proba({"share": share / 100})
    pd.DataFrame({"share": share / 100}).to_excel(tmp_path / "new.xlsx", index=False)
    _, _, said = run(capsys, "predict", tmp_path / "m.bayesnb", tmp_path / "new.xlsx")
    assert "multiply fractions, as a sheet holds them, by 100" in " ".join(said.split())
    clf.predict_proba({"share": ["0,5 %", None]})  # A percent sign leaves nothing open.


def test_a_month_is_proposed_only_if_each_month_occurs_in_two_years():
    rng = np.random.default_rng(0)
    for days, expected in ((300, ("elapsed",)), (1200, ("month",))):
        when = pd.Series(pd.date_range("2024-01-01", periods=600, freq=f"{days * 24 // 600}h"))
        y = pd.Series(np.where(when.dt.month.isin([1, 2, 3, 7, 9, 11]) ^ (rng.random(600) < 0.05), "a", "b"))
        found = best_parts(Column("t", when), Date(format="iso"), y)
        assert ("month" in found) == ("month" in expected)


def test_a_month_is_proposed_for_two_summers_but_not_for_one():
    rng = np.random.default_rng(1)
    day = rng.integers(0, 150, 900)
    y = pd.Series(np.where(rng.random(900) < np.where(day < 60, 0.45, 0.08), "swarms", "survives"))
    for years, expected in ((["2023", "2024"], True), (["2024"], False)):
        starts = pd.to_datetime(rng.choice([f"{year}-04-15" for year in years], 900))
        when = pd.Series(starts + pd.to_timedelta(day, "D"))
        order = rng.permutation(900)
        for rows in (np.arange(900), order):
            column = Column("t", when.iloc[rows].reset_index(drop=True))
            found = best_parts(column, Date(format="iso"), y.iloc[rows].reset_index(drop=True))
            assert ("month" in found) == expected


@pytest.mark.parametrize("kind", ["datetime64[us]", "str", "object"])
def test_a_date_that_is_missing_in_one_class_is_reported(kind: str) -> None:
    rng = np.random.default_rng(0)
    y = rng.random(300) < 0.3
    when = pd.Timestamp("2023-01-01") + pd.Series(pd.to_timedelta(rng.integers(0, 900 * 24 * 60, 300), unit="min"))
    late = when.where(y).astype(kind).where(y)
    said = {remark.column: remark for remark in nb.inspect(pd.DataFrame({"t": when, "late": late}), y).remarks}
    assert said["late"].drop
    assert "missing exactly in the rows of class False" in said["late"].said
    assert not said["t"].drop


def test_a_wrong_date_among_dates_is_named_by_fit_as_by_inspect() -> None:
    when = pd.Series(pd.date_range("2024-01-01", periods=60).astype(str))
    y = np.tile(["a", "b"], 30)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        BayesianNB().fit({"t": when}, y)
    when[7] = "2024-13-08"
    said = "dates except '2024-13-08', so all are read as levels: correct them, or replace '2024-13-08' by None"
    with pytest.warns(nb.errors.NumbersAsLevelsWarning, match="column 't': " + said):
        BayesianNB().fit({"t": when}, y)
    assert [str(remark.said) for remark in nb.inspect({"t": when}, y).remarks] == [said]
    width = pd.Series([f"{k % 40 / 10 + 12:.1f}" for k in range(60)])
    width[3] = "12,3"
    assert "numbers except '12,3', so all are read as levels: write 12.3, or" in str(nb.inspect({"w": width}, y))


# One currency, and no unit


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def prices(marked, n=60):
    """Prices with decimal commas, of which some cells (``marked``) name a currency."""
    rng = np.random.default_rng(1)
    y = rng.choice(["kept", "returned"], n)
    price = rng.lognormal(3 + (y == "kept"), 0.8).round(2)
    cells = [f"{x:.2f}".replace(".", ",") for x in price]
    mixed = [f"{cell} €" if marked(k) else cell for k, cell in enumerate(cells)]
    return pd.DataFrame({"price": cells, "outcome": y}), pd.DataFrame({"price": mixed, "outcome": y})


@pytest.mark.parametrize("feature", ["number:,", "number", "log-normal", "binned:10,30"])
def test_prices_of_which_some_name_a_currency_are_learned_like_plain_numbers(capsys, feature, folder):
    for table, name in zip(prices(lambda k: k % 7 == 3), ("plain", "mixed"), strict=True):
        table.to_csv(f"{name}.csv", sep=";", index=False)
        asked = (f"{name}.csv", "--target", "outcome", "--feature", f"price={feature}", "-o", f"{name}.bayesnb")
        code, _, err = run(capsys, "fit", *asked, "--dependence", "none")
        assert (code, "€" in err.replace("cells are in €, the others", "")) == (0, False), err
        code, _, err = run(capsys, "predict", f"{name}.bayesnb", "plain.csv", "-o", f"{name}-out.csv")
        assert (code, "€" in err) == (0, False)
    assert Path("plain-out.csv").read_text() == Path("mixed-out.csv").read_text()


def test_inspect_proposes_the_reading_of_prices_of_which_some_name_a_currency(capsys, folder):
    _, mixed = prices(lambda k: k % 7 == 3)
    mixed.to_csv("mixed.csv", sep=";", index=False)
    out = run(capsys, "inspect", "mixed.csv", "--target", "outcome")[1]
    assert "price: 9 of 60 cells are in €, the others have no unit, and all are read as levels" in out
    assert "--feature 'price=number:,'" in out
    with pytest.warns(
        nb.errors.NumbersAsLevelsWarning, match=r"some in € and some without a unit.*Number\(decimal=\",\"\)"
    ):
        BayesianNB().fit(mixed[["price"]], mixed["outcome"])
    found = nb.inspect(mixed, "outcome").features["price"]
    assert BayesianNB({"price": found}).fit(mixed[["price"]], mixed["outcome"]).describe().loc["price", "missing"] == 0


@pytest.mark.filterwarnings("default")
def test_a_model_of_plain_numbers_reads_new_cells_in_one_currency_with_a_warning(capsys, few_drawn_labels, folder):
    plain, mixed = prices(lambda k: k in (3, 4))
    plain.to_csv("plain.csv", sep=";", index=False), mixed.to_csv("mixed.csv", sep=";", index=False)
    asked = ("--target", "outcome", "--dependence", "none")
    assert run(capsys, "fit", "plain.csv", *asked, "-o", "m.bayesnb")[0] == 0
    said = []
    for name in ("plain", "mixed"):
        code, _, err = run(capsys, "predict", "m.bayesnb", f"{name}.csv", "-o", f"{name}-out.csv")
        assert code == 0, err
        said.append("2 of 60 cells are in €, such as" in err)
    assert said == [False, True]
    assert Path("plain-out.csv").read_text() == Path("mixed-out.csv").read_text()


@pytest.mark.parametrize(
    ("cells", "named", "cure"),
    [
        (["1,5", "2,5", "3,5 kg"], "3,5 kg", "write 3.5, if its unit is that of the other cells"),
        (["1,5", "2,5", "<5"], "<5", "replace '<5' by None"),
        (["1,5", "ca. 5", "2,5 €"], "ca. 5", "replace 'ca. 5' by None"),
        (["1,5", "2,5 €", "4,5 €", "3 $"], "3 $", "convert all numbers to one unit"),
        (["0,2", "50 %"], "50 %", "write 0.5 or 50, whichever is meant"),
        (["50 %", "20 %"], "50 %", "write 0.5 or 50, whichever is meant"),
        (["1,5", "2,5"], "1,5", "write 1.5"),
    ],
)
@pytest.mark.parametrize("when", ["fit", "predict", "number"])
def test_the_cell_is_named_that_keeps_a_column_from_being_numbers(cells, named, cure, when):
    if when == "number":
        if len({cell[-1] for cell in cells} & {*"%$€"}) == 0 or cells == ["50 %", "20 %"]:
            pytest.skip("read as numbers")
        with pytest.raises(RefusedError) as refused:
            BayesianNB({"x": Number()}).fit({"x": cells * 4}, ["a", "b"] * (2 * len(cells)))
        cure = cure.replace(".", ",") if "write" in cure else cure  # The other cells have decimal commas.
    elif when == "fit":
        if cells in (["50 %", "20 %"], ["1,5", "2,5"]):
            pytest.skip("read as numbers")
        with pytest.raises(RefusedError) as refused:
            BayesianNB({"x": nb.Gaussian()}).fit({"x": cells * 4}, ["a", "b"] * (2 * len(cells)))
    else:
        clf = BayesianNB().fit({"x": [1.5, 2.5, 3.5, 4.5]}, ["a", "a", "b", "b"])
        with pytest.raises(RefusedError) as refused:
            clf.predict({"x": cells})
    assert refused.value.value == named
    assert cure in str(refused.value)


COMMA, POINT = (f"fit the model with features={{'x': nb.Number(decimal=\"{mark}\")}}" for mark in ",.")
READ = "read the file with "


@pytest.mark.parametrize(
    ("cells", "advice"),
    [
        (["7,1", "8,5"], f"write 7.1, {READ}decimal=',', or {COMMA}"),
        (["7,1", "-", "8,5"], f"write 7.1, {READ}decimal=',' and na_values=['-'], or {COMMA}"),
        (["1.234,50", "17,2"], f"write 1234.5, {READ}decimal=',' and thousands='.', or {COMMA}"),
        (["1,234.50", "17.2"], f"write 1234.5, {READ}thousands=',', or {POINT}"),
        (["1’234.50", "17.2"], f"write 1234.5, or {POINT}"),
        (["1\u00a0234,50", "27,2"], f"write 1234.5, or {COMMA}"),
        (["1\u00a0234,50", "2 017,2"], f"write 1234.5, or {COMMA}"),
        (["−17,2", "−18,5"], f"write -17.2, or {COMMA}"),
        (["7,1", "k.A."], f"if it means missing, {READ}decimal=',' and na_values=['k.A.']"),
        (["7.1", "k.A."], "if it means missing, write X['x'] = pd.to_numeric(X['x'], errors='coerce')"),
        (["7.1", "8.5"], f"write X['x'] = pd.to_numeric(X['x']), or {POINT}"),
        (["7,1 m", "8,5 m"], f"write 7.1, if its unit is that of the other cells, or {COMMA}"),
        (["1,234", "2,345"], f"{POINT} or features={{'x': nb.Number(decimal=\",\")}}"),
        (["7,1", "6.5"], "write 7.1"),
        (["cod", "6.5"], "or fit the model with features={'x': nb.Categorical()}"),
    ],
)
@pytest.mark.parametrize("when", ["predict", "merge"])
def test_levels_are_proposed_only_for_texts_that_are_no_numbers(cells, advice, when):
    if when == "merge" and ("-" in cells or cells[0][-1] == "m"):
        pytest.skip("fitted as numbers")
    if when == "predict" and cells == ["7.1", "8.5"]:
        pytest.skip("read as numbers")
    if when == "predict":
        clf = BayesianNB().fit({"x": [1.5, 2.5, 3.5, 4.5]}, ["a", "a", "b", "b"])
        with pytest.raises(RefusedError) as refused:
            clf.predict({"x": cells})
        assert READ not in refused.value.args[0].written("command")
    else:
        one = BayesianNB({"x": "gaussian"}).fit({"x": [1.5, 2.5]}, ["a", "b"])
        other = BayesianNB().fit({"x": cells}, ["a", "b", "a"][: len(cells)])
        with pytest.raises(RefusedError) as refused:
            one.merge(other)
    assert str(refused.value).endswith(f": {advice}") or "cod" in cells
    assert ("Categorical" in str(refused.value)) == ("cod" in cells)


@pytest.mark.parametrize("mark", [".", ","])
@pytest.mark.parametrize(
    ("unit", "said"),
    [
        (" m", "write {}, if its unit"),
        (" %", "or {}, whichever"),
    ],
)
@pytest.mark.parametrize("option", [(), ("--feature", "d=number:,")])
def test_a_proposed_spelling_has_the_decimal_mark_of_the_other_cells(capsys, folder, mark, unit, said, option):
    if option and (mark == "." or unit == " m"):
        pytest.skip("names the comma, and reads one unit")
    rows = [f"{10 + k % 7},{k % 4};{'ab'[k % 2]}".replace(",", mark) for k in range(40)]
    Path("t.csv").write_text("\n".join(["d;y", *rows]))
    assert run(capsys, "fit", "t.csv", "--target", "y", "--dependence", "none", "-o", "m.bayesnb")[0] == 0

    def answer(cell):
        cells = "\n".join(["d;y", *rows, f"{cell.replace('.', mark)};a"])
        Path("new.csv").write_text(cells)
        if option:
            return run(capsys, "inspect", "new.csv", "--target", "y", *option)
        return run(capsys, "predict", "m.bayesnb", "new.csv")

    code, _, err = answer(f"12.5{unit}")
    number = f"12{mark}5"
    assert code
    assert said.format(number) in " ".join(err.split())
    assert answer(number)[0] == 0


@pytest.mark.parametrize("cell", ["50%", "50 %"])
def test_a_percent_sign_is_refused_where_none_was_learned(capsys, cell, folder):
    rng = np.random.default_rng(0)
    pd.DataFrame({"share": rng.random(40).round(2), "y": ["a", "b"] * 20}).to_csv("t.csv", index=False)
    pd.DataFrame({"share": [cell, "0.2"]}).to_csv("new.csv", index=False)
    assert run(capsys, "fit", "t.csv", "--target", "y", "--dependence", "none", "-o", "m.bayesnb")[0] == 0
    for asked in (("predict", "m.bayesnb", "new.csv"), ("explain", "m.bayesnb", "--set", f"share={cell}")):
        code, _, err = run(capsys, *asked)
        assert code
        assert "write 0.5 or 50, whichever is meant" in err


AROUND = ["{}/=", "{}/-", "{}/- ", "TSh {}", "TSh{}", "UGX {}", "Shs. {}/=", "{} crowns", "{}*"]


@pytest.mark.parametrize(
    ("every", "mark"),
    [(1, "."), (2, ","), *(pytest.param(*each, marks=pytest.mark.slow) for each in ((1, ","), (2, ".")))],
)
def test_numbers_with_the_same_text_around_them_are_asked_about_and_read_as_the_numbers(capsys, folder, mark, every):
    rng = np.random.default_rng(0)
    plain, y = {f"pay{k}": rng.integers(3, 60, 200) * 50 for k in range(len(AROUND))}, ["a", "b"] * 100
    texts = {name: [f"{k:,}".replace(",", mark) for k in numbers] for name, numbers in plain.items()}
    cells = {
        name: [around.format(text) if i % every == 0 else text for i, text in enumerate(texts[name])]
        for name, around in zip(plain, AROUND, strict=True)
    }
    pd.DataFrame({**cells, "y": y}).to_csv("t.csv", sep=";", index=False)
    pd.DataFrame({**plain, "y": y}).to_csv("plain.csv", sep=";", index=False)
    options = [f"{name}=number:{'.' if mark == ',' else ','}" for name in plain]
    code, out, err = run(capsys, "inspect", "t.csv", "--target", "y")
    assert code == 0, err
    assert [option for option in options if option not in out] == []
    assert "choices" not in out
    fit = ("--target", "y", "--dependence", "none", "-o")
    said = run(capsys, "fit", "t.csv", *fit, "levels.bayesnb")[2]
    assert [option for option in options if option not in said] == []
    features = [word for option in options for word in ("--feature", option)]
    assert run(capsys, "fit", "t.csv", *fit, "m.bayesnb", *features)[0] == 0
    assert run(capsys, "fit", "plain.csv", *fit, "plain.bayesnb")[0] == 0
    said = run(capsys, "predict", "m.bayesnb", "t.csv")
    assert said[:2] == run(capsys, "predict", "plain.bayesnb", "plain.csv")[:2]
    assert "missing" not in said[2]


def test_a_unit_in_some_cells_alone_is_asked_about_as_a_currency_is(capsys, folder):
    rng = np.random.default_rng(0)
    texts = [f"{x:.1f}{' m' * (k % 4 == 0)}".replace(".", ",") for k, x in enumerate(rng.uniform(10, 90, 200))]
    pd.DataFrame({"depth": texts, "y": ["a", "b"] * 100}).to_csv("t.csv", sep=";", index=False)
    out = run(capsys, "inspect", "t.csv", "--target", "y")[1]
    assert "50 of 200 cells are in m, the others have no unit" in " ".join(out.split())
    assert "bayesnb fit t.csv --target y --feature depth=number:," in " ".join(out.split())


AMOUNTS = [
    ("UGX {}", "", ""), ("{}/=", "-", ""), ("UGX {}", "unknown", ""), ("Room {}", "none", ""),
    ("Room {}", "unknown", ""), ("Room {}", "lobby", ""), ("{} m", "{}", "--feature pay=number:."),
    ("{}*", "{}", "--feature pay=number:."), ("KES {}", "{}", "--feature pay="),
    ("KES {}", "unknown", "--na pay=unknown --feature pay="),
]  # fmt: skip
"""Text around numbers, every twentieth cell, and how the options for this column begin in the command of inspect."""


@pytest.mark.parametrize("zeros", [0.0, 0.3])
def test_the_command_of_inspect_can_be_run_and_answers_no_question_about_amounts(capsys, folder, zeros):
    rng, table, advised = np.random.default_rng(0), {}, {}
    for column, (around, other, options) in enumerate(AMOUNTS):
        numbers = (rng.lognormal(3, 1, 300) * (rng.random(300) >= zeros)).astype(int)
        name = f"pay{column}"
        table[name] = [(other if other and k % 20 == 0 else around).format(x) for k, x in enumerate(numbers)]
        advised[name] = options.replace("pay", name).split()[1::2]
    pd.DataFrame({**table, "z": rng.normal(size=300), "y": ["a", "b"] * 150}).to_csv("t.csv", index=False)
    code, out, err = run(capsys, "inspect", "t.csv", "--target", "y")
    assert code == 0, err
    asked, command = out.rsplit("bayesnb fit ", 1)
    words = shlex.split(command)
    assert words[:3] == ["t.csv", "--target", "y"]
    for name, (around, *_) in zip(advised, AMOUNTS, strict=True):
        given = [word for word in words[4:-2:2] if word.startswith(f"{name}=")]
        assert [word[: len(start)] for word, start in zip(given, advised[name], strict=True)] == advised[name]
        mark, said = around.split()[0].strip("{}"), re.findall(rf"^{name}: .*", asked, re.MULTILINE)
        assert given or any(mark in line for line in said)
    code, _, err = run(capsys, "fit", *words, "--dependence", "none")
    assert code == 0, err


@pytest.mark.filterwarnings("ignore:column 'pay'. its .* levels are numbers with")
@pytest.mark.parametrize(("around", "alike"), [("UGX {}", True), ("{}/=", True), ("{} m", True), ("ca. {}", False)])
def test_a_family_of_numbers_reads_numbers_if_all_have_the_same_text_around_them(around, alike):
    rng = np.random.default_rng(0)
    numbers, y = rng.integers(3, 60, 200) * 50, ["a", "b"] * 100
    cells = [around.format(k) if alike or i == 7 else str(k) for i, k in enumerate(numbers)]
    clf = BayesianNB({"pay": nb.families.LogNormal()})
    if not alike:
        with pytest.raises(RefusedError, match="where numbers are needed"):
            clf.fit({"pay": cells}, y)
        return
    plain = BayesianNB({"pay": nb.families.LogNormal()}).fit({"pay": numbers}, y).predict_proba({"pay": numbers})
    np.testing.assert_allclose(clf.fit({"pay": cells}, y).predict_proba({"pay": cells}), plain)
    for by_type in (None, nb.ByType(), "best"):  # These say nothing about the column, and names stay levels.
        family = BayesianNB(by_type).fit({"pay": cells, "z": numbers}, y).describe().loc["pay", "family"]
        assert (family == "Categorical") == (around != "{} m")


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ([f"{k},500/=" for k in range(1, 60)] + ["free"], "numbers in /= except 'free'"),
        ([f"{k},500/=" for k in range(1, 60)] + ["TZS 1,200", "TZS 4,300"], "59 with /=, 2 with TZS"),
        (
            [f"{k},500/=" for k in range(1, 60)] + [f"TSh {k},200" for k in range(1, 9)] + ["nil"],
            "59 with /=, 8 with TSh) except 'nil'",
        ),
        ([f"{k} m" if k % 9 else f"{k}" for k in range(1, 60)] + ["nil"], "numbers in m except 'nil'"),
        (
            [f"{k} kg" for k in range(1, 60)] + [f"{k} lb" for k in range(1, 9)] + ["no", "nil"],
            "8 with lb) except 'nil', 'no'",
        ),
        ([f"Room {k}" for k in range(1, 60)] + [f"Hall {k}" for k in range(1, 9)] + ["lobby"], ""),
        ([f"A{k}" for k in range(1, 60)], ""),
        ([f"Room {k}" for k in range(1, 6)] * 10, ""),
        ([f"version 1.{k}" for k in range(1, 6)] * 10, ""),
        ([f"Ticket {k}" for k in range(1, 60)], "identifier"),
        ([f"{k} Main Street" if k % 2 else f"{k} Lake Road" for k in range(1, 60)], ""),
    ],
)
def test_codes_are_no_amounts_and_cells_that_differ_are_named(texts, said):
    found = (
        str(nb.inspect({"x": texts * 4}, [*"ab"] * (2 * len(texts))))
        if said != "identifier"
        else (str(nb.inspect({"x": texts}, ([*"ab"] * len(texts))[: len(texts)])))
    )
    assert said in found
    assert ("Number(" in found) == ("numbers in m" in said)  # Other texts around numbers may belong to names.


# What an error proposes


@pytest.mark.parametrize("container", ["frame", "text", "CSV", "Parquet"])
@pytest.mark.parametrize(
    ("features", "proposed"),
    [
        ({"month of d": "missing"}, Date("elapsed", "month")),
        ({"d": Date("month"), "weekday of d": "categorical", "hour of d": "missing"}, Date("month", "weekday", "hour")),
        ({"mont of d": nb.Categorical()}, Date("elapsed", "month")),
        ({"quarter of d": nb.Categorical()}, None),
        ({"month of e": nb.Categorical()}, None),
    ],
)
def test_a_part_of_a_date_that_is_not_read_is_proposed(container, features, proposed, tmp_path):
    days = pd.Series(pd.date_range("2024-01-01", periods=60, freq="5D"))
    frame = pd.DataFrame({"d": days, "n": np.arange(60.0), "y": ["a", "b", "b"] * 20})
    given = frame.assign(d=days.dt.strftime("%d.%m.%Y")) if container == "text" else frame
    if container in ("CSV", "Parquet"):
        given = tmp_path / f"t.{container.lower()}"
        (frame.to_csv if container == "CSV" else frame.to_parquet)(given, index=False)
    with pytest.raises(ValueError, match=r"^features names column") as refused:
        BayesianNB(features).fit(given, "y")
    if proposed is None:
        assert "nb.Date" not in str(refused.value)
        return
    cure = refused.value.cure
    stated = eval(cure.value.python, {"nb": nb})
    assert stated.parts == proposed.parts
    assert f"features={{'d': {cure.value.python}}}" in str(refused.value)
    meant = {"month of d" if name == "mont of d" else name: spec for name, spec in features.items()}
    BayesianNB(meant | {"d": stated}).fit(given, "y")


@pytest.mark.parametrize(
    ("column", "name", "spec", "given"),
    [
        ("d", "month of d", nb.Categorical(), {}),
        ("d", "month of d", nb.Categorical(), {"d": Date("elapsed", "month")}),
        ("d", "elapsed of d", nb.families.MultivariateGaussian(), {}),
        ("k", "k", nb.families.MultivariateGaussian(), {}),
        ("k", "k", nb.families.MultivariateGaussian(), {"k": nb.Number()}),
    ],
)
def test_a_joint_feature_that_reads_text_in_parts_names_the_column_and_what_to_write(
    column, name, spec, given, tmp_path
):
    days = pd.Series(pd.date_range("2024-01-01", periods=60, freq="5D")).dt.strftime("%d.%m.%Y")
    k = [f"{k * 7 % 10},5" for k in range(60)]
    frame = pd.DataFrame({"d": days, "k": k, "n": np.arange(60.0), "y": ["a", "b", "b"] * 20})
    frame["n"] = frame["n"] if spec.support.kind != "levels" else ["u", "v"] * 30
    frame.to_parquet(tmp_path / "t.parquet")
    features = given | {"joint": (spec, [name, "n"])}
    with pytest.raises(
        RefusedError, match=rf"^features\['joint'\] reads '{name}' .* column '{column}' is text"
    ) as refused:
        BayesianNB(features).fit(tmp_path / "t.parquet", "y")
    stated = {column: eval(refused.value.cure[0].value.python, {"nb": nb})}
    own = BayesianNB(features | stated).fit(tmp_path / "t.parquet", "y").tables()
    pd.testing.assert_frame_equal(own["joint"], BayesianNB(features | stated).fit(frame, "y").tables()["joint"])


# The row that an error names


@pytest.mark.parametrize("cell", ["unknown", "ca. 30", "-5"])
@pytest.mark.parametrize("command", ["fit", "compare", "predict"])
def test_errors_name_the_row_of_the_file_even_if_other_rows_have_no_class(capsys, cell, command, folder):
    rng = np.random.default_rng(3)
    price = [f"{x:.2f}" for x in rng.lognormal(3, 1, 50)]
    table = pd.DataFrame({"price": price, "other": rng.random(50), "y": rng.choice(["a", "b"], 50)})
    asked = ("--target", "y", "--feature", "price=log-normal", "--dependence", "none")
    table.to_csv("t.csv", index=False)
    assert run(capsys, "fit", "t.csv", *asked, "-o", "m.bayesnb")[0] == 0
    table.loc[41, "price"], table.loc[3, "y"] = cell, None
    table.to_csv("new.csv", index=False)
    table.to_csv("bad.csv", index=False)
    arguments = {
        "fit": ("bad.csv", *asked, "-o", "bad.bayesnb"),
        "compare": ("bad.csv", *asked),
        "predict": ("m.bayesnb", "new.csv"),
    }
    code, _, err = run(capsys, command, *arguments[command])
    assert code == 1
    assert "in row 41" in err


def test_errors_about_a_stream_name_no_row_of_a_list_of_levels(folder):
    rng = np.random.default_rng(3)
    price = [f"{x:.2f}" for x in rng.lognormal(3, 1, 50)]
    table = pd.DataFrame({"price": [*price[:41], "ca. 30", *price[42:]], "y": ["a", "b"] * 25})
    table.to_csv("t.csv", index=False)
    clf = BayesianNB({"price": nb.Gaussian()})
    with pytest.raises(RefusedError, match=r"'ca\. 30'") as refused:
        clf.fit(iter([table[:20], table[20:]]), "y")
    assert refused.value.row is None
    assert "row" not in str(refused.value)
    with pytest.raises(RefusedError, match="in row 41") as refused:
        clf.fit("t.csv", "y")
    assert refused.value.row == 41


# Spellings

CATEGORIES = {
    "T-Shirt": 60, "T-shirt": 3, "Tshirt": 2, "Trousers": 60, "Trouser": 5, "Dress": 60, "Dres": 3, "Books": 60,
    "Book": 3, "Electronics": 60, "Elektronics": 2, "Iran": 60, "Iraq": 2, "Mars": 60, "Mark": 2,
}  # fmt: skip
PAIRS = {"T-shirt": "T-Shirt", "Tshirt": "T-Shirt", "Trouser": "Trousers", "Dres": "Dress", "Book": "Books",
         "Elektronics": "Electronics"}  # fmt: skip


def test_inspect_joins_typing_errors_and_singulars_and_names_the_level_as_most_rows_do():
    cells = [level for level, n in CATEGORIES.items() for _ in range(n)]
    y = np.random.default_rng(0).choice(["a", "b"], len(cells))
    reading = nb.inspect({"category": cells}, y).features["category"]
    assert dict(reading.pairs) == PAIRS
    levels = BayesianNB({"category": reading}).fit({"category": cells}, y).tables()["category"].columns.tolist()
    assert levels == ["Books", "Dress", "Electronics", "Iran", "Iraq", "Mark", "Mars", "T-Shirt", "Trousers"]


@pytest.mark.parametrize(
    ("option", "silent"),
    [
        ("joined", False),
        ("joined:Tshirt>T-Shirt", False),
        ("joined:" + ",".join(f"{a}>{b}" for a, b in PAIRS.items()), True),
        ("categorical", True),
    ],
)
def test_inspect_still_names_typing_errors_that_a_stated_joined_does_not_join(capsys, folder, option, silent):
    cells = [level for level, n in CATEGORIES.items() for _ in range(n)]
    y = np.random.default_rng(0).choice(["a", "b"], len(cells))
    pd.DataFrame({"category": cells, "y": y}).to_csv("t.csv", index=False)
    out = run(capsys, "inspect", "t.csv", "--target", "y", "--feature", f"category={option}")[1]
    assert ("several spellings" in out) == (not silent)


def test_inspect_says_how_gaps_among_choices_are_read_as_no_option(capsys, folder):
    cells = ["Email; Chat", "Email", "Phone; Chat; Email", "Phone", "Phone; Chat", "Chat", None, None] * 6
    table = pd.DataFrame({"contact": cells, "y": ["new", "old"] * 24})
    table.to_csv("t.csv", index=False)
    out = " ".join(run(capsys, "inspect", "t.csv", "--target", "y")[1].split())
    assert "25 % are missing: if a gap means that no option was chosen, --keep-na contact=" in out
    out = run(capsys, "inspect", "t.csv", "--target", "y", "--keep-na", "contact=")[1]
    assert "gap" not in out
    assert """X['contact'].fillna("")""" in str(nb.inspect(table, "y"))
    found = nb.inspect(table.assign(contact=table["contact"].fillna("")), "y")
    assert "gap" not in str(found)
    assert "gap" not in str(nb.inspect(table.dropna(), "y"))


@pytest.mark.parametrize("marker", [None, "-"])
def test_a_family_of_numbers_reads_decimal_commas(marker):
    rng = np.random.default_rng(0)
    x, y = np.exp(rng.normal(0.7, 0.5, 90)).round(2), rng.choice(["yes", "no"], 90)
    texts = pd.Series([f"{v:.2f}".replace(".", ",") for v in x])
    if marker:
        texts[0], x[0] = marker, np.nan
    as_text = nb.BayesianNB({"vib": nb.families.LogNormal()}).fit(pd.DataFrame({"vib": texts}), y)
    numbers = nb.BayesianNB({"vib": nb.families.LogNormal()}).fit(pd.DataFrame({"vib": x}), y)
    # New rows may hold one number alone, or numbers that are no text.
    for new in (texts[3:4], pd.Series(x[3:4])):
        found = as_text.predict_proba(pd.DataFrame({"vib": new}))
        assert_allclose(found, numbers.predict_proba(pd.DataFrame({"vib": x[3:4]})))


def test_a_family_of_numbers_does_not_guess_the_decimal_mark():
    X, y = {"fee": ["1,234", "2,345", "3,456", "7,890"] * 5}, ["a", "b"] * 10
    with pytest.raises(RefusedError, match="holds text"):
        nb.BayesianNB({"fee": nb.families.LogNormal()}).fit(X, y)


@pytest.mark.parametrize("commas", [2, 150])
def test_numbers_with_both_decimal_marks_are_not_advised_to_be_read_as_missing(commas):
    y = np.arange(300) % 2
    cells = np.round(np.random.default_rng(0).normal(12.0 + y, 2.0), 1)
    X = pd.DataFrame({"sugar": [f"{x}".replace(".", ",") if i < commas else f"{x}" for i, x in enumerate(cells)]})
    with pytest.warns(nb.errors.NumbersAsLevelsWarning) as said:
        nb.BayesianNB().fit(X, y)
    advice = "X['sugar'] = X['sugar'].replace(',', '.', regex=True)"
    for text in (str(nb.inspect(X, y)), str(said[0].message)):
        assert advice in text
        assert "missing" not in text
    assert_allclose(X["sugar"].replace(",", ".", regex=True).astype(float), cells)


def test_a_new_number_in_another_unit_is_to_be_converted_not_stripped_of_its_unit():
    X = {"rain": [f"{k} mm" for k in np.random.default_rng(0).integers(40, 90, 60)]}
    clf = nb.BayesianNB().fit(X, np.arange(60) % 2)
    with pytest.warns(nb.errors.UnreadCellWarning, match=r"such as '7.2 cm', .* write the number of mm$"):
        clf.predict_proba({"rain": ["7.2 cm", "50 mm"]})


def test_two_exchanged_letters_are_a_misspelling_even_if_frequent_and_codes_and_names_are_none():
    counts = {"Braeburn": 169, "Breaburn": 45, "Gala": 300, "Golden Delicious": 90, "Golden Delcious": 8}
    assert slips_in({"quick fix": 40, "quick fxi": 1}) == {"quick fxi": "quick fix"}
    assert slips_in(counts) == {"Breaburn": "Braeburn", "Golden Delcious": "Golden Delicious"}
    rare = {
        "A1": "A2", "Q1": "Q2", "100": "1000", "ward a": "ward w", "Park II": "Park IV", "Christian": "Christina",
        "Gabriel": "Gabriela", "other": "mother", "e. north": "w. north", "STK-31": "STK-13", "Basel": "Basle",
    }  # fmt: skip
    for frequent, other in rare.items():
        assert not slips_in({frequent: 300, other: 30, "further": 100})
    assert not slips_in(dict.fromkeys(rare, 300) | dict.fromkeys(list(rare.values())[:5], 1))
    X, y = pd.DataFrame({"sort": np.repeat([*counts, " Gala"], [*counts.values(), 5])}), None
    assert "(levels that differ only by capitals and spaces are joined, too)" in str(nb.inspect(X, y))


@pytest.mark.parametrize(
    "read",
    [
        "a=joined:low<high", "a=joined", "a=missing:joined:low<high", "a=missing:joined", "n=number",
        "n=missing:number", "n=missing:gaussian", "d=missing", "d=missing:date:month", "c=missing:choices",
        "k=missing:bounded",
    ],
)  # fmt: skip
def test_a_reading_makes_the_same_features_beside_a_family_that_takes_its_levels_from_the_rows(tmp_path, capsys, read):
    cells = {
        "a": ["low", "Low", "high", "high", ""], "n": ["1 kg", "2 kg", "3 kg", "4 kg", ""],
        "d": ["2024-01-05", "2024-02-05", "2024-03-11", "2024-04-05", ""], "c": ["x;y", "x", "y", "x;y", ""],
        "k": ["<5", "7", "8", "9", ""], "b": [0, 1, 2, 1, 1], "y": list("uvvuu"),
    }  # fmt: skip
    column = read.partition("=")[0]
    table, model = tmp_path / "t.csv", tmp_path / "m.bayesnb"
    pd.DataFrame({name: cells[name] * 6 for name in (column, "b", "y")}).to_csv(table, index=False)
    found = []
    for beside in ("b=poisson", "b=ordinal"):
        asked = ("--feature", read, "--feature", beside, "--dependence", "none", "-o", model)
        code, _, err = run(capsys, "fit", table, "--target", "y", *asked)
        assert code == 0, err
        features = load(model).classifier_.schema.features
        found.append([(name, type(f.family), f.levels, f.named) for name, f in features.items() if name != "b"])
    assert found[0] == found[1]
    assert len(found[0]) > ("missing" in read)
