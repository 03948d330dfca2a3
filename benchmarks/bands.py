"""Does the band of the loss after further rows hold the loss that comes? On real tables, after n and 3n further rows.

Run as ``python -m benchmarks.bands``, with the tables of ``benchmarks.prediction``: all of the half that only reports
that have two classes, at least 230 rows and at most 22 columns, which is to spare time. The band is that of the mean
log loss of 100 rows, and is held against 100 rows that were never learned.
"""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd

import bayesnb as nb
from bayesnb.evaluation import evaluate
from benchmarks.prediction import halves, load, table_names

ASKED, MOST, SEEDS, DRAWS = 100, 120, 3, 30


def cases(name: str, dependences: tuple[str | None, ...]) -> list[dict[str, object]]:
    """What was expected, and what came, for one table."""
    X, y = load(name)
    n, found = min(MOST, (len(y) - ASKED) // 4), []
    for seed in range(SEEDS):
        order = np.random.default_rng(seed).permutation(len(y))
        asked, learned = order[-ASKED:], order[:n]
        for dependence in dependences:
            clf = nb.BayesianNB(dependence=dependence, random_state=seed).fit(X.iloc[learned], y[learned])
            rows = X.iloc[learned], y[learned]
            bands = {"learned rows": nb.design.worth_of_rows(clf, [n, 3 * n], *rows, draws=DRAWS)}
            if dependence is None:
                bands["the model"] = nb.design.worth_of_rows(clf, [n, 3 * n], draws=DRAWS)
            for more in (n, 3 * n):
                later = nb.BayesianNB(dependence=dependence, random_state=seed)
                later.fit(X.iloc[order[: n + more]], y[order[: n + more]])
                loss = evaluate(later, X.iloc[asked], y[asked], cv=None)["log_loss"]
                for by, band in bands.items():
                    line = band.loc[more]
                    found.append(
                        {
                            "table": name, "dependence": str(dependence), "by": by, "rows": f"{1 + more // n}n",
                            "loss": loss, "expected": line["loss"], "lower": line["lower"], "upper": line["upper"],
                            "inside": bool(line["lower"] <= loss <= line["upper"]),
                        }
                    )  # fmt: skip
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    every: list[dict[str, object]] = []
    for table in halves(table_names())["reported"]:
        X, y = load(table)
        if len(np.unique(y)) == 2 and len(y) >= 230 and X.shape[1] <= 22:
            every += cases(table, (None, "weighted"))
            result = pd.DataFrame(every)
            result.to_csv("bands.csv", index=False)
            print(table, flush=True)
    shares = result.groupby(["dependence", "by", "rows"])[["inside", "loss", "expected", "lower", "upper"]].mean()
    print(shares.round(3).to_string())
    print(result.pivot_table("inside", "table", ["dependence", "by", "rows"]).round(2).to_string())
