"""Sums over the rows of each class of functions of a cell, by rows or by a table of the values of a column."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesnb.families.columns import columns_in, known_cells, rows_of
from bayesnb.numerics import Array
from bayesnb.statistics.membership import Column, Membership


@dataclass(frozen=True, eq=False)
class Tally:
    """Cells of some rows, and sums over each class of functions of a cell, (class, column).

    Parameters
    ----------
    x : encoded columns
        The rows, or the values of a table.
    members : Membership or None
        The classes of rows.
    counts : array (class, column, value) or None
        How often each value of a table occurs.
    """

    x: Column
    members: Membership | None
    counts: Array | None

    def seen(self) -> Array:
        """Which cells are not missing, (row, column)."""
        return np.broadcast_to(known_cells(self.x), (rows_of(self.x), 1, columns_in(self.x)))[:, 0]

    def totals(self, value: Array) -> Array:
        """Σ w f, of a function given as its values at the cells, (row, column), 0 where they are missing."""
        return self.members.totals(value) if self.counts is None else np.einsum("cjv,vj->cj", self.counts, value)

    def costs(self, cost: Callable[[Any], Array]) -> Array:
        """Σ w f, of a function of a cell and its class; it takes one class, or the class of each row."""
        if self.counts is None:
            return self.members.costs(cost)
        return np.stack([(own.T * cost(c)).sum(0) for c, own in enumerate(self.counts)])
