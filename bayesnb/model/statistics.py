"""The sufficient statistics of the whole model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

import numpy as np

from bayesnb.model.probabilities import NoClosedFormError
from bayesnb.priors import Array
from bayesnb.statistics.statistic import LocatedError, Statistic, cleared
from bayesnb.wording import Message, RefusedError

type Data = Mapping[str, Any]
"""The encoded columns of each feature, by feature name."""


def reliability_weights(weight: Any) -> Array:
    """Convert survey weights (reliability weights) of rows to frequencies, (row,).

    Reliability weights w state only the relative importance of rows. The function rescales them to frequency weights,
    whose sum is the effective number of rows, (Σ w)² / Σ w² (Kish 1965, Survey Sampling). Pass the weights of all rows
    in one call, before learning any row.

    Raises
    ------
    ValueError
        If a weight is negative or not finite, or if all weights are 0.

    Examples
    --------
    >>> reliability_weights([1200.0, 300.0, 300.0, 600.0]).round(2)
    array([1.45, 0.36, 0.36, 0.73])
    """
    weight = np.asarray(weight, float)
    if weight.ndim != 1 or not (np.isfinite(weight) & (weight >= 0)).all() or not weight.any():
        raise ValueError("Expected one finite weight of 0 or more for each row, and one above 0")
    share = weight / weight.max()
    return share * share.sum() / (share**2).sum()


def part_of(data: Data, rows: Array | slice) -> Data:
    """Select rows of encoded columns."""
    return {name: x[rows] for name, x in data.items()}


@contextmanager
def about(what: str, labels: Sequence[Any] = (), s: Statistic | None = None) -> Iterator[None]:
    """Add feature, class, column and level to error messages."""
    try:
        yield
    except NoClosedFormError:
        raise
    except LocatedError as error:
        place = ", ".join([what, *_cell(error.where, labels, s)])
        raise type(error)(Message("{place}: {error}", place=place, error=error), error.where) from error
    except ValueError as error:
        raise RefusedError("{place}: {error}", place=what, error=error) from error


def _cell(where: tuple[int, ...], labels: Sequence[Any], s: Statistic | None) -> list[str]:
    said = [f"class {labels[where[0]]!r}"] if where and labels else []
    names = getattr(s, "levels", None)
    if s is not None and len(where) > 1 and s.seen().shape[1] > 1:
        said.append(f"column {where[1]}")
    if names and len(where) > 2:
        said.append(f"level {names[where[1]][where[2]]!r}")
    if (words := getattr(s, "words", None)) and len(where) > 1:
        said.append(f"word {words[where[1]]!r}")
    return said


ROUNDING = 1e-10
"""Tolerance in comparing sums, relative to the largest sum of the feature."""


def _numbers(s: Any) -> Array:
    if is_dataclass(s):
        return _numbers(tuple(getattr(s, f.name) for f in fields(s)))
    if isinstance(s, tuple):
        return np.concatenate([np.empty(0), *map(_numbers, s)])
    return s.ravel() if isinstance(s, np.ndarray) and s.dtype.kind in "iuf" else np.empty(0)


def in_order(names: Iterable[Any]) -> list[Any]:
    """Sort names; names that are not comparable are sorted by type and then by text."""
    names = list(names)
    try:
        return sorted(names)
    except TypeError:
        return sorted(names, key=lambda name: (type(name).__name__, str(name)))


def united_labels(*groups: Sequence[Any]) -> tuple[Any, ...]:
    """The sorted union of groups of class labels."""
    return tuple(in_order(dict.fromkeys(label for labels in groups for label in labels)))


@dataclass(frozen=True, eq=False)
class Statistics:
    """The sufficient statistics of the whole model.

    ``a + b`` adds rows, ``a - b`` removes rows, and ``a * 0.9`` multiplies row weights.

    Parameters
    ----------
    labels : tuple
        Class labels, in the order of the class axis.
    rows : array (class,)
        Total weight of each class.
    features : {name: Statistic}
    squares : array (class,) or None
        Sum of squared row weights of each class; ``None`` if unknown.

    Examples
    --------
    >>> from bayesnb import BayesianNB, Bernoulli
    >>> clf = BayesianNB({"wet": Bernoulli()}).fit({"wet": [1, 0, 1]}, ["spring", "spring", "summer"])
    >>> seen = clf.classifier_.statistics
    >>> (seen + seen).rows, (seen + seen - seen).rows, (seen * 0.5).rows
    (array([4., 2.]), array([2., 1.]), array([1. , 0.5]))
    """

    labels: tuple[Any, ...]
    rows: Array
    features: Mapping[str, Statistic]
    squares: Array | None = field(default=None, repr=False)

    @property
    def effective_rows(self) -> float:
        """The effective number of rows, (Σ w)² / Σ w² for weights w (Kish 1965), or NaN if unknown."""
        squares = np.nan if self.squares is None else self.squares.sum()
        return float(self.rows.sum() ** 2 / squares) if squares != 0 else 0.0

    def counted(self, weight: float | None = None) -> str:
        """The number of rows, as in "14 rows", or their total weight, as in "rows of weight 7.5"."""
        total = self.rows.sum() if weight is None else weight
        unweighted = self.squares is not None and self.squares.sum() == self.rows.sum()
        return f"{total:,.10g} row{'' if total == 1 else 's'}" if unweighted else f"rows of weight {total:,.10g}"

    def about(self, name: str) -> AbstractContextManager[None]:
        return about(f"feature {name!r}", self.labels, self.features.get(name))

    def reindexed(self, labels: Sequence[Any]) -> Statistics:
        """The statistics for the classes ``labels``. New classes have no rows."""
        if tuple(labels) == self.labels:
            return self
        place = {label: c for c, label in enumerate(self.labels)}
        index = np.array([place.get(label, -1) for label in labels], np.intp)
        rows, squares = (None if v is None else np.append(v, 0.0)[index] for v in (self.rows, self.squares))
        return Statistics(tuple(labels), rows, {name: s.take(index) for name, s in self.features.items()}, squares)

    def widened(self, other: Statistics) -> Statistics:
        nothing = [-1] * len(self.labels)
        new = {name: s.take(nothing) for name, s in other.features.items() if name not in self.features}
        return replace(self, features={**self.features, **new}) if new else self

    def __add__(self, other: Statistics) -> Statistics:
        if set(self.features) != set(other.features):
            odd = sorted(set(self.features) ^ set(other.features))
            raise ValueError(f"Expected statistics of the same features; only one side has {odd}")
        labels = united_labels(self.labels, other.labels)
        a, b = self.reindexed(labels), other.reindexed(labels)
        pooled = {}
        for name, s in a.features.items():
            with about(f"feature {name!r}"):
                pooled[name] = s + b.features[name]
        squares = None if a.squares is None or b.squares is None else a.squares + b.squares
        return Statistics(labels, a.rows + b.rows, pooled, squares)

    def __mul__(self, factor: float) -> Statistics:
        # Squares of weights get the square of the factor, with its sign, since -1 removes rows.
        squares = None if self.squares is None else self.squares * (factor * abs(factor))
        return Statistics(self.labels, self.rows * factor, {n: s * factor for n, s in self.features.items()}, squares)

    def __sub__(self, other: Statistics) -> Statistics:
        return self + other * -1.0

    def close_to(self, other: Statistics) -> bool:
        if self.labels != other.labels or self.features.keys() != other.features.keys():
            return False
        pairs = [(self.rows, other.rows)] + [(s, other.features[name]) for name, s in self.features.items()]
        for one, two in ([*map(_numbers, pair)] for pair in pairs):
            if one.shape != two.shape or np.abs(one - two).max(initial=0.0) > ROUNDING * np.abs(two).max(initial=0.0):
                return False
        return True

    def without(self, other: Statistics) -> Statistics:
        """Remove the rows of ``other``, which must have been learned.

        Raises
        ------
        ValueError
            If ``other`` has a class, a feature, a level or a count that was never learned.
        """
        unknown = [label for label in other.labels if label not in self.labels]
        if unknown:
            raise ValueError(f"class {unknown[0]!r} was never learned, so its rows cannot be unlearned")
        if strange := [name for name in other.features if name not in self.features]:
            raise ValueError(f"feature {strange[0]!r} was never learned, so its values cannot be unlearned")
        rest, whole = self - other, self.reindexed(united_labels(self.labels, other.labels))
        if (rest.rows < -1e-9 * whole.rows).any():
            c = int(np.argmin(rest.rows))
            raise ValueError(
                f"class {rest.labels[c]!r} has rows of weight {whole.rows[c]:g}; {whole.rows[c] - rest.rows[c]:g} "
                "cannot be unlearned: they were never learned"
            )
        settled = {}
        for name, s in rest.features.items():
            with about(f"feature {name!r}", rest.labels, s):
                settled[name] = s.settled(whole.features[name]).named_as(self.features[name])
        rows = cleared(rest.rows, whole.rows)
        for name, s in settled.items():
            for c, _ in np.argwhere(s.seen() > (rows * (1 + 1e-6) + 1e-9 * whole.rows)[:, None])[:1]:
                raise ValueError(
                    f"feature {name!r}: more values than rows of class {rest.labels[c]!r} would remain, so these rows "
                    "cannot be unlearned: rows with as many missing cells were never learned"
                )
        squares = None if rest.squares is None else np.where(rows > 0, np.maximum(rest.squares, 0.0), 0.0)
        return Statistics(rest.labels, rows, settled, squares)
