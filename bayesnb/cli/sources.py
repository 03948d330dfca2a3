"""Read tables: files, standard input and embedded data sets."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bayesnb import datasets
from bayesnb.cli import options
from bayesnb.cli.settings import Settings
from bayesnb.cli.terminal import require_stdin, say, warn
from bayesnb.wording import UNFITTED, Message, meant, nearest, some

if TYPE_CHECKING:
    import pandas as pd

    from bayesnb.data.amounts import Marks
    from bayesnb.data.csv_reader import Format
    from bayesnb.data.readers import Source
    from bayesnb.data.tables import Table
    from bayesnb.findings import Remark
    from bayesnb.inference.classifier import Classifier


UNREAD = {
    "csv": (["sheet"], "is a CSV file, which has no sheets"),
    "excel": (["sep", "encoding"], "is an Excel file, whose cells are known"),
    **dict.fromkeys(
        ("parquet", "ipc"),
        (
            ["sep", "decimal", "encoding", "header", "skip", "sheet"],
            "is a Parquet or Arrow file, whose columns are known",
        ),
    ),
}
"""By kind of file: options without effect, and the reason."""

DATES_LOOKED_AT = 200
"""Number of rows that are predicted with and without their dates."""

NO_FAMILY = "{kind}, which no family reads: turn it into numbers or into categories"


@dataclass(frozen=True, eq=False)
class Opened:
    """A table named on the command line: an embedded data set, or a file."""

    name: str
    embedded: pd.DataFrame | None
    file: Source | None
    settings: Settings
    learned: Collection[str] = ()  # Columns that a model has learned or left out; none of them holds the class.
    model: Classifier | None = None  # The model to which the rows are new; numbers far from its own are reported.
    learns: bool = False  # Whether the model learns the rows.

    @cached_property
    def names(self) -> list[str]:
        names = self.embedded.columns if self.file is None else self.file.names
        return [str(name) for name in names]

    @property
    def own_target(self) -> str | None:
        """The class column of an embedded data set, or of a folder with a subfolder per class; otherwise ``None``."""
        from bayesnb.data.folders import CLASS

        if self.file is None:
            return datasets.target(self.name)
        return CLASS if self.file.kind == "text" and CLASS in self.names else None

    @property
    def marks(self) -> Callable[[], Marks] | None:
        """A function that returns the decimal marks of the file's texts, also in columns of ``--drop``."""
        return self.file and (lambda: self.file.marks)

    def require(self, column: str | None, option: str) -> None:
        if column in self.settings.drop and option != "--drop":
            raise click.UsageError(f"{option} reads column {column!r}, and --drop leaves it out: keep one of the two")
        if column is None or column in self.names:
            return
        if self.file is not None and self.file.kind == "excel" and (having := self.file.sheets_with(column)):
            raise ValueError(
                f"{option}: sheet {self.file.sheets[0].name!r} of {self.name} has no column "
                f"{column!r}; {' and '.join(map(repr, having))} {'has' if len(having) == 1 else 'have'} it: --sheet "
                + shlex.quote(having[0])
            )
        choices = [name for name in self.names if option != "--target" or name not in self.learned]
        hint = meant(column, choices, f"; its columns are {some(self.names)}")
        raise ValueError(f"{option}: {self.name} has no column {column!r}{hint}")

    def tables(self) -> Iterator[Table]:
        """Yield the rows as tables of limited size, without the columns in ``--drop``."""
        from bayesnb.data import engines

        for table in self._watching(engines.frames(iter([self.embedded]) if self.file is None else self.file)[0]):
            yield table.without(self.settings.drop) if self.settings.drop else table

    def frame(self) -> pd.DataFrame:
        from bayesnb.data import readers
        from bayesnb.data.tables import Table

        whole = self.embedded if self.file is None else readers.frame(self.file)
        frame = whole.drop(columns=list(self.settings.drop))
        if self.model is not None:
            [*self._watching([Table.of(frame)])]
        return frame

    def _watching(self, tables: Iterable[Table]) -> Iterator[Table]:
        """Yield the tables, then warn of numbers and dates that ``model`` extrapolates."""
        if self.model is None:
            yield from tables
            return
        from bayesnb.data.drawing import drawn
        from bayesnb.data.new_rows import FarCounter
        from bayesnb.inference.later_dates import said_of_later_dates

        far, sample = FarCounter(self.model.schema, self.model.statistics), None
        if self.model.schema.dates and not self.learns:
            tables, sample = drawn(tables, DATES_LOOKED_AT, seed=0)
        for table in tables:
            far.count(table)
            yield table
        later = said_of_later_dates(self.model, sample()) if sample is not None and far.rows else ()
        for sentence in (*far.sentences(), *later):
            warn(sentence)

    def target_of(self, target: str | None) -> str:
        if target is None:
            has = ""
            with contextlib.suppress(ValueError, OSError):
                has = f"; {self.name} has {some(self.names)}"
                target = self.own_target
            if target is None:
                raise click.UsageError(f"name the column that holds the class with --target{has}")
        self.require(target, "--target")
        return target

    def load(self, target: str | None) -> tuple[pd.DataFrame, pd.Series]:
        """Read the rows with a label into memory, with the row numbers in the file as index."""
        X, y = self.whole(target)
        return X[y.notna()], y[y.notna()]

    def whole(self, target: str | None) -> tuple[pd.DataFrame, pd.Series]:
        """Read all rows into memory, also rows without a label."""
        target = self.target_of(target)
        frame = self.frame()
        unlabelled = frame[target].isna()
        if unlabelled.all():
            raise ValueError(
                f"column {target!r} of {self.name} is missing in every row: there is nothing to learn from"
            )
        if unlabelled.any():
            say(f"{int(unlabelled.sum()):,} rows without a class are left out")
        return frame.drop(columns=target), frame[target]

    def watched(self) -> tuple[Iterator[Table], Callable[[], Table]]:
        """Return (parts, sample): the parts of the table, and a function that samples rows after all parts are read."""
        from bayesnb.data.drawing import drawn
        from bayesnb.findings import LOOKED_AT

        return drawn(self.tables(), LOOKED_AT, seed=0)

    def unreadable(self, needed: Iterable[str | None]) -> list[Remark]:
        """Remarks about columns that no family can read, such as lists in Parquet."""
        from bayesnb.findings import Remark

        typed = self.file is not None and not self.file.layouts  # Columns of other files contain numbers or text.
        first = next(self.tables(), None) if typed else None
        columns = () if first is None else (first.column(name) for name in first.names if name not in needed)
        return [Remark(x.name, Message(NO_FAMILY, kind=x.unreadable), True, True) for x in columns if x.unreadable]

    def examined(self, frame: pd.DataFrame, target: Any, rows: int) -> list[Remark]:
        """Findings about columns, from ``frame`` (all rows or a sample)."""
        from bayesnb import findings

        file, weight = self.file, self.settings.weight
        layouts = () if file is None else file.layouts
        stated = () if file is None else (*file.format.na, *file.format.keep_na)
        # A stated marker answers for the other classes too.
        classes_known = any(mark.startswith(f"{target}=") for mark in stated)
        every = findings.examine(frame, target, rows, layouts, marks=self.marks)
        typed = {name for sheet in (file.sheets if file is not None else ()) for name in sheet.coded}
        coded = (typed & {*frame.select_dtypes("number")}) - {target, *(remark.column for remark in every)}
        said = "whole numbers, typed as text in the sheet and read as numbers. If they are codes: {cure}"
        every += [findings.Remark.of_family(name, "Categorical", said, asks=True) for name in frame if name in coded]
        found = [
            self.settings.fitting(remark)
            for remark in every
            if not (remark.mark and classes_known and remark.column == target) and not self.settings.follow(remark)
        ]
        return [*found, *([] if weight is None else findings.copies_by_weight(frame, weight))]


def opened_for(
    clf: Classifier, data: str, format: Format, target: str | None = None, *others: str | None, learn: bool = False,
    new: bool = True,
) -> Opened:  # fmt: skip
    """Open a table with the settings for reading that a fitted model stores."""
    format = clf.schema.format(format)
    if target is not None and all(isinstance(label, str) for label in clf.classes_.tolist()):
        format = replace(format, text=(*format.text, target))
    said = clf.reading
    marks = {name: tuple(dict.fromkeys([*said.get(name, ()), *getattr(format, name)])) for name in ("na", "keep_na")}
    found = opened(data, replace(format, **marks), names=(*clf.schema.raw, target, *others))
    # The columns in ``others`` are read even if the model does not use them.
    left_out = tuple(column for column in said.get("drop", ()) if column in found.names and column not in others)
    known = {*clf.schema.raw, *left_out, *others, target, clf.target}
    further = [name for name in found.names if name not in known]
    grows = learn and clf.schema.columns == "grow"
    # If a fitted column is absent, the error about it names the columns.
    if further and not grows and {*clf.schema.raw, *([] if target is None else [target])} <= {*found.names}:
        warn(UNFITTED + some(further, 5))
        left_out += (*further,)
    learned = (*clf.schema.raw, *said.get("drop", ()))
    return replace(found, settings=Settings(drop=left_out), learned=learned, model=clf if new else None, learns=learn)


def opened(
    data: str, format: Format, settings: Settings | None = None, names: Iterable[Any] = (), says_sheet: bool = True
) -> Opened:
    """Open an embedded data set or a file; a text with a dot or a slash is a path."""
    from bayesnb.data.readers import Source

    # Without settings, markers come from a model, and may be of a column that the table need not have.
    asked = {} if settings is None else {"--na": format.na, "--keep-na": format.keep_na}
    # Columns named in ``settings`` must exist. The first line is the header if it contains one of ``names``.
    settings = settings or Settings()
    if data == "-":
        require_stdin()
    if data.replace("_", "-") in datasets.names() or (
        data != "-" and "." not in data and "/" not in data and not Path(data).exists()
    ):
        from bayesnb.findings import without

        X, y = datasets.load(data)
        unread = set(options.FORMAT) - {"na", "keep_na"}
        options.refuse(unread, f"{data} is an embedded data set, whose columns are known")
        found = Opened(data.replace("_", "-"), without(X.assign(**{y.name: y}), format.na), None, settings)
    else:
        expected = tuple(str(name) for name in (*names, *settings.drop, settings.weight) if name is not None)
        found = Opened(data, None, file := Source(data, replace(format, names=expected)), settings)
        with contextlib.suppress(ValueError, OSError):  # A file that cannot be read is refused when it is read.
            unread, reason = UNREAD.get(file.kind, ((), ""))
            options.refuse(unread, f"{data} {reason}")
            if says_sheet and format.sheet is None and file.sheets and (others := file.sheets[0].unread):
                say(f"{data}: sheet {file.sheets[0].name!r} is read; there are also {others}: --sheet")
    for column in settings.drop:
        found.require(column, "--drop")
        if column in settings.features():
            raise ValueError(f"--feature specifies column {column!r}, and --drop leaves it out: keep one of the two")
    found.require(settings.weight, "--weight")
    if settings.weight in settings.features():
        raise ValueError(
            f"--feature specifies column {settings.weight!r}, and --weight reads weights from it: keep one"
        )
    for option, mark in ((option, mark) for option, marks in asked.items() for mark in marks):
        column, _, text = mark.rpartition("=")
        named = any(mark.startswith(f"{name}=") for name in found.names)
        if column and not named:
            close = nearest(column, found.names)
            cure = f"; did you mean {option} {shlex.quote(f'{close}={text}')}?"
            effect = f", so only cells {mark!r} are read as {'missing' if option == '--na' else 'values'}"
            warn(f"{option} {mark}: no column is called {column!r}{effect if close is None else cure}")
    return found
