"""What is counted of rows, beside the statistics of their columns, where features may depend on each other.

Start with :class:`Cells`: how columns are cut and which pairs are counted, chosen once and held from then on. Its
:meth:`~Cells.statistics` of some rows are :class:`DependenceStatistics`, which add like those of the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from bayesnb.dependence import terms
from bayesnb.dependence.exponents import Exponents
from bayesnb.dependence.grid import DEPTH, PAIR_DEPTH, SCREEN_DEPTH, Grid
from bayesnb.dependence.pairs import PairCounts, every_pair, log_bayes_factors, selected
from bayesnb.dependence.polya import ShapeCounts
from bayesnb.families.gaussian import Gaussian
from bayesnb.kernels.blocks import slices
from bayesnb.model import Data, Posterior, part_of
from bayesnb.numerics import Array
from bayesnb.statistics.membership import Labels
from bayesnb.statistics.scatter import Scatter
from bayesnb.statistics.statistic import Statistic

MOST_COLUMNS = 200
"""Columns up to which all pairs are weighed: their number, and the time, grow with the square."""


@dataclass(frozen=True, eq=False)
class Cells:
    """How columns are cut, and what is counted on them.

    Parameters
    ----------
    grid : Grid
        The columns that are counted, and their cells.
    shapes : bool
        Whether the cells of real columns are counted one column at a time.
    pairs : tuple of (int, int)
        The columns of the grid that are counted two at a time.
    joint : int
        How many Gaussian columns have their covariances summed; 0 if none have.
    """

    grid: Grid
    shapes: bool
    pairs: tuple[tuple[int, int], ...]
    joint: int

    @classmethod
    def chosen(cls, spec: Exponents, posterior: Posterior, data: Data, labels: Labels) -> Cells:
        """The cells and pairs that a specification asks for, by these rows.

        Raises
        ------
        ValueError
            Where there are too many columns for all their pairs, or a pair is named that does not exist.
        """
        if spec.by == "model":
            return cls(Grid.of_no_column(), False, (), 0)
        some = spec.drawn(len(labels), spec.rows)
        grid = Grid.of(posterior.model, part_of(data, some), labels.weight[some])
        if not spec.pairs:
            read = np.flatnonzero((grid.real & spec.shapes) | (spec.offsets == "cell"))
            return cls(grid.only(read), spec.shapes, (), 0)
        if isinstance(spec.pairs, int):
            every = searched(grid)
            factors = log_bayes_factors(counted(grid, data, labels, every, SCREEN_DEPTH))
            pairs = [every[k] for k in selected(factors, spec.pairs)]
        else:
            pairs = _named(spec.pairs, grid.names(terms.names(posterior)))
        places = gaussian_places(posterior)
        return cls(grid, spec.shapes, tuple(pairs), len(places) if len(places) > 1 else 0)

    @property
    def shaped(self) -> Array:
        """The columns of the grid whose shape is counted, as their positions."""
        return np.flatnonzero(self.grid.real) if self.shapes else np.zeros(0, np.intp)

    @property
    def empty(self) -> bool:
        """Whether nothing is counted."""
        return not (len(self.shaped) or self.pairs or self.joint)

    def statistics(self, posterior: Posterior, data: Data, labels: Labels) -> DependenceStatistics:
        """What the rows say.

        Parameters
        ----------
        posterior : Posterior
            Its model says which columns are Gaussian.
        data : {name: encoded column}
        labels : Labels
        """
        shapes = [ShapeCounts.of(np.zeros((len(self.shaped), 0), int), labels[:0], 2**DEPTH)]
        for cut in slices(len(labels)) if len(self.shaped) else ():
            own = labels[cut]
            codes = self.grid.codes(part_of(data, cut), len(own))[self.shaped]
            shapes.append(ShapeCounts.of(codes, own, 2**DEPTH))
        x = gaussian_columns(posterior, data) if self.joint else np.zeros((len(labels), 0))
        pairs = counted(self.grid, data, labels, self.pairs, PAIR_DEPTH)
        return DependenceStatistics(self, reduce(add, shapes), pairs, Scatter.of(x, labels))

    def same(self, other: Cells) -> bool:
        """Whether rows are counted in the same way."""
        mine, theirs = (self.shapes, self.pairs, self.joint), (other.shapes, other.pairs, other.joint)
        return mine == theirs and self.grid.same(other.grid)


@dataclass(frozen=True, eq=False)
class DependenceStatistics:
    """Counts of the cells of real columns and of pairs, and joint moments; ``+`` pools, ``*`` forgets slowly.

    Parameters
    ----------
    cells : Cells
        What is counted.
    shapes : ShapeCounts
    pairs : PairCounts
    joint : Scatter
        Each with nothing in it where nothing is asked for.
    """

    cells: Cells
    shapes: ShapeCounts
    pairs: PairCounts
    joint: Scatter

    def _each(self, change: Callable[[Statistic], Statistic]) -> DependenceStatistics:
        return DependenceStatistics(self.cells, change(self.shapes), change(self.pairs), change(self.joint))

    def __add__(self, other: DependenceStatistics) -> DependenceStatistics:
        if not self.cells.same(other.cells):
            raise ValueError(
                "the two models count dependence on different cells, because each has chosen its own: begin the second "
                "one with the cells of the first, copy.deepcopy(first).discount(0).partial_fit(X, y), or fit both with "
                "dependence=None, merge them, and then set_params(dependence=...) and learn_exponents(X, y) on a sample"
            )
        each = zip(self.parts(), other.parts(), strict=True)
        return DependenceStatistics(self.cells, *(mine + theirs for mine, theirs in each))

    def __mul__(self, factor: float) -> DependenceStatistics:
        return self._each(lambda part: part * factor)

    def without(self, other: DependenceStatistics) -> DependenceStatistics:
        """The rest, where ``other`` is a part of what was counted.

        Raises
        ------
        UnlearnedError
            Where it can be seen that it is not.
        """
        each = zip(self.parts(), other.parts(), strict=True)
        return DependenceStatistics(self.cells, *((mine - theirs).settled(mine) for mine, theirs in each))

    def take(self, classes: Sequence[int]) -> DependenceStatistics:
        """The classes at these positions; -1 is a class that has no row."""
        return self._each(lambda part: part.take(classes))

    def parts(self) -> tuple[Statistic, ...]:
        """The three statistics."""
        return self.shapes, self.pairs, self.joint


def _named(pairs: Sequence[tuple[Any, Any]], names: Sequence[Any]) -> Iterator[tuple[int, int]]:
    """The pairs that the user names, as columns of the grid."""
    place = {name: k for k, name in enumerate(names)}
    for pair in pairs:
        for name in pair:
            if name not in place:
                raise ValueError(f"Expected pairs of columns among {list(place)}; got {name!r}")
        yield place[pair[0]], place[pair[1]]


def searched(grid: Grid) -> list[tuple[int, int]]:
    """All pairs of columns of the grid, where they are not too many."""
    if len(grid) > MOST_COLUMNS:
        raise ValueError(
            f"{len(grid)} columns have {len(grid) * (len(grid) - 1) // 2} pairs, and at most {MOST_COLUMNS} columns "
            "are searched for pairs; name those that may depend on each other, pairs=((first, second), ...), or use "
            'dependence="weighted"'
        )
    return every_pair(len(grid))


def counted(grid: Grid, data: Data, labels: Labels, which: Sequence[tuple[int, int]], depth: int) -> PairCounts:
    """The counts of pairs of columns over all rows, intervals as fine as at this depth."""
    sizes = [axis.size for axis in grid.axes(depth)]
    parts = [PairCounts.of(np.zeros((len(grid), 0), np.int32), sizes, which, labels[:0])]
    for cut in slices(len(labels)) if which else ():
        own = labels[cut]
        codes = grid.coarser(grid.codes(part_of(data, cut), len(own)), depth)
        parts.append(PairCounts.of(codes, sizes, which, own))
    return reduce(add, parts)


def gaussian_places(posterior: Posterior) -> list[int]:
    """The columns of Gaussian features, as positions among the columns of the model."""
    return [k for k, piece in enumerate(terms.pieces(posterior)) if isinstance(piece.family, Gaussian)]


def gaussian_columns(posterior: Posterior, data: Data) -> Array:
    """All columns of Gaussian features side by side, (row, column)."""
    pieces = [piece for piece in terms.pieces(posterior) if isinstance(piece.family, Gaussian)]
    return np.concatenate([piece.of(data[piece.feature]) for piece in pieces], axis=1)
