"""Classes that shrink towards each other: by quadrature, and in the limits. `test_together` has models by hand."""

import numpy as np
import pytest
from conftest import made_up
from numpy.random import default_rng
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.special import gammaln, logsumexp

from bayesnb.chains import Convergence, Sampler
from bayesnb.families import HierarchicalCategorical, HierarchicalGaussian
from bayesnb.families.columns import CategoryCounts, Coded
from bayesnb.families.hierarchical import LearnedCentre
from bayesnb.statistics.moments import Moments
from bayesnb.statistics.statistic import Labels

SHORT = {"draws": 500, "tune": 400, "chains": 2}
COUNTS = np.array([[[30.0, 4.0]], [[3.0, 1.0]], [[0.0, 0.0]], [[12.0, 9.0]]])
"""Counts of two levels in four classes, (class, column, level); one class has no rows."""


def learned(family, s):
    return family.update(family.priors(s, tuple(range(len(s.seen())))), s)


def within(drawn, exact, ess):
    """The mean of draws (draw, ...) is within five Monte Carlo errors of the exact one."""
    assert_array_equal(np.abs(drawn.mean(0) - exact) < 5 * drawn.std(0) / np.sqrt(ess), True)


# Levels


def categorical_quadrature(counts, median):
    """Shares and strength on a grid, and their posterior there; counts (class, 2)."""
    p = (np.arange(400) + 0.5)[:, None] / 400
    u = (np.arange(800) + 0.5) / 800
    # The share u of the strength in strength + median is uniform, and so are the shares p.
    strength = median * u / (1 - u)
    log_p = np.zeros((len(p), len(u)))
    for n in counts:
        log_p += gammaln(strength) - gammaln(strength + n.sum())
        log_p += sum(gammaln(strength * q + k) - gammaln(strength * q) for q, k in zip((p, 1 - p), n, strict=True))
    return p, strength, np.exp(log_p - logsumexp(log_p))


@pytest.mark.nuts
@pytest.mark.parametrize("median", [2.0, 30.0])
def test_learned_shares_and_strength_agree_with_quadrature(median):
    s = CategoryCounts(COUNTS, (("p", "q"),))
    believed = learned(HierarchicalCategorical(strength=median), s)
    p, strength, weight = categorical_quadrature(COUNTS[:, 0], median)
    ess = believed.convergence.ess
    within(believed.theta["pooled"][:, 0, 0, 0], (weight * p).sum(), ess)
    # The strength itself has no mean.
    within(np.log(believed.theta["strength"][:, 0, 0]), (weight * np.log(strength)).sum(), ess)
    for c, n in enumerate(COUNTS[:, 0]):
        exact = (weight * (strength * p + n[0]) / (strength + n.sum())).sum()
        within(np.exp(believed.theta["log_theta"][:, c, 0, 0]), exact, ess)


def test_a_level_that_a_column_does_not_have_has_the_probability_0(monkeypatch):
    monkeypatch.setattr(Sampler, "run", made_up)
    counts = np.zeros((3, 3, 3))
    counts[:, 0], counts[:, 1, :2], counts[:, 2, :1] = [8.0, 2.0, 1.0], [3.0, 9.0], 4.0
    believed = learned(HierarchicalCategorical(), CategoryCounts(counts, (("p", "q", "r"), ("t", "u"), ("only",))))
    log_theta = believed.theta["log_theta"]
    assert np.isfinite(log_theta[:, :, 0]).all()
    assert_allclose(np.exp(log_theta).sum(-1), 1.0)
    assert_array_equal(log_theta[:, :, 1, 2], -np.inf)
    assert_array_equal(log_theta[:, :, 2, 0], 0.0)
    assert_array_equal(log_theta[:, :, 2, 1:], -np.inf)


def test_the_whole_model_of_levels_is_the_sampled_one_times_the_posterior_of_theta():
    # p(θ, counts | pooled, strength) = p(counts | pooled, strength) p(θ | counts, pooled, strength), at any θ.
    import pytensor
    from pytensor import tensor as pt

    from bayesnb.priors import Dirichlet

    rng, family = default_rng(1), HierarchicalCategorical()
    s = CategoryCounts(COUNTS, (("p", "q"),))
    prior = family.priors(s, tuple(range(4)))
    point = {"theta": rng.dirichlet([1, 1], (4, 1)), "pooled": rng.dirichlet([1, 1], 1), "strength": np.array([3.7])}
    alpha = point["strength"][:, None] * point["pooled"]
    common = {key: pt.constant(point[key]) for key in ("pooled", "strength")}
    of_counts = pytensor.function([], family.log_marginal(common, s), mode="FAST_COMPILE")()
    given = family.pymc_statistic({key: pt.constant(value) for key, value in point.items()}, s)
    given = pytensor.function([], given, mode="FAST_COMPILE")()
    of_theta = Dirichlet(alpha + COUNTS).log_prob(point["theta"]).sum()
    assert_allclose(family.log_prior(prior, point)["theta"].sum() + given, of_counts + of_theta)


# Reals


def real_quadrature(x, y, prior):
    """The predictive of each class, and E[μ], E[between], by quadrature over centre, between and each σ."""
    centre, between = np.linspace(-4, 6, 81)[:, None, None], np.linspace(0.005, 6, 200)[:, None]
    inverse = np.exp(np.linspace(np.log(0.05), np.log(40.0), 120))
    sigma, log_p, parts = 1 / inverse, stats.norm.logpdf(centre, prior.m, prior.reach)[..., 0], []
    log_p = log_p + stats.halfnorm.logpdf(between[:, 0], scale=prior.between)
    for c in range(y.max() + 1):
        own = x[y == c]
        n = len(own)
        # ln(1/σ) has equal steps, so the density of 1/σ is multiplied by it.
        log_q = stats.halfnorm.logpdf(inverse, scale=10 / prior.s) + np.log(inverse)
        mean, scatter = (own.mean(), ((own - own.mean()) ** 2).sum()) if n else (0.0, 0.0)
        if n:
            log_q = log_q + 0.5 * np.log(2 * np.pi * sigma**2 / n) - n * np.log(sigma) - scatter / (2 * sigma**2)
            log_q = log_q + stats.norm.logpdf(mean, centre, np.sqrt(between**2 + sigma**2 / n))
        log_q = np.broadcast_to(log_q, (len(centre), len(between), len(sigma)))
        total = logsumexp(log_q, axis=-1)
        kept = n * between**2 / (n * between**2 + sigma**2)
        mu = (np.exp(log_q - total[..., None]) * (centre + kept * (mean - centre))).sum(-1)
        log_p = log_p + total
        parts.append(mu)
    weight = np.exp(log_p - logsumexp(log_p))
    return [(weight * mu).sum() for mu in parts], (weight * between[:, 0]).sum(), (weight * centre[..., 0]).sum()


@pytest.mark.nuts
def test_class_means_agree_with_quadrature():
    rng = default_rng(2)
    y = np.repeat([0, 1, 2], [12, 5, 2])
    x = rng.normal(np.array([0.0, 1.0, 2.5])[y], 1.0)
    family = HierarchicalGaussian(m=0.5, s=1.0, reach=2.0, between=1.0, **SHORT)
    believed = learned(family, Moments.of(x[:, None], Labels.of(y, 4)))
    prior = LearnedCentre(0.5, 1.0, 2.0, 1.0)
    means, between, centre = real_quadrature(x, np.append(y, [3])[: len(y)], prior)
    ess = believed.convergence.ess
    within(believed.theta["mu"][:, :3, 0], np.array(means), ess)
    within(believed.theta["between"][:, 0, 0], between, ess)
    within(believed.theta["centre"][:, 0, 0], centre, ess)
    # A class without rows is believed to be like the others.
    within(believed.theta["mu"][:, 3, 0], centre, ess)


def test_a_column_of_large_numbers_has_the_prior_of_its_units():
    x, y = default_rng(5).normal(size=(40, 1)), np.arange(40) % 2
    family = HierarchicalGaussian()
    small, large = (
        family.priors(family.statistic(x * scale + shift, Labels.of(y)), (0, 1))
        for scale, shift in ((1.0, 0.0), (1e6, 1e9))
    )
    assert_allclose(large.s, 1e6 * small.s, rtol=1e-9)
    assert_allclose(large.m, 1e9 + 1e6 * small.m, rtol=1e-12)
    assert_allclose(large.between, large.s)
    assert_allclose(large.reach, 10 * large.s)


def test_a_level_that_a_class_never_had_is_likelier_where_others_have_it():
    # By the formula of the mean of θ given shares and strength, averaged over draws of these.
    counts = np.array([[[9.0, 0.0, 1.0]], [[5.0, 5.0, 0.0]]])
    s = CategoryCounts(counts, (("p", "q", "r"),))
    family = HierarchicalCategorical()
    pooled, strength = np.array([[[0.6, 0.3, 0.1]]]), np.array([[4.0]])
    prior = family.priors(s, ("a", "b"))
    drawn = {"pooled": np.repeat(pooled, 4000, 0), "strength": np.repeat(strength, 4000, 0)}
    theta = family.theta(drawn | family.draw_of_classes(prior, drawn, s, default_rng(0)))
    expected = (4.0 * pooled[0, 0] + counts[:, 0]) / (4.0 + counts[:, 0].sum(-1, keepdims=True))
    assert_allclose(np.exp(theta["log_theta"]).mean(0)[:, 0], expected, atol=0.01)
    x = Coded(np.array([[1], [2]]), s.levels)
    assert_allclose(
        np.exp(family.log_likelihood(family.plug_in(_draws(theta), "mean"), x)), expected[:, 1:].T, atol=0.01
    )


def _draws(theta):
    from bayesnb.families.sampled import Draws

    return Draws(theta, Convergence(1, 1, 4000.0, 0, "pooled"))


@pytest.mark.nuts
def test_levels_shrink_towards_the_pooled_shares_the_more_the_less_classes_differ():
    rng = default_rng(0)
    same, different = ({"p": 0.9, "q": 0.1},) * 6, [{"p": v, "q": 1 - v} for v in (0.05, 0.95) * 3]
    found = {}
    for name, shares in (("same", same), ("different", different)):
        counts = np.array([[rng.multinomial(40, [share["p"], share["q"]])] for share in shares], float)
        counts = np.concatenate([counts, [[[0.0, 2.0]]]])
        found[name] = learned(HierarchicalCategorical(**SHORT), CategoryCounts(counts, (("p", "q"),)))
    theta = {name: np.exp(believed.theta["log_theta"][:, -1, 0, 0]).mean() for name, believed in found.items()}
    # Two rows of "q" in a class mean little where six other classes have nine of ten rows of "p".
    assert theta["same"] > 0.6
    assert theta["different"] < 0.3
    strength = {name: np.median(believed.theta["strength"]) for name, believed in found.items()}
    assert strength["same"] > 5 * strength["different"]
