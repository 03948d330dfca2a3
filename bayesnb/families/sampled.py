"""Families whose posterior has no closed form, so that PyMC samples it by NUTS."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator
from scipy.special import gammaln, logsumexp, softmax

from bayesnb.chains import GOOD_K, Convergence, Sampler, weights_without
from bayesnb.families.columns import CategoryCounts, columns_of, dense_cells, distinct_counts, over_columns
from bayesnb.families.family import Dims, Family, Name
from bayesnb.kernels.blocks import slices
from bayesnb.numerics import Array, Size
from bayesnb.priors import Belief, Theta, positive_scale, spread
from bayesnb.priors.belief import FINITE, POSITIVE, Point
from bayesnb.priors.common_draws import CommonDraws
from bayesnb.statistics.moments import Moments
from bayesnb.statistics.statistic import Column, Labels, Statistic

CHUNK = 2**20
"""Largest size of a temporary array, in numbers."""

CELL = ("class", "column")
"""The first axes of θ."""


@dataclass(frozen=True, eq=False, repr=False)
class Declared(Belief):
    """Hyperparameters of a family whose posterior is sampled."""

    def proper(self) -> Array:
        return np.ones(np.shape(getattr(self, fields(self)[-1].name)), bool)


@dataclass(frozen=True, eq=False, repr=False)
class Draws(Belief):
    """A posterior represented by draws.

    Parameters
    ----------
    theta : {name: array (draw, class, column[, level])}
    convergence : Convergence
    """

    theta: Mapping[str, Array]
    convergence: Convergence

    _class_axis: ClassVar[int] = 1

    @classmethod
    def independent(cls, theta: Mapping[str, Array], n: float = np.inf) -> Draws:
        """A posterior of independent draws, with perfect convergence diagnostics and ``n`` effective draws."""
        return cls(theta, Convergence(1.0, 1.0, float(n), 0, "nothing moves"))

    def __len__(self) -> int:
        return len(next(iter(self.theta.values())))

    def proper(self) -> Array:
        return np.ones(next(iter(self.theta.values())).shape[1:3], bool)

    def mean(self) -> dict[str, Array]:
        return {name: value.mean(0) for name, value in self.theta.items()}

    def draw(self, rng: Generator, size: Size = ()) -> dict[str, Array]:
        picked = rng.integers(len(self), size=size)
        return {name: value[picked] for name, value in self.theta.items()}


DRAWS = 250
"""Largest number of draws in a stratum (a group of draws), which sets the Monte Carlo error of averages within a
stratum; the average over strata has a smaller error.
"""

FEWEST = 4
"""Least number of strata, even if there are few draws."""


@dataclass(frozen=True, eq=False)
class Strata:
    """Groups of posterior draws (strata) in which the parameters shared by columns are nearly equal."""

    # Within a group, columns are nearly independent, so the log predictive density of a row is a sum over columns.
    members: tuple[Array, ...]

    @classmethod
    def of(cls, shared: Array | None, n: int) -> Strata:
        """Divide ``n`` draws into groups with similar values of the parameters shared by columns, ``shared`` (draw,
        parameter).
        """
        if shared is None:
            return cls((np.arange(n),))
        deviation = shared.std(0)
        unit = np.where(deviation > 0, deviation, 1.0)
        return cls(tuple(_halved(shared / unit, np.arange(n), max(1, min(DRAWS, n // FEWEST)))))

    def __len__(self) -> int:
        return len(self.members)

    @property
    def log_share(self) -> Array:
        sizes = np.array([len(own) for own in self.members])
        return np.log(sizes) - np.log(sizes.sum())

    def averages(self, value: Array) -> Array:
        """Log of the mean density in each group of draws, (stratum, ...), from log densities (draw, ...)."""
        parts = [value] if len(self) == 1 else [value[own] for own in self.members]
        return np.stack([logsumexp(part, axis=0) - np.log(len(part)) for part in parts])

    def average(self, value: Array, log_weight: Array | float = 0.0) -> Array:
        """Log of the weighted mean density over groups of draws, from log densities (stratum, ...)."""
        log_weight = log_weight + self.log_share.reshape(-1, *(1 for _ in value.shape[1:]))
        return logsumexp(value + log_weight, axis=0) - logsumexp(log_weight, axis=0)

    def picked(self, log_p: Array, chosen: Array, u: Array) -> Array:
        """For each draw and row, choose a group in proportion to its size times its density at the row, (draw, row)."""
        if len(self) == 1:
            return np.zeros(chosen.shape, np.intp)
        # ``log_p`` is (stratum, row, class); ``chosen`` (draw, row) is the assumed class.
        below = np.cumsum(softmax(log_p + self.log_share[:, None, None], axis=0), axis=0)[:-1]
        return (u[:, None] > below[:, np.arange(chosen.shape[1]), chosen]).sum(0)

    def drawn(self, log_weight: Array, stratum: Array, u: Array) -> Array:
        """For each group number in ``stratum``, choose a draw of the group, in proportion to the draw's weight."""
        found = np.empty(len(u), np.intp)
        for k in np.unique(stratum):
            members, mine = self.members[k], stratum == k
            own = log_weight[members]
            below = np.cumsum(np.exp(own - own.max()))
            found[mine] = members[np.minimum(np.searchsorted(below, u[mine] * below[-1]), len(members) - 1)]
        return found


def _halved(h: Array, members: Array, most: int) -> Iterator[Array]:
    """Split the draws ``members`` into groups with similar parameters; no group has more than ``most`` draws."""
    if len(members) <= most:
        yield members
        return
    widest = h[members].std(0).argmax()
    members = members[np.argsort(h[members, widest], kind="stable")]
    for half in np.array_split(members, 2):
        yield from _halved(h, half, most)


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Leave-one-out densities of learned rows, from weighted draws.

    Parameters
    ----------
    log_predictive : array (row, class, term)
        Leave-one-out log predictive density of each term (a column) in each class, 0 if missing. Columns that share
        parameters form a single term.
    k : array (row, column)
        Pareto shape k of the importance weights: 0 if the posterior was sampled again without the row, NaN for a
        missing cell.
    again : tuple of Convergence
        Diagnostics of posteriors that were sampled again.
    """

    log_predictive: Array
    k: Array
    again: tuple[Convergence, ...] = ()


@dataclass(frozen=True, eq=False, init=False)
class Sampled[P: Declared, S: Statistic](Family[P, S]):
    """A class-conditional likelihood p(x | θ) with a prior that is not conjugate.

    Parameters
    ----------
    sampler : Sampler
    """

    sampler: Sampler

    def _set_fields(self, prior: P, sampler: Mapping[str, Any], **fields: Any) -> None:
        for name, value in {"prior": prior, "sampler": Sampler(**sampler), **fields}.items():
            object.__setattr__(self, name, value)
        self.__post_init__()

    @classmethod
    def of_fields(cls, sampler: Sampler, **fields: Any) -> Self:
        made = object.__new__(cls)
        made._set_fields(sampler=asdict(sampler), **fields)
        return made

    def strata(self, posterior: Draws) -> Strata:
        return Strata.of(None, len(posterior))

    @abstractmethod
    def log_prior(self, prior: P, variables: Mapping[str, Array]) -> dict[str, Array]:
        """Log prior density of each variable, given the variables on which its prior depends."""

    has_log_prior: ClassVar[bool] = True
    """Whether ``log_prior`` can be computed from the variables."""

    def update(self, prior: P, s: S) -> Draws:
        import pymc as pm

        with pm.Model() as model:
            made = self.pymc_prior(prior, str, {})
            pm.Potential("rows", self.pymc_statistic(made, s))
        drawn, convergence = self.sampler.run(model, list(made), type(self).__name__)
        return Draws(self.theta(drawn), convergence)

    def plug_in(self, posterior: Draws, point: Point) -> Theta:
        if point == "mode":
            raise ValueError('the mode of a posterior is not known from its draws; use the mean (estimate="mean")')
        return posterior.mean()

    def draw(self, posterior: Draws, rng: Generator, size: Size = ()) -> Theta:
        return posterior.draw(rng, size)

    def from_chains(self, posterior: Draws, shape: tuple[int, int]) -> Theta | None:
        """Evenly spaced draws of each chain, (chain, draw, ...), or ``None`` if there are too few draws or chains."""
        (chains, draws), own = shape, len(posterior) // self.sampler.chains
        if chains > self.sampler.chains or not 0 < draws <= own:
            return None
        index = np.arange(chains)[:, None] * own + np.arange(draws) * (own // draws)
        return {name: value[index] for name, value in posterior.theta.items()}

    def draw_prior(self, prior: P, rng: Generator, n: int) -> dict[str, Array]:
        import pymc as pm

        with pm.Model():
            made = self.pymc_prior(prior, str, {})
        drawn = pm.draw(list(made.values()), n, random_seed=rng, mode="FAST_COMPILE")
        # PyMC returns a single draw without an axis of draws.
        return {key: np.reshape(value, (n, *np.shape(value)[n > 1 :])) for key, value in zip(made, drawn, strict=True)}

    def log_predictive(self, posterior: Draws, x: Column) -> Array:
        return self.log_moment(posterior, x, 1.0)

    def log_moment(self, posterior: Draws, x: Column, t: float | Array) -> Array:
        t = np.broadcast_to(np.asarray(t, float), (len(x), posterior.batch_shape[0]))
        strata, found = self.strata(posterior), np.empty(t.shape)
        for cut in slices(len(x), max(1, CHUNK // (len(strata) * t.shape[1]))):
            found[cut] = strata.average(self.log_moments(posterior, x[cut], t[cut]))
        return found

    def log_moments(self, posterior: Draws, x: Column, t: Array) -> Array:
        """Log moments ln E[p(x | θ)^t] within each group of draws, (stratum, row, class), for ``t`` (row, class)."""
        strata = self.strata(posterior)
        total = np.zeros((len(strata), *t.shape))
        for _, cut, value in self.cells_by_column(posterior, x):
            # Average the likelihood over draws, not the normalized class probability.
            total[:, cut] += strata.averages(t[cut] * value)
        return total

    def log_likelihood_given_row(
        self, posterior: Draws, theta: Theta, x: Column, chosen: Array, common: CommonDraws
    ) -> Array:
        # Resample the draws in two steps, with probabilities proportional to a density: first a stratum, by its density
        # of the whole row, and within it each column separately, by the density of the row's cell.
        n_classes, n_columns = posterior.batch_shape
        found, strata = np.zeros((*chosen.shape, n_classes)), self.strata(posterior)
        says = self.log_moments(posterior, x, np.ones((len(x), n_classes)))
        stratum = strata.picked(says, chosen, common.generator(n_columns).random(common.draws))
        for column, cut, value in self.cells_by_column(posterior, x):
            u = common.generator(column).random(common.draws)
            for row, c in ((r, c) for r in range(*cut.indices(len(x))) for c in np.unique(chosen[:, r])):
                own, mine = value[:, row - cut.start], chosen[:, row] == c
                found[mine, row] += own[strata.drawn(own[:, c], stratum[mine, row], u[mine])]
        return found

    def paired(self, posterior: Draws, x: Column) -> Iterator[tuple[slice, Array]]:
        """Yield blocks of rows, with log p(x | θ) at every draw of all columns' θ, (draw, row, class)."""
        for cut in slices(len(x), max(1, CHUNK // (len(posterior) * posterior.batch_shape[0]))):
            yield cut, self.log_likelihood(posterior.theta, x[cut])

    def cells_by_column(self, posterior: Draws, x: Column) -> Iterator[tuple[int, slice, Array]]:
        """For each column and block of rows, yield the log density of the cells at every draw, (draw, row, class)."""
        for column in range(posterior.batch_shape[1]):
            for cut, value in self.paired(posterior.columns([column]), columns_of(x, [column])):
                yield column, cut, value

    def left_out(self, posterior: Draws, x: Column, labels: Labels, learned: tuple[P, S] | None = None) -> LeftOut:
        """Leave-one-out densities of learned rows, from importance weights of the draws.

        If the weights are unreliable, the posterior is sampled again without the row, unless ``learned`` (prior and
        statistic) is ``None``.
        """
        n_classes, n_columns = posterior.batch_shape
        if n_columns > 1 and not self.one_term:
            each = []
            for j in range(n_columns):
                own = None if learned is None else (learned[0].columns([j]), learned[1].columns([j]))
                each.append(self.left_out(posterior.columns([j]), columns_of(x, [j]), labels, own))
            log_p, k = (np.concatenate([getattr(part, f) for part in each], -1) for f in ("log_predictive", "k"))
            return LeftOut(log_p, k, sum((part.again for part in each), ()))
        strata, cells = self.strata(posterior), dense_cells(x)
        # The leave-one-out density of each row in each stratum, and the weights of the strata.
        says, weights = np.zeros((len(strata), len(x), n_classes)), np.zeros((len(strata), len(x), 1))
        k = np.full(cells.shape, np.nan)
        for j in range(n_columns):
            first, place = _distinct(cells[:, [j]], labels)
            for cut, value in self.paired(posterior.columns([j]), columns_of(x, [j])[first]):
                own = labels[first[cut]]
                log_weight, tail = weights_without(
                    value[:, np.arange(len(own)), own.codes], own.weight, self.sampler.chains
                )
                weight = strata.averages(log_weight)[..., None]
                log_p = strata.averages(log_weight[..., None] + value) - weight
                rows = np.flatnonzero((place >= cut.start) & (place < cut.stop) & ~np.isnan(cells[:, j]))
                line = place[rows] - cut.start
                says[:, rows] += log_p[:, line]
                weights[:, rows] += weight[:, line]
                k[rows, j] = tail[line]
        total, again = strata.average(says, weights), []
        if learned is not None:
            prior, s = learned
            first, place = _distinct(cells, labels)
            for i in first[(k[first] > GOOD_K).any(1)]:
                believed = self.update(prior, (s - self.statistic(x[[i]], labels[[i]])).settled(s))
                total[place == place[i]] = self.log_predictive(believed, x[[i]])
                again.append(believed.convergence)
            k[k > GOOD_K] = 0.0
        return LeftOut(total[..., None], k, tuple(again))

    def theta(self, variables: Mapping[str, Array]) -> Theta:
        axes, sizes, found = self.variable_axes(), {}, dict(variables)
        for key, own in axes.items():
            sizes |= zip(own, variables[key].shape[variables[key].ndim - len(own) :], strict=True)
        for key, own in axes.items():
            for place, axis in enumerate(CELL, start=variables[key].ndim - len(own)):
                if axis not in own:
                    found[key] = np.repeat(np.expand_dims(found[key], place), sizes[axis], place)
        return {key: found[key] for key in axes}

    def variables(self, theta: Theta) -> dict[str, Array]:
        found = {}
        for key, own in self.variable_axes().items():
            further = [slice(None) for axis in own if axis not in CELL]
            found[key] = theta[key][(..., *(slice(None) if axis in own else 0 for axis in CELL), *further)]
        return found


def _distinct(cells: Array, labels: Labels) -> tuple[Array, Array]:
    each = np.column_stack([np.where(np.isnan(cells), np.inf, cells), labels.codes, labels.weight])
    _, first, place = np.unique(each, axis=0, return_index=True, return_inverse=True)
    return first, place.ravel()


@dataclass(frozen=True, eq=False, init=False)
class Pointwise[P: Declared](Sampled[P, CategoryCounts]):
    """A sampled family for numbers, defined by the density of each cell.

    The statistic is the weight of each distinct value.
    """

    @abstractmethod
    def given(self, theta: Mapping[str, Any]) -> Any:
        """The PyMC distribution of cells; each tensor in ``theta`` has one entry per cell."""

    def statistic(self, x: Array, members: Labels) -> CategoryCounts:
        return distinct_counts(x, members)

    def pymc_statistic(self, theta: Mapping[str, Any], s: CategoryCounts) -> Any:
        from pytensor import tensor as pt

        cells = WeightedValues.of(s)
        if not len(cells.value):
            return pt.constant(0.0)
        log_p = self.log_densities(self._at(theta, cells.code, cells.column), cells.value)
        return (cells.weight * log_p).sum()

    def pymc_rows(self, name: str, theta: Mapping[str, Any], x: Array, y: Any) -> None:
        import pymc as pm

        row, column = np.nonzero(~np.isnan(x))
        given = self.given(self._at(theta, np.asarray(y)[row], column))
        pm.modelcontext(None).register_rv(given, name, observed=x[row, column].astype(given.dtype))

    def pymc_log_likelihood(self, theta: Mapping[str, Any], x: Array) -> Any:
        from pytensor import tensor as pt

        row, column = np.nonzero(~np.isnan(x))
        n_classes = next(theta[key].shape[0] for key, own in self.variable_axes().items() if "class" in own)
        # The log density of each cell under each class, (class, cell), is added to the row of the cell.
        code = pt.repeat(pt.arange(n_classes), len(row))
        each = self._at(theta, code, pt.tile(column, n_classes))
        log_p = self.log_densities(each, pt.tile(x[row, column], n_classes)).reshape((n_classes, len(row)))
        return pt.inc_subtensor(pt.zeros((n_classes, len(x)))[:, row], log_p).T

    def log_densities(self, theta: Mapping[str, Any], value: Any) -> Any:
        import pymc as pm
        from pytensor import tensor as pt

        given = self.given(theta)
        density = pm.logp(given, pt.as_tensor(value).astype(given.dtype))
        if given.ndim != 1 or density.ndim != 1:
            raise ValueError(
                f"Expected a univariate distribution, with a density of each cell; got {given.owner.op.name}"
            )
        return density

    def _at(self, theta: Mapping[str, Any], code: Any, column: Any) -> dict[str, Any]:
        at = {"class": code, "column": column}
        return {
            key: theta[key][tuple(at[axis] for axis in own if axis in at)] for key, own in self.variable_axes().items()
        }


@dataclass(frozen=True, eq=False)
class WeightedValues:
    """Distinct values in sorted order, and the class, column and weight of each value, all (value,)."""

    value: Array
    code: Array
    column: Array
    weight: Array

    @classmethod
    def of(cls, s: CategoryCounts) -> WeightedValues:
        (code, column, level), names = np.nonzero(s.counts > 0), s.numbers()
        order = np.lexsort((code, names[column, level], column))
        code, column, level = code[order], column[order], level[order]
        return cls(names[column, level], code, column, s.counts[code, column, level])

    def variance(self, n_columns: int) -> Array:
        cells = Moments.of(self.value[:, None], Labels(self.column, self.weight, n_columns))
        return cells.scatter[:, 0] / np.where(cells.n[:, 0] > 0, cells.n[:, 0], np.nan)

    def quantiles(self, shares: Sequence[float], n_columns: int) -> Array:
        """Weighted quantiles of each column, (share, column), or NaN for a column without values."""
        values = np.full((len(shares), n_columns), np.nan)
        for column in np.unique(self.column):
            own = self.column == column
            values[:, column] = np.quantile(self.value[own], shares, weights=self.weight[own], method="inverted_cdf")
        return values


@dataclass(frozen=True, eq=False, repr=False)
class LocationScale(Declared):
    """μ ~ Normal(m, reach²), 1/σ ~ HalfNormal(10/s), and ν ~ Gamma(2, rate 0.1) unless ``nu`` is given.

    The prior is weak: σ lies between s/20 and 1.6 s with probability 0.9, where s is a robust standard deviation. The
    posterior is proper even if all values of a class are equal, unlike under a flat prior (Fernández and Steel 1999).
    The prior of ν is from Juárez and Steel (2010). All parameters except ``nu`` are in units of the column. All
    parameters except m are positive.

    Parameters
    ----------
    nu : float or None
        Degrees of freedom. ``None`` estimates one number per column for all classes.
    m : float, array (column,) or None
        ``None`` is the median over all classes.
    s : float, array (column,) or None
        ``None`` is the first positive number among: the interquartile range / 1.349 (for a Normal, the standard
        deviation), the pooled standard deviation, the absolute value of m, 1.
    reach : float, array (column,) or None
        ``None`` is the larger of 10 pooled standard deviations and 10 s.
    """

    nu: float | None = None
    m: float | Array | None = None
    s: float | Array | None = None
    reach: float | Array | None = None

    _ranges: ClassVar = {"nu": POSITIVE, "m": FINITE, "s": POSITIVE, "reach": POSITIVE}

    def over(self, cells: WeightedValues, n_classes: int, n_columns: int) -> LocationScale:
        shape = (n_classes, n_columns)
        low, median, high = cells.quantiles((0.25, 0.5, 0.75), n_columns)
        m = np.where(np.isfinite(median), median, 0.0) if self.m is None else self.m
        deviation = np.sqrt(positive_scale(np.broadcast_to(m, n_columns), cells.variance(n_columns)))
        s = np.where(high > low, (high - low) / 1.349, deviation) if self.s is None else self.s
        reach = 10 * np.maximum(deviation, s) if self.reach is None else self.reach
        return LocationScale(self.nu, *(spread(v, shape) for v in (m, s, reach)))


@dataclass(frozen=True, eq=False, init=False)
class StudentT(Pointwise[LocationScale]):
    """x | μ, σ, ν ~ Student-t with ν degrees of freedom, location μ and scale σ: a robust Gaussian.

    There is no conjugate prior, so NUTS samples the posterior (Lange, Little and Taylor 1989; BDA3 17.2).

    Parameters
    ----------
    nu : float, optional
        Degrees of freedom. By default, one value per column is estimated, which all classes share.
    m, s, reach : float or array (column,), optional
        Hyperparameters, in units of the column: see :class:`LocationScale`.
    **sampler
        Settings of :class:`Sampler`.

    Examples
    --------
    >>> from bayesnb.statistics.statistic import Labels
    >>> family, x = StudentT(), np.array([[1.0], [2.0], [90.0], [3.0]])
    >>> s = family.statistic(x, Labels(np.array([0, 0, 0, 1]), np.ones(4), 2))
    >>> prior = family.priors(s, ["a", "b"])
    >>> prior.m[0], prior.s[0].round(2)
    (array([2.]), array([1.48]))
    """

    def __init__(
        self, nu: float | None = None, m: Any = None, s: Any = None, reach: Any = None, **sampler: Any
    ) -> None:
        self._set_fields(LocationScale(nu, m, s, reach), sampler)

    def resolve_prior(self, prior: LocationScale, s: CategoryCounts) -> LocationScale:
        return prior.over(WeightedValues.of(s), *s.counts.shape[:2])

    def pymc_prior(self, prior: LocationScale, name: Name, dims: Dims) -> dict[str, Any]:
        # NUTS samples standardized variables, so the unit of the column does not matter.
        import pymc as pm

        shape = prior.m.shape
        away = pm.Normal(name("standard_mu"), 0.0, prior.reach / prior.s, shape=shape)
        inverse = pm.HalfNormal(name("inverse_sigma"), 10.0, shape=shape)
        mu = pm.Deterministic(name("mu"), prior.m + prior.s * away, dims=dims.get("mu"))
        sigma = pm.Deterministic(name("sigma"), prior.s / inverse, dims=dims.get("sigma"))
        if prior.nu is None:
            nu = pm.Gamma(name("nu"), 2.0, 0.1, shape=shape[1], dims=dims.get("nu"))
        else:
            nu = pm.Deterministic(name("nu"), pm.math.constant(np.full(shape[1], prior.nu)), dims=dims.get("nu"))
        return {"mu": mu, "sigma": sigma, "nu": nu}

    def given(self, theta: Mapping[str, Any]) -> Any:
        import pymc as pm

        return pm.StudentT.dist(**theta)

    def variable_axes(self) -> dict[str, tuple[str, ...]]:
        return {"mu": ("class", "column"), "sigma": ("class", "column"), "nu": ("column",)}

    def log_prior(self, prior: LocationScale, variables: Mapping[str, Array]) -> dict[str, Array]:
        from scipy import stats

        sigma = variables["sigma"]
        found = {
            "mu": stats.norm.logpdf(variables["mu"], prior.m, prior.reach),
            # The density of 1/σ times the Jacobian 1/σ².
            "sigma": stats.halfnorm.logpdf(1 / sigma, scale=10 / prior.s) - 2 * np.log(sigma),
        }
        return found if prior.nu is not None else found | {"nu": stats.gamma.logpdf(variables["nu"], 2.0, scale=10.0)}

    def log_likelihood(self, theta: Theta, x: Array) -> Array:
        return over_columns(_log_student, x, theta["mu"], theta["sigma"], theta["nu"])

    def sample(self, theta: Theta, rng: Generator, s: CategoryCounts) -> Array:
        return theta["mu"] + theta["sigma"] * rng.standard_t(theta["nu"])


def _log_student(x: Array, mu: Array, sigma: Array, nu: Array) -> Array:
    log_height = gammaln((nu + 1) / 2) - gammaln(nu / 2) - 0.5 * np.log(nu * np.pi) - np.log(sigma)
    return log_height - (nu + 1) / 2 * np.log1p(((x - mu) / sigma) ** 2 / nu)
