"""The tables, models and rows that are named on the command line."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bayesnb import datasets
from bayesnb.cli.terminal import require_stdin, say

if TYPE_CHECKING:
    import pandas as pd

    from bayesnb.estimator import BayesianNB

# The rows that the textbooks ask about (Mitchell 1997, 6.9.1; Han, Kamber and Pei 2012, 8.3).
TEXTBOOK_ROWS = {
    "play-tennis": "outlook=sunny,temperature=cool,humidity=high,wind=strong",
    "buys-computer": "age=youth,income=medium,student=yes,credit_rating=fair",
}


def load(data: str, target: str | None) -> tuple[str, pd.DataFrame, pd.Series]:
    """The table and its labels; a file with the name of an embedded table must be given with its suffix or a path."""
    if data.replace("_", "-") in datasets.names():
        X, y = datasets.load(data)
        if target in (None, y.name):
            return data.replace("_", "-"), X, y
        frame = X.assign(**{y.name: y})
    else:
        from bayesnb.data import readers

        source = source_of(data)
        frame = next(source) if isinstance(source, Iterator) else readers.frame(source)
    columns = list(map(str, frame.columns))
    if target is None:
        raise click.UsageError(f"name the column that holds the class with --target; {data} has {columns}")
    if target not in frame.columns:
        close = get_close_matches(target, columns, 1)
        hint = f"; did you mean {close[0]!r}?" if close else f"; its columns are {columns}"
        raise ValueError(f"{data} has no column {target!r}{hint}")
    if frame[target].isna().all():
        raise ValueError(f"column {target!r} of {data} is missing in every row: there is nothing to learn from")
    unlabelled = frame[target].isna()
    if unlabelled.any():
        say(f"{int(unlabelled.sum())} rows without a class are left out")
        frame = frame[~unlabelled]
    return data, frame.drop(columns=target), frame[target]


def fitted(
    data: str, target: str | None, seed: int = 0, dependence: str | None = None
) -> tuple[str, pd.DataFrame, pd.Series, BayesianNB]:
    """The table, its labels and a model fitted to them; says on stderr what was read."""
    from bayesnb.estimator import BayesianNB

    name, X, y = load(data, target)
    say(f"{name}: {len(X)} rows, {X.shape[1]} columns, target {y.name!r}")
    clf = BayesianNB(random_state=seed, dependence=dependence).fit(X, y)
    for column in identifiers(clf, len(X)):
        say(f"column {column!r} has about as many levels as there are rows: is it an identifier or free text?")
    return name, X, y, clf


def source_of(data: str) -> Any:
    """What a command reads in parts: a path (if there is a suffix, a folder or such a file), or an embedded table."""
    if data == "-":
        require_stdin()
    elif "." not in data and "/" not in data and not Path(data).exists():
        X, y = datasets.load(data)
        return iter([X.assign(**{y.name: y})])
    return data


def load_model(path: str) -> BayesianNB:
    """The model of a file, or of stdin."""
    from bayesnb.estimator import load

    if path != "-":
        return load(path)
    require_stdin()
    return load(io.BytesIO(sys.stdin.buffer.read()))


def save_model(clf: BayesianNB, path: str, replacing: str | None = None) -> None:
    """Write a model to a file, or to stdout."""
    if path != "-":
        clf.save(path, replacing)
        return
    from bayesnb.modelfile import document

    sys.stdout.buffer.write(document.to_bytes(document.Contents.of(clf))[0])


def template_of(clf: BayesianNB) -> pd.DataFrame:
    """A table of the model's columns and their types, without a row."""
    import pandas as pd

    columns = {}
    for feature in clf.schema_.features.values():
        for k, name in enumerate(feature.columns):
            names = () if feature.levels is None or feature.cuts is not None else feature.levels[k]
            text = any(isinstance(level, str) for level in names)
            flags = feature.how.lower().startswith("bool") or (names and all(isinstance(n, bool) for n in names))
            columns[name] = pd.Series(dtype="object" if text else "boolean" if flags else "float64")
        columns |= {name: pd.Series(dtype="float64") for name in feature.exposure}
    return pd.DataFrame({name: columns[name] for name in clf.schema_.names if name in columns})


def row_at(data: str, position: int) -> pd.DataFrame:
    """The row of a table at a position, counted from 0."""
    import narwhals.stable.v2 as nw

    from bayesnb.data import engines

    start = 0
    tables, _ = engines.frames(source_of(data))
    for table in tables:
        if position < start + table.n_rows:
            frame = nw.to_native(table.source[position - start : position - start + 1])
            return frame.reset_index(drop=True)
        start += table.n_rows
    raise click.BadParameter(
        f"there is no row {position} in {data}: it has {start}, counted from 0", param_hint="--row"
    )


def identifiers(clf: BayesianNB, n: int) -> list[Any]:
    """List the categorical columns with almost as many levels as there are rows."""
    return [
        name
        for name, feature in clf.schema_.features.items()
        if feature.levels is not None and feature.cuts is None and len(feature.levels[0]) > max(3, 0.8 * n)
    ]


def asked_rows(rows: Sequence[str], name: str, X: pd.DataFrame) -> list[dict[str, Any]]:
    """The asked rows, each value read as its column's type."""
    rows = rows or ((TEXTBOOK_ROWS[name],) if name in TEXTBOOK_ROWS else ())
    if not rows:
        return [X.iloc[0].to_dict()]
    return [parsed(row, X) for row in rows]


def parsed(row: str, X: pd.DataFrame) -> dict[str, Any]:
    """A row as K=V,K=V, each value read as its column's type."""
    values = {}
    for item in row.split(","):
        column, equals, text = (part.strip() for part in item.partition("="))
        if not equals:
            raise click.BadParameter(f"{item!r} is not column=value", param_hint="--row")
        if column not in X.columns:
            raise click.BadParameter(
                f"there is no column {column!r}; the columns are {list(map(str, X.columns))}", param_hint="--row"
            )
        if column in values:
            raise click.BadParameter(f"column {column!r} is named twice", param_hint="--row")
        values[column] = typed(text, X[column], column)
    return values


def typed(text: str, column: pd.Series, name: str) -> Any:
    """The text as a value of the column's type; empty is missing."""
    from pandas.api import types

    if not text:
        return None
    if types.is_bool_dtype(column):
        if text.lower() in ("true", "false"):
            return text.lower() == "true"
        raise click.BadParameter(f"{name}={text}: the column holds true and false", param_hint="--row")
    if types.is_numeric_dtype(column):
        try:
            number = float(text)
        except ValueError:
            number = float("inf")
        if abs(number) == float("inf"):
            raise click.BadParameter(f"{name}={text}: the column holds finite numbers", param_hint="--row")
        return number
    return text


def class_of(clf: BayesianNB, text: str | None, option: str) -> Any:
    """Find the class whose text this is."""
    if text is None:
        return None
    for label in clf.classes_.tolist():
        if str(label) == text:
            return label
    raise click.BadParameter(
        f"there is no class {text!r}; the classes are {list(map(str, clf.classes_))}", param_hint=option
    )


def frame_of(rows: Sequence[Mapping[str, Any]], X: pd.DataFrame) -> pd.DataFrame:
    """The asked rows as a table of the fitted columns; columns that they do not name are missing."""
    import pandas as pd

    columns = {}
    for name in X.columns:
        dtype = X[name].dtype
        # A row to predict may lack a value, and may hold a fraction in a column of integers.
        wide = {"i": "float64", "u": "float64", "b": "boolean"}.get(getattr(dtype, "kind", "O"), dtype)
        columns[name] = pd.Series([row.get(name) for row in rows], dtype=wide)
    return pd.DataFrame(columns)
