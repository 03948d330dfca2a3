"""Random numbers that all rows of a table share.

Draws of the parameters given a row would be other draws for every row. :class:`CommonDraws` makes them from the same
random numbers, so that an answer does not depend on the rows and columns that are asked with it, and so that two rows
differ by what they say and not by chance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from bayesnb.numerics import Array, log_gamma_draw


@dataclass(frozen=True)
class CommonDraws:
    """Random numbers with a key: whoever has the same key gets the same numbers.

    Arrays are (draw, row, class, column), where the row, the class and the column may have length 1.

    Parameters
    ----------
    draws : int
    key : tuple of int
        The first one is the seed, the others say what is drawn.
    first : int
        The position of the first column among all columns.
    """

    draws: int
    key: tuple[int, ...]
    first: int = 0

    def within(self, *key: int) -> CommonDraws:
        """Other random numbers, for a part of what is drawn."""
        return replace(self, key=(*self.key, *key))

    def from_column(self, first: int) -> CommonDraws:
        """The random numbers of the columns from a position on."""
        return replace(self, first=first)

    def generator(self, *key: int) -> Generator:
        """A generator of these numbers, at its beginning."""
        seed, *what = self.key
        return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(*what, *key)))

    def log_gamma(self, shape: Array, kind: int = 0) -> Array:
        """Logarithms of Gamma(shape, 1) variates; ``shape`` is ([row,] class, column), and equal shapes share draws.

        Two sets of variates are independent if their ``kind`` differs.
        """
        shape = np.asarray(shape, float)
        shape = shape.reshape(-1, *shape.shape[-2:])
        found = np.empty((self.draws, *shape.shape))
        for cell in np.ndindex(shape.shape[1:]):
            distinct, place = np.unique(shape[:, *cell], return_inverse=True)
            key = (kind, cell[0], self.first + cell[1])
            each = [log_gamma_draw(value, self.generator(*key), (self.draws,)) for value in distinct]
            found[:, :, *cell] = np.stack(each, axis=-1)[:, place]
        return found

    def normal(self, n_classes: int, n_columns: int, kind: int = 1) -> Array:
        """Standard normal variates, one for each class and column, the same for all rows."""
        found = np.empty((self.draws, 1, n_classes, n_columns))
        for cell in np.ndindex(n_classes, n_columns):
            found[:, 0, *cell] = self.generator(kind, cell[0], self.first + cell[1]).standard_normal(self.draws)
        return found
