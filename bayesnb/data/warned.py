"""What is warned of in a table: levels that no fit has seen, identifiers, and columns that an encoder has made.

Levels that were never seen, and numbers that a chosen family cannot have, are read as missing in a table that is to be
predicted; they are counted, and said in one warning. A column of text in which nearly every row has a level of its own
tells nothing. What an encoder or a scaler in front of the classifier makes is not needed here, and misleads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from bayesnb.data.columns import Names
from bayesnb.data.encoders import Feature, impossible
from bayesnb.data.inferring import SPECIFIED
from bayesnb.data.schema import Schema
from bayesnb.data.tables import Table
from bayesnb.model import Statistics
from bayesnb.priors import Array
from bayesnb.statistics.moments import Moments
from bayesnb.wording import Cure, Said, nearest, warn


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
        top = [value for value, _ in counts.most_common(3)]
        shown = [_with_nearest(value, known or ()) if known is not None else f"{value:g}" for value in top]
        more = f"; and {len(counts) - 3:,} more" if len(counts) > 3 else ""
        rows = sum(counts.values())
        yield (
            f"column {name!r}: {rows:,} of {n_rows:,} {'row holds' if n_rows == 1 else 'rows hold'} "
            + ("a level never seen" if not family else f"a number that cannot occur under {family}, its best family")
            + f" ({'; '.join(shown)}{more}), counted as missing"
        )


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
            Said(
                "column {column!r} looks like an identifier or free text, {levels:,} levels in {among}: leave it out, "
                "or name its family, as {cure}, or 'text' for its words",
                column=column,
                levels=levels,
                among=among,
                cure=Cure("features", "Categorical", column),
            ),
            IdentifierWarning,
        )


FEW = 10
"""In so few rows, columns may look encoded by chance."""

CLOSE = 1e-6
"""How far sums of shares, means and variances may be from those that an encoder makes."""


class EncodedColumnsWarning(UserWarning):
    """Some columns look as if an encoder or a scaler had made them; fit the table as it was before.

    Of columns that are made of one, exactly one is 1 in each row. They are not independent given the class, so their
    evidence counts several times. Standardised columns change no probability, but tables and explanations are in
    standard deviations.

    To silence it, name the family of the columns, or
    ``warnings.simplefilter("ignore", bayesnb.errors.EncodedColumnsWarning)``.

    Examples
    --------
    >>> import warnings
    >>> import pandas as pd
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.play_tennis()
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always")
    ...     clf = nb.BayesianNB().fit(pd.get_dummies(X[["outlook"]]), y)
    >>> print(said[0].message)
    of the columns 'outlook_overcast', 'outlook_rain', 'outlook_sunny' exactly one is 1 in each row, as if an encoder
    had made them of one column, and its evidence counts several times: fit the table as it was before; text and numbers
    are read as they are
    """


def warn_of_encoders(X: Any, schema: Schema, statistics: Statistics) -> None:
    """Warn once of all columns of a fitted table, in memory, that an encoder or a scaler seems to have made."""
    names: list[Any] = []
    means, scaled = [np.empty((len(statistics.rows), 0))], []
    for name, feature in schema.features.items():
        s: Any = statistics.features[name]
        if feature.how == SPECIFIED or feature.source or feature.tried or feature.family.whole_rows:
            continue
        if (moments := s if isinstance(s, Moments) else s.converted(Moments)) is None:
            continue
        names += feature.columns
        means.append(moments.mean)
        mean, _, variance = moments.of_columns()
        standard = (np.abs(mean) < CLOSE) & (np.abs(variance - 1) < CLOSE)
        scaled += [column for column, here in zip(feature.columns, standard, strict=True) if here]
    said = []
    if statistics.rows.sum() > FEW:
        runs = list(_runs(names, np.concatenate(means, 1)[statistics.rows > 0]))
        table = Table.of(X) if runs else None
        groups = [run for run in runs if _one_hot(table, run)]
        if groups:
            first, others = _shown(groups[0]), f" (further groups: {len(groups) - 1})" if len(groups) > 1 else ""
            said.append(
                f"of the columns {first} exactly one is 1 in each row{others}, as if an encoder had made them of one "
                "column, and its evidence counts several times"
            )
        if scaled:
            said.append(
                f"{len(scaled)} columns ({_shown(scaled)}) have mean 0 and variance 1, as if a scaler had made them, "
                "which changes no probability and hides their unit"
            )
    if said:
        warn(
            f"{'; '.join(said)}: fit the table as it was before; text and numbers are read as they are",
            EncodedColumnsWarning,
        )


def _runs(names: Sequence[Any], means: Array) -> Iterator[Names]:
    """Columns that follow each other, whose means (class, column) add up to 1 in every class."""
    sums = np.concatenate([np.zeros((len(means), 1)), np.cumsum(means, axis=1)], axis=1).T
    place: dict[tuple[float, ...], int] = {}
    for k, total in enumerate(sums):
        start = place.get(_key(total - 1))
        if start is not None and k - start > 1:
            yield tuple(names[start:k])
        place[_key(total)] = k


def _key(sums: Array) -> tuple[float, ...]:
    return tuple(np.round(sums / CLOSE).tolist())


def _one_hot(table: Table, names: Names) -> bool:
    """Whether exactly one of these columns is 1 in each row, and the others are 0."""
    x = np.stack([table.column(name).reals() for name in names], axis=1)
    return bool(((x == 0) | (x == 1)).all() and (x.sum(axis=1) == 1).all())


def _shown(names: Sequence[Any]) -> str:
    return ", ".join([*map(repr, names[:3]), *(["…"] if len(names) > 3 else [])])
