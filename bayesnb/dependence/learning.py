"""How a dependence is learned: its terms from the columns, their exponents from the labels, and averages of several.

Start with :func:`learn`, which takes the posterior of naive Bayes, and the rows that it was learned from, to a
:class:`~bayesnb.dependence.learned.Dependence`. An average is over models of different freedom, weighed by what each
says of rows that it has not seen: :func:`members` are naive Bayes and its richer relatives as points in one space of
exponents, :func:`weights` weighs them, and :func:`averaged` makes one posterior of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bayesnb.dependence import terms
from bayesnb.dependence.columns import Cells, names, pieces
from bayesnb.dependence.exponents import MOST_OFFSETS, Exponents, Group, NoExponentsError, named, require_few
from bayesnb.dependence.learned import Dependence, rows_left_out
from bayesnb.dependence.likelihood import HELD, Rows, Source
from bayesnb.dependence.posterior import LearnedExponents, learn_exponents
from bayesnb.dependence.terms import TermSet
from bayesnb.model import Data, NaiveBayes, Posterior, part_of
from bayesnb.numerics import Array
from bayesnb.statistics.membership import Labels
from bayesnb.wording import Cure, RefusedError, Said

OR_NAIVE = Said("or use {cure}", cure=Cure("dependence"))

COUNTED = ("by", "shapes", "pairs", "kernel", "partitions", "offsets")
"""The settings that say what is counted."""

FOLDS, FEW, STACKED = 5, 600, 2_048
"""Folds that weigh the members of an average where there are few rows, else 2; and of how many rows at most."""

HEAVIEST = 1e12
"""The largest weight of all rows. An exponent of which no label says anything is held by its prior, about one row."""

SAMPLE = 4096
"""Rows on which standard deviations are chosen, and from whose mode the passes over all rows start."""


def learn(
    posterior: Posterior,
    data: Data,
    labels: Labels,
    dependence: str | Exponents = "pairwise",
    before: Dependence | None = None,
) -> Dependence:
    """Learn how the features depend on each other from the rows that ``posterior`` was learned from.

    Parameters
    ----------
    posterior : Posterior
    data : {name: encoded column}
    labels : Labels
        The classes and weights of the rows; there is no unlabelled row among them.
    dependence : {"auto", "tempered", "weighted", "pairwise"} or Exponents
    before : Dependence, optional
        What was counted before of all learned rows, of which these may be a sample. The rows are counted only where the
        specification asks for other terms.

    Raises
    ------
    NoExponentsError
        Where a feature is sampled, an exponent could be anything, or there are too many columns for all their pairs.
    """
    spec = named(dependence)
    if (weight := float(labels.weight.sum())) > HEAVIEST:
        raise NoExponentsError(
            f"the rows weigh {weight:.3g} together, beside which floats keep too few digits of the prior of an "
            "exponent: rescale the weights of the rows, or use dependence=None"
        )
    if before is not None and all(getattr(spec, what) == getattr(before.spec, what) for what in COUNTED):
        return _learned(before.terms, posterior, data, labels, spec)
    _require_learnable(posterior, spec)
    found = TermSet(Cells.chosen(spec, posterior, data, labels).statistics(posterior, data, labels))
    return _learned(found, posterior, data, labels, spec)


def require_exact(model: NaiveBayes, other: str | Said = OR_NAIVE) -> None:
    """Raise ``NoExponentsError`` where a row cannot be left out of a feature exactly; ``other`` is another cure."""
    cure = Said(
        "give the column a family that has one, such as {families}, {other}",
        families=(Cure("family", "Gaussian"), Cure("family", "Binned")),
        other=other,
    )
    try:
        model.require_exact("leave-one-out, from which exponents are learned", cure)
    except RefusedError as error:
        raise NoExponentsError(error.args[0]) from None


def _require_learnable(posterior: Posterior, spec: Exponents) -> None:
    """Refuse what no exponents can be learned for before any row is read."""
    require_exact(posterior.model)
    columns = 1 if spec.by == "model" else len(pieces(posterior))
    require_few(columns + len(posterior.labels) * (1 + (spec.by == "class") * columns))


def _learned(found: TermSet, posterior: Posterior, data: Data, labels: Labels, spec: Exponents) -> Dependence:
    """The exponents of terms, learned from the labels of rows."""
    some = spec.drawn(len(labels), spec.rows)
    data, labels = part_of(data, some), labels[some]
    each = _members(found, posterior, data, labels, spec)
    exponents = each[ALL]
    if spec.average:
        exponents = averaged(each, weights(*_left_out_of_all(posterior, data, labels, spec)))
    return Dependence(found, exponents, float(labels.weight.sum()))


def _members(
    found: TermSet, posterior: Posterior, data: Data, labels: Labels, spec: Exponents
) -> dict[str, LearnedExponents]:
    """What rows say of the exponents of terms, in each member of an average or, without one, in all terms alone."""
    columns = names(posterior)
    called = found.names(spec, columns)
    n, n_classes, cells = len(labels), len(posterior.labels), _offset_cells(found, spec, labels)
    rows = rows_left_out(found, spec, posterior, data, labels, cells)
    blocks = terms.in_blocks(n, n_classes, len(called))
    held = [*map(rows, blocks)] if n * n_classes * len(called) <= HELD else None
    sample = rows(spec.drawn(n, SAMPLE)) if n > 2 * SAMPLE else None
    groups = found.groups(spec, len(columns))
    asked = spec, lambda: held or map(rows, blocks), groups, called, sample, cells
    return members(*asked) if spec.average else {ALL: learn_exponents(*asked)}


def _left_out_of_all(
    posterior: Posterior, data: Data, labels: Labels, spec: Exponents
) -> tuple[dict[str, Array], Array]:
    """What each member of an average says of the labels of rows that it has not seen, and the weights of these rows.

    Everything is learned anew from the other folds: posteriors, cells, pairs, partitions and exponents. Rows are dealt
    to folds class by class. Weights need fewer draws than the answers, as they are means over all rows.
    """
    spec = replace(spec, draws=max(1, spec.draws // 4))
    some = spec.drawn(len(labels), STACKED)
    data, labels = part_of(data, some), labels[some]
    folds = FOLDS if len(labels) <= FEW else 2
    order = np.random.default_rng(spec.random_seed).permutation(len(labels))
    order = order[np.argsort(labels.codes[order], kind="stable")]
    within = np.arange(len(order)) - np.searchsorted(labels.codes[order], labels.codes[order])
    fold = np.empty(len(order), int)
    fold[order] = within % folds
    parts: list[dict[str, Array]] = []
    for k in range(folds):
        rest, out = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        model, seen = posterior.model, (part_of(data, rest), labels[rest])
        believed = model.posterior(model.statistics(*seen, posterior.labels))
        found = TermSet(Cells.chosen(spec, believed, *seen).statistics(believed, *seen))
        parts.append({})
        asked, own = part_of(data, out), labels.codes[out]
        for name, member in _members(found, believed, *seen, spec).items():
            log_p = Dependence(found, member, 0.0).log_proba(believed, asked, len(out))
            parts[-1][name] = log_p[np.arange(len(out)), own]
    weight = np.concatenate([labels.weight[fold == k] for k in range(folds)])
    return {name: np.concatenate([part[name] for part in parts]) for name in PRIOR}, weight


def _offset_cells(found: TermSet, spec: Exponents, labels: Labels) -> int:
    """How many cells have offsets: all of them or, where these are more than the rows or too many, none."""
    cells = found.statistics.cells.grid.offset_cells if spec.offsets == "cell" else 0
    return cells if cells * labels.n <= min(MOST_OFFSETS, labels.weight.sum()) else 0


# Averages

SHARES, NAIVE, WEIGHTED, ALL = "class shares", "naive Bayes", "weighted", "all terms"

PRIOR = {SHARES: 0.02, NAIVE: 1.0, WEIGHTED: 1.0, ALL: 1.0}
"""How many left-out rows each member has spoken for before any has: the Dirichlet prior of the weights.

The shares of the classes take the place of rows with a wrong label, of which there are few.
"""


def members(
    spec: Exponents, source: Source, groups: Sequence[Group], names: Sequence[Any], *sample_and_cells: Any
) -> dict[str, LearnedExponents]:
    """The posterior of the exponents in each member, written as a posterior of the exponents of all terms.

    The exponents of the shares of the classes are 0; those of naive Bayes are 1 for the families of columns, and 0 for
    what stands beside them; "weighted" learns those of columns and their shapes; the last learns all.

    Parameters
    ----------
    spec, source, groups, names
        As :func:`learn_exponents` takes them.
    *sample_and_cells
        The same.
    """
    every = learn_exponents(spec, source, groups, names, *sample_and_cells)
    columns = [group for group in groups if group.name in ("features", "shapes")]
    n, known = every.layout.terms, sum(group.terms for group in columns)
    fixed = np.zeros((2, every.layout.size))
    fixed[1, :n] = np.repeat([group.name == "features" for group in groups], [group.terms for group in groups])
    found = {
        SHARES: replace(every, points=fixed[:1], weights=np.ones(1)),
        NAIVE: replace(every, points=fixed[1:], weights=np.ones(1)),
    }
    if known == n:
        found[WEIGHTED] = every
    else:
        sample, *cells = sample_and_cells

        def only(rows: Rows) -> Rows:
            return replace(rows, terms=np.ascontiguousarray(rows.terms[:, :, :known]))

        few = learn_exponents(
            spec, lambda: map(only, source()), columns, names[:known], None if sample is None else only(sample), *cells
        )
        points = np.zeros((len(few.points), every.layout.size))
        points[:, :known], points[:, n:] = few.points[:, :known], few.points[:, known:]
        found[WEIGHTED] = replace(every, points=points, weights=few.weights)
    return found | {ALL: every}


def weights(log_p: Mapping[str, Array], weight: Array) -> dict[str, float]:
    """The weight of each member of the average, which is the mode of their posterior.

    The probability of the label of a left-out row is Σ_m π_m p_m, with a Dirichlet prior of π; the mode is found by EM
    (stacking of predictive distributions with a prior: Yao, Vehtari, Simpson and Gelman 2018).

    Parameters
    ----------
    log_p : {member: array (row,)}
        What each says of the labels of rows that it has not seen.
    weight : array (row,)
    """
    prior = np.array([PRIOR[name] for name in log_p])
    likely, pi = np.exp(np.stack([*log_p.values()], axis=-1)), prior / prior.sum()
    for _ in range(500):
        each = likely * pi
        total = each.sum(1, keepdims=True)
        pi = prior + weight @ (each / np.where(total > 0, total, 1.0))
        pi /= pi.sum()
    return dict(zip(log_p, pi.tolist(), strict=True))


def averaged(found: Mapping[str, LearnedExponents], weight: Mapping[str, float]) -> LearnedExponents:
    """One posterior of the exponents: the draws of all members, each with the weight of its member."""
    points = np.concatenate([each.points for each in found.values()])
    of_points = np.concatenate([weight[name] * each.weights for name, each in found.items()])
    return replace(found[ALL], points=points, weights=of_points / of_points.sum(), average=dict(weight))
