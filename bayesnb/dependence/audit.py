"""The audit of independence: which columns depend on each other given the class, and how strongly.

Start with :func:`independence`.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.random import Generator
from scipy.special import xlogy

from bayesnb.dependence import terms
from bayesnb.dependence.counting import counted, searched
from bayesnb.dependence.grid import SCREEN_DEPTH, Grid
from bayesnb.dependence.pairs import ROWS_OF_PRIOR, PairTerm, log_bayes_factors
from bayesnb.families.membership import Labels
from bayesnb.model import Data, Posterior
from bayesnb.numerics import Array


def independence(
    posterior: Posterior, data: Data, labels: Labels, level: float = 0.89, draws: int = 200, random_seed: int = 0
) -> pd.DataFrame:
    """What every pair of columns says against independence given the class.

    Real columns are cut into four intervals with equally many rows, so that few rows can tell.

    Parameters
    ----------
    posterior : Posterior
    data : {name: encoded column}
        The rows that it was learned from.
    labels : Labels
    level : float
        Probability of the interval of the mutual information.
    draws : int
        From how many draws the interval is taken.
    random_seed : int

    Returns
    -------
    DataFrame
        A row for each pair, the most dependent first: ``first`` and ``second``, the names of the columns;
        ``log_bayes_factor`` of dependence against independence given the class, exact, in nats; ``information``, their
        mutual information given the class, in nats, with ``lower`` and ``upper``; and ``gain``, by how many nats the
        cells of a row are more probable, each row left out, when the pair is modelled.

    Raises
    ------
    ValueError
        Where there are more columns than are searched for pairs.
    """
    grid = Grid.of(posterior.model, data, labels.weight)
    names, which = grid.names(terms.names(posterior)), searched(grid)
    counts, axes = counted(grid, data, labels, which, SCREEN_DEPTH), grid.axes(SCREEN_DEPTH)
    rng, rows = np.random.default_rng(random_seed), []
    each = zip(counts.pairs, counts.each(), log_bayes_factors(counts), strict=True)
    for (i, j), n, factor in each:
        drawn = _information(n, draws, rng)
        gain = PairTerm.of(n, axes[i], axes[j]).gain() / max(n.sum(), 1.0)
        low, high = np.quantile(drawn, [0.5 - level / 2, 0.5 + level / 2])
        rows.append((names[i], names[j], factor, drawn.mean(), low, high, gain))
    columns = ["first", "second", "log_bayes_factor", "information", "lower", "upper", "gain"]
    found = pd.DataFrame(rows, columns=columns)
    return found.sort_values("log_bayes_factor", ascending=False, kind="stable", ignore_index=True)


def _information(counts: Array, draws: int, rng: Generator) -> Array:
    """Draws of the mutual information of a pair given the class, (draw,), in nats.

    The cells of a class have the Dirichlet prior of :func:`log_bayes_factors`. The information of finite counts is
    never 0, even of independent columns: its posterior says how small it may be.
    """
    total = counts.sum()
    if total <= 0:
        return np.zeros(draws)
    base = np.outer(counts.sum((0, 2)), counts.sum((0, 1))) / total**2
    alpha = ROWS_OF_PRIOR * base + counts
    p = rng.standard_gamma(np.broadcast_to(alpha, (draws, *alpha.shape)))
    p /= p.sum((2, 3), keepdims=True)
    a, b = p.sum(3, keepdims=True), p.sum(2, keepdims=True)
    inside = xlogy(p, p) - xlogy(p, a) - xlogy(p, b)
    return inside.sum((2, 3)) @ (counts.sum((1, 2)) / total)
