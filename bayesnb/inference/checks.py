"""Predictive checks: whether tables that the model makes look like the table that it was given.

Start with :func:`predictive_checks`. It gives :class:`PredictiveChecks`, whose text is one sentence.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.random import Generator

from bayesnb.dependence.columns import names as names_of_columns
from bayesnb.families.columns import dense_cells
from bayesnb.inference.classifier import Classifier
from bayesnb.inference.discrepancies import Check, Checked, checked, statistics
from bayesnb.inference.draws import probability_of_interval
from bayesnb.inference.questions import Shown, question
from bayesnb.model import Data, Posterior, part_of
from bayesnb.numerics import Array
from bayesnb.statistics.membership import Labels

ALARM = 0.05
"""A check speaks against the model if its adjusted p-value is at most this."""


SAMPLE = 4096
"""Rows that are checked: of more rows, so many that are drawn at random."""


MOST_COLUMNS = 200
"""The most columns that are checked."""


CELLS = 2**23
"""Numbers that are replicated at once."""


@dataclass(frozen=True, eq=False)
class PredictiveChecks:
    """What replicated tables say about the model. As text it is one sentence.

    Parameters
    ----------
    table : DataFrame
        A line for each test statistic of a class, the worst first: ``statistic``; ``first`` and ``second``, the columns
        (``second`` is None for a test statistic of one column); ``class``; ``observed``, its value in the rows;
        ``expected``, ``lower`` and ``upper``, its mean and interval in replicated tables; ``distance``, how many
        standard deviations of the replicated tables the observed value is away from their mean (on a scale on which
        their distribution is closer to a Normal); ``p``, the two-sided p-value of this check alone; ``p_adjusted``, the
        probability that any check of a replicated table is as far away as this one.
    draws : int
        The number of replicated tables.
    threshold : float
        The distance from which a check speaks against the model.
    unchecked : tuple
        The columns that were not checked: bags of words, counts with an exposure, columns of more than 64 levels.
    """

    table: pd.DataFrame
    draws: int
    threshold: float
    unchecked: tuple[Any, ...] = ()

    alarm: ClassVar[float] = ALARM
    """A check speaks against the model if its adjusted p-value is at most this."""

    @property
    def failed(self) -> pd.DataFrame:
        """The checks that speak against the model, beyond what chance gives."""
        return self.table[self.table["p_adjusted"] <= self.alarm]

    @property
    def fits(self) -> bool:
        """Whether no check speaks against the model."""
        return self.failed.empty

    def __str__(self) -> str:
        n, worst = len(self.failed), self.table.head(1)
        if worst.empty:
            return "There is nothing to check: no column of numbers and no pair of columns has enough rows in a class."
        if not n:
            return (
                f"None of {len(self.table)} checks speaks against the model; the smallest adjusted p-value is "
                f"{worst['p_adjusted'].iloc[0]:.2f}."
            )
        _, worst = next(worst.iterrows())
        columns = f"{worst['first']!r}" + ("" if worst["second"] is None else f" and {worst['second']!r}")
        return (
            f"{n} of {len(self.table)} checks speak{'s' if n == 1 else ''} against the model"
            f"{', most of all' if n > 1 else ':'} the {worst['statistic']} of {columns} in class {worst['class']!r}: "
            f"{worst['observed']:.3g} is observed, and the model makes {worst['lower']:.3g} to {worst['upper']:.3g}."
        )

    def __repr__(self) -> str:
        return f"<PredictiveChecks: {self}>"


def checked_tables(
    posterior: Posterior, data: Data, labels: Labels, draws: int, level: float, rng: Generator
) -> PredictiveChecks:
    """Check every column, and every pair of columns, by tables that the posterior makes.

    Each replicated table has its own draw of the parameters. It has as many rows as the observed one, of the same
    classes and with the same missing cells, and its numbers are rounded as the observed ones are (BDA3 6.3).

    Many checks are made, and a few of them are far away by chance. So the farthest of all checks of the table is
    compared with the farthest of all checks of each replicated table: its share is a p-value of the whole table,
    whatever the dependence of the checks, and no more draws are needed for more checks (the maxT method of Westfall
    and Young 1993). For this comparison, distances are in standard deviations of the replicated tables.

    Parameters
    ----------
    posterior : Posterior
    data : {name: encoded column}
    labels : Labels
    draws : int
    level : float
        Probability of the intervals.
    rng : Generator

    Raises
    ------
    ValueError
        If there are more than 200 columns.
    """
    columns, unchecked = _columns(posterior, data)
    if len(columns) > MOST_COLUMNS:
        raise ValueError(f"Expected at most {MOST_COLUMNS} columns to check; got {len(columns)}: pass fewer columns")
    if len(labels) > SAMPLE:
        some = np.sort(rng.choice(len(labels), SAMPLE, replace=False))
        data, labels = part_of(data, some), labels[some]
    observed = np.empty((len(labels), len(columns)))
    for j, column in enumerate(columns):
        observed[:, j] = dense_cells(data[column.feature])[:, column.position]
    of_class = [np.flatnonzero(labels.codes == c) for c in range(labels.n)]
    made = [statistics(observed[None, rows], columns) if len(rows) else ([], np.empty((1, 0))) for rows in of_class]
    step = max(1, CELLS // max(1, len(labels) * sum(max(1, c.levels) for c in columns)))
    parts = []
    for start in range(0, draws, step):
        n = min(step, draws - start)
        cells = replicated(posterior, columns, labels.codes, n, rng)
        cells[:, np.isnan(observed)] = np.nan
        each = [statistics(cells[:, rows], columns)[1] for rows in of_class if len(rows)]
        parts.append(np.concatenate([np.empty((n, 0)), *each], axis=1))
    checks = [(check, posterior.labels[c]) for c, (found, _) in enumerate(made) for check in found]
    values, replications = np.concatenate([v for _, v in made], axis=1)[0], np.concatenate(parts)
    flags = _flags_of_gaps(observed)
    kept = [k for k, (check, _) in enumerate(checks) if check.second < 0 or not flags[check.first, check.second]]
    table, threshold = _table([checks[k] for k in kept], columns, values[kept], replications[:, kept], level)
    return PredictiveChecks(table, draws, threshold, tuple(unchecked))


def _flags_of_gaps(observed: Array) -> Array:
    """Which pairs of columns are a column and a flag of its missing cells, as booleans (column, column).

    The flag varies in the table, and is constant in the rows in which the other column has a value. The model takes
    both as independent, and replicated tables have the missing cells of the observed one, so a check of such a pair
    would fail however good the model is.
    """
    known = ~np.isnan(observed)
    varies = np.array([len(np.unique(x[seen])) > 1 for x, seen in zip(observed.T, known.T, strict=True)], bool)
    found = np.zeros((observed.shape[1], observed.shape[1]), bool)
    for j in np.flatnonzero(known.any(0) & ~known.all(0)):
        rows = observed[known[:, j]]
        lowest, highest = np.nanmin(rows, axis=0, initial=np.inf), np.nanmax(rows, axis=0, initial=-np.inf)
        found[j] = varies & (lowest >= highest)
    return found | found.T


def _columns(posterior: Posterior, data: Data) -> tuple[list[Checked], list[Any]]:
    """The columns that can be checked, and the names of the others."""
    found, others, called = [], [], iter(names_of_columns(posterior))
    for feature, family in posterior.model.features.items():
        x = data[feature]
        own = [
            next(called)
            for _ in range(1 if family.one_term else posterior.statistics.features[feature].seen().shape[1])
        ]
        kept = list(checked(family, x, feature, own))
        others += [name for k, name in enumerate(own) if k not in {column.position for column in kept}]
        found += kept
    return found, others


def replicated(posterior: Posterior, columns: Sequence[Checked], codes: Array, n: int, rng: Generator) -> Array:
    """Tables that the posterior makes, (table, row, column), for rows of these classes; none of their cells is missing.

    Each table has its own draw of the parameters.
    """
    drawn, rows = posterior.draw(rng, (n,)), len(codes)
    # What is not checked may have thousands of levels, too many for a copy of their probabilities for each row.
    needed = dict.fromkeys(column.feature for column in columns)
    drawn = replace(drawn, features={name: drawn.features[name] for name in needed})
    own = drawn.at((np.repeat(np.arange(n), rows), np.tile(codes, n)))
    cells = np.empty((n, rows, len(columns)))
    for name in needed:
        family = posterior.model.features[name]
        made = np.asarray(family.sample(own.features[name], rng, posterior.statistics.features[name]), float)
        for j, column in enumerate(columns):
            if column.feature == name:
                cells[..., j] = column.rounded(made[:, column.position].reshape(n, rows))
    return cells


def _table(
    checks: Sequence[tuple[Check, Any]], columns: Sequence[Checked], observed: Array, replicated: Array, level: float
) -> tuple[pd.DataFrame, float]:
    """One line for each check, the worst first, and the distance from which a check speaks against the model."""
    draws = len(replicated)
    scaled, own = np.empty_like(replicated), np.empty_like(observed)
    for k, (check, _) in enumerate(checks):
        scaled[:, k], own[k] = check.scale(replicated[:, k]), check.scale(observed[k])
    middle = scaled.mean(axis=0)
    away, own = scaled - middle, own - middle
    squares = np.square(away).sum(axis=0)
    least = np.array([check.resolution for check, _ in checks]) + 1e-9 * np.abs(middle) + 1e-300
    distance = own / np.maximum(np.sqrt(squares / draws), least)
    # The observed table has no part in the mean and the standard deviation by which it is judged. So each replicated
    # table is judged by those of the others, or else it would seem less far away than it is.
    others = np.sqrt(np.maximum(squares - away**2 * (draws / (draws - 1)), 0.0) / (draws - 1))
    chance = np.abs(away * (draws / (draws - 1)) / np.maximum(others, least))
    farthest = np.sort(chance.max(axis=1, initial=0.0))
    above = draws - np.searchsorted(farthest, np.abs(distance), side="left")
    tails = [(replicated >= observed).sum(axis=0), (replicated <= observed).sum(axis=0)]
    low, high = np.quantile(replicated, [0.5 - level / 2, 0.5 + level / 2], axis=0)
    table = pd.DataFrame(
        {
            "statistic": pd.Series([check.statistic for check, _ in checks], dtype=object),
            "first": pd.Series([columns[check.first].name for check, _ in checks], dtype=object),
            "second": pd.Series(
                [columns[check.second].name if check.second >= 0 else None for check, _ in checks], dtype=object
            ),
            "class": pd.Series([label for _, label in checks]),
            "observed": observed,
            "expected": replicated.mean(axis=0),
            "lower": low,
            "upper": high,
            "distance": distance,
            "p": np.minimum(1.0, 2 * (1 + np.minimum(*tails)) / (draws + 1)),
            "p_adjusted": (1 + above) / (draws + 1),
        }
    )
    order = np.argsort(-np.abs(distance), kind="stable")
    # The smallest distance whose adjusted p-value is small enough.
    needed = int(np.floor(ALARM * (draws + 1))) - 1
    threshold = float(farthest[draws - needed - 1]) if 0 <= needed < draws else float("inf")
    return table.iloc[order].reset_index(drop=True), threshold


@question(
    "to know whether the model makes tables like yours", "is the model right", "checks",
    Shown(
        "Does the model fit",
        lines=lambda found: found.table.set_index(["statistic", "first", "second"]).drop(columns=["distance", "p"]),
        plot="predictive_checks",
    ),
)  # fmt: skip
def predictive_checks(
    classifier: Classifier, X: Any, y: Any, draws: int = 200, prob: float | None = None
) -> PredictiveChecks:
    """Whether tables that the model makes look like this one: each column, and each pair of columns.

    Parameters
    ----------
    X, y : table and labels
        The rows that were learned, or others of the same kind.
    draws : int
        The number of replicated tables, at least 20. Each has its own draw of the parameters, and the classes, the
        missing cells and the rounding of the rows.
    prob : float, optional
        Probability of the intervals; ArviZ's ``stats.ci_prob`` (0.89) by default.

    Returns
    -------
    PredictiveChecks
        As text, one sentence. ``table`` is a DataFrame with a line for each check, the worst first, ``failed`` the
        lines that speak against the model, and ``fits`` is True if there are none.
        :func:`bayesnb.plots.predictive_checks` draws it.

    Raises
    ------
    ValueError
        If a row has no label, rows without a label were learned, a posterior is improper, or there are more than 200
        columns.

    Notes
    -----
    Within each class, columns of reals are checked by mean, standard deviation, skewness, kurtosis, the largest
    distance from the mean, and how often the most frequent value occurs; positive reals and counts by similar numbers;
    pairs of columns by their correlation, correlation ratio or mutual information. A table of the model itself is said
    not to fit in at most about one of twenty cases: p-values are adjusted for the number of checks. On the rows that
    were learned it happens less often, since the parameters have adapted to them: such p-values are conservative
    (BDA3 6.3). With a dependence, its naive Bayes part is checked. Of more than 4,096 rows, 4,096 are drawn at random.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesnb import BayesianNB, checks
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(2, size=300)
    >>> X = {"wait": rng.exponential(1.0 + y), "size": rng.normal(y)}
    >>> found = checks.predictive_checks(BayesianNB().fit(X, y), X, y)
    >>> found.fits
    False
    >>> found.failed["first"].unique()
    array(['wait'], dtype=object)
    >>> found.table[["statistic", "class", "observed", "expected"]].head(2).round(1)
      statistic  class  observed  expected
    0  kurtosis      0      14.2       3.0
    1  kurtosis      1       9.9       3.0
    """
    classifier.require_one_class_prior("a predictive check")
    classifier.require_counted("predictive checks need a posterior of rows that were counted")
    if not isinstance(draws, int | np.integer) or draws < 20:
        raise ValueError(f"Expected draws to be an integer of at least 20; got {draws!r}")
    rows = classifier.rows(X, y).labelled()
    seed = 0 if classifier.seed is None else copy.deepcopy(classifier.seed)
    return checked_tables(
        classifier.posterior,
        *classifier.encoded(rows),
        int(draws),
        probability_of_interval(prob),
        np.random.default_rng(seed),
    )
