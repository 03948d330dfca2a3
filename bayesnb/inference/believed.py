"""The posterior of naive Bayes and, if the model has a ``dependence``, of its exponents (powers of likelihoods)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.random import Generator
from scipy.special import entr, logsumexp, rel_entr, xlogy

from bayesnb.dependence.drawn_forests import DrawnForests
from bayesnb.dependence.learned import Dependence, DrawnDependence
from bayesnb.families.sampled import LeftOut
from bayesnb.model import Data, DrawnPosterior, Estimate, Parameters, Posterior, estimate_rule, normalize, pieces
from bayesnb.numerics import Array
from bayesnb.priors.common_draws import CommonDraws
from bayesnb.statistics.statistic import Labels
from bayesnb.wording import Cure, RefusedError, Spelled

type Given = Literal["row", "data"]

type Drawn = Parameters | DrawnDependence | DrawnForests


PREDICTIVE = Spelled('ask classifier_.with_estimate("predictive")', "fit the model with --estimate predictive")


@dataclass(frozen=True, eq=False)
class Believed:
    """A posterior of naive Bayes, an optional model of dependence between columns, and the estimate used to predict."""

    # ``plug_in`` holds the plug-in parameters, None for "predictive". ``dependence`` is None for naive Bayes.
    # ``offset``, (row, class) or 0, is added to log p(class, row) if each row has a separate class prior. ``given`` is
    # "row" if the posterior also conditions on the row to predict, otherwise "data".

    posterior: Posterior | DrawnPosterior
    estimate: Estimate = "predictive"
    plug_in: Parameters | None = None
    dependence: Dependence | None = None
    offset: Array | float = 0.0
    given: Given = "row"

    def with_estimate(self, estimate: Estimate) -> Believed:
        """A copy of the posterior with another estimate; ``ValueError`` if this estimate does not exist here."""
        self.posterior.model.require_estimate(estimate)
        if self.dependence is not None:
            require_prior(estimate)
        plug_in = self.posterior.plug_in(estimate) if estimate_rule(estimate).plugs_in else None
        if plug_in is None:
            self.posterior.require_proper()
        return replace(self, estimate=estimate, plug_in=plug_in)

    def with_dependence(self, dependence: Dependence | None) -> Believed:
        """A copy of the posterior with another model of the dependence between columns (``None``: naive Bayes)."""
        found = replace(self, dependence=dependence)
        return replace(found, given="row" if found.naive or found.of_forests else "data")

    def when_given(self, given: Given | None) -> Believed:
        """A copy of the posterior that is conditioned on the new row or on the learned data only (``given``)."""
        # By default, the posterior for a new row is conditioned on the learned rows and the new row. With exponents, it
        # is conditioned on the learned rows only (``docs/theory/ratio-of-averages.md``).
        if given == "row" and not self.of_forests:
            self.require_naive(
                'given="row" is for naive Bayes, and here terms have exponents, of which a row without a label says '
                'nothing: no posterior of the parameters has predict_proba as its mean; use given="data", the default '
                "here"
            )
        return self if given is None else replace(self, given=given)

    def of_rows(self, rows: Any) -> Believed:
        return replace(self, offset=self.offset[rows]) if np.ndim(self.offset) else self

    @property
    def power(self) -> int:
        """1 if the posterior is conditioned on the new row as well as on the learned rows, 0 if it is not."""
        return int(self.given == "row")

    @property
    def naive(self) -> bool:
        return self.dependence is None

    @property
    def of_forests(self) -> bool:
        return self.dependence is not None and self.dependence.spec.forests is not None

    def require_naive(self, reason: str) -> None:
        if not self.naive:
            raise RefusedError("{reason}; fit the model with {cure}", reason=reason, cure=Cure("dependence"))

    def require_exponents(self) -> Dependence:
        if self.dependence is None:
            raise ValueError('there are no exponents: fit with dependence="weighted" or another one')
        return self.dependence

    def require_predictive(self, reason: str, otherwise: str = "") -> None:
        if self.plug_in is not None:
            raise RefusedError(
                "{reason}, and {estimate} plugs them in: {cure}{otherwise}",
                reason=reason, estimate=Cure("estimate", self.estimate), cure=PREDICTIVE, otherwise=otherwise,
            )  # fmt: skip

    @property
    def point(self) -> Literal["mode", "mean"] | None:
        """The point estimate of the exponents, "mode" or "mean"; ``None`` if the exponents are integrated out."""
        rule = estimate_rule(self.estimate)
        return rule.point if rule.plugs_in else None

    @property
    def log_pi(self) -> Array:
        return self.posterior.log_label if self.plug_in is None else self.plug_in.log_pi

    # At the estimate

    def log_joint(self, data: Data, n_rows: int) -> Array:
        """log p(class, row) under the chosen estimate, (row, class)."""
        # With exponents, log p(row) comes from naive Bayes, and log p(class | row) from the exponents.
        if self.plug_in is None:
            joint = self.posterior.log_predictive(data, n_rows)
        else:
            joint = self.plug_in.log_joint(data, n_rows)
        joint = joint + self.offset if np.ndim(self.offset) else joint
        if self.dependence is None:
            return joint
        how = self.log_pi + self.offset, self.plug_in, self.point
        log_proba = self.dependence.log_proba(self.posterior, data, n_rows, *how)
        return logsumexp(joint, axis=1, keepdims=True) + log_proba

    def log_predictive(self, data: Data, n_rows: int) -> Array:
        """log p(class, row) under naive Bayes with the parameters integrated out, (row, class)."""
        return self.posterior.log_predictive(data, n_rows) + self.offset

    def log_proba(self, data: Data, n_rows: int) -> Array:
        """log p(class | row) with all parameters integrated out, (row, class)."""
        if self.dependence is None:
            return normalize(self.log_predictive(data, n_rows))
        return self.dependence.log_proba(self.posterior, data, n_rows, self.posterior.log_label + self.offset)

    def log_likelihood(self, data: Data, n_rows: int) -> Array:
        """log p(row | class) under the chosen estimate, (row, class), up to a constant per row."""
        if self.dependence is not None:
            # p(class | row) over the class probabilities is the likelihood of the class, up to a constant per row.
            # An average of models is calibrated at its own class probabilities, so these are used if none is 0.
            log_pi = self.log_pi if np.isfinite(self.log_pi).all() else np.zeros(len(self.posterior.labels))
            log_pi = np.broadcast_to(log_pi, (n_rows, len(log_pi)))
            return self.dependence.log_proba(self.posterior, data, n_rows, log_pi, self.plug_in, self.point) - log_pi
        if self.plug_in is not None:
            return self.plug_in.log_joint_features(data, n_rows)
        return self.posterior.log_predictive_features(data, n_rows)

    def left_out(self, data: Data, labels: Labels, refit: bool = False) -> tuple[Array, dict[Any, LeftOut]]:
        """Leave-one-out log p(class, row), (row, class), and diagnostics of features sampled by MCMC."""
        log_joint, sampled = self.posterior.left_out(data, labels, self.estimate, refit)
        if self.dependence is None:
            return log_joint, sampled
        self.require_predictive("with a dependence, a row is left out of terms whose parameters are integrated out")
        log_proba = self.dependence.log_left_out(self.posterior, data, labels)
        return logsumexp(log_joint, axis=1, keepdims=True) + log_proba, sampled

    def terms_left_out(
        self, data: Data, labels: Labels, refit: bool = False
    ) -> tuple[list[Any], Array, dict[Any, LeftOut]]:
        """The names of the terms, leave-one-out log densities (row, class, term), and MCMC diagnostics."""
        names = self.posterior.piece_names()
        sampled = self.posterior.sampled_left_out(data, labels, refit)
        own = pieces.left_out(self.posterior, data, labels, sampled)
        if self.dependence is None:
            return names, own, sampled
        beside = self.dependence.terms.beside(self.posterior, data, labels)
        return [*names, *self.dependence.terms.names_beside(names)], np.concatenate([own, beside], axis=-1), sampled

    def linear_exponents(self) -> Array | None:
        """Exponents of all columns and, last, the learned intercept, (class, column + 1); ``None`` for naive Bayes."""
        if self.dependence is None:
            return None
        if self.dependence.spec.forests:
            self.require_naive("what forests add is not linear in the columns")
        if self.point is None:
            raise RefusedError(
                "class probabilities are averaged over the exponents, which gives no softmax regression; use {cures}",
                cures=(Cure("estimate", "mean"), Cure("estimate", "map")),
            )
        spec, exponents = self.dependence.spec, self.dependence.exponents
        if spec.by == "class" or exponents.layout.cells or not self.dependence.statistics.cells.empty:
            raise RefusedError(
                "shapes, pairs, joint columns, offsets of cells and exponents by class are not linear in the columns; "
                'use {cure}, or in Python Exponents(shapes=False, offsets="class")',
                cure=Cure("dependence", "tempered"),
            )
        v = exponents.layout.exponents(exponents.at(self.point).points[0])
        n = len(self.posterior.pieces)
        return v if spec.by == "feature" else np.column_stack([np.repeat(v[:, :1], n, axis=1), v[:, -1]])

    # At draws

    @property
    def by_cells(self) -> frozenset[Any]:
        """Features for which p(cell | class, θ) is drawn directly for each cell, without draws of the parameters θ."""
        return self.posterior.by_cells if self.naive else frozenset()

    @cached_property
    def draw_size(self) -> int:
        """Number of values in one draw of the parameters."""
        return self.posterior.draw(np.random.default_rng(0), without=self.by_cells).size

    def draw(self, rng: Generator, n: int, without: frozenset[str] = frozenset()) -> Drawn:
        """Draws of the parameters and exponents, given the data but not the row."""
        theta = self.posterior.draw(rng, (n,), without)
        return theta if self.dependence is None else self.dependence.draws(self.posterior, theta, rng)

    def log_joint_at(self, drawn: Drawn, seed: tuple[int, int], data: Data, n_rows: int) -> Array:
        """log p(class, row | θ) at every draw, (draw, row, class), up to a constant per draw and row."""
        # ``seed`` is a pair: the random seed, and the number of the batch ``drawn``.
        if isinstance(drawn, DrawnDependence):
            return drawn.log_joint(data, n_rows, self.offset)
        common = CommonDraws(len(drawn.log_pi), seed)
        if isinstance(drawn, DrawnForests):
            return drawn.log_joint(data, n_rows, common, self.given == "row", self.offset)
        return self.posterior.log_joint_at(drawn, self.power, common, data, n_rows, self.offset)

    def entropies(self, log_p: Array) -> Callable[[Array, slice], Array]:
        """Return a function that converts draws of p(class | row, θ) to entropies in nats, with errors, (row, 2, 3)."""
        # Total, aleatoric and epistemic entropy, then their Monte Carlo standard errors. log_p, (row, class): log
        # p(class | row) with all parameters integrated out.
        # Given the row, the mean of p(class | row, θ) is exp(log_p), so the mean of the draws is not needed.

        def given_row(p: Array, rows: slice) -> Array:
            mean = np.exp(log_p[rows])
            total, each = entr(mean).sum(-1), rel_entr(p, mean).sum(-1)
            epistemic, error = np.minimum(each.mean(0), total), each.std(0) / np.sqrt(len(p))
            parts = np.stack([total, total - epistemic, epistemic], axis=1)
            return np.stack([parts, np.stack([np.zeros(len(total)), error, error], axis=1)], axis=1)

        def given_data(p: Array, rows: slice) -> Array:
            each = entr(p).sum(-1)
            total = entr(p.mean(0)).sum(-1)
            aleatoric = np.minimum(each.mean(0), total)
            # The total is the entropy of a mean m. Its slope is -ln m up to a constant, so a draw p contributes -Σ p ln
            # m.
            of_total = -xlogy(p, p.mean(0)).sum(-1)
            errors = [v.std(0) / np.sqrt(len(p)) for v in (of_total, each, of_total - each)]
            return np.stack([np.stack([total, aleatoric, total - aleatoric], 1), np.stack(errors, 1)], axis=1)

        return given_row if self.power else given_data


def require_prior(estimate: Estimate) -> None:
    """Raise an error if the estimate ignores priors."""
    # Under flat priors, the likelihood of exponents may have no maximum.
    if estimate_rule(estimate).flat:
        raise RefusedError(
            "{estimate} takes all priors away, and exponents have no maximum of the likelihood where classes separate; "
            "use {cure}",
            estimate=Cure("estimate", estimate),
            cure=(Cure("estimate", "map"), Cure("dependence")),
        )
