"""Compare the four estimates of one naive Bayes model, and models with exponents and pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from operator import methodcaller
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from bayesnb import learning
from bayesnb.data.rows import few_rows
from bayesnb.data.tables import Table
from bayesnb.dependence.exponents import NAMED, DependenceName, Exponents, named
from bayesnb.dependence.learning import FEW, FOLDS, WEIGHTED
from bayesnb.evaluation.folds import answers_of, few_folds, folds_of, true_classes
from bayesnb.inference.draws import probability_of_interval
from bayesnb.inference.regret import expected_losses, regrets
from bayesnb.inference.scorecard import HeldOut, Scorecard, nats, scorecard_of
from bayesnb.inference.scoring import log_proba_of, own, scores, share_interval
from bayesnb.learning import EstimatorParameters
from bayesnb.model import ESTIMATES, ImpossibleRowError
from bayesnb.priors import Array, BoundaryError, ImproperError
from bayesnb.progress import Progress
from bayesnb.wording import Cure, Message, RefusedError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bayesnb.estimator import BayesianNB
    from bayesnb.inference.classifier import Classifier

MOST_SCORED = 20_000
"""Largest number of rows to score by default, drawn at random. The sd of the accuracy is then below 0.004."""

TWO_FOLDS = 2 * Exponents().rows
"""Number of rows from which a dependence is scored by two folds, because exponents learn from half of them at most."""

LEAST = 0.0005
"""Smallest improvement in log loss, in nats per row, for which another line is recommended."""


AVERAGES = [name for name, spec in NAMED.items() if spec.average]

SHOWN = {"log_loss": "Log loss", "brier": "Brier", "accuracy": "Accuracy"}
"""The scores of a table or picture of a comparison, and their titles."""


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Naive Bayes under each estimate, and models with dependence, compared on the same held-out rows.

    ``table`` is the result of :func:`compare_estimates`. The keys of ``how``, ``answers`` and ``absent`` are the row
    names of ``table``. ``how`` describes how rows were held out. ``answers`` holds log p(c, x), (row, class).
    ``absent`` holds the error of each model that failed. ``prob`` is the probability of the intervals. ``default`` is
    recommended unless another model is clearly better. ``scored`` are the positions of the scored rows.
    """

    table: pd.DataFrame
    how: Mapping[Any, HeldOut]
    answers: Mapping[Any, Array]
    absent: Mapping[Any, Exception]
    codes: Array
    classes: Array
    prob: float
    default: Any
    scored: Array | None = None

    @property
    def most_surprising(self) -> int:
        """The position of the held-out row whose true class is least probable under naive Bayes."""
        # Plug-ins give probability 0 to the classes of many rows, and the first of these is no more surprising.
        answer = self.answers.get("predictive", next(iter(self.answers.values())))
        row = int(own(log_proba_of(answer), self.codes).argmin())
        return row if self.scored is None else int(self.scored[row])

    def card(self, name: Any = None) -> Scorecard:
        """The scorecard of the estimate or dependence ``name`` (default: the recommended model)."""
        name = self.recommended if name is None else name
        return scorecard_of(self.answers[name], self.codes, self.classes, self.prob, how=self.how[name])

    @property
    def best(self) -> Any:
        return self.table["difference"].astype(float).idxmin()

    @property
    def worse(self) -> list[Any]:
        """The estimates and dependences whose log loss exceeds the minimum by more than two standard errors."""
        gap, se = (self.table[name].astype(float) for name in ("difference", "se_difference"))
        return [*gap.index[_credible(gap, se)]]

    @property
    def recommended(self) -> Any:
        """The best of the estimates and dependences that are clearly better than the default; if there are none, the
        default.

        Clearly better means a log loss that is smaller by more than two standard errors, and by at least 0.0005 nats
        per row. A plug-in with infinite regret is never recommended, unless it is the default.
        """
        sound = [each for each in self.answers if self.table.loc[each].get("regret", 0) != np.inf]
        if self.default in self.answers:
            sound = [each for each in sound if self._clearly_better(each, self.default)]
        if not sound:
            return self.default
        return self.table.loc[sound, "difference"].astype(float).idxmin()

    def _clearly_better(self, name: Any, other: Any) -> bool:
        gap, se = self._behind(other, name)
        return bool(_credible(gap, se) and gap >= LEAST)

    def _behind(self, name: Any, other: Any) -> tuple[float, float]:
        gap = minus(*(own(log_proba_of(self.answers[each]), self.codes) for each in (other, name)))
        return float(gap.mean()), standard_error(gap) / len(gap)

    def never(self, name: Any) -> int:
        """The number of held-out rows to whose class a model gave probability 0."""
        return int(np.isneginf(own(log_proba_of(self.answers[name]), self.codes)).sum())

    def regret(self, name: Any) -> Message:
        """A plug-in's excess log loss over full Bayes: on held-out rows, and expected if the model is right."""
        gap, se = self._behind(name, "predictive")
        regret = float(self.table.loc[name, "regret"])
        never = self.never(name)
        way = "higher" if gap > 0 else "lower"
        held = Message(
            "has a {way} log loss than full Bayes on held-out rows, by {gap:.3f} ± {se:.3f}",
            way=way,
            gap=abs(gap),
            se=se,
        )
        if never:
            held = Message(
                "gave probability 0 to the class of {k:,} of {n:,} held-out rows", k=never, n=len(self.codes)
            )
        expected = Message("if the model is right, its regret is {regret:.3f} nats per row", regret=regret)
        if regret == np.inf:
            expected = Message("its worst case is unbounded, because it gives some values probability 0")
        return Message("{name} {held}; {expected}.", name=name, held=held, expected=expected)

    @property
    def recommendation(self) -> Message:
        name, kept = self.recommended, self.recommended == self.default
        loss, _, _, claimed, shares, _ = self.card(name).table.loc["log_loss"]
        known = {"name": _cure(name), "default": _cure(self.default), "loss": nats(loss), "claimed": nats(claimed)}
        text = "Recommended: {name}. Its log loss is {loss} (it expected {claimed})"
        gap, se = self._behind(self.default, self.best if kept else name) if self.default in self.answers else (0, 0)
        if kept:
            text, known = "Keep {name}: ", known | {"other": _cure(self.best)}
            if self._clearly_better(self.best, name):
                text += "{other} is better by {gap:.3f} ± {se:.3f}, but gives probability 0 to values not seen so far."
            else:
                ahead = " ({other} is ahead by {gap:.3f} ± {se:.3f}, less than two standard errors)"
                text += f"no other model is clearly better{ahead if gap >= LEAST else ''}."
        elif self.default not in self.answers:
            text += "; {default} cannot be scored."
        elif np.isfinite(gap):
            text += ", better than {default} by {gap:.3f} ± {se:.3f}."
        else:
            text += "; {default} gave probability 0 to the class of a row."
        more = "" if loss < shares else " Its log loss is no lower than that of the class frequencies."
        return Message(text + more, **known, gap=gap, se=se)

    @property
    def finding(self) -> Message:
        """The scores of the recommended model, and the reason for the recommendation."""
        return Message("{recommendation} {scores}", scores=self.card().finding, recommendation=self.recommendation)

    @property
    def sentence(self) -> str:
        return str(self.finding)

    def to_frame(self) -> pd.DataFrame:
        """The results as a flat frame for publication, one row per estimate or dependence.

        Returns
        -------
        DataFrame (estimate, ...)
            ``log_loss``, ``brier`` and ``accuracy``, each with an interval of probability ``attrs["prob"]``, from
            ``…_lower`` to ``…_upper``. ``difference``, ``se_difference`` and ``regret`` are as in
            :func:`compare_estimates`. ``impossible`` is the number of held-out rows whose class has probability 0.

        Examples
        --------
        >>> from bayesnb import BayesianNB, datasets
        >>> from bayesnb.evaluation import comparison
        >>> found = comparison(BayesianNB(), *datasets.play_tennis(), dependence=())
        >>> found.to_frame()[["log_loss", "regret", "impossible"]].round(2)
                    log_loss  regret  impossible
        estimate
        mle              inf     inf         1.0
        map              inf     inf         1.0
        mean            0.74     0.0         0.0
        predictive      0.74     0.0         0.0
        """
        lines = {}
        for name in self.table.index:
            if name not in self.answers:
                lines[name] = {}
                continue
            card, line = self.card(name).table, self.table.loc[name]
            ends = {"": "value", "_lower": "lower", "_upper": "upper"}
            lines[name] = {f"{s}{end}": float(card.loc[s, column]) for s in SHOWN for end, column in ends.items()}
            lines[name] |= {key: float(line[key]) for key in ("difference", "se_difference")}
            lines[name]["regret"] = float(line.get("regret", np.nan))
            lines[name]["impossible"] = float(self.never(name))
        frame = pd.DataFrame.from_dict(lines, orient="index").rename_axis("estimate")
        frame.attrs["prob"] = self.prob
        return frame

    def _cells(self) -> pd.DataFrame:
        def number(value: float) -> str:
            return "∞" if value == np.inf else f"{value:.3f}"

        frame, found = self.to_frame(), {}
        for score, title in SHOWN.items():
            each = zip(*(frame[f"{score}{end}"] for end in ("", "_lower", "_upper")), strict=True)
            found[title] = [
                number(v) if v == np.inf else f"{number(v)} ({number(low)}–{number(high)})" for v, low, high in each
            ]
        each = zip(frame["difference"], frame["se_difference"], strict=True)
        found["Difference"] = [number(v) if v in (0, np.inf) else f"{number(v)} ± {number(se)}" for v, se in each]
        found["Regret"] = ["" if np.isnan(v) else number(v) for v in frame["regret"]]
        found["Probability 0"] = [f"{v:.0f}" for v in frame["impossible"]]
        cells = pd.DataFrame(found, index=frame.index)
        return cells.mask(frame["log_loss"].isna(), "")

    @property
    def _caption(self) -> str:
        return (
            f"{len(self.codes):,} held-out rows, with {self.prob:.0%} intervals. Difference: log loss minus that of "
            "the best line, ± standard error of the paired differences. Regret: expected increase in log loss over "
            "full Bayes if the model is right. Probability 0: rows to whose class the line gave probability 0."
        )

    def to_latex(self) -> str:
        r"""The table as LaTeX, for the package booktabs, with a caption that explains the columns.

        Examples
        --------
        >>> from bayesnb import BayesianNB, datasets
        >>> from bayesnb.evaluation import comparison
        >>> found = comparison(BayesianNB(), *datasets.play_tennis(), dependence=())
        >>> print(found.to_latex().splitlines()[2])
        \begin{tabular}{lllllrr}
        """
        text = self._cells().to_latex(escape=True, column_format="lllllrr", caption=self._caption.replace("%", r"\%"))
        for sign, spelled in (("∞", r"$\infty$"), ("–", "--"), ("±", r"$\pm$")):
            text = text.replace(sign, spelled)
        return text

    def __str__(self) -> str:
        with pd.option_context("display.width", 120, "display.max_columns", 10):
            return f"{self.sentence}\n\n{self._cells()}"

    def __repr__(self) -> str:
        return f"<Comparison of {', '.join(map(str, self.table.index))} on {len(self.codes):,} held-out rows>"

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.sentence)}</p>{self._cells().to_html()}<p><small>{escape(self._caption)}</small></p>"

    def plot(self) -> Figure:
        """Plot log loss, Brier score and accuracy per model, with intervals; the recommended model is orange.

        An arrow to the right marks an infinite log loss.
        """
        from matplotlib.figure import Figure

        frame = self.to_frame().dropna(subset=["log_loss"])
        place = np.arange(len(frame))[::-1]
        colours = ["#D55E00" if name == self.recommended else "#0072B2" for name in frame.index]
        figure = Figure(figsize=(9, 1.2 + 0.35 * len(frame)), layout="constrained")
        panels = figure.subplots(1, len(SHOWN), sharey=True)
        for panel, (score, title) in zip(panels, SHOWN.items(), strict=True):
            value, low, high = (frame[f"{score}{end}"].to_numpy() for end in ("", "_lower", "_upper"))
            known = np.isfinite(value)
            edge = np.where(np.isfinite(high), high, value)[known].max(initial=0.0)
            lowest = low[known].min(initial=edge)
            far = edge + 0.08 * max(edge - lowest, 1e-3)
            for y, v, a, b, colour in zip(place, value, low, high, colours, strict=True):
                if np.isfinite(v):
                    panel.plot([a, min(b, far)], [y, y], color=colour, lw=2)
                    panel.plot(v, y, "o", color=colour, ms=6)
                else:
                    panel.plot(far, y, ">", color=colour, ms=8)
                    panel.annotate("∞", (far, y), (-18, -4), textcoords="offset points", color=colour)
            better = "right" if score == "accuracy" else "left"
            panel.set(title=title, xlabel=f"better to the {better}", ylim=(-0.6, len(frame) - 0.4))
            panel.spines[["top", "right"]].set_visible(False)
        panels[0].set_yticks(place, [str(name) for name in frame.index])
        return figure


def _credible(gap: Any, se: Any) -> Any:
    return (gap == np.inf) | (gap > np.maximum(2 * se, 1e-9))


def _cure(name: Any) -> Cure:
    return Cure("estimate" if name in ESTIMATES else "dependence", name)


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
        The dependences to compare with the estimates. Dependences are scored by 5-fold cross-validation, or 2-fold with
        65,536 rows or more. If at most a fifth of all rows is scored, each dependence is fitted once, to the unscored
        rows. With up to 600 rows, "auto" and "auto-counts" are scored on the held-out rows that also determine the
        weights of their models.
    rows : int, or None for all
        Score at most this number of rows, drawn at random. Unscored rows are learned too.
    random_state : int
        Seed of the random draw of rows.

    Returns
    -------
    DataFrame (estimate, ...)
        The columns of :func:`scores`, and the interval of the accuracy, ``accuracy_lower`` to ``accuracy_upper``;
        ``difference``, the mean log loss minus the smallest mean log loss, and its standard error ``se_difference``
        from paired rows; ``from_predictive``, the largest difference from full Bayes in any class probability;
        ``regret``, the regret of a plug-in, in nats per row; ``note``, the reason why an estimate does not exist.

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
    default: Any = None,
) -> Comparison:
    """Compare as :func:`compare_estimates` does. :meth:`Comparison.card` then gives the scorecard of any estimate or
    dependence.

    Parameters
    ----------
    clf, X, y, cv, dependence, rows, random_state
        As for :func:`compare_estimates`.
    prob : float, optional
        Probability of the intervals; ArviZ's ``stats.ci_prob`` (0.89) by default.
    default : str, optional
        The estimate or dependence to recommend unless a different one is clearly better; by default, the setting of
        ``clf``, or "predictive".
    """
    plain = EstimatorParameters.of(clf, estimate="predictive", dependence=None)
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
            except (BoundaryError, ImproperError, RefusedError) as error:
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
    lines = {name: _one(name, answers, codes, prob) if name in answers else {} for name in how}
    found = pd.DataFrame({name: line | {"note": notes.get(name, "")} for name, line in lines.items()}).T
    found = _with_differences(found.rename_axis("estimate"), answers, codes)
    if default is None:
        default = getattr(clf, "dependence", None) or clf.estimate
    default = default if default in how else "predictive"
    return Comparison(found, how, answers, absent, codes, classes, prob, default, scored)


def _weighted(fitted: Classifier) -> Classifier:
    return fitted.with_dependence(fitted.dependence.of_member(WEIGHTED))


def drawn(table: Table, codes: Array, rows: int | None, seed: int) -> Array | None:
    """Sorted positions of rows drawn at random; None for all rows."""
    if rows is not None and rows < 1:
        raise ValueError(f"Expected rows to be 1 or more, or None for all of them; got {rows!r}")
    return None if rows is None or rows >= table.n_rows else few_rows(table, rows, seed, codes)


def _folds_of_a_dependence(codes: Array, scored: Array | None) -> int | Literal["once"]:
    if scored is not None and 5 * len(scored) <= len(codes):
        return "once"
    return min(few_folds(codes), 2 if len(codes) >= TWO_FOLDS else 5)


def _answers_inside(asked: EstimatorParameters, X: Any, y: Any, codes: Array) -> Array | None:
    """Held-out log p(c | x) of an averaged model, (row, class); ``None`` if some rows were not held out."""
    if not named(asked.dependence).average or len(codes) > FEW:
        return None
    return learning.fitted(asked, X, y).dependence.held_out


def _one(name: Any, answers: Mapping[Any, Array], codes: Array, prob: float) -> dict[str, Any]:
    answer, predictive = answers[name], answers.get("predictive")
    columns: dict[str, Any] = {}
    for score, value in scores(answer, codes).items():
        columns[score] = value
        if score == "accuracy":
            ends = share_interval(round(value * len(codes)), len(codes), prob)
            columns["accuracy_lower"], columns["accuracy_upper"] = map(float, ends)
    columns["difference"] = columns["se_difference"] = np.nan
    if predictive is not None:
        stated, full = (np.exp(log_proba_of(each)) for each in (answer, predictive))
        columns["from_predictive"] = float(np.abs(stated - full).max())
        if name in ESTIMATES:
            columns["regret"] = float(regrets(stated, full, expected_losses("log loss")).mean())
    return columns


def _with_differences(found: pd.DataFrame, answers: Mapping[str, Array], codes: Array) -> pd.DataFrame:
    log_p = {name: own(log_proba_of(answer), codes) for name, answer in answers.items()}
    if not log_p:
        return found
    best = max(log_p.values(), key=lambda terms: terms.sum())
    for name, terms in log_p.items():
        found.loc[name, "difference"] = float(minus(best.mean(), terms.mean()))
        found.loc[name, "se_difference"] = standard_error(minus(best, terms)) / len(terms)
    return found


def minus(a: Any, b: Any) -> Array:
    """a - b; 0 for equal infinities."""
    return np.subtract(a, b, out=np.zeros(np.shape(a)), where=np.not_equal(a, b))


def standard_error(terms: Array) -> float:
    """The standard error of a sum over rows, √(n var); infinite if a term is infinite."""
    return float(np.sqrt(len(terms) * np.var(terms))) if np.isfinite(terms).all() else np.inf


def answers_of_row(
    clf: Classifier, row: pd.DataFrame, others: Mapping[str, Classifier | str], prob: float, draws: int
) -> dict[str, Any]:
    """The class probabilities of a row under each estimate and other model, and their interval under the posterior.

    If a model or its probabilities do not exist, a text in their place gives the reason.
    """
    labels = [str(label) for label in clf.classes_]
    estimates: dict[str, Any] = {}
    for name in (*ESTIMATES, *others):
        try:
            model = others.get(name) or clf.with_estimate(name)
            proba = None if isinstance(model, str) else map(float, model.predict_proba(row)[0])
            estimates[name] = model if proba is None else dict(zip(labels, proba, strict=True))
        except (BoundaryError, ImproperError, ImpossibleRowError, RefusedError) as error:
            estimates[name] = str(error)
    ends = clf.predict_interval(row, prob, draws=draws).iloc[0]
    interval = {label: ends[c].astype(float).to_dict() for label, c in zip(labels, clf.classes_, strict=True)}
    return {"estimates": estimates, "interval": interval}
