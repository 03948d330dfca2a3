"""The prior of a table of probabilities, where smoothing lives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, get_args

import numpy as np
from numpy.random import Generator
from scipy.special import gammaln, xlogy

from bayesnb.kernels.densities import over_last
from bayesnb.numerics import (
    Array,
    Size,
    deviance,
    disagreement,
    log,
    log_gamma_draw,
    log_gamma_slopes,
    log_rising,
    log_root,
    log_root_slopes,
    sums_of_others,
)
from bayesnb.priors.belief import BoundaryError, Prior, Theta, by_label, require_concentration
from bayesnb.priors.common_draws import CommonDraws
from bayesnb.priors.concentrations import Per, concentrations
from bayesnb.priors.tensors import shared

ROUNDING = 1e-12
"""A concentration that is less than 1 by no more than this is 1, as far as rounding can tell."""


@dataclass(frozen=True, eq=False, repr=False)
class Dirichlet(Prior):
    """θ ~ Dirichlet(α), the prior of a table of probabilities (Murphy, PML1, 4.6.3).

    Parameters
    ----------
    alpha : float, array or {level: float}
        Concentration. A scalar holds for every level; a vector has one entry a level, in the order of
        the levels; (class, level) and (class, column, level) are the full forms. A concentration of 0
        is a structural zero: the level has probability 0 until it is counted.
    per : {"level", "class", "feature", "pooled"}
        Whether a scalar ``alpha`` belongs to each level, to the table of each class (shared equally among its levels),
        to all tables of a feature together, or to the table of each class, shared as the whole column is.
    tuned : bool, optional
        Whether ``alpha`` is multiplied by the factor with the largest evidence; see :meth:`learned`.

    Examples
    --------
    >>> Dirichlet([3, 2]).mean()
    array([0.6, 0.4])
    >>> Dirichlet([3, 2]).mode()
    array([0.66666667, 0.33333333])
    """

    alpha: float | Array | Mapping[Any, float] = 1.0
    per: Per = "level"
    tuned: bool | None = field(default=None, repr=False)

    _own_cell = "level"
    parameters = ("theta",)
    strengths: ClassVar[Mapping[str, tuple[str, ...]]] = {"alpha": ("alpha",)}

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", by_label(self.alpha))
        if isinstance(self.alpha, Mapping):
            require_concentration("alpha", np.array(list(self.alpha.values()), float))
        else:
            alpha = np.asarray(self.alpha, float)
            require_concentration("alpha", alpha)
            object.__setattr__(self, "alpha", alpha if alpha.ndim else float(alpha))
        if self.per not in get_args(Per.__value__):
            raise ValueError(f"Expected per to be 'level', 'class', 'feature' or 'pooled'; got {self.per!r}")
        if self.per != "level" and not isinstance(self.alpha, float):
            raise ValueError(f"Expected one number for alpha per {self.per}; got {self.alpha!r}")

    @classmethod
    def laplace(cls, alpha: float = 1.0) -> Dirichlet:
        """α for every level: its posterior mean is Laplace's rule (n + α) / (N + αK)."""
        return cls(alpha)

    @classmethod
    def m_estimate(cls, m: float, p: Array | Mapping[Any, float] | None = None) -> Dirichlet:
        """m imaginary rows spread as ``p``: the posterior mean is (n + m p) / (N + m).

        Parameters
        ----------
        m : float
            Equivalent sample size (Mitchell, Machine Learning, 6.9.1.1).
        p : array or {level: float}, optional
            Probability of each level; uniform where not given.
        """
        if p is None:
            return cls(m, per="class")
        shares = np.array(list(p.values()) if isinstance(p, Mapping) else p, float)
        if not np.allclose(shares.sum(-1), 1.0, atol=1e-9) or (shares < 0).any():
            raise ValueError(f"Expected the probabilities p to sum to 1; got {p!r}")
        return cls(dict(zip(p, m * shares, strict=True)) if isinstance(p, Mapping) else m * shares)

    @classmethod
    def jeffreys(cls) -> Dirichlet:
        """1/2 for every level."""
        return cls(0.5)

    @classmethod
    def perks(cls) -> Dirichlet:
        """1/K for every one of K levels (Perks 1947): one imaginary row a class."""
        return cls(1.0, per="class")

    @classmethod
    def bdeu(cls, ess: float) -> Dirichlet:
        """ess / (classes × levels) for every cell (Heckerman, Geiger and Chickering 1995)."""
        return cls(ess, per="feature")

    @classmethod
    def pooled(cls, m: float) -> Dirichlet:
        """m imaginary rows spread as the whole column, all classes together: a level that is rare in it stays rare."""
        return cls(m, per="pooled")

    @classmethod
    def learned(cls) -> Dirichlet:
        """Imaginary rows spread as the whole column, as many as the evidence says (Minka 2000).

        The columns of a feature share their number, so many columns teach it. ``ln m ~ Normal(ln 2, 1)`` beforehand.
        """
        return cls(2.0, "pooled", True)

    @classmethod
    def from_rows(cls, n: float, rows: Sequence[Any]) -> Dirichlet:
        """The belief worth ``n`` rows like these, of which each is the name of a level."""
        names = list(rows)
        if not names:
            raise ValueError("Expected the names of the levels of one row or more; got none")
        return cls({name: n * names.count(name) / len(names) for name in dict.fromkeys(names)})

    @classmethod
    def flat(cls) -> Dirichlet:
        """The uniform density, whose mode is plain counting."""
        return cls(1.0)

    # The methods of a prior of the class probabilities. FixedProbabilities has the same ones.

    def over_classes(self, labels: Sequence[Any], rows: Array) -> Dirichlet:
        """One concentration a class, in the order of ``labels``; ``rows`` (class,) are their weights."""
        try:
            if self.tuned:
                raise ValueError("one table of classes cannot teach its own prior; give a concentration")
            return Dirichlet(self.over((tuple(labels),), 1).alpha[0, 0])
        except ValueError as error:
            raise ValueError(f"class prior: {error}") from error

    def update(self, rows: Array) -> Dirichlet:
        """The posterior after ``rows`` (class,), the weight of the rows of each class."""
        return Dirichlet(self.alpha + rows)

    def log_evidence(self, rows: Array) -> float:
        """log p(labels), of which ``rows`` (class,) are the weights."""
        self.require_proper("An evidence")
        return float(self.along(rows) + self.peak(rows))

    def log_base(self, rows: Array) -> float:
        """The part of log p(labels) that does not depend on the probabilities: 0."""
        return 0.0

    def named_classes(self, labels: Sequence[Any]) -> list[Any]:
        """The classes that are named; an array names all classes, by position."""
        return named_by(self.alpha, labels)

    def log_left_out(self, posterior: Dirichlet, rows: Array, codes: Array, weight: Array, point: str) -> Array:
        """log p(c | all labels but one) as (row, class), for a row of class ``codes`` and of ``weight``."""
        return log_shares_without(posterior.alpha, codes, weight, point)

    def log_counted(self, log_pi: Array, rng: Generator) -> Array:
        """Draws of ln π_c once one more row of class c is counted, each up to a term that all classes share.

        ``log_pi`` (draw, class) are draws without that row. Each π_c is Gamma(α_c) over the sum of all, Gamma(A); and a
        Gamma(α_c + 1) variate is a Gamma(α_c) variate plus an Exponential one.
        """
        more = np.log(rng.standard_exponential(len(log_pi))) - log_gamma_draw(self.total, rng, (len(log_pi),))
        return np.logaddexp(log_pi, more[:, None])

    def log_powers(self, t: Array) -> Array:
        """ln E[π_c^t], up to a term that all classes share; t is (..., class)."""
        return log_rising(self.alpha, t)

    def log_power_slopes(self, t: Array) -> tuple[Array, Array]:
        """First and second derivative of ``log_powers`` in t."""
        return log_gamma_slopes(self.alpha + t)

    def log_power_floor(self) -> Array:
        """The t above which ``log_powers`` exists."""
        return -self.alpha

    def over(self, levels: Sequence[tuple[Any, ...]], n_classes: int, counts: Array | None = None) -> Dirichlet:
        """The prior at its full shape (class, column, level).

        Parameters
        ----------
        levels : sequence of tuples
            The names of each column's levels; where columns differ in their number, the shorter ones
            are filled up with structural zeros.
        n_classes : int
        counts : array (column, level), optional
            Weight of each level, all classes together.
        """
        full = np.zeros((n_classes, len(levels), max([1, *map(len, levels)])))
        for column, names in enumerate(levels):
            # A column in which no value was ever seen has one cell, which no value falls into.
            own = None if counts is None else counts[column, : len(names)]
            of_level = concentrations(self.alpha, self.per, column, names, n_classes, own) if names else 1.0
            full[:, column, : max(1, len(names))] = of_level
        return Dirichlet(full)

    @property
    def outcomes(self) -> Array:
        """How many levels have a positive concentration, without the last axis."""
        return (self.alpha > 0).sum(-1)

    @property
    def total(self) -> Array:
        """A, the sum of the concentrations of each table."""
        if not isinstance(self.alpha, np.ndarray):
            raise ValueError(
                f"Expected one concentration a level; got {self.alpha!r}, and how many levels there are "
                "is not known yet: write Dirichlet([1, 1, 1]), or call over(levels, n_classes)"
            )
        return self.alpha.sum(-1)

    def proper(self) -> Array:
        return self.total > 0

    def zeros(self) -> Array:
        return np.asarray(self.alpha == 0)

    def mean(self) -> Array:
        self.require_proper("A mean")
        return self.alpha / self.total[..., None]

    def variance(self) -> Array:
        mean, total = self.mean(), self.total[..., None]
        # Not 1 - mean, which loses its digits if one level has nearly all of the concentration.
        return mean * (sums_of_others(self.alpha) / total) / (total + 1)

    def mode(self) -> Array:
        self.require_proper("A mode")
        support = self.alpha > 0
        alone = support.sum(-1, keepdims=True) == 1
        outside = support & (self.alpha < 1 - ROUNDING) & ~alone
        if outside.any():
            raise BoundaryError.of_concentration(self.alpha, outside)
        excess = np.where(support, np.maximum(self.alpha - 1, 0.0), 0.0)
        share = np.where(alone, support, excess)
        rest = share.sum(-1, keepdims=True)
        # A flat density has no single mode, so its centre is taken.
        centre = support / support.sum(-1, keepdims=True)
        return np.where(rest > 0, share / np.where(rest > 0, rest, 1.0), centre)

    def log_draw(self, rng: Generator, size: Size = ()) -> Array:
        """Draws of ln θ; at a concentration of 1e-3, half of the θ would be 0 as floats."""
        self.require_proper("A draw")
        drawn = log_gamma_draw(self.alpha, rng, size)
        drawn -= over_last(np.maximum, drawn)
        return drawn - np.log(over_last(np.add, np.exp(drawn)))

    def draw(self, rng: Generator, size: Size = ()) -> Array:
        return np.exp(self.log_draw(rng, size))

    def log_prob(self, *theta: Array) -> Array:
        (theta,) = theta
        support = self.alpha > 0
        outside = np.where(theta > 0, -np.inf, 0.0)
        return np.where(support, xlogy(self.alpha - 1, theta), outside).sum(-1) - self.log_normalizer()

    def log_jacobian(self, *theta: Array) -> Array:
        (theta,) = theta
        support = self.alpha > 0
        alone = support.sum(-1, keepdims=True) == 1
        return np.where(support & ~alone, log(np.where(support, theta, 1.0)), 0.0).sum(-1)

    def log_normalizer(self) -> Array:
        self.require_proper("A density")
        support = self.alpha > 0
        return np.where(support, gammaln(np.where(support, self.alpha, 1.0)), 0.0).sum(-1) - gammaln(self.total)

    def plus(self, counts: Array, t: float | Array = 1.0) -> Dirichlet:
        return self._with(alpha=self.alpha + np.asarray(t)[..., None] * counts)

    def along(self, counts: Array, t: float | Array = 1.0) -> Array:
        """ln E[(L(θ) / max L)^t], where L(θ) = ∏_k θ_k^n_k, with ``counts`` n as (..., level).

        With κ = t n, of sum T, this is ln Z(α + κ) - ln Z(α) - Σ κ_k ln(κ_k / T), written as half the likelihood ratio
        statistic of the counts against the concentrations (see ``numerics.disagreement``). Infinite below where a
        structural zero is counted.
        """
        added = np.asarray(t, float)[..., None] * counts
        total, more, support = self.total, added.sum(-1), self.alpha > 0
        alpha = np.where(support, self.alpha, 1.0)
        each = log_root(alpha, alpha + added) - disagreement(alpha, added, total[..., None], more[..., None])
        each = np.where(alpha + added > 0, each, np.inf)
        # A structural zero that is counted makes the likelihood 0 at every θ.
        each = np.where(support, each, np.where(added > 0, -np.inf, np.where(added < 0, np.inf, 0.0)))
        own = each.sum(-1)
        # Where the moment does not exist, the sum of the concentrations may be negative too.
        return np.where(np.isposinf(own), np.inf, own - log_root(total, total + more))

    def slopes(self, counts: Array, t: float | Array = 0.0) -> tuple[Array, Array]:
        t = np.asarray(t, float)[..., None]
        size = counts.sum(-1, keepdims=True)
        after, whole = self.alpha + t * counts, self.total[..., None] + t * size
        with np.errstate(all="ignore"):
            expected = size * (after / whole)
            gap = counts * (self.total[..., None] / whole) - size * (self.alpha / whole)
            own, all_of_it = log_root_slopes(after), log_root_slopes(whole)
            first = counts * own[0] - deviance(counts, expected, gap)
            second = counts**2 * own[1] + gap**2 / after
            empty = after == 0
            first, second = (np.where(empty & (counts == 0), 0.0, v).sum(-1) for v in (first, second))
            return first - (size * all_of_it[0])[..., 0], second - (size**2 * all_of_it[1])[..., 0]

    def floor(self, counts: Array) -> Array:
        with np.errstate(all="ignore"):
            return -np.where(counts > 0, self.alpha / counts, np.inf).min(-1)

    def drawn_along(self, counts: Array, *, common: CommonDraws) -> Array:
        alpha, counts = np.broadcast_arrays(self.alpha, counts)
        alpha, counts = (v.reshape(-1, *v.shape[-3:]) for v in (alpha, counts))
        found = np.zeros((common.draws, *alpha.shape[:-1]))
        for row, c, column in np.ndindex(alpha.shape[:-1]):
            n, own = counts[row, c, column], alpha[row, c, column]
            seen, here = np.flatnonzero(n), common.within(c).from_column(column)
            # Only the levels that are counted need a draw of their own, and all others together one more.
            shapes = zip([*seen, -1], [*own[seen], np.delete(own, seen).sum()], strict=True)
            drawn = [here.log_gamma(np.full((1, 1), shape), kind=k + 1) for k, shape in shapes]
            log_theta = np.stack([v[:, 0, 0, 0] for v in drawn], axis=-1)
            log_theta -= np.logaddexp.reduce(log_theta, axis=-1, keepdims=True)
            # ln L less its maximum is a sum of deviances, whose last one is that of the levels that are not counted.
            expected = n.sum() * np.exp(log_theta)
            gap = np.append(n[seen], 0.0) - expected
            found[:, row, c, column] = -deviance(np.append(n[seen], 0.0), expected, gap).sum(-1)
        return found

    @staticmethod
    def peak(counts: Array) -> Array:
        """Σ_k n_k ln(n_k / N)."""
        with np.errstate(all="ignore"):
            share = np.abs(counts / counts.sum(-1, keepdims=True))
            return np.where(counts == 0, 0.0, counts * np.log(share)).sum(-1)

    @classmethod
    def theta(cls, *point: Array) -> Theta:
        (p,) = point
        return {"log_theta": log(p)}

    @classmethod
    def point(cls, theta: Theta) -> tuple[Array, ...]:
        return (np.exp(theta["log_theta"]),)

    def draw_theta(self, rng: Generator, size: Size = ()) -> Theta:
        return {"log_theta": self.log_draw(rng, size)}

    @staticmethod
    def log_kernel(theta: Theta, counts: Array) -> Array:
        with np.errstate(invalid="ignore"):
            each = np.where(counts == 0, 0.0, counts * theta["log_theta"])
        return each.sum(-1) - Dirichlet.peak(counts)

    @staticmethod
    def pymc_likelihood(theta: Mapping[str, Any], counts: Any) -> Any:
        from pytensor import tensor as pt

        return (counts * pt.log(theta["theta"])).sum()

    def pymc(self, name: Callable[[str], str], dims: tuple[str, ...]) -> Any:
        import pymc as pm

        self.require_sampled()
        return pm.Dirichlet(name("theta"), a=shared(self.alpha), dims=dims)


def named_by(given: Any, labels: Sequence[Any]) -> list[Any]:
    """The classes that a mapping names; an array, which goes by position, names all ``labels``."""
    if isinstance(given, Mapping):
        return list(given)
    return list(labels) if np.ndim(given) else []


def log_shares_without(counts: Array, codes: Array, weight: Array, point: str) -> Array:
    """Log probability of each class as (row, class), from counts (class,) less one row of class ``codes``."""
    left = np.tile(counts, (len(codes), 1))
    left[np.arange(len(left)), codes] -= weight
    left = np.maximum(left, 0.0)
    # Without the only row, the frequencies of the classes are unknown, and all classes are equally probable.
    left[left.sum(-1) == 0] = 1.0
    return log(getattr(Dirichlet(left), point)())
