"""All real columns together: a Gaussian with a full covariance in each class, as one term.

Start with :class:`JointGaussian`, what is believed after the moments of the columns (``Scatter``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.special import multigammaln

from bayesnb.numerics import Array
from bayesnb.statistics.membership import Labels
from bayesnb.statistics.scatter import Scatter


@dataclass(frozen=True, eq=False)
class JointGaussian:
    """What is believed of the mean and the covariance of each class: Normal-inverse-Wishart (BDA3 3.6).

    The prior counts for one row that looks like the whole table with independent columns: κ = 1, ν = the number of
    columns, and a diagonal scale matrix of the pooled variances. Under it every single column has the prior of
    ``Gaussian()`` (unit information), so what this term says beyond the columns' own is their covariances only. With d
    columns and z in units of the pooled standard deviations, the log evidence is, up to a constant a row,

        ln Z(κ, ν, S) = ln Γ_d(ν/2) - (ν/2) ln |S| - (d/2) ln κ.

    A further δ rows at one point x give κ + δ, ν + δ and |S| (1 + κδ/(κ+δ) (x - m)ᵀ S⁻¹ (x - m)). The log predictive
    is the rise of ln Z at δ = 1; with a row of weight w left out it is the rise from δ = -w to δ = 1 - w.

    Parameters
    ----------
    centre, scale : array (column,)
        The pooled mean and standard deviation; they are held when a row is left out.
    mean : array (class, column)
        m, in units of ``scale`` from ``centre``.
    kappa, nu : array (class,)
    factor : array (class, column, column)
        The lower Cholesky factor of S.
    """

    centre: Array
    scale: Array
    mean: Array
    kappa: Array
    nu: Array
    factor: Array

    @classmethod
    def of(cls, moments: Scatter) -> JointGaussian:
        """The posterior after the moments."""
        columns = moments.mean.shape[1]
        pooled = moments.pooled()
        variance = np.diagonal(pooled.scatter[0]) / max(float(pooled.n[0, 0]), 1.0)
        nothing = np.zeros((0, columns))
        before = cls(pooled.mean[0], np.sqrt(np.where(variance > 0, variance, 1.0)), *4 * [nothing])
        return before.given(moments)

    def given(self, moments: Scatter) -> JointGaussian:
        """What is believed after other moments, the prior held as it is."""
        n = moments.n[:, 0]
        kappa, nu, gap = 1.0 + n, len(self.centre) + n, (moments.mean - self.centre) / self.scale
        scatter = moments.scatter / np.outer(self.scale, self.scale)
        between = gap[:, :, None] * gap[:, None, :] * (n / kappa)[:, None, None]
        factor = np.array([cholesky(s, lower=True) for s in np.eye(len(self.centre)) + scatter + between])
        return JointGaussian(self.centre, self.scale, gap * (n / kappa)[:, None], kappa, nu, factor)

    def _along(self, c: int, x: Array, delta: Array | float) -> Array:
        """The rise of ln Z of a class by δ further rows at x, (row,), x in units of the prior."""
        kappa, nu, columns = self.kappa[c], self.nu[c], len(self.centre)
        away = solve_triangular(self.factor[c], (x - self.mean[c]).T, lower=True)
        wider = np.log1p(kappa * delta / (kappa + delta) * (away**2).sum(0))
        log_det = 2 * np.log(np.diagonal(self.factor[c])).sum()
        rise = multigammaln((nu + np.asarray(delta)) / 2, columns) - multigammaln(nu / 2, columns)
        return rise - delta / 2 * log_det - (nu + delta) / 2 * wider - columns / 2 * np.log1p(delta / kappa)

    def _standard(self, x: Array) -> tuple[Array, Array, float]:
        """x in units of the prior, 0 in rows with a missing cell; which rows have none; the log density's constant."""
        known = ~np.isnan(x).any(1)
        constant = -0.5 * len(self.centre) * np.log(np.pi) - np.log(self.scale).sum()
        return (np.where(known[:, None], x, self.centre) - self.centre) / self.scale, known, float(constant)

    def predictive(self, x: Array) -> Array:
        """log p(x | c, D) as (row, class), in nats; 0 where a cell is missing."""
        z, known, constant = self._standard(x)
        found = np.stack([self._along(c, z, 1.0) for c in range(len(self.kappa))], axis=1)
        return np.where(known[:, None], found + constant, 0.0)

    def left_out(self, x: Array, labels: Labels) -> Array:
        """The same for learned rows in their own class, without them, (row,)."""
        z, known, constant = self._standard(x)
        found = np.zeros(len(x))
        for c in np.unique(labels.codes):
            own = known & (labels.codes == c)
            x, w = z[own], labels.weight[own]
            found[own] = self._along(c, x, 1.0 - w) - self._along(c, x, -w) + constant
        return found
