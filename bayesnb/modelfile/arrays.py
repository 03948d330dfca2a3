"""The statistics of a model as a few arrays, named and with coordinates.

Features whose statistics are of one class share a group of arrays, since a group a feature would be hundreds of times
slower to read at five hundred features. A feature whose family is made of others stands in the groups of its parts, one
after the other. Which arrays there are, and along what, the statistic itself declares
(``per`` in ``bayesnb.statistics.statistic``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from bayesnb.data.schema import Schema
from bayesnb.families.family import Family
from bayesnb.families.levels import widest
from bayesnb.model import Statistics
from bayesnb.modelfile import sampled
from bayesnb.modelfile.container import ModelFileError, Variable
from bayesnb.priors import Array
from bayesnb.statistics.statistic import Statistic

# The coordinates that name a cell along each axis.
COORDINATES = {
    "column": ("feature", "column"),
    "category": ("feature", "column", "category"),
    "bag": ("bag",),
    "pair": ("pair_of", "pair", "beside"),
}


def packed(schema: Schema, statistics: Statistics) -> dict[str, Variable]:
    """Turn statistics into arrays: the weight of each class at the root, and one group for each class of statistics."""
    packed = {"/class_label": Variable(("class_label",), _texts(statistics.labels))}
    packed["/rows"] = Variable(("class_label",), np.asarray(statistics.rows, float))
    for group, (kind, leaves) in _groups(schema).items():
        names = [name for name, _ in leaves]
        axes = {what: field.metadata["axis"] for what, field in kind.axes().items()}
        for axis in dict.fromkeys(axes.values()):
            cells = [cell for name in names for cell in _cells(schema, name, axis)]
            for k, title in enumerate(COORDINATES[axis]):
                packed[f"/{group}/{title}"] = Variable((axis,), _texts(cell[k] for cell in cells))
        each = [_leaf(statistics.features[name], place).for_file() for name, place in leaves]
        for what, axis in axes.items():
            array = np.concatenate([np.asarray(fields[what], float) for fields in each], axis=1)
            packed[f"/{group}/{what}"] = Variable(("class_label", axis, "part")[: array.ndim], array)
            if parts := kind.axes()[what].metadata["parts"]:
                packed[f"/{group}/part"] = Variable(("part",), _texts(parts))
    return packed


def unpacked(
    schema: Schema, arrays: Mapping[str, Array], n_classes: int, others: Mapping[Any, Statistic]
) -> dict[Any, Statistic]:
    """Cut the statistic of each feature out of the arrays of its group; ``others`` are already known.

    Raises
    ------
    ModelFileError
        If an array is missing, too many, or of another shape.
    """
    groups = _groups(schema)
    expected = {"/rows", "/class_label"}
    for group, (kind, _) in groups.items():
        for what in kind.axes():
            expected |= {
                f"/{group}/{what}",
                *(f"/{group}/{title}" for title in COORDINATES[kind.axes()[what].metadata["axis"]]),
            }
            expected |= {f"/{group}/part"} if kind.axes()[what].metadata["parts"] else set()
    if set(arrays) != expected:
        raise ModelFileError(f"Expected the arrays {sorted(expected)}; got {sorted(arrays)}")
    found: dict[Any, Statistic] = {(name, ()): s for name, s in others.items()}
    for group, (kind, leaves) in groups.items():
        each: dict[Any, dict[str, Array]] = {leaf: {} for leaf in leaves}
        for what, field in kind.axes().items():
            path, axis, parts = f"/{group}/{what}", field.metadata["axis"], field.metadata["parts"]
            sizes = [len(_cells(schema, name, axis)) for name, _ in leaves]
            shape = (n_classes, sum(sizes), *([len(parts)] if parts else []))
            if arrays[path].shape != shape:
                raise ModelFileError(f"its array {path[1:]} is of shape {arrays[path].shape}, not {shape}")
            for leaf, own in zip(leaves, np.split(arrays[path], np.cumsum(sizes)[:-1], axis=1), strict=True):
                each[leaf][what] = own
        for leaf in leaves:
            feature = schema.features[leaf[0]]
            found[leaf] = kind.from_file(each[leaf], feature.columns, feature.levels)
    return {name: _whole(name, feature.family, found) for name, feature in schema.features.items()}


def _leaves(family: Family, place: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Family]]:
    """Yield the families of a feature that are not made of others, each with its place among the parts of parts."""
    if not family.parts:
        yield place, family
    for k, part in enumerate(family.parts):
        yield from _leaves(part, (*place, k))


def _leaf(s: Any, place: tuple[int, ...]) -> Statistic:
    """The statistic at a place."""
    for k in place:
        s = s.parts[k]
    return s


def _whole(name: Any, family: Family, leaves: Mapping[Any, Statistic], place: tuple[int, ...] = ()) -> Statistic:
    """The statistic of a feature, put together from those at all places."""
    if not family.parts:
        return leaves[name, place]
    return family.statistic_class(tuple(_whole(name, p, leaves, (*place, k)) for k, p in enumerate(family.parts)))


def claim(schema: Schema, n_classes: int) -> int:
    """Count the bytes of memory that tables of levels take.

    In memory every column of a feature has as many cells as the column with the most levels. The statistic, the prior,
    the posterior and the plug-in have that many numbers each.
    """
    tables = [feature.levels for feature in schema.features.values() if feature.levels is not None]
    return 4 * 8 * n_classes * sum(len(levels) * widest(levels) for levels in tables)


def _groups(schema: Schema) -> dict[str, tuple[type[Statistic], list[tuple[Any, tuple[int, ...]]]]]:
    """Group the features, or their parts, by the class of their statistics, in the order of the schema."""
    groups: dict[str, tuple[type[Statistic], list[tuple[Any, tuple[int, ...]]]]] = {}
    for name, feature in schema.features.items():
        if sampled.of_values(feature):
            continue
        for place, family in _leaves(feature.family):
            kind = family.statistic_class
            groups.setdefault(kind.group, (kind, []))[1].append((name, place))
    return dict(sorted(groups.items()))


def _cells(schema: Schema, name: Any, axis: str) -> list[tuple[Any, ...]]:
    """Name each cell of a feature along an axis, by feature, column and category as far as the axis has them."""
    feature = schema.features[name]
    if axis == "bag":
        return [(name,)]
    if axis == "column":
        return [(name, column) for column in feature.columns]
    if axis == "pair":
        return [(name, a, b) for k, a in enumerate(feature.columns) for b in feature.columns[: k + 1]]
    if feature.levels is None:
        return [(name, word, word) for word in feature.columns]
    pairs = zip(feature.columns, feature.levels, strict=True)
    return [(name, column, level) for column, levels in pairs for level in levels]


def _texts(names: Iterable[Any]) -> Array:
    """Write names as text for people; the schema holds the exact names."""
    texts = [str(name).encode("utf-8", "backslashreplace").decode().replace("\0", "\\0") for name in names]
    return np.array(texts, object)
