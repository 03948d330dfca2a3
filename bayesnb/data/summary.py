"""Additive summaries of parts of a table.

The sum depends neither on the partition of the table nor on the order of its parts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from bayesnb.data.choice import Reasons
from bayesnb.data.columns import Column, Names
from bayesnb.data.encoders import Feature, Origin, in_place
from bayesnb.data.inferring import as_read, present, readings_in
from bayesnb.data.rows import TrainingRows
from bayesnb.data.schema import Schema
from bayesnb.data.settling import alike
from bayesnb.data.specifications import (
    BestFamily,
    Binned,
    ByType,
    EstimatorParameters,
    Missing,
    Unlabelled,
    entries,
    name_of,
)
from bayesnb.data.tables import Table
from bayesnb.data.targets import Target, array_of, classes_of, labels_of
from bayesnb.data.text import Text, are_sentences
from bayesnb.families.family import Family
from bayesnb.families.multinomial import Bag
from bayesnb.model import Statistics, in_order, united_labels
from bayesnb.priors import UNSEEN, Array
from bayesnb.statistics.membership import Labels, every_row
from bayesnb.statistics.statistic import Statistic
from bayesnb.wording import RefusedError, Spelled


@dataclass(frozen=True, eq=False)
class Summary:
    """The summary of some rows; ``a + b`` is the summary of the rows of a and b.

    ``rows`` is the number of rows read, and ``blank`` the number of rows without a class. ``declared`` maps each
    categorical column to its declared levels, or to ``None`` if no levels are declared or the parts differ. ``named``
    holds the classes declared by the label types.
    """

    schema: Schema
    statistics: Statistics
    classes: Array
    rows: int
    blank: int
    declared: Mapping[Any, Names | None]
    named: tuple[Any, ...] = ()

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
        return Summary(
            a.schema.merged(b.schema),
            statistics.reindexed(labels_of(classes)),
            classes,
            a.rows + b.rows,
            a.blank + b.blank,
            declared,
            united_labels(a.named, b.named),
        )

    def settled(self, before: Schema | None = None) -> Summary:
        """Sort the levels as if the table had been read in one part. The levels of ``before`` come first."""
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
            levels = tuple(
                _settled(
                    feature,
                    names,
                    {level for level, n in zip(names, seen[k], strict=False) if n},
                    self.declared[feature.columns[k]] or () if known is None else known[k],
                )
                for k, names in enumerate(feature.levels)
            )
            declared = tuple(self.declared[column] or () for column in feature.columns)
            features[name] = replace(feature, levels=levels, declared=declared if known is None else feature.declared)
            statistics[name] = statistics[name].with_levels(levels)
        return self._with(features, statistics)

    def with_readings(self, settings: EstimatorParameters) -> Summary:
        """Convert text columns by their readings, then apply the families of the resulting columns."""
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
        """Turn columns of sentences into bags of words."""
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
    """The summary of a part without rows to learn."""

    rows: int
    blank: int


def _settled(feature: Feature, names: Names, seen: set[Any], first: Names) -> Names:
    rest = [level for level in (*feature.family.named_levels, UNSEEN) if level in names]
    return tuple(dict.fromkeys([*first, *in_order(seen - set(first)), *rest]))


def _with_missing(schema: Schema, feature: Feature) -> Family | Missing:
    for other in schema.features.values():
        if other.indicates == feature.named:
            return Missing(feature.text or feature.family, other.family.prior)
    return feature.text or feature.family


@dataclass(frozen=True, eq=False)
class PartSummarizer:
    """Summarise parts of a table. A summarizer holds no data, so it can be sent to other machines.

    ``target`` and ``weight`` are column names. Without a target, all rows are in one class. ``schema`` is the schema,
    if known. With ``drop``, rows without a class are left out; otherwise they raise an error. ``reasons`` states why
    each family was chosen from the first part.
    """

    settings: EstimatorParameters
    target: Any
    weight: Any = None
    schema: Schema | None = None
    drop: bool = False
    reasons: Reasons = field(default_factory=dict)

    @classmethod
    def of(
        cls, model: Any, target: Any, weight: Any = None, schema: Schema | None = None, drop: bool | None = None
    ) -> PartSummarizer:
        unlabelled = Unlabelled.of(model.unlabelled)
        drop = unlabelled.weight == 0 if drop is None else drop
        return cls(
            EstimatorParameters.of(model, unlabelled=unlabelled, random_state=None), target, weight, schema, drop
        )

    @cached_property
    def specs(self) -> list[Any]:
        found = [entry.spec for entry in entries(self.settings.features)] if self.schema is None else []
        return found + [family for spec in found if isinstance(spec, ByType) for family in spec.families().values()]

    def __post_init__(self) -> None:
        for spec in self.specs:
            if isinstance(spec, Binned) and spec.edges is None:
                raise RefusedError(
                    "the edges of Binned columns depend on all rows, and a table that is read in parts is read once: "
                    "give them, as {cure}",
                    cure=Spelled("Binned(edges=[...])", "binned:EDGE,EDGE…"),
                )
            if isinstance(spec, Text) and spec.selects:
                raise ValueError(
                    "the words of a Text with min_df or max_features depend on all rows, and a table that is read in "
                    "parts is read once: give them, as Text(vocabulary=[...])"
                )

    def placed(self, first: Any) -> PartSummarizer:
        """A summarizer for all parts of the table. The choices of ``BestFamily`` and the cells of trees are taken from
        the first part.
        """
        if not any(map(_takes_from_rows, self.specs)):
            return self
        rows = self.rows(first)[2]
        if rows is None:
            raise ValueError("the first part of the table has no row with a class, from which cells could be taken")
        found = rows.schema(self._specified(rows.table))
        features, readings = found.features.items(), found.readings
        reasons = {name: (f.origin, f.tried) for name, f in features if f.origin.kind == "rows"}
        named = {n: f for n, f in features if n in reasons or (f.origin.kind == "specified" and f.cuts is None)}
        placed = {name: (_with_missing(found, f), list(f.named)) for name, f in named.items()}
        others = as_read(self.settings.features, readings) if isinstance(self.settings.features, Mapping) else {}
        rest = {name: spec for name, spec in others.items() if name not in placed and name not in readings}
        rest |= {f"reading of {name}": (reading, [name]) for name, reading in readings.items()}
        return replace(self, settings=replace(self.settings, features=(rest | placed) or None), reasons=reasons)

    def require_placed(self) -> PartSummarizer:
        """Return self; raise ``ValueError`` if the first rows would determine families, levels or bin edges."""
        for spec in filter(_takes_from_rows, self.specs):
            taken, cure = (
                "the first rows choose the best families",
                (
                    "choose them on a sample of rows in memory, as "
                    'features=BayesianNB("best").fit(X, y).classifier_.choice.features'
                ),
            )
            if not isinstance(spec, BestFamily):
                what, parameter = ("levels", "order") if spec.support.kind == "levels" else ("cells", "edges")
                taken = f"{what} of {type(spec).__name__} columns are taken from the first rows"
                cure = f"give {parameter}=[...]"
            raise ValueError(f"{taken}, and the parts of this table have no order: {cure}")
        return self

    def __call__(self, frame: Any) -> Summary | EmptySummary:
        read, blank, rows = self.rows(frame)
        if rows is None:
            return EmptySummary(read, blank)
        rows = replace(rows, table=replace(rows.table, part=True))
        specified = self._specified(rows.table) if self.schema is None else self.settings
        schema, statistics = rows.statistics(specified, self.schema)
        table = schema.through(rows.table)
        schema = schema.with_reasons(self.reasons)
        declared = {
            column: table.column(column).declared if column in table.place else None
            for feature in schema.features.values()
            if feature.levels is not None
            for column in feature.columns
        }
        return Summary(schema, statistics, rows.target.classes, read, blank, declared, rows.target.declared)

    def _specified(self, table: Table) -> EstimatorParameters:
        grows = self.settings.columns == "grow"
        return replace(self.settings, features=present(self.settings.features, table)) if grows else self.settings

    def complete(self, whole: Summary) -> Summary:
        """Finish the summary; ``ValueError`` if a specified column does not exist."""
        said = entries(self.settings.features)
        whole = whole.with_readings(self.settings) if self.schema is None else whole
        for entry in said if self.schema is None else ():
            for column in entry.columns or ():
                if column not in {*whole.schema.names, *whole.schema.raw}:
                    raise ValueError(
                        f"features names column {column!r}, which no part of the table has; the columns are "
                        f"{list(whole.schema.names)[:20]}"
                    )
        if isinstance(self.settings.features, ByType):
            return whole
        return whole.with_sentences({} if self.schema is None else self.schema.features)

    def rows(self, frame: Any) -> tuple[int, int, TrainingRows | None]:
        """Return the number of rows, the number of rows without a class, and the rows to learn from."""
        table = Table.of(frame)
        if not table.named:
            raise ValueError("Expected frames with named columns, so that the class can be found by its name")
        read, weight = table.n_rows, self._weights(table)
        target = self._target(table)
        keep, unlabelled = target.labelled & (weight > 0), ~target.labelled & (weight > 0)
        if not self.drop and unlabelled.any():
            raise RefusedError(
                "column {column!r} holds no class in row {row}: rows without one are learned from only in a table in "
                "memory; leave them out with unlabelled=Unlabelled(weight=0)",
                column=self.target, row=int(np.flatnonzero(unlabelled)[0]),
            )  # fmt: skip
        table = table.without([name for name in (self.target, self.weight) if name is not None])
        return read, int(unlabelled.sum()), TrainingRows(table, target, weight).kept(keep) if keep.any() else None

    def _weights(self, table: Table) -> Array:
        if self.weight is None:
            return every_row(table.n_rows)
        weight = _column(table, self.weight, "weight").reals()
        wrong = ~(np.isfinite(weight) & (weight >= 0))
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            said = "column {column!r} holds the weight {value:g} in row {row}: a weight is a number and not negative"
            raise RefusedError(said, column=self.weight, value=weight[row], row=row)
        return weight

    def _target(self, table: Table) -> Target:
        if self.target is None:
            return Target(np.zeros(table.n_rows, np.intp), np.array([""], object))
        column = _column(table, self.target, "class")
        codes, distinct = column.coded
        return Target.of(codes, array_of(distinct), self.settings.unlabelled.marker, column.declared)


def _takes_from_rows(spec: Any) -> bool:
    return isinstance(spec, BestFamily) or getattr(spec, "needs_rows", False)


def _column(table: Table, name: Any, what: str) -> Column:
    if name not in table.place:
        raise ValueError(f"there is no column {name!r} to hold the {what}; the columns are {list(table.names)[:20]}")
    return table.column(name)


def pooled(parts: Iterable[Summary | EmptySummary]) -> Summary | EmptySummary:
    """Add summaries."""
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
