"""Process features with equal specifications together, as one block of columns.

One call per feature takes up to five times longer than one call for all features.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from bayesnb.families.family import Family
from bayesnb.statistics.statistic import arrays_of, joined

LARGEST = 2**24
"""Largest number of cells of a stack, which bounds its memory."""


type Parts = Mapping[Any, Any]
"""A part of each feature, by its name."""


@dataclass(frozen=True, eq=False)
class Stack:
    """Features with equal specifications; ``known`` holds mappings such as {feature name: posterior}."""

    family: Family
    names: Sequence[Any]
    known: tuple[Parts, ...]

    @cached_property
    def joined(self) -> list[Any]:
        """The joined parts of ``known``; joining them only once keeps the values that posteriors cache."""
        return _joined(self.names, self.known)


def _joined(names: Sequence[Any], each: Sequence[Parts]) -> list[Any]:
    return [joined([parts[name] for name in names]) for parts in each]


def stacked(features: Mapping[Any, Family], *known: Parts) -> list[Stack]:
    """Group features with equal specifications, if their arrays in ``known`` can be joined by column."""
    if len(features) == 1:
        return [Stack(family, [name], known) for name, family in features.items()]
    specified = {id(family): family for family in features.values()}
    specified = {key: _specified(family) for key, family in specified.items()}
    alike: dict[Any, list[Any]] = {}
    for name, family in features.items():
        shapes = (v.shape[2:] for parts in known for v in arrays_of(parts[name]).values())
        alike.setdefault((specified[id(family)] or name, *shapes), []).append(name)
    return [Stack(features[names[0]], names, known) for names in alike.values()]


def _specified(family: Family) -> tuple[Any, ...] | None:
    """The type and settings of a family and its priors; ``None`` if the family cannot share a stack."""
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
    stacks: Sequence[Stack],
    n_rows: int,
    ask: Callable[..., T],
    naming: Callable[[Any], AbstractContextManager[None]],
    *given: Parts,
) -> Iterator[tuple[Sequence[Any], T]]:
    """For each stack, yield the names of its features and ``ask(family, *parts)``. There is one part for each mapping
    in ``Stack.known``, and then for each in ``given``. A part holds the features' values, concatenated along the column
    axis.

    Stacks are smaller for larger ``n_rows``. ``naming`` adds the feature's name to errors.
    """
    size = max(1, LARGEST // max(1, n_rows))
    for stack, names in ((s, s.names[k : k + size]) for s in stacks for k in range(0, len(s.names), size)):
        if len(names) > 1:
            try:
                known = stack.joined if len(names) == len(stack.names) else _joined(names, stack.known)
                yield names, ask(stack.family, *known, *_joined(names, given))
                continue
            except ValueError:
                # Features that cannot be joined, or that raise an error, are computed one by one, so that the error
                # names the feature.
                pass
        for name in names:
            with naming(name):
                answer = ask(stack.family, *(parts[name] for parts in (*stack.known, *given)))
            yield [name], answer


def by_name(
    stacks: Sequence[Stack],
    n_rows: int,
    ask: Callable[..., Any],
    naming: Callable[[Any], AbstractContextManager[None]],
    *given: Parts,
) -> dict[Any, Any]:
    """The results of :func:`each`, by feature. Features have the order of ``Stack.known[0]``, or of ``given[0]`` if
    ``known`` is empty. The result of ``ask`` must have one column for each column of the joined features.
    """
    first = (*stacks[0].known, *given)[0] if stacks else {}
    answers: dict[Any, Any] = dict.fromkeys(first)
    for names, answer in each(stacks, n_rows, ask, naming, *given):
        if len(names) == 1:
            answers[names[0]] = answer
            continue
        ends = np.cumsum([0, *(width(first[name]) for name in names)])
        answers |= zip(names, split(answer, ends.tolist()), strict=True)
    return answers


def width(part: Any) -> int:
    """Number of columns."""
    arrays = [part] if hasattr(part, "shape") else arrays_of(part).values()
    return next(v.shape[1] for v in arrays if len(v.shape) > 1)


def split(answer: Any, ends: Sequence[int]) -> list[Any]:
    """Divide a result among features: feature k has columns ``range(ends[k], ends[k + 1])``."""
    if isinstance(answer, tuple):
        return list(zip(*(split(part, ends) for part in answer), strict=True))
    return [answer.columns(range(a, b)) for a, b in pairwise(ends)]
