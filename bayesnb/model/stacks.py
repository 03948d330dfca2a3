"""Compute features with equal specifications together, as one block of columns.

One call per feature takes up to five times longer than one call for all features.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import fields
from itertools import pairwise
from typing import Any

import numpy as np

from bayesnb.families.family import Family
from bayesnb.statistics.statistic import arrays_of, joined

LARGEST = 2**24
"""Largest number of cells of a stack, which bounds its memory."""


type Stacks = Sequence[tuple[Family, Sequence[Any]]]
"""Features with equal specifications: their family and their names."""


def stacked(features: Mapping[Any, Family], *given: Mapping[Any, Any]) -> Stacks:
    """Group features with equal specifications, if their arrays in ``given`` have equal shapes apart from the number of
    columns.
    """
    if len(features) == 1:
        return [(family, [name]) for name, family in features.items()]
    specified = {id(family): family for family in features.values()}
    specified = {key: _specified(family) for key, family in specified.items()}
    alike: dict[Any, list[Any]] = {}
    for name, family in features.items():
        shapes = (v.shape[2:] for source in given for v in arrays_of(source[name]).values())
        alike.setdefault((specified[id(family)] or name, *shapes), []).append(name)
    return [(features[names[0]], names) for names in alike.values()]


def _specified(family: Family) -> tuple[Any, ...] | None:
    """The type and settings of a family and its priors; ``None`` if the family cannot share a stack."""
    if family.one_term or family.reads_together or family.parts or not family.exact:
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
    stacks: Stacks,
    n_rows: int,
    ask: Callable[..., T],
    naming: Callable[[Any], AbstractContextManager[None]],
    *given: Mapping[Any, Any],
) -> Iterator[tuple[Sequence[Any], T]]:
    """Yield, for each stack, the names of its features and the result of ``ask``. ``ask`` gets the family and, from
    each mapping in ``given``, the joined values of the features.

    Stacks are smaller for larger ``n_rows``. ``naming`` adds the feature's name to errors.
    """
    size = max(1, LARGEST // max(1, n_rows))
    for family, names in ((one, every[k : k + size]) for one, every in stacks for k in range(0, len(every), size)):
        if len(names) > 1:
            try:
                yield names, ask(family, *(joined([source[name] for name in names]) for source in given))
                continue
            except ValueError:
                # Features that cannot be joined, or that raise an error, are computed one by one, so that the error
                # names the feature.
                pass
        for name in names:
            with naming(name):
                answer = ask(family, *(source[name] for source in given))
            yield [name], answer


def by_name(
    stacks: Stacks,
    n_rows: int,
    ask: Callable[..., Any],
    naming: Callable[[Any], AbstractContextManager[None]],
    *given: Mapping[Any, Any],
) -> dict[Any, Any]:
    """The answers of :func:`each` by feature, in the order of the first mapping in ``given``. An answer must have as
    many columns as the stack's features have.
    """
    answers: dict[Any, Any] = dict.fromkeys(given[0])
    for names, answer in each(stacks, n_rows, ask, naming, *given):
        columns = [width(given[0][name]) for name in names] if len(names) > 1 else []
        answers |= zip(names, split(answer, columns) if columns else [answer], strict=True)
    return answers


def width(part: Any) -> int:
    """Number of columns."""
    arrays = [part] if hasattr(part, "shape") else arrays_of(part).values()
    return next(v.shape[1] for v in arrays if v.ndim > 1)


def split(answer: Any, columns: Sequence[int]) -> list[Any]:
    """Divide a result among features."""
    if isinstance(answer, tuple):
        return list(zip(*(split(part, columns) for part in answer), strict=True))
    return [answer.columns(range(a, b)) for a, b in pairwise(np.cumsum([0, *columns]).tolist())]
