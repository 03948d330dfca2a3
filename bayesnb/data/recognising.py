"""Choose how columns of text are read, such as dates; the entry point is :func:`readings_in`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from functools import cache, partial
from typing import Any

from bayesnb.data import specifications
from bayesnb.data.amounts import Marks, marks_among
from bayesnb.data.columns import Column
from bayesnb.data.readings import (
    PARTS,
    Date,
    Reading,
    default_reading,
    formats_of,
    may_be_of,
    numbers_for_a_family,
    texts_of,
)
from bayesnb.data.specifications import BestFamily, ByType, Missing
from bayesnb.data.tables import Table
from bayesnb.data.text import Text
from bayesnb.families.family import Family
from bayesnb.wording import Cure, RefusedError, Spelled, nearest


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
    if any(entry.columns for entry in said):
        require_parts(features, table.names, found)
    return found


def require_parts(features: Any, names: Collection[Any], readings: Mapping[Any, Reading]) -> None:
    """Raise ``RefusedError`` if ``features`` names a part of a date that is not read, such as "month of date"."""
    asked = [str(name) for each in specifications.entries(features) for name in each.columns or () if name not in names]
    for column, own in readings.items() if asked else ():
        absent = [name for name in asked if name not in own.names(column)] if isinstance(own, Date) else []
        of_dates = [name for name in absent if may_be_of(name, str(column))]
        parts: list[Any] = [nearest(name.removesuffix(f" of {column}"), PARTS) for name in of_dates]
        for name, part in zip(of_dates, parts, strict=True):
            if part is None:
                continue
            cure = Date(*dict.fromkeys([*own.parts, *filter(None, parts)]), format=own.format).spelled
            raise RefusedError(
                "features names column {name!r}, which the table does not have: for {meant!r}, use {cure}",
                column=column, name=name, meant=f"{part} of {column}", cure=Cure("features", cure, column),
            )  # fmt: skip


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
    """For a part of a table, the specifications without families of numbers whose columns hold texts in this part."""
    if not table.part or not isinstance(features, Mapping):
        return features
    kept, joined = dict(features), specifications.specified_readings(features).keys()
    for entry in specifications.entries(features):
        if entry.together and len(entry.columns) > 1 and isinstance(entry.spec, Family):
            _require_read(table, entry, specifications.specified_readings(features))
        columns = [column for column in entry.columns or () if column in table.place]
        reads_text = (entry.spec is None or _reads_text(entry.spec)) and joined.isdisjoint(columns)
        held = [table.column(column) for column in columns]
        if columns and (reads_text or entry.together or not any(c.textual or c.kind == "text" for c in held)):
            continue
        kept.pop(entry.key)
        if columns and entry.missing is not None:
            kept[entry.key] = replace(entry.missing, family=None)
    return kept


def _require_read(table: Table, entry: specifications.Entry, given: Mapping[Any, Reading]) -> None:
    """Raise an error if a feature of several columns needs a text column that this part of a table cannot convert."""
    of_levels, unread = entry.spec.support.kind == "levels", []
    for name in entry.columns or ():
        of = [each for each in table.names if may_be_of(name, str(each))] if name not in table.place else [name]
        columns = [table.column(each) for each in of if not table.column(each).temporal]
        unread += [(name, c) for c in columns if c.kind == "text" and not (name == c.name and of_levels)]
    # The feature columns of one text are read when all of its cells are known.
    if not unread or (len({c.name for _, c in unread}) == 1 and {*entry.columns}.isdisjoint(table.place)):
        return
    name, column = unread[0]
    parts = [part for part in PARTS if name == f"{part} of {column.name}"]
    every = ", ".join(f'"{part}"' for part in dict.fromkeys([*getattr(given.get(column.name), "parts", ()), *parts]))
    codes = [f'nb.Date({every}, format="{form}")' for form in formats_of(texts_of(column)) if parts]
    own = numbers_for_a_family(column, False, str) if name == column.name else None
    codes += [] if own is None else [f'nb.Number(decimal="{own.decimal}", unit="{own.unit}")']
    raise RefusedError(
        "features[{key!r}] reads {name!r} together with other columns, but column {column!r} is text, whose form is "
        "known only after the last row of a table that is read in parts: "
        + "state it, as {cure}, or " * bool(codes)
        + "name each column in an entry of its own, or fit a table in memory",
        key=entry.key, name=name, column=column.name,
        cure=tuple(Cure("features", Spelled(code, code), column.name) for code in codes),
    )  # fmt: skip


def _reads_text(spec: Any) -> bool:
    # If the texts are numbers, the order of the numbers is the default, and a named order may hold numbers.
    if isinstance(spec, Family) and spec.support.kind == "levels":
        return any(isinstance(level, str) for level in getattr(spec, "order", ("",)) or ())
    return isinstance(spec, Text)
