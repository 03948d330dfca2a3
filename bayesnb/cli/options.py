"""The options that several commands share, each under one name, with one default and one meaning."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce, wraps

import click

from bayesnb import datasets
from bayesnb.cli.settings import Settings

type Option = Callable[[Callable], Callable]

EMBEDDED = "Embedded data: " + ", ".join(datasets.names()) + "."
FILES = "a CSV, Excel, Parquet or Arrow file, a folder or a quoted glob of them, or - for stdin"
SOURCES = f"DATA is the name of an embedded data set, {FILES}. It is read in parts and may be larger than memory."

target = click.option("--target", help="Column that holds the class (known for embedded data).")
fitted_target = click.option(
    "--target", help="Column that holds the class.  [default: the one the model was fitted with]"
)
weight = click.option("--weight", metavar="COL", help="Column that holds the frequency weight of a row.")
seed = click.option("--seed", type=int, default=0, show_default=True, help="Seed of the draws.")

to_model = click.option("-o", "--output", required=True, metavar="FILE", help="Where to write the model; - is stdout.")
to_same_model = click.option(
    "-o", "--output", metavar="FILE", help="Where to write the model.  [default: in place of the old one]"
)
to_table = click.option(
    "-o", "--output", default="-", metavar="FILE", help="A Parquet or CSV file.  [default: CSV on stdout]"
)
force = click.option("--force", is_flag=True, help="Replace a file that this command could not have written.")

cv = click.option(
    "--cv", type=click.IntRange(2), help="Score by this many folds instead of exact leave-one-out."
)  # fmt: skip
scored_rows = click.option(
    "--rows", "most", type=click.IntRange(1), metavar="N", default=20_000, show_default=True,
    help="Score at most so many rows, drawn at random. All are learned.",
)  # fmt: skip

DEPENDENCES = ("tempered", "weighted", "pairwise")
dependence = click.option(
    "--dependence", type=click.Choice(DEPENDENCES),
    help="Let columns depend on each other: one exponent for all of them, one for each, or also terms of pairs.  "
    "[default: independent given the class]",
)  # fmt: skip
dependences = click.option(
    "--dependence", "dependences", type=click.Choice([*DEPENDENCES, "none"]), multiple=True,
    default=("weighted", "pairwise"), show_default=True,
    help="What to set beside the estimates of naive Bayes. May be repeated; none for nothing.",
)  # fmt: skip
row_values = click.option(
    "--set", "values", multiple=True, metavar="COL=VALUE",
    help="A value of the row, which may hold commas and equals signs. May be repeated.",
)  # fmt: skip

FORMAT = (
    click.option("--sep", metavar="TEXT", help="Separator of the cells of a CSV file.  [default: found out]"),
    click.option("--decimal", type=click.Choice([".", ","]), help="Decimal mark.  [default: found out]"),
    click.option("--encoding", metavar="NAME", help="Encoding, such as cp1252 or utf-16.  [default: found out]"),
    click.option("--header/--no-header", default=None,
                 help="Whether the first line holds the names of columns.  [default: found out]"),
    click.option("--na", multiple=True, metavar="TEXT",
                 help="A further text that means missing, such as ? or -999. May be repeated."),
    click.option("--sheet", metavar="NAME|N", help="Sheet of an Excel file.  [default: the first]"),
)  # fmt: skip


def file_format(command: Callable) -> Callable:
    """Give a command the options that say how a file is read, as one argument ``format``."""

    @wraps(command)
    def with_format(*args: object, **kwargs: object) -> object:
        from bayesnb.data.format import Format

        said = {name: kwargs.pop(name) for name in ("sep", "decimal", "encoding", "header", "na", "sheet")}
        return command(*args, format=Format(**_separated(said)), **kwargs)

    return reduce(lambda made, option: option(made), reversed(FORMAT), with_format)


def _separated(said: dict) -> dict:
    """The same with the separator as a character, where it is named or written as an escape."""
    named = {"\\t": "\t", "tab": "\t", "space": " ", "comma": ",", "semicolon": ";"}
    return said | {"sep": named.get(said["sep"], said["sep"])}


SETTINGS = (
    click.option("--drop", multiple=True, metavar="COL", help="Column to leave out. May be repeated."),
    click.option(
        "--feature", "specified", multiple=True, metavar="COL=FAMILY",
        help="Family of a column, by its name in small letters, such as poisson; binned:EDGE,EDGE…; "
        "ordinal:LOWEST,…,HIGHEST; hurdle:FAMILY; mixture:FAMILY,FAMILY…; missing or missing:FAMILY to "
        "count also whether a cell is missing; best or best:FAMILY,FAMILY… to let the rows "
        "choose; or, of several columns as one feature, NAME=FAMILY:COL,COL…. May be repeated; the other columns get "
        "theirs by type. Or best alone, for all columns of numbers, or missing alone, for all columns.",
    ),
    click.option("--m", type=click.FloatRange(0),
                 help="m-estimate: categorical columns are smoothed by M imaginary rows."),
    click.option("--class-prior", metavar="PRIOR",
                 help="laplace (the default), frequencies, uniform, or LABEL=P,LABEL=P… as known probabilities."),
    weight,
    click.option("--unseen", type=click.Choice(["missing", "new", "error"]), default="missing", show_default=True,
                 help="How to treat a level that was never seen."),
    click.option("--absent", type=click.Choice(["error", "missing"]), default="error", show_default=True,
                 help="How to treat a fitted column that a table to predict does not have."),
    click.option("--columns", type=click.Choice(["fixed", "grow"]), default="fixed", show_default=True,
                 help="Whether further rows and merged models may have other columns."),
)  # fmt: skip


def model_settings(command: Callable, with_dependence: bool = True) -> Callable:
    """Give a command the options that say what a model is, as one argument ``settings``."""
    options = (*SETTINGS, dependence) if with_dependence else SETTINGS
    names = ["drop", "specified", "m", "class_prior", "weight", "unseen", "absent", "columns"]
    names += ["dependence"] if with_dependence else []

    @wraps(command)
    def with_settings(*args: object, **kwargs: object) -> object:
        return command(*args, settings=Settings(**{name: kwargs.pop(name) for name in names}), **kwargs)

    return reduce(lambda made, option: option(made), reversed(options), with_settings)


def naive_settings(command: Callable) -> Callable:
    """The same options but for ``--dependence``."""
    return model_settings(command, with_dependence=False)


def prob(of: str) -> Option:
    """The option ``--prob``; ``of`` is its help."""
    return click.option("--prob", type=click.FloatRange(0, 1, True, True), default=0.89, show_default=True, help=of)


def draws(what_for: str) -> Option:
    """The option ``--draws``; ``what_for`` is its help."""
    return click.option("--draws", type=click.IntRange(2), default=4000, show_default=True, help=what_for)


def unit(of: str) -> Option:
    """The option ``--unit``; ``of`` is its help."""
    units = click.Choice(["nats", "bits", "decibans"])
    return click.option("--unit", type=units, default="nats", show_default=True, help=of)


def layout(*choices: str, help: str | None = None) -> Option:
    """The option ``--format``; its default is the first choice."""
    return click.option(
        "--format", "layout", type=click.Choice(choices), default=choices[0], show_default=True, help=help
    )
