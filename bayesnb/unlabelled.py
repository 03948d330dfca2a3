"""The generative model in PyMC with the labels of unlabelled rows summed out: the sampler's road to what EM climbs.

Start with :func:`build`. ``generative.sample`` samples the model that it returns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesnb import draws, generative
from bayesnb.em import shares
from bayesnb.model import Data, Posterior, Statistics
from bayesnb.priors import Array

if TYPE_CHECKING:
    import pymc as pm


def build(
    posterior: Posterior,
    labelled: Statistics,
    data: Data,
    n_rows: int,
    *,
    weight: float = 1.0,
    row_weight: Array | None = None,
) -> pm.Model:
    """The generative model in PyMC, with the label of each unlabelled row summed out.

    Parameters
    ----------
    posterior : Posterior
        That of EM. Only its priors are used, at their full shapes.
    labelled : Statistics
        Of the labelled rows, which are observed as sufficient statistics.
    data, n_rows, weight, row_weight
        The unlabelled rows, as in :func:`bayesnb.em.em`. A weight other than 1 takes their likelihood to that power.

    Returns
    -------
    pymc.Model
        The model of :func:`bayesnb.generative.build`, with the Potential ``unlabelled``.

    Notes
    -----
    A class without labelled rows may change places with another if their priors are the same, and the chains then do
    not converge.
    """
    import pymc as pm
    from pytensor import tensor as pt

    share = shares(weight, row_weight, n_rows)
    seen = posterior.given(labelled)
    model = generative.build(seen)
    somewhere = posterior.before().draw(np.random.default_rng(0))
    with model:
        joint = pt.log(model["pi"])[None, :] + np.zeros((n_rows, 1))
        for block in draws.blocks(posterior.model, labelled):
            names = block.family.variables(somewhere.features[block.cells[0][0]])
            theta = {name: model[block.variable(name)] for name in names}
            for _, family, part, x in generative.cells_of(block, theta, data):
                joint += family.pymc_log_likelihood(part, x)
        pm.Potential("unlabelled", (share * pm.math.logsumexp(joint, axis=1, keepdims=False)).sum())
    return model
