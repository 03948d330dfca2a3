"""Choose how columns of text are read, such as dates; the entry point is :func:`readings_in`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache, partial
from typing import Any

from bayesnb.data import specifications
from bayesnb.data.amounts import Marks, marks_among
from bayesnb.data.columns import Column
from bayesnb.data.readings import Reading, default_reading, numbers_for_a_family
from bayesnb.data.specifications import BestFamily, ByType, Missing
from bayesnb.data.tables import Table
from bayesnb.data.text import Text
from bayesnb.families.family import Family
from bayesnb.wording import Cure, RefusedError


def readings_in(table: Table, features: Any) -> dict[Any, Reading]:
    """Map columns to readings, such as ``Date``: the specified reading, or the only reading that fits."""
    if table.readings is not None:
        return dict(table.readings)
    found = {}
    dtypes = table.source.dtypes if table.named else [] if table.numeric or table.sparse else [None] * len(table.names)
    textual = [n for n, kind in zip(table.names, dtypes, strict=False) if getattr(kind, "kind", "O") not in "biufc"]
    mark = cache(lambda: (table.marks or partial(_marks_in, map(table.column, textual)))().settled)
    for column, given in specifications.specified_readings(features).items() if isinstance(features, Mapping) else ():
        name = table.resolved(column)
        if not table.part or given.resolves or table.column(name).temporal:
            found[name] = given.resolved(table.column(name), mark)
    said = specifications.entries(features)
    for name in (name for name in textual if name not in found):
        spec = next((entry.spec for entry in said if entry.columns is None or name in entry.columns), None)
        column = table.column(name)
        if _reads_text(spec):
            if column.temporal:
                own = default_reading(column)
                cure = Cure("features", own.spelled, name)
                said = "column {column!r} holds {value}, which cannot be levels or words: use {cure}"
                raise RefusedError(said, column=name, value=own.said, cure=cure)
            continue
        if table.part and not column.temporal:
            continue
        own = default_reading(column)
        if own is None and spec is not None:
            # ByType and BestFamily say nothing about the column, so names such as "Room 3" stay levels.
            own = numbers_for_a_family(column, isinstance(spec, ByType | BestFamily), mark)
        if own is None:
            continue
        if own.names(name) != (name,) and any(e.spec is not None and name in (e.columns or ()) for e in said):
            raise RefusedError(
                "column {column!r} holds {value}: name one of its feature columns, as {expected!r}, or use {cure}",
                column=name, value=own.said, expected=own.names(name)[-1],
                cure=Cure("features", own.spelled, name),
            )  # fmt: skip
        found[name] = own
    return found


def _marks_in(columns: Iterable[Column]) -> Marks:
    read = (column.coded[1] for column in columns if not (column.temporal or column.unreadable))
    return marks_among([cell for cell in cells if isinstance(cell, str)] for cells in read)


def as_read(features: Any, readings: Mapping[Any, Reading]) -> Any:
    """Move ``Missing()`` without a family from a column, such as a date, to the first column derived from it."""
    if not isinstance(features, Mapping) or not readings:
        return features
    said = specifications.entries(features)
    bare = {entry.key: Missing(prior=entry.missing.prior) for entry in said
            if entry.missing is not None and entry.spec is None and entry.key in readings}  # fmt: skip
    first = {key: readings[key].names(key)[0] for key in bare}
    if twice := [key for key, name in first.items() if key != name and name in features]:
        raise ValueError(f"features[{first[twice[0]]!r}]: features[{twice[0]!r}] specifies its missing cells already")
    return {first.get(e.key, e.key): bare.get(e.key, features[e.key]) for e in said}


def readable(table: Table, features: Any) -> Any:
    """In a part of a table, drop families that the part's texts cannot show to fit, such as a family of numbers."""
    if not table.part or not isinstance(features, Mapping):
        return features
    kept, joined = dict(features), specifications.specified_readings(features).keys()
    for entry in specifications.entries(features):
        columns = [column for column in entry.columns or () if column in table.place]
        reads_text = (entry.spec is None or _reads_text(entry.spec)) and joined.isdisjoint(columns)
        held = [table.column(column) for column in columns]
        if columns and (reads_text or entry.together or not any(c.textual or c.kind == "text" for c in held)):
            continue
        kept.pop(entry.key)
        if columns and entry.missing is not None:
            kept[entry.key] = replace(entry.missing, family=None)
    return kept


def _reads_text(spec: Any) -> bool:
    # If the texts are numbers, the order of the numbers is the default, and a named order may hold numbers.
    if isinstance(spec, Family) and spec.support.kind == "levels":
        return any(isinstance(level, str) for level in getattr(spec, "order", ("",)) or ())
    return isinstance(spec, Text)
