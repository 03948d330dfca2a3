"""Plots. Each function takes a result of the estimator or of an evaluation, and returns a Figure.

Start with :func:`ledger`, for one row, and :func:`reliability`, for all rows. Write a figure with ``figure.savefig``
(``plt.savefig`` would write an empty one), or show it in a notebook after ``%matplotlib inline``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
