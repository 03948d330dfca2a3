"""Convert one column of a table to numbers or codes; None, NaN, NaT, pd.NA and null are missing values."""

from __future__ import annotations

import reprlib
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from numbers import Integral, Number
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from bayesnb.data import amounts
from bayesnb.kernels import reading
from bayesnb.priors import Array
from bayesnb.wording import Cure, Message, RefusedError, Spelled, warn

type Names = tuple[Any, ...]
type Kind = Literal["boolean", "integer", "real", "text", "empty"]
KINDS: tuple[Kind, ...] = get_args(Kind.__value__)


TEMPORAL = ("datetime", "datetime64", "date", "time", "timedelta", "timedelta64", "period")


@dataclass(frozen=True, eq=False)
class Column:
    """One column of a table, as a pandas Series or an array (row,)."""

    name: Any
    values: Any
    declares: bool = True  # Whether each category of a pandas categorical is a level, even if no row has it.

    def __post_init__(self) -> None:
        # The intervals of pandas.cut are levels.
        if isinstance(kind := self.values.dtype, pd.CategoricalDtype) and isinstance(kind.categories, pd.IntervalIndex):
            object.__setattr__(self, "values", self.values.cat.rename_categories(kind.categories.astype(str)))

    @property
    def dtype(self) -> str:
        return "text" if not self.declares and self.textual else str(self.values.dtype)

    @property
    def textual(self) -> bool:
        return isinstance(self.values.dtype, pd.CategoricalDtype | pd.StringDtype)

    @property
    def declared(self) -> tuple[Any, ...] | None:
        if not (self.declares and isinstance(self.values.dtype, pd.CategoricalDtype)):
            return None
        return tuple(self.values.cat.categories.tolist())

    @property
    def temporal(self) -> bool:
        """Whether the column holds dates, times or durations, of any dtype."""
        dtype = self.values.dtype
        if isinstance(dtype, pd.ArrowDtype):
            from pyarrow import types

            return types.is_temporal(dtype.pyarrow_dtype)
        if isinstance(dtype, pd.PeriodDtype | pd.DatetimeTZDtype) or getattr(dtype, "kind", "") in ("M", "m"):
            return True
        return pd.api.types.is_object_dtype(dtype) and pd.api.types.infer_dtype(self.values, skipna=True) in TEMPORAL

    @property
    def unreadable(self) -> str:
        """The type of cells that no family can read, such as lists in Parquet; "" if the column can be read."""
        if not self.temporal:
            try:
                _ = self.kind
            except RefusedError as error:
                return error.value if isinstance(error, NoFamilyError) else type(error.value).__name__
        return ""

    @property
    def kind_of_values(self) -> str:
        """The kind of the values ("text", "number", …), which decides the default family."""
        kind = self.kind
        if kind == "text" or (self.textual and (kind != "empty" or self.declared is not None)):
            return "text" if self.declared is None else "categories"
        if kind == "boolean":
            return "boolean"
        if kind == "integer" and len(x := self.reals()) and np.nanmax(x) <= 1 and np.nanmin(x) >= 0:
            return "zero_one"
        return "nothing" if kind == "empty" else "number"

    def ordered(self) -> tuple[Any, ...]:
        """The levels of the column in the order of its ordered type, or sorted by number."""
        if self.declared and self.values.cat.ordered:
            return self.declared
        codes, distinct = self.coded
        levels = [distinct[code] for code in np.flatnonzero(np.bincount(codes[codes >= 0]))]
        if levels and self.kind != "text":
            return tuple(sorted(levels))
        raise RefusedError(
            "column {column!r} holds {value}: name its levels from the lowest to the highest, {cure}",
            column=self.name,
            value="text, whose order is not known" if levels else "no value",
            cure=Spelled(
                "as the order of its Ordinal, or give it an ordered categorical type", "as ordinal:LOWEST,…,HIGHEST"
            ),
        )

    @cached_property
    def kind(self) -> Kind:
        """The kind of the values, such as "integer" or "text"; "empty" if all cells are missing."""
        kind, dtype = self._stored, self.values.dtype
        always_known = isinstance(dtype, np.dtype) and dtype.kind in "biu"
        if kind in ("text", "empty") or always_known or isinstance(dtype, pd.CategoricalDtype):
            return kind
        x = self.reals()
        if np.isnan(x[:1]).all() and np.isnan(x).all():
            return "empty"
        return "integer" if kind == "real" and are_whole(x) else kind

    @cached_property
    def _stored(self) -> Kind:
        dtype = self.values.dtype
        if isinstance(dtype, pd.CategoricalDtype):
            return _kind_of_objects(self.name, self.values.cat.categories.tolist())
        if isinstance(dtype, pd.StringDtype):
            return "empty" if self.values.isna().all() else "text"
        if pd.api.types.is_object_dtype(dtype):
            return _kind_of_objects(self.name, self.values.tolist())
        if isinstance(dtype, pd.ArrowDtype) or dtype.kind not in KIND_OF:
            raise NoFamilyError(NO_FAMILY, column=self.name, value=self.dtype, cure=Cure("drop", column=self.name))
        return KIND_OF[dtype.kind]

    def reals(self) -> Array:
        kind = self._stored
        if kind == "text":
            held = [(row, v) for row, v in enumerate(self.values) if not pd.isna(v)]
            if not held:
                # A categorical type may declare text levels, although every row is missing.
                return np.full(len(self.values), np.nan)
            marks = {row for row, v in held if isinstance(v, str) and v.strip().lower() in amounts.GAPS}
            odd = [(row, v) for row, v in held if not (row in marks or amounts.is_float(v))]
            said = "column {column!r} holds text ({value!r}) where {expected} are needed, in row {row}"
            truths = [(row, v) for row, v in held if isinstance(v, bool | np.bool_)]
            if truths and not odd:
                said = "column {column!r} holds both numbers and True or False, such as {value!r} in row {row}"
                odd = min(truths, [(row, v) for row, v in held if not isinstance(v, bool | np.bool_)], key=len)
            if not odd:
                x = np.full(len(self.values), np.nan)
                x[[row for row, _ in held if row not in marks]] = [float(v) for row, v in held if row not in marks]
                return x
            if not truths and (x := self._money()) is not None:
                return x
            odd = odd or held
            alone, cells = all(v == odd[0][1] for _, v in odd), [str(v) for _, v in held]
            text, write = culprit(self.name, [str(v) for _, v in odd], alone, cells)
            row, example = next((row, v) for row, v in odd if str(v) == text)
            if not isinstance(example, str):
                truths, write = held, "give all cells one type"
            advice, more = to_numbers(self.name, [] if truths else cells, text, write)
            expected = "numbers, or True and False," if truths_in(cells) else "numbers"
            raise RefusedError(
                said + ": " + advice, column=self.name, value=example, row=row, expected=expected, **more
            )
        if kind == "empty":
            return np.full(len(self.values), np.nan)
        if self.values.dtype.kind in "biuf":
            if isinstance(self.values, np.ndarray):
                return as_floats(self.values)
            of_numpy = isinstance(self.values.dtype, np.dtype)
            return as_floats(self.values.to_numpy()) if of_numpy else self.values.to_numpy(float, na_value=np.nan)
        x = np.full(len(self.values), np.nan)
        for row, value in enumerate(self.values):
            try:
                x[row] = np.nan if pd.isna(value) else float(value)
            except OverflowError as error:
                said = "column {column!r} holds a number above all floats in row {row}: {cure}"
                cure = "divide the column by a power of ten, or write a missing value there"
                raise RefusedError(said, column=self.name, row=row, value=value, cure=cure) from error
        return x

    def _money(self) -> Array | None:
        """The numbers in a column of money, if only some cells name the currency; ``None`` for other columns."""
        codes, distinct = self.coded
        used = [distinct[k] for k in np.unique(codes[codes >= 0])]
        texts = [cell for cell in used if isinstance(cell, str) and cell.strip().lower() not in amounts.GAPS]
        if not (found := amounts.money_in(texts, any(not isinstance(cell, str) for cell in used))):
            return None
        value = {cell: found.get(cell, np.nan) if isinstance(cell, str) else float(cell) for cell in used}
        named = [bool(amounts.unit_of(cell)) for cell in distinct]
        rows = np.array([*named, False])[codes]
        shown = distinct[codes[rows.argmax()]]
        warn(
            f"column {self.name!r}: {rows.sum():,} of {len(codes):,} cells are in {amounts.unit_of(shown)}, such as "
            f"{shown!r}, and are read like the cells without a unit"
        )
        return np.array([*(value.get(cell, np.nan) for cell in distinct), np.nan])[codes]

    @property
    def numbers_in_text(self) -> bool:
        """Whether the cells are texts, and each text is a number or a marker of a missing cell."""
        texts = self.coded[1] if self.kind == "text" else []
        return bool(texts) and all(amounts.is_float(text) or str(text).lower() in amounts.GAPS for text in texts)

    def refuse_text_among_numbers(self) -> None:
        """Raise ``RefusedError`` for the first text that is not a number, if other cells are numbers."""
        cells = [(row, v) for row, v in enumerate(self.values) if not pd.isna(v)]
        odd = [(row, v) for row, v in cells if isinstance(v, str) and not amounts.is_float(v)]
        if 0 < len(odd) < len(cells):
            row, value = odd[0]
            write = to_mend(self.name, value, all(v == value for _, v in odd))
            raise RefusedError(
                "column {column!r} holds text ({value!r}) in row {row}, and its fitted levels are numbers: {write}",
                column=self.name, value=value, row=row, write=write,
            )  # fmt: skip

    def first_rows(self, texts: Collection[str] | None = None) -> dict[Any, int]:
        """The first row of each distinct value (if given, of each of ``texts``), in the order of rows."""
        codes, distinct = self.coded
        used, rows = np.unique(codes, return_index=True)
        found = {distinct[used[k]]: int(rows[k]) for k in np.argsort(rows) if used[k] >= 0}
        return found if texts is None else {cell: row for cell, row in found.items() if cell in {*texts}}

    def missing(self) -> Array:
        return self.coded[0] < 0 if self.kind == "text" else np.isnan(self.reals())

    def ordinary(self) -> Array:
        """The column's numbers; :func:`require_ordinary` checks them."""
        # Copy a column of a row-major table once, so that later passes read contiguous memory.
        x = np.ascontiguousarray(self.reals())
        require_ordinary((self.name,), x[:, None])
        return x

    @cached_property
    def coded(self) -> tuple[Array, list[Any]]:
        """The code of each cell, (row,), -1 if missing; and the list of distinct values."""
        _ = self._stored  # Raises an error for cells that no family reads.
        if isinstance(self.values.dtype, pd.CategoricalDtype):
            codes, distinct = self.values.cat.codes.to_numpy(), self.values.cat.categories
            if not self.declares:
                codes, distinct = without_unused(codes, distinct)
            return codes, distinct.tolist()
        if not isinstance(self.values, pd.Series):
            codes, distinct = coded_array(self.values)
        else:  # pandas takes half the time if it makes no index of the values.
            plain = isinstance(self.values.dtype, np.dtype)
            codes, distinct = pd.factorize(self.values.to_numpy() if plain else self.values.array)
        return codes, distinct.tolist()


def to_mend(column: Any, text: Any, among_floats: bool = False) -> str | Message:
    """Advice on correcting a text in a column of numbers."""
    said = (
        "if it means missing, {na}"
        if str(text).strip().lower() in amounts.MARKS
        else "convert it, or, to read it as missing, {na}"
    )
    return Message(said, na=missing_in(column, text, among_floats))


def culprit(
    column: Any, texts: Sequence[str], alone: bool = False, among: Sequence[str] = ()
) -> tuple[str, str | Message]:
    """The text that keeps a column from being read as numbers, and advice on this text."""
    # Numbers in the advice have the decimal mark of the cells. If all cells (``among``) are given, numbers in advice
    # for Python have a point.
    decimal = amounts.decimal_of(among or texts)

    def write(text: str, then: str = "", percent: bool = False) -> Message | str:
        def number(mark: str) -> str:
            plain = amounts.number_in(text, mark)
            return f"{float(point) / 100:.15g}".replace(".", mark) + f" or {plain}" if percent else plain

        point = amounts.number_in(text)
        spelled = Spelled(number("." if among else decimal), number(decimal)) if point else None
        return Message("write {number}" + then, number=spelled) if point else ""

    cells = [amounts.measured(text) for text in texts]
    words = [text for text, cell in zip(texts, cells, strict=True) if cell is None or cell.bound]
    units = Counter(cell.unit for cell in cells if cell is not None and cell.unit)
    if not words and units:
        rarest = min(units, key=lambda unit: units[unit])
        text = next(text for text in texts if amounts.unit_of(text) == rarest)
        if len(units) > 1:
            return text, f"convert all numbers to one unit (now {', '.join(sorted(units))})"
        if rarest == "%":
            said = write(text, ", whichever is meant", percent=True)
        else:
            said = write(text, ", if its unit is that of the other cells")
        return text, said or "write the number without its unit"
    text = (words or [text for text in texts if amounts.number_in(text)] or texts)[0]
    if truths := truths_in(among):
        file = ", ".join(f"{int(true)} for {cell!r}" for cell, true in truths.items())
        return text, Spelled(
            f"write X[{column!r}] = X[{column!r}].astype(str).map({truths})",
            f"write true and false as Boolean values, or {file}",
        )
    return text, write(text) or to_mend(column, text, alone)


TRUTHS = {"true": True, "false": False, "yes": True, "no": False}


def truths_in(texts: Iterable[str]) -> dict[str, bool]:
    """Map texts to True or False if all are spellings of true, false or a missing value; otherwise {}."""
    words = {text: text.strip().lower() for text in sorted({*texts})}
    read = {text: TRUTHS[word] for text, word in words.items() if word in TRUTHS}
    return read if all(text in read or word in amounts.GAPS for text, word in words.items()) else {}


def to_numbers(column: Any, texts: Sequence[str], odd: str, write: Any) -> tuple[str, dict[str, Any]]:
    """Advice on texts in a column that must hold numbers: a message template, and the values to insert."""
    # ``odd`` is one of the texts, and ``write`` is the advice on this text alone.
    marks = sorted({text for text in texts if text.strip().lower() in {*amounts.GAPS, *amounts.MARKS}})
    numbers = {text.strip(): amounts.measured(text) for text in {*texts} - {*marks}}
    cells = [cell for cell in numbers.values() if cell is not None and not cell.bound]
    decimals = [mark for mark in amounts.FRACTIONS if all(mark in cell.values for cell in cells)]
    if all(len({*cell.values.values()}) == 1 for cell in cells):
        decimals = decimals[:1]
    units = {cell.unit for cell in cells}
    if not decimals or len(units) != 1 or len(cells) < len(numbers):
        found = amounts.measured(odd) if texts else None
        if found is not None and not found.bound:
            return "{write}", {"write": write}
        kind = "Bounded" if found is not None else "Categorical" if len(odd.split()) < 3 else "Text"
        return "{write}, or fit the model with {cure}", {"write": write, "cure": Cure("features", kind, column)}
    cures = tuple(Cure("features", number_word(mark), column) for mark in decimals)
    groups = sorted({*"".join(numbers)} & {*"'’,.", *amounts.SPACES} - {*decimals})
    # pandas reads one ASCII separator of thousands, and no unit.
    if units != {""} or len(groups) > 1 or not "".join(numbers).isascii():
        return "{write}, or fit the model with {cure}", {"write": write, "cure": cures}
    options = [f"decimal={mark!r}" for mark in decimals if mark == ","] + [f"thousands={mark!r}" for mark in groups]
    options += [f"na_values={marks}"] * bool(marks)
    *first, last = options or [""]
    file = f"read the file with {', '.join(first)}{' and ' * bool(first)}{last}"
    if not options:
        file = f"write X[{column!r}] = pd.to_numeric(X[{column!r}])"
    if any(mark.strip().lower() not in amounts.GAPS for mark in marks):
        if len(options) > 1:
            write = Spelled(f"if it means missing, {file}", f"if it means missing, {missing_in(column, odd).command}")
        return "{write}", {"write": write}
    number = amounts.number_in(odd)
    said = [f"write {number}, "] * (number not in ("", odd)) + [f"{file}, or "] * (len(decimals) == 1)
    return "{write}fit the model with {cure}", {"write": Spelled("".join(said), ""), "cure": cures}


def number_word(decimal: str | None) -> Spelled:
    """The specification ``Number`` with this decimal mark, as Python code and as a command-line option."""
    return Spelled(f'nb.Number(decimal="{decimal}")', f"number:{decimal}")


def all_but(what: str, column: Any, odd: Sequence[str], among_floats: bool = False) -> Message:
    """A message that a column holds only numbers or dates (``what``) except for the texts ``odd``, with advice."""
    number = amounts.number_in(odd[0]) if len(odd) == 1 else ""
    if not number and (mark := one_mark(column, odd)):
        said = "{what} with a point and with a comma, such as {value!r}, so all are read as levels: {mark}"
        return Message(said, what=what, value=odd[0], mark=mark)
    return Message(
        "{what} except {shown}, so all are read as levels: {mend}, or {na}",
        what=what, shown=", ".join(map(reprlib.repr, odd[:3])), mend=f"write {number}" if number else "correct them",
        na=missing_in(column, odd[0], among_floats),
    )  # fmt: skip


def one_mark(column: Any, odd: Sequence[str]) -> Spelled | None:
    """Advice to use one decimal mark in the whole column, if all texts in ``odd`` are numbers; otherwise ``None``."""
    if not all(amounts.number_in(text) and amounts.is_float(text.replace(",", ".")) for text in odd):
        return None
    code = f"write X[{column!r}] = X[{column!r}].replace(',', '.', regex=True)"
    return Spelled(code, "write all numbers with the same decimal mark")


def missing_in(column: Any, mark: Any, among_floats: bool = True) -> Spelled:
    """Advice on reading ``mark`` as missing in a column of numbers."""
    # ``among_floats``: whether ``float`` can convert all other texts.
    code = f"write X[{column!r}] = pd.to_numeric(X[{column!r}], errors='coerce')"
    shown, mark = (f"{mark:.15g}",) * 2 if isinstance(mark, float) else (repr(mark), mark)
    return Spelled(code if among_floats else f"replace {shown} by None", shlex.join(["--na", f"{column}={mark}"]))


def without_unused(codes: Array, distinct: Any) -> tuple[Array, Any]:
    """Drop values that no cell has; return the renumbered codes and the remaining values."""
    found = np.bincount(codes[codes >= 0], minlength=len(distinct)) > 0
    return (codes, distinct) if found.all() else (np.append(np.cumsum(found) - 1, -1)[codes], distinct[found])


def as_floats(cells: Any) -> Array:
    """Convert to float64; numbers beyond the range of float64 become infinite."""
    with np.errstate(over="ignore"):
        return np.asarray(cells, float)


def require_ordinary(names: Names, x: Array) -> None:
    """Raise ``ValueError`` if a number in ``x`` (row, column) is infinite, or if its square overflows or underflows."""
    if not reading.extreme(x):
        return
    row, column = np.argwhere(reading.extremes(x))[0]
    name, value = names[column], x[row, column]
    said = INFINITE if np.isinf(value) else EXTREME
    raise RefusedError(said, column=name, row=int(row), value=float(value), where="")


INFINITE = "column {column!r} is infinite in row {row}: write a missing value (NaN) or a number there"
EXTREME = (
    "column {column!r}{where} holds {value:g} in row {row}, and numbers other than 0 are read from 1e-150 to 1e150 in "
    "size: divide the column by a constant, in every table, or write a missing value (NaN) there"
)
"""Error message about a number whose square, or a sum of such squares, overflows or underflows."""


def as_objects(values: Any) -> Any:
    """Convert masked arrays and arrays of numpy's string type to objects; masked cells become missing."""
    if isinstance(values, np.ma.MaskedArray):
        numbers = values.dtype.kind in ("biuf" if values.ndim == 2 else "f")
        cells = np.array(values.data, float if numbers else object)
        cells[np.ma.getmaskarray(values)] = np.nan if numbers else None
        return cells if np.ma.is_masked(values) else values.data
    return values.astype(object) if getattr(getattr(values, "dtype", None), "kind", "") == "T" else values


def coded_array(cells: Array) -> tuple[Array, Array]:
    """The code of each cell (-1 if missing), and the unsorted distinct values."""
    cells = cells.astype(cells.dtype.newbyteorder("="), copy=False)
    if cells.dtype.kind == "U":
        return _coded_text(cells)
    whole = reading.whole(cells[:, None]) if cells.dtype.kind in "iu" and cells.dtype != np.uint64 else None
    if whole is not None and whole.held.shape[1] <= max(reading.NARROW, len(cells)):  # Quicker than hashing.
        codes = reading.codes(cells[:, None], whole, np.cumsum(whole.held, axis=1) - 1)
        return codes[:, 0], whole.values(0).astype(cells.dtype)
    codes, distinct = pd.factorize(cells)
    return codes, np.asarray(distinct).astype(cells.dtype, copy=False)


def _coded_text(cells: Array) -> tuple[Array, Array]:
    import pyarrow as pa

    cells = np.ascontiguousarray(cells)
    as_bytes = pa.Array.from_buffers(pa.binary(cells.itemsize), len(cells), [None, pa.py_buffer(cells)])
    encoded = as_bytes.dictionary_encode()
    distinct = np.frombuffer(encoded.dictionary.buffers()[1], cells.dtype, len(encoded.dictionary))
    return encoded.indices.to_numpy(), distinct


def zeros_and_ones(x: Array) -> Array:
    """Which columns of ``x`` hold only 0, 1 and missing values."""
    if x.dtype.kind in "iu":
        return (x.min(0, initial=0) >= 0) & (x.max(0, initial=0) <= 1) & (len(x) > 0)
    found = _zeros_and_ones(x[:64])
    for k in np.flatnonzero(found):  # The first rows have excluded nearly all other columns.
        found[k] = _zeros_and_ones(x[:, k : k + 1])[0] and not np.isnan(x[:, k]).all()
    return found


def _zeros_and_ones(x: Array) -> Array:
    return ((x == 0) | (x == 1) | np.isnan(x)).all(0)


def are_whole(x: Array) -> bool:
    """Whether all numbers are whole and at most 2^53 in absolute value; missing numbers are ignored."""
    return all(
        bool(((part == np.floor(part)) & (np.abs(part) <= 2.0**53) | np.isnan(part)).all()) for part in (x[:64], x)
    )


class NoFamilyError(RefusedError):
    """No family reads columns of this type."""


NO_FAMILY = "column {column!r} holds {value}, which no family reads: turn it into numbers or into categories, or {cure}"


KIND_OF: dict[str, Kind] = {
    "b": "boolean", "i": "integer", "u": "integer", "f": "real", "U": "text", "S": "text", "T": "text",
}  # fmt: skip
"""The kind of values of a column, by the kind of its numpy dtype."""


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
    signals = isinstance(value, Decimal) and value.is_snan()
    if isinstance(value, Number) and not isinstance(value, complex) and not signals:
        return "empty" if value != value else "integer" if isinstance(value, Integral) else "real"
    if isinstance(value, np.datetime64 | np.timedelta64) and np.isnat(value):
        return "empty"
    raise CellError(
        "column {column!r} holds {shown} of type {kind}, and the argument must be a string or a number in every cell, "
        "or a missing value: write one there, or leave the column out",
        column=name, value=value, shown=reprlib.repr(value), kind=type(value).__name__,
    )  # fmt: skip


class CellError(RefusedError, TypeError):
    """A cell is neither a string nor a number nor missing."""

    # This is a ``TypeError``, as in scikit-learn.
