"""Cholesky factors, determinants and quadratic forms of arrays of positive definite matrices."""

# The units of columns do not affect whether a matrix counts as singular.

from __future__ import annotations

from typing import Any

import numpy as np

from bayesnb.numerics import Array

SINGULAR = 64 * float(np.finfo(float).eps)
"""A matrix of d columns is singular if the others explain all but d times this share of the variance of a column."""


def require_covariance(value: Array) -> None:
    """Raise ``ValueError`` unless ``value`` is 0 or positive semidefinite."""
    if value.ndim == 0 and value == 0:
        return
    square = value.ndim >= 2 and value.shape[-1] == value.shape[-2]
    if not (
        square
        and np.allclose(value, np.swapaxes(value, -1, -2))
        and (np.linalg.eigvalsh(value) >= -1e-9 * np.abs(value).max()).all()
    ):
        raise ValueError(f"Expected scale to be a covariance matrix, or one for each class; got {value!r}")


def root(matrix: Array) -> tuple[Array, Array, Array]:
    """The lower Cholesky factor, its inverse and ln det of each matrix; all NaN for a singular matrix."""
    d = matrix.shape[-1]
    with np.errstate(all="ignore"):
        size = np.sqrt(np.diagonal(matrix, axis1=-2, axis2=-1))
        even = matrix / size[..., :, None] / size[..., None, :]
    sound = np.isfinite(even).all((-2, -1))
    even = np.where(sound[..., None, None], even, np.eye(d))
    lower, held = _roots(even)
    sound = sound & held & (np.diagonal(lower, axis1=-2, axis2=-1).min(-1) ** 2 > SINGULAR * d)
    lower = np.where(sound[..., None, None], lower, np.eye(d))
    # The inverse of a triangular matrix is accurate row by row, whatever its condition number.
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
    """The lower Cholesky factors, and whether each matrix has a Cholesky factor."""
    # If LAPACK fails, a pivot is far below ``SINGULAR`` d, so :func:`root` treats the matrix as singular in any case.
    try:
        return np.linalg.cholesky(matrix), np.ones(matrix.shape[:-2], bool)
    except np.linalg.LinAlgError:
        if matrix.ndim == 2:
            return np.eye(len(matrix)), np.False_
        lower, held = zip(*map(_roots, matrix), strict=True)
        return np.array(lower), np.array(held)


def log_growth(inverse: Array, added: Array) -> tuple[Array, Array]:
    """``ln |M + added| - ln |M|``, and whether M + added is positive definite; ``inverse`` is L⁻¹ of M = L Lᵀ."""
    # Computing from the eigenvalues of L⁻¹ added L⁻ᵀ keeps the digits of a small difference.
    relative = inverse @ added @ np.swapaxes(inverse, -1, -2)
    sound = np.isfinite(relative).all((-2, -1))
    values = np.linalg.eigvalsh(np.where(sound[..., None, None], relative, 0.0))
    exists = sound & (values > -1).all(-1)
    with np.errstate(all="ignore"):
        return np.where(exists, np.log1p(values).sum(-1), np.nan), exists


# In PyMC:


def pymc_root(matrix: Any) -> Any:
    """The lower Cholesky factor of the inverse of ``matrix``."""
    from pytensor import tensor as pt

    return pt.linalg.cholesky(pt.linalg.inv(matrix))


def pymc_log_determinant(matrix: Any) -> Any:
    """ln of the determinant."""
    from pytensor import tensor as pt

    lower = pt.linalg.cholesky(matrix)
    return 2 * pt.log(pt.diagonal(lower, axis1=-2, axis2=-1)).sum(-1)


def pymc_wishart(name: str, nu: Any, mean: Any, dims: tuple[str, ...]) -> Any:
    """Add Wishart matrices with expectation ``nu * mean``, (class, column, column), to the open PyMC model."""
    import pymc as pm
    from pymc.distributions.transforms import Transform
    from pytensor import tensor as pt

    # With PyMC's Wishart, NUTS would leave the set of positive definite matrices. LogRoot is unconstrained.
    d = int(mean.type.shape[-1])
    below, diagonal = np.tril_indices(d), np.arange(d)

    class LogRoot(Transform):
        """Transform a precision matrix: standardize it, and take the Cholesky factor and logs of its diagonal."""

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
