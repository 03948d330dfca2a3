"""Real numbers of no particular shape: a density over dyadic cells, with a Pólya tree as its prior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.random import Generator

from bayesnb.families.conjugate import Added
from bayesnb.families.dyadic import Boxes, Dyadic
from bayesnb.families.on_tree import OnTree
from bayesnb.kernels.blocks import slices
from bayesnb.numerics import Array
from bayesnb.priors import Theta
from bayesnb.priors.beta_tree import CELLS, DEPTH
from bayesnb.statistics.membership import Membership
from bayesnb.statistics.statistic import Statistic

ENOUGH = 2**15
"""From how many rows, spread over the first table, the cells are taken at most."""


@dataclass(frozen=True, eq=False)
class CellCounts(Statistic):
    """Weight of each cell, (class, column, cell), and Σ w ln g(x), the log density within cells, (class, column)."""

    counts: Array
    log_within: Array

    signed = frozenset({"log_within"})

    def seen(self) -> Array:
        return self.counts.sum(-1)


@dataclass(frozen=True, eq=False)
class PolyaTree(OnTree[CellCounts]):
    """x has probability θ_k of cell k of its column, and a known density within it; θ has a Pólya tree as its prior.

    The 64 cells halve the column again and again, so they are narrow where values are frequent. Within an inner cell
    the density is uniform. The outer cells are open: u beyond their edge the density falls as w / (w + u)², where w is
    the width of the next cell. What is within cells is the same for all classes, so it adds to the evidence and not to
    the class. See :class:`BetaTree` for what is learned.

    Parameters
    ----------
    prior : BetaTree
    edges : sequence of float, optional
        The inner edges of the cells, increasing, at most 63, in units of the columns. If not given, the cells are taken
        from the first table. They are a part of the model: two models merge only if their cells are the same.
    cuts : tuple of Dyadic, optional
        The cells of each column, as they were taken from the first table.

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

    def placed(self, columns: Sequence[Array], weight: Array | None) -> PolyaTree:
        if not self.needs_rows:
            return self
        some = slice(None, None, -(-len(columns[0]) // ENOUGH) or 1)
        of_these = None if weight is None else weight[some]
        return replace(self, cuts=tuple(Dyadic.of(column[some], DEPTH, of_these) for column in columns))

    def gathered(self, cells: Sequence[tuple[PolyaTree, int]]) -> PolyaTree:
        return replace(self, edges=None, cuts=tuple(family._cuts(k + 1)[k] for family, k in cells))

    def read(self, x: Array) -> tuple[Array, Array]:
        return self._boxes(x.shape[1]).read(x)

    def statistic(self, x: Array, members: Membership) -> CellCounts:
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

    def added(self, s: CellCounts) -> Added:
        d, peak = super().added(s)
        return d, s.log_within + peak

    def sample(self, theta: Theta, rng: Generator, s: CellCounts) -> Array:
        log_cell = theta["log_cell"]
        code = (log_cell + rng.gumbel(size=log_cell.shape)).argmax(-1)
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

    def _cuts(self, n_columns: int) -> tuple[Dyadic, ...]:
        if self.cuts is not None:
            return self.cuts
        if self.edges is None:
            raise ValueError("the cells of a PolyaTree are not known before the first rows; give edges=[...]")
        return (Dyadic.given(self.edges, DEPTH),) * n_columns

    def _boxes(self, n_columns: int) -> Boxes:
        return Boxes.of(self._cuts(n_columns))
