"""The prior of a density without a shape: a Pólya tree with optional stopping.

Start with :class:`BetaTree`. Two helpers do the work: :func:`splits` turns numbers of cells into numbers of nodes, and
:func:`climb` sums over all ways to stop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy.special import softmax, xlogy

from bayesnb.numerics import Array, Size, log, log_gamma_draw, log_gamma_slopes, log_rising
from bayesnb.priors.belief import BoundaryError, Prior, Theta, first, shared, spread
from bayesnb.priors.beta import Beta
from bayesnb.priors.common_draws import CommonDraws

DEPTH = 6
"""How often a column is halved."""

CELLS = 2**DEPTH
NODES = CELLS - 1

HERE = [slice(2**d - 1, 2 ** (d + 1) - 1) for d in range(DEPTH)]
"""Where the nodes of each depth stand among all nodes."""

LEVEL = np.repeat(np.arange(DEPTH), 2 ** np.arange(DEPTH))
"""The depth of each node. Nodes are numbered level by level, the root first."""


MIXED = (
    "a tree whose nodes may stop is a mixture of many densities, whose mode has no closed form; use the mean "
    '(estimate="mean" or "predictive"), or BetaTree(stop=0)'
)


@dataclass(frozen=True, eq=False, repr=False)
class BetaTree(Prior):
    """A density that is halved again and again, each time in shares θ and 1 - θ (Lavine 1992; Wong and Ma 2010).

    Each node of a dyadic tree either *splits* or *stops*; below a node that stops, all nodes stop. At depth d, the
    share θ of the left half is Beta(s q, s (1 - q)), where q is the share of the column as a whole, and the strength s
    is ``strength`` · ``growth``^d where the node splits and the far larger ``near`` where it stops. So a class that is
    distributed as the column is has little to learn, and the others learn their own density where they differ. Which
    nodes stop is summed out in closed form, as in context-tree weighting (Willems, Shtarkov and Tjalkens 1995).

    Parameters
    ----------
    strength : float
        Rows that the share of the column counts for at the root, where it splits.
    growth : float
        By how much this strength grows with each level: above 1, details are believed later than the large shape.
    stop : float
        Probability that a node stops, if those above it split.
    near : float
        Strength where nodes stop, in rows.
    share : float, array (class, column, node) or None
        The share q of the left half of each node. ``None`` is the share of the whole column.
    left, right : arrays (class, column, node)
        Rows that were seen in the halves of each node; nothing else changes with data.

    Examples
    --------
    >>> BetaTree().over(np.ones((1, 64)), 2).mean().shape  # (class, column, node)
    (2, 1, 63)
    """

    _where_none = "pooled"
    parameters = ("share",)

    strength: float | Array = 4.0
    growth: float | Array = 2.0
    stop: float | Array = 0.5
    near: float | Array = 10_000.0
    share: Any = None
    left: Any = field(default=None, repr=False)
    right: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name in ("strength", "growth", "near"):
            value = np.asarray(getattr(self, name), float)
            if not np.all(np.isfinite(value) & (value > 0)):
                raise ValueError(f"Expected {name} to be positive and finite; got {value!r}")
            object.__setattr__(self, name, value)
        stop = np.asarray(self.stop, float)
        if not np.all((stop >= 0) & (stop <= 1)):
            raise ValueError(f"Expected stop to be a probability; got {stop!r}")
        object.__setattr__(self, "stop", stop)

    @classmethod
    def flat(cls) -> BetaTree:
        """Uniform shares at all nodes, whose mode is plain counting."""
        return cls(2.0, 1.0, 0.0, share=0.5)

    def over(self, cells: Array, n_classes: int) -> BetaTree:
        """The prior at its full shape.

        Parameters
        ----------
        cells : array (column, cell)
            Weight of each cell of the column as a whole; 0 only where the cell is empty because it has no width.
        n_classes : int
        """
        left, right = splits(cells)
        with np.errstate(invalid="ignore"):
            pooled = left / (left + right)
        # Where one half has no width, or both, there is nothing to learn.
        open_ = (left > 0) & (right > 0)
        pooled = np.where(open_, pooled, np.where(right > 0, 0.0, 1.0))
        share = pooled if self.share is None else np.where(open_, self.share, pooled)
        shape = (n_classes, len(cells))
        nothing = np.zeros((*shape, NODES))
        numbers = {name: spread(getattr(self, name), shape) for name in ("strength", "growth", "stop", "near")}
        return self._with(share=spread(share, nothing.shape), left=nothing, right=nothing, **numbers)

    # The two Beta distributions of each node, and the probabilities of its two states.

    @property
    def open(self) -> Array:
        """Which nodes have two halves that a value can be in, (class, column, node)."""
        return (self.share > 0) & (self.share < 1)

    def beta(self, strength: Any) -> Beta:
        """The shares of nodes at a strength, after the data; uniform where there is nothing to learn.

        Not validated: without a row that a class does not have, a concentration may be negative.
        """
        a, b = strength * self.share + self.left, strength * (1 - self.share) + self.right
        return Beta()._with(alpha=np.where(self.open, a, 1.0), beta=np.where(self.open, b, 1.0))

    @property
    def own(self) -> Beta:
        """The shares where nodes split."""
        return self.beta(self.strength[..., None] * self.growth[..., None] ** LEVEL)

    @property
    def close(self) -> Beta:
        """The shares where nodes stop."""
        return self.beta(self.near[..., None])

    def before(self) -> BetaTree:
        """The belief before the data."""
        return self._with(left=0.0 * self.left, right=0.0 * self.right)

    def _states(self) -> tuple[Array, Array]:
        """ln P(stop) and ln P(split) of each node before the data, given that those above it split."""
        stop = np.where(self.open, self.stop[..., None], 0.0)
        return log(stop), log(1 - stop)

    @cached_property
    def states(self) -> tuple[Array, Array]:
        """ln P(stop) and ln P(split) of each node after the data, given that those above it split."""
        before, d = self.before(), (self.left, self.right)
        return climb(before.close.along(*d), before.own.along(*d), *self._states())[1:]

    def log_splits(self) -> Array:
        """ln of the probability that a node and all those above it split, (class, column, node)."""
        return descend(self.states[1])

    def differs(self) -> Array:
        """The probability that the root splits, (class, column): that a class is unlike the column as a whole."""
        return np.exp(self.states[1][..., 0])

    def proper(self) -> Array:
        return (self.own.proper() | ~self.open).all(-1)

    def mean(self) -> Array:
        split = np.exp(self.log_splits())
        return split * self.own.mean() + (1 - split) * self.close.mean()

    def variance(self) -> Array:
        split, own, close = np.exp(self.log_splits()), self.own, self.close
        between = split * (1 - split) * (own.mean() - close.mean()) ** 2
        return split * own.variance() + (1 - split) * close.variance() + between

    def mode(self) -> Array:
        if (self.stop > 0).any():
            raise BoundaryError(MIXED, first(self.stop > 0))
        return self.own.mode()

    def draw(self, rng: Generator, size: Size = ()) -> Array:
        return np.exp(self._log_draw(rng, size)[0])

    def _log_draw(self, rng: Generator, size: Size) -> tuple[Array, Array]:
        """ln θ and ln (1 - θ) of each node."""
        stops = rng.random((*size, *self.share.shape)) >= np.exp(self.states[1])
        split = descend(np.where(stops, -np.inf, 0.0)) == 0.0
        own, close = self.own, self.close
        a, b = (np.where(split, getattr(own, name), getattr(close, name)) for name in ("alpha", "beta"))
        left, right = (log_gamma_draw(v, rng, ()) for v in (a, b))
        whole = np.logaddexp(left, right)
        return left - whole, right - whole

    def log_prob(self, *theta: Array) -> Array:
        (share,) = theta
        before, (yes, no) = self.before(), (log(share), log(1 - share))
        near, own = ((v.alpha - 1) * yes + (v.beta - 1) * no - v.log_normalizer() for v in (before.close, before.own))
        seen = np.where(self.open, self.left * yes + self.right * no, 0.0).sum(-1)
        return climb(near, own, *self._states())[0] + seen - self.log_normalizer()

    def log_jacobian(self, *theta: Array) -> Array:
        (share,) = theta
        return np.where(self.open, log(share) + log(1 - share), 0.0).sum(-1)

    def log_normalizer(self) -> Array:
        self.require_proper("A density")
        d = self.left, self.right
        return self.before().along(*d) + self.peak(*d)

    def plus(self, left: Array, right: Array, t: float | Array = 1.0) -> BetaTree:
        t = np.asarray(t)[..., None]
        return self._with(left=self.left + t * left, right=self.right + t * right)

    def along(self, left: Array, right: Array, t: float | Array = 1.0) -> Array:
        t = np.asarray(t, float)[..., None]
        near, own = (v.along(left, right, t) for v in (self.close, self.own))
        return climb(near, own, *self.states)[0]

    def slopes(self, left: Array, right: Array, t: float | Array = 0.0) -> tuple[Array, Array]:
        t = np.asarray(t, float)[..., None]
        near, own = ((v.along(left, right, t), *v.slopes(left, right, t)) for v in (self.close, self.own))
        stopped = total = None
        for here, stop, split in list(zip(HERE, *map(levels, self.states), strict=True))[::-1]:
            stops, going = (tuple(v[..., here] for v in each) for each in (near, own))
            if total is not None:
                stops, going = (
                    tuple(v + below[..., ::2] + below[..., 1::2] for v, below in zip(*pair, strict=True))
                    for pair in ((stops, stopped), (going, total))
                )
            stopped, total = stops, mixed([stop, split], [stops, going])
        return total[1][..., 0], total[2][..., 0]

    def floor(self, left: Array, right: Array) -> Array:
        return self.own.floor(left, right).max(-1)

    def drawn_along(self, left: Array, right: Array, *, common: CommonDraws) -> Array:
        theta = self.draw_theta(common.generator(), (common.draws,))
        return self.log_kernel(theta, left, right)[:, None]

    @staticmethod
    def peak(left: Array, right: Array) -> Array:
        return Beta.peak(left, right).sum(-1)

    # θ as the logarithms of the probabilities of cells, with the shares that they come from.

    @classmethod
    def theta(cls, *point: Array) -> Theta:
        (share,) = point
        return {"log_cell": cell_logs(log(share), log(1 - share)), "share": share}

    @classmethod
    def point(cls, theta: Theta) -> tuple[Array, ...]:
        return (theta["share"],)

    def shaped(self, left: Array, right: Array) -> Theta:
        """θ from the logarithms of both shares; a half without width gets nothing, whatever its share is."""
        share = np.exp(left)
        left = np.where(self.open, left, log(self.share))
        right = np.where(self.open, right, log(1 - self.share))
        return {"log_cell": cell_logs(left, right), "share": share}

    def mean_theta(self) -> Theta:
        return {"log_cell": self.log_mean, "share": self.mean()}

    def mode_theta(self) -> Theta:
        mode = self.mode()
        return self.shaped(log(mode), log(1 - mode))

    def draw_theta(self, rng: Generator, size: Size = ()) -> Theta:
        return self.shaped(*self._log_draw(rng, size))

    @cached_property
    def log_mean(self) -> Array:
        """ln of the predictive probability of each cell, (class, column, cell)."""
        return self.log_cells()

    def log_cells(self, less: float = 0.0) -> Array:
        """ln of the predictive probability of each cell, (class, column, cell), without a row of weight ``less`` in it.

        A cell without so much weight in it has NaN.
        """
        cells = np.arange(CELLS)[:, None, None] + np.zeros(self.share.shape[:-1], int)
        path = self.path(cells)
        value = np.moveaxis(np.where(path.floor() < -less, path.plus(-less).along(), np.nan), 0, -1)
        half = np.where(self.open, 0.5, self.share)
        return np.where(np.isneginf(cell_logs(log(half), log(1 - half))), -np.inf, value)

    def path(self, cell: Array) -> Path:
        """The nodes above cells, (..., class, column): all that one further row in the cell changes."""
        node, side = nodes_above(cell)
        classes, columns = np.ogrid[tuple(map(slice, self.share.shape[:-1]))]
        at = (classes[..., None], columns[..., None], node)
        leftward, open_ = side == 0, self.open[at]
        own, close = self.own, self.close
        picked = [np.where(leftward, v.alpha[at], v.beta[at]) for v in (own, close)]
        totals = [v.alpha[at] + v.beta[at] for v in (own, close)]
        # A node with one half only gives it everything: so much is known that no row changes it.
        halves, wholes = ([np.where(open_, v, 1e300) for v in each] for each in (picked, totals))
        return Path(*halves, *wholes, *(v[at] for v in self.states), np.zeros(()))

    @staticmethod
    def log_kernel(theta: Theta, left: Array, right: Array) -> Array:
        (share,) = BetaTree.point(theta)
        return (xlogy(left, share) + xlogy(right, 1 - share)).sum(-1) - BetaTree.peak(left, right)

    # In PyMC the shares are Beta distributed as where nodes split, times what summing over the states makes of it.

    @staticmethod
    def pymc_likelihood(theta: Mapping[str, Any], left: Any, right: Any) -> Any:
        from pytensor import tensor as pt

        return (left * pt.log(theta["share"]) + right * pt.log1p(-theta["share"])).sum()

    def pymc(self, name: Callable[[str], str], dims: tuple[str, ...]) -> Any:
        import pymc as pm
        from pytensor import tensor as pt

        self.require_sampled()
        own, close = self.own, self.close
        share = pm.Beta(name("share"), alpha=shared(own.alpha), beta=shared(own.beta), dims=dims)
        near, split = (
            (v.alpha - 1) * pt.log(share) + (v.beta - 1) * pt.log1p(-share) - v.log_normalizer() for v in (close, own)
        )
        summed = climb(near, split, *self._states(), pt.logaddexp)[0]
        pm.Potential(name("stopping"), (summed - split.sum(-1)).sum())
        return share


@dataclass(frozen=True, eq=False)
class Path:
    """The nodes above a cell, with the methods that a prior has for the data of one trial in that cell.

    With δ further rows in the cell, the evidence changes by the factor R of the root. Let a and A be the concentrations
    of the half that holds the cell and of the node, n and s mark nodes that stop and that split, and [a]_δ be the
    rising factorial Γ(a + δ) / Γ(a). At each node

        R = P(stop) · ∏ [a_n]_δ / [A_n]_δ + P(split) · [a_s]_δ / [A_s]_δ · R_child,

    where the product is over the node and those below it on the path, and R = 1 at the cell.

    Parameters
    ----------
    own, near, own_total, near_total : arrays (..., depth)
    log_stop, log_split : arrays (..., depth)
    offset : array
        The δ that has been added already.
    """

    own: Array
    near: Array
    own_total: Array
    near_total: Array
    log_stop: Array
    log_split: Array
    offset: Array

    def proper(self) -> Array:
        return (self.own + self.offset[..., None] > 0).all(-1)

    def plus(self, t: float | Array = 1.0) -> Path:
        return Path(*list(vars(self).values())[:-1], self.offset + np.asarray(t, float))

    def floor(self) -> Array:
        return -self.own.min(-1) - self.offset

    def mean_theta(self) -> Theta:
        return {"log_cell": self.along()}

    def mode_theta(self) -> Theta:
        """The mode of the cell; only trees whose nodes do not stop have one in closed form."""
        if (may_stop := self.log_stop > -np.inf).any():
            raise BoundaryError(MIXED, first(may_stop)[:-1])
        half, whole = self.own + self.offset[..., None], self.own_total + self.offset[..., None]
        return {"log_cell": log(Beta()._with(alpha=half, beta=whole - half).mode()).sum(-1)}

    @staticmethod
    def log_kernel(theta: Theta) -> Array:
        return theta["log_cell"]

    def along(self, t: float | Array = 1.0) -> Array:
        with np.errstate(invalid="ignore"):
            value = self._log_factor(self.offset + t) - self._log_factor(self.offset)
        return np.where(np.asarray(t) == 0, 0.0, value)

    def _log_factor(self, delta: Array) -> Array:
        delta = delta[..., None]
        own = _rise(self.own, self.own_total, delta)
        near = _rise(self.near, self.near_total, delta)
        total = stopped = 0.0
        for k in range(DEPTH - 1, -1, -1):
            stopped = stopped + near[..., k]
            total = np.logaddexp(self.log_stop[..., k] + stopped, self.log_split[..., k] + own[..., k] + total)
        return total

    def drawn_along(self, *, common: CommonDraws) -> Array:
        delta = self.offset[..., None]
        own, near = _rise(self.own, self.own_total, delta), _rise(self.near, self.near_total, delta)
        none = np.zeros((*own.shape[:-1], 1))
        # The probability that the path stops at each node, or at none: those above split, those below stop with it.
        above = np.concatenate([none, np.cumsum(self.log_split + own, -1)], -1)
        below = np.concatenate([np.cumsum(near[..., ::-1], -1)[..., ::-1] + self.log_stop, none], -1)
        share = np.cumsum(softmax(above + below, -1), -1)[..., :-1]
        columns = range(common.first, common.first + own.shape[-2])
        u = np.stack([common.generator(2, column).random(common.draws) for column in columns], -1)
        stop = (u[:, None, None, :, None] >= share).sum(-1)
        total = np.zeros(stop.shape)
        for k in range(DEPTH):
            drawn = []
            for place, (half, whole) in enumerate(((self.own, self.own_total), (self.near, self.near_total))):
                kind = 3 + 4 * k + 2 * place
                mine = common.log_gamma(half[..., k] + self.offset, kind)
                others = common.log_gamma(whole[..., k] - half[..., k], kind + 1)
                drawn.append(mine - np.logaddexp(mine, others))
            total += np.where(k < stop, *drawn)
        return total

    def slopes(self, t: float | Array = 0.0) -> tuple[Array, Array]:
        delta = (self.offset + t)[..., None]
        own, near = (_rises(*v, delta) for v in ((self.own, self.own_total), (self.near, self.near_total)))
        total = stopped = (0.0, 0.0, 0.0)
        for k in range(DEPTH - 1, -1, -1):
            stopped = tuple(s + v[..., k] for s, v in zip(stopped, near, strict=True))
            going = tuple(s + v[..., k] for s, v in zip(total, own, strict=True))
            total = mixed([self.log_stop[..., k], self.log_split[..., k]], [stopped, going])
        return total[1:]


def mixed(log_weights: Any, terms: Any) -> tuple[Array, Array, Array]:
    """ln Σ w exp f, with its first and second derivative; each term is f with its own two derivatives."""
    values = np.stack(np.broadcast_arrays(*(w + term[0] for w, term in zip(log_weights, terms, strict=True))))
    total = np.logaddexp.reduce(values, axis=0)
    with np.errstate(invalid="ignore"):
        share = np.exp(values - total)
    first = sum(np.where(w > 0, w * term[1], 0.0) for w, term in zip(share, terms, strict=True))
    second = sum(
        np.where(w > 0, w * (term[2] + (term[1] - first) ** 2), 0.0) for w, term in zip(share, terms, strict=True)
    )
    return total, first, second


def _rise(half: Array, whole: Array, delta: Array) -> Array:
    """ln [half]_δ / [whole]_δ, infinite where it does not exist."""
    up, over = log_rising(half, delta), log_rising(whole, delta)
    return np.where(np.isposinf(up), np.inf, up - np.where(np.isposinf(over), 0.0, over))


def _rises(half: Array, whole: Array, delta: Array) -> tuple[Array, Array, Array]:
    """The same with its first and second derivative in δ."""
    up, over = log_gamma_slopes(half + delta), log_gamma_slopes(whole + delta)
    return _rise(half, whole, delta), up[0] - over[0], up[1] - over[1]


def splits(cells: Array) -> tuple[Array, Array]:
    """The sums over both halves of each node, (..., node), of numbers of cells, (..., cell)."""
    left: list[Array] = []
    right: list[Array] = []
    while cells.shape[-1] > 1:
        left.insert(0, cells[..., ::2])
        right.insert(0, cells[..., 1::2])
        cells = left[0] + right[0]
    return np.concatenate(left, axis=-1), np.concatenate(right, axis=-1)


def nodes_above(cell: Array) -> tuple[Array, Array]:
    """The nodes above each cell, the root first, and on which side of them it is, 0 or 1, (..., depth)."""
    path = cell[..., None] >> np.arange(DEPTH - 1, -1, -1)
    return 2 ** np.arange(DEPTH) - 1 + (path >> 1), path & 1


def levels(nodes: Any) -> list[Any]:
    """The nodes of each depth, the root first."""
    return [nodes[..., here] for here in HERE]


def climb(near: Any, own: Any, log_stop: Any, log_split: Any, logaddexp: Any = np.logaddexp) -> tuple[Any, ...]:
    """Sum over all ways to stop, from the log evidence of each node where it stops and where it splits.

    Returns
    -------
    total : array (...)
        The log evidence of the root.
    log_stop, log_split : arrays (..., node)
        The posterior of the two states of each node; only of numpy arrays.
    """
    stopped = total = None
    after: list[tuple[Any, Any]] = []
    for near_, own_, stop, split in list(zip(*map(levels, (near, own, log_stop, log_split)), strict=True))[::-1]:
        if total is not None:
            near_ = near_ + stopped[..., ::2] + stopped[..., 1::2]
            own_ = own_ + total[..., ::2] + total[..., 1::2]
        stopped, total = near_, logaddexp(stop + near_, split + own_)
        after.insert(0, (stop + near_ - total, split + own_ - total))
    if logaddexp is not np.logaddexp:
        return (total[..., 0],)
    return total[..., 0], *(np.concatenate(state, axis=-1) for state in zip(*after, strict=True))


def descend(log_split: Array) -> Array:
    """The sum over each node and those above it."""
    sums = [levels(log_split)[0]]
    for level in levels(log_split)[1:]:
        sums.append(np.repeat(sums[-1], 2, axis=-1) + level)
    return np.concatenate(sums, axis=-1)


def cell_logs(left: Array, right: Array) -> Array:
    """The logarithm of the probability of each cell, from those of both halves of each node."""
    total = np.zeros((*left.shape[:-1], 1))
    for low, high in zip(levels(left), levels(right), strict=True):
        both = np.stack([low, high], axis=-1)
        total = (total[..., None] + both).reshape(*both.shape[:-2], -1)
    return total
