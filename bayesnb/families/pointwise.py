"""Sampled features of numbers with a density for each cell: start with :class:`Pointwise`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesnb.families.levels import CategoryCounts, widest
from bayesnb.families.sampled import Declared, Sampled
from bayesnb.numerics import Array
from bayesnb.statistics.membership import Labels, Membership
from bayesnb.statistics.moments import Moments


@dataclass(frozen=True, eq=False, init=False)
class Pointwise[P: Declared](Sampled[P, CategoryCounts]):
    """A sampled family of numbers with a density for each cell.

    No statistic smaller than the rows is sufficient. So the statistic counts how often each value occurs: it adds,
    unlearns and discounts like any other, and the likelihood has one term for each distinct value.
    """

    @abstractmethod
    def given(self, theta: Mapping[str, Any]) -> Any:
        """The PyMC distribution of cells, θ at each of them as tensors (cell, ...)."""

    def statistic(self, x: Array, members: Membership) -> CategoryCounts:
        codes, levels = np.full(np.shape(x), -1, np.intp), []
        for k, column in enumerate(np.asarray(x, float).T):
            known = ~np.isnan(column)
            values, codes[known, k] = np.unique(column[known], return_inverse=True)
            levels.append(tuple(values.tolist()))
        return CategoryCounts(members.table(codes, widest(tuple(levels))), tuple(levels))

    def pymc_statistic(self, theta: Mapping[str, Any], s: CategoryCounts) -> Any:
        from pytensor import tensor as pt

        cells = WeightedValues.of(s)
        if not len(cells.value):
            return pt.constant(0.0)
        log_p = self.log_densities(self._at(theta, cells.code, cells.column), cells.value)
        return (cells.weight * log_p).sum()

    def pymc_rows(self, name: str, theta: Mapping[str, Any], x: Array, y: Any) -> None:
        import pymc as pm

        row, column = np.nonzero(~np.isnan(x))
        given = self.given(self._at(theta, np.asarray(y)[row], column))
        pm.modelcontext(None).register_rv(given, name, observed=x[row, column].astype(given.dtype))

    def pymc_log_likelihood(self, theta: Mapping[str, Any], x: Array) -> Any:
        from pytensor import tensor as pt

        row, column = np.nonzero(~np.isnan(x))
        n_classes = next(theta[key].shape[0] for key, own in self.variable_axes().items() if "class" in own)
        # Each cell under each class, (class, cell), is added to its row.
        code = pt.repeat(pt.arange(n_classes), len(row))
        each = self._at(theta, code, pt.tile(column, n_classes))
        log_p = self.log_densities(each, pt.tile(x[row, column], n_classes)).reshape((n_classes, len(row)))
        return pt.inc_subtensor(pt.zeros((n_classes, len(x)))[:, row], log_p).T

    def log_densities(self, theta: Mapping[str, Any], value: Any) -> Any:
        """log p of cells, a tensor (cell,), from θ at each of them."""
        import pymc as pm
        from pytensor import tensor as pt

        given = self.given(theta)
        density = pm.logp(given, pt.as_tensor(value).astype(given.dtype))
        if given.ndim != 1 or density.ndim != 1:
            raise ValueError(
                f"Expected a univariate distribution, with a density of each cell; got {given.owner.op.name}"
            )
        return density

    def _at(self, theta: Mapping[str, Any], code: Any, column: Any) -> dict[str, Any]:
        """θ at cells of these classes and columns, (cell, ...)."""
        at = {"class": code, "column": column}
        return {
            key: theta[key][tuple(at[axis] for axis in own if axis in at)] for key, own in self.variable_axes().items()
        }


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
        cells = Moments.of(self.value[:, None], Labels(self.column, self.weight, n_columns))
        return cells.scatter[:, 0] / np.where(cells.n[:, 0] > 0, cells.n[:, 0], np.nan)

    def quantiles(self, shares: Sequence[float], n_columns: int) -> Array:
        """The values below which those shares of each column's weight lie, (share, column); NaN where unseen."""
        values = np.full((len(shares), n_columns), np.nan)
        for column in np.unique(self.column):
            own = self.column == column
            values[:, column] = np.quantile(self.value[own], shares, weights=self.weight[own], method="inverted_cdf")
        return values
