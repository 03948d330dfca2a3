"""Class labels of rows, and the base class of sufficient statistics."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import chain
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator
from scipy import sparse

from bayesnb.kernels import sums
from bayesnb.kernels.reading import Bits
from bayesnb.numerics import Array
from bayesnb.wording import Message, RefusedError

type Column = Any


class LocatedError(RefusedError):
    """An error about parameters or counts; ``where`` is the first affected position (class, column[, level])."""

    def __init__(self, message: str | Message, where: tuple[int, ...] = ()) -> None:
        super().__init__(message)
        self.where = where


class UnlearnedError(LocatedError):
    """Rows cannot be removed: they were never learned, or rounding would destroy the remaining statistic."""


def first(mask: Array) -> tuple[int, ...]:
    """Position of the first true cell."""
    return tuple(int(i) for i in np.argwhere(mask)[0])


def joined[T](parts: Sequence[T], axis: int = 1) -> T:
    """Concatenate arrays or dataclasses of arrays along the column axis, or with ``axis=0`` along the class axis."""
    (one, *_) = parts = [np.asarray(part) if isinstance(part, Bits) else part for part in parts]
    if isinstance(one, np.ndarray):
        # Shorter arrays of level counts are padded with 0.
        if axis == 1 and one.ndim == 3 and len(widths := {part.shape[2] for part in parts}) > 1:
            parts = [np.pad(part, [(0, 0), (0, 0), (0, max(widths) - part.shape[2])]) for part in parts]
        return np.concatenate(parts, axis)
    if sparse.issparse(one):
        return sparse.hstack(parts, "csr")
    if is_dataclass(one):
        made = object.__new__(type(one))
        for f in fields(one):
            object.__setattr__(made, f.name, joined([getattr(part, f.name) for part in parts], axis))
        return made
    if isinstance(one, tuple) and axis == 1:
        return tuple(map(joined, zip(*parts, strict=True))) if all(map(is_dataclass, one)) else tuple(chain(*parts))
    return one


def arrays_of(part: Any) -> dict[str, Any]:
    """The array fields of a data class, without cached values."""
    values = {name: getattr(part, name) for name in part.__dataclass_fields__}
    return {name: v for name, v in values.items() if isinstance(v, np.ndarray) or sparse.issparse(v)}


def same(a: Any, b: Any) -> bool:
    """Whether two values, perhaps arrays, are equal."""
    if a is b:
        return True
    if is_dataclass(a):
        return type(a) is type(b) and all(same(getattr(a, f.name), getattr(b, f.name)) for f in fields(a))
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(np.array_equal(a, b))


def form(value: Any) -> Any:
    """The types and shapes of a value, ignoring the class axis of arrays."""
    if is_dataclass(value):
        return type(value), [form(getattr(value, f.name)) for f in fields(value)]
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape[1:]
    return tuple(map(form, value)) if isinstance(value, tuple) else value


@dataclass(frozen=True, eq=False)
class Labels:
    """Labelled rows: each row belongs to one class.

    Parameters
    ----------
    codes : int array (row,)
        Class of each row.
    weight : float array (row,)
        Frequency weights: 2 means that the row was seen twice.
    n : int
        Number of classes.
    """

    codes: Array
    weight: Array
    n: int

    @classmethod
    def of(cls, codes: Any, n: int | None = None, weight: Any = None) -> Labels:
        codes = np.asarray(codes, np.intp)
        weight = np.broadcast_to(1.0, len(codes)) if weight is None else np.asarray(weight, float)
        return cls(codes, weight, int(codes.max(initial=-1)) + 1 if n is None else n)

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Any) -> Labels:
        return Labels(self.codes[rows], self.weight[rows], self.n)

    def once(self) -> Labels:
        """Replace weights above 1 by 1."""
        # Leave-one-out leaves out one copy of a row.
        return Labels(self.codes, np.minimum(self.weight, 1.0), self.n)

    @property
    def unweighted(self) -> bool:
        return bool((self.weight == 1).all())

    @property
    def whole(self) -> bool:
        """Whether all weights are whole numbers."""
        return bool((self.weight == np.floor(self.weight)).all())

    @property
    def size(self) -> int:
        """The sum of the weights if all are whole numbers, otherwise the number of rows with positive weight."""
        return int(self.weight.sum()) if self.whole else int((self.weight > 0).sum())

    def weights(self) -> Array:
        """The sum of weights of each class, (class,)."""
        return sums.weights(self.codes, self.weight, self.n)

    def squares(self, weights: Array) -> Array:
        """The sum of squared weights of each class, (class,); ``weights`` is the result of :meth:`weights`."""
        # If all rows share a weight, its array may occupy the memory of one number.
        if self.weight.strides == (0,) and len(self):
            return weights * self.weight[0]
        return sums.weights(self.codes, self.weight**2, self.n)

    def totals(self, x: Column) -> Array:
        """Weighted sums of ``x`` (dense or sparse, without NaN) over the rows of each class, (class, column)."""
        return sums.totals(x, self.codes, self.weight, self.n)

    def table(self, codes: Array, n_levels: int) -> Array:
        """Weight of each level, (class, column, level); a code of -1 is not counted."""
        return sums.count(codes, self.codes, self.weight, self.n, n_levels)

    def each_class(self) -> Iterator[tuple[int, Any, Array]]:
        """Yield the position, rows and weights (row,) of each class that has rows."""
        order = np.argsort(self.codes, kind="stable")
        ends = np.searchsorted(self.codes[order], np.arange(self.n + 1))
        for c in np.flatnonzero(np.diff(ends)):
            rows = order[ends[c] : ends[c + 1]]
            yield int(c), rows, self.weight[rows]


@dataclass(frozen=True, eq=False)
class Statistic(ABC):
    """The sufficient statistic of a feature, per class, which can be added and subtracted.

    The first axis of every array is the class. ``a + b`` pools two data sets and merges names (levels, words). ``a -
    b`` removes the rows of ``b``, and ``a * 0.9`` multiplies the row weights of ``a``.
    """

    def __add__(self, other: Self) -> Self:
        theirs = other.arrays()
        return replace(self, **{name: v + theirs[name] for name, v in self.arrays().items()})

    def __mul__(self, factor: float) -> Self:
        return replace(self, **{name: v * factor for name, v in self.arrays().items()})

    @abstractmethod
    def seen(self) -> Array:
        """Weight of the values that are not missing, (class, column)."""

    def __sub__(self, other: Self) -> Self:
        return self + other * -1.0

    arrays = arrays_of

    def contradiction(self) -> str:
        """The reason why no data can have produced this statistic; "" if the statistic is possible."""
        return ""

    def converted(self, kind: type[Statistic]) -> Statistic | None:
        """The statistic of type ``kind`` of the same cells, computed from this statistic; ``None`` if impossible."""
        return None

    def drawn(self, theta: Mapping[str, Array], n: Array, rng: Generator) -> Statistic | None:
        """Draw the statistic of ``n`` cells per class and column given θ; ``None`` if this is impossible."""
        return None

    def take(self, classes: Sequence[int] | Array) -> Self:
        """Select classes by position; the position -1 gives a class without data."""
        index = np.asarray(classes, np.intp)
        empty = index < 0
        taken = {}
        for name, value in self.arrays().items():
            picked = value[index] if len(value) else np.zeros((len(index), *value.shape[1:]))
            picked[empty] = 0.0
            taken[name] = picked
        return replace(self, **taken)

    def columns(self, index: Sequence[int]) -> Self:
        """Select columns by position; not available for bags of words."""
        each = {f.name: getattr(self, f.name) for f in fields(self)}
        arrays = {name: value[:, list(index)] for name, value in each.items() if isinstance(value, np.ndarray)}
        names = {name: tuple(each[name][k] for k in index) for name in each.keys() - arrays.keys()}
        return type(self)(**arrays, **names)

    def named_as(self, other: Self) -> Self:
        """A copy with the names of levels or words from ``other``."""
        return self

    def settled(self, before: Self) -> Self:
        """Remove rounding errors after a subtraction of rows; ``before`` is the statistic before the subtraction.

        Raise :class:`UnlearnedError` if a weight is clearly negative, so that some subtracted rows were never learned.
        """
        whole, settled = (before + self * 0.0).arrays(), {}
        for name, value in self.rounded(before).arrays().items():
            settled[name] = value
            if name not in self.signed:
                if (missing := value < -1e-9 * np.abs(whole[name])).any():
                    where = first(missing)
                    raise UnlearnedError(
                        f"rows that were never learned cannot be unlearned; {name} would fall to {value[where]:g}",
                        where,
                    )
                settled[name] = cleared(value, whole[name])
        return replace(self, **settled)

    def rounded(self, before: Self) -> Self:
        """Remove the rounding errors of fields that are not weights."""
        return self

    signed: ClassVar[frozenset[str]] = frozenset()
    """The fields that may be negative."""


def cleared(value: Array, whole: Array) -> Array:
    """Set weights to 0 if they are negative, or tiny (rounding errors) relative to the earlier weights ``whole``."""
    # A positive whole number is exact, so it is kept.
    tiny = (value <= 1e-12 * np.abs(whole)) & (value != np.rint(value))
    return np.where((value < 0) | tiny, 0.0, value)
