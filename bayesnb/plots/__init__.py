"""Plots: each function takes a result of the estimator or of an evaluation, and returns a Figure.

Start with :func:`ledger`, for one row, and :func:`reliability`, for all rows. The functions do not show the figure, and
pyplot does not keep it. ``figure.savefig`` writes it to a file; a notebook shows it after ``%matplotlib inline``. The
modules are ``parameters``, ``rows``, ``regions``, ``checks`` and ``scores``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
