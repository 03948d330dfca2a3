"""Conformal prediction: p-values of classes that are right however wrong the model is, as arrays.

Start with :func:`nonconformity`, the score of a row with a class, and :class:`Counts`, what the scores of known rows
say of the score of a new one. :func:`full_counts` computes them for full conformal prediction, in closed form.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import logsumexp

from bayesnb.model import Data, Posterior, Statistics
from bayesnb.priors import Array
from bayesnb.statistics.membership import Labels
from bayesnb.statistics.statistic import Statistic

TIE = 1e-9
"""Scores that differ by less than this, in nats or as a share of the score, are the same number but for rounding."""

ROUNDING = 1e-12
"""A p-value this close to 1 - coverage is equal to it, because 1 - 0.9 is 0.09999999999999998."""


def in_set[P: (Array, pd.DataFrame)](p_values: P, coverage: float) -> P:
    """Which classes are in the set, (row, class): those whose p-value is above 1 - coverage."""
    return p_values > 1 - coverage + ROUNDING


@dataclass(frozen=True, eq=False)
class Counts:
    """How many known rows conform less than a new row with each class, and how many just as much.

    Parameters
    ----------
    less, equal, rows : arrays (row, class)
        ``rows`` is the number of known rows that each count is of.
    """

    less: Array
    equal: Array
    rows: Array

    def p_values(self, u: Array | float = 1.0) -> Array:
        """The share of rows that conform no more than the new row does, which itself is one of them, (row, class).

        Let R be the rank of the new row's score among the n + 1 scores. If the rows are exchangeable, R is uniform
        where no two scores are equal, so P(p ≤ α) ≤ α for p = (less + equal + 1) / (n + 1), whatever the distribution
        of the rows. With u uniform on [0, 1] in place of 1, p = (less + u (equal + 1)) / (n + 1) is uniform itself, and
        P(p ≤ α) = α (Vovk, Gammerman and Shafer 2022, sections 2.2 and 2.5).
        """
        return (self.less + u * (self.equal + 1)) / (self.rows + 1)


def nonconformity(log_joint: Array, codes: Array) -> Array:
    """How strange each row would be with its class: minus the log-odds of the class against all others, (row,).

    It ranks as 1 - p(class | row) does. But probabilities near 1 are all rounded to 1, and log-odds are not.
    """
    row = np.arange(len(codes))
    own, others = log_joint[row, codes], log_joint.copy()
    others[row, codes] = -np.inf
    rest = logsumexp(others, axis=1)
    # Under a plug-in, a row may be impossible with its class; nothing is stranger.
    return np.where(np.isneginf(own), np.inf, rest - np.where(np.isneginf(own), 0.0, own))


def of_every_class(log_joint: Array) -> Array:
    """:func:`nonconformity` of each row with each class, (row, class)."""
    each = [nonconformity(log_joint, np.full(len(log_joint), c)) for c in range(log_joint.shape[1])]
    return np.stack(each, axis=1)


def counts(known: Array, codes: Array, weight: Array, new: Array, by_class: bool) -> Counts:
    """The counts where the scores of the known rows do not depend on the new one.

    Parameters
    ----------
    known, codes, weight : arrays (row,)
        The scores of the known rows, their classes, and how many rows each stands for.
    new : array (new row, class)
        The score of each new row with each class.
    by_class : bool
        Whether a class is compared with the rows of this class alone.
    """
    less, equal, rows = np.zeros(new.shape), np.zeros(new.shape), np.zeros(new.shape)
    for c in range(new.shape[1]):
        of = codes == c if by_class else slice(None)
        order = np.argsort(known[of])
        scores, total = known[of][order], np.concatenate([[0.0], weight[of][order].cumsum()])
        low, high = _tied(new[:, c])
        below, up_to = total[np.searchsorted(scores, low, "left")], total[np.searchsorted(scores, high, "right")]
        less[:, c], equal[:, c], rows[:, c] = total[-1] - up_to, up_to - below, total[-1]
    return Counts(less, equal, rows)


def _tied(score: Array) -> tuple[Array, Array]:
    """The ends of the interval of scores that are equal to a score but for rounding."""
    slack = np.where(np.isfinite(score), TIE * np.maximum(1.0, np.abs(score)), 0.0)
    return score - slack, score + slack


def full_counts(posterior: Posterior, learned: Data, labels: Labels, new: Data, n_new: int, by_class: bool) -> Counts:
    """The counts of full conformal prediction: for each candidate class, the new row is one of the learned rows.

    The guarantee needs scores that treat all n + 1 rows alike. So for a new row x and a candidate class c, the model is
    that of D + (x, c), and each of the n + 1 rows is scored by the model of the *other* n rows. For most classifiers
    this takes n + 1 fits for each row and class. Here it takes none. Without row i, D + (x, c) differs from D without
    row i in the factors of class c alone, which x has joined. So it is enough to ask every class twice about each
    learned row, as D leaves it and after x has joined it, and a candidate c uses the second answer of class c alone.
    The new row itself is scored by D.

    A prior that is scaled to the data is scaled to all n + 1 rows. It is the same for every c, because the scale is
    that of the whole column. The class prior is counted separately, for each candidate.

    Parameters
    ----------
    posterior : Posterior
        Of the learned rows.
    learned, labels : encoded rows, and their classes with the number of rows that each stands for
        A row that stands for several is left out once.
    new : encoded rows
    n_new : int
    by_class : bool

    References
    ----------
    Vovk, Gammerman and Shafer (2022), Algorithmic Learning in a Random World, second edition, section 2.2; Barber,
    Candès, Ramdas and Tibshirani (2021), Predictive inference with the jackknife+, section 2.
    """
    n_classes, codes = len(posterior.labels), labels.codes
    class_priors = [_class_prior_left_out(posterior, codes, c) for c in range(n_classes)]
    log_prior = posterior.only(()).log_predictive({}, 1)
    alone = posterior.model.statistics(new, Labels.of(np.arange(n_new), n_new), range(n_new))
    found = np.zeros((3, n_new, n_classes))
    for i in range(n_new):
        x = {name: column[[i]] for name, column in new.items()}
        each = [
            _asked_twice(posterior, name, alone.features[name].take([i] * n_classes), learned[name], codes, x[name])
            for name in posterior.features
        ]
        left, joined, own = (sum(parts) for parts in zip(*each, strict=True))
        own = own + log_prior
        for c in range(n_classes):
            log_joint = left + class_priors[c]
            log_joint[:, c] = joined[:, c] + class_priors[c][:, c]
            of = codes == c if by_class else slice(None)
            known, (low, high) = nonconformity(log_joint, codes)[of], _tied(nonconformity(own, np.array([c]))[0])
            weight = labels.weight[of]
            less, up_to = weight @ (known > high), weight @ (known >= low)
            found[:, i, c] = less, up_to - less, weight.sum()
    return Counts(*found)


def _asked_twice(
    posterior: Posterior, name: Any, row: Statistic, learned: Any, codes: Array, new: Any
) -> tuple[Array, Array, Array]:
    """What a feature says of each learned row, which its own class leaves out: as D has it, and after a row has joined.

    ``row`` is the statistic of the new row in every class. Both answers are log p(x_i | class) as (learned row, class);
    the third is that of the new row under D, (1, class).

    Leaving a row out is a moment: the posterior is p(x | θ) times that without the row, over their integral, so
    E[1 / p(x | θ)] under the posterior is 1 / p(x | D without the row), and the answer is -log_moment(-1).
    """
    family, seen, n_classes = posterior.model.features[name], posterior.statistics.features[name], len(posterior.labels)
    every, nowhere = np.arange(n_classes), np.full(n_classes, -1)
    once = seen + row.take(np.append(0, nowhere[1:]))
    prior = family.priors(once, posterior.labels).at(np.tile(every, 2))
    believed = family.update(prior, seen.take(np.tile(every, 2)) + row.take(np.append(nowhere, every)))
    rows = np.arange(len(codes))
    both = family.log_predictive(believed, learned)
    without = -family.log_moment(believed, learned, -1.0)
    for k in (codes, codes + n_classes):
        both[rows, k] = without[rows, k]
    return both[:, :n_classes], both[:, n_classes:], family.log_predictive(believed.at(every), new)


def _class_prior_left_out(posterior: Posterior, codes: Array, candidate: int) -> Array:
    """log p(class) by all labels but the row's own, and one more of the candidate class, (row, class)."""
    label, n_classes = posterior.only(()), len(posterior.labels)
    counted = Statistics(posterior.labels, posterior.statistics.rows + np.eye(n_classes)[candidate], {})
    present, place = np.unique(codes, return_inverse=True)
    once = Labels(present, np.ones(len(present)), n_classes)
    return label.model.posterior(counted).log_left_out({}, once)[place]
