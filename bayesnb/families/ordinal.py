"""Columns with one of K levels that have an order: neighbours stay together where the data do not tell them apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.random import Generator

from bayesnb.families.conjugate import Added, Cells, Conjugate
from bayesnb.families.levels import CategoryCounts, Coded, at_levels, pymc_at_levels, widest
from bayesnb.families.shares import halves, paths_of, pymc_log_cells, theta_of_shares
from bayesnb.families.support import LEVELS
from bayesnb.numerics import Array
from bayesnb.priors import BetaTree, Theta
from bayesnb.priors.tree_nodes import CELLS, NODES
from bayesnb.statistics.membership import Membership


@dataclass(frozen=True, eq=False)
class Ordinal(Conjugate[BetaTree, CategoryCounts]):
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

    prior: Any = field(default_factory=BetaTree)
    order: Any = None
    orders: Any = None

    conjugate = BetaTree
    support = LEVELS

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

    @property
    def needs_rows(self) -> bool:
        return self.order is None and self.orders is None

    def placed(self, columns: Sequence[Any], weight: Array | None) -> Ordinal:
        return replace(self, orders=tuple(map(tuple, columns))) if self.needs_rows else self

    def gathered(self, cells: Sequence[tuple[Ordinal, int]]) -> Ordinal:
        return replace(self, order=None, orders=tuple(family.order_of(k) for family, k in cells))

    def order_of(self, column: int) -> tuple[Any, ...] | None:
        if self.orders is not None:
            return self.orders[column]
        return self.order

    def node_names(self) -> tuple[str, ...]:
        return tuple(str(k) for k in range(NODES))

    def statistic(self, x: Coded, members: Membership) -> CategoryCounts:
        return CategoryCounts(members.table(x.codes, widest(x.levels)), x.levels)

    def resolve_prior(self, prior: BetaTree, s: CategoryCounts) -> BetaTree:
        # Half a row in each level, so that no share is 0 or 1.
        exists = self._exists(s.counts.shape[1])
        return prior.over(self._cells(s.counts.sum(0)) + 0.5 * exists, len(s.counts))

    def added(self, s: CategoryCounts) -> Added:
        d = halves(self._cells(s.counts), self._exists(s.counts.shape[1]))
        return d, BetaTree.peak(*d)

    def cells(self, posterior: BetaTree, x: Coded) -> Cells:
        # A missing cell, of code -1, stands for level 0: every column has one.
        cell = self._paths(x.codes.shape[1])[np.arange(x.codes.shape[1]), np.maximum(x.codes, 0)]
        return posterior.path(np.broadcast_to(cell[:, None], (len(x), *posterior.share.shape[:-1]))), *self.said(x)

    def said(self, x: Coded) -> Added:
        return (), 0.0

    def log_density(self, theta: Theta, x: Coded) -> Array:
        return at_levels(self._by_level(theta["log_cell"]), x.codes)

    def sample(self, theta: Theta, rng: Generator, s: CategoryCounts) -> Array:
        table = self._by_level(theta["log_cell"])
        return (table + rng.gumbel(size=table.shape)).argmax(-1)

    def readable(self, theta: Theta) -> dict[str, Array]:
        return {"probability": np.exp(self._by_level(theta["log_cell"]))}

    def linear(self, theta: Theta) -> tuple[Array, Array]:
        table = self._by_level(theta["log_cell"])
        return table.reshape(len(table), -1), np.zeros(len(table))

    def pymc_cells(self, name: str, theta: Mapping[str, Any], x: Coded, row: Array, column: Array) -> None:
        import pymc as pm
        from pytensor import tensor as pt

        cell = self._paths(x.codes.shape[1])[column, x.codes[row, column]]
        p = pt.exp(pymc_log_cells(theta, self._exists(x.codes.shape[1])[column]))
        pm.Categorical(name, p=p, observed=cell)

    def pymc_log_likelihood(self, theta: Mapping[str, Any], x: Coded) -> Any:
        log_cells = pymc_log_cells(theta, self._exists(x.codes.shape[1]))
        paths = np.maximum(self._paths(x.codes.shape[1]), 0)
        return pymc_at_levels(log_cells[:, np.arange(len(paths))[:, None], paths], x.codes)

    def theta(self, variables: Mapping[str, Array]) -> Theta:
        return theta_of_shares(variables["share"], self._exists(variables["share"].shape[-2]))

    # The levels of each column as cells of the tree.

    def _paths(self, n_columns: int) -> Array:
        """The cell of each level, (column, level); -1 where a column has fewer levels than others."""
        return paths_of([len(self.order_of(k)) for k in range(n_columns)])

    def _exists(self, n_columns: int) -> Array:
        """1 for each cell that is a level, (column, cell)."""
        return self._cells((self._paths(n_columns) >= 0).astype(float))

    def _cells(self, by_level: Array) -> Array:
        """Numbers of levels, (..., column, level), as numbers of cells, (..., column, cell)."""
        paths = self._paths(by_level.shape[-2])
        column, level = np.nonzero(paths >= 0)
        cells = np.zeros((*by_level.shape[:-1], CELLS))
        cells[..., column, paths[column, level]] = by_level[..., column, level]
        return cells

    def _by_level(self, log_cell: Array) -> Array:
        """ln p of cells, (..., column, cell), as ln p of levels, (..., column, level); -inf where there is no level."""
        paths = self._paths(log_cell.shape[-2])
        picked = log_cell[..., np.arange(len(paths))[:, None], paths]
        return np.where(paths >= 0, picked, -np.inf)
