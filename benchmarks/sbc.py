"""Simulation-based calibration of both samplers (Talts et al. 2018), and Geweke's joint test (2004).

    uv run python -m benchmarks.sbc --simulations 1000 --picture sbc.png
    uv run python -m benchmarks.sbc --sampler nuts --simulations 50

Parameters are drawn from the prior, rows from the model, and the posterior from the rows: the rank of each true
parameter among its posterior draws is then uniform, if and only if nothing is wrong on the way.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from bayesnb.families.bernoulli import Bernoulli
from bayesnb.families.categorical import Categorical, Coded
from bayesnb.families.gaussian import Gaussian, GaussianKnownVariance
from bayesnb.families.membership import Labels
from bayesnb.families.multinomial import Bag, Multinomial
from bayesnb.families.poisson import Poisson
from bayesnb.model import Data, NaiveBayes, Parameters, Posterior
from bayesnb.priors import Array, Beta, Dirichlet, Gamma, Normal, NormalGamma
from bayesnb.sampling import layout, nuts

LABELS = ("a", "b")
LEVELS = (("low", "middle", "high"),)
WORDS = ("ham", "spam", "eggs")

MODEL = NaiveBayes(
    {
        "yes": Bernoulli(Beta(2.0, 1.5)),
        "level": Categorical(Dirichlet([1.0, 2.0, 0.7])),
        "real": Gaussian(NormalGamma(m=1.0, kappa=0.5, a=3.0, b=2.0)),
        "known": GaussianKnownVariance(Normal(-1.0, 2.0), variance=1.5),
        "events": Poisson(Gamma(2.0, 1.5)),
        "words": Multinomial(Dirichlet([0.8, 1.0, 1.5])),
    },
    Dirichlet([2.0, 3.0]),
)


def believed(model: NaiveBayes, data: Data, y: Array, labels: tuple[str, ...] = LABELS) -> Posterior:
    """The posterior of rows, or with none of them the prior."""
    return model.posterior(model.statistics(data, Labels.of(y, len(labels)), labels))


def rows(before: Posterior, theta: Parameters, n: int, rng: np.random.Generator) -> tuple[Data, Array]:
    """New rows from one point of the parameters, encoded; ``before`` is what is believed before any row."""
    y = rng.choice(len(theta.log_pi), size=n, p=np.exp(theta.log_pi))
    own = {name: {key: value[y] for key, value in one.items()} for name, one in theta.features.items()}
    some, model = before.statistics.features, before.model
    # A bag of words has length 1 where nothing was seen: here each row gets ten words.
    length = {"words": some["words"] + _length(some["words"])}
    x = {name: family.sample(own[name], rng, length.get(name, some[name])) for name, family in model.features.items()}
    return encoded(x), y


def _length(s):  # noqa: ANN001, ANN202
    return type(s)(s.counts + 10 / s.counts.size, s.rows + 1 / len(s.rows), s.log_peak, s.words)


def encoded(x: dict[str, Array]) -> Data:
    """Sampled columns as the families read them."""
    return {**x, "level": Coded(x["level"], LEVELS), "words": Bag(x["words"], WORDS)}


def nothing(model: NaiveBayes, labels: tuple[str, ...] = LABELS) -> Posterior:
    """What is believed before any row."""
    empty = {name: np.zeros((0, 1)) for name in model.features}
    empty |= {"level": np.zeros((0, 1), int), "words": np.zeros((0, len(WORDS)))}
    return believed(model, encoded(empty), np.zeros(0, int), labels)


def ranks(sampler: str, simulations: int, n_rows: int = 12, size: int = 99, seed: int = 0) -> pd.DataFrame:
    """Ranks of the true parameters among posterior draws, (simulation, parameter), each from 0 to ``size``."""
    rng = np.random.default_rng(seed)
    prior, found = nothing(MODEL), []
    for _ in range(simulations):
        theta = prior.draw(rng)
        data, y = rows(prior, theta, n_rows, rng)
        posterior = believed(MODEL, data, y)
        blocks = layout.blocks(MODEL, posterior.statistics)
        truth = layout.variables(theta, blocks)
        if sampler == "exact":
            drawn = layout.variables(posterior.draw(rng, (size,)), blocks)
        else:
            # Every tenth of the draws, so that they are nearly independent, as ranks want.
            tree = nuts.sample(posterior, 10 * size // 3, 3, int(rng.integers(2**31)), tune=500)
            held = tree["posterior"].dataset
            drawn = {name: held[name].to_numpy()[:, 9::10].reshape(-1, *held[name].shape[2:])[:size] for name in truth}
        found.append({key: rank for name in truth for key, rank in _ranks(name, truth[name], drawn[name])})
    return pd.DataFrame(found)


def _ranks(name: str, truth: Array, drawn: Array) -> list[tuple[str, int]]:
    below = (drawn < truth).sum(axis=0)
    return [(f"{name}[{', '.join(map(str, at))}]", int(below[at])) for at in np.ndindex(truth.shape)]


def uniformity(table: pd.DataFrame, size: int = 99, bins: int = 10) -> pd.Series:
    """p-value of a χ² test of uniform ranks, by parameter."""
    edges = np.linspace(0, size + 1, bins + 1)
    return table.apply(lambda column: stats.chisquare(np.histogram(column, edges)[0]).pvalue)


def geweke(steps: int, n_rows: int = 5, seed: int = 0) -> pd.Series:
    """z of each parameter's mean between the prior and a chain of rows | parameters, parameters | rows."""
    rng = np.random.default_rng(seed)
    prior = nothing(MODEL)
    blocks = layout.blocks(MODEL, prior.statistics)
    marginal = layout.variables(prior.draw(rng, (steps,)), blocks)
    theta, chain = prior.draw(rng), []
    for _ in range(steps):
        data, y = rows(prior, theta, n_rows, rng)
        theta = believed(MODEL, data, y).draw(rng)
        chain.append(layout.variables(theta, blocks))
    z = {}
    from arviz_stats.base import array_stats

    for name, direct in marginal.items():
        walked = np.stack([one[name] for one in chain])
        error = array_stats.mcse(
            np.moveaxis(walked[None], 1, -1)[..., None, :], chain_axis=-2, draw_axis=-1, method="mean"
        )
        gap = walked.mean(axis=0) - direct.mean(axis=0)
        scale = np.sqrt(error[0] ** 2 + direct.var(axis=0) / steps)
        z |= {f"{name}[{', '.join(map(str, at))}]": gap[at] / scale[at] for at in np.ndindex(gap.shape)}
    return pd.Series(z)


def picture(table: pd.DataFrame, path: str, size: int = 99) -> None:
    """Empirical distribution of the ranks less the uniform one, with its 99% band, one line a parameter."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    grid = np.arange(size + 1)
    share = (grid + 1) / (size + 1)
    band = 2.576 * np.sqrt(share * (1 - share) / len(table))
    axes.fill_between(grid, -band, band, color="0.85", label="99% of uniform ranks, pointwise")
    for name in table:
        axes.plot(
            grid, (table[name].to_numpy()[:, None] <= grid).mean(axis=0) - share, color="#0072B2", lw=0.8, alpha=0.7
        )
    axes.axhline(0, color="0.4", lw=0.8)
    axes.set(
        xlabel="rank of the true parameter among 99 posterior draws",
        ylabel="share of simulations − uniform",
        title=f"{len(table)} simulations, {table.shape[1]} parameters",
    )
    axes.legend(frameon=False)
    figure.savefig(path, dpi=110)


def main(args: list[str] | None = None) -> None:
    """Print the tests of uniformity, and draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sampler", choices=["exact", "nuts"], default="exact")
    parser.add_argument("--simulations", type=int, default=1000)
    parser.add_argument("--picture")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args(args)
    table = ranks(chosen.sampler, chosen.simulations, seed=chosen.seed)
    p = uniformity(table).sort_values()
    sys.stdout.write(f"{chosen.sampler}: {len(table)} simulations, {len(p)} parameters\n")
    sys.stdout.write(f"smallest p of uniform ranks {p.iloc[0]:.4f} ({p.index[0]}), expected about {1 / len(p):.3f}\n")
    if chosen.sampler == "exact":
        z = geweke(5000, seed=chosen.seed)
        sys.stdout.write(f"Geweke's joint test, 5000 steps: largest |z| {z.abs().max():.2f} of {len(z)}\n")
    if chosen.picture:
        picture(table, chosen.picture)
        sys.stdout.write(f"drawn: {Path(chosen.picture)}\n")


if __name__ == "__main__":
    main()
