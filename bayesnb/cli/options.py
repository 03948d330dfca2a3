"""The options of all commands: each has the same name, default and meaning in every command."""

from __future__ import annotations

import glob
import inspect
import json
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from functools import cache, wraps
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from bayesnb import datasets
from bayesnb.cli.settings import Settings
from bayesnb.cli.terminal import FLAGS
from bayesnb.signatures import choices, without_markup
from bayesnb.wording import meant

EMBEDDED = "Embedded data: " + ", ".join(datasets.names()) + "."
FILES = "a CSV, Excel, Parquet or Arrow file, a folder or a quoted glob of them, a folder of mail, or - for stdin"
SOURCES = f"DATA is the name of an embedded data set, {FILES}. It is read in parts and may be larger than memory."

LEARNED = f"LEARNED holds exactly the rows that the model has learned. It is {FILES}."

READING, MODEL, ANSWER, OUTPUT = "Reading", "Model", "Answer", "Output"

FAMILIES = Path(__file__).with_name("families.json")
"""The file that lists the families for ``--feature``, by the kind of column."""


class Option(click.Option):
    """An option with the section of the help that lists it."""

    def __init__(self, flags: Sequence[str], group: str, **settings: Any) -> None:
        self.group = group
        shown = settings.get("default") not in (None, False, ())
        super().__init__(flags, **{"show_default": shown} | settings)

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        self.help = without_markup(self.help or "")
        return super().get_help_record(ctx)


class Command(click.Command):
    """A command whose help text shows the options in groups."""

    functions: Sequence[str] = ()
    asks: Sequence[str] = ()

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        asks, self.asks = self.asks, ()
        self.params += [of_parameter(name, self.functions) for name in asks]
        return super().get_params(ctx)

    def invoke(self, ctx: click.Context) -> Any:
        FLAGS.set(frozenset(flag for param in self.get_params(ctx) for flag in param.opts))
        return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        groups: dict[str, list[Any]] = {name: [] for name in (READING, MODEL, ANSWER, OUTPUT)}
        for option in self.get_params(ctx):
            if isinstance(option, click.Option) and (record := option.get_help_record(ctx)):
                groups[getattr(option, "group", OUTPUT)].append(record)
        for name, records in groups.items():
            if records:
                with formatter.section(name):
                    formatter.write_dl(records)
        if any(option.name == "feature" for option in self.params):
            with formatter.section("Families of --feature COL=FAMILY, by the cells of the column"):
                formatter.write_dl([*json.loads(FAMILIES.read_text(encoding="utf-8")).items()])


def given(name: str) -> bool:
    """Whether the user gave the option for the parameter ``name`` to the current command."""
    return click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE


def refuse(names: Iterable[str], reason: str) -> None:
    """Raise ``click.UsageError`` if the user gave one of the options ``names``."""
    context, refused = click.get_current_context(silent=True), {*names}
    for param in (param for param in context.command.params if param.name in refused) if context else ():
        FLAGS.set((FLAGS.get() or frozenset()) - {*param.opts})
        if given(param.name):
            value = context.params[param.name]
            flag = param.secondary_opts[0] if value is False else param.opts[0]
            shown = () if isinstance(value, bool) else value[:1] if param.multiple else (value,)
            raise click.UsageError(f"{shlex.join([flag, *map(str, shown)])}: {reason}")


def completed(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Shell completion of the name of a file or of an embedded data set."""
    files = glob.glob(f"{glob.escape(incomplete)}*")  # noqa: PTH207
    named = [] if files else datasets.names()
    found = [CompletionItem(name) for name in named if incomplete and name.startswith(incomplete)]
    return found or [CompletionItem(incomplete, type="file")]


def option(group: str, *flags: str, **settings: Any) -> Callable[[str], click.Option]:
    """Return a function that takes the name of a parameter and makes the command-line option for this parameter."""
    if settings.get("metavar") == "FILE":
        settings["shell_complete"] = completed

    return lambda name: Option([*flags, name], group, **settings)


class Word(click.Choice):
    """A choice among words; an error suggests the closest word."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        return super().get_invalid_choice_message(value, ctx).rstrip(".") + meant(value, self.choices)


class NumberList(click.ParamType):
    """Whole numbers, separated by commas."""

    name = "N,N…"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[int]:
        try:
            return [int(number) for number in value.split(",")] if isinstance(value, str) else value
        except ValueError:
            self.fail(f"Expected whole numbers such as 100,1000; got {value!r}", param, ctx)


class Folds(click.ParamType):
    """A number of folds, or exact leave-one-out."""

    name = "folds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value if value == "loo" else click.IntRange(2).convert(value, param, ctx)


WRITTEN: Mapping[str, Mapping[str, Any]] = {
    "cv": {"type": Folds(), "metavar": "loo|N"},
    "draws": {"type": click.IntRange(2)},
    "explain": {"type": click.IntRange(0)},
    "m": {"type": click.FloatRange(0)},
    "more": {"type": NumberList(), "multiple": False, "default": None, "help": "Numbers of further rows."},
    "n": {"type": click.IntRange(0), "flag": "-n"},
    "prob": {"type": click.FloatRange(0, 1, True, True), "default": 0.89, "help": "Probability of the intervals."},
    "random_state": {"type": int, "default": 0, "flag": "--seed", "group": ANSWER, "help": "Seed of random draws."},
    "rows": {"type": click.IntRange(1)},
}
"""Settings of options, by parameter name, that signatures do not contain."""


FACTS = Path(__file__).with_name("stated.json")
"""The file of types, defaults and help texts of options, and of the questions that are commands."""


@cache
def stated() -> Mapping[str, Any]:
    """The contents of ``stated.json``: the parameters of each "module:function", and the questions with a command."""
    return json.loads(FACTS.read_text(encoding="utf-8"))


TYPES: Mapping[str | None, Any] = {"bool": bool, "int": int, "float": float, "str": str}
"""The command-line types of parameters, by Python type."""


def type_of(name: str, facts: Mapping[str, Any]) -> Any:
    """The command-line type of a parameter; ``None`` if the parameter cannot be an option."""
    if "type" in WRITTEN.get(name, {}):
        return WRITTEN[name]["type"]
    return Word(facts["choices"]) if facts["choices"] else TYPES.get(facts["type"])


def of_parameter(name: str, sources: Iterable[str]) -> click.Option:
    """Make the option for a parameter, from the first function or class in ``sources`` that has this parameter."""
    known = stated()["parameters"]
    source = next(each for each in (*STATED, *sources, PARAMETERS) if name in known[each])
    facts = known[source][name]
    default, several = facts["default"], facts["several"]
    settings = {"type": type_of(name, facts), "default": tuple(default or ()) if several else default}
    settings |= {"multiple": several, "help": facts["text"] + " May be repeated." * several, "metavar": None}
    settings |= {"is_flag": default is False, "flag": f"--{name.replace('_', '-')}"}
    settings |= {"group": GROUPS.get(source, ANSWER)} | facts["metadata"] | WRITTEN.get(name, {})
    flag, group = settings.pop("flag"), settings.pop("group")
    if facts["type"] == "bool" and default is None:
        flag, settings = f"{flag}/--no-{name}", {"default": None, "multiple": False, "help": settings["help"]}
    return Option([flag, name], group, **settings)


OPTIONS = {
    "target": option(READING, "--target", help="Column that holds the class (known for embedded data and models)."),
    "absent_now": option(
        MODEL, "--absent", type=Word(["error", "missing"]),
        help="How to read a fitted column that the table does not have.  [default: as the model says]",
    ),
    "dependences": option(
        MODEL, "--dependence", multiple=True,
        type=Word([*filter(None, choices(Settings, "dependence"))]), default=("weighted", "auto"),
        help="What to set beside the estimates of naive Bayes. May be repeated; none for nothing.",
    ),
    "values": option(
        ANSWER, "--set", multiple=True, metavar="COL=VALUE",
        help="A value of the row, which may hold commas and equals signs. May be repeated.",
    ),
    "row": option(
        ANSWER, "--row", metavar="N|K=V,K=V|JSON",
        help="The row to explain: its number in the file, counted from 0 (--set replaces its values), or its values; "
        "columns not named are missing.  [default: the textbook's, else the first]",
    ),
    "asked": option(
        ANSWER, "--row", multiple=True, metavar="K=V,K=V|JSON",
        help="A row to predict; columns not named are missing. May be repeated.  [default: the textbook's, else the "
        "held-out row that surprises most]",
    ),
    "flip": option(
        ANSWER, "--flip", is_flag=True,
        help="Also say what would change the answer: the fewest rows to remove, and the smallest contamination. "
        "It needs DATA, not MODEL, and --dependence none.",
    ),
    "nuts": option(
        ANSWER, "--nuts", is_flag=True, help="Also sample the PyMC model with NUTS, and compare with the closed form."
    ),
    "learned": option(
        READING, "--learned", metavar="FILE", help="Learned rows, with which numbers are compared by their ranks."
    ),
    "top": option(
        OUTPUT, "--top", type=click.IntRange(1), default=10, help="Pairs, checks and labels to print as tables."
    ),
    "everything": option(OUTPUT, "--all", is_flag=True, help="Print all tables."),
    "whole": option(OUTPUT, "--all", is_flag=True, help="Also print priors and settings of a model, and all columns."),
    "title": option(OUTPUT, "--title", help="Of the page.  [default: names the data]"),
    "layout": option(
        OUTPUT, "--format", type=Word(["table", "json", "csv"]), default="table",
        help="json holds everything, csv one table."
    ),
    "page": option(
        OUTPUT, "--format", type=Word(["html", "md"]),
        help="[default: md for a FILE that ends in .md or .markdown, else html]",
    ),
    "to_model": option(
        OUTPUT, "-o", "--output", required=True, metavar="FILE", help="Where to write the model; - is stdout."
    ),
    "to_same_model": option(
        OUTPUT, "-o", "--output", metavar="FILE", help="Where to write the model.  [default: in place of the old one]"
    ),
    "to_stem": option(
        OUTPUT, "-o", "--output", metavar="STEM", help="The beginning of the two names.  [default: as the file]"
    ),
    "test_share": option(
        ANSWER, "--test", type=click.FloatRange(0, 1, True, True), default=0.25, help="Share of the rows to score."
    ),
    "split_seed": option(ANSWER, "--seed", type=click.IntRange(0), default=0, help="Another number draws other rows."),
    "to_table": option(
        OUTPUT, "-o", "--output", default="-", metavar="FILE", help="A Parquet or CSV file; - is CSV on stdout."
    ),
    "digits": option(
        OUTPUT, "--digits", type=click.IntRange(1, 17), default=6,
        help="Significant digits of probabilities in CSV; Parquet keeps all.",
    ),
    "to_page": option(
        OUTPUT, "-o", "--output", required=True, metavar="FILE",
        help="Where to write the page, all of it or nothing; - is stdout.",
    ),
    "to_sql": option(OUTPUT, "-o", "--output", default="-", metavar="FILE", help="Where to write it; - is stdout."),
    "to_picture": option(
        OUTPUT, "-o", "--output", metavar="FILE", help="Also draw a map of all pairs, as a PNG or SVG file."
    ),
    "force": option(OUTPUT, "--force", is_flag=True, help="Replace a file that this command could not have written."),
}  # fmt: skip

FORMAT = ("sep", "decimal", "encoding", "header", "skip", "na", "keep_na", "sheet")
SETTINGS = tuple(each.name for each in fields(Settings))
GATHERED = {"format": FORMAT, "settings": SETTINGS, "naive": tuple(name for name in SETTINGS if name != "dependence")}
"""Options that are passed together as one argument: settings for reading a file, and settings of a model."""

STATED = ("bayesnb.data.csv_reader:Format", "bayesnb.cli.settings:Settings")
"""Classes whose fields are the same options for every command."""

PARAMETERS = "bayesnb.data.specifications:EstimatorParameters"
"""The class that holds the parameters of a model."""

GROUPS = {STATED[0]: READING, STATED[1]: MODEL, PARAMETERS: MODEL}
"""The help section for options that are fields of a class. Options of questions are in the section ``ANSWER``."""


def command(
    arguments: str = "DATA", asks: str = "", epilog: str | None = None, names: Iterable[str] = (), **variants: str
) -> Callable[[Callable], click.Command]:
    """Make a command from a function, whose parameters become options.

    Parameters
    ----------
    arguments : str
        The arguments, as in the help. An argument in brackets, such as ``[NEW]``, is optional.
    asks : str
        Functions, such as "module:function", whose parameters become further options.
    epilog : str, optional
        Text below the options in the help; by default about the last argument.
    names : iterable of str
        Names of the options if the function takes ``**`` arguments.
    variants : {parameter: key}
        Keys in ``OPTIONS`` of parameters that ``OPTIONS`` lists under another name.
    """
    written = {re.sub(r"\W.*", "", argument.strip("[]")).lower(): argument for argument in arguments.split()}
    last = [*written][-1].upper()

    def made(function: Callable) -> click.Command:
        taken = {name: variants.get(name, name) for name in names or inspect.signature(function).parameters}
        gathered = {name: GATHERED[what] for name, what in taken.items() if what in GATHERED}

        @wraps(function)
        def run(**given: Any) -> Any:
            for name, each in gathered.items():
                said = {one: given.pop(one) for one in each}
                given[name] = _format(said) if name == "format" else Settings(**said)
            return function(**given)

        params: list[click.Parameter] = []
        for name, argument in written.items():
            several = -1 if argument.endswith("…") else 1
            settings = {"nargs": several, "required": "[" not in argument, "shell_complete": completed}
            params.append(click.Argument([name], metavar=argument, **settings))
        every = {one: one for each in gathered.values() for one in each}
        every |= {name: what for name, what in taken.items() if name not in gathered}
        params += [OPTIONS[what](name) for name, what in every.items() if what in OPTIONS]
        text = epilog if epilog is not None else "" if last.startswith("MODEL") else SOURCES.replace("DATA", last)
        found = Command(function.__name__, callback=run, params=params, help=inspect.getdoc(function), epilog=text)
        found.functions = asks.split()
        found.asks = [name for name, what in every.items() if name not in written and what not in OPTIONS]
        return found

    return made


def _format(said: dict[str, Any]) -> Any:
    from bayesnb.data.csv_reader import Format

    named = {"\\t": "\t", "tab": "\t", "space": " ", "comma": ",", "semicolon": ";"}
    return Format(**said | {"sep": named.get(said["sep"], said["sep"])})
