"""Class probabilities that no data change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.random import Generator

from bayesnb.numerics import Array, Size, log
from bayesnb.priors.belief import Belief, by_label


@dataclass(frozen=True, eq=False, repr=False)
class Known(Belief):
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
        object.__setattr__(self, "p", by_label(self.p))
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
