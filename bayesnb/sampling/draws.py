"""Draw parameters exactly, and read parameters from a ``DataTree``.

All samplers use the variable names of the PyMC model (see ``layout``), and ``trees`` makes their tree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from bayesnb.model import Parameters, Posterior
from bayesnb.priors import Array, Dirichlet
from bayesnb.sampling import layout

if TYPE_CHECKING:
    from xarray import Dataset, DataTree


PARAMETERS = ("theta_", "mu_", "tau_", "precision_", "rate_", "share_")
"""Prefixes of the variable names of conjugate priors."""


def parameters(tree: DataTree, posterior: Posterior, group: Literal["posterior", "prior"] = "posterior") -> Parameters:
    """The draws of a tree as ``Parameters``, with the axes (chain, draw) first.

    Predictions accept them like exact draws.

    Parameters
    ----------
    tree : DataTree
        From ``sample_posterior``, or from ``pymc.sample`` of the same model.
    posterior : Posterior
        The fitted model, ``clf.posterior_``.
    group : {"posterior", "prior"}

    Raises
    ------
    ValueError
        If the tree comes from a model with other classes, columns or levels. Their order does not matter.
    """
    blocks = layout.blocks(posterior)
    drawn = tree[group].dataset
    wanted = layout.dims(blocks)
    missing = [name for name in wanted if name not in drawn]
    if missing:
        raise ValueError(f"group {group!r} was drawn from another model: it has no variable {missing[0]!r}")
    # A variable with the name of a parameter belongs to a column that this model lacks; users may add other variables.
    for name, variable in drawn.data_vars.items():
        if name not in wanted and "class_label" in variable.dims and str(name).startswith(PARAMETERS):
            raise ValueError(f"group {group!r} was drawn from another model: this one has no variable {name!r}")
    for name, expected in layout.coords(posterior.labels, blocks).items():
        given = [str(value) for value in drawn[name].to_numpy()]
        if sorted(given) != sorted(expected):
            raise ValueError(
                f"group {group!r} was drawn from another model: Expected {name} to be {list(expected)}; got {given}"
            )
        drawn = drawn.isel({name: [given.index(value) for value in expected]})
    values = {name: drawn[name].transpose("chain", "draw", *axes).to_numpy() for name, axes in wanted.items()}
    return layout.from_variables(values, blocks, posterior)


def exact(
    posterior: Posterior,
    rng: np.random.Generator,
    shape: tuple[int, int],
) -> dict[str, dict[str, Array]]:
    """Independent draws from prior and posterior, with the axes (chain, draw) first, by group and variable.

    If a prior is improper, there is no prior group. For a sampled feature, the posterior draws come from its chains: in
    their order if there are enough draws, otherwise resampled at random.
    """
    blocks = layout.blocks(posterior)
    drawn = posterior.draw(rng, shape)
    chains = {
        name: posterior.model.features[name].from_chains(posterior.features[name], shape) or drawn.features[name]
        for name in posterior.model.sampled
    }
    groups = {"posterior": layout.variables(replace(drawn, features={**drawn.features, **chains}), blocks)}
    before = posterior.before()
    if all(np.all(prior.proper()) for prior in [before.label, *before.features.values()]):
        conjugate = before.conjugate_part()
        groups["prior"] = layout.variables(conjugate.draw(rng, shape), layout.blocks(conjugate))
        for block in blocks:
            if not block.family.exact:
                found = block.family.draw_prior(block.gather(posterior.prior), rng, shape[0] * shape[1])
                groups["prior"] |= {block.variable(k): v.reshape(*shape, *v.shape[1:]) for k, v in found.items()}
    return groups


def log_prior(drawn: Mapping[str, Array], posterior: Posterior) -> dict[str, Array]:
    """The log prior density of every variable at its draws, (chain, draw, class[, feature]), as PyMC computes it.

    The density of (μ, τ) is split into the density of τ and the density of μ given τ. In a sampled feature, each
    density is conditional on the variables that its prior depends on. Known values, such as fixed class probabilities
    or a given ν of a Student-t, have no density.

    Raises
    ------
    ImproperError
        If a prior is improper.
    """
    found = {}
    if isinstance(posterior.label_prior, Dirichlet):
        found["pi"] = posterior.label_prior.log_prob(drawn["pi"])
    blocks = layout.blocks(posterior)
    drawn = layout.with_columns(drawn, blocks, lead=2)
    for block in blocks:
        prior = block.gather(posterior.prior)
        names = [block.variable(key) for key in block.keys]
        own = {key: drawn[name] for key, name in zip(block.keys, names, strict=True)}
        if not block.family.exact:
            found |= {block.variable(key): v for key, v in block.family.log_prior(prior, own).items()}
            continue
        theta = block.family.theta(own)
        # The prior of a single column has no column axis, so the density of its variables has none either.
        theta = {key: value.take(0, axis=3) for key, value in theta.items()} if block.apart else theta
        found |= dict(zip(names, prior.log_prob_of_each(theta), strict=True))
    return found


def no_divergences(chains: int, n_draws: int) -> Dataset:
    """Make the ``sample_stats`` of a sampler that cannot diverge."""
    from xarray import Dataset

    axes = {"chain": np.arange(chains), "draw": np.arange(n_draws)}
    return Dataset({"diverging": (("chain", "draw"), np.zeros((chains, n_draws), bool))}, axes)


__all__ = ["exact", "log_prior", "parameters"]


def __dir__() -> list[str]:
    """Names for tab completion."""
    return __all__
