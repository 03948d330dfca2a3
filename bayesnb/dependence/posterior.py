"""The posterior of the exponents (powers of likelihoods): mode, Laplace approximation, variational Gaussian, and draws.

The posterior is proper and log-concave for every table, because the likelihood is log-concave and the priors are
Normal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.random import Generator
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.linalg.lapack import dposv
from scipy.special import ndtri

from bayesnb.dependence.exponents import CELLS, OWN, SLOPES, STACKED, Exponents, Group, Layout, NoExponentsError
from bayesnb.dependence.likelihood import HELD, Rows, Source, derivatives, log_likelihood, log_probabilities
from bayesnb.dependence.scores import Spread, nearest
from bayesnb.kernels.blocks import slices, written
from bayesnb.model import normalize
from bayesnb.numerics import Array, log
from bayesnb.progress import tick
from bayesnb.statistics.statistic import same
from bayesnb.wording import Cure, Message

MODE, NEAR = 1e-12, 1e-2
"""Tolerances, as twice the promised gain in nats: of the mode, and of a point whose evidence is within 0.01 nats."""

TIE = 1e-6
"""Log evidences that differ by less are tied, and the first one wins. So rounding errors, which depend on the order of
classes and columns, do not choose a scale.
"""

SEARCHES = 3
"""Number of rounds in which all scales are chosen again."""

STEPS = 100
"""More Newton steps than a concave function needs; reaching it is an error."""

SIZES = 2.0 ** -np.arange(8)
"""Fractions of a Newton step, of which the best is taken; one pass over the rows tries all of them."""

CURVED = 2.0
"""A search for a mode ends early if its log evidence cannot be the largest. The bound, in nats, is the evidence of the
quadratic likelihood with the derivatives at the current point, plus this number, plus six times the promised gain of
the next step. The likelihood is not quadratic: if classes separate, its curvature decreases with distance from the
origin. In 2,089 trials on twelve tables, the rule ended no search that had the largest evidence.
"""


@dataclass(frozen=True, eq=False)
class Laplace:
    """The Laplace approximation: a Normal around the mode, and the log evidence (MacKay 2003, chapter 27)."""

    mode: Array
    factor: Array  # Cholesky factor L of the precision L Lᵀ
    log_evidence: float

    def covariance(self) -> Array:
        return cho_solve((self.factor, True), np.eye(len(self.mode)))

    def at(self, z: Array) -> Array:
        order, factor = self._ordered
        found = np.empty_like(z)
        found[:, order] = solve_triangular(factor, z.T, lower=True, trans="T", check_finite=False).T
        return self.mode + found

    @cached_property
    def _ordered(self) -> tuple[Array, Array]:
        order = np.argsort(self.mode, kind="stable")
        own = self.factor[order]
        return order, cholesky(own @ own.T, lower=True)


class NoModeError(RuntimeError):
    """Error: Newton's method did not converge, because log-likelihood terms or row weights are too extreme."""

    def __init__(self, reason: str) -> None:
        text = "{reason}; rescale the weights of the rows if they are very large, or use {cure}"
        super().__init__(Message(text, reason=reason, cure=Cure("dependence")))


def laplace(
    source: Source, layout: Layout, mean: Array, sd: Array, start: Array, enough: float = MODE, better: float = -np.inf,
    here: tuple[float, Array, Array] | None = None,
) -> Laplace:  # fmt: skip
    """The Laplace approximation of the posterior of exponents under Normal(mean, sd) priors, by Newton's method."""
    # here: the derivatives() at ``start``, if known
    place = np.array(start, float)
    here = here or derivatives(source, layout, place)
    for _ in range(STEPS):
        (step, factor, gain), log_evidence = _newton(here, mean, sd, place)
        # Stop within about ``enough`` / 2 nats of the maximum, or if the log evidence will almost certainly not exceed
        # ``better``.
        if gain < enough or log_evidence + CURVED + 3 * gain < better:
            return Laplace(place + step, np.tril(factor), log_evidence)
        # A difference within the rounding error of two nearly equal sums over all rows is not a decrease.
        least = here[0] + _log_prior(place, mean, sd) - 1e-12 * (1 + abs(here[0]))
        for first in (1.0, SIZES[-1] / 2, SIZES[-1] ** 2 / 4):
            sizes = first * SIZES
            points = place + sizes[:, None] * step
            heights = log_likelihood(source, layout, points) + _log_prior(points, mean, sd)
            best = 0 if heights[0] >= heights.max() - MODE else int(heights.argmax())
            if heights[best] >= least + 1e-4 * sizes[best] * gain:
                break
        else:
            raise NoModeError("no step along Newton's direction raises the posterior of the exponents")
        place = points[best]
        here = derivatives(source, layout, place)
    raise NoModeError(f"the mode of the exponents was not reached in {STEPS} Newton steps")


def _log_prior(points: Array, mean: Array, sd: Array) -> Array:
    return -0.5 * (((points - mean) / sd) ** 2).sum(-1)


def _newton(
    here: tuple[float, Array, Array], mean: Array, sd: Array, place: Array
) -> tuple[tuple[Array, Array, float], float]:
    value, slope, information = here
    precision, away = 1 / sd**2, place - mean
    curved, uphill = information.copy(), slope - precision * away
    curved.flat[:: len(curved) + 1] += precision
    # The transpose of this symmetric matrix is in LAPACK's order, so that nothing is copied.
    factor, step, failed = dposv(curved.T, uphill, lower=1, overwrite_a=1)
    if failed:
        raise np.linalg.LinAlgError("the information about the exponents is not positive definite")
    gain = float(step @ uphill)
    log_prior = -0.5 * precision @ away**2 + gain / 2 - np.log(sd).sum()
    return (step, factor, gain), float(value + log_prior - np.log(np.diag(factor)).sum())


def draws(
    source: Source, layout: Layout, mean: Array, sd: Array, found: Laplace, n: int, rng: Generator
) -> tuple[Array, float]:
    """Draw the parameters from the posterior, (draw, parameter); also return the error of the Laplace approximation."""
    half = rng.standard_normal(((n + 1) // 2, len(found.mode)))
    z = np.concatenate([np.concatenate([half, -half])[:n], np.zeros_like(half[:1])])
    ratio = _Ratio(layout, mean, sd, found)
    heights, rows = ratio.beside(z, found.at(z)), 0
    for block, log_p in log_probabilities(source, layout, found.at(z)):
        heights, rows = heights + log_p.sum(0), rows + len(block.codes)
    # The standard deviation, in nats, of ln(posterior density / Normal density).
    off = float(heights[:n].std())
    # Antithetic pairs from the approximating Normal (Hammersley and Morton 1956). With a larger error,
    # all draws are made by elliptical slice sampling (Murray, Adams and MacKay 2010; Nishihara, Murray and Adams 2014).
    if off <= EXACT:
        return found.at(z[:n]), off
    # Chains start at the mode or at draws of the Normal, with weights posterior density / Normal density.
    likely = np.exp(heights - heights.max())
    z = z[rng.choice(len(z), n, p=likely / likely.sum())]
    # Chains are independent, so many rows are passed by groups of chains.
    together = max(1, HELD // (2 * max(1, rows * layout.classes)))
    return found.at(np.concatenate([_chains(ratio, source, z[cut], rng) for cut in slices(n, together)])), off


@dataclass(frozen=True, eq=False)
class _Ratio:
    """The log posterior density minus the log density of its Laplace approximation, up to a constant."""

    layout: Layout
    mean: Array
    sd: Array
    found: Laplace

    def beside(self, z: Array, points: Array) -> Array:
        return 0.5 * (z**2).sum(-1) + _log_prior(points, self.mean, self.sd)


def _chains(ratio: _Ratio, source: Source, z: Array, rng: Generator) -> Array:
    # After each round, rows whose label is certain in all chains are omitted. All rounds are repeated with all rows if
    # the log likelihood of the omitted rows varies by more than ``EXACT``.
    rows, missed = source, 0.0
    for _ in range(ROUNDS):
        z, height = _moved(ratio, rows, z, rng)
        points = ratio.found.at(z)
        value, rows = _uncertain(source, ratio.layout, points)
        missed = float((value + ratio.beside(z, points) - height).std())
    for _ in range(ROUNDS if missed > EXACT else 0):
        z, _ = _moved(ratio, source, z, rng)
    return z


BLOCK = 512
"""Number of rows whose probabilities are computed at a time."""

EXACT = 0.3
"""Nats: importance weights that vary less than this leave an effective sample above 90 %."""

TURNS, ROUNDS = 3, 5
"""Steps of a chain in a round, and rounds; after k steps all but 2^-k of the Normal's variance is reached."""

CERTAIN = 1e-5
"""Nats: if the log probability of its label is closer to 0 than this, a row is omitted in the next round."""


def _uncertain(source: Source, layout: Layout, points: Array) -> tuple[Array, Source]:
    """The log likelihood of each parameter vector, (draw,), and the rows whose label is uncertain under any vector."""
    # If the uncertain rows take too much memory, return all rows.
    total, kept, cells = np.zeros(len(points)), [], 0
    for rows, log_p in log_probabilities(source, layout, points):
        total += log_p.sum(0)
        if cells <= HELD:
            some = log_p.min(1) < -CERTAIN
            kept.append(rows if some.all() else rows[some])
            cells += kept[-1].terms.size
    return total, source if cells > HELD else lambda: kept


def _moved(ratio: _Ratio, rows: Source, z: Array, rng: Generator) -> tuple[Array, Array]:
    """Move chains by ``TURNS`` steps of elliptical slice sampling; return their points and log density ratios."""
    mode = ratio.found.mode

    def linear(z: Array) -> list[Array]:
        return [z, ratio.found.at(z) - mode]

    def value(z: Array, away: Array) -> Array:
        return ratio.beside(z, mode + away) + log_likelihood(rows, ratio.layout, mode + away)

    def turned(one: list[Array], other: list[Array], angle: Array, which: Array | slice = slice(None)) -> list[Array]:
        cos, sin = np.cos(angle)[:, None], np.sin(angle)[:, None]
        return [cos * a[which] + sin * b[which] for a, b in zip(one, other, strict=True)]

    here = linear(z)
    height = value(*here)
    for _ in range(TURNS):
        other = linear(rng.standard_normal(z.shape))
        level = height - rng.exponential(size=len(z))
        angle = rng.uniform(0, 2 * np.pi, len(z))
        low, high = angle - 2 * np.pi, angle.copy()
        left = np.arange(len(z))
        while len(left):
            height[left] = value(*turned(here, other, angle[left], left))
            left = left[~(height[left] > level[left])]
            low[left] = np.where(angle[left] < 0, angle[left], low[left])
            high[left] = np.where(angle[left] >= 0, angle[left], high[left])
            angle[left] = rng.uniform(low[left], high[left])
        here = turned(here, other, angle)
    return here[0], height


# The learned posterior


@dataclass(frozen=True, eq=False)
class LearnedExponents:
    """The posterior of the exponents (powers of likelihoods) given the labels."""

    # In a model average, the first model predicts the class frequencies, because all its exponents are 0. The last
    # model learns all terms, and ``posterior`` is the posterior of its parameters.

    spec: Exponents
    layout: Layout
    names: tuple[Any, ...]
    groups: tuple[Group, ...]
    scales: dict[str, float]  # prior standard deviation of each group
    learned: Layout  # layout of the learned parameters
    posterior: Laplace | None  # of the learned parameters; ``None`` for fixed exponents
    points: Array  # (draw, parameter): draws of all models in the order of ``average``, or one row of fixed exponents
    off: float  # error of the Laplace approximation, in nats (see draws())
    weights: Array  # weights of the draws
    average: dict[str, float]  # weight of each model in a model average
    power: float = 1.0  # power of the ratio of averaged to prior class probabilities
    spreads: tuple[Spread, ...] = ()  # a Normal distribution of the parameters per model

    @classmethod
    def naive(cls, spec: Exponents, groups: Sequence[Group], names: Sequence[Any], n_classes: int) -> LearnedExponents:
        layout = Layout.of(groups, n_classes)
        point = np.zeros(layout.size)
        point[: layout.terms] = 1.0
        scales = dict.fromkeys((*(group.name for group in groups), OWN, CELLS, SLOPES), 1.0)
        shown = spec, layout, tuple(names), tuple(groups), scales, layout
        return cls(*shown, None, point[None], 0.0, np.ones(1), {}, 1.0, (Spread.at(point),))

    def fits(self, groups: Sequence[Group], n_classes: int, offsets: int, trees: bool, numbers: int) -> bool:
        """Whether the exponents match these groups, and these numbers of offsets and numeric columns."""
        layout = every = Layout.of(groups, n_classes, offsets)
        if self.spec.average:
            every = layout.wider(trees, numbers)
        fits = same((self.groups, self.learned, self.layout), (tuple(groups), layout, every))
        fits = fits and len(self.names) == layout.terms and 0 < self.power < np.inf
        fits = fits and {*(group.name for group in groups), OWN, CELLS, SLOPES} <= set(self.scales)
        return fits and all(v > 0 for v in self.scales.values())

    @cached_property
    def prior(self) -> tuple[Array, Array]:
        return self.spec.prior(self.learned, self.groups, self.scales)

    @property
    def by_draws(self) -> bool:
        """Whether :meth:`drawn` resamples stored draws of the exponents instead of drawing from a Normal."""
        return self.posterior is None or ((self.off > EXACT or bool(self.average)) and len(self.points) > 1)

    def moments(self) -> tuple[Array, Array]:
        mean = np.sum([each.weight * each.mean for each in self.spreads], axis=0)
        covariance = np.zeros(2 * (self.layout.size,))
        for each in self.spreads:
            covariance += each.weight * (each.root @ each.root.T + np.outer(away := each.mean - mean, away))
        return mean, covariance

    def at(self, point: Literal["mode", "mean"] | None) -> LearnedExponents:
        """A copy of this posterior in which the exponents are fixed at their posterior mode or mean."""
        if point is None:
            return self
        # The mode of a model average is the mode of the model that learns all terms.
        if point == "mode" and self.posterior is not None:
            return self.fixed(self.learned.within(self.posterior.mode, self.layout))
        return self.fixed(self.moments()[0])

    def fixed(self, point: Array) -> LearnedExponents:
        found = replace(self, posterior=None, points=point[None], weights=np.ones(1))
        return replace(found, average={}, power=1.0, spreads=(Spread.at(point),))

    def start(self, layout: Layout, places: Array, alike: bool, mean: Array) -> Array:
        """Starting point of the optimization of exponents: the learned mode, and ``mean`` for new terms."""
        # places, (term,): the position of each term in the learned layout, or -1; alike: whether intervals and levels
        # are the same
        found, (here, there) = mean.copy(), self._shared(layout, places, alike)
        old = self.posterior.mode if self.posterior is not None else self.moments()[0]
        found[here] = self.learned.relative.narrowed(old)[there]
        return found

    def near(
        self, layout: Layout, places: Array, alike: bool, sd: Array, mean: Array, precision: Array
    ) -> tuple[Array, Array]:
        """Mean and precision matrix from which the optimization of the variational Gaussian of the exponents starts."""
        (here, there), (old, found) = self._shared(layout, places, alike), self._informed
        mean, precision = mean.copy(), precision.copy()
        mean[here] = old[there]
        precision[here] = precision[:, here] = 0.0
        precision[np.ix_(here, here)] = found[np.ix_(there, there)] + np.diag(1 / sd[here] ** 2)
        return mean, precision

    @cached_property
    def _informed(self) -> tuple[Array, Array]:
        """The posterior mean of the exponents, and the precision matrix that the labels add to the prior precision."""
        own, layout, (spread,) = self.learned.places(self.layout), self.learned.relative, self.spreads
        inverse = np.linalg.inv(spread.root[own])
        found = inverse.T @ inverse - np.diag(1 / self.prior[1] ** 2)
        return layout.narrowed(spread.mean[own]), layout.narrowed(layout.narrowed(found).T)

    def _shared(self, layout: Layout, places: Array, alike: bool) -> tuple[Array, Array]:
        here = np.flatnonzero(places >= 0)
        there = places[here]
        learned = self.learned.relative
        if alike and layout.size - layout.terms == learned.size - learned.terms:
            here = np.concatenate([here, np.arange(layout.terms, layout.size)])
            there = np.concatenate([there, np.arange(learned.terms, learned.size)])
        return here, there

    def within(self, layout: Layout) -> LearnedExponents:
        points = self.layout.within(self.points, layout)
        return replace(
            self, layout=layout, points=points, spreads=tuple(each.within(self.layout, layout) for each in self.spreads)
        )

    @property
    def said(self) -> str:
        if not self.average:
            return ""
        ranked = sorted(self.average.items(), key=lambda each: -each[1])
        shares = ", ".join(f"{name} {weight:.0%}" for name, weight in ranked)
        return f"average of {len(ranked)} models (weights from held-out rows): {shares}"

    @property
    def members(self) -> list[slice]:
        """For each model of a model average, the slice of its draws in ``points``; without an average, one slice."""
        if not self.average:
            return [slice(None)]
        sizes = [self.spec.draws if each.root.shape[1] else 1 for each in self.spreads]
        return [slice(end - size, end) for end, size in zip(accumulate(sizes), sizes, strict=True)]

    @property
    def share_learned(self) -> float:
        """The total weight of the averaged models whose exponents were learned, not fixed."""
        return float(sum(each.weight for each in self.spreads if each.root.shape[1]))

    @property
    def largest(self) -> LearnedExponents:
        """In a model average, the exponents of the model with all terms; otherwise ``self``."""
        if not self.average:
            return self
        n = self.spec.draws
        places = self.learned.places(self.layout)
        points, weights, last = self.points[-n:, places], np.full(n, 1 / n), self.spreads[-1]
        own = (Spread(1.0, last.mean[places], last.root[places]),)
        return replace(self, layout=self.learned, points=points, weights=weights, spreads=own, average={}, power=1.0)

    def frequencies(self, rng: Generator, n: int, rows: float) -> Array:
        """Draws of the weight of the class-frequency model in a model average, (draw, 1, 1)."""
        total, mean = min(rows, STACKED) + len(self.average), self.weights[0]
        return rng.beta(total * mean, total * (1 - mean), (n, 1, 1)) if self.average else np.zeros((n, 1, 1))

    def drawn(self, rng: Generator, n: int) -> Array:
        """Draws of the parameters, (draw, parameter): from the Normal, or resampled from the stored draws."""
        if self.by_draws:
            weights = np.where(np.arange(len(self.weights)) < bool(self.average), 0.0, self.weights)
            return self.points[rng.choice(len(self.points), n, p=weights / weights.sum())]
        return self.spreads[0].draws(rng.standard_normal((n, self.layout.size)))

    def over(self, index: Sequence[int]) -> LearnedExponents:
        if list(index) == list(range(self.layout.classes)):
            return self
        (layout, place, known), (learned, *of_learned) = (_over(each, index) for each in (self.layout, self.learned))
        posterior, sd = self.posterior, self.spec.prior(learned, self.groups, self.scales)[1]
        if posterior is not None:
            at, old = of_learned
            mode = np.where(old, posterior.mode[at], 0.0)
            covariance = np.diag(sd**2)
            covariance[np.ix_(old, old)] = posterior.covariance()[np.ix_(at[old], at[old])]
            factor = cholesky(np.linalg.inv(covariance), lower=True)
            posterior = Laplace(mode, factor, posterior.log_evidence)
        points, new = np.where(known, self.points[:, place], 0.0), ~known
        rng = np.random.default_rng(self.spec.random_seed)
        every, spreads = learned.within(sd, layout), []
        # If nothing was learned, a new class has no offset either.
        drawn = rng.standard_normal((len(points), int(new.sum())))
        points[:, new] = 0.0 if self.spec.forests else every[new] * drawn
        for each in self.spreads:
            # The parameters of new classes have their prior, but are 0 in a member that is a point.
            more = np.diag(every)[:, new] if each.root.size else np.zeros((layout.size, 0))
            root = np.concatenate([np.where(known[:, None], each.root[place], 0.0), more], axis=1)
            spreads.append(Spread(each.weight, np.where(known, each.mean[place], 0.0), root))
        return replace(self, layout=layout, learned=learned, posterior=posterior, points=points, spreads=tuple(spreads))

    def log_proba(self, terms: Array, offset: Array, alike: Array) -> Array:
        """log p(c | x), (row, class), averaged over the posterior of the exponents."""
        # terms, (row, class, term); offset, (row, class): log p(c | D)
        found = np.empty(offset.shape)

        def part(cut: slice, found: Array) -> None:
            each = self.log_proba_of_members(terms[cut], offset[cut], alike[cut])
            top = each.max(0)
            # A class whose prior is 0 has -inf in every member.
            top = np.where(np.isneginf(top), 0.0, top)
            found[:] = top + log(np.tensordot([spread.weight for spread in self.spreads], np.exp(each - top), axes=1))

        return tempered(written(found, part, slices(len(offset), BLOCK)), self.power, offset)

    def log_proba_of_members(self, terms: Array, offset: Array, alike: Array) -> Array:
        """log p(c | x) under each model of a model average, (model, row, class)."""
        return np.stack([spread.log_proba(self.layout, terms, offset, alike) for spread in self.spreads])

    def table(self, level: float = 0.89) -> pd.DataFrame:
        """The exponents that the classes share: mean, sd, interval, and the log Bayes factor against the prior mean."""
        n, (prior_mean, prior_sd) = self.learned.terms, self.prior
        # In a model average, the table shows the exponents of the model that learns all terms.
        mean, covariance = self.largest.moments()
        mean, sd = mean[:n], np.sqrt(np.diag(covariance)[:n])
        half = ndtri(0.5 + level / 2) * sd
        # The Savage-Dickey ratio (Dickey 1971): prior density over posterior density at the prior mean.
        against = np.log(sd / prior_sd[:n]) + 0.5 * ((mean - prior_mean[:n]) / sd) ** 2
        columns = {"mean": mean, "sd": sd, "lower": mean - half, "upper": mean + half, "log_bayes_factor": against}
        # A name of two columns is joined, because an index of pairs would have two levels.
        names = [" × ".join(map(str, name)) if isinstance(name, tuple) else name for name in self.names]
        return pd.DataFrame(columns, index=pd.Index(names, name="term"))


def _over(layout: Layout, index: Sequence[int]) -> tuple[Layout, Array, Array]:
    n, own, old = layout.terms, len(layout.own), np.asarray(index, np.intp)
    place = np.where(old[:, None] >= 0, n + old[:, None] * own + np.arange(own), -1).ravel()
    place = np.concatenate([np.arange(n), place])
    return replace(layout, classes=len(index)), place, place >= 0


def tempered(log_p: Array, power: float, log_prior: Array) -> Array:
    """Raise the ratio of posterior to prior class probabilities to a power; all arrays are logarithms, (…, class)."""
    if power == 1.0:
        return log_p
    with np.errstate(invalid="ignore"):
        found = power * log_p + (1 - power) * log_prior
    # A class that is impossible under the prior or the data stays impossible.
    # The probabilities sum to 1 per row, even if those in ``log_prior`` do not.
    return normalize(np.where(np.isneginf(log_p), log_p, found))


def learn_exponents(
    spec: Exponents, source: Source, groups: Sequence[Group], names: Sequence[Any], sample: Rows | None = None,
    cells: int = 0, numbers: int = 0, before: tuple[LearnedExponents, Array, bool] | None = None,
) -> LearnedExponents:  # fmt: skip
    """Learn the exponents from blocks of :class:`Rows` with leave-one-out terms, under the priors in ``spec``."""
    # sample: a random sample of the rows, to choose prior standard deviations and a starting point. before: an earlier
    # posterior from more rows, the earlier position of each term (-1 if new), and whether the intervals and levels are
    # the same; with it, prior standard deviations are chosen approximately, and no draws are kept.
    few: Source = source if sample is None else lambda: [sample]
    whole = Layout.of(groups, _classes(few, names), cells, numbers)
    layout = whole.relative
    every = {group.name: group.sd for group in groups}
    every |= {OWN: spec.class_sd, CELLS: spec.cell_sd, SLOPES: spec.slope_sd}
    chosen = [group.name for group in groups]
    chosen += [OWN] * any(group.by_class for group in groups) + [CELLS] * (cells > 0)
    chosen += [SLOPES] * (numbers > 0)
    scales = {name: float(np.atleast_1d(sd)[0]) for name, sd in every.items()}
    choices = {name: np.atleast_1d(every[name]).tolist() for name in chosen}

    def at(scales: dict[str, float], start: Array, over: Source = few, *how: Any) -> Laplace:
        tick()
        return laplace(over, layout, *spec.prior(layout, groups, scales), start, *how)

    def quadratic(scales: dict[str, float], known: dict[tuple[float, ...], float]) -> float:
        if (key := tuple(scales.values())) not in known:
            known[key] = _newton(here, *spec.prior(layout, groups, scales), best.mode)[1]
        return known[key]

    # The evidence under other scales is approximately that of a quadratic likelihood around the mode, which needs no
    # pass over the rows; this gives good scales. Then each scale is tried at its own mode, with Newton's method started
    # at the best mode so far. The first start is the prior mean times the best of ``SIZES``: at the prior mean itself
    # most rows are so certain that the Hessian contains little information about the mode.
    if before is not None:
        scales |= {name: sd for name, sd in before[0].scales.items() if name in chosen}
    mean, sd = spec.prior(layout, groups, scales)
    starts = mean * SIZES[:, None] if before is None else before[0].start(layout, *before[1:], mean)[None]
    best = at(scales, starts[np.argmax(log_likelihood(few, layout, starts) + _log_prior(starts, mean, sd))], few, NEAR)
    here = derivatives(few, layout, best.mode)
    for _ in range(SEARCHES):
        other, known = dict(scales), {}
        for name, several in choices.items():
            evidence = [quadratic(other | {name: sd}, known) for sd in several]
            near = [sd for sd, value in zip(several, evidence, strict=True) if value >= max(evidence) - TIE]
            other[name] = near[0] if near else several[0]
        found = at(other, best.mode, few, NEAR, best.log_evidence, here)
        if found.log_evidence <= best.log_evidence + TIE:
            break
        best, scales, here = found, other, derivatives(few, layout, found.mode)
    tried, changed, turn = [scales], before is None, 0
    while changed and turn < SEARCHES:
        changed, turn = False, turn + 1
        for name, several in choices.items():
            for other in ({**scales, name: sd} for sd in several):
                if other in tried:
                    continue
                tried.append(other)
                found = at(other, best.mode, few, NEAR, best.log_evidence, here)
                if found.log_evidence > best.log_evidence + TIE:
                    best, scales, here, changed = found, other, derivatives(few, layout, found.mode), True
    best = at(scales, best.mode, source, MODE, -np.inf, here if sample is None else None)
    prior, begin = spec.prior(layout, groups, scales), (best.mode, best.factor @ best.factor.T)
    factor = cholesky(layout.whole_precision(begin[1], prior[1]), lower=True)
    best = Laplace(layout.whole(best.mode), factor, best.log_evidence)
    points, off = best.mode[None], 0.0
    if before is None:
        rng = np.random.default_rng(spec.random_seed)
        points, off = draws(source, whole, *spec.prior(whole, groups, scales), best, spec.draws, rng)
    else:
        begin = before[0].near(layout, *before[1:], prior[1], *begin)
    spread = nearest(source, layout, *prior, *begin)
    weights = np.full(len(points), 1 / len(points))
    return LearnedExponents(
        spec, whole, tuple(names), tuple(groups), scales, whole, best, points, off, weights, {}, spreads=(spread,)
    )


def _classes(source: Source, names: Sequence[Any]) -> int:
    classes = 0
    for rows in source():
        classes = rows.offset.shape[1]
        if not np.isfinite(rows.terms).all():
            t = int(np.argwhere(~np.isfinite(rows.terms))[0, 2])
            raise NoExponentsError(
                f"term {names[t]!r}: a row has probability 0 under a class, so no exponent can be learned for it; "
                "use a proper prior, under which every value has a positive probability"
            )
    return classes
