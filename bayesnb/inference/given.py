"""What is believed of the parameters θ when a row is asked: what the data say, or what the data and the row say.

A row x without a label is data too. After it, the belief is a mixture of one posterior for each class c that it may
have,

    p(θ | D, x) = Σ_c p(c | x, D) p(θ | D + (x, c)).

Under this belief, and under no other, the mean of p(c | x, θ) is the predictive probability p(c | x, D), its entropy is
the total uncertainty, and an interval covers as many rows from the model as it states. :class:`GivenRow` draws from it;
:class:`GivenData` draws from p(θ | D), the belief about a row that was chosen without regard to θ. Both answer alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import rel_entr, xlogy
from scipy.stats import entropy

from bayesnb.dependence.learned import DrawnDependence
from bayesnb.model import Data, Parameters, Posterior, normalize
from bayesnb.priors import Array
from bayesnb.priors.common_draws import CommonDraws

type Given = Literal["row", "data"]


@dataclass(frozen=True)
class GivenData:
    """The draws of θ as they are."""

    name = "data"
    power = 0

    def log_joint(
        self, drawn: Parameters | DrawnDependence, part: int, data: Data, n_rows: int, offset: Array = 0.0
    ) -> Array:
        """log p(c, x | θ) at every draw, (draw, row, class)."""
        return drawn.log_joint(data, n_rows) + offset

    def entropies(self, log_p: Array) -> Callable[[Array, slice], Array]:
        """A function of p(c | x, θ) at draws, (draw, row, class), that splits the entropy of their mean, in nats.

        It returns total, aleatoric and epistemic entropy and their Monte Carlo standard errors, (row, 2, 3). The
        aleatoric part is the mean entropy over draws; what is left is the mutual information of class and parameters
        (Houlsby et al. 2011; Depeweg et al. 2018), never negative. ``log_p``, the predictive, is not the mean here.
        """

        def split(p: Array, rows: slice) -> Array:
            each = entropy(p, axis=-1)
            total = entropy(p.mean(0), axis=-1)
            aleatoric = np.minimum(each.mean(0), total)
            # The total is the entropy of a mean m; by its slope -ln m, a draw p moves it by -Σ p ln m.
            of_total = -xlogy(p, p.mean(0)).sum(-1)
            errors = [v.std(0) / np.sqrt(len(p)) for v in (of_total, each, of_total - each)]
            return np.stack([np.stack([total, aleatoric, total - aleatoric], 1), np.stack(errors, 1)], axis=1)

        return split


def chosen_classes(log_joint: Array, uniform: Array) -> Array:
    """The class that each row is taken to be of, by its predictive (row, class) and uniform numbers, (draw, row)."""
    below = np.exp(normalize(log_joint)).cumsum(-1)[:, :-1]
    return (uniform[:, None, None] >= below).sum(-1)


@dataclass(frozen=True, eq=False)
class GivenRow:
    """Draws of θ given the row too, made from draws given the data.

    For each draw, a class c is chosen by p(c | x, D). Then only the factors of class c change, because the parameters
    of different classes are independent: they are drawn from what the data and the cell say together. The draws are
    exact, and the same random numbers serve every row. A sampled feature has only its chain; its draws are chosen anew,
    each with a probability proportional to what it says of the cell.

    Parameters
    ----------
    posterior : Posterior
    seed : int
    """

    posterior: Posterior
    seed: int

    name = "row"
    power = 1

    @classmethod
    def of(cls, posterior: Posterior, rng: np.random.Generator) -> GivenRow:
        """With a seed from the next number of a generator."""
        return cls(posterior, int(rng.integers(2**63)))

    def log_joint(self, drawn: Parameters, part: int, data: Data, n_rows: int, offset: Array = 0.0) -> Array:
        """log p(c, x | θ) at every draw, (draw, row, class), up to a constant for each draw and row.

        Parameters
        ----------
        drawn : Parameters
            Draws given the data.
        part : int
            Which part of all draws they are: each part has random numbers of its own.
        data, n_rows
        offset : array that spreads to (row, class)
        """
        common = CommonDraws(len(drawn.log_pi), (self.seed, part))
        log_joint = self.posterior.log_predictive(data, n_rows) + offset
        chosen = chosen_classes(log_joint, common.generator(0).random(common.draws))
        joint = np.repeat(drawn.log_pi[:, None], n_rows, axis=1)
        counted = self.posterior.label.log_counted(drawn.log_pi, common.generator(1))
        place = chosen[..., None]
        np.put_along_axis(joint, place, np.take_along_axis(counted[:, None], place, -1), -1)
        for k, (name, family) in enumerate(self.posterior.model.features.items()):
            believed, theta = self.posterior.features[name], drawn.features[name]
            joint += family.log_likelihood_given_row(believed, theta, data[name], chosen, common.within(2 + k))
        return joint + offset

    def entropies(self, log_p: Array) -> Callable[[Array, slice], Array]:
        """As :meth:`GivenData.entropies`, of the predictive probabilities ``log_p`` (row, class), which are the mean.

        So the total is exact. The epistemic part is the mean divergence of p(c | x, θ) from the predictive, of which
        every draw is at least 0.
        """

        def split(p: Array, rows: slice) -> Array:
            mean = np.exp(log_p[rows])
            total, each = entropy(mean, axis=-1), rel_entr(p, mean).sum(-1)
            epistemic, error = np.minimum(each.mean(0), total), each.std(0) / np.sqrt(len(p))
            parts = np.stack([total, total - epistemic, epistemic], axis=1)
            return np.stack([parts, np.stack([np.zeros(len(total)), error, error], axis=1)], axis=1)

        return split
