"""A log-likelihood term from the class frequencies among similar learned rows (a kernel estimate)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from bayesnb.dependence.pairs import Axis
from bayesnb.kernels.blocks import slices
from bayesnb.numerics import Array
from bayesnb.statistics.statistic import Labels, Statistic

MOST_ROWS = 4_096
"""Largest number of learned rows with a kernel term, which stores all of them and compares them with each new row."""


@dataclass(frozen=True, eq=False)
class NearCounts(Statistic):
    """Total weight of the rows of each class, per distinct combination of cells (intervals and levels)."""

    counts: Array  # (class, combination)
    cells: Array  # (combination, column): codes of the intervals and levels; -1 if missing

    @classmethod
    def of(cls, codes: Array, labels: Labels) -> NearCounts:
        cells, place = np.unique(codes.T, axis=0, return_inverse=True)
        counts = np.zeros((labels.n, len(cells)))
        np.add.at(counts, (labels.codes, place.reshape(-1)), labels.weight)
        return cls(counts, cells)

    @staticmethod
    def possible(labels: Labels) -> bool:
        return labels.size <= MOST_ROWS

    def arrays(self) -> dict[str, Array]:
        return {"counts": self.counts}

    def seen(self) -> Array:
        return self.counts.sum(1, keepdims=True)

    def __add__(self, other: Self) -> Self:
        cells, place = np.unique(np.concatenate([self.cells, other.cells]), axis=0, return_inverse=True)
        counts, place = np.zeros((len(self.counts), len(cells))), place.reshape(-1)
        counts[:, place[: len(self.cells)]] += self.counts
        counts[:, place[len(self.cells) :]] += other.counts
        return type(self)(counts, cells)

    def repeated_in(self, more: Self) -> bool:
        """Whether the rows in ``more`` are probably copies of the counted rows."""
        # A new row is like none of n rows with a probability of about the share of rows that occur once (Good 1953).
        n, once = self.counts.sum(), np.count_nonzero(self.counts == 1)
        known = np.count_nonzero(more.counts) == np.count_nonzero(self.counts)
        # More than 10 new combinations would be expected, but none is new.
        return bool(known and once * (more.counts.sum() - n) > 10 * n)

    def settled(self, before: Self) -> Self:
        """A copy of these counts without rounding errors, and without combinations that no row has."""
        found = super().settled(before)
        some = (found.counts > 0).any(0)
        return type(self)(found.counts[:, some], found.cells[some])


HALVINGS = 10
"""Number of widths that are tried. The first h² is the mean of d² over pairs of rows, and each next h² is half of
it.
"""

STRENGTHS = (0.03, 0.3)
"""Candidate values of a: the number of rows at distance 0 that the class frequencies count for."""


@dataclass(frozen=True, eq=False)
class NearTerm:
    """ln p(c | similar rows) - ln p(c): how much more frequent class c is among similar rows than among all rows."""

    # The frequency of class c among similar rows is the kernel estimate of Nadaraya (1964) and Watson (1964), p(c | x)
    # = (Σ_j K(x, x_j) [y_j = c] + a p(c)) / (Σ_j K(x, x_j) + a), with K(x, x_j) = exp(-½ d²(x, x_j) / h²). The squared
    # distance d² is a sum over columns. A real column adds the squared difference of two ranks (scaled to variance 1).
    # A categorical column adds 2 if the levels differ. A column with a missing cell adds the mean contribution of the
    # column over all pairs of rows.

    counts: NearCounts
    axes: tuple[Axis, ...]

    def term(self, codes: Array, left: Labels | None = None) -> Array:
        """ln p(c | similar rows) - ln p(c), (row, class), of rows with the intervals and levels ``codes``, (column,
        row).
        """
        # left: the labels of learned rows, for which the values are leave-one-out
        halvings, strength = self.chosen
        found = np.zeros((codes.shape[1], len(self.counts.counts)))
        for cut in self._blocks(codes.shape[1]):
            kernel = self._distances(codes[:, cut])
            kernel *= -(2.0**halvings)
            mass = np.exp(kernel, out=kernel) @ self.counts.counts.T
            less = None if left is None else self._weighed(left[cut], codes[:, cut], halvings)
            found[cut] = self._log_ratio(mass, strength, less)
        return np.where((codes >= 0).any(0)[:, None], found, 0.0)

    @cached_property
    def chosen(self) -> tuple[int, float]:
        """The kernel width (number of halvings of its square) and strength that minimize the leave-one-out log loss."""
        counts, losses = self.counts.counts, np.zeros((HALVINGS, len(STRENGTHS)))
        for cut in self._blocks(counts.shape[1]):
            kernel = self._distances(self.counts.cells[cut].T)
            np.exp(np.negative(kernel, out=kernel), out=kernel)
            own, some = np.nonzero(counts[:, cut] > 0)
            weight = counts[:, cut][own, some]
            labels = Labels(own, np.minimum(weight, 1.0), len(counts))
            for k in range(HALVINGS):
                mass, less = (kernel @ counts.T)[some], self._weighed(labels, self.counts.cells[cut][some].T, k)
                for s, strength in enumerate(STRENGTHS):
                    losses[k, s] -= weight @ self._log_ratio(mass, strength, less)[np.arange(len(own)), own]
                kernel *= kernel
        # If losses are equal up to rounding errors, the first one wins.
        best = np.unravel_index(np.argmax(losses <= losses.min() + 1e-9 * (1 + abs(losses.min()))), losses.shape)
        return int(best[0]), STRENGTHS[best[1]]

    def shares(self, codes: Array) -> Array:
        """Each column's contribution to the kernel term, (row, class, column): its Aumann-Shapley value (1974)."""
        halvings, strength = self.chosen
        whole, found = self.term(codes), np.zeros((codes.shape[1], len(self.counts.counts), len(codes)))
        # Multiply every squared distance by t. The derivative of the term in t is a sum over columns; each column gets
        # its summand, integrated over t from 0 to 1.
        at, of = np.polynomial.legendre.leggauss(12)
        for cut in self._blocks(codes.shape[1]):
            by_column = np.stack([self._distances(codes[:, cut], [k]) for k in range(len(codes))]) * 2.0**halvings
            total = by_column.sum(0)
            for t, w in zip((at + 1) / 2, of / 2, strict=True):
                kernel = np.exp(-t * total)
                mass = kernel @ self.counts.counts.T
                slope = -np.einsum("kij,ij,cj->ick", by_column, kernel, self.counts.counts, optimize=True)
                share = self._shares[None, :] * strength
                every = slope.sum(1, keepdims=True) / (mass.sum(1) + strength)[:, None, None]
                found[cut] += w * (slope / (mass + share)[:, :, None] - every)
        # The quadrature error, and what belongs to no column, is divided equally.
        known = (codes >= 0).T[:, None, :]
        return found + (whole - found.sum(-1))[:, :, None] * known / np.maximum(known.sum(-1, keepdims=True), 1)

    def _weighed(self, left: Labels, codes: Array, halvings: int) -> Array:
        itself = np.array([expected for _, expected in self.scales]) @ (codes < 0) / (2 * self._mean)
        less = np.zeros((2, len(left), left.n))
        less[:, np.arange(len(left)), left.codes] = left.weight * np.exp([-(2.0**halvings) * itself, 0.0 * itself])
        return less

    @property
    def _shares(self) -> Array:
        n = self.counts.counts.sum(1) + 1
        return n / n.sum()

    def _log_ratio(self, mass: Array, strength: float, less: Array | None) -> Array:
        n = np.broadcast_to(self.counts.counts.sum(1) + 1.0, mass.shape)
        if less is not None:
            mass, n = np.maximum(mass - less[0], 0.0), n - less[1]
        share = n / n.sum(1, keepdims=True)
        near = mass + strength * share
        return np.log(near / near.sum(1, keepdims=True)) - np.log(share)

    def _distances(self, codes: Array, only: Sequence[int] | None = None) -> Array:
        """Half the squared distance from each row to each counted combination of cells, divided by the mean."""
        # A pair of known cells adds (z - z')²; a pair with a missing cell adds the mean of (z - z')². The positions z
        # of missing cells are 0, so the sum is a product of matrices.
        here, there, constant = [], [], 0.0
        for k in range(len(self.axes)) if only is None else only:
            z, expected = self.scales[k]
            (x, known), (own, theirs) = (_at(z, cell) for cell in (codes[k], self.counts.cells[:, k]))
            here += [(x**2).sum(1) - expected * known, *(-2 * x.T), known]
            there += [theirs, *own.T, (own**2).sum(1)]
            constant += expected
        # In place, because a new array of this size costs more time than a pass over it.
        found = np.column_stack(here) @ np.column_stack(there).T
        found += constant
        found /= 2 * self._mean
        return np.maximum(found, 0.0, out=found)

    @cached_property
    def _mean(self) -> float:
        return sum(expected for _, expected in self.scales) or 1.0

    @cached_property
    def scales(self) -> list[tuple[Array, float]]:
        """For each column, a point per interval or level, (level, dimension), and the mean squared distance of rows."""
        found, weight = [], self.counts.counts.sum(0)
        for axis, cell in zip(self.axes, self.counts.cells.T, strict=True):
            known = cell >= 0
            share = weight * known / (float(weight @ known) or 1.0)
            mass = np.bincount(cell[known], share[known], minlength=axis.size)
            # The middle rank of a cell, which does not depend on the direction of the column.
            rank = np.cumsum(mass) - mass / 2 - 0.5
            z = np.sqrt(12.0) * rank[:, None] if axis.steps > 1 else np.eye(axis.size)
            own, _ = _at(z, cell)
            found.append((z, float(2 * (share @ own**2 - (share @ own) ** 2).sum())))
        return found

    def _blocks(self, rows: int) -> Iterator[slice]:
        yield from slices(rows, max(64, 2**22 // max(1, self.counts.counts.shape[1])))


def _at(z: Array, cell: Array) -> tuple[Array, Array]:
    known = (cell >= 0).astype(float)
    return z[cell] * known[:, None], known
