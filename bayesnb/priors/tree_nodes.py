"""The nodes of a dyadic tree, level by level: sums over halves, up and down the tree.

Nodes are numbered level by level, the root first. :func:`splits` turns numbers of cells into numbers of nodes, and
:func:`climb` sums over all ways to stop.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import accumulate
from typing import Any

import numpy as np

from bayesnb.numerics import Array

type Terms = tuple[Any, ...]
"""Logarithms at nodes, alone or with their first and second derivative."""

DEPTH = 6
"""How often a column is halved."""

CELLS = 2**DEPTH
NODES = CELLS - 1

HERE = [slice(2**d - 1, 2 ** (d + 1) - 1) for d in range(DEPTH)]
"""Where the nodes of each depth stand among all nodes."""

PATH = [slice(d, d + 1) for d in range(DEPTH)]
"""Where the node of each depth stands among the nodes above a cell."""

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


def climb(near: Terms, own: Terms, log_stop: Array, log_split: Array, logaddexp: Any = np.logaddexp) -> Any:
    """Sum over all ways to stop, from the log evidence of each node where it stops and where it splits.

    Parameters
    ----------
    near, own : tuples of arrays (..., node)
        The log evidence, alone or with its first and second derivative. The nodes are those of a whole tree, or those
        of a path, which has one node of each depth.
    log_stop, log_split : arrays (..., node)
        ln of the probabilities of both states of each node.

    Returns
    -------
    total : tuple of arrays (...)
        The log evidence of the root, and its derivatives.
    states : list of pairs, one for each depth, the root first
        ln of the posterior probabilities of both states of each node.
    """
    tree, total, stopped, states = log_stop.shape[-1] == NODES, (), (), []
    for here in reversed(HERE if tree else PATH):
        stops, splits = (tuple(v[..., here] for v in each) for each in (near, own))
        if total:
            stops = tuple(v + (w[..., ::2] + w[..., 1::2] if tree else w) for v, w in zip(stops, stopped, strict=True))
            splits = tuple(v + (w[..., ::2] + w[..., 1::2] if tree else w) for v, w in zip(splits, total, strict=True))
        stop, split = log_stop[..., here], log_split[..., here]
        stopped, total = stops, mixed([stop, split], [stops, splits], logaddexp)
        states.insert(0, (stop + stops[0] - total[0], split + splits[0] - total[0]))
    return tuple(v[..., 0] for v in total), states


def mixed(log_weights: Sequence[Any], terms: Sequence[Terms], logaddexp: Any = np.logaddexp) -> Terms:
    """ln Σ w exp f; where each term is f with its first and second derivative, with these."""
    values = [w + term[0] for w, term in zip(log_weights, terms, strict=True)]
    total = reduce(logaddexp, values)
    if len(terms[0]) == 1:
        return (total,)
    with np.errstate(invalid="ignore"):
        shares = [np.exp(value - total) for value in values]

    def average(each: Iterable[Array]) -> Array:
        return sum(np.where(w > 0, w * value, 0.0) for w, value in zip(shares, each, strict=True))

    first = average(slope for _, slope, _ in terms)
    return total, first, average(second + (slope - first) ** 2 for _, slope, second in terms)


def descend(nodes: Array) -> Array:
    """The sum over each node and those above it."""
    return np.concatenate(_sums_from_above([nodes[..., here] for here in HERE]), axis=-1)


def cell_logs(left: Array, right: Array) -> Array:
    """The logarithm of the probability of each cell, from those of both halves of each node."""
    halves = np.stack([left, right], axis=-1)
    return _sums_from_above([halves[..., here, :].reshape(*left.shape[:-1], -1) for here in HERE])[-1]


def _sums_from_above(levels: Sequence[Array]) -> list[Array]:
    """Each level added to the sums of the level above, which has half as many nodes."""
    return list(accumulate(levels, lambda above, level: np.repeat(above, 2, axis=-1) + level))
