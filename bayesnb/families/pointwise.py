"""Sampled features of numbers with a density for each cell: start with :class:`Pointwise`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from bayesnb.families.columns import over_columns
from bayesnb.families.levels import CategoryCounts, widest
from bayesnb.families.membership import Membership
from bayesnb.families.sampled import Declared, Draws, Sampled
from bayesnb.priors import Array, Theta


@dataclass(frozen=True, eq=False, init=False)
class Pointwise[P: Declared](Sampled[P]):
    """A sampled family of numbers with a density for each cell.

    No statistic smaller than the rows is sufficient. So the statistic counts how often each value occurs: it adds,
    unlearns and discounts like any other, and the likelihood has one term for each distinct value.
    """

    @abstractmethod
    def cell_density(self) -> Callable[..., Array]:
        """log p(v | θ), elementwise, as a function of v (NaN where missing) and of θ in the order of its names."""

    def statistic(self, x: Array, members: Membership) -> CategoryCounts:
        codes, levels = np.full(np.shape(x), -1, np.intp), []
        for k, column in enumerate(np.asarray(x, float).T):
            known = ~np.isnan(column)
            values, codes[known, k] = np.unique(column[known], return_inverse=True)
            levels.append(tuple(values.tolist()))
        return CategoryCounts(members.table(codes, widest(tuple(levels))), tuple(levels))

    def density(self) -> Callable[[Theta, Array], Array]:
        cell = self.cell_density()
        return lambda theta, x: over_columns(cell, x, *theta.values())

    def mean(self, posterior: Draws) -> Theta:
        return posterior.mean()


@dataclass(frozen=True, eq=False)
class WeightedValues:
    """The distinct values of a statistic, each with its class, column and weight, all (value,).

    They are sorted, so that rows lead to the same draws in whatever parts they were learned.
    """

    value: Array
    code: Array
    column: Array
    weight: Array

    @classmethod
    def of(cls, s: CategoryCounts) -> WeightedValues:
        code, column, level = np.nonzero(s.counts > 0)
        names = np.full(s.counts.shape[1:], np.nan)
        for k, values in enumerate(s.levels):
            names[k, : len(values)] = values
        order = np.lexsort((code, names[column, level], column))
        code, column, level = code[order], column[order], level[order]
        return cls(names[column, level], code, column, s.counts[code, column, level])

    def variance(self, n_columns: int) -> Array:
        """The variance of each whole column (divisor: the weight), (column,); NaN where nothing was seen."""

        def totals(x: Array) -> Array:
            return np.bincount(self.column, self.weight * x, minlength=n_columns)

        n = totals(np.ones(len(self.value)))
        weight = np.where(n > 0, n, np.nan)
        mean = totals(self.value) / weight
        return totals((self.value - mean[self.column]) ** 2) / weight

    def quantiles(self, shares: Sequence[float], n_columns: int) -> Array:
        """The values below which those shares of each column's weight lie, (share, column); NaN where unseen."""
        values = np.full((len(shares), n_columns), np.nan)
        for column in np.unique(self.column):
            value, weight = self.value[self.column == column], self.weight[self.column == column]
            below = np.cumsum(weight)
            values[:, column] = value[np.searchsorted(below, np.multiply(shares, below[-1]))]
        return values
