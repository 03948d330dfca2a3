"""``bayesnb report``: a page about a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from bayesnb.cli import options
from bayesnb.cli.outputs import require_output
from bayesnb.cli.settings import Settings
from bayesnb.cli.sources import fitted
from bayesnb.cli.terminal import say, stdout

if TYPE_CHECKING:
    from bayesnb.data.format import Format


@click.command(epilog=options.EMBEDDED)
@click.argument("data", metavar="DATA")
@options.target
@click.option("-o", "--output", required=True, metavar="FILE",
              help="Where to write the page, all of it or nothing; - is stdout.")  # fmt: skip
@click.option("--format", "layout", type=click.Choice(["html", "md"]),
              help="[default: md for a FILE that ends in .md or .markdown, else html]")  # fmt: skip
@click.option("--title", help="Of the page.  [default: names the data]")
@click.option("--explain", type=click.IntRange(0), metavar="N", default=5, show_default=True,
              help="Explain the N most uncertain rows.")  # fmt: skip
@click.option("--by", type=click.Choice(["total", "epistemic"]), default="total", show_default=True,
              help="The entropy that makes a row uncertain.")  # fmt: skip
@options.cv
@options.scored_rows
@options.model_settings
@options.unit("Unit of the log-odds.")
@options.draws("Exact draws for entropies.")
@options.prob("Probability of the intervals.")
@options.seed
@options.file_format
@options.force
def report(
    data: str, target: str | None, output: str, layout: str | None, title: str | None, explain: int, by: str,
    cv: int | None, most: int, settings: Settings, unit: str, draws: int, prob: float, seed: int, format: Format,
    force: bool,
) -> int:  # fmt: skip
    """Write one self-contained page about a table: what its model is worth, what to look at, and what was learned.

    DATA is the name of an embedded data set, or a path as for `fit`. The page asks nothing of the network. It is
    light or dark as the reader's screen is.
    """
    from bayesnb.report import is_report, write
    from bayesnb.report import report as page_of

    layout = layout or ("md" if output.lower().endswith((".md", ".markdown")) else "html")
    require_output(output, layout, [data], is_report, force)
    learned = fitted(data, target, format, settings, seed)
    title = title if title is not None else f"Naive Bayes: {Path(learned.name).name}"
    page = page_of(
        learned.clf, learned.X, learned.y, title, layout, explain, by, unit, prob, draws, say, cv or "loo", most,
        [remark.sentence for remark in sorted(learned.remarks, key=lambda remark: not remark.serious)],
    )  # fmt: skip
    if output == "-":
        stdout().write(page)
    else:
        write(page, output)
        say(f"wrote {output}")
    return 0
