"""The content of the page of a fitted model: one section for each question, the same in every format."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.stats import entropy
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from bayesnb import plots
from bayesnb.__about__ import __version__
from bayesnb.answers.explain import UNITS
from bayesnb.answers.uncertainty import probability_of_interval
from bayesnb.data.tables import Table
from bayesnb.data.targets import read_target
from bayesnb.data.writers import replacing
from bayesnb.estimator import BayesianNB
from bayesnb.evaluation import comparison, few_folds, held_out, rows_at
from bayesnb.priors import Array
from bayesnb.report.checks import FIT, fit
from bayesnb.report.dependence import TITLE, dependence
from bayesnb.report.html import MARK, html
from bayesnb.report.labels import TITLE as LABELS
from bayesnb.report.labels import labels_to_doubt
from bayesnb.report.markdown import markdown
from bayesnb.report.parts import Grid, Part, Picture, Section, one_line
from bayesnb.report.priors import PRIORS, priors
from bayesnb.report.sets import sets

LONGEST = 40
"""Rows and columns of a table that are written out; of the rest, the page says how many there are."""

CANDIDATES = 500
"""Rows whose uncertainty is split by draws: those of the highest predictive entropy."""


def report(
    clf: BayesianNB,
    X: Any,
    y: Any,
    title: str = "Naive Bayes report",
    format: Literal["html", "md"] = "html",
    rows: int = 5,
    by: Literal["total", "epistemic"] = "total",
    unit: str = "nats",
    prob: float | None = None,
    draws: int = 4000,
    progress: Callable[[str], None] | None = None,
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
    rows : int
        How many of the most uncertain rows to show with their ledgers; 0 for none.
    by : {"total", "epistemic"}
        Which entropy makes a row uncertain.
    unit : {"nats", "bits", "decibans"}
        The unit of the ledgers.
    prob : float, optional
        The probability of the intervals; ArviZ's ``stats.ci_prob`` (0.89) by default.
    draws : int
        The number of exact posterior draws for the entropies.
    progress : callable, optional
        It is called with a text that says what is being computed.

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
    if not isinstance(rows, int | np.integer) or rows < 0:
        raise ValueError(f"Expected rows to be an integer of 0 or more; got {rows!r}")
    check_is_fitted(clf)
    table = Table.of(X)
    labels = X.index if isinstance(X, pd.DataFrame) else pd.RangeIndex(table.n_rows)
    codes = _learned_codes(clf, table, y)
    share = probability_of_interval(prob)
    say = progress or (lambda _: None)
    sections = [_overview(clf, table, y), _columns(clf), _parameters(clf)]
    say("scoring the four estimates by exact leave-one-out")
    sections.append(_or_reason("The four estimates, by exact leave-one-out", lambda: _comparison(clf, table, y, share)))
    sections.append(_or_reason("Calibration", lambda: _calibration(clf, table, y, codes, share)))
    say("weighing each pair of columns against independence")
    sections.append(_or_reason(TITLE, lambda: dependence(clf, table, y, share)))
    say("comparing the rows with tables that the model makes")
    sections.append(_or_reason(FIT, lambda: fit(clf, table, y, share)))
    say("doubting each label by the model of all the other rows")
    sections.append(_or_reason(LABELS, lambda: labels_to_doubt(clf, table, y, labels)))
    say(f"splitting the uncertainty of the rows over {draws} posterior draws")
    sections.append(
        _or_reason("Uncertain rows", lambda: _uncertain(clf, table, labels, codes, rows, by, unit, share, draws))
    )
    say("raising each prior to a power")
    sections.append(_or_reason(PRIORS, lambda: priors(clf, table)))
    say("evidence by column")
    sections.append(_or_reason("Evidence", lambda: _evidence(clf, table)))
    sections.append(_versions())
    say(f"writing {format}")
    return writers[format](title, sections)


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
    headings = (b"\n## Data\n", b"\n## What each column got\n", b"\n## Versions\n")
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


def _overview(clf: BayesianNB, table: Table, y: Any) -> Section:
    frame = pd.DataFrame(
        {"rows": clf.class_count_, "share": clf.class_count_ / clf.class_count_.sum()},
        index=pd.Index(clf.classes_, name="class"),
    )
    target = getattr(y, "name", None)
    named = "" if target is None else f" Target: {target}."
    return Section(
        "Data",
        [
            f"{table.n_rows} rows, {len(clf.schema_.names)} columns, {len(clf.classes_)} classes.{named} "
            f"Estimate: {clf.estimate}." + ("" if clf.dependence is None else f" Dependence: {clf.dependence}."),
            *_cut(frame, "Rows of each class"),
        ],
    )


def _columns(clf: BayesianNB) -> Section:
    frame = clf.describe().drop(columns="columns")
    text = (
        "Each column is read by one family of distributions, with its parameters drawn from the prior; missing is the "
        "share of values that are."
    )
    return Section("What each column got", [text, *_cut(frame, "Families and priors")])


def _parameters(clf: BayesianNB) -> Section:
    point = "posterior mean" if clf.estimate in ("predictive", "mean") else clf.estimate.upper() + " estimate"
    parts: list[Part] = [
        f"At the {point}, one row a class: probabilities of levels, mean and sd of reals, rates of counts."
    ]
    for name, frame in clf.tables().items():
        wide = frame.shape[1] > 8 and frame.index.nlevels == 1
        parts += _cut(frame.T.rename_axis("level") if wide else frame, one_line(name))
    return Section("Parameters", parts)


def _cut(frame: pd.DataFrame, caption: str) -> Iterator[Part]:
    """Yield the first rows and columns of a table, and a sentence about those left out."""
    yield Grid(frame.iloc[:LONGEST, :LONGEST], caption)
    for size, what in zip(frame.shape, ("rows", "columns"), strict=True):
        if size > LONGEST:
            yield f"{caption}: the first {LONGEST} of {size} {what}."


def _comparison(clf: BayesianNB, table: Table, y: Any, share: float) -> Section:
    found = comparison(clf, table, y, prob=share)
    card = found.card()
    notes = [f"{name}: {note}." for name, note in found.table["note"].items() if note]
    shown = found.table.drop(columns=["note", "accuracy_lower", "accuracy_upper", "balanced_accuracy"])
    if not shown["impossible"].fillna(0).any():
        shown = shown.drop(columns="impossible")
    yardstick = (
        f"lower and upper are {share:.0%} intervals; claimed is what the score would be if the probabilities were "
        "true; frequencies is the score of the class shares, the same for each row, and majority that of always saying "
        "the largest class. log_loss is in nats; brier runs from 0 to 2; ece is the expected calibration error; auc is "
        "the area under the ROC curve, of several classes the mean of each pair."
    )
    text = (
        "Each row is predicted by the model that has learned all the others, in closed form. difference is the mean "
        "difference of the log loss from the best, row by row, with its standard error; from_predictive is the largest "
        "difference of a class probability from full Bayes. The last rows are models whose columns may depend on each "
        "other; their exponents learn from the labels, so they are scored by folds."
    )
    parts: list[Part] = [
        found.sentence,
        Grid(card.table, "Scores of full Bayes"),
        yardstick,
        Grid(card.confusion.iloc[:LONGEST, :LONGEST], "True classes (rows) and predicted ones (columns)", folded=True),
        Grid(card.by_class.iloc[:LONGEST], "Recall and precision of each class", folded=True),
        text,
        Grid(shown, "Scores of each estimate"),
    ]
    return Section("The four estimates, by exact leave-one-out", [*parts, *notes])


def _calibration(clf: BayesianNB, table: Table, y: Any, codes: Array, share: float) -> Section:
    if clf.dependence is None:
        how, proba = "leave-one-out", clf.loo(table, y)["probability"].to_numpy()
    else:
        # Exponents learn from the labels, so that a row cannot be left out of them without another fit.
        cv = few_folds(codes)
        how, proba = f"{cv}-fold", held_out(clf, table, y, cv)[0]
    frame = plots.reliability_table(proba, codes, prob=share)
    worst = frame.loc[(frame["share"] - frame["confidence"]).abs().idxmax()]
    says = (
        f"Reliability of the {how} predictions of {len(codes)} rows in {len(frame)} bins of confidence. "
        f"Farthest from the diagonal: confidence {worst['confidence']:.2f}, true in {worst['share']:.2f} of "
        f"{worst['rows']:.0f} rows."
    )
    text = (
        f"How often the most probable class is the true one, by its {how} probability ({clf.estimate}). "
        f"The intervals are binomial, {share:.0%}."
    )
    frame = frame.set_index(frame["from"].map("{:.1f}".format) + " to " + frame["to"].map("{:.1f}".format))
    frame = frame.rename_axis("probability").drop(columns=["from", "to"])
    picture = Picture(plots.reliability(proba, codes, prob=share), f"Calibration, {how}", says)
    grid = Grid(frame, "Calibration, bin by bin", folded=True)
    return Section("Calibration", [text, picture, grid, *sets(proba, codes, clf.classes_, how)])


def _uncertain(
    clf: BayesianNB,
    table: Table,
    labels: pd.Index,
    codes: Array,
    rows: int,
    by: str,
    unit: str,
    share: float,
    draws: int,
) -> Section:
    log_proba = clf.predict_log_proba(table)
    order = np.argsort(-entropy(np.exp(log_proba), axis=1), kind="stable")
    chosen = np.sort(order[:CANDIDATES])
    split = clf.uncertainty(rows_at(table, chosen), prob=share, draws=draws)
    split.insert(0, "true", clf.classes_[codes[chosen]])
    split.index = labels[chosen].rename("row")
    text = (
        "The entropy of a row's class (total, in nats) is the sum of what is expected to remain if the parameters were "
        "known (aleatoric) and of what knowing them would remove (epistemic). lower and upper bound the probability of "
        f"the predicted class, under the posterior of the parameters, with probability {share:.0%}; top is the "
        "probability that it is the most probable class. The rows were learned, so that they look a little surer than "
        "new ones."
    )
    parts: list[Part] = [text]
    if table.n_rows > len(chosen):
        parts.append(f"Of {table.n_rows} rows, the {len(chosen)} with the highest predictive entropy are shown.")
    says = (
        f"Aleatoric against epistemic entropy of {len(chosen)} rows. Largest: aleatoric {split['aleatoric'].max():.3g} "
        f"nats, epistemic {split['epistemic'].max():.3g} nats."
    )
    parts.append(Picture(plots.uncertainty_scatter(split), "Uncertainty of each row", says))
    top = np.argsort(-split[by].to_numpy(), kind="stable")[:rows]
    if len(top):
        parts.append(Grid(split.iloc[top], f"The rows of the highest {by} entropy"))
    for k in top:
        parts += _ledger(clf, table, chosen[k], labels[chosen[k]], unit, share)
    return Section("Uncertain rows", parts)


def _ledger(clf: BayesianNB, table: Table, position: int, label: Any, unit: str, share: float) -> Iterator[Part]:
    """The ledger of one row, as a picture and as a table."""
    frame = clf.explain(rows_at(table, np.array([position])), unit=unit, prob=share)
    frame = frame.reset_index("row", drop=True)
    pair, total = frame.iloc[-1][["label", "against"]], frame["log_odds"].iloc[-1]
    largest = frame.iloc[1:-1]["log_odds"].abs().to_numpy().argmax() + 1
    says = (
        f"Ledger of row {one_line(label)}: log-odds of {one_line(pair['label'])} against {one_line(pair['against'])}, "
        f"{total:+.3g} {unit} in all; the largest entry is {one_line(frame.index[largest])}, "
        f"{frame['log_odds'].iloc[largest]:+.3g} {unit}."
    )
    value = [
        ("missing" if gone else "" if v is None else v)
        for v, gone in zip(frame["value"], frame["missing"], strict=True)
    ]
    numbers = frame[["log_odds", "lower", "upper"]].assign(value=pd.Series(value, frame.index, dtype=object))
    caption = f"Row {one_line(label)}, {one_line(pair['label'])} against {one_line(pair['against'])} [{unit}]"
    yield Picture(plots.ledger(frame, unit), caption, says)
    whole = numbers[["value", "log_odds", "lower", "upper"]]
    if len(whole) > LONGEST:
        yield f"{caption}: the first {LONGEST} of {len(whole)} entries, and the total."
        whole = pd.concat([whole.iloc[:LONGEST], whole.iloc[[-1]]])
    yield Grid(whole, caption, folded=True)


def _evidence(clf: BayesianNB, table: Table) -> Section:
    evidence = clf.classifier_.log_evidence()
    frame = pd.DataFrame({"log_evidence": {name: float(value) for name, value in evidence.features.items()}})
    pooled = _pooled_evidence(clf, table)
    text = (
        f"log p(column | classes), all parameters integrated out, in nats. With log p(classes) = {evidence.label:.4g} "
        f"they make log p(data) = {evidence.joint:.6g}."
    )
    if pooled is not None:
        frame["bayes_factor"] = frame["log_evidence"] - frame.index.map(pooled)
        text += (
            " bayes_factor is the logarithm of the Bayes factor for a distribution in each class against one for all: "
            "above 0, the column tells classes apart; below 0, it does not on these rows."
        )
        frame = frame.sort_values("bayes_factor", ascending=False, kind="stable")
    return Section("Evidence", [text, *_cut(frame.rename_axis("column"), "Evidence of each column")])


def _pooled_evidence(clf: BayesianNB, table: Table) -> dict[Any, float] | None:
    """log p(column) as if there were one class; None if a prior is given by class."""
    try:
        one = clone(clf).set_params(class_prior=None, estimate="predictive").fit(table, np.zeros(table.n_rows, int))
        return dict(one.classifier_.log_evidence().features)
    except ValueError:
        return None


def _versions() -> Section:
    import platform
    from importlib.metadata import version

    versions = {"bayesnb": __version__, "Python": platform.python_version()}
    versions |= {name: version(name) for name in ("numpy", "scipy", "scikit-learn", "pandas", "matplotlib")}
    frame = pd.DataFrame({"version": versions}).rename_axis("package")
    return Section("Versions", [f"Written {datetime.now(UTC):%Y-%m-%d %H:%M} UTC.", Grid(frame, "Versions")])
