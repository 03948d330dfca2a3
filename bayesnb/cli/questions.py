"""``bayesnb ask``: questions to a model, each a command that is made of its signature and its docstring."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from bayesnb.cli import options
from bayesnb.cli.printing import flat, print_answer
from bayesnb.cli.rows import load_model
from bayesnb.cli.sources import load, opened_for

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayesnb.data.csv_reader import Format
    from bayesnb.inference.questions import Question

ELSEWHERE = (
    "predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba", "predict_table", "explain",
    "independence", "predictive_checks", "conformal", "log_odds", "sample_proba",
)  # fmt: skip
"""Questions that a command of another name asks, or whose answer is no table."""


class Questions(click.Group):
    """The questions about the rows of a table. Their modules are imported when a command looks for one of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the questions."""
        return [name.replace("_", "-") for name in _questions()]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """The command of one question."""
        question = _questions().get(name.replace("-", "_"))
        return None if question is None else _command(question)


def _questions() -> Mapping[str, Question]:
    """The questions that take a table and nothing else that has no default, by name."""
    import bayesnb.inference  # noqa: F401  The questions are registered where they are imported.
    from bayesnb.inference.questions import QUESTIONS

    found = {}
    for name, question in QUESTIONS.items():
        required = {key for key, option in question.options.items() if option.default is option.empty}
        if "X" in required and required <= {"X", "y"} and name not in ELSEWHERE:
            found[name] = question
    return found


def _command(question: Question) -> click.Command:
    """A question as a command, which answers as a section of the report, as CSV or as JSON."""

    def ask(model: str, new: str, target: str | None, layout: str, format: Format, **given: Any) -> int:
        from bayesnb.report.questions import section_of, table_of

        clf, target = load_model(model, target=target)
        table = opened_for(clf, new, format, target)
        X, y = load(table, target) if "y" in question.options else (table.frame(), None)
        X = X[[name for name in X.columns if name in clf.schema.names]]
        given |= {} if y is None else {"y": y}
        found = question.function(clf, X, **given)
        frame = flat(table_of(question, found))
        frame = frame if any(frame.index.names) else frame.rename_axis("row")
        document = {"question": question.name, "model": model, "data": new, "answer": frame}
        print_answer(layout, document, frame, lambda: [section_of(question, found)])
        return 0

    ask.__doc__, ask.__name__ = question.summary, question.name.replace("_", "-")
    function = question.function
    names = [name for name in question.options if name not in ("X", "y") and options.type_of(function, name)]
    asks = f"{function.__module__}:{function.__name__}"
    return options.command("MODEL NEW", asks, names=("target", *names, "format", "layout"))(ask)


questions = Questions(
    "ask", help="Ask a model about the rows of a table: each question of the Python methods is a command."
)
