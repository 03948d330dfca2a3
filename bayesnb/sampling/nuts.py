"""Sample the whole model with NUTS, with starting points and scales from the conjugate posterior."""

# Starting points and scales do not change the distribution that NUTS samples, so NUTS still reveals errors in the
# closed form.

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import block_diag

from bayesnb.chains import run_nuts, without_warnings
from bayesnb.model import Parameters, Posterior
from bayesnb.priors import Array
from bayesnb.sampling import layout
from bayesnb.sampling.pymc_model import build

if TYPE_CHECKING:
    import pymc as pm
    from xarray import DataTree


TUNE = 200
"""Number of tuning steps per chain."""


def sample(
    posterior: Posterior, draws_per_chain: int, chains: int, random_seed: Any = None, model: pm.Model | None = None,
    **arguments: Any,
) -> tuple[Parameters, DataTree]:  # fmt: skip
    """Sample a model with NUTS; return the draws, (chain, draw, ...), and the result of ``pymc.sample``.

    Parameters
    ----------
    posterior : Posterior
        The posterior of a model whose features all have a closed form.
    draws_per_chain, chains : int
    random_seed : seed
    model : pymc.Model, optional
        A model from :func:`bayesnb.sampling.pymc_model.build` with ``apart=False``. The default model observes the
        sufficient statistics.
    **arguments
        Arguments of ``pymc.sample``. nutpie is used if it is installed.
    """
    # If there are many rows, the posterior is so narrow that adaptation from scratch fails. PyMC's sampler therefore
    # gets the conjugate posterior's covariance, and tunes only the step size.
    import pymc as pm

    own = model is None
    model = build(posterior, apart=False) if model is None else model
    rng = np.random.default_rng(random_seed)
    settings: dict[str, Any] = {"random_seed": int(rng.integers(2**31)), **arguments}
    sampler = settings.setdefault("nuts_sampler", "nutpie" if find_spec("nutpie") else "pymc")
    blocks = layout.blocks(posterior, apart=False)
    drawn = layout.variables(posterior.draw(rng, (chains,)), blocks)
    starts = [_inside({name: value[c] for name, value in drawn.items()}, model) for c in range(chains)]
    if sampler == "pymc":
        settings.setdefault("initvals", starts)
        if own:
            settings.setdefault("tune", TUNE)
        if "step" not in settings:
            with model, without_warnings():
                settings["step"] = pm.NUTS(scaling=unconstrained_covariance(model, posterior, rng), is_cov=True)
    elif sampler == "nutpie":
        # nutpie accepts one start for all chains and estimates the scales itself.
        settings.setdefault("initvals", starts[0])
        settings.setdefault("nuts", {"adaptation": "low_rank"})
    tree = run_nuts(model, draws_per_chain, chains, **settings)
    values = {name: tree["posterior"][name].to_numpy() for name in layout.dims(blocks)}
    return layout.from_variables(values, blocks, posterior), tree


def _inside(point: Mapping[str, Array], model: pm.Model) -> dict[str, Array]:
    """Starting values of a chain at ``point``, with probabilities clipped to the range from 1e-12 to 1 - 1e-12."""
    moved = {}
    for variable in model.free_RVs:
        if variable.name in point:
            transform = getattr(model.rvs_to_transforms[variable], "name", None)
            value = point[variable.name]
            if transform in ("simplex", "logodds"):
                value = np.clip(value, 1e-12, 1 - 1e-12)
            if transform == "simplex":
                value = value / value.sum(-1, keepdims=True)
            moved[variable.name] = value
    return moved


def unconstrained_covariance(model: pm.Model, posterior: Posterior, rng: np.random.Generator) -> Array:
    """The posterior covariance of the unconstrained variables that NUTS samples."""
    # Only probabilities that sum to 1, and entries of one vector, are correlated.
    blocks, n = layout.blocks(posterior, apart=False), 2000
    drawn = layout.variables(posterior.draw(rng, (n,)), blocks)
    together = {block.variable(parameter) for block in blocks if block.whole for parameter in block.keys}
    parts = []
    for value in model.value_vars:
        variable = model.values_to_rvs[value]
        transform = model.rvs_to_transforms[variable]
        x, name = drawn[variable.name], getattr(transform, "name", None)
        if transform is not None:
            # Draws may round to 0 or 1, with infinite logarithms. Matrices have a separate transform.
            if name != "logroot":
                x = np.clip(x, np.finfo(float).tiny, np.nextafter(1, 0) if name == "logodds" else None)
            x = transform.forward(x, *variable.owner.inputs).eval(mode="FAST_COMPILE")
        if name == "simplex" or variable.name in together:
            vectors = np.moveaxis(x.reshape(n, -1, x.shape[-1]), 1, 0)
            parts.extend(np.cov(vector, rowvar=False) for vector in vectors)
        else:
            parts.extend(x.reshape(n, -1).var(axis=0))
    return block_diag(*parts)
