"""Convert this package's data classes to JSON and arrays, and back, without loss."""

# Arrays of numbers are stored separately, named by their paths in the JSON document. Only classes in a fixed list are
# decoded.

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from bayesnb import chains
from bayesnb.data import encoders, schema, specifications
from bayesnb.data.readings import READINGS
from bayesnb.data.text import Text
from bayesnb.dependence import (
    columns,
    exponents,
    label_trees,
    learned,
    near,
    pairs,
    partitions,
    posterior,
    scores,
    terms,
)
from bayesnb.families import dyadic, families, from_pymc, sampled
from bayesnb.model import Statistics
from bayesnb.numerics import Array
from bayesnb.priors import UNSEEN, Compound, FixedProbabilities
from bayesnb.statistics.moments import Scatter

NAMED = {
    kind.__name__: kind
    for family in families().values()
    for kind in (family, family.conjugate, family.statistic_class)
    if not issubclass(kind, Compound)  # The parts of a compound family hold its priors.
}
OTHERS = (
    chains.Convergence, chains.Sampler, FixedProbabilities, sampled.Draws, dyadic.Dyadic, from_pymc.Specified,
    specifications.BestFamily, specifications.Binned, specifications.ByType,
    specifications.Missing, specifications.Unlabelled, encoders.Feature, encoders.Origin, schema.Schema, Statistics,
    Scatter, learned.Dependence, Text,
    terms.TermSet, columns.Cells, columns.Grid, columns.DependenceStatistics, pairs.PairCounts, near.NearCounts,
    partitions.Partitions, label_trees.LabelTrees, columns.Numbers,
    posterior.LearnedExponents, exponents.Exponents, exponents.Group, exponents.Layout, posterior.Laplace,
    scores.Spread, *READINGS.values(),
)  # fmt: skip
NAMED |= {kind.__name__: kind for kind in OTHERS}
"""The data classes that a JSON document may name, by name."""

FREE_FORM = ("CustomDist", "Simulator")
"""Distributions of PyMC that are defined by functions."""

TRANSFORMS = ("log", "logodds", "ordered", "simplex", "circular")
"""The transformations of PyMC that a document may name."""

FREE, PER_BYTE = 2**26, 32
"""Text arrays, and zeros that the file omits, may take ``FREE`` bytes of memory, plus ``PER_BYTE`` bytes for each byte
of the file."""

LARGE = 4_096
"""Arrays of at least this number of numbers are stored without their zeros if this saves half of the bytes."""


class NotPlainError(ValueError):
    """A value cannot be stored in a model file."""


def encode(value: Any, arrays: dict[str, Array], path: str = "") -> Any:
    """Convert a value to JSON types, and put arrays of numbers into ``arrays``."""
    if isinstance(value, np.generic):
        value = value.item()
    match value:
        case None | bool() | str() | int():
            return value
        case float():
            return value if math.isfinite(value) else {"float": repr(value)}
        case np.ndarray():
            return _encoded_array(value, arrays, path)
        case tuple():
            return {"tuple": [encode(v, arrays, f"{path}.{k}") for k, v in enumerate(value)]}
        case list():
            return [encode(v, arrays, f"{path}.{k}") for k, v in enumerate(value)]
        case Mapping():
            return {"map": [[encode(k, arrays, path), encode(v, arrays, f"{path}.{k}")] for k, v in value.items()]}
        case _ if value is UNSEEN:
            return {"unseen": True}
        case type() if _in_pymc(value.__name__) is value:
            return {"pymc": value.__name__}
        case _ if (name := _name_of_transform(value)) is not None:
            return {"transform": name}
    kind = type(value)
    if NAMED.get(kind.__name__) is not kind:
        cure = "; give the prior as (pm.HalfNormal, {'sigma': 2})" if callable(value) else ""
        raise NotPlainError(f"{kind.__name__} cannot be written: {value!r}{cure}")
    stated = {name: encode(getattr(value, name), arrays, f"{path}.{name}") for name in stated_fields(kind)}
    return {"is": kind.__name__, **stated}


def stated_fields(kind: type) -> list[str]:
    """The fields of a data class that its constructor accepts."""
    return [f.name for f in fields(kind) if f.init]


def _encoded_array(value: Array, arrays: dict[str, Array], path: str) -> Any:
    if value.dtype.kind in "biuf" and value.dtype.itemsize <= 8:
        # A name may hold anything, but the name of a tensor is Unicode; 1 and "1" give the same path.
        name = path[1:].encode("utf-8", "backslashreplace").decode()
        while name in arrays or f"{name}.at" in arrays:
            name += "'"
        if value.size >= LARGE:
            flat = np.ravel(value)
            # By their bits, because -0.0 is no zero that may be lost.
            at = np.flatnonzero(flat.view(f"u{flat.itemsize}"))
            at = at.astype(np.uint32 if value.size <= 2**32 else np.int64)
            if 2 * len(at) * (at.itemsize + value.itemsize) <= value.nbytes:
                arrays[name], arrays[f"{name}.at"] = flat[at], at
                return {"array": name, "at": f"{name}.at", "shape": list(value.shape)}
        arrays[name] = value
        return {"array": name}
    if value.dtype.kind not in "UO":
        raise NotPlainError(f"an array of {value.dtype} cannot be written")
    cells = [encode(cell, {}, path) for cell in value.ravel().tolist()]
    return {"cells": cells, "shape": list(value.shape), "dtype": value.dtype.str}


def decode(document: Any, arrays: Mapping[str, Array], size: int) -> Any:
    """Convert a document back to the value given to :func:`encode`; ``size`` is the number of bytes of the file."""
    # Documents that encode cannot have written raise errors, for example if a text array needs far more memory than the
    # file.
    decoder = _Decoder(dict(arrays), FREE + PER_BYTE * size)
    found = decoder.value(document)
    if decoder.arrays:
        raise ValueError(f"nothing says what its arrays {sorted(decoder.arrays)[:8]} are")
    return found


@dataclass
class _Decoder:
    arrays: dict[str, Array]
    left: int

    def value(self, said: Any) -> Any:
        if isinstance(said, list):
            return [self.value(v) for v in said]
        if not isinstance(said, dict):
            return said
        match said:
            case {"float": ("nan" | "inf" | "-inf") as text, **rest} if not rest:
                return float(text)
            case {"array": str(name), **rest} if not rest:
                return self.array(name)
            case {"array": str(name), "at": str(at), "shape": list(shape), **rest} if not rest:
                return self.with_zeros(self.array(name), self.array(at), shape)
            case {"cells": list(cells), "shape": list(shape), "dtype": str(dtype), **rest} if not rest:
                return self.texts(cells, shape, dtype)
            case {"tuple": list(items), **rest} if not rest:
                return tuple(self.value(v) for v in items)
            case {"map": list(items), **rest} if not rest:
                return {self.value(k): self.value(v) for k, v in items}
            case {"unseen": True, **rest} if not rest:
                return UNSEEN
            case {"pymc": str(name), **rest} if not rest and _in_pymc(name) is not None:
                return _in_pymc(name)
            case {"transform": str(name), **rest} if not rest and name in TRANSFORMS:
                return _transforms()[name]
            case {"is": str(name), **stated} if name in NAMED:
                kind = NAMED[name]
                if set(stated) != set(stated_fields(kind)):
                    raise ValueError(f"{name} has no fields {sorted(stated)}")
                # The fields of a sampled family differ from the arguments of its constructor.
                make = getattr(kind, "of_fields", kind)
                return make(**{key: self.value(v) for key, v in stated.items()})
        raise ValueError(f"not a value of this format: {str(said)[:80]}")

    def array(self, name: str) -> Array:
        if name not in self.arrays:
            raise ValueError(f"it has no array {name!r}, or uses it twice")
        return self.arrays.pop(name)

    def _take(self, memory: int) -> None:
        self.left -= memory
        if self.left < 0:
            raise ValueError("arrays that claim more memory than a file of this size may take")

    def with_zeros(self, values: Array, at: Array, shape: list[int]) -> Array:
        whole = all(type(n) is int and n >= 0 for n in shape) and at.dtype.kind in "iu" and at.shape == values.shape
        size = math.prod(shape) if whole else 0
        inside = not len(at) or (at[0] >= 0 and at[-1] < size and (at[1:] > at[:-1]).all())
        if not whole or values.ndim != 1 or not inside:
            raise ValueError(f"not an array of this format: {len(values)} numbers at {len(at)} positions of {shape}")
        self._take(values.itemsize * size)
        found = np.zeros(size, values.dtype)
        found[at] = values
        return found.reshape(shape)

    def texts(self, cells: list[Any], shape: list[int], dtype: str) -> Array:
        """Decode an array of texts or other values."""
        kind = np.dtype(dtype)
        if kind.kind not in "UO" or math.prod(shape) != len(cells):
            raise ValueError(f"not an array of this format: {len(cells)} cells of type {dtype[:40]} as {shape}")
        # An array type may need too much memory, such as "<U33000000".
        self._take(kind.itemsize * len(cells))
        found = np.empty(len(cells), kind)
        for k, cell in enumerate(cells):
            found[k] = self.value(cell)
        return found.reshape(shape)


def _in_pymc(name: str) -> Any:
    import pymc as pm

    found = None if name in FREE_FORM else getattr(pm, name, None)
    # A mixture is not a subclass of pm.Distribution.
    ours = isinstance(found, type) and found.__module__.startswith("pymc.distributions.")
    return found if ours and callable(getattr(found, "dist", None)) else None


def _transforms() -> dict[str, Any]:
    from pymc.distributions import transforms

    return {name: getattr(transforms, name) for name in TRANSFORMS}


def _name_of_transform(value: Any) -> str | None:
    if not type(value).__module__.startswith("pymc."):
        return None
    return next((name for name, known in _transforms().items() if type(known) is type(value)), None)
