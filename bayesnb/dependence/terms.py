"""The log predictive of a row, taken apart: one term a column, exact with the row itself left out.

Naive Bayes adds ln p(x_j | c, D) over the columns j of a row. Each summand is a *term*. Start with :func:`predictive`
(of new rows) and :func:`left_out` (of rows that were learned); :func:`names` says which column each term is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from bayesnb.families.columns import columns_of
from bayesnb.families.family import Family
from bayesnb.families.sampled import LeftOut
from bayesnb.kernels.blocks import CELLS, ROWS, slices
from bayesnb.model import Data, Parameters, Posterior, about
from bayesnb.model.leave_out import leave_out
from bayesnb.numerics import Array
from bayesnb.priors import Prior
from bayesnb.statistics.membership import Column, Labels


@dataclass(frozen=True, eq=False)
class Piece:
    """One column of a feature, as a feature of its own.

    Parameters
    ----------
    feature : str
        The feature of the model that the column stands in.
    column : int or None
        Its position there; ``None`` is the whole feature.
    family, believed : Family, Prior
        The likelihood of the column, and what is believed of its parameters.
    """

    feature: str
    column: int | None
    family: Family
    believed: Prior

    def of(self, x: Column) -> Column:
        """The column's cells among those of its feature."""
        return x if self.column is None else columns_of(x, [self.column])


def pieces(posterior: Posterior) -> list[Piece]:
    """The columns of all features, in order; columns that share parameters are one piece, as a bag of words is."""
    found = []
    for name, family in posterior.model.features.items():
        believed = posterior.features[name]
        if family.one_term:
            found.append(Piece(name, None, family, believed))
            continue
        each = range(posterior.statistics.features[name].seen().shape[1])
        found.extend(Piece(name, k, family.gathered([(family, k)]), believed.columns([k])) for k in each)
    return found


def names(posterior: Posterior) -> list[Any]:
    """What each term is called: its column, where the model names columns, and else its feature and position."""
    called = []
    for piece in pieces(posterior):
        columns = posterior.model.columns.get(piece.feature)
        if piece.column is None or posterior.statistics.features[piece.feature].seen().shape[1] == 1:
            called.append(columns[0] if columns and len(columns) == 1 else piece.feature)
        else:
            called.append(columns[piece.column] if columns else (piece.feature, piece.column))
    return called


def predictive(posterior: Posterior, data: Data, n_rows: int) -> Array:
    """The log predictive of each column of each row under each class.

    Parameters
    ----------
    posterior : Posterior
    data : {name: encoded column}
    n_rows : int

    Returns
    -------
    array (row, class, term)
        In nats. The sum over terms is ``posterior.log_predictive_features``. A missing cell has the term 0.
    """
    return _asked(posterior, data, n_rows, lambda piece, x: piece.family.log_predictive(piece.believed, x))


def likelihood(posterior: Posterior, theta: Parameters, data: Data, n_rows: int) -> Iterator[Array]:
    """log p(x_j | c, θ) of each column of each row in turn, (..., row, class); axes of draws of θ lead.

    Parameters
    ----------
    posterior : Posterior
        Of which θ is a point, or draws.
    theta : Parameters
    data : {name: encoded column}
    n_rows : int
    """
    lead = theta.log_pi.ndim - 1
    ready = _by_column(data)
    for piece in pieces(posterior):
        own = theta.features[piece.feature]
        if piece.column is not None:
            own = {name: value.take([piece.column], lead + 1) for name, value in own.items()}
        found = piece.family.log_likelihood(own, piece.of(ready[piece.feature]))
        yield np.broadcast_to(found, (*theta.log_pi.shape[:lead], n_rows, len(posterior.labels)))


def left_out(posterior: Posterior, data: Data, labels: Labels, sampled: Mapping[Any, LeftOut] | None = None) -> Array:
    """The same of rows that were learned, the row itself left out of its own class.

    A row changes the posterior of its own class only. So the terms of the other classes are the predictive of the
    whole posterior, and those of its own class are the ratio of two normalizers, which each family has in closed form
    (Gelfand and Dey 1994 call it the conditional predictive ordinate). A prior that was scaled to the data keeps
    that scale, as in :meth:`Posterior.log_left_out`.

    Parameters
    ----------
    posterior : Posterior
    data : {name: encoded column}
        The rows that ``posterior`` has seen, or some of them.
    labels : Labels
        Their classes and weights.
    sampled : {name: LeftOut}, optional
        What :meth:`Posterior.sampled_left_out` says of sampled features, if it was asked before.

    Returns
    -------
    array (row, class, term)
        In nats.

    Raises
    ------
    ImproperError
        Where an improper prior leaves nothing proper of a class without the row.
    """
    sampled = posterior.sampled_left_out(data, labels) if sampled is None else sampled

    def ask(piece: Piece, x: Column) -> Array:
        if piece.feature in sampled:
            return sampled[piece.feature].log_predictive[:, :, piece.column or 0]
        s = posterior.statistics.features[piece.feature]
        return piece.family.left_out_of_all(piece.believed, s, x, labels)

    return _asked(posterior, data, len(labels), ask)


def added_up(posterior: Posterior, data: Data, which: Labels | int, leave: bool = False) -> Array:
    """The terms of all columns added up, (row, class, 1): what one exponent for all of them is learned from.

    Parameters
    ----------
    which : Labels or int
        The classes of the rows, or how many rows there are.
    leave : bool
        Whether each row is left out of its own class.
    """
    n = which if isinstance(which, int) else len(which)
    found = posterior.log_predictive_features(data, n)
    if leave:
        leave_out(posterior, found, data, which)
    return found[:, :, None]


def in_blocks(n_rows: int, n_classes: int, n_terms: int) -> list[slice]:
    """Slices of the rows, each with about ``CELLS`` terms: the memory that a pass over all rows needs."""
    return slices(n_rows, max(64, min(ROWS, CELLS // max(1, n_classes * n_terms))))


def _asked(posterior: Posterior, data: Data, n_rows: int, ask: Callable[[Piece, Column], Array]) -> Array:
    """What ``ask`` says of each piece and its cells, (row, class), side by side; its errors name the feature."""
    parts = pieces(posterior)
    found = np.zeros((n_rows, len(posterior.labels), len(parts)))
    ready = _by_column(data)
    for k, piece in enumerate(parts):
        with about(f"feature {piece.feature!r}", posterior.labels, posterior.statistics.features[piece.feature]):
            found[:, :, k] = ask(piece, piece.of(ready[piece.feature]))
    return found


def _by_column(data: Data) -> Data:
    """The same data; a sparse matrix is asked for single columns, which one that is kept by columns has at hand."""
    return {name: x.tocsc() if sparse.issparse(x) else x for name, x in data.items()}
