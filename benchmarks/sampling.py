"""What a sampled posterior costs: sufficient statistics beside rows, and how it grows with the rows.

    uv run --group dev python -m benchmarks.sampling

Compiling is told apart from sampling: two runs of a few draws go before each, and what they compiled is kept. All times
are user CPU seconds, because the wall clock also measures what else the machine does. Both likelihoods start at the
conjugate posterior with its scales, so that only the cost of a step differs.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bayesnb import BayesianNB, datasets
from bayesnb.chains import Convergence
from bayesnb.sampling import nuts, pymc_model

if TYPE_CHECKING:
    from xarray import DataTree

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


def measure(n: int, likelihood: str, draws: int, seed: int = 0) -> dict[str, object]:
    """One run: user CPU seconds of a first short run, and of sampling; effective draws, r_hat.

    What a second short run takes, which compiles nothing anew, is subtracted from the time of sampling.
    """
    X, y = table(n, np.random.default_rng(seed))
    clf = BayesianNB(random_state=seed).fit(X, y)
    codes = np.searchsorted(clf.classes_, y)
    rows = (clf.classifier_.read(X)[0], codes, "rows") if likelihood == "rows" else ()
    model = pymc_model.build(clf.posterior_, *rows, apart=False)

    def run(draws: int) -> tuple[float, DataTree]:
        begin = os.times().user
        _, tree = nuts.sample(clf.posterior_, draws, 4, seed, model=model, tune=draws)
        return os.times().user - begin, tree

    (before, _), (again, _), (sampling, tree) = run(5), run(5), run(draws)
    sampling -= again
    found = Convergence.of(tree)
    return {
        "rows": n,
        "likelihood": likelihood,
        "draws": draws * 4,
        "short run, s": round(before, 1),
        "sampling, s": round(sampling, 1),
        "fewest effective draws": round(found.ess),
        "largest r_hat": round(found.r_hat, 4),
        "effective draws a second": round(found.ess / sampling, 2),
    }


def verifying() -> dict[str, object]:
    """User CPU seconds of ``verify()`` on PlayTennis: in a new process, imports included, and of another such table."""
    X, y = datasets.play_tennis()
    times = []
    for first in (0, 1):
        BayesianNB(random_state=first).fit(X[first:], y[first:]).verify()
        times.append(os.times().user)
    return {"first verify and imports, s": round(times[0], 1), "second verify, s": round(times[1] - times[0], 1)}


def main(args: list[str] | None = None) -> None:
    """Print the times of ``verify``, and the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--beside", type=int, default=10_000, help="rows at which every row is observed too")
    parser.add_argument("--draws", type=int, default=1000)
    chosen = parser.parse_args(args)
    sys.stdout.write(f"{verifying()}\n")
    runs = [measure(n, "sufficient", chosen.draws) for n in chosen.rows]
    runs += [measure(chosen.beside, "rows", chosen.draws)] if chosen.beside else []
    sys.stdout.write(pd.DataFrame(runs).to_string(index=False) + "\n")


if __name__ == "__main__":
    main()
