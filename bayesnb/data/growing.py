"""Adapt schemas (how each column is read) when rows or models are added, or rows are forgotten."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np

from bayesnb.data.encoders import OF_NUMBERS, Feature, Origin, OriginKind, ordinal, require_one_kind
from bayesnb.data.inferring import grouped, in_place, inferred, present
from bayesnb.data.readings import Joined
from bayesnb.data.recognising import as_read, readings_in
from bayesnb.data.schema import LET_JOIN, Schema
from bayesnb.data.tables import Table
from bayesnb.families.columns import united
from bayesnb.families.family import Family
from bayesnb.model import Statistics, about, in_order
from bayesnb.priors import UNSEEN, Array
from bayesnb.statistics.statistic import same
from bayesnb.wording import Cure, RefusedError, family_word, refuse, some


def grown(schema: Schema, table: Table, features: Any, weight: Array | None) -> Schema:
    """Add the columns of ``table`` that are not in the schema, if new columns are allowed."""
    if schema.columns == "fixed" or not table.named:
        return schema
    joined = {name: r for name, r in readings_in(table, features).items() if name not in {*schema.raw, *schema.names}}
    table = table.through({**joined, **schema.readings})
    new = set(table.names) - set(schema.names)
    if not new:
        return schema
    if schema.all_words and not isinstance(features, Mapping):
        return schema  # A new column is a new word.
    specified = present(as_read(features, joined), table, schema.names)
    found = inferred(table, specified, schema.unseen, weight, joined)
    joining = {name: feature for name, feature in found.items() if new & set(feature.reads)}
    return merged(schema, replace(schema, names=table.names, features=joining, readings=joined))


def of_part(schema: Schema, table: Table) -> Schema:
    """Adapt the inferred families of a schema, and its spellings of levels, to a further part of the table."""
    joined = {name: r for name, r in schema.readings.items() if isinstance(r, Joined) and name in table.place}
    columns = {name: column for name in joined if (column := table.column(name)).kind == "text"}
    more = {name: joined[name].united(joined[name].resolved(column)) for name, column in columns.items()}
    schema = replace(schema, readings={**schema.readings, **more}) if more else schema
    table = schema.through(table)
    numbers = (feature for feature in schema.features.values() if feature.origin.kind in OF_NUMBERS)
    found = table.kinds([column for feature in numbers for column in feature.columns if column in table.place])
    known = with_kinds(schema, {column: kind for column, kind in found.items() if kind in OF_NUMBERS})
    by_name = schema.named and table.named
    first = {n: found[n] for n, f in known.features.items() if f.origin.kind == "nothing" and n in found and by_name}
    rest = {n: kind for n, kind in first.items() if kind not in OF_NUMBERS}
    if not rest:
        return known
    new = inferred(table.only(rest), schema.families, schema.unseen, None, {})
    return replace(known, features={**known.features, **new})


def with_kinds(schema: Schema, kinds: Mapping[Any, OriginKind]) -> Schema:
    """Infer the families of columns of numbers again if the kinds of their values, ``kinds``, have changed."""
    loose = {name: f for name, f in schema.features.items() if f.origin.kind in OF_NUMBERS}
    was = {column: f for f in loose.values() for column in f.columns}
    wanted = {column: kinds.get(column, was[column].origin.kind) for column in schema.names if column in was}
    if not any(_changes(was[column].origin, kind) for column, kind in wanted.items()):
        return schema
    found = {name: feature for name, feature in schema.features.items() if name not in loose}
    for name, (family, columns, origin) in grouped(wanted, schema.families, schema.named).items():
        before = was[columns[0]]
        kept = before.columns == columns and not _changes(before.origin, origin.kind)
        found[name] = before if kept else Feature(columns, family, origin)
    return replace(schema, features=in_place(found, schema.names))


def _changes(origin: Origin, kind: OriginKind) -> bool:
    return (kind == "zero_one") != (origin.kind == "zero_one") or (kind == "number" and origin.kind == "nothing")


def respelled(one: Schema, counted: Statistics, other: Schema) -> tuple[Schema, Statistics]:
    """Spell the levels of the schema ``one`` and its statistics as after a merge with the schema ``other``."""
    readings, features, statistics = dict(one.readings), dict(one.features), dict(counted.features)
    for column, mine in one.readings.items():
        theirs = other.readings.get(column)
        # ``Joined`` reads several spellings as one level.
        of_spellings = isinstance(mine, Joined) and isinstance(theirs, Joined)
        if not of_spellings or (mine.pairs, mine.order) != (theirs.pairs, theirs.order):
            continue
        readings[column] = both = mine.united(theirs)
        for name, feature in features.items():
            if feature.levels is None or column not in feature.columns:
                continue
            each = zip(feature.columns, feature.levels, strict=True)
            levels = tuple(both.respelled(held) if own == column else held for own, held in each)
            features[name] = replace(feature, levels=levels)
            if hasattr(statistics[name], "levels"):
                statistics[name] = replace(statistics[name], levels=levels)
    return replace(one, readings=readings, features=features), replace(counted, features=statistics)


def merged(one: Schema, other: Schema) -> Schema:
    """Merge two schemas, which must have the same columns unless new columns are allowed."""
    if one.all_words and other.all_words and one.names != other.names:
        words = united(one.names, other.names)
        return merged(one.of_words(words), other.of_words(words))
    both, names = (one.features, other.features), one.names
    if one.columns == "grow":
        both, names = _completed(*both), united(one.names, other.names)
    if odd := sorted(map(str, set(both[0]) ^ set(both[1]))):
        said = "the two models have different features; only one has {odd} ({join})"
        raise RefusedError(said, odd=some(odd), join=LET_JOIN)
    features, errors = dict[Any, Feature](), list[RefusedError]()
    for name, mine in both[0].items():
        try:
            features[name] = _merged(name, mine, both[1][name])
        except RefusedError as error:
            errors.append(error)
    refuse(errors)
    if names != one.names:
        features = in_place(features, names)
    return replace(one, names=names, features=features, readings={**one.readings, **other.readings})


def read_differently(one: Schema, other: Schema) -> list[RefusedError]:
    """An error for each column that the two schemas convert differently."""
    return [
        RefusedError(
            "column {column!r}: the two models read it differently, one with {expected}, the other with {value}; "
            "fit both with one of these",
            column=column, expected=Cure("features", a.spelled, column), value=Cure("features", b.spelled, column),
        )
        for column, a in one.readings.items()
        if (b := other.readings.get(column, a)) != a
    ]  # fmt: skip


def _merged(name: Any, mine: Feature, theirs: Feature) -> Feature:
    if mine.text and theirs.text:
        mine, theirs = _with_words_of_both(mine, theirs)
    _require_alike(name, mine, theirs)
    if mine.levels is None:
        return mine
    with about(f"feature {name!r}"):
        each = zip(mine.columns, mine.kinds, theirs.kinds, strict=False)
        kinds = tuple(require_one_kind(*both) for both in each)
    levels = tuple(united(*pair) for pair in zip(mine.levels, theirs.levels, strict=True))
    declared = tuple(united(*pair) for pair in zip(mine.declared, theirs.declared, strict=True))
    return replace(mine, levels=levels, kinds=kinds, declared=declared)


def _require_alike(name: Any, mine: Feature, theirs: Feature) -> None:
    a, b = mine.family, theirs.family
    if type(a) is not type(b):
        said = "feature {column!r}: one model reads it as {value}, the other as {expected}: fit both with one family"
        if mine.tried or theirs.tried:
            said += ", which is in classifier_.choice.features of either"
        raise RefusedError(said, column=name, value=family_word(a), expected=family_word(b))
    for k, column in enumerate(mine.columns if mine.columns == theirs.columns else ()):
        own, other = (() if (order := each.order_of(k)) is None else order for each in (a, b))
        if own != other:
            odd = in_order({*own} ^ {*other})
            said = "only one of the two models has {value!r} among its ordered levels"
            said = said if odd else "the two models have its levels in different orders"
            raise RefusedError(
                "column {column!r}: " + said + ": fit both with one order of all levels, as {cure}",
                column=column, value=next(iter(odd), None), cure=ordinal(column),
            )  # fmt: skip
    said = "feature {column!r}: the two models differ in {what}{family}{values}: fit both with the same settings"
    for what in ("text", "source", "columns", "cuts"):
        x, y = getattr(mine, what), getattr(theirs, what)
        if not same(x, y):
            if what == "cuts":
                x, y = next(([*p.edges], [*q.edges]) for p, q in zip(x, y, strict=True) if p.edges != q.edges)
            raise RefusedError(
                said, column=name, what="edges" if what == "cuts" else what, family="", values=_both(x, y)
            )
    if odd := [f.name for f in fields(a) if not same(getattr(a, f.name), getattr(b, f.name))]:
        # Settings per column come from the rows; the setting for all columns has another name.
        what = a.from_rows[0] if odd[0] in a.from_rows else odd[0]
        what, values = f"{what} of their family, ", _both(getattr(a, what), getattr(b, what))
        raise RefusedError(said, column=name, what=what, family=family_word(a), values=values)


def _both(a: Any, b: Any) -> str:
    x, y = map(repr, (a, b))
    return f" ({x} and {y})" if x != y and max(len(x), len(y)) <= LONGEST else ""


LONGEST = 100
"""Largest number of characters of a setting that a message shows."""


# Columns that join after the first rows: a column that joins was missing in all earlier rows, and a word that joins a
# bag has the count 0 in them. So what was learned before does not change.


def _completed(
    mine: Mapping[Any, Feature], theirs: Mapping[Any, Feature]
) -> tuple[dict[Any, Feature], dict[Any, Feature]]:
    """Give each of two models the features and words that only the other model has."""
    a, b = dict(mine), dict(theirs)
    for name in a.keys() & b.keys():
        if a[name].columns == b[name].columns:
            continue
        if not a[name].family.support.kind == "bag" == b[name].family.support.kind:
            raise ValueError(
                f"feature {name!r} has the columns {list(a[name].columns)}, and then {list(b[name].columns)}: the "
                "columns of one feature are read together, so none can join it; give new columns a feature of their own"
            )
        a[name], b[name] = _with_words_of_both(a[name], b[name])
    a, b = a | {n: b[n] for n in b if n not in a}, b | {n: a[n] for n in a if n not in b}
    owner: dict[Any, Any] = {}
    for name, feature in a.items():
        for column in feature.named:
            if owner.setdefault(column, name) != name:
                raise ValueError(f"column {column!r} is in feature {owner[column]!r}, and then in {name!r}")
    return a, b


def _with_words_of_both(mine: Feature, theirs: Feature) -> tuple[Feature, Feature]:
    """Give two text features the union of their words, or raise an error if the words differ and are fixed."""
    if mine.text and not mine.text.grows and mine.columns != theirs.columns:
        raise ValueError(
            f"column {mine.source[0]!r}: each model has taken its words from its own rows; give both the same, as "
            "nb.Text(vocabulary=[...])"
        )
    words = united(mine.columns, theirs.columns)
    return replace(mine, columns=words), replace(theirs, columns=words)


def without_unused(schema: Schema, statistics: Statistics, words: bool = False) -> tuple[Schema, Statistics]:
    """Drop words and (unless ``words``) levels that no longer occur, from the schema and from the statistics."""
    features, kept = dict(schema.features), dict(statistics.features)
    for name, feature in schema.features.items():
        if feature.text is not None and feature.text.grows:
            used = kept[name].counts.any(0)
            left = tuple(word for word, here in zip(feature.columns, used, strict=True) if here)
            features[name], kept[name] = replace(feature, columns=left), kept[name].with_words(left)
        elif feature.values and not words and not _has_place_for_each(feature.family):
            used, named = kept[name].counts.any(0), {*feature.family.named_levels, UNSEEN}
            # A level is kept if the column's type, level order or prior names it, or if no level of the column occurs.
            levels = tuple(
                tuple(level for k, level in enumerate(own) if here[k] or level in named.union(of_type)) or own
                for own, here, of_type in zip(feature.levels, used, feature.declared, strict=True)
            )
            features[name], kept[name] = replace(feature, levels=levels), kept[name].with_levels(levels)
    return replace(schema, features=features), replace(statistics, features=kept)


def _has_place_for_each(family: Family) -> bool:
    """Whether the family has an order of all levels, or a prior with a parameter per level."""
    priors = family.prior.values() if isinstance(family.prior, Mapping) else [family.prior]
    return family.order_of(0) is not None or any(np.ndim(getattr(prior, "alpha", 0.0)) for prior in priors)
