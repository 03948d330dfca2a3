"""Values of the parameters of all features: one point, or draws."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesnb.model.probabilities import add_row
from bayesnb.model.statistics import Data
from bayesnb.priors import Array, Theta

if TYPE_CHECKING:
    from bayesnb.model.naive_bayes import NaiveBayes


@dataclass(frozen=True, eq=False)
class Parameters:
    """Values of all parameters: one point, or draws. Predictions work in the same way with both.

    Parameters
    ----------
    model : NaiveBayes
    log_pi : array (..., class)
        Log class probabilities.
    features : {name: theta}
        The named parameters of each feature; the axes of the draws lead.

    Examples
    --------
    >>> from bayesnb import BayesianNB, Bernoulli
    >>> clf = BayesianNB({"wet": Bernoulli()}).fit({"wet": [1, 0, 1]}, ["spring", "spring", "summer"])
    >>> posterior, data = clf.posterior_, {"wet": np.array([[1.0], [0.0], [1.0]])}
    >>> draws = posterior.draw(np.random.default_rng(0), (1000,))
    >>> draws.log_joint(data, 3).shape, posterior.mean().log_joint(data, 3).shape
    ((1000, 3, 2), (3, 2))
    """

    model: NaiveBayes
    log_pi: Array
    features: Mapping[str, Theta]

    def log_joint(self, data: Data, n_rows: int) -> Array:
        """log p(c, x | θ) as (..., row, class)."""
        joint = self.log_joint_features(data, n_rows)
        if self.log_pi.ndim == 1:
            return add_row(joint, self.log_pi)
        joint += self.log_pi[..., None, :]
        return joint

    def log_joint_features(self, data: Data, n_rows: int) -> Array:
        """log p(x | c, θ) as (..., row, class): the joint without its class probability."""
        total = np.zeros((*self.log_pi.shape[:-1], n_rows, self.log_pi.shape[-1]))
        for name, family in self.model.features.items():
            total += family.log_likelihood(self.features[name], data[name])
        return total

    @property
    def size(self) -> int:
        """The number of values in all arrays."""
        return self.log_pi.size + sum(v.size for theta in self.features.values() for v in theta.values())

    def repeated(self, n: int) -> Parameters:
        """The same point ``n`` times, in the form of draws."""
        return self.at(None).at(np.zeros(n, np.intp))

    def flattened(self) -> Parameters:
        """All leading axes as one."""
        lead = self.log_pi.ndim - 1

        def flat(value: Array) -> Array:
            return value.reshape(-1, *value.shape[lead:])

        features = {n: {k: flat(v) for k, v in theta.items()} for n, theta in self.features.items()}
        return Parameters(self.model, flat(self.log_pi), features)

    def at(self, index: Any) -> Parameters:
        """The parameters at an index into the leading axes."""
        features = {n: {k: v[index] for k, v in theta.items()} for n, theta in self.features.items()}
        return Parameters(self.model, self.log_pi[index], features)
