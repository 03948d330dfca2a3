"""Terms for the interaction of two columns, and for the nonparametric density of one column."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise

import numpy as np
from scipy.special import gammaln

from bayesnb.kernels import sums
from bayesnb.numerics import Array
from bayesnb.priors.beta_tree import CELLS as TREE_CELLS
from bayesnb.priors.beta_tree import BetaTree, Path, splits
from bayesnb.statistics.statistic import Labels, Statistic


@dataclass(frozen=True)
class Axis:
    """How a column is divided step by step into cells: intervals that are halved, or all levels in one step."""

    steps: int  # number of divisions
    arity: int  # number of cells into which each step divides every cell

    @property
    def size(self) -> int:
        return self.arity**self.steps

    def coarse(self, counts: Array, steps: int, axis: int) -> Array:
        """Aggregate ``counts`` of the finest cells to the coarser cells after ``steps`` refinements."""
        if steps == self.steps:
            return counts
        shape, axis = counts.shape, axis % counts.ndim
        return counts.reshape(*shape[:axis], self.arity**steps, -1, *shape[axis + 1 :]).sum(axis + 1)

    def coarser(self, counts: Array, steps: int, axis: int) -> Array:
        """Aggregate counts of the cells after ``steps`` + 1 refinements to the cells after ``steps`` refinements."""
        return Axis(min(steps + 1, self.steps), self.arity).coarse(counts, steps, axis)

    def place(self, cell: Array, steps: int) -> Array:
        """For each finest cell, the coarser cell (after ``steps`` refinements) that contains it."""
        return cell // self.arity ** (self.steps - steps)


ROWS_OF_PRIOR = 4.0
"""Strength, in rows, of the prior of the joint cells of two columns."""


@dataclass(frozen=True, eq=False)
class PairCounts(Statistic):
    """Total weight of the rows of each class, per pair of cells (intervals or levels) of two columns."""

    # (class, cell): the tables of all pairs of columns, concatenated; the cell of the second column varies fastest.
    counts: Array
    pairs: tuple[tuple[int, int], ...]
    sizes: tuple[int, ...]  # number of cells of each column

    @classmethod
    def of(cls, codes: Array, sizes: Sequence[int], pairs: Sequence[tuple[int, int]], labels: Labels) -> PairCounts:
        counts = sums.pairs(codes, np.array(sizes, np.intp), np.array(pairs, np.intp).reshape(-1, 2), labels)
        return cls(counts, tuple(pairs), tuple(int(size) for size in sizes))

    def seen(self) -> Array:
        return np.stack([each.sum((1, 2)) for each in self.each()], axis=1) if self.pairs else self.counts[:, :0]

    def counts_cells(self, pairs: tuple[tuple[int, int], ...], sizes: tuple[int, ...]) -> bool:
        """Whether the tables belong to these ``pairs`` of columns, whose numbers of cells are ``sizes``."""
        width = sum(sizes[i] * sizes[j] for i, j in pairs)
        return (self.pairs, self.sizes, self.counts.shape[1:]) == (pairs, sizes, (width,))

    def each(self) -> list[Array]:
        """The weight of rows per class and pair of levels, (class, level, level): one array per pair of columns."""
        shapes = [(self.sizes[i], self.sizes[j]) for i, j in self.pairs]
        ends = accumulate(a * b for a, b in shapes)
        return [self.counts[:, end - a * b : end].reshape(-1, a, b) for (a, b), end in zip(shapes, ends, strict=True)]

    def log_bayes_factors(self, by_class: bool = False) -> Array:
        """Log Bayes factor of dependence of two columns given the class, (pair,); positive values favour dependence."""
        # The exact Dirichlet evidence of the two-way table, divided by the evidence of independence (Heckerman, Geiger
        # and Chickering 1995). The prior mean is the product of the two columns' level frequencies, and the prior is
        # worth ``ROWS_OF_PRIOR`` rows. If ``by_class``, the prior uses the level frequencies of the class, and is worth
        # one row per cell of the table; the Bayes factor is then divided by its approximate mean over permutations of
        # one column within classes.

        def log_evidence(alpha: Array, seen: Array, rows: Array) -> Array:
            alpha, seen = (x.reshape(*x.shape[:2], -1) for x in (alpha, seen))
            known = np.where(alpha > 0, alpha, 1.0)
            cells = np.where(alpha > 0, gammaln(known + seen) - gammaln(known), 0.0)
            return cells.sum((1, 2)) - (gammaln(rows + seen.sum(2)) - gammaln(rows)).sum(1)

        found, every = np.zeros(len(self.pairs)), self.each()
        for places in alike([each.shape for each in every]).values():
            each = np.stack([every[k] for k in places])
            margins = [each.sum(3), each.sum(2)]
            a, b = (shares_of(margin if by_class else margin.sum(1, keepdims=True)) for margin in margins)
            k, l = (np.maximum((q > 0).sum(2), 1.0) for q in (a, b))  # noqa: E741
            rows = k * l if by_class else np.full_like(k, ROWS_OF_PRIOR)
            scale = rows[:, :, None]
            joint = log_evidence((scale * a)[:, :, :, None] * b[:, :, None], each, rows)
            mean = ((1 - 1 / k) * (1 - 1 / l)).sum(1) / 2 if by_class else 0.0
            alone = log_evidence(scale * a, margins[0], rows) + log_evidence(scale * b, margins[1], rows)
            found[places] = np.where(each.any((1, 2, 3)), joint - alone - mean, 0.0)
        return found

    def dependent(self, limit: int) -> list[tuple[int, int]]:
        """At most ``limit`` pairs of columns with a Bayes factor above 1, most dependent first."""
        factors = self.log_bayes_factors()
        return [self.pairs[k] for k in np.argsort(-factors, kind="stable")[:limit] if factors[k] > ROUNDING]


def alike(shapes: Sequence[Hashable]) -> dict[Hashable, list[int]]:
    """Map each distinct value in ``shapes`` to its positions."""
    found: dict[Hashable, list[int]] = {}
    for k, shape in enumerate(shapes):
        found.setdefault(shape, []).append(k)
    return found


def shares_of(margin: Array) -> Array:
    """Frequency of each cell (interval or level) among the rows of a class, (..., class, cell)."""
    n = margin.sum(-1, keepdims=True)
    return margin / np.where(n > 0, n, 1.0)


ROUNDING = 1e-6
"""A log Bayes factor up to this size may be a rounding error, which depends on the order of classes and of columns.

The factor of a column with one value and any other column is exactly 0.
"""


MARGIN = 2.0
"""Strength, in rows, of the prior of a margin in a class, around pooled frequencies."""

STRENGTHS = (2.0, 8.0, 32.0)
"""Candidate values of s, the strength, in rows, of a prior around a coarser θ; leave-one-out chooses for each pair."""


class CellTerm(ABC):
    """A log-likelihood term that depends on a row's cells (intervals or levels) in two columns."""

    @abstractmethod
    def table(self, less: float = 0.0) -> Array:
        """The value of this term per class and pair of cells (intervals or levels), (class, cell, cell)."""
        # To leave out a row of weight ``less``, this weight is subtracted from each count. Values with smaller counts
        # are invalid.

    @abstractmethod
    def left_out(self, codes: Array, weight: Array, a: Array, b: Array) -> Array:
        """The leave-one-out value of the term for each learned row, (row,), from its cells in two columns."""


SHAPE = BetaTree(strength=2.0, growth=1.0, stop=0.5, near=1e20)
"""The prior of a shape: below a node that stops, the class has the distribution of all classes together."""


@dataclass(frozen=True, eq=False)
class ShapeTerm(CellTerm):
    """ln p(interval | c) - ln p(interval) of a real-valued column: log density in a class relative to all classes."""

    # The density of a class is a Pólya tree with optional stopping, centred on the interval frequencies of all rows.
    # Leaving out a row does not change these frequencies.

    whole: BetaTree
    tree: BetaTree
    counts: Array  # (class, cell, column)

    @classmethod
    def of(cls, counts: Array) -> ShapeTerm:
        # The tree may be deeper than the cells of the column: then its last halvings learn nothing.
        cells = np.zeros((len(counts), counts.shape[2], TREE_CELLS))
        cells[..., :: TREE_CELLS // counts.shape[1]] = np.moveaxis(counts, 2, 1)
        whole = SHAPE.over(cells.sum(0), len(cells))
        tree = whole.plus(*(np.where(whole.open, half, 0.0) for half in splits(cells)))
        return cls(whole, tree, counts)

    def table(self, less: float = 0.0) -> Array:
        path, whole = self._of_cells
        with np.errstate(invalid="ignore"):
            found = (path.plus(-less) if less else path).along() - whole
        return np.where(self.counts >= less, found.swapaxes(0, 1), 0.0)

    @cached_property
    def _of_cells(self) -> tuple[Path, Array]:
        cell = np.arange(self.counts.shape[1])[:, None, None] * (TREE_CELLS // self.counts.shape[1])
        with np.errstate(invalid="ignore"):
            return self.tree.path(cell), self.whole.path(cell).along()

    def left_out(self, codes: Array, weight: Array, a: Array, b: Array) -> Array:
        columns, place = np.unique(b, return_inverse=True)
        some = ShapeTerm(self.whole.columns(columns), self.tree.columns(columns), self.counts[..., columns])
        return some._at(a[:, None, None], weight[:, None, None])[np.arange(len(codes)), codes, place]

    def _at(self, cell: Array, less: Array | float) -> Array:
        cell = cell * (TREE_CELLS // self.counts.shape[1])
        with np.errstate(invalid="ignore"):
            return self.tree.path(cell).plus(-less).along() - self.whole.path(cell).along()


@dataclass(frozen=True, eq=False)
class PairTerm(CellTerm):
    """ln p(a, b | c) - ln p(a | c) - ln p(b | c) of two columns: their interaction."""

    # The cells (intervals or levels) of the two columns are refined alternately. Frequencies in finer cells are shrunk
    # towards frequencies in coarser cells by a hierarchical Dirichlet prior (MacKay and Bauman Peto 1995). The joint
    # probability p(a, b | c) is averaged over both orders of the columns.

    counts: Array  # (..., class, cell, cell), perhaps of several pairs of columns with the same sizes
    first: Axis
    second: Axis
    strength: float | Array  # number of rows that the prior is worth
    base: Array  # the counts of all classes together

    @classmethod
    def of(cls, counts: Array, first: Axis, second: Axis) -> PairTerm:
        """Choose the prior strength that maximizes the leave-one-out likelihood of the rows."""
        term = cls(counts, first, second, STRENGTHS[0], counts.sum(-3))
        gains = np.array([term.gain(s) for s in STRENGTHS])
        return replace(term, strength=np.array(STRENGTHS)[(gains >= gains.max(0) - ROUNDING).argmax(0)])

    @classmethod
    def of_each(cls, counts: Sequence[Array], axes: Sequence[tuple[Axis, Axis]]) -> list[PairTerm]:
        found = dict[int, PairTerm]()
        for places in alike(axes).values():
            several = cls.of(np.stack([counts[k] for k in places]), *axes[places[0]])
            for k, n, s, base in zip(places, several.counts, np.asarray(several.strength), several.base, strict=True):
                found[k] = cls(n, several.first, several.second, s, base)
        return [found[k] for k in range(len(counts))]

    def table(self, less: float = 0.0, strength: float | None = None) -> Array:
        s = np.asarray(self.strength if strength is None else strength)[..., None, None, None]
        return _mean_of(self._table(less, s), self._turned._table(less, s).swapaxes(-1, -2))

    def left_out(self, codes: Array, weight: Array, a: Array, b: Array) -> Array:
        return _mean_of(self._left_out(codes, weight, a, b), self._turned._left_out(codes, weight, b, a))

    @cached_property
    def _turned(self) -> PairTerm:
        return PairTerm(
            self.counts.swapaxes(-1, -2), self.second, self.first, self.strength, self.base.swapaxes(-1, -2)
        )

    def _table(self, less: float, strength: Array) -> Array:
        nodes, shares = self._nodes, self._shares

        def finer(values: Array, of_first: bool) -> Array:
            return np.repeat(values, *((self.first.arity, -2) if of_first else (self.second.arity, -1)))

        found = self._term(lambda k, l: nodes[k, l] - less, lambda step, f: shares[f][step], strength, finer)  # noqa: E741
        return np.broadcast_to(found, self.counts.shape)

    def _left_out(self, codes: Array, weight: Array, a: Array, b: Array) -> Array:
        nodes, shares = self._nodes, self._shares

        def of_rows(k: int, l: int) -> Array:  # noqa: E741
            return nodes[k, l][codes, self.first.place(a, k), self.second.place(b, l)] - weight

        def share(step: int, of_first: bool) -> Array:
            axis, cell = (self.first, a) if of_first else (self.second, b)
            return shares[of_first][step].ravel()[axis.place(cell, step + 1)]

        found = self._term(of_rows, share, self.strength, lambda values, of_first: values)
        return np.broadcast_to(found, a.shape)

    def gain(self, strength: float) -> Array:
        """Leave-one-out log likelihood of the rows minus that of independent columns, in nats."""
        return (self.counts * np.where(self.counts >= 1, self.table(1.0, strength), 0.0)).sum((-3, -2, -1))

    @cached_property
    def _nodes(self) -> dict[tuple[int, int], Array]:
        found, rows = {}, self.counts
        for k in reversed(range(self.first.steps + 1)):
            rows = cells = self.first.coarser(rows, k, -2)
            for l in reversed(range(self.second.steps + 1)):  # noqa: E741
                found[k, l] = cells = self.second.coarser(cells, l, -1)
        return found

    def _term(
        self, n: Callable[[int, int], Array], q: Callable[[int, bool], Array], strength: float | Array,
        finer: Callable[[Array, bool], Array],
    ) -> Array:  # fmt: skip
        """The interaction of two columns as a sum over refinements of their cells (intervals or levels)."""
        # finer: copies a cell's value to the cells within it
        total = np.zeros(())
        for of_first, step, context in refinements(self.first.steps, self.second.steps):
            if not context:
                # The other column is not yet refined, so the estimate is the margin.
                continue
            # Let A' be a finer cell within A, B_l the cell of the other column after l refinements, and q the frequency
            # of A' within A over all classes. The frequency of A' is (n(A') + r q) / (n(A) + r) in the margin, and θ_l
            # = (n(A', B_l) + s θ_{l-1}) / (n(A, B_l) + s) in B_l.
            each = [(n(step, l), n(step + 1, l)) if of_first else (n(l, step), n(l, step + 1))
                    for l in range(context + 1)]  # noqa: E741  # fmt: skip
            (outer, inner), *later = each
            with np.errstate(invalid="ignore", divide="ignore"):
                share = margin = (inner + MARGIN * q(step, of_first)) / (finer(outer, of_first) + MARGIN)
                for k, (outer, inner) in enumerate(later):
                    # The margin has a single cell of the other column, which needs no repetition.
                    share = finer(share, not of_first) if k else share
                    share = (inner + strength * share) / (finer(outer, of_first) + strength)
                # A cell without rows in which the other column is known contributes nothing.
                total = finer(total, of_first) if total.ndim else total
                total = total + np.where(margin > 0, np.log(share) - np.log(margin), 0.0)
        return total

    @cached_property
    def _shares(self) -> dict[bool, list[Array]]:
        found = {}
        for of_first, axis, other, by in ((True, -2, -1, self.first), (False, -1, -2, self.second)):
            margin = self.base.sum(other, keepdims=True)[..., None, :, :]
            levels = [by.coarse(margin, k, axis) for k in range(by.steps + 1)]
            pairs = ((np.repeat(a, by.arity, axis), own) for a, own in pairwise(levels))
            found[of_first] = [np.where(a > 0, own / np.where(a > 0, a, 1.0), 1.0) for a, own in pairs]
        return found


def tables(terms: Sequence[PairTerm], less: Sequence[float]) -> list[list[Array]]:
    """The interaction term of each pair of columns, per class and pair of cells, for each weight in ``less``."""
    found = [dict[int, Array]() for _ in less]
    for places in alike([(term.first, term.second) for term in terms]).values():
        each = [terms[k] for k in places]
        arrays = {name: np.stack([getattr(term, name) for term in each]) for name in ("counts", "strength", "base")}
        together = replace(each[0], **arrays)
        for own, n in zip(found, less, strict=True):
            own |= zip(places, together.table(n), strict=True)
    return [[own[k] for k in range(len(terms))] for own in found]


def _mean_of(one: Array, other: Array) -> Array:
    with np.errstate(invalid="ignore"):
        return np.logaddexp(one, other) - np.log(2)


def refinements(first: int, second: int) -> list[tuple[bool, int, int]]:
    """List the steps that refine the intervals of two columns in turn, as (first column is refined, own, other)."""
    # own, other: numbers of earlier steps of the column that is halved, and of the other column
    order, k, l = [], 0, 0  # noqa: E741
    while k < first or l < second:
        if l == second or (k < first and k * second <= l * first):
            order.append((True, k, l))
            k += 1
        else:
            order.append((False, l, k))
            l += 1  # noqa: E741
    return order
