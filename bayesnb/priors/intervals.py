"""The distribution of the mean and precision of a Normal whose values are known only up to intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from scipy.special import gammaln, logsumexp

from bayesnb.kernels.blocks import CELLS, slices
from bayesnb.numerics import LOG_2PI, Array, Size, log_interval
from bayesnb.priors.belief import Point, Prior, Theta, shared, without_mode
from bayesnb.priors.common_draws import CommonDraws
from bayesnb.priors.normal_gamma import NormalGamma

# The integrals over μ and λ = ln σ, in units of the rounding and relative to the prior mean. With n_k rows in the
# interval of centre c_k and width 1, the integrand is the density of the Normal-Gamma prior in (μ, λ) times
# Π_k P(c_k | μ, σ)^n_k. Both variables have an equidistant rule within bounds beyond which the integrand is
# exp(-DEEP) of its largest value. For smooth functions that vanish at both ends, the error of this rule decreases
# exponentially with the number of nodes (Trefethen and Weideman 2014). At each λ the integrand is log-concave in μ,
# so its maximum and its bounds are found by bisection.

DEEP = 42.0
"""Logarithm of the largest value over the value at the bounds."""

CLEAR = 30.0
"""Logarithm of the integral over the integrand at the bounds from which the rule is used for another integrand."""

ROUGH, MOST = 1e-6, 2**14
"""Largest change of the integral if every second node is left out; if it is larger, the number of nodes is doubled,
unless there are more than ``MOST``.
"""

POINTS = 25
"""Values of λ at which the bounds are found."""


@dataclass(frozen=True, eq=False)
class Nodes:
    """A grid of nodes for the numerical integration over μ and λ = ln σ of one class and column."""

    log_sd: Array
    low: Array
    """The first node in μ for each λ."""
    step: Array
    """The distance between nodes in μ for each λ."""
    log_weight: Array
    """Logarithms of weights that sum to 1, (λ, μ)."""
    log_total: float
    """The log integral."""

    @property
    def mu(self) -> Array:
        return self.low[:, None] + self.step[:, None] * np.arange(self.log_weight.shape[1])

    def log_p(self, centre: Array) -> Array:
        inverse = np.exp(-self.log_sd)[:, None]
        return log_interval((centre[:, None, None] - self.mu) * inverse, inverse)

    def reaches(self, log_weight: Array) -> Array:
        """For each row, whether the grid is wide enough: weights at the ends of the grid must be negligible."""
        ends = (log_weight[:, [0, -1]], log_weight[:, :, [0, -1]])
        return np.max([end.max((1, 2)) for end in ends], axis=0) < log_weight.max((1, 2)) - CLEAR

    def drawn(self, log_weight: Array, u: Array) -> tuple[Array, Array]:
        """Draw μ and λ from uniform random numbers ``u``, (3, draw), and node weights, (λ node, μ node)."""
        place, share = _drawn_between(logsumexp(log_weight, axis=1)[None], np.zeros(u.shape[1], np.intp), u[0])
        near = place + (u[1] < share)
        column, within = _drawn_between(log_weight, near, u[2])
        low, step = (v[place] + share * (v[place + 1] - v[place]) for v in (self.low, self.step))
        log_sd = self.log_sd[place] + share * (self.log_sd[1] - self.log_sd[0])
        return low + step * (column + within), log_sd


def _drawn_between(log_density: Array, row: Array, u: Array) -> tuple[Array, Array]:
    """Draw positions between grid nodes; return the node before each position and the distance from it in steps."""
    density = np.exp(log_density - log_density.max(axis=1, keepdims=True))
    left, right = log_density[:, :-1], log_density[:, 1:]
    with np.errstate(all="ignore"):
        rise = right - left
        steep = np.abs(rise) > 1e-6
        mass = np.where(steep, (density[:, 1:] - density[:, :-1]) / rise, density[:, :-1])
        mass = np.where(np.isfinite(mass), mass, 0.0)
        below = np.cumsum(mass, axis=1)
        below = below / below[:, -1:]
        # All rows are searched at once: row k has the numbers from k to k + 1.
        target = np.minimum(u, 1 - 1e-12)
        flat = (below + np.arange(len(below))[:, None]).ravel()
        node = np.searchsorted(flat, target + row, side="right") - row * below.shape[1]
        node = np.clip(node, 0, below.shape[1] - 1)
        start = np.where(node > 0, below[row, np.maximum(node - 1, 0)], 0.0)
        share = np.clip((target - start) / (below[row, node] - start), 0.0, 1.0)
        slope = rise[row, node]
        bent = np.log1p(share * np.expm1(slope)) / slope
    return node, np.where(steep[row, node] & np.isfinite(bent), bent, share)


@dataclass(frozen=True, eq=False)
class Integrand:
    """The logarithm of the integrand, a function of μ and λ = ln σ, for one class and column."""

    kappa: float
    a: float
    b: float
    centre: Array
    count: Array

    def at(self, mu: Array, log_sd: Array) -> Array:
        inverse, total = np.exp(-log_sd)[:, None], np.zeros(mu.shape)
        for cut in slices(len(mu), max(1, CELLS // max(1, mu.shape[1] * len(self.centre)))):
            middle = (self.centre - mu[cut, :, None]) * inverse[cut, :, None]
            total[cut] = log_interval(middle, inverse[cut, :, None]) @ self.count
        squares = (self.b + 0.5 * self.kappa * mu**2) * inverse**2
        constant = np.log(2) + self.a * np.log(self.b) - gammaln(self.a) + 0.5 * (np.log(self.kappa) - LOG_2PI)
        return constant - (2 * self.a + 1) * log_sd[:, None] - squares + total

    def slopes(self, mu: Array, log_sd: Array) -> tuple[Array, Array]:
        """For each λ, compute σ f'(μ) and -σ² f''(μ), where f is the log integrand."""
        inverse = np.exp(-log_sd)[:, None]
        middle = (self.centre - mu[:, None]) * inverse
        with np.errstate(all="ignore"):
            ends = middle + 0.5 * inverse * np.array([[[-1.0]], [[1.0]]])
            low, high = np.exp(-0.5 * (ends**2 + LOG_2PI) - log_interval(middle, inverse))
            first, second = low - high, ends[1] * high - ends[0] * low
            narrow = inverse < 1e-4
            first, second = np.where(narrow, middle, first), np.where(narrow, 1.0, second + first**2)
        return first @ self.count - self.kappa * mu * inverse[:, 0], second @ self.count + self.kappa

    def peaks(self, log_sd: Array) -> Array:
        """The μ that maximizes the integrand, one number per λ."""
        ends, sd = np.append(self.centre, 0.0), np.exp(log_sd)
        low, high = np.full(len(log_sd), ends.min() - 1.0), np.full(len(log_sd), ends.max() + 1.0)
        mu = np.full(len(log_sd), self.count @ self.centre / max(self.kappa + self.count.sum(), self.kappa))
        for _ in range(60):
            slope, bend = self.slopes(mu, log_sd)
            low, high = np.where(slope > 0, mu, low), np.where(slope > 0, high, mu)
            with np.errstate(all="ignore"):
                after = mu + sd * slope / bend
            after = np.where((after > low) & (after < high), after, 0.5 * (low + high))
            small = np.abs(after - mu) <= 0.02 * sd / np.sqrt(np.maximum(bend, self.kappa))
            mu = after
            if small.all():
                break
        return mu

    def bounds(self, log_sd: Array) -> tuple[Array, Array, Array]:
        """For each λ, the lower and upper bound of integration over μ, and the approximate log integral."""
        peak, sides = self.peaks(log_sd), []
        top = self.at(peak[:, None], log_sd)[:, 0]
        for side in (-1.0, 1.0):
            far = 8.0 * np.exp(log_sd) / np.sqrt(self.kappa + max(self.count.sum(), 0.0))
            near = np.zeros_like(far)
            for _ in range(40):
                inside = self.at((peak + side * far)[:, None], log_sd)[:, 0] > top - DEEP
                if not inside.any():
                    break
                near, far = np.where(inside, far, near), np.where(inside, 1.5 * far, far)
            for _ in range(2):
                middle = 0.5 * (near + far)
                inside = self.at((peak + side * middle)[:, None], log_sd)[:, 0] > top - DEEP
                near, far = np.where(inside, middle, near), np.where(inside, far, middle)
            sides.append(peak + side * far)
        return *sides, top + np.log(sides[1] - sides[0])

    def nodes(self) -> Nodes:
        rows, reach = float(self.count.sum()), np.abs(np.append(self.centre, 0.0)).max() + 1.0
        low = 0.5 * np.log(self.b / (self.a + max(rows, 0.0) + 1.0)) - 4.0
        high = np.log(reach + np.sqrt(self.b)) + 4.0 + min(DEEP / max(2 * self.a + rows, 0.1), 200.0)
        for _ in range(8):
            log_sd = np.linspace(low, high, POINTS)
            left, right, level = self.bounds(log_sd)
            inside = np.flatnonzero(level > level.max() - DEEP)
            first, last = max(inside[0] - 1, 0), min(inside[-1] + 1, POINTS - 1)
            low, high = log_sd[first], log_sd[last]
            if len(inside) > POINTS // 4:
                break
        known, sides, n, m = log_sd[first : last + 1], (left[first : last + 1], right[first : last + 1]), 41, 41
        while True:
            log_sd = np.linspace(low, high, n)
            left, right = (np.interp(log_sd, known, side) for side in sides)
            step = (right - left) / (m - 1)
            log_weight = self.at(left[:, None] + step[:, None] * np.arange(m), log_sd)
            log_weight = log_weight + np.log(step)[:, None] + np.log(log_sd[1] - log_sd[0])
            log_total = float(logsumexp(log_weight))
            weight = np.exp(log_weight - log_total)
            # The same rule with half of the nodes: its error is about the square root of the error with all.
            rough = abs(2 * weight[::2].sum() - 1), np.abs(2 * weight[:, ::2].sum(1) - weight.sum(1)).sum()
            if max(rough) < ROUGH or n * m > MOST:
                return Nodes(log_sd, left, step, log_weight - log_total, log_total)
            n, m = (2 * v - 1 if error > ROUGH else v for v, error in zip((n, m), rough, strict=True))


def _integrand(belief: RoundedNormal, cell: tuple[int, int], centre: float = 0.0, more: float = 0.0) -> Nodes:
    """Integration nodes of one class and column, with rows of weight ``more`` added to the interval at ``centre``."""
    c, k = cell
    held = belief.count[cell] != 0
    known, count = belief.centres(belief.value[cell][held], c, k), belief.count[cell][held]
    if more:
        known, count = np.append(known, centre), np.append(count, more)
    unit = float(belief.unit[cell])
    scaled = float(belief.kappa[cell]), float(belief.a[cell]), float(belief.b[cell]) / unit**2
    return _nodes(*scaled, known.tobytes(), count.tobytes())


@lru_cache(1024)
def _nodes(kappa: float, a: float, b: float, centre: bytes, count: bytes) -> Nodes:
    return Integrand(kappa, a, b, np.frombuffer(centre), np.frombuffer(count)).nodes()


@dataclass(frozen=True, eq=False)
class Interval:
    """The predictive probability that one further row lies in a given interval."""

    belief: RoundedNormal
    centre: Array
    """Middle of the interval minus prior mean, in units of rounding, (row, class, column)."""
    more: Array | float = 0.0
    """The weight of additional learned rows in the same interval."""

    def proper(self) -> Array:
        rows = self.belief.count.sum(-1)
        return (2 * self.belief.a + rows + self.more > 0) & (self.belief.kappa + rows + self.more > 0)

    def plus(self, t: float | Array = 1.0) -> Interval:
        return Interval(self.belief, self.centre, self.more + t)

    def along(self, t: float | Array = 1.0) -> Array:
        before = self._sums(self.more)[0] if np.any(self.more) else 0.0
        exists = np.broadcast_to(t > self.floor() if np.any(np.asarray(t) < 0) else True, self.centre.shape)
        return np.where(exists, self._sums(np.where(exists, self.more + t, 0.0))[0] - before, np.inf)

    def slopes(self, t: float | Array = 0.0) -> tuple[Array, Array]:
        return tuple(self._sums(self.more + t, means=True)[1:3])

    def plug_in(self, point: Point) -> Theta:
        if point == "mode":
            raise without_mode(NO_MODE, (0, 0, 0))
        *_, mu, tau = self._sums(self.more, means=True)
        return self.belief.in_units(mu, tau)

    def log_kernel(self, theta: Theta) -> Array:
        return self.belief.log_p(theta, self.centre)

    def drawn_along(self, *, common: CommonDraws) -> Array:
        more = np.broadcast_to(self.more, self.centre.shape)
        found = np.empty((common.draws, *self.centre.shape))
        for c, k in np.ndindex(self.belief.count.shape[:2]):
            u = common.of_cell(3, c, k).random((3, common.draws))
            for nodes, rows, log_weight, _ in self._weights(c, k, more[:, c, k]):
                for row, weight in zip(rows, log_weight, strict=True):
                    mu, log_sd = nodes.drawn(weight, u)
                    found[:, row, c, k] = log_interval((self.centre[row, c, k] - mu) * np.exp(-log_sd), np.exp(-log_sd))
        return found

    def floor(self) -> Array:
        # As σ → ∞, the integrand decreases as σ^-(2a + n + t), for n rows. As σ → 0, the integrand becomes exp(-τ G(μ))
        # with 2 G(μ) = 2b + κμ² + Σ_k n_k d_k(μ)² + t d(μ)², where d is the distance of μ from the interval. The
        # minimum of G must be positive. So -t must be less than the minimum of (2 G(μ) at t = 0) / d(μ)². Between the
        # ends of intervals, this ratio is quadratic in 1 / d(μ).
        found = np.empty(self.centre.shape)
        belief = self.belief
        for c, k in np.ndindex(self.belief.count.shape[:2]):
            held = belief.count[c, k] != 0
            known, count = belief.centres(belief.value[c, k][held], c, k), belief.count[c, k][held]
            ends = np.unique(np.concatenate([known - 0.5, known + 0.5]))
            b, kappa = 2 * belief.b[c, k] / belief.unit[c, k] ** 2, belief.kappa[c, k]
            least = np.full(len(self.centre), kappa + count.sum())
            least = np.minimum(least, 2 * belief.a[c, k] + count.sum())
            for side in (-1.0, 1.0):
                # μ beyond the end of the cell on this side, at distance 1 / w from it; pieces between other ends.
                end = self.centre[:, c, k] + 0.5 * side
                apart = np.sort(np.maximum(side * (ends - end[:, None]), 0.0), axis=1)
                apart = np.concatenate([np.zeros((len(end), 1)), apart, np.full((len(end), 1), np.inf)], axis=1)
                inside = np.where(np.isfinite(apart[:, 1:]), 0.5 * (apart[:, :-1] + apart[:, 1:]), apart[:, :-1] + 1.0)
                mu = end[:, None] + side * inside
                # 2 G = α x² + 2 β x + γ in the distance x from the end.
                alpha, beta, gamma = kappa + 0 * mu, kappa * side * end[:, None] + 0 * mu, b + kappa * end[:, None] ** 2
                for centre, weight in zip(known, count, strict=True):
                    near = np.where(mu > centre, centre + 0.5, centre - 0.5)
                    own = weight * (np.abs(mu - centre) > 0.5)
                    gap = end[:, None] - near
                    alpha, beta, gamma = alpha + own, beta + own * side * gap, gamma + own * gap**2
                with np.errstate(divide="ignore", invalid="ignore"):
                    lowest, highest = 1 / apart[:, 1:], 1 / apart[:, :-1]
                    w = np.clip(np.where(gamma > 0, -beta / gamma, highest), lowest, highest)
                    value = alpha + 2 * beta * w + gamma * w * w
                    value = np.where((highest > lowest) & np.isfinite(w), value, np.inf)
                least = np.minimum(least, value.min(axis=1))
            found[:, c, k] = -least
        return found - self.more

    def _weights(self, c: int, k: int, more: Array) -> Iterator[tuple[Nodes, Array, Array, Array | None]]:
        """For each group of rows, yield (nodes, rows, log weights of nodes, ln P(interval of the row) at nodes)."""
        nodes = _integrand(self.belief, (c, k))
        for rows in slices(len(more), max(1, CELLS // nodes.log_weight.size)):
            own, weight = np.arange(len(more))[rows], more[rows]
            log_weight = np.broadcast_to(nodes.log_weight, (len(own), *nodes.log_weight.shape))
            log_p = None
            if weight.any():
                log_p = nodes.log_p(self.centre[own, c, k])
                log_weight = log_weight + weight[:, None, None] * log_p
                sound = nodes.reaches(log_weight)
                for row in own[~sound]:
                    there = _integrand(self.belief, (c, k), float(self.centre[row, c, k]), float(more[row]))
                    shift = there.log_total - nodes.log_total
                    yield there, np.array([row]), (there.log_weight + shift)[None], None
                if not sound.all():
                    own, log_weight, log_p = own[sound], log_weight[sound], log_p[sound]
            if len(own):
                yield nodes, own, log_weight, log_p

    def _sums(self, more: Array | float, means: bool = False) -> Array:
        more = np.broadcast_to(more, self.centre.shape)
        found = np.empty((5, *self.centre.shape))
        for c, k in np.ndindex(self.belief.count.shape[:2]):
            for nodes, rows, log_weight, log_p in self._weights(c, k, more[:, c, k]):
                top = log_weight.max((1, 2))
                weight = np.exp(log_weight - top[:, None, None])
                size = weight.sum((1, 2))
                found[0, rows, c, k] = top + np.log(size)
                if not means:
                    continue
                weight /= size[:, None, None]
                log_p = nodes.log_p(self.centre[rows, c, k]) if log_p is None else log_p
                mean = (weight * log_p).sum((1, 2))
                away = np.where(weight > 0, log_p - mean[:, None, None], 0.0)
                tau = np.exp(-2 * nodes.log_sd)[:, None]
                found[1:, rows, c, k] = (
                    mean, (weight * away**2).sum((1, 2)),
                    (weight * nodes.mu).sum((1, 2)), (weight * tau).sum((1, 2)),
                )  # fmt: skip
        return found


NO_MODE = "the mode of the mean and precision of rounded values has no closed form"


@dataclass(frozen=True, eq=False, repr=False)
class RoundedNormal(Prior):
    """(μ, τ) of a Normal whose values are known only to lie in intervals.

    The density of (μ, τ) is proportional to the density of ``NormalGamma(m, kappa, a, b)`` times ∏ P(interval)^count.

    Parameters
    ----------
    m, kappa, a, b : arrays (class, column)
        See :class:`NormalGamma`.
    unit : array (class, column)
        The length of each interval.
    middle : array (class, column)
        Middle of the interval minus value: 0 if rounded to the nearest unit, unit / 2 if rounded down.
    value, count : arrays (class, column, level)
        Distinct values, padded with NaN, and their weights.
    """

    parameters = ("mu", "tau")

    m: Array
    kappa: Array
    a: Array
    b: Array
    unit: Array
    middle: Array
    value: Array = field(repr=False)
    count: Array = field(repr=False)

    strengths: ClassVar[Mapping[str, tuple[str, ...]]] = NormalGamma.strengths

    @property
    def before(self) -> NormalGamma:
        return NormalGamma(self.m, self.kappa, self.a, self.b)

    def proper(self) -> Array:
        return self.before.proper()

    def centres(self, value: Array, c: Any, k: Any) -> Array:
        """The distance of the middle of each interval from the prior mean, divided by the interval length ``unit``."""
        return ((value - self.m[c, k]) + self.middle[c, k]) / self.unit[c, k]

    def _of_levels(self, value: Array) -> Array:
        return np.moveaxis(self.centres(np.moveaxis(np.nan_to_num(value), -1, 0), slice(None), slice(None)), 0, -1)

    def in_units(self, mu: Array, tau: Array) -> Theta:
        return self.theta(self.m + mu * self.unit, tau / self.unit**2)

    def log_p(self, theta: Theta, centre: Array) -> Array:
        """Log probability of the interval around ``centre`` given θ."""
        inverse = np.sqrt(theta["tau"]) * self.unit
        return log_interval((centre - ((theta["mu"] - self.m) + theta["low"]) / self.unit) * inverse, inverse)

    def cell(self, x: Array) -> Interval:
        x = np.where(np.isnan(x), 0.0, x)[:, None]
        return Interval(self, self.centres(x, slice(None), slice(None)))

    def _each(self, what: Callable[[Nodes], Any]) -> Array:
        self.require_proper("An integral")
        found = [what(_integrand(self, cell)) for cell in np.ndindex(self.m.shape)]
        return np.reshape(found, (*self.m.shape, *np.shape(found)[1:]))

    @property
    def log_total(self) -> Array:
        """Log probability that all values lie in their intervals, (class, column)."""
        return self._each(lambda nodes: nodes.log_total)

    def moments(self) -> tuple[Array, Array, Array, Array]:
        """Means and variances of μ and τ, on a scale on which the prior mean is 0 and the interval length 1."""

        def of(nodes: Nodes) -> list[float]:
            weight, mu, tau = np.exp(nodes.log_weight), nodes.mu, np.exp(-2 * nodes.log_sd)[:, None]
            means = [(weight * v).sum() for v in (mu, tau)]
            return means + [(weight * (v - mean) ** 2).sum() for v, mean in zip((mu, tau), means, strict=True)]

        return tuple(np.moveaxis(self._each(of), -1, 0))

    def mean(self) -> tuple[Array, Array]:
        mu, tau, *_ = self.moments()
        return self.m + mu * self.unit, tau / self.unit**2

    def variance(self) -> tuple[Array, Array]:
        *_, of_mu, of_tau = self.moments()
        # Without two rows, the tails of μ may be too heavy for a variance.
        finite = self.a + self.count.sum(-1) / 2 > 1
        return np.where(finite, of_mu * self.unit**2, np.inf), of_tau / self.unit**4

    def mode(self) -> Any:
        raise without_mode(NO_MODE)

    def log_prob_of_each(self, theta: Theta) -> tuple[Array, ...]:
        of_mu, of_tau = self.before.log_prob_of_each(theta)
        return of_mu, of_tau + self.log_kernel_of(theta, self.value, self.count) - self.log_total

    def log_kernel_of(self, theta: Theta, value: Array, count: Array) -> Array:
        wide = {name: v[..., None] for name, v in theta.items()}
        centre = self._of_levels(value)
        inverse = np.sqrt(wide["tau"]) * self.unit[..., None]
        away = ((wide["mu"] - self.m[..., None]) + wide["low"]) / self.unit[..., None]
        return np.where(count != 0, count * log_interval((centre - away) * inverse, inverse), 0.0).sum(-1)

    def log_jacobian(self, theta: Theta) -> Array:
        return self.before.log_jacobian(theta)

    def log_normalizer(self) -> Array:
        return self.before.log_normalizer() + self.log_total

    # Data are d = (value, count), (class, column, level); single cells are an ``Interval``.

    def plus(self, value: Array, count: Array, t: float | Array = 1.0) -> RoundedNormal:
        columns = [np.unique(np.concatenate([v, w])) for v, w in zip(self.value[0], value[0], strict=True)]
        columns = [each[~np.isnan(each)] for each in columns]
        shape = (*self.count.shape[:2], max(map(len, columns), default=0))
        joined, total = np.full(shape, np.nan), np.zeros(shape)
        for k, each in enumerate(columns):
            joined[:, k, : len(each)] = each
            for values, counts, factor in ((self.value, self.count, 1.0), (value, count, t)):
                known = ~np.isnan(values[0, k])
                total[:, k, np.searchsorted(each, values[0, k][known])] += factor * counts[:, k, known]
        return self._with(value=joined, count=total)

    def along(self, value: Array, count: Array, t: float | Array = 1.0) -> Array:
        return self.plus(value, count, t).log_total - self.log_total

    def slopes(self, value: Array, count: Array, t: float | Array = 0.0) -> tuple[Array, Array]:
        believed = self.plus(value, count, t)
        centre = believed._of_levels(value)

        def of(nodes: Nodes, cell: tuple[int, int]) -> tuple[float, float]:
            log_p = np.tensordot(count[cell], nodes.log_p(centre[cell]), 1)
            weight = np.exp(nodes.log_weight)
            mean = (weight * log_p).sum()
            return mean, (weight * (log_p - mean) ** 2).sum()

        found = [of(_integrand(believed, cell), cell) for cell in np.ndindex(self.m.shape)]
        return tuple(np.moveaxis(np.reshape(found, (*self.m.shape, 2)), -1, 0))

    def floor(self, value: Array, count: Array) -> Array:
        return -np.minimum(2 * self.a, self.kappa) / count.sum(-1)

    def drawn_along(self, value: Array, count: Array, *, common: CommonDraws) -> Array:
        return self.log_kernel_of(self.draw_theta(common.generator(), (common.draws,)), value, count)[:, None]

    @staticmethod
    def peak(*d: Array) -> Array:
        return np.zeros(())

    @staticmethod
    def log_kernel(theta: Theta, *d: Array) -> Array:
        raise TypeError("the likelihood of intervals needs their unit: see log_kernel_of")

    @staticmethod
    def pymc_likelihood(theta: Mapping[str, Any], *d: Any) -> Any:
        raise TypeError("the likelihood of intervals needs their unit: see pymc_log_p")

    theta = NormalGamma.theta

    def draw_theta(self, rng: Generator, size: Size = ()) -> Theta:
        u = rng.random((3, int(np.prod(size)), *self.m.shape))
        mu, log_sd = np.empty((2, *u.shape[1:]))
        for cell in np.ndindex(self.m.shape):
            nodes = _integrand(self, cell)
            mu[:, *cell], log_sd[:, *cell] = nodes.drawn(nodes.log_weight, u[:, :, *cell])
        shape = (*size, *self.m.shape)
        return self.in_units(np.reshape(mu, shape), np.reshape(np.exp(-2 * log_sd), shape))

    def pymc(self, name: Callable[[str], str], dims: tuple[str, ...]) -> Any:
        import pymc as pm

        mu, tau = self.before.pymc(name, dims)
        if self.count.any():
            value, unit = shared(np.nan_to_num(self.value) + self.middle[..., None]), shared(self.unit[..., None])
            log_p = pymc_log_interval(mu[..., None], tau[..., None], value, unit)
            pm.Potential(name("intervals"), (shared(self.count) * log_p).sum())
        return mu, tau


def pymc_log_interval(mu: Any, tau: Any, centre: Any, unit: Any) -> Any:
    """``numerics.log_interval`` as a tensor."""
    from pytensor import tensor as pt

    root = pt.sqrt(tau)
    middle, width = -pt.abs(centre - mu) * root, unit * root

    def log_cdf(z: Any) -> Any:
        # PyMC's own function takes the root of 2 in single precision.
        tail, root_two = pt.minimum(z, 0.0), np.sqrt(2.0)
        below = pt.log(0.5 * pt.erfcx(-tail / root_two)) - 0.5 * tail**2
        return pt.switch(z < 0, below, pt.log1p(-0.5 * pt.erfc(pt.maximum(z, 0.0) / root_two)))

    low, high = log_cdf(middle - 0.5 * width), log_cdf(middle + 0.5 * width)
    series = pt.log(width) - 0.5 * (LOG_2PI + middle**2)
    narrow = width * (1 + pt.abs(middle)) < 1e-3
    return pt.switch(narrow, series, high + pt.log1mexp(pt.switch(narrow, -1.0, low - high)))
