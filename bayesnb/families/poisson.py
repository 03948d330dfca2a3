"""Events in a stretch of time or space: Poisson features with a Gamma prior, exposure allowed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy.special import gammaln

from bayesnb.families.columns import FEW, FEWER, NEAR, Tabulated
from bayesnb.families.conjugate import Added, Conjugate
from bayesnb.families.events import Events, pooled_rates
from bayesnb.families.support import COUNTS
from bayesnb.kernels.blocks import slices
from bayesnb.kernels.reading import whole_numbers
from bayesnb.numerics import Array, log_peak
from bayesnb.priors import Gamma, Theta
from bayesnb.statistics.membership import Labels, Membership

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
