"""Sampled features of numbers with a density for each cell: start with :class:`Pointwise`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesnb.chains import Convergence
from bayesnb.families.columns import over_columns
from bayesnb.families.levels import CategoryCounts, widest
from bayesnb.families.sampled import Declared, Draws, Sampled
from bayesnb.priors import Array, Theta
from bayesnb.statistics.membership import Membership


@dataclass(frozen=True, eq=False, init=False)
class Pointwise[P: Declared](Sampled[P, CategoryCounts]):
    """A sampled family of numbers with a density for each cell.

    No statistic smaller than the rows is sufficient. So the statistic counts how often each value occurs: it adds,
    unlearns and discounts like any other, and the likelihood has one term for each distinct value.
    """

    @abstractmethod
    def given(self, theta: Mapping[str, Any]) -> Any:
        """The PyMC distribution of cells, θ at each of them as tensors (cell, ...)."""

    @abstractmethod
    def cell_density(self) -> Callable[..., Array]:
        """log p(v | θ), elementwise, as a function of v (NaN where missing) and of the numbers of θ.

        They come in the order of the names in θ, a vector one by one.
        """

    def vectors(self) -> Mapping[str, tuple[int, ...]]:
        """The shape of the vector parameters; all others are numbers. (A hook.)"""
        return {}

    def statistic(self, x: Array, members: Membership) -> CategoryCounts:
        codes, levels = np.full(np.shape(x), -1, np.intp), []
        for k, column in enumerate(np.asarray(x, float).T):
            known = ~np.isnan(column)
            values, codes[known, k] = np.unique(column[known], return_inverse=True)
            levels.append(tuple(values.tolist()))
        return CategoryCounts(members.table(codes, widest(tuple(levels))), tuple(levels))

    def density(self) -> Callable[[Theta, Array], Array]:
        cell, vectors = self.cell_density(), self.vectors()

        def density(theta: Theta, x: Array) -> Array:
            numbers: list[Array] = []
            for name, value in theta.items():
                own = value.ndim - len(vectors.get(name, ()))
                numbers.extend(np.moveaxis(value.reshape(*value.shape[:own], -1), -1, 0))
            return over_columns(cell, x, *numbers)

        return density

    def mean(self, posterior: Draws) -> Theta:
        return posterior.mean()

    def sampled(self, prior: P, s: CategoryCounts) -> tuple[Theta, Convergence]:
        import pymc as pm

        with pm.Model() as model:
            theta = self.pymc_prior(prior, str, {})
            pm.Potential("rows", self.pymc_statistic(theta, s))
        drawn, convergence = self.sampler.run(model, list(theta), type(self).__name__)
        return self.theta({name: drawn[name] for name in theta}), convergence

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
        # Each cell under each class, (class, cell), is added to its row.
        log_p = self.log_densities(self._at(theta, slice(None), column), x[row, column])
        return pt.inc_subtensor(pt.zeros((log_p.shape[0], len(x)))[:, row], log_p).T

    def log_densities(self, theta: Mapping[str, Any], value: Any) -> Any:
        """log p of cells, a tensor (..., cell), from θ at each of them."""
        import pymc as pm
        from pytensor import tensor as pt

        given = self.given(theta)
        value = pt.as_tensor(value).astype(given.dtype)
        if given.ndim > 1:
            key = next(iter(theta))
            first = theta[key][(..., *(0 for _ in self.vectors().get(key, ())))]
            value = value + pt.zeros_like(first, dtype=given.dtype)
        density = pm.logp(given, value)
        if given.ndim != value.ndim or density.ndim != value.ndim:
            raise ValueError(
                f"Expected a univariate distribution, with a density of each cell; got {given.owner.op.name}"
            )
        return density

    def _at(self, theta: Mapping[str, Any], code: Any, column: Array) -> dict[str, Any]:
        """θ at cells of these classes and columns, (cell, ...)."""
        return {key: value[self.place(key, code, column)] for key, value in theta.items()}

    def place(self, key: str, code: Any, column: Array) -> tuple[Any, ...]:
        """Where a variable holds the numbers of cells of these classes and columns. (A hook, if classes share it.)"""
        return code, column


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
