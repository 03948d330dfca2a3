"""What a person waits for beside large tables of numbers: text that becomes codes, and small tables.

    uv run --group dev python -m benchmarks.waiting [WORD]

Printed are processor seconds of all threads, ours and the peer's in turn, the smallest of several runs each; WORD
chooses lines by name.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import LabelEncoder, OrdinalEncoder

from bayesnb import BayesianNB
from bayesnb.data.targets import read_target

type Line = tuple[str, Callable[[], Any], Callable[[], Any], str]

TIMES = 15


def seconds(work: Callable[[], Any]) -> float:
    """Processor seconds of one run."""
    start = time.process_time()
    work()
    return time.process_time() - start


def text(n: int = 1_000_000) -> Iterator[Line]:
    """Labels and a column of text, as numpy, pandas, polars and plain Python hold them."""
    rng = np.random.default_rng(0)
    y, levels = rng.integers(0, 3, n), np.array([f"level {k}" for k in range(8)])
    label, cells = np.array(["alpha", "beta", "gamma"])[y], levels[rng.integers(0, 8, n)]
    kinds: dict[str, Callable[[np.ndarray], Any]] = {
        "numpy <U": lambda a: a, "pandas str": lambda a: pd.Series(a, dtype="str"),
        "polars String": lambda a: pl.Series(a.tolist()),
        "polars Categorical": lambda a: pl.Series(a.tolist()).cast(pl.Categorical), "a list": np.ndarray.tolist,
    }  # fmt: skip
    for kind, made in kinds.items():
        given = made(label)
        yield f"{n:,} labels, {kind}", partial(read_target, given), partial(encoded_labels, given), "LabelEncoder"
    for kind in ("numpy <U", "pandas str", "polars String", "polars Categorical"):
        column = kinds[kind](cells)
        table = column[:, None] if isinstance(column, np.ndarray) else frame_of(column)
        fit = partial(BayesianNB().fit, table, y)
        yield f"fit of a text column, {n:,} rows, {kind}", fit, partial(encoded_cells, table), "OrdinalEncoder alone"


def small(n: int = 2_000) -> Iterator[Line]:
    """A table of reals below the size from which on compiled loops are used."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, n)
    X = rng.normal(size=(n, 30)) + y[:, None]
    peer, asked = GaussianNB().fit(X, y), f"{n:,} × 30 reals"
    for estimate in ("predictive", "mean"):
        ours = BayesianNB(estimate=estimate).fit(X, y)
        name = f"predict_proba, {asked}, {estimate}"
        yield name, partial(ours.predict_proba, X), partial(peer.predict_proba, X), "GaussianNB"
    yield f"fit, {asked}", partial(BayesianNB().fit, X, y), partial(GaussianNB().fit, X, y), "GaussianNB"


def frame_of(column: Any) -> Any:
    """The column as a table of its own library."""
    return pd.DataFrame({"x": column}) if isinstance(column, pd.Series) else pl.DataFrame({"x": column})


def encoded_labels(y: Any) -> Any:
    """Labels as codes, by scikit-learn."""
    return LabelEncoder().fit_transform(y)


def encoded_cells(x: Any) -> Any:
    """Cells as codes, by scikit-learn."""
    return OrdinalEncoder().fit_transform(x)


def main() -> None:
    """Print a line for each work."""
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    for name, ours, peer, beside in (*text(), *small()):
        if word in name:
            ours(), peer()
            a, b = (min(times) for times in zip(*((seconds(ours), seconds(peer)) for _ in range(TIMES)), strict=True))
            print(f"| {name} | {beside} | {a * 1e3:.3g} | {b * 1e3:.3g} | {b / a:.2g} |", flush=True)


if __name__ == "__main__":
    main()
