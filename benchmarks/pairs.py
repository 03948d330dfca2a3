"""What exponents and pairs cost on large tables: processor seconds, and as multiples of naive Bayes.

    python -m benchmarks.pairs [--rows N]

The columns are numbers; every second one depends on the one before it. Processor seconds are those of all threads and,
except for the table of 100 columns, the smaller of two runs.
"""

from __future__ import annotations

import argparse

import numpy as np

from bayesnb import BayesianNB
from bayesnb.dependence.columns import SCREEN_DEPTH, Grid, counted, searched
from bayesnb.dependence.pairs import log_bayes_factors, selected
from bayesnb.statistics.membership import Labels
from benchmarks.comparing import seconds


def table(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of three classes that overlap."""
    rng = np.random.default_rng(0)
    y = np.arange(rows) % 3
    x = rng.normal(size=(rows, columns)) + 0.5 * y[:, None] / np.sqrt(columns)
    x[:, 1::2] += 0.5 * x[:, : columns - columns % 2 : 2]
    return x, y


def counting_and_choosing(x: np.ndarray, y: np.ndarray) -> int:
    """How many pairs are dependent, of all pairs of the columns, counted over all rows."""
    posterior = BayesianNB().fit(x[:1000], y[:1000]).classifier_.posterior
    data, labels = {next(iter(posterior.model.features)): x}, Labels.of(y)
    grid = Grid.of(posterior, {name: value[:32_768] for name, value in data.items()}, np.ones(len(x))[:32_768])
    return len(selected(log_bayes_factors(counted(grid, data, labels, searched(grid), SCREEN_DEPTH)), 10**6))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    rows = parser.parse_args().rows
    for dependence in (None, "weighted", "pairwise"):  # loads the compiled loops
        BayesianNB(dependence=dependence).fit(*table(60_000, 12)).predict_proba(table(60_000, 12)[0])
    print("| columns | work | processor seconds | as a multiple of naive Bayes |")
    print("|---:|---|---:|---:|")
    for columns, times in ((20, 2), (100, 1)):
        x, y = table(rows, columns)
        clf = BayesianNB().fit(x, y)
        alone = seconds(lambda: (BayesianNB().fit(x, y), clf.predict_proba(x)), 2)  # noqa: B023
        print(f"| {columns} | fit and predict of naive Bayes | {alone:.2f} | 1 |", flush=True)
        choosing = seconds(lambda: counting_and_choosing(x, y), times)  # noqa: B023
        print(f"| {columns} | count all pairs and choose | {choosing:.1f} | {choosing / alone:.1f} |", flush=True)
        for dependence in ("weighted", "pairwise"):
            cost = seconds(lambda: BayesianNB(dependence=dependence).fit(x, y), times)  # noqa: B023
            print(f"| {columns} | fit of {dependence!r} | {cost:.1f} | {cost / alone:.1f} |", flush=True)


if __name__ == "__main__":
    main()
