"""Naive Bayes with further factors for the dependence of columns; every factor is raised to a power."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.random import Generator
from scipy.special import logsumexp

from bayesnb.dependence.columns import DependenceStatistics, uninformative
from bayesnb.dependence.drawn_forests import DrawnForests
from bayesnb.dependence.exponents import Exponents, NoExponentsError
from bayesnb.dependence.likelihood import HELD, Rows, log_posterior_of_classes
from bayesnb.dependence.posterior import LearnedExponents, tempered
from bayesnb.dependence.terms import TermSet, exponent_terms, relative, terms_of
from bayesnb.kernels.blocks import one_thread_each, slices
from bayesnb.model import Data, Parameters, Posterior, normalize, part_of, pieces
from bayesnb.model.order import Order
from bayesnb.numerics import Array, log
from bayesnb.progress import counted
from bayesnb.statistics.statistic import Labels
from bayesnb.wording import Cure


@dataclass(frozen=True, eq=False)
class Dependence:
    """The log-likelihood terms that are added to naive Bayes, and the posterior of the exponents of all terms."""

    terms: TermSet
    exponents: LearnedExponents
    weight: float  # total weight of the rows from which the exponents were learned
    older: bool = False  # whether rows were learned or forgotten after the exponents were learned
    # (row, class): log p(c | x) of each learned row, predicted from the other stacking folds; ``None`` if the folds do
    # not cover every row. Not saved in model files.
    held_out: Array | None = None

    @property
    def spec(self) -> Exponents:
        return self.exponents.spec

    @property
    def statistics(self) -> DependenceStatistics:
        return self.terms.statistics

    # Learning

    def after(self, statistics: DependenceStatistics) -> Dependence:
        return replace(self, terms=TermSet(statistics), older=True, held_out=None)

    def of_member(self, name: str) -> Dependence:
        """A copy of this dependence that keeps only the model ``name`` of a model average."""
        exponents = self.exponents
        spread = replace(exponents.spreads[[*exponents.average].index(name)], weight=1.0)
        return replace(self, exponents=replace(exponents, average={}, power=1.0, spreads=(spread,)), held_out=None)

    def over(self, index: Sequence[int]) -> Dependence:
        """A copy of this dependence for the classes at the positions ``index``; -1 stands for a class without rows."""
        if list(index) == list(range(self.exponents.layout.classes)):
            return self
        found = TermSet(self.statistics.take(index))
        return replace(self, terms=found, exponents=self.exponents.over(index), older=True, held_out=None)

    def rows(self, posterior: Posterior, data: Data, labels: Labels) -> Rows:
        """The rows from which the exponents were learned, with leave-one-out values of the log-likelihood terms."""
        if self.spec.forests:
            raise NoExponentsError(
                "{cure} learns no exponents: all parameters are integrated out in closed form, and no sampler has them",
                cure=Cure("dependence", "forests"),
            )
        if self.older:
            raise ValueError(
                "rows were learned or forgotten since the exponents were learned, so the rows that they came from are "
                "left out of other terms now: learn_exponents(X, y) first"
            )
        some, labels = self.drawn(posterior, data, labels)
        if not np.isclose(labels.weight.sum(), self.weight):
            raise ValueError(
                f"rows of weight {labels.weight.sum():g} were given, and the exponents were learned from rows of "
                f"weight {self.weight:g}: pass exactly those rows"
            )
        return self.some_rows(posterior, part_of(data, some), labels)

    def some_rows(self, posterior: Posterior, data: Data, labels: Labels) -> Rows:
        layout = self.exponents.layout
        return rows_left_out(self.terms, self.spec, posterior, data, labels, layout.cells, layout.numbers)(slice(None))

    def drawn(self, posterior: Posterior, data: Data, labels: Labels) -> tuple[Array | slice, Labels]:
        return Order.under(posterior.model, data, labels).drawn(labels, self.spec.rows, self.spec.random_seed)

    # Prediction

    @one_thread_each()
    def log_proba(
        self, posterior: Posterior, data: Data, n_rows: int, log_prior: Array | None = None,
        theta: Parameters | None = None, point: Literal["mode", "mean"] | None = None,
    ) -> Array:  # fmt: skip
        """log p(c | x) of new rows, (row, class), with log prior class probabilities ``log_prior``."""
        # log_prior: log p(c | D) by default; theta, point: parameters of the columns, or exponents, that are fixed
        # instead of integrated out.
        exponents = self.exponents.at(point)
        found = np.empty((n_rows, len(posterior.labels)))
        for cut, *asked in self._asked(posterior, data, n_rows, log_prior, theta):
            found[cut] = exponents.log_proba(*asked)
        return found

    @one_thread_each()
    def log_proba_of_members(self, posterior: Posterior, data: Data, n_rows: int) -> Array:
        found = np.empty((len(self.exponents.spreads), n_rows, len(posterior.labels)))
        for cut, *asked in self._asked(posterior, data, n_rows, None, None):
            found[:, cut] = self.exponents.log_proba_of_members(*asked)
        return found

    def _asked(
        self, posterior: Posterior, data: Data, n_rows: int, log_prior: Array | None, theta: Parameters | None
    ) -> Iterator[tuple[slice, Array, Array, Array]]:
        if log_prior is None:
            log_prior = posterior.only(()).log_predictive({}, 1)
        log_prior = np.broadcast_to(log_prior, (n_rows, n_classes := len(posterior.labels)))
        for cut in counted("predicting", pieces.in_blocks(n_rows, n_classes, self.exponents.layout.terms), "parts"):
            part, n = part_of(data, cut), cut.stop - cut.start
            if theta is None:
                asked = terms_of(self.terms, self.spec, posterior, part, n)
            else:
                own = np.stack([*pieces.likelihood(posterior, theta, part, n)], axis=-1)
                asked = exponent_terms(self.spec, own, self.terms.beside(posterior, part, n))
            yield cut, *_possible(asked, log_prior[cut]), self.alike(part, n)

    def alike(self, data: Data, n_rows: int) -> Array:
        layout = self.exponents.layout
        return self.statistics.cells.covariates(data, n_rows, layout.cells, layout.numbers)

    @one_thread_each()
    def log_left_out(self, posterior: Posterior, data: Data, labels: Labels) -> Array:
        """Leave-one-out log p(c | x) of learned rows, (row, class), with fixed exponents."""
        prior = posterior.only(()).log_left_out({}, labels)
        found = np.empty(prior.shape)
        cuts = pieces.in_blocks(len(labels), prior.shape[1], self.exponents.layout.terms)
        for cut in counted("leaving rows out", cuts, "parts"):
            part, own = part_of(data, cut), labels[cut]
            asked = terms_of(self.terms, self.spec, posterior, part, own)
            found[cut] = self.exponents.log_proba(*_possible(asked, prior[cut]), self.alike(part, len(own)))
        return found

    def left_out_of_exponents(
        self, rows: Rows, n_classes: int, change: Array | float = 0.0
    ) -> tuple[Array, Array, Array]:
        """Leave-one-out log p(class | row): for exponents learned with the row, and without it; also the classes."""
        # change: Posterior.change_of_prior()
        held, without, codes = [], [], []
        power = self.exponents.power
        v = self.exponents.layout.exponents(self.exponents.points)
        for cut in slices(len(rows.codes), max(1, HELD // (len(v) * n_classes))):
            part = rows[cut]
            log_p = log_posterior_of_classes(part.terms, part.offset, v, part.alike)
            own = log_p[part.codes, np.arange(len(part.codes))]
            if np.any(change):
                log_p += np.reshape(change, (-1, 1, 1))
                log_p -= logsumexp(log_p, 0)
            log_prior = part.offset + change
            held.append(tempered(logsumexp(log_p, -1, self.exponents.weights).T, power, log_prior))
            # Importance sampling (Gelfand, Dey and Chang 1992): with weights 1 / p(y_i | x_i, w), the draws represent
            # the posterior without row i. The weights of the members do not change, because they were chosen on
            # held-out rows.
            for points in self.exponents.members:
                share = np.log(self.exponents.weights[points].sum()) - own[:, points]
                log_p[..., points] += share - logsumexp(-own[:, points], -1, keepdims=True)
            without.append(tempered(logsumexp(log_p, -1).T, power, log_prior))
            codes.append(part.codes)
        return np.concatenate(held), np.concatenate(without), np.concatenate(codes)

    def draws(self, posterior: Posterior, theta: Parameters, rng: Generator) -> DrawnDependence | DrawnForests:
        """Pair each draw ``theta`` of the column parameters with a draw of the exponents, if there are any."""
        if self.spec.forests:
            return DrawnForests(self.terms, posterior, theta)
        drawn = self.exponents.drawn(rng, len(theta.log_pi))
        return DrawnDependence(self, posterior, theta, drawn, self.exponents.frequencies(rng, len(drawn), self.weight))

    def offset_names(self, posterior: Posterior) -> list[str]:
        grid = self.statistics.cells.grid
        return grid.offset_names(posterior.piece_names()) if self.exponents.layout.cells else []

    def table(self, level: float = 0.89) -> pd.DataFrame:
        """A table of the exponents, with ``attrs`` as in :attr:`Classifier.exponents_`."""
        found = self.exponents.table(level)
        offsets = "cell" if self.exponents.layout.cells else "class"
        found.attrs = {"rows": self.weight, "older": self.older, "offsets": offsets}
        return found


@dataclass(frozen=True, eq=False)
class DrawnDependence:
    """Draws of the parameters of the columns and of the exponents."""

    dependence: Dependence
    posterior: Posterior
    theta: Parameters
    points: Array
    frequencies: Array

    @property
    def log_pi(self) -> Array:
        return self.theta.log_pi

    @one_thread_each()
    def log_joint(self, data: Data, n_rows: int, offset: Array | float = 0.0) -> Array:
        """log p(c | x, θ, w) up to a constant for each draw and row, (draw, row, class)."""
        exponents = self.dependence.exponents
        # In a model average, each draw comes from one of the averaged models.
        joint = self._log_joint_of_members(data, n_rows) + offset
        if not exponents.average:
            return joint
        # The mixture allows for wrong labels. Setting a fraction of the draws to the class frequencies instead would
        # extend every interval to these frequencies.
        log_p = np.log1p(-self.frequencies) + normalize(joint)
        log_prior = normalize(self.log_pi[:, None] + offset)
        return tempered(np.logaddexp(log_p, log(self.frequencies) + log_prior), exponents.power, log_prior)

    def _log_joint_of_members(self, data: Data, n_rows: int) -> Array:
        dependence, layout = self.dependence, self.dependence.exponents.layout
        v = layout.exponents(self.points)[:, None]
        of_class = v[:, 0, :, layout.terms :].swapaxes(-1, -2)
        joint = self.log_pi[:, None] + dependence.alike(data, n_rows) @ of_class
        varied = self.posterior.without_constant(data)
        if dependence.spec.by == "model":
            return joint + weighed(v[..., 0], self.theta.log_joint_features(varied, n_rows))
        by_class, k = dependence.spec.by == "class", -1
        for k, term in enumerate(pieces.likelihood(self.posterior, self.theta, varied, n_rows)):
            joint += weighed(v[..., k], relative(term, -1) if by_class else term)
        beside = dependence.terms.beside(self.posterior, data, n_rows)
        beside = relative(beside) if by_class else beside
        # Per class, the exponents (draw, term) times the terms (term, row).
        of_terms = v[:, 0, :, k + 1 : layout.terms].swapaxes(0, 1) @ np.moveaxis(beside, 0, -1)
        return joint + np.moveaxis(of_terms, 0, -1)


def weighed(exponent: Array, term: Array) -> Array:
    """A log-likelihood term times its exponent; -inf stays -inf, even if the exponent is 0."""
    if term.min(initial=0.0) > -np.inf:
        return exponent * term
    return np.where(np.isneginf(term), -np.inf, exponent * np.where(np.isneginf(term), 0.0, term))


def _possible(asked: Array, log_prior: Array) -> tuple[Array, Array]:
    """Replace log likelihoods of -inf (impossible values) by 0, and set the log prior of their class to -inf."""
    ruled_out = np.isneginf(asked).any(-1)
    if not ruled_out.any():
        return asked, log_prior
    # If a row's log priors would all become -inf, they stay unchanged.
    nowhere = (ruled_out | np.isneginf(log_prior)).all(1)
    return np.where(np.isneginf(asked), 0.0, asked), np.where(ruled_out & ~nowhere[:, None], -np.inf, log_prior)


def rows_left_out(
    found: TermSet, spec: Exponents, posterior: Posterior, data: Data, labels: Labels, cells: int, numbers: int,
    trees: bool = True,
) -> Callable[[Any], Rows]:  # fmt: skip
    """Return a function that takes positions of rows and returns the :class:`Rows` with leave-one-out terms."""
    left = labels.once()
    # Offsets learned under known class probabilities would restore the class frequencies of the labels.
    prior = posterior.with_default_class_prior().only(()).log_left_out({}, left)
    silent = uninformative(posterior, data, labels.weight)

    def rows(which: Any) -> Rows:
        part, own = part_of(data, which), left[which]
        alike = found.statistics.cells.covariates(part, len(own), cells, numbers)
        asked = terms_of(found, spec, posterior, part, own, trees)
        if silent and spec.by == "model":
            asked = asked - pieces.left_out(posterior, part, own)[:, :, silent].sum(-1, keepdims=True)
        elif silent:
            asked[:, :, silent] = 0.0
        return Rows(asked, prior[which], own.codes, labels.weight[which], alike)

    return rows
