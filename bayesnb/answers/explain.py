"""Where the log-odds of a prediction come from: the prior, one contribution of each column, and their sum.

Start with :func:`contributions`, behind ``explain`` of a classifier.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from bayesnb.answers.log_odds import DrawnLogOdds, LogOdds
from bayesnb.answers.uncertainty import PosteriorDraws
from bayesnb.data.schema import Schema
from bayesnb.families.columns import columns_of
from bayesnb.families.support import BAG
from bayesnb.families.words import Bag
from bayesnb.model import Data, Parameters, Posterior, part_of
from bayesnb.priors import Array, Chance, Dirichlet, Prior, Theta, log, log_rising

UNITS = {"nats": 1.0, "bits": 1 / np.log(2), "decibans": 10 / np.log(10)}
"""The size of one nat of log-odds in each unit (Good 1950; Jaynes 2003, 4.2)."""

PRIOR, TOTAL = "(prior)", "(total)"


@dataclass(frozen=True, eq=False)
class Entry:
    """The contributions of some cells to the log-odds of their rows: the cells of one column, or all words that occur.

    Parameters
    ----------
    name : sequence (entry,)
        Column names.
    rows : int array (entry,)
        The row of each cell.
    log_p : array (entry, class)
        ln p(x_f | c) by the chosen estimate.
    factor : (Family or OneWord, Prior, encoded column)
        The family, the belief and the cells of these rows, from which the interval follows.
    value : sequence (entry,)
        The cells.
    missing : bool array (entry,)
    term : int
        The position of the column, or of the bag, among the terms of the model.
    """

    name: Sequence[Any]
    rows: Array
    log_p: Array
    factor: tuple[Any, Prior, Any]
    value: Sequence[Any]
    missing: Array
    term: int


class OneWord:
    """The moments of θ_k^n, where word k occurs n times: under a Dirichlet, one word against all others has a Beta.

    A row of ``x`` holds the position of a word and its count; α of the Dirichlet is (class, word).
    """

    def cumulants(self, posterior: Dirichlet, x: Array, t: Array) -> Array:
        """ln E[θ_k^(t n)] with its first and second derivative in t, (3, cell, class)."""
        chance, n = self._of_words(posterior, x)
        first, second = chance.slopes(t * n)
        return np.stack([chance.along(t * n), n * first, n**2 * second])

    def moment_floor(self, posterior: Dirichlet, x: Array) -> Array:
        """The t above which it exists, (cell, class)."""
        chance, n = self._of_words(posterior, x)
        return chance.floor() / n

    def _of_words(self, posterior: Dirichlet, x: Array) -> tuple[Chance, Array]:
        """The belief about the probability of each word, (cell, class), and its count, (cell, 1)."""
        own = posterior.alpha[:, x[:, 0].astype(np.intp)].T
        return Chance(own, posterior.total, posterior.outcomes), x[:, [1]]


def contributions(
    schema: Schema,
    posterior: Posterior,
    point: Parameters | None,
    data: Data,
    pairs: Array,
    shares: tuple[float, float],
    drawn: PosteriorDraws | None = None,
    offset: Array = 0.0,
) -> pd.DataFrame:
    """Where the log-odds of each row come from: prior, one signed entry a column, total.

    Parameters
    ----------
    schema, posterior
    point : Parameters or None
        The point that is plugged in; ``None`` integrates the parameters out.
    data : {name: encoded column}
    pairs : int array (row, 2)
        The two classes whose log-odds are split.
    shares : (low, high)
        The ends of the interval of each entry, as quantiles under the posterior of the parameters.
    drawn : PosteriorDraws, optional
        Draws for the interval of the total, if some feature has no moments.
    offset : array that spreads to (row, class)
        Added to the log prior.

    Returns
    -------
    DataFrame ((row, entry), ...)
        ``label``, ``against``, ``value``, ``log_odds``, ``lower``, ``upper``, ``missing``; in nats.

    Notes
    -----
    The words of a row share one θ, so their joint predictive is not a product over words. Its factor for the length of
    the row is divided among the words in proportion to their counts.
    """
    offset = np.broadcast_to(offset, (len(pairs), len(posterior.labels)))
    log_prior = log(posterior.label.mean()) if point is None else point.log_pi
    parts = []
    for a, b in np.unique(pairs, axis=0):
        rows = np.flatnonzero((pairs == (a, b)).all(axis=1))
        some = part_of(data, rows)
        total = _of_all(posterior, some, len(rows), a, b, drawn, offset[rows])
        every, nothing, present = np.arange(len(rows)), [None] * len(rows), np.zeros(len(rows), bool)
        prior = against(log_prior + offset[rows], a, b)
        before = LogOdds.of_classes(posterior, len(rows), a, b, offset[rows])
        lines = [lines_of([PRIOR] * len(rows), every, prior, before, shares, nothing, present)]
        for entry in entries(schema, posterior, point, some):
            alone = _of_one(entry, a, b)
            log_odds = against(entry.log_p, a, b)
            lines.append(lines_of(entry.name, entry.rows, log_odds, alone, shares, entry.value, entry.missing))
        sums = pd.concat(lines).groupby("row")["log_odds"].sum(skipna=False).to_numpy()
        lines.append(lines_of([TOTAL] * len(rows), every, sums, total, shares, nothing, present))
        part = pd.concat(lines, ignore_index=True)
        part["row"] = rows[part["row"]]
        parts.append(part.assign(label=posterior.labels[a], against=posterior.labels[b]))
    frame = pd.concat(parts, ignore_index=True).sort_values("row", kind="stable").set_index(["row", "entry"])
    return frame[["label", "against", "value", "log_odds", "lower", "upper", "missing"]]


def _of_all(
    posterior: Posterior, data: Data, n_rows: int, a: int, b: int, drawn: PosteriorDraws | None, offset: Array
) -> LogOdds | DrawnLogOdds:
    """The distribution of the total log-odds of each row."""
    if drawn is None:
        return LogOdds.of(posterior, data, n_rows, a, b, offset)
    joint = drawn.log_joint(data, n_rows, offset)
    return DrawnLogOdds(joint[..., a] - joint[..., b])


def _of_one(entry: Entry, a: int, b: int) -> LogOdds | DrawnLogOdds:
    """The distribution of the contribution of one factor."""
    family, believed, x = entry.factor
    if getattr(family, "exact", True):
        return LogOdds([(family, believed.at([a, b]), x)], None, np.zeros(len(entry.rows)))
    paired = np.concatenate([value for _, value in family.paired(believed, x)], axis=1)
    return DrawnLogOdds(paired[..., a] - paired[..., b])


def against(log_p: Array, a: int, b: int) -> Array:
    """ln p(x | a) - ln p(x | b), (row,); NaN where both are impossible."""
    with np.errstate(invalid="ignore"):
        return log_p[:, a] - log_p[:, b]


def lines_of(
    name: Sequence[Any],
    rows: Array,
    log_odds: Array,
    distribution: LogOdds | DrawnLogOdds,
    shares: tuple[float, float],
    value: Sequence[Any],
    missing: Array,
) -> pd.DataFrame:
    """One line of the table for each cell of an entry."""
    columns = {
        "row": rows,
        "entry": pd.Series(list(name), dtype=object),
        "value": pd.Series(list(value), dtype=object),
        "log_odds": log_odds,
        "lower": distribution.quantile(shares[0]),
        "upper": distribution.quantile(shares[1]),
        "missing": missing,
    }
    return pd.DataFrame(columns)


def entries(schema: Schema, posterior: Posterior, point: Parameters | None, data: Data) -> Iterator[Entry]:
    """An entry for each column; one for columns that are one term; of a bag of words, one for each word that occurs."""
    term = -1
    for name, feature in schema.features.items():
        family, believed, x = posterior.model.features[name], posterior.features[name], data[name]
        theta = None if point is None else point.features[name]
        if family.support == BAG:
            term += 1
            yield from _words(name, believed, theta, x, term)
            continue
        cells = getattr(x, "codes", getattr(x, "counts", x))
        cells = cells.toarray() if sparse.issparse(cells) else np.asarray(cells)
        missing = cells < 0 if feature.levels is not None else np.isnan(cells.astype(float))
        shown, every = feature.decode(cells), np.arange(len(cells))
        if family.one_term:
            term += 1
            log_p = family.log_predictive(believed, x) if theta is None else family.log_likelihood(theta, x)
            vectors = [tuple(row) for row in np.array([shown[column] for column in feature.columns], object).T.tolist()]
            yield Entry([name] * len(cells), every, log_p, (family, believed, x), vectors, missing.all(1), term)
            continue
        for k, column in enumerate(feature.columns):
            alone, prior = family.gathered([(family, k)]), believed.columns([k])
            cell = columns_of(x, [k])
            if theta is None:
                log_p = alone.log_predictive(prior, cell)
            else:
                log_p = alone.log_likelihood({key: v[:, [k]] for key, v in theta.items()}, cell)
            term += 1
            factor = alone, prior, cell
            yield Entry([column] * len(cells), every, log_p, factor, shown[column], missing[:, k], term)


def _words(name: Any, believed: Dirichlet, theta: Theta | None, x: Bag, term: int) -> Iterator[Entry]:
    """Yield the entries of all words that occur, and of rows whose bag is missing."""
    counts = sparse.csr_array(x.counts, dtype=float, copy=True)
    counts.sum_duplicates()
    counts.eliminate_zeros()
    (row, word), n = counts.tocoo().coords, counts.data
    blank = np.isnan(n)
    if blank.any():
        rows = np.unique(row[blank])
        zero, cell = np.zeros((len(rows), len(believed.alpha))), np.tile([0.0, 0.0], (len(rows), 1))
        yield Entry([name] * len(rows), rows, zero, (OneWord(), believed, cell), [None] * len(rows), rows >= 0, term)
    row, word, n = row[~blank], word[~blank], n[~blank, None]
    length = np.bincount(row, n[:, 0], minlength=counts.shape[0])[row, None]
    if theta is None:
        log_p = log_rising(believed.alpha[:, word].T, n) - n / length * log_rising(believed.total, length)
    else:
        log_p = n * theta["log_theta"][:, word].T
    cells = OneWord(), believed, np.hstack([word[:, None], n])
    yield Entry([x.words[k] for k in word], row, log_p, cells, n[:, 0], np.zeros(len(row), bool), term)


def by_index(frame: pd.DataFrame, index: pd.Index) -> pd.DataFrame:
    """The same frame with the index of the table in place of the positions of its rows."""
    rows = index[frame.index.get_level_values("row")]
    outer = [rows.get_level_values(k) for k in range(rows.nlevels)]
    names = list(index.names) if rows.nlevels > 1 else ["row"]
    return frame.set_axis(
        pd.MultiIndex.from_arrays([*outer, frame.index.get_level_values("entry")], names=[*names, "entry"])
    )


def oddities(lines: pd.DataFrame) -> Iterator[str]:
    """Sentences about what a reader of the contributions to one row would take for a mistake.

    Parameters
    ----------
    lines : DataFrame (entry, ...)
        ``log_odds``, ``lower`` and ``upper``.

    Returns
    -------
    iterator of str
        Why an entry is outside of its interval, and why one is infinite, where that is so.
    """
    size, lower, upper = (lines[name].to_numpy(float) for name in ("log_odds", "lower", "upper"))
    outside = np.isfinite(size) & ((size < lower - 1e-9) | (size > upper + 1e-9))
    if outside.any():
        names = ", ".join(str(name)[:40] for name in lines.index[outside][:3])
        yield (
            f"{names}: the log-odds are outside of their interval, and both are right. The interval says what they may "
            "be at one value of the parameters. The log-odds average the probabilities over all these values first, "
            "and the few values that explain the row best weigh most. Both part where one row tells much about the "
            "parameters: where a word occurs again and again (burstiness), where a value lies far out, or where few "
            "rows were learned."
        )
    if np.isinf(size).any():
        yield (
            "∞ stands for a probability of 0: with these parameters, one of the two classes cannot have the value. "
            'No such zeros come from estimate="predictive" with a prior above 0.'
        )
