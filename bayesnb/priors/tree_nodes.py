"""The nodes of a dyadic tree, level by level: sums over halves, up and down the tree.

Nodes are numbered level by level, the root first. :func:`splits` turns numbers of cells into numbers of nodes, and
:func:`climb` sums over all ways to stop.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesnb.numerics import Array

DEPTH = 6
"""How often a column is halved."""

CELLS = 2**DEPTH
NODES = CELLS - 1

HERE = [slice(2**d - 1, 2 ** (d + 1) - 1) for d in range(DEPTH)]
"""Where the nodes of each depth stand among all nodes."""

LEVEL = np.repeat(np.arange(DEPTH), 2 ** np.arange(DEPTH))
"""The depth of each node. Nodes are numbered level by level, the root first."""


def splits(cells: Array) -> tuple[Array, Array]:
    """The sums over both halves of each node, (..., node), of numbers of cells, (..., cell)."""
    left: list[Array] = []
    right: list[Array] = []
    while cells.shape[-1] > 1:
        left.insert(0, cells[..., ::2])
        right.insert(0, cells[..., 1::2])
        cells = left[0] + right[0]
    return np.concatenate(left, axis=-1), np.concatenate(right, axis=-1)


def nodes_above(cell: Array) -> tuple[Array, Array]:
    """The nodes above each cell, the root first, and on which side of them it is, 0 or 1, (..., depth)."""
    path = cell[..., None] >> np.arange(DEPTH - 1, -1, -1)
    return 2 ** np.arange(DEPTH) - 1 + (path >> 1), path & 1


def levels(nodes: Any) -> list[Any]:
    """The nodes of each depth, the root first."""
    return [nodes[..., here] for here in HERE]


def climb(near: Any, own: Any, log_stop: Any, log_split: Any, logaddexp: Any = np.logaddexp) -> tuple[Any, ...]:
    """Sum over all ways to stop, from the log evidence of each node where it stops and where it splits.

    Returns
    -------
    total : array (...)
        The log evidence of the root.
    log_stop, log_split : arrays (..., node)
        The posterior of the two states of each node; only of numpy arrays.
    """
    stopped = total = None
    after: list[tuple[Any, Any]] = []
    for near_, own_, stop, split in list(zip(*map(levels, (near, own, log_stop, log_split)), strict=True))[::-1]:
        if total is not None:
            near_ = near_ + stopped[..., ::2] + stopped[..., 1::2]
            own_ = own_ + total[..., ::2] + total[..., 1::2]
        stopped, total = near_, logaddexp(stop + near_, split + own_)
        after.insert(0, (stop + near_ - total, split + own_ - total))
    if logaddexp is not np.logaddexp:
        return (total[..., 0],)
    return total[..., 0], *(np.concatenate(state, axis=-1) for state in zip(*after, strict=True))


def descend(log_split: Array) -> Array:
    """The sum over each node and those above it."""
    sums = [levels(log_split)[0]]
    for level in levels(log_split)[1:]:
        sums.append(np.repeat(sums[-1], 2, axis=-1) + level)
    return np.concatenate(sums, axis=-1)


def cell_logs(left: Array, right: Array) -> Array:
    """The logarithm of the probability of each cell, from those of both halves of each node."""
    total = np.zeros((*left.shape[:-1], 1))
    for low, high in zip(levels(left), levels(right), strict=True):
        both = np.stack([low, high], axis=-1)
        total = (total[..., None] + both).reshape(*both.shape[:-2], -1)
    return total


def mixed(log_weights: Any, terms: Any) -> tuple[Array, Array, Array]:
    """ln Σ w exp f, with its first and second derivative; each term is f with its own two derivatives."""
    values = np.stack(np.broadcast_arrays(*(w + term[0] for w, term in zip(log_weights, terms, strict=True))))
    total = np.logaddexp.reduce(values, axis=0)
    with np.errstate(invalid="ignore"):
        share = np.exp(values - total)
    first = sum(np.where(w > 0, w * term[1], 0.0) for w, term in zip(share, terms, strict=True))
    second = sum(
        np.where(w > 0, w * (term[2] + (term[1] - first) ** 2), 0.0) for w, term in zip(share, terms, strict=True)
    )
    return total, first, second
