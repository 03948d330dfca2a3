"""The prior of a table of probabilities, where smoothing lives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, get_args

import numpy as np
from numpy.random import Generator

from bayesnb.numerics import Array, log, log_gamma_draw, log_gamma_slopes, log_rising
from bayesnb.priors.belief import Theta, by_label, require_nonnegative
from bayesnb.priors.concentrations import Per, concentrations
from bayesnb.priors.simplex import SimplexPrior
from bayesnb.priors.tensors import shared


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
            require_nonnegative("alpha", np.array(list(self.alpha.values()), float))
        else:
            alpha = np.asarray(self.alpha, float)
            require_nonnegative("alpha", alpha)
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
        """The belief worth ``n`` rows like these, of which each is the name of a level."""
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
        return log_rising(self.alpha, t), *log_gamma_slopes(self.alpha + t)

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

    @classmethod
    def theta(cls, *point: Array) -> Theta:
        return {"log_theta": log(point[0])}

    @staticmethod
    def log_kernel(theta: Theta, counts: Array) -> Array:
        with np.errstate(invalid="ignore"):
            each = np.where(counts == 0, 0.0, counts * theta["log_theta"])
        return each.sum(-1) - Dirichlet.peak(counts)

    @staticmethod
    def pymc_likelihood(theta: Mapping[str, Any], counts: Any) -> Any:
        from pytensor import tensor as pt

        return (counts * pt.log(theta["theta"])).sum(-1)

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
