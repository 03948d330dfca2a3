"""What a plug-in costs beside full Bayes: the posterior expected loss of acting on it, row by row.

A plug-in states other class probabilities than the predictive p(c | x, D) does, and whoever acts on them acts worse, if
model and prior are right: by the predictive, each loss is expected to be at least that of the best act. The difference
is a sum over classes, so it is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.special import rel_entr

from bayesnb.estimates import ESTIMATES
from bayesnb.inference.believed import Believed
from bayesnb.inference.classifier import Classifier
from bayesnb.inference.decide import matrix_of
from bayesnb.inference.questions import question
from bayesnb.inference.sample import rows_to_ask
from bayesnb.model import Data, probabilities
from bayesnb.numerics import Array
from bayesnb.priors import BoundaryError, ImproperError

type Costs = Literal["log loss", "accuracy"] | pd.DataFrame

ROWS = 1000
"""Rows that are drawn from the model where none are given."""


def expected_losses(costs: Costs, classes: Sequence[Any] | Array = ()) -> Callable[[Array, Array], Array]:
    """The loss that is expected of acting on stated probabilities, as a function (stated, true) of (row, class) each.

    Parameters
    ----------
    costs : {"log loss", "accuracy"} or DataFrame (class, decision)
        The loss of stating probabilities, in nats; one for each wrong class; or that of the decision that the stated
        probabilities make the cheapest.
    classes : array (class,)
        Not needed for the log loss.
    """
    if isinstance(costs, str) and costs == "log loss":
        # Σ_c p_c ln(1 / q_c); a class that cannot be has no share in it.
        return lambda stated, true: (rel_entr(true, stated) - rel_entr(true, 1.0)).sum(-1)
    if isinstance(costs, str):
        if costs != "accuracy":
            raise ValueError(
                f"Expected costs to be 'log loss', 'accuracy' or a DataFrame (class, decision); got {costs!r}"
            )
        matrix = 1.0 - np.eye(len(classes))
    else:
        matrix = matrix_of(costs, classes)

    def expected(stated: Array, true: Array) -> Array:
        decision = (stated @ matrix).argmin(-1)
        return np.take_along_axis(true @ matrix, decision[..., None], -1)[..., 0]

    return expected


def prices(stated: Array, predictive: Array, expected: Callable[[Array, Array], Array]) -> Array:
    """By how much acting on stated probabilities is expected to cost more than acting on the predictive, (row,).

    Infinitely much where no class is stated.
    """
    more = np.maximum(expected(stated, predictive) - expected(predictive, predictive), 0.0)
    return np.where(stated.any(-1), more, np.inf)


def stated_by(believed: Believed, data: Data, rows: int) -> Array:
    """The class probabilities that are stated of encoded rows, (row, class): all 0 of a row that no class can have."""
    joint = believed.log_joint(data, rows)
    impossible = np.isneginf(joint).all(axis=1, keepdims=True)
    return np.where(impossible, 0.0, probabilities(np.where(impossible, 0.0, joint)))


@question("to know what MAP costs beside full Bayes", "what to do", "design")
def plug_in_price(classifier: Classifier, X: Any = None, costs: Costs = "log loss") -> pd.DataFrame:
    """What each plug-in costs beside full Bayes: its expected loss for a row, less that of the predictive.

    It is 0 where both lead to the same act, and never negative: by the predictive, no act is better than the one that
    the predictive takes. It says what the difference is worth *if the model is right*; what rows that were left out say
    is :func:`bayesnb.compare`'s.

    Parameters
    ----------
    X : table, optional
        The rows to ask about; by default 1,000 rows that are drawn from the model.
    costs : {"log loss", "accuracy"} or DataFrame (class, decision)
        "log loss": the price is the Kullback-Leibler divergence Σ_c p_c ln(p_c / q_c) of the plug-in's q from the
        predictive p, in nats. "accuracy": the probability that is lost by naming another class. Costs as
        :meth:`bayesnb.BayesianNB.decide` takes them: how much more the plug-in's decision is expected to cost.

    Returns
    -------
    DataFrame (row, plug-in)
        One column for each of "mle", "map" and "mean" that exists for these data; infinite where a plug-in gives the
        probability 0 to a class that may be. ``attrs["absent"]`` says why a plug-in is missing.

    Raises
    ------
    TypeError, ValueError
        If ``costs`` are not as described, or no rows are given where columns depend on each other or each row has a
        class prior of its own.

    References
    ----------
    Berger (1985), Statistical Decision Theory and Bayesian Analysis, 4.4.1; Aitchison (1975), Goodness of prediction
    fit, for log loss.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets, design
    >>> X, y = datasets.heights()
    >>> design.plug_in_price(BayesianNB().fit(X, y), X).mean().round(4)
    mle     0.0057
    map     0.0006
    mean    0.0015
    dtype: float64
    """
    expected = expected_losses(costs, classifier.classes)
    if X is None:
        classifier.require_one_class_prior("the price of a plug-in")
        classifier.believed.require_naive(
            "exponents say nothing of how rows are made: pass X, such as the learned rows"
        )
    full = classifier.with_estimate("predictive")
    data, n, index = rows_to_ask(full, X, ROWS)
    predictive, found, absent = stated_by(full.believed, data, n), {}, {}
    for estimate, rule in ESTIMATES.items():
        if not rule.plugs_in:
            continue
        try:
            believed = full.believed.with_estimate(estimate)
        except (BoundaryError, ImproperError, ValueError) as error:
            absent[estimate] = str(error)
        else:
            found[estimate] = prices(stated_by(believed, data, n), predictive, expected)
    table = pd.DataFrame(found, index=index)
    table.attrs["absent"] = absent
    return table
