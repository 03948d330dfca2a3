"""The statistics of all features of one kind as a few arrays, named and with coordinates.

A group a feature would be hundreds of times slower to read at five hundred features.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from bayesnb.encoding import Feature
from bayesnb.families.bernoulli import Successes
from bayesnb.families.categorical import Tally, widest
from bayesnb.families.family import Statistic
from bayesnb.families.moments import PARTS, Moments
from bayesnb.families.multinomial import Totals
from bayesnb.families.poisson import Events
from bayesnb.model import Statistics
from bayesnb.priors import Array
from bayesnb.schema import Schema
from bayesnb.sealed import ModelFileError, Variable

# What each kind of statistic adds up, and along what: the columns, the categories of all columns, or the bags of words.
GROUPS: dict[str, tuple[type[Statistic], dict[str, str]]] = {
    "bernoulli": (Successes, {"n": "column", "ones": "column"}),
    "categorical": (Tally, {"counts": "category"}),
    "gaussian": (
        Moments,
        {"n": "column", "mean": "column", "low": "column", "scatter": "column", "unit": "column", "parts": "column"},
    ),
    "multinomial": (Totals, {"counts": "category", "rows": "bag", "log_base": "bag"}),
    "poisson": (Events, {"exposure": "column", "events": "column", "rows": "column", "log_base": "column"}),
}
LATER = {"unit", "parts", "part"}
"""What older files do not hold."""

COORDINATES = {"column": ("feature", "column"), "category": ("feature", "column", "category"), "bag": ("bag",)}
KIND_OF = {
    "binary": "bernoulli",
    "levels": "categorical",
    "reals": "gaussian",
    "bag": "multinomial",
    "counts": "poisson",
}


def packed(schema: Schema, statistics: Statistics) -> dict[str, Variable]:
    """Statistics as arrays: at the root the rows of the classes, and a group for each kind of feature."""
    labels = _texts(statistics.labels)
    found = {"/class_label": Variable(("class_label",), labels)}
    found["/rows"] = Variable(("class_label",), np.asarray(statistics.rows, float))
    for kind, names in by_kind(schema).items():
        for dim in dict.fromkeys(GROUPS[kind][1].values()):
            cells = [cell for name in names for cell in _cells(schema, name, dim)]
            for k, title in enumerate(COORDINATES[dim]):
                found[f"/{kind}/{title}"] = Variable((dim,), _texts(cell[k] for cell in cells))
        if "parts" in GROUPS[kind][1]:
            found[f"/{kind}/part"] = Variable(("part",), _texts(PARTS))
        odd = [name for name in names if type(statistics.features[name]) is not GROUPS[kind][0]]
        if odd:
            raise ValueError(f"feature {odd[0]!r}: model files have no place for {type(statistics.features[odd[0]])}")
        for what, dim in GROUPS[kind][1].items():
            array = np.hstack([_flat(statistics.features[name], what) for name in names])
            found[f"/{kind}/{what}"] = Variable(("class_label", dim, "part")[: array.ndim], array)
    return found


def names(kind: str) -> set[str]:
    """The arrays of a group and their coordinates."""
    dims = GROUPS[kind][1]
    titles = {title for dim in dims.values() for title in COORDINATES[dim]}
    return {*dims, *titles, *(["part"] if "parts" in dims else [])}


def _texts(names: Iterable[Any]) -> Array:
    """Names as text for people; what they are exactly stands in the schema."""
    found = [str(name).encode("utf-8", "backslashreplace").decode().replace("\0", "\\0") for name in names]
    return np.array(found, object)


def by_kind(schema: Schema) -> dict[str, list[Any]]:
    """The features of each kind, in the order of the schema."""
    found: dict[str, list[Any]] = {}
    for name, feature in schema.features.items():
        if not feature.family.exact:
            raise ValueError(
                f"feature {name!r}: {type(feature.family).__name__} is sampled, and a model file holds what has a "
                "closed form; keep its draws, with sample_posterior().to_netcdf(path), or the code that fits it"
            )
        found.setdefault(KIND_OF[feature.family.reads], []).append(name)
    return dict(sorted(found.items()))


def _cells(schema: Schema, name: Any, dim: str) -> list[tuple[Any, ...]]:
    """What each cell of a feature along a dimension is called: feature, column and category, as far as they go."""
    feature = schema.features[name]
    if dim == "bag":
        return [(name,)]
    if dim == "column":
        return [(name, column) for column in feature.columns]
    if feature.levels is None:
        return [(name, word, word) for word in feature.columns]
    pairs = zip(feature.columns, feature.levels, strict=True)
    return [(name, column, level) for column, levels in pairs for level in levels]


def _flat(s: Statistic, what: str) -> Array:
    """One field of a statistic, (class, cell)."""
    value = np.asarray(getattr(s, what), float)
    if isinstance(s, Tally):
        # The columns with fewer levels are filled up in memory, and not in a file.
        return np.hstack([value[:, k, : len(levels)] for k, levels in enumerate(s.levels)])
    return value


def _shaped(kind: str, feature: Feature, fields: Mapping[str, Array]) -> Statistic:
    """A statistic from its cells, (class, cell) each."""
    if kind == "categorical":
        # In memory the columns with fewer levels are filled up; nobody could have fitted what that would not fit in.
        padded = len(fields["counts"]) * len(feature.columns) * widest(feature.levels)
        if padded > max(2**25, 100 * fields["counts"].size):
            raise ModelFileError(f"feature {feature.columns[:3]} claims {padded} counts")
        counts = np.zeros((len(fields["counts"]), len(feature.columns), widest(feature.levels)))
        start = 0
        for k, levels in enumerate(feature.levels):
            counts[:, k, : len(levels)] = fields["counts"][:, start : start + len(levels)]
            start += len(levels)
        return Tally(counts, feature.levels)
    if kind == "multinomial":
        return Totals(**fields, words=feature.columns)
    return GROUPS[kind][0](**fields)


def unpacked(
    kind: str, members: Sequence[Any], schema: Schema, arrays: Mapping[str, Array], n_classes: int
) -> dict[Any, Statistic]:
    """The statistic of each feature of a kind, cut out of their common arrays."""
    found: dict[Any, dict[str, Array]] = {name: {} for name in members}
    for what, dim in GROUPS[kind][1].items():
        sizes = [len(_cells(schema, name, dim)) for name in members]
        if what in LATER and f"/{kind}/{what}" not in arrays:
            continue
        array = arrays[f"/{kind}/{what}"]
        shape = (n_classes, sum(sizes), *([len(PARTS)] if what == "parts" else []))
        if array.shape != shape:
            raise ModelFileError(f"its array {kind}/{what} is of shape {array.shape}, not {shape}")
        for name, part in zip(members, np.split(array, np.cumsum(sizes)[:-1], axis=1), strict=True):
            found[name][what] = part
    return {name: _shaped(kind, schema.features[name], fields) for name, fields in found.items()}
