"""Conformal prediction: sets of classes with a guarantee that does not depend on the model."""

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
from bayesnb.statistics.statistic import Labels, Statistic

TIE = 1e-9
"""Scores are tied if they differ by less than this, in nats or relative to the score."""


ROUNDING = 1e-12
"""A p-value this close to 1 - coverage counts as equal to it, because 1 - 0.9 is 0.09999999999999998."""


def nonconformity(log_joint: Array, codes: Array) -> Array:
    """How unusual each row's class is: the log-odds of all other classes against this class, (row,)."""
    # 1 - p(class | row) has the same order, but probabilities near 1 round to 1, and log-odds do not.
    row = np.arange(len(codes))
    own, others = log_joint[row, codes], log_joint.copy()
    others[row, codes] = -np.inf
    rest = logsumexp(others, axis=1)
    # With plug-in parameters, a row may be impossible under its class; its score is infinite.
    return np.where(np.isneginf(own), np.inf, rest - np.where(np.isneginf(own), 0.0, own))


def of_every_class(log_joint: Array) -> Array:
    """How unusual each row would be in each class: the log-odds of all other classes against it, (row, class)."""
    each = [nonconformity(log_joint, np.full(len(log_joint), c)) for c in range(log_joint.shape[1])]
    return np.stack(each, axis=1)


def counts(known: Array, codes: Array, weight: Array, new: Array, by_class: bool) -> Array:
    """Numbers of known rows more unusual than a new row, equally unusual, and in total, (3, new row, class)."""
    # ``known``, (row, class), and ``new``, (new row, class), are nonconformity scores. ``codes`` and ``weight``,
    # (row,), are the classes and whole-number weights of the known rows.
    found = np.zeros((3, *new.shape))
    for c in range(new.shape[1]):
        of = codes == c if by_class else slice(None)
        order = np.argsort(known[of, c])
        scores, total = known[of, c][order], np.concatenate([[0.0], weight[of][order].cumsum()])
        slack = np.where(np.isfinite(new[:, c]), TIE * np.maximum(1.0, np.abs(new[:, c])), 0.0)
        below = total[np.searchsorted(scores, new[:, c] - slack, "left")]
        up_to = total[np.searchsorted(scores, new[:, c] + slack, "right")]
        found[:, :, c] = total[-1] - up_to, up_to - below, np.broadcast_to(total[-1], up_to.shape)
    return found


def full_counts(posterior: Posterior, learned: Data, labels: Labels, new: Data, n_new: int, by_class: bool) -> Array:
    """Full conformal prediction: the :func:`counts` if each new row is learned with each class in turn."""
    # Vovk, Gammerman and Shafer (2022), Algorithmic Learning in a Random World, second edition, section 2.2; Barber,
    # Candès, Ramdas and Tibshirani (2021), Predictive inference with the jackknife+, section 2.
    # The guarantee needs scores that treat all n + 1 rows alike. So for a new row x and a candidate class c, each row
    # of D + (x, c) is scored by the model of the *other* n rows. D + (x, c) differs from D only in the factors of class
    # c. So two log densities per class and learned row are enough, one without x and one after x has joined the class.
    # A prior that is scaled to the data is scaled to all n + 1 rows.
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
        found.append(counts(known, codes, labels.weight, of_every_class(own + log_prior), by_class))
    return np.concatenate(found, axis=1)


def _asked_twice(
    posterior: Posterior, name: Any, row: Statistic, learned: Any, codes: Array, new: Any
) -> tuple[Array, Array, Array]:
    """Log densities of a feature: of learned rows before and after learning a new row, and of the new row."""
    # ``row`` is the statistic of the new row in every class. The first array is log p(x_i | class) given the learned
    # rows D. The second array is given D and the new row in this class. Both are (learned row, class), and x_i is left
    # out of its own class. The third array is the log density of the new row given D, (1, class).
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
    """Log class probabilities of each row, (row, class), given the other rows' labels and one label ``candidate``."""
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
    """Calibrated scores of known rows, from which :meth:`predict_set` makes sets of classes.

    ``by_class`` is true if the guarantee holds within each class.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets, sets
    >>> X, y = datasets.penguins()
    >>> X, y = X.sample(frac=1, random_state=0), y.sample(frac=1, random_state=0)  # in random order
    >>> found = sets.conformal(BayesianNB().fit(X[:200], y[:200]), X[:200], y[:200])
    >>> found
    Conformal(method='full', 200 rows)
    >>> classes = found.predict_set(X[200:250], coverage=0.95)
    >>> inside = [classes.loc[row, label] for row, label in y[200:250].items()]
    >>> round(float(sum(inside) / len(inside)), 2), round(float(classes.sum(axis=1).mean()), 2)
    (0.98, 0.98)
    """

    # ``scores``, (row,), are the nonconformities of the known rows. For "full" they are None, and ``data`` holds the
    # known rows.

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
        """Conformal p-value of each row and class: the share of known rows that are at least as unusual in the class.

        Parameters
        ----------
        X : table
        smoothed : bool
            Break ties at random, so that the coverage is exact.

        Returns
        -------
        DataFrame (row, class)

        Notes
        -----
        If ``random_state`` is an integer, each call breaks ties with the same random numbers, so pass all rows in one
        call.

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
            new = of_every_class(self.classifier.believed.log_joint(data, n))
            known = np.broadcast_to(self.scores[:, None], (len(self.scores), new.shape[1]))
            found = counts(known, self.labels.codes, self.labels.weight, new, self.by_class)
        u = self.classifier.generator().random((n, 1)) if smoothed else 1.0
        # If the n + 1 rows are exchangeable and no two scores are equal, the rank of the new row's score is uniform. So
        # P(p ≤ α) ≤ α for p = (less + equal + 1) / (n + 1), with equality for p = (less + u (equal + 1)) / (n + 1) with
        # a uniform u (Vovk, Gammerman and Shafer 2022, sections 2.2 and 2.5).
        less, equal, rows = found
        p = (less + u * (equal + 1)) / (rows + 1)
        return pd.DataFrame(p, index=index_of(X), columns=pd.Index(self.classifier.classes))

    def predict_set(self, X: Any, coverage: float = 0.9, smoothed: bool = False) -> pd.DataFrame:
        """The set of plausible classes of each row, with the requested coverage.

        Parameters
        ----------
        X : table
        coverage : float
            The share of rows whose set should contain the true class; above 0 and below 1.
        smoothed : bool
            Break ties at random, so that the coverage is exact.

        Returns
        -------
        DataFrame of bool (row, class)
            A class is in the set if its p-value is above 1 - coverage. The set is empty if the row is unusual under
            every class. Without smoothing, a class that is compared with fewer than 1 / (1 - coverage) - 1 known rows
            is in every set.

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
    """Calibrate prediction sets on known rows, so that the sets have the requested coverage.

    The guarantee assumes only that the rows are exchangeable. See ``docs/how-to/guaranteed-sets.md``.

    Parameters
    ----------
    X, y, sample_weight
        The known rows: exactly the learned rows for "full" and "loo", held-out rows for "split". Weights must be whole
        numbers.
    by_class : bool
        Whether to compare rows only with known rows of the same class (Mondrian), so that the guarantee holds within
        each class.
    method : {"full", "loo", "split"}
        "full" scores every row by the model of all other rows. The guarantee of "full" is exact, but each new row takes
        two passes over the learned rows. "loo" scores learned rows by exact leave-one-out, which is as fast as
        predicting, but has no guarantee. "split" uses held-out rows, with an exact guarantee even if the model has a
        ``dependence``.

    Returns
    -------
    Conformal
        The result does not change if the estimator learns more rows.

    Raises
    ------
    ValueError
        If a weight is not a whole number, or a label is missing. "full" and "loo" also fail if the class counts differ
        from the learned counts, a feature is sampled by MCMC, or the model has a ``dependence``.

    Notes
    -----
    Rows are scored by log-odds, which give the smallest sets on average (Sadinle et al. 2019). The guarantee of "full"
    and "split" requires levels and bins that do not depend on the learned rows.

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
    43    False       True   False
    114    True      False   False
    """
    classifier.require_one_class_prior("conformal prediction")
    if method != "split":
        _require_left_out(classifier, method)
    rows = classifier.rows(X, y, sample_weight).labelled()
    if (odd := rows.weight != np.rint(rows.weight)).any():
        (row,) = first(odd)
        raise ValueError(
            f"conformal prediction counts rows, so weights are whole numbers; got {rows.weight[row]:g} in row {row}"
        )
    data, labels = classifier.encoded(rows.counted())
    if method == "split":
        scores = nonconformity(classifier.believed.log_joint(data, len(labels)), labels.codes)
        return Conformal(classifier, method, by_class, labels, scores, {})
    classifier.require_learned(labels.weights(), 'for rows that were not learned, use method="split"')
    # One copy of a row of weight above 1 is left out. This call also raises if the prior does not allow leave-one-out.
    once = Labels(labels.codes, np.ones(len(labels)), labels.n)
    scores = nonconformity(classifier.posterior.log_left_out(data, once, classifier.estimate), labels.codes)
    return Conformal(classifier, method, by_class, labels, *((None, data) if method == "full" else (scores, {})))


def _require_left_out(classifier: Classifier, method: str) -> None:
    classifier.believed.require_naive(
        f'method="{method}" leaves learned rows out, and with a dependence the exponents have seen their labels: '
        'fit without some rows, and ask conformal(X, y, method="split") with these'
    )
    if method == "full":
        classifier.believed.require_predictive(
            'method="full" integrates the parameters out', ', or use method="loo" or "split"'
        )
    classifier.require_counted(f'method="{method}" leaves learned rows out, which is exact for rows that were counted')
    classifier.posterior.require_exact(
        "leave-one-out", 'fit without some rows, and ask conformal(X, y, method="split") with these'
    )
