"""Pólya trees: priors for densities of any shape."""

# Nodes are numbered level by level, starting at the root.

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from itertools import accumulate
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from scipy.special import xlogy

from bayesnb.numerics import Array, Size, log
from bayesnb.priors.belief import NOT_NEGATIVE, POSITIVE, Point, Prior, Theta, first, shared, spread, without_mode
from bayesnb.priors.beta import Beta, Outcome
from bayesnb.priors.common_draws import CommonDraws

type Terms = tuple[Any, ...]
"""Logarithms at nodes, alone or with their first and second derivative."""

DEPTH = 6
"""Number of times a column is halved."""

CELLS = 2**DEPTH
NODES = CELLS - 1

HERE = [slice(2**d - 1, 2 ** (d + 1) - 1) for d in range(DEPTH)]
"""Positions of the nodes of each depth among all nodes."""

PATH = [slice(d, d + 1) for d in range(DEPTH)]
"""Position of the node of each depth among the nodes above a cell."""

LEVEL = np.repeat(np.arange(DEPTH), 2 ** np.arange(DEPTH))
"""The depth of each node."""

MIXED = "a tree whose nodes may stop is a mixture of many densities, whose mode has no closed form"


def splits(cells: Array) -> tuple[Array, Array]:
    """For each node, sum ``cells`` (..., cell) over its left half and its right half; return two arrays (..., node)."""
    left: list[Array] = []
    right: list[Array] = []
    while cells.shape[-1] > 1:
        left.insert(0, cells[..., ::2])
        right.insert(0, cells[..., 1::2])
        cells = left[0] + right[0]
    return np.concatenate(left, axis=-1), np.concatenate(right, axis=-1)


def nodes_above(cell: Array) -> tuple[Array, Array]:
    """The nodes above a leaf, (..., depth), and the half of each node in which the leaf is (0: left, 1: right)."""
    path = cell[..., None] >> np.arange(DEPTH - 1, -1, -1)
    return 2 ** np.arange(DEPTH) - 1 + (path >> 1), path & 1


def climb(near: Terms, own: Terms, log_stop: Array, log_split: Array, logaddexp: Any = np.logaddexp) -> Any:
    """The log evidence of a tree whose nodes stop or split, and the posterior ln P(stop), ln P(split) of each node."""
    # ``near`` (for nodes that stop) and ``own`` (for nodes that split) are tuples of arrays (..., node): the log
    # evidence, perhaps followed by its first and second derivatives. The nodes are a whole tree, or a path with one
    # node per depth. The returned pairs start at the root.
    tree, total, stopped, states = log_stop.shape[-1] == NODES, (), (), []
    for here in reversed(HERE if tree else PATH):
        stops, splits = (tuple(v[..., here] for v in each) for each in (near, own))
        if total:
            stops = tuple(v + (w[..., ::2] + w[..., 1::2] if tree else w) for v, w in zip(stops, stopped, strict=True))
            splits = tuple(v + (w[..., ::2] + w[..., 1::2] if tree else w) for v, w in zip(splits, total, strict=True))
        stop, split = log_stop[..., here], log_split[..., here]
        stopped, total = stops, mixed([stop, split], [stops, splits], logaddexp)
        states.insert(0, (stop + stops[0] - total[0], split + splits[0] - total[0]))
    return tuple(v[..., 0] for v in total), states


def mixed(log_weights: Sequence[Any], terms: Sequence[Terms], logaddexp: Any = np.logaddexp) -> Terms:
    """ln Σ exp(log weight + term), also with its first two derivatives if the terms come with derivatives."""
    values = [w + term[0] for w, term in zip(log_weights, terms, strict=True)]
    total = reduce(logaddexp, values)
    if len(terms[0]) == 1:
        return (total,)
    with np.errstate(invalid="ignore"):
        shares = [np.exp(value - total) for value in values]

    def average(each: Iterable[Array]) -> Array:
        return sum(np.where(w > 0, w * value, 0.0) for w, value in zip(shares, each, strict=True))

    first = average(slope for _, slope, _ in terms)
    return total, first, average(second + (slope - first) ** 2 for _, slope, second in terms)


def descend(nodes: Array) -> Array:
    """For each node, the sum of the values of the node and all its ancestors."""
    levels = [nodes[..., here] for here in HERE]
    below = accumulate(levels, lambda above, level: np.repeat(above, 2, axis=-1) + level)
    return np.concatenate(list(below), axis=-1)


def log_cells(left: Any, right: Any, low: Array, high: Array, arrays: Any = np) -> Any:
    """Log probability of each leaf of a tree, from log probabilities of the halves of its nodes, (..., node)."""
    # ``low`` and ``high`` are 0 for a half that cannot hold values, otherwise 1.
    left = arrays.where(high == 0, 0.0, arrays.where(low == 0, -np.inf, left))
    right = arrays.where(high == 0, -np.inf, arrays.where(low == 0, 0.0, right))
    halves = arrays.stack([left, right], axis=-1)
    if arrays is np:
        levels = (halves[..., here, :].reshape(*left.shape[:-1], -1) for here in HERE)
        return reduce(lambda above, level: np.repeat(above, 2, axis=-1) + level, levels)
    node, side = nodes_above(np.arange(CELLS))
    return halves[..., node, side].sum(-1)


class Stopping(ABC):
    """Base class for the nodes of a whole tree, and for the nodes on the path to a leaf."""

    own: Any
    """The distribution of each node's share if the node splits, (..., node)."""

    close: Any
    """The distribution of each node's share if the node stops, (..., node)."""

    states: tuple[Array, Array]
    """ln P(stop) and ln P(split) of each node, given that all its ancestors split."""

    # Data multiply the evidence of a tree by the factor R of its root. At each node, R = P(stop) · ∏ r_stop +
    # P(split) · r_split · ∏ R_child, with the node's own factors r. ∏ r_stop runs over the node and its descendants.

    def along(self, *d: Array, t: float | Array = 1.0) -> Array:
        t = np.asarray(t, float)[..., None]
        near, own = ((v.along(*d, t=t),) for v in (self.close, self.own))
        return climb(near, own, *self.states)[0][0]

    def slopes(self, *d: Array, t: float | Array = 0.0) -> tuple[Array, Array]:
        t = np.asarray(t, float)[..., None]
        near, own = ((v.along(*d, t=t), *v.slopes(*d, t=t)) for v in (self.close, self.own))
        return climb(near, own, *self.states)[0][1:]

    def after(self, states: tuple[Array, Array], *d: Array, t: float | Array = 1.0) -> tuple[Array, Array]:
        near, own = ((v.along(*d, t=t),) for v in (self.close, self.own))
        with np.errstate(invalid="ignore"):
            found = climb(near, own, *states)[1]
        stop, split = (np.concatenate(state, axis=-1) for state in zip(*found, strict=True))
        return stop, split

    def floor(self, *d: Array) -> Array:
        return self.own.floor(*d).max(-1)


@dataclass(frozen=True, eq=False)
class Path(Stopping):
    """The nodes on the path to one leaf of a tree, which determine the leaf's predictive probability."""

    # At each node, the distribution of the probability of the half that contains the cell, (..., depth).
    own: Outcome  # If the node splits.
    close: Outcome  # If splitting stops at the node.
    states: tuple[Array, Array]

    def proper(self) -> Array:
        return (self.own.alpha > 0).all(-1)

    def plus(self, t: float | Array = 1.0) -> Path:
        t = np.asarray(t, float)[..., None]
        return Path(self.own.plus(t=t), self.close.plus(t=t), self.after(self.states, t=t))

    def plug_in(self, point: Point) -> Theta:
        if point == "mean":
            return {"log_cell": self.along()}
        if (may_stop := self.states[0] > -np.inf).any():
            raise without_mode(MIXED, first(may_stop)[:-1], ", or BetaTree(stop=0) in Python")
        return {"log_cell": log(self.own.mode()).sum(-1)}

    @staticmethod
    def log_kernel(theta: Theta) -> Array:
        return theta["log_cell"]

    def drawn_along(self, *, common: CommonDraws) -> Array:
        stop, split = self.states
        # The probability that the path stops at each node, after all its ancestors have split.
        above = np.cumsum(split, -1) - split
        share = np.cumsum(np.exp(above + stop), -1)
        columns = range(common.first, common.first + stop.shape[-2])
        u = np.stack([common.generator(2, column).random(common.draws) for column in columns], -1)
        stopped = (u[:, None, None, :, None] >= share).sum(-1)
        total = np.zeros(stopped.shape)
        for k in range(DEPTH):
            drawn = (
                v._picked((..., k)).drawn_along(common=common, kind=3 + 4 * k + 2 * place)
                for place, v in enumerate((self.own, self.close))
            )
            total += np.where(k < stopped, *drawn)
        return total


@dataclass(frozen=True, eq=False, repr=False)
class BetaTree(Stopping, Prior):
    """A Pólya tree: intervals are halved, and θ is the share of each left half (Lavine 1992, Wong and Ma 2010).

    Each node of a dyadic tree either *splits* or *stops*. If a node stops, all nodes below it stop. The share θ of the
    left half of a node has the prior Beta(s q, s (1 - q)), where q is the left half's share over all classes, and s is
    the strength. The strength s of a node at depth d is ``strength`` · ``growth``^d if the node splits, and ``near`` if
    the node stops. See ``docs/theory/polya-tree.md``.

    Parameters
    ----------
    strength : float
        Strength of the root if the root splits, in rows.
    growth : float
        Factor by which the strength grows with each depth.
    stop : float
        Probability that a node stops, given that all its ancestors split.
    near : float
        Strength of nodes that stop, in rows.
    share : float, array (class, column, node) or None
        The share q; ``None`` computes q from the whole column.
    left, right : arrays (class, column, node)
        Number of rows in each half of each node.

    Examples
    --------
    >>> BetaTree().over(np.ones((1, 64)), 2).mean().shape  # (class, column, node)
    (2, 1, 63)
    """

    _where_none = "pooled"
    parameters = ("share",)
    node_names = tuple(str(k) for k in range(NODES))
    by_name = ("flat",)
    _ranges: ClassVar = {"strength": POSITIVE, "growth": POSITIVE, "near": POSITIVE, "stop": NOT_NEGATIVE}

    strength: float | Array = 4.0
    growth: float | Array = 2.0
    stop: float | Array = 0.5
    near: float | Array = 10_000.0
    share: Any = None
    left: Any = field(default=None, repr=False)
    right: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not np.all(self.stop <= 1):
            raise ValueError(f"Expected stop to be a probability; got {self.stop!r}")

    @classmethod
    def flat(cls) -> BetaTree:
        """Uniform priors, so that the posterior mode equals the relative frequencies."""
        return cls(2.0, 1.0, 0.0, share=0.5)

    def over(self, cells: Array, n_classes: int) -> BetaTree:
        """Expand the prior to arrays (class, column, node).

        ``cells`` (column, cell) holds the weight of each leaf (interval or level): 0 if the leaf cannot hold values.
        """
        left, right = splits(cells)
        with np.errstate(invalid="ignore"):
            pooled = left / (left + right)
        # If a half has no width, there is nothing to learn.
        open_ = (left > 0) & (right > 0)
        pooled = np.where(open_, pooled, np.where(right > 0, 0.0, 1.0))
        share = pooled if self.share is None else np.where(open_, self.share, pooled)
        shape = (n_classes, len(cells))
        nothing = np.zeros((*shape, NODES))
        numbers = {name: spread(getattr(self, name), shape) for name in ("strength", "growth", "stop", "near")}
        return self._with(share=spread(share, nothing.shape), left=nothing, right=nothing, **numbers)

    # The two Beta distributions of each node, and the probabilities that it stops and that it splits.

    @property
    def open(self) -> Array:
        return (self.share > 0) & (self.share < 1)

    def beta(self, strength: Any) -> Beta:
        """For each node, the Beta distribution of the probability of its left half, given ``strength``.

        The distribution is uniform if one half cannot hold values.
        """
        a, b = strength * self.share + self.left, strength * (1 - self.share) + self.right
        return Beta()._with(alpha=np.where(self.open, a, 1.0), beta=np.where(self.open, b, 1.0))

    @property
    def own(self) -> Beta:
        return self.beta(self.strength[..., None] * self.growth[..., None] ** LEVEL)

    @property
    def close(self) -> Beta:
        return self.beta(self.near[..., None])

    def before(self) -> BetaTree:
        return self._with(left=0.0 * self.left, right=0.0 * self.right)

    def _states(self) -> tuple[Array, Array]:
        stop = np.where(self.open, self.stop[..., None], 0.0)
        return log(stop), log(1 - stop)

    @cached_property
    def states(self) -> tuple[Array, Array]:
        learned = self.left.any() or self.right.any()
        return self.before().after(self._states(), self.left, self.right) if learned else self._states()

    def log_splits(self) -> Array:
        return descend(self.states[1])

    def differs(self) -> Array:
        """Posterior probability that a class differs from the whole column, (class, column)."""
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
            raise without_mode(MIXED, first(self.stop > 0), ", or BetaTree(stop=0) in Python")
        return self.own.mode()

    def log_prob_of_each(self, theta: Theta) -> tuple[Array]:
        self.require_proper("A density")
        near, own = ((v.log_prob(theta["share"]),) for v in (self.close, self.own))
        with np.errstate(invalid="ignore"):  # The states of a node are not needed here.
            return climb(near, own, *self.states)[0]

    def log_normalizer(self) -> Array:
        return np.zeros(self.batch_shape)

    def log_jacobian(self, theta: Theta) -> Array:
        share = theta["share"]
        return np.where(self.open, log(share) + log(1 - share), 0.0).sum(-1)

    def plus(self, left: Array, right: Array, t: float | Array = 1.0) -> BetaTree:
        t = np.asarray(t)[..., None]
        return self._with(left=self.left + t * left, right=self.right + t * right)

    def drawn_along(self, left: Array, right: Array, *, common: CommonDraws) -> Array:
        theta = self.draw_theta(common.generator(), (common.draws,))
        return self.log_kernel(theta, left, right)[:, None]

    @staticmethod
    def peak(left: Array, right: Array) -> Array:
        return Beta.peak(left, right).sum(-1)

    # θ: the log probabilities of the cells, and the shares that give them.

    @classmethod
    def theta(cls, *point: Array) -> Theta:
        (share,) = point
        return {"log_cell": log_cells(log(share), log(1 - share), np.ones(NODES), np.ones(NODES)), "share": share}

    def of_shares(self, left: Array, right: Array) -> Theta:
        return {"log_cell": log_cells(left, right, self.share, 1 - self.share), "share": np.exp(left)}

    def plug_in(self, point: Point) -> Theta:
        if point == "mean":
            return {"log_cell": self.log_cells(), "share": self.mean()}
        mode = self.mode()
        return self.of_shares(log(mode), log(1 - mode))

    def draw_theta(self, rng: Generator, size: Size = ()) -> Theta:
        stops = rng.random((*size, *self.share.shape)) >= np.exp(self.states[1])
        split, own, close = descend(np.where(stops, -np.inf, 0.0)) == 0.0, self.own, self.close
        chosen = [np.where(split, getattr(own, name), getattr(close, name)) for name in ("alpha", "beta")]
        log_theta = own._with(alpha=chosen[0], beta=chosen[1]).log_draw(rng)
        return self.of_shares(log_theta[..., 1], log_theta[..., 0])

    def log_cells(self) -> Array:
        cells = np.arange(CELLS)[:, None, None] + np.zeros(self.share.shape[:-1], int)
        exists = np.isfinite(self.of_shares(0.0 * self.share, 0.0 * self.share)["log_cell"])
        return np.where(exists, np.moveaxis(self.path(cells).along(), 0, -1), -np.inf)

    def path(self, cell: Array) -> Path:
        node, side = nodes_above(cell)
        classes, columns = np.ogrid[tuple(map(slice, self.share.shape[:-1]))]
        at = (classes[..., None], columns[..., None], node)
        leftward, open_ = side == 0, self.open[at]

        def half(node: Beta) -> Outcome:
            left, right = node.alpha[at], node.beta[at]
            # A node with a single half gives it a concentration of 1e300, so its probability is 1 and no row changes
            # it.
            own = np.where(open_, np.where(leftward, left, right), 1e300)
            others = np.where(open_, np.where(leftward, right, left), 0.0)
            return Outcome()._with(alpha=own, beta=others, outcomes=np.where(open_, 2, 1))

        stop, split = (v[at] for v in self.states)
        return Path(half(self.own), half(self.close), (stop, split))

    @staticmethod
    def log_kernel(theta: Theta, left: Array, right: Array) -> Array:
        share = theta["share"]
        return (xlogy(left, share) + xlogy(right, 1 - share)).sum(-1) - BetaTree.peak(left, right)

    # In PyMC the shares have the Beta prior of nodes that split; a Potential corrects it to the sum over the states.

    @staticmethod
    def pymc_likelihood(theta: Mapping[str, Any], left: Any, right: Any) -> Any:
        from pytensor import tensor as pt

        return (left * pt.log(theta["share"]) + right * pt.log1p(-theta["share"])).sum(-1)

    def pymc(self, name: Callable[[str], str], dims: tuple[str, ...]) -> Any:
        import pymc as pm
        from pytensor import tensor as pt

        own, close = self.own, self.close
        share = pm.Beta(name("share"), alpha=shared(own.alpha), beta=shared(own.beta), dims=dims)
        near, split = (
            (v.alpha - 1) * pt.log(share) + (v.beta - 1) * pt.log1p(-share) - v.log_normalizer() for v in (close, own)
        )
        summed = climb((near,), (split,), *self._states(), pt.logaddexp)[0][0]
        pm.Potential(name("stopping"), (summed - split.sum(-1)).sum())
        return share
