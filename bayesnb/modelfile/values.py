"""Values as JSON, and back: numbers, names, arrays, priors, families and cuts, exactly.

What may come back is a closed list of classes: the families of this package, their priors, what binned columns need,
and the distributions of PyMC by name. Nothing that a document names is imported, called or looked up anywhere else.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from bayesnb.chains import Sampler
from bayesnb.data.best_family import BestFamily
from bayesnb.data.binning import BinEdges, Binned
from bayesnb.data.by_type import ByType
from bayesnb.data.missing import Missing
from bayesnb.dependence.counting import Cells
from bayesnb.dependence.exponents import Exponents
from bayesnb.dependence.grid import Grid
from bayesnb.families import families
from bayesnb.families.dyadic import Dyadic
from bayesnb.families.from_pymc import Specified
from bayesnb.families.sampled import Sampled
from bayesnb.priors import UNSEEN, Compound, FixedProbabilities

KINDS: dict[str, type] = {kind.__name__: kind for family in families().values() for kind in (family, family.conjugate)}
# The parts of a compound family hold its priors.
KINDS = {name: kind for name, kind in KINDS.items() if not issubclass(kind, Compound)}
OTHERS = (
    BestFamily, Binned, BinEdges, ByType, Cells, Dyadic, Exponents, FixedProbabilities, Grid, Missing, Sampler,
    Specified,
)  # fmt: skip
KINDS |= {kind.__name__: kind for kind in OTHERS}

FORMER = {"Cut": "BinEdges", "Known": "FixedProbabilities"}
"""Names that classes have in older files."""

DTYPES = ("b", "i", "u", "f", "U", "O")


class NotPlainError(ValueError):
    """A value that no document can hold."""


def dumps(value: Any) -> str:
    """Write a value as JSON text; equal values give equal texts."""
    return json.dumps(encode(value), allow_nan=False, separators=(",", ":"))


def loads(text: str, limit: int) -> tuple[Any, int]:
    """Read the value of a text, and count the bytes that its arrays take.

    Raises
    ------
    ValueError
        For anything that :func:`dumps` does not write, and where the arrays take more bytes than ``limit``.
    """
    try:
        document = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_no_twice)
        size = claim(document)
        if size > limit:
            raise ValueError(f"arrays that claim {size} bytes of memory, which is too much for a file of this size")
        return decode(document), size
    except (RecursionError, KeyError, TypeError, OverflowError, AttributeError) as error:
        raise ValueError(f"not a document of this format ({type(error).__name__}: {error})") from error


def encode(value: Any) -> Any:
    """Turn a value into what JSON has. A key names the type where JSON alone cannot tell it from another type."""
    if isinstance(value, np.generic):
        value = value.item()
    match value:
        case None | bool() | str() | int():
            return value
        case float():
            return value if math.isfinite(value) else {"float": repr(value)}
        case np.ndarray():
            if value.dtype.kind not in DTYPES:
                raise NotPlainError(f"an array of {value.dtype} cannot be written")
            return {
                "array": [encode(v) for v in value.ravel().tolist()],
                "shape": value.shape,
                "dtype": value.dtype.str,
            }
        case tuple():
            return {"tuple": [encode(v) for v in value]}
        case list():
            return [encode(v) for v in value]
        case Mapping():
            return {"map": [[encode(k), encode(v)] for k, v in value.items()]}
        case _ if value is UNSEEN:
            return {"unseen": True}
        case type() if _in_pymc(value.__name__) is value:
            return {"pymc": value.__name__}
        case _ if (name := _name_of_transform(value)) is not None:
            return {"transform": name}
    kind = type(value)
    if KINDS.get(kind.__name__) is not kind:
        cure = "; give the prior as (pm.HalfNormal, {'sigma': 2})" if callable(value) else ""
        raise NotPlainError(f"{kind.__name__} cannot be written: {value!r}{cure}")
    told = {f.name: getattr(value, f.name) for f in fields(value)}
    # What only a posterior has is left out of a prior.
    return {
        "is": kind.__name__,
        **{f.name: encode(told[f.name]) for f in fields(value) if f.repr or told[f.name] is not None},
    }


def decode(value: Any) -> Any:
    """Turn it back into the value that :func:`encode` was given."""
    if isinstance(value, list):
        return [decode(v) for v in value]
    if not isinstance(value, dict):
        return value
    match value:
        case {"float": ("nan" | "inf" | "-inf") as text, **rest} if not rest:
            return float(text)
        case {"array": list(cells), "shape": list(shape), "dtype": str(dtype), **rest} if not rest:
            return _array(cells, shape, dtype)
        case {"tuple": list(items), **rest} if not rest:
            return tuple(decode(v) for v in items)
        case {"map": list(items), **rest} if not rest:
            return {decode(k): decode(v) for k, v in items}
        case {"unseen": True, **rest} if not rest:
            return UNSEEN
        case {"pymc": str(name), **rest} if not rest and _in_pymc(name) is not None:
            return _in_pymc(name)
        case {"transform": str(name), **rest} if not rest and name in TRANSFORMS:
            return _transforms()[name]
        case {"is": str(name), **arguments} if FORMER.get(name, name) in KINDS:
            kind = KINDS[FORMER.get(name, name)]
            needed = {f.name for f in fields(kind) if f.repr}
            if not needed <= set(arguments) <= {f.name for f in fields(kind)}:
                raise ValueError(f"{name} has no arguments {sorted(arguments)}")
            decoded = {k: decode(v) for k, v in arguments.items()}
            # The fields of a sampled family are not the arguments of its constructor.
            return kind.of_fields(**decoded) if issubclass(kind, Sampled) else kind(**decoded)
    raise ValueError(f"not a value of this format: {str(value)[:80]}")


def _in_pymc(name: str) -> Any:
    """Look up the distribution of PyMC of this name, that draws by itself; ``None`` if there is none."""
    import pymc as pm

    found = None if name in FREE_FORM else getattr(pm, name, None)
    # A mixture is no subclass of pm.Distribution.
    ours = isinstance(found, type) and found.__module__.startswith("pymc.distributions.")
    return found if ours and callable(getattr(found, "dist", None)) else None


FREE_FORM = ("CustomDist", "Simulator")
"""Distributions of PyMC that are made of functions."""


TRANSFORMS = ("log", "logodds", "ordered", "simplex", "circular")
"""The transformations of PyMC that a document may name."""


def _transforms() -> dict[str, Any]:
    from pymc.distributions import transforms

    return {name: getattr(transforms, name) for name in TRANSFORMS}


def _name_of_transform(value: Any) -> str | None:
    if not type(value).__module__.startswith("pymc."):
        return None
    return next((name for name, known in _transforms().items() if type(known) is type(value)), None)


def claim(document: Any) -> int:
    """Count the bytes that the arrays of a document take. In an array of type "<U33000000" a short cell is large."""
    match document:
        case {"array": list(cells), "dtype": str(dtype)}:
            return claim(cells) + dtype_of(dtype).itemsize * len(cells)
        case dict():
            return sum(map(claim, document.values()))
        case list():
            return sum(map(claim, document))
    return 0


def _array(cells: list[Any], shape: list[int], dtype: str) -> np.ndarray:
    if math.prod(shape) != len(cells):
        raise ValueError(f"not an array of this format: {len(cells)} cells as {shape}")
    return filled([decode(cell) for cell in cells], dtype).reshape(shape)


def filled(cells: Sequence[Any], dtype: str) -> np.ndarray:
    """Make an array of cells, of a type that a document may name."""
    found = np.empty(len(cells), dtype_of(dtype))
    for k, cell in enumerate(cells):
        found[k] = cell
    return found


def dtype_of(name: str) -> np.dtype:
    """Look up the type of cells of this name; only types that a document may name are known."""
    kind = np.dtype(name)
    if kind.kind not in DTYPES:
        raise ValueError(f"not an array of this format: cells of type {name[:40]}")
    return kind


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")


def _no_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice")
    return found
