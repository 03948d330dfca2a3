"""Messages with values, suggested options and did-you-mean hints."""

# An error or a finding holds a :class:`Message`, which :func:`written` formats for Python or the command line: the same
# :class:`Cure` becomes ``dependence="pairwise"`` or ``--dependence pairwise``.

from __future__ import annotations

import csv
import os
import re
import shlex
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from difflib import get_close_matches
from io import StringIO
from numbers import Integral
from pathlib import Path
from string import Formatter
from typing import Any, Literal

OURS = (str(Path(__file__).parent) + os.sep,)

type Form = Literal["python", "command"]
"""Whether a message is shown in Python or on the command line."""


@dataclass(frozen=True)
class Spelled:
    """A word that is written differently in Python and on the command line."""

    python: str
    command: str

    def written(self, form: Form = "python", flags: Collection[str] | None = None) -> str:
        return self.python if form == "python" else self.command


def quoted(word: str) -> str:
    """Quote a command-line argument."""
    return shlex.quote(word) if "'" in word else f"'{word}'"


def in_python(family: str) -> str:
    """The Python code of a family, such as ``nb.Poisson`` or ``nb.families.Hurdle``."""
    import bayesnb

    return f"nb.{family}" if family in bayesnb.__all__ else f"nb.families.{family}"


AT_ONCE = frozenset({"absent"})
"""Parameters of the estimator that change predictions without another fit."""


@dataclass(frozen=True)
class Cure:
    """A suggested remedy: an option of the model and its value.

    Parameters
    ----------
    option : str
        A parameter of the estimator, "family" (the family of the column), or "drop" (leave the column out).
    value : str, None, a tuple, or Spelled
        For "features" and "family", the name of the family's class, or the full code as a ``Spelled``. A tuple holds
        nested families, such as ("Hurdle", "LogNormal"), or a family with bin edges or level order, such as ("Binned",
        (1, 3)). ``None`` means any family.
    column : name of a column, optional
        The column that the message is about.

    Examples
    --------
    >>> Cure("dependence", "pairwise").written(), Cure("dependence", "pairwise").written("command")
    ('dependence="pairwise"', '--dependence pairwise')
    >>> Cure("features", "LogNormal", "my fare").written("command")
    "--feature 'my fare'=log-normal"
    """

    option: str
    value: Any = None
    column: Any = None

    def written(self, form: Form = "python", flags: Collection[str] | None = None) -> str:
        """The remedy in words, as Python code or as a command-line option."""

        # An option that the called command lacks (``flags``) is written as an option of ``bayesnb fit``.
        def named(flag: str, value: Any) -> str:
            return f"{flag} {value}" if flags is None or flag in flags else f"bayesnb fit {flag} {value}"

        if self.option == "drop":
            drop = form == "command" and self.column is not None
            return "leave it out" + (f" with {named('--drop', shlex.quote(str(self.column)))}" if drop else "")
        if self.option in ("features", "family"):
            family = self._family(form)
            return named("--feature", family) if form == "command" and self.column is not None else family
        if form == "python":
            text = f'"{self.value}"' if isinstance(self.value, str) else repr(self.value)
            return f"set_params({self.option}={text})" if self.option in AT_ONCE else f"{self.option}={text}"
        return named(f"--{self.option.replace('_', '-')}", "none" if self.value is None else self.value)

    def _family(self, form: Form) -> str:
        if isinstance(self.value, Spelled) and form == "python":
            code = self.value.python
            return code if self.option == "family" else f"features={{{self.column!r}: {code}}}"
        if form == "command":
            column, word = str(self.column), self.word
            # A final punctuation mark would seem to belong to the sentence, so such a word is quoted.
            plain = shlex.quote(word) == word and word[-1].isalnum()
            given = f"{shlex.quote(column)}={word}" if plain else quoted(f"{column}={word}")
            return word if self.column is None else given
        family = ""
        for part in reversed((self.value,) if isinstance(self.value, str) else self.value or ()):
            if isinstance(part, str):
                family = f"{in_python(part)}({family})"
            else:
                family = f"{'edges' if self.value[-2] == 'Binned' else 'order'}={[*part]!r}"
        return family if self.option == "family" else f"features={{{self.column!r}: {family or '...'}}}"

    def within(self, kind: str) -> Cure:
        """Nest the suggested family inside the family named ``kind``."""
        if isinstance(self.value, Spelled):
            return self
        return replace(self, value=(kind, self.value) if isinstance(self.value, str) else (kind, *self.value))

    @property
    def word(self) -> str:
        """The family as written on the command line: "hurdle:log-normal", "binned:1,3"."""
        if self.value is None:
            return "FAMILY"
        if isinstance(self.value, Spelled):
            return self.value.command
        parts = (self.value,) if isinstance(self.value, str) else self.value
        return ":".join(dashed(part) if isinstance(part, str) else listed(part) for part in parts)


class Message(str):
    """A template, such as "column {column!r} holds {value:g}", and the values of its placeholders by name.

    As a text, the message shows options as Python code; :meth:`written` can show them as command-line options. A value
    may be another message, a cure, a tuple of cures, or an error that holds a message.

    Parameters
    ----------
    text : str
        Template for :meth:`str.format`, without the user's names and values.
    **data : values by name

    Examples
    --------
    >>> cure = Cure("family", "Gaussian")
    >>> said = Message("column {column!r} holds {value}; use {cure}", column="{a}", value=-1, cure=cure)
    >>> print(said)
    column '{a}' holds -1; use nb.Gaussian()
    """

    # As a text, a message in the ``attrs`` of a table is written to Parquet and JSON like any other text.

    text: str
    data: Mapping[str, Any]

    def __new__(cls, text: str, /, **data: Any) -> Message:
        made = super().__new__(cls, _Filled("python", " ", None).vformat(text, (), data))
        made.text, made.data = text, data
        return made

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, Any]]:
        return (self.text,), {**self.data}

    def written(self, form: Form = "python", space: str = " ", flags: Collection[str] | None = None) -> str:
        return _Filled(form, space, flags).vformat(self.text, (), self.data)


class _Filled(Formatter):
    def __init__(self, *how: Any) -> None:
        self.how = how

    def format_field(self, value: Any, format_spec: str) -> str:
        return format(value, format_spec) if format_spec else written(value, *self.how)


def written(what: Any, form: Form = "python", space: str = " ", flags: Collection[str] | None = None) -> str:
    """The text of a message, remedy, error or warning; ``str(what)`` if ``what`` is none of these."""
    # ``space`` replaces each space in the text of a ``Cure`` or ``Spelled`` value. ``flags`` are the options of the
    # command that the user called.
    match what:
        case Cure() | Spelled():
            return what.written(form, flags).replace(" ", space)
        case Message():
            return what.written(form, space, flags)
        case BaseException(args=(Message() as said,)):
            return said.written(form, space, flags)
        case tuple() if what and all(isinstance(each, Cure | Message) for each in what):
            return " or ".join(written(each, form, space, flags) for each in what)
    return str(what)


def sentences(parts: Iterable[Any]) -> Message | str:
    """Join sentences with spaces."""
    kept = {f"part{k}": part for k, part in enumerate(parts)}
    return Message(" ".join(f"{{{name}}}" for name in kept), **kept) if kept else ""


class RefusedError(ValueError):
    """A value, a table or a model was refused.

    The attributes hold the place in the table, the refused value, and a suggested remedy (``cure``).

    Parameters
    ----------
    text : str or Message
        The message, or its template if ``data`` are given.
    **data : values of the placeholders, by name

    Attributes
    ----------
    column, row, value : object
        The place that the error is about, and the value there, if any.
    expected : object
        The expected value.
    cure : Cure, or tuple of Cure
        The suggested remedy.

    Examples
    --------
    >>> import bayesnb as nb
    >>> try:
    ...     nb.BayesianNB({"visits": nb.Poisson()}).fit({"visits": [3, -1]}, ["a", "b"])
    ... except nb.errors.RefusedError as error:
    ...     error.column, error.row, error.value
    ('visits', 1, -1.0)
    """

    def __init__(self, text: str | Message = "", /, **data: Any) -> None:
        super().__init__(Message(text, **data) if data and not isinstance(text, Message) else text)

    def _held(self, name: str) -> Any:
        said = self.args[0] if self.args else ""
        while isinstance(said, Message):
            if name in said.data:
                return said.data[name]
            inner = said.data.get("error")
            said = inner.args[0] if isinstance(inner, BaseException) and inner.args else ""
        return None

    column = property(lambda self: self._held("column"), doc="The column that the error is about.")
    row = property(lambda self: self._held("row"), doc="The position of the row that the error is about.")
    value = property(lambda self: self._held("value"), doc="What was found.")
    expected = property(lambda self: self._held("expected"), doc="What was expected.")
    cure = property(lambda self: self._held("cure"), doc="What to write instead.")


def refuse(errors: Sequence[BaseException]) -> None:
    """Raise the only error, or one error with the messages of all; do nothing if there are none."""
    if len(errors) > 1:
        first, *rest = errors
        others = {f"other{k}": error for k, error in enumerate(rest)}
        raise RefusedError("{error}" + "".join(f"; {{{name}}}" for name in others), error=first, **others)
    for error in errors:
        raise error


class RefusedRowsError(RefusedError):
    """Rows were refused; ``rows`` holds their positions, and ``row`` the first of them."""

    reason = ""

    def __init__(self, rows: Any) -> None:
        if not isinstance(rows, Message):
            more = f" (and {len(rows) - 1} more)" if len(rows) > 1 else ""
            rows = Message("row {row}{more} " + self.reason, row=rows[0], more=more, rows=rows)
        super().__init__(rows)

    rows = property(lambda self: self._held("rows"))


def moved(error: RefusedError, row: Any) -> RefusedError:
    """Copy an error, and replace the row number in its message by ``row``; if ``row`` is None, remove the number."""

    def said_of(said: Any) -> Any:
        if not isinstance(said, Message):
            return said
        text, data = said.text, dict(said.data)
        if isinstance(inner := data.get("error"), RefusedError):
            data["error"] = moved(inner, row)
        elif row is None:
            data.pop("row", None)
            text = re.sub(r",? in row \{row\}", "", text)
        elif "row" in data:
            data["row"] = row
        return Message(text, **data)

    return error if error.row is None else type(error)(*map(said_of, error.args))


@contextmanager
def rows_at(places: Any) -> Iterator[None]:
    """Correct row numbers in errors about selected rows: row i is row ``places[i]`` of the table."""
    try:
        yield
    except RefusedError as error:
        if error.row is None or places is None:
            raise
        if isinstance(error, RefusedRowsError):
            raise type(error)(places[error.rows]) from error
        raise moved(error, places[error.row]) from error


@contextmanager
def counted_from(start: int) -> Iterator[None]:
    """Correct row numbers in errors about a part of a table: row i of the part is row ``start + i`` of the table."""
    try:
        yield
    except ValueError as error:
        if not start:
            raise
        if isinstance(error, RefusedError) and error.row is not None:
            raise moved(error, start + error.row) from error
        raise RefusedError("{error} (row 0 there is row {start} of the source)", error=error, start=start) from error


class TableRemark(UserWarning):
    """A warning about a table, which the command line does not show, because ``inspect`` reports the same finding."""


def warn(said: str | Message, category: type[Warning] = UserWarning) -> None:
    """Issue a warning that points to the line of the user's code."""
    warnings.warn(category(said), skip_file_prefixes=OURS)


FROM_0 = "rows are counted from 0"


def at_row(row: Any) -> str:
    """A row in a message, such as "row 3 (counted from 0)"."""
    return f"row {row}" + " (counted from 0)" * isinstance(row, Integral)


def dashed(name: str) -> str:
    """A class name for the command line: "log-normal" for "LogNormal"."""
    return re.sub("(?<=.)(?=[A-Z])", "-", name).lower()


def listed(items: Iterable[Any]) -> str:
    """Join items with commas; quote items that contain commas."""
    text = StringIO()
    csv.writer(text, lineterminator="").writerow(map(str, items))
    return text.getvalue()


def items_of(text: str) -> list[str]:
    """Split a text into its items: the inverse of :func:`listed`."""
    rows = csv.reader(StringIO(text), skipinitialspace=True)
    return [item.strip() for row in rows for item in row if item.strip()]


def family_word(family: Any) -> Spelled:
    """A family in a message: "LogNormal" in Python, "log-normal" on the command line."""
    name = type(family).__name__
    return Spelled(name, dashed(name))


def require_choice(name: str, value: Any, choices: Iterable[Any]) -> None:
    """Raise ``ValueError`` if the value is not among the choices."""
    known = [*choices]
    if (value is None or isinstance(value, str)) and value in known:
        return
    *others, last = (repr(word) for word in known if word is not None)
    said = f"{'one of ' * (len(others) > 1)}{', '.join(others)} or {last}"
    raise ValueError(f"Expected {name} to be {said}; got {shown_value(value)}" + meant(value, filter(None, known)))


def require_whole(least: int, **values: Any) -> None:
    """Raise ``ValueError`` unless each value is a whole number of at least ``least``."""
    for name, value in values.items():
        if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
            raise ValueError(f"Expected {name} to be a whole number, {least} or more; got {shown_value(value)}")


def shown_value(value: Any) -> str:
    """A value as shown in a message; a table or another long value is shown by its type."""
    text = repr(value)
    return text if len(text) <= 60 and text.isprintable() else f"a value of type {type(value).__name__}"


UNFITTED = "columns that were not fitted are ignored: "


def some(names: Iterable[Any], most: int = 12) -> str:
    """Write up to ``most`` names, and how many remain."""
    every = list(names)
    return f"{every[:most]}" + f" and {len(every) - most:,} more" * (len(every) > most)


def nearest(name: Any, names: Iterable[Any]) -> str | None:
    """The closest match among names, ignoring case, surrounding spaces and units; ``None`` if no name is close."""
    folded = {str(known).strip().lower(): str(known) for known in names}
    asked = str(name).strip().lower()
    if close := get_close_matches(asked, folded, 1):
        return folded[close[0]]
    # "N" is meant for "N (kg/ha)", unless several names begin with N.
    bare: dict[str, list[str]] = {}
    for known in folded:
        bare.setdefault(re.split(r"\s*[(\[]", known)[0], []).append(known)
    alone = {start: own[0] for start, own in bare.items() if len(own) == 1}
    close = get_close_matches(asked, alone, 1)
    return folded[alone[close[0]]] if close else None


THEIRS = {
    "GaussianNB": 'nb.BayesianNB("gaussian"), or nb.presets.sklearn() for the numbers of scikit-learn',
    **dict.fromkeys(
        ("BernoulliNB", "CategoricalNB", "MultinomialNB"),
        "nb.BayesianNB(), which chooses families by column, or nb.presets.sklearn() for the numbers of scikit-learn",
    ),
    "ComplementNB": "nb.BayesianNB(); complements of classes have no generative model",
    **dict.fromkeys(("NaiveBayes", "NB", "naive_bayes", "Classifier", "fit"), "nb.BayesianNB().fit(X, y)"),
    "predict": "nb.BayesianNB().fit(X, y).predict(rows)",
    "save": "nb.BayesianNB().fit(X, y).save(path)",
}
"""Names of other libraries and names that users try, and their counterparts in this package."""


def meant(asked: Any, choices: Iterable[Any], otherwise: str = "") -> str:
    """A did-you-mean hint, or the text ``otherwise`` if no choice is close."""
    close = nearest(asked, choices)
    return otherwise if close is None else f"; did you mean {close!r}?"


def meant_of_all(asked: Any, choices: Iterable[Any], said: str) -> str:
    """A did-you-mean hint, followed by all choices."""
    hint = meant(asked, choices)
    return f"{hint} The {said}" if hint else f"; the {said}"
