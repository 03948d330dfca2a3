"""Rows of counts that share one θ: the bag-of-words model, whose predictive is Dirichlet-multinomial."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy.special import gammaln

from bayesnb.families import words
from bayesnb.families.columns import BAG
from bayesnb.families.conjugate import Added, Conjugate
from bayesnb.families.words import LONG, Bag, WordCounts
from bayesnb.kernels import sparse_rows
from bayesnb.kernels.blocks import CELLS, slices
from bayesnb.kernels.sparse_rows import products
from bayesnb.numerics import Array, deviance, log_peak, log_rising
from bayesnb.priors import Dirichlet, ImproperError, Theta, first
from bayesnb.statistics.membership import Column, Labels


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
        counts = words.counts(x)
        lengths, base = words.orders(counts)
        long = words.long_rows(lengths)
        if not len(long):
            return self._of_short(x, counts, base, members)
        short = np.setdiff1d(np.arange(len(x)), long)
        parts = [long[cut] for cut in slices(len(long), max(1, CELLS // max(1, len(x.words))))]
        long_ones = (self._of_long(x[rows], members[rows]) for rows in parts)
        return reduce(add, long_ones, self._of_short(x[short], counts[short], base[short], members[short]))

    def _of_short(self, x: Bag, counts: Column, base: Array, members: Labels) -> WordCounts:
        """The statistic of short rows, whose log base measures can simply be added."""
        base, totals = members.totals(base[:, None]), members.totals(counts)
        fractions = members.totals(words.fractional(counts))
        rows = members.totals(~x.missing()[:, None])
        return WordCounts(totals, rows, base + Dirichlet.peak(totals)[:, None], fractions, x.words)

    def _of_long(self, x: Bag, members: Labels) -> WordCounts:
        """The statistic of long rows: the log-likelihood of each at its best θ, minus how much the rows disagree."""
        counts = words.dense_counts(x)
        totals, lengths = members.totals(counts), counts.sum(-1, keepdims=True)
        share = totals / np.maximum(totals.sum(-1, keepdims=True), np.finfo(float).tiny)

        expected = lengths * (of_row := share[members.codes])
        cost = np.where(of_row > 0, deviance(counts, expected, counts - expected), 0.0)
        own = log_peak(counts).sum(-1, keepdims=True) - log_peak(lengths)
        apart = members.totals(cost).sum(-1, keepdims=True)
        fractions = members.totals(words.fractional(counts))
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
        counts = words.dense_counts(x)[:, None, None]
        return (counts,), log_peak(counts).sum(-1) - log_peak(counts.sum(-1))

    def log_likelihood(self, theta: Theta, x: Bag) -> Array:
        counts, table = words.counts(x), theta["log_theta"]
        never = np.isneginf(table)
        total = products(counts, np.where(never, 0.0, table)) + words.orders(counts)[1][:, None]
        return np.where(products(counts, never.astype(float)) > 0, -np.inf, total) if never.any() else total

    def log_predictive(self, posterior: Dirichlet, x: Bag) -> Array:
        posterior.require_proper("A predictive")
        counts = words.counts(x)
        if not words.sparse_and_large(counts, len(posterior.alpha)):
            return self.log_moment(posterior, x, 1.0)
        lengths, factorials = sparse_rows.log_factorials(counts)
        whole = words.log_rising_of_lengths(posterior.total, lengths) - (gammaln(lengths + 1) - factorials)[:, None]
        total = sparse_rows.rising(counts, posterior.alpha) - whole
        return self._with_long(total, posterior, x, lengths, np.ones(total.shape))

    def log_moment(self, posterior: Dirichlet, x: Bag, t: float | Array) -> Array:
        # A row has few of all words, so only its own words are summed over.
        t = np.broadcast_to(np.asarray(t, float), (len(x), len(posterior.alpha)))
        counts = words.counts(x)
        lengths, base = words.orders(counts)
        own = np.stack([words.rising(alpha, counts, t[:, c]) for c, alpha in enumerate(posterior.alpha)], axis=1)
        whole = log_rising(posterior.total, t * lengths[:, None])
        total = np.where(np.isposinf(own), np.inf, own - np.where(np.isposinf(whole), 0.0, whole))
        return self._with_long(total + t * base[:, None], posterior, x, lengths, t)

    def _with_long(self, total: Array, posterior: Dirichlet, x: Bag, lengths: Array, t: Array) -> Array:
        """The same, with the moments of the long rows replaced by those that follow from ``cells``."""
        if len(long := words.long_rows(lengths)):
            total[long] = super().log_moment(posterior, x[long], t[long])
        return total

    def of_reals(self, posterior: Dirichlet, x: Bag, labels: Labels | None = None) -> Array:
        counts = words.counts(x)
        (lengths, base), own = words.orders(counts), np.zeros(len(x))
        if words.sparse_and_large(counts):
            own = sparse_rows.rising(counts, posterior.alpha, labels.codes, labels.weight)
        else:
            for c in np.unique(labels.codes):
                rows = np.flatnonzero(labels.codes == c)
                own[rows] = words.rising(posterior.alpha[c], counts[rows], np.ones(len(rows)), labels.weight[rows])
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

        counts = words.dense_counts(x)[row]
        if (counts != np.floor(counts)).any():
            raise ValueError('fractions of words have no rows in PyMC; use likelihood="statistics"')
        pm.Multinomial(name, n=counts.sum(axis=1), p=theta["theta"], observed=counts.astype(int))

    def pymc_log_likelihood(self, theta: Mapping[str, Any], x: Bag) -> Any:
        from pytensor import tensor as pt

        counts = words.dense_counts(x)
        return pt.dot(counts, pt.log(theta["theta"]).T) + words.orders(counts)[1][:, None]
