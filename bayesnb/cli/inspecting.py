"""``bayesnb inspect``: what a table or a model file holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from bayesnb.cli import options
from bayesnb.cli.printing import grid_of, print_document, records_of
from bayesnb.cli.rows import source_of
from bayesnb.cli.terminal import console_of, visible

if TYPE_CHECKING:
    import pandas as pd

    from bayesnb.data.summary import Summary


@click.command(epilog=options.SOURCES)
@click.argument("data", metavar="DATA|MODEL")
@click.option("--target", help="Column that holds the class, to be left out.")
@options.layout("table", "json")
def inspect(data: str, target: str | None, layout: str) -> int:
    """Say what each column of a table would be taken for, or what a model file holds."""
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

    summary = engines.summary(BayesianNB(unlabelled_weight=0), source_of(data), target)
    about = {"data": data, "rows": summary.rows}
    if target is not None:
        about |= {"target": target, "without a class": summary.blank}
        about["classes"] = {str(k): n for k, n in zip(summary.classes, summary.statistics.rows.tolist(), strict=True)}
    _print(about, _columns(summary), layout)
    return 0


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
    console.print(grid_of(features.reset_index().astype(object), 3))
