"""Densities over the cells of a dyadic tree: start with :class:`OnTree`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bayesnb.families.conjugate import Added, Cells, Conjugate
from bayesnb.families.levels import at_levels, pymc_at_levels
from bayesnb.numerics import Array, log
from bayesnb.priors import BetaTree, Theta
from bayesnb.priors.beta_tree import NODES, log_cells, splits
from bayesnb.statistics.membership import Column
from bayesnb.statistics.statistic import Statistic


@dataclass(frozen=True, eq=False)
class OnTree[S: Statistic](Conjugate[BetaTree, S]):
    """x falls into cell k of 64 with probability θ_k, and θ has a Pólya tree as its prior."""

    prior: Any = field(default_factory=BetaTree)

    conjugate = BetaTree
    node_names = tuple(str(k) for k in range(NODES))

    @abstractmethod
    def cell_of(self, x: Column) -> Array:
        """The cell of each value that ``read`` has made, (row, column); -1 where it is missing."""

    @abstractmethod
    def cell_counts(self, s: S) -> Array:
        """The weight of each cell, (class, column, cell)."""

    @abstractmethod
    def exists(self, n_columns: int) -> Array:
        """1 for each cell that a value can be in, and 0 for the others, (column, cell)."""

    def resolve_prior(self, prior: BetaTree, s: S) -> BetaTree:
        # Half a row in each cell that exists, so that no share is 0 or 1 where a value may come.
        counts = self.cell_counts(s)
        return prior.over(counts.sum(0) + 0.5 * self.exists(counts.shape[1]), len(counts))

    def added(self, s: S) -> Added:
        counts = self.cell_counts(s)
        low, high = splits(self.exists(counts.shape[1]))
        # A node with one half only learns nothing.
        left, right = (np.where((low > 0) & (high > 0), half, 0.0) for half in splits(counts))
        return (left, right), BetaTree.peak(left, right)

    def cells(self, posterior: BetaTree, x: Column) -> Cells:
        cell = np.broadcast_to(np.maximum(self.cell_of(x), 0)[:, None], (len(x), *posterior.share.shape[:-1]))
        return posterior.path(cell), *self.said(x)

    def said(self, x: Column) -> Added:
        return (), 0.0

    def log_density(self, theta: Theta, x: Column) -> Array:
        return at_levels(theta["log_cell"], self.cell_of(x))

    def theta(self, variables: Mapping[str, Array]) -> Theta:
        share = variables["share"]
        halves = splits(self.exists(share.shape[-2]))
        return {"log_cell": log_cells(log(share), log(1 - share), *halves), "share": share}

    def pymc_log_cells(self, theta: Mapping[str, Any], exists: Array) -> Any:
        """ln p of each cell as a tensor, (..., column, cell)."""
        from pytensor import tensor as pt

        return log_cells(pt.log(theta["share"]), pt.log1p(-theta["share"]), *splits(exists), pt)

    def pymc_cells(self, name: str, theta: Mapping[str, Any], x: Column, row: Array, column: Array) -> None:
        import pymc as pm
        from pytensor import tensor as pt

        cells = self.cell_of(x)
        p = pt.exp(self.pymc_log_cells(theta, self.exists(cells.shape[1])[column]))
        pm.Categorical(name, p=p, observed=cells[row, column])

    def pymc_log_likelihood(self, theta: Mapping[str, Any], x: Column) -> Any:
        x, within = self.read(x)
        cells = self.cell_of(x)
        total = pymc_at_levels(self.pymc_log_cells(theta, self.exists(cells.shape[1])), cells)
        return total if within is None else total + within.sum(-1, keepdims=True)
