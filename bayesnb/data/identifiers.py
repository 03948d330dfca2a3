"""Columns of text that look like identifiers: nearly every row has a level of its own, so they tell nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bayesnb.data.inferring import SPECIFIED
from bayesnb.data.schema import Schema
from bayesnb.model import Statistics
from bayesnb.wording import warn


class IdentifierWarning(UserWarning):
    """A column of text looks like an identifier or free text: it says nothing about rows whose levels are new.

    To silence it, leave the column out, or name its family, as ``features={column: Categorical()}``.

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
    features={'day': Categorical()}
    """


def looks_like_identifier(levels: int, rows: float) -> bool:
    """Whether nearly every row that has a value has a level of its own."""
    return rows > 10 and levels > max(3, 0.8 * rows)


def _identifiers(schema: Schema, statistics: Statistics) -> Iterator[tuple[Any, int, float]]:
    """The columns that look like identifiers and got their family by type, with their levels and rows."""
    for name, feature in schema.features.items():
        if feature.levels is None or feature.how == SPECIFIED or feature.cuts is not None:
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
            f"name its family, as features={{{column!r}: Categorical()}}",
            IdentifierWarning,
        )
