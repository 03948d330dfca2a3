"""Whether ranks are uniform: an exact test by their empirical distribution, and the band of its picture.

If the ranks of N simulations are uniform on 0, ..., L, the number of ranks up to k is binomial with the probability
z_k = (k + 1)/(L + 1), for each k. The statistic γ is the smallest two-sided tail probability over all k, and its
p-value is the probability that some k of uniform ranks has one as small (Säilynoja, Bürkner and Vehtari 2022,
Graphical test for discrete uniformity, Statistics and Computing 32). It sees ranks that lean to one side, and those
that pile up in the middle or at both ends.
"""

from __future__ import annotations

import numpy as np
from scipy import stats

from bayesnb.priors import Array


def p_value(ranks: Array, largest: int) -> float:
    """The p-value of the test that ranks (simulation,) are uniform on the whole numbers from 0 to ``largest``."""
    n, share = len(ranks), _shares(largest)
    up_to = np.bincount(ranks, minlength=largest + 1).cumsum()[:-1]
    gamma = float(_tails(up_to, n, share).min())
    outside = 1 - _probability_inside(*_limits(gamma, n, share, strict=True), n, largest)
    # The sum over all k bounds the probability from above, and keeps its digits where 1 - p has none.
    return min(1.0, gamma * largest) if outside < 1e-9 else min(1.0, outside)


def band(n: int, largest: int, coverage: float) -> tuple[Array, Array]:
    """The lowest and highest number of ranks up to each k < ``largest`` that all of n uniform ranks keep to.

    Their probability to keep to it at every k is at least ``coverage``.
    """
    share = _shares(largest)
    low, high = np.log(1e-12), 0.0
    for _ in range(40):
        middle = (low + high) / 2
        limits = _limits(np.exp(middle), n, share)
        low, high = (middle, high) if _probability_inside(*limits, n, largest) >= coverage else (low, middle)
    return _limits(np.exp(low), n, share)


def _shares(largest: int) -> Array:
    return np.arange(1, largest + 1) / (largest + 1)


def _tails(count: Array, n: int, share: Array) -> Array:
    """The two-sided tail probability of each count."""
    return 2 * np.minimum(stats.binom.cdf(count, n, share), stats.binom.sf(count - 1, n, share))


def _limits(gamma: float, n: int, share: Array, *, strict: bool = False) -> tuple[Array, Array]:
    """The smallest and largest count at each k whose tail probability is at least gamma; if strict, above it."""
    tails = _tails(np.arange(n + 1)[:, None], n, share)
    # Rounding must not let the observed count itself inside.
    inside = tails > gamma * (1 + 1e-9) if strict else tails >= gamma * (1 - 1e-9)
    some = inside.any(axis=0)
    low = np.where(some, inside.argmax(axis=0), 1)
    high = np.where(some, n - inside[::-1].argmax(axis=0), 0)
    return low, high


def _probability_inside(low: Array, high: Array, n: int, largest: int) -> float:
    """The probability that the counts of n uniform ranks lie between the limits at every k.

    Uniform ranks are independent Poisson counts of each value, given that their sum is n. So the sum up to k takes
    independent Poisson steps, and what leaves the limits is left out after each of them.
    """
    mean = n / (largest + 1)
    steps = np.arange(min(n, int(mean + 12 * np.sqrt(mean) + 30)) + 1)  # the rest has a probability below 1e-15
    step = stats.poisson.pmf(steps, mean)
    inside = np.zeros(n + 1)
    inside[0] = 1.0
    for lowest, highest in zip(low, high, strict=True):
        inside = np.convolve(inside, step)[: n + 1]
        inside[:lowest] = 0.0
        inside[highest + 1 :] = 0.0
    return float(np.convolve(inside, step)[n] / stats.poisson.pmf(n, n))
