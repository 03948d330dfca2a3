"""Families by their short names, as they are written on the command line and in ``features``: "poisson", "binned"."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import Any

from bayesnb.data.best_family import BestFamily
from bayesnb.data.binning import Binned
from bayesnb.data.missing import Missing
from bayesnb.families import families


def families_by_name() -> dict[str, Any]:
    """The families that a model file can hold, and the other words for a column, by their names in small letters."""
    kinds = {name: kind for name, kind in families().items() if kind.exact}
    kinds |= {"Binned": Binned, "Best": BestFamily, "Missing": Missing}
    return {re.sub("(?<=.)(?=[A-Z])", "-", name).lower(): kind for name, kind in kinds.items()}


def family_named(name: str) -> Any:
    """The class of the family with this name, in any spelling of it.

    Raises
    ------
    ValueError
        If there is none, with the names that there are, and the one that may be meant.
    """
    kinds = families_by_name()
    asked = name.strip().lower().replace("_", "-")
    if asked in kinds:
        return kinds[asked]
    for known, kind in kinds.items():
        if known.replace("-", "") == asked.replace("-", ""):
            return kind
    close = get_close_matches(asked, kinds, 1)
    hint = f"; did you mean {close[0]!r}? The" if close else "; the"
    raise ValueError(f"there is no family {name!r}{hint} families are {', '.join(kinds)}")
