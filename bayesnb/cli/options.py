"""The options of all commands, each under one name, with one default and one meaning.

What a question takes is stated by its signature and its docstring, and is made an option there
(:func:`of_parameter`). Typed here is only what no question knows: how files are read, and where output goes.
"""

from __future__ import annotations

import inspect
import pkgutil
import re
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any, Literal, get_args, get_origin, get_type_hints

import click

from bayesnb import datasets
from bayesnb.cli.settings import Settings
from bayesnb.estimates import ESTIMATES

EMBEDDED = "Embedded data: " + ", ".join(datasets.names()) + "."
FILES = "a CSV, Excel, Parquet or Arrow file, a folder or a quoted glob of them, or - for stdin"
SOURCES = f"DATA is the name of an embedded data set, {FILES}. It is read in parts and may be larger than memory."

READING, MODEL, ANSWER, OUTPUT = "Reading", "Model", "Answer", "Output"


class Option(click.Option):
    """An option of a group of the help. Without a text of its own, it has that of the estimator's parameter."""

    group: str = ANSWER

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """The option and its text, which is looked up where it is shown."""
        if self.help is None:
            from bayesnb.estimator import BayesianNB
            from bayesnb.inference.questions import described

            self.help = described(BayesianNB.__doc__ or "")[str(self.name)]
        # A docstring names methods and marks code as Sphinx reads them.
        self.help = re.sub(r":[\w:]+:`~?([^`]*)`", r"\1", self.help).replace("``", "")
        if "FAMILIES" in self.help:
            from bayesnb.data.specifications import families_by_name

            self.help = self.help.replace("FAMILIES", ", ".join(families_by_name()))
        return super().get_help_record(ctx)


class Command(click.Command):
    """A command whose help has its options by group.

    ``asks`` names parameters of functions, which are made options where the command is first looked into: their modules
    take long to import.
    """

    asks: Mapping[str, Iterable[str]] = {}

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The options and arguments of the command."""
        asks, self.asks = self.asks, {}
        self.params += [
            of_parameter(pkgutil.resolve_name(function), name) for function, names in asks.items() for name in names
        ]
        return super().get_params(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, those of one group under one heading."""
        groups: dict[str, list[Any]] = {name: [] for name in (READING, MODEL, ANSWER, OUTPUT)}
        for option in self.get_params(ctx):
            if isinstance(option, click.Option) and (record := option.get_help_record(ctx)):
                groups[getattr(option, "group", OUTPUT)].append(record)
        for name, records in groups.items():
            if records:
                with formatter.section(name):
                    formatter.write_dl(records)


def option(group: str, *flags: str, **settings: Any) -> Callable[[str], click.Option]:
    """An option in one of the groups of the help, as a function of the parameter that takes it."""

    def made(name: str) -> click.Option:
        shown = settings.get("default") not in (None, False, ())
        found = Option([*flags, name], **{"show_default": shown} | settings)
        found.group = group
        return found

    return made


class Numbers(click.ParamType):
    """Whole numbers, separated by commas."""

    name = "N,N…"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[int]:
        """The numbers."""
        try:
            return [int(number) for number in value.split(",")] if isinstance(value, str) else value
        except ValueError:
            self.fail(f"Expected whole numbers such as 100,1000; got {value!r}", param, ctx)


TYPES: Mapping[Any, Any] = {
    "bool": bool, "int": int, "float": float, "str": str, "Any": str, "Sequence[str]": str, "Sequence[Any]": str,
}  # fmt: skip
"""How the types of parameters are written on the command line."""

BOUNDS: Mapping[str, Any] = {
    "draws": click.IntRange(2), "n": click.IntRange(0), "explain": click.IntRange(0),
}  # fmt: skip
"""The values that a parameter of this name can have, whatever the question."""


def type_of(function: Callable, name: str) -> Any:
    """How a parameter of a function is written on the command line; ``None`` if it cannot be."""
    said = str(inspect.signature(function).parameters[name].annotation).removesuffix(" | None")
    if name in BOUNDS or said in TYPES:
        return BOUNDS.get(name, TYPES.get(said))
    if not re.fullmatch(r"[A-Z]\w*|Literal\[[^]]*\]", said):
        return None
    known = inspect.unwrap(function).__globals__
    kind = get_type_hints(type("Stated", (), {"__annotations__": {name: said}}), known)[name]
    kind = getattr(kind, "__value__", kind)
    return click.Choice(get_args(kind)) if get_origin(kind) is Literal else None


def of_parameter(function: Callable, name: str) -> click.Option:
    """A parameter of a function as an option: its type, its default and its text are those that the function states."""
    from bayesnb.inference.questions import described

    parameter = inspect.signature(function).parameters[name]
    default = None if parameter.default is parameter.empty else parameter.default
    several = str(parameter.annotation) in ("Sequence[str]", "Sequence[Any]")
    shown = {} if default in (None, False, ()) else {"show_default": True}
    return Option(
        ["-n" if name == "n" else f"--{name.replace('_', '-')}", name],
        type=type_of(function, name), default=default, multiple=several, is_flag=default is False,
        help=described(function.__doc__ or "")[name] + " May be repeated." * several, **shown,
    )  # fmt: skip


def _one_of(*choices: str) -> dict[str, Any]:
    """An option with these choices, of which the first is the default."""
    return {"type": click.Choice(choices), "default": choices[0]}


OPTIONS = {
    "target": option(READING, "--target", help="Column that holds the class (known for embedded data and models)."),
    "weight": option(READING, "--weight", metavar="COL", help="Column that holds the frequency weight of a row."),
    "drop": option(READING, "--drop", multiple=True, metavar="COL", help="Column to leave out. May be repeated."),
    "sep": option(READING, "--sep", metavar="TEXT", help="Separator of the cells of a CSV file.  [default: detected]"),
    "decimal": option(
        READING, "--decimal", type=click.Choice([".", ","]), help="Decimal mark.  [default: detected]"
    ),
    "encoding": option(
        READING, "--encoding", metavar="NAME", help="Encoding, such as cp1252 or utf-16.  [default: detected]"
    ),
    "header": option(
        READING, "--header/--no-header", default=None,
        help="Whether the first line holds the names of columns.  [default: detected]",
    ),
    "na": option(
        READING, "--na", multiple=True, metavar="TEXT",
        help="A further text that means missing, such as ?, or COL=TEXT for one column. May be repeated.",
    ),
    "sheet": option(READING, "--sheet", metavar="NAME|N", help="Sheet of an Excel file.  [default: the first]"),
    "specified": option(
        MODEL, "--feature", multiple=True, metavar="COL=FAMILY",
        help="Family of a column. May be repeated; the other columns get theirs by type. The families: FAMILIES. Some "
        "take more: binned:EDGE,EDGE…; ordinal:LOWEST,…,HIGHEST; hurdle:FAMILY; mixture:FAMILY,FAMILY…; "
        "best:FAMILY,FAMILY… (the rows choose); missing:FAMILY (counts also whether a cell is missing); or, of several "
        "columns as one feature, NAME=FAMILY:COL,COL…. best alone is for all columns of numbers, missing alone for "
        "all columns.",
    ),
    "m": option(
        MODEL, "--m", type=click.FloatRange(0), help="m-estimate: categorical columns are smoothed by M imaginary rows."
    ),
    "class_prior": option(
        MODEL, "--class-prior", metavar="PRIOR",
        help="laplace (the default), frequencies, uniform, or LABEL=P,LABEL=P… as known probabilities.",
    ),
    "unseen": option(MODEL, "--unseen", **_one_of("missing", "new", "error")),
    "absent": option(MODEL, "--absent", **_one_of("error", "missing")),
    "absent_now": option(
        MODEL, "--absent", type=click.Choice(["error", "missing"]),
        help="How to read a fitted column that the table does not have.  [default: as the model says]",
    ),
    "columns": option(MODEL, "--columns", **_one_of("fixed", "grow")),
    "dependence": option(
        MODEL, "--dependence", **_one_of("auto", "none", "tempered", "weighted", "pairwise"),
        help="How columns may depend on each other given the class: not at all, as in the textbooks; one exponent for "
        "all of them; one for each; or also terms of pairs. auto averages over none, weighted, and pairwise with terms "
        "of near rows and random partitions, weighed by their predictions of held-out rows.",
    ),
    "dependences": option(
        MODEL, "--dependence", multiple=True,
        type=click.Choice(["none", "auto", "tempered", "weighted", "pairwise"]), default=("weighted", "auto"),
        help="What to set beside the estimates of naive Bayes. May be repeated; none for nothing.",
    ),
    "estimate": option(MODEL, "--estimate", **_one_of("predictive", *(e for e in ESTIMATES if e != "predictive"))),
    "cv": option(ANSWER, "--cv", type=click.IntRange(2), help="Score by so many folds, not by exact leave-one-out."),
    "most": option(
        ANSWER, "--rows", type=click.IntRange(1), metavar="N", default=20_000,
        help="Score at most so many rows, drawn at random. All are learned.",
    ),
    "more": option(
        ANSWER, "--more", type=Numbers(),
        help="Also say what so many more rows are worth, and what a plug-in costs beside full Bayes then.",
    ),
    "values": option(
        ANSWER, "--set", multiple=True, metavar="COL=VALUE",
        help="A value of the row, which may hold commas and equals signs. May be repeated.",
    ),
    "row": option(
        ANSWER, "--row", metavar="N|K=V,K=V|JSON",
        help="The row to explain: its position, counted from 0, or its values; columns not named are missing.  "
        "[default: the textbook's, else the first]",
    ),
    "rows": option(
        ANSWER, "--row", multiple=True, metavar="K=V,K=V|JSON",
        help="A row to predict; columns not named are missing. May be repeated.  [default: the textbook's, else the "
        "first]",
    ),
    "flip": option(
        ANSWER, "--flip", is_flag=True,
        help="Also say what would change the answer: the fewest rows to remove, and the smallest contamination.",
    ),
    "prob": option(
        ANSWER, "--prob", type=click.FloatRange(0, 1, True, True), default=0.89, help="Probability of the intervals."
    ),
    "seed": option(ANSWER, "--seed", type=int, default=0, help="Seed of the draws."),
    "nuts": option(
        ANSWER, "--nuts", is_flag=True, help="Also sample the PyMC model with NUTS, and compare with the closed form."
    ),
    "top": option(
        OUTPUT, "--top", type=click.IntRange(1), default=10, help="Pairs, checks and labels to print as tables."
    ),
    "title": option(OUTPUT, "--title", help="Of the page.  [default: names the data]"),
    "layout": option(
        OUTPUT, "--format", **_one_of("table", "json", "csv"), help="json holds everything, csv one table."
    ),
    "page": option(
        OUTPUT, "--format", type=click.Choice(["html", "md"]),
        help="[default: md for a FILE that ends in .md or .markdown, else html]",
    ),
    "to_model": option(
        OUTPUT, "-o", "--output", required=True, metavar="FILE", help="Where to write the model; - is stdout."
    ),
    "to_same_model": option(
        OUTPUT, "-o", "--output", metavar="FILE", help="Where to write the model.  [default: in place of the old one]"
    ),
    "to_table": option(
        OUTPUT, "-o", "--output", default="-", metavar="FILE", help="A Parquet or CSV file; - is CSV on stdout."
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

FORMAT = ("sep", "decimal", "encoding", "header", "na", "sheet")
SETTINGS = ("drop", "specified", "m", "class_prior", "weight", "unseen", "absent", "columns", "dependence")
GATHERED = {"format": FORMAT, "settings": SETTINGS, "naive": SETTINGS[:-1]}
"""Options that a command gets as one argument: how a file is read, and what a model is."""


def command(
    arguments: str = "DATA", asks: str = "", epilog: str | None = None, names: Iterable[str] = (), **variants: str
) -> Callable[[Callable], click.Command]:
    """Make a command of a function, whose parameters are its options.

    Parameters
    ----------
    arguments : str
        As they are written in the help: ``[NEW]`` may be left out.
    asks : "module:function"
        The function whose parameters are the options that are neither in ``OPTIONS`` nor in ``GATHERED``.
    epilog : str, optional
        By default it says what the last argument may be.
    names : names of options
        Those of a function that takes any.
    **variants : name in ``OPTIONS`` or ``GATHERED``
        What a parameter is, where its name does not say it.
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
            params.append(click.Argument([name], metavar=argument, nargs=several, required="[" not in argument))
        for name, what in taken.items():
            each = {one: one for one in gathered[name]} if name in gathered else {name: what}
            params += [OPTIONS[what](one) for one, what in each.items() if what in OPTIONS]
        text = epilog if epilog is not None else "" if last.startswith("MODEL") else SOURCES.replace("DATA", last)
        found = Command(function.__name__, callback=run, params=params, help=inspect.getdoc(function), epilog=text)
        found.asks = {
            asks: [name for name in taken if name not in {*written, *gathered} and taken[name] not in OPTIONS]
        }
        return found

    return made


def _format(said: dict[str, Any]) -> Any:
    """How a file is read; the separator may be named, or written as an escape."""
    from bayesnb.data.format import Format

    named = {"\\t": "\t", "tab": "\t", "space": " ", "comma": ",", "semicolon": ";"}
    return Format(**said | {"sep": named.get(said["sep"], said["sep"])})
