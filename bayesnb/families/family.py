"""What a kind of feature must say of itself.

Start with :class:`Conjugate`: a likelihood p(x | θ) with its conjugate prior p(θ), called a pair. A pair turns rows
into a :class:`Statistic`, and says what a statistic and what a cell add to the prior's parameters. Everything else
follows from the prior (see :class:`bayesnb.priors.Prior`), and :class:`Conjugate` derives it: posterior, predictive,
moments and their slopes, leave-one-out, evidence. It also takes care of missing cells, weights and blocks of cells.
:class:`Family` is the smaller contract, which families without a closed form sign as well (see ``sampled``).

To add a pair, write one file beside this one:

1. a frozen ``Statistic`` (what is summed over rows), with its ``+``;
2. a frozen ``Conjugate`` with a default prior and these methods:

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

Where a formula is worth a faster form, ``quick_predictive``, ``quick_moment`` and ``quick_left_out`` may answer instead
of the derived one. A caller cannot tell which of them did, and the laws hold them to each other.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields, replace
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
from numpy.random import Generator
from scipy import sparse

from bayesnb.families.membership import Column, Labels, Membership
from bayesnb.kernels import densities
from bayesnb.kernels.blocks import CELLS, slices, worth
from bayesnb.numerics import Array, Size
from bayesnb.priors import Belief, ImproperError, Prior, Theta, UnlearnedError, first, shared


def per(axis: Literal["column", "category", "bag"], before: str | None = None) -> Any:
    """Declare a field of a statistic that has one number per class and column, category, or bag of words.

    Parameters
    ----------
    axis : str
        What model files count along. The categories of a column are its levels, or the words of a bag.
    before : str, optional
        The field that model files held instead before there was this one (see ``renewed``).
    """
    return field(metadata={"axis": axis, "before": before})


@dataclass(frozen=True, eq=False)
class Statistic(ABC):
    """What the data say about θ, class by class: a commutative group under ``+``.

    Every array field has the class as its first axis. ``a + b`` pools two data sets, ``a - b`` unlearns
    one, ``a * 0.9`` discounts. Names that come with a statistic (levels, words) are united by ``+``.
    """

    group: ClassVar[str]
    """The group of model files that holds statistics of this class: its name in small letters, unless it is given."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.group = vars(cls).get("group", cls.__name__.lower())

    @abstractmethod
    def __add__(self, other: Self) -> Self: ...

    @abstractmethod
    def __mul__(self, factor: float) -> Self: ...

    @abstractmethod
    def seen(self) -> Array:
        """Weight of the values that were not missing, as (class, column)."""

    def __sub__(self, other: Self) -> Self:
        return self + other * -1.0

    def arrays(self) -> dict[str, Array]:
        """The fields that add."""
        return {f.name: v for f in fields(self) if isinstance(v := getattr(self, f.name), np.ndarray)}

    def names(self) -> dict[str, Any]:
        """The fields that are names."""
        return {f.name: v for f in fields(self) if not isinstance(v := getattr(self, f.name), np.ndarray)}

    # What model files have to know. A class that keeps its fields in another shape than files do says how.

    @classmethod
    def axes(cls) -> dict[str, Field]:
        """The fields that model files hold, by name; each was declared by :func:`per`."""
        return {f.name: f for f in fields(cls) if "axis" in f.metadata}

    def for_file(self) -> dict[str, Array]:
        """The fields as model files hold them, each (class, cell along its axis). (A hook.)"""
        return self.arrays()

    @classmethod
    def from_file(cls, cells: Mapping[str, Array], columns: tuple[Any, ...], levels: Any) -> Self:
        """The statistic of these columns and levels that ``for_file`` gave. (A hook.)"""
        return cls(**cells)

    def renewed(self) -> Self:
        """The statistic whose fields were read under the names that older files have for them. (A hook.)"""
        return self

    def contradiction(self) -> str:
        """In words, what no rows can have led to; "" if rows can have led to this statistic. (A hook.)"""
        return ""

    def take(self, classes: Sequence[int] | Array) -> Self:
        """The classes at these positions, in this order; -1 is a class that has seen nothing."""
        index = np.asarray(classes, np.intp)
        empty = index < 0
        taken = {}
        for name, value in self.arrays().items():
            picked = value[index] if len(value) else np.zeros((len(index), *value.shape[1:]))
            picked[empty] = 0.0
            taken[name] = picked
        return type(self)(**taken, **self.names())

    def named_as(self, other: Self) -> Self:
        """The same with the names (levels, words) of ``other``. (A hook, where a statistic has names.)"""
        return self

    def settled(self, before: Self) -> Self:
        """The same statistic, known to be ``before`` less some of its rows, cleared of rounding.

        What should be 0 is 0 again; what is clearly negative was never in ``before``, and is an
        :class:`UnlearnedError`.
        """
        whole, settled = (before + self * 0.0).arrays(), {}
        for name, value in self.rounded(before).arrays().items():
            settled[name] = value
            if name not in self.signed:
                if (missing := value < -1e-9 * np.abs(whole[name])).any():
                    where = first(missing)
                    raise UnlearnedError(
                        f"rows that were never learned cannot be unlearned; {name} would fall to {value[where]:g}",
                        where,
                    )
                settled[name] = cleared(value, whole[name])
        return type(self)(**settled, **self.names())

    def rounded(self, before: Self) -> Self:
        """The same statistic, cleared of what rounding leaves in fields that are no weights. (A hook.)"""
        return self

    signed: ClassVar[frozenset[str]] = frozenset()


def cleared(value: Array, whole: Array) -> Array:
    """What weight is left of ``whole``, without what rounding left; a whole number of rows is no rounding."""
    tiny = (value <= 1e-12 * np.abs(whole)) & (value != np.rint(value))
    return np.where((value < 0) | tiny, 0.0, value)


def added(a: Statistic, b: Statistic) -> dict[str, Array]:
    """Sums of the arrays of two statistics of one shape."""
    theirs = b.arrays()
    return {name: value + theirs[name] for name, value in a.arrays().items()}


def scaled(a: Statistic, factor: float) -> dict[str, Array]:
    """Multiples of the arrays of a statistic."""
    return {name: value * factor for name, value in a.arrays().items()}


@dataclass(frozen=True, eq=False)
class Family[P: Belief, S: Statistic](ABC):
    """A class-conditional likelihood p(x | θ) with a prior p(θ).

    ``prior`` is one prior for all classes, or {class: prior}. Axes come in one order: draws, row, class,
    column, level. A missing value adds nothing anywhere, since its factor integrates to one.
    """

    prior: P | Mapping[Any, P]

    conjugate: ClassVar[type[Belief]]
    """The class of its prior."""

    statistic_class: ClassVar[type[Statistic]]
    """The class of its statistic, read off the base class: ``Family[Gamma, Events]`` sums ``Events``."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        kinds = [kind for base in cls.__orig_bases__ for kind in get_args(base) if isinstance(kind, type)]
        for kind in kinds:
            if issubclass(kind, Statistic):
                cls.statistic_class = kind

    exact: ClassVar[bool] = False
    """Whether its posterior is a formula: whether it signs :class:`Conjugate`."""

    reads: ClassVar[str] = "reals"
    """How a table's columns reach it: "reals", "counts", "binary", "levels" or "bag" (see ``schema``)."""

    notices: ClassVar[bool] = False
    """Whether of rows with a cell that it cannot read its statistic, and what it answers, is never all finite.

    The cells of a large array are then not looked at before they are summed (``trust`` of a ``Table``).
    """

    def __post_init__(self) -> None:
        for prior in self.prior.values() if isinstance(self.prior, Mapping) else [self.prior]:
            if not isinstance(prior, self.conjugate):
                raise TypeError(
                    f"Expected the prior of {type(self).__name__} to be a {self.conjugate.__name__}, "
                    f"or {{class: {self.conjugate.__name__}}}; got {prior!r}"
                )

    @abstractmethod
    def statistic(self, x: Column, members: Membership) -> S:
        """Sufficient statistic of the rows, by class."""

    @abstractmethod
    def resolve_prior(self, prior: P, s: S) -> P:
        """A prior at its full shape, with what it leaves to the data filled in from them."""

    @abstractmethod
    def update(self, prior: P, s: S) -> Belief:
        """Bayes' rule: the prior (at its full shape) with the statistic added in."""

    @abstractmethod
    def mean(self, posterior: Belief) -> Theta:
        """The posterior mean of the parameters."""

    @abstractmethod
    def draw(self, posterior: Belief, rng: Generator, size: Size = ()) -> Theta:
        """Independent draws of the parameters."""

    @abstractmethod
    def log_likelihood(self, theta: Theta, x: Column) -> Array:
        """log p(x | θ) as (..., row, class); draws of θ lead."""

    @abstractmethod
    def log_predictive(self, posterior: Belief, x: Column) -> Array:
        """log E[p(x | θ)] as (row, class), the parameters integrated out."""

    @abstractmethod
    def sample(self, theta: Theta, rng: Generator, s: S) -> Array:
        """One x for each θ; the leading axis of θ is the row, and there is no class axis.

        ``s`` tells what the model takes as given, such as the length of a row of counts.
        """

    @abstractmethod
    def variables(self, theta: Theta) -> dict[str, Array]:
        """θ under the names and in the terms of its PyMC variables, (..., class[, column][, level])."""

    @abstractmethod
    def theta(self, variables: Mapping[str, Array]) -> Theta:
        """θ from its PyMC variables: the inverse of ``variables``."""

    def linear(self, theta: Theta) -> tuple[Array, Array]:
        """(weights (class, term), offset (class,)) with log p(x | θ) = offset + weights·φ(x) + g(x). (A hook.)

        ``ValueError`` where the log-likelihood is not linear with one g for all classes.
        """
        raise ValueError(f"the log-odds of {type(self).__name__} are not known to be linear")

    def gathered(self, cells: Sequence[tuple[Self, int]]) -> Self:
        """The likelihood of these columns (family, column) of features of this kind. (A hook, where columns differ.)"""
        return self

    def priors(self, s: S, labels: Sequence[Any]) -> P:
        """The prior of every cell: what was given, at its full shape."""
        if not isinstance(self.prior, Mapping):
            return self.resolve_prior(self.prior, s)
        for label in labels:
            if label not in self.prior:
                raise ValueError(f"Expected a prior for class {label!r}; got one for {list(self.prior)}")
        parts = [self.resolve_prior(self.prior[label], s).at(slice(c, c + 1)) for c, label in enumerate(labels)]
        return type(parts[0])(
            *(
                np.concatenate([getattr(part, f.name) for part in parts])
                if isinstance(getattr(parts[0], f.name), np.ndarray)
                else getattr(parts[0], f.name)
                for f in fields(parts[0])
            )
        )


type Added = tuple[tuple[Array, ...], Array]
"""What data add to a prior's parameters, d, and ln h: their log base measure plus ``peak(d)`` of the prior."""

type Cells = tuple[Any, tuple[Array, ...], Array | float]
"""A belief (a :class:`Prior`, or a :class:`Chance`), what each cell adds to it, and ln h of each cell."""


@dataclass(frozen=True, eq=False)
class Conjugate[P: Prior, S: Statistic](Family[P, S]):
    """A likelihood p(x | θ) = h(x) L_d(θ) with the conjugate prior of θ: a pair.

    The prior knows how d enters it (``plus``) and what it makes of L_d (``along`` and its slopes). A pair says which d
    and which h its statistic and its cells have. Since ``along`` is taken relative to the maximum of L_d, so is h: it
    is ln h(x) + ln max L_d, the log-likelihood of x at the θ that fits it best.
    """

    exact = True
    whole_rows: ClassVar[bool] = False
    """Whether all columns of a row share one θ, as the words of a bag do."""

    @abstractmethod
    def added(self, s: S) -> Added:
        """d of a statistic, and its ln h as (class[, column])."""

    @abstractmethod
    def cells(self, posterior: P, x: Column) -> Cells:
        """What is believed of each cell, its d and its ln h.

        The posterior's parameters are (class, column[, level]); d and ln h spread to (row, class, column[, level]).
        What stands for a missing cell does not matter.
        """

    @abstractmethod
    def pymc_rows(self, name: str, theta: Mapping[str, Any], x: Column, y: Any) -> None:
        """Add x ~ p(x | θ[y]) to the open model, every row an observation; missing cells have no term."""

    @abstractmethod
    def pymc_log_likelihood(self, theta: Mapping[str, Any], x: Column) -> Any:
        """log p(x | θ) as a (row, class) tensor."""

    def quick_predictive(self, posterior: P, x: Column) -> Array | None:
        """``log_predictive`` in a faster form, or None where there is none. (A hook.)"""
        return None

    def quick_moment(self, posterior: P, x: Column, t: Array) -> Array | None:
        """``log_moment`` in a faster form, or None where there is none. (A hook.)"""
        return None

    def quick_left_out(self, posterior: P, x: Column, labels: Labels) -> Array | None:
        """``log_left_out`` in a faster form, or None. NaN leaves a row to the derived form. (A hook.)"""
        return None

    # What follows from these.

    def flat(self) -> Self:
        """The same likelihood under the prior whose mode is the maximum-likelihood estimate."""
        return replace(self, prior=self.conjugate.flat())

    def update(self, prior: P, s: S) -> P:
        return replace(prior.plus(*self.added(s)[0]))

    def log_evidence(self, prior: P, s: S) -> Array:
        """log p(data | class) as (class, ...), of a prior at its full shape; every cell adds."""
        if not prior.proper().all():
            raise ImproperError(
                "an improper prior has no evidence; give a proper one to compare models",
                first(~prior.proper()),
            )
        d, log_h = self.added(s)
        return prior.along(*d) + log_h

    def log_base(self, s: S) -> Array:
        """The log base measure of all rows, as (class, ...): what log p(data | θ) holds beside ln L_d(θ)."""
        d, log_h = self.added(s)
        return log_h - self.conjugate.peak(*d)

    def mean(self, posterior: P) -> Theta:
        full = posterior.canonical()
        return full.theta(*_parts(full.mean()))

    def mode(self, posterior: P) -> Theta:
        """The posterior mode of the parameters."""
        full = posterior.canonical()
        return full.theta(*_parts(full.mode()))

    def draw(self, posterior: P, rng: Generator, size: Size = ()) -> Theta:
        return posterior.draw_theta(rng, size)

    def variables(self, theta: Theta) -> dict[str, Array]:
        return dict(zip(self.conjugate.parameters, self.conjugate.point(theta), strict=True))

    def theta(self, variables: Mapping[str, Array]) -> Theta:
        return self.conjugate.theta(*(variables[name] for name in self.conjugate.parameters))

    def log_predictive(self, posterior: P, x: Column) -> Array:
        posterior.require_proper("A predictive")
        quick = self.quick_predictive(posterior, x)
        return self.log_moment(posterior, x, 1.0) if quick is None else quick

    def log_moment(self, posterior: P, x: Column, t: float | Array) -> Array:
        """log E[p(x | θ)^t] as (row, class); t is a number or spreads to (row, class).

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
            power = t[rows, :, None]
            value = belief.along(*d, t=power) + power * log_h
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

    def moment_floor(self, posterior: P, x: Column) -> Array:
        """The t < 0 above which ``log_moment`` exists, (row, class)."""
        highest = np.full((rows_of(x), len(posterior.proper())), -np.inf)
        for rows, _, (belief, d, _), known in self._blocks(posterior, x):
            own = np.where(known, belief.floor(*d), -np.inf).max(-1, initial=-np.inf)
            highest[rows] = np.maximum(highest[rows], own)
        return highest

    def log_left_out(self, posterior: P, x: Column, labels: Labels) -> Array:
        """log p(x_i | class of i, all rows but i) as (row,), for rows that ``posterior`` has seen."""
        total = self.quick_left_out(posterior, x, labels)
        if total is None:
            return self.derived_left_out(posterior, x, labels)
        if len(odd := np.flatnonzero(np.isnan(total))):
            total[odd] = self.derived_left_out(posterior, x[odd], labels[odd])
        return total

    def derived_left_out(self, posterior: P, x: Column, labels: Labels) -> Array:
        """``log_left_out`` as it follows from ``cells``: along(posterior - w d, d, 1) + ln h of each row."""
        total = np.zeros(len(labels))
        for c in np.unique(labels.codes):
            own = np.flatnonzero(labels.codes == c)
            weight, rest = labels.weight[own], np.zeros(len(own))
            for rows, column, (belief, d, log_h), known in self._blocks(posterior.at([c]), x[own]):
                left = _left(belief, d, np.where(known, weight[rows, None, None], 0.0), known, (int(c), column))
                rest[rows] += np.where(known, left.along(*d) + log_h, 0.0).sum((1, 2))
            total[own] = rest
        return total

    def _blocks(self, posterior: P, x: Column) -> Iterator[tuple[slice, int, Cells, Array]]:
        """Rows, first column, ``cells`` and which of them are known, (row, 1, column), a few at a time."""
        width = posterior.proper().shape[-1] if not self.whole_rows else 1
        classes, levels = len(posterior.proper()), posterior.zeros().shape[-1] if self.whole_rows else 1
        n_rows = rows_of(x)
        with np.errstate(all="ignore"):
            for rows in slices(n_rows, max(1, CELLS // (classes * levels))):
                part = x[rows]
                for cut in slices(width, max(1, CELLS // (classes * max(1, rows_of(part))))):
                    index = range(*cut.indices(width))
                    whole = len(index) == width
                    here = part if whole else columns_of(part, index)
                    believed = posterior if whole else posterior.columns(list(index))
                    yield (
                        rows,
                        cut.start,
                        self.cells(believed, here),
                        np.True_ if self.whole_rows else known_cells(here),
                    )

    # The same family in PyMC. Variables are named by `variables` and the block they stand in.

    def pymc_prior(self, prior: P, name: Callable[[str], str], dims: tuple[str, ...]) -> dict[str, Any]:
        """Add the variables of θ to the open model; ``name`` turns a variable's name into its full one."""
        return dict(zip(prior.parameters, _parts(prior.pymc(name, dims)), strict=True))

    def pymc_statistic(self, theta: Mapping[str, Any], s: S) -> Any:
        """log p(data | θ) as a scalar tensor, from the sufficient statistic."""
        d, _ = self.added(s)
        return self.conjugate.pymc_likelihood(theta, *map(shared, d)) + shared(self.log_base(s).sum())


def _parts(point: Any) -> tuple[Any, ...]:
    """θ as a tuple of its parts."""
    return point if isinstance(point, tuple) else (point,)


def rows_of(x: Column) -> int:
    """How many rows encoded data have."""
    return x.shape[0] if sparse.issparse(x) else len(x)


def columns_of(x: Column, index: Sequence[int]) -> Column:
    """Some columns of encoded data."""
    return x.columns(index) if hasattr(x, "columns") else x[:, list(index)]


def known_cells(x: Column) -> Array:
    """Which cells are not missing, (row, 1, column), or True if none can be."""
    if hasattr(x, "missing"):
        return ~x.missing()[:, None]
    if sparse.issparse(x) or x.dtype.kind != "f":
        return np.True_
    return ~np.isnan(x)[:, None]


def _left(belief: Any, d: tuple[Array, ...], weight: Array, known: Array, cell: tuple[int, int]) -> Any:
    """What is believed without a cell of this weight. Refuses where it was all that made the belief proper."""
    left = belief.plus(*d, t=-weight)
    improper = np.broadcast_to(known & ~left.proper(), np.broadcast_shapes(np.shape(known), left.proper().shape))
    if improper.any():
        raise ImproperError(
            "without one of its rows nothing proper is left of a class under this prior; use a proper prior",
            (cell[0], cell[1] + first(improper)[-1]),
        )
    return left


def over_columns(density: Callable[..., Array], x: Array, *parameters: Array) -> Array:
    """Σ_j density(x_j, parameters_j) as (..., row, class), where NaN adds nothing.

    ``density`` gets x as (row, 1, column) and each parameter, (..., class, column), as
    (..., 1, class, column). Columns are taken a few at a time, so that a temporary stays near 8 MiB.
    """
    shape = np.broadcast_shapes(*(p.shape for p in parameters))
    total = np.zeros((*shape[:-2], len(x), shape[-2]))
    step = max(1, 2**20 // max(1, total.size))
    for start in range(0, x.shape[1], step):
        cut = slice(start, start + step)
        value = density(x[:, None, cut], *(p[..., None, :, cut] for p in parameters))
        total += np.where(np.isnan(x[:, None, cut]), 0.0, value).sum(-1)
    return total


def products(x: Column, table: Array) -> Array:
    """Σ_j x_ij table_cj as (..., row, class); x dense or sparse, table (..., class, column)."""
    one_point = table.ndim == 2
    if not sparse.issparse(x):
        if one_point and worth(x.size):
            return densities.products(x, table)
        return np.asarray(x, float) @ np.swapaxes(table, -1, -2)
    if one_point and worth(x.nnz):
        return densities.stored_products(sparse.csr_array(x), table)
    flat = table.reshape(-1, table.shape[-1])
    return np.moveaxis((x @ flat.T).reshape(-1, *table.shape[:-1]), 0, -2)


def impossible(*hits: Array) -> Array:
    """-inf where a row holds something of probability 0, else 0."""
    return np.where(sum(hits) > 0, -np.inf, 0.0)
