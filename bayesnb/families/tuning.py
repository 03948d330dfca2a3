"""How much a prior counts, learned from the columns that share it: the strengths with the largest evidence.

A prior such as ``NormalGamma.learned()`` is the usual one times a few factors, its strengths. They maximize the
evidence of all classes and columns of a feature, times a hyperprior that keeps them near 1 where little was seen (type
II maximum likelihood: MacKay 1992; for counts Minka 2000).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bayesnb.numerics import Array

SPREAD = 1.0
"""The standard deviation of the hyperprior of the logarithm of each factor, whose median is 1."""

STEP = 1e-3
"""The step of the differences from which slopes and curvatures follow."""

MOST = 8.0
"""The largest logarithm of a factor."""


def strengths(log_evidence: Callable[[Array], float], n: int) -> Array:
    """The ``n`` factors that maximize the evidence times the hyperprior, by Newton's method in their logarithms.

    Parameters
    ----------
    log_evidence : function
        Takes the factors, (strength,).
    n : int
    """

    def score(logs: Array) -> float:
        return log_evidence(np.exp(logs)) - 0.5 * float(logs @ logs) / SPREAD**2

    logs = np.zeros(n)
    height = score(logs)
    for _ in range(50):
        slope, curvature = _differences(score, logs, height)
        values, axes = np.linalg.eigh(curvature)
        # Where the evidence is not concave, the hyperprior alone says how far to go.
        values = np.minimum(values, -1 / SPREAD**2)
        move = -axes @ ((axes.T @ slope) / values)
        move *= min(1.0, 2.0 / max(np.abs(move).max(), 1e-300))
        share = 1.0
        while share > 1e-4:
            tried = np.clip(logs + share * move, -MOST, MOST)
            if (found := score(tried)) >= height - 1e-12 * abs(height):
                break
            share /= 2
        else:
            break
        done = np.abs(tried - logs).max() < 1e-9
        logs, height = tried, found
        if done:
            break
    return np.exp(logs)


def _differences(score: Callable[[Array], float], at: Array, height: float) -> tuple[Array, Array]:
    """Slope and curvature of a function by central differences."""
    n = len(at)
    steps = STEP * np.eye(n)
    ahead, behind = ([score(at + sign * step) for step in steps] for sign in (1, -1))
    slope = (np.array(ahead) - np.array(behind)) / (2 * STEP)
    curvature = np.diag((np.array(ahead) - 2 * height + np.array(behind)) / STEP**2)
    for i in range(n):
        for j in range(i):
            both, neither = score(at + steps[i] + steps[j]), score(at - steps[i] - steps[j])
            mixed = both + neither - ahead[i] - behind[i] - ahead[j] - behind[j] + 2 * height
            curvature[i, j] = curvature[j, i] = mixed / (2 * STEP**2)
    return slope, curvature
