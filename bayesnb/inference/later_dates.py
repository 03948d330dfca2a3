"""Warn of predictions that extrapolate a trend to dates later than the learned dates."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import softmax

from bayesnb.data.drawing import few_rows
from bayesnb.data.new_rows import FAR, mean_and_sd, normal_columns
from bayesnb.data.tables import Table
from bayesnb.families.gaussian import LogNormal, OfNormals
from bayesnb.families.multivariate_gaussian import MultivariateGaussian
from bayesnb.model import Data, part_of
from bayesnb.wording import TableRemark, warn

if TYPE_CHECKING:
    from bayesnb.inference.classifier import Classifier

LATER = 2.0
"""Standard deviations after the mean of the learned dates from which a date counts as later than these."""

FEWEST_LATER = 1 / (1 + LATER**2)
"""A warning needs a larger share of later dates: no distribution has a larger one beyond its mean (Cantelli 1928)."""

CHANGED = 0.1
"""Least mean change of the class probabilities by the later dates, in total variation."""

PREDICTED = 50
"""Largest number of rows that are predicted with and without their dates."""

FEWEST_ROWS = 10
"""Fewest rows of a table that is examined in Python, so that single rows are predicted as fast as without the check."""


class LaterDatesWarning(TableRemark):
    """Most dates are later than the learned dates, and change the class probabilities, as if a trend continued.

    To silence the warning: ``warnings.simplefilter("ignore", bayesnb.errors.LaterDatesWarning)``.

    Examples
    --------
    >>> import warnings
    >>> import pandas as pd
    >>> import bayesnb as nb
    >>> days = pd.Series(pd.date_range("2024-01-01", periods=100))
    >>> clf = nb.BayesianNB().fit({"sold": days}, days.dt.day_of_year > 50)
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always")
    ...     proba = clf.predict_proba({"sold": days[:40] + pd.Timedelta(days=120)})
    >>> print(said[0].message)
    column 'sold': 100% of the dates are more than 2 standard deviations later than the learned mean (2024-02-19, sd 29
    days), and change the class probabilities by 0.50 on average, as if the learned trend continued: learn rows with
    newer dates, or fit without the column
    """


def warn_of_later_dates(clf: Classifier, table: Table, data: Data) -> None:
    """Warn of later dates in a table of at least ten rows, and in its encoded columns."""
    if table.n_rows >= FEWEST_ROWS:
        for sentence in _later_dates(clf, table, data):
            warn(sentence, LaterDatesWarning)


def said_of_later_dates(clf: Classifier, table: Table) -> Iterator[str]:
    """Yield a sentence about each date column that is mostly later than in the fit and changes predictions much."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Each command reads these rows for its own answer, with warnings and errors.
        try:
            table = clf.schema.through(table)
            data = clf.schema.read(table, absent="missing")[1]
        except ValueError:
            return
    yield from _later_dates(clf, table, data)


def _later_dates(clf: Classifier, table: Table, data: Data) -> Iterator[str]:
    schema = clf.schema
    dates = {column for column in schema.dates.keys() & schema.parts_of_dates if column in table.place}
    families = OfNormals, MultivariateGaussian
    for feature, column, _, mean, sd, *_ in normal_columns(schema, clf.statistics, dates, families) if dates else ():
        x, end = table.column(column).reals(), np.array([mean, mean + sd, mean + LATER * sd, mean + FAR * sd])
        if isinstance(schema.features[feature].family, LogNormal):
            end = np.exp(end)
        later = np.flatnonzero((x > end[2]) & (x <= end[3]))
        share = len(later) / max((~np.isnan(x)).sum(), 1)
        if share <= FEWEST_LATER:
            continue
        later = later[few_rows(table.rows(later), PREDICTED, 0)]
        rows, believed = part_of(data, later), clf.believed.of_rows(later)
        cells = np.array(rows[feature], float)
        cells[:, schema.features[feature].columns.index(column)] = np.nan
        joints = (believed.log_joint(each, len(later)) for each in (rows, {**rows, feature: cells}))
        with np.errstate(invalid="ignore"):  # Of rows that are impossible in all classes.
            with_dates, without = (softmax(joint, axis=1) for joint in joints)
        changed = np.nan_to_num(np.abs(with_dates - without)).sum(axis=1).mean() / 2
        if changed >= CHANGED:
            yield (
                f"column {schema.owner[column]!r}: {share:.0%} of the dates are more than {LATER:g} standard "
                f"deviations later than the learned mean ({mean_and_sd(schema, column, end[0], end[1] - end[0])}), and "
                f"change the class probabilities by {changed:.2f} on average, as if the learned trend continued: learn "
                "rows with newer dates, or fit without the column"
            )
