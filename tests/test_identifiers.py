"""Columns of text that look like identifiers are named by ``fit``."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

import bayesnb as nb
from bayesnb import BayesianNB, Categorical, datasets
from bayesnb.errors import IdentifierWarning, NumbersAsLevelsWarning, TargetColumnWarning

X, Y = datasets.play_tennis()
DAYS = [f"D{k}" for k in range(14)]


def test_fit_names_a_column_of_text_with_a_level_of_its_own_in_nearly_every_row():
    with pytest.warns(
        IdentifierWarning, match="column 'day' looks like an identifier or free text, 14 levels in 14 rows"
    ):
        clf = BayesianNB().fit(X.assign(day=DAYS), Y)
    with pytest.warns(UserWarning, match="a level never seen"):
        found = clf.predict_proba(X.assign(day="D99"))
    np.testing.assert_allclose(found, BayesianNB().fit(X, Y).predict_proba(X), rtol=1e-12)


def test_a_table_that_is_read_in_parts_is_judged_as_a_whole():
    parts = [X.assign(day=DAYS, play=Y)[k : k + 7] for k in (0, 7)]
    with pytest.warns(IdentifierWarning, match="14 levels in 14 rows"):
        BayesianNB().fit(iter(parts), "play")


@pytest.mark.parametrize("odd", [7, 2.5, True, np.inf], ids=str)
def test_one_number_or_truth_among_many_levels_is_a_level_that_is_learned(odd):
    with pytest.warns(IdentifierWarning, match="14 levels in 14 rows"):
        clf = BayesianNB().fit(X.assign(day=[*DAYS[:13], odd]), Y)
    assert odd in clf.tables()["day"]


@pytest.mark.parametrize(
    ("X", "features"),
    [
        (X.assign(day=DAYS), {"day": Categorical()}),
        (X.assign(day=DAYS[:7] * 2), None),
        (X.assign(day=pd.Categorical(["D1", "D2"] * 7, categories=DAYS)), None),
        (X.assign(day=DAYS)[:10], None),
    ],
    ids=["specified", "every level twice", "declared levels", "too few rows to tell"],
)
def test_other_columns_are_not_named(X, features):
    # Warnings are errors here.
    BayesianNB(features).fit(X, Y[: len(X)])


def remarks(X, y, **settings):
    """The categories of the warnings of a fit, in their order."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        BayesianNB(**settings).fit(X, y)
    return [warning.category.__name__ for warning in said]


def test_whole_numbers_under_the_name_of_an_identifier_are_warned_of():
    X, y = nb.datasets.penguins()
    ids = X.assign(id=np.arange(344), sampleId=np.arange(344.0), name=[f"b{k}" for k in range(344)])
    assert remarks(ids, y) == ["IdentifierWarning"] * 3
    named = {"id": "gaussian", "sampleId": "gaussian", "name": "categorical"}
    assert remarks(ids, y, features=named) == []
    assert remarks(X.assign(id=np.arange(344) // 2, age=np.arange(344)), y) == []


@pytest.mark.parametrize("container", [np.asarray, pd.Series, lambda y: pd.Series(y, dtype="Int64")])
def test_a_number_in_the_place_of_the_class_is_warned_of(container):
    X, _ = nb.datasets.penguins()
    mass = X["body_mass_g"].fillna(4000).astype(int)
    for y in (mass, mass.astype(float), mass.astype(str)):
        assert remarks(X[["island"]], container(y) if y.dtype.kind in "if" else y) == ["ManyClassesWarning"]
    assert remarks(X[["island"]], mass // 250) == []


def test_rows_without_a_label_are_said_once_unless_a_setting_expects_them():
    X, y = nb.datasets.penguins()
    some = y.where(y.index > 40)
    assert remarks(X, some) == ["UnlabelledRowsWarning"]
    with pytest.warns(nb.errors.UnlabelledRowsWarning, match="y is missing in 41 of 344 rows"):
        BayesianNB().fit(X, some)
    assert remarks(X, some, unlabelled=nb.Unlabelled()) == remarks(X, y) == []


@pytest.mark.parametrize("output", ["default", "pandas"])
def test_a_table_of_ordinal_codes_is_warned_of(output):
    from sklearn.preprocessing import OrdinalEncoder

    X, y = nb.datasets.penguins()
    whole = X.notna().all(axis=1)
    codes = OrdinalEncoder().set_output(transform=output).fit_transform(X[whole])
    with pytest.warns(nb.errors.EncodedColumnsWarning, match="as if an ordinal encoder had made them"):
        BayesianNB().fit(codes, y[whole])
    assert remarks(codes + 0.5, y[whole]) == remarks(codes + 1, y[whole]) == []


def test_a_fit_points_to_inspect_where_a_few_texts_turn_numbers_into_levels():
    rng = np.random.default_rng(0)
    numbers = [f"{v:.1f}" for v in rng.gamma(2, 1, 200).round(1)]
    y = rng.choice(["a", "b"], 200)
    spoiled = ["late" if k % 9 == 0 else v for k, v in enumerate(numbers)]
    for k, X in enumerate(({"x": spoiled}, pd.DataFrame({"x": spoiled[::-1]}))):
        with pytest.warns(NumbersAsLevelsWarning, match="column 'x': most of its .* levels are numbers"):
            BayesianNB().fit(X, y)
        assert "late" in str(nb.inspect(X, y)), k
    codes = [f"{v}" for v in rng.integers(100, 130, 200)]
    for silent in (
        numbers, ["late", *codes[1:]], [f"E{v}" for v in numbers], [v[:1] + ".5" for v in spoiled],
        ["1.2.3", *(f"{v}.0.1" for v in codes[1:])], ["<0.1" if v < "1" else v for v in numbers],
    ):  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            BayesianNB().fit({"x": silent}, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        BayesianNB({"x": "categorical"}).fit({"x": spoiled}, y)


def test_the_unit_of_numbers_is_described():
    X = {"paid": [f"{k}.50 €" for k in range(12)], "crp": ["<5 mg/L", *(f"{k} mg/L" for k in range(11))]}
    chosen = BayesianNB().fit(X, ["a", "b"] * 6).describe()["chosen"]
    assert chosen.to_dict() == {
        "paid": "numbers, in €",
        "kind of crp": "text",
        "number of crp": "numbers, in mg/L, 8 % bounds or texts",
    }


@pytest.mark.parametrize("labels", [[0, 1, 2], [True, False], ["p", "q"], [1.0, 2.0]], ids=str)
@pytest.mark.parametrize("container", ["frame", "array", "polars", "nullable"])
def test_fit_names_a_column_that_equals_y(labels, container):
    rng = np.random.default_rng(0)
    y = np.array(labels)[rng.integers(len(labels), size=60)]
    frame = pd.DataFrame({"x": rng.normal(size=60), "gaps": np.where(rng.random(60) < 0.3, np.nan, 1.5), "z": y})
    made = {"array": pd.DataFrame.to_numpy, "polars": pl.from_pandas, "nullable": pd.DataFrame.convert_dtypes}
    table, other = (made.get(container, lambda table: table)(each) for each in (frame, frame.assign(z=y[::-1])))
    with pytest.warns(TargetColumnWarning, match="column ('z'|'x2') equals y in all rows: leave it out"):
        BayesianNB({"z": "categorical"} if container != "array" else None).fit(table, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", TargetColumnWarning)
        BayesianNB().fit(other, y)
        BayesianNB().fit(table[:19], y[:19])  # so few rows may be equal by chance
        BayesianNB().fit(table, np.where(y == labels[0], "a", "b"))


def test_numbers_in_several_units_are_not_called_markers_of_missing_values():
    rng = np.random.default_rng(0)
    sizes = [
        f"{size / 1000:.1f} GB" if size > 1000 else f"{size:.0f} MB" for size in rng.uniform(100, 5000, 200).round(-1)
    ]
    with pytest.warns(
        NumbersAsLevelsWarning, match=r"numbers in several units \(GB, MB\), read as levels: convert them to"
    ):
        BayesianNB().fit(pd.DataFrame({"volume": sizes}), rng.choice(["a", "b"], 200))
