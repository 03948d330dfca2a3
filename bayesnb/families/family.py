"""What a kind of feature must know about itself.

Start with :class:`Family`, a likelihood p(x | θ) with its conjugate prior p(θ). A family turns rows into
a :class:`Statistic`, a statistic into a posterior, and predicts from it.

To add a family, write one file beside this one:

1. a frozen ``Statistic`` (what is summed over rows), with its ``+``;
2. a frozen ``Family`` with a default prior and the methods that are abstract here;
3. its line in ``bayesnb/__init__.pyi``;
4. its line in ``FAMILIES`` of ``tests/test_laws.py``, which proves it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator
from scipy import sparse

from bayesnb.families.membership import Column, Labels, Membership
from bayesnb.kernels import densities
from bayesnb.kernels.blocks import worth
from bayesnb.priors import Array, Dirichlet, ImproperError, Prior, Size, UnlearnedError, first, log, shared

type Theta = Mapping[str, Array]


@dataclass(frozen=True, eq=False)
class Statistic(ABC):
    """What the data say about θ, class by class: a commutative group under ``+``.

    Every array field has the class as its first axis. ``a + b`` pools two data sets, ``a - b`` unlearns
    one, ``a * 0.9`` discounts. Names that come with a statistic (levels, words) are united by ``+``.
    """

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

    def shared(self) -> Self:
        """The same with PyTensor variables for arrays (see ``bayesnb.priors.shared``)."""
        return type(self)(**{name: shared(value) for name, value in self.arrays().items()}, **self.names())

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
class Family[P: Prior, S: Statistic](ABC):
    """A class-conditional likelihood p(x | θ) with its conjugate prior p(θ).

    ``prior`` is one prior for all classes, or {class: prior}. Axes come in one order: draws, row, class,
    column, level. A missing value adds nothing anywhere, since its factor integrates to one.
    """

    prior: P | Mapping[Any, P]

    conjugate: ClassVar[type[Prior]]
    """The class of its prior."""

    exact: ClassVar[bool] = True
    """Whether its posterior is a formula. Without one it is sampled, by ``update`` (see ``sampled``)."""

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
    def flat(self) -> Self:
        """The same likelihood under the prior whose mode is the maximum-likelihood estimate."""

    @abstractmethod
    def statistic(self, x: Column, members: Membership) -> S:
        """Sufficient statistic of the rows, by class."""

    @abstractmethod
    def complete(self, prior: P, s: S) -> P:
        """A prior at its full shape, with what it leaves to the data filled in from them."""

    @abstractmethod
    def update(self, prior: P, s: S) -> P:
        """Bayes' rule: the prior (at its full shape) with the statistic added in."""

    @abstractmethod
    def log_base(self, prior: P, s: S) -> Array:
        """The part of log p(data) that the two normalizers do not hold, as (class, ...)."""

    @abstractmethod
    def mean(self, posterior: P) -> Theta:
        """The posterior mean of the parameters."""

    @abstractmethod
    def mode(self, posterior: P) -> Theta:
        """The posterior mode of the parameters."""

    @abstractmethod
    def draw(self, posterior: P, rng: Generator, size: Size = ()) -> Theta:
        """Independent draws of the parameters."""

    @abstractmethod
    def log_likelihood(self, theta: Theta, x: Column) -> Array:
        """log p(x | θ) as (..., row, class); draws of θ lead."""

    @abstractmethod
    def log_predictive(self, posterior: P, x: Column) -> Array:
        """log E[p(x | θ)] as (row, class), the parameters integrated out."""

    @abstractmethod
    def log_moment(self, posterior: P, x: Column, t: float | Array) -> Array:
        """log E[p(x | θ)^t] as (row, class); t is a number or spreads to (row, class).

        At t = 1 it is ``log_predictive``; its derivatives at 0 are the mean and the variance of
        log p(x | θ). Infinite where the moment does not exist.
        """

    @abstractmethod
    def log_moment_slopes(self, posterior: P, x: Column, t: float | Array) -> tuple[Array, Array]:
        """First and second derivative of ``log_moment`` in t, (row, class) each, where it exists.

        At t = 0 they are the mean and the variance of log p(x | θ) under the posterior.
        """

    @abstractmethod
    def moment_floor(self, posterior: P, x: Column) -> Array:
        """The t < 0 above which ``log_moment`` exists, (row, class)."""

    @abstractmethod
    def log_left_out(self, posterior: P, x: Column, labels: Labels) -> Array:
        """log p(x_i | class of i, all rows but i) as (row,), for rows that ``posterior`` has seen."""

    @abstractmethod
    def sample(self, theta: Theta, rng: Generator, s: S) -> Array:
        """One x for each θ; the leading axis of θ is the row, and there is no class axis.

        ``s`` tells what the model takes as given, such as the length of a row of counts.
        """

    @abstractmethod
    def linear(self, theta: Theta) -> tuple[Array, Array]:
        """(weights (class, term), offset (class,)) with log p(x | θ) = offset + weights·φ(x) + g(x).

        ``ValueError`` where the log-likelihood is not linear with one g for all classes.
        """

    # The same family in PyMC. Variables are named by `variables` and the block they stand in.

    @abstractmethod
    def variables(self, theta: Theta) -> dict[str, Array]:
        """θ under the names and in the terms of its PyMC variables, (..., class[, column][, level])."""

    @abstractmethod
    def theta(self, variables: Mapping[str, Array]) -> Theta:
        """θ from its PyMC variables: the inverse of ``variables``."""

    @abstractmethod
    def pymc_prior(self, prior: P, name: Callable[[str], str], dims: tuple[str, ...]) -> dict[str, Any]:
        """Add the variables of θ to the open model; ``name`` turns a variable's name into its full one."""

    @abstractmethod
    def pymc_statistic(self, theta: Mapping[str, Any], s: S) -> Any:
        """log p(data | θ) as a scalar tensor, from the sufficient statistic."""

    @abstractmethod
    def pymc_rows(self, name: str, theta: Mapping[str, Any], x: Column, y: Any) -> None:
        """Add x ~ p(x | θ[y]) to the open model, every row an observation; missing cells have no term."""

    @abstractmethod
    def pymc_log_likelihood(self, theta: Mapping[str, Any], x: Column) -> Any:
        """log p(x | θ) as a (row, class) tensor."""

    def gathered(self, cells: Sequence[tuple[Self, int]]) -> Self:
        """The likelihood of these columns (family, column) of features of this kind. (A hook, where columns differ.)"""
        return self

    def priors(self, s: S, labels: Sequence[Any]) -> P:
        """The prior of every cell: what was given, at its full shape."""
        if not isinstance(self.prior, Mapping):
            return self.complete(self.prior, s)
        for label in labels:
            if label not in self.prior:
                raise ValueError(f"Expected a prior for class {label!r}; got one for {list(self.prior)}")
        parts = [self.complete(self.prior[label], s).at(slice(c, c + 1)) for c, label in enumerate(labels)]
        return type(parts[0])(
            *(
                np.concatenate([getattr(part, f.name) for part in parts])
                if isinstance(getattr(parts[0], f.name), np.ndarray)
                else getattr(parts[0], f.name)
                for f in fields(parts[0])
            )
        )

    def log_evidence(self, prior: P, s: S) -> Array:
        """log p(data | class) as (class, ...), of a prior at its full shape; every cell adds."""
        if not prior.proper().all():
            raise ImproperError(
                "an improper prior has no evidence; give a proper one to compare models",
                first(~prior.proper()),
            )
        return self.log_ratio(prior, s)

    def log_ratio(self, prior: P, s: S) -> Array:
        """The evidence under a proper prior, as a ratio of normalizers. (A hook, for exacter forms.)"""
        # The prior is asked first: where there is no formula, nothing need be sampled to say so.
        return -prior.log_normalizer() + self.update(prior, s).log_normalizer() + self.log_base(prior, s)


@dataclass(frozen=True, eq=False)
class Discrete[P: Prior, S: Statistic](Family[P, S]):
    """A family whose θ are probabilities that sum to 1 over the last axis.

    They travel as ``log_theta``, (..., class[, column], level): a draw may be far too small for a float.
    """

    @abstractmethod
    def simplex(self, posterior: P) -> Dirichlet:
        """The posterior as a Dirichlet over all outcomes."""

    def mean(self, posterior: P) -> Theta:
        return {"log_theta": log(self.simplex(posterior).mean())}

    def mode(self, posterior: P) -> Theta:
        return {"log_theta": log(self.simplex(posterior).mode())}

    def draw(self, posterior: P, rng: Generator, size: Size = ()) -> Theta:
        return {"log_theta": self.simplex(posterior).log_draw(rng, size)}


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


def require_left(total: Array, labels: Labels) -> None:
    """Refuse to leave out the only row that made a posterior proper; ``total`` is (row, column)."""
    if (total <= 0).any():
        row, column = first(total <= 0)
        raise ImproperError(
            "without one of its rows nothing proper is left of a class under this prior; use a proper prior",
            (int(labels.codes[row]), column),
        )


def rising_ratio(own: Array, whole: Array) -> Array:
    """ln [Γ(α+t)/Γ(α)] - ln [Γ(A+t)/Γ(A)], infinite where the first does not exist."""
    return np.where(np.isposinf(own), np.inf, own - np.where(np.isposinf(whole), 0.0, whole))
