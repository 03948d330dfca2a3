"""Families without a closed form: PyMC samples the posterior of their parameters.

Start with :class:`Sampled`, which meets only the smaller contract, :class:`bayesnb.families.family.Family`. Given the
labels, the posterior factorizes over features, so only these features need NUTS. ``update`` runs it on the model of one
feature, and the posterior is then a :class:`Draws`. An average over the parameters becomes an average over the draws
(see ``strata`` for columns that share parameters).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator

from bayesnb.chains import GOOD_K, Convergence, Sampler, weights_without
from bayesnb.families.columns import columns_of, dense_cells
from bayesnb.families.family import Family
from bayesnb.families.strata import Strata
from bayesnb.kernels.blocks import slices
from bayesnb.numerics import Array, Size
from bayesnb.priors import Belief, Theta
from bayesnb.priors.common_draws import CommonDraws
from bayesnb.statistics.membership import Column, Labels
from bayesnb.statistics.statistic import Statistic

CHUNK = 2**20
"""Numbers of a temporary array."""


@dataclass(frozen=True, eq=False, repr=False)
class Declared(Belief):
    """The prior of a sampled family: the numbers that its PyMC model needs."""

    def _as_arrays(self, *names: str) -> None:
        """Turn those of these fields that are given into arrays of floats."""
        for name in names:
            if (value := getattr(self, name)) is not None:
                object.__setattr__(self, name, np.asarray(value, float))

    def _require_positive(self, *names: str) -> None:
        """Raise ``ValueError`` unless each of these fields is positive and finite, or None."""
        for name in names:
            value = getattr(self, name)
            if value is not None and not (np.isfinite(value) & (np.asarray(value, float) > 0)).all():
                raise ValueError(f"Expected {name} to be positive and finite, or None; got {value!r}")


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


@dataclass(frozen=True, eq=False)
class LeftOut:
    """What draws say of cells that were learned, each left out of them.

    Parameters
    ----------
    log_predictive : array (row, class, term)
        log p(x_ij | c, D without row i), 0 for a missing cell: a term for each column, or one for all of them if they
        share parameters.
    k : array (row, column)
        The shape of the tail of the weights (see ``bayesnb.chains.weights_without``); 0 for a cell that was sampled
        again without its row, NaN for a missing one.
    again : tuple of Convergence
        How the chains of those that were sampled again went.
    """

    log_predictive: Array
    k: Array
    again: tuple[Convergence, ...] = ()


@dataclass(frozen=True, eq=False, init=False)
class Sampled[P: Declared, S: Statistic](Family[P, S]):
    """A class-conditional likelihood p(x | θ) with a prior that is not conjugate.

    Columns must be independent given the class, a priori and therefore a posteriori; or given the class and the numbers
    that :meth:`shared` names. The predictive is then a product over columns of averages over draws, or an average of
    such products (see ``strata``), which varies less between runs than the average of the products of single draws.

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

    @classmethod
    def of_fields(cls, sampler: Sampler, **fields: Any) -> Self:
        """The family with these fields, as ``dataclasses.replace`` would make it if they were its arguments."""
        made = object.__new__(cls)
        made._set_fields(sampler=asdict(sampler), **fields)
        return made

    @abstractmethod
    def sampled(self, prior: P, s: S) -> tuple[Theta, Convergence]:
        """θ from NUTS on the model of this one feature given the labels, (draw, class, column, ...)."""

    @abstractmethod
    def density(self) -> Callable[[Theta, Column], Array]:
        """``log_likelihood`` as a function, compiled once if it needs compiling."""

    @abstractmethod
    def log_prior(self, prior: P, variables: Mapping[str, Array]) -> dict[str, Array]:
        """The log prior density of each variable, given those that its prior depends on; a vector has one density."""

    @property
    def reads_together(self) -> bool:
        return super().reads_together or self.one_term

    def shared(self, theta: Theta) -> Array | None:
        """The numbers given which the columns are independent, (draw, number). (A hook, if columns share some.)"""
        return None

    def strata(self, posterior: Draws) -> Strata:
        """Sets of draws in each of which the columns are independent."""
        return Strata.of(self.shared(posterior.theta), len(posterior))

    @property
    def has_log_prior(self) -> bool:
        """Whether ``log_prior`` can be computed from the variables. (A hook.)"""
        return True

    # The same family in PyMC, as a part of the whole model. Its variables are those that `axes` names.

    @abstractmethod
    def pymc_prior(self, prior: P, name: Callable[[str], str], dims: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
        """Add the variables of θ to the open model; ``name`` turns a variable's name into its full one."""

    @abstractmethod
    def pymc_statistic(self, theta: Mapping[str, Any], s: S) -> Any:
        """log p(data | θ) as a scalar tensor, from the statistic."""

    @abstractmethod
    def pymc_rows(self, name: str, theta: Mapping[str, Any], x: Column, y: Any) -> None:
        """Add x ~ p(x | θ[y]) to the open model, every row an observation; missing cells have no term."""

    @abstractmethod
    def pymc_log_likelihood(self, theta: Mapping[str, Any], x: Column) -> Any:
        """log p(x | θ) as a (row, class) tensor."""

    def update(self, prior: P, s: S) -> Draws:
        """Bayes' rule by NUTS. The result says whether the chains converged (``convergence``)."""
        return Draws(*self.sampled(prior, s))

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

    def draw_prior(self, prior: P, rng: Generator, n: int) -> dict[str, Array]:
        """``n`` draws of the variables from the prior, (draw, ...)."""
        import pymc as pm

        with pm.Model():
            made = self.pymc_prior(prior, str, {})
        drawn = pm.draw(list(made.values()), n, random_seed=rng, mode="FAST_COMPILE")
        # One draw comes without an axis for it.
        return {key: np.reshape(value, (n, *np.shape(value)[n > 1 :])) for key, value in zip(made, drawn, strict=True)}

    def log_predictive(self, posterior: Draws, x: Column) -> Array:
        return self.log_moment(posterior, x, 1.0)

    def log_moment(self, posterior: Draws, x: Column, t: float | Array) -> Array:
        t = np.broadcast_to(np.asarray(t, float), (len(x), posterior.proper().shape[0]))
        strata, found = self.strata(posterior), np.empty(t.shape)
        for cut in slices(len(x), max(1, CHUNK // (len(strata) * t.shape[1]))):
            found[cut] = strata.average(self.log_moments(posterior, x[cut], t[cut]))
        return found

    def log_moments(self, posterior: Draws, x: Column, t: Array) -> Array:
        """ln E[p(x | θ)^t] over the draws of each stratum, (stratum, row, class); ``t`` is (row, class)."""
        strata = self.strata(posterior)
        total = np.zeros((len(strata), *t.shape))
        for _, cut, value in self.by_column(posterior, x):
            # The likelihood is averaged over draws, never a normalized probability.
            total[:, cut] += strata.averages(t[cut] * value)
        return total

    def log_likelihood_given_row(
        self, posterior: Draws, theta: Theta, x: Column, chosen: Array, common: CommonDraws
    ) -> Array:
        # Draws of the chain are drawn again, each with a probability proportional to what it says of the row's cell:
        # first a stratum, by what it says of the whole row, and within it each column by itself, as in its predictive.
        n_classes, n_columns = posterior.proper().shape
        found, strata = np.zeros((*chosen.shape, n_classes)), self.strata(posterior)
        says = self.log_moments(posterior, x, np.ones((len(x), n_classes)))
        stratum = strata.picked(says, chosen, common.generator(n_columns).random(common.draws))
        for column, cut, value in self.by_column(posterior, x):
            u = common.generator(column).random(common.draws)
            for row, c in ((r, c) for r in range(*cut.indices(len(x))) for c in np.unique(chosen[:, r])):
                own, mine = value[:, row - cut.start], chosen[:, row] == c
                found[mine, row] += own[strata.drawn(own[:, c], stratum[mine, row], u[mine])]
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

    def left_out(self, posterior: Draws, x: Column, labels: Labels, learned: tuple[P, S] | None = None) -> LeftOut:
        """What was learned says of rows that were learned, each left out.

        The draws are weighted (see ``bayesnb.chains.weights_without``), column by column, since the posterior of a
        column without a row depends on the row's cell in this column alone. If columns share parameters, this holds
        within a stratum; and a stratum weighs as much as the weights of its draws, multiplied over the columns, say.

        Parameters
        ----------
        posterior : Draws
        x : Column
        labels : Labels
            The classes of the rows, and how often they were learned.
        learned : (prior, statistic), optional
            The prior at its full shape, and the statistic that led to the draws: sample again, without the cell (or the
            row, if columns share parameters), where weights cannot be trusted.
        """
        strata, shape = self.strata(posterior), posterior.proper().shape
        k, again = np.full((len(labels), shape[1]), np.nan), []
        # What each stratum says of each cell, the cell left out of it, and how the strata then weigh.
        alone = len(strata) == 1
        terms = np.zeros((len(strata), len(labels), shape[0], shape[1] if alone else 1))
        weights = np.zeros(terms.shape[:2])
        for j, rows, place in self._distinct(x, labels):
            log_p, log_weight, own_k = self._without(
                posterior.columns([j]), columns_of(x, [j])[rows], labels[rows], strata
            )
            if alone and learned is not None:
                for i in np.flatnonzero(own_k > GOOD_K):
                    row = rows[[i]]
                    believed = self._again(*learned, x[row], labels[row], [j])
                    log_p[:, i], own_k[i] = self.log_predictive(believed, columns_of(x, [j])[row])[0], 0.0
                    again.append(believed.convergence)
            known = place >= 0
            terms[..., j if alone else 0][:, known] += log_p[:, place[known]]
            weights[:, known] += log_weight[:, place[known]]
            k[known, j] = own_k[place[known]]
        if alone:
            return LeftOut(terms[0], k, tuple(again))
        total = strata.average(terms, weights[:, :, None, None])
        for i in np.flatnonzero((k > GOOD_K).any(1)) if learned is not None else ():
            believed = self._again(*learned, x[[i]], labels[[i]], range(shape[1]))
            total[i, :, 0], k[i, k[i] > GOOD_K] = self.log_predictive(believed, x[[i]])[0], 0.0
            again.append(believed.convergence)
        return LeftOut(total, k, tuple(again))

    def _distinct(self, x: Column, labels: Labels) -> Iterator[tuple[int, Array, Array]]:
        """Each column, one row of each of its distinct cells, and the place of each row's cell there; -1 is missing.

        Equal cells of a class with equal weights leave the same behind.
        """
        cells = dense_cells(x)
        for j, column in enumerate(cells.T):
            known = np.flatnonzero(~np.isnan(column))
            if not len(known):
                continue
            each = np.column_stack([column[known], labels.codes[known], labels.weight[known]])
            _, first, own = np.unique(each, axis=0, return_index=True, return_inverse=True)
            place = np.full(len(column), -1)
            place[known] = own.ravel()
            yield j, known[first], place

    def _without(self, posterior: Draws, x: Column, labels: Labels, strata: Strata) -> tuple[Array, Array, Array]:
        """What each stratum says of cells of one column, each left out of its draws.

        Returns
        -------
        log_p : array (stratum, row, class)
            The weighted averages over draws.
        log_weight : array (stratum, row)
            The average of the weights.
        k : array (row,)
        """
        n_classes, density = posterior.proper().shape[0], self.density()
        total, k = np.zeros((len(strata), len(labels), n_classes)), np.zeros(len(labels))
        log_weights = np.zeros(total.shape[:2])
        for cut in slices(len(labels), max(1, CHUNK // (len(posterior) * n_classes))):
            value = density(posterior.theta, x[cut])
            own = value[:, np.arange(value.shape[1]), labels.codes[cut]]
            log_weight, k[cut] = weights_without(own, labels.weight[cut], self.sampler.chains)
            log_weights[:, cut] = strata.averages(log_weight)
            total[:, cut] = strata.averages(log_weight[:, :, None] + value) - log_weights[:, cut, None]
        return total, log_weights, k

    def _again(self, prior: P, s: S, x: Column, labels: Labels, columns: Sequence[int]) -> Draws:
        """The posterior of some columns without these rows, sampled."""
        rest = (s - self.statistic(x, labels)).settled(s)
        return self.update(prior.columns(columns), rest.columns(columns))

    def axes(self, variables: Mapping[str, Array]) -> dict[str, tuple[str, ...]]:
        """The axes of each variable, without those of draws, from a point of them. (A hook.)

        They are "class", "column", "level", or a name of its own for an axis of a vector parameter.
        """
        return {
            key: ("class", "column", *(f"{key}_{i}" for i in range(value.ndim - 2))) for key, value in variables.items()
        }

    def theta(self, variables: Mapping[str, Array]) -> Theta:
        """θ from its variables. (A hook, if classes share some of them.)"""
        return dict(variables)

    def variables(self, theta: Theta) -> dict[str, Array]:
        """θ as its variables. (A hook, if classes share some of them.)"""
        return dict(theta)
