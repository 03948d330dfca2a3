"""Columns that an encoder or a scaler in front of the classifier has made, which nothing here needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from bayesnb.data.columns import Names
from bayesnb.data.inferring import SPECIFIED
from bayesnb.data.schema import Schema
from bayesnb.data.tables import Table
from bayesnb.model import Statistics
from bayesnb.priors import Array
from bayesnb.statistics.moments import Moments
from bayesnb.wording import warn

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
