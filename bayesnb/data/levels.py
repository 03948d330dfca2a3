"""Levels that are warned of: those that no fit has seen, and those of a column that looks like an identifier.

Levels that were never seen, and numbers that a chosen family cannot have, are read as missing in a table that is to be
predicted; they are counted, and said in one warning. A column of text in which nearly every row has a level of its own
tells nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from bayesnb.data.encoders import Feature, impossible
from bayesnb.data.inferring import SPECIFIED
from bayesnb.data.schema import Schema
from bayesnb.data.tables import Table
from bayesnb.model import Statistics
from bayesnb.wording import nearest, warn


class UnseenLevelWarning(UserWarning):
    """Some cells hold a level that was never seen in fitting, and are read as missing.

    So are numbers that cannot occur under the family that ``features="best"`` chose, such as 0 under LogNormal.

    To silence it: ``warnings.simplefilter("ignore", bayesnb.errors.UnseenLevelWarning)``. To have an error instead, fit
    with ``unseen="error"``.

    Examples
    --------
    >>> import warnings
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.play_tennis()
    >>> clf = nb.BayesianNB().fit(X, y)
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always")
    ...     proba = clf.predict_proba(X[:3].assign(outlook=["sunny", "Sunny", "fog"]))
    >>> print(said[0].message)
    column 'outlook': 2 of 3 rows hold a level never seen ('Sunny', did you mean 'sunny'?; 'fog'), counted as missing
    """


def unseen_levels(schema: Schema, table: Table) -> dict[Any, Counter[Any]]:
    """For each column with levels that were never seen: these levels, and the number of rows that hold them.

    Numbers that the chosen family of a column cannot have are counted as such levels.
    """
    place = {} if table.named and schema.named else dict(zip(schema.names, table.names, strict=True))
    found: dict[Any, Counter[Any]] = {}
    for feature in schema.features.values():
        if feature.tried and schema.unseen != "error":
            found |= _impossible_numbers(feature, table, place)
        for name, levels in feature.values.items() if schema.unseen == "missing" else ():
            held, known = place.get(name, name), set(levels)
            if held not in table.place or all(value in known for value in table.distinct(held)):
                continue
            codes, distinct = table.column(held).coded
            rows = np.bincount(codes[codes >= 0], minlength=len(distinct))
            unseen = {v: int(n) for v, n in zip(distinct, rows, strict=False) if n and v not in known}
            if unseen:
                found[name] = Counter(unseen)
    return found


def _impossible_numbers(feature: Feature, table: Table, place: Mapping[Any, Any]) -> dict[Any, Counter[Any]]:
    """The numbers that the chosen family of a column cannot have, and the number of rows that hold them."""
    found = {}
    for name in feature.columns:
        if (held := place.get(name, name)) in table.place:
            x = table.column(held).reals()
            if (wrong := impossible(feature, x)).any():
                found[name] = Counter(x[wrong].tolist())
    return found


def said_of(found: Mapping[Any, Counter[Any]], n_rows: int, schema: Schema) -> Iterator[str]:
    """A sentence for each column with levels that were never seen."""
    levels = {name: names for feature in schema.features.values() for name, names in feature.values.items()}
    for name, counts in found.items():
        known = levels.get(name)
        family = "" if known is not None else schema.features[name].family.title
        shown = [_with_nearest(value, known or ()) if known is not None else f"{value:g}" for value in _most(counts)]
        more = f"; and {len(counts) - 3:,} more" if len(counts) > 3 else ""
        rows = sum(counts.values())
        yield (
            f"column {name!r}: {rows:,} of {n_rows:,} {'row holds' if n_rows == 1 else 'rows hold'} "
            + ("a level never seen" if not family else f"a number that cannot occur under {family}, its best family")
            + f" ({'; '.join(shown)}{more}), counted as missing"
        )


def _most(counts: Counter[Any]) -> list[Any]:
    """The three values that most rows hold."""
    return [value for value, _ in counts.most_common(3)]


def _with_nearest(value: Any, levels: Iterable[Any]) -> str:
    close = nearest(value, levels)
    return f"{value!r}, did you mean {close!r}?" if close is not None else repr(value)


def cells_of(table: Table, schema: Schema, name: Any) -> list[Any]:
    """The cells of a column of the schema as they stand in a table, ``None`` where missing."""
    held = name if table.named and schema.named else table.names[schema.names.index(name)]
    codes, distinct = table.column(held).coded
    return [None if code < 0 else distinct[code] for code in codes]


def warn_of_unseen(schema: Schema, table: Table) -> None:
    """Warn once of all levels of a table that were never seen."""
    if found := unseen_levels(schema, table):
        said = "; ".join(said_of(found, table.n_rows, schema))
        warn(said, UnseenLevelWarning)


class Unseen:
    """Levels that were never seen, counted while the parts of a table pass.

    Parameters
    ----------
    schema : Schema
    """

    def __init__(self, schema: Schema) -> None:
        self.schema, self.rows = schema, 0
        self.found: dict[Any, Counter[Any]] = {}

    def counted(self, tables: Iterable[Table]) -> Iterator[Table]:
        """The same tables."""
        for table in tables:
            self.rows += table.n_rows
            for name, counts in unseen_levels(self.schema, table).items():
                self.found.setdefault(name, Counter()).update(counts)
            yield table

    def sentences(self) -> Iterator[str]:
        """A sentence for each column that held such levels."""
        yield from said_of(self.found, self.rows, self.schema)


class IdentifierWarning(UserWarning):
    """A column of text looks like an identifier or free text: it says nothing about rows whose levels are new.

    To silence it, leave the column out, or name its family, as ``features={column: Categorical()}`` or ``"text"``.

    Examples
    --------
    >>> import warnings
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.play_tennis()
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always")
    ...     clf = nb.BayesianNB().fit(X.assign(day=[f"D{k}" for k in range(14)]), y)
    >>> print(said[0].message)
    column 'day' looks like an identifier or free text, 14 levels in 14 rows: leave it out, or name its family, as
    features={'day': Categorical()}, or 'text' for its words
    """


def looks_like_identifier(levels: int, rows: float) -> bool:
    """Whether nearly every row that has a value has a level of its own."""
    return rows > 10 and levels > max(3, 0.8 * rows)


def _identifiers(schema: Schema, statistics: Statistics) -> Iterator[tuple[Any, int, float]]:
    """The columns that look like identifiers and got their family by type, with their levels and rows."""
    for name, feature in schema.features.items():
        if not feature.values or feature.how == SPECIFIED:
            continue
        counts = statistics.features[name].counts.sum(0)
        for column, of_levels in zip(feature.columns, counts, strict=True):
            levels, rows = int((of_levels > 0).sum()), float(of_levels.sum())
            if looks_like_identifier(levels, rows):
                yield column, levels, rows


def warn_of_identifiers(schema: Schema, statistics: Statistics) -> None:
    """Warn of each column of a fitted table that looks like an identifier."""
    for column, levels, rows in _identifiers(schema, statistics):
        among = f"{rows:,.10g} rows" if rows >= levels else f"rows of weight {rows:,.10g}"
        warn(
            f"column {column!r} looks like an identifier or free text, {levels:,} levels in {among}: leave it out, or "
            f"name its family, as features={{{column!r}: Categorical()}}, or 'text' for its words",
            IdentifierWarning,
        )
