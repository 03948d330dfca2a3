"""Warn of predictions that extrapolate a trend to dates later than the learned ones."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np

from bayesnb.data.tables import Table
from bayesnb.data.warned import FAR, gaussian_columns, mean_and_sd
from bayesnb.inference.classifier import Classifier
from bayesnb.model import normalize, part_of

LATER = 2.0
"""Standard deviations after the mean of the learned dates from which a date counts as later than these."""

FEWEST_LATER = 1 / (1 + LATER**2)
"""A warning needs a larger share of later dates: no distribution has a larger one beyond its mean (Cantelli 1928)."""

CHANGED = 0.1
"""Least mean change of the class probabilities by the later dates, in total variation."""


def said_of_later_dates(clf: Classifier, table: Table) -> Iterator[str]:
    """Yield a sentence about each date column that is mostly later than in the fit and changes predictions much."""
    schema = clf.schema
    dates = schema.dates.keys() & schema.parts_of_dates
    if not dates or not table.n_rows:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Each command reads these rows for its own answer, with warnings and errors.
        try:
            table = schema.through(table)
            _, data = schema.read(table, absent="missing")
            read = [own for own in gaussian_columns(schema, clf.statistics, table) if own[1] in dates]
        except ValueError:
            return
    for feature, column, mean, sd in read:
        x = table.column(column).reals()
        later = np.flatnonzero((x > mean + LATER * sd) & (x <= mean + FAR * sd))
        share = len(later) / max((~np.isnan(x)).sum(), 1)
        if share <= FEWEST_LATER:
            continue
        rows = part_of(data, later)
        cells = np.array(rows[feature], float)
        cells[:, schema.features[feature].columns.index(column)] = np.nan
        with_dates, without = (
            np.exp(normalize(clf.believed.log_joint(each, len(later)))) for each in (rows, {**rows, feature: cells})
        )
        changed = np.abs(with_dates - without).sum(axis=1).mean() / 2
        if changed >= CHANGED:
            yield (
                f"column {schema.owner[column]!r}: {share:.0%} of the dates are more than {LATER:g} standard "
                f"deviations later than the learned mean ({mean_and_sd(schema, column, mean, sd)}), and change the "
                f"class probabilities by {changed:.2f} on average, as if the learned trend continued: learn rows with "
                "newer dates, or fit without the column"
            )
