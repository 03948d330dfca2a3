"""How features depend on each other, as a part of a model file: the exponents, and what is counted beside the columns.

The specification and the cells are JSON (see ``values``); what is counted, the posterior of the exponents and its draws
are arrays of the group "dependence". All that is read is checked: an array has the shape that the cells say, counts are
those of rows, and everything else follows from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayesnb.data.schema import Schema
from bayesnb.dependence.counting import Cells, DependenceStatistics
from bayesnb.dependence.exponents import CELLS, OWN, Exponents, layout_of
from bayesnb.dependence.grid import DEPTH, MOST_LEVELS, PAIR_DEPTH, Grid
from bayesnb.dependence.laplace import Laplace
from bayesnb.dependence.learned import Dependence
from bayesnb.dependence.learned_exponents import LearnedExponents
from bayesnb.dependence.pairs import PairCounts
from bayesnb.dependence.polya import ShapeCounts
from bayesnb.dependence.termset import TermSet
from bayesnb.families.dyadic import Dyadic
from bayesnb.modelfile.container import ModelFileError, Variable
from bayesnb.priors import Array
from bayesnb.statistics.scatter import Scatter

GROUP = "/dependence/"
DIMENSIONS = (
    *("parameter", "other_parameter", "draw", "real_column", "cell", "cell_of_pair"),
    *("whole", "gaussian_column", "other_column"),
)
NUMBERS = ("weight", "off", "log_evidence")


def owns(path: str) -> bool:
    """Whether an array belongs to this part of the file."""
    return path.startswith(GROUP)


def _dimensions(name: str) -> tuple[str, ...]:
    """The dimensions of a field of the joint moments."""
    of = {"bag": ("whole",), "column": ("gaussian_column",), "pair": ("gaussian_column", "other_column")}
    return ("class_label", *of[Scatter.axes()[name].metadata["axis"]])


def packed(found: Dependence | None) -> tuple[dict[str, Any] | None, dict[str, Variable]]:
    """What is learned, as a document and arrays; an array without a cell is left out."""
    if found is None:
        return None, {}
    exponents, statistics = found.exponents, found.statistics
    said = {
        "spec": exponents.spec,
        "names": exponents.names,
        "scales": exponents.scales,
        "cells": statistics.cells,
        "weight": found.weight,
        "older": found.older,
        "cells_with_offsets": exponents.layout.cells,
        "off": exponents.off,
        "log_evidence": exponents.posterior.log_evidence,
    }
    arrays = {
        "mode": (("parameter",), exponents.posterior.mode),
        "factor": (("parameter", "other_parameter"), exponents.posterior.factor),
        "points": (("draw", "parameter"), exponents.points),
        "shapes": (("class_label", "real_column", "cell"), statistics.shapes.counts),
        "pairs": (("class_label", "cell_of_pair"), statistics.pairs.counts),
    }
    for name, value in statistics.joint.arrays().items():
        arrays[f"joint_{name}"] = (_dimensions(name), value)
    held = {GROUP + name: Variable(dims, value) for name, (dims, value) in arrays.items() if value.size}
    sizes = {dim: n for each in held.values() for dim, n in zip(each.dims, each.values.shape, strict=True)}
    numbered = {GROUP + dim: Variable((dim,), np.arange(float(sizes[dim]))) for dim in DIMENSIONS if dim in sizes}
    return said, numbered | held


def unpacked(said: Any, arrays: Mapping[str, Array], schema: Schema, rows: Array) -> Dependence | None:
    """What a document and arrays say, for a model with this schema and the weight of each class.

    Raises
    ------
    ModelFileError
        For anything that :func:`packed` does not write.
    """
    if said is None and not arrays:
        return None
    if not isinstance(said, dict) or not isinstance(spec := said["spec"], Exponents):
        raise ModelFileError("its dependence is not one")
    if not all(isinstance(said[name], float) for name in NUMBERS) or not isinstance(said["older"], bool):
        raise ModelFileError("its dependence has other numbers than it should")
    cells, n_classes = said["cells"], len(rows)
    left = {path: value for path, value in arrays.items() if path.removeprefix(GROUP) not in DIMENSIONS}
    _require_cells(cells, schema)

    def array(name: str, *shape: int) -> Array:
        value = left.pop(GROUP + name, None)
        value = np.zeros(shape) if value is None and 0 in shape else value
        if value is None or value.shape != shape:
            raise ModelFileError(f"its dependence has no array {name} of shape {shape}")
        if not np.isfinite(value).all():
            raise ModelFileError(f"its dependence: {name} is not finite somewhere")
        return value

    sizes = tuple(axis.size for axis in cells.grid.axes(PAIR_DEPTH))
    n_cells = sum(sizes[i] * sizes[j] for i, j in cells.pairs)
    shapes = ShapeCounts(array("shapes", n_classes, len(cells.shaped), 2**DEPTH))
    pairs = PairCounts(array("pairs", n_classes, n_cells), cells.pairs, sizes)
    lengths = {"class_label": n_classes, "whole": 1, "gaussian_column": cells.joint, "other_column": cells.joint}
    joint = Scatter(
        **{name: array(f"joint_{name}", *(lengths[dim] for dim in _dimensions(name))) for name in Scatter.axes()}
    )
    for statistic in (shapes, pairs, joint):
        counts = next(iter(statistic.arrays().values()))
        if (counts < 0).any() or (statistic.seen() > rows[:, None] * (1 + 1e-6)).any():
            raise ModelFileError("its dependence: no rows can have led to what was counted")
    found = TermSet.of(DependenceStatistics(cells, shapes, pairs, joint))
    groups = found.groups(spec, _columns(schema))
    layout = layout_of(groups, n_classes, _with_offsets(said["cells_with_offsets"], cells))
    size = layout.size
    posterior = Laplace(array("mode", size), array("factor", size, size), said["log_evidence"])
    if not (np.diag(posterior.factor) > 0).all():
        raise ModelFileError("its dependence: the exponents have no covariance")
    points = array("points", spec.draws, size)
    names, scales = said["names"], said["scales"]
    known = {*(group.name for group in groups), OWN, CELLS} <= set(scales) and all(v > 0 for v in scales.values())
    if left or not known or not isinstance(names, tuple) or len(names) != sum(group.terms for group in groups):
        raise ModelFileError("its dependence is not one")
    exponents = LearnedExponents.of(spec, layout, groups, names, scales, posterior, points, said["off"])
    return Dependence(found, exponents, said["weight"], said["older"])


def _with_offsets(said: Any, cells: Cells) -> int:
    """How many cells have offsets: none or all."""
    if type(said) is not int or said not in (0, cells.grid.offset_cells):
        raise ModelFileError("its dependence has offsets of cells that it does not have")
    return said


def _columns(schema: Schema) -> int:
    """How many terms the columns of a schema have."""
    return sum(1 if feature.family.whole_rows else len(feature.columns) for feature in schema.features.values())


def _require_cells(cells: Any, schema: Schema) -> None:
    """Refuse cells that no columns of this schema have."""
    sound = isinstance(cells, Cells) and isinstance(grid := cells.grid, Grid) and isinstance(cells.shapes, bool)
    if not sound or not isinstance(cells.joint, int) or not 0 <= cells.joint <= _columns(schema):
        raise ModelFileError("its dependence has no cells")
    place, first = {}, 0
    for name, feature in schema.features.items():
        width = 1 if feature.family.whole_rows else len(feature.columns)
        place |= {} if feature.family.whole_rows else {(name, k): first + k for k in range(width)}
        first += width
    columns = [*zip(grid.features, grid.places, strict=True)]
    if [place.get(column) for column in columns] != grid.terms.tolist() or len(columns) != len(grid.cuts):
        raise ModelFileError("its dependence has cells of columns that the model does not have")
    if not all(map(_is_cut, grid.cuts)):
        raise ModelFileError("its dependence has columns that are cut as none can be")
    pairs = isinstance(cells.pairs, tuple) and all(isinstance(pair, tuple) and len(pair) == 2 for pair in cells.pairs)
    if not pairs or not all(type(k) is int and 0 <= k < len(columns) for pair in cells.pairs for k in pair):
        raise ModelFileError("its dependence has pairs of columns that the model does not have")


def _is_cut(cut: Any) -> bool:
    """Whether a column can be cut so."""
    if not isinstance(cut, Dyadic):
        return (isinstance(cut, tuple) and len(set(cut)) == len(cut) <= MOST_LEVELS) or cut == 2
    edges, paths = cut.edges, cut.paths
    sound = edges.dtype == float and paths.dtype.kind == "i" and edges.ndim == 1 and paths.shape == (len(edges) + 1,)
    sound = sound and cut.depth == DEPTH and bool(np.isfinite(edges).all() and (np.diff(edges) > 0).all())
    return sound and bool((paths >= 0).all() and (paths < 2**DEPTH).all())
