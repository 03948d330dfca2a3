"""Positive definite matrices: their roots, determinants and quadratic forms, for many of them at once.

All arrays are (..., column, column), or (..., column) for vectors. A matrix is first divided by the roots of its
diagonal, so what counts as singular does not depend on the units of the columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesnb.numerics import Array

SINGULAR = 64 * float(np.finfo(float).eps)
"""A column is a combination of the others if no more than this share of its variance, times d, is left beside them."""


def require_covariance(name: str, value: Array) -> None:
    """Refuse an array that is neither 0 nor made of symmetric matrices with a diagonal that is not negative."""
    if value.ndim == 0 and value == 0:
        return
    square = value.ndim >= 2 and value.shape[-1] == value.shape[-2]
    if not (
        square
        and np.allclose(value, np.swapaxes(value, -1, -2))
        and (np.linalg.eigvalsh(value) >= -1e-9 * np.abs(value).max()).all()
    ):
        raise ValueError(f"Expected {name} to be a covariance matrix, or one for each class; got {value!r}")


def root(matrix: Array) -> tuple[Array, Array, Array]:
    """The lower root L of L Lᵀ, its inverse and ln |L Lᵀ|; all NaN where the matrix is singular."""
    d = matrix.shape[-1]
    with np.errstate(all="ignore"):
        size = np.sqrt(np.diagonal(matrix, axis1=-2, axis2=-1))
        even = matrix / size[..., :, None] / size[..., None, :]
    sound = np.isfinite(even).all((-2, -1))
    even = np.where(sound[..., None, None], even, np.eye(d))
    lower, held = _roots(even)
    sound = sound & held & (np.diagonal(lower, axis1=-2, axis2=-1).min(-1) ** 2 > SINGULAR * d)
    lower = np.where(sound[..., None, None], lower, np.eye(d))
    # Inverses of triangles are accurate row by row, whatever the condition of the matrix.
    inverse = np.tril(np.linalg.inv(lower))
    with np.errstate(all="ignore"):
        level = 2 * (np.log(size) + np.log(np.diagonal(lower, axis1=-2, axis2=-1))).sum(-1)
        nothing = np.where(sound, 0.0, np.nan)
        return (
            lower * size[..., :, None] + nothing[..., None, None],
            inverse / size[..., None, :] + nothing[..., None, None],
            np.where(sound, level, np.nan),
        )


def _roots(matrix: Array) -> tuple[Array, Array]:
    """The lower roots, and which of the matrices have one; the root of the others is the unit matrix.

    A matrix of which LAPACK finds no root has a pivot of at most d eps, far below ``SINGULAR`` d. So whether this
    happens, which is a matter of rounding, decides nothing, and each matrix is judged by itself.
    """
    try:
        return np.linalg.cholesky(matrix), np.ones(matrix.shape[:-2], bool)
    except np.linalg.LinAlgError:
        if matrix.ndim == 2:
            return np.eye(len(matrix)), np.False_
        lower, held = zip(*map(_roots, matrix), strict=True)
        return np.array(lower), np.array(held)


def log_growth(inverse: Array, added: Array) -> tuple[Array, Array]:
    """ln |L Lᵀ + added| - ln |L Lᵀ|, and where that sum is positive definite; ``inverse`` is that of L.

    The eigenvalues of L⁻¹ added L⁻ᵀ keep the digits of a small growth.
    """
    relative = inverse @ added @ np.swapaxes(inverse, -1, -2)
    sound = np.isfinite(relative).all((-2, -1))
    values = np.linalg.eigvalsh(np.where(sound[..., None, None], relative, 0.0))
    exists = sound & (values > -1).all(-1)
    with np.errstate(all="ignore"):
        return np.where(exists, np.log1p(values).sum(-1), np.nan), exists


# The same in PyMC.


def pymc_root(matrix: Any) -> Any:
    """The lower root of the inverse of each matrix: that of the covariance, if the matrix is a precision."""
    from pytensor import tensor as pt

    return pt.linalg.cholesky(pt.linalg.inv(matrix))


def pymc_log_determinant(matrix: Any) -> Any:
    """ln of the determinant of each matrix."""
    from pytensor import tensor as pt

    lower = pt.linalg.cholesky(matrix)
    return 2 * pt.log(pt.diagonal(lower, axis1=-2, axis2=-1)).sum(-1)


def pymc_wishart(name: str, nu: Any, mean: Any, dims: tuple[str, ...]) -> Any:
    """Precision matrices with a Wishart prior in the open model; NUTS moves the logarithm of their root.

    PyMC's own Wishart has no transform, so NUTS would leave the positive definite matrices.

    Parameters
    ----------
    name : str
    nu : tensor (class,)
        Degrees of freedom.
    mean : tensor (class, column, column)
        Ψ⁻¹, which is the mean divided by ν.
    dims : tuple of str
    """
    import pymc as pm
    from pymc.distributions.transforms import Transform
    from pytensor import tensor as pt

    d = int(mean.type.shape[-1])
    below, diagonal = np.tril_indices(d), np.arange(d)

    class LogRoot(Transform):
        """The lower root in units of the prior, with the logarithm of its diagonal.

        With Ψ⁻¹ = M Mᵀ it is the root of M⁻¹ Λ M⁻ᵀ, of which NUTS sees cells of like size and of little correlation.
        """

        name = "logroot"

        def forward(self, value: Any, *inputs: Any) -> Any:
            unit = pt.linalg.inv(pt.linalg.cholesky(inputs[-1]))
            lower = pt.linalg.cholesky(unit @ value @ pt.swapaxes(unit, -1, -2))
            lower = lower[..., diagonal, diagonal].set(pt.log(pt.diagonal(lower, axis1=-2, axis2=-1)))
            return lower[..., below[0], below[1]]

        def backward(self, value: Any, *inputs: Any) -> Any:
            lower = pt.zeros((*value.shape[:-1], d, d))[..., below[0], below[1]].set(value)
            lower = lower[..., diagonal, diagonal].set(pt.exp(lower[..., diagonal, diagonal]))
            half = pt.linalg.cholesky(inputs[-1]) @ lower
            return half @ pt.swapaxes(half, -1, -2)

        def log_jac_det(self, value: Any, *inputs: Any) -> Any:
            logs = value[..., np.flatnonzero(below[0] == below[1])]
            level = (d + 1) / 2 * pymc_log_determinant(inputs[-1])
            return (np.log(2) + logs * (d + 1 - diagonal)).sum(-1) + level

    def logp(value: Any, nu: Any, mean: Any) -> Any:
        inverse = pt.linalg.inv(mean)
        gammas = pt.gammaln((nu[..., None] - diagonal) / 2).sum(-1) + d * (d - 1) / 4 * np.log(np.pi)
        level = (nu - d - 1) * pymc_log_determinant(value) - (inverse * value).sum((-2, -1))
        return 0.5 * (level - nu * (d * np.log(2) + pymc_log_determinant(mean))) - gammas

    def random(nu: Array, mean: Array, rng: Any = None, size: Any = None) -> Array:
        lower = np.linalg.cholesky(mean)
        lead = nu.shape if size is None else tuple(size)
        factor = np.tril(rng.standard_normal((*lead, d, d)), -1)
        factor[..., diagonal, diagonal] = np.sqrt(rng.chisquare(nu[..., None] - diagonal, (*lead, d)))
        half = lower @ factor
        return half @ np.swapaxes(half, -1, -2)

    return pm.CustomDist(
        name,
        nu,
        mean,
        logp=logp,
        random=random,
        support_point=lambda rv, size, nu, mean: nu[..., None, None] * mean,
        signature="(),(d,d)->(d,d)",
        default_transform=LogRoot(),
        dims=dims,
    )
