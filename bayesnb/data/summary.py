"""Summaries of parts of a table can be added, in any order and for any division into parts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from bayesnb.data import growing
from bayesnb.data.alike import alike
from bayesnb.data.amounts import Marks, marks_among
from bayesnb.data.columns import Names
from bayesnb.data.encoders import Feature, Origin
from bayesnb.data.inferring import in_place
from bayesnb.data.readings import are_sentences
from bayesnb.data.recognising import readings_in
from bayesnb.data.rows import TrainingRows
from bayesnb.data.schema import Schema
from bayesnb.data.specifications import EstimatorParameters, entries
from bayesnb.data.tables import Table
from bayesnb.data.targets import Target, classes_of
from bayesnb.data.text import Text
from bayesnb.families.multinomial import Bag
from bayesnb.model import Statistics, in_order, united_labels
from bayesnb.priors import UNSEEN, Array
from bayesnb.statistics.statistic import Labels, Statistic
from bayesnb.wording import RefusedError, moved, refuse, rows_at


@dataclass(frozen=True, eq=False)
class Summary:
    """The summary of some rows; the sum of two summaries is the summary of the rows of both."""

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
        refuse(growing.read_differently(self.schema, other.schema))
        a, b = alike(self, other)
        statistics = a.statistics.widened(b.statistics) + b.statistics.widened(a.statistics)
        classes = classes_of(a.classes, b.classes)
        declared = {**b.declared, **a.declared}
        for name in set(a.declared) & set(b.declared):
            declared[name] = a.declared[name] if a.declared[name] == b.declared[name] else None
        of_rows = classes, a.rows + b.rows, a.blank + b.blank, declared, united_labels(a.named, b.named)
        return Summary(growing.merged(a.schema, b.schema), statistics.reindexed(classes.tolist()), *of_rows)

    def settled(self, before: Schema | None = None) -> Summary:
        """Sort the levels and words, beginning with the levels and words of the earlier schema ``before``, if given."""
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

    def with_readings(
        self, settings: EstimatorParameters, marks: Callable[[], Marks] | None,
        first_rows: Callable[[Any], Mapping[Any, int]] | None,
    ) -> Summary:  # fmt: skip
        """Convert text columns by their readings, such as ``Date``, and summarise the results."""
        # By default, ``marks`` returns the decimal marks that the levels need. ``first_rows(column)`` returns the first
        # row of each text, for errors.
        levels = (own for f in self.schema.features.values() for own in f.values.values())
        held = ([level for level in own if isinstance(level, str)] for own in levels)
        marks = marks or cache(lambda: marks_among(held))
        features, statistics, declared = dict(self.schema.features), dict(self.statistics.features), {}
        made: dict[Any, Schema] = {}
        rows = self.statistics.rows
        for name, feature in self.schema.features.items():
            if not feature.values or not feature.origin.inferred or feature.kinds not in (("text",), ("empty",)):
                continue
            (column,), counts = feature.columns, statistics[name].counts[:, 0]
            if self.declared[column] is not None:
                continue
            # The last level stands for missing cells, which `Missing` flags in any feature column.
            gaps = rows - counts.sum(axis=1)
            counts = np.column_stack([counts, np.where(gaps > 1e-9 * rows, gaps, 0.0)])
            c, level = np.nonzero(counts)
            texts = pd.DataFrame({column: np.array([*feature.levels[0], None], object)[level]})
            alone = TrainingRows(replace(Table.of(texts), marks=marks), Target(c, self.classes), counts[c, level])
            try:
                read = _read_alone(alone, column, settings)
            except RefusedError as error:  # Its row is the place of a text among these texts.
                if first_rows is not None and error.row is not None:
                    found = first_rows(column)
                    places = np.array([found.get(text, -1) for text in texts[column]])
                    order = np.argsort(places)
                    ordered = alone.table.rows(order), alone.target.rows(order), alone.weight[order]
                    with rows_at(places[order]):
                        _read_alone(TrainingRows(*ordered), column, settings)
                raise moved(error, None) from error
            if read is None:
                continue
            inner, made[column], found = read
            declared |= {each: inner.column(each).declared for each in inner.names}
            for each in [name, *(flag for flag, f in self.schema.features.items() if f.indicates == (column,))]:
                del features[each], statistics[each]
            features |= made[column].features
            statistics |= found.features
        if not made:
            return self
        names = tuple(chain.from_iterable(made[n].names if n in made else (n,) for n in self.schema.names))
        readings = {**self.schema.readings, **{n: r for schema in made.values() for n, r in schema.readings.items()}}
        features = in_place(features, names)
        whole = self._with(features, {name: statistics[name] for name in features})
        schema = replace(whole.schema, names=names, readings=readings)
        return replace(whole, schema=schema, declared={**self.declared, **declared})

    def with_sentences(self, known: Collection[Any]) -> Summary:
        """Turn columns of sentences, except those named in ``known``, into bags of words."""
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


def _read_alone(
    alone: TrainingRows, column: Any, settings: EstimatorParameters
) -> tuple[Table, Schema, Statistics] | None:
    """Read a table of one column of text; return ``None`` if it stays text."""
    given = settings.features if isinstance(settings.features, Mapping) else {}
    named = {column: given[column]} if column in given else {}
    readings = readings_in(alone.table, (named or None) if given else settings.features)
    if not (readings or named):
        return None
    inner = alone.table.through(readings)
    own: Any = {e.key: given[e.key] for e in entries(given) if inner.place.keys() >= {*e.columns}} | named
    own = own if given else settings.features
    return inner, *alone.statistics(replace(settings, features=own))


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
