"""Any table as named columns: pandas, polars, pyarrow, dicts of columns, numpy arrays, scipy.sparse.

:class:`Table` is what the rest of the package sees of a user's data, and :class:`Column` is one of its
columns, which can be asked what it holds and be read as numbers or as codes. Missing is None, NaN, NaT,
pd.NA and null alike.
"""

from __future__ import annotations

import reprlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache, cached_property
from numbers import Integral, Number
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.utils import check_array

from bayesnb.kernels import reading
from bayesnb.kernels.blocks import worth
from bayesnb.priors import Array

SOME = 2**13
"""Rows whose levels are taken for those of all, on trust."""

FEW = 64
"""Levels of a column that are."""

type Names = tuple[Any, ...]
type Kind = Literal["boolean", "integer", "real", "text", "empty"]


@dataclass(frozen=True, eq=False)
class Column:
    """One column of a table.

    Parameters
    ----------
    name : hashable
    values : narwhals Series or array (row,)
    declares : bool
        Whether a categorical type says which levels there are; a part of a larger table does not.
    """

    name: Any
    values: Any
    declares: bool = True

    @property
    def dtype(self) -> str:
        """The column's type as its owner calls it."""
        if not self.declares and self.textual:
            return "text"
        if isinstance(self.values, nw.Series):
            native = self.values.to_native()
            return _called(getattr(native, "dtype", None) or native.type)
        return _called(self.values.dtype)

    @property
    def textual(self) -> bool:
        """Whether its type is one of text or categories, even if it holds no value."""
        if not isinstance(self.values, nw.Series):
            return False
        if isinstance(native := self.values.to_native(), pd.Series) and pd.api.types.is_object_dtype(native.dtype):
            # Objects may be anything; only their values say what they are.
            return False
        return isinstance(self.values.dtype, nw.String | nw.Categorical | nw.Enum)

    @property
    def declared(self) -> tuple[Any, ...] | None:
        """The categories that a categorical type declares, in their order."""
        return self._categories() if self.declares else None

    def _categories(self) -> tuple[Any, ...] | None:
        """The dictionary of a categorical type."""
        if not (self.textual and isinstance(self.values.dtype, nw.Categorical | nw.Enum)):
            return None
        native = self.values.to_native()
        if isinstance(native, pd.Series) and not isinstance(native.dtype, pd.CategoricalDtype):
            return None  # Arrow's dictionaries under pandas declare nothing that pandas can tell.
        return tuple(self.values.cat.get_categories().to_list())

    def kind(self) -> Kind:
        """What it holds; "empty" where every value is missing."""
        return self._kind

    @cached_property
    def _kind(self) -> Kind:
        if not isinstance(self.values, nw.Series):
            return _kind_of_array(self.name, self.values)
        dtype = self.values.dtype
        if isinstance(dtype, nw.Boolean):
            return "boolean"
        if dtype.is_integer():
            return "integer"
        if dtype.is_numeric():
            return "real"
        if isinstance(dtype, nw.String):
            return "empty" if self.values.is_null().all() else "text"
        if (categories := self._categories()) is not None:
            return _kind_of_objects(self.name, categories)
        if isinstance(dtype, nw.Object | nw.Unknown | nw.Categorical):
            return _kind_of_objects(self.name, self.values.to_list())
        raise ValueError(_no_family(self.name, self.dtype))

    def binary(self) -> bool:
        """Whether its whole numbers are all 0, 1 or missing."""
        cells = self._numpy()
        return set(self.coded[1]) <= {0, 1} if cells is None else zeros_and_ones(cells)

    def reals(self) -> Array:
        """Its numbers as float64 (row,), NaN where missing."""
        kind = self.kind()
        if kind == "text":
            example = next((v for v in self._objects() if not pd.isna(v)), None)
            if example is None:
                # A categorical type of text may declare levels of which no row has one.
                return np.full(len(self.values), np.nan)
            raise ValueError(
                f"column {self.name!r} holds text ({example!r}) where numbers are needed: convert it, or read "
                f"it as categories with features={{{self.name!r}: Categorical()}}"
            )
        if kind == "empty":
            return np.full(len(self.values), np.nan)
        if (cells := self._numpy()) is not None:
            return np.asarray(cells, float)
        if isinstance(self.values, nw.Series) and (self.values.dtype == nw.Boolean or self.values.dtype.is_integer()):
            # Arrow refuses to cast whole numbers beyond 2^53, which numpy rounds.
            missing = self.values.is_null().to_numpy()
            filler = False if self.values.dtype == nw.Boolean else 0
            x = np.array(self.values.fill_null(filler).to_numpy(), float)
            x[missing] = np.nan
            return x
        if isinstance(self.values, nw.Series) and self.values.dtype.is_numeric():
            return np.asarray(self.values.cast(nw.Float64).to_numpy(), float)
        try:
            return np.array([np.nan if pd.isna(v) else float(v) for v in self._objects()], float)
        except OverflowError as error:
            raise ValueError(f"column {self.name!r} holds an integer too large for a float ({error})") from error

    def _numpy(self) -> Array | None:
        """Its cells where numpy holds them as numbers or flags, else ``None``."""
        cells = self.values.to_native() if isinstance(self.values, nw.Series) else self.values
        if isinstance(cells, pd.Series) and isinstance(cells.dtype, np.dtype):
            cells = cells.to_numpy()
        return cells if isinstance(cells, np.ndarray) and cells.dtype.kind in "biuf" else None

    def finite(self) -> Array:
        """Its numbers, none of them infinite."""
        x = self.reals()
        if reading.infinite(x[:, None]):
            row = int(np.flatnonzero(np.isinf(x))[0])
            raise ValueError(
                f"column {self.name!r} is infinite in row {row}: write a missing value (NaN) or a number there"
            )
        return x

    @cached_property
    def coded(self) -> tuple[Array, list[Any]]:
        """Codes (row,), -1 where missing, and the distinct values they stand for."""
        self.kind()
        values = self.values
        if isinstance(values, nw.Series):
            native = values.to_native()
            if self.textual and not isinstance(native, pd.Series):
                return _dictionary(native)
            values = native if isinstance(native, pd.Series) else np.array(self._objects(), object)
        if isinstance(values, pd.Series) and isinstance(values.dtype, pd.CategoricalDtype):
            return values.cat.codes.to_numpy(), values.cat.categories.tolist()
        if not isinstance(values, pd.Series):
            values = values.astype(values.dtype.newbyteorder("="), copy=False)
            values = pd.Series(values) if values.dtype.kind == "f" else values
        codes, distinct = pd.factorize(values)
        return codes, distinct.tolist()

    def _objects(self) -> list[Any]:
        return self.values.to_list() if isinstance(self.values, nw.Series) else self.values.tolist()


def _dictionary(native: Any) -> tuple[Array, list[Any]]:
    """Codes (row,), -1 where missing, and values of text or categories as polars and Arrow themselves encode them."""
    if not hasattr(native, "to_physical"):
        array = native.unify_dictionaries().combine_chunks()
        encoded = array if hasattr(array, "dictionary") else array.dictionary_encode()
        values = encoded.dictionary.to_pylist()
        codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        if None in values:
            codes = np.where(codes == values.index(None), -1, codes)
        return codes, values
    import polars as pl

    known = np.flatnonzero(native.is_not_null().to_numpy())
    text = native if native.dtype in (pl.Categorical, pl.Enum) else native.cast(pl.Categorical)
    places, distinct = pd.factorize(text.to_physical().fill_null(0).to_numpy()[known])
    codes, first = np.full(len(native), -1), np.empty(len(distinct), np.intp)
    codes[known] = places
    # Written from the end, the first row of each value stays.
    first[places[::-1]] = known[::-1]
    return codes, native.gather(first).to_list()


def zeros_and_ones(x: Array) -> bool:
    """Whether an array holds whole numbers and all of them are 0 or 1."""
    return x.dtype.kind in "iu" and x.min(initial=0) >= 0 and x.max(initial=0) <= 1


def _called(dtype: Any) -> str:
    """What a type is called; numpy takes long to say it."""
    return _NUMPY.get(dtype) or str(dtype) if isinstance(dtype, np.dtype) else str(dtype)


_NUMPY = {np.dtype(kind): str(np.dtype(kind)) for kind in "?bBhHiIlLqQefd"}


def _no_family(name: Any, dtype: Any) -> str:
    return (
        f"column {name!r} holds {dtype}, which no family reads: turn it into numbers (days since a date, say) or "
        "into categories, or leave it out"
    )


def _kind_of_array(name: Any, values: Array) -> Kind:
    match values.dtype.kind:
        case "b":
            return "boolean"
        case "i" | "u":
            return "integer"
        case "f":
            return "real"
        case "U" | "S" | "T":
            return "text"
        case "O":
            return _kind_of_objects(name, values.tolist())
    raise ValueError(_no_family(name, values.dtype))


def _kind_of_objects(name: Any, values: Sequence[Any]) -> Kind:
    if pd.api.types.infer_dtype(values, skipna=True) == "string":
        return "text"
    kinds = {_kind_of_one(name, value) for value in values} - {"empty"}
    if not kinds:
        return "empty"
    if len(kinds) == 1:
        return kinds.pop()
    return "real" if kinds == {"integer", "real"} else "text"


def _kind_of_one(name: Any, value: Any) -> Kind:
    if isinstance(value, str):
        return "text"
    if isinstance(value, bool | np.bool_):
        return "boolean"
    if value is None or value is pd.NA or value is pd.NaT:
        return "empty"
    if isinstance(value, Number) and not isinstance(value, complex) and not _signals(value):
        return "empty" if value != value else "integer" if isinstance(value, Integral) else "real"
    if isinstance(value, np.datetime64 | np.timedelta64) and np.isnat(value):
        return "empty"
    raise CellError(
        f"argument must be a string or a number: column {name!r} holds {reprlib.repr(value)} of type "
        f"{type(value).__name__}; write a string, a number or a missing value there, or leave the column out"
    )


def _signals(value: Number) -> bool:
    """Whether it is a signalling NaN, which raises an error when it is compared."""
    return isinstance(value, Decimal) and value.is_snan()


class CellError(ValueError, TypeError):
    """A cell is neither a string nor a number nor missing.

    It is a ``ValueError`` like all that is refused in a table, and the ``TypeError`` that scikit-learn asks for.
    """


@dataclass(frozen=True, eq=False)
class Table:
    """A table of named columns.

    Parameters
    ----------
    names : tuple
        Column names; "x0", "x1", … where the source has none.
    source : narwhals DataFrame, array (row, column) or CSR matrix
    n_rows : int
    declares : set of column names, optional
        The columns whose categorical types say which levels there are; all of them by default.
    trust : bool
        Whether the cells of a large array are handed on without a look at each. What is made of them is then not
        finite where a family cannot read one; who sees that reads the table again without trust, to be told which.
    """

    names: Names
    source: Any
    n_rows: int
    declares: frozenset[Any] | None = None
    trust: bool = False

    @classmethod
    def of(cls, X: Any, min_rows: int = 0) -> Table:
        """Any table as a ``Table``.

        Raises
        ------
        ValueError
            For duplicate column names, columns of different lengths, anything that has not two dimensions.
        """
        if isinstance(X, Table):
            return X
        if type(X) is np.ndarray and X.ndim == 2 and X.dtype.kind in "biuf" and X.shape[1] and len(X) >= min_rows:
            # The one kind of table of which nothing need be asked.
            return cls(_positions(X.shape[1]), X, len(X))
        if sparse.issparse(X):
            X = check_array(X, accept_sparse="csr", ensure_all_finite=False, ensure_min_samples=min_rows)
            X = X if isinstance(X, sparse.csr_array) else sparse.csr_array(X)
            if not X.has_canonical_format:
                # Cells stored in parts are added up, in a copy: the matrix is the caller's.
                X = X.copy()
                X.sum_duplicates()
            return cls(_positions(X.shape[1]), X, X.shape[0])
        if isinstance(X, Mapping):
            X = _frame_of_columns(X)
        X = _without_views(X)
        try:
            frame = nw.from_native(X, eager_only=True, pass_through=True)
        except Exception as error:
            if "unique" in str(error) or "duplicate" in str(error).lower():
                raise ValueError(f"column names must be unique: {' '.join(str(error).split())}") from error
            raise
        if isinstance(frame, nw.DataFrame):
            _require_names(frame.columns)
            if len(frame) < min_rows:
                raise ValueError(f"Found array with {len(frame)} sample(s) while a minimum of {min_rows} is required.")
            return cls(tuple(frame.columns), frame, len(frame))
        dtype = getattr(X, "dtype", None)
        X = check_array(
            X,
            dtype=None if dtype is not None or _has_text(X) else "numeric",
            ensure_all_finite=False,
            ensure_min_samples=min_rows,
        )
        return cls(_positions(X.shape[1]), X, len(X))

    def on_trust(self) -> Table:
        """The same, handed on without a look at each cell if it is a large array."""
        cells = self.source.nnz if self.sparse else self.source.size if self.numeric else 0
        return replace(self, trust=True) if worth(cells) else self

    @cached_property
    def looked_at(self) -> Table:
        """The same, not on trust."""
        return replace(self, trust=False) if self.trust else self

    @property
    def named(self) -> bool:
        """Whether its columns have names of their own."""
        return isinstance(self.source, nw.DataFrame)

    @property
    def sparse(self) -> bool:
        """Whether it is a sparse matrix."""
        return sparse.issparse(self.source)

    @property
    def numeric(self) -> bool:
        """Whether it is a dense array of numbers, which need not be looked at column by column."""
        return isinstance(self.source, np.ndarray) and self.source.dtype.kind in "biuf"

    def require_dense(self, family: Any) -> None:
        """Refuse a sparse matrix, for a family whose formulas are not zero at a zero."""
        if self.sparse:
            raise ValueError(
                f"a sparse matrix cannot be read by {type(family).__name__}; give it dense, as X.toarray()"
            )

    @cached_property
    def place(self) -> dict[Any, int]:
        """Position of each column."""
        return {name: k for k, name in enumerate(self.names)}

    @cached_property
    def cells(self) -> Array | None:
        """The numbers of a frame that is wider than it is long, as one array, if all are of one type and none infinite.

        To ask a frame for each of many columns takes longer than to read them.
        """
        frame = self.source.to_native() if self.named and self.n_rows < len(self.names) else None
        if not (isinstance(frame, pd.DataFrame) and isinstance(dtype := frame.dtypes.iloc[0], np.dtype)):
            return None
        if dtype.kind not in "biuf" or not (frame.dtypes == dtype).all():
            return None
        x = frame.to_numpy()
        return None if reading.infinite(x) else x

    def column(self, name: Any) -> Column:
        """The column of that name."""
        if self.cells is not None:
            return Column(name, self.cells[:, self.place[name]])
        if name not in self._columns:
            if self.named:
                self._columns[name] = Column(
                    name, self.source.get_column(name), self.declares is None or name in self.declares
                )
            else:
                self._columns[name] = Column(name, self.source[:, self.place[name]])
        return self._columns[name]

    @cached_property
    def _columns(self) -> dict[Any, Column]:
        """The columns that were looked at: each is encoded once, though it is asked first what it holds."""
        return {}

    @cached_property
    def whole(self) -> reading.Whole | None:
        """Which whole numbers the columns of a large array hold, where it holds nothing else and no wide span."""
        if not (self.numeric and self.source.dtype.kind in "iub" and self.source.dtype != np.uint64):
            return None
        if not worth(self.source.size):
            return None
        # Few levels that many rows have are most often those of all; a code that is none of theirs is noticed.
        some = reading.whole(self.source[:: -(-self.n_rows // SOME)]) if self.trust else None
        return some if some is not None and some.held.shape[1] <= FEW else reading.whole(self.source)

    def distinct(self, name: Any) -> list[Any]:
        """The distinct values of a column that are not missing, in no order."""
        if self.whole is None:
            return self.column(name).coded[1]
        return self.whole.values(self.place[name]).astype(self.source.dtype).tolist()

    def block(self, names: Sequence[Any]) -> Any:
        """These columns of a dense or sparse array, in this order; all of them without a copy."""
        if tuple(names) == self.names:
            return self.source
        return self.source[:, [self.place[name] for name in names]]

    def rows(self, keep: Array) -> Table:
        """The rows of a mask."""
        if keep.all():
            return self
        source = self.source.filter(keep.tolist()) if self.named else self.source[keep]
        return replace(self, source=source, n_rows=int(keep.sum()))

    def without(self, names: Sequence[Any]) -> Table:
        """The table less some columns of its own names."""
        source = self.source.drop([name for name in names if name in self.place])
        return replace(self, names=tuple(source.columns), source=source)


@cache
def _positions(n: int) -> tuple[str, ...]:
    return tuple(f"x{k}" for k in range(n))


def _has_text(X: Any) -> bool:
    """Whether a nested list holds text, so that it must not be read as numbers."""
    try:
        return np.asarray(X).dtype.kind in "US"
    except ValueError:
        return False


def _frame_of_columns(columns: Mapping[Any, Any]) -> pd.DataFrame:
    _require_names(columns)
    for name, values in columns.items():
        if isinstance(values, str) or not hasattr(values, "__len__"):
            raise ValueError(f"column {name!r} is {values!r}: a column is a list or an array, one value a row")
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"columns must have one length; got {lengths}")
    return pd.DataFrame({name: _cells(values) for name, values in columns.items()})


def _cells(values: Any) -> Any:
    """A column of a dict as pandas is to hold it."""
    if isinstance(values, pd.Series):
        # A Series brings an index, by which pandas would reorder its rows.
        return values.array
    if isinstance(values, list | tuple) and pd.api.types.infer_dtype(values) == "integer":
        # pandas makes floats of whole numbers beside a missing value, and what they were is lost.
        cells = np.array(values, object)
        return cells if pd.isna(cells).any() else values
    return values


def _without_views(X: Any) -> Any:
    """An Arrow table, or a pandas frame, whose string views are strings: Arrow cannot take rows of views."""
    if hasattr(X, "schema") and hasattr(X, "cast") and hasattr(X.schema, "types"):
        if any(map(_is_view, X.schema.types)):
            import pyarrow as pa

            fields = [f.with_type(pa.large_string()) if _is_view(f.type) else f for f in X.schema]
            return X.cast(pa.schema(fields))
    elif isinstance(X, pd.DataFrame):
        views = [k for k, dtype in enumerate(X.dtypes) if _is_view(getattr(dtype, "pyarrow_dtype", None))]
        if views:
            import pyarrow as pa

            text, X = pd.ArrowDtype(pa.large_string()), X.copy(deep=False)
            for k in views:
                X.isetitem(k, pd.array(pa.array(X.iloc[:, k].array).cast(pa.large_string()), dtype=text))
    return X


def _is_view(kind: Any) -> bool:
    return str(kind).startswith(("string_view", "dictionary<values=string_view"))


def _require_names(names: Iterable[Any]) -> None:
    """Refuse a name that stands twice, is missing, or cannot be written."""
    names = list(names)
    if len(set(names)) < len(names):
        twice = next(name for name, times in Counter(names).items() if times > 1)
        raise ValueError(f"column names must be unique; {twice!r} stands {names.count(twice)} times")
    for k, name in enumerate(names):
        if name is None or name is pd.NA or name is pd.NaT or name != name:
            raise ValueError(f"the column at position {k} is named {name!r}, which stands for no name: give it one")
    try:
        "".join(name for name in names if isinstance(name, str)).encode()
    except UnicodeEncodeError:
        broken = next(name for name in names if isinstance(name, str) and not _is_unicode(name))
        raise ValueError(
            f"column {broken!r} has half of a character (a lone surrogate) in its name: rename the column"
        ) from None


def _is_unicode(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
