"""Rows to learn or to forget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from bayesnb.data.amounts import is_float
from bayesnb.data.choice import chosen
from bayesnb.data.columns import as_objects, without_unused
from bayesnb.data.growing import grown, of_part
from bayesnb.data.recognising import as_read, readable, readings_in
from bayesnb.data.schema import Schema
from bayesnb.data.specifications import EstimatorParameters
from bayesnb.data.tables import Table, in_memory
from bayesnb.data.targets import NO_LABEL, Target, read_target, soft_labels
from bayesnb.model import Data, NaiveBayes, Statistics, part_of
from bayesnb.priors import Array, Dirichlet
from bayesnb.statistics.statistic import Labels
from bayesnb.wording import RefusedError, meant, rows_at, some, warn

SURVEY = 3.0
"""If weights have fractions and a mean above this number, they look like survey weights.

Weights that decrease with the age of a row are at most 1, and so are soft labels. Weights that balance classes may have
a larger mean, but they are equal within a class. Inverse propensity weights have a mean of about 2.
"""


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """A table, its labels, and the nonnegative frequency weight of each row, (row,)."""

    table: Table
    target: Target
    weight: Array
    places: Array | None = None  # the number of each row in the table that was given, if not all of its rows are here

    @classmethod
    def of(
        cls, X: Any, y: Any, sample_weight: Any = None, unlabelled: Any = None, schema: Schema | None = None,
        soft: bool = False,
    ) -> TrainingRows:  # fmt: skip
        """Read a table, its labels and its weights, as :meth:`bayesnb.BayesianNB.fit` does."""
        y, sample_weight, X = given_beside(X, {"y": y, "sample_weight": sample_weight})
        if getattr(X, "ndim", 2) == 1 and getattr(y, "ndim", 1) == 2 and y.shape[1] > 1:
            raise ValueError("X is one column and y a table: write fit(X, y), the table first")
        # With soft labels, each row becomes one weighted row per class.
        shares = soft_labels(y := in_memory(y)) if soft else None
        if y is None:
            raise ValueError("BayesianNB requires y to be passed, but the target y is None")
        table = Table.of(X, min_rows=1) if schema is None else schema.table_of(X)
        target = read_target(y, unlabelled) if shares is None else Target(np.zeros(len(shares[1]), int), shares[0])
        target, weight = target.of_rows(table.n_rows), np.broadcast_to(1.0, table.n_rows)  # The memory of one number.
        if sample_weight is not None:
            from sklearn.utils.validation import _check_sample_weight

            weight = as_objects(sample_weight)
            try:
                weight = _check_sample_weight(weight, target.codes, dtype=np.float64)
            except ValueError:
                for row, cell in enumerate(np.ravel(np.array(weight, object))):
                    if isinstance(cell, str) and not is_float(cell):
                        said = "sample_weight is {value!r} in row {row}: give weights of 0 or more"
                        raise RefusedError(said, value=str(cell), row=row) from None
                raise
            if len(wrong := np.flatnonzero(weight < 0)):
                said, row = "sample_weight is {value:g} in row {row}: give weights of 0 or more", int(wrong[0])
                raise RefusedError(said, value=weight[row], row=row)
            if not weight.any():
                raise ValueError("sample_weight is zero for every row, so there is nothing to learn from")
            survey = (total := float(weight.sum())) > SURVEY * len(weight) and (weight != np.floor(weight)).any()
            if survey and len(np.unique(weight)) > len(target.classes):
                warn(
                    f"sample_weight has fractions and counts {len(weight):,} rows as {total:,.0f}, so intervals are "
                    "short: for survey weights, write sample_weight=nb.model.reliability_weights(weights)"
                )
        if shares is None:
            return cls(table, target, weight)
        classes, weights = shares[0], shares[1] * weight[:, None]
        row, c = np.nonzero(weights)
        if not len(row):
            raise ValueError("y is 0 everywhere: no row has a weight in any class, so there is nothing to learn from")
        target = Target.of(*without_unused(c, classes), unlabelled, tuple(classes.tolist()))
        return cls(table.rows(row), target, weights[row, c], row)

    def labelled(self) -> TrainingRows:
        """Return this object, or raise ``ValueError`` if a label is missing."""
        if not len(self.target.classes):
            raise ValueError(NO_LABEL)
        self.target.require_labels("only fit, and NUTS with the labels summed out, can use unlabelled rows")
        return self

    def weighing_unlabelled(self, weight: float) -> TrainingRows:
        if self.target.complete:
            return self
        return replace(self, weight=np.where(self.target.labelled, self.weight, self.weight * weight))

    def counted(self) -> TrainingRows:
        return self if self.weight.min() > 0 else self.kept(self.weight > 0)

    def kept(self, keep: Array) -> TrainingRows:
        places = np.flatnonzero(keep) if self.places is None else self.places[keep]
        return TrainingRows(self.table.rows(keep), self.target.rows(keep), self.weight[keep], places)

    def schema(self, settings: EstimatorParameters, before: Schema | None = None, fixed: bool = False) -> Schema:
        """Infer the schema of the rows, or add their new levels to an earlier schema, ``before``."""
        with rows_at(self.places):
            if before is not None:
                known = grown(before, self.table, settings.features, self.weight)
                # ``fixed``: every column keeps its family in the earlier schema.
                return known if fixed else of_part(known, self.table)
            table, features, reasons = self.table, settings.features, {}
            if readings := readings_in(table, features):
                table = table.through(readings)
            if features is not None:
                asked = as_read(readable(table, features), readings)
                features, reasons = chosen(table, self.target, self.weight, asked, settings)
            schema = Schema.infer(table, features, settings.unseen, self.weight, settings.columns, readings)
        if schema.named != self.table.named:
            schema = replace(schema, named=self.table.named)
        return schema.with_reasons(reasons) if reasons else schema

    def read(
        self, settings: EstimatorParameters, before: Schema | None = None, fixed: bool = False
    ) -> tuple[Schema, Data]:
        """Return the schema (see :meth:`schema`) with the levels and words of these rows, and the encoded columns."""
        known = self.schema(settings, before, fixed)
        with rows_at(self.places):
            return known.read(self.table, learn=True)

    def statistics(
        self, settings: EstimatorParameters, before: Schema | None = None, fixed: bool = False
    ) -> tuple[Schema, Statistics]:
        """Return the schema and the sufficient statistics of the rows, all of which must have a label."""
        labels = Labels(self.target.codes, self.weight, len(self.target.classes))
        learned, data = self.read(settings, before, fixed)
        model = learned.model(Dirichlet())
        return learned, model.statistics(data, labels, self.target.classes.tolist())

    def split(self, model: NaiveBayes, data: Data, classes: Array) -> tuple[Statistics, Data, Array]:
        """Return the statistics of the labelled rows, and the encoded columns and weights of the unlabelled rows."""
        known, free = np.flatnonzero(self.target.labelled), np.flatnonzero(~self.target.labelled)
        members = Labels(self.target.among(classes)[known], self.weight[known], len(classes))
        statistics = model.statistics(part_of(data, known), members, classes.tolist())
        return statistics, part_of(data, free), self.weight[free]


def given_beside(X: Any, wanted: Mapping[str, Any]) -> tuple[Any, ...]:
    """Replace names of columns, given as labels or weights, by these columns; return them and the rest of ``X``."""
    # A warning is issued if labels or weights have the same index as ``X`` in another order, because the index is
    # ignored.
    values = {parameter: _by_position(X, parameter, value) for parameter, value in wanted.items()}
    names = [name for name in values.values() if isinstance(name, str)]
    if not names:
        return (*values.values(), X)
    import narwhals.stable.v2 as nw

    X = pd.DataFrame(X) if isinstance(X, Mapping) else in_memory(X)
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    for parameter, name in values.items():
        if isinstance(name, str) and (not isinstance(frame, nw.DataFrame) or name not in frame.columns):
            among = frame.columns if isinstance(frame, nw.DataFrame) else ()
            raise ValueError(
                f"{parameter}={name!r} is the name of no column of X" + (f", which has {some(among)}" if among else "")
                + meant(name, among)
            )  # fmt: skip
    found = (frame[value].to_native() if isinstance(value, str) else value for value in values.values())
    return (*found, frame.drop(names).to_native())


def _by_position(X: Any, name: str, values: Any) -> Any:
    if not (isinstance(X, pd.DataFrame) and isinstance(values, pd.Series | pd.DataFrame)) or len(values) != len(X):
        return values
    # An index of several levels shares no value with an index of one level, and pandas does not look for one.
    if values.index.equals(X.index) or X.index.nlevels != values.index.nlevels:
        return values
    if not (X.index.is_unique and values.index.is_unique and values.index.isin(X.index).all()):
        return values
    warn(
        f"{name} has the index of X in another order, and rows are taken by their position: write "
        f"{name}.loc[X.index] if they belong together by their index, or reset the index"
    )
    return values.set_axis(X.index)
