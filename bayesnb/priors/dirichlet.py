"""The prior of a table of probabilities, whose mean is smoothing, and its base class, which a Beta shares."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
from numpy.random import Generator
from scipy.special import digamma, gammaln, zeta

from bayesnb.numerics import (
    Array,
    Size,
    log,
    log_gamma_draw,
    log_rising,
    log_root,
    log_root_slopes,
    log_sum,
    rate_deviance,
    sums_of_others,
)
from bayesnb.priors.belief import (
    NOT_NEGATIVE,
    ROUNDING,
    UNSEEN,
    Point,
    Prior,
    Theta,
    by_label,
    require_in_range,
    require_mode,
    shared,
)
from bayesnb.priors.common_draws import CommonDraws
from bayesnb.priors.gamma import Gamma

type Per = Literal["level", "class", "feature", "pooled"]


class SimplexPrior(Prior):
    """A Dirichlet distribution, in whatever form its concentrations and θ are written.

    All formulas are those of a Dirichlet with the ``concentrations`` α of all outcomes, of sum A. Independent rates
    Gamma(α_k, A), divided by their sum, are such probabilities; so the integrals over θ are those of the rates, less
    that of their sum.
    """

    point_axes = 3
    parameters = ("theta",)
    by_name = ("laplace", "jeffreys", "perks", "learned", "flat")

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
        """The numbers of the outcomes that users see, (..., outcome)."""

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

    def mean(self) -> Array:
        return self.shown(self._mean())

    def _mean(self) -> Array:
        self.require_proper("A mean")
        return self.concentrations / self.total[..., None]

    def variance(self) -> Array:
        self.require_proper("A variance")
        alpha, total = self.concentrations, self.total[..., None]
        # Not 1 - mean, which loses its digits if one outcome has nearly all of the concentration.
        return self.shown(alpha / total * (sums_of_others(alpha) / total) / (total + 1))

    def mode(self) -> Array:
        return self.shown(self._mode())

    def _mode(self) -> Array:
        self.require_proper("A mode")
        alpha, total, outcomes = self.concentrations, self.total[..., None], np.asarray(self.outcomes)[..., None]
        alone = outcomes == 1
        # A weight that is added to 1 and taken away again may leave a little less or a little more than 1.
        outside = (alpha > 0) & (alpha < 1 - ROUNDING) & ~alone
        require_mode(alpha, outside, "concentration", "count")
        excess = np.where(alpha > 1 + ROUNDING, alpha - 1, 0.0)
        whole = np.where(total > outcomes + ROUNDING, total - outcomes, 0.0)
        # A flat density has no single mode, so its centre is taken.
        inside = np.where(whole > 0, excess / np.where(whole > 0, whole, 1.0), 1 / outcomes)
        return np.where(alpha > 0, np.where(alone, 1.0, inside), 0.0)

    def log_draw(self, rng: Generator, size: Size = ()) -> Array:
        """Draws of ln θ of all outcomes; at a concentration of 1e-3, half of the θ would be 0 as floats."""
        self.require_proper("A draw")
        drawn = log_gamma_draw(self.concentrations, rng, size)
        drawn -= over_last(np.maximum, drawn)
        return drawn - np.log(over_last(np.add, np.exp(drawn)))

    def log_prob_of_each(self, theta: Theta) -> tuple[Array]:
        alpha, log_theta = self.concentrations, theta["log_theta"]
        with np.errstate(invalid="ignore"):
            inside = np.where(np.abs(alpha - 1) <= ROUNDING, 0.0, (alpha - 1) * log_theta)
        # A structural zero has no density at another probability than 0.
        outside = np.where(np.isneginf(log_theta), 0.0, -np.inf)
        return (np.where(alpha > 0, inside, outside).sum(-1) - self.log_normalizer(),)

    def log_jacobian(self, theta: Theta) -> Array:
        free = (self.concentrations > 0) & (self.outcomes > 1)[..., None]
        return np.where(free, theta["log_theta"], 0.0).sum(-1)

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
        size, zero = counts.sum(-1), self.concentrations + t[..., None] * counts == 0
        each = self._rates().slopes(counts, size[..., None], t=t[..., None])
        # A structural zero that is counted makes the likelihood 0.
        ends = (np.where(counts == 0, 0.0, end) for end in (-np.inf, np.inf))
        first, second = (np.where(zero, end, v).sum(-1) for end, v in zip(ends, each, strict=True))
        whole = log_root_slopes(self.total + t * size)
        return first - size * whole[0], second - size**2 * whole[1]

    def floor(self, *d: Array) -> Array:
        counts = self.counted(*d)
        return self._rates().floor(counts, counts.sum(-1, keepdims=True)).max(-1)

    @classmethod
    def best(cls, *d: Array) -> Theta:
        """The probabilities under which data are most probable."""
        counts = cls.counted(*d)
        return {"log_theta": log(counts / np.maximum(counts.sum(-1, keepdims=True), np.finfo(float).tiny))}

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

    def plug_in(self, point: Point) -> Theta:
        return {"log_theta": log(self._mode() if point == "mode" else self._mean())}

    def draw_theta(self, rng: Generator, size: Size = ()) -> Theta:
        return {"log_theta": self.log_draw(rng, size)}


@dataclass(frozen=True, eq=False, repr=False)
class Dirichlet(SimplexPrior):
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
    strengths: ClassVar[Mapping[str, tuple[str, ...]]] = {"alpha": ("alpha",)}

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", by_label(self.alpha, "alpha"))
        if isinstance(self.alpha, Mapping):
            require_in_range("alpha", np.array(list(self.alpha.values()), float), NOT_NEGATIVE)
        else:
            alpha = np.asarray(self.alpha, float)
            require_in_range("alpha", alpha, NOT_NEGATIVE)
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
    def imaginary(cls, rows: float, per: Per, tuned: bool | None = None) -> Dirichlet:
        return cls(rows, per, tuned)

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
        if not np.allclose(shares.sum(-1), 1.0, rtol=0, atol=1e-9) or (shares < 0).any():
            raise ValueError(f"Expected the probabilities p to sum to 1; got {p!r}")
        return cls(dict(zip(p, m * shares, strict=True)) if isinstance(p, Mapping) else m * shares)

    @classmethod
    def from_rows(cls, n: float, rows: Sequence[Any]) -> Dirichlet:
        """The prior that is worth ``n`` rows like these, each the name of a level."""
        names = list(rows)
        if not names:
            raise ValueError("Expected the names of the levels of one row or more; got none")
        return cls({name: n * names.count(name) / len(names) for name in dict.fromkeys(names)})

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

    def log_powers(self, t: Array) -> tuple[Array, Array, Array]:
        """ln E[π_c^t], up to a term that all classes share, with its first and second derivative; t is (..., class)."""
        return log_rising(self.alpha, t), digamma(self.alpha + t), zeta(2.0, self.alpha + t)

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
    def concentrations(self) -> Array:
        if not isinstance(self.alpha, np.ndarray):
            raise ValueError(
                f"Expected one concentration a level; got {self.alpha!r}, and how many levels there are "
                "is not known yet: write Dirichlet([1, 1, 1]), or call over(levels, n_classes)"
            )
        return self.alpha

    @staticmethod
    def counted(*d: Array) -> Array:
        return d[0]

    @staticmethod
    def shown(each: Array) -> Array:
        return each

    def plus(self, counts: Array, t: float | Array = 1.0) -> Dirichlet:
        return self._with(alpha=self.alpha + np.asarray(t)[..., None] * counts)

    def drawn_along(self, *d: Array, common: CommonDraws) -> Array:
        alpha, counts = np.broadcast_arrays(self.concentrations, self.counted(*d))
        alpha, counts = (v.reshape(-1, *v.shape[-3:]) for v in (alpha, counts))
        found = np.zeros((common.draws, *alpha.shape[:-1]))
        for row, c, column in np.ndindex(alpha.shape[:-1]):
            n, own = counts[row, c, column], alpha[row, c, column]
            seen, here = np.flatnonzero(n), common.within(c).from_column(column)
            # Only the outcomes that are counted need a draw of their own, and all others together one more.
            shapes = zip([*seen, -1], [*own[seen], np.delete(own, seen).sum()], strict=True)
            drawn = [here.log_gamma(np.full((1, 1), shape), kind=k + 1)[:, 0, 0, 0] for k, shape in shapes]
            log_theta = np.stack(drawn, axis=-1) - log_sum(drawn)[:, None]
            found[:, row, c, column] = self.log_kernel({"log_theta": log_theta}, np.append(n[seen], 0.0))
        return found

    @classmethod
    def theta(cls, *point: Array) -> Theta:
        return {"log_theta": log(point[0])}

    @staticmethod
    def log_kernel(theta: Theta, counts: Array) -> Array:
        log_theta, n = theta["log_theta"], counts.sum(-1, keepdims=True)
        return -rate_deviance(counts, n, log_theta, np.exp(log_theta)).sum(-1)

    @staticmethod
    def pymc_likelihood(theta: Mapping[str, Any], counts: Any) -> Any:
        from pytensor import tensor as pt

        return (counts * pt.log(theta["theta"])).sum(-1)

    def pymc(self, name: Callable[[str], str], dims: tuple[str, ...]) -> Any:
        import pymc as pm

        return pm.Dirichlet(name("theta"), a=shared(self.alpha), dims=dims)


def over_last(combine: np.ufunc, x: Array) -> Array:
    """``combine.reduce`` over the last axis, which stays with length 1.

    Few items are combined one by one: numpy is slow at short rows, and adds up to eight of them in this order too.
    """
    if 0 < x.shape[-1] < 8:
        return reduce(combine, (x[..., k : k + 1] for k in range(x.shape[-1])))
    return combine.reduce(x, axis=-1, keepdims=True)


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


def concentrations(
    alpha: float | Array | Mapping[Any, float],
    per: Per,
    column: int,
    names: tuple[Any, ...],
    n_classes: int,
    counts: Array | None,
) -> Array:
    """The concentration of each level of a column, which spreads to (class, level).

    Parameters
    ----------
    alpha, per
        As :class:`bayesnb.Dirichlet` has them.
    column : int
        The position of the column.
    names : tuple
        Its levels.
    n_classes : int
    counts : array (level,) or None
        Weight of each level in the whole column, if it is known.
    """
    if isinstance(alpha, Mapping):
        given = list(alpha)
        # The level that stands for all others weighs as much as a named one, unless it is named.
        alpha = {UNSEEN: float(np.mean(list(alpha.values()))), **alpha}
        missing = [name for name in names if name not in alpha]
        if missing:
            raise ValueError(
                f"Expected a concentration for every level; got none for {missing[0]!r}: "
                f"add it to {sorted(map(str, given))}"
            )
        return np.array([alpha[name] for name in names], float)
    alpha = np.asarray(alpha)
    if per == "pooled":
        if counts is None:
            raise ValueError("a Dirichlet around pooled frequencies is a prior of columns, not of classes or of itself")
        # A row for each level, so that no level is impossible.
        return alpha * (counts + 1) / (counts.sum() + len(counts))
    if per != "level":
        return alpha / max(1, len(names) * (n_classes if per == "feature" else 1))
    if alpha.ndim == 3:
        alpha = alpha[:, column] if alpha.shape[1] > 1 else alpha[:, 0]
    if UNSEEN in names and alpha.ndim and alpha.shape[-1] == len(names) - 1 > 1:
        alpha = np.insert(alpha, names.index(UNSEEN), alpha.mean(-1), axis=-1)
    try:
        return np.broadcast_to(alpha, (n_classes, len(names)))
    except ValueError:
        raise ValueError(
            f"Expected alpha to fit {n_classes} classes and the {len(names)} levels "
            f"{list(names[:8])}; got shape {alpha.shape}. Give {{level: concentration}} or "
            f"{{class: Dirichlet(...)}} to be independent of their order"
        ) from None
