"""Bags of words: the counts of each row, and the words counted by class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import gammaln

from bayesnb.families.columns import united
from bayesnb.kernels import sparse_rows
from bayesnb.kernels.blocks import each, large_enough, slices
from bayesnb.numerics import Array, disagreement, log_rising
from bayesnb.statistics.membership import Column
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


def counts(x: Bag) -> Column:
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
    dense = counts(x)
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
