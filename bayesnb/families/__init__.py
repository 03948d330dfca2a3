"""The families; :class:`bayesnb.families.family.Family` is their contract.

A family is one class in a file of this folder and one line in ``__init__.pyi``. Model files, the command line and the
API page take their lists of families from :func:`families`. Modules are imported when they are first used.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from bayesnb.families.family import Family

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def families() -> dict[str, type[Family]]:
    """Every family of this package, by the name of its class.

    A class that is defined outside this package is never in the list, whatever its name.
    """
    return {name: getattr(sys.modules[__name__], name) for name in __all__}
