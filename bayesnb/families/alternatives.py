"""Families that are alternatives to each other: their weights, and the average of their densities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from bayesnb.families.columns import NEAR
from bayesnb.families.compound import Parts, require_part
from bayesnb.families.family import Family
from bayesnb.families.support import COUNTS
from bayesnb.kernels.blocks import slices
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
    """ln Σ exp(term) of each cell. (``np.logaddexp`` takes five times as long.)"""
    return reduce(_log_sum_of_two, terms)


def _log_sum_of_two(a: Array, b: Array) -> Array:
    with np.errstate(invalid="ignore"):
        top, less = np.maximum(a, b), np.minimum(a, b)
        less -= top
        total = top + np.log1p(np.exp(less, out=less), out=less)
        return total if np.isfinite(total.sum()) else np.logaddexp(a, b)


def averaged(each: Sequence[Array], log_weight: Array) -> Array:
    """ln Σ w exp(value); the last axis of w is the alternative."""
    return log_sum([log_weight[..., m] + value for m, value in enumerate(each)])


def averaged_over_rows(each: Sequence[Array], log_weight: Array, cells: Array) -> Array:
    """The same of one column, (..., row, class), where values are 0 if the cell is missing, and the average is, too.

    The weights, (..., 1, class, alternative), are those of all rows. Rows are taken so few at a time that temporaries
    stay in the cache, and the weights are repeated for them, because numpy is slow at loops over a few classes.
    """
    whole = np.zeros(np.broadcast_shapes(each[0].shape, log_weight.shape[:-1]))
    size = min(len(cells), max(1, NEAR * len(cells) // max(1, whole.size)))
    weights = np.repeat(np.moveaxis(log_weight, -1, 0), size, axis=-2)
    for cut in slices(len(cells), size):
        here = weights[..., : len(cells[cut]), :]
        whole[..., cut, :] = log_sum([w + value[..., cut, :] for w, value in zip(here, each, strict=True)])
    whole[..., np.isnan(cells), :] = 0.0
    return whole


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
