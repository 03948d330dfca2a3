"""Whose uncertainty is right: methods scored by tables of which the exact answer is known, as a table of Markdown.

Run as ``python -m benchmarks.yardstick [tables]``; the table of ``docs/how-to/is-your-uncertainty-right.md`` is that of
40 tables a world.
"""

from __future__ import annotations

import sys
import warnings

import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from bayesnb.evaluation.yardstick import bootstrap, laplace, members, ours, venn_abers, yardstick

METHODS = {
    "BayesianNB": ours(),
    'BayesianNB, "weighted"': ours(dependence="weighted"),
    "bootstrap of GaussianNB": bootstrap(GaussianNB(), 50),
    "bootstrap of logistic regression": bootstrap(make_pipeline(StandardScaler(), LogisticRegression()), 50),
    "Laplace logistic regression": laplace(),
    "trees of a random forest": bootstrap(DecisionTreeClassifier(max_features="sqrt"), 50),
    "deep ensemble of 5": members(
        make_pipeline(StandardScaler(), MLPClassifier((16,), solver="lbfgs", max_iter=200)), times=5
    ),
    "Venn-Abers of GaussianNB": venn_abers(GaussianNB()),
}


def markdown(found: pd.DataFrame) -> str:
    """The scores of each world, with their standard errors."""
    lines = ["| world | method | coverage | width | CRPS | distance |", "|---|---|---:|---:|---:|---:|"]
    for (world, method), line in found.iterrows():
        cells = [
            "" if pd.isna(line[score]) else f"{line[score]:.3f} ± {line[f'se_{score}']:.3f}"
            for score in ("coverage", "width", "crps", "distance")
        ]
        lines.append("| " + " | ".join([world, method, *cells]) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    result = yardstick(METHODS, tables=int(sys.argv[1]) if len(sys.argv) > 1 else 40)
    result.to_csv("yardstick.csv")
    print(markdown(result))
    print(result.groupby("method")["seconds"].mean().round(3).to_string())
