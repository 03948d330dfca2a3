"""The prior of probabilities that sum to 1: what Dirichlet and Beta have in common.

Start with :class:`SimplexPrior`.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Literal, Self

import numpy as np
from numpy.random import Generator
from scipy.special import gammaln

from bayesnb.kernels.probabilities import over_last
from bayesnb.numerics import (
    Array,
    Size,
    deviance,
    log_gamma_draw,
    log_root,
    log_root_slopes,
    sums_of_others,
)
from bayesnb.priors.belief import Prior, Theta
from bayesnb.priors.chance import Chance
from bayesnb.priors.common_draws import CommonDraws
from bayesnb.priors.gamma import Gamma


class SimplexPrior(Prior):
    """A Dirichlet distribution, in whatever form its concentrations and θ are written.

    All formulas are those of a Dirichlet with the ``concentrations`` α of all outcomes, of sum A. Independent rates
    Gamma(α_k, A), divided by their sum, are such probabilities; so the integrals over θ are those of the rates, less
    that of their sum.
    """

    point_axes = 3
    parameters = ("theta",)

    @property
    @abstractmethod
    def concentrations(self) -> Array:
        """α, (..., outcome)."""

    @staticmethod
    @abstractmethod
    def counted(*d: Any) -> Array:
        """How often d counts each outcome, (..., outcome)."""

    @staticmethod
    @abstractmethod
    def shown(each: Array) -> Array:
        """What users see of a number for each outcome, (..., outcome)."""

    # The named priors of both.

    @classmethod
    @abstractmethod
    def laplace(cls, alpha: float = 1.0) -> Self:
        """α imaginary rows of each outcome."""

    @classmethod
    @abstractmethod
    def imaginary(cls, rows: float, per: Literal["class", "feature", "pooled"], tuned: bool | None = None) -> Self:
        """Imaginary rows for each class, for all classes of a feature together, or for each class like the column."""

    @classmethod
    def jeffreys(cls) -> Self:
        """1/2 for every outcome."""
        return cls.laplace(0.5)

    @classmethod
    def perks(cls) -> Self:
        """1/K for every one of K outcomes (Perks 1947): one imaginary row a class."""
        return cls.imaginary(1.0, "class")

    @classmethod
    def bdeu(cls, ess: float) -> Self:
        """ess / (classes × outcomes) for every cell (Heckerman, Geiger and Chickering 1995)."""
        return cls.imaginary(ess, "feature")

    @classmethod
    def pooled(cls, m: float) -> Self:
        """m imaginary rows spread as the whole column, all classes together: what is rare in it stays rare."""
        return cls.imaginary(m, "pooled")

    @classmethod
    def learned(cls) -> Self:
        """Imaginary rows spread as the whole column, as many as the evidence says (Minka 2000).

        The columns of a feature share their number, so many columns teach it. ``ln m ~ Normal(ln 2, 1)`` beforehand.
        """
        return cls.imaginary(2.0, "pooled", tuned=True)

    @classmethod
    def flat(cls) -> Self:
        """The uniform density, whose mode is plain counting."""
        return cls.laplace()

    # The distribution.

    @property
    def outcomes(self) -> Array:
        """How many outcomes have a positive concentration, without the last axis."""
        return (self.concentrations > 0).sum(-1)

    @property
    def total(self) -> Array:
        """A, the sum of the concentrations of each table."""
        return self.concentrations.sum(-1)

    def proper(self) -> Array:
        return self.total > 0

    def zeros(self) -> Array:
        return self.concentrations == 0

    def mean(self) -> Array:
        self.require_proper("A mean")
        return self.shown(self.concentrations / self.total[..., None])

    def variance(self) -> Array:
        self.require_proper("A variance")
        alpha, total = self.concentrations, self.total[..., None]
        # Not 1 - mean, which loses its digits if one outcome has nearly all of the concentration.
        return self.shown(alpha / total * (sums_of_others(alpha) / total) / (total + 1))

    def mode(self) -> Array:
        self.require_proper("A mode")
        possible = self.concentrations > 0
        each = Chance(np.where(possible, self.concentrations, 1.0), self.total[..., None], self.outcomes[..., None])
        return self.shown(np.where(possible, each.mode(), 0.0))

    def log_draw(self, rng: Generator, size: Size = ()) -> Array:
        """Draws of ln θ of all outcomes; at a concentration of 1e-3, half of the θ would be 0 as floats."""
        self.require_proper("A draw")
        drawn = log_gamma_draw(self.concentrations, rng, size)
        drawn -= over_last(np.maximum, drawn)
        return drawn - np.log(over_last(np.add, np.exp(drawn)))

    def log_prob(self, *theta: Array) -> Array:
        alpha, log_theta = self.concentrations, self.theta(*theta)["log_theta"]
        with np.errstate(invalid="ignore"):
            inside = np.where(alpha == 1, 0.0, (alpha - 1) * log_theta)
        # A structural zero has no density at another probability than 0.
        outside = np.where(np.isneginf(log_theta), 0.0, -np.inf)
        return np.where(alpha > 0, inside, outside).sum(-1) - self.log_normalizer()

    def log_jacobian(self, *theta: Array) -> Array:
        free = (self.concentrations > 0) & (self.outcomes > 1)[..., None]
        return np.where(free, self.theta(*theta)["log_theta"], 0.0).sum(-1)

    def log_normalizer(self) -> Array:
        self.require_proper("A density")
        alpha = self.concentrations
        return np.where(alpha > 0, gammaln(np.where(alpha > 0, alpha, 1.0)), 0.0).sum(-1) - gammaln(self.total)

    # How data change it.

    def _rates(self) -> Gamma:
        """The rates of the outcomes, of which θ are the shares."""
        return Gamma()._with(alpha=self.concentrations, beta=self.total[..., None])

    def along(self, *d: Array, t: float | Array = 1.0) -> Array:
        """ln E[(L(θ) / max L)^t], where L(θ) = ∏_k θ_k^n_k. Infinite below where a structural zero is counted."""
        added = np.asarray(t, float)[..., None] * self.counted(*d)
        more = added.sum(-1)
        each = self._rates().along(added, more[..., None])
        # A structural zero that is counted makes the likelihood 0 at every θ.
        impossible = np.where(added > 0, -np.inf, np.where(added < 0, np.inf, 0.0))
        own = np.where(self.concentrations > 0, each, impossible).sum(-1)
        # Where the moment does not exist, the sum of the concentrations may be negative too.
        return np.where(np.isposinf(own), np.inf, own - log_root(self.total, self.total + more))

    def slopes(self, *d: Array, t: float | Array = 0.0) -> tuple[Array, Array]:
        counts, t = self.counted(*d), np.asarray(t, float)
        size, never = counts.sum(-1), (self.concentrations + t[..., None] * counts == 0) & (counts == 0)
        each = self._rates().slopes(counts, size[..., None], t=t[..., None])
        first, second = (np.where(never, 0.0, v).sum(-1) for v in each)
        whole = log_root_slopes(self.total + t * size)
        return first - size * whole[0], second - size**2 * whole[1]

    def floor(self, *d: Array) -> Array:
        counts = self.counted(*d)
        return self._rates().floor(counts, counts.sum(-1, keepdims=True)).max(-1)

    def drawn_along(self, *d: Array, common: CommonDraws) -> Array:
        alpha, counts = np.broadcast_arrays(self.concentrations, self.counted(*d))
        alpha, counts = (v.reshape(-1, *v.shape[-3:]) for v in (alpha, counts))
        found = np.zeros((common.draws, *alpha.shape[:-1]))
        for row, c, column in np.ndindex(alpha.shape[:-1]):
            n, own = counts[row, c, column], alpha[row, c, column]
            seen, here = np.flatnonzero(n), common.within(c).from_column(column)
            # Only the outcomes that are counted need a draw of their own, and all others together one more.
            shapes = zip([*seen, -1], [*own[seen], np.delete(own, seen).sum()], strict=True)
            drawn = [here.log_gamma(np.full((1, 1), shape), kind=k + 1) for k, shape in shapes]
            log_theta = np.stack([v[:, 0, 0, 0] for v in drawn], axis=-1)
            log_theta -= np.logaddexp.reduce(log_theta, axis=-1, keepdims=True)
            # ln L less its maximum is a sum of deviances, whose last one is that of the others.
            expected = n.sum() * np.exp(log_theta)
            gap = np.append(n[seen], 0.0) - expected
            found[:, row, c, column] = -deviance(np.append(n[seen], 0.0), expected, gap).sum(-1)
        return found

    @classmethod
    def peak(cls, *d: Array) -> Array:
        """Σ_k n_k ln(n_k / N)."""
        counts = cls.counted(*d)
        with np.errstate(all="ignore"):
            share = np.abs(counts / counts.sum(-1, keepdims=True))
            return np.where(counts == 0, 0.0, counts * np.log(share)).sum(-1)

    # θ in the form that likelihoods read: the logarithms of the probabilities of all outcomes.

    @classmethod
    def point(cls, theta: Theta) -> tuple[Array, ...]:
        return (cls.shown(np.exp(theta["log_theta"])),)

    def draw_theta(self, rng: Generator, size: Size = ()) -> Theta:
        return {"log_theta": self.log_draw(rng, size)}
