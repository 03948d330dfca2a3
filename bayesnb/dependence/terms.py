"""Log-likelihood terms, which exponents multiply, and their exact leave-one-out values.

The *terms* of naive Bayes are ln p(x_j | c, D), one per column j; a :class:`TermSet` adds further terms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np

from bayesnb.dependence.columns import DEPTH, PAIR_DEPTH, DependenceStatistics
from bayesnb.dependence.exponents import Exponents, Group
from bayesnb.dependence.forests import CELLS_DEPTH, Forests
from bayesnb.dependence.joint import JointTerm
from bayesnb.dependence.label_trees import LabelTreeTerm
from bayesnb.dependence.near import NearTerm
from bayesnb.dependence.pairs import CellTerm, PairTerm, ShapeTerm, tables
from bayesnb.dependence.partitions import PartitionTerm
from bayesnb.model import Data, Posterior, pieces
from bayesnb.numerics import Array
from bayesnb.statistics.statistic import Labels


def _name(key: tuple[Any, ...], columns: Sequence[Any]) -> Any:
    match key:
        case "column", k:
            return columns[k]
        case "shape", k:
            return f"shape of {columns[k]}"
        case "pair", i, j:
            return f"{columns[i]} × {columns[j]}"
    return key[0]


@dataclass(frozen=True, eq=False)
class TermSet:
    """The log-likelihood terms added to naive Bayes: for Pólya trees, pairs of columns, and all columns together."""

    statistics: DependenceStatistics

    def __getstate__(self) -> dict[str, Any]:
        """Pickle without the cached tables, which are several times larger than the statistics."""
        return {"statistics": self.statistics}

    @cached_property
    def of_shapes(self) -> ShapeTerm:
        return ShapeTerm.of(np.concatenate(self.statistics.shapes.each(), axis=2))

    @cached_property
    def of_pairs(self) -> list[PairTerm]:
        cells = self.statistics.cells
        axes, counts = cells.grid.axes(PAIR_DEPTH), [] if cells.forests else self.statistics.pairs.each()
        return PairTerm.of_each(counts, [(axes[i], axes[j]) for i, j in self.paired])

    def _of_cells(self, codes: Array) -> Iterator[tuple[CellTerm, Array, Array, Array, Array]]:
        cells = self.statistics.cells
        if len(cells.shaped):
            alone = np.zeros(codes.shape[1], np.intp)
            for place, k in enumerate(cells.shaped):
                yield self.of_shapes, *(table[0] for table in self._tables), codes[k], alone + place
        coarse = cells.grid.coarser(codes, PAIR_DEPTH)
        each = zip(self.of_pairs, *(table[1] for table in self._tables), strict=True)
        for (term, *of_pair), (i, j) in zip(each, self.paired, strict=True):
            yield term, *of_pair, coarse[i], coarse[j]

    @property
    def paired(self) -> Sequence[tuple[int, int]]:
        """The pairs of columns that have an interaction term; empty for a model with forests."""
        return () if self.statistics.cells.forests else self.statistics.cells.pairs

    @cached_property
    def forests(self) -> Forests | None:
        """The joint density of all columns, averaged over all forests; ``None`` if the model has no forests."""
        cells, s = self.statistics.cells, self.statistics
        if not (cells.forests and cells.pairs):
            return None
        return Forests.of(s.pairs, s.shapes, cells.grid.axes(PAIR_DEPTH), cells.forests == "shared")

    @cached_property
    def joint(self) -> JointTerm:
        return JointTerm(self.statistics.cells.joint, self.statistics.joint)

    @cached_property
    def near(self) -> NearTerm:
        return NearTerm(self.statistics.near, tuple(self.statistics.cells.grid.axes(DEPTH)))

    @cached_property
    def partitions(self) -> PartitionTerm:
        partitions, leaves = self.statistics.cells.partitions, self.statistics.leaves.counts
        counts = leaves.reshape(len(leaves), len(partitions), partitions.nodes)
        return PartitionTerm(partitions, counts, counts.sum(0))

    @cached_property
    def trees(self) -> LabelTreeTerm:
        trees, stops = self.statistics.cells.trees, self.statistics.stops.counts
        counts = stops.reshape(len(stops), len(trees), trees.nodes)
        return LabelTreeTerm(trees, counts, self.statistics.cells.grid.real)

    @cached_property
    def _tables(self) -> tuple[tuple[Array | None, list[Array]], ...]:
        shapes = self.of_shapes if len(self.statistics.cells.shaped) else None
        less = 0.0, 1.0
        pairs = tables(self.of_pairs, less)
        return tuple((shapes and shapes.table(n), own) for n, own in zip(less, pairs, strict=True))

    def groups(self, spec: Exponents, n_columns: int) -> list[Group]:
        """The groups of terms with learned exponents, in the order of the terms."""
        # The exponent of classification trees is fixed.
        by = spec.by == "class"
        if spec.by == "model":
            return [Group("features", 1, 1.0, spec.sd)]
        cells = self.statistics.cells
        real = set(cells.grid.terms[cells.shaped].tolist())
        runs = groupby(0.5 if k in real else 1.0 for k in range(n_columns))
        found = [Group("features", len([*run]), mean, spec.sd, by) for mean, run in runs]
        if real:
            found.append(Group("shapes", len(real), 0.5, spec.sd, by))
        if self.paired:
            found.append(Group("pairs", len(self.paired), 0.0, spec.pair_sd))
        if self.forests is not None:
            found.append(Group("forests", 1, 1.0, spec.sd))
        if cells.joint:
            found.append(Group("joint", 1, 0.0, spec.joint_sd, by))
        if cells.kernel:
            found.append(Group("kernel", 1, 0.0, spec.kernel_sd))
        if cells.partitions:
            found.append(Group("partitions", 1, 0.0, spec.partition_sd))
        return found

    def keys(self, spec: Exponents, n_columns: int) -> list[tuple[Any, ...]]:
        """For each term with a learned exponent, an identifier that does not depend on column names."""
        if spec.by == "model":
            return [("features",)]
        keys = [*(("column", k) for k in range(n_columns)), *self._keys_beside]
        return keys[:-1] if self.statistics.cells.trees else keys

    @property
    def _keys_beside(self) -> list[tuple[Any, ...]]:
        of, shaped = self.statistics.cells.grid.terms.tolist(), self.statistics.cells.shaped
        pairs = (("pair", of[i], of[j]) for i, j in self.paired)
        return [*(("shape", of[k]) for k in shaped), *pairs, *((name,) for name in self.names_of_all)]

    def names(self, spec: Exponents, columns: Sequence[Any]) -> list[Any]:
        return [_name(key, columns) for key in self.keys(spec, len(columns))]

    def names_beside(self, columns: Sequence[Any]) -> list[Any]:
        return [_name(key, columns) for key in self._keys_beside]

    @property
    def names_of_all(self) -> list[str]:
        cells = self.statistics.cells
        there = {name: getattr(cells, name) for name in ("joint", "kernel", "partitions", "trees")}
        return [name for name, is_there in ({"forests": self.forests} | there).items() if is_there]

    def shares(self, data: Data, n_rows: int) -> dict[str, Array]:
        """The contribution of each column to the terms "kernel" (similar rows) and "partitions", per row and class."""
        cells = self.statistics.cells
        codes, found = cells.grid.codes(data, n_rows), {}
        if cells.kernel:
            found["kernel"] = self.near.shares(codes)
        if cells.partitions:
            found["partitions"] = self.partitions.shares(cells.partitions.places(cells.grid.real, codes), len(codes))
        return found

    def beside(self, posterior: Posterior, data: Data, which: Labels | int, trees: bool = True) -> Array:
        """All log-likelihood terms except those of naive Bayes, (row, class, term); missing values contribute 0."""
        # which: the labels of learned rows, or the number of new rows. The terms of a learned row for its own class are
        # computed without the row.
        left, n = (which, len(which)) if isinstance(which, Labels) else (None, which)
        cells = self.statistics.cells
        codes = cells.grid.codes(data, n)
        alike = left is not None and bool((left.weight == 1).all())
        shape = n, len(posterior.labels)
        parts = [np.zeros((*shape, 0))]
        for term, table, less_one, a, b in self._of_cells(codes):
            rows = np.flatnonzero((a >= 0) & (b >= 0))
            a, b = a[rows], b[rows]
            found = np.zeros(shape)
            found[rows] = table[:, a, b].T
            if left is not None:
                c, w = left.codes[rows], left.weight[rows]
                found[rows, c] = less_one[c, a, b] if alike else term.left_out(c, w, a, b)
            parts.append(found[:, :, None])
        if self.forests is not None:
            parts.append(self.forests.term(cells.grid.coarser(codes, CELLS_DEPTH).T, left)[:, :, None])
        if cells.joint:
            parts.append(self.joint.term(pieces.gaussian_columns(posterior, data), left)[:, :, None])
        if cells.kernel:
            parts.append(self.near.term(codes, left)[:, :, None])
        if cells.partitions:
            parts.append(self.partitions.term(cells.partitions.places(cells.grid.real, codes), left)[:, :, None])
        if cells.trees and trees:
            parts.append(self.trees.term(cells.grid.ranks(codes), left)[:, :, None])
        return np.concatenate(parts, axis=-1)


def terms_of(
    found: TermSet, spec: Exponents, posterior: Posterior, data: Data, which: Labels | int, trees: bool = True
) -> Array:
    """All log-likelihood terms that exponents multiply, (row, class, term), with column parameters integrated out."""
    left, n = (which, len(which)) if isinstance(which, Labels) else (None, which)
    if spec.by == "model":
        # All columns share one exponent, so their terms are summed.
        total = posterior.log_predictive_features(data, n)
        if left is not None:
            posterior.leave_out(total, data, left)
        return total[:, :, None]
    own = pieces.predictive(posterior, data, n) if left is None else pieces.left_out(posterior, data, left)
    return exponent_terms(spec, own, found.beside(posterior, data, which, trees))


def exponent_terms(spec: Exponents, columns: Array, beside: Array) -> Array:
    """Join the log-likelihood terms that exponents multiply: those of naive Bayes, and those added to it."""
    if spec.by == "model":
        return columns.sum(-1, keepdims=True)
    found = np.concatenate([columns, beside], axis=-1)
    return relative(found) if spec.by == "class" else found


def relative(found: Array, axis: int = 1) -> Array:
    """Subtract from each term the log of the mean of exp(term) over classes, so that units of columns do not matter."""
    top = found.max(axis, keepdims=True)
    top = np.where(np.isneginf(top), 0.0, top)
    return found - (top + np.log(np.exp(found - top).mean(axis, keepdims=True)))
