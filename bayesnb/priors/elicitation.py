"""Priors from an interval or from typical rows; estimates of the strength of a prior."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from scipy.special import betainc, gammainc, ndtri

from bayesnb.numerics import Array
from bayesnb.priors.belief import Prior


def tails(low: float, high: float, share: float) -> tuple[float, float]:
    """The cumulative probabilities at both ends of a central interval with probability ``share``."""
    if not (np.isfinite([low, high]).all() and low < high):
        raise ValueError(f"Expected the interval to go from a number to a larger one; got {low!r} and {high!r}")
    if not 0 < share < 1:
        raise ValueError(f"Expected share to be between 0 and 1, such as 0.9; got {share!r}")
    return (1 - share) / 2, (1 + share) / 2


def beta_between(low: float, high: float, share: float) -> tuple[float, float]:
    """α and β of the Beta distribution with the central interval from ``low`` to ``high``."""
    below, up_to = tails(low, high, share)
    if not 0 < low < high < 1:
        raise ValueError(f"Expected the interval of a probability to be within 0 and 1; got {low!r} and {high!r}")
    middle, sd = (low + high) / 2, (high - low) / 2 / ndtri(up_to)
    rows = max(middle * (1 - middle) / sd**2 - 1, 0.5)
    start = np.log([rows * middle, rows * (1 - middle)])
    return _solved(lambda a, b: betainc(a, b, [low, high]), (below, up_to), start)


def gamma_between(low: float, high: float, share: float) -> tuple[float, float]:
    """Shape and rate of the Gamma distribution with the central interval from ``low`` to ``high``."""
    below, up_to = tails(low, high, share)
    if low <= 0:
        raise ValueError(f"Expected the interval of a rate to be above 0; got {low!r} and {high!r}")
    shape = (2 * ndtri(up_to) / np.log(high / low)) ** 2
    start = np.log([shape, shape / np.sqrt(low * high)])
    return _solved(lambda a, b: gammainc(a, b * np.array([low, high])), (below, up_to), start)


def _solved(cdf: Callable[..., Array], wanted: tuple[float, float], start: Array) -> tuple[float, float]:
    """Find two positive parameters such that ``cdf(*parameters)`` equals ``wanted``."""
    from scipy import optimize

    log_odds = np.log(wanted) - np.log1p(-np.array(wanted))

    def gap(logs: Array) -> Array:
        p = np.clip(cdf(*np.exp(logs)), 1e-300, 1 - 1e-16)
        return np.log(p) - np.log1p(-p) - log_odds

    found = optimize.root(gap, start, tol=1e-13)
    if not np.abs(gap(found.x)).max() < 1e-8:
        raise ValueError("no prior of this kind has such an interval; widen it, or give its parameters")
    first, second = np.exp(found.x)
    return float(first), float(second)


def rows_like(name: str, values: Array, n: float) -> Array:
    """Convert typical rows to numbers; raise an error unless they are finite and ``n`` is positive."""
    found = np.asarray(values, float)
    if not found.size or not np.isfinite(found).all():
        raise ValueError(f"Expected the {name} to be one finite number or more; got {values!r}")
    if not (np.isfinite(n) and n > 0):
        raise ValueError(f"Expected n, the number of rows that the prior is worth, to be positive; got {n!r}")
    return found


# Learning the strength of a prior from the columns that share it.

SPREAD = 1.0
"""Standard deviation of the hyperprior of the logarithm of each factor; the median factor is 1."""

STEP = 1e-3
"""Step of finite differences."""

MOST = 8.0
"""Largest logarithm of a factor."""


def strengthened[P: Prior](prior: P, factors: Iterable[float]) -> P:
    """A copy of the prior, in which each factor multiplies the parameters that ``prior.strengths`` names."""
    changed: dict[str, Array] = {}
    for names, factor in zip(prior.strengths.values(), factors, strict=True):
        changed |= {name: changed.get(name, getattr(prior, name)) * factor for name in names}
    return prior._with(**changed)


def learned_strengths(prior: Prior, d: tuple[Array, ...], log_h: Array) -> dict[str, float]:
    """Estimate factors {name: factor} that multiply the parameters of a prior, by type II maximum likelihood."""
    from scipy import optimize

    # The factors maximize the evidence of all classes and columns of a feature, times a hyperprior with median 1
    # (MacKay 1992; for counts, Minka 2000).
    n = len(prior.strengths)

    def cost(logs: Array) -> float:
        log_evidence = float((strengthened(prior, np.exp(logs)).along(*d) + log_h).sum())
        return 0.5 * float(logs @ logs) / SPREAD**2 - log_evidence

    def slope(logs: Array) -> Array:
        return np.array([cost(logs + step) - cost(logs - step) for step in STEP * np.eye(n)]) / (2 * STEP)

    near = optimize.minimize(cost, np.zeros(n), jac=slope, method="L-BFGS-B", bounds=[(-MOST, MOST)] * n).x
    # Minimization finds only half of the digits; the root of the slope is more accurate.
    exact = optimize.root(slope, near, tol=1e-12).x
    best = np.exp(exact if np.abs(exact - near).max() < STEP else near)
    return dict(zip(prior.strengths, best.tolist(), strict=True))
