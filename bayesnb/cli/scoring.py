"""``bayesnb score``: how good a model is on rows that it has not learned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from bayesnb.cli import options
from bayesnb.cli.printing import grid_of, plain, print_document, records_of
from bayesnb.cli.rows import load_model
from bayesnb.cli.sources import Opened, load, opened_for
from bayesnb.cli.terminal import console_of, say, stdout, visible, warn
from bayesnb.cli.wording import in_options

if TYPE_CHECKING:
    import pandas as pd

    from bayesnb.data.format import Format
    from bayesnb.estimator import BayesianNB
    from bayesnb.inference.scorecard import Scorecard

MOST_CLASSES = 12
"""With more classes, the pairs that are confused most are printed instead of the whole matrix."""

LEGEND = (
    "claimed: what the score would be if the probabilities were true. class shares: a forecast that gives each row the "
    "shares of the classes; majority: always the largest class. balanced accuracy: the mean recall of the classes; "
    "log loss: in nats; Brier: from 0 to 2; ECE: expected calibration error; AUC: area under the ROC curve, of several "
    "classes the mean over pairs. Smaller is better for log loss, Brier and ECE."
)
NAMES = {
    "accuracy": "accuracy", "balanced_accuracy": "balanced accuracy", "log_loss": "log loss", "brier": "Brier",
    "ece": "ECE", "auc": "AUC",
}  # fmt: skip


@click.command(epilog=f"TEST is the name of an embedded data set, {options.FILES}.")
@click.argument("model", metavar="MODEL")
@click.argument("test", metavar="TEST")
@options.fitted_target
@click.option("--absent", type=click.Choice(["error", "missing"]),
              help="How to treat a fitted column that TEST does not have.  [default: as the model says]")  # fmt: skip
@options.prob("Probability of the intervals.")
@options.seed
@options.layout("table", "json", "csv", help="json holds everything, csv the scores.")
@options.file_format
def score(
    model: str, test: str, target: str | None, absent: str | None, prob: float, seed: int, layout: str, format: Format
) -> int:
    """Score a model on rows that it has not learned.

    Printed are one sentence; each score with its interval, beside what the model claims and what the class shares alone
    would score; and how often each class is taken for another. Rows of a class that was never learned are counted, and
    have no score.
    """
    from bayesnb.data.tables import Table
    from bayesnb.data.unseen import Unseen
    from bayesnb.evaluation import scorecard

    clf = load_model(model)
    clf = clf if absent is None else clf.set_params(absent=absent)
    target = target if target is not None else clf.target_
    if target is None:
        raise click.UsageError(f"{model} does not say which column holds the class: name it with --target")
    table = opened_for(clf, test, format, target)
    _require_classes(table, target)
    X, y = load(table, target)
    say(f"{table.name}: {len(X)} rows, target {target!r}")
    counts = Unseen(clf.schema_)
    for _ in counts.counted(iter([Table.of(X)])):
        pass
    for sentence in counts.sentences():
        warn(sentence)
    card = scorecard(clf, X, _as_learned(y, clf), cv=None, prob=prob, random_state=seed)
    if layout == "json":
        print_document({"model": model, "data": table.name, "target": target} | document_of(card))
    elif layout == "csv":
        stdout().write(card.table.to_csv())
    else:
        print_card(card)
    return 0


def _require_classes(table: Opened, target: str) -> None:
    """Refuse a table without the true classes."""
    from bayesnb.data.unseen import nearest

    if target in table.names:
        return
    close = nearest(target, table.names)
    hint = f"did you mean --target {close}?" if close else f"its columns are {table.names[:30]}."
    raise ValueError(
        f"{table.name} has no column {target!r}, so there is no true class to score against; {hint} "
        "bayesnb predict needs no classes"
    )


def _as_learned(y: pd.Series, clf: BayesianNB) -> Any:
    """The labels as the classes that were learned, where only their types differ: 1 and "1" are one class."""
    learned = clf.classes_.tolist()
    texts, known = {str(label): label for label in learned}, {*learned}
    each = {label: label if label in known else texts.get(str(label), label) for label in y.unique().tolist()}
    return y if all(key is label for key, label in each.items()) else y.map(each)


def document_of(card: Scorecard) -> dict[str, Any]:
    """A scorecard for programs."""
    return {
        "sentence": in_options(card.sentence), "rows": card.rows, "prob": card.prob, "scored_by": card.how,
        "sure": card.sure,
        "scores": records_of(card.table), "confusion": records_of(card.confusion), "classes": records_of(card.by_class),
        "never_learned": plain(card.never_learned),
    }  # fmt: skip


def print_card(card: Scorecard) -> None:
    """Print a scorecard: the sentence, the scores, and how often each class is taken for another."""
    console = console_of()
    console.print(visible(in_options(card.sentence)), style="bold", markup=False)
    console.print(grid_of(shown_scores(card), 3, console.width))
    console.print(LEGEND, style="dim", markup=False)
    console.print("\nTrue classes (rows) and predicted classes (columns)", style="bold")
    console.print(grid_of(shown_confusion(card), 2, console.width))
    console.print(
        f"recall: the share of a class that is found; precision: of what is predicted as the class, the share that is; "
        f"with {card.prob:.0%} intervals.",
        style="dim",
        markup=False,
    )


def shown_scores(card: Scorecard) -> pd.DataFrame:
    """The scores with their yardsticks, as texts."""
    import pandas as pd

    digits = 3 if card.rows < 20_000 else 4
    rows = []
    for name, (value, lower, upper, claimed, shares, majority) in zip(
        card.table.index, card.table.itertuples(index=False), strict=True
    ):
        texts = [_number(v, digits) for v in (value, claimed, shares, majority)]
        rows.append([NAMES[name], texts[0], f"{_number(lower, digits)}–{_number(upper, digits)}", *texts[1:]])
    return pd.DataFrame(
        rows, columns=["score", "value", f"{card.prob:.0%} interval", "claimed", "class shares", "majority"]
    )


def _number(value: float, digits: int) -> str:
    return "—" if value != value else "∞" if value == float("inf") else f"{value:.{digits}f}"


def shown_confusion(card: Scorecard) -> pd.DataFrame:
    """The confusion matrix with recall and precision; of many classes, the pairs that are confused most."""
    import pandas as pd

    if len(card.by_class) > MOST_CLASSES:
        wrong = card.confusion.stack().reset_index()
        wrong.columns = ["true", "predicted", "rows"]
        wrong = wrong[(wrong["true"] != wrong["predicted"]) & (wrong["rows"] > 0)]
        return wrong.sort_values("rows", ascending=False, kind="stable").head(MOST_CLASSES).astype(object)
    frame = card.confusion.astype(object)
    frame.columns = [str(name) for name in frame.columns]
    frame.insert(0, "true class", [str(name) for name in frame.index])
    frame["recall"] = [_with_interval(line, "recall") for _, line in card.by_class.iterrows()]
    below = {str(c): _with_interval(line, "precision") for c, line in card.by_class.iterrows()}
    return pd.concat([frame, pd.DataFrame([{"true class": "precision"} | below])], ignore_index=True).fillna("")


def _with_interval(line: pd.Series, name: str) -> str:
    value, lower, upper = (line[f"{name}{end}"] for end in ("", "_lower", "_upper"))
    return "—" if value != value else f"{value:.2f} ({lower:.2f}–{upper:.2f})"
