"""What ``compare_estimates`` costs beside ``evaluate`` of the same table.

    python -m benchmarks.comparing

Printed are processor seconds of all threads, as multiples of those of ``evaluate``, which leaves each row out of one
estimate: the four estimates alone, and with each dependence, on the 20,000 rows that are scored by default and on all.
The smaller of two runs counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from bayesnb import BayesianNB
from bayesnb.evaluation import compare_estimates, evaluate

ROWS = 100_000


def seconds(work: Callable[[], Any], times: int = 2) -> float:
    """Processor seconds of the quicker of some runs."""
    found = []
    for _ in range(times):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


def tables() -> dict[str, tuple[pd.DataFrame, np.ndarray]]:
    """Tables of 12 columns and three classes; in the last one the columns tell the classes apart nearly always."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, ROWS)

    def numbers(apart: float, n: int) -> dict[str, np.ndarray]:
        return {f"number {k}": rng.normal(apart * k * y) for k in range(n)}

    words = np.array(list("abcdef"))
    text = {f"text {k}": words[np.minimum(rng.poisson(1 + 0.2 * k * y), 5)] for k in range(6)}
    return {
        "6 numbers, 6 texts": (pd.DataFrame(numbers(0.1, 6) | text), y),
        "12 numbers": (pd.DataFrame(numbers(0.1, 12)), y),
        "12 numbers, classes far apart": (pd.DataFrame(numbers(0.3, 12)), y),
    }


def main() -> None:
    """Print the table."""
    models: dict[str, tuple[str, ...]] = {
        "four estimates": (), "with weighted": ("weighted",), "with pairwise": ("pairwise",),
        "with both": ("weighted", "pairwise"),
    }  # fmt: skip
    print("| table | scored rows | evaluate, s |", " | ".join(models), "|")
    for name, (x, y) in tables().items():
        clf = BayesianNB()
        compare_estimates(clf, x[:3000], y[:3000])  # loads the compiled loops
        alone = seconds(lambda clf=clf, x=x, y=y: evaluate(clf, x, y))
        for rows in (20_000, None):
            costs = [
                seconds(lambda of=of, clf=clf, x=x, y=y, rows=rows: compare_estimates(clf, x, y, "loo", of, rows))
                for of in models.values()
            ]
            multiples = " | ".join(f"{cost / alone:.1f}" for cost in costs)
            print(f"| {name} | {rows or ROWS:,} | {alone:.2f} | {multiples} |", flush=True)


if __name__ == "__main__":
    main()
