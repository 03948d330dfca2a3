"""Predictive checks: whether tables drawn from the model look like the observed table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
from numpy.random import Generator
from scipy.special import xlogy

from bayesnb.dependence.drawn_forests import DrawnForests
from bayesnb.families.columns import dense_cells
from bayesnb.families.rounded import rounding
from bayesnb.inference.classifier import Classifier
from bayesnb.inference.draws import probability_of_interval
from bayesnb.inference.questions import Shown, question
from bayesnb.kernels.blocks import slices
from bayesnb.model import Data, Parameters, Posterior, part_of
from bayesnb.model.order import Order
from bayesnb.numerics import Array
from bayesnb.wording import require_whole

type Kind = Literal["real", "positive", "count", "binary", "levels"]

KINDS: Mapping[str, Kind] = {"counts": "count", "positive": "positive", "zero_one": "binary", "levels": "levels"}
"""The kind of values per support; other supports hold real numbers."""


MOST_LEVELS = 64
"""Columns of more levels are not checked, because tables of two columns would have about one row per cell."""


FEWEST = 5
"""Least number of rows in a class for a test statistic."""


SMALL = 0.25
"""SMALL / √n is a small standard deviation for the logarithm of a ratio, or for the skewness, of n rows."""


OF_ROOTS = 0.8
"""From far above, the root of a χ² variate looks like a Normal variate with this standard deviation."""


type Connect = Callable[[dict[str, Array], Parameters, Array, Array], None]


@dataclass(frozen=True)
class Checked:
    """A column whose distribution is checked against replicated tables."""

    # ``levels`` is the number of levels, 0 for a column of numbers. Rounded values are ``origin`` plus whole multiples
    # of ``unit``. ``unit`` is 0 for unrounded values.

    name: Any
    feature: str
    position: int
    kind: Kind
    levels: int = 0
    unit: float = 0.0
    origin: float = 0.0

    def rounded(self, x: Array) -> Array:
        """Round replicated values to the unit of the observed values."""
        if not self.unit:
            return x
        steps = np.rint((x - self.origin) / self.unit)
        if self.kind == "positive":
            # Rounding must not make a positive number 0 or negative.
            steps = np.maximum(steps, np.floor(-self.origin / self.unit) + 1)
        return self.origin + steps * self.unit


@dataclass(frozen=True)
class Check:
    """A test statistic of one column, or of two columns, within a class."""

    # ``second`` is -1 if there is only one column. ``resolution`` is the smallest standard deviation to assume for the
    # scaled test statistic, if nearly all replicated tables have the same value.

    statistic: str
    first: int
    second: int
    resolution: float


def statistics(cells: Array, columns: Sequence[Checked]) -> tuple[list[Check], Array]:
    """The checks for one class, and the test statistics of these checks, unscaled and scaled, (2, table, check)."""
    # ``cells``, (table, row, column), are numbers or codes of levels. All tables have the same missing cells. Scaled
    # test statistics are more nearly Normal.
    known = ~np.isnan(cells[0])
    found: list[tuple[Check, Array, Array]] = []
    for j, column in enumerate(columns):
        if (n := int(known[:, j].sum())) >= FEWEST:
            found += [(Check(name, j, -1, step), *values)
                      for name, step, *values in _of_column(cells[:, known[:, j], j], column.kind, n)]  # fmt: skip
    found += _of_pairs(np.where(known, cells, 0.0), known.astype(float), columns)
    values = [(value, scaled) for _, value, scaled in found]
    return [check for check, *_ in found], np.moveaxis(np.reshape(values, (len(found), 2, len(cells))), 0, -1)


def _positive_log(x: Array) -> Array:
    return np.log(np.maximum(x, 1e-300))


def _inverse_root(x: Array) -> Array:
    return -1 / np.sqrt(np.maximum(x, 1e-12))


def _angle(share: Array) -> Array:
    return np.arcsin(np.sqrt(share))


def _rooted(t: Array, skewness: Array) -> Array:
    """Signed root of the deviance of a Poisson count that is ``t`` standard deviations from its mean."""
    # A coincidence of two rare events may lie 20 standard deviations above its mean, but it is as probable as one of
    # Poisson events with the same skewness. The lighter tail of a skew distribution is left as it is.
    above = t * skewness
    skew = above > 1e-3
    u = np.where(skew, above, 1.0)
    root = np.sqrt(2 * ((1 + u) * np.log1p(u) - u)) / np.where(skew, skewness, 1.0)
    return np.where(skew, root, t)


def _of_column(x: Array, kind: Kind, n: int) -> Iterator[tuple[str, float, Array, Array]]:
    """Yield (name, lower limit of the sd, values, scaled values) of each test statistic of ``x``, (table, row)."""
    if kind == "levels":
        # The model has a free probability per level, so it can replicate any frequencies of levels.
        return
    mean, step, of_roots = x.mean(axis=1), SMALL / np.sqrt(n), 0.5 / np.sqrt(n)
    if kind == "binary":
        yield "mean", of_roots, mean, _angle(mean)
        return
    away = x - mean[:, None]
    variance = np.square(away).mean(axis=1)
    sd, per_mean = np.sqrt(variance), np.where(mean > 0, mean, 1.0)
    if kind == "count":
        yield "mean", of_roots, mean, np.sqrt(mean)
        # n (variance / mean - 1) / 2 is the number of pairs of events in one row, less its mean, per mean number of
        # events per row.
        ratio = np.where(mean > 0, variance / per_mean, 1.0)
        yield "variance / mean", 1.0, ratio, _rooted((ratio - 1) * np.sqrt(n / 2), np.sqrt(2 / n) / per_mean)
        zeros, largest = (x == 0).mean(axis=1), x.max(axis=1)
        yield "share of zeros", of_roots, zeros, _angle(zeros)
        yield "largest", 0.5, largest, np.sqrt(largest)
        return
    if kind == "positive":
        spread, largest = sd / per_mean, x.max(axis=1) / per_mean
        yield "mean", 0.0, mean, _positive_log(mean)
        yield "sd / mean", step, spread, _positive_log(spread)
        yield "largest / mean", step, largest, _inverse_root(largest)
    else:
        yield "mean", 0.0, mean, mean
        yield "sd", step, sd, _positive_log(sd)
        z = away / np.where(sd > 0, sd, 1.0)[:, None]
        square = z * z
        skewness, kurtosis = (square * z).mean(axis=1), np.square(square).mean(axis=1)
        largest = np.sqrt(square.max(axis=1))
        yield "skewness", step, skewness, np.arcsinh(skewness)
        yield "kurtosis", step, kurtosis, _inverse_root(kurtosis)
        yield "largest distance / sd", step, largest, _inverse_root(largest)
    run = _longest_run(x) / n
    yield "share of most frequent value", 1 / n, run, run


def _longest_run(x: Array) -> Array:
    """Number of occurrences of the most frequent value, (table,)."""
    ordered = np.sort(x, axis=1)
    place = np.arange(x.shape[1])
    starts = np.zeros(x.shape, np.intp)
    starts[:, 1:] = np.where(ordered[:, 1:] != ordered[:, :-1], place[1:], 0)
    return (place - np.maximum.accumulate(starts, axis=1)).max(axis=1) + 1


def _of_pairs(cells: Array, known: Array, columns: Sequence[Checked]) -> list[tuple[Check, Array, Array]]:
    """Tests of the dependence of each pair of columns, over the rows in which neither cell is missing."""
    # Two columns of numbers have a correlation, and two columns of levels a mutual information in nats. Numbers and
    # levels have a correlation ratio, the square root of the share of the variance between levels. Scaled, all are
    # signed roots of χ² variates.
    numbers = [j for j, column in enumerate(columns) if column.kind != "levels"]
    levels = [j for j, column in enumerate(columns) if column.kind == "levels"]
    n = known.T @ known
    found = []

    def add(name: str, first: Sequence[int], second: Sequence[int], step: float, value: Array, scaled: Array) -> None:
        for a, i in enumerate(first):
            for b, j in enumerate(second):
                if n[i, j] >= FEWEST and (first is not second or i < j):
                    found.append((Check(name, i, j, step), value[:, a, b], scaled[:, a, b]))

    there = known[:, numbers]
    x = cells[..., numbers]
    x = (x - (x.sum(axis=1) / np.maximum(there.sum(axis=0), 1))[:, None]) * there
    root = np.sqrt(np.square(x).sum(axis=1))
    skewness = ((x / np.where(root > 0, root, 1.0)[:, None]) ** 3).sum(axis=1) * np.sqrt(there.sum(axis=0))
    if numbers:
        r, size = _correlations(x, there), np.maximum(n[np.ix_(numbers, numbers)], 1.0)
        # If the columns are independent, the skewness of a sum of products is the product of their skewnesses / √n.
        product = skewness[:, :, None] * skewness[:, None]
        add("correlation", numbers, numbers, 1.0, r, _rooted(r * np.sqrt(size), product / np.sqrt(size)))
    if levels:
        sizes = [columns[j].levels for j in levels]
        starts = np.cumsum([0, *sizes[:-1]])
        owner, level = np.repeat(levels, sizes), np.concatenate([np.arange(size) for size in sizes])
        # With one indicator per level, a single matrix product per draw counts all pairs of levels of all pairs of
        # columns. All indicators of a missing cell are 0, so the row is left out of the pairs of that column only.
        hot = np.multiply(cells[..., owner] == level, known[:, owner], order="C")
        shared = _informations(hot, starts)
        add("mutual information", levels, levels, OF_ROOTS, shared, np.sqrt(2 * n[np.ix_(levels, levels)] * shared))
        add("correlation ratio", levels, numbers, OF_ROOTS, *_correlation_ratios(hot, starts, x, there, skewness))
    return found


def _correlations(x: Array, known: Array) -> Array:
    """Correlations of centred columns, (table, column, column); 0 if a column is constant."""
    spread = np.sqrt(np.square(x).sum(axis=1, keepdims=True))
    x = x / np.where(spread > 0, spread, 1.0)
    swapped = np.swapaxes(x, 1, 2)
    n = np.maximum(known.T @ known, 1.0)
    # Sums of the column on axis 1, over the rows in which the column on axis 2 is known.
    total, square = swapped @ known, np.square(swapped) @ known
    variance = np.maximum(square - total**2 / n, 0.0)
    covariance = swapped @ x - total * np.swapaxes(total, 1, 2) / n
    scale = np.sqrt(variance * np.swapaxes(variance, 1, 2))
    return np.clip(np.where(scale > 1e-12, covariance / np.where(scale > 1e-12, scale, 1.0), 0.0), -1.0, 1.0)


def _informations(hot: Array, starts: Array) -> Array:
    """Mutual information of categorical columns, (table, column, column), from one-hot encoded levels."""
    joint = np.swapaxes(hot, 1, 2) @ hot
    rows = np.add.reduceat(joint, starts, axis=2)  # the counts of each level where the second column is known
    n = np.add.reduceat(rows, starts, axis=1)
    own = np.add.reduceat(xlogy(rows, rows), starts, axis=1)
    cells = np.add.reduceat(np.add.reduceat(xlogy(joint, joint), starts, axis=1), starts, axis=2)
    return np.maximum(cells - own - np.swapaxes(own, 1, 2) + xlogy(n, n), 0.0) / np.maximum(n, 1.0)


def _correlation_ratios(hot: Array, starts: Array, x: Array, known: Array, skewness: Array) -> tuple[Array, Array]:
    """Correlation ratios of categorical and centred numeric columns, (table, levels, numbers), unscaled and scaled."""
    swapped, sizes = np.swapaxes(hot, 1, 2), np.diff(starts, append=hot.shape[2])
    count, total, square = swapped @ known, swapped @ x, swapped @ np.square(x)
    n, whole, spread = (np.repeat(np.add.reduceat(v, starts, axis=1), sizes, axis=1) for v in (count, total, square))
    n = np.maximum(n, 1.0)
    variance = spread - whole**2 / n
    # If all numbers are equal, rounding errors leave a small variance, so treat it as 0.
    varies, p = variance > 1e-10 * spread, count / n
    within = n * p * (1 - p)
    # The squared correlation ratio is the sum of the squared correlations with the levels' indicators, times 1 - p.
    some = varies & (within > 0)
    r = np.where(some, (total - p * whole) / np.sqrt(np.where(some, within * variance, 1.0)), 0.0)
    rooted = _rooted(r * np.sqrt(n), (1 - 2 * p) / np.sqrt(np.maximum(within, 1e-12)) * skewness[:, None])
    share, scaled = (np.sqrt(np.add.reduceat((1 - p) * v**2, starts, axis=1)) for v in (r, rooted))
    return np.minimum(share, 1.0), scaled


ALARM = 0.05
"""A check fails if its adjusted p-value is at most this."""


SAMPLE = 4096
"""Largest number of rows to check; from a larger table, rows are drawn at random."""


MOST_COLUMNS = 200
"""Largest number of columns to check."""


CELLS = 2**23
"""Number of cells to replicate at once."""


@dataclass(frozen=True, eq=False)
class PredictiveChecks:
    """Results of predictive checks; ``str`` gives one sentence.

    Parameters
    ----------
    table : DataFrame
        A line for each test ``statistic`` of a ``class``, the worst first. ``first`` and ``second`` are the columns
        (``second`` is None for one column). ``observed`` is the value in the rows; ``expected``, ``lower`` and
        ``upper`` are mean and interval in replicated tables. ``distance`` is the number of standard deviations from the
        mean, on a scale that makes the test statistic nearly Normal. ``p`` is the two-sided p-value of this check
        alone. ``p_adjusted`` is the probability that the largest distance in a replicated table is at least this
        check's ``distance``.
    draws : int
        The number of replicated tables.
    threshold : float
        The smallest distance at which a check fails.
    unchecked : tuple
        The columns that were not checked: bags of words, counts with an exposure, constant columns, and columns of more
        than 64 levels.
    naive_part : bool
        Whether the model also has a dependence, which is not checked.
    """

    table: pd.DataFrame
    draws: int
    threshold: float
    unchecked: tuple[Any, ...] = ()
    naive_part: bool = False

    alarm: ClassVar[float] = ALARM

    @property
    def failed(self) -> pd.DataFrame:
        """The checks whose adjusted p-value is at most ``alarm``."""
        return self.table[self.table["p_adjusted"] <= self.alarm]

    @property
    def fits(self) -> bool:
        return self.failed.empty

    def __str__(self) -> str:
        n, worst = len(self.failed), self.table.head(1)
        if worst.empty:
            return "There is nothing to check: no column of numbers and no pair of columns has enough rows in a class."
        scope = " Only the naive Bayes part of the model is checked, without its dependence." * self.naive_part
        if not n:
            return (
                f"None of {len(self.table):,} checks fails; the smallest adjusted p-value is "
                f"{worst['p_adjusted'].iloc[0]:.2f}.{scope}"
            )
        _, worst = next(iter(worst.iterrows()))
        columns = f"{worst['first']!r}" + ("" if worst["second"] is None else f" and {worst['second']!r}")
        return (
            f"{n:,} of {len(self.table):,} checks fail{'s:' if n == 1 else ', worst'} the {worst['statistic']} of "
            f"{columns} in class {worst['class']!r}: {worst['observed']:.3g} is observed, and the model allows "
            f"{worst['lower']:.3g} to {worst['upper']:.3g}.{scope}"
        )

    def __repr__(self) -> str:
        return f"<PredictiveChecks: {self}>"


def _flags_of_gaps(observed: Array) -> Array:
    """Whether one column of a pair is constant in all rows in which the other is known, (column, column)."""
    # Columns that are constant in all rows are not flags.
    # Replicated tables have the gaps of the observed table but independent columns. So a check of such a pair would
    # fail for any model.
    known = ~np.isnan(observed)
    varies = np.array([len(np.unique(x[seen])) > 1 for x, seen in zip(observed.T, known.T, strict=True)], bool)
    found = np.zeros((observed.shape[1], observed.shape[1]), bool)
    for j in np.flatnonzero(known.any(0) & ~known.all(0)):
        rows = observed[known[:, j]]
        found[j] = varies & (np.nanmin(rows, axis=0, initial=np.inf) >= np.nanmax(rows, axis=0, initial=-np.inf))
    return found | found.T


def _columns(posterior: Posterior, data: Data) -> tuple[list[Checked], list[Any]]:
    found, others, names = [], [], iter(posterior.piece_names())
    for feature, family in posterior.model.features.items():
        x, kind = data[feature], KINDS.get(family.support.kind, "real")
        whole = family.one_term or hasattr(x, "exposure")
        for k in range(1 if family.one_term else posterior.statistics.features[feature].seen().shape[1]):
            name, levels = next(names), len(x.levels[k]) if kind == "levels" and not whole else 0
            constant = k in posterior.constant.get(feature, ()) or levels == 1
            if whole or constant or levels > MOST_LEVELS:
                others.append(name)
                continue
            unit, origin = rounding(dense_cells(x)[:, k]) if kind in ("real", "positive") else (0.0, 0.0)
            found.append(Checked(name, feature, k, kind, levels, unit, origin))
    return found, others


def replicated(
    posterior: Posterior, columns: Sequence[Checked], codes: Array, n: int, rng: Generator,
    connect: Connect | None = None,
) -> Array:  # fmt: skip
    """Tables drawn from the posterior predictive distribution, (table, row, column), without missing cells."""
    # connect: changes drawn cells in place, to make columns depend on each other
    drawn, rows = posterior.draw(rng, (n,)), len(codes)
    # Drop features that are not checked, because thousands of probabilities of levels would be copied per row.
    needed = drawn.features if connect is not None else dict.fromkeys(column.feature for column in columns)
    drawn = replace(drawn, features={name: drawn.features[name] for name in needed})
    at = np.repeat(np.arange(n), rows), np.tile(codes, n)
    own, families = drawn.at(at).features, posterior.model.features
    made = {name: np.asarray(families[name].sample(own[name], rng, posterior.statistics.features[name]), float)
            for name in needed}  # fmt: skip
    if connect is not None:
        connect(made, drawn, *at)
    cells = [column.rounded(made[column.feature][:, column.position]) for column in columns]
    return np.moveaxis(np.reshape(cells, (len(columns), n, rows)), 0, -1)


def _table(
    checks: Sequence[tuple[Check, Any]], columns: Sequence[Checked], observed: Array, replicated: Array, level: float
) -> tuple[pd.DataFrame, float]:
    """A table of checks, worst first, and the distance from the expected value above which a check fails."""
    # The adjusted p-value is the share of replicated tables whose largest distance is at least the distance of this
    # check (the maxT method of Westfall and Young 1993). It is valid for any dependence between the checks.
    (observed, own), (replicated, scaled) = observed, replicated
    draws, names = len(replicated), [*(column.name for column in columns), None]
    middle = scaled.mean(axis=0)
    away, own = scaled - middle, own - middle
    least = np.array([check.resolution for check, _ in checks]) + 1e-9 * np.abs(middle) + 1e-300

    unit = np.maximum(np.sqrt(np.square(away).mean(axis=0)), least)
    away, own, least = away / unit, own / unit, least / unit
    second = np.square(away)
    sixth = second * second * second

    def scale(second: Array, sixth: Array, n: int) -> Array:
        # The sixth moment of a Normal variable is 15. With this moment, distances of a heavy-tailed test statistic are
        # as small as those of others. Otherwise all other failing checks would hide behind them.
        return np.maximum(np.maximum(np.sqrt(second / n), np.cbrt(np.sqrt(sixth / (15 * n)))), least)

    distance = own / scale(second.sum(axis=0), sixth.sum(axis=0), draws)
    # The observed table takes no part in the mean and the moments of its distance. So the distance of each replicated
    # table is computed from the other replicated tables too; otherwise it would be too small.
    more = draws / (draws - 1)
    others = (np.maximum(x.sum(axis=0) - more * x, 0.0) for x in (second, sixth))
    chance = np.abs(away * more) / scale(*others, draws - 1)
    farthest = np.sort(chance.max(axis=1, initial=0.0))
    above = draws - np.searchsorted(farthest, np.abs(distance), side="left")
    low, high = np.quantile(replicated, [0.5 - level / 2, 0.5 + level / 2], axis=0)
    table = pd.DataFrame(
        {
            "statistic": pd.Series([check.statistic for check, _ in checks], dtype=object),
            "first": pd.Series([names[check.first] for check, _ in checks], dtype=object),
            "second": pd.Series([names[check.second] for check, _ in checks], dtype=object),
            "class": pd.Series([label for _, label in checks]),
            "observed": observed,
            "expected": replicated.mean(axis=0),
            "lower": low,
            "upper": high,
            "distance": distance,
            "p": (1 + (chance >= np.abs(distance)).sum(axis=0)) / (draws + 1),
            "p_adjusted": (1 + above) / (draws + 1),
        }
    )
    order = np.argsort(-np.abs(distance), kind="stable")
    # The smallest distance whose adjusted p-value is at most ALARM.
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
    {
        "observed": "value of the test statistic in the rows",
        "expected": "mean of the test statistic in replicated tables",
        "lower": "lower end of the interval in replicated tables",
        "upper": "upper end of the interval in replicated tables",
        "distance": "standard deviations between the observed and the expected value, on a nearly Normal scale",
        "p": "p-value of this check alone",
        "p_adjusted": "p-value adjusted for all checks",
    },
)  # fmt: skip
def predictive_checks(
    classifier: Classifier, X: Any, y: Any, draws: int = 200, prob: float | None = None
) -> PredictiveChecks:
    """Whether tables drawn from the model look like this table, in each column and each pair of columns.

    Parameters
    ----------
    X, y : table and labels
        The learned rows, or other rows from the same source.
    draws : int
        The number of replicated tables, at least 20, each with its own draw of the parameters.
    prob : float, optional
        Probability of the intervals, by default ArviZ's ``stats.ci_prob`` (0.89).

    Returns
    -------
    PredictiveChecks
        ``failed`` holds the failed checks, and ``fits`` is True if no check fails.
        :func:`bayesnb.plots.predictive_checks` draws the table.

    Raises
    ------
    ValueError
        If a row of the table or a learned row has no label, a posterior is improper, or there are more than 200
        columns.

    Notes
    -----
    See ``docs/how-to/does-the-model-fit.md`` for the test statistics and p-values. With a ``dependence``, only the
    naive Bayes part of the model is checked. If there are more than 4,096 rows, a random sample is checked.

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
    0  skewness      0       2.6      -0.0
    1  kurtosis      0      14.2       3.0
    """
    classifier.require_one_class_prior("a predictive check")
    classifier.require_counted("predictive checks need a posterior of rows that were counted")
    require_whole(20, draws=draws)
    posterior, rng = classifier.posterior, np.random.default_rng(classifier.fixed_seed)
    data, labels = classifier.encoded(classifier.rows(X, y).labelled())
    columns, unchecked = _columns(posterior, data)
    if len(columns) > MOST_COLUMNS:
        raise ValueError(f"Expected at most {MOST_COLUMNS} columns to check; got {len(columns)}: pass fewer columns")
    order = Order.under(posterior.model, data, labels)
    some = np.arange(len(labels))[order.drawn(labels, SAMPLE, int(rng.integers(2**31)))[0]]
    some = some[order[some].places]
    data, labels = part_of(data, some), labels[some]
    n = len(labels)
    cells = [dense_cells(data[column.feature])[:, column.position] for column in columns]
    observed = np.reshape(cells, (len(columns), n)).T

    def checked(tables: Array) -> tuple[list[tuple[Check, Any]], Array]:
        made = [statistics(tables[:, labels.codes == c], columns) for c in range(labels.n)]
        checks = [(check, posterior.labels[c]) for c, (found, _) in enumerate(made) for check in found]
        return checks, np.concatenate([values for _, values in made], axis=2)

    def with_forests(cells: dict[str, Array], theta: Parameters, draw: Array, codes: Array) -> None:
        found = DrawnForests(classifier.dependence.terms, posterior, theta)
        found.connect(cells, draw, codes, rng, lambda name, x: classifier.schema.features[name].read(x))

    connect = with_forests if classifier.believed.of_forests else None
    checks, values = checked(observed[None])
    parts = []
    for cut in slices(int(draws), max(1, CELLS // max(1, n * sum(max(1, c.levels) for c in columns)))):
        made = replicated(posterior, columns, labels.codes, cut.stop - cut.start, rng, connect)
        made[:, np.isnan(observed)] = np.nan
        parts.append(checked(made)[1])
    flags = _flags_of_gaps(observed)
    kept = [k for k, (check, _) in enumerate(checks) if check.second < 0 or not flags[check.first, check.second]]
    every = values[:, 0, kept], np.concatenate(parts, axis=1)[..., kept]
    table, threshold = _table([checks[k] for k in kept], columns, *every, probability_of_interval(prob))
    return PredictiveChecks(table, int(draws), threshold, tuple(unchecked), not classifier.believed.naive)
