"""Any univariate distribution of PyMC, with priors of its parameters that the user gives; it is sampled."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from inspect import signature
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.random import Generator

from bayesnb.families.levels import CategoryCounts
from bayesnb.families.pointwise import Pointwise
from bayesnb.families.sampled import CHUNK, Declared
from bayesnb.families.support import COUNTS, POSITIVE, REALS, Support
from bayesnb.kernels.blocks import slices
from bayesnb.priors import Array, Theta

if TYPE_CHECKING:
    pass


NO_PARAMETERS = ("initval", "transform", "default_transform")
"""Arguments of a PyMC variable that are none of its distribution."""


@dataclass(frozen=True)
class Specified:
    """A prior by its PyMC class and arguments; called with a name and a shape, it makes the variable.

    The arguments are those of one class and one column. If they make a vector, so is the parameter.
    """

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
    """The priors of a distribution's parameters, independent over parameters, classes and columns.

    Parameters
    ----------
    of : {parameter: Specified, callable or number}
    cells : array (class, column), optional
        True everywhere; its shape is that of the data, once they are known.
    """

    of: Mapping[str, Any]
    cells: Array | None = None

    @classmethod
    def read(cls, priors: Mapping[str, Any]) -> Given:
        """From what a user writes."""
        if not isinstance(priors, Mapping):
            raise TypeError(f"Expected priors as {{parameter: (pm.HalfNormal, {{'sigma': 2}})}}; got {priors!r}")
        of = {name: _specified(name, value) for name, value in priors.items()}
        if not any(callable(value) for value in of.values()):
            raise ValueError(
                f"Expected a prior for at least one parameter; got {dict(priors)!r}. A distribution without "
                "anything to learn is the same for every class"
            )
        return cls(of)

    def proper(self) -> Array:
        return np.ones(np.shape(self.cells), bool)

    @property
    def known(self) -> dict[str, Any]:
        """The parameters that are numbers."""
        return {name: value for name, value in self.of.items() if not callable(value)}

    @property
    def learned(self) -> dict[str, Callable[..., Any]]:
        """The parameters that have a prior."""
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
    """Refuse names that are no parameters of a distribution, because PyMC silently ignores some of them."""
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
    """x | θ ~ any univariate PyMC distribution, each of its parameters with a prior.

    Parameters
    ----------
    dist : PyMC distribution class
        Such as ``pm.LogNormal``.
    priors : {parameter: prior}
        A prior is (PyMC class, arguments), as in ``{"mu": (pm.Normal, {"mu": 0, "sigma": 10})}``; or a function
        called as ``prior(name, shape=...)`` in the open model, such as ``partial(pm.Normal, sigma=10)``; or a
        number or a list of numbers, at which the parameter is fixed. Each class and column has its own parameters. No
        prior is scaled to the data, so give priors in the units of the column. The arguments are those of one class and
        column: if they make a vector, such as ``(pm.Dirichlet, {"a": [1, 1]})`` or ``(pm.Normal, {"mu": [0, 5]})``,
        the parameter is one, as mixtures need it.
    reads : {"reals", "positive reals", "counts"}
        The values that columns may hold; other values are refused.
    **sampler
        ``draws``, ``tune``, ``chains``, ``random_seed``, ``target_accept``: see :class:`Sampler`.

    Notes
    -----
    It can be pickled, cloned and saved if the priors can; tuples and numbers can, lambdas cannot.

    Examples
    --------
    >>> import pymc as pm
    >>> FromPyMC(pm.Exponential, {"lam": (pm.Gamma, {"alpha": 2, "beta": 1})}).prior
    Given(of={'lam': Gamma(alpha=2, beta=1)}, cells=None)

    A mixture of two Normals. The order of their means tells the components apart:

    >>> from pymc.distributions.transforms import ordered
    >>> mixture = FromPyMC(
    ...     pm.NormalMixture,
    ...     {
    ...         "w": (pm.Dirichlet, {"a": [1, 1]}),
    ...         "mu": (pm.Normal, {"mu": [0, 5], "sigma": 3, "transform": ordered, "initval": [0, 5]}),
    ...         "sigma": (pm.HalfNormal, {"sigma": [2, 2]}),
    ...     },
    ... )
    >>> mixture.vectors()
    {'w': (2,), 'mu': (2,), 'sigma': (2,)}
    """

    dist: Any
    reads: str

    conjugate = Given

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

    def pymc_prior(
        self, prior: Given, name: Callable[[str], str], dims: Mapping[str, tuple[str, ...]]
    ) -> dict[str, Any]:
        import pymc as pm

        model, made = pm.modelcontext(None), {}
        for key, make in prior.learned.items():
            made[key] = make(name(key), shape=prior.cells.shape)
            if key in dims:
                model.named_vars_to_dims[name(key)] = dims[key]
        return made

    def vectors(self) -> dict[str, tuple[int, ...]]:
        import pymc as pm

        with pm.Model(model=None) as model:
            made = {key: make(key, shape=(1, 1)) for key, make in self.prior.learned.items()}
            shapes = model.eval_rv_shapes()
        found = {}
        for key, variable in made.items():
            shape = shapes.get(key, variable.type.shape)
            if len(shape) < 2 or None in shape:
                raise ValueError(
                    f"Expected the prior of {key!r} to make a variable of the shape (class, column, ...), as its "
                    f"argument shape says; got {tuple(shape)} where that is (1, 1)"
                )
            found |= {key: tuple(map(int, shape[2:]))} if len(shape) > 2 else {}
        return found

    def given(self, theta: Mapping[str, Any]) -> Any:
        return self.dist.dist(**theta, **self.prior.known)

    def log_prior(self, prior: Given, variables: Mapping[str, Array]) -> dict[str, Array]:
        import pymc as pm
        import pytensor
        from pytensor.graph.replace import graph_replace

        if not self.has_log_prior:
            raise ValueError(
                f"the priors of {list(prior.learned)} are made of further variables, whose draws are not kept: their "
                "density is not known, so leave log_prior out of include"
            )
        with pm.Model(model=None):
            made = self.pymc_prior(prior, str, {})
        values = [variable.type(name=key) for key, variable in made.items()]
        densities = [pm.logp(variable, value) for variable, value in zip(made.values(), values, strict=True)]
        # A prior may depend on another parameter.
        densities = graph_replace(densities, dict(zip(made.values(), values, strict=True)), strict=False)
        # One draw after the other: the variables of a model have no axes for draws.
        compiled = pytensor.function(values, densities, mode="FAST_COMPILE")
        lead = next(iter(variables.values())).ndim - next(iter(made.values())).ndim
        size = next(iter(variables.values())).shape[:lead]
        flat = [variables[key].reshape(-1, *variables[key].shape[lead:]) for key in made]
        each = [compiled(*point) for point in zip(*flat, strict=True)]
        return {key: np.reshape([d[i] for d in each], (*size, *each[0][i].shape)) for i, key in enumerate(made)}

    @property
    def has_log_prior(self) -> bool:
        import pymc as pm

        with pm.Model(model=None) as model:
            made = [make(key, shape=(1, 1)) for key, make in self.prior.learned.items()]
        return set(model.free_RVs) == set(made)

    def cell_density(self) -> Callable[..., Array]:
        import pytensor
        from pytensor import tensor as pt

        vectors = self.vectors()
        numbers = {
            key: [pt.dvector(f"{key}_{i}") for i in range(int(np.prod(vectors.get(key, ()))))]
            for key in self.prior.learned
        }
        theta = {
            key: pt.stack(parts, axis=-1).reshape((-1, *vectors[key])) if key in vectors else parts[0]
            for key, parts in numbers.items()
        }
        given = self.given(theta)
        value = pt.vector("value", dtype=given.dtype)
        inputs = [value, *(part for parts in numbers.values() for part in parts)]
        # The function is compiled in each call and used a few times, so fast compilation matters most.
        compiled = pytensor.function(inputs, self.log_densities(theta, value), mode="FAST_COMPILE")

        def density(x: Array, *parameters: Array) -> Array:
            missing = np.isnan(x)
            x = np.where(missing, 1.0, x).astype(given.dtype)
            views = np.broadcast_arrays(x, *(np.asarray(p, float) for p in parameters))
            shape = views[0].shape
            log_p = np.zeros(shape)
            step = max(1, CHUNK // max(1, int(np.prod(shape[1:]))))
            for cut in slices(shape[0], step):
                with np.errstate(all="ignore"):
                    log_p[cut] = compiled(*(v[cut].ravel() for v in views)).reshape(log_p[cut].shape)
            return log_p

        return density

    def sample(self, theta: Theta, rng: Generator, s: CategoryCounts) -> Array:
        import pymc as pm

        return pm.draw(self.given(theta), random_seed=int(rng.integers(2**31)), mode="FAST_COMPILE").astype(float)
