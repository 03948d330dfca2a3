"""Sums over all rooted forests of a graph, in logarithms."""

from __future__ import annotations

from math import exp, inf, log1p

import numpy as np

from bayesnb.kernels.blocks import Array, contiguous, large_enough, loop


def log_forests(log_w: Array, log_ground: Array) -> Array:
    """ln Σ over rooted forests of ∏ weights of edges · ∏ ground weights of roots, (...,).

    By the matrix-tree theorem this is ln det(diag(g) + L(w)), with L the weighted Laplacian (Kirchhoff 1847; Tutte
    1948). Its entries may span e^±1000, so nodes are eliminated one after another. With t = ln(g_k + Σ_i w_ki), node k
    gives the factor e^t, and its star becomes a mesh, w_ij + w_ki w_kj / e^t and g_i + w_ki g_k / e^t, whose rooted
    forests give the rest of the sum. All terms are positive, so no digits are lost.

    Parameters
    ----------
    log_w : array (..., node, node)
        Symmetric; the diagonal is not used.
    log_ground : array (..., node)
    """
    n, lead = log_w.shape[-1], log_w.shape[:-2]
    w, g = np.array(log_w, float), np.broadcast_to(log_ground, log_w.shape[:-1]).copy()
    if large_enough(w.size * n):
        found = np.empty(int(np.prod(lead)))
        _log_forests(contiguous(w.reshape(-1, n, n)), contiguous(g.reshape(-1, n)), found)
        return found.reshape(lead)
    total = np.zeros(lead)
    for k in range(n):
        star, later = w[..., k, k + 1 :], slice(k + 1, None)
        t = np.logaddexp(g[..., k], np.logaddexp.reduce(star, axis=-1, initial=-np.inf))
        total += t
        star_less = star - t[..., None]
        w[..., later, later] = np.logaddexp(w[..., later, later], star[..., :, None] + star_less[..., None, :])
        g[..., later] = np.logaddexp(g[..., later], star_less + g[..., [k]])
    return total


@loop
def _log_sum(a: float, b: float) -> float:
    top, less = (a, b) if a > b else (b, a)
    return top if less == -inf else top + log1p(exp(less - top))


@loop
def _log_forests(w: Array, g: Array, found: Array) -> None:
    """Write ``log_forests`` of graphs (graph, node, node), which are overwritten, to ``found`` (graph,)."""
    n = g.shape[1]
    for b in range(len(g)):
        total = 0.0
        for k in range(n):
            t = g[b, k]
            for i in range(k + 1, n):
                t = _log_sum(t, w[b, k, i])
            total += t
            for i in range(k + 1, n):
                less = w[b, k, i] - t
                g[b, i] = _log_sum(g[b, i], less + g[b, k])
                for j in range(i + 1, n):
                    w[b, i, j] = _log_sum(w[b, i, j], less + w[b, k, j])
        found[b] = total
