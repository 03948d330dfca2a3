"""Do priors whose strength is learned from the table harm small tables? Log loss on held-out rows, default and learned.

Tables of scikit-learn: a few rows of each class to learn from, ten times drawn, and the other rows to predict. Real
columns are Gaussian, or cut into five bins (Categorical); pixels of digits are counts (Poisson), or lit or not
(Bernoulli). ``python -m benchmarks.learned_priors`` prints a table; a positive difference is harm.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn import datasets
from sklearn.metrics import log_loss

import bayesnb as nb

REPEATS = 10
ROWS_OF_A_CLASS = (3, 10, 30)
MOST = 1000


def tables() -> Iterator[tuple[str, Any, np.ndarray, dict[str, tuple[Any, Any]]]]:
    """The name of each table, its columns, its classes, and the two families of each comparison."""
    real = {"Gaussian": (nb.Gaussian(), nb.Gaussian(nb.NormalGamma.learned()))}
    block = {"block": (nb.families.MultivariateGaussian(nb.NormalWishart()), nb.families.MultivariateGaussian())}
    levels = {"Categorical": (nb.Categorical(), nb.Categorical(nb.Dirichlet.learned()))}
    for name in ("iris", "wine", "breast_cancer"):
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        yield name, X, y, real | block
        edges = np.quantile(X, [0.2, 0.4, 0.6, 0.8], axis=0)
        yield name, (X[:, None] > edges).sum(1), y, levels
    X, y = datasets.load_digits(return_X_y=True)
    yield "digits", X, y, {"Poisson": (nb.Poisson(), nb.Poisson(nb.Gamma.learned()))}
    yield "digits", (X > 8) * 1.0, y, {"Bernoulli": (nb.Bernoulli(), nb.Bernoulli(nb.Beta.learned()))}


def rows(y: np.ndarray, each: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Some rows of each class to learn from, and others to predict."""
    mixed = np.random.default_rng(seed).permutation(len(y))
    some = np.concatenate([mixed[y[mixed] == c][:each] for c in np.unique(y)])
    return some, np.setdiff1d(mixed, some)[:MOST]


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore", nb.errors.UnseenLevelWarning)
    lines = []
    for name, X, y, families in tables():
        for family, both in families.items():
            for each in ROWS_OF_A_CLASS:
                found = np.zeros((REPEATS, 2))
                for seed in range(REPEATS):
                    some, others = rows(y, each, seed)
                    for k, spec in enumerate(both):
                        clf = nb.BayesianNB(spec).fit(X[some], y[some])
                        found[seed, k] = log_loss(y[others], clf.predict_proba(X[others]), labels=clf.classes_)
                mean, gap = found.mean(0), found[:, 1] - found[:, 0]
                lines.append(
                    (name, family, each * len(np.unique(y)), *mean, gap.mean(), gap.std(ddof=1) / REPEATS**0.5)
                )
    columns = ["table", "family", "rows", "default", "learned", "difference", "se"]
    print(pd.DataFrame(lines, columns=columns).round(3).to_string(index=False))


if __name__ == "__main__":
    main()
