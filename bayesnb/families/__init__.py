"""Likelihoods of columns; :class:`bayesnb.families.family.Family` is the base class.

A new family needs a class in this folder, and an import in ``__init__.pyi``.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from bayesnb.families.family import Family

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def families() -> dict[str, type[Family]]:
    """A dictionary of all families by class name."""
    return {name: getattr(sys.modules[__name__], name) for name in __all__}
