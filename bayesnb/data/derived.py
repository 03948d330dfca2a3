"""Find differences and ratios of two columns that improve the predictions of naive Bayes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import gammaln

from bayesnb.data.choice import learned, left_out_score
from bayesnb.data.schema import Schema
from bayesnb.data.tables import Table
from bayesnb.families.gaussian import Gaussian
from bayesnb.kernels.reading import extreme
from bayesnb.numerics import Array
from bayesnb.statistics.membership import Labels

GAIN = 20.0
"""Least gain of a derived column, in nats of all rows. Among 35 tables, derived columns that gained only 10 to 15 nats
made predictions of other rows worse on two tables; those that gained 20 nats made them worse on none.
"""

MOST_COLUMNS, TRIED, CELLS, LEAST_VALUES = 30, 3, 8, 10
"""Largest numbers of columns whose pairs are examined, of pairs for which naive Bayes is fitted, and of cells per
column; least number of distinct values per column.
"""


@dataclass(frozen=True)
class Derived:
    """A column computed from two columns: log(first / second) if ``ratio``, otherwise first - second.

    ``gain`` is the improvement of the leave-one-out log score of naive Bayes, in nats, summed over rows.
    """

    first: Any
    second: Any
    ratio: bool
    gain: float = 0.0

    def of(self, x: Mapping[Any, Array]) -> Array:
        first, second = x[self.first], x[self.second]
        return np.log(first) - np.log(second) if self.ratio else first - second

    def __str__(self) -> str:
        return f"log({self.first} / {self.second})" if self.ratio else f"{self.first} - {self.second}"


def derived(x: Mapping[Any, Array], labels: Labels) -> list[Derived]:
    """The derived columns that improve naive Bayes; at most three.

    Naive Bayes cannot learn a decision boundary such as opening price = closing price, unless the difference or ratio
    of the columns is a feature. A derived column needs a higher log evidence than either source column. The best
    derived columns are added one by one to Gaussian naive Bayes. A column is kept if it improves the exact
    leave-one-out log score.

    Parameters
    ----------
    x : mapping of arrays (row,)
        Columns of numbers; NaN is a missing value.
    """
    x = {name: values for name, values in x.items() if _readable(values) and len(np.unique(values)) > LEAST_VALUES}
    alone = {name: _evidence(values, labels) for name, values in x.items()}
    most = sorted(alone.values(), reverse=True)[:MOST_COLUMNS]
    names = [name for name, evidence in alone.items() if evidence >= most[-1]]
    ahead = []
    for first, second in combinations(names, 2):
        least = max(alone[first], alone[second]) + GAIN
        each = {one: _evidence(one.of(x), labels) for one in _of_pair(first, second, x) if _readable(one.of(x))}
        if some := [one for one, evidence in each.items() if evidence >= least]:
            ahead.append((max(each.values()), some))
    found: list[Derived] = []
    if not ahead:
        return found
    log_p, prior = _log_left_out(list(x.values()), labels)
    for _, pair in sorted(ahead, key=lambda one: -one[0])[:TRIED]:
        before = left_out_score(log_p, labels)
        further = [log_p + _log_left_out([one.of(x)], labels)[0] - prior for one in pair]
        gains = [left_out_score(each, labels) - before for each in further]
        best = int(np.argmax(gains))
        if gains[best] >= GAIN:
            found.append(replace(pair[best], gain=gains[best]))
            log_p = further[best]
    return found


def _readable(x: Array) -> bool:
    return not extreme(x[:, None])


def _of_pair(first: Any, second: Any, x: Mapping[Any, Array]) -> Iterator[Derived]:
    """Yield the ratio if both columns are positive; also yield the difference if their ranges overlap."""
    low, high = (np.array([reach(x[name]) for name in (first, second)]) for reach in (np.nanmin, np.nanmax))
    if low.min() > 0:
        yield Derived(first, second, True)
    if low.max() < high.min():
        yield Derived(first, second, False)


def _evidence(x: Array, labels: Labels) -> float:
    """ln p(labels | cells) in nats. Each cell has its own class probabilities, with a uniform prior; missing values
    form one more cell.
    """
    known = ~np.isnan(x)
    edges = np.unique(np.quantile(x[known], np.arange(1, CELLS) / CELLS))
    cell = np.where(known, np.searchsorted(edges, x, side="right"), len(edges) + 1)
    counts = np.zeros((len(edges) + 2, labels.n))
    np.add.at(counts, (cell, labels.codes), labels.weight)
    return float((gammaln(1 + counts).sum(1) - gammaln(labels.n + counts.sum(1)) + gammaln(labels.n)).sum())


def _log_left_out(columns: Sequence[Array], labels: Labels) -> tuple[Array, Array]:
    """log p(row, class | other rows) under Gaussians, and log p(class | other rows); both are (row, class)."""
    table = Table.of(pd.DataFrame(dict(enumerate(columns)), index=range(len(labels))))
    schema, data = Schema.infer(table, dict.fromkeys(range(len(columns)), Gaussian())).read(table, learn=True)
    posterior = learned(schema, data, labels)
    return posterior.log_left_out(data, labels), posterior.only(()).log_left_out({}, labels)
