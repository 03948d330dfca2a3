"""Sets of classes with a guarantee that does not depend on the model: conformal prediction.

:func:`conformal` is a method of :class:`bayesnb.classifier.Classifier`; what it returns is a :class:`Conformal`. The
formulas are in ``answers.conformal``.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from bayesnb.answers import conformal as formulas
from bayesnb.classifier.tabular import index_of
from bayesnb.data.rows import Rows
from bayesnb.model import Data
from bayesnb.priors import Array, first
from bayesnb.statistics.membership import Labels

if TYPE_CHECKING:
    from bayesnb.classifier import Classifier

type Method = Literal["full", "loo", "split"]

GUARANTEES = {
    "full": "the set of a new row holds its class with at least the coverage asked for, whatever the model and the "
    "distribution of the rows, if the new row and the learned ones are exchangeable",
    "split": "the set of a new row holds its class with at least the coverage asked for, whatever the model and the "
    "distribution of the rows, if the new row and the rows held out are exchangeable",
    "loo": "the set of a new row holds its class about as often as asked for; no bound holds for every model and "
    'distribution (method="full" has one)',
}


@dataclass(frozen=True, eq=False, repr=False)
class Conformal:
    """What known rows say of how strange a row of its class may be; :meth:`predict_set` turns it into sets.

    Made by ``clf.conformal(X, y)``; learning more rows with the estimator does not change it.

    Parameters
    ----------
    classifier : Classifier
    method : {"full", "loo", "split"}
    by_class : bool
        Whether the guarantee is for each class.
    labels : Labels
        The classes of the known rows, and how many rows each stands for.
    scores : array (row,) or None
        How strange each known row is; None for "full", where it depends on the new row.
    data : {name: encoded column}
        The known rows, for "full".

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.penguins()
    >>> X, y = X.sample(frac=1, random_state=0), y.sample(frac=1, random_state=0)  # in random order
    >>> found = BayesianNB().fit(X[:200], y[:200]).conformal(X[:200], y[:200])
    >>> found
    Conformal(method='full', 200 rows)
    >>> sets = found.predict_set(X[200:], coverage=0.95)
    >>> inside = [sets.loc[row, label] for row, label in y[200:].items()]
    >>> round(float(sum(inside) / len(inside)), 2), round(float(sets.sum(axis=1).mean()), 2)
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
        """What holds of the sets, and when, as a sentence."""
        each = "; within each class" if self.by_class else "; on average over the classes"
        return GUARANTEES[self.method] + each

    def p_values(self, X: Any, smoothed: bool = False) -> pd.DataFrame:
        """How many of the known rows are at least as strange as each row would be with each class, as a share.

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
        >>> from bayesnb import BayesianNB, datasets
        >>> X, y = datasets.play_tennis()
        >>> BayesianNB().fit(X[:12], y[:12]).conformal(X[:12], y[:12]).p_values(X[12:]).round(2)
              no   yes
        12  0.23  0.85
        13  0.31  0.54
        """
        self.classifier.require_one_class_prior("conformal prediction")
        data, n = self.classifier.read(X)
        if self.scores is None:
            known = self.classifier.posterior, self.data, self.labels
            found = formulas.full_counts(*known, data, n, self.by_class)
        else:
            new = formulas.of_every_class(self.classifier.log_joint(data, n))
            found = formulas.counts(self.scores, self.labels.codes, self.labels.weight, new, self.by_class)
        u = self.classifier.generator().random((n, 1)) if smoothed else 1.0
        return pd.DataFrame(found.p_values(u), index=index_of(X), columns=pd.Index(self.classifier.classes))

    def predict_set(self, X: Any, coverage: float = 0.9, smoothed: bool = False) -> pd.DataFrame:
        """The classes that are not too strange for each row, as bool (row, class).

        Parameters
        ----------
        X : table
        coverage : float
            How often the set is to hold the class of the row; above 0 and below 1.
        smoothed : bool
            As in :meth:`p_values`: the coverage is then neither below nor above what is asked for.

        Returns
        -------
        DataFrame of bool (row, class)
            A class is in the set if its p-value is above 1 - coverage. A set may be empty: then the row is strange with
            every class. With fewer than 1 / (1 - coverage) - 1 known rows (of a class, if by class), no class can be
            ruled out, and is in every set.

        Examples
        --------
        >>> from bayesnb import BayesianNB, datasets
        >>> X, y = datasets.play_tennis()
        >>> BayesianNB().fit(X[:12], y[:12]).conformal(X[:12], y[:12]).predict_set(X[12:], coverage=0.7)
               no   yes
        12  False  True
        13   True  True
        """
        if not isinstance(coverage, Real) or isinstance(coverage, bool) or not 0 < coverage < 1:
            raise ValueError(f"Expected coverage above 0 and below 1, such as 0.9; got {coverage!r}")
        return formulas.in_set(self.p_values(X, smoothed), coverage)


def conformal(
    self: Classifier, X: Any, y: Any, sample_weight: Any = None, by_class: bool = False, method: Method = "full"
) -> Conformal:
    """Calibrate sets of classes by known rows, so that they hold the true class as often as they say.

    ``predict_set`` of the estimator sums class probabilities, and is right if the model is. The sets of
    ``clf.conformal(X, y).predict_set(X_new, coverage=0.9)`` rest on the rows being exchangeable, and on nothing else.

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
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.penguins()
    >>> X, y = X.sample(frac=1, random_state=0), y.sample(frac=1, random_state=0)  # in random order
    >>> clf = BayesianNB(dependence="weighted").fit(X[:150], y[:150])
    >>> found = clf.conformal(X[150:250], y[150:250], method="split", by_class=True)
    >>> found.predict_set(X[250:], coverage=0.9)[:3]
         Adelie  Chinstrap  Gentoo
    186   False      False    True
    43    False       True   False
    114    True      False   False
    """
    if method not in GUARANTEES:
        raise ValueError(f"Expected method to be one of {list(GUARANTEES)}; got {method!r}")
    self.require_one_class_prior("conformal prediction")
    if method != "split":
        _require_left_out(self, method)
    rows = _whole(Rows.of(X, y, sample_weight, self.unlabelled, self.schema).labelled().counted())
    data, labels = self.encoded(rows)
    if method == "split":
        scores = formulas.nonconformity(self.log_joint(data, len(labels)), labels.codes)
        return Conformal(self, method, by_class, labels, scores, {})
    if not np.allclose(labels.weights(), self.statistics.rows):
        raise ValueError(
            f"Expected the rows that were learned, {self.statistics.rows.tolist()} of the classes "
            f"{self.classes.tolist()}; got {labels.weights().tolist()}. For rows that were not learned, use "
            'method="split"'
        )
    # Of a row that stands for several, one is left out. This also refuses priors under which a row cannot be left out.
    once = Labels(labels.codes, np.ones(len(labels)), labels.n)
    scores = formulas.nonconformity(self.posterior.log_left_out(data, once, self.estimate), labels.codes)
    return Conformal(self, method, by_class, labels, *((None, data) if method == "full" else (scores, {})))


def _require_left_out(self: Classifier, method: str) -> None:
    """Refuse a method that leaves out learned rows where that is not exact."""
    if self.dependence is not None:
        raise ValueError(
            f'method="{method}" leaves learned rows out, and with a dependence the exponents have seen their labels: '
            'fit without some rows, and ask conformal(X, y, method="split") with these'
        )
    if method == "full" and self.plug_in is not None:
        raise ValueError(
            f'method="full" integrates the parameters out, and estimate="{self.estimate}" plugs them in: ask '
            'classifier_.with_estimate("predictive"), or use method="loo" or "split"'
        )
    self.require_counted(f'method="{method}" leaves learned rows out, which is exact for rows that were counted')
    self.posterior.model.require_exact(
        "leave-one-out", 'fit without some rows, and ask conformal(X, y, method="split") with these'
    )


def _whole(rows: Rows) -> Rows:
    """The same rows; raise ``ValueError`` unless every weight is a whole number."""
    if (odd := rows.weight != np.rint(rows.weight)).any():
        (row,) = first(odd)
        raise ValueError(
            f"conformal prediction counts rows, so weights are whole numbers; got {rows.weight[row]:g} in row {row}"
        )
    return rows
