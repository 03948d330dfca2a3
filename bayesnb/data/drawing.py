"""Draw rows at random from a table, which may be read in parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import numpy as np
import pandas as pd

from bayesnb.data.columns import CellError, Column, NoFamilyError
from bayesnb.data.tables import Table
from bayesnb.model.order import mixed
from bayesnb.priors import Array

# Rows are drawn at random from a table, also from one that is read in parts, in a single pass. Every row has a number,
# a hash of its cells and of how many equal rows stand before it, and the rows with the smallest numbers are kept. So
# the sample depends neither on the order of rows and columns, nor on the container, nor on how the table is cut. It
# does depend on names and units: the keys of ``model.order``, which do not, need all rows at once.


def few_rows(table: Table, most: int, seed: int) -> Array:
    """Draw at most ``most`` rows at random; return their sorted positions."""
    if table.n_rows <= most:
        return np.arange(table.n_rows)
    return np.sort(np.argsort(row_numbers(table, seed), kind="stable")[:most])


def row_numbers(table: Table, seed: int) -> Array:
    """A pseudo-random uint64 for each row: a hash of its cells and of the number of earlier equal rows."""
    return _Copies(seed).numbers(row_keys(table))


def row_keys(table: Table) -> Array:
    """A hash of the nonmissing cells of each row, uint64 (row,)."""
    found = np.zeros(table.n_rows, np.uint64)
    if table.sparse:
        cells = table.source.tocoo()
        rows = np.flatnonzero(cells.data)
        keys = mixed(mixed(cells.col[rows].astype(np.uint64)) + cells.data[rows].astype(float).view(np.uint64))
        np.add.at(found, cells.row[rows], keys)
        return found
    for name in table.names:
        known, cells = cell_keys(table.column(name))
        found += np.where(known, mixed(cells + pd.util.hash_array(np.array([str(name)], object))), np.uint64(0))
    return found


def cell_keys(column: Column) -> tuple[Array, Array]:
    """Return (known, keys): whether each cell is nonmissing, and a hash of the cell, uint64 (row,)."""
    try:
        textual = column.kind == "text"
    except (NoFamilyError, CellError):
        cells = pd.Series(column.values)
        return cells.notna().to_numpy(), pd.util.hash_array(cells.map(str).to_numpy(object))
    if textual:
        codes, distinct = column.coded
        return codes >= 0, np.append(pd.util.hash_array(np.array([*map(str, distinct)], object)), np.uint64(0))[codes]
    x = column.reals() + 0.0  # -0.0 is 0.0
    return ~np.isnan(x), x.view(np.uint64)


class _Copies:
    """A pseudo-random number for each row, computed from the row's key so that rows with equal keys get different
    numbers.
    """

    # The number of a row is a hash of its key and of the number of earlier rows with this key.

    def __init__(self, seed: int) -> None:
        self.salt = mixed(np.array([seed % 2**64], np.uint64))
        self.runs: list[tuple[Array, Array]] = []

    def numbers(self, keys: Array) -> Array:
        values, place, n = np.unique(keys, return_inverse=True, return_counts=True)
        before = np.empty(len(keys), np.int64)
        before[np.argsort(keys, kind="stable")] = np.arange(len(keys)) - np.repeat(np.cumsum(n) - n, n)
        for known, times in self.runs:
            at = np.minimum(np.searchsorted(known, values), len(known) - 1)
            before += np.where(known[at] == values, times[at], 0)[place]
        self.runs.append((values, n))
        while len(self.runs) > 1 and len(self.runs[-2][0]) <= 2 * len(self.runs[-1][0]):
            each, times = map(np.concatenate, zip(self.runs.pop(), self.runs.pop(), strict=True))
            values, place = np.unique(each, return_inverse=True)
            self.runs.append((values, np.bincount(place, times).astype(np.int64)))
        return mixed(keys + mixed(self.salt + before.astype(np.uint64)))


def drawn(tables: Iterable[Table], most: int, seed: int) -> tuple[Iterator[Table], Callable[[], Table]]:
    """Return an iterator over the tables, and a function that samples at most ``most`` rows after the iteration."""
    copies, kept = _Copies(seed), list[tuple[Array, Table]]()

    def passing() -> Iterator[Table]:
        for table in tables:
            if table.n_rows:
                kept.append((copies.numbers(row_keys(table)), table))
                kept[:] = _smallest(kept, most)
            yield table

    def sample() -> Table:
        whole = Table.of(pd.concat([table.source for _, table in kept], ignore_index=True))
        return replace(whole, declares=kept[0][1].declares)

    return passing(), sample


def _smallest(parts: list[tuple[Array, Table]], most: int) -> list[tuple[Array, Table]]:
    numbers = np.concatenate([numbers for numbers, _ in parts])
    if len(numbers) <= most:
        return parts
    last = np.partition(numbers, most - 1)[most - 1]
    masks = [numbers <= last for numbers, _ in parts]
    both = zip(masks, parts, strict=True)
    return [(numbers[mask], table.rows(mask)) for mask, (numbers, table) in both if mask.any()]
