"""Read the rows that the command line specifies."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NoReturn

import click

from bayesnb.cli.sources import opened_for
from bayesnb.cli.terminal import warn
from bayesnb.wording import meant_of_all, some

if TYPE_CHECKING:
    import pandas as pd

    from bayesnb.data.csv_reader import Format
    from bayesnb.inference.classifier import Classifier

# The rows that the textbooks predict (Mitchell 1997, 6.9.1; Han, Kamber and Pei 2012, 8.3).
TEXTBOOK_ROWS = {
    "play-tennis": "outlook=sunny,temperature=cool,humidity=high,wind=strong",
    "buys-computer": "age=youth,income=medium,student=yes,credit_rating=fair",
}


NO_MARKS: Mapping[str, str] = {}


def template_of(clf: Classifier) -> pd.DataFrame:
    """An empty table with the model's columns."""
    import pandas as pd

    columns = {}
    for feature in clf.schema.features.values():
        if feature.text is not None:
            columns[feature.source[0]] = pd.Series(dtype="object")
        for name in () if feature.source else feature.columns:
            names = feature.values.get(name, ())
            text = any(isinstance(level, str) for level in names)
            flags = feature.origin.kind == "boolean" or (names and all(isinstance(n, bool) for n in names))
            columns[name] = pd.Series(dtype="object" if text else "boolean" if flags else "float64")
        columns |= {name: pd.Series(dtype="float64") for name in feature.exposure}
    columns |= {name: pd.Series(dtype="object") for name in clf.schema.readings}
    return pd.DataFrame({name: columns[name] for name in clf.schema.raw if name in columns})


def row_at(parts: Iterable[pd.DataFrame], position: int, name: str) -> pd.DataFrame:
    """The row at ``position`` (counted from 0) in a table of several parts."""
    start = 0
    for part in parts:
        if position < start + len(part):
            return part.iloc[[position - start]].reset_index(drop=True)
        start += len(part)
    raise click.BadParameter(
        f"there is no row {position} in {name}: it has {start}, counted from 0", param_hint="--row"
    )


def row_for_model(
    clf: Classifier, path: str, new: str | None, row: str | None, values: Sequence[str], format: Format,
    target: str | None,
) -> pd.DataFrame:  # fmt: skip
    """The row that a model should explain: a row of the table ``new``, or given values."""
    if (row is not None and not row.isdecimal()) or (values and row is None):
        if new is not None:
            if row is not None and re.fullmatch(r"[+-]\d+", row):
                raise click.BadParameter(f"{row} is no position of a row: rows are counted from 0", param_hint="--row")
            raise click.UsageError("a row is either one of NEW, by its position, or its values: give one of them")
        template = template_of(clf)
        asked = asked_rows([] if row is None else [row], path, template, values, clf.schema.decimals)
        return frame_of(asked, template)
    if new is None:
        raise click.UsageError("name the row: as --row column=value,…, or as the position of one in NEW")
    table = opened_for(clf, new, format, target, new=False)
    frame = row_at((part.source for part in table.tables()), int(row or 0), table.name)
    return clf.schema.fitted_columns(frame)


def warn_of_far(clf: Classifier, row: pd.DataFrame) -> None:
    """Warn of numbers that are far from all learned numbers, and of dates that the model extrapolates."""
    from bayesnb.data.new_rows import FarCounter
    from bayesnb.data.tables import Table
    from bayesnb.inference.later_dates import said_of_later_dates

    far, table = FarCounter(clf.schema, clf.statistics), Table.of(row)
    far.count(table)
    for sentence in (*far.sentences(), *said_of_later_dates(clf, table)):
        warn(sentence)


def row_of(X: pd.DataFrame, name: str, row: str | None, values: Sequence[str]) -> pd.DataFrame:
    """The row to explain: a row of a table, by position, or given values."""
    if row is not None and row.isdecimal():
        return row_at([X], int(row), name)
    asked = asked_rows([] if row is None else [row], name, X, values)
    return frame_of(asked or [X.iloc[0].to_dict()], X)


def changed(frame: pd.DataFrame, values: Sequence[str], decimals: Mapping[str, str] = NO_MARKS) -> pd.DataFrame:
    """A copy of the row in ``frame`` with some values replaced; ``attrs["set"]`` maps changed columns to new values."""
    new = _typed([_named(value, frame) for value in values], frame, "--set", decimals)
    row = frame_of([frame.iloc[0].to_dict() | new], frame) if new else frame.copy()
    row.attrs["set"] = new
    return row


def asked_rows(
    rows: Sequence[str], name: str, X: pd.DataFrame, values: Sequence[str] = (), decimals: Mapping[str, str] = NO_MARKS
) -> list[dict[str, Any]]:
    """The rows to predict; for an embedded data set from a textbook, the default is the book's example row."""
    said = [_typed(_items(row, X), X, decimals=decimals) for row in rows]
    if values:
        said.append(_typed([_named(value, X) for value in values], X, "--set", decimals))
    textbook = TEXTBOOK_ROWS.get(name, "")
    if textbook and not said and all(item.partition("=")[0] in X for item in textbook.split(",")):
        said.append(_typed(_items(textbook, X), X))
    return said


def _items(row: str, X: pd.DataFrame) -> list[tuple[str, str]]:
    """Parse a row written as K=V,K=V (values may contain commas) or as JSON."""
    if row.lstrip().startswith("{"):
        try:
            said = json.loads(row)
        except ValueError as error:
            raise click.BadParameter(f"{row} is not JSON ({error})", param_hint="--row") from error
        for name in said:
            if name not in X.columns:
                _refuse_item(f"{name}=", X)
        return [(k, "" if v is None else v if isinstance(v, str) else json.dumps(v)) for k, v in said.items()]
    names = "|".join(re.escape(str(name)) for name in sorted(X.columns, key=lambda name: -len(str(name))))
    found = list(re.finditer(rf"(?:^|,)\s*({names})\s*=", row))
    if not found or found[0].start():
        _refuse_item(row.split(",")[0] if "," in row else row, X)
    items = []
    for item, following in zip(found, [*found[1:], None], strict=True):
        text = row[item.end() : following.start() if following else len(row)].strip()
        if odd := re.search(r",\s*([\w. -]+?)\s*=", text):
            _refuse_item(odd[1] + "=", X)
        items.append((item[1], text))
    return items


def _named(value: str, X: pd.DataFrame) -> tuple[str, str]:
    fits = [str(name) for name in X.columns if value.startswith(f"{name}=")]
    if not fits:
        _refuse_item(value, X, "--set")
    name = max(fits, key=len)
    return name, value[len(name) + 1 :]


def _refuse_item(item: str, X: pd.DataFrame, option: str = "--row") -> NoReturn:
    column, equals, _ = (part.strip() for part in item.partition("="))
    if not equals:
        raise click.BadParameter(f"{item!r} is not column=value", param_hint=option)
    cure = ". If it is part of a value, use --set, or write the row as JSON" if option == "--row" else ""
    said = meant_of_all(column, X.columns, f"columns are {some(map(str, X.columns))}{cure}")
    raise click.BadParameter(f"there is no column {column!r}{said}", param_hint=option)


def _typed(
    items: Sequence[tuple[str, str]], X: pd.DataFrame, option: str = "--row", decimals: Mapping[str, str] = NO_MARKS
) -> dict[str, Any]:
    from bayesnb.data.amounts import with_other_mark

    values: dict[str, Any] = {}
    for column, text in items:
        if column in values:
            raise click.BadParameter(f"column {column!r} is named twice", param_hint=option)
        # As in columns of numbers, a point is the decimal mark.
        point = decimals.get(column) == "," and "," not in text
        values[column] = typed(with_other_mark(text, ".") if point else text, X[column], column, option)
    return values


def typed(text: str, column: pd.Series, name: str, option: str = "--row") -> Any:
    """Convert a text to the type of a column; an empty text is a missing value."""
    from pandas.api import types

    from bayesnb.data.amounts import GAPS, number_in

    if not text:
        return None
    if types.is_bool_dtype(column):
        if text.lower() in ("true", "false"):
            return text.lower() == "true"
        raise click.BadParameter(f"{name}={text}: the column holds true and false", param_hint=option)
    if types.is_numeric_dtype(column):
        if text.lower() in GAPS:
            return None
        if text.endswith("%"):
            number, said = (
                number_in(text),
                f"{name}={text}: the numbers of this column were learned without percent signs",
            )
            which = f": write {float(number) / 100:.15g} or {number}, whichever is meant" if number else ""
            raise click.BadParameter(f"{said}{which}", param_hint=option)
        if re.fullmatch(r"[+-]?\d+,(?!\d{3}$)\d+", text):  # Three digits after the comma may be thousands.
            text = text.replace(",", ".")
        try:
            number = float(text)
        except ValueError:
            number = float("inf")
        if abs(number) == float("inf"):
            decimal = "; write a point for the decimal mark" if re.fullmatch(r"[+-]?\d+,\d+", text) else ""
            raise click.BadParameter(f"{name}={text}: the column holds finite numbers{decimal}", param_hint=option)
        return number
    return text


def class_of(classes: Sequence[Any], text: str | None, option: str) -> Any:
    """The class label whose conversion to text is ``text``."""
    if text is None:
        return None
    for label in classes:
        if str(label) == text:
            return label
    raise click.BadParameter(
        f"there is no class {text!r}; the classes are {some(map(str, classes))}", param_hint=option
    )


def frame_of(rows: Sequence[Mapping[str, Any]], X: pd.DataFrame) -> pd.DataFrame:
    """A table of ``rows``, with those columns of ``X`` that occur in at least one row."""
    import pandas as pd

    # A missing cell of a column with a ``missing:`` family is evidence. A column that no row names is not.
    columns, named = {}, {*chain(*rows)}
    for name in (name for name in X.columns if name in named):
        dtype = X[name].dtype
        # A row to predict may have a missing value, or a fraction in a column of integers.
        wide = {"i": "float64", "u": "float64", "b": "boolean"}.get(getattr(dtype, "kind", "O"), dtype)
        cells = [row.get(name) for row in rows]
        if isinstance(wide, pd.CategoricalDtype):  # A value that is not among the categories would become missing.
            new = {cell: None for cell in cells if not pd.isna(cell) and cell not in wide.categories}
            wide = pd.CategoricalDtype(wide.categories.append(pd.Index([*new], dtype=object)), wide.ordered)
        columns[name] = pd.Series(cells, dtype=wide)
    return pd.DataFrame(columns)
