"""Random partitions of the rows, which model interactions of many columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bayesnb.kernels import densities, reading, trees
from bayesnb.kernels.blocks import slices
from bayesnb.model.order import Order
from bayesnb.numerics import Array
from bayesnb.statistics.statistic import Labels

MOST_STEPS = 10
"""Largest number of splits on a path: 1,024 leaves."""

STRENGTH = 1.0
"""Strength, in rows, of the prior around the pooled frequencies of each split."""


AT_ONCE, KEPT, FEW = 2**18, 2**20, 64
"""Largest number of counts whose tables are computed at a time; and to keep the tables. Tables are also kept if a
request has few rows.
"""


@dataclass(frozen=True, eq=False)
class Partitions:
    """Random binary trees that use the same split for all nodes of the same depth."""

    # The children of node k are the nodes 2k and 2k + 1.

    # At a split on a level, rows with this level go right; at an interval, rows in this or a higher interval go right.
    # A row with a missing value stops at the split.

    columns: Array  # (partition, step)
    cells: Array  # (partition, step): interval or level of the split

    @classmethod
    def drawn(cls, real: Array, codes: Array, weight: Array, order: Order, n: int, seed: int) -> Partitions:
        """Draw ``n`` random partitions of rows with intervals and levels ``codes``, (column, row), without labels."""
        steps = int(np.clip(np.ceil(np.log2(max(2.0, weight.sum()))), 1, MOST_STEPS))
        best, columns, cells = np.full((n, steps), -1.0), *np.zeros((2, n, steps), np.intp)
        seeds = _seeds(real, codes, weight, order)
        for k, (is_real, own) in enumerate(zip(real, codes, strict=True)):
            mass = np.bincount(own[own >= 0], weight[own >= 0])
            there = np.flatnonzero(mass)
            rng = np.random.default_rng([seed % 2**64, *seeds[k]])
            if is_real:
                down = order.reversed(np.where(own < 0, np.nan, own), weight)
                there = there[::-1] if down else there
                # A split between two cells tests whether a row is at or above the higher cell.
                share, there = mass[there][1:], there[:-1] if down else there[1:]
            else:
                there = there[np.argsort(order.cells(own, weight)[there], kind="stable")]
                share = mass[there]
            number, below = rng.random((n, steps)), np.cumsum(share) / share.sum()
            cell = there[np.searchsorted(below[:-1], rng.random((n, steps)), side="right")]
            better = number > best
            pairs = (number, best), (k, columns), (cell, cells)
            best, columns, cells = (np.where(better, new, old) for new, old in pairs)
        gaps = np.where(codes < 0, weight, 0.0).sum(1)
        first = np.argsort(gaps[columns], axis=1, kind="stable")
        return cls(np.take_along_axis(columns, first, 1), np.take_along_axis(cells, first, 1))

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def steps(self) -> int:
        return self.columns.shape[1]

    @property
    def nodes(self) -> int:
        return 2 ** (self.steps + 1)

    def sound(self, n_columns: int) -> bool:
        """Whether each split uses one of ``n_columns`` columns."""
        shaped = self.columns.ndim == 2 and self.columns.shape == self.cells.shape and 1 <= self.steps <= MOST_STEPS
        whole = all(each.dtype.kind == "i" and (each >= 0).all() for each in (self.columns, self.cells))
        return shaped and whole and bool((self.columns < n_columns).all())

    def places(self, real: Array, codes: Array) -> Array:
        """The node in which each row stops, (row, partition)."""
        return reading.nodes(codes, real, self.columns, self.cells)


def _seeds(real: Array, codes: Array, weight: Array, order: Order) -> list[list[int]]:
    """Random seeds of each column, which depend on the data in the column, not on its name or sign (x or -x)."""
    keys = [_total(order.cells(own, weight), own) for own in codes]
    shared = [is_real and keys.count(key) > 1 for is_real, key in zip(real, keys, strict=True)]
    return [
        [key, _total(order.cells(own, weight, real=True), own)] if is_shared else [key]
        for key, own, is_shared in zip(keys, codes, shared, strict=True)
    ]


def _total(keys: Array, codes: Array) -> int:
    return int(np.sum(keys[np.unique(codes[codes >= 0])], dtype=np.uint64))


@dataclass(frozen=True, eq=False)
class PartitionTerm:
    """The mean of ln p(leaf | c) - ln p(leaf) over partitions; a row's leaf is the node in which it stops."""

    # At each node, the probability of going right has a Beta prior per class. The prior is worth ``STRENGTH`` rows, and
    # its mean is the frequency of going right among the rows of all classes.

    partitions: Partitions
    counts: Array  # (class, partition, node): weights of the rows that stop in each node
    base: Array  # sum of ``counts`` over classes

    def _table(self, less: float = 0.0) -> Array:
        classes, n, nodes = self.counts.shape
        found = np.zeros((n, nodes, classes))
        trees.log_ratios(*(np.ascontiguousarray(x, float) for x in (self.counts, self.base)), STRENGTH, less, found)
        return np.moveaxis(found, 0, 2)

    @cached_property
    def _table_of_all(self) -> Array:
        return self._table()

    @cached_property
    def _table_less_one(self) -> Array:
        return self._table(1.0)

    @cached_property
    def _counted(self) -> tuple[Array, Array, Array]:
        mine, whole = self._inside(self.base)
        share = np.where(mine > 0, mine / np.where(whole > 0, whole, 1.0), 1.0)
        return *self._inside(self.counts), share

    def _inside(self, counts: Array) -> tuple[Array, Array]:
        inside = counts.astype(float)
        for first in 2 ** np.arange(self.partitions.steps)[::-1]:
            both = inside[..., 2 * first : 4 * first]
            inside[..., first : 2 * first] += both[..., ::2] + both[..., 1::2]
        return inside, np.repeat(inside[..., ::2] + inside[..., 1::2], 2, -1)

    @staticmethod
    def _step(inside: Array, pairs: Array, share: Array, less: Array | float) -> Array:
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.log((inside - less + STRENGTH * share) / ((pairs - less + STRENGTH) * share))

    def _divided(self) -> Iterator[tuple[slice, PartitionTerm]]:
        of = self.partitions
        for cut in slices(len(of), max(1, AT_ONCE // self.counts[:, 0].size)):
            yield cut, PartitionTerm(Partitions(of.columns[cut], of.cells[cut]), self.counts[:, cut], self.base[cut])

    @cached_property
    def _parts(self) -> list[tuple[slice, PartitionTerm]]:
        return [*self._divided()]

    def term(self, places: Array, left: Labels | None = None) -> Array:
        """Mean of ln p(leaf | c) - ln p(leaf), (row, class); ``places`` (row, partition) holds the rows' leaves."""
        # If the labels of learned rows are given, each row is left out of p(leaf | c) of its own class.
        found = np.zeros((len(places), len(self.counts)))
        kept = self.counts.size <= KEPT or (left is None and len(places) <= FEW)
        for cut, part in self._parts if kept else self._divided():
            found += part._total(places[:, cut], left)
        return found / len(self.partitions)

    def _total(self, places: Array, left: Labels | None) -> Array:
        found = densities.gather(places, self._table_of_all)
        if left is None:
            return found
        if (left.weight != 1).any():
            own = self._left_out(places, left)
        else:
            own = densities.gather_own(places, self._table_less_one, left.codes)
        found[np.arange(len(left)), left.codes] = own
        return found

    def _left_out(self, places: Array, left: Labels) -> Array:
        inside, pairs, share = self._counted
        found, every = np.zeros(len(left)), np.arange(len(self.partitions))
        for rows in slices(len(left), max(1, AT_ONCE // len(every))):
            node, of_class, weight = places[rows], left.codes[rows, None], left.weight[rows, None]
            while (node > 1).any():
                at = of_class, every, node
                step = self._step(inside[at], pairs[at], share[every, node], weight)
                found[rows] += np.where(node > 1, step, 0.0).sum(1)
                node = np.maximum(node >> 1, 1)
        return found

    def shares(self, places: Array, columns: int) -> Array:
        """Contribution of each column to the partitions' :meth:`term`, (row, class, column)."""
        found, steps = np.zeros((len(places), len(self.counts), columns)), self._step(*self._counted, 0.0)
        for k, node in enumerate(places.T):
            while (node > 1).any():
                some = np.flatnonzero(node > 1)
                at = self.partitions.columns[k, np.frexp(node[some])[1] - 2]
                found[some, :, at] += steps[:, k, node[some]].T
                node = np.maximum(node >> 1, 1)
        return found / len(self.partitions)
