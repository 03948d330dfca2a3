"""Columns that join after the first rows: ``columns="grow"``.

A column that joins was missing in all earlier rows, and a word that joins a bag has the count 0 in them. So nothing
that was learned changes: :func:`completed` gives both sides the features of the other, and :func:`present` says which
of the specified features a table can have already.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from bayesnb.data.encoders import Feature
from bayesnb.data.inferring import resolved_spec
from bayesnb.data.tables import Table
from bayesnb.families.levels import united
from bayesnb.families.support import BAG

type Features = Mapping[Any, Feature]


def completed(mine: Features, theirs: Features) -> tuple[dict[Any, Feature], dict[Any, Feature]]:
    """Both sides with the features, and the words, that one of them has.

    Raises
    ------
    ValueError
        If a column is in one feature here and in another there, or a feature that is no bag has other columns there.
    """
    a, b = dict(mine), dict(theirs)
    for name in a.keys() & b.keys():
        if a[name].columns == b[name].columns:
            continue
        if not (a[name].family.support == BAG == b[name].family.support):
            raise ValueError(
                f"feature {name!r} has the columns {list(a[name].columns)}, and then {list(b[name].columns)}: the "
                "columns of one feature are read together, so none can join it; give new columns a feature of their own"
            )
        words = united(a[name].columns, b[name].columns)
        a[name], b[name] = (replace(side[name], columns=words) for side in (a, b))
    a, b = a | {n: b[n] for n in b if n not in a}, b | {n: a[n] for n in a if n not in b}
    owner: dict[Any, Any] = {}
    for name, feature in a.items():
        for column in feature.columns:
            if owner.setdefault(column, name) != name:
                raise ValueError(f"column {column!r} is in feature {owner[column]!r}, and then in {name!r}")
    return a, b


def present(features: Any, table: Table, known: Collection[Any] = ()) -> Any:
    """The specified features whose columns a table has; the others may join later.

    Parameters
    ----------
    features : as in :class:`bayesnb.BayesianNB`
    table : Table
    known : collection of column names
        The columns that were learned before.

    Raises
    ------
    ValueError
        If a new feature has only some of its columns.
    """
    if not isinstance(features, Mapping):
        return features
    kept: dict[Any, Any] = {}
    for key, value in features.items():
        spec, columns = resolved_spec(key, value)
        here = [column for column in columns if column in table.place]
        if not here:
            continue
        if len(here) == len(columns):
            kept[key] = value
        elif getattr(spec, "support", None) == BAG:
            kept[key] = spec, here
        elif not set(columns) & set(known):
            absent = next(column for column in columns if column not in table.place)
            raise ValueError(
                f"features[{key!r}]: column {absent!r} is not in this table, and the columns of one feature join "
                "together"
            )
    return kept
