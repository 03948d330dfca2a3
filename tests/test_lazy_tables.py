"""A lazy table (polars, DuckDB, ibis or anything that streams Arrow) is read wherever a table in memory is."""

from collections.abc import Iterator
from warnings import catch_warnings

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pytest

from bayesnb import BayesianNB, datasets, design, evaluate, scorecard
from bayesnb.findings import inspect
from bayesnb.inference.questions import QUESTIONS

pytestmark = pytest.mark.usefixtures("few_drawn_labels")


class Lazy:
    """A table of an engine that only streams Arrow, as of ibis: its length and its cells are unknown."""

    def __init__(self, frame):
        self.frame = frame

    def __arrow_c_stream__(self, requested_schema=None):
        return pa.Table.from_pandas(self.frame, preserve_index=False).__arrow_c_stream__(requested_schema)

    def to_pyarrow(self):
        raise AssertionError("Arrow's own protocol comes first")

    def __len__(self):
        raise TypeError("the number of rows is unknown")


LAZY = {
    "a polars LazyFrame": lambda frame: pl.from_pandas(frame).lazy(),
    "a DuckDB relation": lambda frame: duckdb.from_arrow(pa.Table.from_pandas(frame, preserve_index=False)),
    "a stream of Arrow": Lazy,
    "a pyarrow dataset": lambda frame: pyarrow.dataset.dataset(pa.Table.from_pandas(frame, preserve_index=False)),
}
each_lazy = pytest.mark.parametrize("lazy", LAZY.values(), ids=LAZY)


def told(answer):
    """An answer in a form that can be compared, also if it is read in parts."""
    return pd.concat(answer).to_string() if isinstance(answer, Iterator) else str(answer)


def test_every_question_reads_a_lazy_table(tmp_path):
    X, y = datasets.play_tennis()
    clf = BayesianNB(random_state=0).fit(X, y)
    costs = pd.DataFrame([[0, 1], [4, 0]], index=clf.classes_, columns=clf.classes_)
    options = {"costs": costs, "row": X[:1], "draws": 20, "more": [1], "path": tmp_path / "predicted.csv"}
    reads = [name for name, asked in QUESTIONS.items() if "X" in asked.options]
    for k, name in enumerate(reads):
        if name in ("verify", "to_pymc", "sample_posterior"):  # These import PyMC, or state their time.
            continue
        asked, lazy = QUESTIONS[name], list(LAZY.values())[k % len(LAZY)]
        known = {option: value for option, value in options.items() if option in asked.options}
        labels = {"y": y} if "y" in asked.options else {}
        found, expected = (told(asked.function(clf, **known, X=table, **labels)) for table in (lazy(X), X))
        assert found == expected, name
    assert str(design.ask_next(clf, Lazy(X[:1]))) == str(design.ask_next(clf, X[:1]))


@each_lazy
def test_everything_that_learns_or_scores_reads_a_lazy_table_with_its_labels_inside_or_outside(lazy):
    X, y = datasets.play_tennis()
    whole = X.assign(play=y)
    for table, labels in ((lazy(whole), "play"), (lazy(X), y), (lazy(X), lazy(whole[["play"]]))):
        clf = BayesianNB().fit(table, labels)
        twice = BayesianNB().fit(X, y).partial_fit(table, labels)
        for found in (clf, BayesianNB().partial_fit(table, labels), twice.forget(table, labels)):
            np.testing.assert_allclose(found.predict_proba(X), BayesianNB().fit(X, y).predict_proba(X), rtol=1e-12)
        assert clf.score(table, labels) == clf.score(X, y)
    for cv in (None, "loo", 2):
        with catch_warnings(action="ignore"):  # With cv=None, the rows were learned.
            assert evaluate(clf, lazy(X), y, cv=cv).equals(evaluate(clf, X, y, cv=cv))
    assert str(scorecard(clf, lazy(X), lazy(whole[["play"]]), cv=None)) == str(scorecard(clf, X, y, cv=None))
    assert str(inspect(lazy(whole), "play")) == str(inspect(whole, "play"))
    exponents = [BayesianNB(dependence="weighted").fit(X, y).learn_exponents(table, y) for table in (X, lazy(X))]
    assert np.array_equal(*(each.predict_proba(X) for each in exponents))


def test_a_lazy_table_that_cannot_be_read_is_named():
    clf = BayesianNB().fit({"x": [1.0, 2.0]}, [0, 1])
    broken = pl.LazyFrame({"x": ["a"]}).select(pl.col("x").cast(pl.Float64))
    with pytest.raises(ValueError, match="the LazyFrame cannot be read"):
        clf.predict_proba(broken)
