"""Log moments of cells with their two derivatives, summed over columns, at many exponents of the same cells."""

from __future__ import annotations

import numpy as np

from bayesnb.kernels.blocks import Array, contiguous


def chances(own: Array, total: Array, t: Array) -> Array:
    """Σ_f ln E[θ_f^t] with its derivatives, (3, row, class); ``own`` and ``total`` end in (a, ln a, R(a))."""
    from bayesnb.kernels.compiled import cumulants as loops

    found = np.zeros((3, *t.shape))
    loops.chances(contiguous(own), contiguous(total), contiguous(t), found)
    return found


def normal_gammas(away: Array, shape: Array, kappa: Array, base: Array, t: Array) -> Array:
    """Σ_f ln E[p(x_f | μ, τ)^t] with its derivatives, (3, row, class)."""
    from bayesnb.kernels.compiled import cumulants as loops

    found = np.zeros((3, *t.shape))
    loops.normal_gammas(*map(contiguous, (away, shape, kappa, base, t)), found)
    return found
