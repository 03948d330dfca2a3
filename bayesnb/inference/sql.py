"""A fitted classifier as one SELECT statement that computes class probabilities inside a database."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np

from bayesnb.data.encoders import Feature
from bayesnb.dependence.learned import weighed
from bayesnb.families.gaussian import Gaussian, GaussianKnownVariance, LogNormal
from bayesnb.families.rates import Poisson
from bayesnb.inference.classifier import Classifier
from bayesnb.inference.compiled import COUNTED, curves_of, has_table, table_of_values
from bayesnb.inference.questions import question
from bayesnb.numerics import stirling
from bayesnb.priors import UNSEEN, Array

type Database = Literal["duckdb", "postgres", "sqlite"]


@dataclass(frozen=True)
class Dialect:
    """How a database reads cells and compares names."""

    # ``number`` and ``text`` are SQL for the cell {c} as a number or as text; cells of another type give NULL.
    # ``holds_number`` and ``holds_text`` are SQL conditions: the cell {c} is not missing. Both are empty if the
    # database raises an error for invalid cells. ``folded`` maps names of one database column to one value. ``pseudo``
    # are names that the database accepts even if there is no column of that name.

    # Terms are written in the SQL of DuckDB, and sqlglot translates them. A missing cell is NULL or NaN. A cell that is
    # not missing is invalid if ``number`` or ``text`` gives NULL.

    number: str
    text: str
    holds_number: str
    holds_text: str
    folded: Callable[[str], str | bytes]
    pseudo: tuple[str, ...] = ()


# Cells are read strictly, because conversions differ between databases: SQLite reads the text "12 kg" as 12 and any
# other text as 0, and DuckDB reads "1_000" as 1000 and a BIT as the float with these bits. As in a CSV file, text that
# spells a number is this number, and blank text is a missing value. Text is compared by its bytes, even if the column
# has a collation that ignores case. SQLite compares a text with a number as numbers only if the whole text is a number
# (https://sqlite.org/datatype3.html, 4.2). PostgreSQL raises an error for `text + 0` and `integer COLLATE "C"`, reads
# at most 63 bytes of a name, and raises an error if EXP underflows (see Query.text).
BLANK_IS_A_GAP = "TRIM(CAST({c} AS VARCHAR)) <> ''"
OF_NUMBERS = (
    "(STARTS_WITH(TYPEOF({c}), 'DECIMAL') OR TYPEOF({c}) IN ('BOOLEAN', 'TINYINT', 'SMALLINT', 'INTEGER', 'BIGINT', "
    "'HUGEINT', 'UTINYINT', 'USMALLINT', 'UINTEGER', 'UBIGINT', 'UHUGEINT', 'FLOAT', 'DOUBLE') "
    "OR TYPEOF({c}) LIKE 'VARCHAR%' AND REGEXP_MATCHES(TRIM(CAST({c} AS VARCHAR)), "
    "'^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?$'))"
)
OF_TEXT = "(TYPEOF({c}) LIKE 'VARCHAR%' OR TYPEOF({c}) LIKE 'ENUM%')"
DIALECTS: dict[str, Dialect] = {
    "duckdb": Dialect(
        f"CASE WHEN {OF_NUMBERS} THEN TRY_CAST({{c}} AS DOUBLE) END",
        f'CASE WHEN {OF_TEXT} THEN CAST({{c}} AS VARCHAR) COLLATE "binary" END',
        f"TYPEOF({{c}}) = 'BLOB' OR {BLANK_IS_A_GAP}",
        "{c} IS NOT NULL",
        str.lower,
    ),
    "postgres": Dialect(
        "CAST({c} + 0 AS DOUBLE)", 'CAST({c} COLLATE "C" AS TEXT)', "", "", lambda name: name.encode()[:63]
    ),
    "sqlite": Dialect(
        "CASE WHEN TYPEOF({c}) IN ('integer', 'real') OR {c} = CAST({c} AS DOUBLE) THEN CAST({c} AS DOUBLE) END",
        "CASE WHEN TYPEOF({c}) = 'text' THEN {c} || '' END",
        f"TYPEOF({{c}}) = 'blob' OR {BLANK_IS_A_GAP}",
        "{c} IS NOT NULL",
        str.lower,
        ("rowid", "oid", "_rowid_"),
    ),
}
"""The databases in which the tests run the queries; others convert cells and compare text differently."""

ROWS = "rows_to_predict"
"""Alias of the table: without it, SQLite reads "age" as a text if there is no such column."""

MOST_EXACT = 2.0**53
"""From this whole number on, floats skip whole numbers."""

LEAST_POWER = -700
"""Exponents below this give 0, because PostgreSQL raises an error if EXP underflows."""

FEW = 16
"""Largest number of values to compare one by one; more values are joined as an inline table."""

IMPOSSIBLE = -1e300
"""Replaces the logarithm of 0, for which many databases have no literal."""

LARGE = 1e5
"""From this factor ``a`` of :func:`curve` on, the rounding error of 1 + z² affects the probabilities."""

MOST = "1e150"
"""Largest number in a column."""


def number(value: float) -> str:
    """A float as an SQL literal with all its digits and an exponent."""
    return f"({np.format_float_scientific(max(value, IMPOSSIBLE), trim='0')})"


def name(column: Any) -> str:
    """The column name, quoted for SQL."""
    return '"' + str(column).replace('"', '""') + '"'


def known(cell: str) -> str:
    """SQL condition that the cell holds a number."""
    # Some databases order NaN above all numbers, so the condition has two parts.
    return f"({cell} < 0 OR -{cell} <= 0)"


def of_number(cell: str, formula: str, within: str, refused: str = "NULL") -> str:
    """SQL of a CASE: ``formula`` if the cell's number is allowed, 0 if it is missing, ``refused`` if it is invalid."""
    return f"CASE WHEN {within} AND ABS({cell}) <= {MOST} THEN {formula} WHEN {known(cell)} THEN {refused} ELSE 0e0 END"


def curve(x: str, height: float, m: float, low: float, scale: float, a: float, b: float) -> str:
    """SQL of a log density: height - a ln(1 + z²) - b z², with z = scale · (x - m - low)."""
    # low: the rounding error of m
    # The rounding error of 1 + z² is multiplied by a, half the rows of a class. If a is large, the accurate z² ln(u) /
    # (u - 1) is used instead, where u is the rounded 1 + z² (Goldberg 1991, theorem 4).
    z = f"(({x} - {number(m)} - {number(low)}) * {number(scale)})"
    square, u = f"{z} * {z}", f"(1e0 + {z} * {z})"
    if not a:
        return f"{number(height)} - {number(b)} * {square}"
    growth = f"LN({u})"
    if a >= LARGE:
        growth = f"CASE WHEN {u} = 1e0 THEN {square} ELSE {square} * LN({u}) / ({u} - 1e0) END"
    return f"{number(height)} - {number(a)} * ({growth})"


def steps(cell: str, edges: Sequence[float], densities: Array) -> str:
    """SQL of the log density of the interval that contains the cell."""
    below = zip(edges, densities[:-1], strict=True)
    whens = " ".join(f"WHEN {cell} < {number(edge)} THEN {number(value)}" for edge, value in below)
    return f"CASE {whens} ELSE {number(densities[-1])} END" if whens else number(densities[-1])


class Query:
    """The parts of the SELECT: columns, tables to join, and the summands of each class's log probability."""

    def __init__(self, classifier: Classifier, dialect: Database) -> None:
        self.classifier, self.dialect = classifier, DIALECTS[dialect]
        self.powers = classifier.believed.linear_exponents()
        base = classifier.believed.log_pi + (0.0 if self.powers is None else self.powers[:, -1])
        # As doubles, because a sum of literals is a decimal in PostgreSQL.
        self.sums = [[f"CAST({number(value)} AS DOUBLE)"] for value in base]
        self.columns: list[Any] = []
        self.cells: list[str] = []
        self.refused: list[str] = []
        self.tables: list[str] = []
        self.joins: list[str] = []
        self.terms = 0
        self.texts = {
            column
            for feature in classifier.schema.features.values()
            for column, levels in zip(feature.columns, feature.levels or (), strict=False)
            if not feature.cuts and any(isinstance(level, str) for level in levels)
        }

    def power(self) -> Array:
        self.terms += 1
        return np.ones(len(self.sums)) if self.powers is None else self.powers[:, self.terms - 1]

    def add(self, terms: Iterable[str]) -> None:
        for whole, term in zip(self.sums, terms, strict=True):
            whole.append(term)

    def cell(self, column: Any) -> tuple[str, str]:
        """Select a column; return its new name, and an SQL condition that the cell is not missing."""
        k, text, dialect = len(self.columns), column in self.texts, self.dialect
        self.columns.append(column)
        read, holds = (dialect.text, dialect.holds_text) if text else (dialect.number, dialect.holds_number)
        source = f"{ROWS}.{name(column)}"
        self.cells.append(f"{read.format(c=source)} AS x{k}")
        if holds:
            self.cells.append(f"{holds.format(c=source)} AS h{k}")
            self.refused.append(f"x{k} IS NULL AND h{k}")
        return f"x{k}", f"x{k} IS NOT NULL" if text else known(f"x{k}")

    def add_feature(self, of: Any, feature: Feature) -> None:
        """Add the log densities of all columns of a feature; ``ValueError`` if SQL cannot express them."""
        family = feature.family
        if isinstance(family, Gaussian | GaussianKnownVariance | LogNormal):
            parts = np.stack(curves_of(self.classifier, of, feature))
            for j, column in enumerate(feature.columns):
                (height, m, low, scale, a, b), power = parts[..., j], self.power()
                (cell, within), positive = self.cell(column), isinstance(family, LogNormal)
                x, within = (f"LN({cell})", f"{cell} > 0") if positive else (cell, within)
                each = zip(power * height, m, low, scale, power * a, power * b, strict=True)
                refused = "0e0" if feature.tried and self.classifier.schema.unseen != "error" else "NULL"
                self.add(of_number(cell, curve(x, *numbers), within, refused) for numbers in each)
            return
        for j, column in enumerate(feature.named):
            if not has_table(feature):
                said = "with an exposure " if feature.exposure else ""
                raise ValueError(
                    f"column {column!r}: {type(family).__name__} {said}is not written as SQL. Written are Gaussian, "
                    "GaussianKnownVariance, LogNormal, Binned, and families of 0 and 1, of levels and of counts; give "
                    "the column one of these, or use the classifier itself"
                )
            values, densities = table_of_values(self.classifier, of, feature, j)
            power = self.power()
            densities = weighed(power, densities)
            if feature.indicates:
                _, there = self.cell(feature.indicates[j])
                self.add(f"CASE WHEN {there} THEN {number(a)} ELSE {number(b)} END" for a, b in densities.T)
            elif feature.cuts:
                cell, there = self.cell(column)
                self.add(of_number(cell, steps(cell, feature.cuts[j].edges, d), there) for d in densities.T)
            else:
                self._add_table(column, values, densities, self._beyond(of, feature, j, densities, power))

    def _add_table(self, column: Any, values: Sequence[Any], densities: Array, beyond: Sequence[str]) -> None:
        """Add SQL for the log density of a cell: looked up if ``values`` lists the cell, otherwise ``beyond``."""
        values, text = list(values), column in self.texts
        if UNSEEN in values:
            new = values.index(UNSEEN)
            beyond, densities = [*map(number, densities[new])], np.delete(densities, new, axis=0)
            values.remove(UNSEEN)
        fits = str.__instancecheck__ if text else _is_exact
        if (odd := next((v for v in values if not fits(v)), None)) is not None:
            raise ValueError(
                f"column {column!r}: its level {odd!r} is {'not text, as others are' if text else 'no exact float'}, "
                "so it cannot be written as SQL: make all levels text before the fit"
            )
        cell, there = self.cell(column)
        keys = ["'" + v.replace("'", "''") + "'" if text else number(float(v)) for v in values]
        others = [f"CASE WHEN {there} THEN {other.format(x=cell)} ELSE 0e0 END" for other in beyond]
        if len(keys) <= FEW:
            for whole, d, other in zip(self.sums, densities.T, others, strict=True):
                whens = " ".join(f"WHEN {key} THEN {number(v)}" for key, v in zip(keys, d, strict=True))
                whole.append(f"CASE {cell} {whens} ELSE {other} END" if whens else other)
            return
        joined = f"{ROWS}_t{len(self.tables)}"
        lines = (", ".join([key, *map(number, d)]) for key, d in zip(keys, densities, strict=True))
        heads = [f"v{c}" for c in range(len(self.sums))]
        self.tables.append(f"{joined}(k, {', '.join(heads)}) AS (VALUES {', '.join(f'({line})' for line in lines)})")
        self.joins.append(f"LEFT JOIN {joined} ON {cell} = {joined}.k")
        self.add(f"COALESCE({joined}.{v}, {other})" for v, other in zip(heads, others, strict=True))

    def _beyond(self, of: Any, feature: Feature, j: int, densities: Array, power: Array) -> list[str]:
        """For each class, SQL for the log density of a value outside the table; ``{x}`` stands for the cell."""
        # For a Poisson count above the table it is r (ln Γ(α + x) - x ln(β + 1)), or r x ln λ if a rate is plugged in,
        # with the exponent r, plus a constant that continues the table. Stirling's series of ln Γ is accurate to all
        # digits for such counts.
        classifier, n = self.classifier, len(self.sums)
        if not isinstance(feature.family, Poisson):
            unseen = feature.family.support.kind == "levels" and classifier.schema.unseen != "error"
            return ["0e0" if unseen else "NULL"] * n
        last, top = COUNTED - 1, densities[-1]
        if classifier.believed.plug_in is not None:
            slopes = power * classifier.believed.plug_in.features[of]["log_rate"][:, j]
            each = zip(top - slopes * last, slopes, strict=True)
            formulas = [f"{number(height)} + {number(slope)} * {{x}}" for height, slope in each]
        else:
            believed = classifier.posterior.features[of]
            alpha, slope = believed.alpha[:, j], np.log1p(believed.beta[:, j])
            z = alpha + last
            heights = top - power * ((z - 0.5) * np.log(z) - z + stirling(z) - last * slope)
            formulas = [
                f"{number(h)} + {number(w)} * (({{x}} + {number(a - 0.5)}) * LN({{x}} + {number(a)}) - {{x}} - "
                f"{number(a)} + 1e0 / (12e0 * ({{x}} + {number(a)})) - {number(s)} * {{x}})"
                for h, w, a, s in zip(heights, power, alpha, slope, strict=True)
            ]
        return [
            f"CASE WHEN {{x}} > {last} AND {{x}} <= {MOST} AND {{x}} = FLOOR({{x}}) THEN {formula} ELSE NULL END"
            for formula in formulas
        ]

    def text(self, table: str, keep: Sequence[str]) -> str:
        # Names of inner tables begin with ``ROWS``, so none hides a user's table.
        n = range(len(self.sums))
        shown = [*keep, *(f"p_{label}" for label in self.classifier.classes)]
        self._require_names(keep, shown)
        kept = [f"{ROWS}.{name(column)} AS k{i}" for i, column in enumerate(keep)]
        ks = [f"k{i}" for i in range(len(keep))]
        js, ps = [f"j{c}" for c in n], [f"p{c}" for c in n]
        sound = [f"CASE WHEN {' OR '.join(self.refused)} THEN NULL ELSE 0e0 END"] if self.refused else []
        joints = [f"{' + '.join([*whole, *sound])} AS {j}" for whole, j in zip(self.sums, js, strict=True)]
        largest = f"GREATEST({', '.join(js)})" if len(js) > 1 else "j0"
        powers = [
            f"CASE WHEN {j} - top < {LEAST_POWER} THEN 0e0 ELSE EXP({j} - top) END AS {p}"
            for j, p in zip(js, ps, strict=True)
        ]
        steps = [
            *self.tables,
            f"{ROWS}_cells AS (SELECT {', '.join([*kept, *self.cells]) or '1'} FROM (SELECT * FROM {table}) AS {ROWS})",
            f"{ROWS}_joints AS (SELECT {', '.join([*ks, *joints])} FROM {ROWS}_cells {' '.join(self.joins)})",
            f"{ROWS}_tops AS (SELECT {', '.join([*ks, *js])}, {largest} AS top FROM {ROWS}_joints)",
            f"{ROWS}_powers AS (SELECT {', '.join([*ks, 'top', *powers])} FROM {ROWS}_tops)",
        ]
        shares = [f"CASE WHEN top > {number(IMPOSSIBLE / 2)} THEN {p} / ({' + '.join(ps)}) END" for p in ps]
        named = (f"{value} AS {name(column)}" for value, column in zip([*ks, *shares], shown, strict=True))
        return f"WITH {', '.join(steps)} SELECT {', '.join(named)} FROM {ROWS}_powers"

    def _require_names(self, keep: Sequence[str], shown: Sequence[str]) -> None:
        """Raise ``ValueError`` if the database equates two column names, or uses a name for a pseudo-column."""
        for names, what in ((dict.fromkeys(self.columns), "columns of the model"), (shown, "columns of the answer")):
            seen: dict[Any, Any] = {}
            for column in names:
                folded = self.dialect.folded(str(column))
                if folded in seen:
                    raise ValueError(
                        f"the {what} {seen[folded]!r} and {column!r} have one name in this database: rename one of them"
                    )
                seen[folded] = column
        for column in (*self.columns, *keep):
            if str(column).lower() in self.dialect.pseudo:
                raise ValueError(
                    f"column {column!r} has a name that this database answers without such a column, with the number "
                    'of a row: rename it, as table="(SELECT rowid AS row, * FROM ...)"'
                )


def _is_exact(level: Any) -> bool:
    return isinstance(level, Real) and abs(level) < MOST_EXACT and float(level) == level


@question("to run it inside a database", "predict", "deploy")
def to_sql(
    classifier: Classifier, dialect: Database = "duckdb", table: str = "new_rows", keep: Sequence[str] | str = ()
) -> str:
    """The model as one SELECT that computes the class probabilities of the rows of a table inside a database.

    Parameters
    ----------
    dialect : {"duckdb", "postgres", "sqlite"}
        The database.
    table : str
        Name of the table of rows, quoted as SQL requires.
    keep : str or sequence of str
        Columns to copy to the result. SQL does not keep the order of the rows, so include a key column.

    Returns
    -------
    str
        The query. The result of the SELECT has the columns of ``keep`` and a column "p_LABEL" for each class. The
        probabilities of a row are NULL if :meth:`predict_proba` would raise an error, or if a column whose family is
        not Poisson has a count of 256 or more.

    Raises
    ------
    ImportError
        If sqlglot is not installed.
    ValueError
        If a column's family or contents (dates, numbers with units, several choices) cannot be written as SQL. Column
        names must be unique in the database. A model with exponents must be accepted by
        :func:`bayesnb.odds.linear_form`.

    Notes
    -----
    Missing values are NULL or NaN. The probabilities agree with :meth:`predict_proba` to about 1e-12, or 1e-8 for
    counts above 100,000.

    Examples
    --------
    >>> import duckdb
    >>> from bayesnb import BayesianNB, datasets, deploy
    >>> X, y = datasets.play_tennis()
    >>> sql = deploy.to_sql(BayesianNB().fit(X, y), "duckdb", table="days")
    >>> database = duckdb.connect()
    >>> _ = database.register("days", X[:2])
    >>> database.sql(sql).df().round(3)
        p_no  p_yes
    0  0.704  0.296
    1  0.847  0.153
    """
    classifier.require_one_class_prior("a model as SQL")
    classifier.posterior.warn_of_chains()
    classifier.schema.require_plain("written as SQL")
    query = Query(classifier, dialect)
    for of, feature in classifier.schema.features.items():
        query.add_feature(of, feature)
    text = query.text(table, [keep] if isinstance(keep, str) else keep)
    if "\0" in text:
        raise ValueError("a name or a level holds the character NUL, which ends a query in some databases: replace it")
    try:
        import sqlglot
    except ImportError as error:
        raise ImportError("dialects of SQL are written by sqlglot: pip install 'bayesnb[sql]'") from error
    (written,) = sqlglot.transpile(text, read="duckdb", write=dialect, pretty=True)
    return written
