"""Families with a Pólya tree prior, for numbers (``PolyaTree``) and ordered levels (``Ordinal``)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, reduce
from operator import add
from typing import Any

import numpy as np
from numpy.random import Generator

from bayesnb.families.columns import LEVELS, CategoryCounts, Coded, at_levels, pymc_at_levels
from bayesnb.families.conjugate import Added, Cells, Conjugate
from bayesnb.families.dyadic import Boxes, Dyadic
from bayesnb.kernels.blocks import slices
from bayesnb.numerics import Array, drawn_codes, log
from bayesnb.priors import BetaTree, Theta
from bayesnb.priors.beta_tree import CELLS, DEPTH, log_cells, splits
from bayesnb.statistics.statistic import Column, Labels, Statistic


@dataclass(frozen=True, eq=False)
class OnTree[S: Statistic](Conjugate[BetaTree, S]):
    """Each value falls into one of 64 intervals or levels (cells), whose probabilities have a Pólya tree prior."""

    prior: Any = field(default_factory=BetaTree)

    @abstractmethod
    def cell_of(self, x: Column) -> Array:
        """The interval or level of each value that ``read`` returns, (row, column); -1 if missing."""

    @abstractmethod
    def cell_counts(self, s: S) -> Array:
        """Total weight of the rows in each interval or level, (class, column, cell)."""

    @abstractmethod
    def exists(self, n_columns: int) -> Array:
        """1 if an interval or level can hold values, otherwise 0, (column, cell)."""

    def resolve_prior(self, prior: BetaTree, s: S) -> BetaTree:
        # Add half a row to each existing cell, so that no probability is 0 or 1.
        counts = self.cell_counts(s)
        return prior.over(counts.sum(0) + 0.5 * self.exists(counts.shape[1]), len(counts))

    def added(self, s: S) -> tuple[Array, ...]:
        counts = self.cell_counts(s)
        low, high = splits(self.exists(counts.shape[1]))
        # There is nothing to learn at a node if only one of its halves exists.
        return tuple(np.where((low > 0) & (high > 0), half, 0.0) for half in splits(counts))

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
        """Log probability of each interval or level as a PyTensor tensor, (..., column, cell)."""
        from pytensor import tensor as pt

        return log_cells(pt.log(theta["share"]), pt.log1p(-theta["share"]), *splits(exists), pt)

    def pymc_log_likelihood(self, theta: Mapping[str, Any], x: Column) -> Any:
        x, within = self.read(x)
        cells = self.cell_of(x)
        total = pymc_at_levels(self.pymc_log_cells(theta, self.exists(cells.shape[1])), cells)
        return total if within is None else total + within.sum(-1, keepdims=True)


@dataclass(frozen=True, eq=False)
class CellCounts(Statistic):
    """The weight of each interval or level, (class, column, cell), and the sum of log densities within intervals."""

    counts: Array
    log_within: Array

    signed = frozenset({"log_within"})

    def seen(self) -> Array:
        return self.counts.sum(-1)


@dataclass(frozen=True, eq=False)
class PolyaTree(OnTree[CellCounts]):
    """A value falls into interval k of its column with probability θ_k; a Pólya tree is the prior of θ.

    The 64 intervals are made by repeatedly halving the sorted values of the column. The density within an interval
    (:class:`bayesnb.families.dyadic.Boxes`) is the same for all classes, so class probabilities do not depend on it.

    Parameters
    ----------
    prior : BetaTree
    edges : sequence of float, optional
        At most 63 increasing inner edges of the intervals, in units of the columns. By default, the first table sets
        the edges. Two models can be merged only if their intervals are equal.
    cuts : tuple of Dyadic, optional
        The intervals of each column, set by the first table.

    Examples
    --------
    >>> from bayesnb import BayesianNB
    >>> waits = {"minutes": [1.0, 1.2, 8.0, 8.5, 1.1, 8.1, 1.3, 8.3, 3.0, 4.0, 3.5, 3.3, 4.2, 3.1]}
    >>> clf = BayesianNB({"minutes": PolyaTree(edges=[2, 6])}).fit(waits, ["bus"] * 8 + ["train"] * 6)
    >>> clf.predict({"minutes": [1.1, 8.2, 3.5]})
    array(['bus', 'bus', 'train'], dtype='<U5')
    """

    edges: Any = None
    cuts: Any = None

    from_rows = ("edges", "cuts")

    def taken(self, column: Array, weight: Array | None) -> Dyadic:
        return Dyadic.of(column, DEPTH, weight)

    def of_column(self, column: int) -> Dyadic:
        return self._cuts(column + 1)[column]

    def read(self, x: Array) -> tuple[Array, Array]:
        return self._boxes(x.shape[1]).read(x)

    def statistic(self, x: Array, members: Labels) -> CellCounts:
        parts = []
        for cut in slices(len(members)):
            codes, within = self.read(x[cut])
            parts.append(CellCounts(members[cut].table(codes, CELLS), members[cut].totals(within)))
        return reduce(add, parts)

    def cell_of(self, x: Array) -> Array:
        return x

    def cell_counts(self, s: CellCounts) -> Array:
        return s.counts

    def exists(self, n_columns: int) -> Array:
        return self._boxes(n_columns).exists

    def log_h(self, s: CellCounts) -> Array:
        return s.log_within + super().log_h(s)

    def sample(self, theta: Theta, rng: Generator, s: CellCounts) -> Array:
        code = drawn_codes(theta["log_cell"], rng)
        return self._boxes(code.shape[-1]).inside(code, rng.random(code.shape))

    def readable(self, theta: Theta) -> dict[str, Array]:
        cells = np.exp(theta["log_cell"])
        below = np.cumsum(cells, axis=-1)
        shown, boxes = {}, self._boxes(cells.shape[-2])
        for p in (0.05, 0.25, 0.5, 0.75, 0.95):
            code = np.minimum((below < p * below[..., -1:]).sum(-1), CELLS - 1)
            own, up_to = (np.take_along_axis(v, code[..., None], -1)[..., 0] for v in (cells, below))
            shown[f"{p:.0%}"] = boxes.inside(code, np.clip(1 - (up_to - p) / np.where(own > 0, own, 1.0), 0.0, 1.0))
        return shown

    def pymc_read(self, x: Array) -> tuple[Array, None]:
        return x, None

    def pymc_cells(self, name: str, theta: Mapping[str, Any], x: Array, row: Array, column: Array) -> None:
        import pymc as pm
        from pytensor import tensor as pt

        boxes = self._boxes(x.shape[1]).of_columns(column)

        def drawn(p: Array, rng: Generator, size: Any) -> Array:
            code = drawn_codes(log(p if size is None else np.broadcast_to(p, (*size, p.shape[-1]))), rng)
            return boxes.inside(code, rng.random(code.shape))

        p = pt.exp(self.pymc_log_cells(theta, boxes.exists))
        pm.CustomDist(name, p, logp=boxes.pymc_log_density, random=drawn, signature="(k)->()", observed=x[row, column])

    def _cuts(self, n_columns: int) -> tuple[Dyadic, ...]:
        if self.cuts is not None:
            return self.cuts
        if self.edges is None:
            raise ValueError("the cells of a PolyaTree are not known before the first rows; give edges=[...]")
        return (Dyadic.given(self.edges, DEPTH),) * n_columns

    def _boxes(self, n_columns: int) -> Boxes:
        return Boxes.of(self._cuts(n_columns))


@dataclass(frozen=True, eq=False)
class Ordinal(OnTree[CategoryCounts]):
    """x | θ ~ Categorical(θ) over ordered levels, with a Pólya tree prior of θ along the order.

    The ordered levels are halved repeatedly until each half is one level. A row with one level also raises the
    probabilities of the other levels in the same half of the order, but not of a neighbouring level in the other half.

    Parameters
    ----------
    prior : BetaTree
    order : sequence of levels, optional
        All levels of every column in ascending order, at most 64. The halves, and so the probabilities, also depend on
        levels without rows and on the direction of the order. By default, the order comes from the first table: the
        order of an ordered categorical type, or the numeric order of the levels. No level can be added later.
    orders : tuple of tuples, optional
        The levels of each column in ascending order, set by the first table.

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

    def taken(self, column: Sequence[Any], weight: Array | None) -> tuple[Any, ...]:
        return tuple(column)

    def of_column(self, column: int) -> tuple[Any, ...] | None:
        return self.order_of(column)

    def order_of(self, column: int) -> tuple[Any, ...] | None:
        return self.order if self.orders is None else self.orders[column]

    def statistic(self, x: Coded, members: Labels) -> CategoryCounts:
        return CategoryCounts(members.table(x.codes, x.n_levels), x.levels)

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
        return drawn_codes(self._by_level(theta["log_cell"]), rng)

    def readable(self, theta: Theta) -> dict[str, Array]:
        return {"probability": np.exp(self._by_level(theta["log_cell"]))}

    def linear(self, theta: Theta) -> tuple[Array, Array]:
        table = self._by_level(theta["log_cell"])
        return table.reshape(len(table), -1), np.zeros(len(table))

    def pymc_cells(self, name: str, theta: Mapping[str, Any], x: Coded, row: Array, column: Array) -> None:
        import pymc as pm
        from pytensor import tensor as pt

        n_columns = x.codes.shape[1]
        paths = self._paths(n_columns)[column]
        cells = pt.exp(self.pymc_log_cells(theta, self.exists(n_columns)[column]))
        pm.Categorical(name, p=cells[np.arange(len(row))[:, None], paths] * (paths >= 0), observed=x.codes[row, column])

    # The cells of the tree that represent the levels of each column.

    def _paths(self, n_columns: int) -> Array:
        """The code of each level in the tree, (column, level), padded with -1."""
        each = [_paths(len(self.order_of(k))) for k in range(n_columns)]
        return np.array([np.pad(own, (0, max(map(len, each)) - len(own)), constant_values=-1) for own in each])

    def _by_level(self, log_cell: Array) -> Array:
        paths = self._paths(log_cell.shape[-2])
        picked = log_cell[..., np.arange(len(paths))[:, None], paths]
        return np.where(paths >= 0, picked, -np.inf)


@cache
def _paths(n: int) -> Array:
    return Dyadic.given(np.arange(1, n), DEPTH).paths
