"""The likelihood of the exponents: the probability of the labels, given the powers to which terms are raised.

The model is multinomial logistic regression with covariates that differ by class (McFadden 1974): p(c | x, w) ∝ exp(o_c
+ Σ_t v_ct s_ct), with log prior class probabilities o_c, terms s_ct and exponents v_ct of class c. The log-likelihood
is concave. A *source* is a function that returns an iterator over blocks of :class:`Rows`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import expit

from bayesnb.dependence.exponents import Layout, Relative
from bayesnb.kernels.blocks import CELLS, slices
from bayesnb.numerics import Array


@dataclass(frozen=True, eq=False)
class Rows:
    """Labelled rows, with the log-likelihood terms that exponents multiply."""

    terms: Array  # (row, class, term), in nats
    offset: Array  # (row, class), added to the weighted sum of terms
    codes: Array  # the class of each row, (row,)
    weight: Array
    # (row, covariate): covariates with one value for all classes, but a coefficient per class: indicators of intervals
    # and levels, standardized numbers, and the fraction of known cells (``Cells.covariates``), or the constant 1.
    alike: Array

    def __getitem__(self, which: Array | slice) -> Rows:
        if isinstance(which, slice) and which.indices(len(self.codes)) == (0, len(self.codes), 1):
            return self
        return Rows(self.terms[which], self.offset[which], self.codes[which], self.weight[which], self.alike[which])

    def first(self, terms: int, alike: int) -> Rows:
        """Keep the first ``terms`` log-likelihood terms, the first ``alike`` covariates, and the last covariate."""
        first = np.ascontiguousarray(self.terms[:, :, :terms])
        return replace(self, terms=first, alike=self.alike[:, [*range(alike), -1]])

    @cached_property
    def of_log_odds(self) -> tuple[Array, Array, Array]:
        """The rows as data of a logistic regression of two classes: covariates, offset, and labels 1 or -1."""
        covariates = np.concatenate([self.terms[:, 1] - self.terms[:, 0], np.sqrt(2) * self.alike], axis=1)
        return covariates, self.offset[:, 1] - self.offset[:, 0], 2.0 * self.codes - 1


type Source = Callable[[], Iterable[Rows]]

HELD = 2**25
"""Largest number of terms that are kept in memory; beyond it, each pass computes each block again."""

NUMBERS = 2**18
"""Size of a temporary array with one number per row, class and draw."""


def log_joint(terms: Array, offset: Array, v: Array, alike: Array) -> Array:
    """The log class probabilities up to a constant, (class, row, draw); ``v``, (draw, class, term), are exponents."""
    n, found = terms.shape[2], np.empty((terms.shape[1], len(terms), len(v)))
    for c, joint in enumerate(found):
        np.matmul(terms[:, c], v[:, c, :n].T, out=joint)
        joint += alike @ v[:, c, n:].T
        joint += offset[:, c, None]
    return found


def log_posterior_of_classes(terms: Array, offset: Array, v: Array, alike: Array) -> Array:
    """Log class probabilities log p(c | x, w), as (class, row, draw)."""
    joint = log_joint(terms, offset, v, alike)
    joint -= joint.max(0)
    joint -= np.log(np.exp(joint).sum(0))
    return joint


def log_probabilities(source: Source, layout: Layout, parameters: Array) -> Iterator[tuple[Rows, Array]]:
    """Yield blocks of rows, each with the weighted log probabilities of the labels, (row, draw)."""
    relative = layout.relative
    points = parameters if relative is layout else relative.narrowed(parameters)
    v = None if isinstance(relative, Relative) else layout.exponents(points)
    # Blocks are divided so that the array of all draws stays small.
    for block in source():
        for cut in slices(len(block.codes), max(1, NUMBERS // max(1, len(points) * layout.classes))):
            rows = block[cut]
            if v is None:
                covariates, offset, sign = rows.of_log_odds
                log_p = log_expit(sign[:, None] * (covariates @ points.T + offset[:, None]))
            else:
                joint = log_joint(rows.terms, rows.offset, v, rows.alike)
                joint -= joint.max(0)
                own = joint[rows.codes, np.arange(len(rows.codes))]
                log_p = own - np.log(np.exp(joint, out=joint).sum(0))
            yield rows, rows.weight[:, None] * log_p


def log_expit(x: Array) -> Array:
    """The log of the logistic function, log(1 / (1 + exp(-x)))."""
    return np.minimum(x, 0.0) - np.log(1.0 + np.exp(-np.abs(x)))


def log_likelihood(source: Source, layout: Layout, parameters: Array) -> Array:
    """Log-likelihood log p(labels | terms, parameters) at each draw of the parameters, (draw,)."""
    total = np.zeros(len(parameters))
    for _, log_p in log_probabilities(source, layout, parameters):
        total += log_p.sum(0)
    return total


FEW_CLASSES = 3
"""Largest number of classes for which the information is summed over pairs of classes."""


def derivatives(source: Source, layout: Layout, parameters: Array) -> tuple[float, Array, Array]:
    """The log-likelihood, its gradient (parameter,), and minus its Hessian (the information), a square array."""
    if isinstance(layout, Relative):
        return _of_log_odds(source, parameters)
    n_terms, n_classes, own = layout.terms, layout.classes, layout.own
    v, value = layout.exponents(parameters)[None], 0.0
    slope = np.zeros((n_classes, layout.width))
    shared, mixed = np.zeros((n_terms, n_terms)), np.zeros((n_terms, n_classes, len(own)))
    apart = np.zeros((n_classes, len(own), n_classes, len(own)))
    # Let p_c be the class probabilities of a row, s_c its terms, and m = Σ_c p_c s_c. The gradient in v_c is (1[y = c]
    # - p_c) s_c. The information of (w, w) is Σ_c p_c (s_c - m)(s_c - m)ᵀ, of (w, d_c) p_c (s_c - m) s_cᵀ, and of (d_c,
    # d_k) p_c (1[c = k] - p_k) s_c s_kᵀ. The row's weight multiplies all of them.
    for rows in source():
        log_p = log_posterior_of_classes(rows.terms, rows.offset, v, rows.alike)[..., 0]
        value += float(rows.weight @ log_p[rows.codes, np.arange(len(rows.codes))])
        p = np.exp(log_p)
        alike = rows.alike
        for c in range(n_classes):
            missed = rows.weight * ((rows.codes == c) - p[c])
            slope[c, :n_terms] += missed @ rows.terms[:, c]
            slope[c, n_terms:] += missed @ alike
        if n_classes <= FEW_CLASSES:
            both = rows.weight * p[:, None] * p
            information_by_pairs(rows.terms, both, alike, own[own < n_terms], shared, mixed, apart)
        else:
            _information_by_classes(rows, p, alike, own[own < n_terms], shared, mixed, apart)
    corner = mixed.reshape(n_terms, n_classes * len(own))
    information = np.block([[shared, corner], [corner.T, apart.reshape(corner.shape[1], corner.shape[1])]])
    return value, layout.slopes(slope), information


def _of_log_odds(source: Source, parameters: Array) -> tuple[float, Array, Array]:
    value, slope, information = 0.0, np.zeros(len(parameters)), np.zeros(2 * parameters.shape)
    for rows in source():
        covariates, offset, sign = rows.of_log_odds
        own = (covariates @ parameters + offset) * sign
        missed = rows.weight * expit(-own)
        value += float(rows.weight @ log_expit(own))
        slope += (sign * missed) @ covariates
        weighed = covariates * np.sqrt(missed * expit(own))[:, None]
        information += weighed.T @ weighed
    return value, slope, information


def _information_by_classes(
    rows: Rows, p: Array, alike: Array, own: Array, shared: Array, mixed: Array, apart: Array
) -> None:
    """Add the Fisher information of a block of rows to three blocks of the information matrix, in place."""
    # shared: for two exponents; apart: for two deviations of classes; mixed: for an exponent and a deviation
    n_classes, (_, width, *_) = len(p), apart.shape
    mean = np.einsum("cr,rct->rt", p, rows.terms)
    weighed = np.empty((len(mean), n_classes, width))
    # A product of a matrix with its transpose takes half the work of a general product, so each factor has the root of
    # the weight.
    for c in range(n_classes):
        root = np.sqrt(rows.weight * p[c])[:, None]
        away, covariates = (rows.terms[:, c] - mean) * root, np.column_stack([rows.terms[:, c, own], alike]) * root
        shared += away.T @ away
        mixed[:, c] += away.T @ covariates
        if len(own):
            apart[c, :, c] += covariates.T @ covariates
            weighed[:, c] = covariates * np.sqrt(p[c])[:, None]
    if len(own):
        flat = weighed.reshape(len(mean), n_classes * width)
        apart -= (flat.T @ flat).reshape(apart.shape)
        return
    for cut in pair_blocks(len(mean), n_classes):
        information_apart(rows.weight[cut] * p[:, None, cut] * p[:, cut], alike[cut], apart)


def pair_blocks(n_rows: int, n_classes: int) -> list[slice]:
    """Divide rows into blocks whose (class, class, row) arrays stay small."""
    return slices(n_rows, max(64, CELLS // (2 * n_classes) ** 2))


def information_apart(both: Array, alike: Array, apart: Array) -> None:
    """Add to ``apart`` the Fisher information of coefficients per class, of covariates with one value per row."""
    # both, (class c, class k, row): p_c p_k (or the expected value of p_c p_k) times the row weight
    width, every = alike.shape[1], np.arange(len(both))
    first, second = np.triu_indices(len(both), 1)
    pairs, found = np.ascontiguousarray(both[first, second].T), np.zeros((*both.shape[:2], width, width))
    # Most covariates are indicators, so the sums skip rows in which covariate i is 0.
    for i, z in enumerate(alike.T):
        some = np.flatnonzero(z)
        row = pairs[some].T @ (alike[some, i:] * z[some, None])
        found[first, second, i, i:] = found[first, second, i:, i] = row
    found += found.swapaxes(0, 1)
    blocks = apart.swapaxes(1, 2)
    blocks -= found
    blocks[every, every] += found.sum(1)


def information_by_pairs(
    terms: Array, both: Array, alike: Array, own: Array, shared: Array, mixed: Array, apart: Array
) -> None:
    """Add the Fisher information of a block of rows to three arrays, in place, by sums over pairs of classes."""
    n, n_own, n_alike = terms.shape[2], len(own), alike.shape[1]
    last = n + 2 * n_own + np.arange(n_alike)
    at_c, at_k = (np.append(n + start + np.arange(n_own), last) if n_own else slice(n, None) for start in (0, n_own))
    # The covariance of covariates z_c under p is Σ_{c<k} p_c p_k (z_c - z_k)(z_c - z_k)ᵀ. For deviations, z_c - z_k
    # holds the covariates of class c in block d_c, and minus those of class k in block d_k.
    for c in range(len(both)):
        for k in range(c + 1, len(both)):
            s_c, s_k = terms[:, c], terms[:, k]
            z = np.concatenate([s_c - s_k, s_c[:, own], s_k[:, own], alike], axis=1)
            z *= np.sqrt(both[c, k])[:, None]
            found = z.T @ z
            shared += found[:n, :n]
            mixed[:, c] += found[:n, at_c]
            mixed[:, k] -= found[:n, at_k]
            apart[c, :, c] += found[at_c][:, at_c]
            apart[k, :, k] += found[at_k][:, at_k]
            apart[c, :, k] -= found[at_c][:, at_k]
            apart[k, :, c] -= found[at_k][:, at_c]
