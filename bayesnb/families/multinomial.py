"""A row of counts given one θ: the bag-of-words model, whose predictive is Dirichlet-multinomial."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy import sparse
from scipy.special import gammaln

from bayesnb.families.categorical import united
from bayesnb.families.columns import impossible, products
from bayesnb.families.family import Added, Cells, Conjugate
from bayesnb.families.membership import Column, Labels, Membership
from bayesnb.families.statistic import Statistic, per
from bayesnb.kernels import densities
from bayesnb.kernels.blocks import CELLS, slices, worth
from bayesnb.numerics import Array, deviance, disagreement, log_peak, log_rising
from bayesnb.priors import Dirichlet, Theta

LONG = 2**13
"""Words of a row from which on its factorials are so large that their difference loses digits."""


@dataclass(frozen=True, eq=False)
class Bag:
    """Counts of named words: ``counts`` (row, level) dense or sparse, ``words`` the name of each level."""

    counts: Column
    words: tuple[Any, ...]

    def __len__(self) -> int:
        return self.counts.shape[0]

    def __getitem__(self, rows: Any) -> Bag:
        return Bag(self.counts[rows], self.words)


@dataclass(frozen=True, eq=False)
class WordCounts(Statistic):
    """Words counted, ``counts`` (class, level); rows seen, ``rows`` (class, 1); and the largest log-likelihood.

    ``log_peak`` (class, 1) is that of all rows of a class under one θ, the one that fits them best. It falls by how
    much two parts disagree about θ when they are added.
    """

    counts: Array = per("category")
    rows: Array = per("bag")
    log_peak: Array = per("bag", before="log_base")
    words: tuple[Any, ...]

    group = "multinomial"
    signed = frozenset({"log_peak"})

    def __add__(self, other: WordCounts) -> WordCounts:
        words = self.words if self.words == other.words else united(self.words, other.words)
        mine, theirs = self._over(words), other._over(words)
        lengths = (counts.sum(-1, keepdims=True) for counts in (mine, theirs))
        apart = disagreement(mine, theirs, *lengths).sum(-1, keepdims=True)
        return WordCounts(mine + theirs, self.rows + other.rows, self.log_peak + other.log_peak - apart, words)

    def _over(self, words: tuple[Any, ...]) -> Array:
        if self.words is words or self.words == words:
            return self.counts
        place = {word: k for k, word in enumerate(words)}
        wide = np.zeros((len(self.counts), len(words)))
        wide[:, [place[word] for word in self.words]] = self.counts
        return wide

    def named_as(self, other: WordCounts) -> WordCounts:
        place = {word: k for k, word in enumerate(self.words)}
        return replace(self, counts=self.counts[:, [place[word] for word in other.words]], words=other.words)

    def __mul__(self, factor: float) -> WordCounts:
        return WordCounts(self.counts * factor, self.rows * factor, self.log_peak * factor, self.words)

    def seen(self) -> Array:
        return self.rows

    @classmethod
    def from_file(cls, cells: Mapping[str, Array], columns: tuple[Any, ...], levels: Any) -> WordCounts:
        return cls(**cells, words=columns)

    def renewed(self) -> WordCounts:
        return replace(self, log_peak=self.log_peak + Dirichlet.peak(self.counts)[:, None])


@dataclass(frozen=True, eq=False)
class Multinomial(Conjugate[Dirichlet, WordCounts]):
    """x | θ ~ Multinomial(N, θ) with θ ~ Dirichlet(α); N, the length of the row, is taken as given.

    All counts of a row share one θ, so the predictive is the Dirichlet-multinomial (Murphy, PML1, 4.6.3;
    Madsen, Kauchak and Elkan 2005) and not a product of plug-in probabilities. A row that is all NaN is
    missing. Fractions, such as tf-idf weights, are taken as they are; the likelihood is then no probability.

    Examples
    --------
    >>> from bayesnb import BayesianNB
    >>> clf = BayesianNB(Multinomial()).fit([[3, 0, 1], [1, 1, 0]], ["a", "b"])
    >>> clf.predict_proba([[1, 0, 0], [10, 0, 0]]).round(2)  # ten words are not ten independent words
    array([[0.59, 0.41],
           [0.76, 0.24]])
    """

    prior: Any = field(default_factory=Dirichlet)

    conjugate = Dirichlet
    reads = "bag"
    notices = True
    whole_rows = True

    def statistic(self, x: Bag, members: Membership) -> WordCounts:
        counts = _counts(x)
        long = _long(_lengths(counts))
        if not len(long):
            return self._of_short(x, counts, members)
        short = np.setdiff1d(np.arange(len(x)), long)
        parts = [long[cut] for cut in slices(len(long), max(1, CELLS // max(1, len(x.words))))]
        long_ones = (self._of_long(x[rows], members[rows]) for rows in parts)
        return reduce(add, long_ones, self._of_short(x[short], counts[short], members[short]))

    def _of_short(self, x: Bag, counts: Column, members: Membership) -> WordCounts:
        """The same of rows of few words, whose base measures can be added as they are."""
        base, totals = members.totals(_log_coefficient(counts)[:, None]), members.totals(counts)
        if sparse.issparse(x.counts):
            rows = members.weights()[:, None]
        else:
            rows = members.totals(~np.isnan(x.counts).all(axis=1)[:, None])
        return WordCounts(totals, rows, base + Dirichlet.peak(totals)[:, None], x.words)

    def _of_long(self, x: Bag, members: Membership) -> WordCounts:
        """The same of rows of many words: each at the θ that fits it best, less how far the rows are apart."""
        counts = _dense(_counts(x))
        totals, lengths = members.totals(counts), counts.sum(-1, keepdims=True)
        share = totals / np.maximum(totals.sum(-1, keepdims=True), np.finfo(float).tiny)

        def cost(share: Array) -> Array:
            each = deviance(counts, lengths * share, counts - lengths * share)
            return np.where(share > 0, each, 0.0)

        own = log_peak(counts).sum(-1, keepdims=True) - log_peak(lengths)
        apart = members.costs(cost, share).sum(-1, keepdims=True)
        return WordCounts(totals, members.weights()[:, None], members.totals(own) - apart, x.words)

    def resolve_prior(self, prior: Dirichlet, s: WordCounts) -> Dirichlet:
        return Dirichlet(prior.over((s.words,), s.counts.shape[0]).alpha[:, 0])

    def added(self, s: WordCounts) -> Added:
        return (s.counts,), s.log_peak[:, 0]

    def cells(self, posterior: Dirichlet, x: Bag) -> Cells:
        counts = _dense(_counts(x))[:, None, None]
        log_h = log_peak(counts).sum(-1) - log_peak(counts.sum(-1))
        return Dirichlet(posterior.alpha[:, None]), (counts,), log_h

    def log_likelihood(self, theta: Theta, x: Bag) -> Array:
        counts, table = _counts(x), theta["log_theta"]
        never = np.isneginf(table)
        total = products(counts, np.where(never, 0.0, table)) + _log_coefficient(counts)[:, None]
        return total + impossible(products(counts, never.astype(float))) if never.any() else total

    def quick_predictive(self, posterior: Dirichlet, x: Bag) -> Array | None:
        counts = _counts(x)
        if not _worth(counts, len(posterior.alpha)):
            return None
        lengths, factorials = densities.log_factorials(counts)
        whole = _log_rising_of_lengths(posterior.total, lengths) - (gammaln(lengths + 1) - factorials)[:, None]
        total = densities.rising(counts, posterior.alpha) - whole
        return self._with_long(total, posterior, x, lengths, np.ones(total.shape))

    def quick_moment(self, posterior: Dirichlet, x: Bag, t: Array) -> Array:
        # The words that a row has are few beside those that it could have.
        counts = _counts(x)
        lengths = _lengths(counts)
        words = np.stack([_rising(alpha, counts, t[:, c]) for c, alpha in enumerate(posterior.alpha)], axis=1)
        whole = log_rising(posterior.total, t * lengths[:, None])
        total = np.where(np.isposinf(words), np.inf, words - np.where(np.isposinf(whole), 0.0, whole))
        return self._with_long(total + t * _log_coefficient(counts)[:, None], posterior, x, lengths, t)

    def _with_long(self, total: Array, posterior: Dirichlet, x: Bag, lengths: Array, t: Array) -> Array:
        """The same, with the moments of the rows of many words as they follow from ``cells``."""
        long = _long(lengths)
        total[long] = self.derived_moment(posterior, x[long], t[long])
        return total

    def quick_left_out(self, posterior: Dirichlet, x: Bag, labels: Labels) -> Array:
        counts = _counts(x)
        lengths, own = _lengths(counts), np.zeros(len(x))
        if _worth(counts):
            own = densities.rising(counts, posterior.alpha, labels.codes, labels.weight)
        else:
            for c in np.unique(labels.codes):
                rows = np.flatnonzero(labels.codes == c)
                own[rows] = _rising(posterior.alpha[c], counts[rows], np.ones(len(rows)), labels.weight[rows])
        left = posterior.total[labels.codes] - labels.weight * lengths
        total = own - log_rising(left, lengths) + _log_coefficient(counts)
        # Of long rows, and where nothing proper is left, the slow form says what it is.
        return np.where((lengths > LONG) | (left <= 0) & (lengths > 0), np.nan, total)

    def sample(self, theta: Theta, rng: Generator, s: WordCounts) -> Array:
        # The model takes a row's length as given; new rows get the average length.
        length = round(s.counts.sum() / max(s.rows.sum(), 1.0))
        p = np.exp(theta["log_theta"])
        return rng.multinomial(length, p / p.sum(-1, keepdims=True))

    def linear(self, theta: Theta) -> tuple[Array, Array]:
        return theta["log_theta"], np.zeros(len(theta["log_theta"]))

    def pymc_rows(self, name: str, theta: Mapping[str, Any], x: Bag, y: Any) -> None:
        import pymc as pm

        counts = _dense(_counts(x))
        if (counts != np.floor(counts)).any():
            raise ValueError('fractions of words have no rows in PyMC; use likelihood="statistics"')
        rows = np.flatnonzero(counts.sum(axis=1) > 0)
        counts = counts[rows].astype(int)
        pm.Multinomial(name, n=counts.sum(axis=1), p=theta["theta"][y[rows]], observed=counts)

    def pymc_log_likelihood(self, theta: Mapping[str, Any], x: Bag) -> Any:
        from pytensor import tensor as pt

        counts = _dense(_counts(x))
        return pt.dot(counts, pt.log(theta["theta"]).T) + _log_coefficient(counts)[:, None]


def _counts(x: Bag) -> Column:
    """The counts as floats, CSR or dense; a missing row holds no words."""
    if sparse.issparse(x.counts):
        counts = x.counts
        if not (isinstance(counts, sparse.csr_array) and counts.dtype == float):
            counts = sparse.csr_array(counts, dtype=float)
        if not counts.has_canonical_format:
            counts = counts.copy()
            counts.sum_duplicates()
        return counts
    return np.nan_to_num(np.asarray(x.counts, float), nan=0.0)


def _long(lengths: Array) -> Array:
    """The rows of many words."""
    return np.flatnonzero((lengths > LONG) & (lengths < np.inf))


def _dense(counts: Column) -> Array:
    """The counts as a dense array."""
    return counts.toarray() if sparse.issparse(counts) else counts


def _worth(counts: Column, classes: int = 1) -> bool:
    """Whether the counts are sparse and a compiled loop over them, for so many classes, is worth its start."""
    return sparse.issparse(counts) and worth(counts.nnz * classes)


def _log_rising_of_lengths(total: Array, lengths: Array) -> Array:
    """``log_rising`` of (class,) by (row,), (row, class), once for each length that occurs."""
    found, place = np.unique(lengths, return_inverse=True)
    return log_rising(total, found[:, None])[place]


def _lengths(counts: Column) -> Array:
    """N, the words of each row."""
    return np.asarray(counts.sum(axis=1)).ravel()


def _log_coefficient(counts: Column) -> Array:
    """ln N! - Σ ln x!, the number of orders in which the words of a row could have come."""
    if _worth(counts):
        lengths, factorials = densities.log_factorials(counts)
        return gammaln(lengths + 1) - factorials
    return gammaln(_lengths(counts) + 1) - _row_sums(counts, lambda row, word, n: gammaln(n + 1))


def _rising(alpha: Array, counts: Column, t: Array, left_out: Array | None = None) -> Array:
    """Σ_k ln Γ(α_k + t n_k) - ln Γ(α_k) of each row, α less ``left_out`` times the row's own counts."""

    def term(row: Array, word: Array, n: Array) -> Array:
        base = alpha[word] if left_out is None else np.maximum(alpha[word] - left_out[row] * n, 0.0)
        return log_rising(base, t[row] * n)

    return _row_sums(counts, term)


def _row_sums(counts: Column, term: Callable[[Array, Array, Array], Array]) -> Array:
    """Sum over each row's stored counts of term(row, word, count)."""
    row, word, n = _stored(counts)
    return np.bincount(row, term(row, word, n), minlength=counts.shape[0])


def _stored(counts: Column) -> tuple[Array, Array, Array]:
    """Row, word and count of the counts that are stored."""
    stored = sparse.csr_array(counts)
    return np.repeat(np.arange(stored.shape[0]), np.diff(stored.indptr)), stored.indices, stored.data
