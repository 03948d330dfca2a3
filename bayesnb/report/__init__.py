"""A fitted model as one page: what was learned, how good it is, and which rows are uncertain.

Start with :func:`report`. ``page`` chooses the sections and their order; ``scores`` and ``questions`` make them of
``parts``, also for the command line; ``writer``, with ``templates``, writes the page.
"""

import lazy_loader

# A screen of the command line takes its parts from here, and imports no more than it shows.
__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submod_attrs={"page": ["is_report", "report", "write"]})
