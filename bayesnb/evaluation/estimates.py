"""Compare four estimates of naive Bayes (MLE, MAP, posterior mean, full Bayes), and models with dependence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from operator import methodcaller
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from bayesnb import learning
from bayesnb.data.rows import given_beside
from bayesnb.data.tables import Table
from bayesnb.dependence.exponents import NAMED, DependenceName, Exponents, named
from bayesnb.dependence.learning import FEW, FOLDS, WEIGHTED
from bayesnb.evaluation.compared import Comparison, table_of
from bayesnb.evaluation.folds import answers_of, few_folds, folds_of, some_rows, true_classes
from bayesnb.inference.draws import probability_of_interval
from bayesnb.inference.scorecard import HeldOut
from bayesnb.learning import EstimatorParameters
from bayesnb.model import ESTIMATES
from bayesnb.priors import Array
from bayesnb.progress import Progress
from bayesnb.wording import RefusedError

if TYPE_CHECKING:
    from bayesnb.estimator import BayesianNB

MOST_SCORED = 20_000
"""Largest number of scored rows, for which the accuracy has a standard error below 0.004."""

TWO_FOLDS = 2 * Exponents().rows
"""With at least this number of rows, a dependence is scored by two folds: exponents use at most half of the rows."""

AVERAGES = [name for name, spec in NAMED.items() if spec.average]


def compare_estimates(
    clf: BayesianNB,
    X: Any,
    y: Any,
    cv: int | Literal["loo"] = "loo",
    dependence: Sequence[DependenceName] = ("weighted", "pairwise"),
    rows: int | None = MOST_SCORED,
    random_state: int = 0,
) -> pd.DataFrame:
    """Score each estimate of naive Bayes, and each model with dependence, on held-out rows.

    Parameters
    ----------
    clf : BayesianNB
        A model, fitted or not; its ``estimate`` and ``dependence`` are replaced.
    X, y
        As in :func:`bayesnb.evaluate`.
    cv : int or "loo"
        Score by this many folds, or by exact leave-one-out.
    dependence : sequence of {"auto", "auto-counts", "tempered", "weighted", "pairwise"}
        The dependences to compare with the estimates, by 5-fold cross-validation, or 2-fold with 65,536 rows or more.
        If at most a fifth of all rows is scored, each dependence is fitted once, to the rows that are not scored. With
        up to 600 rows, "auto" and "auto-counts" are fitted once, and scored by the held-out predictions that also
        determine the weights of the averaged models.
    rows : int, or None for all
        Score at most this number of rows, drawn at random. Each fit also uses the rows that are not scored.
    random_state : int
        Seed of the random draw of rows.

    Returns
    -------
    DataFrame (estimate, ...)
        The columns of :func:`scores`, and the interval of the accuracy, ``accuracy_lower`` to ``accuracy_upper``;
        ``difference``, the mean log loss minus the smallest mean log loss, and ``se_difference``, its standard error
        from paired rows; ``from_predictive``, the largest difference of a class probability from full Bayes;
        ``regret``, the expected increase in log loss of a plug-in over full Bayes, in nats per row; ``note``, why a
        model has no scores, or is scored in another way.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesnb import BayesianNB
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(2, size=300)
    >>> x = rng.normal(y)
    >>> copies = {f"copy {k}": x for k in range(5)}
    >>> found = compare_estimates(BayesianNB(), copies, y, dependence=("tempered",))
    >>> found[["log_loss", "difference", "se_difference"]].astype(float).round(2)
                log_loss  difference  se_difference
    estimate
    mle             1.14        0.60           0.14
    map             1.12        0.58           0.13
    mean            1.13        0.59           0.13
    predictive      1.11        0.57           0.13
    tempered        0.54        0.00           0.00
    """
    return comparison(clf, X, y, cv, dependence, rows, random_state).table


def comparison(
    clf: BayesianNB, X: Any, y: Any, cv: int | Literal["loo"] = "loo",
    dependence: Sequence[DependenceName] = ("weighted", "pairwise"), rows: int | None = MOST_SCORED,
    random_state: int = 0, prob: float | None = None, default: Any = None,
) -> Comparison:  # fmt: skip
    """Like :func:`compare_estimates`; the result also has a scorecard of each model (:meth:`Comparison.card`).

    Parameters
    ----------
    clf, X, y, cv, dependence, rows, random_state
        As for :func:`compare_estimates`.
    prob : float, optional
        Probability of the intervals; ArviZ's ``stats.ci_prob`` (0.89) by default.
    default : str, optional
        The estimate or dependence to recommend if no other is clearly better; by default the setting of ``clf``.
    """
    plain = EstimatorParameters.of(clf, estimate="predictive", dependence=None)
    y, X = given_beside(X, {"y": y})
    table = Table.of(X)
    codes = true_classes(plain, y, table.n_rows).codes
    scored = drawn(table, codes, rows, random_state)
    by = _folds_of_a_dependence(codes, scored) if cv == "loo" else cv
    n = None if scored is None else len(scored)
    how = dict.fromkeys(ESTIMATES, HeldOut(cv, n)) | dict.fromkeys(dependence, HeldOut(by, n if by == cv else None))
    answers: dict[Any, Array] = {}
    absent: dict[Any, Exception] = {}
    with Progress("scoring") as progress:
        progress.total(1 + len(ESTIMATES) + len(dependence), "models")
        folds, target = folds_of(plain, X, y, cv, scored)
        classes = folds[0].fitted.classes_
        progress.add(1)
        for estimate in ESTIMATES:
            try:
                answers[estimate], codes = answers_of(folds, target, methodcaller("with_estimate", estimate))
            except RefusedError as error:
                absent[estimate] = error
            progress.add(1)
        # The folds of an average contain its member "weighted", so averages come first.
        for name in sorted(dependence, key=lambda name: name not in AVERAGES):
            try:
                # Predictions integrate over Normals, so the draws of the exponents are not needed.
                other = replace(plain, dependence=replace(named(name), draws=1))
                inside = _answers_inside(other, X, y, codes) if by == FOLDS and scored is None else None
                if inside is not None:
                    answers[name], how[name] = inside, HeldOut("inside")
                elif name not in answers:
                    folds, target = folds_of(other, X, y, by, scored)
                    answers[name], codes = answers_of(folds, target)
                    if name in AVERAGES and WEIGHTED in dependence and WEIGHTED not in answers:
                        answers[WEIGHTED], _ = answers_of(folds, target, _weighted)
            except ValueError as error:
                absent[name] = error
            progress.add(1)
    prob = probability_of_interval(prob)
    notes = {name: str(error) for name, error in absent.items()}
    notes |= {name: f"scored by {how[name]}, because exponents learn from the labels" for name in dependence
              if by != cv and name in answers}  # fmt: skip
    found = table_of(how, answers, codes, prob, notes)
    if default is None:
        default = getattr(clf, "dependence", None) or clf.estimate
    default = default if default in how else "predictive"
    return Comparison(found, how, answers, absent, codes, classes, prob, default, scored)


def _weighted(fitted: Any) -> Any:
    return fitted.with_dependence(fitted.dependence.of_member(WEIGHTED))


def drawn(table: Table, codes: Array, rows: int | None, seed: int) -> Array | None:
    """Sorted positions of ``rows`` rows drawn at random, or None if all rows are used."""
    if rows is not None and rows < 1:
        raise ValueError(f"Expected rows to be 1 or more, or None for all of them; got {rows!r}")
    return None if rows is None or rows >= table.n_rows else some_rows(table, codes, rows, seed)


def _folds_of_a_dependence(codes: Array, scored: Array | None) -> int | Literal["once"]:
    if scored is not None and 5 * len(scored) <= len(codes):
        return "once"
    return min(few_folds(codes), 2 if len(codes) >= TWO_FOLDS else 5)


def _answers_inside(asked: EstimatorParameters, X: Any, y: Any, codes: Array) -> Array | None:
    """Held-out log p(c | x), (row, class), of a model average that computes it in the fit; otherwise ``None``."""
    if not named(asked.dependence).average or len(codes) > FEW:
        return None
    return learning.fitted(asked, X, y).dependence.held_out
