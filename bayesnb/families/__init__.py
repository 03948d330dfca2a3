"""The families; :class:`bayesnb.families.family.Family` is their contract.

A family is one class in a file of this room and one line in ``__init__.pyi``. Model files, the command line and the API
page take their lists of families from :func:`families`. Nothing is imported before it is used.
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

    The list is closed: a class that was defined elsewhere is not in it, whatever it is called.
    """
    return {name: getattr(sys.modules[__name__], name) for name in __all__}
