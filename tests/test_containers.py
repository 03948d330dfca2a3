"""One table in nine containers: what a column is, and what it says of the class, depend on its values alone."""

import re
import warnings
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import mixed, run
from numpy.testing import assert_allclose
from scipy import sparse

import bayesnb as nb
from bayesnb import BayesianNB, datasets
from bayesnb.errors import EncodedColumnsWarning, UnseenLevelWarning

CONTAINERS = ("numpy", "nullable", "Arrow", "polars", "pyarrow", "dict", "array", "CSV", "Parquet", "Excel")


def in_container(X: pd.DataFrame, container: str, folder: Any) -> Any:
    """The table in a container, or the path of its file."""
    match container:
        case "numpy":
            return X
        case "nullable":
            return X.convert_dtypes()
        case "Arrow":
            return X.convert_dtypes(dtype_backend="pyarrow")
        case "polars":
            return pl.from_pandas(X)
        case "pyarrow":
            return pa.Table.from_pandas(X, preserve_index=False)
        case "dict":
            return {name: [None if pd.isna(v) else v for v in X[name].tolist()] for name in X}
        case "array":
            return X.to_numpy() if all(kind.kind in "fi" for kind in X.dtypes) else X.to_numpy(object)
        case "CSV":
            X.to_csv(folder / "t.csv", index=False)
        case "Parquet":
            X.to_parquet(folder / "t.parquet")
        case "Excel":
            X.to_excel(folder / "t.xlsx", index=False)
    return str(folder / f"t.{ {'CSV': 'csv', 'Parquet': 'parquet', 'Excel': 'xlsx'}[container] }")


def flags(n: int = 120) -> tuple[pd.DataFrame, pd.Series]:
    """Votes of 0 and 1 with gaps, stored as floats; one of them is rare."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    votes = (rng.random((n, 5)) < np.where(y, 0.7, 0.2)[:, None] * [1, 0.8, 0.5, 0.3, 0.05]).astype(float)
    votes[rng.random((n, 5)) < 0.1] = np.nan
    return pd.DataFrame(votes, columns=list("abcde")), pd.Series(np.where(y, "yes", "no"), name="party")


def census(n: int = 120) -> tuple[pd.DataFrame, pd.Series]:
    """Whole numbers with and without gaps, codes, 0 and 1 among counts, a constant, an empty column, text and reals."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, n)
    age = (30 + 10 * y + rng.integers(0, 40, n)).astype(float)
    age[::7] = np.nan
    X = pd.DataFrame(
        {
            "age": age, "hours": rng.integers(0, 60, n), "married": rng.integers(0, 2, n),
            "owner": np.where(rng.random(n) < 0.1, np.nan, rng.integers(0, 2, n)),
            "code": np.where(rng.random(n) < 0.1, np.nan, rng.integers(1, 5, n)),
            "alive": 1, "sector": rng.choice(["farm", "office", "shop"], n), "gain": rng.exponential(size=n),
        }
    )  # fmt: skip
    return X, pd.Series(np.where(y, "rich", "poor"), name="income")


def penguins() -> tuple[pd.DataFrame, pd.Series]:
    X, y = datasets.penguins()
    return X[::3].reset_index(drop=True), y[::3].reset_index(drop=True)


def marked(n: int = 120) -> tuple[pd.DataFrame, pd.Series]:
    """Numbers as text, because a few of the cells are markers of missing cells."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, n)
    numbers = {
        "age": rng.integers(18, 80, n) + 5 * y, "rooms": rng.integers(1, 5, n) + y, "smokes": rng.integers(0, 2, n),
        "weight": np.round(rng.normal(70 + 9 * y, 8), 1), "dose": np.exp(rng.normal(y - 9.0, 2, n)),
    }  # fmt: skip
    X = pd.DataFrame({name: [str(v) for v in cells.tolist()] for name, cells in numbers.items()})
    for (name, cells), mark in zip(X.items(), ("-", "?", " n/a ", "NULL", "."), strict=True):
        X[name] = cells.mask(rng.random(n) < 0.05, mark)
    return X, pd.Series(np.where(y, "yes", "no"), name="bought")


TABLES = {
    "penguins": (penguins, None), "flags": (flags, None), "census": (census, {"code": nb.Categorical()}),
    "marked": (marked, None),
}  # fmt: skip


@pytest.mark.parametrize("container", CONTAINERS[1:])
@pytest.mark.parametrize("table", TABLES)
def test_a_table_has_one_family_a_column_and_one_answer_in_every_container(table: str, container: str, tmp_path):
    make, features = TABLES[table]
    X, y = make()
    whole = BayesianNB(features).fit(X, y)
    given = in_container(
        X if container not in ("CSV", "Parquet", "Excel") else X.assign(**{y.name: y}), container, tmp_path
    )
    if container == "array" and features:
        features = {list(X).index(name): family for name, family in features.items()}
    other = BayesianNB(features).fit(given, y.name if isinstance(given, str) else y)
    assert kinds(other, X) == kinds(whole, X)
    asked = X.to_numpy(object) if container == "array" else X
    assert_allclose(other.predict_proba(asked), whole.predict_proba(X), atol=1e-9)


def claims(n: int = 200) -> tuple[pd.DataFrame, pd.Series]:
    """Columns of numbers with one finding each."""
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, n)
    age, income = rng.integers(18, 90, n), rng.lognormal(8 + y, 1, n).round(2)
    age[[3, 9, 19]] = -999
    income[::7] = np.nan
    warm = rng.normal(37, 0.5, n)
    smokes = (rng.random(n) < 0.3 + 0.3 * y).astype(object)
    smokes[::9] = None
    X = pd.DataFrame(
        {
            "id": np.arange(5000, 5000 + n), "age": age, "income": income, "visits": rng.poisson(1 + 3 * y),
            "temp": np.where(np.arange(n) % 10, warm, 1.8 * warm + 32).round(1), "smokes": smokes, "region": 7,
            "claims": np.where(rng.random(n) < 0.6, 0, rng.exponential(200 * (1 + y), n).round(2)),
        }
    )  # fmt: skip
    return X, pd.Series(np.where(y, "yes", "no"), name="paid")


def test_inspect_finds_the_same_in_every_container_and_keeps_the_numbers_that_a_fit_reads(tmp_path):
    X, y = claims()
    whole = nb.inspect(X, y)
    assert whole.drop == ["id", "region"]
    assert [*whole.features] == ["income", "visits", "claims"]
    assert [remark.column for remark in whole.remarks] == [name for name in X if name != "smokes"]
    objects = X.astype(object)
    decimals = objects.map(lambda cell: cell if isinstance(cell, bool) or pd.isna(cell) else Decimal(str(cell)))
    given = {name: in_container(X, name, tmp_path) for name in ("nullable", "Arrow", "polars", "pyarrow", "dict")}
    given |= {"objects": objects, "Decimal": decimals, "Decimals": {name: [*decimals[name]] for name in X}}
    given |= {"floats": X.assign(**X[["id", "age", "visits", "region"]].astype(float))}
    clean = whole.mended(X)
    expected = BayesianNB(whole.features).fit(clean, y).predict_proba(clean)
    for name, Z in given.items():
        found = nb.inspect(Z, y)
        assert str(found) == str(whole), name
        assert repr(found.features) == repr(whole.features), name
        mended = found.mended(Z)
        assert_allclose(BayesianNB(found.features).fit(mended, y).predict_proba(mended), expected, err_msg=name)
    assert nb.inspect(X.to_numpy(object), y).drop == ["x0", "x6"]


def kinds(clf: BayesianNB, X: pd.DataFrame) -> dict[str, tuple[str, Any]]:
    """The family and the levels of each column; columns of an array have the names x0, x1, …"""
    found = {}
    for feature in clf.classifier_.schema.features.values():
        for k, column in enumerate(feature.columns):
            name = column if column in X else list(X)[int(column[1:])]
            found[name] = type(feature.family).__name__, [*map(str, feature.levels[k])] if feature.levels else None
    return found


def test_numbers_beside_markers_of_missing_cells_are_numbers_whatever_their_types():
    X, y = marked()
    whole = BayesianNB().fit(X, y)
    assert {family for family, _ in kinds(whole, X).values()} == {"Gaussian", "Bernoulli"}
    read = X.map(lambda cell: cell if cell.strip().lower() in ("-", "?", "n/a", "null", ".") else float(cell))
    some = pd.concat([X[:60], read[60:]])
    clean = nb.inspect(X, y).mended(X)
    assert all(kind.kind == "f" for kind in clean.dtypes)
    for given in (read, some, clean, X.astype(object)):
        assert_allclose(BayesianNB().fit(given, y).predict_proba(X), whole.predict_proba(given), atol=1e-9)
    said = str(nb.inspect(X, y))
    assert said.count("read as missing") == len(X.columns)
    assert "weight: numbers; " in said


def test_whole_numbers_in_floats_are_levels_of_whole_numbers():
    for codes in ([1, 2, None, 2], [1.0, 2.0, None, 2.0], pd.array([1, 2, None, 2], "Float64")):
        clf = BayesianNB(nb.Categorical()).fit({"code": codes}, list("abab"))
        assert clf.tables()["code"].columns.tolist() == [1, 2]
        assert all(type(level) is int for level in clf.classifier_.schema.features["code"].levels[0])
    assert BayesianNB(nb.Categorical()).fit({"c": [1.0, 2.5]}, list("ab")).tables()["c"].columns.tolist() == [1.0, 2.5]


# A column of 0 and 1 that meets other numbers


def children(n: int = 90) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(2)
    y = rng.integers(0, 3, n)
    X = pd.DataFrame(
        {"children": rng.integers(0, 2, n) + 0.0, "pets": 0, "dogs": rng.integers(0, 2, n), "late": np.nan}
    )
    X.loc[[40, 41], "children"] = 2.5, -3
    X.loc[30:60, "pets"] = rng.integers(0, 2, 31)
    X["late"] = np.where(np.arange(n) < 50, np.nan, rng.integers(0, 2, n))
    return X.assign(x=rng.normal(size=n)), y


@pytest.mark.parametrize("container", ["numpy", "array"])
@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 1, 0, 2), (2, 3, 1, 0)])
def test_an_inferred_family_is_promoted_exactly_in_parts_of_any_order(container: str, order):
    X, y = children()
    cells = X if container == "numpy" else X.to_numpy()
    whole = BayesianNB().fit(cells, y)
    parts = [np.arange(start, end) for start, end in ((0, 20), (20, 45), (45, 60), (60, 90))]
    at = [cells.iloc[p] if container == "numpy" else cells[p] for p in parts]
    learned, merged = BayesianNB(), None
    for k in order:
        learned.partial_fit(at[k], y[parts[k]], classes=[0, 1, 2])
        own = BayesianNB().fit(at[k], y[parts[k]])
        merged = own if merged is None else merged.merge(own)
    for clf in (learned, merged):
        assert kinds(clf, X) == kinds(whole, X)
        assert_allclose(clf.predict_proba(cells), whole.predict_proba(cells), atol=1e-12)
    if container == "numpy":
        stream = BayesianNB().fit(iter([at[k].assign(y=y[parts[k]]) for k in order]), "y")
        assert kinds(stream, X) == kinds(whole, X)
        assert_allclose(stream.predict_proba(cells), whole.predict_proba(cells), atol=1e-12)


def test_a_promoted_column_stays_so_in_a_file_and_is_promoted_after_one(tmp_path):
    X, y = children()
    clf = nb.load(_saved(BayesianNB().fit(X[:20], y[:20]), tmp_path)).partial_fit(X[20:], y[20:])
    clf = nb.load(_saved(clf, tmp_path))
    whole = BayesianNB().fit(X, y)
    assert kinds(clf, X) == kinds(whole, X)
    assert_allclose(clf.predict_proba(X), whole.predict_proba(X), atol=1e-12)


def _saved(clf: BayesianNB, folder: Any) -> Any:
    clf.save(folder / "m.bayesnb")
    return folder / "m.bayesnb"


def test_flags_are_promoted_to_whatever_family_numbers_have():
    x, y = [0, 1, 1, 0, 1, 4, 2, 0], list("aabbabba")
    for family in (nb.Poisson(), nb.families.PolyaTree(edges=[0.5, 1.5]), nb.families.NegativeBinomial(r=2.0)):
        by_type = nb.ByType(number=family)
        whole = BayesianNB(by_type).fit({"x": x}, y)
        parts = BayesianNB(by_type).partial_fit({"x": x[:5]}, y[:5]).partial_fit({"x": x[5:]}, y[5:])
        assert parts.describe()["family"].tolist() == whole.describe()["family"].tolist()
        assert_allclose(parts.predict_proba({"x": x}), whole.predict_proba({"x": x}), atol=1e-12)


def test_a_number_that_flags_cannot_have_counts_as_missing_unless_the_family_was_named():
    X, y = flags()
    clf, asked = BayesianNB().fit(X, y), X[:2].assign(a=[2.0, np.nan])
    with pytest.warns(UnseenLevelWarning, match=r"'a': 1 of 2 rows holds a number .* Bernoulli \(2\), counted as"):
        found = clf.predict_proba(asked)
    assert_allclose(found, clf.predict_proba(asked.assign(a=np.nan)))
    with pytest.warns(UnseenLevelWarning):
        assert_allclose(BayesianNB().fit(X.to_numpy(), y).predict_proba(asked.to_numpy()), found)
    for strict in (BayesianNB(unseen="error"), BayesianNB({"a": nb.Bernoulli()}), BayesianNB(nb.Bernoulli())):
        with pytest.raises(ValueError, match="column 'a' holds 2 in row 0, where Bernoulli needs 0 or 1"):
            strict.fit(X, y).predict_proba(asked)
    with pytest.raises(ValueError, match="where Bernoulli needs 0 or 1"):
        BayesianNB({"a": nb.Bernoulli()}).fit(X, y).partial_fit(asked, y[:2])
    whole = BayesianNB(dependence="weighted").fit(X, y)
    with pytest.raises(ValueError, match="where Bernoulli needs 0 or 1"):
        whole.partial_fit(asked, y[:2])
    with pytest.warns(UnseenLevelWarning):
        assert_allclose(whole.predict_proba(asked), whole.predict_proba(asked.assign(a=np.nan)))


def test_cross_validation_answers_where_a_fold_holds_a_rare_number():
    from sklearn.model_selection import cross_val_score

    rng = np.random.default_rng(0)
    c, y = rng.integers(0, 2, 200), rng.integers(0, 2, 200)
    c[17] = 2
    X = pd.DataFrame({"children": c, "x": rng.normal(size=200)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenLevelWarning)
        assert np.isfinite(nb.evaluate(BayesianNB(), X, y, cv=5)).all()
        assert np.isfinite(cross_val_score(BayesianNB(), X, y)).all()


def test_a_sparse_matrix_of_an_encoder_is_noticed_as_the_dense_one_is():
    from sklearn.preprocessing import OneHotEncoder

    X, y = datasets.penguins()
    X = X[["island", "sex"]].dropna()
    hot = OneHotEncoder().fit_transform(X)
    with pytest.warns(EncodedColumnsWarning, match=r"'x0', 'x1', 'x2' exactly one is 1 .* \(further groups: 1\)"):
        BayesianNB().fit(hot, y[X.index])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        BayesianNB().fit(hot[:, 1:4], y[X.index])


def test_the_rows_of_mixed_tables_say_the_same_however_numbers_are_stored():
    X, y = mixed(60)
    numbers = X.select_dtypes("number").columns
    whole = BayesianNB().fit(X, y)
    for stored in (float, object, "Float64"):
        other = BayesianNB().fit(X.astype(dict.fromkeys(numbers, stored)), y)
        assert_allclose(other.predict_proba(X), whole.predict_proba(X), atol=1e-12)


SMALL = [(0, 1), (3, 4, 9), (0, 100, 127)]
WHOLE = dict.fromkeys(["int8", "uint8", "int64", "uint64", ">i4", "float64"], SMALL) | {
    "int8": [*SMALL, (-128, -5, 127)],
    "int64": [*SMALL, (-128, -5, 127), (-(2**63), 2**62)],
    "uint64": [*SMALL, (2**63, 2**63 + 1)],
    ">i4": [*SMALL, (-(2**31), 2**31 - 1)],
    "float64": [*SMALL, (-128, -5, 127), (-(2**63), 2**62)],
}


@pytest.mark.parametrize(("dtype", "labels"), [(dtype, labels) for dtype, each in WHOLE.items() for labels in each])
def test_whole_numbers_as_classes_are_the_same_whatever_their_type_and_distance(dtype, labels):
    own, rng = np.array(labels, dtype), np.random.default_rng(0)
    for n in (9, 400):
        codes = rng.integers(len(labels), size=n) % n
        codes[: len(labels)] = np.arange(len(labels))
        X = rng.normal(size=(n, 2)) + codes[:, None]
        clf, as_text = nb.BayesianNB().fit(X, own[codes]), nb.BayesianNB().fit(X, np.array(["a", "b", "c"])[codes])
        assert clf.classes_.tolist() == list(labels)
        assert clf.classes_.dtype == own.dtype.newbyteorder("=")
        assert (clf.predict_proba(X) == as_text.predict_proba(X)).all()


def test_a_sparse_matrix_with_cells_in_several_parts_is_summed_and_left_as_it_was():
    parts = sparse.csr_matrix(([1.0, 2.0, 1.0, 3.0], [2, 0, 2, 1], [0, 3, 4]), shape=(2, 3))
    whole = sparse.csr_matrix(parts.toarray())
    for family in (nb.Multinomial(), nb.Gaussian()):
        answers = [nb.BayesianNB(family).fit(X, ["a", "b"]).predict_proba(X) for X in (parts, whole, parts)]
        assert (answers[0] == answers[1]).all()
        assert (answers[0] == answers[2]).all()
    assert parts.indices.tolist() == [2, 0, 2, 1]
    assert parts.data.tolist() == [1.0, 2.0, 1.0, 3.0]


@pytest.mark.parametrize("fitted_by_name", [True, False])
def test_cells_are_filled_in_by_position_as_by_name(fitted_by_name):
    X, y = nb.datasets.play_tennis()
    rows = X[:3].assign(outlook=None, wind="storm")
    fitted, asked = (X, rows.to_numpy(object)) if fitted_by_name else (X.to_numpy(object), rows)
    clf = nb.BayesianNB().fit(fitted, y)
    with pytest.warns(UserWarning, match="feature names"):
        filled = nb.deploy.fill_in(clf, asked)
    expected = nb.deploy.fill_in(nb.BayesianNB().fit(X, y), rows)
    assert filled["value"].tolist() == expected["value"].tolist()
    assert filled["probability"].tolist() == expected["probability"].tolist()


def test_a_column_of_texts_is_warned_of_by_position_too():
    clf = nb.BayesianNB().fit(*nb.datasets.posts())
    with pytest.warns(nb.errors.NoKnownWordWarning), pytest.warns(UserWarning, match="feature names"):
        clf.predict_proba(np.array([["今天天气很好"], ["早上好"]], object))


def test_ordinal_codes_and_identifiers_are_warned_of_in_every_container_and_wherever_the_class_stands():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({name: np.r_[np.arange(4.0), rng.integers(0, 4, 56)] for name in "ab"})
    y = rng.choice(["u", "v"], len(X))
    for table, labels in ((X, y), (pl.from_pandas(X), y), (X.to_dict("list"), y), (X.assign(k=y), "k")):
        with pytest.warns(EncodedColumnsWarning, match="ordinal"):
            BayesianNB().fit(table, labels)
    X = X.assign(id=np.arange(len(X)) * 7 + 3)
    with pytest.warns(nb.errors.IdentifierWarning, match="60 whole numbers"):
        BayesianNB().fit(pd.concat([X, X[:5]]), np.r_[y, y[:5]], np.r_[np.ones(60), np.zeros(5)])


SPELLED_TRUTHS = {
    "True": ("True", "False"), "TRUE": ("TRUE", "FALSE"), "yes": (" yes", "No"), "some typed": (True, "false"),
    "a gap": ("true", "-"),
}  # fmt: skip


@pytest.mark.parametrize("spelled", SPELLED_TRUTHS)
def test_the_cure_of_truths_as_text_keeps_their_values(spelled, tmp_path, capsys):
    flag = np.resize([True, False, True, True, False, False], 24)
    y = np.resize(["u", "v", "u", "u", "v", "u"], 24)
    clf = BayesianNB().fit(X := pd.DataFrame({"f": flag, "x": np.arange(24)}), y)
    true, false = SPELLED_TRUTHS[spelled]
    X["f"] = new = pd.Series([true if each else false for each in flag])
    for ask in (clf.predict_proba, lambda X: BayesianNB({"f": nb.families.Bernoulli()}).fit(X, y)):
        with pytest.raises(ValueError, match="where numbers, or True and False, are needed, in row ") as error:
            ask(X)
    write = re.search(r"write (.*), or fit the model with features=", str(error.value))[1]
    exec(write, {"X": X})
    learned = pd.Series(flag).where(new != "-", None)
    assert (clf.predict_proba(X) == clf.predict_proba(X.assign(f=learned))).all()
    clf.save(tmp_path / "m.bayesnb")
    X.assign(f=new.astype(str)).to_csv(tmp_path / "new.csv", index=False)
    code, _, error = run(capsys, "predict", tmp_path / "m.bayesnb", tmp_path / "new.csv")
    assert (code == 0) != ("write true and false as Boolean values, or " in error)
