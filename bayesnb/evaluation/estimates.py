"""The four estimates of one naive Bayes model side by side, and what exponents and pairs make of it.

Start with :func:`compare_estimates`, a table, or with :func:`comparison`, which also explains it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import methodcaller
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from bayesnb.data.tables import Table
from bayesnb.dependence.exponents import DependenceName, Exponents
from bayesnb.evaluation.folds import answers_of, few_folds, folds_of, true_classes
from bayesnb.inference.draws import probability_of_interval
from bayesnb.inference.price import expected_losses, prices
from bayesnb.inference.scorecard import Scorecard, nats, scorecard_of
from bayesnb.inference.scoring import log_proba_of, own, scores, share_interval
from bayesnb.learning import Parameters
from bayesnb.model import ESTIMATES
from bayesnb.priors import Array, BoundaryError, ImproperError
from bayesnb.progress import Progress

if TYPE_CHECKING:
    from bayesnb.estimator import BayesianNB

MOST_SCORED = 20_000
"""Rows that are scored by default; of more, as many are drawn at random. The accuracy's sd is then below 0.004."""

TWO_FOLDS = 2 * Exponents().rows
"""From so many rows on, two folds score a dependence: half of the rows is as many as exponents learn from anyway."""

LEAST = 0.0005
"""The nats a row that one line of the table is ahead of another at least, if it is to be taken instead."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """The estimates of one model on the same held-out rows, and the dependences beside them.

    Parameters
    ----------
    table : DataFrame
        As :func:`compare_estimates` returns it.
    how : str
        How the rows of the estimates were held out.
    answers : {name: log p(c, x) as (row, class)}
        Without those that do not exist.
    codes : int array (row,)
    classes : array (class,)
    prob : float
        The probability of the intervals.
    """

    table: pd.DataFrame
    how: str
    answers: Mapping[str, Array]
    codes: Array
    classes: Array
    prob: float

    def card(self, name: Any = "predictive") -> Scorecard:
        """The scorecard of an estimate or a dependence, which says how its rows were held out."""
        note = self.table.loc[name, "note"]
        how = note.partition(",")[0].removeprefix("scored by ") if note else self.how
        return scorecard_of(self.answers[name], self.codes, self.classes, self.prob, how=how)

    @property
    def best(self) -> Any:
        """The estimate or dependence of the smallest log loss."""
        return self.table["difference"].astype(float).idxmin()

    @property
    def worse(self) -> list[Any]:
        """What is credibly worse than the best: by more than two standard errors of the paired difference.

        A difference of the size of rounding is none.
        """
        gap, se = (self.table[name].astype(float) for name in ("difference", "se_difference"))
        return [*gap.index[_credible(gap, se)]]

    def take(self, name: Any = "predictive") -> Any:
        """Which line of the table to take: the one that is named, unless the best is credibly better.

        A plug-in that would call impossible what may come, and so has an infinite price, is not taken for another.
        """
        sound = [each for each in self.answers if self.table.loc[each].get("price", 0) != np.inf]
        best = self.table.loc[sound, "difference"].astype(float).idxmin() if sound else self.best
        if name not in self.answers:
            return best
        gap, se = self._behind(name, best)
        return best if _credible(gap, se) and gap >= LEAST else name

    def _behind(self, name: Any, other: Any) -> tuple[float, float]:
        """By how much more a row costs with one than with another, on average, and the standard error of that."""
        gap = minus(*(own(log_proba_of(self.answers[each]), self.codes) for each in (other, name)))
        return float(gap.mean()), standard_error(gap) / len(gap)

    def price(self, name: Any) -> str:
        """What an estimate costs beside full Bayes, if the model is right and by the rows that were left out."""
        more, error = self._behind(name, "predictive")
        by_rows = f"{more:+.3f} ± {error:.3f} nats" if np.isfinite(more) else "infinitely much"
        price = float(self.table.loc[name, "price"])
        by_model = f"{price:.3f} nats" if np.isfinite(price) else "infinitely much"
        costs = f"{name} costs {by_model} a row more than full Bayes, if the model is right"
        return f"{costs}, and {by_rows} more on rows that were left out"

    def advice(self, name: Any = "predictive") -> str:
        """Which line of the table to take instead of the one that is named, in a sentence or two."""
        take = self.take(name)
        cost, _, _, claimed, shares, _ = self.card(take).table.loc["log_loss"]
        text = f"Take {_written(take)}: "
        other = self.best if take == name else take
        gap, se = self._behind(name, other) if name in self.answers else (np.inf, np.inf)
        if take != name:
            less = f"{gap:.3f} ± {se:.3f} less than with {_written(name)}" if np.isfinite(gap) else "finitely many"
            text += f"a row costs {nats(cost)} nats (it claims {nats(claimed)}), {less}."
        elif _credible(gap, se) and gap >= LEAST:
            text += f"{other} costs {gap:.3f} ± {se:.3f} nats less, but calls impossible what no row has held so far."
        else:
            text += "no other line of the table is credibly better."
        return text if cost < shares else f"{text} A row costs no less with it than with the class shares."

    @property
    def sentence(self) -> str:
        """What the scores say of full Bayes, and which line of the table to take."""
        return self.sentence_of("predictive")

    def sentence_of(self, name: Any) -> str:
        """What the scores of an estimate or a dependence say, and which line of the table to take instead."""
        return f"{self.card(name).sentence} {self.advice(name)}"


def _credible(gap: Any, se: Any) -> Any:
    """Whether a paired difference is credible: by more than two standard errors, or without a bound."""
    return (gap == np.inf) | (gap > np.maximum(2 * se, 1e-9))


def _written(name: Any) -> str:
    """An estimate or a dependence as it is written in Python."""
    what = "estimate" if name in ESTIMATES else "dependence"
    return f'{what}="{name}"' if isinstance(name, str) else f"{what}={name!r}"


def compare_estimates(
    clf: BayesianNB,
    X: Any,
    y: Any,
    cv: int | Literal["loo"] = "loo",
    dependence: Sequence[DependenceName] = ("weighted", "pairwise"),
    rows: int | None = MOST_SCORED,
    random_state: int = 0,
) -> pd.DataFrame:
    """One row an estimate of naive Bayes, and one a dependence: its scores on held-out rows.

    Parameters
    ----------
    clf : BayesianNB
        Only its parameters count, and of these not ``estimate`` and ``dependence``.
    X, y
        As in :func:`bayesnb.evaluate`.
    cv : int or "loo"
        Score by this many folds, or by exact leave-one-out.
    dependence : sequence of {"auto", "tempered", "weighted", "pairwise"}
        Which of them to set beside the estimates. With "loo" they are scored by folds, because exponents learn from the
        labels: five; two of 65,536 rows or more, where half of the rows is as many as exponents learn from; and where
        the rows that are scored are at most a fifth of all, they are held out once. Each costs as many fits.
    rows : int, or None for all
        Score at most so many rows, drawn at random. All are learned.
    random_state : int
        Seed of that draw.

    Returns
    -------
    DataFrame (estimate, ...)
        The columns of :func:`scores`, and the interval of the accuracy, ``accuracy_lower`` to ``accuracy_upper``;
        ``difference``, by how much the log loss of a row is larger than that of the best estimate, on average, and its
        standard error ``se_difference``, from the differences of the same rows; ``from_predictive``, the largest
        difference of a class probability from the fully Bayesian one of naive Bayes; ``price``, how much more than full
        Bayes an estimate costs a row, in nats, if the model is right (:func:`bayesnb.design.plug_in_price`); ``note``,
        why an estimate does not exist on these data.

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
    clf: BayesianNB,
    X: Any,
    y: Any,
    cv: int | Literal["loo"] = "loo",
    dependence: Sequence[DependenceName] = ("weighted", "pairwise"),
    rows: int | None = MOST_SCORED,
    random_state: int = 0,
    prob: float | None = None,
) -> Comparison:
    """What :func:`compare_estimates` compares, with the scorecard of each estimate.

    Parameters
    ----------
    clf, X, y, cv, dependence, rows, random_state
        As for :func:`compare_estimates`.
    prob : float, optional
        Probability of the intervals; ArviZ's ``stats.ci_prob`` (0.89) by default.
    """
    plain = Parameters.of(clf, estimate="predictive", dependence=None)
    codes = true_classes(plain, y, Table.of(X).n_rows).codes
    scored = drawn(len(codes), rows, random_state)
    by = _folds_of_a_dependence(codes, scored) if cv == "loo" else cv
    answers: dict[str, Array | str] = {}
    with Progress("scoring") as progress:
        progress.total(1 + len(ESTIMATES) + len(dependence), "models")
        folds, target = folds_of(plain, X, y, cv, scored)
        classes = folds[0].fitted.classes_
        progress.add(1)
        for estimate in ESTIMATES:
            try:
                answers[estimate], codes = answers_of(folds, target, methodcaller("with_estimate", estimate))
            except (BoundaryError, ImproperError) as error:
                answers[estimate] = str(error)
            progress.add(1)
        for name in dependence:
            try:
                answers[name], codes = answers_of(*folds_of(replace(plain, dependence=name), X, y, by, scored))
            except ValueError as error:
                answers[name] = str(error)
            progress.add(1)
    prob = probability_of_interval(prob)
    found = pd.DataFrame({name: _one(name, answers, codes, prob) for name in answers}).T.rename_axis("estimate")
    there = {name: answer for name, answer in answers.items() if not isinstance(answer, str)}
    found = _with_differences(found, there, codes)
    if by != cv:
        learned = [name for name in dependence if not found.loc[name, "note"]]
        folds_said = "one fit without them" if by == "once" else f"{by} folds"
        found.loc[learned, "note"] = f"scored by {folds_said}, because exponents learn from the labels"
    how = "exact leave-one-out" if cv == "loo" else f"{cv}-fold cross-validation"
    if scored is not None:
        how += f" of {len(scored):,} rows drawn at random"
    return Comparison(found, how, there, codes, classes, prob)


def drawn(n: int, rows: int | None, seed: int) -> Array | None:
    """Sorted positions of rows drawn at random; None for all of them."""
    if rows is not None and rows < 1:
        raise ValueError(f"Expected rows to be 1 or more, or None for all of them; got {rows!r}")
    if rows is None or rows >= n:
        return None
    return np.sort(np.random.default_rng(seed).choice(n, rows, replace=False))


def _folds_of_a_dependence(codes: Array, scored: Array | None) -> int | Literal["once"]:
    """How to hold rows out from exponents: with few fits where there are many rows."""
    if scored is not None and 5 * len(scored) <= len(codes):
        return "once"
    return min(few_folds(codes), 2 if len(codes) >= TWO_FOLDS else 5)


def _one(name: str, answers: Mapping[str, Array | str], codes: Array, prob: float) -> dict[str, Any]:
    answer, predictive = answers[name], answers["predictive"]
    if isinstance(answer, str):
        return {"note": answer}
    columns: dict[str, Any] = {}
    for score, value in scores(answer, codes).items():
        columns[score] = value
        if score == "accuracy":
            ends = share_interval(round(value * len(codes)), len(codes), prob)
            columns["accuracy_lower"], columns["accuracy_upper"] = map(float, ends)
    columns["difference"] = columns["se_difference"] = np.nan
    if not isinstance(predictive, str):
        stated, full = (np.exp(log_proba_of(each)) for each in (answer, predictive))
        columns["from_predictive"] = float(np.abs(stated - full).max())
        if name in ESTIMATES:
            columns["price"] = float(prices(stated, full, expected_losses("log loss")).mean())
    return columns | {"note": ""}


def _with_differences(found: pd.DataFrame, answers: Mapping[str, Array], codes: Array) -> pd.DataFrame:
    """The table with the mean difference of each log loss from the smallest, paired row by row."""
    log_p = {name: own(log_proba_of(answer), codes) for name, answer in answers.items()}
    if not log_p:
        return found
    best = max(log_p.values(), key=lambda terms: terms.sum())
    for name, terms in log_p.items():
        found.loc[name, "difference"] = float(minus(best.mean(), terms.mean()))
        found.loc[name, "se_difference"] = standard_error(minus(best, terms)) / len(terms)
    return found


def minus(a: Any, b: Any) -> Array:
    """a - b, and 0 where both are the same infinity."""
    return np.subtract(a, b, out=np.zeros(np.shape(a)), where=np.not_equal(a, b))


def standard_error(terms: Array) -> float:
    """The standard error of a sum of terms over rows, √(n var); infinite if a term is."""
    return float(np.sqrt(len(terms) * np.var(terms))) if np.isfinite(terms).all() else np.inf
