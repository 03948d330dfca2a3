"""Base classes of priors and posteriors, and their errors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields
from enum import Enum
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.random import Generator

from bayesnb.kernels.two_floats import two_sum
from bayesnb.numerics import Array, Size
from bayesnb.priors.common_draws import CommonDraws
from bayesnb.signatures import require_known
from bayesnb.statistics.statistic import LocatedError, first
from bayesnb.wording import Cure, Message

type Theta = Mapping[str, Array]

type Point = Literal["mode", "mean"]


ROUNDING = 1e-12
"""Concentrations within this distance of 1 are treated as 1."""


class Unseen(Enum):
    """A single level that represents all unseen levels (``unseen="new"``)."""

    LEVEL = "(unseen)"

    def __str__(self) -> str:
        return self.value


UNSEEN = Unseen.LEVEL


class ImproperError(LocatedError):
    """A distribution is improper, so a quantity such as its mean or the marginal likelihood does not exist.

    ``where`` is the first position (class, column) at which the distribution is improper.

    Examples
    --------
    >>> from bayesnb import NormalGamma
    >>> NormalGamma(0, 1, 0.5, 0).mean()
    Traceback (most recent call last):
        ...
    bayesnb.priors.belief.ImproperError: A mean needs a proper NormalGamma; got m=0, kappa=1, a=0.5, b=0
    """


class BoundaryError(LocatedError):
    """A posterior has a mean, but no mode inside the range of the parameter.

    ``where`` is the first position (class, column[, level]) without a mode.

    Examples
    --------
    >>> from bayesnb import Dirichlet
    >>> Dirichlet([0.5, 3.0]).mode()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    bayesnb.priors.belief.BoundaryError: the mode is on the boundary, where concentration plus count is 0.5 < 1; ...
    """


def without_mode(why: str, where: tuple[int, ...] = (), otherwise: str = "", **data: Any) -> BoundaryError:
    """A :class:`BoundaryError` for a distribution without a mode; its message suggests using the mean instead."""
    said = f"{why}; use the mean ({{cure}}){otherwise}"
    return BoundaryError(Message(said, **data, cure=Cure("estimate", "mean")), where)


def by_label(value: Any, name: str) -> Any:
    """Convert a Series to a dict."""
    if isinstance(value, Mapping) or not hasattr(value, "to_dict"):
        return value
    if not value.index.is_unique:
        twice = value.index[value.index.duplicated()][0]
        raise ValueError(f"{name}: Expected each label once; got {twice!r} more than once")
    return value.to_dict()


def parts_of(point: Any) -> tuple[Any, ...]:
    """θ as a tuple."""
    return point if isinstance(point, tuple) else (point,)


def require_mode(alpha: Array, outside: Array, name: str, added: str) -> None:
    """Raise :class:`BoundaryError` if a parameter is so small that the mode would be on the boundary."""
    if outside.any():
        where = first(outside)
        why = "the mode is on the boundary, where {name} plus {added} is {sum:g} < 1"
        raise without_mode(why, where, " or a {name} of at least 1", name=name, added=added, sum=alpha[where])


FINITE, NOT_NEGATIVE, POSITIVE = "finite", "finite and not negative", "positive and finite"
LEAST = {FINITE: -np.inf, NOT_NEGATIVE: 0.0, POSITIVE: float(np.finfo(float).smallest_subnormal)}
"""Allowed ranges of a parameter and their lower ends."""


@dataclass(frozen=True, eq=False, repr=False)
class Belief(ABC):
    """A distribution of θ whose parameters are arrays: each array position has an independent θ."""

    by_name: ClassVar[tuple[str, ...]] = ()
    """Constructors that need no argument and can be chosen by name, such as "jeffreys"."""
    node_names: ClassVar[tuple[str, ...]] = ()
    """The names along the last axis of θ, if this axis is not an axis of levels."""
    _own_cell: ClassVar[str] = "class"
    _class_axis: ClassVar[int] = 0
    _where_none: ClassVar[str] = "None"
    """The text in ``repr`` for a field that is None; "pooled" if the whole column gives its value."""
    _ranges: ClassVar[Mapping[str, str]] = {}
    """The allowed ranges of numeric parameters; None or a text is filled in from the data."""

    def __new__(cls, *_: Any, **given: Any) -> Self:
        if given.keys() - cls.__dataclass_fields__.keys():
            require_known(cls.__name__, cls.__init__, given)
        return super().__new__(cls)

    def __post_init__(self) -> None:
        for name, allowed in self._ranges.items():
            if (given := getattr(self, name)) is not None and not isinstance(given, str):
                named = isinstance(given, Mapping)
                value = np.asarray(list(given.values()) if named else given, float)
                if not (np.isfinite(value) & (value >= LEAST[allowed])).all():
                    raise ValueError(f"Expected {name} to be {allowed}; got {value!r}")
                object.__setattr__(self, name, given if named else value)

    @abstractmethod
    def proper(self) -> Array:
        """Whether the distribution of each θ is proper."""

    @cached_property
    def batch_shape(self) -> Size:
        """The shape of the array of independent θ, (class, column)."""
        return self.proper().shape

    @cached_property
    def _first_improper(self) -> tuple[int, ...] | None:
        proper = self.proper()
        return None if proper.all() else first(~proper)

    def require_proper(self, what: str) -> None:
        if (where := self._first_improper) is not None:
            cell = ", ".join(
                f"{f.name}={value[where]:g}"
                for f in fields(self)
                if f.repr and isinstance(value := getattr(self, f.name), np.ndarray) and value.shape == self.batch_shape
            )
            found = self._fault(where) or cell or "no concentration at all"
            raise ImproperError(f"{what} needs a proper {type(self).__name__}; got {found}", where)

    def require_sampled(self) -> None:
        """Raise :class:`ImproperError` for a prior that PyMC cannot sample."""
        self.require_proper("An improper prior has no sampled road: PyMC")

    def _fault(self, where: tuple[int, ...]) -> str:
        return ""

    def __repr__(self) -> str:
        specified = {f.name: getattr(self, f.name) for f in fields(self) if f.repr and f.name not in ("per", "tuned")}
        given = (f"{name}={self._where_none if value is None else _short(value)}" for name, value in specified.items())
        per = f", per={self.per!r}" if getattr(self, "per", None) not in (None, self._own_cell) else ""
        tuned = ", tuned=True" if getattr(self, "tuned", None) else ""
        return f"{type(self).__name__}({', '.join(given)}{per}{tuned})"

    def _with(self, **parameters: Array) -> Self:
        """A copy of this distribution with changed fields, which may have negative values, as after removing a row."""
        made = object.__new__(type(self))
        for f in fields(self):
            object.__setattr__(made, f.name, parameters.get(f.name, getattr(self, f.name)))
        return made

    def at(self, index: Any) -> Self:
        return self._picked((slice(None),) * self._class_axis + (index,))

    def columns(self, index: Any) -> Self:
        return self._picked((slice(None),) * (self._class_axis + 1) + (index,))

    def _picked(self, cell: Any) -> Self:
        return self._with(**{f.name: _field_at(getattr(self, f.name), cell) for f in fields(self)})


@dataclass(frozen=True, eq=False, repr=False)
class Prior(Belief):
    """A conjugate prior of θ: the posterior has the same type.

    Data add increments d to the prior's parameters, such as the counts of levels, or the number of events and the
    exposure. L_d(θ) is the likelihood, up to factors that do not depend on θ, of data that add the increments d. The
    method ``along`` computes all integrals of the likelihood over θ.

    A subclass is a frozen dataclass with array fields, the methods below, and a method ``over``, which expands the
    prior to the shape of the data.
    """

    point_axes: ClassVar[int] = 2
    """Number of axes of θ in likelihoods: class, column and perhaps level."""

    parameters: ClassVar[tuple[str, ...]]
    """PyMC names of the parts of θ, in the order of ``mean``."""

    @abstractmethod
    def mean(self) -> Any:
        """The mean of θ: one array, or a tuple of arrays if θ has several parts."""

    @abstractmethod
    def variance(self) -> Any:
        """The variance of θ: one array, or a tuple if θ has several parts; infinite if undefined."""

    @abstractmethod
    def mode(self) -> Any:
        """The joint mode of θ; raises :class:`BoundaryError` if the mode is not inside the range of θ."""

    def draw(self, rng: Generator, size: Size = ()) -> Any:
        """Independent draws of θ, shaped like ``mean`` with additional leading axes ``size``."""
        parts = self.point(self.draw_theta(rng, size))
        return parts if len(parts) > 1 else parts[0]

    def log_prob(self, *point: Array) -> Array:
        return sum(self.log_prob_of_each(self.theta(*point)))

    @abstractmethod
    def log_prob_of_each(self, theta: Theta) -> tuple[Array, ...]:
        """Log density of each part of θ, conditional on the later parts."""

    @abstractmethod
    def log_jacobian(self, theta: Theta) -> Array:
        """``ln |dθ/dφ|``, up to a constant, for a transform φ of θ: the density of φ is highest at the mean of θ.

        φ is the log-odds of a probability, the logarithm of a rate, or (μ, √τ) of a Normal.
        """

    @abstractmethod
    def log_normalizer(self) -> Array:
        """Log of the normalizing constant of the density; 0 if the density is normalized."""

    @abstractmethod
    def pymc(self, name: Callable[[str], str], dims: tuple[str, ...]) -> Any:
        """Add θ to the open PyMC model; return one variable, or a tuple if θ has several parts.

        ``name`` maps a parameter, such as "theta" or "mu", to the full name of its variable.
        """

    learned_from_classes: ClassVar[tuple[str, ...]] = ()
    """Parameters that are estimated from all classes together if None."""

    strengths: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """The name of each factor that can be learned, and the parameters that it multiplies."""

    # Updates. Each method takes d as positional arrays that broadcast to the shape of the cells.
    #
    # along(d, t) = ln Z(prior + t d) - ln Z(prior) - t · peak(d), where Z normalizes the density. Without peak(d),
    # rounding at counts of 1e15 would leave no correct digit. For the increments of one row, ``posterior.along(d, 1)``
    # is the log predictive. For the increments of all rows, ``prior.along(d, 1)`` is the log evidence. Both omit ln h.

    @abstractmethod
    def plus(self, *d: Array, t: float | Array = 1.0) -> Self:
        """The posterior if ``t`` times the increments d of data are added; a negative ``t`` removes the data."""

    @abstractmethod
    def along(self, *d: Array, t: float | Array = 1.0) -> Array:
        """Log moment ln E[(L_d(θ) / exp(peak))^t] of the likelihood L_d of data d; infinite if undefined."""

    @abstractmethod
    def slopes(self, *d: Array, t: float | Array = 0.0) -> tuple[Array, Array]:
        """First two derivatives of the log moment (:meth:`along`) with respect to the power ``t``."""

    @abstractmethod
    def floor(self, *d: Array) -> Array:
        """The number that the power ``t`` must exceed for the log moment (:meth:`along`) to be finite."""

    @abstractmethod
    def drawn_along(self, *d: Array, common: CommonDraws) -> Array:
        """Draws of the log-likelihood of data d, minus its maximum (:meth:`peak`), (draw, row, class, ...)."""

    @staticmethod
    @abstractmethod
    def peak(*d: Array) -> Array:
        """The maximum over θ of the log-likelihood of data d; 0 for Normal data."""

    @staticmethod
    @abstractmethod
    def log_kernel(theta: Theta, *d: Array) -> Array:
        """Log-likelihood of data d at ``theta``, minus :meth:`peak`."""

    @staticmethod
    @abstractmethod
    def pymc_likelihood(theta: Mapping[str, Any], *d: Any) -> Any:
        """The total log-likelihood of data d as a scalar tensor."""

    # θ in likelihood form: by name, and as a logarithm if it may be too small for a float.

    @classmethod
    @abstractmethod
    def theta(cls, *point: Array) -> Theta:
        """Convert one array per name in ``parameters`` to a dict {name: array}, which likelihood functions take."""

    @classmethod
    def point(cls, theta: Theta) -> tuple[Array, ...]:
        return tuple(theta[name] for name in cls.parameters)

    def plug_in(self, point: Point) -> Theta:
        return self.theta(*parts_of(getattr(self, point)()))

    @abstractmethod
    def draw_theta(self, rng: Generator, size: Size = ()) -> Theta:
        """Draws of θ as a dict {name: array}, which likelihood functions take."""


class Located(Prior):
    """A prior of the parameters of a Normal, including the mean μ.

    The location of μ is stored as m + low: a float and its rounding error.
    """

    m: Any
    low: Any

    def gap(self, mean: Array, low: Array) -> Array:
        return (mean - self.m) + (low - self.low)

    def moved(self, mean: Array, low: Array, share: Array) -> dict[str, Array]:
        """Move the location towards ``mean``, by the given ``share`` of the distance."""
        near, gap = share > 0.5, self.gap(mean, low)
        step = np.where(near, low - gap * (1 - share), self.low + gap * share)
        return dict(zip(("m", "low"), two_sum(np.where(near, mean, self.m), step), strict=True))

    @abstractmethod
    def draw_away(self, rng: Generator, size: Size = ()) -> tuple[Array, ...]:
        """Draws of the parts of θ, but with μ - m in place of μ."""

    def draw_theta(self, rng: Generator, size: Size = ()) -> Theta:
        away, *others = self.draw_away(rng, size)
        mu, low = two_sum(self.m, away)
        return {**self.theta(mu, *others), "low": low}

    @classmethod
    def theta(cls, *point: Array) -> Theta:
        return dict(zip(cls.parameters, point, strict=True)) | {"low": np.zeros_like(point[0])}

    def plug_in(self, point: Point) -> Theta:
        return {**super().plug_in(point), "low": self.low}

    @staticmethod
    def peak(*d: Array) -> Array:
        return np.zeros(np.shape(d[0]))


def _field_at(value: Any, cell: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value[cell] if value.ndim else value
    if isinstance(value, Belief):
        return value._picked(cell)
    if isinstance(value, tuple):
        return tuple(_field_at(v, cell) for v in value)
    return {name: _field_at(v, cell) for name, v in value.items()} if isinstance(value, Mapping) else value


def _short(value: Any) -> str:
    if not isinstance(value, np.ndarray):
        return repr(value)
    if value.ndim == 0:
        return f"{value:g}"
    return np.array2string(value, separator=", ", precision=6) if value.size <= 12 else f"array{value.shape}"


def spread(value: Any, shape: Size) -> Array:
    """Broadcast ``value`` to ``shape``."""
    try:
        return np.array(np.broadcast_to(value, shape))
    except ValueError:
        raise ValueError(
            f"Expected a prior of shape {shape} (class, column), or one that spreads to it; got "
            f"{np.shape(value)}. Give one prior per class as {{class: prior}}"
        ) from None


def positive_scale(centre: Array, variance: Array) -> Array:
    """``variance`` if it is positive, otherwise ``centre``² if it is positive, otherwise 1."""
    fallback = np.where(np.isfinite(square := centre * centre) & (square > 0), square, 1.0)
    return np.where(np.isfinite(variance) & (variance > 0), variance, fallback)


# Numbers of priors and data in a PyMC model.


def _alone(value: Array) -> Any:
    import pytensor

    return pytensor.shared(value, shape=value.shape)


_ENTER: ContextVar[Callable[[Array], Any]] = ContextVar("enter", default=_alone)


def shared(value: Array) -> Any:
    """A shared PyTensor variable; its value can change without a new compilation."""
    return _ENTER.get()(np.asarray(value, float))


@contextmanager
def constant() -> Iterator[None]:
    """Within this context, :func:`shared` returns constants."""
    from pytensor import tensor as pt

    token = _ENTER.set(pt.constant)
    try:
        yield
    finally:
        _ENTER.reset(token)
