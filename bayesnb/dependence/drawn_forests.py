"""Draw column parameters and forests (sets of edges between columns) from their posterior."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.random import Generator

from bayesnb.dependence.forests import CELLS_DEPTH, DrawnTerm
from bayesnb.dependence.terms import TermSet
from bayesnb.model import Data, Parameters, Posterior, pieces
from bayesnb.model.naive_bayes import chosen_classes
from bayesnb.numerics import Array
from bayesnb.priors.common_draws import CommonDraws

AT_ONCE = 1024
"""Least number of cells that are drawn at once; if fewer are needed, each is drawn several times."""


@dataclass(frozen=True, eq=False)
class DrawnForests:
    """Posterior draws ``theta`` of the parameters of the columns, each to be combined with drawn forests."""

    # The density of a row in a class is ∏_u p(x_u | θ_u) times exp(term), with the term from ``Forests.drawn``. The
    # mean of this density over the draws is the posterior predictive density.

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
        """log p(c, x | θ) at every draw, (draw, row, class); draws are also conditioned on the row if ``given_row``."""
        posterior, theta = self.posterior, self.theta
        own, chosen = pieces.predictive(posterior, data, n_rows), None
        if given_row:
            log_joint = posterior.log_label + own.sum(-1) + self.terms.beside(posterior, data, n_rows).sum(-1) + offset
            chosen = chosen_classes(log_joint, common.generator(0).random(common.draws))
            joint = posterior.log_classes_at(theta, common, chosen)
        else:
            joint = np.repeat(theta.log_pi[:, None], n_rows, axis=1)
        # A categorical column u whose parent has a known cell uses the posterior mean of p(x_u | θ_u). Draws of p(x_u |
        # parent's cell) already contain the uncertainty of the parameters.
        replaced: dict[int, Array] = {}
        for i, drawn in enumerate(self.of_rows(data, n_rows, common, chosen)):
            joint[:, i] += drawn.edges.sum(-1) + drawn.gaps
            for term, at in self._levels:
                here = replaced.setdefault(term, np.zeros(joint.shape, bool))
                here[:, i] = drawn.known[..., at]
        ready = pieces.by_column(posterior.without_constant(data))
        for k, piece in enumerate(posterior.pieces):
            features, x = piece.theta(theta), piece.of(ready[piece.feature])
            if chosen is None:
                each = piece.family.log_likelihood(features, x)
            else:
                here = common.within(2 + k)
                each = piece.family.log_likelihood_given_row(piece.believed, features, x, chosen, here)
            joint += np.where(replaced[k], own[..., k], each) if k in replaced else each
        return joint + offset

    def of_rows(self, data: Data, n_rows: int, common: CommonDraws, chosen: Array | None = None) -> Iterator[DrawnTerm]:
        """For each row, yield draws of the forest's contribution to the log density; yield nothing without a forest."""
        forests = self.terms.forests
        return iter(()) if forests is None else forests.drawn(self.codes(data, n_rows), common.within(1), chosen)

    def connect(
        self, cells: Mapping[str, Array], draw: Array, labels: Array, rng: Generator, read: Callable[[str, Array], Any]
    ) -> None:
        """Convert rows ``cells`` drawn from naive Bayes to rows drawn from the forest model, in place."""
        # draw: the index of each row's parameter draw; read(feature, cells): encodes drawn cells, to find their
        # intervals.
        if (forests := self.terms.forests) is None:
            return
        grid, n, parts = self.terms.statistics.cells.grid, forests.log_w.shape[1], self.posterior.pieces
        levels, statistics = dict(self._levels), self.posterior.statistics.features

        def code(v: int, x: Array) -> Array:
            name = grid.features[v]
            whole = np.zeros((len(x), statistics[name].seen().shape[1]))
            whole[:, grid.places[v]] = x
            some = grid.only([v])
            return some.coarser(some.codes({name: read(name, whole)}, len(x)), CELLS_DEPTH)[0]

        codes = np.stack([code(v, cells[grid.features[v]][:, grid.places[v]]) for v in range(n)], axis=1)
        parents = forests.parents(len(self.log_pi), rng)[draw, labels]
        above, depth = np.append(parents, np.full((len(draw), 1), n), axis=1), np.zeros(parents.shape, int)
        at = parents
        while (at < n).any():
            depth += at < n
            at = np.take_along_axis(above, at, 1)
        # Redraw columns, parents before children. A cell drawn from the family of a column is accepted with a
        # probability proportional to p(cell | parent's cell) / p(cell).
        for level, v in product(range(1, n), range(n)):
            rows = np.flatnonzero(depth[:, v] == level)
            rows = rows[codes[rows, parents[rows, v]] >= 0]
            if not len(rows):
                continue
            parent, name, place = parents[rows, v], grid.features[v], grid.places[v]
            log_r = forests.drawn_ratios(v, parent, codes[rows, parent], draw[rows], labels[rows], rng)
            log_r = np.append(log_r, np.zeros((len(rows), 1)), axis=1)  # of a cell without a code
            log_r -= log_r.max(1, keepdims=True)
            piece, s = parts[grid.terms[v]], statistics[name].columns([place])
            theta, lead = {key: x.take([place], 2) for key, x in self.theta.features[name].items()}, (draw, labels)
            if int(grid.terms[v]) in levels:
                theta, lead = piece.family.plug_in(piece.believed, "mean"), (labels,)
            pending = np.arange(len(rows))
            while len(pending):
                tries = max(1, AT_ONCE // len(pending))
                some = np.repeat(pending, tries)
                where = tuple(each[rows[some]] for each in lead)
                x = piece.family.sample({key: value[where] for key, value in theta.items()}, rng, s)[:, 0]
                new = code(v, x)
                accepted = (np.log(rng.random(len(some))) < log_r[some, new]).reshape(-1, tries)
                first, found = accepted.argmax(1) + np.arange(len(pending)) * tries, accepted.any(1)
                here = rows[pending[found]]
                cells[name][here, place], codes[here, v] = x[first[found]], new[first[found]]
                pending = pending[~found]

    def codes(self, data: Data, n_rows: int) -> Array:
        """The code of each value's interval or level, (row, column)."""
        grid = self.terms.statistics.cells.grid
        return grid.coarser(grid.codes(data, n_rows), CELLS_DEPTH).T

    @property
    def _levels(self) -> list[tuple[int, int]]:
        grid = self.terms.statistics.cells.grid
        return [(int(grid.terms[k]), int(k)) for k in np.flatnonzero(~grid.real)]
