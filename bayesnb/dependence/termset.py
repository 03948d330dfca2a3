"""All that adds up in a model whose features may depend on each other, as one array of terms.

Start with :class:`TermSet`; its :meth:`~TermSet.answering` gives the terms of rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayesnb.dependence import polya, terms
from bayesnb.dependence.exponents import Exponents, Group
from bayesnb.dependence.grid import PAIR_DEPTH, Grid
from bayesnb.dependence.joint import JointGaussian
from bayesnb.dependence.pairs import PairTerm
from bayesnb.families.gaussian import Gaussian
from bayesnb.families.membership import Labels
from bayesnb.model import Data, Posterior
from bayesnb.numerics import Array


@dataclass(frozen=True, eq=False)
class TermSet:
    """All terms of a model: of its columns, their shapes, its pairs of columns, and all Gaussian columns together.

    Parameters
    ----------
    posterior : Posterior
    grid : Grid
    shapes : Shapes or None
        Of the real columns of the grid.
    pairs : tuple of ((int, int), PairTerm)
        Columns of the grid, and what they say together.
    joint : JointGaussian or None
        Of the columns of Gaussian features.
    """

    posterior: Posterior
    grid: Grid
    shapes: polya.Shapes | None
    pairs: tuple[tuple[tuple[int, int], PairTerm], ...]
    joint: JointGaussian | None

    def groups(self, spec: Exponents) -> list[Group]:
        """The priors of the exponents, in the order of the terms."""
        n, by = len(terms.names(self.posterior)), spec.by == "class"
        if spec.by == "model":
            return [Group("features", 1, 1.0, spec.sd)]
        real = self.grid.terms[self.grid.real] if self.shapes is not None else []
        halves = [Group("features", 1, 0.5 if k in real else 1.0, spec.sd, by) for k in range(n)]
        found = _runs(halves)
        if self.shapes is not None:
            found.append(Group("shapes", len(real), 0.5, spec.sd, by))
        if self.pairs:
            found.append(Group("pairs", len(self.pairs), 0.0, spec.pair_sd))
        if self.joint is not None:
            found.append(Group("joint", 1, 0.0, spec.joint_sd, by))
        return found

    def names(self, spec: Exponents) -> list[Any]:
        """What each term is called."""
        if spec.by == "model":
            return ["features"]
        columns = terms.names(self.posterior)
        cells = self.grid.names(columns)
        shapes = [("shape", cells[k]) for k in np.flatnonzero(self.grid.real)] if self.shapes is not None else []
        pairs = [(cells[i], cells[j]) for (i, j), _ in self.pairs]
        return [*columns, *shapes, *pairs, *(["joint"] if self.joint is not None else [])]

    def answering(self, spec: Exponents, labels: Labels | None = None) -> Callable[[Data, Labels | int], Array]:
        """A function that gives the terms of rows, (row, class, term), as the exponents see them.

        With ``labels``, those that were learned, it leaves each row out of its own class. Where all terms share one
        exponent they are added up; where classes have their own, terms are relative to their mean.
        """
        leave = labels is not None
        if spec.by == "model":
            return lambda data, which: terms.added_up(self.posterior, data, which, leave)
        alike = leave and bool((labels.weight == 1).all())
        tables = [self._shape_tables(alike), *(_tables(term, alike) for _, term in self.pairs)]

        def ask(data: Data, which: Labels | int) -> Array:
            n = which if isinstance(which, int) else len(which)
            own = terms.left_out(self.posterior, data, which) if leave else terms.predictive(self.posterior, data, n)
            cells = self.grid.codes(data, n)
            parts = [own]
            if self.shapes is not None:
                parts.append(self._shape_terms(tables[0], cells[self.grid.real], which, leave))
            if self.pairs:
                cells = self.grid.coarser(cells, PAIR_DEPTH)
                each = zip(self.pairs, tables[1:], strict=True)
                parts.append(np.stack([_pair(p, t, cells, which, leave) for p, t in each], axis=-1))
            if self.joint is not None:
                parts.append(self._joint_term(own, data, which, leave))
            found = np.concatenate(parts, axis=-1)
            return relative(found) if spec.by == "class" else found

        return ask

    def _shape_tables(self, alike: bool) -> tuple[Array, Array | None] | None:
        if self.shapes is None:
            return None
        return self.shapes.table(), self.shapes.table(1.0) if alike else None

    def _shape_terms(self, tables: Any, cells: Array, which: Any, leave: bool) -> Array:
        """Terms of the shapes, (row, class, column); 0 where a cell is missing."""
        table, less_one = tables
        columns = np.arange(len(cells))[:, None]
        known, at = cells >= 0, np.maximum(cells, 0)
        found = np.moveaxis(table[columns, :, at], 0, -1)
        if leave:
            rows = np.arange(len(which))
            if less_one is None:
                own = self.shapes.left_out(cells.T, which.codes, which.weight)
            else:
                own = less_one[columns, which.codes, at].T
            found[rows, which.codes] = own
        return np.where(known.T[:, None], found, 0.0)

    def _joint_term(self, own: Array, data: Data, which: Any, leave: bool) -> Array:
        """What all Gaussian columns say together beyond what each says alone, (row, class, 1)."""
        x, places = gaussian_columns(self.posterior, data)
        found = self.joint.predictive(x)
        if leave:
            found[np.arange(len(which)), which.codes] = self.joint.left_out(x, which)
        known = ~np.isnan(x).any(1)
        return np.where(known[:, None], found - own[:, :, places].sum(-1), 0.0)[:, :, None]


def _runs(groups: list[Group]) -> list[Group]:
    """Groups of one term each, with those that follow each other and have one prior as one."""
    found: list[Group] = []
    for group in groups:
        if found and found[-1].mean == group.mean:
            found[-1] = replace(found[-1], terms=found[-1].terms + 1)
        else:
            found.append(group)
    return found


def _tables(term: PairTerm, alike: bool) -> tuple[Array, Array | None]:
    return term.table(), term.table(1.0) if alike else None


def _pair(pair: Any, tables: Any, cells: Array, which: Any, leave: bool) -> Array:
    """The term of one pair, (row, class); 0 where a cell is missing."""
    ((i, j), term), (table, less_one) = pair, tables
    known, a, b = (cells[i] >= 0) & (cells[j] >= 0), np.maximum(cells[i], 0), np.maximum(cells[j], 0)
    found = table[:, a, b].T.copy()
    if leave:
        rows = np.flatnonzero(known)
        codes, a, b = which.codes[rows], a[rows], b[rows]
        weight = which.weight[rows]
        own = term.left_out(codes, weight, a, b) if less_one is None else less_one[codes, a, b]
        found[rows, codes] = own
    return np.where(known[:, None], found, 0.0)


def gaussian_columns(posterior: Posterior, data: Data) -> tuple[Array, list[int]]:
    """All columns of Gaussian features side by side, (row, column), and their positions among the terms."""
    pieces = terms.pieces(posterior)
    places = [k for k, piece in enumerate(pieces) if isinstance(piece.family, Gaussian)]
    columns = [pieces[k].of(data[pieces[k].feature]) for k in places]
    return (np.concatenate(columns, axis=1) if columns else np.zeros((0, 0))), places


def relative(terms: Array) -> Array:
    """Each term less its log mean over classes: how much more probable the cell is than on average.

    An exponent that the classes share cannot tell the difference. A deviation by class can: without this it would
    depend on the units of the column, in which a density is so many nats larger or smaller.
    """
    top = terms.max(1, keepdims=True)
    return terms - (top + np.log(np.exp(terms - top).mean(1, keepdims=True)))
