"""What kind of values a column holds, where parts of a table are added: the values of all parts decide.

Start with :func:`alike`. A column without a value gets the family that other rows give it. Counts of 0 and 1 contain
the weight, the mean and the scatter of these numbers, and every other sum over them, because only two values occur: so
a column of 0 and 1 that meets other numbers is read as numbers from then on, as if it had been from the beginning. A
column whose values are all 0, or all 1, may be either: its statistic becomes that of flags when it meets the other one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from bayesnb.data.encoders import Feature
from bayesnb.data.origin import NUMBERS, Origin, OriginKind
from bayesnb.data.schema import Schema
from bayesnb.families.family import Family
from bayesnb.families.trials import BinaryCounts
from bayesnb.model import Statistics
from bayesnb.numerics import Array
from bayesnb.statistics.membership import Labels
from bayesnb.statistics.moments import Moments
from bayesnb.statistics.statistic import Statistic, joined
from bayesnb.wording import Cure, RefusedError

type Counted = tuple[Schema, Statistics]
"""How rows are read, and what was counted of them."""


def alike(a: Counted, b: Counted) -> tuple[Counted, Counted]:
    """Both with one family for each column, even if only one of them shows what kind of values it holds.

    Raises
    ------
    ValueError
        If a column holds values of two kinds that no family reads, as text and numbers.
    """
    a, b = _filled(a, b), _filled(b, a)
    kinds = _kinds(*a)
    for column, kind in _kinds(*b).items():
        kinds[column] = max(kinds.get(column, kind), kind, key=NUMBERS.index)
    a, b = _arranged(*a, kinds), _arranged(*b, kinds)
    for name, mine in a[0].features.items():
        theirs = b[0].features.get(name)
        known = theirs is not None and theirs.origin.inferred and mine.origin.inferred
        if known and type(mine.family) is not type(theirs.family):
            raise _differ(mine.named[0], mine.origin, theirs.origin)
    return a, b


def settled(schema: Schema, statistics: Statistics) -> Counted:
    """The same, where a column of nothing but 0, or nothing but 1, holds numbers, as it would in one table."""
    flags = {name: f for name, f in schema.features.items() if f.origin.kind == "zero_one"}
    kinds = {}
    for name, feature in flags.items():
        s = statistics.features[name]
        if isinstance(s, BinaryCounts):
            n, ones = s.n.sum(0), s.ones.sum(0)
            constant = (n > 0) & ((ones == 0) | (ones == n))
            kinds |= {column: "number" for column, here in zip(feature.columns, constant, strict=True) if here}
    return _arranged(schema, statistics, kinds) if kinds else (schema, statistics)


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
    """Whether no value has decided the family of a column: 2 if not even its type did, 1 if its type is text."""
    return 2 if feature.origin.kind == "nothing" else int(feature.origin.inferred and set(feature.kinds) == {"empty"})


def _filled(a: Counted, b: Counted) -> Counted:
    """The first, where a column without a value has the family that the second gives it."""
    (schema, statistics), features, counted = a, {}, {}
    for name, theirs in b[0].features.items():
        mine = schema.features.get(name)
        if mine is not None and _blank(mine) > _blank(theirs) and theirs.origin.kind not in NUMBERS:
            features[name] = theirs
            counted[name] = b[1].features[name].take([-1] * len(statistics.labels))
    if not features:
        return a
    schema = replace(schema, features={**schema.features, **features})
    return schema, replace(statistics, features={**statistics.features, **counted})


def _kinds(schema: Schema, statistics: Statistics) -> dict[Any, OriginKind]:
    """The kind of the values of each column of numbers whose family was inferred."""
    kinds: dict[Any, OriginKind] = {}
    for name, feature in schema.features.items():
        if feature.origin.kind not in NUMBERS or name not in statistics.features:
            continue  # A merged schema has features of the other model, too.
        s = statistics.features[name]
        flags = _flags(s)[1] if feature.origin.kind == "number" else np.full(len(feature.columns), True)
        for column, seen, flag in zip(feature.columns, s.seen().any(0), flags, strict=True):
            kinds[column] = ("zero_one" if flag else "number") if seen else "nothing"
    return kinds


def _flags(s: Statistic) -> tuple[BinaryCounts | None, Array]:
    """The counts of 0 and 1 that a statistic contains, and for which columns it does."""
    if isinstance(s, BinaryCounts):
        return s, np.full(s.n.shape[1], True)
    if not isinstance(s, Moments):
        return None, np.full(s.seen().shape[1], False)
    constant = (s.scatter == 0) & ((s.total == 0) | (s.total == s.n)) & (s.nonzero == s.total)
    return BinaryCounts(s.n, s.total), constant.all(0)


def _arranged(schema: Schema, statistics: Statistics, kinds: Mapping[Any, OriginKind]) -> Counted:
    """The same, where the columns of numbers whose family was inferred hold values of these kinds."""
    new = schema.with_kinds(kinds)
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
    """The statistic of a column as a family has it; None if it does not follow."""
    kind = family.statistic_class
    if isinstance(s, kind):
        return s
    flags, known = _flags(s)
    if not s.seen().any():
        return family.statistic(np.zeros((0, 1)), Labels.of([], len(s.seen())))
    if flags is None or not known.all() or family.support.invalid(np.array([0.0, 1.0])).any():
        return None
    if kind is BinaryCounts:
        return flags
    if (moments := flags.converted(kind)) is not None:
        return moments
    # Two rows a class, of 0 and of 1, that weigh as much as all its rows.
    weight = np.stack([flags.n[:, 0] - flags.ones[:, 0], flags.ones[:, 0]], axis=1).ravel()
    codes, x = np.divmod(np.flatnonzero(weight), 2)
    return family.statistic(x[:, None].astype(float), Labels(codes, weight[weight > 0], len(flags.n)))
