"""The contract of a conjugate pair: a likelihood p(x | θ) with its conjugate prior p(θ).

A pair turns rows into a :class:`Statistic`, and says what a statistic and what a cell add to the prior's parameters.
Everything else follows from the prior (see :class:`bayesnb.priors.Prior`), and :class:`Conjugate` derives it:
posterior, predictive, moments and their slopes, leave-one-out, evidence, and draws given a row. It also handles missing
cells, weights and blocks of cells.

To add a pair, write one file beside this one:

1. a frozen ``Statistic`` (what is summed over rows); ``per`` says along what each field goes;
2. a frozen ``Conjugate`` with a default prior, the values that it can read (its ``support``), and these methods:

   * ``statistic``: the sums over rows, by class;
   * ``resolve_prior``: what the prior leaves open, filled in from the data;
   * ``added``: what a statistic adds to the prior's parameters, d, and its log base measure;
   * ``cells``: the same of each cell;
   * ``log_likelihood``: log p(x | θ);
   * ``sample``: one x for each θ;
   * ``pymc_rows`` and ``pymc_log_likelihood``: the likelihood in PyMC, observed and summed;
   * ``linear``, only where the log-odds are linear in the columns;

3. its line in ``bayesnb/__init__.pyi``;
4. its line in ``FAMILIES`` of ``tests/test_laws.py``, which proves it.

If there is a faster formula, ``quick_predictive``, ``quick_moment`` and ``quick_left_out`` may compute it instead of
the derived one. A caller cannot tell which of them was used, and the laws check that both give the same result.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from numpy.random import Generator
from scipy import sparse

from bayesnb.families.columns import columns_of, known_cells, rows_of
from bayesnb.families.family import Family
from bayesnb.families.tuning import strengths
from bayesnb.kernels.blocks import CELLS, slices
from bayesnb.numerics import Array, Size
from bayesnb.priors import ImproperError, Prior, Theta, first, shared
from bayesnb.priors.belief import parts_of
from bayesnb.priors.common_draws import CommonDraws
from bayesnb.statistics.errors import LocatedError
from bayesnb.statistics.membership import Column, Labels
from bayesnb.statistics.statistic import Statistic

type Added = tuple[tuple[Array, ...], Array]
"""What data add to the parameters of a prior, d; and ln h, their log base measure plus ``peak(d)`` of the prior."""

type Cells = tuple[Any, tuple[Array, ...], Array | float]
"""A belief (a :class:`Prior`, or a :class:`Chance`), what each cell adds to it, and ln h of each cell."""


ROUNDED = (
    "without one of its rows, rounding leaves nothing of a class and its prior: divide the sample_weight of all rows "
    "by the same number, or give a stronger prior"
)


@dataclass(frozen=True, eq=False)
class Conjugate[P: Prior, S: Statistic](Family[P, S]):
    """A likelihood p(x | θ) = h(x) L_d(θ) with the conjugate prior of θ: a pair.

    The prior defines how d is added (``plus``), and the integral over L_d (``along`` and its slopes). A pair defines d
    and h of its statistic and of its cells. ``along`` divides L_d by its maximum, so the maximum is part of ln h: here
    it is ln h(x) + ln max L_d, the log-likelihood of x at the θ that fits it best.
    """

    exact = True

    @abstractmethod
    def added(self, s: S) -> Added:
        """d of a statistic, and its ln h as (class[, column])."""

    @abstractmethod
    def cells(self, posterior: P, x: Column) -> Cells:
        """The belief about each cell, its d and its ln h.

        The parameters of the posterior are (class, column[, level]); d and ln h broadcast to (row, class, column[,
        level]). Their values at missing cells are not used.
        """

    def alike(self, posterior: P, x: Column) -> Iterator[tuple[Any, P, Column]]:
        """Yield rows whose cells have one belief: which rows, the belief, and their cells. Others add nothing.

        (A hook, for whole rows whose belief depends on which of their cells are missing.)
        """
        yield slice(None), posterior, x

    @abstractmethod
    def pymc_rows(self, name: str, theta: Mapping[str, Any], x: Column, y: Any) -> None:
        """Add x ~ p(x | θ[y]) to the open model, every row an observation; missing cells have no term."""

    @abstractmethod
    def pymc_log_likelihood(self, theta: Mapping[str, Any], x: Column) -> Any:
        """log p(x | θ) as a (row, class) tensor."""

    def lengths(self) -> dict[str, int]:
        """The length of each axis of its variables that is neither class nor column nor level."""
        return {"node": len(names)} if (names := self.node_names()) else {}

    def variable_axes(self) -> dict[str, tuple[str, ...]]:
        return dict.fromkeys(self.conjugate.parameters, ("class", "column", *self.lengths()))

    def quick_predictive(self, posterior: P, x: Column) -> Array | None:
        """``log_predictive`` by a faster formula, or None if there is none. (A hook.)"""
        return None

    def quick_moment(self, posterior: P, x: Column, t: Array) -> Array | None:
        """``log_moment`` by a faster formula, or None if there is none. (A hook.)"""
        return None

    def quick_left_out(self, posterior: P, x: Column, labels: Labels) -> Array | None:
        """``log_left_out`` by a faster formula, or None. A row with NaN gets the derived formula. (A hook.)"""
        return None

    # The methods that follow from these.

    def flat(self) -> Self:
        """The same likelihood under the prior whose mode is the maximum-likelihood estimate."""
        return replace(self, prior=self.conjugate.flat())

    def tuned(self, prior: P, s: S) -> P:
        return prior.strengthened(list(self.tuning(prior, s).values())) if self.learns_prior else prior

    def learned(self, s: S) -> str:
        factors = self.tuning(self.resolve_prior(self.prior, s), s) if self.learns_prior else {}
        return "; ".join(f"{name} × {factor:.3g}" for name, factor in factors.items())

    def tuning(self, prior: P, s: S) -> dict[str, float]:
        """The learned factors of a prior at its full shape, by name; see ``bayesnb.families.tuning``."""
        d, log_h = self.added(s)

        def log_evidence(factors: Array) -> float:
            return float((prior.strengthened(factors).along(*d) + log_h).sum())

        return dict(zip(prior.strengths, strengths(log_evidence, len(prior.strengths)).tolist(), strict=True))

    def update(self, prior: P, s: S) -> P:
        return replace(prior.plus(*self.added(s)[0]))

    def log_evidence(self, prior: P, s: S) -> Array:
        """log p(data | class) as (class, ...), each cell a term; the prior is at its full shape."""
        if not prior.proper().all():
            raise ImproperError(
                "an improper prior has no evidence; give a proper one to compare models",
                first(~prior.proper()),
            )
        d, log_h = self.added(s)
        return prior.along(*d) + log_h

    def log_base(self, s: S) -> Array:
        """The log base measure of all rows, (class, ...): the part of log p(data | θ) that does not depend on θ."""
        d, log_h = self.added(s)
        return log_h - self.conjugate.peak(*d)

    def mean(self, posterior: P) -> Theta:
        return posterior.canonical().mean_theta()

    def mode(self, posterior: P) -> Theta:
        """The posterior mode of the parameters."""
        return posterior.canonical().mode_theta()

    def draw(self, posterior: P, rng: Generator, size: Size = ()) -> Theta:
        return posterior.draw_theta(rng, size)

    def variables(self, theta: Theta) -> dict[str, Array]:
        return dict(zip(self.conjugate.parameters, self.conjugate.point(theta), strict=True))

    def theta(self, variables: Mapping[str, Array]) -> Theta:
        """θ from its PyMC variables. (A hook, if they do not determine it without the family.)"""
        return self.conjugate.theta(*(variables[name] for name in self.conjugate.parameters))

    def log_predictive(self, posterior: P, x: Column) -> Array:
        posterior.require_proper("A predictive")
        quick = self.quick_predictive(posterior, x)
        return self.log_moment(posterior, x, 1.0) if quick is None else quick

    def log_moment(self, posterior: P, x: Column, t: float | Array) -> Array:
        """log E[p(x | θ)^t] as (row, class); t is a number or broadcasts to (row, class).

        At t = 1 it is ``log_predictive``; its derivatives at 0 are the mean and the variance of
        log p(x | θ). Infinite where the moment does not exist.
        """
        t = np.broadcast_to(np.asarray(t, float), (rows_of(x), len(posterior.proper())))
        if (quick := self.quick_moment(posterior, x, t)) is not None:
            return quick
        return self.derived_moment(posterior, x, t)

    def derived_moment(self, posterior: P, x: Column, t: Array) -> Array:
        """``log_moment`` as it follows from ``cells``; t is (row, class)."""
        total = np.zeros(t.shape)
        for rows, _, (belief, d, log_h), known in self._blocks(posterior, x):
            exponent = t[rows, :, None]
            value = belief.along(*d, t=exponent) + exponent * log_h
            total[rows] += np.where(known, value, 0.0).sum(-1)
        return total

    def log_moment_slopes(self, posterior: P, x: Column, t: float | Array) -> tuple[Array, Array]:
        """First and second derivative of ``log_moment`` in t, (row, class) each, where it exists.

        At t = 0 they are the mean and the variance of log p(x | θ) under the posterior.
        """
        total = np.zeros((2, rows_of(x), len(posterior.proper())))
        t = np.broadcast_to(np.asarray(t, float), total.shape[1:])
        for rows, _, (belief, d, log_h), known in self._blocks(posterior, x):
            mean, variance = belief.slopes(*d, t=t[rows, :, None])
            total[0, rows] += np.where(known, mean + log_h, 0.0).sum(-1)
            total[1, rows] += np.where(known, variance, 0.0).sum(-1)
        return total[0], total[1]

    def cumulants(self, posterior: P, x: Column, t: Array) -> Array:
        """``log_moment`` with its first and second derivative in t, (3, row, class)."""
        return np.stack([self.log_moment(posterior, x, t), *self.log_moment_slopes(posterior, x, t)])

    def moment_floor(self, posterior: P, x: Column) -> Array:
        """The t < 0 above which ``log_moment`` exists, (row, class)."""
        highest = np.full((rows_of(x), len(posterior.proper())), -np.inf)
        for rows, _, (belief, d, _), known in self._blocks(posterior, x):
            own = np.where(known, belief.floor(*d), -np.inf).max(-1, initial=-np.inf)
            highest[rows] = np.maximum(highest[rows], own)
        return highest

    def log_likelihood_given_row(
        self, posterior: P, theta: Theta, x: Column, chosen: Array, common: CommonDraws
    ) -> Array:
        # θ of different classes are independent, so the row changes the draws of its own class alone.
        found = self.log_likelihood(theta, x)
        for c in range(found.shape[-1]):
            of_class = chosen == c
            some = of_class.any(0)
            if some.any():
                # A slice of all rows copies nothing.
                rows = slice(None) if some.all() else np.flatnonzero(some)
                own = self._drawn_with_row(posterior.at([c]), x[rows], common.within(c))
                found[:, rows, c] = np.where(of_class[:, rows], own, found[:, rows, c])
        return found

    def _drawn_with_row(self, posterior: P, x: Column, common: CommonDraws) -> Array:
        """log p(x_i | θ) of one class at draws of θ given all that it has seen and row i, (draw, row)."""
        total = np.zeros((common.draws, rows_of(x)))
        for rows, column, (belief, d, log_h), known in self._blocks(posterior, x, common.draws):
            drawn = belief.plus(*d).drawn_along(*d, common=common.from_column(column))
            total[:, rows] += np.where(known, drawn + log_h, 0.0).sum((-2, -1))
        return total

    def log_left_out(
        self, posterior: P, x: Column, labels: Labels, point: Literal["mode", "mean"] | None = None
    ) -> Array:
        """log p(x_i | class of i, all rows but i) as (row,), for rows that ``posterior`` has seen.

        The parameters are integrated out, or ``point`` of their posterior without row i is plugged in.
        """
        if point is not None:
            return self.derived_left_out(posterior, x, labels, point)
        total = self.quick_left_out(posterior, x, labels)
        if total is None:
            return self.derived_left_out(posterior, x, labels)
        if len(odd := np.flatnonzero(np.isnan(total))):
            total[odd] = self.derived_left_out(posterior, x[odd], labels[odd])
        return total

    def left_out_of_all(self, posterior: P, s: S, x: Column, labels: Labels) -> Array:
        """log p(x_i | c, all rows but i) of every class c, as (row, class), for rows that ``posterior`` has seen."""
        found = self.shared_left_out(posterior, s, x, labels)
        if found is None:
            found = self.log_predictive(posterior, x)
            found[np.arange(len(labels)), labels.codes] = self.log_left_out(posterior, x, labels)
        return found

    def shared_left_out(self, posterior: P, s: S, x: Column, labels: Labels) -> Array | None:
        """``left_out_of_all`` where the prior of all classes holds the row too, else None. (A hook.)"""
        return None

    def derived_left_out(
        self, posterior: P, x: Column, labels: Labels, point: Literal["mode", "mean"] | None = None
    ) -> Array:
        """``log_left_out`` as it follows from ``cells``: ``along`` of the posterior without the row, plus ln h.

        Where a point is plugged in, ``log_kernel`` at that point of the posterior takes the place of ``along``.
        """
        total = np.zeros(len(labels))
        for c in np.unique(labels.codes):
            own = np.flatnonzero(labels.codes == c)
            weight, rest = labels.weight[own], np.zeros(len(own))
            for rows, column, (belief, d, log_h), known in self._blocks(posterior.at([c]), x[own]):
                cell = int(c), column
                # Nothing is taken away where a cell is missing, and 0 times NaN would still be NaN.
                d = of_known(d, known)
                left = _left(belief, d, np.where(known, weight[rows, None, None], 0.0), known, cell)
                value = left.along(*d) if point is None else belief.log_kernel(_theta(left, point, cell), *d)
                if np.isnan(np.where(known, value, 0.0)).any():
                    raise ImproperError(ROUNDED, (int(c),))
                rest[rows] += np.where(known, value + log_h, 0.0).sum((1, 2))
            total[own] = rest
        return total

    def _blocks(self, posterior: P, x: Column, draws: int = 1) -> Iterator[tuple[Any, int, Cells, Array]]:
        """Yield blocks of cells: their rows, first column, ``cells``, and which are not missing, (row, 1, column).

        Every cell will have so many ``draws``.
        """
        if self.whole_rows:
            yield from self._whole_rows(posterior, x, draws)
            return
        classes, width = posterior.proper().shape
        with np.errstate(all="ignore"):
            for rows in slices(rows_of(x), max(1, CELLS // (classes * draws))):
                part = x[rows]
                for cut in slices(width, max(1, CELLS // (classes * draws * max(1, rows_of(part))))):
                    index = range(*cut.indices(width))
                    whole = len(index) == width
                    here = part if whole else columns_of(part, index)
                    here = here.toarray() if sparse.issparse(here) else here
                    believed = posterior if whole else posterior.columns(list(index))
                    yield rows, cut.start, self.cells(believed, here), known_cells(here)

    def _whole_rows(self, posterior: P, x: Column, draws: int) -> Iterator[tuple[Any, int, Cells, Array]]:
        """The same of rows whose columns share one θ: a cell is a row, and none of them is missing."""
        size = CELLS // (len(posterior.proper()) * posterior.cell_size * draws)
        with np.errstate(all="ignore"):
            for rows, believed, part in self.alike(posterior, x):
                position = np.arange(rows_of(x))[rows]
                for cut in slices(rows_of(part), max(1, size)):
                    yield position[cut], 0, self.cells(believed, part[cut]), np.True_

    # The same family in PyMC. The names of the variables are those of `variables` and of their block.

    def pymc_prior(self, prior: P, name: Callable[[str], str], dims: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
        """Add the variables of θ to the open model; ``name`` turns a variable's name into its full one. (A hook.)

        ``dims`` are the dimensions of each variable.
        """
        longest = max(dims.values(), key=len)
        return dict(zip(prior.parameters, parts_of(prior.pymc(name, longest)), strict=True))

    def pymc_statistic(self, theta: Mapping[str, Any], s: S) -> Any:
        """log p(data | θ) as a scalar tensor, from the sufficient statistic. (A hook.)"""
        d, _ = self.added(s)
        return self.conjugate.pymc_likelihood(theta, *map(shared, d)) + shared(self.log_base(s).sum())


def of_known(d: tuple[Any, ...], known: Array) -> tuple[Any, ...]:
    """What cells add, without that of missing ones; a tuple within is that of a part of a compound family."""
    return tuple(of_known(v, known) if isinstance(v, tuple) else v if v is None else np.where(known, v, 0.0) for v in d)


def _left(belief: Any, d: tuple[Array, ...], weight: Array, known: Array, cell: tuple[int, int]) -> Any:
    """The belief without a cell of this weight; raises :class:`ImproperError` if it is not proper without it."""
    left = belief.plus(*d, t=-weight)
    improper = np.broadcast_to(known & ~left.proper(), np.broadcast_shapes(np.shape(known), left.proper().shape))
    if improper.any():
        raise ImproperError(
            "without one of its rows nothing proper is left of a class under this prior; use a proper prior",
            (cell[0], cell[1] + first(improper)[-1]),
        )
    return left


def _theta(left: Any, point: str, cell: tuple[int, int]) -> Theta:
    """The point of beliefs (row, 1, column) without their rows; an error names the class and the column of the cell."""
    try:
        return left.mode_theta() if point == "mode" else left.mean_theta()
    except LocatedError as error:
        raise type(error)(str(error), (cell[0], cell[1] + error.where[2], *error.where[3:])) from error
