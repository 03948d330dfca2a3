"""How sure the class probabilities are: the posterior distribution of p(class | row, θ), row by row.

The class probability is a function of the parameters θ, and θ has a posterior; so the probability has a distribution,
and ``predict_proba``, its mean given the row, says nothing about its width. With two classes the distribution follows
from that of the log-odds (:class:`Saddlepoint`); with more, from exact draws (:class:`PosteriorDraws`). Both answer
the same questions, under what ``given`` says is believed of θ when a row is asked.

``offset``, (row, class), is added to log p(class, row): it holds the class priors of rows that have their own.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import stats
from scipy.special import expit, ndtr

from bayesnb.answers import drawn_sums
from bayesnb.answers.given import GivenData, GivenRow
from bayesnb.answers.log_odds import LogOdds
from bayesnb.dependence.learned import Dependence, DrawnDependence, draw
from bayesnb.kernels.blocks import each, large_enough, slices
from bayesnb.model import Data, Parameters, Posterior, counted_in, normalize, part_of
from bayesnb.priors import Array

CHUNK = 2**21
"""Numbers of a temporary array, about 16 MiB."""

PART = 2**24
"""Numbers of the parameters that are drawn at once, about 128 MiB."""


type Ask = Callable[[Array, slice], Array]


@dataclass(frozen=True, eq=False)
class PosteriorDraws:
    """Exact posterior draws, the same ones in every pass.

    Parameters
    ----------
    posterior : Posterior
    draws : int
    seed : Any
        As ``numpy.random.default_rng`` takes it; a Generator is copied, so its state does not change.
    dependence : Dependence, optional
        Where there is one, its exponents are drawn with the parameters.
    given : GivenData or GivenRow, optional
        What is believed of θ when a row is asked: what the data say, by default.
    by_sums : bool
        Draw what each class says of a row and not its parameters (see ``drawn_sums``).
    """

    posterior: Posterior
    draws: int
    seed: Any
    dependence: Dependence | None = None
    given: GivenData | GivenRow = field(default_factory=GivenData)
    by_sums: bool = False

    def __iter__(self) -> Iterator[Parameters | DrawnDependence]:
        """The draws given the data, some at a time."""
        rng = np.random.default_rng(copy.deepcopy(self.seed))
        for cut in slices(self.draws, max(1, PART // size_of_draw(self.posterior))):
            yield draw(self.posterior, self.dependence, rng, cut.stop - cut.start)

    @cached_property
    def _few(self) -> list[Parameters | DrawnDependence]:
        """All draws if they fit into one part; else an empty list, and they are drawn again in every pass."""
        parts = iter(self)
        first = next(parts)
        return [first] if len(first.log_pi) == self.draws else []

    def answers(self, asks: Mapping[str, Ask], data: Data, n_rows: int, offset: Array = 0.0) -> dict[str, Array]:
        """Functions of p(class | row, θ) over all draws, (row, ...) each, in one pass over the rows.

        Parameters
        ----------
        asks : {name: function}
            Each takes an array (draw, row, class) and the slice of rows that it holds.
        data, n_rows
        offset : array that spreads to (row, class)
        """
        n_classes = len(self.posterior.labels)
        offset = np.broadcast_to(offset, (n_rows, n_classes))
        # Draws that do not fit into memory are made anew for every part of the rows, so these parts are larger.
        size = CHUNK if self.by_sums or self._few else 8 * CHUNK
        parts = []
        for cut in slices(n_rows, max(1, size // (self.draws * n_classes))):
            rows = np.arange(cut.start, cut.stop)
            with counted_in(rows):
                p = np.exp(normalize(self.log_joint(part_of(data, cut), len(rows), offset[cut])))
            parts.append({name: ask(p, cut) for name, ask in asks.items()})
        return {name: np.concatenate([part[name] for part in parts]) for name in asks}

    def intervals(self, data: Data, n_rows: int, shares: Sequence[float], offset: Array = 0.0) -> tuple[Array, Array]:
        """Quantiles of p(class | row, θ), (row, class, quantile), and their Monte Carlo standard errors."""
        asks = {"ends": quantiles(shares), "errors": quantile_errors(shares)}
        found = self.answers(asks, data, n_rows, offset)
        return found["ends"], found["errors"]

    def prob_top(self, data: Data, codes: Array, offset: Array = 0.0) -> Array:
        """P(class ``codes[i]`` is the most probable one of row i under p(class | row, θ)), (row,)."""
        return self.answers({"top": shares_of_top(codes)}, data, len(codes), offset)["top"]

    def log_joint(self, data: Data, n_rows: int, offset: Array = 0.0) -> Array:
        """log p(c, x | θ) at every draw, (draw, row, class): for a few rows."""
        if self.by_sums:
            asked = self.given.power, self.draws, self.seed, data, n_rows, offset
            joint = drawn_sums.log_joint(self.posterior, *asked)
            if len(far := np.flatnonzero(np.isnan(joint).any(axis=(0, 2)))):
                offset = np.broadcast_to(offset, joint.shape[1:])[far]
                joint[:, far] = replace(self, by_sums=False).log_joint(part_of(data, far), len(far), offset)
            return joint
        parts = enumerate(self._few or self)
        return np.concatenate([self.given.log_joint(drawn, k, data, n_rows, offset) for k, drawn in parts])


def size_of_draw(posterior: Posterior) -> int:
    """How many numbers one draw of all parameters is."""
    return posterior.draw(np.random.default_rng(0)).size


def quantiles(shares: Sequence[float]) -> Ask:
    """These quantiles of p(class | row, θ), (row, class, quantile)."""
    return lambda p, rows: np.moveaxis(np.quantile(p, shares, axis=0), 0, -1)


def quantile_errors(shares: Sequence[float]) -> Ask:
    """Monte Carlo standard errors of :func:`quantiles`, (row, class, quantile).

    The rank of a quantile among n independent draws is Beta(n q + 1, n (1 - q) + 1) / n; half of the distance between
    the draws at the ends of its central 68 % is the error (Vehtari et al. 2021, section 4.4).
    """

    def errors(p: Array, rows: slice) -> Array:
        n, q = len(p), np.asarray(shares)
        ends = [stats.beta.ppf(ndtr(side), n * q + 1, n * (1 - q) + 1) for side in (-1.0, 1.0)]
        low, high = np.quantile(p, ends, axis=0)
        return np.moveaxis((high - low) / 2, 0, -1)

    return errors


def shares_of_top(codes: Array) -> Ask:
    """The share of draws under which class ``codes[i]`` is the most probable one of row i, (row,)."""
    return lambda p, rows: (p.argmax(-1) == codes[rows]).mean(0)


def probability_of_interval(prob: float | None) -> float:
    """The probability of an interval: what was asked for, or ArviZ's default."""
    if prob is None:
        from arviz_base import rcParams

        return rcParams["stats.ci_prob"]
    if not 0 < prob < 1:
        raise ValueError(f"Expected prob to lie between 0 and 1; got {prob!r}")
    return prob


@dataclass(frozen=True, eq=False)
class Saddlepoint:
    """The answers for two classes from the distribution of their log-odds, without a draw.

    Parameters
    ----------
    draws : PosteriorDraws
        What answers for the rows so far out that the formula has no floats for them.
    """

    draws: PosteriorDraws

    @property
    def posterior(self) -> Posterior:
        """What is believed of the parameters."""
        return self.draws.posterior

    @property
    def given(self) -> GivenData | GivenRow:
        """What is believed of θ when a row is asked."""
        return self.draws.given

    def intervals(
        self, data: Data, n_rows: int, shares: Sequence[float], offset: Array = 0.0
    ) -> tuple[Array, Array | None]:
        """Quantiles of p(class | row, θ), (row, class, quantile), and the Monte Carlo errors of those from draws."""
        ends, errors = np.empty((n_rows, 2, len(shares))), []

        def fill(rows: Array, quantile: Callable[[float], Array]) -> None:
            # The lower end of one class is the upper end of the other.
            for q in {round(share, 12) for low in shares for share in (low, 1 - low)}:
                z = quantile(q)
                for k, share in enumerate(shares):
                    if round(share, 12) == q:
                        ends[rows, 0, k] = expit(z)
                    if round(1 - share, 12) == q:
                        ends[rows, 1, k] = expit(-z)

        def draw(rows: Array, some: Data, offset: Array) -> None:
            ends[rows], error = self.draws.intervals(some, len(rows), shares, offset)
            errors.append(error)

        self._ask(
            data, n_rows, offset,
            lambda rows, certain: fill(rows, lambda q: certain),
            lambda rows, log_odds: fill(rows, log_odds.quantile),
            draw,
        )  # fmt: skip
        return ends, np.concatenate(errors) if errors else None

    def prob_top(self, data: Data, codes: Array, offset: Array = 0.0) -> Array:
        """P(class ``codes[i]`` is the most probable one of row i under p(class | row, θ)), (row,)."""
        share = np.empty(len(codes))

        def fill(rows: Array, below: Array) -> None:
            share[rows] = np.where(codes[rows] == 0, 1 - below, below)

        def draw(rows: Array, some: Data, offset: Array) -> None:
            share[rows] = self.draws.prob_top(some, codes[rows], offset)

        self._ask(
            data, len(codes), offset,
            lambda rows, certain: fill(rows, (certain < 0).astype(float)),
            lambda rows, log_odds: fill(rows, log_odds.cdf(0.0)),
            draw,
        )  # fmt: skip
        return share

    def _ask(
        self,
        data: Data,
        n_rows: int,
        offset: Array,
        certain: Callable[[Array, Array], None],
        uncertain: Callable[[Array, LogOdds], None],
        draw: Callable[[Array, Data, Array], None],
    ) -> None:
        """Ask the distribution of the log-odds of some rows at a time.

        A row that is impossible under one class has the certain log-odds of plus or minus infinity, and no
        distribution. A row for which there is no formula is drawn.
        """
        whole = LogOdds.of(self.posterior, data, n_rows, offset=offset, power=self.given.power)
        log_joint = self.posterior.log_predictive(data, n_rows) + offset
        normalize(log_joint)
        ruled_out = np.isneginf(log_joint)
        if (rows := np.flatnonzero(ruled_out.any(1))).size:
            certain(rows, np.where(ruled_out[rows, 0], -np.inf, np.inf))
        possible = np.flatnonzero(~ruled_out.any(1))
        many = large_enough(len(possible) * len(whole.factors))

        def work(cut: slice) -> Array:
            if not len(rows := possible[cut]):
                return rows
            some = whole[rows].prepared() if many else whole[rows]
            if len(far := np.flatnonzero(some.too_wide)):
                near = np.flatnonzero(~some.too_wide)
                rows, some, far = rows[near], some[near], rows[far]
            if len(rows):
                uncertain(rows, some)
            return far

        far = np.concatenate(list(each(work, slices(len(possible), 2**12 if many else 2**14))))
        if len(far):
            with counted_in(far):
                draw(far, part_of(data, far), np.broadcast_to(offset, (n_rows, 2))[far])
