"""The families; :class:`bayesnb.families.family.Family` is their contract.

A class in a file of this room is all that a new family needs: :func:`families` finds it there. Model files, the command
line and the API page take their lists of families from that function.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bayesnb.families.family import Family


def families() -> dict[str, type[Family]]:
    """Every family of this package, by the name of its class.

    The list is closed: a class that was defined elsewhere is not in it, whatever it is called.
    """
    from bayesnb.families.family import Family

    kinds = {}
    for place in pkgutil.iter_modules(__path__, f"{__name__}."):
        for name, kind in vars(importlib.import_module(place.name)).items():
            family = inspect.isclass(kind) and issubclass(kind, Family) and not inspect.isabstract(kind)
            if family and kind.__module__ == place.name and not name.startswith("_"):
                kinds[name] = kind
    return dict(sorted(kinds.items()))
