"""The terms ln p(x_j | c, D) of naive Bayes, one per column j: the pieces of a posterior."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from scipy import sparse

from bayesnb.families.gaussian import Gaussian
from bayesnb.families.sampled import LeftOut
from bayesnb.kernels.blocks import CELLS, ROWS, slices
from bayesnb.model.naive_bayes import Parameters, Posterior
from bayesnb.model.stacks import Piece
from bayesnb.model.statistics import Data, about
from bayesnb.numerics import Array
from bayesnb.statistics.statistic import Column, Labels, joined


def by_column(data: Data) -> Data:
    """Convert sparse matrices to CSC format, for fast access to columns."""
    return {name: x.tocsc() if sparse.issparse(x) else x for name, x in data.items()}


def gaussians(posterior: Posterior) -> dict[int, Piece]:
    """The columns with a Gaussian family, as a dict {position in ``posterior.pieces``: piece}."""
    return {k: piece for k, piece in enumerate(posterior.pieces) if isinstance(piece.family, Gaussian)}


def gaussian_columns(posterior: Posterior, data: Data) -> Array:
    """All columns of Gaussian features as one array, (row, column)."""
    return np.concatenate([piece.of(data[piece.feature]) for piece in gaussians(posterior).values()], axis=1)


def predictive(posterior: Posterior, data: Data, n_rows: int) -> Array:
    """The log predictive density of each column, (row, class, column); 0 for a missing cell."""
    return _of_columns(posterior, data, n_rows, lambda piece, x: piece.family.log_predictive(piece.believed, x))


def likelihood(posterior: Posterior, theta: Parameters, data: Data, n_rows: int) -> Iterator[Array]:
    """Yield log p(x_j | c, θ) of each column, (..., row, class); leading axes are draws of θ."""
    shape, ready = (*theta.log_pi.shape[:-1], n_rows, len(posterior.labels)), by_column(data)
    for piece in posterior.pieces:
        found = piece.family.log_likelihood(piece.theta(theta), piece.of(ready[piece.feature]))
        yield np.broadcast_to(found, shape)


def left_out(posterior: Posterior, data: Data, labels: Labels, sampled: Mapping[Any, LeftOut] | None = None) -> Array:
    """The leave-one-out log predictive density of each column for learned rows, (row, class, column)."""
    # Leaving out a row changes only the density in the row's class, unless the column is constant or the classes share
    # a prior. A prior that was scaled to the data keeps its scale.
    sampled = posterior.sampled_left_out(data, labels) if sampled is None else sampled

    def own(piece: Piece, x: Column) -> Array:
        if piece.feature in sampled:
            return sampled[piece.feature].log_predictive[:, :, piece.column or 0]
        s = posterior.statistics.features[piece.feature]
        return piece.family.left_out_of_all(piece.believed, s, x, labels)

    found = _of_columns(posterior, data, len(labels), own, labels)
    families, seen = posterior.model.features, posterior.statistics.features
    constant = {name: {*family.constant(seen[name]).tolist()} for name, family in families.items()}
    for k, piece in enumerate(posterior.pieces):
        if piece.column in constant[piece.feature]:
            found[:, :, k] = found[np.arange(len(labels)), labels.codes, k][:, None]
    return found


def _of_columns(
    posterior: Posterior, data: Data, n_rows: int, term: Callable[[Piece, Column], Array], left: Labels | None = None
) -> Array:
    found = np.zeros((n_rows, len(posterior.labels), len(posterior.pieces)))
    ready, rest = by_column(data), dict(enumerate(posterior.pieces))
    # A call for all Gaussian columns takes a fraction of the time of a call for each.
    if (gaussian := gaussians(posterior)) and all(isinstance(data[p.feature], np.ndarray) for p in gaussian.values()):
        believed = joined([piece.believed for piece in gaussian.values()])
        if (together := Gaussian.of_cells(believed, gaussian_columns(posterior, data), left)) is not None:
            found[:, :, [*gaussian]] = together
            rest = {k: piece for k, piece in rest.items() if k not in gaussian}
    for k, piece in rest.items():
        with about(f"feature {piece.feature!r}", posterior.labels, posterior.statistics.features[piece.feature]):
            found[:, :, k] = term(piece, piece.of(ready[piece.feature]))
    return found


def in_blocks(n_rows: int, n_classes: int, n_terms: int) -> list[slice]:
    """Slices that divide the rows into blocks, so that an array (row, class, term) of one block is small."""
    return slices(n_rows, max(64, min(ROWS, CELLS // max(1, n_classes * n_terms))))
