"""Families of rates with a Gamma prior: events in a stretch of time or space, and waiting times."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy.special import gammaln

from bayesnb.families.columns import (
    COUNTS,
    FEW,
    FEWER,
    NEAR,
    POSITIVE,
    Tabulated,
    Tally,
    gathered_columns,
    of_each_column,
)
from bayesnb.families.conjugate import Added, Conjugate
from bayesnb.kernels import densities
from bayesnb.kernels.blocks import slices
from bayesnb.kernels.reading import whole_numbers
from bayesnb.numerics import Array, disagreement, log_peak, log_rising
from bayesnb.priors import Gamma, Theta
from bayesnb.statistics.membership import Labels, Membership
from bayesnb.statistics.statistic import Statistic


@dataclass(frozen=True, eq=False)
class Events(Statistic):
    """Exposure, events, rows and the largest log-likelihood that one rate can give them, all (class, column).

    When two parts are added, the largest log-likelihood falls by how much they disagree about their rate. A sum of log
    base measures would be of the size k ln k, so at counts of 1e15 the evidence would have no digit left.
    """

    exposure: Array
    events: Array
    rows: Array
    log_peak: Array

    signed = frozenset({"log_peak"})

    @classmethod
    def of(cls, parts: Iterable[tuple[Array, list[Array], Array]]) -> Events:
        """The sum of parts of the rows, each with its weight, Σ d and the largest log-likelihood."""
        return reduce(add, (cls(exposure, events, rows, peak) for rows, (events, exposure), peak in parts))

    def __add__(self, other: Events) -> Events:
        both = super().__add__(other)
        apart = disagreement(self.events, other.events, self.exposure, other.exposure)
        return replace(both, log_peak=both.log_peak - apart)

    def seen(self) -> Array:
        return self.rows


LEAST = 1e-300
"""The smallest mean, and one over the largest, of a column whose rates are ordinary floats."""


def pooled_rates(events: Array, exposure: Array) -> Array:
    """Events by exposure of whole columns, all (column,); NaN where there is no exposure.

    Raises
    ------
    ValueError
        If the numbers of a column are so small or so large that rates of their size, or the sum of the numbers, are no
        ordinary floats.
    """
    seen = (events > 0) & (exposure > 0)
    with np.errstate(all="ignore"):
        size = np.where(seen, exposure / events, 1.0)
    odd = ~((size > LEAST) & (size < 1 / LEAST))
    if odd.any():
        k = int(np.flatnonzero(odd)[0])
        raise ValueError(
            f"its column {k} holds numbers so {'small' if size[k] < 1 else 'large'} that a rate of their size, or "
            "their sum, is no ordinary float; multiply the column by a constant"
        )
    return np.where(exposure > 0, events / np.where(exposure > 0, exposure, 1.0), np.nan)


def waits(posterior: Gamma, x: Array, events: float | Array, labels: Labels | None) -> Array | None:
    """Σ_j of ln ∫ λ^s exp(-λ x_j) p(λ) dλ, where s is the number of events in each cell, (column,).

    With λ ~ Gamma(α, β) it is ln Γ(α + s) - ln Γ(α) - s ln β - (α + s) ln(1 + x/β), which is a log density of Student's
    form in z² = x/β. Without a row that was learned, α is less by s and β by x, and it is ln Γ(α) - ln Γ(α - s) -
    s ln β + (α - s) ln(1 - x/β). (BDA3 2.6; x is Lomax distributed where s is 1.)

    Returns
    -------
    total : array (row, class), or None
        (row,) where ``labels`` are those of rows that were learned; ``None`` where their weights are not all 1.
    """
    if labels is not None and not labels.unweighted:
        return None
    nowhere, scale = np.zeros_like(posterior.beta), 1 / np.sqrt(posterior.beta)
    if labels is None:
        power, start = posterior.alpha + events, posterior.alpha
    else:
        start = np.where(posterior.alpha > events, posterior.alpha - events, np.nan)
        power = start
    top = log_rising(start, np.broadcast_to(events, start.shape)) - events * np.log(posterior.beta)
    return densities.students(np.sqrt(x), nowhere, nowhere, scale, power, top, None if labels is None else labels.codes)


SOME = 4096
"""Rows in which it is seen whether pairs of count and exposure occur again."""


@dataclass(frozen=True, eq=False)
class Exposed:
    """Counts (row, column) with the exposure (row,) in which they were seen, both NaN where missing."""

    counts: Array
    exposure: Array

    def __len__(self) -> int:
        return len(self.counts)

    def __getitem__(self, rows: Any) -> Exposed:
        return Exposed(self.counts[rows], self.exposure[rows])

    def missing(self) -> Array:
        """Which counts, or their exposures, are missing."""
        return np.isnan(self.counts) | np.isnan(self.exposure)[:, None]

    def tabulated(self) -> Tabulated | None:
        """One column as a table of its pairs of count and exposure; ``None`` if it would be nearly as long as it."""
        if self.counts.shape[1] != 1:
            return None
        pairs = np.column_stack([self.counts[:, 0], self.exposure])
        pairs[np.isnan(pairs).any(1)] = np.nan
        # Two numbers that are compared as one run of bytes are sorted as one. If hardly any pair of the first rows
        # occurs twice, there are far too many.
        first = pairs[:SOME].view("c16")
        if len(pairs) > SOME and len(np.unique(first)) > 0.98 * SOME:
            return None
        distinct, codes = np.unique(pairs.view("c16")[:, 0], return_inverse=True)
        if FEWER * len(distinct) > len(self):
            return None
        table = distinct[:, None].view(float)
        return Tabulated(codes[:, None].astype(np.int32), Exposed(table[:, [0]], table[:, 1]))

    def columns(self, index: Sequence[int]) -> Exposed:
        """Some of the columns."""
        return Exposed(self.counts[:, index], self.exposure)


@dataclass(frozen=True, eq=False)
class Poisson(Conjugate[Gamma, Events]):
    """x | λ ~ Poisson(exposure × λ) with λ ~ Gamma(α, rate β) (BDA3 2.6).

    The predictive is negative binomial.

    Parameters
    ----------
    prior : Gamma
    exposure : str, optional
        Column that holds the exposure of each row (hours watched, area searched), positive; 1 if not given.

    Examples
    --------
    >>> from bayesnb import BayesianNB
    >>> calls = {"calls": [3, 5, 0], "hours": [1.0, 2.0, 1.0]}
    >>> clf = BayesianNB({"calls": Poisson(Gamma(1, 1), exposure="hours")}).fit(calls, ["day", "day", "night"])
    >>> clf.tables()["calls"]  # events an hour
           rate
    class
    day    2.25
    night  0.50
    """

    prior: Any = field(default_factory=Gamma)
    exposure: Any = None

    conjugate = Gamma
    support = COUNTS

    def statistic(self, x: Array | Exposed, members: Membership) -> Events:
        return Events.of(self.pooled(x, members))

    def resolve_prior(self, prior: Gamma, s: Events) -> Gamma:
        return prior.over(pooled_rates(s.events.sum(0), s.exposure.sum(0)), len(s.events))

    def added(self, s: Events) -> Added:
        return (s.events, s.exposure), s.log_peak

    def said(self, x: Array | Exposed) -> Added:
        counts, exposure = (v[:, None] for v in counts_and_exposure(x))
        small = whole_numbers(counts[:, 0])
        if small is None or small[1] >= FEW:
            return (counts, exposure), log_peak(counts)
        # Code -1, of a missing count, reads the last number, which is not used.
        return (counts, exposure), log_peak(np.arange(small[1] + 2.0))[small[0][:, None]]

    def of_reals(self, posterior: Gamma, x: Array | Exposed, labels: Labels | None = None) -> Array | None:
        """Small counts with an exposure e, by a look-up of what depends on the count k alone.

        ln p = Σ_{i<k} ln(1 + i/α) - ln k! + k ln(α e/β) - (α + k) ln(1 + e/β), and without the row itself
        Σ_{0<i≤k} ln(1 - i/α) - ln k! + k ln(α e/β) + (α - k) ln(1 - e/β).
        """
        small = whole_numbers(x.counts) if isinstance(x, Exposed) else None
        if small is None or small[1] >= FEW or not (labels is None or labels.unweighted):
            return None
        (codes, top), sign = small, 1.0 if labels is None else -1.0
        k, alpha = np.arange(max(top, 0) + 1.0), posterior.alpha[..., None]
        with np.errstate(all="ignore"):
            steps = np.log((alpha + sign * (k[1:] - (sign > 0))) / alpha)
            # What leaves nothing of a class, or few digits, is NaN.
            steps = np.where(alpha + sign * k[1:] > 0, steps, np.nan)
            table = np.cumsum(np.concatenate([np.zeros_like(alpha), steps], axis=-1), axis=-1)
            table += k * np.log(alpha / posterior.beta[..., None]) - gammaln(k + 1)
            log_e = np.log(x.exposure)
        total = np.zeros((1 if labels is not None else len(table), len(x)))
        for cut in slices(len(x), NEAR // 4):
            e = x.exposure[cut]
            for j, code in enumerate(codes[cut].T):
                known = (code >= 0) & ~np.isnan(e)
                count, code = code.astype(float), code.astype(np.intp)
                for slot, sums in enumerate(total):
                    own = slot if labels is None else labels.codes[cut]
                    share = sign * e / posterior.beta[own, j]
                    with np.errstate(all="ignore"):
                        growth = np.log1p(share if labels is None else np.where(share < -0.9, np.nan, share))
                        said = table[own, j, code] + count * log_e[cut]
                        said -= (sign * posterior.alpha[own, j] + count) * growth
                    sums[cut] += np.where(known, said, 0.0)
        return total.T if labels is None else total[0]

    def sample(self, theta: Theta, rng: Generator, s: Events) -> Array:
        return rng.poisson(theta["rate"]).astype(float)

    def linear(self, theta: Theta) -> tuple[Array, Array]:
        if self.exposure is not None:
            raise ValueError("its exposure multiplies the rates, so the log-odds are not linear in the counts")
        return theta["log_rate"], -theta["rate"].sum(-1)

    def pymc_cells(self, name: str, theta: Mapping[str, Any], x: Array | Exposed, row: Array, column: Array) -> None:
        import pymc as pm

        counts, exposure = (v[row, column] for v in counts_and_exposure(x))
        pm.Poisson(name, mu=theta["rate"] * exposure, observed=counts.astype(int))


def counts_and_exposure(x: Array | Exposed) -> tuple[Array, Array]:
    """Counts and exposure, both (row, column); a count without its exposure is missing."""
    if not isinstance(x, Exposed):
        counts = np.asarray(x, float)
        return counts, np.ones(counts.shape)
    exposure = np.broadcast_to(np.asarray(x.exposure, float)[:, None], x.counts.shape)
    return np.where(np.isnan(exposure), np.nan, x.counts), exposure


@dataclass(frozen=True, eq=False)
class Waits(Statistic):
    """The number of waits and the sum of their lengths, both (class, column)."""

    n: Array
    total: Array

    def seen(self) -> Array:
        return self.n


@dataclass(frozen=True, eq=False)
class Exponential(Conjugate[Gamma, Waits]):
    """x | λ ~ Exponential(rate λ) with λ ~ Gamma(α, rate β), for positive numbers such as waiting times (BDA3 2.6).

    A wait of length x is one event in x units of exposure. The predictive is a Lomax (Pareto II) distribution.

    Examples
    --------
    >>> from bayesnb import BayesianNB
    >>> waits = {"minutes": [1.0, 3.0, 10.0]}
    >>> clf = BayesianNB({"minutes": Exponential(Gamma(2, 4))}).fit(waits, ["express", "express", "local"])
    >>> clf.tables()["minutes"].round(2)  # events a minute
             rate
    class
    express  0.50
    local    0.21
    """

    prior: Any = field(default_factory=Gamma)

    conjugate = Gamma
    support = POSITIVE

    def statistic(self, x: Array, members: Membership) -> Waits:
        parts = (
            Waits(t.totals(seen := t.seen()), t.totals(np.where(seen, t.x, 0.0))) for t in self.tallies(x, members)
        )
        return reduce(add, parts)

    def resolve_prior(self, prior: Gamma, s: Waits) -> Gamma:
        with np.errstate(over="ignore"):
            return prior.over(pooled_rates(s.n.sum(0), s.total.sum(0)), len(s.n))

    def added(self, s: Waits) -> Added:
        return (s.n, s.total), Gamma.peak(s.n, s.total)

    def said(self, x: Array) -> Added:
        one, x = np.ones(()), x[:, None]
        return (one, x), Gamma.peak(one, x)

    def of_reals(self, posterior: Gamma, x: Array, labels: Labels | None = None) -> Array | None:
        return waits(posterior, x, 1.0, labels)

    def sample(self, theta: Theta, rng: Generator, s: Waits) -> Array:
        return rng.standard_exponential(theta["rate"].shape) / theta["rate"]

    def linear(self, theta: Theta) -> tuple[Array, Array]:
        return -theta["rate"], theta["log_rate"].sum(-1)

    def pymc_cells(self, name: str, theta: Mapping[str, Any], x: Array, row: Array, column: Array) -> None:
        import pymc as pm

        pm.Exponential(name, lam=theta["rate"], observed=x[row, column])


@dataclass(frozen=True, eq=False)
class GammaKnownShape(Conjugate[Gamma, Events]):
    """x | λ ~ Gamma(shape, rate λ) with λ ~ Gamma(α, rate β), the shape given (BDA3 2.6 and its exercises).

    A cell x is ``shape`` events in x units of exposure, so its statistic is that of a Poisson count. A shape of 1 is
    the Exponential. The standard deviation within a class is its mean divided by √shape. The predictive is a Lomax
    distribution of this shape (a beta prime distribution).

    Parameters
    ----------
    prior : Gamma
        Of the rate λ.
    shape : float or array (column,)
        Positive; the square of mean / standard deviation within a class.

    Examples
    --------
    >>> from bayesnb import BayesianNB
    >>> delays = {"minutes": [4.0, 6.0, 21.0]}
    >>> clf = BayesianNB({"minutes": GammaKnownShape(Gamma(2, 4), shape=4.0)}).fit(delays, ["bus", "bus", "train"])
    >>> clf.tables()["minutes"].round(2)
           mean
    class
    bus    5.60
    train  16.67
    """

    prior: Any = field(default_factory=Gamma)
    shape: Any = 1.0

    conjugate = Gamma
    support = POSITIVE

    def statistic(self, x: Array, members: Membership) -> Events:
        parts = ((t, t.seen()) for t in self.tallies(x, members))
        return reduce(add, (self._of_part(t, seen) for t, seen in parts))

    def _of_part(self, t: Tally, seen: Array) -> Events:
        """The statistic of some rows. Σ ln x says how much they disagree about the rate, by their mean."""
        shape, n, total = self._shape(t.x.shape[1]), t.totals(seen), t.totals(np.where(seen, t.x, 0.0))
        logs = t.totals(np.where(seen, np.log(t.x), 0.0))
        mean = np.where(n > 0, total / np.where(n > 0, n, 1.0), 1.0)
        best = n * (log_peak(shape) + np.log(shape)) - logs - shape * (n * np.log(mean) - logs)
        return Events(total, shape * n, n, best)

    def resolve_prior(self, prior: Gamma, s: Events) -> Gamma:
        with np.errstate(over="ignore"):
            return prior.over(pooled_rates(s.events.sum(0), s.exposure.sum(0)), len(s.rows))

    def readable(self, theta: Theta) -> dict[str, Array]:
        return {"mean": self._shape(theta["rate"].shape[-1]) / theta["rate"]}

    def added(self, s: Events) -> Added:
        return (s.events, s.exposure), s.log_peak

    def said(self, x: Array) -> Added:
        shape, x = self._shape(x.shape[1]), x[:, None]
        # The log density of x at the rate that fits it best, shape / x.
        return (shape, x), log_peak(shape) + np.log(shape) - np.log(x)

    def of_reals(self, posterior: Gamma, x: Array, labels: Labels | None = None) -> Array | None:
        shape = self._shape(x.shape[1])
        known = ~np.isnan(x)
        base = np.where(known, np.log(x), 0.0) @ (shape - 1) - known @ gammaln(shape)
        total = waits(posterior, x, shape, labels)
        return None if total is None else total + (base if labels is not None else base[:, None])

    def sample(self, theta: Theta, rng: Generator, s: Events) -> Array:
        return rng.standard_gamma(self._shape(theta["rate"].shape[-1]), theta["rate"].shape) / theta["rate"]

    def linear(self, theta: Theta) -> tuple[Array, Array]:
        return -theta["rate"], (self._shape(theta["rate"].shape[-1]) * theta["log_rate"]).sum(-1)

    def gathered(self, cells: Sequence[tuple[GammaKnownShape, int]]) -> GammaKnownShape:
        return replace(self, shape=gathered_columns([(family.shape, k) for family, k in cells]))

    def pymc_cells(self, name: str, theta: Mapping[str, Any], x: Array, row: Array, column: Array) -> None:
        import pymc as pm

        pm.Gamma(name, alpha=self._shape(x.shape[1])[column], beta=theta["rate"], observed=x[row, column])

    def _shape(self, n_columns: int) -> Array:
        return of_each_column("shape", self.shape, n_columns)
