"""Events and their exposure, as counts and amounts with a rate have them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bayesnb.numerics import Array, disagreement
from bayesnb.priors import Gamma
from bayesnb.statistics.statistic import Statistic, per


@dataclass(frozen=True, eq=False)
class Events(Statistic):
    """Exposure, events, rows and the largest log-likelihood that one rate can give them, all (class, column).

    When two parts are added, the largest log-likelihood falls by how much they disagree about their rate. A sum of log
    base measures would be of the size k ln k, so at counts of 1e15 the evidence would have no digit left.
    """

    exposure: Array = per("column")
    events: Array = per("column")
    rows: Array = per("column")
    log_peak: Array = per("column", before="log_base")

    group = "poisson"
    signed = frozenset({"log_peak"})

    def __add__(self, other: Events) -> Events:
        both = super().__add__(other)
        apart = disagreement(self.events, other.events, self.exposure, other.exposure)
        return replace(both, log_peak=both.log_peak - apart)

    def seen(self) -> Array:
        return self.rows

    def renewed(self) -> Events:
        return replace(self, log_peak=self.log_peak + Gamma.peak(self.events, self.exposure))


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
