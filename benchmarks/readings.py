"""Exported tables as they are: the command that ``inspect`` prints, beside classifiers on features made by hand.

For each table of ``tests/exports.py``: the held-out log loss of the printed command, which has only the file, of a
logistic regression and of LightGBM, which have the values behind the cells as a person would compute them. The
settings of both are chosen by the log loss of five folds of the learned rows. LightGBM is no dependency of this
project; its column is empty if it is not installed. Run it with ``python -m benchmarks.readings``; it takes about ten
minutes.
"""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bayesnb import cli
from tests.exports import EXPORTS

ROWS, SEEDS = 600, (11, 12, 13)


def command(line: str) -> str:
    """Run a command and return what it prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()), contextlib.suppress(SystemExit):
        cli.main(shlex.split(line))
    return out.getvalue()


def tuned() -> dict[str, GridSearchCV]:
    """Return the classifiers on features made by hand, whose settings are chosen by cross-validation."""
    logistic = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    grids = {"logistic regression": (logistic, {"logisticregression__C": [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 100]})}
    with contextlib.suppress(ImportError):
        from lightgbm import LGBMClassifier

        grid = {"num_leaves": [2, 4, 8], "n_estimators": [25, 50, 100, 200], "min_child_samples": [5, 20]}
        boosted = LGBMClassifier(learning_rate=0.05, subsample=0.8, subsample_freq=1, verbose=-1, n_jobs=1)
        grids["LightGBM"] = boosted, grid
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    return {name: GridSearchCV(model, grid, scoring="neg_log_loss", cv=folds) for name, (model, grid) in grids.items()}


def scores(name: str, seed: int) -> dict[str, float]:
    """Return the log loss of each method on the second half of the rows."""
    export = EXPORTS[name](np.random.default_rng(seed), ROWS)
    above = len(export.lines) - ROWS
    half = ROWS // 2
    for stem, rows in (("train", slice(above, above + half)), ("test", slice(above + half, None))):
        text = "\n".join([*export.lines[:above], *export.lines[rows]])
        Path(f"{stem}.csv").write_text(text, encoding=export.encoding)
    printed = command(f"inspect train.csv --target {shlex.quote(export.target)}").strip().splitlines()[-1]
    command(printed.removeprefix("bayesnb "))
    command("predict train.bayesnb test.csv -o predicted.csv --force")
    found = pd.read_csv("predicted.csv")
    labels, classes = export.labels[half:], sorted(set(export.labels))
    proba = found[[f"p_{label}" for label in classes]].to_numpy()
    found_loss = {"printed command": log_loss(labels, proba, labels=classes), "LightGBM": np.nan}
    for other, model in tuned().items():
        model.fit(export.values[:half], export.labels[:half])
        found_loss[other] = log_loss(labels, model.predict_proba(export.values[half:]), labels=classes)
    return found_loss


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        each = {(name, seed): scores(name, seed) for name in EXPORTS for seed in SEEDS}
        found = pd.DataFrame(each).T[["printed command", "logistic regression", "LightGBM"]]
        table = found.groupby(level=0, sort=False).mean()
        table["behind the better"] = table["printed command"] - table.iloc[:, 1:].min(axis=1)
        print(table.round(3).to_string(), flush=True)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
