"""How fast two Gibbs samplers forget: one draws all labels at once, the other one label after the other.

    uv run --group dev python -m benchmarks.gibbs

Twelve tables have six labelled rows and eight without a label. The evidences of the 256 possible labellings of these
eight are known, and from them the collapsed sampler, which integrates the parameters out, takes its steps exactly. The
blocked sampler is the package's. Printed is the autocorrelation time of the share of rows in the second class: so many
steps are worth one independent draw. A collapsed sweep updates statistics once for each row, a blocked step once for
all rows.
"""

from __future__ import annotations

import sys
from itertools import product

import numpy as np
from arviz_stats.base import array_stats

from bayesnb.families.gaussian import Gaussian
from bayesnb.model import Data, NaiveBayes, Posterior
from bayesnb.priors import Array, NormalGamma
from bayesnb.sampling import gibbs
from bayesnb.statistics.statistic import Labels

KNOWN, FREE, CHAINS, STEPS = 6, 8, 8, 1000


def table(apart: float, columns: int, seed: int) -> tuple[Posterior, Data]:
    """The posterior of the labelled rows, and the rows without a label; class means are ``apart`` in each column."""
    rng = np.random.default_rng(seed)
    y = np.append(np.arange(KNOWN) % 2, rng.integers(0, 2, FREE))
    x = rng.normal(apart * y[:, None], 1.0, (KNOWN + FREE, columns))
    model = NaiveBayes({"x": Gaussian(NormalGamma(apart / 2, 1.0, 2.0, 2.0))})
    labelled = model.statistics({"x": x[:KNOWN]}, Labels.of(y[:KNOWN]), ("a", "b"))
    return model.posterior(labelled), {"x": x[KNOWN:]}


def evidences(alone: Posterior, data: Data) -> Array:
    """log p(rows, labels) of each labelling of the free rows, an axis of two labels for each row."""
    found = [
        alone.given(alone.statistics + alone.model.statistics(data, Labels.of(codes, 2), alone.labels))
        .log_evidence()
        .joint
        for codes in product(range(2), repeat=FREE)
    ]
    return np.reshape(found, (2,) * FREE)


def collapsed(log_p: Array, rng: np.random.Generator) -> Array:
    """Labels (chain, step, row): sweeps in which each row's label is drawn given all other labels."""
    z = rng.integers(0, 2, (CHAINS, FREE))
    kept = np.zeros((CHAINS, STEPS, FREE))
    for step in range(-100, STEPS):
        for row in range(FREE):
            both = np.repeat(z[None], 2, axis=0)
            both[:, :, row] = np.arange(2)[:, None]
            log_odds = np.subtract(*log_p[tuple(np.moveaxis(both[::-1], -1, 0))])
            z[:, row] = rng.logistic(size=CHAINS) < log_odds
        if step >= 0:
            kept[:, step] = z
    return kept


def autocorrelation_time(labels: Array) -> float:
    """Steps for each effective draw of the share of rows in class 1, labels (chain, step, row)."""
    return labels[..., 0].size / float(array_stats.ess(labels.mean(-1), chain_axis=0, draw_axis=1))


def main() -> None:
    """Print the autocorrelation times of both samplers, by the distance of the classes and the number of columns."""
    rng = np.random.default_rng(0)
    sys.stdout.write("apart  columns  blocked  collapsed\n")
    for apart, columns in product((0.5, 1.0, 2.0, 4.0), (1, 2, 5)):
        alone, data = table(apart, columns, 1)
        blocked = gibbs.sample(alone, data, FREE, STEPS, CHAINS, rng, 100).labels.astype(float)
        times = autocorrelation_time(blocked), autocorrelation_time(collapsed(evidences(alone, data), rng))
        sys.stdout.write(f"{apart:5.1f}  {columns:7d}  {times[0]:7.1f}  {times[1]:9.1f}\n")


if __name__ == "__main__":
    main()
