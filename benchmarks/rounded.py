"""Rounded numbers: log loss of :class:`bayesnb.families.Rounded` beside Gaussian on columns with ties.

    python -m benchmarks.rounded

Real tables: iris (0.1 cm), penguins (0.1 mm, 1 mm, 25 g), heights and weights (rounded to
10 cm and 10 kg). A random half of the rows is learned
and the other half predicted, ten times. Simulated tables: one Normal column in two classes, rounded; 40 rows are
learned and 400 predicted, ten times. A negative difference is a gain; its standard error is over the ten divisions. It
takes about two minutes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn import datasets
from sklearn.metrics import log_loss

import bayesnb as nb
from bayesnb.families import Rounded

REPEATS, LEARNED, NEW = 10, 40, 400

SIMULATED = {
    "age of pupils, whole years, sd 0.5": ((10.3, 11.0), (0.5, 0.5), 1.0),
    "marks from 1 to 6, sd 0.7 and 0.3": ((2.6, 2.1), (0.7, 0.3), 1.0),
    "parts, to 0.1 mm, sd 0.02 and 0.07, the middle of an interval": ((5.05, 5.05), (0.02, 0.07), 0.1),
    "height, whole cm, sd 6": ((166.0, 178.0), (6.0, 6.0), 1.0),
    "height, to 10 cm, sd 6": ((166.0, 178.0), (6.0, 6.0), 10.0),
    "weight, to 0.1 g, sd 0.03 and 0.2, at the end of an interval": ((5.02, 5.1), (0.03, 0.2), 0.1),
}
"""Means, standard deviations and unit of two classes."""


def real() -> Iterator[tuple[str, pd.DataFrame, Any, dict[str, float]]]:
    """Yield name, columns, classes, and the unit of each rounded column."""
    X, y = datasets.load_iris(return_X_y=True, as_frame=True)
    yield "iris", X, y.to_numpy(), dict.fromkeys(X, 0.1)
    X, y = nb.datasets.penguins()
    units = {"bill_length_mm": 0.1, "bill_depth_mm": 0.1, "flipper_length_mm": 1.0, "body_mass_g": 25.0}
    yield "penguins", X[[*units]], y.to_numpy(), units
    X, y = nb.datasets.heights()
    yield "heights and weights, rounded to 10", 10 * (X / 10).round(), np.asarray(y), dict.fromkeys(X, 10.0)


def losses(X: pd.DataFrame, y: np.ndarray, units: dict[str, float], learned: np.ndarray) -> tuple[float, float]:
    """Return the log losses of Gaussian and Rounded on the rows that are not learned."""
    rest, found = np.setdiff1d(np.arange(len(y)), learned), []
    for features in ({name: nb.Gaussian() for name in X}, {name: Rounded(unit=unit) for name, unit in units.items()}):
        clf = nb.BayesianNB(features).fit(X.iloc[learned], y[learned])
        found.append(log_loss(y[rest], clf.predict_proba(X.iloc[rest]), labels=clf.classes_))
    return found[0], found[1]


def simulated(name: str, rng: np.random.Generator) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a rounded column and its classes."""
    means, sds, unit = SIMULATED[name]
    y = rng.integers(0, 2, LEARNED + NEW)
    x = np.floor(rng.normal(np.array(means)[y], np.array(sds)[y]) / unit) * unit
    return pd.DataFrame({"x": x.round(6)}), y


def main() -> None:
    """Print the table."""
    lines = {}
    for name, X, y, units in real():
        divisions = [np.random.default_rng(seed).permutation(len(y))[: len(y) // 2] for seed in range(REPEATS)]
        lines[name] = [losses(X, y, units, learned) for learned in divisions]
    for name, (_, _, unit) in SIMULATED.items():
        tables = [simulated(name, np.random.default_rng(seed)) for seed in range(REPEATS)]
        lines[name] = [losses(*table, {"x": unit}, np.arange(LEARNED)) for table in tables]
    table = {}
    for name, found in lines.items():
        both = np.array(found)
        gap = both[:, 1] - both[:, 0]
        se = gap.std(ddof=1) / np.sqrt(REPEATS)
        table[name] = dict(zip(("Gaussian", "Rounded"), both.mean(0), strict=True)) | {"gain": gap.mean(), "se": se}
    print(pd.DataFrame(table).T.rename(columns={"gain": "difference"}).round(4).to_string())


if __name__ == "__main__":
    main()
