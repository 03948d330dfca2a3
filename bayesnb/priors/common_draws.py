"""Reproducible random numbers that all rows share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from bayesnb.numerics import Array, log_gamma_draw, log_sum


@dataclass(frozen=True)
class CommonDraws:
    """Reproducible random numbers, (draw, row, class, column), which depend only on a seed and other integers."""

    draws: int
    key: tuple[int, ...]
    """The seed, and integers that identify the drawn quantity."""
    first: int = 0
    """The position of the first column."""
    columns: tuple[tuple[int, int], ...] = ()
    """The feature of each column and the position in this feature, if there are several features."""
    part: tuple[int, ...] = ()
    """Integers that identify a part of the drawn quantity."""

    def within(self, *key: int) -> CommonDraws:
        """Independent random numbers for one part of the drawn quantity; the integers ``key`` identify the part."""
        return replace(self, part=(*self.part, *key))

    def of_columns(self, columns: Iterable[tuple[int, int]]) -> CommonDraws:
        return replace(self, columns=tuple(columns))

    def from_column(self, first: int) -> CommonDraws:
        return replace(self, first=first)

    def generator(self, *key: int) -> Generator:
        seed, *what = self.key
        return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(*what, *self.part, *key)))

    def of_cell(self, kind: int, c: int, column: int) -> Generator:
        """The random number generator for one class and column."""
        if not self.columns:
            return self.generator(kind, c, self.first + column)
        feature, place = self.columns[self.first + column]
        return replace(self, key=(*self.key, feature)).generator(kind, c, place)

    def log_gamma(self, shape: Array, kind: int = 0) -> Array:
        """Logarithms of Gamma(shape, 1) variates; rows with equal ``shape`` ([row,] class, column) get equal draws."""
        shape = np.asarray(shape, float)
        shape = shape.reshape(-1, *shape.shape[-2:])
        found = np.empty((self.draws, *shape.shape))
        for cell in np.ndindex(shape.shape[1:]):
            found[:, :, *cell] = self._log_gamma(shape[:, *cell], kind, *cell)
        return found

    def _log_gamma(self, shape: Array, kind: int, c: int, column: int) -> Array:
        different, place = np.unique(shape, return_inverse=True)
        drawn = [log_gamma_draw(value, self.of_cell(kind, c, column), (self.draws,)) for value in different]
        return np.stack(drawn, axis=-1)[:, place]

    def log_beta(self, alpha: Array, beta: Array, kind: int = 0) -> Array:
        """Logarithms of Beta variates; rows with equal parameters, ([row,] class, column), have equal draws."""
        both = np.stack(np.broadcast_arrays(alpha, beta))
        both = both.reshape(2, -1, *both.shape[-2:])
        found = np.empty((self.draws, *both.shape[1:]))
        for cell in np.ndindex(both.shape[2:]):
            different, place = np.unique(both[:, :, *cell], axis=1, return_inverse=True)
            one, other = (self._log_gamma(shape, kind + k, *cell) for k, shape in enumerate(different))
            found[:, :, *cell] = (one - log_sum([other, one]))[:, place]
        return found

    def normal(self, n_classes: int, n_columns: int, kind: int = 1) -> Array:
        """Standard normal variates, (draw, 1, class, column)."""
        found = np.empty((self.draws, 1, n_classes, n_columns))
        for cell in np.ndindex(n_classes, n_columns):
            found[:, 0, *cell] = self.of_cell(kind, *cell).standard_normal(self.draws)
        return found
