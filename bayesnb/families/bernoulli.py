"""Columns of 0 and 1: Bernoulli features with a Beta prior, such as whether a word occurs in a text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy import sparse

from bayesnb.families.columns import dense_cells, impossible, ones_of, products, seen_cells
from bayesnb.families.conjugate import Added, Cells, Conjugate
from bayesnb.families.levels import log_less_one
from bayesnb.families.support import ZEROS_AND_ONES
from bayesnb.kernels import densities
from bayesnb.kernels.blocks import large_enough, slices
from bayesnb.numerics import Array, log
from bayesnb.priors import Beta, Chance, Theta
from bayesnb.statistics.membership import Column, Labels, Membership
from bayesnb.statistics.moments import Moments
from bayesnb.statistics.statistic import Statistic, per


@dataclass(frozen=True, eq=False)
class BinaryCounts(Statistic):
    """Rows seen and rows that were 1, both (class, column)."""

    n: Array = per("column")
    ones: Array = per("column")

    group = "bernoulli"

    def seen(self) -> Array:
        return self.n

    def converted(self, kind: type[Statistic]) -> Statistic | None:
        if kind is not Moments:
            return None
        mean = self.ones / np.where(self.n > 0, self.n, 1.0)
        return Moments(self.n, mean, np.zeros_like(mean), self.ones * (1 - mean))

    def contradiction(self) -> str:
        return "more ones were seen than values" if (self.ones > self.n * (1 + 1e-6)).any() else ""


@dataclass(frozen=True, eq=False)
class Bernoulli(Conjugate[Beta, BinaryCounts]):
    """x | θ ~ Bernoulli(θ) with θ ~ Beta(α, β) (Murphy, PML1, 4.6.2).

    Columns hold 0, 1 or NaN, dense, or 0 and 1 in a sparse matrix.

    Examples
    --------
    >>> from bayesnb import BayesianNB
    >>> clf = BayesianNB({"fever": Bernoulli(Beta(2, 8))}).fit({"fever": [1, 1, 0, 0]}, ["ill", "ill", "ill", "well"])
    >>> clf.tables()["fever"].round(2)
              0     1
    class
    ill    0.69  0.31
    well   0.82  0.18
    """

    prior: Any = field(default_factory=Beta)

    conjugate = Beta
    support = ZEROS_AND_ONES

    def statistic(self, x: Column, members: Membership) -> BinaryCounts:
        if sparse.issparse(x) or x.dtype.kind != "f":
            return self._statistic(x, members)
        if (ones := members.ones(x)) is not None:
            return BinaryCounts(_every(members.weights(), ones), ones)
        return reduce(add, (self._statistic(x[cut], members[cut]) for cut in slices(len(members))))

    def _statistic(self, x: Column, members: Membership) -> BinaryCounts:
        """The statistic of a block of rows, which is small enough to be copied, or need not be copied."""
        seen, ones = seen_cells(x), ones_of(x)
        totals = members.totals(ones)
        return BinaryCounts(_every(members.weights(), totals) if seen is None else members.totals(seen), totals)

    def resolve_prior(self, prior: Beta, s: BinaryCounts) -> Beta:
        # A row for each outcome, so that none is impossible.
        return prior.over(s.n.shape[1], s.n.shape[0], (s.ones.sum(0) + 1) / (s.n.sum(0) + 2))

    def added(self, s: BinaryCounts) -> Added:
        d = s.ones, s.n - s.ones
        return d, Beta.peak(*d)

    def cells(self, posterior: Beta, x: Column) -> Cells:
        own = np.where(dense_cells(x)[:, None] == 1, posterior.alpha, posterior.beta)
        return Chance(own, posterior.alpha + posterior.beta, posterior.pair().outcomes), (), 0.0

    def log_likelihood(self, theta: Theta, x: Column) -> Array:
        no, yes = theta["log_theta"][..., 0], theta["log_theta"][..., 1]
        never, always = np.isneginf(yes), np.isneginf(no)
        possible = not (never.any() or always.any())
        floats = not sparse.issparse(x) and x.dtype.kind == "f"
        # This loop also validates the cells: it returns None if one of them is neither 0 nor 1.
        compiled = densities.chosen if possible and no.ndim == 2 and floats and large_enough(x.size) else None
        if compiled is not None and (total := compiled(x, yes - no)) is not None:
            return densities.add_row(total, no.sum(-1))
        no, yes = np.where(always, 0.0, no), np.where(never, 0.0, yes)
        seen, ones = seen_cells(x), ones_of(x)

        def over_seen(table: Array) -> Array:
            return table.sum(-1)[..., None, :] if seen is None else products(seen, table)

        total = products(ones, yes - no)
        if seen is None and no.ndim == 2:
            densities.add_row(total, no.sum(-1))
        else:
            total += over_seen(no)
        if not possible:
            hits = products(ones, never.astype(float))
            misses = over_seen(always.astype(float)) - products(ones, always.astype(float))
            total = total + impossible(hits, misses)
        return total

    def quick_predictive(self, posterior: Beta, x: Column) -> Array:
        # One trial: E[θ] is the predictive probability.
        return self.log_likelihood(self.mean(posterior), x)

    def quick_left_out(self, posterior: Beta, x: Column, labels: Labels) -> Array | None:
        if sparse.issparse(x):
            return self._log_left_out_sparse(posterior, x, labels)
        if x.dtype.kind in "bu" and labels.unweighted_and_large(x.size):
            return densities.looked_up(x, log_less_one(posterior.pair()), labels.codes)
        return None

    def _log_left_out_sparse(self, posterior: Beta, x: Column, labels: Labels) -> Array:
        """Leave-one-out of a sparse matrix: all rows of one weight share the probabilities without such a row."""
        x, value = sparse.csr_array(x), np.zeros(len(labels))
        narrowest = (posterior.alpha + posterior.beta).min(axis=1, initial=np.inf)[labels.codes]
        if (narrowest <= labels.weight).any():
            return np.full(len(labels), np.nan)
        for weight in np.unique(labels.weight):
            rows = np.flatnonzero(labels.weight == weight)
            pair = posterior.pair().alpha
            # Only the class of the row is used, and its counts are at least the weight of the row.
            rest = np.maximum(pair.sum(-1, keepdims=True) - weight, np.finfo(float).tiny)
            theta = log(np.maximum(pair - weight, 0.0)) - np.log(rest)
            value[rows] = self.log_likelihood({"log_theta": theta}, x[rows])[np.arange(len(rows)), labels.codes[rows]]
        return value

    def sample(self, theta: Theta, rng: Generator, s: BinaryCounts) -> Array:
        yes = theta["log_theta"][..., 1]
        return (np.log(rng.random(yes.shape)) < yes).astype(float)

    def linear(self, theta: Theta) -> tuple[Array, Array]:
        no, yes = theta["log_theta"][..., 0], theta["log_theta"][..., 1]
        return yes - no, no.sum(-1)

    def pymc_rows(self, name: str, theta: Mapping[str, Any], x: Column, y: Any) -> None:
        import pymc as pm

        x = dense_cells(x)
        row, column = np.nonzero(~np.isnan(x))
        pm.Bernoulli(name, p=theta["theta"][y[row], column], observed=x[row, column].astype(int))

    def pymc_log_likelihood(self, theta: Mapping[str, Any], x: Column) -> Any:
        from pytensor import tensor as pt

        p, x = theta["theta"].T, dense_cells(x)
        return pt.dot(np.where(x == 1, 1.0, 0.0), pt.log(p)) + pt.dot(np.where(x == 0, 1.0, 0.0), pt.log1p(-p))


def _every(rows: Array, totals: Array) -> Array:
    """The weight of all rows of a class, (class,), for every column of ``totals``."""
    return np.array(np.broadcast_to(rows[:, None], totals.shape))
