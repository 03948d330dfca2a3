"""All that adds up in a model whose features may depend on each other, as one array of terms.

Start with :class:`TermSet`; its :meth:`~TermSet.beside` gives the terms that stand beside those of the columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from bayesnb.dependence import terms
from bayesnb.dependence.counting import DependenceStatistics, gaussian_columns, gaussian_places
from bayesnb.dependence.exponents import Exponents, Group
from bayesnb.dependence.grid import PAIR_DEPTH
from bayesnb.dependence.joint import JointGaussian
from bayesnb.dependence.pairs import PairTerm
from bayesnb.dependence.polya import Shapes
from bayesnb.model import Data, Posterior
from bayesnb.numerics import Array
from bayesnb.statistics.membership import Labels


@dataclass(frozen=True, eq=False)
class TermSet:
    """What is believed of the shapes of columns, of pairs of columns, and of all Gaussian columns together.

    Parameters
    ----------
    statistics : DependenceStatistics
        What all of it follows from.
    """

    statistics: DependenceStatistics

    @cached_property
    def shapes(self) -> Shapes | None:
        """Of the real columns."""
        return Shapes.of(self.statistics.shapes) if len(self.statistics.cells.shaped) else None

    @cached_property
    def pairs(self) -> tuple[PairTerm, ...]:
        """Of the pairs of columns."""
        cells = self.statistics.cells
        axes = cells.grid.axes(PAIR_DEPTH)
        each = zip(cells.pairs, self.statistics.pairs.each(), strict=True)
        return tuple(PairTerm.of(counts, axes[i], axes[j]) for (i, j), counts in each)

    @cached_property
    def joint(self) -> JointGaussian | None:
        """Of the columns of Gaussian features."""
        return JointGaussian.of(self.statistics.joint) if self.statistics.cells.joint else None

    @cached_property
    def _tables(self) -> tuple[Array, ...]:
        """The term of each cell under each class: of the shapes, and of each pair."""
        return self._of_cells(0.0)

    @cached_property
    def _tables_less_one(self) -> tuple[Array, ...]:
        """The same where a row of weight 1 in the cell is left out of the class."""
        return self._of_cells(1.0)

    def _of_cells(self, less: float) -> tuple[Array, ...]:
        shapes = () if self.shapes is None else (self.shapes.table(less),)
        return (*shapes, *(term.table(less) for term in self.pairs))

    def groups(self, spec: Exponents, n_columns: int) -> list[Group]:
        """The priors of the exponents, in the order of the terms; the model has so many columns."""
        by = spec.by == "class"
        if spec.by == "model":
            return [Group("features", 1, 1.0, spec.sd)]
        cells = self.statistics.cells
        real = set(cells.grid.terms[cells.shaped].tolist())
        found = _runs([Group("features", 1, 0.5 if k in real else 1.0, spec.sd, by) for k in range(n_columns)])
        if self.shapes is not None:
            found.append(Group("shapes", len(real), 0.5, spec.sd, by))
        if self.pairs:
            found.append(Group("pairs", len(self.pairs), 0.0, spec.pair_sd))
        if self.joint is not None:
            found.append(Group("joint", 1, 0.0, spec.joint_sd, by))
        return found

    def names(self, spec: Exponents, columns: Sequence[Any]) -> list[Any]:
        """What each term is called, where the columns of the model have these names."""
        return ["features"] if spec.by == "model" else [*columns, *self.names_beside(columns)]

    def names_beside(self, columns: Sequence[Any]) -> list[Any]:
        """What the terms beside those of the columns are called."""
        cells = self.statistics.cells
        called = cells.grid.names(columns)
        shapes = [f"shape of {called[k]}" for k in cells.shaped]
        pairs = [f"{called[i]} × {called[j]}" for i, j in cells.pairs]
        return [*shapes, *pairs, *(["joint"] if self.joint is not None else [])]

    def beside(self, posterior: Posterior, own: Array, data: Data, left: Labels | None = None) -> Array:
        """The terms of rows that stand beside those of the columns, (row, class, term); 0 where a cell is missing.

        Parameters
        ----------
        posterior : Posterior
        own : array (row, class, column)
            The terms of the columns, which the joint Gaussian is relative to: with the row left out if it is here.
        data : {name: encoded column}
        left : Labels, optional
            Of rows that were learned: each is left out of its own class, with the weight that it has here.
        """
        cells, grid = self.statistics.cells, self.statistics.cells.grid
        parts, codes = [own[:, :, :0]], grid.codes(data, len(own))
        tables = zip(self._tables, self._less_one(left), strict=True)
        if self.shapes is not None:
            parts.append(_of_shapes(self.shapes, *next(tables), codes[cells.shaped], left))
        if self.pairs:
            codes = grid.coarser(codes, PAIR_DEPTH)
            each = zip(cells.pairs, self.pairs, tables, strict=True)
            found = [_of_pair(term, *both, codes[i], codes[j], left) for (i, j), term, both in each]
            parts.append(np.stack(found, axis=-1))
        if self.joint is not None:
            x = gaussian_columns(posterior, data)
            found = self.joint.predictive(x)
            if left is not None:
                found[np.arange(len(left)), left.codes] = self.joint.left_out(x, left)
            known = ~np.isnan(x).any(1)[:, None]
            parts.append(np.where(known, found - own[:, :, gaussian_places(posterior)].sum(-1), 0.0)[:, :, None])
        return np.concatenate(parts, axis=-1)

    def _less_one(self, left: Labels | None) -> tuple[Array | None, ...]:
        """Tables for rows that are all left out with weight 1; of others, nothing, and each is worked out by itself."""
        alike = left is not None and bool((left.weight == 1).all())
        return self._tables_less_one if alike else (None,) * len(self._tables)


def _of_shapes(shapes: Shapes, table: Array, less_one: Array | None, cells: Array, left: Labels | None) -> Array:
    """Terms of the shapes, (row, class, column); cells are (column, row)."""
    columns = np.arange(len(cells))[:, None]
    known, at = cells >= 0, np.maximum(cells, 0)
    found = np.moveaxis(table[columns, :, at], 0, -1)
    if left is not None:
        if less_one is None:
            own = shapes.left_out(cells.T, left.codes, left.weight)
        else:
            own = less_one[columns, left.codes, at].T
        found[np.arange(len(left)), left.codes] = own
    return np.where(known.T[:, None], found, 0.0)


def _of_pair(term: PairTerm, table: Array, less_one: Array | None, a: Array, b: Array, left: Labels | None) -> Array:
    """The term of one pair, (row, class)."""
    known, a, b = (a >= 0) & (b >= 0), np.maximum(a, 0), np.maximum(b, 0)
    found = table[:, a, b].T.copy()
    if left is not None:
        rows = np.flatnonzero(known)
        codes, a, b = left.codes[rows], a[rows], b[rows]
        own = term.left_out(codes, left.weight[rows], a, b) if less_one is None else less_one[codes, a, b]
        found[rows, codes] = own
    return np.where(known[:, None], found, 0.0)


def _runs(groups: list[Group]) -> list[Group]:
    """Groups of one term each, with those that follow each other and have one prior as one."""
    found: list[Group] = []
    for group in groups:
        if found and found[-1].mean == group.mean:
            found[-1] = replace(found[-1], terms=found[-1].terms + 1)
        else:
            found.append(group)
    return found


def exponent_terms(spec: Exponents, columns: Array, beside: Array) -> Array:
    """The terms as the exponents see them, (row, class, term).

    Where all columns share one exponent their terms are added up. Where classes have exponents of their own, terms are
    relative to their mean over classes.
    """
    if spec.by == "model":
        return columns.sum(-1, keepdims=True)
    found = np.concatenate([columns, beside], axis=-1)
    return relative(found) if spec.by == "class" else found


def relative(found: Array, axis: int = 1) -> Array:
    """Each term less its log mean over classes: how much more probable the cell is than on average.

    An exponent that the classes share cannot tell the difference. A deviation by class can: without this it would
    depend on the units of the column, in which a density is so many nats larger or smaller.
    """
    top = found.max(axis, keepdims=True)
    top = np.where(np.isneginf(top), 0.0, top)
    return found - (top + np.log(np.exp(found - top).mean(axis, keepdims=True)))


def predictive_terms(found: TermSet, spec: Exponents, posterior: Posterior, data: Data, n_rows: int) -> Array:
    """The terms of new rows, all parameters integrated out."""
    if spec.by == "model":
        return terms.added_up(posterior, data, n_rows)
    own = terms.predictive(posterior, data, n_rows)
    return exponent_terms(spec, own, found.beside(posterior, own, data))


def left_out_terms(found: TermSet, spec: Exponents, posterior: Posterior, data: Data, left: Labels) -> Array:
    """The terms of learned rows, each left out of its own class."""
    if spec.by == "model":
        return terms.added_up(posterior, data, left, leave=True)
    own = terms.left_out(posterior, data, left)
    return exponent_terms(spec, own, found.beside(posterior, own, data, left))
