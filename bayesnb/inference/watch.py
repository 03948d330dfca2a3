"""An alarm for streams: whether further rows still come from the distribution of the learned rows.

``docs/theory/watch.md`` describes the method and proves its guarantee.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right, insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import betainc, betaln, gammaln, logsumexp, ndtri, stdtr

from bayesnb.data.schema import Schema
from bayesnb.families.columns import CategoryCounts, Coded, columns_of, dense_cells
from bayesnb.families.gaussian import OfNormals
from bayesnb.families.multinomial import Bag
from bayesnb.families.rates import Exposed, Poisson
from bayesnb.families.trials import BinaryCounts
from bayesnb.inference.classifier import Classifier
from bayesnb.inference.questions import question
from bayesnb.kernels.blocks import slices
from bayesnb.model import Data, part_of
from bayesnb.numerics import Array
from bayesnb.priors import UNSEEN
from bayesnb.wording import Message, RefusedError, require_whole, shown_value

CHANCE, SET_ASIDE = 0x77617463, 0x61736964
"""Second seeds, so that the random numbers differ from a user's with the same seed."""

# Values to uniform numbers


class MeanAndSpread(NamedTuple):
    """Number, mean, variance and kurtosis of the values of a column, and the rounding error of the variance."""

    n: float
    mean: float
    variance: float
    kurtosis: float
    error: float = 0.0

    @classmethod
    def of(cls, sums: Array) -> MeanAndSpread:
        """Compute the moments from the number of values and the sums of their first four powers."""
        n = sums[0]
        m, *power = sums[1:] / max(n, 1.0)
        second = power[0] - m**2
        fourth = power[2] - 4 * m * power[1] + 6 * m**2 * power[0] - 3 * m**4
        # Within the rounding errors of the subtractions, values count as equal, and the kurtosis as that of a Normal.
        error = n * np.finfo(float).eps * power[0]
        second = second if second > error else 0.0
        kurtosis = fourth / second**2 if second**2 > 16 * error * power[0] else 3.0
        return cls(n, m, second * n / max(n - 1, 1.0), kurtosis, error)

    def changes(self, old: MeanAndSpread) -> tuple[int, int]:
        """The signs of the changes of mean and spread since ``old``; 0 if a change is within three standard errors."""
        if self.n < 1 or old.n < 2:
            return 0, 0
        # A mean is compared by the larger variance, so that a change of the spread is not mistaken for one of the mean.
        # Variances are compared by the cube root of an F ratio (Paulson 1942), with fewer degrees of freedom for heavy
        # tails (Box 1953).
        wide = max(self.variance, old.variance) / self.n + old.variance / old.n
        away = self.mean - old.mean
        mean = int(np.sign(away)) * bool(away**2 > 9 * wide)
        if self.n < 2 or 100 * self.error >= old.variance:
            return mean, 0
        tails = 9 / (max(self.kurtosis, old.kurtosis, 3.0) - 1)
        new_part, old_part = 1 / (tails * (self.n - 1)), 1 / (tails * (old.n - 1))
        if max(new_part, old_part) >= 1:  # The approximation needs more rows for such heavy tails.
            return mean, 0
        root = np.cbrt(self.variance / old.variance)
        far = (root * (1 - new_part) - (1 - old_part)) / np.sqrt(root**2 * new_part + old_part)
        return mean, int(np.sign(far)) * bool(abs(far) > 3)


class Reader(ABC):
    """A reader turns the values of a column in one class into numbers that are uniform unless the stream changes."""

    @property
    def streams(self) -> int:
        return 1

    @property
    def learned(self) -> MeanAndSpread:
        """Mean and spread of the learned values; only for columns of numbers."""
        raise NotImplementedError

    def read(self, x: Array) -> Array:
        """The values of the cells of a column, (row,), with NaN for cells to skip."""
        return x

    @abstractmethod
    def after(self, x: Array, chance: Array) -> tuple[Reader, Array]:
        """The reader after further values ``x``, (stream, row), and their uniform numbers (integral transforms)."""
        # NaN if a value has no predictive distribution. chance: a uniform random number per row, for values that have a
        # positive probability.
        # The random numbers make the probability integral transform uniform if values have positive probability.


@dataclass(frozen=True, eq=False)
class Levels(Reader):
    """The number of rows of each level of a column."""

    # Given the counts, every row is equally likely to have come last.

    counts: Array
    places: Array | None = None  # the position in ``counts`` of each level code; NaN for a level to skip

    def read(self, x: Array) -> Array:
        if self.places is None:
            return x
        return np.where(np.isnan(x), np.nan, self.places[np.nan_to_num(x).astype(np.intp)])

    @classmethod
    def found(cls, counts: Array, ties: Array, random_state: int) -> Levels | None:
        """The reader of a column with the levels that occur in the learned rows; ``None`` without learned rows."""
        # Levels with equal counts are ordered by ``ties``, (class, level), so the names of levels do not matter.
        # If every level is known to have a learned row, the last row cannot be the only row of its level. The rows are
        # then not equally probable to be the last. So √n of the n learned rows are drawn at random and set aside. The
        # levels of these rows are kept, and all other levels, including new ones, are merged into one. Only the
        # remaining rows are counted.
        order = np.lexsort((*ties, -counts))
        n = int(counts.sum())
        rng = np.random.default_rng([random_state, SET_ASIDE])
        aside = np.zeros(len(counts), np.intp)
        aside[order] = rng.multivariate_hypergeometric(counts[order].astype(np.intp), int(np.ceil(np.sqrt(n))))
        known = np.flatnonzero(aside)
        if not len(known):
            return None
        places = np.full(len(counts) + 1, float(len(known)))
        places[known] = np.arange(len(known))
        left = counts - aside
        return cls(np.append(left[known], left[aside == 0].sum()), places)

    @property
    def streams(self) -> int:
        return len(self.counts) if len(self.counts) > 2 else 1

    def after(self, x: Array, chance: Array) -> tuple[Levels, Array]:
        is_level = x == np.arange(len(self.counts))[:, None]
        counts = self.counts[:, None] + np.cumsum(is_level, axis=1)
        share = counts / counts.sum(0)
        u = np.where(is_level, 1 - share * chance, (1 - share) * chance)[: self.streams]
        return Levels(counts[:, -1], self.places), u


@dataclass(frozen=True, eq=False)
class Normals(Reader):
    """The number of rows, the mean and the scatter of a Normal column."""

    # Given the mean and scatter of n rows, the last row's standardized distance from the mean of all other rows has a
    # Student t distribution with n - 2 degrees of freedom.

    n: float
    mean: float
    scatter: float

    @property
    def learned(self) -> MeanAndSpread:
        return MeanAndSpread(self.n, self.mean, self.scatter / max(self.n - 1, 1.0), 3.0)

    def after(self, x: Array, chance: Array) -> tuple[Normals, Array]:
        n = self.n + np.arange(len(x) + 1)
        away = np.concatenate([[0.0], np.cumsum(x - self.mean)])
        with np.errstate(divide="ignore", invalid="ignore"):
            step = (x - self.mean - away[:-1] / np.where(n[:-1] > 0, n[:-1], 1.0)) * np.sqrt(n[:-1] / n[1:])
            scatter = self.scatter + np.concatenate([[0.0], np.cumsum(step**2)])
            t = step / np.sqrt(scatter[:-1] / (n[:-1] - 1))
            u = np.where((n[:-1] >= 2) & (scatter[:-1] > 0), stdtr(n[:-1] - 1, t), np.nan)
        return Normals(n[-1], self.mean + away[-1] / max(n[-1], 1.0), scatter[-1]), u[None]


@dataclass(frozen=True, eq=False)
class Rates(Reader):
    """The number of rows and the total count of a Poisson column."""

    # Given the total count of n rows, the count of the last row is Binomial(total, 1/n).

    n: float
    total: float

    @property
    def learned(self) -> MeanAndSpread:
        rate = self.total / max(self.n, 1.0)
        return MeanAndSpread(self.n, rate, rate, 3.0 + 1 / rate if rate > 0 else 3.0)

    def after(self, x: Array, chance: Array) -> tuple[Rates, Array]:
        n, total = self.n + np.arange(1, len(x) + 1), self.total + np.cumsum(x)
        below, upto = _binomial(x - 1, total, 1 / n), _binomial(x, total, 1 / n)
        return Rates(n[-1], total[-1]), (below + chance * (upto - below))[None]


def _binomial(k: Array, n: Array, p: Array) -> Array:
    """The Binomial probability of at most k of n events; ``n`` may exceed 32 bits."""
    inner = betainc(np.maximum(n - k, 1), np.maximum(k + 1, 1), 1 - p)
    return np.where(k < 0, 0.0, np.where(k >= n, 1.0, inner))


@dataclass(frozen=True, eq=False)
class Ranks(Reader):
    """The sorted values of the learned rows of a column."""

    # Given the sorted values, each value is equally likely to have been observed last (Vovk, Nouretdinov and Gammerman
    # 2003).

    values: tuple[float, ...]

    @property
    def learned(self) -> MeanAndSpread:
        x = np.array(self.values)
        mean = float(x.mean()) if len(x) else 0.0
        own = MeanAndSpread.of(((x - mean)[:, None] ** np.arange(5)).sum(0))
        return own._replace(mean=mean)

    def after(self, x: Array, chance: Array) -> tuple[Ranks, Array]:
        values, u = [*self.values], np.empty(len(x))
        for row, value in enumerate(x.tolist()):
            insort(values, value)
            below, upto = bisect_left(values, value), bisect_right(values, value)
            u[row] = (below + chance[row] * (upto - below)) / len(values)
        return Ranks(tuple(values)), u[None]


# Bets on uniform numbers

SPLITS = np.array([1, 2, 4, 8, 16, 24, 28, 30, 31]) / 32
"""Bets are on the share of numbers above each split, which changes with the frequencies of levels."""

ROWS_OF_BET = 8.0
"""Strength, in rows, of the prior of the share above a split. The prior mean is the expected share."""

KAPPA, SHAPE = 4.0, 10.0
"""The Normal-Gamma prior of the bet on z = Φ⁻¹(u): mean 0 worth four rows, precision Gamma(10, 10)."""

FURTHEST = 7.0
"""Largest |z|; beyond it floats keep few digits of 1 - u. Without a change, one of n numbers is beyond it with
probability 2.6e-12 n, which is all that this can add to the probability of a false alarm.
"""

FIRST_RESTART, RESTARTS = 64, 48
"""Bets that begin when the stream has 64 rows, and after each further factor of √2, for later changes."""


STARTS = np.array([0, *(np.rint(FIRST_RESTART * 2 ** (k / 2)) for k in range(RESTARTS))])


@dataclass(frozen=True, eq=False)
class Bets:
    """A mixture of bets against the hypothesis that the numbers of a stream are uniform."""

    # ``sums`` holds the number of rows, the sums of z and of z² with z = Φ⁻¹(u), the number of rows above each split,
    # and the sums of the first four powers of the standardized values, which name a change. ``began`` holds these sums
    # at the start of each bet, (bet, sum). ``log_e`` is the log capital. If ``later`` is a number of learned rows,
    # later dates are no evidence: a bet counts only while its values are lower, on average, than the learned values.
    # The numbers u are independent and uniform if the stream does not change. A bet is a density f; its capital ∏
    # f(u_t) is then a martingale with mean 1. The probability that the capital ever exceeds 1/α is at most α (Ville
    # 1939).

    sums: Array
    began: Array
    log_e: float
    later: float | None

    @classmethod
    def new(cls, later: float | None) -> Bets:
        return cls(np.zeros(7 + len(SPLITS)), np.zeros((1, 7 + len(SPLITS))), 0.0, later)

    def _log_each(self, since: Array) -> Array:
        found = _log_bet(since)
        if self.later is None:
            return found
        # The learned values have mean 0 and variance 1, or 0 if they are all equal; see :meth:`MeanAndSpread.changes`.
        n = np.maximum(since[..., 0], 1.0)
        mean, learned = since[..., -4] / n, max(self.later, 1.0)
        wide = np.maximum(since[..., -3] / n - mean**2, 1.0) / n + 1 / learned
        return np.where((mean < 0) & (mean**2 > 9 * wide), found, -np.inf)

    def after(self, u: Array, values: Array) -> tuple[Bets, Array]:
        """The updated bets on the numbers ``u``, and the log capital (log e-value) after each number, (row,)."""
        if not len(u):
            return self, np.zeros(0)
        z = np.clip(ndtri(u), -FURTHEST, FURTHEST)
        each = np.column_stack([np.ones(len(u)), z, z**2, u[:, None] > SPLITS, values[:, None] ** np.arange(1, 5)])
        path = self.sums + np.cumsum(each, axis=0)
        begin = (self.sums[0] < STARTS) & (path[-1, 0] >= STARTS)
        began = np.concatenate([self.began, path[(STARTS[begin] - self.sums[0] - 1).astype(np.intp)]])
        # The prior of the bets is 1/2, 1/6, 1/12, …; bets that have not begun are held in cash.
        bets, found = np.arange(len(began)), np.empty(len(u))
        for cut in slices(len(u), 2048):
            # A bet that has not begun has no rows, and the capital 1.
            begun = STARTS[bets] < path[cut, :1]
            log_each = np.full(begun.shape, self._log_each(np.zeros_like(self.sums)))
            log_each[begun] = self._log_each((path[cut, None] - began)[begun])
            cash = np.full((len(log_each), 1), -np.log(len(began) + 1.0))
            log_each = np.concatenate([log_each - np.log((bets + 1.0) * (bets + 2)), cash], axis=1)
            found[cut] = logsumexp(log_each, axis=1)
        return Bets(path[-1], began, float(found[-1]), self.later), found


def _log_bet(sums: Array) -> Array:
    n, z, squares, above = sums[..., 0], sums[..., 1], sums[..., 2], sums[..., 3:-4]
    shape, rate = SHAPE + n / 2, SHAPE + (squares - z**2 / (KAPPA + n)) / 2
    of_z = 0.5 * np.log(KAPPA / (KAPPA + n)) + SHAPE * np.log(SHAPE) - shape * np.log(rate)
    of_z += gammaln(shape) - gammaln(SHAPE) + squares / 2
    a, b, below = ROWS_OF_BET * (1 - SPLITS), ROWS_OF_BET * SPLITS, n[..., None] - above
    of_splits = gammaln(a + above) + gammaln(b + below) - gammaln(ROWS_OF_BET + n)[..., None] - betaln(a, b)
    of_splits -= above * np.log1p(-SPLITS) + below * np.log(SPLITS)
    best = of_splits.max(axis=-1)
    mixed = best + np.log(np.exp(of_splits - best[..., None]).mean(axis=-1))
    return np.logaddexp(of_z, mixed) - np.log(2)


# The alarm


@dataclass(frozen=True, eq=False)
class Line:
    """Evidence that a column in one class, or the frequency of one class, no longer follows the model."""

    # ``feature`` is None for the class frequencies. ``place`` is the position of the column in the feature, or the
    # position of the class. ``alarm`` is the number of rows after which the alarm was raised, or 0. ``path`` holds
    # arrays: row numbers and log capitals. ``learned`` holds the moments of a number column, and ``at_alarm`` the sums
    # of its bets at the alarm.

    column: Any
    label: Any
    feature: str | None
    place: int
    reader: Reader
    bets: tuple[Bets, ...]
    log_largest: float = 0.0
    alarm: int = 0
    path: tuple[Array, ...] = ()
    learned: MeanAndSpread | None = None
    at_alarm: Array | None = None

    @classmethod
    def new(
        cls, column: Any, label: Any, feature: str | None, place: int, reader: Reader, of_dates: bool = False
    ) -> Line:
        learned = None if isinstance(reader, Levels) else reader.learned
        bets = Bets.new(learned.n if of_dates and learned is not None else None)
        return cls(column, label, feature, place, reader, (bets,) * reader.streams, learned=learned)

    @property
    def log_e(self) -> float:
        return max(bets.log_e for bets in self.bets) - float(np.log(len(self.bets)))

    def change(self, levels: Sequence[Any]) -> str:
        """For an alarm, what has changed, such as "higher values"; ``levels`` are the levels of the column."""
        if not self.alarm:
            return ""
        if self.bets[0].later is not None:
            return "earlier dates"
        if not isinstance(self.reader, Levels):
            mean, spread = self.moved
            said = ["higher values" if mean > 0 else "lower values"] * abs(mean)
            said += ["more spread" if spread > 0 else "less spread"] * abs(spread)
            return ", ".join(said) or "another shape"
        best, since = self._best
        k, more, two = self.bets.index(best), since[1] > 0, len(self.reader.counts) == 2
        if self.feature is None:
            return "less frequent" if more else "more frequent"  # Level 0 stands for the other classes.
        k, more = (1 - k, True) if two and not more else (k, more)
        places = np.arange(len(levels)) if self.reader.places is None else self.reader.places[:-1]
        named = [repr(levels[level]) for level in np.flatnonzero(places[: len(levels)] == k)]
        return f"{named[0] if len(named) == 1 else 'other levels'} {'more' if more else 'less'} frequent"

    @property
    def _best(self) -> tuple[Bets, Array]:
        """The ``Bets`` with the largest capital, and sums over the rows since its most successful bet started."""
        best = max(self.bets, key=lambda bets: bets.log_e)
        since = best.sums - best.began
        return best, since[_log_bet(since).argmax()]

    @property
    def moved(self) -> tuple[int, int]:
        """The signs of the changes of mean and spread of a column of numbers that raised an alarm."""
        # All rows after the alarm have changed, and rows since a bet began may not have. The numbers of the bets are
        # compared last, for changes of the shape and for columns without learned values.
        best, since = self._best
        powers, old = [0, -4, -3, -2, -1], self.learned._replace(mean=0.0, variance=float(self.learned.variance > 0))
        of_bets = MeanAndSpread.of(np.array([*since[:3], 0, 0]))._replace(kurtosis=3.0)
        found = MeanAndSpread.of((best.sums - self.at_alarm)[powers]).changes(old)
        found = found if any(found) else MeanAndSpread.of(since[powers]).changes(old)
        return found if any(found) else of_bets.changes(MeanAndSpread(np.inf, 0.0, 1.0, 3.0))

    def after(self, x: Array, chance: Array, rows: Array, log_limit: float) -> Line:
        if not len(x):
            return self
        reader, streams = self.reader.after(x, chance)
        used = ~np.isnan(streams[0])
        values, rows, streams = np.zeros(used.sum()), rows[used], streams[:, used]
        if self.learned is not None:
            values = (x[used] - self.learned.mean) / (np.sqrt(self.learned.variance) or 1.0)
        found = [bets.after(u, values) for bets, u in zip(self.bets, streams, strict=True)]
        if not len(rows):
            return replace(self, reader=reader)
        log_e = np.max([path for _, path in found], axis=0) - np.log(len(self.bets))
        over = np.flatnonzero(log_e >= log_limit)
        alarm, at_alarm = self.alarm, self.at_alarm
        if not alarm and len(over):
            first = slice(over[0] + 1)
            alarm, at_alarm = int(rows[over[0]]), self.bets[0].after(streams[0][first], values[first])[0].sums
        some = np.unique(np.linspace(0, len(rows) - 1, 200).astype(np.intp))
        return replace(
            self,
            reader=reader,
            bets=tuple(bets for bets, _ in found),
            log_largest=max(self.log_largest, float(log_e.max())),
            alarm=alarm,
            at_alarm=at_alarm,
            path=(*self.path, np.stack([rows[some], log_e[some]])),
        )


@dataclass(frozen=True, eq=False, repr=False)
class Watch:
    """Evidence, per column, that the rows of a stream no longer follow the model.

    ``level`` bounds the probability of any false alarm, in any column or class, during the whole stream.
    ``unwatched[True]`` are the columns that are not watched if rows have labels, ``unwatched[False]`` if they do not.
    """

    classifier: Classifier
    level: float
    random_state: int
    lines: tuple[Line, ...]
    unwatched: Mapping[bool, tuple[Any, ...]]
    labelled: bool | None = None
    rows: int = 0

    def update(self, X: Any, y: Any = None) -> Watch:
        """A new watch, updated with the next rows of the stream in order.

        Parameters
        ----------
        X : table
        y : array (row,) or column name, optional
            Labels, given either in every update or in none. Rows without a label are skipped.

        Examples
        --------
        >>> from bayesnb import BayesianNB, checks, datasets
        >>> X, y = datasets.penguins()
        >>> watch = checks.watch(BayesianNB().fit(X, y))
        >>> watch.update(X[:10], y[:10]).update(X[10:20], y[10:20]).rows
        20
        """
        labelled, classifier = y is not None, self.classifier
        if self.labelled is not None and self.labelled != labelled:
            had = "labels" if self.labelled else "no labels"
            raise RefusedError("the first rows of this stream had {what}: start another watch", what=had)
        kept = tuple(line for line in self.lines if (line.label is not None) == labelled)
        if not kept:
            raise RefusedError(
                "without labels, only levels and 0/1 are watched, but no parts of dates, and none of the columns "
                "{columns} holds them: give the labels too, or some learned rows: nb.checks.watch(model, X, y)",
                columns=list(map(str, self.unwatched[labelled])),
            )
        told = replace(classifier, schema=_with_new_levels(classifier.schema))
        if labelled:
            rows = classifier.rows(X, y)
            n = rows.table.n_rows
            at = np.flatnonzero(rows.target.labelled)
            if not len(at):
                return replace(self, lines=kept, labelled=True, rows=self.rows + n)
            data, labels = told.encoded(rows.kept(rows.target.labelled), told.absent)
            codes = labels.codes
        else:
            data, n = told.read(X)
            at, codes = np.arange(n), np.zeros(n, np.intp)
        chance = np.random.default_rng([self.random_state, CHANCE]).random(self.rows + n)[self.rows :][at]
        limit = float(np.log(len(kept) / self.level))
        places = {label: c for c, label in enumerate(classifier.classes.tolist())}
        made = []
        for line in kept:
            x = codes.astype(float) if line.feature is None else _cells(classifier, data, line.feature, line.place)
            x = line.reader.read(x)
            own = ~np.isnan(x)
            if line.feature is not None and labelled:
                own &= codes == places[line.label]
            elif line.feature is None:
                x = (codes == line.place).astype(float)
            made.append(line.after(x[own], chance[own], self.rows + 1 + at[own], limit))
        return replace(self, lines=tuple(made), labelled=labelled, rows=self.rows + n)

    @property
    def table(self) -> pd.DataFrame:
        """One row per column and class, sorted by decreasing ``log_largest``.

        ``class`` is missing if the rows have no labels. ``rows`` is the number of rows used. ``log_e`` is the current
        log e-value, and ``log_largest`` the largest log e-value. ``p`` is the p-value of ``log_largest``, adjusted for
        the number of columns and classes, and valid at any time. ``alarm`` is the number of rows after which the alarm
        was raised, missing if there is no alarm. For an alarm, ``change`` says how the rows differ from the learned
        rows, such as "higher values".
        """
        n = max(1, len(self.lines))
        found = pd.DataFrame({
            "column": [line.column for line in self.lines],
            "class": [line.label for line in self.lines],
            "rows": [int(line.bets[0].sums[0]) for line in self.lines],
            "log_e": [line.log_e for line in self.lines],
            "log_largest": [line.log_largest for line in self.lines],
            "p": [float(min(1.0, n * np.exp(-line.log_largest))) for line in self.lines],
            "alarm": pd.array([line.alarm or pd.NA for line in self.lines], "Int64"),
            "change": [line.change(self._levels(line)) for line in self.lines],
        })  # fmt: skip
        # Lines of equal evidence, such as those of two classes, stay in their order in spite of rounding errors.
        order = np.argsort(-np.round(found["log_largest"], 9), kind="stable")
        found = found.iloc[order].reset_index(drop=True)
        found.attrs["unwatched"] = self.unwatched[bool(self.labelled)]
        return found

    def _levels(self, line: Line) -> Sequence[Any]:
        if line.feature is None:
            return ()
        feature = self.classifier.schema.features[line.feature]
        if feature.levels is not None:
            return feature.levels[line.place]
        return (False, True) if feature.origin.kind == "boolean" else (0, 1)

    @property
    def alarms(self) -> pd.DataFrame:
        """The rows of ``table`` with an alarm, the earliest first."""
        return self.table.dropna(subset="alarm").sort_values("alarm", kind="stable", ignore_index=True)

    @property
    def finding(self) -> Message:
        if self.labelled is None:
            return Message("No row of the stream has been seen.")
        found = self.alarms
        if found.empty:
            said = "No alarm after {rows:,} rows: too little evidence that the stream has left the model."
            return Message(said, rows=self.rows)
        others = [str(name) for name in found["column"].unique()[1:]]
        named = ", ".join(others[:3]) + ", …" * (len(others) > 3)
        where = f"{found['column'][0]}" + ("" if pd.isna(found["class"][0]) else f" | {found['class'][0]}")
        return Message(
            "Alarm after {row:,} of {rows:,} rows: the stream has left the model, or the model never fitted, first in "
            "{where}{more}.",
            row=int(found["alarm"][0]),
            rows=self.rows,
            where=f"{where} ({found['change'][0]})",
            more=f", and also in {named}" if others else "",
        )

    def __str__(self) -> str:
        return str(self.finding)

    def __repr__(self) -> str:
        return f"Watch({self})"


FREQUENCIES = "class frequencies"

COUNTED = ("n", "rows", "counts", "ones")
"""Arrays of statistics that are whole numbers if rows were counted."""


def _with_new_levels(schema: Schema) -> Schema:
    """A schema that encodes all new levels as one additional last level, not as missing."""
    features = dict(schema.features)
    for name, feature in features.items():
        if feature.values:
            levels = tuple((*own, UNSEEN) if UNSEEN not in own else own for own in feature.levels)
            features[name] = replace(feature, levels=levels)
    return replace(schema, features=features)


def _cells(classifier: Classifier, data: Data, feature: str, place: int) -> Array:
    """The cells of one column, (row,), NaN if missing."""
    family, x = classifier.posterior.model.features[feature], columns_of(data[feature], [place])
    return dense_cells(family.read(x)[0] if isinstance(family, OfNormals) else x)[:, 0]


@question(
    "an alarm if the rows of a stream no longer follow the model, however often you look",
    "is the model right",
    "checks",
)
def watch(classifier: Classifier, X: Any = None, y: Any = None, level: float = 0.05, random_state: int = 0) -> Watch:
    """Watch a stream of further rows, with an alarm that may be checked after every row.

    An alarm means that the stream has changed, that the family of a column was never right, or that rows depend on each
    other, as in a time series.

    Parameters
    ----------
    X, y : table and labels, optional
        Learned rows, or other rows from the same source. With these rows, columns of numbers of every family are
        watched by their ranks, even if the stream has no labels.
    level : float
        Upper bound on the probability that any column or class ever raises a false alarm, on average over all possible
        learned rows and streams.
    random_state : int
        Seed for breaking ties and for setting learned rows aside.

    Returns
    -------
    Watch
        ``update(X, y)`` returns the watch updated with further rows. ``table`` holds the evidence, ``alarms`` the
        alarms. ``str()`` returns the finding. :func:`bayesnb.plots.watch` draws the watch.

    Raises
    ------
    ValueError
        If learned rows have fractional weights. A weight of w must mean w independent rows.

    Notes
    -----
    A row of ``table`` is about a column in one class, or about the frequency of a class. The evidence is the capital of
    a gambler who bets against the model, starting with 1. Categorical, 0/1, Poisson, Normal and log-normal columns are
    always watched; other number columns are watched only if ``X`` and ``y`` are given. The labels of the stream must be
    true labels, not predicted classes.

    Of dates, only the elapsed time is watched, and only earlier dates raise an alarm. It is no evidence of a change
    that a stream has later dates than the learned rows, or that its rows lie in few months, weekdays or hours.

    For a column without declared levels, the levels are taken from a random sample of √n of the n learned rows of each
    class. All other levels, including new ones, are merged into one level (``docs/theory/watch.md``).

    Examples
    --------
    >>> from bayesnb import BayesianNB, checks, datasets
    >>> X, y = datasets.penguins()
    >>> X = X.sample(frac=1, random_state=0)[["bill_length_mm", "body_mass_g", "sex"]]  # The file is sorted.
    >>> old, new = X[:172], X[172:]
    >>> found = checks.watch(BayesianNB().fit(old, y[old.index]))
    >>> print(found.update(new, y[new.index]))
    No alarm after 172 rows: too little evidence that the stream has left the model.
    >>> heavier = new.assign(body_mass_g=new.body_mass_g + 600)
    >>> found.update(heavier, y[new.index]).alarms["column"].unique().tolist()
    ['body_mass_g']
    """
    if not (isinstance(level, Real) and 0 < level < 1):
        raise ValueError(f"Expected level to be a number between 0 and 1; got {shown_value(level)}")
    require_whole(0, random_state=random_state)
    classifier.require_counted("the alarm is for rows that were counted")
    rows = classifier.statistics.rows
    arrays = (s.arrays() for s in classifier.statistics.features.values())
    counts = [each[name] for each in arrays for name in COUNTED if name in each]
    if any((n != np.rint(n)).any() for n in (rows, *counts)):
        raise ValueError(
            f"the model holds {rows.sum():g} rows, and the alarm is for whole rows: fit without fractions of rows as "
            "sample_weight, and without discount"
        )
    if (X is None) != (y is None):
        raise TypeError("learned rows are given with their labels: nb.checks.watch(model, X, y)")
    given = None if X is None else classifier.encoded(classifier.rows(X, y).labelled())
    labels = classifier.classes.tolist()
    lines = [
        Line.new(FREQUENCIES, label, None, c, Levels(np.array([rows.sum() - rows[c], rows[c]])))
        for c, label in enumerate(labels)
    ]
    elapsed, parts = classifier.schema.dates, classifier.schema.parts_of_dates
    unwatched: dict[bool, list[Any]] = {True: [], False: []}
    for name, feature in classifier.schema.features.items():
        for place, column in enumerate(feature.columns):
            for labelled, which in ((True, [*enumerate(labels)]), (False, [(None, None)])):
                found = [(label, _reader(classifier, name, place, c, given, random_state)) for c, label in which]
                known = [(label, r) for label, r in found if r is not None]
                if of_dates := column in parts:
                    known = [(label, r) for label, r in known if column in elapsed and not isinstance(r, Levels)]
                lines += [Line.new(column, label, name, place, r, of_dates) for label, r in known]
                if not known:
                    unwatched[labelled].append(column if feature.text is None else feature.named[0])
    return Watch(classifier, level, random_state, tuple(lines), {k: (*dict.fromkeys(v),) for k, v in unwatched.items()})


def _reader(
    classifier: Classifier, name: str, place: int, c: int | None, given: Any, random_state: int
) -> Reader | None:
    """Reader of a column in class ``c`` (in all classes if None); ``None`` if the column cannot be watched."""
    family, s = classifier.posterior.model.features[name], classifier.statistics.features[name]
    which = slice(None) if c is None else slice(c, c + 1)
    feature = classifier.schema.features[name]
    if family.support.kind == "levels" and isinstance(s, CategoryCounts) and feature.cuts is None:
        each = s.counts[:, place, : len(s.levels[place])]
        counts = each[which].sum(0)
        ordered = feature.family.order_of(place) or ()
        if not {*feature.levels[place]} <= {*feature.declared[place], *ordered, *feature.family.named_levels, UNSEEN}:
            return Levels.found(counts, each, random_state)
        return Levels(counts, np.append(np.arange(len(counts)), np.nan)) if len(counts) > 1 else None
    if isinstance(s, BinaryCounts):
        n, ones = s.n[which, place].sum(), s.ones[which, place].sum()
        return Levels(np.array([n - ones, ones]))
    if given is not None:
        data, labels = given
        some = np.arange(len(labels)) if c is None else np.flatnonzero(labels.codes == c)
        x = part_of(data, some)[name]
        if isinstance(x, Bag | Coded | Exposed):
            return None
        values = _cells(classifier, {name: x}, name, place)
        return Ranks(tuple(np.sort(values[~np.isnan(values)]).tolist()))
    if c is None:
        return None
    if isinstance(family, OfNormals):
        return Normals(float(s.n[c, place]), float(s.mean[c, place]), float(s.scatter[c, place]))
    if isinstance(family, Poisson) and family.exposure is None:
        return Rates(float(s.rows[c, place]), float(s.events[c, place]))
    return None
