"""Base class of conjugate pairs: a likelihood with its conjugate prior, for many, weighted or missing cells."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.random import Generator
from scipy import sparse

from bayesnb.families.columns import Tabulated, Tally, columns_of, dense, known_cells, present, tabulated
from bayesnb.families.family import Dims, Family, Name
from bayesnb.kernels import blocks, densities
from bayesnb.numerics import Array, Size
from bayesnb.priors import ImproperError, Prior, Theta, first, shared
from bayesnb.priors.belief import LocatedError, Point, parts_of
from bayesnb.priors.common_draws import CommonDraws
from bayesnb.priors.elicitation import learned_strengths
from bayesnb.statistics.moments import patterns
from bayesnb.statistics.statistic import Column, Labels, Statistic, arrays_of

type Added = tuple[tuple[Array, ...], Array]
"""The increments d of the prior's parameters, and ln h, the log-likelihood at the θ that fits best."""

type Cells = tuple[Any, tuple[Array, ...], Array | float]
"""A belief (a :class:`Prior`, or a belief about a single outcome), and for each cell its increments d and its ln h."""

ROUNDED = (
    "without one of its rows, rounding leaves nothing of a class and its prior: divide the sample_weight of all rows "
    "by the same number, or give a stronger prior"
)

MANY_NUMBERS = 128
"""Numbers in a posterior, per class and column, above which log p(x | θ) is drawn per cell, not all of θ."""

FEW_WEIGHTS = 8
"""Largest number of distinct row weights for which leave-one-out uses tables, one per weight."""


@dataclass(frozen=True, eq=False)
class Conjugate[P: Prior, S: Statistic](Family[P, S]):
    """A conjugate pair: a likelihood p(x | θ) = h(x) L_d(θ) with the conjugate prior of θ.

    A subclass defines d and h(x). The increments d are added to the prior's parameters if x is learned. The number h(x)
    is the likelihood of x at the θ that fits x best.
    """

    @abstractmethod
    def added(self, s: S) -> tuple[Array, ...]:
        """The increments d that a statistic adds to the parameters of the prior, (class[, column])."""

    @abstractmethod
    def said(self, x: Column) -> Added:
        """For each cell, the increments d and ln h (see :class:`Conjugate`), (row, class, column[, level])."""

    def cells(self, posterior: P, x: Column) -> Cells:
        """Return the posterior, and the increments and ln h of each cell (see :meth:`said`), to predict cells."""
        return posterior._picked((slice(None), None)) if self.whole_rows else posterior, *self.said(x)

    def log_h(self, s: S) -> Array:
        """ln h, the log-likelihood of a statistic at the θ that fits the statistic best, (class[, column]).

        The value ln h is the log base measure (0 by default) plus the maximum ``peak(d)`` of the log-likelihood.
        """
        return self.conjugate.peak(*self.added(s))

    def read(self, x: Column) -> tuple[Column, Array | None]:
        """Transform the columns, for example to logarithms; also return the log Jacobian (row, column) or None."""
        return x, None

    def of_reals(self, posterior: P, x: Column, labels: Labels | None = None) -> Array | None:
        """Log predictive density of transformed cells, summed over columns by a compiled loop.

        Returns
        -------
        total : array (row, class), or (row,) if ``labels`` are given, or None
            The log predictive density of the transformed cells, without the log Jacobian of the transformation
            ``read``. With ``labels``, each row's leave-one-out log predictive density in its class, NaN if the class
            posterior is improper without the row. ``None`` if no compiled loop exists.
        """
        return None

    def log_density(self, theta: Theta, x: Column) -> Array:
        """log p(x | θ) of each cell, (..., row, class, column), at draws of θ."""
        d, log_h = self.said(x)
        lead = next(iter(theta.values())).ndim - self.conjugate.point_axes
        wide = {name: np.expand_dims(value, lead) for name, value in theta.items()}
        return self.conjugate.log_kernel(wide, *d) + log_h

    @abstractmethod
    def pymc_cells(self, name: str, theta: Mapping[str, Any], x: Column, row: Array, column: Array) -> None:
        """Add observations to the open PyMC model, one for each cell (``row``, ``column``).

        If all columns of a row share one θ, each observation is a whole row, and ``column`` is empty.
        """

    def tallies(self, x: Column, members: Labels) -> Iterator[Tally]:
        """Yield ``Tally`` objects, which together hold all rows."""
        table = self.table(x)
        if table is not None:
            lines = table.values.shape[0]
            yield Tally(table.values, None, members.table(table.codes, lines))
            return
        for cut in blocks.slices(len(members)):
            yield Tally(x[cut], members[cut], None)

    def pooled(self, x: Column, members: Labels) -> Iterator[tuple[Array, list[Array], Array]]:
        """For each block of rows, yield total weight, summed increments d, and maximum log-likelihood."""
        # ln h is the log-likelihood of a cell at the θ that fits this cell best. So the maximum is Σ ln h minus the
        # loss from using one common θ. Both terms are small, so no digits are lost at counts of 1e15.
        for tally in self.tallies(x, members):
            seen = present(tally.x)

            def cells(value: Array, seen: Array = seen) -> Array:
                return np.where(seen, np.broadcast_to(value, (len(seen), 1, seen.shape[1]))[:, 0], 0.0)

            with np.errstate(all="ignore"):
                said, log_h = self.said(tally.x)
                d = [cells(v) for v in said]
                totals = [tally.totals(v) for v in d]

                best = self.conjugate.best(*totals)

                def misfit(c: Any, best: Theta = best, d: list[Array] = d, seen: Array = seen) -> Array:
                    value = -self.conjugate.log_kernel({name: v[c] for name, v in best.items()}, *d)
                    # A class without rows has no best θ, and adds nothing.
                    return np.where(seen & np.isfinite(value), value, 0.0)

                height = tally.totals(cells(log_h)) - tally.costs(misfit)
            yield tally.totals(seen), totals, height

    def variable_axes(self) -> dict[str, tuple[str, ...]]:
        column = () if self.support.kind == "bag" else ("column",)
        of_levels = ("level",) if self.support.kind in ("bag", "levels") else ()
        further = ("node",) if self.conjugate.node_names else of_levels
        return dict.fromkeys(self.conjugate.parameters, ("class", *column, *further))

    def table(self, x: Column) -> Tabulated | None:
        """A table of the distinct counts, integers or levels; ``None`` for other or too many values."""
        integers = getattr(getattr(x, "dtype", None), "kind", "") == "i"
        whole = integers or self.support.kind in ("counts", "zero_one", "levels")
        return tabulated(x) if whole and not self.whole_rows else None

    # The methods that are derived from the methods above.

    def flat(self) -> Self:
        return replace(self, prior=self.conjugate.flat())

    def learned(self, s: S) -> str:
        if isinstance(self.prior, Mapping):
            return ""
        full = self.resolve_prior(self.prior, s)
        left = [name for name in self.conjugate.learned_from_classes if getattr(self.prior, name) is None]
        factors = learned_strengths(full, *self.taught(s)) if self.learns_prior else {}
        said = [f"{name} = {getattr(full, name)[0]:.3g}" for name in left]
        return "; ".join(said + [f"{name} × {factor:.3g}" for name, factor in factors.items()])

    def taught(self, s: S) -> Added:
        return self.added(s), self.log_h(s)

    def update(self, prior: P, s: S) -> P:
        return replace(prior.plus(*self.added(s)))

    def log_evidence(self, prior: P, s: S) -> Array:
        if not prior.proper().all():
            raise ImproperError(
                "an improper prior has no evidence; give a proper one to compare models", first(~prior.proper())
            )
        return prior.along(*self.added(s)) + self.log_h(s)

    def log_base(self, s: S) -> Array:
        """The part of the log-likelihood that does not depend on θ, (class, ...)."""
        return self.log_h(s) - self.conjugate.peak(*self.added(s))

    def plug_in(self, posterior: P, point: Point) -> Theta:
        return posterior.plug_in(point)

    def draw(self, posterior: P, rng: Generator, size: Size = ()) -> Theta:
        return posterior.draw_theta(rng, size)

    def variables(self, theta: Theta) -> dict[str, Array]:
        return dict(zip(self.conjugate.parameters, self.conjugate.point(theta), strict=True))

    def theta(self, variables: Mapping[str, Array]) -> Theta:
        return self.conjugate.theta(*(variables[name] for name in self.conjugate.parameters))

    def log_likelihood(self, theta: Theta, x: Column) -> Array:
        (x, within), parts = self.read(x), []
        for _, codes, values in self._cut(x, next(iter(theta.values())).size):
            values = dense(values)
            with np.errstate(all="ignore"):
                density = np.where(known_cells(values), self.log_density(theta, values), 0.0)
            parts.append(densities.gather(codes, density))
        return _with(parts[0] if len(parts) == 1 else np.concatenate(parts, axis=-2), within)

    def _cut(self, x: Column, size: int, tables: bool = True) -> Iterator[tuple[slice, Array | None, Column]]:
        table = self.table(x) if tables else None
        if table is not None:
            yield slice(None), table.codes, table.values
            return
        for rows in blocks.slices(x.shape[0], max(1, blocks.CELLS // max(1, size))):
            yield rows, None, x[rows]

    def log_predictive(self, posterior: P, x: Column) -> Array:
        posterior.require_proper("A predictive")
        cells, within = self.read(x)
        total = self.of_reals(posterior, cells)
        return self._log_moments(posterior, cells, within, 1.0)[0] if total is None else _with(total, within)

    def log_moment(self, posterior: P, x: Column, t: float | Array) -> Array:
        """Log moment log E[p(x | θ)^t], (row, class), perhaps infinite; ``t`` broadcasts to (row, class)."""
        return self._log_moments(posterior, *self.read(x), t)[0]

    def cumulants(self, posterior: P, x: Column, t: float | Array) -> Array:
        """``log_moment`` and its first two derivatives in t, (3, row, class)."""
        return np.stack(self._log_moments(posterior, *self.read(x), t, slopes=True))

    def _log_moments(
        self, posterior: P, x: Column, within: Array | None, t: float | Array, slopes: bool = False
    ) -> list[Array]:
        t = np.asarray(t, float)
        # If each row has a different power, a table of values saves nothing.
        by_row = t.ndim == 2 and len(t) > 1
        shape = x.shape[0], posterior.batch_shape[0]
        total = [np.zeros(shape) for _ in range(3 if slopes else 1)]
        for rows, column, codes, (belief, d, log_h), known in self._parts(posterior, x, shape[1], tables=not by_row):
            power = t[rows, :, None] if by_row else np.atleast_1d(t)[..., None]
            values = [belief.along(*d, t=power) + power * log_h]
            if slopes:
                mean, variance = belief.slopes(*d, t=power)
                values += [mean + log_h, variance]
            found = [densities.gather(codes, np.where(known, value, 0.0)) for value in values]
            if codes is not None and column == 0:
                # A table of values gives all rows at once, and their sums are not copied.
                total = found
                continue
            for whole, value in zip(total, found, strict=True):
                whole[rows] += value
        if within is not None:
            for whole, share in zip(total, (t, 1.0, 0.0), strict=False):
                whole += share * within.sum(-1, keepdims=True)
        return total

    def moment_floor(self, posterior: P, x: Column) -> Array:
        """The lower limit of t (negative) above which ``log_moment`` is finite, (row, class)."""
        x, _ = self.read(x)
        highest = np.full((x.shape[0], classes := posterior.batch_shape[0]), -np.inf)
        for rows, _, codes, (belief, d, _), known in self._parts(posterior, x, classes):
            floor = np.where(known, belief.floor(*d), -np.inf)
            if codes is None:
                highest[rows] = np.maximum(highest[rows], floor.max(-1, initial=-np.inf))
                continue
            codes = codes.toarray().astype(int) if sparse.issparse(codes) else codes
            for column in range(floor.shape[2]):
                own = np.concatenate([floor[..., column], np.full((1, floor.shape[1]), -np.inf)])
                np.maximum(highest, own[codes[:, column]], out=highest)
        return highest

    def log_likelihood_given_row(
        self, posterior: P, theta: Theta, x: Column, chosen: Array, common: CommonDraws
    ) -> Array:
        # Classes have independent θ, so a row changes only the draws of its own class.
        found = self.log_likelihood(theta, x)
        for c in range(found.shape[-1]):
            of_class = chosen == c
            some = of_class.any(0)
            if some.any():
                # A slice of all rows avoids a copy.
                rows = slice(None) if some.all() else np.flatnonzero(some)
                believed, here = posterior.at([c]), common.within(c)
                own = self._drawn_with_row(believed, x[rows], here)
                found[:, rows, c] = np.where(of_class[:, rows], own, found[:, rows, c])
        return found

    def by_cells(self, posterior: P) -> bool:
        """Whether to draw log p(x | θ) cell by cell, because θ consists of too many numbers to be drawn."""
        numbers = sum(value.size for value in arrays_of(posterior).values())
        return not self.whole_rows and numbers > MANY_NUMBERS * np.prod(posterior.batch_shape)

    def drawn_by_cells(self, posterior: P, x: Column, chosen: Array | None, common: CommonDraws) -> Array:
        """Draws of log p(x | θ), (draw, row, class), without drawing the whole θ; each row has separate draws of θ.

        If ``chosen``, (draw, row), is given, it assumes a class for each row; the draws of this class are also
        conditioned on the row.
        """
        found = np.empty((common.draws, x.shape[0], posterior.batch_shape[0]))
        for c in range(found.shape[-1]):
            believed, here = posterior.at([c]), common.within(c)
            of_class = np.zeros(found.shape[:2], bool) if chosen is None else chosen == c
            # Most rows have the same class in all draws, so only one of the two distributions is drawn.
            for given, asked in ((0.0, ~of_class), (1.0, of_class)):
                if len(rows := np.flatnonzero(asked.any(0))):
                    drawn = self._drawn_with_row(believed, x[rows], here, given)
                    found[:, rows, c] = np.where(asked[:, rows], drawn, found[:, rows, c])
        return found

    def _drawn_with_row(self, posterior: P, x: Column, common: CommonDraws, t: float = 1.0) -> Array:
        """Draws of log p(x | θ) in one class, (draw, row), with θ drawn given the data and ``t`` copies of the row."""
        x, within = self.read(x)
        total = np.zeros((common.draws, x.shape[0], 1))
        for rows, column, codes, (belief, d, log_h), known in self._parts(posterior, x, 1, common.draws):
            belief, here = belief.plus(*d, t=t), common.from_column(column)
            drawn = belief.drawn_along(*d, common=here) + log_h
            total[:, rows] += densities.gather(codes, np.where(known, drawn, 0.0))
        return _with(total, within)[..., 0]

    def log_left_out(self, posterior: P, x: Column, labels: Labels, point: Point | None = None) -> Array:
        """Leave-one-out log density of each learned row in its class, (row,).

        The parameters are integrated out, or set to their leave-one-out posterior mode or mean (``point``).
        """
        cells, within = self.read(x)
        total = self.of_reals(posterior, cells, labels) if point is None else None
        # The mode may not exist for a value that does not occur in a class, so modes are computed row by row.
        table = self.table(cells) if total is None and point != "mode" else None
        if total is not None:
            if len(odd := np.flatnonzero(np.isnan(total))):
                total[odd] = self._left_out_of_rows(posterior, cells[odd], labels[odd], point)
        elif table is not None and len(weights := np.unique(labels.weight)) <= FEW_WEIGHTS:
            total = np.zeros(len(labels))
            with np.errstate(all="ignore"):
                belief, d, log_h = self.cells(posterior, table.values)
            for weight in weights:
                rows = np.flatnonzero(labels.weight == weight)
                codes, own = table.codes[rows], labels.codes[rows]
                here = np.moveaxis(Labels.of(own, labels.n).table(codes, table.values.shape[0]) > 0, -1, 0)
                with np.errstate(all="ignore"):
                    value = self._without(belief, d, weight, here, point, lambda where: where[1:])
                total[rows] = densities.gather_own(codes, np.where(here, value + log_h, 0.0), own)
        else:
            total = self._left_out_of_rows(posterior, cells, labels, point)
        return total if within is None else total + within.sum(-1)

    def _left_out_of_rows(self, posterior: P, x: Column, labels: Labels, point: Point | None) -> Array:
        total = np.zeros(len(labels))
        for c in np.unique(labels.codes):
            own = np.flatnonzero(labels.codes == c)
            weight, rest = labels.weight[own], np.zeros(len(own))
            for rows, column, _, (belief, d, log_h), known in self._parts(posterior.at([c]), x[own], 1, tables=False):

                def cell(where: tuple[int, ...], c: int = int(c), column: int = column) -> tuple[int, ...]:
                    return (c, column + where[2], *where[3:])

                value = self._without(belief, d, weight[rows, None, None], known, point, cell)
                rest[rows] += densities.gather(None, np.where(known, value + log_h, 0.0))[:, 0]
            total[own] = rest
        return total

    @staticmethod
    def _without(
        belief: Any, d: tuple[Array, ...], weight: Array | float, known: Array, point: Point | None, cell: Callable
    ) -> Array:
        """Leave-one-out log predictive density of each cell, without ``ln h`` (see :class:`Conjugate`)."""
        # A missing cell removes nothing. It is set to 0 here, because 0 times NaN would still be NaN.
        d = of_known(d, known)
        left = belief.plus(*d, t=-np.where(known, weight, 0.0))
        proper = left.proper()
        improper = np.broadcast_to(known & ~proper, np.broadcast_shapes(np.shape(known), proper.shape))
        if improper.any():
            raise ImproperError(
                "without one of its rows nothing proper is left of a class under this prior; use a proper prior",
                cell(first(improper)),
            )
        value = left.along(*d) if point is None else belief.log_kernel(_theta(left, point, cell), *d)
        if (lost := np.isnan(np.where(known, value, 0.0))).any():
            raise ImproperError(ROUNDED, cell(first(lost))[:1])
        return value

    def _parts(
        self, posterior: P, x: Column, classes: int, draws: int = 1, tables: bool = True
    ) -> Iterator[tuple[Any, int, Array | None, Cells, Array]]:
        """Yield blocks of a table: rows, first column, codes, results of :meth:`cells`, and the mask of known cells."""
        if self.whole_rows:
            yield from self._whole_rows(posterior, x, draws)
            return
        width = x.shape[1]
        with np.errstate(all="ignore"):
            for rows, codes, values in self._cut(x, classes * draws, tables):
                step = max(1, blocks.CELLS // (classes * draws * max(1, values.shape[0])))
                for start in range(0, max(1, width), step):
                    believed, family, here, own = posterior, self, values, codes
                    if step < width:
                        index = [*range(start, min(start + step, width))]
                        believed, here = posterior.columns(index), columns_of(values, index)
                        family = self.gathered([(self, k) for k in index])
                        own = None if codes is None else codes[:, index]
                    here = dense(here)
                    yield rows, start, own, family.cells(believed, here), known_cells(here)

    def _whole_rows(self, posterior: P, x: Column, draws: int) -> Iterator[tuple[Any, int, Array | None, Cells, Array]]:
        size = blocks.CELLS // (max(v.size for v in arrays_of(posterior).values()) * draws)
        with np.errstate(all="ignore"):
            for rows, believed, part in alike(posterior, x) if self.term == "vector" else [(slice(None), posterior, x)]:
                position = np.arange(x.shape[0])[rows]
                for cut in blocks.slices(part.shape[0], max(1, size)):
                    yield position[cut], 0, None, self.cells(believed, part[cut]), np.True_

    # This family in PyMC. Variables have the names that `variables` gives them, and the name of their block.

    def pymc_prior(self, prior: P, name: Name, dims: Dims) -> dict[str, Any]:
        prior.require_sampled()
        longest = max(dims.values(), key=len)
        return dict(zip(prior.parameters, parts_of(prior.pymc(name, longest)), strict=True))

    def pymc_statistic(self, theta: Mapping[str, Any], s: S) -> Any:
        log_likelihood = self.conjugate.pymc_likelihood(theta, *map(shared, self.added(s)))
        return log_likelihood.sum() + shared(self.log_base(s).sum())

    def pymc_read(self, x: Column) -> tuple[Column, Array | None]:
        """Data for :meth:`pymc_cells`: transformed cells and their log Jacobian (from :meth:`read`), or (x, None)."""
        return self.read(x)

    def pymc_rows(self, name: str, theta: Mapping[str, Any], x: Column, y: Any) -> None:
        x, within = self.pymc_read(x)
        name = name if within is None else f"{name}, transformed"
        if self.whole_rows:
            known = ~(x.missing() if hasattr(x, "missing") else np.isnan(x).all(1))
            row, column = np.flatnonzero(known), np.empty(0, np.intp)
            theta = {what: value[y[row]] for what, value in theta.items()}
        else:
            x = dense(x)
            row, column = np.nonzero(present(x))
            theta = {what: value[y[row], column] for what, value in theta.items()}
        if len(row):
            self.pymc_cells(name, theta, x, row, column)
        if within is not None:
            import pymc as pm
            from pytensor import tensor as pt

            # PyMC cannot print a Potential that is a bare constant.
            pm.Potential(f"{name}, log Jacobian", pt.zeros(()) + within.sum())

    def pymc_log_likelihood(self, theta: Mapping[str, Any], x: Column) -> Any:
        x, within = self.read(x)
        (d, log_h), known = self.said(dense(x)), known_cells(dense(x))
        d, log_h = of_known(d, known), np.where(known, log_h - self.conjugate.peak(*of_known(d, known)), 0.0)
        return _with((self.conjugate.pymc_likelihood(theta, *d) + log_h).sum(-1), within)


def _with(total: Array, within: Array | None) -> Array:
    return total if within is None else total + within.sum(-1, keepdims=True)


def alike[P: Prior](posterior: P, x: Array) -> Iterator[tuple[Any, P, Array]]:
    """Group rows by missing columns; yield row indices, and the posterior and cells of the known columns."""
    for rows, columns in patterns(x):
        if columns is None:
            yield rows, posterior, x[rows]
        else:
            yield rows, posterior.marginal(columns), x[rows][:, columns]


def of_known(d: tuple[Any, ...], known: Array) -> tuple[Any, ...]:
    """Set the prior increments ``d`` of missing cells to 0."""
    return tuple(None if v is None else np.where(known, v, 0.0) for v in d)


def _theta(left: Any, point: Point, cell: Callable) -> Theta:
    try:
        return left.plug_in(point)
    except LocatedError as error:
        raise type(error)(error.args[0], cell(error.where)) from error


# Statistics are per-class sums of functions of a cell.
