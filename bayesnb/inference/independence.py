"""Tests of the independence of columns given the class."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.random import Generator
from scipy.special import logsumexp, ndtri, xlogy

from bayesnb.data.rows import TrainingRows, few_rows
from bayesnb.dependence.columns import SCREEN_DEPTH, Cells, DependenceStatistics, Grid
from bayesnb.dependence.exponents import DependenceName, Exponents, require_exact
from bayesnb.dependence.learning import learn
from bayesnb.dependence.pairs import ROWS_OF_PRIOR, PairCounts, shares_of
from bayesnb.dependence.terms import TermSet
from bayesnb.families.gaussian import Gaussian
from bayesnb.inference.classifier import Classifier
from bayesnb.inference.draws import probability_of_interval
from bayesnb.inference.questions import Shown, question
from bayesnb.model import Data, Posterior, part_of, pieces
from bayesnb.model.order import Order
from bayesnb.numerics import Array
from bayesnb.statistics.statistic import Labels
from bayesnb.wording import Cure, Message

CHANCE = 0.05
"""Largest probability of a finding in a table without any dependence."""

SAMPLE = 4096
"""Largest number of rows to compute gains from; counts use all rows."""


@dataclass(frozen=True, eq=False)
class Independence:
    """The evidence against independence of the columns given the class.

    Parameters
    ----------
    pairs : DataFrame
        A row for each pair of columns (``first``, ``second``), the most dependent first. ``log_bayes_factor`` is the
        log Bayes factor, in nats, of dependence given the class. ``information`` is the mutual information given the
        class, in nats, adjusted for chance. ``lower`` and ``upper`` are the interval of the information; ``lower`` is 0
        if independence is plausible. ``gain`` is the decrease in leave-one-out log loss per row, in nats, if p(a, b |
        c) replaces p(a | c) p(b | c). ``gain`` is too small for numbers that depend strongly. ``se`` is the standard
        error of the gain. ``score`` is the z-score for adding the pair to a model with ``dependence="weighted"``.
    exponent : Series
        The posterior of one exponent, a power of the likelihoods of all columns: ``mean``, ``sd``, ``lower``,
        ``upper``, and the ``log_bayes_factor`` against exponent 1 (naive Bayes).
    columns : tuple
        The columns that were compared.
    dependence : str or Exponents, optional
        The dependence of the model.
    families : tuple of Cure
        For Gaussian columns, the families that :func:`bayesnb.inspect` prefers. A wrong family also makes log-odds too
        large.
    far : tuple of Message
        For Gaussian columns, the numbers that lie far from all others. A single outlying number also makes log-odds too
        large.
    """

    pairs: pd.DataFrame
    exponent: pd.Series
    columns: tuple[Any, ...]
    dependence: DependenceName | Exponents | None = None
    families: tuple[Cure, ...] = ()
    far: tuple[Message, ...] = ()

    @property
    def threshold(self) -> float:
        """The log Bayes factor above which a pair counts as dependent."""
        # If the Bayes factors had a mean of 1 under independence, any of m pairs would exceed m / 0.05 with probability
        # at most 0.05 (e-values: Vovk and Wang 2021). This holds only nearly (``docs/theory/exponents.md``).
        return float(np.log(max(1, len(self.pairs)) / CHANCE))

    @property
    def dependent(self) -> pd.DataFrame:
        """The pairs whose log Bayes factor is above the ``threshold``."""
        return self.pairs[self.pairs["log_bayes_factor"] > self.threshold]

    @property
    def too_sure(self) -> float:
        """The factor by which log-odds of naive Bayes are too large (below 1: too small); 1 without evidence.

        If the interval of the exponent reaches 0, return the smallest factor that this interval allows. The evidence is
        weak if the interval excludes 1 but the Bayes factor is at most 20; then no other ``dependence`` is advised.
        """
        # The whole interval may be below 0, if the columns together are misleading.
        size = 1 / max(float(self.exponent["upper" if self._unbounded else "mean"]), 0.01)
        return size if self._clear or self._excludes_1 else 1.0

    @property
    def _clear(self) -> bool:
        return bool(self.exponent["log_bayes_factor"] > -np.log(CHANCE))

    @property
    def _excludes_1(self) -> bool:
        """Whether the interval of the exponent excludes 1, as it is printed."""
        return bool(not self.exponent["lower"].round(2) <= 1 <= self.exponent["upper"].round(2))

    @property
    def _unbounded(self) -> bool:
        return bool(self.exponent["lower"] <= 0 and self.exponent["upper"] < 1)

    @property
    def advice(self) -> str | None:
        """The ``dependence`` to use: "weighted", "pairwise", or ``None`` if no change is needed."""
        # "pairwise" is advised if a dependent pair has a significant score (Bonferroni), otherwise "weighted" if
        # log-odds are too large or too small.
        found = self.dependent
        if (found["score"] > ndtri(1 - CHANCE / max(1, len(found)))).any():
            return "pairwise"
        return "weighted" if self._clear else None

    @property
    def evidence(self) -> Message:
        """Outlying numbers, dependent pairs and the size of the log-odds as a message, without advice."""
        found, size, n = self.dependent, self.too_sure, len(self.pairs)
        if not n:
            counted = Message("There is no pair of columns to compare")
        elif found.empty:
            counted = Message("None of {n:,} pairs of columns shows dependence given the class", n=n)
        else:
            said = (
                "{k:,} of {n:,} pairs of columns depend on each other given the class, most of all {first!r} and "
                "{second!r}"
            )
            one = "1 of {n:,} pairs of columns depends on each other given the class: {first!r} and {second!r}"
            counted = Message(said if len(found) > 1 else one, k=len(found), n=n, **found.iloc[0][["first", "second"]])
        times = 1 / size if size < 1 else size
        odds = Message("there is no evidence of over- or underconfidence")
        if size != 1:
            way, near = "small" if size < 1 else "large", 1 + float(f"{times - 1:.1g}")  # 1.04, not 1.
            shown = f"{near:.9g}" if times < 1.1 else f"{times:{'.2g' if times < 10 else ',.0f'}}"
            whose = "" if self.dependence is None else "naive Bayes "
            said = "{whose}log-odds are {times} times too {way}"
            if self._unbounded:
                said = (
                    "{whose}log-odds are at least {times} times too {way} (the exponent of all columns is {lower:z.2f} "
                    "to {upper:z.2f}, and 1 in naive Bayes)"
                )
            ends = self.exponent[["lower", "upper"]]
            odds = Message(said, whose=whose, times=shown, way=way, **ends)
            if not (self._clear and self._excludes_1):
                odds = Message("there is {weak}evidence that {odds}", weak="" if self._clear else "weak ", odds=odds)
        said, more = Message("{counted}; {odds}", counted=counted, odds=odds), len(self.far) - 1
        if not (self.far and size > 1):
            return said
        others = f"; so do numbers of {more} more column{'s' * (more > 1)}" if more else ""
        text = "{far}{more}. One such number alone can make log-odds too large, so correct it first. {said}"
        return Message(text, far=self.far[0], more=others, said=said)

    @property
    def finding(self) -> Message:
        return Message("{evidence}; {cure}.", evidence=self.evidence, cure=self._cure)

    @property
    def _cure(self) -> Message:
        none = self.dependent.empty
        if none and self.too_sure == 1:
            return Message("nothing need be done")
        if self.dependence is not None:
            return Message("the model has {dependence}", dependence=Cure("dependence", self.dependence))
        said = "use {cure}, or another family for columns of another shape" if none else "use {cure}, or {auto}"
        then = Message(said, cure=Cure("dependence", self.advice), auto=Cure("dependence", "auto"))
        if self.advice is None:
            cure = Cure("dependence", "pairwise" if self.too_sure == 1 else "weighted")
            then = Message("compare shows whether {cure} predicts better", cure=cure)
        if not self.families:
            return then
        # The dependence of a pair is a matter of ranks, which a family does not change.
        more = len(self.families) - 1
        said = "{then}; inspect also prefers {family} to a Gaussian{more}"
        if none:
            said = "first try {family}, which inspect prefers to a Gaussian{more}; if that does not help, {then}"
        others = f" (and other families for {more} more column{'s' * (more > 1)})" if more else ""
        return Message(said, family=self.families[0], more=others, then=then)

    def __str__(self) -> str:
        return str(self.finding)

    def __repr__(self) -> str:
        return f"<Independence: {self}>"


def _notes(found: Independence) -> str:
    one = found.exponent
    return (
        f"One exponent for all columns: {one['mean']:.2f} ({one['lower']:.2f} to {one['upper']:.2f}), where 1 is naive "
        f"Bayes. Chance hardly gives a log Bayes factor above {found.threshold:.1f}."
    )


@question(
    "to know which columns depend on each other", "is the model right", "checks",
    Shown(
        "Dependence between columns", lines=lambda found: found.pairs.set_index(["first", "second"]),
        notes=_notes, plot="independence",
    ),
    {
        "log_bayes_factor": "evidence for dependence given the class, in nats; negative favours independence",
        "information": "mutual information given the class, in nats, adjusted for chance; numbers are cut at their "
        "quartiles, so it is at most ln 4 = 1.39 for them",
        "lower": "lower end of the interval of the mutual information",
        "upper": "upper end of the interval of the mutual information",
        "gain": "decrease in left-out log loss per row, in nats, if p(a | c) p(b | c) is replaced by p(a, b | c); "
        "numbers are cut into 16 intervals, so it is too small, even negative, for numbers that depend strongly: then "
        "the log Bayes factor decides whether they depend",
        "se": "standard error of the gain",
        "score": Message(
            "z-score of the pair's term when it is added to {model}", model=Cure("dependence", "weighted")
        ),
    },
)  # fmt: skip
def independence(
    classifier: Classifier, X: Any, y: Any, sample_weight: Any = None, prob: float | None = None
) -> Independence:
    """Which columns depend on each other given the class, how strongly, and what to do about it.

    Parameters
    ----------
    X, y, sample_weight
        Exactly the learned rows.
    prob : float, optional
        Probability of the intervals, by default ArviZ's ``stats.ci_prob`` (0.89).

    Returns
    -------
    Independence
        The result prints as one sentence of advice. :func:`bayesnb.plots.independence` draws the result.

    Raises
    ------
    ValueError
        If there are features sampled by MCMC, learned rows without a label, more than 200 columns, or a posterior that
        is improper when a row is left out.

    Notes
    -----
    Bags of words, counts with an exposure, and columns of more than 64 levels are not compared. The column ``gain`` is
    computed from at most 4,096 rows. For ``information``, numbers are cut at their quartiles, so two columns of numbers
    have at most ln 4 = 1.39 nats. For ``gain``, numbers are cut into 16 intervals, which hide differences within an
    interval: modelling a strong dependence can gain more.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesnb import BayesianNB, checks
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(2, size=500)
    >>> x = rng.normal(y)
    >>> X = {"x": x, "copy": x, "other": rng.normal(y)}
    >>> found = checks.independence(BayesianNB().fit(X, y), X, y)
    >>> print(found)
    1 of 3 pairs of columns depends on each other given the class: 'x' and 'copy'; log-odds are 1.5 times too large;
    use dependence="weighted", or dependence="auto".
    >>> found.pairs[["first", "second", "log_bayes_factor", "information"]].round(1)
      first second  log_bayes_factor  information
    0     x   copy             580.3          1.3
    1     x  other              -3.5          0.0
    2  copy  other              -3.5          0.0
    """
    classifier.require_one_class_prior("the audit of independence")
    classifier.require_counted("the audit leaves rows out, which is exact for rows that were counted")
    rows = classifier.rows(X, y, sample_weight).labelled()
    data, labels = classifier.encoded(rows)
    classifier.require_learned(labels.weights())
    found = audited(classifier.posterior, data, labels, probability_of_interval(prob))
    if classifier.dependence is not None:
        found = replace(found, dependence=classifier.dependence.spec.name)
    if found.too_sure == 1 and found.dependent.empty:
        return found
    from bayesnb.findings import far_from_others, preferred

    columns, labels = _gaussians(classifier, rows)
    heaviest_first = sorted(columns, key=lambda column: -np.nan_to_num(column.kurt()))
    found = replace(found, far=tuple(filter(None, map(far_from_others, heaviest_first))))
    if classifier.dependence is not None:
        return found
    return replace(found, families=tuple(filter(None, (preferred(column, labels) for column in columns))))


def _gaussians(classifier: Classifier, rows: TrainingRows) -> tuple[list[pd.Series], pd.Series]:
    """The values of columns that are modelled as Gaussian, and the class of each row; large tables are sampled."""
    from bayesnb.findings import LOOKED_AT

    schema, weight = classifier.schema, rows.weight
    table = schema.through(rows.table)
    names = [name for f in schema.features.values() if type(f.family) is Gaussian for name in f.columns]
    names = names if schema.named and not table.sparse else []  # Families are proposed by the names of columns.
    counts = (weight % 1 == 0).all() and weight.sum() <= LOOKED_AT
    some = few_rows(table, LOOKED_AT, 0)
    some = np.repeat(some, weight[some].astype(int) if counts else weight[some] > 0)
    labels = pd.Series(rows.target.codes[some])
    return [pd.Series(table.column(name).reals()[some], name=name) for name in names], labels


def audited(
    posterior: Posterior, data: Data, labels: Labels, level: float = 0.89, draws: int = 200, random_seed: int = 0
) -> Independence:
    """Test every pair of columns for dependence given the class, with intervals of probability ``level``."""
    # Real columns are cut at quartiles for the mutual information and for dependence of any form. They are cut into
    # sixteen intervals for the gain and for monotone dependence.
    require_exact(posterior.model, Message("or {cure}", cure=Cure("drop")))
    grid, counts, finer = counted_pairs(posterior, data, labels)
    called, rng, rows = grid.names(posterior.piece_names()), np.random.default_rng(random_seed), []
    factors = log_bayes_factors(counts, finer, are_ordered(posterior, grid))
    for (i, j), n, factor in zip(counts.pairs, counts.each(), factors, strict=True):
        drawn = _information(n, draws, rng)
        low, high = np.quantile(drawn, [0.5 - level / 2, 0.5 + level / 2])
        rows.append((called[i], called[j], factor, drawn.mean(), low, high))
    found = pd.DataFrame(rows, columns=["first", "second", "log_bayes_factor", "information", "lower", "upper"])
    found["gain"], found["se"], found["score"] = _gains(posterior, TermSet(finer), data, labels)
    found = found.sort_values("log_bayes_factor", ascending=False, kind="stable", ignore_index=True)
    tempered = learn(posterior, data, labels, "tempered")
    return Independence(found, tempered.exponents.table(level).iloc[0], tuple(called))


def counted_pairs(posterior: Posterior, data: Data, labels: Labels) -> tuple[Grid, PairCounts, DependenceStatistics]:
    """The intervals or levels of each column, and two contingency tables for each pair of columns: coarse and fine."""
    grid = Grid.of(posterior, data, labels.weight, Order.under(posterior.model, data, labels))
    which = grid.searched()
    fine = Cells(grid, False, tuple(which), ()).statistics(posterior, data, labels)
    return grid, grid.counted(data, labels, which, SCREEN_DEPTH), fine


def are_ordered(posterior: Posterior, grid: Grid) -> Array:
    """Whether each column is ordered: columns of numbers, of ordered levels, or of two levels."""
    each = [posterior.pieces[term] for term in grid.terms]
    levels = [piece.column is not None and piece.family.order_of(piece.column) is not None for piece in each]
    return np.array([axis.size == 2 for axis in grid.axes(0)], bool) | grid.real | np.array(levels, bool)


def log_bayes_factors(coarse: PairCounts, fine: DependenceStatistics, ordered: Array) -> Array:
    """Log Bayes factors of dependence given the class, (pair,)."""
    # Over all permutations of one column within a class, the mean Bayes factor is about 1. If both columns are ordered,
    # two kinds of dependence have a prior probability of ½ each: any table of the coarse cells, and monotone dependence
    # of the fine cells, with one parameter per class.
    found = coarse.log_bayes_factors(by_class=True)
    for k, ((i, j), n) in enumerate(zip(fine.pairs.pairs, fine.pairs.each(), strict=True)):
        if ordered[i] and ordered[j]:
            found[k] = np.logaddexp(found[k], _log_bayes_factor_of_order(n)) - np.log(2)
    return found


def _log_bayes_factor_of_order(counts: Array) -> float:
    """Log Bayes factor of monotone dependence within each class: one column rises or falls with the other column."""
    # Let s, from -1 to 1, be the grade of a cell of the first column: the share of the class's rows below the cell less
    # the share above it. Let t be the grade of a cell of the second column. Dependence multiplies the probability of a
    # pair of cells by 1 + θ s t with θ uniform on [-1, 1] (the copula of Farlie, Gumbel and Morgenstern). Over all
    # orders of the second cells, the mean of the product of 1 + θ s t is nearly (1 - θ² var(s) var(t))^-½, by which the
    # product is divided. The integral over θ is a sum over 16 values.
    theta, weight = np.polynomial.legendre.leggauss(16)
    p, q = shares_of(counts.sum(2)), shares_of(counts.sum(1))
    s, t = (2 * np.cumsum(share, 1) - share - share.sum(1, keepdims=True) for share in (p, q))
    variances = (p * s**2).sum(1) * (q * t**2).sum(1)
    product = np.log1p(theta[:, None, None, None] * (s[:, :, None] * t[:, None, :]))
    log_ratio = np.einsum("cab,kcab->kc", counts, product) + np.log1p(-(theta[:, None] ** 2) * variances) / 2
    return float(logsumexp(log_ratio, axis=0, b=weight[:, None] / 2).sum())


def _gains(posterior: Posterior, terms_of_pairs: TermSet, data: Data, labels: Labels) -> tuple[Array, Array, Array]:
    """Effect of adding each pair: decrease in leave-one-out log loss, its standard error, and Rao's score."""
    # Let s be a row's log joint with the row left out, and r the term of a pair, with the row left out too. If only
    # this pair is modelled, the log joint is exactly s + r. If the pair is added to the weighted model with an exponent
    # v, the derivative of a row's log probability in v at 0 is r_y - Σ_c p_c r_c. The score is the sum of these over
    # rows, divided by its standard error (Rao's score test). It is conservative, because the other exponents were
    # learned from the same rows.
    many = len(terms_of_pairs.statistics.pairs.pairs)
    weighted = learn(posterior, data, labels, "weighted")
    left, alone = labels.once(), posterior.only(())
    drawn, own = Order.under(posterior.model, data, labels).drawn(labels, SAMPLE, 0)
    some, times = np.arange(len(labels))[drawn], own.weight
    total, sums = 0.0, np.zeros((4, many))
    for cut in pieces.in_blocks(len(some), labels.n, many):
        part, rows, weight = part_of(data, some[cut]), left[some[cut]], times[cut]
        own, columns = (np.arange(len(rows)), rows.codes), pieces.left_out(posterior, part, rows)
        r = terms_of_pairs.beside(posterior, part, rows)
        joint = alone.log_left_out({}, rows) + columns.sum(-1)
        more = joint[:, :, None] + r
        plain = joint[own] - logsumexp(joint, axis=1)
        gain = more[own] - logsumexp(more, axis=1) - plain[:, None]
        p = np.exp(weighted.log_left_out(posterior, part, rows))
        slope = r[own] - np.einsum("rc,rct->rt", p, r)
        total += weight.sum()
        sums += [weight @ v for v in (gain, gain**2, slope, slope**2)]
    gain, square = sums[:2] / max(total, 1.0)
    se = np.sqrt(np.maximum(square - gain**2, 0) / max(total, 1.0))
    return gain, se, sums[2] / np.sqrt(np.where(sums[3] > 0, sums[3], 1.0))


def _information(counts: Array, draws: int, rng: Generator) -> Array:
    """Draws of a pair's mutual information given the class, adjusted for chance, in nats, (draw,)."""
    # The cells of a class have a Dirichlet prior around the product of its margins. The information I of the observed
    # frequencies is too large by about (number of free cells) / (2 × number of rows). The posterior mean of I is too
    # large by about double this amount. So the draws are shifted to the mean I, and then adjusted for chance (Vinh,
    # Epps and Bailey 2010): I becomes (I - E) H / (H - E), or 0 if negative, where E is the mean information of
    # independent tables with the same margins, and H the largest.
    n = counts.sum((1, 2))
    counts, n = counts[n > 0], n[n > 0]
    if not len(n):
        return np.zeros(draws)
    share = n / n.sum()
    a, b = shares_of(counts.sum(2)), shares_of(counts.sum(1))
    independent = a[:, :, None] * b[:, None, :]

    def information(p: Array) -> Array:
        first, second = p.sum(-1, keepdims=True), p.sum(-2, keepdims=True)
        return (xlogy(p, p) - xlogy(p, first) - xlogy(p, second)).sum((-2, -1)) @ share

    p = rng.standard_gamma(np.broadcast_to(ROWS_OF_PRIOR * independent + counts, (draws, *counts.shape)))
    drawn = information(p / p.sum((2, 3), keepdims=True))
    rows = np.maximum(np.rint(n), 1).astype(int)
    chance = rng.multinomial(rows, independent.reshape(len(n), -1), (draws, len(n)))
    by_chance = float(information(chance.reshape(p.shape) / rows[:, None, None]).mean())
    most = min(float(-xlogy(margin, margin).sum(1) @ share) for margin in (a, b))
    centred = drawn - drawn.mean() + information(counts / n[:, None, None])
    return np.clip((centred - by_chance) * most / max(most - by_chance, 1e-9), 0.0, most)
