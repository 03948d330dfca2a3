"""How long the closed form takes beside scikit-learn, and beside one read of the same bytes.

    uv run --group dev python -m benchmarks.peers [--quick] [--json FILE] [--only WORD]
    uv run --group dev python -m benchmarks.peers [--quick] [--only WORD] --beside DIR     ratios to the checkout in DIR

Ours and the peer take turns in one process, after a warm-up of each; a line holds the medians. The ratio is the
peer's time over ours, and stands beside the one to reach. "Reads" is our time over that of one ``numpy.sum`` of the
input. "Extra" is the peak memory of a run of ours beyond what the process held before, its answer included (Linux
only).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.compose import make_column_selector
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.impute import SimpleImputer
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB
from sklearn.preprocessing import OrdinalEncoder

import bayesnb as nb
from bayesnb import BayesianNB, Bernoulli, Categorical, Multinomial
from bayesnb.families import MultivariateGaussian, PolyaTree
from benchmarks.beside import compare, take_turns

REST = 0.15
"""Seconds before each run: for a tenth of one a matrix library's threads stay awake after a product."""


@dataclass(frozen=True)
class Work:
    """One line of the table.

    Parameters
    ----------
    name : str
    ours, peer : callable
        The same work; ``peer`` may be another piece of our own.
    beside : str
        What the peer is.
    goal : float
        The ratio to reach.
    input : array, sparse matrix, DataFrame or None
        Whose bytes are read once, for the limit.
    """

    name: str
    ours: Callable[[], Any]
    peer: Callable[[], Any]
    beside: str
    goal: float
    input: Any = None

    @property
    def bytes(self) -> int:
        """Of the input."""
        if isinstance(self.input, pd.DataFrame):
            return int(self.input.memory_usage(deep=True).sum())
        if sparse.issparse(self.input):
            return self.input.data.nbytes + self.input.indices.nbytes + self.input.indptr.nbytes
        return self.input.nbytes

    def read(self) -> Any:
        """One reading of the input's numbers."""
        return self.input.data.sum() if sparse.issparse(self.input) else self.input.sum()


def gaussian(n: int, rng: np.random.Generator) -> Iterator[Work]:
    """20 real columns, 3 classes."""
    X, y = rng.normal(size=(n, 20)), rng.integers(0, 3, n)
    X[:, ::2] += y[:, None]
    ours, peer = BayesianNB().fit(X, y), GaussianNB().fit(X, y)
    size = f"{n:,} × 20"
    yield Work(
        f"Gaussian fit, {size}", lambda: BayesianNB().fit(X, y), lambda: GaussianNB().fit(X, y), "GaussianNB", 12, X
    )
    yield Work(
        f"Gaussian predict (Student-t), {size}", lambda: ours.predict_proba(X), lambda: peer.predict_proba(X),
        "GaussianNB's plug-in", 4, X,
    )  # fmt: skip
    row = X[:1]
    yield Work(
        "one row of an array, predict_proba, 200 times", lambda: [ours.predict_proba(row) for _ in range(200)],
        lambda: [peer.predict_proba(row) for _ in range(200)], "GaussianNB", 1,
    )  # fmt: skip
    service, values = nb.deploy.compile(ours), X[0].tolist()
    yield Work(
        "one row of a list, compiled, 200 times", lambda: [service(values) for _ in range(200)],
        lambda: [peer.predict_proba(row) for _ in range(200)], "GaussianNB", 10,
    )  # fmt: skip
    yield Work(
        f"exact leave-one-out, {size}", lambda: ours.loo(X, y), lambda: BayesianNB().fit(X, y).predict_proba(X),
        "one of our own fit + predict", 0.5, X,
    )  # fmt: skip


def shapes(n: int, rng: np.random.Generator) -> Iterator[Work]:
    """20 real columns, 3 classes: without a shape, and with a covariance."""
    X, y = rng.normal(size=(n, 20)), rng.integers(0, 3, n)
    X[:, ::2] += y[:, None]
    size = f"{n:,} × 20"
    learners = {
        "Pólya trees": (BayesianNB(PolyaTree()), GaussianNB(), 1 / 3),
        "block": (BayesianNB(MultivariateGaussian()), QuadraticDiscriminantAnalysis(), 1 / 2),
    }
    for name, (ours, peer, goal) in learners.items():
        beside = type(peer).__name__
        yield Work(f"{name} fit, {size}", partial(ours.fit, X, y), partial(peer.fit, X, y), beside, goal, X)
        ours.fit(X, y)
        peer.fit(X, y)
        ask = partial(ours.predict_proba, X), partial(peer.predict_proba, X)
        yield Work(f"{name} predict, {size}", *ask, beside, goal, X)


def categorical(n: int, rng: np.random.Generator) -> Iterator[Work]:
    """20 columns of 8 levels, 3 classes, given as integers."""
    y = rng.integers(0, 3, n)
    X = (rng.integers(0, 7, (n, 20)) + (rng.random((n, 20)) < 0.3 * y[:, None])).astype(np.int64)
    ours, peer = BayesianNB(Categorical()).fit(X, y), CategoricalNB().fit(X, y)
    size = f"{n:,} × 20, 8 levels"
    yield Work(
        f"categorical fit, {size}", lambda: BayesianNB(Categorical()).fit(X, y), lambda: CategoricalNB().fit(X, y),
        "CategoricalNB", 40, X,
    )  # fmt: skip
    yield Work(
        f"categorical predict, {size}", lambda: ours.predict_proba(X), lambda: peer.predict_proba(X), "CategoricalNB",
        6, X,
    )  # fmt: skip


def bernoulli(n: int, columns: int, rng: np.random.Generator) -> Iterator[Work]:
    """Zeros and ones."""
    y = rng.integers(0, 3, n)
    X = (rng.random((n, columns)) < 0.2 + 0.2 * y[:, None]).astype(float)
    ours, peer = BayesianNB(Bernoulli()).fit(X, y), BernoulliNB(binarize=None).fit(X, y)
    size = f"{n:,} × {columns:,}"
    yield Work(
        f"Bernoulli fit, {size}", lambda: BayesianNB(Bernoulli()).fit(X, y),
        lambda: BernoulliNB(binarize=None).fit(X, y), "BernoulliNB", 5, X,
    )  # fmt: skip
    yield Work(
        f"Bernoulli predict, {size}", lambda: ours.predict_proba(X), lambda: peer.predict_proba(X), "BernoulliNB", 3, X
    )


def multinomial(n: int, words: int, rng: np.random.Generator) -> Iterator[Work]:
    """Sparse counts, 100 stored a row."""
    y = rng.integers(0, 3, n)
    column = np.minimum((words * rng.random((n, 100)) ** 2).astype(np.int32), words - 1)
    row = np.repeat(np.arange(n), 100)
    X = sparse.csr_array((rng.integers(1, 4, n * 100).astype(float), (row, column.ravel())), shape=(n, words))
    X.sum_duplicates()
    ours, plug_in, peer = (
        BayesianNB(Multinomial()).fit(X, y),
        BayesianNB(Multinomial(), estimate="mean").fit(X, y),
        MultinomialNB().fit(X, y),
    )
    size = f"CSR {n:,} × {words:,}"
    yield Work(
        f"multinomial fit, {size}", lambda: BayesianNB(Multinomial()).fit(X, y), lambda: MultinomialNB().fit(X, y),
        "MultinomialNB", 3, X,
    )  # fmt: skip
    yield Work(
        f"multinomial plug-in predict, {size}", lambda: plug_in.predict_proba(X), lambda: peer.predict_proba(X),
        "MultinomialNB", 1.5, X,
    )  # fmt: skip
    yield Work(
        f"Dirichlet-multinomial predict, {size}", lambda: ours.predict_proba(X), lambda: peer.predict_proba(X),
        "MultinomialNB's plug-in", 0.5, X,
    )  # fmt: skip


class Joined:
    """The scikit-learn way with a mixed table: two classifiers, their log probabilities added."""

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> Joined:
        """Encode, impute, fit both."""
        self.text = make_column_selector(dtype_exclude="number")(X)
        self.real = make_column_selector(dtype_include="number")(X)
        self.encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-1)
        self.imputer = SimpleImputer()
        self.categorical = CategoricalNB().fit(self.encoder.fit_transform(X[self.text]) + 1, y)
        self.gaussian = GaussianNB().fit(self.imputer.fit_transform(X[self.real]), y)
        return self

    def predict_proba(self, X: pd.DataFrame) -> np.ndarray:
        """Product of both, less one class prior."""
        both = self.categorical.predict_joint_log_proba(self.encoder.transform(X[self.text]) + 1)
        both += self.gaussian.predict_joint_log_proba(self.imputer.transform(X[self.real]))
        both -= np.log(self.gaussian.class_prior_)
        both -= both.max(axis=1, keepdims=True)
        both = np.exp(both)
        return both / both.sum(axis=1, keepdims=True)


def frame(n: int, rng: np.random.Generator) -> Iterator[Work]:
    """5 columns of text and 5 of reals, 5 % missing."""
    y = rng.integers(0, 3, n)
    levels = np.array([f"level {k}" for k in range(12)], object)
    X = pd.DataFrame({f"t{j}": levels[rng.integers(0, 9, n) + y] for j in range(5)}, dtype="str")
    for j in range(5):
        X[f"r{j}"] = rng.normal(y, 1.0, n)
    X = X.mask(rng.random(X.shape) < 0.05)
    yield Work(
        f"DataFrame fit + predict, {n:,} rows, 5 text + 5 real", lambda: BayesianNB().fit(X, y).predict_proba(X),
        lambda: Joined().fit(X, y).predict_proba(X), "OrdinalEncoder, CategoricalNB, SimpleImputer, GaussianNB", 4, X,
    )  # fmt: skip


def draws(n: int, rng: np.random.Generator) -> Iterator[Work]:
    """p(class | row, θ) at 1000 draws."""
    y = rng.integers(0, 3, n)
    X = rng.normal(size=(n, 20)) + y[:, None]
    clf = BayesianNB(random_state=0).fit(X, y)
    drawn = clf.posterior_.draw(np.random.default_rng(0), (1000,))
    (theta,) = drawn.features.values()

    def loop() -> np.ndarray:
        found = np.empty((1000, n, 3))
        for k, (pi, mu, tau) in enumerate(zip(drawn.log_pi, theta["mu"], theta["tau"], strict=True)):
            joint = pi + 0.5 * np.log(tau).sum(1) - 0.5 * ((X[:, None] - mu) ** 2 * tau).sum(2)
            joint -= joint.max(axis=1, keepdims=True)
            np.exp(joint, out=joint)
            np.divide(joint, joint.sum(axis=1, keepdims=True), out=found[k])
        return found

    # The loop has the draws of the learned rows; given each row, which is the default, no other library has them.
    for given, goal in (("data", 10), ("row", 1)):
        yield Work(
            f"sample_proba given the {given}, 1000 draws × {n:,} rows × 20 × 3",
            lambda given=given: nb.draws.sample_proba(clf, X, 1000, given=given), loop,
            "a loop over draws with numpy, draws not counted", goal, X,
        )  # fmt: skip


def imports() -> Iterator[Work]:
    """Whole processes."""
    # Compiled once and kept, whatever the shell says, as an installed package is.
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def process(code: str) -> None:
        subprocess.run([sys.executable, "-c", code], check=True, env=kept)

    yield Work(
        "import bayesnb", lambda: process("import bayesnb"), lambda: process("import sklearn.base"),
        "import sklearn.base", 1 / 1.1,
    )  # fmt: skip


def beside_nuts() -> dict[str, Any]:
    """Effective draws a second, conjugate ones and PyMC's NUTS: 3 classes, 9 mixed columns, 1000 rows."""
    from benchmarks import sampling

    nuts = sampling.measure(1000, "sufficient", 1000)["effective draws a second"]
    posterior = BayesianNB().fit(*sampling.table(1000, np.random.default_rng(0))).posterior_
    rng = np.random.default_rng(0)
    posterior.draw(rng, (10_000,))
    one = median(seconds(lambda: posterior.draw(rng, (10_000,))) for _ in range(5))
    return {
        "work": "conjugate draws, effective ones a second", "beside": f"NUTS, {nuts:g} a second, compiling not counted",
        "ratio": 10_000 / one / nuts, "goal": 1000,
    }  # fmt: skip


def works(quick: bool) -> Iterator[Work]:
    """All lines, their data made when their turn comes."""
    rng = np.random.default_rng(0)
    n = 100_000 if quick else 1_000_000
    yield from gaussian(n, rng)
    yield from shapes(n, rng)
    yield from categorical(n, rng)
    yield from bernoulli(n, 20, rng)
    yield from bernoulli(n // 10, 1000, rng)
    yield from multinomial(n // 10, 50_000, rng)
    yield from frame(n, rng)
    yield from draws(1_000 if quick else 10_000, rng)
    yield from imports()


def seconds(work: Callable[[], Any], rest: float = REST) -> float:
    """One run, when the threads of what ran before it are asleep."""
    time.sleep(rest)
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def measure(work: Work, repeats: int) -> dict[str, Any]:
    """Medians of runs that take turns, after one of each."""
    work.ours(), work.peer()
    extra = peak(work.ours)
    runs = [(seconds(work.ours), seconds(work.peer)) for _ in range(repeats)]
    ours, peer = (median(times) for times in zip(*runs, strict=True))
    found = {
        "work": work.name, "beside": work.beside, "ours, s": ours, "peer, s": peer, "ratio": peer / ours,
        "goal": work.goal,
    }  # fmt: skip
    if work.input is not None:
        if not isinstance(work.input, pd.DataFrame) and work.bytes > 2**23:
            found["reads"] = ours / median(seconds(work.read, 0.0) for _ in range(repeats))
        found["input, MiB"] = work.bytes / 2**20
        found["extra, MiB"] = extra
    return found


def peak(work: Callable[[], Any]) -> float | None:
    """The peak of one run's memory beyond what the process holds before it, MiB."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return None
    before = _resident("VmRSS")
    work()
    resident = (_resident("VmHWM") - before) / 1024
    # Memory that the allocator kept from the run before is not counted there, and Arrow's not here.
    tracemalloc.start()
    work()
    traced = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    return max(resident, traced)


def _resident(what: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(what)).split()[1])


def main(args: list[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--only", default="", metavar="WORD", help="lines whose name has it")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--beside", type=Path, metavar="DIR", help="a checkout to compare this one with")
    parser.add_argument("--turns", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args(args)
    if chosen.beside:
        compare("peers", [*["--quick"] * chosen.quick, "--only", chosen.only], chosen.beside, chosen.repeats)
        return
    asked = (work for work in works(chosen.quick) if chosen.only.lower() in work.name.lower())
    if chosen.turns:
        take_turns((work.name, work.ours) for work in asked)
        return
    found = []
    for work in asked:
        found.append(measure(work, chosen.repeats))
        sys.stderr.write(f"{found[-1]['work']}: {found[-1]['ratio']:.2f}\n")
    if not chosen.quick and chosen.only.lower() in "conjugate draws beside nuts":
        found.append(beside_nuts())
    table = pd.DataFrame(found)
    sys.stdout.write(table.to_string(index=False, float_format=lambda x: f"{x:.4g}", na_rep="") + "\n")
    if chosen.json:
        about = {
            "date": datetime.now(UTC).isoformat(),
            "machine": f"{platform.machine()}, {os.cpu_count()} processors",
            "python": platform.python_version(),
        }
        Path(chosen.json).write_text(json.dumps(about | {"results": found}, indent=2))


if __name__ == "__main__":
    main()
