"""Bounds of a column's predictive if the hyperparameters of its prior are only known to lie in intervals.

The prior of each class and column ranges over its intervals by itself. Start with :func:`bounds`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from bayesnb.families.columns import known_cells, rows_of
from bayesnb.families.conjugate import Conjugate
from bayesnb.kernels.blocks import slices
from bayesnb.numerics import Array, log
from bayesnb.priors import Beta, Dirichlet, Gamma, Normal, NormalGamma, Prior
from bayesnb.statistics.membership import Column
from bayesnb.statistics.statistic import Statistic

PARAMETERS: Mapping[type[Prior], tuple[str, ...]] = {
    Gamma: ("alpha", "beta"),
    Normal: ("m", "v"),
    NormalGamma: ("m", "kappa", "a", "b"),
}
"""The hyperparameters that are searched. Those of a Dirichlet and of a Beta have a formula."""


POINTS, SECTIONS, SWEEPS = 9, 24, 4
"""Points of the first search along a hyperparameter, steps of the golden section around the best, and sweeps."""


ROWS = 512
"""Rows that are searched at once."""


def bounds(
    family: Conjugate, intervals: tuple[Prior, Prior], s: Statistic, x: Column, labels: tuple[Any, ...]
) -> tuple[Array, Array]:
    """The smallest and the largest log p(x | c, D), (row, class), over all priors between two.

    Parameters
    ----------
    family : Conjugate
    intervals : (Prior, Prior)
        The ends of the intervals of all hyperparameters.
    s : Statistic
        What was learned.
    x : encoded column
    labels : tuple
        The classes.

    Raises
    ------
    ValueError
        For priors of another class, infinite ends, or a family without such bounds.
    """
    if not (isinstance(intervals, tuple | list) and len(intervals) == 2):
        raise ValueError(f"Expected two priors, the ends of the intervals; got {intervals!r}")
    if family.whole_rows:
        raise ValueError("its columns share one θ, and have no bounds under intervals of its prior")
    ends = [replace(family, prior=prior).priors(s, labels) for prior in intervals]
    if not isinstance(ends[0], Dirichlet | Beta) and type(ends[0]) not in PARAMETERS:
        raise ValueError(f"there are no bounds under intervals of a {type(ends[0]).__name__}")
    if isinstance(ends[0], Dirichlet | Beta):
        return _of_levels(family, ends, s, x)
    return _searched(family, ends, s, x)


def _of_levels(family: Conjugate, ends: list[Any], s: Statistic, x: Column) -> tuple[Array, Array]:
    """A level is most probable if its own concentration is largest and all others are smallest."""
    codes = x.codes if hasattr(x, "codes") else np.where(np.isnan(x := np.asarray(x, float)), -1, x).astype(np.intp)
    learned = [family.update(prior, s) for prior in ends]
    after = [prior.concentrations for prior in learned]
    low, high = np.minimum(*after), np.maximum(*after)
    found = []
    for own, others in ((low, high), (high, low)):
        table = log(own) - log(own + others.sum(axis=-1, keepdims=True) - others)
        table = np.concatenate([table, np.zeros((*table.shape[:-1], 1))], axis=-1)
        # The code of a missing value is -1, which reads the last cell: ln 1.
        found.append(sum(table[:, column, code].T for column, code in enumerate(codes.T)))
    return found[0], found[1]


def _searched(family: Conjugate, ends: list[Any], s: Statistic, x: Column) -> tuple[Array, Array]:
    """The bounds by search along one hyperparameter after another, from every corner of the intervals and their middle.

    Locations are searched evenly, other hyperparameters evenly in their logarithm. Along each, the best of a few points
    is improved by golden sections between its neighbours, for all rows, classes and columns at once.
    """
    names = [n for n in PARAMETERS[type(ends[0])] if not np.array_equal(getattr(ends[0], n), getattr(ends[1], n))]
    low = {name: np.minimum(*(getattr(end, name) for end in ends)) for name in names}
    high = {name: np.maximum(*(getattr(end, name) for end in ends)) for name in names}
    if any(not np.isfinite([*low[name].flat, *high[name].flat]).all() for name in names):
        raise ValueError("Expected intervals of hyperparameters to have finite ends")
    d = family.added(s)[0]

    def prior_at(share: Mapping[str, Array]) -> Any:
        made = {}
        for name in names:
            a, b, at = low[name], high[name], share[name]
            even = name == "m" or (a <= 0).any()
            made[name] = a + at * (b - a) if even else np.exp(np.log(a) + at * (np.log(b) - np.log(a)))
        return ends[0]._with(**made)

    found: tuple[list[Array], list[Array]] = ([], [])
    for rows in slices(rows_of(x), ROWS):
        part = x[rows]
        _, cell, log_h = family.cells(ends[0], part)
        known = np.broadcast_to(known_cells(part), (rows_of(part), *ends[0].proper().shape))

        def value(share: Mapping[str, Array], cell: Any = cell, log_h: Any = log_h) -> Array:
            with np.errstate(all="ignore"):
                return np.nan_to_num(prior_at(share).plus(*d).along(*cell) + log_h, nan=-np.inf)

        for sign, bound in zip((-1.0, 1.0), found, strict=True):
            best = _largest(lambda share, sign=sign: sign * value(share), names, known.shape)
            bound.append(np.where(known, sign * best, 0.0).sum(axis=-1))
    return np.concatenate(found[0]), np.concatenate(found[1])


def _largest(value: Callable[[Mapping[str, Array]], Array], names: list[str], shape: tuple[int, ...]) -> Array:
    """The largest value over shares from 0 to 1 of each hyperparameter, in every cell, of this shape."""
    starts = [*product((0.0, 1.0), repeat=len(names)), (0.5,) * len(names)]
    share = {name: np.broadcast_to(np.reshape([s[k] for s in starts], (-1, 1, 1, 1)), (len(starts), *shape)).copy()
             for k, name in enumerate(names)}  # fmt: skip
    if not names:
        return np.broadcast_to(value({}), shape)
    for _ in range(SWEEPS if len(names) > 1 else 1):
        for name in names:

            def along(at: Array, name: str = name) -> Array:
                return value(share | {name: at})

            share[name] = best_share(along, share[name].shape, POINTS, SECTIONS)
    return value(share).max(axis=0)


def best_share(value: Callable[[Array], Array], shape: tuple[int, ...], points: int, sections: int) -> Array:
    """The shares from 0 to 1 of the largest values: the best of a few points, and golden sections around it."""
    grid, golden = np.linspace(0, 1, points), (np.sqrt(5) - 1) / 2
    at = np.stack([value(np.full(shape, point)) for point in grid])
    best = at.argmax(axis=0)
    low, high = grid[np.maximum(best - 1, 0)], grid[np.minimum(best + 1, points - 1)]
    for _ in range(sections):
        a, b = high - golden * (high - low), low + golden * (high - low)
        left = value(a) > value(b)
        low, high = np.where(left, low, a), np.where(left, b, high)
    middle = (low + high) / 2
    # The end of the interval may be better than the middle of the last section.
    return np.where(value(middle) >= at.max(axis=0), middle, grid[best])
