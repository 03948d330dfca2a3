"""What ``dependence="auto"`` costs where naive Bayes is true.

Run as ``python -m benchmarks.independent [--tables 10]``. Each table has two classes and independent columns given the
class, half of them numbers and half levels, whose parameters are drawn. The log loss is that of 2,000 further rows.
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd

import bayesnb as nb

LATER = 2_000
SETTINGS = [(n, columns) for columns in (5, 20) for n in (50, 200, 1000)]


def table(n: int, columns: int, rng: np.random.Generator) -> tuple[pd.DataFrame, np.ndarray]:
    """Rows of naive Bayes; columns say less, each, where there are more of them."""
    y, spread = rng.integers(2, size=n), 1.5 / np.sqrt(columns)
    cells = {}
    for k in range(columns):
        if k % 2:
            shares = np.exp(rng.normal(0, spread, (2, 4)))
            bounds = (shares / shares.sum(1, keepdims=True)).cumsum(1)[y, :3]
            cells[f"x{k}"] = np.array(list("abcd"))[(rng.random((n, 1)) > bounds).sum(1)]
        else:
            cells[f"x{k}"] = rng.normal(rng.normal(0, spread, 2)[y], np.exp(rng.normal(0, 0.2, 2))[y])
    return pd.DataFrame(cells), y


def costs(n: int, columns: int, tables: int) -> np.ndarray:
    """By how many nats a row the log loss of "auto" is larger than that of naive Bayes, (table,)."""
    found = []
    for seed in range(tables):
        X, y = table(n + LATER, columns, np.random.default_rng(seed))
        losses = []
        for dependence in (None, "auto"):
            clf = nb.BayesianNB(dependence=dependence, random_state=0).fit(X[:n], y[:n])
            losses.append(-clf.predict_log_proba(X[n:])[np.arange(LATER), y[n:]].mean())
        found.append(losses[1] - losses[0])
    return np.array(found)


def main() -> None:
    """Print the mean cost and its standard error in each setting."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=10)
    tables = parser.parse_args().tables
    for n, columns in SETTINGS:
        found = costs(n, columns, tables)
        error = found.std(ddof=1) / np.sqrt(tables)
        print(f"{n} rows, {columns} columns: {found.mean():+.4f} ± {error:.4f} nats a row", flush=True)


if __name__ == "__main__":
    main()
