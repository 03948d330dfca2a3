"""Bags of words."""

from __future__ import annotations

from collections.abc import Mapping
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
from bayesnb.kernels.blocks import CELLS, COMPILED_FROM, slices
from bayesnb.kernels.sparse_rows import products
from bayesnb.numerics import Array, deviance, disagreement, log_peak, log_rising
from bayesnb.priors import Dirichlet, ImproperError, Theta, first
from bayesnb.statistics.statistic import Column, Labels, Statistic

LONG = 2**13
"""Number of words above which a row is called long: differences of its log factorials would lose digits."""

DEAR = 4
"""Cost of a log factorial, in additions."""


@dataclass(frozen=True, eq=False)
class Bag:
    """Counts of words: ``counts`` (row, level), dense or sparse, and ``words``, the names of the levels."""

    counts: Column
    words: tuple[Any, ...]
    held: Array | None = None  # The rows that are not missing, if the counts are sparse.

    def __len__(self) -> int:
        return self.counts.shape[0]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.counts.shape

    def __getitem__(self, rows: Any) -> Bag:
        return Bag(self.counts[rows], self.words, None if self.held is None else self.held[rows])

    def missing(self) -> Array:
        if self.held is not None:
            return ~self.held
        return np.zeros(len(self), bool) if sparse.issparse(self.counts) else np.isnan(self.counts).all(axis=1)


@dataclass(frozen=True, eq=False)
class WordCounts(Statistic):
    """Sufficient statistic of bags of words."""

    counts: Array
    """Counts of the words, (class, level)."""
    rows: Array
    """Weight of the rows, (class, 1)."""
    log_peak: Array
    """Maximum log-likelihood of all rows, (class, 1)."""
    fractions: Array
    """Weight of the rows with fractional counts, (class, 1)."""
    words: tuple[Any, ...]

    signed = frozenset({"log_peak"})

    def __add__(self, other: WordCounts) -> WordCounts:
        words = self.words if self.words == other.words else united(self.words, other.words)
        mine, theirs = (each.with_words(words).counts for each in (self, other))
        lengths = (counts.sum(-1, keepdims=True) for counts in (mine, theirs))
        apart = disagreement(mine, theirs, *lengths).sum(-1, keepdims=True)
        log_peak = self.log_peak + other.log_peak - apart
        return WordCounts(mine + theirs, self.rows + other.rows, log_peak, self.fractions + other.fractions, words)

    def with_words(self, words: tuple[Any, ...]) -> WordCounts:
        """Return a copy of these counts for the vocabulary ``words``. New words have the count 0."""
        if self.words == words:
            return self
        place = {word: k for k, word in enumerate(words)}
        kept = [k for k, word in enumerate(self.words) if word in place]
        counts = np.zeros((len(self.counts), len(words)))
        counts[:, [place[self.words[k]] for k in kept]] = self.counts[:, kept]
        return replace(self, counts=counts, words=words)

    def named_as(self, other: WordCounts) -> WordCounts:
        return self.with_words(other.words)

    def seen(self) -> Array:
        return self.rows


def counts_of(x: Bag) -> sparse.csr_array:
    """The counts as sparse floats without duplicate entries; a missing row has no words."""
    if not sparse.issparse(x.counts):
        return sparse.csr_array(np.nan_to_num(np.asarray(x.counts, float), nan=0.0))
    stored = x.counts
    if not (isinstance(stored, sparse.csr_array) and stored.dtype == float):
        stored = sparse.csr_array(stored, dtype=float)
    if not stored.has_canonical_format:
        stored = stored.copy()
        stored.sum_duplicates()
    return stored


def row_sums(counts: sparse.csr_array, value: Array) -> Array:
    """For each row, the sum of ``value`` over stored cells."""
    return np.bincount(row_of_cells(counts), value, minlength=counts.shape[0])


def row_of_cells(counts: sparse.csr_array) -> Array:
    """The row number of each stored cell of a sparse matrix."""
    return np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))


def long_rows(lengths: Array) -> Array:
    """Positions of long rows."""
    return np.flatnonzero((lengths > LONG) & (lengths < np.inf))


# Each of these sums has a compiled loop for many cells, and a numpy form with the same result up to rounding.


def orders(counts: sparse.csr_array) -> tuple[Array, Array, Array]:
    """For each row: total N, log number of word orders (ln N! - Σ ln x!), and whether a count is fractional."""
    if DEAR * counts.nnz >= COMPILED_FROM:
        lengths, factorials, fractions = sparse_rows.log_factorials(counts)
    else:
        cells = counts.data
        lengths, factorials = row_sums(counts, cells), row_sums(counts, gammaln(cells + 1))
        fractions = (row_sums(counts, cells != np.floor(cells)) > 0).astype(float)
    return lengths, rising_of_lengths(np.ones(1), lengths, 1.0)[:, 0] - factorials, fractions


def rising(alpha: Array, counts: sparse.csr_array, t: Any = 1.0) -> Array:
    """Sum over words of ln Γ(α_k + t n_k) - ln Γ(α_k), for word counts n and concentrations α, (row, class)."""
    if np.ndim(t) == 0 and t == 1 and counts.nnz * len(alpha) >= COMPILED_FROM:
        return sparse_rows.rising(counts, alpha)
    row, t = row_of_cells(counts), np.broadcast_to(t, (counts.shape[0], len(alpha)))
    cells = (log_rising(own[counts.indices], t[row, c] * counts.data) for c, own in enumerate(alpha))
    return np.stack([row_sums(counts, value) for value in cells], axis=1)


def rising_left_out(alpha: Array, counts: sparse.csr_array, labels: Labels) -> Array:
    """Like ``rising`` for each learned row in its class, after subtracting the row from the concentrations α."""
    if DEAR * counts.nnz >= COMPILED_FROM:
        return sparse_rows.rising(counts, alpha, labels.codes, labels.weight)
    row = row_of_cells(counts)
    left = alpha[labels.codes[row], counts.indices] - labels.weight[row] * counts.data
    return row_sums(counts, log_rising(np.maximum(left, 0.0), counts.data))


def rising_of_lengths(total: Array, lengths: Array, t: Any) -> Array:
    """ln Γ(A + t N) - ln Γ(A), (row, class), for row totals N, total concentrations A and a power t."""
    if np.ndim(t) > 0:
        return log_rising(total, t * lengths[:, None])
    # Rows outnumber the distinct lengths; numbers are sorted only if some length is a fraction or large.
    if lengths.max(initial=0.0) < len(lengths) and (lengths == (place := lengths.astype(np.intp))).all():
        distinct = np.arange(place.max(initial=0) + 1.0)
    else:
        distinct, place = np.unique(lengths, return_inverse=True)
    return log_rising(total, t * distinct[:, None])[place]


@dataclass(frozen=True, eq=False)
class Multinomial(Conjugate[Dirichlet, WordCounts]):
    """x | θ ~ Multinomial(N, θ) with θ ~ Dirichlet(α), given the total count N of the row.

    All counts of a row share one θ, so the predictive distribution is the Dirichlet-multinomial (Murphy, PML1, 4.6.3,
    and Madsen, Kauchak and Elkan 2005). A row in which all cells are NaN is missing. With fractions, such as tf-idf
    weights, the likelihood is not a probability.

    Examples
    --------
    >>> from bayesnb import BayesianNB
    >>> clf = BayesianNB(Multinomial()).fit([[3, 0, 1], [1, 1, 0]], ["a", "b"])
    >>> clf.predict_proba([[1, 0, 0], [10, 0, 0]]).round(2)  # ten words are not ten independent words
    array([[0.59, 0.41],
           [0.76, 0.24]])
    """

    prior: Any = field(default_factory=Dirichlet)

    support = BAG
    term = "bag"
    reads_sparse = True

    def statistic(self, x: Bag, members: Labels) -> WordCounts:
        counts = counts_of(x)
        lengths, *of_rows = orders(counts)
        of_rows = np.stack(of_rows, axis=1)
        long = long_rows(lengths)
        if not len(long):
            return self._of_short(x, counts, of_rows, members)
        short = np.setdiff1d(np.arange(len(x)), long)
        parts = [long[cut] for cut in slices(len(long), max(1, CELLS // max(1, len(x.words))))]
        long_ones = (self._of_long(x[rows], of_rows[rows, 1:], members[rows]) for rows in parts)
        return reduce(add, long_ones, self._of_short(x[short], counts[short], of_rows[short], members[short]))

    def _of_short(self, x: Bag, counts: Column, of_rows: Array, members: Labels) -> WordCounts:
        base, fractions = members.totals(of_rows)[:, :, None].swapaxes(0, 1)
        totals = members.totals(counts)
        rows = members.totals(~x.missing()[:, None])
        return WordCounts(totals, rows, base + Dirichlet.peak(totals)[:, None], fractions, x.words)

    def _of_long(self, x: Bag, fractions: Array, members: Labels) -> WordCounts:
        counts = counts_of(x).toarray()
        totals, lengths = members.totals(counts), counts.sum(-1, keepdims=True)
        share = totals / np.maximum(totals.sum(-1, keepdims=True), np.finfo(float).tiny)

        expected = lengths * (of_row := share[members.codes])
        cost = np.where(of_row > 0, deviance(counts, expected, counts - expected), 0.0)
        own = log_peak(counts).sum(-1, keepdims=True) - log_peak(lengths)
        apart = members.totals(cost).sum(-1, keepdims=True)
        fractions = members.totals(fractions)
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

    def added(self, s: WordCounts) -> tuple[Array, ...]:
        return (s.counts,)

    def log_h(self, s: WordCounts) -> Array:
        return s.log_peak[:, 0]

    def said(self, x: Bag) -> Added:
        counts = counts_of(x).toarray()[:, None, None]
        return (counts,), log_peak(counts).sum(-1) - log_peak(counts.sum(-1))

    def log_likelihood(self, theta: Theta, x: Bag) -> Array:
        counts, table = counts_of(x), theta["log_theta"]
        never = np.isneginf(table)
        total = products(counts, np.where(never, 0.0, table)) + orders(counts)[1][:, None]
        return np.where(products(counts, never.astype(float)) > 0, -np.inf, total) if never.any() else total

    def log_moment(self, posterior: Dirichlet, x: Bag, t: float | Array) -> Array:
        # A row contains few of the words, so the sum is over the words in the row only.
        counts = counts_of(x)
        lengths, base, _ = orders(counts)
        t = t if np.ndim(t) == 0 else np.broadcast_to(t, (len(x), len(posterior.alpha)))
        own, whole = rising(posterior.alpha, counts, t), rising_of_lengths(posterior.total, lengths, t)
        total = np.where(np.isposinf(own), np.inf, own - np.where(np.isposinf(whole), 0.0, whole))
        total += t * base[:, None]
        # Moments of long rows are computed by the base class, from ``cells``.
        if len(long := long_rows(lengths)):
            total[long] = super().log_moment(posterior, x[long], t if np.ndim(t) == 0 else t[long])
        return total

    def of_reals(self, posterior: Dirichlet, x: Bag, labels: Labels | None = None) -> Array:
        if labels is None:
            return self.log_moment(posterior, x, 1.0)
        counts = counts_of(x)
        lengths, base, _ = orders(counts)
        left = posterior.total[labels.codes] - labels.weight * lengths
        total = rising_left_out(posterior.alpha, counts, labels) - log_rising(left, lengths) + base
        # NaN sends a row to the formula of the base class: long rows, and rows without which the class is improper.
        return np.where((lengths > LONG) | (left <= 0) & (lengths > 0), np.nan, total)

    def sample(self, theta: Theta, rng: Generator, s: WordCounts) -> Array:
        # The model has no distribution of row lengths, so new rows get the average length.
        length = round(s.counts.sum() / max(s.rows.sum(), 1.0))
        p = np.exp(theta["log_theta"])
        return rng.multinomial(length, p / p.sum(-1, keepdims=True))

    def linear(self, theta: Theta) -> tuple[Array, Array]:
        return theta["log_theta"], np.zeros(len(theta["log_theta"]))

    def pymc_cells(self, name: str, theta: Mapping[str, Any], x: Bag, row: Array, column: Array) -> None:
        import pymc as pm

        counts = counts_of(x).toarray()[row]
        if (counts != np.floor(counts)).any():
            raise ValueError('fractions of words have no rows in PyMC; use likelihood="statistics"')
        pm.Multinomial(name, n=counts.sum(axis=1), p=theta["theta"], observed=counts.astype(int))

    def pymc_log_likelihood(self, theta: Mapping[str, Any], x: Bag) -> Any:
        from pytensor import tensor as pt

        counts = counts_of(x)
        return pt.dot(counts.toarray(), pt.log(theta["theta"]).T) + orders(counts)[1][:, None]
