"""Log densities of the multivariate Student-t of a Normal-Wishart belief about one class, for many rows at once."""

from __future__ import annotations

import numpy as np

from bayesnb.kernels.blocks import CELLS, slices
from bayesnb.numerics import Array, log_rising
from bayesnb.priors import NormalWishart


def log_student(believed: NormalWishart, squares: Array, weight: Array | float = 0.0) -> Array:
    """The log predictive of each row, less a weight of the row that was learned; NaN where nothing proper is left.

    ``squares`` are their squared distances from the location in terms of Ψ. Without a row of weight w, det Ψ loses the
    factor 1 - κw/(κ-w) h (determinant lemma); relative to what is left, the squared distance is (κ/(κ-w))² h divided by
    that factor.
    """
    d = believed.size
    with np.errstate(all="ignore"):
        kappa, nu, dof = believed.kappa - weight, believed.nu - weight, believed.dof - weight
        rest = 1 - believed.kappa * weight / kappa * squares
        share = kappa / (kappa + 1)
        away = share * (believed.kappa / kappa) ** 2 * squares / rest
        left = np.minimum(np.minimum(kappa, dof), rest) > 1e-8
        height = log_rising(dof / 2, d / 2) + 0.5 * (d * np.log(share / np.pi) - believed.root[2] - np.log(rest))
        return np.where(left | (weight == 0), height - (nu + 1) / 2 * np.log1p(away), np.nan)


def log_student_without_square(
    believed: NormalWishart, x: Array, own_gap: Array, square: Array, weight: Array
) -> Array:
    """``log_student`` where Ψ also loses ``share`` · ``square`` times g gᵀ of each row, which the prior held; (row,).

    ``own_gap`` (row, column) is g, and ``weight`` is 0 for rows of other classes. Distances grow as the formula of
    Sherman and Morrison says.
    """
    inverse = believed.root[1].T
    with np.errstate(all="ignore"):
        g, v = own_gap @ inverse, ((x - believed.m) - believed.low) @ inverse
        b = believed.share * square
        lost = 1 - b * (g * g).sum(1)
        squares = (v * v).sum(1) + b * (g * v).sum(1) ** 2 / lost
        return log_student(believed, squares, weight) - 0.5 * np.log(lost)


def distances(believed: NormalWishart, x: Array) -> Array:
    """The squared distance of each row from the location, in terms of Ψ."""
    found, inverse = np.empty(len(x)), believed.root[1].T
    for rows in slices(len(x), max(1, CELLS // max(1, x.shape[1]))):
        z = ((x[rows] - believed.m) - believed.low) @ inverse
        found[rows] = np.einsum("ij,ij->i", z, z)
    return found
