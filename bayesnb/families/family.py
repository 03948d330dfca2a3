"""The base class of all families."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
from numpy.random import Generator

from bayesnb.families.columns import REALS, Support, gathered_columns
from bayesnb.kernels.blocks import each, slices
from bayesnb.numerics import Array, Size
from bayesnb.priors import UNSEEN, Belief, Dirichlet, Theta
from bayesnb.priors.belief import Point
from bayesnb.priors.common_draws import CommonDraws
from bayesnb.priors.elicitation import learned_strengths, strengthened
from bayesnb.priors.given import read_prior
from bayesnb.signatures import require_known
from bayesnb.statistics.statistic import Column, Labels, Statistic, joined, same

type Name = Callable[[str], str]
type Dims = Mapping[str, tuple[str, ...]]

READABLE = {
    "log_theta": ("probability", np.exp),
    "log_rate": ("rate", np.exp),
    "mu": ("mean", np.asarray),
    "tau": ("sd", lambda tau: 1 / np.sqrt(tau)),
}
"""For some parameters: the quantity in units of the data, and the function that computes it."""


@dataclass(frozen=True, eq=False)
class Family[P: Belief, S: Statistic](ABC):
    """The distribution p(x | θ) of columns in each class, with a prior p(θ).

    ``prior`` is one prior for all classes, or {class: prior}. Array axes have the order draw, row, class, column,
    level. Missing values do not change the likelihood.
    """

    prior: P | Mapping[Any, P]

    conjugate: ClassVar[type[Belief]]
    """The class of the prior: for ``Family[Gamma, Events]`` it is ``Gamma``."""

    statistic_class: ClassVar[type[Statistic]]
    """The class of the statistic: for ``Family[Gamma, Events]`` it is ``Events``."""

    exact: ClassVar[bool]
    """Whether the posterior has a closed form, as for every :class:`Conjugate`: whether there is a ``log_evidence``."""

    def __new__(cls, *_: Any, **given: Any) -> Self:
        if given.keys() - cls.__dataclass_fields__.keys():
            require_known(cls.__name__, cls.__init__, given, cls._of_prior)
        return super().__new__(cls)

    @classmethod
    def _of_prior(cls, name: str, _: Any) -> str:
        kind: Any = getattr(cls, "conjugate", None)
        known = kind is not None and name in kind.__dataclass_fields__
        return f"write {cls.__name__}({kind.__name__}({name}=...))" if known else ""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        kinds = [kind for base in cls.__orig_bases__ for kind in get_args(base) if isinstance(kind, type)]
        for kind in kinds:
            if issubclass(kind, Statistic):
                cls.statistic_class = kind
            elif issubclass(kind, Belief):
                cls.conjugate = kind
        cls.exact = hasattr(cls, "log_evidence")

    classes_apart: ClassVar[bool] = True
    """True if the parameters of different classes are independent."""

    reads_sparse: ClassVar[bool] = False
    """True if sparse matrices stay sparse."""

    term: ClassVar[Literal["cell", "block", "bag", "vector"]] = "cell"
    """The cells of a row that are one term of the model: a single cell, or the cells of all columns.

    The columns of a "block" have separate θ with a common hyperprior. A "bag" of words and a "vector" have one θ. The
    columns of a block or vector are one feature of the table.
    """

    from_rows: ClassVar[tuple[str, ...]] = ()
    """Names of two fields: the setting shared by all columns, and the per-column settings learned from the first table.

    Such a family has a method ``taken(column, weight)``, which learns the setting from a column, (row,), and
    ``of_column(k)``, which returns the setting of column k.
    """

    by_column: ClassVar[tuple[str, ...]] = ()
    """Fields that hold one number for all columns or one number per column, such as a known variance."""

    argument: ClassVar[str] = ""
    """The function of a number, such as "ln", whose value is a term of the linear form; "" for the number itself."""

    parts: ClassVar[tuple[Family, ...]] = ()
    """The families that a compound family consists of. Its statistic contains their statistics."""

    support: ClassVar[Support] = REALS
    """The values that the family can read; other values raise an error (see :class:`Support`)."""

    @property
    def accepts(self) -> Support:
        return self.support

    @property
    def atoms(self) -> tuple[float, ...]:
        """Real numbers with positive probability, such as the 0 of a Hurdle."""
        return ()

    def unit_of(self, column: int) -> float | None:
        """The rounding unit of a column; ``None`` if its numbers are not rounded."""
        return None

    def __post_init__(self) -> None:
        object.__setattr__(self, "prior", read_prior(self.prior, self.conjugate))
        for prior in self.prior.values() if isinstance(self.prior, Mapping) else [self.prior]:
            if not isinstance(prior, self.conjugate):
                name = self.conjugate.__name__
                others = ", ".join(f"{each.name}=" for each in fields(self) if each.init and each.name != "prior")
                example = f", such as {name}({prior!r})," if isinstance(prior, int | float) else ""
                raise TypeError(
                    f"Expected the prior of {type(self).__name__} to be a {name}{example} or {{class: {name}}}; "
                    f"got {prior!r}"
                    + (f": write the name of another argument ({others}) before its value" * bool(others))
                )
            if isinstance(self.prior, Mapping) and getattr(prior, "tuned", None):
                raise ValueError(f"a learned prior is one for all classes, which teach it; got {self.prior!r}")

    @abstractmethod
    def statistic(self, x: Column, members: Labels) -> S:
        """Sufficient statistic of the rows of each class."""

    @abstractmethod
    def resolve_prior(self, prior: P, s: S) -> P:
        """Fill in unset hyperparameters, and broadcast the prior over classes and columns."""

    @abstractmethod
    def update(self, prior: P, s: S) -> Belief:
        """The posterior given the statistic ``s`` and the ``prior`` that :meth:`priors` returns."""

    @abstractmethod
    def plug_in(self, posterior: Belief, point: Point) -> Theta:
        """Posterior mode or mean of the parameters."""

    @abstractmethod
    def draw(self, posterior: Belief, rng: Generator, size: Size = ()) -> Theta:
        """Independent draws from the posterior."""

    @abstractmethod
    def log_likelihood(self, theta: Theta, x: Column) -> Array:
        """Log-likelihood log p(x | θ) at draws of θ, (..., row, class)."""

    @abstractmethod
    def log_predictive(self, posterior: Belief, x: Column) -> Array:
        """Log predictive density of each row in each class, (row, class)."""

    @property
    def prior_text(self) -> str:
        """The prior and the known settings, such as "r=2", as text."""
        each = zip(self.part_names(), self.parts, strict=True) if self.parts else ()
        prior = "; ".join(f"{name}: {part.prior_text}" for name, part in each) or repr(self.prior)
        return ", ".join([prior, *self._known_settings()])

    def _known_settings(self) -> Iterator[str]:
        for one in fields(self):
            value = getattr(self, one.name)
            plain = isinstance(value, str | float | int) and not isinstance(value, bool)
            if one.name in self.by_column:
                shown = [f"{number:g}" for number in np.ravel(value)]
                shown = [*shown[:4], "..."] if len(shown) > 4 else shown
                yield f"{one.name}={shown[0] if len(shown) == 1 else f'[{", ".join(shown)}]'}"
            elif plain and value != one.default:
                yield f"{one.name}={value!r}"

    def left_out_of_all(self, posterior: Belief, s: Statistic, x: Column, labels: Labels) -> Array:
        """Log predictive density of each learned row in each class, given all other learned rows, (row, class)."""
        found = self.shared_left_out(posterior, s, x, labels)
        if found is None:
            found = self.log_predictive(posterior, x)
            found[np.arange(len(labels)), labels.codes] = self.log_left_out(posterior, x, labels)
        return found

    def drawn_statistic(self, theta: Theta, s: Any, n: Array, rng: Generator) -> Any:
        """Draw the sufficient statistic of ``n`` (class, column) new cells given θ; ``None`` if not available."""
        return s.drawn(theta, n, rng)

    @abstractmethod
    def log_likelihood_given_row(
        self, posterior: Belief, theta: Theta, x: Column, chosen: Array, common: CommonDraws
    ) -> Array:
        """log p(x | θ), (draw, row, class), at draws of θ given the data and the row itself.

        ``posterior`` and its draws ``theta`` do not contain the row. ``chosen`` (draw, row) is the assumed class of the
        row.
        """

    def by_cells(self, posterior: Belief) -> bool:
        return False

    # An exact family also has ``flat``, ``log_evidence``, ``log_base``, ``log_moment`` with ``moment_floor`` and
    # ``cumulants``, and ``log_left_out``. ``Conjugate`` implements them; compound families combine their parts.

    def shared_left_out(self, posterior: Belief, s: S, x: Column, labels: Labels) -> Array | None:
        """Leave-one-out log predictive densities (row, class); ``None`` if a row affects the posterior of one class."""
        return None

    def constant(self, s: S) -> Array:
        """Positions of columns with a single value; empty unless the prior of such a column uses rows of all classes.

        A column with a single value then has the same predictive distribution in every class, even if a row is left
        out.
        """
        return np.zeros(0, np.intp)

    @abstractmethod
    def sample(self, theta: Theta, rng: Generator, s: S) -> Array:
        """Draw one x for each θ, (row, ...).

        Quantities that are not drawn, such as the number of words per row, are taken from the statistic ``s``.
        """

    @abstractmethod
    def variables(self, theta: Theta) -> dict[str, Array]:
        """PyMC variables for θ, by name, (..., class[, column][, level])."""

    @abstractmethod
    def theta(self, variables: Mapping[str, Array]) -> Theta:
        """Convert PyMC variables to θ."""

    def linear(self, theta: Theta) -> tuple[Array, Array]:
        """Weights (class, term) and offset (class,) of log p(x | θ) as a linear function of terms such as x or ln x.

        Parts of log p(x | θ) that are equal in all classes are left out. Raise ``ValueError`` if log p(x | θ) is not
        linear.
        """
        raise ValueError(f"the log-odds of {type(self).__name__} are not known to be linear")

    def quadratic(self, theta: Theta) -> tuple[Array, Array, Array] | None:
        """The coefficients of log p(x | θ) if it is quadratic in x, otherwise ``None``.

        The coefficients are the curvature (class, column, column), the weights (class, column), and the offset (class,
        term). Up to a constant shared by all classes, log p(x | θ) = xᵀ curvature x + weights·x + Σ offset.
        """
        return None

    def readable(self, theta: Theta) -> dict[str, Array]:
        """The parameters θ by name, in units of the data, as arrays (class, column[, level])."""
        # ``low``, the part of a location beyond double precision, is not shown.
        named = {key: READABLE.get(key, (key, np.asarray)) for key in theta if key != "low"}
        return {name: of(theta[key]) for key, (name, of) in named.items()}

    @property
    def learns_prior(self) -> bool:
        return bool(getattr(self.prior, "tuned", None)) or any(part.learns_prior for part in self.parts)

    def shrunk(self) -> Self:
        """If the prior is the default, replace it by a prior whose strength is learned from all classes."""
        if self.parts:
            return self.with_parts([part.shrunk() for part in self.parts])
        default = next((f.default_factory for f in fields(self) if f.name == "prior"), MISSING)
        learns = "learned" in self.conjugate.by_name and default is not MISSING and same(self.prior, default())
        return replace(self, prior=self.conjugate.learned()) if learns else self

    def learned(self, s: S) -> str:
        """Learned hyperparameters as text."""
        return ""

    @property
    def one_term(self) -> bool:
        """Whether the columns are dependent given the class, so that they form one factor of the likelihood."""
        return self.term != "cell"

    @property
    def whole_rows(self) -> bool:
        """Whether all columns of a row share one θ."""
        return self.term in ("bag", "vector")

    @property
    def needs_rows(self) -> bool:
        """Whether settings, such as edges, must still be learned from the first table."""
        own = bool(self.from_rows) and all(getattr(self, name) is None for name in self.from_rows)
        return own or any(part.needs_rows for part in self.parts)

    @property
    def reads_together(self) -> bool:
        """Whether columns form one feature, because they form one likelihood factor or share a hyperparameter."""
        return self.learns_prior or self.term != "cell"

    def placed(self, columns: Sequence[Array], weight: Array | None) -> Self:
        """Learn settings, such as the edges of intervals, from the columns of the first table, each an array (row,)."""
        if not self.needs_rows:
            return self
        if not self.parts:
            taken = each(lambda cut: self.taken(columns[cut.start], weight), slices(len(columns), 1))
            return replace(self, **{self.from_rows[1]: tuple(taken)})
        read = zip(*(self.seen_by(column[:, None]) for column in columns), strict=True)
        own = ([column[:, 0] for column in each] for each in read)
        return self.with_parts([part.placed(each, weight) for part, each in zip(self.parts, own, strict=True)])

    def gathered(self, cells: Sequence[tuple[Self, int]]) -> Self:
        """Combine families of columns into one family; each entry of ``cells`` is (family, position of one column)."""
        if self.parts:
            parts = enumerate(self.parts)
            return self.with_parts([part.gathered([(family.parts[m], k) for family, k in cells]) for m, part in parts])
        picked = {
            name: gathered_columns([(getattr(family, name), k) for family, k in cells]) for name in self.by_column
        }
        if self.from_rows:
            picked |= dict(zip(self.from_rows, (None, tuple(family.of_column(k) for family, k in cells)), strict=True))
        return replace(self, **picked) if picked else self

    @property
    def named_levels(self) -> tuple[Any, ...]:
        priors = self.prior.values() if isinstance(self.prior, Mapping) else [self.prior]
        mappings = [p.alpha for p in priors if isinstance(p, Dirichlet) and isinstance(p.alpha, Mapping)]
        return tuple(dict.fromkeys(name for alpha in mappings for name in alpha if name is not UNSEEN))

    def order_of(self, column: int) -> tuple[Any, ...] | None:
        """All levels of a column in order; ``None`` if later rows may have new levels."""
        return None

    def named_classes(self) -> list[Any]:
        own = list(self.prior) if isinstance(self.prior, Mapping) else []
        return own + [label for part in self.parts for label in part.named_classes()]

    @property
    def title(self) -> str:
        return type(self).__name__

    # This family in PyMC, as a part of the whole model.

    @abstractmethod
    def variable_axes(self) -> dict[str, tuple[str, ...]]:
        """Axis names of each PyMC variable, without draw axes: "class", "column", "level" or a vector axis.

        A variable without the axis "class" is shared by all classes.
        """

    @abstractmethod
    def pymc_prior(self, prior: P, name: Name, dims: Dims) -> dict[str, Any]:
        """Add the variables of θ to the open model; ``name`` maps a parameter name to a variable name."""

    @abstractmethod
    def pymc_statistic(self, theta: Mapping[str, Any], s: S) -> Any:
        """Log-likelihood log p(data | θ) as a scalar PyTensor tensor, from the statistic."""

    @abstractmethod
    def pymc_rows(self, name: str, theta: Mapping[str, Any], x: Column, y: Any) -> None:
        """Add the rows x with classes y to the open PyMC model, one observation per row."""

    @abstractmethod
    def pymc_log_likelihood(self, theta: Mapping[str, Any], x: Column) -> Any:
        """Log-likelihood log p(x | θ) as a PyTensor tensor (row, class)."""

    @property
    def kind(self) -> str:
        """The Python class name, such as "StudentT"."""
        return type(self).__name__

    def priors(self, s: S, labels: Sequence[Any]) -> P:
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
