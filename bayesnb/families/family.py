"""The base class of all families: the methods that a kind of feature must define.

Start with :class:`Family`. Nearly all families are pairs of a likelihood and its conjugate prior, for which
:class:`bayesnb.families.conjugate.Conjugate` derives most of this contract; families without a closed form meet it by
themselves (see ``sampled``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, get_args

import numpy as np
from numpy.random import Generator

from bayesnb.families.columns import REALS, Support, gathered_columns
from bayesnb.kernels.blocks import each, slices
from bayesnb.numerics import Array, Size
from bayesnb.priors import Belief, Theta
from bayesnb.priors.belief import Point
from bayesnb.priors.common_draws import CommonDraws
from bayesnb.priors.elicitation import learned_strengths, strengthened
from bayesnb.priors.given import read_prior
from bayesnb.statistics.membership import Column, Labels
from bayesnb.statistics.statistic import Statistic, joined

type Name = Callable[[str], str]
type Dims = Mapping[str, tuple[str, ...]]

READABLE = {
    "log_theta": ("probability", np.exp),
    "log_rate": ("rate", np.exp),
    "mu": ("mean", np.asarray),
    "tau": ("sd", lambda tau: 1 / np.sqrt(tau)),
}
"""What parameters are in the terms of the data, and how it follows from them."""


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
    """The class of its statistic, taken from the base class: ``Family[Gamma, Events]`` sums ``Events``."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        kinds = [kind for base in cls.__orig_bases__ for kind in get_args(base) if isinstance(kind, type)]
        for kind in kinds:
            if issubclass(kind, Statistic):
                cls.statistic_class = kind

    exact: ClassVar[bool] = False
    """True if its posterior is a formula, as that of every :class:`Conjugate` is."""

    classes_apart: ClassVar[bool] = True
    """True if the parameters of different classes are independent, as all are that no classes share."""

    reads_sparse: ClassVar[bool] = False
    """True if it reads a sparse matrix of real numbers without making it dense."""

    whole_rows: ClassVar[bool] = False
    """True if all columns of a row share one θ, as the words of a bag and the columns of a vector do."""

    together: ClassVar[bool] = False
    """True if its columns are one feature and depend on each other given the class, as those of a vector do."""

    from_rows: ClassVar[tuple[str, ...]] = ()
    """A field that may be given for all columns, and one that holds what each column of the first table has given.

    Such a family has a method ``taken(column, weight)`` that takes it from a column, (row,), and ``of_column(k)``,
    which is it for a column.
    """

    by_column: ClassVar[tuple[str, ...]] = ()
    """Fields that hold one number for all of its columns or one for each, such as a known variance."""

    shares_number: ClassVar[bool] = False
    """True if its columns share a number that is taken from all of them, so that they are read as one feature."""

    node_names: ClassVar[tuple[str, ...]] = ()
    """The names along the last axis of its variables, if it has one that is no level."""

    parts: ClassVar[tuple[Family, ...]] = ()
    """The families that it is made of, whose statistics its own holds."""

    named_parts: ClassVar[tuple[Family, ...]] = ()
    """Those of its parts by which it is called."""

    atoms: ClassVar[tuple[float, ...]] = ()
    """The real numbers that have a probability and not only a density."""

    order: ClassVar[Any] = None
    orders: ClassVar[Any] = None
    """All levels in their order, of each column or of every one, if no other level can join them."""

    support: ClassVar[Support] = REALS
    """Which values it can read; others are refused by name (see ``support``)."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "prior", read_prior(self.prior, self.conjugate))
        for prior in self.prior.values() if isinstance(self.prior, Mapping) else [self.prior]:
            if not isinstance(prior, self.conjugate):
                raise TypeError(
                    f"Expected the prior of {type(self).__name__} to be a {self.conjugate.__name__}, "
                    f"or {{class: {self.conjugate.__name__}}}; got {prior!r}"
                )
            if isinstance(self.prior, Mapping) and getattr(prior, "tuned", None):
                raise ValueError(f"a learned prior is one for all classes, which teach it; got {self.prior!r}")

    @abstractmethod
    def statistic(self, x: Column, members: Labels) -> S:
        """Sufficient statistic of the rows, by class."""

    @abstractmethod
    def resolve_prior(self, prior: P, s: S) -> P:
        """A prior at its full shape, with what it leaves to the data filled in from them."""

    @abstractmethod
    def update(self, prior: P, s: S) -> Belief:
        """Bayes' rule: the posterior from the prior (at its full shape) and the statistic."""

    @abstractmethod
    def plug_in(self, posterior: Belief, point: Point) -> Theta:
        """The posterior mode or mean of the parameters."""

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
    def log_likelihood_given_row(
        self, posterior: Belief, theta: Theta, x: Column, chosen: Array, common: CommonDraws
    ) -> Array:
        """log p(x_i | θ) at draws of θ given the data and row i itself, (draw, row, class).

        Parameters
        ----------
        posterior : Belief
            The posterior given the data alone.
        theta : Theta
            Draws given the data alone, (draw, class, ...). Parameters that the row says nothing about are taken of it.
        x : Column
        chosen : int array (draw, row)
            The class that the row is taken to be of, in each draw.
        common : CommonDraws
            As many draws.
        """

    def by_cells(self, posterior: Belief) -> bool:
        """Whether ``drawn_by_cells`` takes the place of draws of θ in answers about single rows."""
        return False

    # An exact family also has ``flat``, ``log_evidence``, ``log_base``, ``log_moment`` with its floor and its
    # ``cumulants``, and ``log_left_out``: ``Conjugate`` derives them; compound families ask their parts.

    def shared_left_out(self, posterior: Belief, s: S, x: Column, labels: Labels) -> Array | None:
        """:func:`left_out_of_all` where the prior of all classes holds the row too, else None."""
        return None

    @abstractmethod
    def sample(self, theta: Theta, rng: Generator, s: S) -> Array:
        """One x for each θ; the leading axis of θ is the row, and there is no class axis.

        ``s`` holds what the model takes as given, such as the length of a row of counts.
        """

    @abstractmethod
    def variables(self, theta: Theta) -> dict[str, Array]:
        """θ as the values of its PyMC variables, by name, (..., class[, column][, level])."""

    @abstractmethod
    def theta(self, variables: Mapping[str, Array]) -> Theta:
        """θ from its PyMC variables: the inverse of ``variables``."""

    def linear(self, theta: Theta) -> tuple[Array, Array]:
        """(weights (class, term), offset (class,)) with log p(x | θ) = offset + weights·φ(x) + g(x).

        ``ValueError`` if the log-likelihood is not linear with one g for all classes.
        """
        raise ValueError(f"the log-odds of {type(self).__name__} are not known to be linear")

    def quadratic(self, theta: Theta) -> tuple[Array, Array, Array] | None:
        """(curvature (class, column, column), weights (class, column), offset (class, term)) of a quadratic form.

        log p(x | θ) is the sum of the offsets + weights·x + xᵀ curvature x, up to a constant of all classes. ``None``
        if it is no quadratic form.
        """
        return None

    def readable(self, theta: Theta) -> dict[str, Array]:
        """θ in the terms of the data by name, (class, column[, level]): probabilities, rates, means."""
        # What is beyond the first float of a location is not shown.
        named = {key: READABLE.get(key, (key, np.asarray)) for key in theta if key != "low"}
        return {name: of(theta[key]) for key, (name, of) in named.items()}

    @property
    def learns_prior(self) -> bool:
        """True if the strength of its prior is learned from its columns."""
        return bool(getattr(self.prior, "tuned", None)) or any(part.learns_prior for part in self.parts)

    def learned(self, s: S) -> str:
        """The strength that its prior has learned from the data, as text; "" if it learns nothing."""
        return ""

    @property
    def one_term(self) -> bool:
        """True if its columns are dependent given the class, so that they are one term of the model."""
        return self.whole_rows or self.together

    @property
    def needs_rows(self) -> bool:
        """True if it still takes something from the first rows, such as the edges of cells."""
        own = bool(self.from_rows) and all(getattr(self, name) is None for name in self.from_rows)
        return own or any(part.needs_rows for part in self.parts)

    @property
    def reads_together(self) -> bool:
        """True if its columns are one feature: a vector, or columns that share a number taken from them."""
        return self.learns_prior or self.together or self.shares_number

    def placed(self, columns: Sequence[Array], weight: Array | None) -> Self:
        """The family with the settings that it takes from its columns in the first table, (row,) each."""
        if not self.needs_rows:
            return self
        if not self.parts:
            taken = each(lambda cut: self.taken(columns[cut.start], weight), slices(len(columns), 1))
            return replace(self, **{self.from_rows[1]: tuple(taken)})
        read = zip(*(self.seen_by(column[:, None]) for column in columns), strict=True)
        own = ([column[:, 0] for column in each] for each in read)
        return self.with_parts([part.placed(each, weight) for part, each in zip(self.parts, own, strict=True)])

    def gathered(self, cells: Sequence[tuple[Self, int]]) -> Self:
        """The likelihood of picked columns, each given as (its family, its position)."""
        if self.parts:
            parts = enumerate(self.parts)
            return self.with_parts([part.gathered([(family.parts[m], k) for family, k in cells]) for m, part in parts])
        picked = {
            name: gathered_columns([(getattr(family, name), k) for family, k in cells]) for name in self.by_column
        }
        if self.from_rows:
            picked |= dict(zip(self.from_rows, (None, tuple(family.of_column(k) for family, k in cells)), strict=True))
        return replace(self, **picked) if picked else self

    def order_of(self, column: int) -> tuple[Any, ...] | None:
        """All levels of one of its columns in their order, if no other level can join them."""
        return self.order if self.orders is None else self.orders[column]

    def named_classes(self) -> list[Any]:
        """The classes that its prior names, or those of its parts."""
        own = list(self.prior) if isinstance(self.prior, Mapping) else []
        return own + [label for part in self.parts for label in part.named_classes()]

    @property
    def title(self) -> str:
        """Its name, for people."""
        own = type(self).__name__
        return f"{own}({', '.join(titles(self.named_parts))})" if self.parts else own

    # The same family in PyMC, as a part of the whole model.

    @abstractmethod
    def variable_axes(self) -> dict[str, tuple[str, ...]]:
        """The axes of each PyMC variable, without those of draws.

        They are "class", "column", "level", or a name of its own for an axis of a vector parameter. A variable without
        an axis of classes or of columns is one that these share.
        """

    @abstractmethod
    def pymc_prior(self, prior: P, name: Name, dims: Dims) -> dict[str, Any]:
        """Add the variables of θ to the open model; ``name`` turns a variable's name into its full one.

        ``dims`` are the dimensions of each variable.
        """

    @abstractmethod
    def pymc_statistic(self, theta: Mapping[str, Any], s: S) -> Any:
        """log p(data | θ) as a scalar tensor, from the statistic."""

    @abstractmethod
    def pymc_rows(self, name: str, theta: Mapping[str, Any], x: Column, y: Any) -> None:
        """Add x ~ p(x | θ[y]) to the open model, every row an observation; missing cells have no term."""

    @abstractmethod
    def pymc_log_likelihood(self, theta: Mapping[str, Any], x: Column) -> Any:
        """log p(x | θ) as a (row, class) tensor."""

    @property
    def kind(self) -> str:
        """The ending of the names of its variables: "StudentT" makes mu_student_t."""
        return type(self).__name__ + "".join(part.kind for part in self.named_parts)

    def priors(self, s: S, labels: Sequence[Any]) -> P:
        """The prior of every cell: the given one, at its full shape."""
        if not isinstance(self.prior, Mapping):
            full = self.resolve_prior(self.prior, s)
            if self.learns_prior:
                return strengthened(full, learned_strengths(full, *self.taught(s)).values())
            return full
        for label in labels:
            if label not in self.prior:
                raise ValueError(f"Expected a prior for class {label!r}; got one for {list(self.prior)}")
        parts = [self.resolve_prior(self.prior[label], s).at(slice(c, c + 1)) for c, label in enumerate(labels)]
        return joined(parts, axis=0)


def titles(families: Sequence[Family]) -> list[str]:
    """The names of families, for people; those of one name are numbered."""
    each = [family.title for family in families]
    return [f"{title} {k + 1}" if each.count(title) > 1 else title for k, title in enumerate(each)]


def prior_text(family: Family) -> str:
    """The prior of a family, for people."""
    if not family.parts:
        return repr(family.prior)
    each = zip(family.part_names(), family.parts, strict=True)
    return "; ".join(f"{name}: {prior_text(part)}" for name, part in each)


def left_out_of_all(family: Family, posterior: Belief, s: Statistic, x: Column, labels: Labels) -> Array:
    """log p(x_i | c, all rows but i) of every class c, as (row, class), for rows that ``posterior`` has seen."""
    found = family.shared_left_out(posterior, s, x, labels)
    if found is None:
        found = family.log_predictive(posterior, x)
        found[np.arange(len(labels)), labels.codes] = family.log_left_out(posterior, x, labels)
    return found
