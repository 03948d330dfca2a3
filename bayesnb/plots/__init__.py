"""Results as pictures: each function takes what the estimator or an evaluation returned, and returns a Figure.

Start with :func:`ledger`, for one row, and :func:`reliability`, for all rows. The functions do not show the figure, and
pyplot does not keep it: ``figure.savefig`` writes a picture, and a notebook shows it after ``%matplotlib inline``.
``parameters``, ``rows``, ``regions``, ``checks`` and ``scores`` hold one kind of picture each.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
