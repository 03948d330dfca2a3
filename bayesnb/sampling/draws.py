"""Draw parameters independently, and read parameters from a ``DataTree``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from bayesnb.chains import Convergence
from bayesnb.model import DrawnPosterior, Parameters, Posterior
from bayesnb.priors import Array, Dirichlet
from bayesnb.sampling import layout
from bayesnb.wording import meant

if TYPE_CHECKING:
    from xarray import Dataset, DataTree


PARAMETERS = ("theta_", "mu_", "tau_", "precision_", "rate_", "share_")
"""Beginnings of the names of variables with conjugate priors."""


def parameters(tree: DataTree, posterior: Posterior, group: Literal["posterior", "prior"] = "posterior") -> Parameters:
    """The parameters drawn in a group of a ``DataTree``, (chain, draw, ...)."""
    return layout.from_variables(variables(tree, posterior, group), layout.blocks(posterior), posterior)


def variables(tree: DataTree, posterior: Posterior, group: str = "posterior") -> dict[str, Array]:
    """The draws of each variable (chain, draw, ...), with classes, columns and levels in the order of the model."""
    if group not in tree.children:
        raise ValueError(f"Expected a tree with a group {group!r}; got one with {sorted(tree.children)}")
    blocks, drawn = layout.blocks(posterior), tree[group].dataset
    wanted = layout.dims(blocks)
    missing = [name for name in wanted if name not in drawn]
    if missing:
        others = [name for name in drawn.data_vars if name not in wanted]
        hint = meant(missing[0], others)
        raise ValueError(f"group {group!r} was drawn from another model: it has no variable {missing[0]!r}{hint}")
    # A variable with the name of a parameter belongs to a column that this model lacks; others are user-defined.
    for name, variable in drawn.data_vars.items():
        if name not in wanted and "class_label" in variable.dims and str(name).startswith(PARAMETERS):
            raise ValueError(f"group {group!r} was drawn from another model: this one has no variable {name!r}")
    expected = layout.coords(posterior.labels, blocks)
    for name, axes in wanted.items():
        lengths = {"chain": None, "draw": None} | {axis: len(expected[axis]) for axis in axes}
        given = dict(drawn[name].sizes)
        if set(given) != set(lengths) or any(n not in (None, given[axis]) for axis, n in lengths.items()):
            shape = ", ".join(axis if n is None else f"{axis}: {n}" for axis, n in lengths.items())
            got = ", ".join(f"{axis}: {n}" for axis, n in given.items())
            raise ValueError(f"Expected variable {name!r} to have the dimensions ({shape}); got ({got})")
    drawn = drawn[list(wanted)]
    for name, names in expected.items():
        # Without a coordinate, positions are those of the model.
        given = [str(value) for value in drawn[name].to_numpy()] if name in drawn.coords else list(map(str, names))
        if sorted(given) != sorted(map(str, names)):
            raise ValueError(
                f"group {group!r} was drawn from another model: Expected {name} to be {list(names)}; got {given}"
            )
        if name in drawn.dims:
            drawn = drawn.isel({name: [given.index(str(value)) for value in names]})
    values = {name: drawn[name].transpose("chain", "draw", *axes).to_numpy() for name, axes in wanted.items()}
    for name, value in values.items():
        if not value.size or not np.isfinite(value).all():
            raise ValueError(f"Expected finite draws of variable {name!r}; some are missing or infinite")
    return values


def posterior_of(tree: DataTree, fitted: Posterior) -> DrawnPosterior:
    """Convert the draws in ``tree`` to a posterior."""
    names = layout.dims(layout.blocks(fitted))
    return DrawnPosterior(fitted, parameters(tree, fitted), Convergence.of(tree, names))


def exact(
    posterior: Posterior | DrawnPosterior, rng: np.random.Generator, shape: tuple[int, int]
) -> dict[str, dict[str, Array]]:
    """Independent draws from posterior and prior, {group: {variable: array (chain, draw, ...)}}."""
    # There is no group "prior" if a prior is improper, or if the posterior is a ``DrawnPosterior``. The parameters of a
    # feature sampled by MCMC are taken from its chains.
    blocks = layout.blocks(posterior.fitted)
    if isinstance(posterior, DrawnPosterior):
        if any(n > held for n, held in zip(shape, posterior.drawn.log_pi.shape, strict=False)):
            chains, draws, _ = posterior.drawn.log_pi.shape
            raise ValueError(f"Expected at most {chains} chains of {draws} draws, which the model has; got {shape}")
        first = posterior.drawn.at((slice(shape[0]), slice(shape[1])))
        return {"posterior": layout.variables(first, blocks)}
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
    """The log prior density of every variable at the drawn parameters, (chain, draw, class[, feature])."""
    # As in PyMC, the density of (μ, τ) is split into p(τ) and p(μ | τ).
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
    from xarray import Dataset

    axes = {"chain": np.arange(chains), "draw": np.arange(n_draws)}
    return Dataset({"diverging": (("chain", "draw"), np.zeros((chains, n_draws), bool))}, axes)


__all__ = ["exact", "log_prior", "parameters", "posterior_of"]


def __dir__() -> list[str]:
    return __all__
