"""Regret of a plug-in estimate: the increase in expected loss per row if the estimate replaces full Bayes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd

from bayesnb.inference.classifier import Classifier
from bayesnb.inference.decide import matrix_of
from bayesnb.inference.questions import question
from bayesnb.inference.sample import rows_to_ask
from bayesnb.inference.scoring import log_proba_of
from bayesnb.model import ESTIMATES
from bayesnb.numerics import Array

type Costs = Literal["log loss", "accuracy"] | pd.DataFrame

ROWS = 1000
"""Rows to draw from the model if none are passed."""


def expected_losses(costs: Costs, classes: Sequence[Any] | Array = ()) -> Callable[[Array, Array], Array]:
    """Return a function that computes expected losses from predicted and true log probabilities, (row, class)."""
    if isinstance(costs, str) and costs == "log loss":
        return _cross_entropy
    if isinstance(costs, str):
        if costs != "accuracy":
            raise ValueError(
                f"Expected costs to be 'log loss', 'accuracy' or a DataFrame (class, decision); got {costs!r}"
            )
        matrix = 1.0 - np.eye(len(classes))
    else:
        matrix = matrix_of(costs, classes)

    def expected(stated: Array, true: Array) -> Array:
        decision = (np.exp(stated) @ matrix).argmin(-1)
        return np.take_along_axis(np.exp(true) @ matrix, decision[..., None], -1)[..., 0]

    return expected


def _cross_entropy(stated: Array, true: Array) -> Array:
    """Cross entropy -Σ_c p_c ln q_c of each row, from log probabilities; infinite if q_c = 0 and p_c > 0."""
    # ln p tells apart p = 0 and a p that is too small for a float.
    known = ~np.isneginf(stated)
    each = np.multiply(np.exp(true), -stated, out=np.full(true.shape, np.inf), where=known)
    return np.where(np.isneginf(true), 0.0, each).sum(-1)


def regrets(stated: Array, predictive: Array, expected: Callable[[Array, Array], Array]) -> Array:
    """The regret of each row, from predicted and true log probabilities, both (row, class)."""
    more = np.maximum(expected(stated, predictive) - expected(predictive, predictive), 0.0)
    # An estimate that gives every class probability 0 has an infinite regret.
    return np.where(np.isneginf(stated).all(-1), np.inf, more)


@question("to know what MAP costs beside full Bayes", "what to do", "design")
def plug_in_regret(classifier: Classifier, X: Any = None, costs: Costs = "log loss") -> pd.DataFrame:
    """Regret of each plug-in estimate: its expected loss per row minus the expected loss of full Bayes.

    The regret assumes that the model is right. To compare log losses on held-out rows, use :func:`bayesnb.compare`.

    Parameters
    ----------
    X : table, optional
        The rows to predict; by default 1,000 rows that are drawn from the model. The regret can be infinite for values
        that occur in no learned row; such values are absent if ``X`` are the learned rows.
    costs : {"log loss", "accuracy"} or DataFrame (class, decision)
        "log loss" gives the Kullback-Leibler divergence of the plug-in's class probabilities from the predictive, in
        nats. "accuracy" gives the decrease in the probability of the predicted class. With a DataFrame, as in
        :meth:`bayesnb.BayesianNB.decide`, the regret is the increase in the expected cost of the decision.

    Returns
    -------
    DataFrame (row, plug-in)
        One column for each of "mle", "map" and "mean" that exists for these data. ``attrs["absent"]`` gives the reason
        if an estimate does not exist. The regret is infinite if a plug-in estimate predicts probability 0 for a
        possible class.

    Raises
    ------
    TypeError, ValueError
        If ``costs`` are invalid. Models with a ``dependence`` or a class prior per row need ``X``.

    References
    ----------
    Berger (1985), Statistical Decision Theory and Bayesian Analysis, 4.4.1; Aitchison (1975), Goodness of prediction
    fit, for log loss.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets, design
    >>> X, y = datasets.heights()
    >>> design.plug_in_regret(BayesianNB().fit(X, y), X).mean().round(4)
    mle     0.0057
    map     0.0006
    mean    0.0015
    dtype: float64
    """
    expected = expected_losses(costs, classifier.classes)
    if X is None:
        classifier.require_one_class_prior("the regret of a plug-in")
        classifier.believed.require_naive(
            "exponents say nothing of how rows are made: pass X, such as the learned rows"
        )
    full = classifier.with_estimate("predictive")
    data, n, index = rows_to_ask(full, X, ROWS)
    predictive, found, absent = log_proba_of(full.believed.log_joint(data, n)), {}, {}
    for estimate, rule in ESTIMATES.items():
        if not rule.plugs_in:
            continue
        try:
            believed = full.believed.with_estimate(estimate)
        except ValueError as error:
            absent[estimate] = str(error)
        else:
            found[estimate] = regrets(log_proba_of(believed.log_joint(data, n)), predictive, expected)
    table = pd.DataFrame(found, index=index)
    table.attrs["absent"] = absent
    return table
