"""Any univariate distribution of PyMC, with priors of its parameters that the user gives; it is sampled."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from inspect import signature
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.random import Generator

from bayesnb.families.levels import CategoryCounts
from bayesnb.families.pointwise import Pointwise, WeightedValues
from bayesnb.families.sampled import CHUNK, Declared
from bayesnb.families.support import COUNTS, POSITIVE, REALS, Support
from bayesnb.kernels.blocks import slices
from bayesnb.priors import Array, Theta

if TYPE_CHECKING:
    import pymc as pm


@dataclass(frozen=True)
class Specified:
    """A prior by its PyMC class and arguments; called with a name and a shape, it makes the variable."""

    dist: Any
    arguments: Mapping[str, Any]

    def __call__(self, name: str, shape: tuple[int, ...]) -> Any:
        return self.dist(name, shape=shape, **self.arguments)

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
            _require_known(dist, [key for key in arguments if key not in ("initval", "transform", "default_transform")])
            return Specified(dist, dict(arguments))
        case _ if callable(value):
            return value
    raise TypeError(
        f"Expected the prior of {name!r} as (pm.HalfNormal, {{'sigma': 2}}), as a function of a name and shape= that "
        f"makes the variable, or as a number to hold it at; got {value!r}"
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
        number, at which the parameter is fixed. Each class and column has its own parameters. No prior is scaled to
        the data, so give priors in the units of the column.
    reads : {"reals", "positive reals", "counts"}
        The values that columns may hold; other values are refused.
    **sampler
        ``draws``, ``tune``, ``chains``, ``random_seed``, ``target_accept``: see :class:`Sampler`.

    Notes
    -----
    It can be pickled and cloned if the priors can; tuples and numbers can, lambdas cannot.

    Examples
    --------
    >>> import pymc as pm
    >>> FromPyMC(pm.Exponential, {"lam": (pm.Gamma, {"alpha": 2, "beta": 1})}).prior
    Given(of={'lam': Gamma(alpha=2, beta=1)}, cells=None)
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

    def pymc_model(self, prior: Given, s: CategoryCounts) -> pm.Model:
        import pymc as pm

        cells = WeightedValues.of(s)
        at = cells.code, cells.column
        with pm.Model() as model:
            theta = {name: make(name, shape=prior.cells.shape) for name, make in prior.learned.items()}
            if len(cells.value):
                given = self._given({name: value[at] for name, value in theta.items()})
                pm.Potential("rows", (cells.weight * self._log_density(given, cells.value.astype(given.dtype))).sum())
        return model

    def _given(self, theta: Mapping[str, Any]) -> Any:
        """The distribution of x, its parameters arrays or tensors."""
        return self.dist.dist(**theta, **self.prior.known)

    def _log_density(self, given: Any, value: Any) -> Any:
        """log p of each of a vector of values."""
        import pymc as pm

        density = pm.logp(given, value)
        if density.ndim != 1:
            raise ValueError(
                f"Expected a univariate distribution, with a density of each cell; got {self.dist.__name__}"
            )
        return density

    def from_variables(self, drawn: Mapping[str, Array], prior: Given, s: CategoryCounts) -> Theta:
        return {name: drawn[name] for name in prior.learned}

    def cell_density(self) -> Callable[..., Array]:
        import pytensor
        from pytensor import tensor as pt

        theta = {name: pt.dvector(name) for name in self.prior.learned}
        given = self._given(theta)
        value = pt.vector("value", dtype=given.dtype)
        # The function is compiled in each call and used a few times, so fast compilation matters most.
        compiled = pytensor.function([value, *theta.values()], self._log_density(given, value), mode="FAST_COMPILE")

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

        return pm.draw(self._given(theta), random_seed=int(rng.integers(2**31)), mode="FAST_COMPILE").astype(float)
