"""How often the audit of independence gives a false alarm, and how much dependence it sees, at fixed parameters.

    python -m benchmarks.audit [--tables 200]

A false alarm is a table of which at least one pair of columns is said to depend on each other, though all columns are
independent given the class. The parameters of a setting are the same in all of its tables, so that no prior is averaged
over. The second table shows how often there is weak and clear evidence that log-odds are too large or too small. The
power is the share of tables of two classes, two standard deviations apart, in which the one pair of three normal
columns that is correlated within the classes is found.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.random import Generator, default_rng

from bayesnb import BayesianNB
from bayesnb.dependence import evidence
from bayesnb.inference.independence import CHANCE

type Array = np.ndarray


def levels(rng: Generator, shares: Array, y: Array) -> Array:
    """A level for each row, drawn with the shares of its class, (class, level)."""
    above = rng.random((len(y), 1)) > shares.cumsum(1)[y][:, :-1]
    return np.char.mod("level %02d", above.sum(1))


def skewed_levels(rng: Generator, y: Array) -> Array:
    """Two levels whose shares are skewed, differently in each class."""
    return levels(rng, np.array([[0.97, 0.03], [0.1, 0.9], [0.4, 0.6]]), y)


def many_levels(rng: Generator, y: Array) -> Array:
    """Twenty levels, most of them rare, other ones in each class."""
    return levels(rng, default_rng(5).dirichlet(np.full(20, 0.4), size=y.max() + 1), y)


def nearly_constant(rng: Generator, y: Array) -> Array:
    """The class itself as a level, but for one row in 200."""
    return levels(rng, np.where(np.eye(y.max() + 1), 0.995, 0.005 / y.max()), y)


SETTINGS: dict[str, tuple[int, tuple[Callable[[Generator, Array], Array], ...]]] = {
    "two levels, skewed by class": (3, (skewed_levels,) * 6),
    "twenty levels": (3, (many_levels,) * 6),
    "constant within classes, nearly": (3, (nearly_constant,) * 6),
    "normal, 8 sd apart": (4, (lambda rng, y: rng.normal(8.0 * y),) * 6),
    "normal, 1 sd apart": (2, (lambda rng, y: rng.normal(y),) * 6),
    "log-normal": (2, (lambda rng, y: np.exp(1.5 * rng.normal(y)),) * 6),
    "mixed, ten classes": (
        10,
        (
            nearly_constant,
            many_levels,
            lambda rng, y: rng.normal(3.0 * (y % 3)),
            lambda rng, y: rng.exponential(1.0 + y % 4),
            lambda rng, y: rng.poisson(0.3 + y % 2).astype(float),
            lambda rng, y: np.where(rng.random(len(y)) < 0.01, 50 * rng.normal(size=len(y)), y),
        ),
    ),
}
"""The number of classes and the columns of each setting."""


def log_bayes_factors(X: dict[str, Array], y: Array) -> Array:
    """The log Bayes factor of each pair of columns."""
    classifier = BayesianNB().fit(X, y).classifier_
    data, labels = classifier.encoded(classifier.rows(X, y, None).labelled())
    grid, counts, finer = evidence.counted_pairs(classifier.posterior, data, labels)
    return evidence.log_bayes_factors(counts, finer, evidence.are_ordered(classifier.posterior, grid))


def false_alarms(name: str, rows: int, tables: int) -> float:
    """The share of tables of a setting with a false alarm."""
    n_classes, columns = SETTINGS[name]
    alarms, rng = 0, default_rng(0)
    for _ in range(tables):
        y = np.unique(rng.integers(n_classes, size=rows), return_inverse=True)[1]
        found = log_bayes_factors({f"x{k}": column(rng, y) for k, column in enumerate(columns)}, y)
        alarms += (found > np.log(len(found) / CHANCE)).any()
    return alarms / tables


def too_sure(name: str, rows: int, tables: int) -> str:
    """The shares of tables of a setting with weak and with clear evidence that log-odds are too large or too small."""
    n_classes, columns = SETTINGS[name]
    found, rng = [], default_rng(0)
    for _ in range(tables):
        y = np.unique(rng.integers(n_classes, size=rows), return_inverse=True)[1]
        X = {f"x{k}": column(rng, y) for k, column in enumerate(columns)}
        found.append(BayesianNB(dependence="tempered").fit(X, y).exponents_.iloc[0])
    one = pd.DataFrame(found)
    clear = one["log_bayes_factor"] > -np.log(CHANCE)
    excluded = (one["lower"].round(2) > 1) | (one["upper"].round(2) < 1)
    return f"{(excluded & ~clear).mean():.3f} {clear.mean():.3f}"


def power(correlation: float, rows: int, tables: int) -> float:
    """The share of tables in which the correlated pair is found."""
    found, rng, shape = 0, default_rng(1), np.eye(3)
    shape[0, 1] = shape[1, 0] = correlation
    for _ in range(tables):
        y = rng.integers(2, size=rows)
        x = rng.multivariate_normal(np.zeros(3), shape, rows) + 2 * y[:, None]
        found += log_bayes_factors(dict(zip("abc", x.T, strict=True)), y)[0] > np.log(3 / CHANCE)
    return found / tables


def main() -> None:
    """Print the false alarms of each setting, and the power by correlation and rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=200)
    tables = parser.parse_args().tables
    sizes = (60, 300, 2000)
    alarms = {name: {n: false_alarms(name, n, tables) for n in sizes} for name in SETTINGS}
    print(pd.DataFrame(alarms).T.round(3).to_string())
    fitting = [name for name in SETTINGS if name not in ("log-normal", "mixed, ten classes")]  # Right families.
    print(pd.DataFrame({name: {n: too_sure(name, n, tables) for n in sizes} for name in fitting}).T.to_string())
    powers = {rho: {n: power(rho, n, tables) for n in (100, 200, 400)} for rho in (0.2, 0.3, 0.5, 0.7)}
    print(pd.DataFrame(powers).T.round(2).to_string())


if __name__ == "__main__":
    main()
