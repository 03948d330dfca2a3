"""The content of a report on a fitted model, the same in HTML and Markdown."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bayesnb.__about__ import __version__
from bayesnb.data.rows import given_beside
from bayesnb.data.tables import Table
from bayesnb.data.targets import read_target
from bayesnb.data.writers import replacing
from bayesnb.evaluation import comparison
from bayesnb.evaluation.estimates import MOST_SCORED
from bayesnb.evaluation.folds import require_folds
from bayesnb.inference.draws import probability_of_interval
from bayesnb.inference.explain import UNITS, Unit
from bayesnb.inference.questions import QUESTIONS
from bayesnb.priors import Array
from bayesnb.progress import counted
from bayesnb.report import parts, scores
from bayesnb.report.questions import UNCERTAIN, Asking, Held
from bayesnb.report.writer import MARK, page_as
from bayesnb.wording import Form, Message, require_choice, require_whole

if TYPE_CHECKING:
    from bayesnb.estimator import BayesianNB

LOOK = "What to look at"
MADE = "How this page was made"
TELLS, READ = "What each column tells", "How each column was read"

OPEN = {scores.WORTH, TELLS}
"""Sections that are open at first; with the findings they take less than three screens."""

ORDER = (
    scores.WORTH, TELLS, UNCERTAIN, "Labels to doubt", scores.CALIBRATION, scores.ESTIMATES,
    "Dependence between columns", "Does the model fit", "How much the priors matter", "Rows that a prior decides",
    READ, "Parameters", scores.EVIDENCE,
)  # fmt: skip
"""The sections in order of importance; other questions follow."""

MOST_REMARKS = 4
"""Number of remarks at the top of the page; all are listed with the families of the columns."""


def report(
    clf: BayesianNB | Held,
    X: Any,
    y: Any,
    title: str = "Naive Bayes report",
    format: Literal["html", "md"] = "html",
    explain: int = 5,
    by: Literal["total", "epistemic"] = "total",
    unit: Unit = "nats",
    prob: float | None = None,
    draws: int = 4000,
    cv: int | Literal["loo"] = "loo",
    rows: int | None = MOST_SCORED,
    remarks: Sequence[parts.Sentence] = (),
    form: Form = "python",
) -> str:
    """Write the report of a fitted classifier.

    Parameters
    ----------
    clf : BayesianNB
        Fitted.
    X, y : table and labels
        Exactly the learned rows.
    title : str
    format : {"html", "md"}
        One self-contained HTML page, or Markdown without pictures.
    explain : int
        Number of most uncertain rows to explain; may be 0.
    by : {"total", "epistemic"}
        Whether to rank rows by total or by epistemic entropy.
    unit : {"nats", "bits", "decibans"}
        The unit of the contributions.
    prob : float, optional
        Probability of the intervals; ArviZ's ``stats.ci_prob`` (0.89) by default.
    draws : int
        Number of posterior draws for the entropies.
    cv : int or "loo"
        Number of folds for scoring, or exact leave-one-out.
    rows : int, or None for all
        Largest number of rows to score. The rows are drawn at random.
    remarks : sequence of str
        Sentences about the table, shown as the first findings of the report.
    form : {"python", "command"}
        Whether recommendations are written as Python code or as command-line options.

    Returns
    -------
    str
        The page. The last section names each omitted section and gives the reason.

    Raises
    ------
    ValueError
        If an argument has an unknown value, or the rows differ from the learned rows.
    NotFittedError
        If the classifier is not fitted.
    """
    choices = {"format": (format, ("html", "md")), "by": (by, ("total", "epistemic")), "unit": (unit, UNITS)}
    for name, (value, known) in choices.items():
        require_choice(name, value, known)
    require_whole(0, explain=explain)
    y, X = given_beside(X, {"y": y})
    model, table = clf.classifier_, Table.of(X)
    codes = _learned_codes(clf, table, y)
    require_folds(read_target(y, model.unlabelled_rows.marker), cv)
    share = probability_of_interval(prob)
    key: Any = clf.estimate if clf.dependence is None else clf.dependence

    @cache
    def compared() -> Any:
        other = "pairwise" if clf.dependence in (None, "weighted") else clf.dependence
        found = comparison(clf, table, y, cv, ["weighted", other], rows, prob=share)
        if key in found.absent:
            raise found.absent[key]
        return found

    asking = Asking(model, table, y, share, form)

    def audited() -> parts.Section:
        made = asking.section("independence")
        if model.dependence is not None:
            return made
        # The scores of held-out rows recommend a dependence, so the audit does not.
        said = Message("{evidence}.", evidence=asking.answer("independence").evidence)
        return replace(made, lead=said, finding=said)

    steps: dict[str, Callable[[], parts.Section]] = {
        scores.WORTH: lambda: scores.worth(compared().card(key), compared().recommendation),
        UNCERTAIN: lambda: asking.uncertain(codes, explain, by, unit, draws),
        scores.CALIBRATION: lambda: scores.calibration(compared(), key),
        scores.ESTIMATES: lambda: scores.estimates(compared()),
        scores.EVIDENCE: lambda: scores.evidence(clf, table),
        QUESTIONS["independence"].shown.title: audited,
    }
    named = {each.shown.title: each.name for each in QUESTIONS.values() if each.shown and each.shown.title}
    steps = {title: partial(asking.section, name) for title, name in named.items()} | steps
    sections, missing = [], []
    order = sorted(steps, key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER))
    for title_of in counted("writing the report", order, "sections"):
        try:
            sections.append(steps[title_of]())
        except ValueError as error:
            missing.append(Message("Not shown: {title}, because {error}.", title=title_of, error=error))
    sections = [*parts.by_position(sections)] if asking.numbered else sections
    places = {section.title: k for k, section in enumerate(sections)}
    for name in OPEN & places.keys():
        sections[places[name]] = replace(sections[places[name]], folded=False)
    if remarks and (k := places.get(READ)) is not None:
        remarked = parts.FindingList([(remark, None) for remark in remarks])
        sections[k] = replace(sections[k], parts=[*sections[k].parts, remarked])
    items: list[tuple[parts.Sentence, str | None]] = [(remark, None) for remark in remarks[:MOST_REMARKS]]
    if (more := len(remarks) - MOST_REMARKS) > 0:
        items.append((f"{more} more remark{'s' * (more > 1)} about columns.", READ))
    items += [(section.finding, section.title) for section in sections if section.finding]
    sections.insert(1, parts.Section(LOOK, [parts.FindingList(items)]))
    return page_as(title, _about(clf, table, y), [*sections, _made(missing)], format, form)


def write(page: str, path: str | Path) -> None:
    """Write a page to a file, completely or not at all."""
    with replacing(path) as part:
        part.write_text(page, encoding="utf-8", newline="\n")


def is_report(path: str | Path) -> bool:
    """Whether :func:`report` wrote the file."""
    text = Path(path).read_bytes()
    headings = (f"\n## {title}\n".encode() for title in (LOOK, MADE))
    return MARK.encode() in text[:2000] or all(heading in text for heading in headings)


def _learned_codes(clf: BayesianNB | Held, table: Table, y: Any) -> Array:
    model = clf.classifier_
    target = read_target(y, model.unlabelled_rows.marker).of_rows(table.n_rows)
    target.require_labels("a report is of rows with a label")
    codes = target.among(model.classes_)
    count = np.bincount(codes, minlength=len(model.classes_))
    model.require_learned(count, "a report is of the rows of the fit, unweighted")
    return codes


def _about(clf: BayesianNB | Held, table: Table, y: Any) -> str:
    model, target = clf.classifier_, getattr(y, "name", None)
    named = "" if target is None else f" of {parts.one_line(target)}"
    classes = dict(zip(model.classes_.tolist(), model.statistics.rows.tolist(), strict=True))
    dependence = model.dependence
    averaged = "" if dependence is None or not dependence.exponents.said else f"; {dependence.exponents.said}"
    return (
        f"{table.n_rows:,} rows, {len(model.schema.raw):,} columns, {len(classes)} classes{named}: "
        f"{parts.count_of(classes)}. Estimate: {clf.estimate}."
        + ("" if clf.dependence is None else f" Dependence: {clf.dependence}{averaged}.")
    )


def _made(missing: Sequence[parts.Sentence]) -> parts.Section:
    packages = ("numpy", "scipy", "scikit-learn", "pandas", "matplotlib")
    versions = {"bayesnb": __version__, "Python": platform.python_version()}
    versions |= {name: version(name) for name in packages}
    said = ", ".join(f"{name} {number}" for name, number in versions.items())
    return parts.Section(MADE, [f"Written {datetime.now(UTC):%Y-%m-%d %H:%M} UTC by {said}.", *missing], folded=True)
