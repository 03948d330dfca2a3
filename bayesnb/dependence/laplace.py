"""The posterior of the exponents: its mode by Newton steps, a Normal around it, and draws that are corrected.

Start with :func:`laplace`. The prior of the parameters is an independent Normal for each, so the posterior is proper
and log-concave whatever the table is: separable classes, copies of a column, a constant column, one class or no row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from scipy.linalg import cho_solve, cholesky, solve_triangular

from bayesnb.dependence.conditional import (
    HELD,
    Layout,
    Source,
    derivatives,
    log_likelihood,
    log_probabilities,
)
from bayesnb.numerics import Array

MODE, NEAR = 1e-12, 1e-2
"""When the mode is reached, and when it is near enough to know its evidence to a hundredth of a nat."""

STEPS = 100
"""More Newton steps than a concave function needs; reaching it is an error."""


@dataclass(frozen=True, eq=False)
class Laplace:
    """A Normal around the mode of a posterior.

    Parameters
    ----------
    mode : array (parameter,)
    factor : array (parameter, parameter)
        The lower Cholesky factor L of the precision, which is L Lᵀ.
    log_evidence : float
        log p(labels | terms), by Laplace's method (MacKay 2003, chapter 27).
    """

    mode: Array
    factor: Array
    log_evidence: float

    def covariance(self) -> Array:
        """Posterior covariance, (parameter, parameter)."""
        return cho_solve((self.factor, True), np.eye(len(self.mode)))

    def sd(self) -> Array:
        """Posterior standard deviations, (parameter,)."""
        return np.sqrt((solve_triangular(self.factor, np.eye(len(self.mode)), lower=True) ** 2).sum(0))

    def at(self, z: Array) -> Array:
        """The points (draw, parameter) whose standardized coordinates are z."""
        return self.mode + solve_triangular(self.factor, z.T, lower=True, trans="T").T


class NoModeError(RuntimeError):
    """Newton's method did not come to an end: the terms are not numbers that it can work with."""


def laplace(source: Source, layout: Layout, mean: Array, sd: Array, start: Array, enough: float = MODE) -> Laplace:
    """The mode of the posterior under Normal(mean, sd) priors, and its curvature.

    Each step is Newton's with the exact Hessian, halved until the log posterior rises (Boyd and Vandenberghe 2004,
    9.5: on a concave function this ends at the mode from any start). It stops where the next step, which it still
    takes, promises to raise the log posterior by less than half of ``enough``.

    Parameters
    ----------
    source : callable
        Gives all blocks of rows, as often as it is asked.
    layout : Layout
    mean, sd : array (parameter,)
        The prior; sd is positive.
    start : array (parameter,)
    enough : float
        In nats, twice; also the squared length of the last step in posterior standard deviations.
    """
    precision, place = 1 / sd**2, np.array(start, float)
    here = derivatives(source, layout, place)
    for _ in range(STEPS):
        value, slope, information = here
        below = -0.5 * precision @ (place - mean) ** 2
        factor = cholesky(information + np.diag(precision), lower=True)
        step = cho_solve((factor, True), slope - precision * (place - mean))
        gain = float(step @ (slope - precision * (place - mean)))
        if gain < enough:
            log_prior = below + gain / 2 - np.log(sd).sum()
            return Laplace(place + step, factor, value + log_prior - np.log(np.diag(factor)).sum())

        def falls(found: float, size: float) -> bool:
            """Whether a step of this size does not raise the log posterior enough."""
            found += -0.5 * precision @ (place + size * step - mean) ** 2  # noqa: B023
            # What rounding leaves of two nearly equal sums over all rows is no fall.
            return found < value + below + 1e-4 * size * gain - 1e-12 * (1 + abs(value))  # noqa: B023

        # Nearly always the full step will do, so its derivatives are taken at once: a pass over the rows is saved.
        size, here = 1.0, derivatives(source, layout, place + step)
        if falls(here[0], size):
            while falls(float(log_likelihood(source, layout, (place + size * step)[None])[0]), size):
                size /= 2
                if size < 1e-12:
                    raise NoModeError("no step along Newton's direction raises the posterior of the exponents")
            here = derivatives(source, layout, place + size * step)
        place = place + size * step
    raise NoModeError(f"the mode of the exponents was not reached in {STEPS} Newton steps")


def draws(
    source: Source, layout: Layout, mean: Array, sd: Array, found: Laplace, n: int, rng: Generator
) -> tuple[Array, float]:
    """Draws of the parameters from their posterior, (draw, parameter), and how far Laplace is off.

    Draws of the Normal come in pairs, z and -z, whose errors cancel where probabilities are nearly linear in the
    exponents (antithetic variates: Hammersley and Morton 1956): an average over 64 of them is off by a fourth of what
    it would be.

    A Normal may be wrong about a skewed posterior: where the classes separate, the labels say that the exponents are
    large and nothing more, and half of the Normal lies where the labels are impossible. So the draws of the Normal are
    first weighed: r = log posterior - log Normal is a constant where Laplace is exact. Where its standard deviation
    over the draws is below ``EXACT`` they are kept. Else every draw is made anew by elliptical slice sampling (Murray,
    Adams and MacKay 2010; around a Normal that approximates: Nishihara, Murray and Adams 2014), which leaves the
    posterior as it is, has nothing to tune and, where r hardly changes, is nearly an independent draw a step. The
    chains start at draws of the Normal, and the mode, picked by their importance weights exp(r), and run side by
    side.

    Nearly all of the time goes into the log likelihood, a sum over the rows. But where classes separate, most labels
    are certain at every point where the chains are, and what these rows add to the sum is nearly 0. So the chains take
    ``TURNS`` steps with all rows, and from then on as many at a time with the rows that were not certain at the points
    reached before (:func:`_uncertain`). In the end it is computed what the other rows would have added. If this varies
    by more than ``EXACT`` nats between the chains, which is what Laplace's method is allowed, all steps are taken again
    with all rows.

    Returns
    -------
    array (draw, parameter)
    float
        The standard deviation of r over the Normal's draws, in nats: 0 where Laplace is exact.
    """

    def beside(z: Array) -> Array:
        """What is added to the log likelihood: the log prior, less the log of the Normal around the mode."""
        return 0.5 * (z**2).sum(-1) - 0.5 * (((found.at(z) - mean) / sd) ** 2).sum(-1)

    def moved(here: Array, rows: Source) -> tuple[Array, Array]:
        """Where the chains are ``TURNS`` steps later, and r there, by these rows."""

        def ratio(z: Array) -> Array:
            return log_likelihood(rows, layout, found.at(z)) + beside(z)

        height = ratio(here)
        for _ in range(TURNS):
            here, height = _turn(ratio, here, height, rng)
        return here, height

    half = rng.standard_normal(((n + 1) // 2, len(found.mode)))
    z = np.concatenate([np.concatenate([half, -half])[:n], np.zeros_like(half[:1])])
    heights = log_likelihood(source, layout, found.at(z)) + beside(z)
    off = float(heights[:n].std())
    if off <= EXACT:
        return found.at(z[:n]), off
    likely = np.exp(heights - heights.max())
    here, rows, missed = z[rng.choice(len(z), n, p=likely / likely.sum())], source, 0.0
    for _ in range(ROUNDS):
        here, height = moved(here, rows)
        value, rows = _uncertain(source, layout, found.at(here))
        missed = float((value + beside(here) - height).std())
    for _ in range(ROUNDS if missed > EXACT else 0):
        here, _height = moved(here, source)
    return found.at(here), off


EXACT = 0.3
"""Nats: importance weights that vary less than this leave an effective sample above 90 %."""

TURNS, ROUNDS = 3, 5
"""Steps of a chain in a round, and rounds; after k steps all but 2^-k of the Normal's variance is reached."""

CERTAIN = 1e-5
"""Nats: a row whose label has a log probability nearer to 0 than this does not count in the next round."""


def _uncertain(source: Source, layout: Layout, points: Array) -> tuple[Array, Source]:
    """The log likelihood at some points, (draw,), and the rows whose label is not certain at all of them.

    If these are too many to be kept, they are all rows.
    """
    total, kept, cells = np.zeros(len(points)), [], 0
    for rows, log_p in log_probabilities(source, layout, points):
        total += log_p.sum(0)
        if cells <= HELD:
            kept.append(rows[log_p.min(1) < -CERTAIN])
            cells += kept[-1].terms.size
    return total, source if cells > HELD else lambda: kept


def _turn(ratio, here: Array, height: Array, rng: Generator) -> tuple[Array, Array]:  # noqa: ANN001
    """One step of elliptical slice sampling for every chain."""
    other = rng.standard_normal(here.shape)
    level = height - rng.exponential(size=len(here))
    angle = rng.uniform(0, 2 * np.pi, len(here))
    low, high = angle - 2 * np.pi, angle.copy()
    new, reached = here.copy(), height.copy()
    left = np.arange(len(here))
    while len(left):
        turned = angle[left, None]
        trial = here[left] * np.cos(turned) + other[left] * np.sin(turned)
        found = ratio(trial)
        good = found > level[left]
        new[left[good]], reached[left[good]] = trial[good], found[good]
        left = left[~good]
        low[left] = np.where(angle[left] < 0, angle[left], low[left])
        high[left] = np.where(angle[left] >= 0, angle[left], high[left])
        angle[left] = rng.uniform(low[left], high[left])
    return new, reached
