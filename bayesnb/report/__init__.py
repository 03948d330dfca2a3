"""A report of a fitted model as one page."""

import lazy_loader

# Lazy, because a screen of the command line imports only the parts that it shows.
__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submod_attrs={"page": ["is_report", "report", "write"]})
