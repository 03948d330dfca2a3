"""Join features with equal specifications into one block of columns, or divide features into columns."""

# One call per feature takes up to five times longer than one call for all features of a block.

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from bayesnb.families.columns import Coded, columns_of, present
from bayesnb.families.family import Family
from bayesnb.priors import Array, Prior, Theta
from bayesnb.statistics.statistic import Column, arrays_of, joined

LARGEST = 2**24
"""Largest number of cells in joined features."""


type Parts = Mapping[Any, Any]
"""Objects of features, such as posteriors, by feature name."""


@dataclass(frozen=True, eq=False, repr=False)
class JoinedParts(Mapping[Any, Any]):
    """A mapping from feature names to objects, such as priors, that are stored for groups of features."""

    # Joined objects are divided at the first lookup.

    joined: Mapping[tuple[Any, ...], Any]  # one object per group of features
    stack: Mapping[Any, tuple[Any, ...]]  # the group of each feature
    cuts: Mapping[Any, range]  # the columns of each feature in the object of its group

    @cached_property
    def apart(self) -> dict[Any, Any]:
        return {name: self.joined[self.stack[name]].columns(cut) for name, cut in self.cuts.items()}

    def __getitem__(self, name: Any) -> Any:
        return self.apart[name] if name in self.cuts else self.joined[self.stack[name]]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.stack)

    def __len__(self) -> int:
        return len(self.stack)

    def __repr__(self) -> str:
        return repr(dict(self))


def by_name(features: Iterable[Any], found: Iterable[tuple[Sequence[Any], Any]], like: Parts) -> Parts:
    """Divide the results for groups of features into one result per feature."""
    # like: parts with the number of columns of each feature
    joined = {tuple(names): part for names, part in found}
    known, cuts = like.cuts if isinstance(like, JoinedParts) else {}, dict[Any, range]()
    for names in (names for names in joined if len(names) > 1):
        own = {n: next(shape[1] for shape in shapes(like[n]) if len(shape) > 1) for n in names if n not in known}
        ends = np.cumsum([0, *(own[n] if n in own else len(known[n]) for n in names)]).tolist()
        cuts |= zip(names, map(range, ends, ends[1:]), strict=True)
    if not cuts:
        return {name: joined[(name,)] for name in features}
    stack = {name: names for names in joined for name in names}
    return JoinedParts(joined, {name: stack[name] for name in features}, cuts)


def whole_parts(parts: Parts) -> Iterable[tuple[Sequence[Any], Any]]:
    """Yield pairs (feature names, object), with one object for each group of joined features."""
    return parts.joined.items() if isinstance(parts, JoinedParts) else (((name,), part) for name, part in parts.items())


@dataclass(frozen=True, eq=False)
class Stack:
    """Features with equal specifications, whose priors and data can be joined along the column axis."""

    family: Family
    names: Sequence[Any]
    known: tuple[Parts, ...]  # each maps the feature names to their priors or data

    @cached_property
    def joined(self) -> list[Any]:
        """The priors or data of all features of the group, concatenated along the column axis."""
        # They are created only once, because posteriors cache values.
        held = [p.joined.get(tuple(self.names)) if isinstance(p, JoinedParts) else None for p in self.known]
        both = zip(held, self.known, strict=True)
        return [joined([parts[name] for name in self.names]) if whole is None else whole for whole, parts in both]


def stacked(features: Mapping[Any, Family], *known: Parts) -> list[Stack]:
    """Group the features with equal specifications whose arrays can be joined along the column axis."""
    specified = {id(family): family for family in features.values()}
    specified = {key: _specified(family) for key, family in specified.items()}
    whole = [{name: part for names, part in whole_parts(parts) for name in names} for parts in known]
    alike: dict[Any, list[Any]] = {}
    for name, family in features.items():
        depths = (shape[2:] for parts in whole for shape in shapes(parts[name]))
        alike.setdefault((specified[id(family)] or name, *depths), []).append(name)
    return [Stack(features[n], (n, *more), known if more else tuple({n: parts[n]} for parts in known))
            for n, *more in alike.values()]  # fmt: skip


def _specified(family: Family) -> tuple[Any, ...] | None:
    """A key that is equal for two families if they can be joined; ``None`` if this family cannot be joined."""
    if family.reads_together or family.parts or not family.exact:
        return None
    of_classes = isinstance(family.prior, Mapping)
    priors = family.prior.items() if of_classes else [(None, family.prior)]
    parts = [(None, family), *priors]
    values = [getattr(part, f.name) for _, part in parts for f in fields(part) if f.name != "prior"]
    if any(isinstance(value, Mapping | tuple | list) or np.ndim(value) > 0 for value in values):
        return None
    values = [value.item() if isinstance(value, np.ndarray) else value for value in values]
    return of_classes, *((label, type(part)) for label, part in parts), *values


def each[T](
    stacks: Sequence[Stack], n_rows: int, ask: Callable[..., T], naming: Callable[[Any], AbstractContextManager[None]],
    *given: Parts,
) -> Iterator[tuple[Sequence[Any], T]]:  # fmt: skip
    """For each group of features, call ``ask``; yield (names of the features, result)."""
    # ask(family, *priors and data of the group, joined along the column axis); naming(name): adds the name of a feature
    # to errors
    size = max(1, LARGEST // max(1, n_rows))
    for stack, names in ((s, s.names[k : k + size]) for s in stacks for k in range(0, len(s.names), size)):
        if len(names) > 1:
            try:
                some = stack if len(names) == len(stack.names) else replace(stack, names=names)
                yield names, ask(stack.family, *some.joined, *replace(some, known=given).joined)
                continue
            except ValueError:
                # Features that cannot be joined, or that raise an error, are computed one by one, so that the error
                # names the feature.
                pass
        for name in names:
            with naming(name):
                answer = ask(stack.family, *(parts[name] for parts in (*stack.known, *given)))
            yield [name], answer


def shapes(part: Any) -> list[tuple[int, ...]]:
    """Shapes of the arrays in a posterior, a statistic or data."""
    if isinstance(part, Coded):
        return [(*part.codes.shape, part.n_levels)]
    return [v.shape for v in ([part] if hasattr(part, "shape") else arrays_of(part).values())]


@dataclass(frozen=True, eq=False)
class Piece:
    """One column of a feature, or the whole feature if ``column`` is None."""

    feature: str
    column: int | None
    family: Family
    believed: Prior

    def of(self, x: Column) -> Column:
        """Select the columns of this piece from the feature's columns ``x``."""
        return x if self.column is None else columns_of(x, [self.column])

    def theta(self, parameters: Any) -> Theta:
        own, axis = parameters.features[self.feature], parameters.log_pi.ndim
        return own if self.column is None else {name: value.take([self.column], axis) for name, value in own.items()}

    def known(self, x: Column) -> Array:
        """The number of nonmissing cells in each row of the feature's columns ``x``; 0 or 1 for a bag of words."""
        if self.family.support.kind == "bag":
            return ~x.missing()
        cells = present(x)
        return cells.sum(axis=1) if self.column is None else cells[:, self.column]
