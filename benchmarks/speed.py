"""The speed of fits, predictions and requests, in under a minute: ratios to scikit-learn, or to another checkout.

    uv run --group dev python -m benchmarks.speed                  ratios to scikit-learn (more is quicker)
    uv run --group dev python -m benchmarks.speed --beside DIR     ratios to the checkout in DIR (less is quicker)
    uv run --group dev python -m benchmarks.speed --write          write the ratios and the commit into README.md

Both sides take turns, and the least time of several turns counts. Processor time is hardly changed by
other work on the machine. It counts all threads, so a second core is no advantage.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import bayesnb as nb
from benchmarks.beside import compare, spent, take_turns

ROWS, TURNS, REQUESTS = 100_000, 5, 50

FRESH = """
import numpy as np
from {module} import {name}
x, y = np.random.default_rng(0).normal(size=(1000, 5)), np.arange(1000) % 2
{name}().fit(x, y).predict(x)
"""
"""A first fit and prediction of a process."""

PAGE = Path(__file__).with_name("README.md")
BEGIN, END = "<!-- made by benchmarks.speed -->", "<!-- end -->"

type Pair = tuple[str, Callable[[], Any], Callable[[], Any]]


def requests(answer: Callable[[Any], Any], row: Any) -> Callable[[], None]:
    """Many requests of one row."""
    return lambda: [answer(row) for _ in range(REQUESTS)] and None


def process(*command: str) -> Callable[[], None]:
    """A new process that runs a command of Python."""
    return lambda: subprocess.run([sys.executable, *command], check=True, capture_output=True) and None


def works() -> Iterator[Pair]:
    """Yield the name of each work, ours, and the same by scikit-learn."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, ROWS)
    reals = rng.normal(size=(ROWS, 20))
    wide = (rng.random((ROWS // 7, 600)) < 0.3).astype(float)
    places = np.repeat(np.arange(40_000), 60), rng.integers(0, 20_000, 2_400_000)
    words = sparse.csr_array((rng.integers(1, 5, 2_400_000).astype(float), places), shape=(40_000, 20_000))
    tables = [
        ("Gaussian", None, reals, GaussianNB),
        ("categorical", nb.Categorical(), rng.integers(0, 8, (ROWS, 20)), CategoricalNB),
        ("Bernoulli", nb.Bernoulli(), (rng.random((ROWS, 20)) < 0.3).astype(float), BernoulliNB),
        ("Bernoulli, 600 columns", nb.Bernoulli(), wide, BernoulliNB),
        ("multinomial", nb.Multinomial(), words, MultinomialNB),
    ]
    for name, family, X, peer in tables:
        own = y[: X.shape[0]]
        ours, theirs = nb.BayesianNB(family).fit(X, own), peer().fit(X, own)
        yield (
            f"{name}, fit",
            lambda family=family, X=X, own=own: nb.BayesianNB(family).fit(X, own),
            lambda peer=peer, X=X, own=own: peer().fit(X, own),
        )
        yield f"{name}, predict", lambda f=ours, X=X: f.predict_proba(X), lambda f=theirs, X=X: f.predict_proba(X)
        if name == "Gaussian":
            row = X[:1]
            yield "one row of an array", requests(ours.predict_proba, row), requests(theirs.predict_proba, row)
            compiled, cells = nb.deploy.compile(ours), row[0].tolist()
            yield "one row, compiled", requests(compiled, cells), requests(theirs.predict_proba, row)

    frame = pd.DataFrame(reals[:2000, :4], columns=list("abcd"))
    frame["e"], frame["f"] = rng.choice(["x", "y", "z"], 2000), rng.choice(["u", "v"], 2000)
    encoder = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["e", "f"]), remainder="passthrough")
    ours, theirs = nb.BayesianNB().fit(frame, y[:2000]), make_pipeline(encoder, GaussianNB()).fit(frame, y[:2000])
    yield "one row of a mixed frame", requests(ours.predict_proba, frame[:1]), requests(theirs.predict_proba, frame[:1])
    yield (
        "a fresh process",
        process("-c", FRESH.format(module="bayesnb", name="BayesianNB")),
        process("-c", FRESH.format(module="sklearn.naive_bayes", name="GaussianNB")),
    )
    yield "bayesnb --help", process("-m", "bayesnb", "--help"), process("-c", "import sklearn.naive_bayes")


def measured() -> Iterator[tuple[str, float, float]]:
    """Yield each work with the least seconds of ours and of the peer's."""
    for name, ours, peer in works():
        ours()
        turns = [(spent(ours), spent(peer)) for _ in range(TURNS)]
        yield name, *np.min(turns, axis=0)


def commit() -> str:
    """The commit of this checkout."""
    run = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, cwd=PAGE.parent)
    return run.stdout.strip() or "unknown"


def written(page: str, ratios: dict[str, float]) -> str:
    """The page with these ratios in the place of those before."""
    before, _, rest = page.partition(BEGIN)
    lines = [f"| {name} | {ratio:.3g} |" for name, ratio in ratios.items()]
    table = [f"| commit {commit()}, {ROWS:,} rows: times as quick as scikit-learn | |", "|---|---:|", *lines]
    return before + "\n".join([BEGIN, "", *table, "", END]) + rest.partition(END)[2]


def main(args: list[str] | None = None) -> None:
    """Print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--beside", type=Path, metavar="DIR", help="a checkout to compare this one with")
    parser.add_argument("--write", action="store_true", help="write the ratios into benchmarks/README.md")
    parser.add_argument("--turns", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(args)
    warnings.simplefilter("ignore")
    if options.beside:
        compare("speed", [], options.beside, TURNS)
    elif options.turns:
        take_turns((name, ours) for name, ours, _ in works())
    else:
        ratios = {}
        for name, ours, peer in measured():
            ratios[name] = peer / ours
            print(f"{name:32} {ratios[name]:6.2f} times as quick as scikit-learn ({1e3 * ours:.2f} ms)", flush=True)
        if options.write:
            PAGE.write_text(written(PAGE.read_text(), ratios))


if __name__ == "__main__":
    main()
