"""The sections about scores: what the model is worth, each estimate beside the others, and calibration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesnb import plots
from bayesnb.data.tables import Table
from bayesnb.estimator import BayesianNB
from bayesnb.evaluation import Comparison, comparison
from bayesnb.inference.scorecard import Scorecard
from bayesnb.model import normalize
from bayesnb.priors import Array
from bayesnb.report.parts import Grid, Part, Picture, Section, one_line
from bayesnb.report.sets import sets

WORTH = "What the model is worth"
ESTIMATES = "Each estimate beside the others"
CALIBRATION = "Calibration"

LONGEST = 40
"""Classes of a confusion matrix that are written out."""


@dataclass(frozen=True, eq=False)
class Scored:
    """The scores of a model and of its other estimates.

    Parameters
    ----------
    compared : Comparison
    name : str or Exponents
        The model of the page, among those compared.
    estimate : str
        Its estimate.
    """

    compared: Comparison
    name: Any
    estimate: str

    @property
    def card(self) -> Scorecard:
        """The scores of the model of the page."""
        if self.name not in self.compared.answers:
            raise ValueError(self.compared.table.loc[self.name, "note"])
        return self.compared.card(self.name)

    @property
    def how(self) -> str:
        """How the rows were held out from the model of the page."""
        note = self.compared.table.loc[self.name, "note"]
        return note.partition(",")[0].removeprefix("scored by ") if note else self.compared.how

    @property
    def proba(self) -> Array:
        """The class probabilities of the scored rows, (row, class); an error where every class is impossible."""
        return np.exp(normalize(self.compared.answers[self.name]))


def scored(clf: BayesianNB, table: Table, y: Any, cv: Any, rows: int | None, share: float) -> Scored:
    """Score a model, beside its other estimates and what a dependence makes of it."""
    names: list[Any] = ["weighted", "pairwise"]
    if clf.dependence is not None and clf.dependence not in names:
        names.append(clf.dependence)
    found = comparison(clf, table, y, cv, names, rows, prob=share)
    return Scored(found, clf.estimate if clf.dependence is None else clf.dependence, clf.estimate)


def worth(found: Scored) -> Section:
    """What the model is worth, in one sentence, and its scores beside their yardsticks."""
    card, share = found.card, found.compared.prob
    yardstick = (
        f"Scored by {found.how}. lower and upper are {share:.0%} intervals; claimed is what the score would be if the "
        "probabilities were true; frequencies is the score of the class shares, the same for each row, and majority "
        "that of always saying the largest class. log_loss is in nats; brier runs from 0 to 2; ece is the expected "
        "calibration error; auc is the area under the ROC curve, of several classes the mean of each pair. Smaller is "
        "better for log_loss, brier and ece."
    )
    parts: list[Part] = [Grid(card.table, "Scores"), yardstick]
    if found.name not in ("mle", "map", "mean", "predictive") and found.estimate != "predictive":
        parts.append(f'The model plugs in its parameters ("{found.estimate}"); it was scored with "predictive".')
    parts += [
        Grid(card.confusion.iloc[:LONGEST, :LONGEST], "True classes (rows) and predicted classes (columns)"),
        Grid(card.by_class.iloc[:LONGEST], "Recall and precision of each class", folded=True),
    ]
    return Section(WORTH, parts, lead=found.compared.sentence_of(found.name), finding=_confused(card))


def _confused(card: Scorecard) -> str:
    """The class that is most often taken for another."""
    wrong = card.confusion.to_numpy().copy()
    np.fill_diagonal(wrong, 0)
    if not wrong.any():
        return ""
    row, column = np.unravel_index(wrong.argmax(), wrong.shape)
    true, taken = (one_line(axis[k], 60) for axis, k in ((card.confusion.index, row), (card.confusion.columns, column)))
    rows = int(card.by_class["rows"].iloc[row])
    return f"The commonest mistake: {wrong[row, column]} of {rows} rows of {true!r} are taken for {taken!r}."


def estimates(found: Scored) -> Section:
    """The four estimates, and the dependences, on the same held-out rows."""
    table = found.compared.table
    notes = [f"{name}: {note}." for name, note in table["note"].items() if note]
    shown = table.drop(columns=["note", "accuracy_lower", "accuracy_upper", "balanced_accuracy"])
    if not shown["impossible"].fillna(0).any():
        shown = shown.drop(columns="impossible")
    text = (
        f"Held out by {found.compared.how}: each row is predicted by a model that has not learned it. difference is "
        "the mean difference of the log loss from the best, row by row, with its standard error; from_predictive is "
        "the largest difference of a class probability from full Bayes. The last rows are models whose columns may "
        "depend on each other; their exponents learn from the labels."
    )
    finding = found.compared.advice(found.name) if found.name in found.compared.worse else ""
    return Section(ESTIMATES, [text, Grid(shown, "Scores of each estimate"), *notes], finding=finding)


def calibration(found: Scored) -> Section:
    """Whether classes are as frequent as the model says, and how large sets of classes must be."""
    share, proba, codes = found.compared.prob, found.proba, found.compared.codes
    frame = plots.reliability_table(proba, codes, prob=share)
    worst = frame.loc[(frame["share"] - frame["confidence"]).abs().idxmax()]
    says = (
        f"Reliability of the predictions of {len(codes)} rows by {found.how}, in {len(frame)} bins of confidence. "
        f"Farthest from the diagonal: confidence {worst['confidence']:.2f}, true in {worst['share']:.2f} of "
        f"{worst['rows']:.0f} rows."
    )
    text = (
        f"How often the most probable class is the true one, by its probability ({found.name}, {found.how}). "
        f"The intervals are binomial, {share:.0%}."
    )
    frame = frame.set_index(frame["from"].map("{:.1f}".format) + " to " + frame["to"].map("{:.1f}".format))
    frame = frame.rename_axis("probability").drop(columns=["from", "to"])
    picture = Picture(plots.reliability(proba, codes, prob=share), "Calibration", says)
    grid = Grid(frame, "Calibration, bin by bin", folded=True)
    return Section(CALIBRATION, [text, picture, grid, *sets(proba, codes, found.compared.classes, found.how)])
