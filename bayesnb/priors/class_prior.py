"""The prior of the class probabilities: a Dirichlet or :class:`FixedProbabilities`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.random import Generator

from bayesnb.numerics import Array, Size, log, log_rising
from bayesnb.priors.belief import Belief, Theta, by_label
from bayesnb.priors.dirichlet import Dirichlet, log_shares_without
from bayesnb.priors.given import read_prior

SUM = 1e-9
"""Largest accepted distance of the sum of class probabilities from 1."""

FORMS = "a Dirichlet, {label: probability}, a Series by label, an array in the order of the classes, 'frequencies' or "
FORMS += "'uniform'"


@dataclass(frozen=True, eq=False, repr=False)
class FixedProbabilities(Belief):
    """Known class probabilities, which data do not change.

    Parameters
    ----------
    p : array (class,), {label: float}, "uniform" or None
        Probabilities that sum to 1. ``None`` stands for the relative frequencies of the labels.

    Examples
    --------
    >>> from bayesnb import BayesianNB
    >>> fixed = FixedProbabilities({"a": 0.2, "b": 0.8})
    >>> BayesianNB(class_prior=fixed).fit({"x": [1.0, 2.0]}, ["a", "b"]).posterior_.label
    FixedProbabilities(p=[0.2, 0.8])
    """

    p: Array | Mapping[Any, float] | Literal["uniform"] | None = None

    def __post_init__(self) -> None:
        if self.p is None or isinstance(self.p, str):
            return
        given = by_label(self.p, "class prior")
        labels = list(given) if isinstance(given, Mapping) else []
        try:
            p = np.array(list(given.values()) if labels else given, float)
        except (TypeError, ValueError) as error:
            raise ValueError(f"class prior: Expected {FORMS}; got {self.p!r} ({error})") from error
        if p.ndim != 1:
            raise ValueError(f"class prior: Expected {FORMS}; got an array of shape {p.shape}")
        _require_probabilities(p, labels)
        object.__setattr__(self, "p", dict(zip(labels, p.tolist(), strict=True)) if labels else p)

    # The methods of a prior of the class probabilities, as in Dirichlet.

    def flat(self) -> FixedProbabilities:
        return self

    def over_classes(self, labels: Sequence[Any], rows: Array) -> FixedProbabilities:
        return FixedProbabilities(_probabilities(self.p, labels, rows))

    def plus(self, rows: Array, t: float | Array = 1.0) -> FixedProbabilities:
        return self

    def log_evidence(self, rows: Array) -> float:
        seen = rows > 0
        return float((rows[seen] * log(self.p[seen])).sum())

    def log_base(self, rows: Array) -> float:
        return self.log_evidence(rows)

    def named_classes(self, labels: Sequence[Any]) -> list[Any]:
        return list(self.p) if isinstance(self.p, Mapping) else list(labels) if np.ndim(self.p) else []

    def log_left_out(
        self, posterior: FixedProbabilities, rows: Array, codes: Array, weight: Array, point: str
    ) -> Array:
        """Log class probabilities of each row, given the labels of all other rows, (row, class)."""
        if self.p is None:
            return log_shares_without(rows, codes, weight, "mean")
        return np.tile(log(posterior.p), (len(codes), 1))

    def log_counted(self, log_pi: Array, rng: Generator) -> Array:
        return log_pi

    def log_powers(self, t: Array) -> tuple[Array, Array, Array]:
        with np.errstate(invalid="ignore"):
            value = np.where(t == 0, 0.0, t * log(self.p))
        return value, np.broadcast_to(log(self.p), np.shape(t)), np.zeros(np.shape(t))

    def log_power_floor(self) -> Array:
        return np.full(self.p.shape, -np.inf)

    # The methods of a Belief.

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

    def log_prob_of_each(self, theta: Theta) -> tuple[Array]:
        return (np.where(np.all(theta["log_theta"] == log(self.p), axis=-1), 0.0, -np.inf),)

    def log_jacobian(self, theta: Theta) -> Array:
        return np.zeros(theta["log_theta"].shape[:-1])

    def log_normalizer(self) -> Array:
        return np.zeros(self.p.shape[:-1])

    def pymc(self, name: Callable[[str], str], dims: tuple[str, ...]) -> Any:
        import pymc as pm

        return pm.Deterministic(name("theta"), pm.math.constant(self.p), dims=dims)


def mass_of_new_class(rows: Array) -> float:
    """The probability that the next row has a new class, given the weights ``rows`` (class,) of the known classes.

    >>> round(mass_of_new_class(np.array([50.0, 50.0, 50.0])), 4), round(mass_of_new_class(np.ones(150)), 2)
    (0.0083, 0.99)
    """
    # The classes follow a Pitman-Yor process with concentration 1 (Pitman and Yor 1997); its discount d has a uniform
    # prior and is integrated out. A class with a weight below 1 counts as one row.
    sizes = np.maximum(rows, 1.0)[:, None]
    # The probability of the class sizes n_k given the discount d is proportional to
    # ∏_{k<K} (1 + k d) ∏_k Γ(n_k - d) / Γ(1 - d) (Pitman 1995).
    # If classes are large, the posterior of d is close to 0. The substitution d = u² places most nodes there.
    nodes, weights = np.polynomial.legendre.leggauss(100)
    u = (nodes + 1) / 2
    d = u**2
    log_density = (np.log1p(np.arange(1, len(rows))[:, None] * d)).sum(0) + log_rising(1 - d, sizes - 1).sum(0)
    share = np.exp(log_density - log_density.max()) * weights * u
    return float((1 + (share @ d) / share.sum() * len(rows)) / (1 + sizes.sum()))


@dataclass(frozen=True, eq=False)
class WithUnknown:
    """A prior for the known classes and an unknown class, which represents all classes without rows.

    Parameters
    ----------
    prior : Dirichlet or FixedProbabilities
        If the prior itself names the unknown class, the prior is used as given, and ``mass`` is ignored.
    unknown : label
    mass : float, optional
        The probability of the unknown class; by default the result of :func:`mass_of_new_class`.
    """

    # The relative prior probabilities of the known classes do not change. If the prior is a Dirichlet, the posterior
    # mean probability of the unknown class is ``mass`` (Pitman 1996).
    prior: Dirichlet | FixedProbabilities
    unknown: Any
    mass: float | None = None

    def flat(self) -> WithUnknown:
        return replace(self, prior=self.prior.flat())

    def named_classes(self, labels: Sequence[Any]) -> list[Any]:
        return [*self.prior.named_classes([label for label in labels if label != self.unknown]), self.unknown]

    @property
    def given(self) -> bool:
        return self.unknown in self.prior.named_classes(())

    def over_classes(self, labels: Sequence[Any], rows: Array) -> Dirichlet | FixedProbabilities:
        if self.given:
            return self.prior.over_classes(labels, rows)
        known = np.array([label != self.unknown for label in labels])
        if not known.any():
            return FixedProbabilities(np.ones(1))
        before = self.prior.over_classes([label for label in labels if label != self.unknown], rows[known])
        mass = mass_of_new_class(rows[known]) if self.mass is None else self.mass
        if isinstance(before, FixedProbabilities):
            return FixedProbabilities(_among(known, before.p * (1 - mass), mass))
        return Dirichlet(_among(known, before.alpha, mass / (1 - mass) * before.plus(rows[known]).alpha.sum()))

    def log_left_out(self, posterior: Any, rows: Array, codes: Array, weight: Array, point: str) -> Array:
        found = self.prior.log_left_out(posterior, rows, codes, weight, point)
        if self.given or isinstance(posterior, Dirichlet) or self.prior.p is not None:
            return found
        # Among frequencies, the unknown class is the only class without rows that has a probability.
        unknown = (rows == 0) & (posterior.p > 0)
        return np.where(unknown, log(posterior.p), found + np.log1p(-posterior.p[unknown].sum()))


def _among(known: Array, values: Array, other: float) -> Array:
    found = np.full(len(known), other)
    found[known] = values
    return found


type LabelPrior = Dirichlet | FixedProbabilities | WithUnknown
"""The prior of the class probabilities, before it is expanded to the classes."""


def of_known_classes(prior: LabelPrior) -> LabelPrior:
    """The prior without the unknown class."""
    return prior.prior if isinstance(prior, WithUnknown) else prior


def with_unknown(prior: Dirichlet | FixedProbabilities, given: Any) -> LabelPrior:
    """The class prior with an unknown class added, ``given`` as a label or as {label: probability}."""
    if not isinstance(given, Mapping):
        return WithUnknown(prior, given)
    try:
        ((label, mass),) = given.items()
        inside = 0 < mass < 1
    except (TypeError, ValueError):
        inside = False
    if not inside:
        raise ValueError(
            f"unknown: Expected a label, or {{label: probability}} of one label, between 0 and 1; got {given!r}"
        )
    made = WithUnknown(prior, label, float(mass))
    if made.given:
        raise ValueError(f"unknown: class_prior gives a probability to {label!r}, too; give it in one of the two")
    return made


def read(given: Any) -> Dirichlet | FixedProbabilities:
    """Convert a class prior in any form that a user may write to a Dirichlet or FixedProbabilities."""
    if isinstance(given, Dirichlet | FixedProbabilities):
        return given
    if not isinstance(given, str | Mapping) and isinstance(converted := read_prior(given, Dirichlet), Dirichlet):
        return converted
    if given is None or (isinstance(given, str) and given not in ("frequencies", "uniform")):
        raise ValueError(f"class prior: Expected {FORMS}; got {given!r}")
    return FixedProbabilities(None if isinstance(given, str) and given == "frequencies" else given)


def of_each_row(given: Any, labels: Sequence[Any]) -> Array | None:
    """Prior class probabilities of each row, (row, class); ``None`` if all rows have the same prior."""
    if isinstance(given, Belief | Mapping | str):
        return None
    # A DataFrame has one column per class, in any order; the columns of an array follow ``labels``.
    if hasattr(given, "columns"):
        require_each(given.columns.tolist(), labels, "class prior", "one column for each class")
        given = given[list(labels)].to_numpy()
    try:
        p = np.array(given, float)
    except (TypeError, ValueError):
        return None
    if p.ndim != 2:
        return None
    if p.shape[1] != len(labels):
        raise ValueError(
            f"class prior: Expected one probability per row and class, in the order of {list(labels)}; got shape "
            f"{p.shape}"
        )
    _require_probabilities(p, labels)
    return p


def _probabilities(p: Array | Mapping[Any, float] | str | None, labels: Sequence[Any], rows: Array) -> Array:
    if p is None and rows.sum() > 0:
        return rows / rows.sum()
    if p is None or isinstance(p, str):
        return np.full(len(labels), 1 / len(labels))
    if isinstance(p, Mapping):
        require_each(list(p), labels, "class prior", "one probability for each class")
        return np.array([p[label] for label in labels], float)
    if len(p) != len(labels):
        raise ValueError(
            f"class prior: Expected one probability for each class {list(labels)}, in this order; got {p.tolist()}"
        )
    return p


def require_each(given: Sequence[Any], labels: Sequence[Any], what: str, expected: str) -> None:
    """Raise ``ValueError`` unless each class is given once."""
    known, given = list(labels), list(given)
    faults = {
        "is not a class": [label for label in given if label not in known],
        "is missing": [label for label in known if label not in given],
        "is there more than once": repeated(given),
    }
    for fault, odd in faults.items():
        if odd:
            raise ValueError(
                f"{what}: Expected {expected}, {known}; got {given}, where {', '.join(map(repr, odd))} {fault}"
            )


def repeated(labels: Sequence[Any]) -> list[Any]:
    """The labels that occur more than once."""
    return list(dict.fromkeys(label for label in labels if list(labels).count(label) > 1))


def _require_probabilities(p: Array, labels: Sequence[Any]) -> None:
    if (odd := ~(p >= 0)).any():
        *row, c = np.argwhere(odd)[0]
        whose = f"for class {labels[c]!r}" if len(labels) else f"in place {c}"
        raise ValueError(f"class prior: Expected probabilities of 0 or more; got {p[*row, c]} {whose}{_in(row)}")
    if (odd := ~(np.abs(p.sum(axis=-1) - 1) <= SUM)).any():
        row = list(np.argwhere(odd)[0])
        raise ValueError(
            f"class prior: Expected probabilities that sum to 1; got a sum of {p[tuple(row)].sum():.10g}{_in(row)}"
        )


def _in(row: Sequence[int]) -> str:
    return f" in row {row[0]}" if len(row) else ""
