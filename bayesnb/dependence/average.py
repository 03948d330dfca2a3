"""An average over models of different freedom, weighed by what each says of rows that it has not seen.

Start with :func:`members`: naive Bayes and its richer relatives as points in one space of exponents. :func:`weights`
weighs them, and :func:`averaged` makes one posterior of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bayesnb.dependence.exponents import Exponents, Group
from bayesnb.dependence.likelihood import Rows, Source
from bayesnb.dependence.posterior import LearnedExponents, learn_exponents
from bayesnb.numerics import Array

SHARES, NAIVE, WEIGHTED, ALL = "class shares", "naive Bayes", "weighted", "all terms"

PRIOR = {SHARES: 0.02, NAIVE: 1.0, WEIGHTED: 1.0, ALL: 1.0}
"""How many left-out rows each member has spoken for before any has: the Dirichlet prior of the weights.

The shares of the classes take the place of rows with a wrong label, of which there are few.
"""


def members(
    spec: Exponents, source: Source, groups: Sequence[Group], names: Sequence[Any], *sample_and_cells: Any
) -> dict[str, LearnedExponents]:
    """The posterior of the exponents in each member, written as a posterior of the exponents of all terms.

    The exponents of the shares of the classes are 0; those of naive Bayes are 1 for the families of columns, and 0 for
    what stands beside them; "weighted" learns those of columns and their shapes; the last learns all.

    Parameters
    ----------
    spec, source, groups, names
        As :func:`learn_exponents` takes them.
    *sample_and_cells
        The same.
    """
    every = learn_exponents(spec, source, groups, names, *sample_and_cells)
    columns = [group for group in groups if group.name in ("features", "shapes")]
    n, known = every.layout.terms, sum(group.terms for group in columns)
    fixed = np.zeros((2, every.layout.size))
    fixed[1, :n] = np.repeat([group.name == "features" for group in groups], [group.terms for group in groups])
    found = {
        SHARES: replace(every, points=fixed[:1], weights=np.ones(1)),
        NAIVE: replace(every, points=fixed[1:], weights=np.ones(1)),
    }
    if known == n:
        found[WEIGHTED] = every
    else:
        sample, *cells = sample_and_cells

        def only(rows: Rows) -> Rows:
            return replace(rows, terms=np.ascontiguousarray(rows.terms[:, :, :known]))

        few = learn_exponents(
            spec, lambda: map(only, source()), columns, names[:known], None if sample is None else only(sample), *cells
        )
        points = np.zeros((len(few.points), every.layout.size))
        points[:, :known], points[:, n:] = few.points[:, :known], few.points[:, known:]
        found[WEIGHTED] = replace(every, points=points, weights=few.weights)
    return found | {ALL: every}


def weights(log_p: Mapping[str, Array], weight: Array) -> dict[str, float]:
    """The weight of each member of the average, which is the mode of their posterior.

    The probability of the label of a left-out row is Σ_m π_m p_m, with a Dirichlet prior of π; the mode is found by EM
    (stacking of predictive distributions with a prior: Yao, Vehtari, Simpson and Gelman 2018).

    Parameters
    ----------
    log_p : {member: array (row,)}
        What each says of the labels of rows that it has not seen.
    weight : array (row,)
    """
    prior = np.array([PRIOR[name] for name in log_p])
    likely, pi = np.exp(np.stack([*log_p.values()], axis=-1)), prior / prior.sum()
    for _ in range(500):
        each = likely * pi
        total = each.sum(1, keepdims=True)
        pi = prior + weight @ (each / np.where(total > 0, total, 1.0))
        pi /= pi.sum()
    return dict(zip(log_p, pi.tolist(), strict=True))


def averaged(found: Mapping[str, LearnedExponents], weight: Mapping[str, float]) -> LearnedExponents:
    """One posterior of the exponents: the draws of all members, each with the weight of its member."""
    points = np.concatenate([each.points for each in found.values()])
    of_points = np.concatenate([weight[name] * each.weights for name, each in found.items()])
    return replace(found[ALL], points=points, weights=of_points / of_points.sum(), average=dict(weight))
