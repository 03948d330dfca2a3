"""The features of one specification as one block of columns.

In a data frame each column is a feature, and a call for each takes up to five times longer than one call for all: loops
over several columns take fewer logarithms, and a table of 100,000 columns has few cells in each. Columns do not depend
on each other, so the columns of features with one family and one prior can stand side by side in one array:
:func:`groups` finds such features, ``joined`` puts their columns together, and :func:`split` gives each feature its own
columns of the result. :func:`each` does all three.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import fields
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from bayesnb.families.family import Family
from bayesnb.kernels.blocks import slices
from bayesnb.statistics.statistic import joined

LARGEST = 2**24
"""The most cells of a stack, which bounds the memory that the arrays side by side take."""


def groups(
    features: Mapping[Any, Family], n_rows: int, *given: Mapping[Any, Any]
) -> Iterator[tuple[Family, list[Any]]]:
    """Yield the features of each specification, if what is given of them has the same axes beside that of columns."""
    if len(features) == 1:
        yield next(iter(features.values())), list(features)
        return
    specified = {id(family): family for family in features.values()}
    specified = {key: _specified(family) for key, family in specified.items()}
    alike: dict[Any, list[Any]] = {}
    for name, family in features.items():
        shapes = (v.shape[2:] for source in given for v in _arrays(source[name]))
        alike.setdefault((specified[id(family)] or name, *shapes), []).append(name)
    for names in alike.values():
        for cut in slices(len(names), max(1, LARGEST // max(1, n_rows))):
            yield features[names[cut][0]], names[cut]


def _specified(family: Family) -> tuple[Any, ...] | None:
    """The specification of a family, or ``None`` if a part of it belongs to one feature and not to all of them.

    It is made of types and values. A printed specification would not do: priors that differ may print alike.
    """
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
    features: Mapping[Any, Family],
    n_rows: int,
    ask: Callable[..., T],
    naming: Callable[[Any], AbstractContextManager[None]],
    *given: Mapping[Any, Any],
) -> dict[Any, T]:
    """Call ``ask`` for each feature, or for stacks of features of one specification.

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
    for family, names in groups(features, n_rows, *given):
        if len(names) > 1:
            try:
                parts = [[source[name] for name in names] for source in given]
                answer = ask(family, *map(joined, parts))
                answers.update(zip(names, split(answer, [width(part) for part in parts[0]]), strict=True))
                continue
            except ValueError:
                # Features that do not stack, or that raise an error, are asked one by one, so that the error names the
                # feature.
                pass
        for name in names:
            with naming(name):
                answers[name] = ask(family, *(source[name] for source in given))
    return {name: answers[name] for name in features}


def width(part: Any) -> int:
    """How many columns some encoded columns, a statistic or a posterior have."""
    return next(v.shape[1] for v in _arrays(part) if v.ndim > 1)


def _arrays(part: Any) -> list[Any]:
    values = [part] if part is None or hasattr(part, "shape") else vars(part).values()
    return [v for v in values if isinstance(v, np.ndarray) or sparse.issparse(v)]


def split(answer: Any, columns: Sequence[int]) -> list[Any]:
    """The result of each feature from that of a stack; ``columns`` says how many columns each feature has."""
    if answer is None:
        return [None] * len(columns)
    if isinstance(answer, tuple):
        return list(zip(*(split(part, columns) for part in answer), strict=True))
    return [answer.columns(range(a, b)) for a, b in pairwise(np.cumsum([0, *columns]).tolist())]
