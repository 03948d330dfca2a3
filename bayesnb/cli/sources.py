"""The tables that are named on the command line: files, standard input and embedded data, all read in one way."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bayesnb import datasets
from bayesnb.cli.doctor import LOOKED_AT, Remark, examine, without
from bayesnb.cli.settings import Settings, by_label
from bayesnb.cli.terminal import require_stdin, say, warn
from bayesnb.wording import Message, RefusedError, meant

if TYPE_CHECKING:
    import pandas as pd

    from bayesnb.data.csv_reader import Format
    from bayesnb.data.readers import Source
    from bayesnb.data.tables import Table
    from bayesnb.inference.classifier import Classifier
    from bayesnb.learning import Parameters


NO_FAMILY = "{kind}, which no family reads: turn it into numbers (days since a date, say) or into categories"


@dataclass(frozen=True, eq=False)
class Opened:
    """A table that is named on the command line.

    Parameters
    ----------
    name : str
    embedded : DataFrame, optional
        An embedded table, with its class.
    file : Source, optional
        Any other.
    settings : Settings
        What is said of its columns: those of ``drop`` are left out.
    """

    name: str
    embedded: pd.DataFrame | None
    file: Source | None
    settings: Settings

    @cached_property
    def names(self) -> list[str]:
        """The names of its columns, those that are left out included."""
        names = self.embedded.columns if self.file is None else self.file.names
        return [str(name) for name in names]

    def require(self, column: str | None, option: str = "") -> None:
        """Refuse a column that the table does not have, and say which one may be meant."""
        if column is None or column in self.names:
            return
        hint = meant(column, self.names, f"; its columns are {self.names[:30]}")
        raise ValueError(f"{option + ': ' if option else ''}{self.name} has no column {column!r}{hint}")

    def tables(self) -> Iterator[Table]:
        """Its rows as tables of bounded size, without the columns that are left out."""
        from bayesnb.data import engines

        for table in engines.frames(iter([self.embedded]) if self.file is None else self.file)[0]:
            yield table.without(self.settings.drop) if self.settings.drop else table

    def frame(self) -> pd.DataFrame:
        """All of it in memory, without the columns that are left out."""
        from bayesnb.data import readers

        whole = self.embedded if self.file is None else readers.frame(self.file)
        return whole.drop(columns=list(self.settings.drop))

    def unreadable(self, needed: Iterable[str | None]) -> list[Remark]:
        """Remarks about columns of types that no family reads, such as dates in Parquet, and that are not needed."""
        from bayesnb.data.columns import NoFamilyError

        found = []
        typed = self.file is not None and not self.file.layouts  # The columns of other files hold numbers or text.
        first = next(self.tables(), None) if typed else None
        for name in () if first is None else first.names:
            if name not in needed:
                try:
                    _ = first.column(name).kind
                except RefusedError as error:
                    kind = error.value if isinstance(error, NoFamilyError) else type(error.value).__name__
                    found.append(Remark(name, Message(NO_FAMILY, kind=kind), True, True))
        return found

    def examined(self, frame: pd.DataFrame, target: Any, rows: int) -> list[Remark]:
        """What is remarkable about its columns, of which a frame holds all or some rows."""
        layouts = () if self.file is None else self.file.layouts
        frame = frame.sample(LOOKED_AT, random_state=0).sort_index() if len(frame) > LOOKED_AT else frame
        remarks = examine(frame, target, rows, layouts)
        return [self.settings.fitting(remark) for remark in remarks if not self.settings.follow(remark)]


def opened_for(clf: Classifier, data: str, format: Format, target: str | None = None, *others: str | None) -> Opened:
    """Open a table for a fitted model, and read it as the model's own table was read.

    The model knows the expected columns, those to leave out, and the texts that mean a missing cell. A CSV file does
    not show whether 101 is a number or a code: a column is text where the model has learned text.
    """
    text = [
        column
        for feature in clf.schema.features.values()
        for column, levels in feature.values.items()
        if levels and all(isinstance(level, str) for level in levels)
    ]
    text += [feature.source[0] for feature in clf.schema.features.values() if feature.text is not None]
    if target is not None and all(isinstance(label, str) for label in clf.classes_.tolist()):
        text.append(target)
    said = clf.reading
    format = replace(format, text=tuple(map(str, text)), na=tuple(dict.fromkeys([*said.get("na", ()), *format.na])))
    found = opened(data, format, names=(*clf.schema.names, target, *others))
    left_out = tuple(column for column in said.get("drop", ()) if column in found.names)
    return replace(found, settings=Settings(drop=left_out))


def opened(data: str, format: Format, settings: Settings | None = None, names: Iterable[Any] = ()) -> Opened:
    """Open a table: a path if it has a suffix, or is a folder or an existing file; else an embedded table.

    Parameters
    ----------
    data : str
    format : Format
    settings : Settings, optional
        The columns of ``drop`` are left out, and all columns that the settings name must exist.
    names : names of columns
        Expected names, by which a first line is recognized as a header.
    """
    from bayesnb.data.readers import Source

    settings = settings or Settings()
    if data == "-":
        require_stdin()
    if data.replace("_", "-") in datasets.names() or (
        data != "-" and "." not in data and "/" not in data and not Path(data).exists()
    ):
        X, y = datasets.load(data)
        found = Opened(data.replace("_", "-"), without(X.assign(**{y.name: y}), format.na), None, settings)
    else:
        expected = tuple(str(name) for name in (*names, *settings.drop, settings.weight) if name is not None)
        found = Opened(data, None, Source(data, replace(format, names=expected)), settings)
    for column in settings.drop:
        found.require(column, "--drop")
    found.require(settings.weight, "--weight")
    return found


def target_of(table: Opened, target: str | None) -> str:
    """The column of the class: that which was named, or that of embedded data."""
    if target is None and table.file is None:
        return datasets.target(table.name)
    if target is None:
        has = ""
        with contextlib.suppress(ValueError, OSError):
            has = f"; {table.name} has {table.names[:30]}"
        raise click.UsageError(f"name the column that holds the class with --target{has}")
    table.require(target, "--target")
    return target


def load(table: Opened, target: str | None) -> tuple[pd.DataFrame, pd.Series]:
    """The columns of a table in memory, and the labels of its rows; rows without one are left out."""
    target = target_of(table, target)
    frame = table.frame()
    if target not in frame.columns:
        raise click.UsageError(f"--drop {target}: the class cannot be left out")
    unlabelled = frame[target].isna()
    if unlabelled.all():
        raise ValueError(f"column {target!r} of {table.name} is missing in every row: there is nothing to learn from")
    if unlabelled.any():
        say(f"{int(unlabelled.sum())} rows without a class are left out")
        frame = frame[~unlabelled]
    return frame.drop(columns=target), frame[target]


@dataclass(frozen=True, eq=False)
class Learned:
    """A table in memory and the model that has learned it.

    Parameters
    ----------
    name : str
        The table, as the user named it.
    X : DataFrame
    y : Series
    parameters : Parameters
        With which it was learned.
    clf : Classifier
    remarks : tuple of Remark
        What is remarkable about the columns.
    """

    name: str
    X: pd.DataFrame
    y: pd.Series
    parameters: Parameters
    clf: Classifier
    remarks: tuple[Remark, ...]


def fitted(
    data: str, target: str | None, format: Format, settings: Settings, seed: int = 0, repeat: bool = True
) -> Learned:
    """Read a table into memory and fit a model to it; write to stderr what was read, and serious remarks.

    Where rows are weighted and ``repeat`` is true, they are repeated, so that scores count them as often as learning.
    """
    from bayesnb import learning
    from bayesnb.data.schema import Schema
    from bayesnb.data.tables import Table
    from bayesnb.data.targets import read_target

    table = opened(data, format, settings, () if target is None else (target,))
    X, y = load(table, target)
    say(f"{table.name}: {len(X)} rows, {X.shape[1]} columns, target {y.name!r}")
    remarks = table.examined(X.assign(**{str(y.name): y}), y.name, len(X))
    for remark in remarks:
        if remark.serious:
            warn(remark.sentence)
    weight = None
    if settings.weight is not None:
        weight, X = X[settings.weight], X.drop(columns=settings.weight)
        if repeat:
            times = _times(weight)
            X, y, weight = X.loc[X.index.repeat(times)], y.loc[y.index.repeat(times)], None
    parameters = settings.parameters()
    if settings.m is not None:
        schema = Schema.infer(Table.of(X), parameters["features"], settings.unseen)
        parameters["features"] = settings.smoothed(schema)[1]
    parameters["class_prior"] = by_label(parameters["class_prior"], read_target(y).classes.tolist())
    asked = learning.Parameters(random_state=seed, **parameters)
    asked, clf = with_dependence(asked, settings, lambda asked: learning.fitted(asked, X, y, weight))
    return Learned(table.name, X, y, asked, clf, tuple(remarks))


def with_dependence(
    asked: Parameters, settings: Settings, learn: Callable[[Parameters], Classifier]
) -> tuple[Parameters, Classifier]:
    """Learn with the dependence of the settings, and say what was averaged; return the parameters and the model.

    With the default, "auto", there is no dependence if the estimate plugs in a point, as textbooks do; if columns may
    join later, because these have no exponents; or if exponents cannot be learned, which stderr says.
    """
    from bayesnb.dependence.exponents import NoExponentsError
    from bayesnb.priors import ImproperError

    if settings.dependence != "auto":
        asked = replace(asked, dependence=None if settings.dependence == "none" else settings.dependence)
    elif asked.estimate == "predictive" and asked.columns != "grow":
        asked = replace(asked, dependence="auto")
    try:
        clf = learn(asked)
    except (NoExponentsError, ImproperError) as error:
        if settings.dependence != "auto":
            raise
        say(Message("no dependence was added: {error}", error=error))
        asked = replace(asked, dependence=None)
        clf = learn(asked)
    if clf.dependence is not None and clf.dependence.exponents.said:
        say(f"--dependence {asked.dependence}: {clf.dependence.exponents.said}")
    return asked, clf


def _times(weight: pd.Series) -> pd.Series:
    """How often each row is repeated."""
    wrong = ~(weight.ge(0) & weight.mod(1).eq(0)).fillna(False)
    if wrong.any():
        raise ValueError(
            f"column {weight.name!r} holds the weight {weight[wrong].iloc[0]}: scores count whole rows, so weights are "
            "whole numbers here; bayesnb fit takes any"
        )
    return weight.astype(int)


def watched(table: Opened) -> tuple[Iterator[Table], Callable[[], pd.DataFrame]]:
    """The rows of a table in parts, and a function that gives some of them, drawn at random, after they were read."""
    from bayesnb.data.rows import drawn

    passing, sample = drawn(table.tables(), LOOKED_AT, seed=0)
    return passing, lambda: sample().source
