"""Conformal prediction: sets of classes with a guarantee that does not depend on the model.

:func:`conformal` gives a :class:`Conformal`. Start with :func:`nonconformity`, the score of a row with a class, and
:class:`Counts`, how the score of a new row ranks among those of known rows. :func:`full_counts` computes them for full
conformal prediction, in closed form.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.special import logsumexp

from bayesnb.inference.classifier import Classifier, index_of
from bayesnb.inference.questions import question
from bayesnb.model import Data, Posterior, Statistics
from bayesnb.priors import Array, first
from bayesnb.statistics.membership import Labels
from bayesnb.statistics.statistic import Statistic

TIE = 1e-9
"""Scores that differ by less than this, in nats or as a share of the score, are the same number but for rounding."""


ROUNDING = 1e-12
"""A p-value this close to 1 - coverage is equal to it, because 1 - 0.9 is 0.09999999999999998."""


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
    """How unusual each row would be with its class: minus the log-odds of the class against all others, (row,).

    It ranks as 1 - p(class | row) does. But probabilities near 1 are all rounded to 1, and log-odds are not.
    """
    row = np.arange(len(codes))
    own, others = log_joint[row, codes], log_joint.copy()
    others[row, codes] = -np.inf
    rest = logsumexp(others, axis=1)
    # Under a plug-in, a row may be impossible with its class; nothing is more unusual.
    return np.where(np.isneginf(own), np.inf, rest - np.where(np.isneginf(own), 0.0, own))


def of_every_class(log_joint: Array) -> Array:
    """:func:`nonconformity` of each row with each class, (row, class)."""
    each = [nonconformity(log_joint, np.full(len(log_joint), c)) for c in range(log_joint.shape[1])]
    return np.stack(each, axis=1)


def counts(known: Array, codes: Array, weight: Array, new: Array, by_class: bool) -> Counts:
    """The counts of rows whose scores are less than, and equal to, those of new rows.

    Parameters
    ----------
    known : array (row, class)
        The scores of the known rows, with which the score of a new row with each class is compared.
    codes, weight : arrays (row,)
        The classes of the known rows, and how many rows each stands for.
    new : array (new row, class)
        The score of each new row with each class.
    by_class : bool
        Whether a class is compared with the rows of this class alone.
    """
    found = np.zeros((3, *new.shape))
    for c in range(new.shape[1]):
        of = codes == c if by_class else slice(None)
        order = np.argsort(known[of, c])
        scores, total = known[of, c][order], np.concatenate([[0.0], weight[of][order].cumsum()])
        slack = np.where(np.isfinite(new[:, c]), TIE * np.maximum(1.0, np.abs(new[:, c])), 0.0)
        below = total[np.searchsorted(scores, new[:, c] - slack, "left")]
        up_to = total[np.searchsorted(scores, new[:, c] + slack, "right")]
        found[:, :, c] = total[-1] - up_to, up_to - below, np.broadcast_to(total[-1], up_to.shape)
    return Counts(found[0], found[1], found[2])


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
    found = [np.empty((3, 0, n_classes))]
    for i in range(n_new):
        x = {name: column[[i]] for name, column in new.items()}
        each = [
            _asked_twice(posterior, name, alone.features[name].take([i] * n_classes), learned[name], codes, x[name])
            for name in posterior.features
        ]
        left, joined, own = (sum(parts, np.zeros(())) for parts in zip(*each, strict=True))
        known = np.empty_like(left)
        for c in range(n_classes):
            log_joint = left + class_priors[c]
            log_joint[:, c] = joined[:, c] + class_priors[c][:, c]
            known[:, c] = nonconformity(log_joint, codes)
        asked = counts(known, codes, labels.weight, of_every_class(own + log_prior), by_class)
        found.append(np.stack([asked.less, asked.equal, asked.rows]))
    return Counts(*np.concatenate(found, axis=1))


def _asked_twice(
    posterior: Posterior, name: Any, row: Statistic, learned: Any, codes: Array, new: Any
) -> tuple[Array, Array, Array]:
    """Log density of a feature in each learned row, left out of its own class: under D, and under D with one more row.

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


type Method = Literal["full", "loo", "split"]


GUARANTEES = {
    "full": "the set of a new row holds its class with at least the requested coverage, whatever the model and the "
    "distribution of the rows, if the new row and the learned ones are exchangeable",
    "split": "the set of a new row holds its class with at least the requested coverage, whatever the model and the "
    "distribution of the rows, if the new row and the rows held out are exchangeable",
    "loo": "the set of a new row holds its class about as often as requested; no bound holds for every model and "
    'distribution (method="full" has one)',
}


@dataclass(frozen=True, eq=False, repr=False)
class Conformal:
    """The scores of known rows, by which :meth:`predict_set` makes sets of classes.

    Made by ``conformal(clf, X, y)``; learning more rows with the estimator does not change it.

    Parameters
    ----------
    classifier : Classifier
    method : {"full", "loo", "split"}
    by_class : bool
        Whether the guarantee is for each class.
    labels : Labels
        The classes of the known rows, and how many rows each stands for.
    scores : array (row,) or None
        How unusual each known row is; None for "full", where it depends on the new row.
    data : {name: encoded column}
        The known rows, for "full".

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets, sets
    >>> X, y = datasets.penguins()
    >>> X, y = X.sample(frac=1, random_state=0), y.sample(frac=1, random_state=0)  # in random order
    >>> found = sets.conformal(BayesianNB().fit(X[:200], y[:200]), X[:200], y[:200])
    >>> found
    Conformal(method='full', 200 rows)
    >>> classes = found.predict_set(X[200:], coverage=0.95)
    >>> inside = [classes.loc[row, label] for row, label in y[200:].items()]
    >>> round(float(sum(inside) / len(inside)), 2), round(float(classes.sum(axis=1).mean()), 2)
    (0.94, 0.97)
    """

    classifier: Classifier
    method: Method
    by_class: bool
    labels: Labels
    scores: Array | None
    data: Data

    def __repr__(self) -> str:
        return f"Conformal(method={self.method!r}, {self.labels.weight.sum():g} rows{', by class' * self.by_class})"

    @property
    def guarantee(self) -> str:
        """The guarantee of the sets and its condition, as a sentence."""
        each = "; within each class" if self.by_class else "; on average over the classes"
        return GUARANTEES[self.method] + each

    def p_values(self, X: Any, smoothed: bool = False) -> pd.DataFrame:
        """The share of the known rows that are at least as unusual as each row would be with each class.

        Parameters
        ----------
        X : table
        smoothed : bool
            Break ties at random, with one uniform number a row, from the estimator's ``random_state``. The p-value of
            the true class is then uniform between 0 and 1; by default it is rather too large, so that sets are safe.

        Returns
        -------
        DataFrame (row, class)

        Notes
        -----
        With an integer ``random_state`` every call draws the same numbers, so ask for many rows in one call.

        Examples
        --------
        >>> from bayesnb import BayesianNB, datasets, sets
        >>> X, y = datasets.play_tennis()
        >>> sets.conformal(BayesianNB().fit(X[:12], y[:12]), X[:12], y[:12]).p_values(X[12:]).round(2)
              no   yes
        12  0.23  0.85
        13  0.31  0.54
        """
        self.classifier.require_one_class_prior("conformal prediction")
        data, n = self.classifier.read(X)
        if self.scores is None:
            found = full_counts(self.classifier.posterior, self.data, self.labels, data, n, self.by_class)
        else:
            new = of_every_class(self.classifier.log_joint(data, n))
            known = np.broadcast_to(self.scores[:, None], (len(self.scores), new.shape[1]))
            found = counts(known, self.labels.codes, self.labels.weight, new, self.by_class)
        u = self.classifier.generator().random((n, 1)) if smoothed else 1.0
        return pd.DataFrame(found.p_values(u), index=index_of(X), columns=pd.Index(self.classifier.classes))

    def predict_set(self, X: Any, coverage: float = 0.9, smoothed: bool = False) -> pd.DataFrame:
        """The classes with which each row would not be too unusual, as bool (row, class).

        Parameters
        ----------
        X : table
        coverage : float
            The share of rows whose set holds their class; above 0 and below 1.
        smoothed : bool
            As in :meth:`p_values`: the coverage is then exactly the requested one.

        Returns
        -------
        DataFrame of bool (row, class)
            A class is in the set if its p-value is above 1 - coverage. A set may be empty: then the row is unusual with
            every class. With fewer than 1 / (1 - coverage) - 1 known rows (of a class, if by class), no class can be
            ruled out, and is in every set.

        Examples
        --------
        >>> from bayesnb import BayesianNB, datasets, sets
        >>> X, y = datasets.play_tennis()
        >>> sets.conformal(BayesianNB().fit(X[:12], y[:12]), X[:12], y[:12]).predict_set(X[12:], coverage=0.7)
               no   yes
        12  False  True
        13   True  True
        """
        if not isinstance(coverage, Real) or isinstance(coverage, bool) or not 0 < coverage < 1:
            raise ValueError(f"Expected coverage above 0 and below 1, such as 0.9; got {coverage!r}")
        return self.p_values(X, smoothed) > 1 - coverage + ROUNDING


@question("sets of classes with a guarantee, whatever the model", "what to do", "sets")
def conformal(
    classifier: Classifier, X: Any, y: Any, sample_weight: Any = None, by_class: bool = False, method: Method = "full"
) -> Conformal:
    """Calibrate sets of classes by known rows, so that they hold the true class as often as they say.

    ``credible_set`` of the estimator sums class probabilities, and is right if the model is. The sets of
    ``conformal(clf, X, y).predict_set(X_new, coverage=0.9)`` rest on the rows being exchangeable, and on nothing else.

    Parameters
    ----------
    X, y, sample_weight
        Known rows: exactly those that were learned, or for "split" rows that were not learned. Weights count rows, so
        they are whole numbers.
    by_class : bool
        Compare a class with the known rows of that class alone (Mondrian), so that the guarantee holds for each class,
        also for a rare one.
    method : {"full", "loo", "split"}
        "full" scores the learned and the new row by the model of all the others, for every class that the new row might
        have, exactly and without a refit. Its guarantee is exact. Each new row takes two passes over the learned rows.
        "loo" scores the learned rows by exact leave-one-out once, and new rows by all of them. The difference is that
        of one row in n, so it covers nearly the same, and it is as quick as predicting; but nothing is guaranteed.
        "split" takes rows that were not learned. Its guarantee is exact, for every model.

    Returns
    -------
    Conformal

    Raises
    ------
    ValueError
        If a weight is not a whole number, or a label is missing; for "full" and "loo", where it can be seen that the
        rows are not those that were learned, if a feature is sampled, or with a ``dependence``.

    Notes
    -----
    The score of a row with a class is minus the log-odds of the class against all others, by the chosen estimate.
    Sets of a score that ranks as the class probability are the smallest on average (Sadinle, Lei and Wasserman 2019).

    The guarantee of "full" is 1 - α for every distribution of the rows (Vovk, Gammerman and Shafer 2022). Scores by
    leave-one-out alone are the *jackknife*, which has no such bound; the *jackknife+* (Barber, Candès, Ramdas and
    Tibshirani 2021) and cross-conformal prediction (Vovk 2015) have 1 - 2α, and cost as much as "full" here, so that
    they are not offered. "full" treats the new row as one of the learned rows in the factors and in priors that are
    scaled to the data. Levels and bins are those of the learned rows, and a level that is new is read as ``unseen``
    says; for the guarantee to be exact, they have to be fixed without the rows, as categorical types and given edges
    are.

    With a ``dependence``, exponents have seen the labels of the learned rows, and leaving a row out with the exponents
    held would be too good. So hold rows out, and use "split".

    References
    ----------
    Vovk, Gammerman and Shafer (2022), Algorithmic Learning in a Random World, second edition, chapters 2 and 4; Vovk
    (2015), Cross-conformal predictors; Barber, Candès, Ramdas and Tibshirani (2021), Predictive inference with the
    jackknife+; Sadinle, Lei and Wasserman (2019), Least ambiguous set-valued classifiers with bounded error levels.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets, sets
    >>> X, y = datasets.penguins()
    >>> X, y = X.sample(frac=1, random_state=0), y.sample(frac=1, random_state=0)  # in random order
    >>> clf = BayesianNB(dependence="weighted").fit(X[:150], y[:150])
    >>> found = sets.conformal(clf, X[150:250], y[150:250], method="split", by_class=True)
    >>> found.predict_set(X[250:], coverage=0.9)[:3]
         Adelie  Chinstrap  Gentoo
    186   False      False    True
    43    False      False   False
    114    True      False   False
    """
    classifier.require_one_class_prior("conformal prediction")
    if method != "split":
        _require_left_out(classifier, method)
    rows = classifier.rows(X, y, sample_weight).labelled().counted()
    if (odd := rows.weight != np.rint(rows.weight)).any():
        (row,) = first(odd)
        raise ValueError(
            f"conformal prediction counts rows, so weights are whole numbers; got {rows.weight[row]:g} in row {row}"
        )
    data, labels = classifier.encoded(rows)
    if method == "split":
        scores = nonconformity(classifier.log_joint(data, len(labels)), labels.codes)
        return Conformal(classifier, method, by_class, labels, scores, {})
    if not np.allclose(labels.weights(), classifier.statistics.rows):
        raise ValueError(
            f"Expected the rows that were learned, {classifier.statistics.rows.tolist()} of the classes "
            f"{classifier.classes.tolist()}; got {labels.weights().tolist()}. For rows that were not learned, use "
            'method="split"'
        )
    # Of a row that stands for several, one is left out. This also refuses priors under which a row cannot be left out.
    once = Labels(labels.codes, np.ones(len(labels)), labels.n)
    scores = nonconformity(classifier.posterior.log_left_out(data, once, classifier.estimate), labels.codes)
    return Conformal(classifier, method, by_class, labels, *((None, data) if method == "full" else (scores, {})))


def _require_left_out(classifier: Classifier, method: str) -> None:
    """Refuse a method that leaves out learned rows where that is not exact."""
    classifier.believed.require_naive(
        f'method="{method}" leaves learned rows out, and with a dependence the exponents have seen their labels: '
        'fit without some rows, and ask conformal(X, y, method="split") with these'
    )
    if method == "full":
        classifier.believed.require_predictive(
            'method="full" integrates the parameters out', ', or use method="loo" or "split"'
        )
    classifier.require_counted(f'method="{method}" leaves learned rows out, which is exact for rows that were counted')
    classifier.posterior.model.require_exact(
        "leave-one-out", 'fit without some rows, and ask conformal(X, y, method="split") with these'
    )
