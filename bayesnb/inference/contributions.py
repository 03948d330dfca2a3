"""The contributions of the values of a row to the log-odds of two classes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any

import numpy as np
import pandas as pd
from numpy.random import Generator
from scipy import sparse
from scipy.special import logsumexp

from bayesnb.data.encoders import Feature
from bayesnb.data.schema import AVERAGING, EDGES, OFFSET, PRIOR, TOTAL, Schema
from bayesnb.dependence.learned import weighed
from bayesnb.dependence.terms import relative
from bayesnb.families.columns import dense_cells
from bayesnb.families.multinomial import Bag
from bayesnb.inference.classifier import Classifier
from bayesnb.inference.draws import PosteriorDraws
from bayesnb.inference.law import DrawnLogOdds
from bayesnb.inference.saddlepoint import LogOdds
from bayesnb.model import Data, Parameters, Posterior
from bayesnb.model.stacks import Piece
from bayesnb.numerics import log_gamma_draw
from bayesnb.priors import Array, Dirichlet, Outcome, Theta, log_rising
from bayesnb.priors.common_draws import CommonDraws

LEAST_EDGE = 0.1
"""Least probability of an edge with a separate entry."""

DRAWS = 1000
"""Number of draws for the interval of each entry."""


@dataclass(frozen=True, eq=False)
class Contribution:
    """Contributions of one column, or of all words that occur, to the log-odds of rows."""

    # ``log_p``, (entry, class), is the log density of each value by the chosen estimate. ``factor`` is a tuple: the
    # family (or OneWord), the posterior and the encoded cells. ``term`` is the index of the column's term.

    name: Sequence[Any]
    rows: Array
    log_p: Array
    factor: tuple[Any, ...]
    value: Sequence[Any]
    missing: Array
    term: int


type Line = tuple[Contribution | str, Array, LogOdds | DrawnLogOdds]
"""A contribution, or the name of an entry that is not a column; its log-odds; and their distribution."""


class OneWord:
    """Moments of the likelihood θ^n of a word that occurs n times; the word's probability θ has a Beta posterior."""

    # Each row of ``x`` holds a word's position in the vocabulary and its count.

    def cumulants(self, posterior: Dirichlet, x: Array, t: Array) -> Array:
        """ln E[θ^(t n)] for n occurrences of a word, with its first two derivatives in t, (3, cell, class)."""
        belief, n = self._of_words(posterior, x)
        return np.stack([belief.along(n, t=t), *belief.slopes(n, np.zeros(()), t=t)])

    def moment_floor(self, posterior: Dirichlet, x: Array) -> Array:
        belief, n = self._of_words(posterior, x)
        return belief.floor(n, np.zeros(()))

    def drawn(self, posterior: Dirichlet, x: Array, rng: Generator) -> Array:
        """Draws of n ln θ for each word that occurs n times in a row, (draw, word, class)."""
        belief, n = self._of_words(posterior, x)
        mine, others = (log_gamma_draw(each.T, rng, (DRAWS,)) for each in (belief.alpha, belief.total - belief.alpha))
        return np.moveaxis(n.T * (mine - np.logaddexp(mine, others)), 1, -1)

    def _of_words(self, posterior: Dirichlet, x: Array) -> tuple[Outcome, Array]:
        """The posteriors of the word probabilities, (cell, class), and the word counts, (cell, 1)."""
        own = posterior.alpha[:, x[:, 0].astype(np.intp)].T
        return Outcome.of(posterior, own), x[:, [1]]


def _is_constant(posterior: Posterior, entry: Contribution) -> bool:
    piece = posterior.pieces[entry.term]
    return piece.column in posterior.constant.get(piece.feature, ())


def _drawn(posterior: Posterior, entry: Contribution, rng: Generator) -> Array:
    """Draws of the log-likelihood of each value, (draw, entry, class); one draw of zeros for a constant column."""
    family, prior, x = entry.factor
    if isinstance(family, OneWord):
        return family.drawn(prior, x, rng)
    if _is_constant(posterior, entry):
        return np.zeros((1, *entry.log_p.shape))
    return family.log_likelihood(family.draw(prior, rng, (DRAWS,)), x)


def _against(log_p: Array, a: int, b: int) -> Array:
    """ln p(x | a) - ln p(x | b), or NaN if x is impossible in both classes."""
    with np.errstate(invalid="ignore"):
        return log_p[..., a] - log_p[..., b]


def naive_terms(classifier: Classifier, data: Data, log_joint: Array, offset: Array, a: int, b: int) -> Iterator[Line]:
    """Yield each contribution to the log-odds of naive Bayes, then the sum."""
    believed, posterior, n = classifier.believed, classifier.posterior, len(offset)
    yield PRIOR, _against(believed.log_pi + offset, a, b), LogOdds.of_classes(posterior, n, a, b, offset)
    for entry in entries(classifier.schema, posterior, believed.plug_in, data):
        family, prior, x = entry.factor
        if _is_constant(posterior, entry):
            spread: LogOdds | DrawnLogOdds = DrawnLogOdds(np.zeros((1, len(entry.rows))))
        elif getattr(family, "exact", True) and getattr(family, "classes_apart", True):
            factor = family, prior.at([a, b]), x
            spread = LogOdds([factor], None, np.zeros(len(entry.rows))).prepared()
        else:
            drawn = np.concatenate([value for _, value in family.paired(prior, x)], axis=1)
            spread = DrawnLogOdds(_against(drawn, a, b))
        yield entry, _against(entry.log_p, a, b), spread
    if posterior.exact:
        spread = LogOdds.of(posterior, data, n, a, b, offset).prepared()
    else:
        believed = replace(believed.when_given("data"), offset=offset)
        drawn = PosteriorDraws(believed, 4000, classifier.fixed_seed).log_joint(data, np.arange(n))
        spread = DrawnLogOdds(_against(drawn, a, b))
    yield TOTAL, _against(log_joint, a, b), spread


def drawn_terms(classifier: Classifier, data: Data, log_joint: Array, offset: Array, a: int, b: int) -> Iterator[Line]:
    """Yield each contribution to the log-odds, then the sum, for a posterior that consists of draws."""
    # Parameters of different columns may be dependent. Then the entry "(averaging)" is the log-odds minus the sum of
    # the contributions.
    believed, posterior, n = classifier.believed, classifier.posterior, len(offset)
    fitted, draws, point = posterior.fitted, posterior.flat, believed.plug_in
    rest = _against(log_joint, a, b)

    def line(entry: Contribution | str, log_p: Array, drawn: Array) -> Line:
        log_odds = _against(log_p, a, b)
        with np.errstate(invalid="ignore"):
            np.subtract.at(rest, np.arange(n) if isinstance(entry, str) else entry.rows, log_odds)
        return entry, log_odds, DrawnLogOdds(_against(drawn, a, b))

    yield line(PRIOR, believed.log_pi + offset, draws.log_pi[:, None] + offset)
    at_point = repeat(None) if point is None else entries(classifier.schema, fitted, point, data)
    for entry, one in zip(entries(classifier.schema, fitted, draws, data), at_point, strict=False):
        mean = logsumexp(entry.log_p, axis=0) - np.log(len(entry.log_p)) if one is None else one.log_p
        yield line(entry, mean, entry.log_p)
    if point is None:
        yield AVERAGING, rest, DrawnLogOdds(rest[None])
    yield TOTAL, _against(log_joint, a, b), DrawnLogOdds(_against(draws.log_joint(data, n) + offset, a, b))


def weighed_terms(
    classifier: Classifier, data: Data, log_joint: Array, offset: Array, a: int, b: int
) -> Iterator[Line]:
    """Yield each contribution to the log-odds of a model with exponents, then the sum."""
    believed, n = classifier.believed, len(offset)
    dependence = believed.require_exponents()
    exponents, grid, spec = dependence.exponents, dependence.statistics.cells.grid, dependence.spec
    rng = np.random.default_rng(classifier.fixed_seed)
    drawn = dependence.draws(believed.posterior, believed.posterior.draw(rng, (DRAWS,)), rng)
    # The exponents at the plugged-in point (or the mean) and at the draws, (..., class, term).
    v, vs = (exponents.layout.exponents(at) for at in (exponents.at(believed.point or "mean").points[0], drawn.points))
    sums = np.zeros(n)

    def line(entry: Contribution | str, log_odds: Array, among_draws: Array) -> Line:
        np.add.at(sums, np.arange(n) if isinstance(entry, str) else entry.rows, log_odds)
        return entry, log_odds, DrawnLogOdds(among_draws)

    def weighed_odds(k: int, log_p: Array, drawn_log_p: Array) -> Array | Any:
        found = []
        for own, each in ((v[:, k], log_p), (vs[:, None, :, k], drawn_log_p)):
            with np.errstate(invalid="ignore"):
                found.append(weighed(own[..., a], each[..., a]) - weighed(own[..., b], each[..., b]))
        return found

    yield line(PRIOR, _against(believed.log_pi + offset, a, b), _against(drawn.log_pi[:, None] + offset, a, b))
    shares, layout, of_cells = dependence.terms.shares(data, n), exponents.layout, dependence.statistics.cells
    used, alike = of_cells.used(layout.cells, layout.numbers), dependence.alike(data, n)
    owners, centre, known = of_cells.owners[used], of_cells.centre[used], alike[:, -1:]
    # The covariates are shown centred, so that a missing cell contributes 0. The offset makes up for that.
    of_class = [_against(each[..., layout.terms :].swapaxes(-1, -2), a, b) for each in (v, vs)]
    yield line(OFFSET, *((own[..., -1:] + own[..., :-1] @ centre[:, None]) * known[:, 0] for own in of_class))
    # Contributions of cell offsets, the kernel and the partitions to each column, and draws of them.
    beside_columns: dict[int, list[Any]] = defaultdict(lambda: [0.0, 0.0])
    for column, term in enumerate(grid.terms if len(owners) else ()):
        own = np.flatnonzero(owners == column)
        z = (alike[:, own] - known * centre[own]).T
        beside_columns[int(term)] = [each[..., own] @ z for each in of_class]
    called = [*exponents.names, *["trees"] * (dependence.statistics.cells.trees is not None)]
    of_all = dependence.terms.names_of_all
    place = {name: len(called) - len(of_all) + k for k, name in enumerate(of_all)}
    for name, share in shares.items():
        for term, of_column in zip(grid.terms, np.moveaxis(share, -1, 0), strict=True):
            added = weighed_odds(place[name], of_column, of_column)
            old = beside_columns[int(term)]
            beside_columns[int(term)] = [before + more for before, more in zip(old, added, strict=True)]
    for entry in entries(classifier.schema, believed.posterior, believed.plug_in, data):
        log_p = [entry.log_p, _drawn(believed.posterior, entry, rng)]
        if spec.by == "class":
            family, _, x = entry.factor
            words = isinstance(family, OneWord)
            log_p = [_relative_words(each, entry.rows, x[:, 1], n) if words else relative(each, -1) for each in log_p]
        own = weighed_odds(0 if spec.by == "model" else entry.term, *log_p)
        yield line(entry, *(one + more for one, more in zip(own, beside_columns[entry.term], strict=True)))
    if spec.by != "model":
        beside = dependence.terms.beside(believed.posterior, data, n)
        beside = relative(beside) if spec.by == "class" else beside
        for k in range(len(called) - beside.shape[-1], len(called)):
            if k in {place[name] for name in shares}:
                continue
            name, term = called[k], beside[..., k - len(called)]
            entry = Contribution([name] * n, np.arange(n), term, (), [None] * n, (term == 0).all(1), k)
            yield line(entry, *weighed_odds(k, term, term))
    total = _against(log_joint, a, b)
    if believed.point is None:
        yield AVERAGING, total - sums, DrawnLogOdds((total - sums)[None])
    yield TOTAL, total, DrawnLogOdds(_against(drawn.log_joint(data, n, offset), a, b))


def forest_terms(classifier: Classifier, data: Data, log_joint: Array, offset: Array, a: int, b: int) -> Iterator[Line]:
    """Yield the contribution of each column to the log-odds, of each edge between two columns, and then the sum."""
    believed, posterior, n = classifier.believed, classifier.posterior, len(offset)
    dependence, rng = believed.require_exponents(), np.random.default_rng(classifier.fixed_seed)
    drawn = dependence.draws(posterior, posterior.draw(rng, (DRAWS,)), rng)
    common = CommonDraws(DRAWS, (int(rng.integers(2**63)),))
    yield PRIOR, _against(believed.log_pi + offset, a, b), DrawnLogOdds(_against(drawn.log_pi[:, None] + offset, a, b))
    for entry in entries(classifier.schema, posterior, believed.plug_in, data):
        yield entry, _against(entry.log_p, a, b), DrawnLogOdds(_against(_drawn(posterior, entry, rng), a, b))
    if (forests := dependence.terms.forests) is not None:
        grid = dependence.statistics.cells.grid
        called, codes = grid.names(posterior.piece_names()), drawn.codes(data, n)
        share = forests.shares(codes)
        probability = np.maximum(forests.edges[a], forests.edges[b])
        of_rows = list(drawn.of_rows(data, n, common))
        rest = np.stack([each.edges.sum(-1) + each.gaps for each in of_rows], axis=1)
        of_rest = np.triu(share).sum((-1, -2))
        for u, v in zip(*np.nonzero(np.triu(probability) >= LEAST_EDGE), strict=True):
            known = (codes[:, [u, v]] >= 0).all(1)
            log_p = np.where(known[:, None], share[:, :, u, v], 0.0)
            among = np.stack([each.of_edge(u, v) for each in of_rows], axis=1)
            rest, of_rest = rest - among, of_rest - log_p
            name, value = f"{called[u]} × {called[v]}", [round(float(probability[u, v]), 3)] * n
            yield (Contribution([name] * n, np.arange(n), log_p, (), value, ~known, 0), _against(log_p, a, b),
                   DrawnLogOdds(_against(among, a, b)))  # fmt: skip
        yield EDGES, _against(of_rest, a, b), DrawnLogOdds(_against(rest, a, b))
    of_draws = drawn.log_joint(data, n, common, offset=offset)
    yield TOTAL, _against(log_joint, a, b), DrawnLogOdds(_against(of_draws, a, b))


def in_one(lines: pd.DataFrame, rest: Array) -> pd.DataFrame:
    """Merge the contributions at positions ``rest`` into one row, with the sum of their log-odds."""
    both = {"entry": f"({len(rest)} others)", "value": None, "missing": False, "lower": np.nan, "upper": np.nan}
    return lines.iloc[rest[:1]].assign(**both, log_odds=lines["log_odds"].iloc[rest].sum())


def _relative_words(log_p: Array, rows: Array, n: Array, n_rows: int) -> Array:
    """Shift log-likelihoods of words, (..., word, class), so that a row's likelihoods average 1 over the classes."""
    whole = np.zeros((*log_p.shape[:-2], n_rows, log_p.shape[-1]))
    np.add.at(whole, (..., rows, slice(None)), log_p)
    mean = (whole - relative(whole, -1))[..., rows, :1]
    length = np.bincount(rows, n, minlength=n_rows)[rows]
    return log_p - mean * (n / np.where(length > 0, length, 1.0))[:, None]


def entries(schema: Schema, posterior: Posterior, point: Parameters | None, data: Data) -> Iterator[Contribution]:
    """Yield an entry per column, per group of columns with a joint density, and per word that occurs in a text."""
    # ``log_p`` is the log-likelihood at ``point``, (entry, class) or (draw, entry, class), or the log predictive if
    # ``point`` is None.
    shown, missing = {}, {}
    for name, feature in schema.features.items():
        if feature.family.support.kind != "bag":
            cells = getattr(data[name], "codes", getattr(data[name], "counts", data[name]))
            values = feature.decode(cells.toarray() if sparse.issparse(cells) else np.asarray(cells))
            shown[name] = {column: schema.shown(column, each) for column, each in values.items()}
            missing[name] = np.isnan(dense_cells(data[name]))
    for term, piece in enumerate(posterior.pieces):
        feature, x, k = schema.features[piece.feature], piece.of(data[piece.feature]), piece.column
        theta = None if point is None else piece.theta(point)
        if piece.family.support.kind == "bag":
            yield from _words(feature, piece, theta, x, term)
            continue
        family, believed, values, gaps = piece.family, piece.believed, shown[piece.feature], missing[piece.feature]
        log_p = family.log_predictive(believed, x) if theta is None else family.log_likelihood(theta, x)
        if k is None:
            name, gaps = piece.feature, gaps.all(axis=1)
            value = [*zip(*(values[column] for column in feature.columns), strict=True)]
        else:
            name, value, gaps = feature.columns[k], values[feature.columns[k]], gaps[:, k]
        yield Contribution([name] * len(gaps), np.arange(len(gaps)), log_p, (family, believed, x), value, gaps, term)


def _words(feature: Feature, piece: Piece, theta: Theta | None, x: Bag, term: int) -> Iterator[Contribution]:
    believed, blank = piece.believed, np.flatnonzero(x.missing())
    if len(blank):
        lead = () if theta is None else theta["log_theta"].shape[:-2]
        zero, cell = np.zeros((*lead, len(blank), len(believed.alpha))), np.zeros((len(blank), 2))
        factor = OneWord(), believed, cell
        yield Contribution([piece.feature] * len(blank), blank, zero, factor, [None] * len(blank), blank >= 0, term)
    counts = sparse.csr_array(x.counts, dtype=float, copy=True)
    counts.sum_duplicates()
    (row, word), n = counts.tocoo().coords, counts.data
    occurs = n > 0
    row, word, n = row[occurs], word[occurs], n[occurs, None]
    length = np.bincount(row, n[:, 0], minlength=counts.shape[0])[row, None]
    if theta is None:
        # The words of a row share one θ, so their joint predictive is not a product over words. One part depends on the
        # number of words of the row; the words share this part in proportion to their counts.
        log_p = log_rising(believed.alpha[:, word].T, n) - n / length * log_rising(believed.total, length)
    else:
        log_p = n * np.moveaxis(theta["log_theta"][..., word], -1, -2)
    cells = OneWord(), believed, np.hstack([word[:, None], n])
    names = [f"{feature.source[0]}: {word}" for word in x.words] if feature.text is not None else x.words
    yield Contribution([names[k] for k in word], row, log_p, cells, n[:, 0], np.zeros(len(row), bool), term)
