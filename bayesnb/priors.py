"""What is believed about a parameter, before the data or after: the conjugate priors.

Start with :class:`Dirichlet`: smoothing is one of its means. A prior and a posterior are the same
class, since a posterior is a prior that has seen data. Parameters are arrays whose axes are class,
column and (for a Dirichlet) level; what a prior leaves open (``None``, a concentration ``per="class"``)
is filled in by ``over``, once the shape of the data is known.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import Enum
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.random import Generator
from scipy.special import digamma, gammaln, xlogy, zeta

from bayesnb.kernels.densities import over_last

type Array = np.ndarray


class Unseen(Enum):
    """The name of the level that stands for all levels never seen (``unseen="new"``)."""

    LEVEL = "(unseen)"

    def __str__(self) -> str:
        return self.value


UNSEEN = Unseen.LEVEL
type Size = tuple[int, ...]


class ImproperError(ValueError):
    """A distribution that cannot be normalized was asked for something only a proper one has.

    ``where`` is the position (class, column) of the first improper cell.

    Examples
    --------
    >>> NormalGamma(0, 1, 0.5, 0).mean()
    Traceback (most recent call last):
        ...
    bayesnb.priors.ImproperError: A mean needs a proper NormalGamma; got m=0, kappa=1, a=0.5, b=0
    """

    def __init__(self, message: str, where: tuple[int, ...] = ()) -> None:
        super().__init__(message)
        self.where = where


class BoundaryError(ValueError):
    """A posterior has no mode inside its range; its mean exists.

    ``where`` is the position (class, column[, level]) of the first such cell.

    Examples
    --------
    >>> Dirichlet([0.5, 3.0]).mode()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    bayesnb.priors.BoundaryError: the mode is on the boundary, where concentration plus count is 0.5 < 1; ...
    """

    def __init__(self, message: str, where: tuple[int, ...] = ()) -> None:
        super().__init__(message)
        self.where = where


class UnlearnedError(ValueError):
    """Rows cannot be unlearned: they never were learned, or nothing sure would be left of the others.

    ``where`` is the position (class, column[, level]) of the first cell that would fall below 0.
    """

    def __init__(self, message: str, where: tuple[int, ...] = ()) -> None:
        super().__init__(message)
        self.where = where


def first(mask: Array) -> tuple[int, ...]:
    """Position of the first true cell."""
    return tuple(int(i) for i in np.argwhere(mask)[0])


def log(x: Array) -> Array:
    """Natural logarithm that takes 0 to -inf without a warning: a zero is meant here."""
    with np.errstate(divide="ignore"):
        return np.log(x)


def log1p(x: Array) -> Array:
    """ln(1 + x) that takes -1 to -inf without a warning."""
    with np.errstate(divide="ignore"):
        return np.log1p(x)


def log_rising(a: Array, t: Array) -> Array:
    """ln Γ(a+t) - ln Γ(a), without the cancellation of its two terms where ``a`` is large.

    Stirling's series (Abramowitz and Stegun 6.1.41) is subtracted term by term; a count of 1e15 would
    otherwise cost every digit. Infinite where a + t <= 0: there the moment that asks does not exist.
    """
    a, t = np.broadcast_arrays(np.asarray(a, float), np.asarray(t, float))
    z = a + t
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        rising = np.where(t == 0, 0.0, gammaln(z) - gammaln(a))
        large = (a >= 16) & (z >= 16)
        if large.any():
            big, step, top = a[large], t[large], z[large]
            series = (big - 0.5) * np.log1p(step / big) + step * (np.log(top) - 1.0)
            rising[large] = series + _stirling(top) - _stirling(big)
    return np.where(z > 0, rising, np.where(t == 0, 0.0, np.inf))


def _stirling(z: Array) -> Array:
    """ln Γ(z) - [(z - 1/2) ln z - z + ln(2π)/2], to 1e-16 for z >= 16."""
    w = 1.0 / (z * z)
    return (1 / 12 - w * (1 / 360 - w * (1 / 1260 - w * (1 / 1680 - w / 1188)))) / z


def log_gamma_slopes(z: Array) -> tuple[Array, Array]:
    """First and second derivative of ln Γ, digamma and trigamma."""
    return digamma(z), zeta(2.0, z)


def shared(value: Array) -> Any:
    """What PyMC is told as a variable and not as a constant, so that code once compiled serves other data too."""
    import pytensor

    return pytensor.shared(np.asarray(value, float), shape=np.shape(value))


def log_gamma_draw(shape: Array, rng: Generator, size: Size) -> Array:
    """Logarithm of Gamma(shape, 1) variates; below shape 1 they may be far smaller than a float can be.

    A Gamma(a) variate is a Gamma(a+1) variate times U^(1/a) (Marsaglia and Tsang 2000, section 6).
    """
    small = shape < 1
    drawn = np.log(rng.standard_gamma(np.where(small, shape + 1, shape), size=size + shape.shape))
    if small.any():
        with np.errstate(divide="ignore"):
            drawn = drawn - np.where(small, rng.standard_exponential(drawn.shape) / shape, 0.0)
    return drawn


def _nonnegative(name: str, value: Array) -> None:
    if not np.all(np.isfinite(value) & (value >= 0)):
        raise ValueError(f"Expected {name} to be finite and not negative; got {value!r}")


@dataclass(frozen=True, eq=False, repr=False)
class Prior(ABC):
    """A distribution of a parameter θ. Every cell of its arrays is one independent θ.

    To add a prior: a frozen dataclass with array fields, the methods below, and a method ``over`` that
    brings it to the shape of the data.
    """

    _own_cell: ClassVar[str] = "class"
    _class_axis: ClassVar[int] = 0
    _not_told: ClassVar[str] = "None"
    """What ``repr`` says of a field that is None: "pooled" for what is taken from the whole column."""

    @abstractmethod
    def proper(self) -> Array:
        """Whether each cell can be normalized, as booleans."""

    @abstractmethod
    def mean(self) -> Any:
        """E[θ]: one array, or a tuple of arrays where θ has several parts."""

    @abstractmethod
    def variance(self) -> Any:
        """Var[θ], in the form of ``mean``; infinite where it does not exist."""

    @abstractmethod
    def mode(self) -> Any:
        """The joint mode of θ. Raises :class:`BoundaryError` where it is not inside the range."""

    @abstractmethod
    def draw(self, rng: Generator, size: Size = ()) -> Any:
        """Independent draws; the axes of ``size`` lead."""

    @abstractmethod
    def log_prob(self, *theta: Array) -> Array:
        """Log density at θ."""

    @abstractmethod
    def log_jacobian(self, *theta: Array) -> Array:
        """Log Jacobian at θ, up to a constant, of the scale on which the mean of θ is the mode.

        That scale is log-odds for probabilities, the log for rates, and (μ, √τ) for a Normal.
        """

    @abstractmethod
    def log_normalizer(self) -> Array:
        """Log of the integral that ``log_prob`` divides by."""

    @abstractmethod
    def pymc(self, name: Callable[[str], str], dims: tuple[str, ...]) -> Any:
        """The variable in the open PyMC model (a tuple where θ has several parts).

        ``name`` turns "theta", "mu", … into the full name. Improper priors have none.
        """

    def require_sampled(self) -> None:
        """Raise :class:`ImproperError` unless the prior is proper and none of its cells a structural zero."""
        self.require_proper("An improper prior has no sampled road: PyMC")
        zero = self.zeros()
        if zero.any():
            raise ImproperError("a concentration of 0 has no sampled road: PyMC needs positive ones", first(zero))

    def zeros(self) -> Array:
        """Which cells are structural zeros. (A hook.)"""
        return np.zeros(1, bool)

    def require_proper(self, what: str) -> None:
        """Raise :class:`ImproperError`, naming the first improper cell, unless all are proper."""
        proper = self.proper()
        if not proper.all():
            where = first(~proper)
            cell = ", ".join(
                f"{f.name}={value[where]:g}"
                for f in fields(self)
                if f.repr and isinstance(value := getattr(self, f.name), np.ndarray) and value.shape == proper.shape
            )
            raise ImproperError(
                f"{what} needs a proper {type(self).__name__}; got {cell or 'no concentration at all'}",
                where,
            )

    def __repr__(self) -> str:
        told = {f.name: getattr(self, f.name) for f in fields(self) if f.repr and f.name != "per"}
        given = (f"{name}={self._not_told if value is None else _short(value)}" for name, value in told.items())
        per = f", per={self.per!r}" if getattr(self, "per", None) not in (None, self._own_cell) else ""
        return f"{type(self).__name__}({', '.join(given)}{per})"

    def at(self, index: Any) -> Self:
        """The cells at a position along the class axis."""
        return self._cells((slice(None),) * self._class_axis + (index,))

    def columns(self, index: Any) -> Self:
        """The cells at positions along the column axis."""
        return self._cells((slice(None),) * (self._class_axis + 1) + (index,))

    def _cells(self, cell: Any) -> Self:
        return type(self)(*(_cells_at(getattr(self, f.name), cell) for f in fields(self)))


def _cells_at(value: Any, cell: Any) -> Any:
    """A field of a prior at some of its cells; what is not an array is the same for all of them."""
    if isinstance(value, Mapping):
        return {name: _cells_at(v, cell) for name, v in value.items()}
    return value[cell] if isinstance(value, np.ndarray) and value.ndim else value


type Per = Literal["level", "class", "feature"]


@dataclass(frozen=True, eq=False, repr=False)
class Dirichlet(Prior):
    """θ ~ Dirichlet(α), the prior of a table of probabilities (Murphy, PML1, 4.6.3).

    Parameters
    ----------
    alpha : float, array or {level: float}
        Concentration. A scalar holds for every level; a vector has one entry a level, in the order of
        the levels; (class, level) and (class, column, level) are the full forms. A concentration of 0
        is a structural zero: the level has probability 0 until it is counted.
    per : {"level", "class", "feature"}
        What a scalar ``alpha`` is counted for: each level, the whole table of one class (shared equally
        among its levels), or all the tables of a feature together.

    Examples
    --------
    >>> Dirichlet([3, 2]).mean()
    array([0.6, 0.4])
    >>> Dirichlet([3, 2]).mode()
    array([0.66666667, 0.33333333])
    """

    alpha: float | Array | Mapping[Any, float] = 1.0
    per: Per = "level"

    _own_cell = "level"

    def __post_init__(self) -> None:
        if isinstance(self.alpha, Mapping):
            _nonnegative("alpha", np.array(list(self.alpha.values()), float))
        else:
            alpha = np.asarray(self.alpha, float)
            _nonnegative("alpha", alpha)
            object.__setattr__(self, "alpha", alpha if alpha.ndim else float(alpha))
        if self.per not in ("level", "class", "feature"):
            raise ValueError(f"Expected per to be 'level', 'class' or 'feature'; got {self.per!r}")
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
    def flat(cls) -> Dirichlet:
        """The uniform density, whose mode is plain counting."""
        return cls(1.0)

    def over(self, levels: Sequence[tuple[Any, ...]], n_classes: int) -> Dirichlet:
        """The prior at its full shape (class, column, level).

        Parameters
        ----------
        levels : sequence of tuples
            The names of each column's levels; where columns differ in their number, the shorter ones
            are filled up with structural zeros.
        n_classes : int
        """
        full = np.zeros((n_classes, len(levels), max([1, *map(len, levels)])))
        for column, names in enumerate(levels):
            # A column in which no value was ever seen has one cell, which no value falls into.
            full[:, column, : max(1, len(names))] = self._concentrations(column, names, n_classes) if names else 1.0
        return Dirichlet(full)

    def _concentrations(self, column: int, names: tuple[Any, ...], n_classes: int) -> Array:
        if isinstance(self.alpha, Mapping):
            # The level that stands for all others weighs as much as a named one, unless it is named.
            alpha = {UNSEEN: float(np.mean(list(self.alpha.values()))), **self.alpha}
            missing = [name for name in names if name not in alpha]
            if missing:
                raise ValueError(
                    f"Expected a concentration for every level; got none for {missing[0]!r}: "
                    f"add it to {sorted(map(str, self.alpha))}"
                )
            return np.array([alpha[name] for name in names], float)
        alpha = np.asarray(self.alpha)
        if self.per != "level":
            return alpha / max(1, len(names) * (n_classes if self.per == "feature" else 1))
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
        mean = self.mean()
        return mean * (1 - mean) / (self.total[..., None] + 1)

    def mode(self) -> Array:
        self.require_proper("A mode")
        support = self.alpha > 0
        alone = support.sum(-1, keepdims=True) == 1
        outside = support & (self.alpha < 1) & ~alone
        if outside.any():
            where = first(outside)
            raise BoundaryError(
                f"the mode is on the boundary, where concentration plus count is {self.alpha[where]:g} < 1; "
                'use the mean (estimate="mean") or a concentration of at least 1',
                where,
            )
        excess = np.where(support, self.alpha - 1, 0.0)
        share = np.where(alone, support, excess)
        rest = share.sum(-1, keepdims=True)
        # A flat density has no single mode: its centre stands for it.
        centre = support / support.sum(-1, keepdims=True)
        return np.where(rest > 0, share / np.where(rest > 0, rest, 1.0), centre)

    def log_draw(self, rng: Generator, size: Size = ()) -> Array:
        """Draws of ln θ: with a concentration of 1e-3 half the θ would be 0 as a float."""
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

    def pymc(self, name: Callable[[str], str], dims: tuple[str, ...]) -> Any:
        import pymc as pm

        self.require_sampled()
        return pm.Dirichlet(name("theta"), a=shared(self.alpha), dims=dims)


@dataclass(frozen=True, eq=False, repr=False)
class Beta(Prior):
    """θ ~ Beta(α, β), the prior of a probability: α counts ones, β zeros (BDA3 2.4).

    Parameters
    ----------
    alpha, beta : float or array (class, column)
    per : {"class", "feature"}
        Whether the concentrations are those of each class, or are shared equally among all classes.

    Examples
    --------
    >>> Beta(3, 1).mean(), Beta.m_estimate(4, 0.25)
    (array(0.75), Beta(alpha=1, beta=3))
    """

    alpha: float | Array = 1.0
    beta: float | Array = 1.0
    per: Literal["class", "feature"] = "class"

    def __post_init__(self) -> None:
        for name in ("alpha", "beta"):
            value = np.asarray(getattr(self, name), float)
            _nonnegative(name, value)
            object.__setattr__(self, name, value)
        if self.per not in ("class", "feature"):
            raise ValueError(f"Expected per to be 'class' or 'feature'; got {self.per!r}")

    @classmethod
    def laplace(cls, alpha: float = 1.0) -> Beta:
        """α imaginary ones and as many zeros."""
        return cls(alpha, alpha)

    @classmethod
    def m_estimate(cls, m: float, p: float | Array = 0.5) -> Beta:
        """m imaginary rows, of which a share ``p`` are ones: the mean is (n + m p) / (N + m)."""
        p = np.asarray(p, float)
        if not np.all((p >= 0) & (p <= 1)):
            raise ValueError(f"Expected p between 0 and 1; got {p!r}")
        return cls(m * p, m * (1 - p))

    @classmethod
    def jeffreys(cls) -> Beta:
        """Beta(1/2, 1/2)."""
        return cls(0.5, 0.5)

    @classmethod
    def perks(cls) -> Beta:
        """1/K for each of the K = 2 outcomes, which is Jeffreys' prior."""
        return cls(0.5, 0.5)

    @classmethod
    def bdeu(cls, ess: float) -> Beta:
        """ess / (classes × 2) for each outcome."""
        return cls(ess / 2, ess / 2, per="feature")

    @classmethod
    def flat(cls) -> Beta:
        """The uniform density, whose mode is plain counting."""
        return cls(1.0, 1.0)

    def over(self, n_columns: int, n_classes: int) -> Beta:
        """The prior at its full shape (class, column)."""
        share = n_classes if self.per == "feature" else 1
        return Beta(*(spread(v / share, (n_classes, n_columns)) for v in (self.alpha, self.beta)))

    def pair(self) -> Dirichlet:
        """The same belief about (1 - θ, θ), which keeps both digits when θ is close to 1."""
        return Dirichlet(np.stack(np.broadcast_arrays(self.beta, self.alpha), axis=-1))

    def proper(self) -> Array:
        return self.alpha + self.beta > 0

    def zeros(self) -> Array:
        return np.asarray((self.alpha == 0) | (self.beta == 0))

    def mean(self) -> Array:
        return self.pair().mean()[..., 1]

    def variance(self) -> Array:
        return self.pair().variance()[..., 1]

    def mode(self) -> Array:
        return self.pair().mode()[..., 1]

    def draw(self, rng: Generator, size: Size = ()) -> Array:
        return self.pair().draw(rng, size)[..., 1]

    def log_prob(self, *theta: Array) -> Array:
        (theta,) = theta
        return self.pair().log_prob(np.stack([1 - theta, theta], axis=-1))

    def log_jacobian(self, *theta: Array) -> Array:
        (theta,) = theta
        return self.pair().log_jacobian(np.stack([1 - theta, theta], axis=-1))

    def log_normalizer(self) -> Array:
        return self.pair().log_normalizer()

    def pymc(self, name: Callable[[str], str], dims: tuple[str, ...]) -> Any:
        import pymc as pm

        self.require_sampled()
        return pm.Beta(name("theta"), alpha=shared(self.alpha), beta=shared(self.beta), dims=dims)


@dataclass(frozen=True, eq=False, repr=False)
class Gamma(Prior):
    """λ ~ Gamma(shape α, rate β), the prior of a rate (BDA3 2.6): α events in β units of exposure.

    Parameters
    ----------
    alpha : float or array (class, column)
        Shape, events.
    beta : float, array (class, column) or None
        Rate, in units of exposure. ``None`` is α / pooled rate, so that the prior mean is the rate of
        the whole column (or β = α, a mean of 1, where the column has no events).

    Examples
    --------
    >>> Gamma(6, 2).mean(), Gamma(6, 2).mode()
    (np.float64(3.0), np.float64(2.5))
    """

    _not_told = "pooled"

    alpha: float | Array = 1.0
    beta: float | Array | None = None

    def __post_init__(self) -> None:
        for name in ("alpha", "beta"):
            if (value := getattr(self, name)) is not None:
                value = np.asarray(value, float)
                _nonnegative(name, value)
                object.__setattr__(self, name, value)

    @classmethod
    def unit_information(cls, events: float = 1.0) -> Gamma:
        """One imaginary event, seen at the rate of the whole column."""
        return cls(events, None)

    @classmethod
    def jeffreys(cls) -> Gamma:
        """Gamma(1/2, 0): improper; the posterior is proper once a class has any exposure."""
        return cls(0.5, 0.0)

    @classmethod
    def flat(cls) -> Gamma:
        """Gamma(1, 0): improper, its mode is events / exposure."""
        return cls(1.0, 0.0)

    def over(self, pooled_rate: Array, n_classes: int) -> Gamma:
        """The prior at its full shape (class, column); ``pooled_rate`` is (column,)."""
        shape = (n_classes, len(pooled_rate))
        alpha = spread(self.alpha, shape)
        if self.beta is not None:
            return Gamma(alpha, spread(self.beta, shape))
        usable = np.isfinite(pooled_rate) & (pooled_rate > 0)
        return Gamma(alpha, alpha / np.where(usable, pooled_rate, 1.0))

    def proper(self) -> Array:
        return (self.alpha > 0) & (self.beta > 0)

    def mean(self) -> Array:
        self.require_proper("A mean")
        return self.alpha / self.beta

    def variance(self) -> Array:
        self.require_proper("A variance")
        return self.alpha / self.beta**2

    def mode(self) -> Array:
        self.require_proper("A mode")
        outside = self.alpha < 1
        if outside.any():
            where = first(outside)
            raise BoundaryError(
                f"the mode is on the boundary, where shape plus events is {self.alpha[where]:g} < 1; "
                'use the mean (estimate="mean") or a shape of at least 1',
                where,
            )
        return (self.alpha - 1) / self.beta

    def log_draw(self, rng: Generator, size: Size = ()) -> Array:
        """Draws of ln λ."""
        self.require_proper("A draw")
        return log_gamma_draw(self.alpha, rng, size) - np.log(self.beta)

    def draw(self, rng: Generator, size: Size = ()) -> Array:
        return np.exp(self.log_draw(rng, size))

    def log_prob(self, *theta: Array) -> Array:
        (rate,) = theta
        return xlogy(self.alpha - 1, rate) - self.beta * rate - self.log_normalizer()

    def log_jacobian(self, *theta: Array) -> Array:
        (rate,) = theta
        return log(rate)

    def log_normalizer(self) -> Array:
        self.require_proper("A density")
        return gammaln(self.alpha) - self.alpha * np.log(self.beta)

    def pymc(self, name: Callable[[str], str], dims: tuple[str, ...]) -> Any:
        import pymc as pm

        self.require_sampled()
        return pm.Gamma(name("rate"), alpha=shared(self.alpha), beta=shared(self.beta), dims=dims)


@dataclass(frozen=True, eq=False, repr=False)
class NormalGamma(Prior):
    """(μ, τ) of a Normal, τ the precision: τ ~ Gamma(a, rate b), μ | τ ~ Normal(m, 1/(κτ)).

    The conjugate prior of a Normal with both parameters unknown (Murphy 2007, section 3; BDA3 3.3).

    Parameters
    ----------
    m : float, array (class, column) or None
        Prior location, in units of the column. ``None`` is the pooled mean of the column.
    kappa : float or array
        Rows that ``m`` is worth.
    a : float or array
        Half the rows that the variance is worth.
    b : float, array or None
        Half their sum of squares. ``None`` is a × pooled variance. Where that variance is 0 or unknown,
        the square of the pooled mean stands for it, and 1 where that is 0 too.
    low : array, optional
        What the location has beyond the float ``m``: it is m + low. Far from 0 a float is off by a part of the spread.
    unit : array, optional
        What m, low and √b are measured in: 1, or a power of two in columns whose squares are no ordinary floats.

    Examples
    --------
    >>> NormalGamma(m=170, kappa=5, a=3, b=100).mean()  # of μ and of τ
    (array(170.), np.float64(0.03))
    >>> NormalGamma.unit_information().over(np.array([10.0]), np.array([4.0]), n_classes=2)
    NormalGamma(m=[[10.],
     [10.]], kappa=[[1.],
     [1.]], a=[[0.5],
     [0.5]], b=[[2.],
     [2.]])
    """

    _not_told = "pooled"

    m: float | Array | None = None
    kappa: float | Array = 1.0
    a: float | Array = 0.5
    b: float | Array | None = None
    low: Any = field(default=None, repr=False)
    unit: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for f in fields(self):
            if (value := getattr(self, f.name)) is not None:
                value = np.asarray(value, float)
                if f.name in ("kappa", "b"):
                    _nonnegative(f.name, value)
                elif not np.isfinite(value).all():
                    raise ValueError(f"Expected {f.name} to be finite; got {value!r}")
                object.__setattr__(self, f.name, value)

    @classmethod
    def unit_information(cls, rows: float = 1.0) -> NormalGamma:
        """One imaginary row (or ``rows`` of them) that looks like the whole column."""
        return cls(None, rows, rows / 2, None)

    @classmethod
    def reference(cls) -> NormalGamma:
        """Improper, κ=0, a=-1/2, b=0: the posterior mean of τ is 1 / (variance with divisor N-1)."""
        return cls(0.0, 0.0, -0.5, 0.0)

    @classmethod
    def flat(cls) -> NormalGamma:
        """Improper, κ=0, a=1/2, b=0: the posterior mode of τ is 1 / (variance with divisor N)."""
        return cls(0.0, 0.0, 0.5, 0.0)

    def over(
        self,
        pooled_mean: Array,
        pooled_variance: Array,
        n_classes: int,
        pooled_low: float | Array = 0.0,
        unit: float | Array = 1.0,
    ) -> NormalGamma:
        """The prior at its full shape (class, column).

        Parameters
        ----------
        pooled_mean, pooled_variance : arrays (column,)
            Of each column, in units of ``unit``.
        n_classes : int
        pooled_low : float or array (column,)
            What the pooled mean has beyond one float.
        unit : float or array (column,)
        """
        shape = (n_classes, len(pooled_mean))
        centre = np.where(np.isfinite(pooled_mean), pooled_mean, 0.0)
        a, kappa, pooled_unit = spread(self.a, shape), spread(self.kappa, shape), spread(unit, shape)
        m, b = (None if value is None else spread(value, shape) for value in (self.m, self.b))
        # What was given is measured in 1. Of two units the larger one is that in which neither overflows.
        size = np.maximum(0.0 if m is None else np.abs(m), 0.0 if b is None else np.sqrt(b))
        own = unit_of(np.broadcast_to(size, shape))
        joint = (
            own if m is not None and b is not None else np.where(size > 0, np.maximum(own, pooled_unit), pooled_unit)
        )
        ratio = pooled_unit / joint
        low = spread(pooled_low, shape) * ratio if m is None else np.zeros(shape)
        m = centre * ratio if m is None else m / joint
        b = a * positive_scale(centre, pooled_variance) * ratio * ratio if b is None else b / joint / joint
        return NormalGamma(m, kappa, a, b, low, joint)

    def measured_in(self, unit: Array) -> NormalGamma:
        """The same in another unit."""
        if self.unit is not None and (unit == self.unit).all():
            return self
        low, own = self.placed()
        power = np.frexp(own)[1] - np.frexp(unit)[1]
        with np.errstate(all="ignore"):
            m, low, b = np.ldexp(self.m, power), np.ldexp(low, power), np.ldexp(self.b, 2 * power)
        return NormalGamma(m, self.kappa, self.a, b, low, unit)

    def placed(self) -> tuple[Array, Array]:
        """``low`` and ``unit``, 0 and 1 where they were not given."""
        low = np.zeros_like(self.m) if self.low is None else self.low
        return low, np.ones_like(self.m) if self.unit is None else self.unit

    def proper(self) -> Array:
        return (self.kappa > 0) & (self.a > 0) & (self.b > 0)

    def mean(self) -> tuple[Array, Array]:
        self.require_proper("A mean")
        return self._in_units(self.m, self.a / self.b)

    def _in_units(self, mu: Array, tau: Array) -> tuple[Array, Array]:
        """A location and a precision in units of the column."""
        if self.unit is None or (self.unit == 1).all():
            return mu, tau
        with np.errstate(over="ignore"):
            return mu * self.unit, tau / self.unit / self.unit

    def variance(self) -> tuple[Array, Array]:
        self.require_proper("A variance")
        finite = self.a > 1
        with np.errstate(over="ignore"):
            of_mu = np.where(finite, self.b / self.kappa / np.where(finite, self.a - 1, 1.0), np.inf)
            if self.unit is None or (self.unit == 1).all():
                return of_mu, self.a / self.b**2
            return of_mu * self.unit * self.unit, self.a / self.b**2 / self.unit**4

    def mode(self) -> tuple[Array, Array]:
        self.require_proper("A mode")
        outside = self.a <= 0.5
        if outside.any():
            where = first(outside)
            raise BoundaryError(
                f"the mode of the precision is 0, where a is {self.a[where]:g} <= 1/2 (no row was seen); "
                'use the mean (estimate="mean") or a larger a',
                where,
            )
        return self._in_units(self.m, (self.a - 0.5) / self.b)

    def draw(self, rng: Generator, size: Size = ()) -> tuple[Array, Array]:
        away, tau = self.draw_away(rng, size)
        return self._in_units(self.m + away, tau)

    def draw_away(self, rng: Generator, size: Size = ()) -> tuple[Array, Array]:
        """Draws of μ - m and of τ, in terms of ``unit``."""
        self.require_proper("A draw")
        tau = np.exp(log_gamma_draw(self.a, rng, size) - np.log(self.b))
        return self.placed()[0] + rng.standard_normal(tau.shape) / np.sqrt(self.kappa) / np.sqrt(tau), tau

    def log_prob(self, *theta: Array) -> Array:
        mu, tau = theta
        distance = np.sqrt(self.kappa * tau) * (mu - self.m)
        return (self.a - 0.5) * np.log(tau) - self.b * tau - distance**2 / 2 - self.log_normalizer()

    def log_jacobian(self, *theta: Array) -> Array:
        _, tau = theta
        return 0.5 * log(tau)

    def log_normalizer(self) -> Array:
        self.require_proper("A density")
        return gammaln(self.a) - self.a * np.log(self.b) + 0.5 * np.log(2 * np.pi / self.kappa)

    def log_ratio(self, n: Array, gain: Array, unit: Array) -> Array:
        """ln Z(posterior) - ln Z(prior) after rows of weight ``n`` that raise b by ``gain``, measured in ``unit``.

        Z is the integral that ``log_prob`` divides by. Where a is large its two logarithms are far larger than their
        difference, so that is written without them.
        """
        own = 2 * (np.log(self.placed()[1]) - np.log(unit))
        with np.errstate(all="ignore"):
            b = self.b * np.exp(own)
            far = np.log(gain) - np.log(self.b) - own
            growth = np.where(far < 500, np.log1p(gain / b), far)
            shape = log_rising(self.a, n / 2) - n * (0.5 * np.log(b + gain) + np.log(unit)) - self.a * growth
            return np.where(n == 0, 0.0, shape - 0.5 * np.log1p(n / self.kappa))

    @cached_property
    def marginal(self) -> tuple[Array, Array, Array, Array]:
        """The Student-t of a number x ~ Normal(μ, 1/τ), as top - power ln(1 + ((x - m) scale)²) (BDA3 3.3).

        Returns
        -------
        m, scale, power, top : arrays (class, column)
            ``scale`` is 1 / sqrt(2b(κ+1)/κ), ``power`` a + 1/2, and ``top`` the log density at m, all of x in ``unit``.
        """
        self.require_proper("A predictive")
        scale = np.sqrt(self.kappa / (self.kappa + 1) / 2) / np.sqrt(self.b)
        return self.m, scale, self.a + 0.5, log_rising(self.a, 0.5) - 0.5 * np.log(np.pi) + np.log(scale)

    def pymc(self, name: Callable[[str], str], dims: tuple[str, ...]) -> Any:
        import pymc as pm

        self.require_sampled()
        if self.unit is not None and (self.unit != 1).any():
            raise ImproperError(
                "its numbers are too large or too small for PyMC, which takes their squares; divide the column by a "
                "constant",
                first(self.unit != 1),
            )
        tau = pm.Gamma(name("tau"), alpha=shared(self.a), beta=shared(self.b), dims=dims)
        return pm.Normal(name("mu"), mu=shared(self.m), tau=shared(self.kappa) * tau, dims=dims), tau


@dataclass(frozen=True, eq=False, repr=False)
class Normal(Prior):
    """μ ~ Normal(m, variance v), the prior of a mean whose rows have a known variance (BDA3 2.5).

    Parameters
    ----------
    m : float, array (class, column) or None
        Location. ``None`` is the pooled mean of the column.
    v : float, array or None
        Variance. ``None`` is the known variance of one row, which makes the prior worth one row.
    low : array, optional
        What the location has beyond the float ``m``: it is m + low. Far from 0 a float is off by a part of the spread.

    Examples
    --------
    >>> Normal(170, 25).variance()
    array(25.)
    """

    _not_told = "pooled"

    m: float | Array | None = None
    v: float | Array | None = None
    low: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name in ("m", "v"):
            if (value := getattr(self, name)) is not None:
                value = np.asarray(value, float)
                if name == "v" and not np.all(value >= 0):
                    raise ValueError(f"Expected v not to be negative; got {value!r}")
                object.__setattr__(self, name, value)

    @classmethod
    def unit_information(cls) -> Normal:
        """One imaginary row at the mean of the whole column."""
        return cls(None, None)

    @classmethod
    def flat(cls) -> Normal:
        """Improper, of infinite variance."""
        return cls(0.0, np.inf)

    def over(self, pooled_mean: Array, row_variance: Array, n_classes: int, pooled_low: float | Array = 0.0) -> Normal:
        """The prior at its full shape (class, column); the others are (column,)."""
        shape = (n_classes, len(pooled_mean))
        centre = np.where(np.isfinite(pooled_mean), pooled_mean, 0.0)
        m = centre if self.m is None else self.m
        v = row_variance if self.v is None else self.v
        return Normal(spread(m, shape), spread(v, shape), spread(pooled_low if self.m is None else 0.0, shape))

    def placed(self) -> Array:
        """``low``, 0 where it was not given."""
        return np.zeros_like(self.m) if self.low is None else self.low

    def proper(self) -> Array:
        return np.isfinite(self.v) & (self.v > 0)

    def mean(self) -> Array:
        self.require_proper("A mean")
        return self.m

    def variance(self) -> Array:
        self.require_proper("A variance")
        return self.v

    def mode(self) -> Array:
        self.require_proper("A mode")
        return self.m

    def draw(self, rng: Generator, size: Size = ()) -> Array:
        self.require_proper("A draw")
        return self.m + self.draw_away(rng, size)

    def draw_away(self, rng: Generator, size: Size = ()) -> Array:
        """Draws of μ - m."""
        self.require_proper("A draw")
        return self.placed() + np.sqrt(self.v) * rng.standard_normal(size + self.m.shape)

    def log_prob(self, *theta: Array) -> Array:
        (mu,) = theta
        return -(((mu - self.m) / np.sqrt(self.v)) ** 2) / 2 - self.log_normalizer()

    def log_jacobian(self, *theta: Array) -> Array:
        (mu,) = theta
        return np.zeros_like(mu)

    def log_normalizer(self) -> Array:
        self.require_proper("A density")
        return 0.5 * np.log(2 * np.pi * self.v)

    def pymc(self, name: Callable[[str], str], dims: tuple[str, ...]) -> Any:
        import pymc as pm

        self.require_sampled()
        return pm.Normal(name("mu"), mu=shared(self.m), sigma=shared(np.sqrt(self.v)), dims=dims)


@dataclass(frozen=True, eq=False, repr=False)
class Known(Prior):
    """Class probabilities taken as given: no uncertainty, whatever the data say.

    Parameters
    ----------
    p : array (class,), {label: float} or None
        Probabilities that sum to 1. ``None`` is the relative frequency of the labels, ``"uniform"`` the
        same for each.

    Examples
    --------
    >>> from bayesnb import BayesianNB
    >>> BayesianNB(class_prior=Known({"a": 0.2, "b": 0.8})).fit({"x": [1.0, 2.0]}, ["a", "b"]).posterior_.label
    Known(p=[0.2, 0.8])
    """

    p: Array | Mapping[Any, float] | Literal["uniform"] | None = None

    def __post_init__(self) -> None:
        if self.p is None or isinstance(self.p, str):
            return
        value = np.array(list(self.p.values()) if isinstance(self.p, Mapping) else self.p, float)
        if not (np.isclose(value.sum(), 1.0, atol=1e-9) and np.all(value >= 0)):
            raise ValueError(f"Expected class probabilities that sum to 1; got {self.p!r}")
        if not isinstance(self.p, Mapping):
            object.__setattr__(self, "p", value)

    def proper(self) -> Array:
        return np.ones(np.shape(self.p)[:-1], bool)

    def mean(self) -> Array:
        return self.p

    def variance(self) -> Array:
        return np.zeros_like(self.p)

    def mode(self) -> Array:
        return self.p

    def log_draw(self, rng: Generator, size: Size = ()) -> Array:
        return np.broadcast_to(log(self.p), size + self.p.shape)

    def draw(self, rng: Generator, size: Size = ()) -> Array:
        return np.broadcast_to(self.p, size + self.p.shape)

    def log_prob(self, *theta: Array) -> Array:
        (theta,) = theta
        return np.where(np.all(theta == self.p, axis=-1), 0.0, -np.inf)

    def log_jacobian(self, *theta: Array) -> Array:
        (theta,) = theta
        return np.zeros(np.shape(theta)[:-1])

    def log_normalizer(self) -> Array:
        return np.zeros(np.shape(self.p)[:-1])

    def pymc(self, name: Callable[[str], str], dims: tuple[str, ...]) -> Any:
        import pymc as pm

        return pm.Deterministic(name("theta"), pm.math.constant(self.p), dims=dims)


def _short(value: Any) -> str:
    """A field as text: numbers plain, long arrays by their shape."""
    if not isinstance(value, np.ndarray):
        return repr(value)
    if value.ndim == 0:
        return f"{value:g}"
    return np.array2string(value, separator=", ", precision=6) if value.size <= 12 else f"array{value.shape}"


def spread(value: Any, shape: Size) -> Array:
    """``value`` at its full shape, or an error that says how to give one value a class."""
    try:
        return np.array(np.broadcast_to(value, shape))
    except ValueError:
        raise ValueError(
            f"Expected a prior of shape {shape} (class, column), or one that spreads to it; got "
            f"{np.shape(value)}. Give one prior a class as {{class: prior}}"
        ) from None


ORDINARY = 300
"""Numbers between 2^-300 and 2^300 are taken as they are: their squares, and sums of those, are ordinary floats."""


def unit_of(size: Array) -> Array:
    """What numbers of this size are measured in: 1, or the power of two below them where they are not ordinary."""
    power = np.frexp(size)[1] - 1
    odd = (size > 0) & np.isfinite(size) & (np.abs(power) > ORDINARY)
    return np.ldexp(1.0, np.where(odd, power, 0))


def positive_scale(centre: Array, variance: Array) -> Array:
    """The pooled variance, or where it is 0 or unknown centre², or 1 where that is 0 too."""
    fallback = np.where(np.isfinite(square := centre * centre) & (square > 0), square, 1.0)
    return np.where(np.isfinite(variance) & (variance > 0), variance, fallback)
