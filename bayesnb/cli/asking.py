"""The commands that ask a model about rows: ``bayesnb watch`` and ``ask``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from bayesnb.cli import options, printing
from bayesnb.cli.models import load_model, weights_in
from bayesnb.cli.sources import opened_for
from bayesnb.cli.terminal import say, warn
from bayesnb.wording import meant, rows_at

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayesnb.data.csv_reader import Format
    from bayesnb.inference.questions import Question


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
        known, labels = opened_for(clf, learned, format, target, new=False).load(target)
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
    if clf.schema.parts_of_dates & {*found.table["column"]}:
        parts.append("Dates raise an alarm only if they are earlier than the learned ones.")
    if unwatched:
        further = f" and {len(unwatched) - 12:,} more" * (len(unwatched) > 12)
        parts.append(f"Not watched: {', '.join(map(str, unwatched[:12]))}{further}")
        if not clf.schema.parts_of_dates.isdisjoint(unwatched):
            parts.append(
                "Months, weekdays and hours of dates are not watched, because they follow from the time of the stream."
            )
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

UNLABELLED = ("label_next",)
"""Questions about rows without a class."""


class Questions(click.Group):
    """Commands that answer questions about a table."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name.replace("_", "-") for name in options.stated()["questions"]]

    def get_command(self, ctx: click.Context, name: str) -> click.Command:
        word = name.replace("-", "_")
        if word not in options.stated()["questions"]:
            ctx.fail(f"there is no question {name!r}{meant(name, self.list_commands(ctx))}")
        return _command(word)


def asked() -> Mapping[str, Question]:
    """The questions that have a command, by name: they require no arguments except ``X`` and ``y``."""
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
        table = opened_for(clf, data, format, target, weight, new=not learned)
        table.require(weight, "--weight")
        X, y = table.load(target) if "y" in question.options else (table.frame(), None)
        if name in UNLABELLED and target in X and (known := X[target].notna()).any() and not known.all():
            say(f"{known.sum():,} rows with a class are left out")
            X = X[~known]
        given |= ({} if y is None else {"y": y}) | ({} if weight is None else {"sample_weight": weights_in(X, weight)})
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
