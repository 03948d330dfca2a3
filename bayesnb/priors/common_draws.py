"""Random numbers that all rows of a table share, so that results do not depend on the other rows and columns."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from bayesnb.numerics import Array, log_gamma_draw


@dataclass(frozen=True)
class CommonDraws:
    """Reproducible random numbers, (draw, row, class, column): equal keys give equal numbers.

    ``key`` holds the seed and integers that identify the drawn quantity. ``first`` is the position of the first column.
    """

    draws: int
    key: tuple[int, ...]
    first: int = 0

    def within(self, *key: int) -> CommonDraws:
        """Random numbers for a part of the drawn quantity."""
        return replace(self, key=(*self.key, *key))

    def from_column(self, first: int) -> CommonDraws:
        return replace(self, first=first)

    def generator(self, *key: int) -> Generator:
        seed, *what = self.key
        return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(*what, *key)))

    def log_gamma(self, shape: Array, kind: int = 0) -> Array:
        """Logarithms of Gamma(shape, 1) variates, where ``shape`` is ([row,] class, column); equal shapes share draws.

        Different values of ``kind`` give independent variates.
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
        """Standard normal variates, (draw, 1, class, column)."""
        found = np.empty((self.draws, 1, n_classes, n_columns))
        for cell in np.ndindex(n_classes, n_columns):
            found[:, 0, *cell] = self.generator(kind, cell[0], self.first + cell[1]).standard_normal(self.draws)
        return found
