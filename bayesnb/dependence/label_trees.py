"""Classification trees whose predictions are averaged over all prunings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bayesnb.kernels import trees
from bayesnb.model.order import Order, beside, mixed, times
from bayesnb.numerics import Array
from bayesnb.statistics.statistic import Labels

BAG, GROWN = 0.632, 8_192
"""Fraction of the rows that a tree is grown on, as in a bootstrap sample; and about the largest number of these rows.
"""

LEAST, MOST_CELLS = 2.0, 2**22
"""Smallest weight of rows in a node that is split. It is raised so that the counts by class of the nodes of all trees
are about ``MOST_CELLS`` at most.
"""

TRIED = 0.5
"""A node tries n^TRIED of n columns, as in a random forest."""

STRENGTH = 2.0
"""Strength, in rows, of the prior around the class frequencies in each node."""

ROUNDS = 3
"""Number of rounds in which the keys of rows are added to the keys of cells."""


@dataclass(frozen=True, eq=False)
class LabelTrees:
    """Bagged classification trees (Breiman 1996, 2001) on intervals and levels, grown until their leaves are pure."""

    # (tree, node), in the format of ``kernels.trees``.
    columns: Array
    cells: Array
    left: Array
    keys: Array  # hashes of cells, from keys_of_cells()
    share: float  # approximate fraction of the rows on which each tree is grown
    seed: int

    @classmethod
    def grown(
        cls, real: Array, sizes: Sequence[int], codes: Array, labels: Labels, order: Order, n: int, seed: int
    ) -> LabelTrees:
        """Grow ``n`` trees on rows with the intervals and levels ``codes``, (column, row)."""
        widths = np.array(sizes, np.intp)
        keys = keys_of_cells(real, widths, codes, labels.weight)
        nodes = np.full((3, n, 1), -1, np.int32)
        found = cls(*nodes, keys, BAG * min(1.0, GROWN / max(1.0, labels.weight.sum())), seed)
        bags, own = found.bags(codes), order.keys * times(labels.weight)
        rows = int(bags.sum(0).max(initial=0))
        least = max(LEAST, 2.0 * float(labels.weight.sum()) * found.share * n * labels.n / MOST_CELLS)
        grown = np.full((n, 3, 2 * rows + 1), -1, np.int32)
        table, y = np.ascontiguousarray(codes.T, np.int32), labels.codes.astype(np.int64)
        # Without weights, ``labels.weight`` is a broadcast array, for which the loops would be compiled again.
        weight = labels.weight.copy()
        of_columns = keys.sum(1, dtype=np.uint64)
        asked = sum(len(np.unique(own[own >= 0])) > 1 for own in codes)
        settings = max(1, round(asked**TRIED)), least
        used = 1
        for salt, bag, tree in zip(found.salts, bags.T, grown, strict=True):
            some = np.flatnonzero(bag & (labels.weight > 0))
            arguments = y, weight, own, of_columns, labels.n, salt, *settings
            used = max(used, trees.grow(table, real, widths, some, *arguments, *tree))
        return cls(*np.ascontiguousarray(grown[:, :, :used].swapaxes(0, 1)), keys, found.share, seed)

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def nodes(self) -> int:
        return self.columns.shape[1]

    def divides(self, sizes: Sequence[int]) -> bool:
        """Whether the trees are valid for columns with ``sizes`` intervals or levels."""
        columns, keys = self.columns, self.keys
        sound = all(each.dtype == np.int32 and each.shape == columns.shape for each in (columns, self.cells, self.left))
        sound = sound and columns.ndim == 2 and columns.size > 0 and isinstance(self.seed, int) and 0 < self.share <= 1
        sound = sound and keys.dtype == np.uint64 and keys.shape == (len(sizes), max(sizes, default=1) + 1)
        sound = sound and bool(((columns >= -1) & (columns < len(sizes)) & (self.cells >= -1)).all())
        return sound and self.sound

    @property
    def sound(self) -> bool:
        """Whether every path from the root of a tree ends in a leaf."""
        tree, node = np.nonzero(self.columns >= 0)
        child, depth = self.left[tree, node], np.zeros(self.columns.shape, np.intp)
        children = (tree + len(self) * (child + np.array([[0], [1]]))).ravel()
        if not ((child > node) & (child < self.nodes - 1)).all() or len(np.unique(children)) < len(children):
            return False
        for k in range(self.nodes):
            some = tree[node == k]
            for side in (0, 1):
                depth[some, self.left[some, k] + side] = depth[some, k] + 1
        return bool((depth < trees.MOST_DEPTH).all())

    @property
    def salts(self) -> Array:
        return mixed(np.arange(1, len(self) + 1, dtype=np.uint64) + mixed(np.array([self.seed % 2**64], np.uint64)))

    def row_keys(self, codes: Array) -> Array:
        return _sums(self.keys, codes)

    def bags(self, codes: Array) -> Array:
        """Whether each tree was grown on each row, bool (row, tree)."""
        # A hash of a row's cells decides, so equal rows are used or omitted together. Rows on which a tree was not
        # grown are counted in its nodes, too.
        return mixed(self.row_keys(codes)[:, None] ^ self.salts) < np.uint64(self.share * 2.0**63) * np.uint64(2)

    def places(self, real: Array, codes: Array) -> Array:
        """The node in which each row stops, int32 (row, tree)."""
        found, table = np.empty((codes.shape[1], len(self)), np.int32), np.ascontiguousarray(codes.T, np.int32)
        trees.stops(table, real, self.columns, self.cells, self.left, found)
        return found


def keys_of_cells(real: Array, sizes: Array, codes: Array, weight: Array) -> Array:
    """The key (hash) of each interval or level, uint64 (column, largest number of cells + 1)."""
    # The last key of each column is for missing cells. Keys of constant columns are 0.
    rows_in = times(weight)
    widest = int(sizes.max(initial=1))
    keys = np.zeros((len(sizes), widest + 1), np.uint64)
    for k, (size, cell) in enumerate(zip(sizes, codes, strict=True)):
        np.add.at(keys[k], cell, rows_in)
        rank = np.abs(2 * np.arange(widest + 1) - (size - 1)) + 1 if real[k] else np.zeros(widest + 1)
        keys[k] = mixed(mixed(keys[k]) + rank.astype(np.uint64))
    differs = (codes[:, :1] != codes).any(1).astype(np.uint64)[:, None]
    for turn in range(ROUNDS + 1):
        keys = differs * mixed(keys + mixed(keys.sum(1, dtype=np.uint64, keepdims=True)))
        if turn < ROUNDS:
            rows = mixed(_sums(keys, codes)) * rows_in
            for k, (size, cell) in enumerate(zip(sizes, codes, strict=True)):
                np.add.at(sums := np.zeros(widest + 1, np.uint64), cell, rows)
                keys[k] += sums
                if real[k]:
                    keys[k, :size] += beside(sums[:size])
    return keys


def _sums(keys: Array, codes: Array) -> Array:
    return keys[np.arange(len(codes))[:, None], codes].sum(0, dtype=np.uint64)


@dataclass(frozen=True, eq=False)
class LabelTreeTerm:
    """ln p(c | x) - ln p(c), where p(c | x) is a mean over trees and over all prunings of each tree."""

    # The average over prunings is computed by context-tree weighting (Willems, Shtarkov and Tjalkens 1995). Each split
    # is pruned with prior probability ½. The class probabilities of a node have a Dirichlet prior around the class
    # frequencies of all rows, of strength ``STRENGTH`` rows. A learned row without a value in the column of a split is
    # counted in the node of the split; a prediction without this value is the mean of both children, weighted by their
    # counts. A learned row is predicted only by trees that were grown without it.

    trees: LabelTrees
    counts: Array  # (class, tree, node): weights of the rows that stop in each node
    real: Array

    def term(self, codes: Array, left: Labels | None = None) -> Array:
        """ln p(c | x) - ln p(c), (row, class), of rows with the intervals and levels ``codes``, (column, row)."""
        # left: the labels of learned rows, for which the values are leave-one-out
        n_rows, found = codes.shape[1], np.empty((codes.shape[1], len(self.counts)))
        n = np.broadcast_to(self._rows, found.shape)
        if left is None:
            own, weight, bags = np.full(n_rows, -1), np.zeros(n_rows), np.zeros((0, len(self.trees)), bool)
        else:
            own, weight, bags = left.codes.astype(np.int64), left.weight.copy(), self.trees.bags(codes)
            n = n - left.weight[:, None] * np.eye(left.n)[left.codes]
        asked = np.ascontiguousarray(codes.T, np.int32), self.real
        tree = self.trees.columns, self.trees.cells, self.trees.left
        trees.answer(*asked, *tree, self._alpha, STRENGTH, *self._weighed, own, weight, bags, found)
        share = n / n.sum(1, keepdims=True)
        return np.where((codes >= 0).any(0)[:, None], np.log(found) - np.log(share), 0.0)

    @property
    def _rows(self) -> Array:
        return (self.counts[:, 0].sum(1) if len(self.trees) else 0.0) + np.ones(len(self.counts))

    @property
    def _alpha(self) -> Array:
        return STRENGTH * self._rows / self._rows.sum()

    @cached_property
    def _weighed(self) -> tuple[Array, ...]:
        counts = np.ascontiguousarray(np.moveaxis(self.counts, 0, -1))
        evidence = np.zeros((3, *counts.shape[:2]))
        trees.weigh(self.trees.columns, self.trees.left, self._alpha, STRENGTH, counts, *evidence)
        return counts, *evidence
