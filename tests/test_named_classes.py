"""One rule for classes without rows: a class exists while rows of it are learned, or because it is named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bayesnb import BayesianNB, Dirichlet, Gaussian, NormalGamma, load

X = pd.DataFrame({"size": [0.0, 0.4, 3.0, 3.2, 9.0, 9.5], "hue": list("uvuvuv")})
NOTHING = pd.DataFrame({"size": [np.nan], "hue": [None]})

NEAR = {"m": NormalGamma(0, 1, 2, 2), "n": NormalGamma(3, 1, 2, 2), "z": NormalGamma(9, 1, 2, 2)}
LABELS = {
    "all labelled": list("mmnnmn"),
    "some labelled": ["m", "m", "n", "n", None, None],
    "one class labelled": ["m"] * 6,
    "none labelled": [None] * 6,
}
"""No row has the class z."""

NAMED: dict[str, tuple[dict[str, Any], Callable[[list[Any]], Any]]] = {
    "class prior": ({"class_prior": {"m": 0.2, "n": 0.3, "z": 0.5}}, list),
    "class prior, Dirichlet": ({"class_prior": Dirichlet({"m": 1, "n": 2, "z": 3})}, list),
    "feature prior": ({"features": {"size": Gaussian(NEAR)}}, list),
    "type of pandas": ({}, lambda y: pd.Categorical(y, categories=["z", "m", "n"])),
    "type of polars": ({}, lambda y: pl.Series(y, dtype=pl.Enum(["z", "m", "n"]))),
    "classes=": ({}, list),
}


def partial(named: str, y: list[Any], rows: Any = slice(None)) -> BayesianNB:
    """A first ``partial_fit``, in which the classes are named in this way."""
    options, typed = NAMED[named]
    classes = {"classes": ["m", "n", "z"]} if named == "classes=" else {}
    return BayesianNB(**options).partial_fit(X[rows], typed(y[rows]), **classes)


def reloaded(clf: BayesianNB, folder: Path) -> BayesianNB:
    clf.save(folder / "model.bayesnb")
    return load(folder / "model.bayesnb")


VERBS: dict[str, Callable[[str, list[Any], Path], BayesianNB]] = {
    "partial_fit": lambda named, y, _: partial(named, y),
    "partial_fit twice": lambda named, y, _: partial(named, y, slice(3)).partial_fit(X[3:], y[3:]),
    "a file": lambda named, y, folder: reloaded(partial(named, y), folder),
    "discount": lambda named, y, _: partial(named, y).discount(0.5),
    "discount to 0": lambda named, y, _: partial(named, y).discount(0.0),
    "forget of a class": lambda named, y, _: partial(named, y).forget(X, y),
    "forget from a file": lambda named, y, folder: reloaded(partial(named, y), folder).forget(X, y),
    "forget in parts": lambda named, y, _: partial(named, y).forget(iter([X.assign(y=y)]), "y"),
    "merged into": lambda named, y, _: partial(named, y).merge(
        BayesianNB(**NAMED[named][0]).fit(X, NAMED[named][1](y))
    ),
}


# Each way of naming and each verb; which rows have a label is crossed with one of each.
PAIRS = [(named, "partial_fit twice") for named in NAMED] + [("feature prior", verb) for verb in VERBS]
PAIRS += [("type of pandas", verb) for verb in VERBS] + [("classes=", "a file"), ("class prior", "merged into")]


@pytest.mark.filterwarnings("ignore:the type of y declares class")
@pytest.mark.parametrize(("named", "verb"), PAIRS)
def test_a_named_class_exists_through_every_verb(named, verb, tmp_path):
    labels = "one class labelled" if named == "feature prior" else "all labelled"
    clf = VERBS[verb](named, LABELS[labels], tmp_path)
    assert list(clf.classes_) == ["m", "n", "z"]
    assert clf.class_count_[2] == 0
    expected = partial(named, LABELS[labels]).posterior_.label_prior.plus(clf.class_count_).mean()
    assert_allclose(clf.predict_proba(NOTHING)[0], expected)


@pytest.mark.filterwarnings("ignore:the type of y declares class")
@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("named", [name for name in NAMED if name != "classes="])
def test_a_named_class_exists_whichever_rows_have_a_label(named, labels):
    options, typed = NAMED[named]
    clf = BayesianNB(**options)
    alike = named != "feature prior" and labels == "none labelled"
    if alike:
        with pytest.raises(ValueError, match="'m' and 'n' have no labelled row and the same prior"):
            clf.fit(X, typed(LABELS[labels]))
        return
    clf.fit(X, typed(LABELS[labels]))
    assert list(clf.classes_) == ["m", "n", "z"]
    assert (clf.predict_proba(X)[:, 2] > 0).all()


@pytest.mark.parametrize(
    ("first", "then", "classes"),
    [
        (["m", "z"], ["n", "q"], ["m", "n", "q", "z"]),
        (["m", "n", "z"], ["m", "n"], ["m", "n", "z"]),
        (None, ["n", "z"], ["m", "n", "z"]),
    ],
    ids=["other types", "a smaller type", "text and a type"],
)
def test_the_classes_that_types_name_are_the_same_in_parts_as_in_memory(first, then, classes):
    y = [list("mmm"), list("nnn")]
    types = [
        labels if kind is None else pd.Categorical(labels, kind) for labels, kind in zip(y, (first, then), strict=True)
    ]
    parts = [X[:3].assign(y=types[0]), X[3:].assign(y=types[1])]
    memory = BayesianNB().partial_fit(X[:3], types[0]).partial_fit(X[3:], types[1])
    for order in (parts, parts[::-1]):
        clf = BayesianNB().fit(iter(order), "y")
        assert list(clf.classes_) == list(memory.classes_) == classes
        assert_allclose(clf.predict_proba(X), memory.predict_proba(X))


@pytest.mark.parametrize("named", [name for name in NAMED if name != "feature prior"])
def test_a_class_that_the_other_model_names_stays_named_after_a_merge(named):
    clf = BayesianNB().fit(X, LABELS["all labelled"]).merge(partial(named, LABELS["all labelled"]))
    assert list(clf.classes_) == ["m", "n", "z"]
    clf.partial_fit(X[:1], ["z"]).forget(X[:1], ["z"])
    assert list(clf.classes_) == ["m", "n", "z"]
    assert_array_equal(clf.class_count_, [6.0, 6.0, 0.0])


def test_a_class_that_nobody_names_is_gone_with_its_last_row_and_stays_through_a_discount():
    y = np.array(LABELS["all labelled"], object)
    of_n = y == "n"
    assert list(BayesianNB().fit(X, y).forget(X[of_n], y[of_n]).classes_) == ["m"]
    assert list(BayesianNB().fit(X, y).discount(0.0).classes_) == ["m", "n"]
    assert list(BayesianNB().fit(X, y).forget(iter([X[of_n].assign(y=y[of_n])]), "y").classes_) == ["m"]


def test_rows_of_weight_0_bring_no_class():
    y, weight = np.array(list("mmnnzz"), object), [1, 1, 1, 1, 0, 0]
    assert list(BayesianNB().fit(X, y, weight).classes_) == ["m", "n"]
    assert list(BayesianNB().fit(iter([X.assign(y=y, w=weight)]), "y", "w").classes_) == ["m", "n"]
    assert list(BayesianNB().fit(X[:4], y[:4]).partial_fit(X, y, sample_weight=weight).classes_) == ["m", "n"]
