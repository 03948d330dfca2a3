"""The commands that write tables and queries: ``bayesnb predict``, ``export``, ``sample`` and ``split``."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bayesnb.cli import options
from bayesnb.cli.models import load_model
from bayesnb.cli.outputs import is_predictions, require_output, write_text
from bayesnb.cli.rows import class_of
from bayesnb.cli.settings import Settings
from bayesnb.cli.sources import opened, opened_for
from bayesnb.cli.terminal import say, stdout, warn

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from bayesnb.data.csv_reader import Format


@options.command("MODEL NEW", "bayesnb.inference.predict:predict_table", output="to_table", absent="absent_now")
def predict(
    model: str, new: str, output: str, digits: int, interval: bool, prob: float, keep: tuple[str, ...],
    absent: str | None, format: Format, force: bool,
) -> int:  # fmt: skip
    """Predict the class of each row and all class probabilities.

    Rows are read and written in parts, in order. A file is written completely or not at all.
    """
    from bayesnb import deploy
    from bayesnb.data.new_rows import UnseenCounter, UnseenLevelWarning
    from bayesnb.data.warned import named_as_key
    from bayesnb.data.writers import SEPARATORS
    from bayesnb.inference.intervals import IMPRECISE

    require_output(output, "table", (model, new), is_predictions, force)
    as_text = output == "-" or Path(output).suffix.lower() in SEPARATORS
    options.refuse(() if interval else ("prob",), "only --interval has a probability")
    options.refuse(() if as_text else ("digits",), "Parquet keeps all digits")
    clf, _ = load_model(model, absent)
    table = opened_for(clf, new, format, None, *keep)
    for column in keep:
        table.require(column, "--keep")
    counts = UnseenCounter(clf.schema)
    with warnings.catch_warnings():
        # Unseen levels are counted over all parts and reported once.
        warnings.simplefilter("ignore", UnseenLevelWarning)
        frames = deploy.predict_table(clf, counts.counted(table.tables()), interval, prob, keep)
        errors, imprecise, outside = [0.0], [0], [0]
        frames = _noted(frames, errors, imprecise, outside)
        if as_text:
            frames = (_rounded(frame, digits) for frame in frames)
        rows = _write(frames, output)
        if output != "-":
            say(f"wrote {output}: {rows:,} rows")
            if (keys := [*filter(named_as_key, table.settings.drop)]) and not keep:
                say(f"to copy a key of the rows: --keep {shlex.quote(keys[0])}")
    if max(errors) > 0:
        say(
            f"the ends of the intervals come from draws, with a standard error of at most {max(errors):.2g}; it is "
            f"above {IMPRECISE} in {sum(imprecise):,} of {rows:,} rows"
        )
    if n := sum(outside):
        say(
            f"in {n:,} of {rows:,} rows, a probability lies outside its interval by more than {OUTSIDE}: it averages "
            "over the parameters, and the interval is of the probability at one value of the parameters"
        )
    for sentence in counts.sentences():
        warn(sentence)
    return 0


OUTSIDE = 0.001
"""Smallest reported distance between a probability and its interval."""


def _noted(
    frames: Iterable[pd.DataFrame], errors: list[float], imprecise: list[int], outside: list[int]
) -> Iterator[pd.DataFrame]:
    """Yield the frames of predictions unchanged, and append one number per frame to each of three lists."""
    for frame in frames:
        # The largest Monte Carlo standard error, the number of rows with a large error, and the number of rows with a
        # probability outside its interval.
        errors.append(frame.attrs.get("mcse", 0.0))
        imprecise.append(frame.attrs.get("imprecise", 0))
        wide = [str(name) for name in frame if f"{name}_lower" in frame]
        p, lower, upper = (frame[[name + end for name in wide]].to_numpy() for end in ("", "_lower", "_upper"))
        outside.append(int(((p < lower - OUTSIDE) | (p > upper + OUTSIDE)).any(axis=1).sum()))
        yield frame


def _write(frames: Iterable[pd.DataFrame], output: str) -> int:
    from bayesnb.data import writers

    return writers.write_csv(frames, stdout()) if output == "-" else writers.write(frames, output)


def _rounded(frame: pd.DataFrame, digits: int) -> pd.DataFrame:
    probabilities = frame.columns[frame.columns.get_loc("prediction") + 1 :]
    return frame.assign(**{name: [f"{p:.{digits}g}" for p in frame[name]] for name in probabilities})


@options.command("MODEL", "bayesnb.inference.sql:to_sql", output="to_sql")
def export(model: str, dialect: str, table: str, keep: tuple[str, ...], output: str, force: bool) -> int:
    """Write a model as one SQL SELECT.

    The statement computes the class probabilities of all rows of a table.
    """
    from bayesnb import deploy

    require_output(output, "sql", [model], None, force)
    clf, _ = load_model(model)
    write_text(deploy.to_sql(clf, dialect, table, keep) + "\n", output)
    return 0


@options.command("MODEL", "bayesnb.inference.sample:sample", output="to_table")
def sample(model: str, n: int, label: str | None, random_state: int, output: str, force: bool) -> int:
    """Draw new rows from a model.

    The class is drawn first, unless --label is given, and then the columns. Given the class, the columns are drawn
    independently, even if the model was fitted with --dependence.
    """
    from bayesnb import draws

    # A sampled table looks like an observed one, so any table is replaced only with --force.
    require_output(output, "table", [model], None, force)
    clf, _ = load_model(model)
    if clf.dependence is not None:
        say("the rows are drawn from the naive Bayes part of the model, so the columns are independent given the class")
    frame = draws.sample(replace(clf, seed=random_state), n, class_of(clf.classes_.tolist(), label, "--label"))
    _write([frame], output)
    return 0


@options.command(output="to_stem")
def split(
    data: str, target: str | None, output: str | None, test_share: float, split_seed: int, format: Format, force: bool
) -> int:
    """Split a table into rows to learn from and rows to score.

    The two files are called STEM-train and STEM-test. --test is the fraction of each class that goes to STEM-test. The
    split depends on the texts of the cells, not on the order of the rows. Identical rows may go to both files. If more
    rows are identical than chance explains, a warning gives their number. Rows without a class are left out. CSV files,
    Excel files and embedded data sets become CSV in UTF-8, with unchanged cells; other tables become Parquet.
    """
    from bayesnb.data import writers

    table = opened(data, format, Settings(), (target,))
    text = table.file is not None and bool(table.file.layouts)
    if text:
        from bayesnb.data.arrow import marks_in
        from bayesnb.data.csv_reader import MISSING

        # Only a missing class leaves a row out, so other cells keep their texts for missing values.
        names, own = tuple(table.names), table.target_of(target)
        marks = [f"{name}={mark}" for name in names if name != own for mark in MISSING if mark]
        na = tuple(f"{own}={mark}" for mark in marks_in(own, format.na, names))
        format = replace(format, text=names, na=na, keep_na=(*format.keep_na, *marks))
        table = opened(data, format, Settings(), (target,), says_sheet=False)
    X, y = table.load(target)
    frame = X.assign(**{str(y.name): y}).reset_index(drop=True)
    frame = frame[[name for name in table.names if name in frame]]
    drawn = drawn_by_content(frame, y, test_share, split_seed)
    stem = output or str(Path(Path(table.name).name).stem if table.name != "-" else "stdin")
    suffix = ".csv" if text or table.file is None else ".parquet"
    parts = {f"{stem}-train{suffix}": frame[~drawn], f"{stem}-test{suffix}": frame[drawn]}
    for path, rows in parts.items():
        require_output(path, "table", [data], None, force)
        if not len(rows):
            raise ValueError(f"--test {test_share:g} leaves no row for {path}: {len(frame)} rows have a class")
    _warn_of_copies(frame, y, drawn, [*parts])
    for path, rows in parts.items():
        if text:
            with writers.replacing(path) as unfinished, unfinished.open("w", encoding="utf-8", newline="") as file:
                writers.write_csv([rows], file, table.file.layouts[0].sep)
        else:
            writers.write([rows], path)
        say(f"{path}: {len(rows):,} rows")
    return 0


def _warn_of_copies(frame: pd.DataFrame, labels: pd.Series, drawn: np.ndarray, paths: list[str]) -> None:
    # Equal rows may be different cases, as in a table of few levels, so the draw does not keep them on one side.
    import numpy as np

    from bayesnb import findings

    cells = frame.astype(object).map(str)
    for remark in findings.copies_in(cells):
        group = cells.groupby([*cells], sort=False).ngroup().to_numpy()
        both = int(np.isin(group[drawn], group[~drawn]).sum())
        learned, scored = paths
        warn(
            f"{remark.finding}; {both:,} row{'s' * (both != 1)} of {scored} also occur{'s' * (both == 1)} in {learned}"
        )


def drawn_by_content(frame: pd.DataFrame, labels: pd.Series, share: float, seed: int) -> np.ndarray:
    """Boolean mask that selects, in each class, the fraction ``share`` of rows with the smallest content hashes."""
    import numpy as np
    import pandas as pd

    key = f"{seed:016d}"[-16:]
    texts = frame.astype(object).map(str)[sorted(frame.columns, key=str)]
    cells = pd.util.hash_pandas_object(texts, index=False, hash_key=key)
    # Equal rows are numbered, so that their hashes differ.
    copy = cells.groupby(cells.to_numpy()).cumcount()
    numbers = pd.util.hash_pandas_object(pd.DataFrame({"cells": cells, "copy": copy}), index=False, hash_key=key)
    order = np.argsort(numbers.to_numpy(), kind="stable")
    rank = pd.Series(order, index=order).groupby(labels.to_numpy()[order]).cumcount().sort_index().to_numpy()
    size = labels.groupby(labels.to_numpy()).transform("size").to_numpy()
    return rank < np.floor(share * size + 0.5)
