"""The columns of a model as cells: what shapes and pairs are counted on.

Start with :class:`Grid`, made of the encoded rows of a model. Real columns and counts become dyadic intervals, levels
and yes-or-no columns stay as they are; a bag of words, and counts with an exposure, have no cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from bayesnb.dependence.pairs import Axis
from bayesnb.families.columns import ZEROS_AND_ONES, Support
from bayesnb.families.dyadic import Dyadic
from bayesnb.families.trials import Coded, dense_cells
from bayesnb.model import Data, NaiveBayes
from bayesnb.numerics import Array

type Cut = Dyadic | tuple[Any, ...] | int

DEPTH = 5
"""How often a real column is halved: 32 cells."""

PAIR_DEPTH = 4
"""How fine its cells are in a pair: 16."""

OFFSET_DEPTH = 2
"""How fine they are where each cell may have an offset: 4."""

SCREEN_DEPTH = 2
"""How fine they are where pairs are weighed against independence: 4, so that few rows can tell."""


@dataclass(frozen=True, eq=False)
class Grid:
    """Cells of the columns of a model.

    Parameters
    ----------
    features : tuple of str
        The feature that each column stands in.
    places : tuple of int
        Its position there.
    terms : int array (column,)
        Its position among all terms of the model.
    cuts : tuple of Dyadic, tuple or int
        The intervals of a real column; the levels of a categorical one; 2 where a column has zeros and ones.
    """

    features: tuple[str, ...]
    places: tuple[int, ...]
    terms: Array
    cuts: tuple[Cut, ...]

    @classmethod
    def of_no_column(cls) -> Grid:
        """A grid on which nothing is counted."""
        return cls((), (), np.zeros(0, np.intp), ())

    @classmethod
    def of(cls, model: NaiveBayes, data: Data, weight: Array) -> Grid:
        """The cells of the columns of encoded rows; intervals halve the rows, which count by their weight."""
        found: list[tuple[str, int, int, Cut]] = []
        term = 0
        for name, family in model.features.items():
            if family.whole_rows:
                term += 1
                continue
            x, cells = data[name], _cells(data[name])
            if cells is None:
                term += x.counts.shape[1]
                continue
            for k in range(cells.shape[1]):
                cut = _cut(family.support, x, k, weight)
                if cut is not None:
                    found.append((name, k, term, cut))
                term += 1
        features, places, terms, cuts = zip(*found, strict=True) if found else ((), (), (), ())
        return cls(tuple(features), tuple(places), np.array(terms, np.intp), tuple(cuts))

    def __len__(self) -> int:
        return len(self.cuts)

    @property
    def real(self) -> Array:
        """Which columns are cut into intervals, (column,)."""
        return np.array([isinstance(cut, Dyadic) for cut in self.cuts], bool)

    def only(self, columns: Array) -> Grid:
        """Some of the columns."""
        some = [int(k) for k in columns]
        features, places = tuple(self.features[k] for k in some), tuple(self.places[k] for k in some)
        return Grid(features, places, self.terms[some], tuple(self.cuts[k] for k in some))

    def axes(self, depth: int) -> list[Axis]:
        """How each column is refined, intervals to this depth."""
        return [Axis(depth, 2) if isinstance(cut, Dyadic) else Axis(1, _levels(cut)) for cut in self.cuts]

    def same(self, other: Grid) -> bool:
        """Whether both cut the same columns at the same places."""

        def alike(a: Cut, b: Cut) -> bool:
            if isinstance(a, Dyadic) and isinstance(b, Dyadic):
                return a.depth == b.depth and np.array_equal(a.edges, b.edges) and np.array_equal(a.paths, b.paths)
            return type(a) is type(b) and a == b

        where = self.features == other.features and self.places == other.places
        return where and all(map(alike, self.cuts, other.cuts))

    def codes(self, data: Data, n_rows: int) -> Array:
        """The cell of each row, (column, row), at the full depth; -1 where missing or never seen."""
        found = np.empty((len(self), n_rows), np.int32)
        ready = {name: _cells(x) for name, x in data.items() if name in self.features}
        ready = {name: x.tocsc() if sparse.issparse(x) else x for name, x in ready.items()}
        for column, (name, place, cut) in enumerate(zip(self.features, self.places, self.cuts, strict=True)):
            if isinstance(cut, tuple):
                found[column] = _among(cut, data[name], place)
                continue
            x = ready[name]
            x = x[:, [place]].toarray()[:, 0] if sparse.issparse(x) else np.asarray(x)[:, place]
            if isinstance(cut, Dyadic):
                found[column] = cut.codes(x)
            else:
                code = np.where(np.isnan(x), -1, x) if x.dtype.kind == "f" else x
                # A byte cannot hold -1.
                found[column] = np.where(code < cut, code, np.int32(-1))
        return found

    def coarser(self, codes: Array, depth: int) -> Array:
        """The same cells with the intervals of real columns as coarse as at this depth."""
        found = codes.copy()
        found[self.real] >>= DEPTH - depth  # of -1 it is -1
        return found

    @property
    def offset_cells(self) -> int:
        """How many cells may have offsets, of all columns together."""
        return sum(axis.size for axis in self.axes(OFFSET_DEPTH))

    def numbered(self, data: Data, n_rows: int) -> Array:
        """The cell of each row that may have an offset, (row, column), counted over all columns; -1 where missing."""
        codes = self.coarser(self.codes(data, n_rows), OFFSET_DEPTH)
        starts = np.cumsum([0, *(axis.size for axis in self.axes(OFFSET_DEPTH))])[:-1, None]
        return np.where(codes >= 0, codes + starts, -1).T

    def names(self, called: Sequence[Any]) -> list[Any]:
        """The name of each column among those of all terms."""
        return [called[term] for term in self.terms]

    def offset_names(self, called: Sequence[Any]) -> list[str]:
        """What each cell that may have an offset is called, such as "outlook = rain" or "2.5 ≤ length < 4"."""
        return [
            text
            for name, cut, axis in zip(self.names(called), self.cuts, self.axes(OFFSET_DEPTH), strict=True)
            for text in (
                cut.names(name, OFFSET_DEPTH)
                if isinstance(cut, Dyadic)
                else [f"{name} = {level}" for level in (cut if isinstance(cut, tuple) else range(axis.size))]
            )
        ]


def _levels(cut: tuple[Any, ...] | int) -> int:
    """How many cells a column has that is not real."""
    return max(1, len(cut)) if isinstance(cut, tuple) else cut


def _among(levels: tuple[Any, ...], x: Coded, place: int) -> Array:
    """The position of each cell's level among ``levels``, whatever its position among those of the data is."""
    code = np.asarray(x.codes[:, place])
    if tuple(x.levels[place][: len(levels)]) == levels:
        return np.where(code < len(levels), code, -1)
    known = {level: k for k, level in enumerate(levels)}
    return np.array([*(known.get(level, -1) for level in x.levels[place]), -1], np.int32)[code]


def _cells(x: Any) -> Any:
    """The cells of an encoded feature as a matrix, or ``None`` where a cell does not stand for itself."""
    if isinstance(x, Coded):
        return x.codes
    return x if sparse.issparse(x) or isinstance(x, np.ndarray) else None


MOST_LEVELS = 64
"""A column with more levels takes no part in pairs: nearly every pair of its cells is empty."""


def _cut(support: Support, x: Any, place: int, weight: Array) -> Cut | None:
    """The cells of one column, ``None`` where it has too many levels."""
    if isinstance(x, Coded):
        return tuple(x.levels[place]) if len(x.levels[place]) <= MOST_LEVELS else None
    if support == ZEROS_AND_ONES:
        return 2
    return Dyadic.of(dense_cells(x[:, [place]])[:, 0], DEPTH, weight)
