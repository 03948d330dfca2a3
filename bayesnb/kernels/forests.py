"""Logarithms of sums over all rooted forests of a graph, and draws of forests."""

from __future__ import annotations

from math import exp, inf, log1p

import numpy as np

from bayesnb.kernels.blocks import COMPILED_FROM, Array, contiguous, loop


def log_forests(log_w: Array, log_ground: Array) -> Array:
    """The log of the sum of the weights of all rooted forests of a graph, (...,)."""
    # log_w, (..., node, node): symmetric, and its diagonal is not used; log_ground, (..., node). The weight of a forest
    # is the product of its edge weights (``log_w``) and root weights (``log_ground``). By the matrix-tree theorem
    # (Kirchhoff 1847, Tutte 1948), the sum is a determinant. The result is accurate for weights from e^-1000 to e^1000.
    n, lead = log_w.shape[-1], log_w.shape[:-2]
    w, g = np.array(log_w, float), np.broadcast_to(log_ground, log_w.shape[:-1]).copy()
    if w.size * n >= COMPILED_FROM:
        found = np.empty(int(np.prod(lead)))
        _log_forests(contiguous(w.reshape(-1, n, n)), contiguous(g.reshape(-1, n)), found)
        return found.reshape(lead)
    total = np.zeros(lead)
    for k in range(n):
        # Let e^t = g_k + Σ_i w_ki. Without node k, the weights of the graph are w_ij + w_ki w_kj / e^t and g_i + w_ki
        # g_k / e^t. The sum over forests is e^t times the sum for the smaller graph. All terms are positive, so no
        # digits are lost.
        star, later = w[..., k, k + 1 :], slice(k + 1, None)
        t = np.logaddexp(g[..., k], np.logaddexp.reduce(star, axis=-1, initial=-np.inf))
        total += t
        star_less = star - t[..., None]
        w[..., later, later] = np.logaddexp(w[..., later, later], star[..., :, None] + star_less[..., None, :])
        g[..., later] = np.logaddexp(g[..., later], star_less + g[..., [k]])
    return total


def log_directed_forests(log_w: Array, log_ground: Array) -> Array:
    """Logarithm of the sum over all rooted forests of a graph with directed edges, ``log_w`` (..., child, parent)."""
    w, g, total = log_w.copy(), log_ground.copy(), np.zeros(log_w.shape[:-2])
    for k in range(log_w.shape[-1]):
        later = slice(k + 1, None)
        t = np.logaddexp(g[..., k], np.logaddexp.reduce(w[..., k, later], axis=-1, initial=-np.inf))
        total += t
        # Each edge to k becomes an edge to the parent of k (Tutte 1948).
        into = w[..., later, k] - t[..., None]
        w[..., later, later] = np.logaddexp(w[..., later, later], into[..., None] + w[..., k, None, later])
        g[..., later] = np.logaddexp(g[..., later], into + g[..., [k]])
    return total


def _steps(log_w: Array, log_ground: Array) -> list[tuple[Array, Array]]:
    """Eliminate the nodes of a graph in order; return two arrays per node, the first with log weights of its edges."""
    w, steps = np.concatenate([log_w, log_ground[..., None]], axis=-1), []
    for k in range(log_w.shape[-1]):
        star = w[..., k, k + 1 :]
        t = np.logaddexp.reduce(star, axis=-1)
        through = star[..., :-1, None] + star[..., None, :] - t[..., None, None]
        w[..., k + 1 :, k + 1 :] = whole = np.logaddexp(w[..., k + 1 :, k + 1 :], through)
        # For each edge between the remaining nodes, the fraction of its weight that was added when the node was
        # eliminated.
        steps.append((star.copy(), np.exp(through - whole)))
    return steps


def edge_probabilities(log_w: Array, log_ground: Array) -> Array:
    """The probability of each edge in a random forest, (..., node, node)."""
    n, lead = log_w.shape[-1], log_w.shape[:-2]
    found, ground = np.zeros((*lead, n, n)), np.zeros((*lead, n))
    # Edge probabilities are the derivatives of the log sum in the log weights, by backpropagation.
    for k, (star, p) in reversed([*enumerate(_steps(log_w, log_ground))]):
        later = slice(k + 1, None)
        through, of_root = found[..., later, later] * p[..., :-1], ground[..., later] * p[..., -1]
        total = 1 - through.sum((-1, -2)) / 2 - of_root.sum(-1)
        own = total[..., None] * np.exp(star - np.logaddexp.reduce(star, axis=-1, keepdims=True))
        own += np.concatenate([through.sum(-1) + of_root, of_root.sum(-1, keepdims=True)], axis=-1)
        found[..., later, later] -= through
        ground[..., later] -= of_root
        found[..., k, later] = found[..., later, k] = own[..., :-1]
        ground[..., k] = own[..., -1]
    return found


def drawn_forests(log_w: Array, log_ground: Array, uniforms: Array, which: Array) -> Array:
    """Draw rooted forests with probabilities proportional to their weights: the parent of each node, (draw, node)."""
    # log_w, (graph, node, node): symmetric, and its diagonal is not used; log_ground, (graph, node); uniforms, (draw, n
    # (n + 1) / 2): uniform random numbers for n nodes; which, (draw,): the graph of each draw. The parent of a root is
    # n.
    n, steps = log_w.shape[-1], _steps(log_w, log_ground)
    found, start = np.full((len(which), n), n), 0
    if 4 * found.size * n >= COMPILED_FROM:
        stars, through = np.zeros((len(log_w), n, n + 1)), np.zeros((len(log_w), n, n, n + 1))
        for k, (star, p) in enumerate(steps):
            stars[:, k, k + 1 :], through[:, k, k + 1 :, k + 1 :] = star, p
        given = stars, through, contiguous(uniforms), contiguous(which, np.intp)
        _draw_forests(*given, np.zeros(n + 1, np.intp), found)
        return found
    # Undo the elimination of each node k. An edge i → j either existed before or replaces i → k → j, with probabilities
    # proportional to w_ij and w_ki w_kj / e^t. In the second case, the parent of i becomes k. The parent of k is drawn
    # with weights w_kj from the nodes j that are not below k; these probabilities follow from Cayley's formula for
    # forests. Random walks (Wilson 1996) would take e^1000 steps for a heavy edge.
    for k in reversed(range(n)):
        (star, p), later = steps[k], n - 1 - k
        u = uniforms[:, start : (start := start + later + 1)]
        above = found[:, k + 1 :] - (k + 1)
        moved = u[:, 1:] < p[which[:, None], np.arange(later), above]
        # The nodes below S, by pointer doubling; the last position is the ground.
        below = np.concatenate([moved, np.zeros((len(which), 1), bool)], axis=1)
        above = np.concatenate([above, np.full((len(which), 1), later)], axis=1)
        for _ in range(later.bit_length()):
            below |= np.take_along_axis(below, above, 1)
            above = np.take_along_axis(above, above, 1)
        open_to = np.where(below, -np.inf, star[which])
        share = np.exp(open_to - open_to.max(1, keepdims=True)).cumsum(1)
        found[:, k + 1 :][moved] = k
        found[:, k] = k + 1 + (u[:, :1] * share[:, -1:] >= share).sum(1)
    return found


@loop
def _log_sum(a: float, b: float) -> float:
    top, less = (a, b) if a > b else (b, a)
    return top if less == -inf else top + log1p(exp(less - top))


@loop
def _draw_forests(star: Array, p: Array, u: Array, which: Array, below: Array, found: Array) -> None:
    """Write the parent of each node, (draw, node), to ``found``; ``below``, (n + 1,), is a scratch array."""
    # ``below`` is 2 for a new child of node k, 1 for a descendant of a new child, and 0 for all other nodes.
    n = found.shape[1]
    for d in range(len(found)):
        g, start = which[d], 0
        for k in range(n - 1, -1, -1):
            below[k + 1 :] = 0
            moved = False
            for i in range(k + 1, n):
                if u[d, start + i - k] < p[g, k, i, found[d, i]]:
                    below[i], moved = 2, True
            top = -inf
            for i in range(k + 1, n + 1):
                j = i
                while moved and j < n and below[j] == 0:
                    j = found[d, j]
                if moved and j < n and below[i] == 0:
                    below[i] = 1
                if below[i] == 0 and star[g, k, i] > top:
                    top = star[g, k, i]
            total = 0.0
            for i in range(k + 1, n + 1):
                if below[i] == 0:
                    total += exp(star[g, k, i] - top)
            left, parent = u[d, start] * total, n
            for i in range(k + 1, n + 1):
                if below[i] == 0:
                    left -= exp(star[g, k, i] - top)
                    if left < 0.0:
                        parent = i
                        break
            for i in range(k + 1, n):
                if below[i] == 2:
                    found[d, i] = k
            found[d, k] = parent
            start += n - k


@loop
def _log_forests(w: Array, g: Array, found: Array) -> None:
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
