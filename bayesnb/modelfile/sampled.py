"""The draws of sampled features as arrays of a model file, and what else such features need.

A feature has a group of its own, ``/sampled_0``, ``/sampled_1``, ... in the order of the schema. Its array ``theta``
has a row for each draw, in which all parameters stand one after the other. A feature of numbers also has the distinct
``values`` that were seen in its columns, and their ``counts``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from bayesnb.chains import Convergence
from bayesnb.data.encoders import Feature
from bayesnb.data.schema import Schema
from bayesnb.families.levels import CategoryCounts
from bayesnb.families.sampled import Draws
from bayesnb.model import Statistics
from bayesnb.modelfile.container import ModelFileError, Variable
from bayesnb.priors import Array

GROUP = "/sampled_"


def owns(path: str) -> bool:
    """Whether an array belongs to this part of the file."""
    return path.startswith(GROUP)


def of_values(feature: Feature) -> bool:
    """Whether the statistic of a feature counts values that the schema does not list."""
    return feature.family.statistic_class is CategoryCounts and feature.levels is None


def names_in(schema: Schema) -> list[Any]:
    """The sampled features."""
    return [name for name, feature in schema.features.items() if not feature.family.exact]


def packed(
    schema: Schema, statistics: Statistics, draws: Mapping[Any, Draws]
) -> tuple[list[dict[str, Any]], dict[str, Variable]]:
    """What each sampled feature has, as a document and arrays."""
    said, arrays = [], {}
    for i, name in enumerate(names_in(schema)):
        group, found = f"{GROUP}{i}/", draws[name]
        theta = np.concatenate([value.reshape(len(found), -1) for value in found.theta.values()], axis=1)
        each = {"theta": (("draw", "number"), theta)}
        own = {
            "shapes": {key: value.shape[1:] for key, value in found.theta.items()},
            "convergence": asdict(found.convergence),
        }
        if of_values(schema.features[name]):
            s = statistics.features[name]
            own["widths"] = tuple(len(values) for values in s.levels)
            values = np.array([value for column in s.levels for value in column], float)
            each |= {"values": (("value",), values), "counts": (("class_label", "value"), s.for_file()["counts"])}
        said.append(own)
        sizes = {dim: n for dims, value in each.values() for dim, n in zip(dims, value.shape, strict=True)}
        arrays |= {
            f"{group}{dim}": Variable((dim,), np.arange(float(n))) for dim, n in sizes.items() if dim != "class_label"
        }
        arrays |= {f"{group}{key}": Variable(dims, value) for key, (dims, value) in each.items() if value.size}
    return said, arrays


def unpacked(
    said: Any, arrays: Mapping[str, Array], schema: Schema, n_classes: int
) -> tuple[dict[Any, Draws], dict[Any, CategoryCounts]]:
    """The draws of each sampled feature, and the statistics of those whose values the schema does not list.

    Raises
    ------
    ModelFileError
        For anything that :func:`packed` does not write.
    """
    names = names_in(schema)
    if not isinstance(said, list) or len(said) != len(names):
        raise ModelFileError("its draws are not those of its sampled features")
    draws, counted, left = {}, {}, dict(arrays)
    for i, (name, own) in enumerate(zip(names, said, strict=True)):
        group, n_columns = f"{GROUP}{i}/", len(schema.features[name].columns)
        each = {key: left.pop(group + key, None) for key in ("theta", "values", "counts", "draw", "number", "value")}
        shapes = own["shapes"]
        sound = all(isinstance(shape, tuple) and shape[:2] == (n_classes, n_columns) for shape in shapes.values())
        ends = np.cumsum([int(np.prod(shape)) for shape in shapes.values()])
        theta = each["theta"]
        if not sound or theta is None or theta.ndim != 2 or not len(theta) or theta.shape[1] != ends[-1]:
            raise ModelFileError(f"feature {name!r}: its draws are not of its parameters")
        if np.isnan(theta).any():
            raise ModelFileError(f"feature {name!r}: one of its draws is no number")
        parts = zip(shapes.items(), np.split(theta, ends[:-1], axis=1), strict=True)
        found = {key: part.reshape(len(theta), *shape) for (key, shape), part in parts}
        draws[name] = Draws(found, Convergence(**own["convergence"]))
        if of_values(schema.features[name]):
            counted[name] = _values(name, own["widths"], each, n_classes, n_columns)
    if left:
        raise ModelFileError(f"its arrays {sorted(left)[:8]} belong to no sampled feature")
    return draws, counted


def _values(name: Any, widths: Any, each: Mapping[str, Any], n_classes: int, n_columns: int) -> CategoryCounts:
    n = sum(widths)
    values = np.zeros(0) if each["values"] is None and n == 0 else each["values"]
    counts = np.zeros((n_classes, 0)) if each["counts"] is None and n == 0 else each["counts"]
    fits = len(widths) == n_columns and values is not None and counts is not None
    if not fits or values.shape != (n,) or counts.shape != (n_classes, n) or not np.isfinite(values).all():
        raise ModelFileError(f"feature {name!r}: its values are not those of its columns")
    ends = np.cumsum(widths)[:-1]
    levels = tuple(tuple(column.tolist()) for column in np.split(values, ends))
    if any(len(set(column)) < len(column) for column in levels):
        raise ModelFileError(f"feature {name!r}: a value stands twice")
    return CategoryCounts.from_file({"counts": counts}, tuple(range(n_columns)), levels)
