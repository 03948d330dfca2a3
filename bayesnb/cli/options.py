"""The options that several commands share, each under one name, with one default and one meaning."""

from __future__ import annotations

from collections.abc import Callable

import click

from bayesnb import datasets

type Option = Callable[[Callable], Callable]

EMBEDDED = "Embedded data: " + ", ".join(datasets.names()) + "."
SOURCES = (
    "DATA is the name of an embedded data set, a CSV, Parquet or Arrow file, a folder or a quoted glob of them, or - "
    "for stdin (CSV, or an Arrow stream). It is read in parts and may be larger than memory."
)

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


DEPENDENCES = ("tempered", "weighted", "pairwise")
dependence = click.option(
    "--dependence", type=click.Choice(DEPENDENCES),
    help="Let columns depend on each other: one exponent for all of them, one for each, or also terms of pairs.  "
    "[default: independent given the class]",
)  # fmt: skip
dependences = click.option(
    "--dependence", type=click.Choice([*DEPENDENCES, "none"]), multiple=True, default=("weighted", "pairwise"),
    show_default=True, help="What to set beside the estimates of naive Bayes. May be repeated; none for nothing.",
)  # fmt: skip


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
