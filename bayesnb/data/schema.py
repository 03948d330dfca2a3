"""A schema holds the family that reads each column, and the levels of each column."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any, Literal

import numpy as np
import pandas as pd

from bayesnb.data import inferring, readers, recognising
from bayesnb.data.columns import Names
from bayesnb.data.encoders import Feature, UnseenPolicy
from bayesnb.data.readings import Bounded, Date, Number, OfNumbers, Reading
from bayesnb.data.specifications import BY_TYPE, ByType
from bayesnb.data.tables import Table
from bayesnb.families.columns import dense_cells, united
from bayesnb.families.family import Family
from bayesnb.model import Data, NaiveBayes, Statistics
from bayesnb.priors import Array
from bayesnb.priors.class_prior import LabelPrior, WithUnknown
from bayesnb.wording import UNFITTED, Cure, Message, RefusedError, meant, require_choice, some, warn

CLASS, ALL, EXPONENTS = "(class)", "(all)", "(exponents)"
PRIOR, OFFSET, AVERAGING, TOTAL, EDGES = "(prior)", "(offset)", "(averaging)", "(total)", "(other edges)"
RESERVED = frozenset((CLASS, ALL, EXPONENTS, PRIOR, OFFSET, AVERAGING, TOTAL, EDGES))
"""Names of entries of answers, which no column or feature may have."""

type ColumnsPolicy = Literal["fixed", "grow"]

LET_JOIN = Message("let columns join with {cure}", cure=Cure("columns", "grow"))
COUNT_AS_MISSING = Message("count absent columns as missing with {cure}", cure=Cure("absent", "missing"))
AS_LEARNED = Message("give the rows as they were learned")


@dataclass(frozen=True, eq=False)
class Schema:
    """How to read a table: the columns, and the feature that reads each column."""

    # A schema is immutable; adding levels creates a new schema.

    # Columns of the first table; derived columns, such as "month of date", replace the column "date".
    names: Names
    named: bool  # Whether columns of later tables are found by name; otherwise, they are found by position.
    features: Mapping[Any, Feature]
    unseen: UnseenPolicy
    columns: ColumnsPolicy = "fixed"
    families: ByType = BY_TYPE
    readings: Mapping[Any, Reading] = field(default_factory=dict)

    def __post_init__(self) -> None:
        require_choice("columns", self.columns, ("fixed", "grow"))
        if self.columns == "grow" and not self.named:
            raise ValueError(
                'columns="grow" finds columns by their names, and this table has none: give it as a data frame'
            )
        for name in sorted(RESERVED.intersection(chain(self.names, self.features))):
            raise RefusedError(
                "column {column!r} is named like an entry of answers: rename it, such as to {write!r}, or {cure}",
                column=name, write=name.strip("()"), cure=Cure("drop", column=name),
            )  # fmt: skip

    @classmethod
    def infer(
        cls, table: Table, features: Any = None, unseen: UnseenPolicy = "missing", weight: Array | None = None,
        columns: ColumnsPolicy = "fixed", readings: Mapping[Any, Reading] | None = None,
    ) -> Schema:  # fmt: skip
        """Choose the family of each column: the specified family, or the default of the column's type."""
        # If ``readings`` are given, ``table`` already holds the feature columns that they produce.
        require_choice("unseen", unseen, ("missing", "new", "error"))
        named = table.named
        if readings is None:
            readings = recognising.readings_in(table, features)
            table, features = table.through(readings), recognising.as_read(features, readings)
        found = inferring.inferred(table, features, unseen, weight, readings)
        families = features if isinstance(features, ByType) else BY_TYPE
        return cls(table.names, named, found, unseen, columns, families, readings)

    def typed(self, table: Table) -> Table:
        """A copy of the table whose columns have the types in this schema, even if only some rows are selected."""
        inferred = [feature for feature in self.features.values() if feature.origin.inferred]
        known = {name: each.origin.kind for each in inferred for name in each.reads}
        return replace(table, readings=self.readings, known=known)

    @property
    def raw(self) -> Names:
        if not self.readings:
            return self.names
        owner = self.owner
        return tuple(dict.fromkeys(owner.get(name, name) for name in self.names))

    @property
    def owner(self) -> dict[Any, Any]:
        return {name: column for column, reading in self.readings.items() for name in reading.names(column)}

    def missing(self, data: Data, table: Table) -> dict[Any, Array]:
        """A mask of missing cells, (row, column), for each feature except bags of words."""
        # An unseen level, or a cell such as "<0.5", is not missing, although it has no code or no number.
        features = {name: each for name, each in self.features.items() if each.family.support.kind != "bag"}
        found = {name: np.isnan(dense_cells(data[name])) for name in features}
        for name, each in features.items():
            for j, column in enumerate(each.columns):
                if column in table.place and found[name][:, j].any():
                    found[name][:, j] &= table.column(column).missing()
        place = {column: (name, j) for name, each in features.items() for j, column in enumerate(each.columns)}
        for column, reading in self.readings.items():
            held = [place[name] for name in reading.names(column) if name in place]
            for name, j in held[1:]:
                found[name][:, j] &= found[held[0][0]][:, held[0][1]]
        return found

    @property
    def decimals(self) -> dict[str, Any]:
        return {str(name): own.decimal for name, own in self.readings.items() if isinstance(own, OfNumbers)}

    def format(self, format: readers.Format) -> readers.Format:
        """Change the settings for reading a file, so that columns learned as text are read as text."""
        values = chain.from_iterable(feature.values.items() for feature in self.features.values())
        text = [name for name, levels in values if levels and all(isinstance(level, str) for level in levels)]
        text += [feature.source[0] for feature in self.features.values() if feature.text is not None]
        return replace(format, text=(*map(str, [*text, *self.readings]),), decimals=self.decimals)

    def source(self, X: Any) -> Any:
        path = isinstance(X, str | os.PathLike) and not isinstance(X, readers.Source)
        return readers.Source(X, self.format(readers.Format())) if path else X

    @property
    def dates(self) -> dict[Any, Date]:
        """The ``Date`` reading of each feature column of elapsed time."""
        held = {reading.names(column)[0]: reading for column, reading in self.readings.items()}
        return {name: own for name, own in held.items() if isinstance(own, Date) and "elapsed" in own.parts}

    @property
    def parts_of_dates(self) -> frozenset[Any]:
        """The feature columns of dates, such as "month of date", without times of day and durations."""
        dates = ((name, own) for name, own in self.readings.items() if isinstance(own, Date) and own.format != "time")
        return frozenset(each for name, own in dates for each in own.names(name))

    def shown(self, name: Any, cells: Any) -> Any:
        """Format the cells of a feature column for display, such as numbers of days as dates."""
        column = self.owner.get(name)
        return cells if column is None else self.readings[column].shown(column, name, cells)

    def dated(self, name: Any, parameters: pd.DataFrame) -> pd.DataFrame:
        """For display, convert the means and medians of a date feature to dates or times."""
        reading = self.readings.get(self.owner.get(name))
        if not isinstance(reading, Date):
            return parameters
        fine = bool((parameters.get("sd", np.ones(1)) < 1).any())
        at = parameters.columns.intersection(["mean", "median"])
        return parameters.assign(**{what: self.shown(name, reading.rounded(parameters[what], fine)) for what in at})

    def with_reasons(self, reasons: Mapping[Any, Mapping[str, Any]]) -> Schema:
        """A copy of the schema that stores why each family was chosen, and the scores of candidate families."""
        put = {name: replace(self.features[name], **own) for name, own in reasons.items() if name in self.features}
        return replace(self, features={**self.features, **put})

    def require_plain(self, done: str) -> None:
        if self.readings:
            read = [f"column {column!r} is read as {reading.said}" for column, reading in self.readings.items()]
            raise ValueError(
                f"{' and '.join(read)}, which cannot be {done}: use the classifier itself, or fit a table with plain "
                f"numbers or levels in place of {list(self.readings)}"
            )

    def table_of(self, X: Any) -> Table:
        """Convert a table to the columns that this schema reads, and warn if only one of the two has column names."""
        table = Table.of(X)
        if table.named != self.named:
            has, was = ("has", "without") if table.named else ("does not have valid", "with")
            warn(f"X {has} feature names, but BayesianNB was fitted {was} feature names")
        if not (table.named and self.named) and len(table.names) != len(self.raw):
            raise ValueError(
                f"X has {len(table.names)} features, but BayesianNB is expecting {len(self.raw)} features as input"
            )
        return self.through(table)

    def under(self, columns: ColumnsPolicy) -> Schema:
        """A copy of the schema that allows new columns ("grow") or not ("fixed")."""
        return replace(self, columns=columns)

    def fitted_columns(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Drop columns that were not fitted."""
        fitted = {*self.raw}
        return frame[[name for name in frame.columns if name in fitted]]

    def through(self, table: Table) -> Table:
        """Replace columns such as dates by their feature columns, unless already replaced."""
        # Without names in the table or the schema, columns are first named by position.
        if not (self.named and table.named) and table.names != self.raw and len(table.names) == len(self.raw):
            table = table.renamed(self.raw)
        texts = [name for name in self._number_levels if name in table.place and table.column(name).numbers_in_text]
        readings = {**self.readings, **dict.fromkeys(texts, Number(".", ""))} if texts else self.readings
        return table.through(readings) if readings else table

    @cached_property
    def _number_levels(self) -> list[Any]:
        """The columns whose levels are numbers."""
        each = (zip(f.columns, f.kinds, strict=False) for f in self.features.values() if f.cuts is None)
        return [column for columns in each for column, kind in columns if kind in ("integer", "real")]

    @cached_property
    def watched(self) -> list[tuple[Feature, dict[Any, frozenset[Any]]]]:
        """For each feature that treats unseen levels or impossible numbers as missing, the known levels by column."""
        found = []
        for feature in self.features.values() if self.unseen != "error" else ():
            levels = feature.values if self.unseen == "missing" else {}
            if feature.guessed or levels:
                found.append((feature, {name: frozenset(known) for name, known in levels.items()}))
        return found

    def model(self, label: LabelPrior) -> NaiveBayes:
        """The generative model of these features, with the prior ``label`` of the class."""
        families = {name: feature.family for name, feature in self.features.items()}
        columns, unknown = {name: feature.columns for name, feature in self.features.items()}, None
        # The strengths of default priors are then estimated.
        if isinstance(label, WithUnknown):
            families, unknown = {name: family.shrunk() for name, family in families.items()}, label.unknown
        return NaiveBayes(families, label, columns, unknown)

    def read(self, table: Table, learn: bool = False, absent: str | None = None) -> tuple[Schema, Data]:
        """Encode a table and check its cells; return the schema (with new levels if ``learn``) and {feature name:
        encoded columns}.
        """
        # If ``learn`` is false, ``table`` is a result of :meth:`through`. Absent columns are filled with missing values
        # ("missing") or raise an error ("error").
        table = self.through(table) if learn else table
        if table.names != self.names:
            if learn and self.all_words and table.named:
                return self.of_words(united(self.names, table.names)), self.of_words(table.names).read(table)[1]
            cure = LET_JOIN if learn else AS_LEARNED if absent is None else COUNT_AS_MISSING
            table = self._by_name(table, absent or ("missing" if self.columns == "grow" else "error"), cure)
        features, data = dict(self.features), {}
        for name, feature in self.features.items():
            features[name], data[name] = feature.encode(table, self.unseen if not learn else None)
        return (replace(self, features=features) if learn else self), data

    @property
    def all_words(self) -> bool:
        """Whether all columns form one bag of words."""
        (first, *others) = self.features.values()
        of_words = first.family.support.kind == "bag" and first.text is None
        return self.named and not others and of_words and first.columns == self.names

    def of_words(self, words: Names) -> Schema:
        features = {name: replace(feature, columns=words) for name, feature in self.features.items()}
        return replace(self, names=words, features=features)

    def _by_name(self, table: Table, absent: str, cure: Message) -> Table:
        if not (self.named and table.named):
            if len(table.names) != len(self.names):
                raise ValueError(f"Expected {len(self.names)} columns; got {len(table.names)}")
            return table.renamed(self.names)
        fitted = set(self.names)
        extra = [name for name in table.names if name not in fitted]
        used = [c for feature in self.features.values() for c in (*feature.reads, *feature.exposure)]
        missing = [name for name in used if name not in table.place]
        if missing and absent != "missing":
            has, lacking = (
                list(dict.fromkeys(self.owner.get(name, name) for name in names)) for names in (table.names, missing)
            )
            said = "column {column!r} was fitted and is not in this table, which has {has}; add it, or {cure}{hint}"
            if len(lacking) > 1:
                said = "columns {all} were fitted and are not in this table, which has {has}; add them, or {cure}{hint}"
            raise RefusedError(
                said, column=lacking[0], all=some(lacking), value=has, has=some(has) if has else "no fitted column",
                cure=cure, hint=meant(missing[0], extra),
            )  # fmt: skip
        if extra:
            warn(UNFITTED + some(extra))
        return table

    def require_words(self) -> None:
        for feature in self.features.values():
            if feature.text is not None:
                feature.text.require_words(feature.source[0], feature.columns)

    @property
    def flags(self) -> dict[Any, tuple[Any, int]]:
        """Map a column to the feature that flags its missing cells, and to the column's position in this feature."""
        return {column: (name, k) for name, f in self.features.items() for k, column in enumerate(f.indicates)}

    def blanked(self, encoded: Mapping[Any, Array]) -> dict[Any, Array]:
        found, flags = dict(encoded), self.flags
        for name, feature in self.features.items() if flags else ():
            kind, empty = (float, np.nan) if feature.levels is None else (np.intp, -1)
            if places := [k for k, column in enumerate(feature.named) if column in flags]:
                found[name] = np.array(found[name], kind)
            for k in places:
                flag, place = flags[feature.named[k]]
                found[name][encoded[flag][:, place] == 1, k] = empty
        # A cell with a bound or another text has no number.
        for kind, number in (own.names(column) for column, own in self.readings.items() if isinstance(own, Bounded)):
            if kind in self.features and number in self.features and found[number].dtype.kind == "f":
                known = [level == "number" for level in self.features[kind].levels[0]]
                found[number] = np.where(np.array(known)[encoded[kind]], found[number], np.nan)
        return found

    def decode(self, encoded: Mapping[Any, Array]) -> pd.DataFrame:
        columns = {}
        for name, feature in self.features.items():
            columns |= feature.decode(encoded[name])
        return pd.DataFrame({name: columns[name] for name in self.names if name in columns})

    def describe(
        self, statistics: Statistics | None = None, families: Mapping[Any, Family] | None = None
    ) -> pd.DataFrame:
        """A table with one row per feature, and its family in ``families`` or, by default, in the schema."""
        rows = []
        # The numbers of a column with a unit are its last feature column.
        marked = [(own.names(column)[-1], getattr(own, "unit", None)) for column, own in self.readings.items()]
        units = {name: f", in {unit}" for name, unit in marked if unit}
        both = [own.names(column) for column, own in self.readings.items() if isinstance(own, Bounded)]
        kinds, bounds = {number: kind for kind, number in both}, dict[Any, str]()
        for name, feature in self.features.items():
            missing, learned, family = np.nan, "", (families or {}).get(name, feature.family)
            if statistics is not None:
                learned = family.learned(statistics.features[name])
                seen = statistics.features[name].seen().sum(0)
                missing = float(1 - seen.mean() / max(statistics.rows.sum(), np.finfo(float).tiny))
                if (kind := kinds.get(name)) in statistics.features:  # A cell with a bound is not missing.
                    held = float(
                        statistics.features[kind].seen().sum() / max(statistics.rows.sum(), np.finfo(float).tiny)
                    )
                    bounds[name], missing = f", {100 * (held - 1 + missing):.0f} % bounds or texts", 1 - held
                missing = 0.0 if abs(missing) < 1e-12 else missing
            rows.append(
                {
                    "feature": name,
                    "family": feature.family.title,
                    "prior": f"{family.prior_text}{learned and f', learned: {learned}'}",
                    "columns": len(feature.named),
                    "levels": feature.shown_levels(),
                    "missing": missing,
                    "chosen": f"{feature.origin}{units.get(name, '')}{bounds.get(name, '')}",
                }
            )
        return pd.DataFrame(rows).set_index("feature")
