"""Where the log-odds of a prediction come from: the prior, one contribution of each column, and their sum.

Start with :func:`contributions`, behind ``explain`` of a classifier.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from bayesnb.data.rows import table_of
from bayesnb.data.schema import Schema
from bayesnb.data.targets import codes_of
from bayesnb.data.unseen import cells_of, unseen_levels
from bayesnb.families.columns import columns_of
from bayesnb.families.support import BAG
from bayesnb.families.words import Bag
from bayesnb.inference.classifier import Classifier
from bayesnb.inference.draws import PosteriorDraws, probability_of_interval
from bayesnb.inference.far_rows import FarRowError
from bayesnb.inference.intervals import answering
from bayesnb.inference.log_odds import require_two_classes
from bayesnb.inference.predict_table import index_of
from bayesnb.inference.questions import question
from bayesnb.inference.saddlepoint import DrawnLogOdds, LogOdds
from bayesnb.model import Data, Parameters, Posterior, normalize, part_of
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


@question("what each value of a row adds to the log-odds", "why")
def explain(
    classifier: Classifier,
    X: Any,
    label: Any = None,
    against: Any = None,
    unit: str = "nats",
    prob: float | None = None,
) -> pd.DataFrame:
    """The contributions of each row: what each of its values adds to the log-odds of two classes.

    Parameters
    ----------
    X : table
        The rows to ask about.
    label, against : optional
        The two classes. By default, the most probable class and the second most probable. If only one is given, the
        other is the most probable of the rest.
    unit : {"nats", "bits", "decibans"}
        A deciban is a tenth of a factor of ten.
    prob : float, optional
        Probability of the intervals; ArviZ's ``stats.ci_prob`` (0.89) by default.

    Returns
    -------
    DataFrame ((row, entry), ...)
        ``label``, ``against``, ``value``, ``log_odds``, ``lower``, ``upper``, ``missing``. The first entry is
        "(prior)", then comes one entry a column (one a word, for bags of words), and last "(total)", the sum of the
        others: the log-odds by the chosen estimate. The interval is equal-tailed, of the entry's log-odds under the
        posterior of the parameters given the learned rows alone, by the saddlepoint approximation, or by draws if a
        feature is sampled. A level that was never seen is ``missing`` too, and stands under ``value``.

    Notes
    -----
    With a dependence, an entry is what the column says times its exponent, plus the offset of its cell, and the
    interval is of 1000 draws of the parameters and the exponents. Further entries are "(offset)", of the class, the
    shapes, pairs and joint columns, and, by the "predictive" estimate, "(averaging)": what it adds to average class
    probabilities over the exponents instead of taking their mean.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB().fit(X, y)
    >>> clf.explain(X[:1])[["value", "log_odds"]].round(2).droplevel("row")
                 value  log_odds
    entry
    (prior)       None     -0.51
    outlook      sunny      0.69
    temperature    hot      0.41
    humidity      high      0.68
    wind          weak     -0.40
    (total)       None      0.87
    """
    if unit not in UNITS:
        raise ValueError(f"Expected unit to be one of {list(UNITS)}; got {unit!r}")
    table = table_of(X, classifier.schema)
    classifier.require_offset_of(table)
    classifier.posterior.warn_of_chains()
    data, n = classifier.encoded_table(table), table.n_rows
    if not n:
        raise ValueError("there are no rows to explain")
    tail = (1 - probability_of_interval(prob)) / 2
    log_joint = classifier.log_joint(data, n)
    pairs, shares = _contrast(classifier, log_joint, label, against), (tail, 1 - tail)
    if classifier.dependence is None:
        drawn = None if classifier.posterior.model.exact else answering(classifier, "draws", 4000, "data")
        found = contributions(
            classifier.schema, classifier.posterior, classifier.plug_in, data, pairs, shares, drawn, classifier.offset
        )
    else:
        from bayesnb.inference import weighted

        believed = classifier.posterior, classifier.dependence, classifier.plug_in, classifier.point
        seed = 0 if classifier.seed is None else copy.deepcopy(classifier.seed)
        found = weighted.contributions(
            classifier.schema, *believed, data, log_joint, pairs, shares, seed, classifier.offset
        )
    unknown = np.isfinite(found["log_odds"]) & found[["lower", "upper"]].isna().any(axis=1)
    if unknown.any():
        raise FarRowError(np.unique(found.index.get_level_values("row")[unknown]))
    for name in unseen_levels(classifier.schema, table):
        # A level that was never seen adds nothing, as a missing value; but it is shown.
        here = found.index.get_level_values("entry") == name
        kept, cells = found.loc[here, "value"].tolist(), cells_of(table, classifier.schema, name)
        found["value"] = found["value"].astype(object)
        found.loc[here, "value"] = [cell if old is None else old for old, cell in zip(kept, cells, strict=True)]
    found[["log_odds", "lower", "upper"]] *= UNITS[unit]
    found.attrs["unit"] = unit
    return found if index_of(X) is None else by_index(found, index_of(X))


def _contrast(classifier: Classifier, log_joint: Array, label: Any, against: Any) -> Array:
    """The two classes that each row compares, as codes (row, 2)."""
    require_two_classes(classifier)
    normalize(log_joint)
    given = [None if c is None else int(codes_of(classifier.classes, np.asarray([c]))[0]) for c in (label, against)]
    if None not in given and given[0] == given[1]:
        raise ValueError(f"Expected two different classes; got {label!r} twice")
    pairs, rest, row = np.empty((len(log_joint), 2), np.intp), log_joint.copy(), np.arange(len(log_joint))
    for place, code in enumerate(given):
        if code is not None:
            pairs[:, place], rest[:, code] = code, np.nan
    for place, code in enumerate(given):
        if code is None:
            pairs[:, place] = np.nanargmax(rest, axis=1)
            rest[row, pairs[:, place]] = np.nan
    return pairs
