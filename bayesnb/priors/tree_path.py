"""The belief about one further row in a cell of a dyadic tree: start with :class:`Path`."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesnb.numerics import Array, log
from bayesnb.priors.belief import BoundaryError, Theta, first
from bayesnb.priors.chance import Chance
from bayesnb.priors.common_draws import CommonDraws
from bayesnb.priors.tree_nodes import DEPTH, climb

MIXED = (
    "a tree whose nodes may stop is a mixture of many densities, whose mode has no closed form; use the mean "
    '(estimate="mean" or "predictive"), or BetaTree(stop=0)'
)


class Stopping(ABC):
    """Nodes that stop or split, and below a node that stops all nodes stop: of a whole tree, or of the path to a cell.

    With d further rows, the evidence changes by the factor R of the root. Let r_stop and r_split be the factors by
    which the evidence of a node alone changes in its two states. At each node

        R = P(stop) · ∏ r_stop + P(split) · r_split · ∏ R_child,

    where the first product is over the node and all those below it.
    """

    own: Any
    """The belief about each node where it splits, (..., node)."""

    close: Any
    """The belief about each node where it stops, (..., node)."""

    states: tuple[Array, Array]
    """ln P(stop) and ln P(split) of each node, given that those above it split."""

    def along(self, *d: Array, t: float | Array = 1.0) -> Array:
        """ln R, for t times d."""
        t = np.asarray(t, float)[..., None]
        near, own = ((v.along(*d, t=t),) for v in (self.close, self.own))
        return climb(near, own, *self.states)[0][0]

    def slopes(self, *d: Array, t: float | Array = 0.0) -> tuple[Array, Array]:
        """First and second derivative of ``along`` in t."""
        t = np.asarray(t, float)[..., None]
        near, own = ((v.along(*d, t=t), *v.slopes(*d, t=t)) for v in (self.close, self.own))
        return climb(near, own, *self.states)[0][1:]

    def after(self, states: tuple[Array, Array], *d: Array, t: float | Array = 1.0) -> tuple[Array, Array]:
        """The states after t times d, from those before."""
        near, own = ((v.along(*d, t=t),) for v in (self.close, self.own))
        with np.errstate(invalid="ignore"):
            found = climb(near, own, *states)[1]
        stop, split = (np.concatenate(state, axis=-1) for state in zip(*found, strict=True))
        return stop, split

    def floor(self, *d: Array) -> Array:
        """The t < 0 above which ``along`` exists."""
        return self.own.floor(*d).max(-1)


@dataclass(frozen=True, eq=False)
class Path(Stopping):
    """The nodes above a cell, with the methods that a prior has for the data of one trial in that cell.

    Parameters
    ----------
    own, close : Chance
        The belief that a row of a node is in the half that holds the cell, (..., depth), where the node splits and
        where it stops.
    states : pair of arrays (..., depth)
    """

    own: Chance
    close: Chance
    states: tuple[Array, Array]

    def proper(self) -> Array:
        return (self.own.own > 0).all(-1)

    def plus(self, t: float | Array = 1.0) -> Path:
        t = np.asarray(t, float)[..., None]
        return Path(self.own.plus(t), self.close.plus(t), self.after(self.states, t=t))

    def mean_theta(self) -> Theta:
        return {"log_cell": self.along()}

    def mode_theta(self) -> Theta:
        """The mode of the cell; only trees whose nodes do not stop have one in closed form."""
        if (may_stop := self.states[0] > -np.inf).any():
            raise BoundaryError(MIXED, first(may_stop)[:-1])
        return {"log_cell": log(self.own.mode()).sum(-1)}

    @staticmethod
    def log_kernel(theta: Theta) -> Array:
        return theta["log_cell"]

    def drawn_along(self, *, common: CommonDraws) -> Array:
        stop, split = self.states
        # The probability that the path stops at each node: those above split. Else it stops at none.
        above = np.cumsum(split, -1) - split
        share = np.cumsum(np.exp(above + stop), -1)
        columns = range(common.first, common.first + stop.shape[-2])
        u = np.stack([common.generator(2, column).random(common.draws) for column in columns], -1)
        stopped = (u[:, None, None, :, None] >= share).sum(-1)
        total = np.zeros(stopped.shape)
        for k in range(DEPTH):
            drawn = (
                v.at(k).drawn_along(common=common, kind=3 + 4 * k + 2 * place)
                for place, v in enumerate((self.own, self.close))
            )
            total += np.where(k < stopped, *drawn)
        return total
