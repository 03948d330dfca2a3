"""Special functions, accurate for concentrations and counts from 1e-300 to 1e15 and beyond."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np
from numpy.random import Generator
from scipy.special import digamma, gammaln, log_ndtr, zeta

type Array = np.ndarray
type Size = tuple[int, ...]

LOG_2PI = float(np.log(2 * np.pi))
HALF_LOG_2PI = 0.5 * LOG_2PI


def log(x: Array) -> Array:
    """Natural logarithm, with log(0) = -inf."""
    with np.errstate(divide="ignore"):
        return np.log(x)


def log_sum(terms: Sequence[Array]) -> Array:
    """The logarithm of a sum, ln Σ exp(term), for each element of the arrays."""
    return reduce(_log_sum_of_two, terms)


def _log_sum_of_two(a: Array, b: Array) -> Array:
    with np.errstate(invalid="ignore"):
        top, less = np.maximum(a, b), np.minimum(a, b)
        less -= top
        total = top + np.log1p(np.exp(less, out=less), out=less)
        return total if np.isfinite(total.sum()) else np.logaddexp(a, b)


def log_rising(a: Array, t: Array) -> Array:
    """Accurate ln Γ(a+t) - ln Γ(a), even for large ``a``; infinite if a + t <= 0."""
    a, t = np.asarray(a, float), np.asarray(t, float)
    if t.size == 1 and t.ndim <= a.ndim and abs(t.item()) == 1:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(a < 0, np.inf, np.log(a)) if t > 0 else np.where(a > 1, -np.log(a - 1), np.inf)
    z = a + t
    a, t = (x if x.shape == z.shape else np.broadcast_to(x, z.shape) for x in (a, t))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        rising = np.where(t == 0, 0.0, gammaln(z) - gammaln(a))
        # At counts of 1e15, no digit of the difference of two ln Γ is correct. So Stirling's series (Abramowitz and
        # Stegun 6.1.41) is subtracted term by term.
        large = (a >= 16) & (z >= 16)
        if large.any():
            start, step, end = a[large], t[large], z[large]
            series = (start - 0.5) * np.log1p(step / start) + step * (np.log(end) - 1.0)
            rising[large] = series + _series(end) - _series(start)
    return rising if (z > 0).all() else np.where(z > 0, rising, np.where(t == 0, 0.0, np.inf))


def _series(z: Array) -> Array:
    w = 1.0 / (z * z)
    return (1 / 12 - w * (1 / 360 - w * (1 / 1260 - w * (1 / 1680 - w / 1188)))) / z


def stirling(z: Array) -> Array:
    """The remainder of Stirling's formula: ln Γ(z) - [(z - 1/2) ln z - z + ln(2π)/2], for z > 0."""
    z = np.asarray(z, float)
    with np.errstate(all="ignore"):
        remainder = np.asarray(_series(z))
        near = z < 16
        if near.any():
            z = z[near]
            remainder[near] = gammaln(z) - (z - 0.5) * np.log(z) + z - HALF_LOG_2PI
    return remainder


def log_root(a: Array, b: Array) -> Array:
    """ln Γ(b) - ln Γ(a) - [(b ln b - b) - (a ln a - a)], computed without cancellation."""
    with np.errstate(all="ignore"):
        return 0.5 * np.log(a / b) + stirling(b) - stirling(a)


def log_peak(k: Array) -> Array:
    """Log of the Poisson probability of a count k if the mean is k: k ln k - k - ln k!."""
    k = np.asarray(k, float)
    with np.errstate(all="ignore"):
        return np.where(k == 0, 0.0, -HALF_LOG_2PI - 0.5 * np.log(k) - stirling(k))


# The log probability of a count of 1e15 may be near -20, but its terms are near 1e17. So Loader (2000, "Fast and
# accurate computation of binomial probabilities") writes it as half a unit deviance, k ln(k/m) - (k - m), which is
# small if k is near m, plus the remainders of Stirling's formula. In all conjugate families, m is a share of a pooled
# count, so they all use this statistic.


def deviance(k: Array, m: Array, gap: Array) -> Array:
    """Half the Poisson deviance of a count k with mean m: k ln(k/m) - (k - m); ``gap`` is k - m, computed exactly."""
    with np.errstate(all="ignore"):
        v = gap / (k + m)
        # ln(k/m) = 2 artanh(v); the first term of its series is combined with k - m.
        w = v * v
        series = 1 / 9 + w * (1 / 11 + w * (1 / 13 + w * (1 / 15 + w / 17)))
        near = gap * v + 2.0 * k * v * w * (1 / 3 + w * (1 / 5 + w * (1 / 7 + w * series)))
        # Rounding may make a count slightly negative, so use its absolute value.
        far = np.where(k == 0, 0.0, k * np.log(np.abs(k / m))) - gap
    return np.where(np.abs(v) < 0.1, near, far)


SMALL = 64.0
"""Largest count for which a plain difference of logarithms loses no digits of the log probability."""


def rate_deviance(k: Array, e: Array, log_rate: Array, rate: Array, gap: Array | None = None) -> Array:
    """Half the Poisson deviance of k events in exposure e; ``log_rate`` is used if the rate underflows."""
    expected = rate * e
    least, most = np.min(k, initial=SMALL), np.max(k, initial=0.0)
    if least >= 0 and most <= SMALL:
        with np.errstate(all="ignore"):
            found = np.where(k == 0, 0.0, k * (np.log(k) - np.log(e) - 1.0)) - k * log_rate
            return (found if least > 0 else np.where(k == 0, 0.0, found)) + expected
    gap = k - expected if gap is None else gap
    found = deviance(k, expected, gap)
    if (lost := (np.abs(expected) < 1e-290) & (k != 0)).any():
        with np.errstate(all="ignore"):
            found = np.where(lost, k * (np.log(k) - np.log(e) - log_rate) - gap, found)
    return found


def disagreement(a: Array, b: Array, at: Array, bt: Array) -> Array:
    """Half the likelihood ratio statistic of two Poisson rates, with counts a, b in exposures at, bt, against one
    pooled rate.
    """
    # Removed events have a negative count and a negative exposure.
    with np.errstate(all="ignore"):
        whole = at + bt
        rate = (a + b) / whole
        gap = np.where(whole == 0, 0.0, a * (bt / whole) - b * (at / whole))
        expected = bt * rate
        of_b = deviance(b, expected, -gap)
        if (tiny := (np.abs(expected) < 1e-290) & (b != 0)).any():  # Nearly no exposure: few digits of it are left.
            of_b = np.where(tiny, b * (np.log(np.abs(b)) - np.log(np.abs(bt)) - np.log(rate)) + gap, of_b)
        pooled = deviance(a, at * rate, gap) + of_b
        if (usable := rate > 0).all():
            return pooled
        # If the pooled rate is not positive, only the first two terms are left.
        apart = sum(np.where(k == 0, 0.0, k * np.log(np.abs(k / e))) for k, e in ((a, at), (b, bt)))
        return np.where(usable, pooled, apart)


def log_gamma_draw(shape: Array, rng: Generator, size: Size) -> Array:
    """Logarithms of Gamma(shape, 1) variates; for shapes below 1, the variates themselves may underflow."""
    # A Gamma(a) variate is a Gamma(a+1) variate times U^(1/a) (Marsaglia and Tsang 2000, section 6).
    small = shape < 1
    drawn = np.log(rng.standard_gamma(np.where(small, shape + 1, shape), size=size + shape.shape))
    if small.any():
        with np.errstate(divide="ignore"):
            drawn = drawn - np.where(small, rng.standard_exponential(drawn.shape) / shape, 0.0)
    return drawn


def log_root_slopes(z: Array) -> tuple[Array, Array]:
    """Derivatives of ``log_root(a, z)`` in z: digamma(z) - ln z and trigamma(z) - 1/z."""
    z = np.asarray(z, float)
    with np.errstate(all="ignore"):
        # Asymptotic series without cancellation (Abramowitz and Stegun 6.3.18 and 6.4.12).
        r = 1.0 / z
        w = r * r
        first = -r / 2 - w * (1 / 12 - w * (1 / 120 - w * (1 / 252 - w * (1 / 240 - w / 132))))
        second = w / 2 + w * r * (1 / 6 - w * (1 / 30 - w * (1 / 42 - w * (1 / 30 - w * (5 / 66)))))
        near = z < 16
        return (np.where(near, digamma(z) - np.log(z), first), np.where(near, zeta(2.0, z) - r, second))


def drawn_codes(log_p: Array, rng: Generator, axis: int = -1) -> Array:
    """Draw an outcome from log probabilities along an axis; return its position."""
    # The Gumbel-max trick.
    return (log_p + rng.gumbel(size=log_p.shape)).argmax(axis)


def log_interval(middle: Array, width: Array) -> Array:
    """ln[Φ(middle + width / 2) - Φ(middle - width / 2)], the probability of an interval under a standard Normal."""
    # A difference of values of Φ near 1 loses digits, so an interval above 0 is reflected to the negative side. Narrow
    # intervals use Taylor's series at the middle.
    middle, width = np.broadcast_arrays(-np.abs(middle), width)
    with np.errstate(all="ignore"):
        bend = width * middle
        narrow = (width < 0.05) & (bend > -0.05)
        w2, s2 = width * width, bend * bend
        series = (s2 - w2) / 24 + (s2 * (s2 - 6 * w2) + 3 * w2 * w2) / 1920
        found = np.array(np.log(width) - 0.5 * (LOG_2PI + middle * middle) + np.log1p(series))
        if not narrow.all():
            wide = ~narrow
            m, half = middle[wide], width[wide] / 2
            low, high = log_ndtr(m - half), log_ndtr(m + half)
            found[wide] = np.where(high == -np.inf, -np.inf, high + np.log(-np.expm1(low - high)))
    return found
