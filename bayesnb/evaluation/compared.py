"""Models compared on the same held-out rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bayesnb.inference.regret import expected_losses, regrets
from bayesnb.inference.scorecard import HeldOut, Scorecard, scorecard_of
from bayesnb.inference.scoring import log_proba_of, own, scores, share_interval
from bayesnb.model import ESTIMATES
from bayesnb.priors import Array
from bayesnb.wording import Cure, Message

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEAST = 0.0005
"""Smallest improvement in log loss, in nats per row, that makes another model recommended."""

SHOWN = {"log_loss": "Log loss", "brier": "Brier", "accuracy": "Accuracy"}
"""The titles of scores in tables and plots."""


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Naive Bayes under each estimate, and models with dependence, compared on the same held-out rows."""

    table: pd.DataFrame  # the result of compare_estimates
    how: Mapping[Any, HeldOut]  # how the rows were held out, by model
    answers: Mapping[Any, Array]  # log p(c, x), (row, class), by model
    absent: Mapping[Any, Exception]  # the error of each model that failed
    codes: Array
    classes: Array
    prob: float  # of the intervals
    default: Any  # the model to recommend unless another is clearly better
    scored: Array | None = None  # positions of the scored rows

    @property
    def most_surprising(self) -> int:
        """The position of the row whose true class is least probable under naive Bayes."""
        # Plug-ins give probability 0 to the classes of many rows, and the first of these is no more surprising.
        answer = self.answers.get("predictive", next(iter(self.answers.values())))
        row = int(own(log_proba_of(answer), self.codes).argmin())
        return row if self.scored is None else int(self.scored[row])

    def card(self, name: Any = None) -> Scorecard:
        """The scorecard of the model ``name``; by default of the recommended model."""
        name = self.recommended if name is None else name
        return scorecard_of(self.answers[name], self.codes, self.classes, self.prob, how=self.how[name])

    @property
    def best(self) -> Any:
        return self.table["difference"].astype(float).idxmin()

    @property
    def worse(self) -> list[Any]:
        """The models whose log loss exceeds the minimum by more than two standard errors."""
        gap, se = (self.table[name].astype(float) for name in ("difference", "se_difference"))
        return [*gap.index[_credible(gap, se)]]

    @property
    def recommended(self) -> Any:
        """The best model that is clearly better than the default; the default if no model is."""
        # A plug-in estimate that gives some values probability 0 (infinite regret) is recommended only if it is the
        # default.
        sound = [each for each in self.answers if self.table.loc[each].get("regret", 0) != np.inf]
        if self.default in self.answers:
            # By more than two standard errors, and by at least 0.0005 nats per row.
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
        """The number of held-out rows whose true class has probability 0 under the model ``name``."""
        return int(np.isneginf(own(log_proba_of(self.answers[name]), self.codes)).sum())

    def regret(self, name: Any) -> Message:
        """A sentence that compares the log loss of a plug-in estimate with the log loss of full Bayes."""
        if name in self.absent:
            raise self.absent[name]
        if never := self.never(name):
            return _never([name], never, len(self.codes))
        gap, se = self._behind(name, "predictive")
        regret = float(self.table.loc[name, "regret"])
        way = "higher" if gap > 0 else "lower"
        said = "has a {way} log loss than full Bayes on held-out rows, by {gap:.3f} ± {se:.3f}"
        if max(abs(gap), se) < LEAST:
            said = "has the same log loss as full Bayes on held-out rows, to three digits"
        held = Message(said, way=way, gap=abs(gap), se=se)
        expected = Message("if the model is right, its regret is {regret:.3f} nats per row", regret=regret)
        if regret == np.inf:
            expected = Message("its worst case is unbounded, because it gives some values probability 0")
        return Message("{name} {held}; {expected}.", name=name, held=held, expected=expected)

    def regrets(self, names: Sequence[Any]) -> list[Message]:
        """Compare plug-in estimates with full Bayes, in a single sentence if possible, or in one per estimate."""
        worst = [float(self.table.loc[name, "regret"]) for name in names]
        never = {self.never(name) for name in names}
        if len(names) > 1 and len(never) == 1 and never != {0}:
            return [_never(names, *never, len(self.codes))]
        if len(names) < 2 or any(never) or len({regret == np.inf for regret in worst}) > 1:
            return [self.regret(name) for name in names]
        each = [f"{name} {gap:+.3f} ± {se:.3f}" for name in names for gap, se in [self._behind(name, "predictive")]]
        expected = "Their worst case is unbounded, because they give some values probability 0."
        if np.inf not in worst:
            expected = "If naive Bayes is right, their expected loss is higher by {regrets} nats per row."
        said = "Log loss beside full Bayes: {each}. {expected}"
        shown = Message(expected, regrets=", ".join(f"{regret:.3f}" for regret in worst))
        return [Message(said, each=", ".join(each), expected=shown)]

    @property
    def recommendation(self) -> Message:
        name, kept = self.recommended, self.recommended == self.default
        loss, _, _, _, shares, _ = self.card(name).table.loc["log_loss"]
        known = {"name": _cure(name), "default": _cure(self.default)}
        text = "Recommended: {name}"
        gap, se = self._behind(self.default, self.best if kept else name) if self.default in self.answers else (0, 0)
        if kept:
            text, known = "Keep {name}: ", known | {"other": _cure(self.best)}
            if self._clearly_better(self.best, name):
                text += "{other} is better by {gap:.3f} ± {se:.3f}, but gives probability 0 to values not seen so far."
            else:
                ahead = " ({other} is ahead by {gap:.3f} ± {se:.3f}, less than two standard errors)"
                text += f"no model scored here is clearly better{ahead if gap >= LEAST else ''}."
        elif self.default not in self.answers:
            text += "; {default} cannot be scored."
        elif np.isfinite(gap):
            text += "; its log loss is {gap:.3f} ± {se:.3f} lower than that of {default}."
        else:
            text += "; {default} gave probability 0 to the class of a row."
        more = "" if loss < shares else " Its log loss is no lower than that of the class frequencies."
        return Message(text + more, **known, gap=gap, se=se)

    @property
    def finding(self) -> Message:
        """The recommendation, and the scores of the recommended model."""
        return Message("{recommendation} {scores}", scores=self.card().finding, recommendation=self.recommendation)

    @property
    def sentence(self) -> str:
        return str(self.finding)

    def to_frame(self) -> pd.DataFrame:
        """The results as a flat frame, one row per model.

        Returns
        -------
        DataFrame (estimate, ...)
            ``log_loss``, ``brier`` and ``accuracy``. The interval of each score is ``…_lower`` to ``…_upper`` and has
            probability ``attrs["prob"]``. ``difference``, ``se_difference`` and ``regret`` are as in
            :func:`compare_estimates`. ``impossible`` is the number of held-out rows whose true class has probability 0.

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
        r"""The table as LaTeX (package booktabs), with a caption that explains the columns.

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
            absent = "".join(f"\n{name} is not scored: {error}" for name, error in self.absent.items())
            return f"{self.sentence}\n\n{self._cells()}{absent}"

    def __repr__(self) -> str:
        return f"<Comparison of {', '.join(map(str, self.table.index))} on {len(self.codes):,} held-out rows>"

    def _repr_html_(self) -> str:
        absent = "".join(f"<p>{escape(f'{name} is not scored: {error}')}</p>" for name, error in self.absent.items())
        table = f"{self._cells().to_html()}<p><small>{escape(self._caption)}</small></p>"
        return f"<p>{escape(self.sentence)}</p>{table}{absent}"

    def plot(self) -> Figure:
        """Plot log loss, Brier score and accuracy per model, with intervals; the recommended model is orange."""
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


def _never(names: Sequence[Any], never: int, n: int) -> Message:
    said = "{names} gave probability 0 to the class of {k:,} of {n:,} held-out rows, which makes the log loss infinite."
    return Message(said, names=" and ".join(map(str, names)), k=never, n=n)


def _cure(name: Any) -> Cure:
    return Cure("estimate" if name in ESTIMATES else "dependence", name)


def table_of(
    names: Iterable[Any], answers: Mapping[Any, Array], codes: Array, prob: float, notes: Mapping[Any, str]
) -> pd.DataFrame:
    """A table with one row of scores per model."""
    lines = {name: _one(name, answers, codes, prob) if name in answers else {} for name in names}
    found = pd.DataFrame({name: line | {"note": notes.get(name, "")} for name, line in lines.items()}).T
    log_p = {name: own(log_proba_of(answer), codes) for name, answer in answers.items()}
    best = max(log_p.values(), key=lambda terms: terms.sum(), default=None)
    for name, terms in log_p.items():
        found.loc[name, "difference"] = float(minus(best.mean(), terms.mean()))
        found.loc[name, "se_difference"] = standard_error(minus(best, terms)) / len(terms)
    return found.rename_axis("estimate")


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
        stated, full = log_proba_of(answer), log_proba_of(predictive)
        columns["from_predictive"] = float(np.abs(np.exp(stated) - np.exp(full)).max())
        if name in ESTIMATES:
            columns["regret"] = float(regrets(stated, full, expected_losses("log loss")).mean())
    return columns


def minus(a: Any, b: Any) -> Array:
    """The difference a - b, with 0 for equal infinities."""
    return np.subtract(a, b, out=np.zeros(np.shape(a)), where=np.not_equal(a, b))


def standard_error(terms: Array) -> float:
    """The standard error of a sum over rows; infinite if a term is infinite."""
    return float(np.sqrt(len(terms) * np.var(terms))) if np.isfinite(terms).all() else np.inf
