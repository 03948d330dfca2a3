"""All error and warning classes that the package defines; ``errors.pyi`` lists them."""

from typing import Any

import lazy_loader

_public, __dir__, __all__ = lazy_loader.attach_stub("bayesnb", __file__)


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _public(name)
