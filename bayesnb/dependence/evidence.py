"""Evidence that two columns depend on each other given the class, such as Bayes factors and mutual information."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.random import Generator
from scipy.special import logsumexp, xlogy

from bayesnb.dependence.columns import SCREEN_DEPTH, Cells, DependenceStatistics, Grid
from bayesnb.dependence.learning import learn
from bayesnb.dependence.pairs import ROWS_OF_PRIOR, PairCounts, shares_of
from bayesnb.dependence.terms import TermSet
from bayesnb.model import Data, Posterior, part_of, pieces
from bayesnb.model.order import Order
from bayesnb.numerics import Array
from bayesnb.statistics.statistic import Labels

SAMPLE = 4096
"""Largest number of rows to compute gains from; counts use all rows."""

DRAWS = 200
"""Number of draws of a pair's mutual information."""


def evidence_of_pairs(
    posterior: Posterior, data: Data, labels: Labels, level: float
) -> tuple[pd.DataFrame, tuple[Any, ...]]:
    """A table of the evidence that each pair of columns is dependent given the class, and the names of all columns."""
    # Real columns are cut at quartiles for the mutual information and for dependence of any form. They are cut into
    # sixteen intervals for the gain and for monotone dependence.
    grid, counts, finer = counted_pairs(posterior, data, labels)
    called, rng, rows = grid.names(posterior.piece_names()), np.random.default_rng(0), []
    factors = log_bayes_factors(counts, finer, are_ordered(posterior, grid))
    for (i, j), n, factor in zip(counts.pairs, counts.each(), factors, strict=True):
        drawn = _information(n, rng)
        low, high = np.quantile(drawn, [0.5 - level / 2, 0.5 + level / 2])
        rows.append((called[i], called[j], factor, drawn.mean(), low, high))
    found = pd.DataFrame(rows, columns=["first", "second", "log_bayes_factor", "information", "lower", "upper"])
    found["gain"], found["se"], found["score"] = _gains(posterior, TermSet(finer), data, labels)
    return found.sort_values("log_bayes_factor", ascending=False, kind="stable", ignore_index=True), tuple(called)


def counted_pairs(posterior: Posterior, data: Data, labels: Labels) -> tuple[Grid, PairCounts, DependenceStatistics]:
    """The intervals or levels of each column, and two contingency tables for each pair of columns: coarse and fine."""
    grid = Grid.of(posterior, data, labels.weight, Order.under(posterior.model, data, labels))
    which = grid.searched()
    fine = Cells(grid, False, tuple(which), ()).statistics(posterior, data, labels)
    return grid, grid.counted(data, labels, which, SCREEN_DEPTH), fine


def are_ordered(posterior: Posterior, grid: Grid) -> Array:
    """Whether each column is ordered: columns of numbers, of ordered levels, or of two levels."""
    each = [posterior.pieces[term] for term in grid.terms]
    levels = [piece.column is not None and piece.family.order_of(piece.column) is not None for piece in each]
    return np.array([axis.size == 2 for axis in grid.axes(0)], bool) | grid.real | np.array(levels, bool)


def log_bayes_factors(coarse: PairCounts, fine: DependenceStatistics, ordered: Array) -> Array:
    """Log Bayes factors of dependence given the class, (pair,)."""
    # Over all permutations of one column within a class, the mean Bayes factor is about 1. If both columns are ordered,
    # two kinds of dependence have a prior probability of ½ each: any table of the coarse cells, and monotone dependence
    # of the fine cells, with one parameter per class.
    found = coarse.log_bayes_factors(by_class=True)
    for k, ((i, j), n) in enumerate(zip(fine.pairs.pairs, fine.pairs.each(), strict=True)):
        if ordered[i] and ordered[j]:
            found[k] = np.logaddexp(found[k], _log_bayes_factor_of_order(n)) - np.log(2)
    return found


def _log_bayes_factor_of_order(counts: Array) -> float:
    """Log Bayes factor of monotone dependence of two columns within each class."""
    # Let s, from -1 to 1, be the grade of a cell of the first column: the share of the class's rows below the cell less
    # the share above it. Let t be the grade of a cell of the second column. Dependence multiplies the probability of a
    # pair of cells by 1 + θ s t with θ uniform on [-1, 1] (the copula of Farlie, Gumbel and Morgenstern). Over all
    # orders of the second cells, the mean of the product of 1 + θ s t is nearly (1 - θ² var(s) var(t))^-½, by which the
    # product is divided. The integral over θ is a sum over 16 values.
    theta, weight = np.polynomial.legendre.leggauss(16)
    p, q = shares_of(counts.sum(2)), shares_of(counts.sum(1))
    s, t = (2 * np.cumsum(share, 1) - share - share.sum(1, keepdims=True) for share in (p, q))
    variances = (p * s**2).sum(1) * (q * t**2).sum(1)
    product = np.log1p(theta[:, None, None, None] * (s[:, :, None] * t[:, None, :]))
    log_ratio = np.einsum("cab,kcab->kc", counts, product) + np.log1p(-(theta[:, None] ** 2) * variances) / 2
    return float(logsumexp(log_ratio, axis=0, b=weight[:, None] / 2).sum())


def _gains(posterior: Posterior, terms_of_pairs: TermSet, data: Data, labels: Labels) -> tuple[Array, Array, Array]:
    """For the term of each pair: the decrease in leave-one-out log loss, its standard error, and Rao's score."""
    # Let s be a row's log joint with the row left out, and r the term of a pair, with the row left out too. If only
    # this pair is modelled, the log joint is exactly s + r. If the pair is added to the weighted model with an exponent
    # v, the derivative of a row's log probability in v at 0 is r_y - Σ_c p_c r_c. The score is the sum of these over
    # rows, divided by its standard error (Rao's score test). It is conservative, because the other exponents were
    # learned from the same rows.
    many = len(terms_of_pairs.statistics.pairs.pairs)
    weighted = learn(posterior, data, labels, "weighted")
    left, alone = labels.once(), posterior.only(())
    drawn, own = Order.under(posterior.model, data, labels).drawn(labels, SAMPLE, 0)
    some, times = np.arange(len(labels))[drawn], own.weight
    total, sums = 0.0, np.zeros((4, many))
    for cut in pieces.in_blocks(len(some), labels.n, many):
        part, rows, weight = part_of(data, some[cut]), left[some[cut]], times[cut]
        own, columns = (np.arange(len(rows)), rows.codes), pieces.left_out(posterior, part, rows)
        r = terms_of_pairs.beside(posterior, part, rows)
        joint = alone.log_left_out({}, rows) + columns.sum(-1)
        more = joint[:, :, None] + r
        plain = joint[own] - logsumexp(joint, axis=1)
        gain = more[own] - logsumexp(more, axis=1) - plain[:, None]
        p = np.exp(weighted.log_left_out(posterior, part, rows))
        slope = r[own] - np.einsum("rc,rct->rt", p, r)
        total += weight.sum()
        sums += [weight @ v for v in (gain, gain**2, slope, slope**2)]
    gain, square = sums[:2] / max(total, 1.0)
    se = np.sqrt(np.maximum(square - gain**2, 0) / max(total, 1.0))
    return gain, se, sums[2] / np.sqrt(np.where(sums[3] > 0, sums[3], 1.0))


def _information(counts: Array, rng: Generator) -> Array:
    """Draws of a pair's mutual information given the class, adjusted for chance, in nats, (draw,)."""
    # The cells of a class have a Dirichlet prior around the product of its margins. The information I of the observed
    # frequencies is too large by about (number of free cells) / (2 × number of rows). The posterior mean of I is too
    # large by about double this amount. So the draws are shifted to the mean I, and then adjusted for chance (Vinh,
    # Epps and Bailey 2010): I becomes (I - E) H / (H - E), or 0 if negative, where E is the mean information of
    # independent tables with the same margins, and H the largest.
    n = counts.sum((1, 2))
    counts, n = counts[n > 0], n[n > 0]
    if not len(n):
        return np.zeros(DRAWS)
    share = n / n.sum()
    a, b = shares_of(counts.sum(2)), shares_of(counts.sum(1))
    independent = a[:, :, None] * b[:, None, :]

    def information(p: Array) -> Array:
        first, second = p.sum(-1, keepdims=True), p.sum(-2, keepdims=True)
        return (xlogy(p, p) - xlogy(p, first) - xlogy(p, second)).sum((-2, -1)) @ share

    p = rng.standard_gamma(np.broadcast_to(ROWS_OF_PRIOR * independent + counts, (DRAWS, *counts.shape)))
    drawn = information(p / p.sum((2, 3), keepdims=True))
    rows = np.maximum(np.rint(n), 1).astype(int)
    chance = rng.multinomial(rows, independent.reshape(len(n), -1), (DRAWS, len(n)))
    by_chance = float(information(chance.reshape(p.shape) / rows[:, None, None]).mean())
    most = min(float(-xlogy(margin, margin).sum(1) @ share) for margin in (a, b))
    centred = drawn - drawn.mean() + information(counts / n[:, None, None])
    return np.clip((centred - by_chance) * most / max(most - by_chance, 1e-9), 0.0, most)
