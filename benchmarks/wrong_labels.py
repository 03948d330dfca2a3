"""How many labels are expected to be wrong, beside how many are: simulated tables on which naive Bayes is true.

    uv run --group dev python benchmarks/wrong_labels.py

Two classes, and columns that are each a Normal of standard deviation 1; of the labels a share ε is wrong. It prints
the two numbers, the mean of their difference with its standard error, and the root mean square of the difference in
standard deviations as they are said.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

import bayesnb as nb
from bayesnb import BayesianNB

SETTINGS = (
    # title, tables, rows, columns, standard deviations between the classes, ε (None: uniform from 0 to 1/2)
    ("ε from its prior, 200 rows", 50, 200, 4, 1.5, None),
    ("ε = 0.2, 200 rows", 50, 200, 4, 1.5, 0.2),
    ("ε from its prior, 1,000 rows", 50, 1000, 4, 1.5, None),
    ("no label is wrong, 200 rows", 50, 200, 4, 1.5, 0.0),
    ("no label is wrong, 40 rows, classes overlap", 50, 40, 2, 1.0, 0.0),
)


def numbers(seed: int, n: int, columns: int, apart: float, share: float | None) -> tuple[float, float, int]:
    """The expected number of wrong labels of one table, its standard deviation, and the true number."""
    rng = np.random.default_rng(seed)
    share = rng.uniform(0, 0.5) if share is None else share
    y = rng.integers(2, size=n)
    X = pd.DataFrame(rng.normal(apart * y[:, None], 1, (n, columns)), columns=[f"x{k}" for k in range(columns)])
    label = np.where(rng.random(n) < share, 1 - y, y)
    found = nb.checks.suspicious_labels(BayesianNB().fit(X, label), X, label)
    return found.attrs["expected"], found.attrs["sd"], int((label != y).sum())


def main() -> None:
    """Print a line for each setting."""
    for title, tables, *setting in SETTINGS:
        expected, sd, true = np.array([numbers(seed, *setting) for seed in range(tables)]).T
        away = expected - true
        error, z = away.std(ddof=1) / np.sqrt(tables), np.sqrt(np.mean((away / sd) ** 2))
        print(f"{title}: expected {expected.mean():.1f}, true {true.mean():.1f}, ", end="")
        print(f"difference {away.mean():+.1f} ± {error:.1f}, z rms {z:.2f}", flush=True)


if __name__ == "__main__":
    main()
