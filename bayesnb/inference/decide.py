"""Decisions from class probabilities: least expected cost, abstention, and smallest sets of classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from bayesnb.inference.classifier import Classifier, index_of
from bayesnb.inference.questions import question
from bayesnb.priors import Array
from bayesnb.priors.class_prior import repeated, require_each

ROUNDING = 1e-12
"""Tolerance of the mass of a set, because 0.7 + 0.1 + 0.1 is 0.8999999999999999."""


def least_expected_cost(
    proba: Array, classes: Array, costs: pd.DataFrame, reject_cost: float | None = None, index: Any = None
) -> pd.DataFrame:
    """The decision of least expected cost for each row, as :func:`decide` returns it.

    ``proba`` is (row, class). ``costs`` has one column per decision and one row per true class, in any order.

    References
    ----------
    Berger (1985), Statistical Decision Theory and Bayesian Analysis, 4.4; Gelman et al., BDA3, chapter 9; Chow
    (1970), On optimum recognition error and reject tradeoff, for rejection.

    Examples
    --------
    >>> import pandas as pd
    >>> from bayesnb.inference.decide import least_expected_cost
    >>> costs = pd.DataFrame({"treat": [0, 1], "wait": [9, 0]}, index=["ill", "well"])
    >>> least_expected_cost([[0.3, 0.7], [0.1, 0.9], [0.02, 0.98]], ["ill", "well"], costs, reject_cost=0.8)
      decision  expected_cost  abstained
    0    treat           0.70      False
    1     None           0.80       True
    2     wait           0.18      False
    """
    proba = np.asarray(proba, float)
    cost_matrix = matrix_of(costs, classes)
    expected = proba @ cost_matrix
    choice = expected.argmin(axis=1)
    cost = expected[np.arange(len(choice)), choice]
    decision = np.fromiter(costs.columns.tolist(), object, costs.shape[1])[choice]
    abstained = np.zeros(len(choice), bool)
    if reject_cost is not None:
        abstained = cost > _usable(reject_cost, cost_matrix)
        cost = np.where(abstained, reject_cost, cost)
        decision[abstained] = None
    decision = pd.Series(decision, index, dtype=object)
    return pd.DataFrame({"decision": decision, "expected_cost": cost, "abstained": abstained}, index)


def matrix_of(costs: Any, classes: Sequence[Any] | Array) -> Array:
    """The costs as an array (class, decision), in the order of the classes."""
    if not isinstance(costs, pd.DataFrame):
        raise TypeError(
            "Expected costs as a DataFrame, its index the true classes and its columns the decisions; "
            f"got {type(costs).__name__}: write {_as_frame(costs, classes)}"
        )
    rows, labels = costs.index.tolist(), np.asarray(classes).tolist()
    require_each(rows, labels, "costs, index", "one row of costs for each class")
    if twice := repeated(costs.columns.tolist()):
        raise ValueError(f"costs: Expected each decision in one column; got {twice[0]!r} more than once")
    if costs.shape[1] == 0:
        raise ValueError("costs: Expected at least one column, a decision; got none")
    numbers = {name: all(isinstance(cost, Real) or pd.isna(cost) for cost in column.tolist())
               for name, column in costs.items()}  # fmt: skip
    if odd := [name for name, found in numbers.items() if not found]:
        raise TypeError(f"costs, decision {odd[0]!r}: Expected numbers; got {costs[odd[0]].tolist()!r}")
    cost_matrix = costs.to_numpy(float, na_value=np.nan)[[rows.index(label) for label in labels]]
    if not np.isfinite(cost_matrix).all():
        c, d = np.argwhere(~np.isfinite(cost_matrix))[0]
        raise ValueError(
            f"costs: Expected finite numbers; got {cost_matrix[c, d]} for the decision {costs.columns[d]!r} where "
            f"{labels[c]!r} is true"
        )
    return cost_matrix


def _as_frame(costs: Any, classes: Sequence[Any] | Array) -> str:
    """The text of Python code that converts nested dictionaries of costs to a data frame with the classes as rows."""
    if not isinstance(costs, Mapping) or not costs or not all(isinstance(row, Mapping) for row in costs.values()):
        return "pd.DataFrame(costs, index=[classes], columns=[decisions])"
    labels, inner = {*classes}, {key for row in costs.values() for key in row}
    if {*costs} != labels and inner == labels:
        return "pd.DataFrame(costs)"
    if {*costs} == labels and inner != labels:
        return "pd.DataFrame(costs).T"
    return "pd.DataFrame(costs) if its keys are the decisions, or pd.DataFrame(costs).T if they are the classes"


def _usable(reject_cost: Any, cost_matrix: Array) -> float:
    number = isinstance(reject_cost, Real) and not isinstance(reject_cost, bool)
    if not (number and np.isfinite(float(reject_cost))):
        said = f"Expected reject_cost to be a finite number, or None to decide always; got {reject_cost!r}"
        raise ValueError(said) if number else TypeError(said)
    if reject_cost >= cost_matrix.max():
        raise ValueError(
            f"Expected reject_cost below the largest cost, {cost_matrix.max():g}; got {reject_cost:g}, at which every "
            "decision is at least as good as none, so that it would never be used: lower it or leave it out"
        )
    return float(reject_cost)


def smallest_set(proba: Array, classes: Array, mass: float = 0.9, index: Any = None) -> pd.DataFrame:
    """The smallest set of classes with probability at least ``mass``, for each row, as bool (row, class)."""
    proba = np.asarray(proba, float)
    if not isinstance(mass, Real) or isinstance(mass, bool) or not 0 < mass <= 1:
        raise ValueError(f"Expected mass above 0 and at most 1, such as 0.9; got {mass!r}")
    order = np.argsort(-proba, axis=1, kind="stable")
    ranked = np.take_along_axis(proba, order, axis=1)
    needed = ranked > 0 if mass == 1 else ranked.cumsum(axis=1) - ranked < mass - ROUNDING
    inside = np.take_along_axis(needed, order.argsort(axis=1), axis=1)
    return pd.DataFrame(inside, index=index, columns=pd.Index(classes))


@question(
    "the decision of least expected cost",
    "what to do",
    columns={
        "decision": "the decision of least expected cost",
        "expected_cost": "expected cost of the decision",
        "abstained": "whether the row is left undecided",
    },
)
def decide(classifier: Classifier, X: Any, costs: pd.DataFrame, reject_cost: float | None = None) -> pd.DataFrame:
    """The decision of least expected cost for each row.

    Parameters
    ----------
    X : table
        The rows to predict.
    costs : DataFrame (class, decision)
        The cost of each decision (column) for each true class (row); a gain is a negative cost. Decisions may be
        classes or anything else.
    reject_cost : float, optional
        The cost of not deciding. A row is left undecided if every decision has an expected cost above ``reject_cost``.

    Returns
    -------
    DataFrame (row, ...)
        ``decision`` is a column of ``costs`` (the first in a tie), or None if the row is undecided. ``expected_cost``
        is the expected cost of the decision, or ``reject_cost``. ``abstained`` is True if the row is undecided.

    Raises
    ------
    TypeError
        If ``costs`` is not a DataFrame, or a cost or ``reject_cost`` is not a number.
    ValueError
        If ``costs`` lacks a class, has an unknown or repeated class, or holds a cost that is not finite.
        ``reject_cost`` must be below the largest cost.

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
    return least_expected_cost(classifier.predict_proba(X), classifier.classes, costs, reject_cost, index_of(X))


@question("the smallest set of classes with a given probability", "what to do", "sets")
def credible_set(classifier: Classifier, X: Any, mass: float = 0.9) -> pd.DataFrame:
    """The smallest set of classes with probability at least ``mass``, for each row.

    The sets are highest-density credible sets (Berger 1985, 4.3.2). For a guarantee that does not depend on the model,
    see :func:`bayesnb.sets.conformal`.

    Parameters
    ----------
    X : table
        The rows to predict.
    mass : float
        The least probability of a set; above 0 and at most 1. Ties go to the earlier class.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets, sets
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB().fit(X, y)
    >>> sets.credible_set(clf, X[:2], mass=0.7)
         no    yes
    0  True  False
    1  True  False
    """
    return smallest_set(classifier.predict_proba(X), classifier.classes, mass, index_of(X))
