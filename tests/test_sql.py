"""A model as SQL gives the probabilities of the model, in DuckDB and SQLite, and on request in PostgreSQL."""

import contextlib
import functools
import io
import itertools
import re
import sqlite3
import subprocess
import sys
from decimal import Decimal

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


DATABASES = ["duckdb", "sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]


def psql(commands: str, dtype: dict | None = None) -> pd.DataFrame:
    """What a PostgreSQL server answers; where it is, the environment variables of psql say."""
    done = subprocess.run(
        ["psql", "--csv", "-q", "-v", "ON_ERROR_STOP=1", "-f", "-"],
        input=commands, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(done.stderr)
    return pd.read_csv(io.StringIO(done.stdout), dtype=dtype) if done.stdout else pd.DataFrame()


def in_postgres(X: pd.DataFrame, sql: str) -> pd.DataFrame:
    types = {"f": "double precision", "i": "bigint", "b": "boolean"}
    heads = ", ".join(f'"{name}" {types.get(X[name].dtype.kind, "text")}' for name in X)
    csv = X.to_csv(index=False, header=False)
    return psql(f"CREATE TEMP TABLE new_rows ({heads});\nCOPY new_rows FROM STDIN CSV;\n{csv}\\.\n{sql};\n")


def asked(clf, X: pd.DataFrame, database: str, sql: str | None = None) -> np.ndarray:
    """The probabilities that a database answers, in the order of the rows, which it does not keep."""
    X = X.assign(key=range(len(X)))
    sql = sql or nb.deploy.to_sql(clf, database, keep="key")
    if database == "sqlite":
        with contextlib.closing(sqlite3.connect(":memory:")) as connection:
            X.to_sql("new_rows", connection)
            found = pd.read_sql(sql, connection)
    elif database == "postgres":
        found = in_postgres(X, sql)
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
    [
        *itertools.product(["duckdb"], ["predictive", "mle"]),
        *itertools.product(["sqlite"], ["predictive", "map"]),
        pytest.param("sqlite", "mean", marks=pytest.mark.slow),
        *(pytest.param("postgres", each, marks=pytest.mark.postgres) for each in ("predictive", "mle", "map")),
    ],
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
@pytest.mark.parametrize("database", DATABASES)
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


def mixture(n: int = 200) -> tuple[pd.DataFrame, np.ndarray]:
    """A column for each way in which the query reads a cell."""
    rng = np.random.default_rng(4)
    y = rng.integers(2, size=n)
    X = pd.DataFrame({
        "real": rng.normal(y, 2.0), "flag": rng.integers(2, size=n), "bool": rng.random(n) < 0.3 + 0.3 * y,
        "grade": rng.integers(1, 5, size=n), "many": rng.integers(40, size=n) + y, "text": rng.choice(list("ab1"), n),
        "bins": rng.normal(y), "count": rng.poisson(2 + y), "area": rng.lognormal(y), "gap": rng.normal(size=n),
    })  # fmt: skip
    X.loc[rng.random(n) < 0.2, "gap"] = np.nan
    return X, np.where(y, "yes", "no")


MIXTURE = {
    "grade": "categorical", "many": "categorical", "bins": Binned(4), "count": Poisson(), "area": LogNormal(),
    "gap": Missing(),
}  # fmt: skip
CELLS = [
    1, 0, 3, -1, 1.0, 2.5, 1e300, 2**53 + 1, None, True, "", " ", "1", " 1 ", "2.50", "1e0", "true", "false", "yes",
    "A", "a ", "a", "b", "12 kg", "1_0", "0x1", "inf", "nan", "NULL", "1.", ".5", ".", "+3", "1,5", "٣", "2020-01-01",
    "101", b"1", b"", "-", "e1", "1e", "--1", "1 1",
]  # fmt: skip
TYPES = {
    "sqlite": ["", "REAL", "INTEGER", "NUMERIC", "TEXT", "TEXT COLLATE NOCASE", "BLOB"],
    "duckdb": [
        "DOUBLE", "FLOAT", "TINYINT", "UBIGINT", "HUGEINT", "DECIMAL(9, 2)", "BOOLEAN", "VARCHAR",
        "VARCHAR COLLATE NOCASE", "ENUM('a', 'A', '1')", "DATE", "TIMESTAMP", "TIME", "INTERVAL", "BLOB", "UUID",
        "VARCHAR[]", "JSON",
    ],
    "postgres": [
        "double precision", "real", "smallint", "bigint", "numeric(9, 2)", "boolean", "text", "varchar(9)", "char(3)",
        "date", "timestamp", "bit(3)", "bytea", "json", "text COLLATE nocase", "integer[]", "money", "interval",
    ],
}  # fmt: skip


def as_python_reads(clf, row: pd.DataFrame, column: str, cell: object) -> list[np.ndarray]:
    """The probabilities of a row with this cell, as it is and as a file reads it; none where it is refused."""
    cells, found = [cell], []
    if isinstance(cell, str) and column != "text":
        cells += [None] if not cell.strip() else []
        cells += [float(cell)] if re.fullmatch(r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?\s*", cell) else []
    for value in cells:
        with contextlib.suppress(ValueError, TypeError, OverflowError):
            found.append(clf.predict_proba(row.assign(**{column: pd.Series([value], row.index, object)}))[0])
    return found


def in_sqlite(query: str, column: str, declared: str, others: str) -> list:
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f'CREATE TABLE cells (key, "{column}" {declared})')
        connection.executemany("INSERT INTO cells VALUES (?, ?)", enumerate(CELLS))
        connection.execute(f"CREATE VIEW new_rows AS SELECT cells.*, {others} FROM cells")
        stored = connection.execute(f'SELECT "{column}" FROM cells ORDER BY key').fetchall()
        return [(cell, answer) for (cell,), (_, *answer) in zip(stored, sorted(connection.execute(query)), strict=True)]


def in_duckdb(query: str, column: str, declared: str, others: str) -> list:
    with duckdb.connect() as connection:
        connection.execute(f'CREATE TABLE cells (key INT, "{column}" {declared})')
        for k, cell in enumerate(CELLS):
            with contextlib.suppress(duckdb.Error):
                connection.execute("INSERT INTO cells VALUES (?, ?)", [k, cell])
        connection.execute(f"CREATE VIEW new_rows AS SELECT cells.*, {others} FROM cells")
        stored = connection.execute(f'SELECT "{column}" FROM cells ORDER BY key').fetchall()
        found = sorted(connection.execute(query).fetchall())
        return [(cell, answer) for (cell,), (_, *answer) in zip(stored, found, strict=True)]


def in_server(query: str, column: str, declared: str, others: str) -> list:
    """As the two above, in PostgreSQL; an insert or a query that it refuses leaves no row."""
    texts = ["NULL" if cell is None else f"'{cell}'" for cell in CELLS if not isinstance(cell, bytes)]
    inserts = "".join(f"INSERT INTO cells VALUES ({k}, {text});\n" for k, text in enumerate(texts))
    kind = "" if declared in ("char(3)", "boolean") else "::text"
    found = psql(
        "\\set ON_ERROR_STOP off\n\\set ON_ERROR_ROLLBACK on\nBEGIN;\nCREATE COLLATION nocase "
        "(provider = icu, locale = 'und-u-ks-level2', deterministic = false);\n"
        f'CREATE TEMP TABLE cells (key int, "{column}" {declared});\n{inserts}CREATE TEMP VIEW new_rows AS '
        f'SELECT cells.*, {others} FROM cells;\nSELECT cells."{column}"{kind} AS cell, answers.* '
        f"FROM ({query}) AS answers JOIN cells USING (key);\nROLLBACK;\n",
        dtype={"cell": str},
    )
    if found.empty:
        return []
    named = {"boolean": {"t": True, "f": False}.get}
    cell_of = named.get(declared, str if declared.startswith(("text", "varchar", "char")) else float)
    return [
        (None if pd.isna(cell) else cell_of(cell), [None if pd.isna(p) else p for p in answer])
        for cell, _, *answer in found.itertuples(index=False)
    ]


@pytest.mark.filterwarnings("ignore::bayesnb.errors.UnseenLevelWarning")
@pytest.mark.parametrize(
    ("database", "parts"),
    [
        *itertools.product(["duckdb", "sqlite"], [{0}]),
        *(pytest.param(name, {1, 2, 3, 4}, marks=pytest.mark.slow) for name in ("duckdb", "sqlite")),
        pytest.param("postgres", {0, 1, 2, 3, 4}, marks=pytest.mark.postgres),
    ],
)
def test_a_cell_of_any_type_is_read_as_python_reads_it_or_not_at_all(database, parts):
    """Each part has a fifth of the pairs of a column and a type, with each column and each type in it."""
    X, y = mixture()
    X = X[["real", "bool", "many", "text", "count"]].assign(
        bool=X["bool"].astype(int if database == "postgres" else bool)
    )
    clf = BayesianNB({name: MIXTURE[name] for name in ("many", "count")}).fit(X, y)
    row, query = X[:1].astype(object), nb.deploy.to_sql(clf, database, keep=["key"])
    wanted = functools.cache(lambda column, kind, cell: as_python_reads(clf, row, column, cell))
    read = {"sqlite": in_sqlite, "duckdb": in_duckdb, "postgres": in_server}[database]
    given = 0
    for (i, column), (k, declared) in itertools.product(enumerate(X), enumerate(TYPES[database])):
        if (i + k) % 5 not in parts:
            continue
        others = ", ".join(
            f"{'NULL' if pd.isna(v) else repr(v)} AS {name}" for name, v in row.drop(columns=column).iloc[0].items()
        )
        for cell, answer in read(query, column, declared, others):
            cell = str(cell) if isinstance(cell, list) else cell
            if answer != [None, None]:
                right = (np.allclose(answer, each, rtol=0, atol=1e-9) for each in wanted(column, type(cell), cell))
                assert any(right), (column, declared, cell, answer)
                given += 1
    assert given > 24 * len(parts)  # Numbers and text of the usual types have probabilities.


@pytest.mark.parametrize("database", DATABASES)
def test_a_column_that_the_table_does_not_have_is_an_error(database):
    X, y = mixture()
    X = X.rename(columns={"real": "rows_to_predict", "flag": "name"}).assign(bool=X["bool"].astype(int))
    clf = BayesianNB(MIXTURE).fit(X, y)
    sql = nb.deploy.to_sql(clf, database, keep="key")
    assert_allclose(asked(clf, X, database, sql), clf.predict_proba(X), rtol=0, atol=1e-9)
    for column in X:
        with pytest.raises((pd.errors.DatabaseError, duckdb.BinderException, RuntimeError), match=r"column|field"):
            asked(clf, X.drop(columns=column), database, sql)


ODD = [
    "a'b",
    'a"b',
    "a\nb",
    "a\r\nb",
    "\t",
    "a\\nb",
    "{{a}}",
    "a -- b",
    "/* a",
    "a;",
    "%s",
    ":a",
    "$1",
    "?",
    "`a`",
    "é",
    "e\u0301",
    "",
    " ",
]


@pytest.mark.parametrize("database", DATABASES)
def test_names_and_levels_of_any_characters_are_written_as_they_are(database):
    n = 2 * len(ODD)
    X = pd.DataFrame({name: np.arange(n) % 2 for name in ODD[::4]} | {"text": np.resize(ODD, n).astype(object)})
    y = np.resize(ODD[:3], n)
    clf = BayesianNB().fit(X, y)
    rows = X[: len(ODD)]
    if database == "postgres":  # Unquoted, an empty text of a CSV file is NULL there.
        rows = rows.replace("", "a'b")
    assert_allclose(asked(clf, rows, database), clf.predict_proba(rows), rtol=0, atol=1e-12)


def flags(*names: object) -> BayesianNB:
    return BayesianNB().fit(pd.DataFrame({name: [0, 1, 1, k % 2] for k, name in enumerate(names)}), list("uvuv"))


@pytest.mark.parametrize(
    ("clf", "settings", "said"),
    [
        (flags("a", "A"), {}, "the columns of the model 'a' and 'A' have one name"),
        (flags("a", "A"), {"dialect": "sqlite"}, "the columns of the model 'a' and 'A' have one name"),
        (flags(1, "1"), {"dialect": "postgres"}, "the columns of the model 1 and '1' have one name"),
        (flags("é" * 40, "é" * 41), {"dialect": "postgres"}, "have one name"),
        (flags("a"), {"keep": ["k", "k"]}, "the columns of the answer 'k' and 'k' have one name"),
        (flags("a"), {"keep": "P_u"}, "the columns of the answer 'P_u' and 'p_u' have one name"),
        (flags("a", "RowID"), {"dialect": "sqlite"}, "column 'RowID' has a name that this database answers without"),
        (
            flags("a"),
            {"dialect": "sqlite", "keep": "oid"},
            "column 'oid' has a name that this database answers without",
        ),
        (flags("a", "b\0c"), {}, "holds the character NUL"),
    ],
)
def test_names_that_a_database_confuses_are_refused(clf, settings, said):
    with pytest.raises(ValueError, match=said):
        nb.deploy.to_sql(clf, **settings)


def test_names_that_differ_in_case_are_two_columns_in_postgres():
    assert '"A"' in nb.deploy.to_sql(flags("a", "A"), "postgres")


def test_a_column_to_keep_may_be_one_of_the_model_or_have_the_name_of_an_inner_one():
    X = pd.DataFrame({"x0": [0.0, 1.0, 2.0, 5.0], "k0": list("abab"), "top": [1, 2, 3, 4]})
    clf = BayesianNB().fit(X, list("uvuv"))
    with duckdb.connect() as connection:
        connection.register("cells", X)
        for table in ("cells", "cells AS other", "(SELECT * FROM cells)"):
            found = connection.sql(nb.deploy.to_sql(clf, table=table, keep=["k0", "x0", "top"])).df()
            assert_allclose(found.sort_values("top")[["p_u", "p_v"]], clf.predict_proba(X), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "levels", [[2**53, 1], [2**53 + 1, 1], [-(2**60), 1], [Decimal("0.1"), Decimal("0.5")], ["a", 1]], ids=str
)
def test_levels_that_no_float_tells_apart_are_refused(levels):
    X = pd.DataFrame({"id": pd.Series(levels * 4, dtype=object)})
    clf = BayesianNB("categorical").fit(X, list("uvuvvuuv"))
    with pytest.raises(ValueError, match=r"column 'id': its level .* make all levels text"):
        nb.deploy.to_sql(clf)


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


@pytest.mark.parametrize("dialect", ["mysql", "tsql", "snowflake", "duckbd", None])
def test_only_databases_that_are_tested_are_written(dialect):
    clf = BayesianNB().fit(*nb.datasets.play_tennis())
    with pytest.raises(ValueError, match="Expected dialect to be one of 'duckdb', 'postgres' or 'sqlite'; got"):
        nb.deploy.to_sql(clf, dialect)


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
    assert ended.value.code == 1  # The command is right.
    said = " ".join(capsys.readouterr().err.split())
    assert "pip install 'bayesnb[sql]'" in said
    assert "Usage" not in said
    # An installation does not help a model that cannot be written.
    dated = BayesianNB().fit({"day": ["2024-01-02", "2024-03-04", "2024-05-06"]}, ["a", "b", "b"])
    with pytest.raises(ValueError, match="written as SQL"):
        nb.deploy.to_sql(dated, "sqlite")
