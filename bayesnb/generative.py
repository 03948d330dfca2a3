"""The same model written out in PyMC: the sampler's road, and the judge of the closed form.

:func:`build` makes the model, as the textbook writes it; :func:`sample` runs NUTS on it, started and scaled
by the conjugate posterior. That changes the sampler's path and not its target.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.linalg import block_diag

from bayesnb import draws
from bayesnb.draws import Block
from bayesnb.families.family import Family, columns_of
from bayesnb.model import Data, Posterior, about
from bayesnb.priors import Array, ImproperError, Known, shared

if TYPE_CHECKING:
    import pymc as pm
    from xarray import DataTree

type Likelihood = Literal["sufficient", "rows"]


def build(
    posterior: Posterior,
    data: Data | None = None,
    y: Array | None = None,
    likelihood: Likelihood = "sufficient",
) -> pm.Model:
    """The generative model in PyMC, its data observed.

    Parameters
    ----------
    posterior : Posterior
        The fitted model: its specification, its priors at their full shapes, and its statistics.
    data, y : {name: encoded column}, int array (row,)
        The rows, for ``likelihood="rows"``.
    likelihood : {"sufficient", "rows"}
        Observe the sufficient statistics, at a cost that does not depend on the number of rows; or every row,
        for teaching and posterior predictive checks. Both have the same log density.

    Returns
    -------
    pymc.Model
        With variables π, then one vector variable a kind of feature (see :func:`bayesnb.draws.blocks`), and the
        coordinates ``class_label``, ``…_feature``, ``…_category``.

    Raises
    ------
    ImproperError
        If a prior is improper, naming the feature.
    """
    import pymc as pm

    if likelihood not in ("sufficient", "rows"):
        raise ValueError(f"Expected likelihood to be 'sufficient' or 'rows'; got {likelihood!r}")
    if likelihood == "rows" and (data is None or y is None):
        raise ValueError("likelihood='rows' observes every row: pass the rows, or use likelihood='sufficient'")
    statistics = posterior.statistics
    layout = draws.blocks(posterior.model, statistics)
    with pm.Model(coords=draws.coords(posterior.labels, layout)) as model:
        pi = label_variable(posterior)
        thetas = [block_variables(block, posterior) for block in layout]
        if likelihood == "sufficient":
            pm.Potential("class_counts", (shared(statistics.rows) * pm.math.log(pi)).sum())
            for block, theta in zip(layout, thetas, strict=True):
                pm.Potential(
                    f"counts_{block.name}",
                    block.family.pymc_statistic(theta, block.gather(statistics.features)),
                )
        else:
            observed = pm.Categorical("y", p=pi, observed=np.asarray(y))
            del observed
            for block, theta in zip(layout, thetas, strict=True):
                _observe_rows(block, theta, data, np.asarray(y))
    return model


def label_variable(posterior: Posterior) -> Any:
    """π in the open model; where class probabilities are known, a constant."""
    if isinstance(posterior.label, Known):
        return posterior.label.pymc(lambda _: "pi", ("class_label",))
    with about("class prior", posterior.labels):
        return posterior.label_prior.pymc(lambda _: "pi", ("class_label",))


def block_variables(block: Block, posterior: Posterior) -> dict[str, Any]:
    """The variables of a block in the open model."""
    try:
        return block.family.pymc_prior(block.gather(posterior.prior), block.variable, block.dims)
    except ImproperError as error:
        feature, where = block.place(error.where)
        with about(f"feature {feature!r}", posterior.labels, posterior.statistics.features[feature]):
            raise ImproperError(str(error), where) from None


def cells_of(block: Block, theta: Mapping[str, Any], data: Data) -> list[tuple[str, Family, dict[str, Any], Any]]:
    """Name, family, variables and data of each feature's part of a block."""
    if block.whole:
        feature = block.cells[0][0]
        return [(block.columns[0], block.family, dict(theta), data[feature])]
    parts = []
    for feature in dict.fromkeys(feature for feature, _ in block.cells):
        here = [i for i, (f, _) in enumerate(block.cells) if f == feature]
        columns = [block.cells[i][1] for i in here]
        x = data[feature]
        picked = columns_of(x, columns)
        part = {key: value[:, here] for key, value in theta.items()}
        family = block.family.gathered([(block.family, i) for i in here])
        parts.append((", ".join(block.columns[i] for i in here), family, part, picked))
    return parts


def _observe_rows(block: Block, theta: Mapping[str, Any], data: Data, y: Array) -> None:
    import pymc as pm

    taken = set(pm.modelcontext(None).named_vars)
    for name, family, part, x in cells_of(block, theta, data):
        # A name of its own, whatever the column is called: "/" would be a path.
        free = f"x_{name}".replace("/", "∕")
        while free in taken:
            free += "'"
        taken.add(free)
        family.pymc_rows(free, part, x, y)


def sample(
    posterior: Posterior,
    draws_per_chain: int,
    chains: int,
    random_seed: Any = None,
    model: pm.Model | None = None,
    **arguments: Any,
) -> DataTree:
    """NUTS on the model with sufficient statistics; returns what ``pymc.sample`` does.

    Chains start at draws of the conjugate posterior, and the sampler is handed its scales: where many rows
    make the posterior narrow, adaptation from scratch fails. nutpie is used where it is installed.

    Parameters
    ----------
    **arguments
        Of ``pymc.sample``; given here, they are taken as they are.
    """
    import pymc as pm

    model = build(posterior) if model is None else model
    rng = np.random.default_rng(random_seed)
    with model, warnings.catch_warnings():
        # Convergence is looked at by its own report, which names what did not converge.
        warnings.filterwarnings("ignore", category=UserWarning, module="pymc|arviz|pytensor|nutpie")
        warnings.filterwarnings("ignore", category=FutureWarning)
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        settings: dict[str, Any] = {
            "progressbar": False,
            "compute_convergence_checks": False,
            "cores": 1,
            "quiet": True,
        }
        settings |= {"random_seed": int(rng.integers(2**31)), **arguments}
        sampler = settings.setdefault("nuts_sampler", "nutpie" if find_spec("nutpie") else "pymc")
        layout = draws.blocks(posterior.model, posterior.statistics)
        drawn = draws.variables(posterior.draw(rng, (chains,)), layout)
        starts = [_inside({name: value[c] for name, value in drawn.items()}, model) for c in range(chains)]
        if sampler == "pymc":
            settings.setdefault("initvals", starts)
            if "step" not in settings:
                settings["step"] = pm.NUTS(scaling=unconstrained_covariance(model, posterior, rng), is_cov=True)
        elif sampler == "nutpie":
            # It takes one start for all chains and no scales; its low-rank adaptation finds them.
            settings.setdefault("initvals", starts[0])
            settings.setdefault("nuts", {"adaptation": "low_rank"})
        return pm.sample(draws_per_chain, chains=chains, **settings)


def _inside(point: Mapping[str, Array], model: pm.Model) -> dict[str, Array]:
    """A starting point with what is free in the model, off the boundary by a hair."""
    free = {variable.name for variable in model.free_RVs}
    return {
        name: np.clip(value, 1e-12, 1 - 1e-12) / (value.sum(-1, keepdims=True) if name.startswith("theta_cat") else 1.0)
        if name.startswith(("theta", "pi"))
        else value
        for name, value in point.items()
        if name in free
    }


def unconstrained_covariance(model: pm.Model, posterior: Posterior, rng: np.random.Generator, n: int = 2000) -> Array:
    """Posterior covariance in the space in which NUTS moves, in the order of its variables.

    Tables of probabilities need more than variances: their coordinates are centred logarithms, and one rare
    level moves all of them together. Everything else is independent, and its covariance 0.
    """
    drawn = draws.variables(posterior.draw(rng, (n,)), draws.blocks(posterior.model, posterior.statistics))
    parts = []
    for value in model.value_vars:
        variable = model.values_to_rvs[value]
        transform = model.rvs_to_transforms[variable]
        x = _unconstrained(drawn[variable.name], transform)
        if getattr(transform, "name", None) != "simplex":
            parts.extend(x.reshape(n, -1).var(axis=0))
            continue
        parts.extend(np.cov(table, rowvar=False) for table in np.moveaxis(x.reshape(n, -1, x.shape[-1]), 1, 0))
    return block_diag(*parts)


def _unconstrained(x: Array, transform: Any) -> Array:
    """Draws as NUTS sees them: log, log-odds, or the centred logs of a simplex."""
    name = getattr(transform, "name", None)
    if name is None:
        return x
    tiny = np.finfo(float).tiny
    if name == "log":
        return np.log(np.maximum(x, tiny))
    if name == "logodds":
        return np.log(np.maximum(x, tiny)) - np.log(np.maximum(1 - x, tiny))
    if name == "simplex":
        logs = np.log(np.maximum(x, tiny))
        return logs[..., :-1] - logs.mean(-1, keepdims=True)
    raise NotImplementedError(f"transform {name!r}")
