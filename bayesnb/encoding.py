"""Columns to arrays: one encoder for each way in which a family can read its columns.

:class:`Feature` says what one feature of the model reads; the encoders in ``ENCODERS`` turn the columns of
a table into what its family wants, and refuse what it cannot read. Missing is NaN in reals and counts, and
-1 in codes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from bayesnb.binning import Cut
from bayesnb.families.categorical import Coded, united
from bayesnb.families.family import Family
from bayesnb.families.multinomial import Bag
from bayesnb.families.poisson import Exposed
from bayesnb.kernels import reading
from bayesnb.kernels.blocks import worth
from bayesnb.model import in_order
from bayesnb.priors import UNSEEN, Array
from bayesnb.tables import Column, Kind, Names, Table

type UnseenPolicy = Literal["missing", "new", "error"]


@dataclass(frozen=True, eq=False)
class Feature:
    """What one feature of the model reads.

    Parameters
    ----------
    columns : tuple
        Names of the columns it reads.
    family : Family
    how : str
        Why it got this family.
    levels : tuple of tuples, optional
        Names of the levels of each column, for a family that reads levels.
    kinds : tuple of str
        What each column held when it was first seen.
    cuts : tuple of Cut, optional
        For a binned column, its edges.
    """

    columns: Names
    family: Family
    how: str
    levels: tuple[Names, ...] | None = None
    kinds: tuple[Kind, ...] = ()
    cuts: tuple[Cut, ...] | None = None

    @property
    def exposure(self) -> Names:
        """The column that holds the exposure, if there is one."""
        exposure = getattr(self.family, "exposure", None)
        return () if exposure is None else (exposure,)

    def shown_levels(self) -> str:
        """The levels as text for a table."""
        if self.levels is None:
            return ""
        if len(self.levels) > 1:
            sizes = [len(names) for names in self.levels]
            return f"{min(sizes)} to {max(sizes)} a column"
        names = [str(name) for name in self.levels[0]]
        return ", ".join(names if len(names) <= 6 else [*names[:5], f"… ({len(names)})"])

    def read(self, x: Array) -> Any:
        """Encoded columns, (row, column), in the form in which the family reads them; an exposure is 1."""
        if self.levels is not None:
            return Coded(x, self.levels)
        if self.family.reads == "bag":
            return Bag(x, self.columns)
        return Exposed(x, np.ones(len(x))) if self.exposure else x

    def decode(self, x: Array) -> dict[Any, Any]:
        """Encoded columns, (row, column), by name; an exposure is 1."""
        ones = {name: np.ones(len(x)) for name in self.exposure}
        if self.levels is None:
            return dict(zip(self.columns, x.T, strict=True)) | ones
        return {
            name: [levels[code] if 0 <= code < len(levels) else None for code in codes]
            for name, levels, codes in zip(self.columns, self.levels, x.T, strict=True)
        }


# The encoders: one for each way a family can read its columns.

type Encoded = tuple[Feature, Any]
type Encoder = Callable[[Table, Feature, UnseenPolicy | None], Encoded]


def _reals(table: Table, feature: Feature, unseen: UnseenPolicy | None) -> Encoded:
    """Float64 (row, column), NaN where missing."""
    table.require_dense(feature.family)
    x, support = _matrix(table, feature.columns), feature.family.support
    if support is not None:
        _require_cells(support.invalid(x), x, feature, support.words, "use Gaussian()")
    return feature, x


def _matrix(table: Table, columns: Names) -> Array:
    if not table.numeric:
        if len(columns) == 1 and columns[0] in table.place:
            if table.cells is not None:
                place = table.place[columns[0]]
                return np.asarray(table.cells[:, place : place + 1], float)
            return table.column(columns[0]).finite()[:, None]
        x = np.full((table.n_rows, len(columns)), np.nan)
        for k, name in enumerate(columns):
            if name in table.place:
                x[:, k] = table.column(name).finite()
        return x
    x = np.asarray(table.block(columns), float)
    if not (table.trust and worth(x.size)) and reading.infinite(x):
        first = int(np.flatnonzero(np.isinf(x).any(axis=0))[0])
        Column(columns[first], x[:, first]).finite()
    return x


def _binary(table: Table, feature: Feature, unseen: UnseenPolicy | None) -> Encoded:
    """0 and 1: floats with NaN where missing, bytes of a large table without one, or a sparse matrix.

    Trusted floats of a large table are handed on as they are.
    """
    if table.sparse:
        x = table.block(feature.columns)
        _require_stored((x.data != 0) & (x.data != 1), x, feature, "0 or 1")
        return feature, x
    if table.numeric and worth(table.n_rows * len(feature.columns)):
        x = table.block(feature.columns)
        if x.dtype == bool:
            return feature, x.view(np.uint8)
        if table.trust and x.dtype == float:
            return feature, x
        if (narrow := reading.zeros_and_ones(x)) is not None:
            return feature, narrow
    x = _matrix(table, feature.columns)
    _require_cells((x != 0) & (x != 1) & ~np.isnan(x), x, feature, "0 or 1", "use Categorical() or Gaussian()")
    return feature, x


def _counts(table: Table, feature: Feature, unseen: UnseenPolicy | None) -> Encoded:
    """Counts, float64 (row, column) with NaN where missing; with their exposure if there is one."""
    table.require_dense(feature.family)
    x = _matrix(table, feature.columns)
    _require_cells((x < 0) | (x != np.floor(x)) & ~np.isnan(x), x, feature, "a count", "use Gaussian()")
    if not feature.exposure:
        return feature, x
    exposure = _matrix(table, feature.exposure)
    wrong = exposure <= 0
    if wrong.any():
        row = int(np.argwhere(wrong)[0][0])
        raise ValueError(
            f"column {feature.exposure[0]!r} is {exposure[row, 0]:g} in row {row}: an exposure is positive"
        )
    return feature, Exposed(x, exposure[:, 0])


NOT_NEGATIVE = "a count that is finite and not negative"


def _bag(table: Table, feature: Feature, unseen: UnseenPolicy | None) -> Encoded:
    """A row of counts, or of fractions such as tf-idf weights, dense or CSR."""
    words = feature.columns
    if table.sparse:
        x = table.block(words)
        if not (table.trust and worth(x.nnz)):
            _require_stored(~(x.data >= 0) | np.isinf(x.data), x, feature, NOT_NEGATIVE)
        return feature, Bag(x, words)
    x = _matrix(table.looked_at, words)
    if absent := [k for k, word in enumerate(words) if word not in table.place]:
        # A word without a column occurs in no row, if it is known what occurs in the row at all.
        x[np.ix_(~np.isnan(x).all(axis=1), absent)] = 0.0
    _require_cells(x < 0, x, feature, NOT_NEGATIVE, "use Gaussian()")
    missing = np.isnan(x)
    partly = missing.any(1) & ~missing.all(1)
    if partly.any():
        row, column = np.argwhere(missing & partly[:, None])[0]
        raise ValueError(
            f"column {words[column]!r} is missing in row {row}, where other words are counted: a row of a "
            "Multinomial is missing as a whole or not at all (write 0 for a word that does not occur)"
        )
    return feature, Bag(x, words)


def _levels(table: Table, feature: Feature, unseen: UnseenPolicy | None) -> Encoded:
    """Codes into the levels of each column, in bytes or whatever holds them where the table is large."""
    if unseen is not None:
        # A level that was never seen may be no error, and then none would be noticed.
        table = table.looked_at
    levels, kinds, columns = list(feature.levels), list(feature.kinds), []
    for k, name in enumerate(feature.columns):
        if name not in table.place:
            columns.append(None)
            continue
        column = table.column(name)
        if feature.cuts is not None:
            columns.append(feature.cuts[k].codes(column.finite()))
            continue
        values = table.distinct(name)
        if values:
            kinds[k] = require_one_kind(name, kinds[k], column.kind())
        if unseen is None:
            seen = values if column.declared is not None else in_order(values)
            levels[k] = united(levels[k], tuple(seen))
        place = {level: i for i, level in enumerate(levels[k])}
        if unseen == "error" and any(value not in place for value in values):
            codes, distinct = column.coded
            used = np.flatnonzero(np.isin(codes, [i for i, value in enumerate(distinct) if value not in place]))
            if len(used):
                value = distinct[codes[used[0]]]
                raise ValueError(
                    f"column {name!r} holds {value!r} in row {used[0]}, which was never seen; "
                    f'its levels are {list(levels[k])[:20]}. Fit it, or choose unseen="missing" or "new"'
                )
        elsewhere = place.get(UNSEEN, -1)
        columns.append(np.array([*(place.get(value, elsewhere) for value in values), -1], np.intp))
    large = worth(table.n_rows * len(feature.columns))
    kind = np.min_scalar_type(-max([1, *map(len, levels)])) if large else np.intp
    codes = _coded(table, feature, columns, [len(names) for names in levels], kind)
    guessed = feature.cuts is None and table.whole is not None and table.trust
    return replace(feature, levels=tuple(levels), kinds=tuple(kinds)), Coded(codes, tuple(levels), guessed)


def _coded(
    table: Table, feature: Feature, columns: Sequence[Array | None], n_levels: Sequence[int], kind: Any
) -> Array:
    """Codes (row, column): the codes of a cut column, or the place of each of a column's distinct values."""
    if feature.cuts is None and table.whole is not None:
        index = [table.place[name] for name in feature.columns]
        whole = reading.Whole(table.whole.low[index], table.whole.held[index])
        places = np.full(whole.held.shape, -1, kind)
        for row, mask, place in zip(places, whole.held, columns, strict=True):
            row[mask] = place[:-1]
        # A number that the guess lacks must not pass for a level that stands at its place.
        own = not table.trust or bool((whole.held.sum(axis=1) == n_levels).all())
        return reading.codes(table.block(feature.columns), whole, places, own)
    codes = np.full((table.n_rows, len(columns)), -1, kind)
    for k, (name, place) in enumerate(zip(feature.columns, columns, strict=True)):
        if place is not None:
            codes[:, k] = place if feature.cuts is not None else place.astype(kind)[table.column(name).coded[0]]
    return codes


def require_one_kind(name: Any, before: Kind, now: Kind) -> Kind:
    """What a column of levels holds, if its levels can be those it held before."""
    if "text" in (now, before) and now != before and "empty" not in (now, before):
        said = {"text": "text"}
        raise ValueError(
            f"column {name!r} holds {said.get(now, 'numbers')} and was fitted with {said.get(before, 'numbers')}: "
            "convert it, or every level would be unseen"
        )
    return before if now == "empty" else now


def _require_stored(wrong: Array, x: Any, feature: Feature, what: str) -> None:
    """No stored value of a sparse matrix is wrong."""
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        row = int(np.searchsorted(x.indptr, at, side="right")) - 1
        raise ValueError(
            f"column {feature.columns[x.indices[at]]!r} of the sparse matrix holds {x.data[at]:g} in row {row}, "
            f"where {type(feature.family).__name__} needs {what}"
        )


def _require_cells(wrong: Array, x: Array, feature: Feature, what: str, cure: str) -> None:
    """No cell of a dense block is wrong."""
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise ValueError(
            f"column {feature.columns[column]!r} holds {x[row, column]:g} in row {row}, where "
            f"{type(feature.family).__name__} needs {what}; {cure} for it"
        )


ENCODERS: dict[str, Encoder] = {"reals": _reals, "binary": _binary, "counts": _counts, "bag": _bag, "levels": _levels}
