"""Derived columns that ``inspect`` proposes: log loss on other rows without and with them.

    python -m benchmarks.derived [TABLE ...]

Five folds of each table of ``benchmarks.prediction``. In each fold, differences and ratios are sought in the learned
rows alone. Tables on which nothing is found in all rows are counted and left out. It takes about five minutes.
"""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd

import bayesnb as nb
from bayesnb.data.improving import derived
from bayesnb.statistics.statistic import Labels
from benchmarks.prediction import folds, load, table_names

DEPENDENCES = (None, "weighted")


def losses(X: pd.DataFrame, y: np.ndarray, numbers: list[str]) -> np.ndarray:
    """The mean log loss on held-out rows, (without and with derived columns, dependence)."""
    found = np.zeros((2, len(DEPENDENCES)))
    x = {name: X[name].to_numpy(float) for name in numbers}
    for learned, asked in folds(y):
        proposed = derived(
            {name: values[learned] for name, values in x.items()}, Labels.of(y[learned], int(y.max()) + 1)
        )
        further = X.assign(**{str(one): one.of(x) for one in proposed})
        for row, table in enumerate((X, further)):
            for k, dependence in enumerate(DEPENDENCES):
                clf = nb.BayesianNB(dependence=dependence).fit(table.iloc[learned], y[learned])
                p = clf.predict_proba(table.iloc[asked])[np.arange(len(asked)), y[asked]]
                found[row, k] -= np.log(np.maximum(p, 1e-300)).sum() / len(y)
    return found


def main() -> None:
    """Print a line for each table on which columns are proposed."""
    nothing = 0
    for name in sys.argv[1:] or table_names():
        X, y = load(name)
        numbers = [column for column in X if pd.api.types.is_numeric_dtype(X[column])]
        proposed = derived({column: X[column].to_numpy(float) for column in numbers}, Labels.of(y))
        if not proposed:
            nothing += 1
            continue
        found = " ".join(f"{value:.3f}" for value in losses(X, y, numbers).T.ravel())
        print(f"{name}: {', '.join(map(str, proposed))}: {found}", flush=True)
    print(f"nothing proposed: {nothing} tables")


if __name__ == "__main__":
    main()
