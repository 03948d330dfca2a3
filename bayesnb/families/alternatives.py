"""Families that are alternatives to each other: their weights, and the average of their densities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from bayesnb.families.compound import Parts, require_part
from bayesnb.families.family import Family
from bayesnb.families.support import COUNTS
from bayesnb.numerics import Array
from bayesnb.priors.compound import of_part
from bayesnb.statistics.statistic import Statistic


@dataclass(frozen=True, eq=False)
class SeenByEach(Parts):
    """The statistics that several families have of the same values."""

    def of_same_rows(self) -> bool:
        first = self.parts[0].seen()
        return all(np.allclose(part.seen(), first, rtol=1e-6, atol=1e-6) for part in self.parts)


def require_alternatives(families: Sequence[Any], whole: str) -> None:
    """Refuse families whose evidence cannot be compared, because a cell has a density by one and a probability by
    another.
    """
    for family in families:
        require_part(family, whole)
    if len(families) < 2:
        raise ValueError(f"Expected a list of two families or more, such as {whole}([Gaussian(), PolyaTree()]); "
                         f"got {list(families)}")  # fmt: skip
    first, *others = families
    for family in others:
        if (first.support is COUNTS) != (family.support is COUNTS) or first.atoms() != family.atoms():
            raise ValueError(
                f"{type(first).__name__} reads {first.support} and {type(family).__name__} reads {family.support}, and "
                "a probability cannot be weighed against a density: put families of numbers together, families of "
                "counts, or Hurdles of numbers"
            )


def positive_weights(weights: Any, n: int) -> Array:
    """Weights of alternatives, divided by their sum; equal ones if none are given."""
    found = np.ones(n) if weights is None else np.asarray(weights, float)
    if found.shape != (n,) or not (np.isfinite(found) & (found > 0)).all():
        raise ValueError(f"Expected a positive weight for each of {n} families; got {weights!r}")
    return found / found.sum()


def log_sum(terms: Sequence[Array]) -> Array:
    """ln Σ exp(term) of each cell."""
    top = np.maximum.reduce(terms)
    # A difference to an infinite number would be NaN.
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return top + np.log(sum(np.exp(term - top) for term in terms))


def averaged(each: Sequence[Array], log_weight: Array, cells: Array | None = None) -> Array:
    """ln Σ w exp(value); the last axis of w is the alternative. It is 0 where the cell of one column is missing."""
    total = log_sum([log_weight[..., m] + value for m, value in enumerate(each)])
    return total if cells is None else np.where(np.isnan(cells), 0.0, total)


def summed_over_cells(
    columns: Sequence[Sequence[Family]], log_weight: Array, theta: Mapping[str, Any], parts: Sequence[Statistic]
) -> Any:
    """Σ of ln Σ_m w_m p_m(data of the class and column | θ) over classes and columns, as a scalar tensor.

    Parameters
    ----------
    columns : sequence of sequence of Family
        For each column, the alternatives as families of that column alone.
    log_weight : array (alternative,)
    theta : {name: tensor (class, column, ...)}
    parts : sequence of Statistic
        What each alternative has seen.
    """

    def of_cell(c: int, k: int) -> Any:
        each = []
        for m, family in enumerate(columns[k]):
            own = {name: value[c : c + 1, k : k + 1] for name, value in of_part(m, theta).items()}
            each.append(family.pymc_statistic(own, parts[m].take([c]).columns([k])))
        return _pymc_averaged(log_weight, each)

    n_classes, n_columns = parts[0].seen().shape
    return sum(of_cell(c, k) for c in range(n_classes) for k in range(n_columns))


def summed_over_rows(
    columns: Sequence[Sequence[Family]], log_weight: Array, theta: Mapping[str, Any], x: Array, y: Array
) -> Any:
    """The same of rows (row, column) with the codes of their classes."""
    from pytensor import tensor as pt

    total = pt.zeros(())
    for k, families in enumerate(columns):
        here = {name: value[:, k : k + 1] for name, value in theta.items()}
        each = [family.pymc_log_likelihood(of_part(m, here), x[:, [k]]) for m, family in enumerate(families)]
        own = pt.eq(np.asarray(y)[:, None], pt.arange(each[0].shape[1]))
        total += _pymc_averaged(log_weight, [(value * own).sum(0) for value in each]).sum()
    return total


def _pymc_averaged(log_weight: Array, each: Sequence[Any]) -> Any:
    from pytensor import tensor as pt

    return reduce(pt.logaddexp, [w + value for w, value in zip(log_weight, each, strict=True)])
