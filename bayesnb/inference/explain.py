"""Where the log-odds of a prediction come from: the prior, one contribution of each column, and their sum.

Start with :func:`contributions`, behind ``explain`` of a classifier.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.random import Generator
from scipy import sparse

from bayesnb.data.encoders import Feature
from bayesnb.data.levels import cells_of, unseen_levels
from bayesnb.data.rows import table_of
from bayesnb.data.schema import Schema
from bayesnb.data.targets import codes_of
from bayesnb.dependence.learned import Dependence, DrawnDependence, weighed
from bayesnb.dependence.terms import relative
from bayesnb.families.columns import BAG, columns_of
from bayesnb.families.multinomial import Bag
from bayesnb.inference.believed import Believed
from bayesnb.inference.classifier import Classifier
from bayesnb.inference.draws import probability_of_interval
from bayesnb.inference.far_rows import FarRowError
from bayesnb.inference.intervals import answering
from bayesnb.inference.predict_table import index_of
from bayesnb.inference.questions import question
from bayesnb.inference.saddlepoint import DrawnLogOdds, LogOdds
from bayesnb.kernels.blocks import slices
from bayesnb.model import Data, normalize, part_of
from bayesnb.numerics import log_gamma_draw
from bayesnb.priors import Array, Dirichlet, Outcome, Prior, Theta, log_rising

type Unit = Literal["nats", "bits", "decibans"]

UNITS: Mapping[Unit, float] = {"nats": 1.0, "bits": 1 / np.log(2), "decibans": 10 / np.log(10)}
"""The size of one nat of log-odds in each unit (Good 1950; Jaynes 2003, 4.2)."""


PRIOR, OFFSET, AVERAGING, TOTAL = "(prior)", "(offset)", "(averaging)", "(total)"

DRAWS = 1000
"""Draws of the parameters and the exponents, from which the interval of each entry is taken."""

BLOCK = 32
"""Rows that are explained at once where terms have exponents: each of their cells has that many draws."""

type Distribution = LogOdds | DrawnLogOdds

type Line = tuple[Entry | str, Array, Distribution]


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
        belief, n = self._of_words(posterior, x)
        return np.stack([belief.along(n, t=t), *belief.slopes(n, np.zeros(()), t=t)])

    def moment_floor(self, posterior: Dirichlet, x: Array) -> Array:
        """The t above which it exists, (cell, class)."""
        belief, n = self._of_words(posterior, x)
        return belief.floor(n, np.zeros(()))

    def _of_words(self, posterior: Dirichlet, x: Array) -> tuple[Outcome, Array]:
        """The belief about the probability of each word, (cell, class), and its count, (cell, 1)."""
        own = posterior.alpha[:, x[:, 0].astype(np.intp)].T
        return Outcome.of(posterior, own), x[:, [1]]


def contributions(
    classifier: Classifier, data: Data, log_joint: Array, pairs: Array, shares: tuple[float, float]
) -> pd.DataFrame:
    """Where the log-odds of each row come from: prior, one signed entry a column, total.

    Parameters
    ----------
    classifier : Classifier
    data : {name: encoded column}
    log_joint : array (row, class)
        By the chosen estimate.
    pairs : int array (row, 2)
        The two classes whose log-odds are split.
    shares : (low, high)
        The ends of the interval of each entry, as quantiles under the posterior of the parameters.

    Returns
    -------
    DataFrame ((row, entry), ...)
        ``label``, ``against``, ``value``, ``log_odds``, ``lower``, ``upper``, ``missing``; in nats.

    Notes
    -----
    The words of a row share one θ, so their joint predictive is not a product over words. Its factor for the length of
    the row is divided among the words in proportion to their counts.
    """
    labels, naive = classifier.posterior.labels, classifier.believed.naive
    offset, parts = np.broadcast_to(classifier.offset, log_joint.shape), []
    for a, b in np.unique(pairs, axis=0):
        every = np.flatnonzero((pairs == (a, b)).all(axis=1))
        for cut in slices(len(every), len(every) if naive else BLOCK):
            rows = every[cut]
            some = part_of(data, rows), log_joint[rows], offset[rows], int(a), int(b)
            asked = NaiveTerms(classifier, *some) if naive else WeighedTerms(classifier, *some)
            lines = [_lines(*line, shares, len(rows)) for line in asked.lines()]
            sums = pd.concat(lines).groupby("row")["log_odds"].sum(skipna=False).to_numpy()
            lines += [_lines(*line, shares, len(rows)) for line in asked.totals(sums)]
            part = pd.concat(lines, ignore_index=True)
            part["row"] = rows[part["row"]]
            parts.append(part.assign(label=labels[a], against=labels[b]))
    frame = pd.concat(parts, ignore_index=True).sort_values("row", kind="stable").set_index(["row", "entry"])
    return frame[["label", "against", "value", "log_odds", "lower", "upper", "missing"]]


def _lines(
    entry: Entry | str, log_odds: Array, spread: Distribution, shares: tuple[float, float], n_rows: int
) -> pd.DataFrame:
    """The lines of an entry: one for each of its cells, or one a row for what is no column."""
    if isinstance(entry, str):
        entry = Entry([entry] * n_rows, np.arange(n_rows), log_odds, (), [None] * n_rows, np.zeros(n_rows, bool), -1)
    columns = {
        "row": entry.rows,
        "entry": pd.Series(list(entry.name), dtype=object),
        "value": pd.Series(list(entry.value), dtype=object),
        "log_odds": log_odds,
        "lower": spread.quantile(shares[0]),
        "upper": spread.quantile(shares[1]),
        "missing": entry.missing,
    }
    return pd.DataFrame(columns)


@dataclass(frozen=True, eq=False)
class Terms(ABC):
    """The terms of a model in the log-odds of two classes, a and b, of some rows."""

    classifier: Classifier
    data: Data
    log_joint: Array
    offset: Array
    a: int
    b: int

    @abstractmethod
    def lines(self) -> Iterator[Line]:
        """Yield what each term adds to the log-odds by the estimate, and its distribution."""

    @abstractmethod
    def totals(self, sums: Array) -> Iterator[Line]:
        """Yield the log-odds by the estimate, of which ``sums`` are the terms, and their distribution."""

    @property
    def believed(self) -> Believed:
        """The posterior given the data."""
        return self.classifier.believed

    def _against(self, log_p: Array) -> Array:
        """ln p(x | a) - ln p(x | b); NaN where both are impossible."""
        with np.errstate(invalid="ignore"):
            return log_p[..., self.a] - log_p[..., self.b]


class NaiveTerms(Terms):
    """The terms of naive Bayes: each has its distribution in closed form, or draws if its feature is sampled."""

    def lines(self) -> Iterator[Line]:
        prior = LogOdds.of_classes(self.believed.posterior, len(self.offset), self.a, self.b, self.offset)
        yield PRIOR, self._against(self.believed.log_pi + self.offset), prior
        for entry in entries(self.classifier.schema, self.believed, self.data):
            yield entry, self._against(entry.log_p), self._of_one(entry)

    def totals(self, sums: Array) -> Iterator[Line]:
        if self.believed.posterior.model.exact:
            spread: Distribution = LogOdds.of(
                self.believed.posterior, self.data, len(sums), self.a, self.b, self.offset
            )
        else:
            joint = answering(self.classifier, "draws", 4000, "data").log_joint(self.data, len(sums), self.offset)
            spread = DrawnLogOdds(self._against(joint))
        yield TOTAL, sums, spread

    def _of_one(self, entry: Entry) -> LogOdds | DrawnLogOdds:
        """The distribution of the contribution of one factor."""
        family, believed, x = entry.factor
        if getattr(family, "exact", True) and getattr(family, "classes_apart", True):
            return LogOdds([(family, believed.at([self.a, self.b]), x)], None, np.zeros(len(entry.rows)))
        paired = np.concatenate([value for _, value in family.paired(believed, x)], axis=1)
        return DrawnLogOdds(self._against(paired))


class WeighedTerms(Terms):
    """The terms where each counts to a power: a column contributes what it does in naive Bayes times its exponent.

    If cells have offsets, the offset of the cell is added, and so is the column's share of the terms of the kernel and
    of the partitions. Shapes, pairs and joint columns have entries of their own.
    """

    def lines(self) -> Iterator[Line]:
        n, dependence, rng = len(self.offset), self.dependence, self._drawn[0]
        v, vs = self._exponents
        log_pi = self._against(self._drawn[1].log_pi)[:, None] + self._against(self.offset)
        yield PRIOR, self._against(self.believed.log_pi + self.offset), DrawnLogOdds(log_pi)
        biases = np.repeat(self._against(vs[..., -1])[:, None], n, axis=1)
        yield OFFSET, np.full(n, self._against(v[:, -1])), DrawnLogOdds(biases)
        offsets, shares = self._of_cells(v, vs), dependence.terms.shares(self.data, n)
        names = dependence.exponents.names
        for name, share in shares.items():
            k = names.index(name)
            for term, of_column in zip(dependence.statistics.cells.grid.terms, np.moveaxis(share, -1, 0), strict=True):
                before, own = offsets.get(int(term), (0.0, 0.0)), (v[:, k], vs[:, None, :, k])
                added = (old + self._odds(weight, of_column) for old, weight in zip(before, own, strict=True))
                offsets[int(term)] = tuple(added)
        for entry in entries(self.classifier.schema, self.believed, self.data):
            log_odds, among_draws = self._of_column(entry, v, vs, rng)
            if entry.term in offsets:
                log_odds, among_draws = log_odds + offsets[entry.term][0], among_draws + offsets[entry.term][1]
            yield entry, log_odds, DrawnLogOdds(among_draws)
        if dependence.spec.by == "model":
            return
        beside = dependence.beside(self.believed.posterior, self.data, n)
        beside = relative(beside) if dependence.spec.by == "class" else beside
        for k in range(len(names) - beside.shape[-1], len(names) - len(shares)):
            term, every = beside[..., k - len(names)], np.arange(n)
            entry = Entry([names[k]] * n, every, term, (), [None] * n, (term == 0).all(1), k)
            yield entry, self._odds(v[:, k], term), DrawnLogOdds(self._odds(vs[:, None, :, k], term))

    def totals(self, sums: Array) -> Iterator[Line]:
        total = self._against(self.log_joint)
        if self.believed.point is None:
            yield AVERAGING, total - sums, DrawnLogOdds((total - sums)[None])
        joint = self._drawn[1].log_joint(self.data, len(sums)) + self.offset
        yield TOTAL, total, DrawnLogOdds(self._against(joint))

    @property
    def dependence(self) -> Dependence:
        """The learned exponents of the terms."""
        return self.believed.dependence

    @cached_property
    def _drawn(self) -> tuple[Generator, DrawnDependence]:
        """Draws of the parameters and the exponents, and the generator they came from."""
        seed = self.classifier.seed
        rng = np.random.default_rng(0 if seed is None else copy.deepcopy(seed))
        return rng, self.believed.draw(rng, DRAWS)

    @property
    def _exponents(self) -> tuple[Array, Array]:
        """The exponents at the point that is plugged in, or at the mean, and at the draws."""
        exponents = self.dependence.exponents
        point = exponents.at(self.believed.point or "mean").points[0]
        return exponents.layout.exponents(point), exponents.layout.exponents(self._drawn[1].points)

    def _odds(self, v: Array, log_p: Array) -> Array:
        """What a term adds to the log-odds, both (..., class)."""
        with np.errstate(invalid="ignore"):
            return weighed(v[..., self.a], log_p[..., self.a]) - weighed(v[..., self.b], log_p[..., self.b])

    def _of_cells(self, v: Array, vs: Array) -> dict[int, tuple[Array, Array]]:
        """What the offsets of a column's cells add, and draws of it, by the position of the column."""
        cells, n = self.dependence.cells(self.data, len(self.offset)), self.dependence.exponents.layout.terms
        if cells is None:
            return {}
        found, difference = {}, vs[:, self.a] - vs[:, self.b]
        for term, cell in zip(self.dependence.statistics.cells.grid.terms, cells.T, strict=True):
            known, at = cell >= 0, n + np.maximum(cell, 0)
            certain = np.where(known, v[self.a, at] - v[self.b, at], 0.0)
            found[int(term)] = certain, np.where(known, difference[:, at], 0.0)
        return found

    def _of_column(self, entry: Entry, v: Array, vs: Array, rng: Generator) -> tuple[Array, Array]:
        """What the terms of a column's cells add, and draws of it."""
        family, believed, x = entry.factor
        spec = self.dependence.spec
        k = 0 if spec.by == "model" else entry.term
        if isinstance(family, OneWord):
            alpha, n = believed.alpha[:, x[:, 0].astype(np.intp)], x[:, 1]
            rest = believed.alpha.sum(1, keepdims=True) - alpha
            mine, others = (log_gamma_draw(each, rng, (DRAWS,)) for each in (alpha, rest))
            drawn = np.moveaxis(n * (mine - np.logaddexp(mine, others)), 1, -1)
        else:
            drawn = family.log_likelihood(family.draw(believed, rng, (DRAWS,)), x)
        log_p = entry.log_p
        if spec.by == "class" and isinstance(family, OneWord):
            log_p, drawn = (_relative_words(each, entry.rows, x[:, 1], len(self.offset)) for each in (log_p, drawn))
        elif spec.by == "class":
            log_p, drawn = relative(log_p, -1), relative(drawn, -1)
        return self._odds(v[:, k], log_p), self._odds(vs[:, None, :, k], drawn)


def _relative_words(log_p: Array, rows: Array, n: Array, n_rows: int) -> Array:
    """Log-likelihoods of words, (..., word, class), relative to the mean over classes of their sum in a row.

    What is taken off a row is divided among its words in proportion to their counts.
    """
    whole = np.zeros((*log_p.shape[:-2], n_rows, log_p.shape[-1]))
    np.add.at(whole, (..., rows, slice(None)), log_p)
    mean = (whole - relative(whole, -1))[..., rows, :1]
    length = np.bincount(rows, n, minlength=n_rows)[rows]
    return log_p - mean * (n / np.where(length > 0, length, 1.0))[:, None]


def entries(schema: Schema, held: Believed, data: Data) -> Iterator[Entry]:
    """An entry for each column; one for columns that are one term; of a bag of words, one for each word that occurs."""
    posterior, point, term = held.posterior, held.plug_in, -1
    for name, feature in schema.features.items():
        family, believed, x = posterior.model.features[name], posterior.features[name], data[name]
        theta = None if point is None else point.features[name]
        if family.support == BAG:
            term += 1
            yield from _words(feature, name, believed, theta, x, term)
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


def _words(feature: Feature, name: Any, believed: Dirichlet, theta: Theta | None, x: Bag, term: int) -> Iterator[Entry]:
    """Yield the entries of all words that occur, and of rows whose bag is missing."""
    counts = sparse.csr_array(x.counts, dtype=float, copy=True)
    counts.sum_duplicates()
    counts.eliminate_zeros()
    (row, word), n = counts.tocoo().coords, counts.data
    blank = np.isnan(n)
    if x.missing().any():
        rows = np.flatnonzero(x.missing())
        zero, cell = np.zeros((len(rows), len(believed.alpha))), np.tile([0.0, 0.0], (len(rows), 1))
        yield Entry([name] * len(rows), rows, zero, (OneWord(), believed, cell), [None] * len(rows), rows >= 0, term)
    row, word, n = row[~blank], word[~blank], n[~blank, None]
    length = np.bincount(row, n[:, 0], minlength=counts.shape[0])[row, None]
    if theta is None:
        log_p = log_rising(believed.alpha[:, word].T, n) - n / length * log_rising(believed.total, length)
    else:
        log_p = n * theta["log_theta"][:, word].T
    cells = OneWord(), believed, np.hstack([word[:, None], n])
    names = [f"{feature.source[0]}: {word}" for word in x.words] if feature.text is not None else x.words
    yield Entry([names[k] for k in word], row, log_p, cells, n[:, 0], np.zeros(len(row), bool), term)


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
    unit: Unit = "nats",
    prob: float | None = None,
) -> pd.DataFrame:
    """The contributions of each row: what each of its values adds to the log-odds of two classes.

    Parameters
    ----------
    X : table
        The rows to ask about.
    label : optional
        The class that is asked about. By default it is the most probable class.
    against : optional
        The class that the log-odds are against. By default it is the most probable of the others.
    unit : {"nats", "bits", "decibans"}
        The unit of the log-odds. Ten decibans are a factor of ten.
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
    With a dependence, an entry is what the column says times its exponent, plus the offset of its cell and its share of
    what the kernel and the partitions say of all columns together (of the partitions, the steps that ask for the
    column; of the kernel, the value of Aumann and Shapley 1974, as all distances grow together). The interval is of
    1000 draws of the parameters and the exponents. Further entries are "(offset)", of the class, the
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
    pairs = _contrast(classifier, log_joint, label, against)
    found = contributions(classifier, data, log_joint, pairs, (tail, 1 - tail))
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
    classifier.require_two_classes()
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
