"""``bayesnb explain``: what each value of a row contributes to its prediction."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from bayesnb.cli import options, printing
from bayesnb.cli.models import fitted, load_model
from bayesnb.cli.outputs import is_model
from bayesnb.cli.rows import changed, class_of, row_for_model, row_of, warn_of_far
from bayesnb.cli.settings import Settings
from bayesnb.wording import at_row, rows_at

if TYPE_CHECKING:
    import pandas as pd

    from bayesnb.data.csv_reader import Format


@options.command("DATA|MODEL [NEW]", "bayesnb.inference.explain:explain", options.EMBEDDED)
def explain(
    data: str, new: str | None, target: str | None, row: str | None, values: tuple[str, ...], label: str | None,
    against: str | None, unit: str, prob: float, flip: bool, layout: str, settings: Settings, format: Format,
) -> int:  # fmt: skip
    """Explain the prediction of one row.

    The output shows what each value of the row adds to the log-odds of two classes. DATA is the name of an embedded
    data set, or a path as for `fit`; a model is fitted to DATA first. With a model file MODEL instead of DATA, the row
    comes from the table NEW or from --set. If --row is given, --set changes values of this row, and the output also
    shows the old values and the old probability. The prior and all contributions sum to the log-odds. With --dependence
    none, missing values contribute nothing. The output also shows how informative each missing value would be if the
    value were observed.
    """
    from bayesnb import checks, design
    from bayesnb.data.tables import Table
    from bayesnb.report.parts import Section, one_line, row_text
    from bayesnb.report.questions import answer, intervals, ledger, probability

    at = int(row) if row is not None and row.isdecimal() else None
    if row is not None and values and at is None:
        raise click.UsageError("a row is named by --row or by --set: give one of them, or --row with a position")
    given, changes = ((), values) if at is not None else (values, ())
    if not (of_model := is_model(data)) and new is not None:
        raise click.UsageError(f"{data} is not a model file, and only a model explains the rows of another table")
    if of_model and flip:
        raise click.UsageError(f"--flip needs the table of the learned rows: give it instead of the model {data}")
    if flip and settings.dependence != "none":
        raise click.UsageError("--flip removes rows from naive Bayes: add --dependence none")

    def pair_of(classes: list[Any]) -> list[Any]:
        pair = [class_of(classes, text, option) for text, option in ((label, "--label"), (against, "--against"))]
        if label is not None and pair[0] == pair[1]:
            said = f"both are {label!r}: there are no odds of a class against itself"
            raise click.BadParameter(said, param_hint="--against")
        return pair

    if of_model:
        fixed = set(options.SETTINGS) - {"absent"}
        options.refuse(fixed, f"{data} is already fitted; fit it again with this option")
        if new is None:
            options.refuse(("target", "absent", *options.FORMAT), "there is no table NEW to read")
        by_position = at is not None or (row is None and not values)
        absent = None if by_position else "missing"
        clf, _ = load_model(data, settings.absent if options.given("absent") else absent)
        name, before = data, row_for_model(clf, data, new, row, given, format, target)
        frame = changed(before, changes, clf.schema.decimals)
        target, pair = target or clf.target, pair_of(clf.classes_.tolist())
    else:
        learned = fitted(
            data, target, format, replace(settings, absent="missing"), repeat=False,
            check=lambda name, X, _, classes: (
                before := row_of(X, name, row, given), changed(before, changes), pair_of(classes)
            ),
        )  # fmt: skip
        name, clf, target, (before, frame, pair) = learned.name, learned.clf, str(learned.y.name), learned.checked
    asked = frame.iloc[0].dropna().to_dict()
    with rows_at(frame.set_axis([at or 0]).index):
        contributions = clf.explain(frame, *pair, unit=unit, prob=prob).droplevel("row")
        questions, proba = design.ask_next(clf, frame), clf.predict_proba(frame)[0]
    explained = contributions.iloc[-1]["label"]
    earlier = _of_row(clf, before, contributions, unit, prob) if changes else None
    new_values = frame.attrs.get("set", {})
    turns = checks.flip(clf, frame, learned.X, learned.y) if flip else None
    warn_of_far(clf, frame)
    said = {"data": name, "target": str(target), "row": asked}
    said |= {"probabilities": dict(zip(clf.classes_, proba, strict=True))}
    said |= dict(contributions.iloc[0][["label", "against"]]) | {"unit": unit, "prob": prob}
    if earlier is not None:
        entries, old_proba = earlier
        said |= {"set": new_values, "before": {
            "row": before.iloc[0].dropna().to_dict(), "probabilities": dict(zip(clf.classes_, old_proba, strict=True)),
            "entries": entries.drop(columns=["label", "against"]),
        }}  # fmt: skip
    said |= {} if turns is None else {"flip": {**vars(turns), "proved": turns.proved, "says": str(turns)}}
    said |= {"entries": contributions.drop(columns=["label", "against"]), "ask_next": questions}
    said |= {"not_asked": questions.attrs["not_asked"]}

    def sections() -> list[Section]:
        ends = clf.predict_interval(frame, prob)
        lead = answer(proba, ends, clf.classes_, explained, prob)
        place = "The row " if at is None else f"{at_row(at).capitalize()}: "
        named = place + row_text(asked, clf.schema.decimals)
        old = {} if earlier is None else earlier[0]["value"].to_dict()
        of_set = clf.schema.through(Table.of(frame[[*new_values]])).names if changes else ()
        table, *notes = ledger(contributions, unit, kept={column: old.get(column) for column in of_set})
        more = [CHANGED] if changes else []
        if earlier is not None:
            now, then = (p[[*clf.classes_].index(explained)] for p in (proba, earlier[1]))
            more.insert(0, f"{one_line(explained, 60)}: {probability(then)} before, {probability(now)} now.")
        more += [" ".join(map(str, notes)), *_to_ask_next(questions), *([] if turns is None else [str(turns)])]
        legend = f"The entries sum to the total. {intervals(prob, ends.attrs)}"
        return [Section("", [table, legend, *filter(None, more)], f"{named}\n{lead}")]

    printing.print_answer(layout, said, contributions, sections)
    return 0


def _of_row(
    clf: Any, before: pd.DataFrame, now: pd.DataFrame, unit: str, prob: float
) -> tuple[pd.DataFrame, Any] | None:
    """Contributions and class probabilities of the row before --set, or ``None`` if the model cannot read this row."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Warnings are about the row that is explained.
        try:
            # The two classes are those that are compared for the changed row.
            found = clf.explain(before, *now.iloc[-1][["label", "against"]], unit=unit, prob=prob).droplevel("row")
            return found, clf.predict_proba(before)[0]
        except ValueError:
            return None


CHANGED = (
    "--set has changed this row. The answer is about rows that have these values. It is not the effect of an action "
    "that changes them."
)


def _to_ask_next(questions: pd.DataFrame) -> list[str]:
    unranked = questions.attrs["not_asked"]
    rest = [f"Not asked, because no information can be computed: {', '.join(map(str, unranked))}."] * bool(unranked)
    if questions.empty:
        return rest
    telling = questions["information"][lambda found: found >= 0.0005]  # In three decimals, 0.001.
    told = [f"{column} {value:.3f}" for column, value in telling.head(8).items()]
    more = f", and {len(telling) - 8} more" if len(telling) > 8 else ""
    if not told:
        return ["What to ask next: nothing. No missing value is expected to tell 0.001 nats about the class.", *rest]
    entropy = f"whose entropy is {questions.attrs['entropy']:.3f} nats"
    return [
        f"What to ask next: {', '.join(told)}{more} nats of information about the class, {entropy}. The model expects "
        "this; a few wrong cells of a column, or a wrong family, make its number far too large.",
        *rest,
    ]
