"""Many small features of one family as one block of columns.

A table of 100,000 columns has 100,000 features of a few cells each, and to ask one after the other takes many times
longer than the sums themselves. Where many features have one family and one prior, their columns can stand side by side
in one array, for no column looks at another: :func:`groups` says which, :func:`stacked` puts them there, and
:func:`split` gives each feature its own columns of the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from itertools import pairwise
from typing import Any

import numpy as np

from bayesnb.families.family import Family
from bayesnb.families.statistic import Statistic
from bayesnb.kernels.blocks import slices
from bayesnb.priors import Array, Prior

MANY = 64
"""Features of one specification from which on they are stacked."""

CELLS = 2**16
"""Cells of a stack at most: in larger ones the sums take longer than the asking."""


def groups(features: Mapping[Any, Family], n_rows: int) -> Iterator[tuple[Family, list[Any]]]:
    """The features one by one in their order, and then stacks of those that are many of one specification."""
    if len(features) < MANY:
        yield from ((family, [name]) for name, family in features.items())
        return
    kinds: dict[Any, int] = {}
    kind_of = {}
    for family in {id(family): family for family in features.values()}.values():
        specified = _specified(family)
        kind_of[id(family)] = -1 if specified is None else kinds.setdefault(specified, len(kinds))
    alike: dict[int, list[Any]] = {}
    for name, family in features.items():
        alike.setdefault(kind_of[id(family)], []).append(name)
    stacks = [names for kind, names in alike.items() if kind >= 0 and len(names) >= MANY]
    others = set().union(*stacks)
    yield from ((family, [name]) for name, family in features.items() if name not in others)
    for names in stacks:
        for cut in slices(len(names), max(1, CELLS // max(1, n_rows))):
            yield features[names[0]], names[cut]


def _specified(family: Family) -> tuple[Any, ...] | None:
    """All that was specified of a family, or ``None`` where some of it may belong to one column and not to another."""
    per_class = family.prior if isinstance(family.prior, Mapping) else {None: family.prior}
    found: list[Any] = [type(family)]
    for name, part in ((None, family), *per_class.items()):
        values = [(f.name, getattr(part, f.name)) for f in fields(part) if f.name != "prior"]
        if not family.exact or any(np.ndim(value) > 0 or isinstance(value, Mapping) for _, value in values):
            return None
        found.append((name, type(part), *((f, v if v is None or isinstance(v, str) else float(v)) for f, v in values)))
    return tuple(found)


def each[T](
    features: Mapping[Any, Family],
    n_rows: int,
    one: Callable[[Any, Family], T],
    many: Callable[[Sequence[Any], Family], Sequence[T] | None],
) -> dict[Any, T]:
    """The answer of each feature: of many that can be stacked by ``many``, else by ``one``.

    Where ``many`` returns ``None`` or raises ``ValueError`` each of them is asked alone, which names the feature.
    """
    found = {}
    for family, names in groups(features, n_rows):
        answers = None
        if len(names) > 1:
            try:
                answers = many(names, family)
            except ValueError:
                answers = None
        found.update(zip(names, answers or [one(name, family) for name in names], strict=True))
    return {name: found[name] for name in features}


def cells(xs: Sequence[Any]) -> Array | None:
    """Encoded features (row, column) side by side; ``None`` where one of them is not a dense array of numbers."""
    if not all(type(x) is np.ndarray and x.ndim == 2 for x in xs):
        return None
    return np.concatenate(xs, axis=1)


def widths(parts: Sequence[Statistic | Prior]) -> list[int] | None:
    """How many columns each part has; ``None`` where one of its arrays is not (class, column, ...)."""
    arrays = _arrays(parts[0])
    others = [v for f in fields(parts[0]) if f.name not in arrays and (v := getattr(parts[0], f.name)) is not None]
    if not arrays or any(v.ndim < 2 for v in arrays.values()) or not all(isinstance(v, str) for v in others):
        return None
    name = next(iter(arrays))
    return [getattr(part, name).shape[1] for part in parts]


def stacked[S: (Statistic, Prior)](parts: Sequence[S]) -> S:
    """Statistics or priors of one kind side by side."""
    shared = {f.name: getattr(parts[0], f.name) for f in fields(parts[0])}
    side_by_side = {name: np.concatenate([getattr(p, name) for p in parts], 1) for name in _arrays(parts[0])}
    return _of(parts[0], shared | side_by_side)


def split[S: (Statistic, Prior)](whole: S, columns: Sequence[int]) -> list[S] | None:
    """What each feature has of a stack; ``None`` where one of its arrays is not (class, column, ...)."""
    total, arrays = sum(columns), _arrays(whole)
    if any(v.ndim < 2 or v.shape[1] != total for v in arrays.values()):
        return None
    ends = np.cumsum([0, *columns]).tolist()
    shared = {f.name: getattr(whole, f.name) for f in fields(whole)}
    return [_of(whole, shared | {name: v[:, a:b] for name, v in arrays.items()}) for a, b in pairwise(ends)]


def _arrays(part: Statistic | Prior) -> dict[str, Array]:
    """The fields that are arrays; the others are the same for all features of one specification."""
    return {f.name: v for f in fields(part) if isinstance(v := getattr(part, f.name), np.ndarray)}


def _of[S: (Statistic, Prior)](like: S, values: dict[str, Any]) -> S:
    """The same kind of object with other fields, which were validated when the stack was made of them."""
    made = object.__new__(type(like))
    made.__dict__.update(values)
    return made
