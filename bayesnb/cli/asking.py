"""The commands that ask a model about rows: ``bayesnb explain``, ``watch`` and ``ask``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from bayesnb.cli import options, printing
from bayesnb.cli.outputs import is_model
from bayesnb.cli.rows import class_of, fitted, load_model, row_for_model, row_of, warn_of_far
from bayesnb.cli.settings import Settings
from bayesnb.cli.sources import opened_for
from bayesnb.cli.terminal import warn
from bayesnb.wording import at_row, meant, rows_at

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from bayesnb.data.csv_reader import Format
    from bayesnb.inference.questions import Question


@options.command("DATA|MODEL [NEW]", "bayesnb.inference.explain:explain", options.EMBEDDED)
def explain(
    data: str, new: str | None, target: str | None, row: str | None, values: tuple[str, ...], label: str | None,
    against: str | None, unit: str, prob: float, flip: bool, layout: str, settings: Settings, format: Format,
) -> int:  # fmt: skip
    """Explain the prediction of one row.

    The output shows what each value of the row adds to the log-odds of two classes. DATA is the name of an embedded
    data set, or a path as for `fit`; a model is fitted to DATA first. With a model file MODEL instead of DATA, the row
    comes from the table NEW or from --set. If --row is given, --set changes values of this row. The prior and all
    contributions sum to the log-odds. With --dependence none, missing values contribute nothing. The output also shows
    how informative each missing value would be if the value were observed.
    """
    from bayesnb import checks, design
    from bayesnb.report.parts import Section, row_text
    from bayesnb.report.questions import answer, intervals, ledger

    at = int(row) if row is not None and row.isdecimal() else None
    if row is not None and values and at is None:
        raise click.UsageError("a row is named by --row or by --set: give one of them, or --row with a position")
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
        name, frame = data, row_for_model(clf, data, new, row, values, format, target)
        target, pair = target or clf.target, pair_of(clf.classes_.tolist())
    else:
        learned = fitted(
            data, target, format, replace(settings, absent="missing"), repeat=False,
            check=lambda name, X, _, classes: (row_of(X, name, row, values), pair_of(classes)),
        )  # fmt: skip
        name, clf, target, (frame, pair) = learned.name, learned.clf, str(learned.y.name), learned.checked
    asked = frame.iloc[0].dropna().to_dict()
    with rows_at(frame.set_axis([at or 0]).index):
        contributions = clf.explain(frame, *pair, unit=unit, prob=prob).droplevel("row")
        questions, proba = design.ask_next(clf, frame), clf.predict_proba(frame)[0]
    turns = checks.flip(clf, frame, learned.X, learned.y) if flip else None
    warn_of_far(clf, frame)
    said = {"data": name, "target": str(target), "row": asked}
    said |= {"probabilities": dict(zip(clf.classes_, proba, strict=True))}
    said |= dict(contributions.iloc[0][["label", "against"]]) | {"unit": unit, "prob": prob}
    said |= {} if turns is None else {"flip": {**vars(turns), "proved": turns.proved, "says": str(turns)}}
    said |= {"entries": contributions.drop(columns=["label", "against"]), "ask_next": questions}
    said |= {"not_asked": questions.attrs["not_asked"]}

    def sections() -> list[Section]:
        ends = clf.predict_interval(frame, prob)
        lead = answer(proba, ends, clf.classes_, contributions["label"].iloc[-1], prob)
        place = "The row " if at is None else f"{at_row(at).capitalize()}: "
        named = place + row_text(asked)
        table, *notes = ledger(contributions, unit)
        more = [CHANGED] if values and at is not None else []
        more += [" ".join(map(str, notes)), *_to_ask_next(questions), *([] if turns is None else [str(turns)])]
        legend = f"The entries sum to the total. {intervals(prob, ends.attrs)}"
        return [Section("", [table, legend, *filter(None, more)], f"{named}\n{lead}")]

    printing.print_answer(layout, said, contributions, sections)
    return 0


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


@options.command("MODEL NEW", "bayesnb.inference.watch:watch", f"NEW is {options.FILES}.", absent="absent_now")
def watch(
    model: str, new: str, target: str | None, absent: str | None, learned: str | None, level: float, random_state: int,
    layout: str, format: Format,
) -> int:  # fmt: skip
    """Watch a stream of rows for changes.

    The command raises an alarm if the rows no longer follow the model. Checking the stream after every row does not
    make false alarms more probable. If the rows have a class column, the command watches the class frequencies, and the
    distribution of each column in each class. Without a class column, the command watches only categorical and 0/1
    columns, and with --learned also columns of numbers. The output names the columns that are not watched.
    """
    from bayesnb import checks
    from bayesnb.inference.classifier import index_of
    from bayesnb.report.parts import Section
    from bayesnb.report.questions import shortened

    clf, target = load_model(model, absent, target)
    known, labels = None, None
    if learned is not None:
        known, labels = opened_for(clf, learned, format, target).load(target)
        known = clf.schema.fitted_columns(known)
    with rows_at(index_of(known)):
        before = checks.watch(clf, known, labels, level, random_state)
    table = opened_for(clf, new, format, target)
    X, y = table.whole(target) if target in table.names else (table.frame(), None)
    found = before.update(clf.schema.fitted_columns(X), y)
    document = {"model": model, "data": new, "says": str(found), "rows": found.rows, "level": level}
    document |= {"lines": found.table, "unwatched": found.table.attrs["unwatched"]}
    unwatched = found.table.attrs["unwatched"]
    parts: list[Any] = [*shortened(found.table.set_index("column"), "The strongest evidence of change first", 10)]
    parts.append(
        "log e: evidence of a change now, as the log of an e-value, in nats. log largest: its maximum so far. p: "
        "p-value from this maximum, adjusted for all lines. alarm: the number of rows after which it was raised. "
        "change: how the rows since then differ from the learned rows."
    )
    if unwatched:
        further = f" and {len(unwatched) - 12:,} more" * (len(unwatched) > 12)
        parts.append(f"Not watched: {', '.join(map(str, unwatched[:12]))}{further}")
    if learned is None and not found.alarms.empty:
        parts.append(
            "A column of numbers that is not Normal may raise an alarm, too, unless --learned names the learned rows."
        )
    printing.print_answer(layout, document, found.table, lambda: [Section("", parts, str(found))])
    return 0


# Questions to a model: each command is generated from the signature and the docstring of a question


ELSEWHERE = (
    "predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba", "predict_table", "explain",
    "independence", "predictive_checks", "conformal", "log_odds", "sample_proba",
)  # fmt: skip
"""Questions that another command answers, or whose answer is not a table."""

LENIENT = ("fill_in",)
"""Questions for which absent columns are always read as missing."""


class Questions(click.Group):
    """Commands that answer questions about a table, imported when they run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name.replace("_", "-") for name in options.stated()["questions"]]

    def get_command(self, ctx: click.Context, name: str) -> click.Command:
        word = name.replace("-", "_")
        if word not in options.stated()["questions"]:
            ctx.fail(f"there is no question {name!r}{meant(name, self.list_commands(ctx))}")
        return _command(word)


def asked() -> Mapping[str, Question]:
    """The questions whose only required arguments are ``X``, or ``X`` and ``y``, by name."""
    import bayesnb.inference  # noqa: F401  Importing the modules registers the questions.
    from bayesnb.inference.questions import QUESTIONS

    found = {}
    for name, question in QUESTIONS.items():
        required = {key for key, option in question.options.items() if option.default is option.empty}
        if "X" in required and required <= {"X", "y"} and name not in ELSEWHERE:
            found[name] = question
    return found


def _command(name: str) -> click.Command:
    def ask(
        model: str, target: str | None, layout: str, format: Format, new: str = "", learned: str = "",
        weight: str | None = None, absent: str | None = None, **given: Any,
    ) -> int:  # fmt: skip
        from bayesnb.report.questions import section_of, table_of

        question, data = asked()[name], learned or new
        clf, target = load_model(model, absent, target)
        table = opened_for(clf, data, format, target, weight)
        table.require(weight, "--weight")
        X, y = table.load(target) if "y" in question.options else (table.frame(), None)
        given |= ({} if y is None else {"y": y}) | ({} if weight is None else {"sample_weight": X[weight]})
        with rows_at(X.index):
            found = question.function(clf, clf.schema.fitted_columns(X), **given)
        attrs = getattr(found, "attrs", {})
        said = attrs["says"].data.get("note") if layout == "table" and "says" in attrs else None
        if (note := attrs.get("note")) not in (None, said):
            warn(note)
        frame = printing.flat(table_of(question, found))
        frame = frame if any(frame.index.names) else frame.rename_axis("row")
        document = {"question": question.name, "model": model, "data": data, "answer": frame}
        printing.print_answer(layout, document, frame, lambda: [section_of(question, found)])
        return 0

    facts = options.stated()["questions"][name]
    ask.__doc__, ask.__name__ = facts["summary"], name.replace("_", "-")
    parameters = options.stated()["parameters"][facts["function"]]
    names = [
        "weight" if each == "sample_weight" else each for each in facts["options"]
        if each not in ("X", "y") and each in parameters and options.type_of(each, parameters[each])
    ]  # fmt: skip
    if "y" not in facts["options"] and name not in LENIENT:
        names.append("absent")  # A question with labels is about learned rows, which have all columns.
    names = ("target", *names, "format", "layout")
    rows, about = ("LEARNED", options.LEARNED) if "y" in facts["options"] else ("NEW", None)
    command = options.command(f"MODEL {rows}", facts["function"], about, names, absent="absent_now")(ask)
    command.short_help = facts["summary"]
    return command


questions = Questions("ask", help="Ask a model a question about the rows of a table.")
