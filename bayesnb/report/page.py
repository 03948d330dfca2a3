"""The content of the page of a fitted model: one section for each question, the same in every format."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from bayesnb.__about__ import __version__
from bayesnb.data.tables import Table
from bayesnb.data.targets import read_target
from bayesnb.data.writers import replacing
from bayesnb.estimator import BayesianNB
from bayesnb.evaluation.estimates import MOST_SCORED
from bayesnb.inference.draws import probability_of_interval
from bayesnb.inference.explain import UNITS
from bayesnb.priors import Array
from bayesnb.report import checks, columns, dependence, labels, priors, scores, uncertain
from bayesnb.report.html import MARK, html
from bayesnb.report.markdown import markdown
from bayesnb.report.parts import Findings, Grid, Page, Section, count_of, one_line

LOOK = "What to look at"
MADE = "How this page was made"

MOST_REMARKS = 4
"""Remarks about the table that stand first; the others stand beside the families of the columns."""


def report(
    clf: BayesianNB,
    X: Any,
    y: Any,
    title: str = "Naive Bayes report",
    format: Literal["html", "md"] = "html",
    explain: int = 5,
    by: Literal["total", "epistemic"] = "total",
    unit: str = "nats",
    prob: float | None = None,
    draws: int = 4000,
    progress: Callable[[str], None] | None = None,
    cv: int | Literal["loo"] = "loo",
    rows: int | None = MOST_SCORED,
    remarks: Sequence[str] = (),
) -> str:
    """The page of a fitted classifier.

    Parameters
    ----------
    clf : BayesianNB
        Fitted.
    X, y : table and labels
        The rows that it was fitted with; the estimator keeps none.
    title : str
    format : {"html", "md"}
        One self-contained HTML page, or Markdown, with tables in place of the pictures.
    explain : int
        How many of the most uncertain rows to show with their contributions; 0 for none.
    by : {"total", "epistemic"}
        Which entropy makes a row uncertain.
    unit : {"nats", "bits", "decibans"}
        The unit of the contributions.
    prob : float, optional
        The probability of the intervals; ArviZ's ``stats.ci_prob`` (0.89) by default.
    draws : int
        The number of exact posterior draws for the entropies.
    progress : callable, optional
        It is called with a text that says what is being computed.
    cv : int or "loo"
        Score by this many folds, or by exact leave-one-out.
    rows : int or None
        Score at most so many rows, drawn at random; None scores all. All were learned.
    remarks : sequence of str
        Sentences about the table that stand first among what to look at, such as those of ``bayesnb inspect``.

    Returns
    -------
    str
        The page. A section that the model does not have (such as the evidence under an improper prior) says why.

    Raises
    ------
    ValueError
        If an argument has another value than those above, or the rows are not those that were learned.
    NotFittedError
        If the classifier is not fitted.
    """
    writers = {"html": html, "md": markdown}
    for name, value, known in (("format", format, writers), ("by", by, ("total", "epistemic")), ("unit", unit, UNITS)):
        if value not in known:
            raise ValueError(f"Expected {name} to be one of {list(known)}; got {value!r}")
    if not isinstance(explain, int | np.integer) or explain < 0:
        raise ValueError(f"Expected explain to be an integer of 0 or more; got {explain!r}")
    check_is_fitted(clf)
    table = Table.of(X)
    index = X.index if isinstance(X, pd.DataFrame) else pd.RangeIndex(table.n_rows)
    codes = _learned_codes(clf, table, y)
    share = probability_of_interval(prob)
    say = progress or (lambda _: None)
    say("scoring each estimate on rows that it has not learned")
    worth, calibration, estimates = _scored(clf, table, y, cv, rows, share)
    say("asking what each column tells")
    others = [_or_reason(columns.MATTER, lambda: columns.matter(clf, table, codes))]
    say(f"splitting the uncertainty of the rows over {draws} posterior draws")
    others.append(
        _or_reason(
            uncertain.UNCERTAIN,
            lambda: uncertain.uncertain(clf, table, index, codes, explain, by, unit, share, draws),
        )
    )
    say("weighing each pair of columns against independence")
    found = cache(lambda: clf.independence(table, y, prob=share))
    say("doubting each label by the model of all the other rows")
    others.append(_or_reason(labels.TITLE, lambda: labels.labels_to_doubt(clf, table, y, index, found)))
    others += [calibration, estimates]
    others.append(_or_reason(dependence.TITLE, lambda: dependence.dependence(found(), share)))
    say("comparing the rows with tables that the model makes")
    others.append(_or_reason(checks.FIT, lambda: checks.fit(clf, table, y, share)))
    say("raising each prior to a power")
    others.append(_or_reason(priors.PRIORS, lambda: priors.priors(clf, table)))
    say("evidence by column")
    others += [columns.taken_for(clf, [_sentence(remark) for remark in remarks]), columns.parameters(clf)]
    others += [_or_reason(columns.EVIDENCE, lambda: columns.evidence(clf, table)), _made()]
    say(f"writing {format}")
    return writers[format](Page(title, _about(clf, table, y), [worth, _look(remarks, [worth, *others]), *others]))


def write(page: str, path: str | Path) -> None:
    """Write a page as UTF-8 so that the file is at every moment the old one or the whole new one.

    Raises
    ------
    OSError
        If the folder does not exist or cannot be written; the old file is then as it was.
    """
    with replacing(path) as part:
        part.write_text(page, encoding="utf-8", newline="\n")


def is_report(path: str | Path) -> bool:
    """True if a file is a page that :func:`report` wrote, as HTML or as Markdown."""
    text = Path(path).read_bytes()
    headings = (f"\n## {title}\n".encode() for title in (scores.WORTH, LOOK, MADE))
    return MARK.encode() in text[:2000] or all(heading in text for heading in headings)


def _learned_codes(clf: BayesianNB, table: Table, y: Any) -> Array:
    """Encode the classes of the rows. Rows other than the learned ones are refused."""
    target = read_target(y, clf.unlabelled)
    if len(target) != table.n_rows:
        raise ValueError(f"X has {table.n_rows} rows and y has {len(target)}")
    if not target.complete:
        raise ValueError(f"{int((~target.labelled).sum())} rows have no label: fit and report the labelled rows")
    codes = target.among(clf.classes_)
    count = np.bincount(codes, minlength=len(clf.classes_))
    if not np.allclose(count, clf.class_count_):
        raise ValueError(
            f"Expected the rows that were learned, unweighted: {_counts(clf.classes_, clf.class_count_)}; "
            f"got {_counts(clf.classes_, count)}"
        )
    return codes


def _counts(classes: Array, count: Array) -> str:
    return ", ".join(f"{n:g} of {label!r}" for label, n in zip(classes.tolist(), count, strict=True))


def _or_reason(title: str, build: Callable[[], Section]) -> Section:
    """Build a section, or write the reason why this model has none."""
    try:
        return build()
    except ValueError as error:
        return Section(title, [f"Not available: {error}."])


def _scored(clf: BayesianNB, table: Table, y: Any, cv: Any, rows: int | None, share: float) -> list[Section]:
    """The sections about scores, all of which stand on the same held-out rows."""
    builders = {
        scores.WORTH: scores.worth, scores.CALIBRATION: scores.calibration, scores.ESTIMATES: scores.estimates,
    }  # fmt: skip
    try:
        found = scores.scored(clf, table, y, cv, rows, share)
    except ValueError as error:
        return [Section(title, [f"Not available: {error}."]) for title in builders]
    return [_or_reason(title, lambda build=build: build(found)) for title, build in builders.items()]


def _about(clf: BayesianNB, table: Table, y: Any) -> str:
    """What the page is about."""
    target = getattr(y, "name", None)
    named = "" if target is None else f" of {one_line(target)}"
    classes = dict(zip(clf.classes_.tolist(), clf.class_count_.tolist(), strict=True))
    said = (
        f"{table.n_rows:,} rows, {len(clf.schema_.names):,} columns, {len(classes)} classes{named}: "
        f"{count_of(classes)}. Estimate: {clf.estimate}."
    )
    return said if clf.dependence is None else f"{said} Dependence: {clf.dependence}."


def _look(remarks: Sequence[str], sections: Sequence[Section]) -> Section:
    """The list of what to look at: remarks about the table, and what the sections have found."""
    items: list[tuple[str, str | None]] = [(_sentence(remark), None) for remark in remarks[:MOST_REMARKS]]
    if (more := len(remarks) - MOST_REMARKS) > 0:
        items.append((f"{more} more remark{'s' * (more > 1)} about columns.", columns.READ))
    items += [(section.finding, section.title) for section in sections if section.finding]
    return Section(LOOK, [Findings(items)])


def _sentence(text: str) -> str:
    """A remark with a capital letter and a full stop."""
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "?", "!")) else ".")


def _made() -> Section:
    import platform
    from importlib.metadata import version

    versions = {"bayesnb": __version__, "Python": platform.python_version()}
    versions |= {name: version(name) for name in ("numpy", "scipy", "scikit-learn", "pandas", "matplotlib")}
    frame = pd.DataFrame({"version": versions}).rename_axis("package")
    written = f"Written {datetime.now(UTC):%Y-%m-%d %H:%M} UTC."
    return Section(MADE, [written, Grid(frame, "Versions")], folded=True)
