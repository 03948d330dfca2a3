"""Check that a model file is consistent, and that some table could produce the statistics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayesnb.chains import Convergence
from bayesnb.data.columns import KINDS
from bayesnb.data.encoders import Feature, Origin
from bayesnb.data.readings import Reading
from bayesnb.data.schema import Schema
from bayesnb.data.specifications import Binned, ByType
from bayesnb.data.text import Text
from bayesnb.dependence.columns import Cells
from bayesnb.dependence.learned import Dependence
from bayesnb.families.columns import CategoryCounts, widest
from bayesnb.families.family import Family
from bayesnb.families.sampled import Draws
from bayesnb.model import Statistics
from bayesnb.modelfile.container import ModelFileError
from bayesnb.numerics import Array
from bayesnb.statistics.statistic import Labels, Statistic, form

UNSEEN_POLICIES = ("missing", "new", "error")

NO_ROWS = Labels.of([], 1)


def require(holds: Any, said: str) -> None:
    """Raise ``ModelFileError`` unless ``holds`` is true."""
    if not holds:
        raise ModelFileError(said)


def require_schema(schema: Schema) -> None:
    """Raise an error if a feature is inconsistent, or uses a column that is not in the schema."""
    used = {column for f in schema.features.values() for column in (*f.reads, *f.exposure)}
    sound = isinstance(schema.names, tuple) and isinstance(schema.named, bool) and schema.unseen in UNSEEN_POLICIES
    sound = sound and isinstance(schema.families, ByType) and isinstance(schema.readings, dict)
    sound = sound and all(isinstance(each, Reading) and each.resolves for each in schema.readings.values())
    require(sound and schema.features and used <= set(schema.names), "its schema is not one")
    for name, feature in schema.features.items():
        require(_fits(feature), f"its feature {name!r} is not one")


def _fits(feature: Feature) -> bool:
    columns, levels, kinds, source = feature.columns, feature.levels, feature.kinds, feature.source
    if not isinstance(feature.family, Family) or not _tuples((columns, kinds, source, feature.tried, feature.declared)):
        return False
    if not (isinstance(feature.origin, Origin) and feature.origin.sound):
        return False
    n, support = len(columns), feature.family.support
    if feature.text is not None:
        sound = isinstance(feature.text, Text) and len(source) == 1 and not kinds
        of_words = support.kind == "bag" and len(set(columns)) == n and all(isinstance(word, str) for word in columns)
        return sound and of_words and levels is None and feature.cuts is None
    fits = len(set(columns)) == n > 0 and len(source) in (0, n) and (not source or support.kind == "zero_one")
    of_levels = levels is not None and feature.cuts is None
    fits = fits and len(feature.declared) == (n if of_levels else 0) and _tuples(feature.declared)
    fits = fits and all(kind in KINDS for kind in kinds)
    fits = fits and (len(kinds) == n or (not kinds and not of_levels))
    fits = fits and _tuples(feature.tried) and all(len(one) == 3 for one in feature.tried)
    cuts = feature.cuts is None or (
        all(isinstance(cut, Binned) for cut in feature.cuts) and levels == tuple(cut.names for cut in feature.cuts)
    )
    if levels is None:
        return fits and cuts and feature.family.support.kind != "levels"
    fits = fits and cuts and _tuples(levels) and len(levels) == n and all(len(set(own)) == len(own) for own in levels)
    return fits and all(feature.family.order_of(k) in (None, own) for k, own in enumerate(levels))


def _tuples(value: Any) -> bool:
    return isinstance(value, tuple) and all(isinstance(part, tuple) for part in value)


def require_statistics(statistics: Statistics, schema: Schema) -> None:
    """Raise an error if the statistics do not match the schema, or if no rows can have produced them."""
    rows, n = statistics.rows, len(statistics.labels)
    sound = rows.shape == (n,) and rows.dtype == float and (np.isfinite(rows) & (rows >= 0)).all()
    require(sound, f"its rows of the classes are {rows.tolist()[:8]}")
    require(statistics.features.keys() == schema.features.keys(), "its statistics are not those of its features")
    for name, s in statistics.features.items():
        require(_is_of(s, schema.features[name]), f"feature {name!r}: its statistics are not those of its columns")
        _require_possible(s, rows, f"feature {name!r}")


def _is_of(s: Statistic, feature: Feature) -> bool:
    columns, levels = len(feature.columns), feature.levels
    if levels is None and isinstance(s, CategoryCounts):
        # The values of a sampled feature are stored only in its statistic.
        levels = s.levels
        distinct = _tuples(levels) and all(len(set(own)) == len(own) for own in levels) and len(levels) == columns
        numbers = distinct and np.isfinite([value for own in levels for value in own]).all()
        return numbers and form(s) == form(CategoryCounts(np.zeros((1, columns, widest(levels))), levels))
    if levels is not None and columns * widest(levels) > s.counts.size:
        return False
    nothing = np.zeros((0, columns), float if levels is None else np.intp)
    return form(s) == form(feature.family.statistic(feature.read(nothing), NO_ROWS))


def _require_possible(s: Statistic, rows: Array, what: str) -> None:
    for name, value in s.arrays().items():
        require(len(value) == len(rows), f"{what}: its {name} is not that of {len(rows)} classes")
        wrong = value[~np.isfinite(value) | ((value < 0) & (name not in s.signed))]
        require(not wrong.size, f"{what}: its {name} is {wrong.min(initial=np.inf):g} somewhere")
    require((s.seen() <= rows[:, None] * (1 + 1e-6)).all(), f"{what}: more values were seen than there are rows")
    said = s.contradiction()
    require(not said, f"{what}: {said}")


def require_draws(draws: Mapping[Any, Draws], schema: Schema, n_classes: int) -> None:
    """Raise an error unless all sampled features, and no others, have draws."""
    sampled = {name for name, feature in schema.features.items() if not feature.family.exact}
    require(draws.keys() == sampled, "its draws are not those of its sampled features")
    for name, found in draws.items():
        shape = n_classes, len(schema.features[name].columns)
        for value in found.theta.values():
            fits = len(value) == len(found) > 0 and value.ndim >= 3 and value.shape[1:3] == shape
            require(fits, f"feature {name!r}: its draws are not of its parameters")
            known = value.dtype == float and not np.isnan(value).any()
            require(known, f"feature {name!r}: one of its draws is no number")


def require_record(record: Mapping[str, Any]) -> None:
    """Raise an error if the record of a fit (such as its scores) has an unknown entry or a value of a wrong type."""
    known = {"data": str, "rows": int, "accuracy": float, "log_loss": float, "frequencies": float, "folds": int,
             "weight": float}  # fmt: skip
    sound = isinstance(record, dict) and all(type(value) is known.get(name) for name, value in record.items())
    require(sound, "its record is not one")


def require_drawn(drawn: Mapping[str, Any], schema: Schema, n_classes: int) -> None:
    """Raise an error unless the class probabilities and all features have draws."""
    require(drawn.keys() == {"log_pi", "features", "convergence"}, "its draws have other parts than they should")
    log_pi, features = drawn["log_pi"], drawn["features"]
    require(isinstance(drawn["convergence"], Convergence), "its draws have no diagnostics")
    require(isinstance(log_pi, np.ndarray) and log_pi.ndim == 3 and log_pi.size > 0, "its draws have no classes")
    require(features.keys() == schema.features.keys(), "its draws are not those of its features")
    values = [log_pi, *(value for theta in features.values() for value in theta.values())]
    fits = all(value.dtype == float and value.shape[:2] == log_pi.shape[:2] for value in values)
    require(fits and log_pi.shape[2] == n_classes, "its draws are not of its parameters")
    require(not any(np.isnan(value).any() for value in values), "one of its draws is no number")


def require_dependence(found: Dependence, schema: Schema, rows: Array) -> None:
    """Raise an error if the dependence has impossible counts, or columns that differ from the schema."""
    learned, statistics = found.exponents, found.statistics
    spec, posterior, cells = learned.spec, learned.posterior, statistics.cells
    numbers = (found.weight, learned.off, learned.power, *([] if posterior is None else [posterior.log_evidence]))
    require((posterior is None) == (spec.forests is not None), "its dependence has no posterior of the exponents")
    sound = isinstance(found.older, bool) and all(isinstance(number, float) for number in numbers)
    require(sound, "its dependence has other numbers than it should")
    _require_cells(cells, schema)
    require(cells.forests_sound and cells.forests == spec.forests, "its dependence has forests that none can be")
    cut, trees = cells.partitions, cells.trees
    require(cut is None or cut.sound(len(cells.grid)), "its dependence has partitions that none can be")
    require(trees is None or trees.divides(cells.grid.widths), "its dependence has trees that none can be")
    require(statistics.sound(_columns(schema)), "its dependence has counts of other cells")
    for s in statistics.parts():
        _require_possible(s, rows, "its dependence")
    groups, offsets = found.terms.groups(spec, _columns(schema)), learned.layout.cells
    require(offsets in (0, cells.grid.offset_cells), "its dependence has offsets of cells that it does not have")
    numbers = 0 if cells.numbers is None else len(cells.numbers.columns)
    centred = cells.centre.shape == (len(cells.owners),) and bool(np.isfinite(cells.centre).all())
    require(centred or cells.forests, "its dependence has covariates without a centre")
    require(isinstance(cells.others, int) and cells.others >= 0, "its dependence has an impossible number of columns")
    fits = learned.fits(groups, len(rows), offsets, trees is not None, numbers)
    require(fits, "its dependence has exponents of other terms")
    layout, every = learned.learned, learned.layout
    n = layout.size
    draws = len(learned.weights) if spec.average else 1 if posterior is None else spec.draws
    arrays = {} if posterior is None else {"mode": (posterior.mode, (n,)), "factor": (posterior.factor, (n, n))}
    arrays |= {"points": (learned.points, (draws, every.size)), "weights": (learned.weights, (draws,))}
    for k, spread in enumerate(learned.spreads):
        require(0 <= spread.weight <= 1, "its dependence: a member of the average has no weight")
        rank = spread.root.shape[-1] if spread.root.ndim else -1
        arrays |= {f"mean of member {k}": (spread.mean, (every.size,))}
        arrays |= {f"root of member {k}": (spread.root, (every.size, rank))}
        require(0 <= rank <= 2 * every.size, "its dependence has a root of too many columns")
    total = sum(spread.weight for spread in learned.spreads)
    sound = len(learned.spreads) == max(1, len(learned.average)) and np.isclose(total, 1.0)
    require(sound, "its dependence: the members of the average have no weights")
    for name, (array, shape) in arrays.items():
        require(array.shape == shape, f"its dependence has no array {name} of shape {shape}")
        require(np.isfinite(array).all(), f"its dependence: {name} is not finite somewhere")
    if posterior is not None:
        require((np.diag(posterior.factor) > 0).all(), "its dependence: the exponents have no covariance")
    sound = (learned.weights >= 0).all() and np.isclose(learned.weights.sum(), 1.0)
    sound = sound and (posterior is None or draws >= spec.draws)
    require(sound, "its dependence: the draws of the exponents have no weights")


def _columns(schema: Schema) -> int:
    return sum(1 if feature.family.whole_rows else len(feature.columns) for feature in schema.features.values())


def _require_cells(cells: Cells, schema: Schema) -> None:
    grid, joint = cells.grid, cells.joint
    sound = isinstance(cells.shapes, bool) and _tuples(joint)
    together = [k for block in joint for k in block] if sound else []
    sound = sound and all(type(k) is int and 0 <= k < _columns(schema) for k in together)
    sound = sound and all(joint) and len(set(together)) == len(together) != 1
    require(sound, "its dependence has no cells")
    place, first = {}, 0
    for name, feature in schema.features.items():
        width = 1 if feature.family.whole_rows else len(feature.columns)
        place |= {} if feature.family.whole_rows else {(name, k): first + k for k in range(width)}
        first += width
    columns = [*zip(grid.features, grid.places, strict=True)]
    fits = [place.get(column) for column in columns] == grid.terms.tolist() and len(columns) == len(grid.cuts)
    require(fits, "its dependence has cells of columns that the model does not have")
    require(grid.sound, "its dependence has columns that are cut as none can be")
    require(cells.numbers is None or cells.numbers.sound(grid), "its dependence has no such numbers")
    fits = _tuples(cells.pairs) and all(len(pair) == 2 for pair in cells.pairs)
    fits = fits and all(type(k) is int and 0 <= k < len(columns) for pair in cells.pairs for k in pair)
    require(fits, "its dependence has pairs of columns that the model does not have")
