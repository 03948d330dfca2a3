"""Random numbers that all rows share: the draws of a cell do not depend on other rows and columns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from bayesnb.numerics import Array, log_gamma_draw


@dataclass(frozen=True)
class CommonDraws:
    """Reproducible random numbers, (draw, row, class, column): equal keys give equal numbers.

    ``key`` holds the seed and integers that identify the drawn quantity. ``part`` holds integers that identify a part
    of this quantity. ``first`` is the position of the first column. If columns of several features are drawn together,
    ``columns`` holds a pair per column: an integer that identifies its feature, and its position in this feature.
    """

    draws: int
    key: tuple[int, ...]
    first: int = 0
    columns: tuple[tuple[int, int], ...] = ()
    part: tuple[int, ...] = ()

    def within(self, *key: int) -> CommonDraws:
        """A copy for the part that ``key`` identifies; different parts have independent random numbers."""
        return replace(self, part=(*self.part, *key))

    def of_columns(self, columns: Iterable[tuple[int, int]]) -> CommonDraws:
        return replace(self, columns=tuple(columns))

    def from_column(self, first: int) -> CommonDraws:
        return replace(self, first=first)

    def generator(self, *key: int) -> Generator:
        seed, *what = self.key
        return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(*what, *self.part, *key)))

    def of_cell(self, kind: int, c: int, column: int) -> Generator:
        """The random number generator of a class and a column."""
        if not self.columns:
            return self.generator(kind, c, self.first + column)
        feature, place = self.columns[self.first + column]
        return replace(self, key=(*self.key, feature)).generator(kind, c, place)

    def log_gamma(self, shape: Array, kind: int = 0) -> Array:
        """Logarithms of Gamma(shape, 1) variates, for ``shape`` ([row,] class, column).

        Rows with equal shape parameters share draws. Different values of ``kind`` give independent variates.
        """
        shape = np.asarray(shape, float)
        shape = shape.reshape(-1, *shape.shape[-2:])
        found, cells = np.empty((self.draws, *shape.shape)), [*np.ndindex(shape.shape[1:])]
        different = [np.unique(shape[:, *cell], return_inverse=True) for cell in cells]
        generators = [[self.of_cell(kind, *cell) for _ in own] for cell, (own, _) in zip(cells, different, strict=True)]
        for cell, (own, place), each in zip(cells, different, generators, strict=True):
            drawn = [log_gamma_draw(value, one, (self.draws,)) for value, one in zip(own, each, strict=True)]
            found[:, :, *cell] = np.stack(drawn, axis=-1)[:, place]
        return found

    def normal(self, n_classes: int, n_columns: int, kind: int = 1) -> Array:
        """Standard normal variates, (draw, 1, class, column)."""
        found = np.empty((self.draws, 1, n_classes, n_columns))
        for cell in np.ndindex(n_classes, n_columns):
            found[:, 0, *cell] = self.of_cell(kind, *cell).standard_normal(self.draws)
        return found
