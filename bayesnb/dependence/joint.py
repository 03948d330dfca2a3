"""The joint Gaussian of all Gaussian columns, with a full covariance per class.

Columns are ordered by their number of missing cells, and divided into *blocks*. Each factor p(block | earlier blocks)
has a Normal-Wishart posterior, from the rows without missing cells in these blocks. With these factors, the model is
conjugate even if cells are missing (Little and Rubin 2019, chapter 7; ``docs/theory/exponents.md``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bayesnb.families.multivariate_gaussian import MultivariateGaussian, log_student
from bayesnb.numerics import Array
from bayesnb.priors import NormalWishart
from bayesnb.statistics.moments import Scatter
from bayesnb.statistics.statistic import Labels

JOINT = MultivariateGaussian(NormalWishart.unit_information())
"""The prior of a block and all earlier blocks (BDA3 3.6).

Its strength is one row, with the means and variances of the whole table and independent columns. The prior of each
single column is that of ``Gaussian()``.
"""

LEAST = 0.1
"""Smallest fraction of the rows that a block is learned from; columns with more gaps are omitted."""

KEPT = 0.8
"""A block ends if a further column would leave less than this fraction of the rows that its first column leaves."""

type Blocks = tuple[tuple[int, ...], ...]


def blocks(known: Array, weight: Array, keys: Array) -> Blocks:
    """Group the columns into blocks of columns that are missing in similar rows, the most complete columns first."""
    patterns, place = np.unique(known, axis=0, return_inverse=True)
    weight = np.bincount(place.reshape(-1), weight, minlength=len(patterns))
    found, left, first, least = [], [*np.argsort(keys, kind="stable").tolist()], 0.0, LEAST * weight.sum()
    while left:
        # The number of complete rows (without missing cells) if the column is added.
        rows = weight @ patterns[:, left]
        best = int(np.argmax(rows >= rows.max() * (1 - 1e-12)))
        if rows[best] < least or rows[best] <= 0:
            break
        if rows[best] < KEPT * first or not found:
            found.append([])
            first = rows[best]
        found[-1].append(column := left.pop(best))
        weight = weight * patterns[:, column]
    return tuple(map(tuple, found)) if sum(map(len, found)) > 1 else ()


def upto(of: Blocks) -> Iterator[tuple[list[int], tuple[int, ...]]]:
    """For each block of columns, yield the columns of all earlier blocks, and the columns of the block."""
    before: list[int] = []
    for block in of:
        yield before, block
        before = [*before, *block]


def scatters(of: Blocks, x: Array, labels: Labels) -> tuple[Scatter, ...]:
    """For each block, the moments of its columns and of all earlier columns, from rows in which all these are known."""
    found = []
    for before, block in upto(of):
        own = x[:, [*before, *block]]
        some = ~np.isnan(own).any(1)
        found.append(Scatter.of(own[some], labels[some]))
    return tuple(found)


@dataclass(frozen=True, eq=False)
class JointTerm:
    """The log density of the joint Gaussian of columns, minus the sum of the log densities of its columns."""

    blocks: Blocks
    statistics: tuple[Scatter, ...]

    @cached_property
    def believed(self) -> tuple[NormalWishart, ...]:
        return tuple(JOINT.update(JOINT.resolve_prior(JOINT.prior, s), s) for s in self.statistics)

    def term(self, x: Array, left: Labels | None = None) -> Array:
        """The joint log density of each row of ``x``, minus the sum of its columns' log densities, (row, class)."""
        # Missing cells are integrated out of each factor. With ``left``, the labels of learned rows, densities are
        # leave-one-out.
        parts = []
        for (before, block), believed in zip(upto(self.blocks), self.believed, strict=True):
            own = x[:, [*before, *block]]
            learned = np.flatnonzero(~np.isnan(own).any(1))
            places = np.arange(own.shape[1])
            parts.append(_log_p(believed, own, places, learned, left))
            if before:
                parts.append(-_log_p(believed, own, places[: len(before)], learned, left))
            parts.append(-_log_p_alone(believed, own, places[len(before) :], learned, left))
        return np.sum(parts, axis=0)


def _log_p(believed: NormalWishart, x: Array, columns: Array, learned: Array, left: Labels | None) -> Array:
    own, x = believed if len(columns) == x.shape[1] else believed.marginal(columns), x[:, columns]
    found = JOINT.log_predictive(own, x)
    if left is not None:
        found[learned, left.codes[learned]] = JOINT.log_left_out(own, x[learned], left[learned])
    return found


def _log_p_alone(believed: NormalWishart, x: Array, columns: Array, learned: Array, left: Labels | None) -> Array:
    own = x[:, columns]
    cells = {name: getattr(believed, name)[:, columns, None] for name in ("m", "low")}
    scale, found = believed.scale[:, columns, columns, None, None], np.empty((len(x), len(believed.kappa)))
    for c in range(len(believed.kappa)):
        numbers = {name: np.full(len(columns), getattr(believed, name)[c]) for name in ("kappa", "dof")}
        each = believed._with(**{name: cell[c] for name, cell in cells.items()}, scale=scale[c], share=None, **numbers)
        weight = np.zeros(len(x))
        if left is not None:
            weight[learned] = np.where(left.codes == c, left.weight, 0.0)[learned]
        squares = ((own - each.m[:, 0]) - each.low[:, 0]) ** 2 / each.scale[:, 0, 0]
        found[:, c] = np.where(np.isnan(own), 0.0, log_student(each, squares, weight[:, None])).sum(1)
    if (lost := np.isnan(found).any(1)).any():
        each = [_log_p(believed, x, columns[[k]], learned, left) for k in range(len(columns))]
        found[lost] = np.sum(each, axis=0)[lost]
    return found
