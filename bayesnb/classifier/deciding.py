"""What to do with predictions: decide by costs, name several classes, and follow class frequencies that have changed.

Every function here is a method of :class:`bayesnb.classifier.Classifier`, its ``self``. The formulas are in
``decisions``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bayesnb.answers import class_shares, decisions
from bayesnb.answers.uncertainty import probability_of_interval
from bayesnb.classifier.exponents import point
from bayesnb.classifier.tabular import index_of

if TYPE_CHECKING:
    from bayesnb.classifier import Classifier


def decide(self: Classifier, X: Any, costs: pd.DataFrame, reject_cost: float | None = None) -> pd.DataFrame:
    """The decision of least expected cost for each row.

    Parameters
    ----------
    X : table
    costs : DataFrame (class, decision)
        The cost of each decision if each class is the true one. Decisions may be classes or anything else.
    reject_cost : float, optional
        The cost of not deciding. A row is left undecided if every decision is expected to cost more.

    Returns
    -------
    DataFrame (row, ...)
        ``decision`` (None if undecided), ``expected_cost``, ``abstained``.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB().fit(X, y)
    >>> import pandas as pd
    >>> costs = pd.DataFrame({"play": [10.0, 0.0], "stay": [0.0, 4.0]}, index=["no", "yes"])
    >>> clf.decide(X[:3], costs, reject_cost=1.5).round(2)
      decision  expected_cost  abstained
    0     stay           1.18      False
    1     stay           0.61      False
    2     None           1.50       True
    """
    return decisions.decide(self.predict_proba(X), self.classes, costs, reject_cost, index_of(X))


def predict_set(self: Classifier, X: Any, mass: float = 0.9) -> pd.DataFrame:
    """The smallest set of classes whose probability is at least ``mass``, as bool (row, class).

    It holds the true class as often as ``mass`` says if the class probabilities are right. A guarantee that does not
    depend on them needs rows to calibrate with: see :meth:`conformal`.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB().fit(X, y)
    >>> clf.predict_set(X[:2], mass=0.7)
         no    yes
    0  True  False
    1  True  False
    """
    return decisions.smallest_set(self.predict_proba(X), self.classes, mass, index_of(X))


def estimate_class_prior(
    self: Classifier,
    X: Any,
    max_iter: int = 10_000,
    tol: float = 1e-6,
    prob: float | None = None,
    draws: int = 4000,
) -> pd.Series | pd.DataFrame:
    """Estimate the class probabilities of new rows without labels, if p(x | class) is as it was learned (label shift).

    The method is EM (Saerens, Latinne and Decaestecker 2002). The class prior that was learned does not matter.
    ``clf.with_class_prior(clf.estimate_class_prior(X))`` predicts with the estimate. With a dependence, the likelihood
    of a class is p(class | row) under equal class probabilities.

    Parameters
    ----------
    X : table
    max_iter : int
    tol : float
        EM stops when no other class probabilities could raise the log probability of all rows by more than this, in
        nats. One standard error corresponds to half a nat.
    prob : float, optional
        Probability of an equal-tailed interval for each class probability. By default there is none.
    draws : int
        Of the Gibbs sampler from which the interval is read. They have the estimator's seed (0 if it has none).

    Returns
    -------
    Series (class,)
        The estimate; or, with ``prob``, a DataFrame (class, "probability" | "lower" | "upper"), whose
        ``attrs["mcse"]`` is the largest Monte Carlo standard error of a bound. ``frame["probability"]`` is the Series.

    Notes
    -----
    The interval belongs to the posterior of the class probabilities under Dirichlet(1), of which the estimate is the
    mode. It says how much the new rows leave open, with p(x | class) held as it was learned; how well that is known is
    not in it, so it is too narrow where few rows were learned. The mode may lie outside, if it is 0 or 1.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB().fit(X, y)
    >>> clf.estimate_class_prior(X[X["outlook"] == "overcast"]).round(2)
    class
    no     0.0
    yes    1.0
    Name: probability, dtype: float64
    >>> clf.estimate_class_prior(X[X["outlook"] == "overcast"], prob=0.89).loc["no"].round(1)  # four days say little
    probability    0.0
    lower          0.0
    upper          0.6
    Name: no, dtype: float64
    """
    data, n = self.read(X)
    if self.dependence is not None:
        # Under equal class probabilities, p(class | row) is the likelihood of the class up to a constant of the row.
        equal = np.zeros((n, len(self.classes)))
        log_likelihood = self.dependence.log_proba(self.posterior, data, n, equal, self.plug_in, point(self))
    elif self.plug_in is not None:
        log_likelihood = self.plug_in.log_joint_features(data, n)
    else:
        log_likelihood = self.posterior.log_predictive_features(data, n)
    p, _ = decisions.estimate_class_prior(log_likelihood, max_iter, tol)
    estimate = pd.Series(p, index=pd.Index(self.classes, name="class"), name="probability")
    if prob is None:
        return estimate
    tail = (1 - probability_of_interval(prob)) / 2
    rng = np.random.default_rng(0 if self.seed is None else self.seed)
    bounds, mcse = class_shares.interval(log_likelihood, (tail, 1 - tail), draws, rng)
    frame = estimate.to_frame().assign(lower=bounds[0], upper=bounds[1])
    frame.attrs["mcse"] = mcse
    return frame
