"""Bags of words: rows of counts that share one θ, whose predictive is Dirichlet-multinomial."""

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

from bayesnb.families.columns import BAG, united
from bayesnb.families.conjugate import Added, Conjugate
from bayesnb.kernels import sparse_rows
from bayesnb.kernels.blocks import CELLS, each, large_enough, slices
from bayesnb.kernels.sparse_rows import products
from bayesnb.numerics import Array, deviance, disagreement, log_peak, log_rising
from bayesnb.priors import Dirichlet, ImproperError, Theta, first
from bayesnb.statistics.membership import Column, Labels
from bayesnb.statistics.statistic import Statistic

LONG = 2**13
"""Rows with more words than this are long: the difference of their factorials would lose digits."""


@dataclass(frozen=True, eq=False)
class Bag:
    """Counts of named words: ``counts`` (row, level) dense or sparse, ``words`` the name of each level.

    ``held`` says which rows are not missing, where the counts are sparse and some rows may be.
    """

    counts: Column
    words: tuple[Any, ...]
    held: Array | None = None

    def __len__(self) -> int:
        return self.counts.shape[0]

    def __getitem__(self, rows: Any) -> Bag:
        return Bag(self.counts[rows], self.words, None if self.held is None else self.held[rows])

    def missing(self) -> Array:
        """Which rows are missing."""
        if self.held is not None:
            return ~self.held
        return np.zeros(len(self), bool) if sparse.issparse(self.counts) else np.isnan(self.counts).all(axis=1)


@dataclass(frozen=True, eq=False)
class WordCounts(Statistic):
    """Counts of words, ``counts`` (class, level); of rows, ``rows`` (class, 1); and the largest log-likelihood.

    ``fractions`` (class, 1) is the weight of rows that hold a fraction of a word, which have no probability.
    ``log_peak`` (class, 1) is the log-likelihood of all rows of a class at the one θ that fits them best. When two
    parts are added, it falls by how much they disagree about θ.
    """

    counts: Array
    rows: Array
    log_peak: Array
    fractions: Array
    words: tuple[Any, ...]

    signed = frozenset({"log_peak"})

    def __add__(self, other: WordCounts) -> WordCounts:
        words = self.words if self.words == other.words else united(self.words, other.words)
        mine, theirs = self._for_words(words), other._for_words(words)
        lengths = (counts.sum(-1, keepdims=True) for counts in (mine, theirs))
        apart = disagreement(mine, theirs, *lengths).sum(-1, keepdims=True)
        log_peak = self.log_peak + other.log_peak - apart
        return WordCounts(mine + theirs, self.rows + other.rows, log_peak, self.fractions + other.fractions, words)

    def with_words(self, words: tuple[Any, ...]) -> WordCounts:
        """The same counts for some of the words, in their order."""
        place = {word: k for k, word in enumerate(self.words)}
        return replace(self, counts=self.counts[:, [place[word] for word in words]], words=words)

    def _for_words(self, words: tuple[Any, ...]) -> Array:
        if self.words is words or self.words == words:
            return self.counts
        place = {word: k for k, word in enumerate(words)}
        wide = np.zeros((len(self.counts), len(words)))
        wide[:, [place[word] for word in self.words]] = self.counts
        return wide

    def named_as(self, other: WordCounts) -> WordCounts:
        return self.with_words(other.words)

    def seen(self) -> Array:
        return self.rows


def counts_of(x: Bag) -> Column:
    """The counts as floats, CSR or dense; a missing row has no words."""
    if sparse.issparse(x.counts):
        stored = x.counts
        if not (isinstance(stored, sparse.csr_array) and stored.dtype == float):
            stored = sparse.csr_array(stored, dtype=float)
        if not stored.has_canonical_format:
            stored = stored.copy()
            stored.sum_duplicates()
        return stored
    dense = np.nan_to_num(np.asarray(x.counts, float), nan=0.0)
    # Of many dense rows, too, only the words that occur are summed over, by the loops for sparse rows.
    return sparse.csr_array(dense) if large_enough(dense.size) else dense


def fractional(counts: Column) -> Array:
    """Which rows hold a number that is not whole, as (row, 1) numbers."""
    cells = sparse.csr_array(counts).data
    # Nearly every bag holds whole numbers only, and a look at its cells is quicker than sums over its rows.
    if not any(each(lambda cut: bool((cells[cut] != np.floor(cells[cut])).any()), slices(len(cells)))):
        return np.zeros((counts.shape[0], 1))
    return (_row_sums(counts, lambda row, word, n: n != np.floor(n)) > 0).astype(float)[:, None]


def long_rows(lengths: Array) -> Array:
    """The positions of the long rows."""
    return np.flatnonzero((lengths > LONG) & (lengths < np.inf))


def dense_counts(x: Bag) -> Array:
    """The counts as a dense array of floats; a missing row has no words."""
    dense = counts_of(x)
    return dense.toarray() if sparse.issparse(dense) else dense


def sparse_and_large(counts: Column, classes: int = 1) -> bool:
    """Whether the counts are sparse, and many enough for a compiled loop over so many classes."""
    return sparse.issparse(counts) and large_enough(counts.nnz * classes)


def log_rising_of_lengths(total: Array, lengths: Array) -> Array:
    """``log_rising(total_c, length_i)``, (row, class), computed once for each distinct length."""
    distinct, place = np.unique(lengths, return_inverse=True)
    return log_rising(total, distinct[:, None])[place]


def orders(counts: Column) -> tuple[Array, Array]:
    """N of each row, and ln N! - Σ ln x!, the logarithm of the number of orders that its words can have."""
    if sparse_and_large(counts):
        lengths, factorials = sparse_rows.log_factorials(counts)
    else:
        lengths = np.asarray(counts.sum(axis=1)).ravel()
        factorials = _row_sums(counts, lambda row, word, n: gammaln(n + 1))
    return lengths, gammaln(lengths + 1) - factorials


def rising(alpha: Array, counts: Column, t: Array, left_out: Array | None = None) -> Array:
    """Σ_k ln Γ(α_k + t n_k) - ln Γ(α_k) of each row, α less ``left_out`` times the row's own counts."""

    def term(row: Array, word: Array, n: Array) -> Array:
        base = alpha[word] if left_out is None else np.maximum(alpha[word] - left_out[row] * n, 0.0)
        return log_rising(base, t[row] * n)

    return _row_sums(counts, term)


def _row_sums(counts: Column, term: Callable[[Array, Array, Array], Array]) -> Array:
    """Sum over each row's stored counts of term(row, word, count)."""
    stored = sparse.csr_array(counts)
    row = np.repeat(np.arange(stored.shape[0]), np.diff(stored.indptr))
    return np.bincount(row, term(row, stored.indices, stored.data), minlength=stored.shape[0])


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
    support = BAG
    whole_rows = True

    def statistic(self, x: Bag, members: Labels) -> WordCounts:
        counts = counts_of(x)
        lengths, base = orders(counts)
        long = long_rows(lengths)
        if not len(long):
            return self._of_short(x, counts, base, members)
        short = np.setdiff1d(np.arange(len(x)), long)
        parts = [long[cut] for cut in slices(len(long), max(1, CELLS // max(1, len(x.words))))]
        long_ones = (self._of_long(x[rows], members[rows]) for rows in parts)
        return reduce(add, long_ones, self._of_short(x[short], counts[short], base[short], members[short]))

    def _of_short(self, x: Bag, counts: Column, base: Array, members: Labels) -> WordCounts:
        """The statistic of short rows, whose log base measures can simply be added."""
        base, totals = members.totals(base[:, None]), members.totals(counts)
        fractions = members.totals(fractional(counts))
        rows = members.totals(~x.missing()[:, None])
        return WordCounts(totals, rows, base + Dirichlet.peak(totals)[:, None], fractions, x.words)

    def _of_long(self, x: Bag, members: Labels) -> WordCounts:
        """The statistic of long rows: the log-likelihood of each at its best θ, minus how much the rows disagree."""
        counts = dense_counts(x)
        totals, lengths = members.totals(counts), counts.sum(-1, keepdims=True)
        share = totals / np.maximum(totals.sum(-1, keepdims=True), np.finfo(float).tiny)

        expected = lengths * (of_row := share[members.codes])
        cost = np.where(of_row > 0, deviance(counts, expected, counts - expected), 0.0)
        own = log_peak(counts).sum(-1, keepdims=True) - log_peak(lengths)
        apart = members.totals(cost).sum(-1, keepdims=True)
        fractions = members.totals(fractional(counts))
        return WordCounts(totals, members.weights()[:, None], members.totals(own) - apart, fractions, x.words)

    def resolve_prior(self, prior: Dirichlet, s: WordCounts) -> Dirichlet:
        return Dirichlet(prior.over((s.words,), s.counts.shape[0], s.counts.sum(0)[None]).alpha[:, 0])

    def log_evidence(self, prior: Dirichlet, s: WordCounts) -> Array:
        if (found := s.fractions > 0).any():
            raise ImproperError(
                "fractions of words, such as tf-idf weights, have no probability and so no evidence; give counts, or "
                "compare models on rows that were left out, by loo or evaluate",
                first(found)[:1],
            )
        return super().log_evidence(prior, s)

    def added(self, s: WordCounts) -> Added:
        return (s.counts,), s.log_peak[:, 0]

    def said(self, x: Bag) -> Added:
        counts = dense_counts(x)[:, None, None]
        return (counts,), log_peak(counts).sum(-1) - log_peak(counts.sum(-1))

    def log_likelihood(self, theta: Theta, x: Bag) -> Array:
        counts, table = counts_of(x), theta["log_theta"]
        never = np.isneginf(table)
        total = products(counts, np.where(never, 0.0, table)) + orders(counts)[1][:, None]
        return np.where(products(counts, never.astype(float)) > 0, -np.inf, total) if never.any() else total

    def log_predictive(self, posterior: Dirichlet, x: Bag) -> Array:
        posterior.require_proper("A predictive")
        counts = counts_of(x)
        if not sparse_and_large(counts, len(posterior.alpha)):
            return self.log_moment(posterior, x, 1.0)
        lengths, factorials = sparse_rows.log_factorials(counts)
        whole = log_rising_of_lengths(posterior.total, lengths) - (gammaln(lengths + 1) - factorials)[:, None]
        total = sparse_rows.rising(counts, posterior.alpha) - whole
        return self._with_long(total, posterior, x, lengths, np.ones(total.shape))

    def log_moment(self, posterior: Dirichlet, x: Bag, t: float | Array) -> Array:
        # A row has few of all words, so only its own words are summed over.
        t = np.broadcast_to(np.asarray(t, float), (len(x), len(posterior.alpha)))
        counts = counts_of(x)
        lengths, base = orders(counts)
        own = np.stack([rising(alpha, counts, t[:, c]) for c, alpha in enumerate(posterior.alpha)], axis=1)
        whole = log_rising(posterior.total, t * lengths[:, None])
        total = np.where(np.isposinf(own), np.inf, own - np.where(np.isposinf(whole), 0.0, whole))
        return self._with_long(total + t * base[:, None], posterior, x, lengths, t)

    def _with_long(self, total: Array, posterior: Dirichlet, x: Bag, lengths: Array, t: Array) -> Array:
        """The same, with the moments of the long rows replaced by those that follow from ``cells``."""
        if len(long := long_rows(lengths)):
            total[long] = super().log_moment(posterior, x[long], t[long])
        return total

    def of_reals(self, posterior: Dirichlet, x: Bag, labels: Labels | None = None) -> Array:
        counts = counts_of(x)
        (lengths, base), own = orders(counts), np.zeros(len(x))
        if sparse_and_large(counts):
            own = sparse_rows.rising(counts, posterior.alpha, labels.codes, labels.weight)
        else:
            for c in np.unique(labels.codes):
                rows = np.flatnonzero(labels.codes == c)
                own[rows] = rising(posterior.alpha[c], counts[rows], np.ones(len(rows)), labels.weight[rows])
        left = posterior.total[labels.codes] - labels.weight * lengths
        total = own - log_rising(left, lengths) + base
        # Long rows, and rows without which nothing proper is left, get the derived formula.
        return np.where((lengths > LONG) | (left <= 0) & (lengths > 0), np.nan, total)

    def sample(self, theta: Theta, rng: Generator, s: WordCounts) -> Array:
        # The model takes a row's length as given; new rows get the average length.
        length = round(s.counts.sum() / max(s.rows.sum(), 1.0))
        p = np.exp(theta["log_theta"])
        return rng.multinomial(length, p / p.sum(-1, keepdims=True))

    def linear(self, theta: Theta) -> tuple[Array, Array]:
        return theta["log_theta"], np.zeros(len(theta["log_theta"]))

    def pymc_cells(self, name: str, theta: Mapping[str, Any], x: Bag, row: Array, column: Array) -> None:
        import pymc as pm

        counts = dense_counts(x)[row]
        if (counts != np.floor(counts)).any():
            raise ValueError('fractions of words have no rows in PyMC; use likelihood="statistics"')
        pm.Multinomial(name, n=counts.sum(axis=1), p=theta["theta"], observed=counts.astype(int))

    def pymc_log_likelihood(self, theta: Mapping[str, Any], x: Bag) -> Any:
        from pytensor import tensor as pt

        counts = dense_counts(x)
        return pt.dot(counts, pt.log(theta["theta"]).T) + orders(counts)[1][:, None]
