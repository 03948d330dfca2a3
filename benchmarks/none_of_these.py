"""The class without rows (``unknown=``): how many new rows it finds, and whether its probability is calibrated.

    python -m benchmarks.none_of_these

First table: each class of iris, wine and penguins is left out in turn. The model learns 70 % of the rows of the other
classes, divided at random ten times, and predicts their other rows and all rows of the class that was left out.

Second table: simulated tables of 8 known classes with 20 rows each and 3 Normal columns, whose parameters come from a
Normal-Gamma prior. Of 30 further rows, 30 % have a class of their own, drawn from the same prior. The prior of the
model is given or learned from the known classes, and the share of new rows is given. It takes about a minute.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn import datasets
from sklearn.metrics import roc_auc_score

import bayesnb as nb

NEW = "none of these"
DIVISIONS, LEARNED = 10, 0.7
TABLES, CLASSES, ROWS, COLUMNS, FURTHER, SHARE = 60, 8, 20, 3, 30, 0.3
PRIOR = nb.NormalGamma(m=0, kappa=0.15, a=4, b=4)
EDGES = (0.0, 0.05, 0.2, 0.5, 0.8, 0.95, 1.0 + 1e-9)


def tables() -> dict[str, tuple[pd.DataFrame, np.ndarray]]:
    """Return the columns and the classes of each table."""
    found = {}
    for name in ("iris", "wine"):
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True, as_frame=True)
        found[name] = X, y.to_numpy().astype(str)
    X, y = nb.datasets.penguins()
    return found | {"penguins": (X.drop(columns=["island", "year"]), y.to_numpy())}


def left_out(X: pd.DataFrame, y: np.ndarray) -> pd.DataFrame:
    """Return the scores of each class that is left out, means over the random divisions."""
    lines = []
    for label in np.unique(y):
        for seed in range(DIVISIONS):
            others = np.random.default_rng(seed).permutation(np.flatnonzero(y != label))
            learned = others[: round(LEARNED * len(others))]
            asked = np.setdiff1d(np.arange(len(y)), learned)
            clf = nb.BayesianNB(unknown=NEW).fit(X.iloc[learned], y[learned])
            proba = pd.DataFrame(clf.predict_proba(X.iloc[asked]), columns=clf.classes_)
            is_new, called = y[asked] == label, (proba.idxmax(axis=1) == NEW).to_numpy()
            known = proba.drop(columns=NEW)
            doubt = 1 - known.max(axis=1) / known.sum(axis=1)
            areas = roc_auc_score(is_new, proba[NEW]), roc_auc_score(is_new, doubt)
            lines.append((label, called[is_new].mean(), called[~is_new].mean(), *areas))
    columns = ["class", "new called new", "known called new", "area, P(new)", "area, 1 - max p"]
    return pd.DataFrame(lines, columns=columns).groupby("class").mean()


def simulated(family: nb.Gaussian) -> pd.DataFrame:
    """Return, for rows by their P(new), how many there are, the mean probability and the frequency of new rows."""
    rng, proba, new = np.random.default_rng(1), [], []
    classes = CLASSES + FURTHER
    for _ in range(TABLES):
        theta = PRIOR.draw(rng, (classes, COLUMNS))
        mu, sd = (np.reshape(v, (classes, COLUMNS)) for v in (theta[0], 1 / np.sqrt(theta[1])))
        known = np.repeat(np.arange(CLASSES), ROWS)
        clf = nb.BayesianNB(family, class_prior="uniform", unknown={-1: SHARE}).fit(
            rng.normal(mu[known], sd[known]), known
        )
        is_new = rng.random(FURTHER) < SHARE
        own = np.where(is_new, np.arange(CLASSES, classes), rng.integers(0, CLASSES, FURTHER))
        proba.append(clf.predict_proba(rng.normal(mu[own], sd[own]))[:, 0])
        new.append(is_new)
    rows = pd.DataFrame({"P(new)": np.concatenate(proba), "new": np.concatenate(new)})
    each = rows.groupby(pd.cut(rows["P(new)"], EDGES, right=False), observed=False)
    return pd.DataFrame(
        {"rows": each.size(), "mean P(new)": each["P(new)"].mean(), "share of new rows": each["new"].mean()}
    )


def main() -> None:
    """Print the tables."""
    for name, (X, y) in tables().items():
        found = left_out(X, y)
        print(name, pd.concat([found, found.mean().to_frame("all classes").T]).round(3).to_string(), sep="\n")
    for name, family in (("given", nb.Gaussian(PRIOR)), ("learned", nb.Gaussian())):
        print(f"prior {name}", simulated(family).round(3).to_string(), sep="\n")


if __name__ == "__main__":
    main()
