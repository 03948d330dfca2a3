"""Predictions of rows, as arrays and as tables."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import pandas as pd

from bayesnb.data import engines, writers
from bayesnb.data.tables import Table, streams
from bayesnb.inference.classifier import Classifier, index_of
from bayesnb.inference.intervals import ENDS
from bayesnb.inference.questions import question
from bayesnb.model import normalize
from bayesnb.priors import Array
from bayesnb.wording import meant


@question("the most probable class of each row", "predict")
def predict(classifier: Classifier, X: Any) -> Array:
    """The most probable class of each row, (row,).

    Parameters
    ----------
    X : table
        The rows to predict.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB().fit(X, y)
    >>> clf.predict(X[:3])
    array(['no', 'no', 'yes'], dtype=object)
    """
    log_joint = classifier.believed.log_joint(*classifier.read(X, predicts=True))
    normalize(log_joint)
    return classifier.classes[log_joint.argmax(axis=1)]


@question("the probability of each class", "predict")
def predict_proba(classifier: Classifier, X: Any) -> Array:
    """p(class | row) under the chosen estimate, (row, class).

    Parameters
    ----------
    X : table
        The rows to predict.

    Raises
    ------
    ImpossibleRowError
        If a row has probability 0 under every class, which happens only with plug-in estimates.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB().fit(X, y)
    >>> clf.predict_proba(X[:2]).round(3)
    array([[0.704, 0.296],
           [0.847, 0.153]])
    """
    joint = classifier.believed.log_joint(*classifier.read(X, predicts=True))
    return normalize(joint, log=False, out=joint)


@question("its logarithm", "predict")
def predict_log_proba(classifier: Classifier, X: Any) -> Array:
    """log p(class | row), (row, class).

    Parameters
    ----------
    X : table
        The rows to predict.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB().fit(X, y)
    >>> clf.predict_log_proba(X[:1]).round(3)
    array([[-0.351, -1.218]])
    """
    return normalize(classifier.believed.log_joint(*classifier.read(X, predicts=True)))


@question("how probable each row is with each class", "predict")
def predict_joint_log_proba(classifier: Classifier, X: Any) -> Array:
    """log p(class, row), (row, class). The logsumexp over classes is log p(row).

    Parameters
    ----------
    X : table
        The rows to predict.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB().fit(X, y)
    >>> clf.predict_joint_log_proba(X[:1]).round(2)
    array([[-3.84, -4.71]])
    """
    return classifier.believed.log_joint(*classifier.read(X))


@question("predictions as a table, beside columns of yours", "predict", "deploy")
def predict_table(
    classifier: Classifier, X: Any, interval: bool = False, prob: float | None = None, keep: Sequence[Any] = ()
) -> Any:
    """The prediction of each row with its probabilities, as a table.

    Parameters
    ----------
    X : table, in memory or read in parts, as for ``fit``
        The rows to predict.
    interval : bool
        Add the median and the interval of p(class | row, parameters). ``p_<class>`` is an average over the parameters;
        with a ``dependence``, it can lie outside the interval.
    prob : float, optional
        Probability of the interval, by default ArviZ's ``stats.ci_prob`` (0.89).
    keep : sequence of column names
        Columns of the table to copy into the result. Include a key for Spark, which does not keep the order of rows.

    Returns
    -------
    DataFrame (row, ...)
        The columns named in ``keep``, ``prediction``, and ``p_<class>`` for each class. With ``interval``, the columns
        ``p_<class>_lower``, ``p_<class>_median`` and ``p_<class>_upper`` are added. For a Dask or Spark DataFrame the
        result is lazy. For other tables read in parts, the result is an iterator of data frames, in row order.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets, deploy
    >>> X, y = datasets.play_tennis()
    >>> deploy.predict_table(BayesianNB().fit(X, y), X[:2], keep=["wind"]).round(3)
         wind prediction   p_no  p_yes
    0    weak         no  0.704  0.296
    1  strong         no  0.847  0.153
    """
    columns = _predicted_columns(classifier, interval)
    keep = [keep] if isinstance(keep, str) else keep
    if streams(X):
        ask = partial(predict_table, classifier, interval=interval, prob=prob, keep=keep)
        return engines.scores(ask, columns, classifier.schema.source(X), keep)
    table, kept = Table.of(X), {}
    if keep:
        if absent := [name for name in keep if name not in table.place]:
            raise ValueError(
                f"keep names column {absent[0]!r}, which the table does not have"
                + meant(absent[0], map(str, table.names))
            )
        kept = {name: table.source[name].array if table.named else table.column(name).values for name in keep}
    if table.named:
        # If no column is absent, extra columns cannot be typos, so they are dropped silently. Otherwise the error about
        # the absent column needs their names.
        known = {*classifier.schema.raw, *classifier.schema.names}
        whole = classifier.absent == "error" and set(classifier.schema.raw) <= set(table.names)
        other = table.names if whole else (*keep, classifier.target)
        table = table.without([name for name in other if name not in known])
    proba = classifier.predict_proba(table)
    # An array of the result's type converts each class once, not per row.
    classes = pd.Series(classifier.classes, dtype=columns[0][1]).array
    values = {"prediction": classes.take(proba.argmax(axis=1))}
    values |= {f"p_{label}": p for label, p in zip(classifier.classes, proba.T, strict=True)}
    if interval:
        ends = classifier.predict_interval(table, prob)
        values |= {f"p_{label}_{end}": ends[label, end].to_numpy() for label in classifier.classes for end in ENDS}
    scored = {name: pd.Series(values[name], dtype=kind) for name, kind in columns}
    predictions = pd.DataFrame(kept | scored, copy=False)
    if index_of(X) is not None:
        predictions = predictions.set_index(index_of(X))
    predictions.attrs |= ends.attrs if interval else {}
    return predictions


def _predicted_columns(classifier: Classifier, interval: bool) -> list[tuple[str, Any]]:
    text = all(isinstance(label, str) for label in classifier.classes)
    names = [f"p_{label}" for label in classifier.classes]
    if interval:
        names += [f"p_{label}_{end}" for label in classifier.classes for end in ENDS]
    if len(set(names)) < len(names):
        raise ValueError(f"the classes {list(classifier.classes)} give columns of one name")
    return [("prediction", "str" if text else classifier.classes.dtype), *((name, "float64") for name in names)]


@question("predictions of a large table in a file", "predict", "deploy")
def write_predictions(
    classifier: Classifier,
    X: Any,
    path: str | os.PathLike,
    interval: bool = False,
    prob: float | None = None,
    keep: Sequence[Any] = (),
) -> int:
    """Write the predictions of a table of any size to a file, part by part, and return the number of rows.

    Parameters
    ----------
    X, interval, prob, keep
        As for :func:`bayesnb.deploy.predict_table`.
    path : path
        A Parquet (".parquet") or CSV (".csv", ".tsv") file, which is written completely or not at all.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from bayesnb import BayesianNB, datasets, deploy
    >>> X, y = datasets.play_tennis()
    >>> path = Path(tempfile.mkdtemp()) / "predicted.csv"
    >>> deploy.write_predictions(BayesianNB().fit(X, y), X, path)
    14
    >>> path.read_text().splitlines()[0]
    'prediction,p_no,p_yes'
    """
    predictions = predict_table(classifier, X, interval, prob, keep)
    if not isinstance(predictions, pd.DataFrame | Iterator):
        raise TypeError(
            f"{type(predictions).__name__} is written by its own engine: predict_table(...) and its to_parquet or write"
        )
    return writers.write([predictions] if isinstance(predictions, pd.DataFrame) else predictions, path)
