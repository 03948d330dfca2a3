"""Every kind of table is read in the same way; the tests make one mixed table with each constructor."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import OneHotEncoder

import bayesnb as nb
from bayesnb import (
    BayesianNB,
    Bernoulli,
    Binned,
    Categorical,
    Dirichlet,
    Gaussian,
    Multinomial,
    NormalGamma,
    Poisson,
    datasets,
)
from bayesnb.errors import EncodedColumnsWarning
from bayesnb.evaluation import compare_estimates
from bayesnb.inference.questions import QUESTIONS
from bayesnb.priors import UNSEEN

type Columns = Mapping[str, Sequence[Any]]
type Constructor = Callable[..., Any]

# Constructors: columns as lists, and the categories of those that are declared, as a table.


def pandas_default(columns: Columns, declared: Columns | None = None) -> pd.DataFrame:
    frame = pd.DataFrame(columns)
    for name, categories in (declared or {}).items():
        frame[name] = pd.Categorical(columns[name], categories=categories)
    return frame


def pandas_nullable(columns: Columns, declared: Columns | None = None) -> pd.DataFrame:
    return pandas_default(columns, declared).convert_dtypes()


def pandas_pyarrow(columns: Columns, declared: Columns | None = None) -> pd.DataFrame:
    return pandas_default(columns, declared).convert_dtypes(dtype_backend="pyarrow")


def pandas_object(columns: Columns, declared: Columns | None = None) -> pd.DataFrame:
    return pd.DataFrame(columns, dtype=object)


def polars(columns: Columns, declared: Columns | None = None) -> pl.DataFrame:
    return pl.DataFrame(dict(columns))


def polars_categorical(columns: Columns, declared: Columns | None = None) -> pl.DataFrame:
    frame = pl.DataFrame(dict(columns)).with_columns(pl.col(pl.String).cast(pl.Categorical))
    return frame.with_columns(pl.Series(name, columns[name], pl.Enum(c)) for name, c in (declared or {}).items())


def pyarrow(columns: Columns, declared: Columns | None = None) -> pa.Table:
    return pa.table(dict(columns))


def pyarrow_dictionary(columns: Columns, declared: Columns | None = None) -> pa.Table:
    table = pa.table(dict(columns))
    for k, field in enumerate(table.schema):
        if field.name in (declared or {}):
            categories = list(declared[field.name])
            codes = [None if value is None else categories.index(value) for value in columns[field.name]]
            coded = pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(categories))
            table = table.set_column(k, field.name, coded)
        elif pa.types.is_string(field.type):
            table = table.set_column(k, field.name, table.column(k).dictionary_encode())
    return table


def lists(columns: Columns, declared: Columns | None = None) -> dict[str, list[Any]]:
    return {name: list(values) for name, values in columns.items()}


CONSTRUCTORS = {
    make.__name__: make
    for make in (
        pandas_default,
        pandas_nullable,
        pandas_pyarrow,
        pandas_object,
        polars,
        polars_categorical,
        pyarrow,
        pyarrow_dictionary,
        lists,
    )
}
DECLARES_CATEGORIES = [pandas_default, pandas_nullable, pandas_pyarrow, polars_categorical, pyarrow_dictionary]
DECLARES_EVERY_TEXT = (polars_categorical, pyarrow_dictionary)


@pytest.fixture(params=CONSTRUCTORS.values(), ids=CONSTRUCTORS)
def constructor(request: pytest.FixtureRequest) -> Constructor:
    return request.param


# A table of every type of column as lists of Python values, a tenth of the cells None.

GRADES = ["low", "mid", "high", "top"]  # nobody is at the top
DECLARED = {"grade": GRADES}
FEATURES = {"binary": Bernoulli(), "grade": Categorical(Dirichlet(dict.fromkeys(GRADES, 1.0)))}


def cells_of_python(n: int = 60, missing: float = 0.1, seed: int = 3) -> dict[str, list[Any]]:
    rng = np.random.default_rng(seed)
    columns = {
        "text": rng.choice(["red", "green", "blue"], n).tolist(),
        "flag": (rng.random(n) < 0.3).tolist(),
        "binary": rng.integers(0, 2, n).tolist(),
        "whole": rng.integers(0, 12, n).tolist(),
        "real": rng.normal(5.0, 2.0, n).tolist(),
        "grade": rng.choice(GRADES[:3], n).tolist(),
    }
    return {name: [None if rng.random() < missing else v for v in values] for name, values in columns.items()}


X, Y = cells_of_python(), np.tile(["no", "yes", "yes"], 20)
WEIGHT = np.random.default_rng(4).choice([0.5, 1.0, 2.0], len(Y))


def families(clf: BayesianNB) -> dict[str, str]:
    return clf.describe()["family"].to_dict()


def numbers(clf: BayesianNB) -> dict[str, Any]:
    """All numbers of the statistics, levels by name."""
    found = {"rows": clf.classifier_.statistics.rows}
    for name, s in clf.classifier_.statistics.features.items():
        if (levels := getattr(s, "levels", None)) is not None:
            found |= {(name, level): s.counts[:, 0, k] for k, level in enumerate(levels[0])}
        else:
            found |= {(name, field): value for field, value in s.arrays().items()}
    return found


def assert_same_beliefs(a: BayesianNB, b: BayesianNB) -> None:
    assert a.classes_.tolist() == b.classes_.tolist()
    mine, theirs = numbers(a), numbers(b)
    assert set(mine) == set(theirs)
    for key, value in mine.items():
        assert_allclose(value, theirs[key], rtol=1e-12, atol=1e-12, err_msg=str(key))


# One table, many libraries


def test_every_constructor_gets_the_same_families(constructor: Constructor) -> None:
    found = families(BayesianNB().fit(constructor(X, DECLARED), Y))
    assert found == {
        "text": "Categorical",
        "flag": "Bernoulli",
        "binary": "Bernoulli",
        "whole": "Gaussian",
        "real": "Gaussian",
        "grade": "Categorical",
    }


@pytest.mark.parametrize(
    "table",
    [
        {"a": [1, 0, None, 1]},
        {"a": (1, 0, float("nan"), 1)},
        {"a": np.array([1, 0, None, 1], object)},
        pd.DataFrame({"a": np.array([1, 0, None, 1], object)}),
        pl.DataFrame({"a": [1, 0, None, 1]}),
        pa.table({"a": [1, 0, None, 1]}),
    ],
    ids=["dict of lists", "dict of tuples", "dict of objects", "object pandas", "polars", "pyarrow"],
)
def test_zeros_and_ones_with_a_gap_are_bernoulli_in_every_container(table: Any) -> None:
    clf = BayesianNB().fit(table, [0, 1, 1, 1])
    assert families(clf) == {"a": "Bernoulli"}
    assert_allclose(clf.posterior_.features["a"].alpha[:, 0], [2.0, 2.0])


COUNTS = [[1, 0, 2], [0, 1, 9], [1, 1, 0], [0, 0, 1]]
ONES = [[1, 0], [0, 1], [1, 1], [0, 1]]
BOTH = {"flags": "Bernoulli", "x": "Gaussian"}


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        (np.array(ONES, bool), {"x": "Bernoulli"}),
        (np.array(ONES), {"x": "Bernoulli"}),
        # A column beside others is read as it is alone.
        (np.array(COUNTS), BOTH),
        (np.array(COUNTS, float), BOTH),
        (np.array([[0, 1], [0, 1]]), {"x": "Bernoulli"}),
        (np.array([*COUNTS, *COUNTS * 2000, [1, 0, 0.5], [0, 0, 0]]), BOTH),
        (np.array([[1.0, np.nan, 0.5], [np.nan, np.nan, 2.0], [0.0, np.nan, 1.0], [1.0, np.nan, 0.0]]), BOTH),
        (np.zeros((4, 2)), {"x": "Bernoulli"}),
    ],
    ids=["booleans", "ones", "counts", "whole floats", "constants", "a late fraction", "missing cells", "zeros alone"],
)
def test_the_columns_of_an_array_that_hold_0_and_1_alone_are_bernoulli(x: Any, expected: Any) -> None:
    assert families(BayesianNB().fit(x, np.arange(len(x)) % 2)) == expected


def test_the_columns_of_an_array_with_fractions_that_hold_only_0_and_1_are_bernoulli() -> None:
    x = np.array([[1, 0, 0.2], [0, 1, -1], [1, 1, 0], [0, 0, 1]])
    clf = BayesianNB().fit(x, [0, 1, 1, 0])
    assert families(clf) == {"x": "Gaussian", "flags": "Bernoulli"}
    named = BayesianNB().fit(pd.DataFrame(x).add_prefix("x").astype({"x0": int, "x1": int}), [0, 1, 1, 0])
    assert_allclose(clf.predict_proba(x), named.predict_proba(pd.DataFrame(x).add_prefix("x")))


@pytest.mark.parametrize("wrap", [lambda frame: frame, lambda frame: frame.to_numpy(float)], ids=["frame", "array"])
def test_one_hot_columns_are_noticed_once(wrap: Any) -> None:
    X, y = datasets.penguins()
    X = X[["bill_length_mm", "island", "sex"]].dropna()
    y = y[X.index]
    hot = pd.get_dummies(X, dtype=float).assign(heavy=np.arange(len(X)) % 2)
    with pytest.warns(EncodedColumnsWarning) as said:
        BayesianNB().fit(wrap(hot), y)
    assert len(said) == 1
    first = "'island_Biscoe', 'island_Dream', 'island_Torgersen'" if hot is wrap(hot) else "'x1', 'x2', 'x3'"
    assert f"of the columns {first} exactly one is 1 in each row (further groups: 1)" in str(said[0].message)
    for quiet in (hot.drop(columns=["island_Dream", "sex_male"]), hot[:9]):
        BayesianNB().fit(wrap(quiet), y[: len(quiet)])
    BayesianNB(Bernoulli()).fit(wrap(hot.drop(columns="bill_length_mm")), y)


def test_columns_of_an_encoder_in_front_are_read_as_those_of_its_table() -> None:
    X, y = datasets.penguins()
    encoder = make_column_transformer(
        (OneHotEncoder(drop="if_binary"), ["sex"]), remainder="passthrough", sparse_threshold=0.0
    )
    X = X[["sex", "bill_length_mm", "body_mass_g"]].dropna()
    y = y[X.index]
    encoded = encoder.fit_transform(X)
    assert_allclose(BayesianNB().fit(encoded, y).predict_proba(encoded), BayesianNB().fit(X, y).predict_proba(X))


BIG = [2**53 + 1, 5, None, 7]


@pytest.mark.parametrize(
    "table",
    [
        pa.table({"id": pa.array(BIG, pa.int64())}),
        pa.table({"id": pa.array(BIG, pa.uint64())}),
        pd.DataFrame({"id": pd.array(BIG, pd.ArrowDtype(pa.int64()))}),
        pd.DataFrame({"id": pd.array(BIG, "Int64")}),
        pl.DataFrame({"id": BIG}),
        {"id": BIG},
    ],
    ids=["pyarrow", "unsigned", "ArrowDtype", "nullable", "polars", "dict"],
)
def test_whole_numbers_beyond_what_a_float_holds_exactly_are_rounded_alike_everywhere(table: Any) -> None:
    clf = BayesianNB().fit(table, [0, 0, 1, 1])
    expected = BayesianNB().fit({"id": [2.0**53, 5.0, np.nan, 7.0]}, [0, 0, 1, 1])
    assert_same_beliefs(clf, expected)
    assert_allclose(clf.predict_proba(table), expected.predict_proba({"id": [2.0**53, 5.0, np.nan, 7.0]}))


VIEWS = pa.array(["u", "v", "u", None], pa.string_view())


@pytest.mark.parametrize(
    "table",
    [pa.table({"a": VIEWS}), pd.DataFrame({"a": pd.array(VIEWS, pd.ArrowDtype(pa.string_view()))})],
    ids=["pyarrow", "ArrowDtype"],
)
def test_string_views_are_text_also_where_rows_are_left_out(table: Any) -> None:
    clf = BayesianNB().fit(table, [0, 1, 1, 1], sample_weight=[1, 1, 0, 1])
    assert_same_beliefs(clf, BayesianNB().fit({"a": ["u", "v", None]}, [0, 1, 1]))


def test_a_value_that_stands_twice_in_a_dictionary_of_arrow_is_one_level() -> None:
    twice = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, None]), pa.array(["u", "v", "u"]))
    expected = BayesianNB().fit({"a": ["u", "v", "u", None]}, [0, 1, 1, 1])
    assert_same_beliefs(BayesianNB().fit(pa.table({"a": twice}), [0, 1, 1, 1]), expected)
    stream = iter([pa.table({"a": twice, "y": [0, 1, 1, 1]})])
    assert_same_beliefs(BayesianNB().fit(stream, "y"), expected)
    assert BayesianNB().fit({"x": [1, 2, 3]}, twice[:3]).class_count_.tolist() == [2.0, 1.0]


def test_every_constructor_gets_the_same_statistics(constructor: Constructor) -> None:
    reference = BayesianNB(FEATURES).fit(pandas_default(X, DECLARED), Y, WEIGHT)
    assert_same_beliefs(BayesianNB(FEATURES).fit(constructor(X, DECLARED), Y, WEIGHT), reference)


def test_an_object_array_means_the_same_as_named_columns() -> None:
    array = np.array(list(zip(*X.values(), strict=True)), object)
    told = {2: Bernoulli(), 5: FEATURES["grade"]}
    clf = BayesianNB(told).fit(array, Y)
    assert list(clf.classifier_.schema.names) == ["x0", "x1", "x2", "x3", "x4", "x5"]
    reference = BayesianNB(FEATURES).fit(pandas_default(X, DECLARED), Y)
    assert list(families(clf).values()) == list(families(reference).values())
    assert_allclose(clf.predict_proba(array), reference.predict_proba(pandas_default(X, DECLARED)), rtol=1e-12)


def test_integers_booleans_and_text_can_all_be_levels(constructor: Constructor) -> None:
    told = FEATURES | {name: Categorical() for name in ("flag", "binary", "whole")}
    clf = BayesianNB(told).fit(constructor(X, DECLARED), Y)
    assert clf.classifier_.schema.features["whole"].levels == (tuple(range(12)),)
    assert clf.classifier_.schema.features["flag"].levels == ((False, True),)
    assert_same_beliefs(clf, BayesianNB(told).fit(pandas_default(X, DECLARED), Y))


@pytest.mark.parametrize("constructor", [make for make in CONSTRUCTORS.values() if make not in DECLARES_EVERY_TEXT])
def test_a_row_of_weight_0_adds_no_level(constructor: Constructor) -> None:
    columns = {"text": ["a", "b", "only here", "b"], "real": [1.0, 2.0, 3.0, 5.0]}
    clf = BayesianNB().fit(constructor(columns), ["p", "q", "q", "p"], [1, 1, 0, 1])
    assert clf.classifier_.schema.features["text"].levels == (("a", "b"),)
    assert clf.class_count_.tolist() == [2.0, 1.0]


def test_a_column_that_was_not_fitted_is_ignored_with_a_warning(constructor: Constructor) -> None:
    clf = BayesianNB(FEATURES).fit(constructor(X, DECLARED), Y)
    with pytest.warns(UserWarning, match="not fitted are ignored: \\['more'\\]"):
        answer = clf.predict_proba(constructor(X | {"more": X["real"]}, DECLARED))
    assert_array_equal(answer, clf.predict_proba(constructor(X, DECLARED)))


# Missing values

MISSING = {
    "None": None,
    "NaN": float("nan"),
    "numpy NaN": np.float64("nan"),
    "NaT": pd.NaT,
    "numpy NaT": np.datetime64("NaT", "D"),
    "NA": pd.NA,
    "decimal NaN": Decimal("NaN"),
}


@pytest.mark.parametrize("hole", MISSING.values(), ids=MISSING)
@pytest.mark.parametrize(
    ("values", "family"),
    [
        (["a", "b", "b", "a"], Categorical()),
        ([1.0, 2.0, 4.0, 8.0], Gaussian()),
        ([True, False, True, True], Bernoulli()),
    ],
    ids=["text", "real", "bool"],
)
@pytest.mark.parametrize("source", ["frame", "array"])
def test_every_marker_of_a_missing_value_is_ignored(hole: Any, values: Any, family: Any, source: str) -> None:
    def table(cells: Sequence[Any]) -> Any:
        column = np.empty((len(cells), 1), object)
        column[:, 0] = cells
        return column if source == "array" else pd.DataFrame(column, columns=["x0"], dtype=object)

    y = ["p", "q", "p", "q"]
    clf = BayesianNB().fit(table([*values, hole]), [*y, "p"])
    assert families(clf) == {"x0": type(family).__name__}
    assert clf.describe()["missing"].tolist() == [pytest.approx(1 / 5)]
    assert clf.class_count_.tolist() == [3.0, 2.0]
    # The hole says nothing to the column, and in a row to predict leaves the class prior, (n + 1) / (N + 2).
    without = BayesianNB(class_prior=Dirichlet([2.0, 1.0])).fit(table(values), y)
    assert_allclose(clf.predict_proba(table(values)), without.predict_proba(table(values)), rtol=1e-12)
    assert_allclose(clf.predict_proba(table([hole])), [[4 / 7, 3 / 7]], rtol=1e-12)


@pytest.mark.parametrize(
    "table",
    [
        pl.DataFrame({"r": [1.0, None, float("nan"), 4.0], "t": ["a", None, None, "b"]}),
        pa.table({"r": pa.array([1.0, None, float("nan"), 4.0]), "t": ["a", None, None, "b"]}),
        pd.DataFrame({"r": pd.array([1.0, pd.NA, np.nan, 4.0], "Float64"), "t": ["a", pd.NA, None, "b"]}),
        pd.DataFrame({"r": [1.0, None, np.nan, 4.0], "t": pd.Categorical(["a", None, np.nan, "b"])}),
    ],
    ids=["polars", "pyarrow", "pandas nullable", "pandas categories"],
)
def test_null_and_nan_are_both_missing(table: Any) -> None:
    clf = BayesianNB().fit(table, ["p", "q", "p", "q"])
    assert clf.describe()["missing"].tolist() == [0.5, 0.5]
    assert clf.classifier_.statistics.features["r"].n[:, 0].tolist() == [1.0, 1.0]
    assert_allclose(clf.predict_proba(table)[1:3], 0.5)


def test_a_column_without_values_does_not_change_the_probabilities(constructor: Constructor) -> None:
    columns = {"real": [1.0, 2.0, 4.0, 8.0], "hole": [None] * 4}
    clf = BayesianNB().fit(constructor(columns), ["p", "q", "p", "q"])
    assert clf.describe()["missing"].to_dict() == {"real": 0.0, "hole": 1.0}
    real = constructor({"real": columns["real"]})
    alone = BayesianNB().fit(real, ["p", "q", "p", "q"])
    assert_allclose(clf.predict_proba(constructor(columns)), alone.predict_proba(real), rtol=1e-12)


@pytest.mark.parametrize(
    "hole",
    [
        pd.DataFrame({"x": [None]}),
        pd.DataFrame({"x": pd.Series([None], dtype="str")}),
        pl.DataFrame({"x": pl.Series([None], dtype=pl.String)}),
        pa.table({"x": pa.array([None], pa.string())}),
        {"x": [None]},
    ],
    ids=["pandas object", "pandas str", "polars String", "pyarrow string", "dict"],
)
@pytest.mark.parametrize(
    "values", [[1.5, 2.5, 4.0], [True, False, True], ["a", "b", "a"]], ids=["real", "bool", "text"]
)
def test_a_missing_value_to_predict_may_have_any_type(hole: Any, values: Any) -> None:
    clf = BayesianNB().fit({"x": values}, ["p", "q", "p"])
    assert_allclose(clf.predict_proba(hole), [[3 / 5, 2 / 5]])


def test_a_text_column_may_be_empty_in_the_first_chunk() -> None:
    empty = pd.DataFrame({"t": pd.Series([None, None], dtype="str")})
    full = pd.DataFrame({"t": ["a", "b", "a"]})
    clf = BayesianNB().partial_fit(empty, ["p", "q"]).partial_fit(full, ["p", "q", "q"])
    assert clf.classifier_.statistics.features["t"].counts[:, 0].tolist() == [[1.0, 0.0], [1.0, 1.0]]
    assert clf.describe()["missing"].tolist() == [pytest.approx(2 / 5)]


def test_the_share_of_missing_values_counts_weights(constructor: Constructor) -> None:
    clf = BayesianNB().fit(constructor({"real": [1.0, 2.0, None, 4.0]}), ["p", "q", "p", "q"], [1, 2, 3, 4])
    assert clf.describe()["missing"].tolist() == [pytest.approx(0.3)]


# Levels


@pytest.mark.parametrize("constructor", DECLARES_CATEGORIES)
def test_declared_categories_that_never_occur_are_levels_in_their_order(constructor: Constructor) -> None:
    clf = BayesianNB().fit(constructor({"grade": ["high", "low", "high"]}, DECLARED), ["p", "p", "q"])
    assert clf.classifier_.schema.features["grade"].levels == (("low", "mid", "high", "top"),)
    assert clf.describe()["levels"].tolist() == ["low, mid, high, top"]
    table = clf.tables()["grade"]
    assert table.columns.tolist() == GRADES
    # (n + 1) / (N + 4): "top" has its share, although nobody has been there.
    assert_allclose(table.loc["p"], [2 / 6, 1 / 6, 2 / 6, 1 / 6])
    assert_allclose(table.loc["q"], [1 / 5, 1 / 5, 2 / 5, 1 / 5])


def test_an_m_estimate_by_level_fixes_levels_that_were_never_seen(constructor: Constructor) -> None:
    p = {"c": 0.5, "b": 0.3, "a": 0.2}
    clf = BayesianNB({"t": Categorical(Dirichlet.m_estimate(10, p))})
    clf.fit(constructor({"t": ["a", "b", "a", "a"]}), ["p", "p", "p", "q"])
    table = clf.tables()["t"]
    assert sorted(table.columns) == ["a", "b", "c"]
    # (n + m p) / (N + m), Mitchell 6.9.1.1.
    assert_allclose(table.loc["p", ["a", "b", "c"]], [(2 + 2) / 13, (1 + 3) / 13, 5 / 13])
    assert_allclose(table.loc["q", ["a", "b", "c"]], [(1 + 2) / 11, 3 / 11, 5 / 11])


def test_levels_that_are_not_declared_are_sorted_and_later_ones_come_after_them() -> None:
    clf = BayesianNB().fit({"t": ["n", "m"]}, ["q", "p"]).partial_fit({"t": ["z", "a"]}, ["p", "q"])
    assert clf.classifier_.schema.features["t"].levels == (("m", "n", "a", "z"),)
    assert_allclose(clf.tables()["t"].loc["p"], [2 / 6, 1 / 6, 1 / 6, 2 / 6])


def test_an_unseen_level_is_missing_by_default(constructor: Constructor) -> None:
    clf = BayesianNB().fit(constructor({"t": ["a", "b", "a"], "u": ["v", "w", "w"]}), ["p", "p", "q"])
    strange = constructor({"t": ["zebra", None], "u": ["v", "v"]})
    answer = clf.predict_joint_log_proba(strange)
    assert_allclose(answer[0], answer[1])
    # P(c) P(u = v | c): 3/5 × 2/4 and 2/5 × 1/3.
    assert_allclose(np.exp(answer[0]), [3 / 5 * 2 / 4, 2 / 5 * 1 / 3])


def test_an_unseen_level_can_be_an_error_that_names_column_value_and_row(constructor: Constructor) -> None:
    clf = BayesianNB(unseen="error").fit(constructor({"t": ["a", "b", "a"]}), ["p", "p", "q"])
    with pytest.raises(ValueError, match="column 't' holds 'zebra' in row 1"):
        clf.predict(constructor({"t": ["a", "zebra", None]}))
    assert clf.predict_proba(constructor({"t": ["a", None]})).shape == (2, 2)


def test_an_unseen_level_can_have_a_cell_of_its_own(constructor: Constructor) -> None:
    clf = BayesianNB(unseen="new").fit(constructor({"t": ["a", "b", "a", "c"]}), ["p", "p", "p", "q"])
    answer = np.exp(clf.predict_joint_log_proba(constructor({"t": ["zebra", "yak", "a"]})))
    # 1 / (N + K + 1) with K = 3 levels known; N = 3 and 1.
    assert_allclose(answer[0], [4 / 6 * 1 / 7, 2 / 6 * 1 / 5])
    assert_allclose(answer[1], answer[0])
    assert_allclose(answer[2], [4 / 6 * 3 / 7, 2 / 6 * 1 / 5])
    assert UNSEEN in clf.tables()["t"].columns


def test_the_reserved_cell_stays_when_a_new_level_is_learned() -> None:
    clf = BayesianNB(unseen="new").fit({"t": ["a", "b", "a"]}, ["p", "p", "q"]).partial_fit({"t": ["c"]}, ["q"])
    answer = np.exp(clf.predict_joint_log_proba({"t": ["zebra", "c"]}))
    assert_allclose(answer[0], [3 / 6 * 1 / 6, 3 / 6 * 1 / 6])
    assert_allclose(answer[1], [3 / 6 * 1 / 6, 3 / 6 * 2 / 6])


def test_the_reserved_cell_has_the_average_concentration_of_a_level() -> None:
    clf = BayesianNB({"t": Categorical(Dirichlet({"a": 1.0, "b": 3.0}))}, unseen="new")
    clf.fit({"t": ["a", "b"]}, ["p", "q"])
    assert_allclose(clf.tables()["t"].loc["p", [UNSEEN]], 2 / (1 + 1 + 3 + 2))


# Arrays and sparse matrices


@pytest.mark.parametrize("dtype", [float, np.float32, int, bool])
def test_an_array_of_numbers_is_one_gaussian_feature(dtype: Any) -> None:
    low, high = (0, 2) if dtype is bool else (5, 8)
    array = np.random.default_rng(0).integers(low, high, (30, 3)).astype(dtype)
    clf = BayesianNB(Gaussian() if dtype in (bool, int) else None).fit(array, Y[:30])
    row = clf.describe().loc["x"]
    assert (row["family"], row["columns"], row["missing"]) == ("Gaussian", 3, 0.0)
    assert row["chosen"] == ("specified" if dtype in (bool, int) else "numbers")
    assert clf.classifier_.schema.names == ("x0", "x1", "x2")
    assert not hasattr(clf, "feature_names_in_")
    frame = pd.DataFrame(array.astype(float), columns=["x0", "x1", "x2"])
    by_column = BayesianNB(Gaussian()).fit(frame, Y[:30])
    assert families(by_column) == dict.fromkeys(["x0", "x1", "x2"], "Gaussian")
    assert_allclose(clf.predict_proba(array), by_column.predict_proba(frame), rtol=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_the_posterior_of_a_column_does_not_depend_on_the_columns_beside_it(seed: int) -> None:
    """Random hyperparameters, of which several print alike: columns of one specification are computed side by side."""
    rng = np.random.default_rng(seed)

    def near(value: float) -> float:
        return value * (1 + rng.choice([0.0, 2e-7, -3e-7]))  # The same six digits.

    def family(kind: int) -> tuple[Any, Any]:
        gamma = nb.Gamma(near(size), near(size)), nb.Gamma(near(size), near(size))
        beta = nb.Beta(near(size), near(2 * size))
        return [
            (lambda: Poisson(gamma[0]), rng.poisson(3.0, 12)),
            (lambda: Poisson({"p": gamma[0], "q": gamma[1]}), rng.poisson(3.0, 12)),
            (lambda: nb.families.Exponential(gamma[0]), rng.exponential(size=12)),
            (lambda: Bernoulli(beta), rng.integers(0, 2, 12)),
            (lambda: Categorical(Dirichlet(near(size))), rng.integers(0, 3, 12)),
            (
                lambda: Gaussian(NormalGamma(near(1.7e9), near(size), near(size), near(size))),
                rng.normal(1.7e9, size=12),
            ),
            (lambda: nb.families.NegativeBinomial(r=near(2.0), prior=beta), rng.poisson(3.0, 12)),
            (
                lambda: nb.families.GaussianKnownVariance(nb.Normal(near(size), 1.0), near(size)),
                rng.normal(size, size=12),
            ),
        ][kind]

    size, y = 10.0 ** rng.integers(-1, 7), np.array(list("ppqqq") + ["p", "q"] * 3 + ["q"])
    kinds = rng.permutation(np.repeat(rng.permutation(8)[:3], 4))
    made = {f"c{k}": family(kind) for k, kind in enumerate(kinds)}
    features, X = {name: make() for name, (make, _) in made.items()}, {name: x for name, (_, x) in made.items()}
    beside = BayesianNB(features).fit(X, y)
    assert len({repr(one) for one in features.values()}) < len(features)
    for name in X:
        alone = BayesianNB({name: features[name]}).fit({name: X[name]}, y)
        mine, theirs = (clf.classifier_.posterior.features[name] for clf in (beside, alone))
        for field in (f.name for f in fields(theirs) if isinstance(getattr(theirs, f.name), np.ndarray)):
            assert_allclose(getattr(mine, field), getattr(theirs, field), rtol=1e-13, atol=1e-200, err_msg=name)


def test_strings_of_any_length_of_numpy_are_text_in_tables_and_labels() -> None:
    text = np.dtypes.StringDType(na_object=None)
    X, y = np.array([["a", "b"], [None, "b"], ["a", "d"], ["c", "d"]], object), np.array(["u", "v", "u", None], object)
    plain = BayesianNB(unlabelled=nb.Unlabelled(weight=0)).fit(X, y)
    strings = BayesianNB(unlabelled=nb.Unlabelled(weight=0)).fit(X.astype(text), y.astype(text))
    assert strings.classes_.tolist() == ["u", "v"]
    assert_allclose(strings.predict_proba(X.astype(text)), plain.predict_proba(X), rtol=0)


def test_an_array_of_text_has_a_categorical_feature_for_each_column() -> None:
    array = np.array([["a", "u"], ["b", "u"], ["a", "v"]])
    clf = BayesianNB().fit(array, ["p", "q", "q"])
    assert families(clf) == {"x0": "Categorical", "x1": "Categorical"}
    assert clf.classifier_.schema.features["x0"].levels == (("a", "b"),)
    named = BayesianNB().fit(pd.DataFrame(array, columns=["x0", "x1"]), ["p", "q", "q"])
    assert_allclose(clf.predict_proba(array), named.predict_proba(pd.DataFrame(array, columns=["x0", "x1"])))
    assert_allclose(clf.predict_proba(array.tolist()), clf.predict_proba(array))


COUNTS = np.random.default_rng(6).poisson(0.7, (30, 5))


@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("layout", ["csr", "csc", "coo"])
@pytest.mark.parametrize(
    ("family", "dense"), [(None, COUNTS), (Bernoulli(), np.minimum(COUNTS, 1))], ids=["counts", "0 and 1"]
)
def test_every_sparse_layout_equals_its_dense_table(layout: str, kind: str, family: Any, dense: Any) -> None:
    thin = getattr(sparse, f"{layout}_{kind}")(dense)
    clf = BayesianNB(family).fit(thin, Y[:30])
    assert families(clf) == {"x": "Multinomial" if family is None else "Bernoulli"}
    assert clf.describe()["columns"].tolist() == [5]
    full = BayesianNB(family or Multinomial()).fit(dense, Y[:30])
    assert_allclose(clf.predict_proba(thin), full.predict_proba(dense), rtol=1e-12)
    assert_allclose(clf.predict_proba(dense), full.predict_proba(thin), rtol=1e-12)


def test_a_fit_by_position_reads_names_by_position_with_the_warning_of_scikit_learn() -> None:
    array = np.random.default_rng(0).normal(size=(30, 2))
    clf = BayesianNB().fit(array, Y[:30])
    with pytest.warns(UserWarning, match="X has feature names, but BayesianNB was fitted without"):
        answer = clf.predict_proba(pd.DataFrame(array, columns=["a", "b"]))
    assert_array_equal(answer, clf.predict_proba(array))
    with pytest.raises(ValueError, match="3 features"):
        clf.predict(np.zeros((1, 3)))


# What is told


HEIGHTS = {"height": [1.6, 1.8, None, 1.7, 1.9], "weight": [55.0, None, None, 70.0, 90.0]}
SEX = ["f", "m", "f", "f", "m"]


def test_one_family_for_all_columns_equals_one_for_each_and_one_grouped_feature(constructor: Constructor) -> None:
    table, prior = constructor(HEIGHTS), NormalGamma.unit_information(2)
    each = BayesianNB({"height": Gaussian(prior), "weight": Gaussian(prior)}).fit(table, SEX)
    everywhere = BayesianNB(Gaussian(prior)).fit(table, SEX)
    group = BayesianNB({"body": (Gaussian(prior), ["height", "weight"])}).fit(table, SEX)
    assert list(families(each)) == list(families(everywhere)) == ["height", "weight"]
    assert list(families(group)) == ["body"]
    for clf in (everywhere, group):
        assert_allclose(clf.predict_log_proba(table), each.predict_log_proba(table), rtol=1e-12)
        assert clf.log_evidence_.joint == pytest.approx(each.log_evidence_.joint)


def test_describe_has_one_row_for_each_feature() -> None:
    words = {"cat": [1, 0, 2, 1, 0], "dog": [0, 3, 1, 0, 0]}
    levels = {"wind": ["weak", None, "weak", "strong", "weak"], "sky": ["sun", "rain", "fog", "sun", "rain"]}
    clf = BayesianNB(
        {
            "body": (Gaussian(), ["height", "weight"]),
            "words": (Multinomial(Dirichlet(0.5)), ["cat", "dog"]),
            "weather": (Categorical(Dirichlet.perks()), ["wind", "sky"]),
            "rain": Binned(edges=[1.0, 5.0]),
        }
    )
    rain = {"rain": [0.5, 1.0, 4.0, 7.0, None], "calls": [0, 1, 0, 1, 1]}
    clf.fit(pd.DataFrame(HEIGHTS | words | levels | rain), SEX)
    found = clf.describe()
    assert found.index.tolist() == ["body", "words", "weather", "rain", "calls"]
    assert found["family"].tolist() == ["Gaussian", "Multinomial", "Categorical", "Categorical", "Bernoulli"]
    assert found["prior"].tolist() == [
        "NormalGamma(m=pooled, kappa=1, a=0.5, b=pooled)",
        "Dirichlet(alpha=0.5)",
        "Dirichlet(alpha=1.0, per='class')",
        "Dirichlet(alpha=1.0)",
        "Beta(alpha=1, beta=1)",
    ]
    assert found["columns"].tolist() == [2, 2, 2, 1, 1]
    assert found["levels"].tolist() == ["", "", "2 to 3 a column", "(-inf, 1), [1, 5), [5, inf)", ""]
    assert found["missing"].drop("words").tolist() == pytest.approx([3 / 10, 1 / 10, 1 / 5, 0.0])
    assert found["chosen"].tolist() == [*["specified"] * 3, "specified, width bins", "0 and 1"]


def test_columns_can_be_specified_by_name_and_by_position() -> None:
    array = np.random.default_rng(1).poisson(3.0, (30, 3)).astype(float)
    frame = pd.DataFrame(array, columns=["x0", "x1", "x2"])
    told = [{1: Poisson()}, {"x1": Poisson()}, {np.int64(1): Poisson()}, {"counts": (Poisson(), [1])}]
    answers = [BayesianNB(features).fit(array, Y[:30]) for features in told]
    named = BayesianNB({"x1": Poisson()}).fit(frame, Y[:30])
    assert families(named) == {"x0": "Gaussian", "x1": "Poisson", "x2": "Gaussian"}
    for clf in answers:
        assert sorted(families(clf).values()) == ["Gaussian", "Poisson"]
        assert_allclose(clf.predict_proba(array), named.predict_proba(frame), rtol=1e-12)


def test_columns_can_have_integer_names() -> None:
    frame = pd.DataFrame(np.random.default_rng(1).poisson(3.0, (30, 3)), columns=[7, 8, 9])
    clf = BayesianNB({8: Poisson()}).fit(frame, Y[:30])
    assert families(clf) == {7: "Gaussian", 8: "Poisson", 9: "Gaussian"}
    assert not hasattr(clf, "feature_names_in_")
    text = frame.set_axis(["a", "b", "c"], axis=1)
    expected = BayesianNB({"b": Poisson()}).fit(text, Y[:30]).predict_proba(text)
    assert_allclose(clf.predict_proba(frame), expected, rtol=1e-12)
    assert_allclose(clf.predict_proba(frame[[9, 7, 8]]), expected, rtol=1e-12)
    with pytest.raises(ValueError, match="column 9 was fitted"):
        clf.predict(frame[[7, 8]])


def test_a_binned_column_is_read_by_its_intervals(constructor: Constructor) -> None:
    income = [10.0, 20.0, 20.5, None, 35.0, 99.0]
    clf = BayesianNB({"income": Binned(edges=[20.0, 40.0])})
    clf.fit(constructor({"income": income}), ["p", "p", "q", "q", "q", "p"])
    assert clf.classifier_.schema.features["income"].levels == (("(-inf, 20)", "[20, 40)", "[40, inf)"),)
    assert_allclose(clf.tables()["income"], [[2 / 6, 2 / 6, 2 / 6], [1 / 5, 3 / 5, 1 / 5]])
    low, at, beyond = np.exp(clf.predict_joint_log_proba(constructor({"income": [-1e9, 20.0, 1e9]})))
    assert_allclose(low, [4 / 8 * 2 / 6, 4 / 8 * 1 / 5])
    assert_allclose(at, [4 / 8 * 2 / 6, 4 / 8 * 3 / 5])
    assert_allclose(beyond, low)


def test_an_exposure_can_be_specified_by_its_column(constructor: Constructor) -> None:
    columns = {"hours": [1.0, 2.0, 4.0, None], "calls": [1, 4, 10, 100]}
    clf = BayesianNB({"calls": Poisson(exposure="hours")}).fit(constructor(columns), ["p", "p", "q", "q"])
    assert list(families(clf)) == ["calls"]
    s = clf.classifier_.statistics.features["calls"]
    assert s.exposure[:, 0].tolist() == [3.0, 4.0]
    assert s.events[:, 0].tolist() == [5.0, 10.0]
    assert clf.describe()["missing"].tolist() == [0.25]


def test_an_exposure_can_be_specified_by_position() -> None:
    array = np.array([[1.0, 2.0], [2.0, 3.0], [1.0, 1.0], [4.0, 2.0]])
    by_position = BayesianNB({0: Poisson(exposure=1)}).fit(array, ["p", "q", "p", "q"])
    by_name = BayesianNB({"x0": Poisson(exposure="x1")}).fit(array, ["p", "q", "p", "q"])
    assert families(by_position) == {"x0": "Poisson"}
    for_all = BayesianNB(Poisson(exposure="x1")).fit(array, ["p", "q", "p", "q"])
    assert for_all.describe()["columns"].tolist() == [1]  # and not the exposure itself
    assert_allclose(for_all.predict_proba(array), by_name.predict_proba(array))
    assert_allclose(by_position.predict_proba(array), by_name.predict_proba(array))


def test_columns_of_a_dict_are_joined_by_position_whatever_their_index() -> None:
    x, y = [1.0, 2.0, 30.0, 40.0], ["p", "p", "q", "q"]
    plain = BayesianNB().fit({"a": x, "b": x}, y)
    indexed = BayesianNB().fit({"a": pd.Series(x, index=[3, 1, 2, 0]), "b": pd.Series(x)}, y)
    assert_same_beliefs(indexed, plain)


def test_pandas_categories_with_arrow_storage_are_read() -> None:
    values = pd.array(["a", None, "b", "a"], dtype=pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string())))
    clf = BayesianNB().fit(pd.DataFrame({"t": values}), ["p", "q", "p", "q"])
    assert clf.classifier_.schema.features["t"].levels == (("a", "b"),)
    assert clf.classifier_.statistics.features["t"].counts[:, 0].tolist() == [[1.0, 1.0], [1.0, 0.0]]


HIDDEN = np.array([[False, True], [False, False], [True, False], [False, False]])


@pytest.mark.parametrize(
    "cells",
    [
        np.array([[1.5, 2.0], [3.0, 9.0], [1e6, 4.0], [2.5, 1.0]]),
        np.array([[1, 2], [3, 9], [10**6, 4], [2, 1]]),
        np.array([[True, False], [False, False], [True, True], [False, True]]),
        np.array([["a", "b"], ["c", "b"], ["zzz", "d"], ["a", "b"]]),
    ],
    ids=["floats", "integers", "booleans", "text"],
)
def test_masked_cells_are_missing(cells: Any) -> None:
    masked, gaps = np.ma.array(cells, mask=HIDDEN), cells.astype(object)
    gaps[HIDDEN] = None
    classes = ["p", "q", "p", "q"]
    for table, same in ((masked, gaps), ({"u": masked[:, 0]}, {"u": gaps[:, 0]})):
        clf, other = BayesianNB().fit(table, classes), BayesianNB().fit(same, classes)
        assert_allclose(clf.predict_proba(table), other.predict_proba(same), rtol=1e-12)
        assert set(families(clf).values()) == set(families(other).values())


def test_masked_labels_are_missing_and_masked_weights_are_refused() -> None:
    hidden = [True, False, False, False]
    y = np.ma.array(["zzz", "p", "q", "q"], mask=hidden)
    clf = BayesianNB().fit({"u": [1.0, 2.0, 3.0, 5.0]}, y)
    assert_array_equal(clf.classes_, ["p", "q"])
    assert_allclose(clf.class_count_.sum(), 4)
    with pytest.raises(ValueError, match="sample_weight contains NaN"):
        BayesianNB().fit(np.eye(4), [0, 1, 0, 1], sample_weight=np.ma.array(np.ones(4), mask=hidden))


def test_the_numbers_of_a_nested_list_stay_numbers_beside_text() -> None:
    rows = [[1.5, "a", True], [2.5, "b", False], [9.0, "a", None]]
    clf = BayesianNB().fit(rows, [0, 1, 1])
    assert families(clf) == {"x0": "Gaussian", "x1": "Categorical", "x2": "Bernoulli"}
    assert_array_equal(clf.predict_proba(rows), clf.predict_proba(np.array(rows, object)))


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        (pd.array([True, False, True, False], "boolean"), [False, True]),
        (pd.array([True, False, None, False], "boolean"), [False, True]),
        (pd.array([3, 5, 3, 3], "Int8"), [3, 5]),
        (pd.Index([3, 5, 3, 3], dtype="Int64"), [3, 5]),
        (np.array([3, 5, 3, 3], object), [3, 5]),
        (np.array([True, False, None, False], object), [False, True]),
        (pd.Series([0.5, 0.5, 2.0, 2.0], dtype=object).astype(int), [0, 2]),
    ],
)
def test_labels_keep_their_kind_in_every_array(y: Any, classes: list[Any]) -> None:
    X = {"u": [1.0, 2.0, 3.0, 5.0]}
    clf = BayesianNB().fit(X, y)
    assert clf.classes_.tolist() == classes
    assert [type(label) for label in clf.classes_.tolist()] == [type(label) for label in classes]
    if not pd.isna(y).any():
        assert clf.score(X, y) == np.mean(clf.predict(X) == np.array(y.tolist()))


TOWNS = ["Bern", "Chur", "Bern", "Chur", "Bern", "Basel"]
SOLD = ["yes", "no", "no", "yes", "yes", "no"]


@pytest.mark.parametrize("unseen", ["missing", "new"])
@pytest.mark.parametrize(
    "prior", [Dirichlet(), Dirichlet.bdeu(5), Dirichlet.m_estimate(3), Dirichlet({"Bern": 1, "Chur": 2, "Basel": 3})]
)
def test_a_level_that_only_forgotten_rows_had_is_gone_as_if_it_had_never_been_seen(prior: Any, unseen: Any) -> None:
    clf = BayesianNB({"town": Categorical(prior)}, unseen=unseen).fit({"town": TOWNS}, SOLD)
    clf.forget({"town": TOWNS[5:]}, SOLD[5:])
    never = BayesianNB({"town": Categorical(prior)}, unseen=unseen).fit({"town": TOWNS[:5]}, SOLD[:5])
    assert {*clf.describe().levels["town"].split(", ")} == {*never.describe().levels["town"].split(", ")}
    asked = {"town": ["Bern", "Chur"]}
    assert_allclose(clf.predict_proba(asked), never.predict_proba(asked), rtol=1e-12)
    in_parts = BayesianNB({"town": Categorical(prior)}, unseen=unseen).fit({"town": TOWNS[4:]}, SOLD[4:])
    in_parts.partial_fit({"town": TOWNS[:4]}, SOLD[:4]).forget({"town": TOWNS[5:]}, SOLD[5:])
    assert_allclose(in_parts.predict_proba(asked), never.predict_proba(asked), rtol=1e-12)


def test_a_declared_level_stays_when_its_last_row_is_forgotten(tmp_path: Any) -> None:
    declared = pd.Series(TOWNS, dtype=pd.CategoricalDtype(["Chur", "Basel", "Bern", "Genf"]), name="town").to_frame()
    never = BayesianNB().fit(declared[:5], SOLD[:5])
    BayesianNB().fit(declared, SOLD).save(tmp_path / "model")
    in_parts = BayesianNB().fit(iter([declared.assign(sold=SOLD)[k : k + 3] for k in (0, 3)]), "sold")
    merged = BayesianNB().fit(declared[:3], SOLD[:3]).merge(BayesianNB().fit(declared[3:], SOLD[3:]))
    for clf in (nb.load(tmp_path / "model"), in_parts, merged):
        clf.forget({"town": TOWNS[5:]}, SOLD[5:])
        assert_array_equal(clf.describe()["levels"], ["Chur, Basel, Bern, Genf"])
        assert_allclose(clf.predict_proba(declared), never.predict_proba(declared), rtol=1e-12)


def test_labels_and_weights_in_another_order_of_the_index_are_taken_by_position_with_a_warning() -> None:
    X, turned = pd.DataFrame({"x": [1.0, 2.0, 5.0, 6.0]}), pd.Series([0, 0, 1, 1])[::-1]
    with pytest.warns(UserWarning, match=r"^y has the index of X in another order.*write y.loc\[X.index\]"):
        clf = BayesianNB().fit(X, turned)
    assert_array_equal(clf.predict(X), [1, 1, 0, 0])
    with pytest.warns(UserWarning, match="^sample_weight has the index of X"):
        BayesianNB().fit(X, [0, 0, 1, 1], sample_weight=turned + 1)
    for y in (turned.loc[X.index], turned.set_axis([7, 8, 9, 10]), turned.set_axis([0, 0, 1, 1]), turned.to_numpy()):
        BayesianNB().fit(X, y)


READ_ONLY_FOR_SOME_MODELS = {"sample_posterior", "worth_of_rows"}

WITH_LABELS: dict[str, Callable[[BayesianNB, pd.DataFrame, pd.Series], Any]] = {
    name: lambda clf, X, y, name=name, asked=asked: asked.function(
        clf.classifier_, X=X, y=y, **{"flip": {"row": X[:1]}, "to_pymc": {"likelihood": "rows"}}.get(name, {})
    )
    for name, asked in QUESTIONS.items()
    if {"X", "y"} <= set(asked.options) and name not in READ_ONLY_FOR_SOME_MODELS
} | {
    "fit": lambda clf, X, y: BayesianNB().fit(X, y),
    "partial_fit": lambda clf, X, y: BayesianNB().partial_fit(X, y),
    "forget": lambda clf, X, y: clf.forget(X[:6], y[:6].set_axis(X.index[:6][::-1])),
    "score": lambda clf, X, y: clf.score(X, y),
    "evaluate of held-out rows": lambda clf, X, y: nb.evaluate(clf, X, y, cv=None),
    "evaluate by leave-one-out": lambda clf, X, y: nb.evaluate(BayesianNB(), X, y),
    "evaluate by folds": lambda clf, X, y: nb.evaluate(BayesianNB(), X, y, cv=2),
    "evaluate another classifier": lambda clf, X, y: nb.evaluate(GaussianNB(), X, y, cv=2),
    "scorecard of held-out rows": lambda clf, X, y: nb.scorecard(clf, X, y, cv=None),
    "scorecard by leave-one-out": lambda clf, X, y: nb.scorecard(BayesianNB(), X, y),
    "scorecard by folds": lambda clf, X, y: nb.scorecard(BayesianNB(), X, y, cv=2),
    "compare": lambda clf, X, y: nb.compare({"a": BayesianNB(), "b": GaussianNB()}, X, y, cv=2),
    "compare estimates": lambda clf, X, y: compare_estimates(BayesianNB(), X, y, dependence=()),
    "inspect": lambda clf, X, y: nb.inspect(X, y),
    "report": lambda clf, X, y: nb.report.report(clf, X, y, format="md", draws=20, explain=0),
    "decision regions": lambda clf, X, y: nb.plots.decision_regions(clf, X, y, ("height_cm", "weight_kg")),
}


@pytest.mark.filterwarnings("ignore:These look like the rows that the model was fitted to")
@pytest.mark.filterwarnings("always")
@pytest.mark.parametrize("ask", WITH_LABELS.values(), ids=WITH_LABELS)
def test_whoever_takes_a_table_and_labels_warns_once_if_their_index_has_another_order(
    ask: Any, few_drawn_labels: None
) -> None:
    X, y = datasets.heights()
    X, turned = X[["height_cm", "weight_kg"]], y[::-1]
    clf = BayesianNB().fit(X, turned.to_numpy())
    with pytest.warns(UserWarning, match="y has the index of X in another order") as said:
        ask(clf, X, turned)
    assert sum("in another order" in str(each.message) for each in said) == 1


def test_the_target_may_be_named_wherever_learned_rows_are_asked_for() -> None:
    X, y = datasets.play_tennis()
    table = X.assign(play=y)
    clf = BayesianNB().fit(table, "play")
    assert_allclose(clf.loo(table, "play"), clf.loo(X, y))
    assert clf.score(table, "play") == clf.score(X, y)
    assert_allclose(nb.sets.conformal(clf, table, "play").p_values(X[:2]), nb.sets.conformal(clf, X, y).p_values(X[:2]))
    pd.testing.assert_series_equal(nb.evaluate(clf, table, "play"), nb.evaluate(clf, X, y))


@pytest.mark.parametrize("value", [0, 1, 0.0, False])
@pytest.mark.parametrize("estimate", ["predictive", "mean"])
def test_an_inferred_column_of_one_value_changes_nothing_and_a_named_one_counts_its_rows(
    value: Any, estimate: str
) -> None:
    x, y = [1.0, 2, 3, 2, 3, 4, 5], [0, 0, 1, 1, 1, 1, 1]
    alone = BayesianNB(estimate=estimate).fit({"x": x}, y).predict_proba({"x": [2.5]})
    table, asked = {"x": x, "c": [value] * 7}, {"x": [2.5], "c": [value]}
    inferred = BayesianNB(estimate=estimate).fit(table, y)
    assert_allclose(inferred.predict_proba(asked), alone, rtol=1e-12)
    assert_allclose(inferred.predict_proba({"x": [2.5], "c": [type(value)(1 - value)]}), alone, rtol=1e-12)
    named = BayesianNB({"c": Bernoulli()}, estimate=estimate).fit(table, y).predict_proba(asked)
    assert_allclose(named[0, 1] / named[0, 0] / (alone[0, 1] / alone[0, 0]), (6 / 7) / (3 / 4), rtol=1e-12)
    later = inferred.partial_fit({"x": [4.0], "c": [type(value)(1 - value)]}, [1])
    whole = BayesianNB(estimate=estimate).fit({"x": [*x, 4.0], "c": [*table["c"], type(value)(1 - value)]}, [*y, 1])
    assert_allclose(later.predict_proba(asked), whole.predict_proba(asked), rtol=1e-12)
    assert_allclose(whole.tables()["c"][int(value)].tolist(), [3 / 4, 6 / 8], rtol=1e-12)
