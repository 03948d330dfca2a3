"""What the user is told: levels that were never seen, families by short names, keywords of other implementations."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.model_selection import GridSearchCV

from bayesnb import (
    BayesianNB,
    Categorical,
    Dirichlet,
    Exponential,
    Poisson,
    UnseenLevelWarning,
    datasets,
    evaluate,
)

TABLES = {
    "pandas": pd.DataFrame, "nullable": lambda c: pd.DataFrame(c).convert_dtypes(), "polars": pl.DataFrame,
    "arrow": pa.table, "dict": dict, "objects": lambda c: pd.DataFrame(c, dtype=object),
}  # fmt: skip


def warned(ask: Callable[[], Any]) -> list[str]:
    """The messages of the warnings about levels that were never seen."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        ask()
    return [str(one.message) for one in said if isinstance(one.message, UnseenLevelWarning)]


@pytest.mark.parametrize("constructor", TABLES.values(), ids=TABLES)
def test_levels_that_were_never_seen_are_said_in_one_warning_with_their_counts(constructor: Callable[..., Any]) -> None:
    clf = BayesianNB().fit(constructor({"sex": ["Male", "Female"] * 2, "x": [1.0, 2, 3, 4]}), [0, 1, 0, 1])
    asked = constructor({"sex": ["male", "Female", "male"], "x": [1.0, 2, 3]})
    assert warned(lambda: clf.predict_proba(asked)) == [
        "column 'sex': 2 of 3 rows hold a level never seen ('male', did you mean 'Male'?), counted as missing"
    ]
    assert warned(lambda: clf.predict_proba(constructor({"sex": ["Male"], "x": [1.0]}))) == []


def test_the_warning_about_levels_names_the_place_of_the_user_and_can_be_silenced() -> None:
    clf = BayesianNB().fit({"a": ["u", "v"]}, [0, 1])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        clf.predict({"a": ["w"]})
    assert said[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", UnseenLevelWarning)
        clf.predict({"a": ["w"]})


@pytest.mark.parametrize("unseen", ["new", "error"])
def test_levels_are_not_warned_of_where_they_are_no_missing_values(unseen: str) -> None:
    clf = BayesianNB(unseen=unseen).fit({"a": ["u", "v"]}, [0, 1])
    assert warned(lambda: clf.predict({"a": ["u" if unseen == "error" else "w"]})) == []


def test_folds_do_not_warn_of_levels_that_the_learned_rows_lack() -> None:
    X, y = {"a": [*"uvuvuvuv", "w", "x"]}, [0, 1] * 5
    assert warned(lambda: evaluate(BayesianNB(), pd.DataFrame(X), y, cv=5)) == []


def test_a_level_that_was_never_seen_is_shown_in_an_explanation() -> None:
    clf = BayesianNB().fit({"a": ["u", "v"], "b": ["p", "q"]}, [0, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenLevelWarning)
        found = clf.explain({"a": ["w", None, "u"], "b": ["p", "q", "p"]}).xs("a", level="entry")
    assert found["value"].tolist() == ["w", None, "u"]
    assert found["missing"].tolist() == [True, True, False]


def test_families_are_named_in_short_as_they_are_given_as_objects() -> None:
    X, y = {"n": [0, 1, 2, 5], "w": [0.5, 1.0, 2.0, 3.0]}, [0, 0, 1, 1]
    named = BayesianNB({"n": "poisson", "w": "Exponential"}).fit(X, y)
    told = BayesianNB({"n": Poisson(), "w": Exponential()}).fit(X, y)
    np.testing.assert_array_equal(named.predict_proba(X), told.predict_proba(X))
    assert isinstance(BayesianNB("categorical").fit(X, y).schema_.features["n"].family, Categorical)
    assert isinstance(BayesianNB({"both": ("poisson", ["n"])}).fit(X, y).schema_.features["both"].family, Poisson)
    with pytest.raises(ValueError, match="there is no family 'poison'; did you mean 'poisson'"):
        BayesianNB({"n": "poison"}).fit(X, y)


def test_a_grid_search_reaches_into_the_prior_of_a_column() -> None:
    X, y = datasets.play_tennis()
    clf = BayesianNB({"outlook": "categorical", "wind": Categorical()}, class_prior=Dirichlet())
    search = GridSearchCV(clf, {"features__outlook__prior__alpha": [0.1, 50.0], "class_prior__alpha": [1.0, 3.0]}, cv=2)
    best = search.fit(X, y).best_estimator_
    assert best.features["outlook"].prior.alpha == search.best_params_["features__outlook__prior__alpha"]
    assert repr(best.features["wind"]) == repr(Categorical())
    assert clf.features["outlook"] == "categorical"
    assert clf.set_params(**clf.get_params()).get_params() == clf.get_params()
    with pytest.raises(ValueError, match="features has no parameter 'outlok': did you mean 'outlook'"):
        clf.set_params(features__outlok__prior__alpha=1.0)


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ({"alpha": 1.0}, r"features=Categorical\(Dirichlet"),
        ({"priors": [0.5, 0.5]}, "class_prior={label: probability}"),
        ({"var_smoothing": 1e-9}, "NormalGamma"),
        ({"estimat": "map"}, "write estimate="),
        ({"zz": 1}, "its parameters are"),
    ],
)
def test_a_keyword_of_another_implementation_is_answered_with_ours(wrong: Any, meant: str) -> None:
    with pytest.raises(TypeError, match=f"BayesianNB has no parameter '{next(iter(wrong))}'; .*{meant}"):
        BayesianNB(**wrong)


@pytest.mark.parametrize("dtype", ["Int64", "Int8", "UInt16", "boolean", "int64[pyarrow]", "bool[pyarrow]"])
def test_labels_of_a_nullable_type_stay_whole_numbers_and_booleans(dtype: str) -> None:
    y = pd.Series([0, 1, 1, 0]).astype(dtype)
    clf = BayesianNB().fit({"x": [1.0, 2.0, 3.0, 4.0]}, y)
    assert clf.classes_.tolist() == ([False, True] if "bool" in dtype else [0, 1])
    assert clf.classes_.dtype.kind == ("b" if "bool" in dtype else "i")
    assert clf.predict({"x": [1.0]}).dtype == clf.classes_.dtype
