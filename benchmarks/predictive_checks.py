"""How often predictive checks raise a false alarm, and what they find.

    uv run --group dev python -m benchmarks.predictive_checks --simulations 200

Tables are drawn from the model itself, with parameters of their own: reals, positive reals, counts, zeros and ones, and
levels, a tenth of the cells missing. A table counts as a false alarm if any check of it speaks against the model.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.random import Generator

import bayesnb as nb
from bayesnb import BayesianNB, Bernoulli, Categorical, Gaussian, Poisson
from bayesnb.families import Exponential
from bayesnb.priors import Array

FEATURES = (
    {f"real {k}": Gaussian() for k in range(5)}
    | {f"wait {k}": Exponential() for k in range(2)}
    | {f"count {k}": Poisson() for k in range(3)}
    | {f"flag {k}": Bernoulli() for k in range(2)}
    | {f"level {k}": Categorical() for k in range(3)}
)


def drawn(n: int, rng: Generator, missing: float = 0.1) -> Callable[[int], tuple[pd.DataFrame, Array]]:
    """A table of ``n`` classes with parameters of their own, as a function of its number of rows."""
    mean, sd = rng.normal(size=(n, 5)) * 2, rng.uniform(0.5, 2, (n, 5))
    wait, rate = rng.uniform(0.5, 5, (n, 2)), rng.uniform(0.3, 8, (n, 3))
    flag, level = rng.uniform(0.1, 0.9, (n, 2)), rng.dirichlet(np.ones(4), (n, 3))

    def table(rows: int) -> tuple[pd.DataFrame, Array]:
        y = rng.integers(n, size=rows)
        levels = (rng.random((rows, 3, 1)) > level[y].cumsum(-1)[..., :-1]).sum(-1)
        cells = {f"real {k}": x for k, x in enumerate(rng.normal(mean[y], sd[y]).T)}
        cells |= {f"wait {k}": x for k, x in enumerate(rng.exponential(wait[y]).T)}
        cells |= {f"count {k}": x.astype(float) for k, x in enumerate(rng.poisson(rate[y]).T)}
        cells |= {f"flag {k}": x.astype(float) for k, x in enumerate((rng.random((rows, 2)) < flag[y]).T)}
        frame = pd.DataFrame(cells | {f"level {k}": np.array(list("abcd"), object)[x] for k, x in enumerate(levels.T)})
        return frame.mask(rng.random(frame.shape) < missing), y

    return table


def simulated(simulations: int, rows: int, n_classes: int, draws: int, seed: int = 0) -> pd.Series:
    """The share of tables with a false alarm, on the learned rows and on others, and of faults that are found.

    Faults are put into every fourth table.
    """
    found = []
    for k in range(simulations):
        rng = np.random.default_rng([seed, k])
        table = drawn(n_classes, rng)
        X, y = table(rows)
        clf = BayesianNB(FEATURES, random_state=k).fit(X, y)
        new = table(rows)
        one = {
            "false alarm, learned rows": not nb.checks.predictive_checks(clf, X, y, draws).fits,
            "false alarm, other rows": not nb.checks.predictive_checks(clf, *new, draws).fits,
        }
        found.append(one | (faults_found(X, y, k, draws, rng) if k % 4 == 0 else {}))
    return pd.DataFrame(found).astype(float).mean()


def faults_found(X: pd.DataFrame, y: Array, seed: int, draws: int, rng: Generator) -> dict[str, bool]:
    """Whether each of three faults is found."""
    copied = X.assign(**{"real 1": X["real 0"]})
    # A third of one column is made 0, which no Poisson count does.
    zeros = X.assign(**{"count 2": X["count 2"] * (rng.random(len(y)) < 2 / 3)})
    skewed = X.assign(**{"real 2": np.exp(rng.normal(size=len(y)) / 2)})
    return {
        "a copy of a column": pairs_named(refitted(copied, y, seed, draws), "real 0", "real 1"),
        "a third of the counts made 0": columns_named(refitted(zeros, y, seed, draws), "count 2"),
        "a lognormal column": columns_named(refitted(skewed, y, seed, draws), "real 2"),
    }


def refitted(X: pd.DataFrame, y: Array, seed: int, draws: int) -> pd.DataFrame:
    """The checks that speak against a model of these rows."""
    return nb.checks.predictive_checks(BayesianNB(FEATURES, random_state=seed).fit(X, y), X, y, draws).failed


def pairs_named(failed: pd.DataFrame, first: str, second: str) -> bool:
    """Whether the checks name this pair of columns."""
    return bool(((failed["first"] == first) & (failed["second"] == second)).any())


def columns_named(failed: pd.DataFrame, name: str) -> bool:
    """Whether the checks name this column alone."""
    return bool(((failed["first"] == name) & failed["second"].isna()).any())


def main() -> int:
    """Print the shares for small and large tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulations", type=int, default=200)
    parser.add_argument("--draws", type=int, default=200)
    arguments = parser.parse_args()
    found = {
        f"{rows} rows, {n} classes": simulated(arguments.simulations, rows, n, arguments.draws)
        for rows, n in ((60, 2), (200, 2), (300, 3))
    }
    print(pd.DataFrame(found).to_string(float_format="{:.3f}".format))
    return 0


if __name__ == "__main__":
    sys.exit(main())
