"""Class probabilities averaged over a Normal distribution of the exponents (powers of likelihoods).

No result depends on the order of rows, terms or classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.linalg import cholesky
from scipy.linalg.blas import dtrmm
from scipy.linalg.lapack import dpotrf, dsygst, dtrtri
from scipy.special import expit, log_ndtr, logsumexp, ndtr, ndtri

from bayesnb.dependence import likelihood
from bayesnb.dependence.exponents import Layout, Relative
from bayesnb.dependence.likelihood import Source
from bayesnb.kernels.blocks import CELLS, slices
from bayesnb.numerics import Array, log

WIDE, DENSITY, REACH = 4.0, 5, 8.0
"""For σ at most ``WIDE``, log-odds are integrated over z = (u - mean) / σ, with ``DENSITY`` nodes per unit, up to
±REACH.

A logistic function of σz has its nearest pole at π/σ, so the error of the trapezoidal rule is about
exp(-2π² DENSITY / σ), which is 2e-11 for σ = 4 (Trefethen and Weideman 2014).
"""

STEP = 0.7
LOG_ODDS = STEP * np.arange(-52, 53)
SLOPES = expit(LOG_ODDS) * expit(-LOG_ODDS)
SLOPES /= SLOPES.sum()
"""For larger σ the nodes are log-odds, and their weights are proportional to p(1 - p) there; the error is at most
1e-10. The weights add up to 1, so that the two classes are treated alike. See :func:`_mean_logistic`.
"""

POINTS = 1024
"""Points of a Sobol sequence for three and more classes.

Over 60 random rows each of 3, 5, 10 and 20 classes, the largest error of a probability is 0.001 to 0.002 and the mean
error at most 0.0002 if the scores have the standard deviation 1; for 3 it is 0.002 to 0.005, and at most 0.0008.
"""


FEW = 6
"""Largest number of classes for which the products of two classes are computed pair by pair."""


@dataclass(frozen=True, eq=False)
class Spread:
    """A Normal distribution of the parameters, with its weight in a model average."""

    weight: float
    mean: Array
    root: Array  # (parameter, rank): the covariance matrix is root @ root.T; rank 0 means fixed parameters

    @classmethod
    def at(cls, point: Array) -> Spread:
        return cls(1.0, point, np.zeros((len(point), 0)))

    def within(self, own: Layout, other: Layout) -> Spread:
        """Convert parameters from the layout ``own`` to the layout ``other``; parameters that ``own`` lacks are 0."""
        return Spread(self.weight, own.within(self.mean, other), np.ascontiguousarray(own.within(self.root.T, other).T))

    def draws(self, z: Array) -> Array:
        """Convert standard Normal numbers ``z`` to draws of the parameters, (draw, parameter)."""
        # The columns of ``z`` belong to the parameters in ascending order of ``mean``.
        order, found = np.argsort(self.mean, kind="stable"), np.empty_like(z)
        own = self.root[order]
        found[:, order] = z @ cholesky(own @ own.T)
        return self.mean + found

    def log_proba(self, layout: Layout, terms: Array, offset: Array, alike: Array) -> Array:
        """log p(c | x), (row, class), averaged over the Normal distribution of the parameters."""
        if not self.root.shape[1]:
            exponents = layout.exponents(self.mean)[None]
            return likelihood.log_posterior_of_classes(terms, offset, exponents, alike)[..., 0].T
        found = np.empty(offset.shape)
        for cut in self.blocks(layout, len(offset)):
            found[cut] = averaged(*self.scores(layout, terms[cut], offset[cut], alike[cut]))
        return found

    def blocks(self, layout: Layout, rows: int, points: int = POINTS) -> list[slice]:
        return slices(rows, max(16, likelihood.NUMBERS // max(1, layout.classes * max(points, self.root.shape[1]))))

    def scores(self, layout: Layout, terms: Array, offset: Array, alike: Array) -> tuple[Array, Array]:
        """Mean (row, class) and covariance (row, class, class) of log p(c, x) over the Normal of the parameters."""
        # terms: covariates with a value per class, (row, class, term); alike: with one value for all classes, (row,
        # covariate)
        n, rank, v = layout.terms, self.root.shape[1], layout.exponents(self.mean)
        mean = offset + (np.vecdot(terms, v[:, :n]) + alike @ v[:, n:].T)
        own, by_class = layout.own[layout.own < n], self.root[n:].reshape(layout.classes, len(layout.own), rank)
        if relative := layout.classes == 2 and not len(own):
            # Class probabilities depend only on the difference of the two scores, so the first score becomes 0.
            terms, by_class = terms[:, 1:] - terms[:, :1], by_class[1:] - by_class[:1]
            with np.errstate(invalid="ignore"):
                mean = np.where(np.isneginf(mean), mean, mean - mean[:, :1])
        roots = np.zeros((len(by_class), len(terms), rank))
        shared, of_class = _past_zeros(self.root[:n]), [_past_zeros(root) for root in by_class]
        for c, (root, some) in enumerate(zip(by_class, of_class, strict=True)):
            roots[c, :, shared] = terms[:, c] @ self.root[:n, shared]
            roots[c, :, some] += np.column_stack([terms[:, c, own], alike]) @ root[:, some]
        return mean, np.pad(_products(roots), ((0, 0), *2 * ((int(relative), 0),)))


def _past_zeros(root: Array) -> slice:
    """The slice of columns from the first column with a nonzero entry to the last column."""
    return slice(int(root.any(0).argmax()), None)


def averaged(mean: Array, covariance: Array) -> Array:
    """The log of the mean class probabilities, (row, class), if the log-odds are Normal."""
    # The log-odds of K classes are linear in the exponents, so they are Normal, too. The means are integrals over K - 1
    # dimensions.
    if mean.shape[1] == 2:
        center, sd = _log_odds(mean, covariance)
        return np.column_stack([_log_mean_logistic(-center, sd), _log_mean_logistic(center, sd)])
    p, weights, scale, order, alike = _at_nodes(mean, covariance, POINTS)
    found = scale + log(p @ weights).T
    if alike is not None:
        found = logsumexp(np.broadcast_to(found[:, None], alike.shape), axis=2, b=alike)
    return np.take_along_axis(found, order, 1)


def expected(mean: Array, covariance: Array, points: int = POINTS) -> tuple[Array, Array]:
    """If log p(c, x) is Normal: the mean class probabilities p, (row, class), and mean of p pᵀ, (row, class, class)."""
    if mean.shape[1] == 2:
        second, product = _mean_logistic(*_log_odds(mean, covariance))
        each = np.column_stack([1 - second, second])
        return each, each[:, :, None] * np.eye(2) + product[:, None, None] * (1 - 2 * np.eye(2))
    p, weights, scale, order, alike = _at_nodes(mean, covariance, points)
    scale = np.exp(scale)
    p, both = scale * (p @ weights).T, scale[:, :, None] * scale[:, None] * weights[0] * _products(p)
    if alike is not None:
        each, own = np.arange(p.shape[1]), np.diagonal(both, axis1=1, axis2=2)[..., None]
        p, own, size = (alike @ p[..., None])[..., 0], (alike @ own)[..., 0], 1 / alike[:, each, each, None]
        both[:, each, each] = 0.0
        # The mean over pairs of two classes of a group, of which there are size (size - 1).
        both = alike @ both @ alike * np.where(alike > 0, size / np.maximum(size - 1, 1), 1.0)
        both[:, each, each] = own
    return np.take_along_axis(p, order, 1), np.take_along_axis(
        np.take_along_axis(both, order[:, :, None], 1), order[:, None, :], 2
    )


def _log_odds(mean: Array, covariance: Array) -> tuple[Array, Array]:
    with np.errstate(invalid="ignore"):
        center = np.where(np.isneginf(mean[:, 1]), -np.inf, mean[:, 1] - mean[:, 0])
    variance = covariance[:, 0, 0] - 2 * covariance[:, 0, 1] + covariance[:, 1, 1]
    return center, np.sqrt(np.maximum(variance, 0.0))


def _mean_logistic(center: Array, sd: Array) -> tuple[Array, Array]:
    """The means of p and p(1 - p) for p = 1 / (1 + exp(-u)), u ~ Normal(center, sd²); all arrays are (row,)."""
    first, product = np.empty_like(center), np.empty_like(center)
    narrow = sd <= WIDE
    z, weights = _nodes(1)
    p = np.exp(-center[narrow, None] - sd[narrow, None] * z)
    p += 1.0
    np.divide(1.0, p, out=p)  # Several times faster than expit.
    first[narrow], product[narrow] = p @ weights, (p * (1 - p)) @ weights
    sd = sd[~narrow]
    # Integration by parts: E p = ∫ p(t)(1 - p(t)) P(u > t) dt. The factor p(1 - p) is concentrated around 0 for every
    # sd, so the nodes are fixed.
    z = (center[~narrow, None] - LOG_ODDS) / sd[:, None]
    first[~narrow] = ndtr(z) @ SLOPES
    product[~narrow] = np.exp(-0.5 * z**2) @ SLOPES / (np.sqrt(2 * np.pi) * sd)
    return first, product


def _log_mean_logistic(center: Array, sd: Array) -> Array:
    """The log of the mean of 1 / (1 + exp(-u)), u ~ Normal(center, sd²), accurate even if this mean is small."""
    found = np.empty_like(center)
    narrow = sd <= WIDE
    z, weights = _nodes(1)
    log_odds = center[narrow, None] + sd[narrow, None] * z
    least = np.clip(center[narrow, None], np.finfo(float).min, 0.0)
    p = np.exp(np.minimum(log_odds, 0.0) - least) / (1 + np.exp(-np.abs(log_odds)))
    found[narrow] = least[:, 0] + log(p @ weights)
    center, sd = center[~narrow], sd[~narrow]
    inside = logsumexp(log_ndtr((center[:, None] - LOG_ODDS) / sd[:, None]), axis=1, b=SLOPES)
    center = np.minimum(center, 0.0)  # The integral over smaller t is negligible anyway if the center is positive.
    # Below the smallest node, p(1 - p) is nearly exp(t), so this part of the integral has a closed form.
    first = LOG_ODDS[0] - STEP / 2
    below = center + 0.5 * sd**2 + log_ndtr((first - center) / sd - sd)
    found[~narrow] = np.logaddexp(inside, np.logaddexp(below, first + log_ndtr((center - first) / sd)))
    return found


LARGE = 300.0
"""Largest size of scores whose exponentials may be multiplied without overflow."""


def _at_nodes(mean: Array, covariance: Array, points: int) -> tuple[Array, Array, Array, Array, Array | None]:
    """Class probabilities p at quadrature nodes, (class, row, node); node weights; the log scale of p, (row, class)."""
    # The classes in p are sorted by the moments of their scores; the fourth result is the permutation that restores the
    # order of the classes. The last result, (row, class, class), holds weights for averaging the probabilities of
    # classes with equal moments; ``None`` if there are no such classes.
    n = mean.shape[1]
    sd = np.sqrt(np.maximum(np.diagonal(covariance, axis1=1, axis2=2), 0.0))
    # Classes whose scores have equal moments must get equal probabilities, so these are averaged.
    keys = np.round([np.linalg.norm(covariance, axis=2), sd, -mean], 9)
    order = np.lexsort(keys, axis=1)
    keys = np.take_along_axis(keys, order[None], 2)
    group = np.cumsum((keys[:, :, 1:] != keys[:, :, :-1]).any(0), axis=1)
    alike = None
    if n > 2 and (group[:, -1] < n - 1).any():
        group = np.pad(group, ((0, 0), (1, 0)))
        alike = (group[:, :, None] == group[:, None]).astype(float)
        alike /= alike.sum(2, keepdims=True)
    mean = np.take_along_axis(mean, order, 1)
    covariance = np.take_along_axis(np.take_along_axis(covariance, order[:, :, None], 1), order[:, None, :], 2)
    between = covariance[:, 1:, 1:] - covariance[:, 1:, :1] - covariance[:, :1, 1:] + covariance[:, :1, :1]
    z, weights = _nodes(n - 1, points)
    p, scale = np.ones((n, len(mean), len(weights))), np.zeros_like(mean)
    plus, minus = np.split(p[1:], [len(weights) // 2], axis=2)
    with np.errstate(invalid="ignore"):
        scale[:, 1:] = np.where(np.isneginf(mean[:, 1:]), -np.inf, mean[:, 1:] - mean[:, :1])
    away = _root(between).swapaxes(0, 1) @ z[:, : plus.shape[2]]
    if np.abs(away).max(initial=0.0) <= LARGE:
        np.divide(1.0, np.exp(away, out=plus), out=minus)
    else:
        p[0], plus[:], minus[:] = 0.0, away, -away
        p += scale.T[:, :, None]
        p -= p.max(0)
        scale = p.max(2).T
        np.exp(p - np.where(np.isneginf(scale), 0.0, scale).T[:, :, None], out=p)
    p /= np.einsum("rc,crp->rp", np.exp(scale), p)
    return p, weights, scale, np.argsort(order, axis=1), alike


def _products(a: Array) -> Array:
    """Inner products of every two classes, (row, class, class); ``a``, (class, row, ...), holds a vector per class."""
    if len(a) > FEW:
        return a.swapaxes(0, 1) @ a.transpose(1, 2, 0)
    found = np.empty((a.shape[1], len(a), len(a)))
    for c, one in enumerate(a):
        for k, other in enumerate(a[: c + 1]):
            found[:, c, k] = found[:, k, c] = np.vecdot(one, other)
    return found


def _root(covariance: Array) -> Array:
    found = np.zeros_like(covariance)
    size = 1e-12 * np.diagonal(covariance, axis1=1, axis2=2).max(1, initial=0.0)
    for k in range(covariance.shape[1]):
        column = covariance[:, k:, k] - np.einsum("rij,rj->ri", found[:, k:, :k], found[:, k, :k])
        some = (pivot := column[:, 0]) > size
        found[:, k:, k] = column / np.sqrt(np.where(some, pivot, 1.0))[:, None] * some[:, None]
    return found


@cache
def _nodes(dimensions: int, points: int = 0) -> tuple[Array, Array]:
    """Quadrature nodes of a standard Normal, (dimension, node), symmetric about 0, and node weights, (node,)."""
    if not dimensions:
        return np.zeros((0, 2)), np.full(2, 0.5)
    if dimensions == 1:
        z = np.arange(-REACH * DENSITY, REACH * DENSITY + 1) / DENSITY
        weights = np.exp(-0.5 * z**2)
        return z[None], weights / weights.sum()
    # In the middle of cells that hold one point of each coordinate, and with -z beside each z.
    z = ndtri(_sobol(dimensions, points // 2) + 1 / points)
    return np.concatenate([z, -z], axis=1), np.full(points, 1 / points)


# Degree, coefficients and first direction numbers of the polynomials of a Sobol sequence, for the dimensions after the
# first (Joe and Kuo 2008).
SOBOL = (1, 0, (1,)), (2, 1, (1, 3)), (3, 1, (1, 3, 1)), (3, 2, (1, 1, 1)), (4, 1, (1, 1, 3, 3)), (4, 4, (1, 3, 5, 13))


def _sobol(dimensions: int, points: int) -> Array:
    """The first points of the unscrambled Sobol sequence, (dimension, point)."""
    if dimensions > len(SOBOL) + 1 or points & (points - 1):
        from scipy.stats import qmc  # The import takes a tenth of the time of a command.

        return qmc.Sobol(dimensions, scramble=False).random(points).T
    bits = points.bit_length() - 1
    gray, found = np.arange(points) ^ (np.arange(points) >> 1), np.zeros((dimensions, points), np.intp)
    for (degree, polynomial, first), ints in zip(((1, 0, ()), *SOBOL), found, strict=False):
        numbers = list(first) or [1] * bits
        for k in range(len(numbers), bits):
            number = numbers[k - degree] ^ (numbers[k - degree] << degree)
            for j in range(1, degree):
                number ^= (polynomial >> (degree - 1 - j) & 1) * (numbers[k - j] << j)
            numbers.append(number)
        for k in range(bits):
            ints ^= (gray >> k & 1) * (numbers[k] << (bits - 1 - k))
    return found / points


# The variational Gaussian approximation

FEWEST, MOST, WORK = 20, 60, 2_000
"""Numbers of steps to the variational Gaussian: at most ``WORK`` divided by the number of parameters that the rows
determine, but no fewer than ``FEWEST`` and no more than ``MOST``. On five tables with three to eleven classes, the log
loss of held-out rows changed by at most 0.0012 after the tenth step.
"""

FAR, CLOSE = 0.3, 1e-5
"""The squared length from which on a step is at most a half step; and the squared length of the last step, per pair of
parameters that the rows determine. Lengths are in standard deviations.
"""

SEARCHED = 256
"""Points for three and more classes during the search."""


def expected_derivatives(source: Source, layout: Layout, spread: Spread) -> tuple[Array, Array]:
    """Gradient and information (minus the Hessian) of the log-likelihood, averaged over a Normal of the parameters."""
    if isinstance(layout, Relative):
        return _expected_of_log_odds(source, spread)
    n, n_classes = layout.terms, layout.classes
    own = layout.own[layout.own < n]
    width = len(layout.own)
    slope = np.zeros((n_classes, layout.width))
    shared, mixed = np.zeros((n, n)), np.zeros((n, n_classes, width))
    apart = np.zeros((n_classes, width, n_classes, width))
    for rows in (block[cut] for block in source() for cut in slices(len(block.codes), max(64, CELLS // n_classes**2))):
        p, curved = np.empty(rows.offset.shape), np.empty((*rows.offset.shape, n_classes))
        alike = rows.alike
        for cut in spread.blocks(layout, len(rows.codes), SEARCHED):
            few = spread.scores(layout, rows.terms[cut], rows.offset[cut], alike[cut])
            p[cut], curved[cut] = expected(*few, SEARCHED)
        missed = rows.weight[:, None] * ((rows.codes[:, None] == np.arange(n_classes)) - p)
        slope[:, :n] += np.einsum("rc,rct->ct", missed, rows.terms)
        slope[:, n:] += missed.T @ alike
        curved *= rows.weight[:, None, None]
        if n_classes <= likelihood.FEW_CLASSES:
            likelihood.information_by_pairs(rows.terms, curved.transpose(1, 2, 0), alike, own, shared, mixed, apart)
            continue
        if not len(own):
            for cut in likelihood.pair_blocks(len(rows.codes), n_classes):
                likelihood.information_apart(curved[cut].transpose(1, 2, 0), alike[cut], apart)
        curved *= -1
        curved[:, np.arange(n_classes), np.arange(n_classes)] += rows.weight[:, None] * p
        weighed = curved @ rows.terms
        many = len(rows.codes) * n_classes
        shared += rows.terms.reshape(many, n).T @ weighed.reshape(many, n)
        for c in range(n_classes):
            mixed[:, c] += weighed[:, c].T @ np.column_stack([rows.terms[:, c][:, own], alike])
        if not len(own):
            continue
        each = [np.column_stack([rows.terms[:, c][:, own], alike]) for c in range(n_classes)]
        for c in range(n_classes):
            for k in range(c + 1):
                found = (each[c] * curved[:, c, k, None]).T @ each[k]
                apart[c, :, k] += found
                if k < c:
                    apart[k, :, c] += found.T
    corner = mixed.reshape(n, n_classes * width)
    information = np.block([[shared, corner], [corner.T, apart.reshape(corner.shape[1], corner.shape[1])]])
    return layout.slopes(slope), (information + information.T) / 2


def _expected_of_log_odds(source: Source, spread: Spread) -> tuple[Array, Array]:
    slope, information = np.zeros(len(spread.mean)), np.zeros(2 * spread.mean.shape)
    for rows in source():
        covariates, offset, sign = rows.of_log_odds
        # In reversed order of the parameters, the root is triangular, which halves the work of this product.
        away = dtrmm(1.0, spread.root[::-1].T, covariates[:, ::-1].T, lower=1).T
        center, sd = covariates @ spread.mean + offset, np.sqrt(np.vecdot(away, away))
        parts = [
            _mean_logistic(center[cut], sd[cut]) for cut in slices(len(center), likelihood.NUMBERS // len(LOG_ODDS))
        ]
        p, product = (np.concatenate(each) for each in zip(*parts, strict=True))
        slope += (rows.weight * ((sign > 0) - p)) @ covariates
        weighed = covariates * np.sqrt(rows.weight * product)[:, None]
        information += weighed.T @ weighed
    return slope, information


def nearest(source: Source, layout: Layout, mean: Array, sd: Array, center: Array, precision: Array) -> Spread:
    """The variational Gaussian: the Normal closest to the posterior, by the divergence KL(Normal | posterior)."""
    # Newton's method, with derivatives averaged over the current Normal (Opper and Archambeau 2009). The first Normal
    # has the mean ``center`` and the precision matrix ``precision``.
    factor, root = _inverse_root(precision)
    size, last = 0.5, np.inf
    for step in range(1, MOST + 1):
        slope, information = expected_derivatives(source, layout, Spread(1.0, center, root))
        wanted = information.copy()
        wanted.flat[:: len(wanted) + 1] += 1 / sd**2
        slope -= (center - mean) / sd**2
        # In standard deviations: the distance that the centre moves, and the change rootᵀ wanted root - 1 of every pair
        # of directions. LAPACK computes the lower half of this symmetric matrix.
        first = root.T @ slope
        share = np.tril(dsygst(wanted[::-1, ::-1], factor, lower=1)[0]) - np.eye(len(mean))
        change = first @ first + 2 * (share**2).sum() - (np.diag(share) ** 2).sum()
        # Full steps oscillate if the posterior is skewed, more so for larger scores; short steps are slow. Only the
        # precision oscillates, so the mean moves by at least half a step.
        size = min(1.15 * size, 0.5 if change > FAR else 1.0) if change < last else max(0.02, 0.5 * size)
        last = change
        # The number of parameters that the rows determine (MacKay 1992); uninformative columns do not change it.
        determined = len(mean) - ((root / sd[:, None]) ** 2).sum()
        precision = (1 - size) * precision + size * wanted
        factor, root = _inverse_root(precision)
        center = center + max(size, 0.5) * (root @ (root.T @ slope))
        if change < min(FAR, CLOSE * max(10.0, determined**2)) or step >= max(FEWEST, WORK / max(determined, 1.0)):
            break
    if isinstance(layout, Relative):
        root = _inverse_root(layout.whole_precision(precision, sd))[1]
    return Spread(1.0, layout.whole(center), root)


def _inverse_root(precision: Array) -> tuple[Array, Array]:
    """A Cholesky factor of the precision matrix, and a square root of the covariance matrix."""
    # Each row of the square root begins with zeros, which _past_zeros finds.
    factor, failed = dpotrf(precision[::-1, ::-1], lower=1)
    if failed:
        raise np.linalg.LinAlgError("the precision of the exponents is not positive definite")
    # Its rows lie one after the other, as in a file, so that a loaded model rounds alike.
    return factor, np.ascontiguousarray(dtrtri(factor, lower=1)[0].T[::-1])
