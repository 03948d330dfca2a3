"""Statistics of a table of any size, wherever it is: the public door of ``bayesnb.data.engines``."""

from bayesnb.data.engines import statistics

__all__ = ["statistics"]
