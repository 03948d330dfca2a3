"""Read or fit models, as the command line specifies."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bayesnb.cli.settings import Settings, by_label, named_in
from bayesnb.cli.sources import opened
from bayesnb.cli.terminal import require_stdin, say, warn
from bayesnb.wording import Message, RefusedError, rows_at

if TYPE_CHECKING:
    import pandas as pd

    from bayesnb.data.csv_reader import Format
    from bayesnb.data.targets import Target
    from bayesnb.findings import Remark
    from bayesnb.inference.classifier import Classifier
    from bayesnb.learning import EstimatorParameters


def read_model(path: str) -> tuple[EstimatorParameters, Classifier, str]:
    """The parameters, classifier and content hash in a model file."""
    from bayesnb import learned

    if path == "-":
        require_stdin()
    return learned.of_file(path if path != "-" else io.BytesIO(sys.stdin.buffer.read()))


def load_model(path: str, absent: str | None = None, target: str | None = None) -> tuple[Classifier, str | None]:
    """The classifier in a model file, and its class column; ``absent`` and ``target`` replace the model's settings."""
    clf = read_model(path)[1]
    return clf if absent is None else replace(clf, absent=absent), target if target is not None else clf.target


@dataclass(frozen=True, eq=False)
class FittedTable:
    """A table, the model fitted to it, findings about its columns, and the result of ``check`` (see :func:`fitted`)."""

    name: str
    X: pd.DataFrame
    y: pd.Series
    parameters: EstimatorParameters
    clf: Classifier
    remarks: tuple[Remark, ...]
    checked: Any = None


def fitted(
    data: str, target: str | None, format: Format, settings: Settings, seed: int = 0, repeat: bool = True,
    check: Callable[[str, pd.DataFrame, Target, list[Any]], Any] = lambda *_: None,
) -> FittedTable:  # fmt: skip
    """Read a table into memory and fit a model; print the size of the table and serious findings to stderr."""
    from bayesnb import learning
    from bayesnb.data.schema import Schema
    from bayesnb.data.tables import Table
    from bayesnb.data.targets import read_target

    table = opened(data, format, settings, (target,))
    every, labels = table.whole(target)
    X, y = every[labels.notna()], labels.dropna()
    say(f"{table.name}: {len(X):,} rows, {X.shape[1]:,} columns, target {y.name!r}")
    # ``check`` gets all rows, also those without a class, and may raise an error before the fit. If ``repeat`` is true,
    # a row of weight w becomes w rows.
    whole, weight = X.assign(**{str(y.name): y}), None
    if settings.weight is not None:
        weight = weights_in(every, settings.weight)[y.index]
        every, X = every.drop(columns=settings.weight), X.drop(columns=settings.weight)
        if repeat:
            times = _times(weight)
            X, y, weight = X.loc[X.index.repeat(times)], y.loc[y.index.repeat(times)], None
    labels = read_target(y)
    classes = labels.classes.tolist()
    parameters = by_label(settings.parameters(), classes)
    checked = check(table.name, every, labels, [*dict.fromkeys([*classes, *named_in(parameters)])])
    remarks = table.examined(whole, y.name, len(whole))
    for remark in remarks:
        if remark.serious:
            warn(remark.sentence)
    if settings.m is not None:
        schema = Schema.infer(Table.of(X), parameters["features"], settings.unseen)
        parameters["features"] = settings.smoothed(schema)[1]
    asked = learning.EstimatorParameters(random_state=seed, **parameters)

    def learn(asked: EstimatorParameters) -> Classifier:
        with rows_at(X.index):
            return learning.fitted(asked, X, y, weight)

    asked, clf = with_dependence(asked, settings, learn)
    return FittedTable(table.name, X, y, asked, clf, tuple(remarks), checked)


def with_dependence(
    asked: EstimatorParameters, settings: Settings, learn: Callable[[EstimatorParameters], Classifier]
) -> tuple[EstimatorParameters, Classifier]:
    """Fit with the specified or default dependence; return the parameters and the model."""
    from bayesnb.dependence.exponents import NoExponentsError
    from bayesnb.priors import ImproperError

    without, chosen = settings.without_dependence(asked.estimate), settings.dependence
    if chosen is None:
        chosen = "none" if without else "auto"
        if without:
            say(without)
    asked = replace(asked, dependence=None if chosen == "none" else chosen)
    try:
        clf = learn(asked)
    except (NoExponentsError, ImproperError) as error:
        # Only a dependence that the user specified must be possible; the default may be left out.
        if settings.dependence is not None:
            raise
        say(Message("no dependence was added: {error}", error=error))
        asked = replace(asked, dependence=None)
        clf = learn(asked)
    if clf.dependence is not None and clf.dependence.exponents.said:
        say(f"--dependence {asked.dependence}: {clf.dependence.exponents.said}")
    return asked, clf


def weights_in(frame: pd.DataFrame, column: str) -> pd.Series:
    """The row weights in a column of ``frame``, as a Series."""
    import pandas as pd

    from bayesnb.data.parts import weights_of
    from bayesnb.data.tables import Table

    # The index of ``frame`` holds the row numbers in the file.
    with rows_at(frame.index):
        return pd.Series(weights_of(Table.of(frame[[column]]), column), frame.index, name=column)


def _times(weight: pd.Series) -> pd.Series:
    wrong = weight[weight % 1 != 0]
    if len(wrong):
        said = (
            "column {column!r} holds the weight {value:g} in row {row}: scores count whole rows, so weights are whole "
            "numbers here: for a model without weights, use --drop {column!r}; to score a model with weights, use "
            "bayesnb fit --weight, then bayesnb score on rows that it has not learned"
        )
        raise RefusedError(said, column=weight.name, value=wrong.iloc[0], row=wrong.index[0])
    return weight.astype(int)
