"""A model as SQL gives the probabilities of the model, in two databases."""

import contextlib
import sqlite3
import sys

import duckdb
import numpy as np
import pandas as pd
import pytest
from conftest import mixed
from numpy.testing import assert_allclose

import bayesnb as nb
from bayesnb import BayesianNB, Binned, Categorical, Exponents, Missing, Poisson
from bayesnb.cli import main
from bayesnb.families import Exponential, GaussianKnownVariance, LogNormal, NegativeBinomial

COLUMNS = {
    "pulse": "real", "town's": "levels", "scale": "real", "smoker": "flag", "height": "spread", "grade": "levels",
    "visits": "count", "falls": "count", "area": "positive", "age": "spread",
}  # fmt: skip
FEATURES = {
    "scale": GaussianKnownVariance(variance=2.0),
    "grade": Categorical(),
    "visits": Poisson(),
    "falls": NegativeBinomial(r=2.0),
    "area": LogNormal(),
    "age": Binned(4),
    "height": Missing(),
}


def asked(clf, X: pd.DataFrame, database: str) -> np.ndarray:
    """The probabilities that a database answers, in the order of the rows, which it does not keep."""
    X = X.assign(key=range(len(X)))
    sql = nb.deploy.to_sql(clf, database, keep=["key"])
    if database == "sqlite":
        with contextlib.closing(sqlite3.connect(":memory:")) as connection:
            X.to_sql("new_rows", connection)
            found = pd.read_sql(sql, connection)
    else:
        with duckdb.connect() as connection:
            connection.register("new_rows", X)
            found = connection.sql(sql).df()
    assert [*found] == ["key", *(f"p_{label}" for label in clf.classes_)]
    return found.sort_values("key").drop(columns="key").to_numpy(float)


def table(n: int, classes: str = "uvw") -> tuple[pd.DataFrame, np.ndarray]:
    X, y = mixed(n, classes, COLUMNS)
    return X.assign(smoker=X["smoker"].astype(int), grade=X["grade"].map({"a": 1, "b": 2, "c": 3})), y


@pytest.mark.parametrize(
    ("database", "estimate"),
    [("duckdb", "predictive"), ("duckdb", "mle"), ("sqlite", "predictive"), ("sqlite", "mean"), ("sqlite", "map")],
)
def test_a_database_gives_the_probabilities_of_the_model(database, estimate):
    X, y = table(80)
    clf = BayesianNB(FEATURES, estimate=estimate).fit(X, y)
    far = X[:6].assign(pulse=[1e9, -40.0, np.nan, 3.0, 0.0, 1e140], visits=[300, 70_000, 255, 256, 0, 1])
    rows = pd.concat([X, far], ignore_index=True)
    if estimate == "mle":
        rows = rows.assign(falls=X["falls"].min())
    rows.loc[3, "town's"] = "Atlantis"
    assert_allclose(asked(clf, rows, database), clf.predict_proba(rows), rtol=0, atol=1e-9)


@pytest.mark.parametrize("classes", ["u", "uv"])
@pytest.mark.parametrize("database", ["duckdb", "sqlite"])
def test_new_levels_and_joined_tables_are_read_as_the_model_reads_them(database, classes):
    rng = np.random.default_rng(0)
    y = np.resize(list(classes), 200)
    X = pd.DataFrame({"town": rng.integers(40, size=200), "street": rng.choice(list("abcdefghijklmnopqrstuvw'"), 200)})
    X["street"] = X["street"].mask(rng.random(200) < 0.2)
    rows = X.assign(town=X["town"] + 10)
    for unseen in ("new", "missing"):
        clf = BayesianNB("categorical", unseen=unseen).fit(X, y)
        assert_allclose(asked(clf, rows, database), clf.predict_proba(rows), rtol=0, atol=1e-12)


def test_exponents_of_columns_multiply_their_terms():
    X, y = table(80)
    for spec in ("tempered", Exponents(shapes=False, offsets="class")):
        clf = BayesianNB(FEATURES, estimate="mean", dependence=spec).fit(X, y)
        assert_allclose(asked(clf, X, "duckdb"), clf.predict_proba(X), rtol=0, atol=1e-9)


def test_rows_that_the_model_refuses_have_no_probabilities():
    X, y = table(60)
    clf = BayesianNB(FEATURES, estimate="mle", unseen="error").fit(X, y)
    bad = {"pulse": np.inf, "scale": -np.inf, "town's": "Atlantis", "smoker": 2, "visits": 1.5, "area": -1.0}
    rows = pd.concat([X[:1].assign(**{column: value}) for column, value in bad.items()])
    for database in ("duckdb", "sqlite"):
        assert np.isnan(asked(clf, rows, database)).all()
    impossible = BayesianNB(estimate="mle").fit({"x": ["a", "b"], "z": ["a", "b"]}, ["u", "v"])
    found = asked(impossible, pd.DataFrame({"x": ["a", "a"], "z": ["a", "b"]}), "duckdb")
    assert_allclose(found, [[1.0, 0.0], [np.nan, np.nan]])


def test_a_hundred_million_rows_round_no_probability():
    rng = np.random.default_rng(0)
    X, y = pd.DataFrame({"x": rng.normal(size=100), "z": rng.normal(size=100)}), np.resize(["u", "v"], 100)
    clf = BayesianNB().fit(X, y, sample_weight=np.full(100, 1e6))
    assert_allclose(asked(clf, X, "duckdb"), clf.predict_proba(X), rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"features": {"height": Exponential()}}, "column 'height': Exponential is not written as SQL"),
        ({"dependence": "tempered"}, "averaged over the exponents"),
        ({"dependence": "weighted", "estimate": "mean"}, "not linear in the columns"),
    ],
)
def test_what_has_no_formula_is_refused_by_name(settings, said):
    X, y = table(60)
    clf = BayesianNB(**settings).fit(X.assign(height=np.exp(X["height"])), y)
    with pytest.raises(ValueError, match=said):
        nb.deploy.to_sql(clf)
    with pytest.raises(ValueError, match="Unknown dialect 'duckbd'"):
        nb.deploy.to_sql(BayesianNB().fit(X, y), "duckbd")


def test_the_command_writes_the_query(tmp_path):
    X, y = nb.datasets.play_tennis()
    clf = BayesianNB().fit(X, y)
    clf.save(tmp_path / "model.bayesnb")
    arguments = ["export", str(tmp_path / "model.bayesnb"), "--dialect", "sqlite", "--table", "days", "--keep", "wind"]
    query = tmp_path / "model.sql"
    for more, code in ((["-o", str(query)], 0), (["-o", str(query)], 2), (["-o", str(query), "--force"], 0)):
        with pytest.raises(SystemExit) as ended:
            main([*arguments, *more])
        assert ended.value.code == code
    assert query.read_text().strip() == nb.deploy.to_sql(clf, "sqlite", "days", ["wind"])


def test_the_command_without_sqlglot_names_what_to_install(tmp_path, capsys, monkeypatch):
    BayesianNB().fit(*nb.datasets.play_tennis()).save(tmp_path / "model.bayesnb")
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    with pytest.raises(SystemExit) as ended:
        main(["export", str(tmp_path / "model.bayesnb")])
    assert ended.value.code == 2
    assert "pip install 'bayesnb[sql]'" in " ".join(capsys.readouterr().err.split())
