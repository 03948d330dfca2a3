"""Columns with one of K levels that have an order: neighbours stay together where the data do not tell them apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.random import Generator

from bayesnb.families.dyadic import Dyadic
from bayesnb.families.levels import CategoryCounts, Coded, widest
from bayesnb.families.on_tree import OnTree
from bayesnb.families.support import LEVELS
from bayesnb.numerics import Array
from bayesnb.priors import Theta
from bayesnb.priors.beta_tree import CELLS, DEPTH
from bayesnb.statistics.membership import Membership


@dataclass(frozen=True, eq=False)
class Ordinal(OnTree[CategoryCounts]):
    """x | θ ~ Categorical(θ) of levels that have an order; θ has a Pólya tree over this order as its prior.

    The levels are halved again and again: the lower half and the upper half, then the halves of these. So a row in a
    level also says something of the levels beside it, which a Dirichlet prior does not know. Where a class differs from
    the column as a whole is learned, the large shape first (see :class:`BetaTree`).

    Parameters
    ----------
    prior : BetaTree
    order : sequence of levels, optional
        All levels from the lowest to the highest, at most 64, for each column. If not given, the first table says it:
        by an ordered categorical type, or because its levels are numbers. No level can join later.
    orders : tuple of tuples, optional
        The order of each column, as it was taken from the first table.

    Examples
    --------
    >>> from bayesnb import BayesianNB
    >>> sizes = {"size": ["small", "small", "medium", "large", "huge", "huge"]}
    >>> family = Ordinal(order=["small", "medium", "large", "huge"])
    >>> BayesianNB({"size": family}).fit(sizes, ["cat"] * 3 + ["dog"] * 3).tables()["size"].round(2)
           small  medium  large  huge
    class
    cat     0.39    0.23   0.14  0.23
    dog     0.23    0.14   0.23  0.39
    """

    order: Any = None
    orders: Any = None

    support = LEVELS
    from_rows = ("order", "orders")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.order is not None and not isinstance(self.order, str):
            object.__setattr__(self, "order", tuple(self.order))
        for levels in self.orders or (() if self.order is None else (self.order,)):
            if len(levels) > CELLS:
                raise ValueError(
                    f"Expected at most {CELLS} levels; got {len(levels)}: use PolyaTree() for numbers, or Categorical()"
                )
            if isinstance(levels, str) or not levels or len(set(levels)) < len(levels):
                raise ValueError(f"Expected different levels from the lowest to the highest; got {levels!r}")

    def placed(self, columns: Sequence[Any], weight: Array | None) -> Ordinal:
        return replace(self, orders=tuple(map(tuple, columns))) if self.needs_rows else self

    def gathered(self, cells: Sequence[tuple[Ordinal, int]]) -> Ordinal:
        return replace(self, order=None, orders=tuple(family.order_of(k) for family, k in cells))

    def order_of(self, column: int) -> tuple[Any, ...] | None:
        if self.orders is not None:
            return self.orders[column]
        return self.order

    def statistic(self, x: Coded, members: Membership) -> CategoryCounts:
        return CategoryCounts(members.table(x.codes, widest(x.levels)), x.levels)

    def cell_of(self, x: Coded) -> Array:
        paths = self._paths(x.codes.shape[1])
        return np.where(x.codes < 0, -1, paths[np.arange(len(paths)), x.codes])

    def cell_counts(self, s: CategoryCounts) -> Array:
        paths = self._paths(len(s.levels))
        column, level = np.nonzero(paths >= 0)
        cells = np.zeros((*s.counts.shape[:2], CELLS))
        cells[:, column, paths[column, level]] = s.counts[:, column, level]
        return cells

    def exists(self, n_columns: int) -> Array:
        found = np.zeros((n_columns, CELLS))
        for k in range(n_columns):
            found[k, _paths(len(self.order_of(k)))] = 1.0
        return found

    def sample(self, theta: Theta, rng: Generator, s: CategoryCounts) -> Array:
        table = self._by_level(theta["log_cell"])
        return (table + rng.gumbel(size=table.shape)).argmax(-1)

    def readable(self, theta: Theta) -> dict[str, Array]:
        return {"probability": np.exp(self._by_level(theta["log_cell"]))}

    def linear(self, theta: Theta) -> tuple[Array, Array]:
        table = self._by_level(theta["log_cell"])
        return table.reshape(len(table), -1), np.zeros(len(table))

    # The levels of each column as cells of the tree.

    def _paths(self, n_columns: int) -> Array:
        """The cell of each level, (column, level); -1 where a column has fewer levels than others."""
        each = [_paths(len(self.order_of(k))) for k in range(n_columns)]
        return np.array([np.pad(own, (0, max(map(len, each)) - len(own)), constant_values=-1) for own in each])

    def _by_level(self, log_cell: Array) -> Array:
        """ln p of cells, (..., column, cell), as ln p of levels, (..., column, level); -inf where there is no level."""
        paths = self._paths(log_cell.shape[-2])
        picked = log_cell[..., np.arange(len(paths))[:, None], paths]
        return np.where(paths >= 0, picked, -np.inf)


@cache
def _paths(n: int) -> Array:
    """The cells of n levels: half of them are on either side of the root, and so on."""
    return Dyadic.given(np.arange(1, n), DEPTH).paths
