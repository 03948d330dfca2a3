"""``bayesnb report``: a page about a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bayesnb.cli import options
from bayesnb.cli.outputs import require_output
from bayesnb.cli.settings import Settings
from bayesnb.cli.sources import fitted
from bayesnb.cli.terminal import say, stdout

if TYPE_CHECKING:
    from bayesnb.data.csv_reader import Format


@click.command(epilog=options.EMBEDDED)
@click.argument("data", metavar="DATA")
@options.target
@click.option("-o", "--output", required=True, metavar="FILE",
              help="Where to write the page, all of it or nothing; - is stdout.")  # fmt: skip
@click.option("--format", "layout", type=click.Choice(["html", "md"]),
              help="[default: md for a FILE that ends in .md or .markdown, else html]")  # fmt: skip
@click.option("--title", help="Of the page.  [default: names the data]")
@click.option("--rows", type=click.IntRange(0), default=5, show_default=True, help="Uncertain rows to explain.")
@click.option("--by", type=click.Choice(["total", "epistemic"]), default="total", show_default=True,
              help="The entropy that makes a row uncertain.")  # fmt: skip
@options.model_settings
@options.unit("Unit of the log-odds.")
@options.draws("Exact draws for entropies.")
@options.prob("Probability of the intervals.")
@options.seed
@options.file_format
@options.force
def report(
    data: str, target: str | None, output: str, layout: str | None, title: str | None, rows: int, by: str,
    settings: Settings, unit: str, draws: int, prob: float, seed: int, format: Format, force: bool,
) -> int:  # fmt: skip
    """Write one self-contained page about a table: its model, its scores, its calibration, its uncertain rows.

    DATA is the name of an embedded data set, or a path as for `fit`. The page asks nothing of the network.
    """
    from bayesnb.report import is_report, write
    from bayesnb.report import report as page_of

    layout = layout or ("md" if output.lower().endswith((".md", ".markdown")) else "html")
    require_output(output, layout, [data], is_report, force)
    name, X, y, clf = fitted(data, target, format, settings, seed)
    title = title if title is not None else f"Naive Bayes: {name}"
    page = page_of(clf, X, y, title, layout, rows, by, unit, prob, draws, progress=say)
    if output == "-":
        stdout().write(page)
    else:
        write(page, output)
        say(f"wrote {output}")
    return 0
