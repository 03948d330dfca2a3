"""Encode columns as arrays of numbers, with NaN for missing cells, or of codes, with -1 for missing cells."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from scipy import sparse

from bayesnb.data import readings
from bayesnb.data.columns import EXTREME, INFINITE, Column, Kind, Names, missing_in, require_ordinary
from bayesnb.data.specifications import Binned
from bayesnb.data.tables import Table
from bayesnb.data.text import Text, texts_of
from bayesnb.families.columns import POSITIVE, REALS, Coded, Support, united
from bayesnb.families.family import Family
from bayesnb.families.multinomial import Bag
from bayesnb.families.rates import Exposed
from bayesnb.kernels import blocks, reading
from bayesnb.model import in_order
from bayesnb.priors import UNSEEN, Array
from bayesnb.statistics.moments import gap_in_a_row
from bayesnb.wording import Cure, RefusedError, Spelled, family_word

type UnseenPolicy = Literal["missing", "new", "error"]

type OriginKind = Literal[
    "specified", "rows", "nothing", "number", "zero_one", "boolean", "text", "categories", "sentences", "sparse", "gaps"
]
ORIGINS: tuple[OriginKind, ...] = get_args(OriginKind.__value__)

OF_NUMBERS: tuple[OriginKind, ...] = ("nothing", "zero_one", "number")
"""Kinds of columns of numbers. Each kind allows all values of the kinds before it."""

SHOWN = {
    "nothing": "no value seen", "number": "numbers", "zero_one": "0 and 1", "boolean": "True and False",
    "sentences": "text of sentences", "sparse": "sparse counts", "gaps": "missing cells of",
}  # fmt: skip
"""Displayed text for a kind, if it differs from the kind's name."""


@dataclass(frozen=True)
class Origin:
    """Why a column has its family: specified by the user, best score, or default for the column's type."""

    # "specified": the user named the family; "rows": the family scored best on the rows; "gaps": the column flags the
    # missing cells of another column; otherwise the type of the values that decided ("nothing" if there are none).
    kind: OriginKind
    detail: str = ""  # A description of the bins, or the column whose missing cells are flagged.
    best_by: str = ""  # The compared score, "evidence" or "class".
    ahead: float = 0.0  # The score minus the score of ``second``, in nats.
    second: str = ""  # The runner-up.
    error: float = 0.0  # The standard error of ``ahead``; 0 for the evidence, which has none.

    @property
    def inferred(self) -> bool:
        """Whether the family is the default for the type of the column's values."""
        return self.kind not in ("specified", "rows", "gaps")

    @property
    def sound(self) -> bool:
        """Whether every field has its declared type."""
        texts = all(isinstance(part, str) for part in (self.detail, self.best_by, self.second))
        return texts and self.kind in ORIGINS and all(isinstance(each, float) for each in (self.ahead, self.error))

    def __str__(self) -> str:
        if self.kind != "rows":
            shown = SHOWN.get(self.kind, self.kind)
            return f"{shown} {self.detail}" if self.kind == "gaps" else f"{shown}, {self.detail}".removesuffix(", ")
        best = "best by evidence" if self.best_by == "evidence" else "best for the class"
        if not self.second:
            return f"{best}, the only candidate"
        error = f" ± {self.error:.2g}" if self.error else ""
        gap = "as good as" if self.ahead <= self.error else f"{self.ahead:.3g}{error} nats before"
        return f"{best}, {gap} {self.second}"


@dataclass(frozen=True, eq=False)
class Feature:
    """One feature of the model: the columns that it reads, and their family."""

    columns: Names  # The columns that the feature reads, or the words of a text column.
    family: Family
    origin: Origin
    levels: tuple[Names, ...] | None = None
    kinds: tuple[Kind, ...] = ()  # The kind of each column's values, such as text, in the first table with the column.
    cuts: tuple[Binned, ...] | None = None  # The intervals of binned columns.
    tried: tuple[tuple[str, float, float], ...] = ()  # The name, log evidence and log score of each candidate family.
    source: Names = ()  # The columns of the table, if they differ from ``columns``.
    text: Text | None = None
    declared: tuple[Names, ...] = ()  # The levels that each column's categorical type lists.

    @property
    def guessed(self) -> bool:
        """Whether the allowed numbers, such as only 0 and 1, were inferred from the first rows."""
        return self.origin.kind in ("rows", "zero_one", "boolean")

    @property
    def reads(self) -> Names:
        return self.source or self.columns

    @property
    def indicates(self) -> Names:
        return self.source if self.text is None else ()

    @property
    def named(self) -> Names:
        """The names of the columns of the table that this feature reads."""
        return self.columns if self.text is None else self.source

    @property
    def values(self) -> dict[Any, Names]:
        of_values = self.levels is not None and self.cuts is None
        return dict(zip(self.columns, self.levels, strict=True)) if of_values else {}

    @property
    def exposure(self) -> Names:
        exposure = getattr(self.family, "exposure", None)
        return () if exposure is None else (exposure,)

    def shown_levels(self) -> str:
        if self.text is not None:
            return f"{len(self.columns):,} words"
        if self.levels is None:
            return ""
        if len(self.levels) > 1:
            sizes = [len(names) for names in self.levels]
            return f"{min(sizes)} to {max(sizes)} a column"
        names = [str(name) for name in self.levels[0]]
        return ", ".join(names if len(names) <= 6 else [*names[:5], f"… ({len(names)})"])

    def read(self, x: Array) -> Any:
        """Convert encoded columns, (row, column), to the array that the family takes."""
        if self.levels is not None:
            return Coded(x, self.levels)
        if self.family.support.kind == "bag":
            return Bag(x, self.columns)
        return Exposed(x, np.ones(len(x))) if self.exposure else x

    def encode(self, table: Table, unseen: UnseenPolicy | None) -> Encoded:
        """Encode the columns; return the feature (with new levels if ``unseen`` is ``None``) and the array."""
        encoder = _text if self.text else _missing if self.source else ENCODERS[self.family.support.kind]
        return encoder(table, self, unseen)

    def impossible(self, x: Array) -> Array:
        """Mask of finite numbers that a family chosen from the first rows excludes, such as 0 under LogNormal."""
        return self.family.support.invalid(x) & np.isfinite(x) if self.guessed else np.zeros(x.shape, bool)

    def decode(self, x: Array) -> dict[Any, Any]:
        """Convert encoded columns, (row, column), back to {name: values}, with 1 for all exposures."""
        if self.text is not None:
            return {self.source[0]: texts_of(x, self.columns)}
        ones = {name: np.ones(len(x)) for name in self.exposure}
        if self.origin.kind == "boolean":
            return dict(zip(self.columns, np.where(np.isnan(x), None, x == 1).T.tolist(), strict=True))
        if self.levels is None:
            return dict(zip(self.columns, x.T, strict=True)) | ones
        return {
            name: [levels[code] if 0 <= code < len(levels) else None for code in codes]
            for name, levels, codes in zip(self.columns, self.levels, x.T, strict=True)
        }


# The encoders: one for each support of a family.

type Encoded = tuple[Feature, Any]
type Encoder = Callable[[Table, Feature, UnseenPolicy | None], Encoded]


def _reals(table: Table, feature: Feature, unseen: UnseenPolicy | None) -> Encoded:
    if table.sparse:
        require_reads_sparse(feature.family)
    columns = feature.columns
    x = sparse.csr_array(table.block(columns), dtype=float) if table.sparse else table.reals(columns)
    if unseen is None and feature.family.whole_rows:
        _require_whole_rows(columns, x)
    return feature, validated(feature, x, unseen)


def _require_whole_rows(columns: Names, x: Array) -> None:
    if (gap := gap_in_a_row(x)) is None:
        return
    missing = np.isnan(x)
    partly = missing[~missing.all(1)]
    gaps = {column: int(n) for column, n in zip(columns, partly.sum(0), strict=True) if n}
    code = f"known = X[{[*columns]!r}].notna().all(axis=1); clf.fit(X[known], y[known])"
    raise RefusedError(
        "column {column!r} is missing in row {row}, where other columns of its block have values (gaps: {gaps}; in "
        "{rows:,} of {all:,} rows): a block learns only from rows without any missing value, and skips rows without "
        "any value. {leave}, fill the cells, or make {those} {features}. (Rows to predict may have missing cells.)",
        column=columns[gap[1]], row=gap[0], rows=int(partly.any(1).sum()), all=len(x),
        gaps=", ".join(f"{n:,} in {column!r}" for column, n in gaps.items()),
        leave=Spelled(f"Leave such rows out, as {code}", "Leave such rows out"),
        those=" and ".join(map(repr, gaps)), features="a separate feature" if len(gaps) == 1 else "separate features",
    )  # fmt: skip


def require_reads_sparse(family: Any) -> None:
    """Raise ``ValueError`` if the family cannot read a sparse matrix."""
    if not getattr(family, "reads_sparse", False):
        raise ValueError(
            f"a sparse matrix cannot be read by {type(family).__name__}: of real numbers, only by Gaussian and "
            "GaussianKnownVariance; give it dense, as X.toarray()"
        )


NUMBERS = ("reals", "positive", "nonnegative", "bag")
"""Kinds of supports in which numbers may have fractions, and must be neither infinite nor extreme."""


def _binary(table: Table, feature: Feature, unseen: UnseenPolicy | None) -> Encoded:
    if table.numeric and table.n_rows * len(feature.columns) >= blocks.COMPILED_FROM:
        x = table.block(feature.columns)
        if x.dtype == bool:
            return feature, x.view(np.uint8)
        if (coded := reading.zeros_and_ones(x)) is not None:
            return feature, coded
    x = table.block(feature.columns) if table.sparse else table.reals(feature.columns)
    return feature, validated(feature, x, unseen)


def _counts(table: Table, feature: Feature, unseen: UnseenPolicy | None) -> Encoded:
    feature, x = _reals(table, feature, unseen)
    if not feature.exposure:
        return feature, x
    exposure = table.reals(feature.exposure)
    require_ordinary(feature.exposure, exposure)
    wrong = POSITIVE.invalid(exposure)
    if wrong.any():
        row = int(np.argwhere(wrong)[0][0])
        said = "column {column!r} is {value:g} in row {row}: an exposure is positive"
        raise RefusedError(said, column=feature.exposure[0], value=exposure[row, 0], row=row)
    return feature, Exposed(x, exposure[:, 0])


def _missing(table: Table, feature: Feature, unseen: UnseenPolicy | None) -> Encoded:
    absent = [k for k, name in enumerate(feature.indicates) if name not in table.place]
    x = np.zeros((table.n_rows, len(feature.indicates)), float if absent else np.uint8)
    for k, name in enumerate(feature.indicates):
        x[:, k] = np.nan if k in absent else table.column(name).missing()
    return feature, x


def _bag(table: Table, feature: Feature, unseen: UnseenPolicy | None) -> Encoded:
    words = feature.columns
    if table.sparse:
        return feature, Bag(validated(feature, table.block(words), unseen), words)
    x = table.reals(words)
    if absent := [k for k, word in enumerate(words) if word not in table.place]:
        # A word without a column does not occur, except in a row that is missing entirely.
        x[np.ix_(~np.isnan(x).all(axis=1), absent)] = 0.0
    x = validated(feature, x, unseen)
    if (gap := gap_in_a_row(x)) is not None:
        said = "column {column!r} is missing in row {row}, where other words are counted: a row of a Multinomial is "
        said += "missing as a whole or not at all (write 0 for a word that does not occur)"
        raise RefusedError(said, column=words[gap[1]], row=gap[0])
    return feature, Bag(x, words)


def _text(table: Table, feature: Feature, unseen: UnseenPolicy | None) -> Encoded:
    (name,) = feature.source
    if name not in table.place:
        rows = table.n_rows
        return feature, Bag(sparse.csr_array((rows, len(feature.columns))), feature.columns, np.zeros(rows, bool))
    bag = feature.text.read(table.column(name), feature.columns, learn=unseen is None)
    return replace(feature, columns=bag.words), bag


def _levels(table: Table, feature: Feature, unseen: UnseenPolicy | None) -> Encoded:
    if unseen is None and feature.cuts is None:
        feature = _with_levels_of(table, feature)
    large = table.n_rows * len(feature.columns) >= blocks.COMPILED_FROM
    kind = np.min_scalar_type(-max([1, *map(len, feature.levels)])) if large else np.intp
    each, codes = [], None  # Whole numbers may be their own codes.
    if table.whole is None or feature.cuts is not None:
        codes = np.full((table.n_rows, len(feature.columns)), -1, kind)
    for k, name in enumerate(feature.columns):
        if name not in table.place:
            continue
        column = table.column(name)
        if feature.cuts is not None:
            codes[:, k] = feature.cuts[k].codes(column.ordinary())
            continue
        if values := table.distinct(name):
            require_one_kind(name, feature.kinds[k], column.kind, column)
        place = {level: i for i, level in enumerate(feature.levels[k])}
        if unseen == "error":
            _require_known(column, place, feature.family.order_of(k) is not None)
        elsewhere = place.get(UNSEEN, -1)
        each.append(np.array([*(place.get(value, elsewhere) for value in values), -1], kind))
        if codes is not None:
            codes[:, k] = each[-1][column.coded[0]]
    if codes is None:
        codes = table.codes(feature.columns, each)
    return feature, Coded(codes, feature.levels)


def _with_levels_of(table: Table, feature: Feature) -> Feature:
    levels, kinds, declared = list(feature.levels), list(feature.kinds), list(feature.declared)
    for k, name in enumerate(feature.columns):
        if name not in table.place:
            continue
        column = table.column(name)
        if values := table.distinct(name):
            kinds[k] = require_one_kind(name, kinds[k], column.kind, column)
        if feature.family.order_of(k) is not None:
            _require_known(column, dict.fromkeys(levels[k]), True)
            continue
        own = column.declared
        levels[k] = united(levels[k], tuple(in_order(values) if own is None else values))
        declared[k] = united(declared[k], own or ())
    return replace(feature, levels=tuple(levels), kinds=tuple(kinds), declared=tuple(declared))


def _require_known(column: Column, place: Mapping[Any, int], ordered: bool) -> None:
    codes, distinct = column.coded
    used = np.flatnonzero(np.isin(codes, [i for i, value in enumerate(distinct) if value not in place]))
    if not len(used):
        return
    found = {"column": column.name, "row": int(used[0]), "value": distinct[codes[used[0]]], "expected": [*place][:20]}
    found["more"] = f" and {len(place) - 20:,} more" if len(place) > 20 else ""
    if ordered:
        texts = {readings.folded(level) for level in place if isinstance(level, str)}
        if isinstance(found["value"], str) and readings.folded(found["value"]) in texts:
            raise RefusedError(
                "column {column!r} holds {value!r} in row {row}, another spelling of an ordered level: use {cure}",
                **found,
                cure=Cure("features", readings.Joined(order=[*place]).spelled, column.name),
            )
        raise RefusedError(
            "column {column!r} holds {value!r} in row {row}, which is not among its ordered levels {expected}{more}: "
            "fit all rows with {cure}, which names all levels, or {gap} to read it as missing",
            **found,
            cure=ordinal(column.name),
            gap=missing_in(column.name, found["value"], False),
        )
    raise RefusedError(
        "column {column!r} holds {value!r} in row {row}, which was never seen; its levels are {expected}{more}. Fit "
        "it, or choose {cure}",
        **found,
        cure=(Cure("unseen", "missing"), Cure("unseen", "new")),
    )


def ordinal(column: Any) -> Cure:
    """Advice to name all levels of a column in order."""
    spelled = Spelled("nb.families.Ordinal(order=[LOWEST, ..., HIGHEST])", "ordinal:LOWEST,...,HIGHEST")
    return Cure("features", spelled, column)


def require_one_kind(name: Any, before: Kind, now: Kind, column: Column | None = None) -> Kind:
    """Return the kind of a column of levels; raise ``ValueError`` if the kind changed from text to numbers or back."""
    if "text" in (now, before) and now != before and "empty" not in (now, before):
        if now == "text" and column is not None:
            column.refuse_text_among_numbers()
        held, fitted = ("text" if kind == "text" else "numbers" for kind in (now, before))
        raise ValueError(
            f"column {name!r} holds {held} and was fitted with {fitted}: convert it, or every level would be unseen"
        )
    return before if now == "empty" else now


def validated(feature: Feature, x: Any, unseen: UnseenPolicy | None) -> Any:
    """Check that the numbers of a dense or sparse table are in the support of the feature's family."""
    support, accepts = feature.family.support, feature.family.accepts
    of_numbers = support.kind in NUMBERS
    if sparse.issparse(x):
        # Cells that are not stored are 0. Zero is in every support for which a sparse matrix can be read.
        sound = not reading.extreme(x.data, support.kind != "bag") if of_numbers else support.contains(x.data).all()
        if not sound and len(wrong := np.flatnonzero(_wrong(support, x.data))):
            at = int(wrong[0])
            row = int(np.searchsorted(x.indptr, at, side="right")) - 1
            _refuse(feature, x.indices[at], row, x.data[at], " of the sparse matrix")
        return x
    # If the family was chosen from the first rows, later numbers outside its support are missing values.
    if unseen in ("missing", "new") and feature.guessed:
        x = np.where(feature.impossible(x), np.nan, x)
    if of_numbers:
        require_ordinary(feature.columns, x)
    if accepts is REALS:
        return x
    for rows in blocks.slices(len(x), max(1, blocks.CELLS // max(1, x.shape[1]))):
        wrong = accepts.invalid(x[rows])
        if wrong.any():
            row, column = np.argwhere(wrong)[0]
            _refuse(feature, column, rows.start + row, x[rows][row, column])
    return x


def _wrong(support: Support, stored: Array) -> Array:
    wrong = support.invalid(stored) if support.kind == "reals" else ~support.contains(stored)
    return wrong | reading.extremes(stored) if support.kind in NUMBERS else wrong


def _refuse(feature: Feature, column: int, row: int, value: float, where: str = "") -> None:
    support, name = feature.family.accepts, feature.columns[column]
    found = {"column": name, "row": int(row), "value": float(value), "where": where}
    if np.isinf(value) and not where:
        raise RefusedError(INFINITE, **found)
    if np.all(support.contains(value)):
        raise RefusedError(EXTREME, **found)
    word = type(feature.family).__name__
    # A Hurdle of the same family can read the zeros.
    families = [*([("Hurdle", word)] if support == POSITIVE and value == 0 else []), *support.others]
    found |= {"family": family_word(feature.family), "expected": support.needs}
    found["cure"] = tuple(Cure("family", each, name) for each in families)
    raise RefusedError(
        "column {column!r}{where} holds {value:g} in row {row}, where {family} needs {expected}"
        + ("" if where else "; use {cure}, or {gap} to read it as missing"),
        **found,
        gap=missing_in(name, float(value), False),
    )


ENCODERS: dict[str, Encoder] = {
    "reals": _reals, "positive": _reals, "nonnegative": _reals, "counts": _counts, "zero_one": _binary, "bag": _bag,
    "levels": _levels,
}  # fmt: skip
