"""What many columns of a kind gain by sharing what is believed of them, where rows are few.

    python -m benchmarks.sharing [--rows N] [--repeats N] [TABLE ...]

The tables are those of ``benchmarks.prediction``, and it runs in the same environment. A few rows are drawn at random,
so that every class has one; the model learns them and answers 500 others. "Apart" is a hierarchical family in which
each column learns by itself how much the classes differ; "together" is the same with ``together=True``.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss

from bayesnb import BayesianNB, Categorical, Dirichlet, Gaussian
from bayesnb.families import HierarchicalCategorical, HierarchicalGaussian
from benchmarks import prediction

TABLES = {"splice": (40, 5), "housevotes": (20, 6), "twonorm": (16, 5)}
"""Rows that are learned, and how often they are drawn."""


def table(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """The whole rows of a table, and the codes of their classes; columns of text as categories."""
    X, y = prediction.load(name)
    X = X.dropna()
    texts = [name for name in X if X[name].dtype.kind not in "fiu"]
    return X.astype(dict.fromkeys(texts, "category")).reset_index(drop=True), y[X.index]


def scores(name: str, rows: int, repeats: int) -> pd.DataFrame:
    """The log loss and the CPU seconds of each method in each repetition."""
    X, y = table(name)
    columns, levels = list(X), X.dtypes.iloc[0] == "category"
    kind, short = HierarchicalCategorical if levels else HierarchicalGaussian, {"draws": 500, "tune": 500}
    methods = {
        "conjugate": Categorical() if levels else Gaussian(),
        "learned": Categorical(Dirichlet.learned()) if levels else None,
        "apart": {"x": (kind(**short), columns)},
        "together": {"x": (kind(together=True, **short), columns)},
    }
    found = []
    for repeat in range(repeats):
        rng = np.random.default_rng(repeat)
        order = rng.permutation(len(y))
        while len(np.unique(y[order[:rows]])) < len(np.unique(y)):
            order = rng.permutation(len(y))
        own, others = order[:rows], order[rows : rows + 500]
        for method, features in methods.items():
            if features is None:
                continue
            start = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                clf = BayesianNB(features, random_state=0).fit(X.iloc[own], y[own])
                loss = log_loss(y[others], clf.predict_proba(X.iloc[others]), labels=clf.classes_)
            found.append((repeat, method, loss, time.process_time() - start))
    return pd.DataFrame(found, columns=["repeat", "method", "log_loss", "seconds"])


def main(args: list[str] | None = None) -> None:
    """Print the mean log losses of each table, and what sharing changes, with its standard error."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*", default=list(TABLES))
    parser.add_argument("--rows", type=int)
    parser.add_argument("--repeats", type=int)
    asked = parser.parse_args(args)
    for name in asked.tables:
        rows, repeats = TABLES.get(name, (30, 5))
        found = scores(name, asked.rows or rows, asked.repeats or repeats)
        loss = found.pivot_table(values="log_loss", index="repeat", columns="method")
        change = loss["together"] - loss["apart"]
        means = found.groupby("method", sort=False)[["log_loss", "seconds"]].mean()
        print(f"{name}, {asked.rows or rows} rows\n{means.round(3).to_string()}")
        print(f"together - apart: {change.mean():.3f} ± {change.sem():.3f}\n", flush=True)


if __name__ == "__main__":
    main()
