"""Draws of columns that share parameters, as sets in which the columns are independent: :class:`Strata`.

Let h be the parameters that all columns share, such as the scale of their spreads between classes. Given h, the columns
are independent, so the predictive of a row is E_h[Π_j E[p(x_j | θ_j) | h, D]]. The plain average over draws of the
product, E[Π_j p(x_j | θ_j)], is the same number, but its Monte Carlo error grows exponentially with the columns: the
logarithm of the product varies between draws as the sum of what all columns vary. So the draws are sorted into strata
of nearly equal h. Within a stratum each column is averaged by itself, and the products of these averages are averaged
over the strata. One stratum would take the columns for independent; more of them come closer to E_h.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp, softmax

from bayesnb.numerics import Array

DRAWS = 250
"""A stratum has at most so many draws, so its averages have their Monte Carlo error; the average of all has less."""

FEWEST = 4
"""There are at least so many strata, even if draws are few."""


@dataclass(frozen=True, eq=False)
class Strata:
    """Sets of draws.

    Parameters
    ----------
    members : tuple of int arrays (draw,)
        The draws of each stratum.
    """

    members: tuple[Array, ...]

    @classmethod
    def of(cls, shared: Array | None, n: int) -> Strata:
        """The strata of ``n`` draws of shared numbers, (draw, number); one stratum if nothing is shared."""
        if shared is None:
            return cls((np.arange(n),))
        deviation = shared.std(0)
        unit = np.where(deviation > 0, deviation, 1.0)
        return cls(tuple(_halved(shared / unit, np.arange(n), max(1, min(DRAWS, n // FEWEST)))))

    def __len__(self) -> int:
        return len(self.members)

    @property
    def log_share(self) -> Array:
        """The logarithm of the share of the draws that each stratum has, (stratum,)."""
        sizes = np.array([len(own) for own in self.members])
        return np.log(sizes) - np.log(sizes.sum())

    def averages(self, value: Array) -> Array:
        """The logarithm of the average of exp(value) over the draws of each stratum; draws lead, then strata do."""
        parts = [value] if len(self) == 1 else [value[own] for own in self.members]
        return np.stack([logsumexp(part, axis=0) - np.log(len(part)) for part in parts])

    def average(self, value: Array, log_weight: Array | float = 0.0) -> Array:
        """The logarithm of the weighted average of exp(value) over the strata, which lead."""
        log_weight = log_weight + self.log_share.reshape(-1, *(1 for _ in value.shape[1:]))
        return logsumexp(value + log_weight, axis=0) - logsumexp(log_weight, axis=0)

    def picked(self, says: Array, chosen: Array, u: Array) -> Array:
        """A stratum for each draw and row, with a probability proportional to what it says of the row, (draw, row).

        Parameters
        ----------
        says : array (stratum, row, class)
            Its log likelihood.
        chosen : int array (draw, row)
            The class of the row.
        u : array (draw,)
            Uniform random numbers.
        """
        if len(self) == 1:
            return np.zeros(chosen.shape, np.intp)
        below = np.cumsum(softmax(says + self.log_share[:, None, None], axis=0), axis=0)[:-1]
        return (u[:, None] > below[:, np.arange(chosen.shape[1]), chosen]).sum(0)

    def drawn(self, log_weight: Array, stratum: Array, u: Array) -> Array:
        """A draw of each given stratum, picked with a probability proportional to its weight, (pick,).

        Parameters
        ----------
        log_weight : array (draw,)
        stratum : int array (pick,)
        u : array (pick,)
            Uniform random numbers.
        """
        found = np.empty(len(u), np.intp)
        for k in np.unique(stratum):
            members, mine = self.members[k], stratum == k
            own = log_weight[members]
            below = np.cumsum(np.exp(own - own.max()))
            found[mine] = members[np.minimum(np.searchsorted(below, u[mine] * below[-1]), len(members) - 1)]
        return found


def _halved(h: Array, members: Array, most: int) -> Iterator[Array]:
    """Halve a set of draws at the median of the number that varies most, until no part has more than ``most``."""
    if len(members) <= most:
        yield members
        return
    widest = h[members].std(0).argmax()
    members = members[np.argsort(h[members, widest], kind="stable")]
    for half in np.array_split(members, 2):
        yield from _halved(h, half, most)
