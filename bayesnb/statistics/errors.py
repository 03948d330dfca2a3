"""Errors about one cell of a statistic or a posterior. The caller, who knows its column and class, adds their names."""

from __future__ import annotations

import numpy as np

from bayesnb.numerics import Array


class LocatedError(ValueError):
    """An error about a cell; ``where`` is the position (class, column[, level]) of the first such cell."""

    def __init__(self, message: str, where: tuple[int, ...] = ()) -> None:
        super().__init__(message)
        self.where = where


class UnlearnedError(LocatedError):
    """Rows cannot be unlearned: they were never learned, or the other rows would be lost to rounding."""


def first(mask: Array) -> tuple[int, ...]:
    """Position of the first true cell."""
    return tuple(int(i) for i in np.argwhere(mask)[0])
