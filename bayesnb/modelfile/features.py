"""How the features of a schema stand in a model file: :func:`described` and :func:`read`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayesnb.data.binning import BinEdges
from bayesnb.data.columns import KINDS
from bayesnb.data.encoders import Feature
from bayesnb.families.family import Family
from bayesnb.families.support import LEVELS, ZEROS_AND_ONES
from bayesnb.modelfile.container import ModelFileError


def described(feature: Feature) -> dict[str, Any]:
    """A feature as values that :mod:`bayesnb.modelfile.values` can write."""
    described = {
        "columns": feature.columns,
        "family": feature.family,
        "how": feature.how,
        "levels": feature.levels,
        "kinds": feature.kinds,
        "cuts": feature.cuts,
    }
    # Without what came later, older versions read the file too.
    later = {"tried": feature.tried, "indicates": feature.indicates}
    return described | {what: value for what, value in later.items() if value}


def read(name: Any, said: Mapping[str, Any]) -> Feature:
    """The feature that a file describes.

    Raises
    ------
    ModelFileError
        If its parts do not fit together.
    """
    feature = Feature(**said)
    columns, levels, cuts = feature.columns, feature.levels, feature.cuts
    fits = isinstance(feature.family, Family) and isinstance(columns, tuple) and isinstance(feature.kinds, tuple)
    fits = fits and len(set(columns)) == len(columns) > 0 and isinstance(feature.how, str)
    fits = fits and isinstance(feature.indicates, tuple) and len(feature.indicates) in (0, len(columns))
    fits = fits and (not feature.indicates or feature.family.support == ZEROS_AND_ONES)
    fits = fits and _tuples(feature.tried) and all(len(one) == 3 for one in feature.tried)
    fits = fits and len(feature.kinds) in (0, len(columns)) and all(kind in KINDS for kind in feature.kinds)
    if fits and (feature.family.support == LEVELS) != (levels is None):
        if levels is not None:
            fits = _tuples(levels) and len(levels) == len(columns) and all(len(set(n)) == len(n) for n in levels)
            fits = fits and _in_order(feature.family, levels)
        if cuts is not None:
            fits = fits and len(cuts) == len(columns) and all(isinstance(cut, BinEdges) for cut in cuts)
        if fits:
            return feature
    raise ModelFileError(f"its feature {name!r} is not one")


def _in_order(family: Family, levels: tuple[tuple[Any, ...], ...]) -> bool:
    """Whether levels are those of the family, where it has an order of them."""
    try:
        return all(family.order_of(k) in (None, names) for k, names in enumerate(levels))
    except (IndexError, TypeError):
        return False


def _tuples(value: Any) -> bool:
    return isinstance(value, tuple) and all(isinstance(part, tuple) for part in value)
