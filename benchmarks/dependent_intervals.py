"""What intervals of p(class | row) cover where the columns depend on each other given the class.

    python -m benchmarks.dependent_intervals [--tables 30] [--rows 100 400]

The tables are drawn from distributions of dependent columns with two classes, of which the true p(class | row) is known
exactly. An 89 % interval of each new row is asked whether it holds the true probability. Beside the intervals of this
package stand percentile intervals of logistic regression, refitted to resampled rows (Efron 1979), with its default C
and the numbers scaled.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.random import Generator, default_rng
from scipy.stats import multivariate_normal
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bayesnb import BayesianNB

type Array = np.ndarray

COLUMNS, ASKED, RESAMPLES, PROB = 6, 40, 60, 0.89
DEPENDENCES = (None, "weighted", "pairwise", "auto")


def normals(other: float) -> Callable[[Generator, int], tuple[Array, Array, Array]]:
    """Normal columns with a correlation of 0.6 in one class and of ``other`` in the other: rows, labels, and truth."""

    def table(rng: Generator, n: int) -> tuple[Array, Array, Array]:
        y = rng.integers(2, size=n)
        laws = [
            multivariate_normal(np.full(COLUMNS, k), np.eye(COLUMNS) + shared * (1 - np.eye(COLUMNS)))
            for k, shared in ((0.0, 0.6), (0.8, other))
        ]
        x = np.where(y[:, None] == 0, laws[0].rvs(n, random_state=rng), laws[1].rvs(n, random_state=rng))
        return x, y, 1 / (1 + np.exp(laws[0].logpdf(x) - laws[1].logpdf(x)))

    return table


def noisy_copies(rng: Generator, n: int) -> tuple[Array, Array, Array]:
    """Three noisy copies of each of two hidden yes-or-no columns, whose shares depend on the class."""
    y = rng.integers(2, size=n)
    yes, flip = np.array([0.3, 0.7]), 0.1
    hidden = rng.random((n, 2)) < yes[y][:, None]
    x = np.repeat(hidden, 3, axis=1) ^ (rng.random((n, 6)) < flip)
    seen = x.reshape(n, 2, 3).sum(2)  # how many of the three copies say yes
    likely = [flip ** (3 - seen) * (1 - flip) ** seen, flip**seen * (1 - flip) ** (3 - seen)]
    p = [np.prod(share * likely[0] + (1 - share) * likely[1], axis=1) for share in yes]
    return x.astype(float), y, p[1] / (p[0] + p[1])


def independent(rng: Generator, n: int) -> tuple[Array, Array, Array]:
    """Normal columns that are independent in each class."""
    y = rng.integers(2, size=n)
    x = rng.normal(0.5 * y[:, None], 1.0, (n, COLUMNS))
    return x, y, 1 / (1 + np.exp(-(0.5 * x - 0.125).sum(1)))


def of_log_odds(log_odds: Callable[[Array], Array]) -> Callable[[Generator, int], tuple[Array, Array, Array]]:
    """Uniform columns on (-1, 1), and labels with these log-odds."""

    def table(rng: Generator, n: int) -> tuple[Array, Array, Array]:
        x = rng.uniform(-1, 1, (n, COLUMNS))
        p = 1 / (1 + np.exp(-log_odds(x)))
        return x, (rng.random(n) < p).astype(int), p

    return table


TABLES = {
    "normal, the same correlation": normals(0.6),
    "normal, another correlation": normals(0.0),
    "noisy copies of two columns": noisy_copies,
    "independent normal columns": independent,
    "jumps and an interaction": of_log_odds(
        lambda x: 2.0 * (x[:, 0] > 0.3) - 1.0 + 2.0 * ((x[:, 1] > 0) == (x[:, 2] > 0)) - 1.0
    ),
    "a linear border": of_log_odds(lambda x: 3.0 * (x[:, 0] + x[:, 1] - x[:, 2])),
    "a ring around two columns": of_log_odds(lambda x: 6.0 * (x[:, 0] ** 2 + x[:, 1] ** 2) - 3.0),
}


def of_bayes(dependence: str | None) -> Callable[[Array, Array, Array, int], tuple[Array, Array]]:
    """Lower and upper ends by this package, given the data."""

    def ends(x: Array, y: Array, new: Array, seed: int) -> tuple[Array, Array]:
        clf = BayesianNB(dependence=dependence, random_state=seed).fit(x, y)
        found = clf.predict_interval(new, prob=PROB, given="data", draws=1000)[1]
        return found["lower"].to_numpy(), found["upper"].to_numpy()

    return ends


def of_resampled_logistic_regression(x: Array, y: Array, new: Array, seed: int) -> tuple[Array, Array]:
    """Percentiles of logistic regressions, each fitted to as many rows, drawn with replacement."""
    rng, drawn = default_rng(seed), []
    while len(drawn) < RESAMPLES:
        some = rng.integers(len(y), size=len(y))
        if len(np.unique(y[some])) == 2:
            model = make_pipeline(StandardScaler(), LogisticRegression()).fit(x[some], y[some])
            drawn.append(model.predict_proba(new)[:, 1])
    low, high = np.quantile(drawn, [(1 - PROB) / 2, (1 + PROB) / 2], axis=0)
    return low, high


METHODS = {str(dependence): of_bayes(dependence) for dependence in DEPENDENCES} | {
    "logistic regression, resampled": of_resampled_logistic_regression
}


def main() -> None:
    """Print the coverage and the mean width of each method by table and rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=30)
    parser.add_argument("--rows", type=int, nargs="*", default=[100, 400])
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=list(METHODS))
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = []
    for rows in asked.rows:
        for name, table in TABLES.items():
            for seed in range(asked.tables):
                rng = default_rng(seed)
                (x, y, _), (new, _, truth) = table(rng, rows), table(rng, ASKED)
                for method in asked.methods:
                    low, high = METHODS[method](x, y, new, seed)
                    held = ((low <= truth) & (truth <= high)).mean()
                    lines.append({"rows": rows, "table": name, "method": method, "covers": held})
                    lines[-1]["width"] = (high - low).mean()
            print(f"{name}, {rows} rows: counted", flush=True)
    print(pd.DataFrame(lines).groupby(["rows", "table", "method"], sort=False).mean().round(3).to_string())


if __name__ == "__main__":
    main()
