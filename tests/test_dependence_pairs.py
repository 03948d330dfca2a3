"""Cells, shapes, pairs and joint Gaussians: their counts add, and a row is left out of them exactly."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest
from numpy.random import default_rng
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import betaln, gammaln

from bayesnb.dependence.joint import JOINT
from bayesnb.dependence.pairs import (
    Axis,
    PairCounts,
    PairTerm,
    ShapeTerm,
    refinements,
)
from bayesnb.families import dyadic
from bayesnb.families.dyadic import Dyadic
from bayesnb.families.gaussian import Gaussian
from bayesnb.statistics.moments import Scatter
from bayesnb.statistics.statistic import Labels

WEIGHTS = {"one each": np.ones(40), "weighted": np.resize([1.0, 0.3, 2.5, 0.0], 40)}


@pytest.fixture(params=WEIGHTS)
def labels(request) -> Labels:
    return Labels(default_rng(1).integers(3, size=40), WEIGHTS[request.param], 3)


# Dyadic intervals


def test_dyadic_intervals_halve_the_rows_again_and_again():
    x = default_rng(0).normal(size=4096)
    cells = Dyadic.of(x, 5)
    assert_array_equal(np.bincount(cells.codes(x), minlength=32), 128)
    assert (np.diff(cells.codes(np.sort(x))) >= 0).all()


def test_few_values_get_a_cell_each_and_many_equal_values_one():
    cells = Dyadic.of(np.repeat([1.0, 2.0, 3.0, 7.0], [5, 50, 3, 2]), 5)
    assert len(set(cells.codes(np.array([1.0, 2.0, 3.0, 7.0])))) == 4
    mostly = np.concatenate([np.zeros(90), np.arange(1.0, 11.0)])
    codes = Dyadic.of(mostly, 4).codes(mostly)
    assert len(set(codes[90:])) >= 6
    assert codes[0] not in codes[90:]


def test_a_cell_is_known_outside_the_range_between_values_and_not_where_missing():
    cells = Dyadic.of(np.array([1.0, 2.0, np.nan, 4.0]), 3)
    assert_array_equal(cells.codes(np.array([-np.inf, 9e9, np.nan])) < 0, [False, False, True])
    assert_array_equal(Dyadic.of(np.array([np.nan]), 3).codes(np.array([5.0, np.nan])), [0, -1])


def test_rows_count_by_their_weight_for_the_intervals():
    x = default_rng(2).normal(size=50)
    weight = default_rng(3).integers(0, 4, size=50).astype(float)
    one, other = Dyadic.of(x, 3, weight), Dyadic.of(np.repeat(x, weight.astype(int)), 3)
    assert_allclose(one.edges, other.edges)


MANY_VALUES = {
    "normal": lambda z: z, "lognormal": np.exp, "Cauchy": lambda z: z / z[::-1], "rounded": lambda z: np.round(z, 1),
    "narrow": lambda z: 1e6 + 1e-6 * z, "huge": lambda z: z * 3e307, "tiny": lambda z: z * 1e-310, "one": np.ones_like,
    "mostly zero": lambda z: np.where(z > 1.5, z, 0.0), "two scales": lambda z: np.where(z > 1.5, z * 1e300, z),
    "missing": lambda z: np.where(z > 0, z, np.nan), "symmetric": lambda z: np.concatenate([z, -z]),
}  # fmt: skip


@pytest.mark.parametrize("head", ["low", "high", None])
@pytest.mark.parametrize("kind", MANY_VALUES)
def test_intervals_of_many_rows_are_those_of_the_sorted_values_in_any_order(kind, head, monkeypatch):
    x = MANY_VALUES[kind](default_rng(5).normal(size=3000))
    by_sorting = Dyadic.of(x, 6, head=head)
    monkeypatch.setattr(dyadic, "MANY", 1024)
    for groups in (8, 64, 2**16):
        monkeypatch.setattr(dyadic, "GROUPS", groups)
        for same in (x, default_rng(6).permutation(x)):
            found = Dyadic.of(same, 6, head=head)
            assert_array_equal(found.edges, by_sorting.edges)
            assert_array_equal(found.paths, by_sorting.paths)


def test_neighbours_among_the_floats_are_told_apart():
    x = np.array([1.0, np.nextafter(1.0, 2.0)])
    assert len(set(Dyadic.of(x, 1).codes(x))) == 2


# Shapes


def counted_cells(labels: Labels, n: int = 40, leaves: int = 8) -> tuple[np.ndarray, np.ndarray]:
    """The cell of each row, and the counts of the cells, (class, cell, 1)."""
    codes = np.stack([default_rng(4).integers(leaves, size=n), np.zeros(n, int)])
    (counts,) = PairCounts.of(codes, [leaves, 1], [(0, 1)], labels).each()
    return codes[0], counts


def evidence(counts: np.ndarray, q: np.ndarray) -> float:
    """ln M of the root from the definition, recursively; q are pooled counts."""
    if len(counts) == 1:
        return 0.0
    half = len(counts) // 2
    left, right = counts[:half].sum(), counts[half:].sum()
    share = q[:half].sum() / q.sum() if q.sum() > 0 else 0.5
    below = evidence(counts[:half], q[:half]) + evidence(counts[half:], q[half:])
    if 0 < share < 1:
        a, b = 2 * share, 2 * (1 - share)
        below += betaln(a + left, b + right) - betaln(a, b) - left * np.log(share) - right * np.log(1 - share)
    return float(np.logaddexp(np.log(0.5), np.log(0.5) + below))


def test_the_predictive_of_a_shape_is_a_ratio_of_evidences(labels):
    _, counts = counted_cells(labels)
    found, pooled = ShapeTerm.of(counts).table()[..., 0], counts[..., 0].sum(0)
    for c, leaf in np.ndindex(found.shape):
        more = counts[c, :, 0].copy()
        more[leaf] += 1
        if pooled[leaf] > 0:
            expected = evidence(more, pooled) - evidence(counts[c, :, 0], pooled)
            assert_allclose(found[c, leaf], expected, atol=1e-10)
    share = pooled / pooled.sum()
    assert_allclose((np.exp(found) * share).sum(-1), 1.0)


def test_a_shape_with_a_row_left_out_is_the_ratio_without_it(labels):
    cells, counts = counted_cells(labels)
    term, pooled = ShapeTerm.of(counts), counts[..., 0].sum(0)
    found = term.left_out(labels.codes, labels.weight, cells, 0 * cells)
    for i in range(0, 40, 3):
        less = counts[labels.codes[i], :, 0].copy()
        less[cells[i]] -= labels.weight[i]
        again = less.copy()
        again[cells[i]] += 1
        assert_allclose(found[i], evidence(again, pooled) - evidence(less, pooled), atol=1e-10)
    if (labels.weight == 1).all():
        assert_allclose(term.table(1.0)[labels.codes, cells, 0], found)


def test_a_class_that_was_never_seen_has_the_shape_of_the_whole_column():
    _, counts = counted_cells(Labels.of(np.zeros(40, int), 2))
    assert_allclose(ShapeTerm.of(counts).table()[1], 0.0, atol=1e-12)


# Pairs


AXES = [Axis(3, 2), Axis(1, 3), Axis(2, 2)]
SIZES = [axis.size for axis in AXES]
EVERY = list(combinations(range(3), 2))


def coded(n: int) -> np.ndarray:
    rng = default_rng(5)
    codes = np.stack([rng.integers(size, size=n) for size in SIZES])
    return np.where(rng.random(codes.shape) < 0.1, -1, codes)


@pytest.mark.usefixtures("road")
def test_the_counts_of_a_pair_are_the_weight_of_its_cells(labels):
    codes = coded(40)
    counts = PairCounts.of(codes, SIZES, EVERY, labels)
    for (i, j), found in zip(counts.pairs, counts.each(), strict=True):
        expected = np.zeros((3, SIZES[i], SIZES[j]))
        for c, w, a, b in zip(labels.codes, labels.weight, codes[i], codes[j], strict=True):
            if a >= 0 and b >= 0:
                expected[c, a, b] += w
        assert_allclose(found, expected)


@pytest.mark.usefixtures("road")
def test_counts_of_parts_add_up_and_subtract(labels):
    codes = coded(40)
    whole = PairCounts.of(codes, SIZES, EVERY, labels)
    a = PairCounts.of(codes[:, :15], SIZES, EVERY, labels[:15])
    b = PairCounts.of(codes[:, 15:], SIZES, EVERY, labels[15:])
    assert_allclose((a + b).counts, whole.counts)
    assert_allclose((whole - a).counts, b.counts, atol=1e-12)
    assert_allclose((whole * 0.5 + whole * 0.5).counts, whole.counts)
    assert_allclose(whole.seen().sum(), whole.counts.sum())


@pytest.mark.parametrize("pair", EVERY)
def test_a_pair_with_its_row_left_out_is_the_term_of_a_refit(pair, labels):
    codes = coded(40)
    i, j = pair
    (counts,) = PairCounts.of(codes, SIZES, [pair], labels).each()
    term = PairTerm.of(counts, AXES[i], AXES[j])
    rows = np.flatnonzero((codes[i] >= 0) & (codes[j] >= 0))
    c, w, a, b = labels.codes[rows], labels.weight[rows], codes[i][rows], codes[j][rows]
    found = term.left_out(c, w, a, b)
    for k in range(len(rows)):
        rest = counts.copy()
        rest[c[k], a[k], b[k]] -= w[k]
        assert_allclose(found[k], replace(term, counts=rest).table()[c[k], a[k], b[k]], atol=1e-10)
    if (w == 1).all():
        assert_allclose(term.table(1.0)[c, a, b], found, atol=1e-12)


@pytest.mark.parametrize(("first", "second"), [(0, 2), (0, 1), (1, 1)])
def test_a_pair_and_its_first_margin_are_a_distribution_of_the_second_column(first, second):
    # exp(term) is p(a, b) / (p(a) p(b)): summed over the last refinement of b with p(b), each a is certain.
    rng = default_rng(6)
    counts = rng.poisson(2.0, (1, SIZES[first], SIZES[second])).astype(float)
    term = PairTerm(counts, AXES[first], AXES[second], 8.0, counts.sum(0))
    margins = []
    for axis in (1, 2):
        n = counts.sum(axis)[0]
        by = AXES[(second, first)[axis - 1]]
        p, levels = np.ones(1), [by.coarse(n, k, 0) for k in range(by.steps + 1)]
        for above, own in pairwise(levels):
            above, p = (np.repeat(each, by.arity) for each in (above, p))
            p = p * (own + 2.0 * own / above) / (above + 2.0)
        margins.append(p)
    joint = np.exp(term.table()[0]) * margins[1][:, None] * margins[0]
    assert_allclose(joint.sum(), 1.0)


def test_a_pair_of_which_nothing_is_known_says_nothing():
    counts = np.zeros((2, 8, 4))
    counts[0, :, :] = 1.0
    term = PairTerm(counts, AXES[0], AXES[2], 8.0, counts.sum(0))
    assert_allclose(term.table()[1], 0.0, atol=1e-12)


def test_the_bayes_factor_is_a_ratio_of_exact_evidences():
    counts = PairCounts.of(coded(40), SIZES, [(1, 2)], Labels.of(default_rng(1).integers(2, size=40), 2))
    (each,) = counts.each()

    def dirichlet(alpha, n):
        total = gammaln(alpha.sum()) - gammaln(alpha.sum() + n.sum())
        return total + (gammaln(alpha + n) - gammaln(alpha)).sum()

    a, b = each.sum((0, 2)) / each.sum(), each.sum((0, 1)) / each.sum()
    expected = sum(
        dirichlet(4 * np.outer(a, b), n) - dirichlet(4 * a, n.sum(1)) - dirichlet(4 * b, n.sum(0)) for n in each
    )
    assert_allclose(counts.log_bayes_factors(), [expected])


def test_dependent_pairs_are_found_and_independent_ones_are_not():
    rng = default_rng(7)
    y = rng.integers(2, size=2000)
    a = rng.integers(4, size=2000)
    codes = np.stack([a, np.where(rng.random(2000) < 0.5, a, rng.integers(4, size=2000)), rng.integers(4, size=2000)])
    counts = PairCounts.of(codes, [4, 4, 4], EVERY, Labels.of(y, 2))
    assert counts.dependent(10) == [(0, 1)]
    weak = np.where(rng.random(2000) < 0.3, a, rng.integers(4, size=2000))
    several = PairCounts.of(np.stack([weak, *codes[:2]]), [4, 4, 4], EVERY, Labels.of(y, 2))
    assert (several.dependent(10), several.dependent(2)) == ([(1, 2), (0, 1), (0, 2)], [(1, 2), (0, 1)])
    assert_array_equal(PairCounts(counts.counts * 0, counts.pairs, counts.sizes).log_bayes_factors(), 0.0)


def test_columns_are_refined_in_turns_until_both_are_at_their_end():
    assert refinements(2, 2) == [(True, 0, 0), (False, 0, 1), (True, 1, 1), (False, 1, 2)]
    assert refinements(1, 3)[-1] == (False, 2, 1)
    assert len(refinements(4, 1)) == 5


# The joint Gaussian


def related(n: int = 40, columns: int = 3) -> np.ndarray:
    rng = default_rng(8)
    return rng.normal(size=(n, columns)) @ rng.normal(size=(columns, columns)) * [1.0, 1e3, 1e-3] + [0.0, 1e6, 5.0]


def test_a_joint_gaussian_of_one_column_is_the_gaussian(labels):
    # So all that the term of the joint Gaussian adds to those of the columns are their covariances.
    x, family, s = related()[:, [1]], Gaussian(), Scatter.of(related()[:, [1]], labels)
    alone = family.statistic(x, labels)
    posterior = family.update(family.priors(alone, range(3)), alone)
    joint = JOINT.update(JOINT.resolve_prior(JOINT.prior, s), s)
    assert_allclose(JOINT.log_predictive(joint, x), family.log_predictive(posterior, x), rtol=1e-9)
    assert_allclose(JOINT.log_left_out(joint, x, labels), family.log_left_out(posterior, x, labels), rtol=1e-9)
