"""Build report sections and command output from the results of analyses of a fitted model."""

from __future__ import annotations

import contextlib
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import entr

from bayesnb import learning, plots
from bayesnb.data.schema import AVERAGING, OFFSET
from bayesnb.data.specifications import EstimatorParameters
from bayesnb.evaluation.folds import some_rows
from bayesnb.inference.classifier import index_of
from bayesnb.inference.contributions import in_one
from bayesnb.inference.questions import QUESTIONS, Question, Shown
from bayesnb.report import parts
from bayesnb.signatures import without_markup
from bayesnb.wording import FROM_0, Cure, Form, Message, sentences

if TYPE_CHECKING:
    from bayesnb.data.tables import Table
    from bayesnb.inference.classifier import Classifier
    from bayesnb.priors import Array

MOST_ROWS = 200
"""Largest number of rows for a question without labels; more rows are sampled."""

WIDEST = 40
"""Largest number of columns of a table on the page."""

UNCERTAIN = "Uncertain rows"

CANDIDATES = 500
"""Number of rows with the highest predictive entropy, whose uncertainty is split by draws."""

MOST_ENTRIES = 12
"""Largest number of entries of a ledger; the smallest contributions share one line."""

LEAST_SHARE = 0.005
"""In a longer ledger, contributions below this share of the largest finite contribution share this line, too."""

MEANT = {
    OFFSET: "an offset of the class, learned from the labels beside the contributions of the columns",
    AVERAGING: "the effect of averaging class probabilities over the exponents, instead of using their mean",
    "shape of": "what the histogram of a column adds to its family",
    "×": "what two columns say together, beyond their separate contributions",
    "joint": "what the correlations of the numeric columns add",
    "kernel": "what similar learned rows add",
    "partitions": "what random partitions of all columns add",
    "trees": "what decision trees, averaged over all prunings, say about the class",
}
"""The entries that a dependence adds to the explanation of a row."""


def intervals(prob: float, notes: Mapping[str, Any]) -> str:
    """The legend of the intervals of a prediction."""
    # ``notes`` are the ``attrs`` of the result of ``predict_interval``.
    said = {
        "row": ". Given the row, the probability's is often narrower.",
        "data": ". The probability averages over the parameters, so it can differ from the median of its interval, or "
        "lie outside the interval.",
    }
    legend = f"In brackets: {prob:.0%} intervals{said[notes['given']]}"
    error = notes.get("mcse", 0.0)
    drawn = (
        f" The ends of the interval of the probability come from draws, with a standard error of at most {error:.2g}."
    )
    return legend + drawn * (error >= 0.005)


@dataclass(frozen=True, eq=False)
class Held(EstimatorParameters):
    """A fitted model with its parameters."""

    # Unlike an estimator, this class does not import scikit-learn.

    classifier_: Any = None


@dataclass(frozen=True, eq=False)
class Asking:
    """Analyses of a fitted model and its learned rows; the results are cached."""

    # Analyses that need no labels use at most ``MOST_ROWS`` rows, sampled by a hash of their cells.
    model: Classifier
    X: Table
    y: Any
    prob: float | None = None
    form: Form = "python"

    @cached_property
    def _answers(self) -> dict[str, Any]:
        return {}

    @cached_property
    def advice(self) -> str | None:
        """The dependence that ``checks.independence`` recommends; ``None`` if the model already has a dependence."""
        with contextlib.suppress(ValueError):
            return self.answer("independence").advice if self.model.dependence is None else None
        return None

    def answer(self, name: str) -> Any:
        if name not in self._answers:
            question, model, rows = QUESTIONS[name], self.model, self.X
            shown = question.shown or Shown(name)
            if shown.advised:
                model = learning.as_advised(model, self.advice, self.X, self.y)
            if "y" not in question.options and rows.n_rows > MOST_ROWS:
                rows = rows.rows(some_rows(rows, np.zeros(rows.n_rows, int), MOST_ROWS, 0))
            given = {"X": rows, "y": self.y, "prob": self.prob} | dict(shown.asks)
            given = {option: value for option, value in given.items() if option in question.options}
            self._answers[name] = question.function(model, **given)
        return self._answers[name]

    def section(self, name: str, top: int | None = None) -> parts.Section:
        found = self.answer(name)
        if name == "tables":
            found = {column: self.model.schema.dated(column, frame) for column, frame in found.items()}
        made = section_of(QUESTIONS[name], found, top)
        if self.advice is None or not QUESTIONS[name].shown.advised:
            return made
        said = "{lead} They are judged with {cure}, because columns depend on each other given the class."
        judged = Message(said, lead=made.lead, cure=Cure("dependence", self.advice))
        return replace(made, lead=judged, finding=judged)

    def uncertain(self, codes: Array, explain: int, by: str, unit: str, draws: int) -> parts.Section:
        """A report section about the uncertainty of predictions, with the most uncertain rows."""
        log_proba = self.model.predict_log_proba(self.X)
        order = np.argsort(-entr(np.exp(log_proba)).sum(1), kind="stable")
        chosen = np.sort(order[:CANDIDATES])
        split = self.model.uncertainty(self.X.rows(chosen), prob=self.prob, draws=draws)
        split.insert(0, "true", self.model.classes_[codes[chosen]])
        top = np.argsort(-split[by].to_numpy(), kind="stable")[: max(explain, 1)]
        first = split.iloc[top[0]]
        sure = parts.with_interval(first["probability"], first["lower"], first["upper"])
        if not first["lower"] <= first["probability"] <= first["upper"]:
            sure += f", median {first['median']:.3g}"
        place = parts.one_line(split.index[top[0]], 40) + f" ({FROM_0})" * self.numbered
        finding = (
            f"The most uncertain row is {place}: {parts.one_line(first['prediction'], 60)!r} with probability {sure}."
        )
        made = section_of(QUESTIONS["uncertainty"], split.iloc[top], len(split))
        picture, _, legend = made.parts
        learned = "The model has learned these rows, so it is slightly overconfident about them."
        if self.X.n_rows > len(chosen):
            learned += f" Of {self.X.n_rows:,} rows, the {len(chosen)} with the highest predictive entropy are shown."
        says = (
            f"Aleatoric against epistemic entropy of {len(chosen)} rows. Largest: aleatoric "
            f"{split['aleatoric'].max():.3g} nats, epistemic {split['epistemic'].max():.3g} nats."
        )
        below: list[parts.Part] = [
            replace(picture, figure=lambda: plots.uncertainty_scatter(split), says=says),
            sentences([legend, learned]),
        ]
        notes: dict[Any, None] = {}  # Notes that several rows share are shown once.
        if explain:
            below.append(parts.TablePart(parts.readable(split.iloc[top]), f"The rows of the highest {by} entropy"))
            asked = np.sort(chosen[top])
            rows = self.X.rows(asked)
            rows = replace(rows, source=rows.source.reset_index(drop=True)) if rows.named else rows
            contributions = self.model.explain(rows, unit=unit, prob=self.prob)
            for k in top:
                own = contributions.xs(np.searchsorted(asked, chosen[k]), level="row")
                entries, *said = ledger(own, unit, f"Row {parts.one_line(split.index[k])}, ", folded=True)
                below.append(entries)
                notes |= dict.fromkeys(said)
        below += filter(None, [" ".join(notes)])
        return replace(made, parts=below, finding=finding)

    @property
    def numbered(self) -> bool:
        """Whether rows are named by their numbers, which may have gaps if the command line left out rows."""
        index = index_of(self.X)
        by_number = index is None or index.equals(pd.RangeIndex(self.X.n_rows))
        return by_number or (self.form == "command" and index.name is None)


def section_of(question: Question, found: Any, top: int | None = None) -> parts.Section:
    """A report section for a result: a sentence, a picture, the first ``top`` table rows, and a legend."""
    shown = question.shown or Shown("", finding=False)
    says, lines = shown.says(found), shown.lines(found)
    frames = lines if isinstance(lines, Mapping) else {"": table_of(question, lines)}
    below: list[parts.Part] = []
    if shown.plot is not None and len(next(iter(frames.values()))):
        draw = getattr(plots, shown.plot)
        below.append(parts.Picture(lambda: draw(found), shown.title, f"{shown.title}: a picture of the table below."))
    for name, frame in frames.items():
        if len(frame):
            below += shortened(
                frame, parts.one_line(name) or without_markup(question.summary).rstrip("."), top or shown.top
            )
    words = {parts.spoken(name): said for name, said in question.columns.items()}
    columns = [
        str(name).rpartition(": ")[2]
        for part in below
        if isinstance(part, parts.TablePart)
        for name in part.frame.columns
    ]
    meant = [
        Message("{name}: {said}.", name=name, said=words[name]) for name in dict.fromkeys(columns) if name in words
    ]
    below += filter(None, [sentences(meant), shown.notes(found) if below else ""])
    lead = says if below else says or "The answer has no rows."
    return parts.Section(shown.title, below, lead, says if shown.finding else "", folded=True)


def table_of(question: Question, found: Any) -> pd.DataFrame:
    """Convert a result to a table; an array becomes a column with the name of the analysis ``question``."""
    return pd.DataFrame(found) if isinstance(found, pd.DataFrame | pd.Series) else pd.DataFrame({question.name: found})


def shortened(frame: pd.DataFrame, caption: str, top: int) -> Iterator[parts.Part]:
    """The first rows and columns of a table; the caption says how many are shown."""
    shown = zip(frame.shape, (top, WIDEST), ("rows", "columns"), strict=True)
    cut = " and ".join(f"the first {most:,} of {size:,} {what}" for size, most, what in shown if size > most)
    yield parts.TablePart(
        parts.readable(frame.iloc[:top, :WIDEST]), f"{caption}: {cut}" if cut else caption, cut=bool(cut)
    )


# The contribution of each value of a row to its log-odds


def ledger(
    contributions: pd.DataFrame, unit: str, row: str = "", folded: bool = False, kept: Mapping[Any, Any] | None = None
) -> Iterator[parts.Part]:
    """Yield a table of the contributions to the log-odds of one row, then a legend and notes on unusual values."""
    label, against = map(str, contributions.iloc[-1][["label", "against"]])
    # ``kept`` holds the old values of entries that --set has changed; these entries are always shown.
    kept = kept or {}
    shown = by_size(contributions, kept)
    sizes, lower, upper = (shown[name].to_numpy(float) for name in ("log_odds", "lower", "upper"))
    digits = parts.digits_of(pd.Series([sizes[-1], lower[-1], upper[-1]]))
    total = f"{sizes[-1]:+.{digits}f}"
    caption = f"{row}{parts.one_line(label)} against {parts.one_line(against)}: log-odds {total} {unit} in all"
    frame = shown[["log_odds", "lower", "upper"]]
    frame = frame.mask(frame.abs() < 5e-5, 0.0)  # Rounding errors of terms that sum to 0 are not shown.
    frame = parts.readable(frame.set_axis(pd.Index(_named(shown, kept), name="entry")))
    yield parts.TablePart(frame, caption, folded, parts.Bars(sizes, lower, upper, label, against))
    if OFFSET in contributions.index:
        kinds = {"shape of" if name.startswith("shape of ") else "×" if " × " in name else name
                for name in map(str, shown.index)}  # fmt: skip
        yield from (f"{kind}: {said}." for kind, said in MEANT.items() if kind in kinds)
        if ((lower == 0) ^ (upper == 0)).any():
            yield "An interval that begins or ends at 0 includes averaged models without this entry."
    yield from _oddities(shown)


def _oddities(lines: pd.DataFrame) -> Iterator[str]:
    size, lower, upper = (lines[name].to_numpy(float) for name in ("log_odds", "lower", "upper"))
    outside = np.isfinite(size) & ((size < lower - 1e-9) | (size > upper + 1e-9))
    if outside.any():
        names = ", ".join(str(name)[:40] for name in lines.index[outside][:3])
        why = "if a value is far from the learned values, if a word occurs many times, or if few rows were learned"
        why = f"here mostly by {AVERAGING}" if lines.index[0] == AVERAGING else why
        yield (
            f"{names}: the log-odds lie outside their interval, and both are right. The log-odds use probabilities "
            "averaged over the parameters; the interval is of the log-odds at one value of the parameters. They differ "
            f"{why}."
        )
    if np.isinf(size).any():
        yield (
            "∞ stands for a probability of 0: with these parameters, one of the two classes cannot have the value. "
            'The estimate "predictive" has no such zeros with a prior above 0.'
        )


def answer(proba: Array, ends: pd.DataFrame, classes: Array, label: Any, prob: float) -> str:
    """State the probability and interval of the class ``label`` and, if another class is predicted, that class."""
    best = classes[proba.argmax()]
    shown = best if label is None else label
    lower, median, upper = (float(ends[shown, end].iloc[0]) for end in ("lower", "median", "upper"))
    p = float(proba[[*classes].index(shown)])
    # The median is added if the probability lies outside the interval.
    middle = "" if lower <= p <= upper else f"median {probability(median)}, "
    low, high = map(probability, (lower, upper))
    ends = f"{low} to {high}" if low != high else low
    said = f"{parts.one_line(shown, 60)}: probability {probability(p)} ({middle}{prob:.0%} interval: {ends})."
    if shown == best:
        return said
    return f"{said} The most probable class is {parts.one_line(best, 60)} ({probability(proba.max())})."


def probability(p: float) -> str:
    """Format a probability, such as "0.123"; near 0 or 1, such as "0.0004" or "below 0.0001"."""
    if not 0.0001 <= p <= 0.9999:
        return "below 0.0001" if p < 0.5 else "above 0.9999"
    return f"{p:.3f}" if 0.001 <= p <= 0.999 else f"{p:.4f}"


def _named(frame: pd.DataFrame, before: Mapping[Any, Any]) -> Iterator[str]:
    for entry, value, gone in zip(frame.index, frame["value"], frame["missing"], strict=True):
        empty = value is None or value != value
        text = "" if empty else parts.one_line(value)
        said = text if not gone else "missing" if empty else f"{text} (never seen)"
        named = f"{parts.one_line(entry)} = {said}" if said else parts.one_line(entry)
        if entry in before:
            old = before[entry]
            named += f" (was {'missing' if old is None or old != old else parts.one_line(old)})"
        yield named


def by_size(frame: pd.DataFrame, kept: Container[Any] = ()) -> pd.DataFrame:
    """Put the largest contributions first, the sum of the smallest contributions below, and the total last."""
    size = frame["log_odds"].abs().fillna(np.inf).to_numpy()[:-1]
    order = np.argsort(-size, kind="stable")
    if len(order) <= MOST_ENTRIES:
        return frame.iloc[[*order, len(order)]]
    least = LEAST_SHARE * size[np.isfinite(size)].max(initial=0.0)
    most = min(MOST_ENTRIES - 1, max(1, int((size >= least).sum())))
    unseen = (frame["missing"] & frame["value"].notna()).to_numpy()[order]
    named = (np.arange(len(order)) < most) | unseen | np.array([entry in kept for entry in frame.index[order]])
    if named.all():
        return frame.iloc[[*order, len(order)]]
    shown, rest = order[named], order[~named]
    return pd.concat([frame.iloc[shown], in_one(frame, rest).set_index("entry"), frame.iloc[[-1]]])
