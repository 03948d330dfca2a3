"""Many small features of one family as one block of columns.

A table of 100,000 columns has 100,000 features of a few cells each, and a call for each feature takes many times longer
than its sums. Columns do not depend on each other, so the columns of features with one family and one prior can stand
side by side in one array: :func:`groups` finds such features, :func:`stacked` puts their columns together, and
:func:`split` gives each feature its own columns of the result. :func:`each` does all three.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import fields
from itertools import pairwise
from typing import Any

import numpy as np

from bayesnb.families.family import Family
from bayesnb.kernels.blocks import slices
from bayesnb.priors import Array, Prior
from bayesnb.statistics.statistic import Statistic

MANY = 64
"""Features with the same specification are stacked if there are at least this many."""

LARGEST = 2**16
"""The most cells of a stack. In larger stacks, most of the time is spent on the sums anyway."""


def groups(features: Mapping[Any, Family], n_rows: int, many: int = MANY) -> Iterator[tuple[Family, list[Any]]]:
    """Yield features one by one in their order, and then stacks of ``many`` features or more of one specification."""
    if len(features) < many:
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
    stacks = [names for kind, names in alike.items() if kind >= 0 and len(names) >= many]
    others = set().union(*stacks)
    yield from ((family, [name]) for name, family in features.items() if name not in others)
    for names in stacks:
        for cut in slices(len(names), max(1, LARGEST // max(1, n_rows))):
            yield features[names[0]], names[cut]


def _specified(family: Family) -> tuple[Any, ...] | None:
    """The specification of a family, or ``None`` if a part of it belongs to one feature and not to all of them."""
    if family.reads_together or family.parts:
        return None
    per_class = family.prior if isinstance(family.prior, Mapping) else {None: family.prior}
    parts: list[Any] = [type(family)]
    for name, part in ((None, family), *per_class.items()):
        values = [(f.name, getattr(part, f.name)) for f in fields(part) if f.name != "prior"]
        if not family.exact or any(np.ndim(value) > 0 or isinstance(value, Mapping) for _, value in values):
            return None
        parts.append((name, type(part), *((f, v if v is None or isinstance(v, str) else float(v)) for f, v in values)))
    return tuple(parts)


def each[T](
    features: Mapping[Any, Family],
    n_rows: int,
    ask: Callable[..., T],
    naming: Callable[[Any], AbstractContextManager[None]],
    *given: Mapping[Any, Any],
) -> dict[Any, T]:
    """The answer of each feature.

    Parameters
    ----------
    features : {name: Family}
    n_rows : int
        Rows of the largest array that ``ask`` works on.
    ask : callable
        Takes the family and what the feature has in each of ``given``. It may take a stack of features instead, and
        returns ``None``, or a statistic or prior (or a tuple of them) that :func:`split` can take apart.
    naming : callable
        The context in which a feature is asked alone: it names the feature in an error.
    *given : {name: statistic, prior or encoded column}
    """
    answers = {}
    for family, names in groups(features, n_rows):
        if len(names) > 1:
            try:
                parts = [[source[name] for name in names] for source in given]
                answer = ask(family, *map(stacked, parts))
                answers.update(zip(names, split(answer, widths(parts[0])), strict=True))
                continue
            except ValueError:
                # What does not stack, or is refused, is asked feature by feature, which names the feature at fault.
                pass
        for name in names:
            with naming(name):
                answers[name] = ask(family, *(source[name] for source in given))
    return {name: answers[name] for name in features}


def widths(parts: Sequence[Any]) -> list[int]:
    """How many columns each part has."""
    name = next(iter(_arrays(parts[0])))
    return [(getattr(part, name) if name else part).shape[1] for part in parts]


def stacked(parts: Sequence[Any]) -> Any:
    """Encoded columns, statistics or priors of one kind side by side.

    Raises
    ------
    ValueError
        If they have no axis of columns: an array that is not (row, column) or (class, column, ...).
    """
    if isinstance(parts[0], Statistic | Prior):
        shared = {f.name: getattr(parts[0], f.name) for f in fields(parts[0])}
        arrays = _arrays(parts[0])
        others = [value for name, value in shared.items() if name not in arrays]
        if not arrays or any(v.ndim < 2 for v in arrays.values()) or not all(isinstance(v, str | None) for v in others):
            raise ValueError("not all fields have an axis of columns")
        side_by_side = {name: np.concatenate([getattr(part, name) for part in parts], 1) for name in arrays}
        return _of(parts[0], shared, side_by_side.items())
    if not all(type(x) is np.ndarray and x.ndim == 2 for x in parts):
        raise ValueError("not all columns are dense arrays of numbers")
    return np.concatenate(parts, axis=1)


def split(answer: Any, columns: Sequence[int]) -> list[Any]:
    """The result of each feature from that of a stack; ``columns`` says how many columns each feature has.

    Raises
    ------
    ValueError
        If one of its arrays is not (class, column, ...).
    """
    if answer is None:
        return [None] * len(columns)
    if isinstance(answer, tuple):
        return list(zip(*(split(part, columns) for part in answer), strict=True))
    total, arrays = sum(columns), _arrays(answer)
    if any(v.ndim < 2 or v.shape[1] != total for v in arrays.values()):
        raise ValueError("not all fields have an axis of columns")
    ends = np.cumsum([0, *columns]).tolist()
    shared = {f.name: getattr(answer, f.name) for f in fields(answer)}
    own = zip(*([v[:, a:b] for a, b in pairwise(ends)] for v in arrays.values()), strict=True)
    return [_of(answer, shared, zip(arrays, cells, strict=True)) for cells in own]


def _arrays(part: Statistic | Prior | Array) -> dict[str, Array]:
    """The fields that are arrays; the others are the same for all features of one specification."""
    if isinstance(part, np.ndarray):
        return {"": part}
    return {f.name: v for f in fields(part) if isinstance(v := getattr(part, f.name), np.ndarray)}


def _of[S: (Statistic, Prior)](like: S, shared: dict[str, Any], own: Iterable[tuple[str, Any]]) -> S:
    """An object of the same class with other fields. They are not validated again, because those of its parts were."""
    made = object.__new__(type(like))
    made.__dict__.update(shared)
    made.__dict__.update(own)
    return made
