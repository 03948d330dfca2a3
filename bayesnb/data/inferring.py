"""Choose column families for the first table; the entry point is :func:`inferred`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from bayesnb.data import specifications
from bayesnb.data.columns import Names
from bayesnb.data.encoders import Feature, Origin, OriginKind, UnseenPolicy, require_reads_sparse
from bayesnb.data.readings import Reading, are_sentences
from bayesnb.data.specifications import BY_TYPE, BestFamily, Binned, ByType, Missing
from bayesnb.data.tables import Table
from bayesnb.data.text import Text
from bayesnb.families.columns import united
from bayesnb.families.family import Family
from bayesnb.families.trials import Bernoulli
from bayesnb.kernels import reading
from bayesnb.model import about, in_order
from bayesnb.priors import UNSEEN, Array
from bayesnb.statistics.statistic import same
from bayesnb.wording import Cure, RefusedError

SPECIFIED = Origin("specified")
DEFAULTS = tuple(BY_TYPE.families().values())
"""The default families. Their priors need no check for extreme numbers."""


def inferred(
    table: Table, features: Any, unseen: UnseenPolicy, weight: Array | None, readings: Mapping[Any, Reading]
) -> dict[Any, Feature]:
    """Choose the features of a table; see :meth:`bayesnb.data.schema.Schema.infer`."""
    said, by_type = specifications.entries(features), features if isinstance(features, ByType) else None
    specs = {name: (*given, SPECIFIED) for name, given in _specified(table, said).items()}
    taken = {spec.exposure for spec, *_ in specs.values() if getattr(spec, "exposure", None) is not None}
    rest: Names = ()
    # An array is one feature, so its column names need no further loop.
    if not any(columns is table.names for _, columns, _ in specs.values()):
        taken.update(*(columns for _, columns, _ in specs.values()))
        rest = tuple(name for name in table.names if name not in taken) if taken else table.names
    kinds = table.kinds(rest) if rest else {}
    one_by_one = not (table.numeric or table.sparse)
    for name, (spec, columns, origin) in grouped(kinds, by_type or BY_TYPE, one_by_one).items():
        if name in specs:
            raise ValueError(f"a feature called {name!r} was specified, but a column of that name is left over")
        if origin.kind == "sentences":  # A larger table has decided.
            spec = Text()
        elif origin.kind == "text" and by_type is None and not table.part and table.readings is None:
            codes, texts = table.column(name).coded
            held = codes >= 0
            if are_sentences(texts, held.sum() if weight is None else weight[held].sum()):
                spec, origin = Text(), Origin("sentences")
        specs[name] = spec, columns, origin
    if not specs:
        raise ValueError("the table has no column to learn from")
    chosen = {name: _feature(table, *spec, unseen, weight) for name, spec in specs.items()}
    if any(entry.missing for entry in said):
        chosen |= _indicators(table, said, chosen, readings)
    # One feature per column is in place, unless columns are specified.
    return in_place(chosen, table.names) if len(chosen) > 1 and (said or not one_by_one) else chosen


def in_place(features: Mapping[Any, Feature], names: Iterable[Any]) -> dict[Any, Feature]:
    """Sort features by the position of their first column in the table."""
    place = {name: k for k, name in enumerate(names)}
    # The feature that flags missing cells follows its column.
    rank = {name: (place[feature.reads[0]], bool(feature.indicates)) for name, feature in features.items()}
    return {name: features[name] for name in sorted(rank, key=rank.__getitem__)}


def _specified(table: Table, said: Sequence[specifications.Entry]) -> dict[Any, tuple[Any, Names]]:
    if len(said) == 1 and said[0].columns is None:
        return _of_all_columns(table, said[0].spec)
    specified, owner = {}, {}
    for entry in said:
        key, resolved = entry.key, tuple(map(table.resolved, entry.columns))
        if not resolved:
            raise ValueError(f"features[{key!r}]: Expected at least one column; got none")
        if isinstance(entry.spec, BestFamily):
            continue  # The first rows choose (see `choice`); a column that joins later gets the family of its type.
        for column in resolved:
            if column in owner:
                raise ValueError(f"column {column!r} is in more than one feature: {owner[column]!r} and {key!r}")
            owner[column] = key
        if entry.spec is not None:
            specified[key if entry.together else resolved[0]] = (_with_exposure(table, entry.spec), resolved)
    return specified


def _of_all_columns(table: Table, spec: Any) -> dict[Any, tuple[Any, Names]]:
    if not isinstance(spec, Family | Binned | Text):
        return {}
    spec = _with_exposure(table, spec)
    exposure = getattr(spec, "exposure", None)
    columns = table.names if exposure is None else tuple(name for name in table.names if name != exposure)
    if isinstance(spec, Family) and spec.support.kind == "bag":
        return {"words" if table.named else "x": (spec, columns)}
    if table.named and getattr(spec, "reads_together", False):
        return {together_name(spec): (spec, columns)}
    one_by_one = table.named or isinstance(spec, Text)
    return {name: (spec, (name,)) for name in columns} if one_by_one else {"x": (spec, columns)}


def _indicators(
    table: Table, said: Sequence[specifications.Entry], chosen: Mapping[Any, Feature], readings: Mapping[Any, Reading]
) -> dict[Any, Feature]:
    wanted: dict[Any, Missing] = {}
    unflagged = {each for name, own in readings.items() for each in own.names(name)[1:]}
    for entry in said:
        if entry.missing is not None:
            every = [name for name in table.names if name not in unflagged]
            columns = every if entry.columns is None else map(table.resolved, entry.columns)
            wanted |= dict.fromkeys(columns, entry.missing)
    if table.sparse:
        raise ValueError("the cells of a sparse matrix are 0 where none is stored, and none is missing: use no Missing")
    found: dict[Any, Feature] = {}
    for name, feature in chosen.items():
        specs = {id(wanted[column]): wanted[column] for column in feature.named if column in wanted}
        for missing in specs.values():
            columns = tuple(column for column in feature.named if wanted.get(column) is missing)
            names = tuple(map(name_of, columns))
            own = name_of(name if len(specs) == 1 else ", ".join(map(str, columns)))
            if taken := [label for label in (own, *names) if label in {*table.place, *chosen, *found}]:
                raise ValueError(
                    f"a column or a feature is called {taken[0]!r}, as the one of Missing would be: rename it"
                )
            flag = Bernoulli(missing.prior, inferred=True)
            found[own] = Feature(names, flag, Origin("gaps", str(name)), source=columns)
    return found


def name_of(what: Any) -> str:
    """The name of the feature that tells which cells of ``what``, a feature or column, are missing."""
    return f"{what} is missing"


def _with_exposure(table: Table, spec: Family | Binned) -> Family | Binned:
    exposure = getattr(spec, "exposure", None)
    return spec if exposure is None else replace(spec, exposure=table.resolved(exposure))


def grouped(
    kinds: Mapping[Any, OriginKind], families: ByType, alone: bool = True
) -> dict[Any, tuple[Family, Names, Origin]]:
    """Make one feature per column or, for an array, one feature per kind of column."""
    if alone:
        # Columns of one type share one family object, which avoids making thousands of objects.
        found = {
            name: (families.of(TYPES.get(kind, kind), (name,)), (name,), Origin(kind)) for name, kind in kinds.items()
        }
        return found if families is BY_TYPE else together(found)  # The default families read one column each.
    sides = {"x": [n for n, kind in kinds.items() if TYPES.get(kind, kind) == "number"]}
    sides["flags" if sides["x"] else "x"] = [n for n, kind in kinds.items() if TYPES.get(kind, kind) != "number"]
    of = {name: (tuple(columns), Origin(kinds[columns[0]])) for name, columns in sides.items() if columns}
    return {name: (families.of(TYPES.get(o.kind, o.kind), columns), columns, o) for name, (columns, o) in of.items()}


def together_name(family: Family) -> str:
    """Name of a feature that reads several columns together."""
    return {"levels": "levels", "zero_one": "flags"}.get(family.support.kind, "numbers")


def together(
    found: dict[Any, tuple[Family, tuple[Any, ...], Origin]],
) -> dict[Any, tuple[Family, tuple[Any, ...], Origin]]:
    """Make one feature of all columns of the same family, for each family that reads several columns together."""
    shared = {name: spec for name, spec in found.items() if spec[0].reads_together}
    if not shared:
        return found
    rest = {name: spec for name, spec in found.items() if name not in shared}
    while shared:
        family = next(iter(shared.values()))[0]
        names = tuple(name for name, spec in shared.items() if same(spec[0], family))
        origins = {shared[name][2] for name in names}
        why = origins.pop() if len(origins) == 1 else Origin("number")
        key = together_name(family)
        key = key if key not in rest or key in found else f"{key} 2"
        if key in rest:
            raise ValueError(f"a column is called {key!r}, as the feature of {list(names)[:8]} is; rename that column")
        rest[key] = (family, names, why)
        shared = {name: spec for name, spec in shared.items() if name not in {*names}}
    return rest


TYPES: dict[OriginKind, str] = {"nothing": "number", "categories": "text", "sentences": "text"}
"""The parameter of :class:`ByType` for a kind of values, if it differs from the name of the kind."""


def _feature(
    table: Table, spec: Family | Binned | Text, columns: Names, origin: Origin, unseen: str, weight: Array | None
) -> Feature:
    said = f"columns {list(columns)[:8]}" if len(columns) > 1 else f"column {columns[0]!r}"
    if spec not in DEFAULTS:
        with about(said):
            _require_ordinary_prior(spec)
    if table.sparse and (not isinstance(spec, Family) or spec.needs_rows or spec.support.kind == "levels"):
        require_reads_sparse(spec)
    if isinstance(spec, Text):
        if len(columns) > 1:
            cure = Cure("features", "Text", columns[0])
            raise RefusedError("{place}: a Text reads one column; name each, as {cure}", place=said, cure=cure)
        return Feature(spec.vocabulary or (), spec.family, origin, source=columns, text=spec)
    if isinstance(spec, Binned):
        cuts = tuple(spec.fit(table.column(name).ordinary(), weight) for name in columns)
        levels = tuple(cut.names for cut in cuts)
        return Feature(columns, spec.family(), replace(origin, detail=f"{spec.cut} bins"), levels, cuts=cuts)
    if spec.needs_rows:
        with_levels = spec.support.kind == "levels"
        seen = [table.column(name).ordered() if with_levels else table.column(name).ordinary() for name in columns]
        with about(said):
            spec = spec.placed(seen, weight)
    if spec.support.kind != "levels":
        return Feature(columns, spec, origin)
    levels: list[Names] = []
    types: list[Names] = []
    for k, name in enumerate(columns):
        declared = table.column(name).declared
        types.append(declared or ())
        if (order := spec.order_of(k)) is not None:
            if unseen == "new":
                said = "column {column!r}: a level that is reserved for new ones has no place in an order; use {cure}"
                raise RefusedError(said, column=name, cure=(Cure("unseen", "missing"), Cure("unseen", "error")))
            levels.append(order)
            continue
        known = tuple(in_order(table.distinct(name))) if declared is None else declared
        known = united(known, spec.named_levels)
        levels.append(united(known, (UNSEEN,)) if unseen == "new" else known)
    kinds = tuple(table.column(name).kind for name in columns)
    return Feature(columns, spec, origin, tuple(levels), kinds, declared=tuple(types))


def _require_ordinary_prior(family: Family) -> None:
    for part in getattr(family, "parts", ()):
        _require_ordinary_prior(part)
    priors = family.prior.values() if isinstance(family.prior, Mapping) else [family.prior]
    given = [one for one in priors if one is not None]  # The prior of a compound family is that of its parts.
    for name, value in ((f.name, getattr(one, f.name)) for one in given for f in fields(one) if f.repr):
        each = [*value.values()] if isinstance(value, Mapping) else value
        try:
            cells = np.asarray(0.0 if each is None else each, float)
        except (TypeError, ValueError):
            continue
        cells = np.diagonal(cells, axis1=-2, axis2=-1) if name == "scale" and cells.ndim > 1 else cells
        if (odd := reading.extremes(cells) & np.isfinite(cells)).any():
            found = cells[odd].flat[0]
            end, value = ("least", "1e-150") if abs(found) < 1 else ("most", "1e150")
            raise ValueError(
                f"Expected {name} of its prior to be 0 or at {end} {value}; got {found:g}: write {value} there"
            )


def present(features: Any, table: Table, known: Collection[Any] = ()) -> Any:
    """Select the entries of ``features`` whose columns are all in the table, and bags of words with some of these
    columns.
    """
    if not isinstance(features, Mapping):
        return features
    kept: dict[Any, Any] = {}
    for entry in specifications.entries(features):
        key, columns = entry.key, entry.columns
        here = [column for column in columns if column in table.place]
        if not here:
            continue
        if len(here) == len(columns):
            kept[key] = features[key]
        elif isinstance(entry.spec, Family) and entry.spec.support.kind == "bag":
            kept[key] = entry.spec, here
        elif not set(columns) & set(known):
            absent = next(column for column in columns if column not in table.place)
            raise ValueError(
                f"features[{key!r}]: column {absent!r} is not in this table, and the columns of one feature join "
                "together"
            )
    return kept
