"""The sections about columns: what each tells about the class, what each was taken for, and what was learned of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy.special import log_softmax

from bayesnb import learning
from bayesnb.dependence.columns import names as names_of_columns
from bayesnb.evaluation import rows_at
from bayesnb.report.parts import Findings, Grid, Part, Section, one_line, with_error

if TYPE_CHECKING:
    from bayesnb.data.tables import Table
    from bayesnb.estimator import BayesianNB
    from bayesnb.priors import Array

MATTER = "What each column tells"
READ = "What each column was taken for"
PARAMETERS = "Parameters"
EVIDENCE = "Evidence"

LONGEST = 40
"""Rows and columns of a table that are written out; of the rest, the page says how many there are."""

FIRST = 8
"""Columns whose use is shown at once; the table of all of them is folded."""

NUMBERS = 2**24
"""Log probabilities that are looked at; of more, those of rows that are drawn at random."""


def matter(clf: BayesianNB, table: Table, codes: Array) -> Section:
    """What each column tells about the class by itself, and what is lost without it."""
    names = [one_line(name) for name in names_of_columns(clf.classifier_.posterior)]
    rows = _drawn(len(codes), len(clf.classes_) * (len(names) + 1))
    own = codes[rows]
    found = clf.loo(rows_at(table, rows), clf.classes_[own], by="feature").to_numpy()
    # With a dependence, terms that no naive Bayes has stand behind those of the columns.
    log_p = found.reshape(len(rows), len(clf.classes_), -1)[:, :, : 1 + len(names)]
    prior, whole = log_p[:, :, 0], log_p.sum(axis=2)
    lines = []
    for k in range(1, log_p.shape[2]):
        alone = _loss(prior, own) - _loss(prior + log_p[:, :, k], own)
        without = _loss(whole - log_p[:, :, k], own) - _loss(whole, own)
        lines.append((alone.mean(), _error(alone), without.mean(), _error(without)))
    frame = pd.DataFrame(lines, pd.Index(names, name="column"), ["alone", "alone ±", "without", "without ±"])
    frame = frame.sort_values("alone", ascending=False, kind="stable")
    shown = pd.DataFrame({
        what: [with_error(*both) for both in zip(frame[what], frame[f"{what} ±"], strict=True)]
        for what in ("alone", "without")
    }, index=frame.index)  # fmt: skip
    text = (
        "alone: by how many nats a row the log loss of the class shares falls if only this column is known; without: "
        "by how many that of all columns rises if this one is left out. Both are exact leave-one-out, of columns "
        "taken as independent, with their standard errors. A column that tells much alone and nothing beside the "
        "others says what they say; below 0, predictions are better without it."
        + (f" Of {len(rows):,} rows drawn at random." if len(rows) < len(codes) else "")
    )
    parts: list[Part] = [Grid(shown[:FIRST], _first("What columns tell", len(frame), FIRST)), text]
    if len(frame) > FIRST:
        parts += _cut(shown, "What all columns tell", folded=True)
    return Section(MATTER, parts, finding=_telling(frame))


def _drawn(n: int, numbers: int) -> Array:
    """Positions of rows: all of them, or so many that there are not too many numbers."""
    most = max(1000, NUMBERS // numbers)
    return np.arange(n) if n <= most else np.sort(np.random.default_rng(0).choice(n, most, replace=False))


def _loss(log_joint: Array, codes: Array) -> Array:
    """The log loss of each row."""
    return -log_softmax(log_joint, axis=1)[np.arange(len(codes)), codes]


def _error(gains: Array) -> float:
    """The standard error of a mean over rows."""
    return float(gains.std(ddof=1) / np.sqrt(len(gains))) if len(gains) > 1 else np.nan


def _telling(frame: pd.DataFrame) -> str:
    """Which columns tell most, and which do harm."""
    telling = frame[frame["alone"] > 2 * frame["alone ±"]]
    harmful = frame[frame["without"] < -2 * frame["without ±"]]
    if telling.empty:
        said = "No column tells anything credible about the class by itself."
    else:
        named = ", ".join(f"{name} ({line['alone']:.2f} nats)" for name, line in telling.head(3).iterrows())
        said = f"By themselves, these columns tell most about the class: {named}."
    if harmful.empty:
        return said
    few = ", ".join(map(str, harmful.sort_values("without").index[:3]))
    verb = "is" if len(harmful) == 1 else "are"
    return f"{said} {len(harmful)} of {len(frame)} columns {verb} better left out, one at a time: first {few}."


def taken_for(clf: BayesianNB, remarks: Sequence[str] = ()) -> Section:
    """The family, the prior and the levels of each column, and remarks about them."""
    frame = clf.describe()
    plain = [
        *(["columns"] if (frame["columns"] == 1).all() else []),
        *([] if hasattr(clf.classifier_, "choice") else ["chosen"]),
    ]
    said = [Findings([(remark, None) for remark in remarks])] if remarks else []
    return Section(READ, [*_cut(frame.drop(columns=plain), "Families and priors"), *said], folded=True)


def parameters(clf: BayesianNB) -> Section:
    """What was learned of each column."""
    point = "posterior mean" if clf.estimate in ("predictive", "mean") else clf.estimate.upper() + " estimate"
    parts: list[Part] = [
        f"At the {point}, one row a class: probabilities of levels, mean and sd of reals, rates of counts."
    ]
    for name, frame in clf.tables().items():
        wide = frame.shape[1] > 8 and frame.index.nlevels == 1
        parts += _cut(frame.T.rename_axis("level") if wide else frame, one_line(name))
    return Section(PARAMETERS, parts, folded=True)


def evidence(clf: BayesianNB, table: Table) -> Section:
    """The marginal likelihood of each column, and whether the classes differ in it."""
    found = clf.classifier_.log_evidence()
    frame = pd.DataFrame({"log evidence": {name: float(value) for name, value in found.features.items()}})
    text = (
        f"log p(column | classes), all parameters integrated out, in nats. With log p(classes) = {found.label:.4g} "
        f"they make log p(data) = {found.joint:.6g}."
    )
    try:
        asked = learning.Parameters.of(clf, class_prior=None, estimate="predictive")
        pooled = learning.fitted(asked, table, np.zeros(table.n_rows, int)).log_evidence().features
    except ValueError:
        # A prior that is given by class has no counterpart for one class.
        pooled = None
    if pooled is not None:
        frame["Bayes factor"] = frame["log evidence"] - frame.index.map(dict(pooled))
        text += (
            " Bayes factor: its logarithm for a distribution in each class against one for all; above 0, the column "
            "tells classes apart; below 0, it does not on these rows."
        )
        frame = frame.sort_values("Bayes factor", ascending=False, kind="stable")
    return Section(EVIDENCE, [text, *_cut(frame.rename_axis("column"), "Evidence of each column")], folded=True)


def _first(caption: str, n: int, most: int) -> str:
    return f"{caption}: the first {most} of {n}" if n > most else caption


def _cut(frame: pd.DataFrame, caption: str, folded: bool = False) -> Iterator[Part]:
    """Yield the first rows and columns of a table, and a sentence about those left out."""
    yield Grid(frame.iloc[:LONGEST, :LONGEST], caption, folded)
    for size, what in zip(frame.shape, ("rows", "columns"), strict=True):
        if size > LONGEST:
            yield f"{caption}: the first {LONGEST} of {size} {what}."
