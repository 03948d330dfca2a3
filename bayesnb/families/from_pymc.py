"""A family with any univariate PyMC distribution; NUTS samples the posterior."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from inspect import signature
from threading import Lock
from typing import Any, Literal

import numpy as np
from numpy.random import Generator

from bayesnb.families.columns import COUNTS, POSITIVE, REALS, CategoryCounts, Support
from bayesnb.families.family import Dims, Name
from bayesnb.families.sampled import CELL, Declared, Pointwise
from bayesnb.priors import Array, Theta

NO_PARAMETERS = ("initval", "transform", "default_transform")
"""Arguments of a PyMC variable that are not parameters of its distribution."""


@dataclass(frozen=True)
class Specified:
    """A prior given by a PyMC class and its arguments; call ``prior(name, shape)`` to create the variable."""

    dist: Any
    arguments: Mapping[str, Any]

    def __call__(self, name: str, shape: tuple[int, ...]) -> Any:
        own = {key: value for key, value in self.arguments.items() if key not in NO_PARAMETERS}
        one = self.dist.dist(**own)
        further = one.type.shape if None not in one.type.shape else tuple(one.shape.eval().tolist())
        full = {**self.arguments, "shape": (*shape, *further)}
        if "initval" in full and not isinstance(full["initval"], str):
            full["initval"] = np.array(np.broadcast_to(full["initval"], full["shape"]))
        return self.dist(name, **full)

    def __repr__(self) -> str:
        return f"{self.dist.__name__}({', '.join(f'{k}={v!r}' for k, v in self.arguments.items())})"


@dataclass(frozen=True, eq=False, repr=False)
class Given(Declared):
    """Independent priors of a distribution's parameters, for each class and column."""

    of: Mapping[str, Any]
    cells: Array | None = None

    @classmethod
    def read(cls, priors: Mapping[str, Any]) -> Given:
        if not isinstance(priors, Mapping):
            raise TypeError(f"Expected priors as {{parameter: (pm.HalfNormal, {{'sigma': 2}})}}; got {priors!r}")
        of = {name: _specified(name, value) for name, value in priors.items()}
        if not any(callable(value) for value in of.values()):
            raise ValueError(
                f"Expected a prior for at least one parameter; got {dict(priors)!r}. A distribution without "
                "anything to learn is the same for every class"
            )
        return cls(of)

    def _picked(self, cell: Any) -> Given:
        # A user-defined prior is the same for all classes and columns.
        return replace(self, cells=self.cells[cell])

    @property
    def known(self) -> dict[str, Any]:
        return {name: value for name, value in self.of.items() if not callable(value)}

    @property
    def learned(self) -> dict[str, Callable[..., Any]]:
        return {name: value for name, value in self.of.items() if callable(value)}


def _specified(name: str, value: Any) -> Any:
    match value:
        case bool():
            pass
        case int() | float() | np.number():
            return value
        case (dist, Mapping() as arguments) if callable(dist):
            _require_known(dist, [key for key in arguments if key not in (*NO_PARAMETERS, "shape")])
            return Specified(dist, dict(arguments))
        case list() | np.ndarray() if (held := np.asarray(value)).dtype.kind in "iuf" and held.ndim:
            return held.astype(float)
        case _ if callable(value):
            return value
    raise TypeError(
        f"Expected the prior of {name!r} as (pm.HalfNormal, {{'sigma': 2}}), as a function of a name and shape= that "
        f"makes the variable, or as a number or a list of numbers to hold it at; got {value!r}"
    )


def _require_known(dist: Any, names: Iterable[str]) -> None:
    made = getattr(dist, "dist", None)
    if not callable(made):
        return
    known = [p.name for p in signature(made).parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    for name in names:
        if name not in known:
            raise ValueError(f"{dist.__name__} has no parameter {name!r}; it has {known}")


type Reads = Literal["reals", "positive reals", "counts"]
SUPPORTS = {support.name: support for support in (REALS, POSITIVE, COUNTS)}


@dataclass(frozen=True, eq=False, init=False)
class FromPyMC(Pointwise[Given]):
    """x | θ ~ any univariate PyMC distribution, with a prior for each of its parameters.

    Parameters
    ----------
    dist : PyMC distribution class
        Such as ``pm.LogNormal``.
    priors : {parameter: prior}
        Each prior is (PyMC class, arguments), as in ``{"mu": (pm.Normal, {"mu": 0, "sigma": 10})}``; a function called
        as ``prior(name, shape=...)`` in the open model, such as ``partial(pm.Normal, sigma=10)``; or fixed numbers.
        Each class and column has its own parameters. Vector arguments give a vector parameter, as needed for mixtures.
    reads : {"reals", "positive reals", "counts"}
        The values that columns may hold.
    **sampler
        Settings of :class:`Sampler`.

    Notes
    -----
    The family can be pickled and saved if its priors can be pickled. Lambdas cannot.

    Examples
    --------
    >>> import pymc as pm
    >>> FromPyMC(pm.Exponential, {"lam": (pm.Gamma, {"alpha": 2, "beta": 1})}).prior
    Given(of={'lam': Gamma(alpha=2, beta=1)}, cells=None)

    A mixture of two Normals. The ordered means make the components identifiable:

    >>> from pymc.distributions.transforms import ordered
    >>> mixture = FromPyMC(
    ...     pm.NormalMixture,
    ...     {
    ...         "w": (pm.Dirichlet, {"a": [1, 1]}),
    ...         "mu": (pm.Normal, {"mu": [0, 5], "sigma": 3, "transform": ordered, "initval": [0, 5]}),
    ...         "sigma": (pm.HalfNormal, {"sigma": [2, 2]}),
    ...     },
    ... )
    >>> mixture.variable_axes()["mu"]
    ('class', 'column', 'mu_0')
    """

    dist: Any
    reads: str

    def __init__(self, dist: Any, priors: Mapping[str, Any], reads: Reads = "reals", **sampler: Any) -> None:
        if not callable(getattr(dist, "dist", None)):
            raise TypeError(f"Expected a PyMC distribution class, such as pm.LogNormal; got {dist!r}")
        if reads not in SUPPORTS:
            raise ValueError(f"Expected reads to be one of {list(SUPPORTS)}; got {reads!r}")
        prior = Given.read(priors)
        _require_known(dist, prior.of)
        self._set_fields(prior, sampler, dist=dist, reads=reads)

    @property
    def support(self) -> Support:
        return SUPPORTS[self.reads]

    @property
    def kind(self) -> str:
        return f"Pymc{self.dist.__name__}"

    def resolve_prior(self, prior: Given, s: CategoryCounts) -> Given:
        return Given(prior.of, np.ones(s.counts.shape[:2], bool))

    def pymc_prior(self, prior: Given, name: Name, dims: Dims) -> dict[str, Any]:
        import pymc as pm

        model, made = pm.modelcontext(None), {}
        for key, make in prior.learned.items():
            made[key] = make(name(key), shape=prior.cells.shape)
            if key in dims:
                model.named_vars_to_dims[name(key)] = dims[key]
        return made

    def variable_axes(self) -> dict[str, tuple[str, ...]]:
        return _described(self)[0]

    def given(self, theta: Mapping[str, Any]) -> Any:
        return self.dist.dist(**theta, **self.prior.known)

    def log_prior(self, prior: Given, variables: Mapping[str, Array]) -> dict[str, Array]:
        import pymc as pm
        import pytensor
        from pytensor import tensor as pt
        from pytensor.graph.replace import graph_replace, vectorize_graph

        if not self.has_log_prior:
            raise ValueError(
                f"the priors of {list(prior.learned)} contain further random variables, whose draws are not stored, so "
                "their density cannot be computed; leave log_prior out of include"
            )
        with pm.Model(model=None):
            made = self.pymc_prior(prior, str, {})
        values = {key: variable.type(name=key) for key, variable in made.items()}
        densities = [pm.logp(variable, values[key]) for key, variable in made.items()]
        # The prior of a parameter may depend on other parameters.
        densities = graph_replace(densities, {made[key]: value for key, value in values.items()}, strict=False)
        # Add an axis of draws, which the variables of a model do not have.
        drawn = {v: pt.tensor(key, dtype=v.dtype, shape=(None, *v.type.shape)) for key, v in values.items()}
        compiled = pytensor.function(list(drawn.values()), vectorize_graph(densities, drawn), mode="FAST_COMPILE")
        lead = next(variables[key].shape[: variables[key].ndim - v.ndim] for key, v in values.items())
        each = compiled(*(variables[key].reshape(-1, *variables[key].shape[len(lead) :]) for key in made))
        return {key: value.reshape(*lead, *value.shape[1:]) for key, value in zip(made, each, strict=True)}

    @property
    def has_log_prior(self) -> bool:
        return _described(self)[1]

    def log_likelihood(self, theta: Theta, x: Array) -> Array:
        axes, compiled, total = self.variable_axes(), _compiled(self), np.zeros(())
        for j, cells in enumerate(x.T):
            missing, numbers, shape = np.isnan(cells), [], ()
            for key, own in axes.items():
                further = len(own) - len(CELL)
                # (..., row, class, further axes)
                mine = np.expand_dims(np.take(theta[key], j, -1 - further), -2 - further)
                mine = np.repeat(mine, len(cells), -2 - further)
                shape = mine.shape[: mine.ndim - further]
                numbers.append(mine.reshape(-1, *mine.shape[mine.ndim - further :]))
            each = np.broadcast_to(np.where(missing, 1.0, cells)[:, None], shape).ravel()
            total = total + np.where(missing[:, None], 0.0, compiled(each, *numbers).reshape(shape))
        return total

    def sample(self, theta: Theta, rng: Generator, s: CategoryCounts) -> Array:
        import pymc as pm

        return pm.draw(self.given(theta), random_seed=int(rng.integers(2**31)), mode="FAST_COMPILE").astype(float)


@lru_cache(64)
def _described(family: FromPyMC) -> tuple[dict[str, tuple[str, ...]], bool]:
    import pymc as pm

    with pm.Model(model=None) as model:
        made = {key: make(key, shape=(1, 1)) for key, make in family.prior.learned.items()}
    shapes, found = model.eval_rv_shapes(), {}
    for key, variable in made.items():
        shape = shapes.get(key, variable.type.shape)
        if len(shape) < 2 or None in shape:
            raise ValueError(
                f"Expected the prior of {key!r} to make a variable of the shape (class, column, ...), as its "
                f"argument shape says; got {tuple(shape)} where that is (1, 1)"
            )
        found[key] = (*CELL, *(f"{key}_{i}" for i in range(len(shape) - 2)))
    return found, set(model.free_RVs) == set(made.values())


@lru_cache(64)
def _compiled(family: FromPyMC) -> Callable[..., Array]:
    import pytensor
    from pytensor import tensor as pt

    axes = family.variable_axes()
    theta = {key: pt.tensor(key, dtype="float64", shape=(None,) * (len(own) - 1)) for key, own in axes.items()}
    value = pt.vector("value", dtype=family.given(theta).dtype)
    # The function is called only a few times, so fast compilation matters most.
    compiled = pytensor.function([value, *theta.values()], family.log_densities(theta, value), mode="FAST_COMPILE")
    turn = Lock()

    def log_density(x: Array, *numbers: Array) -> Array:
        # A compiled function reuses its own memory, so only one thread may call it at a time.
        with turn, np.errstate(all="ignore"):
            return compiled(x.astype(value.dtype), *numbers)

    return log_density
