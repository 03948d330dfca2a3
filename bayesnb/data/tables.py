"""Convert any table to named columns."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from bayesnb.data.amounts import Marks
from bayesnb.data.arrow import array_of, batch_rows, frame_of, is_ordered, message_of, ordered_in, plain
from bayesnb.data.columns import Column, Names, are_whole, as_floats, as_objects, zeros_and_ones
from bayesnb.kernels import reading
from bayesnb.kernels.blocks import COMPILED_FROM
from bayesnb.priors import Array
from bayesnb.wording import RefusedError, meant, some


@dataclass(frozen=True, eq=False)
class Table:
    """A table of named columns: a pandas DataFrame, an array (row, column) or a CSR matrix."""

    names: Names  # "x0", "x1", … if the source has no names.
    source: Any
    declares: frozenset[Any] | None = None  # The columns whose categorical type declares levels.
    part: bool = False  # Whether decisions that need all rows of a larger table are postponed.
    # The readings, decimal marks and kinds of values in a larger table, from which these rows were taken.
    readings: Mapping[Any, Any] | None = None
    marks: Callable[[], Marks] | None = None
    known: Mapping[Any, Any] = field(default_factory=dict)
    n_rows: int = field(init=False)
    named: bool = field(init=False)  # Whether the source is a data frame.
    numeric: bool = field(init=False)  # Whether the source is an array of numbers.
    sparse: bool = field(init=False)  # Whether the source is a CSR matrix.
    _columns: dict[Any, Column] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        array = isinstance(self.source, np.ndarray)
        object.__setattr__(self, "n_rows", self.source.shape[0])
        object.__setattr__(self, "named", isinstance(self.source, pd.DataFrame))
        object.__setattr__(self, "numeric", array and self.source.dtype.kind in "biuf")
        object.__setattr__(self, "sparse", not (array or self.named))

    @classmethod
    def of(cls, X: Any, min_rows: int = 0) -> Table:
        """Make a :class:`Table` of any table that is in memory."""
        if isinstance(X, Table):
            return X
        if type(X) is np.ndarray and X.ndim == 2 and X.dtype.kind in "biuf" and X.shape[1] and len(X) >= min_rows:
            # An array of numbers needs no further checks.
            return cls(_positions(X.shape[1]), X)
        if sparse.issparse(X):
            from sklearn.utils import check_array

            X = check_array(X, accept_sparse="csr", ensure_all_finite=False, ensure_min_samples=min_rows)
            canonical = X.has_canonical_format  # The answer is kept in the matrix, not in the array made from it.
            X = X if isinstance(X, sparse.csr_array) else sparse.csr_array(X)
            if not canonical:
                # A cell may be stored as several entries, which are summed in a copy, not in the caller's matrix.
                X = X.copy()
                X.sum_duplicates()
            X.has_canonical_format = True
            return cls(_positions(X.shape[1]), X)
        if isinstance(X, list | tuple) and X and all(isinstance(row, Mapping) for row in X):
            # Rows as dicts, as from JSON and csv.DictReader. A key that a row lacks is missing in this row.
            X = {name: [row.get(name) for row in X] for name in dict.fromkeys(name for row in X for name in row)}
        if isinstance(X, Mapping):
            X = _frame_of_columns(X)
        if isinstance(X, pd.DataFrame):
            return cls.of_frame(X, min_rows)
        X = as_objects(in_memory(X))
        if hasattr(X, "num_rows") and hasattr(X, "schema"):
            return cls.of_arrow(X, min_rows=min_rows)
        # A pandas table does not need narwhals, whose import is a tenth of the time of a command.
        import narwhals.stable.v2 as nw
        from narwhals.exceptions import DuplicateError

        try:
            frame = nw.from_native(X, eager_only=True, pass_through=True)
        except DuplicateError as error:
            raise ValueError(f"column names must be unique: {' '.join(str(error).split())}") from error
        if isinstance(frame, nw.DataFrame):
            own = [c for c, kind in frame.schema.items() if isinstance(kind, nw.Categorical)]
            frame = frame.with_columns(nw.col(own).cast(nw.String) if own else ())
            return cls.of_arrow(frame.to_arrow(), min_rows=min_rows)
        _require_columns(X)
        from sklearn.utils import check_array

        if isinstance(X, list | tuple) and _has_text(X):
            X = np.array(X, object)  # An array of text would also turn the numbers into text.
        dtype = None if getattr(X, "dtype", None) is not None else "numeric"
        X = check_array(X, dtype=dtype, ensure_all_finite=False, ensure_min_samples=min_rows)
        return cls(_positions(X.shape[1]), X)

    @classmethod
    def of_frame(cls, frame: pd.DataFrame, min_rows: int = 0) -> Table:
        """Make a :class:`Table` of a data frame; columns of Arrow types are copied."""
        names, declared, source = tuple(frame.columns), [], frame
        require_shape(names, len(frame), min_rows)
        for k, dtype in enumerate(frame.dtypes):
            if isinstance(dtype, pd.CategoricalDtype):
                declared.append(names[k])
            elif isinstance(dtype, pd.ArrowDtype):
                source = frame.copy(deep=False) if source is frame else source
                source.isetitem(k, array_of(frame.iloc[:, k].array.__arrow_array__()))
        return cls(names, source, frozenset(declared))

    @classmethod
    def of_arrow(cls, batch: Any, declares: bool = True, min_rows: int = 0) -> Table:
        """Make a :class:`Table` of an Arrow batch or table."""
        from pyarrow import types

        require_shape(batch.schema.names, batch.num_rows, min_rows)
        # An unordered dictionary type declares levels only if ``declares`` is true.
        declared = frozenset(
            f.name for f in batch.schema if is_ordered(f.type) or (declares and types.is_dictionary(f.type))
        )
        return cls(tuple(batch.schema.names), frame_of(batch), declared)

    @cached_property
    def place(self) -> dict[Any, int]:
        return {name: k for k, name in enumerate(self.names)}

    def resolved(self, column: Any) -> Any:
        """The name of a column, given by name or, if the table has no column names, by position."""
        if column in self.place:
            return column
        if not self.named and isinstance(column, int | np.integer) and 0 <= column < len(self.names):
            return self.names[column]
        raise ValueError(
            f"features names column {column!r}, which the table does not have beside its class; the columns are "
            + some(self.names)
            + meant(column, self.names)
        )

    def renamed(self, names: Names) -> Table:
        if not self.named:
            return replace(self, names=names)
        names = tuple(map(str, names))
        return replace(self, names=names, source=self.source.set_axis(names, axis=1))

    def column(self, name: Any) -> Column:
        if name not in self._columns:
            if self.named:
                self._columns[name] = Column(name, self.source[name], self.declares is None or name in self.declares)
            else:
                cells = self.source[:, self.place[name]]
                self._columns[name] = Column(name, cells.toarray() if self.sparse else cells)
        return self._columns[name]

    @cached_property
    def whole(self) -> reading.Whole | None:
        """The distinct numbers in each column, if the table is a large array of integers; otherwise ``None``."""
        if not (self.numeric and self.source.dtype.kind in "iub" and self.source.dtype != np.uint64):
            return None
        if self.source.size < COMPILED_FROM:
            return None
        return reading.whole(self.source)

    def distinct(self, name: Any) -> list[Any]:
        """The unsorted distinct values of a column, without missing values; whole numbers are integers."""
        if self.whole is None:
            column = self.column(name)
            values = column.coded[1]
            if not values or not isinstance(values[0], float) or column.declared is not None or column.kind == "text":
                return values
            return [*map(int, values)] if are_whole(np.array(values, float)) else values
        return self.whole.values(self.place[name]).astype(self.source.dtype).tolist()

    def reals(self, names: Names) -> Array:
        """The numbers in the columns ``names``, (row, column), with NaN for columns that the table lacks."""
        if self.numeric:
            return as_floats(self.block(names))
        if len(names) == 1 and names[0] in self.place:
            return self.column(names[0]).reals()[:, None]
        x = np.full((self.n_rows, len(names)), np.nan)
        for k, name in enumerate(names):
            if name in self.place:
                x[:, k] = self.column(name).reals()
        return x

    def codes(self, names: Names, places: Sequence[Array]) -> Array:
        """Codes, (row, column), of the cells of a large array of integers."""
        # ``places`` holds one array per column: a code for each distinct number, in sorted order, and the code of
        # missing cells.
        index = [self.place[name] for name in names]
        whole = reading.Whole(self.whole.low[index], self.whole.held[index])
        found = np.full(whole.held.shape, -1, places[0].dtype)
        for row, mask, place in zip(found, whole.held, places, strict=True):
            row[mask] = place[:-1]
        return reading.codes(self.block(names), whole, found)

    def block(self, names: Sequence[Any]) -> Any:
        """The columns ``names`` of a table that is an array or a sparse matrix."""
        if tuple(names) == self.names:
            return self.source
        return self.source[:, [self.place[name] for name in names]]

    def kinds(self, columns: Collection[Any]) -> dict[Any, str]:
        """The kind of each column's values, such as "number" or "text", regardless of the dtype."""
        if self.known:
            rest = replace(self, known={}).kinds([name for name in columns if name not in self.known])
            return rest | {name: self.known[name] for name in columns if name in self.known}
        if self.sparse:
            return dict.fromkeys(columns, "sparse")
        if not self.numeric:
            return {name: self.column(name).kind_of_values for name in columns}
        if self.source.dtype == bool:
            return dict.fromkeys(columns, "boolean")
        flags = zeros_and_ones(self.source)
        return {name: "zero_one" if flags[self.place[name]] else "number" for name in columns}

    def rows(self, keep: Array) -> Table:
        """The rows selected by ``keep``, a mask or an array of positions, which may repeat."""
        if keep.dtype != bool:
            return replace(self, source=self.source.iloc[keep] if self.named else self.source[keep])
        return self if keep.all() else replace(self, source=self.source[keep])

    def only(self, names: Iterable[Any]) -> Table:
        names = list(names)
        return replace(self, names=tuple(names), source=self.source[names])

    def through(self, readings: Mapping[Any, Any]) -> Table:
        """Replace each column in ``readings``, such as a date, by its feature columns, such as month and weekday."""
        held = {name: readings[name] for name in self.names if name in readings}
        held = {name: own for name, own in held.items() if own.applies(self.column(name))}
        if not held:
            return self
        made: dict[Any, Any] = {}
        for name in self.names:
            cells = held[name].read(self.column(name)) if name in held else {name: self.column(name).values}
            if taken := [each for each in cells if each in made or (each != name and each in self.place)]:
                raise RefusedError(
                    "column {column!r} would become {value!r}, and the table has a column of this name: rename one of "
                    "them", column=name, value=taken[0],
                )  # fmt: skip
            made |= {each: getattr(values, "array", values) for each, values in cells.items()}
        declares = self.declares
        if declares is not None:
            declares |= {each for name, own in held.items() for each in own.names(name)}
        index = self.source.index if self.named else None
        source = pd.DataFrame(made, index=index, copy=False)
        return replace(self, names=tuple(made), source=source, declares=declares)

    def without(self, names: Sequence[Any]) -> Table:
        source = self.source.drop(columns=[name for name in names if name in self.place])
        return replace(self, names=tuple(source.columns), source=source)


def tables(batches: Iterable[Any], declares: bool) -> Iterator[Table]:
    """Divide Arrow batches or tables into small tables."""
    for batch in batches:
        step = batch_rows(len(batch.schema.names))
        for start in range(0, batch.num_rows, step):
            yield Table.of_arrow(batch.slice(start, step), declares)


def _require_columns(X: Any) -> None:
    if isinstance(X, pd.Series) or type(X).__name__ == "Series":
        name = "x" if X.name in (None, "") else X.name
        if isinstance(X, pd.Series) and len(X) and all(isinstance(label, str) for label in X.index):
            # The cells of one row have the names of the columns.
            raise ValueError(
                "X is a Series with a name for each value, where a table is needed: for one row of a table, write "
                "X.to_frame().T, or X.iloc[[0]] for row 0 of a table X"
            )
        raise ValueError(f"X is one column, a Series, where a table is needed: write {{{name!r}: X}}")
    flat = isinstance(X, list | tuple) or (isinstance(X, np.ndarray) and X.ndim == 1)
    if flat and len(X) and all(isinstance(text, str) for text in X):
        raise ValueError('X is a list of texts, where a table is needed: write {"text": X}')


@cache
def _positions(n: int) -> tuple[str, ...]:
    return tuple(f"x{k}" for k in range(n))


def _has_text(X: Any) -> bool:
    try:
        return np.asarray(X).dtype.kind in "US"
    except ValueError:
        return False


def _frame_of_columns(columns: Mapping[Any, Any]) -> pd.DataFrame:
    require_shape(columns)
    for name, values in columns.items():
        if isinstance(values, str) or not hasattr(values, "__len__"):
            raise ValueError(
                f"column {name!r} is {values!r}: a column is a list or an array, one value a row. Write a single row "
                "as {column: [value]}, or ask nb.deploy.compile(clf), which takes rows"
            )
        if isinstance(values, set | frozenset):
            raise ValueError(f"column {name!r} is a set, which has no order: write a list or an array")
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"columns must have one length; got {lengths}")
    return pd.DataFrame({name: _cells(values) for name, values in columns.items()})


def _cells(values: Any) -> Any:
    if isinstance(values, pd.Series):
        # Without its index, which pandas would use to reorder the rows.
        return values.array
    values = as_objects(values)
    if isinstance(values, list | tuple) and pd.api.types.infer_dtype(values) == "integer":
        # If a value is missing, pandas would convert integers to floats.
        cells = np.array(values, object)
        return cells if pd.isna(cells).any() else values
    return values


SURROGATE = re.compile("[\ud800-\udfff]")


def require_shape(names: Iterable[Any], n_rows: int = 0, least: int = 0) -> None:
    """Raise ``ValueError`` for duplicate or missing column names, or for fewer than ``least`` rows."""
    if n_rows < least:
        raise ValueError(f"Found array with {n_rows} sample(s) while a minimum of {least} is required.")
    names = list(names)
    if len(set(names)) < len(names):
        twice = next(name for name, times in Counter(names).items() if times > 1)
        raise ValueError(f"column names must be unique; {twice!r} stands {names.count(twice)} times")
    for k, name in enumerate(names):
        if name is None or name is pd.NA or name is pd.NaT or name != name:
            raise ValueError(f"the column at position {k} is named {name!r}, which stands for no name: give it one")
        parts = name if isinstance(name, tuple) else (name,)
        if any(isinstance(part, str) and SURROGATE.search(part) for part in parts):
            raise ValueError(
                f"column {name!r} has half of a character (a lone surrogate) in its name: rename the column"
            )


# Lazy tables

PACKAGES = ("polars", "duckdb", "_duckdb", "ibis", "dask", "distributed", "pyspark", "pyarrow")
"""Packages whose exceptions may be raised while an engine reads rows."""


IN_MEMORY = (pd.DataFrame, pd.Series, np.ndarray, list, tuple, Mapping)
"""Types of tables and columns that are never read in parts."""


def engine_of(source: Any) -> str | None:
    """The engine of a lazy table, such as "polars", or "arrow" for a lazy Arrow stream; ``None`` for other objects."""
    kind = type(source)
    names = {(each.__module__.partition(".")[0], each.__name__) for each in kind.__mro__}
    if ("polars", "LazyFrame") in names:
        return "polars"
    if ("pyarrow", "Dataset") in names or ("pyarrow", "Scanner") in names:
        return "dataset"
    if any(package.startswith("dask") and name == "DataFrame" for package, name in names):
        return "dask"
    if ("pyspark", "DataFrame") in names:
        return "spark"
    relation = names & {("duckdb", "DuckDBPyRelation"), ("_duckdb", "DuckDBPyRelation")}
    lazy = hasattr(kind, "to_pyarrow") or not hasattr(kind, "__len__")
    return "arrow" if relation or (hasattr(kind, "__arrow_c_stream__") and lazy) else None


def streams(source: Any) -> bool:
    """Whether a source, such as an iterator of frames, is read in parts."""
    if isinstance(source, IN_MEMORY):
        return False
    return isinstance(source, str | os.PathLike | Iterator) or engine_of(source) is not None


@contextmanager
def about_engine(source: Any) -> Iterator[None]:
    """Convert exceptions of an engine, such as polars, to ``ValueError``."""
    try:
        yield
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in PACKAGES:
            raise
        text = f"{type(error).__name__}: {message_of(error)}"
        raise ValueError(f"the {type(source).__name__} cannot be read ({text})") from error


def in_memory(X: Any) -> Any:
    """Read the rows of a lazy polars or Arrow table; return other objects unchanged."""
    if isinstance(X, IN_MEMORY):
        return X
    with about_engine(X):
        match engine_of(X):
            case "polars":
                return X.collect()
            case "dataset":
                read = X.to_table()
                return read.cast(plain(read.schema, ordered_in([read.schema])))
            case "arrow":
                import pyarrow as pa

                return pa.RecordBatchReader.from_stream(X).read_all()
    return X
