"""What exponents, pairs and averages cost: processor seconds, and as multiples of naive Bayes and of LightGBM.

    python -m benchmarks.pairs [--only WORDS] [--rows N]

LightGBM, with early stopping as in ``benchmarks.predictors``, is measured where it is installed, and log losses of rows
that were not learned stand beside the times of mixed columns. All tables are generated. Processor seconds are those of
all threads; what is compiled was compiled before.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from bayesnb import BayesianNB, Multinomial
from benchmarks.comparing import seconds
from benchmarks.predictors import BoostedRounds, scikit

type Array = np.ndarray


def numbers(rows: int, columns: int) -> tuple[Array, Array]:
    """Numbers of three classes that overlap; every second column depends on the one before it."""
    rng = np.random.default_rng(0)
    y = np.arange(rows) % 3
    x = rng.normal(size=(rows, columns)) + 0.5 * y[:, None] / np.sqrt(columns)
    x[:, 1::2] += 0.5 * x[:, : columns - columns % 2 : 2]
    return x, y


def mixed(rows: int) -> tuple[pd.DataFrame, Array]:
    """Four numbers and six columns of levels that depend on each other, as in a census, and who earns much."""
    rng = np.random.default_rng(0)
    age = 17 + rng.gamma(3.0, 8.0, rows).clip(max=70).round()
    school = rng.integers(1, 17, rows)
    married = rng.random(rows) < 1 / (1 + np.exp(-(age - 32) / 6))
    work = (school + rng.integers(0, 8, rows)) // 2
    hours = (40 + rng.normal(0, 8, rows) + 5 * (work > 6) - 15 * (age > 64)).round().clip(1, 99)
    gain = np.where(rng.random(rows) < 0.08, rng.lognormal(8.5, 1.0, rows).round(), 0.0)
    kin = np.where(married, rng.integers(0, 2, rows), 2 + (age > 25) + rng.integers(0, 3, rows))
    country = rng.geometric(0.3, rows).clip(max=40)
    score = 0.35 * (school - 10) + 2.2 * married - 0.002 * (age - 48) ** 2 + 0.04 * (hours - 40) * married
    score += 4.0 * (gain > 6000) + 0.15 * np.where(work > 6, school - 10, 0) - 1.8
    levels = {
        "work": work, "school": school, "married": married * 3 + rng.integers(0, 3, rows), "kin": kin,
        "country": country, "sex": rng.integers(0, 2, rows),
    }  # fmt: skip
    x = pd.DataFrame({"age": age, "weight": rng.normal(size=rows), "hours": hours, "gain": gain})
    for name, column in levels.items():
        x[name] = np.char.add("level ", column.astype(str))
    return x, (rng.random(rows) < 1 / (1 + np.exp(-score))).astype(int)


def words(rows: int) -> tuple[sparse.csr_array, Array]:
    """Counts of 5,000 words in texts of four classes, of which each word speaks for one a little; lengths vary."""
    rng = np.random.default_rng(0)
    y = np.arange(rows) % 4
    common = 1 / np.arange(1, 5_001)
    of_class = common * np.exp(rng.normal(0, 0.5, (4, 5_000)))
    lengths = rng.integers(20, 200, rows)
    drawn = [rng.multinomial(n, of_class[c] / of_class[c].sum()) for n, c in zip(lengths, y, strict=True)]
    return sparse.csr_array(np.array(drawn)), y


def levels(rows: int) -> tuple[pd.DataFrame, Array]:
    """35 columns of two to seven levels and 19 classes, as of diseased plants; each depends on the one before it."""
    rng = np.random.default_rng(0)
    y, before = np.arange(rows) % 19, np.zeros(rows, int)
    x = {}
    for k in range(35):
        several = 2 + k % 6
        share = rng.dirichlet(np.full(several, 0.5), 19)
        drawn = (rng.random(rows)[:, None] > share.cumsum(1)[y]).sum(1).clip(max=several - 1)
        before = np.where(rng.random(rows) < 0.4, before % several, drawn)
        x[f"x{k}"] = np.char.add("level ", before.astype(str))
    return pd.DataFrame(x), y


def works(rows: int) -> Iterator[tuple[str, Callable[[], Any]]]:
    """The tables."""
    yield "26,000 x 10, mixed columns, 2 classes", lambda: mixed(39_000)
    yield f"{rows:,} x 20 numbers, 3 classes", lambda: numbers(rows, 20)
    yield "4,000 texts of 5,000 words, 4 classes", lambda: words(4_000)
    yield "683 x 35 columns of levels, 19 classes", lambda: levels(683)


def log_loss(p: Array, y: Array) -> float:
    """The mean log loss in nats."""
    return float(-np.log(p[np.arange(len(y)), y]).mean())


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--only", default="")
    chosen = parser.parse_args()
    for dependence in (None, "weighted", "pairwise", "auto"):  # loads the compiled loops
        for warm in (mixed(60_000), numbers(60_000, 12)):
            BayesianNB(dependence=dependence).fit(*warm).predict_proba(warm[0])
    print("| table | work | fit, s | predict, s | fit | predict | log loss |")
    print("|---|---|---:|---:|---:|---:|---:|")
    for name, make in works(chosen.rows):
        if chosen.only not in name:
            continue
        x, y = make()
        held = len(y) > 30_000 and isinstance(x, pd.DataFrame)
        n = len(y) * 2 // 3 if held else len(y)
        learned, new = (x[:n], x[n:]) if held else (x, x)
        several = {"LightGBM": scikit(lambda y: BoostedRounds())} if held and find_spec("lightgbm") else {}
        for dependence in (None, "weighted", "pairwise", "auto"):
            clf = BayesianNB(*[Multinomial()] * sparse.issparse(x), dependence=dependence)
            several[repr(dependence)] = lambda x, y, clf=clf: clf.fit(x, y).predict_proba
        base = None
        for method, fit in several.items():
            kept: list[Any] = []
            fitting = seconds(lambda: kept.append(fit(learned, y[:n])), 1)  # noqa: B023
            predicting = seconds(lambda: kept.append(kept[0](new)), 1)  # noqa: B023
            base = base or (fitting, predicting)
            ratios = " | ".join(f"{own / of:.1f}" for own, of in zip((fitting, predicting), base, strict=True))
            loss = f"{log_loss(kept[1], y[n:]):.4f}" if held else ""
            print(f"| {name} | {method} | {fitting:.2f} | {predicting:.2f} | {ratios} | {loss} |", flush=True)


if __name__ == "__main__":
    main()
