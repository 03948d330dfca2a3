"""The options of all commands, each typed once: under one name, with one default and one meaning."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from typing import Any

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
        # A docstring names a method as Sphinx reads it.
        self.help = re.sub(r":[\w:]+:`~?([^`]*)`", r"\1", self.help)
        if "FAMILIES" in self.help:
            from bayesnb.data.specifications import families_by_name

            self.help = self.help.replace("FAMILIES", ", ".join(families_by_name()))
        return super().get_help_record(ctx)


class Command(click.Command):
    """A command whose help has its options by group."""

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


def option(group: str, *names: str, **settings: Any) -> Callable:
    """An option in one of the groups of the help."""
    kind = type("Option", (Option,), {"group": group})
    return click.option(
        *names, cls=kind, **{"show_default": settings.get("default") not in (None, False, ())} | settings
    )


def _one_of(*choices: str) -> dict[str, Any]:
    """An option with these choices, of which the first is the default."""
    return {"type": click.Choice(choices), "default": choices[0]}


def _sizes(context: click.Context, parameter: click.Parameter, said: str | None) -> list[int]:
    """Numbers of rows, separated by commas."""
    try:
        return [int(size) for size in said.split(",")] if said else []
    except ValueError:
        raise click.BadParameter(
            f"Expected numbers of rows such as 100,1000; got {said!r}", context, parameter
        ) from None


OPTIONS = {
    "target": option(READING, "--target", help="Column that holds the class (known for embedded data and models)."),
    "weight": option(READING, "--weight", metavar="COL", help="Column that holds the frequency weight of a row."),
    "drop": option(READING, "--drop", multiple=True, metavar="COL", help="Column to leave out. May be repeated."),
    "sep": option(READING, "--sep", metavar="TEXT", help="Separator of the cells of a CSV file.  [default: found out]"),
    "decimal": option(
        READING, "--decimal", type=click.Choice([".", ","]), help="Decimal mark.  [default: found out]"
    ),
    "encoding": option(
        READING, "--encoding", metavar="NAME", help="Encoding, such as cp1252 or utf-16.  [default: found out]"
    ),
    "header": option(
        READING, "--header/--no-header", default=None,
        help="Whether the first line holds the names of columns.  [default: found out]",
    ),
    "na": option(
        READING, "--na", multiple=True, metavar="TEXT",
        help="A further text that means missing, such as ?, or COL=TEXT for one column. May be repeated.",
    ),
    "sheet": option(READING, "--sheet", metavar="NAME|N", help="Sheet of an Excel file.  [default: the first]"),
    "keep": option(
        READING, "--keep", multiple=True, metavar="COL", help="Column of NEW to carry over. May be repeated."
    ),
    "feature": option(
        MODEL, "--feature", "specified", multiple=True, metavar="COL=FAMILY",
        help="Family of a column. May be repeated; the other columns get theirs by type. The families: FAMILIES. Some "
        "take more: binned:EDGE,EDGE…; ordinal:LOWEST,…,HIGHEST; hurdle:FAMILY; mixture:FAMILY,FAMILY…; "
        "best:FAMILY,FAMILY… (the rows choose); missing:FAMILY (counts also whether a cell is missing); or, of several "
        "columns as one feature, NAME=FAMILY:COL,COL…. best alone is said of all columns of numbers, missing alone of "
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
        "of near rows and random partitions, by what they say of rows that were left out.",
    ),
    "dependences": option(
        MODEL, "--dependence", "dependences", multiple=True,
        type=click.Choice(["none", "auto", "tempered", "weighted", "pairwise"]), default=("weighted", "pairwise"),
        help="What to set beside the estimates of naive Bayes. May be repeated; none for nothing.",
    ),
    "estimate": option(MODEL, "--estimate", **_one_of("predictive", *(e for e in ESTIMATES if e != "predictive"))),
    "cv": option(ANSWER, "--cv", type=click.IntRange(2), help="Score by so many folds, not by exact leave-one-out."),
    "most": option(
        ANSWER, "--rows", "most", type=click.IntRange(1), metavar="N", default=20_000,
        help="Score at most so many rows, drawn at random. All are learned.",
    ),
    "more": option(
        ANSWER, "--more", metavar="N,N…", callback=_sizes,
        help="Also say what so many more rows are worth, and what a plug-in costs beside full Bayes then.",
    ),
    "values": option(
        ANSWER, "--set", "values", multiple=True, metavar="COL=VALUE",
        help="A value of the row, which may hold commas and equals signs. May be repeated.",
    ),
    "row": option(
        ANSWER, "--row", metavar="N|K=V,K=V|JSON",
        help="The row to explain: its position, counted from 0, or its values; columns not named are missing.  "
        "[default: the textbook's, else the first]",
    ),
    "rows": option(
        ANSWER, "--row", "rows", multiple=True, metavar="K=V,K=V|JSON",
        help="A row to predict; columns not named are missing. May be repeated.  [default: the textbook's, else the "
        "first]",
    ),
    "label": option(ANSWER, "--label", help="The class that is asked about.  [default: the most probable]"),
    "against": option(
        ANSWER, "--against", help="The class that log-odds are against.  [default: the most probable other]"
    ),
    "flip": option(
        ANSWER, "--flip", is_flag=True,
        help="Also say what would turn the answer: the fewest learned rows, and how much doubt it bears.",
    ),
    "unit": option(
        ANSWER, "--unit", **_one_of("nats", "bits", "decibans"),
        help="Unit of the log-odds; ten decibans are a factor of ten.",
    ),
    "interval": option(ANSWER, "--interval", is_flag=True, help="Add the interval of each class probability."),
    "prob": option(
        ANSWER, "--prob", type=click.FloatRange(0, 1, True, True), default=0.89, help="Probability of the intervals."
    ),
    "draws": option(
        ANSWER, "--draws", type=click.IntRange(2), default=4000,
        help="Exact draws for entropies, and for intervals of more than two classes.",
    ),
    "seed": option(ANSWER, "--seed", type=int, default=0, help="Seed of the draws."),
    "nuts": option(
        ANSWER, "--nuts", is_flag=True, help="Also sample the PyMC model with NUTS, and hold the two roads together."
    ),
    "explain": option(
        ANSWER, "--explain", type=click.IntRange(0), metavar="N", default=5, help="Explain the N most uncertain rows."
    ),
    "by": option(ANSWER, "--by", **_one_of("total", "epistemic"), help="The entropy that makes a row uncertain."),
    "n": option(ANSWER, "-n", "n", type=click.IntRange(0), default=10, help="How many rows to draw."),
    "top": option(
        OUTPUT, "--top", type=click.IntRange(1), default=10, help="Pairs, checks and labels to print as tables."
    ),
    "title": option(OUTPUT, "--title", help="Of the page.  [default: names the data]"),
    "format": option(
        OUTPUT, "--format", "layout", **_one_of("table", "json", "csv"), help="json holds everything, csv one table."
    ),
    "page": option(
        OUTPUT, "--format", "layout", type=click.Choice(["html", "md"]),
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
    "sql": option(
        OUTPUT, "--sql", "dialect", required=True, metavar="DIALECT",
        help="Write SQL for this database: duckdb, sqlite, postgres, snowflake, bigquery, spark, …",
    ),
    "table": option(
        OUTPUT, "--table", metavar="NAME", default="new_rows", help="The table of rows that the query reads."
    ),
    "to_sql": option(OUTPUT, "-o", "--output", default="-", metavar="FILE", help="Where to write it; - is stdout."),
    "to_picture": option(
        OUTPUT, "-o", "--output", metavar="FILE", help="Also draw a map of all pairs, as a PNG or SVG file."
    ),
    "force": option(OUTPUT, "--force", is_flag=True, help="Replace a file that this command could not have written."),
}  # fmt: skip

FORMAT = ("sep", "decimal", "encoding", "header", "na", "sheet")
SETTINGS = ("drop", "feature", "m", "class_prior", "weight", "unseen", "absent", "columns")
GATHERED = {"file format": FORMAT, "settings": (*SETTINGS, "dependence"), "naive settings": SETTINGS}
"""Options that a command gets as one argument: how a file is read, and what a model is."""


def command(*names: str, epilog: str = SOURCES, arguments: str = "DATA") -> Callable[[Callable], click.Command]:
    """Make a command of a function.

    Parameters
    ----------
    *names : str
        Its options, by their names in ``OPTIONS`` or in ``GATHERED``.
    epilog : str
    arguments : str
        As they are written in the help: ``[NEW]`` may be left out.
    """

    def made(function: Callable) -> click.Command:
        @wraps(function)
        def run(**given: Any) -> Any:
            if "file format" in names:
                given["format"] = _format({name: given.pop(name) for name in FORMAT})
            for gathered in {"settings", "naive settings"} & {*names}:
                said = ("specified" if name == "feature" else name for name in GATHERED[gathered])
                given["settings"] = Settings(**{name: given.pop(name) for name in said})
            return function(**given)

        for each in reversed([each for name in names for each in GATHERED.get(name, (name,))]):
            run = OPTIONS[each](run)
        for argument in reversed(arguments.split()):
            name = re.sub(r"\W.*", "", argument.strip("[]")).lower()
            several = -1 if argument.endswith("…") else 1
            run = click.argument(name, metavar=argument, nargs=several, required="[" not in argument)(run)
        return click.command(cls=Command, epilog=epilog)(run)

    return made


def _format(said: dict[str, Any]) -> Any:
    """How a file is read; the separator may be named, or written as an escape."""
    from bayesnb.data.format import Format

    named = {"\\t": "\t", "tab": "\t", "space": " ", "comma": ",", "semicolon": ";"}
    return Format(**said | {"sep": named.get(said["sep"], said["sep"])})
