"""Find changes that improve naive Bayes: families, parts of dates, and differences and ratios of columns."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import gammaln

from bayesnb.data.choice import left_out_score, log_scores, standard_error
from bayesnb.data.columns import Column
from bayesnb.data.readings import PARTS, Date, Part
from bayesnb.data.schema import Schema
from bayesnb.data.specifications import Binned
from bayesnb.data.tables import Table
from bayesnb.data.targets import few_classes
from bayesnb.data.text import Text
from bayesnb.families.compound import Hurdle
from bayesnb.families.family import Family
from bayesnb.families.gaussian import Gaussian
from bayesnb.families.multinomial import Multinomial
from bayesnb.families.rates import Poisson
from bayesnb.families.rounded import Rounded, rounding
from bayesnb.families.trees import Ordinal, PolyaTree
from bayesnb.families.trials import Categorical, NegativeBinomial
from bayesnb.kernels.reading import extreme
from bayesnb.model import Data, Posterior
from bayesnb.numerics import Array
from bayesnb.priors import Dirichlet
from bayesnb.statistics.statistic import Labels
from bayesnb.wording import RefusedError

GAIN = 20.0
"""Least gain of a derived column, in nats, summed over rows. On 35 tables, derived columns that gained only 10 to 15
nats made predictions of other rows worse on two tables; derived columns that gained 20 nats, on no table.
"""

MOST_COLUMNS, TRIED, CELLS, LEAST_VALUES = 30, 3, 8, 10
"""Largest numbers of columns whose pairs are examined, of pairs for which naive Bayes is fitted, and of intervals per
column; number of distinct values that a column must exceed.
"""


@dataclass(frozen=True)
class Derived:
    """A column computed from two columns: log(first / second) if ``ratio``, otherwise first - second."""

    first: Any
    second: Any
    ratio: bool
    gain: float = 0.0  # Improvement of the leave-one-out log score of naive Bayes, in nats, summed over rows.

    def of(self, x: Mapping[Any, Array]) -> Array:
        first, second = x[self.first], x[self.second]
        return np.log(first) - np.log(second) if self.ratio else first - second

    def __str__(self) -> str:
        return f"log({self.first} / {self.second})" if self.ratio else f"{self.first} - {self.second}"


def derived(x: Mapping[Any, Array], labels: Labels, dates: Collection[Any] = ()) -> list[Derived]:
    """Find at most three differences or ratios of two columns of numbers in ``x`` that improve naive Bayes."""
    # Without such a column, naive Bayes cannot learn, for example, whether the opening price exceeds the closing price.
    # Dates (in days) are only subtracted from other dates.
    x = {name: values for name, values in x.items() if not extreme(values) and len(np.unique(values)) > LEAST_VALUES}
    alone = {name: _evidence(values, labels) for name, values in x.items()}
    most = sorted(alone.values(), reverse=True)[:MOST_COLUMNS]
    names = [name for name, evidence in alone.items() if evidence >= most[-1]]
    tried = []
    for first, second in combinations(names, 2):
        least = max(alone[first], alone[second]) + GAIN
        each = {
            one: _evidence(one.of(x), labels) for one in _of_pair(first, second, x, dates) if not extreme(one.of(x))
        }
        if some := [one for one, evidence in each.items() if evidence >= least]:
            tried.append((max(each.values()), some))
    found: list[Derived] = []
    if not tried:
        return found
    log_p, prior = _log_left_out(list(x.values()), labels)
    for _, pair in sorted(tried, key=lambda one: -one[0])[:TRIED]:
        before = left_out_score(log_p, labels)
        further = [log_p + _log_left_out([one.of(x)], labels)[0] - prior for one in pair]
        gains = [left_out_score(each, labels) - before for each in further]
        best = int(np.argmax(gains))
        if gains[best] >= GAIN:
            found.append(replace(pair[best], gain=gains[best]))
            log_p = further[best]
    return found


def _of_pair(first: Any, second: Any, x: Mapping[Any, Array], dates: Collection[Any]) -> Iterator[Derived]:
    """Yield the ratio of two columns if both are positive, and their difference if their ranges overlap."""
    if first in dates or second in dates:
        if first in dates and second in dates:
            yield Derived(first, second, False)
        return
    low, high = (np.array([reach(x[name]) for name in (first, second)]) for reach in (np.nanmin, np.nanmax))
    if low.min() > 0:
        yield Derived(first, second, True)
    if low.max() < high.min():
        yield Derived(first, second, False)


def _evidence(x: Array, labels: Labels) -> float:
    """Cut a column into intervals; return log p(labels | intervals) in nats, under uniform priors."""
    # Missing values form one more cell.
    known = ~np.isnan(x)
    edges = np.unique(np.quantile(x[known], np.arange(1, CELLS) / CELLS))
    cell = np.where(known, np.searchsorted(edges, x, side="right"), len(edges) + 1)
    counts = np.zeros((len(edges) + 2, labels.n))
    np.add.at(counts, (cell, labels.codes), labels.weight)
    return float((gammaln(1 + counts).sum(1) - gammaln(labels.n + counts.sum(1)) + gammaln(labels.n)).sum())


def _log_left_out(columns: Sequence[Array], labels: Labels) -> tuple[Array, Array]:
    """Two leave-one-out arrays (row, class): log p(row, class) under Gaussian columns, and log p(class)."""
    table = Table.of(pd.DataFrame(dict(enumerate(columns)), index=range(len(labels))))
    schema, data = Schema.infer(table, dict.fromkeys(range(len(columns)), Gaussian())).read(table, learn=True)
    posterior = _learned(schema, data, labels)
    return posterior.log_left_out(data, labels), posterior.only(()).log_left_out({}, labels)


CYCLES = {"month": 365, "weekday": 7, "hour": 1}
"""Number of days after which the values of a part return."""

RETURNED = 0.9
"""A part is compared if at least this share of its rows hold a value, such as a month, that has returned."""


def best_parts(column: Column, date: Date, labels: pd.Series) -> tuple[Part, ...]:
    """The parts of a date column (such as the month) that, without other columns, predict the class best."""
    held = labels.notna().to_numpy()
    if not held.any():
        return date.parts
    codes, classes = pd.factorize(labels[held])
    column, known = replace(column, values=column.values[held].reset_index(drop=True)), Labels.of(codes, len(classes))
    of_all = Date(*(("elapsed", "hour") if date.format == "time" else PARTS), format=date.format)
    table = Table.of(of_all.read(column))
    names = {part: name for part, name in zip(of_all.parts, table.names, strict=True)
             if len({*table.column(name).coded[0].tolist()} - {-1}) > 1}  # fmt: skip
    if date.format != "time":
        # A month that occurs in one year only tells that year apart, and no later one.
        elapsed = pd.Series(table.column(table.names[0]).reals())
        for part, days in CYCLES.items():
            if part in names:
                of_value = elapsed.groupby(table.column(names[part]).coded[0])
                span = of_value.transform("max") - of_value.transform("min")
                if (span[elapsed.notna()] > days / 2).mean() < RETURNED:
                    del names[part]
    schema, data = Schema.infer(table).read(table, learn=True)
    scores: dict[tuple[Part, ...], Array] = {}
    for parts in chain.from_iterable(combinations(names, k) for k in range(1, len(names) + 1)):
        some = {names[part]: schema.features[names[part]] for part in parts}
        scores[parts] = _scores(replace(schema, features=some), {name: data[name] for name in some}, known)
    frequencies = _frequencies(known)
    elapsed = scores.get(("elapsed",), frequencies)
    ahead = {p: one.sum() for p, one in scores.items() if _ahead(one, elapsed) and _ahead(one, frequencies)}
    best = max(ahead.values(), default=0.0)
    return min((p for p, score in ahead.items() if score >= best - 1), key=lambda p: (len(p), p), default=date.parts)


def best_in_order(held: pd.Series, labels: pd.Series | None) -> tuple[int, ...] | None:
    """The levels of a column of whole numbers, in order, if an ``Ordinal`` predicts best; otherwise ``None``."""
    held, known = _labelled(held, labels)
    if known is None:
        return None
    order = tuple(range(int(held.min()), int(held.max()) + 1))
    best = _scores_as(Ordinal(order=order), held, known)
    if not _surpasses(best, held, known) or best.sum() <= _scores_as(Categorical(), held, known).sum():
        return None
    # An Ordinal has no level for higher numbers, so it must be clearly better than families of counts.
    counts = {} if order[0] < 0 else COUNTED if order[0] else COUNTED | WITH_ZEROS
    return order if all(_ahead(best, _scores_as(family, held, known)) for family in counts.values()) else None


COUNTED: dict[Any, Family] = {"Poisson": Poisson(), "NegativeBinomial": NegativeBinomial()}
"""Families of counts."""

WITH_ZEROS: dict[Any, Family] = {
    ("Hurdle", "Poisson"): Hurdle(Poisson()), ("Hurdle", "NegativeBinomial"): Hurdle(NegativeBinomial()),
    "Hurdle": Hurdle(),
}  # fmt: skip
"""Families of counts with a separate probability of 0."""


LEVELS = {"Categorical": Categorical(), "Ordinal": Ordinal()}


@dataclass(frozen=True)
class Gains:
    """How well a column of whole numbers alone predicts the class under each family."""

    counted: Any  # The best family of counts.
    over_gaussian: Mapping[Any, float]  # Gain of each family over a Gaussian, in nats; 0 if they do not clearly differ.
    informative: Collection[Any] = ()  # Families that are clearly better than the class frequencies.
    compared: bool = True  # False if there are no classes to predict.
    over_counts: Collection[Any] = ()  # Families of levels that are clearly better than the best family of counts.


def gains_of(held: pd.Series, labels: pd.Series | None, counted: bool, levels: Collection[str] = ()) -> Gains:
    """Compare a Gaussian with the families in ``levels`` and, if ``counted`` is true, with the families of counts."""
    held, known = _labelled(held, labels)
    families: dict[Any, Any] = COUNTED if counted else {}
    if known is None:
        return Gains("Poisson", dict.fromkeys([*families, *levels], 0.0), compared=False)
    scores = {name: _scores_as(family, held, known) for name, family in families.items()}
    best: Any = max(scores, key=lambda name: scores[name].sum(), default="")
    if counted and (held == 0).any() and (held > 0).any():
        families = dict(WITH_ZEROS)
        if not levels:
            edges = held[held > 0].quantile([0, 0.25, 0.5, 0.75], "lower").drop_duplicates()
            families["Binned", tuple(edges.astype(int))] = Binned(edges=tuple(edges))
        for name, family in families.items():
            scores[name] = _scores_as(family, held, known)
            best = name if _ahead(scores[name], scores[best]) else best
    scores |= {name: _scores_as(LEVELS[name], held, known) for name in levels}
    gaussian, frequencies = _scores_as(Gaussian(), held, known), _frequencies(known)
    clear = {name for name, one in scores.items() if _ahead(one, gaussian) or _ahead(gaussian, one)}
    gains = {name: float((one - gaussian).sum()) if name in clear else 0.0 for name, one in scores.items()}
    informative = {name for name, one in scores.items() if _ahead(one, frequencies)}
    over_counts = {name for name in levels if counted and _ahead(scores[name], scores[best])}
    return Gains(best, gains, informative, over_counts=over_counts)


def more_probable_as_counts(held: pd.Series, labels: pd.Series | None) -> bool:
    """Whether a column of whole numbers has a higher marginal likelihood as counts than as levels."""
    held, known = _labelled(held, labels)
    known = Labels.of(np.zeros(len(held), int), 1) if known is None else known

    def evidence(family: Family) -> float:
        return _learned(*_read_as(family, held), known).log_evidence().features[held.name]

    return max(map(evidence, COUNTED.values())) > evidence(Categorical())


def better_as(family: Family, held: pd.Series, labels: pd.Series | None) -> bool:
    """Whether a family predicts the class better than a Gaussian, and better than the class frequencies."""
    held, known = _labelled(held, labels)
    return known is not None and _surpasses(_scores_as(family, held, known), held, known)


def better_as_codes(held: pd.Series, labels: pd.Series | None) -> bool:
    """Whether a Categorical predicts the class better than a Gaussian, a Pólya tree and the class frequencies."""
    held, known = _labelled(held, labels)
    if known is None:
        return False
    # Neighbouring ages, years or counts have similar class probabilities, which a Pólya tree can learn. Neighbouring
    # codes, such as product numbers, need not.
    codes = _scores_as(Categorical(), held, known)
    return _surpasses(codes, held, known) and _ahead(codes, _scores_as(PolyaTree(), held, known), errors=2.0)


def hurdle_is_worse(held: pd.Series, labels: pd.Series | None) -> bool:
    """Whether a Hurdle predicts the class worse than a Gaussian or the class frequencies."""
    held, known = _labelled(held, labels)
    if known is None:
        return False
    own = _scores_as(Hurdle(), held, known)
    return any(_ahead(other, own) for other in (_scores_as(Gaussian(), held, known), _frequencies(known)))


def as_good_as_gaussian(family: Family, held: pd.Series, labels: pd.Series | None) -> bool:
    """Whether a family reads all numbers and predicts the class no worse than a Gaussian."""
    held, known = _labelled(held, labels)
    try:
        return known is not None and not _ahead(_scores_as(Gaussian(), held, known), _scores_as(family, held, known))
    except RefusedError:
        return False


def better_as_words(held: pd.Series, labels: pd.Series | None, least: float = 3.0) -> bool:
    """Whether words of a text column predict the class better, by ``least`` nats, than levels and than class
    frequencies.
    """
    # Capitals do not tell notes from names in every language. Words of notes recur and depend on the class. Words of
    # names, addresses and products seldom do, and then a bag of words predicts worse than the frequencies.
    held, known = _labelled(held, labels)
    if known is None:
        return False
    levels, (schema, data) = _scores_as(Categorical(), held, known), _read_as(Text(), held)
    if not schema.features[held.name].columns:
        return False  # Single letters and digits are no words.
    return _scores(schema, data, known).sum() > max(_frequencies(known).sum(), levels.sum()) + least


def as_good_as_counts(x: pd.DataFrame, labels: pd.Series) -> bool:
    """Whether a Multinomial of all columns predicts the class about as well as the default families."""
    x, known = _labelled(x, labels)
    table = Table.of(x)
    if known is None:
        return False
    of_rows, of_columns = (
        _scores(*Schema.infer(table, family).read(table, learn=True), known).sum() for family in (Multinomial(), None)
    )
    return of_rows > of_columns - 3


def better_rounded(held: pd.Series, labels: pd.Series | None) -> float | None:
    """The rounding unit if ``Rounded`` predicts the class better than ``Gaussian``; otherwise ``None``."""
    held, known = _labelled(held, labels)
    x = held.to_numpy(float)
    if known is None or not (unit := float(f"{rounding(x)[0]:.9g}")):
        return None
    rounded = Rounded(unit=unit)
    if rounded.accepts.invalid(x).any() or not held.groupby(known.codes).std().min() < 1.5 * unit:
        return None
    return unit if _surpasses(_scores_as(rounded, held, known), held, known) else None


def _labelled[Held: (pd.Series, pd.DataFrame)](held: Held, labels: pd.Series | None) -> tuple[Held, Labels | None]:
    if labels is None:
        return held, None
    return held[labels.notna().to_numpy()].reset_index(drop=True), few_classes(labels)


def _surpasses(scores: Array, held: pd.Series, labels: Labels) -> bool:
    """Whether log scores are clearly better than the log scores of a Gaussian and of the class frequencies."""
    return _ahead(scores, _frequencies(labels)) and _ahead(scores, _scores_as(Gaussian(), held, labels))


def _ahead(scores: Array, others: Array, errors: float = 1.0) -> bool:
    """Whether the sum of ``scores - others`` exceeds both 3 nats and ``errors`` times the standard error of the sum."""
    gains = scores - others
    return bool(gains.sum() > max(3.0, errors * standard_error(gains, np.ones(len(gains)))))


def _frequencies(labels: Labels) -> Array:
    return log_scores(np.tile(np.log(labels.weights()), (len(labels), 1)), labels)


def _scores_as(family: Family | Text | Binned, held: pd.Series, labels: Labels) -> Array:
    return _scores(*_read_as(family, held), labels)


def _read_as(family: Family | Text | Binned, held: pd.Series) -> tuple[Schema, Data]:
    table = Table.of({held.name: held})
    return Schema.infer(table, {held.name: family}).read(table, learn=True)


def _scores(schema: Schema, data: Data, labels: Labels) -> Array:
    return log_scores(_learned(schema, data, labels).log_left_out(data, labels), labels)


def _learned(schema: Schema, data: Data, labels: Labels) -> Posterior:
    """The posterior of naive Bayes under a uniform prior of the classes."""
    model = schema.model(Dirichlet())
    return model.posterior(model.statistics(data, labels, range(labels.n)))
