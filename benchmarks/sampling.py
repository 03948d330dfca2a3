"""What a sampled posterior costs: sufficient statistics beside rows, and how it grows with the rows.

    uv run --group dev python -m benchmarks.sampling

Compiling is told apart from sampling: a run of a few draws goes before each, and what it compiled is kept. Both
likelihoods start at the conjugate posterior with its scales, so that only the cost of a step differs.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np
import pandas as pd

from bayesnb import BayesianNB
from bayesnb.chains import Convergence
from bayesnb.sampling import nuts

LEVELS = np.array(list("abcde"))


def table(n: int, rng: np.random.Generator) -> tuple[pd.DataFrame, np.ndarray]:
    """Three classes; 3 categorical columns of 3 to 5 levels, 4 real ones, 2 of yes and no."""
    y = rng.integers(0, 3, n)
    columns = {
        f"c{k}": LEVELS[np.minimum(rng.integers(0, 3 + k, n) + (rng.random(n) < 0.2 * y), 2 + k)] for k in range(3)
    }
    columns |= {f"g{k}": rng.normal(y * k, 1 + y) for k in range(4)}
    columns |= {f"b{k}": rng.random(n) < 0.2 + 0.2 * y for k in range(2)}
    return pd.DataFrame(columns), y


def measure(n: int, likelihood: str, draws: int, chains: int = 4, seed: int = 0) -> dict[str, object]:
    """One run: seconds of the run of a few draws before it, and of sampling; effective draws, r_hat."""
    X, y = table(n, np.random.default_rng(seed))
    clf = BayesianNB(random_state=seed).fit(X, y)
    model = clf.to_pymc(X, y, likelihood="rows") if likelihood == "rows" else clf.to_pymc()
    begin = time.perf_counter()
    nuts.sample(clf.posterior_, 5, chains, seed, model=model, tune=5)
    before = time.perf_counter() - begin
    tree = nuts.sample(clf.posterior_, draws, chains, seed, model=model, tune=draws)
    sampling = float(tree["posterior"].attrs["sampling_time"])
    found = Convergence.of(tree)
    return {
        "rows": n,
        "likelihood": likelihood,
        "draws": draws * chains,
        "run before, s": round(before, 1),
        "sampling, s": round(sampling, 1),
        "fewest effective draws": round(found.ess),
        "largest r_hat": round(found.r_hat, 4),
        "effective draws a second": round(found.ess / sampling, 2),
    }


def main(args: list[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--beside", type=int, default=10_000, help="rows at which every row is observed too")
    parser.add_argument("--draws", type=int, default=1000)
    chosen = parser.parse_args(args)
    runs = [measure(n, "sufficient", chosen.draws) for n in chosen.rows]
    runs += [measure(chosen.beside, "rows", chosen.draws)] if chosen.beside else []
    sys.stdout.write(pd.DataFrame(runs).to_string(index=False) + "\n")


if __name__ == "__main__":
    main()
