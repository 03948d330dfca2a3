"""``bayesnb inspect``: how a table is read, what is remarkable about it, and what a model file holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from bayesnb import datasets
from bayesnb.cli import options
from bayesnb.cli.advising import advised, dependence_of, fit_command
from bayesnb.cli.doctor import marks_of, without
from bayesnb.cli.printing import grid_of, print_document, records_of
from bayesnb.cli.settings import Settings
from bayesnb.cli.sources import opened, watched
from bayesnb.cli.terminal import console_of, visible
from bayesnb.cli.wording import in_options

if TYPE_CHECKING:
    import pandas as pd

    from bayesnb.data.format import Format
    from bayesnb.data.readers import Source
    from bayesnb.data.summary import Summary

WIDE = 110
"""The width of a terminal on which remarks stand within the table, and not below it."""


@click.command(epilog=options.SOURCES)
@click.argument("data", metavar="DATA|MODEL")
@click.option("--target", help="Column that holds the class.")
@options.naive_settings
@options.file_format
@options.layout("table", "json")
def inspect(data: str, target: str | None, settings: Settings, format: Format, layout: str) -> int:
    """Say how a table is read, what each column is taken for, and what is remarkable about it; or what a model holds.

    The last line is the command that fits a model to the table. It leaves out the columns that are best left out, reads
    as missing what looks like a mark of gaps, and chooses the families that are advised. Up to 4,096 rows decide
    whether it lets columns depend on each other.
    """
    import pandas as pd

    from bayesnb.modelfile import document

    if data != "-" and document.is_model(data):
        described = document.describe(data)
        about = {
            "model": data,
            "written by": f"bayesnb {described['bayesnb_version']} (format {described['format_version']})",
            "content": described["content_hash"],
            "target": described["target"],
            "rows": {str(label): rows for label, rows in described["rows"].items()},
            "settings": {
                name: value if value is None or isinstance(value, bool | int | float | str) else repr(value)
                for name, value in described["configuration"].items()
            },
        }
        _print(about, pd.DataFrame(described["features"]).set_index("feature"), layout)
        return 0
    from bayesnb.data import engines
    from bayesnb.estimator import BayesianNB

    table = opened(data, format, settings, () if target is None else (target,))
    table.require(target, "--target")
    target = datasets.target(table.name) if target is None and table.file is None else target
    passing, sample = watched(table)
    parameters = settings.parameters() | {"class_prior": None}
    summary = engines.summary(BayesianNB(unlabelled_weight=0, **parameters), passing, target, settings.weight)
    frame = sample()
    seen = table.examined(frame, target, summary.rows)
    about: dict[str, Any] = {"data": data, "rows": summary.rows}
    about |= {} if table.file is None else _how_read(table.file)
    if target is not None:
        about |= {"target": target} | ({"without a class": summary.blank} if summary.blank else {})
        about["classes"] = {str(k): n for k, n in zip(summary.classes, summary.statistics.rows.tolist(), strict=True)}
    features = _columns(summary)
    marks, settings, said_of_pairs = marks_of(seen), advised(settings, seen), ""
    if target is not None:
        dependence, said_of_pairs = dependence_of(without(frame, marks), target, settings)
        settings = replace(settings, dependence=dependence)
    command = fit_command(data, target, replace(format, na=(*format.na, *marks)), settings)
    if layout == "json":
        said = [{"column": str(r.column), "remark": r.said, "serious": r.serious} for r in seen]
        document = {**about, "features": records_of(features), "remarks": said}
        print_document(document | {"dependence": in_options(said_of_pairs), "fit": command})
        return 0
    by_column: dict[Any, list[str]] = {}
    for remark in seen:
        by_column.setdefault(remark.column, []).append(
            f"{remark.said} (leave it out with --drop)" if remark.drop else remark.said
        )
    console = console_of()
    chose = any(feature.tried for feature in summary.schema.features.values())
    shown, remarked = features if chose else features.drop(columns="chosen"), _remarks(features, by_column)
    wide = console.width >= WIDE
    _print(about, shown.assign(remark=remarked) if wide else shown, layout)
    for name, said in by_column.items():
        if not wide or name not in features.index:
            console.print(visible(f"{name}: {'; '.join(said)}"), markup=False)
    if said_of_pairs:
        console.print(f"\n{visible(in_options(said_of_pairs))}", markup=False)
    console.print(f"\n{visible(command)}", markup=False, soft_wrap=True)
    return 0


def _remarks(features: pd.DataFrame, by_column: Mapping[Any, list[str]]) -> list[str]:
    """The remarks of each feature, those of its columns together."""
    return ["; ".join(by_column.get(name, [])) for name in features.index]


def _how_read(source: Source) -> dict[str, Any]:
    """How a CSV or Excel file was read."""
    if source.reading is None:
        return {}
    first = source.layouts[0]
    named = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "blanks"}
    header = "names in the first line" if first.header else "no line of names"
    skipped = f"{first.skip} lines before it left out" if first.skip else ""
    cells = f"cells separated by {named.get(first.sep, repr(first.sep))}"
    comma = "decimal commas" if "," in source.reading.marks.values() else ""
    files = f"{len(source.layouts)} files" if len(source.layouts) > 1 else ""
    return {"read as": ", ".join(filter(None, [files, first.encoding, cells, comma, header, skipped]))}


def _columns(summary: Summary) -> pd.DataFrame:
    """One row a column, with the mean and the standard deviation of numbers."""
    frame = summary.schema.describe(summary.statistics).drop(columns=["prior", "columns"])
    for name, s in summary.statistics.features.items():
        for what, values in summary.schema.features[name].family.of_columns(s).items():
            frame.loc[name, what] = values[0]
    return frame


def _print(about: Mapping[str, Any], features: pd.DataFrame, layout: str) -> None:
    if layout == "json":
        print_document({**about, "features": records_of(features)})
        return
    console = console_of()
    for name, value in about.items():
        if isinstance(value, Mapping):
            value = ", ".join(f"{k} {v:,.10g}" if isinstance(v, float) else f"{k}={v}" for k, v in value.items())
        console.print(visible(f"{name}: {value}"), markup=False, soft_wrap=True)
    console.print(grid_of(features.reset_index().astype(object), 3, console.width))
