"""Which values a family can read: its support, said once and validated for it.

A table's columns are turned into numbers first and validated next (see ``data.encoders``): :meth:`Support.invalid` finds the
cells outside a family's support, and the error names column, row, value and cure. For two supports this second pass
over a large table is saved. An infinite number makes the sums of a pair for reals infinite or NaN, and only then is it
looked for. A pair for zeros and ones raises :class:`InvalidCellError` itself, from the loop that sums them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bayesnb.numerics import Array


class InvalidCellError(ValueError):
    """A cell is outside the support of its family; whoever knows the columns says which one."""


@dataclass(frozen=True)
class Support:
    """The values that a family can read.

    Parameters
    ----------
    name : str
        What they are called.
    needs : str
        What one of them is called, for errors.
    cure : str
        What to do with a column that holds others.
    contains : function
        Which numbers of an array are among them, as booleans.
    """

    name: str
    needs: str
    cure: str
    contains: Callable[[Array], Array]

    def __str__(self) -> str:
        return self.name

    def invalid(self, x: Array) -> Array:
        """Which numbers of an array are not among them; a missing one (NaN) always is."""
        return ~(self.contains(x) | np.isnan(x)) if x.dtype.kind == "f" else ~self.contains(x)


REALS = Support("reals", "a finite number", "write a missing value (NaN) or a number there", np.isfinite)
"""Finite numbers."""

POSITIVE = Support("positive reals", "a positive number", "use Gaussian() for it", lambda x: (x > 0) & np.isfinite(x))
"""Finite numbers above 0."""

COUNTS = Support("counts", "a count", "use Gaussian() for it", lambda x: (x >= 0) & (x == np.floor(x)) & np.isfinite(x))
"""Whole numbers from 0 on."""

ZEROS_AND_ONES = Support(
    "zeros and ones", "0 or 1", "use Categorical() or Gaussian() for it", lambda x: (x == 0) | (x == 1)
)
"""0 and 1."""

LEVELS = Support("levels", "a level", "use Categorical() for it", lambda x: x >= -1)
"""Codes of the levels of a column; -1 is missing."""

BAG = Support(
    "vector of counts", "a count that is not negative", "use Gaussian() for it", lambda x: (x >= 0) & np.isfinite(x)
)
"""All columns of a row together: how often each word occurs. Fractions, such as tf-idf weights, are read too."""
