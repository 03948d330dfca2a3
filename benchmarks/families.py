"""How long every family takes beside Gaussian, and beside the line of numpy or scipy that a user would write instead.

    uv run --group dev python -m benchmarks.families [--rows N] [--families WORD ...] [--budget SECONDS]
    uv run --group dev python -m benchmarks.families --beside DIR --families ", fit" ", predict" ", loo"
    uv run --group dev python -m benchmarks.families --beside DIR --families ", interval" --rows 2000

The latter two print ratios to the checkout in DIR, whose lines are named as "Poisson, fit".

The tables have 20 columns and 3 classes; intervals are asked of a tenth of the rows. A cell holds the median seconds of
some runs, after one that warms up. "× G" is that time over Gaussian's of the same verb: 3 is three times as slow.
"× line" is the time of ``predict_proba`` over that of the line, which gives the log predictive of the rows in each
class and nothing else: no class prior, no missing cells, no normalisation. Its parameters are made up.

A cell that would take longer than the budget is not run. It then holds an estimate, which begins with ≈: the straight
line through the times of a 200th and of a 50th of its rows.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse, stats
from scipy.special import gammaln

import bayesnb as nb
import bayesnb.kernels.compiled  # Loaded before the first line, which would pay for all others.
from benchmarks.beside import compare, take_turns
from benchmarks.peers import seconds

CLASSES = 3
VERBS = "fit", "predict", "loo", "interval"


def cases(n: int) -> Iterator[tuple[str, Any, Any, np.ndarray, Callable[[Any, int], Any]]]:
    """Name, family, rows and labels, Gaussian first; and the line, which takes rows and the number of a class."""
    rng = np.random.default_rng(0)
    y, shape, each = rng.integers(0, CLASSES, n), (n, 20), np.arange(20)
    a, b, m, v = rng.uniform(1, 5, (4, CLASSES, 20))
    probabilities = rng.dirichlet(np.ones(9), (CLASSES, 20))
    table, p, q = np.log(probabilities), np.log(probabilities[..., 0]), np.log1p(-probabilities[..., 0])
    real, u, cuts = rng.normal(y[:, None], 1.0, shape), rng.random(shape), np.linspace(-2, 4, 8)
    counts, waits = rng.poisson(1.0 + y[:, None], shape), rng.gamma(2.0, 1.0 + y[:, None], shape)
    levels, words = np.minimum(counts, 8), sparse.csr_array(counts * (u < 0.3))
    exposed = pd.DataFrame(counts).add_prefix("x").assign(hours=rng.uniform(0.5, 3.0, n))
    rates = {f"x{j}": nb.Poisson(exposure="hours") for j in each}
    scatter = np.cov(real, rowvar=False)

    def student(x: Any, k: int) -> Any:
        return stats.t.logpdf(x, a[k], m[k], v[k])

    def cell(x: Any, k: int) -> Any:
        return table[k][each, np.searchsorted(cuts, x)]

    def level(x: Any, k: int) -> Any:
        return table[k][each, x].sum(1)

    def events(x: Any, k: int) -> Any:
        share = b[k] / (b[k] + x["hours"].to_numpy()[:, None])
        return stats.nbinom.logpmf(x.drop(columns="hours").to_numpy(), a[k], share).sum(1)

    def bag(x: Any, k: int) -> Any:
        own, total, whole = a[k][x.indices], x.sum(axis=1), a[k].sum()
        each_word = gammaln(own + x.data) - gammaln(own) - gammaln(x.data + 1)
        added = sparse.csr_array((each_word, x.indices, x.indptr), x.shape).sum(axis=1)
        return added + gammaln(total + 1) + gammaln(whole) - gammaln(whole + total)

    def hurdle(x: Any, k: int) -> Any:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(x == 0, p[k], q[k] + student(np.log(x), k) - np.log(x)).sum(1)

    for name, family, X, line in (
        ("Gaussian", nb.Gaussian(), real, lambda x, k: student(x, k).sum(1)),
        ("Bernoulli", nb.Bernoulli(), (u < 0.2 + 0.2 * y[:, None]) * 1.0, lambda x, k: x @ p[k] + (1 - x) @ q[k]),
        ("Categorical", nb.Categorical(), levels, level),
        ("Poisson", nb.Poisson(), counts, lambda x, k: stats.nbinom.logpmf(x, a[k], b[k] / (b[k] + 1)).sum(1)),
        ("Poisson with exposure", rates, exposed, events),
        ("NegativeBinomial", nb.families.NegativeBinomial(r=3.0), counts,
         lambda x, k: stats.betanbinom.logpmf(x, 3.0, a[k], b[k]).sum(1)),
        ("Exponential", nb.families.Exponential(), waits, lambda x, k: stats.lomax.logpdf(x, a[k], scale=b[k]).sum(1)),
        ("GammaKnownShape", nb.families.GammaKnownShape(shape=2.0), waits,
         lambda x, k: stats.betaprime.logpdf(x, 2.0, a[k], scale=b[k]).sum(1)),
        ("GaussianKnownVariance", nb.families.GaussianKnownVariance(), real,
         lambda x, k: stats.norm.logpdf(x, m[k], v[k]).sum(1)),
        ("LogNormal", nb.families.LogNormal(), waits, lambda x, k: (student(np.log(x), k) - np.log(x)).sum(1)),
        ("Ordinal", nb.families.Ordinal(), levels, level),
        ("PolyaTree", nb.families.PolyaTree(), real, lambda x, k: cell(x, k).sum(1)),
        ("Multinomial, dense", nb.Multinomial(), counts,
         lambda x, k: stats.dirichlet_multinomial.logpmf(x, a[k], x.sum(1))),
        ("Multinomial, sparse", nb.Multinomial(), words, bag),
        ("Hurdle", nb.families.Hurdle(), waits * (u < 0.7), hurdle),
        ("Mixture", nb.families.Mixture(), real, lambda x, k: np.logaddexp(student(x, k), cell(x, k)).sum(1)),
        ("MultivariateGaussian", nb.families.MultivariateGaussian(), real,
         lambda x, k: stats.multivariate_t.logpdf(x, m[k], scatter, 30.0)),
        ("Binned", nb.Binned(), real, lambda x, k: cell(x, k).sum(1)),
        ("Missing", nb.Missing(nb.Gaussian()), np.where(u < 0.1, np.nan, real),
         lambda x, k: np.where(np.isnan(x), p[k], q[k] + student(x, k)).sum(1)),
    ):  # fmt: skip
        yield name, family, X, y, line


def works(family: Any, X: Any, y: np.ndarray, line: Callable[[Any, int], Any]) -> Iterator[Callable[[], Any]]:
    """Fit, predict, leave-one-out and intervals, and the line."""
    clf, some = nb.BayesianNB(family, random_state=0).fit(X, y), X[: max(1, len(y) // 10)]
    yield lambda: nb.BayesianNB(family).fit(X, y)
    yield lambda: clf.predict_proba(X)
    yield lambda: clf.loo(X, y)
    yield lambda: clf.predict_interval(some)
    yield lambda: np.stack([line(X, k) for k in range(CLASSES)], axis=1)


def measure(family: Any, X: Any, y: np.ndarray, line: Any, budget: float, repeats: int) -> Iterator[tuple[str, float]]:
    """What is put before the seconds of each work, and the seconds."""
    sizes = [len(y) // part for part in (200, 50, 1)]
    for few, some, all_rows in zip(*(works(family, X[:n], y[:n], line) for n in sizes), strict=True):
        few()
        little, more = seconds(few, 0.0), seconds(some, 0.0)
        if more < budget / 4:
            more = min(more, seconds(some, 0.0))  # What the first run compiles or imports is no part of the estimate.
        estimate = more + max(0.0, more - little) * (sizes[2] - sizes[1]) / (sizes[1] - sizes[0])
        if estimate > budget:
            yield "≈ ", estimate
        else:
            all_rows()
            yield "", median(seconds(all_rows) for _ in range(repeats))


def main(args: list[str] | None = None) -> None:
    """Print the table in Markdown, line by line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--families", nargs="*", metavar="WORD", default=[""], help="lines whose name has one of them")
    parser.add_argument("--budget", type=float, default=60.0, metavar="SECONDS", help="what one run may take")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--beside", type=Path, metavar="DIR", help="a checkout to compare this one with")
    parser.add_argument("--turns", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args(args)
    if chosen.rows < 1_000:
        parser.error(f"--rows is {chosen.rows}, too few to estimate from a 200th of them; give 1000 or more")

    def asked(name: str) -> bool:
        return any(word.lower() in name.lower() for word in chosen.families)

    if chosen.beside:
        own = ["--rows", str(chosen.rows), "--families", *chosen.families]
        compare("families", own, chosen.beside, chosen.repeats)
        return
    if chosen.turns:
        each = (
            (f"{name}, {verb}", work)
            for name, *case in cases(chosen.rows)
            for verb, work in zip(VERBS, works(*case), strict=False)
        )
        take_turns((line, work) for line, work in each if asked(line))
        return
    heads = "family | fit, s | × G | predict, s | × G | × line | loo, s | × G | interval, s | × G"
    sys.stdout.write(f"| {heads} |\n{'|---' * 10}|\n")
    gaussian: list[float] = []
    for name, *case in cases(chosen.rows):
        if gaussian and not asked(name):
            continue
        *verbs, (_, line) = measure(*case, chosen.budget, chosen.repeats)
        gaussian = gaussian or [own for _, own in verbs]
        cells = [f"{before}{own:.3g} | {own / unit:.3g}" for (before, own), unit in zip(verbs, gaussian, strict=True)]
        cells[1] += f" | {verbs[1][1] / line:.3g}"
        sys.stdout.write(f"| {' | '.join([name, *cells])} |\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
