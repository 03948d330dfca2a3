"""``bayesnb score``, ``audit`` and ``report``: how good a model is, and which rows contradict it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayesnb.cli import options, outputs
from bayesnb.cli.models import fitted, load_model
from bayesnb.cli.printing import print_answer
from bayesnb.cli.settings import Settings
from bayesnb.cli.sources import opened_for
from bayesnb.cli.terminal import say, warn
from bayesnb.wording import nearest, rows_at, some

if TYPE_CHECKING:
    import pandas as pd

    from bayesnb.data.csv_reader import Format
    from bayesnb.evaluation import Folds
    from bayesnb.inference.classifier import Classifier


@options.command(
    "MODEL TEST", "bayesnb.evaluation:scorecard", f"TEST is the name of an embedded data set, {options.FILES}.",
    absent="absent_now",
)  # fmt: skip
def score(
    model: str, test: str, target: str | None, absent: str | None, prob: float, random_state: int, layout: str,
    format: Format,
) -> int:  # fmt: skip
    """Score a model on rows that it has not learned.

    The output is one sentence, a table of scores and a confusion matrix. The table shows each score with an interval,
    the score that the model expects, and the score of predicting the class frequencies. Rows of a class that was never
    learned are counted but not scored. Each row counts once, even if the model was fitted with weights.
    """
    from bayesnb.data.new_rows import said_of, unseen_levels
    from bayesnb.data.tables import Table
    from bayesnb.evaluation import scorecard
    from bayesnb.report import scores

    clf, target = load_model(model, absent, target)
    table = opened_for(clf, test, format, target)
    if target not in table.names:
        close = nearest(target, [name for name in table.names if name not in table.learned])
        hint = f"did you mean --target {close}?" if close else f"its columns are {some(table.names)}."
        raise ValueError(
            f"{table.name} has no column {target!r}, so there is no true class to score against; {hint} "
            "bayesnb predict needs no classes"
        )
    X, y = table.load(target)
    say(f"{table.name}: {len(X):,} rows, target {target!r}")
    with rows_at(X.index):
        card = scorecard(clf, X, _as_learned(y, clf), cv=None, prob=prob, random_state=random_state)
    for sentence in said_of(unseen_levels(clf.schema, clf.schema.through(Table.of(X))), len(X), clf.schema):
        warn(sentence)
    document = {"model": model, "data": table.name, "target": target} | card.document
    print_answer(layout, document, card.table, lambda: [scores.worth(card)])
    return 0


def _as_learned(y: pd.Series, clf: Classifier) -> Any:
    """Replace each label by the learned class that differs from the label only in type, such as "1" by 1."""
    learned = clf.classes_.tolist()
    texts, known = {str(label): label for label in learned}, {*learned}
    each = {label: label if label in known else texts.get(str(label), label) for label in y.unique().tolist()}
    return y if all(key is label for key, label in each.items()) else y.map(each)


@options.command(
    "DATA",
    "bayesnb.inference.predictive_checks:predictive_checks",
    options.EMBEDDED,
    output="to_picture",
    settings="naive",
)
def audit(
    data: str, target: str | None, top: int, prob: float, output: str | None, layout: str, settings: Settings,
    format: Format, force: bool,
) -> int:  # fmt: skip
    """Find doubtful labels and dependent columns.

    DATA is the name of an embedded data set, or a path as for `fit`, with at most 200 columns. Naive Bayes assumes that
    the columns are independent given the class. For every pair of columns, the audit computes a Bayes factor, the
    mutual information, and the decrease in held-out log loss if the dependence of the pair is modelled. The audit also
    compares each column, and each pair of columns, with tables simulated from the model. A label is doubtful if the
    model of all other rows gives the label a small probability. If the audit recommends a dependence, the model that
    judges the labels includes this dependence.

    The first sentence of the output recommends a value of --dependence. `compare` and `report` show how much the
    recommended dependence improves predictions.
    """
    from bayesnb.data.tables import Table
    from bayesnb.report.questions import Asking

    outputs.require_output(output, "picture", [data], outputs.is_picture, force)
    learned = fitted(data, target, format, replace(settings, dependence="none"))
    asking = Asking(learned.clf, Table.of(learned.X), learned.y, prob)
    say("weighing each pair of columns against independence")
    found = asking.answer("independence")
    say("comparing the rows with tables that the model makes")
    fit = asking.answer("predictive_checks")
    if left := [name for name in learned.clf.schema.names if name not in found.columns]:
        more = ", …" if len(left) > 5 else ""
        say(f"not compared (more than 64 levels, text to count, or exposure): {', '.join(map(repr, left[:5]))}{more}")
    doubts = asking.answer("suspicious_labels") if len(learned.clf.classes_) > 1 else None
    names = ["independence", "predictive_checks", *([] if doubts is None else ["suspicious_labels"])]
    document = {
        "data": learned.name, "target": str(learned.y.name), "says": found.finding, "advice": found.advice,
        "prob": prob, "exponent": dict(found.exponent), "pairs": found.pairs, "fits": fit.fits, "fit": str(fit),
        "checks": fit.table,
    }  # fmt: skip
    if doubts is not None:
        number = {"wrong": doubts.attrs["expected"], "sd": doubts.attrs["sd"], "note": doubts.attrs.get("note")}
        document["labels"] = number | {"dependence": asking.advice, "rows": doubts.rename_axis("row")}
    print_answer(layout, document, found.pairs, lambda: [asking.section(name, top) for name in names])
    if output is not None:
        from bayesnb import plots

        outputs.save_picture(plots.independence(found), output)
        say(f"wrote {output}")
    return 0


@options.command("DATA", "bayesnb.report:report", options.EMBEDDED, output="to_page", layout="page")
def report(
    data: str, target: str | None, output: str, layout: str | None, title: str | None, explain: int, by: str,
    cv: Folds, rows: int, settings: Settings, unit: str, draws: int, prob: float, random_state: int, format: Format,
    force: bool,
) -> int:  # fmt: skip
    """Write a self-contained page about a table and its model.

    The page has scores, findings and learned parameters. DATA is the name of an embedded data set, or a path as for
    `fit`. The page needs no network access.
    """
    from bayesnb.evaluation.folds import require_folds
    from bayesnb.findings import together
    from bayesnb.report.page import is_report
    from bayesnb.report.page import report as page_of
    from bayesnb.report.questions import Held

    layout = layout or ("md" if output.lower().endswith((".md", ".markdown")) else "html")
    outputs.require_output(output, layout, [data], is_report, force)
    learned = fitted(
        data, target, format, settings, random_state, check=lambda _, X, labels, classes: require_folds(labels, cv)
    )
    title = title if title is not None else f"Report: {Path(learned.name).name}"
    remarks = [each.on_page for each in together(sorted(learned.remarks, key=lambda remark: remark.urgency))]
    clf = Held(**learned.parameters.by_name(), classifier_=learned.clf)
    page = page_of(
        clf, learned.X, learned.y, title, layout, explain, by, unit, prob, draws, cv, rows, remarks, "command",
    )  # fmt: skip
    outputs.write_text(page, output)
    if output != "-":
        say(f"wrote {output}")
    return 0
