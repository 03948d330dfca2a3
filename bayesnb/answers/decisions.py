"""What to do with class probabilities: decide by costs or abstain, name several classes, change the class prior.

Start with :func:`decide`. Everything here is a pure function of arrays, whose classes are in the order of ``classes``.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

from bayesnb.model import normalize
from bayesnb.priors import Array
from bayesnb.priors.class_prior import repeated, require_each
from bayesnb.wording import warn

ROUNDING = 1e-12
"""A set may have this much less than the required mass, because 0.7 + 0.1 + 0.1 is 0.8999999999999999."""


def decide(
    proba: Array, classes: Array, costs: pd.DataFrame, reject_cost: float | None = None, index: Any = None
) -> pd.DataFrame:
    """The decision of least expected cost for each row, or no decision if every one would cost too much.

    Parameters
    ----------
    proba : array (row, class)
        p(c | x), the classes in the order of ``classes``.
    classes : array (class,)
    costs : DataFrame (class, decision)
        The cost of each decision (column) if a class (row label) is the true one, in any unit. A gain is a negative
        cost. A decision may be a class or anything else ("treat"). The rows may be in any order.
    reject_cost : float, optional
        The cost of not deciding. By default, every row gets a decision.
    index : optional
        The index of the result.

    Returns
    -------
    DataFrame (row, ...)
        ``decision``, a column of ``costs`` (the first, if several cost the same) or None; ``expected_cost`` of the
        decision, or of not deciding; ``abstained``, whether every expected cost exceeds ``reject_cost``.

    Raises
    ------
    TypeError
        If ``costs`` is not a DataFrame, or a cost or ``reject_cost`` is not a number.
    ValueError
        If ``costs`` misses a class, has an unknown or repeated one, or a cost that is not finite; if
        ``reject_cost`` is so high that it could never be used.

    References
    ----------
    Berger (1985), Statistical Decision Theory and Bayesian Analysis, 4.4; Gelman et al., BDA3, chapter 9; Chow
    (1970), On optimum recognition error and reject tradeoff, for rejection.

    Examples
    --------
    >>> import pandas as pd
    >>> from bayesnb.answers.decisions import decide
    >>> costs = pd.DataFrame({"treat": [0, 1], "wait": [9, 0]}, index=["ill", "well"])
    >>> decide([[0.3, 0.7], [0.1, 0.9], [0.02, 0.98]], ["ill", "well"], costs, reject_cost=0.8)
      decision  expected_cost  abstained
    0    treat           0.70      False
    1     None           0.80       True
    2     wait           0.18      False
    """
    proba = _of_classes(proba, classes)
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
    columns = {"decision": pd.Series(decision, dtype=object), "expected_cost": cost, "abstained": abstained}
    frame = pd.DataFrame(columns)
    return frame if index is None else frame.set_axis(index)


def _of_classes(proba: Any, classes: Array) -> Array:
    proba = np.asarray(proba, float)
    if proba.ndim != 2 or proba.shape[1] != len(classes):
        raise ValueError(f"Expected probabilities (row, {len(classes)}), one a class; got shape {proba.shape}")
    if (odd := ~(proba >= 0).all(axis=1)).any():
        row = int(odd.argmax())
        raise ValueError(f"Expected probabilities of 0 or more; got {proba[row].tolist()} in row {row}")
    return proba


def matrix_of(costs: Any, classes: Array) -> Array:
    """The costs as an array (class, decision), in the order of the classes."""
    if not isinstance(costs, pd.DataFrame):
        raise TypeError(
            "Expected costs as a DataFrame, its index the true classes and its columns the decisions; "
            f"got {type(costs).__name__}: write pd.DataFrame(costs, index=[classes], columns=[decisions])"
        )
    require_each(costs.index.tolist(), _plain(classes), "costs, index", "one row of costs for each class")
    if twice := repeated(costs.columns.tolist()):
        raise ValueError(f"costs: Expected each decision in one column; got {twice[0]!r} more than once")
    if costs.shape[1] == 0:
        raise ValueError("costs: Expected at least one column, a decision; got none")
    if odd := [name for name, column in costs.items() if not _numbers(column)]:
        raise TypeError(f"costs, decision {odd[0]!r}: Expected numbers; got {costs[odd[0]].tolist()!r}")
    place = {label: row for row, label in enumerate(costs.index.tolist())}
    cost_matrix = costs.to_numpy(float, na_value=np.nan)[[place[label] for label in _plain(classes)]]
    if not np.isfinite(cost_matrix).all():
        c, d = np.argwhere(~np.isfinite(cost_matrix))[0]
        raise ValueError(
            f"costs: Expected finite numbers; got {cost_matrix[c, d]} for the decision {costs.columns[d]!r} where "
            f"{_plain(classes)[c]!r} is true"
        )
    return cost_matrix


def _numbers(column: pd.Series) -> bool:
    return all(isinstance(cost, Real) or pd.isna(cost) for cost in column.tolist())


def _usable(reject_cost: Any, cost_matrix: Array) -> float:
    """The cost of not deciding, if it is a number and low enough that some row could be left undecided."""
    if not isinstance(reject_cost, Real) or isinstance(reject_cost, bool):
        raise TypeError(f"Expected reject_cost to be a finite number, or None to decide always; got {reject_cost!r}")
    if not np.isfinite(reject_cost):
        raise ValueError(f"Expected reject_cost to be a finite number, or None to decide always; got {reject_cost!r}")
    if reject_cost >= cost_matrix.max():
        raise ValueError(
            f"Expected reject_cost below the largest cost, {cost_matrix.max():g}; got {reject_cost:g}, at which every "
            "decision is at least as good as none, so that it would never be used: lower it or leave it out"
        )
    return float(reject_cost)


def smallest_set(proba: Array, classes: Array, mass: float = 0.9, index: Any = None) -> pd.DataFrame:
    """The smallest set of classes whose probability is at least ``mass``, for each row.

    Parameters
    ----------
    proba : array (row, class)
    classes : array (class,)
    mass : float
        Above 0 and at most 1. With 1, the set holds every possible class.
    index : optional
        The index of the result.

    Returns
    -------
    DataFrame of bool (row, class)
        Whether a class is in the set. The most probable classes are; of two equally probable ones, the earlier comes
        first. A set is never empty.

    Raises
    ------
    ValueError
        If ``mass`` is not above 0 and at most 1.

    Notes
    -----
    A set with 1e-12 less than the mass counts as large enough, because probabilities are rounded. The set is a
    credible set (Berger 1985, 4.3.2): if the model is right, it holds the true class as often as ``mass`` says.
    """
    proba = _of_classes(proba, classes)
    if not isinstance(mass, Real) or isinstance(mass, bool) or not 0 < mass <= 1:
        raise ValueError(f"Expected mass above 0 and at most 1, such as 0.9; got {mass!r}")
    if mass == 1:
        inside = proba > 0
    else:
        order = np.argsort(-proba, axis=1, kind="stable")
        ranked = np.take_along_axis(proba, order, axis=1)
        needed = np.ones(proba.shape, bool)
        needed[:, 1:] = ranked.cumsum(axis=1)[:, :-1] < mass - ROUNDING
        inside = np.zeros(proba.shape, bool)
        np.put_along_axis(inside, order, needed, axis=1)
    return pd.DataFrame(inside, index=index, columns=pd.Index(classes))


def estimate_class_prior(log_likelihood: Array, max_iter: int = 10_000, tol: float = 1e-6) -> tuple[Array, int]:
    """The class probabilities of new rows without labels, if the distribution within each class is as it was learned.

    Parameters
    ----------
    log_likelihood : array (row, class)
        log p(x | c, D). A constant added to a whole row changes nothing.
    max_iter : int
    tol : float
        EM stops when no other π could raise the objective by more than this, in nats. One standard error corresponds
        to half a nat.

    Returns
    -------
    prior : array (class,)
        The π that maximizes Σ_i log Σ_c π_c p(x_i | c, D).
    n_iter : int
        The number of steps. No step lowers the objective.

    Raises
    ------
    ImpossibleRowError
        If a row is impossible under every class.
    ValueError
        If there are no rows, or one has a NaN.

    Warns
    -----
    ConvergenceWarning
        If ``tol`` was not reached.

    Notes
    -----
    The estimate is right if only the class frequencies have changed (label shift), and not the rows within a class. π
    has no prior here, so the probability of a class that explains no row goes to 0. The objective is concave, and its
    slope in π_c is Σ_i p(x_i | c) / p(x_i | π). Therefore no π is better by more than the largest slope minus the
    number of rows, which is where the loop stops.

    References
    ----------
    Saerens, Latinne and Decaestecker (2002), Adjusting the outputs of a classifier to new a priori probabilities.
    """
    log_likelihood = np.asarray(log_likelihood, float)
    if log_likelihood.ndim != 2 or 0 in log_likelihood.shape:
        raise ValueError(
            "Expected log p(x | c) as (row, class), at least one row to estimate the class prior from; "
            f"got shape {log_likelihood.shape}"
        )
    if (odd := np.isnan(log_likelihood) | np.isposinf(log_likelihood)).any():
        row, c = np.argwhere(odd)[0]
        raise ValueError(f"Expected log p(x | c) below infinity; got {log_likelihood[row, c]} in row {row}, class {c}")
    if max_iter < 1:
        raise ValueError(f"Expected max_iter of at least 1; got {max_iter!r}")
    share = np.exp(normalize(log_likelihood))
    # The objective is concave, so any start leads to its maximum, except that a probability of 0 would stay 0.
    prior = np.full(log_likelihood.shape[1], 1 / log_likelihood.shape[1])
    for n_iter in range(1, max_iter + 1):
        slope = (1 / (share @ prior)) @ share / len(share)
        gap = len(share) * (slope.max() - 1)
        if gap <= tol:
            return prior, n_iter
        prior = prior * slope
        prior /= prior.sum()
    warn(
        f"EM for the class prior did not converge in {max_iter} steps: the log probability of all rows could still "
        f"rise by {gap:.1e}, more than tol={tol:g}; raise max_iter",
        ConvergenceWarning,
    )
    return prior, max_iter


def _plain(classes: Array) -> list[Any]:
    return np.asarray(classes).tolist()
