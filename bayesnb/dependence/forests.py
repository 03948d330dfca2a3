"""The exact average over all forest-shaped Bayesian networks of columns (Meilă and Jaakkola 2006).

The forest without edges is naive Bayes; ``docs/theory/forests.md`` has the formulas.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Literal

import numpy as np
from numpy.random import Generator
from scipy.special import gammaln

from bayesnb.dependence.pairs import Axis, PairCounts
from bayesnb.kernels import forests
from bayesnb.kernels.blocks import slices
from bayesnb.numerics import Array, log_gamma_draw
from bayesnb.priors.common_draws import CommonDraws
from bayesnb.statistics.statistic import Labels

type Shared = Literal["shared", "class"]

MOST_COLUMNS = 50
"""Largest number of columns; the time of a sum over forests grows with its third power."""

CELLS_DEPTH = 2
"""Number of halvings of real columns: four cells, so that few rows suffice to estimate a dependence."""

COMPLETIONS = 64
"""Largest number of completions of a row with gaps over which its probability is summed."""

STRENGTHS = np.exp(np.linspace(np.log(0.25), np.log(64.0), 9))
ROOTS = np.exp(np.linspace(np.log(0.01), np.log(100.0), 9))
"""Candidate strengths of cells and values of β; the evidence chooses."""

TIE = 1e-6
"""Log evidences that differ by less are tied, and the first one wins, because rounding depends on the order of
columns.
"""

NODES = 24
"""Number of points of the quadrature over powers of the ratios."""

BLOCK = 2**21
"""Largest number of edge weights of rows in memory."""


@dataclass(frozen=True, eq=False)
class DrawnTerm:
    """Draws of the log density of one row under a forest, minus its log density under naive Bayes."""

    parents: Array  # (draw, class, column): the parent of each column, or the number of columns for a root
    known: Array  # (draw, class, column): whether a column and its parent both have known cells
    edges: Array  # (draw, class, column): contribution of the edge from the parent, if known
    gaps: Array  # (draw, class): total contribution of the edges with a missing cell

    def of_edge(self, u: int, v: int) -> Array:
        """The contribution of the edge between two columns to the log density, (draw, class)."""
        down, up = (np.where(self.parents[..., b] == a, self.edges[..., b], 0.0) for a, b in ((u, v), (v, u)))
        return down + up


@dataclass(frozen=True, eq=False)
class Forests:
    """The posterior of forests (edges between dependent columns), and of the probabilities of intervals and levels."""

    counts: PairCounts  # rows per pair of intervals or levels of two columns
    alone: PairCounts  # rows per interval or level of one column, paired with a dummy column of one interval
    strength: float = 4.0  # total concentration of the Dirichlet prior of a pair of columns
    beta: float = 1.0  # prior weight of each root; a larger ``beta`` means fewer edges
    shared: bool = True  # whether all classes have the same forest

    @classmethod
    def of(cls, pairs: PairCounts, alone: PairCounts, axes: list[Axis], shared: bool) -> Forests:
        """Make forests from counts, after merging fine intervals; ``axes`` holds the division of each column."""
        cells = (*(2**CELLS_DEPTH if axis.steps > 1 else axis.size for axis in axes), 1)

        def coarse(fine: PairCounts, sizes: tuple[int, ...]) -> PairCounts:
            parts = [
                each.reshape(len(each), cells[u], each.shape[1] // cells[u], cells[v], -1).sum((2, 4))
                for (u, v), each in zip(fine.pairs, fine.each(), strict=True)
            ]
            counts = np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1)
            return PairCounts(counts, fine.pairs, sizes)

        return cls(coarse(pairs, cells[:-1]), coarse(alone, cells), shared=shared).chosen()

    def chosen(self) -> Forests:
        """A copy of the forests with the ``strength`` and ``beta`` that maximize the evidence."""
        found = []
        for strength in STRENGTHS:
            each = replace(self, strength=float(strength))
            ground = np.broadcast_to(np.log(ROOTS)[:, None, None], (len(ROOTS), *each._log_weights.shape[:-1]))
            sums = forests.log_forests(np.broadcast_to(each._log_weights, (*ground.shape, ground.shape[-1])), ground)
            found.append(each._gain(sums, ROOTS[:, None]))
        best = np.array(found)
        a, b = (int(k[0]) for k in np.nonzero(best >= best.max() - TIE))
        return replace(self, strength=float(STRENGTHS[a]), beta=float(ROOTS[b]))

    # Evidence

    @cached_property
    def log_w(self) -> Array:
        """The log Bayes factor of dependence for each pair of columns, (class, column, column)."""
        n_classes, n = len(self.counts.counts), len(self.counts.sizes)
        found = np.full((n_classes, n, n), -np.inf)
        for (u, v), cells in zip(self.counts.pairs, self.counts.each(), strict=True):
            joint = self._log_evidence(cells.reshape(n_classes, -1))
            alone = self._log_evidence(cells.sum(2)) + self._log_evidence(cells.sum(1))
            found[:, u, v] = found[:, v, u] = joint - alone
        return found

    def _log_evidence(self, counts: Array) -> Array:
        own = self.strength / counts.shape[1]
        each = (gammaln(counts + own) - gammaln(own)).sum(1)
        return each - gammaln(counts.sum(1) + self.strength) + gammaln(self.strength)

    @cached_property
    def _log_weights(self) -> Array:
        return np.broadcast_to(self.log_w.sum(0), self.log_w.shape) if self.shared else self.log_w

    def _sum(self, log_w: Array) -> Array:
        return forests.log_forests(log_w, np.full(log_w.shape[:-1], np.log(self.beta)))

    @cached_property
    def _log_all(self) -> Array:
        return self._sum(self._log_weights)

    def _gain(self, log_all: Array, beta: Array | float) -> Array:
        """The log Bayes factor of forests against naive Bayes, from the log of the total weight of all forests."""
        n = len(self.counts.sizes)
        # The sum of β^roots over all rooted forests of F columns is β (β + F)^(F - 1).
        each = log_all - np.log(beta) - (n - 1) * np.log(np.add(beta, n))
        return each[..., 0] if self.shared else each.sum(-1)

    @property
    def log_gain(self) -> float:
        """The log Bayes factor of forests against naive Bayes with the same intervals, levels and ``strength``."""
        return float(self._gain(self._log_all, self.beta))

    @property
    def log_gain_bounds(self) -> tuple[float, float]:
        """Bounds of the ``log_gain`` that would result if the missing cells of learned rows were summed out exactly."""
        # A row with missing values is counted for each pair of its known values. All learned rows must have weight 1.
        a = self.strength
        low, high = np.zeros((2, *self.log_w.shape))  # (class, column, parent)
        for (u, v), cells in self._by_pair.items():
            alpha, above = cells + a / cells[0].size, cells.sum(2, keepdims=True) + a / cells.shape[1]
            only = np.maximum(self._known[v] - cells.sum(1), 0.0)
            most, rest = (each[:, None] for each in (np.maximum(only - 1, 0.0), only.sum(1, keepdims=True) - only))
            # Rows in which v is known and its parent u is missing: bound the probability of each of these rows over the
            # possible cells of u. The bound is largest if all other rows with the same cell of v come first and have
            # the same cell of u. It is smallest if all rows with other cells of v come first.
            own = self._log_evidence(self._known[v]) - self._log_evidence(cells.sum(1))
            high[:, v, u] = (only * np.log((alpha + most) / (above + most)).max(1)).sum(1) - own
            low[:, v, u] = (only * np.log(alpha / (above + rest)).min(1)).sum(1) - own
        found = []
        for more in (low, high):
            log_w = self._log_weights[:1] if self.shared else self._log_weights
            ground = np.full(log_w.shape[:-1], np.log(self.beta))
            bound = forests.log_directed_forests(log_w + (more.sum(0) if self.shared else more), ground)
            found.append(self.log_gain + float((bound - forests.log_directed_forests(log_w, ground)).sum()))
        return found[0], found[1]

    @property
    def log_naive(self) -> Array:
        """The log probability of the forest without edges (naive Bayes), (class,)."""
        return len(self.counts.sizes) * np.log(self.beta) - self._log_all

    @cached_property
    def edges(self) -> Array:
        """The posterior probability of each edge, (class, column, column)."""
        # The sum over forests with the edge uv is w_uv times the sum for the graph in which u and v are one node. This
        # product keeps small probabilities accurate.
        log_w, n = self._log_weights[:1] if self.shared else self._log_weights, len(self.counts.sizes)
        found = np.zeros(self.log_w.shape)
        for u, v in self.counts.pairs:
            rest = [k for k in range(n) if k not in (u, v)]
            graph = np.full((len(log_w), n - 1, n - 1), -np.inf)
            graph[:, 1:, 1:] = log_w[:, rest][:, :, rest]
            graph[:, 0, 1:] = graph[:, 1:, 0] = np.logaddexp(log_w[:, u][:, rest], log_w[:, v][:, rest])
            ground = np.log(self.beta) + np.log([2.0] + [1.0] * (n - 2))
            contracted = forests.log_forests(graph, np.broadcast_to(ground, graph.shape[:-1]))
            found[:, u, v] = found[:, v, u] = np.exp(log_w[:, u, v] + contracted - self._log_all[: len(log_w)])
        return found

    # Rows

    @cached_property
    def _tables(self) -> list[Array]:
        a, found = self.strength, []
        for cells in self.counts.each():
            share = np.log(cells + a / cells[0].size) + np.log(cells.sum((1, 2)) + a)[:, None, None]
            share -= np.log(cells.sum(2) + a / cells.shape[1])[:, :, None]
            found.append(share - np.log(cells.sum(1) + a / cells.shape[2])[:, None, :])
        return found

    def log_ratios(self, codes: Array) -> Array:
        """Log ratio ln [p(x_u, x_v | c) / (p(x_u | c) p(x_v | c))] of columns u and v, (row, class, u, v)."""
        found = np.zeros((len(codes), len(self.counts.counts), codes.shape[1], codes.shape[1]))
        for (u, v), table in zip(self.counts.pairs, self._tables, strict=True):
            x, y = codes[:, u], codes[:, v]
            each = np.where((x >= 0) & (y >= 0), table[:, x, y], 0.0)
            found[:, :, u, v] = found[:, :, v, u] = each.T
        return found

    def own_ratios(self, codes: Array, left: Labels, counted: Array, changes: bool = False) -> Array:
        """Leave-one-out log ratios (:meth:`log_ratios`) of each learned row in its own class, (row, column, column)."""
        # counted, (row, column): whether ``counts`` includes the row's value. If ``changes``, return the amount that
        # each row adds to the log weight of each edge instead.
        found = np.zeros((len(codes), codes.shape[1], codes.shape[1]))
        for (u, v), cells in zip(self.counts.pairs, self.counts.each(), strict=True):
            x, y, c, a = codes[:, u], codes[:, v], left.codes, self.strength
            less = np.where(counted[:, u] & counted[:, v], left.weight, 0.0)
            each = np.stack([
                cells[c, x, y] + a / cells[0].size,
                cells.sum((1, 2))[c] + a,
                cells.sum(2)[c, x] + a / cells.shape[1],
                cells.sum(1)[c, y] + a / cells.shape[2],
            ])  # fmt: skip
            known = (x >= 0) & (y >= 0)
            rest = np.where(known, each - less, 1.0)
            logs = np.log(rest)
            if changes and (left.weight != 1).any():
                logs = np.where(less == 1, logs, gammaln(rest + less) - gammaln(rest))
            found[:, u, v] = found[:, v, u] = np.where(known, logs[0] + logs[1] - logs[2] - logs[3], 0.0)
        return found

    def term(self, codes: Array, left: Labels | None = None) -> Array:
        """ln p(x | c) minus the sum of ln p(x_u | c) over the columns u with a known value, (row, class)."""
        # left: the labels of learned rows, for which the densities are leave-one-out
        found = np.empty((len(codes), len(self.counts.counts)))
        rows, filled, log_share = self._completed(codes)
        first = np.searchsorted(rows, np.arange(len(codes) + 1))
        for cut in slices(len(codes), self._rows_at_once):
            some = slice(first[cut.start], first[cut.stop])
            ratios, at = self.log_ratios(filled[some]), rows[some]
            log_w, before = self._log_weights[None], self._log_all[None]
            if left is not None:
                own, known = left[at], codes[at] >= 0
                ratios[np.arange(len(at)), own.codes] = self.own_ratios(filled[some], own, known)
                less = self.own_ratios(codes[cut], left[cut], codes[cut] >= 0, changes=True)
                is_own = np.eye(found.shape[1], dtype=bool)[left.codes[cut]]
                taken = np.where(is_own[:, :, None, None] | self.shared, less[:, None], 0.0)
                without = log_w - taken
                before = self._sum(without)[at - cut.start]
                log_w = without[at - cut.start]
            sums = self._sum(log_w + ratios) - before + log_share[some]
            starts = first[cut.start : cut.stop] - first[cut.start]
            found[cut] = np.logaddexp.reduceat(sums, starts, axis=0) if len(sums) else sums
        return found

    def shares(self, codes: Array) -> Array:
        """Contribution (Aumann-Shapley value) of each edge to :meth:`term`, (row, class, column, column)."""
        # Aumann and Shapley 1974. The contributions are averaged over the possible values of missing cells.
        n = codes.shape[1]
        points, width = np.polynomial.legendre.leggauss(NODES)
        found = np.zeros((len(codes), len(self.counts.counts), n, n))
        for cut in slices(len(codes), self._rows_at_once):
            rows, filled, log_share = self._completed(codes[cut])
            ratios, first = self.log_ratios(filled), np.searchsorted(rows, np.arange(cut.stop - cut.start))
            for point, weight in zip((points + 1) / 2, width / 2, strict=True):
                graphs = self._log_weights + point * ratios
                sums = self._sum(graphs) + log_share
                share = np.exp(sums - np.logaddexp.reduceat(sums, first, axis=0)[rows])[..., None, None]
                p = forests.edge_probabilities(graphs, np.full(graphs.shape[:-1], np.log(self.beta)))
                found[cut] += weight * np.add.reduceat(share * p * ratios, first, axis=0)
        return found

    @property
    def _rows_at_once(self) -> int:
        n_classes, n = self.log_w.shape[:2]
        return max(1, BLOCK // (n_classes * n**2 * COMPLETIONS // 8))

    # Draws

    @cached_property
    def _order(self) -> Array:
        """An order of the columns that depends on their data only; drawn forests use random numbers in this order."""
        return np.argsort(-np.round(self.log_w.sum((0, 1), where=np.isfinite(self.log_w)), 6), kind="stable")

    def _drawn(self, graphs: Array, uniforms: Array, which: Array) -> Array:
        ground = np.full(graphs.shape[:-1], np.log(self.beta))
        return forests.drawn_forests(graphs, ground, uniforms, which)

    def _drawn_given_data(self, uniforms: Array) -> Array:
        n_classes = len(self.log_w)
        log_w = self._log_weights[:, self._order][:, :, self._order]
        every = [
            self._drawn(log_w, uniforms, np.full(len(uniforms), c)) for c in range(1 if self.shared else n_classes)
        ]
        return np.repeat(np.stack(every, axis=1), n_classes if self.shared else 1, axis=1)

    def parents(self, draws: int, rng: Generator) -> Array:
        """Draw ``draws`` forests per class; return the parent of each column (the number of columns for a root)."""
        n = self.log_w.shape[1]
        found = self._drawn_given_data(rng.random((draws, n * (n + 1) // 2)))
        return np.append(self._order, n)[found][..., np.argsort(self._order)]

    def drawn_ratios(self, v: int, parent: Array, cell: Array, draw: Array, labels: Array, rng: Generator) -> Array:
        """Draw θ; return ln [p(x | parent's cell, θ) / p(x)] for each level or interval x of column v, (row, level)."""
        # Rows with the same draw and class have the same probabilities θ.
        (labels, parent, cell, _), place = np.unique([labels, parent, cell, draw], axis=1, return_inverse=True)
        found = np.empty((len(parent), self.counts.sizes[v]))
        for u in np.unique(parent):
            some, cells = parent == u, self._by_pair[int(u), v]
            mean = cells.sum(1) + self.strength / cells.shape[2]
            log_p = log_gamma_draw(cells[labels[some], cell[some]] + self.strength / cells[0].size, rng, ())
            log_p -= np.logaddexp.reduce(log_p, axis=1, keepdims=True)
            found[some] = log_p - np.log(mean / mean.sum(1, keepdims=True))[labels[some]]
        return found[place.reshape(-1)]

    @cached_property
    def _by_pair(self) -> dict[tuple[int, int], Array]:
        both = dict(zip(self.counts.pairs, self.counts.each(), strict=True))
        return both | {(v, u): cells.swapaxes(1, 2) for (u, v), cells in both.items()}

    def drawn(self, codes: Array, common: CommonDraws, chosen: Array | None = None) -> Iterator[DrawnTerm]:
        """Yield posterior draws of each row's :meth:`term`, with drawn forests and drawn probabilities of the cells."""
        # If ``chosen``, (draw, row), is given, the posterior is also conditioned on the row itself, labelled as in
        # ``chosen``. The expected value of exp(drawn term) is exp(term). All rows use the same random numbers.
        n_classes, n = self.log_w.shape[:2]
        order, place = self._order, np.argsort(self._order)
        uniforms = common.generator(0).random((common.draws, n * (n + 1) // 2))
        log_w, given_data = self._log_weights[:, order][:, :, order], self._drawn_given_data(uniforms)
        draw, classes = np.arange(common.draws), np.arange(n_classes)[:, None]
        sizes = np.array(self.counts.sizes)[order]
        of_cell, of_row = self.strength / sizes[:, None] / sizes, self.strength / sizes[:, None]
        for cut in slices(len(codes), self._rows_at_once):
            rows, filled, log_share = self._completed(codes[cut])
            ratios = self.log_ratios(filled)[:, :, order][..., order]
            seen, above = (each[:, :, order][..., order] for each in self._seen(codes[cut]))
            for i, row in enumerate(codes[cut][:, order]):
                log_r, share, parents, own = ratios[rows == i], log_share[rows == i], given_data, 0.0
                if chosen is not None:
                    label = chosen[:, cut.start + i]
                    graphs = log_w + log_r
                    completions = np.exp(_normalized(self._sum(graphs) + share)).cumsum(0)[:-1, label]
                    which = (common.generator(1).random(common.draws) >= completions).sum(0) * n_classes + label
                    found = self._drawn(graphs.reshape(-1, n, n), uniforms, which)
                    parents, own = given_data.copy(), (label[:, None] == classes[:, 0])[..., None]
                    parents[draw if self.shared else (draw, label)] = found[:, None] if self.shared else found
                u, v = np.minimum(parents, n - 1), np.arange(n)
                child = parents < n
                known = child & (row[u] >= 0) & (row >= 0)
                # The probabilities of the cells of v given the cell of u have a Dirichlet posterior, regardless of
                # other edges (Dawid and Lauritzen 1993). So the probability of the row's cell has a Beta posterior.
                alpha = seen[i][classes, u, v] + of_cell[u, v]
                rest = np.maximum(above[i][classes, u, v] - seen[i][classes, u, v], 0.0) + (of_row - of_cell)[u, v]
                rng = common.generator(2)
                one, other = (log_gamma_draw(each, rng, ()) for each in (alpha + own, rest))
                # Where an edge is used, the drawn probability of the cell replaces its mean.
                news = np.where(known, one - np.logaddexp(one, other) - np.log(alpha / (alpha + rest)), 0.0)
                edges = np.where(known, log_r[0][classes, u, v] + news, 0.0)
                beside = [np.where(child & ~known, each[classes, u, v], 0.0).sum(-1) for each in log_r]
                gaps = np.logaddexp.reduce(np.stack(beside) + share[:, None], axis=0)
                parents = np.append(order, n)[parents]
                yield DrawnTerm(*(each[..., place] for each in (parents, known, edges)), gaps)

    def _seen(self, codes: Array) -> tuple[Array, Array]:
        """Weights of learned rows equal to a row in columns u and v, or in column u: two arrays (row, class, u, v)."""
        found = np.zeros((2, len(codes), len(self.counts.counts), codes.shape[1], codes.shape[1]))
        for (u, v), cells in self._by_pair.items():
            x, y = codes[:, u], codes[:, v]
            for one, each in zip(found, (cells[:, x, y], cells.sum(2)[:, x]), strict=True):
                one[:, :, u, v] = np.where((x >= 0) & (y >= 0), each, 0.0).T
        return found[0], found[1]

    def _completed(self, codes: Array) -> tuple[Array, Array, Array]:
        """Fill missing cells in all possible ways; return row numbers, filled rows, and their log weights by class."""
        sizes = np.array(self.counts.sizes)
        order = np.argsort(-np.round(self.edges.sum((0, 2)), 9), kind="stable")
        patterns, which = np.unique(codes < 0, axis=0, return_inverse=True)
        parts = []
        for k, gaps in enumerate(patterns):
            rows, summed, ways = np.flatnonzero(which.reshape(-1) == k), [], 1
            for column in order[gaps[order]]:
                if ways * sizes[column] <= COMPLETIONS:
                    summed.append(int(column))
                    ways *= int(sizes[column])
            cells = np.array([*product(*(range(sizes[column]) for column in summed))], int).reshape(ways, len(summed))
            filled = np.repeat(codes[rows], ways, axis=0)
            filled[:, summed] = np.tile(cells, (len(rows), 1))
            share = sum((self._log_margins[c][:, cells[:, k]].T for k, c in enumerate(summed)), np.zeros((ways, 1)))
            share = np.broadcast_to(share, (ways, len(self.counts.counts)))
            parts.append((np.repeat(rows, ways), filled, np.tile(share, (len(rows), 1))))
        rows, filled, share = (np.concatenate(each) for each in zip(*parts, strict=True)) if parts else (
            np.zeros(0, int), codes, np.zeros((0, len(self.counts.counts))))  # fmt: skip
        place = np.argsort(rows, kind="stable")
        return rows[place], filled[place], share[place]

    @cached_property
    def _known(self) -> list[Array]:
        return [each[:, :, 0] for each in self.alone.each()]

    @cached_property
    def _log_margins(self) -> list[Array]:
        a = self.strength
        return [np.log((each + a / each.shape[1]) / (each.sum(1, keepdims=True) + a)) for each in self._known]


def _normalized(log_p: Array) -> Array:
    return log_p - np.logaddexp.reduce(log_p, axis=0)
