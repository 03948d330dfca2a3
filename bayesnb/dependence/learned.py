"""A model whose features may depend on each other: naive Bayes with more terms, each to a power.

Start with :func:`learn`, which takes what naive Bayes believes, and the rows it was learned from, to a
:class:`Dependence`: that answers p(c | x).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.random import default_rng

from bayesnb.dependence import polya, terms
from bayesnb.dependence.conditional import Rows, Source
from bayesnb.dependence.exponents import Exponents, LearnedExponents
from bayesnb.dependence.grid import DEPTH, PAIR_DEPTH, SCREEN_DEPTH, Grid
from bayesnb.dependence.joint import JointGaussian, JointMoments
from bayesnb.dependence.pairs import PairCounts, PairTerm, every_pair, log_bayes_factors, selected
from bayesnb.dependence.termset import TermSet, gaussian_columns
from bayesnb.families.membership import Labels
from bayesnb.kernels.blocks import slices
from bayesnb.model import Data, Posterior, part_of
from bayesnb.numerics import Array

NAMED = {
    "tempered": Exponents(by="model", shapes=False),
    "weighted": Exponents(),
    "pairwise": Exponents(pairs=150),
}
"""The specifications that have a name."""

MOST_COLUMNS = 200
"""Columns up to which all pairs are weighed: their number, and the time, grow with the square."""

SAMPLE = 4096
"""Rows on which standard deviations are chosen, and from whose mode the passes over all rows start."""

HELD = 2**25
"""Terms that are kept between passes; of more, each block is made anew in each pass."""


@dataclass(frozen=True, eq=False)
class Dependence:
    """What is believed of how features depend on each other, and of the exponents of all terms.

    Parameters
    ----------
    terms : TermSet
    exponents : LearnedExponents
    """

    terms: TermSet
    exponents: LearnedExponents

    def log_proba(self, data: Data, n_rows: int) -> Array:
        """log p(c | x) of new rows as (row, class).

        Parameters
        ----------
        data : {name: encoded column}
        n_rows : int
        """
        spec, posterior = self.exponents.spec, self.terms.posterior
        ask, found = self.terms.answering(spec), np.empty((n_rows, len(posterior.labels)))
        offset = terms.without_features(posterior).log_predictive({}, 1)
        for cut in terms.in_blocks(n_rows, len(posterior.labels), len(self.terms.names(spec))):
            n = cut.stop - cut.start
            found[cut] = self.exponents.log_proba(ask(part_of(data, cut), n), np.repeat(offset, n, axis=0))
        return found


def learn(posterior: Posterior, data: Data, labels: Labels, dependence: str | Exponents = "pairwise") -> Dependence:
    """Learn how the features depend on each other from the rows that ``posterior`` was learned from.

    Parameters
    ----------
    posterior : Posterior
    data : {name: encoded column}
    labels : Labels
        The classes and weights of the rows; there is no unlabelled row among them.
    dependence : {"tempered", "weighted", "pairwise"} or Exponents

    Raises
    ------
    ValueError
        Where a feature is sampled, an exponent could be anything, or there are too many columns for all their pairs.
    """
    spec = _named(dependence)
    found = _terms(posterior, data, labels, spec)
    names, ask = found.names(spec), found.answering(spec, labels)
    offsets, n = terms.without_features(posterior).log_left_out({}, labels), len(labels)

    def rows(which: Any) -> Rows:
        own = labels[which]
        return Rows(ask(part_of(data, which), own), offsets[which], own.codes, own.weight)

    blocks = terms.in_blocks(n, len(posterior.labels), len(names))

    def every() -> Iterator[Rows]:
        return map(rows, blocks)

    held = [*every()] if n * len(posterior.labels) * len(names) <= HELD else None
    source: Source = every if held is None else lambda: held
    sample = None
    if n > 2 * SAMPLE:
        some = [rows(np.sort(default_rng(spec.random_seed).permutation(n)[:SAMPLE]))]
        sample = lambda: some  # noqa: E731
    return Dependence(found, spec.learn(source, found.groups(spec), names, sample))


def _named(dependence: str | Exponents) -> Exponents:
    if isinstance(dependence, Exponents):
        return dependence
    if dependence not in NAMED:
        raise ValueError(f"Expected dependence to be one of {list(NAMED)}, or Exponents(...); got {dependence!r}")
    return NAMED[dependence]


def _terms(posterior: Posterior, data: Data, labels: Labels, spec: Exponents) -> TermSet:
    """The terms that the specification asks for, learned from the rows."""
    grid = Grid.of(posterior.model, data, labels.weight)
    if not spec.pairs:
        grid = grid.only(np.flatnonzero(grid.real & spec.shapes))
    blocks = slices(len(labels))
    shapes, pairs, joint = None, (), None
    if spec.shapes and spec.by != "model" and grid.real.any():
        counts = sum(
            polya.count(grid.codes(part_of(data, cut), len(own))[grid.real], own.codes, own.weight, own.n, 2**DEPTH)
            for cut, own in ((cut, labels[cut]) for cut in blocks)
        )
        shapes = polya.Shapes.of(counts)
    if spec.pairs and spec.by != "model":
        names = terms.names(posterior)

        chosen = _chosen(spec, grid, names, lambda which: counted(grid, data, labels, which, SCREEN_DEPTH))
        axes = grid.axes(PAIR_DEPTH)
        seen = counted(grid, data, labels, chosen, PAIR_DEPTH)
        each = zip(seen.pairs, seen.each(), strict=True)
        pairs = tuple(((i, j), PairTerm.of(counts, axes[i], axes[j])) for (i, j), counts in each)
        x, places = gaussian_columns(posterior, data)
        if len(places) > 1:
            joint = JointGaussian.of(JointMoments.of(x, labels))
    return TermSet(posterior, grid, shapes, pairs, joint)


def _chosen(spec: Exponents, grid: Grid, names: list[Any], count: Callable[[Any], PairCounts]) -> list[tuple[int, int]]:
    """The pairs that get a term, as columns of the grid."""
    if not isinstance(spec.pairs, int):
        place = {name: k for k, name in enumerate(grid.names(names))}
        for name in (name for pair in spec.pairs for name in pair):
            if name not in place:
                raise ValueError(f"Expected pairs of columns among {list(place)}; got {name!r}")
        return [(place[a], place[b]) for a, b in spec.pairs]
    every = searched(grid)
    return [every[k] for k in selected(log_bayes_factors(count(every)), spec.pairs)]


def searched(grid: Grid) -> list[tuple[int, int]]:
    """All pairs of columns of the grid, where they are not too many."""
    if len(grid) > MOST_COLUMNS:
        raise ValueError(
            f"{len(grid)} columns have {len(grid) * (len(grid) - 1) // 2} pairs, and at most {MOST_COLUMNS} columns "
            "are searched for pairs; name those that may depend on each other, pairs=((first, second), ...), or use "
            'dependence="weighted"'
        )
    return every_pair(len(grid))


def counted(grid: Grid, data: Data, labels: Labels, which: list[tuple[int, int]], depth: int) -> PairCounts:
    """The counts of pairs of columns over all rows, intervals as fine as at this depth."""
    sizes = [axis.size for axis in grid.axes(depth)]
    parts = []
    for cut in slices(len(labels)):
        own = labels[cut]
        codes = grid.coarser(grid.codes(part_of(data, cut), len(own)), depth)
        parts.append(PairCounts.of(codes, sizes, which, own))
    return reduce(add, parts)
