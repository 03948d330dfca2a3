"""Exponents: to what power each term of naive Bayes should count, as learned from the labels.

Start with :class:`Exponents`, the specification: its :meth:`~Exponents.learn` reads terms with their rows left out and
gives :class:`LearnedExponents`, which answers p(c | x) for the terms of new rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.random import Generator
from scipy.linalg import cholesky
from scipy.special import ndtri

from bayesnb.dependence.conditional import Layout, Source, log_posterior_of_classes
from bayesnb.dependence.laplace import EXACT, MODE, NEAR, Laplace, draws, laplace
from bayesnb.numerics import Array


@dataclass(frozen=True)
class Group:
    """Terms whose exponents have one prior, Normal(mean, sd).

    Parameters
    ----------
    name : str
    terms : int
        How many they are; groups follow each other in the order of the terms.
    mean : float
        1 for features, where 1 everywhere is naive Bayes; 0 for what is added to it.
    sd : float, or tuple of float
        Where there are several, the one of the largest evidence is taken. 0 fixes the exponents at the mean.
    by_class : bool
        Whether the exponents have a deviation for each class.
    """

    name: str
    terms: int
    mean: float
    sd: float | tuple[float, ...]
    by_class: bool = False


@dataclass(frozen=True)
class Exponents:
    """p(c | x, w) ∝ p(c | D) exp(b_c) ∏_t p(x_t | c, D)^{w_t}, with a prior for w and b.

    w = 1 and b = 0 are naive Bayes. Two copies of one column get the exponent ½ each; a column that says nothing
    beyond the others gets 0. The exponents are learned from the labels, given what each term says of a row that was
    left out of it: Bayesian stacking by log-linear pooling (Yao, Vehtari, Simpson and Gelman 2018; Yao, Carvalho,
    Mesquita and McLatchie 2023) of the factors of a generative model, or weighted naive Bayes (Zaidi, Cerquides, Carman
    and Webb 2013) with a posterior for its weights.

    Parameters
    ----------
    by : {"feature", "model", "class"}
        One exponent a feature; one for all of them (a tempered likelihood); or one a feature and class, shrunk to the
        feature's.
    shapes : bool
        Whether a real column has two terms, one of its family and one of a Pólya tree, which knows no formula for the
        column's shape; the exponents of both are then around ½.
    pairs : int, or tuple of (column, column)
        How many pairs of columns may have a term, the most dependent ones first, or which. Where there are any, all
        Gaussian columns together have a term too, a Gaussian with a full covariance.
    sd : float or tuple of float
        Prior standard deviation of a feature's exponent around 1. Of several, the one of the largest evidence.
    pair_sd, joint_sd : float or tuple of float
        The same of a pair's, and of the joint Gaussian's, around 0.
    class_sd : float or tuple of float
        The same of a class's deviation from the exponent of the feature, around 0.
    offsets : {"cell", "class"}
        Whether a class has one offset b_c, or besides it one for each cell of each column: a level, or a quarter of the
        rows of a real column. They say where the classes' shares of a cell are wrong in the company of the other
        columns; with them the model holds multinomial logistic regression on the cells. Where cells times classes are
        more than the rows, or more than 1,000, a class has one offset.
    offset_sd : float
        Prior standard deviation of the classes' offsets, in nats, around 0.
    cell_sd : float or tuple of float
        The same of the offsets of cells. Of several, the one of the largest evidence.
    rows : int
        From how many rows, drawn at random, the exponents are learned where there are more, and real columns are cut
        into cells. The cells are counted over all rows.
    draws : int
        How many draws from the posterior of the exponents are kept; probabilities are averaged over them.
    random_seed : int
        Of these draws, and of the rows on which standard deviations are chosen where there are many.

    Examples
    --------
    >>> from bayesnb.dependence.conditional import Rows
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 100)
    >>> term = np.stack([-0.5 * (rng.normal(y)[:, None] - c) ** 2 for c in (0, 1)], axis=1)
    >>> twice = np.concatenate([term, term], axis=2)  # two copies of one column
    >>> rows = Rows(twice, np.zeros((200, 2)), y, np.ones(200))
    >>> learned = Exponents().learn(lambda: [rows], [Group("features", 2, 1.0, 1.0)], ["x", "copy"])
    >>> learned.table()["mean"].round(1).to_dict()
    {'x': 0.5, 'copy': 0.5}
    """

    by: Literal["feature", "model", "class"] = "feature"
    shapes: bool = True
    pairs: int | tuple[tuple[Any, Any], ...] = 0
    sd: float | tuple[float, ...] = (0.3, 1.0)
    pair_sd: float | tuple[float, ...] = (0.05, 0.1, 0.2, 0.4)
    joint_sd: float | tuple[float, ...] = (0.1, 0.3, 1.0)
    class_sd: float | tuple[float, ...] = (0.03, 0.1, 0.3)
    offsets: Literal["cell", "class"] = "cell"
    offset_sd: float = 1.0
    cell_sd: float | tuple[float, ...] = (0.01, 0.3, 1.0)
    rows: int = 32_768
    draws: int = 64
    random_seed: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.pairs, int):
            if any(len(pair) != 2 or pair[0] == pair[1] for pair in self.pairs):
                raise ValueError(f"Expected pairs to be a number, or pairs of two columns each; got {self.pairs!r}")
            object.__setattr__(self, "pairs", tuple(tuple(pair) for pair in self.pairs))
        elif self.pairs < 0:
            raise ValueError(f"Expected pairs to be a number that is not negative; got {self.pairs!r}")
        if self.by not in ("feature", "model", "class"):
            raise ValueError(f"Expected by to be 'feature', 'model' or 'class'; got {self.by!r}")
        if self.offsets not in ("cell", "class"):
            raise ValueError(f"Expected offsets to be 'cell' or 'class'; got {self.offsets!r}")
        for name in ("sd", "pair_sd", "joint_sd", "class_sd", "offset_sd", "cell_sd"):
            value = np.asarray(getattr(self, name), float)
            if value.size == 0 or not (np.isfinite(value) & (value > 0)).all():
                raise ValueError(f"Expected {name} to be positive and finite; got {getattr(self, name)!r}")
        for name in ("rows", "draws"):
            value = getattr(self, name)
            if value < 1 or value != int(value):
                raise ValueError(f"Expected {name} to be a whole number, at least 1; got {value!r}")

    def learn(
        self,
        source: Source,
        groups: Sequence[Group],
        names: Sequence[Any],
        sample: Source | None = None,
        cells: int = 0,
    ) -> LearnedExponents:
        """The posterior of the exponents.

        Parameters
        ----------
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
        every = {group.name: group.sd for group in groups} | {OWN: self.class_sd, CELLS: self.cell_sd}
        unused = {OWN: not any(group.by_class for group in groups), CELLS: not cells}
        scales = {name: float(np.atleast_1d(sd)[0]) for name, sd in every.items()}
        choices = {name: np.atleast_1d(sd).tolist() for name, sd in every.items() if not unused.get(name)}

        def at(scales: dict[str, float], start: Array, over: Source = few, enough: float = NEAR) -> Laplace:
            return laplace(over, layout, *self.prior(layout, groups, scales), start, enough)

        best, changed, turn = at(scales, self.prior(layout, groups, scales)[0]), True, 0
        while changed and turn < 3:
            changed, turn = False, turn + 1
            for name, several in choices.items():
                for sd in several:
                    if sd != scales[name]:
                        other = at(scales | {name: sd}, best.mode)
                        if other.log_evidence > best.log_evidence:
                            best, scales, changed = other, scales | {name: sd}, True
        best = at(scales, best.mode, source, MODE)
        rng = np.random.default_rng(self.random_seed)
        points, off = draws(source, layout, *self.prior(layout, groups, scales), best, self.draws, rng)
        return LearnedExponents.of(self, layout, groups, names, scales, best, points, off)

    def drawn(self, n_rows: int, most: int) -> Array | slice:
        """Rows drawn at random, at most so many, in their order; all of them where there are no more."""
        if n_rows <= most:
            return slice(0, n_rows)
        return np.sort(np.random.default_rng(self.random_seed).permutation(n_rows)[:most])

    def prior(self, layout: Layout, groups: Sequence[Group], scales: Mapping[str, float]) -> tuple[Array, Array]:
        """Mean and standard deviation of every parameter under the prior, where each group has one of its scales."""
        mean, sd = np.zeros(layout.size), np.full(layout.size, float(scales[OWN]))
        starts = np.cumsum([0, *(group.terms for group in groups)])
        for group, (first, last) in zip(groups, pairwise(starts), strict=True):
            mean[first:last], sd[first:last] = group.mean, scales[group.name]
        by_class = sd[layout.terms :].reshape(layout.classes, -1)
        by_class[:, len(layout.own) - layout.cells - 1 :] = scales[CELLS]
        by_class[:, -1] = self.offset_sd
        return mean, sd


OWN, CELLS = "classes", "cells"
"""The groups of the classes' deviations, and of their offsets in cells."""

MOST_OFFSETS = 1_000
"""Offsets of cells that are learned together quickly."""

MOST_PARAMETERS = 4_000
"""Parameters whose covariance is still quickly factored."""


def layout_of(groups: Sequence[Group], classes: int, cells: int = 0) -> Layout:
    """What the parameters of these terms are, and of the offsets of so many cells.

    Raises
    ------
    ValueError
        If there are more of them than can be learned together.
    """
    own, first = [], 0
    for group in groups:
        own += [*range(first, first + group.terms)] if group.by_class else []
        first += group.terms
    layout = Layout.of(first, classes, own, cells)
    require_few(layout.size)
    return layout


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


def require_few(parameters: int) -> None:
    """Raise ``ValueError`` where there are more parameters than can be learned together."""
    if parameters > MOST_PARAMETERS:
        raise ValueError(
            f"{parameters} exponents and offsets would be learned together, and at most {MOST_PARAMETERS} can be: the "
            'time grows with the cube of their number; use dependence="tempered", which learns one exponent'
        )


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
    mean, sd : array (parameter,)
        The prior of the parameters.
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
    mean: Array
    sd: Array
    posterior: Laplace
    points: Array
    off: float

    @classmethod
    def of(
        cls,
        spec: Exponents,
        layout: Layout,
        groups: Sequence[Group],
        names: Sequence[Any],
        scales: Mapping[str, float],
        posterior: Laplace,
        points: Array,
        off: float,
    ) -> LearnedExponents:
        """What is learned of the exponents of these terms, and everything that follows from it."""
        mean, sd = spec.prior(layout, groups, scales)
        return cls(spec, layout, tuple(names), tuple(groups), dict(scales), mean, sd, posterior, points, off)

    @property
    def nearly_normal(self) -> bool:
        """Whether the posterior is so close to the Normal around its mode that this stands for it."""
        return self.off <= EXACT

    def mean_and_sd(self) -> tuple[Array, Array]:
        """Posterior mean and standard deviation of each parameter: of the Normal, or of the draws where that is off."""
        if self.nearly_normal or len(self.points) < 2:
            return self.posterior.mode, self.posterior.sd()
        return self.points.mean(0), self.points.std(0)

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
        shared = self.sd[n:].reshape(self.layout.classes, own)[0]
        sd = np.concatenate([self.sd[:n], np.tile(shared, len(index))])
        mean, mode = np.where(known, self.mean[place], 0.0), np.where(known, self.posterior.mode[place], 0.0)
        covariance = np.diag(sd**2)
        covariance[np.ix_(known, known)] = self.posterior.covariance()[np.ix_(place[known], place[known])]
        factor = cholesky(np.linalg.inv(covariance), lower=True)
        points = np.where(known, self.points[:, place], 0.0)
        rng = np.random.default_rng(self.spec.random_seed)
        points[:, new] = sd[new] * rng.standard_normal((len(points), int(new.sum())))
        posterior = Laplace(mode, factor, self.posterior.log_evidence)
        return replace(self, layout=layout, mean=mean, sd=sd, posterior=posterior, points=points)

    @property
    def exponents(self) -> Array:
        """The posterior mode of the exponents, (class, term)."""
        return self.layout.exponents(self.posterior.mode)[:, : self.layout.terms]

    @property
    def offsets(self) -> Array:
        """The posterior mode of the classes' offsets, (class,), in nats."""
        return self.layout.exponents(self.posterior.mode)[:, -1]

    @property
    def cell_offsets(self) -> Array:
        """The posterior mode of the offsets of cells, (class, cell), in nats."""
        return self.layout.exponents(self.posterior.mode)[:, self.layout.terms : -1]

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
        v = self.layout.exponents(self.points)
        found = np.empty(offset.shape)
        step = max(1, 2**22 // max(1, len(v) * self.layout.classes))
        for start in range(0, len(offset), step):
            cut = slice(start, start + step)
            log_p = log_posterior_of_classes(terms[cut], offset[cut], v, None if cells is None else cells[cut])
            top = log_p.max(-1, keepdims=True)
            found[cut] = (top[..., 0] + np.log(np.exp(log_p - top).mean(-1))).T
        return found

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
