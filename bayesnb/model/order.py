"""A random order of rows for folds and samples, which depends only on the content of the rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from bayesnb.families.columns import Coded, column_of
from bayesnb.families.rates import Exposed
from bayesnb.kernels import trees
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.model.statistics import Data
from bayesnb.numerics import Array
from bayesnb.statistics.statistic import Column, Labels

ROUNDS = 3
"""Number of rounds of colour refinement."""


@dataclass(frozen=True, eq=False)
class Order:
    """A hash key per row, which does not depend on the order of rows and columns, on names, or on units."""

    # The keys are computed by colour refinement (Weisfeiler and Leman 1968). A row of weight 2 counts as two rows. Keys
    # ignore the names of columns and levels, and the sign of numeric columns.

    keys: Array  # uint64 (row,); equal for equal rows
    ties: Array  # uint64 (row,): hashes of the encoded rows, to break ties between rows with equal keys

    @classmethod
    def of(cls, data: Iterable[Column], labels: Labels, bags: Collection[int] = ()) -> Order:
        """Compute the keys of labelled rows; ``bags`` holds the positions of bags of words in ``data``."""
        # The first key of a cell is a hash of the number of rows with its value and, in a numeric column, of how many
        # values are smaller and larger. The key of a row is the sum of the hashes of its label and its known cells,
        # each with its column. Each round adds the keys of all rows with the same value to the key of a cell.
        weight, ties = times(labels.weight), np.zeros(len(labels), np.uint64)
        seen = np.flatnonzero(weight)
        codes = np.unique(labels.codes[seen], return_inverse=True)[1]
        columns = [(seen, codes, _of_cells(codes, weight[seen], real=False), False)]
        for k, (rows, codes, real) in enumerate(_columns(data, bags)):
            np.add.at(ties, rows, _mixed(codes.astype(np.uint64) + _mixed(np.array([k], np.uint64))))
            rows, codes = rows[some := weight[rows] > 0], codes[some]
            values, codes = np.unique(codes, return_inverse=True)
            if len(values) > 1:
                # Two numbers are keyed as two levels, because a column may be read as either.
                real = real and len(values) > 2
                columns.append((rows, codes, _of_cells(codes, weight[rows], real), real))
        keys = _of_rows(len(labels), columns)
        for _ in range(ROUNDS):
            refined = []
            for rows, codes, cells, real in columns:
                sums = np.zeros_like(cells)
                np.add.at(sums, codes, keys[rows] * weight[rows])
                found = _mixed(sums) ^ beside(sums) if real else _mixed(sums)
                refined.append((rows, codes, _mixed(cells ^ found), real))
            columns = refined
            keys = _of_rows(len(labels), columns)
        return cls(keys, _mixed(ties + _mixed(labels.codes.astype(np.uint64))))

    @classmethod
    def under(cls, model: NaiveBayes, data: Data, labels: Labels) -> Order:
        bags = [k for k, family in enumerate(model.features.values()) if family.support.kind == "bag"]
        return cls.of([data[name] for name in model.features], labels, bags)

    def __getitem__(self, rows: Array | slice) -> Order:
        return Order(self.keys[rows], self.ties[rows])

    @property
    def places(self) -> Array:
        """Positions of the rows, sorted by their keys, so that random numbers do not depend on the order of rows."""
        return np.lexsort((self.ties, self.keys))

    def reversed(self, x: Array, weight: Array) -> bool:
        """Whether to sort the values ``x`` of a column in descending order, so that negating ``x`` has no effect."""
        known = ~np.isnan(x)
        values, code = np.unique(x[known], return_inverse=True)
        rank = np.cumsum(mass := np.bincount(code, weight[known], minlength=len(values))) - mass / 2
        # True if rows with large hash keys tend to have large values.
        return float(((self.keys[known] / 2.0**64 - 0.5) * weight[known]) @ (rank[code] - mass.sum() / 2)) > 0

    def cells(self, codes: Array, weight: Array, real: bool = False) -> Array:
        """For each code of a column, a hash of the keys of the rows with this code."""
        found, known = np.zeros(int(codes.max(initial=-1)) + 1, np.uint64), codes >= 0
        np.add.at(found, codes[known], self.keys[known] * times(weight[known]))
        return _mixed(found) ^ beside(found) if real else _mixed(found)

    def copies(self, labels: Labels, most: int, seed: int) -> tuple[Array, Array, Array]:
        """Draw up to ``most`` rows in random order; return their positions, weights, and ranks in the random order."""
        # A row with a whole weight w counts as w rows. Rows with the same rank are tied, and must be treated alike.
        random = _mixed(self.keys + _seed(seed))
        order = np.lexsort((labels.weight, self.ties, random))
        if not labels.whole:
            order = order[labels.weight[order] > 0]
            order = order[_spread(len(order), most)]
            return order, labels.weight[order], np.cumsum(_new(random[order])) - 1
        ends = np.cumsum(labels.weight[order])
        places = _spread(int(ends[-1]) if len(ends) else 0, most)
        order = order[np.searchsorted(ends, places, side="right")]
        # Each of several equal rows has a different number, from its count among them.
        own = self[order]
        new = _new(own.keys) | _new(own.ties)
        count = np.arange(len(order)) - np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))
        random = _mixed(own.keys + _seed(seed) + _mixed(count.astype(np.uint64)))
        place = np.lexsort((own.ties, random))
        return order[place], np.ones(len(order)), np.cumsum(_new(random[place])) - 1

    def drawn(self, labels: Labels, most: int, seed: int) -> tuple[Array | slice, Labels]:
        """Draw up to ``most`` rows; return their positions and labels, with weight 2 for a row that is drawn twice."""
        if labels.size <= most:
            return slice(0, len(labels)), labels
        rows, weight, _ = self.copies(labels, most, seed)
        rows, place = np.unique(rows, return_inverse=True)
        return rows, Labels(labels.codes[rows], np.bincount(place, weight), labels.n)


def _spread(n: int, most: int) -> Array:
    return np.arange(n) if n <= most else ((np.arange(most) + 0.5) * (n / most)).astype(np.intp)


def _columns(data: Iterable[Column], bags: Collection[int]) -> Iterator[tuple[Array, Array, bool]]:
    """For each column, yield (rows with a known value, codes of these values, whether the codes are ordered)."""
    parts = ((k, part) for k, each in enumerate(data) for part in _parts(each))
    for place, x in parts:
        if place in bags:
            cells = sparse.coo_array(x)
            known = ~np.isnan(cells.data) & (cells.data != 0)
            pairs = np.stack([cells.col, cells.data], axis=1)[known]
            yield cells.row[known], np.unique(pairs, axis=0, return_inverse=True)[1].reshape(-1), False
            continue
        x = x.tocsc() if sparse.issparse(x) else x
        for k in range(x.shape[1]):
            column = column_of(x, k)
            rows = np.flatnonzero(~np.isnan(column))
            yield rows, np.unique(column[rows], return_inverse=True)[1], not isinstance(x, Coded)


def _parts(x: Column) -> tuple[Column, ...]:
    return (x.counts, x.exposure[:, None]) if isinstance(x, Exposed) else (getattr(x, "counts", x),)


def _new(sorted_keys: Array) -> Array:
    return np.append(True, np.diff(sorted_keys) != 0)[: len(sorted_keys)]


def _of_cells(codes: Array, weight: Array, real: bool) -> Array:
    counts = np.zeros(int(codes.max(initial=-1)) + 1, np.uint64)
    np.add.at(counts, codes, weight)
    found = _mixed(counts)
    return _mixed(found ^ beside(counts)) if real else found


def beside(sums: Array) -> Array:
    """For each entry of an array, a symmetric hash of two sums: of all earlier entries and of all later entries."""
    upto = np.cumsum(sums, dtype=np.uint64)
    below, above = upto - sums, upto[-1:] - upto
    return _mixed(np.minimum(below, above) + _mixed(np.maximum(below, above) + np.uint64(1)))


def _of_rows(n: int, columns: list[tuple[Array, Array, Array, bool]]) -> Array:
    keys = np.zeros(n, np.uint64)
    for rows, codes, cells, _ in columns:
        column = _mixed(np.sum(cells, keepdims=True, dtype=np.uint64))
        np.add.at(keys, rows, _mixed(cells + column)[codes])
    return _mixed(keys)


def times(weight: Array) -> Array:
    """Row weights as integers, in units of 2^-20."""
    # Sums of integers do not depend on their order.
    return (np.ldexp(weight, 20) % 2.0**64).astype(np.uint64)


def _seed(seed: int) -> Array:
    return _mixed(np.array([seed % 2**64], np.uint64))


def _mixed(x: Array) -> Array:
    """Hash each number by splitmix64 (Steele, Lea and Flood 2014)."""
    return mixed(x + np.uint64(0x9E3779B97F4A7C15))


mixed = trees.mixed.function
"""The last step of splitmix64, modulo 2^64."""
