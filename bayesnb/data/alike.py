"""Reconcile the families of columns in two summaries or models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from bayesnb.data import growing
from bayesnb.data.amounts import is_float
from bayesnb.data.columns import culprit, to_numbers
from bayesnb.data.encoders import OF_NUMBERS, Feature, Origin, OriginKind
from bayesnb.data.schema import Schema
from bayesnb.families.family import Family
from bayesnb.families.trials import BinaryCounts
from bayesnb.model import Statistics
from bayesnb.statistics.statistic import Labels, Statistic, joined
from bayesnb.wording import Cure, RefusedError

type Counted = tuple[Schema, Statistics]
"""A schema, and the statistics of rows read with this schema."""


def alike(one: Any, other: Any) -> tuple[Any, Any]:
    """Give each column the same family in two summaries or models, or raise an error if no family fits both."""
    a, b = ((each.schema, each.statistics) for each in (one, other))
    a, b = _filled(a, b), _filled(b, a)
    kinds = _kinds(*a)
    for column, kind in _kinds(*b).items():
        # The counts of 0 and 1 determine every sum over values, so a column of 0 and 1 can become a column of numbers.
        kinds[column] = max(kinds.get(column, kind), kind, key=OF_NUMBERS.index)
    a, b = _arranged(*a, kinds), _arranged(*b, kinds)
    for name, mine in a[0].features.items():
        theirs = b[0].features.get(name)
        if theirs is None or type(mine.family) is type(theirs.family):
            continue
        if mine.origin.inferred and theirs.origin.inferred:
            raise _differ(mine.named[0], mine.origin, theirs.origin)
        for text, named in ((mine, theirs), (theirs, mine)):
            # Texts are counted as levels until all parts are read, also for a family that reads numbers.
            if text.origin.inferred and text.kinds == ("text",) and named.origin.kind == "specified":
                column, texts = text.named[0], [*map(str, text.levels[0])]
                odd = [each for each in texts if not is_float(each)] or texts
                value, write = culprit(column, odd, len(odd) == 1, texts)
                advice, more = to_numbers(column, texts, value, write)
                said = (
                    "column {column!r} holds text ({value!r}) in one part of the table, and {expected} reads no text: "
                )
                expected = type(named.family).__name__
                raise RefusedError(said + advice, column=column, value=value, expected=expected, **more)
    return replace(one, schema=a[0], statistics=a[1]), replace(other, schema=b[0], statistics=b[1])


def _differ(column: Any, one: Origin, other: Origin) -> RefusedError:
    return RefusedError(
        "column {column!r} holds {value} in one part of the table and {expected} in another: give it one type, or say "
        "what it is with {cure}",
        column=column,
        value=str(one),
        expected=str(other),
        cure=Cure("features", column=column),
    )


def _blank(feature: Feature) -> int:
    return 2 if feature.origin.kind == "nothing" else int(feature.origin.inferred and set(feature.kinds) == {"empty"})


def _filled(a: Counted, b: Counted) -> Counted:
    (schema, statistics), features, counted = a, {}, {}
    for name, theirs in b[0].features.items():
        mine = schema.features.get(name)
        if mine is not None and _blank(mine) > _blank(theirs) and theirs.origin.kind not in OF_NUMBERS:
            features[name] = theirs
            counted[name] = b[1].features[name].take([-1] * len(statistics.labels))
    if not features:
        return a
    schema = replace(schema, features={**schema.features, **features})
    return schema, replace(statistics, features={**statistics.features, **counted})


def _kinds(schema: Schema, statistics: Statistics) -> dict[Any, OriginKind]:
    kinds: dict[Any, OriginKind] = {}
    for name, feature in schema.features.items():
        if feature.origin.kind not in OF_NUMBERS or name not in statistics.features:
            continue  # A merged schema has features of the other model, too.
        for column, seen in zip(feature.columns, statistics.features[name].seen().any(0), strict=True):
            # Columns of an array are one feature, whose first column may have no values.
            of_seen: OriginKind = "number" if feature.origin.kind == "nothing" else feature.origin.kind
            kinds[column] = of_seen if seen else "nothing"
    return kinds


def _arranged(schema: Schema, statistics: Statistics, kinds: Mapping[Any, OriginKind]) -> Counted:
    new = growing.with_kinds(schema, kinds)
    if new is schema:
        return schema, statistics
    held = {column: (f, name, k) for name, f in schema.features.items() for k, column in enumerate(f.columns)}
    counted = dict(statistics.features)
    for name, feature in new.features.items():
        if feature is schema.features.get(name):
            continue
        parts = []
        for column in feature.columns:
            before, own, k = held[column]
            if (part := _converted(statistics.features[own].columns([k]), feature.family)) is None:
                raise _differ(column, before.origin, feature.origin)
            parts.append(part)
        counted[name] = joined(parts)
    return new, replace(statistics, features={name: counted[name] for name in new.features if name in counted})


def _converted(s: Statistic, family: Family) -> Statistic | None:
    kind = family.statistic_class
    if isinstance(s, kind):
        return s
    if not s.seen().any():
        return family.statistic(np.zeros((0, 1)), Labels.of([], len(s.seen())))
    if not isinstance(s, BinaryCounts) or family.support.invalid(np.array([0.0, 1.0])).any():
        return None
    if (moments := s.converted(kind)) is not None:
        return moments
    # Two rows per class, one of 0 and one of 1, with the total weights of the rows of the class.
    weight = np.stack([s.n[:, 0] - s.ones[:, 0], s.ones[:, 0]], axis=1).ravel()
    codes, x = np.divmod(np.flatnonzero(weight), 2)
    return family.statistic(x[:, None].astype(float), Labels(codes, weight[weight > 0], len(s.n)))
