"""A schema states which family reads which column, and the levels of each column.

A schema is frozen. New levels create a new schema, so a failed fit leaves the old schema unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd

from bayesnb.data.columns import Names
from bayesnb.data.encoders import (
    OF_NUMBERS,
    Feature,
    Origin,
    OriginKind,
    UnseenPolicy,
    encode,
    in_place,
    require_one_kind,
)
from bayesnb.data.inferring import as_read, grouped, inferred, present, readings_in
from bayesnb.data.readings import Date, Reading
from bayesnb.data.specifications import BY_TYPE, ByType
from bayesnb.data.tables import Table
from bayesnb.data.text import BY_CHARACTERS
from bayesnb.families.columns import united
from bayesnb.families.family import Family
from bayesnb.model import Data, NaiveBayes, Statistics, about
from bayesnb.priors import UNSEEN, Array
from bayesnb.priors.class_prior import LabelPrior, WithUnknown
from bayesnb.statistics.statistic import same
from bayesnb.wording import Cure, Message, RefusedError, meant, require_choice, some, warn

type ColumnsPolicy = Literal["fixed", "grow"]

LET_JOIN = Message("let columns join with {cure}", cure=Cure("columns", "grow"))
COUNT_AS_MISSING = Message("count it as missing with {cure}", cure=Cure("absent", "missing"))


@dataclass(frozen=True, eq=False)
class Schema:
    """How to read a table.

    ``names`` are the columns of the first table, after readings are applied. Columns of later tables are matched by
    name if ``named``, otherwise by position.
    """

    names: Names
    named: bool
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

    @classmethod
    def infer(
        cls, table: Table, features: Any = None, unseen: UnseenPolicy = "missing", weight: Array | None = None,
        columns: ColumnsPolicy = "fixed", readings: Mapping[Any, Reading] | None = None,
    ) -> Schema:  # fmt: skip
        """Choose the family of each column: the specified family, otherwise a family for the type of the column.

        The settings are as in :class:`bayesnb.BayesianNB`. ``weight``, (row,), are the row weights. If ``readings`` are
        given, they have already been applied to ``table`` and ``features``.
        """
        named = table.named
        if readings is None:
            readings = readings_in(table, features)
            table, features = table.through(readings), as_read(features, readings)
        found = inferred(table, features, unseen, weight, readings)
        families = features if isinstance(features, ByType) else BY_TYPE
        return cls(table.names, named, found, unseen, columns, families, readings)

    @property
    def raw(self) -> Names:
        if not self.readings:
            return self.names
        owner = self.owner
        return tuple(dict.fromkeys(owner.get(name, name) for name in self.names))

    @property
    def owner(self) -> dict[Any, Any]:
        return {name: column for column, reading in self.readings.items() for name in reading.names(column)}

    @property
    def dates(self) -> dict[Any, Date]:
        """The readings of feature columns of elapsed time."""
        held = {reading.names(column)[0]: reading for column, reading in self.readings.items()}
        return {name: own for name, own in held.items() if isinstance(own, Date) and "elapsed" in own.parts}

    def shown(self, name: Any, cells: Any) -> Any:
        """Format the cells of a column for display: numbers of days become dates."""
        column = self.owner.get(name)
        return cells if column is None else self.readings[column].shown(column, name, cells)

    def dated(self, name: Any, parameters: pd.DataFrame) -> pd.DataFrame:
        """For display, convert a date feature's means and medians to dates, or to times rounded to minutes."""
        reading = self.readings.get(self.owner.get(name))
        if not isinstance(reading, Date):
            return parameters
        fine = bool((parameters.get("sd", np.ones(1)) < 1).any())
        at = parameters.columns.intersection(["mean", "median"])
        return parameters.assign(**{what: self.shown(name, reading.rounded(parameters[what], fine)) for what in at})

    def with_reasons(self, reasons: Mapping[Any, tuple[Origin, Any]]) -> Schema:
        """Record why each of these families was chosen, and its candidates."""
        held = {name: reason for name, reason in reasons.items() if name in self.features}
        put = {name: replace(self.features[name], origin=origin, tried=tried) for name, (origin, tried) in held.items()}
        return replace(self, features={**self.features, **put})

    def require_plain(self, done: str) -> None:
        if self.readings:
            read = [f"column {column!r} is read as {reading.said}" for column, reading in self.readings.items()]
            raise ValueError(
                f"{' and '.join(read)}, which cannot be {done}: ask the classifier itself, or fit a table with plain "
                f"numbers or levels in place of {list(self.readings)}"
            )

    def through(self, table: Table) -> Table:
        """Replace the columns in ``readings`` by their feature columns, unless this was already done."""
        if not self.readings:
            return table
        if not (self.named and table.named) and table.names != self.raw and len(table.names) == len(self.raw):
            table = _renamed(table, self.raw) if table.named else replace(table, names=self.raw)
        return table.through(self.readings)

    def grown(self, table: Table, features: Any, weight: Array | None) -> Schema:
        """Add the columns of ``table`` that are not in the schema, if new columns are allowed."""
        if self.columns == "fixed" or not table.named:
            return self
        joined = {name: r for name, r in readings_in(table, features).items() if name not in {*self.raw, *self.names}}
        table = table.through({**joined, **self.readings})
        new = set(table.names) - set(self.names)
        if not new:
            return self
        if self.all_words and not isinstance(features, Mapping):
            return self  # A new column is a new word.
        specified = present(as_read(features, joined), table, self.names)
        found = inferred(table, specified, self.unseen, weight, joined)
        joining = {name: feature for name, feature in found.items() if new & set(feature.reads)}
        return self.merged(replace(self, names=table.names, features=joining, readings=joined))

    def of_part(self, table: Table) -> Schema:
        table = self.through(table)
        by_name = self.named and table.named
        own = dict(zip(self.names, self.names if by_name else table.names, strict=False))
        loose = {
            c: own[c] for f in self.features.values() if f.origin.kind in OF_NUMBERS for c in f.columns if c in own
        }
        loose = {column: name for column, name in loose.items() if name in table.place}
        found = table.kinds(loose.values()) if loose else {}
        kinds = {column: found[name] for column, name in loose.items() if found.get(name) in OF_NUMBERS}
        known = self.with_kinds(kinds)
        first = {
            n: found[n] for n, f in known.features.items() if f.origin.kind == "nothing" and n in found and by_name
        }
        rest = {n: kind for n, kind in first.items() if kind not in OF_NUMBERS}
        if not rest:
            return known
        new = inferred(table.only(rest), self.families, self.unseen, None)
        return replace(known, features={**known.features, **new})

    def with_kinds(self, kinds: Mapping[Any, OriginKind]) -> Schema:
        loose = {name: f for name, f in self.features.items() if f.origin.kind in OF_NUMBERS}
        was = {column: f for f in loose.values() for column in f.columns}
        wanted = {column: kinds.get(column, was[column].origin.kind) for column in self.names if column in was}
        if not any(_changes(was[column].origin, kind) for column, kind in wanted.items()):
            return self
        found = {name: feature for name, feature in self.features.items() if name not in loose}
        for name, (family, columns, origin) in grouped(wanted, self.families, self.named).items():
            before = was[columns[0]]
            kept = before.columns == columns and not _changes(before.origin, origin.kind)
            found[name] = before if kept else Feature(columns, family, origin)
        return replace(self, features=in_place(found, self.names))

    @cached_property
    def watched(self) -> list[tuple[Feature, dict[Any, frozenset[Any]]]]:
        """The features of which some cells are read as missing, and the known levels of their columns."""
        found = []
        for feature in self.features.values() if self.unseen != "error" else ():
            levels = feature.values if self.unseen == "missing" else {}
            if feature.guessed or levels:
                found.append((feature, {name: frozenset(known) for name, known in levels.items()}))
        return found

    @property
    def absent_when_learned(self) -> str:
        return "missing" if self.columns == "grow" else "error"

    def model(self, label: LabelPrior) -> NaiveBayes:
        """The generative model of these features. If ``label`` is a ``WithUnknown`` prior, the strengths of default
        priors are estimated.
        """
        families = {name: feature.family for name, feature in self.features.items()}
        columns, unknown = {name: feature.columns for name, feature in self.features.items()}, None
        if isinstance(label, WithUnknown):
            families, unknown = {name: family.shrunk() for name, family in families.items()}, label.unknown
        return NaiveBayes(families, label, columns, unknown)

    def read(self, table: Table, learn: bool = False, absent: str = "error") -> tuple[Schema, Data]:
        """Encode a table and validate its cells; return the schema and {name: encoded columns}.

        With ``learn``, new levels are added to the returned schema. Otherwise, new levels are treated as unseen, and
        ``table`` must be a result of :meth:`through`. ``absent`` is "error" or "missing".
        """
        table = self.through(table) if learn else table
        if learn and self.all_words and table.named:
            schema = replace(self, names=table.names, features=self._bag(table.names))
            return self.merged(schema), schema.read(table)[1]
        if learn:
            table = self._by_name(table, self.absent_when_learned, LET_JOIN)
        else:
            table = self._by_name(table, absent, COUNT_AS_MISSING)
        features, data = dict(self.features), {}
        for name, feature in self.features.items():
            features[name], data[name] = encode(table, feature, self.unseen if not learn else None)
        return (replace(self, features=features) if learn else self), data

    @property
    def all_words(self) -> bool:
        """Whether all columns form one bag of words."""
        (first, *others) = self.features.values()
        of_words = first.family.support.kind == "bag" and first.text is None
        return self.named and not others and of_words and first.columns == self.names

    def _bag(self, words: Names) -> dict[Any, Feature]:
        return {name: replace(feature, columns=words) for name, feature in self.features.items()}

    def _by_name(self, table: Table, absent: str, cure: Message) -> Table:
        if table.names == self.names:
            return table
        if not (self.named and table.named):
            if len(table.names) != len(self.names):
                raise ValueError(f"Expected {len(self.names)} columns; got {len(table.names)}")
            return _renamed(table, self.names) if table.named else replace(table, names=self.names)
        fitted = set(self.names)
        extra = [name for name in table.names if name not in fitted]
        used = [c for feature in self.features.values() for c in (*feature.reads, *feature.exposure)]
        missing = [name for name in used if name not in table.place]
        if missing and absent != "missing":
            raise RefusedError(
                "column {column!r} was fitted and is not in this table, which has {value}; add it, or {cure}{hint}",
                column=self.owner.get(missing[0], missing[0]),
                value=list(dict.fromkeys(self.owner.get(name, name) for name in table.names)) or "no fitted column",
                cure=cure,
                hint=meant(missing[0], extra),
            )
        if extra:
            warn(f"columns that were not fitted are ignored: {extra}")
        return table

    def merged(self, other: Schema) -> Schema:
        """Merge two schemas, with the levels and words of both. Both schemas must have the same columns, unless new
        columns are allowed.
        """
        if self.all_words and other.all_words and self.names != other.names:
            words = united(self.names, other.names)
            mine, theirs = (replace(schema, names=words, features=schema._bag(words)) for schema in (self, other))
            return mine.merged(theirs)
        both, names = (self.features, other.features), self.names
        for column in self.readings.keys() & other.readings.keys():
            if (a := self.readings[column]) != (b := other.readings[column]):
                raise ValueError(f"column {column!r}: the two models read it differently, as {a!r} and as {b!r}")
        if self.columns == "grow":
            both, names = _completed(*both), united(self.names, other.names)
        if odd := sorted(map(str, set(both[0]) ^ set(both[1]))):
            said = "the two models have different features; only one has {odd} ({join})"
            raise RefusedError(said, odd=some(odd), join=LET_JOIN)
        features: dict[Any, Feature] = {}
        for name, mine in both[0].items():
            theirs = both[1][name]
            if mine.text and theirs.text:
                mine, theirs = _with_words_of_both(mine, theirs)
            for what in ("family", "text", "source", "columns", "cuts"):
                a, b = getattr(mine, what), getattr(theirs, what)
                if not same(a, b):
                    cure = ""
                    if what == "family" and (mine.tried or theirs.tried):
                        cure = "; each chose by its own rows: fit one with classifier_.choice.features of the other"
                    raise ValueError(f"feature {name!r}: the two models differ in its {what}: {a!r} and {b!r}{cure}")
            if mine.levels is None:
                features[name] = mine
                continue
            kinds = zip(mine.columns, mine.kinds, theirs.kinds, strict=False)
            with about(f"feature {name!r}"):
                kinds = tuple(require_one_kind(*both) for both in kinds)
            levels = tuple(united(*pair) for pair in zip(mine.levels, theirs.levels, strict=True))
            declared = tuple(united(*pair) for pair in zip(mine.declared, theirs.declared, strict=True))
            features[name] = replace(mine, levels=levels, kinds=kinds, declared=declared)
        if names != self.names:
            features = in_place(features, names)
        return replace(self, names=names, features=features, readings={**self.readings, **other.readings})

    def require_words(self) -> None:
        for feature in self.features.values():
            if feature.text is not None and not feature.columns:
                raise ValueError(
                    f"column {feature.source[0]!r} holds no word in any row: leave it out, or {BY_CHARACTERS}"
                )

    def without_unused(self, statistics: Statistics, words: bool = False) -> tuple[Schema, Statistics]:
        """Drop words and levels that no longer occur, and their statistics. With ``words=True``, drop words only.

        A level is kept if the column's type, level order or prior names the level. If no level of a column occurs, all
        levels are kept.
        """
        features, kept = dict(self.features), dict(statistics.features)
        for name, feature in self.features.items():
            if feature.text is not None and feature.text.grows:
                used = kept[name].counts.any(0)
                left = tuple(word for word, here in zip(feature.columns, used, strict=True) if here)
                features[name], kept[name] = replace(feature, columns=left), kept[name].with_words(left)
            elif feature.values and not words and not _has_place_for_each(feature.family):
                used, named = kept[name].counts.any(0), {*feature.family.named_levels, UNSEEN}
                levels = tuple(
                    tuple(level for k, level in enumerate(own) if here[k] or level in named.union(of_type)) or own
                    for own, here, of_type in zip(feature.levels, used, feature.declared, strict=True)
                )
                features[name], kept[name] = replace(feature, levels=levels), kept[name].with_levels(levels)
        return replace(self, features=features), replace(statistics, features=kept)

    @property
    def flags(self) -> dict[Any, tuple[Any, int]]:
        """{column: (feature that flags its missing cells, position in this feature)}."""
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
        return found

    def decode(self, encoded: Mapping[Any, Array]) -> pd.DataFrame:
        columns = {}
        for name, feature in self.features.items():
            columns |= feature.decode(encoded[name])
        return pd.DataFrame({name: columns[name] for name in self.names if name in columns})

    def describe(
        self, statistics: Statistics | None = None, families: Mapping[Any, Family] | None = None
    ) -> pd.DataFrame:
        """A table with one row per feature. ``families`` are the families of the model, whose priors may be learned."""
        rows = []
        # The numbers of a column with a unit are its last feature column.
        marked = [(own.names(column)[-1], getattr(own, "unit", None)) for column, own in self.readings.items()]
        units = {name: f", in {unit}" for name, unit in marked if unit}
        for name, feature in self.features.items():
            missing, learned, family = np.nan, "", (families or {}).get(name, feature.family)
            if statistics is not None:
                learned = family.learned(statistics.features[name])
                seen = statistics.features[name].seen().sum(0)
                missing = float(1 - seen.mean() / max(statistics.rows.sum(), np.finfo(float).tiny))
                missing = 0.0 if abs(missing) < 1e-12 else missing
            rows.append(
                {
                    "feature": name,
                    "family": feature.family.title,
                    "prior": f"{family.prior_text}{learned and f', learned: {learned}'}",
                    "columns": len(feature.named),
                    "levels": feature.shown_levels(),
                    "missing": missing,
                    "chosen": f"{feature.origin}{units.get(name, '')}",
                }
            )
        return pd.DataFrame(rows).set_index("feature")


def _renamed(table: Table, names: Names) -> Table:
    frame = table.source.rename(columns=dict(zip(table.names, map(str, names), strict=True)))
    return replace(table, names=tuple(map(str, names)), source=frame)


def _changes(origin: Origin, kind: OriginKind) -> bool:
    return (kind == "zero_one") != (origin.kind == "zero_one") or (kind == "number" and origin.kind == "nothing")


def _has_place_for_each(family: Family) -> bool:
    """Whether the prior or the level order has one entry per level; if so, no level may be removed."""
    priors = family.prior.values() if isinstance(family.prior, Mapping) else [family.prior]
    return family.order_of(0) is not None or any(np.ndim(getattr(prior, "alpha", 0.0)) for prior in priors)


# Columns that join after the first rows: a column that joins was missing in all earlier rows, and a word that joins a
# bag has the count 0 in them. So what was learned before does not change.


def _completed(
    mine: Mapping[Any, Feature], theirs: Mapping[Any, Feature]
) -> tuple[dict[Any, Feature], dict[Any, Feature]]:
    """Add to each model the features and words of the other model; return the features of both models.

    Raises
    ------
    ValueError
        If a column belongs to different features in the two models, or if a feature that is not a bag of words has
        different columns.
    """
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
    """Unite the vocabularies of two bags; ``ValueError`` if fixed or selected vocabularies differ."""
    if mine.text and not mine.text.grows and mine.columns != theirs.columns:
        raise ValueError(
            f"column {mine.source[0]!r}: each model has taken its words from its own rows; give both the same, as "
            "Text(vocabulary=[...])"
        )
    words = united(mine.columns, theirs.columns)
    return replace(mine, columns=words), replace(theirs, columns=words)
