"""Plots: each function takes a result of the estimator or of an evaluation, and returns a Figure.

Start with :func:`ledger`, for one row, and :func:`reliability`, for all rows. Figures are not shown, and pyplot does
not keep them. ``figure.savefig`` writes one to a file; a notebook shows it after ``%matplotlib inline``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
