"""Rows drawn at random from a table that is read in parts, while it is read once.

Start with :func:`drawn`. Every row gets a random number, in the order of the rows, and those with the smallest numbers
are kept. So the sample does not depend on how the table is cut into parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import narwhals.stable.v2 as nw
import numpy as np

from bayesnb.data.tables import Table
from bayesnb.numerics import Array


def drawn(tables: Iterable[Table], most: int, seed: int) -> tuple[Iterator[Table], Callable[[], Table]]:
    """The same tables, and a function that gives at most so many of their rows once they have been read.

    Parameters
    ----------
    tables : iterable of Table
        Of named columns.
    most : int
        How many rows are kept; all of them, in their order, where there are no more.
    seed : int
    """
    rng = np.random.default_rng(seed)
    kept: list[tuple[Array, Table]] = []

    def passing() -> Iterator[Table]:
        for table in tables:
            if table.n_rows:
                kept.append((rng.random(table.n_rows), table))
                kept[:] = _smallest(kept, most)
            yield table

    def sample() -> Table:
        return Table.of(nw.concat([table.source for _, table in kept], how="vertical").to_native())

    return passing(), sample


def _smallest(parts: list[tuple[Array, Table]], most: int) -> list[tuple[Array, Table]]:
    """The rows with the smallest numbers."""
    numbers = np.concatenate([numbers for numbers, _ in parts])
    if len(numbers) <= most:
        return parts
    last = np.partition(numbers, most - 1)[most - 1]
    masks = [numbers <= last for numbers, _ in parts]
    both = zip(masks, parts, strict=True)
    return [(numbers[mask], table.rows(mask)) for mask, (numbers, table) in both if mask.any()]
