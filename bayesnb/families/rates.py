"""Families of rates with a Gamma prior: event counts and waiting times."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy.special import gammaln

from bayesnb.families.columns import COUNTS, FEW, NEAR, POSITIVE, Tally, of_each_column, present
from bayesnb.families.conjugate import Added, Conjugate
from bayesnb.kernels import densities
from bayesnb.kernels.blocks import slices
from bayesnb.kernels.reading import whole_numbers
from bayesnb.numerics import Array, disagreement, log_peak, log_rising
from bayesnb.priors import Gamma, Theta
from bayesnb.statistics.statistic import Labels, Statistic


@dataclass(frozen=True, eq=False)
class Events(Statistic):
    """Statistics of a rate: exposure, number of events, number of rows, and maximum log-likelihood, (class, column)."""

    exposure: Array
    events: Array
    rows: Array
    log_peak: Array

    signed = frozenset({"log_peak"})

    @classmethod
    def of(cls, parts: Iterable[tuple[Array, list[Array], Array]]) -> Events:
        return reduce(add, (cls(exposure, events, rows, peak) for rows, (events, exposure), peak in parts))

    def __add__(self, other: Events) -> Events:
        both = super().__add__(other)
        apart = disagreement(self.events, other.events, self.exposure, other.exposure)
        return replace(both, log_peak=both.log_peak - apart)

    def seen(self) -> Array:
        return self.rows


LEAST = 1e-300
"""Least column mean at which rates are ordinary floats; the largest is its reciprocal."""


def pooled_rates(events: Array, exposure: Array) -> Array:
    """The pooled rate of each column, (column,), with NaN for columns without exposure."""
    seen = (events > 0) & (exposure > 0)
    with np.errstate(all="ignore"):
        size = np.where(seen, exposure / events, 1.0)
    odd = ~((size > LEAST) & (size < 1 / LEAST))
    if odd.any():
        k = int(np.flatnonzero(odd)[0])
        raise ValueError(
            f"its column {k} holds numbers so {'small' if size[k] < 1 else 'large'} that their rate or their sum "
            "is outside the range of ordinary floats; multiply the column by a constant"
        )
    return np.where(exposure > 0, events / np.where(exposure > 0, exposure, 1.0), np.nan)


def waits(posterior: Gamma, x: Array, events: float | Array, labels: Labels | None) -> Array | None:
    """Log predictive density of waiting times until ``events`` events, up to a constant: (row, class), or (row,) if
    labelled.
    """
    # With λ ~ Gamma(α, β), each term is ln Γ(α + s) - ln Γ(α) - s ln β - (α + s) ln(1 + x/β), which has the form of a
    # Student-t log density in z² = x/β. Leave-one-out subtracts s from α and x from β.
    # With labels, the result is leave-one-out, and is ``None`` if a weight is not 1.
    if labels is not None and not labels.unweighted:
        return None
    nowhere, scale = np.zeros_like(posterior.beta), 1 / np.sqrt(posterior.beta)
    if labels is None:
        power, start = posterior.alpha + events, posterior.alpha
    else:
        start = np.where(posterior.alpha > events, posterior.alpha - events, np.nan)
        power = start
    top = log_rising(start, np.broadcast_to(events, start.shape)) - events * np.log(posterior.beta)
    curves = densities.Students.of(nowhere, nowhere, scale, power, top)
    return curves.summed(np.sqrt(x), None if labels is None else labels.codes)


@dataclass(frozen=True, eq=False)
class Exposed:
    """Counts (row, column) and exposure (row,), NaN if missing."""

    counts: Array
    exposure: Array

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.counts.shape

    def __getitem__(self, rows: Any) -> Exposed:
        return Exposed(self.counts[rows], self.exposure[rows])

    def missing(self) -> Array:
        return np.isnan(self.counts) | np.isnan(self.exposure)[:, None]

    def columns(self, index: Sequence[int]) -> Exposed:
        return Exposed(self.counts[:, index], self.exposure)


@dataclass(frozen=True, eq=False)
class OfRate(Conjugate[Gamma, Events]):
    """A likelihood of a rate λ ~ Gamma(α, rate β); each cell has a number of events and an exposure."""

    prior: Any = field(default_factory=Gamma)

    def resolve_prior(self, prior: Gamma, s: Events) -> Gamma:
        with np.errstate(over="ignore"):
            return prior.over(pooled_rates(s.events.sum(0), s.exposure.sum(0)), len(s.events))

    def added(self, s: Events) -> tuple[Array, ...]:
        return s.events, s.exposure

    def log_h(self, s: Events) -> Array:
        return s.log_peak


@dataclass(frozen=True, eq=False)
class Poisson(OfRate):
    """x | λ ~ Poisson(exposure × λ) with λ ~ Gamma(α, rate β) (BDA3 2.6).

    The predictive distribution is negative binomial.

    Parameters
    ----------
    prior : Gamma
    exposure : str, optional
        The name of the column that holds the positive exposure of each row, such as hours watched or area searched. By
        default, every exposure is 1.

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

    exposure: Any = None

    support = COUNTS

    def statistic(self, x: Array | Exposed, members: Labels) -> Events:
        small = whole_numbers(x.counts) if isinstance(x, Exposed) else None
        if small is None or small[1] >= FEW:
            return Events.of(self.pooled(x, members))
        # Σ k ln(e r) - e r - ln k! at the rate r of the class. For small counts the sums are accurate enough.
        seen, (codes, top) = ~x.missing(), small
        counts, exposure = (np.where(seen, v, 0.0) for v in (x.counts, x.exposure[:, None]))
        log_e = np.log(np.where(np.isnan(x.exposure), 1.0, x.exposure))[:, None]
        cells = counts * log_e - np.where(seen, gammaln(np.arange(top + 2.0) + 1)[codes], 0.0)
        events, whole = members.totals(counts), members.totals(exposure)
        return Events(whole, events, members.totals(seen), members.totals(cells) + Gamma.peak(events, whole))

    def said(self, x: Array | Exposed) -> Added:
        counts, exposure = (v[:, None] for v in counts_and_exposure(x))
        return (counts, exposure), log_peak(counts)

    def of_reals(self, posterior: Gamma, x: Array | Exposed, labels: Labels | None = None) -> Array | None:
        """Log predictive probability of small counts, summed over columns; ``None`` if a count is large."""
        # ln p = Σ_{i<k} ln(1 + i/α) - ln k! + k ln(α e/β) - (α + k) ln(1 + e/β). For leave-one-out, ln p = Σ_{0<i≤k}
        # ln(1 - i/α) - ln k! + k ln(α e/β) + (α - k) ln(1 - e/β).
        small = whole_numbers(x.counts) if isinstance(x, Exposed) else None
        if small is None or small[1] >= FEW or not (labels is None or labels.unweighted):
            return None
        (codes, top), sign = small, 1.0 if labels is None else -1.0
        k, alpha = np.arange(top + 1.0), posterior.alpha[..., None]
        with np.errstate(all="ignore"):
            steps = np.log((alpha + sign * (k[1:] - (sign > 0))) / alpha)
            # NaN if the class without the row is improper, or the result would lose digits.
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

    def drawn_statistic(self, theta: Theta, s: Events, n: Array, rng: Generator) -> Events | None:
        weight = n.astype(float)
        events = rng.poisson(n * theta["rate"]).astype(float) if self.exposure is None else None
        return None if events is None else Events(weight, events, weight, np.zeros_like(weight))

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
    """Counts and exposure, both (row, column); a count without exposure is missing."""
    if not isinstance(x, Exposed):
        counts = np.asarray(x, float)
        return counts, np.ones(counts.shape)
    exposure = np.broadcast_to(np.asarray(x.exposure, float)[:, None], x.counts.shape)
    return np.where(np.isnan(exposure), np.nan, x.counts), exposure


@dataclass(frozen=True, eq=False)
class OfWaits(OfRate):
    """x | λ ~ Gamma(shape, rate λ) with known shape: the value x is the waiting time until ``shape`` events."""

    support = POSITIVE

    @abstractmethod
    def shapes(self, n_columns: int) -> Array:
        """The known shape parameter of each column."""

    def statistic(self, x: Array, members: Labels) -> Events:
        return reduce(add, (self._of_part(t, present(t.x)) for t in self.tallies(x, members)))

    def _of_part(self, t: Tally, seen: Array) -> Events:
        shape, n, total = self.shapes(t.x.shape[1]), t.totals(seen), t.totals(np.where(seen, t.x, 0.0))
        mean = np.where(n > 0, total / np.where(n > 0, n, 1.0), 1.0)
        best = n * (log_peak(shape) + np.log(shape)) - shape * n * np.log(mean)
        if (shape != 1).any():
            best += (shape - 1) * t.totals(np.where(seen, np.log(t.x), 0.0))
        return Events(total, shape * n, n, best)

    def said(self, x: Array) -> Added:
        shape, x = self.shapes(x.shape[1]), x[:, None]
        # The log density of x at its best-fitting rate, which is shape / x.
        return (shape, x), log_peak(shape) + np.log(shape) - np.log(x)

    def of_reals(self, posterior: Gamma, x: Array, labels: Labels | None = None) -> Array | None:
        shape, total = self.shapes(x.shape[1]), waits(posterior, x, self.shapes(x.shape[1]), labels)
        if total is None or (shape == 1).all():
            return total
        known = ~np.isnan(x)
        base = np.where(known, np.log(x), 0.0) @ (shape - 1) - known @ gammaln(shape)
        return total + (base if labels is not None else base[:, None])

    def sample(self, theta: Theta, rng: Generator, s: Events) -> Array:
        return rng.standard_gamma(self.shapes(theta["rate"].shape[-1]), theta["rate"].shape) / theta["rate"]

    def linear(self, theta: Theta) -> tuple[Array, Array]:
        return -theta["rate"], (self.shapes(theta["rate"].shape[-1]) * theta["log_rate"]).sum(-1)

    def pymc_cells(self, name: str, theta: Mapping[str, Any], x: Array, row: Array, column: Array) -> None:
        import pymc as pm

        pm.Gamma(name, alpha=self.shapes(x.shape[1])[column], beta=theta["rate"], observed=x[row, column])


@dataclass(frozen=True, eq=False)
class Exponential(OfWaits):
    """x | λ ~ Exponential(rate λ) with λ ~ Gamma(α, rate β), for positive numbers such as waiting times (BDA3 2.6).

    The predictive distribution is a Lomax (Pareto II) distribution.

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

    def shapes(self, n_columns: int) -> Array:
        return np.ones(n_columns)

    def drawn_statistic(self, theta: Theta, s: Events, n: Array, rng: Generator) -> Events:
        weight = n.astype(float)
        return Events(rng.standard_gamma(weight) / theta["rate"], weight, weight, np.zeros_like(weight))


@dataclass(frozen=True, eq=False)
class GammaKnownShape(OfWaits):
    """x | λ ~ Gamma(shape, rate λ) with λ ~ Gamma(α, rate β) and known shape (BDA3 2.6 and its exercises).

    Within a class, the standard deviation is the mean divided by √shape. The predictive distribution is beta prime.

    Parameters
    ----------
    prior : Gamma
        The prior of the rate λ.
    shape : float or array (column,)
        Positive shape: (mean / standard deviation)² within a class.

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

    shape: Any = 1.0

    by_column = ("shape",)

    def shapes(self, n_columns: int) -> Array:
        return of_each_column("shape", self.shape, n_columns)

    def readable(self, theta: Theta) -> dict[str, Array]:
        return {"mean": self.shapes(theta["rate"].shape[-1]) / theta["rate"]}
