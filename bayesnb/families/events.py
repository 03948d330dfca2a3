"""Events and their exposure, as counts and amounts with a rate have them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bayesnb.families.statistic import Statistic, per
from bayesnb.numerics import Array, disagreement
from bayesnb.priors import Gamma


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
