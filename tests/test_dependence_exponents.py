"""Exponents of terms: their mode, their posterior, and what they make of copies, separable and empty tables."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.random import default_rng
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import logsumexp
from scipy.stats import norm
from test_generative import IN_PYTHON

from bayesnb.dependence.exponents import Exponents, Group, Layout
from bayesnb.dependence.likelihood import FEW_CLASSES, Rows, derivatives, log_likelihood
from bayesnb.dependence.posterior import laplace, learn_exponents
from bayesnb.dependence.program import parameters_of, pymc_model, verify


def rows(
    n: int = 60, classes: int = 3, terms: int = 4, seed: int = 0, signal: float = 1.0, cells: int = 0, numbers: int = 0
) -> Rows:
    """Terms of Normal columns with known means, as if each were learned elsewhere."""
    rng = default_rng(seed)
    y = rng.integers(classes, size=n)
    mean = signal * rng.normal(size=(classes, terms))
    x = mean[y] + rng.normal(size=(n, terms))
    s = -0.5 * (x[:, None] - mean) ** 2
    inside = np.column_stack([rng.integers(-1, 2, n), rng.integers(2, 5, n)])
    alike = (inside[:, :, None] == np.arange(cells)).any(1)
    offset, weight = rng.normal(size=(n, classes)), rng.choice([0.5, 1.0, 2.0], n)
    share = rng.uniform(0.5, 1.0, n) if cells + numbers else np.ones(n)
    return Rows(s, offset, y, weight, np.column_stack([alike, rng.normal(size=(n, numbers)), share]))


def without_cells(terms: np.ndarray, offset: np.ndarray, codes: np.ndarray, weight: np.ndarray) -> Rows:
    """Rows whose only covariate is the constant 1."""
    return Rows(terms, offset, codes, weight, np.ones((len(codes), 1)))


def halves(r: Rows):
    """The same rows in two blocks."""
    k = len(r.codes) // 2
    return lambda: [r[cut] for cut in (slice(0, k), slice(k, None))]


def layout_of(own: list[int], classes: int, cells: int = 0, terms: int = 4, numbers: int = 0) -> Layout:
    """Parameters of which those of the terms ``own`` differ by class."""
    return Layout.of([Group("features", 1, 1.0, 1.0, t in own) for t in range(terms)], classes, cells, numbers)


def plain_log_likelihood(r: Rows, layout: Layout, point: np.ndarray) -> float:
    """The same from the definition, a cell and a class at a time."""
    w, by_class = point[: layout.terms], point[layout.terms :].reshape(layout.classes, -1)
    deviating = [t for t in layout.own if t < layout.terms]
    joint = r.offset + r.alike[:, -1:] * by_class[:, -1] + r.terms @ w
    for c in range(layout.classes):
        joint[:, c] += r.terms[:, c, deviating] @ by_class[c, : len(deviating)]
        for k in range(layout.cells):
            joint[:, c] += by_class[c, len(deviating) + k] * r.alike[:, k]
        joint[:, c] += r.alike[:, layout.cells : -1] @ by_class[c, len(deviating) + layout.cells : -1]
    own = joint[np.arange(len(r.codes)), r.codes] - logsumexp(joint, axis=1)
    return float(r.weight @ own)


@pytest.mark.parametrize(("cells", "numbers"), [(0, 0), (5, 0), (5, 2), (0, 2)])
@pytest.mark.parametrize("own", [[], [0, 2], [0, 1, 2, 3]])
@pytest.mark.parametrize("classes", [3, FEW_CLASSES + 1], ids=["by pairs of classes", "by classes"])
def test_the_derivatives_are_those_of_the_log_likelihood(own, cells, numbers, classes):
    r = rows(classes=classes, cells=cells, numbers=numbers)
    layout = layout_of(own, classes, cells, numbers=numbers)
    rng = default_rng(1)
    point = rng.normal(size=layout.size) * 0.3
    value, slope, information = derivatives(halves(r), layout, point)
    assert_allclose(value, plain_log_likelihood(r, layout, point))
    assert_allclose(log_likelihood(halves(r), layout, point[None]), [value])
    step = 1e-5 * np.eye(layout.size)
    near = [derivatives(halves(r), layout, point + sign * h) for h in step for sign in (1, -1)]
    up, down = near[::2], near[1::2]
    assert_allclose(slope, [(a[0] - b[0]) / 2e-5 for a, b in zip(up, down, strict=True)], rtol=1e-6, atol=1e-6)
    curved = [(b[1] - a[1]) / 2e-5 for a, b in zip(up, down, strict=True)]
    assert_allclose(information, curved, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("cells", "numbers"), [(0, 0), (5, 2)])
def test_two_classes_have_the_same_posterior_in_the_layout_of_their_log_odds(cells: int, numbers: int):
    r = rows(classes=2, cells=cells, numbers=numbers)
    layout = layout_of([], 2, cells, numbers=numbers)
    relative, sd = layout.relative, np.full(layout.size, 0.7)
    point = default_rng(1).normal(size=relative.size) * 0.3
    assert_allclose(relative.narrowed(relative.whole(point)), point)
    value, slope, information = derivatives(halves(r), layout, relative.whole(point))
    own = derivatives(halves(r), relative, point)
    assert_allclose(own[0], value)
    assert_allclose(own[1], relative.narrowed(slope), atol=1e-12)
    assert_allclose(own[2], relative.narrowed(relative.narrowed(information).T), atol=1e-12)
    assert_allclose(
        log_likelihood(halves(r), relative, point[None]), [plain_log_likelihood(r, layout, relative.whole(point))]
    )
    precision = own[2] + np.diag(1 / sd[: relative.size] ** 2)
    assert_allclose(
        relative.whole_precision(precision, sd[: relative.size]), information + np.diag(1 / sd**2), atol=1e-12
    )
    found, expected = (
        laplace(halves(r), of, 0 * of_sd, of_sd, 0 * of_sd)
        for of, of_sd in ((relative, sd[: relative.size]), (layout, sd))
    )
    assert_allclose(relative.whole(found.mode), expected.mode, atol=1e-6)
    assert_allclose(found.log_evidence, expected.log_evidence)


@pytest.mark.parametrize(("own", "cells"), [([], 0), ([0, 1, 2, 3], 0), ([1], 5)])
def test_the_mode_is_that_of_an_independent_optimiser(own, cells):
    r = rows(cells=cells)
    layout = layout_of(own, 3, cells)
    mean, sd = np.zeros(layout.size), np.full(layout.size, 0.7)
    mean[:4] = 1.0
    found = laplace(lambda: [r], layout, mean, sd, mean)

    def cost(point):
        return 0.5 * (((point - mean) / sd) ** 2).sum() - plain_log_likelihood(r, layout, point)

    other = minimize(cost, mean, method="BFGS", options={"gtol": 1e-9})
    assert_allclose(found.mode, other.x, atol=1e-6)


def test_the_evidence_is_the_integral_over_the_exponents():
    r = rows(n=200, terms=1, classes=2, signal=0.7)
    layout = layout_of([], 2, terms=1)
    mean, sd = np.array([1.0, 0.0, 0.0]), np.array([0.5, 1e-3, 1e-3])
    found = laplace(lambda: [r], layout, mean, sd, mean)
    w = np.linspace(-3, 5, 4001)
    points = np.column_stack([w, np.zeros((4001, 2))])
    log_prior = -0.5 * ((w - 1.0) / 0.5) ** 2 - np.log(0.5) - 0.5 * np.log(2 * np.pi)
    exact = logsumexp(log_likelihood(lambda: [r], layout, points) + log_prior) + np.log(w[1] - w[0])
    assert_allclose(found.log_evidence, exact, atol=0.02)


def learn(r: Rows, groups: list[Group] | None = None, cells: int = 0, **spec):
    n = r.terms.shape[2]
    groups = [Group("features", n, 1.0, 1.0)] if groups is None else groups
    return learn_exponents(Exponents(**spec), lambda: [r], groups, [f"t{k}" for k in range(n)], cells=cells)


def test_exponents_of_nothing_are_naive_bayes():
    empty = without_cells(np.zeros((0, 2, 3)), np.zeros((0, 2)), np.zeros(0, int), np.zeros(0))
    learned = learn(empty)
    assert_allclose(learned.layout.exponents(learned.posterior.mode)[:, :-1], 1.0)
    assert_allclose(learned.table()["log_bayes_factor"], 0.0, atol=1e-12)
    r = rows(classes=2, terms=3)
    joint = r.terms.sum(-1) + r.offset
    assert_allclose(
        learned.at("mode").log_proba(r.terms, r.offset, r.alike),
        joint - logsumexp(joint, axis=1, keepdims=True),
        atol=1e-12,
    )


@pytest.mark.parametrize("classes", [2, 3, 6])
def test_probabilities_are_averages_over_the_normal_of_the_exponents(classes):
    r, cells = rows(80, classes), default_rng(1).integers(-1, 5, (80, 1))
    inside = np.eye(6)[cells[:, 0]]
    inside[:, -1] = default_rng(3).uniform(size=80)  # the share of known columns
    learned = learn(Rows(r.terms, r.offset, r.codes, r.weight, inside), cells=5)
    far, ruled_out = r.offset.copy(), np.zeros(80, bool)
    far[:20, 0], far[20:40, 0], ruled_out[20:40] = -900.0, -np.inf, True
    (spread,) = learned.spreads
    v = learned.layout.exponents(spread.draws(default_rng(2).standard_normal((4000, len(spread.mean)))))
    joint = np.einsum("rct,dct->drc", r.terms, v[..., :4]) + np.einsum("rk,dck->drc", inside, v[..., 4:])
    joint += far
    log_p = joint - logsumexp(joint, axis=-1, keepdims=True)
    wanted = logsumexp(log_p, axis=0) - np.log(len(v))
    found = learned.log_proba(r.terms, far, inside)
    assert_allclose(np.exp(found), np.exp(wanted), atol=0.04)  # of 4,000 draws, five standard errors at most
    assert (np.isneginf(found[:, 0]) == ruled_out).all()


def test_one_class_has_probability_one():
    learned = learn(rows(classes=1))
    assert_allclose(learned.log_proba(rows(classes=1).terms, np.zeros((60, 1)), np.ones((60, 1))), 0.0, atol=1e-12)


@pytest.mark.parametrize("size", [1.0, 1e3, 1e6])
def test_separable_classes_have_a_mode_and_certain_probabilities(size):
    y = np.repeat([0, 1], 20)
    terms = size * np.stack([np.where(y == 0, 1.0, -1.0), np.where(y == 1, 1.0, -1.0)], axis=1)[:, :, None]
    r = without_cells(terms, np.zeros((40, 2)), y, np.ones(40))
    learned = learn(r)
    own = learned.log_proba(r.terms, r.offset, r.alike)[np.arange(40), y]
    assert np.isfinite(learned.posterior.mode).all()
    assert (own > np.log(0.85)).all()


def test_averaging_over_a_skewed_posterior_does_not_unlearn_what_separates():
    # Each of many terms separates the classes, so at the mode no row is in doubt.
    rng = default_rng(2)
    y = np.repeat([0, 1], 50)
    sign = np.stack([np.where(y == 0, 1.0, -1.0), np.where(y == 1, 1.0, -1.0)], axis=1)
    terms = sign[:, :, None] * rng.choice([0.0, 8.0], (100, 1, 12))
    learned = learn(without_cells(terms, np.zeros((100, 2)), y, np.ones(100)))
    own = np.arange(100), y
    at_mode = learned.at("mode").log_proba(terms, np.zeros((100, 2)), np.ones((100, 1)))[own]
    averaged = learned.log_proba(terms, np.zeros((100, 2)), np.ones((100, 1)))[own]
    assert -averaged.mean() < -at_mode.mean() + 0.01


@pytest.mark.parametrize("certain", [1e-5, np.inf], ids=["certain rows", "rows that matter"])
def test_draws_have_the_moments_of_the_posterior_where_the_normal_around_the_mode_has_not(certain, monkeypatch):
    # Chains that leave out rows that matter notice it in the end.
    monkeypatch.setattr("bayesnb.dependence.posterior.CERTAIN", certain)
    y = np.repeat([0, 1], 6)
    terms = np.stack([np.where(y == 0, 1.0, -1.0), np.where(y == 1, 1.0, -1.0)], axis=1)[:, :, None]
    r = without_cells(terms, np.zeros((12, 2)), y, np.ones(12))
    learned = learn(r, [Group("features", 1, 1.0, 3.0)], draws=4000)
    assert learned.off > 0.3
    grid = np.linspace(-4, 16, 161)
    w, b, c = np.meshgrid(grid, np.linspace(-5, 5, 51), np.linspace(-5, 5, 51), indexing="ij")
    points = np.column_stack([w.ravel(), b.ravel(), c.ravel()])
    (mean, sd), log_p = learned.prior, log_likelihood(lambda: [r], learned.layout, points)
    log_p += -0.5 * (((points - mean) / sd) ** 2).sum(-1)
    p = np.exp(log_p - logsumexp(log_p))
    mean = p @ points[:, 0]
    sd = np.sqrt(p @ (points[:, 0] - mean) ** 2)
    assert_allclose(learned.points[:, 0].mean(), mean, atol=0.1 * sd)
    assert_allclose(learned.points[:, 0].std(), sd, rtol=0.15)


@pytest.mark.parametrize("copies", [2, 5, 20])
def test_copies_of_a_column_leave_the_probabilities_as_they_are(copies):
    r = rows(n=2000, classes=2, terms=1)
    several = without_cells(np.repeat(r.terms, copies, axis=2), r.offset, r.codes, r.weight)
    one = learn(r).log_proba(r.terms, r.offset, r.alike)
    many = learn(several).log_proba(several.terms, several.offset, several.alike)
    assert np.abs(np.exp(one) - np.exp(many)).max() < 0.02


def test_the_evidence_chooses_among_standard_deviations():
    r = rows(n=500, classes=3, terms=6)
    spread = learn(r, [Group("features", 6, 1.0, (0.01, 0.1, 5.0))])
    each = [learn(r, [Group("features", 6, 1.0, sd)]).posterior.log_evidence for sd in (0.01, 0.1, 5.0)]
    assert spread.scales["features"] == (0.01, 0.1, 5.0)[int(np.argmax(each))]


def test_the_sample_only_chooses_and_starts():
    r = rows(n=400)
    few = r[:50]
    groups = [Group("features", 4, 1.0, 0.5)]
    names = list("abcd")
    direct = learn_exponents(Exponents(), lambda: [r], groups, names)
    by_sample = learn_exponents(Exponents(), lambda: [r], groups, names, sample=few)
    assert_allclose(by_sample.posterior.mode, direct.posterior.mode, atol=1e-6)


def test_exponents_by_class_fit_what_shared_ones_cannot():
    rng = default_rng(4)
    y = rng.integers(3, size=600)
    # Each term speaks of one class only, and twice as loudly of the first.
    s = np.zeros((600, 3, 2))
    s[:, 0, 0], s[:, 1, 1] = rng.normal(y == 0), rng.normal(y == 1)
    r = without_cells(s, np.zeros((600, 3)), y, np.ones(600))
    shared = learn(r, [Group("features", 2, 1.0, 1.0)])
    by_class = learn(r, [Group("features", 2, 1.0, 1.0, by_class=True)])
    assert by_class.layout.exponents(by_class.posterior.mode)[:, :-1].std(0).max() > 0
    assert by_class.posterior.log_evidence >= shared.posterior.log_evidence - 5


def test_a_row_without_probability_is_refused_with_the_name_of_its_term():
    r = rows()
    r.terms[3, 1, 2] = -np.inf
    with pytest.raises(ValueError, match=r"'t2'.*proper prior"):
        learn(r)


@pytest.mark.parametrize("wrong", [{"by": "row"}, {"sd": 0.0}, {"pair_sd": ()}, {"draws": 0}, {"offset_sd": np.nan}])
def test_a_wrong_specification_is_refused_with_the_name_of_its_parameter(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Exponents(**wrong)


# The second stage in PyMC


@pytest.mark.parametrize(("by_class", "cells"), [(False, 0), (True, 5)])
def test_the_program_is_the_same_density(by_class, cells):
    r = rows(cells=cells)
    learned = learn(r, [Group("features", 4, 1.0, 0.6, by_class=by_class)], cells, offset_sd=0.8, cell_sd=0.4)
    model = pymc_model(r, learned)
    # Three values are not worth a compiler.
    log_p = model.compile_fn(model.logp(jacobian=False), mode=IN_PYTHON)
    rng = default_rng(0)
    for _ in range(3):
        drawn = {v.name: rng.normal(size=v.type.shape) for v in model.free_RVs}
        point = parameters_of({name: v[None] for name, v in drawn.items()})
        ours = log_likelihood(lambda: [r], learned.layout, point)[0]
        ours += norm.logpdf(point[0], *learned.prior).sum()
        assert_allclose(log_p(drawn), ours)


@pytest.mark.nuts
@pytest.mark.parametrize("seed", [0, 1])
def test_laplace_has_the_means_and_standard_deviations_of_nuts(seed):
    # Laplace is worse the fewer rows there are, so more rows would be an easier test, and each costs at every step.
    groups, cells = [Group("features", 4, 1.0, 0.5)], 5 * (seed % 2)
    r = rows(n={0: 100, 1: 150}[seed], classes=2 + seed % 2, seed=seed, signal=0.5, cells=cells)
    learned = learn(r, groups, cells, draws=4000, cell_sd=0.3)
    found = verify(r, learned, range(learned.layout.classes), [f"cell {k}" for k in range(cells)], draws=1000, tune=500)
    assert found.convergence.converged
    # The offset of a cell with few rows has a skewed posterior, whose mean is not its mode.
    assert (found.parameters["off"].abs() < (0.2 if cells else 0.1)).all()
    assert_allclose(found.parameters["sd"], found.parameters["nuts_sd"], rtol=0.1)
    assert found.probability < 0.02
    assert "posterior standard deviations" in str(found)
