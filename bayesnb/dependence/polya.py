"""The shape of a real column without a formula for it: a Pólya tree with optional stopping.

Start with :class:`ShapeCounts`, the additive statistic. From it :class:`Shapes` tells the log predictive of each cell,
relative to the column as a whole, and the same with a row left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.special import betaln

from bayesnb.numerics import Array, log, log_rising
from bayesnb.statistics.membership import Labels
from bayesnb.statistics.statistic import Statistic

STRENGTH = 2.0
"""Rows that the pooled share counts for at each node."""


@dataclass(frozen=True, eq=False)
class ShapeCounts(Statistic):
    """Weight of the leaves of each column by class, (class, column, leaf)."""

    counts: Array

    @classmethod
    def of(cls, cells: Array, labels: Labels, leaves: int) -> ShapeCounts:
        """Counts of the rows; ``cells`` is (column, row), and -1 counts nowhere."""
        found = np.zeros((labels.n, len(cells), leaves))
        for column, cell in enumerate(cells):
            seen = cell >= 0
            flat = np.bincount(labels.codes[seen] * leaves + cell[seen], labels.weight[seen], labels.n * leaves)
            found[:, column] = flat.reshape(labels.n, leaves)
        return cls(found)

    def seen(self) -> Array:
        return self.counts.sum(-1)


@dataclass(frozen=True, eq=False)
class Shapes:
    """Pólya trees of several columns, one for each class.

    At each node of a dyadic tree the share θ of a class that goes left is Beta(s q, s (1 - q)) around the share q of
    all classes together, or the node *stops*: with probability ½ everything below it is as in all classes together
    (Lavine 1992; Wong and Ma 2010). Relative to that base, the evidence of a node with n rows, l on the left, is

        M = ½ + ½ · B(s q + l, s (1 - q) + n - l) / B(s q, s (1 - q)) / (q^l (1 - q)^(n - l)) · M_left · M_right,

    and 1 at a leaf, as in context-tree weighting (Willems, Shtarkov and Tjalkens 1995). Let ρ be the posterior
    probability that a node does not stop, the second summand's part of M. A further δ rows in one cell change only the
    nodes on its path, so the evidence of the root changes by the factor R of the root, where at each node

        R = 1 - ρ + ρ · g · R_child,    g = [s q_child + n_child]_δ / [s + n]_δ / q_child^δ

    with the rising factorial [a]_δ = Γ(a + δ) / Γ(a), and R = 1 at the leaf. The predictive is R at δ = 1; with a row
    of weight w left out it is R(1 - w) / R(-w). The base is held when a row is left out, as the scale of a prior is.

    Parameters
    ----------
    counts : list of arrays (column, class, node)
        Weight in the nodes of each depth, the root first.
    base : list of arrays (column, node)
        The share of a node among its parent's rows, all classes together.
    log_split, log_stop : list of arrays (column, class, node)
        ln ρ and ln (1 - ρ).
    """

    counts: list[Array]
    base: list[Array]
    log_split: list[Array]
    log_stop: list[Array]

    @classmethod
    def of(cls, seen: ShapeCounts) -> Shapes:
        """The trees from the weight in the leaves, which are a power of two."""
        counts = np.moveaxis(seen.counts, 0, 1)
        levels = [counts]
        while levels[0].shape[-1] > 1:
            levels.insert(0, levels[0][..., ::2] + levels[0][..., 1::2])
        base = [np.ones((*counts.shape[:1], 1))]
        for parent, child in pairwise(levels):
            above = np.repeat(parent.sum(1), 2, axis=-1)
            base.append(np.where(above > 0, child.sum(1) / np.where(above > 0, above, 1.0), 0.5))
        log_split, log_stop = [], []
        evidence = np.zeros(counts.shape)
        for depth in range(len(levels) - 2, -1, -1):
            below, q = levels[depth + 1], base[depth + 1][:, None]
            q_left, q_right = q[..., ::2], q[..., 1::2]
            left, right = below[..., ::2], below[..., 1::2]
            open_ = (q_left > 0) & (q_right > 0)
            a, b = (STRENGTH * np.where(open_, v, 0.5) for v in (q_left, q_right))
            own = betaln(a + left, b + right) - betaln(a, b) - left * log(a / STRENGTH) - right * log(b / STRENGTH)
            split = np.log(0.5) + np.where(open_, own, 0.0) + evidence[..., ::2] + evidence[..., 1::2]
            total = np.logaddexp(np.log(0.5), split)
            log_split.insert(0, split - total)
            log_stop.insert(0, np.log(0.5) - total)
            evidence = total
        return cls(levels, base, log_split, log_stop)

    @property
    def depth(self) -> int:
        """How often a column is halved."""
        return len(self.counts) - 1

    def along(self, column: Array, label: Array, leaf: Array, delta: Array | float) -> Array:
        """ln R: by how much δ further rows in a leaf change the log evidence of its class, relative to the base."""
        total = np.zeros(np.broadcast_shapes(np.shape(column), np.shape(label), np.shape(leaf)))
        for depth in range(self.depth - 1, -1, -1):
            node, child = leaf >> (self.depth - depth), leaf >> (self.depth - depth - 1)
            share = self.base[depth + 1][column, child]
            # Where all rows of a node are on one side there is nothing to tell.
            told = (share > 0) & (share < 1)
            q = np.where(told, share, 0.5)
            mine, all_ = self.counts[depth + 1][column, label, child], self.counts[depth][column, label, node]
            step = log_rising(STRENGTH * q + mine, delta) - log_rising(STRENGTH + all_, delta) - delta * log(q)
            step = np.where(told, step, 0.0) + self.log_split[depth][column, label, node]
            total = np.logaddexp(self.log_stop[depth][column, label, node], step + total)
        return total

    def table(self, less: float = 0.0) -> Array:
        """ln p(cell | class) - ln p(cell), (column, class, leaf).

        Parameters
        ----------
        less : float
            Weight of a row in the cell that is left out of its class; of use where the cell has such a row.
        """
        columns, classes, leaves = self.counts[-1].shape
        at = np.arange(columns)[:, None, None], np.arange(classes)[:, None], np.arange(leaves)
        enough = self.counts[-1] >= less
        after = self.along(*at, np.where(enough, 1.0 - less, 0.0))
        return after - self.along(*at, np.where(enough, -less, 0.0)) if less else after

    def left_out(self, cells: Array, codes: Array, weight: Array) -> Array:
        """The same for learned rows in their own class, without them, (row, column); 0 where a cell is missing.

        Parameters
        ----------
        cells : int array (row, column)
            -1 where missing.
        codes, weight : array (row,)
        """
        known = cells >= 0
        at, w = (np.arange(cells.shape[1]), codes[:, None], np.maximum(cells, 0)), np.where(known, weight[:, None], 0.0)
        return np.where(known, self.along(*at, 1 - w) - self.along(*at, -w), 0.0)
