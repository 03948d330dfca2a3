"""All error and warning classes that the package defines; ``errors.pyi`` lists them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub("bayesnb", __file__)
