"""The prior of a density without a shape: a Pólya tree with optional stopping.

Start with :class:`BetaTree`. What it sums over the nodes of a tree is in ``tree_nodes``, and what one further row
changes in ``tree_path``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy.special import xlogy

from bayesnb.numerics import Array, Size, log
from bayesnb.priors.belief import BoundaryError, Prior, Theta, first, spread
from bayesnb.priors.beta import Beta
from bayesnb.priors.chance import Chance
from bayesnb.priors.common_draws import CommonDraws
from bayesnb.priors.tensors import shared
from bayesnb.priors.tree_nodes import CELLS, LEVEL, NODES, cell_logs, climb, descend, nodes_above, splits
from bayesnb.priors.tree_path import MIXED, Path, Stopping


@dataclass(frozen=True, eq=False, repr=False)
class BetaTree(Stopping, Prior):
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
        return self.before().after(self._states(), self.left, self.right)

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

    def log_prob(self, *theta: Array) -> Array:
        self.require_proper("A density")
        before, d = self.before(), (self.left, self.right)
        # The density before the data, times the likelihood, by the evidence.
        near, own = ((v.log_prob(*theta),) for v in (before.close, before.own))
        with np.errstate(invalid="ignore"):  # The states of a node are not needed here.
            density = climb(near, own, *self._states())[0][0]
        return density + self.log_kernel(self.theta(*theta), *d) - before.along(*d)

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
        return {"log_cell": self.log_cells(), "share": self.mean()}

    def mode_theta(self) -> Theta:
        mode = self.mode()
        return self.shaped(log(mode), log(1 - mode))

    def draw_theta(self, rng: Generator, size: Size = ()) -> Theta:
        stops = rng.random((*size, *self.share.shape)) >= np.exp(self.states[1])
        split, own, close = descend(np.where(stops, -np.inf, 0.0)) == 0.0, self.own, self.close
        chosen = [np.where(split, getattr(own, name), getattr(close, name)) for name in ("alpha", "beta")]
        log_theta = own._with(alpha=chosen[0], beta=chosen[1]).log_draw(rng)
        return self.shaped(log_theta[..., 1], log_theta[..., 0])

    def log_cells(self) -> Array:
        """ln of the predictive probability of each cell, (class, column, cell)."""
        cells = np.arange(CELLS)[:, None, None] + np.zeros(self.share.shape[:-1], int)
        half = np.where(self.open, 0.5, self.share)
        exists = np.isfinite(cell_logs(log(half), log(1 - half)))
        return np.where(exists, np.moveaxis(self.path(cells).along(), 0, -1), -np.inf)

    def path(self, cell: Array) -> Path:
        """The nodes above cells, (..., class, column): all that one further row in the cell changes."""
        node, side = nodes_above(cell)
        classes, columns = np.ogrid[tuple(map(slice, self.share.shape[:-1]))]
        at = (classes[..., None], columns[..., None], node)
        leftward, open_ = side == 0, self.open[at]

        def chance(node: Beta) -> Chance:
            own, total = np.where(leftward, node.alpha[at], node.beta[at]), node.alpha[at] + node.beta[at]
            # A node with one half only gives it everything: so much is known that no row changes it.
            return Chance(np.where(open_, own, 1e300), np.where(open_, total, 1e300), np.where(open_, 2, 1))

        stop, split = (v[at] for v in self.states)
        return Path(chance(self.own), chance(self.close), (stop, split))

    @staticmethod
    def log_kernel(theta: Theta, left: Array, right: Array) -> Array:
        (share,) = BetaTree.point(theta)
        return (xlogy(left, share) + xlogy(right, 1 - share)).sum(-1) - BetaTree.peak(left, right)

    # In PyMC the shares are Beta distributed as where nodes split, times what summing over the states makes of it.

    @staticmethod
    def pymc_likelihood(theta: Mapping[str, Any], left: Any, right: Any) -> Any:
        from pytensor import tensor as pt

        return (left * pt.log(theta["share"]) + right * pt.log1p(-theta["share"])).sum(-1)

    def pymc(self, name: Callable[[str], str], dims: tuple[str, ...]) -> Any:
        import pymc as pm
        from pytensor import tensor as pt

        self.require_sampled()
        own, close = self.own, self.close
        share = pm.Beta(name("share"), alpha=shared(own.alpha), beta=shared(own.beta), dims=dims)
        near, split = (
            (v.alpha - 1) * pt.log(share) + (v.beta - 1) * pt.log1p(-share) - v.log_normalizer() for v in (close, own)
        )
        summed = climb((near,), (split,), *self._states(), pt.logaddexp)[0][0]
        pm.Potential(name("stopping"), (summed - split.sum(-1)).sum())
        return share
