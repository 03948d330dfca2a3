"""Whose uncertainty is right: methods scored by tables of which the exact answer is known, as tables of Markdown.

Run as ``python -m benchmarks.yardstick [tables]``. ``benchmark-details.md`` has the tables of 40 tables a world.
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
    """A table of each score, with its standard errors: methods by worlds, with the draws and seconds of each method.

    The coverage stands beside the level that the exact law has with as many draws.
    """
    worlds = found.index.unique("world")
    of_methods = found.groupby("method", sort=False)[["draws", "level", "seconds"]].mean()
    tables = []
    for score, digits in (("coverage", 2), ("crps", 3), ("distance", 3)):
        beside = {"draws": "{:.0f}", **({"level": "{:.2f}"} if score == "coverage" else {})}
        heading = [score, *beside, *worlds, "seconds"]
        lines = [f"| {' | '.join(heading)} |", "|---" + "|---:" * (len(heading) - 1) + "|"]
        for method, each in of_methods.iterrows():
            of_worlds = found.xs(method, level="method")
            if of_worlds[score].notna().any():
                cells = [form.format(each[name]) for name, form in beside.items()]
                cells += [
                    f"{row[score]:.{digits}f} ± {row[f'se_{score}']:.{digits}f}" for _, row in of_worlds.iterrows()
                ]
                lines.append(f"| {' | '.join([str(method), *cells, f'{each.seconds:.2f}'])} |".replace(" nan |", "  |"))
        tables.append("\n".join(lines))
    return "\n\n".join(tables).replace("-0.000", "0.000")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    result = yardstick(METHODS, tables=int(sys.argv[1]) if len(sys.argv) > 1 else 40)
    result.to_csv("yardstick.csv")
    print(markdown(result))
    exact = result.xs("exact", level="method")
    print("the exact law's distance in standard errors:", (exact["distance"] / exact["se_distance"]).round(1).to_dict())
