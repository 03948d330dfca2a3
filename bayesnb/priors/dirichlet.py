"""The Dirichlet prior of a table of probabilities, and its base class."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
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
)
from bayesnb.priors.belief import (
    NOT_NEGATIVE,
    ROUNDING,
    UNSEEN,
    ImproperError,
    Point,
    Prior,
    Theta,
    by_label,
    first,
    require_mode,
    shared,
)
from bayesnb.priors.common_draws import CommonDraws
from bayesnb.priors.gamma import Gamma

type Per = Literal["level", "class", "feature", "pooled"]


class SimplexPrior(Prior):
    """Base class of ``Dirichlet`` and ``Beta``."""

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
        """The count of each outcome."""

    @staticmethod
    @abstractmethod
    def shown(each: Array) -> Array:
        """Select the outcomes that users see: all outcomes for Dirichlet, only the outcome 1 for Beta."""

    # Named priors of Beta and Dirichlet.

    @classmethod
    @abstractmethod
    def laplace(cls, alpha: float = 1.0) -> Self:
        """A prior with the concentration α for each outcome."""

    @classmethod
    @abstractmethod
    def imaginary(cls, rows: float, per: Literal["class", "feature", "pooled"], tuned: bool | None = None) -> Self:
        """A prior of ``rows`` imaginary rows per class, or for all classes together if ``per`` is "feature".

        If ``per`` is "pooled", the imaginary rows have the level frequencies of the whole column.
        """

    @classmethod
    def jeffreys(cls) -> Self:
        """A prior with the concentration 1/2 for every outcome."""
        return cls.laplace(0.5)

    @classmethod
    def perks(cls) -> Self:
        """A concentration of 1/K for each of K outcomes: one imaginary row per class (Perks 1947)."""
        return cls.imaginary(1.0, "class")

    @classmethod
    def bdeu(cls, ess: float) -> Self:
        """The BDeu prior: each concentration is ess / (classes × outcomes) (Heckerman, Geiger and Chickering 1995)."""
        return cls.imaginary(ess, "feature")

    @classmethod
    def pooled(cls, m: float) -> Self:
        """A prior of m imaginary rows per class, with the level frequencies of the whole column."""
        return cls.imaginary(m, "pooled")

    @classmethod
    def learned(cls) -> Self:
        """Like :meth:`pooled`, with m estimated from the evidence (Minka 2000).

        All columns of a feature share m. The hyperprior is ``ln m ~ Normal(ln 2, 1)``.
        """
        return cls.imaginary(2.0, "pooled", tuned=True)

    @classmethod
    def flat(cls) -> Self:
        """The uniform prior; the posterior mode then equals the relative frequencies."""
        return cls.laplace()

    # The distribution.

    @cached_property
    def outcomes(self) -> Array:
        return (self.concentrations > 0).sum(-1)

    @cached_property
    def total(self) -> Array:
        return self.concentrations.sum(-1)

    def proper(self) -> Array:
        return self.total > 0

    def require_sampled(self) -> None:
        super().require_sampled()
        if (zero := self.concentrations == 0).any():
            raise ImproperError("a concentration of 0 has no sampled road: PyMC needs positive ones", first(zero))

    def mean(self) -> Array:
        return self.shown(self._mean())

    def _mean(self) -> Array:
        self.require_proper("A mean")
        return self.concentrations / self.total[..., None]

    def variance(self) -> Array:
        self.require_proper("A variance")
        alpha, total = self.concentrations, self.total[..., None]
        # 1 - mean would lose digits if one outcome has nearly all of the concentration.
        return self.shown(alpha / total * (sums_of_others(alpha) / total) / (total + 1))

    def mode(self) -> Array:
        return self.shown(self._mode())

    def _mode(self) -> Array:
        self.require_proper("A mode")
        alpha, total, outcomes = self.concentrations, self.total[..., None], np.asarray(self.outcomes)[..., None]
        alone = outcomes == 1
        # Adding a weight to 1 and subtracting it again may leave slightly less or more than 1.
        outside = (alpha > 0) & (alpha < 1 - ROUNDING) & ~alone
        require_mode(alpha, outside, "concentration", "count")
        excess = np.where(alpha > 1 + ROUNDING, alpha - 1, 0.0)
        whole = np.where(total > outcomes + ROUNDING, total - outcomes, 0.0)
        # A flat density has no single mode, so use its centre.
        inside = np.where(whole > 0, excess / np.where(whole > 0, whole, 1.0), 1 / outcomes)
        return np.where(alpha > 0, np.where(alone, 1.0, inside), 0.0)

    def log_draw(self, rng: Generator, size: Size = ()) -> Array:
        """Draws of ln θ, which is finite even if θ underflows to 0."""
        self.require_proper("A draw")
        drawn = log_gamma_draw(self.concentrations, rng, size)
        drawn -= over_last(np.maximum, drawn)
        return drawn - np.log(over_last(np.add, np.exp(drawn)))

    def log_prob_of_each(self, theta: Theta) -> tuple[Array]:
        alpha, log_theta = self.concentrations, theta["log_theta"]
        with np.errstate(invalid="ignore"):
            inside = np.where(np.abs(alpha - 1) <= ROUNDING, 0.0, (alpha - 1) * log_theta)
        # A structural zero has probability 0, and density 0 elsewhere.
        outside = np.where(np.isneginf(log_theta), 0.0, -np.inf)
        return (np.where(alpha > 0, inside, outside).sum(-1) - self.log_normalizer(),)

    def log_jacobian(self, theta: Theta) -> Array:
        free = (self.concentrations > 0) & (self.outcomes > 1)[..., None]
        return np.where(free, theta["log_theta"], 0.0).sum(-1)

    def log_normalizer(self) -> Array:
        self.require_proper("A density")
        alpha = self.concentrations
        return np.where(alpha > 0, gammaln(np.where(alpha > 0, alpha, 1.0)), 0.0).sum(-1) - gammaln(self.total)

    # Updates.

    def _rates(self) -> Gamma:
        return Gamma()._with(alpha=self.concentrations, beta=self.total[..., None])

    def along(self, *d: Array, t: float | Array = 1.0) -> Array:
        """Log moment ln E[(L(θ) / max L)^t] of the likelihood of counts; -inf if a structural zero occurs (t > 0)."""
        added = np.asarray(t, float)[..., None] * self.counted(*d)
        more = added.sum(-1)
        if (more == 1).all() and ((added == 0) | (added == 1)).all():
            return log_share(*((self.concentrations * some).sum(-1) for some in (added, 1 - added)))
        each = self._rates().along(added, more[..., None])
        impossible = np.where(added > 0, -np.inf, np.where(added < 0, np.inf, 0.0))
        own = np.where(self.concentrations > 0, each, impossible).sum(-1)
        # If the moment does not exist, the sum of the concentrations may be negative too.
        return np.where(np.isposinf(own), np.inf, own - log_root(self.total, self.total + more))

    def slopes(self, *d: Array, t: float | Array = 0.0) -> tuple[Array, Array]:
        counts, t = self.counted(*d), np.asarray(t, float)
        size, zero = counts.sum(-1), self.concentrations + t[..., None] * counts == 0
        each = self._rates().slopes(counts, size[..., None], t=t[..., None])
        # If a structural zero is counted, the likelihood is 0.
        ends = (np.where(counts == 0, 0.0, end) for end in (-np.inf, np.inf))
        first, second = (np.where(zero, end, v).sum(-1) for end, v in zip(ends, each, strict=True))
        whole = log_root_slopes(self.total + t * size)
        return first - size * whole[0], second - size**2 * whole[1]

    def floor(self, *d: Array) -> Array:
        counts = self.counted(*d)
        return self._rates().floor(counts, counts.sum(-1, keepdims=True)).max(-1)

    @classmethod
    def best(cls, *d: Array) -> Theta:
        counts = cls.counted(*d)
        return {"log_theta": log(counts / np.maximum(counts.sum(-1, keepdims=True), np.finfo(float).tiny))}

    @classmethod
    def peak(cls, *d: Array) -> Array:
        """The maximum log-likelihood of the counts, Σ_k n_k ln(n_k / N)."""
        counts = cls.counted(*d)
        with np.errstate(all="ignore"):
            share = np.abs(counts / counts.sum(-1, keepdims=True))
            return np.where(counts == 0, 0.0, counts * np.log(share)).sum(-1)

    # θ in likelihood form: the log probabilities of all outcomes.

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
        Concentration: a number for every level, or an array (level,), (class, level) or (class, column, level). A level
        of concentration 0 is a structural zero: its probability is 0 until the level occurs in the data.
    per : {"level", "class", "feature", "pooled"}
        How a scalar ``alpha`` is divided. "level": each level gets ``alpha``. "class": in each class, ``alpha`` is
        divided equally among the levels. "feature": ``alpha`` is divided equally among all classes and levels of a
        column. "pooled": in each class, ``alpha`` is divided in proportion to the level frequencies of the whole
        column.
    tuned : bool, optional
        Whether to multiply ``alpha`` by a factor estimated from the data; see :meth:`learned`.

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
    _ranges: ClassVar = {"alpha": NOT_NEGATIVE}
    strengths: ClassVar[Mapping[str, tuple[str, ...]]] = {"alpha": ("alpha",)}

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", by_label(self.alpha, "alpha"))
        super().__post_init__()
        if isinstance(self.alpha, np.ndarray) and not self.alpha.ndim:
            object.__setattr__(self, "alpha", float(self.alpha))
        if self.per not in get_args(Per.__value__):
            raise ValueError(f"Expected per to be 'level', 'class', 'feature' or 'pooled'; got {self.per!r}")
        if self.per != "level" and not isinstance(self.alpha, float):
            raise ValueError(f"Expected one number for alpha per {self.per}; got {self.alpha!r}")

    @classmethod
    def laplace(cls, alpha: float = 1.0) -> Dirichlet:
        """Concentration α for each of K levels. The posterior mean of a level is Laplace's rule, (n + α) / (N + αK)."""
        return cls(alpha)

    @classmethod
    def imaginary(cls, rows: float, per: Per, tuned: bool | None = None) -> Dirichlet:
        return cls(rows, per, tuned)

    @classmethod
    def m_estimate(cls, m: float, p: Array | Mapping[Any, float] | None = None) -> Dirichlet:
        """m imaginary rows per class, with level frequencies ``p``.

        The posterior mean of a level is (n + m p) / (N + m), where n of the N rows of the class have the level.

        Parameters
        ----------
        m : float
            Equivalent sample size (Mitchell, Machine Learning, 6.9.1.1).
        p : array or {level: float}, optional
            Probability of each level; uniform by default.
        """
        if p is None:
            return cls(m, per="class")
        shares = np.array(list(p.values()) if isinstance(p, Mapping) else p, float)
        if not np.allclose(shares.sum(-1), 1.0, rtol=0, atol=1e-9) or (shares < 0).any():
            raise ValueError(f"Expected the probabilities p to sum to 1; got {p!r}")
        return cls(dict(zip(p, m * shares, strict=True)) if isinstance(p, Mapping) else m * shares)

    @classmethod
    def from_rows(cls, n: float, rows: Sequence[Any]) -> Dirichlet:
        """A prior worth ``n`` rows with the level frequencies of ``rows``."""
        names = list(rows)
        if not names:
            raise ValueError("Expected the names of the levels of one row or more; got none")
        return cls({name: n * names.count(name) / len(names) for name in dict.fromkeys(names)})

    # The methods of a prior of the class probabilities, as in FixedProbabilities.

    def over_classes(self, labels: Sequence[Any], rows: Array) -> Dirichlet:
        """Expand the prior to one concentration per class in ``labels``."""
        try:
            if self.tuned:
                raise ValueError("a prior cannot be learned from a single table of classes; give a concentration")
            return Dirichlet(self.over((tuple(labels),), 1).alpha[0, 0])
        except ValueError as error:
            raise ValueError(f"class prior: {error}") from error

    def log_evidence(self, rows: Array) -> float:
        self.require_proper("An evidence")
        return float(self.along(rows) + self.peak(rows))

    def log_base(self, rows: Array) -> float:
        return 0.0

    def named_classes(self, labels: Sequence[Any]) -> list[Any]:
        return list(self.alpha) if isinstance(self.alpha, Mapping) else list(labels) if np.ndim(self.alpha) else []

    def log_left_out(self, posterior: Dirichlet, rows: Array, codes: Array, weight: Array, point: str) -> Array:
        return log_shares_without(posterior.alpha, codes, weight, point)

    def log_counted(self, log_pi: Array, rng: Generator) -> Array:
        """For each class c, draws of ln π_c given one more row of class c, up to a term shared by the classes."""
        # One more row adds an Exponential variate to the class's Gamma variate, because Gamma(α) + Exponential(1) is
        # Gamma(α + 1).
        more = np.log(rng.standard_exponential(len(log_pi))) - log_gamma_draw(self.total, rng, (len(log_pi),))
        return np.logaddexp(log_pi, more[:, None])

    def log_powers(self, t: Array) -> tuple[Array, Array, Array]:
        """For each class probability θ, ln E[θ^t] and two derivatives in ``t``, up to terms shared by the classes."""
        return log_rising(self.alpha, t), digamma(self.alpha + t), zeta(2.0, self.alpha + t)

    def log_power_floor(self) -> Array:
        return -self.alpha

    def over(self, levels: Sequence[tuple[Any, ...]], n_classes: int, counts: Array | None = None) -> Dirichlet:
        """Expand the prior to arrays (class, column, level), with structural zeros in columns with fewer levels."""
        full = np.zeros((n_classes, len(levels), max([1, *map(len, levels)])))
        for column, names in enumerate(levels):
            # A column without any known value has one cell, which no value falls into.
            own = None if counts is None else counts[column, : len(names)]
            of_level = concentrations(self.alpha, self.per, column, names, n_classes, own) if names else 1.0
            full[:, column, : max(1, len(names))] = of_level
        return Dirichlet(full)

    @property
    def concentrations(self) -> Array:
        if not isinstance(self.alpha, np.ndarray):
            raise ValueError(
                f"Expected one concentration per level; got {self.alpha!r}, and how many levels there are "
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
            # Each counted outcome needs a draw, and the others together need one more.
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
    """A faster ``combine.reduce(x, axis=-1, keepdims=True)`` for short axes."""
    if 0 < x.shape[-1] < 8:
        return reduce(combine, (x[..., k : k + 1] for k in range(x.shape[-1])))
    return combine.reduce(x, axis=-1, keepdims=True)


def log_shares_without(counts: Array, codes: Array, weight: Array, point: str) -> Array:
    """Leave-one-out log probabilities of the classes for each row, (row, class)."""
    left = np.tile(counts, (len(codes), 1))
    left[np.arange(len(left)), codes] -= weight
    left = np.maximum(left, 0.0)
    # Without the only row, all classes are equally probable.
    left[left.sum(-1) == 0] = 1.0
    return log(getattr(Dirichlet(left), point)())


def concentrations(
    alpha: float | Array | Mapping[Any, float], per: Per, column: int, names: tuple[Any, ...], n_classes: int,
    counts: Array | None,
) -> Array:  # fmt: skip
    """The Dirichlet concentrations of the levels of one column, (class, level)."""
    if isinstance(alpha, Mapping):
        given = list(alpha)
        # The level of unseen values gets the mean concentration of the named levels by default.
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
        # Add one row per level, so that no level is impossible.
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


def log_share(own: Array, others: Array) -> Array:
    """Accurate ln(own / (own + others)), even if ``others`` is small; both numbers are 0 or more."""
    with np.errstate(all="ignore"):
        return np.where(own > others, -np.log1p(others / own), np.log(own / (own + others)))


def sums_of_others(x: Array) -> Array:
    """For each number along the last axis, the sum of all other numbers."""
    before, after = np.zeros_like(x), np.zeros_like(x)
    before[..., 1:] = np.cumsum(x[..., :-1], -1)
    after[..., :-1] = np.cumsum(x[..., :0:-1], -1)[..., ::-1]
    return before + after
