"""Families without a closed form: PyMC samples the posterior of their parameters.

Start with :class:`Sampled`, which meets only the smaller contract, :class:`bayesnb.families.family.Family`. Given the
labels, the posterior factorizes over features, so only these features need NUTS. ``update`` runs it on the model of one
feature, and the posterior is then a :class:`Draws`. An average over the parameters becomes an average over the draws.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.random import Generator
from scipy.special import logsumexp

from bayesnb.chains import Convergence, run_nuts
from bayesnb.families.columns import columns_of
from bayesnb.families.family import Family
from bayesnb.families.levels import CategoryCounts
from bayesnb.families.membership import Column
from bayesnb.kernels.blocks import slices
from bayesnb.numerics import Array, Size
from bayesnb.priors import Belief, Theta
from bayesnb.priors.common_draws import CommonDraws

if TYPE_CHECKING:
    import pymc as pm

CHUNK = 2**20
"""Numbers of a temporary array."""


@dataclass(frozen=True)
class Sampler:
    """How NUTS is run on a feature; the seed makes predictions the same every time.

    Parameters
    ----------
    draws, tune, chains : int
        Kept draws and tuning steps of each chain, and the number of chains.
    random_seed : int
    target_accept : float
        Acceptance that the step size is tuned to; more is slower and diverges less.
    """

    draws: int = 1000
    tune: int = 1000
    chains: int = 4
    random_seed: int = 0
    target_accept: float = 0.9

    def __post_init__(self) -> None:
        for name in ("draws", "tune", "chains"):
            value = getattr(self, name)
            if not isinstance(value, int | np.integer) or value < 1:
                raise ValueError(f"Expected {name} to be a positive whole number; got {value!r}")
        if not 0 < self.target_accept < 1:
            raise ValueError(f"Expected target_accept to lie between 0 and 1; got {self.target_accept!r}")

    def run(self, model: pm.Model) -> tuple[dict[str, Array], Convergence]:
        """Draws of the model's free variables, (draw, ...) with the chains one after the other."""
        from pymc.exceptions import SamplingError

        try:
            tree = run_nuts(
                model,
                self.draws,
                self.chains,
                tune=self.tune,
                nuts_sampler="pymc",
                target_accept=self.target_accept,
                random_seed=self.random_seed,
            )
        except SamplingError as error:
            raise ValueError(
                "NUTS cannot start: some value has probability 0 where the priors begin. Is it outside of what the "
                "distribution can give, or the prior far from the data?"
            ) from error
        posterior = tree["posterior"].dataset
        drawn = {v.name: posterior[v.name].to_numpy() for v in model.free_RVs}
        return {name: v.reshape(-1, *v.shape[2:]) for name, v in drawn.items()}, Convergence.of(tree)


@dataclass(frozen=True, eq=False, repr=False)
class Declared(Belief):
    """The prior of a sampled family: the numbers that its PyMC model needs."""


@dataclass(frozen=True, eq=False, repr=False)
class Draws(Belief):
    """A posterior as draws.

    Parameters
    ----------
    theta : {name: array (draw, class, column[, level])}
    convergence : Convergence
        The diagnostics of their chains.
    """

    theta: Mapping[str, Array]
    convergence: Convergence

    _class_axis: ClassVar[int] = 1

    def __len__(self) -> int:
        return len(next(iter(self.theta.values())))

    def proper(self) -> Array:
        return np.ones(next(iter(self.theta.values())).shape[1:3], bool)

    def mean(self) -> dict[str, Array]:
        return {name: value.mean(0) for name, value in self.theta.items()}

    def variance(self) -> dict[str, Array]:
        return {name: value.var(0) for name, value in self.theta.items()}

    def draw(self, rng: Generator, size: Size = ()) -> dict[str, Array]:
        picked = rng.integers(len(self), size=size)
        return {name: value[picked] for name, value in self.theta.items()}


@dataclass(frozen=True, eq=False, init=False)
class Sampled[P: Declared](Family[P, CategoryCounts]):
    """A class-conditional likelihood p(x | θ) with a prior that is not conjugate.

    Columns must be independent given the class, a priori and therefore a posteriori. The predictive is then a product
    over columns of averages over draws, which varies less between runs than the average of the product.

    Parameters
    ----------
    sampler : Sampler
    """

    sampler: Sampler

    def _set_fields(self, prior: P, sampler: Mapping[str, Any], **fields: Any) -> None:
        """Set the fields, which differ from the arguments of the constructor."""
        for name, value in {"prior": prior, "sampler": Sampler(**sampler), **fields}.items():
            object.__setattr__(self, name, value)
        self.__post_init__()

    @abstractmethod
    def pymc_model(self, prior: P, s: CategoryCounts) -> pm.Model:
        """The model of this one feature given the labels, its data observed; the prior at its full shape."""

    @abstractmethod
    def from_variables(self, drawn: Mapping[str, Array], prior: P, s: CategoryCounts) -> Theta:
        """θ as (draw, class, column[, level]) from draws of the model's free variables, (draw, ...)."""

    @abstractmethod
    def density(self) -> Callable[[Theta, Column], Array]:
        """``log_likelihood`` as a function, compiled once if it needs compiling."""

    def update(self, prior: P, s: CategoryCounts) -> Draws:
        """Bayes' rule by NUTS.

        Warns
        -----
        UserWarning
            If the chains did not converge, with r_hat, effective draws and divergences.
        """
        drawn, convergence = self.sampler.run(self.pymc_model(prior, s))
        if not convergence.converged:
            warnings.warn(
                f"{type(self).__name__} was sampled and did not converge: {convergence}. Draw or tune more (it takes "
                "draws=, tune= and target_accept=), or give it firmer priors",
                UserWarning,
                stacklevel=2,
            )
        return Draws(self.from_variables(drawn, prior, s), convergence)

    def log_likelihood(self, theta: Theta, x: Column) -> Array:
        return self.density()(theta, x)

    def draw(self, posterior: Draws, rng: Generator, size: Size = ()) -> Theta:
        return posterior.draw(rng, size)

    def from_chains(self, posterior: Draws, shape: tuple[int, int]) -> Theta | None:
        """Evenly spaced draws in the order of the chains, (chain, draw) in front; None if there are not so many."""
        (chains, draws), own = shape, len(posterior) // self.sampler.chains
        if chains > self.sampler.chains or not 0 < draws <= own:
            return None
        index = np.arange(chains)[:, None] * own + np.arange(draws) * (own // draws)
        return {name: value[index] for name, value in posterior.theta.items()}

    def draw_prior(self, prior: P, s: CategoryCounts, rng: Generator, size: tuple[int, ...]) -> Theta:
        """Draws of θ from the prior, ``size`` in front. The statistic only says which levels there are."""
        import pymc as pm

        none = s * 0.0
        model = self.pymc_model(prior, none)
        names, n = [variable.name for variable in model.free_RVs], int(np.prod(size))
        drawn = pm.draw(model.free_RVs, n, random_seed=rng, mode="FAST_COMPILE")
        # One draw comes without an axis for it.
        drawn = [np.reshape(value, (n, *np.shape(value)[n > 1 :])) for value in drawn]
        values = dict(zip(names, drawn, strict=True))
        theta = self.from_variables(values, prior, none)
        return {name: value.reshape(*size, *value.shape[1:]) for name, value in theta.items()}

    def log_predictive(self, posterior: Draws, x: Column) -> Array:
        return self.log_moment(posterior, x, 1.0)

    def log_moment(self, posterior: Draws, x: Column, t: float | Array) -> Array:
        t = np.broadcast_to(np.asarray(t, float), (len(x), posterior.proper().shape[0]))
        total = np.zeros(t.shape)
        for _, cut, value in self.by_column(posterior, x):
            # The likelihood is averaged over draws, never a normalized probability.
            total[cut] += logsumexp(t[cut] * value, axis=0) - np.log(len(posterior))
        return total

    def log_likelihood_given_row(
        self, posterior: Draws, theta: Theta, x: Column, chosen: Array, common: CommonDraws
    ) -> Array:
        # Draws of the chain are drawn again, each with a probability proportional to what it says of the row's cell.
        # The columns are independent, so each column is drawn by itself, as in its predictive.
        found = np.zeros((*chosen.shape, posterior.proper().shape[0]))
        for column, cut, value in self.by_column(posterior, x):
            u = common.generator(column).random(common.draws)
            for row, c in ((r, c) for r in range(*cut.indices(len(x))) for c in np.unique(chosen[:, r])):
                own = value[:, row - cut.start]
                share = np.cumsum(np.exp(own[:, c] - own[:, c].max()))
                picked, mine = np.searchsorted(share, u * share[-1]), chosen[:, row] == c
                found[mine, row] += own[np.minimum(picked[mine], len(own) - 1)]
        return found

    def paired(self, posterior: Draws, x: Column) -> Iterator[tuple[slice, Array]]:
        """log p(x | θ) at every draw, (draw, row, class), a few rows at a time.

        A draw is a θ of all classes. What they share, such as a learned concentration, makes the classes dependent.
        """
        density = self.density()
        for cut in slices(len(x), max(1, CHUNK // (len(posterior) * posterior.proper().shape[0]))):
            yield cut, density(posterior.theta, x[cut])

    def by_column(self, posterior: Draws, x: Column) -> Iterator[tuple[int, slice, Array]]:
        """The columns, and log p(x_j | θ) of each at every draw, (draw, row, class), a few rows at a time."""
        (n_classes, n_columns), density = posterior.proper().shape, self.density()
        for column in range(n_columns):
            theta = {name: value[:, :, [column]] for name, value in posterior.theta.items()}
            cells = columns_of(x, [column])
            for cut in slices(len(x), max(1, CHUNK // (len(posterior) * n_classes))):
                yield column, cut, density(theta, cells[cut])

    def theta(self, variables: Mapping[str, Array]) -> Theta:
        return dict(variables)

    def variables(self, theta: Theta) -> dict[str, Array]:
        return dict(theta)
