"""A section of the page, or the screen of a command, made of a question of the table and of its answer.

The heading, the sentence, the table and the picture are what the question says of itself
(:class:`bayesnb.inference.questions.Shown`); what the columns mean stands in its docstring.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bayesnb import learning, plots
from bayesnb.evaluation import rows_at
from bayesnb.inference.questions import QUESTIONS, Question, Shown
from bayesnb.report.parts import Grid, Part, Picture, Section, one_line, readable, spoken

if TYPE_CHECKING:
    from bayesnb.data.tables import Table
    from bayesnb.inference.classifier import Classifier

MOST_ROWS = 200
"""The most rows for a question that takes no labels; of a longer table, so many rows at equal distances."""

WIDEST = 40
"""Columns of a table that are written out; of the rest, the page says how many there are."""


@dataclass(frozen=True, eq=False)
class Asking:
    """A fitted model and its learned rows, which answers each question once and keeps the answer.

    Parameters
    ----------
    model : Classifier
    X : table
        A question that takes no labels gets at most 200 rows, which are spread evenly.
    y : labels
    prob : float, optional
        The probability of the intervals.
    """

    model: Classifier
    X: Table
    y: Any
    prob: float | None = None

    @cached_property
    def _answers(self) -> dict[str, Any]:
        return {}

    @cached_property
    def advice(self) -> str | None:
        """The dependence that the audit of the columns advises, and that the model has not."""
        with contextlib.suppress(ValueError):
            return self.answer("independence").advice if self.model.dependence is None else None
        return None

    def answer(self, name: str) -> Any:
        """The answer to a question, which gets the options that its section names."""
        if name not in self._answers:
            question, model, rows = QUESTIONS[name], self.model, self.X
            shown = question.shown or Shown(name)
            if shown.advised:
                model = learning.as_advised(model, self.advice, self.X, self.y)
            if "y" not in question.options and rows.n_rows > MOST_ROWS:
                rows = rows_at(rows, np.linspace(0, rows.n_rows - 1, MOST_ROWS).astype(int))
            given = {"X": rows, "y": self.y, "prob": self.prob} | dict(shown.asks)
            given = {option: value for option, value in given.items() if option in question.options}
            self._answers[name] = question.function(model, **given)
        return self._answers[name]

    def section(self, name: str, top: int | None = None) -> Section:
        """The answer to a question as a section."""
        made = section_of(QUESTIONS[name], self.answer(name), top)
        if self.model.dependence is not None:
            # It has what the audit would advise.
            has = f'; the model has dependence="{self.model.dependence}".'
            lead, finding = (re.sub(r"; (?:use|compare tells) .*", has, said) for said in (made.lead, made.finding))
            return replace(made, lead=lead, finding=finding)
        if self.advice is None or not QUESTIONS[name].shown.advised:
            return made
        judged = f'{made.lead} They are judged with dependence="{self.advice}", which the audit of the columns advises.'
        return replace(made, lead=judged, finding=judged)


def section_of(question: Question, found: Any, top: int | None = None) -> Section:
    """The answer to a question: its sentence, its picture, the first lines of its table, and what they mean.

    Parameters
    ----------
    question : Question
    found : its answer
    top : int, optional
        How many lines of the table are shown; by default, as many as the question says.
    """
    shown = question.shown or Shown(question.name.replace("_", " ").capitalize(), finding=False)
    says, lines = shown.says(found), shown.lines(found)
    frames = lines if isinstance(lines, Mapping) else {"": table_of(question, lines)}
    parts: list[Part] = []
    if shown.plot is not None and len(next(iter(frames.values()))):
        draw = getattr(plots, shown.plot)
        parts.append(Picture(lambda: draw(found), shown.title, f"{shown.title}: a picture of the table below."))
    for name, frame in frames.items():
        if len(frame):
            parts += shortened(frame, one_line(name) or question.summary.rstrip("."), top or shown.top)
    words = {spoken(name): said for name, said in question.legend(found).items()}
    columns = [str(name).rpartition(": ")[2] for part in parts if isinstance(part, Grid) for name in part.frame.columns]
    meant = " ".join(f"{name}: {words[name]}." for name in dict.fromkeys(columns) if name in words)
    parts += filter(None, [meant, shown.notes(found) if parts else ""])
    return Section(shown.title, parts, says, says if shown.finding else "", folded=True)


def table_of(question: Question, found: Any) -> pd.DataFrame:
    """An answer as a table; one of numbers alone has the name of the question as its column."""
    return pd.DataFrame(found) if isinstance(found, pd.DataFrame | pd.Series) else pd.DataFrame({question.name: found})


def shortened(frame: pd.DataFrame, caption: str, top: int) -> Iterator[Part]:
    """The first rows and columns of a table, with a caption that says so where there are more."""
    for size, most, what in zip(frame.shape, (top, WIDEST), ("rows", "columns"), strict=True):
        caption += f": the first {most} of {size} {what}" if size > most else ""
    yield Grid(readable(frame.iloc[:top, :WIDEST]), caption)
