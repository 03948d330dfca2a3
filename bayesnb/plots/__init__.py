"""Plots of results, returned as figures.

Start with :func:`ledger`, for one row, and :func:`reliability`, for all rows. Write a figure with ``figure.savefig``
(not ``plt.savefig``), or show it in a notebook after ``%matplotlib inline``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
