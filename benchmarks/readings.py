"""Exported tables as they are: the command that ``inspect`` prints, beside classifiers on features made by hand.

For each table of ``tests/exports.py``: the held-out log loss of the printed command, which has only the file, of a
logistic regression and of LightGBM (if it is installed), which have the values behind the cells as a person would
compute them. Run it with ``python -m benchmarks.readings``; it takes about a minute.
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
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bayesnb import cli
from tests.exports import EXPORTS

ROWS, SEED = 600, 11


def command(line: str) -> str:
    """Run a command and return what it prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()), contextlib.suppress(SystemExit):
        cli.main(shlex.split(line))
    return out.getvalue()


def scores(name: str) -> dict[str, float]:
    """Return the log loss of each method on the second half of the rows."""
    export = EXPORTS[name](np.random.default_rng(SEED), ROWS)
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
    others = {"logistic regression": make_pipeline(StandardScaler(), LogisticRegression())}
    with contextlib.suppress(ImportError):
        from lightgbm import LGBMClassifier

        others["LightGBM"] = LGBMClassifier(n_estimators=100, min_child_samples=10, verbose=-1, n_jobs=1)
    found_loss = {"printed command": log_loss(labels, proba, labels=classes)}
    for other, model in others.items():
        model.fit(export.values[:half], export.labels[:half])
        found_loss[other] = log_loss(labels, model.predict_proba(export.values[half:]), labels=classes)
    return found_loss


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        print(pd.DataFrame({name: scores(name) for name in EXPORTS}).T.round(3).to_string(), flush=True)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
