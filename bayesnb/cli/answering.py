"""``bayesnb predict`` and ``sample``: predictions for a table, and rows drawn from the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bayesnb.cli import options
from bayesnb.cli.outputs import is_predictions, require_output
from bayesnb.cli.rows import class_of, load_model
from bayesnb.cli.sources import opened_for
from bayesnb.cli.terminal import say, stdout, warn

if TYPE_CHECKING:
    from bayesnb.data.format import Format


@click.command(epilog=options.SOURCES.replace("DATA", "NEW"))
@click.argument("model", metavar="MODEL")
@click.argument("new", metavar="NEW")
@options.to_table
@click.option("--interval", is_flag=True, help="Add the interval of each class probability.")
@options.prob("Probability of the interval.")
@click.option("--keep", multiple=True, metavar="COL", help="Column of NEW to carry over. May be repeated.")
@click.option("--absent", type=click.Choice(["error", "missing"]),
              help="How to treat a fitted column that NEW does not have.  [default: as the model says]")  # fmt: skip
@options.file_format
@options.force
def predict(
    model: str, new: str, output: str, interval: bool, prob: float, keep: tuple[str, ...], absent: str | None,
    format: Format, force: bool,
) -> int:  # fmt: skip
    """Predict the class of each row, with its probability and those of the other classes.

    Rows are read and written in parts, in their order. A file is written whole or not at all.
    """
    import warnings

    from bayesnb.data import writers
    from bayesnb.data.unseen import Unseen, UnseenLevelWarning

    require_output(output, "table", (model, new), is_predictions, force)
    clf = load_model(model)
    clf = clf if absent is None else clf.set_params(absent=absent)
    table = opened_for(clf, new, format)
    for column in keep:
        table.require(column, "--keep")
    counts = Unseen(clf.schema_)
    with warnings.catch_warnings():
        # They are counted over all parts, and said once.
        warnings.simplefilter("ignore", UnseenLevelWarning)
        frames = clf.predict_table(counts.counted(table.tables()), interval, prob, keep)
        if output == "-":
            writers.write_csv(frames, stdout())
        else:
            rows = writers.write(frames, output)
            say(f"wrote {output}: {rows:,} rows")
    for sentence in counts.sentences():
        warn(sentence)
    return 0


@click.command()
@click.argument("model", metavar="MODEL")
@click.option("-n", "rows", type=click.IntRange(0), default=10, show_default=True, help="Rows.")
@click.option("--label", help="The class to sample from.  [default: each row draws its own]")
@options.seed
@options.to_table
@options.force
def sample(model: str, rows: int, label: str | None, seed: int, output: str, force: bool) -> int:
    """Draw new rows from a model: a class, and the columns given the class."""
    from bayesnb.data import writers

    # A sampled table looks like an observed one, so any table is replaced only with --force.
    require_output(output, "table", [model], lambda _: False, force)
    clf = load_model(model).set_params(random_state=seed)
    frame = clf.sample(rows, class_of(clf, label, "--label"))
    if clf.target_ is not None and clf.target_ not in frame:
        frame = frame.rename(columns={frame.columns[0]: clf.target_})
    if output == "-":
        writers.write_csv([frame], stdout())
    else:
        writers.write([frame], output)
    return 0
