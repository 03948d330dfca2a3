"""The belief about one further row in a cell of a dyadic tree: start with :class:`Path`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from bayesnb.numerics import Array, log, log_gamma_slopes, log_rising
from bayesnb.priors.belief import BoundaryError, Theta, first
from bayesnb.priors.beta import Beta
from bayesnb.priors.common_draws import CommonDraws
from bayesnb.priors.tree_nodes import DEPTH, mixed

MIXED = (
    "a tree whose nodes may stop is a mixture of many densities, whose mode has no closed form; use the mean "
    '(estimate="mean" or "predictive"), or BetaTree(stop=0)'
)


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


def _rise(half: Array, whole: Array, delta: Array) -> Array:
    """ln [half]_δ / [whole]_δ, infinite where it does not exist."""
    up, over = log_rising(half, delta), log_rising(whole, delta)
    return np.where(np.isposinf(up), np.inf, up - np.where(np.isposinf(over), 0.0, over))


def _rises(half: Array, whole: Array, delta: Array) -> tuple[Array, Array, Array]:
    """The same with its first and second derivative in δ."""
    up, over = log_gamma_slopes(half + delta), log_gamma_slopes(whole + delta)
    return _rise(half, whole, delta), up[0] - over[0], up[1] - over[1]
