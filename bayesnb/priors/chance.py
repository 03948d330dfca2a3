"""The belief about the outcome of one trial: start with :class:`Chance`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayesnb.numerics import Array, log, log_gamma_slopes, log_rising
from bayesnb.priors.belief import ROUNDING, Theta, require_mode
from bayesnb.priors.common_draws import CommonDraws


@dataclass(frozen=True, eq=False)
class Chance:
    """The belief about the probability of one outcome, whose concentration is a part of a Dirichlet or a Beta.

    It has the methods that a :class:`Prior` has for the data d of one trial with this outcome. They are ratios of Γ,
    which lose no digits because one trial is small beside any concentration.

    Parameters
    ----------
    own : array
        Concentration of the outcome.
    total : array
        Concentration of all outcomes.
    outcomes : int or array
        How many outcomes have a positive concentration.
    """

    own: Array
    total: Array
    outcomes: int | Array

    def at(self, place: int) -> Chance:
        """The belief at a place along the last axis."""
        return Chance(self.own[..., place], self.total[..., place], self.outcomes)

    def proper(self) -> Array:
        return self.total > 0

    def plus(self, t: float | Array = 1.0) -> Chance:
        return Chance(self.own + t, self.total + t, self.outcomes)

    def mode(self, slack: float = 0.0) -> Array:
        """The mode of all outcomes together, at this one; the concentrations of the others are at least 1.

        A concentration that is more than 1 by no more than ``slack`` is 1.
        """
        alone = self.outcomes == 1
        # A weight that is added to 1 and taken away again may leave a little less than 1.
        outside = (self.own < 1 - ROUNDING) & ~alone
        require_mode(self.own, outside, "concentration", "count")
        excess = np.where(alone, 1.0, np.where(self.own > 1 + slack, self.own - 1, 0.0))
        whole = np.where(alone, 1.0, np.where(self.total > self.outcomes + slack, self.total - self.outcomes, 0.0))
        # A flat density has no single mode, so its centre is taken.
        return np.where(whole > 0, excess / np.where(whole > 0, whole, 1.0), 1 / self.outcomes)

    def mean_theta(self) -> Theta:
        return {"log_theta": log(self.own) - log(self.total)}

    def mode_theta(self) -> Theta:
        # The weight of the row itself was added and taken away again, which may leave a little more than 1.
        return {"log_theta": log(self.mode(ROUNDING))}

    @staticmethod
    def log_kernel(theta: Theta) -> Array:
        return theta["log_theta"]

    def along(self, t: float | Array = 1.0) -> Array:
        own, whole = log_rising(self.own, t), log_rising(self.total, t)
        return np.where(np.isposinf(own), np.inf, own - np.where(np.isposinf(whole), 0.0, whole))

    def slopes(self, t: float | Array = 0.0) -> tuple[Array, Array]:
        own, whole = log_gamma_slopes(self.own + t), log_gamma_slopes(self.total + t)
        return own[0] - whole[0], own[1] - whole[1]

    def floor(self) -> Array:
        return -self.own

    def drawn_along(self, *, common: CommonDraws, kind: int = 0) -> Array:
        own = common.log_gamma(self.own, kind)
        others = common.log_gamma(np.maximum(self.total - self.own, 0.0), kind + 1)
        return own - np.logaddexp(own, others)
