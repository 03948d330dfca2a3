"""Bad input is refused before anything has changed, and the message says what is wrong, where, and what to do."""

from __future__ import annotations

import csv
import datetime
import inspect
import io
import json
import pickle
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import run
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.exceptions import NotFittedError

import bayesnb as nb
from bayesnb import (
    BayesianNB,
    Bernoulli,
    Beta,
    Binned,
    Categorical,
    Dirichlet,
    Gamma,
    Gaussian,
    Multinomial,
    Normal,
    NormalGamma,
    Poisson,
    Unlabelled,
    sets,
)
from bayesnb.cli import main
from bayesnb.data import readers
from bayesnb.data.schema import RESERVED
from bayesnb.errors import BoundaryError, ImproperError, RefusedError
from bayesnb.families import GammaKnownShape, GaussianKnownVariance
from bayesnb.inference.questions import MODULES

X = pd.DataFrame({"size": [1.0, 2.0, 3.0, 5.0], "hue": list("uvuv")})
Y = list("abab")


def said(*words: Any) -> str:
    """A pattern for a message that contains all the words, in any order."""
    return "(?s)^" + "".join(f"(?=.*{re.escape(str(word))})" for word in words)


@contextmanager
def unchanged(clf: BayesianNB) -> Iterator[None]:
    """Check that the block leaves the estimator unchanged, to the last object and the last bit."""
    before, bits = dict(vars(clf)), pickle.dumps(vars(clf))
    yield
    assert list(vars(clf)) == list(before)
    assert all(value is before[name] for name, value in vars(clf).items())
    assert pickle.dumps(vars(clf)) == bits


def refused_by(
    clf: BayesianNB, verb: str, bad: tuple, words: tuple, error: Any = (ValueError, TypeError), **arguments: Any
) -> None:
    """Check that the method raises the error with the words and changes nothing."""
    with unchanged(clf), pytest.raises(error, match=said(*words)):
        getattr(clf, verb)(*bad, **arguments)


def refused(bad: tuple, words: tuple, features: Any = None, good: tuple = (X, Y), **arguments: Any) -> None:
    """Check that a new estimator refuses to learn the rows, and that a fitted one also refuses to forget them."""
    fresh = BayesianNB(features)
    for verb in ("fit", "partial_fit"):
        refused_by(fresh, verb, bad, words, **arguments)
        with pytest.raises(NotFittedError):
            fresh.predict(good[0])
    fitted = BayesianNB(features).fit(*good)
    for verb in ("fit", "partial_fit", "forget"):
        refused_by(fitted, verb, bad, words, **arguments)


def one(*values: Any) -> pd.DataFrame:
    return pd.DataFrame({"v": list(values)})


def thin(value: float) -> sparse.csr_array:
    """A sparse matrix of zeros, ones and, in row 2 of its second column, the value."""
    return sparse.csr_array(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, value], [0.0, 0.0]]))


# --- Rows that cannot be learned ---

HOLLOW = ("y is missing in 1 of 4 rows", "row 2", "drop those rows")
TABLES: dict[str, tuple[Any, Any, tuple]] = {
    "columns of different lengths": ({"size": [1.0, 2.0], "hue": ["u"]}, list("ab"), ("one length", "'hue': 1")),
    "a column that is a number": ({"size": 3.0, "hue": ["u", "v"]}, list("ab"), ("'size'",)),
    "one name twice in pandas": (X.set_axis(["size", "size"], axis=1), Y, ("must be unique", "'size'", "2 times")),
    "one name twice in pyarrow": (pa.table([[1, 2, 3, 4]] * 2, names=["a", "a"]), Y, ("must be unique", "'a'")),
    "labels of None": (X, [None] * 4, ("no row has a label", "y is missing everywhere")),
    "labels of NaN": (X, [np.nan] * 4, ("no row has a label", "y is missing everywhere")),
    "labels of polars": (X, pl.Series([None] * 4, dtype=pl.String), ("no row has a label",)),
    "labels that are too few": (X, Y[:3], ("4 rows", "3")),
    "no labels": (X, None, ("requires y",)),
    "labels in two columns": (X, np.array([Y, Y]).T, ("1d array", "(4, 2)")),
    "labels of two types in a list": (X, ["a", 1, "b", 1], ("'a'", "int", "1 in row 1", "one type")),
    "labels of two types in a Series": (X, pd.Series(["a", 1, "b", 1]), ("'a'", "int", "1 in row 1", "one type")),
    "labels of True and numbers": (X, [True, 2, 0, False], ("bool", "int", "one type")),
    "labels that are lists": (X, [["a"], ["a", "b"], ["b"], ["a"]], ("['a'] of type list", "into text")),
    "labels that are lists in a Series": (X, pd.Series([["a"], ["b"]] * 2), ("['a'] of type list", "into text")),
    "labels that are dictionaries": (X, [{"a": 1}] * 4, ("{'a': 1} of type dict", "into text")),
    "continuous labels": (X, [0.1, 0.2, 0.3, 0.4], ("classif",)),
}


@pytest.mark.parametrize("case", TABLES)
def test_a_table_or_labels_that_cannot_be_learned_are_refused_and_nothing_has_changed(case: str):
    table, y, words = TABLES[case]
    refused((table, y), words, good=(X, [0, 1, 0, 1]) if case == "continuous labels" else (X, Y))


@pytest.mark.parametrize(
    "y",
    [
        ["a", "b", None, "b"],
        [0.0, 1.0, np.nan, 1.0],
        pd.Series([0, 1, pd.NA, 1], dtype="Int64"),
        pd.Series(pd.Categorical(["a", "b", None, "b"])),
        pl.Series(["a", "b", None, "b"]),
    ],
    ids=["None", "NaN", "Int64", "categorical", "polars"],
)
def test_a_partly_missing_target_is_refused_where_only_labels_count_with_the_first_such_row_and_the_cure(y):
    refused_by(BayesianNB(), "partial_fit", (X, y), HOLLOW)
    for verb in ("partial_fit", "forget", "loo"):
        refused_by(BayesianNB().fit(X, Y), verb, (X, y), HOLLOW)


@pytest.mark.parametrize(
    ("table", "y", "words"),
    [
        *((empty, [], r"0 sample\(s\).*minimum of 1") for empty in (pd.DataFrame(), X[:0], {}, np.zeros((0, 2)))),
        *((empty, Y, "no column to learn from|0 feature|0 sample") for empty in (X[[]], np.zeros((4, 0)))),
        *(
            (flat, Y, "2D|2-dimensional|dim 3|one column, a Series")
            for flat in (np.zeros(4), np.zeros((4, 2, 2)), X["size"], "abcd", None)
        ),
    ],
)
def test_a_table_without_rows_or_columns_and_an_array_of_other_than_two_dimensions_are_refused(table, y, words):
    clf = BayesianNB()
    with unchanged(clf), pytest.raises((ValueError, TypeError), match=words):
        clf.fit(table, y)


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        ([1.0, -1.0, 1.0, 1.0], ("sample_weight is -1 in row 1", "0 or more")),
        ([1.0, np.nan, 1.0, 1.0], ("sample_weight", "NaN")),
        ([1.0, np.inf, 1.0, 1.0], ("sample_weight", "infinity")),
        ([1.0, 1.0], ("sample_weight", "(2,)", "(4,)")),
        ([0.0] * 4, ("weight", "zero")),
        (["1", "1.5", "1", "x"], ("sample_weight is 'x' in row 3", "0 or more")),
        (pd.Series([1, 1.5, "x", 1]), ("sample_weight is 'x' in row 2", "0 or more")),
    ],
    ids=["negative", "NaN", "infinite", "too few", "zero", "texts", "a text"],
)
def test_invalid_weights_are_refused(weight, words):
    refused((X, Y), words, sample_weight=weight)


COUNT, BIT = ("row 2", "needs a count", "use nb.Gaussian()"), ("row 2", "0 or 1", "Categorical()", "Gaussian()")
INFINITE = ("column 'v'", "infinite", "row 2", "missing value (NaN)")
TEXT = ("column 'v'", "text", "'x'", "numbers are needed", "features={'v': nb.Categorical()}")
HOURS = pd.DataFrame({"v": [1, 2, 3, 4], "hours": [1.0, 2.0, 3.0, 4.0]})
TRUTH = (
    "column 'v' holds both numbers and True or False",
    "give all cells one type",
    "features={'v': nb.Categorical()}",
)
CELLS: dict[str, tuple[Any, Any, tuple]] = {
    "True among numbers": (Gaussian(), one(7, 7, True, 8), ("True in row 2", *TRUTH)),
    "a number among truths": (Gaussian(), one(True, False, 7.5, True), ("7.5 in row 2", *TRUTH)),
    "False among numbers and a gap": (Gaussian(), one(7, "NA", False, 8), ("False in row 2", *TRUTH)),
    "a negative count": (Poisson(), one(1, 0, -2, 3), ("column 'v'", "holds -2 ", "Poisson", *COUNT)),
    "a fraction": (Poisson(), one(1, 0, 2.5, 3), ("column 'v'", "holds 2.5 ", *COUNT)),
    "a small fraction": (Poisson(), one(1, 0, 1e-9, 3), ("column 'v'", "holds 1e-09 ", *COUNT)),
    "a negative number of words": (Multinomial(), one(1, 0, -0.5, 3), ("holds -0.5 ", "Multinomial", *COUNT)),
    "a count in an array": (Poisson(), np.array([[1, 2], [0, 1], [1, -3], [2, 2]]), ("column 'x1'", "holds -3 ")),
    "a count in a sparse matrix": (Multinomial(), thin(-3), ("column 'x1'", "holds -3 ", "row 2", "Multinomial")),
    "a count in columns": (Multinomial(), thin(np.inf).tocsc(), ("column 'x1'", "holds inf ", "row 2", "count")),
    "a count in cells": (Multinomial(), thin(np.nan).tocoo(), ("column 'x1'", "holds nan ", "row 2", "count")),
    "two for a bit": (Bernoulli(), one(1, 0, 2, 0), ("column 'v'", "holds 2 ", "Bernoulli", *BIT)),
    "a half for a bit": (Bernoulli(), one(1, 0, 0.5, 0), ("column 'v'", "holds 0.5 ", *BIT)),
    "two in a sparse matrix": (Bernoulli(), thin(2), ("column 'x1'", "holds 2 ", "row 2", "0 or 1")),
    "a gap in a sparse matrix": (Bernoulli(), thin(np.nan), ("column 'x1'", "holds nan ", "row 2", "0 or 1")),
    "an exposure of 0": (
        {"v": Poisson(exposure="hours")}, HOURS.assign(hours=[1, 2, 0, 4.0]), ("'hours'", "is 0 ", "row 2", "positive")
    ),
    "words in part": (Multinomial(), np.array([[1, 2], [0, 1], [1, np.nan], [2, 2]]), ("'x1'", "row 2", "write 0")),
    "infinity by type": (None, one(0.0, 0, np.inf, 1), INFINITE),
    "infinity in an array": (Gaussian(), np.array([[1, 2], [2, 3], [4, -np.inf], [np.inf, 5]]), ("'x1'", "infinite")),
    **{
        f"infinity for {type(family).__name__}": (family, one(0, 0, value, 1), INFINITE)
        for family, value in (
            (Gaussian(), np.inf), (GaussianKnownVariance(variance=1.0), -np.inf), (Bernoulli(), np.inf),
            (Poisson(), -np.inf), (Multinomial(), np.inf), (Binned(2), -np.inf),
        )
    },
    **{
        f"text for {type(family).__name__}": ({"v": family}, one("1", "x", "2", "3"), TEXT)
        for family in (Gaussian(), Bernoulli(), Poisson(), Multinomial(), Binned(2))
    },
    "categories": ({"v": Gaussian()}, pd.DataFrame({"v": pd.Categorical(list("1x23"))}), TEXT),
    "a huge integer": (Gaussian(), one(10**400, 1, 2, 3), ("column 'v'",)),
}  # fmt: skip


@pytest.mark.parametrize("case", CELLS)
def test_a_value_that_a_family_cannot_read_is_named_with_its_column_row_and_cure(case: str):
    features, bad, words = CELLS[case]
    good = HOURS if "exposure" in case else one(0, 1, 1, 0) if isinstance(bad, pd.DataFrame) else np.eye(4, 2)
    good = sparse.csr_array(good) if sparse.issparse(bad) else good
    refused((bad, Y), words, features, (good, Y), error=(ValueError, TypeError, OverflowError))
    if case in ("two for a bit", "infinity by type"):
        refused_by(BayesianNB(features).fit(good, Y), "predict_proba", (bad,), words)


def test_a_sparse_cell_stored_in_two_parts_is_read_as_their_sum():
    indices, indptr = np.array([0, 0, 0, 1, 1]), np.array([0, 2, 3, 4, 5])
    ones = sparse.csr_array((np.ones(5), indices, indptr), shape=(4, 2))
    refused_by(BayesianNB(Bernoulli()), "fit", (ones, Y), ("column 'x0'", "holds 2 ", "row 0", "0 or 1"))
    halves = sparse.csr_array((np.array([0.5, 0.5, 1.0, 1.0, 1.0]), indices, indptr), shape=(4, 2))
    found, plain = (BayesianNB(Multinomial()).fit(table, Y) for table in (halves, halves.toarray()))
    assert_allclose(found.predict_proba(np.eye(2)), plain.predict_proba(np.eye(2)), rtol=1e-12)
    assert ones.nnz == 5, "the caller's matrix is the caller's"


@pytest.mark.parametrize("family", [Poisson(), Categorical(), Binned(2)], ids=lambda f: type(f).__name__)
def test_a_sparse_matrix_for_a_family_that_needs_all_cells_is_refused_with_the_cure(family):
    refused_by(BayesianNB(family), "fit", (thin(1), Y), ("sparse", type(family).__name__, "toarray()"))


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"size": "big"}, ("column 'size'", "text", "'big'", "numbers are needed", "convert it")),
        ({"hue": 3}, ("column 'hue'", "fitted with text", "convert it")),
        ({"hue": True}, ("column 'hue'", "fitted with text", "convert it")),
    ],
)
def test_a_column_of_another_type_than_was_fitted_is_named_with_the_cure(bad, words):
    clf = BayesianNB().fit(X, Y)
    for verb, arguments in (("predict", ()), ("partial_fit", (Y,)), ("forget", (Y,))):
        refused_by(clf, verb, (X.assign(**bad), *arguments), words)


DAYS = [datetime.date(2020, 1, day) for day in (1, 2, 3, 4)]
NO_CELLS: dict[str, tuple[Any, tuple]] = {
    "lists": ([[1], [2], [3], [4]], ("holds [1] of type list", "string or a number")),
    "dicts": ([{"a": 1}] * 4, ("{'a': 1}", "string or a number")),
    "a tuple": ([(1, 2), None, 3, 4], ("(1, 2)", "string or a number")),
    "complex": ([1j, 2.0, 3.0, 4.0], ("1j", "string or a number")),
    "an object": ([1, object(), 2, 3], ("object",)),
    "signalling NaN": ([Decimal("sNaN"), Decimal(1), 1, 2], ("sNaN",)),
    "arrays": ([np.zeros(3), np.ones(3), 1, 2], ("array",)),
}


@pytest.mark.parametrize("features", [None, Gaussian(), Categorical()], ids=["by type", "Gaussian", "Categorical"])
@pytest.mark.parametrize("case", NO_CELLS)
def test_a_cell_that_is_neither_text_nor_number_is_named_with_its_column(case, features):
    values, words = NO_CELLS[case]
    column = pd.Series(values, dtype=object if isinstance(values, list) else None)
    frame = pd.DataFrame({"v": column})
    for table in (frame, {"v": column.to_numpy()}):
        refused_by(BayesianNB(features), "fit", (table, Y), ("column 'v'", *words))
    with pytest.raises((ValueError, TypeError), match=said("column 'v'", words[0])):
        BayesianNB(features).fit(iter([frame.assign(y=Y)]), "y")


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (pl.DataFrame({"v": [[1], [2], [3], [4]]}), ("column 'v'", "which no family reads", "leave it out")),
        (pl.DataFrame({"v": [{"a": 1}] * 4}), ("column 'v'", "which no family reads", "leave it out")),
    ],
    ids=["lists", "structs"],
)
def test_nested_columns_of_other_tables_are_refused_with_their_column_and_the_cure(table, words):
    refused_by(BayesianNB(), "fit", (table, Y), words)


DATES = {
    "datetimes": pd.DataFrame({"v": pd.to_datetime(DAYS)}),
    "durations": pd.DataFrame({"v": pd.to_timedelta([24, 48, 72, 96], unit="D")}),
    "dates": pd.DataFrame({"v": DAYS}),
    "periods": pd.DataFrame({"v": pd.period_range("2020", periods=4)}),
    "polars": pl.DataFrame({"v": DAYS}),
    "numpy": np.array(DAYS, "datetime64[D]")[:, None],
}


@pytest.mark.parametrize("case", DATES)
def test_dates_are_elapsed_time_unless_they_are_named_as_levels(case):
    table = DATES[case]
    (name,) = BayesianNB().fit(table, Y).describe().index
    assert name.startswith("elapsed of ")
    refused_by(BayesianNB(Categorical()), "fit", (table, Y), ("column", "cannot be levels", 'Date("elapsed")'))


@pytest.mark.parametrize("names", [(None, "b"), (None, float("nan")), ("b", pd.NA)])
def test_a_column_whose_name_is_missing_is_named_by_its_position(names):
    columns = {names[0]: [1, 2], names[1]: [3, 4]}
    for table in (columns, pd.DataFrame(columns)):
        with pytest.raises(ValueError, match=r"column at position \d is named .*: give it one"):
            BayesianNB().fit(table, [0, 1])


def test_a_column_name_with_half_of_a_character_is_refused():
    half = pd.DataFrame([[1.0], [2.0]], columns=pd.Index(["\ud800"], dtype=object))
    for table in ({"\ud800": [1.0, 2.0]}, half, iter([half.assign(y=[0, 1])])):
        with pytest.raises(ValueError, match="lone surrogate"):
            BayesianNB().fit(table, "y" if isinstance(table, Iterator) else [0, 1])


# --- Unlearning ---


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ((X, list("abzb")), ("class 'z'", "never learned", "cannot be unlearned")),
        ((pd.concat([X, X]), Y + Y), ("class 'a'", "weight 2", "4 cannot be unlearned")),
        ((X, Y, [1.0, 1.0, 1.5, 1.0]), ("class 'a'", "weight 2", "2.5 cannot be unlearned")),
        ((X.assign(size=1e6).iloc[:1], Y[:1]), ("feature 'size'", "never learned")),
        ((X.assign(hue=list("wvuv")), Y), ("feature 'hue'", "class 'a'", "level 'w'", "never learned")),
        ((X.assign(hue=list("vvuv")), Y), ("feature 'hue'", "class 'a'", "level 'v'", "never learned")),
    ],
    ids=["a class", "too many rows", "too much weight", "another number", "a level", "a level of another class"],
)
def test_forgetting_rows_that_were_never_learned_is_refused(bad, words):
    refused_by(BayesianNB().fit(X, Y), "forget", bad, words)


def test_a_row_of_missing_values_can_be_forgotten():
    rows = X.assign(hue=[None, *X["hue"][1:]])
    assert BayesianNB().fit(rows, Y).forget(rows[:1], Y[:1]).class_count_.tolist() == [1.0, 2.0]
    refused_by(BayesianNB().fit(X, Y), "forget", (rows[:1], Y[:1]), ("feature 'hue'", "'a'", "never learned"))


@pytest.mark.parametrize(
    ("family", "bad"),
    [(Bernoulli(), [1, 0, 1, 1]), (Poisson(), [9, 0, 9, 1]), (Multinomial(), [9, 0, 9, 1])],
    ids=lambda value: type(value).__name__,
)
def test_counts_that_were_never_learned_are_named_with_their_feature(family, bad):
    clf = BayesianNB({"v": family}).fit(one(0, 0, 0, 1), Y)
    refused_by(clf, "forget", (one(*bad), Y), ("feature 'v'", "never learned"))


# --- Tables to predict ---


def test_a_column_that_is_absent_is_named_with_the_cure_or_integrated_out():
    clf = BayesianNB().fit(X, Y)
    for verb in ("predict", "predict_proba", "predict_joint_log_proba"):
        refused_by(clf, verb, (X[["size"]],), ("column 'hue'", "['size']", 'set_params(absent="missing")'))
    assert BayesianNB().fit(X, Y).set_params(absent="missing").predict(X[["size"]]).shape == (len(X),)
    refused_by(clf, "partial_fit", (X[["size"]], Y), ("column 'hue'", "not in this table"))
    similar = said("'hue'", "did you mean 'huue'")
    renamed = X.rename(columns={"hue": "huue"})
    with pytest.raises(ValueError, match=similar):
        clf.predict(renamed)
    clf = BayesianNB(absent="missing").fit(X, Y)
    with pytest.warns(UserWarning, match="'huue'"):
        clf.predict(renamed)
    for name in X:
        assert_allclose(clf.predict_proba(X[[name]]), BayesianNB().fit(X[[name]], Y).predict_proba(X[[name]]))


def test_asking_before_learning_is_refused():
    clf = BayesianNB()
    of_rows = ("predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba")
    for verb in of_rows:
        refused_by(clf, verb, (X,), ("not fitted",), NotFittedError)
    for verb in ("describe", "tables"):
        refused_by(clf, verb, (), ("not fitted",), NotFittedError)
    for verb in ("loo", "forget"):
        refused_by(clf, verb, (X, Y), ("not fitted",), NotFittedError)
    with unchanged(clf), pytest.raises(NotFittedError):
        _ = clf.log_evidence_


# --- What is told of the model ---

THREE_CLASSES, SHAPES = Dirichlet(np.ones((3, 2))), ("(2, 1)", "(3, 1)", "{class: prior}")
TOLD: dict[str, tuple[dict[str, Any], tuple]] = {
    "unknown column": ({"features": {"sise": Gaussian()}}, ("'sise'", "['size', 'hue']", "did you mean 'size'")),
    "unknown exposure": ({"features": {"size": Poisson(exposure="hu")}}, ("'hu'", "did you mean 'hue'")),
    "unknown of several": ({"features": {"g": (Gaussian(), ["size", "syze"])}}, ("'syze'", "did you mean 'size'")),
    "unknown position": ({"features": {5: Gaussian()}}, ("column 5", "['size', 'hue']")),
    "one column told twice": (
        {"features": {"g": (Gaussian(), ["size"]), "size": Gaussian()}}, ("column 'size'", "more than one feature"),
    ),
    "twice in one feature": ({"features": {"g": (Gaussian(), ["size", "size"])}}, ("'size'", "more than one")),
    "text": ({"features": {"size": "weibull"}}, ("features['size']", "no family 'weibull'", "poisson", "binned")),
    "one text for all": ({"features": "gausian"}, ("no family 'gausian'", "did you mean 'gaussian'")),
    "a class": ({"features": {"size": Gaussian}}, ("features['size']", "Expected a family", "Gaussian")),
    "nothing": ({"features": {"size": None}}, ("features['size']", "Expected a family", "None")),
    "a prior": ({"features": {"size": NormalGamma()}}, ("features['size']", "Expected a family", "NormalGamma")),
    "a list": ({"features": [Gaussian()]}, ("features", "{column: family}", "Poisson()", "[Gaussian(")),
    "a tuple of one": ({"features": {"size": (Gaussian(),)}}, ("features['size']", "Expected a family", "columns")),
    "no columns": ({"features": {"g": (Gaussian(), [])}}, ("features['g']", "column")),
    "estimate": ({"estimate": "bayes"}, ("estimate", "'bayes'", "mle", "map", "mean", "predictive")),
    "unseen": ({"unseen": "ignore"}, ("unseen", "'ignore'", "missing", "new", "error")),
    "absent": ({"absent": "ignore"}, ("absent", "'ignore'", "missing", "error")),
    "class_prior": ({"class_prior": "flat"}, ("class prior", "'flat'", "frequencies", "uniform", "Dirichlet")),
    "an unknown class": (
        {"class_prior": {"a": 0.5, "z": 0.5}}, ("class prior", "each class, ['a', 'b', 'z']", "'b' is missing"),
    ),
    "a class too few": ({"class_prior": {"a": 1.0}}, ("class prior", "each class, ['a', 'b']", "got ['a']")),
    "a class too many": ({"class_prior": [0.25, 0.25, 0.5]}, ("class prior", "each class ['a', 'b']", "0.25")),
    "a sum below 1": ({"class_prior": {"a": 0.3, "b": 0.3}}, ("sum to 1", "0.6")),
    "negative": ({"class_prior": {"a": 1.5, "b": -0.5}}, ("0 or more", "-0.5", "class 'b'")),
    "NaN": ({"class_prior": [np.nan, 1.0]}, ("0 or more", "nan", "place 0")),
    "Dirichlet lacks a class": ({"class_prior": Dirichlet({"a": 1.0})}, ("class prior", "'b'", "['a']")),
    "Dirichlet of three": ({"class_prior": Dirichlet([1.0, 2.0, 3.0])}, ("class prior", "['a', 'b']", "(3,)")),
    "a Beta of classes": ({"class_prior": Beta()}, ("class",)),
    "text of classes": ({"class_prior": {"a": "x", "b": 0.5}}, ("class",)),
    "a prior lacks a class": ({"features": {"hue": Categorical({"a": Dirichlet()})}}, ("'hue'", "class 'b'", "['a']")),
    "a prior lacks the first": ({"features": {"size": Gaussian({"b": NormalGamma()})}}, ("'size'", "class 'a'")),
    "a prior lacks a level": (
        {"features": {"hue": Categorical(Dirichlet({"u": 1.0}))}}, ("feature 'hue'", "level", "'v'", "['u']"),
    ),
    "levels": (
        {"features": {"hue": Categorical(Dirichlet([1.0, 2.0, 3.0]))}},
        ("feature 'hue'", "['u', 'v']", "(3,)", "{level:"),
    ),
    "classes": ({"features": {"hue": Categorical(THREE_CLASSES)}}, ("'hue'", "2 classes", "(3, 2)", "{class:")),
    "NormalGamma": ({"features": {"size": Gaussian(NormalGamma(m=[[1.0], [2.0], [3.0]]))}}, ("'size'", *SHAPES)),
    "Normal": (
        {"features": {"size": GaussianKnownVariance(variance=1.0, prior=Normal(np.ones((3, 1))))}}, ("'size'", *SHAPES),
    ),
    "Gamma": ({"features": {"size": Poisson(Gamma(np.ones((3, 1)), 1.0))}}, ("feature 'size'", *SHAPES)),
    "variances": (
        {"features": {"size": GaussianKnownVariance(variance=[1.0, 2.0])}},
        ("feature 'size'", "variance", "1 columns", "[1.0, 2.0]"),
    ),
    **{
        f"variance {variance}": (
            {"features": lambda variance=variance: {"size": GaussianKnownVariance(variance=variance)}},
            ("variance", "positive"),
        )
        for variance in (0.0, -1.0, np.nan, np.inf)
    },
}  # fmt: skip


@pytest.mark.parametrize("case", TOLD)
def test_a_wrong_option_of_the_model_is_named_with_the_expected_value(case: str):
    options, words = TOLD[case]
    if callable(options.get("features")):  # The family itself refuses it.
        with pytest.raises(ValueError, match=said(*words)):
            BayesianNB(options["features"]()).fit(X, Y)
        return
    for verb in ("fit", "partial_fit"):
        refused_by(BayesianNB(**options), verb, (X, Y), words)


@pytest.mark.parametrize(
    ("options", "bad", "words"),
    [
        ({"class_prior": {"a": 0.5, "b": 0.5}}, (X, list("abza")), ("class prior", "'z' is missing", "['a', 'b']")),
        (
            {"features": {"hue": Categorical(Dirichlet({"u": 1.0, "v": 2.0}))}},
            (X.assign(hue="w"), Y),
            ("feature 'hue'", "'w'", "['u', 'v']"),
        ),
        (
            {"features": {"size": Gaussian({"a": NormalGamma(), "b": NormalGamma()})}},
            (X, list("abza")),
            ("feature 'size'", "class 'z'", "['a', 'b']"),
        ),
    ],
    ids=["class prior", "level", "class"],
)
def test_a_prior_that_lacks_a_later_level_or_class_is_refused_and_nothing_is_learned(options, bad, words):
    refused_by(BayesianNB(**options).fit(X, Y), "partial_fit", bad, words)


# --- Improper priors and modes on the boundary ---


@pytest.mark.parametrize(
    ("family", "values"),
    [
        (Gaussian(NormalGamma.flat()), [1.0, 2.0, 1.0, 3.0]),
        (Gaussian(NormalGamma.reference()), [np.nan, 2.0, 1.0, 3.0]),
        (GaussianKnownVariance(variance=1.0, prior=Normal.flat()), [np.nan, 2.0, np.nan, 3.0]),
        (Poisson(Gamma.jeffreys()), [np.nan, 2.0, np.nan, 3.0]),
        (Poisson(Gamma(0.0, 0.0)), [0.0, 2.0, 0.0, 3.0]),
        (Bernoulli(Beta(0.0, 0.0)), [np.nan, 0.0, np.nan, 1.0]),
        (Categorical(Dirichlet(0.0)), [np.nan, 0.0, np.nan, 1.0]),
        (Multinomial(Dirichlet(0.0)), [0.0, 1.0, 0.0, 1.0]),
    ],
    ids=["flat", "reference", "known variance", "Gamma", "Gamma zero", "Beta", "Dirichlet", "words"],
)
def test_an_improper_posterior_is_refused_with_feature_and_class(family, values):
    for verb in ("fit", "partial_fit"):
        words = ("feature 'v'", "class 'a'", "proper")
        refused_by(BayesianNB({"v": family}), verb, (one(*values), Y), words, ImproperError)


def test_forgetting_that_leaves_an_improper_posterior_is_refused_and_changes_nothing():
    clf = BayesianNB({"v": Gaussian(NormalGamma.flat())}).fit(one(1.0, 2.0, 4.0, 3.0), Y)
    refused_by(clf, "forget", (one(1.0), ["a"]), ("feature 'v'", "class 'a'", "proper"), ImproperError)
    with unchanged(clf), pytest.raises(AttributeError, match=said("feature 'v'", "no evidence", "proper one")):
        _ = clf.log_evidence_


@pytest.mark.parametrize(
    ("family", "values", "words"),
    [
        (Categorical(Dirichlet(0.5)), list("uvuv"), ("feature 'v'", "class 'a'", "level 'v'", "0.5 < 1")),
        (Bernoulli(Beta(0.5, 0.5)), [0, 1, 0, 1], ("feature 'v'", "class 'a'", "0.5 < 1")),
        (Multinomial(Dirichlet(0.5)), [0, 1, 0, 1], ("feature 'v'", "class 'a'", "word 'v'", "0.5 < 1")),
        (Poisson(Gamma(0.5, 1.0)), [0, 1, 0, 1], ("feature 'v'", "class 'a'", "0.5 < 1")),
        (Gaussian(), [np.nan, 1.0, np.nan, 2.0], ("feature 'v'", "class 'a'")),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "prior") else "",
)
def test_a_mode_on_the_boundary_is_refused_with_its_cell_and_the_error_offers_the_mean(family, values, words):
    frame = one(*values).assign(w=[1, 0, 1, 0])
    features = {"v": (family, ["v", "w"])} if isinstance(family, Multinomial) else {"v": family}
    clf = BayesianNB(features, estimate="map")
    refused_by(clf, "fit", (frame, Y), (*words, 'estimate="mean"'), BoundaryError)
    assert BayesianNB(features, estimate="mean").fit(frame, Y).predict_proba(frame).shape == (4, 2)


def test_a_mode_of_the_classes_on_the_boundary_is_refused_with_the_class():
    clf = BayesianNB(estimate="map", class_prior=Dirichlet(0.5))
    words = ("class prior", "class 'c'", "0.5 < 1", 'estimate="mean"')
    refused_by(clf, "partial_fit", (one(0, 1, 0, 1), Y), words, BoundaryError, classes=list("abc"))


# --- Merging ---


@pytest.mark.parametrize(
    ("mine", "theirs", "words"),
    [
        (Gaussian(), Poisson(), ("Gaussian", "Poisson")),
        (Gaussian(), Gaussian(NormalGamma.flat()), ("family", "kappa=1", "kappa=0")),
        (Binned(edges=[1.0, 2.0]), Binned(edges=[1.0, 3.0]), ("edges", "2.0", "3.0")),
        (Binned(2), Binned(3), ("edges",)),
        (Binned(2), Gaussian(), ("Categorical", "Gaussian")),
        (Gaussian(NormalGamma(m=100_000.25)), Gaussian(NormalGamma(m=100_000.75)), ("family",)),
        (Categorical(Dirichlet([1.0] * 4)), Categorical(Dirichlet([5.0] * 4)), ("family",)),
    ],
    ids=["families", "priors", "edges", "bins", "cut and whole", "priors in their seventh digit", "long priors"],
)
def test_merging_models_that_read_a_feature_differently_is_refused(mine, theirs, words):
    clf, other = (BayesianNB({"size": family}).fit(X, Y) for family in (mine, theirs))
    with unchanged(other):
        refused_by(clf, "merge", (other,), ("feature 'size'", *words))


def test_merging_models_of_other_columns_or_types_is_refused():
    clf = BayesianNB({"hue": Categorical()}).fit(X, Y)
    for table, words in (
        (X.rename(columns={"hue": "tint"}), ("different features", "'hue'", "'tint'")),
        (X[["size"]], ("different features", "'hue'")),
    ):
        refused_by(clf, "merge", (BayesianNB().fit(table, Y),), words)
    other = BayesianNB({"hue": Categorical()}).fit(X.assign(hue=[1, 2, 1, 2]), Y)
    refused_by(clf, "merge", (other,), ("'hue'", "text", "numbers"))
    refused_by(clf, "merge", (BayesianNB(),), ("not fitted",), NotFittedError)
    refused_by(clf, "merge", (3,), ("3",), TypeError)
    refused_by(BayesianNB(), "merge", (clf,), ("not fitted",), NotFittedError)


@pytest.mark.parametrize("family", [None, "poisson", "categorical", "binned", "missing"])
@pytest.mark.parametrize("learned", [[3.5, 1, 2, 8, 4, 1], [3, 1, 2, 8, 4, 1], [0, 1, 1, 0, 0, 1]])
def test_a_text_of_a_number_is_read_alike_whatever_the_other_rows_hold(family, learned):
    if family == "poisson" and 3.5 in learned:
        return
    y = list("ababab")
    clf = BayesianNB(None if family is None else {"x": family}).fit(pd.DataFrame({"x": learned}), y)
    texts = [f"{x:g}" for x in learned] + ["?", None, "nan", ""]
    expected = clf.predict_proba(pd.DataFrame({"x": [*map(float, learned), *[np.nan] * 4]}))
    for dtype in (object, "str", "category"):
        rows = pd.DataFrame({"x": pd.Series(texts, dtype=dtype)})
        np.testing.assert_allclose(clf.predict_proba(rows), expected)
        for k in range(len(texts)):
            np.testing.assert_allclose(clf.predict_proba(rows.iloc[[k]]), expected[[k]])
            np.testing.assert_allclose(clf.predict_proba(rows.iloc[[k, 0]]), expected[[k, 0]])
    for cells in (["many"], ["1", "many"], ["1,5"], ["?", "2 kg"]):
        with pytest.raises(ValueError, match="column 'x' holds text"):
            clf.predict_proba(pd.DataFrame({"x": cells}))


def test_a_merged_model_remembers_the_types_of_the_columns():
    unknown = X.assign(hue=pd.Series([None] * 4, dtype=object))
    clf = BayesianNB({"hue": Categorical()}).fit(unknown, Y).merge(BayesianNB({"hue": Categorical()}).fit(X, Y))
    refused_by(clf, "partial_fit", (X.assign(hue=3), Y), ("column 'hue'", "fitted with text"))


@pytest.mark.parametrize("factor", [-0.1, 1.1, np.nan, np.inf])
def test_a_discount_outside_0_to_1_is_refused(factor):
    refused_by(BayesianNB().fit(X, Y), "discount", (factor,), ("between 0 and 1", factor))


# --- Files and commands ---

GOOD = "size,n,ok,y\n1.5,1,True,u\n2.5,2,False,v\n3.5,3,True,u\n4.5,4,False,v\n5.0,5,True,u\n"


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., str]:
    """Write a file and get its path as text."""

    def write(content: str | bytes, name: str = "table.csv") -> str:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    return write


def test_columns_that_a_row_option_does_not_name_are_missing_and_integers_may_be_fractions(write, capsys):
    frame = readers.frame(path := write(GOOD))
    clf = BayesianNB(absent="missing").fit(frame.drop(columns="y"), frame["y"])
    rows = {"size=2.5": {"size": [2.5]}, "size=2.5,n=,ok=": {"size": [2.5]}, "n=2.5": {"n": [2.5]}}
    options = [word for row in rows for word in ("--row", row)]
    quick = ("--dependence", "none", "--draws", "20")
    code, out, err = run(capsys, "compare", path, "--target", "y", "--format", "json", *quick, *options)
    assert code == 0, err
    for found, told in zip(json.loads(out)["rows"], rows.values(), strict=True):
        assert_allclose(list(found["estimates"]["predictive"].values()), clf.predict_proba(told)[0], rtol=1e-9)


@pytest.mark.parametrize("arguments", ["--help", "-h", "compare --help", "--version"])
def test_help_and_version_are_printed_to_stdout_and_exit_with_0(arguments, capsys):
    code, out, err = run(capsys, *arguments.split())
    assert (code, err) == (0, "")
    assert "bayesnb" in out


def test_a_comparison_exits_with_0_and_prints_only_results_to_stdout(capsys):
    code, out, err = run(capsys, "compare", "play-tennis", "--dependence", "none", "--format", "csv")
    assert code == 0
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["estimate"] for row in rows] == ["mle", "map", "mean", "predictive"]
    assert 0 < float(rows[-1]["log_loss"]) < 10
    assert "14 rows" in err
    assert "14 rows" not in out


def test_with_debug_an_error_is_raised(write):
    with pytest.raises(ValueError, match="line 3 has 2 cells"):
        main(["--debug", "compare", write("a,b,y\n1,2,u\n3,4\n"), "--target", "y"])


def test_rows_without_a_class_are_counted_and_left_out(write, capsys):
    quick = ("--target", "y", "--dependence", "none", "--format", "csv")
    code, out, err = run(capsys, "compare", write(GOOD + "6.0,6,True,\n"), *quick)
    assert code == 0
    assert "1 rows without a class are left out" in err
    assert run(capsys, "compare", write(GOOD), *quick)[1] == out


def test_errors_number_the_rows_that_were_given_also_if_some_have_no_weight_or_label():
    rng = np.random.default_rng(0)
    good = pd.DataFrame({"a": rng.normal(size=60), "b": rng.gamma(2.0, size=60)})
    y, weight, features = np.resize(["u", "v"], 60), np.ones(60), {"b": GammaKnownShape(shape=2)}
    weight[[3, 10, 20]], few = 0, np.where(np.arange(60) % 7 == 0, None, y)
    bad = good.copy()
    bad.loc[40, "b"] = -1.0
    asked = BayesianNB(features, unlabelled=Unlabelled(weight=0))
    fitted = asked.fit(good, y, weight)
    soft = np.full((60, 2), 0.5)
    calls: list[Callable[[], Any]] = [
        lambda: asked.fit(bad, y, weight),
        lambda: asked.fit(bad, few),
        lambda: asked.fit(bad, soft),
        lambda: BayesianNB(features, unlabelled=Unlabelled()).fit(bad, few, weight),
        lambda: fitted.partial_fit(bad, y, sample_weight=weight),
        lambda: fitted.forget(bad, y, sample_weight=weight),
        lambda: sets.conformal(fitted.classifier_, bad, y, sample_weight=weight, method="split"),
        lambda: asked.fit(iter([bad.assign(y=few, w=weight)]), "y", "w"),
    ]
    for k, call in enumerate(calls):
        with pytest.raises(RefusedError) as caught:
            call()
        assert (k, caught.value.column, caught.value.row, caught.value.value) == (k, "b", 40, -1.0)
    weight[30] = 0.5
    with pytest.raises(ValueError, match=r"got 0\.5 in row 30"):
        sets.conformal(fitted.classifier_, good, y, sample_weight=weight, method="split")
    weight[30] = -0.5
    with pytest.raises(RefusedError, match=r"sample_weight is -0\.5 in row 30"):
        asked.fit(good, y, weight)


@pytest.mark.parametrize(("cell", "shown"), [("-2", "-2"), ("", "nan"), ("many", "'many'"), ("inf", "inf")])
def test_each_command_names_the_column_and_the_row_of_a_bad_weight(capsys, tmp_path, cell, shown):
    lines = [f"{k % 5},{'pq'[k % 2] if k > 4 else ''},2" for k in range(30)]
    (tmp_path / "good.csv").write_text("\n".join(["x,y,w", *lines]))
    lines[12] = lines[12][:-1] + cell
    (tmp_path / "bad.csv").write_text("\n".join(["x,y,w", *lines]))
    model, bad = tmp_path / "m.bayesnb", tmp_path / "bad.csv"
    named = ("--target", "y", "--weight", "w")
    assert run(capsys, "fit", tmp_path / "good.csv", *named, "--dependence", "none", "-o", model)[0] == 0
    said = f"column 'w' holds the weight {shown} in row 12: a weight is a number and not negative"
    commands: list[tuple[Any, ...]] = [
        ("fit", bad, *named, "-o", tmp_path / "x.bayesnb"), ("inspect", bad, *named), ("compare", bad, *named),
        ("explain", bad, *named), ("audit", bad, *named), ("report", bad, *named, "-o", tmp_path / "x.html"),
        ("update", model, bad, "-o", tmp_path / "z.bayesnb"), ("ask", "loo", model, bad, "--weight", "w"),
    ]  # fmt: skip
    for words in commands:
        code, _, err = run(capsys, *words)
        assert (words[0], code) == (words[0], 1)
        assert said in err


def test_the_column_of_weights_has_no_family_and_none_is_proposed(capsys, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=300),
            "visits": rng.negative_binomial(1, 0.3, 300),
            "y": np.resize(["p", "q"], 300),
        }
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    asked = (tmp_path / "t.csv", "--target", "y")
    assert "--feature visits=" in run(capsys, "inspect", *asked)[1]
    assert "visits=" not in run(capsys, "inspect", *asked, "--weight", "visits")[1]
    code, _, err = run(capsys, "fit", *asked, "--weight", "visits", "--feature", "visits=poisson", "-o", tmp_path / "m")
    assert (code, "--feature specifies column 'visits', and --weight reads weights from it" in err) == (1, True)


def cases_with_weights() -> Iterator[tuple[str, pd.DataFrame, bool]]:
    """Tables with weights w, and whether the weights count improbable copies."""
    rng = np.random.default_rng(0)
    y = np.resize(["p", "q"], 300)
    cases = pd.DataFrame({"x": rng.normal(size=300), "c": rng.choice([*"uvw"], 300), "y": y})
    visits, survey, balance = 1 + rng.geometric(0.3, 300), rng.lognormal(7, 0.6, 300), np.where(y == "p", 5, 1)
    for name, w, warned in (
        ("visits", visits, True), ("whole survey", np.round(survey), True), ("classes", balance, True),
        ("large fractions", visits * 1.05, True), ("ones", 1, False), ("one twice", 1 + (cases.index == 7), False),
        ("fractions", rng.choice([0.5, 1.5], 300), False), ("balanced", balance / balance.mean(), False),
        ("survey", survey / survey.mean(), False), ("decay", 0.99**cases.index, False),
    ):  # fmt: skip
        yield name, cases.assign(w=w), warned
    # Weights that count equal rows: of levels, of counts, of rounded numbers, and of few doses that decide the class.
    dose, more = rng.integers(1, 9, 3000), np.resize(["p", "q"], 3000)
    for name, frame in (
        ("levels", cases[["c", "y"]]),
        ("counts", pd.DataFrame({"x": rng.poisson(3, 3000), "y": more})),
        ("rounded", pd.DataFrame({"x": rng.normal(size=3000).round(1), "y": more})),
        ("doses", pd.DataFrame({"x": dose, "y": np.where(dose > 4, "p", "q")})),
    ):  # fmt: skip
        yield name, frame.value_counts().rename("w").reset_index(), False


def test_weights_that_count_improbable_copies_are_warned_of_and_counts_of_equal_rows_are_not(capsys, tmp_path):
    for name, table, warned in cases_with_weights():
        table.to_csv(tmp_path / "t.csv", index=False)
        said = f"column 'w': counts {len(table)} rows as"
        asked = (tmp_path / "t.csv", "--target", "y", "--weight", "w")
        err = run(capsys, "fit", *asked, "--dependence", "none", "-o", tmp_path / f"{name}.bayesnb")[2]
        assert (name, said in err) == (name, warned)
        assert (f"counts {len(table)} rows as" in run(capsys, "inspect", *asked)[1]) == warned


@pytest.mark.parametrize("dependence", [None, "tempered", "pairwise"])
def test_a_learned_dependence_warns_of_weights_that_count_improbable_copies(dependence):
    for name, table, warned in cases_with_weights():
        X, y, w = table.drop(columns=["y", "w"]), table["y"], table["w"]
        for held, labels, weight in ((X, y, w), (X.to_dict("list"), y, w), (X[::-1], y[::-1], w[::-1])):
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                BayesianNB(dependence=dependence).fit(held, labels, sample_weight=weight)
            of_copies = [str(each.message) for each in said if "as if equal rows" in str(each.message)]
            assert (name, len(of_copies)) == (name, int(warned and dependence == "pairwise"))
            for each in of_copies:
                assert each.startswith("sample_weight counts 300 rows as")
                assert each.endswith("divide them by their mean")


@pytest.mark.parametrize("name", sorted(RESERVED))
def test_a_column_with_the_name_of_an_entry_of_answers_is_refused(name):
    X, y = {name: [1, 2, 1, 2], "b": list("pqpq")}, list("uvuv")
    with pytest.raises(RefusedError, match=said(name, "such as to", repr(name[1:-1]), "or leave it out")):
        BayesianNB().fit(X, y)
    clf = BayesianNB().fit({"a": X[name], "b": X["b"]}, y)
    with pytest.raises(ValueError, match="is named like an entry of answers"):
        BayesianNB(columns="grow").fit(pd.DataFrame({"b": X["b"]}), y).partial_fit(pd.DataFrame(X), y)
    with pytest.warns(UserWarning, match="not fitted are ignored"):
        clf.predict(pd.DataFrame({"a": X[name]} | X))
    assert BayesianNB().fit(pd.DataFrame(X), name).feature_names_in_.tolist() == ["b"]


@pytest.mark.parametrize("dependence", [None, "weighted", "pairwise", "forests", "auto"])
def test_names_of_entries_of_answers_are_reserved(dependence):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    X = pd.DataFrame({"a": rng.normal(y, 1), "b": rng.normal(y, 1), "c": rng.choice(["p", "q"], 60)})
    clf = BayesianNB(dependence=dependence, random_state=0).fit(X, y)
    named = {*clf.tables(), *clf.explain(X[:3]).index.get_level_values("entry")}
    if dependence is None:
        named |= {*clf.loo(X, y, by="feature").columns.get_level_values(1), *nb.checks.sensitivity(clf, X[:1]).index}
    assert {each for each in named if each[0] == "("} <= RESERVED


NUMBERED = {"n", "draws", "rows", "tol", "max_iter"}
UNUSED = {"estimate_class_prior": {"draws"}}
"""Parameters that the default call does not use."""


@pytest.mark.parametrize("module", MODULES)
def test_a_number_that_no_question_can_use_is_refused_with_the_range_of_its_parameter(module):
    clf = BayesianNB(random_state=0).fit(X, Y)
    known = {"X": X, "y": Y}
    for name, ask in vars(getattr(nb, module)).items():
        if name[0] == "_" or not inspect.isfunction(ask):
            continue
        parameters = inspect.signature(ask).parameters
        needed = {each for each, own in parameters.items() if own.default is inspect.Parameter.empty}
        for parameter in NUMBERED & {*parameters} - UNUSED.get(name, set()):
            for value in (-1, 1.5, "x") if parameter != "tol" else (-1, "x"):
                given = {key: known[key] for key in known.keys() & needed} | {parameter: value}
                with pytest.raises(ValueError, match=said(f"Expected {parameter}", value)):
                    ask(clf, **given)


@pytest.mark.parametrize("seed", ["x", -1, 0.5])
def test_a_seed_that_is_none_is_refused_by_the_fit(seed):
    clf = BayesianNB(random_state=seed)
    with unchanged(clf), pytest.raises(ValueError, match=said("Expected random_state to be a whole number", seed)):
        clf.fit(X, Y)


def test_a_set_as_a_column_and_a_number_above_all_floats_are_refused():
    with pytest.raises(ValueError, match="column 'a' is a set, which has no order: write a list or an array"):
        BayesianNB().fit({"a": {1, 2}}, [0, 1])
    with pytest.raises(RefusedError, match="column 'a' holds a number above all floats in row 1: divide") as error:
        BayesianNB().fit({"a": [1, 10**400]}, [0, 1])
    assert error.value.row == 1


def test_names_of_columns_may_be_tuples_in_every_question():
    named = {("a", 1): [1.0, 2.0, 3.5, 4.0], ("b", 2): list("pqpq")}
    plain = {"a": [1.0, 2.0, 3.5, 4.0], "b": list("pqpq")}
    new = {name: [None] for name in named}
    clf, same = BayesianNB().fit(named, Y), BayesianNB().fit(plain, Y)
    found = nb.design.ask_next(clf, new)
    expected = nb.design.ask_next(same, {name: [None] for name in plain})
    assert found.index.tolist() == [{"a": ("a", 1), "b": ("b", 2)}[name] for name in expected.index]
    assert_allclose(found, expected)
