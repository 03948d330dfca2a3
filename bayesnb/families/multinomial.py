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

from bayesnb.families.categorical import log_share, united
from bayesnb.families.family import Discrete, Statistic, Theta, impossible, per, products, require_left, rising_ratio
from bayesnb.families.membership import Column, Labels, Membership
from bayesnb.kernels import densities
from bayesnb.kernels.blocks import CELLS, slices, worth
from bayesnb.numerics import deviance, disagreement, log_peak
from bayesnb.priors import Array, Dirichlet, log, log_gamma_slopes, log_rising

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
class Totals(Statistic):
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

    def __add__(self, other: Totals) -> Totals:
        words = self.words if self.words == other.words else united(self.words, other.words)
        mine, theirs = self._over(words), other._over(words)
        lengths = (counts.sum(-1, keepdims=True) for counts in (mine, theirs))
        apart = disagreement(mine, theirs, *lengths).sum(-1, keepdims=True)
        return Totals(mine + theirs, self.rows + other.rows, self.log_peak + other.log_peak - apart, words)

    def _over(self, words: tuple[Any, ...]) -> Array:
        if self.words is words or self.words == words:
            return self.counts
        place = {word: k for k, word in enumerate(words)}
        wide = np.zeros((len(self.counts), len(words)))
        wide[:, [place[word] for word in self.words]] = self.counts
        return wide

    def __mul__(self, factor: float) -> Totals:
        return Totals(self.counts * factor, self.rows * factor, self.log_peak * factor, self.words)

    def seen(self) -> Array:
        return self.rows

    @classmethod
    def of_cells(cls, cells: Mapping[str, Array], columns: tuple[Any, ...], levels: Any) -> Totals:
        return cls(**cells, words=columns)

    def of_older_file(self) -> Totals:
        return replace(self, log_peak=self.log_peak + self.fitted())

    def fitted(self) -> Array:
        """What the log-likelihood at the best θ has beside the base measure, Σ n ln(n / N), as (class, 1)."""
        return log_share(self.counts)[:, None]


@dataclass(frozen=True, eq=False)
class Multinomial(Discrete[Dirichlet, Totals]):
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

    def flat(self) -> Multinomial:
        return Multinomial(Dirichlet.flat())

    def statistic(self, x: Bag, members: Membership) -> Totals:
        counts = _counts(x)
        long = _long(_lengths(counts))
        if not len(long):
            return self._of_short(x, counts, members)
        short = np.setdiff1d(np.arange(len(x)), long)
        parts = [long[cut] for cut in slices(len(long), max(1, CELLS // max(1, len(x.words))))]
        long_ones = (self._of_long(x[rows], members[rows]) for rows in parts)
        return reduce(add, long_ones, self._of_short(x[short], counts[short], members[short]))

    def _of_short(self, x: Bag, counts: Column, members: Membership) -> Totals:
        """The same of rows of few words, whose base measures can be added as they are."""
        base, totals = members.totals(_log_coefficient(counts)[:, None]), members.totals(counts)
        if sparse.issparse(x.counts):
            rows = members.weights()[:, None]
        else:
            rows = members.totals(~np.isnan(x.counts).all(axis=1)[:, None])
        return Totals(totals, rows, base + log_share(totals)[:, None], x.words)

    def _of_long(self, x: Bag, members: Membership) -> Totals:
        """The same of rows of many words: each at the θ that fits it best, less how far the rows are apart."""
        counts = _dense(_counts(x))
        totals, lengths = members.totals(counts), counts.sum(-1, keepdims=True)
        share = totals / np.maximum(totals.sum(-1, keepdims=True), np.finfo(float).tiny)

        def cost(share: Array) -> Array:
            each = deviance(counts, lengths * share, counts - lengths * share)
            return np.where(share > 0, each, 0.0)

        own = log_peak(counts).sum(-1, keepdims=True) - log_peak(lengths)
        apart = members.costs(cost, share).sum(-1, keepdims=True)
        return Totals(totals, members.weights()[:, None], members.totals(own) - apart, x.words)

    def complete(self, prior: Dirichlet, s: Totals) -> Dirichlet:
        return Dirichlet(prior.over((s.words,), s.counts.shape[0]).alpha[:, 0])

    def update(self, prior: Dirichlet, s: Totals) -> Dirichlet:
        return Dirichlet(prior.alpha + s.counts)

    def log_base(self, prior: Dirichlet, s: Totals) -> Array:
        return (s.log_peak - s.fitted())[:, 0] + impossible(((prior.alpha == 0) & (s.counts > 0)).any(-1))

    def log_ratio(self, prior: Dirichlet, s: Totals) -> Array:
        return prior.along(s.counts) + s.log_peak[:, 0]

    def simplex(self, posterior: Dirichlet) -> Dirichlet:
        return posterior

    def log_likelihood(self, theta: Theta, x: Bag) -> Array:
        counts, table = _counts(x), theta["log_theta"]
        never = np.isneginf(table)
        total = products(counts, np.where(never, 0.0, table)) + _log_coefficient(counts)[:, None]
        return total + impossible(products(counts, never.astype(float))) if never.any() else total

    def log_predictive(self, posterior: Dirichlet, x: Bag) -> Array:
        counts = _counts(x)
        if not _worth(counts, len(posterior.alpha)):
            return self.log_moment(posterior, x, 1.0)
        lengths, factorials = densities.log_factorials(counts)
        whole = _log_rising_of_lengths(posterior.total, lengths) - (gammaln(lengths + 1) - factorials)[:, None]
        total = densities.rising(counts, posterior.alpha) - whole
        long = _long(lengths)
        total[long] = self._log_moment(posterior, counts[long], np.ones((len(long), 1)))
        return total

    def log_moment(self, posterior: Dirichlet, x: Bag, t: float | Array) -> Array:
        counts = _counts(x)
        lengths = _lengths(counts)
        t = np.broadcast_to(np.asarray(t, float), (len(x), len(posterior.alpha)))
        words = [_rising(alpha, counts, t[:, c]) for c, alpha in enumerate(posterior.alpha)]
        whole = log_rising(posterior.total, t * lengths[:, None])
        total = rising_ratio(np.stack(words, axis=1), whole) + t * _log_coefficient(counts)[:, None]
        long = _long(lengths)
        total[long] = self._log_moment(posterior, counts[long], t[long])
        return total

    def _log_moment(self, posterior: Dirichlet, counts: Column, t: Array) -> Array:
        """The same of rows of many words, without terms of the size of their number."""
        total = np.zeros((counts.shape[0], len(posterior.alpha)))
        for cut in slices(len(total), max(1, CELLS // max(1, posterior.alpha.size))):
            n = _dense(counts[cut])[:, None]
            peak = log_peak(n).sum(-1) - log_peak(n.sum(-1))
            total[cut] = posterior.along(n, t[cut]) + t[cut] * peak
        return total

    def log_moment_slopes(self, posterior: Dirichlet, x: Bag, t: float | Array) -> tuple[Array, Array]:
        counts = _counts(x)
        lengths, base = _lengths(counts), _log_coefficient(counts)
        t = np.broadcast_to(np.asarray(t, float), (len(x), len(posterior.alpha)))
        whole = log_gamma_slopes(posterior.total + t * lengths[:, None])
        first, second = base[:, None] - lengths[:, None] * whole[0], -(lengths[:, None] ** 2) * whole[1]
        row, word, n = _stored(counts)
        for c, alpha in enumerate(posterior.alpha):
            own = log_gamma_slopes(alpha[word] + t[row, c] * n)
            first[:, c] += np.bincount(row, n * own[0], minlength=len(x))
            second[:, c] += np.bincount(row, n**2 * own[1], minlength=len(x))
        return first, second

    def moment_floor(self, posterior: Dirichlet, x: Bag) -> Array:
        row, word, n = _stored(_counts(x))
        lowest = np.full((len(x), len(posterior.alpha)), np.inf)
        for c, alpha in enumerate(posterior.alpha):
            with np.errstate(divide="ignore", invalid="ignore"):
                np.fmin.at(lowest[:, c], row, alpha[word] / n)
        return -lowest

    def log_left_out(self, posterior: Dirichlet, x: Bag, labels: Labels) -> Array:
        counts = _counts(x)
        lengths, own = _lengths(counts), np.zeros(len(x))
        if _worth(counts):
            own = densities.rising(counts, posterior.alpha, labels.codes, labels.weight)
        else:
            for c in np.unique(labels.codes):
                rows = np.flatnonzero(labels.codes == c)
                own[rows] = _rising(posterior.alpha[c], counts[rows], np.ones(len(rows)), labels.weight[rows])
        total = own - self._whole_left_out(posterior, lengths, labels) + _log_coefficient(counts)
        for i in _long(lengths):
            n = _dense(counts[[i]])
            alpha = np.maximum(posterior.alpha[labels.codes[i]] - labels.weight[i] * n, 0.0)
            total[i] = self._log_moment(Dirichlet(alpha), n, np.ones((1, 1)))[0, 0]
        return total

    def _whole_left_out(self, posterior: Dirichlet, lengths: Array, labels: Labels) -> Array:
        """ln Γ(A + N) - ln Γ(A) of each row, A less the row's own words."""
        left = posterior.total[labels.codes] - labels.weight * lengths
        require_left(np.where(lengths > 0, left, 1.0)[:, None], labels)
        return log_rising(left, lengths)

    def sample(self, theta: Theta, rng: Generator, s: Totals) -> Array:
        # The model takes a row's length as given; new rows get the average length.
        length = round(s.counts.sum() / max(s.rows.sum(), 1.0))
        p = np.exp(theta["log_theta"])
        return rng.multinomial(length, p / p.sum(-1, keepdims=True))

    def linear(self, theta: Theta) -> tuple[Array, Array]:
        return theta["log_theta"], np.zeros(len(theta["log_theta"]))

    def variables(self, theta: Theta) -> dict[str, Array]:
        return {"theta": np.exp(theta["log_theta"])}

    def theta(self, variables: Mapping[str, Array]) -> Theta:
        return {"log_theta": log(variables["theta"])}

    def pymc_prior(self, prior: Dirichlet, name: Callable[[str], str], dims: tuple[str, ...]) -> dict[str, Any]:
        return {"theta": prior.pymc(name, dims)}

    def pymc_statistic(self, theta: Mapping[str, Any], s: Totals) -> Any:
        from pytensor import tensor as pt

        best = pt.switch(s.counts > 0, s.counts * pt.log(s.counts / s.counts.sum(-1, keepdims=True)), 0.0)
        return (s.counts * pt.log(theta["theta"]) - best).sum() + s.log_peak.sum()

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
