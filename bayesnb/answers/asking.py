"""What to ask next about a row with gaps: the values that a missing cell may have, and what they tell about the class.

Start with :func:`joint_of`, the probability of each class with each value. :func:`information` and :func:`saving` say
what asking is worth.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import xlogy

from bayesnb.families.family import Family
from bayesnb.families.levels import Coded
from bayesnb.families.poisson import Exposed
from bayesnb.families.support import COUNTS, LEVELS, NONNEGATIVE, POSITIVE, ZEROS_AND_ONES
from bayesnb.priors import Array, Belief

TAIL = 1e-10
"""Counts are summed until at most this probability is left."""

MOST_COUNTS = 2**20
"""The most counts that are summed."""

DRAWS = 1024
"""Draws that say where the mass of a real column lies; they place the nodes, and add nothing to the integral."""

NODES = 8
"""Gauss-Legendre nodes in each panel."""


def completed(x: Any, column: int, values: Array) -> Any:
    """An encoded row, once for each value of one of its cells."""
    rows = x[np.zeros(len(values), np.intp)]
    match rows:
        case Coded():
            return replace(rows, codes=_put(rows.codes, column, values))
        case Exposed():
            return replace(rows, counts=_put(rows.counts, column, values))
        case _:
            return _put(rows, column, values)


def _put(cells: Array, column: int, values: Array) -> Array:
    cells = np.array(cells)
    cells[:, column] = values
    return cells


def joint_of(
    family: Family, believed: Belief, x: Any, column: int, log_joint: Callable[[Array], Array], log_row: float
) -> tuple[Array, float]:
    """p(class, value | the rest of the row) of a missing cell, (value, class), and the probability that is left out.

    Levels, zeros and ones are enumerated. Counts are summed until at most ``TAIL`` is left. Of a real column the
    probability is a density, integrated by Gauss-Legendre quadrature in panels that follow the quantiles of each class,
    and double in width from the outermost ones on, because predictives have heavy tails. The result is normalized.

    Parameters
    ----------
    family : Family
        It reads the column.
    believed : Belief
        Its posterior.
    x : encoded columns of the family, of one row
    column : int
        Among the columns of the family.
    log_joint : function of values
        log p(class, row) of the row with each of these values, (value, class).
    log_row : float
        log p(row) without the cell.

    Raises
    ------
    ValueError
        If counts are so large that they cannot be summed.
    """

    def found(values: Array, log_weight: Array | float = 0.0) -> Array:
        return np.exp(log_joint(values) - log_row + np.reshape(log_weight, (-1, 1)))

    if family.support is LEVELS:
        joint = found(np.arange(len(x.levels[column])))
    elif family.support is ZEROS_AND_ONES:
        joint = found(np.array([0.0, 1.0]))
    elif family.support is COUNTS:
        joint, size = found(np.arange(64.0)), 64
        while joint.sum() < 1 - TAIL:
            if size >= MOST_COUNTS:
                raise ValueError(f"the counts below {size:,} hold a probability of only {joint.sum():.3g}")
            joint, size = np.concatenate([joint, found(np.arange(size, 2.0 * size))]), 2 * size
    else:
        nodes, log_weight = _nodes(_drawn(family, believed, x, column), family.support in (POSITIVE, NONNEGATIVE))
        atoms = np.array(family.atoms())
        joint = found(np.append(nodes, atoms), np.append(log_weight, 0.0 * atoms))
    total = joint.sum()
    return joint / total, float(abs(1 - total))


def _drawn(family: Family, believed: Belief, x: Any, column: int) -> Array:
    """Draws of the cell from the predictive of each class, (draw, class); NaN where it has a probability of its own."""
    rng = np.random.default_rng(0)
    theta = family.draw(believed, rng, (DRAWS,))
    n_classes = next(iter(theta.values())).shape[1]
    each = [
        family.sample({name: value[:, c] for name, value in theta.items()}, rng, None)[:, column]
        for c in range(n_classes)
    ]
    drawn = np.stack(each, axis=1)
    return np.where(np.isin(drawn, family.atoms()), np.nan, drawn)


def _nodes(drawn: Array, positive: bool) -> tuple[Array, Array]:
    """Nodes and log weights of the panels that the quantiles of each class cut."""
    drawn = drawn[:, ~np.isnan(drawn).all(0)]
    edges = np.nanquantile(drawn, np.linspace(0, 1, 17), axis=0)
    width = np.maximum(edges[-1] - edges[0], np.finfo(float).eps * np.abs(edges).max(0))
    away = width * (2.0 ** np.arange(1, 40) - 1)[:, None]
    cuts = np.unique(np.concatenate([edges, edges[0] - away, edges[-1] + away]))
    if positive:
        cuts = np.concatenate([[0.0], cuts[cuts > 0]])
    at, step = np.polynomial.legendre.leggauss(NODES)
    half = np.diff(cuts)[:, None] / 2
    nodes = cuts[:-1, None] + half * (at + 1)
    with np.errstate(divide="ignore"):
        weight = np.log(half * step)
    inside = nodes.ravel() > 0 if positive else np.isfinite(nodes.ravel())
    return nodes.ravel()[inside], weight.ravel()[inside]


def information(joint: Array) -> float:
    """The mutual information of class and value, in nats: how much the entropy of the class is expected to fall."""
    of_class, of_value = joint.sum(0), joint.sum(1)
    found = xlogy(joint, joint).sum() - xlogy(of_class, of_class).sum() - xlogy(of_value, of_value).sum()
    return max(0.0, float(found))


def saving(joint: Array, cost_matrix: Array) -> float:
    """How much less the best decision is expected to cost when the value is known; ``cost_matrix`` (class, decision).

    This is the expected value of sample information (Raiffa and Schlaifer 1961). It is 0 where no value would change
    the decision.
    """
    each = joint @ cost_matrix
    return max(0.0, float(each.sum(0).min() - each.min(1).sum()))
