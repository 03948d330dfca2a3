"""The distribution of a missing cell, and the surprise of a known cell, given the rest of the row."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.special import logsumexp

from bayesnb.data.readings import Bounded
from bayesnb.families.family import Family
from bayesnb.inference.ask import are_summed, completed, joint_of_cell
from bayesnb.inference.classifier import Classifier, index_of
from bayesnb.inference.draws import probability_of_interval
from bayesnb.inference.questions import Shown, question
from bayesnb.model import Data, part_of, pieces
from bayesnb.numerics import Array
from bayesnb.progress import counted


@question(
    "to fill in missing cells, with their distributions",
    "predict",
    "deploy",
    columns={
        "value": "the most probable level, or the median of numbers",
        "lower": "lower end of the equal-tailed interval",
        "upper": "upper end of the equal-tailed interval",
        "probability": "probability of the value",
    },
)
def fill_in(
    classifier: Classifier, X: Any, prob: float | None = None, answer: Literal["summary", "distribution"] = "summary"
) -> pd.DataFrame:
    """Predict each missing cell from the other cells of its row.

    Parameters
    ----------
    X : table
        Rows with missing cells. Fitted columns that the table lacks are filled in too.
    prob : float, optional
        Probability of the intervals, by default ArviZ's ``stats.ci_prob`` (0.89).
    answer : {"summary", "distribution"}
        "summary" has one row per missing cell. "distribution" has one row per possible value of each missing cell.

    Returns
    -------
    DataFrame (row and column, ...)
        The summary has four columns. ``value`` is the most probable level, or the median of counts and real numbers.
        ``lower`` and ``upper`` are the equal-tailed interval of counts and real numbers. ``probability`` is the
        probability of ``value``; for real numbers, it is NaN, except for the value 0 of a ``Hurdle``. Dates are written
        as in the table. A cell of a ``Bounded`` column is predicted as a number, not as a bound such as "<5".

        The distribution holds the ``probability`` of each possible value. For a column of real numbers, the values are
        nodes of numerical integration. The first and the last node also represent all values beyond the nodes, which
        have a probability of at most 1e-6 on each side.

        ``attrs["not_filled"]`` lists columns that cannot be filled in: bags of words, and counts whose exposure is
        missing.

    Raises
    ------
    ValueError
        If the table does not match the fitted table, or ``prob`` is not between 0 and 1.

    Notes
    -----
    Even with a ``dependence``, naive Bayes predicts the cells, as ``attrs["note"]`` states.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.play_tennis()
    >>> clf, row = nb.BayesianNB().fit(X, y), {"outlook": ["overcast"], "wind": ["weak"]}
    >>> nb.deploy.fill_in(clf, row)[["value", "probability"]].round(2)
                    value  probability
    row column
    0   temperature    mild         0.41
        humidity     normal         0.60
    >>> nb.deploy.fill_in(clf, row, answer="distribution").round(2)
                            probability
    row column      value
    0   temperature cool           0.32
                    hot            0.26
                    mild           0.41
        humidity    high           0.40
                    normal         0.60
    """
    classifier.require_one_class_prior("what a missing cell may hold")
    tail = (1 - probability_of_interval(prob)) / 2
    table = classifier.schema.table_of(X)
    classifier.posterior.warn_of_chains()
    _, data = classifier.schema.read(table, absent="missing")
    # With a dependence, log p(row) is that of naive Bayes, and the class is summed out.
    naive = classifier.with_dependence(None)
    joint, index = naive.believed.log_joint(data, table.n_rows), index_of(X)
    found: list[tuple[Family, bool, pd.Series]] = []
    missing: list[tuple[Any, int, int]] = []
    places, not_filled = [], []
    features, gaps = classifier.schema.features, classifier.schema.missing(data, table)
    for name, feature in features.items():
        if feature.indicates:
            continue
        if feature.family.support.kind == "bag":
            not_filled += [name] * bool(data[name].missing().any())
            continue
        without_exposure = np.isnan(getattr(data[name], "exposure", np.zeros(table.n_rows)))
        for row, j in np.argwhere(gaps[name]).tolist():
            if without_exposure[row]:
                not_filled.append(feature.columns[j])
            else:
                missing.append((name, row, j))
    for name, row, j in counted("filling in cells", missing, "cells"):
        family, column = features[name].family, features[name].columns[j]
        here, before = _as_number(naive, part_of(data, np.array([row])), column, joint[row])
        with classifier.statistics.about(name):
            values, p, _ = joint_of_cell(naive, here, name, j, before)
        of_levels = family.support.kind == "levels"
        shown = values.astype(bool) if features[name].origin.kind == "boolean" else values
        index_of_values = pd.Index(features[name].levels[j], dtype=object) if of_levels else pd.Index(shown)
        p_of_value = pd.Series(p.sum(1), index_of_values, name="probability")
        p_of_value = p_of_value if of_levels else p_of_value.sort_index()
        found.append((family, are_summed(family, j, values), p_of_value))
        places.append((row, row if index is None else index[row], column))
    order = sorted(range(len(found)), key=lambda k: places[k][0])
    keys = [places[k][1:] for k in order]
    if answer == "summary":
        said = [_dated(classifier, places[k][2], *_summary(*found[k], tail)) for k in order]
        frame = pd.DataFrame(said, columns=["value", "lower", "upper", "probability"])
        frame.index = pd.MultiIndex.from_tuples(keys, names=["row", "column"])
    else:
        # The index of rows may have duplicates, so a dict would not do.
        listed = (_listed(*found[k]) for k in order)
        lines = [(*key, value, p) for key, own in zip(keys, listed, strict=True) for value, p in own.items()]
        frame = pd.DataFrame(lines, columns=["row", "column", "value", "probability"]).astype({"probability": float})
        frame = frame.set_index(["row", "column", "value"])
    frame.attrs["not_filled"] = [*dict.fromkeys(not_filled)]
    return _noted(frame, classifier)


def _as_number(classifier: Classifier, data: Data, column: Any, before: Array) -> tuple[Data, Array]:
    """Set a missing cell of a ``Bounded`` column to the kind "number"; return the row and log p(class, row)."""
    schema = classifier.schema
    reading = schema.readings.get(owner := schema.owner.get(column))
    if not isinstance(reading, Bounded) or column != (names := reading.names(owner))[1]:
        return data, before
    for name, feature in schema.features.items():
        for k in [k for k, each in enumerate(feature.columns) if each == names[0] and "number" in feature.levels[k]]:
            number = np.array([feature.levels[k].index("number")])
            data = {**data, name: completed(data[name], k, number)}
            return data, classifier.believed.log_joint(data, 1)[0]
    return data, before


def _dated(
    classifier: Classifier, column: Any, value: Any, lower: Any, upper: Any, probability: float
) -> tuple[Any, ...]:
    reading = classifier.schema.dates.get(column)
    if reading is not None and isinstance(value, float):  # A binned column has levels.
        cells = reading.rounded(np.array([value, lower, upper]), upper - lower < MINUTES)
        value, lower, upper = reading.written(cells)
    return value, lower, upper, probability


MINUTES = 4.0
"""Shorter intervals of dates, in days, are shown in minutes."""


BEYOND = 1e-6
"""Probability on each side of a real column that the first and the last listed value stand for."""


def _listed(family: Family, summed: bool, distribution: pd.Series) -> pd.Series:
    if summed or family.support.kind in ("levels", "zero_one"):
        return distribution
    p = distribution.to_numpy()
    low, high = np.searchsorted(p.cumsum(), BEYOND), len(p) - 1 - np.searchsorted(p[::-1].cumsum(), BEYOND)
    listed = distribution.iloc[low : high + 1].copy()
    listed.iloc[0] += p[:low].sum()
    listed.iloc[-1] += p[high + 1 :].sum()
    return listed


def _summary(family: Family, summed: bool, distribution: pd.Series, tail: float) -> tuple[Any, ...]:
    values, p = distribution.index.to_numpy(), distribution.to_numpy()
    if family.support.kind in ("levels", "zero_one"):
        return values[p.argmax()], np.nan, np.nan, p.max()
    if summed:
        # A quantile is the first value whose cumulative probability reaches the share.
        lower, median, upper = values[np.searchsorted(p.cumsum(), [tail, 0.5, 1 - tail]).clip(0, len(p) - 1)]
        return median, lower, upper, distribution[median]
    # Half of the mass of a node lies on each side of it. All mass of an atom lies at the atom, which is listed twice.
    atom = np.isin(values, family.atoms)
    above = np.repeat(np.where(atom, p, p / 2), 1 + atom)
    above[np.cumsum(1 + atom)[atom] - 1] = 0.0
    below = np.repeat(p.cumsum(), 1 + atom) - above
    lower, median, upper = np.interp([tail, 0.5, 1 - tail], below, np.repeat(values, 1 + atom))
    return median, lower, upper, distribution[median] if median in family.atoms else np.nan


ABOVE_MEDIAN = "above median: the surprise minus the median of the column, which does not depend on the column's unit."


def _oddest(found: pd.DataFrame) -> pd.DataFrame:
    """The cells, sorted by their surprise minus the median surprise of their column, the largest difference first."""
    # Another unit adds one number to the surprise of all cells of the column, so the difference from the column's
    # median is the same in every unit.
    cells, above = found.to_numpy(), (found - found.median()).to_numpy()
    order = np.argsort(-above, axis=None, kind="stable")[: np.count_nonzero(~np.isnan(above))]  # NaN stands last.
    row, column = np.unravel_index(order, above.shape)
    lines = {"column": found.columns[column], "surprise": cells[row, column], "above_median": above[row, column]}
    return pd.DataFrame(lines, found.index[row].rename("row"))


@question(
    "to know which cells are odd, given the rest of their rows", "is the model right", "checks",
    Shown("", lines=_oddest, notes=lambda _: ABOVE_MEDIAN, finding=False),
)  # fmt: skip
def surprise(classifier: Classifier, X: Any) -> pd.DataFrame:
    """How surprising each known cell is given the other cells of its row: -ln p(cell | other cells), in nats.

    Parameters
    ----------
    X : table
        Rows that were not learned. The surprise of learned rows is slightly too small.

    Returns
    -------
    DataFrame (row, column)
        The surprise of each cell, NaN for missing cells. A bag of words or a vector has one column, named after its
        feature. The surprise of a real number depends on the column's unit, so compare cells within a column.

    Raises
    ------
    ValueError
        If the table does not match the fitted table.

    Notes
    -----
    Even with a ``dependence``, all densities come from naive Bayes, as ``attrs["note"]`` states.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.penguins()
    >>> clf = nb.BayesianNB().fit(X[1:], y[1:])
    >>> heavy = X[:1].assign(body_mass_g=6500.0)  # the rest of the row is that of an Adelie
    >>> [nb.checks.surprise(clf, rows)["body_mass_g"].round(1).item() for rows in (X[:1], heavy)]
    [7.1, 23.4]
    """
    classifier.require_one_class_prior("the surprise of a cell")
    data, n_rows = classifier.read(X)
    believed, posterior = classifier.believed, classifier.posterior
    if believed.plug_in is None:
        said = pieces.predictive(posterior, data, n_rows)
    else:
        said = np.stack([*pieces.likelihood(posterior, believed.plug_in, data, n_rows)], axis=-1)
    impossible = np.isneginf(said)
    finite, ruled_out = np.where(impossible, 0.0, said), impossible.sum(-1, keepdims=True)
    rest = believed.log_pi[:, None] + finite.sum(-1, keepdims=True) - finite
    rest = np.where(ruled_out > impossible, -np.inf, rest)
    with np.errstate(invalid="ignore"):
        found = logsumexp(rest, axis=1) - logsumexp(rest + said, axis=1)
    missing = np.column_stack([piece.known(data[piece.feature]) == 0 for piece in posterior.pieces])
    names, index = posterior.piece_names(), index_of(X)
    return _noted(pd.DataFrame(np.where(missing, np.nan, found), columns=names, index=index), classifier)


def _noted(frame: pd.DataFrame, classifier: Classifier) -> pd.DataFrame:
    if not classifier.believed.naive:
        frame.attrs["note"] = NAIVE_PART
    return frame


NAIVE_PART = "the densities are those of the naive Bayes part of the model, without its dependence"
