"""Does the band of the loss after further rows hold the loss that comes? On real tables, after n and 3n further rows.

Run as ``python -m benchmarks.bands [--half "chosen on"] [--dependence None weighted]``, with the tables of
``benchmarks.prediction``: all of a half that have two classes, at least 230 rows and at most 22 columns, which is to
spare time. How the band is made was chosen on the half "chosen on". The band is that of the mean log loss of 100 rows,
and is held against 100 rows that were never learned. A dependence has no band, only an expected loss.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
import pandas as pd

import bayesnb as nb
from bayesnb.evaluation import evaluate
from benchmarks.prediction import halves, load, table_names

ASKED, MOST, SEEDS, DRAWS = 100, 120, 3, 40


def cases(name: str, dependence: str | None, seed: int) -> list[dict[str, object]]:
    """What was expected, and what came, for one split of a table."""
    X, y = load(name)
    n, found = min(MOST, (len(y) - ASKED) // 4), []
    order = np.random.default_rng(seed).permutation(len(y))
    asked, learned = order[-ASKED:], order[:n]
    clf = nb.BayesianNB(dependence=dependence, random_state=seed).fit(X.iloc[learned], y[learned])
    bands = {"learned rows": nb.design.worth_of_rows(clf, [n, 3 * n], X.iloc[learned], y[learned], draws=DRAWS)}
    if dependence is None:
        bands["the model"] = nb.design.worth_of_rows(clf, [n, 3 * n], draws=DRAWS)
    for more in (n, 3 * n):
        later = nb.BayesianNB(dependence=dependence, random_state=seed)
        later.fit(X.iloc[order[: n + more]], y[order[: n + more]])
        loss = evaluate(later, X.iloc[asked], y[asked], cv=None)["log_loss"]
        for by, band in bands.items():
            line = band.loc[more].reindex(["loss", "lower", "upper"])  # A dependence has no band.
            known = line.notna().all()
            found.append(
                {
                    "dependence": str(dependence), "by": by, "rows": f"{1 + more // n}n", "table": name, "loss": loss,
                    "expected": line["loss"], "lower": line["lower"], "upper": line["upper"],
                    "inside": float(line["lower"] <= loss <= line["upper"]) if known else np.nan,
                    "below": float(loss < line["lower"]) if known else np.nan,
                }
            )  # fmt: skip
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser()
    parser.add_argument("--half", default="reported", choices=["chosen on", "reported"])
    parser.add_argument("--dependence", nargs="+", default=["None", "weighted"])
    parser.add_argument("--out", default="bands.csv")
    asked_for = parser.parse_args()
    every: list[dict[str, object]] = []
    for seed in range(SEEDS):
        for table in halves(table_names())[asked_for.half]:
            X, y = load(table)
            if len(np.unique(y)) == 2 and len(y) >= 230 and X.shape[1] <= 22:
                for dependence in asked_for.dependence:
                    every += cases(table, None if dependence == "None" else dependence, seed)
                pd.DataFrame(every).to_csv(asked_for.out, index=False)
                print(seed, table, flush=True)
    result = pd.DataFrame(every)
    by = result.groupby(["dependence", "by", "rows"])[["inside", "below", "loss", "expected", "lower", "upper"]]
    print(by.mean().assign(cases=by.size()).round(3).to_string())
    print(result.pivot_table("inside", "table", ["dependence", "by", "rows"]).round(2).to_string())
