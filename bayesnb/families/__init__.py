"""The families; :class:`bayesnb.families.family.Family` is their contract.

A family is a class in a file of this folder and a line in ``__init__.pyi``. Modules are imported when first used.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from bayesnb.families.family import Family

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def families() -> dict[str, type[Family]]:
    """Every family by its class name."""
    return {name: getattr(sys.modules[__name__], name) for name in __all__}
