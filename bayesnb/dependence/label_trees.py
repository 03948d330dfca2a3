"""Trees that see the label: the classes where several columns jump together, averaged over all prunings.

Start with :class:`LabelTrees`, the questions of bagged trees, which are chosen once and held; :class:`LabelTreeTerm` is
the term that follows from the counts of their nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bayesnb.kernels import trees
from bayesnb.model.order import Order, beside, mixed, times
from bayesnb.numerics import Array
from bayesnb.statistics.membership import Labels

BAG, GROWN = 0.632, 8_192
"""The share of the rows that a tree is grown on, that of a bootstrap sample; and about how many rows these are at most.
"""

LEAST, MOST_CELLS = 2.0, 2**22
"""The smallest weight of rows that a node is split for; it is larger where the nodes of all trees would have about as
many counts by class as the second number says.
"""

TRIED = 0.5
"""A node tries n^TRIED of n columns, as forests do."""

STRENGTH = 2.0
"""Rows that the class frequencies count for in each node."""

ROUNDS = 3
"""How often the keys of cells take in those of their rows."""


@dataclass(frozen=True, eq=False)
class LabelTrees:
    """Bagged classification trees on the cells of columns, grown until their leaves are pure.

    Each tree is grown on a part of the rows (Breiman 1996), and each node chooses among some of the columns (Breiman
    2001). Which rows and columns these are follows from hashes of *keys*, and keys from content. The key of a cell is a
    hash of how often it occurs (of a real column also of how far its rank is from the middle) and of the histogram of
    its column. The key of a row is the sum of those of its cells. Three times over, the key of a cell then takes in
    those of the rows in it and, in a real column, those of the rows below and above. So trees depend neither on the
    order of rows and columns, nor on names, units or the direction of a column; and a row has the same key whenever it
    is asked about, so it is known which trees have seen its label. Copies of a row have one key. The same trees are
    grown on them, which costs little: only the questions of a tree come from its bag, and the counts of its nodes hold
    all rows.

    Parameters
    ----------
    columns, cells, left : int32 array (tree, node)
        As ``kernels.trees`` reads them.
    keys : uint64 array (column, cell + 1)
        The last one of a column is the key of a missing cell.
    share : float
        The share of the keys that a tree is grown on.
    seed : int
        Of all hashes.
    """

    columns: Array
    cells: Array
    left: Array
    keys: Array
    share: float
    seed: int

    @classmethod
    def grown(
        cls, real: Array, sizes: Sequence[int], codes: Array, labels: Labels, order: Order, n: int, seed: int
    ) -> LabelTrees:
        """So many trees.

        Of cuts that are equally good, the keys of ``order`` choose: they tell more rows apart than those of cells do,
        which know of no label, so that a row that is asked about has them, too.

        Parameters
        ----------
        real : bool array (column,)
        sizes : sequence of int
            How many cells each column has.
        codes : int array (column, row)
        labels : Labels
        order : Order
            Of the rows.
        n, seed : int
        """
        widths = np.array(sizes, np.intp)
        keys = keys_of_cells(real, widths, codes, labels.weight)
        nodes = np.full((3, n, 1), -1, np.int32)
        found = cls(*nodes, keys, BAG * min(1.0, GROWN / max(1.0, labels.weight.sum())), seed)
        bags, own = found.bags(codes), order.keys * times(labels.weight)
        rows = int(bags.sum(0).max(initial=0))
        least = max(LEAST, 2.0 * float(labels.weight.sum()) * found.share * n * labels.n / MOST_CELLS)
        grown = np.full((n, 3, 2 * rows + 1), -1, np.int32)
        table, y = np.ascontiguousarray(codes.T, np.int32), labels.codes.astype(np.int64)
        of_columns = keys.sum(1, dtype=np.uint64)
        asked = sum(len(np.unique(own[own >= 0])) > 1 for own in codes)
        settings = max(1, round(asked**TRIED)), least
        used = 1
        for salt, bag, tree in zip(found.salts, bags.T, grown, strict=True):
            some = np.flatnonzero(bag & (labels.weight > 0))
            arguments = y, labels.weight, own, of_columns, labels.n, salt, *settings
            used = max(used, trees.grow(table, real, widths, some, *arguments, *tree))
        return cls(*np.ascontiguousarray(grown[:, :, :used].swapaxes(0, 1)), keys, found.share, seed)

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def nodes(self) -> int:
        """How many nodes the largest tree has."""
        return self.columns.shape[1]

    @property
    def sound(self) -> bool:
        """Whether every walk comes to an end: a child has one parent, stands behind it, and not too deep."""
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
        """What makes the hashes of each tree its own, uint64 (tree,)."""
        return mixed(np.arange(1, len(self) + 1, dtype=np.uint64) + mixed(np.array([self.seed % 2**64], np.uint64)))

    def row_keys(self, codes: Array) -> Array:
        """The key of each row, uint64 (row,), from its cells (column, row)."""
        return _sums(self.keys, codes)

    def bags(self, codes: Array) -> Array:
        """Which trees were grown on each row, bool (row, tree)."""
        return mixed(self.row_keys(codes)[:, None] ^ self.salts) < np.uint64(self.share * 2.0**63) * np.uint64(2)

    def places(self, real: Array, codes: Array) -> Array:
        """The node in which each row stops, int32 (row, tree)."""
        found, table = np.empty((codes.shape[1], len(self)), np.int32), np.ascontiguousarray(codes.T, np.int32)
        trees.stops(table, real, self.columns, self.cells, self.left, found)
        return found


def keys_of_cells(real: Array, sizes: Array, codes: Array, weight: Array) -> Array:
    """The keys of cells by the content of rows, uint64 (column, cell + 1); see :class:`LabelTrees`.

    A column that is the same in every row has the keys 0, so that it changes no other.
    """
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
    """The sum of the keys of a row's cells, (row,)."""
    return keys[np.arange(len(codes))[:, None], codes].sum(0, dtype=np.uint64)


@dataclass(frozen=True, eq=False)
class LabelTreeTerm:
    """ln p(c | x) - ln p(c), where p(c | x) is the mean of the trees, and each tree the mean over all its prunings.

    The frequencies of the classes in a node have a Dirichlet prior around those of all rows, which counts for
    ``STRENGTH`` rows. At each node that asks, the tree is cut with probability ½. With e the evidence of the counts of
    a node and P that of all prunings below it, P = ½ e + ½ P_left P_right, so the node is cut with the posterior
    probability ½ e / P, and the average over all prunings, more than there are atoms, is a sum over the nodes on the
    path of a row (context-tree weighting: Willems, Shtarkov and Tjalkens 1995; Bayesian context trees: Kontoyiannis and
    others 2022). Where the cell is missing, a learned row stops and counts in this node only; a new row goes to both
    children, in the proportion of the learned rows. A learned row is left out of the counts on its path, exactly, and
    is answered by the trees that were not grown on it.

    Parameters
    ----------
    trees : LabelTrees
    counts : array (class, tree, node)
        Weight of the rows that stop in each node.
    real : bool array (column,)
    """

    trees: LabelTrees
    counts: Array
    real: Array

    def term(self, codes: Array, left: Labels | None = None) -> Array:
        """The term of rows, (row, class); 0 where all cells are missing.

        Parameters
        ----------
        codes : int array (column, row)
        left : Labels, optional
            Of rows that were learned: each is left out of its own class with the weight that it has here.
        """
        n_rows, found = codes.shape[1], np.empty((codes.shape[1], len(self.counts)))
        n = np.broadcast_to(self._rows, found.shape)
        if left is None:
            own, weight, bags = np.full(n_rows, -1), np.zeros(n_rows), np.zeros((0, len(self.trees)), bool)
        else:
            own, weight, bags = left.codes.astype(np.int64), left.weight, self.trees.bags(codes)
            n = n - left.weight[:, None] * np.eye(left.n)[left.codes]
        asked = np.ascontiguousarray(codes.T, np.int32), self.real
        tree = self.trees.columns, self.trees.cells, self.trees.left
        trees.answer(*asked, *tree, self._alpha, STRENGTH, *self._weighed, own, weight, bags, found)
        share = n / n.sum(1, keepdims=True)
        return np.where((codes >= 0).any(0)[:, None], np.log(found) - np.log(share), 0.0)

    @property
    def _rows(self) -> Array:
        """The rows of each class, with one more of each, (class,); every tree counts all of them."""
        return (self.counts[:, 0].sum(1) if len(self.trees) else 0.0) + np.ones(len(self.counts))

    @property
    def _alpha(self) -> Array:
        return STRENGTH * self._rows / self._rows.sum()

    @cached_property
    def _weighed(self) -> tuple[Array, ...]:
        """What ``kernels.trees.weigh`` makes of the counts: counts, known ones, and three log evidences."""
        counts = np.ascontiguousarray(np.moveaxis(self.counts, 0, -1))
        known, evidence = np.zeros_like(counts), np.zeros((3, *counts.shape[:2]))
        trees.weigh(self.trees.columns, self.trees.left, self._alpha, STRENGTH, counts, known, *evidence)
        return counts, known, *evidence
