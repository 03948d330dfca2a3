"""Simulation-based calibration of all samplers (Talts et al. 2018), and Geweke's joint test (2004).

    uv run --group dev python -m benchmarks.sbc --simulations 1000 --picture sbc.png
    uv run --group dev python -m benchmarks.sbc --sampler nuts --simulations 50

The calibration is ``bayesnb.sampling.agreement.calibrate``, of a model with every conjugate family. Geweke's test
alternates rows given parameters and parameters given rows; if both are right, the parameters keep the distribution of
the prior.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from bayesnb import (
    BayesianNB,
    Bernoulli,
    Beta,
    Categorical,
    Dirichlet,
    Gamma,
    Gaussian,
    Multinomial,
    Normal,
    NormalGamma,
    Poisson,
)
from bayesnb.families import Exponential, GaussianKnownVariance
from bayesnb.sampling import agreement, layout
from bayesnb.sampling.calibration import Simulator

WORDS = ["ham", "spam", "eggs"]


def model() -> BayesianNB:
    """A model with every conjugate family and informed priors, fitted to two rows for its columns and levels."""
    levels = Dirichlet({"low": 1.0, "middle": 2.0, "high": 0.7})
    features = {
        "yes": Bernoulli(Beta(2.0, 1.5)),
        "level": Categorical(levels),
        "real": Gaussian(NormalGamma(m=1.0, kappa=0.5, a=3.0, b=2.0)),
        "known": GaussianKnownVariance(Normal(-1.0, 2.0), variance=1.5),
        "events": Poisson(Gamma(2.0, 1.5)),
        "wait": Exponential(Gamma(2.5, 1.0)),
        "words": (Multinomial(Dirichlet([0.8, 1.0, 1.5])), WORDS),
    }
    table = {"yes": [0, 1], "level": ["low", "high"], "real": [0.0, 1.0], "known": [0.0, 1.0], "events": [1, 2]}
    table |= {"wait": [0.5, 2.0]} | {word: [4, 3] for word in WORDS}
    clf = BayesianNB(features, class_prior=Dirichlet([2.0, 3.0]), random_state=0)
    return clf.fit(pd.DataFrame(table), ["a", "b"])


def geweke(steps: int, n_rows: int = 5, seed: int = 0) -> pd.Series:
    """z of each parameter's mean between the prior and a chain of rows | parameters, parameters | rows."""
    rng, held = np.random.default_rng(seed), model().classifier_
    simulator = Simulator.of(held.posterior, held.schema)
    blocks = layout.blocks(held.posterior)
    marginal = layout.variables(simulator.before.draw(rng, (steps,)), blocks)
    theta, chain = simulator.before.draw(rng), []
    for _ in range(steps):
        theta = simulator.given(*simulator.rows(theta, n_rows, rng)).draw(rng)
        chain.append(layout.variables(theta, blocks))
    z = {}
    from arviz_stats.base import array_stats

    for name, cells in layout.cell_names(held.posterior.labels, blocks).items():
        walked, direct = np.stack([one[name] for one in chain]), marginal[name]
        error = array_stats.mcse(
            np.moveaxis(walked[None], 1, -1)[..., None, :], chain_axis=-2, draw_axis=-1, method="mean"
        )
        gap = walked.mean(axis=0) - direct.mean(axis=0)
        scale = np.sqrt(error[0] ** 2 + direct.var(axis=0) / steps)
        z |= dict(zip(cells, (gap / scale).ravel(), strict=True))
    return pd.Series(z)


def main(args: list[str] | None = None) -> None:
    """Print the tests of uniformity, and draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sampler", choices=["exact", "nuts", "gibbs"], default="exact")
    parser.add_argument("--simulations", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=12)
    parser.add_argument("--picture")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args(args)
    found = agreement.calibrate(model(), chosen.rows, chosen.simulations, chosen.sampler, random_seed=chosen.seed)
    sys.stdout.write(f"{found}\n{found.to_frame().head(5).round(4)}\n")
    if chosen.sampler == "exact":
        z = geweke(5000, seed=chosen.seed)
        sys.stdout.write(f"Geweke's joint test, 5000 steps: largest |z| {z.abs().max():.2f} of {len(z)}\n")
    if chosen.picture:
        import matplotlib as mpl

        mpl.use("Agg")
        found.plot().savefig(chosen.picture, dpi=110)
        sys.stdout.write(f"drawn: {Path(chosen.picture)}\n")


if __name__ == "__main__":
    main()
