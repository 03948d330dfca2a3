"""How well the class shares of new rows without labels are known: start with :func:`interval`."""

from __future__ import annotations

import numpy as np

from bayesnb.model import probabilities
from bayesnb.priors import Array, Dirichlet

CHAINS = 8
"""Chains of the Gibbs sampler."""

TUNE = 100
"""Steps of each chain before its first draw."""


def interval(
    log_likelihood: Array, quantiles: tuple[float, float], draws: int, rng: np.random.Generator
) -> tuple[Array, float]:
    """These quantiles of each class share, (2, class), and their largest Monte Carlo standard error.

    The parameters are those of :func:`draw`.
    """
    from arviz_stats.base import array_stats

    drawn = draw(log_likelihood, draws, rng)
    by_class = np.moveaxis(drawn, -1, 0)
    errors = [array_stats.mcse(by_class, chain_axis=1, draw_axis=2, method="quantile", prob=q) for q in quantiles]
    return np.quantile(drawn, quantiles, axis=(0, 1)), float(np.max(errors))


def draw(log_likelihood: Array, draws: int, rng: np.random.Generator) -> Array:
    """Posterior draws of the class shares π of new rows under Dirichlet(1), (chain, draw, class).

    The posterior is proportional to Π_i Σ_c π_c p(x_i | c); p(x | c) is held as it was learned. Its mode is the
    estimate of ``decisions.estimate_class_prior``.

    Parameters
    ----------
    log_likelihood : array (row, class)
        log p(x | c, D), as ``decisions.estimate_class_prior`` takes it, which validates it.
    draws : int
        How many, of all chains together; rounded up to a whole number for each chain.
    rng : Generator

    Notes
    -----
    A Gibbs sampler of two blocks (Diebolt and Robert 1994): the labels of all rows given the shares, and the shares
    given how many rows each class has, which is Dirichlet(1 + counts). Chains start at draws of the prior. Draws never
    leave the simplex, so they need no care near shares of 0, where a normal approximation at the mode would fail.
    """
    # Under equal shares, p(c | x) is the likelihood of the class up to a constant of the row.
    likelihood = probabilities(np.asarray(log_likelihood, float))
    if not isinstance(draws, int | np.integer) or isinstance(draws, bool) or draws < 100:
        raise ValueError(f"Expected draws to be a whole number, at least 100 for an interval; got {draws!r}")
    n_classes, each = likelihood.shape[1], -(-draws // CHAINS)
    kept, counts = np.zeros((CHAINS, each, n_classes)), np.zeros((CHAINS, n_classes))
    for step in range(-TUNE, each):
        shares = Dirichlet(1.0 + counts).draw(rng)
        if step >= 0:
            kept[:, step] = shares
        below = np.cumsum(likelihood * shares[:, None], axis=2)
        # A uniform number below the total falls on a class with its probability.
        drawn = (rng.random(below.shape[:2])[..., None] * below[..., -1:] > below[..., :-1]).sum(axis=2)
        counts = (drawn[..., None] == np.arange(n_classes)).sum(axis=1)
    return kept
