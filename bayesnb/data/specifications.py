"""Classes such as ``Binned`` that, like families, specify how columns are read."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import pairwise
from numbers import Real
from typing import Any, Literal

import numpy as np

from bayesnb.data.readings import READINGS, Joined, Reading
from bayesnb.data.text import Text
from bayesnb.families import families
from bayesnb.families.compound import Hurdle, Mixture
from bayesnb.families.family import Family
from bayesnb.families.gaussian import Gaussian, GaussianKnownVariance
from bayesnb.families.multinomial import Multinomial
from bayesnb.families.rates import GammaKnownShape
from bayesnb.families.rounded import Rounded
from bayesnb.families.trees import Ordinal
from bayesnb.families.trials import Bernoulli, Categorical
from bayesnb.model import Estimate, about
from bayesnb.priors import Array, Beta, Dirichlet, Prior, class_prior
from bayesnb.wording import dashed, items_of, meant_of_all, require_choice, require_whole, shown_value


@dataclass(frozen=True)
class Unlabelled:
    """How unlabelled rows are marked and used.

    Parameters
    ----------
    marker : label, optional
        A value in ``y`` that means "no label", such as -1 in scikit-learn. By default only missing values mean "no
        label".
    weight : float
        The weight of an unlabelled row relative to a labelled row; with 0, unlabelled rows are ignored.
    starts : int
        Number of starting points of EM. The solution with the largest objective is kept.

    Raises
    ------
    ValueError
        If ``weight`` is negative or not finite, or ``starts`` is not a whole number of 1 or more.

    Examples
    --------
    >>> from bayesnb import BayesianNB, Unlabelled
    >>> clf = BayesianNB(unlabelled=Unlabelled(-1, weight=0)).fit({"size": [1.0, 2.0, 3.0]}, [0, 1, -1])
    >>> clf.class_count_
    array([1., 1.])
    """

    marker: Any = None
    weight: float = 1.0
    starts: int = 1

    def __post_init__(self) -> None:
        weight = self.weight
        if not isinstance(weight, int | float | np.number) or not (np.isfinite(weight) and weight >= 0):
            raise ValueError(f"Expected the weight of unlabelled rows to be finite and not negative; got {weight!r}")
        require_whole(1, starts=self.starts)

    @classmethod
    def of(cls, value: Any) -> Unlabelled:
        """Return ``value`` unchanged if it is an ``Unlabelled``, otherwise ``Unlabelled(value)``."""
        return value if isinstance(value, Unlabelled) else UNMARKED if value is None else cls(value)


UNMARKED = Unlabelled()


@dataclass(frozen=True, eq=False)
class EstimatorParameters:
    """The parameters of :class:`bayesnb.BayesianNB`, as a dataclass."""

    features: Any = None
    class_prior: Any = None
    estimate: Estimate = "predictive"
    unseen: Literal["missing", "new", "error"] = "missing"
    absent: Literal["error", "missing"] = "error"
    columns: Literal["fixed", "grow"] = "fixed"
    unlabelled: Any = None
    random_state: Any = None
    dependence: Any = None
    unknown: Any = None

    def __post_init__(self) -> None:
        if isinstance(self.features, Mapping):
            object.__setattr__(self, "features", _one_by_one(self.features))
        try:
            np.random.default_rng(self.random_state)
        except (TypeError, ValueError) as error:
            said = "Expected random_state to be a whole number, 0 or more, a Generator or None; got "
            raise ValueError(said + shown_value(self.random_state)) from error

    @classmethod
    def of(cls, settings: Any, **others: Any) -> EstimatorParameters:
        return cls(**{f.name: getattr(settings, f.name) for f in fields(cls)} | others)

    def by_name(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @property
    def label_prior(self) -> class_prior.LabelPrior:
        prior = Dirichlet() if self.class_prior is None else class_prior.read(self.class_prior)
        return prior if self.unknown is None else class_prior.with_unknown(prior, self.unknown)


@dataclass(frozen=True, eq=False)
class Binned:
    """A column of real numbers, cut into intervals and read as categorical.

    Parameters
    ----------
    bins : int
        Number of intervals; ties or a constant column may leave fewer intervals.
    cut : {"width", "count"}
        Intervals of equal width, or intervals with equal numbers of rows.
    prior : Dirichlet
        Prior of the interval probabilities. The prior gives a positive probability even to intervals without rows.
    edges : array, optional
        Inner edges, in units of the column; ``bins`` and ``cut`` are then ignored.

    Examples
    --------
    >>> Binned(edges=[0.0, 10.0]).fit(np.array([])).names
    ('(-inf, 0)', '[0, 10)', '[10, inf)')
    """

    bins: int = 10
    cut: Literal["width", "count"] = "width"
    prior: Any = field(default_factory=Dirichlet)
    edges: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.bins, Real) or self.bins < 2 or self.bins != int(self.bins):
            edges = "" if isinstance(self.bins, Real) else f", and edges are written as Binned(edges={self.bins!r})"
            raise ValueError(f"Expected at least 2 bins; got {self.bins!r}{edges}")
        require_choice("cut", self.cut, ("width", "count"))
        if self.edges is not None and not (np.diff(np.asarray(self.edges, float)) > 0).all():
            raise ValueError(f"Expected edges that increase; got {self.edges!r}")

    def family(self) -> Categorical:
        return Categorical(self.prior)

    def fit(self, x: Array, weight: Array | None = None) -> Binned:
        """A copy of this specification, with ``edges`` computed from the column ``x``.

        Each interval contains its lower edge.
        """
        seen = ~np.isnan(x)
        if self.edges is not None or not seen.any():
            return Binned(edges=tuple(float(edge) for edge in (() if self.edges is None else self.edges)))
        from sklearn.preprocessing import KBinsDiscretizer

        by_count = self.cut == "count"
        cutter = KBinsDiscretizer(
            self.bins, encode="ordinal", strategy="quantile" if by_count else "uniform",
            quantile_method="averaged_inverted_cdf", subsample=None,
        )  # fmt: skip
        with warnings.catch_warnings():
            # Constant columns and ties give fewer bins than requested; `describe` shows how many.
            warnings.filterwarnings("ignore", category=UserWarning)
            cutter.fit(x[seen, None], sample_weight=None if weight is None or not by_count else weight[seen])
        inner = np.asarray(cutter.bin_edges_[0], float)[1:-1]
        return Binned(edges=tuple(float(edge) for edge in np.unique(inner)))

    @property
    def names(self) -> tuple[str, ...]:
        shown = [f"{edge:.6g}" for edge in self.edges]
        if len(set(shown)) < len(shown):
            shown = [repr(edge) for edge in self.edges]
        shown = ["-inf", *shown, "inf"]
        return tuple(f"{'[' if k else '('}{low}, {high})" for k, (low, high) in enumerate(pairwise(shown)))

    def codes(self, x: Array) -> Array:
        return np.where(np.isnan(x), -1, np.searchsorted(self.edges, x, side="right"))


@dataclass(frozen=True, eq=False)
class Missing:
    """Read a column as two features: the values, and whether each cell is missing.

    Without ``Missing``, a missing cell carries no information about the class. ``Missing`` adds the feature "COLUMN is
    missing", which is 1 if the cell is missing and otherwise 0. In each class, θ ~ Beta is the probability of a missing
    cell. If no learned cell of the column is missing, a missing cell carries no information. Unseen levels and absent
    columns do not count as missing. Source: the pattern model of Little and Rubin (2019,
    section 15.4).

    Parameters
    ----------
    family : Family, Binned, Text or a reading, optional
        Family of the values, or how to read the cells, such as ``Date()``. By default, the type of the column decides
        the family.
    prior : Beta
        Prior of the probability that a cell is missing.

    Raises
    ------
    TypeError, ValueError
        If ``family`` is not a family, or reads several columns together.

    Examples
    --------
    >>> import bayesnb as nb
    >>> sent = {"blood_test": [5.1, None, None, None, 6.3, 7.2, 5.9, None]}
    >>> clf = nb.BayesianNB({"blood_test": Missing()}).fit(sent, ["well"] * 4 + ["ill"] * 4)
    >>> clf.tables()["blood_test is missing"].round(2)
              0     1
    class
    ill    0.67  0.33
    well   0.33  0.67
    >>> clf.predict_proba({"blood_test": [None]}).round(2)
    array([[0.33, 0.67]])
    """

    family: Any = None
    prior: Any = field(default_factory=Beta)

    def __post_init__(self) -> None:
        if not isinstance(self.prior, Beta):
            raise TypeError(f"Expected the prior of Missing to be a Beta; got {self.prior!r}")
        if self.family is None or isinstance(self.family, Binned | Text | Reading):
            return
        if not isinstance(self.family, Family):
            raise TypeError(
                "Expected Missing of a family, such as Missing(Poisson()), of Binned(), or of nothing, so that the "
                f"type of the column decides; got {self.family!r}"
            )
        if self.family.whole_rows:
            raise ValueError(
                f"{type(self.family).__name__} reads its columns together, so none of their cells is missing by "
                "itself; use Missing for columns that are read one by one"
            )


def _one_by_one(features: Mapping[Any, Any]) -> dict[Any, Any]:
    """Divide an entry ``Missing()`` for several columns, without a family, into one entry per column."""
    found: dict[Any, Any] = {}
    for key, given in features.items():
        spec, columns = given if isinstance(given, tuple) and len(given) == 2 else (given, key)
        spec = Missing() if isinstance(spec, str) and spec == "missing" else spec
        names = [columns] if isinstance(columns, str) else columns
        flags = isinstance(spec, Missing) and values_of(spec) is None and isinstance(given, tuple)
        found |= dict.fromkeys(names, spec) if flags and features.keys().isdisjoint({*names} - {key}) else {key: given}
    return found


def values_of(spec: Any) -> Any:
    """The specification of a column's values; ``None`` for the default family."""
    inner = spec.family if isinstance(spec, Missing) else spec
    if isinstance(inner, Joined) and inner.order:
        return Ordinal(order=inner.order)
    return None if isinstance(inner, Reading) else inner


def _reads(spec: Any) -> Reading | None:
    inner = spec.family if isinstance(spec, Missing) else spec
    return inner if isinstance(inner, Reading) else None


ROWS = 10_000
"""By default, at most this number of rows is used to choose a family."""


@dataclass(frozen=True, eq=False)
class BestFamily:
    """Choose the family of a column of numbers from the rows of the first fit.

    ``features="best"`` means ``BestFamily()`` for all columns of numbers. The fitted estimator stores the scores in
    ``classifier_.choice``, a :class:`bayesnb.data.choice.FamilyChoice`.

    Parameters
    ----------
    families : sequence of Family, optional
        Candidates. By default Gaussian, LogNormal, Exponential, Poisson, NegativeBinomial, PolyaTree and Hurdle. Only
        families that can read a column are tried.
    by : {"class", "evidence"}
        "class" chooses the families that predict the class best, by the exact leave-one-out log score of the whole
        classifier. "evidence" chooses the family that predicts the values of the column best, which suits describing
        columns or drawing rows.
    rows : int
        The largest number of rows used for the choice. The chosen family learns from all rows.

    Raises
    ------
    ValueError
        For an unknown criterion, an empty list of candidates, two candidates of the same name, or a family that cannot
        be a candidate.

    Notes
    -----
    With more columns than rows, the score can be too optimistic. Evaluate
    ``BayesianNB(clf.classifier_.choice.features)`` on held-out rows instead. ``docs/how-to/choose-a-family.md``
    compares the two criteria.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.heights()
    >>> by_evidence = nb.BestFamily([nb.Gaussian(), nb.families.LogNormal()], by="evidence")
    >>> nb.BayesianNB(by_evidence).fit(X, y).describe()["family"].to_dict()
    {'height_cm': 'Gaussian', 'weight_kg': 'Gaussian'}
    >>> clf = nb.BayesianNB(nb.BestFamily([nb.Gaussian(), nb.families.LogNormal()])).fit(X, y)
    >>> clf.classifier_.choice.table.round(2)
                         evidence  weight  log_score  chosen
    column    family
    height_cm Gaussian    -140.46    0.51     -18.42    True
              LogNormal   -140.50    0.49     -18.47   False
    weight_kg Gaussian    -149.20    0.61     -18.45   False
              LogNormal   -149.66    0.39     -18.42    True
    """

    families: Any = None
    by: Literal["class", "evidence"] = "class"
    rows: int = ROWS

    def __post_init__(self) -> None:
        require_choice("by", self.by, ("class", "evidence"))
        require_whole(1, rows=self.rows)
        if self.families is None:
            return
        given = tuple(self.families) if isinstance(self.families, Sequence) else (self.families,)
        if odd := [family for family in given if not isinstance(family, Family)]:
            raise ValueError(f"Expected candidates to be families, such as Gaussian(); got {odd[0]!r}")
        names = [family.title for family in given]
        if len(set(names)) < len(names) or not names:
            raise ValueError(f"Expected candidates of different names; got {names}")
        for family in given:
            of_numbers = family.support.kind not in ("levels", "bag") and getattr(family, "exposure", None) is None
            if not (family.exact and of_numbers and not family.whole_rows):
                raise ValueError(
                    f"{family.title} cannot be a candidate: candidates read the numbers of one column and have a "
                    "closed form; name its columns, as features={column: family}"
                )
        object.__setattr__(self, "families", given)


KINDS = {
    "number": "numbers", "text": "text and categories", "boolean": "True and False", "zero_one": "numbers 0 and 1",
    "sparse": "sparse matrices",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class ByType:
    """The family for each type of column, instead of the default family. ``None`` makes columns of this type an error.

    Parameters
    ----------
    number : Family or None
        For numbers, except columns of 0 and 1.
    text : Family or None
        For text and categories: a family of levels.
    boolean : Family or None
        For True and False.
    zero_one : Family or None
        For columns that hold only the numbers 0 and 1, whatever their dtype.
    sparse : Family or None
        For a sparse matrix: ``Multinomial``, ``Gaussian`` or ``GaussianKnownVariance``.

    Raises
    ------
    TypeError
        If an argument is neither ``None`` nor a family for this type of column.
    ValueError
        If a family learns a setting from the first rows (specify such a family by column instead).

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.play_tennis()
    >>> smooth = nb.ByType(text=nb.Categorical(nb.Dirichlet(5)))
    >>> nb.BayesianNB(smooth).fit(X, y).predict_proba(X[:1]).round(3)
    array([[0.531, 0.469]])
    """

    number: Any = field(default_factory=Gaussian)
    text: Any = field(default_factory=Categorical)
    boolean: Any = field(default_factory=lambda: Bernoulli(inferred=True))
    zero_one: Any = field(default_factory=lambda: Bernoulli(inferred=True))
    sparse: Any = field(default_factory=Multinomial)

    def __post_init__(self) -> None:
        for kind, family in self.families().items():
            if family is None:
                continue
            if not isinstance(family, Family):
                raise TypeError(f"{kind}: Expected a family, such as {_default(kind)}; got {family!r}")
            own = family.support.kind
            if not (family.reads_sparse if kind == "sparse" else own == "levels" if kind == "text" else own != "bag"):
                raise TypeError(f"{kind}: {type(family).__name__} cannot read these columns; see {_default(kind)}")
            if family.needs_rows or getattr(family, "exposure", None) is not None:
                raise ValueError(
                    f"{kind}: {type(family).__name__} takes something from the rows or from another column; name its "
                    "columns, as features={column: family}"
                )

    def of(self, kind: str, columns: Any) -> Family:
        """The family for a type of column. Raise ``ValueError`` if the family is ``None``."""
        family = getattr(self, kind)
        if family is None:
            raise ValueError(
                f"columns {list(columns)[:8]}: these settings have no family for {KINDS[kind]}; give these columns "
                "another type, or use other features"
            )
        return family

    def families(self) -> dict[str, Any]:
        return {kind: getattr(self, kind) for kind in KINDS}


BY_TYPE = ByType()
"""The default families."""


def _default(kind: str) -> str:
    (family,) = (f.default_factory for f in fields(ByType) if f.name == kind)
    return f"{family.__name__}()"


def families_by_name() -> dict[str, Any]:
    """Families and other specifications by lower-case name."""
    kinds = {name: kind for name, kind in families().items() if kind.exact}
    kinds |= {"Binned": Binned, "Best": BestFamily, "Missing": Missing, "Text": Text}
    kinds |= {kind.__name__: kind for kind in READINGS.values()}
    return {dashed(name): kind for name, kind in kinds.items()}


SYNONYMS = {
    **dict.fromkeys(["normal", "numeric", "continuous", "real", "float", "gaussian-nb"], "gaussian"),
    **dict.fromkeys(["category", "factor", "nominal", "string", "str", "object", "categorical-nb"], "categorical"),
    **dict.fromkeys(["binary", "bool", "boolean", "beta", "bernoulli-nb"], "bernoulli"),
    **dict.fromkeys(["count", "counts", "integer", "int"], "poisson"),
    **dict.fromkeys(["lognorm", "log-gaussian"], "log-normal"),
    **dict.fromkeys(["words", "bag-of-words"], "text"),
    "multinomial-nb": "multinomial",
    **dict.fromkeys(["datetime", "timestamp"], "date"),
}
"""Common names of families, which an error replaces by our names."""


def family_named(name: str) -> Any:
    """The class of the family with this name, ignoring case, hyphens and underscores."""
    kinds = families_by_name()
    asked = name.strip().lower().replace("_", "-")
    if asked in kinds:
        return kinds[asked]
    for known, kind in kinds.items():
        if known.replace("-", "") == asked.replace("-", ""):
            return kind
    asked = SYNONYMS.get(asked, asked)
    raise ValueError(f"there is no family {name!r}" + meant_of_all(asked, kinds, f"families are {', '.join(kinds)}"))


KNOWN = {GaussianKnownVariance: "variance", GammaKnownShape: "shape"}
"""Families with a required parameter, and its name."""


def made(name: str) -> Any:
    """An instance of the family with this name, with default parameters."""
    if known := KNOWN.get(family := family_named(name)):
        raise ValueError(f"{name!r} needs its {known}: write {family.__name__}({known}=...)")
    return family()


def parsed(said: str, m: float | None = None) -> Any:
    """Parse a command-line specification, such as "binned:1,3", with a prior worth ``m`` rows for a ``Binned``."""
    kind, _, rest = said.partition(":")
    family, items = family_named(kind), items_of(rest)
    if issubclass(family, Reading):
        return family.parsed(rest)
    if family is Ordinal:
        return Ordinal(order=_levels(items) or None)
    if family is Binned:
        prior = {} if m is None else {"prior": Dirichlet.m_estimate(m)}
        return Binned(edges=tuple(float(item) for item in items) or None, **prior)
    if known := KNOWN.get(family) or ("unit" if family is Rounded and items else None):
        try:
            return family(**{known: float(rest)})
        except ValueError:
            raise ValueError(f"Expected {kind}:{known.upper()}, such as {kind}:0.5; got {said!r}") from None
    if not items:
        return family()
    if family in (Hurdle, Missing):
        part = parsed(rest, m)
        return (family(part[0]), part[1]) if isinstance(part, tuple) else family(part)
    if family in (BestFamily, Mixture):
        return family([made(item) for item in items])
    return family(), items


def _levels(items: Sequence[str]) -> tuple[Any, ...]:
    try:
        numbers = [float(item) for item in items]
    except ValueError:
        return tuple(items)
    return tuple(int(number) if number.is_integer() else number for number in numbers)


@dataclass(frozen=True, eq=False)
class Entry:
    """One entry of ``features``: a specification and its columns."""

    key: Any  # Key of the entry in ``features``.
    spec: Any  # ``None`` for the default families.
    columns: list[Any] | None = None  # ``None`` for all columns.
    missing: Missing | None = None  # ``None`` unless missing cells are flagged.
    together: bool = False  # Whether the columns form one feature.


def entries(features: Any) -> list[Entry]:
    """Read ``features`` in any form that :class:`bayesnb.BayesianNB` accepts."""
    if features is None:
        return []
    if not isinstance(features, Mapping):
        spec = made(features) if isinstance(features, str) else features
        if not isinstance(spec, Family | Binned | BestFamily | ByType | Missing | Text) or _reads(spec):
            raise TypeError(
                "Expected features to be a family, ByType(...), or {column: family}, such as {'visits': Poisson()}; "
                f"got {features!r}"
            )
        return [Entry(None, values_of(spec), missing=spec if isinstance(spec, Missing) else None)]
    found = []
    for key, spec, columns, together in _items(features):
        if isinstance(spec, Reading) and values_of(spec) is None:
            continue  # See `specified_readings`: its feature columns get the families of their types.
        if not isinstance(spec, Family | Binned | BestFamily | Missing | Text | Reading):
            raise TypeError(
                f"features[{key!r}]: Expected a family, such as Poisson(), or (family, [columns]); got "
                f"{features[key]!r}"
                + ", which is a prior: a family takes it, as in Poisson(prior=...)"
                * isinstance(spec, Prior)
            )
        missing = spec if isinstance(spec, Missing) else None
        found.append(Entry(key, values_of(spec), list(columns), missing, together))
    return found


def _items(features: Mapping[Any, Any]) -> Iterator[tuple[Any, Any, Any, bool]]:
    for key, value in features.items():
        together = isinstance(value, tuple) and len(value) == 2
        spec, columns = value if together else (value, [key])
        with about(f"features[{key!r}]"):
            spec = made(spec) if isinstance(spec, str) else spec
        yield key, spec, [columns] if isinstance(columns, str) else columns, together


def specified_readings(features: Mapping[Any, Any]) -> dict[Any, Reading]:
    """The readings that ``features`` specifies, by column."""
    found: dict[Any, Reading] = {}
    for _, spec, columns, _ in _items(features):
        if (own := _reads(spec)) is not None:
            found |= dict.fromkeys(columns, own)
    return found
