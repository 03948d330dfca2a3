"""``bayesnb explain``: the contribution of each value of a row to the log-odds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from bayesnb.cli import options
from bayesnb.cli.printing import plain, print_contributions, print_document, print_questions, records_of
from bayesnb.cli.rows import asked_rows, class_of, frame_of, load_model, row_at, template_of
from bayesnb.cli.settings import Settings
from bayesnb.cli.sources import fitted, opened_for
from bayesnb.cli.terminal import stdout

if TYPE_CHECKING:
    import pandas as pd

    from bayesnb.data.format import Format
    from bayesnb.estimator import BayesianNB


@click.command(epilog=options.EMBEDDED)
@click.argument("data", metavar="DATA|MODEL")
@click.argument("new", metavar="[NEW]", required=False)
@options.target
@click.option(
    "--row",
    metavar="N|K=V,K=V|JSON",
    help="The row to explain: its position, counted from 0, or its values; columns not named are missing.  "
    "[default: the textbook's, else the first]",
)
@options.row_values
@click.option("--label", help="The class that the log-odds are for.  [default: the most probable]")
@click.option("--against", help="The class that they are against.  [default: the most probable other]")
@options.unit("Unit of the log-odds; ten decibans are a factor of ten.")
@options.prob("Probability of the intervals.")
@options.layout("table", "json", "csv")
@options.model_settings
@options.file_format
def explain(
    data: str, new: str | None, target: str | None, row: str | None, values: tuple[str, ...], label: str | None,
    against: str | None, unit: str, prob: float, layout: str, settings: Settings, format: Format,
) -> int:  # fmt: skip
    """Explain the prediction of one row: what each of its values adds to the log-odds of two classes.

    DATA is the name of an embedded data set, or a path as for `fit`, and a model is fitted to it; or MODEL is a file
    that holds one, and the row is one of NEW. The entries sum to the total. A missing value adds nothing; of those that
    are, it is said how much each would tell about the class.
    """
    from bayesnb.modelfile import document

    if row is not None and values:
        raise click.UsageError("a row is named by --row or by --set: give one of them")
    position = int(row) if row is not None and row.isdecimal() else None
    if document.is_model(data):
        clf, frame = _of_model(data, new, row, position, values, format)
        name, target = data, clf.target_
    else:
        if new is not None:
            raise click.UsageError(f"{data} is not a model file, and only a model explains the rows of another table")
        clf, frame, name, target = _of_data(data, target, row, position, values, format, settings)
    asked = frame.iloc[0].dropna().to_dict()
    pair = [class_of(clf, text, option) for text, option in ((label, "--label"), (against, "--against"))]
    if pair[0] is not None and pair[0] == pair[1]:
        raise click.BadParameter(
            f"both are {label!r}: there are no odds of a class against itself", param_hint="--against"
        )
    contributions = clf.explain(frame, *pair, unit=unit, prob=prob).droplevel("row")
    questions = clf.ask_next(frame)
    if layout == "json":
        proba = dict(zip(map(str, clf.classes_), map(float, clf.predict_proba(frame)[0]), strict=True))
        about = {"data": name, "target": str(target), "row": plain(asked), "probabilities": proba}
        about |= plain(contributions.iloc[0][["label", "against"]]) | {"unit": unit, "prob": prob}
        print_document(
            about
            | {
                "entries": records_of(contributions.drop(columns=["label", "against"])),
                "ask_next": records_of(questions),
            }
        )
    elif layout == "csv":
        stdout().write(contributions.to_csv())
    else:
        print_contributions(asked, contributions, unit, prob)
        print_questions(questions)
    return 0


def _of_model(
    path: str, new: str | None, row: str | None, position: int | None, values: tuple[str, ...], format: Format
) -> tuple[BayesianNB, pd.DataFrame]:
    """Load a model, and make a table of the row to explain."""
    clf = load_model(path)
    template = template_of(clf)
    if values or (row is not None and position is None):
        if new is not None:
            raise click.UsageError("a row is either one of NEW, by its position, or its values: give one of them")
        return clf, frame_of(asked_rows([] if row is None else [row], path, template, values), template)
    if new is None:
        raise click.UsageError("name the row: as --row column=value,…, or as the position of one in NEW")
    frame = row_at(opened_for(clf, new, format), position or 0)
    return clf, frame[[name for name in frame.columns if name in clf.schema_.names]]


def _of_data(
    data: str,
    target: str | None,
    row: str | None,
    position: int | None,
    values: tuple[str, ...],
    format: Format,
    settings: Settings,
) -> tuple[BayesianNB, pd.DataFrame, str, Any]:
    """Fit a model to a table, and make a table of the row to explain."""
    learned = fitted(data, target, format, settings, repeat=False)
    name, X, y, clf = learned.name, learned.X, learned.y, learned.clf
    if position is not None:
        if position >= len(X):
            raise click.BadParameter(
                f"there is no row {position} in {name}: it has {len(X)}, counted from 0", param_hint="--row"
            )
        return clf, X.iloc[[position]], name, y.name
    (asked,) = asked_rows([] if row is None else [row], name, X, values)
    return clf, frame_of([asked], X), name, y.name
