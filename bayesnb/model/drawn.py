"""A posterior represented only by draws."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.random import Generator
from scipy.special import logsumexp

from bayesnb.chains import Convergence
from bayesnb.kernels.blocks import slices
from bayesnb.model.naive_bayes import Estimate, NaiveBayes, Parameters, Posterior, estimate_rule
from bayesnb.model.probabilities import NoClosedFormError
from bayesnb.model.statistics import Data, Statistics, part_of
from bayesnb.priors import Array, Size, Theta
from bayesnb.priors.belief import Point
from bayesnb.priors.common_draws import CommonDraws
from bayesnb.priors.compound import completed
from bayesnb.wording import Message, warn

CHUNK = 2**21
"""Largest number of numbers in a temporary array (16 MiB)."""

LARGEST_ERROR = 0.01
"""Warn if the Monte Carlo standard error of a class probability is larger."""


@dataclass(frozen=True, eq=False)
class DrawnPosterior:
    """A posterior known only by its draws, such as the posterior of a model that was edited in PyMC."""

    # Attributes of ``Posterior`` that this class lacks raise ``NoClosedFormError``.

    fitted: Posterior  # the posterior in closed form, before the model was edited
    drawn: Parameters  # (chain, draw, ...)
    convergence: Convergence

    exact: ClassVar[bool] = False
    by_cells: ClassVar[frozenset[Any]] = frozenset()

    @classmethod
    def of(
        cls, fitted: Posterior, log_pi: Array, features: Mapping[Any, Theta], convergence: Convergence
    ) -> DrawnPosterior:
        like = fitted.draw(np.random.default_rng(0))
        for name, theta in like.features.items():
            shapes = {key: log_pi.shape[:2] + np.shape(value) for key, value in theta.items()}
            if shapes != {key: np.shape(value) for key, value in features[name].items()}:
                raise ValueError(f"the draws of feature {name!r} are not of its parameters")
        return cls(fitted, Parameters(fitted.model, log_pi, features), convergence)

    def stored(self) -> dict[str, Any]:
        return {
            "log_pi": self.drawn.log_pi,
            "features": {name: dict(theta) for name, theta in self.drawn.features.items()},
            "convergence": self.convergence,
        }

    def __getattr__(self, name: str) -> NoReturn:
        if hasattr(Posterior, name) or name in Posterior.__dataclass_fields__:
            raise NoClosedFormError(self.n_draws)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    @property
    def model(self) -> NaiveBayes:
        return self.fitted.model

    @property
    def statistics(self) -> Statistics:
        return self.fitted.statistics

    @property
    def labels(self) -> tuple[Any, ...]:
        return self.fitted.labels

    @cached_property
    def flat(self) -> Parameters:
        return self.drawn.flattened()

    @property
    def sizes(self) -> tuple[int, int]:
        return self.drawn.log_pi.shape[:2]

    @property
    def n_draws(self) -> int:
        return self.drawn.log_pi[..., 0].size

    def require_exact(self, what: str | Message, cure: str | Message, apart: bool = True) -> NoReturn:
        raise NoClosedFormError(self.n_draws, what, cure)

    def require_statistics(self, what: str = "the question") -> NoReturn:
        raise NoClosedFormError(self.n_draws, what)

    def log_evidence(self) -> NoReturn:
        raise NoClosedFormError(self.n_draws, "the evidence")

    def require_proper(self) -> None:
        """Raise no error: a posterior that consists of draws is proper."""

    def warn_of_chains(self) -> None:
        if not self.convergence.converged:
            warn(
                f"the chains of the draws did not converge ({self.convergence}). Results from these draws may be far "
                "off: draw or tune more, or give firmer priors"
            )

    @cached_property
    def log_label(self) -> Array:
        return logsumexp(self.flat.log_pi, axis=0) - np.log(self.n_draws)

    def point(self, which: Point) -> Parameters:
        """The posterior mean of the parameters; ``which="mode"`` raises :class:`NoClosedFormError`."""
        if which != "mean":
            raise NoClosedFormError(self.n_draws, "the posterior mode")
        means = {}
        for name, family in self.model.features.items():
            values = {key: value.mean(0) for key, value in family.variables(self.flat.features[name]).items()}
            means[name] = completed(family.theta(values), self.fitted.features[name])
        return Parameters(self.model, self.log_label, means)

    def plug_in(self, estimate: Estimate) -> Parameters:
        """The posterior mean of the parameters; the estimates "mle" and "map" raise :class:`NoClosedFormError`."""
        rule = estimate_rule(estimate)
        if rule.flat or rule.point != "mean":
            raise NoClosedFormError(self.n_draws, f'estimate="{estimate}"')
        return self.point("mean")

    def draw(self, rng: Generator, size: Size = (), without: Collection[str] = ()) -> Parameters:
        """The draws in random order, repeated if ``size`` exceeds their number."""
        n = int(np.prod(size, dtype=int))
        rounds = [rng.permutation(self.n_draws) for _ in range(-(-n // self.n_draws))]
        return self.flat.at(np.concatenate([np.zeros(0, np.intp), *rounds])[:n].reshape(size))

    def log_predictive(self, data: Data, n_rows: int) -> Array:
        """log p(c, x | D), (row, class), averaged over the draws; warn of a large Monte Carlo standard error."""
        found, errors = np.empty((n_rows, len(self.labels))), np.zeros(n_rows)
        for rows, joint in self._joints(data, n_rows):
            found[rows] = logsumexp(joint, axis=0) - np.log(self.n_draws)
            errors[rows] = self._error(joint, found[rows])
        if (poor := errors > LARGEST_ERROR).any():
            warn(
                f"class probabilities of {poor.sum():,} of {n_rows:,} rows have a Monte Carlo standard error above "
                f"{LARGEST_ERROR:g} (up to {errors.max():.2g}), because few of the {self.n_draws:,} draws explain the "
                "row: sample more draws"
            )
        return found

    def _error(self, joint: Array, log_mean: Array) -> Array:
        """The largest Monte Carlo standard error of each row's class probabilities, (row,)."""
        # With J_sc = p(c, x | θ_s), the estimate of p(c | x) is p_c = Σ_s J_sc / Σ_s Σ_k J_sk. To first order, draw s
        # changes p_c by (J_sc - p_c Σ_k J_sk) / M, where M is the mean of Σ_k J_sk over draws.
        log_total = logsumexp(log_mean, axis=-1, keepdims=True)
        log_total = np.where(np.isneginf(log_total), 0.0, log_total)
        relative = np.exp(joint - log_total)
        # The standard error is the standard deviation of the changes, divided by the root of the effective sample size.
        effects = relative - np.exp(log_mean - log_total) * relative.sum(-1, keepdims=True)
        return effects.std(0).max(-1) / np.sqrt(min(self.n_draws, self.convergence.ess))

    def log_predictive_features(self, data: Data, n_rows: int) -> Array:
        total = np.empty((n_rows, len(self.labels)))
        for rows in self._blocks(n_rows):
            some = self.flat.log_joint_features(part_of(data, rows), rows.stop - rows.start)
            total[rows] = logsumexp(some, axis=0) - np.log(self.n_draws)
        return total

    def log_joint_at(
        self, drawn: Parameters, power: int, common: CommonDraws, data: Data, n_rows: int, offset: Array | float = 0.0
    ) -> Array:
        """log p(c, x | θ) at draws of θ from the posterior, (draw, row, class)."""
        if not power:
            return drawn.log_joint(data, n_rows) + offset
        # The posterior given the row x is proportional to p(x | θ) p(θ | D), with p(x | θ) = Σ_c p(c, x | θ).
        # θ is drawn given the data and the row itself, by systematic resampling (Douc and Cappé 2005).
        rng, n = common.generator(0), common.draws
        places = (rng.permutation(n) + rng.random()) / n
        found, offset = np.empty((n, n_rows, len(self.labels))), np.broadcast_to(offset, (n_rows, len(self.labels)))
        for rows, joint in self._joints(data, n_rows):
            joint += offset[rows]
            weight = np.exp(_normalized_over_draws(logsumexp(joint, axis=-1)))
            for row, below in zip(range(rows.start, rows.stop), weight.cumsum(0).T, strict=True):
                picked = np.searchsorted(below, places * below[-1], side="right")
                found[:, row] = joint[np.minimum(picked, self.n_draws - 1), row - rows.start]
        return found

    def effective(self, power: int, n: int, data: Data, n_rows: int, offset: Array | float = 0.0) -> Array:
        """For each row, the effective sample size of the ``n`` draws in :meth:`log_joint_at`, (row,)."""
        # The chains' effective sample size is multiplied by (Σ w)² / (n_draws Σ w²), where w = p(x | θ) (Kish 1965).
        share = np.full(n_rows, min(1.0, self.convergence.ess / self.n_draws))
        if power:
            offset = np.broadcast_to(offset, (n_rows, len(self.labels)))
            for rows, joint in self._joints(data, n_rows):
                weight = np.exp(_normalized_over_draws(logsumexp(joint + offset[rows], axis=-1)))
                share[rows] *= weight.sum(0) ** 2 / (weight**2).sum(0) / self.n_draws
        return np.minimum(n, share * self.n_draws)

    def _joints(self, data: Data, n_rows: int) -> Iterator[tuple[slice, Array]]:
        for rows in self._blocks(n_rows):
            yield rows, self.flat.log_joint(part_of(data, rows), rows.stop - rows.start)

    def _blocks(self, n_rows: int) -> list[slice]:
        return slices(n_rows, max(1, CHUNK // (self.n_draws * len(self.labels))))


def _normalized_over_draws(log_weight: Array) -> Array:
    largest = log_weight.max(0)
    return np.where(np.isneginf(largest), 0.0, log_weight - np.where(np.isneginf(largest), 0.0, largest))
