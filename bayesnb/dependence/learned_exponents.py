"""What is believed of the exponents after the labels.

Start with :func:`learn_exponents`, which reads terms with their rows left out and gives :class:`LearnedExponents`: that
answers p(c | x) for the terms of rows, as a table, at a point, and by draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.random import Generator
from scipy.linalg import cholesky
from scipy.special import ndtri

from bayesnb.dependence.conditional import Layout, Source, log_posterior_of_classes
from bayesnb.dependence.exponents import CELLS, OWN, Exponents, Group, layout_of
from bayesnb.dependence.laplace import EXACT, MODE, NEAR, Laplace, draws, laplace
from bayesnb.kernels.blocks import one_thread_each, slices, written
from bayesnb.numerics import Array, log

NUMBERS = 2**18
"""Numbers of a temporary array, one for each row, class and draw."""


@dataclass(frozen=True, eq=False)
class LearnedExponents:
    """What is believed of the exponents after the labels.

    Parameters
    ----------
    spec : Exponents
    layout : Layout
    names, groups : tuple
        What each term is called, and the groups they are in.
    scales : {group: float}
        The prior standard deviation of each group, as given or as chosen by the evidence.
    posterior : Laplace
    points : array (draw, parameter)
        Draws from the posterior, over which probabilities are averaged; or the one point that is plugged in.
    off : float
        How far the Normal around the mode is off, in nats (see :func:`bayesnb.dependence.laplace.draws`).
    """

    spec: Exponents
    layout: Layout
    names: tuple[Any, ...]
    groups: tuple[Group, ...]
    scales: dict[str, float]
    posterior: Laplace
    points: Array
    off: float

    @cached_property
    def _prior(self) -> tuple[Array, Array]:
        return self.spec.prior(self.layout, self.groups, self.scales)

    @property
    def mean(self) -> Array:
        """The prior mean of the parameters, (parameter,)."""
        return self._prior[0]

    @property
    def sd(self) -> Array:
        """The prior standard deviation of the parameters, (parameter,)."""
        return self._prior[1]

    @property
    def nearly_normal(self) -> bool:
        """Whether the posterior is so close to the Normal around its mode that this stands for it."""
        return self.off <= EXACT

    def mean_and_sd(self) -> tuple[Array, Array]:
        """Posterior mean and standard deviation of each parameter: of the Normal, or of the draws where that is off."""
        if not self.by_draws:
            return self.posterior.mode, self.posterior.sd()
        return self.points.mean(0), self.points.std(0)

    @property
    def by_draws(self) -> bool:
        """Whether mean and standard deviation are those of the draws, which have a Monte Carlo error."""
        return not self.nearly_normal and len(self.points) > 1

    def moments(self) -> tuple[Array, Array]:
        """Posterior mean (parameter,) and covariance (parameter, parameter), of the Normal or of the draws."""
        if self.nearly_normal:
            return self.posterior.mode, self.posterior.covariance()
        return self.points.mean(0), np.cov(self.points.T, bias=True).reshape(2 * (self.layout.size,))

    def at(self, point: Literal["mode", "mean"] | None) -> LearnedExponents:
        """The same with one point plugged in; ``None`` averages over the posterior."""
        if point is None:
            return self
        return replace(self, points=(self.posterior.mode if point == "mode" else self.mean_and_sd()[0])[None])

    def drawn(self, rng: Generator, n: int) -> Array:
        """Draws of the parameters, (draw, parameter): new ones of the Normal, or those that are kept, in new order."""
        if self.nearly_normal:
            return self.posterior.at(rng.standard_normal((n, len(self.posterior.mode))))
        return self.points[rng.integers(len(self.points), size=n)]

    def over(self, index: Sequence[int]) -> LearnedExponents:
        """The same for the classes at these positions; -1 is a new class, whose parameters have their prior.

        The Normal around the mode, and the draws, are marginalized over the classes that are left out.
        """
        if list(index) == list(range(self.layout.classes)):
            return self
        n, own = self.layout.terms, len(self.layout.own)
        layout, old = replace(self.layout, classes=len(index)), np.asarray(index, np.intp)
        place = np.where(old[:, None] >= 0, n + old[:, None] * own + np.arange(own), -1).ravel()
        place = np.concatenate([np.arange(n), place])
        known, new = place >= 0, place < 0
        sd = self.spec.prior(layout, self.groups, self.scales)[1]
        mode = np.where(known, self.posterior.mode[place], 0.0)
        covariance = np.diag(sd**2)
        covariance[np.ix_(known, known)] = self.posterior.covariance()[np.ix_(place[known], place[known])]
        factor = cholesky(np.linalg.inv(covariance), lower=True)
        points = np.where(known, self.points[:, place], 0.0)
        rng = np.random.default_rng(self.spec.random_seed)
        points[:, new] = sd[new] * rng.standard_normal((len(points), int(new.sum())))
        posterior = Laplace(mode, factor, self.posterior.log_evidence)
        return replace(self, layout=layout, posterior=posterior, points=points)

    @property
    def exponents(self) -> Array:
        """The posterior mode of the exponents, (class, term)."""
        return self.layout.exponents(self.posterior.mode)[:, : self.layout.terms]

    @property
    def offsets(self) -> Array:
        """The posterior mode of the classes' offsets, (class,), in nats."""
        return self.layout.exponents(self.posterior.mode)[:, -1]

    def log_proba(self, terms: Array, offset: Array, cells: Array | None = None) -> Array:
        """log p(c | x) as (row, class), averaged over the draws of the exponents.

        Parameters
        ----------
        terms : array (row, class, term)
            Of rows that were not learned, or with their rows left out.
        offset : array (row, class)
            log p(c | D).
        cells : int array (row, column), optional
            The cells that have offsets, as in :class:`bayesnb.dependence.conditional.Rows`.
        """
        v, found = self.layout.exponents(self.points), np.empty(offset.shape)
        step = max(1, NUMBERS // max(1, len(v) * offset.shape[1]))

        def part(cut: slice, found: Array) -> None:
            log_p = log_posterior_of_classes(terms[cut], offset[cut], v, None if cells is None else cells[cut])
            top = log_p.max(-1, keepdims=True)
            # A class whose prior is 0 has -inf in every draw.
            top = np.where(np.isneginf(top), 0.0, top)
            found[:] = (top[..., 0] + log(np.exp(log_p - top).mean(-1))).T

        return written(found, part, slices(len(offset), step))

    def table(self, level: float = 0.89) -> pd.DataFrame:
        """The exponents that the classes share: mean, sd, interval, and the log Bayes factor against the prior's mean.

        The Bayes factor weighs an exponent that is learned against one that stays at the mean of its prior (1 for a
        feature: it counts as in naive Bayes; 0 for a pair: independence). It is the ratio of prior to posterior
        density there (Savage and Dickey; Dickey 1971), both Normal. Above 0 the labels speak for another exponent.

        Parameters
        ----------
        level : float
            Probability of the interval.
        """
        n = self.layout.terms
        mean, sd = (value[:n] for value in self.mean_and_sd())
        half = ndtri(0.5 + level / 2) * sd
        against = np.log(sd / self.sd[:n]) + 0.5 * ((mean - self.mean[:n]) / sd) ** 2
        columns = {"mean": mean, "sd": sd, "lower": mean - half, "upper": mean + half, "log_bayes_factor": against}
        # A name of two columns is joined, because an index of pairs would have two levels.
        names = [" × ".join(map(str, name)) if isinstance(name, tuple) else name for name in self.names]
        return pd.DataFrame(columns, index=pd.Index(names, name="term"))


@one_thread_each()
def learn_exponents(
    spec: Exponents,
    source: Source,
    groups: Sequence[Group],
    names: Sequence[Any],
    sample: Source | None = None,
    cells: int = 0,
) -> LearnedExponents:
    """The posterior of the exponents under the priors of a specification.

    The products of matrices are many and small: further threads would wait for each other longer than they work.

    Parameters
    ----------
    spec : Exponents
    source : callable
        Gives blocks of :class:`Rows`, all of them whenever it is called. Their terms leave the row itself out.
    groups : sequence of Group
        The terms in their order, and the priors of their exponents.
    names : sequence
        What each term is called.
    sample : callable, optional
        Blocks of fewer rows, drawn at random, to choose standard deviations on and to start from.
    cells : int
        How many cells have offsets.

    Raises
    ------
    ValueError
        Where a term is not finite, as under a prior that gives a level the probability 0.
    """
    few = source if sample is None else sample
    layout = layout_of(groups, _classes(few, groups, names), cells)
    every = {group.name: group.sd for group in groups} | {OWN: spec.class_sd, CELLS: spec.cell_sd}
    chosen = [group.name for group in groups]
    chosen += [OWN] * any(group.by_class for group in groups) + [CELLS] * (cells > 0)
    scales = {name: float(np.atleast_1d(sd)[0]) for name, sd in every.items()}
    choices = {name: np.atleast_1d(every[name]).tolist() for name in chosen}

    def at(scales: dict[str, float], start: Array, over: Source = few, enough: float = NEAR) -> Laplace:
        return laplace(over, layout, *spec.prior(layout, groups, scales), start, enough)

    best, changed, turn = at(scales, spec.prior(layout, groups, scales)[0]), True, 0
    while changed and turn < 3:
        changed, turn = False, turn + 1
        for name, several in choices.items():
            for sd in several:
                if sd != scales[name]:
                    other = at(scales | {name: sd}, best.mode)
                    if other.log_evidence > best.log_evidence:
                        best, scales, changed = other, scales | {name: sd}, True
    best = at(scales, best.mode, source, MODE)
    rng = np.random.default_rng(spec.random_seed)
    points, off = draws(source, layout, *spec.prior(layout, groups, scales), best, spec.draws, rng)
    return LearnedExponents(spec, layout, tuple(names), tuple(groups), scales, best, points, off)


def _classes(source: Source, groups: Sequence[Group], names: Sequence[Any]) -> int:
    """How many classes there are; the terms are looked at once."""
    classes, expected = None, sum(group.terms for group in groups)
    for rows in source():
        classes = rows.offset.shape[1]
        if rows.terms.shape[2] != expected or len(names) != expected:
            raise ValueError(
                f"Expected {expected} terms, as the groups say; got {rows.terms.shape[2]} terms and {len(names)} names"
            )
        if not np.isfinite(rows.terms).all():
            t = int(np.argwhere(~np.isfinite(rows.terms))[0, 2])
            raise ValueError(
                f"term {names[t]!r}: a row has probability 0 under a class, so no exponent can be learned for it; "
                "use a proper prior, under which every value has a positive probability"
            )
    if classes is None:
        raise ValueError("Expected at least one block of rows, if only an empty one; got none")
    return classes
