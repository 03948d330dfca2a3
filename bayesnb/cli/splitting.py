"""``bayesnb split``: training and test rows, chosen by hashes of their content."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bayesnb.cli import options
from bayesnb.cli.outputs import require_output
from bayesnb.cli.settings import Settings
from bayesnb.cli.sources import load, opened
from bayesnb.cli.terminal import say

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from bayesnb.data.csv_reader import Format


@options.command(output="to_stem")
def split(
    data: str, target: str | None, output: str | None, test_share: float, split_seed: int, format: Format, force: bool
) -> int:
    """Split a table into rows to learn from and rows to score.

    The two files are called STEM-train and STEM-test. --test is the fraction of each class that goes to STEM-test.
    Which rows are drawn depends on their content and on the seed, not on their order. Rows without a class are left
    out. Rows of CSV files, Excel files and embedded data sets become CSV in UTF-8, with unchanged cells; rows of other
    tables become Parquet.
    """
    from bayesnb.data import writers

    table = opened(data, format, Settings(), () if target is None else (target,))
    text = table.file is not None and bool(table.file.layouts)
    if text:
        table = opened(data, replace(format, text=tuple(table.names)), Settings(), () if target is None else (target,))
    X, y = load(table, target)
    frame = X.assign(**{str(y.name): y}).reset_index(drop=True)
    frame = frame[[name for name in table.names if name in frame]]
    drawn = drawn_by_content(frame, y, test_share, split_seed)
    stem = output or str(Path(Path(table.name).name).stem if table.name != "-" else "stdin")
    suffix = ".csv" if text or table.file is None else ".parquet"
    parts = {f"{stem}-train{suffix}": frame[~drawn], f"{stem}-test{suffix}": frame[drawn]}
    for path, rows in parts.items():
        require_output(path, "table", [data], lambda _: False, force)
        if not len(rows):
            raise ValueError(f"--test {test_share:g} leaves no row for {path}: {len(frame)} rows have a class")
    for path, rows in parts.items():
        if text:
            with writers.replacing(path) as unfinished, unfinished.open("w", encoding="utf-8", newline="") as file:
                writers.write_csv([rows], file, table.file.layouts[0].sep)
        else:
            writers.write([rows], path)
        say(f"{path}: {len(rows):,} rows")
    return 0


def drawn_by_content(frame: pd.DataFrame, labels: pd.Series, share: float, seed: int) -> np.ndarray:
    """A mask of the drawn rows: in each class, the given share of rows with the smallest hashes of their content.

    Equal rows are numbered, and the numbers are hashed too.
    """
    import numpy as np
    import pandas as pd

    key = f"{seed:016d}"[-16:]
    texts = frame.astype(object).map(str)[sorted(frame.columns, key=str)]
    cells = pd.util.hash_pandas_object(texts, index=False, hash_key=key)
    copy = cells.groupby(cells.to_numpy()).cumcount()
    numbers = pd.util.hash_pandas_object(pd.DataFrame({"cells": cells, "copy": copy}), index=False, hash_key=key)
    order = np.argsort(numbers.to_numpy(), kind="stable")
    rank = pd.Series(order, index=order).groupby(labels.to_numpy()[order]).cumcount().sort_index().to_numpy()
    size = labels.groupby(labels.to_numpy()).transform("size").to_numpy()
    return rank < np.floor(share * size + 0.5)
