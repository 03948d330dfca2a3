"""How good the probabilities are: scores of predictions for rows that were not learned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from bayesnb.estimator import BayesianNB
from bayesnb.model import ESTIMATES, Estimate
from bayesnb.priors import Array, BoundaryError, ImproperError
from bayesnb.tables import Table


def scores(log_joint: Array, codes: Array, bins: int = 10) -> dict[str, float]:
    """Scores of the class probabilities that a log joint implies.

    Parameters
    ----------
    log_joint : array (row, class)
        log p(c, x); a row of -inf, impossible under every class, gives every class probability 0.
    codes : int array (row,)
        The true classes.
    bins : int
        Of the calibration error.

    Returns
    -------
    dict
        ``accuracy``; ``log_loss``, the mean of -log p(true class) in nats, infinite where that is 0 (no
        clipping); ``brier``, the mean of Σ_c (p_c - [c is true])², from 0 to 2 (Brier 1950); ``ece``, the
        expected calibration error of the most probable class over bins of equal width (Guo et al. 2017);
        ``impossible``, the number of impossible rows.
    """
    whole = logsumexp(log_joint, axis=1, keepdims=True)
    possible = ~np.isneginf(whole[:, 0])
    with np.errstate(invalid="ignore"):
        log_proba = np.where(possible[:, None], log_joint - whole, -np.inf)
    proba, row = np.exp(log_proba), np.arange(len(codes))
    truth = np.zeros_like(proba)
    truth[row, codes] = 1.0
    top, right = proba.max(axis=1), (proba.argmax(axis=1) == codes) & possible
    return {
        "accuracy": float(right.mean()),
        "log_loss": float(-log_proba[row, codes].mean()),
        "brier": float(((proba - truth) ** 2).sum(axis=1).mean()),
        "ece": calibration_error(top, right, bins),
        "impossible": int((~possible).sum()),
    }


def calibration_error(confidence: Array, right: Array, bins: int = 10) -> float:
    """Σ_bins share × |mean confidence - share right|, over bins of equal width (Guo et al. 2017, eq. 3)."""
    which = np.minimum((confidence * bins).astype(int), bins - 1)
    gap = np.bincount(which, confidence - right, minlength=bins)
    return float(np.abs(gap).sum() / len(confidence))


type Held = dict[Estimate, Array | str]


def held_out(clf: BayesianNB, X: Any, y: Any, cv: int | Literal["loo"] = "loo") -> tuple[Held, Array, Array]:
    """log p(c, x) of every row by a model that has not learned it, for each estimate.

    Parameters
    ----------
    clf : BayesianNB
        What to fit; its own ``estimate`` does not matter.
    X, y
        A table and its labels.
    cv : "loo" or int
        Exact leave-one-out, or the number of stratified folds (shuffled, always in the same way).

    Returns
    -------
    log_joint : {estimate: array (row, class)}
        Or a sentence that says why there is none.
    codes : int array (row,)
    classes : array (class,)
    """
    X, y = Table.of(X), np.asarray(y)
    whole = clone(clf).set_params(estimate="predictive").fit(X, y)
    if cv == "loo":
        answers: Held = {}
        for estimate in ESTIMATES:
            try:
                answers[estimate], codes = whole._left_out(X, y, None, estimate)
            except (BoundaryError, ImproperError) as error:
                answers[estimate] = str(error)
        return answers, codes, whole.classes_
    smallest = int(whole.class_count_.min())
    if not 2 <= cv <= smallest:
        raise ValueError(
            f"Expected between 2 folds and as many as the smallest class has rows ({smallest}); got {cv}. "
            "Leave-one-out has no such limit"
        )
    codes = np.searchsorted(whole.classes_, y)
    answers = {estimate: np.full((len(codes), len(whole.classes_)), np.nan) for estimate in ESTIMATES}
    for _, test in StratifiedKFold(cv, shuffle=True, random_state=0).split(codes, codes):
        held = np.isin(np.arange(len(codes)), test)
        part = clone(whole).fit(X.rows(~held), y[~held])
        data, n = part._encoded(X.rows(held))
        for estimate, answer in answers.items():
            if isinstance(answer, str):
                continue
            try:
                answer[test] = part.posterior_.log_joint(data, n, estimate)
            except (BoundaryError, ImproperError) as error:
                answers[estimate] = str(error)
    return answers, codes, whole.classes_


def compare_estimates(clf: BayesianNB, X: Any, y: Any, cv: int | Literal["loo"] = "loo") -> pd.DataFrame:
    """One row an estimate: its scores on held-out rows, and how far it is from the predictive.

    Returns
    -------
    DataFrame (estimate, ...)
        The columns of :func:`scores`; ``from_predictive``, the largest difference of a class probability
        from the fully Bayesian one; ``note``, why an estimate does not exist on these data.
    """
    answers, codes, _ = held_out(clf, X, y, cv)
    return pd.DataFrame({name: _one(name, answers, codes) for name in answers}).T.rename_axis("estimate")


def _one(name: Estimate, answers: Mapping[Estimate, Array | str], codes: Array) -> dict[str, Any]:
    answer, predictive = answers[name], answers["predictive"]
    if isinstance(answer, str):
        return {"note": answer}
    found: dict[str, Any] = dict(scores(answer, codes))
    if not isinstance(predictive, str):
        found["from_predictive"] = float(np.abs(_proba(answer) - _proba(predictive)).max())
    return found | {"note": ""}


def _proba(log_joint: Array) -> Array:
    whole = logsumexp(log_joint, axis=1, keepdims=True)
    return np.exp(log_joint - np.where(np.isneginf(whole), 0.0, whole))
