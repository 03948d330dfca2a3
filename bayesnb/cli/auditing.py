"""``bayesnb audit``: which columns depend on each other, whether the model fits, and which labels are to be doubted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bayesnb.cli import options
from bayesnb.cli.outputs import is_picture, require_output
from bayesnb.cli.printing import plain, print_checks, print_document, print_labels, print_pairs, records_of
from bayesnb.cli.settings import Settings
from bayesnb.cli.sources import fitted
from bayesnb.cli.terminal import say, stdout
from bayesnb.cli.wording import in_options

if TYPE_CHECKING:
    from bayesnb.data.format import Format
    from bayesnb.dependence.audit import Independence


@click.command(epilog=options.EMBEDDED)
@click.argument("data", metavar="DATA")
@options.target
@click.option(
    "--top", type=click.IntRange(1), default=10, show_default=True, help="Pairs, checks and labels to print as tables."
)
@options.prob("Of the intervals.")
@click.option("-o", "--output", metavar="FILE", help="Also draw a map of all pairs, as a PNG or SVG file.")
@options.layout("table", "json", "csv", help="json holds all pairs, and labels; csv all pairs.")
@options.naive_settings
@options.file_format
@options.force
def audit(
    data: str, target: str | None, top: int, prob: float, output: str | None, layout: str, settings: Settings,
    format: Format, force: bool,
) -> int:  # fmt: skip
    """Say which columns of a table depend on each other given the class, and which labels are to be doubted.

    DATA is the name of an embedded data set, or a path as for `fit`. Naive Bayes takes the columns as independent
    given the class. Every pair of columns is held against that: by the exact Bayes factor, by the mutual information,
    and by what modelling the pair gains on rows that were left out. Then the columns and the pairs are compared with
    tables that the model makes. The time grows with the number of pairs: 30 columns take a few seconds, 200 are the
    most. A label is doubtful if it is improbable by the model of all other rows; where the audit advises a dependence,
    the model has it.

    There is no --dependence here: the audit asks whether naive Bayes needs one, and its first sentence names it.
    `compare` and `report` show what it gains.
    """
    from bayesnb.learning import as_advised

    require_output(output, "picture", [data], is_picture, force)
    learned = fitted(data, target, format, settings)
    name, X, y, clf = learned.name, learned.X, learned.y, learned.clf
    say("weighing each pair of columns against independence")
    found = clf.independence(X, y, prob=prob)
    say("comparing the rows with tables that the model makes")
    checks = clf.predictive_checks(X, y, prob=prob)
    if left := [name for name in clf.schema_.names if name not in found.columns]:
        more = ", …" if len(left) > 5 else ""
        say(f"not compared (more than 64 levels, text to count, or exposure): {', '.join(map(repr, left[:5]))}{more}")
    doubts = as_advised(clf, found.advice, X, y).suspicious_labels(X, y) if len(clf.classes_) > 1 else None
    if layout == "json":
        document = {"data": name, "target": str(y.name), "says": in_options(str(found)), "advice": found.advice}
        document |= {
            "prob": prob,
            "exponent": plain(found.exponent.to_dict()),
            "pairs": records_of(found.pairs, index=False),
        }
        document |= {"fits": checks.fits, "fit": str(checks), "checks": records_of(checks.table, index=False)}
        if doubts is not None:
            top_rows = records_of(doubts.head(top).rename_axis("row"))
            number = {"wrong": doubts.attrs["expected"], "sd": doubts.attrs["sd"], "note": doubts.attrs.get("note")}
            document["labels"] = plain(number) | {"dependence": found.advice, "rows": top_rows}
        print_document(document)
    elif layout == "csv":
        stdout().write(found.pairs.to_csv(index=False))
    else:
        print_pairs(found, top, prob)
        print_checks(checks, top, prob)
        if doubts is not None:
            print_labels(doubts, top, found.advice)
    if output is not None:
        draw(found, output)
    return 0


def draw(found: Independence, output: str) -> None:
    """Write the map of the pairs to a file, all of it or nothing."""
    from pathlib import Path

    from bayesnb import plots
    from bayesnb.cli.outputs import OWN_PICTURE
    from bayesnb.data.writers import replacing

    figure, suffix = plots.independence(found), Path(output).suffix.lower()
    written_by = {".png": "Software", ".svg": "Creator"}[suffix]
    with replacing(output) as part:
        figure.savefig(part, format=suffix[1:], dpi=180, metadata={written_by: OWN_PICTURE})
    say(f"wrote {output}")
