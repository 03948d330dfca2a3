"""The classes of rows, as families see them: sums over the rows of each class.

:class:`Labels` has a class and a weight for each row. :class:`Responsibilities` has a distribution over classes for
each row, as in EM. Both have the same methods, so a family need not know which of the two it is given.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesnb.kernels import sums
from bayesnb.numerics import Array

type Column = Any


class Membership(ABC):
    """The class of each row, or the probability of each class; families only sum over it."""

    n: int

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def __getitem__(self, rows: Any) -> Membership: ...

    @abstractmethod
    def weights(self) -> Array:
        """Σ_i w_ic as (class,)."""

    @abstractmethod
    def squares(self) -> Array:
        """Σ_i w_ic² as (class,)."""

    @abstractmethod
    def totals(self, x: Column) -> Array:
        """Σ_i w_ic x_ij as (class, column); x dense or sparse, without NaN."""

    @abstractmethod
    def table(self, codes: Array, n_levels: int) -> Array:
        """Weight of each level as (class, column, level); a code of -1 is not counted."""

    @abstractmethod
    def costs(self, cost: Callable[[Any], Array]) -> Array:
        """Σ_i w_ic cost(c)_ij as (class, column).

        ``cost`` takes one class, or the class of each row, and returns an array (row, column).
        """

    @abstractmethod
    def each_class(self) -> Iterator[tuple[int, Any, Array]]:
        """Yield each class that has rows: its position, these rows, and their weights (row,)."""

    @abstractmethod
    def moments(self, x: Array) -> Iterator[Array]:
        """Yield the sums of each block of rows about a number v of each class and column, (class, 8, column).

        They are Σ w, v, Σ w (x - v) and Σ w (x - v)², each sum followed by what one float lacks of it, and the weight
        of the values other than 0. NaN adds nothing.
        """


@dataclass(frozen=True, eq=False)
class Labels(Membership):
    """Labelled rows: each belongs to one class.

    Parameters
    ----------
    codes : int array (row,)
        Position of the row's class.
    weight : float array (row,)
        Frequency weight: 2 is the row seen twice.
    n : int
        Number of classes.
    """

    codes: Array
    weight: Array
    n: int

    @classmethod
    def of(cls, codes: Any, n: int | None = None, weight: Any = None) -> Labels:
        """Labels from codes alone, every row of weight 1."""
        codes = np.asarray(codes, np.intp)
        weight = every_row(len(codes)) if weight is None else np.asarray(weight, float)
        return cls(codes, weight, int(codes.max(initial=-1)) + 1 if n is None else n)

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Any) -> Labels:
        return Labels(self.codes[rows], self.weight[rows], self.n)

    @property
    def unweighted(self) -> bool:
        """Whether every row counts once."""
        return bool((self.weight == 1).all())

    def weights(self) -> Array:
        return sums.weights(self.codes, self.weight, self.n)

    def squares(self) -> Array:
        # Where all rows have one weight, it lies in the memory of one number.
        if self.weight.strides == (0,) and len(self):
            return self.weights() * self.weight[0]
        return sums.weights(self.codes, self.weight**2, self.n)

    def totals(self, x: Column) -> Array:
        return sums.totals(x, self.codes, self.weight, self.n)

    def table(self, codes: Array, n_levels: int) -> Array:
        return sums.count(codes, self.codes, self.weight, self.n, n_levels)

    def costs(self, cost: Callable[[Any], Array]) -> Array:
        return self.totals(cost(self.codes))

    def each_class(self) -> Iterator[tuple[int, Any, Array]]:
        order = np.argsort(self.codes, kind="stable")
        ends = np.searchsorted(self.codes[order], np.arange(self.n + 1))
        for c in np.flatnonzero(np.diff(ends)):
            rows = order[ends[c] : ends[c + 1]]
            yield int(c), rows, self.weight[rows]

    def moments(self, x: Array) -> Iterator[Array]:
        return sums.moments(x, self.codes, self.weight, self.n)


@dataclass(frozen=True, eq=False)
class Responsibilities(Membership):
    """Rows whose class is a distribution, as in EM: ``r`` is (row, class), times the row's weight.

    To a class, they are labelled rows with these weights.
    """

    r: Array

    @property
    def n(self) -> int:
        return self.r.shape[1]

    def __len__(self) -> int:
        return len(self.r)

    def __getitem__(self, rows: Any) -> Responsibilities:
        return Responsibilities(self.r[rows])

    def _classes(self) -> list[Labels]:
        """All rows as rows of one class, with the weights that they have in it, for each class."""
        return [Labels(np.zeros(len(self), np.intp), r, 1) for r in self.r.T]

    def weights(self) -> Array:
        return np.concatenate([own.weights() for own in self._classes()])

    def squares(self) -> Array:
        return np.concatenate([own.squares() for own in self._classes()])

    def totals(self, x: Column) -> Array:
        return np.concatenate([own.totals(x) for own in self._classes()])

    def table(self, codes: Array, n_levels: int) -> Array:
        return np.concatenate([own.table(codes, n_levels) for own in self._classes()])

    def costs(self, cost: Callable[[Any], Array]) -> Array:
        return np.concatenate([own.totals(cost(c)) for c, own in enumerate(self._classes())])

    def each_class(self) -> Iterator[tuple[int, Any, Array]]:
        for c in range(self.n):
            yield c, slice(None), self.r[:, c]

    def moments(self, x: Array) -> Iterator[Array]:
        return map(np.concatenate, zip(*(own.moments(x) for own in self._classes()), strict=True))


def every_row(n: int) -> Array:
    """Weight 1 for each row, (row,), in the memory of one number; it cannot be written to."""
    return np.broadcast_to(1.0, n)
