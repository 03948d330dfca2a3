"""Events and their exposure, as counts and amounts with a rate have them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np

from bayesnb.kernels import densities
from bayesnb.numerics import Array, disagreement, log_rising
from bayesnb.priors import Gamma
from bayesnb.statistics.membership import Labels
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
