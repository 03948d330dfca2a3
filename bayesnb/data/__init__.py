"""Convert any table to encoded columns, and a large table to sufficient statistics."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, ["engines"])
