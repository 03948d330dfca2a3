"""The embedded data sets are the published tables, and the loaders return them."""

from __future__ import annotations

from importlib.resources import files

import pytest

from bayesnb import datasets

SHAPES = {
    "play-tennis": ((14, 4), "play", {"yes": 9, "no": 5}),
    "buys-computer": ((14, 4), "buys_computer", {"yes": 9, "no": 5}),
    "posts": ((6, 1), "abusive", {"yes": 3, "no": 3}),
    "heights": ((40, 2), "gender", {"female": 20, "male": 20}),
    "penguins": ((344, 7), "species", {"Adelie": 152, "Chinstrap": 68, "Gentoo": 124}),
}
# How many of the 9 yes and of the 5 no have each level.
COUNTS = {
    "play-tennis": {
        "outlook": {"sunny": (2, 3), "overcast": (4, 0), "rain": (3, 2)},
        "temperature": {"hot": (2, 2), "mild": (4, 2), "cool": (3, 1)},
        "humidity": {"high": (3, 4), "normal": (6, 1)},
        "wind": {"weak": (6, 2), "strong": (3, 3)},
    },
    "buys-computer": {
        "age": {"youth": (2, 3), "middle_aged": (4, 0), "senior": (3, 2)},
        "income": {"low": (3, 1), "medium": (4, 2), "high": (2, 2)},
        "student": {"yes": (6, 1), "no": (3, 4)},
        "credit_rating": {"fair": (6, 2), "excellent": (3, 3)},
    },
}


@pytest.mark.parametrize("name", datasets.names())
def test_each_data_set_loads_by_every_spelling_with_its_documented_shape_and_classes(name):
    X, y = datasets.load(name)
    shape, target, classes = SHAPES[name]
    assert (X.shape, len(y), y.value_counts().to_dict()) == (shape, shape[0], classes)
    assert datasets.target(name) == y.name == target
    assert target not in X.columns
    assert X.isna().any(axis=None) == (name == "penguins")
    underscored = name.replace("-", "_")
    for again in (datasets.load(underscored), getattr(datasets, underscored)()):
        assert X.equals(again[0])
        assert y.equals(again[1])


def test_every_csv_is_named_in_the_list_and_the_readme():
    folder = files(datasets)
    csvs = sorted(f.name for f in folder.iterdir() if f.name.endswith(".csv"))
    assert csvs == sorted(f"{name.replace('-', '_')}.csv" for name in datasets.names())
    readme = (folder / "README.md").read_text(encoding="utf-8")
    for name in csvs:
        assert f"\n## `{name}`\n" in readme


@pytest.mark.parametrize("name", COUNTS)
def test_the_counts_of_both_textbook_tables_are_those_of_the_books(name):
    X, y = datasets.load(name)
    found = {c: {x: tuple((y[X[c] == x] == label).sum() for label in ("yes", "no")) for x in X[c].unique()} for c in X}
    assert found == COUNTS[name]


def test_penguins_have_their_documented_missing_values():
    X, _ = datasets.penguins()
    measured = X[["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]]
    gone = measured.isna()
    assert gone.all(axis=1).sum() == gone.any(axis=1).sum() == 2
    assert X["sex"].isna()[gone.any(axis=1)].all()
    assert not X[["island", "year"]].isna().any(axis=None)
    assert X["sex"].fillna("gone").value_counts().to_dict() == {"male": 168, "female": 165, "gone": 11}
    assert sorted(X["year"].unique()) == [2007, 2008, 2009]
    assert {dtype.kind for dtype in measured.dtypes} == {"f"}


def test_changing_a_loaded_table_does_not_change_the_next_one():
    X, y = datasets.play_tennis()
    X.loc[0, "outlook"] = y[0] = "changed"
    X, y = datasets.play_tennis()
    assert (X.loc[0, "outlook"], y[0]) == ("sunny", "no")
