"""Same data, same answer: an answer depends on the content of a table and on the settings, and on nothing else.

One list of relations is tried on random tables of all kinds of cells, with all families that have a closed form and
every dependence. Each relation is a function named by the sentence that it proves. It changes what must not matter and
compares the probabilities of new rows, to a relative error of 1e-9. (Families that are sampled have tests of their
own, in ``test_sampled.py``.)

The ordinary tests try a few tables. ``pytest tests/test_relations.py --tables 2000`` tries so many without a dependence
and a tenth of them with each dependence, in minutes and hours.
"""

from __future__ import annotations

import contextlib
import io
import pickle
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import chain, permutations
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from conftest import CELLS
from numpy.random import Generator, default_rng
from numpy.testing import assert_allclose
from threadpoolctl import threadpool_limits

import bayesnb as nb
from bayesnb import cli
from bayesnb.dependence.exponents import NoExponentsError
from bayesnb.evaluation.folds import turns
from bayesnb.families import (
    Exponential,
    GammaKnownShape,
    GaussianKnownVariance,
    Hurdle,
    LogNormal,
    Mixture,
    MultivariateGaussian,
    NegativeBinomial,
    Ordinal,
    PolyaTree,
    SharedGaussian,
)

type Columns = dict[str, list[Any]]
type Hyper = Callable[[float, float], float]
type Names = Mapping[str, str]

# Warnings are about tables that are odd, as random ones are; other tests hold what they say.
pytestmark = pytest.mark.filterwarnings("ignore")

DEPENDENCES = ("none", "tempered", "weighted", "pairwise", "forests", "auto")


# Random tables


@dataclass(frozen=True)
class Spec:
    """A specification, made of random hyperparameters, and which changes of a column leave its answers alone."""

    make: Callable[[Hyper], Any]
    units: str = ""
    """"affine" if x may become a x + b, "scale" if it may become a x with a > 0."""
    waits: bool = False
    """Whether it takes something from the first part of a table, so that parts are not the whole."""


INFERRED = Spec(lambda h: None, "affine")
OF_LEVELS = (
    Spec(lambda h: None),
    Spec(lambda h: nb.Categorical(nb.Dirichlet(h(0.2, 3)))),
    Spec(lambda h: nb.Categorical(nb.Dirichlet.bdeu(h(1, 5)))),
    Spec(lambda h: nb.Missing(prior=nb.Beta(h(0.5, 3), h(0.5, 3)))),
)
OF_FLAGS = (
    *OF_LEVELS,
    Spec(lambda h: nb.Bernoulli(nb.Beta(h(0.3, 4), h(0.3, 4)))),
)
OF_REALS = (
    INFERRED,
    Spec(lambda h: nb.Gaussian(nb.NormalGamma(h(-1, 2), h(0.1, 3), h(0.5, 4), h(0.5, 9)))),
    Spec(lambda h: nb.Gaussian(nb.NormalGamma.unit_information(h(0.3, 4))), "affine"),
    Spec(lambda h: GaussianKnownVariance(nb.Normal(h(-1, 2), h(1, 9)), variance=h(0.5, 4))),
    Spec(lambda h: PolyaTree(edges=[-1.0, h(0, 0.5), 1.0, h(2, 5)])),
    Spec(lambda h: PolyaTree(), "affine", waits=True),
    Spec(lambda h: nb.Binned(edges=[h(-1, 0), h(0, 1), 2.0])),
    Spec(lambda h: nb.Binned(4), "affine", waits=True),
    Spec(lambda h: nb.Missing(nb.Gaussian(nb.NormalGamma.unit_information(h(0.3, 4)))), "affine"),
    Spec(lambda h: Mixture([nb.Gaussian(nb.NormalGamma(h(-1, 2), 1, h(1, 4), 2)), PolyaTree(edges=[0.0, 1.0])])),
    Spec(lambda h: "best", waits=True),
)
OF_POSITIVES = (
    INFERRED,
    Spec(lambda h: LogNormal(), "scale"),
    Spec(lambda h: LogNormal(nb.NormalGamma(h(-1, 2), h(0.1, 3), h(0.5, 4), h(0.5, 9)))),
    Spec(lambda h: Exponential(nb.Gamma(h(0.3, 4), h(0.3, 4)))),
    Spec(lambda h: GammaKnownShape(nb.Gamma(h(0.3, 4), h(0.3, 4)), shape=h(0.5, 3))),
    Spec(lambda h: Mixture([LogNormal(), Exponential(nb.Gamma(h(0.3, 4), 2))])),
)
OF_AMOUNTS = (
    INFERRED,
    Spec(lambda h: Hurdle(zero=nb.Beta(h(0.3, 4), h(0.3, 4)))),
    Spec(lambda h: Hurdle(Exponential(nb.Gamma(h(0.3, 4), h(0.3, 4))))),
)
OF_COUNTS = (
    Spec(lambda h: None),
    Spec(lambda h: nb.Poisson(nb.Gamma(h(0.3, 4), h(0.3, 4)))),
    Spec(lambda h: nb.Poisson()),
    Spec(lambda h: NegativeBinomial(nb.Beta(h(0.3, 4), h(0.3, 4)), r=h(0.5, 4))),
    Spec(lambda h: Hurdle(nb.Poisson(nb.Gamma(h(0.3, 4), h(0.3, 4))))),
    Spec(lambda h: Mixture([nb.Poisson(), NegativeBinomial()], weights=[h(0.3, 4), 1])),
    Spec(lambda h: nb.Categorical()),
)
OF_RANKS = (
    Spec(lambda h: None),
    Spec(lambda h: Ordinal(order=range(6))),
    Spec(lambda h: nb.Categorical(nb.Dirichlet(h(0.3, 4)))),
)
OF_WORDS = (Spec(lambda h: nb.Multinomial(nb.Dirichlet(h(0.2, 3)))), Spec(lambda h: nb.Multinomial()))
OF_VECTORS = (
    Spec(lambda h: MultivariateGaussian(), "affine"),
    Spec(lambda h: MultivariateGaussian(nb.NormalWishart.unit_information(h(0.5, 3))), "affine"),
    Spec(lambda h: SharedGaussian(), "affine"),
)
OF_EVENTS = (Spec(lambda h: nb.Poisson(nb.Gamma(h(0.3, 4), h(0.3, 4)), exposure="hours")),)
OF_TEXT = (Spec(lambda h: nb.Text()),)

SENTENCES = ("good cheap food", "bad food", "cheap and bad", "very good", "never again never")

# Each kind of column: the cells of its columns, and how they may be read.
KINDS: dict[str, tuple[tuple[str, ...], tuple[Spec, ...]]] = {
    "levels": (("levels",), OF_LEVELS),
    "flag": (("flag",), OF_FLAGS),
    "bit": (("bit",), OF_FLAGS),
    "real": (("real",), OF_REALS),
    "spread": (("spread",), OF_REALS),
    "bumps": (("bumps",), OF_REALS),
    "positive": (("positive",), OF_POSITIVES),
    "zeros": (("zeros",), OF_AMOUNTS),
    "count": (("count",), OF_COUNTS),
    "rank": (("rank",), OF_RANKS),
    "words": (("word", "count", "word"), OF_WORDS),
    "vector": (("real", "spread", "outliers"), OF_VECTORS),
    "events": (("events", "hours"), OF_EVENTS),
    "text": (("text",), OF_TEXT),
}
MORE_CELLS = CELLS | {
    "rank": lambda rng, y, hours: rng.binomial(5, 0.3 + 0.1 * y),
    "text": lambda rng, y, hours: np.take(SENTENCES, (y + rng.integers(3, size=len(y))) % len(SENTENCES)),
}
WHOLE = {"bit", "count", "events", "word", "rank"}
CLASSES = (("u", "v"), ("ant", "bee", "cow"), (0, 1), (3, 10, 20, 100), (False, True))


@dataclass(frozen=True)
class Block:
    """Columns that one specification reads."""

    kind: str
    columns: tuple[str, ...]
    spec: Spec
    family: Any

    def features(self, names: Names) -> dict[Any, Any]:
        """The specification, where the columns have these names."""
        columns = [names[c] for c in self.columns]
        if self.kind == "events":
            return {columns[0]: replace(self.family, exposure=columns[1])}
        if len(columns) > 1:
            return {"+".join(columns): (self.family, columns)}
        return {} if self.family is None else {columns[0]: self.family}


def drawn(blocks: tuple[Block, ...], rng: Generator, y: np.ndarray, gaps: float, whole: bool) -> Columns:
    """Columns of cells as values of Python; None is a gap."""
    table: Columns = {}
    for block in blocks:
        hours = rng.uniform(0.5, 2.0, len(y))
        for name, kind in zip(block.columns, KINDS[block.kind][0], strict=True):
            cells = np.asarray(MORE_CELLS[kind](rng, y, hours))
            cells = (cells.astype(int) if kind in WHOLE else cells).tolist()
            full = kind == "hours" or block.kind == "words"
            table[name] = [v if full or rng.random() >= gaps else None for v in cells]
        if block.kind == "vector" and whole:
            # A row of a block is learned if none of its cells is missing; others are refused.
            gone = [None in row for row in zip(*(table[name] for name in block.columns), strict=True)]
            for name in block.columns:
                table[name] = [None if hole else v for hole, v in zip(gone, table[name], strict=True)]
    return table


@dataclass(frozen=True, eq=False)
class Case:
    """A random table, how its columns are read, and new rows to predict."""

    seed: int
    blocks: tuple[Block, ...]
    table: Columns
    y: list[Any]
    new: Columns
    settings: dict[str, Any]

    @classmethod
    @lru_cache(200)
    def of(cls, seed: int, dependence: str) -> Case:
        """The table of this number. Under a dependence, tables are small, because fits take longer."""
        rng = default_rng(seed)
        small = dependence != "none"
        labels = CLASSES[rng.integers(3 if small else len(CLASSES))]
        blocks: list[Block] = []
        for kind in rng.choice([*KINDS], rng.integers(1, 4 if small else 6)):
            same = [block for block in blocks if block.kind == kind]
            # Columns of one kind have one specification, whose hyperparameters differ by what a ``repr`` rounds off.
            again, nearly = default_rng([seed, [*KINDS].index(kind)]), 1 + 3e-7 * len(same)
            specs = KINDS[kind][1]
            spec = specs[again.integers(len(specs))]
            family = spec.make(lambda low, high, r=again, by=nearly: r.uniform(low, high) * by)
            names = tuple(f"{kind}{len(same)}{part}" for part in "abc"[: len(KINDS[kind][0])])
            blocks.append(Block(str(kind), names, spec, family))
        found = tuple(blocks)
        codes = rng.permutation(np.resize(np.arange(len(labels)), rng.integers(12, 24 if small else 60)))
        codes[rng.random(len(codes)) < 0.3] = 0
        gaps = rng.choice([0.0, 0.1, 0.3])
        table = drawn(found, rng, codes, gaps, whole=True)
        new = drawn(found, rng, rng.integers(len(labels), size=6), gaps, whole=False)
        for block in found:
            if block.kind == "levels" and rng.random() < 0.3:
                new[block.columns[0]][0] = "never seen"
        settings = {
            "estimate": rng.choice(["predictive", "predictive", "mean"]).item(),
            "class_prior": [None, "uniform", nb.Dirichlet(rng.uniform(0.3, 3))][rng.integers(3)],
            "dependence": None if dependence == "none" else dependence,
        }
        return cls(seed, found, table, [labels[k] for k in codes], new, settings)

    @property
    def rng(self) -> Generator:
        """A generator for what a relation changes; all start alike."""
        return default_rng([self.seed, 1])

    @property
    def names(self) -> list[str]:
        """The columns."""
        return [*self.table]

    def features(self, names: Names | None = None, blocks: tuple[Block, ...] | None = None) -> dict[Any, Any]:
        """The specifications of some blocks, where the columns have these names."""
        names = names or {name: name for name in self.names}
        return {k: v for block in blocks or self.blocks for k, v in block.features(names).items()}

    def fit(self, table: Any = None, y: Any = None, weight: Any = None, features: Any = None) -> nb.BayesianNB:
        """A model of this table, or of what is given in its place."""
        clf = self.unfitted(features)
        return clf.fit(self.table if table is None else table, self.y if y is None else y, weight)

    def unfitted(self, features: Any = None) -> nb.BayesianNB:
        """The model before it has seen a row."""
        return nb.BayesianNB(self.features() if features is None else features, **self.settings)

    @cached_property
    def model(self) -> nb.BayesianNB:
        """The model of the table as it was drawn."""
        return self.fit()

    @cached_property
    def expected(self) -> np.ndarray:
        """Its logarithms of probabilities of the new rows, (row, class)."""
        return self.model.predict_log_proba(self.new)

    def agrees(self, found: nb.BayesianNB, new: Any = None, order: bool = True) -> None:
        """Hold a model to the one of the table as it was drawn: its classes, families and probabilities."""
        assert [*map(str, found.classes_)] == [*map(str, self.model.classes_)]
        if order:
            assert self.read(found) == self.read(self.model)
        self.close(found.predict_log_proba(self.new if new is None else new))

    def close(self, found: Any, expected: Any = None, tolerance: float = 1e-9) -> None:
        """Hold logarithms of probabilities to those of the table as it was drawn."""
        assert_allclose(found, self.expected if expected is None else expected, rtol=tolerance, atol=tolerance)

    @staticmethod
    def read(clf: nb.BayesianNB) -> list[tuple[str, Any]]:
        """The family and the levels of each feature, in the order of the columns."""
        found = clf.classifier_.schema.features.values()
        return [(type(f.family).__name__, [*map(frozenset, f.levels or ())], len(f.columns)) for f in found]

    @property
    def whole_only(self) -> bool:
        """Whether something is taken from the first part of a table."""
        return any(block.spec.waits for block in self.blocks)


class UntriedError(Exception):
    """The relation says nothing about this table."""


RELATIONS: dict[str, Callable[[Case], None]] = {}
NAIVE_ONLY: set[str] = set()
"""Relations that are only promised without a dependence, or that would repeat another one under it."""


def relation(check: Callable[[Case], None]) -> Callable[[Case], None]:
    """Add a relation to the list."""
    RELATIONS[check.__name__] = check
    return check


def of_naive_bayes(check: Callable[[Case], None]) -> Callable[[Case], None]:
    """Add a relation that is promised without a dependence only."""
    NAIVE_ONLY.add(check.__name__)
    return relation(check)


def some(case: Case, one_of: int) -> None:
    """Leave a slow relation to one of so many tables."""
    if default_rng([case.seed, 2]).integers(one_of):
        raise UntriedError


# Containers and types


def as_pandas(columns: Columns) -> pd.DataFrame:
    return pd.DataFrame(columns)


def as_floats(columns: Columns) -> pd.DataFrame:
    whole = {n for n, c in columns.items() if {type(v) for v in c if v is not None} <= {int}}
    return pd.DataFrame(columns).astype(dict.fromkeys(whole, float))


def as_dictionaries(columns: Columns) -> pa.Table:
    table = pa.table(columns)
    for k, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            table = table.set_column(k, field.name, table.column(k).dictionary_encode())
    return table


CONTAINERS: dict[str, Callable[[Columns], Any]] = {
    "pandas": as_pandas,
    "pandas_with_nullable_types": lambda columns: as_pandas(columns).convert_dtypes(),
    "pandas_with_arrow_types": lambda columns: as_pandas(columns).convert_dtypes(dtype_backend="pyarrow"),
    "pandas_of_objects": lambda columns: pd.DataFrame(columns, dtype=object),
    "pandas_with_whole_numbers_as_floats": as_floats,
    "polars": pl.DataFrame,
    "polars_with_categories": lambda columns: pl.DataFrame(columns).with_columns(
        pl.col(pl.String).cast(pl.Categorical)
    ),
    "pyarrow": pa.table,
    "pyarrow_with_dictionaries": as_dictionaries,
}


def contained(name: str, make: Callable[[Columns], Any]) -> None:
    def check(case: Case) -> None:
        clf = case.fit(make(case.table))
        case.agrees(clf, make(case.new))
        case.agrees(clf)
        case.close(case.model.predict_log_proba(make(case.new)))

    check.__name__ = f"a_table_of_{name}_is_read_as_its_values"
    of_naive_bayes(check)


for name, make in CONTAINERS.items():
    contained(name, make)


@relation
def a_table_in_any_container_is_read_as_its_values(case):
    """A dependence reads what the model has read, so one container for each table is enough."""
    make = next(any_container(case))
    case.agrees(case.fit(make(case.table)), make(case.new))


@of_naive_bayes
def an_array_of_objects_is_read_as_its_values(case):
    names = {name: f"x{k}" for k, name in enumerate(case.names)}
    for block in case.blocks:
        if block.kind == "events" or block.kind == "text":
            raise UntriedError
    rows = np.array(list(zip(*case.table.values(), strict=True)), object)
    new = np.array(list(zip(*case.new.values(), strict=True)), object)
    features = {
        (key if isinstance(value, tuple) else int(key[1:])): (
            (value[0], [int(c[1:]) for c in value[1]]) if isinstance(value, tuple) else value
        )
        for key, value in case.features(names).items()
    }
    case.agrees(case.fit(rows, features=features), new)


@of_naive_bayes
def an_array_of_numbers_is_read_as_its_values(case):
    """Columns of an array that are inferred are one feature, whole numbers and gaps make it one of floats."""
    numbers = [block for block in case.blocks if block.kind not in ("levels", "flag", "text", "events", "words")]
    if not numbers or len(numbers) < len(case.blocks):
        raise UntriedError
    place = {name: k for k, name in enumerate(case.names)}
    features = {}
    for block in numbers:
        for key, value in block.features({name: name for name in case.names}).items():
            own = isinstance(value, tuple)
            features[key if own else place[key]] = (value[0], [place[c] for c in value[1]]) if own else value
    table, new = (np.array([*columns.values()], float).T for columns in (case.table, case.new))
    clf = case.fit(table, features=features)
    case.close(clf.predict_log_proba(new))
    case.close(case.fit(np.asfortranarray(table), features=features).predict_log_proba(new))
    if not np.isnan(table).any() and (table == table.astype(int)).all():
        case.close(case.fit(table.astype(int), features=features).predict_log_proba(new))


@of_naive_bayes
def levels_that_a_type_declares_are_levels_in_every_container(case):
    """Declared levels without a row count, and their order does not."""
    columns = [block.columns[0] for block in case.blocks if block.kind == "levels"]
    if not columns:
        raise UntriedError
    declared = {name: sorted({v for v in case.table[name] if v is not None} | {"nowhere", "zz"}) for name in columns}
    turned = {name: levels[::-1] for name, levels in declared.items()}
    table, other = (
        as_pandas(case.table).astype({name: pd.CategoricalDtype(levels) for name, levels in each.items()})
        for each in (declared, turned)
    )
    enums = pl.DataFrame(case.table).with_columns(
        [pl.Series(name, case.table[name], pl.Enum(levels)) for name, levels in declared.items()]
    )
    expected = case.fit(table)
    for name in columns:
        assert "nowhere" in expected.classifier_.schema.features[name].values[name]
    for one in (other, enums):
        case.close(case.fit(one).predict_log_proba(case.new), expected.predict_log_proba(case.new))


# Files


def written(case: Case, folder: Path, form: str, y: str = "y") -> Path:
    """The table with its labels in a file."""
    path, table = folder / f"table.{form}", {**case.table, y: case.y}
    if form == "csv":
        pd.DataFrame(table, dtype=object).to_csv(path, index=False)
    elif form == "xlsx":
        pd.DataFrame(table, dtype=object).to_excel(path, index=False)
    elif form == "parquet":
        pa.parquet.write_table(pa.table(table), path)
    else:
        pa.feather.write_feather(pa.table(table), path)
    return path


def without_cuts_of_all_rows(case: Case) -> None:
    """Leave out tables with intervals that depend on all rows: in files they are refused."""
    if any(isinstance(block.family, nb.Binned) and block.spec.waits for block in case.blocks):
        raise UntriedError


def filed(form: str, one_of: int) -> None:
    def check(case: Case) -> None:
        some(case, one_of)
        without_cuts_of_all_rows(case)
        if form in ("csv", "xlsx") and any(len(set(c)) == 1 and c[0] is None for c in case.table.values()):
            raise UntriedError
        with tempfile.TemporaryDirectory() as folder:
            case.agrees(case.fit(written(case, Path(folder), form), "y"))

    check.__name__ = f"a_file_of_{form}_is_read_as_its_values"
    of_naive_bayes(check)


for form, one_of in {"csv": 4, "parquet": 4, "arrow": 4, "xlsx": 12}.items():
    filed(form, one_of)


@of_naive_bayes
def a_lazy_table_is_read_as_its_values(case):
    some(case, 4)
    without_cuts_of_all_rows(case)
    table = pa.table({**case.table, "y": case.y})
    case.agrees(case.fit(pl.from_arrow(table).lazy(), "y"))
    case.agrees(case.fit(table.to_reader(), "y"))
    with duckdb.connect() as connection:
        case.agrees(case.fit(connection.from_arrow(table), "y"))


# Rows


def rows_of(columns: Columns, rows: Any) -> Columns:
    """These rows of a table."""
    return {name: [cells[k] for k in rows] for name, cells in columns.items()}


def labels_of(y: list[Any], rows: Any) -> list[Any]:
    """The labels of these rows."""
    return [y[k] for k in rows]


@relation
def the_order_of_rows_changes_nothing(case):
    rows = case.rng.permutation(len(case.y))
    case.agrees(case.fit(rows_of(case.table, rows), labels_of(case.y, rows)))


@relation
def a_row_is_predicted_by_itself(case):
    alone = [case.model.predict_log_proba(rows_of(case.new, [k]))[0] for k in range(6)]
    case.close(alone)


@relation
def a_row_of_weight_w_counts_as_w_copies(case):
    weight = case.rng.integers(0, 4, len(case.y))
    if not weight.any():
        raise UntriedError
    copies = np.repeat(np.arange(len(case.y)), weight)
    weighted = case.fit(weight=weight)
    copied = case.fit(rows_of(case.table, copies), labels_of(case.y, copies))
    assert Case.read(weighted) == Case.read(copied)
    case.close(weighted.predict_log_proba(case.new), copied.predict_log_proba(case.new))


@of_naive_bayes
def a_row_of_weight_w_counts_as_w_copies_for_plug_ins(case):
    """A plug-in that a family does not have, or that lies on a boundary, is refused in both."""
    weight = case.rng.integers(1, 4, len(case.y))
    copies = np.repeat(np.arange(len(case.y)), weight)
    weighted = case.fit(weight=weight)
    copied = case.fit(rows_of(case.table, copies), labels_of(case.y, copies))
    for estimate in ("map", "mle"):
        found = []
        for clf in (weighted, copied):
            try:
                found.append(clf.set_params(estimate=estimate).predict_log_proba(case.new))
            except ValueError as refused:
                found.append(type(refused))
        if isinstance(found[0], type) or isinstance(found[1], type):
            assert found[0] is found[1]
        else:
            case.close(*found)


@of_naive_bayes
def weights_may_have_any_unit_of_a_part_of_a_row(case):
    if any(isinstance(block.family, str) for block in case.blocks):
        raise UntriedError  # "best" leaves out one copy of a row at a time, and half a row is no copy.
    halves = case.fit(
        {name: cells * 2 for name, cells in case.table.items()}, case.y * 2, np.full(2 * len(case.y), 0.5)
    )
    case.agrees(halves)


# Parts


def parts_of(case: Case) -> list[np.ndarray]:
    """The rows in parts of a random size and order."""
    rng, n = case.rng, len(case.y)
    cuts = np.sort(rng.choice(np.arange(1, n), rng.integers(1, 4), replace=False))
    parts = np.split(np.arange(n), cuts)
    return [parts[k] for k in rng.permutation(len(parts))]


def parts_with_words(case: Case) -> list[np.ndarray]:
    """Parts that may be learned one after the other: a column of text without a word is refused."""
    parts = parts_of(case)
    for name in [name for name in case.names if name.startswith("text")]:
        if any(all(case.table[name][k] is None for k in rows) for rows in parts):
            raise UntriedError
    return parts


def any_container(case: Case) -> Iterator[Callable[[Columns], Any]]:
    rng = case.rng
    while True:
        yield CONTAINERS[rng.choice([*CONTAINERS])]


@relation
def a_table_in_parts_of_any_order_gives_the_model_of_the_whole(case):
    if case.whole_only:
        raise UntriedError
    whole = {**case.table, "y": case.y}
    parts = [as_pandas(rows_of(whole, rows)).convert_dtypes() for rows in parts_of(case)]
    case.agrees(case.fit(iter(parts), "y"))
    if case.settings["dependence"] is None:
        weight = default_rng([case.seed, 4]).choice([0.5, 1.0, 2.0], len(case.y))
        weighted = [part.assign(w=weight[rows]) for part, rows in zip(parts, parts_of(case), strict=True)]
        found, expected = case.fit(iter(weighted), "y", "w"), case.fit(weight=weight)
        case.close(found.predict_log_proba(case.new), expected.predict_log_proba(case.new))


@of_naive_bayes
def rows_that_come_later_in_any_container_give_the_model_of_the_whole(case):
    if case.whole_only:
        raise UntriedError
    clf = case.unfitted()
    for rows, make in zip(parts_with_words(case), any_container(case), strict=False):
        clf.partial_fit(make(rows_of(case.table, rows)), labels_of(case.y, rows))
    case.agrees(clf)


@of_naive_bayes
def merged_models_are_the_model_of_all_rows(case):
    if case.whole_only:
        raise UntriedError
    models = [case.fit(rows_of(case.table, rows), labels_of(case.y, rows)) for rows in parts_with_words(case)]
    first, *rest = models
    for other in rest:
        first.merge(other)
    case.agrees(first)


@of_naive_bayes
def rows_that_are_forgotten_were_never_there(case):
    if case.whole_only:
        raise UntriedError
    more = default_rng([case.seed, 3]).permutation(len(case.y))[: len(case.y) // 2]
    clf = case.fit().partial_fit(rows_of(case.table, more), labels_of(case.y, more))
    case.agrees(clf.forget(rows_of(case.table, more), labels_of(case.y, more)))
    for name, table in case.model.tables().items():
        pd.testing.assert_frame_equal(clf.tables()[name], table, rtol=1e-9, atol=1e-9)


LATER: dict[str, tuple[list[Any], list[Any]]] = {
    "a_2_in_a_column_of_0_and_1": ([0, 1], [0, 1, 2]),
    "a_fraction_in_a_column_of_0_and_1": ([0, 1], [0, 0.5, 1]),
    "a_1_in_a_column_of_0": ([0], [0, 1]),
    "a_0_in_a_column_of_1": ([1], [0, 0]),
    "a_number_in_a_column_of_0": ([0], [3, 5]),
    "a_1_in_a_column_without_values": ([None], [0, 1]),
}
"""What the first and the last part of a table hold in one more column."""


def later(name: str, first: list[Any], last: list[Any]) -> None:
    def check(case: Case) -> None:
        if case.whole_only:
            raise UntriedError
        n, cut = len(case.y), len(case.y) // 2
        more = [first[k % len(first)] for k in range(cut)] + [last[k % len(last)] for k in range(n - cut)]
        table, new = case.table | {"more": more}, case.new | {"more": [0, 1, 2, 0.5, None, 0]}
        whole = case.fit(table)
        expected, parts = whole.predict_log_proba(new), [np.arange(cut), np.arange(cut, n)]
        for order in (parts, parts[::-1]):
            if any(all(table[c][k] is None for k in rows) for c in table if c.startswith("text") for rows in order):
                raise UntriedError
            clf = case.unfitted()
            for rows in order:
                clf.partial_fit(rows_of(table, rows), labels_of(case.y, rows))
            one, other = (case.fit(rows_of(table, rows), labels_of(case.y, rows)) for rows in order)
            frames = [as_pandas(rows_of({**table, "y": case.y}, rows)) for rows in order]
            for found in (clf, one.merge(other), case.fit(iter(frames), "y")):
                assert Case.read(found) == Case.read(whole)
                case.close(found.predict_log_proba(new), expected)

    check.__name__ = f"{name}_that_comes_later_gives_the_model_of_the_whole"
    of_naive_bayes(check)


for name, (first, last) in LATER.items():
    later(name, first, last)


@of_naive_bayes
def flags_of_missing_cells_depend_on_the_content_of_the_table(case):
    """The relations of containers, rows, columns, copies and parts, with a flag beside each column with gaps."""
    columns = [name for name in case.names if not name.startswith(("text", "word", "hours"))]
    if not columns:
        raise UntriedError
    table, new = ({name: each[name] for name in columns} for each in (case.table, case.new))
    rows, weight = case.rng.permutation(len(case.y)), case.rng.integers(1, 3, len(case.y))
    copies, turned = np.repeat(np.arange(len(case.y)), weight), {name: table[name] for name in columns[::-1]}
    expected = (clf := case.fit(table, features="missing")).predict_log_proba(new)
    make = next(any_container(case))
    case.close(case.fit(make(table), features="missing").predict_log_proba(make(new)), expected)
    case.close(case.fit(turned, features="missing").predict_log_proba(new), expected)
    shuffled = case.fit(rows_of(table, rows), labels_of(case.y, rows), features="missing")
    case.close(shuffled.predict_log_proba(new), expected)
    weighted = case.fit(table, weight=weight, features="missing").predict_log_proba(new)
    copied = case.fit(rows_of(table, copies), labels_of(case.y, copies), features="missing")
    case.close(copied.predict_log_proba(new), weighted)
    parts = case.unfitted("missing")
    for some_rows in parts_of(case):
        parts.partial_fit(rows_of(table, some_rows), labels_of(case.y, some_rows))
    case.close(parts.predict_log_proba(new), expected)
    parts.partial_fit(rows_of(table, rows[:5]), labels_of(case.y, rows[:5]))
    forgotten = parts.forget(rows_of(table, rows[:5]), labels_of(case.y, rows[:5]))
    case.close(forgotten.predict_log_proba(new), expected)
    assert Case.read(forgotten) == Case.read(clf)


PARTS = {"no_value": [None], "numbers": [0.7, 5.0], "zeros": [0, 0], "ones": [1, 1], "zeros_and_ones": [0, 1, None]}
"""What parts of a column may hold."""


@of_naive_bayes
def kinds_of_values_in_parts_of_any_order_are_those_of_the_whole(case):
    """A column by itself, in a frame and in an array: three parts in all orders, one of them for each table."""
    orders = [*permutations(PARTS.values(), 3)]
    parts = orders[case.seed % len(orders)]
    y = [[labels_of(["u", "v"] * 2, range(len(part))), ["v"] * len(part)][case.seed % 2] for part in parts]
    whole = nb.BayesianNB().fit({"x": [*chain(*parts)]}, [*chain(*y)])
    expected = whole.predict_log_proba({"x": [0, 1, 0.7, None]})
    frames = [pd.DataFrame({"x": cells, "y": labels}) for cells, labels in zip(parts, y, strict=True)]
    models = [nb.BayesianNB().fit({"x": cells}, labels) for cells, labels in zip(parts, y, strict=True)]
    for other in models[1:]:
        models[0].merge(other)
    learned, of_array = nb.BayesianNB(), nb.BayesianNB()
    for cells, labels in zip(parts, y, strict=True):
        learned.partial_fit({"x": cells}, labels)
        of_array.partial_fit(np.array([cells], float).T, labels)
    for found in (nb.BayesianNB().fit(iter(frames), "y"), models[0], learned):
        assert Case.read(found) == Case.read(whole)
        assert found.describe()["chosen"].tolist() == whole.describe()["chosen"].tolist()
        case.close(found.predict_log_proba({"x": [0, 1, 0.7, None]}), expected)
    case.close(of_array.predict_log_proba(np.array([[0, 1, 0.7, np.nan]]).T), expected)


# Names


@relation
def the_order_of_columns_changes_nothing(case):
    names = [str(name) for name in case.rng.permutation(case.names)]
    ordered = [{name: columns[name] for name in names} for columns in (case.table, case.new)]
    case.agrees(case.fit(ordered[0]), ordered[1], order=False)
    case.agrees(case.model, ordered[1])


@relation
def names_of_columns_classes_and_levels_change_nothing(case):
    """All names sort the other way."""
    names = {name: f"n{999 - k}" for k, name in enumerate(sorted(case.names))}
    renamed = []
    for columns in (case.table, case.new):
        changed = dict(columns)
        for block in case.blocks:
            if block.kind == "levels":
                (name,) = block.columns
                changed[name] = [{"a": "zz", "b": "yy", "c": "xx"}.get(v, v) for v in columns[name]]
        renamed.append({names[name]: cells for name, cells in changed.items()})
    labels = sorted(set(case.y))
    other = {label: f"class {99 - k}" for k, label in enumerate(labels)}
    clf = case.fit(renamed[0], [other[v] for v in case.y], features=case.features(names))
    case.close(clf.predict_log_proba(renamed[1])[:, ::-1])


# Units


def in_units(case: Case, factors: list[float]) -> None:
    """Hold the model to that of x → a x + b, of all columns of reals whose priors have no units of their own."""
    rng, table, new, changed = case.rng, dict(case.table), dict(case.new), False
    for block in case.blocks:
        reals = block.kind in ("real", "spread", "bumps", "positive", "zeros", "vector")
        for name in block.columns if block.spec.units and reals else ():
            a, b = rng.choice(factors), rng.choice([0.0, -3.7, 32.0]) * (block.spec.units == "affine")
            if a > 0 or block.spec.units == "affine":
                changed = True
                for columns in (table, new):
                    columns[name] = [None if v is None else a * v + b for v in columns[name]]
    if not changed:
        raise UntriedError
    found = case.fit(table).predict_log_proba(new)
    if case.settings["dependence"]:
        assert_allclose(np.exp(found), np.exp(case.expected), atol=1e-6)
    else:
        case.close(found)


@relation
def units_of_columns_change_nothing(case):
    in_units(case, [0.01, 0.3, 1.8, 1000.0])


@relation
def the_sign_of_columns_changes_nothing(case):
    in_units(case, [-1.0, -2.54])


# Rows drawn at random


@of_naive_bayes
def folds_and_samples_depend_on_the_content_of_the_table(case):
    """Rows have one order, whatever columns, levels and classes are called, and however cells are written."""
    codes = np.unique(case.y, return_inverse=True)[1]
    alike = np.unique([f"{cells}" for cells in zip(*case.table.values(), codes, strict=True)], return_inverse=True)[1]

    def order(X: Any, codes: np.ndarray, alike: np.ndarray = alike) -> list[int]:
        found = turns(X, codes, 0)
        if found.max() >= len(codes):
            raise UntriedError  # Only names tell some rows apart.
        return alike[np.argsort(found)].tolist()

    expected = order(case.table, codes)
    rows = case.rng.permutation(len(codes))
    assert order(rows_of(case.table, rows), codes[rows], alike[rows]) == expected
    written: dict[str, Callable[[Any], Any]] = {
        "levels": {"a": "zz", "b": "yy", "c": "xx"}.get,
        "flag": lambda flag: "yes" if flag else "no",
        "bit": lambda bit: bit == 0,
    }
    changed: Columns = {"more": [7.5] * len(codes)}
    for block in reversed(case.blocks):
        for name, kind in zip(block.columns, KINDS[block.kind][0], strict=True):
            other = written.get(block.kind, (lambda v: v) if kind == "text" else (lambda v: 32 - 1.8 * v))
            changed[f"new {name}"] = [None if v is None else other(v) for v in case.table[name]]
    for make in (dict, pd.DataFrame, pl.DataFrame):
        assert order(make(changed), codes.max() - codes) == expected


# Columns that say nothing, and columns beside others


def uninformative(name: str, value: Any) -> None:
    def check(case: Case) -> None:
        table, new = case.table | {"more": [value] * len(case.y)}, case.new | {"more": [value] * 6}
        clf = case.fit(table)
        case.close(clf.predict_log_proba(new))
        if case.settings["dependence"] is None:
            with contextlib.suppress(ValueError):  # Some families have no leave-one-out for plug-ins.
                left_out = case.model.loo(case.table, case.y)["probability"]
                case.close(clf.loo(table, case.y)["probability"], left_out)

    check.__name__ = f"a_column_{name}_changes_nothing"
    relation(check)


for name, value in {
    "without_a_value": None,
    "of_one_number": 7.5,
    "of_zeros": 0,
    "of_ones": 1,
    "of_zeros_as_floats": 0.0,
    "of_false": False,
    "of_one_level": "only",
}.items():
    uninformative(name, value)


@of_naive_bayes
def columns_beside_each_other_are_learned_as_each_alone(case):
    """Priors of columns of one kind differ from the seventh digit on."""
    if any(isinstance(block.family, str) for block in case.blocks):
        raise UntriedError  # "best" chooses the families of all columns together.
    total = prior = np.log(case.model.posterior_.label.mean())
    for block in case.blocks:
        table, new = ({name: columns[name] for name in block.columns} for columns in (case.table, case.new))
        alone = case.fit(table, features=case.features(blocks=(block,)))
        total = total + alone.predict_joint_log_proba(new) - prior
    assert_allclose(case.model.predict_joint_log_proba(case.new), total, rtol=1e-9, atol=1e-9)


# Where a model is asked


@relation
def the_number_of_threads_changes_nothing(case):
    some(case, 4)
    for threads in (1, 3):
        with threadpool_limits(threads):
            case.agrees(case.fit())


@relation
def a_model_in_a_file_or_pickled_answers_the_same(case):
    with tempfile.TemporaryDirectory() as folder:
        case.model.save(Path(folder) / "m.bayesnb")
        case.agrees(nb.load(Path(folder) / "m.bayesnb"))
    case.agrees(pickle.loads(pickle.dumps(case.model)))


@of_naive_bayes
def a_compiled_model_answers_the_same(case):
    with contextlib.suppress(ValueError):
        service = nb.deploy.compile(case.model)
        rows = [dict(zip(case.new, cells, strict=True)) for cells in zip(*case.new.values(), strict=True)]
        case.close(np.log([service(row) for row in rows]))
        return
    raise UntriedError


def in_database(database: str) -> None:
    def check(case: Case) -> None:
        try:
            sql = nb.deploy.to_sql(case.model, database, keep=["key"])
        except ValueError:
            raise UntriedError from None
        rows = as_pandas({**case.new, "key": [*range(6)]}).convert_dtypes()
        if database == "sqlite":
            with contextlib.closing(sqlite3.connect(":memory:")) as connection:
                rows.to_sql("new_rows", connection)
                found = pd.read_sql(sql, connection)
        else:
            with duckdb.connect() as connection:
                connection.register("new_rows", rows)
                found = connection.sql(sql).df()
        found = found.sort_values("key").drop(columns="key").to_numpy(float)
        assert_allclose(found, np.exp(case.expected), rtol=0, atol=1e-9)

    check.__name__ = f"a_query_of_{database}_answers_the_same"
    of_naive_bayes(check)


for database in ("duckdb", "sqlite"):
    in_database(database)


@of_naive_bayes
def the_command_line_answers_the_same(case):
    some(case, 20)
    by_type = {name: cells for name, cells in case.table.items() if any(v is not None for v in cells)}
    new = {name: case.new[name] for name in by_type}
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()):
        at = Path(folder)
        pd.DataFrame({**by_type, "y": case.y}, dtype=object).to_csv(at / "t.csv", index=False)
        pd.DataFrame(new, dtype=object).to_csv(at / "new.csv", index=False)
        model, answers = at / "m.bayesnb", at / "out.csv"
        for command in (
            ("fit", at / "t.csv", "--target", "y", "--dependence", "none", "-o", model),
            ("predict", model, at / "new.csv", "-o", answers),
        ):
            with pytest.raises(SystemExit) as ended:
                cli.main([str(word) for word in command])
            assert not ended.value.code
        found = pd.read_csv(answers)
    clf = nb.BayesianNB().fit(by_type, case.y)
    columns = [name for name in found if name.startswith("p_")]
    assert_allclose(found[columns], clf.predict_proba(new), atol=1e-5)


# The tests

SAMPLE = {"none": 2, "tempered": 1, "weighted": 1, "pairwise": 1, "forests": 1, "auto": 1}
"""On how many tables the ordinary tests try each relation."""

FIRST = {"none": 0, "tempered": 14, "weighted": 14, "pairwise": 14, "forests": 14, "auto": 5}
"""The first of these tables."""

FAILING: dict[tuple[str, str], str] = {}
"""Relations that do not hold yet, and why. Delete a line when its relation holds: the test fails until you do."""


def is_ordinary(name: str, dependence: str) -> bool:
    """Whether the ordinary tests try a relation with a dependence: with none, and in turn with "auto", which takes as
    long as all others, and with one of the others. The remaining pairs are slow tests.
    """
    others = [each for each in DEPENDENCES if each not in ("none", "auto")]
    dependent = [each for each in RELATIONS if each not in NAIVE_ONLY]
    turn, own = divmod(dependent.index(name), 2) if name in dependent else (0, 0)
    return dependence in ("none", others[turn % len(others)] if own else "auto")


def pytest_generate_tests(metafunc):
    """A test for each relation, dependence, and block of tables."""
    if "dependence" not in metafunc.fixturenames:
        return
    n, found = metafunc.config.getoption("--tables", 0), []
    for dependence in DEPENDENCES:
        starts = range(0, n if dependence == "none" else n // 10, 50) if n else (FIRST[dependence],)
        for start in starts:
            for name in RELATIONS:
                if dependence == "none" or name not in NAIVE_ONLY:
                    why = FAILING.get((name, dependence))
                    marks = [pytest.mark.xfail(strict=not n, reason=why)] if why else []
                    marks += [] if n or is_ordinary(name, dependence) else [pytest.mark.slow]
                    label = f"{name}-{dependence}-{start}"
                    found.append(pytest.param(name, dependence, start, id=label, marks=marks))
    metafunc.parametrize(("name", "dependence", "start"), found)


def test_same_data_same_answer(name, dependence, start, pytestconfig):
    whole = pytestconfig.getoption("--tables", 0)
    tried, enough, failed = 0, 50 if whole else SAMPLE[dependence], {}
    for seed in range(start, start + 50):
        try:
            RELATIONS[name](Case.of(seed, dependence))
        except UntriedError:
            continue
        except NoExponentsError:
            continue  # Some families have no exact leave-one-out, so they have no exponents.
        except Exception as error:
            failed[seed] = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
        tried += 1
        if tried == enough:
            break
    assert tried, "no table tries the relation"
    assert not failed, f"{name} fails in {len(failed)} of {tried} tables: {failed}"


@pytest.mark.parametrize(
    ("seed", "name"),
    [
        pytest.param(42, "the_order_of_columns_changes_nothing", marks=pytest.mark.slow),
        pytest.param(45, "names_of_columns_classes_and_levels_change_nothing", marks=pytest.mark.slow),
        pytest.param(169, "the_sign_of_columns_changes_nothing", marks=pytest.mark.slow),
    ],
)
def test_an_average_of_small_tables_depends_on_their_content_alone(seed, name):
    """Columns without equal numbers in up to 32 rows, wide Normals of two classes, and cells that a fold lacks."""
    RELATIONS[name](Case.of(seed, "auto"))


@pytest.mark.parametrize("value", [7, 7.5, 1e6, 0, "x", None])
def test_a_constant_or_empty_column_changes_no_interval_no_doubt_and_no_learned_label(value: Any) -> None:
    rng = default_rng(1)
    c = rng.integers(0, 2, 60)
    y = np.array(["u", "v"])[c]
    X = {"a": rng.normal(c, 1), "b": np.exp(rng.normal(0.5 * c, 0.7))}
    more = X | {"k": [value] * 60}
    one, other = nb.BayesianNB(random_state=0).fit(X, y), nb.BayesianNB(random_state=0).fit(more, y)
    assert_allclose(other.predict_interval(more), one.predict_interval(X), rtol=0, atol=1e-9)
    assert_allclose(nb.odds.log_odds(other, more), nb.odds.log_odds(one, X), rtol=0, atol=1e-9)
    known = ["probability", "lower", "upper", "total", "epistemic"]
    assert_allclose(other.uncertainty(more)[known], one.uncertainty(X)[known], rtol=0, atol=1e-9)
    row = other.explain({name: cells[:1] for name, cells in more.items()}).droplevel("row").loc["k"]
    assert abs(row[["log_odds", "lower", "upper"]].to_numpy(float)).max() < 1e-9
    checks = nb.checks.predictive_checks(other, more, y, draws=20)
    assert "k" not in {*checks.table["first"], *checks.table["second"]}
    # Some rows without a label: the column must not steer the labels that EM supplies.
    seen = [None if i % 4 == 0 else label for i, label in enumerate(y)]
    halves = [
        nb.BayesianNB(random_state=0, unlabelled=nb.Unlabelled()).fit(Z, seen).predict_proba(Z) for Z in (X, more)
    ]
    assert_allclose(halves[1], halves[0], rtol=0, atol=1e-9)


def test_a_constant_number_changes_no_probability_that_a_label_is_wrong() -> None:
    rng = default_rng(0)
    c = rng.integers(0, 2, 60)
    X = {"a": rng.normal(c, 1), "b": np.exp(rng.normal(0.5 * c, 0.7))}
    found = [
        nb.checks.suspicious_labels(nb.BayesianNB(random_state=0).fit(Z, c), Z, c) for Z in (X, X | {"k": [7.0] * 60})
    ]
    assert_allclose(found[1]["wrong"].sort_index(), found[0]["wrong"].sort_index(), rtol=0, atol=0.1)


@pytest.mark.parametrize("learns", ["weighted", "forests", nb.Exponents(by="class")])
def test_a_constant_number_adds_no_uncertainty_to_a_model_with_exponents(learns: Any) -> None:
    rng = default_rng(1)
    c = rng.integers(0, 2, 60)
    X = {"a": rng.normal(c, 1), "k": np.full(60, 7.0)}
    clf = nb.BayesianNB(random_state=0, dependence=learns).fit(X, c)
    row = clf.explain({"a": [0.3], "k": [7.0]}).droplevel("row").loc["k"]
    assert abs(row[["log_odds", "lower", "upper"]].to_numpy(float)).max() < 1e-9


def test_a_column_without_gaps_tells_nothing_by_its_gaps() -> None:
    rng = default_rng(2)
    c = rng.integers(0, 3, 60)
    X = pd.DataFrame({"a": np.where(rng.random(60) < 0.2, np.nan, rng.normal(c, 1)), "b": rng.choice(["p", "q"], 60)})
    more = X.assign(k=7)
    one, other = nb.BayesianNB("missing").fit(X, c), nb.BayesianNB("missing").fit(more, c)
    assert_allclose(other.predict_proba(more), one.predict_proba(X), rtol=0, atol=1e-9)
    assert_allclose(other.predict_proba(more.assign(k=None)), one.predict_proba(X), rtol=0, atol=1e-9)
