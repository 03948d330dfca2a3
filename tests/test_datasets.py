"""The embedded data sets are the published tables, and the loaders return them."""

from __future__ import annotations

import doctest
from importlib.resources import files

import pytest

from bayesnb import datasets

MEASURED = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]


@pytest.mark.parametrize(
    ("name", "shape", "target", "classes"),
    [
        ("play-tennis", (14, 4), "play", {"yes": 9, "no": 5}),
        ("buys-computer", (14, 4), "buys_computer", {"yes": 9, "no": 5}),
        ("posts", (6, 1), "abusive", {"yes": 3, "no": 3}),
        ("heights", (40, 2), "gender", {"female": 20, "male": 20}),
        ("penguins", (344, 7), "species", {"Adelie": 152, "Chinstrap": 68, "Gentoo": 124}),
    ],
)
def test_each_data_set_has_its_documented_shape_and_classes(name, shape, target, classes):
    X, y = datasets.load(name)
    assert X.shape == shape
    assert len(y) == shape[0]
    assert datasets.target(name) == y.name == target
    assert target not in X.columns
    assert y.value_counts().to_dict() == classes
    if name != "penguins":
        assert not X.isna().any(axis=None)


@pytest.mark.parametrize("name", datasets.names())
def test_every_data_set_loads_by_its_name_with_dashes_or_underscores_and_by_its_function(name):
    X, y = datasets.load(name)
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


# How many of the 9 yes and of the 5 no have each level.
@pytest.mark.parametrize(
    ("column", "level", "yes", "no"),
    [
        ("outlook", "sunny", 2, 3),
        ("outlook", "overcast", 4, 0),
        ("outlook", "rain", 3, 2),
        ("temperature", "hot", 2, 2),
        ("temperature", "mild", 4, 2),
        ("temperature", "cool", 3, 1),
        ("humidity", "high", 3, 4),
        ("humidity", "normal", 6, 1),
        ("wind", "weak", 6, 2),
        ("wind", "strong", 3, 3),
    ],
)
def test_the_counts_of_play_tennis_are_those_of_the_book(column, level, yes, no):
    X, y = datasets.play_tennis()
    at = y[X[column] == level]
    assert ((at == "yes").sum(), (at == "no").sum()) == (yes, no)


@pytest.mark.parametrize(
    ("column", "level", "yes", "no"),
    [
        ("age", "youth", 2, 3),
        ("age", "middle_aged", 4, 0),
        ("age", "senior", 3, 2),
        ("income", "low", 3, 1),
        ("income", "medium", 4, 2),
        ("income", "high", 2, 2),
        ("student", "yes", 6, 1),
        ("student", "no", 3, 4),
        ("credit_rating", "fair", 6, 2),
        ("credit_rating", "excellent", 3, 3),
    ],
)
def test_the_counts_of_buys_computer_are_those_of_the_book(column, level, yes, no):
    X, y = datasets.buys_computer()
    at = y[X[column] == level]
    assert ((at == "yes").sum(), (at == "no").sum()) == (yes, no)


def test_posts_repeat_words_within_a_post_and_between_posts():
    words = [text.split() for text in datasets.posts()[0]["text"]]
    assert any(len(set(post)) < len(post) for post in words)
    assert any(set(a) & set(b) for i, a in enumerate(words) for b in words[:i])


def test_the_heights_of_both_classes_overlap():
    X, y = datasets.heights()
    for column in X:
        assert X[column].dtype.kind == "f"
        low, high = (X.loc[y == g, column] for g in ("female", "male"))
        assert low.mean() < high.mean()
        assert low.max() > high.min()


def test_penguins_have_their_documented_missing_values():
    X, _ = datasets.penguins()
    measured = X[MEASURED].isna()
    assert measured.all(axis=1).sum() == measured.any(axis=1).sum() == 2
    assert X["sex"].isna().sum() == 11
    assert X["sex"].isna()[measured.any(axis=1)].all()
    assert not X[["island", "year"]].isna().any(axis=None)
    assert X["sex"].dropna().value_counts().to_dict() == {"male": 168, "female": 165}
    assert sorted(X["year"].unique()) == [2007, 2008, 2009]
    assert all(X[column].dtype.kind == "f" for column in MEASURED)


def test_changing_a_loaded_table_does_not_change_the_next_one():
    X, y = datasets.play_tennis()
    X.loc[0, "outlook"] = y[0] = "changed"
    X, y = datasets.play_tennis()
    assert (X.loc[0, "outlook"], y[0]) == ("sunny", "no")


def test_an_unknown_name_is_refused_with_the_known_names_and_the_closest():
    with pytest.raises(ValueError, match="no data set is named 'penguin'") as error:
        datasets.load("penguin")
    assert all(name in str(error.value) for name in datasets.names())
    assert str(error.value).endswith("Did you mean 'penguins'?")


def test_an_unknown_name_without_a_similar_one_is_refused_with_the_known_names():
    with pytest.raises(ValueError, match="no data set is named 'zzz'") as error:
        datasets.target("zzz")
    assert "Did you mean" not in str(error.value)


def test_the_examples_in_the_docstrings_run():
    result = doctest.testmod(datasets)
    assert result.attempted
    assert not result.failed
