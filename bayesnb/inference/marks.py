"""Compare the texts that models and tables read as missing (``--na``, ``--keep-na``)."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from bayesnb.data.amounts import is_float
from bayesnb.data.arrow import marks_in
from bayesnb.data.columns import Column
from bayesnb.data.csv_reader import MISSING
from bayesnb.inference.classifier import Classifier
from bayesnb.wording import RefusedError


def read_with_other_marks(one: Classifier, other: Classifier) -> Iterator[RefusedError]:
    """Yield an error for each column in which a text may be missing in the rows of one model only."""
    for option, column, (a, b) in _unlike_marks(one, other) if one.reading and other.reading else ():
        alone = (*((other, mark) for mark in a - b), *((one, mark) for mark in b - a))
        if not any(_may_be_value(clf, option, column, mark) for clf, mark in alone):
            continue
        words = ([w for mark in sorted(own) for w in (option, f"{column}={mark}")] for own in (a, b))
        expected, value = (shlex.join(own) or f"no {option}" for own in words)
        yield RefusedError(
            "column {column!r}: the two models read different texts as missing, one with {expected}, the other "
            "with {value}; fit both with the same options",
            column=column, expected=expected, value=value,
        )  # fmt: skip


def read_otherwise(before: Classifier, marks: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield a warning for each text that means "missing" in the learned rows but not in the new rows, or the reverse.

    ``marks`` holds the options ``na`` and ``keep_na`` with which the new rows are read.
    """
    every = before.reading | {name: (*before.reading.get(name, ()), *own) for name, own in marks.items()}
    for option, column, (learned, read) in _unlike_marks(before, replace(before, reading=every)):
        for mark in sorted(read - learned):
            here, there = ("missing", "a value") if option == "--na" else ("a level", "missing")
            if _may_be_value(before, option, column, mark):
                yield (
                    f"column {column!r}: the model was fitted without {option} {shlex.quote(f'{column}={mark}')}, so "
                    f"{mark} counts as {there} in its rows and as {here} in these: fit all rows with the same options"
                )


def _unlike_marks(one: Classifier, other: Classifier) -> Iterator[tuple[str, Any, list[set[str]]]]:
    """Yield (option, column, [texts of each model]) for columns in which two models read different texts as missing."""
    for name in ("na", "keep_na"):
        for column in dict.fromkeys([*one.schema.raw, *other.schema.raw, one.target, other.target]):
            of_both = []
            for each in (one, other):
                names = map(str, (*each.schema.raw, *each.reading.get("drop", ()), each.target))
                marks = marks_in(str(column), each.reading.get(name, ()), names)
                of_both.append({*marks} - ({*MISSING} if name == "na" else set()))
            if of_both[0] != of_both[1]:
                yield f"--{name.replace('_', '-')}", column, of_both


def _may_be_value(clf: Classifier, option: str, column: Any, mark: str) -> bool:
    """Whether learned rows may hold ``mark`` and have read it otherwise than with ``option``."""
    schema, features = clf.schema, clf.statistics.features
    levels = {name: [*map(str, known)] for each in schema.features.values() for name, known in each.values.items()}
    levels[clf.target] = [*map(str, clf.classes)]
    reading = schema.readings.get(column)
    if option == "--keep-na":
        names = {column} if reading is None else {*reading.names(column)}
        each = ((f.columns, features[name].seen().sum(axis=0)) for name, f in schema.features.items())
        seen = [n for columns, counts in each for own, n in zip(columns, counts, strict=False) if own in names]
        return mark in MISSING and max(seen, default=0) < (1 - 1e-9) * clf.statistics.rows.sum()
    if column in levels:
        return mark in levels[column]
    if reading is None:
        return is_float(mark)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # A text that cannot be read is missing.
        name, cells = next(iter(reading.read(Column(column, pd.Series([mark], dtype=object))).items()))
    value = cells[0]
    return not pd.isna(value) and (name not in levels or str(value) in levels[name])
