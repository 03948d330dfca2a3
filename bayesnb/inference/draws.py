"""Posterior draws of class probabilities p(class | row, θ), and intervals from draws."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from scipy.special import betaincinv, ndtr

from bayesnb.inference.believed import Believed, Drawn, Given
from bayesnb.inference.classifier import Classifier, of_near_rows
from bayesnb.inference.questions import question
from bayesnb.kernels.blocks import CELLS, each, slices
from bayesnb.model import Data, normalize, part_of
from bayesnb.model.drawn import CHUNK
from bayesnb.priors import Array
from bayesnb.progress import counted
from bayesnb.wording import require_whole, rows_at, shown_value

PART = 2**24
"""Size of the parameters in one batch of draws, in numbers (128 MiB)."""


type Ask = Callable[[Array, slice], Array]


@dataclass(frozen=True, eq=False)
class PosteriorDraws:
    """Exact posterior draws of parameters and exponents; each iteration over the object yields the same draws."""

    believed: Believed
    draws: int
    seed: Any

    def __iter__(self) -> Iterator[Drawn]:
        rng = np.random.default_rng(copy.deepcopy(self.seed))
        for cut in slices(self.draws, self._part):
            yield self.believed.draw(rng, cut.stop - cut.start, self.believed.by_cells)

    @cached_property
    def _part(self) -> int:
        return max(1, PART // self.believed.draw_size)

    @cached_property
    def _few(self) -> list[Drawn]:
        return list(self) if self.draws <= self._part else []

    def answers(self, asks: Mapping[str, Ask], data: Data, n_rows: int) -> dict[str, Array]:
        """Evaluate several functions of the drawn class probabilities, (draw, row, class), with one set of draws."""
        n_classes = len(self.believed.posterior.labels)
        # Draws that do not fit into memory, and draws per cell, are drawn again for every batch of rows, so these
        # batches are larger.
        size = CHUNK if self._few and not self.believed.by_cells else 8 * CHUNK
        parts = []
        cuts = slices(n_rows, max(1, size // (self.draws * n_classes)))
        for cut in counted("evaluating posterior draws", cuts, "parts"):
            rows = np.arange(cut.start, cut.stop)
            with rows_at(rows):
                p = np.exp(normalize(self.log_joint(data, rows)))
            parts.append({name: ask(p, cut) for name, ask in asks.items()})
        return {name: np.concatenate([part[name] for part in parts]) for name in asks}

    def intervals(self, data: Data, n_rows: int, shares: Sequence[float]) -> tuple[Array, Array]:
        """Quantiles of p(class | row, θ), (row, class, quantile), and their Monte Carlo standard errors."""
        found = self.answers({"ends": quantiles(shares)}, data, n_rows)["ends"]
        return found[..., 0], found[..., 1] * self.widening(data, n_rows)[:, None, None]

    def widening(self, data: Data, n_rows: int) -> Array:
        """Factor by which each row's Monte Carlo errors exceed the errors of independent draws, (row,)."""
        believed = self.believed
        how = believed.power, self.draws, data, n_rows, believed.offset
        return np.sqrt(self.draws / believed.posterior.effective(*how))

    def log_joint(self, data: Data, rows: Array) -> Array:
        """log p(class, row | θ) at every draw, (draw, row, class), for one batch of rows."""
        seed, parts = seed_of_rows(self.seed), enumerate(self._few or self)
        at, some = self.believed.of_rows(rows).log_joint_at, part_of(data, rows)
        return np.concatenate([at(drawn, (seed, k), some, len(rows)) for k, drawn in parts])


def seed_of_rows(seed: Any) -> int:
    """A whole number derived from ``seed``, without changing the state of a Generator."""
    return int(np.random.default_rng(copy.deepcopy(seed)).integers(2**63))


def error_ranks(n: int, shares: Array) -> list[Array]:
    """The probabilities ``shares`` minus and plus one Monte Carlo standard error of a quantile of ``n`` draws."""
    # The relative rank of the quantile q among n independent draws is Beta(n q + 1, n (1 - q) + 1). The error is half
    # of the width of its central 68 % interval on the scale of quantiles (Vehtari et al. 2021, section 4.4).
    return [betaincinv(n * shares + 1, n * (1 - shares) + 1, ndtr(side)) for side in (-1.0, 1.0)]


def quantiles(shares: Sequence[float]) -> Ask:
    """Return a function that computes quantiles of draws, with Monte Carlo errors, (row, class, quantile, 2)."""

    def asked(p: Array, rows: slice) -> Array:
        q = np.asarray(shares)
        found, low, high = np.quantile(p, [q, *error_ranks(len(p), q)], axis=0)
        return np.moveaxis(np.array([found, (high - low) / 2]), (0, 1), (3, 2))

    return asked


def probability_of_interval(prob: float | None) -> float:
    """``prob``, or ArviZ's default if ``prob`` is None."""
    if prob is None:
        from arviz_base import rcParams

        return rcParams["stats.ci_prob"]
    if not isinstance(prob, Real) or not 0 < prob < 1:
        raise ValueError(f"Expected prob to lie between 0 and 1; got {shown_value(prob)}")
    return prob


MEMORY = 2**29
"""Memory for ``sample_proba``, in bytes; draws of parameters fill half of it."""


@question("draws of the class probabilities", "how sure", "draws")
@of_near_rows
def sample_proba(classifier: Classifier, X: Any, draws: int = 1000, given: Given | None = None) -> Array:
    """p(class | row, θ) at exact independent posterior draws of θ, (draw, row, class).

    With ``given="row"``, the mean of the draws approximates ``predict_proba`` with ``estimate="predictive"``. Exponents
    and forests are drawn, too, if the model has them. The parameters of Pólya trees and of joint distributions of
    several columns are integrated out.

    Parameters
    ----------
    X : table
        The rows to predict.
    draws : int
        Number of draws of the parameters.
    given : {"row", "data"}, optional
        The posterior of θ, as in :meth:`predict_interval`. With ``given="data"``, all rows of a draw share one θ.

    Examples
    --------
    >>> from bayesnb import BayesianNB, datasets, draws
    >>> X, y = datasets.play_tennis()
    >>> clf = BayesianNB(random_state=0).fit(X, y)
    >>> p = draws.sample_proba(clf, X[:2], draws=500)
    >>> p.shape, p[:, 0, 0].std().round(1)
    ((500, 2, 2), np.float64(0.2))
    """
    data, n = classifier.read(X)
    require_whole(1, draws=draws)
    seed, rng = seed_of_rows(classifier.seed), classifier.generator()
    believed = classifier.believed.when_given(given)
    size = classifier.posterior.draw(np.random.default_rng(0)).size
    proba = np.empty((draws, n, len(classifier.classes)))
    for place, part in enumerate(slices(draws, max(1, min(512, MEMORY // 16 // size)))):
        drawn = believed.draw(rng, part.stop - part.start)

        def answer(rows: slice, drawn: Drawn = drawn, place: int = place, part: slice = part) -> None:
            with rows_at(np.arange(rows.start, rows.stop)):
                some, many = part_of(data, rows), rows.stop - rows.start
                joint = believed.of_rows(rows).log_joint_at(drawn, (seed, place), some, many)
                proba[part, rows] = normalize(joint, log=False)

        # Use few rows per batch, so that their joint probabilities stay in the processor's cache.
        list(each(answer, slices(n, max(1, CELLS // drawn.log_pi.size))))
    return proba
