"""How the time of fit and predict grows with rows, columns, classes and levels.

    uv run --group dev python -m benchmarks.growth [--quick] [--json FILE]

Each line grows one size and holds the others. Seconds are the processor's, of all threads, which other work on the
machine changes least; the fewest of a few runs. The exponent is the slope of ln seconds over ln size, of the larger
half of the sizes: where fixed costs no longer tell. 1 is in proportion.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from bayesnb import BayesianNB, Bernoulli, Categorical, Gaussian


@dataclass(frozen=True)
class Growth:
    """One size that grows.

    Parameters
    ----------
    what : str
    sizes : tuple of int
    table : callable
        Family, table and labels of a size.
    dependence : str, optional
        As in :class:`bayesnb.BayesianNB`.
    """

    what: str
    sizes: tuple[int, ...]
    table: Callable[[int], tuple[Any, Any, np.ndarray]]
    dependence: str | None = None


def reals(rows: int, columns: int, classes: int) -> tuple[Any, np.ndarray, np.ndarray]:
    """Real columns."""
    rng = np.random.default_rng(0)
    return Gaussian(), rng.normal(size=(rows, columns)), np.arange(rows) % classes


def levels(rows: int, columns: int, classes: int, n_levels: int) -> tuple[Any, np.ndarray, np.ndarray]:
    """Categorical columns, given as integers."""
    rng = np.random.default_rng(0)
    return Categorical(), rng.integers(0, n_levels, (rows, columns)), np.arange(rows) % classes


def named(rows: int, columns: int) -> tuple[Any, pd.DataFrame, np.ndarray]:
    """Real columns of a DataFrame, each a feature of its own."""
    x = np.random.default_rng(0).normal(size=(rows, columns))
    return None, pd.DataFrame(x).add_prefix("c"), np.arange(rows) % 2


def text(rows: int, n_levels: int) -> tuple[Any, pd.DataFrame, np.ndarray]:
    """A text column of a DataFrame."""
    rng = np.random.default_rng(0)
    names = np.array([f"level {k}" for k in range(n_levels)], object)
    return None, pd.DataFrame({"t": names[rng.integers(0, n_levels, rows)]}, dtype="str"), np.arange(rows) % 2


def yes_and_no(rows: int, columns: int, classes: int) -> tuple[Any, np.ndarray, np.ndarray]:
    """Columns of 0 and 1."""
    rng = np.random.default_rng(0)
    return Bernoulli(), (rng.random((rows, columns)) < 0.3).astype(float), np.arange(rows) % classes


def growths(quick: bool) -> Iterator[Growth]:
    """All that grows."""
    most = 6 if quick else 7
    rows = tuple(int(10**k) for k in np.arange(4, most + 0.1, 0.5))
    columns = tuple(int(10**k) for k in np.arange(1, 4.1, 0.5))
    classes = (2, 5, 10, 20, 50, 100, 200, 500, 1000)
    many = tuple(int(10**k) for k in np.arange(1, 5.1, 0.5))
    n = 200_000 if quick else 1_000_000
    yield Growth("rows, 10 real columns, 3 classes", rows, lambda k: reals(k, 10, 3))
    yield Growth("rows, 10 columns of 8 levels", rows, lambda k: levels(k, 10, 3, 8))
    yield Growth("real columns, 2000 rows, 3 classes", columns, lambda k: reals(2000, k, 3))
    yield Growth("columns of 0 and 1, 2000 rows", columns, lambda k: yes_and_no(2000, k, 3))
    yield Growth("columns of 8 levels, 2000 rows", columns, lambda k: levels(2000, k, 3, 8))
    yield Growth("named real columns, 3 rows", many[4:], lambda k: named(3, k))
    yield Growth("classes, 20,000 rows, 10 real columns", classes, lambda k: reals(20_000, 10, k))
    yield Growth("classes, 20,000 rows, 10 columns of 8 levels", classes, lambda k: levels(20_000, 10, k, 8))
    yield Growth("levels of 2 columns of integers", (2, *many), lambda k: levels(n, 2, 2, k))
    yield Growth("levels of a column of text", (2, *many), lambda k: text(n, k))
    for dependence in ("weighted", "pairwise"):
        of_rows, of_columns = rows[:-2], (10, 20, 40, 80, 160)
        yield Growth(f"{dependence}: rows, 10 real columns, 3 classes", of_rows, lambda k: reals(k, 10, 3), dependence)
        what = f"{dependence}: real columns, 2000 rows, 3 classes"
        yield Growth(what, of_columns, lambda k: reals(2000, k, 3), dependence)


def seconds(work: Callable[[], Any], repeats: int) -> float:
    """The fewest processor seconds of a few runs, after one."""
    work()
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    return min(times)


def exponent(sizes: np.ndarray, times: np.ndarray) -> float:
    """The slope of ln seconds over ln size of the larger half."""
    half = len(sizes) // 2
    return float(np.polyfit(np.log(sizes[half:]), np.log(times[half:]), 1)[0])


def measure(growth: Growth, repeats: int) -> list[dict[str, Any]]:
    """One line for fit and one for predict."""
    fit, predict = [], []
    for size in growth.sizes:
        family, X, y = growth.table(size)
        clf = BayesianNB(family, dependence=growth.dependence).fit(X, y)
        fit.append(seconds(lambda: clone(clf).fit(X, y), repeats))  # noqa: B023
        predict.append(seconds(lambda: clf.predict_proba(X), repeats))  # noqa: B023
    sizes = np.array(growth.sizes, float)
    return [
        {
            "what grows": growth.what,
            "work": name,
            "from": growth.sizes[0],
            "to": growth.sizes[-1],
            "first, s": times[0],
            "last, s": times[-1],
            "exponent": exponent(sizes, np.array(times)),
            "times": times,
        }
        for name, times in (("fit", fit), ("predict", predict))
    ]


def main(args: list[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="up to a million rows")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--only", default="", metavar="WORD")
    parser.add_argument("--repeats", type=int, default=3)
    chosen = parser.parse_args(args)
    found = []
    for growth in growths(chosen.quick):
        if chosen.only in growth.what:
            found += measure(growth, chosen.repeats)
            for line in found[-2:]:
                sys.stderr.write(f"{line['what grows']}, {line['work']}: {line['exponent']:.2f}\n")
    table = pd.DataFrame(found).drop(columns="times")
    sys.stdout.write(table.to_string(index=False, float_format=lambda x: f"{x:.4g}") + "\n")
    if chosen.json:
        Path(chosen.json).write_text(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
