"""The support of a family: which values it can read.

Columns are first converted to numbers and then validated (see ``data.encoders``): :meth:`Support.invalid` finds the
cells outside the support, and the error names column, row, value and cure. Numbers that may have fractions also have
an ordinary size (see ``kernels.reading``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bayesnb.numerics import Array


@dataclass(frozen=True)
class Support:
    """The values that a family can read.

    Parameters
    ----------
    name : str
        The name of this set of values.
    needs : str
        The name of one of the values, for errors.
    cure : str
        What to do with a column that holds other values, for errors.
    contains : function
        Which numbers of an array are in the support, as booleans.
    interval : bool
        Whether with two numbers all those between them are in the support.
    """

    name: str
    needs: str
    cure: str
    contains: Callable[[Array], Array]
    interval: bool = False

    def __str__(self) -> str:
        return self.name

    def invalid(self, x: Array) -> Array:
        """Which numbers of an array are outside the support. A missing value (NaN) never is."""
        return ~(self.contains(x) | np.isnan(x)) if x.dtype.kind == "f" else ~self.contains(x)

    def all_in(self, x: Array) -> bool:
        """Whether all numbers of an array are in the support; a missing value (NaN) is not."""
        if self.interval and x.size:
            # NaN is the smallest and the largest number of an array that holds it.
            x = np.array([x.min(), x.max()])
        return bool(self.contains(x).all())


REALS = Support("reals", "a finite number", "write a missing value (NaN) or a number there", np.isfinite)
"""Finite numbers."""

POSITIVE = Support("positive reals", "a positive number", "use Gaussian() for it", lambda x: (x > 0) & np.isfinite(x))
"""Finite numbers above 0."""

NONNEGATIVE = Support(
    "0 and positive reals", "0 or a positive number", "use Gaussian() for it", lambda x: (x >= 0) & np.isfinite(x)
)
"""Finite numbers from 0 on."""

COUNTS = Support("counts", "a count", "use Gaussian() for it", lambda x: (x >= 0) & (x == np.floor(x)) & (x <= 2.0**53))
"""Whole numbers from 0 on. Above 2^53, not every whole number is a float, and a sum keeps no digit of small counts."""

ZEROS_AND_ONES = Support(
    "zeros and ones", "0 or 1", "use Categorical() or Gaussian() for it", lambda x: (x == 0) | (x == 1)
)
"""0 and 1."""

LEVELS = Support("levels", "a level", "use Categorical() for it", lambda x: x >= -1)
"""Codes of the levels of a column; -1 is missing."""

BAG = Support(
    "vector of counts",
    "a count that is not negative",
    "use Gaussian() for it",
    lambda x: (x >= 0) & np.isfinite(x),
    interval=True,
)
"""All columns of a row together: how often each word occurs. Fractions, such as tf-idf weights, are read too."""
