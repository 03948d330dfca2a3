"""How many labels are wrong, and which: start with :func:`wrong_labels`.

It takes the probability of each label by a model that has not learned the row, and adds one parameter: the share ε of
labels that are wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bayesnb.priors import Array

MOST = 0.5
"""The prior of the share of wrong labels is uniform from 0 to here."""

DEPTH = 40.0
"""The posterior of the share is integrated where its log density is within this of its maximum; e^-40 is 4e-18."""

NODES = 64


@dataclass(frozen=True, eq=False)
class WrongLabels:
    """What is believed of wrong labels.

    Parameters
    ----------
    each : array (row,)
        The probability that the label of a row is wrong.
    expected, sd : float
        Mean and standard deviation of the number of wrong labels; a row of weight 2 is two rows.
    """

    each: Array
    expected: float
    sd: float


def wrong_labels(probability: Array, n_classes: int, weight: Array) -> WrongLabels:
    """Which labels are wrong, if a share ε of them is, and a wrong label is any other class with equal probability.

    A label of probability p_i is not by itself a wrong one: where classes overlap, right labels have small
    probabilities too, and exactly as often as the probabilities say. Wrong labels are those *beyond* that. So let z_i
    say whether label i was replaced. Then

        p(y_i | x_i, ε) = (1 - ε) p_i + ε q_i,   q_i = (1 - p_i) / (C - 1),

    and p(z_i | x_i, y_i, ε) = ε q_i over this sum. The logarithm is concave in ε, so the posterior of ε under a uniform
    prior has one mode, which bisection finds, and Gauss-Legendre quadrature over its neighbourhood averages ε out.
    Given ε the z_i are independent, which gives the variance of their number. (Lawrence and Schölkopf 2001 estimate a
    kernel classifier under this model of noise.)

    Parameters
    ----------
    probability : array (row,)
        p_i, the probability of the label of each row by a model that has not learned the row.
    n_classes : int
        C, at least 2.
    weight : array (row,)

    Returns
    -------
    WrongLabels

    Raises
    ------
    ValueError
        With one class, under which no label can be wrong.

    References
    ----------
    Lawrence and Schölkopf (2001), Estimating a kernel Fisher discriminant in the presence of label noise.

    Examples
    --------
    >>> import numpy as np
    >>> found = wrong_labels(np.r_[np.full(95, 0.999), np.full(5, 0.001)], 2, np.ones(100))
    >>> round(found.expected, 1), round(found.sd, 1), found.each[[0, -1]].round(2)
    (4.9, 0.3, array([0.  , 0.98]))
    """
    if n_classes < 2:
        raise ValueError("there is one class, so no label can be wrong")
    p = np.asarray(probability, float)
    q = (1 - p) / (n_classes - 1)

    def log_posterior(share: float) -> float:
        with np.errstate(divide="ignore"):
            return float(weight @ np.log((1 - share) * p + share * q))

    def slope(share: float) -> float:
        with np.errstate(divide="ignore"):
            return float(weight @ ((q - p) / ((1 - share) * p + share * q)))

    mode = _root(slope, 0.0, MOST)
    top = log_posterior(mode)
    low = mode - _root(lambda gap: log_posterior(mode - gap) - top + DEPTH, 0.0, mode)
    high = _root(lambda share: log_posterior(share) - top + DEPTH, mode, MOST)
    nodes, step = np.polynomial.legendre.leggauss(NODES)
    shares = low + (high - low) * (nodes + 1) / 2
    density = step * np.exp(np.array([log_posterior(share) for share in shares]) - top)
    density /= density.sum()
    each, expected, variance = np.zeros(len(p)), np.zeros(NODES), np.zeros(NODES)
    for k, share in enumerate(shares):
        wrong = share * q / ((1 - share) * p + share * q)
        each += density[k] * wrong
        expected[k], variance[k] = weight @ wrong, weight @ (wrong * (1 - wrong))
    mean = float(density @ expected)
    return WrongLabels(each, mean, float(np.sqrt(density @ (variance + (expected - mean) ** 2))))


def _root(falling: Callable[[float], float], low: float, high: float) -> float:
    """Where a function that falls crosses 0, by bisection; an end of the interval if it does not."""
    if falling(low) <= 0:
        return low
    if falling(high) >= 0:
        return high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return (low + high) / 2
