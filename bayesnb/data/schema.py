"""Which family reads which column, and what its levels are called.

:class:`Schema` is made from the first table (``infer``) and turns every later one into the encoded
columns that families read (``read``). It is frozen: a table with new levels gives a new schema, so that
a fit that fails has changed nothing.
"""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from bayesnb.data.binning import Binned
from bayesnb.data.by_type import ByType, together, together_name
from bayesnb.data.columns import Column, Names, zeros_and_ones
from bayesnb.data.encoders import ENCODERS, Feature, UnseenPolicy, checked_together, require_one_kind, validate
from bayesnb.data.named import family_named
from bayesnb.data.tables import Table
from bayesnb.families.family import Family
from bayesnb.families.levels import united
from bayesnb.families.support import BAG, LEVELS, InvalidCellError
from bayesnb.kernels import reading
from bayesnb.model import Data, NaiveBayes, Statistics, about, in_order
from bayesnb.priors import UNSEEN, Array, Dirichlet, FixedProbabilities

NO_VALUE = "no value seen"
SPECIFIED = "specified"
ZERO_ONE = " of 0 and 1"


@dataclass(frozen=True, eq=False)
class Schema:
    """How a table is read.

    Parameters
    ----------
    names : tuple
        Column names of the first table, in its order.
    named : bool
        Whether they are the table's own, so that later tables are read by name and not by position.
    features : {name: Feature}
    unseen : {"missing", "new", "error"}
        How a level that no fit has seen is treated.
    """

    names: Names
    named: bool
    features: Mapping[Any, Feature]
    unseen: UnseenPolicy

    @classmethod
    def infer(
        cls, table: Table, features: Any = None, unseen: UnseenPolicy = "missing", weight: Array | None = None
    ) -> Schema:
        """Choose a family for each column: the one that was specified, else by its type.

        Parameters
        ----------
        table : Table
        features : Family, Binned, ByType, {column: Family or Binned} or {name: (Family or Binned, columns)}
            A family may be a short name.
        unseen : {"missing", "new", "error"}
        weight : array (row,), optional
            Weights of the rows, for bins by count.
        """
        if unseen not in ("missing", "new", "error"):
            raise ValueError(f"Expected unseen to be 'missing', 'new' or 'error'; got {unseen!r}")
        chosen: dict[Any, Feature] = {}
        specified = _specified(table, features)
        exposures = {spec.exposure for spec, _ in specified.values() if getattr(spec, "exposure", None) is not None}
        for name, (spec, columns) in specified.items():
            chosen[name] = _feature(table, spec, columns, SPECIFIED, unseen, weight)
        # An array is one feature, so its column names need no further loop.
        whole = any(feature.columns is table.names for feature in chosen.values())
        taken = exposures if whole else {c for feature in chosen.values() for c in feature.columns} | exposures
        rest = () if whole else table.names
        if taken:
            rest = tuple(name for name in rest if name not in taken)
        by_type = features if isinstance(features, ByType) else ByType()
        for name, (spec, columns, how) in _by_type(table, rest, by_type).items():
            if name in chosen:
                raise ValueError(f"a feature called {name!r} was specified, but a column of that name is left over")
            chosen[name] = _feature(table, spec, columns, how, unseen, weight)
        if not chosen:
            raise ValueError("the table has no column to learn from")
        if len(chosen) > 1:
            chosen = dict(sorted(chosen.items(), key=lambda item: table.place[item[1].columns[0]]))
        return cls(table.names, table.named, chosen, unseen)

    def model(self, label: Dirichlet | FixedProbabilities) -> NaiveBayes:
        """The generative model of these features, under a prior of the class probabilities."""
        families = {name: feature.family for name, feature in self.features.items()}
        return NaiveBayes(families, label, {name: feature.columns for name, feature in self.features.items()})

    def read(self, table: Table, learn: bool = False, absent: str = "error") -> tuple[Schema, Data]:
        """Encode a table and validate its cells.

        Parameters
        ----------
        table : Table
        learn : bool
            Whether new levels are learned, in a new schema, or are unseen.
        absent : {"error", "missing"}
            How a column that the table does not have is treated.

        Returns
        -------
        schema : Schema
            This one, or one with the new levels.
        data : {name: encoded columns}
        """
        schema, data = self.encode(table, learn, absent)
        schema.validate(data)
        return schema, data

    def encode(self, table: Table, learn: bool = False, absent: str = "error") -> tuple[Schema, Data]:
        """The same as :meth:`read`, but large blocks may hold invalid cells; see :meth:`computed`."""
        if learn and self.all_words and table.named:
            schema = replace(self, names=table.names, features=self._bag(table.names))
            return self.merged(schema), schema.encode(table)[1]
        table = self._by_name(table, absent)
        features, data = dict(self.features), {}
        for name, feature in self.features.items():
            encode = ENCODERS[feature.family.support]
            features[name], data[name] = encode(table, feature, self.unseen if not learn else None)
        # One look at all small blocks of reals takes less time than a look at each.
        small = [data[name] for name, feature in self.features.items() if checked_together(feature, data[name])]
        if small and reading.infinite(np.concatenate(small, axis=None)[:, None]):
            self.validate(data)
        return (replace(self, features=features) if learn else self), data

    def validate(self, data: Data) -> None:
        """Raise ``ValueError``, naming column, row, value and cure, if a cell is outside the support of its family."""
        for name, feature in self.features.items():
            validate(feature, data[name])

    def computed[T](self, data: Data, compute: Callable[[], T], finite: Callable[[T], bool]) -> T:
        """What is computed from encoded columns, whose cells are validated only if they have to be.

        To validate first would read a large table twice. An invalid cell makes the result infinite or NaN, or the
        family raises an error; either way all cells are then validated, and the bad one is named.
        """
        try:
            found = compute()
        except InvalidCellError:
            self.validate(data)
            raise
        if not finite(found):
            self.validate(data)
        return found

    @property
    def all_words(self) -> bool:
        """Whether every column is a word of one bag: then a new column is a new word, and an absent one counts 0."""
        (first, *others) = self.features.values()
        return self.named and not others and first.family.support == BAG and first.columns == self.names

    def _bag(self, words: Names) -> dict[Any, Feature]:
        """The only feature, a bag, with these words."""
        return {name: replace(feature, columns=words) for name, feature in self.features.items()}

    def _by_name(self, table: Table, absent: str) -> Table:
        """The table with the names of this schema; an absent column is an error, and one too many a warning."""
        if not (self.named and table.named):
            if len(table.names) != len(self.names):
                raise ValueError(f"Expected {len(self.names)} columns; got {len(table.names)}")
            if table.named:
                return _renamed(table, self.names)
            return table if table.names == self.names else replace(table, names=self.names)
        fitted = set(self.names)
        extra = [name for name in table.names if name not in fitted]
        if extra:
            warnings.warn(f"columns that were not fitted are ignored: {extra}", UserWarning, stacklevel=4)
        used = [c for feature in self.features.values() for c in (*feature.columns, *feature.exposure)]
        missing = [name for name in used if name not in table.place]
        if missing and absent != "missing":
            close = difflib.get_close_matches(str(missing[0]), map(str, extra), 1)
            raise ValueError(
                f"column {missing[0]!r} was fitted and is not in this table, which has "
                f"{list(table.names) or 'no fitted column'}"
                + (f" (did you mean {close[0]!r}?)" if close else "")
                + '; add it, or count it as missing with absent="missing"'
            )
        return table

    def merged(self, other: Schema) -> Schema:
        """Both schemas as one, with the levels and words of both; they must read the same columns in the same way."""
        if self.all_words and other.all_words and self.names != other.names:
            words = united(self.names, other.names)
            mine, theirs = (replace(schema, names=words, features=schema._bag(words)) for schema in (self, other))
            return mine.merged(theirs)
        if odd := sorted(map(str, set(self.features) ^ set(other.features))):
            raise ValueError(f"the two models have different features; only one has {odd}")
        features = {}
        for name, mine in self.features.items():
            theirs = other.features[name]
            for what in ("columns", "family", "cuts"):
                a, b = getattr(mine, what), getattr(theirs, what)
                if not _same(a, b):
                    raise ValueError(f"feature {name!r}: the two models differ in its {what}: {a!r} and {b!r}")
            if mine.levels is None:
                features[name] = mine
                continue
            kinds = zip(mine.columns, mine.kinds, theirs.kinds, strict=False)
            with about(f"feature {name!r}"):
                kinds = tuple(require_one_kind(*both) for both in kinds)
            levels = tuple(united(*pair) for pair in zip(mine.levels, theirs.levels, strict=True))
            features[name] = replace(mine, levels=levels, kinds=kinds)
        return replace(self, features=features)

    def decode(self, encoded: Mapping[Any, Array]) -> pd.DataFrame:
        """Encoded features, (row, column) each, as a table with this schema's columns."""
        columns = {}
        for name, feature in self.features.items():
            columns |= feature.decode(encoded[name])
        return pd.DataFrame({name: columns[name] for name in self.names if name in columns})

    def describe(self, statistics: Statistics | None = None) -> pd.DataFrame:
        """A row for each feature: family, prior and what that learned, columns, levels, share missing, why it."""
        rows = []
        for name, feature in self.features.items():
            missing, learned = np.nan, ""
            if statistics is not None:
                learned = feature.family.learned(statistics.features[name])
                seen = statistics.features[name].seen().sum(0)
                missing = float(1 - seen.mean() / max(statistics.rows.sum(), np.finfo(float).tiny))
                missing = 0.0 if abs(missing) < 1e-12 else missing
            rows.append(
                {
                    "feature": name,
                    "family": type(feature.family).__name__,
                    "prior": f"{feature.family.prior!r}{learned and f', learned: {learned}'}",
                    "columns": len(feature.columns),
                    "levels": feature.shown_levels(),
                    "missing": missing,
                    "chosen": feature.how,
                }
            )
        return pd.DataFrame(rows).set_index("feature")


def _same(a: Any, b: Any) -> bool:
    """Whether two specifications are equal, including their arrays."""
    if is_dataclass(a):
        return type(a) is type(b) and all(_same(getattr(a, f.name), getattr(b, f.name)) for f in fields(a))
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    return bool(np.array_equal(a, b))


def _specified(table: Table, features: Any) -> dict[Any, tuple[Any, Names]]:
    """The features that were specified, each with its family and its columns."""
    if features is None or isinstance(features, ByType):
        return {}
    features = family_named(features)() if isinstance(features, str) else features
    if isinstance(features, Family | Binned):
        features = _with_exposure(table, features)
        exposure = getattr(features, "exposure", None)
        columns = table.names if exposure is None else tuple(name for name in table.names if name != exposure)
        if getattr(features, "support", None) == BAG:
            return {"words" if table.named else "x": (features, columns)}
        if table.named and getattr(features, "reads_together", False):
            return {together_name(features): (features, columns)}
        return {name: (features, (name,)) for name in columns} if table.named else {"x": (features, columns)}
    if not isinstance(features, Mapping):
        raise TypeError(
            "Expected features to be a family, ByType(...), or {column: family}, such as {'visits': Poisson()}; "
            f"got {features!r}"
        )
    specified, owner = {}, {}
    for key, value in features.items():
        spec, columns = value if isinstance(value, tuple) and len(value) == 2 else (value, [key])
        with about(f"features[{key!r}]"):
            spec = family_named(spec)() if isinstance(spec, str) else spec
        if not isinstance(spec, Family | Binned):
            raise TypeError(
                f"features[{key!r}]: Expected a family, such as Poisson(), or (family, [columns]); got {value!r}"
            )
        resolved = tuple(_resolve(table, column) for column in ([columns] if isinstance(columns, str) else columns))
        if not resolved:
            raise ValueError(f"features[{key!r}]: Expected at least one column; got none")
        for column in resolved:
            if column in owner:
                raise ValueError(f"column {column!r} is in more than one feature: {owner[column]!r} and {key!r}")
            owner[column] = key
        specified[key if isinstance(value, tuple) else resolved[0]] = (_with_exposure(table, spec), resolved)
    return specified


def _with_exposure(table: Table, spec: Family | Binned) -> Family | Binned:
    """The family with its exposure column by name, if it has one."""
    exposure = getattr(spec, "exposure", None)
    return spec if exposure is None else replace(spec, exposure=_resolve(table, exposure))


def _resolve(table: Table, column: Any) -> Any:
    if column in table.place:
        return column
    if not table.named and isinstance(column, int | np.integer) and 0 <= column < len(table.names):
        return table.names[column]
    close = difflib.get_close_matches(str(column), map(str, table.names), 1)
    raise ValueError(
        f"features names column {column!r}, which the table does not have; its columns are {list(table.names)[:20]}"
        + (f" (did you mean {close[0]!r}?)" if close else "")
    )


def _by_type(table: Table, rest: Names, families: ByType) -> dict[Any, tuple[Family, Names, str]]:
    """A family for each column that was not specified."""
    if not rest:
        return {}
    if table.sparse:
        return {"x": (families.of("sparse", rest), rest, "sparse counts")}
    if table.numeric:
        # An array is one feature, so one family reads all of its columns.
        how = f"array of {table.source.dtype}"
        if table.source.dtype == bool:
            return {"x": (families.of("boolean", rest), rest, how)}
        if zeros_and_ones(table.source):
            return {"x": (families.of("zero_one", rest), rest, how + ZERO_ONE)}
        return {"x": (families.of("number", rest), rest, how)}
    found = {}
    # Columns of one type share one family object, which saves making thousands of them.
    if table.cells is not None and table.cells.dtype.kind == "f":
        how, number = Column(rest[0], table.cells).dtype, families.of("number", rest)
        return together({name: (number, (name,), how) for name in rest})
    for name in rest:
        column = table.column(name)
        kind = column.kind()
        if column.textual or kind == "text":
            found[name] = (families.of("text", (name,)), (name,), column.dtype)
        elif kind == "boolean":
            found[name] = (families.of("boolean", (name,)), (name,), column.dtype)
        elif kind == "integer" and column.binary():
            found[name] = (families.of("zero_one", (name,)), (name,), column.dtype + ZERO_ONE)
        else:
            found[name] = (families.of("number", (name,)), (name,), NO_VALUE if kind == "empty" else column.dtype)
    return together(found)


def _feature(
    table: Table, spec: Family | Binned, columns: Names, how: str, unseen: str, weight: Array | None
) -> Feature:
    """A feature as inferred from the first table."""
    if isinstance(spec, Binned):
        table.require_dense(spec)
        cuts = tuple(spec.fit(table.column(name).finite(), weight) for name in columns)
        levels = tuple(cut.names for cut in cuts)
        return Feature(columns, spec.family(), f"{how}, {spec.cut} bins", levels, cuts=cuts)
    if spec.needs_rows:
        table.require_dense(spec)
        with_levels = spec.support == LEVELS
        seen = [table.column(name).ordered() if with_levels else table.column(name).finite() for name in columns]
        with about(f"columns {list(columns)[:8]}" if len(columns) > 1 else f"column {columns[0]!r}"):
            spec = spec.placed(seen, weight)
    if spec.support != LEVELS:
        return Feature(columns, spec, how)
    table.require_dense(spec)
    levels: list[Names] = []
    for k, name in enumerate(columns):
        if (order := spec.order_of(k)) is not None:
            if unseen == "new":
                raise ValueError(
                    f"column {name!r}: a level that is reserved for new ones has no place in an order; use "
                    'unseen="missing" or unseen="error"'
                )
            levels.append(order)
            continue
        declared = table.column(name).declared
        known = declared if declared is not None else tuple(in_order(table.distinct(name)))
        known = united(known, named_levels(spec))
        levels.append(united(known, (UNSEEN,)) if unseen == "new" else known)
    kinds = tuple(table.column(name).kind() for name in columns)
    return Feature(columns, spec, how, tuple(levels), kinds)


def named_levels(family: Family) -> Names:
    """The levels that a prior names, which exist even if no row has them."""
    priors = family.prior.values() if isinstance(family.prior, Mapping) else [family.prior]
    mappings = [p.alpha for p in priors if isinstance(p, Dirichlet) and isinstance(p.alpha, Mapping)]
    return tuple(dict.fromkeys(name for alpha in mappings for name in alpha if name is not UNSEEN))


def _renamed(table: Table, names: Names) -> Table:
    frame = table.source.rename(dict(zip(table.names, map(str, names), strict=True)))
    return replace(table, names=tuple(map(str, names)), source=frame)
