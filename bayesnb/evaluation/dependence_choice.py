"""Choose a dependence for a table by held-out rows: what the command line calls ``--dependence auto``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from bayesnb.data.tables import Table
from bayesnb.dependence.exponents import NoExponentsError
from bayesnb.evaluation.estimates import drawn
from bayesnb.evaluation.folds import answers_of, few_folds, folds_of, rows_at, true_classes
from bayesnb.inference.scoring import log_proba_of, own
from bayesnb.learning import Parameters
from bayesnb.priors import Array, ImproperError

ROWS = 4096
"""Rows that decide at most, drawn at random."""

MOST_COLUMNS = 40
"""With more columns, terms of pairs are not tried."""

CELLS = 5_000
"""With more cells, two folds decide instead of five."""


@dataclass(frozen=True)
class DependenceChoice:
    """The dependence chosen for a table.

    Parameters
    ----------
    dependence : {None, "weighted", "pairwise"}
    losses : {dependence: log loss of a row that was left out}
        Of those that were tried.
    refused : str
        Why no more were tried, if no exponents can be learned from the table.
    """

    dependence: str | None
    losses: dict[str | None, float]
    refused: str = ""

    def __str__(self) -> str:
        refused = f" (others cannot be learned: {self.refused})" if self.refused else ""
        return f"{self._found()}{refused}"

    def _found(self) -> str:
        cost = {name: f"{loss:.3f}" for name, loss in self.losses.items()}
        if not cost:
            return "dependence between columns was not looked at"
        if self.dependence is not None:
            return (
                f'a row that was left out costs {cost[self.dependence]} nats with dependence="{self.dependence}", '
                f"and {cost[None]} where columns are independent given the class"
            )
        others = "".join(f', {cost[name]} with dependence="{name}"' for name in cost if name is not None)
        return f"independent columns predict best: a row that was left out costs {cost[None]} nats{others}"


def choose_dependence(clf: Any, X: Any, y: Any) -> DependenceChoice:
    """Choose the dependence that best predicts held-out rows.

    The simplest model is taken that is within one standard error of a better one: from independent columns to
    exponents ("weighted"), and from these to terms of pairs ("pairwise").

    Parameters
    ----------
    clf : BayesianNB or Parameters
        Only its parameters count, and of these not ``estimate`` and ``dependence``.
    X : table
    y : array (row,)

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> print(choose_dependence(BayesianNB(), *datasets.penguins()))
    a row that was left out costs 0.010 nats with dependence="pairwise", and 0.070 where columns are independent given
    the class
    >>> choose_dependence(BayesianNB(), *datasets.play_tennis()).dependence is None
    True
    """
    plain = Parameters.of(clf, estimate="predictive", dependence=None, class_prior=None)
    table = Table.of(X)
    if (some := drawn(table.n_rows, ROWS, 0)) is not None:
        table, y = rows_at(table, some), y.iloc[some] if isinstance(y, pd.Series) else np.asarray(y)[some]
    codes = true_classes(plain, y, table.n_rows).codes
    kept = np.bincount(codes)[codes] > 1
    table, y, codes = rows_at(table, np.flatnonzero(kept)), np.asarray(y)[kept], codes[kept]
    classes, columns = np.unique(codes, return_inverse=True)[1], len(table.names)
    if columns < 2 or not len(codes) or classes.max() == 0:
        return DependenceChoice(None, {})
    folds = 2 if len(codes) * columns > CELLS else few_folds(classes)
    log_p: dict[str | None, Any] = {}
    best, refused = None, ""
    for name in (None, "weighted", *(["pairwise"] if columns <= MOST_COLUMNS else [])):
        try:
            answers, target = answers_of(*folds_of(replace(plain, dependence=name), table, y, _dealt(classes, folds)))
        except (NoExponentsError, ImproperError) as error:
            refused = str(error)
            break
        log_p[name] = own(log_proba_of(answers), target)
        gap = log_p[name] - log_p[best]
        if np.isinf(log_p[best]).any() or gap.mean() > gap.std() / np.sqrt(len(gap)):
            best = name
    return DependenceChoice(best, {name: -float(terms.mean()) for name, terms in log_p.items()}, refused)


def _dealt(codes: Array, folds: int) -> Array:
    """The fold of each row: the rows of each class are shuffled and dealt like cards, always in the same way."""
    order = np.random.default_rng(0).permutation(len(codes))
    fold = np.empty(len(codes), int)
    fold[order[np.argsort(codes[order], kind="stable")]] = np.arange(len(codes)) % folds
    return fold
