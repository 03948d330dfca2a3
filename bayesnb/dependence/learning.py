"""Learn the dependence of columns: further terms, exponents, and averages of several models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from bayesnb.dependence.columns import Cells
from bayesnb.dependence.exponents import STACKED, Exponents, Group, NoExponentsError, named, require_learnable
from bayesnb.dependence.learned import Dependence, rows_left_out
from bayesnb.dependence.likelihood import HELD
from bayesnb.dependence.posterior import LearnedExponents, learn_exponents, tempered
from bayesnb.dependence.terms import TermSet
from bayesnb.kernels.blocks import one_thread_each
from bayesnb.model import Data, Posterior, normalize, part_of, pieces
from bayesnb.model.order import Order
from bayesnb.numerics import Array, log
from bayesnb.progress import Progress, counted
from bayesnb.statistics.statistic import Labels

COUNTED = ("by", "shapes", "pairs", "kernel", "partitions", "trees", "linear", "forests", "offsets")
"""The settings that determine the counts."""

FOLDS, FEW = 5, 600
"""Number of folds for stacking: 5 up to 600 rows, otherwise 2."""

HEAVIEST = 1e12
"""Largest total weight of the rows. Beyond it, rounding hides the prior of an exponent (about one row)."""

SAMPLE = 4096
"""Size of the sample that chooses standard deviations, and whose mode is the starting point for all rows."""


@one_thread_each()
def learn(
    posterior: Posterior, data: Data, labels: Labels, dependence: str | Exponents = "pairwise",
    before: Dependence | None = None,
) -> Dependence:  # fmt: skip
    """Learn how the features depend on each other, from the labelled rows that ``posterior`` has learned."""
    # before: an earlier result whose counts include all learned rows; ``data`` may then be a sample of these rows.
    spec = named(dependence)
    if (weight := float(labels.weight.sum())) > HEAVIEST:
        raise NoExponentsError(
            f"the rows weigh {weight:.3g} together, beside which floats keep too few digits of the prior of an "
            "exponent: rescale the weights of the rows, or use dependence=None"
        )
    # If the terms are the same, rows are not counted again.
    if before is not None and all(getattr(spec, what) == getattr(before.spec, what) for what in COUNTED):
        order = Order.under(posterior.model, data, labels)
        return _Learning(before.terms, posterior, data, labels, spec, order).dependence()
    require_learnable(posterior, labels, spec)
    order = Order.under(posterior.model, data, labels)
    found = TermSet(Cells.chosen(spec, posterior, data, labels, order).statistics(posterior, data, labels))
    return _Learning(found, posterior, data, labels, spec, order).dependence()


type Members = Mapping[str, LearnedExponents]
"""The posterior of the exponents of each member of a model average."""


@dataclass(frozen=True, eq=False)
class _Learning:
    """The log-likelihood terms of a model, and the rows from which the exponents of these terms are learned."""

    terms: TermSet
    posterior: Posterior
    data: Data
    labels: Labels
    spec: Exponents
    order: Order

    def dependence(self) -> Dependence:
        some, labels = self.order.drawn(self.labels, self.spec.rows, self.spec.random_seed)
        weight = float(labels.weight.sum())
        if self.spec.forests:
            columns = self.posterior.piece_names()
            shown = self.terms.groups(self.spec, len(columns)), self.terms.names(self.spec, columns)
            return Dependence(self.terms, LearnedExponents.naive(self.spec, *shown, len(self.posterior.labels)), weight)
        drawn = replace(self, data=part_of(self.data, some), labels=labels, order=self.order[some])
        each = drawn.members()
        exponents, predicted = each[ALL], None
        if self.spec.average:
            held_out = drawn.held_out(each)
            exponents = averaged(each, *held_out.stacked(held_out.labels.weight[None])[0])
            predicted = held_out.predicted(len(labels)) if isinstance(some, slice) else None
            if predicted is not None and (change := self.posterior.change_of_prior()).any():
                predicted = normalize(predicted + change)
        return Dependence(self.terms, exponents, weight, held_out=predicted)

    def members(self, before: tuple[TermSet, Members] | None = None) -> Members:
        """For each model in a model average, the posterior of its exponents; one model is learned without averaging."""
        # before: the terms and models of an earlier fit to more rows, from whose exponents the optimization starts
        found, posterior, labels, spec = self.terms, self.posterior, self.labels, self.spec
        columns = posterior.piece_names()
        called, groups = found.names(spec, columns), found.groups(spec, len(columns))
        counted = found.statistics.cells
        cells = spec.offset_cells(counted.grid.offset_cells, labels.n, labels.weight.sum())
        trees, numbers = int(counted.trees is not None), 0 if counted.numbers is None else len(counted.numbers.columns)
        n, n_classes = len(labels), len(posterior.labels)
        known = {} if before is None else {key: k for k, key in enumerate(before[0].keys(spec, len(columns)))}
        places = np.array([known.get(key, -1) for key in found.keys(spec, len(columns))], np.intp)
        alike = before is not None and all(each.statistics.cells.grid.complete for each in (found, before[0]))
        rows = rows_left_out(found, spec, posterior, self.data, labels, cells, numbers, trees=False)
        blocks = pieces.in_blocks(n, n_classes, len(called))
        held = [*map(rows, blocks)] if n * (n_classes * len(called) + cells + numbers) <= HELD else None
        sample = None
        if labels.size > 2 * SAMPLE:
            some, few_labels = self.order.drawn(labels, SAMPLE, spec.random_seed)
            sample = replace(rows(some), weight=few_labels.weight)

        def learned(member: str, groups: Sequence[Group], linear: bool = False) -> LearnedExponents:
            n, covariates = sum(group.terms for group in groups), cells + numbers * linear
            kept = None if held is None else [block.first(n, covariates) for block in held]
            few = None if sample is None else sample.first(n, covariates)
            source = (
                (lambda: (block.first(n, covariates) for block in map(rows, blocks))) if kept is None else lambda: kept
            )
            start = None if before is None else (before[1][member], places[:n], alike)
            found = learn_exponents(spec, source, groups, called[:n], few, cells, numbers * linear, start)
            progress.add(1)
            return found

        alone = [group for group in groups if group.name in ("features", "shapes")]
        with Progress("learning exponents") as progress:
            progress.total(1 + spec.average * ((alone != groups) + bool(numbers)), "members")
            every = learned(ALL, groups)
            if not spec.average:
                return {ALL: every}
            weighted = every if alone == groups else learned(WEIGHTED, alone)
            linear = {LINEAR: learned(LINEAR, [], linear=True)} if numbers else {}
        layout = every.learned.wider(trees, numbers)
        each = np.repeat([group.name == "features" for group in groups], [group.terms for group in groups])
        points = np.zeros((3, layout.size))
        points[1, : len(called)], points[2, len(called) : layout.terms] = each, 1.0
        # Three members have fixed exponents: the class frequencies (all exponents are 0), naive Bayes (exponents of
        # columns are 1) and the trees (the exponent of their term is 1).
        shares, naive, of_trees = (replace(every, layout=layout).fixed(point) for point in points)
        found_members = {SHARES: shares, NAIVE: naive, WEIGHTED: weighted, **({TREES: of_trees} if trees else {})}
        return {name: member.within(layout) for name, member in (found_members | linear | {ALL: every}).items()}

    def held_out(self, before: Members) -> HeldOutRows:
        """Predict held-out rows by each model of a model average."""
        posterior, order, few = self.posterior.with_default_class_prior(), self.order, replace(self.spec, trees=0)
        some, weight, turn = order.copies(self.labels, STACKED, few.random_seed)
        place = np.argsort(self.labels.codes[some], kind="stable")
        some, weight, turn = some[place], weight[place], turn[place]
        data, order = part_of(self.data, some), order[some]
        labels = Labels(self.labels.codes[some], weight, self.labels.n)
        folds = FOLDS if len(labels) <= FEW else 2
        turn = np.unique(np.stack([labels.codes, turn]), axis=1, return_inverse=True)[1].reshape(-1)
        fold = (turn - turn[np.searchsorted(labels.codes, labels.codes)]) % folds
        log_p: dict[str, Array] = {}

        # A function, so that the counts of a fold are freed before the next fold.
        def predict(k: int) -> None:
            # Everything except the trees is learned again without the rows of the fold.
            rest, out = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
            model, seen = posterior.model, (part_of(data, rest), labels[rest])
            believed = model.posterior(model.statistics(*seen, posterior.labels))
            found = Cells.chosen(few, believed, *seen, order[rest]).statistics(believed, *seen)
            if (weight == 1).all():  # At most STACKED rows are counted, so 16 bits per count are enough.
                found = replace(found, leaves=replace(found.leaves, counts=found.leaves.counts.astype(np.int16)))
            counts = TermSet(found)
            members = _Learning(counts, believed, *seen, few, order[rest]).members((self.terms, before))
            every = averaged(members, dict.fromkeys(members, 1.0))
            each = Dependence(counts, every, 0.0).log_proba_of_members(believed, part_of(data, out), len(out))
            for name, found_of in zip(members, each, strict=True):
                log_p.setdefault(name, np.zeros((len(labels), labels.n)))[out] = found_of

        for k in counted("weighing members by held-out rows", range(folds), "folds"):
            predict(k)
        if self.terms.statistics.cells.trees:
            left = labels.once()
            grid = self.terms.statistics.cells.grid
            term = self.terms.trees.term(grid.ranks(grid.codes(data, len(labels))), left)
            log_p[TREES] = normalize(posterior.only(()).log_left_out({}, left) + term)
        return HeldOutRows({name: log_p[name] for name in PRIOR if name in log_p}, labels, some, fold)


# Averages


@dataclass(frozen=True, eq=False)
class HeldOutRows:
    """Held-out rows: labels, positions, folds, and log p(c | x) under each averaged model, (row, class)."""

    log_p: dict[str, Array]
    labels: Labels
    rows: Array
    fold: Array

    def stacked(self, weight: Array) -> list[tuple[dict[str, float], float]]:
        return stacked(self.log_p, self.labels.codes, weight, self.fold)

    def predicted(self, n: int) -> Array | None:
        """Out-of-fold log p(c | x) of n rows under the model average, (row, class); ``None`` if a row has no fold."""
        folds = int(self.fold.max()) + 1
        if folds < FOLDS or not np.array_equal(np.sort(self.rows), np.arange(n)):
            return None
        found = np.empty_like(self.log_p[ALL])
        rest = self.fold != np.arange(folds)[:, None]
        for k, (weight, power) in enumerate(self.stacked(self.labels.weight * rest)):
            out = np.flatnonzero(~rest[k])
            log_p = {name: p[out] for name, p in self.log_p.items()}
            found[self.rows[out]] = tempered(mixed(log_p, weight), power, log_p[SHARES])
        return found


SHARES, NAIVE, WEIGHTED, ALL = "class frequencies", "naive Bayes", "weighted", "all terms"

TREES, LINEAR = "trees", "linear"

PRIOR = {SHARES: 0.02, NAIVE: 1.0, WEIGHTED: 1.0, TREES: 1.0, LINEAR: 1.0, ALL: 1.0}
"""The Dirichlet prior of the weights, in the order of the members; its unit is one held-out row.

The class frequencies represent rows with a wrong label, which are rare.
"""

POWER_SD = 0.3
"""Prior standard deviation of the logarithm of the power of a model average; the prior mean is 0."""

MOST_LOG_POWER = 1.5
"""Largest absolute value of the logarithm of this power."""


def stacked(
    log_p: Mapping[str, Array], codes: Array, weight: Array, fold: Array
) -> list[tuple[dict[str, float], float]]:
    """Estimate the weights of a model average (stacking) and the power of the weighted mean, per set of row weights."""
    # The weights are the posterior mode under a Dirichlet prior (Yao et al. 2018), adjusted by toward_naive_bayes().
    # Means of calibrated probabilities are underconfident (Ranjan and Gneiting 2010), so the ratio of the mean
    # probabilities to the class frequencies is raised to a power, with the prior Normal(0, 0.3) of the log power.
    rows, prior = np.arange(len(codes)), np.array([PRIOR[name] for name in log_p])
    own = np.stack([p[rows, codes] for p in log_p.values()])
    some = ~np.isneginf(own).all(0)
    # Relative to the best member of each row, so that no sum underflows.
    likely, known, fold = np.exp(own[:, some] - own[:, some].max(0)), weight[:, some], fold[some]
    folds = [known, *(known * (fold != k) for k in range(fold.max(initial=0) + 1))]
    whole, *of_rest = np.split(weights(likely, prior, np.concatenate(folds)), len(folds))
    of_members = toward_naive_bayes(whole, np.stack(of_rest)[fold], likely, known, [*log_p])
    found = [dict(zip(log_p, each, strict=True)) for each in of_members.tolist()]
    mean = np.stack([mixed(log_p, each) for each in found])
    log_prior = log_p[SHARES]
    with np.errstate(invalid="ignore"):
        ratio = np.where(np.isneginf(mean), 0.0, mean - log_prior)
    own = np.where(weight > 0, ratio[:, rows, codes], 0.0)
    low, high = (np.full(len(weight), end) for end in (-MOST_LOG_POWER, MOST_LOG_POWER))
    while high[0] - low[0] > 1e-12:
        middle = (low + high) / 2
        expected = (np.exp(normalize(log_prior + np.exp(middle)[:, None, None] * ratio)) * ratio).sum(2)
        # The derivative of the negative log posterior with respect to the log power.
        slope = middle / POWER_SD**2 - np.exp(middle) * (weight * (own - expected)).sum(1)
        low, high = np.where(slope > 0, low, middle), np.where(slope > 0, middle, high)
    return [*zip(found, np.exp((low + high) / 2).tolist(), strict=True)]


def mixed(log_p: Mapping[str, Array], weight: Mapping[str, float]) -> Array:
    """The log of the weighted mean of the models' class probabilities."""
    return np.log(sum(weight[name] * np.exp(p) for name, p in log_p.items()))


def weights(likely: Array, prior: Array, weight: Array) -> Array:
    """Estimate the weights of the models in each model average, (average, model), by EM with a Dirichlet prior."""
    # likely, (model, row): the probability of each label, relative to the best model; weight, (average, row): row
    # weights.
    total = prior.sum() + weight.sum(1, keepdims=True)
    pi, prior, weight = np.tile(prior / prior.sum(), (len(weight), 1)), prior / total, weight / total
    for _ in range(500):
        # The new weights add up to 1.
        pi = prior + pi * ((weight / (pi @ likely)) @ likely.T)
    return pi


def toward_naive_bayes(pi: Array, of_rest: Array, likely: Array, weight: Array, names: Sequence[str]) -> Array:
    """Average the model weights ``pi``, (average, model), with weights of naive Bayes and class frequencies only."""
    # Each of the two sets of weights has prior probability 1/2. Posterior probabilities follow from the models' label
    # probabilities ``likely``, (model, row), by pseudo-Bayesian model averaging (Yao et al. 2018). ``of_rest``, (row,
    # average, model), holds weights estimated from folds without the row.
    is_naive, is_shares = (np.array([name == one for name in names]) for one in (NAIVE, SHARES))

    # Naive Bayes gets the weights of all models that extend it. The weight of the class frequencies stays the same.
    def alone(pi: Array) -> Array:
        shares = np.where(is_shares, pi, 0.0)
        return np.where(is_naive, 1 - shares.sum(-1, keepdims=True), shares)

    several, one = (log(np.einsum("ram,mr->ar", each, likely)) for each in (of_rest, alone(of_rest)))
    p = expit((weight * (one - several)).sum(1, keepdims=True))
    return p * alone(pi) + (1 - p) * pi


def averaged(found: Members, weight: Mapping[str, float], power: float = 1.0) -> LearnedExponents:
    """Combine the models of an average, each with a posterior of its exponents, into one ``LearnedExponents``."""
    points = np.concatenate([each.points for each in found.values()])
    of_points = np.concatenate([weight[name] * each.weights for name, each in found.items()])
    of_points /= of_points.sum()
    spreads = tuple(replace(one, weight=weight[name]) for name, each in found.items() for one in each.spreads)
    every = found[ALL]
    return replace(every, points=points, weights=of_points, average=dict(weight), power=power, spreads=spreads)
