"""Summaries of parts of a table can be added.

The sum of the summaries depends neither on the division into parts nor on the order of rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from bayesnb.data import growing
from bayesnb.data.amounts import is_float
from bayesnb.data.columns import Names, culprit, to_numbers
from bayesnb.data.encoders import OF_NUMBERS, Feature, Origin, OriginKind
from bayesnb.data.inferring import in_place, name_of, readings_in
from bayesnb.data.readings import are_sentences
from bayesnb.data.rows import TrainingRows
from bayesnb.data.schema import Schema
from bayesnb.data.specifications import EstimatorParameters
from bayesnb.data.tables import Table
from bayesnb.data.targets import Target, classes_of
from bayesnb.data.text import Text
from bayesnb.families.family import Family
from bayesnb.families.multinomial import Bag
from bayesnb.families.trials import BinaryCounts
from bayesnb.model import Statistics, in_order, united_labels
from bayesnb.priors import UNSEEN, Array
from bayesnb.statistics.statistic import Labels, Statistic, joined
from bayesnb.wording import Cure, RefusedError


@dataclass(frozen=True, eq=False)
class Summary:
    """The summary of some rows. The sum of two summaries is the summary of the rows of both."""

    schema: Schema
    statistics: Statistics
    classes: Array
    rows: int  # Number of rows read.
    blank: int  # Number of rows without a class.
    # The declared levels of each categorical column; ``None`` if no levels are declared or the parts differ.
    declared: Mapping[Any, Names | None]
    named: tuple[Any, ...] = ()  # The classes that categorical labels declare.

    def __add__(self, other: Summary) -> Summary:
        odd = set(self.schema.names) ^ set(other.schema.names)
        if odd and self.schema.columns == "fixed" and not (self.schema.all_words and other.schema.all_words):
            raise ValueError(f"column {in_order(odd)[0]!r} is in one part of the table and not in another")
        a, b = alike(self, other)
        statistics = a.statistics.widened(b.statistics) + b.statistics.widened(a.statistics)
        classes = classes_of(a.classes, b.classes)
        declared = {**b.declared, **a.declared}
        for name in set(a.declared) & set(b.declared):
            declared[name] = a.declared[name] if a.declared[name] == b.declared[name] else None
        of_rows = classes, a.rows + b.rows, a.blank + b.blank, declared, united_labels(a.named, b.named)
        return Summary(growing.merged(a.schema, b.schema), statistics.reindexed(classes.tolist()), *of_rows)

    def settled(self, before: Schema | None = None) -> Summary:
        """Sort the levels and words. Levels and words in the schema ``before`` come first."""
        features, statistics = dict(self.schema.features), dict(self.statistics.features)
        for name, feature in self.schema.features.items():
            if feature.text is not None:
                known = before.features[name].columns if before is not None and name in before.features else ()
                words = _settled(feature, feature.columns, {*feature.columns}, feature.text.vocabulary or known)
                features[name] = replace(feature, columns=words)
                statistics[name] = statistics[name].with_words(words)
                continue
            if not feature.values or feature.family.order_of(0) is not None:
                continue
            known = before.features[name].levels if before is not None and name in before.features else None
            seen = statistics[name].counts.sum(0) > 0
            declared = tuple(self.declared[column] or () for column in feature.columns)
            each = zip(feature.levels, seen, declared if known is None else known, strict=True)
            levels = tuple(
                _settled(feature, names, {level for level, n in zip(names, here, strict=False) if n}, first)
                for names, here, first in each
            )
            features[name] = replace(feature, levels=levels, declared=declared if known is None else feature.declared)
            statistics[name] = statistics[name].with_levels(levels)
        return self._with(features, statistics)

    def with_readings(self, settings: EstimatorParameters) -> Summary:
        """Convert text columns by their readings, such as ``Date``, and summarise the results."""
        given = settings.features if isinstance(settings.features, Mapping) else {}
        features, statistics, declared = dict(self.schema.features), dict(self.statistics.features), {}
        made: dict[Any, Schema] = {}
        gaps: dict[Any, Array] = {}
        for name, feature in self.schema.features.items():
            if not feature.values or not feature.origin.inferred or feature.kinds not in (("text",), ("empty",)):
                continue
            (column,), counts = feature.columns, statistics[name].counts[:, 0]
            if self.declared[column] is not None:
                continue
            c, level = np.nonzero(counts)
            texts = pd.DataFrame({column: np.array([*feature.levels[0], None], object)[level]})
            alone = TrainingRows(Table.of(texts), Target(c, self.classes), counts[c, level])
            own = settings.features if not given else {column: given[column]} if column in given else None
            readings = readings_in(alone.table, own)
            inner = alone.table.through(readings)
            if given:
                own = {key: given[key] for key in given if key == column or key in inner.place} or None
            if not readings and column not in given:
                continue
            made[column], found = alone.statistics(replace(settings, features=own))
            declared |= {each: inner.column(each).declared for each in inner.names}
            gone = inner.column(inner.names[0]).missing()
            gaps[column] = np.bincount(c[gone], counts[c, level][gone], minlength=len(self.classes))
            del features[name], statistics[name]
            of_values = {each: f for each, f in made[column].features.items() if not f.indicates}
            features |= of_values
            statistics |= {each: found.features[each] for each in of_values}
        if not made:
            return self
        names = tuple(chain.from_iterable(made[n].names if n in made else (n,) for n in self.schema.names))
        readings = {**self.schema.readings, **{n: r for schema in made.values() for n, r in schema.readings.items()}}
        first = {column: own.names(column)[0] for column, own in readings.items()}
        for name, feature in [each for each in features.items() if {*each[1].indicates} & gaps.keys()]:
            # The flags were counted under the name of the column; they belong to its first feature column, in which
            # further texts, such as "-", are missing.
            source = tuple(first.get(column, column) for column in feature.source)
            own, s = name_of(source[0]) if len(source) == 1 else name, statistics.pop(name)
            names_of, origin = tuple(map(name_of, source)), Origin("gaps", str(source[0]))
            features[own] = replace(features.pop(name), source=source, columns=names_of, origin=origin)
            more = [gaps.get(column, np.zeros(len(self.classes))) for column in feature.source]
            statistics[own] = replace(s, ones=s.ones + np.stack(more, axis=1))
        features = in_place(features, names)
        whole = self._with(features, {name: statistics[name] for name in features})
        schema = replace(whole.schema, names=names, readings=readings)
        return replace(whole, schema=schema, declared={**self.declared, **declared})

    def with_sentences(self, known: Collection[Any]) -> Summary:
        """Turn columns of sentences into bags of words, except the columns ``known``."""
        features, statistics = dict(self.schema.features), dict(self.statistics.features)
        for name, feature in self.schema.features.items():
            if name in known or not feature.origin.inferred or feature.kinds != ("text",):
                continue
            counts = statistics[name].counts[:, 0]
            c, level = np.nonzero(counts)
            held, place = np.unique(level, return_inverse=True)
            texts = [feature.levels[0][k] for k in held]
            if self.declared[feature.columns[0]] is not None or not are_sentences(texts, counts.sum()):
                continue
            found, words = Text().counted(texts)
            bag = replace(feature, columns=words, family=Text().family, origin=Origin("sentences"))
            features[name] = replace(bag, levels=None, kinds=(), source=feature.columns, text=Text())
            members = Labels(c, counts[c, level], len(counts))
            statistics[name] = bag.family.statistic(Bag(found[place], words), members)
        return self._with(features, statistics)

    def _with(self, features: dict[Any, Feature], statistics: dict[Any, Statistic]) -> Summary:
        schema = replace(self.schema, features=features)
        return replace(self, schema=schema, statistics=replace(self.statistics, features=statistics))


@dataclass(frozen=True)
class EmptySummary:
    """The summary of a part without rows to learn from."""

    rows: int
    blank: int


def _settled(feature: Feature, names: Names, seen: set[Any], first: Names) -> Names:
    rest = [level for level in (*feature.family.named_levels, UNSEEN) if level in names]
    return tuple(dict.fromkeys([*first, *in_order(seen - set(first)), *rest]))


def pooled(parts: Iterable[Summary | EmptySummary]) -> Summary | EmptySummary:
    """Add all summaries in ``parts``."""
    stack: list[tuple[int, Summary]] = []
    empty = EmptySummary(0, 0)
    for part in parts:
        if isinstance(part, EmptySummary):
            empty = EmptySummary(empty.rows + part.rows, empty.blank + part.blank)
            continue
        size = 1
        while stack and stack[-1][0] <= size:
            count, before = stack.pop()
            part, size = before + part, size + count
        stack.append((size, part))
    if not stack:
        return empty
    total = stack.pop()[1]
    while stack:
        total = stack.pop()[1] + total
    return replace(total, rows=total.rows + empty.rows, blank=total.blank + empty.blank)


# One family per column when parts are added. A column with values in only one part gets the family of that part. A
# column of 0 and 1 can later become a column of numbers: the counts of 0 and 1 determine every sum over its values.

type Counted = tuple[Schema, Statistics]
"""A schema, and the statistics of rows read with this schema."""


def alike(one: Any, other: Any) -> tuple[Any, Any]:
    """Give each column the same family in two summaries or models. Raise an error if no family fits both."""
    a, b = ((each.schema, each.statistics) for each in (one, other))
    a, b = _filled(a, b), _filled(b, a)
    kinds = _kinds(*a)
    for column, kind in _kinds(*b).items():
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
