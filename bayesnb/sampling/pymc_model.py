"""The naive Bayes model in PyMC, in textbook form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from bayesnb.families.columns import columns_of, dense_cells
from bayesnb.families.family import Family
from bayesnb.model import Data, Posterior, Statistics, about
from bayesnb.priors import Array, ImproperError, constant, shared
from bayesnb.sampling import layout
from bayesnb.sampling.layout import Block
from bayesnb.wording import require_choice

if TYPE_CHECKING:
    import pymc as pm

type Likelihood = Literal["joint", "rows", "sufficient"]


def build(
    posterior: Posterior, data: Data | None = None, y: Array | None = None, likelihood: Likelihood | None = None,
    apart: bool = True,
) -> pm.Model:  # fmt: skip
    """Build the generative model in PyMC, with observed data.

    Parameters
    ----------
    posterior : Posterior
    data, y : {name: encoded column}, int array (row,), optional
        The rows.
    likelihood : {"joint", "rows", "sufficient"}, optional
        As in :meth:`bayesnb.BayesianNB.to_pymc`.
    apart : bool
        Whether each column of a small table gets separate variables.

    Raises
    ------
    ImproperError
        If the prior of a feature is improper.
    """
    import pymc as pm

    likelihood = likelihood or ("sufficient" if y is None else "joint")
    require_choice("likelihood", likelihood, get_args(Likelihood.__value__))
    if likelihood != "sufficient" and (data is None or y is None):
        raise ValueError(f"likelihood={likelihood!r} observes every row: pass the rows, or use likelihood='sufficient'")
    statistics = posterior.statistics
    blocks = layout.blocks(posterior, apart)
    coords = layout.coords(posterior.labels, blocks)
    if likelihood != "sufficient":
        coords["row"] = list(range(len(y)))
    with pm.Model(coords=coords) as model, nullcontext() if likelihood == "sufficient" else constant():
        with about("class prior", posterior.labels):
            posterior.label_prior.require_sampled()
            pi = posterior.label_prior.pymc(lambda _: "pi", ("class_label",))
        thetas = [block_variables(block, posterior) for block in blocks]
        if likelihood == "sufficient":
            pm.Potential("class_counts", (shared(statistics.rows) * pm.math.log(pi)).sum())
            for block, theta in zip(blocks, thetas, strict=True):
                pm.Potential(
                    f"counts_{block.name}", block.family.pymc_statistic(theta, block.gather(statistics.features))
                )
        elif likelihood == "rows":
            pm.Categorical("y", p=pi, observed=np.asarray(y), dims="row")
            for block, theta in zip(blocks, thetas, strict=True):
                _observe_rows(block, theta, data, np.asarray(y))
        else:
            _observe_joint(blocks, pi, thetas, data, np.asarray(y))
    return model


def block_variables(block: Block, posterior: Posterior) -> dict[str, Any]:
    """Add a block's variables to the PyMC model in context; return the variables, each with a column axis."""
    try:
        dims = {key: block.dims(key) for key in block.keys}
        made = block.family.pymc_prior(block.gather(posterior.prior), block.variable, dims)
    except ImproperError as error:
        feature, where = block.place(error.where)
        with about(f"feature {feature!r}", posterior.labels, posterior.statistics.features[feature]):
            raise ImproperError(str(error), where) from None
    full = layout.with_columns({block.variable(key): variable for key, variable in made.items()}, [block])
    return {key: full[block.variable(key)] for key in made}


def features_of(block: Block, theta: Mapping[str, Any], data: Data) -> list[tuple[str, Family, dict[str, Any], Any]]:
    """For each feature of a block: its name, family, variables and data."""
    if block.whole:
        feature = block.members[0][0]
        return [(block.columns[0] if block.of_words else str(feature), block.family, dict(theta), data[feature])]
    parts, place = [], {key: block.axes[key].index("column") for key in block.keys}
    for feature in dict.fromkeys(feature for feature, _ in block.members):
        here = [i for i, (f, _) in enumerate(block.members) if f == feature]
        columns = [block.members[i][1] for i in here]
        x = data[feature]
        picked = columns_of(x, columns)
        part = {key: value[(*(slice(None) for _ in range(place[key])), here)] for key, value in theta.items()}
        family = block.family.gathered([(block.family, i) for i in here])
        parts.append((", ".join(block.columns[i] for i in here), family, part, picked))
    return parts


def _observe_rows(block: Block, theta: Mapping[str, Any], data: Data, y: Array) -> None:
    import pymc as pm

    model = pm.modelcontext(None)
    taken = set(model.named_vars)
    for name, family, part, x in features_of(block, theta, data):
        # As in a tree of draws, if the variable is the whole block; otherwise without "/", which is read as a path.
        free = block.variable("x") if block.apart or block.whole else f"x_{name}".replace("/", "∕")
        while free in taken:
            free += "'"
        taken.add(free)
        family.pymc_rows(free, part, x, y)
        known = np.flatnonzero(~np.isnan(dense_cells(x)).all(axis=1))
        observed = model.named_vars.get(free)
        if observed is None or observed.type.shape[:1] != (len(known),):
            continue  # Several columns are one variable of cells, or the variable has no rows.
        dim = "row" if len(known) == len(y) else f"row_{free.removeprefix('x_')}"
        if dim != "row":
            model.add_coord(dim, np.asarray(model.coords["row"])[known])
        others = {f"{free}_dim_{k}": range(observed.type.shape[k]) for k in range(1, observed.ndim)}
        for each, values in others.items():
            model.add_coord(each, list(values))
        model.named_vars_to_dims[free] = (dim, *others)


def _observe_joint(blocks: Sequence[Block], pi: Any, thetas: Sequence[Mapping[str, Any]], data: Data, y: Array) -> None:
    """Observe a variable ``y`` with the density p(x, y | θ) for each row."""
    # As a function of y_i, this density is proportional to p(y_i | x_i, θ). So posterior predictive draws of ``y`` are
    # classes given the columns.
    import pymc as pm

    names = [(block, key) for block in blocks for key in block.keys]
    variables = [theta[key] for block, theta in zip(blocks, thetas, strict=True) for key in block.keys]

    def log_joint(pi: Any, *variables: Any) -> Any:
        of_block: dict[str, dict[str, Any]] = {block.name: {} for block in blocks}
        for (block, key), variable in zip(names, variables, strict=True):
            of_block[block.name][key] = variable
        return _log_joint(blocks, pi, [of_block[block.name] for block in blocks], data, len(y))

    def logp(value: Any, *variables: Any) -> Any:
        return log_joint(*variables)[np.arange(len(y)), value]

    def dist(*variables: Any) -> Any:
        return pm.Categorical.dist(logit_p=log_joint(*variables[:-1]))

    axes = [f"({','.join(f'a{i}b{k}' for k in range(variable.ndim))})" for i, variable in enumerate([pi, *variables])]
    signature = f"{','.join(axes)}->()"
    pm.CustomDist("y", pi, *variables, dist=dist, logp=logp, signature=signature, observed=y, dims="row")


def _log_joint(blocks: Sequence[Block], pi: Any, thetas: Sequence[Mapping[str, Any]], data: Data, n_rows: int) -> Any:
    from pytensor import tensor as pt

    joint = pt.log(pi)[None, :] + np.zeros((n_rows, 1))
    for block, theta in zip(blocks, thetas, strict=True):
        for _, family, part, x in features_of(block, theta, data):
            joint += family.pymc_log_likelihood(part, x)
    return joint


def summed_out(posterior: Posterior, labelled: Statistics, data: Data, weight: Array, apart: bool = True) -> pm.Model:
    """The PyMC model of labelled rows and of unlabelled rows (``data``) with their classes summed out."""
    # Only the priors of ``posterior`` are used. Chains do not converge if two classes have equal priors and no labelled
    # rows.
    import pymc as pm

    alone = posterior.given(labelled)
    model = build(alone, apart=apart)
    blocks = layout.blocks(alone, apart)
    with model:
        own = {block.variable(key): model[block.variable(key)] for block in blocks for key in block.keys}
        own = layout.with_columns(own, blocks)
        thetas = [{key: own[block.variable(key)] for key in block.keys} for block in blocks]
        joint = _log_joint(blocks, model["pi"], thetas, data, len(weight))
        pm.Potential("unlabelled", (weight * pm.math.logsumexp(joint, axis=1, keepdims=False)).sum())
    return model
