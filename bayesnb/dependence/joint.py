"""All real columns together: a Gaussian with a full covariance in each class, as one term.

Start with :class:`JointGaussian`, what is believed after the sums of the columns (``Scatter``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayesnb.families.multivariate_gaussian import MultivariateGaussian
from bayesnb.numerics import Array
from bayesnb.priors import NormalWishart
from bayesnb.statistics.membership import Labels
from bayesnb.statistics.scatter import Scatter

FAMILY = MultivariateGaussian(NormalWishart.unit_information())


@dataclass(frozen=True, eq=False)
class JointGaussian:
    """What is believed of the mean and the covariance of each class: Normal-Wishart (BDA3 3.6).

    The prior counts for one row that looks like the whole table with independent columns. Under it every single column
    has the prior of ``Gaussian()`` (unit information), so what this term says beyond the columns' own is their
    covariances only. The pooled means and variances are held when a row is left out. A row with a missing cell says
    nothing.

    Parameters
    ----------
    prior, posterior : NormalWishart
    """

    prior: NormalWishart
    posterior: NormalWishart

    @classmethod
    def of(cls, moments: Scatter) -> JointGaussian:
        """The posterior after the moments."""
        prior = FAMILY.resolve_prior(FAMILY.prior, moments)
        return cls(prior, prior).given(moments)

    def given(self, moments: Scatter) -> JointGaussian:
        """What is believed after other moments, the prior held as it is."""
        return JointGaussian(self.prior, FAMILY.update(self.prior, moments))

    def predictive(self, x: Array) -> Array:
        """log p(x | c, D) as (row, class), in nats; 0 where a cell is missing."""
        return FAMILY.log_predictive(self.posterior, _whole(x))

    def left_out(self, x: Array, labels: Labels) -> Array:
        """The same for learned rows in their own class, without them, (row,)."""
        return FAMILY.log_left_out(self.posterior, _whole(x), labels)


def _whole(x: Array) -> Array:
    """The rows, missing as a whole where a cell is missing."""
    return np.where(np.isnan(x).any(axis=1, keepdims=True), np.nan, x)
