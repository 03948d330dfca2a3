"""Divide the columns of a model into cells (intervals or levels), and count the rows in the cells."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, reduce
from itertools import combinations
from operator import add, iadd
from typing import Any

import numpy as np

from bayesnb.dependence.exponents import Exponents, NoExponentsError
from bayesnb.dependence.forests import MOST_COLUMNS as MOST_OF_FORESTS
from bayesnb.dependence.forests import Shared
from bayesnb.dependence.joint import Blocks, blocks, scatters
from bayesnb.dependence.label_trees import LabelTrees
from bayesnb.dependence.near import NearCounts
from bayesnb.dependence.pairs import Axis, PairCounts
from bayesnb.dependence.partitions import Partitions
from bayesnb.families.columns import Coded, column_of
from bayesnb.families.dyadic import Dyadic
from bayesnb.kernels.blocks import cuts
from bayesnb.model import Data, Posterior, part_of, pieces
from bayesnb.model.order import Order
from bayesnb.model.stacks import Piece
from bayesnb.numerics import Array
from bayesnb.statistics.moments import Scatter
from bayesnb.statistics.statistic import Labels, Statistic, form, same
from bayesnb.wording import Cure, RefusedError

type Cut = Dyadic | tuple[Any, ...] | int


DEPTH = 5
"""Number of halvings of a real column: 32 cells."""

PAIR_DEPTH = 4
"""Number of halvings in a pair: 16 cells."""

OFFSET_DEPTH = 2
"""Number of halvings for offsets of cells: 4 cells."""

SCREEN_DEPTH = 2
"""Number of halvings when pairs are tested for dependence: 4 cells, so that few rows suffice."""

MOST_LEVELS = 64
"""Largest number of levels of a column with cells; with more levels, nearly all pairs of cells would be empty."""

MOST_COLUMNS = 200
"""Largest number of columns of which all pairs are tested; the time grows with the square."""


@dataclass(frozen=True, eq=False)
class Grid:
    """The cells (intervals or levels) of the columns of a model; each field has one entry per column."""

    features: tuple[str, ...]  # the feature (group of columns) to which the column belongs
    places: tuple[int, ...]  # the column's position in its feature
    terms: Array  # the column's position in ``posterior.pieces``
    # intervals of a real column, levels of a categorical column, 2 for a column of zeros and ones
    cuts: tuple[Cut, ...]

    @classmethod
    def of(cls, posterior: Posterior, data: Data, weight: Array, order: Order) -> Grid:
        """From encoded rows, find each column's levels, or cut the column into intervals by repeated halving."""
        cuts = {
            (piece.feature, piece.column, term): cut
            for term, piece in enumerate(posterior.pieces)
            if (cut := _cut(piece, data[piece.feature], weight, order)) is not None
        }
        features, places, terms = zip(*cuts, strict=True) if cuts else ((), (), ())
        return cls(features, places, np.array(terms, np.intp), tuple(cuts.values()))

    def __len__(self) -> int:
        return len(self.cuts)

    @property
    def real(self) -> Array:
        """Whether each column is cut into intervals, (column,)."""
        return np.array([isinstance(cut, Dyadic) for cut in self.cuts], bool)

    def only(self, columns: Sequence[int]) -> Grid:
        features, places = tuple(self.features[k] for k in columns), tuple(self.places[k] for k in columns)
        return Grid(features, places, self.terms[list(columns)], tuple(self.cuts[k] for k in columns))

    def axes(self, depth: int) -> list[Axis]:
        """The :class:`Axis` (division into cells) of each column; a real column has 2^``depth`` intervals."""
        return [Axis(depth, 2) if isinstance(cut, Dyadic) else Axis(1, len(_levels(cut)) or 1) for cut in self.cuts]

    def codes(self, data: Data, n_rows: int) -> Array:
        """The code of each value's finest interval or level, (column, row); -1 if missing or unseen."""
        found = np.empty((len(self), n_rows), np.int32)
        ready = pieces.by_column({name: x for name, x in data.items() if name in self.features})
        for column, (name, place, cut) in enumerate(zip(self.features, self.places, self.cuts, strict=True)):
            if isinstance(cut, tuple):
                found[column] = _among(cut, data[name], place)
                continue
            x = column_of(ready[name], place)
            found[column] = cut.codes(x) if isinstance(cut, Dyadic) else np.where(x < cut, x, -1)
        return found

    def coarser(self, codes: Array, depth: int) -> Array:
        """Convert codes of the finest intervals to codes of coarser intervals, 2^``depth`` per real column."""
        found = codes.copy()
        found[self.real] >>= DEPTH - depth  # of -1 it is -1
        return found

    @property
    def widths(self) -> list[int]:
        """Number of intervals or levels of each column."""
        each = zip(self.cuts, self.axes(DEPTH), strict=True)
        return [len(cut.paths) if isinstance(cut, Dyadic) else axis.size for cut, axis in each]

    def ranks(self, codes: Array) -> Array:
        """For each value, the rank of its interval or level within the column, (column, row); -1 if missing."""
        found = codes.copy()
        for k in np.flatnonzero(self.real):
            found[k] = np.where(codes[k] < 0, -1, np.searchsorted(self.cuts[k].paths, codes[k]))
        return found

    @property
    def sound(self) -> bool:
        """Whether the stored intervals or levels of every column are valid, as a check of model files."""
        return all(map(_is_cut, self.cuts))

    @property
    def offset_cells(self) -> int:
        return sum(axis.size for axis in self.axes(OFFSET_DEPTH))

    @property
    def complete(self) -> bool:
        """Whether every real column is cut into the maximal number of intervals, 2^``OFFSET_DEPTH``."""
        # If an interval is missing, negating the column may not reverse the numbers of its intervals.
        cuts = (cut for cut in self.cuts if isinstance(cut, Dyadic))
        return all(len(np.unique(cut.paths >> cut.coarser(OFFSET_DEPTH))) == 2**OFFSET_DEPTH for cut in cuts)

    def numbered(self, data: Data, n_rows: int) -> Array:
        """The interval or level of each value, (row, column), as a number unique over all columns; -1 if missing."""
        codes = self.coarser(self.codes(data, n_rows), OFFSET_DEPTH)
        starts = np.cumsum([0, *(axis.size for axis in self.axes(OFFSET_DEPTH))])[:-1, None]
        return np.where(codes >= 0, codes + starts, -1).T

    def searched(self) -> list[tuple[int, int]]:
        """All pairs of columns; raise an error if the grid has too many columns."""
        if len(self) > MOST_COLUMNS:
            raise NoExponentsError(
                f"{len(self)} columns have {len(self) * (len(self) - 1) // 2} pairs, and at most {MOST_COLUMNS} "
                "columns are searched for pairs; name those that may depend on each other, pairs=((first, second), "
                '...), or use dependence="weighted"'
            )
        return list(combinations(range(len(self)), 2))

    def counted(self, data: Data, labels: Labels, which: Sequence[tuple[int, int]], depth: int) -> PairCounts:
        """Count the rows per pair of intervals or levels of two columns, for each pair of columns in ``which``."""
        sizes = [*(axis.size for axis in self.axes(depth)), 1]
        parts = [PairCounts.of(np.zeros((len(sizes), 0), np.int32), sizes, which, labels[:0])]
        for cut in cuts(len(labels), len(self)) if which else ():
            own = labels[cut]
            codes = self.coarser(self.codes(part_of(data, cut), len(own)), depth)
            parts.append(PairCounts.of(np.append(codes, np.zeros_like(codes[:1]), 0), sizes, which, own))
        return reduce(add, parts)

    def names(self, called: Sequence[Any]) -> list[Any]:
        """The names of the columns that are divided into intervals or levels, from the names of all columns."""
        return [called[term] for term in self.terms]

    def offset_names(self, called: Sequence[Any]) -> list[str]:
        """Names of all levels and intervals of the grid, such as "outlook = rain" and "2.5 ≤ length < 4"."""
        found = []
        for name, cut in zip(self.names(called), self.cuts, strict=True):
            of_levels = [f"{name} = {level}" for level in _levels(cut) or [0]]
            found += cut.names(name, OFFSET_DEPTH) if isinstance(cut, Dyadic) else of_levels
        return found


def _is_cut(cut: Any) -> bool:
    if not isinstance(cut, Dyadic):
        return (isinstance(cut, tuple) and len(set(cut)) == len(cut) <= MOST_LEVELS) or cut == 2
    edges, paths = cut.edges, cut.paths
    sound = edges.dtype == float and paths.dtype.kind == "i" and edges.ndim == 1 and paths.shape == (len(edges) + 1,)
    sound = sound and cut.depth == DEPTH and bool(np.isfinite(edges).all() and (np.diff(edges) > 0).all())
    return sound and bool((paths >= 0).all() and (paths < 2**DEPTH).all())


def _levels(cut: Cut) -> Sequence[Any]:
    return range(cut) if isinstance(cut, int) else cut if isinstance(cut, tuple) else ()


def _among(levels: tuple[Any, ...], x: Coded, place: int) -> Array:
    code = np.asarray(x.codes[:, place])
    if tuple(x.levels[place][: len(levels)]) == levels:
        return np.where(code < len(levels), code, -1)
    known = {level: k for k, level in enumerate(levels)}
    return np.array([*(known.get(level, -1) for level in x.levels[place]), -1], np.int32)[code]


def _cut(piece: Piece, x: Any, weight: Array, order: Order) -> Cut | None:
    """The intervals or levels of one column; ``None`` if it is not divided (a bag of words, a count with exposure)."""
    if not _stands_alone(piece, x) or _constant(each := column_of(x, piece.column), weight):
        return None
    if isinstance(x, Coded):
        levels = x.levels[piece.column]
        return tuple(levels) if len(levels) <= MOST_LEVELS else None
    if piece.family.support.kind == "zero_one":
        return 2
    return Dyadic.of(each, DEPTH, weight, "high" if order.reversed(each, weight) else "low")


def _stands_alone(piece: Piece, x: Any) -> bool:
    return piece.column is not None and (isinstance(x, Coded) or hasattr(x, "dtype"))


def _constant(x: Array, weight: Array) -> bool:
    seen = x[~np.isnan(x) & (weight > 0)]
    return not len(seen) or bool(seen.min() == seen.max())


def uninformative(posterior: Posterior, data: Data, weight: Array) -> list[int]:
    """Positions in ``posterior.pieces`` of columns with no value, or with a value equally probable in all classes."""
    # Leaving a row out of an uninformative column lowers the probability of its value in the row's class only. That
    # would reveal the class.
    found, ready = [], pieces.by_column(data)
    for k, piece in enumerate(posterior.pieces):
        x = ready[piece.feature]
        if _stands_alone(piece, x) and _constant(each := column_of(x, piece.column), weight):
            row = np.flatnonzero(~np.isnan(each))[:1]
            log_p = piece.family.log_predictive(piece.believed, piece.of(x)[row])
            if not log_p.size or np.ptp(log_p) <= 1e-9 * (1 + abs(log_p[0, 0])):
                found.append(k)
    return found


@dataclass(frozen=True, eq=False)
class Numbers:
    """Standardize real columns with stored means and standard deviations."""

    columns: Array  # columns with at least two distinct values
    centre: Array
    scale: Array
    low: Array  # values are clipped to the range from ``low`` to ``high``
    high: Array

    @classmethod
    def of(cls, grid: Grid, data: Data, weight: Array) -> Numbers:
        found = []
        for k in np.flatnonzero(grid.real):
            x = _values(grid, data, k)
            seen = np.isfinite(x) & (weight > 0)
            x, w = x[seen], weight[seen] / (weight[seen].sum() or 1.0)
            low, high = x.min(initial=np.inf), x.max(initial=-np.inf)
            if low < high:
                # Relative to the range, so that squares do not overflow.
                unit = (x / 2 - low / 2) / (high / 2 - low / 2)
                mean = w @ unit
                sd = np.sqrt(w @ (unit - mean) ** 2)
                found.append((k, low + mean * (high / 2 - low / 2) * 2, sd * (high / 2 - low / 2) * 2, low, high))
        columns, *others = np.array(found, float).reshape(-1, 5).T
        return cls(columns.astype(np.intp), *others)

    def sound(self, grid: Grid) -> bool:
        """Whether the stored means, standard deviations and ranges are finite and belong to real-valued columns."""
        each = (self.centre, self.scale, self.low, self.high)
        sound = self.columns.dtype.kind == "i" and all(x.shape == self.columns.shape for x in each)
        sound = sound and all(np.isfinite(x).all() for x in each) and bool((self.scale > 0).all())
        return sound and set(self.columns.tolist()) <= set(np.flatnonzero(grid.real).tolist())

    def standardized(self, grid: Grid, data: Data) -> Array:
        """The standardized value of each numeric column, (row, column); NaN if missing."""
        each = zip(self.columns, self.centre, self.scale, self.low, self.high, strict=True)
        found = [np.clip(_values(grid, data, k), low, high) / s - mean / s for k, mean, s, low, high in each]
        return np.stack(found, axis=1)


def _values(grid: Grid, data: Data, column: int) -> Array:
    return column_of(data[grid.features[column]], grid.places[column])


# What is counted


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of columns (intervals or levels), and the combinations of cells, in which rows are counted."""

    grid: Grid
    shapes: bool
    pairs: tuple[tuple[int, int], ...]  # pairs of columns to count; with ``forests``, the possible edges
    joint: Blocks  # columns of the joint Gaussian
    kernel: bool = False  # whether rows are also counted per combination of the cells of all columns
    partitions: Partitions | None = None
    trees: LabelTrees | None = None
    numbers: Numbers | None = None  # standardize the numeric columns of the linear model
    forests: Shared | None = None
    # The mean of each covariate of the linear model, (covariate,), averaged over the classes with equal weights.
    centre: Array = field(default_factory=lambda: np.zeros(0))
    others: int = 0  # number of columns outside the grid

    @classmethod
    def chosen(cls, spec: Exponents, posterior: Posterior, data: Data, labels: Labels, order: Order) -> Cells:
        """Choose the cells and the pairs of columns that the settings ``spec`` require for the rows in ``data``."""
        if spec.by == "model":
            return nothing(labels.n).cells
        some, own = order.drawn(labels, spec.rows, spec.random_seed)
        part, order = part_of(data, some), order[some]
        grid = Grid.of(posterior, part, own.weight, order)
        if spec.forests:
            grid = _most_dependent(grid, data, labels)
            return cls(grid, False, tuple(combinations(range(len(grid)), 2)), (), forests=spec.forests)
        if not (spec.pairs or spec.kernel or spec.partitions or spec.trees or spec.linear):
            read = np.flatnonzero((grid.real & spec.shapes) | (spec.offsets == "cell"))
            return cls(grid.only(read.tolist()), spec.shapes, (), ())._centred(posterior, part, own)
        if isinstance(spec.pairs, int):
            # An average omits the pairs instead of raising an error.
            few = spec.pairs > 0 and not (spec.average and len(grid) > MOST_COLUMNS)
            every = grid.searched() if few else []
            pairs = grid.counted(data, labels, every, SCREEN_DEPTH).dependent(spec.pairs)
        else:
            pairs = _named(spec.pairs, grid.names(posterior.piece_names()))
        joint = _blocks(grid, posterior, part, own.weight, order) if spec.pairs else ()
        drawn = grown = None
        if len(grid) and (spec.partitions or spec.trees):
            codes = grid.codes(part, len(own))
            if spec.partitions:
                drawn = Partitions.drawn(grid.real, codes, own.weight, order, spec.partitions, spec.random_seed)
            if spec.trees:
                ranks = grid.ranks(codes)
                grown = LabelTrees.grown(grid.real, grid.widths, ranks, own, order, spec.trees, spec.random_seed)
        numbers = Numbers.of(grid, part, own.weight) if spec.linear else None
        near = spec.kernel and len(grid) > 0 and NearCounts.possible(labels)
        return cls(grid, spec.shapes, tuple(pairs), joint, near, drawn, grown, numbers)._centred(posterior, part, own)

    @property
    def forests_sound(self) -> bool:
        """Whether all pairs of columns, at most ``MOST_OF_FORESTS``, are possible edges of the forests, if any."""
        every_pair = tuple(combinations(range(len(self.grid)), 2))
        return self.forests is None or (self.pairs == every_pair and len(self.grid) <= MOST_OF_FORESTS)

    @property
    def shaped(self) -> Array:
        """The positions, in the grid, of the columns whose likelihood is corrected by a Pólya tree."""
        return np.flatnonzero(self.grid.real & self.shapes)

    @property
    def alone(self) -> tuple[tuple[int, int], ...]:
        """The columns in which rows are counted, each as a pair of the column and a dummy column with one interval."""
        some = range(len(self.grid)) if self.forests else self.shaped.tolist()
        return tuple((k, len(self.grid)) for k in some)

    @property
    def gaps_tell(self) -> bool:
        """Whether a missing value may change the prediction: the kernel and the trees treat it as one more level."""
        return self.kernel or self.trees is not None

    @property
    def empty(self) -> bool:
        return not (self.alone or self.pairs or self.joint or self.kernel or self.partitions or self.trees)

    def statistics(self, posterior: Posterior | None, data: Data, labels: Labels) -> DependenceStatistics:
        """Count the rows per interval or level, and compute the joint moments of Gaussian columns."""
        shapes = self.grid.counted(data, labels, self.alone, DEPTH)
        pairs = self.grid.counted(data, labels, self.pairs, PAIR_DEPTH)
        joint = (
            scatters(self.joint, pieces.gaussian_columns(posterior, data), labels) if posterior and self.joint else ()
        )
        codes = self.grid.codes(data, len(labels)) if self.kernel else np.zeros((0, 0), np.int32)
        near = NearCounts.of(codes, labels if self.kernel else labels[:0])
        # If nothing is counted, any rows can be added and forgotten.
        rows = labels[:0] if self.empty else labels
        rows = PairCounts.of(np.zeros((1, len(rows)), np.int32), [1], [(0, 0)], rows)
        leaves, stops = (self._nodes(trees, data, labels) for trees in (self.partitions, self.trees))
        return DependenceStatistics(self, shapes, pairs, near, leaves, stops, rows, joint)

    # Rows with gaps. Let z be the covariates of a column and b_c their coefficients. If the column is integrated out,
    # the score of class c changes by log E[exp(b_cᵀ z) | c], about b_cᵀ E[z | c]. If z is centred at the mean of the
    # class means, this is 0 on average over the classes, so a missing cell adds 0. The rest, which differs by class, is
    # in the offset a_c of the class, as is the same rest of the other terms. In a complete row, a_c makes up for all
    # columns. So a row with a share s of known columns has s a_c, and a row without known cells has the frequencies of
    # the classes.
    #
    # Centred indicators are never 0, which would cost time. But for a row without gaps, centred covariates with the
    # offset a_c + b_cᵀ centre give the same scores as the indicators with the offset a_c. So such a row has the
    # indicators. In other rows, a known cell then has z - (1 - s) centre, and a missing cell has s centre.

    def _centred(self, posterior: Posterior, data: Data, labels: Labels) -> Cells:
        """A copy with the fields ``centre`` and ``others`` computed from learned rows."""
        n, total = np.zeros((2, labels.n, len(self.owners)))
        for cut in cuts(len(labels), len(self.owners)):
            own, x = labels[cut], self._covariates(part_of(data, cut), len(labels[cut]))
            known = ~np.isnan(x)
            n, total = n + own.totals(known.astype(float)), total + own.totals(np.where(known, x, 0.0))
        # One more row, the mean of all rows, keeps a class of few rows near the others.
        mean = total.sum(0) / np.maximum(n.sum(0), np.finfo(float).tiny)
        others, inside = 0, {*zip(self.grid.features, self.grid.places, strict=True)}
        for piece in posterior.pieces:
            x = data[piece.feature]
            if not _stands_alone(piece, x):
                others += x.shape[1]
            elif (piece.feature, piece.column) not in inside:
                others += not _constant(column_of(x, piece.column), labels.weight)
        return replace(self, centre=((total + mean) / (n + 1.0)).mean(0), others=others)

    @property
    def owners(self) -> Array:
        """For each covariate, the position in the grid of the column that it describes."""
        sizes = [axis.size for axis in self.grid.axes(OFFSET_DEPTH)]
        numbers = np.zeros(0, np.intp) if self.numbers is None else self.numbers.columns
        return np.concatenate([np.repeat(np.arange(len(sizes)), sizes), numbers])

    def _covariates(self, data: Data, n_rows: int) -> Array:
        """Each row's indicators of intervals and levels, and standardized numbers, (row, covariate); NaN if missing."""
        at, cells = self.grid.numbered(data, n_rows), self.grid.offset_cells
        found = np.where(at < 0, np.nan, 0.0)[:, self.owners]
        row, column = np.nonzero(at >= 0)
        found[row, at[row, column]] = 1.0
        if self.numbers is not None and len(self.numbers.columns):
            found[:, cells:] = self.numbers.standardized(self.grid, data)
        return found

    def used(self, cells: int, numbers: int) -> slice:
        """Slice of the covariates, without indicators if ``cells`` is 0, and without numbers if ``numbers`` is 0."""
        ends = 0, self.grid.offset_cells, len(self.owners)
        return slice(ends[not cells], ends[1 + bool(numbers)])

    def covariates(self, data: Data, n_rows: int, cells: int, numbers: int) -> Array:
        """Covariates with one value for all classes, (row, covariate); the last is the fraction of known values."""
        share, every = np.ones((n_rows, 1)), max(1, len(self.grid) + self.others)
        if self.forests:
            return share
        if not cells + numbers:
            return share - (self.grid.codes(data, n_rows) < 0).sum(0)[:, None] / every
        found = self._covariates(data, n_rows)
        if (missing := np.isnan(found)).any():
            first = np.unique(self.owners, return_index=True)[1]
            share -= missing[:, first].sum(1, keepdims=True) / every
            found = np.where(missing, 0.0, found) + self.centre * (share - ~missing)
        return np.concatenate([found[:, self.used(cells, numbers)], share], axis=1)

    def _nodes(self, found: Partitions | LabelTrees | None, data: Data, labels: Labels) -> PairCounts:
        if found is None:
            return PairCounts.of(np.zeros((1, 0), np.int32), [1], [], labels[:0])
        n = len(found)

        def part(cut: slice) -> Array:
            own, codes = labels[cut], self.grid.codes(part_of(data, cut), cut.stop - cut.start)
            codes = self.grid.ranks(codes) if isinstance(found, LabelTrees) else codes
            return own.table(found.places(self.grid.real, codes), found.nodes)

        counts = reduce(iadd, map(part, cuts(len(labels), len(self.grid))))
        return PairCounts(counts.reshape(labels.n, -1), tuple((k, n) for k in range(n)), (*[found.nodes] * n, 1))

    def same(self, other: Cells) -> bool:
        """Whether ``other`` has the same intervals and levels; its columns may have other positions in the model."""
        return same(self, replace(other, grid=replace(other.grid, terms=self.grid.terms)))


@dataclass(frozen=True, eq=False)
class DependenceStatistics:
    """Counts of rows per interval or level of columns, and the joint moments of Gaussian columns."""

    cells: Cells
    shapes: PairCounts  # per interval of a column
    pairs: PairCounts  # per pair of intervals or levels of two columns
    near: NearCounts  # per combination of intervals and levels of all columns
    leaves: PairCounts  # per node of a partition
    stops: PairCounts  # per node of a tree
    rows: PairCounts  # total weight of the rows of each class
    joint: tuple[Scatter, ...]

    def parts(self) -> tuple[Statistic, ...]:
        return self.shapes, self.pairs, self.near, self.leaves, self.stops, self.rows, *self.joint

    def sound(self, n_columns: int) -> bool:
        """Whether the counts have the columns and shapes that ``cells`` specifies."""
        cells, near = self.cells, self.near
        fine, coarse = ((*(axis.size for axis in cells.grid.axes(depth)), 1) for depth in (DEPTH, PAIR_DEPTH))
        sound = self.shapes.counts_cells(cells.alone, fine) and self.pairs.counts_cells(cells.pairs, coarse)
        sound = sound and self.rows.counts_cells(((0, 0),), (1,))
        for counts, trees in ((self.leaves, cells.partitions), (self.stops, cells.trees)):
            n, nodes = (0, 0) if trees is None else (len(trees), trees.nodes)
            sound = sound and counts.counts_cells(tuple((k, n) for k in range(n)), (*[nodes] * n, 1))
        sound = sound and form(self.joint) == form(scatters(cells.joint, np.zeros((0, n_columns)), Labels.of([], 1)))
        sizes = fine[:-1] if cells.kernel else ()
        sound = sound and near.cells.dtype.kind == "i" and near.cells.shape == (near.counts.shape[-1], len(sizes))
        return sound and bool((near.cells >= -1).all() and (near.cells < np.array(sizes, int)).all())

    def _each(self, change: Callable[..., Statistic], *others: DependenceStatistics) -> DependenceStatistics:
        if not all(self.cells.same(other.cells) for other in others):
            raise RefusedError(
                "the two models count dependence on different cells, because each has chosen its own: begin the second "
                "one with the cells of the first, copy.deepcopy(first).discount(0).partial_fit(X, y), or fit both with "
                "{cure}, merge them, and then set_params(dependence=...) and learn_exponents(X, y) on a sample",
                cure=Cure("dependence"),
            )
        parts = [*map(change, self.parts(), *(other.parts() for other in others))]
        first = len(parts) - len(self.joint)
        return DependenceStatistics(self.cells, *parts[:first], tuple(parts[first:]))  # type: ignore[arg-type]

    def __add__(self, other: DependenceStatistics) -> DependenceStatistics:
        return self._each(add, other)

    def __mul__(self, factor: float) -> DependenceStatistics:
        return self._each(lambda part: part * factor)

    def without(self, other: DependenceStatistics) -> DependenceStatistics:
        """Subtract the counts of ``other``; raise ``UnlearnedError`` if rows of ``other`` were clearly never added."""
        return self._each(lambda mine, theirs: (mine - theirs).settled(mine), other)

    def of_classes(self, n: int) -> DependenceStatistics:
        """A copy of these statistics for ``n`` classes, in which all counts are 0."""
        return self.take([-1] * n)

    def take(self, classes: Sequence[int]) -> DependenceStatistics:
        """Select the counts of classes by position; the position -1 gives a class without rows."""
        if self.cells.empty:
            return replace(nothing(len(classes)), cells=self.cells)
        return self._each(lambda part: part.take(classes))


@cache
def nothing(n_classes: int) -> DependenceStatistics:
    """Empty dependence statistics, for naive Bayes."""
    cells = Cells(Grid((), (), np.zeros(0, np.intp), ()), False, (), ())
    return cells.statistics(None, {}, Labels(np.zeros(0, np.intp), np.zeros(0), n_classes))


def _named(pairs: Sequence[tuple[Any, Any]], called: Sequence[Any]) -> Iterator[tuple[int, int]]:
    place = {name: k for k, name in enumerate(called)}
    for pair in pairs:
        for name in pair:
            if name not in place:
                raise ValueError(f"Expected pairs of columns among {list(place)}; got {name!r}")
        yield place[pair[0]], place[pair[1]]


def _most_dependent(grid: Grid, data: Data, labels: Labels) -> Grid:
    """The columns that forests may connect: all columns or, if these are too many, the most dependent columns."""
    if len(grid) <= MOST_OF_FORESTS:
        return grid
    every = grid.searched()
    largest = np.full(len(grid), -np.inf)
    for (i, j), factor in zip(every, grid.counted(data, labels, every, SCREEN_DEPTH).log_bayes_factors(), strict=True):
        largest[[i, j]] = np.maximum(largest[[i, j]], factor)
    return grid.only(sorted(np.argsort(-largest, kind="stable")[:MOST_OF_FORESTS].tolist()))


def _blocks(grid: Grid, posterior: Posterior, data: Data, weight: Array, order: Order) -> Blocks:
    there = [k for k, term in enumerate(pieces.gaussians(posterior)) if term in grid.terms]
    if not there:
        return ()
    known = ~np.isnan(pieces.gaussian_columns(posterior, data)[:, there])
    keys = np.array([order.cells(np.where(own, 0, -1), weight)[0] for own in known.T])
    return tuple(tuple(there[k] for k in block) for block in blocks(known, weight, keys))
