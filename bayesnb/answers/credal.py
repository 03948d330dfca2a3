"""Class probabilities under a set of priors: their lower and upper bounds, and the classes that no other one dominates.

Nominal columns and the class probabilities have the *imprecise Dirichlet model* (Walley 1996) of the naive credal
classifier (Zaffalon 2002; Corani and Zaffalon 2008): all Dirichlet priors of total concentration s. A prior of the set
gives class c the concentration s t_c, with Σ_c t_c = 1, and level a of column i in class c the concentration
s t_{c,a,i}, with Σ_a t_{c,a,i} = t_c. All t are above 0. Under it

    p(c, x) ∝ J_c = g_c (n_c + s t_c) ∏_i (n_{c,x_i} + s t_{c,x_i,i}) / (n_{c,i} + s t_c),

where g_c is what is the same under all priors: the predictive of the other columns. For given t_c, the smallest J_c has
t_{c,x_i,i} = 0 in every column, the largest has t_c; call their logarithms f_c(t_c) and h_c(t_c). Then

* f is convex and, if a nominal column is seen, falling; h is concave and rising (n_{c,i} ≤ n_c);
* class k dominates c if J_k > J_c under every prior: if min over t of f_k(t) - h_c(1 - t) is above 0, a convex problem;
* the upper probability of c is 1 / (1 + min Σ_{k≠c} exp(f_k(t_k) - h_c(t_c))) over the simplex, a convex problem;
* the lower probability is 1 / (1 + max Σ_{k≠c} exp(h_k(t_k) - f_c(t_c))). Where no learned cell is missing, exp(h_k) is
  convex, so that the maximum has only one t_k beside t_c: a search in one dimension for each k. With missing cells
  and more than two classes it is found by exchanges of shares, a local search.

Start with :class:`Bounds` and :func:`credal`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.special import expit

from bayesnb.kernels.blocks import slices
from bayesnb.numerics import Array, log

LEAST = 1e-12
"""The smallest share t, in place of 0, which is not in the set."""

HALVINGS = 48
"""Steps of a bisection: the interval that is left is 4e-15 of the first."""

GRID = 17
"""Points of the first search in one dimension where a problem is not convex."""

SECTIONS = 28
"""Steps of a golden section: the interval that is left is 1e-6 of the first, and the error of a maximum its square."""

SWEEPS = 12
"""The most sweeps of exchanges between all pairs of classes."""

CELLS = 2**18
"""Numbers that are computed with at once."""


@dataclass(frozen=True, eq=False)
class Bounds:
    """The logarithms f and h of the smallest and largest J, as functions of t.

    Parameters
    ----------
    low, high : array (row, class)
        What of ln J does not depend on t, at its smallest and largest.
    rows : array (class,) or None
        The learned rows of each class; ``None`` if the class probabilities are in ``low`` and ``high``.
    own_low, own_high : array (row, class, column)
        The learned cells that equal the cell of the row, at least and at most; NaN where the cell is missing.
    seen : array (class, column)
        The learned cells of each column.
    s : float
    """

    low: Array
    high: Array
    rows: Array | None
    own_low: Array
    own_high: Array
    seen: Array
    s: float

    def part(self, cut: slice) -> Bounds:
        """Some of the rows."""
        rows = (self.low[cut], self.high[cut], self.rows, self.own_low[cut], self.own_high[cut])
        return Bounds(*rows, self.seen, self.s)

    def f(self, t: Array) -> Array:
        """ln of the smallest J at shares t, (..., row, class)."""
        return self._log_j(t, self.low, self.own_low, 0.0)

    def h(self, t: Array) -> Array:
        """ln of the largest J at shares t, (..., row, class)."""
        return self._log_j(t, self.high, self.own_high, 1.0)

    def _log_j(self, t: Array, base: Array, own: Array, added: float) -> Array:
        u = self.s * np.maximum(t, LEAST)
        each = log(own + added * u[..., None]) - np.log(self.seen + u[..., None])
        total = base + np.where(np.isnan(own), 0.0, each).sum(axis=-1)
        return total if self.rows is None else total + np.log(self.rows + u)

    def f_slope(self, t: Array) -> Array:
        """The derivative of f."""
        return self._slope(t, self.own_low, 0.0)

    def h_slope(self, t: Array) -> Array:
        """The derivative of h."""
        return self._slope(t, self.own_high, 1.0)

    def _slope(self, t: Array, own: Array, added: float) -> Array:
        u = self.s * np.maximum(t, LEAST)
        each = (added / (own + u[..., None]) if added else 0.0) - 1 / (self.seen + u[..., None])
        total = np.where(np.isnan(own), 0.0, each).sum(axis=-1)
        return self.s * (total if self.rows is None else total + 1 / (self.rows + u))


def credal(bounds: Bounds) -> tuple[Array, Array, Array]:
    """Lower and upper probabilities, (row, class), and which class dominates which, (row, class, class).

    ``dominates[i, k, c]`` says that class k is more probable than c in row i under every prior of the set.
    """
    n, classes, columns = bounds.own_low.shape
    parts = [_block(bounds.part(cut)) for cut in slices(n, max(1, CELLS // (GRID * classes**2 * max(1, columns))))]
    if not parts:
        return np.empty((0, classes)), np.empty((0, classes)), np.empty((0, classes, classes), bool)
    lower, upper, dominates = (np.concatenate(part) for part in zip(*parts, strict=True))
    return lower, upper, dominates


def _block(bounds: Bounds) -> tuple[Array, Array, Array]:
    ratio = _smallest_ratios(bounds)
    classes = ratio.shape[1]
    # A difference of rounding errors is no dominance.
    dominates = (ratio > 1e-9) & ~np.eye(classes, dtype=bool)
    if classes == 2:
        upper = np.stack([expit(-ratio[:, 1, 0]), expit(-ratio[:, 0, 1])], axis=1)
        return 1 - upper[:, ::-1], upper, dominates
    if classes == 1:
        return np.ones(bounds.low.shape), np.ones(bounds.low.shape), dominates
    return _lower(bounds), _upper(bounds), dominates


def _smallest_ratios(bounds: Bounds) -> Array:
    """Min over t of f_k(t) - h_c(1 - t), (row, k, c): by bisection, since the slope rises."""
    n, classes = bounds.low.shape
    low, high = np.zeros((2, n, classes, classes))
    high += 1.0

    def by(function: str, t: Array, axis: int) -> Array:
        # One axis of t is the class of the function; the other one leads.
        moved = np.moveaxis(t, 2 if axis == 1 else 1, 0)
        return np.moveaxis(getattr(bounds, function)(moved), 0, 2 if axis == 1 else 1)

    for _ in range(HALVINGS):
        t = (low + high) / 2
        falls = by("f_slope", t, 1) + by("h_slope", 1 - t, 2) < 0
        low, high = np.where(falls, t, low), np.where(falls, high, t)
    found = np.full(low.shape, np.inf)
    for t in ((low + high) / 2, np.zeros_like(low), np.ones_like(low)):
        found = np.fmin(found, by("f", t, 1) - by("h", 1 - t, 2))
    return found


def _upper(bounds: Bounds) -> Array:
    """Upper probabilities, (row, class).

    At the minimum, all -d exp(f_k)/dt_k are one multiplier μ, except where t_k is 0 or 1. They fall in t_k, so each t_k
    follows from μ by bisection. As μ grows, t_c = 1 - Σ t_k grows, and with it the slope of the objective along t_c; so
    μ itself follows by bisection.
    """
    n, classes = bounds.low.shape
    others = ~np.eye(classes, dtype=bool)[:, None, :]  # (c, row, k)

    def log_price(t: Array) -> Array:
        """The logarithm of -d exp(f)/dt."""
        return log(np.maximum(-bounds.f_slope(t), 0.0)) + bounds.f(t)

    def shares(log_mu: Array) -> Array:
        low, high = np.zeros((classes, n, classes)), np.ones((classes, n, classes))
        for _ in range(HALVINGS):
            t = (low + high) / 2
            dear = log_price(t) > log_mu[..., None]
            low, high = np.where(dear, t, low), np.where(dear, high, t)
        # Below the first step, the price is too low at every t.
        return np.where(others & (low > 0), high, 0.0)

    def judged(log_mu: Array) -> tuple[Array, Array]:
        t = shares(log_mu)
        rest = 1 - t.sum(axis=-1)
        value = np.logaddexp.reduce(np.where(others, bounds.f(t), -np.inf), axis=-1)
        own = np.clip(rest, 0.0, 1.0)
        slope = np.stack([bounds.h_slope(np.tile(own[c][:, None], classes))[:, c] for c in range(classes)])
        best = np.stack([bounds.h(np.tile(own[c][:, None], classes))[:, c] for c in range(classes)])
        with np.errstate(invalid="ignore"):
            too_small = (rest < 0) | (log_mu - value < log(slope))
        return too_small, value - best

    ends = [np.where(others, log_price(np.full((1, 1, classes), end)), np.nan) for end in (1.0, 0.0)]
    finite = np.where(np.isfinite(ends), ends, np.nan)
    least = np.nan_to_num(np.fmin.reduce(finite[0], axis=-1), nan=0.0) - 50.0
    most = np.nan_to_num(np.fmax.reduce(finite[1], axis=-1), nan=0.0) + 1.0
    least = np.minimum(least, most - 100.0)
    for _ in range(HALVINGS):
        middle = (least + most) / 2
        small, _ = judged(middle)
        least, most = np.where(small, middle, least), np.where(small, most, middle)
    return expit(-judged(most)[1]).T


def _lower(bounds: Bounds) -> Array:
    """Lower probabilities, (row, class).

    For each other class, the shares of the two are searched, those of the others being 0. Where learned cells are
    missing, exp(h) may be concave, and more shares may differ from 0: then shares are exchanged between all pairs of
    classes in turn, from the best of these points and from equal shares, until nothing is gained.
    """
    n, classes = bounds.low.shape
    complete = bounds.rows is not None and (bounds.seen >= bounds.rows[:, None]).all()
    found = np.empty((n, classes))
    for c in range(classes):
        others = [k for k in range(classes) if k != c]
        alone = np.tile(np.eye(classes)[c], (n, 1))
        each = [_exchanged(bounds, c, alone, c, k) for k in others]
        best = np.argmax([_odds_against(bounds, c, t) for t in each], axis=0)
        t = np.stack(each)[best, np.arange(n)]
        found[:, c] = _odds_against(bounds, c, t)
        for start in [] if complete else [t, np.full_like(t, 1 / classes)]:
            t, before = start, _odds_against(bounds, c, start)
            for _ in range(SWEEPS):
                for a, b in combinations(range(classes), 2):
                    t = _exchanged(bounds, c, t, a, b)
                now = _odds_against(bounds, c, t)
                if (now <= before + 1e-10).all():
                    break
                before = now
            found[:, c] = np.maximum(found[:, c], _odds_against(bounds, c, t))
    return expit(-found)


def _odds_against(bounds: Bounds, c: int, t: Array) -> Array:
    """ln Σ_{k≠c} exp(h_k(t_k) - f_c(t_c)) at shares t, (..., row, class), as (..., row)."""
    others = np.arange(t.shape[-1]) != c
    return np.logaddexp.reduce(bounds.h(t)[..., others], axis=-1) - bounds.f(t)[..., c]


def _exchanged(bounds: Bounds, c: int, t: Array, a: int, b: int) -> Array:
    """The shares after the best exchange between classes a and b: the best of a grid, and golden sections around it."""
    both = t[:, a] + t[:, b]

    def at(share: Array) -> Array:
        moved = np.array(np.broadcast_to(t, (*share.shape, t.shape[1])))
        moved[..., a], moved[..., b] = share * both, (1 - share) * both
        return moved

    points = np.linspace(0, 1, GRID)
    value = _odds_against(bounds, c, at(np.repeat(points[:, None], len(t), axis=1)))
    best = value.argmax(axis=0)
    low, high = points[np.maximum(best - 1, 0)], points[np.minimum(best + 1, GRID - 1)]
    golden = (np.sqrt(5) - 1) / 2
    for _ in range(SECTIONS):
        one, two = high - golden * (high - low), low + golden * (high - low)
        left = _odds_against(bounds, c, at(one)) > _odds_against(bounds, c, at(two))
        low, high = np.where(left, low, one), np.where(left, two, high)
    middle = (low + high) / 2
    return at(np.where(_odds_against(bounds, c, at(middle)) >= value.max(axis=0), middle, points[best]))
