"""Bad input is refused before anything has changed, and the message says what is wrong, where, and what to do."""

from __future__ import annotations

import csv
import datetime
import io
import json
import pickle
import re
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import NotFittedError

from bayesnb import (
    BayesianNB,
    Bernoulli,
    Beta,
    Binned,
    BoundaryError,
    Categorical,
    Dirichlet,
    Gamma,
    Gaussian,
    GaussianKnownVariance,
    ImproperError,
    Multinomial,
    Normal,
    NormalGamma,
    Poisson,
)
from bayesnb.cli import main
from bayesnb.data import readers

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


def refused_by(clf: BayesianNB, verb: str, bad: tuple, words: tuple, error: type[Exception] = ValueError) -> None:
    """Check that the method raises the error with the words and changes nothing."""
    with unchanged(clf), pytest.raises(error, match=said(*words)):
        getattr(clf, verb)(*bad)


def refused(
    bad: tuple,
    words: tuple,
    error: type[Exception] = ValueError,
    features: Any = None,
    good: tuple = (X, Y),
    verbs: tuple = ("fit", "partial_fit", "forget"),
    **options: Any,
) -> None:
    """Check that a new estimator refuses to learn the rows, and that a fitted one also refuses to forget them."""
    fresh = BayesianNB(features, **options)
    for verb in ("fit", "partial_fit"):
        refused_by(fresh, verb, bad, words, error)
        with pytest.raises(NotFittedError):
            fresh.predict(good[0])
    fitted = BayesianNB(features, **options).fit(*good)
    for verb in verbs:
        refused_by(fitted, verb, bad, words, error)


def one(values: Any, name: str = "v") -> pd.DataFrame:
    return pd.DataFrame({name: values})


# --- Tables that are no tables ---


def test_columns_of_different_lengths_are_named_with_their_lengths():
    refused(({"size": [1.0, 2.0], "hue": ["u"]}, list("ab")), ("one length", "'size': 2", "'hue': 1"))


def test_an_invalid_column_is_named():
    refused(({"size": 3.0, "hue": ["u", "v"]}, list("ab")), ("'size'",), (TypeError, ValueError))


@pytest.mark.parametrize(
    "empty", [pd.DataFrame(), X.iloc[:0], {}, pl.DataFrame(), np.zeros((0, 2))], ids=lambda x: type(x).__name__
)
def test_an_empty_table_is_refused_with_how_many_rows_are_needed(empty):
    refused((empty, []), ("0 sample(s)", "minimum of 1"), verbs=("fit",))


@pytest.mark.parametrize("empty", [X[[]], np.zeros((4, 0)), pl.DataFrame({"a": [1]}).select([])])
def test_a_table_without_columns_is_refused(empty):
    pattern = "no column to learn from|0 feature|0 sample"
    clf = BayesianNB()
    with unchanged(clf), pytest.raises(ValueError, match=pattern):
        clf.fit(empty, Y)


@pytest.mark.parametrize("bad", [np.zeros(4), np.zeros((4, 2, 2)), pd.Series([1.0, 2.0, 3.0, 4.0]), "abcd", None])
def test_an_array_without_two_dimensions_is_refused(bad):
    clf = BayesianNB()
    with unchanged(clf), pytest.raises((ValueError, TypeError), match=r"2D|2-dimensional|dim 3"):
        clf.fit(bad, Y)


@pytest.mark.parametrize(
    "twice",
    [X.set_axis(["size", "size"], axis=1), pa.table([[1, 2, 3, 4], [1, 2, 3, 4]], names=["size", "size"])],
    ids=["pandas", "pyarrow"],
)
def test_a_duplicate_column_name_is_named(twice):
    refused((twice, Y), ("must be unique", "'size'", "2 times"))


def test_a_duplicate_column_name_is_named_at_predict():
    clf = BayesianNB().fit(X, Y)
    refused_by(clf, "predict", (X.set_axis(["size", "size"], axis=1),), ("must be unique", "'size'"))


# --- Targets and weights ---


@pytest.mark.parametrize(
    "y",
    [[None] * 4, [np.nan] * 4, pd.Series([pd.NA] * 4, dtype="string"), pl.Series([None] * 4, dtype=pl.String)],
    ids=["None", "NaN", "pd.NA", "polars"],
)
def test_a_target_that_is_all_missing_is_refused(y):
    refused((X, y), ("no row has a label", "y is missing everywhere"))


@pytest.mark.parametrize(
    "y",
    [
        ["a", "b", None, "b"],
        [0.0, 1.0, np.nan, 1.0],
        pd.Series(["a", "b", pd.NA, "b"], dtype="string"),
        pd.Series([0, 1, pd.NA, 1], dtype="Int64"),
        pd.Series(pd.Categorical(["a", "b", None, "b"])),
        pl.Series(["a", "b", None, "b"]),
    ],
    ids=["None", "NaN", "string", "Int64", "categorical", "polars"],
)
def test_a_partly_missing_target_is_refused_where_only_labels_count_with_the_first_such_row_and_the_cure(y):
    words = ("y is missing in 1 of 4 rows", "row 2", "drop those rows")
    refused_by(BayesianNB(), "partial_fit", (X, y), words)
    for verb in ("partial_fit", "forget", "loo"):
        refused_by(BayesianNB().fit(X, Y), verb, (X, y), words)


def test_a_target_of_the_wrong_length_is_refused_with_both_lengths():
    refused((X, Y[:3]), ("4 rows", "3"))


def test_a_missing_target_argument_is_refused():
    refused((X, None), ("requires y",))


def test_a_target_of_two_columns_is_refused():
    refused((X, np.array([Y, Y]).T), ("1d array", "(4, 2)"))


def test_a_target_of_continuous_numbers_is_refused():
    refused((X, [0.1, 0.2, 0.3, 0.4]), ("classif",), good=(X, [0, 1, 0, 1]))


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        ([1.0, -1.0, 1.0, 1.0], ("Negative values", "sample_weight")),
        ([1.0, np.nan, 1.0, 1.0], ("sample_weight", "NaN")),
        ([1.0, np.inf, 1.0, 1.0], ("sample_weight", "infinity")),
        ([1.0, 1.0], ("sample_weight", "(2,)", "(4,)")),
    ],
    ids=["negative", "NaN", "infinite", "too few"],
)
def test_invalid_weights_are_refused(weight, words):
    for clf in (BayesianNB(), BayesianNB().fit(X, Y)):
        for verb in ("fit", "partial_fit", "forget")[: 3 if hasattr(clf, "classes_") else 2]:
            with unchanged(clf), pytest.raises(ValueError, match=said(*words)):
                getattr(clf, verb)(X, Y, sample_weight=weight)


def test_weights_that_are_all_zero_are_refused():
    clf = BayesianNB().fit(X, Y)
    for verb in ("fit", "partial_fit", "forget"):
        with unchanged(clf), pytest.raises(ValueError, match=r"(?i)sample.weight.*zero"):
            getattr(clf, verb)(X, Y, sample_weight=np.zeros(4))


# --- Values that a family cannot read ---


@pytest.mark.parametrize(
    ("family", "value", "shown"),
    [(Poisson(), -2, "-2"), (Poisson(), 2.5, "2.5"), (Poisson(), 1e-9, "1e-09"),
     (Multinomial(), -2, "-2"), (Multinomial(), -0.5, "-0.5")],
    ids=str,
)  # fmt: skip
def test_a_number_that_is_no_count_is_named_with_its_column_row_and_cure(family, value, shown):
    words = ("column 'v'", f"holds {shown} ", "row 2", type(family).__name__, "needs a count", "use Gaussian()")
    refused((one([1, 0, value, 3]), Y), words, features={"v": family}, good=(one([1, 0, 2, 3]), Y))


@pytest.mark.parametrize("family", [Poisson(), Multinomial()], ids=lambda f: type(f).__name__)
def test_a_wrong_count_in_an_array_is_named_by_its_position(family):
    bad, good = np.array([[1, 2], [0, 1], [1, -3], [2, 2]]), np.ones((4, 2), int)
    refused((bad, Y), ("column 'x1'", "holds -3 ", "row 2"), features=family, good=(good, Y))


@pytest.mark.parametrize(("value", "shown"), [(-3.0, "-3"), (np.inf, "inf"), (np.nan, "nan")])
@pytest.mark.parametrize("layout", [sparse.csr_array, sparse.csc_array, sparse.coo_array])
def test_a_wrong_count_in_a_sparse_matrix_is_named_with_its_column_and_row(layout, value, shown):
    dense = np.array([[1.0, 0.0], [0.0, 2.0], [4.0, value], [0.0, 1.0]])
    words = ("column 'x1'", f"holds {shown} ", "row 2", "Multinomial", "count")
    refused((layout(dense), Y), words, features=Multinomial(), good=(sparse.csr_array(np.eye(4, 2)), Y))


@pytest.mark.parametrize(("value", "shown"), [(2, "2"), (-1, "-1"), (0.5, "0.5")])
def test_a_value_that_is_not_0_or_1_is_named_with_its_column_row_and_cure(value, shown):
    words = ("column 'v'", f"holds {shown} ", "row 2", "Bernoulli", "0 or 1", "Categorical()", "Gaussian()")
    refused((one([1, 0, value, 0]), Y), words, features={"v": Bernoulli()}, good=(one([1, 0, 1, 0]), Y))
    clf = BayesianNB({"v": Bernoulli()}).fit(one([1, 0, 1, 0]), Y)
    refused_by(clf, "predict", (one([1, 0, value, 0]),), words)


@pytest.mark.parametrize("value", [2.0, -1.0, 0.5, np.nan])
def test_a_value_that_is_not_0_or_1_in_a_sparse_matrix_is_named(value):
    bad = sparse.csr_array(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, value], [0.0, 0.0]]))
    words = ("column 'x1'", f"holds {value:g} ", "row 2", "0 or 1")
    refused((bad, Y), words, features=Bernoulli(), good=(sparse.csr_array(np.eye(4, 2)), Y))


def test_a_sparse_cell_stored_in_two_parts_is_read_as_their_sum():
    indices, indptr = np.array([0, 0, 0, 1, 1]), np.array([0, 2, 3, 4, 5])
    ones = sparse.csr_array((np.ones(5), indices, indptr), shape=(4, 2))
    clf = BayesianNB(Bernoulli())
    refused_by(clf, "fit", (ones, Y), ("column 'x0'", "holds 2 ", "row 0", "0 or 1"))
    halves = sparse.csr_array((np.array([0.5, 0.5, 1.0, 1.0, 1.0]), indices, indptr), shape=(4, 2))
    counts = BayesianNB(Multinomial()).fit(halves, Y).statistics_.features["x"].counts
    assert_array_equal(counts, [[1, 1], [1, 1]])
    assert ones.nnz == 5, "the caller's matrix is the caller's"


@pytest.mark.parametrize("family", [Poisson(), Categorical(), Binned(2)], ids=lambda f: type(f).__name__)
def test_a_sparse_matrix_for_a_family_that_needs_all_cells_is_refused_with_the_cure(family):
    clf = BayesianNB(family)
    refused_by(clf, "fit", (sparse.csr_array(np.eye(4)), Y), ("sparse", type(family).__name__, "toarray()"))


def test_an_exposure_that_is_not_positive_is_named():
    good = pd.DataFrame({"seen": [1, 2, 3, 4], "hours": [1.0, 2.0, 3.0, 4.0]})
    bad = good.assign(hours=[1.0, 2.0, 0.0, 4.0])
    words = ("column 'hours'", "is 0 ", "row 2", "positive")
    refused((bad, Y), words, features={"seen": Poisson(exposure="hours")}, good=(good, Y))


def test_a_row_of_words_that_is_partly_missing_is_named_with_the_cure():
    good = np.ones((4, 2))
    bad = np.array([[1, 2], [0, 1], [1, np.nan], [2, 2]])
    refused((bad, Y), ("column 'x1'", "row 2", "write 0"), features=Multinomial(), good=(good, Y))


@pytest.mark.parametrize("value", [np.inf, -np.inf])
@pytest.mark.parametrize(
    "family",
    [None, Gaussian(), GaussianKnownVariance(variance=1.0), Bernoulli(), Poisson(), Multinomial(), Binned(2)],
    ids=lambda f: type(f).__name__,
)
def test_an_infinite_value_is_named_with_its_column_row_and_cure(family, value):
    # Numbers that every family could read.
    good, bad = pd.DataFrame({"a": [0.0, 1, 1, 0], "b": [1.0, 0, 1, 0]}), pd.DataFrame({"a": [0.0, 1, 1, 0]})
    bad["b"] = [1.0, 0.0, value, 0.0]
    words = ("infinite", "row 2", "missing value (NaN)")
    features = None if family is None else {"b": family}
    refused((bad, Y), ("column 'b'", *words), features=features, good=(good, Y))
    refused((bad.to_numpy(), Y), ("column 'x1'", *words), features=family, good=(good.to_numpy(), Y))
    clf = BayesianNB(features).fit(good, Y)
    refused_by(clf, "predict_proba", (bad,), ("column 'b'", *words))


def test_infinities_of_both_signs_in_one_array_are_named_too():
    bad = np.array([[1.0, 2.0], [np.inf, 3.0], [-np.inf, 4.0], [1.0, np.inf]])
    clf = BayesianNB()
    refused_by(clf, "fit", (bad, Y), ("column 'x0'", "infinite", "row 1"))


@pytest.mark.parametrize("text", [["1", "x", "2", "3"], pd.Categorical(["1", "x", "2", "3"])], ids=["str", "category"])
@pytest.mark.parametrize(
    "family", [Gaussian(), Bernoulli(), Poisson(), Multinomial(), Binned(2)], ids=lambda f: type(f).__name__
)
def test_text_for_a_family_of_numbers_is_named_with_an_example_and_the_cure(family, text):
    words = ("column 'v'", "text", "'1'", "numbers are needed", "features={'v': Categorical()}")
    refused((one(text), Y), words, features={"v": family}, good=(one([0, 1, 1, 0]), Y))


def test_text_where_numbers_were_fitted_is_named_with_an_example_and_the_cure():
    clf = BayesianNB().fit(X, Y)
    words = ("column 'size'", "text", "'big'", "numbers are needed", "convert it")
    for verb, arguments in (("predict", ()), ("partial_fit", (Y,)), ("forget", (Y,))):
        refused_by(clf, verb, (X.assign(size="big"), *arguments), words)


@pytest.mark.parametrize("value", [3, 3.5, True])
def test_numbers_where_text_was_fitted_are_named_with_the_cure(value):
    clf = BayesianNB().fit(X, Y)
    words = ("column 'hue'", "fitted with text", "convert it")
    for verb, arguments in (("predict", ()), ("partial_fit", (Y,)), ("forget", (Y,))):
        refused_by(clf, verb, (X.assign(hue=value), *arguments), words)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (pd.to_datetime(["2020-01-01"] * 4), ("datetime64", "days since", "categories")),
        (pd.to_timedelta([1, 2, 3, 4], unit="D"), ("timedelta64", "categories")),
        ([datetime.date(2020, 1, 1)] * 4, ("datetime.date(2020, 1, 1)", "string or a number")),
        (pd.period_range("2020", periods=4), ("Period", "string or a number")),
    ],
    ids=["datetime", "timedelta", "date objects", "periods"],
)
def test_dates_are_refused_with_their_column_and_the_cure(values, words):
    for features in (None, {"v": Gaussian()}, {"v": Categorical()}):
        clf = BayesianNB(features)
        refused_by(clf, "fit", (X.assign(v=values), Y), ("column 'v'", *words), (TypeError, ValueError))


def test_dates_of_other_frames_are_refused_with_their_column_and_the_cure():
    dates = [datetime.date(2020, 1, day) for day in (1, 2, 3, 4)]
    clf = BayesianNB()
    refused_by(clf, "fit", (pl.DataFrame({"v": dates}), Y), ("column 'v'", "Date", "days since"))
    array = np.array(dates, "datetime64[D]")[:, None]
    refused_by(clf, "fit", (array, Y), ("column 'x0'", "datetime64", "days since"))


@pytest.mark.parametrize(
    "values",
    [[[1], [2], [3], [4]], [{"a": 1}] * 4, [(1, 2), None, 3, 4], [{1}, {2}, {3}, {4}], [1j, 2.0, 3.0, 4.0]],
    ids=["lists", "dicts", "a tuple", "sets", "complex"],
)
@pytest.mark.parametrize(
    "features", [None, {"v": Categorical()}, {"v": Gaussian()}], ids=["by type", "as levels", "as reals"]
)
def test_nested_objects_are_refused_with_their_column_and_the_object(values, features):
    bad = X.assign(v=pd.Series(values, dtype=object))
    words = ("column 'v'", repr(values[0]), "string or a number")
    clf = BayesianNB(features)
    refused_by(clf, "fit", (bad, Y), words, (TypeError, ValueError))


@pytest.mark.parametrize("values", [[[1], [2], [3], [4]], [{"a": 1}] * 4], ids=["lists", "structs"])
def test_nested_columns_of_polars_are_refused_with_their_column(values):
    clf = BayesianNB()
    refused_by(clf, "fit", (pl.DataFrame({"v": values}), Y), ("column 'v'", "which no family reads", "leave it out"))


NESTED = [np.zeros(3), np.ones(3)]


@pytest.mark.parametrize(
    ("cells", "shown"),
    [
        (NESTED, "array"),
        ([Decimal("sNaN"), Decimal(1)], "sNaN"),
        ([1, object()], "object"),
        ([1j, 2], "1j"),
    ],
    ids=["arrays", "signalling NaN", "object", "complex"],
)
@pytest.mark.parametrize("features", [None, Gaussian(), Categorical()], ids=["by type", "Gaussian", "Categorical"])
@pytest.mark.parametrize("table", ["dict", "pandas", "parts"])
def test_a_cell_that_is_neither_text_nor_number_is_named_with_its_column(cells, shown, features, table):
    column = np.empty(2, object)
    column[:] = cells
    columns, y = {"a": column}, ["u", "v"]
    X = {"dict": columns, "pandas": pd.DataFrame(columns), "parts": iter([pd.DataFrame(columns | {"y": y})])}[table]
    with pytest.raises(ValueError, match=rf"column 'a' holds .*{shown}"):
        BayesianNB(features).fit(X, "y" if table == "parts" else y)


@pytest.mark.parametrize("names", [(None, "b"), (float("nan"), "b"), (None, float("nan")), ("b", pd.NA)])
@pytest.mark.parametrize("make", [dict, pd.DataFrame], ids=["dict", "pandas"])
def test_a_column_whose_name_is_missing_is_named_by_its_position(names, make):
    with pytest.raises(ValueError, match=r"column at position \d is named .*: give it one"):
        BayesianNB().fit(make({names[0]: [1, 2], names[1]: [3, 4]}), [0, 1])


def test_a_column_name_with_half_of_a_character_is_refused():
    half = pd.DataFrame([[1.0], [2.0]], columns=pd.Index(["\ud800"], dtype=object))
    for table in ({"\ud800": [1.0, 2.0]}, half, iter([half.assign(y=[0, 1])])):
        with pytest.raises(ValueError, match="lone surrogate"):
            BayesianNB().fit(table, "y" if isinstance(table, Iterator) else [0, 1])


def test_an_integer_too_large_for_a_float_is_named_with_its_column():
    clf = BayesianNB({"v": Gaussian()})
    refused_by(clf, "fit", (one([10**400, 1, 2, 3]), Y), ("column 'v'",), (ValueError, OverflowError))


# --- Unlearning ---


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ((X, list("abzb")), ("class 'z'", "never learned", "cannot be unlearned")),
        ((pd.concat([X, X]), Y + Y), ("class 'a'", "weight 2", "4 cannot be unlearned")),
        ((X, Y, [1.0, 1.0, 1.5, 1.0]), ("class 'a'", "weight 2", "2.5 cannot be unlearned")),
        ((X.assign(size=1e6).iloc[:1], Y[:1]), ("feature 'size'", "never learned")),
        ((X.assign(hue=[None] * 4).iloc[:1], Y[:1]), ()),
    ],
    ids=["a class", "too many rows", "too much weight", "another number", "nothing"],
)
def test_forgetting_rows_that_were_never_learned_is_refused(bad, words):
    clf = BayesianNB().fit(X, Y)
    if words:
        refused_by(clf, "forget", bad, words)
    else:
        assert clf.forget(*bad).class_count_.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("level", ["w", "v"], ids=["never seen", "never seen in this class"])
def test_a_level_that_was_never_learned_is_named_with_its_class(level):
    clf = BayesianNB().fit(X, Y)
    bad = X.assign(hue=[level, "v", "u", "v"])
    refused_by(clf, "forget", (bad, Y), ("feature 'hue'", "class 'a'", f"level {level!r}", "never learned"))


@pytest.mark.parametrize(
    ("family", "bad"),
    [(Bernoulli(), [1, 0, 1, 1]), (Poisson(), [9, 0, 9, 1]), (Multinomial(), [9, 0, 9, 1])],
    ids=lambda value: type(value).__name__,
)
def test_counts_that_were_never_learned_are_named_with_their_feature(family, bad):
    clf = BayesianNB({"v": family}).fit(one([0, 0, 0, 1]), Y)
    refused_by(clf, "forget", (one(bad), Y), ("feature 'v'", "never learned"))


def test_an_unfitted_estimator_cannot_forget():
    clf = BayesianNB()
    refused_by(clf, "forget", (X, Y), ("not fitted",), NotFittedError)


# --- Tables to predict ---


def test_a_column_that_is_absent_is_named_with_the_cure():
    clf = BayesianNB().fit(X, Y)
    for verb in ("predict", "predict_proba", "predict_joint_log_proba", "sample_proba"):
        refused_by(clf, verb, (X[["size"]],), ("column 'hue'", "['size']", 'absent="missing"'))
    refused_by(clf, "partial_fit", (X[["size"]], Y), ("column 'hue'", "not in this table"))


def test_the_error_for_an_absent_column_offers_a_similar_name():
    clf = BayesianNB().fit(X, Y)
    with (
        pytest.warns(UserWarning, match="'huue'"),
        pytest.raises(ValueError, match=said("'hue'", "did you mean 'huue'")),
    ):
        clf.predict(X.rename(columns={"hue": "huue"}))


def test_a_column_that_may_be_absent_is_integrated_out():
    clf = BayesianNB(absent="missing").fit(X, Y)
    assert_allclose(clf.predict_proba(X[["size"]]), clf.predict_proba(X.assign(hue=None)), rtol=1e-12)
    assert_allclose(clf.predict_proba(X[["size"]]), BayesianNB().fit(X[["size"]], Y).predict_proba(X[["size"]]))
    assert_allclose(clf.predict_proba(X[["hue"]]), BayesianNB().fit(X[["hue"]], Y).predict_proba(X[["hue"]]))


def test_extra_columns_are_ignored_with_a_warning_that_names_them():
    clf = BayesianNB().fit(X, Y)
    with pytest.warns(UserWarning, match=said("['weight']", "ignored")):
        proba = clf.predict_proba(X.assign(weight=3.0))
    assert_array_equal(proba, clf.predict_proba(X))


def test_reordered_columns_give_the_same_answer():
    X3 = X.assign(n=[1, 5, 2, 2], m=[0, 3, 1, 1])
    clf = BayesianNB({"words": (Multinomial(), ["n", "m"])}).fit(X3, Y)
    turned = X3[["m", "hue", "n", "size"]]
    assert_array_equal(clf.predict_proba(turned), clf.predict_proba(X3))
    again = BayesianNB({"words": (Multinomial(), ["n", "m"])}).fit(X3, Y).partial_fit(turned, Y)
    twice = BayesianNB({"words": (Multinomial(), ["n", "m"])}).fit(X3, Y).partial_fit(X3, Y)
    assert_array_equal(again.predict_proba(X3), twice.predict_proba(X3))


def test_an_array_with_another_number_of_columns_is_refused_with_both_numbers():
    clf = BayesianNB().fit(X[["size"]].to_numpy(), Y)
    refused_by(clf, "predict", (np.ones((2, 3)),), ("3 features", "expecting 1"))


def test_predicting_before_learning_is_refused():
    clf = BayesianNB()
    for verb in ("predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba", "sample_proba"):
        refused_by(clf, verb, (X,), ("not fitted",), NotFittedError)
    refused_by(clf, "loo", (X, Y), ("not fitted",), NotFittedError)
    with unchanged(clf), pytest.raises(NotFittedError):
        _ = clf.log_evidence_


@pytest.mark.parametrize("verb", ["sample", "describe", "tables", "linear_form"])
def test_inspecting_an_unfitted_estimator_is_refused(verb: str):
    refused_by(BayesianNB(), verb, (), ("not fitted",), NotFittedError)


# --- Unseen levels ---


def unseen_probabilities(policy: str) -> np.ndarray:
    frame = pd.DataFrame({"hue": list("uuvuvw")})
    clf = BayesianNB(unseen=policy).fit(frame, list("aaabbb"))
    return np.exp(clf.predict_joint_log_proba(pd.DataFrame({"hue": ["never", "u"]})))


def test_with_unseen_missing_an_unseen_level_is_integrated_out():
    assert_allclose(unseen_probabilities("missing"), [[1 / 2, 1 / 2], [1 / 2 * 3 / 6, 1 / 2 * 2 / 6]])


def test_with_unseen_new_an_unseen_level_has_the_reserved_cell():
    assert_allclose(unseen_probabilities("new"), [[1 / 2 * 1 / 7, 1 / 2 * 1 / 7], [1 / 2 * 3 / 7, 1 / 2 * 2 / 7]])


def test_with_unseen_error_an_unseen_level_is_named_with_its_column_row_and_cure():
    clf = BayesianNB(unseen="error").fit(X, Y)
    words = ("column 'hue'", "'never'", "row 2", "never seen", "['u', 'v']", 'unseen="missing"')
    refused_by(clf, "predict", (X.assign(hue=["u", None, "never", "v"]),), words)
    assert clf.partial_fit(X.assign(hue="never"), Y).predict(X.assign(hue="never")).shape == (4,)


# --- What is told of the columns ---


@pytest.mark.parametrize(
    ("features", "words", "error"),
    [
        ({"sise": Gaussian()}, ("'sise'", "['size', 'hue']", "did you mean 'size'"), ValueError),
        ({"size": Poisson(exposure="hu")}, ("'hu'", "did you mean 'hue'"), ValueError),
        ({"g": (Gaussian(), ["size", "syze"])}, ("'syze'", "did you mean 'size'"), ValueError),
        ({5: Gaussian()}, ("column 5", "['size', 'hue']"), ValueError),
        ({"g": (Gaussian(), ["size"]), "size": Gaussian()}, ("column 'size'", "more than one feature"), ValueError),
        ({"g": (Gaussian(), ["size", "size"])}, ("column 'size'", "more than one"), ValueError),
        ({"size": "weibull"}, ("features['size']", "no family 'weibull'", "poisson", "binned"), ValueError),
        ({"size": Gaussian}, ("features['size']", "Expected a family", "Gaussian"), TypeError),
        ({"size": None}, ("features['size']", "Expected a family", "None"), TypeError),
        ({"size": NormalGamma()}, ("features['size']", "Expected a family", "NormalGamma"), TypeError),
        ([Gaussian()], ("features", "{column: family}", "Poisson()", "[Gaussian("), TypeError),
        ("gausian", ("no family 'gausian'", "did you mean 'gaussian'"), ValueError),
        ({"size": (Gaussian(),)}, ("features['size']", "Expected a family", "columns"), (TypeError, ValueError)),
        ({"g": (Gaussian(), [])}, ("features['g']", "column"), (TypeError, ValueError)),
    ],
    ids=[
        "unknown column",
        "unknown exposure",
        "unknown column of several",
        "unknown position",
        "one column told twice",
        "one column twice in one feature",
        "text",
        "a class",
        "nothing",
        "a prior",
        "a list",
        "one text for all",
        "a tuple of one",
        "no columns",
    ],
)
def test_a_wrong_specification_of_columns_is_named_with_what_was_expected(features, words, error):
    clf = BayesianNB(features)
    for verb in ("fit", "partial_fit"):
        refused_by(clf, verb, (X, Y), words, error)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"estimate": "bayes"}, ("estimate", "'bayes'", "mle", "map", "mean", "predictive")),
        ({"unseen": "ignore"}, ("unseen", "'ignore'", "missing", "new", "error")),
        ({"absent": "ignore"}, ("absent", "'ignore'", "missing", "error")),
        ({"class_prior": "flat"}, ("class prior", "'flat'", "frequencies", "uniform", "Dirichlet")),
    ],
    ids=["estimate", "unseen", "absent", "class_prior"],
)
def test_an_unknown_choice_is_refused_with_the_known_ones(options, words):
    clf = BayesianNB(**options)
    for verb in ("fit", "partial_fit"):
        refused_by(clf, verb, (X, Y), words)


@pytest.mark.parametrize(
    ("class_prior", "words"),
    [
        ({"a": 0.5, "z": 0.5}, ("class prior", "each class, ['a', 'b', 'z']", "['a', 'z']", "'b' is missing")),
        ({"a": 1.0}, ("class prior", "each class, ['a', 'b']", "got ['a']", "'b' is missing")),
        ([0.25, 0.25, 0.5], ("class prior", "each class ['a', 'b']", "0.25")),
        ({"a": 0.3, "b": 0.3}, ("sum to 1", "0.6")),
        ({"a": 1.5, "b": -0.5}, ("0 or more", "-0.5", "class 'b'")),
        ([np.nan, 1.0], ("0 or more", "nan", "place 0")),
        (Dirichlet({"a": 1.0}), ("class prior", "'b'", "['a']")),
        (Dirichlet([1.0, 2.0, 3.0]), ("class prior", "['a', 'b']", "(3,)")),
    ],
    ids=["unknown", "lacking", "too long", "sum", "negative", "NaN", "Dirichlet lacks", "Dirichlet shape"],
)
def test_a_class_prior_that_does_not_fit_the_classes_is_refused_with_both(class_prior, words):
    clf = BayesianNB(class_prior=class_prior)
    for verb in ("fit", "partial_fit"):
        refused_by(clf, verb, (X, Y), words)


@pytest.mark.parametrize("class_prior", [Beta(), {"a": "x", "b": 0.5}, object()], ids=["Beta", "text", "object"])
def test_a_class_prior_of_another_type_is_refused_by_its_name(class_prior):
    clf = BayesianNB(class_prior=class_prior)
    refused_by(clf, "fit", (X, Y), ("class",), (TypeError, ValueError))


def test_a_class_prior_that_lacks_a_later_class_is_refused_and_nothing_is_learned():
    clf = BayesianNB(class_prior={"a": 0.5, "b": 0.5}).fit(X, Y)
    refused_by(clf, "partial_fit", (X, list("abza")), ("class prior", "'z' is missing", "['a', 'b']"))


@pytest.mark.parametrize(
    ("features", "words"),
    [
        ({"hue": Categorical({"a": Dirichlet()})}, ("feature 'hue'", "class 'b'", "['a']")),
        ({"size": Gaussian({"b": NormalGamma()})}, ("feature 'size'", "class 'a'", "['b']")),
        ({"hue": Categorical(Dirichlet({"u": 1.0}))}, ("feature 'hue'", "level", "'v'", "['u']")),
        ({"hue": Categorical(Dirichlet([1.0, 2.0, 3.0]))}, ("feature 'hue'", "['u', 'v']", "(3,)", "{level:")),
        ({"hue": Categorical(Dirichlet(np.ones((3, 2))))}, ("feature 'hue'", "2 classes", "(3, 2)", "{class:")),
        (
            {"size": Gaussian(NormalGamma(m=[[1.0], [2.0], [3.0]]))},
            ("feature 'size'", "(2, 1)", "(3, 1)", "{class: prior}"),
        ),
        (
            {"size": GaussianKnownVariance(variance=1.0, prior=Normal(np.ones((3, 1))))},
            ("feature 'size'", "(2, 1)", "(3, 1)", "{class: prior}"),
        ),
        (
            {"size": GaussianKnownVariance(variance=[1.0, 2.0])},
            ("feature 'size'", "variance", "1 columns", "[1.0, 2.0]"),
        ),
        ({"size": Poisson(Gamma(np.ones((3, 1)), 1.0))}, ("feature 'size'", "(2, 1)", "(3, 1)", "{class: prior}")),
    ],
    ids=[
        "lacks a class",
        "lacks the first class",
        "lacks a level",
        "levels",
        "classes",
        "NormalGamma",
        "Normal",
        "variance",
        "Gamma",
    ],
)
def test_a_prior_that_does_not_fit_is_refused_with_the_feature_and_both_shapes(features, words):
    clf = BayesianNB(features)
    for verb in ("fit", "partial_fit"):
        refused_by(clf, verb, (X, Y), words)


def test_a_prior_of_the_wrong_shape_for_a_bernoulli_feature_is_refused_with_the_feature_and_both_shapes():
    clf = BayesianNB({"v": Bernoulli(Beta(np.ones((3, 1))))})
    refused_by(clf, "fit", (one([0, 1, 1, 0]), Y), ("feature 'v'", "(2, 1)", "(3, 1)", "{class: prior}"))


def test_a_prior_that_lacks_a_later_level_or_class_is_refused_and_nothing_is_learned():
    clf = BayesianNB({"hue": Categorical(Dirichlet({"u": 1.0, "v": 2.0}))}).fit(X, Y)
    refused_by(clf, "partial_fit", (X.assign(hue="w"), Y), ("feature 'hue'", "'w'", "['u', 'v']"))
    clf = BayesianNB({"size": Gaussian({"a": NormalGamma(), "b": NormalGamma()})}).fit(X, Y)
    refused_by(clf, "partial_fit", (X, list("abza")), ("feature 'size'", "class 'z'", "['a', 'b']"))


@pytest.mark.parametrize("variance", [0.0, -1.0, np.nan, np.inf, [1.0, 0.0]], ids=str)
def test_a_known_variance_that_is_not_positive_is_refused(variance):
    with pytest.raises(ValueError, match=said("variance", "positive")):
        BayesianNB({"size": GaussianKnownVariance(variance=variance)}).fit(X, Y)


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
    clf = BayesianNB({"v": family})
    for verb in ("fit", "partial_fit"):
        refused_by(clf, verb, (one(values), Y), ("feature 'v'", "class 'a'", "proper"), ImproperError)


def test_forgetting_that_leaves_an_improper_posterior_is_refused_and_changes_nothing():
    clf = BayesianNB({"v": Gaussian(NormalGamma.flat())}).fit(one([1.0, 2.0, 4.0, 3.0]), Y)
    refused_by(clf, "forget", (one([1.0]), ["a"]), ("feature 'v'", "class 'a'", "proper"), ImproperError)


def test_an_improper_prior_has_no_evidence_and_the_error_names_the_feature():
    clf = BayesianNB({"size": Gaussian(NormalGamma.flat())}).fit(X, Y)
    with unchanged(clf), pytest.raises(AttributeError, match=said("feature 'size'", "no evidence", "proper one")):
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
    frame = one(values).assign(w=[1, 0, 1, 0])
    features = {"v": (family, ["v", "w"])} if isinstance(family, Multinomial) else {"v": family}
    clf = BayesianNB(features, estimate="map")
    refused_by(clf, "fit", (frame, Y), (*words, 'estimate="mean"'), BoundaryError)
    assert BayesianNB(features, estimate="mean").fit(frame, Y).predict_proba(frame).shape == (4, 2)


def test_a_mode_of_the_classes_on_the_boundary_is_refused_with_the_class():
    clf = BayesianNB(estimate="map", class_prior=Dirichlet(0.5))
    words = ("class prior", "class 'c'", "0.5 < 1", 'estimate="mean"')
    with unchanged(clf), pytest.raises(BoundaryError, match=said(*words)):
        clf.partial_fit(one([0, 1, 0, 1]), Y, classes=list("abc"))


# --- Merging ---


def test_merging_models_of_different_features_is_refused():
    clf, other = BayesianNB().fit(X, Y), BayesianNB().fit(X.rename(columns={"hue": "tint"}), Y)
    with unchanged(other):
        refused_by(clf, "merge", (other,), ("different features", "'hue'", "'tint'"))
    refused_by(clf, "merge", (BayesianNB().fit(X[["size"]], Y),), ("different features", "'hue'"))


@pytest.mark.parametrize(
    ("mine", "theirs", "words"),
    [
        (Gaussian(), Poisson(), ("family", "Gaussian", "Poisson")),
        (Gaussian(), Gaussian(NormalGamma.flat()), ("family", "kappa=1", "kappa=0")),
        (Binned(edges=[1.0, 2.0]), Binned(edges=[1.0, 3.0]), ("cuts", "2.0", "3.0")),
        (Binned(2), Binned(3), ("cuts",)),
        (Binned(2), Gaussian(), ("family",)),
    ],
    ids=["families", "priors", "edges", "bins", "cut and whole"],
)
def test_merging_models_that_read_a_feature_differently_is_refused(mine, theirs, words):
    clf, other = (BayesianNB({"size": family}).fit(X, Y) for family in (mine, theirs))
    with unchanged(other):
        refused_by(clf, "merge", (other,), ("feature 'size'", *words))


def test_merging_models_whose_levels_are_text_and_numbers_is_refused():
    clf = BayesianNB({"hue": Categorical()}).fit(X, Y)
    other = BayesianNB({"hue": Categorical()}).fit(X.assign(hue=[1, 2, 1, 2]), Y)
    refused_by(clf, "merge", (other,), ("'hue'", "text", "numbers"))


def test_a_merged_model_remembers_the_types_of_the_columns():
    unknown = X.assign(hue=pd.Series([None] * 4, dtype=object))
    clf = BayesianNB({"hue": Categorical()}).fit(unknown, Y).merge(BayesianNB({"hue": Categorical()}).fit(X, Y))
    refused_by(clf, "partial_fit", (X.assign(hue=3), Y), ("column 'hue'", "fitted with text"))


def test_merging_models_of_reordered_columns_equals_learning_all_rows():
    turned = BayesianNB().fit(X[["hue", "size"]], Y)
    whole = BayesianNB().fit(pd.concat([X, X]), Y + Y)
    assert_allclose(BayesianNB().fit(X, Y).merge(turned).predict_proba(X), whole.predict_proba(X), rtol=1e-12)


def test_merging_with_an_unfitted_model_is_refused():
    clf = BayesianNB().fit(X, Y)
    refused_by(clf, "merge", (BayesianNB(),), ("not fitted",), NotFittedError)
    refused_by(clf, "merge", (3,), ("3",), TypeError)
    refused_by(BayesianNB(), "merge", (clf,), ("not fitted",), NotFittedError)


@pytest.mark.parametrize("factor", [-0.1, 1.1, np.nan, np.inf])
def test_a_discount_outside_0_to_1_is_refused(factor):
    refused_by(BayesianNB().fit(X, Y), "discount", (factor,), ("between 0 and 1", factor))


# --- Files ---

GOOD = "size,n,ok,y\n1.5,1,True,u\n2.5,2,False,v\n3.5,3,True,u\n4.5,4,False,v\n5.0,5,True,u\n"


@pytest.fixture
def write(tmp_path: Path):
    """Write a file and get its path as text."""

    def write(text: str | bytes, name: str = "table.csv") -> str:
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return str(path)

    return write


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """The command's exit code, stdout and stderr."""
    with pytest.raises(SystemExit) as stop:
        main(list(arguments))
    out, err = capsys.readouterr()
    return stop.value.code or 0, out, err


BAD_FILES = {
    "ragged, short": ("a,b,y\n1,2,u\n3,4\n", ("line 3", "2 cells", "header has 3")),
    "ragged, long": ("a,y\n1,u\n2,v,9\n", ("line 3", "3 cells", "header has 2")),
    "empty": ("", ("is empty",)),
    "header only": ("a,y\n", ("header and no rows",)),
    "header and blank lines": ("a,y\n\n\n", ("header and no rows",)),
    "duplicate header": ("a,a,y\n1,2,u\n", ("must be unique", "'a'", "2 times")),
    "a quote left open": ('a,y\n"1,u\n', ("line",)),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_a_bad_file_is_refused_with_its_name_the_line_and_the_cure(case: str, write):
    text, words = BAD_FILES[case]
    path = write(text)
    with pytest.raises(ValueError, match=said(path, *words)):
        readers.frame(path)


@pytest.mark.parametrize("case", BAD_FILES)
def test_the_command_prints_one_line_about_a_bad_file_and_exits_with_1(case: str, write, capsys):
    text, words = BAD_FILES[case]
    code, out, err = run(capsys, "compare", write(text), "--target", "y")
    assert (code, out) == (1, "")
    assert err.count("\n") == 1
    assert err.startswith("bayesnb: ")
    assert "Traceback" not in err
    assert re.search(said("table.csv", *words), err)


@pytest.mark.parametrize(
    ("name", "data"),
    [("table.csv.gz", b"not gzip"), ("table.parquet", b"not parquet"), ("table.xlsx", b"PK")],
    ids=["gzip", "parquet", "another kind"],
)
def test_a_file_whose_content_does_not_fit_its_name_is_refused_by_name(name: str, data: bytes, write, capsys):
    path = write(data, name)
    with pytest.raises((ValueError, OSError), match=said(path)):
        readers.frame(path)
    code, out, err = run(capsys, "compare", path, "--target", "y")
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert name in err


def test_a_file_that_does_not_exist_is_named(tmp_path: Path, capsys):
    path = str(tmp_path / "none.csv")
    with pytest.raises(FileNotFoundError, match=said(path, "no such file")):
        readers.frame(path)
    assert run(capsys, "compare", path, "--target", "y") == (1, "", f"bayesnb: {path}: no such file\n")


def test_an_empty_folder_is_refused(tmp_path: Path, capsys):
    with pytest.raises(FileNotFoundError, match=said(tmp_path, "is an empty folder")):
        readers.frame(tmp_path)
    assert run(capsys, "compare", f"{tmp_path}/", "--target", "y")[0] == 1


def test_a_folder_of_files_is_one_table(write, tmp_path: Path):
    write("a,y\n1,u\n2,v\n", "1.csv")
    write("a,y\n2.5,u\n", "2.csv")
    expected = pd.DataFrame({"a": [1.0, 2.0, 2.5], "y": ["u", "v", "u"]})
    pd.testing.assert_frame_equal(readers.frame(tmp_path), expected)


def test_a_file_with_a_byte_order_mark_blank_lines_or_compression_is_read(write, tmp_path: Path):
    import gzip

    expected = pd.DataFrame({"a": [1, 2], "y": ["u", "v"]})
    pd.testing.assert_frame_equal(readers.frame(write(b"\xef\xbb\xbfa,y\n1,u\n2,v\n")), expected)
    pd.testing.assert_frame_equal(readers.frame(write("a,y\r\n1,u\r\n\r\n2,v\r\n")), expected)
    pd.testing.assert_frame_equal(readers.frame(write("a\ty\n1\tu\n2\tv\n", "table.tsv")), expected)
    pd.testing.assert_frame_equal(readers.frame(write(gzip.compress(b"a,y\n1,u\n2,v\n"), "table.csv.gz")), expected)


def test_a_target_that_the_file_does_not_have_is_named_with_those_it_has(write, capsys):
    code, out, err = run(capsys, "compare", write(GOOD), "--target", "z")
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert re.search(said("'z'", "['size', 'n', 'ok', 'y']"), err)


def test_a_file_without_the_target_option_exits_with_2(write, capsys):
    code, out, err = run(capsys, "compare", write(GOOD))
    assert (code, out) == (2, "")
    assert re.search(said("--target", "['size', 'n', 'ok', 'y']"), err)
    assert "Traceback" not in err


def test_a_target_without_a_value_is_refused(write, capsys):
    code, out, err = run(capsys, "compare", write("a,y\n1,\n2,\n"), "--target", "y")
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert re.search(said("'y'", "missing in every row"), err)


def test_rows_without_a_class_are_counted_and_left_out(write, capsys):
    code, out, err = run(capsys, "compare", write(GOOD + "6.0,6,True,\n"), "--target", "y", "--format", "csv")
    assert code == 0
    assert "1 rows without a class are left out" in err
    assert run(capsys, "compare", write(GOOD), "--target", "y", "--format", "csv")[1] == out


@pytest.mark.parametrize(
    ("name", "words"),
    [("play-tenis", ("'play-tenis'", "Did you mean 'play-tennis'?")), ("xyzzy", ("'xyzzy'", "play-tennis, buys"))],
)
def test_an_unknown_data_set_is_answered_with_the_known_ones_and_the_closest(name, words, capsys):
    code, out, err = run(capsys, "compare", name)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert re.search(said(*words), err)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("size", ("--row", "'size'", "column=value")),
        ("", ("--row", "column=value")),
        ("sise=1", ("--row", "'sise'", "['size', 'n', 'ok']")),
        ("size=big", ("--row", "size=big", "numbers")),
        ("ok=maybe", ("--row", "ok=maybe", "true and false")),
        ("size=1,size=2", ("--row", "size")),
        ("size=inf", ("size", "inf")),
        ("n=inf", ("n", "inf")),
    ],
    ids=[
        "no value",
        "nothing",
        "unknown column",
        "text",
        "not a bit",
        "a column twice",
        "infinite",
        "infinite integer",
    ],
)
def test_an_invalid_row_option_is_refused_with_its_text(row, words, write, capsys):
    code, out, err = run(capsys, "compare", write(GOOD), "--target", "y", "--row", row)
    assert code in (1, 2)
    assert code == 2 or "--row" not in words
    assert out == ""
    assert "Traceback" not in err
    assert re.search(said(*words), err)


def asked(capsys: pytest.CaptureFixture[str], path: str, *rows: str) -> list[dict[str, float]]:
    """The class probabilities of each row, as printed by the command."""
    options = [word for row in rows for word in ("--row", row)]
    code, out, err = run(capsys, "compare", path, "--target", "y", "--format", "json", "--draws", "20", *options)
    assert code == 0, err
    return [row["estimates"]["predictive"] for row in json.loads(out)["rows"]]


def test_columns_that_a_row_does_not_name_are_missing(write, capsys):
    frame = readers.frame(path := write(GOOD))
    clf = BayesianNB(absent="missing").fit(frame.drop(columns="y"), frame["y"])
    expected = clf.predict_proba(pd.DataFrame({"size": [2.5]}))[0]
    for answer in asked(capsys, path, "size=2.5", "size=2.5,n=,ok="):
        assert list(answer.values()) == pytest.approx(list(expected), rel=1e-9)


def test_a_row_option_may_have_a_fraction_for_a_column_of_integers(write, capsys):
    frame = readers.frame(path := write(GOOD))
    clf = BayesianNB(absent="missing").fit(frame.drop(columns="y"), frame["y"])
    (answer,) = asked(capsys, path, "n=2.5")
    assert list(answer.values()) == pytest.approx(list(clf.predict_proba(pd.DataFrame({"n": [2.5]}))[0]), rel=1e-9)


# --- The command ---


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["frob"],
        ["--frob"],
        ["compare"],
        ["compare", "posts", "--format", "xml"],
        ["compare", "posts", "--cv", "1"],
        ["compare", "posts", "--prob", "2"],
        ["compare", "posts", "--draws", "0"],
    ],
    ids=" ".join,
)
def test_an_invalid_command_exits_with_2_and_prints_no_result(arguments, capsys):
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert "Usage: bayesnb" in err
    assert "Traceback" not in err


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["compare", "--help"], ["--version"]], ids=" ".join)
def test_help_and_version_are_printed_to_stdout_and_exit_with_0(arguments, capsys):
    code, out, err = run(capsys, *arguments)
    assert (code, err) == (0, "")
    assert "bayesnb" in out


def test_a_comparison_exits_with_0_and_prints_only_results_to_stdout(capsys):
    code, out, err = run(capsys, "compare", "play-tennis", "--format", "csv")
    assert code == 0
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["estimate"] for row in rows] == ["mle", "map", "mean", "predictive", "weighted", "pairwise"]
    assert 0 < float(rows[-1]["log_loss"]) < 10
    assert "14 rows" in err
    assert "14 rows" not in out


@pytest.mark.parametrize("layout", ["table", "json", "csv"])
@pytest.mark.parametrize("no_color", [None, "1"])
def test_without_a_terminal_the_output_has_no_colours(no_color, layout: str, capsys, monkeypatch):
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    if no_color:
        monkeypatch.setenv("NO_COLOR", no_color)
    code, out, err = run(capsys, "compare", "play-tennis", "--dependence", "none", "--format", layout, "--draws", "20")
    assert code == 0
    assert out
    assert "\x1b" not in out + err


def test_with_debug_an_error_is_raised(write):
    path = write(BAD_FILES["ragged, short"][0])
    with pytest.raises(ValueError, match="line 3 has 2 cells"):
        main(["--debug", "compare", path, "--target", "y"])


def test_more_folds_than_rows_of_a_class_are_refused_with_their_number(write, capsys):
    code, out, err = run(capsys, "compare", write(GOOD), "--target", "y", "--cv", "4")
    assert (code, out) == (1, "")
    assert re.search(said("4", "smallest class", "(2)"), err)
    assert "Traceback" not in err
