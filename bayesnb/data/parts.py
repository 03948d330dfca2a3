"""Summarise the parts of a table that is read in parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from bayesnb.data.amounts import Marks
from bayesnb.data.choice import Reasons
from bayesnb.data.columns import Column
from bayesnb.data.encoders import Feature
from bayesnb.data.inferring import present
from bayesnb.data.recognising import as_read, require_parts
from bayesnb.data.rows import TrainingRows
from bayesnb.data.schema import Schema
from bayesnb.data.specifications import (
    BestFamily,
    Binned,
    ByType,
    EstimatorParameters,
    Missing,
    Unlabelled,
    entries,
    values_of,
)
from bayesnb.data.summary import EmptySummary, Summary
from bayesnb.data.tables import Table
from bayesnb.data.targets import Target, array_of
from bayesnb.data.text import Text
from bayesnb.priors import Array
from bayesnb.wording import RefusedError, Spelled, meant, some


@dataclass(frozen=True, eq=False)
class PartSummarizer:
    """Summarise a part of a table."""

    # A summarizer holds no data, so it can be sent to other machines.
    settings: EstimatorParameters
    target: Any  # The column of the class; without it, all rows are in one class.
    weight: Any = None  # The column of the weights.
    schema: Schema | None = None  # The schema, if it is known.
    drop: bool = False  # Whether rows without a class are left out; otherwise they raise an error.
    reasons: Reasons = field(default_factory=dict)  # Why each family was chosen from the first part.
    marks: Callable[[], Marks] | None = None  # The decimal marks of a file's texts.

    @classmethod
    def of(
        cls, model: Any, target: Any, weight: Any = None, schema: Schema | None = None, drop: bool | None = None,
        marks: Callable[[], Marks] | None = None,
    ) -> PartSummarizer:  # fmt: skip
        unlabelled = Unlabelled.of(model.unlabelled)
        drop = unlabelled.weight == 0 if drop is None else drop
        settings = EstimatorParameters.of(model, unlabelled=unlabelled, random_state=None)
        return cls(settings, target, weight, schema, drop, marks=marks)

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
                    cure=Spelled("nb.Binned(edges=[...])", "binned:EDGE,EDGE…"),
                )
            if isinstance(spec, Text) and spec.selects:
                raise ValueError(
                    "the words of a Text with min_df or max_features depend on all rows, and a table that is read in "
                    "parts is read once: give them, as nb.Text(vocabulary=[...])"
                )

    def placed(self, first: Any) -> PartSummarizer:
        """A summarizer for all parts, with the families, levels and bin edges that the first part determines."""
        if not any(map(_takes_from_rows, self.specs)):
            return self
        rows = self.rows(replace(Table.of(first), marks=self.marks))
        if rows is None:
            raise ValueError("the first part of the table has no row with a class, from which cells could be taken")
        found = rows.schema(self._specified(rows.table))
        features, readings = found.features.items(), found.readings
        reasons = {name: {"origin": f.origin, "tried": f.tried} for name, f in features if f.origin.kind == "rows"}
        named = {n: f for n, f in features if n in reasons or (f.origin.kind == "specified" and f.cuts is None)}
        placed = {name: (_with_missing(found, f), list(f.named)) for name, f in named.items()}
        others = as_read(self.settings.features, readings) if isinstance(self.settings.features, Mapping) else {}
        unread = {name for name, spec in others.items() if name not in readings or isinstance(spec, Missing)}
        rest = {name: others[name] for name in others if name in unread and name not in placed}
        # A reading with an order of levels states a family, so it is placed with the feature of its column.
        rest |= {f"reading of {n}": (own, [n]) for n, own in readings.items() if values_of(own) is None}
        return replace(self, settings=replace(self.settings, features=(rest | placed) or None), reasons=reasons)

    def require_placed(self) -> PartSummarizer:
        """Return this object, or raise ``ValueError`` if families, levels or bin edges depend on the first rows."""
        for spec in filter(_takes_from_rows, self.specs):
            taken = "the first rows choose the best families"
            cure = "choose them on a sample of rows in memory, as features="
            cure += 'nb.BayesianNB("best").fit(X, y).classifier_.choice.features'
            if not isinstance(spec, BestFamily):
                what, parameter = ("levels", "order") if spec.support.kind == "levels" else ("cells", "edges")
                taken = f"{what} of {type(spec).__name__} columns are taken from the first rows"
                cure = f"give {parameter}=[...]"
            raise ValueError(f"{taken}, and the parts of this table have no order: {cure}")
        return self

    def __call__(self, frame: Any) -> Summary | EmptySummary:
        read, blank, rows = self._rows(frame)
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

    def complete(self, whole: Summary, first_rows: Callable[[Any], Mapping[Any, int]] | None = None) -> Summary:
        """Finish the summary of a whole table, or raise an error if a specified column does not exist."""
        said = entries(self.settings.features)
        # ``first_rows(column)`` returns the first row of each text, for errors.
        whole = whole.with_readings(self.settings, self.marks, first_rows) if self.schema is None else whole
        names = {*whole.schema.names, *whole.schema.raw}
        if self.schema is None:
            require_parts(self.settings.features, names, whole.schema.readings)
        for entry in said if self.schema is None else ():
            for column in entry.columns or ():
                if column not in names:
                    raise ValueError(
                        f"features names column {column!r}, which no part of the table has; the columns are "
                        f"{some(whole.schema.names)}{meant(column, whole.schema.names)}"
                    )
            made = [column for column in entry.columns or () if whole.schema.owner.get(column, column) != column]
            if entry.together and made and entry.key not in whole.schema.features:
                raise RefusedError(
                    "features[{key!r}] names {column!r}, which a table that is read in parts holds as text until its "
                    "last row: name each column in an entry of its own, or fit a table in memory",
                    key=entry.key, column=made[0],
                )  # fmt: skip
        if isinstance(self.settings.features, ByType):
            return whole
        return whole.with_sentences({} if self.schema is None else self.schema.features)

    def rows(self, frame: Any) -> TrainingRows | None:
        """The rows of ``frame`` to learn from; ``None`` if no row has a class and a positive weight."""
        return self._rows(frame)[2]

    def _rows(self, frame: Any) -> tuple[int, int, TrainingRows | None]:
        table = Table.of(frame)
        if not table.named:
            raise ValueError("Expected frames with named columns, so that the class can be found by its name")
        read, weight = table.n_rows, weights_of(table, self.weight)
        target = self._target(table)
        keep, unlabelled = target.labelled & (weight > 0), ~target.labelled & (weight > 0)
        if not self.drop and unlabelled.any():
            raise RefusedError(
                "column {column!r} holds no class in row {row}: rows without one are learned from only in a table in "
                "memory; leave them out with unlabelled=nb.Unlabelled(weight=0)",
                column=self.target, row=int(np.flatnonzero(unlabelled)[0]),
            )  # fmt: skip
        table = table.without([name for name in (self.target, self.weight) if name is not None])
        rows = TrainingRows(table, target, weight).kept(keep) if keep.any() else None
        return read, int(unlabelled.sum()), rows

    def _target(self, table: Table) -> Target:
        if self.target is None:
            return Target(np.zeros(table.n_rows, np.intp), np.array([""], object))
        column = _column(table, self.target, "class")
        codes, distinct = column.coded
        return Target.of(codes, array_of(distinct), self.settings.unlabelled.marker, column.declared, self.target)


def weights_of(table: Table, name: Any) -> Array:
    """The row weights in column ``name``, or 1 for each row if ``name`` is ``None``."""
    if name is None:
        return np.broadcast_to(1.0, table.n_rows)
    said = "column {column!r} holds the weight {value%s} in row {row}: a weight is a number and not negative"
    column = _column(table, name, "weight")
    try:
        weight = column.reals()
    except RefusedError as error:
        if error.row is None:
            raise
        raise RefusedError(said % "!r", column=name, value=error.value, row=error.row) from error
    wrong = ~(np.isfinite(weight) & (weight >= 0))
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise RefusedError(said % ":g", column=name, value=weight[row], row=row)
    return weight


def _with_missing(schema: Schema, feature: Feature) -> Any:
    own = schema.readings.get(feature.named[0])
    values = (feature.text or feature.family) if values_of(own) is None else own
    flags = (f.family.prior for f in schema.features.values() if f.indicates == feature.named)
    return next((Missing(values, prior) for prior in flags), values)


def _takes_from_rows(spec: Any) -> bool:
    return isinstance(spec, BestFamily) or getattr(spec, "needs_rows", False)


def _column(table: Table, name: Any, what: str) -> Column:
    if name not in table.place:
        raise ValueError(f"there is no column {name!r} to hold the {what}; the columns are {some(table.names)}")
    return table.column(name)
