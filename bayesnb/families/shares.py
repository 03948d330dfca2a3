"""Cells that come of halving again and again: their probabilities from the shares of the halves of each node.

A cell may be empty because it has no width. A half without a cell gets the probability 0, whatever its share is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from bayesnb.families.dyadic import Dyadic
from bayesnb.numerics import Array, log
from bayesnb.priors import Theta
from bayesnb.priors.tree_nodes import CELLS, DEPTH, cell_logs, nodes_above, splits


def paths_of(lengths: Sequence[int]) -> Array:
    """The cell of each level of columns with so many levels, (column, level); -1 where a column has fewer than others.

    Half of the levels are on either side of the root, and so on.
    """
    paths = np.full((len(lengths), max(lengths)), -1, np.intp)
    for column, n in zip(paths, lengths, strict=True):
        column[:n] = _path(n)
    return paths


@cache
def _path(n: int) -> Array:
    return Dyadic.given(np.arange(1, n), DEPTH).paths


def halves(counts: Array, exists: Array) -> tuple[Array, Array]:
    """The weight in both halves of each node that has two, (class, column, node); 0 at the other nodes.

    Parameters
    ----------
    counts : array (class, column, cell)
    exists : array (column, cell)
        1 for each cell that a value can be in, and 0 for the others.
    """
    left, right = splits(counts)
    low, high = splits(exists)
    both = (low > 0) & (high > 0)
    return np.where(both, left, 0.0), np.where(both, right, 0.0)


def theta_of_shares(share: Array, exists: Array) -> Theta:
    """θ from the share of the left half of each node, (..., class, column, node)."""
    left, right = splits(exists)
    log_left = np.where(right == 0, 0.0, np.where(left == 0, -np.inf, log(share)))
    log_right = np.where(right == 0, -np.inf, np.where(left == 0, 0.0, log(1 - share)))
    return {"log_cell": cell_logs(log_left, log_right), "share": share}


def pymc_log_cells(theta: Mapping[str, Any], exists: Array) -> Any:
    """ln p of each cell as a tensor, (..., column, cell)."""
    from pytensor import tensor as pt

    share = theta["share"]
    left, right = splits(exists)
    log_left = pt.switch(right == 0, 0.0, pt.switch(left == 0, -np.inf, pt.log(share)))
    log_right = pt.switch(right == 0, -np.inf, pt.switch(left == 0, 0.0, pt.log1p(-share)))
    node, side = nodes_above(np.arange(CELLS))
    return pt.stack([log_left, log_right], axis=-1)[..., node, side].sum(-1)
