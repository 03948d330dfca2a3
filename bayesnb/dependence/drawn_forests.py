"""Draws of the parameters of columns and of forests of edges between them, given the data or given a row too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bayesnb.dependence import terms
from bayesnb.dependence.columns import by_column, pieces
from bayesnb.dependence.forests import CELLS_DEPTH, DrawnTerm
from bayesnb.dependence.terms import TermSet
from bayesnb.model import Data, Parameters, Posterior
from bayesnb.model.naive_bayes import chosen_classes
from bayesnb.numerics import Array
from bayesnb.priors.common_draws import CommonDraws


@dataclass(frozen=True, eq=False)
class DrawnForests:
    """Draws of the parameters of the columns given the data, ``theta``; forests are drawn per row.

    The density of a row in a class is ∏_u p(x_u | θ_u) times the term of :meth:`Forests.drawn`. If a column has levels
    only, and its cell is drawn given the cell of its parent, then p(x_u | θ_u) is replaced by its mean, because the
    probability given the parent already varies as much as the counts allow. So the mean of the density over draws is
    the predictive, and given the row, the mean of p(c | x, θ) is ``predict_proba``.
    """

    terms: TermSet
    posterior: Posterior
    theta: Parameters

    @property
    def log_pi(self) -> Array:
        """Log class probabilities, (draw, class)."""
        return self.theta.log_pi

    def log_joint(
        self, data: Data, n_rows: int, common: CommonDraws, given_row: bool = False, offset: Array | float = 0.0
    ) -> Array:
        """log p(c, x | θ) at every draw, (draw, row, class), given the data, or given the row too."""
        posterior, theta = self.posterior, self.theta
        own, chosen = terms.predictive(posterior, data, n_rows), None
        if given_row:
            log_joint = posterior.log_label + own.sum(-1) + self.terms.beside(posterior, data, n_rows).sum(-1) + offset
            chosen = chosen_classes(log_joint, common.generator(0).random(common.draws))
            joint = posterior.log_classes_at(theta, common, chosen)
        else:
            joint = np.repeat(theta.log_pi[:, None], n_rows, axis=1)
        replaced: dict[int, Array] = {}
        for i, drawn in enumerate(self.of_rows(data, n_rows, common, chosen)):
            joint[:, i] += drawn.edges.sum(-1) + drawn.gaps
            for term, at in self._levels:
                here = replaced.setdefault(term, np.zeros(joint.shape, bool))
                here[:, i] = drawn.known[..., at]
        ready = by_column(data)
        for k, piece in enumerate(pieces(posterior)):
            features, x = theta.features[piece.feature], piece.of(ready[piece.feature])
            if piece.column is not None:
                features = {name: value.take([piece.column], 2) for name, value in features.items()}
            if chosen is None:
                each = piece.family.log_likelihood(features, x)
            else:
                here = common.within(2 + k)
                each = piece.family.log_likelihood_given_row(piece.believed, features, x, chosen, here)
            joint += np.where(replaced[k], own[..., k], each) if k in replaced else each
        return joint + offset

    def of_rows(self, data: Data, n_rows: int, common: CommonDraws, chosen: Array | None = None) -> Iterator[DrawnTerm]:
        """Draws of the term of each row; nothing if no two columns have cells."""
        forests = self.terms.forests
        return iter(()) if forests is None else forests.drawn(self.codes(data, n_rows), common.within(1), chosen)

    def codes(self, data: Data, n_rows: int) -> Array:
        """The cells of rows, (row, column)."""
        grid = self.terms.statistics.cells.grid
        return grid.coarser(grid.codes(data, n_rows), CELLS_DEPTH).T

    @property
    def _levels(self) -> list[tuple[int, int]]:
        """The positions among all terms, and among the columns with cells, of columns that have levels only."""
        grid = self.terms.statistics.cells.grid
        return [(int(grid.terms[k]), int(k)) for k in np.flatnonzero(~grid.real)]
